/* The preprocessor directives of one source text, found without running a preprocessor. */
#ifndef STRATA_PROGRAM_SCAN_H
#define STRATA_PROGRAM_SCAN_H

#include "core/host.h"

enum strata_directive_kind {
    STRATA_DIRECTIVE_INCLUDE,
    STRATA_DIRECTIVE_ONCE, /* #pragma once */
    STRATA_DIRECTIVE_IF,   /* #if, #ifdef and #ifndef */
    STRATA_DIRECTIVE_ELSE, /* #else, and #elif in all its forms */
    STRATA_DIRECTIVE_ENDIF,
    STRATA_DIRECTIVE_DEFINE,
    STRATA_DIRECTIVE_UNDEF,
    STRATA_DIRECTIVE_LINE /* #line, and the "# 12" of a preprocessor's output */
};

/* As much of a condition as can be told without knowing every macro. */
enum strata_condition {
    STRATA_CONDITION_UNKNOWN,
    STRATA_CONDITION_FALSE,
    STRATA_CONDITION_TRUE,
    STRATA_CONDITION_DEFINED,
    STRATA_CONDITION_NOT_DEFINED
};

struct strata_directive {
    enum strata_directive_kind kind;
    enum strata_condition condition; /* IF and ELSE */
    char quote;                      /* INCLUDE: '"', '<', or 0 when the name comes from a macro */
    uint32_t line;                   /* where it starts, from 1 */
    uint32_t next_line;              /* of what follows it */
    size_t begin, end;               /* from its '#' to behind its newline, or to the end of the text */
    uint64_t macro;                  /* DEFINE and UNDEF, and DEFINED and NOT_DEFINED: strata_macro_hash of the name */
    uint64_t number;                 /* LINE */
    size_t name, name_length;        /* INCLUDE: NUL-terminated, at this offset in `names`. LINE: the quoted file name
                                        as spelled, at this offset in the text; no length when it has none */
};

struct strata_scan {
    const struct strata_allocator *hooks;
    struct strata_directive *directives;
    size_t count, capacity;
    struct strata_text names;
    size_t once_count;     /* of ONCE directives */
    bool guarded;          /* #ifndef X, #define X, ... #endif around all that is in the text */
    uint64_t guard;        /* and then X, as strata_macro_hash */
    uint32_t open_comment; /* the line of a comment that is never closed; 0: none */
    uint32_t unmatched;    /* the line of an #if without #endif, or of an #else or #endif without #if; 0: none */
};

/* Comments, string and character literals, continued lines and text of inactive groups are lexed as a compiler lexes
 * them. The text has no CR (see source.h). `scan` is released by the caller, on failure too. Only OUT_OF_MEMORY. */
enum strata_status strata_scan_text(const struct strata_allocator *hooks, const char *text, size_t length,
                                    struct strata_scan *scan);
void strata_scan_release(struct strata_scan *scan);

/* A macro's name as a number, never 0. Two names with one number only make the inliner more careful. */
uint64_t strata_macro_hash(const char *name, size_t length);

#endif
