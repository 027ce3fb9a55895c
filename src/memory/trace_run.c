/* Starting, writing and ending a trace. */
#include "core/fork.h"
#include "memory/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Room in the ring for each buffer that is alive at the start, which are recorded at once: a name of the longest, and a
 * block. */
#define EXISTING_BYTES (STRATA_TRACE_TEXT_MOST + 100)

/* Traces that are written under one name at a time. */
#define FILES_MOST 99

void strata_trace_desc_init(struct strata_trace_desc *desc) {
    *desc = (struct strata_trace_desc){.size = sizeof *desc};
}

/* The file that `path` names, or FILE.2 and so on while others are being written; -1 and errno. */
static int open_file(const char *path) {
    char name[4096];
    for (int number = 1; number <= FILES_MOST; number++) {
        int length = snprintf(name, sizeof name, number == 1 ? "%s" : "%s.%d", path, number);
        if (length < 0 || (size_t)length >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        struct stat facts;
        if (file < 0 || fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
            return file;
        if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
            if (ftruncate(file, 0) == 0)
                return file;
            number = FILES_MOST;
        }
        int error = errno;
        close(file);
        errno = error;
    }
    return -1;
}

static bool write_file(struct strata_trace *trace, const unsigned char *bytes, size_t length) {
    while (length) {
        ssize_t done = write(trace->file, bytes, length);
        if (done < 0 && errno != EINTR) {
            trace->error = errno;
            return false;
        }
        bytes += done > 0 ? done : 0;
        length -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool write_bytes(struct strata_trace *trace, const unsigned char *bytes, size_t length) {
    if (trace->write)
        return trace->write((const char *)bytes, length, trace->user);
    return write_file(trace, bytes, length);
}

static void put_fixed(unsigned char *bytes, uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
}

static bool write_head(struct strata_trace *trace) {
    unsigned char head[STRATA_TRACE_HEAD] = STRATA_TRACE_MAGIC;
    put_fixed(head + 8, STRATA_TRACE_VERSION, 4);
    return write_bytes(trace, head, sizeof head);
}

static bool write_chunk(struct strata_trace *trace, struct strata_trace_chunk *chunk) {
    put_fixed(chunk->bytes + 8, chunk->used - STRATA_TRACE_CHUNK_HEAD, 4);
    put_fixed(chunk->bytes + 12, chunk->records, 4);
    put_fixed(chunk->bytes, XXH64(chunk->bytes + 8, chunk->used - 8, 0), 8);
    return write_bytes(trace, chunk->bytes, chunk->used);
}

/* The oldest chunk that is to be written: full, or with `all` the last one, too. */
static struct strata_trace_chunk *next_chunk(strata_device *device, struct strata_trace *trace, bool all) {
    strata_spin_lock(&trace->lock);
    struct strata_trace_chunk *chunk = &trace->chunks[trace->tail % trace->count];
    if (trace->tail == trace->head) {
        atomic_store_explicit(&device->trace_due, false, memory_order_relaxed);
        if (!all || chunk->used <= STRATA_TRACE_CHUNK_HEAD)
            chunk = NULL;
    }
    strata_spin_unlock(&trace->lock);
    return chunk;
}

/* The chunk is written, or nothing is any more. */
static void done_with_chunk(struct strata_trace *trace, bool good) {
    strata_spin_lock(&trace->lock);
    if (!good) {
        trace->failed = trace->ended = true;
        trace->tail = trace->head;
    }
    if (trace->tail == trace->head)
        trace->chunks[trace->tail % trace->count].used = 0;
    else
        trace->tail++;
    strata_spin_unlock(&trace->lock);
}

static uint64_t waiting_chunks(struct strata_trace *trace) {
    strata_spin_lock(&trace->lock);
    uint64_t count = trace->head - trace->tail;
    strata_spin_unlock(&trace->lock);
    return count;
}

/* Under the device's trace_lock, which is let go of while bytes are written. */
static void write_chunks(strata_device *device, struct strata_trace *trace, bool all) {
    struct strata_trace_chunk *chunk;
    trace->writing = true;
    trace->writer = pthread_self();
    while ((chunk = next_chunk(device, trace, all)) != NULL) {
        pthread_mutex_unlock(&device->trace_lock);
        bool good = write_chunk(trace, chunk);
        pthread_mutex_lock(&device->trace_lock);
        done_with_chunk(trace, good);
        pthread_cond_broadcast(&device->trace_changed);
    }
    trace->writing = false;
    pthread_cond_broadcast(&device->trace_changed);
}

void strata_trace_write(strata_device *device) {
    pthread_mutex_lock(&device->trace_lock);
    struct strata_trace *trace = device->trace;
    while (trace && trace->writing && !pthread_equal(trace->writer, pthread_self()) &&
           waiting_chunks(trace) >= trace->count / 2) {
        pthread_cond_wait(&device->trace_changed, &device->trace_lock);
        trace = device->trace;
    }
    if (trace && !trace->writing)
        write_chunks(device, trace, false);
    pthread_mutex_unlock(&device->trace_lock);
}

static void free_trace(strata_device *device, struct strata_trace *trace) {
    if (trace->file >= 0)
        close(trace->file);
    strata_host_release(&device->hooks, trace->path);
    strata_host_release(&device->hooks, trace->chunks);
    strata_host_release(&device->hooks, trace);
}

static enum strata_status fail_write(const struct strata_trace *trace, const char *what) {
    if (trace->path)
        return strata_fail(STRATA_IO, "%s: the file '%s' cannot be written: %s.", what, trace->path,
                           strata_errno_text(trace->error));
    return strata_fail(STRATA_IO, "%s: its write function answered that it cannot go on.", what);
}

/* A trace whose file is open and has its head. */
static enum strata_status make_trace(strata_device *device, const struct strata_trace_desc *desc,
                                     struct strata_trace **result) {
    const struct strata_allocator *hooks = &device->hooks;
    struct strata_memory_stats stats = {.size = sizeof stats};
    enum strata_status status = strata_device_stats(device, &stats);
    if (status != STRATA_OK)
        return status;
    uint64_t alive = 0;
    for (unsigned kind = 0; kind < 4; kind++)
        alive += stats.kind[kind].live_buffers;
    uint64_t count = STRATA_TRACE_CHUNKS + alive * EXISTING_BYTES / (STRATA_TRACE_CHUNK_BYTES * 3 / 4);
    struct strata_trace *trace = strata_host_allocate(hooks, sizeof *trace);
    if (!trace)
        return strata_fail_host_memory(sizeof *trace, "a trace");
    trace->file = -1;
    trace->count = count;
    trace->write = desc->write;
    trace->user = desc->user;
    trace->chunks = strata_host_allocate(hooks, (size_t)count * sizeof *trace->chunks);
    if (desc->path)
        trace->path = strata_host_copy_string(hooks, desc->path, strlen(desc->path));
    if (!trace->chunks || (desc->path && !trace->path)) {
        status = strata_fail_host_memory(count * sizeof *trace->chunks, "a trace");
    } else if (desc->path && (trace->file = open_file(desc->path)) < 0) {
        trace->error = errno;
        status = fail_write(trace, "No trace was started");
    } else if (!write_head(trace)) {
        status = fail_write(trace, "No trace was started");
    }
    if (status != STRATA_OK)
        free_trace(device, trace);
    else
        *result = trace;
    return status;
}

/* The blocks of a pool that no live buffer told of. */
static void add_blocks(strata_pool *pool, void *user) {
    struct strata_trace *trace = user;
    pthread_mutex_lock(&pool->lock);
    for (struct strata_block *block = pool->first; block; block = block->next)
        strata_trace_existing(trace, pool, block);
    for (const strata_buffer *buffer = pool->spares; buffer; buffer = buffer->next)
        strata_trace_existing(trace, pool, buffer->block);
    for (const strata_buffer *buffer = pool->pending; buffer; buffer = buffer->next)
        strata_trace_existing(trace, pool, buffer->block);
    pthread_mutex_unlock(&pool->lock);
}

/* Dedicated blocks that nothing but a magazine holds. Under the locks of device and shards. */
static void add_magazines(strata_device *device, struct strata_trace *trace) {
    for (strata_pool *pool = device->pools; pool; pool = pool->next)
        for (unsigned i = 0; i < STRATA_SHARDS; i++)
            for (unsigned bin = 0; bin < STRATA_MAGAZINE_BINS; bin++)
                for (const strata_buffer *buffer = pool->magazines[i].bin[bin]; buffer; buffer = buffer->next)
                    strata_trace_existing(trace, pool, buffer->block);
}

static void set_trace(strata_device *device, struct strata_trace *trace) {
    pthread_mutex_lock(&device->lock);
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_lock(&device->shards[i].lock);
    if (trace) {
        strata_trace_device(trace, device);
        for (unsigned i = 0; i < STRATA_SHARDS; i++)
            for (strata_buffer *buffer = device->shards[i].buffers; buffer; buffer = buffer->next)
                strata_trace_create(trace, buffer, NULL, STRATA_TRACE_EXISTING);
        add_magazines(device, trace);
    }
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        device->shards[i].trace = trace;
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_unlock(&device->shards[i].lock);
    pthread_mutex_unlock(&device->lock);
}

/* Takes the place of the device's trace; nobody else writes or ends it before the caller says so. */
static bool take_place(strata_device *device, struct strata_trace *trace) {
    pthread_mutex_lock(&device->trace_lock);
    bool free = !device->trace;
    if (free) {
        trace->serial = ++device->trace_serial;
        trace->writing = true;
        trace->writer = pthread_self();
        device->trace = trace;
    }
    pthread_mutex_unlock(&device->trace_lock);
    return free;
}

static enum strata_status check_desc(strata_device *device, const struct strata_trace_desc *desc) {
    if (!desc->path == !desc->write)
        return strata_fail(STRATA_INVALID_ARGUMENT, "A trace needs either a path or a write function.");
    pthread_mutex_lock(&device->trace_lock);
    bool runs = device->trace != NULL;
    pthread_mutex_unlock(&device->trace_lock);
    return runs ? strata_fail(STRATA_BUSY, "A trace of device '%s' runs already; stop it first.", device->name)
                : STRATA_OK;
}

enum strata_status strata_trace_start(strata_device *device, const struct strata_trace_desc *given) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_trace_desc desc = {.size = sizeof desc};
    struct strata_trace *trace = NULL;
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = strata_desc_read(given, &desc, sizeof desc, "strata_trace_desc");
    if (status == STRATA_OK)
        status = check_desc(device, &desc);
    if (status == STRATA_OK)
        status = make_trace(device, &desc, &trace);
    if (status != STRATA_OK)
        return status;
    if (!take_place(device, trace)) {
        free_trace(device, trace);
        return strata_fail(STRATA_BUSY, "Another thread has just started a trace of device '%s'.", device->name);
    }
    set_trace(device, trace);
    strata_pools_for_each(device, add_blocks, trace);
    pthread_mutex_lock(&device->trace_lock);
    write_chunks(device, trace, false);
    pthread_mutex_unlock(&device->trace_lock);
    return STRATA_OK;
}

/* The running trace, which from here on is the caller's to end. */
static enum strata_status begin_end(strata_device *device, struct strata_trace **result) {
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&device->trace_lock);
    struct strata_trace *trace = device->trace;
    if (!trace || trace->stopping)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "No trace of device '%s' runs.", device->name);
    else if (trace->writing && pthread_equal(trace->writer, pthread_self()))
        status = strata_fail(STRATA_BUSY, "A trace cannot be stopped by its own write function.");
    if (status == STRATA_OK) {
        trace->stopping = true;
        while (trace->writing)
            pthread_cond_wait(&device->trace_changed, &device->trace_lock);
        *result = trace;
    }
    pthread_mutex_unlock(&device->trace_lock);
    return status;
}

