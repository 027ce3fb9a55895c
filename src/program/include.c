/* Inlining: the walk through the directives of a file, and into the files that it includes.
 *
 * Conditions are not evaluated, but followed: of every group it is known whether the compiler is certain to read it,
 * certain to skip it, or may do either. A file that guards itself is inlined again unless an inclusion of it that was
 * certain to be read goes before; the guard, or the macro that stands for its #pragma once, does the rest. */
#include "program/include.h"

#include "program/inliner.h"
#include "program/list.h"
#include "program/marker.h"
#include "program/source.h"

#include <string.h>

/* --- output --- */

static enum strata_status check_output(struct strata_inliner *inliner) {
    if (inliner->out->failed)
        return strata_inliner_fail_memory(inliner);
    return inliner->out->length <= STRATA_SOURCE_MAX_BYTES ? STRATA_OK : strata_inliner_fail_size(inliner);
}

/* Tells the compiler that the next line is `line` of the innermost file, or what that file itself calls it. */
static void add_marker(struct strata_inliner *inliner, uint32_t line) {
    const struct strata_frame *frame = &inliner->stack[inliner->depth - 1];
    strata_marker_begin(inliner->out, (int64_t)line + frame->shift);
    if (frame->literal != NULL)
        strata_text_append(inliner->out, frame->literal, frame->literal_length);
    else
        strata_marker_add_name(inliner->out, strata_inliner_file(inliner, inliner->depth - 1)->display);
    strata_text_add(inliner->out, "\n");
}

static void add_blank_lines(struct strata_text *out, uint32_t count) {
    for (; count != 0; count--)
        strata_text_add(out, "\n");
}

/* --- what is known to have been read --- */

static bool mark_known(struct strata_inliner *inliner, size_t identity) {
    struct strata_file *file = inliner->files.items[identity];
    if (file->known)
        return true;
    if (!strata_list_grow(inliner->files.hooks, &inliner->known, &inliner->known_capacity, inliner->known_count,
                          sizeof *inliner->known))
        return false;
    file->known = true;
    inliner->known[inliner->known_count++] = identity;
    return true;
}

static void forget_known(struct strata_inliner *inliner, size_t mark) {
    while (inliner->known_count > mark)
        inliner->files.items[inliner->known[--inliner->known_count]]->known = false;
}

/* Whether the file is open, and in a part where its guard is certain to be defined. */
static bool is_open_guarded(const struct strata_inliner *inliner, const struct strata_file *file) {
    for (size_t i = 0; i < inliner->depth; i++) {
        const struct strata_frame *frame = &inliner->stack[i];
        const struct strata_file *open = inliner->files.items[frame->file];
        if (open->identity == file->identity && frame->guard_defined &&
            frame->guard_removed == strata_files_guard_removed(&inliner->files, open))
            return true;
    }
    return false;
}

/* An inclusion that adds nothing: an earlier one was certain to be read, and the file lets itself be read only once.
 * A guard that was ever undefined shows nothing but within the file itself. */
static bool adds_nothing(const struct strata_inliner *inliner, const struct strata_file *file) {
    bool known = inliner->files.items[file->identity]->known;
    if (!file->scan.guarded)
        return known && file->scan.once_count != 0;
    return (known && strata_files_guard_removed(&inliner->files, file) == 0) || is_open_guarded(inliner, file);
}

/* --- conditionals --- */

static enum strata_reading reading_here(const struct strata_inliner *inliner) {
    return inliner->level_count != 0 ? inliner->levels[inliner->level_count - 1].whole : STRATA_READ_SURELY;
}

static enum strata_reading weaker(enum strata_reading a, enum strata_reading b) {
    return a < b ? a : b;
}

static enum strata_reading stronger(enum strata_reading a, enum strata_reading b) {
    return a > b ? a : b;
}

static enum strata_reading judge(const struct strata_inliner *inliner, const struct strata_file *file,
                                 size_t directive) {
    const struct strata_directive *condition = &file->scan.directives[directive];
    bool defined;
    switch (condition->condition) {
    case STRATA_CONDITION_TRUE:
        return STRATA_READ_SURELY;
    case STRATA_CONDITION_FALSE:
        return STRATA_READ_NEVER;
    case STRATA_CONDITION_DEFINED:
        return strata_files_is_defined(&inliner->files, condition->macro) ? STRATA_READ_SURELY : STRATA_READ_PERHAPS;
    case STRATA_CONDITION_NOT_DEFINED:
        /* The first inclusion is read, and what a later one would read was read by the first. */
        if (directive == 0 && file->scan.guarded && strata_files_guard_is_own(&inliner->files, file))
            return STRATA_READ_SURELY;
        defined = strata_files_is_defined(&inliner->files, condition->macro);
        return defined ? STRATA_READ_NEVER : STRATA_READ_PERHAPS;
    case STRATA_CONDITION_UNKNOWN:
        break;
    }
    return STRATA_READ_PERHAPS;
}

