/* Line markers that every compiler of C reads alike. */
#include "program/marker.h"

#include <string.h>

/* The largest number that #line takes. */
#define LINE_MAXIMUM INT32_MAX

void strata_marker_begin_line(struct strata_text *out) {
    if (out->length != 0 && out->data[out->length - 1] != '\n')
        strata_text_add(out, "\n");
}

bool strata_marker_ends_continued(const struct strata_text *out) {
    size_t end = out->length;
    if (end == 0 || out->data[--end] != '\n')
        return false;
    while (end != 0 && strchr(" \t\v\f", out->data[end - 1]) != NULL)
        end--;
    return end != 0 && out->data[end - 1] == '\\';
}

/* How many bytes the UTF-8 character here has; 0 when it is none that a compiler would take. */
static size_t utf8_length(const unsigned char *at) {
    static const struct {
        unsigned char low, high, second_low, second_high, length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].low || at[0] > forms[i].high)
            continue;
        if (at[1] < forms[i].second_low || at[1] > forms[i].second_high)
            return 0;
        for (size_t next = 2; next < forms[i].length; next++)
            if (at[next] < 0x80 || at[next] > 0xBF)
                return 0;
        return forms[i].length;
    }
    return 0;
}

void strata_marker_add_name(struct strata_text *out, const char *name) {
    /* Newer compilers take only the plain escapes here, so that a control character or a byte that is not UTF-8 becomes
     * an underscore. The question mark is escaped because two of them can start a trigraph. */
    strata_text_add(out, "\"");
    while (*name != '\0') {
        unsigned char byte = (unsigned char)*name;
        size_t length = byte < 0x80 ? 1 : utf8_length((const unsigned char *)name);
        if (byte == '\\' || byte == '"' || byte == '?')
            strata_text_add(out, "\\");
        if (length == 0 || byte < 0x20 || byte == 0x7F)
            strata_text_add(out, "_");
        else
            strata_text_append(out, name, length);
        name += length != 0 ? length : 1;
    }
    strata_text_add(out, "\"");
}

void strata_marker_begin(struct strata_text *out, int64_t line) {
    line = line < 1 ? 1 : line > LINE_MAXIMUM ? LINE_MAXIMUM : line;
    strata_marker_begin_line(out);
    strata_text_printf(out, "#line %ld ", (long)line);
}
