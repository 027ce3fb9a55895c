/* Programs: from source to kernels, by way of the binary cache. */
#include "program/program.h"
#include "core/fork.h"
#include "program/cache.h"
#include "program/embedded.h"
#include "program/include.h"
#include "program/options.h"

#include <string.h>

void strata_program_desc_init(struct strata_program_desc *desc) {
    *desc = (struct strata_program_desc){.size = sizeof *desc};
}

/* What a build needs, once the desc was read: the inlined source and the options without include folders. */
struct recipe {
    strata_device *device;
    const struct strata_program_desc *desc;
    const char *name;
    struct strata_text source;
    struct strata_options options;
};

static const char *const sure_macros[] = {"__OPENCL_VERSION__", "__OPENCL_C_VERSION__"};

static enum strata_status check_desc(const struct strata_program_desc *desc) {
    int given = (desc->path != NULL) + (desc->source != NULL) + (desc->embedded != NULL);
    if (given == 1)
        return STRATA_OK;
    return strata_fail(STRATA_INVALID_ARGUMENT, "A program needs one of path, source and embedded; %d were given.",
                       given);
}

static enum strata_status prepare_source(struct recipe *recipe) {
    const struct strata_program_desc *desc = recipe->desc;
    const struct strata_allocator *hooks = &recipe->device->hooks;
    recipe->source.hooks = hooks;
    enum strata_status status = strata_options_split(hooks, desc->options, &recipe->options);
    if (status != STRATA_OK)
        return status;
    struct strata_inline_request request = {.hooks = hooks,
                                            .path = desc->path,
                                            .embedded_name = desc->embedded,
                                            .text = desc->source,
                                            .length = desc->source && !desc->source_bytes ? strlen(desc->source)
                                                                                          : desc->source_bytes,
                                            .name = desc->name,
                                            .directories = (const char *const *)recipe->options.directories,
                                            .directory_count = recipe->options.directory_count,
                                            .embedded = strata_embedded_files,
                                            .embedded_count = strata_embedded_file_count,
                                            .options = recipe->options.cleaned,
                                            .defined = sure_macros,
                                            .defined_count = sizeof sure_macros / sizeof sure_macros[0]};
    return strata_source_inline(&request, &recipe->source, NULL);
}

static enum strata_status program_create(struct recipe *recipe, strata_program **result) {
    const struct strata_allocator *hooks = &recipe->device->hooks;
    strata_program *program = strata_host_allocate(hooks, sizeof *program);
    char *name = strata_host_copy_string(hooks, recipe->name, strlen(recipe->name));
    if (!program || !name) {
        strata_host_release(hooks, program);
        strata_host_release(hooks, name);
        return strata_fail_host_memory(sizeof *program, "a program");
    }
    program->device = recipe->device;
    program->name = name;
    atomic_init(&program->references, 1);
    pthread_mutex_init(&program->lock, NULL);
    strata_device_retain(recipe->device);
    *result = program;
    return STRATA_OK;
}

void strata_program_retain(strata_program *program) {
    atomic_fetch_add(&program->references, 1);
}

void strata_program_release(strata_program *program) {
    if (atomic_fetch_sub(&program->references, 1) != 1)
        return;
    strata_device *device = program->device;
    const struct strata_backend_program *table = device->backend->program;
    bool child = strata_fork_happened();
    for (size_t i = 0; i < program->kernel_count; i++)
        if (program->kernels[i].native && !child)
            table->kernel_destroy(program->kernels[i].native);
    strata_metadata_drop(program);
    if (program->native && !child)
        table->destroy(program->native);
    pthread_mutex_destroy(&program->lock);
    strata_host_release(&device->hooks, program->name);
    strata_host_release(&device->hooks, program);
    if (!child)
        strata_device_release(device);
}

static struct strata_cache_key key_of(const struct recipe *recipe) {
    const struct strata_device_info *info = &recipe->device->info;
    return (struct strata_cache_key){.source = recipe->source.data,
                                     .source_length = recipe->source.length,
                                     .options = recipe->options.cleaned,
                                     .backend = info->backend,
                                     .device_name = info->name,
                                     .device_version = info->device_version,
                                     .driver_version = info->driver_version,
                                     .platform_name = info->platform,
                                     .platform_version = info->platform_version,
                                     .strata_version = strata_version()};
}

/* Any fault here means that the program is built. */
static bool load_cached(struct strata_cache *cache, const struct strata_cache_key *key, const struct recipe *recipe,
                        strata_program *program) {
    struct strata_cache_entry entry = {0};
    strata_device *device = recipe->device;
    if (!strata_cache_get(cache, key, &entry))
        return false;
    bool loaded = device->backend->program->load(device->native, entry.binary, entry.binary_bytes,
                                                 recipe->options.cleaned, &program->native) == STRATA_OK &&
                  strata_metadata_apply(program, entry.arguments, entry.arguments_bytes);
    if (!loaded && program->native) {
        device->backend->program->destroy(program->native);
        program->native = NULL;
    }
    strata_cache_release(cache, &entry);
    program->cached = loaded;
    return loaded;
}

static void store(struct strata_cache *cache, const struct strata_cache_key *key, strata_program *program,
                  const struct strata_text *metadata) {
    struct strata_text binary = {.hooks = &program->device->hooks};
    if (program->device->backend->program->binary(program->native, &binary) == STRATA_OK && binary.length) {
        struct strata_cache_entry entry = {.binary = binary.data,
                                           .binary_bytes = binary.length,
                                           .arguments = metadata->data,
                                           .arguments_bytes = metadata->length};
        strata_cache_put(cache, key, &entry);
    }
    strata_text_release(&binary);
}

