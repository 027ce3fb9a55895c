/* strata's pools beside the raw driver: the cost of a create and destroy, alone and from several threads, and RMM's
 * random allocations. Usage: vs_pools [DEVICE] [--dry] [--once N MIB]. With --dry no call reaches the driver, and the
 * device has 139 GiB: what is left is the pool itself, and how much it takes for what is alive. With --once there is
 * one run of N random allocations of up to MIB alone, for STRATA_TRACE and strata replay. */
#include "measure.h"
#include "pool_peers.h"
#include "random_allocations.h"

#include "core/device.h"
#include "strata/opencl.h"
#include "strata/pool.h"
#include "strata/transfer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define REPETITIONS 9
#define PAIRS 200000
#define MOST_THREADS 8

static const struct pool_peer *peers;
static size_t peer_count;

static int fail(const char *what) {
    fprintf(stderr, "vs_pools: %s: %s\n", what, strata_last_error()->message);
    return 1;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* A backend whose memory is nowhere. */
static struct strata_backend_buffer dry_buffers;
static struct strata_backend dry_backend;

static enum strata_status dry_create(struct strata_native_device *device, const struct strata_native_buffer_desc *desc,
                                     struct strata_native_buffer_facts *facts, struct strata_native_buffer **buffer) {
    (void)device;
    (void)desc;
    facts->alignment = 512;
    *buffer = malloc(64);
    return STRATA_OK;
}

static enum strata_status dry_part(struct strata_native_buffer *whole, uint64_t offset, uint64_t bytes,
                                   enum strata_access access, struct strata_native_buffer **part) {
    (void)whole, (void)offset, (void)bytes, (void)access;
    *part = malloc(64);
    return STRATA_OK;
}

static void dry_destroy(struct strata_native_buffer *buffer) {
    free(buffer);
}

static void make_dry(strata_device *device) {
    dry_backend = *device->backend;
    dry_buffers = *device->backend->buffer;
    dry_buffers.create = dry_create;
    dry_buffers.part = dry_part;
    dry_buffers.destroy = dry_destroy;
    dry_buffers.commit = NULL;
    dry_backend.buffer = &dry_buffers;
    device->backend = &dry_backend;
    device->info.global_bytes = device->info.max_buffer_bytes = UINT64_C(139) << 30;
}

/* The size that was just given back. */
static double pair_ns(strata_device *device, strata_pool *pool, uint64_t bytes, unsigned pairs) {
    double begin = measure_seconds();
    for (unsigned i = 0; i < pairs; i++) {
        strata_buffer *buffer = NULL;
        if (strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .pool = pool), &buffer) != STRATA_OK)
            exit(fail("create"));
        strata_buffer_destroy(&buffer);
    }
    return (measure_seconds() - begin) * 1e9 / pairs;
}

static double raw_ns(strata_device *device, size_t bytes, unsigned pairs, bool touch) {
    cl_context context = strata_opencl_context(device);
    cl_command_queue queue = strata_opencl_queue(strata_device_queue(device));
    double begin = measure_seconds();
    for (unsigned i = 0; i < pairs; i++) {
        cl_int code;
        cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
        if (touch) {
            clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, 4, &i, 0, NULL, NULL);
            clFinish(queue);
        }
        clReleaseMemObject(memory);
    }
    return (measure_seconds() - begin) * 1e9 / pairs;
}

static double peer_ns(const struct pool_peer *peer, size_t bytes, unsigned pairs) {
    double begin = measure_seconds();
    for (unsigned i = 0; i < pairs; i++)
        peer->give(peer->take(bytes), bytes);
    return (measure_seconds() - begin) * 1e9 / pairs;
}

static void recent(strata_device *device, strata_pool *pool, bool dry) {
    static const uint64_t sizes[] = {4096, 65536, 4 * MIB};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double pooled[REPETITIONS], raw[REPETITIONS], touched[REPETITIONS];
        for (int i = 0; i < REPETITIONS; i++) {
            pooled[i] = pair_ns(device, pool, sizes[s], PAIRS);
            raw[i] = dry ? 0 : raw_ns(device, (size_t)sizes[s], 500, false);
            touched[i] = dry ? 0 : raw_ns(device, (size_t)sizes[s], 500, true);
        }
        double ours = median(pooled, REPETITIONS);
        printf("create and destroy %8llu bytes: strata %.1f ns", (unsigned long long)sizes[s], ours);
        if (!dry)
            printf(", clCreateBuffer %.0f ns (%.0fx), with its first use %.0f ns (%.0fx)", median(raw, REPETITIONS),
                   median(raw, REPETITIONS) / ours, median(touched, REPETITIONS), median(touched, REPETITIONS) / ours);
        for (size_t p = 0; p < peer_count && !dry; p++) {
            double theirs[REPETITIONS];
            for (int i = 0; i < REPETITIONS; i++)
                theirs[i] = peer_ns(&peers[p], (size_t)sizes[s], PAIRS / 10);
            printf(", %s %.0f ns (%.1fx)", peers[p].name, median(theirs, REPETITIONS),
                   median(theirs, REPETITIONS) / ours);
        }
        printf("\n");
    }
}

