/* Text that is handed on in pieces. */
#include "core/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void strata_writer_flush(struct strata_writer *writer) {
    if (writer->length != 0 && !writer->failed)
        writer->failed = !writer->write(writer->text, writer->length, writer->user);
    writer->length = 0;
}

static void make_room(struct strata_writer *writer, size_t bytes) {
    if (writer->length + bytes > sizeof writer->text)
        strata_writer_flush(writer);
}

void strata_writer_print(struct strata_writer *writer, const char *format, ...) {
    va_list arguments;
    make_room(writer, STRATA_WRITER_LINE_BYTES);
    va_start(arguments, format);
    int length = vsnprintf(writer->text + writer->length, STRATA_WRITER_LINE_BYTES, format, arguments);
    va_end(arguments);
    writer->length += length > 0 ? (size_t)length : 0;
}

static void add(struct strata_writer *writer, const char *bytes, size_t length) {
    make_room(writer, length);
    memcpy(writer->text + writer->length, bytes, length);
    writer->length += length;
}

/* How many bytes the character has that begins here; 0: none does (Unicode 15, table 3-7). */
static size_t character(const unsigned char *at) {
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                    : (at[0] & 0xf0) == 0xe0         ? 3
                    : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                     : 0;
    unsigned char least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < length; i++) {
        if (at[i] < least || at[i] > most)
            return 0;
        least = 0x80;
        most = 0xbf;
    }
    return length;
}

void strata_writer_string(struct strata_writer *writer, const char *string) {
    const unsigned char *at = (const unsigned char *)string;
    add(writer, "\"", 1);
    while (*at) {
        size_t length = character(at);
        if (*at == '"' || *at == '\\')
            strata_writer_print(writer, "\\%c", *at);
        else if (*at < 0x20)
            strata_writer_print(writer, "\\u%04x", *at);
        else if (length == 0)
            add(writer, "\xef\xbf\xbd", 3);
        else
            add(writer, (const char *)at, length);
        at += length ? length : 1;
    }
    add(writer, "\"", 1);
}
