/* The sizes of OpenCL C's built-in types by name, as argument info spells them. */
#include "program/program.h"

#include <string.h>

struct scalar {
    const char *name;
    uint64_t bytes;
};

/* OpenCL C 3.0, 6.3.1. Longer names first, because a name is looked for at the start. */
static const struct scalar scalars[] = {
    {"unsigned char", 1}, {"unsigned short", 2}, {"unsigned int", 4}, {"unsigned long", 8}, {"uchar", 1},
    {"ushort", 2},        {"uint", 4},           {"ulong", 8},        {"char", 1},          {"short", 2},
    {"int", 4},           {"long", 8},           {"float", 4},        {"double", 8},        {"half", 2},
};

/* The elements that a vector suffix stands for; a 3-vector takes the room of 4 (OpenCL C 3.0, 6.3.2). */
static uint64_t elements(const char *suffix) {
    if (suffix[0] == '\0')
        return 1;
    if (strcmp(suffix, "2") == 0)
        return 2;
    if (strcmp(suffix, "3") == 0 || strcmp(suffix, "4") == 0)
        return 4;
    if (strcmp(suffix, "8") == 0)
        return 8;
    return strcmp(suffix, "16") == 0 ? 16 : 0;
}

uint64_t strata_type_bytes(const char *type) {
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        size_t length = strlen(scalars[i].name);
        if (strncmp(type, scalars[i].name, length) == 0)
            return scalars[i].bytes * elements(type + length);
    }
    return 0;
}
