/* What the primitives keep on a device. */
#include "primitives/state.h"
#include "core/queue.h"
#include "core/quirks.h"
#include "strata/transfer.h"

#include <stddef.h>
#include <string.h>

#define RESULT_BYTES 256
#define LEAST_TICKET_BYTES 65536
#define LANDINGS 64

struct built {
    char *file, *options;
    strata_program *program;
    struct built *next;
};

struct kept {
    uint32_t key;
    strata_kernel *kernel; /* of one of the programs */
    struct kept *next;
};

/* By the queue's slot: a queue that takes over the slot of one that has ended finds that one's work done. */
struct scratch {
    strata_buffer *memory, *result, *tickets;
    uint32_t tag; /* the last that was given out for the tickets */
};

struct state {
    strata_device *device;
    struct built *programs;
    struct kept *kernels;
    struct scratch scratch[STRATA_QUEUE_SLOTS];
    strata_buffer *landings; /* LANDINGS places of 8 bytes */
    uint64_t landings_taken; /* a bit for each */
};

static void destroy(void *pointer) {
    struct state *state = pointer;
    const struct strata_allocator *hooks = &state->device->hooks;
    while (state->programs) {
        struct built *built = state->programs;
        state->programs = built->next;
        strata_program_destroy(&built->program);
        strata_host_release(hooks, built->file);
        strata_host_release(hooks, built->options);
        strata_host_release(hooks, built);
    }
    while (state->kernels) {
        struct kept *kept = state->kernels;
        state->kernels = kept->next;
        strata_host_release(hooks, kept);
    }
    for (unsigned slot = 0; slot < STRATA_QUEUE_SLOTS; slot++) {
        strata_buffer_destroy(&state->scratch[slot].memory);
        strata_buffer_destroy(&state->scratch[slot].result);
        strata_buffer_destroy(&state->scratch[slot].tickets);
    }
    strata_buffer_destroy(&state->landings);
    strata_host_release(hooks, state);
}

enum strata_status strata_primitives_enter(strata_device *device) {
    pthread_mutex_lock(&device->primitives_lock);
    if (device->primitives)
        return STRATA_OK;
    struct state *state = strata_host_allocate(&device->hooks, sizeof *state);
    if (!state) {
        pthread_mutex_unlock(&device->primitives_lock);
        return strata_fail_host_memory(sizeof *state, "the primitives");
    }
    state->device = device;
    device->primitives = state;
    device->primitives_destroy = destroy;
    return STRATA_OK;
}

void strata_primitives_leave(strata_device *device) {
    pthread_mutex_unlock(&device->primitives_lock);
}

static enum strata_status build(struct state *state, const char *file, const char *options, struct built **result) {
    const struct strata_allocator *hooks = &state->device->hooks;
    struct built *built = strata_host_allocate(hooks, sizeof *built);
    enum strata_status status = built ? STRATA_OK : strata_fail_host_memory(sizeof *built, "a primitive");
    if (status == STRATA_OK) {
        built->file = strata_host_copy_string(hooks, file, strlen(file));
        built->options = strata_host_copy_string(hooks, options, strlen(options));
        if (!built->file || !built->options)
            status = strata_fail_host_memory(strlen(options), "a primitive");
    }
    if (status == STRATA_OK)
        status =
            strata_program_build(state->device, STRATA_PROGRAM(.embedded = file, .options = options), &built->program);
    if (status == STRATA_OK) {
        built->next = state->programs;
        *result = state->programs = built;
    } else if (built) {
        strata_host_release(hooks, built->file);
        strata_host_release(hooks, built->options);
        strata_host_release(hooks, built);
    }
    return status;
}

strata_kernel *strata_primitives_find(const strata_device *device, uint32_t key) {
    const struct kept *kept = ((const struct state *)device->primitives)->kernels;
    while (kept && kept->key != key)
        kept = kept->next;
    return kept ? kept->kernel : NULL;
}

