/* The reader of .npy headers, and files of numbers read in pieces: what is accepted, what is refused, in which words.
 */
#define _XOPEN_SOURCE 700
#include "unit/scratch.h"

#include "cli/input.h"

static enum strata_status header(const char *text, struct strata_npy *npy) {
    return strata_npy_read_header(text, strlen(text), npy);
}

static void assert_refused(const char *text, const char *words) {
    struct strata_npy npy;
    assert_int_equal(header(text, &npy), STRATA_IO);
    if (strstr(strata_last_error()->message, words) == NULL)
        fail_msg("'%s' gave '%s', not '%s'", text, strata_last_error()->message, words);
}

static void assert_type(const char *descr, char kind, uint32_t size, bool big_endian) {
    char text[128];
    struct strata_npy npy;
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", descr);
    assert_int_equal(header(text, &npy), STRATA_OK);
    assert_int_equal(npy.kind, kind);
    assert_int_equal(npy.size, size);
    if (size > 1)
        assert_int_equal(npy.big_endian, big_endian);
}

static void number_types_of_both_byte_orders(void **state) {
    (void)state;
    const uint16_t probe = 1;
    bool native_is_big = *(const unsigned char *)&probe == 0;
    assert_type("|i1", 'i', 1, false);
    assert_type("|u1", 'u', 1, false);
    assert_type("<i2", 'i', 2, false);
    assert_type(">u2", 'u', 2, true);
    assert_type("<i4", 'i', 4, false);
    assert_type(">i4", 'i', 4, true);
    assert_type("<u4", 'u', 4, false);
    assert_type("<i8", 'i', 8, false);
    assert_type(">u8", 'u', 8, true);
    assert_type("<f4", 'f', 4, false);
    assert_type(">f4", 'f', 4, true);
    assert_type(">f8", 'f', 8, true);
    assert_type("=f8", 'f', 8, native_is_big);
    assert_type("f8", 'f', 8, native_is_big);
    assert_type("|f8", 'f', 8, native_is_big);
}

static void assert_type_refused(const char *descr, const char *words) {
    char text[256];
    snprintf(text, sizeof text, "{'descr': %s, 'fortran_order': False, 'shape': (3,), }", descr);
    assert_refused(text, words);
}

static void other_types_each_have_their_sentence(void **state) {
    (void)state;
    assert_type_refused("'|O'", "Python objects");
    assert_type_refused("'|O8'", "Python objects");
    assert_type_refused("'|S5'", "text");
    assert_type_refused("'<U12'", "text");
    assert_type_refused("'|V8'", "raw bytes");
    assert_type_refused("'<c8'", "complex");
    assert_type_refused("'>c16'", "complex");
    assert_type_refused("'|b1'", "truth values");
    assert_type_refused("'<M8[ns]'", "dates");
    assert_type_refused("'<m8[us]'", "dates");
    assert_type_refused("'<f2'", "half precision");
    assert_type_refused("'<f16'", "extended precision");
    assert_type_refused("'<f12'", "extended precision");
    assert_type_refused("'<i3'", "'<i3': this type is not known");
    assert_type_refused("'<f1'", "not known");
    assert_type_refused("'<i16'", "not known");
    assert_type_refused("'<i'", "not known");
    assert_type_refused("'<i4,<i4'", "not known");
    assert_type_refused("'x4'", "not known");
    assert_type_refused("''", "damaged");
    assert_type_refused("'<'", "damaged");
    assert_type_refused("[('x', '<f4'), ('y', '<f4')]", "structured");
    assert_type_refused("[('gr\xc3\xb6\xc3\x9f"
                        "e', '<f4')]",
                        "structured");
    assert_type_refused("('<f4', (2,))", "one more dimension");
    assert_type_refused("None", "the element type in quotes was expected");
    assert_type_refused("'<f\\x34'", "the element type in quotes was expected");
}

static void assert_shape(const char *shape, uint32_t dimensions, uint64_t count) {
    char text[512];
    struct strata_npy npy;
    snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    assert_int_equal(header(text, &npy), STRATA_OK);
    assert_int_equal(npy.dimensions, dimensions);
    assert_int_equal(npy.count, count);
}

