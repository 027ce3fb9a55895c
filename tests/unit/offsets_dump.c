/* Prints the dump of an offset allocator with pieces, holes and pointers in it, for check_offsets_schema.py. */
#include <stdio.h>

#include "strata/offsets.h"

static bool print(const char *text, size_t bytes, void *user) {
    return fwrite(text, 1, bytes, user) == bytes;
}

int main(void) {
    strata_offsets *offsets = NULL;
    strata_piece pieces[300];
    enum strata_status status =
        strata_offsets_create(STRATA_OFFSETS(.bytes = (UINT64_C(1) << 40) + 100, .granularity = 256), &offsets);
    for (unsigned i = 0; status == STRATA_OK && i < 300; i++) {
        struct strata_range range;
        status = strata_offsets_allocate(offsets, i * i * 7, i % 5 == 0 ? 4096 : 0, &range);
        pieces[i] = range.piece;
        if (status == STRATA_OK && i % 3 == 0)
            status = strata_offsets_set_user(offsets, range.piece, &pieces[i]);
    }
    for (unsigned i = 0; status == STRATA_OK && i < 300; i += 4)
        status = strata_offsets_free(offsets, pieces[i]);
    if (status == STRATA_OK)
        status = strata_offsets_dump(offsets, print, stdout);
    if (status != STRATA_OK)
        fprintf(stderr, "%s\n", strata_last_error()->message);
    strata_offsets_destroy(&offsets);
    return status == STRATA_OK ? 0 : 1;
}
