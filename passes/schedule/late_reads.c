/* What a kernel behind a write needs of the version before it: of the values that it computes and does not
 * find in memory, those that are made of the older version alone, and are read by what depends on the newer
 * one. */
#include "late_reads.h"

#include <string.h>

#include "ir/arith.h"

/* What a node depends on; `own`: the kernel computes it. */
typedef struct origin {
  bool older, newer, own;
} origin;

typedef struct late {
  ir_graph *g;
  const uint32_t *slot_of;
  size_t nodes;
  ir_ref value, x;
  ir_ref *list; /* newer than x, ascending */
  size_t count, cap;
  origin *of;
} late;

/* Nodes that the search for one kernel may visit, which bounds compile time; the most in 300 random programs
 * of writes are 55. Of more, the newer version gets memory of its own. */
enum { MOST_NODES = 4096 };

static bool in_memory(const late *l, ir_ref ref) {
  return ref != l->value && ref < l->nodes && l->slot_of[ref];
}

static origin *origin_of(const late *l, ir_ref ref) {
  size_t at = ir_find_ref(l->list, l->count, ref);
  return at < l->count && l->list[at] == ref ? &l->of[at] : NULL;
}

static int64_t elements_of(ir_graph *g, ir_ref ref) {
  int64_t count = 1;
  for (uint32_t i = 0; i < ir_rank(g, ref); i++)
    if (!ir_mul_ok(count, ir_bounds_of(g, ir_dim(g, ref, i)).hi, &count)) return INT64_MAX;
  return count;
}

static void find_origins(late *l, ir_ref newer) {
  for (size_t i = 0; i < l->count; i++) {
    const ir_node *n = ir_get(l->g, l->list[i]);
    l->of[i] = (origin){l->list[i] == l->x, l->list[i] == newer, l->list[i] == l->value};
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      const origin *operand = origin_of(l, n->src[k]);
      if (!operand) continue;
      l->of[i].newer |= operand->newer;
      l->of[i].older |= operand->older && (n->src[k] == l->x || !in_memory(l, n->src[k]));
    }
  }
  for (size_t i = l->count; i-- > 0;) {
    const ir_node *n = ir_get(l->g, l->list[i]);
    for (uint32_t k = 0; k < ir_operand_count(n) && l->of[i].own; k++) {
      origin *operand = origin_of(l, n->src[k]);
      if (operand && !in_memory(l, n->src[k])) operand->own = true;
    }
  }
}

/* Adds the operand, if it is made of the older version alone. False where that cannot be stored in its place.
 */
static bool add_operand(const late *l, ir_ref operand, ir_ref *found, uint32_t *count) {
  const origin *from = origin_of(l, operand);
  if (!from || !from->older || from->newer || (in_memory(l, operand) && operand != l->x)) return true;
  for (uint32_t i = 0; i < *count; i++)
    if (found[i] == operand) return true;
  ir_dtype dtype = ir_dtype_of(l->g, operand);
  if (operand == l->x || dtype == IR_NONE || dtype == IR_INDEX || *count == MOST_LATE_READS ||
      elements_of(l->g, operand) >= elements_of(l->g, l->x))
    return false;
  found[(*count)++] = operand;
  return true;
}

bool schedule_late_reads(ir_graph *g, const uint32_t *slot_of, size_t nodes, ir_ref value, ir_ref x,
                         ir_ref newer, ir_ref found[MOST_LATE_READS], uint32_t *count) {
  late l = {.g = g, .slot_of = slot_of, .nodes = nodes, .value = value, .x = x};
  *count = 0;
  bool good = ir_reachable_above(g, &value, 1, x, NULL, 0, &l.list, &l.count, &l.cap) == IR_OK &&
              l.count <= MOST_NODES && (l.of = ir_alloc(g->mem, l.count * sizeof *l.of));
  if (good) find_origins(&l, newer);
  for (size_t i = 0; i < l.count && good; i++) {
    const ir_node *n = ir_get(g, l.list[i]);
    for (uint32_t k = 0; k < ir_operand_count(n) && l.of[i].own && l.of[i].newer && good; k++)
      good = add_operand(&l, n->src[k], found, count);
  }
  ir_free(g->mem, l.of, l.of ? l.count * sizeof *l.of : 0);
  ir_free(g->mem, l.list, l.cap * sizeof *l.list);
  return good;
}