enum strata_status strata_primitives_build(strata_device *device, const char *file, const char *options,
                                           const char *name, uint32_t key, strata_kernel **kernel) {
    struct state *state = device->primitives;
    struct built *built = state->programs;
    while (built && (strcmp(built->options, options) != 0 || strcmp(built->file, file) != 0))
        built = built->next;
    enum strata_status status = built ? STRATA_OK : build(state, file, options, &built);
    if (status == STRATA_OK)
        status = strata_program_kernel(built->program, name, kernel);
    struct kept *kept = status == STRATA_OK ? strata_host_allocate(&device->hooks, sizeof *kept) : NULL;
    if (kept) { /* without it, the next call just takes longer */
        *kept = (struct kept){key, *kernel, state->kernels};
        state->kernels = kept;
    }
    return status;
}

enum strata_status strata_primitives_scratch(strata_queue *queue, uint64_t bytes, strata_buffer **result) {
    struct scratch *scratch = &((struct state *)queue->device->primitives)->scratch[queue->slot];
    if (scratch->memory && strata_buffer_get_info(scratch->memory)->bytes < bytes)
        strata_buffer_destroy(&scratch->memory);
    enum strata_status status = STRATA_OK;
    if (!scratch->memory)
        status = strata_buffer_create(queue->device, STRATA_BUFFER(.bytes = bytes, .name = "strata: scratch"),
                                      &scratch->memory);
    *result = scratch->memory;
    return status;
}

enum strata_status strata_primitives_result(strata_queue *queue, strata_buffer **result) {
    struct scratch *scratch = &((struct state *)queue->device->primitives)->scratch[queue->slot];
    enum strata_status status = STRATA_OK;
    if (!scratch->result)
        status = strata_buffer_create(queue->device, STRATA_BUFFER(.bytes = RESULT_BYTES, .name = "strata: result"),
                                      &scratch->result);
    *result = scratch->result;
    return status;
}

/* The next power of two, so that growing input does not ask for new tickets each time. */
static uint64_t rounded_up(uint64_t bytes) {
    uint64_t size = LEAST_TICKET_BYTES;
    while (size < bytes)
        size *= 2;
    return size;
}

enum strata_status strata_primitives_tickets(strata_queue *queue, uint64_t bytes, strata_buffer **tickets,
                                             uint32_t *tag) {
    struct scratch *scratch = &((struct state *)queue->device->primitives)->scratch[queue->slot];
    const uint32_t zero = 0;
    enum strata_status status = STRATA_OK;
    if (scratch->tickets && (strata_buffer_get_info(scratch->tickets)->bytes < bytes || scratch->tag == UINT32_MAX))
        strata_buffer_destroy(&scratch->tickets);
    if (!scratch->tickets) {
        scratch->tag = 0;
        status = strata_buffer_create(
            queue->device, STRATA_BUFFER(.bytes = rounded_up(bytes), .name = "strata: tickets"), &scratch->tickets);
        if (status == STRATA_OK)
            status = strata_fill_async(queue, strata_all(scratch->tickets), &zero, sizeof zero, NULL);
        if (status != STRATA_OK)
            strata_buffer_destroy(&scratch->tickets);
    }
    *tickets = scratch->tickets;
    *tag = ++scratch->tag;
    return status;
}

void strata_primitives_drop_tickets(strata_queue *queue) {
    strata_buffer_destroy(&((struct state *)queue->device->primitives)->scratch[queue->slot].tickets);
}

void *strata_primitives_landing(strata_device *device) {
    struct state *state = device->primitives;
    if (!strata_quirks_of(device->info.platform)->pinned_is_pinned || state->landings_taken == UINT64_MAX)
        return NULL;
    if (!state->landings && strata_buffer_create(device,
                                                 STRATA_BUFFER(.bytes = LANDINGS * sizeof(uint64_t),
                                                               .kind = STRATA_PINNED, .name = "strata: results"),
                                                 &state->landings) != STRATA_OK)
        return NULL; /* the result takes the slow way */
    unsigned place = 0;
    while (state->landings_taken >> place & 1)
        place++;
    state->landings_taken |= UINT64_C(1) << place;
    return (uint64_t *)strata_buffer_get_info(state->landings)->host_pointer + place;
}

void strata_primitives_landed(strata_device *device, const void *place) {
    struct state *state = device->primitives;
    pthread_mutex_lock(&device->primitives_lock);
    ptrdiff_t index = (const uint64_t *)place - (const uint64_t *)strata_buffer_get_info(state->landings)->host_pointer;
    state->landings_taken &= ~(UINT64_C(1) << index);
    pthread_mutex_unlock(&device->primitives_lock);
}
