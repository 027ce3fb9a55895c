/* Writes the dump of a device with pools, holes, pending work and buffers of every kind, to a file,
 * for check_memory_dump.py. */
#include "contract.h"

#include "strata/pool.h"
#include "strata/transfer.h"

#define COUNT 60

static strata_device *device;
static const char *path;

static bool print(const char *text, size_t bytes, void *user) {
    return fwrite(text, 1, bytes, user) == bytes;
}

static void dump_scene(void **state) {
    (void)state;
    strata_pool *pool = NULL;
    strata_buffer *buffers[COUNT] = {NULL}, *large = NULL, *own = NULL, *pinned = NULL, *wrapped = NULL;
    static _Alignas(4096) char memory[4096];
    struct contract_gate gate;
    strata_queue *queue = strata_device_queue(device);
    CHECK(strata_pool_create(device,
                             STRATA_POOL(.name = "scene \"1\"", .block_bytes = 1 << 20, .max_block_bytes = 1 << 20,
                                         .dedicated_bytes = 512 << 10, .limit_bytes = 64 << 20),
                             &pool));
    for (uint64_t i = 0; i < COUNT; i++)
        CHECK(strata_buffer_create(device,
                                   STRATA_BUFFER(.bytes = 1 + i * i * 17, .pool = pool, .site = STRATA_HERE,
                                                 .name = i % 2 ? "odd \xff one" : "gr\xc3\xbcn\n"),
                                   &buffers[i]));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 700 << 10, .pool = pool, .name = "large"), &large));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 3000, .dedicated = true, .name = "own"), &own));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 5000, .kind = STRATA_PINNED), &pinned));
    CHECK(strata_buffer_create(
        device, STRATA_BUFFER(.bytes = sizeof memory, .kind = STRATA_WRAPPED, .host_pointer = memory, .name = "host"),
        &wrapped));
    for (int i = 0; i < COUNT; i += 3)
        strata_buffer_destroy(&buffers[i]);
    CHECK(strata_pool_trim(pool, UINT64_MAX, NULL)); /* they go back to their blocks */
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    uint32_t value = 7;
    CHECK(strata_fill_async(queue, strata_sub(strata_all(buffers[31]), 0, 4), &value, sizeof value, NULL));
    strata_buffer_destroy(&buffers[31]);
    strata_buffer_destroy(&buffers[32]);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    CHECK(strata_device_dump(device, print, file));
    assert_int_equal(fclose(file), 0);
    contract_gate_open(&gate);
    CHECK(strata_queue_finish(queue));
    contract_gate_release(&gate);
    for (int i = 0; i < COUNT; i++)
        strata_buffer_destroy(&buffers[i]);
    strata_buffer_destroy(&large);
    strata_buffer_destroy(&own);
    strata_buffer_destroy(&pinned);
    strata_buffer_destroy(&wrapped);
    strata_pool_destroy(&pool);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dump_scene)};
    path = argc == 2 ? argv[1] : "/dev/null";
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