static bool open_level(struct strata_inliner *inliner, enum strata_reading own) {
    struct strata_level level = {
        .own = own, .whole = weaker(own, reading_here(inliner)), .taken = own, .mark = inliner->known_count};
    if (!strata_list_grow(inliner->files.hooks, &inliner->levels, &inliner->level_capacity, inliner->level_count,
                          sizeof *inliner->levels))
        return false;
    inliner->levels[inliner->level_count++] = level;
    return true;
}

/* What was read in a group that may be skipped is known only up to the end of the group. */
static void end_group(struct strata_inliner *inliner) {
    const struct strata_level *level = &inliner->levels[inliner->level_count - 1];
    if (level->own != STRATA_READ_SURELY)
        forget_known(inliner, level->mark);
}

/* A file was inlined here. */
static void note_file(struct strata_inliner *inliner) {
    if (inliner->level_count > inliner->stack[inliner->depth - 1].base)
        inliner->levels[inliner->level_count - 1].holds_file = true;
}

static void change_level(struct strata_inliner *inliner, enum strata_reading condition) {
    end_group(inliner);
    struct strata_level *level = &inliner->levels[--inliner->level_count];
    if (level->taken == STRATA_READ_SURELY)
        level->own = STRATA_READ_NEVER;
    else if (level->taken == STRATA_READ_PERHAPS)
        level->own = weaker(condition, STRATA_READ_PERHAPS);
    else
        level->own = condition;
    level->taken = stronger(level->taken, condition);
    level->whole = weaker(level->own, reading_here(inliner));
    level->mark = inliner->known_count;
    inliner->level_count++;
}

/* A conditional. In a group that is skipped the line markers are skipped too, so that behind a group with an inlined
 * file the line has to be told again. *done tells whether the directive itself was put out for that. */
static enum strata_status follow_condition(struct strata_inliner *inliner, struct strata_file *file, size_t index,
                                           bool *done) {
    const struct strata_directive *directive = &file->scan.directives[index];
    const struct strata_frame *frame = &inliner->stack[inliner->depth - 1];
    if (directive->kind == STRATA_DIRECTIVE_IF)
        return open_level(inliner, judge(inliner, file, index)) ? STRATA_OK : strata_inliner_fail_memory(inliner);
    /* An #else or #endif too many is the compiler's to tell. */
    if (inliner->level_count == frame->base)
        return STRATA_OK;
    *done = inliner->levels[inliner->level_count - 1].holds_file;
    if (directive->kind == STRATA_DIRECTIVE_ELSE) {
        change_level(inliner, judge(inliner, file, index));
    } else {
        end_group(inliner);
        inliner->level_count--;
        if (*done)
            note_file(inliner);
    }
    if (*done) {
        strata_text_append(inliner->out, file->text.data + directive->begin, directive->end - directive->begin);
        add_marker(inliner, directive->next_line);
    }
    return STRATA_OK;
}

/* --- files --- */

static enum strata_status expand(struct strata_inliner *inliner, size_t index);

/* Faults that would spill from the included file into the one that includes it. */
static enum strata_status check_closed(struct strata_inliner *inliner) {
    const struct strata_scan *scan = &strata_inliner_file(inliner, inliner->depth - 1)->scan;
    struct strata_text what = {.hooks = inliner->files.hooks};
    if (inliner->depth == 1 || (scan->open_comment == 0 && scan->unmatched == 0))
        return STRATA_OK;
    if (scan->open_comment != 0) {
        strata_text_add(&what, "a comment starts here that the file does not close");
        return strata_inliner_fail_at(inliner, scan->open_comment, &what);
    }
    strata_text_add(&what, "a conditional (#if, #else, #endif) here has no partner in the file");
    return strata_inliner_fail_at(inliner, scan->unmatched, &what);
}

