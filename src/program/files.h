/* The files that one inlining reads: where they are found, their text and directives, and the macros they define. */
#ifndef STRATA_PROGRAM_FILES_H
#define STRATA_PROGRAM_FILES_H

#include "program/include.h"
#include "program/scan.h"

#define STRATA_FILE_NONE SIZE_MAX

/* One file under one path. The same file under two paths has two of these, because what it includes is looked for
 * beside the path, and one identity. */
struct strata_file {
    char *path;    /* NULL: embedded, or a string */
    char *display; /* what compilers and messages call it */
    const struct strata_embedded_file *embedded;
    uint64_t device, inode; /* of a path */
    size_t identity;        /* the index of the first record of the same file */
    bool known;             /* of the identity: whoever includes it here gets nothing new */
    bool loaded;
    struct strata_text text;
    struct strata_scan scan;
    size_t *targets; /* per directive: 0, or 1 + the index of the file that an include names, or STRATA_FILE_NONE */
};

/* What the build options and the text so far may have done to a macro. */
struct strata_macro {
    uint64_t name;    /* 0: a free place */
    size_t owner;     /* the identity of the one file that defines it, as its guard; else STRATA_FILE_NONE */
    uint64_t removed; /* how often it was undefined */
};

struct strata_files {
    const struct strata_inline_request *request;
    const struct strata_allocator *hooks;
    struct strata_file **items;
    size_t count, capacity;
    struct strata_macro *macros; /* a hash table with a power of two places, at most half of them in use */
    size_t macro_count, macro_capacity;
};

/* Begins with the macros of the request's options. Release after a failure too. */
enum strata_status strata_files_open(const struct strata_inline_request *request, struct strata_files *files);
void strata_files_release(struct strata_files *files);

/* Adds what the request is about as file 0 and loads it. */
enum strata_status strata_files_add_main(struct strata_files *files);

/* Looks for the include `directive` of file `includer`. *found is STRATA_FILE_NONE when it is nowhere. */
enum strata_status strata_files_find(struct strata_files *files, size_t includer, size_t directive, size_t *found);

/* Where strata_files_find looks, as words for a message. */
void strata_files_describe_search(const struct strata_files *files, size_t includer, const char *name, char quote,
                                  struct strata_text *text);

/* Reads and scans a file, once. */
enum strata_status strata_files_load(struct strata_files *files, size_t index);

/* Takes note of a #define or #undef that may be read. False when memory is out. */
bool strata_files_note_macro(struct strata_files *files, const struct strata_file *file, size_t directive);

/* Whether nothing so far defines the guard of a guarded file but the file itself. */
bool strata_files_guard_is_own(const struct strata_files *files, const struct strata_file *file);

/* How often the guard of a guarded file was undefined so far. */
uint64_t strata_files_guard_removed(const struct strata_files *files, const struct strata_file *file);

/* Whether the compiler is sure to define the macro, and nothing so far meddles with it. */
bool strata_files_is_defined(const struct strata_files *files, uint64_t macro);

#endif
