/* Between host and device: each kind of host memory, in both directions. Pageable and pinned memory is copied. Wrapped
 * and shared memory is handed over. Where the hand-over takes longer for more bytes, they are moved in it, and that is
 * the figure. Where it does not, nothing moves or they move when they are used: then the figure is that of a kernel
 * that goes through the host's memory, the hand-over included. */
#include "cli/bench.h"

#include <stdio.h>
#include <string.h>

#define DATA STRATA_BENCH_WORDS(5)

/* The least distance between two pages that a device or host may move on its own. */
#define PAGE_WORDS (STRATA_PAGE_BYTES / 4)

/* A hand-over of everything that takes this many times as long as that of one page has moved the bytes. */
#define MOVED 4

/* What no link does, in bytes a second: a hand-over that is faster has moved nothing. */
#define IMPOSSIBLE_LINK 2e12

/* A kernel that takes this many times as long as without the hand-over has waited for the bytes. */
#define WAITED 1.5

enum direction { TO_DEVICE, FROM_DEVICE };

enum { PAGEABLE = 0x100 }; /* beside enum strata_kind */

#define CODE(kind, direction) ((uint32_t)(kind) << 1 | (uint32_t)(direction))

/* The host's end and the device's. */
struct exchange {
    struct strata_bench *bench;
    enum direction direction;
    uint64_t bytes;
    void *block;           /* what the host allocated, or NULL */
    void *host;            /* the host's memory; of wrapped and shared memory while the bracket is open */
    strata_buffer *buffer; /* pinned, wrapped and shared memory */
    strata_slice part;     /* of it, that is handed over */
    bool is_open;          /* the host's bracket over the part */
    bool by_kernel;        /* the time has a kernel's pass over the part in it */
    bool comes_when_read;  /* from the device, the time has the host's reading in it */
};

/* The device's end of a copy. */
static strata_slice device_end(const struct exchange *exchange) {
    return strata_sub(strata_all(exchange->bench->input), 0, exchange->bytes);
}

static enum strata_status put_copy(void *user, strata_event **first, strata_event **last) {
    const struct exchange *exchange = user;
    strata_queue *queue = exchange->bench->queue;
    strata_slice device = device_end(exchange);
    strata_event **event = last != NULL ? last : first;
    bool down = exchange->direction == TO_DEVICE;
    if (exchange->buffer != NULL)
        return down ? strata_copy_async(queue, device, strata_all(exchange->buffer), event)
                    : strata_copy_async(queue, strata_all(exchange->buffer), device, event);
    return down ? strata_write_async(queue, device, exchange->host, event)
                : strata_read_async(queue, device, exchange->host, event);
}

static enum strata_status open_bracket(struct exchange *exchange, enum strata_map_access access) {
    enum strata_status status = strata_host_begin(exchange->bench->queue, exchange->part, access, &exchange->host);
    exchange->is_open = status == STRATA_OK;
    return status;
}

static enum strata_status close_bracket(struct exchange *exchange) {
    if (!exchange->is_open)
        return STRATA_OK;
    exchange->is_open = false;
    return strata_host_end(exchange->bench->queue, exchange->part);
}

/* Writes a word of each page, so that there is something to move. */
static void touch(const struct exchange *exchange) {
    volatile uint32_t *words = exchange->host;
    for (uint64_t i = 0; i < exchange->part.bytes / 4; i += PAGE_WORDS)
        words[i] = words[i];
}

/* Memory that is coherent over a link may come to the host when it is read, and no sooner. */
static void read_all(const struct exchange *exchange) {
    volatile const uint64_t *words = exchange->host;
    for (uint64_t i = 0; i < exchange->part.bytes / 8; i++)
        (void)words[i];
}

static enum strata_status put_kernel(void *user, strata_event **first, strata_event **last) {
    struct exchange *exchange = user;
    (void)first;
    (void)last;
    return exchange->direction == TO_DEVICE ? strata_bench_put_read(exchange->bench, exchange->part, NULL)
                                            : strata_bench_put_write(exchange->bench, exchange->part, DATA, NULL);
}

