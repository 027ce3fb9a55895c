/* The offset allocator: descs and wrong arguments, numbers of pieces, host memory that fails, what it tells of itself,
 * and that its check of itself finds damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/offsets.h"

#define MIB (UINT64_C(1) << 20)

/* Host memory that counts, and fails from the n-th call on, once or for ever. */
struct host {
    unsigned calls, fail_at;
    bool for_ever;
    unsigned live;
};

static void *host_allocate(size_t bytes, void *user) {
    struct host *host = user;
    unsigned call = ++host->calls;
    if (host->fail_at != 0 && (call == host->fail_at || (host->for_ever && call > host->fail_at)))
        return NULL;
    host->live++;
    return malloc(bytes);
}

static void host_release(void *pointer, void *user) {
    struct host *host = user;
    host->live--;
    free(pointer);
}

static strata_offsets *make(uint64_t bytes, uint64_t granularity, uint64_t pieces,
                            const struct strata_allocator *allocator) {
    strata_offsets *offsets = NULL;
    assert_int_equal(strata_offsets_create(STRATA_OFFSETS(.bytes = bytes, .granularity = granularity, .pieces = pieces,
                                                          .allocator = allocator),
                                           &offsets),
                     STRATA_OK);
    return offsets;
}

static struct strata_range take(strata_offsets *offsets, uint64_t bytes) {
    struct strata_range range;
    assert_int_equal(strata_offsets_allocate(offsets, bytes, 0, &range), STRATA_OK);
    return range;
}

static struct strata_offsets_stats stats_of(const strata_offsets *offsets) {
    struct strata_offsets_stats stats = {.size = sizeof stats};
    assert_int_equal(strata_offsets_stats(offsets, &stats), STRATA_OK);
    return stats;
}

static void assert_says(enum strata_status status, enum strata_status expected, const char *part) {
    assert_int_equal(status, expected);
    assert_int_equal(strata_last_error()->status, expected);
    if (!strstr(strata_last_error()->message, part))
        fail_msg("'%s' is not in '%s'", part, strata_last_error()->message);
}

static void wrong_arguments(void **state) {
    (void)state;
    strata_offsets *offsets = (strata_offsets *)1;
    struct strata_range range;
    assert_says(strata_offsets_create(STRATA_OFFSETS(.bytes = 10, .granularity = 3), &offsets), STRATA_INVALID_ARGUMENT,
                "granularity of an offset allocator is 3");
    assert_null(offsets);
    assert_says(strata_offsets_create(STRATA_OFFSETS(.bytes = 10), NULL), STRATA_INVALID_ARGUMENT, "no place");
    struct strata_offsets_desc desc;
    strata_offsets_desc_init(&desc);
    assert_true(desc.size == sizeof desc && desc.bytes == 0 && !desc.allocator);
    desc.size = 1;
    assert_says(strata_offsets_create(&desc, &offsets), STRATA_INVALID_ARGUMENT, "strata_offsets_desc");
    offsets = make(1000, 0, 0, NULL);
    assert_says(strata_offsets_allocate(offsets, 1, 3, &range), STRATA_INVALID_ARGUMENT, "alignment 3");
    assert_true(range.piece == 0 && range.offset == UINT64_MAX);
    assert_says(strata_offsets_allocate(offsets, 1, 0, NULL), STRATA_INVALID_ARGUMENT, "no place");
    assert_says(strata_offsets_allocate(NULL, 1, 0, &range), STRATA_INVALID_ARGUMENT, "no allocator");
    assert_says(strata_offsets_free(NULL, 1), STRATA_INVALID_ARGUMENT, "no allocator");
    assert_says(strata_offsets_set_user(NULL, 1, NULL), STRATA_INVALID_ARGUMENT, "no allocator");
    assert_says(strata_offsets_stats(NULL, NULL), STRATA_INVALID_ARGUMENT, "no allocator");
    assert_says(strata_offsets_stats(offsets, NULL), STRATA_INVALID_ARGUMENT, "size member");
    assert_says(strata_offsets_stats(offsets, &(struct strata_offsets_stats){0}), STRATA_INVALID_ARGUMENT, "size");
    assert_says(strata_offsets_validate(NULL), STRATA_INVALID_ARGUMENT, "no allocator");
    assert_says(strata_offsets_dump(NULL, NULL, NULL), STRATA_INVALID_ARGUMENT, "no allocator");
    assert_says(strata_offsets_dump(offsets, NULL, NULL), STRATA_INVALID_ARGUMENT, "no function");
    assert_null(strata_offsets_user(NULL, 1));
    strata_offsets_walk(NULL, NULL, NULL);
    strata_offsets_walk(offsets, NULL, NULL);
    strata_offsets_reset(NULL);
    strata_offsets_destroy(&offsets);
    strata_offsets_destroy(&offsets);
    strata_offsets_destroy(NULL);
}

