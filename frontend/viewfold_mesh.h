/* Meshes of devices, and values that are divided among them; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_MESH_H
#define VIEWFOLD_MESH_H

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- meshes */
/* A grid of devices with named axes. Devices are counted row-major. docs/sharding.md describes meshes, and
 * specs, which say how a value is divided among the devices. */
typedef struct vf_mesh vf_mesh;

/* text: the axes, as in "x=2,y=4", or "x=3:1" of two devices with weights, or with what is known of the
 * devices, as behind `mesh @m` in text graphs:
 * "[x=2,y=4] devices=[\"cpu\",...] latency=[1e-6,1e-6] bandwidth=[1e10,1e9] memory=8e9". NULL after an error:
 * of the text, or out of memory. */
VF_API vf_mesh *vf_mesh_create(vf_context *context, const char *text, vf_error *error);
VF_API void vf_mesh_destroy(vf_mesh *mesh); /* may be NULL; graphs that have the mesh keep it */
VF_API int64_t vf_mesh_device_count(const vf_mesh *mesh);
VF_API int vf_mesh_axis_count(const vf_mesh *mesh);
/* The name of axis 0, 1, ..., the major one first; NULL beyond the last. Valid as long as the mesh. */
VF_API const char *vf_mesh_axis_name(const vf_mesh *mesh, int axis);
VF_API int64_t vf_mesh_axis_size(const vf_mesh *mesh, const char *axis); /* -1: no axis has that name */
/* The weight of the devices at place 0, 1, ... along an axis: what is divided along it is in that proportion.
 * 1 where the axis has none; -1: no axis has that name, or it has no such place. */
VF_API int64_t vf_mesh_axis_weight(const vf_mesh *mesh, const char *axis, int64_t place);
/* Where a device is along an axis, from 0; -1: no axis has that name, or there is no such device. */
VF_API int64_t vf_mesh_coordinate(const vf_mesh *mesh, int64_t device, const char *axis);
/* Measures what a message between neighbouring devices takes along each axis of more than one device, on the
 * devices of the mesh, in about 0.1 seconds for each: its latency and bandwidth are these from then on. With
 * both known for all axes, exchanges take the least time; without, they move the fewest bytes. Results have
 * the same bits. They are kept in the cache, for meshes of these sizes that declare neither. Several
 * processes call it alike, and get what process 0 measured. Fails as vf_compile_on, and leaves the mesh as it
 * was. */
VF_API vf_status vf_mesh_calibrate(vf_mesh *mesh, vf_error *error);
/* Of an axis: seconds that a message takes, and bytes in a second; 0: not known; -1: no axis has that name.
 */
VF_API double vf_mesh_latency(const vf_mesh *mesh, const char *axis);
VF_API double vf_mesh_bandwidth(const vf_mesh *mesh, const char *axis);
/* The part of an array that a device has: begin[k] <= i[k] < end[k], `rank` numbers each. spec is such as
 * "[x,-]". Refuses a spec of another rank, negative sizes, and a device that the mesh does not have. */
VF_API vf_status vf_mesh_part(const vf_mesh *mesh, const char *spec, int rank, const int64_t *shape,
                              int64_t device, int64_t *begin, int64_t *end, vf_error *error);

/* The mesh of a graph, which is copied, in place of the one that it has. Refused where specs of values are
 * given already. That of the session (vf_session) is the mesh on which tensors are realised that depend on
 * divided ones: vf_tensor_keep(vf_shard(vf_tensor_value(t), "[x,-]"), &error) divides t, and what is computed
 * from it is divided likewise. Elements are those of the whole array, in one piece of memory. */
VF_API vf_status vf_graph_set_mesh(vf_graph *graph, const vf_mesh *mesh, vf_error *error);
/* The part of a tensor that a device of the session's mesh has, as vf_mesh_part: of a realised one; all of it
 * where it is not divided. */
VF_API vf_status vf_tensor_part(const vf_tensor *tensor, int64_t device, int64_t *begin, int64_t *end,
                                vf_error *error);
/* An input as vf_input makes it, divided among the devices of the graph's mesh. spec: "[x,-]", one entry for
 * each axis. Refused without a mesh. */
VF_API vf_value vf_input_sharded(vf_graph *graph, const char *name, vf_dtype dtype, int rank,
                                 const int64_t *shape, const char *spec);
/* A reference as vf_ref_input makes it, divided likewise. Its parts stay where they are: updates are divided
 * as they are. Without a spec, as vf_ref_input makes it, it is divided like what it meets. */
