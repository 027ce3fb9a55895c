/* Launches: arguments of every kind, checked before they go, and results that are right whatever waits in the queue. */
#include "launching.h"

static strata_device *device;
static strata_queue *queue;
static uint64_t alignment; /* of slices, in bytes */
static strata_program *program;

static const char source[] =
    "typedef struct { float scale[5]; int shift; long big; } settings;\n"
    "__kernel void put(__global uint *out, uint value) { out[get_global_id(0)] = value; }\n"
    "__kernel void add(__global uint *out, __global const uint *a, __global const uint *b) {\n"
    "    size_t i = get_global_id(0); out[i] = a[i] + b[i];\n"
    "}\n"
    "__kernel void twice(__global uint *out, __global uint *in) { size_t i = get_global_id(0); out[i] = in[i] * 2; }\n"
    "__kernel void every(__global uint *out, __constant uint *table, __local uint *room, uint value) {\n"
    "    room[get_local_id(0)] = table[0] + value;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] = room[get_local_size(0) - 1 - get_local_id(0)];\n"
    "}\n"
    "__kernel void maybe(__global uint *out, __global const uint *in) { out[0] = in ? in[0] : 99; }\n"
    "__kernel void three(__global float *out, float3 v) { out[0] = v.x + 10 * v.y + 100 * v.z; }\n"
    "__kernel void set(__global float *out, settings s) { out[0] = s.scale[4] + s.shift + s.big; }\n"
    "__kernel void types(__global uint *out, int a, uint b, long c, ulong d, float e) {\n"
    "    out[0] = a == -5; out[1] = b == 4000000000u; out[2] = c == -5000000000L; out[3] = d == "
    "18000000000000000000UL;\n"
    "    out[4] = e == 1.5f;\n"
    "}\n"
    "typedef struct node { __global struct node *next; ulong value; } node;\n"
    "__kernel void walk(__global ulong *out, __global const node *head) {\n"
    "    ulong sum = 0;\n"
    "    for (__global const node *at = head; at; at = at->next) sum = sum * 3 + at->value;\n"
    "    out[0] = sum;\n"
    "}\n"
    "__kernel void append(__global uint *log, uint id) { log[log[0]] = id; log[0]++; }\n"
    "__kernel void many(__global uint *out, uint a0, uint a1, uint a2, uint a3, uint a4, uint a5, uint a6, uint a7,\n"
    "                   uint a8, uint a9, uint b0, uint b1, uint b2, uint b3, uint b4, uint b5, uint b6, uint b7,\n"
    "                   __global const uint *last) {\n"
    "    out[0] = a0 + 2 * a1 + 3 * a2 + 4 * a3 + 5 * a4 + 6 * a5 + 7 * a6 + 8 * a7 + 9 * a8 + 10 * a9 + 11 * b0 +\n"
    "             12 * b1 + 13 * b2 + 14 * b3 + 15 * b4 + 16 * b5 + 17 * b6 + 18 * b7 + last[0];\n"
    "}\n";

static strata_kernel *named(const char *name) {
    return kernel_of(program, name);
}

static strata_arg u32(uint32_t value) {
    return strata_arg_u32(value);
}

#define ONE strata_grid_1d(1)

static void results_are_right(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    uint32_t a_host[COUNT], b_host[COUNT], found[COUNT];
    contract_random(a_host, sizeof a_host, 1);
    contract_random(b_host, sizeof b_host, 2);
    strata_buffer *a = words(device, COUNT, 0), *b = words(device, COUNT, 0), *out = words(device, COUNT, 0);
    CHECK(strata_write(queue, strata_all(a), a_host));
    CHECK(strata_write(queue, strata_all(b), b_host));
    CHECK(strata_launch(queue, named("add"), strata_grid_1d(COUNT), STRATA_ARGS(whole(out), whole(a), whole(b))));
    CHECK(strata_read(queue, strata_all(out), found));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(found[i], a_host[i] + b_host[i]);
    strata_event *event = NULL;
    CHECK(strata_launch_event(
        queue, named("every"), strata_grid_local(strata_grid_1d(8), 4, 1, 1),
        STRATA_ARGS(whole(out), strata_arg_slice(strata_sub(strata_all(a), 0, 4)), strata_arg_local(16), u32(3)),
        &event));
    CHECK(strata_event_wait(event));
    strata_event_destroy(&event);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(word(queue, out, i), a_host[0] + 3);
    strata_buffer_destroy(&a);
    strata_buffer_destroy(&b);
    strata_buffer_destroy(&out);
}

