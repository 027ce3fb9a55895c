/* Fuzzes the reader of stored runs of the bench: what is accepted can be compared with itself, and nothing got slower.
 */
#include "fuzz/fuzz.h"

#include "cli/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_copy(data, size), sentence[256] = "";
    json_t *run = NULL;
    if (!strata_run_parse(text, size, &run, sentence, sizeof sentence)) {
        FUZZ_CHECK(run == NULL);
        FUZZ_CHECK(sentence[0] != '\0');
        free(text);
        return 0;
    }
    struct strata_text table = {0};
    int slower = strata_run_compare(run, run, 0, &table);
    FUZZ_CHECK(slower == 0 || slower == -1);
    FUZZ_CHECK(!table.failed && table.length > 0);
    strata_text_release(&table);
    json_decref(run);
    free(text);
    return 0;
}
