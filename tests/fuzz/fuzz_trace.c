/* Fuzzes the reader of traces: the input is a trace, tried as it is and with heads and checksums that are right; what
 * is read is drawn, too. */
#include "fuzz/fuzz.h"

#include "cli/replay.h"

#include <jansson.h>
#include <xxhash.h>

static uint64_t fixed(const char *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return value;
}

/* Every chunk's checksum, as far as the lengths in the file lead. */
static void repair(char *file, size_t size) {
    static const char head[STRATA_TRACE_HEAD] = STRATA_TRACE_MAGIC "\x01";
    if (size < sizeof head)
        return;
    memcpy(file, head, sizeof head);
    for (size_t at = sizeof head; size - at >= STRATA_TRACE_CHUNK_HEAD;) {
        uint64_t length = fixed(file + at + 8, 4);
        if (length > size - at - STRATA_TRACE_CHUNK_HEAD)
            return;
        size_t whole = STRATA_TRACE_CHUNK_HEAD + (size_t)length;
        uint64_t sum = XXH64(file + at + 8, whole - 8, 0);
        for (unsigned i = 0; i < 8; i++)
            file[at + i] = (char)(sum >> 8 * i);
        at += whole;
    }
}

static bool is_text(const struct strata_trace_file *file, size_t place) {
    return place < file->texts.length && memchr(file->texts.data + place, '\0', file->texts.length - place) != NULL;
}

/* What the reader promises to those who go through the events. */
static void check_events(const struct strata_trace_file *file) {
    unsigned char *alive = calloc((size_t)file->buffers + 1, 1);
    uint64_t buffers = 0, pools = 0;
    FUZZ_CHECK(alive != NULL && file->count != 0);
    for (size_t i = 0; i < file->count; i++) {
        const struct strata_trace_event *event = &file->events[i];
        FUZZ_CHECK(is_text(file, event->name));
        pools += event->type == STRATA_TRACE_POOL;
        FUZZ_CHECK(event->pool <= pools);
        if (event->type == STRATA_TRACE_CREATE) {
            FUZZ_CHECK(event->number == buffers++);
            alive[event->number] = 1;
        } else if (event->type == STRATA_TRACE_DESTROY) {
            FUZZ_CHECK(event->number < buffers && alive[event->number]);
            alive[event->number] = 0;
        }
    }
    FUZZ_CHECK(buffers == file->buffers && pools == file->pool_count);
    for (size_t i = 0; i < file->pool_count; i++)
        FUZZ_CHECK(file->pools[i].kind < 4 && is_text(file, file->pools[i].name));
    FUZZ_CHECK(is_text(file, file->device) && is_text(file, file->platform) && is_text(file, file->version));
    free(alive);
}

static void check_drawing(const struct strata_trace_file *file) {
    struct strata_text text = {0};
    strata_replay_chrome(file, &text);
    FUZZ_CHECK(!text.failed);
    json_t *root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    FUZZ_CHECK(json_is_array(json_object_get(root, "traceEvents")));
    json_decref(root);
    strata_text_release(&text);
}

static void check_file(const char *bytes, size_t size) {
    struct strata_trace_file file;
    enum strata_status status = strata_trace_parse(bytes, size, "input", &file);
    if (status != STRATA_OK) {
        fuzz_check_failure(status, STRATA_IO);
        FUZZ_CHECK(file.events == NULL && file.texts.data == NULL);
        return;
    }
    check_events(&file);
    check_drawing(&file);
    strata_trace_file_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *file = fuzz_copy(data, size);
    check_file(file, size);
    repair(file, size);
    check_file(file, size);
    free(file);
    return 0;
}
