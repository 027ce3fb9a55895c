/* The drawing of a device's memory: host on the left, the link, and the device with its compute units inside. */
#include "cli/drawing.h"

#include "cli/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The widths, in columns, of what is inside the frames. With frames and margins they come to 80. */
#define HOST_COLUMNS 12
#define LINK_COLUMNS 16
#define DEVICE_COLUMNS 46
#define UNIT_COLUMNS (DEVICE_COLUMNS - 4)

/* Long enough for any line inside a frame, in bytes. */
#define LINE_BYTES 160

struct strokes {
    const char *across, *down, *top_left, *top_right, *bottom_left, *bottom_right, *to_left, *to_right;
};

static const struct strokes fine_strokes = {"─", "│", "┌", "┐", "└", "┘", "◄", "►"};
static const struct strokes plain_strokes = {"-", "|", "+", "+", "+", "+", "<", ">"};

/* One line of the drawing: what is in each of the three parts. */
struct row {
    char host[LINE_BYTES];
    char link[LINE_BYTES];
    char device[LINE_BYTES];
};

/* The first word or two of a file of one line; "" where there is none. */
static void read_line(const char *path, char *line, size_t size) {
    FILE *file = fopen(path, "r");
    line[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(line, (int)size, file) == NULL)
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

struct strata_link strata_link_find(const struct strata_device_info *info) {
    struct strata_link link = {0};
    char path[128], line[64];
    uint64_t lanes = 0;
    if (!info->has_pci)
        return link;
    int length = snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/", info->pci_domain, info->pci_bus,
                          info->pci_device, info->pci_function);
    snprintf(path + length, sizeof path - (size_t)length, "current_link_width");
    read_line(path, line, sizeof line);
    if (strata_parse_u64(line, &lanes) && lanes <= 64)
        link.lanes = (uint32_t)lanes;
    snprintf(path + length, sizeof path - (size_t)length, "current_link_speed");
    read_line(path, line, sizeof line);
    char *unit = strstr(line, "GT/s");
    if (unit != NULL) {
        unit[4] = '\0';
        snprintf(link.speed, sizeof link.speed, "%.31s", line);
    }
    return link;
}

uint64_t strata_host_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = 0;
    if (pages <= 0 || page <= 0 || !strata_multiply((uint64_t)pages, (uint64_t)page, &bytes))
        return STRATA_UNKNOWN;
    return bytes;
}

const char *strata_format_known(uint64_t bytes, char *buffer, size_t size) {
    if (bytes != STRATA_UNKNOWN)
        return strata_format_bytes(bytes, buffer, size);
    snprintf(buffer, size, "unknown");
    return buffer;
}

static void repeat(struct strata_text *text, const char *stroke, size_t count) {
    for (size_t i = 0; i < count; i++)
        strata_text_add(text, stroke);
}

/* A line of `columns` between a left and a right end; `title` interrupts it. */
static void add_edge(struct strata_text *text, const struct strokes *strokes, const char *left, const char *right,
                     const char *title, size_t columns) {
    strata_text_add(text, left);
    strata_text_add(text, strokes->across);
    strata_text_add(text, title);
    repeat(text, strokes->across, columns - 1 - strata_text_columns(title));
    strata_text_add(text, right);
}

/* What is in a frame, with a margin of one column on each side. */
static void add_framed(struct strata_text *text, const struct strokes *strokes, const char *words, size_t columns) {
    strata_text_printf(text, "%s %s", strokes->down, words);
    strata_text_pad(text, words, columns - 1);
    strata_text_add(text, strokes->down);
}

static void add_centred(struct strata_text *text, const char *words, size_t columns) {
    size_t width = strata_text_columns(words);
    size_t left = width < columns ? (columns - width) / 2 : 0;
    repeat(text, " ", left);
    strata_text_add(text, words);
    strata_text_pad(text, words, columns - left);
}

static void add_row(struct strata_text *text, const struct strokes *strokes, const struct row *row) {
    strata_text_add(text, "  ");
    add_framed(text, strokes, row->host, HOST_COLUMNS);
    add_centred(text, row->link, LINK_COLUMNS);
    add_framed(text, strokes, row->device, DEVICE_COLUMNS);
    strata_text_add(text, "\n");
}

/* The top or the bottom of both frames. */
static void add_ends(struct strata_text *text, const struct strokes *strokes, bool top) {
    const char *left = top ? strokes->top_left : strokes->bottom_left;
    const char *right = top ? strokes->top_right : strokes->bottom_right;
    strata_text_add(text, "  ");
    add_edge(text, strokes, left, right, top ? " host " : "", HOST_COLUMNS);
    repeat(text, " ", LINK_COLUMNS);
    add_edge(text, strokes, left, right, top ? " device " : "", DEVICE_COLUMNS);
    strata_text_add(text, "\n");
}

