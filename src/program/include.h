/* Inlining: kernel source with every #include replaced by the text of its file, so that no runtime has to search. */
#ifndef STRATA_PROGRAM_INCLUDE_H
#define STRATA_PROGRAM_INCLUDE_H

#include "core/host.h"

struct strata_embedded_file;

/* A real header tree nests a dozen deep. A cycle is caught here, before it fills the memory. */
#define STRATA_INCLUDE_DEPTH 64

/* What to inline. Exactly one of path, embedded_name and text is given. Everything else may be 0. */
struct strata_inline_request {
    const struct strata_allocator *hooks;
    const char *path;          /* a file */
    const char *embedded_name; /* a file of the embedded set; its own includes are looked for there first */
    const char *text;          /* a string, of `length` bytes, which has no folder of its own */
    size_t length;
    const char *name;               /* how compilers call the source; NULL: by its path, <strata>/reduce.cl, <source> */
    const char *const *directories; /* include folders, in their order */
    size_t directory_count;
    const struct strata_embedded_file *embedded; /* the embedded set, which is searched last */
    size_t embedded_count;
    const char *options;        /* the build options, for the macros that they define */
    const char *const *defined; /* macros that the compiler is sure to define, such as __OPENCL_VERSION__ */
    size_t defined_count;
};

/* Puts the source with its includes into `out`, which is empty with its hooks set and stays empty on failure. #line
 * markers name each file and line, so that build logs speak of the user's files. `files` (NULL: not wanted) gets the
 * names of the files that were read in for includes, each with a terminating NUL, in the order of their first use.
 *
 * A name in quotes is looked for in the folder of the file that includes it; then both forms in `directories` and in
 * the embedded set. What is not found is left to the compiler where a condition may keep it from being read, and is
 * BUILD_FAILED elsewhere. #pragma once and include guards work, in groups that turn out to be inactive too: a file is
 * left out only where an earlier inclusion of it is certain to have been active. Not served, and left as they are:
 * #include_next, #import, and __has_include, which the compiler answers by its own search.
 *
 * BUILD_FAILED, with a log in the form that compilers use: an include that is not found or that a macro names,
 * includes nested more than STRATA_INCLUDE_DEPTH deep (the chain is told), an included file with a comment or an #if
 * that it does not close, more than STRATA_SOURCE_MAX_BYTES in all. IO and INVALID_ARGUMENT: as strata_source_load,
 * and for the build options as strata_options_split. OUT_OF_MEMORY. Blocks on files only. Any thread. */
enum strata_status strata_source_inline(const struct strata_inline_request *request, struct strata_text *out,
                                        struct strata_text *files);

#endif
