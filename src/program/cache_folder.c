/* Choosing, making and checking the cache's folder. A folder that somebody else could write to could hold somebody
 * else's code, so it is used only when it is this user's alone, and always through its descriptor. */
#define _POSIX_C_SOURCE 200809L
#include "program/cache_folder.h"

#include "program/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whoever runs as root with another user's HOME must not leave a folder there that the user can then not use. So
 * nothing is made in a folder of another user; in one of root's, such as that for temporary files, it is. */
#define FOREIGN_PARENT (-1)

static void explain(struct strata_text *why, const char *path, const char *what) {
    strata_text_printf(why, "The program cache is off: its folder \"%s\" %s. Name another in STRATA_CACHE_DIR.", path,
                       what);
}

static void explain_errno(struct strata_text *why, const char *path, const char *verb, int code) {
    strata_text_printf(why,
                       "The program cache is off: its folder \"%s\" cannot be %s, %s (errno %d). Name another in "
                       "STRATA_CACHE_DIR.",
                       path, verb, strata_errno_text(code), code);
}

/* Systems differ in what they call a link that is not to be followed. */
static void explain_unused(struct strata_text *why, const char *path, int code) {
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode))
        explain(why, path, "is a symbolic link, which is not followed");
    else
        explain_errno(why, path, "used", code);
}

static bool is_off(const char *wish) {
    return wish[0] == '\0' || strcmp(wish, "off") == 0;
}

/* The XDG specification has relative paths ignored. */
static const char *absolute(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] == '/' ? value : NULL;
}

/* A link at the end of a path is followed in spite of O_NOFOLLOW when a slash or "/." comes behind it. */
static void cut_end(struct strata_text *path) {
    for (;;) {
        if (path->length > 1 && path->data[path->length - 1] == '/')
            path->length--;
        else if (path->length > 2 && memcmp(path->data + path->length - 2, "/.", 2) == 0)
            path->length -= 1;
        else
            break;
        path->data[path->length] = '\0';
    }
}

bool strata_cache_folder_choose(const char *wish, struct strata_text *path, struct strata_text *why) {
    if (wish == NULL && (getuid() != geteuid() || getgid() != getegid())) {
        strata_text_add(why, "The program cache is off: a program that runs with another user's rights does not take "
                             "its folder from the environment.");
        return false;
    }
    if (wish == NULL)
        wish = getenv("STRATA_CACHE_DIR");
    if (wish != NULL && is_off(wish))
        return false;
    if (wish != NULL) {
        strata_text_add(path, wish);
    } else if ((wish = absolute("XDG_CACHE_HOME")) != NULL) {
        strata_text_add(path, wish);
        strata_text_add(path, "/strata");
    } else if ((wish = absolute("HOME")) != NULL) {
        strata_text_add(path, wish);
        strata_text_add(path, "/.cache/strata");
    } else {
        strata_text_add(why, "The program cache is off: none of STRATA_CACHE_DIR, XDG_CACHE_HOME and HOME names a "
                             "folder for it.");
        return false;
    }
    if (path->failed)
        return false;
    cut_end(path);
    return true;
}

static int open_folder(const char *path) {
    int folder;
    do
        folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (folder < 0 && errno == EINTR);
    return folder;
}

/* Closes the folder and returns -1 when it is not to be trusted. */
static int check_folder(const char *path, int folder, struct strata_text *why) {
    struct stat about;
    const char *fault = NULL;
    if (fstat(folder, &about) != 0)
        fault = "cannot be asked for its owner";
    else if (about.st_uid != geteuid())
        fault = "belongs to another user";
    else if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        fault = "can be written by other users";
    if (fault == NULL)
        return folder;
    explain(why, path, fault);
    close(folder);
    return -1;
}

/* The length of the longest part of the path that is there, 0 when that is the current folder. *about is of it. */
static size_t existing_length(struct strata_text *path, struct stat *about) {
    size_t length = path->length;
    while (length != 0) {
        char kept = path->data[length];
        path->data[length] = '\0';
        bool there = stat(path->data, about) == 0;
        path->data[length] = kept;
        if (there || (length == 1 && path->data[0] == '/'))
            return length;
        while (length != 0 && path->data[length - 1] != '/')
            length--;
        while (length > 1 && path->data[length - 1] == '/')
            length--;
    }
    stat(".", about);
    return 0;
}

/* Makes what is missing of the path. 0, or an errno value, or FOREIGN_PARENT. */
static int make_folders(struct strata_text *path) {
    struct stat about = {.st_uid = 0};
    size_t length = existing_length(path, &about);
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return FOREIGN_PARENT;
    while (length < path->length) {
        while (path->data[length] == '/')
            length++;
        while (path->data[length] != '/' && path->data[length] != '\0')
            length++;
        char kept = path->data[length];
        path->data[length] = '\0';
        int code = mkdir(path->data, S_IRWXU) == 0 ? 0 : errno;
        path->data[length] = kept;
        if (code != 0 && code != EEXIST)
            return code;
    }
    return 0;
}

int strata_cache_folder_open(const char *path, struct strata_text *why) {
    int folder = open_folder(path);
    if (folder >= 0)
        return check_folder(path, folder, why);
    if (errno != ENOENT) {
        explain_unused(why, path, errno);
        return -1;
    }
    struct strata_text parts = {.hooks = why->hooks};
    strata_text_add(&parts, path);
    int code = parts.failed ? ENOMEM : make_folders(&parts);
    strata_text_release(&parts);
    if (code == 0 && (folder = open_folder(path)) < 0)
        code = errno;
    if (code == FOREIGN_PARENT)
        explain(why, path, "would have to be made in another user's folder");
    else if (code != 0)
        explain_errno(why, path, "made", code);
    if (code != 0)
        return -1;
    return check_folder(path, folder, why);
}