struct worker {
    strata_device *device;
    strata_pool *pool;
    pthread_barrier_t *barrier;
    double ns;
};

static void *work(void *user) {
    struct worker *worker = user;
    pair_ns(worker->device, worker->pool, 4096, 1000);
    pthread_barrier_wait(worker->barrier);
    worker->ns = pair_ns(worker->device, worker->pool, 4096, PAIRS);
    return NULL;
}

static void threads(strata_device *device, strata_pool *pool) {
    double single = 0;
    for (unsigned count = 1; count <= MOST_THREADS; count *= 2) {
        double rates[REPETITIONS];
        for (int i = 0; i < REPETITIONS; i++) {
            pthread_t ids[MOST_THREADS];
            struct worker workers[MOST_THREADS];
            pthread_barrier_t barrier;
            pthread_barrier_init(&barrier, NULL, count);
            rates[i] = 0;
            for (unsigned t = 0; t < count; t++) {
                workers[t] = (struct worker){device, pool, &barrier, 0};
                pthread_create(&ids[t], NULL, work, &workers[t]);
            }
            for (unsigned t = 0; t < count; t++) {
                pthread_join(ids[t], NULL);
                rates[i] += 1e3 / workers[t].ns;
            }
            pthread_barrier_destroy(&barrier);
        }
        double rate = median(rates, REPETITIONS);
        single = count == 1 ? rate : single;
        printf("%u threads on one pool: %.1f million pairs a second, %.2f of one\n", count, rate, rate / single);
    }
}

/* One run of a list; the seconds, or a negative number. */
static double replay(strata_device *device, const struct random_event *events, size_t count, strata_pool *pool,
                     strata_buffer **live, size_t *failed) {
    size_t alive = 0;
    double begin = measure_seconds();
    for (size_t i = 0; i < count; i++) {
        if (events[i].bytes) {
            live[alive] = NULL;
            if (strata_buffer_create(device, STRATA_BUFFER(.bytes = events[i].bytes, .pool = pool), &live[alive]) !=
                STRATA_OK)
                ++*failed;
            alive++;
        } else {
            strata_buffer_destroy(&live[events[i].place]);
            live[events[i].place] = live[--alive];
        }
    }
    double seconds = measure_seconds() - begin;
    while (alive)
        strata_buffer_destroy(&live[--alive]);
    return seconds;
}

/* The raw driver on the same list, each allocation placed as the pool places its blocks. */
static double replay_raw(strata_device *device, const struct random_event *events, size_t count, cl_mem *live) {
    cl_context context = strata_opencl_context(device);
    cl_command_queue queue = strata_opencl_queue(strata_device_queue(device));
    size_t alive = 0;
    double begin = measure_seconds();
    for (size_t i = 0; i < count; i++) {
        cl_int code;
        if (events[i].bytes) {
            live[alive] = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)events[i].bytes, NULL, &code);
            if (events[i].bytes >= 4)
                clEnqueueWriteBuffer(queue, live[alive], CL_TRUE, 0, 4, &code, 0, NULL, NULL);
            alive++;
        } else {
            clReleaseMemObject(live[events[i].place]);
            live[events[i].place] = live[--alive];
        }
    }
    double seconds = measure_seconds() - begin;
    while (alive)
        clReleaseMemObject(live[--alive]);
    return seconds;
}

static double replay_peer(const struct pool_peer *peer, const struct random_event *events, size_t count, void **live,
                          uint64_t *sizes, size_t *failed) {
    size_t alive = 0;
    double begin = measure_seconds();
    for (size_t i = 0; i < count; i++) {
        if (events[i].bytes) {
            live[alive] = peer->take((size_t)events[i].bytes);
            *failed += live[alive] == NULL;
            sizes[alive++] = events[i].bytes;
        } else {
            size_t place = events[i].place;
            if (live[place])
                peer->give(live[place], (size_t)sizes[place]);
            live[place] = live[--alive];
            sizes[place] = sizes[alive];
        }
    }
    double seconds = measure_seconds() - begin;
    while (alive--)
        if (live[alive])
            peer->give(live[alive], (size_t)sizes[alive]);
    return seconds;
}

/* The peers that keep what they took: the first of the runs warms them. */
static void random_peers(const struct random_event *events, size_t count, size_t allocations, double warm) {
    void **live = calloc(allocations + 1, sizeof *live);
    uint64_t *sizes = calloc(allocations + 1, sizeof *sizes);
    for (size_t p = 0; p < peer_count && live && sizes; p++) {
        double seconds[3];
        size_t failed = 0;
        for (int i = 0; i < 4; i++)
            seconds[i > 0 ? i - 1 : 0] = replay_peer(&peers[p], events, count, live, sizes, &failed);
        printf("    %-16s %9.3f ms (%.2fx of warm strata), %zu failed\n", peers[p].name, median(seconds, 3) * 1e3,
               median(seconds, 3) / warm, failed);
    }
    free(live);
    free(sizes);
}

