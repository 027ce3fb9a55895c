/* The device's dump: what its memory is used for, as JSON. What is copied under locks is written under none. */
#include "core/fork.h"
#include "core/writer.h"
#include "memory/pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A name is copied while locks are held that no thread should wait for, so it is cut to this. */
#define NAME_BYTES 64

/* Buffers that may be created between counting them and copying them, before that is done again. */
#define SLACK 64

static const char *const kinds[] = {"device", "pinned", "wrapped", "shared"};

/* A range of a block, or a buffer with memory of its own: then `block` says nothing. */
struct entry {
    uint64_t block, block_bytes, offset, bytes, requested;
    bool dedicated, plain;
    const char *state; /* "hole" needs no name */
    const char *site;
    char name[NAME_BYTES];
};

struct snapshot {
    struct entry *entries;
    size_t count, capacity;
    const struct strata_block *block; /* that is walked through */
};

struct dump {
    strata_device *device;
    struct strata_writer writer;
    enum strata_status status;
    bool later;
};

static struct entry *add(struct snapshot *snapshot) {
    /* Where there is no room, what is too much is counted. */
    size_t at = snapshot->count++;
    return at < snapshot->capacity ? memset(&snapshot->entries[at], 0, sizeof *snapshot->entries) : NULL;
}

static void describe(struct entry *entry, const strata_buffer *buffer) {
    entry->bytes = buffer->given_bytes;
    entry->state = buffer->alive ? "live" : strata_buffer_pending_slots(buffer) ? "pending" : "kept";
    if (!buffer->alive)
        return;
    entry->requested = buffer->info.bytes;
    entry->site = buffer->site;
    size_t length = strnlen(buffer->name, NAME_BYTES - 1);
    memcpy(entry->name, buffer->name, length);
}

static void describe_block(struct entry *entry, const struct strata_block *block) {
    entry->block = block->number;
    entry->block_bytes = block->bytes;
    entry->dedicated = !block->offsets;
    entry->plain = block->plain;
}

static bool add_span(const struct strata_offsets_span *span, void *user) {
    struct snapshot *snapshot = user;
    struct entry *entry = add(snapshot);
    if (!entry)
        return true;
    describe_block(entry, snapshot->block);
    entry->state = "hole";
    entry->bytes = span->bytes;
    if (span->user)
        describe(entry, span->user);
    entry->offset = span->offset;
    return true;
}

/* Pieces that are a whole block, of a list that is linked by `next`. */
static void add_dedicated(struct snapshot *snapshot, const strata_pool *pool, const strata_buffer *list) {
    for (const strata_buffer *buffer = list; buffer; buffer = buffer->next) {
        if (buffer->pool != pool || buffer->block->offsets)
            continue;
        struct entry *entry = add(snapshot);
        if (!entry)
            continue;
        describe_block(entry, buffer->block);
        describe(entry, buffer);
    }
}

static void lock_shards(strata_device *device) {
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_lock(&device->shards[i].lock);
}

static void unlock_shards(strata_device *device) {
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_unlock(&device->shards[i].lock);
}

/* Under the pool's lock, with which neither pieces nor holes change. */
static size_t count_ranges(const strata_pool *pool) {
    size_t count = pool->dedicated_blocks;
    for (const struct strata_block *block = pool->first; block; block = block->next) {
        struct strata_offsets_stats stats = {.size = sizeof stats};
        strata_offsets_stats(block->offsets, &stats);
        count += (size_t)(stats.live_pieces + stats.holes);
    }
    return count;
}

static void copy_ranges(strata_pool *pool, struct snapshot *snapshot) {
    lock_shards(pool->device);
    for (snapshot->block = pool->first; snapshot->block; snapshot->block = snapshot->block->next)
        strata_offsets_walk(snapshot->block->offsets, add_span, snapshot);
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        add_dedicated(snapshot, pool, pool->device->shards[i].buffers);
        for (unsigned bin = 0; bin < STRATA_MAGAZINE_BINS; bin++)
            add_dedicated(snapshot, pool, pool->magazines[i].bin[bin]);
    }
    add_dedicated(snapshot, pool, pool->pending);
    add_dedicated(snapshot, pool, pool->spares);
    unlock_shards(pool->device);
}

