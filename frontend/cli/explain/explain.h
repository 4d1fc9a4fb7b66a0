/* The folder frontend/cli/explain. `viewfold explain`.
 *
 *   in      a graph, and arrays where it is to run
 *   out     why its kernels are what they are, and the limit, expected and measured time of each
 *   holds   limits of the machine are measured or given */

/* The part of `viewfold explain` that runs the graph: the limit, the expected and the measured time of each
 * kernel. */
#ifndef VIEWFOLD_FRONTEND_CLI_EXPLAIN_EXPLAIN_H
#define VIEWFOLD_FRONTEND_CLI_EXPLAIN_EXPLAIN_H

#include "frontend/cli/buffers.h"
#include "frontend/cli/explain/machine.h"
#include "frontend/profile/cost.h"
#include "frontend/report/explain_kernels.h"

/* A kernel in the table that leads. */
typedef struct explain_row {
  size_t kernel;
  char brief[120];                        /* the statements that it is for */
  double iterations;                      /* of one run; 0: not known */
  double predicted_ms, took_ms, limit_ms; /* of one iteration; took of all: 0: it did not run */
  const char *bound, *advice;
} explain_row;

/* Where a buffer of a run lies: in the arena of intermediates, at `offset`; SIZE_MAX: in memory of its own.
 */
typedef struct explain_place {
  size_t offset, bytes;
} explain_place;

typedef struct explain_run {
  rt_context *context;
  const ir_graph *graph; /* as it was read */
  const cli_pairs *in, *sizes;
  fe_machine machine;
  bool known; /* `machine` is known; of devices that cannot be measured it is not */
  cli_binding inputs;
  rt_program *program;
  int64_t *ns;           /* median by step of the plan; NULL: nothing was run */
  char why[CLI_WHY];     /* why nothing was run; "" when it was */
  fe_sizes values;       /* computed at the first kernel, like `iterations` */
  double *step_bytes;    /* by step: read and written in one run */
  explain_place *places; /* by slot */
  size_t place_count;
  double *iterations; /* how often a run executes each step; 0: not known */
  explain_row *rows;  /* of the kernels explained so far */
  size_t row_count, row_cap;
} explain_run;

/* Compile and run the block with given or pseudorandom inputs. Where it cannot be run, r->why says why. The
 * exit status. */
int explain_run_open(explain_run *r, cli_graph *s, const ir_parsed_graph *block);
void explain_run_close(explain_run *r); /* also after a failure */
/* An fe_explain_callback whose user is the explain_run. */
void explain_run_more(void *run, const struct fe_explained *explained, size_t number);
/* reuse.c: bytes that the steps before this one touch back to the last use of the memory in which a slot of
 * it lies, in the run before if need be; the mean over its parts, where others have ended there at different
 * times. */
bool explain_find_places(explain_run *r, const struct fe_explained *e);
double explain_touched_since(const explain_run *r, const struct fe_explained *e, size_t number,
                             uint32_t slot);
bool explain_touches(const ir_step *step, uint32_t slot);
/* The table of the kernels, the most expensive first; nothing where nothing was run. */
void explain_run_table(const explain_run *r, ir_text *out);
/* A line about the memory that one run needs; nothing where nothing was run. */
void explain_run_memory(const explain_run *r, ir_text *out);

#endif
