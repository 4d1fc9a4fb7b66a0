/* The folder frontend/report. Reports about a graph: dumps, explanations, times.
 *
 *   in      a graph at any stage of compilation
 *   out     text
 *   holds   reports read what passes made and change nothing */

/* A graph as text at a stage of compilation: for `viewfold dump` and vf_graph_dump. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_H

#include "frontend/text/statements.h"
#include "ir/parse/parse.h"
#include "runtime/runtime.h"

typedef enum fe_stage {
  FE_STAGE_GRAPH,
  FE_STAGE_SHARD,
  FE_STAGE_SPMD,
  FE_STAGE_KERNELS,
  FE_STAGE_INDEX,
  FE_STAGE_LOOPS,
  FE_STAGE_LLVM,
  FE_STAGE_ASM,
  FE_STAGE_OPENCL,
  FE_STAGE_C,
  FE_STAGES
} fe_stage;

typedef struct fe_stage_info {
  const char *name, *says; /* says: what is printed, for help */
} fe_stage_info;
extern const fe_stage_info fe_stage_table[FE_STAGES];

#define FE_NO_KERNEL SIZE_MAX

struct fe_explained;
/* number: index of the plan's step */
typedef void fe_explain_callback(void *user, const struct fe_explained *explained, size_t number);

typedef struct fe_dump_options {
  fe_stage stage;
  bool one_device;         /* FE_STAGE_SPMD: of one, */
  int64_t device;          /* which is this one */
  const char *after;       /* print what this pass leaves, "all": every pass, in place of a stage; or NULL */
  const ir_target *target; /* to compile for; need not be this machine */
  rt_module *module;       /* for the stages of code; FE_STAGE_KERNELS with `why`: NULL counts no code */
  const ir_observer *observer; /* observes rewrites, or NULL */
  const char *schedule;        /* moves of loops (frontend/text/loop_schedule.h), or NULL */
  rt_context *context;         /* its tuned moves are used where there is no schedule; or NULL */
  bool why;                    /* FE_STAGE_KERNELS: with the explanations of explain_kernels.h */
  ir_text *code;               /* with `why` and a module: receives what is counted, as JSON; or NULL */
  const size_t *only;          /* with `why`: of this kernel alone; FE_NO_KERNEL: of none; NULL: of all */
  fe_explain_callback
      *explain_callback; /* called after the explanation of each kernel, to append to it; or NULL */
  void *explain_user;
  const struct fe_hosts *hosts;    /* FE_STAGE_SHARD with `why`: names those of the devices; or NULL */
  const fe_statements *statements; /* of the graph, to which kernels are traced back; or NULL */
} fe_dump_options;

/* The stage of this name, or, as `rank:N`, the program of device N, which sets the options. IR_ERR_INVALID
 * when there is none. */
ir_status fe_stage_find(const char *name, fe_dump_options *options, ir_error *error);

/* Append the text of a block of the graph, with an empty line before it when out holds text already. The
 * block is a tensor graph; for FE_STAGE_GRAPH it may be a kernel or an index block. Passes work on a copy, as
 * they do for a program, and the verifier follows each of them. After a failure out keeps what was printed
 * before it. */
ir_status fe_dump(ir_graph *graph, const ir_parsed_graph *block, const fe_dump_options *options, ir_text *out,
                  ir_error *error);

#endif
