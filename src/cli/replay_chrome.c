/* A trace as Chrome's trace events: lives of buffers, bytes by pool, growth and trims, waits. */
#include "cli/replay.h"

#include "cli/output.h"
#include "core/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"DEVICE", "PINNED", "WRAPPED", "SHARED"};

/* What is known at a place of the trace. */
struct drawing {
    const struct strata_trace_file *file;
    struct strata_text *text;
    bool more;                                 /* an event stands there already */
    const struct strata_trace_event **creates; /* by buffer, while it lives */
    uint64_t *live, *reserved;                 /* by pool; 0 is memory of its own */
};

/* With JSON's escapes. Control characters and what is no UTF-8 become '?'. */
static void add_string(struct strata_text *text, const char *string) {
    size_t length = 0;
    for (; *string; string += length) {
        uint32_t letter = strata_text_decode(string, &length);
        if (letter == '"' || letter == '\\')
            strata_text_printf(text, "\\%c", (int)letter);
        else if (letter < 0x20 || letter == 0x7f || letter == 0xfffd)
            strata_text_add(text, "?");
        else
            strata_text_append(text, string, length);
    }
}

/* Begins an event: all but its name and arguments. Times are microseconds. */
static void begin(struct drawing *drawing, const char *phase, uint64_t time_ns, uint32_t thread) {
    strata_text_printf(drawing->text,
                       "%s\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03u,\"name\":\"",
                       drawing->more ? "," : "", phase, thread, time_ns / 1000, (unsigned)(time_ns % 1000));
    drawing->more = true;
}

static void add_pool_name(struct drawing *drawing, uint64_t pool) {
    const struct strata_trace_file *file = drawing->file;
    if (pool == 0) {
        strata_text_add(drawing->text, "memory of its own");
        return;
    }
    const struct strata_trace_pool *facts = &file->pools[pool - 1];
    strata_text_printf(drawing->text, "pool %" PRIu64 " ", pool);
    add_string(drawing->text, strata_trace_text(file, facts->name));
    strata_text_printf(drawing->text, "%s(%s)", facts->name ? " " : "", kinds[facts->kind]);
}

static void add_counter(struct drawing *drawing, const char *what, const struct strata_trace_event *event,
                        uint64_t bytes) {
    begin(drawing, "C", event->time_ns, 0);
    add_pool_name(drawing, event->pool);
    strata_text_printf(drawing->text, ": %s\",\"args\":{\"bytes\":%" PRIu64 "}}", what, bytes);
}

static void add_live(struct drawing *drawing, const char *phase, const struct strata_trace_event *create,
                     const struct strata_trace_event *now, uint64_t time_ns) {
    const char *name = strata_trace_text(drawing->file, create->name);
    begin(drawing, phase, time_ns, now->thread);
    add_string(drawing->text, name[0] ? name : "unnamed");
    strata_text_printf(drawing->text, "\",\"cat\":\"buffer\",\"id\":%" PRIu64, create->number);
    if (phase[0] == 'b') {
        strata_text_printf(drawing->text,
                           ",\"args\":{\"bytes\":%" PRIu64 ",\"given\":%" PRIu64 ",\"kind\":\"%s\",\"reused\":%s,"
                           "\"pool\":%" PRIu64 "}",
                           create->bytes, create->given, kinds[create->flags & 3],
                           create->flags & STRATA_TRACE_REUSED ? "true" : "false", create->pool);
    }
    strata_text_add(drawing->text, "}");
}

static void add_create(struct drawing *drawing, const struct strata_trace_event *event) {
    drawing->creates[event->number] = event;
    add_live(drawing, "b", event, event, event->time_ns);
    drawing->live[event->pool] += event->bytes;
    add_counter(drawing, "live", event, drawing->live[event->pool]);
}

static void add_destroy(struct drawing *drawing, const struct strata_trace_event *event) {
    const struct strata_trace_event *create = drawing->creates[event->number];
    struct strata_trace_event end = *event;
    drawing->creates[event->number] = NULL;
    add_live(drawing, "e", create, event, event->time_ns);
    end.pool = create->pool;
    drawing->live[end.pool] -= create->bytes;
    add_counter(drawing, "live", &end, drawing->live[end.pool]);
}