static void values_of_every_type(void **state) {
    (void)state;
    strata_buffer *out = words(device, 5, 0);
    CHECK(strata_launch(queue, named("types"), ONE,
                        STRATA_ARGS(whole(out), strata_arg_i32(-5), u32(4000000000u),
                                    strata_arg_i64(INT64_C(-5000000000)),
                                    strata_arg_u64(UINT64_C(18000000000000000000)), strata_arg_f32(1.5f))));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(word(queue, out, i), 1);
    if (strata_device_get_info(device)->fp64) {
        strata_program *doubles =
            build_text(device, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                               "__kernel void k(__global uint *out, double x) { out[0] = x == 0.1; }\n");
        CHECK(strata_launch(queue, kernel_of(doubles, "k"), ONE, STRATA_ARGS(whole(out), strata_arg_f64(0.1))));
        assert_int_equal(word(queue, out, 0), 1);
        CHECK(strata_launch(queue, kernel_of(doubles, "k"), ONE, STRATA_ARGS(whole(out), strata_arg_f64(0.2))));
        assert_int_equal(word(queue, out, 0), 0);
        strata_program_destroy(&doubles);
    }
    strata_buffer_destroy(&out);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    strata_buffer *out = words(device, 8, 7);
    strata_kernel *every = named("every"), *put = named("put");
    strata_arg slice = whole(out), local = strata_arg_local(4), value = u32(1), nothing = {.type = STRATA_ARG_NONE};
    const enum strata_status refused = STRATA_INVALID_ARGUMENT;
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice)), refused, "takes 2 arguments, not 1");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, value, value)), refused, "takes 2 arguments, not 3");
    EXPECT(strata_launch(queue, put, ONE, NULL, 0), refused, "takes 2 arguments, not 0");
    EXPECT(strata_launch(queue, put, ONE, NULL, 2), refused, "takes 2 arguments");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(value, value)), refused, "'out' of kernel 'put' is a __global");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(local, value)), refused, "is a __global");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(nothing, value)), refused, "is a __global");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, slice)), refused, "'value' of kernel 'put' is a value");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, local)), refused, "is a value");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, nothing)), refused, "is a value");
    EXPECT(strata_launch(queue, every, ONE, STRATA_ARGS(slice, value, local, value)), refused, "is a __constant");
    EXPECT(strata_launch(queue, every, ONE, STRATA_ARGS(slice, local, local, value)), refused, "is a __constant");
    EXPECT(strata_launch(queue, every, ONE, STRATA_ARGS(slice, slice, slice, value)), refused, "is a __local");
    EXPECT(strata_launch(queue, every, ONE, STRATA_ARGS(slice, slice, value, value)), refused, "is a __local");
    EXPECT(strata_launch(queue, every, ONE, STRATA_ARGS(slice, slice, strata_arg_local(0), value)), refused, "1 byte");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, strata_arg_u64(1))), refused, "8 bytes");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, strata_arg_value("", 1))), refused, "1 bytes");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, strata_arg_value(NULL, 0))), refused, "empty");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(slice, strata_arg_value(NULL, 64))), refused, "empty");
    EXPECT(strata_launch(queue, put, ONE, STRATA_ARGS(strata_arg_slice(strata_sub(strata_all(out), 0, 33)), value)),
           refused, "words");
    EXPECT(strata_launch(queue, put, ONE,
                         STRATA_ARGS(strata_arg_slice(strata_sub(strata_all(out), UINT64_MAX, 33)), value)),
           refused, "words");
    EXPECT(strata_launch(queue, NULL, ONE, STRATA_ARGS(slice, value)), refused, "kernel");
    EXPECT(strata_launch(NULL, put, ONE, STRATA_ARGS(slice, value)), refused, "queue");
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(word(queue, out, i), 7);
    strata_buffer_destroy(&out);
}