/* The file that an include names, read; STRATA_FILE_NONE when the line is to be left as it is. */
static enum strata_status find_target(struct strata_inliner *inliner, size_t includer, size_t index, size_t *target) {
    const struct strata_directive *include = &inliner->files.items[includer]->scan.directives[index];
    enum strata_reading reading = reading_here(inliner);
    enum strata_status status = STRATA_OK;
    *target = STRATA_FILE_NONE;
    if (reading == STRATA_READ_NEVER)
        return STRATA_OK;
    if (include->quote != 0)
        status = strata_files_find(&inliner->files, includer, index, target);
    if (status != STRATA_OK)
        return status;
    if (*target == STRATA_FILE_NONE)
        return reading == STRATA_READ_SURELY ? strata_inliner_fail_missing(inliner, include) : STRATA_OK;
    status = strata_files_load(&inliner->files, *target);
    return status == STRATA_OK ? STRATA_OK : strata_inliner_fail_included(inliner, include->line);
}

/* Replaces an include by its file. *done tells whether the line was dealt with. */
static enum strata_status follow_include(struct strata_inliner *inliner, size_t includer, size_t index, bool *done) {
    const struct strata_directive *include = &inliner->files.items[includer]->scan.directives[index];
    size_t target = STRATA_FILE_NONE;
    inliner->stack[inliner->depth - 1].line = include->line;
    enum strata_status status = find_target(inliner, includer, index, &target);
    *done = target != STRATA_FILE_NONE;
    if (status != STRATA_OK || !*done)
        return status;
    if (adds_nothing(inliner, inliner->files.items[target])) {
        add_blank_lines(inliner->out, include->next_line - include->line);
        return check_output(inliner);
    }
    if (inliner->depth > STRATA_INCLUDE_DEPTH)
        return strata_inliner_fail_depth(inliner, include);
    status = expand(inliner, target);
    if (status != STRATA_OK)
        return status;
    note_file(inliner);
    add_marker(inliner, include->next_line);
    return check_output(inliner);
}

/* The wrapping of a file with #pragma once does what the pragma does, wherever the pragma stands. */
static void add_once(struct strata_inliner *inliner, const char *what, const struct strata_file *file) {
    strata_text_printf(inliner->out, "#%s strata_once_%zu", what, file->identity);
}

static void follow_line(struct strata_inliner *inliner, const struct strata_file *file,
                        const struct strata_directive *directive) {
    struct strata_frame *frame = &inliner->stack[inliner->depth - 1];
    if (reading_here(inliner) == STRATA_READ_NEVER)
        return;
    frame->shift = (int64_t)directive->number - (int64_t)directive->next_line;
    if (directive->name_length != 0) {
        frame->literal = file->text.data + directive->name;
        frame->literal_length = directive->name_length;
    }
}

static bool follow_macro(struct strata_inliner *inliner, const struct strata_file *file, size_t directive) {
    struct strata_frame *frame = &inliner->stack[inliner->depth - 1];
    if (!strata_files_note_macro(&inliner->files, file, directive))
        return false;
    if (!file->scan.guarded || directive != 1)
        return true;
    frame->guard_defined = true;
    frame->guard_removed = strata_files_guard_removed(&inliner->files, file);
    return mark_known(inliner, file->identity);
}

/* One directive. *done tells whether its text is replaced by what was put out. */
static enum strata_status follow(struct strata_inliner *inliner, size_t index, size_t directive_index, bool *done) {
    struct strata_file *file = inliner->files.items[index];
    const struct strata_directive *directive = &file->scan.directives[directive_index];
    bool good = true;
    *done = false;
    switch (directive->kind) {
    case STRATA_DIRECTIVE_INCLUDE:
        return follow_include(inliner, index, directive_index, done);
    case STRATA_DIRECTIVE_ONCE:
        *done = true;
        add_once(inliner, "define", file);
        add_blank_lines(inliner->out, directive->next_line - directive->line);
        good = reading_here(inliner) == STRATA_READ_NEVER || mark_known(inliner, file->identity);
        break;
    case STRATA_DIRECTIVE_DEFINE:
    case STRATA_DIRECTIVE_UNDEF:
        if (reading_here(inliner) != STRATA_READ_NEVER)
            good = follow_macro(inliner, file, directive_index);
        break;
    case STRATA_DIRECTIVE_LINE:
        follow_line(inliner, file, directive);
        break;
    case STRATA_DIRECTIVE_IF:
    case STRATA_DIRECTIVE_ELSE:
    case STRATA_DIRECTIVE_ENDIF:
        return follow_condition(inliner, file, directive_index, done);
    }
    return good ? STRATA_OK : strata_inliner_fail_memory(inliner);
}

