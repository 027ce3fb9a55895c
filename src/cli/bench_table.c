/* The bench's table: all kinds of memory one below the other, with bars, and what to use for what. */
#include "cli/bench.h"
#include "cli/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bar of the best figure of a topic. */
#define BAR_COLUMNS 20

#define LINE_COLUMNS 100

/* Points of a sweep that stand beside each other. The others are in the JSON. */
#define POINTS_MOST 8

/* A gain worth a recommendation. */
#define WORTHWHILE 1.2

/* Three digits that count, and at most four decimals. */
static const char *format_rate(double rate, char *number) {
    int decimals = rate >= 100 ? 0 : rate >= 10 ? 1 : rate >= 1 ? 2 : rate >= 0.1 ? 3 : 4;
    return strata_format_fixed(rate, decimals, number);
}

/* A ratio to one, with two or three digits that count. */
static const char *format_ratio(double ratio, char *number) {
    return strata_format_fixed(ratio, ratio >= 99.95 ? 0 : ratio >= 9.995 ? 1 : ratio >= 0.0995 ? 2 : 4, number);
}

static void add_bar(struct strata_text *text, double share) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    bool utf8 = strata_output_is_utf8();
    unsigned units = (unsigned)lround(fmin(fmax(share, 0), 1) * BAR_COLUMNS * 8);
    for (unsigned i = 0; i < units / 8; i++)
        strata_text_add(text, utf8 ? "█" : "#");
    if (utf8)
        strata_text_add(text, units == 0 ? eighths[1] : eighths[units % 8]);
}

static size_t case_count(size_t topic) {
    return strata_bench_topics[topic]->count;
}

const struct strata_bench_figure *strata_bench_find(const struct strata_bench *bench, const char *id) {
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        for (size_t i = 0; i < case_count(topic); i++)
            if (strcmp(strata_bench_topics[topic]->cases[i].id, id) == 0) {
                const struct strata_bench_figure *figure = strata_bench_topic_figures(bench, topic) + i;
                return figure->measured ? figure : NULL;
            }
    return NULL;
}

static double rate_of(const struct strata_bench *bench, const char *id) {
    const struct strata_bench_figure *figure = strata_bench_find(bench, id);
    return figure != NULL ? figure->median : 0;
}

/* In GB/s, as most figures are; the others have a table of their own. */
static bool is_rate(const struct strata_bench_figure *figure) {
    return figure->measured && figure->unit == STRATA_BENCH_GBPS;
}

static double best_of_topic(const struct strata_bench *bench, size_t topic) {
    double best = 0;
    for (size_t i = 0; i < case_count(topic); i++)
        if (is_rate(&strata_bench_topic_figures(bench, topic)[i]))
            best = fmax(best, strata_bench_topic_figures(bench, topic)[i].median);
    return best;
}

/* A mark where other processes disturbed all rounds. */
static const char *mark_of(const struct strata_bench_figure *figure) {
    return figure->measured && figure->is_judged && !figure->is_quiet ? "*" : "";
}

static void add_case(const struct strata_bench *bench, size_t topic, size_t index, struct strata_table *table) {
    const struct strata_bench_case *what = &strata_bench_topics[topic]->cases[index];
    const struct strata_bench_figure *figure = strata_bench_topic_figures(bench, topic) + index;
    char rate[STRATA_NUMBER_TEXT + 4], low[STRATA_NUMBER_TEXT], high[STRATA_NUMBER_TEXT];
    double read = rate_of(bench, "global.read");
    bool has_detail = figure->detail[0] != '\0';
    strata_table_cell(table, what->kind);
    strata_table_cellf(table, "%s%s%s", what->what, has_detail ? ", " : "", figure->detail);
    if (!figure->measured) {
        strata_table_cell(table, "n/a");
        for (int i = 0; i < 5; i++)
            strata_table_cell(table, "");
        return;
    }
    strata_table_cellf(table, "%s%s", format_rate(figure->median, rate), mark_of(figure));
    strata_table_cell(table, format_rate(figure->low, low));
    strata_table_cell(table, format_rate(figure->high, high));
    strata_table_cellf(table, "%" PRIu32, figure->count);
    strata_table_cell(table, read > 0 ? format_ratio(figure->median / read, rate) : "");
    struct strata_text bar = {0};
    add_bar(&bar, figure->median / best_of_topic(bench, topic));
    strata_table_cell(table, bar.data != NULL ? bar.data : "");
    strata_text_release(&bar);
}

