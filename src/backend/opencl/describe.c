/* What an OpenCL device says of itself, turned into strata_device_info: bytes, and unknown where it says nothing. */
#include "backend/opencl/native.h"
#include "core/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From vendors' extensions; not in every version of the Khronos headers. */
#define DEVICE_GLOBAL_FREE_MEMORY_AMD 0x4039
#define DEVICE_WAVEFRONT_WIDTH_AMD 0x4043
#define DEVICE_TOPOLOGY_AMD 0x4037
#define DEVICE_WARP_SIZE_NV 0x4003
#define DEVICE_REGISTERS_PER_BLOCK_NV 0x4002
#define DEVICE_PCI_BUS_ID_NV 0x4008
#define DEVICE_PCI_SLOT_ID_NV 0x4009
#define DEVICE_PCI_DOMAIN_ID_NV 0x400A
#define DEVICE_UUID_KHR 0x106A
#define DEVICE_PCI_BUS_INFO_KHR 0x410F
#define DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
#define DEVICE_HOST_MEM_CAPABILITIES_INTEL 0x4190
#define DEVICE_DEVICE_MEM_CAPABILITIES_INTEL 0x4191
#define DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL 0x4192

/* CL_DEVICE_MEM_BASE_ADDR_ALIGN is in bits; read as bytes it has broken more than one framework. */
#define BITS_PER_BYTE 8

struct source {
    const struct strata_cl_calls *cl;
    cl_device_id id;
};

static bool get(const struct source *from, cl_device_info what, void *value, size_t size) {
    size_t given = 0;
    memset(value, 0, size);
    return from->cl->GetDeviceInfo(from->id, what, size, value, &given) == CL_SUCCESS && given == size;
}

static uint32_t get_u32(const struct source *from, cl_device_info what) {
    cl_uint value;
    return get(from, what, &value, sizeof value) ? value : 0;
}

static bool get_bool(const struct source *from, cl_device_info what) {
    cl_bool value;
    return get(from, what, &value, sizeof value) && value;
}

/* A 64-bit figure, or unknown. */
static uint64_t get_u64(const struct source *from, cl_device_info what) {
    cl_ulong value;
    return get(from, what, &value, sizeof value) ? value : STRATA_UNKNOWN;
}

static char *text_of_size(size_t size) {
    return calloc(1, size + 1);
}

