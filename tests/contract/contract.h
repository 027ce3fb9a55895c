/* What the contract tests share: the device of the runtime under test, a log that is kept, random data, skipping. */
#ifndef STRATA_TESTS_CONTRACT_H
#define STRATA_TESTS_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "strata/device.h"

/* The exit status that meson counts as skipped. A test program prints "skipped: " and the reason before. */
#define CONTRACT_SKIPPED 77

/* Fails the test with strata's own sentence and log. */
#define CHECK(call) contract_check((call), #call, __FILE__, __LINE__)
void contract_check(enum strata_status status, const char *call, const char *file, int line);

/* Expects a status other than OK, and a sentence that holds `part`. */
#define EXPECT(call, status, part) contract_expect((call), (status), (part), #call, __FILE__, __LINE__)
void contract_expect(enum strata_status status, enum strata_status expected, const char *part, const char *call,
                     const char *file, int line);

/* The lines that strata logged to devices opened by contract_open_with, each ended by a newline. */
struct contract_log {
    char text[16384];
};
void contract_log_line(enum strata_log_level level, const char *message, void *user);

/* The device under test: the first one of the runtime that the environment leaves visible. NULL, with "skipped: " and
 * the reason printed, when there is none. */
strata_device *contract_open(void);

/* One more device of its own context. `desc` may be NULL. */
strata_device *contract_open_with(const struct strata_device_desc *desc);

/* Whether this is Oclgrind, which interprets every work-item: fewer repetitions. */
bool contract_is_slow(const strata_device *device);

/* Incompressible bytes from a seed. */
void contract_random(void *bytes, size_t size, uint64_t seed);

/* Host work that waits: it keeps a queue from going on for as long as a test needs. */
struct contract_gate {
    void *lock;
};
void contract_gate_init(struct contract_gate *gate);
void contract_gate_put(struct contract_gate *gate, strata_queue *queue); /* returns when the queue has stopped there */
void contract_gate_open(struct contract_gate *gate);                     /* and goes on */
void contract_gate_release(struct contract_gate *gate);

/* Resident memory of the process in bytes; 0 under a sanitizer, which keeps freed memory back, so that nothing can be
 * told by it. */
uint64_t contract_resident_bytes(void);

/* Threads of the process. */
unsigned contract_threads(void);

#endif