static void shapes(void **state) {
    (void)state;
    struct strata_npy npy;
    assert_shape("()", 0, 1);
    assert_shape("( )", 0, 1);
    assert_shape("(7,)", 1, 7);
    assert_shape("(7L,)", 1, 7);
    assert_shape("(0,)", 1, 0);
    assert_shape("(3, 4)", 2, 12);
    assert_shape("(3, 4, )", 2, 12);
    assert_shape("(3,0,5)", 3, 0);
    assert_shape("(4294967296, 4)", 2, 17179869184u);
    /* Nothing times too much is nothing. */
    assert_shape("(18446744073709551615, 18446744073709551615, 0)", 3, 0);
    assert_shape("(4611686018427387903,)", 1, 4611686018427387903u);
    assert_int_equal(header("{'descr':'<f4','fortran_order':True,'shape':(2,3,5)}", &npy), STRATA_OK);
    assert_true(npy.fortran_order);
    assert_int_equal(npy.shape[0], 2);
    assert_int_equal(npy.shape[1], 3);
    assert_int_equal(npy.shape[2], 5);
}

static void shapes_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *shape, *words;
    } cases[] = {
        {"(3)", "a comma in the shape of one extent"},
        {"3", "the shape in parentheses"},
        {"[3]", "the shape in parentheses"},
        {"(-1,)", "not negative"},
        {"(,)", "an extent"},
        {"(3,,4)", "an extent"},
        {"(03,)", "an extent"},
        {"(3.0,)", "a comma or the end of the shape"},
        {"(3 4)", "a comma or the end of the shape"},
        {"(3,", "an extent"},
        {"(18446744073709551616,)", "does not fit 64 bits"},
        {"(4611686018427387904,)", "does not fit 64 bits"},
        {"(4294967296, 4294967296)", "does not fit 64 bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': %s}", cases[i].shape);
        assert_refused(text, cases[i].words);
    }
    char many[512] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 65; i++)
        strcat(many, "1,");
    strcat(many, ")}");
    assert_refused(many, "more than 64 dimensions");
}

static void any_order_quotes_and_spaces(void **state) {
    (void)state;
    struct strata_npy npy;
    assert_int_equal(header("{'shape': (5,), 'fortran_order': False, 'descr': '>i2'}", &npy), STRATA_OK);
    assert_int_equal(npy.count, 5);
    assert_int_equal(npy.size, 2);
    assert_int_equal(header(" {\t\"descr\" : \"<f8\" ,\n\"shape\" : ( 2 , 2 ) ,\"fortran_order\":True } \r\n", &npy),
                     STRATA_OK);
    assert_int_equal(npy.count, 4);
    assert_true(npy.fortran_order);
}

static void damaged_dictionaries(void **state) {
    (void)state;
    assert_refused("", "an opening brace");
    assert_refused("{", "a key in quotes");
    assert_refused("{}", "'descr' is missing");
    assert_refused("{'descr': '<f4'}", "'fortran_order' is missing");
    assert_refused("{'descr': '<f4', 'fortran_order': False}", "'shape' is missing");
    assert_refused("{'descr': '<f4', 'descr': '<f4'}", "'descr' is there twice");
    assert_refused("{'descr': '<f4', 'extra': 1}", "'extra' is not known");
    assert_refused("{'descr' '<f4'}", "a colon");
    assert_refused("{'descr': '<f4' 'shape': ()}", "a comma or the closing brace");
    assert_refused("{,}", "a key in quotes");
    assert_refused("{'descr': '<f4, 'shape': ()}", "'<f4, ': this type is not known");
    assert_refused("{'descr': '<f4", "the element type in quotes");
    assert_refused("{'fortran_order': false}", "True or False");
    assert_refused("{'fortran_order': 0}", "True or False");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "nothing more");
    struct strata_npy npy;
    static const char nul[] = "{'descr': '<f4', 'fortran_order': False, 'shape': ()}\0";
    assert_int_equal(strata_npy_read_header(nul, sizeof nul, &npy), STRATA_IO);
}

