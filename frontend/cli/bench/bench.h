/* The folder frontend/cli/bench. `viewfold bench`.
 *
 *   in      workloads, peers
 *   out     times, the limits of the machine, a history, pictures
 *   holds   times are reported only of results that were checked */

/* `viewfold bench`: declarations that its files share.
 *
 *   bench.c      options
 *   workload.c   the built-in workloads
 *   array.c      memory for arrays: aligned, on huge pages
 *   folder.c     inputs from files
 *   case.c       a compiled graph with its arrays, ready to run
 *   worker.c     --serve and --once
 *   seed.c       inputs of the built-in workloads
 *   oracle_*.c   their results, computed in float64
 *   check.c      compares results with those
 *   limits.c     the limits of the machine, measured with the loops of stream.c
 *   settings.c   what decisions of the compiler ask of the machine, measured with them
 *   peer.c       other programs
 *   measure.c    measures one workload
 *   history.c    earlier results
 *   table.c      results as text
 *   picture.c    results as a picture
 *   team.c       plain threads */
#ifndef VIEWFOLD_FRONTEND_CLI_BENCH_BENCH_H
#define VIEWFOLD_FRONTEND_CLI_BENCH_BENCH_H

#include <stdio.h>
#include <sys/types.h>

#include "frontend/cli/bench/limits.h"
#include "frontend/files/npy.h"
#include "frontend/viewfold.h"

/* workload.c */

typedef struct bench_workload {
  const char *id, *what;
  const char *text;                                   /* the graph */
  const char *ranges;                                 /* of inputs */
  double bytes_read, bytes_written, flops, tolerance; /* as workloads.def says */
} bench_workload;

/* How many workloads there are, and each of them, by a number below that. They are static. */
size_t bench_workload_count(void);
const bench_workload *bench_workload_at(size_t number);
const bench_workload *bench_workload_find(const char *id); /* NULL when there is none */
/* IR_ERR_INVALID, naming the workload of the most similar id. */
void bench_workload_unknown(const char *id, ir_error *error);

/* array.c */

/* An array that owns its memory, which is aligned to 64 bytes at least. */
typedef struct bench_array {
  fe_array a;   /* dtype IR_NONE: only its bytes are known */
  void *region; /* the mapping that holds it, or NULL */
  size_t region_bytes;
} bench_array;
/* Room for `bytes`, on huge pages where they are many; the caller sets the type. */
bool bench_array_make(bench_array *out, size_t bytes);
void bench_array_free(bench_array *array);

/* folder.c */

/* The inputs in0.bin, in1.bin, ... of a folder, with the types in its meta.json, if there is one:
 * [{"shape":[2,3],"dtype":"float32"}, ...]. map: map the files into memory instead of copying them. */
typedef struct bench_inputs {
  bench_array *list;
  size_t count;
} bench_inputs;
ir_status bench_folder_inputs(const char *folder, bool map, bench_inputs *out, ir_error *error);
void bench_inputs_free(bench_inputs *inputs);
/* The text of graph.vf, for free(); *out NULL, without an error, where there is none. */
ir_status bench_folder_graph(const char *folder, char **out, size_t *length, ir_error *error);

/* case.c */

typedef struct bench_case {
  vf_graph *graph;
  vf_program *program;
  bench_inputs in, out;
  const void **in_data;
  void **out_data;
  int64_t first_ns; /* duration of recording, compiling and the first run together */
  int64_t run_ns;   /* duration of the first run alone */
} bench_case;

int64_t bench_now(void);        /* ns */
int64_t bench_thread_now(void); /* ns of processor time of the calling thread */
/* Compile the graph in `text`, which messages call `file`. */
ir_status bench_case_compile(bench_case *c, vf_context *context, const char *file, const char *text,
                             size_t length, ir_error *error);
/* Take ownership of the inputs, check them, and run for the first time. touch: write to the outputs before,
 * so that the run has no page faults there. */
ir_status bench_case_bind(bench_case *c, bench_inputs *inputs, bool touch, ir_error *error);
bool bench_port_type(const vf_program *program, vf_port which, int number, fe_array *out, ir_error *error);
ir_status bench_case_run(const bench_case *c, ir_error *error);
/* Write all results to a file, one after the other, as float32. */
ir_status bench_case_dump(const bench_case *c, const char *path, ir_error *error);
void bench_case_close(bench_case *c); /* also after a failure */

/* Compile and bind the graph.vf of a folder, or else the workload `id`, with the folder's inputs. once: map
 * the inputs, and do not touch the outputs. */
ir_status bench_case_open_folder(bench_case *c, vf_context *context, const char *id, const char *folder,
                                 bool once, ir_error *error);

/* Copy a failure of the C API to error. */
ir_status bench_fail(ir_error *error, const vf_error *failure);

/* seed.c, team.c, check.c */

/* Inputs for the program of a workload, float32 or int32, with numbers from its ranges that depend on its id
 * and the input's place only. The caller frees them (bench_inputs_free); after a failure there are none. */
ir_status bench_seed_inputs(const bench_workload *workload, const vf_program *program, bench_inputs *out,
                            ir_error *error);
