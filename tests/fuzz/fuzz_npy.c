/* Fuzzes the reader of .npy files: the input is such a file, read from memory and through a descriptor. */
#define _GNU_SOURCE
#include "fuzz/fuzz.h"

#include "cli/input.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_same_array(const struct strata_npy *a, const struct strata_npy *b) {
    return a->kind == b->kind && a->size == b->size && a->big_endian == b->big_endian &&
           a->fortran_order == b->fortran_order && a->dimensions == b->dimensions && a->count == b->count &&
           memcmp(a->shape, b->shape, a->dimensions * sizeof a->shape[0]) == 0;
}

/* How often each byte is there that has a meaning. Left out is what may be spelled in several ways. */
static void count_bytes(const char *text, size_t length, size_t counts[256]) {
    memset(counts, 0, 256 * sizeof *counts);
    for (size_t i = 0; i < length; i++)
        if (memchr(" \t\r\n,L<>|=", text[i], 10) == NULL)
            counts[text[i] == '"' ? '\'' : (unsigned char)text[i]]++;
}

/* NumPy's own spelling of what was read has to be read as the same, and to be the same up to spaces and order. */
static void check_round_trip(const struct strata_npy *npy, const char *header, size_t length) {
    size_t given[256], made[256];
    struct strata_text text = {0};
    struct strata_npy again;
    strata_text_printf(&text, "{'descr': '%c%c%u', 'fortran_order': %s, 'shape': (", npy->big_endian ? '>' : '<',
                       npy->kind, (unsigned)npy->size, npy->fortran_order ? "True" : "False");
    for (uint32_t d = 0; d < npy->dimensions; d++)
        strata_text_printf(&text, "%" PRIu64 "%s", npy->shape[d], d + 1 < npy->dimensions ? ", " : "");
    strata_text_add(&text, npy->dimensions == 1 ? ",), }   \n" : "), }   \n");
    FUZZ_CHECK(!text.failed);
    FUZZ_CHECK(strata_npy_read_header(text.data, text.length, &again) == STRATA_OK);
    FUZZ_CHECK(is_same_array(npy, &again));
    count_bytes(header, length, given);
    count_bytes(text.data, text.length, made);
    FUZZ_CHECK(memcmp(given, made, sizeof given) == 0);
    strata_text_release(&text);
}

static void check_array(const struct strata_npy *npy, const char *header, size_t length) {
    FUZZ_CHECK(npy->kind == 'i' || npy->kind == 'u' || npy->kind == 'f');
    FUZZ_CHECK(npy->size == 1 || npy->size == 2 || npy->size == 4 || npy->size == 8);
    FUZZ_CHECK(npy->kind != 'f' || npy->size >= 4);
    FUZZ_CHECK(npy->dimensions <= STRATA_NPY_DIMENSIONS);
    bool has_zero = false;
    for (uint32_t d = 0; d < npy->dimensions; d++)
        has_zero |= npy->shape[d] == 0;
    FUZZ_CHECK(has_zero == (npy->count == 0));
    /* From the end, and by division: not the way in which the reader counts. */
    uint64_t left = npy->count;
    for (uint32_t d = npy->dimensions; !has_zero && d-- != 0; left /= npy->shape[d])
        FUZZ_CHECK(left % npy->shape[d] == 0);
    FUZZ_CHECK(has_zero || left == 1);
    FUZZ_CHECK(npy->count <= UINT64_MAX / npy->size);
    check_round_trip(npy, header, length);
}

