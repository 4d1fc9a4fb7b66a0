/* `viewfold bench`: what its parts share.
 *
 *   cli_bench.c            options
 *   cli_bench_workload.c   the built-in workloads
 *   cli_bench_array.c      arrays that are measured: aligned, on huge pages
 *   cli_bench_folder.c     inputs from files
 *   cli_bench_case.c       a graph, compiled, with its arrays: what is run
 *   cli_bench_serve.c      --serve and --once */
#ifndef VIEWFOLD_FRONTEND_CLI_BENCH_H
#define VIEWFOLD_FRONTEND_CLI_BENCH_H

#include <stdio.h>

#include "frontend/npy.h"
#include "frontend/viewfold.h"

/* cli_bench_workload.c */

typedef struct bench_workload {
  const char *id, *what;
  const char *text;                                   /* the graph */
  const char *ranges;                                 /* of inputs */
  double bytes_read, bytes_written, flops, tolerance; /* as workloads.def says */
} bench_workload;

size_t bench_workload_count(void);
const bench_workload *bench_workload_at(size_t number);
const bench_workload *bench_workload_find(const char *id); /* NULL when there is none */
/* IR_ERR_INVALID, naming a workload that is spelled alike. */
void bench_workload_unknown(const char *id, ir_error *error);

/* cli_bench_array.c */

/* An array with memory of its own, aligned to 64 bytes at least. */
typedef struct bench_array {
  fe_array a;   /* dtype IR_NONE: only its bytes are known */
  void *region; /* what was mapped, or NULL */
  size_t region_bytes;
} bench_array;
/* Room for `bytes`, on huge pages where they are many enough; the type is the caller's to set. */
bool bench_array_make(bench_array *out, size_t bytes);
void bench_array_free(bench_array *array);

/* cli_bench_folder.c */

/* The inputs in0.bin, in1.bin, ... of a folder, with the types that meta.json has for them, if it is there:
 * [{"shape":[2,3],"dtype":"float32"}, ...]. map: as pages of the files, else as copies. */
typedef struct bench_inputs {
  bench_array *list;
  size_t count;
} bench_inputs;
ir_status bench_folder_inputs(const char *folder, bool map, bench_inputs *out, ir_error *error);
void bench_inputs_free(bench_inputs *inputs);
/* The text of graph.vf, for free(); *out NULL, without an error, where there is none. */
ir_status bench_folder_graph(const char *folder, char **out, size_t *length, ir_error *error);

/* cli_bench_case.c */

typedef struct bench_case {
  vf_graph *graph;
  vf_program *program;
  bench_inputs in, out;
  const void **in_data;
  void **out_data;
  int64_t first_ns; /* recording, compiling and the first run */
  int64_t run_ns;   /* of it the run */
} bench_case;

int64_t bench_now(void); /* ns */
/* Compile a graph, given as text that `file` stands for in messages, for inputs, which the case takes over,
 * and run it once. touch: outputs are written to before, so that the run meets no fresh memory. */
ir_status bench_case_open(bench_case *c, vf_context *context, const char *file, const char *text,
                          size_t length, bench_inputs *inputs, bool touch, ir_error *error);
ir_status bench_case_run(const bench_case *c, ir_error *error);
/* All results, one after the other, as float32. */
ir_status bench_case_dump(const bench_case *c, const char *path, ir_error *error);
void bench_case_close(bench_case *c);

/* The same from a folder: its graph.vf, or the workload `id`. */
ir_status bench_case_open_folder(bench_case *c, vf_context *context, const char *id, const char *folder,
                                 bool once, ir_error *error);

/* A failure of the C API as one of ours. */
ir_status bench_fail(ir_error *error, const vf_error *failure);

/* cli_bench_serve.c: exit statuses. */

int bench_serve(vf_context *context, FILE *requests, FILE *answers);
int bench_once(vf_context *context, const char *id, const char *folder);

#endif
