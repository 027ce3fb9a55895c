/* Finding, reading and remembering the files of one inlining. */
#define _POSIX_C_SOURCE 200809L
#include "program/files.h"

#include "program/embedded.h"
#include "program/list.h"
#include "program/options.h"
#include "program/source.h"

#include <string.h>
#include <sys/stat.h>

/* --- macros --- */

static size_t macro_place(const struct strata_files *files, uint64_t name) {
    size_t place = (size_t)name & (files->macro_capacity - 1);
    while (files->macros[place].name != 0 && files->macros[place].name != name)
        place = (place + 1) & (files->macro_capacity - 1);
    return place;
}

static bool grow_macros(struct strata_files *files) {
    struct strata_files grown = {.macro_capacity = files->macro_capacity == 0 ? 64 : files->macro_capacity * 2};
    if (grown.macro_capacity > SIZE_MAX / 2 / sizeof *grown.macros)
        return false;
    grown.macros = strata_host_allocate(files->hooks, grown.macro_capacity * sizeof *grown.macros);
    if (grown.macros == NULL)
        return false;
    for (size_t i = 0; i < files->macro_capacity; i++)
        if (files->macros[i].name != 0)
            grown.macros[macro_place(&grown, files->macros[i].name)] = files->macros[i];
    strata_host_release(files->hooks, files->macros);
    files->macros = grown.macros;
    files->macro_capacity = grown.macro_capacity;
    return true;
}

/* The macro's place, made if need be; NULL when memory is out. */
static struct strata_macro *add_macro(struct strata_files *files, uint64_t name, size_t owner) {
    if (files->macro_count >= files->macro_capacity / 2 && !grow_macros(files))
        return NULL;
    struct strata_macro *macro = &files->macros[macro_place(files, name)];
    if (macro->name == 0) {
        *macro = (struct strata_macro){.name = name, .owner = owner};
        files->macro_count++;
    } else if (macro->owner != owner) {
        macro->owner = STRATA_FILE_NONE;
    }
    return macro;
}

/* NULL when nothing so far has it. */
static const struct strata_macro *find_macro(const struct strata_files *files, uint64_t name) {
    const struct strata_macro *macro = NULL;
    if (files->macro_capacity != 0)
        macro = &files->macros[macro_place(files, name)];
    return macro != NULL && macro->name == name ? macro : NULL;
}

bool strata_files_note_macro(struct strata_files *files, const struct strata_file *file, size_t directive) {
    const struct strata_directive *change = &file->scan.directives[directive];
    bool is_guard = file->scan.guarded && directive == 1;
    struct strata_macro *macro = add_macro(files, change->macro, is_guard ? file->identity : STRATA_FILE_NONE);
    if (macro != NULL && change->kind == STRATA_DIRECTIVE_UNDEF)
        macro->removed++;
    return macro != NULL;
}

bool strata_files_guard_is_own(const struct strata_files *files, const struct strata_file *file) {
    const struct strata_macro *guard = find_macro(files, file->scan.guard);
    return guard == NULL || guard->owner == file->identity;
}

uint64_t strata_files_guard_removed(const struct strata_files *files, const struct strata_file *file) {
    const struct strata_macro *guard = find_macro(files, file->scan.guard);
    return guard != NULL ? guard->removed : 0;
}

bool strata_files_is_defined(const struct strata_files *files, uint64_t macro) {
    const struct strata_inline_request *request = files->request;
    for (size_t i = 0; i < request->defined_count; i++)
        if (strata_macro_hash(request->defined[i], strlen(request->defined[i])) == macro)
            return find_macro(files, macro) == NULL;
    return false;
}

struct macro_adder {
    struct strata_files *files;
    bool failed;
};

static void add_option_macro(const char *name, size_t length, void *user) {
    struct macro_adder *adder = user;
    adder->failed |= add_macro(adder->files, strata_macro_hash(name, length), STRATA_FILE_NONE) == NULL;
}

/* --- records --- */

static enum strata_status out_of_memory(void) {
    return strata_fail_host_memory(sizeof(struct strata_file), "the list of kernel source files");
}

static void release_file(const struct strata_allocator *hooks, struct strata_file *file) {
    strata_host_release(hooks, file->path);
    strata_host_release(hooks, file->display);
    strata_host_release(hooks, file->targets);
    strata_text_release(&file->text);
    strata_scan_release(&file->scan);
    strata_host_release(hooks, file);
}

