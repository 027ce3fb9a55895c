/* Which device a selector names, from a made-up list; and what a machine without a device is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/device.h"
#include "core/quirks.h"

static struct strata_candidate list[4];

static void make_list(void) {
    static const char *const names[] = {"cpu-model", "NVIDIA H200", "Radeon Pro", "NVIDIA H200"};
    static const char *const platforms[] = {"Portable Computing Language", "NVIDIA CUDA", "AMD APP", "NVIDIA CUDA"};
    for (uint32_t i = 0; i < 4; i++) {
        struct strata_device_info *info = &list[i].info;
        info->index = i;
        info->backend = "opencl";
        info->name = names[i];
        info->platform = platforms[i];
        info->vendor = i == 2 ? "Advanced Micro Devices" : "a vendor";
        info->type = i ? STRATA_DEVICE_GPU : STRATA_DEVICE_CPU;
        info->has_pci = i > 0;
        info->pci_bus = 0x40 + i;
        info->has_uuid = i == 3;
        for (unsigned j = 0; j < 16; j++)
            info->uuid[j] = (uint8_t)(j * 17);
    }
}

static void expect(const char *selector, size_t expected) {
    size_t index = 99;
    enum strata_status status = strata_candidates_select(list, 4, selector, &index);
    if (status != STRATA_OK || index != expected)
        print_error("'%s' gave %zu\n", selector ? selector : "NULL", index);
    assert_int_equal(status, STRATA_OK);
    assert_int_equal(index, expected);
}

static void test_names(void **state) {
    (void)state;
    make_list();
    expect(NULL, 1); /* the first GPU */
    expect("", 1);
    expect("2", 2);
    expect("gpu", 1);
    expect("GPU:1", 2);
    expect("gpu:2", 3);
    expect("cpu", 0);
    expect("pocl", 0);
    expect("nvidia", 1);
    expect("h200:1", 3);
    expect("advanced micro", 2);
    expect("opencl:3", 3);
    expect("00112233-4455-6677-8899-aabbccddeeff", 3);
    expect("GPU-00112233-4455-6677-8899-AABBCCDDEEFF", 3);
    expect("0000:42:00.0", 2);
    expect("41:00.0", 1);
}

static void test_hostile(void **state) {
    (void)state;
    make_list();
    char *longest = malloc(10001);
    assert_non_null(longest);
    memset(longest, 'x', 10000);
    longest[10000] = '\0';
    const char *const none[] = {"4", "99999999999999999999", "gpu:3", "intel", "accelerator", "::::", "h200:x", longest,
                                "0000:99:00.0", "ffffffff-ffff-ffff-ffff-ffffffffffff", "\n", "gpu:",
                                "gGPU-00112233-4455-6677-8899-aabbccddeeff"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        size_t index;
        assert_int_equal(strata_candidates_select(list, 4, none[i], &index), STRATA_NO_DEVICE);
        if (none[i] != longest)
            assert_non_null(strstr(strata_last_error()->message, "1: NVIDIA H200 (NVIDIA CUDA)"));
    }
    free(longest);
}

static void hint_for(const char *folder, const char *part) {
    struct strata_text text = {0};
    strata_no_device_hint(&text, folder);
    assert_non_null(text.data);
    if (!strstr(text.data, part))
        print_error("'%s' is not in: %s\n", part, text.data);
    assert_non_null(strstr(text.data, part));
    strata_text_release(&text);
}

static void put_file(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void test_hints(void **state) {
    (void)state;
    char folder[] = "/tmp/strata-hints-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.icd", folder);
    hint_for("/no/such/folder", "cannot be opened");
    hint_for(folder, "holds no .icd file");
    put_file(path, "libno-such-driver.so\n");
    hint_for(folder, "libno-such-driver.so, which does not load");
    put_file(path, "");
    hint_for(folder, "is empty");
    put_file(path, "libc.so.6\n");
    hint_for(folder, "loads but offers no device");
    unlink(path);
    rmdir(folder);
}

static void test_quirks(void **state) {
    (void)state;
    assert_true(strata_quirks_of("Oclgrind")->serialise);
    assert_non_null(strata_quirks_of("rusticl")->timer_note);
    assert_false(strata_quirks_of("Intel(R) OpenCL")->serialise);
    assert_null(strata_quirks_of("")->timer_note);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_hints), cmocka_unit_test(test_quirks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