static enum strata_status expand_directives(struct strata_inliner *inliner, size_t index) {
    const struct strata_file *file = inliner->files.items[index];
    size_t copied = 0;
    for (size_t i = 0; i < file->scan.count; i++) {
        const struct strata_directive *directive = &file->scan.directives[i];
        bool done = false;
        strata_text_append(inliner->out, file->text.data + copied, directive->begin - copied);
        copied = directive->begin;
        enum strata_status status = follow(inliner, index, i, &done);
        if (status != STRATA_OK)
            return status;
        if (done)
            copied = directive->end;
    }
    if (file->text.length != copied)
        strata_text_append(inliner->out, file->text.data + copied, file->text.length - copied);
    return check_output(inliner);
}

static bool is_open(const struct strata_inliner *inliner, size_t identity) {
    for (size_t i = 0; i < inliner->depth; i++)
        if (inliner->files.items[inliner->stack[i].file]->identity == identity)
            return true;
    return false;
}

/* For a file with #pragma once, what stands around it is a conditional like any other. */
static bool begin_once(struct strata_inliner *inliner, const struct strata_file *file) {
    const struct strata_frame *frame = &inliner->stack[inliner->depth - 1];
    strata_marker_begin_line(inliner->out);
    add_once(inliner, "ifndef", file);
    strata_text_add(inliner->out, "\n");
    return open_level(inliner, frame->again ? STRATA_READ_PERHAPS : STRATA_READ_SURELY);
}

static void end_once(struct strata_inliner *inliner) {
    end_group(inliner);
    inliner->level_count--;
    strata_text_add(inliner->out, "#endif\n");
}

static enum strata_status expand(struct strata_inliner *inliner, size_t index) {
    const struct strata_file *file = inliner->files.items[index];
    bool has_once = file->scan.once_count != 0;
    struct strata_frame *frame = &inliner->stack[inliner->depth];
    *frame = (struct strata_frame){.file = index, .again = is_open(inliner, file->identity)};
    inliner->depth++;
    enum strata_status status = check_closed(inliner);
    if (status != STRATA_OK)
        return status;
    if (has_once && !begin_once(inliner, file))
        return strata_inliner_fail_memory(inliner);
    frame->base = inliner->level_count;
    add_marker(inliner, 1);
    status = expand_directives(inliner, index);
    if (status != STRATA_OK)
        return status;

    /* Only the main file can have levels left. */
    inliner->level_count = frame->base;
    strata_marker_begin_line(inliner->out);
    if (strata_marker_ends_continued(inliner->out))
        strata_text_add(inliner->out, "\n");
    if (has_once)
        end_once(inliner);
    status = check_output(inliner);
    /* Whether or not its content was read, the guard is defined now. */
    if (file->scan.guarded && !mark_known(inliner, file->identity))
        return strata_inliner_fail_memory(inliner);
    inliner->depth--;
    return status;
}

static void list_files(const struct strata_inliner *inliner, struct strata_text *files) {
    for (size_t i = 1; i < inliner->files.count; i++) {
        const struct strata_file *file = inliner->files.items[i];
        if (file->loaded)
            strata_text_append(files, file->display, strlen(file->display) + 1);
    }
}

static void empty(struct strata_text *text) {
    const struct strata_allocator *hooks = text->hooks;
    strata_text_release(text);
    *text = (struct strata_text){.hooks = hooks};
}

enum strata_status strata_source_inline(const struct strata_inline_request *request, struct strata_text *out,
                                        struct strata_text *files) {
    struct strata_inliner *inliner = strata_host_allocate(request->hooks, sizeof *inliner);
    if (inliner == NULL)
        return strata_fail_host_memory(sizeof *inliner, "inlining kernel source");
    inliner->out = out;
    enum strata_status status = strata_files_open(request, &inliner->files);
    if (status == STRATA_OK)
        status = strata_files_add_main(&inliner->files);
    if (status == STRATA_OK)
        status = expand(inliner, 0);
    if (status == STRATA_OK && files != NULL) {
        list_files(inliner, files);
        if (files->failed)
            status = strata_inliner_fail_memory(inliner);
    }
    if (status != STRATA_OK) {
        empty(out);
        if (files != NULL)
            empty(files);
    }
    strata_host_release(request->hooks, inliner->levels);
    strata_host_release(request->hooks, inliner->known);
    strata_files_release(&inliner->files);
    strata_host_release(request->hooks, inliner);
    return status;
}