/* To the device: the host has written. From the device: a kernel has, or is about to. */
static enum strata_status before_hand_over(void *user) {
    struct exchange *exchange = user;
    enum strata_status status = STRATA_OK;
    if (exchange->direction == FROM_DEVICE) {
        status = close_bracket(exchange);
        return status == STRATA_OK && !exchange->by_kernel ? put_kernel(user, NULL, NULL) : status;
    }
    if (exchange->is_open)
        return STRATA_OK;
    status = open_bracket(exchange, STRATA_MAP_WRITE);
    if (status == STRATA_OK)
        touch(exchange);
    return status;
}

static enum strata_status put_hand_over(void *user, strata_event **first, strata_event **last) {
    struct exchange *exchange = user;
    enum strata_status status = STRATA_OK;
    if (exchange->direction == TO_DEVICE) {
        status = close_bracket(exchange);
        return status == STRATA_OK && exchange->by_kernel ? put_kernel(user, first, last) : status;
    }
    if (exchange->by_kernel)
        status = put_kernel(user, first, last);
    if (status == STRATA_OK)
        status = open_bracket(exchange, STRATA_MAP_READ);
    if (status == STRATA_OK && exchange->comes_when_read)
        read_all(exchange);
    return status;
}

/* Makes the host's end. Its pages are touched here: a first touch costs more than any copy. */
static enum strata_status make_host_end(struct exchange *exchange, uint32_t kind) {
    struct strata_buffer_desc desc = {
        .size = sizeof desc, .bytes = exchange->bytes, .name = "bench host memory", .kind = (enum strata_kind)kind};
    if (kind == PAGEABLE || kind == STRATA_WRAPPED) {
        exchange->host = strata_host_allocate_pages(NULL, exchange->bytes, &exchange->block);
        if (exchange->host == NULL)
            return strata_fail_host_memory(exchange->bytes, "the host's end");
        memset(exchange->host, 0x55, (size_t)exchange->bytes);
        desc.host_pointer = exchange->host;
    }
    if (kind == PAGEABLE)
        return STRATA_OK;
    enum strata_status status = strata_buffer_create(exchange->bench->device, &desc, &exchange->buffer);
    if (status != STRATA_OK)
        return status;
    const struct strata_buffer_info *info = strata_buffer_get_info(exchange->buffer);
    exchange->part = strata_all(exchange->buffer);
    exchange->comes_when_read = info->mode == STRATA_SHARED_COHERENT && exchange->bench->info->unified != STRATA_YES;
    if (kind == STRATA_PINNED) {
        exchange->host = info->host_pointer;
        memset(exchange->host, 0x55, (size_t)exchange->bytes);
    }
    return STRATA_OK;
}

/* Puts the data where it starts from, and something else where it is to arrive. */
static enum strata_status prepare(struct exchange *exchange, bool brackets) {
    enum strata_status status = STRATA_OK;
    if (brackets)
        status = open_bracket(exchange, STRATA_MAP_OVERWRITE);
    if (status != STRATA_OK)
        return status;
    bool down = exchange->direction == TO_DEVICE;
    strata_bench_fill(exchange->host, exchange->bytes / 4, down ? DATA : STRATA_BENCH_WORDS(6));
    if (brackets)
        return STRATA_OK;
    return strata_bench_hold(exchange->bench, down ? STRATA_BENCH_WORDS(7) : DATA);
}

/* Finds out whether the hand-over itself moves the bytes, where the runtime does not tell. `pass` is the hand-over. */
static enum strata_status probe_span(struct exchange *exchange, const struct strata_bench_pass *pass,
                                     struct strata_bench_figure *figure) {
    struct strata_bench_pass kernel = {.put = put_kernel, .user = exchange};
    double all = 0, page = 0, alone = 0, together = 0;
    enum strata_status status = strata_bench_probe(exchange->bench, pass, &all);
    if (status == STRATA_OK)
        status = close_bracket(exchange);
    exchange->part.bytes = STRATA_PAGE_BYTES;
    if (status == STRATA_OK)
        status = strata_bench_probe(exchange->bench, pass, &page);
    if (status == STRATA_OK)
        status = close_bracket(exchange);
    exchange->part.bytes = exchange->bytes;
    if (status != STRATA_OK)
        return status;
    exchange->by_kernel = all < MOVED * page || all * IMPOSSIBLE_LINK < (double)exchange->bytes;
    if (exchange->by_kernel)
        status = strata_bench_probe(exchange->bench, &kernel, &alone);
    if (status == STRATA_OK && exchange->by_kernel)
        status = strata_bench_probe(exchange->bench, pass, &together);
    figure->in_place = exchange->by_kernel && together < WAITED * alone;
    return status;
}