/* An older program's stats end sooner: what lies behind them stays as it is. */
static void stats_of_an_older_program(void **state) {
    (void)state;
    strata_offsets *offsets = make(1000, 0, 0, NULL);
    struct strata_offsets_stats stats;
    memset(&stats, 0xAB, sizeof stats);
    stats.size = offsetof(struct strata_offsets_stats, live_bytes);
    assert_int_equal(strata_offsets_stats(offsets, &stats), STRATA_OK);
    assert_true(stats.bytes == 1000 && stats.live_bytes == UINT64_C(0xABABABABABABABAB));
    strata_offsets_destroy(&offsets);
}

static void nothing_to_hand_out(void **state) {
    (void)state;
    struct strata_range range;
    strata_offsets *offsets = make(255, 256, 10, NULL);
    assert_says(strata_offsets_allocate(offsets, 0, 0, &range), STRATA_OUT_OF_MEMORY, "0 of 0 bytes are free");
    assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
    strata_offsets_reset(offsets);
    assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
    strata_offsets_destroy(&offsets);
}

static void numbers_that_are_not_live(void **state) {
    (void)state;
    strata_offsets *offsets = make(1000, 0, 0, NULL);
    int mine = 0;
    struct strata_range first = take(offsets, 100);
    assert_int_equal(strata_offsets_set_user(offsets, first.piece, &mine), STRATA_OK);
    assert_int_equal(strata_offsets_free(offsets, first.piece), STRATA_OK);
    assert_says(strata_offsets_free(offsets, first.piece), STRATA_INVALID_ARGUMENT, "no live piece");
    struct strata_range second = take(offsets, 100);
    assert_true(second.offset == first.offset && second.piece != first.piece);
    assert_null(strata_offsets_user(offsets, second.piece));
    assert_int_equal(strata_offsets_set_user(offsets, second.piece, &mine), STRATA_OK);
    assert_says(strata_offsets_free(offsets, first.piece), STRATA_INVALID_ARGUMENT, "given back already");
    assert_says(strata_offsets_set_user(offsets, first.piece, NULL), STRATA_INVALID_ARGUMENT, "set_user");
    assert_null(strata_offsets_user(offsets, first.piece));
    const strata_piece others[] = {1000, 257, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 32, UINT64_C(1) << 63, 1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_says(strata_offsets_free(offsets, others[i]), STRATA_INVALID_ARGUMENT, "no live piece");
        assert_null(strata_offsets_user(offsets, others[i]));
    }
    assert_ptr_equal(strata_offsets_user(offsets, second.piece), &mine);
    assert_true(stats_of(offsets).live_pieces == 1);
    strata_offsets_reset(offsets);
    assert_says(strata_offsets_free(offsets, second.piece), STRATA_INVALID_ARGUMENT, "no live piece");
    struct strata_range third = take(offsets, 100);
    assert_true(third.piece != first.piece && third.piece != second.piece);
    assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
    strata_offsets_destroy(&offsets);
}

struct seen {
    struct strata_offsets_span spans[16];
    size_t count, most;
};

static bool see(const struct strata_offsets_span *span, void *user) {
    struct seen *seen = user;
    seen->spans[seen->count++] = *span;
    return seen->count < seen->most;
}

