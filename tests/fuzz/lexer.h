/* A second way to find directives, plain and slow, to compare the scanner's with. */
#ifndef STRATA_TESTS_FUZZ_LEXER_H
#define STRATA_TESTS_FUZZ_LEXER_H

#include "fuzz/fuzz.h"

#include "program/scan.h"

/* Text without continued lines, a NUL behind it, and where each byte was. */
struct spliced {
    char *text;
    size_t *offsets;
    size_t length;
};

static inline struct spliced lexer_splice(const char *text, size_t length) {
    struct spliced spliced = {malloc(length + 1), malloc((length + 1) * sizeof(size_t)), 0};
    FUZZ_CHECK(spliced.text != NULL && spliced.offsets != NULL);
    for (size_t at = 0; at < length; at++) {
        size_t next = at + 1;
        while (text[at] == '\\' && next < length && strchr(" \t\v\f", text[next]) != NULL)
            next++;
        if (text[at] == '\\' && next < length && text[next] == '\n') {
            at = next;
            continue;
        }
        spliced.text[spliced.length] = text[at];
        spliced.offsets[spliced.length++] = at;
    }
    spliced.text[spliced.length] = '\0';
    return spliced;
}

static inline bool lexer_is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (c & 0x80) != 0;
}

static inline const char *lexer_skip_name(const char *at) {
    while (lexer_is_name(*at))
        at++;
    return at;
}

static inline const char *lexer_skip_blanks(const char *at) {
    for (;;) {
        const char *end = NULL;
        if (at[0] == '/' && at[1] == '*')
            end = strstr(at + 2, "*/");
        if (*at != '\0' && strchr(" \t\v\f", *at) != NULL)
            at++;
        else if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            at = end != NULL ? end + 2 : at + strlen(at);
        else
            return at;
    }
}

/* One token that is no blank, comment or line end. */
static inline const char *lexer_skip_token(const char *at) {
    char quote = *at;
    if (quote == '"' || quote == '\'') {
        for (at++; *at != '\0' && *at != '\n' && *at != quote; at++)
            at += at[0] == '\\' && at[1] != '\0' && at[1] != '\n';
        return *at == quote ? at + 1 : at;
    }
    if (*at >= '0' && *at <= '9') {
        while (lexer_is_name(*at) || *at == '.' || (*at == '\'' && lexer_is_name(at[1])))
            at++;
        return at;
    }
    return lexer_is_name(*at) ? lexer_skip_name(at) : at + 1;
}

/* The directive's own tokens, behind its '#'. An apostrophe in a line number is no C, and anyone's to read. */
static inline const char *lexer_skip_head(const char *at, enum strata_directive_kind *kind, bool *kept, bool *odd) {
    static const struct {
        const char *word;
        enum strata_directive_kind kind;
    } words[] = {
        {"include", STRATA_DIRECTIVE_INCLUDE}, {"if", STRATA_DIRECTIVE_IF},     {"ifdef", STRATA_DIRECTIVE_IF},
        {"ifndef", STRATA_DIRECTIVE_IF},       {"elif", STRATA_DIRECTIVE_ELSE}, {"elifdef", STRATA_DIRECTIVE_ELSE},
        {"elifndef", STRATA_DIRECTIVE_ELSE},   {"else", STRATA_DIRECTIVE_ELSE}, {"endif", STRATA_DIRECTIVE_ENDIF},
    };
    at = lexer_skip_blanks(at);
    const char *word = at;
    bool number = *at >= '0' && *at <= '9';
    at = lexer_skip_name(at);
    size_t length = (size_t)(at - word);
    *kept = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == strlen(words[i].word) && memcmp(word, words[i].word, length) == 0) {
            *kept = true;
            *kind = words[i].kind;
        }
    if (number || (length == 4 && memcmp(word, "line", 4) == 0))
        *odd |= memchr(word, '\'', strcspn(word, "\n")) != NULL;
    at = lexer_skip_blanks(at);
    if (*kept && *kind == STRATA_DIRECTIVE_INCLUDE && (*at == '<' || *at == '"')) {
        const char closing[] = {*at == '<' ? '>' : '"', '\n', '\0'};
        at += 1 + strcspn(at + 1, closing);
        at += *at == closing[0];
    }
    return at;
}

/* Compares what makes the shape of a text: its includes and conditionals, each at the same byte. */
static inline void lexer_check(const char *text, size_t length, const struct strata_scan *scan) {
    struct spliced spliced = lexer_splice(text, length);
    const char *at = spliced.text;
    bool begins = true, odd = false;
    size_t next = 0;
    while (!odd) {
        at = lexer_skip_blanks(at);
        if (*at == '\0')
            break;
        bool digraph = at[0] == '%' && at[1] == ':';
        if (begins && (*at == '#' || digraph)) {
            size_t begin = spliced.offsets[at - spliced.text];
            enum strata_directive_kind kind = STRATA_DIRECTIVE_LINE;
            bool kept = false;
            at = lexer_skip_head(at + 1 + digraph, &kind, &kept, &odd);
            while (kept && next < scan->count && scan->directives[next].begin < begin) {
                enum strata_directive_kind other = scan->directives[next++].kind;
                FUZZ_CHECK(other == STRATA_DIRECTIVE_ONCE || other == STRATA_DIRECTIVE_DEFINE ||
                           other == STRATA_DIRECTIVE_UNDEF || other == STRATA_DIRECTIVE_LINE);
            }
            if (kept) {
                FUZZ_CHECK(next < scan->count && scan->directives[next].begin == begin);
                FUZZ_CHECK(scan->directives[next++].kind == kind);
            }
            begins = false;
        } else {
            begins = *at == '\n';
            at = begins ? at + 1 : lexer_skip_token(at);
        }
    }
    for (; !odd && next < scan->count; next++) {
        enum strata_directive_kind other = scan->directives[next].kind;
        FUZZ_CHECK(other == STRATA_DIRECTIVE_ONCE || other == STRATA_DIRECTIVE_DEFINE ||
                   other == STRATA_DIRECTIVE_UNDEF || other == STRATA_DIRECTIVE_LINE);
    }
    free(spliced.text);
    free(spliced.offsets);
}

#endif