static void add_rule(struct strata_table *table) {
    for (int i = 0; i < 8; i++)
        strata_table_cell(table, "");
}

/* Whether a topic was measured at all; an interrupt leaves the later ones out. */
static bool was_begun(const struct strata_bench *bench, size_t topic) {
    for (size_t i = 0; i < case_count(topic); i++) {
        const struct strata_bench_figure *figure = strata_bench_topic_figures(bench, topic) + i;
        if (figure->measured || figure->reason[0] != '\0')
            return true;
    }
    return false;
}

static bool is_listed(const struct strata_bench *bench, size_t topic, size_t index) {
    const struct strata_bench_figure *figure = strata_bench_topic_figures(bench, topic) + index;
    return strata_bench_topics[topic]->axis == NULL && figure->selected &&
           (figure->measured || figure->reason[0] != '\0');
}

/* Whether there was anything. */
static bool add_kinds(const struct strata_bench *bench, struct strata_text *text) {
    static const char *const head[] = {"memory", "access", "GB/s", "5 %", "95 %", "n", "x read", "of the best"};
    struct strata_table table;
    bool any = false;
    strata_table_begin(&table, "llrrrrrl");
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        strata_table_cell(&table, head[i]);
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++) {
        bool first = true;
        for (size_t i = 0; i < case_count(topic); i++) {
            if (!is_listed(bench, topic, i) || strata_bench_topics[topic]->cases[i].unit != STRATA_BENCH_GBPS)
                continue;
            if (first && any)
                add_rule(&table);
            add_case(bench, topic, i, &table);
            first = false;
            any = true;
        }
    }
    struct strata_text unused = {0};
    strata_table_end(&table, any ? text : &unused);
    strata_text_release(&unused);
    return any;
}

/* Latencies, costs, and rates of what are no bytes. */
static bool add_others(const struct strata_bench *bench, bool below, struct strata_text *text) {
    static const char *const head[] = {"what", "", "median", "", "5 %", "95 %", "n"};
    struct strata_table table;
    bool any = false;
    strata_table_begin(&table, "llrlrrr");
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        strata_table_cell(&table, head[i]);
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        for (size_t i = 0; i < case_count(topic); i++) {
            const struct strata_bench_case *what = &strata_bench_topics[topic]->cases[i];
            const struct strata_bench_figure *figure = strata_bench_topic_figures(bench, topic) + i;
            char number[STRATA_NUMBER_TEXT + 4];
            if (!is_listed(bench, topic, i) || what->unit == STRATA_BENCH_GBPS)
                continue;
            any = true;
            strata_table_cell(&table, what->kind);
            strata_table_cell(&table, what->what);
            strata_table_cellf(&table, "%s%s", figure->measured ? format_rate(figure->median, number) : "n/a",
                               mark_of(figure));
            strata_table_cell(&table, strata_bench_unit_name(what->unit));
            strata_table_cell(&table, figure->measured ? format_rate(figure->low, number) : "");
            strata_table_cell(&table, figure->measured ? format_rate(figure->high, number) : "");
            if (figure->measured)
                strata_table_cellf(&table, "%" PRIu32, figure->count);
            else
                strata_table_cell(&table, "");
        }
    struct strata_text unused = {0};
    if (any && below)
        strata_text_add(text, "\n");
    strata_table_end(&table, any ? text : &unused);
    strata_text_release(&unused);
    return any || below;
}

/* The points of a sweep that are shown; their number. */
static size_t choose_points(const struct strata_bench *bench, size_t topic, size_t *points) {
    const struct strata_bench_figure *figures = strata_bench_topic_figures(bench, topic);
    size_t count = 0, all = case_count(topic), selected = 0;
    for (size_t i = 0; i < all; i++)
        selected += figures[i].selected;
    for (size_t i = 0; i < all; i++) {
        unsigned long value = strtoul(strata_bench_topics[topic]->cases[i].what, NULL, 10);
        if (figures[i].selected && (selected <= POINTS_MOST || (value & (value - 1)) == 0 || i + 1 == all))
            points[count++] = i;
    }
    size_t step = (count + POINTS_MOST - 1) / POINTS_MOST;
    for (size_t i = 0; step > 1 && i * step < count; i++)
        points[i] = points[i * step];
    return step > 1 ? (count + step - 1) / step : count;
}

