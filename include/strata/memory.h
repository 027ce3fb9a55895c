/* Memory: buffers of every kind, slices of them, maps and host brackets.
 *
 *     strata_buffer *x = NULL;
 *     strata_buffer_create(dev, STRATA_BUFFER(.bytes = n * sizeof(float), .name = "samples"), &x);
 *     strata_write(queue, strata_all(x), samples);
 *     strata_buffer_destroy(&x);
 *
 * Buffers may be used from several threads at once. */
#ifndef STRATA_MEMORY_H
#define STRATA_MEMORY_H

#include "strata/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

enum strata_kind {
    STRATA_DEVICE = 0,  /* the device's global memory; no host pointer */
    STRATA_PINNED = 1,  /* page-locked host memory: transfers at full link speed; always a host pointer */
    STRATA_WRAPPED = 2, /* the caller's own host memory, registered in place */
    STRATA_SHARED = 3   /* one host pointer, stable for life; the data migrates */
};

typedef struct strata_pool strata_pool; /* strata/pool.h */

/* How kernels use a buffer. It is a promise to the runtime. */
enum strata_access { STRATA_READ_WRITE = 0, STRATA_READ_ONLY = 1, STRATA_WRITE_ONLY = 2 };

struct strata_buffer_desc {
    size_t size;
    uint64_t bytes; /* 0 makes an empty buffer, legal everywhere and holding nothing */
    enum strata_kind kind;
    const char *name; /* copied; for messages and the leak report */
    enum strata_access access;
    void *host_pointer;           /* WRAPPED: the memory, which must outlive the buffer and the work that uses it */
    enum strata_shared_mode mode; /* SHARED: this mode or UNSUPPORTED; NONE: the best that the device has */
    bool over_limit;              /* try a size above max_buffer_bytes: first and last word are written and read back */
    bool kernel_access;           /* PINNED: kernels may use it; host access then needs brackets */
    strata_pool *pool;            /* NULL: the device's own for DEVICE and PINNED memory */
    bool dedicated;               /* memory of its own, not a piece of a pool */
    strata_queue *queue;    /* DEVICE: memory that work of this queue still uses suits best; NULL: the default queue */
    const char *site;       /* where it is created, such as STRATA_HERE, for the leak report; not copied */
    bool pinned_or_nothing; /* PINNED: fails where memory cannot be page-locked; else plain memory is taken */
};

/* "file.c:12" of the place where it stands. */
#define STRATA_HERE STRATA_HERE_AT(__FILE__, __LINE__)
#define STRATA_HERE_AT(file, line) STRATA_HERE_TEXT(file, line)
#define STRATA_HERE_TEXT(file, line) file ":" #line

#define STRATA_BUFFER(...) (&(const struct strata_buffer_desc){.size = sizeof(struct strata_buffer_desc), __VA_ARGS__})
STRATA_API void strata_buffer_desc_init(struct strata_buffer_desc *desc);

/* Creates a buffer; *buffer is the caller's. What strata allocates is aligned for the device, and where
 * the host has a pointer to it, to 256 bytes at least.
 *
 * Contents are undefined (WRAPPED: the caller's). Blocks for as long as the runtime takes; WRAPPED copies the memory to
 * devices that keep their own. Errors: INVALID_ARGUMENT (a WRAPPED pointer that is NULL or overlaps
 * memory wrapped already on this device), TOO_LARGE (over max_buffer_bytes without `over_limit`),
 * OUT_OF_MEMORY, UNSUPPORTED, FORKED. On failure *buffer is NULL and nothing is held.
 *
 * WRAPPED memory that is not aligned for the device (strata_check_alignment) works all the same, but is copied at the
 * brackets: that is logged as a WARNING, and `zero_copy` says NO.
 * Source: OpenCL 3.0, 5.2.1 and 5.6. */
STRATA_API enum strata_status strata_buffer_create(strata_device *device, const struct strata_buffer_desc *desc,
                                                   strata_buffer **buffer);

/* Gives a buffer back. Legal while work that uses it is in flight: the memory goes when that work is done, without this
 * call waiting; WRAPPED alone waits, because the caller may free the memory next. A mapped buffer is unmapped. Takes
 * NULL and a pointer to NULL; clears *buffer. */
STRATA_API void strata_buffer_destroy(strata_buffer **buffer);

