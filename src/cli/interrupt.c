/* Ctrl-C and SIGTERM. A signal can only reach a static object, so this file holds the command line's one flag. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted;

/* Both signals go back to their default, so that a second one of either kind ends a command that hangs. */
static void note(int number) {
    interrupted = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* Without SA_RESTART, so that a read from a pipe that nobody writes to comes back. */
static void install(int number) {
    struct sigaction old;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void strata_interrupt_install(void) {
    install(SIGINT);
    install(SIGTERM);
}

int strata_interrupted(void) {
    return (int)interrupted;
}