static void add_block(struct drawing *drawing, const struct strata_trace_event *event) {
    bool grows = event->type == STRATA_TRACE_GROW;
    begin(drawing, "i", event->time_ns, event->thread);
    strata_text_printf(drawing->text,
                       "%s\",\"s\":\"p\",\"args\":{\"pool\":%" PRIu64 ",\"block\":%" PRIu64 ",\"bytes\":%" PRIu64
                       ",\"dedicated\":%s}}",
                       grows ? "grow" : "trim", event->pool, event->number, event->bytes,
                       event->flags & STRATA_TRACE_DEDICATED ? "true" : "false");
    drawing->reserved[event->pool] += grows ? event->bytes : 0 - event->bytes;
    add_counter(drawing, "reserved", event, drawing->reserved[event->pool]);
}

static void add_fail(struct drawing *drawing, const struct strata_trace_event *event) {
    begin(drawing, "i", event->time_ns, event->thread);
    strata_text_printf(drawing->text,
                       "create failed: %s\",\"s\":\"t\",\"args\":{\"pool\":%" PRIu64 ",\"bytes\":%" PRIu64 "}}",
                       strata_status_name((enum strata_status)event->status), event->pool, event->bytes);
}

static void add_wait(struct drawing *drawing, const struct strata_trace_event *from, uint64_t end_ns) {
    uint64_t ns = end_ns - from->time_ns;
    begin(drawing, "X", from->time_ns, from->thread);
    strata_text_printf(drawing->text, "wait for work: ");
    add_pool_name(drawing, from->pool);
    strata_text_printf(drawing->text, "\",\"dur\":%" PRIu64 ".%03u}", ns / 1000, (unsigned)(ns % 1000));
}

/* A thread waits for one pool at a time, and mostly it is one thread that does: the one that began is looked for. */
static void add_wait_end(struct drawing *drawing, size_t at) {
    const struct strata_trace_event *events = drawing->file->events, *end = &events[at];
    while (at-- > 0)
        if (events[at].thread == end->thread && events[at].pool == end->pool &&
            (events[at].type == STRATA_TRACE_WAIT_BEGIN || events[at].type == STRATA_TRACE_WAIT_END))
            break;
    if (at != SIZE_MAX && events[at].type == STRATA_TRACE_WAIT_BEGIN)
        add_wait(drawing, &events[at], end->time_ns);
}

static void add_event(struct drawing *drawing, size_t at) {
    const struct strata_trace_event *event = &drawing->file->events[at];
    switch (event->type) {
    case STRATA_TRACE_CREATE: add_create(drawing, event); break;
    case STRATA_TRACE_DESTROY: add_destroy(drawing, event); break;
    case STRATA_TRACE_GROW:
    case STRATA_TRACE_TRIM: add_block(drawing, event); break;
    case STRATA_TRACE_FAIL: add_fail(drawing, event); break;
    case STRATA_TRACE_WAIT_END: add_wait_end(drawing, at); break;
    case STRATA_TRACE_DEVICE:
    case STRATA_TRACE_POOL:
    case STRATA_TRACE_WAIT_BEGIN: break;
    }
}

/* What is alive at the end of the trace ends there. */
static void end_lives(struct drawing *drawing) {
    const struct strata_trace_event *last = &drawing->file->events[drawing->file->count - 1];
    for (uint64_t i = 0; i < drawing->file->buffers; i++)
        if (drawing->creates[i])
            add_live(drawing, "e", drawing->creates[i], last, last->time_ns);
}

void strata_replay_chrome(const struct strata_trace_file *file, struct strata_text *text) {
    size_t pools = file->pool_count + 1;
    struct drawing drawing = {.file = file, .text = text};
    drawing.creates = calloc((size_t)file->buffers + 1, sizeof *drawing.creates);
    drawing.live = calloc(pools, sizeof *drawing.live);
    drawing.reserved = calloc(pools, sizeof *drawing.reserved);
    if (drawing.creates && drawing.live && drawing.reserved) {
        strata_text_add(text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        begin(&drawing, "M", 0, 0);
        strata_text_add(text, "process_name\",\"args\":{\"name\":\"strata on ");
        add_string(text, strata_trace_text(file, file->device));
        strata_text_add(text, "\"}}");
        for (size_t i = 0; i < file->count; i++)
            add_event(&drawing, i);
        end_lives(&drawing);
        strata_text_add(text, "\n]}\n");
    } else {
        text->failed = true;
    }
    free(drawing.creates);
    free(drawing.live);
    free(drawing.reserved);
}
