/* What the contract tests share. */
#include "contract.h"

#include "strata/queue.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

void contract_check(enum strata_status status, const char *call, const char *file, int line) {
    if (status == STRATA_OK)
        return;
    const struct strata_error *error = strata_last_error();
    print_error("%s:%d: %s\n  %s: %s\n%s\n", file, line, call, strata_status_name(status), error->message, error->log);
    _fail(file, line);
}

void contract_expect(enum strata_status status, enum strata_status expected, const char *part, const char *call,
                     const char *file, int line) {
    const struct strata_error *error = strata_last_error();
    bool right =
        status == expected && (status == STRATA_OK || (error->status == expected && strstr(error->message, part)));
    if (right)
        return;
    print_error("%s:%d: %s\n  %s, expected %s with '%s': %s\n", file, line, call, strata_status_name(status),
                strata_status_name(expected), part, error->message);
    _fail(file, line);
}

void contract_log_line(enum strata_log_level level, const char *message, void *user) {
    struct contract_log *log = user;
    size_t used = strlen(log->text);
    (void)level;
    snprintf(log->text + used, sizeof log->text - used, "%s\n", message);
}

strata_device *contract_open(void) {
    strata_device *device = NULL;
    enum strata_status status = strata_device_open(NULL, NULL, &device);
    if (status == STRATA_NO_DEVICE)
        printf("skipped: %s\n", strata_last_error()->message);
    else if (status != STRATA_OK)
        printf("no device: %s\n", strata_last_error()->message);
    if (status != STRATA_OK && status != STRATA_NO_DEVICE)
        exit(1);
    return device;
}

strata_device *contract_open_with(const struct strata_device_desc *desc) {
    strata_device *device = NULL;
    CHECK(strata_device_open(NULL, desc, &device));
    return device;
}

bool contract_is_slow(const strata_device *device) {
    return strstr(strata_device_get_info(device)->platform, "Oclgrind") != NULL;
}

void contract_random(void *bytes, size_t size, uint64_t seed) {
    unsigned char *out = bytes;
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (size_t i = 0; i < size; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        out[i] = (unsigned char)((state * UINT64_C(0x2545F4914F6CDD1D)) >> 56);
    }
}

struct gate_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open, entered, left;
};

void contract_gate_init(struct contract_gate *gate) {
    struct gate_lock *lock = calloc(1, sizeof *lock);
    assert_non_null(lock);
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, NULL);
    gate->lock = lock;
}

static enum strata_status wait_at_gate(void *user) {
    struct gate_lock *lock = user;
    pthread_mutex_lock(&lock->mutex);
    lock->entered = true;
    pthread_cond_broadcast(&lock->changed);
    while (!lock->open)
        pthread_cond_wait(&lock->changed, &lock->mutex);
    lock->left = true;
    pthread_cond_broadcast(&lock->changed);
    pthread_mutex_unlock(&lock->mutex);
    return STRATA_OK;
}

void contract_gate_put(struct contract_gate *gate, strata_queue *queue) {
    struct gate_lock *lock = gate->lock;
    CHECK(strata_queue_host(queue, wait_at_gate, lock, NULL));
    pthread_mutex_lock(&lock->mutex);
    while (!lock->entered)
        pthread_cond_wait(&lock->changed, &lock->mutex);
    pthread_mutex_unlock(&lock->mutex);
}

void contract_gate_open(struct contract_gate *gate) {
    struct gate_lock *lock = gate->lock;
    pthread_mutex_lock(&lock->mutex);
    lock->open = true;
    pthread_cond_broadcast(&lock->changed);
    pthread_mutex_unlock(&lock->mutex);
}

void contract_gate_release(struct contract_gate *gate) {
    struct gate_lock *lock = gate->lock;
    pthread_mutex_lock(&lock->mutex);
    while (lock->entered && !lock->left)
        pthread_cond_wait(&lock->changed, &lock->mutex);
    pthread_mutex_unlock(&lock->mutex);
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
    gate->lock = NULL;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

uint64_t contract_resident_bytes(void) {
#ifdef SANITIZED
    return 0;
#endif
    unsigned long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%llu %llu", &total, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

unsigned contract_threads(void) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}
