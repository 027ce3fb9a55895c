/* Runs a fuzz target over every file of a folder, with any compiler: replay FOLDER. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

static bool read_file(const char *path, struct strata_text *bytes) {
    char piece[16384];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    for (size_t got = fread(piece, 1, sizeof piece, file); got != 0; got = fread(piece, 1, sizeof piece, file))
        strata_text_append(bytes, piece, got);
    bool good = ferror(file) == 0 && !bytes->failed;
    fclose(file);
    return good;
}

static bool replay(const char *path) {
    struct strata_text bytes = {0};
    if (!read_file(path, &bytes)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        strata_text_release(&bytes);
        return false;
    }
    /* Said before the run: a run that fails does not come back. */
    printf("%s, %zu bytes\n", path, bytes.length);
    fflush(stdout);
    char *exact = fuzz_copy(bytes.data, bytes.length);
    int refused = LLVMFuzzerTestOneInput((const uint8_t *)exact, bytes.length);
    free(exact);
    strata_text_release(&bytes);
    if (refused != 0)
        fprintf(stderr, "%s: the target gave %d\n", path, refused);
    return refused == 0;
}

int main(int argc, char **argv) {
    struct dirent **entries = NULL;
    size_t files = 0;
    bool good = true;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    /* In the order of their names, so that two runs that fail do so at the same file. */
    int count = scandir(argv[1], &entries, NULL, alphasort);
    if (count < 0)
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
    for (int i = 0; i < count; i++) {
        struct strata_text path = {0};
        struct stat about;
        strata_text_printf(&path, "%s/%s", argv[1], entries[i]->d_name);
        FUZZ_CHECK(!path.failed);
        if (stat(path.data, &about) != 0 || !S_ISDIR(about.st_mode)) {
            good = replay(path.data) && good;
            files++;
        }
        strata_text_release(&path);
        free(entries[i]);
    }
    free(entries);
    if (count >= 0 && files == 0)
        fprintf(stderr, "%s: there is no file in it\n", argv[1]);
    printf("%zu files\n", files);
    return good && files != 0 ? 0 : 1;
}
