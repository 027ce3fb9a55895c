/* Fuzzes the reader of cache entries: the input is the file, tried as it is and with a checksum that is right. */
#include "fuzz/fuzz.h"

#include "program/cache_entry.h"
#include "program/program.h"

#include <xxhash.h>

/* The form of a file, told a second time: a change to it that does not raise STRATA_CACHE_FORMAT is found here. */
#define CHECKSUM_AT 8
#define CHECKED_FROM 24
#define KEY_BYTES_AT 32
#define HEAD_BYTES 56

static void repair_checksum(char *file, size_t length) {
    XXH128_canonical_t checksum;
    XXH128_canonicalFromHash(&checksum, XXH3_128bits(file + CHECKED_FROM, length - CHECKED_FROM));
    memcpy(file + CHECKSUM_AT, &checksum, sizeof checksum);
}

static bool is_among(const char *string, const char *strings, size_t length) {
    return string >= strings && string < strings + length;
}

/* What the entry keeps of kernels is read only after the checksum, yet a file may be made with any of it. */
static void check_arguments(const char *metadata, size_t length) {
    static strata_device device;
    strata_program program = {.device = &device};
    char *exact = fuzz_copy(metadata, length);
    bool good = strata_metadata_apply(&program, exact, length);
    free(exact);
    if (!good) {
        FUZZ_CHECK(program.kernels == NULL && program.kernel_count == 0 && program.strings == NULL);
        return;
    }
    for (size_t k = 0; k < program.kernel_count; k++) {
        const struct strata_kernel_info *info = &program.kernels[k].info;
        FUZZ_CHECK(is_among(info->name, program.strings, length));
        FUZZ_CHECK(info->argument_count <= length / 4);
        for (uint32_t i = 0; i < info->argument_count; i++) {
            FUZZ_CHECK((unsigned)info->arguments[i].kind <= STRATA_ARGUMENT_IMAGE);
            FUZZ_CHECK(is_among(info->arguments[i].name, program.strings, length));
            FUZZ_CHECK(is_among(info->arguments[i].type, program.strings, length));
        }
    }
    FUZZ_CHECK(length == 0 || program.kernel_count != 0);
    strata_metadata_drop(&program);
}

/* One damaged byte anywhere, or one byte less or more, and it is no entry any more. */
static void check_damage(const struct strata_text *file, const struct strata_text *key, size_t where) {
    struct strata_cache_entry entry = {0};
    char *damaged = fuzz_string(file->data, file->length);
    FUZZ_CHECK(strata_cache_decode(damaged, file->length - 1, key, &entry) != NULL);
    FUZZ_CHECK(strata_cache_decode(damaged, file->length + 1, key, &entry) != NULL);
    damaged[where % file->length] ^= (char)(1 << where % 8);
    FUZZ_CHECK(strata_cache_decode(damaged, file->length, key, &entry) != NULL);
    free(damaged);
}

static void check_file(const char *file, size_t length, const struct strata_text *key) {
    struct strata_cache_entry entry = {0};
    struct strata_text again = {0};
    const char *wrong = strata_cache_decode(file, length, key, &entry);
    if (wrong != NULL) {
        FUZZ_CHECK(wrong[0] != '\0' && entry.arguments == NULL && entry.binary == NULL);
        return;
    }
    FUZZ_CHECK(length >= HEAD_BYTES + key->length);
    size_t left = length - HEAD_BYTES - key->length;
    FUZZ_CHECK(entry.arguments == file + HEAD_BYTES + key->length);
    FUZZ_CHECK(entry.arguments_bytes <= left && entry.binary_bytes == left - entry.arguments_bytes);
    FUZZ_CHECK(entry.binary == (const char *)entry.arguments + entry.arguments_bytes);
    strata_cache_encode(key, &entry, &again);
    FUZZ_CHECK(!again.failed && again.length == length && memcmp(again.data, file, length) == 0);
    check_damage(&again, key, length != HEAD_BYTES ? (unsigned char)file[length - 1] * 7u : 0);
    strata_text_release(&again);
    check_arguments(entry.arguments, entry.arguments_bytes);
}

/* The input as what an entry holds: it comes back as it was, and only for its own key. */
static void check_entry(const uint8_t *data, size_t size) {
    struct strata_text key = {0}, other = {0}, file = {0};
    struct strata_cache_entry back = {0};
    char *bytes = fuzz_copy(data, size), name[STRATA_CACHE_NAME_SIZE];
    size_t source = size != 0 ? data[0] % (size + 1) : 0, arguments = (size - source) / 2;
    struct strata_cache_key fields = {
        .source = bytes, .source_length = source, .driver_version = "3.1-D", .options = "A"};
    strata_cache_encode_key(&fields, &key);
    /* The same bytes in a row, and yet another key. */
    fields.driver_version = "3.1-";
    fields.options = "DA";
    strata_cache_encode_key(&fields, &other);
    FUZZ_CHECK(!key.failed && !other.failed && key.length == other.length);
    strata_cache_name(&key, name);
    FUZZ_CHECK(strata_cache_is_name(name));

    struct strata_cache_entry entry = {.arguments = bytes + source,
                                       .arguments_bytes = arguments,
                                       .binary = bytes + source + arguments,
                                       .binary_bytes = size - source - arguments};
    strata_cache_encode(&key, &entry, &file);
    FUZZ_CHECK(!file.failed);
    FUZZ_CHECK(strata_cache_decode(file.data, file.length, &other, &back) != NULL);
    FUZZ_CHECK(strata_cache_decode(file.data, file.length, &key, &back) == NULL);
    FUZZ_CHECK(back.arguments_bytes == entry.arguments_bytes && back.binary_bytes == entry.binary_bytes);
    FUZZ_CHECK(memcmp(back.arguments, entry.arguments, entry.arguments_bytes) == 0);
    FUZZ_CHECK(memcmp(back.binary, entry.binary, entry.binary_bytes) == 0);
    strata_text_release(&key);
    strata_text_release(&other);
    strata_text_release(&file);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *file = fuzz_copy(data, size);
    struct strata_text key = {0};
    uint64_t key_bytes = 0;
    /* The key that the file itself says it has, so that it is not refused for that alone. */
    if (size >= HEAD_BYTES)
        memcpy(&key_bytes, data + KEY_BYTES_AT, sizeof key_bytes);
    if (size >= HEAD_BYTES && key_bytes <= size - HEAD_BYTES)
        strata_text_append(&key, file + HEAD_BYTES, (size_t)key_bytes);
    else
        strata_text_add(&key, "a key");
    FUZZ_CHECK(!key.failed);
    check_file(file, size, &key);
    if (size >= HEAD_BYTES) {
        repair_checksum(file, size);
        check_file(file, size, &key);
    }
    check_entry(data, size);
    strata_text_release(&key);
    free(file);
    return 0;
}
