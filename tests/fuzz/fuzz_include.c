/* Fuzzes the inliner: the input is kernel source and, behind NULs, build options and the files that it may include. */
#include "fuzz/fuzz.h"
#include "fuzz/lexer.h"

#include "program/embedded.h"
#include "program/include.h"
#include "program/scan.h"
#include "program/source.h"

#define FILES 4

/* A name beside another, one below a folder, and one that needs an escape in a marker. */
static const char *const names[FILES] = {"a.h", "b.h", "d/a.h", "d/q?.h"};

/* Everything of one run; part 0 is the source, and the others are what the embedded files become. */
struct run {
    struct strata_text parts[1 + FILES];
    struct strata_scan scans[1 + FILES];
    const char *display[1 + FILES];
    size_t count;
    bool has_include, has_once, has_line;
};

static uint32_t line_at(const char *text, size_t offset) {
    uint32_t line = 1;
    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static void check_scan(const struct strata_text *text, const struct strata_scan *scan) {
    size_t end = 0, once = 0;
    for (size_t i = 0; i < scan->count; i++) {
        const struct strata_directive *directive = &scan->directives[i];
        FUZZ_CHECK(directive->begin >= end && directive->end > directive->begin && directive->end <= text->length);
        end = directive->end;
        FUZZ_CHECK(text->data[directive->begin] == '#' || text->data[directive->begin] == '%');
        FUZZ_CHECK(end == text->length || text->data[end - 1] == '\n');
        FUZZ_CHECK(directive->line == line_at(text->data, directive->begin));
        FUZZ_CHECK(directive->next_line == line_at(text->data, end));
        once += directive->kind == STRATA_DIRECTIVE_ONCE;
        if (directive->kind == STRATA_DIRECTIVE_INCLUDE && directive->quote != 0) {
            FUZZ_CHECK(directive->quote == '"' || directive->quote == '<');
            FUZZ_CHECK(directive->name < scan->names.length);
            FUZZ_CHECK(memchr(scan->names.data + directive->name, '\0', scan->names.length - directive->name) != NULL);
            FUZZ_CHECK(strchr(scan->names.data + directive->name, '\n') == NULL);
        }
        if (directive->kind == STRATA_DIRECTIVE_LINE && directive->name_length != 0) {
            FUZZ_CHECK(directive->name > directive->begin && directive->name + directive->name_length <= end);
            FUZZ_CHECK(text->data[directive->name] == '"');
            FUZZ_CHECK(text->data[directive->name + directive->name_length - 1] == '"');
        }
        if (directive->kind == STRATA_DIRECTIVE_DEFINE || directive->kind == STRATA_DIRECTIVE_UNDEF)
            FUZZ_CHECK(directive->macro != 0);
    }
    FUZZ_CHECK(once == scan->once_count);
    lexer_check(text->data, text->length, scan);
    uint32_t last = line_at(text->data, text->length);
    FUZZ_CHECK(scan->open_comment <= last && scan->unmatched <= last);
    FUZZ_CHECK(!scan->guarded || (scan->count >= 3 && scan->unmatched == 0 && scan->guard != 0));
}

/* Compares a text with the bytes that it was made from, one by one. */
static void check_normalised(const struct strata_text *text, const uint8_t *bytes, size_t length) {
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};
    size_t at = length >= 3 && memcmp(bytes, mark, 3) == 0 ? 3 : 0, to = 0;
    for (; at < length; at++) {
        if (bytes[at] == '\n' && at != 0 && bytes[at - 1] == '\r')
            continue;
        FUZZ_CHECK(to < text->length && text->data[to] == (bytes[at] == '\r' ? '\n' : (char)bytes[at]));
        to++;
    }
    FUZZ_CHECK(to == text->length && (text->data == NULL || text->data[to] == '\0'));
}

/* Normalises and scans one text. False when the inliner is to refuse it, or when it may read what is no part of the
 * input: a path from the root is the only way there, because the source and its files have no folder. */
static bool add_part(struct run *run, const uint8_t *bytes, size_t length) {
    struct strata_text *text = &run->parts[run->count];
    struct strata_scan *scan = &run->scans[run->count];
    enum strata_source_kind kind = run->count == 0 ? STRATA_SOURCE_MAIN : STRATA_SOURCE_INCLUDED;
    enum strata_status status = strata_source_copy(NULL, (const char *)bytes, length, kind, text);
    if (status != STRATA_OK) {
        fuzz_check_failure(status, STRATA_INVALID_ARGUMENT);
        FUZZ_CHECK(text->data == NULL && text->length == 0);
        return false;
    }
    check_normalised(text, bytes, length);
    /* Of no more bytes than it has, for AddressSanitizer. */
    char *exact = fuzz_copy(text->data, text->length);
    FUZZ_CHECK(strata_scan_text(NULL, exact, text->length, scan) == STRATA_OK);
    run->count++;
    check_scan(text, scan);
    free(exact);
    for (size_t i = 0; i < scan->count; i++) {
        const struct strata_directive *directive = &scan->directives[i];
        bool include = directive->kind == STRATA_DIRECTIVE_INCLUDE;
        run->has_include |= include;
        run->has_once |= directive->kind == STRATA_DIRECTIVE_ONCE;
        run->has_line |= directive->kind == STRATA_DIRECTIVE_LINE;
        if (include && directive->quote != 0 && scan->names.data[directive->name] == '/')
            return false;
    }
    return true;
}