/* Appends a record that has its texts copied from `path` and from `folder` and `name` in front of each other. */
static enum strata_status add_file(struct strata_files *files, const char *path, const char *prefix, const char *name,
                                   size_t *index) {
    struct strata_text display = {.hooks = files->hooks};
    if (!strata_list_grow(files->hooks, &files->items, &files->capacity, files->count, sizeof *files->items))
        return out_of_memory();
    struct strata_file *file = strata_host_allocate(files->hooks, sizeof *file);
    if (file == NULL)
        return out_of_memory();
    file->scan.hooks = files->hooks;
    file->text.hooks = files->hooks;
    file->identity = files->count;
    if (path != NULL)
        file->path = strata_host_copy_string(files->hooks, path, strlen(path));
    strata_text_add(&display, prefix);
    strata_text_add(&display, name);
    file->display = display.data;
    if (display.failed || (path != NULL && file->path == NULL)) {
        release_file(files->hooks, file);
        return out_of_memory();
    }
    *index = files->count;
    files->items[files->count++] = file;
    return STRATA_OK;
}

static void set_identity(struct strata_files *files, size_t index, const struct stat *about) {
    struct strata_file *file = files->items[index];
    file->device = (uint64_t)about->st_dev;
    file->inode = (uint64_t)about->st_ino;
    for (size_t i = 0; i < index; i++) {
        const struct strata_file *other = files->items[i];
        if (other->path != NULL && other->device == file->device && other->inode == file->inode) {
            file->identity = other->identity;
            return;
        }
    }
}

static enum strata_status add_path(struct strata_files *files, const char *path, const char *name,
                                   const struct stat *about, size_t *index) {
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i]->path != NULL && strcmp(files->items[i]->path, path) == 0) {
            *index = i;
            return STRATA_OK;
        }
    enum strata_status status = add_file(files, path, "", name, index);
    if (status == STRATA_OK)
        set_identity(files, *index, about);
    return status;
}

static const struct strata_embedded_file *find_embedded(const struct strata_inline_request *request, const char *name) {
    for (size_t i = 0; i < request->embedded_count; i++)
        if (strcmp(request->embedded[i].name, name) == 0)
            return &request->embedded[i];
    return NULL;
}

static enum strata_status add_embedded(struct strata_files *files, const struct strata_embedded_file *embedded,
                                       const char *name, size_t *index) {
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i]->embedded == embedded) {
            *index = i;
            return STRATA_OK;
        }
    enum strata_status status =
        add_file(files, NULL, name != NULL ? "" : "<strata>/", name != NULL ? name : embedded->name, index);
    if (status == STRATA_OK)
        files->items[*index]->embedded = embedded;
    return status;
}

/* --- searching --- */

/* The length of the folder part of a path, with its slash; 0 when it has none. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

static void join(struct strata_text *path, const char *folder, size_t length, const char *name) {
    path->length = 0;
    strata_text_append(path, folder, length);
    if (length != 0 && folder[length - 1] != '/')
        strata_text_add(path, "/");
    strata_text_add(path, name);
}

/* A folder of that name does not count, as for compilers; all else is told when it is read. */
static enum strata_status try_path(struct strata_files *files, const char *folder, size_t length, const char *name,
                                   struct strata_text *path, size_t *found) {
    struct stat about;
    join(path, folder, length, name);
    if (path->failed)
        return out_of_memory();
    if (stat(path->data, &about) != 0 || S_ISDIR(about.st_mode))
        return STRATA_OK;
    return add_path(files, path->data, path->data, &about, found);
}

static enum strata_status try_embedded(struct strata_files *files, const char *folder, size_t length, const char *name,
                                       struct strata_text *path, size_t *found) {
    join(path, folder, length, name);
    if (path->failed)
        return out_of_memory();
    const struct strata_embedded_file *embedded = find_embedded(files->request, path->data);
    return embedded != NULL ? add_embedded(files, embedded, NULL, found) : STRATA_OK;
}

static enum strata_status search(struct strata_files *files, const struct strata_file *includer, const char *name,
                                 char quote, struct strata_text *path, size_t *found) {
    const struct strata_inline_request *request = files->request;
    const char *own = includer->embedded != NULL ? includer->embedded->name : NULL;
    enum strata_status status = STRATA_OK;
    if (name[0] == '/')
        return try_path(files, "", 0, name, path, found);
    if (quote == '"' && includer->path != NULL)
        status = try_path(files, includer->path, folder_length(includer->path), name, path, found);
    if (quote == '"' && own != NULL)
        status = try_embedded(files, own, folder_length(own), name, path, found);
    /* strata's own files mean strata's own files, whatever the caller's folders hold. */
    if (own != NULL && status == STRATA_OK && *found == STRATA_FILE_NONE)
        status = try_embedded(files, "", 0, name, path, found);
    for (size_t i = 0; i < request->directory_count && status == STRATA_OK && *found == STRATA_FILE_NONE; i++)
        status = try_path(files, request->directories[i], strlen(request->directories[i]), name, path, found);
    if (status == STRATA_OK && *found == STRATA_FILE_NONE)
        status = try_embedded(files, "", 0, name, path, found);
    return status;
}