static void preamble_versions(void **state) {
    (void)state;
    struct strata_npy_preamble p;
    const unsigned char one[12] = "\x93NUMPY\x01\x00\x76\x00{'";
    const unsigned char two[12] = "\x93NUMPY\x02\x00\x76\x01\x02\x00";
    const unsigned char three[12] = "\x93NUMPY\x03\x00\x00\x00\x10\x00";
    const unsigned char huge[12] = "\x93NUMPY\x02\x00\xff\xff\xff\xff";
    const unsigned char four[12] = "\x93NUMPY\x04\x00";
    const unsigned char minor[12] = "\x93NUMPY\x01\x01\x76";
    assert_true(strata_npy_recognise(one, 6));
    assert_false(strata_npy_recognise(one, 5));
    assert_false(strata_npy_recognise((const unsigned char *)"NUMPY\x01\x00\x76\x00{'", 11));
    assert_int_equal(strata_npy_read_preamble(one, 12, &p), STRATA_OK);
    assert_int_equal(p.header_offset, 10);
    assert_int_equal(p.header_bytes, 0x76);
    assert_int_equal(strata_npy_read_preamble(two, 12, &p), STRATA_OK);
    assert_int_equal(p.header_offset, 12);
    assert_int_equal(p.header_bytes, 0x020176);
    assert_int_equal(strata_npy_read_preamble(three, 12, &p), STRATA_OK);
    assert_int_equal(p.header_bytes, 1u << 20);
    assert_int_equal(strata_npy_read_preamble(huge, 12, &p), STRATA_IO);
    assert_non_null(strstr(strata_last_error()->message, "4294967295"));
    assert_int_equal(strata_npy_read_preamble(four, 12, &p), STRATA_IO);
    assert_non_null(strstr(strata_last_error()->message, "version 4.0"));
    assert_int_equal(strata_npy_read_preamble(minor, 12, &p), STRATA_IO);
    assert_int_equal(strata_npy_read_preamble(one, 7, &p), STRATA_IO);
    assert_int_equal(strata_npy_read_preamble(one, 9, &p), STRATA_IO);
    assert_int_equal(strata_npy_read_preamble(two, 11, &p), STRATA_IO);
}

/* Files: each test writes its own, in a folder of its own. */
static struct scratch scratch;
static char path[SCRATCH_PATH];

