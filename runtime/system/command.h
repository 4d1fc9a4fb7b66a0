/* Running other programs. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_COMMAND_H
#define VIEWFOLD_RUNTIME_SYSTEM_COMMAND_H

/* Runs words[0], found on PATH, with nothing to read, and waits for it. All that it prints goes to the file
 * `said`. Returns its wait status; -1: it cannot be run; 0 also where another part of the process has waited
 * for it, so whether it made what it should decides. */
int rt_run_command(char *const words[], const char *said);

#endif
