/* Devices: what the machine has, choosing one, opening it.
 *
 *     strata_device_list *list = NULL;
 *     if (strata_device_list_create(&list) == STRATA_OK)
 *         for (size_t i = 0; i < strata_device_list_count(list); i++)
 *             puts(strata_device_list_info(list, i)->name);
 *     strata_device_list_destroy(&list);
 *
 *     strata_device *dev = NULL;
 *     if (strata_device_open("gpu", NULL, &dev) != STRATA_OK) ...
 *     strata_device_close(&dev);
 *
 * A device may be used from several threads at once. */
#ifndef STRATA_DEVICE_H
#define STRATA_DEVICE_H

#include "strata/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strata_device strata_device;
typedef struct strata_queue strata_queue;
typedef struct strata_event strata_event;
typedef struct strata_buffer strata_buffer;

enum strata_device_type {
    STRATA_DEVICE_OTHER = 0,
    STRATA_DEVICE_CPU = 1,
    STRATA_DEVICE_GPU = 2,
    STRATA_DEVICE_ACCELERATOR = 3
};

/* The modes of shared memory, best last. NONE: the device (or the buffer) has none. */
enum strata_shared_mode {
    STRATA_SHARED_NONE = 0,
    STRATA_SHARED_MIRRORED = 1, /* whole-range copies at the brackets; works everywhere */
    STRATA_SHARED_MAPPED = 2,   /* coarse-grained SVM: the runtime moves the range at the brackets */
    STRATA_SHARED_COHERENT = 3  /* fine-grained SVM or USM shared: host and device see one memory */
};

/* Bits of strata_device_info.shared_modes: 1 << enum strata_shared_mode. Bits of .svm, as the runtime reports them: */
enum strata_svm {
    STRATA_SVM_COARSE = 1,
    STRATA_SVM_FINE_BUFFER = 2,
    STRATA_SVM_FINE_SYSTEM = 4,
    STRATA_SVM_ATOMICS = 8
};

/* Bits of strata_device_info.usm (cl_intel_unified_shared_memory). */
enum strata_usm { STRATA_USM_HOST = 1, STRATA_USM_DEVICE = 2, STRATA_USM_SHARED = 4 };

/* Everything strata knows of a device. Figures that the runtime does not tell are STRATA_UNKNOWN, answers it does not
 * give are STRATA_NOT_KNOWN, strings are "". All sizes and alignments are bytes. The struct belongs to the list or
 * device it was read from and lives as long; later versions add members at its end only. */
struct strata_device_info {
    size_t size; /* of this struct in the library in use */

    const char *backend; /* "opencl" */
    const char *name;
    const char *vendor;
    const char *platform;         /* CL_PLATFORM_NAME */
    const char *platform_version; /* CL_PLATFORM_VERSION */
    const char *device_version;   /* CL_DEVICE_VERSION */
    const char *driver_version;
    const char *language_version; /* CL_DEVICE_OPENCL_C_VERSION */
    const char *extensions;       /* separated by spaces */
    enum strata_device_type type;
    uint32_t index;   /* its place in the list; selects it */
    uint32_t version; /* of the device: major * 100 + minor * 10, so 120, 300 */
    uint32_t vendor_id;

    bool has_uuid; /* cl_khr_device_uuid */
    uint8_t uuid[16];
    bool has_pci; /* cl_khr_pci_bus_info, or a vendor's own query */
    uint32_t pci_domain, pci_bus, pci_device, pci_function;

    uint64_t global_bytes;     /* all global memory */
    uint64_t free_bytes;       /* free at the time of the query; see strata_device_free_memory */
    uint64_t max_buffer_bytes; /* the largest single buffer */
    uint64_t cache_bytes;      /* of global memory */
    uint64_t cache_line_bytes;
    uint64_t local_bytes;        /* per work-group */
    bool local_is_dedicated;     /* false: local memory lies in global memory (CPUs) */
    uint64_t constant_bytes;     /* all __constant arguments of one kernel together */
    uint32_t constant_arguments; /* how many __constant arguments one kernel may have */
    uint64_t base_alignment;     /* where a kernel argument slice may start; a power of two */
    uint64_t private_registers;  /* 32-bit registers per compute unit where told, else STRATA_UNKNOWN */

    enum strata_answer unified;              /* host and device share the same physical memory */
    enum strata_answer pinned_kernel_access; /* kernels may use PINNED memory without brackets */
    uint32_t svm;                            /* bits of enum strata_svm */
    uint32_t usm;                            /* bits of enum strata_usm */
    uint32_t shared_modes;                   /* bits 1 << enum strata_shared_mode */

    uint32_t compute_units;
    uint32_t clock_mhz;
    uint64_t max_group_items;   /* work-items per work-group */
    uint64_t max_group_size[3]; /* per dimension */
    uint64_t sub_group_size;    /* warp, wavefront or sub-group where told, else STRATA_UNKNOWN */
    bool sub_groups;            /* kernels can use sub-group functions */
    bool fp16, fp64;            /* arithmetic in half and double */
    bool atomics64;             /* 64-bit integer atomics */
    bool little_endian;

    uint64_t timer_resolution_ns; /* of event times; STRATA_UNKNOWN where the timer is known to have none */
    bool timer_is_reliable;       /* false: event times of this runtime are not to be believed */
    const char *timer_note;       /* why not, or "" */
    bool serialised;              /* strata lets one thread at a time into this runtime, which is not thread-safe */
};

typedef struct strata_device_list strata_device_list;

