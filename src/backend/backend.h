/* The contract between strata and a backend: small tables of functions by role.
 *
 * Callers have checked every argument against the device's published limits, so a slot never checks them again. Every
 * slot that can fail returns a status and has set the thread's last error. Slots may be called from several threads at
 * once, but never two at once on one native queue. A NULL slot means what its comment says. Handles are opaque here;
 * each backend casts them to its own structs. `done` is where a command's event goes; NULL: none is wanted. Data
 * commands may be split by the backend, and are never larger than STRATA_CHUNK_BYTES on their way to a driver. */
#ifndef STRATA_BACKEND_H
#define STRATA_BACKEND_H

#include "core/host.h"
#include "strata/memory.h"
#include "strata/program.h"

struct strata_native_device;
struct strata_native_queue;
struct strata_native_event;
struct strata_native_buffer;
struct strata_native_program;
struct strata_native_kernel;

/* No single transfer handed to a driver is larger, so nothing depends on what it does above 2 GiB. */
#define STRATA_CHUNK_BYTES (UINT64_C(1) << 30)

/* A device that enumeration found. The strings of `info` are owned by it; see strata_info_release. */
struct strata_candidate {
    struct strata_device_info info;
    const struct strata_backend *backend;
    void *platform; /* the backend's own handles, valid for the life of the process */
    void *device;
};

struct strata_backend_device {
    /* Appends what it finds to the list; broken platforms are skipped. Fails only when host memory is exhausted. */
    enum strata_status (*enumerate)(struct strata_candidate **list, size_t *count);
    enum strata_status (*open)(const struct strata_candidate *candidate, const struct strata_allocator *hooks,
                               struct strata_native_device **device);
    void (*close)(struct strata_native_device *device);
    enum strata_status (*free_memory)(struct strata_native_device *device, uint64_t *bytes);
    /* What the offset of a part must be a multiple of, in bytes: the base alignment of every device of the context. */
    uint64_t (*part_alignment)(struct strata_native_device *device);
};

struct strata_backend_queue {
    enum strata_status (*create)(struct strata_native_device *device, bool profiling,
                                 struct strata_native_queue **queue);
    void (*destroy)(struct strata_native_queue *queue);
    enum strata_status (*flush)(struct strata_native_queue *queue);
    enum strata_status (*finish)(struct strata_native_queue *queue);
    enum strata_status (*mark)(struct strata_native_queue *queue, struct strata_native_event **done);
    /* Later commands wait for `event`, which is of the same device and whose queue was flushed. */
    enum strata_status (*wait)(struct strata_native_queue *queue, struct strata_native_event *event);

    enum strata_status (*event_wait)(struct strata_native_event *event);
    /* Answers the command's own failure, too. */
    enum strata_status (*event_is_done)(struct strata_native_event *event, bool *done);
    enum strata_status (*event_times)(struct strata_native_event *event, struct strata_event_times *times);
    void (*event_release)(struct strata_native_event *event);
};

struct strata_native_buffer_desc {
    uint64_t bytes; /* not 0 */
    enum strata_kind kind;
    enum strata_access access;
    void *host_pointer;
    enum strata_shared_mode mode; /* COHERENT or MAPPED when SHARED */
    bool kernel_access;
    bool plain; /* PINNED: ordinary host memory in its stead */
};

/* What a backend tells of a buffer that it made. */
struct strata_native_buffer_facts {
    void *host_pointer; /* PINNED without kernel_access, SHARED */
    uint64_t alignment;
    bool same_pointer;
    enum strata_answer zero_copy;
    enum strata_answer pinned;
};

/* A box copy: origins and pitches in bytes, as clEnqueueCopyBufferRect has them, with the slices' offsets as `base`. */
struct strata_native_box {
    uint64_t base, origin[3], row_pitch, layer_pitch;
};

struct strata_backend_buffer {
    enum strata_status (*create)(struct strata_native_device *device, const struct strata_native_buffer_desc *desc,
                                 struct strata_native_buffer_facts *facts, struct strata_native_buffer **buffer);
    /* No command uses it any more. The caller's host memory is not touched after this returns. */
    void (*destroy)(struct strata_native_buffer *buffer);

    /* A part of DEVICE, PINNED or SHARED memory as a buffer of its own, to be destroyed before the whole. No call into
     * the runtime is made before a command uses it. Parts that are alive at a time do not overlap. */
    enum strata_status (*part)(struct strata_native_buffer *whole, uint64_t offset, uint64_t bytes,
                               enum strata_access access, struct strata_native_buffer **part);
    /* Places DEVICE memory now: OUT_OF_MEMORY when the device has not got it, where the runtime or the system tells.
     * *effective: whether it is known to tell. Blocks. */
    enum strata_status (*commit)(struct strata_native_buffer *buffer, enum strata_answer *effective);

