/* Why a machine shows no OpenCL device: what an expert would look at first, looked at. */
#include "core/device.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STANDARD_VENDORS "/etc/OpenCL/vendors"
#define MOST_LISTED 16

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* An .icd holds the name of a library on its first line. */
static void describe_icd(struct strata_text *text, const char *path) {
    char library[512] = "";
    FILE *file = fopen(path, "re");
    if (!file) {
        strata_text_printf(text, " %s cannot be read (%s).", path, strata_errno_text(errno));
        return;
    }
    if (!fgets(library, sizeof library, file))
        library[0] = '\0';
    fclose(file);
    library[strcspn(library, "\r\n")] = '\0';
    if (!library[0]) {
        strata_text_printf(text, " %s is empty.", path);
        return;
    }
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        strata_text_printf(text, " %s names %s, which loads but offers no device.", path, library);
        dlclose(handle);
    } else {
        const char *reason = dlerror();
        strata_text_printf(text, " %s names %s, which does not load (%s).", path, library,
                           reason ? reason : "no reason");
    }
}

static void describe_vendors(struct strata_text *text, const char *directory) {
    DIR *folder = opendir(directory);
    if (!folder) {
        if (errno == ENOTDIR)
            describe_icd(text, directory);
        else
            strata_text_printf(text, "The vendors directory %s cannot be opened (%s).", directory,
                               strata_errno_text(errno));
        return;
    }
    unsigned found = 0;
    struct dirent *entry;
    strata_text_printf(text, "The vendors directory is %s.", directory);
    while ((entry = readdir(folder)) != NULL && found < MOST_LISTED) {
        if (!ends_with(entry->d_name, ".icd"))
            continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        describe_icd(text, path);
        found++;
    }
    closedir(folder);
    if (found == 0)
        strata_text_add(text, " It holds no .icd file: install an OpenCL driver, PoCL for the CPU say "
                              "(Debian: pocl-opencl-icd).");
}

/* A device file that is there but closed to this user explains a GPU that no driver shows. */
static void describe_files(struct strata_text *text, const char *directory, const char *prefix, const char *group) {
    DIR *folder = opendir(directory);
    if (!folder) {
        if (errno == EACCES)
            strata_text_printf(text, " %s is not readable by this user.", directory);
        return;
    }
    struct dirent *entry;
    unsigned closed = 0;
    while ((entry = readdir(folder)) != NULL && closed < MOST_LISTED) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (access(path, R_OK | W_OK) != 0) {
            strata_text_printf(text, " %s exists but cannot be used by this user (%s)%s.", path,
                               strata_errno_text(errno), group);
            closed++;
        }
    }
    closedir(folder);
}

void strata_no_device_hint(struct strata_text *text, const char *vendors_directory) {
    if (!vendors_directory)
        vendors_directory = getenv("OCL_ICD_VENDORS");
    if (!vendors_directory || !vendors_directory[0])
        vendors_directory = STANDARD_VENDORS;
    describe_vendors(text, vendors_directory);
    describe_files(text, "/dev/dri", "renderD", "; membership of the group 'render' usually helps");
    describe_files(text, "/dev", "nvidia", "");
    if (getenv("POCL_CACHE_DIR"))
        strata_text_add(text, " PoCL offers no device when POCL_CACHE_DIR is a folder that it cannot write to.");
}