/* Where half of the best rate is reached. */
static void add_half(const struct strata_bench *bench, size_t topic, struct strata_text *text) {
    const struct strata_bench_figure *figures = strata_bench_topic_figures(bench, topic);
    double best = best_of_topic(bench, topic);
    for (size_t i = 0; i < case_count(topic); i++)
        if (figures[i].measured && figures[i].median >= best / 2) {
            strata_text_printf(text, "Half of the best rate from %s on.\n", strata_bench_topics[topic]->cases[i].what);
            return;
        }
}

/* The sweep lies down: a column for each point. */
static void add_sweep(const struct strata_bench *bench, size_t topic, bool below, struct strata_text *text) {
    const struct strata_bench_topic *sweep = strata_bench_topics[topic];
    const struct strata_bench_figure *figures = strata_bench_topic_figures(bench, topic);
    char number[STRATA_NUMBER_TEXT + 4], alignment[POINTS_MOST + 2] = "l";
    size_t points[64], count = choose_points(bench, topic, points);
    struct strata_table table;
    memset(alignment + 1, 'r', count);
    if (below)
        strata_text_add(text, "\n");
    strata_table_begin(&table, alignment);
    strata_table_cell(&table, sweep->axis);
    for (size_t i = 0; i < count; i++)
        strata_table_cell(&table, sweep->cases[points[i]].what);
    strata_table_cell(&table, sweep->row);
    for (size_t i = 0; i < count; i++)
        strata_table_cellf(&table, "%s%s",
                           figures[points[i]].measured ? format_rate(figures[points[i]].median, number) : "n/a",
                           mark_of(&figures[points[i]]));
    if (sweep->ratio != NULL && figures[0].measured) {
        strata_table_cell(&table, sweep->ratio);
        for (size_t i = 0; i < count; i++)
            strata_table_cell(&table, figures[points[i]].measured
                                          ? format_ratio(figures[points[i]].median / figures[0].median, number)
                                          : "");
    }
    strata_table_end(&table, text);
    if (sweep->has_half)
        add_half(bench, topic, text);
}

/* Words with line breaks, and later lines indented by two. */
static void add_wrapped(struct strata_text *text, const char *words) {
    size_t column = 0;
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        size_t columns = strata_text_columns(word);
        if (column > 0 && column + 1 + columns > LINE_COLUMNS) {
            strata_text_add(text, "\n  ");
            column = 2;
        } else if (column > 0) {
            strata_text_add(text, " ");
            column++;
        }
        strata_text_add(text, word);
        column += columns;
        words += length;
        words += *words == ' ';
    }
    strata_text_add(text, "\n");
}

static void add_head(const struct strata_bench *bench, struct strata_text *text) {
    static const char *const types[] = {"other", "cpu", "gpu", "accelerator"};
    const struct strata_device_info *info = bench->info;
    char bytes[32];
    strata_text_printf(text, "Device %" PRIu32 ": %s (%s)\n", info->index, info->name,
                       types[info->type <= STRATA_DEVICE_ACCELERATOR ? info->type : STRATA_DEVICE_OTHER]);
    strata_text_printf(text, "%s, driver %s\n", info->platform, info->driver_version);
    strata_text_printf(text, "%s of global memory", strata_format_bytes(bench->bytes, bytes, sizeof bytes));
    if (bench->exchange_bytes != bench->bytes)
        strata_text_printf(text, ", %s between host and device",
                           strata_format_bytes(bench->exchange_bytes, bytes, sizeof bytes));
    strata_text_add(text, "; random data; every result checked\n\n");
}

/* How fast data passes that a kernel uses once, there and back: the copy, and then the kernel, which needs no copy
 * where it uses the host's memory in place. 0 when a figure is missing. */
static double round_trip(const struct strata_bench *bench, const char *kind) {
    double seconds = 0;
    for (int back = 0; back < 2; back++) {
        char id[48];
        snprintf(id, sizeof id, "%s.%s-device", kind, back ? "from" : "to");
        const struct strata_bench_figure *figure = strata_bench_find(bench, id);
        double kernel = rate_of(bench, back ? "global.write" : "global.read");
        if (figure == NULL || kernel <= 0)
            return 0;
        seconds += 1 / figure->median + (figure->in_place ? 0 : 1 / kernel);
    }
    return 2 / seconds;
}