static void a_float3_has_16_bytes(void **state) {
    (void)state;
    float v[4] = {1, 2, 3, -1}, found = 0;
    strata_buffer *out = words(device, 1, 0);
    CHECK(strata_launch(queue, named("three"), ONE, STRATA_ARGS(whole(out), strata_arg_value(v, 16))));
    CHECK(strata_read(queue, strata_all(out), &found));
    assert_true(found == 321.0f);
    EXPECT(strata_launch(queue, named("three"), ONE, STRATA_ARGS(whole(out), strata_arg_value(v, 12))),
           STRATA_INVALID_ARGUMENT, "has 12 bytes, but its type float3 has 16");
    strata_buffer_destroy(&out);
}

static strata_arg part(strata_buffer *buffer, uint64_t offset, uint64_t bytes) {
    return strata_arg_slice(strata_sub(strata_all(buffer), offset, bytes));
}

static void slices_are_checked(void **state) {
    (void)state;
    char aligned[32];
    strata_buffer *x = words(device, 4 * alignment, 5), *out = words(device, 4 * alignment, 0);
    strata_kernel *add = named("add"), *twice = named("twice");
    uint64_t a = alignment;
    snprintf(aligned, sizeof aligned, "multiple of %llu", (unsigned long long)a);
    EXPECT(strata_launch(queue, add, ONE, STRATA_ARGS(whole(out), part(x, 4, 4), whole(x))), STRATA_INVALID_ARGUMENT,
           aligned);
    EXPECT(strata_launch(queue, add, ONE, STRATA_ARGS(whole(out), part(x, a / 2, 4), whole(x))),
           STRATA_INVALID_ARGUMENT, aligned);
    EXPECT(strata_launch(queue, twice, ONE, STRATA_ARGS(part(x, 0, a + 4), part(x, a, a))), STRATA_INVALID_ARGUMENT,
           "overlap");
    EXPECT(strata_launch(queue, twice, ONE, STRATA_ARGS(whole(x), part(x, 0, a))), STRATA_INVALID_ARGUMENT, "overlap");
    EXPECT(strata_launch(queue, add, ONE, STRATA_ARGS(part(x, 0, 2 * a), whole(out), part(x, a, a))),
           STRATA_INVALID_ARGUMENT, "overlap");
    CHECK(strata_launch(queue, add, ONE, STRATA_ARGS(whole(out), part(x, 0, 2 * a), part(x, a, a))));
    assert_int_equal(word(queue, out, 0), 10);
    CHECK(strata_launch(queue, twice, ONE, STRATA_ARGS(part(x, 0, a), part(x, a, a))));
    assert_int_equal(word(queue, x, 0), 10);
    CHECK(strata_launch(queue, twice, strata_grid_1d(8), STRATA_ARGS(part(x, a, a), part(x, a, a))));
    CHECK(strata_launch(queue, twice, strata_grid_1d(8), STRATA_ARGS(part(x, a, a), part(x, a, a))));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(word(queue, x, a / 4 + i), 20);
    strata_buffer_destroy(&x);
    strata_buffer_destroy(&out);
}

static void many_parts_of_one_buffer(void **state) {
    (void)state;
    uint32_t parts = contract_is_slow(device) ? 80 : 300;
    uint64_t a = alignment;
    strata_buffer *x = words(device, parts * a / 4, 0);
    for (uint32_t round = 1; round <= 3; round++) {
        for (uint32_t i = 0; i < parts; i++)
            CHECK(strata_launch(queue, named("put"), strata_grid_1d(a / 4),
                                STRATA_ARGS(part(x, i * a, a), u32(i * round))));
        uint32_t *found = malloc(parts * a);
        assert_non_null(found);
        CHECK(strata_read(queue, strata_all(x), found));
        for (uint64_t i = 0; i < parts * a / 4; i++)
            assert_int_equal(found[i], i / (a / 4) * round);
        free(found);
    }
    strata_buffer_destroy(&x);
}