/* Sets a row's device part from a text, which is released. */
static void set_device(struct row *row, struct strata_text *text) {
    snprintf(row->device, sizeof row->device, "%s", text->data != NULL ? text->data : "");
    strata_text_release(text);
}

/* The rows of the compute units: a frame of their own with local and private memory in it. */
static void draw_units(struct row rows[4], const struct strata_device_info *info, const struct strokes *strokes) {
    char words[LINE_BYTES], number[32];
    struct strata_text text = {0};
    snprintf(words, sizeof words, " %" PRIu32 " compute unit%s ", info->compute_units,
             info->compute_units == 1 ? "" : "s, each with");
    add_edge(&text, strokes, strokes->top_left, strokes->top_right, words, UNIT_COLUMNS);
    set_device(&rows[0], &text);

    if (info->private_registers == STRATA_UNKNOWN)
        snprintf(words, sizeof words, "private   unknown");
    else
        snprintf(words, sizeof words, "private   %" PRIu64 " registers of 4 B", info->private_registers);
    add_framed(&text, strokes, words, UNIT_COLUMNS);
    set_device(&rows[1], &text);

    snprintf(words, sizeof words, "local     %s%s", strata_format_known(info->local_bytes, number, sizeof number),
             info->local_is_dedicated ? " per work-group" : ", in global memory");
    add_framed(&text, strokes, words, UNIT_COLUMNS);
    set_device(&rows[2], &text);

    add_edge(&text, strokes, strokes->bottom_left, strokes->bottom_right, "", UNIT_COLUMNS);
    set_device(&rows[3], &text);
}

/* The rows of what all compute units share. */
static void draw_shared(struct row rows[3], const struct strata_device_info *info) {
    char first[32], second[32];
    strata_format_known(info->cache_bytes, first, sizeof first);
    strata_format_known(info->cache_line_bytes, second, sizeof second);
    if (info->cache_bytes == 0)
        snprintf(rows[0].device, sizeof rows[0].device, "cache     none");
    else if (info->cache_line_bytes == STRATA_UNKNOWN)
        snprintf(rows[0].device, sizeof rows[0].device, "cache     %s", first);
    else
        snprintf(rows[0].device, sizeof rows[0].device, "cache     %s, lines of %s", first, second);
    snprintf(rows[1].device, sizeof rows[1].device, "constant  %s",
             strata_format_known(info->constant_bytes, first, sizeof first));
    snprintf(rows[2].device, sizeof rows[2].device, "global    %s, free %s",
             strata_format_known(info->global_bytes, first, sizeof first),
             strata_format_known(info->free_bytes, second, sizeof second));
}

static void draw_link(struct row rows[3], const struct strata_device_info *info, const struct strata_link *link,
                      const struct strokes *strokes) {
    struct strata_text arrow = {0};
    strata_text_add(&arrow, strokes->to_left);
    repeat(&arrow, strokes->across, LINK_COLUMNS - 4);
    strata_text_add(&arrow, strokes->to_right);
    snprintf(rows[1].link, sizeof rows[1].link, "%s", arrow.data != NULL ? arrow.data : "");
    strata_text_release(&arrow);

    if (info->unified == STRATA_YES) {
        snprintf(rows[0].link, sizeof rows[0].link, "one memory");
    } else if (link->lanes != 0 || link->speed[0] != '\0') {
        snprintf(rows[0].link, sizeof rows[0].link, link->lanes != 0 ? "PCIe x%u" : "PCIe", (unsigned)link->lanes);
        snprintf(rows[2].link, sizeof rows[2].link, "%s", link->speed);
    } else {
        snprintf(rows[0].link, sizeof rows[0].link, info->has_pci ? "PCI" : "link");
        snprintf(rows[2].link, sizeof rows[2].link, "speed unknown");
    }
}

void strata_drawing_add(struct strata_text *text, const struct strata_device_info *info, const struct strata_link *link,
                        uint64_t host_bytes, bool utf8) {
    const struct strokes *strokes = utf8 ? &fine_strokes : &plain_strokes;
    struct row rows[7] = {0};
    draw_units(rows, info, strokes);
    draw_shared(rows + 4, info);
    draw_link(rows + 4, info, link, strokes);
    snprintf(rows[5].host, sizeof rows[5].host, "memory");
    strata_format_known(host_bytes, rows[6].host, sizeof rows[6].host);
    add_ends(text, strokes, true);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        add_row(text, strokes, &rows[i]);
    add_ends(text, strokes, false);
}
