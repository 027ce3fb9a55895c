/* The command info: the memory of each device, the kinds that it supports, and what to use for what. */
#include "cli/command.h"
#include "cli/drawing.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"

#include "strata/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the columns of the table of kinds begin. */
#define HERE_COLUMN 13
#define ADVICE_COLUMN 41

#define LABEL_COLUMNS 14

struct request {
    bool json;
    const char *selector; /* NULL: all devices */
};

static const char *type_name(enum strata_device_type type) {
    static const char *const names[] = {"other", "cpu", "gpu", "accelerator"};
    return names[type <= STRATA_DEVICE_ACCELERATOR ? type : STRATA_DEVICE_OTHER];
}

/* Bits and what they are called. */
struct flag {
    uint32_t bit;
    const char *name; /* NULL ends the list */
};

/* Best first. */
static const struct flag shared_modes[] = {{1u << STRATA_SHARED_COHERENT, "coherent"},
                                           {1u << STRATA_SHARED_MAPPED, "mapped"},
                                           {1u << STRATA_SHARED_MIRRORED, "mirrored"},
                                           {0, NULL}};
static const struct flag svm_bits[] = {{STRATA_SVM_COARSE, "coarse"},
                                       {STRATA_SVM_FINE_BUFFER, "fine-buffer"},
                                       {STRATA_SVM_FINE_SYSTEM, "fine-system"},
                                       {STRATA_SVM_ATOMICS, "atomics"},
                                       {0, NULL}};
static const struct flag usm_bits[] = {
    {STRATA_USM_HOST, "host"}, {STRATA_USM_DEVICE, "device"}, {STRATA_USM_SHARED, "shared"}, {0, NULL}};

/* The names of the bits that are set, "none" without any; answers `words`. */
static const char *name_flags(const struct flag *flags, uint32_t set, char *words, size_t size) {
    size_t length = 0;
    snprintf(words, size, "none");
    for (; flags->name != NULL; flags++)
        if ((set & flags->bit) != 0 && length < size)
            length += (size_t)snprintf(words + length, size - length, "%s%s", length > 0 ? ", " : "", flags->name);
    return words;
}