static void an_empty_slice_is_a_null_pointer(void **state) {
    (void)state;
    strata_buffer *out = words(device, 1, 0), *in = words(device, 1, 5), *none = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 0), &none));
    const strata_arg empties[] = {whole(NULL), whole(none), part(in, 4, 0), part(in, 0, 0)};
    for (size_t i = 0; i < sizeof empties / sizeof empties[0]; i++) {
        CHECK(strata_launch(queue, named("maybe"), ONE, STRATA_ARGS(whole(out), whole(in))));
        assert_int_equal(word(queue, out, 0), 5);
        CHECK(strata_launch(queue, named("maybe"), ONE, STRATA_ARGS(whole(out), empties[i])));
        assert_int_equal(word(queue, out, 0), 99);
    }
    strata_buffer_destroy(&out);
    strata_buffer_destroy(&in);
    strata_buffer_destroy(&none);
}

static void pinned_memory_needs_leave(void **state) {
    (void)state;
    strata_buffer *plain = NULL, *usable = NULL;
    void *place = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64, .kind = STRATA_PINNED), &plain));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64, .kind = STRATA_PINNED, .kernel_access = true),
                               &usable));
    if (strata_buffer_get_info(plain)->kernel_argument)
        CHECK(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(plain), u32(1))));
    else
        EXPECT(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(plain), u32(1))), STRATA_UNSUPPORTED,
               ".kernel_access");
    CHECK(strata_launch(queue, named("put"), strata_grid_1d(16), STRATA_ARGS(whole(usable), u32(12))));
    CHECK(strata_host_begin(queue, strata_all(usable), STRATA_MAP_READ, &place));
    assert_int_equal(((uint32_t *)place)[15], 12);
    CHECK(strata_host_end(queue, strata_all(usable)));
    strata_buffer_destroy(&plain);
    strata_buffer_destroy(&usable);
}

static void memory_in_the_hosts_hands_is_busy(void **state) {
    (void)state;
    strata_buffer *mapped = words(device, 4 * alignment, 1), *out = words(device, 1, 0), *shared = NULL;
    uint64_t a = alignment;
    void *place = NULL;
    CHECK(strata_map(queue, strata_sub(strata_all(mapped), 0, a), STRATA_MAP_WRITE, &place));
    EXPECT(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(mapped), u32(1))), STRATA_BUSY, "words");
    EXPECT(strata_launch(queue, named("maybe"), ONE, STRATA_ARGS(whole(out), part(mapped, 0, a))), STRATA_BUSY,
           "words");
    CHECK(strata_launch(queue, named("maybe"), ONE, STRATA_ARGS(whole(out), part(mapped, a, a))));
    CHECK(strata_unmap(queue, mapped, place));
    CHECK(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(mapped), u32(3))));
    CHECK(strata_map(queue, strata_all(mapped), STRATA_MAP_READ, &place));
    EXPECT(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(mapped), u32(1))), STRATA_BUSY, "words");
    CHECK(strata_launch(queue, named("maybe"), ONE, STRATA_ARGS(whole(out), whole(mapped))));
    CHECK(strata_unmap(queue, mapped, place));
    assert_int_equal(word(queue, out, 0), 3);

    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64, .kind = STRATA_SHARED, .name = "ours"), &shared));
    CHECK(strata_host_begin(queue, strata_all(shared), STRATA_MAP_READ_WRITE, &place));
    if (strata_buffer_get_info(shared)->mode != STRATA_SHARED_COHERENT)
        EXPECT(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(shared), u32(1))), STRATA_BUSY, "ours");
    CHECK(strata_host_end(queue, strata_all(shared)));
    CHECK(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(shared), u32(1))));
    strata_buffer_destroy(&shared);
    strata_buffer_destroy(&mapped);
    strata_buffer_destroy(&out);
}

static void more_than_16_arguments(void **state) {
    (void)state;
    strata_buffer *out = words(device, 1, 0), *last = words(device, 1, 1000);
    CHECK(strata_launch(queue, named("many"), ONE,
                        STRATA_ARGS(whole(out), u32(1), u32(2), u32(3), u32(4), u32(5), u32(6), u32(7), u32(8), u32(9),
                                    u32(10), u32(11), u32(12), u32(13), u32(14), u32(15), u32(16), u32(17), u32(18),
                                    whole(last))));
    assert_int_equal(word(queue, out, 0), 1000 + 18 * 19 * 37 / 6); /* the sum of squares */
    strata_buffer_destroy(&out);
    strata_buffer_destroy(&last);
}

