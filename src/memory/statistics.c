/* What strata holds on a device: counts by kind, and the list of what is alive. */
#include "core/fork.h"
#include "memory/buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void raise(uint64_t *peak, uint64_t value) {
    if (*peak < value)
        *peak = value;
}

void strata_buffer_enlist(strata_buffer *buffer) {
    strata_device *device = buffer->device;
    struct strata_memory_stats *stats = &device->stats;
    pthread_mutex_lock(&device->lock);
    buffer->next = device->buffers;
    if (device->buffers)
        device->buffers->previous = buffer;
    device->buffers = buffer;
    unsigned kind = (unsigned)buffer->info.kind;
    stats->kind[kind].live_bytes += buffer->info.bytes;
    stats->kind[kind].live_buffers++;
    stats->kind[kind].total_buffers++;
    stats->live_bytes += buffer->info.bytes;
    raise(&stats->kind[kind].peak_bytes, stats->kind[kind].live_bytes);
    raise(&stats->peak_bytes, stats->live_bytes);
    pthread_mutex_unlock(&device->lock);
}

void strata_buffer_delist(strata_buffer *buffer) {
    strata_device *device = buffer->device;
    struct strata_memory_stats *stats = &device->stats;
    pthread_mutex_lock(&device->lock);
    if (buffer->previous)
        buffer->previous->next = buffer->next;
    else
        device->buffers = buffer->next;
    if (buffer->next)
        buffer->next->previous = buffer->previous;
    unsigned kind = (unsigned)buffer->info.kind;
    stats->kind[kind].live_bytes -= buffer->info.bytes;
    stats->kind[kind].live_buffers--;
    stats->live_bytes -= buffer->info.bytes;
    pthread_mutex_unlock(&device->lock);
}

enum strata_status strata_device_stats(strata_device *device, struct strata_memory_stats *stats) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status != STRATA_OK)
        return status;
    if (!stats || stats->size == 0 || stats->size > sizeof *stats)
        return strata_fail(
            STRATA_INVALID_ARGUMENT,
            "strata_device_stats needs a struct whose size member says at most %zu, this library's size.",
            sizeof *stats);
    size_t size = stats->size;
    pthread_mutex_lock(&device->lock);
    memcpy(stats, &device->stats, size);
    pthread_mutex_unlock(&device->lock);
    stats->size = size;
    return STRATA_OK;
}

/* One line of the report, made under the lock and logged outside of it. */
static bool describe(strata_device *device, uint64_t index, char *line, size_t size) {
    static const char *const kinds[] = {"device", "pinned", "wrapped", "shared"};
    pthread_mutex_lock(&device->lock);
    const strata_buffer *buffer = device->buffers;
    for (uint64_t i = 0; buffer && i < index; i++)
        buffer = buffer->next;
    if (buffer) {
        char label[96];
        snprintf(line, size, "Leak: %s of %" PRIu64 " bytes (%s memory) is still alive as device '%s' closes.",
                 strata_buffer_label(buffer, label, sizeof label), buffer->info.bytes, kinds[buffer->info.kind],
                 device->name);
    }
    pthread_mutex_unlock(&device->lock);
    return buffer != NULL;
}

uint64_t strata_leak_report(strata_device *device) {
    char line[512];
    uint64_t count = 0;
    while (describe(device, count, line, sizeof line)) {
        strata_device_log(device, STRATA_LOG_WARNING, "%s", line);
        count++;
    }
    return count;
}
