/* The folder frontend/cli/tune. `viewfold tune`.
 *
 *   in      a graph
 *   out     loop schedules that were measured to be faster, kept in the cache
 *   holds   loops that the verifier refuses are not tried */

/* `viewfold tune`: declarations that its files share.
 *
 *   tune.c     options, reports
 *   keep.c     the moves that won, in the cache
 *   program.c  compiles, times and checks programs with other moves
 *   search.c   which moves are tried, and which win
 *   stop.c     signals that end the search */
#ifndef VIEWFOLD_FRONTEND_CLI_TUNE_TUNE_H
#define VIEWFOLD_FRONTEND_CLI_TUNE_TUNE_H

#include "frontend/cli/buffers.h"
#include "frontend/cli/progress.h"
#include "runtime/cache/kernel_key.h"

typedef struct tune_moves {
  uint32_t nest;
  char *text;
} tune_moves;
typedef struct tune_list { /* of moves; owns the texts */
  tune_moves *items;
  size_t count, cap;
} tune_list;
/* Appends a copy. False when memory is short: the list is then unchanged. */
bool tune_add(tune_list *list, uint32_t nest, const char *text);
/* Does the list have exactly these moves for that nest? */
bool tune_has(const tune_list *list, uint32_t nest, const char *text);
void tune_empty(tune_list *list); /* frees the memory */

/* A kernel of the graph; equal kernels share an entry. */
typedef struct tune_kernel {
  rt_kernel_key key; /* of the kernel before its loops are shaped */
  tune_list best;    /* moves of nests; others have those of the cost model */
  int64_t model_ns, best_ns;
  uint32_t tried;
  bool searched; /* false: `best` holds moves of an earlier search */
} tune_kernel;

typedef struct tune {
  rt_context *context; /* which keeps nothing on disk */
  fe_request request;
  cli_buffers buffers;
  uint8_t **want; /* the results' bytes, of the cost model's program */
  const int64_t *vars;
  tune_kernel *kernels;
  size_t count, cap;
  uint32_t *kernel_of; /* by kernel step */
  size_t steps, steps_cap;
  int64_t *ns; /* of a run, by step of the plan */
  cli_progress progress;
  int64_t begin_ns, end_ns;
  /* while compiling */
  uint32_t current_kernel;  /* index of the kernel being compiled */
  uint32_t searched_kernel; /* index of the kernel being searched */
  tune_moves override;      /* moves of kernel `searched_kernel` in place of the best ones; text NULL: none */
  tune_list *neighbours;    /* receives the neighbours of the moves of kernel `searched_kernel`; or NULL */
  bool failed;              /* memory is short */
} tune;

/* Compile a program with the best moves of each kernel, but t->override in the kernel t->searched_kernel. The
 * first call fills t->kernels. */
ir_status tune_compile(tune *t, rt_program **out, ir_error *error);
/* Nanoseconds of the kernel t->searched_kernel in one run. */
ir_status tune_time(tune *t, const rt_program *program, int64_t *ns, ir_error *error);
/* Run once. *same: the results are those of the first program, bit by bit; the first call stores them. */
ir_status tune_check(tune *t, const rt_program *program, bool *same, ir_error *error);
void tune_free(tune *t);

/* From now on a first SIGINT, SIGTERM or SIGHUP ends the search at its next step; a second one ends the
 * command. */
void tune_stop_on_signals(void);
int tune_stopped(void); /* the signal's number; 0: none came */

/* Search for the best moves of the kernel, until the time `until` or a signal. */
ir_status tune_search(tune *t, uint32_t kernel, int64_t until, ir_error *error);

/* keep.c: `cached_context` has a cache on disk. False: it cannot be read or written. */
void tune_read_kept(tune *t, rt_context *cached_context); /* sets the best moves to those that are kept */
bool tune_keep(tune *t, rt_context *cached_context);      /* the best moves of searched kernels */
void tune_forget(tune *t, rt_context *cached_context);
bool tune_print_kept(rt_context *cached_context);
bool tune_forget_all(rt_context *cached_context);

#endif
