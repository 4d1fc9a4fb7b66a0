/* The folder frontend/profile. Where the time of runs goes.
 *
 *   in      a program, its graph, and runs that are recorded
 *   out     time, bytes, operations and limit of each step: a table, JSON, a trace
 *   holds   a run that is not recorded knows nothing of this */
#ifndef VIEWFOLD_FRONTEND_PROFILE_PROFILE_H
#define VIEWFOLD_FRONTEND_PROFILE_PROFILE_H

#include "frontend/machine/roofline.h"
#include "frontend/profile/cost.h"
#include "frontend/text/statements.h"
#include "ir/parse/parse.h"

enum { FE_PROFILE_NAME = 96, FE_PROFILE_WORDS = 160 };
enum { FE_PROFILE_RUNS = 64 }; /* the latest ones, whose times are kept: the median of more is no steadier */
typedef struct fe_profile_row {
  int64_t kernel;                  /* its number as `viewfold dump --stage=kernels` counts; -1: no kernel */
  char name[FE_PROFILE_NAME];      /* "%y", "%h", "temporary 3"; of what is no kernel, what it does: "scan" */
  char computes[FE_PROFILE_WORDS]; /* operations of a kernel: "exp, sum"; "" where that is not known */
  int64_t ns, times;               /* of all runs; steps inside of it included */
  double read, written, operations; /* of all these times */
  double limit_ms;                  /* the same; 0: not known */
  fe_kernel_cost each;              /* of one time, for the sizes of the latest run */
  double limit_each;
} fe_profile_row;

typedef struct fe_profile {
  const ir_mem *mem;
  const rt_program *program;
  ir_graph *graph;              /* NULL: kernels have no names but those of the cache */
  const ir_parsed_graph *block; /* of the graph */
  const fe_statements
      *statements; /* likewise, set after fe_profile_init; NULL: intermediates have no names */
  const ir_target *target;
  rt_context *context;
  fe_roofline limits;   /* of all threads; its rates are 0: not known */
  fe_profile_row *rows; /* by step of the plan */
  size_t count;
  int64_t *seen, *values; /* by step: times that are in the rows. The variables of the latest run */
  bool described;
  rt_recording recording;
  rt_event *runs; /* of each of the first runs: when it was */
  size_t run_count, run_cap;
  int64_t times;   /* runs */
  int64_t *latest; /* ns of the latest FE_PROFILE_RUNS runs, by step, and behind them of the whole run */
  int64_t *before; /* by step: ns of the runs before */
} fe_profile;

/* graph and block: as the program was compiled from it; they must outlive the profile. NULL: not known. The
 * program must outlive it, too. limits: of all threads, or NULL. Call fe_profile_free in any case. */
ir_status fe_profile_init(fe_profile *profile, rt_context *context, const rt_program *program,
                          ir_graph *graph, const ir_parsed_graph *block, const fe_roofline *limits,
                          ir_error *error);
void fe_profile_free(fe_profile *profile);

/* Around a run of the program that adds to profile->recording: values of the variables, in the order of the
 * program; then when the run began. */
ir_status fe_profile_before(fe_profile *profile, const int64_t *values, ir_error *error);
void fe_profile_after(fe_profile *profile, int64_t start_ns);
/* A run with both. */
ir_status fe_profile_run(fe_profile *profile, void *const *inputs, void *const *outputs,
                         const int64_t *values, ir_error *error);

/* The median time of a step in a run, in ns, of the latest runs; of the whole run: number is the count of
 * steps. 0 where there was no run. */
int64_t fe_profile_typical(const fe_profile *profile, size_t number);
/* Append the profile in a form. IR_ERR_INVALID: there is no such form.
 *   text    a table, the dearest step first
 *   json    an object with "graph", "runs", "run_ns", "kernels" (as `viewfold show --profile` reads them) and
 *           "steps", which are no kernels
 *   trace   Chrome's trace events, as Perfetto and speedscope open them: the first runs, as many as are
 *           noted */
ir_status fe_profile_put(const fe_profile *profile, const char *form, ir_text *out, ir_error *error);
bool fe_profile_is_form(const char *form);
/* A string of JSON. */
void fe_put_json_string(const char *text, ir_text *out);

#endif
