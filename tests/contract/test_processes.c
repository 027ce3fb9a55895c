/* fork and exit: a child of a process with a loaded runtime gets FORKED and does not hang; exit with everything alive
 * ends at once with its own status; and what a process without any device is told. */
#include "contract.h"

#include "strata/opencl.h"
#include "strata/transfer.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 20
#define COUNT_JOB 100

static const char *own_path;

/* Runs `body` in a child that is killed when it hangs; its exit status, or -1. */
static int in_child(int (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static strata_device *device;
static strata_buffer *buffer;
static strata_event *event;

#define REFUSED(call)                                                                                                  \
    if ((call) != STRATA_FORKED || !strstr(strata_last_error()->message, "forked"))                                    \
    return __LINE__ % 200 + 1

static int use_in_child(void) {
    strata_device_list *list = NULL;
    strata_device *opened = NULL;
    strata_buffer *made = NULL;
    strata_queue *queue = strata_device_queue(device), *other = NULL;
    char byte = 0;
    bool done;
    void *pointer;
    REFUSED(strata_device_list_create(&list));
    REFUSED(strata_device_open(NULL, NULL, &opened));
    REFUSED(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4), &made));
    REFUSED(strata_queue_create(device, NULL, &other));
    REFUSED(strata_write(queue, strata_sub(strata_all(buffer), 0, 1), &byte));
    REFUSED(strata_map(queue, strata_all(buffer), STRATA_MAP_READ, &pointer));
    REFUSED(strata_queue_finish(queue));
    REFUSED(strata_event_wait(event));
    REFUSED(strata_event_is_done(event, &done));
    strata_event_destroy(&event);
    strata_buffer_destroy(&buffer);
    strata_device_close(&device);
    return 0;
}

static void test_child_of_a_user(void **state) {
    (void)state;
    unsigned char found[64];
    device = contract_open_with(NULL);
    strata_queue *queue = strata_device_queue(device);
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64), &buffer));
    CHECK(strata_queue_mark(queue, &event));
    assert_int_equal(in_child(use_in_child), 0);
    CHECK(strata_fill(queue, strata_all(buffer), "p", 1)); /* the parent goes on */
    CHECK(strata_read(queue, strata_all(buffer), found));
    assert_int_equal(found[63], 'p');
    strata_event_destroy(&event);
    strata_buffer_destroy(&buffer);
    strata_device_close(&device);
}

/* Starts this program anew with a job and a vendors folder; its exit status. */
static int run_job(const char *job, const char *vendors) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_S);
        if (vendors)
            setenv("OCL_ICD_VENDORS", vendors, 1);
        execl(own_path, own_path, job, (char *)NULL);
        _exit(126);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_exit_with_everything_alive(void **state) {
    (void)state;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(run_job("exit", NULL), 42);
    assert_int_equal(run_job("terminate", NULL), 1000 + SIGTERM);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 15);
}