static void the_walk_goes_by_offset(void **state) {
    (void)state;
    strata_offsets *offsets = make(4096, 64, 0, NULL);
    struct strata_range first = take(offsets, 100), second = take(offsets, 64), third = take(offsets, 1);
    struct seen seen = {.most = 16};
    assert_int_equal(strata_offsets_set_user(offsets, third.piece, &seen), STRATA_OK);
    assert_int_equal(strata_offsets_free(offsets, second.piece), STRATA_OK);
    strata_offsets_walk(offsets, see, &seen);
    const struct strata_offsets_span expected[] = {{first.piece, 0, 128, 100, NULL},
                                                   {0, 128, 64, 0, NULL},
                                                   {third.piece, 192, 64, 1, &seen},
                                                   {0, 256, 4096 - 256, 0, NULL}};
    assert_int_equal(seen.count, 4);
    assert_memory_equal(seen.spans, expected, sizeof expected);
    seen = (struct seen){.most = 2};
    strata_offsets_walk(offsets, see, &seen);
    assert_int_equal(seen.count, 2);
    strata_offsets_destroy(&offsets);
}

struct text {
    char data[65536];
    size_t length, calls, fail_at;
};

static bool append(const char *text, size_t bytes, void *user) {
    struct text *all = user;
    if (++all->calls == all->fail_at)
        return false;
    assert_true(all->length + bytes < sizeof all->data);
    memcpy(all->data + all->length, text, bytes);
    all->length += bytes;
    return true;
}

static void the_dump_is_json(void **state) {
    (void)state;
    static struct text text;
    strata_offsets *offsets = make(4096, 64, 0, NULL);
    take(offsets, 100);
    struct strata_range second = take(offsets, 64);
    struct strata_range third = take(offsets, 1);
    assert_int_equal(strata_offsets_set_user(offsets, third.piece, (void *)(uintptr_t)0xC0FFEE), STRATA_OK);
    assert_int_equal(strata_offsets_free(offsets, second.piece), STRATA_OK);
    text = (struct text){.length = 0};
    assert_int_equal(strata_offsets_dump(offsets, append, &text), STRATA_OK);
    char expected[2048];
    snprintf(expected, sizeof expected,
             "{\n  \"bytes\": 4096,\n  \"granularity\": 64,\n  \"live_bytes\": 192,\n  \"requested_bytes\": 101,\n"
             "  \"free_bytes\": 3904,\n  \"live_pieces\": 2,\n  \"holes\": 2,\n  \"largest_free\": 3840,\n"
             "  \"metadata_bytes\": %llu,\n  \"fragmentation\": 0.016393,\n  \"ranges\": [\n"
             "    {\"offset\": 0, \"bytes\": 128, \"piece\": \"0x100000001\", \"requested\": 100},\n"
             "    {\"offset\": 128, \"bytes\": 64},\n"
             "    {\"offset\": 192, \"bytes\": 64, \"piece\": \"0x100000003\", \"requested\": 1, \"user\": "
             "\"0xc0ffee\"},\n"
             "    {\"offset\": 256, \"bytes\": 3840}\n  ]\n}\n",
             (unsigned long long)stats_of(offsets).metadata_bytes);
    text.data[text.length] = '\0';
    assert_string_equal(text.data, expected);
    strata_offsets_destroy(&offsets);
    offsets = make(0, 0, 0, NULL);
    text = (struct text){.length = 0};
    assert_int_equal(strata_offsets_dump(offsets, append, &text), STRATA_OK);
    text.data[text.length] = '\0';
    assert_non_null(strstr(text.data, "\"ranges\": []\n}\n"));
    strata_offsets_destroy(&offsets);
}

/* A long dump comes in pieces; whoever writes may stop at each of them. */
static void a_dump_that_is_stopped(void **state) {
    (void)state;
    static struct text text;
    strata_offsets *offsets = make(MIB, 0, 0, NULL);
    for (unsigned i = 0; i < 400; i++)
        take(offsets, 100);
    text = (struct text){.length = 0};
    assert_int_equal(strata_offsets_dump(offsets, append, &text), STRATA_OK);
    size_t calls = text.calls, length = text.length;
    assert_true(calls > 3);
    for (size_t i = 1; i <= calls; i++) {
        text = (struct text){.fail_at = i};
        assert_says(strata_offsets_dump(offsets, append, &text), STRATA_IO, "stopped");
        assert_int_equal(text.calls, i);
        assert_true(text.length < length);
    }
    strata_offsets_destroy(&offsets);
}