struct settings {
    float scale[5];
    int32_t shift;
    int64_t big;
};

static void large_values_are_copied(void **state) {
    (void)state;
    struct settings settings = {{0, 0, 0, 0, 0.5f}, 3, 1000};
    strata_arg arg = strata_arg_value(&settings, sizeof settings);
    strata_buffer *out = words(device, 1, 0);
    struct contract_gate gate;
    float found = 0;
    assert_int_equal(sizeof settings, 32);
    CHECK(strata_launch(queue, named("set"), ONE, STRATA_ARGS(whole(out), arg)));
    memset(&settings, 0x55, sizeof settings);
    CHECK(strata_read(queue, strata_all(out), &found));
    assert_true(found == 1003.5f);

    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    settings = (struct settings){{0, 0, 0, 0, 0.25f}, -3, 2000};
    CHECK(strata_launch(queue, named("set"), ONE, STRATA_ARGS(whole(out), arg)));
    memset(&settings, 0x55, sizeof settings);
    contract_gate_open(&gate);
    CHECK(strata_read(queue, strata_all(out), &found));
    assert_true(found == 1997.25f);
    contract_gate_release(&gate);
    strata_buffer_destroy(&out);
}

static void shared_and_device_buffers_take_turns(void **state) {
    (void)state;
    strata_buffer *plain = words(device, 16, 0), *shared = NULL;
    void *place = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64, .kind = STRATA_SHARED), &shared));
    for (uint32_t i = 0; i < 20; i++) {
        CHECK(strata_launch(queue, named("put"), strata_grid_1d(16), STRATA_ARGS(whole(plain), u32(100 + i))));
        CHECK(strata_launch(queue, named("put"), strata_grid_1d(16), STRATA_ARGS(whole(shared), u32(200 + i))));
        CHECK(strata_launch(queue, named("twice"), strata_grid_1d(16), STRATA_ARGS(whole(shared), whole(plain))));
        CHECK(strata_launch(queue, named("put"), strata_grid_1d(16), STRATA_ARGS(whole(plain), u32(i))));
        CHECK(strata_host_begin(queue, strata_all(shared), STRATA_MAP_READ, &place));
        assert_int_equal(((uint32_t *)place)[15], 200 + 2 * i);
        CHECK(strata_host_end(queue, strata_all(shared)));
        assert_int_equal(word(queue, plain, 15), i);
    }
    strata_buffer_destroy(&shared);
    strata_buffer_destroy(&plain);
}

static void launches_behind_a_gate_keep_their_order(void **state) {
    (void)state;
    enum { COUNT = 50 };
    strata_buffer *log = words(device, COUNT + 1, 1);
    struct contract_gate gate;
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(strata_launch(queue, named("append"), ONE, STRATA_ARGS(whole(log), u32(500 + i))));
    contract_gate_open(&gate);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(word(queue, log, i + (i > 0)), i ? 500 + i : COUNT + 1);
    contract_gate_release(&gate);
    strata_buffer_destroy(&log);
}

static void another_device_is_refused(void **state) {
    (void)state;
    strata_device *other = contract_open_with(NULL);
    strata_program *others = build_text(other, source);
    strata_buffer *out = words(device, 1, 1), *theirs = words(other, 1, 1);
    const enum strata_status refused = STRATA_INVALID_ARGUMENT;
    EXPECT(strata_launch(queue, kernel_of(others, "put"), ONE, STRATA_ARGS(whole(out), u32(2))), refused, "'put'");
    EXPECT(strata_launch(strata_device_queue(other), named("put"), ONE, STRATA_ARGS(whole(theirs), u32(2))), refused,
           "'put'");
    EXPECT(strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(theirs), u32(2))), refused, "device");
    assert_int_equal(word(queue, out, 0), 1);
    strata_buffer_destroy(&theirs);
    strata_buffer_destroy(&out);
    strata_program_destroy(&others);
    strata_device_close(&other);
}