static enum strata_status end(strata_device *device, struct strata_trace *trace) {
    enum strata_status status = STRATA_OK;
    set_trace(device, NULL);
    pthread_mutex_lock(&device->trace_lock);
    while (trace->writing)
        pthread_cond_wait(&device->trace_changed, &device->trace_lock);
    write_chunks(device, trace, true);
    device->trace = NULL;
    pthread_cond_broadcast(&device->trace_changed);
    pthread_mutex_unlock(&device->trace_lock);
    if (trace->file >= 0 && close(trace->file) != 0 && !trace->failed) {
        trace->error = errno;
        trace->failed = true;
    }
    trace->file = -1;
    if (trace->failed)
        status = fail_write(trace, "The trace ended early");
    else if (trace->overrun)
        status = strata_fail(STRATA_OUT_OF_MEMORY,
                             "The trace of device '%s' ended early: events came faster than they could be written.",
                             device->name);
    free_trace(device, trace);
    return status;
}

enum strata_status strata_trace_stop(strata_device *device) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_trace *trace = NULL;
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = begin_end(device, &trace);
    return status == STRATA_OK ? end(device, trace) : status;
}

void strata_trace_begin(strata_device *device, const char *path) {
    if (!path || !path[0])
        path = getenv("STRATA_TRACE");
    if (!path || !path[0])
        return;
    if (strata_trace_start(device, &(const struct strata_trace_desc){.size = sizeof(struct strata_trace_desc),
                                                                     .path = path}) != STRATA_OK)
        strata_device_log(device, STRATA_LOG_WARNING, "%s", strata_last_error()->message);
}

void strata_trace_close(strata_device *device) {
    struct strata_trace *trace = NULL;
    pthread_mutex_lock(&device->trace_lock);
    bool runs = device->trace != NULL;
    pthread_mutex_unlock(&device->trace_lock);
    if (runs && begin_end(device, &trace) == STRATA_OK && end(device, trace) != STRATA_OK)
        strata_device_log(device, STRATA_LOG_WARNING, "%s", strata_last_error()->message);
}

void strata_trace_forget(strata_device *device) {
    if (device->trace)
        free_trace(device, device->trace);
    device->trace = NULL;
}
