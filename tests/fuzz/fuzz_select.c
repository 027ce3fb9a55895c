/* Fuzzes device selectors: the input is a selector and, behind NULs, names for the devices of a made-up list. */
#include "fuzz/fuzz.h"

#include "core/device.h"

#include <errno.h>

#define DEVICES 5

static const uint8_t uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

static void make_list(struct strata_candidate list[DEVICES]) {
    static const char *const names[DEVICES] = {"cpu-model", "NVIDIA H200", "Radeon Pro", "NVIDIA H200", "FPGA"};
    static const char *const platforms[DEVICES] = {"Portable Computing Language", "NVIDIA CUDA", "AMD APP",
                                                   "NVIDIA CUDA", "Boards"};
    static const enum strata_device_type types[DEVICES] = {STRATA_DEVICE_CPU, STRATA_DEVICE_GPU, STRATA_DEVICE_GPU,
                                                           STRATA_DEVICE_GPU, STRATA_DEVICE_ACCELERATOR};
    memset(list, 0, DEVICES * sizeof *list);
    for (uint32_t i = 0; i < DEVICES; i++) {
        struct strata_device_info *info = &list[i].info;
        info->index = i;
        info->backend = "opencl";
        info->name = names[i];
        info->platform = platforms[i];
        info->vendor = "a vendor";
        info->type = types[i];
        info->has_pci = i > 0;
        info->pci_domain = i == 4 ? 0x10000 : 0;
        info->pci_bus = 0x40 + i;
        info->pci_device = i == 2 ? 0x1f : 0;
        info->has_uuid = i == 3;
        memcpy(info->uuid, uuid, sizeof uuid);
    }
}

static char turn_case(char letter) {
    if (letter >= 'a' && letter <= 'z')
        return (char)(letter - 'a' + 'A');
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* A UUID by the words of the manual: 32 hexadecimal digits, dashes among them, perhaps "GPU-" before them. */
static bool is_uuid(const char *text) {
    static const char prefix[] = "GPU-";
    size_t digits = 0, same = 0;
    while (same < 4 && (text[same] == prefix[same] || text[same] == turn_case(prefix[same])))
        same++;
    for (text += same == 4 ? 4 : 0; *text != '\0'; text++) {
        if (*text != '-' && strchr("0123456789abcdefABCDEF", *text) == NULL)
            return false;
        digits += *text != '-';
    }
    return digits == 32;
}

/* A place on the bus: two or three numbers with colons, and one behind a dot, of up to eight hexadecimal digits each.
 */
static bool is_place(const char *text) {
    static const char *const separators[] = {"::.", ":."};
    for (size_t form = 0; form < 2; form++) {
        const char *at = text, *next = separators[form];
        size_t digits = strspn(at, "0123456789abcdefABCDEF");
        while (digits >= 1 && digits <= 8 && *next != '\0' && at[digits] == *next) {
            at += digits + 1;
            next++;
            digits = strspn(at, "0123456789abcdefABCDEF");
        }
        if (digits >= 1 && digits <= 8 && *next == '\0' && at[digits] == '\0')
            return true;
    }
    return false;
}

/* A number that does not fit may still be a UUID of digits alone, or part of a name. */
static bool is_number(const char *text, uint64_t *number) {
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return text[strspn(text, "0123456789")] == '\0' && errno == 0;
}

static bool selects(const struct strata_candidate *list, size_t count, const char *selector, size_t *index) {
    *index = SIZE_MAX;
    enum strata_status status = strata_candidates_select(list, count, selector, index);
    if (status == STRATA_OK) {
        FUZZ_CHECK(*index < count);
        return true;
    }
    fuzz_check_failure(status, STRATA_NO_DEVICE);
    return false;
}

static void check(const struct strata_candidate *list, const char *selector) {
    size_t index, other;
    uint64_t number;
    bool found = selects(list, DEVICES, selector, &index);
    if (selector[0] == '\0') {
        FUZZ_CHECK(found && index == 1);
        return;
    }
    if (is_number(selector, &number))
        FUZZ_CHECK(found == (number < DEVICES) && (!found || index == number));
    else if (is_uuid(selector))
        FUZZ_CHECK(!found || index == 3);

    /* The devices behind the one that is found have no say, and without it there is none. */
    if (found) {
        FUZZ_CHECK(selects(list, index + 1, selector, &other) && other == index);
        FUZZ_CHECK(index == 0 || !selects(list, index, selector, &other));
    }

    /* Only what is spelled like a UUID or a place on the bus may be taken for one. */
    struct strata_candidate plain[DEVICES];
    memcpy(plain, list, sizeof plain);
    for (size_t i = 0; i < DEVICES; i++) {
        plain[i].info.has_uuid = plain[i].info.has_uuid && is_uuid(selector);
        plain[i].info.has_pci = plain[i].info.has_pci && is_place(selector);
    }
    FUZZ_CHECK(selects(plain, DEVICES, selector, &other) == found && other == index);

    char *turned = fuzz_string(selector, strlen(selector));
    for (char *at = turned; *at != '\0'; at++)
        *at = turn_case(*at);
    FUZZ_CHECK(selects(list, DEVICES, turned, &other) == found && other == index);
    free(turned);
}

/* Every device with a UUID or a place on the bus is found by it, however the bytes of the input spell it. */
static void check_spelling(const struct strata_candidate *list, const uint8_t *data, size_t size) {
    static const char *const digits[] = {"0123456789abcdef", "0123456789ABCDEF"};
    char text[128];
    size_t length = 0, index;
    if (size < 16)
        return;
    if ((data[15] & 8) != 0)
        length += (size_t)snprintf(text, sizeof text, "%s", (data[15] & 1) != 0 ? "GPU-" : "gpu-");
    for (size_t i = 0; i < 16; i++) {
        text[length++] = digits[data[i] & 1][uuid[i] >> 4];
        for (unsigned dashes = data[i] >> 1 & 3; dashes != 0; dashes--)
            text[length++] = '-';
        text[length++] = digits[data[i] >> 3 & 1][uuid[i] & 15];
    }
    text[length] = '\0';
    FUZZ_CHECK(selects(list, DEVICES, text, &index) && index == 3);

    size_t wanted = 1 + data[0] % (DEVICES - 1);
    const struct strata_device_info *info = &list[wanted].info;
    snprintf(text, sizeof text, data[1] & 1 ? "%0*x:%0*x:%0*x.%0*x" : "%0*X:%0*X:%0*X.%0*X", 1 + (data[2] & 7),
             info->pci_domain, 1 + (data[3] & 7), info->pci_bus, 1 + (data[4] & 7), info->pci_device, 1 + (data[5] & 7),
             info->pci_function);
    FUZZ_CHECK(selects(list, DEVICES, text, &index) && index == wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strata_candidate list[DEVICES];
    const uint8_t *at = data != NULL ? data : (const uint8_t *)"", *piece = NULL;
    size_t left = size, length = 0;
    char *selector = NULL, *names[DEVICES] = {NULL};
    make_list(list);
    check_spelling(list, data, size);
    fuzz_next_piece(&at, &left, &piece, &length);
    selector = fuzz_string(piece, length);
    for (size_t i = 0; i < DEVICES && fuzz_next_piece(&at, &left, &piece, &length); i++) {
        names[i] = fuzz_string(piece, length);
        list[i].info.name = names[i];
    }
    check(list, selector);
    for (size_t i = 0; i < DEVICES; i++)
        free(names[i]);
    free(selector);
    return 0;
}
