/* Host memory through the caller's hooks, growing text, checked arithmetic, and numbers independent of the locale. */
#ifndef STRATA_CORE_HOST_H
#define STRATA_CORE_HOST_H

#include "core/error.h"

/* NULL hooks mean malloc and free. `bytes` of 0 gives a valid pointer. Zero-filled. */
void *strata_host_allocate(const struct strata_allocator *hooks, size_t bytes);
void strata_host_release(const struct strata_allocator *hooks, void *pointer);
char *strata_host_copy_string(const struct strata_allocator *hooks, const char *string, size_t length);

/* Memory that starts on a page, not zero-filled, with huge pages where the system has them: first touch of small pages
 * is what dominates large host buffers. *block is what strata_host_release takes. NULL when there is none. */
void *strata_host_allocate_pages(const struct strata_allocator *hooks, uint64_t bytes, void **block);
#define STRATA_PAGE_BYTES 4096

/* Text that grows. After any failure to grow `failed` is set, further appends do nothing, and `data` stays valid.
 * `data` is NUL-terminated once something was appended, and NULL before. May hold NUL bytes. */
struct strata_text {
    char *data;
    size_t length;
    size_t capacity;
    const struct strata_allocator *hooks;
    bool failed;
};
void strata_text_append(struct strata_text *text, const char *bytes, size_t length);
void strata_text_add(struct strata_text *text, const char *string);
void strata_text_printf(struct strata_text *text, const char *format, ...) STRATA_PRINTF(2, 3);
void strata_text_release(struct strata_text *text);

/* False on overflow, and then *result is untouched. */
static inline bool strata_multiply(uint64_t a, uint64_t b, uint64_t *result) {
    if (a != 0 && b > UINT64_MAX / a)
        return false;
    *result = a * b;
    return true;
}
static inline bool strata_add(uint64_t a, uint64_t b, uint64_t *result) {
    if (b > UINT64_MAX - a)
        return false;
    *result = a + b;
    return true;
}

/* Decimal digits only, the whole string, no sign; false when it is anything else or does not fit. */
bool strata_parse_u64(const char *string, uint64_t *value);

/* A size in bytes as people write it: digits, and then nothing, B, K, KiB, kB, KB, M, MiB, MB, G, GiB, GB, T, TiB or
 * TB. The bare letter counts by 1024. */
bool strata_parse_size(const char *string, uint64_t *bytes);

/* "1.5 GiB", "512 B": for sentences; writes at most `size` bytes with the terminator and returns `buffer`. */
char *strata_format_bytes(uint64_t bytes, char *buffer, size_t size);

#endif
