/* Writing and reading cache files in memory. A file is for the machine that wrote it: numbers are in native order, and
 * a mark of that order is in the header. The key is in the file as a whole, so that a hash that two keys share, or a
 * file under a foreign name, is found out. */
#include "program/cache_entry.h"

#include <string.h>
#include <xxhash.h>

#define BYTE_ORDER_MARK 0x01020304u

struct header {
    char magic[8];
    XXH128_canonical_t checksum; /* of all that follows it, to the end of the file */
    uint32_t byte_order;
    uint32_t format;
    uint64_t key_bytes;
    uint64_t arguments_bytes;
    uint64_t binary_bytes;
};

_Static_assert(sizeof(struct header) == 56, "the header of a cache file has no gaps");

#define CHECKED_FROM (offsetof(struct header, checksum) + sizeof(XXH128_canonical_t))

static const char magic[8] = {'s', 't', 'r', 'a', 't', 'a', '\r', '\n'};

static void add_number(struct strata_text *out, uint64_t number) {
    char bytes[sizeof number];
    memcpy(bytes, &number, sizeof number);
    strata_text_append(out, bytes, sizeof number);
}

static void add_field(struct strata_text *out, const char *bytes, size_t length) {
    add_number(out, length);
    if (length != 0)
        strata_text_append(out, bytes, length);
}

void strata_cache_encode_key(const struct strata_cache_key *key, struct strata_text *out) {
    const char *const fields[] = {
        key->strata_version, key->backend,        key->platform_name,  key->platform_version,
        key->device_name,    key->device_version, key->driver_version, key->options,
    };
    add_number(out, STRATA_CACHE_FORMAT);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        add_field(out, fields[i], fields[i] != NULL ? strlen(fields[i]) : 0);
    add_field(out, key->source, key->source_length);
}

static XXH128_canonical_t hash(const void *bytes, size_t length) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, length));
    return canonical;
}

void strata_cache_name(const struct strata_text *key, char name[STRATA_CACHE_NAME_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    XXH128_canonical_t canonical = hash(key->data, key->length);
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        name[2 * i] = digits[canonical.digest[i] >> 4];
        name[2 * i + 1] = digits[canonical.digest[i] & 15];
    }
    memcpy(name + 2 * sizeof canonical.digest, ".bin", 5);
}

bool strata_cache_is_name(const char *name) {
    return strlen(name) == STRATA_CACHE_NAME_SIZE - 1 && strspn(name, "0123456789abcdef") == 32 &&
           strcmp(name + 32, ".bin") == 0;
}

void strata_cache_encode(const struct strata_text *key, const struct strata_cache_entry *entry,
                         struct strata_text *out) {
    struct header header = {
        .byte_order = BYTE_ORDER_MARK,
        .format = STRATA_CACHE_FORMAT,
        .key_bytes = key->length,
        .arguments_bytes = entry->arguments_bytes,
        .binary_bytes = entry->binary_bytes,
    };
    memcpy(header.magic, magic, sizeof magic);
    strata_text_append(out, (const char *)&header, sizeof header);
    strata_text_append(out, key->data, key->length);
    if (entry->arguments_bytes != 0)
        strata_text_append(out, entry->arguments, entry->arguments_bytes);
    if (entry->binary_bytes != 0)
        strata_text_append(out, entry->binary, entry->binary_bytes);
    if (out->failed)
        return;
    XXH128_canonical_t checksum = hash(out->data + CHECKED_FROM, out->length - CHECKED_FROM);
    memcpy(out->data + offsetof(struct header, checksum), &checksum, sizeof checksum);
}

const char *strata_cache_decode(const void *bytes, size_t length, const struct strata_text *key,
                                struct strata_cache_entry *entry) {
    struct header header;
    const char *at = bytes;
    if (length < sizeof header)
        return "it is cut short";
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) != 0)
        return "it is not a cache file of strata";
    XXH128_canonical_t checksum = hash(at + CHECKED_FROM, length - CHECKED_FROM);
    if (memcmp(&header.checksum, &checksum, sizeof checksum) != 0)
        return "its checksum is wrong";
    if (header.byte_order != BYTE_ORDER_MARK || header.format != STRATA_CACHE_FORMAT)
        return "it has the form of another version or machine";
    uint64_t left = length - sizeof header;
    if (header.key_bytes > left || header.arguments_bytes > left - header.key_bytes ||
        header.binary_bytes != left - header.key_bytes - header.arguments_bytes)
        return "its sizes do not add up";
    at += sizeof header;
    if (header.key_bytes != key->length || memcmp(at, key->data, key->length) != 0)
        return "it was made for another source, device, driver or version";
    at += key->length;
    entry->arguments = at;
    entry->arguments_bytes = (size_t)header.arguments_bytes;
    entry->binary = at + entry->arguments_bytes;
    entry->binary_bytes = (size_t)header.binary_bytes;
    return NULL;
}
