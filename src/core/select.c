/* Which device a selector names. */
#include "core/device.h"

#include <stdio.h>
#include <string.h>

static char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* ASCII letters compare in any case, whatever the locale. */
static bool contains(const char *text, const char *part, size_t length) {
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && text[i] && lower(text[i]) == lower(part[i]))
            i++;
        if (i == length)
            return true;
    }
    return length == 0;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && contains(word, text, length);
}

static int hexadecimal(char letter) {
    letter = lower(letter);
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* 32 hexadecimal digits, dashes anywhere, a "GPU-" in front as NVIDIA's tools print it. */
static bool parse_uuid(const char *text, uint8_t uuid[16]) {
    if (is_word(text, 4, "GPU-"))
        text += 4;
    unsigned digits = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        int value = hexadecimal(*text);
        if (value < 0 || digits == 32)
            return false;
        uuid[digits / 2] = (uint8_t)((digits % 2 ? uuid[digits / 2] << 4 : 0) | value);
        digits++;
    }
    return digits == 32;
}

/* "domain:bus:device.function" or "bus:device.function", all hexadecimal. */
static bool parse_pci(const char *text, uint32_t pci[4]) {
    uint32_t parts[4] = {0};
    unsigned count = 0, digits = 0;
    char separators[4] = {0};
    for (;; text++) {
        int value = hexadecimal(*text);
        if (value >= 0) {
            if (++digits > 8 || count > 3)
                return false;
            parts[count] = parts[count] << 4 | (uint32_t)value;
            continue;
        }
        if (digits == 0 || count > 3)
            return false;
        separators[count++] = *text;
        digits = 0;
        if (!*text)
            break;
    }
    bool with_domain = count == 4 && separators[0] == ':' && separators[1] == ':' && separators[2] == '.';
    if (!with_domain && !(count == 3 && separators[0] == ':' && separators[1] == '.'))
        return false;
    pci[0] = with_domain ? parts[0] : 0;
    memcpy(&pci[1], &parts[with_domain ? 1 : 0], 3 * sizeof pci[0]);
    return true;
}

/* The name in front of a final ":N", and N. */
static size_t split_count(const char *selector, uint64_t *which) {
    const char *colon = strrchr(selector, ':');
    *which = 0;
    if (colon && strata_parse_u64(colon + 1, which))
        return (size_t)(colon - selector);
    *which = 0;
    return strlen(selector);
}

struct query {
    const char *name;
    size_t length;
    int type; /* enum strata_device_type, or -1 */
    bool has_uuid, has_pci;
    uint8_t uuid[16];
    uint32_t pci[4];
};

static bool matches(const struct strata_device_info *info, const struct query *query) {
    if (query->has_uuid)
        return info->has_uuid && memcmp(info->uuid, query->uuid, sizeof query->uuid) == 0;
    if (query->has_pci)
        return info->has_pci && info->pci_domain == query->pci[0] && info->pci_bus == query->pci[1] &&
               info->pci_device == query->pci[2] && info->pci_function == query->pci[3];
    if (query->type >= 0)
        return (int)info->type == query->type;
    return contains(info->platform, query->name, query->length) || contains(info->vendor, query->name, query->length) ||
           contains(info->name, query->name, query->length) || is_word(query->name, query->length, info->backend) ||
           (is_word(query->name, query->length, "pocl") && contains(info->platform, "Portable Computing Language", 27));
}

static void list_devices(const struct strata_candidate *list, size_t count, struct strata_text *text) {
    for (size_t i = 0; i < count; i++)
        strata_text_printf(text, "%s%zu: %s (%s)", i ? "; " : "", i, list[i].info.name, list[i].info.platform);
}

static enum strata_status not_found(const struct strata_candidate *list, size_t count, const char *selector) {
    struct strata_text text = {0};
    list_devices(list, count, &text);
    enum strata_status status = strata_fail(STRATA_NO_DEVICE, "No device matches '%s'. There are: %s.", selector,
                                            text.data ? text.data : "none");
    strata_text_release(&text);
    return status;
}

static size_t best(const struct strata_candidate *list, size_t count) {
    static const enum strata_device_type order[] = {STRATA_DEVICE_GPU, STRATA_DEVICE_ACCELERATOR};
    for (size_t t = 0; t < sizeof order / sizeof order[0]; t++)
        for (size_t i = 0; i < count; i++)
            if (list[i].info.type == order[t])
                return i;
    return 0;
}

static int type_of(const char *name, size_t length) {
    if (is_word(name, length, "gpu"))
        return STRATA_DEVICE_GPU;
    if (is_word(name, length, "cpu"))
        return STRATA_DEVICE_CPU;
    return is_word(name, length, "accelerator") ? STRATA_DEVICE_ACCELERATOR : -1;
}

enum strata_status strata_candidates_select(const struct strata_candidate *list, size_t count, const char *selector,
                                            size_t *index) {
    uint64_t which;
    if (!selector || !selector[0]) {
        *index = best(list, count);
        return STRATA_OK;
    }
    if (strata_parse_u64(selector, &which)) {
        if (which >= count)
            return not_found(list, count, selector);
        *index = (size_t)which;
        return STRATA_OK;
    }
    struct query query = {.name = selector, .type = -1};
    query.has_uuid = parse_uuid(selector, query.uuid);
    query.has_pci = !query.has_uuid && parse_pci(selector, query.pci);
    if (query.has_uuid || query.has_pci)
        which = 0;
    else
        query.length = split_count(selector, &which);
    query.type = query.length ? type_of(selector, query.length) : -1;
    for (size_t i = 0; i < count; i++)
        if (matches(&list[i].info, &query) && which-- == 0) {
            *index = i;
            return STRATA_OK;
        }
    return not_found(list, count, selector);
}
