/* The whole tree in one launch. A work-group takes a column and shows its record to the others; the one that was the
 * last to begin with the columns of a tile of records waits for the other columns and takes them to that tile's record;
 * and the last of those to begin does the same for the result.
 *
 * Nobody waits for a group that has not begun, and no group waits before its own record is shown; so this ends wherever
 * groups that have begun go on. It needs no order of memory either: every 32 bits of a record stand in a word of 64
 * beside the launch's tag, and a word is seen whole or not at all. A fence in every group costs 8 of 240 us (1 GiB on
 * an H200), and a second launch 5. The method is the look-back of Merrill and Garland, "Single-pass Parallel Prefix
 * Scan with Decoupled Look-back" (2016). */
#ifndef STRATA_REDUCE_FUSED_H
#define STRATA_REDUCE_FUSED_H

/* src/primitives/reduce_plan.h has the same. */
#define TICKETS 512u

#define RECORD_PARTS (RECORD_VALUE_BYTES / 4 * (IS_PAIRED || IS_ARG ? 2 : 1))

/* The 32 bits of a record that go into word `part`. */
FUNCTION uint record_part(reduce_record record, uint part) {
#if IS_PAIRED || IS_ARG
    ulong bits = bits_of_record_value(part < RECORD_PARTS / 2 ? record.x : record.y);
#else
    ulong bits = bits_of_record_value(record);
#endif
#if RECORD_VALUE_BYTES == 8
    if (part % 2 != 0)
        bits >>= 32;
#endif
    return (uint)bits;
}

FUNCTION ulong joined_parts(const ulong *words) {
#if RECORD_VALUE_BYTES == 8
    return (words[0] & 0xffffffffu) | words[1] << 32;
#else
    return words[0] & 0xffffffffu;
#endif
}

FUNCTION reduce_record record_of_words(const ulong *words) {
    reduce_record record;
#if IS_PAIRED || IS_ARG
    record.x = record_value_of_bits(joined_parts(words));
    record.y = record_value_of_bits(joined_parts(words + RECORD_PARTS / 2));
#else
    record = record_value_of_bits(joined_parts(words));
#endif
    return record;
}

/* Record `index` of the `count` whose words begin at `words`. */
FUNCTION void show_record(GLOBAL ulong *words, ulong count, ulong index, reduce_record record, uint tag) {
    for (uint part = 0; part < RECORD_PARTS; part++)
        *(GLOBAL volatile ulong *)(words + part * count + index) = (ulong)tag << 32 | record_part(record, part);
}

/* A lane's neighbouring records from `first` on, as soon as all are there; identities behind the end. */
FUNCTION void await_records(GLOBAL const ulong *words, ulong count, ulong first, uint tag, reduce_record *records) {
    ulong word[COLUMNS_PER_LANE * RECORD_PARTS];
    bool all;
    do {
        for (uint i = 0; i < COLUMNS_PER_LANE * RECORD_PARTS; i++) {
            ulong index = first + i / RECORD_PARTS;
            word[i] = index < count ? *(GLOBAL const volatile ulong *)(words + i % RECORD_PARTS * count + index)
                                    : (ulong)tag << 32;
        }
        all = true;
        for (uint i = 0; i < COLUMNS_PER_LANE * RECORD_PARTS; i++)
            all = all && (uint)(word[i] >> 32) == tag;
    } while (!all);
    for (uint i = 0; i < COLUMNS_PER_LANE; i++)
        records[i] = first + i < count ? record_of_words(word + i * RECORD_PARTS) : identity_record();
}

/* A lane's columns. */
FUNCTION reduce_record shown_columns(GLOBAL const ulong *words, ulong columns, ulong first, uint tag) {
    reduce_record records[COLUMNS_PER_LANE];
    await_records(words, columns, first, tag, records);
#if COLUMNS_PER_LANE == 4
    return combine_records(combine_records(records[0], records[1]), combine_records(records[2], records[3]));
#else
    return combine_records(records[0], records[1]);
#endif
}

/* A lane of the one tile above, of which only the first row is there. */
FUNCTION reduce_record shown_tiles(GLOBAL const ulong *words, ulong tiles, uint lane, uint tag) {
    reduce_record records[COLUMNS_PER_LANE];
    await_records(words, tiles, lane * COLUMNS_PER_LANE, tag, records);
#define SHOWN_TILE(r, member, j) (r == 0 ? records[j] : identity_record())
    return LANE_TREE(combine_records, SHOWN_TILE);
}

/* One group per column of the tiles of records, of which there are `columns`, in COLUMNS tiles of records or fewer; the
 * slice begins `offset` bytes into `input`. The first TICKETS words of 32 bits at `tickets` are 0, and are so again
 * afterwards; no word of 64 behind them has the tag `tag`. */
KERNEL void reduce_fused(GLOBAL const uchar *input, ulong offset, ulong count, ulong columns, GLOBAL uint *tickets,
                         uint tag, GLOBAL uchar *result, ulong result_offset) {
    LOCAL_ARRAY(reduce_leaf, lanes, 4u * LANES);
    LOCAL_ARRAY(reduce_record, records, LANES);
    LOCAL_ARRAY(uint, is_last, 1);
    GLOBAL ulong *words = (GLOBAL ulong *)(tickets + TICKETS);
    GLOBAL ulong *tile_words = words + RECORD_PARTS * columns;
    ulong tile = group_index() / COLUMNS, tiles = (columns + COLUMNS - 1) / COLUMNS;
    uint ticket = 0; /* in work-item 0, and not looked at before the loads are on their way */
    if (local_index() == 0)
        ticket = take_ticket(tickets + 1 + tile);
    reduce_record record = group_column(input + offset, count, group_index(), lanes);
    if (local_index() == 0) {
        show_record(words, columns, group_index(), record, tag);
        is_last[0] = ticket + 1 == min(columns - tile * COLUMNS, (ulong)COLUMNS);
    }
    local_barrier();
    if (!is_last[0])
        return;
    if (local_index() == 0) {
        tickets[1 + tile] = 0;
        ticket = take_ticket(tickets);
    }
    for (uint lane = local_index(); lane < LANES; lane += local_count())
        records[lane] = shown_columns(words, columns, tile * COLUMNS + lane * COLUMNS_PER_LANE, tag);
    FOLD_LANES(combine_records, records)
    if (local_index() == 0) {
        show_record(tile_words, tiles, tile, records[0], tag);
        is_last[0] = ticket + 1 == tiles;
    }
    local_barrier();
    if (!is_last[0])
        return;
    if (local_index() == 0)
        tickets[0] = 0;
    if (tiles > 1) {
        for (uint lane = local_index(); lane < LANES; lane += local_count())
            records[lane] = shown_tiles(tile_words, tiles, lane, tag);
        FOLD_LANES(combine_records, records)
    }
    if (local_index() == 0)
        store_result(result + result_offset, records[0]);
}

#endif