/* 100,000 live pieces with a hole beside each: the most holes there can be. Then the same after much coming and going.
 */
static void metadata_of_a_piece(void **state) {
    (void)state;
    enum { LIVE = 100000 };
    strata_offsets *offsets = make(UINT64_C(1) << 40, 256, 0, NULL);
    static strata_piece pieces[2 * LIVE];
    uint32_t random = 1;
    for (size_t i = 0; i < 2 * LIVE; i++) {
        random = random * 1664525 + 1013904223;
        pieces[i] = take(offsets, random >> 16).piece;
    }
    for (size_t i = 0; i < LIVE; i++) {
        assert_int_equal(strata_offsets_free(offsets, pieces[2 * i + 1]), STRATA_OK);
        pieces[i] = pieces[2 * i];
    }
    struct strata_offsets_stats stats = stats_of(offsets);
    assert_true(stats.live_pieces == LIVE && stats.holes == LIVE);
    assert_true((double)stats.metadata_bytes / LIVE <= 96);
    for (size_t i = 0; i < 10 * LIVE; i++) {
        random = random * 1664525 + 1013904223;
        size_t place = random % LIVE;
        assert_int_equal(strata_offsets_free(offsets, pieces[place]), STRATA_OK);
        pieces[place] = take(offsets, random >> 15).piece;
    }
    stats = stats_of(offsets);
    print_message("%.1f bytes of metadata for each of %u pieces with %u holes\n", (double)stats.metadata_bytes / LIVE,
                  (unsigned)stats.live_pieces, (unsigned)stats.holes);
    assert_true(stats.live_pieces == LIVE && (double)stats.metadata_bytes / LIVE <= 96);
    assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
    strata_offsets_destroy(&offsets);
}

/* Everything that can be seen of an allocator but its metadata. */
static uint64_t fingerprint(const strata_offsets *offsets) {
    struct strata_offsets_stats stats = stats_of(offsets);
    uint64_t sum = stats.live_bytes + 3 * stats.requested_bytes + 5 * stats.live_pieces + 7 * stats.holes;
    for (uint32_t i = offsets->first; i != STRATA_OFFSETS_NONE; i = strata_offsets_node(offsets, i)->next) {
        const struct strata_offsets_node *node = strata_offsets_node(offsets, i);
        sum = sum * 31 + node->offset + i + node->bin + node->generation;
    }
    return sum + offsets->unused_count % STRATA_OFFSETS_PAGE;
}

/* 600 pieces with holes between, which need several pages and a larger directory. False at the first failure. */
static bool scenario(strata_offsets *offsets, struct host *host, unsigned *failures) {
    for (unsigned i = 0; i < 600; i++) {
        struct strata_range range;
        uint64_t before = fingerprint(offsets);
        enum strata_status status = strata_offsets_allocate(offsets, 100, 4096, &range);
        if (status == STRATA_OK)
            continue;
        assert_says(status, STRATA_OUT_OF_MEMORY, "host");
        assert_true(range.piece == 0 && range.offset == UINT64_MAX);
        assert_true(fingerprint(offsets) == before);
        assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
        assert_false(strata_offsets_try(offsets, 100, 4096, &range) && host->for_ever);
        ++*failures;
        if (host->for_ever)
            return false;
    }
    return true;
}

static void host_memory_that_fails(void **state) {
    (void)state;
    struct host host = {0};
    const struct strata_allocator hooks = {host_allocate, host_release, &host};
    strata_offsets *offsets = make(4 * MIB, 1, 0, &hooks);
    unsigned failures = 0;
    assert_true(scenario(offsets, &host, &failures));
    strata_offsets_destroy(&offsets);
    assert_int_equal(host.live, 0);
    unsigned calls = host.calls;
    assert_true(calls > 6 && failures == 0);
    for (unsigned i = 1; i <= 2 * calls; i++) {
        host = (struct host){.fail_at = (i + 1) / 2, .for_ever = i % 2 == 0};
        failures = 0;
        enum strata_status status =
            strata_offsets_create(STRATA_OFFSETS(.bytes = 4 * MIB, .allocator = &hooks), &offsets);
        if (status == STRATA_OK) {
            assert_int_equal(scenario(offsets, &host, &failures), !host.for_ever);
            assert_int_equal(failures, 1);
            host.fail_at = 0;
            take(offsets, 1);
            assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
        } else {
            assert_says(status, STRATA_OUT_OF_MEMORY, "host");
            assert_null(offsets);
        }
        strata_offsets_destroy(&offsets);
        assert_int_equal(host.live, 0);
    }
}

