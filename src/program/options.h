/* The options string of a compiler, word by word, and without its include folders. */
#ifndef STRATA_PROGRAM_OPTIONS_H
#define STRATA_PROGRAM_OPTIONS_H

#include "core/host.h"

struct strata_options {
    const struct strata_allocator *hooks;
    char *cleaned;      /* the string with every -I and its folder cut out, and otherwise byte by byte as it was */
    char **directories; /* the folders of the -I, in their order, with quotes taken off */
    size_t directory_count;
    size_t directory_capacity;
};

/* Takes -I folder, -Ifolder, and both with quotes or backslashes, out of `options` (NULL: none): two of three runtimes
 * crash on a folder with a blank in it, so strata serves includes itself. The caller releases `split`, on failure too.
 * INVALID_ARGUMENT: a quote that is never closed, -I without a folder. OUT_OF_MEMORY. Any thread. */
enum strata_status strata_options_split(const struct strata_allocator *hooks, const char *options,
                                        struct strata_options *split);
void strata_options_release(struct strata_options *split);

/* Where a word was found: from the first byte of it to behind its last. */
struct strata_option_span {
    size_t begin, end;
};

/* Reads the next word at *at, moves *at behind it, and puts it into `word` (emptied first) without its quotes. Double
 * and single quotes join what is between them; a backslash takes the meaning from a quote, a blank or a backslash
 * behind it, and is itself before anything else. *found is false at the end. */
enum strata_status strata_option_next(const char *options, size_t *at, struct strata_text *word,
                                      struct strata_option_span *span, bool *found);

/* Calls `each` with the name of every macro that -D or -U names. */
enum strata_status strata_options_macros(const struct strata_allocator *hooks, const char *options,
                                         void (*each)(const char *name, size_t length, void *user), void *user);

#endif
