/* A file of numbers in pieces: opening, recognising, reading through interrupts and pipes, and byte order. */
#include "cli/input.h"

#include "cli/interrupt.h"
#include "core/error.h"
#include "core/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One read call asks for no more than this, so that an interrupt is seen in time on a slow disk. */
#define READ_PIECE ((size_t)16 << 20)

/* How long a wait for a pipe goes on before it looks for an interrupt, which may have reached another thread. */
#define WAIT_MILLISECONDS 100

/* Puts the file's name in front of the thread's last error. */
static enum strata_status fail_in_file(const struct strata_input *input) {
    struct strata_error_copy error;
    strata_error_save(&error);
    return strata_fail(error.status, "%s: %s", input->label, error.message);
}

static enum strata_status fail_system(const struct strata_input *input, const char *what) {
    return strata_fail(STRATA_IO, "%s: cannot %s: %s", input->label, what, strata_errno_text(errno));
}

static enum strata_status fail_interrupted(const struct strata_input *input) {
    return strata_fail(STRATA_CANCELLED, "%s: reading was interrupted", input->label);
}

/* Waits until a read would not block. Regular files are always ready. */
static enum strata_status wait_readable(const struct strata_input *input) {
    for (;;) {
        struct pollfd ready = {.fd = input->descriptor, .events = POLLIN};
        int count = poll(&ready, 1, WAIT_MILLISECONDS);
        if (strata_interrupted() != 0)
            return fail_interrupted(input);
        if (count > 0)
            return STRATA_OK;
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return fail_system(input, "wait for data");
    }
}

/* Reads from the descriptor until `wanted` bytes are there or the file ends. */
static enum strata_status read_descriptor(const struct strata_input *input, unsigned char *memory, size_t wanted,
                                          size_t *got) {
    *got = 0;
    while (*got < wanted) {
        enum strata_status status = wait_readable(input);
        if (status != STRATA_OK)
            return status;
        size_t piece = wanted - *got < READ_PIECE ? wanted - *got : READ_PIECE;
        ssize_t count = read(input->descriptor, memory + *got, piece);
        if (count == 0)
            return STRATA_OK;
        if (count > 0)
            *got += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN)
            return fail_system(input, "read");
    }
    return STRATA_OK;
}

/* The same, with the bytes that were read ahead first. */
static enum strata_status read_bytes(struct strata_input *input, unsigned char *memory, size_t wanted, size_t *got) {
    size_t ahead = input->ahead_end - input->ahead_begin;
    ahead = ahead < wanted ? ahead : wanted;
    memcpy(memory, input->ahead + input->ahead_begin, ahead);
    input->ahead_begin += ahead;
    enum strata_status status = read_descriptor(input, memory + ahead, wanted - ahead, got);
    *got += ahead;
    return status;
}

/* The bytes from the descriptor's position to the end, or STRATA_UNKNOWN where the system does not tell. A size of 0
 * tells nothing: the files of /proc have it too. The data begins at that position, until a header is found. */
static enum strata_status measure(struct strata_input *input, uint64_t *bytes) {
    struct stat about;
    *bytes = STRATA_UNKNOWN;
    if (fstat(input->descriptor, &about) != 0)
        return fail_system(input, "ask for its size");
    if (S_ISDIR(about.st_mode))
        return strata_fail(STRATA_IO, "%s: this is a folder, not a file of numbers", input->label);
    if (!S_ISREG(about.st_mode) || about.st_size <= 0)
        return STRATA_OK;
    off_t position = lseek(input->descriptor, 0, SEEK_CUR);
    if (position < 0)
        return STRATA_OK;
    *bytes = position < about.st_size ? (uint64_t)(about.st_size - position) : 0;
    input->data_offset = (uint64_t)position;
    return STRATA_OK;
}

static enum strata_status check_npy_size(const struct strata_input *input, uint64_t file_bytes, uint64_t head_bytes) {
    uint64_t there = file_bytes > head_bytes ? file_bytes - head_bytes : 0;
    if (file_bytes == STRATA_UNKNOWN || there == input->total_bytes)
        return STRATA_OK;
    return strata_fail(STRATA_IO,
                       "%s: its header promises %" PRIu64 " elements of %u bytes, %" PRIu64
                       " bytes in all, but %" PRIu64 " bytes follow the header%s",
                       input->label, input->npy.count, (unsigned)input->npy.size, input->total_bytes, there,
                       there < input->total_bytes ? "; the file was cut short" : "; only one array can be read");
}

