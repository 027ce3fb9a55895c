/* The head of a .npy file: a strict reader of the small Python dictionary in it. Nothing in it is ever evaluated. */
#include "cli/npy.h"

#include "core/error.h"
#include "core/host.h"

#include <string.h>

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

enum field { FIELD_DESCR = 1, FIELD_ORDER = 2, FIELD_SHAPE = 4, FIELD_ALL = 7 };

struct cursor {
    const char *text;
    size_t length;
    size_t at;
};

struct span {
    const char *text;
    size_t length;
};

bool strata_npy_recognise(const unsigned char *bytes, size_t length) {
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

enum strata_status strata_npy_read_preamble(const unsigned char *bytes, size_t length,
                                            struct strata_npy_preamble *preamble) {
    if (length < 8)
        return strata_fail(STRATA_IO, "the .npy file ends after %zu bytes, before its version", length);
    preamble->version = bytes[6];
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return strata_fail(STRATA_IO, "the .npy file has version %u.%u; versions 1.0, 2.0 and 3.0 can be read",
                           (unsigned)bytes[6], (unsigned)bytes[7]);
    preamble->header_offset = bytes[6] == 1 ? 10 : 12;
    if (length < preamble->header_offset)
        return strata_fail(STRATA_IO, "the .npy file ends after %zu bytes, before the length of its header", length);
    preamble->header_bytes = bytes[8] | (uint32_t)bytes[9] << 8;
    if (bytes[6] > 1)
        preamble->header_bytes |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    if (preamble->header_bytes > STRATA_NPY_HEADER_LIMIT)
        return strata_fail(STRATA_IO,
                           "the .npy header claims %u bytes, but at most %u can be read; the file is damaged",
                           (unsigned)preamble->header_bytes, STRATA_NPY_HEADER_LIMIT);
    return STRATA_OK;
}

static enum strata_status fail_expected(const struct cursor *cursor, const char *expected) {
    return strata_fail(STRATA_IO, "the .npy header is damaged: at byte %zu of its %zu %s was expected", cursor->at,
                       cursor->length, expected);
}

static void skip_space(struct cursor *cursor) {
    while (cursor->at < cursor->length && memchr(" \t\r\n", cursor->text[cursor->at], 4) != NULL)
        cursor->at++;
}

static bool next_is(const struct cursor *cursor, char wanted) {
    return cursor->at < cursor->length && cursor->text[cursor->at] == wanted;
}

/* Spaces around a mark mean nothing. */
static bool take(struct cursor *cursor, char wanted) {
    skip_space(cursor);
    if (!next_is(cursor, wanted))
        return false;
    cursor->at++;
    skip_space(cursor);
    return true;
}

static bool take_word(struct cursor *cursor, const char *word) {
    size_t length = strlen(word);
    if (cursor->length - cursor->at < length || memcmp(cursor->text + cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool span_is(struct span span, const char *string) {
    return span.length == strlen(string) && memcmp(span.text, string, span.length) == 0;
}

/* No name or simple type in a header needs an escape, so a backslash is damage. */
static bool take_string(struct cursor *cursor, struct span *string) {
    if (!next_is(cursor, '\'') && !next_is(cursor, '"'))
        return false;
    char quote = cursor->text[cursor->at];
    size_t begin = cursor->at + 1;
    for (size_t at = begin; at < cursor->length; at++) {
        char c = cursor->text[at];
        if (c == '\\' || c == '\n')
            return false;
        if (c == quote) {
            *string = (struct span){cursor->text + begin, at - begin};
            cursor->at = at + 1;
            return true;
        }
    }
    return false;
}

static enum strata_status fail_type(struct span descr, const char *reason) {
    int length = descr.length < 32 ? (int)descr.length : 32;
    return strata_fail(STRATA_IO, "the .npy file has elements of type '%.*s': %s", length, descr.text, reason);
}

static enum strata_status refuse_kind(struct span descr, char kind) {
    switch (kind) {
    case 'O':
        return fail_type(descr, "Python objects are not read, because that would run code from the file; save the "
                                "array as numbers");
    case 'S':
    case 'a':
    case 'U':
        return fail_type(descr, "text cannot be read as numbers");
    case 'V':
        return fail_type(descr, "raw bytes without a number type cannot be read; save the array as numbers");
    case 'c':
        return fail_type(descr, "complex numbers are not read; save the real and the imaginary part as two arrays");
    case 'b':
        return fail_type(descr, "truth values are not read; save the array as uint8");
    case 'm':
    case 'M':
        return fail_type(descr, "dates and durations are not read; save the array as int64");
    default:
        return fail_type(descr, "this type is not known; integers of 1 to 8 bytes and floating point of 4 and 8 bytes "
                                "can be read");
    }
}

static bool machine_is_big_endian(void) {
    const uint16_t probe = 1;
    unsigned char first;
    memcpy(&first, &probe, 1);
    return first == 0;
}

static enum strata_status read_type(struct span descr, struct strata_npy *npy) {
    struct span rest = descr;
    npy->big_endian = machine_is_big_endian();
    if (rest.length > 0 && memchr("<>|=", rest.text[0], 4) != NULL) {
        if (rest.text[0] == '<' || rest.text[0] == '>')
            npy->big_endian = rest.text[0] == '>';
        rest.text++;
        rest.length--;
    }
    if (rest.length == 0)
        return fail_type(descr, "the header is damaged");
    npy->kind = rest.text[0];
    if (npy->kind != 'i' && npy->kind != 'u' && npy->kind != 'f')
        return refuse_kind(descr, npy->kind);
    if (npy->kind == 'f' && rest.length == 2 && rest.text[1] == '2')
        return fail_type(descr, "half precision is not read; save the array as float32");
    if (npy->kind == 'f' && rest.length == 3 &&
        (memcmp(rest.text + 1, "12", 2) == 0 || memcmp(rest.text + 1, "16", 2) == 0))
        return fail_type(descr, "extended precision is not read; save the array as float64");
    bool known =
        rest.length == 2 && memchr(npy->kind == 'f' ? "48" : "1248", rest.text[1], npy->kind == 'f' ? 2 : 4) != NULL;
    if (!known)
        return refuse_kind(descr, '\0');
    npy->size = (uint32_t)(rest.text[1] - '0');
    return STRATA_OK;
}

static enum strata_status read_descr(struct cursor *cursor, struct strata_npy *npy) {
    if (next_is(cursor, '['))
        return strata_fail(STRATA_IO, "the .npy file is a structured array (records with named fields); save the one "
                                      "field that is wanted as an array of its own");
    if (next_is(cursor, '('))
        return strata_fail(STRATA_IO, "the .npy file has elements that are arrays themselves; save it as a plain array "
                                      "with one more dimension");
    struct span descr;
    if (!take_string(cursor, &descr))
        return fail_expected(cursor, "the element type in quotes");
    return read_type(descr, npy);
}

static enum strata_status read_order(struct cursor *cursor, struct strata_npy *npy) {
    npy->fortran_order = take_word(cursor, "True");
    if (!npy->fortran_order && !take_word(cursor, "False"))
        return fail_expected(cursor, "True or False");
    return STRATA_OK;
}

static enum strata_status read_extent(struct cursor *cursor, uint64_t *extent) {
    size_t begin = cursor->at;
    uint64_t value = 0;
    while (cursor->at < cursor->length && cursor->text[cursor->at] >= '0' && cursor->text[cursor->at] <= '9') {
        uint64_t digit = (uint64_t)(cursor->text[cursor->at] - '0');
        if (!strata_multiply(value, 10, &value) || !strata_add(value, digit, &value))
            return strata_fail(STRATA_IO, "the .npy header has an extent that does not fit 64 bits");
        cursor->at++;
    }
    bool padded = cursor->at - begin > 1 && cursor->text[begin] == '0';
    if (cursor->at == begin || padded) {
        cursor->at = begin;
        return fail_expected(cursor, "an extent of the shape, a number that is not negative,");
    }
    /* Python 2 wrote its long integers so. */
    if (next_is(cursor, 'L'))
        cursor->at++;
    *extent = value;
    return STRATA_OK;
}

static enum strata_status read_shape(struct cursor *cursor, struct strata_npy *npy) {
    if (!take(cursor, '('))
        return fail_expected(cursor, "the shape in parentheses");
    npy->dimensions = 0;
    bool comma = true;
    while (!take(cursor, ')')) {
        if (!comma)
            return fail_expected(cursor, "a comma or the end of the shape");
        if (npy->dimensions == STRATA_NPY_DIMENSIONS)
            return strata_fail(STRATA_IO, "the .npy header has more than %d dimensions", STRATA_NPY_DIMENSIONS);
        enum strata_status status = read_extent(cursor, &npy->shape[npy->dimensions]);
        if (status != STRATA_OK)
            return status;
        npy->dimensions++;
        comma = take(cursor, ',');
    }
    /* "(3)" is a number in parentheses; a tuple of one has its comma. */
    if (npy->dimensions == 1 && !comma)
        return fail_expected(cursor, "a comma in the shape of one extent");
    return STRATA_OK;
}

/* The caller skipped the spaces; the value of the key is next. */
static enum strata_status read_value(struct cursor *cursor, struct span key, unsigned *seen, struct strata_npy *npy) {
    unsigned field = span_is(key, "descr")           ? FIELD_DESCR
                     : span_is(key, "fortran_order") ? FIELD_ORDER
                     : span_is(key, "shape")         ? FIELD_SHAPE
                                                     : 0;
    if (field == 0 || (*seen & field) != 0)
        return strata_fail(STRATA_IO, "the .npy header is damaged: the key '%.*s' is %s",
                           key.length < 32 ? (int)key.length : 32, key.text, field == 0 ? "not known" : "there twice");
    *seen |= field;
    if (field == FIELD_DESCR)
        return read_descr(cursor, npy);
    return field == FIELD_ORDER ? read_order(cursor, npy) : read_shape(cursor, npy);
}

static enum strata_status count_elements(struct strata_npy *npy) {
    npy->count = 1;
    for (uint32_t d = 0; d < npy->dimensions; d++)
        if (npy->shape[d] == 0)
            npy->count = 0;
    uint64_t bytes = 0;
    bool fits = true;
    for (uint32_t d = 0; fits && npy->count != 0 && d < npy->dimensions; d++)
        fits = strata_multiply(npy->count, npy->shape[d], &npy->count);
    if (!fits || !strata_multiply(npy->count, npy->size, &bytes))
        return strata_fail(STRATA_IO, "the .npy header has a shape whose size in bytes does not fit 64 bits");
    return STRATA_OK;
}

enum strata_status strata_npy_read_header(const char *text, size_t length, struct strata_npy *npy) {
    struct cursor cursor = {text, length, 0};
    unsigned seen = 0;
    memset(npy, 0, sizeof *npy);
    if (!take(&cursor, '{'))
        return fail_expected(&cursor, "an opening brace");
    bool comma = true;
    while (!take(&cursor, '}')) {
        struct span key;
        if (!comma)
            return fail_expected(&cursor, "a comma or the closing brace");
        if (!take_string(&cursor, &key))
            return fail_expected(&cursor, "a key in quotes");
        if (!take(&cursor, ':'))
            return fail_expected(&cursor, "a colon");
        enum strata_status status = read_value(&cursor, key, &seen, npy);
        if (status != STRATA_OK)
            return status;
        comma = take(&cursor, ',');
    }
    if (cursor.at != length)
        return fail_expected(&cursor, "nothing more");
    if (seen != FIELD_ALL)
        return strata_fail(STRATA_IO, "the .npy header is damaged: '%s' is missing",
                           !(seen & FIELD_DESCR)   ? "descr"
                           : !(seen & FIELD_ORDER) ? "fortran_order"
                                                   : "shape");
    return count_elements(npy);
}
