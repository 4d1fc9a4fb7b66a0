/* Parts as flat arrays, of which each device has one chunk of all pieces, as large whatever its weight: it
 * combines them, and all gather the chunks. So P devices receive twice (P - 1) / P of a part each, however
 * its dimensions divide.
 *
 * Parts of other devices along the axes that divide the value, or stay pending, are other rows of an array:
 * [row, piece, element] before, [row, element] after. */
#include "impl.h"

#include <string.h>

bool shard_flat_begin(shard_state *s, const ir_spec *rows, const ir_ref *part, const shard_axes *joined,
                      shard_flat *out) {
  ir_graph *g = s->g;
  shard_axes all = {0}, chunks = *joined;
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(rows, p, &count);
    for (uint32_t i = 0; i < count && p != IR_PLACE_REPLICATED; i++) all.axes[all.count++] = axes[i];
  }
  out->pieces = 1;
  for (uint32_t i = 0; i < joined->count; i++) out->pieces *= joined->axes[i].size;
  out->row = shard_position(s, all.axes, all.count);
  out->piece = shard_position(s, joined->axes, joined->count);
  out->count = ir_index(g, 1);
  for (uint32_t d = 0; d < rows->rank && out->count; d++) out->count = pass_mul(g, out->count, part[d]);
  for (uint32_t i = 0; i < chunks.count; i++) chunks.axes[i].weighted = false;
  out->size = out->count ? shard_size(s, out->count, chunks.axes, chunks.count) : 0;
  out->start = out->size ? shard_start(s, out->count, chunks.axes, chunks.count) : 0;
  return out->row && out->piece && out->start;
}

ir_ref shard_flat_pieces(shard_state *s, const shard_flat *f, ir_ref x, const char *kind, ir_ref *made) {
  ir_graph *g = s->g;
  ir_ref zero = ir_index(g, 0), one = ir_index(g, 1);
  ir_ref flat = op_reshape_known(g, x, (ir_ref[]){one, one, f->count}, 3);
  if (!flat) return 0;
  return *made =
             shard_exchange(s, flat, (ir_ref[]){one, ir_index(g, f->pieces), f->size},
                            (ir_ref[]){f->row, zero, f->start}, (ir_ref[]){f->row, f->piece, zero}, 3, kind);
}

ir_ref shard_flat_gather(shard_state *s, const shard_flat *f, ir_ref chunk, const char *kind, ir_ref *made) {
  ir_graph *g = s->g;
  return *made = shard_exchange(s, chunk, (ir_ref[]){ir_index(g, 1), f->count},
                                (ir_ref[]){f->row, ir_index(g, 0)}, (ir_ref[]){f->row, f->start}, 2, kind);
}

ir_ref shard_flat_reduce(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                         ir_ref *made) {
  static const char kind[] = "all_reduce";
  ir_graph *g = s->g;
  shard_pending p;
  shard_flat flat;
  ir_spec rows = *from;
  ir_ref part[IR_MAX_RANK];
  shard_sort_pending(from, to, &p);
  ir_spec_clear(&rows, IR_PLACE_PENDING);
  for (uint32_t i = 0; i < p.kept.count; i++) ir_spec_push(&rows, IR_PLACE_PENDING, p.kept.axes[i]);
  if (!shard_local_shape(s, dims, from, part) || !shard_flat_begin(s, &rows, part, &p.joined, &flat))
    return 0;
  ir_ref pieces = shard_flat_pieces(s, &flat, x, kind, made);
  ir_ref joined = pieces ? shard_join(g, p.by, pieces, 1) : 0;
  ir_ref all = joined ? shard_flat_gather(s, &flat, joined, kind, made) : 0;
  return all ? op_reshape(g, all, part, from->rank) : 0;
}