static enum strata_status read_npy(struct strata_input *input, uint64_t file_bytes) {
    struct strata_npy_preamble preamble;
    if (strata_npy_read_preamble(input->ahead, input->ahead_end, &preamble) != STRATA_OK)
        return fail_in_file(input);
    input->ahead_begin = preamble.header_offset;

    unsigned char *header = strata_host_allocate(NULL, preamble.header_bytes);
    if (header == NULL)
        return strata_fail_host_memory(preamble.header_bytes, "the header of a .npy file");
    size_t got = 0;
    enum strata_status status = read_bytes(input, header, preamble.header_bytes, &got);
    if (status == STRATA_OK && got < preamble.header_bytes)
        status = strata_fail(STRATA_IO, "%s: the .npy header has %u bytes, but the file ends after %zu of them",
                             input->label, (unsigned)preamble.header_bytes, got);
    else if (status == STRATA_OK && strata_npy_read_header((const char *)header, got, &input->npy) != STRATA_OK)
        status = fail_in_file(input);
    strata_host_release(NULL, header);
    if (status != STRATA_OK)
        return status;

    const uint16_t probe = 1;
    bool little_endian = *(const unsigned char *)&probe == 1;
    input->is_npy = true;
    input->element_bytes = input->npy.size;
    input->swap = input->npy.size > 1 && input->npy.big_endian == little_endian;
    input->total_bytes = input->npy.count * input->npy.size;
    uint64_t head_bytes = (uint64_t)preamble.header_offset + preamble.header_bytes;
    if (input->data_offset != STRATA_UNKNOWN)
        input->data_offset += head_bytes;
    return check_npy_size(input, file_bytes, head_bytes);
}

static bool is_too_large_to_keep(uint64_t bytes) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return bytes != STRATA_UNKNOWN && pages > 0 && page_bytes > 0 && bytes / (uint64_t)page_bytes > (uint64_t)pages / 2;
}