/* The source as it is, behind one marker and with an end to its last line. */
static void check_untouched(const struct run *run, const struct strata_text *out) {
    static const char marker[] = "#line 1 \"<source>\"\n";
    const struct strata_text *source = &run->parts[0];
    const size_t head = sizeof marker - 1;
    FUZZ_CHECK(out->length > head && memcmp(out->data, marker, head) == 0);
    FUZZ_CHECK(out->length - head >= source->length && memcmp(out->data + head, source->data, source->length) == 0);
    const char *rest = out->data + head + source->length;
    FUZZ_CHECK(strcmp(rest, "") == 0 || strcmp(rest, "\n") == 0 || strcmp(rest, "\n\n") == 0);
}

/* The line of a part, as far as it goes; false behind its end. */
static bool find_line(const struct strata_text *part, uint32_t line, const char **begin, size_t *length) {
    const char *at = part->data, *end = part->data + part->length;
    for (; line > 1 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
    }
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    *begin = at;
    *length = (size_t)((newline != NULL ? newline : end) - at);
    return line == 1 && at <= end;
}

static size_t part_of_marker(const struct run *run, const char *marker, size_t length) {
    for (size_t i = 0; i < run->count; i++) {
        size_t name = strlen(run->display[i]);
        if (length >= name + 3 && memcmp(marker + length - name - 2, run->display[i], name) == 0 &&
            marker[length - name - 3] == '"')
            return i;
    }
    return run->count;
}

static bool has_words(const char *line, size_t length, const char *words) {
    size_t wanted = strlen(words);
    for (size_t i = 0; i + wanted <= length; i++)
        if (memcmp(line + i, words, wanted) == 0)
            return true;
    return false;
}

/* Follows the markers as a compiler does, and finds on each line the words that stand in the file there: a build log
 * then names the right line. Only for sources without a #line of their own. */
static void check_lines(const struct run *run, const struct strata_text *out, const struct strata_scan *scan) {
    size_t part = 0, next = 0;
    uint32_t line = 0;
    for (size_t at = 0, length; at < out->length; at += length + 1) {
        const char *newline = memchr(out->data + at, '\n', out->length - at), *expected;
        FUZZ_CHECK(newline != NULL);
        length = (size_t)(newline - (out->data + at));
        size_t there = 0;
        while (next < scan->count &&
               (scan->directives[next].begin < at || scan->directives[next].kind != STRATA_DIRECTIVE_LINE))
            next++;
        if (next < scan->count && scan->directives[next].begin == at) {
            line = (uint32_t)scan->directives[next].number;
            part = part_of_marker(run, out->data + at, length + 1);
            FUZZ_CHECK(part < run->count);
            continue;
        }
        /* These lines are put in for #pragma once. */
        bool added = run->has_once && (has_words(out->data + at, length, "strata_once_") ||
                                       (length == 6 && memcmp(out->data + at, "#endif", 6) == 0));
        /* Before the first marker there is nothing else; an empty line may stand anywhere. */
        FUZZ_CHECK(added || line != 0);
        if (!added && length != 0) {
            FUZZ_CHECK(find_line(&run->parts[part], line, &expected, &there));
            FUZZ_CHECK(length <= there && memcmp(out->data + at, expected, length) == 0);
        }
        line += line != 0;
    }
}

/* A compiler that skips a group skips the markers in it, so that behind such a group there has to be another. */
static void check_skipped(const struct strata_text *out, const struct strata_scan *scan) {
    bool *marked = malloc((scan->count + 1) * sizeof *marked);
    size_t depth = 0;
    FUZZ_CHECK(marked != NULL);
    for (size_t i = 0; i < scan->count; i++) {
        const struct strata_directive *directive = &scan->directives[i];
        bool ends = directive->kind == STRATA_DIRECTIVE_ENDIF, turns = directive->kind == STRATA_DIRECTIVE_ELSE;
        if (directive->kind == STRATA_DIRECTIVE_IF)
            marked[depth++] = false;
        for (size_t open = 0; directive->kind == STRATA_DIRECTIVE_LINE && open < depth; open++)
            marked[open] = true;
        if (depth == 0 || (!ends && !turns))
            continue;
        bool told =
            i + 1 < scan->count && directive[1].kind == STRATA_DIRECTIVE_LINE && directive[1].begin == directive->end;
        FUZZ_CHECK(!marked[depth - 1] || told || directive->end == out->length);
        marked[depth - 1] = false;
        depth -= ends;
    }
    free(marked);
}

