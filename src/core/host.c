/* Host memory through the caller's hooks, growing text, and numbers independent of the locale. */
#include "core/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Below this, asking for huge pages costs more than it brings. */
#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

void *strata_host_allocate(const struct strata_allocator *hooks, size_t bytes) {
    size_t wanted = bytes ? bytes : 1;
    if (!hooks || !hooks->allocate)
        return calloc(1, wanted);
    void *memory = hooks->allocate(wanted, hooks->user);
    if (memory)
        memset(memory, 0, wanted);
    return memory;
}

void strata_host_release(const struct strata_allocator *hooks, void *pointer) {
    if (!pointer)
        return;
    if (!hooks || !hooks->allocate)
        free(pointer);
    else if (hooks->release)
        hooks->release(pointer, hooks->user);
}

void *strata_host_allocate_pages(const struct strata_allocator *hooks, uint64_t bytes, void **block) {
    uint64_t alignment = bytes >= 2 * HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : STRATA_PAGE_BYTES, total;
    if (!strata_add(bytes, alignment, &total) || total > SIZE_MAX)
        return NULL;
    char *memory = hooks && hooks->allocate ? hooks->allocate((size_t)total, hooks->user) : malloc((size_t)total);
    if (!memory)
        return NULL;
    uintptr_t start = ((uintptr_t)memory + alignment - 1) & ~(uintptr_t)(alignment - 1);
    char *aligned = memory + (start - (uintptr_t)memory);
#if defined(MADV_HUGEPAGE)
    if (alignment == HUGE_PAGE_BYTES)
        madvise(aligned, (size_t)bytes, MADV_HUGEPAGE); /* only advice: a kernel without them changes nothing */
#endif
    *block = memory;
    return aligned;
}

char *strata_host_copy_string(const struct strata_allocator *hooks, const char *string, size_t length) {
    if (length == SIZE_MAX)
        return NULL;
    char *copy = strata_host_allocate(hooks, length + 1);
    if (copy && length)
        memcpy(copy, string, length);
    return copy;
}

/* Makes room for `more` bytes and a terminator. */
static bool reserve(struct strata_text *text, size_t more) {
    if (text->failed)
        return false;
    if (more > SIZE_MAX / 2 - text->length - 1) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    char *data = strata_host_allocate(text->hooks, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    if (text->length)
        memcpy(data, text->data, text->length);
    strata_host_release(text->hooks, text->data);
    text->data = data;
    text->capacity = capacity;
    return true;
}

void strata_text_append(struct strata_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void strata_text_add(struct strata_text *text, const char *string) {
    strata_text_append(text, string, strlen(string));
}

void strata_text_printf(struct strata_text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void strata_text_release(struct strata_text *text) {
    strata_host_release(text->hooks, text->data);
    text->data = NULL;
    text->length = 0;
    text->capacity = 0;
    text->failed = false;
}

bool strata_parse_u64(const char *string, uint64_t *value) {
    if (!string || !string[0])
        return false;
    uint64_t result = 0;
    for (const char *at = string; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        uint64_t digit = (uint64_t)(*at - '0');
        if (!strata_multiply(result, 10, &result) || !strata_add(result, digit, &result))
            return false;
    }
    *value = result;
    return true;
}

bool strata_parse_size(const char *value, uint64_t *bytes) {
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = {
        {"", 1},           {"B", 1},           {"K", 1u << 10},   {"KiB", 1u << 10},   {"kB", 1000},
        {"KB", 1000},      {"M", 1u << 20},    {"MiB", 1u << 20}, {"MB", 1000000},     {"G", 1u << 30},
        {"GiB", 1u << 30}, {"GB", 1000000000}, {"T", 1ull << 40}, {"TiB", 1ull << 40}, {"TB", 1000000000000ull},
    };
    char digits[32];
    /* Zeros in front mean nothing, however many there are. */
    while (value[0] == '0' && value[1] >= '0' && value[1] <= '9')
        value++;
    size_t length = strspn(value, "0123456789");
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, value, length);
    digits[length] = '\0';
    uint64_t number = 0;
    if (!strata_parse_u64(digits, &number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(value + length, units[i].suffix) == 0)
            return strata_multiply(number, units[i].factor, bytes);
    return false;
}

char *strata_format_bytes(uint64_t bytes, char *buffer, size_t size) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    uint64_t whole = bytes, rest = 0;
    while (whole >= 1024 && unit < 6) {
        rest = whole % 1024;
        whole /= 1024;
        unit++;
    }
    uint64_t tenths = rest * 10 / 1024;
    if (unit == 0 || whole >= 100 || tenths == 0)
        snprintf(buffer, size, "%llu %s", (unsigned long long)whole, units[unit]);
    else
        snprintf(buffer, size, "%llu.%llu %s", (unsigned long long)whole, (unsigned long long)tenths, units[unit]);
    return buffer;
}