/* What a buffer is. Lives as long as the buffer; later versions add members at the end. */
struct strata_buffer_info {
    size_t size;
    strata_device *device;
    const char *name; /* "" when none was given */
    enum strata_kind kind;
    enum strata_access access;
    uint64_t bytes;
    void *host_pointer;           /* NULL for DEVICE, and for PINNED with `kernel_access` outside of brackets */
    uint64_t alignment;           /* what the start is known to be aligned to, in bytes */
    enum strata_shared_mode mode; /* of SHARED */
    bool same_pointer;            /* kernels see the host's addresses: linked structures work */
    enum strata_answer zero_copy; /* WRAPPED, SHARED: kernels use the host's memory itself, no copy */
    enum strata_answer pinned;    /* the host memory is page-locked; NO for plain memory in its stead */
    bool host_brackets;           /* host access needs strata_host_begin and strata_host_end */
    bool kernel_argument;         /* kernels may use it */
};
STRATA_API const struct strata_buffer_info *strata_buffer_get_info(const strata_buffer *buffer);

/* A part of a buffer: what copies, kernels and primitives take. A plain value; it owns nothing. */
typedef struct strata_slice {
    strata_buffer *buffer;
    uint64_t offset; /* bytes from the buffer's start */
    uint64_t bytes;
} strata_slice;

/* The whole buffer; the empty slice for NULL. */
STRATA_API strata_slice strata_all(strata_buffer *buffer);

/* `bytes` bytes of a slice from `offset` on, relative to that slice. Not checked here: whoever takes the slice checks
 * that it lies in its buffer. An offset that overflows gives a slice that every call refuses. */
STRATA_API strata_slice strata_sub(strata_slice slice, uint64_t offset, uint64_t bytes);

enum strata_map_access {
    STRATA_MAP_READ = 1,
    STRATA_MAP_WRITE = 2,
    STRATA_MAP_READ_WRITE = 3,
    STRATA_MAP_OVERWRITE = 6 /* write, with the former contents of the range lost */
};

/* Maps a part of a DEVICE buffer into host memory: *pointer is valid until strata_unmap. Blocks until the
 * queue's earlier work is done and the memory is there. As long as a map that writes is open, copies and kernels that
 * touch its range are refused (BUSY); as long as one that reads is open, those that write to it are. Errors:
 * INVALID_ARGUMENT (range, empty slice), BUSY (overlaps an open map and one of the two writes), UNSUPPORTED (the other
 * kinds have a host pointer: use it, within brackets where the info says so), OUT_OF_MEMORY. Source: OpenCL 3.0, 5.2.4.
 */
STRATA_API enum strata_status strata_map(strata_queue *queue, strata_slice slice, enum strata_map_access access,
                                         void **pointer);

/* Ends a map. Ordered in `queue`; does not block. Errors: INVALID_ARGUMENT when `pointer` is not an open map of this
 * buffer: so also the second time. */
STRATA_API enum strata_status strata_unmap(strata_queue *queue, strata_buffer *buffer, void *pointer);

/* Host access to a SHARED, WRAPPED or kernel-accessible PINNED buffer begins: waits for work of every queue that uses
 * the buffer, and brings the data where the kind needs that. *pointer, when `pointer` is not NULL, is the host address
 * of the slice. Between begin and end, kernels and copies that touch the slice are refused (BUSY), as for maps, unless
 * the mode is COHERENT. On memory that needs no brackets it only waits. Blocks. Errors: INVALID_ARGUMENT, BUSY (a
 * bracket is open already that overlaps, and one of the two writes), UNSUPPORTED (DEVICE). */
STRATA_API enum strata_status strata_host_begin(strata_queue *queue, strata_slice slice, enum strata_map_access access,
                                                void **pointer);

/* Host access ends; what was written is there for work put into `queue` from here on. Does not block, but for MIRRORED,
 * whose host memory is copied first. The slice is the one given to strata_host_begin. */
STRATA_API enum strata_status strata_host_end(strata_queue *queue, strata_slice slice);

/* Whether a host pointer, and a size if not 0, suit the device: aligned to its base alignment and 256 bytes at least.
 * INVALID_ARGUMENT with a sentence that names both alignments when not. For callers who allocate or lay out structs
 * themselves. */
STRATA_API enum strata_status strata_check_alignment(strata_device *device, const void *pointer, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