static void add_exchange_advice(const struct strata_bench *bench, struct strata_text *words) {
    static const char *const kinds[] = {"pinned", "wrapped", "shared"};
    char number[STRATA_NUMBER_TEXT], id[48];
    const char *name = "pageable";
    double pageable = round_trip(bench, name), best = pageable * WORTHWHILE;
    if (pageable <= 0)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double rate = round_trip(bench, kinds[i]);
        /* What comes later in the list must be clearly better, for it asks more of the program. */
        if (rate > best * (strcmp(name, "pageable") == 0 ? 1 : 1.05)) {
            best = rate;
            name = kinds[i];
        }
    }
    snprintf(id, sizeof id, "%s.to-device", name);
    const struct strata_bench_figure *figure = strata_bench_find(bench, id);
    if (strcmp(name, "pageable") == 0)
        strata_text_add(words, " pageable memory for the host's data (no other kind gains);");
    else
        strata_text_printf(words, " %s memory for the host's data%s (%s x pageable);", name,
                           figure->in_place ? ", in place" : "", strata_format_fixed(best / pageable, 1, number));
}

/* What to use for what, from the figures. */
static void add_advice(const struct strata_bench *bench, struct strata_text *text) {
    struct strata_text words = {0};
    char number[STRATA_NUMBER_TEXT];
    double read = rate_of(bench, "global.read"), local = rate_of(bench, "local.read-write");
    double dense = rate_of(bench, "stride.1"), gap = rate_of(bench, "stride.16");
    strata_text_add(&words, "Use here:");
    size_t empty = words.length;
    add_exchange_advice(bench, &words);
    if (local > 0 && read > 0 && local >= WORTHWHILE * read)
        strata_text_printf(&words, " local memory for what is used again (%s x global);",
                           strata_format_fixed(local / read, 1, number));
    else if (local > 0 && read > 0)
        strata_text_add(&words, " no local memory (no faster than global);");
    if (gap > 0 && dense >= WORTHWHILE * gap)
        strata_text_printf(&words, " neighbouring words (%s x a stride of 16);",
                           strata_format_fixed(dense / gap, 1, number));
    if (!words.failed && words.length > empty) {
        words.data[words.length - 1] = '.';
        strata_text_add(text, "\n");
        add_wrapped(text, words.data);
    }
    strata_text_release(&words);
}

static bool any_marked(const struct strata_bench *bench) {
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        for (size_t i = 0; i < case_count(topic); i++)
            if (mark_of(strata_bench_topic_figures(bench, topic) + i)[0] != '\0')
                return true;
    return false;
}

/* Why there are no figures; the same reason is said once. */
static void add_reasons(const struct strata_bench *bench, struct strata_text *text) {
    const char *before = "";
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        for (size_t i = 0; i < case_count(topic); i++) {
            const struct strata_bench_figure *figure = strata_bench_topic_figures(bench, topic) + i;
            const struct strata_bench_case *what = &strata_bench_topics[topic]->cases[i];
            if (figure->measured || figure->reason[0] == '\0' || strcmp(figure->reason, before) == 0)
                continue;
            char line[512];
            snprintf(line, sizeof line, "n/a: %s, %s: %s", what->kind, what->what, figure->reason);
            add_wrapped(text, line);
            before = figure->reason;
        }
}

static void add_notes(const struct strata_bench *bench, struct strata_text *text) {
    strata_text_add(text, "\n");
    if (was_begun(bench, 0))
        add_wrapped(text,
                    "Medians. 5 % and 95 %: percentiles, or least and most of fewer than 20 rounds. Copy and local "
                    "memory count bytes read plus bytes written.");
    if (strata_bench_find(bench, "wrapped.to-device") != NULL || strata_bench_find(bench, "shared.to-device") != NULL)
        add_wrapped(text,
                    "Pageable, pinned: a copy. Wrapped, shared: the hand-over, or where it moves nothing, a kernel's "
                    "pass over the host's memory, in place or as it comes on use.");
    if (any_marked(bench))
        add_wrapped(text, "*: other processes used the CPU in every round; the figure may be too low.");
    add_reasons(bench, text);
}

void strata_bench_table_add(const struct strata_bench *bench, struct strata_text *text) {
    add_head(bench, text);
    bool below = add_others(bench, add_kinds(bench, text), text);
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        if (strata_bench_topics[topic]->axis != NULL && was_begun(bench, topic)) {
            add_sweep(bench, topic, below, text);
            below = true;
        }
    add_notes(bench, text);
    add_advice(bench, text);
}