static json_t *flags_json(const struct flag *flags, uint32_t set) {
    json_t *list = json_array();
    for (; flags->name != NULL; flags++)
        if ((set & flags->bit) != 0 && json_array_append_new(list, json_string(flags->name)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static void format_uuid(const struct strata_device_info *info, char text[40]) {
    text[0] = '\0';
    for (size_t i = 0; info->has_uuid && i < 16; i++)
        snprintf(text + strlen(text), 40 - strlen(text), "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                 info->uuid[i]);
}

static void format_pci(const struct strata_device_info *info, char text[40]) {
    text[0] = '\0';
    if (info->has_pci)
        snprintf(text, 40, "%04x:%02x:%02x.%x", info->pci_domain, info->pci_bus, info->pci_device, info->pci_function);
}

static void add_fact(struct strata_text *text, const char *label, const char *words) {
    if (words[0] == '\0')
        return;
    strata_text_printf(text, "  %s", label);
    strata_text_pad(text, label, LABEL_COLUMNS - 2);
    strata_usage_wrap(text, words, LABEL_COLUMNS, LABEL_COLUMNS);
}

static void add_identity(struct strata_text *text, const struct strata_device_info *info, bool is_default) {
    char words[512];
    strata_text_printf(text, "Device %" PRIu32 ": %s (%s)%s\n", info->index, info->name, type_name(info->type),
                       is_default ? ", the default" : "");
    add_fact(text, "vendor", info->vendor);
    snprintf(words, sizeof words, "%s, %s", info->platform, info->device_version);
    add_fact(text, "platform", words);
    add_fact(text, "driver", info->driver_version);
    format_uuid(info, words);
    add_fact(text, "uuid", words);
    format_pci(info, words);
    add_fact(text, "pci", words);
}

static void add_abilities(struct strata_text *text, const struct strata_device_info *info) {
    char words[512], number[32];
    snprintf(words, sizeof words, "up to %" PRIu64 " work-items in a work-group, sub-groups of ",
             info->max_group_items);
    if (info->sub_group_size == STRATA_UNKNOWN)
        strcat(words, "unknown size");
    else
        snprintf(words + strlen(words), sizeof words - strlen(words), "%" PRIu64, info->sub_group_size);
    add_fact(text, "groups", words);
    snprintf(words, sizeof words, "half %s, double %s, 64-bit atomics %s", info->fp16 ? "yes" : "no",
             info->fp64 ? "yes" : "no", info->atomics64 ? "yes" : "no");
    add_fact(text, "arithmetic", words);
    snprintf(words, sizeof words, "%s, where an argument of a kernel may start",
             strata_format_known(info->base_alignment, number, sizeof number));
    add_fact(text, "alignment", words);
    add_fact(text, "svm", name_flags(svm_bits, info->svm, words, sizeof words));
    if (info->usm != 0)
        add_fact(text, "usm", name_flags(usm_bits, info->usm, words, sizeof words));
    if (!info->timer_is_reliable)
        snprintf(words, sizeof words, "not reliable: %s", info->timer_note);
    else if (info->timer_resolution_ns == STRATA_UNKNOWN)
        snprintf(words, sizeof words, "resolution unknown");
    else
        snprintf(words, sizeof words, "resolution %" PRIu64 " ns", info->timer_resolution_ns);
    add_fact(text, "timer", words);
    if (info->serialised)
        add_fact(text, "threads", "one at a time is let in: this runtime is not safe for several");
}

static void add_kind(struct strata_text *text, const char *kind, const char *here, const char *advice) {
    strata_text_printf(text, "  %s", kind);
    strata_text_pad(text, kind, HERE_COLUMN - 2);
    strata_text_add(text, here);
    strata_text_pad(text, here, ADVICE_COLUMN - HERE_COLUMN - 1);
    strata_text_add(text, " ");
    strata_usage_wrap(text, advice, ADVICE_COLUMN, ADVICE_COLUMN);
}

static const char *pinned_state(const struct strata_device_info *info) {
    switch (info->pinned_kernel_access) {
    case STRATA_YES:
        return "copies and kernels";
    case STRATA_NO:
        return "copies only";
    default:
        return "copies; kernels unknown";
    }
}

static const char *wrapped_state(const struct strata_device_info *info) {
    switch (info->unified) {
    case STRATA_YES:
        return "zero-copy where aligned";
    case STRATA_NO:
        return "copied to the device";
    default:
        return "zero-copy unknown";
    }
}

static void add_allocations(struct strata_text *text, const struct strata_device_info *info) {
    char here[128], number[32];
    bool unified = info->unified == STRATA_YES;
    snprintf(here, sizeof here, "largest buffer %s",
             strata_format_known(info->max_buffer_bytes, number, sizeof number));
    add_kind(text, "device", here,
             unified ? "what kernels work on; copies cost here, so prefer wrapped for data that exists already"
                     : "what kernels work on; copy once, use often");
    add_kind(text, "pinned", pinned_state(info),
             unified ? "gains little here: host and device share their memory"
                     : "the host's end of every large or repeated copy");
    add_kind(text, "wrapped", wrapped_state(info),
             unified ? "data that the application holds already; no copy is made"
                     : "data that the application holds already, when it is used once");
    name_flags(shared_modes, info->shared_modes, here, sizeof here);
    add_kind(text, "shared", here,
             (info->shared_modes >> STRATA_SHARED_COHERENT & 1) != 0 ? "linked structures, data that both sides touch"
             : (info->shared_modes >> STRATA_SHARED_MAPPED & 1) != 0
                 ? "linked structures; put host access into brackets"
             : info->shared_modes != 0 ? "convenience: a bracket copies the whole range, so open few"
                                       : "not on this device");
}

static void add_kinds(struct strata_text *text, const struct strata_device_info *info) {
    char here[128], number[32];
    strata_text_add(text, "\n");
    add_kind(text, "memory", "here", "use it for");
    add_allocations(text, info);
    snprintf(here, sizeof here, "%s, %" PRIu32 " argument%s",
             strata_format_known(info->constant_bytes, number, sizeof number), info->constant_arguments,
             info->constant_arguments == 1 ? "" : "s");
    add_kind(text, "constant", here, "small tables that all work-items read at the same place");
    snprintf(here, sizeof here, "per work-group %s", strata_format_known(info->local_bytes, number, sizeof number));
    add_kind(text, "local", here,
             info->local_is_dedicated ? "what the work-items of a work-group share and read again"
                                      : "gains little here: it lies in global memory");
    snprintf(here, sizeof here, "%" PRIu64 " registers per unit", info->private_registers);
    add_kind(text, "private", info->private_registers == STRATA_UNKNOWN ? "unknown" : here,
             "a work-item's variables; too many of them spill into global memory");
}

static json_t *answer(enum strata_answer value) {
    return value == STRATA_NOT_KNOWN ? json_null() : json_boolean(value == STRATA_YES);
}

static json_t *text_or_null(const char *text) {
    return text[0] == '\0' ? json_null() : strata_json_string(text);
}

static json_t *memory_json(const struct strata_device_info *info) {
    return json_pack("{s:{s:o, s:o, s:o}, s:{s:o, s:o}, s:{s:o, s:b}, s:{s:o, s:i}, s:{s:o}, s:o}", //
                     "global", "bytes", strata_json_known(info->global_bytes),                      //
                     "free_bytes", strata_json_known(info->free_bytes),                             //
                     "max_buffer_bytes", strata_json_known(info->max_buffer_bytes),                 //
                     "cache", "bytes", strata_json_known(info->cache_bytes),                        //
                     "line_bytes", strata_json_known(info->cache_line_bytes),                       //
                     "local", "bytes", strata_json_known(info->local_bytes),                        //
                     "dedicated", (int)info->local_is_dedicated,                                    //
                     "constant", "bytes", strata_json_known(info->constant_bytes),                  //
                     "arguments", (int)info->constant_arguments,                                    //
                     "private", "registers", strata_json_known(info->private_registers),            //
                     "base_alignment_bytes", strata_json_known(info->base_alignment));
}

static json_t *link_json(const struct strata_device_info *info, const struct strata_link *link, uint64_t host_bytes) {
    return json_pack("{s:o, s:o, s:o, s:o}",                                                               //
                     "unified", answer(info->unified),                                                     //
                     "pcie_lanes", link->lanes != 0 ? json_integer((json_int_t)link->lanes) : json_null(), //
                     "pcie_speed", text_or_null(link->speed),                                              //
                     "host_bytes", strata_json_known(host_bytes));
}

static json_t *kinds_json(const struct strata_device_info *info) {
    return json_pack("{s:{s:b}, s:{s:b, s:o}, s:{s:b, s:o}, s:{s:b, s:o}}",                   //
                     "device", "supported", 1,                                                //
                     "pinned", "supported", 1, "kernels", answer(info->pinned_kernel_access), //
                     "wrapped", "supported", 1, "zero_copy", answer(info->unified),           //
                     "shared", "supported", (int)(info->shared_modes != 0), "modes",          //
                     flags_json(shared_modes, info->shared_modes));
}

static json_t *compute_json(const struct strata_device_info *info) {
    bool has_resolution = info->timer_is_reliable;
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:o, s:b, s:b}",                               //
                     "units", strata_json_u64(info->compute_units),                                           //
                     "clock_mhz", strata_json_known(info->clock_mhz != 0 ? info->clock_mhz : STRATA_UNKNOWN), //
                     "max_group_items", strata_json_known(info->max_group_items),                             //
                     "sub_group_size", strata_json_known(info->sub_group_size),                               //
                     "sub_groups", (int)info->sub_groups,                                                     //
                     "fp16", (int)info->fp16,                                                                 //
                     "fp64", (int)info->fp64,                                                                 //
                     "atomics64", (int)info->atomics64,                                                       //
                     "timer_resolution_ns",                                                                   //
                     has_resolution ? strata_json_known(info->timer_resolution_ns) : json_null(),             //
                     "timer_reliable", (int)info->timer_is_reliable,                                          //
                     "serialised", (int)info->serialised);
}

static json_t *device_json(const struct strata_device_info *info, bool is_default) {
    char uuid[40], pci[40];
    struct strata_link link = strata_link_find(info);
    format_uuid(info, uuid);
    format_pci(info, pci);
    return json_pack("{s:i, s:b, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", //
                     "index", (int)info->index,                                                               //
                     "default", (int)is_default,                                                              //
                     "name", strata_json_string(info->name),                                                  //
                     "type", type_name(info->type),                                                           //
                     "vendor", strata_json_string(info->vendor),                                              //
                     "backend", strata_json_string(info->backend),                                            //
                     "platform", strata_json_string(info->platform),                                          //
                     "device_version", strata_json_string(info->device_version),                              //
                     "driver_version", strata_json_string(info->driver_version),                              //
                     "uuid", text_or_null(uuid),                                                              //
                     "pci", text_or_null(pci),                                                                //
                     "memory", memory_json(info),                                                             //
                     "link", link_json(info, &link, strata_host_memory()),                                    //
                     "svm", flags_json(svm_bits, info->svm),                                                  //
                     "usm", flags_json(usm_bits, info->usm),                                                  //
                     "kinds", kinds_json(info),                                                               //
                     "compute", compute_json(info));
}

/* The devices [first, end) of the list. `standard` is the one that strata takes when none is chosen. */
static int print_json(const strata_device_list *list, size_t first, size_t end, size_t standard) {
    json_t *devices = json_array();
    for (size_t i = first; devices != NULL && i < end; i++)
        if (json_array_append_new(devices, device_json(strata_device_list_info(list, i), i == standard)) != 0) {
            json_decref(devices);
            devices = NULL;
        }
    return strata_json_write(json_pack("{s:s, s:o}", "version", strata_version(), "devices", devices), NULL);
}

static int print_text(const strata_device_list *list, size_t first, size_t end, size_t standard) {
    struct strata_text text = {0};
    for (size_t i = first; i < end; i++) {
        const struct strata_device_info *info = strata_device_list_info(list, i);
        struct strata_link link = strata_link_find(info);
        if (i != first)
            strata_text_add(&text, "\n\n");
        add_identity(&text, info, i == standard);
        add_abilities(&text, info);
        strata_text_add(&text, "\n");
        strata_drawing_add(&text, info, &link, strata_host_memory(), strata_output_is_utf8());
        add_kinds(&text, info);
    }
    return strata_output_text(&text);
}

static int run(const struct request *request, const strata_device_list *list) {
    size_t first = 0, end = strata_device_list_count(list), standard = SIZE_MAX;
    if (request->selector != NULL) {
        if (strata_device_list_select(list, request->selector, &first) != STRATA_OK)
            return strata_report();
        end = first + 1;
    }
    /* STRATA_DEVICE may name a device that is not there; that is no reason to show none. */
    if (strata_device_list_select(list, NULL, &standard) != STRATA_OK)
        standard = SIZE_MAX;
    return request->json ? print_json(list, first, end, standard) : print_text(list, first, end, standard);
}

int strata_command_info(int argc, char **argv) {
    struct request request = {0};
    int code = STRATA_EXIT_DONE;
    const struct strata_option rows[] = {
        {.name = "device",
         .letter = 'd',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.selector,
         .value = "SEL",
         .help = STRATA_DEVICE_HELP " (default: all devices)"},
        {.name = "json",
         .kind = STRATA_OPTION_FLAG,
         .target = &request.json,
         .help = "write JSON; what is not known is null"},
    };
    const struct strata_usage usage = {
        .command = "strata info",
        .summary = "Shows the memory of each device as the architecture it is, the kinds of memory that it supports, "
                   "and what to use for what.",
        .rows = rows,
        .count = sizeof rows / sizeof rows[0],
    };
    if (!strata_usage_begin(&usage, argc, argv, &code))
        return code;
    strata_device_list *list = NULL;
    if (strata_device_list_create(&list) != STRATA_OK)
        return strata_report();
    code = run(&request, list);
    strata_device_list_destroy(&list);
    return code;
}