    enum strata_status (*write)(struct strata_native_queue *queue, struct strata_native_buffer *buffer, uint64_t offset,
                                uint64_t bytes, const void *source, struct strata_native_event **done);
    enum strata_status (*read)(struct strata_native_queue *queue, struct strata_native_buffer *buffer, uint64_t offset,
                               uint64_t bytes, void *destination, struct strata_native_event **done);
    /* The ranges do not overlap. */
    enum strata_status (*copy)(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                               uint64_t destination_offset, struct strata_native_buffer *source, uint64_t source_offset,
                               uint64_t bytes, struct strata_native_event **done);
    /* pattern_bytes is a power of two up to 128 that divides offset and bytes. */
    enum strata_status (*fill)(struct strata_native_queue *queue, struct strata_native_buffer *buffer, uint64_t offset,
                               uint64_t bytes, const void *pattern, size_t pattern_bytes,
                               struct strata_native_event **done);

    /* Boxes do not overlap. NULL slots: strata copies row by row. */
    enum strata_status (*write_box)(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                    const struct strata_native_box *destination, const void *source,
                                    const struct strata_native_box *source_box, const uint64_t region[3],
                                    struct strata_native_event **done);
    enum strata_status (*read_box)(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                   const struct strata_native_box *source, void *destination,
                                   const struct strata_native_box *destination_box, const uint64_t region[3],
                                   struct strata_native_event **done);
    enum strata_status (*copy_box)(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                   const struct strata_native_box *destination_box, struct strata_native_buffer *source,
                                   const struct strata_native_box *source_box, const uint64_t region[3],
                                   struct strata_native_event **done);

    /* *pointer is known at once, the memory is there when the event is done. Also the bracket of MAPPED, WRAPPED and
     * kernel-accessible PINNED. */
    enum strata_status (*map)(struct strata_native_queue *queue, struct strata_native_buffer *buffer, uint64_t offset,
                              uint64_t bytes, enum strata_map_access access, void **pointer,
                              struct strata_native_event **done);
    enum strata_status (*unmap)(struct strata_native_queue *queue, struct strata_native_buffer *buffer, void *pointer,
                                struct strata_native_event **done);
};

/* One argument of a launch, checked. */
struct strata_native_argument {
    enum strata_arg_type type;
    struct strata_native_buffer *buffer; /* SLICE; NULL passes a null pointer; INDIRECT; NULL is nothing */
    uint64_t offset;                     /* SLICE */
    uint64_t bytes;                      /* of the slice, the local memory or the value */
    const void *value;                   /* VALUE */
};

struct strata_native_grid {
    uint32_t dimensions;
    uint64_t global[3];
    uint64_t local[3]; /* all 0: the runtime chooses */
};

/* What a runtime tells of a kernel: the numbers of strata_kernel_info. */
struct strata_native_kernel_facts {
    uint32_t argument_count;
    uint64_t max_group_items, preferred_multiple, required_group[3], local_bytes, private_bytes;
};

struct strata_backend_program {
    /* BUILD_FAILED comes with the log. `name` is for sentences. */
    enum strata_status (*build)(struct strata_native_device *device, const char *source, size_t length,
                                const char *options, const char *name, struct strata_native_program **program);
    /* Any failure just means that the binary is of no use here. */
    enum strata_status (*load)(struct strata_native_device *device, const void *binary, size_t length,
                               const char *options, struct strata_native_program **program);
    /* Fills text with the binary; an empty text: this runtime has none. */
    enum strata_status (*binary)(struct strata_native_program *program, struct strata_text *binary);
    /* The names of the kernels, each followed by a NUL, in text. */
    enum strata_status (*kernel_names)(struct strata_native_program *program, struct strata_text *names);
    void (*destroy)(struct strata_native_program *program);

    enum strata_status (*kernel_create)(struct strata_native_program *program, const char *name,
                                        struct strata_native_kernel **kernel, struct strata_native_kernel_facts *facts);
    /* kind, is_const; name and type are appended to `strings`, each followed by a NUL. Kind UNKNOWN with empty strings
     * where the runtime does not tell. */
    enum strata_status (*kernel_argument)(struct strata_native_kernel *kernel, uint32_t index,
                                          struct strata_argument_info *info, struct strata_text *strings);
    void (*kernel_destroy)(struct strata_native_kernel *kernel);
    enum strata_status (*launch)(struct strata_native_queue *queue, struct strata_native_kernel *kernel,
                                 const struct strata_native_grid *grid, const struct strata_native_argument *arguments,
                                 size_t count, struct strata_native_event **done);
};

struct strata_backend {
    const char *name;
    const struct strata_backend_device *device;
    const struct strata_backend_queue *queue;
    const struct strata_backend_buffer *buffer;
    const struct strata_backend_program *program;
};

extern const struct strata_backend strata_backend_opencl;

#endif
