/* Rules of kept locals: a load of one may give another value in each iteration of a loop that stores to it.
 * So a value that is computed from such a load and used in that loop must be computed in that loop: further
 * out it would keep what was loaded before the first iteration. */
#include "ir/regions.h"
#include "ir/verify/verify.h"

typedef struct kept_verifier {
  ir_verifier *v;
  const ir_graph *g;
  const ir_regions *regions;
  uint64_t *reads;  /* by ref: the set of kept locals, by number, whose loads the value depends on */
  uint64_t *stores; /* by ref of a LOOP: the set of those that its body stores to */
} kept_verifier;

static bool stores(const ir_graph *g, ir_ref ref) {
  return ir_op_of(g, ref) == IR_OP_STORE || ir_op_of(g, ref) == IR_OP_UPDATE;
}

/* The kept local that a load or store accesses, as a set; otherwise 0. */
static uint64_t local_of(const kept_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->g, ref);
  if (n->op != IR_OP_LOAD && !stores(k->g, ref)) return 0;
  const ir_node *local = ir_get(k->g, n->src[0]);
  return local->op == IR_OP_LOCAL && ir_arg_mode(local) ? (uint64_t)1 << ir_arg_int(local) % 64 : 0;
}

static bool find_stores(kept_verifier *k) {
  bool any = false;
  for (size_t i = 0; i < k->regions->count; i++) {
    ir_ref ref = k->regions->order[i];
    uint64_t set = stores(k->g, ref) ? local_of(k, ref) : 0;
    if (!set) continue;
    any = true;
    for (ir_ref loop = k->regions->region[ref]; loop; loop = k->regions->region[loop]) k->stores[loop] |= set;
  }
  return any;
}

static bool verify_node(kept_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->g, ref);
  k->reads[ref] |= n->op == IR_OP_LOAD ? local_of(k, ref) : 0;
  for (uint32_t s = 0; s < n->nsrc; s++) {
    ir_ref source = n->src[s], home = k->regions->region[source];
    if (ir_dtype_of(k->g, source) == IR_NONE) continue;
    ir_ref inner = home == ref ? home : k->regions->region[ref]; /* next values are computed in the loop */
    for (ir_ref loop = inner; loop && loop != home; loop = k->regions->region[loop])
      if (k->stores[loop] & k->reads[source])
        return ir_verify_fail(
            k->v, ref,
            "it uses, in a loop that stores to a kept local, a value loaded from that local "
            "outside the loop");
    if (n->dtype != IR_NONE) k->reads[ref] |= k->reads[source];
  }
  return true;
}

bool ir_verify_kept(ir_verifier *v, const ir_regions *regions) {
  const ir_mem *mem = v->graph->mem;
  size_t bytes = regions->limit * sizeof(uint64_t);
  kept_verifier k = {v, v->graph, regions, ir_alloc(mem, bytes), ir_alloc(mem, bytes)};
  bool good = k.reads && k.stores;
  if (!good) ir_fail(v->error, IR_ERR_MEMORY, "out of memory verifying a kernel");
  for (size_t i = 0; i < regions->count && good; i++)
    k.reads[regions->order[i]] = k.stores[regions->order[i]] = 0;
  if (good && find_stores(&k))
    for (size_t i = 0; i < regions->count && good; i++) good = verify_node(&k, regions->order[i]);
  ir_free(mem, k.reads, bytes);
  ir_free(mem, k.stores, bytes);
  return good;
}