struct node {
    struct node *next;
    uint64_t value;
};

/* What `walk` answers for the list. */
static uint64_t walked(const struct node *head) {
    uint64_t sum = 0;
    for (const struct node *at = head; at; at = at->next)
        sum = sum * 3 + at->value;
    return sum;
}

/* Pointers that the host wrote lead through the list on the device too, and a change between two launches is seen. */
static void a_linked_list_in_shared_memory(void **state) {
    (void)state;
    enum { NODES = 100 };
    unsigned tried = 0;
    for (int mode = STRATA_SHARED_MIRRORED; mode <= STRATA_SHARED_COHERENT; mode++) {
        strata_buffer *list = NULL, *out = words(device, 2, 0);
        struct node *nodes = NULL;
        uint64_t found = 0, expected = 0;
        if (strata_buffer_create(device,
                                 STRATA_BUFFER(.bytes = NODES * sizeof *nodes, .kind = STRATA_SHARED,
                                               .mode = (enum strata_shared_mode)mode),
                                 &list) != STRATA_OK ||
            !strata_buffer_get_info(list)->same_pointer) {
            strata_buffer_destroy(&list);
            strata_buffer_destroy(&out);
            continue;
        }
        tried++;
        for (uint64_t round = 0; round < 3; round++) {
            CHECK(strata_host_begin(queue, strata_all(list), STRATA_MAP_READ_WRITE, (void **)&nodes));
            for (size_t i = 0; i < NODES; i++) { /* 0, 37, 74, 11, ... in a ring that is cut open */
                size_t next = (i + 37) % NODES;
                nodes[i] = (struct node){next ? &nodes[next] : NULL, i * i + round};
            }
            expected = walked(nodes);
            CHECK(strata_host_end(queue, strata_all(list)));
            CHECK(strata_launch(queue, named("walk"), ONE, STRATA_ARGS(whole(out), whole(list))));
            CHECK(strata_read(queue, strata_all(out), &found));
            assert_true(found == expected);
        }
        strata_buffer_destroy(&list);
        strata_buffer_destroy(&out);
    }
    if (tried == 0) {
        print_message("skipped: kernels of this device do not see the host's addresses\n");
        skip();
    }
}

/* Nothing is left behind by a program, a buffer, a launch and its event, or by a launch that is refused. */
static void ten_thousand_cycles(void **state) {
    (void)state;
    int cycles = contract_is_slow(device) ? 1000 : 10000;
    uint64_t before = 0;
    for (int i = 0; i < cycles; i++) {
        strata_buffer *out = NULL;
        strata_event *event = NULL;
        CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64), &out));
        CHECK(strata_launch_event(queue, named("put"), ONE, STRATA_ARGS(whole(out), u32((uint32_t)i)), &event));
        if (strata_launch(queue, named("put"), ONE, STRATA_ARGS(whole(out))) != STRATA_INVALID_ARGUMENT)
            fail_msg("a launch without its value was not refused");
        if (i % 100 == 0)
            assert_int_equal(word(queue, out, 0), i);
        strata_event_destroy(&event);
        strata_buffer_destroy(&out);
        if (i == cycles / 2)
            before = contract_resident_bytes();
    }
    CHECK(strata_queue_finish(queue));
    assert_true(contract_resident_bytes() <= before + (8u << 20));
}

