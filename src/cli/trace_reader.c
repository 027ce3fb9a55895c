/* Reading trace files. Nothing in a file is believed: what does not fit ends the trace before it. */
#include "cli/trace_reader.h"

#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Host memory for events and pools begins so, and doubles. */
#define FIRST_CAPACITY 64

struct reader {
    const unsigned char *at, *end; /* of the chunk's records */
    bool bad;
    struct strata_trace_file *file;
    size_t capacity, pool_capacity;
    unsigned char *alive; /* one for each buffer */
    size_t alive_capacity;
    size_t names[STRATA_TRACE_NAMES];
    uint64_t begin_ns, time_ns;
    uint32_t thread;
    bool out_of_memory;
};

static uint64_t fixed(const unsigned char *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static unsigned char take_byte(struct reader *reader) {
    if (reader->at == reader->end) {
        reader->bad = true;
        return 0;
    }
    return *reader->at++;
}

static uint64_t take(struct reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte = take_byte(reader);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            reader->bad |= shift == 63 && byte > 1;
            return value;
        }
    }
    reader->bad = true;
    return 0;
}

/* A number that has to be below a bound. */
static uint32_t take_below(struct reader *reader, uint64_t bound) {
    uint64_t value = take(reader);
    reader->bad |= value >= bound;
    return reader->bad ? 0 : (uint32_t)value;
}

/* Keeps a text, up to a NUL in it if there is one; its place. */
static size_t take_text(struct reader *reader) {
    struct strata_text *texts = &reader->file->texts;
    uint64_t length = take(reader);
    if (reader->bad || length > (uint64_t)(reader->end - reader->at)) {
        reader->bad = true;
        return 0;
    }
    size_t place = texts->length;
    strata_text_append(texts, (const char *)reader->at, strnlen((const char *)reader->at, (size_t)length));
    strata_text_append(texts, "", 1);
    reader->at += length;
    reader->out_of_memory |= texts->failed;
    return length ? place : 0;
}

static size_t take_name(struct reader *reader) {
    uint64_t form = take(reader);
    if (form == 0)
        return take_text(reader);
    uint64_t number = (form - 1) / 2;
    if (number >= STRATA_TRACE_NAMES) {
        reader->bad = true;
        return 0;
    }
    if (form % 2 == 0)
        reader->names[number] = take_text(reader);
    return reader->names[number];
}

/* Room for one more of `size` bytes; false when there is no memory. */
static bool reserve(struct reader *reader, void *place, size_t count, size_t *capacity, size_t size) {
    void *list;
    memcpy(&list, place, sizeof list);
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    list = wanted > SIZE_MAX / size ? NULL : realloc(list, wanted * size);
    if (!list) {
        reader->out_of_memory = true;
        return false;
    }
    memcpy(place, &list, sizeof list);
    *capacity = wanted;
    return true;
}

static void take_device(struct reader *reader) {
    struct strata_trace_file *file = reader->file;
    file->device = take_text(reader);
    file->platform = take_text(reader);
    file->driver = take_text(reader);
    file->device_bytes = take(reader);
    file->max_buffer_bytes = take(reader);
    file->memory_limit = take(reader);
    file->pinned_limit = take(reader);
    file->version = take_text(reader);
}

static void take_pool(struct reader *reader, struct strata_trace_event *event) {
    struct strata_trace_file *file = reader->file;
    event->pool = take(reader);
    reader->bad |= event->pool != file->pool_count + 1;
    struct strata_trace_pool pool = {.kind = take_below(reader, 4)};
    pool.flags = take_below(reader, 4);
    pool.name = take_text(reader);
    pool.granularity = take(reader);
    pool.limit_bytes = take(reader);
    pool.block_bytes = take(reader);
    pool.max_block_bytes = take(reader);
    pool.dedicated_bytes = take(reader);
    pool.keep_bytes = take(reader);
    event->flags = pool.flags;
    event->name = pool.name;
    if (!reader->bad && reserve(reader, &file->pools, file->pool_count, &reader->pool_capacity, sizeof *file->pools))
        file->pools[file->pool_count++] = pool;
}

