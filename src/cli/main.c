/* The program strata: finds the command, and keeps what all commands share (signals, locale, standard output). */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

static const struct command commands[] = {
    {"info", strata_command_info, "show the memory of each device, its kinds, and what to use for what"},
    {"bench", strata_command_bench, "measure every kind of memory and compare them"},
    {"reduce", strata_command_reduce, "reduce a file of numbers to one value"},
    {"report", strata_command_report, "make an HTML page of what bench has stored"},
    {"replay", strata_command_replay, "run what an application allocated again"},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static const char notes[] =
    "\"strata help COMMAND\" explains a command.\n"
    "\n"
    "The environment: STRATA_DEVICE chooses the device where --device does not, STRATA_CACHE_DIR is where built "
    "kernels are kept, and STRATA_TRACE is a file for a trace of what is allocated.\n"
    "\n"
    "Exit codes: 0 done; 1 a check or a comparison failed; 2 the command line is wrong; 3 no device; 4 a device or a "
    "build failed; 5 a file could not be read or written; 128 plus the signal's number when interrupted.";

static void help_text(struct strata_text *text) {
    strata_text_add(text, "strata shows, measures and uses every kind of GPU memory.\n\n"
                          "Usage: strata COMMAND [ARGUMENTS]\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        strata_text_printf(text, "  %-10s%s\n", commands[i].name, commands[i].help);
    strata_text_add(text,
                    "\nOptions:\n  -h, --help     show this help\n  -V, --version  show the version and what this "
                    "build contains\n\n");
    strata_usage_wrap(text, notes, 0, 0);
}

static int print_help(void) {
    struct strata_text text = {0};
    help_text(&text);
    return strata_output_text(&text);
}

static int print_version(void) {
    struct strata_text text = {0};
    strata_text_printf(&text, "strata %s\nfeatures: %s\n", strata_version(), strata_features());
    return strata_output_text(&text);
}

static const struct command *find_command(const char *name) {
    const char *names[COMMAND_COUNT + 1];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
        names[i] = commands[i].name;
    }
    names[COMMAND_COUNT] = "help";
    const char *nearest = strata_usage_nearest(name, names, COMMAND_COUNT + 1);
    strata_message("there is no %s '%s'%s%s%s (see strata --help)", name[0] == '-' ? "option" : "command", name,
                   nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "?" : "");
    return NULL;
}

static int help_command(int argc, char **argv) {
    char option[] = "--help";
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return print_help();
    if (argc > 2) {
        strata_message("help takes one command");
        return STRATA_EXIT_USAGE;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return STRATA_EXIT_USAGE;
    char *arguments[] = {argv[1], option, NULL};
    return command->run(2, arguments);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        strata_message("no command is given (see strata --help)");
        return STRATA_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return print_help();
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version();
    if (strcmp(word, "help") == 0)
        return help_command(argc - 1, argv + 1);
    const struct command *command = find_command(word);
    return command != NULL ? command->run(argc - 1, argv + 1) : STRATA_EXIT_USAGE;
}

/* A program may be started with its standard files closed. The next file that it opens would then take their place, and
 * results would be written into it. /dev/null for the wrong direction keeps reads and writes failing. */
static void occupy_standard_files(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    occupy_standard_files();
    /* Letters only: the numbers keep their decimal point everywhere. */
    setlocale(LC_CTYPE, "");
    /* A reader that closed the pipe shows up as a failed write, and the command still tidies up. */
    signal(SIGPIPE, SIG_IGN);
    strata_interrupt_install();

    int code = dispatch(argc, argv);
    int number = strata_interrupted();
    return number != 0 && code != STRATA_EXIT_DONE ? STRATA_EXIT_SIGNAL + number : code;
}