/* Nodes in two buffers by turns; the second is reached by pointers alone. */
static void a_list_in_two_buffers(void **state) {
    (void)state;
    enum { NODES = 60 };
    unsigned tried = 0;
    for (int mode = STRATA_SHARED_MIRRORED; mode <= STRATA_SHARED_COHERENT; mode++) {
        strata_buffer *half[2] = {NULL, NULL}, *out = words(device, 2, 0);
        struct node *nodes[2];
        uint64_t found = 0, expected = 0;
        enum strata_status status = STRATA_OK;
        for (int i = 0; i < 2 && status == STRATA_OK; i++)
            status = strata_buffer_create(device,
                                          STRATA_BUFFER(.bytes = NODES * sizeof **nodes, .kind = STRATA_SHARED,
                                                        .mode = (enum strata_shared_mode)mode, .name = "half"),
                                          &half[i]);
        if (status == STRATA_OK && (mode == STRATA_SHARED_MIRRORED || !strata_buffer_get_info(half[0])->same_pointer)) {
            EXPECT(strata_launch(queue, named("walk"), ONE,
                                 STRATA_ARGS(whole(out), whole(half[0]), strata_arg_indirect(strata_all(half[1])))),
                   STRATA_UNSUPPORTED, "cannot reach the buffer 'half' by pointers of the host");
            status = STRATA_UNSUPPORTED;
        }
        for (uint64_t round = 0; round < 3 && status == STRATA_OK; round++) {
            for (int i = 0; i < 2; i++)
                CHECK(strata_host_begin(queue, strata_all(half[i]), STRATA_MAP_READ_WRITE, (void **)&nodes[i]));
            for (size_t i = 0; i < 2 * NODES; i++)
                nodes[i % 2][i / 2] =
                    (struct node){i + 1 < 2 * NODES ? &nodes[(i + 1) % 2][(i + 1) / 2] : NULL, i * i + round};
            expected = walked(nodes[0]);
            CHECK(strata_host_end(queue, strata_all(half[0])));
            if (mode == STRATA_SHARED_MAPPED)
                EXPECT(strata_launch(queue, named("walk"), ONE,
                                     STRATA_ARGS(whole(out), whole(half[0]), strata_arg_indirect(strata_all(half[1])))),
                       STRATA_BUSY, "'half'");
            CHECK(strata_host_end(queue, strata_all(half[1])));
            CHECK(strata_launch(queue, named("walk"), ONE,
                                STRATA_ARGS(whole(out), whole(half[0]), strata_arg_indirect(strata_all(half[1])))));
            CHECK(strata_read(queue, strata_all(out), &found));
            assert_true(found == expected);
            tried++;
        }
        for (int i = 0; i < 2; i++)
            strata_buffer_destroy(&half[i]);
        strata_buffer_destroy(&out);
    }
    strata_buffer *x = words(device, 1, 1), *out = words(device, 1, 0);
    EXPECT(strata_launch(queue, named("twice"), ONE, STRATA_ARGS(strata_arg_indirect(strata_all(x)), whole(out))),
           STRATA_INVALID_ARGUMENT, "argument 0");
    EXPECT(strata_launch(queue, named("twice"), ONE, STRATA_ARGS(whole(out), strata_arg_indirect(strata_all(x)))),
           STRATA_INVALID_ARGUMENT, "takes 2 arguments, not 1");
    strata_buffer_destroy(&x);
    strata_buffer_destroy(&out);
    if (tried == 0) {
        print_message("skipped: kernels of this device do not see the host's addresses\n");
        skip();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right),
        cmocka_unit_test(values_of_every_type),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(a_float3_has_16_bytes),
        cmocka_unit_test(slices_are_checked),
        cmocka_unit_test(many_parts_of_one_buffer),
        cmocka_unit_test(an_empty_slice_is_a_null_pointer),
        cmocka_unit_test(pinned_memory_needs_leave),
        cmocka_unit_test(memory_in_the_hosts_hands_is_busy),
        cmocka_unit_test(more_than_16_arguments),
        cmocka_unit_test(large_values_are_copied),
        cmocka_unit_test(shared_and_device_buffers_take_turns),
        cmocka_unit_test(launches_behind_a_gate_keep_their_order),
        cmocka_unit_test(another_device_is_refused),
        cmocka_unit_test(a_linked_list_in_shared_memory),
        cmocka_unit_test(a_list_in_two_buffers),
        cmocka_unit_test(ten_thousand_cycles),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    alignment = strata_device_get_info(device)->base_alignment;
    if (strata_program_build(device, STRATA_PROGRAM(.source = source), &program) != STRATA_OK) {
        fprintf(stderr, "%s\n%s\n", strata_last_error()->message, strata_last_error()->log);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("launches", tests, NULL, NULL);
    strata_program_destroy(&program);
    strata_device_close(&device);
    return failed;
}