/* Lists the devices of all platforms. Platforms that are broken or have no device are skipped; a device that several
 * platforms offer is listed once if, and only if, its UUID or PCI id and its backend and driver are equal. Loads the
 * runtimes, so the first call may take seconds; blocks. On success *list is the caller's, to be destroyed.
 * Errors: NO_DEVICE with a hint (vendors directory, each .icd, device files that cannot be read), OUT_OF_MEMORY,
 * FORKED. On failure *list is NULL. Any thread. Source: OpenCL 3.0, 4.1 and 4.2. */
STRATA_API enum strata_status strata_device_list_create(strata_device_list **list);
STRATA_API size_t strata_device_list_count(const strata_device_list *list);

/* NULL when `index` is not below the count. The info lives as long as the list. */
STRATA_API const struct strata_device_info *strata_device_list_info(const strata_device_list *list, size_t index);

/* The index of the device that `selector` names (see strata_device_open) in *index. Errors: NO_DEVICE, which lists
 * what there is. Does not block. */
STRATA_API enum strata_status strata_device_list_select(const strata_device_list *list, const char *selector,
                                                        size_t *index);
STRATA_API void strata_device_list_destroy(strata_device_list **list);

struct strata_device_desc {
    size_t size;
    const char *name;                         /* for messages; NULL: the device's own */
    const struct strata_allocator *allocator; /* copied; NULL: malloc and free */
    strata_log_function log;                  /* NULL: nothing is logged */
    void *log_user;
    enum strata_log_level log_level; /* what `log` gets; NONE means WARNING when `log` is set */
    bool profiling;                  /* the default queue records event times */
    bool no_cache;                   /* no program binary is read from or written to disk */
    const char *cache_directory;     /* NULL: STRATA_CACHE_DIR, else the user's cache folder */
    uint64_t memory_limit; /* DEVICE memory that strata takes in all, in bytes; 0: no limit but the device's */
    uint64_t pinned_limit; /* the same for PINNED memory; 0: a quarter of the machine's memory */
    const char *trace;     /* a file for a trace of the device's memory (strata/trace.h); NULL: STRATA_TRACE, else none.
                              One that cannot be written is a WARNING in the log */
    const char *fault; /* calls that are to fail, see strata/fault.h; NULL: the environment's STRATA_FAULT, or none */
};
#define STRATA_DEVICE_DESC(...)                                                                                        \
    (&(const struct strata_device_desc){.size = sizeof(struct strata_device_desc), __VA_ARGS__})
STRATA_API void strata_device_desc_init(struct strata_device_desc *desc);

/* Opens a device: a context of its own and a default queue.
 *
 * `selector`: an index in the list ("0"); "gpu", "cpu" or "accelerator", with ":N" for the N-th of them; a UUID (32
 * hexadecimal digits, dashes allowed); a PCI id ("0000:41:00.0" or "41:00.0"); else a part of the platform's, vendor's
 * or device's name in any case, "pocl" or "nvidia" say, with ":N" for the N-th. NULL or "": the environment's
 * STRATA_DEVICE, and without that the first GPU, else accelerator, else whatever there is.
 *
 * Blocks. On success *device is the caller's. Errors: NO_DEVICE (names what there is), INVALID_ARGUMENT, OUT_OF_MEMORY,
 * FORKED, INTERNAL. On failure *device is NULL. Any thread. */
STRATA_API enum strata_status strata_device_open(const char *selector, const struct strata_device_desc *desc,
                                                 strata_device **device);

/* Waits for all work of the device, logs a leak report that names each buffer still alive (WARNING), and gives the
 * device back. Objects that are still alive stay valid for their destroy functions only. Takes NULL and a pointer to
 * NULL; clears *device. Blocks. Not while another thread uses the device. */
STRATA_API void strata_device_close(strata_device **device);

/* Lives as long as the device. */
STRATA_API const struct strata_device_info *strata_device_get_info(const strata_device *device);

/* The default queue; the device's own, never destroyed by the caller. */
STRATA_API strata_queue *strata_device_queue(strata_device *device);

/* Free global memory in bytes, now. UNSUPPORTED where the runtime has no such query: free memory is then not known,
 * and strata does not guess. Source: cl_amd_device_attribute_query; on CPU devices the kernel's MemAvailable. */
STRATA_API enum strata_status strata_device_free_memory(strata_device *device, uint64_t *bytes);

/* What strata itself holds on a device. Bytes as requested. A peak is exact when one thread creates the buffers, and
 * with several never too low: see struct strata_pool_stats. */
struct strata_memory_stats {
    size_t size;
    struct {
        uint64_t live_bytes, peak_bytes; /* now; the most there ever was */
        uint64_t live_buffers, total_buffers;
    } kind[4];                       /* by enum strata_kind */
    uint64_t live_bytes, peak_bytes; /* all kinds together */
    uint64_t pending_bytes;          /* destroyed by the caller, still used by queued work */
};

/* Fills *stats; cheap enough for every frame. The caller sets stats->size to sizeof *stats. Any thread. */
STRATA_API enum strata_status strata_device_stats(strata_device *device, struct strata_memory_stats *stats);

/* What happened between strata_device_stats_push and the strata_device_stats_pop that belongs to it. */
struct strata_scope_stats {
    size_t size;
    int64_t net_bytes, net_buffers; /* created less destroyed: negative when more was given back */
    uint64_t peak_bytes;            /* the most that was alive above what was alive at the push */
    uint64_t created, destroyed;    /* buffers */
};

/* Begins and ends a scope of statistics. Scopes nest; they are the device's, and see what all threads do. `stats` may
 * be NULL, else the caller sets stats->size. Errors: INVALID_ARGUMENT for a pop without a push, OUT_OF_MEMORY. */
STRATA_API enum strata_status strata_device_stats_push(strata_device *device);
STRATA_API enum strata_status strata_device_stats_pop(strata_device *device, struct strata_scope_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