static enum strata_status take_pool(strata_pool *pool, struct snapshot *snapshot) {
    const struct strata_allocator *hooks = &pool->device->hooks;
    pthread_mutex_lock(&pool->lock);
    snapshot->capacity = count_ranges(pool);
    snapshot->entries = strata_host_allocate(hooks, snapshot->capacity * sizeof *snapshot->entries);
    if (snapshot->entries)
        copy_ranges(pool, snapshot);
    pthread_mutex_unlock(&pool->lock);
    return snapshot->entries ? STRATA_OK
                             : strata_fail_host_memory(snapshot->capacity * sizeof(struct entry), "a pool's dump");
}

/* Live buffers with memory of their own. */
static enum strata_status take_own(strata_device *device, struct snapshot *snapshot) {
    for (;;) {
        snapshot->count = 0;
        lock_shards(device);
        for (unsigned i = 0; i < STRATA_SHARDS; i++)
            for (const strata_buffer *buffer = device->shards[i].buffers; buffer; buffer = buffer->next) {
                struct entry *entry = buffer->pool ? NULL : add(snapshot);
                if (!entry)
                    continue;
                describe(entry, buffer);
                entry->bytes = buffer->info.bytes;
                entry->block = buffer->info.kind;
                entry->plain = buffer->info.kind == STRATA_PINNED && buffer->info.pinned == STRATA_NO;
            }
        unlock_shards(device);
        if (snapshot->count <= snapshot->capacity)
            return STRATA_OK;
        strata_host_release(&device->hooks, snapshot->entries);
        snapshot->capacity = snapshot->count + SLACK;
        snapshot->entries = strata_host_allocate(&device->hooks, snapshot->capacity * sizeof *snapshot->entries);
        if (!snapshot->entries)
            return strata_fail_host_memory(snapshot->capacity * sizeof(struct entry), "a device's dump");
    }
}

/* By block; within one the walk's order, which is that of the offsets, stays. */
static int compare(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void write_names(struct strata_writer *writer, const struct entry *entry) {
    if (strcmp(entry->state, "live") != 0)
        return;
    strata_writer_print(writer, ", \"requested\": %" PRIu64 ", \"name\": ", entry->requested);
    strata_writer_string(writer, entry->name);
    if (entry->site && entry->site[0]) {
        strata_writer_print(writer, ", \"site\": ");
        strata_writer_string(writer, entry->site);
    }
}

static void write_blocks(struct strata_writer *writer, const struct snapshot *snapshot) {
    const struct entry *before = NULL;
    for (size_t i = 0; i < snapshot->count && !writer->failed; i++) {
        const struct entry *entry = &snapshot->entries[i];
        if (!before || before->block != entry->block)
            strata_writer_print(writer,
                                "%s\n        {\"number\": %" PRIu64 ", \"bytes\": %" PRIu64
                                ", \"dedicated\": %s, \"plain\": %s, \"ranges\": [",
                                before ? "\n        ]}," : "", entry->block, entry->block_bytes,
                                entry->dedicated ? "true" : "false", entry->plain ? "true" : "false");
        else
            strata_writer_print(writer, ",");
        strata_writer_print(writer, "\n          {\"offset\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"state\": \"%s\"",
                            entry->offset, entry->bytes, entry->state);
        write_names(writer, entry);
        strata_writer_print(writer, "}");
        before = entry;
    }
    strata_writer_print(writer, "%s", before ? "\n        ]}\n      " : "");
}

static void write_stats(struct strata_writer *writer, const struct strata_pool_stats *stats) {
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"live_bytes", stats->live_bytes},
                {"given_bytes", stats->given_bytes},
                {"peak_bytes", stats->peak_bytes},
                {"reserved_bytes", stats->reserved_bytes},
                {"peak_reserved_bytes", stats->peak_reserved_bytes},
                {"pending_bytes", stats->pending_bytes},
                {"cached_bytes", stats->cached_bytes},
                {"free_bytes", stats->free_bytes},
                {"largest_free", stats->largest_free},
                {"live_buffers", stats->live_buffers},
                {"total_buffers", stats->total_buffers},
                {"reused_buffers", stats->reused_buffers},
                {"grown", stats->grown},
                {"trimmed", stats->trimmed},
                {"waited", stats->waited},
                {"failed", stats->failed},
                {"fell_back", stats->fell_back}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        strata_writer_print(writer, "\"%s\": %" PRIu64 ", ", rows[i].name, rows[i].value);
}