/* Chooses what is measured, and says so. */
static enum strata_status choose_span(struct exchange *exchange, const struct strata_bench_pass *pass,
                                      struct strata_bench_figure *figure) {
    static const char *const modes[] = {"", "mirrored", "mapped", "coherent"};
    const struct strata_buffer_info *info = strata_buffer_get_info(exchange->buffer);
    bool unified = exchange->bench->info->unified == STRATA_YES;
    enum strata_status status = STRATA_OK;
    if (info->zero_copy == STRATA_YES || (info->mode == STRATA_SHARED_COHERENT && unified))
        figure->in_place = exchange->by_kernel = true;
    else if (info->mode != STRATA_SHARED_MIRRORED)
        status = probe_span(exchange, pass, figure);
    const char *how = figure->in_place ? "in place" : exchange->by_kernel ? "on use" : "";
    const char *mode = modes[info->mode];
    snprintf(figure->detail, sizeof figure->detail, "%s%s%s", mode, mode[0] != '\0' && how[0] != '\0' ? " " : "", how);
    if (!exchange->by_kernel)
        figure->convention = "bytes once: the hand-over, in which they move";
    else if (exchange->direction == TO_DEVICE)
        figure->convention = "bytes once: the hand-over, and a kernel that reads them";
    else
        figure->convention = "bytes once: a kernel that writes them, and the hand-over";
    return status;
}

static enum strata_status check(struct exchange *exchange, bool brackets, struct strata_bench_figure *figure) {
    struct strata_bench *bench = exchange->bench;
    if (exchange->direction == FROM_DEVICE)
        return strata_bench_check_host(figure, exchange->host, exchange->bytes, DATA);
    if (!brackets)
        return strata_bench_check_slice(bench, figure, device_end(exchange), DATA);
    enum strata_status status = exchange->by_kernel ? STRATA_OK : put_kernel(exchange, NULL, NULL);
    struct strata_bench_sums sums = strata_bench_read_sums(bench, exchange->bytes, DATA);
    if (status == STRATA_OK)
        status = strata_bench_check_sums(bench, figure, &sums);
    return status;
}

static enum strata_status measure_exchange(struct strata_bench *bench, const struct strata_bench_case *what,
                                           struct strata_bench_figure *figure) {
    uint32_t kind = what->parameter >> 1;
    bool brackets = kind == STRATA_WRAPPED || kind == STRATA_SHARED;
    struct exchange exchange = {
        .bench = bench, .direction = (enum direction)(what->parameter & 1), .bytes = bench->exchange_bytes};
    struct strata_bench_pass pass = {.before = brackets ? before_hand_over : NULL,
                                     .put = brackets ? put_hand_over : put_copy,
                                     .user = &exchange,
                                     .work = exchange.bytes,
                                     .has_events = !brackets};
    enum strata_status status = make_host_end(&exchange, kind);
    if (status == STRATA_OK)
        status = prepare(&exchange, brackets);
    if (status == STRATA_OK && brackets)
        status = choose_span(&exchange, &pass, figure);
    if (status == STRATA_OK)
        status = strata_bench_clear_sums(bench);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (!brackets && exchange.direction == TO_DEVICE)
        bench->held = (struct strata_bench_data){0};
    if (status == STRATA_OK)
        status = check(&exchange, brackets, figure);
    close_bracket(&exchange);
    strata_buffer_destroy(&exchange.buffer);
    strata_queue_finish(bench->queue);
    strata_host_release(NULL, exchange.block);
    return status;
}

