/* An all_reduce of parts as flat arrays: each device gets the summands of one chunk, joins them, and all
 * gather the chunks. So P devices receive twice (P - 1) / P of a part each, however its dimensions divide.
 *
 * Parts of other devices along the axes that divide the value, or stay pending, are other rows of an array:
 * [row, summand, element] before, [row, element] after the reduction. */
#include "impl.h"

#include <string.h>

/* The row of a device, and its place among the summands. */
typedef struct place {
  ir_ref row, summand;
  int64_t summands;
} place;

static bool find_place(shard_state *s, const ir_spec *from, const shard_pending *p, place *out) {
  shard_axes rows = p->kept;
  for (uint32_t d = 0; d < from->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(from, d, &count);
    for (uint32_t i = 0; i < count; i++) rows.axes[rows.count++] = axes[i];
  }
  out->summands = 1;
  for (uint32_t i = 0; i < p->joined.count; i++) out->summands *= p->joined.axes[i].size;
  out->row = shard_position(s, rows.axes, rows.count);
  out->summand = shard_position(s, p->joined.axes, p->joined.count);
  return out->row && out->summand;
}

ir_ref shard_flat_reduce(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                         ir_ref *made) {
  static const char kind[] = "all_reduce";
  ir_graph *g = s->g;
  shard_pending p;
  place at;
  ir_ref part[IR_MAX_RANK], zero = ir_index(g, 0), one = ir_index(g, 1), n = one;
  shard_sort_pending(from, to, &p);
  if (!shard_local_shape(s, dims, from, part) || !find_place(s, from, &p, &at)) return 0;
  for (uint32_t d = 0; d < from->rank && n; d++) n = pass_mul(g, n, part[d]);
  ir_ref size = n ? shard_size(s, n, p.joined.axes, p.joined.count) : 0;
  ir_ref start = size ? shard_start(s, n, p.joined.axes, p.joined.count) : 0;
  if (!start) return 0;
  ir_ref summands = ir_index(g, at.summands);
  ir_ref flat = op_reshape(g, x, (ir_ref[]){one, one, n}, 3);
  if (!flat) return 0;
  ir_ref pieces = op_exchange(g, flat, (ir_ref[]){one, summands, size}, (ir_ref[]){at.row, zero, start},
                              (ir_ref[]){at.row, at.summand, zero}, 3, kind, strlen(kind));
  ir_ref joined = pieces ? shard_join(g, p.by, pieces, 1) : 0;
  if (!joined) return 0;
  *made = op_exchange(g, joined, (ir_ref[]){one, n}, (ir_ref[]){at.row, zero}, (ir_ref[]){at.row, start}, 2,
                      kind, strlen(kind));
  return *made ? op_reshape(g, *made, part, from->rank) : 0;
}