/* Room for pieces is room for as many holes, too: nothing is allocated until there are more. */
static void room_made_in_advance(void **state) {
    (void)state;
    struct host host = {0};
    const struct strata_allocator hooks = {host_allocate, host_release, &host};
    strata_offsets *offsets = make(16 * MIB, 1, 1000, &hooks);
    unsigned calls = host.calls;
    for (unsigned round = 0; round < 2; round++) {
        take(offsets, 1);
        for (unsigned i = 0; i < 999; i++) {
            struct strata_range range;
            assert_int_equal(strata_offsets_allocate(offsets, 1, 4096, &range), STRATA_OK);
        }
        assert_true(stats_of(offsets).live_pieces == 1000 && stats_of(offsets).holes == 1000);
        strata_offsets_reset(offsets);
    }
    assert_int_equal(host.calls, calls);
    strata_offsets_destroy(&offsets);
    /* No more than the memory can hold. */
    offsets = make(1000, 64, UINT64_MAX, &hooks);
    assert_true(stats_of(offsets).metadata_bytes < 100000);
    strata_offsets_destroy(&offsets);
    host = (struct host){.fail_at = 3, .for_ever = true};
    assert_says(
        strata_offsets_create(STRATA_OFFSETS(.bytes = UINT64_MAX, .pieces = UINT64_MAX, .allocator = &hooks), &offsets),
        STRATA_OUT_OF_MEMORY, "room for 18446744073709551615 pieces");
    assert_null(offsets);
    assert_int_equal(host.live, 0);
}

/* What the pool calls says nothing, and leaves the last error alone. */
static void trying_says_nothing(void **state) {
    (void)state;
    strata_offsets *offsets = make(1000, 0, 0, NULL);
    struct strata_range range;
    assert_says(strata_offsets_free(offsets, 77), STRATA_INVALID_ARGUMENT, "0x4d");
    assert_true(strata_offsets_is_empty(offsets) && strata_offsets_free_bytes(offsets) == 1000);
    assert_true(strata_offsets_try(offsets, 600, 0, &range));
    assert_true(range.piece != 0 && range.offset == 0 && range.bytes == 600);
    assert_true(!strata_offsets_is_empty(offsets) && strata_offsets_free_bytes(offsets) == 400);
    assert_false(strata_offsets_try(offsets, 401, 0, &range));
    assert_true(range.piece == 0 && range.offset == UINT64_MAX && range.bytes == 0);
    assert_true(strata_offsets_largest(offsets) == 400);
    assert_non_null(strstr(strata_last_error()->message, "0x4d"));
    strata_offsets_destroy(&offsets);
}

/* Damages one field, looks whether the check names it, and repairs it. */
#define ASSERT_FOUND(field, value, words)                                                                              \
    do {                                                                                                               \
        __typeof__(field) kept = (field);                                                                              \
        (field) = (__typeof__(field))(value);                                                                          \
        assert_says(strata_offsets_validate(offsets), STRATA_INTERNAL, words);                                         \
        (field) = kept;                                                                                                \
        assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);                                                 \
    } while (0)

