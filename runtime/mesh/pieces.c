#include "runtime/mesh/pieces.h"

#include <string.h>

#include "ir/mesh/link.h"
#include "runtime/mesh/route.h"

enum { LEAST_WORKS = 16 }; /* of a message in a piece: these cost a 16th then, starts of kernels no more */

void rt_pieces_free(const ir_mem *mem, rt_pieces *p) {
  for (uint32_t i = 0; i < p->count; i++) rt_routes_free(mem, &p->routes[i]);
  *p = (rt_pieces){0};
}

/* The largest work with a message, and the largest bandwidth, of the axes; false where some are not known. */
static bool costs_of(const ir_mesh *mesh, double *work, double *bandwidth) {
  *work = *bandwidth = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    const ir_mesh_axis *axis = &mesh->axes[a];
    if (axis->size < 2) continue;
    if (axis->latency <= 0 || axis->bandwidth <= 0) return false;
    double own = ir_link_make(axis->latency, 0).work;
    if (own > *work) *work = own;
    if (axis->bandwidth > *bandwidth) *bandwidth = axis->bandwidth;
  }
  return *work > 0;
}

/* The most elements that a device receives, and in how many messages. The same on all processes. */
static int64_t most_received(const rt_route *all, uint32_t devices, uint32_t *messages) {
  int64_t most = 0;
  uint32_t at = 0;
  ir_box both;
  for (uint32_t d = 0; d < devices; d++) {
    int64_t count = ir_box_elements(&all[d].needed);
    if (ir_box_meet(&all[d].needed, &all[d].own, &both)) count -= ir_box_elements(&both);
    if (count > most) most = count, at = d;
  }
  *messages = 0;
  for (uint32_t d = 0; d < devices; d++)
    *messages += d != at && ir_box_meet(&all[at].needed, &all[d].own, &both);
  return most;
}

/* The first axis along which some device has more than one position, and how many at most. */
static int64_t outermost(const rt_route *all, uint32_t devices, uint32_t rank, uint32_t *axis) {
  int64_t most = 0;
  for (*axis = 0; *axis < rank; ++*axis) {
    for (uint32_t d = 0; d < devices; d++) {
      int64_t size = all[d].own.hi[*axis] - all[d].own.lo[*axis];
      if (size > most) most = size;
    }
    if (most > 1) return most;
  }
  return 0;
}

ir_status rt_pieces_make(const ir_mem *mem, const ir_mesh *mesh, const rt_routes *whole, size_t bytes,
                         const rt_route *all, rt_pieces *out, ir_error *error) {
  double work, bandwidth;
  uint32_t axis, messages;
  rt_pieces_free(mem, out);
  int64_t positions = outermost(all, whole->devices, whole->rank, &axis);
  if (!bytes || positions < RT_PIECES || !costs_of(mesh, &work, &bandwidth)) return IR_OK;
  double takes = (double)most_received(all, whole->devices, &messages) * (double)bytes / bandwidth;
  double count = takes / (work * LEAST_WORKS * messages);
  if (!messages || count < 2) return IR_OK;
  uint32_t pieces = count < RT_PIECES ? (uint32_t)count : RT_PIECES;
  ir_status status = IR_OK;
  out->axis = axis;
  while (out->count < pieces && !status) {
    status = rt_routes_cut(mem, whole, all, axis, out->count, pieces, bytes, &out->routes[out->count], error);
    out->count += !status;
  }
  if (status) rt_pieces_free(mem, out);
  return status;
}

/* kernels that use what arrives */

/* The element of a dense box that has this position. */
static int64_t element_at(const ir_box *box, const int64_t *position) {
  int64_t at = 0;
  for (uint32_t k = 0; k < box->rank; k++) at = at * (box->hi[k] - box->lo[k]) + position[k] - box->lo[k];
  return at;
}

static int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* of b > 0, rounded down */

/* The blocks [*from, *to) that may load elements from `first` to `last`: b * step + lo <= last and
 * b * step + hi > first. */
static void find_blocks(cg_reads r, int64_t first, int64_t last, int64_t *from, int64_t *to) {
  int64_t count = r.period / r.divisor, step = r.step;
  *from = 0, *to = count;
  if (step > 0) *from = quotient(first - r.hi, step) + 1, *to = quotient(last - r.lo, step) + 1;
  if (step < 0) *from = -quotient(last - r.lo, -step), *to = quotient(r.hi - 1 - first, -step) + 1;
  if (*from < 0) *from = 0;
  if (*to > count) *to = count;
}

void rt_pieces_needed(const rt_pieces *p, uint32_t device, cg_reads reads, uint8_t *by_block) {
  memset(by_block, 0, reads.period / reads.divisor);
  for (uint32_t i = 0; i < p->count; i++) {
    const rt_routes *routes = &p->routes[i];
    const rt_route *route = rt_route_of(routes, device);
    for (uint32_t m = 0; m < route->receive_count; m++)
      for (uint32_t k = 0; k < route->receives[m].count; k++) {
        ir_box box;
        int64_t end[IR_MAX_RANK], from, to;
        rt_route_piece(routes, route->receives[m].first + k, &box);
        for (uint32_t a = 0; a < box.rank; a++) end[a] = box.hi[a] - 1;
        find_blocks(reads, element_at(&route->needed, box.lo), element_at(&route->needed, end), &from, &to);
        if (from < to) memset(by_block + from, (int)i + 1, (size_t)(to - from));
      }
  }
}