static void random_case(strata_device *device, size_t allocations, size_t most, bool dry) {
    struct random_event *events = NULL;
    uint64_t cap = 16000 * MIB;
    size_t count = random_allocations(allocations, most, cap, &events), failed = 0;
    strata_buffer **live = calloc(allocations + 1, sizeof *live);
    cl_mem *raw = calloc(allocations + 1, sizeof *raw);
    double seconds[5], driver[5] = {0};
    struct strata_pool_stats stats = {.size = sizeof stats};
    if (!count || !live || !raw)
        exit(1);
    for (int i = 0; i < 5; i++) {
        strata_pool *pool = NULL;
        if (strata_pool_create(device, NULL, &pool) != STRATA_OK)
            exit(fail("pool"));
        if (i == 4) /* warm: the memory is there already */
            replay(device, events, count, pool, live, &failed);
        seconds[i] = replay(device, events, count, pool, live, &failed);
        strata_pool_get_stats(pool, &stats);
        strata_pool_destroy(&pool);
        driver[i] = dry || allocations > 1000 || i > 2 ? 0 : replay_raw(device, events, count, raw);
    }
    double warm = seconds[4];
    printf("%6zu up to %4zu MiB: %9.3f ms, warm %9.3f", allocations, most, median(seconds, 4) * 1e3, warm * 1e3);
    if (driver[0] > 0)
        printf(", driver %9.3f (%.1fx)", median(driver, 3) * 1e3, median(driver, 3) / median(seconds, 4));
    printf("; peak %8.1f MiB, reserved over it %.3f, %zu failed\n", (double)stats.peak_bytes / (double)MIB,
           (double)stats.peak_reserved_bytes / (double)stats.peak_bytes, failed);
    if (!dry)
        random_peers(events, count, allocations, warm);
    free(events);
    free(live);
    free(raw);
}

/* One run of a list, by a pool of its own. */
static void once(strata_device *device, size_t allocations, size_t most) {
    struct random_event *events = NULL;
    struct strata_pool_stats stats = {.size = sizeof stats};
    size_t count = random_allocations(allocations, most, 16000 * MIB, &events), failed = 0;
    strata_buffer **live = calloc(allocations + 1, sizeof *live);
    strata_pool *pool = NULL;
    if (!count || !live || strata_pool_create(device, NULL, &pool) != STRATA_OK)
        exit(fail("once"));
    double seconds = replay(device, events, count, pool, live, &failed);
    strata_pool_get_stats(pool, &stats);
    strata_pool_destroy(&pool);
    printf("%zu up to %zu MiB: %.3f ms; peak %llu, reserved %llu, %.3f of it, %zu failed\n", allocations, most,
           seconds * 1e3, (unsigned long long)stats.peak_bytes, (unsigned long long)stats.peak_reserved_bytes,
           (double)stats.peak_reserved_bytes / (double)stats.peak_bytes, failed);
    free(events);
    free(live);
}

int main(int argc, char **argv) {
    const char *selector = NULL;
    bool dry = false;
    size_t allocations = 0, most = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--dry") == 0) {
            dry = true;
        } else if (strcmp(argv[i], "--once") == 0 && i + 2 < argc) {
            allocations = strtoul(argv[++i], NULL, 10);
            most = strtoul(argv[++i], NULL, 10);
        } else {
            selector = argv[i];
        }
    strata_device *device = NULL;
    strata_pool *pool = NULL;
    if (strata_device_open(selector, NULL, &device) != STRATA_OK)
        return fail("device");
    const struct strata_backend *backend = device->backend;
    peer_count = dry ? 0 : pool_peers_open(&peers);
    if (dry)
        make_dry(device);
    if (allocations) {
        once(device, allocations, most);
        device->backend = backend;
        strata_device_close(&device);
        return 0;
    }
    if (strata_pool_create(device, NULL, &pool) != STRATA_OK)
        return fail("pool");
    printf("%s, %s%s\n", strata_device_get_info(device)->name, strata_device_get_info(device)->driver_version,
           dry ? ", without the driver" : "");
    recent(device, pool, dry);
    threads(device, pool);
    strata_pool_destroy(&pool);
    static const struct {
        size_t allocations, most;
    } cases[] = {{1000, 1},  {1000, 4},  {1000, 64},  {1000, 256}, {1000, 1024}, {1000, 4096},
                 {10000, 1}, {10000, 4}, {10000, 64}, {100000, 1}, {100000, 4},  {100000, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].most * MIB <= strata_device_get_info(device)->max_buffer_bytes &&
            strata_device_get_info(device)->global_bytes > UINT64_C(40) << 30)
            random_case(device, cases[i].allocations, cases[i].most, dry);
    device->backend = backend;
    strata_device_close(&device);
    return 0;
}