VF_API vf_ref vf_ref_input_sharded(vf_graph *graph, const char *name, vf_dtype dtype, int rank,
                                   const int64_t *shape, const char *spec);
/* x, divided as the spec says: a constraint, which changes no value. A pending sum "[x,-]+y" in x is carried
 * out where the spec has none. Refused without a mesh. */
VF_API vf_value vf_shard(vf_value x, const char *spec);

/* ------------------------------------------------------------------------------------- collectives */
/* Values are those of whole arrays, of which devices have parts; collectives say who has which. `over` names
 * axes of the mesh, the major first, as in "[x]" or "[x.y]". All are refused without a mesh.
 *
 * These are x itself, with the axes `over` taken from where they divide it or are pending; other axes stay.
 */
/* What is pending along `over`, NULL: all of it, is carried out: every device has the value. */
VF_API vf_value vf_all_reduce(vf_value x, const char *over);
/* Axis `axis` comes together along `over`, NULL: along all axes that divide it. */
VF_API vf_value vf_all_gather(vf_value x, int axis, const char *over);
/* What is pending along `over`, NULL: all of it, is carried out, and each device along it has a part of
 * `axis`. */
VF_API vf_value vf_reduce_scatter(vf_value x, int axis, const char *over);
/* `over`, NULL: all axes that divide `concat`, divides the axis `split` instead. */
VF_API vf_value vf_all_to_all(vf_value x, int split, int concat, const char *over);
/* All of x on every device. */
VF_API vf_value vf_gather_all_axes(vf_value x);
/* x divided as `spec` says, or all of it on `device`, such as "cpu" or "opencl:1", which is one of the mesh:
 * since all devices run one program, every device has it then. One of them is NULL; both: on the device that
 * computes, which a graph without a mesh has as well. Gradients go back to where x is. */
VF_API vf_value vf_transfer_to(vf_value x, const char *device, const char *spec);

/* What is pending along `over`, NULL: all of it, carried out and divided by the number of devices along
 * `over`, NULL: of all. A float. */
VF_API vf_value vf_pmean(vf_value x, const char *over);
/* Operations on the parts of an axis along `over`, which are blocks of equal size: that of the axis divides
 * by their number. */
/* The blocks combined element by element, on every device; reduce: "sum", "mean", "max", "min", "prod", "any"
 * or "all". */
VF_API vf_value vf_all_reduce_blocks(vf_value x, int axis, const char *over, const char *reduce);
/* Block pairs[2 i + 1] of the result is block pairs[2 i] of x, where blocks are numbered as the devices that
 * have them; blocks that no pair names as its second are zeros. */
VF_API vf_value vf_ppermute(vf_value x, int axis, const char *over, int count, const int64_t *pairs);
/* vf_all_to_all, where the blocks of `concat` become an axis of their own in front of it. */
VF_API vf_value vf_all_to_all_stacked(vf_value x, int split, int concat, const char *over);
/* The first block, on every device. */
VF_API vf_value vf_distributed_broadcast(vf_value x, int axis, const char *over);
/* 0, 1, 2, ... as i32: each device along `over` has its own number. */
VF_API vf_value vf_axis_index(vf_graph *graph, const char *over);

/* ------------------------------------------------------------------------------------- automatic choice */
/* A member that is zero takes its default. */
typedef struct vf_shard_auto_options {
  size_t size;   /* sizeof(vf_shard_auto_options) */
  double flops;  /* operations of a device in a second; default: as the processor of the context has */
  double bytes;  /* of memory that a device reads or writes in a second; likewise */
  double memory; /* bytes that a device may hold; default: as the mesh says (`memory`), else any number */
} vf_shard_auto_options;
/* What is predicted for one run: nothing is measured. */
typedef struct vf_shard_auto_report {
  size_t size;              /* sizeof(vf_shard_auto_report), set by the caller */
  double seconds;           /* computing + moving, one after the other */
  double computing, moving; /* seconds */
  double bound;             /* seconds that no assignment of the strategies that were considered goes below */
  double memory;            /* bytes that a device holds at most: its parts of inputs, results and values */
  bool exact;               /* is `seconds` the least? Then it is the bound */
} vf_shard_auto_report;
/* Gives values of the graph that have no spec, or an open one such as "[x?,?]", inputs too, the specs of
 * which the predicted time of a run is least; then the graph is compiled as if they had been given. Closed
 * dimensions and vf_shard are constraints. Redistributions count with latency and bandwidth of the mesh's
 * axes, or 1 microsecond and 10 GB/s. options: NULL for the defaults; report: NULL if nobody wants it.
 * Refused without a mesh, without results, where the specs that are given contradict each other, and where
 * nothing fits the memory of a device: the message tells what needs most. docs/sharding.md describes it. */
