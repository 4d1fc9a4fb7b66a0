/* How long messages take: the one model that the planner (passes/reshard, passes/shard, passes/autoshard),
 * the wire that sleeps (runtime/mesh/threads.h) and virtual time (test/lib/simulated.h) have.
 *
 * A message takes the latency and the time for its bytes, of the slowest among the axes of the mesh along
 * which sender and receiver differ. A device receives by one link. Messages are in flight to it at the same
 * time, and pass it one after the other as they come: each takes the work that a device has with a message,
 * which is up to IR_LINK_WORK of its latency, and the time for its bytes. So messages share the bandwidth,
 * and overlap in what is left of the latency: the parameters L, o and G of LogGP (Alexandrov et al. 1995),
 * where work and latency are not told apart by measurement. */
#ifndef VIEWFOLD_IR_MESH_LINK_H
#define VIEWFOLD_IR_MESH_LINK_H

#include "mesh.h"

/* Seconds: an exchange of 64 bytes, which is all work, takes 0.4 to 0.8 us among threads of a process, and 1
 * to 2 between processes of a machine over MPI. */
#define IR_LINK_WORK 1e-6

/* Of a message in seconds: from its start until it reaches the link of the receiver, and how long it takes to
 * pass it, besides each byte. */
typedef struct ir_link {
  double flight, work, byte;
} ir_link;

/* Of a latency, and of the seconds for a byte. */
static inline ir_link ir_link_make(double latency, double byte) {
  double work = latency < IR_LINK_WORK ? latency : IR_LINK_WORK;
  return (ir_link){latency - work, work, byte};
}

/* Between two devices; without latency or bandwidth where the mesh does not tell these. */
static inline ir_link ir_link_between(const ir_mesh *mesh, int64_t from, int64_t to) {
  double latency = 0, byte = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    const ir_mesh_axis *axis = &mesh->axes[a];
    if (ir_mesh_coordinate(mesh, from, a) == ir_mesh_coordinate(mesh, to, a)) continue;
    if (axis->latency > latency) latency = axis->latency;
    if (axis->bandwidth > 0 && 1 / axis->bandwidth > byte) byte = 1 / axis->bandwidth;
  }
  return ir_link_make(latency, byte);
}

/* Between devices that differ along all axes. */
static inline ir_link ir_link_slowest(const ir_mesh *mesh) {
  return ir_link_between(mesh, 0, mesh->device_count - 1);
}

/* The link of a device as it is told of messages, one after the other, in nanoseconds: it is busy until
 * `free`, but for a gap before that. All 0: no message so far. */
typedef struct ir_line {
  int64_t free, gap, gap_end;
} ir_line;

/* Nanoseconds, at most three years. */
static inline int64_t ir_link_ns(double seconds) { return (int64_t)((seconds < 1e8 ? seconds : 1e8) * 1e9); }

/* When a message has passed it that is sent at that time. A message that reaches it before one that it was
 * told of earlier goes first, where there is room. */
static inline int64_t ir_line_pass(ir_line *line, ir_link l, int64_t sent, int64_t bytes) {
  int64_t reaches = sent + ir_link_ns(l.flight), takes = ir_link_ns(l.work + (double)bytes * l.byte);
  int64_t at = reaches > line->gap ? reaches : line->gap;
  if (at + takes <= line->gap_end) return line->gap = at + takes;
  if (reaches > line->free) line->gap = line->free, line->gap_end = line->free = reaches;
  return line->free += takes;
}

#endif