static int make_folder(void **state) {
    (void)state;
    scratch = scratch_make();
    snprintf(path, sizeof path, "%s", scratch_path(&scratch, "numbers").text);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

static void write_file(const void *bytes, size_t length) {
    scratch_write(&scratch, "numbers", bytes, length);
}

/* A version 1 file of the type and shape. */
static void write_npy(const char *descr, const char *shape, const void *data, size_t data_bytes) {
    unsigned char bytes[512] = "\x93NUMPY\x01\x00";
    int length =
        snprintf((char *)bytes + 10, 200, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
    bytes[8] = (unsigned char)length;
    memcpy(bytes + 10 + length, data, data_bytes);
    write_file(bytes, 10 + (size_t)length + data_bytes);
}

static void assert_open_fails(const char *words) {
    struct strata_input input;
    assert_int_equal(strata_input_open(&input, path), STRATA_IO);
    assert_non_null(strstr(strata_last_error()->message, path));
    if (strstr(strata_last_error()->message, words) == NULL)
        fail_msg("'%s' instead of '%s'", strata_last_error()->message, words);
}

static void reads_in_pieces_and_swaps(void **state) {
    (void)state;
    static const unsigned char big[] = {0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff};
    struct strata_input input;
    int32_t piece[2];
    size_t bytes = 0;
    write_npy(">i4", "(3,)", big, sizeof big);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_true(input.is_npy);
    assert_int_equal(strata_input_count(&input), 3);
    /* Eleven bytes hold two whole elements. */
    unsigned char memory[11];
    assert_int_equal(strata_input_read(&input, memory, sizeof memory, &bytes), STRATA_OK);
    assert_int_equal(bytes, 8);
    memcpy(piece, memory, 8);
    assert_int_equal(piece[0], 1);
    assert_int_equal(piece[1], 2);
    assert_int_equal(strata_input_read(&input, piece, sizeof piece, &bytes), STRATA_OK);
    assert_int_equal(bytes, 4);
    assert_int_equal(piece[0], -1);
    assert_int_equal(strata_input_read(&input, piece, sizeof piece, &bytes), STRATA_OK);
    assert_int_equal(bytes, 0);
    strata_input_close(&input);
    strata_input_close(&input);
}

static void swaps_two_and_eight_bytes(void **state) {
    (void)state;
    static const unsigned char big[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
    struct strata_input input;
    uint16_t halves[4];
    uint64_t whole = 0;
    size_t bytes = 0;
    write_npy(">u2", "(2, 2)", big, sizeof big);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_int_equal(strata_input_read(&input, halves, sizeof halves, &bytes), STRATA_OK);
    assert_int_equal(halves[0], 0x0102);
    assert_int_equal(halves[3], 0x0708);
    strata_input_close(&input);
    write_npy(">u8", "()", big, sizeof big);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_int_equal(strata_input_read(&input, &whole, sizeof whole, &bytes), STRATA_OK);
    assert_int_equal(bytes, 8);
    assert_true(whole == 0x0102030405060708u);
    strata_input_close(&input);
}

static void raw_files_need_whole_elements(void **state) {
    (void)state;
    struct strata_input input;
    unsigned char memory[16];
    size_t bytes = 0;
    write_file("0123456789abc", 13);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_false(input.is_npy);
    assert_int_equal(strata_input_set_element(&input, 4), STRATA_IO);
    assert_non_null(strstr(strata_last_error()->message, "13 bytes"));
    assert_non_null(strstr(strata_last_error()->message, "4 bytes"));
    assert_int_equal(strata_input_set_element(&input, 1), STRATA_OK);
    assert_int_equal(strata_input_count(&input), 13);
    assert_int_equal(strata_input_read(&input, memory, sizeof memory, &bytes), STRATA_OK);
    assert_int_equal(bytes, 13);
    assert_memory_equal(memory, "0123456789abc", 13);
    strata_input_close(&input);
}

static void short_and_empty_files(void **state) {
    (void)state;
    struct strata_input input;
    unsigned char memory[8];
    size_t bytes = 1;
    write_file("", 0);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_int_equal(strata_input_set_element(&input, 4), STRATA_OK);
    assert_int_equal(strata_input_count(&input), 0);
    assert_int_equal(strata_input_read(&input, memory, sizeof memory, &bytes), STRATA_OK);
    assert_int_equal(bytes, 0);
    strata_input_close(&input);
    /* Begins like a .npy file, but is not one. */
    write_file("\x93NUM", 4);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_false(input.is_npy);
    assert_int_equal(strata_input_set_element(&input, 4), STRATA_OK);
    assert_int_equal(strata_input_count(&input), 1);
    strata_input_close(&input);
    write_npy("<f4", "(0, 7)", "", 0);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_int_equal(strata_input_count(&input), 0);
    assert_int_equal(strata_input_read(&input, memory, sizeof memory, &bytes), STRATA_OK);
    assert_int_equal(bytes, 0);
    strata_input_close(&input);
}

static void sizes_that_contradict_the_header(void **state) {
    (void)state;
    write_npy("<f4", "(3,)", "0123456789a", 11);
    assert_open_fails("3 elements of 4 bytes, 12 bytes in all, but 11 bytes follow the header; the file was cut short");
    write_npy("<f4", "(3,)", "0123456789abc", 13);
    assert_open_fails("12 bytes in all, but 13 bytes follow the header; only one array");
    write_npy("<f4", "(4611686018427387903,)", "", 0);
    assert_open_fails("18446744073709551612 bytes in all, but 0 bytes follow");
    write_file("\x93NUMPY\x01\x00\x76\x00{'descr'", 18);
    assert_open_fails("the .npy header has 118 bytes, but the file ends after 8 of them");
    write_file("\x93NUMPY\x01", 7);
    assert_open_fails("ends after 7 bytes");
    write_npy("|O", "(3,)", "", 0);
    assert_open_fails("Python objects");
}

static void files_that_cannot_be_opened(void **state) {
    (void)state;
    struct strata_input input;
    assert_int_equal(strata_input_open(&input, "/tmp"), STRATA_IO);
    assert_string_equal(strata_last_error()->message, "/tmp: this is a folder, not a file of numbers");
    assert_int_equal(strata_input_open(&input, "/nowhere/at all"), STRATA_IO);
    assert_string_equal(strata_last_error()->message, "/nowhere/at all: cannot open: there is no such file or folder");
}

static void a_file_that_shrinks(void **state) {
    (void)state;
    struct strata_input input;
    unsigned char memory[64] = {0};
    size_t bytes = 0;
    write_file(memory, 64);
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_int_equal(strata_input_set_element(&input, 8), STRATA_OK);
    assert_int_equal(strata_input_read(&input, memory, 16, &bytes), STRATA_OK);
    assert_int_equal(truncate(path, 24), 0);
    assert_int_equal(strata_input_read(&input, memory, 48, &bytes), STRATA_IO);
    assert_non_null(strstr(strata_last_error()->message, "64 bytes of data were expected, but it ended after 24"));
    strata_input_close(&input);
}

static void a_pipe_of_unknown_length(void **state) {
    (void)state;
    static const char numbers[] = "0123456789abcdef";
    struct strata_input input;
    unsigned char memory[64];
    size_t bytes = 0;
    int ends[2], standard = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], numbers, 14), 14);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(strata_input_open(&input, "-"), STRATA_OK);
    assert_int_equal(strata_input_set_element(&input, 4), STRATA_OK);
    assert_true(strata_input_count(&input) == STRATA_UNKNOWN);
    assert_int_equal(strata_input_read(&input, memory, 8, &bytes), STRATA_OK);
    assert_int_equal(bytes, 8);
    assert_memory_equal(memory, "01234567", 8);
    assert_int_equal(strata_input_read(&input, memory, 8, &bytes), STRATA_IO);
    assert_string_equal(strata_last_error()->message,
                        "standard input: its 14 bytes are not a multiple of the element size of 4 bytes");
    strata_input_close(&input);
    assert_int_equal(dup2(standard, STDIN_FILENO), STDIN_FILENO);
    close(standard);
}

