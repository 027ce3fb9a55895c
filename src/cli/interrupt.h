/* Ctrl-C and SIGTERM: the first one asks the command to stop at its next step, the second one kills. */
#ifndef STRATA_CLI_INTERRUPT_H
#define STRATA_CLI_INTERRUPT_H

/* Installs the handlers; a signal that the parent process had ignored stays ignored. */
void strata_interrupt_install(void);

/* The signal that asked to stop, or 0. */
int strata_interrupted(void);

#endif
