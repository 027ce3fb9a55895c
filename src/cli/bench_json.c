/* The bench as JSON: machine, device, and every figure with how it was made, or null with the reason. */
#include "cli/bench.h"
#include "cli/drawing.h"
#include "cli/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static json_t *command_json(int argc, char **argv) {
    struct strata_text text = {0};
    strata_text_add(&text, "strata");
    for (int i = 0; i < argc; i++)
        strata_text_printf(&text, " %s", argv[i]);
    json_t *value = text.failed ? NULL : strata_json_string(text.data);
    strata_text_release(&text);
    return value;
}

static json_t *date_json(void) {
    char date[32];
    struct tm parts;
    time_t now = time(NULL);
    if (gmtime_r(&now, &parts) == NULL || strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        return json_null();
    return json_string(date);
}

/* The processor's name as Linux tells it; null elsewhere. */
static json_t *processor_json(void) {
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    json_t *value = NULL;
    while (file != NULL && value == NULL && fgets(line, sizeof line, file) != NULL) {
        char *name = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (name == NULL)
            continue;
        name += strspn(name, ": \t");
        name[strcspn(name, "\n")] = '\0';
        value = strata_json_string(name);
    }
    if (file != NULL)
        fclose(file);
    return value != NULL ? value : json_null();
}

static json_t *machine_json(void) {
    struct utsname name;
    if (uname(&name) != 0)
        memset(&name, 0, sizeof name);
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o}",                 //
                     "system", strata_json_string(name.sysname),       //
                     "release", strata_json_string(name.release),      //
                     "architecture", strata_json_string(name.machine), //
                     "processor", processor_json(),                    //
                     "cores", (int)strata_bench_core_count(),          //
                     "memory_bytes", strata_json_known(strata_host_memory()));
}

/* Six digits that count: the others are noise. */
static json_t *rate_json(double rate) {
    double scale = pow(10, 5 - floor(log10(rate)));
    return strata_json_f64(round(rate * scale) / scale);
}

/* Adds to a figure what belongs to one that was measured, or nulls and the reason. */
static int set_values(json_t *object, const struct strata_bench_figure *figure) {
    bool has = figure->measured;
    bool has_event = has && figure->event_median > 0;
    const char *reason = figure->reason[0] != '\0' ? figure->reason : "not measured";
    json_t *values =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}",                   //
                  "n", has ? strata_json_u64(figure->count) : json_null(),                               //
                  "median", has ? rate_json(figure->median) : json_null(),                               //
                  "p5", has ? rate_json(figure->low) : json_null(),                                      //
                  "p95", has ? rate_json(figure->high) : json_null(),                                    //
                  "spread", has ? json_string(figure->is_range ? "range" : "percentiles") : json_null(), //
                  "work", has ? strata_json_u64(figure->work) : json_null(),                             //
                  "passes", has ? strata_json_u64(figure->passes) : json_null(),                         //
                  "checked", (int)has,                                                                   //
                  "quiet", has && figure->is_judged ? json_boolean(figure->is_quiet) : json_null(),      //
                  "other_cores",
                  has && figure->is_judged ? strata_json_f64(round(figure->other_cores * 100) / 100) : json_null(), //
                  "event_median", has_event ? rate_json(figure->event_median) : json_null(),                        //
                  "event_agrees", has_event ? json_boolean(figure->events_agree) : json_null(),                     //
                  "reason", has ? json_null() : strata_json_string(reason));
    int failed = values != NULL ? json_object_update(object, values) : -1;
    json_decref(values);
    return failed;
}

/* Where a point of a sweep lies: a number, with or without KiB, MiB or GiB behind it. */
static double place_of(const char *words) {
    char *end = NULL;
    double place = strtod(words, &end);
    return place * (*end == 'K' ? 1024.0 : *end == 'M' ? 1048576.0 : *end == 'G' ? 1073741824.0 : 1);
}