static void take_create(struct reader *reader, struct strata_trace_event *event) {
    struct strata_trace_file *file = reader->file;
    event->flags = take_byte(reader);
    event->pool = take_below(reader, file->pool_count + 1);
    event->bytes = take(reader);
    uint64_t more = take(reader);
    event->given = event->bytes + (more >> 1 ^ (more & 1 ? UINT64_MAX : 0));
    if (event->flags & STRATA_TRACE_HAS_QUEUE)
        take(reader);
    if (event->flags & STRATA_TRACE_HAS_NAME)
        event->name = take_name(reader);
    event->number = file->buffers;
    reader->bad |= (event->flags >> STRATA_TRACE_ACCESS_SHIFT & 3) == 3;
    if (!reader->bad && reserve(reader, &reader->alive, (size_t)file->buffers, &reader->alive_capacity, 1))
        reader->alive[file->buffers++] = 1;
}

static void take_destroy(struct reader *reader, struct strata_trace_event *event) {
    uint64_t distance = take(reader);
    if (reader->bad || distance == 0 || distance > reader->file->buffers) {
        reader->bad = true;
        return;
    }
    event->number = reader->file->buffers - distance;
    reader->bad |= !reader->alive[event->number];
    reader->alive[event->number] = 0;
}

/* Of a record of a pool's, the number. */
static void take_pool_number(struct reader *reader, struct strata_trace_event *event) {
    event->pool = take_below(reader, reader->file->pool_count + 1);
    reader->bad |= event->pool == 0;
}

static void take_body(struct reader *reader, struct strata_trace_event *event) {
    switch (event->type) {
    case STRATA_TRACE_DEVICE: take_device(reader); break;
    case STRATA_TRACE_POOL: take_pool(reader, event); break;
    case STRATA_TRACE_CREATE: take_create(reader, event); break;
    case STRATA_TRACE_FAIL:
        event->flags = take_below(reader, 16);
        event->pool = take_below(reader, reader->file->pool_count + 1);
        event->bytes = take(reader);
        event->status = (int32_t)take_below(reader, INT32_MAX);
        break;
    case STRATA_TRACE_DESTROY: take_destroy(reader, event); break;
    case STRATA_TRACE_GROW:
    case STRATA_TRACE_TRIM:
        event->flags = event->type == STRATA_TRACE_GROW ? take_below(reader, 8) : 0;
        take_pool_number(reader, event);
        event->number = take(reader);
        event->bytes = take(reader);
        break;
    case STRATA_TRACE_WAIT_BEGIN:
    case STRATA_TRACE_WAIT_END: take_pool_number(reader, event); break;
    default: reader->bad = true;
    }
}

/* One record, which is kept when it is good. */
static void take_record(struct reader *reader) {
    struct strata_trace_file *file = reader->file;
    unsigned char head = take_byte(reader);
    struct strata_trace_event event = {.type = (enum strata_trace_type)(head & STRATA_TRACE_TYPE_MASK)};
    reader->bad |= (head & ~(STRATA_TRACE_TYPE_MASK | STRATA_TRACE_SAME_THREAD)) != 0;
    if (!(head & STRATA_TRACE_SAME_THREAD))
        reader->thread = take_below(reader, UINT32_MAX);
    reader->time_ns += take(reader);
    if (file->count == 0)
        reader->begin_ns = reader->time_ns;
    event.thread = reader->thread;
    event.time_ns = reader->time_ns - reader->begin_ns;
    take_body(reader, &event);
    if (!reader->bad && !reader->out_of_memory &&
        reserve(reader, &file->events, file->count, &reader->capacity, sizeof *file->events))
        file->events[file->count++] = event;
}