/* Whether the head is one that can be read; *head_bytes is where the data then begins. */
static bool read_memory(const uint8_t *data, size_t size, struct strata_npy *npy, size_t *head_bytes) {
    struct strata_npy_preamble preamble;
    enum strata_status status = strata_npy_read_preamble(data, size, &preamble);
    if (status != STRATA_OK) {
        fuzz_check_failure(status, STRATA_IO);
        return false;
    }
    FUZZ_CHECK(preamble.version >= 1 && preamble.version <= 3);
    FUZZ_CHECK(preamble.header_offset == (preamble.version == 1 ? 10 : 12));
    FUZZ_CHECK(preamble.header_offset <= size);
    FUZZ_CHECK(preamble.header_bytes <= STRATA_NPY_HEADER_LIMIT);
    size_t left = size - preamble.header_offset;
    size_t length = left < preamble.header_bytes ? left : preamble.header_bytes;
    char *header = fuzz_copy(data + preamble.header_offset, length);
    status = strata_npy_read_header(header, length, npy);
    if (status == STRATA_OK)
        check_array(npy, header, length);
    else
        fuzz_check_failure(status, STRATA_IO);
    free(header);
    if (status != STRATA_OK)
        return false;
    *head_bytes = preamble.header_offset + length;
    return length == preamble.header_bytes;
}

/* One element of the file as a number of the machine's. */
static void take_element(const uint8_t *from, uint32_t bytes, bool turned, uint8_t *to) {
    for (uint32_t i = 0; i < bytes; i++)
        to[i] = from[turned ? bytes - 1 - i : i];
}

/* Reads all data in pieces that are no power of two, and compares it with the bytes of the input. */
static void check_data(struct strata_input *input, const uint8_t *data, uint64_t bytes, bool turned) {
    uint8_t piece[104], expected[8], again[8];
    uint32_t element = input->element_bytes;
    uint64_t done = 0;
    for (size_t got = 1; got != 0; done += got) {
        FUZZ_CHECK(strata_input_read(input, piece, sizeof piece, &got) == STRATA_OK);
        FUZZ_CHECK(got <= sizeof piece && got % element == 0 && got <= bytes - done);
        for (size_t at = 0; at < got; at += element) {
            take_element(data + done + at, element, turned, expected);
            FUZZ_CHECK(memcmp(piece + at, expected, element) == 0);
        }
        FUZZ_CHECK(input->done_bytes == done + got);
    }
    FUZZ_CHECK(done == bytes);
    if (bytes == 0)
        return;
    FUZZ_CHECK(strata_input_element(input, bytes / element - 1, again));
    take_element(data + bytes - element, element, turned, expected);
    FUZZ_CHECK(memcmp(again, expected, element) == 0);
    FUZZ_CHECK(!strata_input_element(input, bytes / element, again));
}

static void read_descriptor(const uint8_t *data, size_t size, const struct strata_npy *npy, size_t head_bytes) {
    char path[64];
    struct strata_input input;
    const uint16_t probe = 1;
    bool machine_is_big = *(const uint8_t *)&probe == 0;
    int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(descriptor >= 0);
    FUZZ_CHECK(write(descriptor, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    enum strata_status status = strata_input_open(&input, path);
    /* A head that can be read makes a file only with all of its data and nothing else behind it. */
    bool whole = npy != NULL && npy->count * npy->size == size - head_bytes;
    bool is_npy = strata_npy_recognise(data, size);
    if (is_npy && !whole) {
        fuzz_check_failure(status, STRATA_IO);
    } else {
        FUZZ_CHECK(status == STRATA_OK);
        FUZZ_CHECK(input.is_npy == is_npy);
        FUZZ_CHECK(input.data_offset == head_bytes || size == 0);
        FUZZ_CHECK(input.total_bytes == size - head_bytes);
        FUZZ_CHECK(!is_npy || is_same_array(&input.npy, npy));
        uint32_t element = is_npy ? npy->size : 1;
        if (!is_npy)
            FUZZ_CHECK(strata_input_set_element(&input, element) == STRATA_OK);
        FUZZ_CHECK(strata_input_count(&input) == (size - head_bytes) / element);
        check_data(&input, data + head_bytes, size - head_bytes, is_npy && npy->big_endian != machine_is_big);
    }
    strata_input_close(&input);
    close(descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strata_npy npy;
    size_t head_bytes = 0;
    bool readable = strata_npy_recognise(data, size) && read_memory(data, size, &npy, &head_bytes);
    read_descriptor(data, size, readable ? &npy : NULL, readable ? head_bytes : 0);
    return 0;
}