static json_t *figure_json(const struct strata_bench_topic *topic, const struct strata_bench_case *what,
                           const struct strata_bench_figure *figure) {
    char name[96];
    snprintf(name, sizeof name, "%s, %s", what->kind, what->what);
    bool sweep = topic->axis != NULL;
    json_t *object = json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:s}",                                      //
                               "id", what->id,                                                                  //
                               "topic", topic->name,                                                            //
                               "name", name,                                                                    //
                               "axis", sweep ? json_string(topic->axis) : json_null(),                          //
                               "x", sweep ? strata_json_f64(place_of(what->what)) : json_null(),                //
                               "unit", strata_bench_unit_name(what->unit),                                      //
                               "detail", figure->detail[0] != '\0' ? json_string(figure->detail) : json_null(), //
                               "convention", figure->convention != NULL ? figure->convention : what->convention);
    if (object != NULL && set_values(object, figure) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *figures_json(const struct strata_bench *bench) {
    json_t *list = json_array();
    const struct strata_bench_figure *figure = bench->figures;
    for (size_t topic = 0; list != NULL && strata_bench_topics[topic]; topic++)
        for (size_t i = 0; list != NULL && i < strata_bench_topics[topic]->count; i++, figure++) {
            if (!figure->selected)
                continue;
            json_t *object = figure_json(strata_bench_topics[topic], &strata_bench_topics[topic]->cases[i], figure);
            if (json_array_append_new(list, object) != 0) {
                json_decref(list);
                list = NULL;
            }
        }
    return list;
}

static json_t *memory_json(const struct strata_device_info *info) {
    struct strata_link link = strata_link_find(info);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:i, s:s}",                         //
                     "global_bytes", strata_json_known(info->global_bytes),         //
                     "max_buffer_bytes", strata_json_known(info->max_buffer_bytes), //
                     "local_bytes", strata_json_known(info->local_bytes),           //
                     "constant_bytes", strata_json_known(info->constant_bytes),     //
                     "cache_bytes", strata_json_known(info->cache_bytes),           //
                     "link_lanes", (int)link.lanes,                                 //
                     "link_speed", link.speed);
}

static json_t *device_json(const struct strata_bench *bench) {
    static const char *const types[] = {"other", "cpu", "gpu", "accelerator"};
    static const char *const forms[] = {"coalesced", "blocked"};
    const struct strata_device_info *info = bench->info;
    return json_pack("{s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:s, s:o, s:o, s:b, s:o}",             //
                     "index", (int)info->index,                                                                 //
                     "name", strata_json_string(info->name),                                                    //
                     "type", types[info->type <= STRATA_DEVICE_ACCELERATOR ? info->type : STRATA_DEVICE_OTHER], //
                     "vendor", strata_json_string(info->vendor),                                                //
                     "backend", strata_json_string(info->backend),                                              //
                     "platform", strata_json_string(info->platform),                                            //
                     "device_version", strata_json_string(info->device_version),                                //
                     "driver_version", strata_json_string(info->driver_version),                                //
                     "memory", memory_json(info),                                                               //
                     "compute_units", (json_int_t)info->compute_units,                                          //
                     "kernels", forms[bench->kernels.form],                                                     //
                     "global_bytes", strata_json_u64(bench->bytes),                                             //
                     "exchange_bytes", strata_json_u64(bench->exchange_bytes),                                  //
                     "events", (int)info->timer_is_reliable,                                                    //
                     "figures", figures_json(bench));
}

static json_t *devices_json(const struct strata_bench *benches, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < count; i++)
        if (benches[i].is_open && json_array_append_new(list, device_json(&benches[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

json_t *strata_bench_json(const struct strata_bench *benches, size_t count, int argc, char **argv, bool interrupted) {
    return json_pack("{s:s, s:o, s:o, s:b, s:b, s:o, s:o}", //
                     "version", strata_version(),           //
                     "command", command_json(argc, argv),   //
                     "date", date_json(),                   //
                     "quick", (int)benches[0].quick,        //
                     "interrupted", (int)interrupted,       //
                     "machine", machine_json(),             //
                     "devices", devices_json(benches, count));
}