static void damage_is_found(void **state) {
    (void)state;
    strata_offsets *offsets = make(100000, 1, 0, NULL);
    struct strata_range ranges[6];
    for (size_t i = 0; i < 6; i++)
        ranges[i] = take(offsets, 1000);
    assert_int_equal(strata_offsets_free(offsets, ranges[1].piece), STRATA_OK);
    assert_int_equal(strata_offsets_free(offsets, ranges[3].piece), STRATA_OK);
    uint32_t index[6];
    struct strata_offsets_node *node[6];
    for (size_t i = 0; i < 6; i++) {
        index[i] = (uint32_t)ranges[i].piece - 1;
        node[i] = strata_offsets_node(offsets, index[i]);
    }
    ASSERT_FOUND(offsets->first, STRATA_OFFSETS_NONE, "no range begins");
    ASSERT_FOUND(offsets->first, index[1], "first range");
    ASSERT_FOUND(offsets->first, 256, "first range");
    ASSERT_FOUND(node[2]->previous, index[0], "the one before it; its offset");
    ASSERT_FOUND(node[2]->next, 256, "none that exists");
    ASSERT_FOUND(node[2]->next, index[1], "does not end behind its start");
    ASSERT_FOUND(node[2]->offset, 1000, "does not end behind its start");
    ASSERT_FOUND(node[2]->offset, 2010, "bin of another size");
    ASSERT_FOUND(node[2]->offset, 1990, "bin of another size");
    ASSERT_FOUND(node[2]->as.requested, 1001, "shorter than asked for");
    ASSERT_FOUND(node[2]->as.requested, 999, "bytes asked for");
    ASSERT_FOUND(node[2]->bin, STRATA_OFFSETS_UNUSED, "neither piece nor hole");
    ASSERT_FOUND(node[2]->bin, node[1]->bin, "two holes touch");
    ASSERT_FOUND(node[1]->bin, STRATA_OFFSETS_PIECE, "piece");
    ASSERT_FOUND(node[1]->bin, node[1]->bin + 1, "bin of another size");
    ASSERT_FOUND(node[1]->as.bin.previous, STRATA_OFFSETS_NONE, "before it in its bin");
    ASSERT_FOUND(node[1]->as.bin.next, index[3], "before it in its bin");
    ASSERT_FOUND(node[3]->as.bin.next, STRATA_OFFSETS_NONE, "in no bin");
    ASSERT_FOUND(node[3]->as.bin.next, 256, "does not exist");
    ASSERT_FOUND(node[3]->as.bin.next, index[0], "does not belong");
    ASSERT_FOUND(offsets->live_pieces, 3, "number of pieces");
    ASSERT_FOUND(offsets->holes, 4, "number of holes");
    ASSERT_FOUND(offsets->live_granules, 4001, "size of all pieces");
    ASSERT_FOUND(offsets->requested_bytes, 4001, "bytes asked for");
    ASSERT_FOUND(offsets->row_bits, 0, "a row of bins");
    ASSERT_FOUND(offsets->bin_bits[59], 1, "a row of bins");
    ASSERT_FOUND(offsets->bin_bits[0], 1, "a row of bins");
    uint32_t row = node[1]->bin / STRATA_OFFSETS_STEPS;
    ASSERT_FOUND(offsets->bin_bits[row], UINT32_MAX, "what a bin holds");
    ASSERT_FOUND(offsets->heads[node[1]->bin], STRATA_OFFSETS_NONE, "what a bin holds");
    ASSERT_FOUND(offsets->unused, STRATA_OFFSETS_NONE, "nodes are lost");
    ASSERT_FOUND(offsets->unused, index[0], "among the unused");
    ASSERT_FOUND(offsets->unused, 256, "chain of unused");
    ASSERT_FOUND(strata_offsets_node(offsets, offsets->unused)->next, offsets->unused, "chain of unused");
    ASSERT_FOUND(offsets->unused_count, 5, "nodes are lost");
    strata_offsets_destroy(&offsets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments),         cmocka_unit_test(stats_of_an_older_program),
        cmocka_unit_test(nothing_to_hand_out),     cmocka_unit_test(numbers_that_are_not_live),
        cmocka_unit_test(the_walk_goes_by_offset), cmocka_unit_test(the_dump_is_json),
        cmocka_unit_test(a_dump_that_is_stopped),  cmocka_unit_test(metadata_of_a_piece),
        cmocka_unit_test(host_memory_that_fails),  cmocka_unit_test(room_made_in_advance),
        cmocka_unit_test(trying_says_nothing),     cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