static enum strata_status look_ahead(struct strata_input *input) {
    uint64_t file_bytes = STRATA_UNKNOWN;
    enum strata_status status = measure(input, &file_bytes);
    if (status != STRATA_OK)
        return status;
#ifdef POSIX_FADV_SEQUENTIAL
    posix_fadvise(input->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    status = read_descriptor(input, input->ahead, sizeof input->ahead, &input->ahead_end);
    if (status != STRATA_OK)
        return status;
    if (input->ahead_end < sizeof input->ahead)
        file_bytes = input->ahead_end;
    input->total_bytes = file_bytes;
    input->forgets = input->data_offset != STRATA_UNKNOWN && is_too_large_to_keep(file_bytes);
    if (strata_npy_recognise(input->ahead, input->ahead_end))
        return read_npy(input, file_bytes);
    return STRATA_OK;
}

enum strata_status strata_input_open(struct strata_input *input, const char *path) {
    *input =
        (struct strata_input){.path = path, .label = path, .descriptor = STDIN_FILENO, .data_offset = STRATA_UNKNOWN};
    if (strcmp(path, "-") == 0) {
        input->label = "standard input";
    } else {
        do
            input->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        while (input->descriptor < 0 && errno == EINTR && strata_interrupted() == 0);
    }
    enum strata_status status = STRATA_OK;
    if (input->descriptor < 0)
        status = strata_interrupted() != 0 ? fail_interrupted(input) : fail_system(input, "open");
    else
        status = look_ahead(input);
    if (status != STRATA_OK)
        strata_input_close(input);
    return status;
}

static enum strata_status fail_uneven(const struct strata_input *input, uint64_t bytes) {
    return strata_fail(STRATA_IO, "%s: its %" PRIu64 " bytes are not a multiple of the element size of %u bytes",
                       input->label, bytes, (unsigned)input->element_bytes);
}

enum strata_status strata_input_set_element(struct strata_input *input, uint32_t element_bytes) {
    input->element_bytes = element_bytes;
    if (input->total_bytes != STRATA_UNKNOWN && input->total_bytes % element_bytes != 0)
        return fail_uneven(input, input->total_bytes);
    return STRATA_OK;
}

uint64_t strata_input_count(const struct strata_input *input) {
    if (input->total_bytes == STRATA_UNKNOWN || input->element_bytes == 0)
        return STRATA_UNKNOWN;
    return input->total_bytes / input->element_bytes;
}

/* Only a .npy file from a pipe can get here with more behind its data: the size of others was checked at the start. */
static enum strata_status check_end(struct strata_input *input) {
    unsigned char more;
    size_t got = 0;
    enum strata_status status = read_bytes(input, &more, 1, &got);
    if (status == STRATA_OK && got != 0)
        status = strata_fail(STRATA_IO,
                             "%s: there is more after the %" PRIu64 " bytes that its header promises; only "
                             "one array can be read",
                             input->label, input->total_bytes);
    return status;
}

/* One loop for each size: the compiler turns these into vector shuffles, and a swap costs less than the read. */
static void swap_elements(unsigned char *bytes, size_t length, uint32_t element_bytes) {
    switch (element_bytes) {
    case 2:
        for (size_t at = 0; at < length; at += 2) {
            uint16_t v;
            memcpy(&v, bytes + at, 2);
            v = (uint16_t)(v >> 8 | v << 8);
            memcpy(bytes + at, &v, 2);
        }
        break;
    case 4:
        for (size_t at = 0; at < length; at += 4) {
            uint32_t v;
            memcpy(&v, bytes + at, 4);
            v = v >> 24 | (v >> 8 & 0xff00u) | (v & 0xff00u) << 8 | v << 24;
            memcpy(bytes + at, &v, 4);
        }
        break;
    default:
        for (size_t at = 0; at < length; at += 8) {
            uint64_t v;
            memcpy(&v, bytes + at, 8);
            v = (v & 0x00ff00ff00ff00ffu) << 8 | (v >> 8 & 0x00ff00ff00ff00ffu);
            v = (v & 0x0000ffff0000ffffu) << 16 | (v >> 16 & 0x0000ffff0000ffffu);
            v = v >> 32 | v << 32;
            memcpy(bytes + at, &v, 8);
        }
    }
}

/* A file that is too large to stay in the system's page cache only drives everything else out of it. */
static void forget_pages(const struct strata_input *input, uint64_t bytes) {
#ifdef POSIX_FADV_DONTNEED
    if (input->forgets)
        posix_fadvise(input->descriptor, (off_t)(input->data_offset + input->done_bytes), (off_t)bytes,
                      POSIX_FADV_DONTNEED);
#else
    (void)input;
    (void)bytes;
#endif
}

enum strata_status strata_input_read(struct strata_input *input, void *memory, size_t capacity, size_t *bytes) {
    bool bounded = input->total_bytes != STRATA_UNKNOWN;
    uint64_t left = input->total_bytes - input->done_bytes;
    size_t wanted = capacity - capacity % input->element_bytes;
    *bytes = 0;
    if (bounded && left == 0)
        return input->is_npy ? check_end(input) : STRATA_OK;
    if (bounded && left < wanted)
        wanted = (size_t)left;

    size_t got = 0;
    enum strata_status status = read_bytes(input, memory, wanted, &got);
    if (status != STRATA_OK)
        return status;
    if (bounded && got < wanted)
        return strata_fail(STRATA_IO,
                           "%s: %" PRIu64 " bytes of data were expected, but it ended after %" PRIu64
                           "; it was cut short or shrank while it was read",
                           input->label, input->total_bytes, input->done_bytes + got);
    if (got % input->element_bytes != 0)
        return fail_uneven(input, input->done_bytes + got);
    if (input->swap)
        swap_elements(memory, got, input->element_bytes);
    forget_pages(input, got);
    input->done_bytes += got;
    *bytes = got;
    return STRATA_OK;
}

bool strata_input_element(const struct strata_input *input, uint64_t index, void *element) {
    if (input->data_offset == STRATA_UNKNOWN)
        return false;
    uint64_t offset = input->data_offset + index * input->element_bytes;
    ssize_t got = pread(input->descriptor, element, input->element_bytes, (off_t)offset);
    if (got != (ssize_t)input->element_bytes)
        return false;
    if (input->swap)
        swap_elements(element, input->element_bytes, input->element_bytes);
    return true;
}

void strata_input_close(struct strata_input *input) {
    /* Standard input stays open: it is not ours. */
    if (input->path != NULL && input->descriptor > STDIN_FILENO)
        close(input->descriptor);
    *input = (struct strata_input){.descriptor = -1};
}