static void write_pool(strata_pool *pool, void *user) {
    struct dump *dump = user;
    struct strata_writer *writer = &dump->writer;
    struct snapshot snapshot = {0};
    struct strata_pool_stats stats = {.size = sizeof stats};
    if (dump->status != STRATA_OK || writer->failed)
        return;
    dump->status = strata_pool_get_stats(pool, &stats);
    if (dump->status == STRATA_OK)
        dump->status = take_pool(pool, &snapshot);
    if (dump->status != STRATA_OK)
        return;
    qsort(snapshot.entries, snapshot.count, sizeof *snapshot.entries, compare);
    strata_writer_print(writer, "%s\n    {\"name\": ", dump->later ? "," : "");
    strata_writer_string(writer, pool->name);
    strata_writer_print(
        writer,
        ", \"kind\": \"%s\", \"default\": %s, \"granularity\": %" PRIu64 ", \"limit_bytes\": %" PRIu64 ",\n      ",
        kinds[pool->desc.kind], pool->is_default ? "true" : "false", pool->granularity, pool->desc.limit_bytes);
    write_stats(writer, &stats);
    strata_writer_print(writer, "\n      \"blocks\": [");
    write_blocks(writer, &snapshot);
    strata_writer_print(writer, "]}");
    dump->later = true;
    strata_host_release(&dump->device->hooks, snapshot.entries);
}

static void write_kinds(struct dump *dump, const struct strata_memory_stats *stats) {
    for (unsigned kind = 0; kind < 4; kind++)
        strata_writer_print(&dump->writer,
                            "%s\n    {\"kind\": \"%s\", \"live_bytes\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
                            ", \"live_buffers\": %" PRIu64 ", \"total_buffers\": %" PRIu64 "}",
                            kind ? "," : "", kinds[kind], stats->kind[kind].live_bytes, stats->kind[kind].peak_bytes,
                            stats->kind[kind].live_buffers, stats->kind[kind].total_buffers);
}

static enum strata_status write_own(struct dump *dump) {
    struct snapshot snapshot = {0};
    enum strata_status status = take_own(dump->device, &snapshot);
    for (size_t i = 0; i < snapshot.count && status == STRATA_OK; i++) {
        const struct entry *entry = &snapshot.entries[i];
        strata_writer_print(&dump->writer, "%s\n    {\"kind\": \"%s\", \"bytes\": %" PRIu64 ", \"plain\": %s",
                            i ? "," : "", kinds[entry->block], entry->bytes, entry->plain ? "true" : "false");
        write_names(&dump->writer, entry);
        strata_writer_print(&dump->writer, "}");
    }
    strata_host_release(&dump->device->hooks, snapshot.entries);
    return status;
}

static enum strata_status write_all(struct dump *dump) {
    const struct strata_device_info *info = &dump->device->info;
    struct strata_writer *writer = &dump->writer;
    struct strata_memory_stats stats = {.size = sizeof stats};
    enum strata_status status = strata_device_stats(dump->device, &stats);
    if (status != STRATA_OK)
        return status;
    strata_writer_print(writer, "{\n  \"format\": \"strata-memory\",\n  \"version\": 1,\n  \"device\": {\"name\": ");
    strata_writer_string(writer, info->name);
    strata_writer_print(writer, ", \"platform\": ");
    strata_writer_string(writer, info->platform);
    strata_writer_print(writer, ", \"global_bytes\": %" PRIu64 "},\n  \"kinds\": [", info->global_bytes);
    write_kinds(dump, &stats);
    strata_writer_print(writer, "\n  ],\n  \"pending_bytes\": %" PRIu64 ",\n  \"pools\": [", stats.pending_bytes);
    strata_pools_for_each(dump->device, write_pool, dump);
    strata_writer_print(writer, "%s],\n  \"buffers\": [", dump->later ? "\n  " : "");
    status = dump->status == STRATA_OK ? write_own(dump) : dump->status;
    strata_writer_print(writer, "\n  ]\n}\n");
    strata_writer_flush(writer);
    return status;
}

enum strata_status strata_device_dump(strata_device *device, strata_write_function write, void *user) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status != STRATA_OK)
        return status;
    if (!write)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_device_dump got no function that writes.");
    struct dump dump = {.device = device, .writer = {.write = write, .user = user}};
    status = write_all(&dump);
    if (status == STRATA_OK && dump.writer.failed)
        return strata_fail(STRATA_IO, "The dump of device '%s' was stopped by the function that writes it.",
                           device->name);
    return status;
}