/* The chunk at `bytes`, of which `left` are left in the file; its length, or 0 when it is none. */
static size_t take_chunk(struct reader *reader, const unsigned char *bytes, size_t left) {
    if (left < STRATA_TRACE_CHUNK_HEAD)
        return 0;
    uint64_t length = fixed(bytes + 8, 4), records = fixed(bytes + 12, 4);
    if (length > STRATA_TRACE_CHUNK_BYTES || length > left - STRATA_TRACE_CHUNK_HEAD ||
        XXH64(bytes + 8, STRATA_TRACE_CHUNK_HEAD - 8 + (size_t)length, 0) != fixed(bytes, 8))
        return 0;
    reader->at = bytes + STRATA_TRACE_CHUNK_HEAD;
    reader->end = reader->at + length;
    reader->time_ns = fixed(bytes + 16, 8);
    reader->thread = 0;
    while (reader->at < reader->end && !reader->bad && !reader->out_of_memory) {
        take_record(reader);
        records--;
    }
    reader->bad |= records != 0;
    return reader->bad ? 0 : (size_t)(reader->end - bytes);
}

static enum strata_status check_head(const unsigned char *bytes, size_t length, const char *label) {
    if (length == 0)
        return strata_fail(STRATA_IO, "%s: it is empty", label);
    if (length < STRATA_TRACE_HEAD || memcmp(bytes, STRATA_TRACE_MAGIC, 8) != 0)
        return strata_fail(STRATA_IO, "%s: it is no trace of strata", label);
    uint64_t version = fixed(bytes + 8, 4);
    if (version != STRATA_TRACE_VERSION)
        return strata_fail(STRATA_IO, "%s: it is a trace of version %u, and this strata reads version %d", label,
                           (unsigned)version, STRATA_TRACE_VERSION);
    return STRATA_OK;
}

enum strata_status strata_trace_parse(const void *bytes, size_t length, const char *label,
                                      struct strata_trace_file *file) {
    *file = (struct strata_trace_file){0};
    enum strata_status status = check_head(bytes, length, label);
    if (status != STRATA_OK)
        return status;
    struct reader reader = {.file = file};
    strata_text_append(&file->texts, "", 1);
    size_t at = STRATA_TRACE_HEAD, took = 1;
    while (at < length && took != 0 && !reader.out_of_memory) {
        took = take_chunk(&reader, (const unsigned char *)bytes + at, length - at);
        at += took;
    }
    file->cut = at < length;
    free(reader.alive);
    if (reader.out_of_memory || file->texts.failed)
        status = strata_fail_host_memory(length, "a trace");
    else if (file->count == 0)
        status = strata_fail(STRATA_IO, "%s: the trace was cut before its first events", label);
    if (status != STRATA_OK)
        strata_trace_file_release(file);
    return status;
}

static enum strata_status read_all(int descriptor, const char *path, struct strata_text *bytes) {
    char piece[65536];
    for (;;) {
        ssize_t got = read(descriptor, piece, sizeof piece);
        if (got == 0)
            return bytes->failed ? strata_fail_host_memory(bytes->length, "a trace") : STRATA_OK;
        if (got < 0 && strata_interrupted() != 0)
            return strata_fail(STRATA_CANCELLED, "%s: interrupted", path);
        if (got < 0 && errno != EINTR)
            return strata_fail(STRATA_IO, "%s: cannot read: %s", path, strata_errno_text(errno));
        if (got > 0)
            strata_text_append(bytes, piece, (size_t)got);
    }
}

enum strata_status strata_trace_read(const char *path, struct strata_trace_file *file) {
    struct strata_text bytes = {0};
    bool is_input = strcmp(path, "-") == 0;
    const char *label = is_input ? "standard input" : path;
    *file = (struct strata_trace_file){0};
    int descriptor = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return strata_fail(STRATA_IO, "%s: cannot open: %s", label, strata_errno_text(errno));
    enum strata_status status = read_all(descriptor, label, &bytes);
    if (!is_input)
        close(descriptor);
    if (status == STRATA_OK)
        status = strata_trace_parse(bytes.data ? bytes.data : "", bytes.length, label, file);
    strata_text_release(&bytes);
    return status;
}

void strata_trace_file_release(struct strata_trace_file *file) {
    free(file->events);
    free(file->pools);
    strata_text_release(&file->texts);
    *file = (struct strata_trace_file){0};
}

const char *strata_trace_text(const struct strata_trace_file *file, size_t name) {
    return file->texts.data + name;
}
