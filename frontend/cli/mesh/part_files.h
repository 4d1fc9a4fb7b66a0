/* Results that several processes write to files, each of them its own parts. */
#ifndef VIEWFOLD_FRONTEND_CLI_MESH_PART_FILES_H
#define VIEWFOLD_FRONTEND_CLI_MESH_PART_FILES_H

#include "frontend/cli/files.h"
#include "frontend/mesh/sharded.h"

/* A file of a result: the temporary one of process 0, which all have opened. */
typedef struct cli_part_file {
  int fd; /* -1: none; the result is gathered */
  size_t start, element;
  int rank;
  int64_t shape[FE_MAX_RANK];
  const char *name;
} cli_part_file;

typedef struct cli_part_files {
  cli_part_file *files; /* by result */
  bool *takes;          /* likewise: is it written in parts? */
  size_t count;
  fe_part_taker taker;
} cli_part_files;

/* Of several processes: process 0 has opened the files of the pairs, `open`, and makes them as long as they
 * will be; the others open them, too. A file that some process cannot open, as where machines share no
 * folder, is written by process 0 alone. results: with dtypes and shapes. All processes call it alike. */
ir_status cli_part_files_open(cli_part_files *out, fe_sharded *sharded, const ir_parsed_graph *block,
                              const cli_pairs *pairs, cli_files *open, const fe_array *results,
                              ir_error *error);
/* After the parts have been written: waits until all processes have written theirs. Fails where one could
 * not, which leaves the mesh. All others call it alike. */
ir_status cli_part_files_agree(cli_part_files *files, fe_sharded *sharded, ir_error *error);
void cli_part_files_close(cli_part_files *files); /* accepts one that is all zero */

#endif