/* A sparse file costs nothing, and its size does not fit 32 bits. */
static void a_file_beyond_4_gib(void **state) {
    (void)state;
    const uint64_t size = ((uint64_t)4 << 30) + 8;
    struct strata_input input;
    uint64_t last = 0x1122334455667788u;
    size_t bytes = 0;
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    if (pwrite(file, &last, 8, (off_t)(size - 8)) != 8) {
        close(file);
        skip();
    }
    close(file);
    last = 0;
    assert_int_equal(strata_input_open(&input, path), STRATA_OK);
    assert_int_equal(strata_input_set_element(&input, 8), STRATA_OK);
    assert_int_equal(strata_input_count(&input), size / 8);
    const size_t piece = (size_t)64 << 20;
    unsigned char *memory = malloc(piece);
    assert_non_null(memory);
    uint64_t total = 0;
    do {
        assert_int_equal(strata_input_read(&input, memory, piece, &bytes), STRATA_OK);
        total += bytes;
        if (bytes != 0)
            memcpy(&last, memory + bytes - 8, 8);
    } while (bytes != 0);
    assert_true(total == size);
    assert_true(last == 0x1122334455667788u);
    free(memory);
    strata_input_close(&input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_types_of_both_byte_orders),
        cmocka_unit_test(other_types_each_have_their_sentence),
        cmocka_unit_test(shapes),
        cmocka_unit_test(shapes_that_are_refused),
        cmocka_unit_test(any_order_quotes_and_spaces),
        cmocka_unit_test(damaged_dictionaries),
        cmocka_unit_test(preamble_versions),
        cmocka_unit_test_setup_teardown(reads_in_pieces_and_swaps, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(swaps_two_and_eight_bytes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(raw_files_need_whole_elements, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(short_and_empty_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(sizes_that_contradict_the_header, make_folder, remove_folder),
        cmocka_unit_test(files_that_cannot_be_opened),
        cmocka_unit_test_setup_teardown(a_file_that_shrinks, make_folder, remove_folder),
        cmocka_unit_test(a_pipe_of_unknown_length),
        cmocka_unit_test_setup_teardown(a_file_beyond_4_gib, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
