/* Keeping the cache's folder within its limit. */
#define _POSIX_C_SOURCE 200809L
#include "program/cache_entry.h"
#include "program/cache_folder.h"
#include "program/list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file is written in one go; one that is this old has lost its writer. */
#define TEMPORARY_SECONDS 3600

/* When the folder is over its limit it is brought down to 7/8 of it, so that not every new file needs another sweep. */
#define KEPT_OF_LIMIT(limit) ((limit) - (limit) / 8)

#if defined(__APPLE__)
#define st_mtim st_mtimespec
#endif

struct item {
    struct timespec used;
    uint64_t bytes;
    char name[STRATA_CACHE_NAME_SIZE];
};

struct listing {
    struct item *items;
    size_t count, capacity;
    uint64_t bytes;
};

static int compare_items(const void *left, const void *right) {
    const struct item *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* A file from the future is as wrong as one from long ago. */
static bool is_stale(time_t written) {
    time_t now = time(NULL);
    return written < now - TEMPORARY_SECONDS || written > now + TEMPORARY_SECONDS;
}

/* False when memory is out. What is not the cache's is left alone. */
static bool take(const struct strata_allocator *hooks, int folder, const char *name, struct listing *listing) {
    struct stat about;
    bool temporary = strncmp(name, STRATA_CACHE_TEMPORARY, strlen(STRATA_CACHE_TEMPORARY)) == 0;
    if (!temporary && !strata_cache_is_name(name))
        return true;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode))
        return true;
    if (temporary && is_stale(about.st_mtime)) {
        unlinkat(folder, name, 0);
        return true;
    }
    listing->bytes += (uint64_t)about.st_size;
    if (temporary)
        return true;
    if (!strata_list_grow(hooks, &listing->items, &listing->capacity, listing->count, sizeof *listing->items))
        return false;
    struct item *item = &listing->items[listing->count++];
    *item = (struct item){.used = about.st_mtim, .bytes = (uint64_t)about.st_size};
    memcpy(item->name, name, sizeof item->name);
    return true;
}

/* Another process may do the same at the same time; what it removed is gone all the same. */
static void remove_oldest(int folder, struct listing *listing, uint64_t limit) {
    if (listing->bytes <= limit)
        return;
    qsort(listing->items, listing->count, sizeof *listing->items, compare_items);
    for (size_t i = 0; i < listing->count && listing->bytes > KEPT_OF_LIMIT(limit); i++) {
        unlinkat(folder, listing->items[i].name, 0);
        listing->bytes -= listing->items[i].bytes;
    }
}

void strata_cache_folder_sweep(const struct strata_allocator *hooks, int folder, uint64_t limit) {
    struct listing listing = {.items = NULL};
    /* A descriptor of its own: a copy would share its place in the folder with another thread's. */
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0)
        return;
    DIR *entries = fdopendir(again);
    if (entries == NULL) {
        close(again);
        return;
    }
    bool good = true;
    for (const struct dirent *entry = readdir(entries); good && entry != NULL; entry = readdir(entries))
        good = take(hooks, folder, entry->d_name, &listing);
    closedir(entries);
    if (listing.count != 0)
        remove_oldest(folder, &listing, limit);
    strata_host_release(hooks, listing.items);
}
