/* The words for whatever goes wrong while source is inlined. */
#include "program/inliner.h"

#include "program/source.h"

/* How many files of a chain a message names at its beginning and at its end; the log has them all. */
#define CHAIN_SHOWN 3

struct strata_file *strata_inliner_file(struct strata_inliner *inliner, size_t frame) {
    return inliner->files.items[inliner->stack[frame].file];
}

enum strata_status strata_inliner_fail_memory(const struct strata_inliner *inliner) {
    return strata_fail_host_memory(inliner->out->length, "kernel source with its includes");
}

/* The log line that a compiler would have written, and in front of it the way to the file. */
static void set_log(struct strata_inliner *inliner, uint32_t line, const char *what) {
    struct strata_text log = {.hooks = inliner->files.hooks};
    for (size_t i = 0; i + 1 < inliner->depth; i++)
        strata_text_printf(&log, "In file included from %s:%u:\n", strata_inliner_file(inliner, i)->display,
                           (unsigned)inliner->stack[i].line);
    strata_text_printf(&log, "%s:%u: error: %s\n", strata_inliner_file(inliner, inliner->depth - 1)->display,
                       (unsigned)line, what);
    if (!log.failed)
        strata_error_set_log(log.data, log.length);
    strata_text_release(&log);
}

enum strata_status strata_inliner_fail_at(struct strata_inliner *inliner, uint32_t line, struct strata_text *what) {
    enum strata_status status = STRATA_BUILD_FAILED;
    if (what->failed) {
        status = strata_inliner_fail_memory(inliner);
    } else {
        strata_fail(status, "%s, line %u: %s.", strata_inliner_file(inliner, inliner->depth - 1)->display,
                    (unsigned)line, what->data);
        set_log(inliner, line, what->data);
    }
    strata_text_release(what);
    return status;
}

enum strata_status strata_inliner_fail_missing(struct strata_inliner *inliner, const struct strata_directive *include) {
    struct strata_text what = {.hooks = inliner->files.hooks};
    size_t file = inliner->stack[inliner->depth - 1].file;
    if (include->quote == 0) {
        strata_text_add(&what, "this #include does not name its file in quotes or angle brackets; strata cannot follow "
                               "it, write the name out");
        return strata_inliner_fail_at(inliner, include->line, &what);
    }
    const char *name = inliner->files.items[file]->scan.names.data + include->name;
    strata_text_printf(&what, "the included file %c%s%c is not found; looked for in ", include->quote, name,
                       include->quote == '<' ? '>' : '"');
    strata_files_describe_search(&inliner->files, file, name, include->quote, &what);
    strata_text_add(&what, "; add its folder with -I");
    return strata_inliner_fail_at(inliner, include->line, &what);
}

enum strata_status strata_inliner_fail_depth(struct strata_inliner *inliner, const struct strata_directive *include) {
    struct strata_text what = {.hooks = inliner->files.hooks};
    size_t last = inliner->depth - 1;
    strata_text_printf(&what,
                       "includes are nested more than %d deep; give files that include each other include guards or "
                       "#pragma once. The chain: ",
                       STRATA_INCLUDE_DEPTH);
    for (size_t i = 0; i <= last; i++) {
        if (i >= CHAIN_SHOWN && i + CHAIN_SHOWN <= last)
            continue;
        strata_text_printf(&what, "%s%s (line %u) includes ", i + CHAIN_SHOWN == last + 1 ? "... " : "",
                           strata_inliner_file(inliner, i)->display, (unsigned)inliner->stack[i].line);
    }
    strata_text_add(&what, inliner->files.items[inliner->stack[last].file]->scan.names.data + include->name);
    return strata_inliner_fail_at(inliner, include->line, &what);
}

enum strata_status strata_inliner_fail_size(struct strata_inliner *inliner) {
    struct strata_text what = {.hooks = inliner->files.hooks};
    char limit[32];
    strata_text_printf(&what,
                       "the source with its includes grows over the limit of %s here; files that are included many "
                       "times need include guards or #pragma once",
                       strata_format_bytes(STRATA_SOURCE_MAX_BYTES, limit, sizeof limit));
    return strata_inliner_fail_at(inliner, inliner->stack[inliner->depth - 1].line, &what);
}

enum strata_status strata_inliner_fail_included(struct strata_inliner *inliner, uint32_t line) {
    struct strata_error_copy error;
    strata_error_save(&error);
    return strata_fail(error.status, "%s It is included by %s, line %u.", error.message,
                       strata_inliner_file(inliner, inliner->depth - 1)->display, (unsigned)line);
}