static enum strata_status build_new(struct strata_cache *cache, const struct strata_cache_key *key,
                                    const struct recipe *recipe, strata_program *program) {
    strata_device *device = recipe->device;
    struct strata_text metadata = {.hooks = &device->hooks};
    enum strata_status status =
        device->backend->program->build(device->native, recipe->source.data, recipe->source.length,
                                        recipe->options.cleaned, recipe->name, &program->native);
    if (status == STRATA_OK)
        status = strata_metadata_collect(program, &metadata);
    if (status == STRATA_OK && !strata_metadata_apply(program, metadata.data, metadata.length))
        status = strata_fail_host_memory(metadata.length, "a program's kernels");
    if (status == STRATA_OK && cache && program->kernel_count > 0)
        store(cache, key, program, &metadata);
    strata_text_release(&metadata);
    return status;
}

/* A cache that cannot be used is worth one line in the log. */
static void log_note(strata_device *device, struct strata_cache *cache) {
    char note[512];
    if (cache && strata_cache_take_note(cache, note, sizeof note))
        strata_device_log(device, STRATA_LOG_INFO, "%s", note);
}

static enum strata_status build(struct recipe *recipe, strata_program *program) {
    strata_device *device = recipe->device;
    bool wanted = !device->no_cache && !recipe->desc->no_cache;
    struct strata_cache *cache = wanted ? strata_cache_open(&device->hooks, device->cache_directory) : NULL;
    struct strata_cache_key key = key_of(recipe);
    enum strata_status status = STRATA_OK;
    if (!cache || !load_cached(cache, &key, recipe, program))
        status = build_new(cache, &key, recipe, program);
    log_note(device, cache);
    if (cache)
        strata_cache_close(&cache);
    return status;
}

enum strata_status strata_program_build(strata_device *device, const struct strata_program_desc *given,
                                        strata_program **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_program_build needs a place for the program.");
    *result = NULL;
    struct strata_program_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = strata_desc_read(given, &desc, sizeof desc, "strata_program_desc");
    if (status == STRATA_OK)
        status = check_desc(&desc);
    if (status != STRATA_OK)
        return status;
    struct recipe recipe = {.device = device, .desc = &desc};
    recipe.name = desc.name ? desc.name : desc.path ? desc.path : desc.embedded ? desc.embedded : "<source>";
    strata_program *program = NULL;
    status = prepare_source(&recipe);
    if (status == STRATA_OK)
        status = program_create(&recipe, &program);
    if (status == STRATA_OK)
        status = build(&recipe, program);
    strata_text_release(&recipe.source);
    strata_options_release(&recipe.options);
    if (status != STRATA_OK) {
        if (program)
            strata_program_release(program);
        return status;
    }
    *result = program;
    return STRATA_OK;
}

void strata_program_destroy(strata_program **place) {
    if (!place || !*place)
        return;
    strata_program *program = *place;
    *place = NULL;
    strata_program_release(program);
}

bool strata_program_was_cached(const strata_program *program) {
    return program && program->cached;
}

size_t strata_program_kernel_count(const strata_program *program) {
    return program ? program->kernel_count : 0;
}

const char *strata_program_kernel_name(const strata_program *program, size_t index) {
    return program && index < program->kernel_count ? program->kernels[index].info.name : NULL;
}

/* Makes the native kernel, which tells the rest of its info. */
static enum strata_status complete(strata_program *program, strata_kernel *kernel) {
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&program->lock);
    if (!kernel->native) {
        struct strata_native_kernel_facts facts = {0};
        status = program->device->backend->program->kernel_create(program->native, kernel->info.name, &kernel->native,
                                                                  &facts);
        kernel->info.max_group_items = facts.max_group_items;
        kernel->info.preferred_multiple = facts.preferred_multiple;
        memcpy(kernel->info.required_group, facts.required_group, sizeof facts.required_group);
        kernel->info.local_bytes = facts.local_bytes;
        kernel->info.private_bytes = facts.private_bytes;
    }
    pthread_mutex_unlock(&program->lock);
    return status;
}

static enum strata_status no_such_kernel(const strata_program *program, const char *name) {
    struct strata_text names = {.hooks = &program->device->hooks};
    for (size_t i = 0; i < program->kernel_count; i++)
        strata_text_printf(&names, "%s%s", i ? ", " : "", program->kernels[i].info.name);
    enum strata_status status = strata_fail(STRATA_INVALID_ARGUMENT, "Program '%s' has no kernel '%s'. It has: %s.",
                                            program->name, name, names.data ? names.data : "none");
    strata_text_release(&names);
    return status;
}

enum strata_status strata_program_kernel(strata_program *program, const char *name, strata_kernel **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!program || !name || !result)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "strata_program_kernel needs a program, a name and a place for the kernel.");
    *result = NULL;
    for (size_t i = 0; i < program->kernel_count; i++) {
        strata_kernel *kernel = &program->kernels[i];
        if (strcmp(kernel->info.name, name) != 0)
            continue;
        enum strata_status status = complete(program, kernel);
        if (status == STRATA_OK)
            *result = kernel;
        return status;
    }
    return no_such_kernel(program, name);
}

const struct strata_kernel_info *strata_kernel_get_info(const strata_kernel *kernel) {
    return kernel ? &kernel->info : NULL;
}
