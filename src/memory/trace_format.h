/* The form of a trace file, for the library that writes it and the command line that reads it.
 *
 *     file    = head chunk*
 *     head    = "strata" 0x01 0x0a, version (u32), 0 (u32)
 *     chunk   = checksum (u64, XXH64 with seed 0 of all that follows in the chunk), bytes of the records (u32), number
 * of records (u32), time of the first record (u64, monotonic nanoseconds), records record  = head byte, [thread], time,
 * body
 *
 * Fixed numbers are little-endian. All others are varints: seven bits a byte, the lowest first, the high bit set in all
 * bytes but the last. A chunk is whole or it is nothing, so a file that was cut is read up to its last whole chunk.
 *
 * The head byte has the record's type in its low four bits, and STRATA_TRACE_SAME_THREAD when the thread is that of the
 * record before it in the chunk; else the thread's number follows. The time is the nanoseconds since that record, or
 * since the chunk's time. Bodies:
 *
 *     DEVICE      text name, text platform, text driver, bytes of the device, bytes of its largest buffer, limit of
 *                 DEVICE and of PINNED memory (0: none), text version of strata
 *     POOL        number (1, 2, ... in order), kind, flags, text name, granularity, limit, first block, largest block,
 *                 dedicated from, kept unused; before the first record that names the pool
 *     CREATE      flags and kind, pool (0: memory of its own), bytes, given bytes less `bytes` (zigzag: 0 -1 1 -2 ...),
 *                 [queue slot], [name]. Buffers are numbered 0, 1, ... by these records. No given bytes: the memory is
 *                 not strata's
 *     FAIL        flags and kind, pool, bytes, status: a creation that failed
 *     DESTROY     number of buffers so far less this buffer's number
 *     GROW        flags, pool, block, bytes: the pool took a block from the runtime
 *     TRIM        pool, block, bytes: and gave it back
 *     WAIT_BEGIN  pool: a thread waits for work that uses memory of the pool
 *     WAIT_END    pool: and has waited
 *
 * A text is its length and its bytes. A name is a number and perhaps a text: 0 and the text, or 2 n + 2 and a text that
 * is remembered as number n (0 to 255), or 2 n + 1: the one that was remembered last as n. */
#ifndef STRATA_MEMORY_TRACE_FORMAT_H
#define STRATA_MEMORY_TRACE_FORMAT_H

#define STRATA_TRACE_MAGIC "strata\x01\x0a"
#define STRATA_TRACE_VERSION 1
#define STRATA_TRACE_HEAD 16
#define STRATA_TRACE_CHUNK_HEAD 24

/* Records of one chunk, in bytes: what a program that is killed loses. Readers take no larger ones. */
#define STRATA_TRACE_CHUNK_BYTES (16 << 10)

enum strata_trace_type {
    STRATA_TRACE_DEVICE = 1,
    STRATA_TRACE_POOL = 2,
    STRATA_TRACE_CREATE = 3,
    STRATA_TRACE_FAIL = 4,
    STRATA_TRACE_DESTROY = 5,
    STRATA_TRACE_GROW = 6,
    STRATA_TRACE_TRIM = 7,
    STRATA_TRACE_WAIT_BEGIN = 8,
    STRATA_TRACE_WAIT_END = 9
};
#define STRATA_TRACE_TYPE_MASK 0x0f
#define STRATA_TRACE_SAME_THREAD 0x10

/* Flags and kind of a buffer: enum strata_kind, enum strata_access from bit 2 on, and these. */
#define STRATA_TRACE_ACCESS_SHIFT 2
#define STRATA_TRACE_REUSED 0x10   /* served by a kept piece, as it was */
#define STRATA_TRACE_EXISTING 0x20 /* alive when the trace began */
#define STRATA_TRACE_HAS_QUEUE 0x40
#define STRATA_TRACE_HAS_NAME 0x80

/* Flags of a block. */
#define STRATA_TRACE_DEDICATED 0x1
#define STRATA_TRACE_PLAIN 0x2 /* host memory that is not page-locked */
#define STRATA_TRACE_THERE 0x4 /* taken before the trace began */

/* Flags of a pool. */
#define STRATA_TRACE_DEFAULT_POOL 0x1
#define STRATA_TRACE_NO_COMMIT 0x2

#define STRATA_TRACE_NAMES 256
#define STRATA_TRACE_TEXT_MOST 255 /* longer ones are cut */

#endif
