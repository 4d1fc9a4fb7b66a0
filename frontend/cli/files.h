/* The files that a subcommand writes: all of them or none, and nothing left beside them when it is
 * interrupted. */
#ifndef VIEWFOLD_FRONTEND_CLI_FILES_H
#define VIEWFOLD_FRONTEND_CLI_FILES_H

#include "frontend/cli/bind.h"
#include "frontend/files/atomic_file.h"

/* One file for each pair, in their order; `-` is standard output. At most one at a time. */
typedef struct cli_files {
  fe_atomic_file *list;
  size_t count; /* open ones */
  size_t room;
} cli_files;

/* Does one of them go to standard output, which then has room for nothing else? */
bool cli_files_take_stdout(const cli_pairs *out);
/* Open all, before anything is computed, so that one that cannot be written is known at once. From here to
 * cli_files_close a signal that ends the command removes what is not finished. The exit status. */
int cli_files_open(cli_files *files, const char *command, const cli_pairs *out, ir_error *error);
ir_status cli_files_commit(cli_files *files, ir_error *error);
void cli_files_close(cli_files *files); /* abandons what is not committed */

#endif