enum strata_status strata_files_find(struct strata_files *files, size_t includer, size_t directive, size_t *found) {
    struct strata_file *file = files->items[includer];
    const struct strata_directive *include = &file->scan.directives[directive];
    size_t *target = &file->targets[directive];
    struct strata_text path = {.hooks = files->hooks};
    *found = STRATA_FILE_NONE;
    if (*target != 0) {
        *found = *target == STRATA_FILE_NONE ? STRATA_FILE_NONE : *target - 1;
        return STRATA_OK;
    }
    const char *name = file->scan.names.data + include->name;
    enum strata_status status = STRATA_OK;
    if (name[0] != '\0')
        status = search(files, file, name, include->quote, &path, found);
    strata_text_release(&path);
    if (status == STRATA_OK)
        *target = *found == STRATA_FILE_NONE ? STRATA_FILE_NONE : *found + 1;
    return status;
}

void strata_files_describe_search(const struct strata_files *files, size_t includer, const char *name, char quote,
                                  struct strata_text *text) {
    const struct strata_inline_request *request = files->request;
    const char *path = files->items[includer]->path;
    if (name[0] == '/') {
        strata_text_add(text, "that very path");
        return;
    }
    if (quote == '"' && path != NULL) {
        size_t length = folder_length(path);
        strata_text_add(text, "\"");
        strata_text_append(text, length != 0 ? path : "./", length != 0 ? length : 2);
        strata_text_add(text, "\", ");
    }
    for (size_t i = 0; i < request->directory_count; i++)
        strata_text_printf(text, "\"%s\", ", request->directories[i]);
    strata_text_add(text, "strata's own files");
}

/* --- loading --- */

static enum strata_status scan_file(struct strata_files *files, struct strata_file *file) {
    enum strata_status status = strata_scan_text(files->hooks, file->text.data, file->text.length, &file->scan);
    if (status != STRATA_OK)
        return status;
    file->targets = strata_host_allocate(files->hooks, file->scan.count * sizeof *file->targets);
    if (file->targets == NULL)
        return out_of_memory();
    file->loaded = true;
    return STRATA_OK;
}

enum strata_status strata_files_load(struct strata_files *files, size_t index) {
    struct strata_file *file = files->items[index];
    enum strata_source_kind kind = index == 0 ? STRATA_SOURCE_MAIN : STRATA_SOURCE_INCLUDED;
    enum strata_status status;
    if (file->loaded)
        return STRATA_OK;
    if (file->path != NULL)
        status = strata_source_load(file->path, kind, &file->text);
    else
        status = strata_source_copy(file->display, (const char *)file->embedded->bytes, file->embedded->length, kind,
                                    &file->text);
    return status == STRATA_OK ? scan_file(files, file) : status;
}

static enum strata_status add_text(struct strata_files *files, size_t *index) {
    const struct strata_inline_request *request = files->request;
    enum strata_status status = add_file(files, NULL, "", request->name != NULL ? request->name : "<source>", index);
    if (status != STRATA_OK)
        return status;
    struct strata_file *file = files->items[*index];
    status = strata_source_copy(request->name, request->text, request->length, STRATA_SOURCE_MAIN, &file->text);
    return status == STRATA_OK ? scan_file(files, file) : status;
}

enum strata_status strata_files_add_main(struct strata_files *files) {
    const struct strata_inline_request *request = files->request;
    enum strata_status status = STRATA_OK;
    size_t index = 0;
    if (request->text != NULL)
        return add_text(files, &index);
    if (request->path != NULL) {
        /* When this fails, reading the file fails in the same way and says so. */
        struct stat about = {.st_ino = 0};
        bool there = stat(request->path, &about) == 0;
        status = add_file(files, request->path, "", request->name != NULL ? request->name : request->path, &index);
        if (status == STRATA_OK && there)
            set_identity(files, index, &about);
    } else {
        const struct strata_embedded_file *embedded = find_embedded(request, request->embedded_name);
        if (embedded == NULL)
            return strata_fail(STRATA_INVALID_ARGUMENT, "strata has no kernel source \"%s\" of its own.",
                               request->embedded_name);
        status = add_embedded(files, embedded, request->name, &index);
    }
    return status == STRATA_OK ? strata_files_load(files, index) : status;
}

enum strata_status strata_files_open(const struct strata_inline_request *request, struct strata_files *files) {
    *files = (struct strata_files){.request = request, .hooks = request->hooks};
    struct macro_adder adder = {.files = files};
    enum strata_status status = strata_options_macros(request->hooks, request->options, add_option_macro, &adder);
    return status == STRATA_OK && adder.failed ? out_of_memory() : status;
}

void strata_files_release(struct strata_files *files) {
    for (size_t i = 0; i < files->count; i++)
        release_file(files->hooks, files->items[i]);
    strata_host_release(files->hooks, files->items);
    strata_host_release(files->hooks, files->macros);
    *files = (struct strata_files){.request = files->request, .hooks = files->hooks};
}
