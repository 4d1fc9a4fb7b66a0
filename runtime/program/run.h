/* A run of a program in progress, for the files that execute its steps. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_RUN_H
#define VIEWFOLD_RUNTIME_PROGRAM_RUN_H

#include "runtime/device.h"
#include "runtime/mesh.h"
#include "runtime/program/pace.h"

typedef struct rt_run_context {
  const rt_program *program;
  const rt_frame *frame;
  rt_run *run;               /* its table of temporaries holds the addresses of moving slots */
  void *const *const *bases; /* the addresses of each kind of slot */
  void **buffers;            /* room for the parameters of any kernel and one more */
  ir_error *error;
  rt_recording *recording; /* of a recorded run, else NULL */
  rt_watch *watch;         /* of a watched run, else NULL */
  rt_endpoint *endpoint;   /* of a run on a device of a mesh, else NULL */
  rt_pace *pace;
} rt_run_context;

/* The address of the buffer that a source names (program.h); bases: a table of addresses for each kind of
 * slot. */
static inline void *rt_address(void *const *const *bases, uint32_t source) {
  return bases[source >> RT_SOURCE_SHIFT][source & RT_SOURCE_NUMBER];
}

/* Notes that a step ran. */
static inline void rt_record(rt_recording *r, uint32_t step, int64_t start_ns, int64_t ns) {
  r->ns_by_step[step] += ns;
  if (r->times_by_step) r->times_by_step[step]++;
  if (r->event_count < r->event_cap) r->events[r->event_count++] = (rt_event){start_ns, ns, step};
}

/* Defined in run.c: acquiring the state of a run, and filling it for these values of the variables. An
 * acquired run must be released in any case. After a failure it is not filled. */
rt_run *rt_run_acquire(rt_program *program, ir_error *error); /* NULL on failure */
ir_status rt_run_fill(rt_program *program, rt_run *run, const int64_t *vars, ir_error *error);
void rt_run_release(rt_program *program, rt_run *run);
static inline const rt_frame *rt_run_frame(const rt_program *program, const rt_run *run) {
  return program->plan.head->vars ? &run->frame : &program->frame;
}

/* Defined in run.c: runs a kernel step on buffers that are its parameters, then the address of its status
 * word. scratch: step->scratch_each bytes for each thread, or NULL. Parts are left out once the pace has
 * ended.
 */
void rt_launch(const rt_program *program, const rt_step *step, void **buffers, uint8_t *scratch,
               rt_pace *pace);

/* Defined in run.c: as rt_launch, of those iterations that store the blocks [from, to). */
void rt_launch_blocks(const rt_program *program, const rt_step *step, void **buffers, uint8_t *scratch,
                      rt_pace *pace, cg_blocks blocks, int64_t from, int64_t to);

/* Defined in run.c: as rt_program_run, on a device of a mesh. */
ir_status rt_program_run_on(const rt_program *program, rt_endpoint *endpoint, void *const *inputs,
                            void *const *outputs, const int64_t *vars, ir_error *error);

/* Fails: the kernel of this step found an index out of range. */
ir_status rt_out_of_range(const rt_program *program, uint32_t step, ir_error *error);

/* Defined in run.c: runs the steps before end. Recurses through rt_run_control_step, as deep as a plan may be
 * nested. */
ir_status rt_run_steps(const rt_run_context *run, const rt_step *steps, const rt_step *end);
/* Defined in run_steps.c: runs a step that is no kernel. */
ir_status rt_run_control_step(const rt_run_context *run, const rt_step *step);

enum { RT_WATCH_UNKNOWN = 0x80 }; /* of rt_watch.marks: nobody has looked at the array yet */
/* Defined in watch.c: around a step of a watched run. rt_watch_after fails with IR_ERR_VALUE. */
ir_status rt_watch_before(const rt_run_context *run, const rt_step *step);
ir_status rt_watch_after(const rt_run_context *run, const rt_step *step);

/* Defined in run_sort.c: runs a SORT or ARGSORT. */
ir_status rt_run_sort(const rt_run_context *run, const rt_step *step);
/* Defined in run_exchange.c: runs an EXCHANGE, which starts; on one device alone it is done then. */
ir_status rt_run_exchange(const rt_run_context *run, const rt_step *step);
/* Defined in run_pieces.c: does what this kernel makes go in pieces while it runs, or what it reads come so?
 * Runs it then. Sets *word where it finds an index out of range, as kernels do. */
bool rt_has_pieces(const rt_run_context *run, const rt_step *step);
ir_status rt_run_in_pieces(const rt_run_context *run, const rt_step *step, int64_t *word);
/* Defined in run_pieces.c: does a kernel take over to wait in place of this WAIT? */
bool rt_takes_over(const rt_run_context *run, uint32_t wait);
/* Defined in run_exchange.c: runs a WAIT. */
ir_status rt_run_wait(const rt_run_context *run, const rt_step *step);

/* Of the exchange of a step, on a device of a mesh. */
static inline const rt_pieces *rt_pieces_of(const rt_endpoint *endpoint, uint32_t step) {
  return endpoint->pieces ? &endpoint->pieces[endpoint->exchange_of[step]] : NULL;
}
static inline uint32_t rt_piece_count(const rt_endpoint *endpoint, uint32_t step) {
  const rt_pieces *pieces = rt_pieces_of(endpoint, step);
  return pieces && pieces->count > 1 ? pieces->count : 1;
}
/* Defined in run_exchange.c: starts a piece of an EXCHANGE; waits for the first so many, but for those that
 * bring nothing, unless it is all; looks whether one is there, without waiting. */
ir_status rt_exchange_start(const rt_run_context *run, const rt_step *exchange, uint32_t piece);
ir_status rt_exchange_finish(const rt_run_context *run, uint32_t exchange, uint32_t pieces);
ir_status rt_exchange_look(const rt_run_context *run, uint32_t exchange, uint32_t piece, bool *there);

#endif
