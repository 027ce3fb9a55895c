/* Line markers: how inlined source tells the compiler which file and line it came from. */
#ifndef STRATA_PROGRAM_MARKER_H
#define STRATA_PROGRAM_MARKER_H

#include "core/host.h"

/* Ends the last line if it was not. */
void strata_marker_begin_line(struct strata_text *out);

/* Whether the last line that was ended closes with a backslash, and so would take in the next. */
bool strata_marker_ends_continued(const struct strata_text *out);

/* Puts "#line 12 " at the beginning of a line. A number that #line cannot take becomes the nearest that it can. */
void strata_marker_begin(struct strata_text *out, int64_t line);

/* Puts a file's name as a string literal. */
void strata_marker_add_name(struct strata_text *out, const char *name);

#endif
