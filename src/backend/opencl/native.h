/* The OpenCL backend's own objects, behind the opaque handles of backend.h. */
#ifndef STRATA_BACKEND_OPENCL_NATIVE_H
#define STRATA_BACKEND_OPENCL_NATIVE_H

#include "backend/backend.h"
#include "backend/opencl/calls.h"
#include "core/quirks.h"

#include <pthread.h>
#include <stdatomic.h>

/* USM of cl_intel_unified_shared_memory; all set or all NULL. */
struct strata_cl_usm {
    clSharedMemAllocINTEL_fn shared_alloc;
    clMemBlockingFreeINTEL_fn blocking_free;
    clSetKernelArgMemPointerINTEL_fn set_argument;
    clEnqueueMemcpyINTEL_fn copy;
    clEnqueueMemFillINTEL_fn fill;
};

struct strata_cl_device {
    const struct strata_cl_calls *cl;
    const struct strata_quirks *quirks;
    struct strata_cl_usm usm;
    struct strata_allocator hooks;
    cl_context context;
    cl_device_id id;
    cl_platform_id platform;
    struct strata_device_info info; /* figures only: its strings are gone */
    bool amd_queries;               /* cl_amd_device_attribute_query */
    bool local_counts_double;       /* its driver is one of the quirk's */
    char name[128];
    uint64_t part_alignment;
    cl_command_queue service;             /* for pinned memory's maps and for placing memory; made when first needed */
    struct strata_cl_queue *queues;       /* all of them */
    struct strata_cl_parts *shared_parts; /* of wrapped buffers */
    pthread_mutex_t lock;                 /* for `service`, `queues` and `shared_parts` */
    pthread_mutex_t parts_lock;           /* from taking a launch's parts to letting go of them: parts_end_in_reverse */
};

struct strata_cl_queue {
    struct strata_cl_device *device;
    cl_command_queue id;
    bool out_of_order; /* the caller's: each command is followed by a barrier */
    struct strata_cl_queue *next;
};

struct strata_cl_event {
    struct strata_cl_device *device;
    cl_event id;
};

enum strata_cl_storage { STRATA_CL_MEM, STRATA_CL_SVM, STRATA_CL_USM };

/* A part of a buffer as kernels take it, kept because creating one costs a call. */
struct strata_cl_part {
    uint64_t offset, bytes; /* in the whole cl_mem */
    cl_mem_flags access;
    cl_mem id;
};
#define STRATA_CL_PARTS 64

/* The parts of one cl_mem that is no part itself, the oldest first, for all buffers over it. */
struct strata_cl_parts {
    cl_mem root;
    unsigned users; /* under the device's lock */
    struct strata_cl_parts *next_shared;
    pthread_mutex_t lock; /* for what follows */
    unsigned count, next;
    struct strata_cl_part part[STRATA_CL_PARTS];
};

struct strata_cl_buffer {
    struct strata_cl_device *device;
    uint64_t serial; /* no other buffer of the process has had it; not 0 */
    enum strata_cl_storage storage;
    cl_mem id;
    cl_mem_flags flags;
    uint64_t bytes;
    char *pointer;      /* SVM, USM: the aligned start */
    void *allocation;   /* SVM, USM: what is to be freed */
    void *lifelong_map; /* PINNED: mapped as long as it lives */
    void *host_block;   /* memory of strata's that the cl_mem uses; goes after it */
    cl_mem parent;      /* of a part: its own parts are cut from the whole (OpenCL 3.0, 5.2.1) */
    uint64_t parent_offset;
    atomic_bool unmade;            /* a part of strata's own whose `id` is made when a command first needs it */
    bool wrapped;                  /* the caller's cl_mem */
    bool wait_destructor;          /* the caller's or strata's host memory is under it */
    struct strata_cl_parts *parts; /* made with the first one; under the device's lock */
};

struct strata_cl_program {
    struct strata_cl_device *device;
    cl_program id;
};

/* A kernel object whose arguments in `svm` (a bit for each of the first 64) are SVM or USM pointers. NVIDIA's runtime
 * refuses a cl_mem for an argument that was once an SVM pointer (CL_INVALID_KERNEL_ARGS at the launch), so each pattern
 * has an object of its own. */
#define STRATA_CL_REMEMBERED 16
struct strata_cl_variant {
    uint64_t svm;
    bool indirect; /* it has been told of memory behind pointers, which no other launch is to answer for */
    cl_kernel id;
    /* What the first arguments have: setting one again costs a call, and most do not change. Memory by the serial of
     * the buffer, for a handle may come back for another object. */
    struct strata_cl_remembered {
        uint64_t serial;     /* a whole buffer; 0: not one */
        unsigned char bytes; /* 0: not a value, or not known */
        unsigned char value[16];
    } last[STRATA_CL_REMEMBERED];
};
#define STRATA_CL_VARIANTS 4

