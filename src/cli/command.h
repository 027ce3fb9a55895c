/* The commands of strata, and the exit codes that all of them keep. */
#ifndef STRATA_CLI_COMMAND_H
#define STRATA_CLI_COMMAND_H

#include "strata/status.h"

/* A command that a signal stopped answers 128 plus its number: 130 for Ctrl-C, 143 for SIGTERM. */
enum strata_exit {
    STRATA_EXIT_DONE = 0,
    STRATA_EXIT_CHECK = 1,     /* a check or a comparison failed */
    STRATA_EXIT_USAGE = 2,     /* the command line is wrong */
    STRATA_EXIT_NO_DEVICE = 3, /* there is none, or none that was asked for */
    STRATA_EXIT_DEVICE = 4,    /* a device or a build failed */
    STRATA_EXIT_FILE = 5,      /* a file could not be read or written; standard output is one too */
    STRATA_EXIT_SIGNAL = 128
};

/* How every command explains --device. */
#define STRATA_DEVICE_HELP                                                                                             \
    "the device: an index, gpu, cpu or accelerator, a UUID, a PCI id, or a part of its platform's, vendor's or own "   \
    "name; \"gpu:1\" is the second one"

/* argv[0] is the command's name. They answer the exit code and print what went wrong themselves. */
int strata_command_info(int argc, char **argv);
int strata_command_bench(int argc, char **argv);
int strata_command_reduce(int argc, char **argv);
int strata_command_report(int argc, char **argv);
int strata_command_replay(int argc, char **argv);

#endif
