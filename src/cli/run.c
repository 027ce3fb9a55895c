/* Stored runs of the bench: reading them, and comparing two. */
#include "cli/run.h"

#include "cli/command.h"
#include "cli/json.h"
#include "cli/output.h"
#include "core/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A figure has a name and a unit; if it was measured, it has a median and a spread around it. */
static bool is_figure(const json_t *figure) {
    if (!json_is_string(json_object_get(figure, "id")) || !json_is_string(json_object_get(figure, "unit")))
        return false;
    if (json_is_null(json_object_get(figure, "median")))
        return true;
    double median = number_of(figure, "median");
    return median > 0 && number_of(figure, "p5") <= median && median <= number_of(figure, "p95");
}

bool strata_run_check(const json_t *run, char *sentence, size_t size) {
    const json_t *devices = json_object_get(run, "devices"), *device, *figure;
    size_t i, j;
    snprintf(sentence, size, "it is JSON, but no run of strata bench: there is no list of devices");
    if (!json_is_array(devices))
        return false;
    json_array_foreach(devices, i, device) {
        const json_t *figures = json_object_get(device, "figures");
        snprintf(sentence, size, "device %zu has no name, or no list of figures", i);
        if (!json_is_string(json_object_get(device, "name")) || !json_is_array(figures))
            return false;
        json_array_foreach(figures, j, figure) {
            snprintf(sentence, size, "figure %zu of device %zu has no id, no unit, or numbers that cannot be", j, i);
            if (!is_figure(figure))
                return false;
        }
    }
    return true;
}

bool strata_run_parse(const char *text, size_t length, json_t **run, char *sentence, size_t size) {
    *run = strata_json_parse(text, length, sentence, size);
    if (*run == NULL || strata_run_check(*run, sentence, size))
        return *run != NULL;
    json_decref(*run);
    *run = NULL;
    return false;
}

int strata_run_read(const char *path, json_t **run) {
    char sentence[256];
    int code = strata_json_read(path, run);
    if (code != STRATA_EXIT_DONE || strata_run_check(*run, sentence, sizeof sentence))
        return code;
    strata_message("%s: %s", path, sentence);
    json_decref(*run);
    *run = NULL;
    return STRATA_EXIT_FILE;
}

json_t *strata_run_of(json_t *made) {
    struct strata_text text = {0};
    char sentence[256];
    json_t *run = NULL;
    strata_json_add(&text, made);
    json_decref(made);
    if (!text.failed)
        strata_run_parse(text.data, text.length, &run, sentence, sizeof sentence);
    strata_text_release(&text);
    return run;
}

static const json_t *find_device(const json_t *run, const json_t *like) {
    const json_t *device;
    size_t i;
    json_array_foreach(json_object_get(run, "devices"), i, device) {
        if (strcmp(text_of(device, "name"), text_of(like, "name")) == 0 &&
            strcmp(text_of(device, "platform"), text_of(like, "platform")) == 0)
            return device;
    }
    return NULL;
}

static const json_t *find_figure(const json_t *device, const json_t *like) {
    const json_t *figure;
    size_t i;
    json_array_foreach(json_object_get(device, "figures"), i, figure) {
        if (strcmp(text_of(figure, "id"), text_of(like, "id")) == 0 &&
            strcmp(text_of(figure, "unit"), text_of(like, "unit")) == 0)
            return figure;
    }
    return NULL;
}

struct change {
    double before, after;
    double percent; /* slower; negative: faster */
    bool is_slower, is_faster;
};

/* By how much the time for the same work grew. Outside of both spreads: the slow end of one and the fast end of the
 * other do not meet. */
static struct change change_of(const json_t *before, const json_t *after, double threshold) {
    const char *unit = text_of(after, "unit");
    bool is_time = strcmp(unit, "ns") == 0 || strcmp(unit, "us") == 0;
    struct change change = {.before = number_of(before, "median"), .after = number_of(after, "median")};
    double ratio = is_time ? change.after / change.before : change.before / change.after;
    change.percent = (ratio - 1) * 100;
    const char *slow = is_time ? "p95" : "p5", *fast = is_time ? "p5" : "p95";
    double sign = is_time ? 1 : -1;
    change.is_slower = change.percent > threshold && sign * (number_of(after, fast) - number_of(before, slow)) > 0;
    change.is_faster =
        100 * (1 / ratio - 1) > threshold && sign * (number_of(before, fast) - number_of(after, slow)) > 0;
    return change;
}

struct comparison {
    double threshold;
    int compared, slower, faster;
    struct strata_table table;
};

static void compare_devices(const json_t *before, const json_t *after, struct comparison *comparison) {
    const json_t *figure;
    size_t i;
    json_array_foreach(json_object_get(after, "figures"), i, figure) {
        const json_t *old = find_figure(before, figure);
        if (old == NULL || json_is_null(json_object_get(old, "median")) ||
            json_is_null(json_object_get(figure, "median")))
            continue;
        struct change change = change_of(old, figure, comparison->threshold);
        comparison->compared++;
        comparison->faster += change.is_faster;
        if (!change.is_slower)
            continue;
        comparison->slower++;
        strata_table_cell(&comparison->table, text_of(after, "name"));
        strata_table_cell(&comparison->table, text_of(figure, "id"));
        strata_table_cellf(&comparison->table, "%.4g", change.before);
        strata_table_cellf(&comparison->table, "%.4g", change.after);
        strata_table_cell(&comparison->table, text_of(figure, "unit"));
        strata_table_cellf(&comparison->table, "%.1f %%", change.percent);
    }
}

int strata_run_compare(const json_t *before, const json_t *after, double threshold, struct strata_text *text) {
    static const char *const head[] = {"device", "figure", "before", "now", "", "slower by"};
    struct comparison comparison = {.threshold = threshold};
    struct strata_text table = {0};
    const json_t *device;
    size_t i;
    strata_table_begin(&comparison.table, "llrrlr");
    for (i = 0; i < sizeof head / sizeof head[0]; i++)
        strata_table_cell(&comparison.table, head[i]);
    json_array_foreach(json_object_get(after, "devices"), i, device) {
        const json_t *old = find_device(before, device);
        if (old != NULL)
            compare_devices(old, device, &comparison);
    }
    strata_table_end(&comparison.table, &table);
    if (comparison.slower > 0)
        strata_text_add(text, table.data != NULL ? table.data : "");
    text->failed = text->failed || table.failed;
    strata_text_release(&table);
    strata_text_printf(text, "%s%d figures compared, %d slower and %d faster beyond both spreads and %g %%\n",
                       comparison.slower > 0 ? "\n" : "", comparison.compared, comparison.slower, comparison.faster,
                       threshold);
    return comparison.compared > 0 ? comparison.slower : -1;
}