static const char *get_string(const struct source *from, cl_device_info what) {
    size_t size = 0;
    if (from->cl->GetDeviceInfo(from->id, what, 0, NULL, &size) != CL_SUCCESS)
        size = 0;
    char *text = text_of_size(size);
    if (text && size && from->cl->GetDeviceInfo(from->id, what, size, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    return text;
}

static const char *get_platform_string(cl_platform_id platform, cl_platform_info what) {
    size_t size = 0;
    if (clGetPlatformInfo(platform, what, 0, NULL, &size) != CL_SUCCESS)
        size = 0;
    char *text = text_of_size(size);
    if (text && size && clGetPlatformInfo(platform, what, size, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    return text;
}

bool strata_cl_has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* "OpenCL 3.0 ..." is 300. */
static uint32_t version_of(const char *text) {
    unsigned major = 0, minor = 0;
    if (sscanf(text, "OpenCL %u.%u", &major, &minor) != 2)
        return 0;
    return major * 100 + minor * 10;
}

static void trim(const char *text) {
    char *end = (char *)(uintptr_t)text + strlen(text);
    while (end > text && (end[-1] == ' ' || end[-1] == '\n'))
        *--end = '\0';
}

static bool describe_strings(const struct source *from, cl_platform_id platform, struct strata_device_info *info) {
    info->backend = "opencl";
    info->name = get_string(from, CL_DEVICE_NAME);
    info->vendor = get_string(from, CL_DEVICE_VENDOR);
    info->platform = get_platform_string(platform, CL_PLATFORM_NAME);
    info->platform_version = get_platform_string(platform, CL_PLATFORM_VERSION);
    info->device_version = get_string(from, CL_DEVICE_VERSION);
    info->driver_version = get_string(from, CL_DRIVER_VERSION);
    info->language_version = get_string(from, CL_DEVICE_OPENCL_C_VERSION);
    info->extensions = get_string(from, CL_DEVICE_EXTENSIONS);
    if (!info->name || !info->vendor || !info->platform || !info->platform_version || !info->device_version ||
        !info->driver_version || !info->language_version || !info->extensions)
        return false;
    trim(info->name);
    trim(info->device_version);
    trim(info->platform_version);
    return true;
}

static void describe_identity(const struct source *from, struct strata_device_info *info) {
    cl_device_type type = 0;
    get(from, CL_DEVICE_TYPE, &type, sizeof type);
    info->type = type & CL_DEVICE_TYPE_GPU           ? STRATA_DEVICE_GPU
                 : type & CL_DEVICE_TYPE_CPU         ? STRATA_DEVICE_CPU
                 : type & CL_DEVICE_TYPE_ACCELERATOR ? STRATA_DEVICE_ACCELERATOR
                                                     : STRATA_DEVICE_OTHER;
    info->version = version_of(info->device_version);
    info->vendor_id = get_u32(from, CL_DEVICE_VENDOR_ID);
    if (strata_cl_has_word(info->extensions, "cl_khr_device_uuid"))
        info->has_uuid = get(from, DEVICE_UUID_KHR, info->uuid, sizeof info->uuid);
    cl_uint pci[4]; /* domain, bus, device, function */
    unsigned char amd[24];
    if (strata_cl_has_word(info->extensions, "cl_khr_pci_bus_info") &&
        get(from, DEVICE_PCI_BUS_INFO_KHR, pci, sizeof pci)) {
        info->has_pci = true;
        info->pci_domain = pci[0], info->pci_bus = pci[1], info->pci_device = pci[2], info->pci_function = pci[3];
    } else if (strata_cl_has_word(info->extensions, "cl_nv_device_attribute_query") &&
               get(from, DEVICE_PCI_BUS_ID_NV, &pci[1], sizeof pci[1]) &&
               get(from, DEVICE_PCI_SLOT_ID_NV, &pci[2], sizeof pci[2])) {
        info->has_pci = true;
        info->pci_domain = get_u32(from, DEVICE_PCI_DOMAIN_ID_NV);
        info->pci_bus = pci[1];
        info->pci_device = pci[2] >> 3; /* the slot id has the function in its low bits */
        info->pci_function = pci[2] & 7;
    } else if (strata_cl_has_word(info->extensions, "cl_amd_device_attribute_query") &&
               get(from, DEVICE_TOPOLOGY_AMD, amd, sizeof amd)) {
        info->has_pci = true; /* {type, 17 unused, bus, device, function} */
        info->pci_bus = amd[21], info->pci_device = amd[22], info->pci_function = amd[23];
    }
}

/* MemAvailable: what the kernel would give without swapping. */
static uint64_t available_host_memory(void) {
    uint64_t bytes = STRATA_UNKNOWN;
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (uint64_t)kib * 1024;
    if (file)
        fclose(file);
    return bytes;
}

uint64_t strata_cl_free_bytes(const struct strata_cl_calls *cl, cl_device_id id, const struct strata_device_info *info,
                              bool amd_queries) {
    struct source from = {cl, id};
    uint64_t kib[2] = {0}; /* all, and the largest block; some drivers give the first only */
    if (info->type == STRATA_DEVICE_CPU) {
        uint64_t available = available_host_memory();
        return available != STRATA_UNKNOWN && available > info->global_bytes ? info->global_bytes : available;
    }
    if (amd_queries && (get(&from, DEVICE_GLOBAL_FREE_MEMORY_AMD, kib, sizeof kib) ||
                        get(&from, DEVICE_GLOBAL_FREE_MEMORY_AMD, kib, sizeof kib[0])))
        return kib[0] * 1024;
    return STRATA_UNKNOWN;
}

static void describe_memory(const struct source *from, struct strata_device_info *info) {
    info->global_bytes = get_u64(from, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->max_buffer_bytes = get_u64(from, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    info->cache_bytes = get_u64(from, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    if (info->cache_bytes == 0)
        info->cache_bytes = STRATA_UNKNOWN; /* no device of today has none; it is what runtimes say that do not know */
    info->cache_line_bytes = get_u32(from, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
    if (info->cache_line_bytes == 0)
        info->cache_line_bytes = STRATA_UNKNOWN;
    info->local_bytes = get_u64(from, CL_DEVICE_LOCAL_MEM_SIZE);
    info->local_is_dedicated = get_u32(from, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
    info->constant_bytes = get_u64(from, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    info->constant_arguments = get_u32(from, CL_DEVICE_MAX_CONSTANT_ARGS);
    info->base_alignment = get_u32(from, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / BITS_PER_BYTE;
    if (info->base_alignment == 0)
        info->base_alignment = 128; /* the largest type, sizeof(long16): the least that OpenCL 3.0, 4.2 allows */
    info->private_registers = STRATA_UNKNOWN;
    if (strata_cl_has_word(info->extensions, "cl_nv_device_attribute_query")) {
        uint32_t registers = get_u32(from, DEVICE_REGISTERS_PER_BLOCK_NV);
        if (registers)
            info->private_registers = registers;
    }
    cl_bool unified = CL_FALSE;
    if (info->type == STRATA_DEVICE_CPU)
        info->unified = STRATA_YES;
    else if (get(from, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified))
        info->unified = unified ? STRATA_YES : STRATA_NO;
    info->free_bytes = strata_cl_free_bytes(from->cl, from->id, info,
                                            strata_cl_has_word(info->extensions, "cl_amd_device_attribute_query"));
}

static void describe_sharing(const struct source *from, cl_platform_id platform, struct strata_device_info *info) {
    cl_device_svm_capabilities svm = 0;
    const char *text = get_platform_string(platform, CL_PLATFORM_VERSION);
    uint32_t platform_version = text ? version_of(text) : 0;
    free((void *)(uintptr_t)text);
    if (platform_version >= 200 && info->version >= 200 && get(from, CL_DEVICE_SVM_CAPABILITIES, &svm, sizeof svm)) {
        info->svm = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER ? STRATA_SVM_COARSE : 0u) |
                    (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? STRATA_SVM_FINE_BUFFER : 0u) |
                    (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM ? STRATA_SVM_FINE_SYSTEM : 0u) |
                    (svm & CL_DEVICE_SVM_ATOMICS ? STRATA_SVM_ATOMICS : 0u);
    }
    if (strata_cl_has_word(info->extensions, "cl_intel_unified_shared_memory")) {
        uint64_t usm;
        if (get(from, DEVICE_HOST_MEM_CAPABILITIES_INTEL, &usm, sizeof usm) && (usm & 1))
            info->usm |= STRATA_USM_HOST;
        if (get(from, DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, &usm, sizeof usm) && (usm & 1))
            info->usm |= STRATA_USM_DEVICE;
        if (get(from, DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, &usm, sizeof usm) && (usm & 1))
            info->usm |= STRATA_USM_SHARED;
    }
    info->shared_modes = 1u << STRATA_SHARED_MIRRORED;
    if (info->svm & STRATA_SVM_COARSE)
        info->shared_modes |= 1u << STRATA_SHARED_MAPPED;
    if ((info->svm & STRATA_SVM_FINE_BUFFER) || (info->usm & STRATA_USM_SHARED))
        info->shared_modes |= 1u << STRATA_SHARED_COHERENT;
    /* Kernels reach PINNED memory without brackets only where the backend makes it of USM host memory; this one keeps
     * it mapped for life, so they must not. */
    info->pinned_kernel_access = STRATA_NO;
}

static void describe_execution(const struct source *from, struct strata_device_info *info) {
    info->compute_units = get_u32(from, CL_DEVICE_MAX_COMPUTE_UNITS);
    info->clock_mhz = get_u32(from, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    size_t items = 0, sizes[8] = {0};
    get(from, CL_DEVICE_MAX_WORK_GROUP_SIZE, &items, sizeof items);
    info->max_group_items = items ? items : 1;
    cl_uint dimensions = get_u32(from, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS);
    if (dimensions > 8)
        dimensions = 3;
    from->cl->GetDeviceInfo(from->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, dimensions * sizeof sizes[0], sizes, NULL);
    for (unsigned i = 0; i < 3; i++)
        info->max_group_size[i] = sizes[i] ? sizes[i] : 1;
    info->sub_groups = strata_cl_has_word(info->extensions, "cl_khr_subgroups") ||
                       strata_cl_has_word(info->extensions, "cl_intel_subgroups");
    info->sub_group_size = STRATA_UNKNOWN;
    uint32_t width = 0;
    if (strata_cl_has_word(info->extensions, "cl_nv_device_attribute_query"))
        width = get_u32(from, DEVICE_WARP_SIZE_NV);
    else if (strata_cl_has_word(info->extensions, "cl_amd_device_attribute_query"))
        width = get_u32(from, DEVICE_WAVEFRONT_WIDTH_AMD);
    size_t intel[8] = {0}, given = 0;
    if (width)
        info->sub_group_size = width;
    else if (strata_cl_has_word(info->extensions, "cl_intel_required_subgroup_size") &&
             from->cl->GetDeviceInfo(from->id, DEVICE_SUB_GROUP_SIZES_INTEL, sizeof intel, intel, &given) ==
                 CL_SUCCESS &&
             given >= sizeof intel[0])
        info->sub_group_size = intel[given / sizeof intel[0] - 1];
    info->fp16 = strata_cl_has_word(info->extensions, "cl_khr_fp16");
    cl_device_fp_config fp64 = 0;
    info->fp64 = strata_cl_has_word(info->extensions, "cl_khr_fp64") ||
                 (get(from, CL_DEVICE_DOUBLE_FP_CONFIG, &fp64, sizeof fp64) && fp64 != 0);
    info->atomics64 = strata_cl_has_word(info->extensions, "cl_khr_int64_base_atomics");
    info->little_endian = get_bool(from, CL_DEVICE_ENDIAN_LITTLE);
}

static void describe_timer(const struct source *from, const struct strata_quirks *quirks,
                           struct strata_device_info *info) {
    size_t resolution = 0;
    info->timer_is_reliable = quirks->timer_note == NULL;
    info->timer_note = quirks->timer_note ? quirks->timer_note : "";
    info->timer_resolution_ns = STRATA_UNKNOWN;
    if (info->timer_is_reliable && get(from, CL_DEVICE_PROFILING_TIMER_RESOLUTION, &resolution, sizeof resolution) &&
        resolution)
        info->timer_resolution_ns = resolution;
    info->serialised = quirks->serialise;
}

enum strata_status strata_cl_describe(const struct strata_cl_calls *cl, cl_platform_id platform, cl_device_id id,
                                      struct strata_device_info *info) {
    struct source from = {cl, id};
    *info = (struct strata_device_info){.size = sizeof *info};
    if (!describe_strings(&from, platform, info)) {
        strata_info_release(NULL, info);
        return strata_fail_host_memory(sizeof *info, "a device's description");
    }
    describe_identity(&from, info);
    describe_memory(&from, info);
    describe_sharing(&from, platform, info);
    describe_execution(&from, info);
    describe_timer(&from, strata_quirks_of(info->platform), info);
    return STRATA_OK;
}
