/* A small lexer of C that knows just enough to tell directives from everything that merely looks like one. */
#include "program/scan.h"

#include "program/list.h"

#include <string.h>
#include <xxhash.h>

/* Longer than any directive's name. */
#define WORD_SIZE 16

/* A place in the text. Reading goes over line continuations as if they were not there. */
struct cursor {
    const char *text;
    size_t length;
    size_t at;
    uint32_t line;
};

#define END_OF_TEXT (-1)

uint64_t strata_macro_hash(const char *name, size_t length) {
    uint64_t hash = XXH3_64bits(name, length);
    return hash != 0 ? hash : 1;
}

static bool is_blank(int c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

/* '$' and all bytes of UTF-8 letters count: compilers take both in names. */
static bool is_name_start(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
}

static bool is_name(int c) {
    return is_name_start(c) || is_digit(c);
}

/* The next character behind line continuations. Compilers allow blanks between the backslash and the newline. */
static int peek(struct cursor *cursor) {
    while (cursor->at < cursor->length && cursor->text[cursor->at] == '\\') {
        size_t next = cursor->at + 1;
        while (next < cursor->length && is_blank(cursor->text[next]))
            next++;
        if (next == cursor->length || cursor->text[next] != '\n')
            break;
        cursor->at = next + 1;
        cursor->line++;
    }
    return cursor->at < cursor->length ? (unsigned char)cursor->text[cursor->at] : END_OF_TEXT;
}

/* Only after peek. */
static void step(struct cursor *cursor) {
    cursor->line += cursor->text[cursor->at] == '\n';
    cursor->at++;
}

static int peek_second(struct cursor cursor) {
    if (peek(&cursor) == END_OF_TEXT)
        return END_OF_TEXT;
    step(&cursor);
    return peek(&cursor);
}

/* Goes over a comment if there is one; the newline behind a line comment is left. */
static bool skip_comment(struct cursor *cursor, struct strata_scan *scan) {
    if (peek(cursor) != '/')
        return false;
    int second = peek_second(*cursor);
    if (second != '/' && second != '*')
        return false;
    uint32_t line = cursor->line;
    step(cursor);
    peek(cursor);
    step(cursor);
    int c = peek(cursor);
    if (second == '/') {
        for (; c != END_OF_TEXT && c != '\n'; c = peek(cursor))
            step(cursor);
        return true;
    }
    for (; c != END_OF_TEXT; c = peek(cursor)) {
        step(cursor);
        if (c == '*' && peek(cursor) == '/') {
            step(cursor);
            return true;
        }
    }
    scan->open_comment = line;
    return true;
}

static void skip_blanks(struct cursor *cursor, struct strata_scan *scan) {
    for (;;) {
        if (is_blank(peek(cursor)))
            step(cursor);
        else if (!skip_comment(cursor, scan))
            return;
    }
}

/* A literal ends with its line at the latest, as it does for compilers in text that is not compiled ("don't"). */
static void skip_literal(struct cursor *cursor, int quote) {
    step(cursor);
    for (int c = peek(cursor); c != END_OF_TEXT && c != '\n'; c = peek(cursor)) {
        step(cursor);
        if (c == quote)
            return;
        c = c == '\\' ? peek(cursor) : ' ';
        if (c == '\\' || c == quote)
            step(cursor);
    }
}

/* A number takes the apostrophes between its digits with it: 1'000 in C++ for OpenCL starts no literal. */
static void skip_number(struct cursor *cursor) {
    for (int c = peek(cursor); is_name(c) || c == '.' || (c == '\'' && is_name(peek_second(*cursor))); c = peek(cursor))
        step(cursor);
}

static void skip_name(struct cursor *cursor) {
    while (is_name(peek(cursor)))
        step(cursor);
}

/* Goes behind the newline that ends the logical line. True when there was more than blanks and comments. */
static bool skip_line(struct cursor *cursor, struct strata_scan *scan) {
    bool found = false;
    for (;;) {
        skip_blanks(cursor, scan);
        int c = peek(cursor);
        if (c == END_OF_TEXT)
            return found;
        if (c == '\n') {
            step(cursor);
            return found;
        }
        found = true;
        if (c == '"' || c == '\'')
            skip_literal(cursor, c);
        else if (is_digit(c))
            skip_number(cursor);
        else if (is_name_start(c))
            skip_name(cursor);
        else
            step(cursor);
    }
}

/* A name, cut to the size of the buffer: a longer one is no directive's. */
static size_t read_word(struct cursor *cursor, char word[WORD_SIZE]) {
    size_t length = 0;
    for (int c = peek(cursor); is_name(c); c = peek(cursor)) {
        if (length < WORD_SIZE - 1)
            word[length++] = (char)c;
        step(cursor);
    }
    word[length] = '\0';
    return length;
}

/* The name of a macro, of any length, with line continuations taken out; 0 when there is none. */
static uint64_t read_macro(struct cursor *cursor, struct strata_scan *scan) {
    if (!is_name_start(peek(cursor)))
        return 0;
    size_t kept = scan->names.length;
    for (int c = peek(cursor); is_name(c); c = peek(cursor)) {
        char byte = (char)c;
        strata_text_append(&scan->names, &byte, 1);
        step(cursor);
    }
    if (scan->names.failed)
        return 0;
    uint64_t hash = strata_macro_hash(scan->names.data + kept, scan->names.length - kept);
    scan->names.length = kept;
    return hash;
}

static bool accept(struct cursor *cursor, struct strata_scan *scan, int wanted) {
    skip_blanks(cursor, scan);
    if (peek(cursor) != wanted)
        return false;
    step(cursor);
    return true;
}

static bool at_line_end(struct cursor *cursor, struct strata_scan *scan) {
    skip_blanks(cursor, scan);
    int c = peek(cursor);
    return c == '\n' || c == END_OF_TEXT;
}

/* 0, 1, defined X, !defined X, with or without brackets around X; all else is unknown. */
static void read_condition(struct cursor *cursor, struct strata_scan *scan, struct strata_directive *directive) {
    struct cursor probe = *cursor;
    enum strata_condition found = STRATA_CONDITION_UNKNOWN;
    char word[WORD_SIZE];
    bool negated = accept(&probe, scan, '!');
    skip_blanks(&probe, scan);
    read_word(&probe, word);
    if (!negated && strcmp(word, "0") == 0) {
        found = STRATA_CONDITION_FALSE;
    } else if (!negated && strcmp(word, "1") == 0) {
        found = STRATA_CONDITION_TRUE;
    } else if (strcmp(word, "defined") == 0) {
        bool bracket = accept(&probe, scan, '(');
        skip_blanks(&probe, scan);
        directive->macro = read_macro(&probe, scan);
        if (directive->macro != 0 && (!bracket || accept(&probe, scan, ')')))
            found = negated ? STRATA_CONDITION_NOT_DEFINED : STRATA_CONDITION_DEFINED;
    }
    if (found != STRATA_CONDITION_UNKNOWN && at_line_end(&probe, scan))
        directive->condition = found;
}

static void read_include(struct cursor *cursor, struct strata_scan *scan, struct strata_directive *directive) {
    int quote = peek(cursor);
    int closing = quote == '<' ? '>' : '"';
    if (quote != '<' && quote != '"')
        return;
    directive->name = scan->names.length;
    step(cursor);
    for (int c = peek(cursor); c != closing; c = peek(cursor)) {
        if (c == END_OF_TEXT || c == '\n') {
            scan->names.length = directive->name;
            return;
        }
        char byte = (char)c;
        strata_text_append(&scan->names, &byte, 1);
        step(cursor);
    }
    step(cursor);
    strata_text_append(&scan->names, "", 1);
    directive->quote = (char)quote;
}

/* False when it is not a number: a macro then says what the line is. */
static bool read_line_number(struct cursor *cursor, struct strata_scan *scan, struct strata_directive *directive) {
    uint64_t number = 0;
    bool found = false;
    for (int c = peek(cursor); is_digit(c); c = peek(cursor)) {
        number = number * 10 + (uint64_t)(c - '0');
        if (number > INT32_MAX)
            return false;
        found = true;
        step(cursor);
    }
    directive->number = number;
    skip_blanks(cursor, scan);
    if (found && peek(cursor) == '"') {
        size_t begin = cursor->at;
        skip_literal(cursor, '"');
        if (cursor->at - begin > 1 && cursor->text[cursor->at - 1] == '"') {
            directive->name = begin;
            directive->name_length = cursor->at - begin;
        }
    }
    return found;
}

/* What kind of directive the word behind '#' makes; false for one that does not matter here. */
static bool read_directive(struct cursor *cursor, struct strata_scan *scan, struct strata_directive *directive) {
    char word[WORD_SIZE];
    bool plain = is_digit(peek(cursor));
    if (!plain)
        read_word(cursor, word);
    skip_blanks(cursor, scan);
    if (plain || strcmp(word, "line") == 0) {
        directive->kind = STRATA_DIRECTIVE_LINE;
        return read_line_number(cursor, scan, directive);
    }
    if (strcmp(word, "include") == 0) {
        directive->kind = STRATA_DIRECTIVE_INCLUDE;
        read_include(cursor, scan, directive);
        return true;
    }
    if (strcmp(word, "pragma") == 0) {
        directive->kind = STRATA_DIRECTIVE_ONCE;
        read_word(cursor, word);
        return strcmp(word, "once") == 0;
    }
    if (strcmp(word, "define") == 0 || strcmp(word, "undef") == 0) {
        directive->kind = word[0] == 'd' ? STRATA_DIRECTIVE_DEFINE : STRATA_DIRECTIVE_UNDEF;
        directive->macro = read_macro(cursor, scan);
        return directive->macro != 0;
    }
    directive->kind = STRATA_DIRECTIVE_IF;
    if (strcmp(word, "ifdef") == 0 || strcmp(word, "ifndef") == 0) {
        directive->macro = read_macro(cursor, scan);
        if (directive->macro != 0)
            directive->condition = word[2] == 'n' ? STRATA_CONDITION_NOT_DEFINED : STRATA_CONDITION_DEFINED;
        return true;
    }
    if (strcmp(word, "if") == 0) {
        read_condition(cursor, scan, directive);
        return true;
    }
    directive->kind = STRATA_DIRECTIVE_ELSE;
    if (strcmp(word, "else") == 0) {
        directive->condition = STRATA_CONDITION_TRUE;
        return true;
    }
    if (strcmp(word, "elif") == 0) {
        read_condition(cursor, scan, directive);
        return true;
    }
    /* A compiler that does not know these two stays in the group before: nothing can be told. */
    if (strcmp(word, "elifdef") == 0 || strcmp(word, "elifndef") == 0)
        return true;
    directive->kind = STRATA_DIRECTIVE_ENDIF;
    return strcmp(word, "endif") == 0;
}

/* What is followed line by line: how deep the conditionals are, and whether the first of them spans everything. */
struct nesting {
    uint32_t *open; /* the lines of the open #if */
    size_t depth, capacity;
    bool outside; /* something stands before the first #if or behind its #endif, or it has an #else */
};

static bool follow(struct nesting *nesting, struct strata_scan *scan, const struct strata_directive *directive) {
    switch (directive->kind) {
    case STRATA_DIRECTIVE_IF:
        nesting->outside |= nesting->depth == 0 && scan->count != 0;
        if (!strata_list_grow(scan->hooks, &nesting->open, &nesting->capacity, nesting->depth, sizeof *nesting->open))
            return false;
        nesting->open[nesting->depth++] = directive->line;
        break;
    case STRATA_DIRECTIVE_ELSE:
        nesting->outside |= nesting->depth <= 1;
        if (nesting->depth == 0 && scan->unmatched == 0)
            scan->unmatched = directive->line;
        break;
    case STRATA_DIRECTIVE_ENDIF:
        if (nesting->depth != 0)
            nesting->depth--;
        else if (scan->unmatched == 0)
            scan->unmatched = directive->line;
        break;
    default:
        nesting->outside |= nesting->depth == 0;
        break;
    }
    return true;
}

/* One logical line. False when memory is out. */
static bool scan_line(struct cursor *cursor, struct strata_scan *scan, struct nesting *nesting) {
    skip_blanks(cursor, scan);
    int c = peek(cursor);
    bool digraph = c == '%' && peek_second(*cursor) == ':';
    if (c != '#' && !digraph) {
        nesting->outside |= skip_line(cursor, scan) && nesting->depth == 0;
        return true;
    }

    struct strata_directive directive = {.line = cursor->line, .begin = cursor->at};
    step(cursor);
    if (digraph && peek(cursor) == ':')
        step(cursor);
    skip_blanks(cursor, scan);
    bool kept = read_directive(cursor, scan, &directive);
    skip_line(cursor, scan);
    directive.end = cursor->at;
    directive.next_line = cursor->line;
    if (!kept) {
        nesting->outside |= nesting->depth == 0;
        return true;
    }
    if (!follow(nesting, scan, &directive) ||
        !strata_list_grow(scan->hooks, &scan->directives, &scan->capacity, scan->count, sizeof *scan->directives))
        return false;
    scan->once_count += directive.kind == STRATA_DIRECTIVE_ONCE;
    scan->directives[scan->count++] = directive;
    return true;
}

static void find_guard(struct strata_scan *scan, const struct nesting *nesting) {
    const struct strata_directive *first = scan->directives;
    if (nesting->outside || scan->unmatched != 0 || scan->count < 3)
        return;
    if (first[0].kind != STRATA_DIRECTIVE_IF || first[0].condition != STRATA_CONDITION_NOT_DEFINED ||
        first[1].kind != STRATA_DIRECTIVE_DEFINE || first[1].macro != first[0].macro)
        return;
    scan->guarded = true;
    scan->guard = first[0].macro;
}

enum strata_status strata_scan_text(const struct strata_allocator *hooks, const char *text, size_t length,
                                    struct strata_scan *scan) {
    *scan = (struct strata_scan){.hooks = hooks, .names = {.hooks = hooks}};
    struct cursor cursor = {.text = text, .length = length, .line = 1};
    struct nesting nesting = {.open = NULL};
    bool good = true;
    while (good && cursor.at < length)
        good = scan_line(&cursor, scan, &nesting);
    if (good && nesting.depth != 0 && scan->unmatched == 0)
        scan->unmatched = nesting.open[nesting.depth - 1];
    if (good)
        find_guard(scan, &nesting);
    strata_host_release(hooks, nesting.open);
    if (!good || scan->names.failed)
        return strata_fail_host_memory(scan->count * sizeof *scan->directives, "the directives of kernel source");
    return STRATA_OK;
}

void strata_scan_release(struct strata_scan *scan) {
    strata_host_release(scan->hooks, scan->directives);
    strata_text_release(&scan->names);
    *scan = (struct strata_scan){.hooks = scan->hooks};
}
