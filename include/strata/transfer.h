/* Transfers: copies between host and device and within a device, fills, boxes.
 *
 *     strata_write(queue, strata_all(x), samples);                       // blocks
 *     strata_event *done = NULL;
 *     strata_read_async(queue, strata_all(x), samples, &done);           // does not
 *
 * Slices may start at any byte and have any length, above 4 GiB too; an empty slice is a no-op. The functions without
 * _async block until their own work is done, and it is then done for every queue. The others return at once, and the
 * host memory must live and stay as it is until the event; `event` may be NULL, else *event is the caller's.
 *
 * Errors of all: INVALID_ARGUMENT (a slice outside of its buffer, another device's queue, NULL host memory), BUSY (the
 * buffer is mapped or bracketed, or used by unfinished work of another queue that no event orders before this call),
 * OUT_OF_MEMORY, DEVICE_LOST, FORKED. Any thread. Source: OpenCL 3.0, 5.2.2 to 5.2.3. */
#ifndef STRATA_TRANSFER_H
#define STRATA_TRANSFER_H

#include "strata/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host to device: reads slice.bytes bytes from `source`. */
STRATA_API enum strata_status strata_write(strata_queue *queue, strata_slice destination, const void *source);
STRATA_API enum strata_status strata_write_async(strata_queue *queue, strata_slice destination, const void *source,
                                                 strata_event **event);

/* Device to host: writes slice.bytes bytes to `destination`. */
STRATA_API enum strata_status strata_read(strata_queue *queue, strata_slice source, void *destination);
STRATA_API enum strata_status strata_read_async(strata_queue *queue, strata_slice source, void *destination,
                                                strata_event **event);

/* Within a device. Both slices have the same length. They may overlap: the result is as if the source were first copied
 * aside (memmove). A slice onto itself is a no-op. Does not block. */
STRATA_API enum strata_status strata_copy_async(strata_queue *queue, strata_slice destination, strata_slice source,
                                                strata_event **event);
STRATA_API enum strata_status strata_copy(strata_queue *queue, strata_slice destination, strata_slice source);

/* Repeats `pattern` (1 to 128 bytes, any number of them, copied during the call) over the slice, whose last repetition
 * may be cut. */
STRATA_API enum strata_status strata_fill_async(strata_queue *queue, strata_slice destination, const void *pattern,
                                                size_t pattern_bytes, strata_event **event);
STRATA_API enum strata_status strata_fill(strata_queue *queue, strata_slice destination, const void *pattern,
                                          size_t pattern_bytes);

/* A box of memory in a larger one: `origin` is x in bytes, y in rows, z in layers; rows are row_pitch bytes apart and
 * layers layer_pitch bytes. A pitch of 0 means packed: the region's width, or rows x row_pitch. */
struct strata_box {
    uint64_t origin[3];
    uint64_t row_pitch;
    uint64_t layer_pitch;
};

/* The region's width in bytes, its rows and its layers; 1 for what is not used. A 0 is a no-op. */
struct strata_region {
    uint64_t width, rows, layers;
};

/* 2-D and 3-D copies. Slices and host memory are the larger memory which the boxes lie in. Further errors:
 * INVALID_ARGUMENT for a pitch below the width (or the layer below its rows), and for a box that leaves its slice.
 * Overlapping boxes of one buffer are copied as by memmove. Source: OpenCL 3.0, 5.2.2 (rectangles). */
STRATA_API enum strata_status strata_write_box(strata_queue *queue, strata_slice destination,
                                               struct strata_box destination_box, const void *source,
                                               struct strata_box source_box, struct strata_region region);
STRATA_API enum strata_status strata_write_box_async(strata_queue *queue, strata_slice destination,
                                                     struct strata_box destination_box, const void *source,
                                                     struct strata_box source_box, struct strata_region region,
                                                     strata_event **event);
STRATA_API enum strata_status strata_read_box(strata_queue *queue, strata_slice source, struct strata_box source_box,
                                              void *destination, struct strata_box destination_box,
                                              struct strata_region region);
STRATA_API enum strata_status strata_read_box_async(strata_queue *queue, strata_slice source,
                                                    struct strata_box source_box, void *destination,
                                                    struct strata_box destination_box, struct strata_region region,
                                                    strata_event **event);
STRATA_API enum strata_status strata_copy_box(strata_queue *queue, strata_slice destination,
                                              struct strata_box destination_box, strata_slice source,
                                              struct strata_box source_box, struct strata_region region);
STRATA_API enum strata_status strata_copy_box_async(strata_queue *queue, strata_slice destination,
                                                    struct strata_box destination_box, strata_slice source,
                                                    struct strata_box source_box, struct strata_region region,
                                                    strata_event **event);

#ifdef __cplusplus
}
#endif
#endif