/* Call run on `threads` threads, or on as many as can be started: `count`, numbered from 0. */
void bench_team(int threads, void (*run)(void *user, int number, int count), void *user);
/* The largest difference between results and the oracle of the workload, relative to the oracle's largest
 * magnitude. Infinity where results are NaN, or their number is wrong. */
double bench_error(const bench_workload *workload, const bench_inputs *inputs, const float *results,
                   size_t count, int threads);

/* peer.c */

enum { BENCH_NAME = 32 };
typedef struct bench_peer {
  char name[BENCH_NAME];
  pid_t pid; /* -1: gone */
  int to, from;
  bool skipped; /* has skipped a workload */
  char *line;   /* the last answer */
  size_t room;
} bench_peer;
/* worker: NAME=COMMAND. */
bool bench_peer_start(bench_peer *peer, const char *worker, int threads);
/* Send a request of one line. Returns the answer, valid until the next request; NULL when the peer is
 * gone. */
const char *bench_peer_ask(bench_peer *peer, const char *format, ...) IR_PRINTF(2, 3);
void bench_peer_stop(bench_peer *peer);

/* measure.c */

enum { BENCH_PEERS = 12 };
typedef struct bench_result {
  const bench_workload *workload;
  double first_ms, ms, min_ms, error, limit_ms; /* ms: the median */
  double peer_ms[BENCH_PEERS];                  /* 0: not measured, or wrong */
  int best_peer;                                /* -1: none */
} bench_result;
typedef struct bench_plan {
  vf_context *context;
  int threads, rounds;
  fe_roofline limits;
  bench_peer peers[BENCH_PEERS];
  int peer_count;
} bench_plan;
/* IR_OK also where the results are wrong: see bench_passes. */
ir_status bench_measure(bench_plan *plan, const bench_workload *workload, bench_result *out, ir_error *error);
bool bench_passes(const bench_result *result);

/* history.c */

#define BENCH_SLOWER 1.1 /* slower: above this multiple of median and minimum of the best earlier run */
typedef struct bench_entry {
  double ms, min_ms; /* 0: none */
  char date[32], commit[64];
} bench_entry;
typedef struct bench_history {
  const char *path;
  FILE *file; /* NULL: no history is kept */
  char machine[256];
  int threads;
  fe_roofline limits; /* the highest of those measured on this machine; 0: none */
  bench_entry *best;  /* by number of workload */
} bench_history;
/* Reads what the file has of this machine with so many threads, and makes the file if there is none. path,
 * which must outlive the history, may be NULL: then nothing is read, and nothing written later. Call
 * bench_history_close in any case. Fails where the file cannot be read or made, or memory is short. */
ir_status bench_history_open(bench_history *history, const char *path, int threads, ir_error *error);
/* Append a line to the file, if there is one: history->limits, or the times of a result. commit: "" where it
 * is unknown. IR_ERR_IO where the line cannot be written. history->best stays what it was. */
ir_status bench_history_put_limits(bench_history *history, const char *commit, ir_error *error);
ir_status bench_history_put(bench_history *history, const bench_result *result, const char *commit,
                            ir_error *error);
/* Are median and minimum both slower (BENCH_SLOWER) than the best earlier run? False where there is none. */
bool bench_history_slower(const bench_history *history, const bench_result *result);
/* Closes the file, frees and clears; *history may be all zero. */
void bench_history_close(bench_history *history);

/* table.c, picture.c */

/* Prints the names of the columns to standard output, like the rows below. Errors of that stream are found
 * when the command ends. */
void bench_table_head(const bench_plan *plan);
/* A result as a line of the table, with the time of each peer, and whether the result is wrong. */
void bench_table_row(const bench_plan *plan, const bench_result *result);
/* A result as a line of JSON. */
void bench_json_row(const bench_plan *plan, const bench_result *result);
/* Prints, below the table: machine, threads and limits, and the geometric means of the results' shares of
 * their limits and of their speedups over the best peer. */
void bench_table_foot(const bench_plan *plan, const bench_history *history, const bench_result *list,
                      size_t count);
/* Prints a line for each result that is slower than its best earlier run, with both times. */
void bench_report_slower(const bench_history *history, const bench_result *list, size_t count, FILE *to);
/* Writes an SVG with a row for each result to the file `path`, which is replaced: its share of the limit, and
 * its speedup over the best peer. IR_ERR_IO where it cannot be written. */
ir_status bench_picture(const bench_plan *plan, const bench_history *history, const bench_result *list,
                        size_t count, const char *path, ir_error *error);

/* worker.c: both return an exit status */

/* Answers requests, one a line, until `quit` or the end of the stream. A request that fails is answered with
 * `skip` and the reason; the status is CLI_OK all the same. */
int bench_serve(vf_context *context, FILE *requests, FILE *answers);
/* Compiles the graph of bench_case_open_folder, runs it once, and prints both times as a line of JSON. A
 * failure is printed. */
int bench_once(vf_context *context, const char *id, const char *folder);

/* model.c: `bench MODEL.onnx`. Is one of the words a model? The exit status of the command. */
bool bench_is_of_model(int argc, char **argv);
int bench_model(int argc, char **argv);

#endif
