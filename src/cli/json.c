/* JSON values that jansson cannot hold, and writing them to a file or to standard output. */
#include "cli/json.h"

#include "cli/command.h"
#include "cli/output.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A run of the bench has some 100 KB, and the dump of 100,000 buffers some 10 MB. */
#define FILE_MOST (256 << 20)

/* A number that jansson cannot write goes through it as a string that begins with this private-use character, U+E000;
 * quotes and mark are taken off the finished text. No other string keeps that character. */
#define MARK "\xee\x80\x80"
#define MARK_BYTES 3

json_t *strata_json_u64(uint64_t value) {
    char number[MARK_BYTES + STRATA_NUMBER_TEXT];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(number, sizeof number, MARK "%" PRIu64, value);
    return json_string(number);
}

json_t *strata_json_known(uint64_t value) {
    return value == STRATA_UNKNOWN ? json_null() : strata_json_u64(value);
}

static json_t *special(double value) {
    return json_string(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

json_t *strata_json_f32(float value) {
    char number[MARK_BYTES + STRATA_NUMBER_TEXT] = MARK;
    if (!isfinite(value))
        return special((double)value);
    strata_format_f32(value, number + MARK_BYTES);
    return json_string(number);
}

json_t *strata_json_f64(double value) {
    char number[MARK_BYTES + STRATA_NUMBER_TEXT] = MARK;
    if (!isfinite(value))
        return special(value);
    strata_format_f64(value, number + MARK_BYTES);
    return json_string(number);
}

json_t *strata_json_string(const char *string) {
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    struct strata_text text = {0};
    size_t length = 0;
    strata_text_add(&text, "");
    for (; *string != '\0'; string += length) {
        bool valid = strata_text_decode(string, &length) != 0xfffd && memcmp(string, MARK, length) != 0;
        strata_text_append(&text, valid ? string : replacement, valid ? length : sizeof replacement - 1);
    }
    json_t *value = text.failed || text.data == NULL ? NULL : json_string(text.data);
    strata_text_release(&text);
    return value;
}

void strata_json_add(struct strata_text *text, const json_t *root) {
    static const char marked[] = "\"" MARK;
    char *written = root != NULL ? json_dumps(root, JSON_INDENT(2) | JSON_ENCODE_ANY) : NULL;
    if (written == NULL) {
        text->failed = true;
        return;
    }
    const char *at = written;
    for (const char *number; (number = strstr(at, marked)) != NULL;) {
        strata_text_append(text, at, (size_t)(number - at));
        number += sizeof marked - 1;
        size_t length = strcspn(number, "\"");
        strata_text_append(text, number, length);
        at = number + length + 1;
    }
    strata_text_add(text, at);
    strata_text_add(text, "\n");
    free(written);
}

static int write_file(struct strata_text *text, const char *path) {
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fwrite(text->data, 1, text->length, file) == text->length;
    int reason = errno;
    if (file != NULL && fclose(file) != 0 && written) {
        written = false;
        reason = errno;
    }
    strata_text_release(text);
    if (written)
        return STRATA_EXIT_DONE;
    strata_message("%s: cannot write: %s", path, strata_errno_text(reason));
    return STRATA_EXIT_FILE;
}

int strata_json_write(json_t *root, const char *path) {
    struct strata_text text = {0};
    strata_json_add(&text, root);
    json_decref(root);
    if (text.failed || path == NULL || strcmp(path, "-") == 0)
        return strata_output_text(&text);
    return write_file(&text, path);
}

json_t *strata_json_parse(const char *text, size_t length, char *sentence, size_t size) {
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        snprintf(sentence, size, length == 0 ? "it is empty" : "it is no JSON: line %d: %s", error.line, error.text);
    return root;
}

/* The whole of a file; 0, or the number of an error. */
static int read_file(const char *path, struct strata_text *text) {
    char chunk[65536];
    size_t got = 0;
    struct stat facts;
    if (stat(path, &facts) != 0)
        return errno;
    if (!S_ISREG(facts.st_mode))
        return S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    if (facts.st_size > FILE_MOST)
        return EFBIG;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return errno;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        strata_text_append(text, chunk, got);
    int error = ferror(file) ? EIO : text->failed ? ENOMEM : 0;
    fclose(file);
    return error;
}

int strata_json_read(const char *path, json_t **root) {
    struct strata_text text = {0};
    char sentence[256];
    int error = read_file(path, &text);
    *root = NULL;
    if (error != 0)
        strata_message("%s: cannot read: %s", path, strata_errno_text(error));
    else if ((*root = strata_json_parse(text.data != NULL ? text.data : "", text.length, sentence, sizeof sentence)) ==
             NULL)
        strata_message("%s: %s", path, sentence);
    strata_text_release(&text);
    return *root != NULL ? STRATA_EXIT_DONE : STRATA_EXIT_FILE;
}