static void test_fork_before_any_use(void **state) {
    (void)state;
    assert_int_equal(run_job("fork first", NULL), 0);
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_no_device(void **state) {
    (void)state;
    char folder[] = "/tmp/strata-vendors-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    int outcome = run_job("no device", folder);
    if (outcome == CONTRACT_SKIPPED) {
        rmdir(folder);
        print_message("skipped: this ICD loader looks for drivers beside OCL_ICD_VENDORS too\n");
        skip();
    }
    assert_int_equal(outcome, 0);
    snprintf(path, sizeof path, "%s/broken.icd", folder);
    write_file(folder, "broken.icd", "libno-such-driver.so.1\n");
    assert_int_equal(run_job("broken driver", folder), 0);
    unlink(path);
    rmdir(folder);
}

/* The first line of the first .icd in the folder. */
static bool read_icd(const char *folder, char *line, int size) {
    DIR *list = opendir(folder);
    struct dirent *entry;
    bool found = false;
    while (list && !found && (entry = readdir(list)) != NULL) {
        size_t length = strlen(entry->d_name);
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0 ? fopen(path, "r") : NULL;
        found = file && fgets(line, size, file) != NULL;
        if (file)
            fclose(file);
    }
    if (list)
        closedir(list);
    return found;
}

/* The same driver twice, beside one that does not load, one that is empty, one that is no driver and a folder, which
 * nobody can read as a file: the same devices. */
static void test_odd_drivers(void **state) {
    (void)state;
    static const char *const names[] = {"first.icd", "second.icd", "missing.icd", "empty.icd", "other.icd"};
    char folder[] = "/tmp/strata-vendors-XXXXXX", line[512] = "", path[64];
    const char *vendors = getenv("OCL_ICD_VENDORS");
    if (!vendors || !read_icd(vendors, line, sizeof line)) {
        print_message("skipped: no folder of drivers was chosen\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    write_file(folder, names[0], line);
    write_file(folder, names[1], line);
    write_file(folder, names[2], "libno-such-driver.so.1\n");
    write_file(folder, names[3], "");
    write_file(folder, names[4], "libm.so.6\n");
    snprintf(path, sizeof path, "%s/folder.icd", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    int usual = run_job("count", NULL), odd = run_job("count", folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/folder.icd", folder);
    rmdir(path);
    rmdir(folder);
    assert_true(usual > COUNT_JOB && usual < COUNT_JOB + 50);
    assert_int_equal(odd, usual);
}

/* COUNT_JOB and as many as there are devices. */
static int job_count(void) {
    strata_device_list *list = NULL;
    if (strata_device_list_create(&list) != STRATA_OK)
        return 1;
    int count = (int)strata_device_list_count(list);
    strata_device_list_destroy(&list);
    return COUNT_JOB + count;
}

static int job_exit(bool terminate) {
    device = contract_open();
    void *pointer = NULL;
    struct contract_gate gate;
    strata_queue *queue = strata_device_queue(device);
    if (strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096), &buffer) != STRATA_OK ||
        strata_map(queue, strata_all(buffer), STRATA_MAP_WRITE, &pointer) != STRATA_OK)
        return 1;
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue); /* host work that never ends */
    if (terminate)
        raise(SIGTERM);
    exit(42);
}

static int open_in_child(void) {
    device = contract_open();
    if (!device)
        return 2;
    strata_device_close(&device);
    return 0;
}

/* CONTRACT_SKIPPED where the loader itself still has platforms, in spite of the vendors folder that it was given. */
static int job_no_device(const char *part) {
    cl_uint platforms = 0;
    if (clGetPlatformIDs(0, NULL, &platforms) == CL_SUCCESS && platforms > 0)
        return CONTRACT_SKIPPED;
    enum strata_status status = strata_device_open(NULL, NULL, &device);
    bool right = status == STRATA_NO_DEVICE && strstr(strata_last_error()->message, part) &&
                 strstr(strata_last_error()->message, "vendors directory");
    if (!right)
        fprintf(stderr, "%s: %s\n", strata_status_name(status), strata_last_error()->message);
    return right ? 0 : 1;
}

static int do_job(const char *job) {
    if (strcmp(job, "exit") == 0 || strcmp(job, "terminate") == 0)
        return job_exit(job[0] == 't');
    if (strcmp(job, "fork first") == 0)
        return in_child(open_in_child);
    if (strcmp(job, "count") == 0)
        return job_count();
    return job_no_device(strcmp(job, "no device") == 0 ? "no .icd file"
                                                       : "libno-such-driver.so.1, which does not load");
}

int main(int argc, char **argv) {
    if (argc > 1)
        return do_job(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_with_everything_alive),
        cmocka_unit_test(test_fork_before_any_use),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_odd_drivers),
        cmocka_unit_test(test_child_of_a_user),
    };
    own_path = argv[0];
    strata_device *probe = NULL;
    if (in_child(open_in_child) == 2) { /* without loading a runtime here */
        probe = contract_open();
        return probe ? 1 : CONTRACT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