struct strata_cl_kernel {
    struct strata_cl_device *device;
    cl_program program; /* retained, to make further variants of */
    char *name;
    pthread_mutex_t lock; /* from the first argument set to the launch; for the variants */
    struct strata_cl_variant variants[STRATA_CL_VARIANTS];
    unsigned variant_count, next_variant;
};

/* The name of an OpenCL error code; "" for an unknown one. */
const char *strata_cl_error_name(cl_int code);

/* strata's status for a code: which of them mean out of memory, lost device and so on. */
enum strata_status strata_cl_status(cl_int code);

/* Fails with the sentence "Device 'x' could not <what>", the code and its name. */
enum strata_status strata_cl_fail(const struct strata_cl_device *device, cl_int code, const char *what);

/* Fills all of `info`; strings are allocated with malloc. */
enum strata_status strata_cl_describe(const struct strata_cl_calls *cl, cl_platform_id platform, cl_device_id id,
                                      struct strata_device_info *info);

/* Free global memory where it can be asked for, else STRATA_UNKNOWN. */
uint64_t strata_cl_free_bytes(const struct strata_cl_calls *cl, cl_device_id id, const struct strata_device_info *info,
                              bool amd_queries);

/* A native device over a context, which it takes over on success. */
enum strata_status strata_cl_device_create(cl_context context, cl_device_id id, const struct strata_device_info *info,
                                           const struct strata_allocator *hooks, struct strata_cl_device **device);

/* A native queue over an OpenCL one, which it takes over on success. */
enum strata_status strata_cl_queue_create(struct strata_cl_device *device, cl_command_queue id,
                                          struct strata_cl_queue **queue);

/* Turns the answer of an enqueue into a status: wraps the event, and keeps out-of-order queues in order. `event` is
 * what the enqueue filled when `done` is not NULL. */
enum strata_status strata_cl_enqueued(struct strata_cl_queue *queue, cl_int code, const char *what, cl_event event,
                                      struct strata_native_event **done);

/* Whether a list of words separated by spaces has the word. */
bool strata_cl_has_word(const char *list, const char *word);

/* Before a launch's parts are taken; true: to be left when they are released. */
bool strata_cl_parts_enter(struct strata_cl_device *device, const struct strata_native_argument *arguments,
                           size_t count);
void strata_cl_parts_leave(struct strata_cl_device *device);

/* Whether an argument is less than the whole of a buffer with storage STRATA_CL_MEM. */
bool strata_cl_is_part(const struct strata_native_argument *argument);

/* The cl_mem of such a part, which the caller releases. */
enum strata_status strata_cl_part_take(const struct strata_native_argument *argument, cl_mem *part);

/* A buffer without memory. */
struct strata_cl_buffer *strata_cl_buffer_new(struct strata_cl_device *device, uint64_t bytes);

/* Sees to it that the buffer has its cl_mem. Every slot that hands it to the runtime begins with this. */
enum strata_status strata_cl_ready(struct strata_cl_buffer *buffer);

/* Before the buffer's own cl_mem goes; no command uses it any more. */
void strata_cl_parts_leave_buffer(struct strata_cl_buffer *buffer);

extern const struct strata_backend_device strata_cl_device_table;
extern const struct strata_backend_queue strata_cl_queue_table;
extern const struct strata_backend_buffer strata_cl_buffer_table;
extern const struct strata_backend_program strata_cl_program_table;

/* The slots of the buffer table that transfer data, in transfer.c and box.c. */
enum strata_status strata_cl_write(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                   uint64_t offset, uint64_t bytes, const void *source,
                                   struct strata_native_event **done);
enum strata_status strata_cl_read(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                  uint64_t offset, uint64_t bytes, void *destination,
                                  struct strata_native_event **done);
enum strata_status strata_cl_copy(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                  uint64_t destination_offset, struct strata_native_buffer *source,
                                  uint64_t source_offset, uint64_t bytes, struct strata_native_event **done);
enum strata_status strata_cl_fill(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                  uint64_t offset, uint64_t bytes, const void *pattern, size_t pattern_bytes,
                                  struct strata_native_event **done);
enum strata_status strata_cl_map(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                 uint64_t offset, uint64_t bytes, enum strata_map_access access, void **pointer,
                                 struct strata_native_event **done);
enum strata_status strata_cl_unmap(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                   void *pointer, struct strata_native_event **done);
enum strata_status strata_cl_write_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                       const struct strata_native_box *destination, const void *source,
                                       const struct strata_native_box *source_box, const uint64_t region[3],
                                       struct strata_native_event **done);
enum strata_status strata_cl_read_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                      const struct strata_native_box *source, void *destination,
                                      const struct strata_native_box *destination_box, const uint64_t region[3],
                                      struct strata_native_event **done);
enum strata_status strata_cl_copy_box(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                      const struct strata_native_box *destination_box,
                                      struct strata_native_buffer *source, const struct strata_native_box *source_box,
                                      const uint64_t region[3], struct strata_native_event **done);

#endif