VF_API vf_status vf_shard_auto(vf_graph *graph, const vf_shard_auto_options *options,
                               vf_shard_auto_report *report, vf_error *error);

/* ------------------------------------------------------------------------------------- processes */
/* Joins the processes that a launcher of MPI has started with this one (mpirun -n 4 program). Programs that
 * are compiled on meshes of the context from now on run on devices of all of them: all processes compile and
 * run the same programs in the same order, give the same whole arrays, or parts of their own devices, and get
 * whole results, or those parts. A device is of the process that the mesh says ("cpu@1": of process 1);
 * without that each process has as many that follow one another as the next, or one more. The library is
 * linked to no MPI: it opens viewfold-mpi-openmpi.so or viewfold-mpi-mpich.so, or what VIEWFOLD_MPI names.
 *
 * A failure on one process fails the run on all. seconds: how long a process may be silent while others wait
 * for it before it counts as gone, and runs fail with VF_ERR_DEVICE; 0: 10. Refused twice;
 * VF_ERR_UNSUPPORTED: there is no module for MPI. Destroying the context leaves the others. */
VF_API vf_status vf_processes_join(vf_context *context, double seconds, vf_error *error);
VF_API int64_t vf_process_count(const vf_context *context);  /* 1: none were joined */
VF_API int64_t vf_process_number(const vf_context *context); /* of this process, from 0 */

/* ------------------------------------------------------------------------------------- programs on meshes */
/* vf_compile for the devices of a mesh: threads of this process, or of several, and the OpenCL devices
 * that it names; without names, the context's device everywhere. All run one program, each on its parts.
 * mesh: that of the graph, or one for a graph that has none, which gets it; NULL: the graph's.
 * vf_program_run takes and returns whole arrays, which are divided and put together; results are those of
 * the graph on one device, float sums over divided axes, and of bf16 where VF_RELAXED, within their
 * bound. flags: VF_MESH_ flags, or 0. Fails as vf_compile, and with VF_ERR_UNSUPPORTED where the mesh has
 * more than 256 devices, or devices of processes that were not joined, and where a run finds sizes out. */
enum { VF_MESH_WIRE = 1 }; /* messages take as long as latency and bandwidth of the mesh's axes say */
VF_API vf_program *vf_compile_on(vf_graph *graph, const vf_mesh *mesh, unsigned flags, vf_error *error);
/* The programs of a jit run on a mesh: as by vf_compile_on, with whole tensors, which are divided as the
 * specs of the inputs say, one for each, NULL where it is open; specs may be NULL. The function may use the
 * builders of this page. Before the first call, or VF_ERR_INVALID. The mesh is copied. */
VF_API vf_status vf_jit_on(vf_jit *jit, const vf_mesh *mesh, const char *const *specs, unsigned flags,
                           vf_error *error);
VF_API int64_t vf_program_device_count(const vf_program *program); /* 1 without a mesh */
/* The part of an input or output that a device has: `shape` and `offset` in the whole array, numbers as many
 * as its rank, and in *same the first device that has the same part; same may be NULL. Other arguments as for
 * vf_port_shape. */
VF_API vf_status vf_port_part(const vf_program *program, vf_port port, int number, int64_t device,
                              const int64_t *variables, int64_t *shape, int64_t *offset, int64_t *same,
                              vf_error *error);
/* vf_program_run on parts: of device d, input i is inputs[d * vf_port_count(program, VF_INPUT) + i],
 * contiguous, of the shape that vf_port_part says; outputs likewise. Parts of references (vf_ref_input) are
 * changed: each device has memory of its own for them, also where they hold the same. */
VF_API vf_status vf_program_run_parts(const vf_program *program, const void *const *inputs,
                                      void *const *outputs, const int64_t *variables, vf_error *error);
/* Bytes that devices have received from each other in all runs of the program so far: the device that
 * received most, and all together; of several processes, this one's devices. Zeros without a mesh. */
VF_API void vf_program_received(const vf_program *program, int64_t *most, int64_t *total);

#ifdef __cplusplus
}
#endif
#endif