/* Both ways at once, over two queues. */
struct duplex {
    struct exchange down, up;
    strata_queue *second;
};

static enum strata_status put_both(void *user, strata_event **first, strata_event **last) {
    struct duplex *duplex = user;
    strata_queue *queue = duplex->down.bench->queue;
    strata_event *event = NULL;
    (void)first;
    (void)last;
    enum strata_status status =
        duplex->up.buffer != NULL
            ? strata_copy_async(duplex->second, strata_all(duplex->up.buffer),
                                strata_sub(strata_all(duplex->up.bench->output), 0, duplex->up.bytes), &event)
            : strata_read_async(duplex->second, strata_sub(strata_all(duplex->up.bench->output), 0, duplex->up.bytes),
                                duplex->up.host, &event);
    if (status == STRATA_OK)
        status = strata_queue_flush(duplex->second);
    if (status == STRATA_OK)
        status = put_copy(&duplex->down, NULL, NULL);
    if (status == STRATA_OK)
        status = strata_queue_flush(queue);
    if (status == STRATA_OK)
        status = strata_queue_wait(queue, event);
    strata_event_destroy(&event);
    return status;
}

static void release_end(struct exchange *exchange) {
    strata_buffer_destroy(&exchange->buffer);
    strata_host_release(NULL, exchange->block);
}

static enum strata_status check_both(const struct duplex *duplex, struct strata_bench_figure *figure) {
    struct strata_bench *bench = duplex->down.bench;
    enum strata_status status = strata_queue_finish(duplex->second);
    if (status == STRATA_OK)
        status = strata_bench_check_slice(bench, figure, device_end(&duplex->down), DATA);
    if (status == STRATA_OK)
        status = strata_bench_check_host(figure, duplex->up.host, duplex->up.bytes, STRATA_BENCH_WORDS(7));
    return status;
}

static enum strata_status measure_both(struct strata_bench *bench, const struct strata_bench_case *what,
                                       struct strata_bench_figure *figure) {
    struct exchange end = {.bench = bench, .bytes = bench->exchange_bytes};
    struct duplex duplex = {.down = end, .up = end};
    duplex.up.direction = FROM_DEVICE;
    struct strata_bench_pass pass = {.put = put_both, .user = &duplex, .work = 2 * end.bytes};
    enum strata_status status = strata_queue_create(bench->device, NULL, &duplex.second);
    if (status == STRATA_OK)
        status = make_host_end(&duplex.down, what->parameter >> 1);
    if (status == STRATA_OK)
        status = make_host_end(&duplex.up, what->parameter >> 1);
    if (status == STRATA_OK)
        status = strata_bench_put_write(bench, strata_all(bench->output), STRATA_BENCH_WORDS(7), NULL);
    if (status == STRATA_OK)
        status = strata_queue_finish(bench->queue);
    if (status == STRATA_OK)
        status = prepare(&duplex.down, false);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    bench->held = (struct strata_bench_data){0};
    if (status == STRATA_OK)
        status = check_both(&duplex, figure);
    strata_queue_destroy(&duplex.second);
    release_end(&duplex.down);
    release_end(&duplex.up);
    return status;
}

/* Nothing to do, but a pass is a round of its own then, and its wait counts. */
static enum strata_status before_copy(void *user) {
    (void)user;
    return STRATA_OK;
}

/* A copy of a size, from the call to its end; the parameter has the logarithm above the code. */
static enum strata_status measure_size(struct strata_bench *bench, const struct strata_bench_case *what,
                                       struct strata_bench_figure *figure) {
    struct exchange exchange = {.bench = bench,
                                .direction = (enum direction)(what->parameter & 1),
                                .bytes = UINT64_C(1) << (what->parameter >> 16)};
    struct strata_bench_pass pass = {.before = before_copy, .put = put_copy, .user = &exchange, .work = exchange.bytes};
    if (exchange.bytes > bench->bytes || exchange.bytes > 4 * bench->exchange_bytes)
        return strata_fail(STRATA_UNSUPPORTED, "more than the bench takes of this device's memory");
    enum strata_status status = make_host_end(&exchange, (what->parameter & 0xffff) >> 1);
    if (status == STRATA_OK)
        status = prepare(&exchange, false);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (exchange.direction == TO_DEVICE)
        bench->held = (struct strata_bench_data){0};
    if (status == STRATA_OK)
        status = check(&exchange, false, figure);
    strata_queue_finish(bench->queue);
    release_end(&exchange);
    return status;
}

