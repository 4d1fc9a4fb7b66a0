/* The files that a subcommand writes: all of them or none. A signal that ends the command leaves no temporary
 * files. */
#ifndef VIEWFOLD_FRONTEND_CLI_FILES_H
#define VIEWFOLD_FRONTEND_CLI_FILES_H

#include "frontend/cli/bind.h"
#include "frontend/files/atomic_file.h"

/* One file for each pair, in their order; `-` is standard output. At most one cli_files is open at a time. */
typedef struct cli_files {
  fe_atomic_file *list;
  size_t count; /* open ones */
  size_t room;
} cli_files;

/* Does a result go to standard output? Then nothing else may. */
bool cli_files_claim_stdout(const cli_pairs *out);
/* Refuses to write what the run reads: values of --in that are files, and the file of the graph. */
int cli_files_apart(const char *command, const cli_pairs *out, const cli_pairs *in, const char *graph);
/* Open all files before anything is computed, so that a file that cannot be written is reported at once. From
 * here to cli_files_close a signal that ends the command removes the unfinished files. The exit status. */
int cli_files_open(cli_files *files, const char *command, const cli_pairs *out, ir_error *error);
ir_status cli_files_commit(cli_files *files, ir_error *error);
void cli_files_close(cli_files *files); /* abandons what is not committed */

#endif
