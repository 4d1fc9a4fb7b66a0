/* Running one program on all devices of a mesh, in one process or in several. */
#ifndef VIEWFOLD_RUNTIME_MESH_RUN_H
#define VIEWFOLD_RUNTIME_MESH_RUN_H

#include "runtime/mesh.h"
#include "runtime/runtime.h"

struct rt_post; /* runtime/mesh/post.h */

/* What runs the devices of a mesh in place of threads, as rt_threads_run does (runtime/mesh/threads.h): calls
 * work(user, endpoint) for each, with an endpoint of its own engine. */
typedef struct rt_simulation {
  ir_status (*run)(struct rt_simulation *simulation, const ir_mesh *mesh,
                   ir_status (*work)(void *user, rt_endpoint *endpoint, ir_error *error), void *user,
                   ir_error *error);
} rt_simulation;

/* That of a context, which a test has set; NULL: there is none. */
rt_simulation *rt_context_simulation(const rt_context *context);

typedef struct rt_mesh rt_mesh;
typedef struct rt_mesh_program rt_mesh_program;

/* The devices of a mesh, as threads of this process; the mesh is copied. slow: messages take as long as its
 * latencies and bandwidths say (runtime/mesh/threads.h). Starts no threads. post: as threads of several
 * processes instead, this one and those that it is connected to; it must outlive the mesh. Then all processes
 * make and run the same meshes and programs in the same order. simulation: runs them, if there is one.
 * IR_ERR_UNSUPPORTED: more than
 * RT_THREAD_DEVICES devices in a process. IR_ERR_INVALID: a device of a process that there is not. */
ir_status rt_mesh_make(const ir_mem *mem, const ir_mesh *mesh, bool slow, struct rt_post *post,
                       rt_simulation *simulation, rt_mesh **out, ir_error *error);
bool rt_mesh_has(const rt_mesh *mesh, uint32_t device); /* is it of this process? */
void rt_mesh_free(rt_mesh *mesh);                       /* its programs must have been freed; accepts NULL */
const ir_mesh *rt_mesh_axes(const rt_mesh *mesh);

/* A program for each device, in the order of the mesh: one and the same, bindings of one to constants of
 * their own, or for unlike devices programs of one graph, whose contexts may differ. They are retained.
 * IR_ERR_INVALID: their exchanges differ, or come in another order. */
ir_status rt_mesh_program_make(rt_mesh *mesh, rt_program *const *programs, rt_mesh_program **out,
                               ir_error *error);
/* Messages say of the exchanges of that number what asks for them: "%q, net.vf:7". */
void rt_mesh_program_say(rt_mesh_program *program, size_t number, const char *words);
void rt_mesh_program_free(rt_mesh_program *program); /* accepts NULL */
/* The program of a device. */
rt_program *rt_mesh_program_of(const rt_mesh_program *program, uint32_t device);

/* What a device is given, as for rt_program_run. Results that it writes overlap nothing that any device reads
 * or writes. */
/* Of devices of other processes only the variables are looked at. */
typedef struct rt_mesh_arguments {
  void *const *inputs, *const *outputs;
  const int64_t *vars;
} rt_mesh_arguments;
/* Runs the program on all devices at once; by_device has the arguments of each. One run of a mesh at a time:
 * others wait. A failure of one device ends the run: the message names it, and what others waited for.
 * IR_ERR_INVALID: also where an exchange needs what no device has. */
ir_status rt_mesh_run(rt_mesh_program *program, const rt_mesh_arguments *by_device, ir_error *error);

/* The nanoseconds from the begin of a device's last run to its end; 0: it has not run, or is of another
 * process. */
int64_t rt_mesh_took(const rt_mesh_program *program, uint32_t device);

/* In place of a run or of gathering, where this process cannot begin it: the others, which come to it, get
 * `error`, too. Returns its status. In one process: nothing else. */
ir_status rt_mesh_fail(rt_mesh *mesh, ir_error *error);

/* An array whose parts the devices have. */
typedef struct rt_mesh_array {
  size_t bytes; /* of an element */
  ir_box box;   /* of all of it */
  const ir_box *boxes;
  void *const *parts; /* by device, of this process */
  void *whole;        /* where all of it goes, dense */
} rt_mesh_array;
/* Puts the whole arrays together in each process. All processes call it alike. In one process: nothing, as
 * the parts are all there. */
ir_status rt_mesh_gather(rt_mesh *mesh, const rt_mesh_array *arrays, size_t count, ir_error *error);

/* What the exchanges have received in all runs so far, by kind: bytes of the device that received most, and
 * of all devices together. `times`: how often the exchanges of the kind ran, counted once for all devices. */
enum { RT_MESH_KIND = 64 };
typedef struct rt_mesh_traffic {
  char kind[RT_MESH_KIND];
  int64_t times, messages, most, total;
} rt_mesh_traffic;
/* How long exchanges were in progress in all runs so far, until what a device needed of each had arrived, and
 * how long of that it ran other steps, in nanoseconds: of the device where they took longest. */
void rt_mesh_count_time(const rt_mesh_program *program, int64_t *comm_ns, int64_t *hidden_ns);
/* Writes the kinds in the order of the program; *count of them, at most `room`. most, total: of all kinds
 * together. Of several processes: what this one's devices have received. */
void rt_mesh_count(const rt_mesh_program *program, rt_mesh_traffic *out, size_t room, size_t *count,
                   int64_t *most, int64_t *total);
/* Gives every process the counts of all devices. All processes call it alike. */
ir_status rt_mesh_gather_counts(rt_mesh_program *program, ir_error *error);
void rt_mesh_count_anew(rt_mesh_program *program); /* from now on */

#endif