/* Outside of all conditionals every include was either served or a failure. */
static void check_served(const struct strata_scan *scan) {
    size_t depth = 0;
    for (size_t i = 0; i < scan->count; i++) {
        enum strata_directive_kind kind = scan->directives[i].kind;
        FUZZ_CHECK(kind != STRATA_DIRECTIVE_ONCE);
        FUZZ_CHECK(kind != STRATA_DIRECTIVE_INCLUDE || depth != 0);
        if (kind == STRATA_DIRECTIVE_IF)
            depth++;
        else if (kind == STRATA_DIRECTIVE_ENDIF && depth != 0)
            depth--;
    }
}

static void check_output(const struct run *run, const struct strata_text *out, const struct strata_text *files) {
    struct strata_scan scan;
    FUZZ_CHECK(out->length != 0 && out->data[out->length - 1] == '\n');
    FUZZ_CHECK(strlen(out->data) == out->length && strchr(out->data, '\r') == NULL);
    FUZZ_CHECK(files->length == 0 || files->data[files->length - 1] == '\0');
    FUZZ_CHECK(strata_scan_text(NULL, out->data, out->length, &scan) == STRATA_OK);
    check_scan(out, &scan);
    check_served(&scan);
    if (!run->has_line)
        check_lines(run, out, &scan);
    if (!run->has_line && run->scans[0].unmatched == 0)
        check_skipped(out, &scan);
    if (run->scans[0].count == 0 || (!run->has_include && run->scans[0].once_count == 0)) {
        check_untouched(run, out);
        FUZZ_CHECK(files->length == 0);
    }
    strata_scan_release(&scan);
}

static void check_inlining(const struct run *run, const struct strata_inline_request *request) {
    struct strata_text out = {0}, files = {0};
    enum strata_status status = strata_source_inline(request, &out, &files);
    if (status == STRATA_OK) {
        check_output(run, &out, &files);
    } else {
        FUZZ_CHECK(status == STRATA_BUILD_FAILED || status == STRATA_INVALID_ARGUMENT);
        fuzz_check_failure(status, status);
        FUZZ_CHECK(status != STRATA_BUILD_FAILED || strata_last_error()->log[0] != '\0');
        FUZZ_CHECK(out.data == NULL && out.length == 0 && files.data == NULL && files.length == 0);
    }
    strata_text_release(&out);
    strata_text_release(&files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const display[1 + FILES] = {"<source>", "<strata>/a.h", "<strata>/b.h", "<strata>/d/a.h",
                                                   "<strata>/d/q\\?.h"};
    static const char *const defined[] = {"__OPENCL_VERSION__"};
    const uint8_t *at = data != NULL ? data : (const uint8_t *)"", *source = NULL, *options = NULL, *piece;
    size_t left = size, source_length = 0, length;
    struct strata_embedded_file embedded[FILES];
    char *copies[FILES];
    struct run run = {.count = 0};
    struct strata_inline_request request = {.embedded = embedded, .defined = defined, .defined_count = 1};

    memcpy(run.display, display, sizeof display);
    fuzz_next_piece(&at, &left, &source, &source_length);
    char *text = fuzz_copy(source, source_length);
    char *option_text = fuzz_next_piece(&at, &left, &options, &length) ? fuzz_string(options, length) : NULL;
    bool good = add_part(&run, source, source_length);
    while (request.embedded_count < FILES && fuzz_next_piece(&at, &left, &piece, &length)) {
        size_t i = request.embedded_count++;
        copies[i] = fuzz_string(piece, length);
        embedded[i] = (struct strata_embedded_file){names[i], (const unsigned char *)copies[i], length};
        good = good && add_part(&run, piece, length);
    }
    request.text = text;
    request.length = source_length;
    request.options = option_text;
    /* A source that is refused cannot have been looked through. */
    if (good)
        check_inlining(&run, &request);
    for (size_t i = 0; i < request.embedded_count; i++)
        free(copies[i]);
    for (size_t i = 0; i < 1 + FILES; i++) {
        strata_text_release(&run.parts[i]);
        strata_scan_release(&run.scans[i]);
    }
    free(option_text);
    free(text);
    return 0;
}