#define CASE(kind, name, direction, id, words)                                                                         \
    {                                                                                                                  \
        name "." id, name, words, "bytes once: a copy " words, CODE(kind, direction), STRATA_BENCH_GBPS, false,        \
            measure_exchange                                                                                           \
    }
#define BOTH_WAYS(kind, name)                                                                                          \
    CASE(kind, name, TO_DEVICE, "to-device", "to device"), CASE(kind, name, FROM_DEVICE, "from-device", "from device")
#define AT_ONCE(kind, name)                                                                                            \
    {                                                                                                                  \
        name ".both-ways", name, "both ways", "bytes of both: two copies at once", CODE(kind, TO_DEVICE),              \
            STRATA_BENCH_GBPS, false, measure_both                                                                     \
    }

static const struct strata_bench_case cases[] = {
    BOTH_WAYS(PAGEABLE, "pageable"),  AT_ONCE(PAGEABLE, "pageable"),        BOTH_WAYS(STRATA_PINNED, "pinned"),
    AT_ONCE(STRATA_PINNED, "pinned"), BOTH_WAYS(STRATA_WRAPPED, "wrapped"), BOTH_WAYS(STRATA_SHARED, "shared")};

const struct strata_bench_topic strata_bench_exchange = {
    .name = "exchange",
    .title = "host and device",
    .cases = cases,
    .count = sizeof cases / sizeof cases[0],
};

#define SIZE_CASE(name, kind, direction, words, bits)                                                                  \
    {                                                                                                                  \
        "size." name "." words, "size", words, "bytes once: one copy of " words ", with its launch and its wait",      \
            (uint32_t)bits << 16 | CODE(kind, direction), STRATA_BENCH_GBPS, true, measure_size                        \
    }
#define SIZE_TOPIC(variable, cases_name, id, kind, direction, label)                                                   \
    static const struct strata_bench_case cases_name[] = {                                                             \
        SIZE_CASE(id, kind, direction, "4KiB", 12),   SIZE_CASE(id, kind, direction, "16KiB", 14),                     \
        SIZE_CASE(id, kind, direction, "64KiB", 16),  SIZE_CASE(id, kind, direction, "256KiB", 18),                    \
        SIZE_CASE(id, kind, direction, "1MiB", 20),   SIZE_CASE(id, kind, direction, "4MiB", 22),                      \
        SIZE_CASE(id, kind, direction, "16MiB", 24),  SIZE_CASE(id, kind, direction, "64MiB", 26),                     \
        SIZE_CASE(id, kind, direction, "256MiB", 28), SIZE_CASE(id, kind, direction, "1GiB", 30)};                     \
    const struct strata_bench_topic variable = {.name = "size-" id,                                                    \
                                                .title = "copies of each size",                                        \
                                                .axis = label,                                                         \
                                                .row = "GB/s",                                                         \
                                                .has_half = true,                                                      \
                                                .cases = cases_name,                                                   \
                                                .count = sizeof cases_name / sizeof cases_name[0]}
SIZE_TOPIC(strata_bench_pinned_to_device, pinned_down, "pinned-to-device", STRATA_PINNED, TO_DEVICE,
           "pinned to device");
SIZE_TOPIC(strata_bench_pinned_from_device, pinned_up, "pinned-from-device", STRATA_PINNED, FROM_DEVICE,
           "pinned from device");
SIZE_TOPIC(strata_bench_pageable_to_device, pageable_down, "pageable-to-device", PAGEABLE, TO_DEVICE,
           "pageable to device");
SIZE_TOPIC(strata_bench_pageable_from_device, pageable_up, "pageable-from-device", PAGEABLE, FROM_DEVICE,
           "pageable from device");
