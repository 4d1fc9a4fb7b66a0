/* Analysis of a kernel: its loops and their depths; for each node the running loops that it depends on, its
 * lanes and its vector width. query.c answers questions about the result. */
#include "codegen/emit/nest.h"

#include <string.h>

#include "ir/in_place.h"

static ir_status fail_kernel(ir_error *error, const char *what) {
  return ir_fail(error, IR_ERR_INTERNAL, "compile: a kernel breaks the rules of the loop level: %s", what);
}
static ir_status short_of_memory(ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "out of memory preparing a kernel for code generation");
}

int64_t cg_set_next(const cg_nest *nest, const uint64_t *set, int64_t loop) {
  loop++;
  for (int64_t word = loop / 64; word < nest->words; word++, loop = word * 64) {
    uint64_t rest = set[word] >> loop % 64;
    if (!rest) continue;
    while (!(rest & 1)) rest >>= 1, loop++;
    return loop;
  }
  return -1;
}

static uint64_t *deps_of(cg_nest *nest, ir_ref ref) { return nest->deps + (size_t)ref * nest->words; }
static uint64_t *lanes_of(cg_nest *nest, ir_ref ref) { return nest->lanes + (size_t)ref * nest->words; }
static void set_add(uint64_t *set, uint32_t loop) { set[loop / 64] |= (uint64_t)1 << loop % 64; }
static void set_drop(uint64_t *set, uint32_t loop) { set[loop / 64] &= ~((uint64_t)1 << loop % 64); }
static bool set_join(const cg_nest *nest, uint64_t *set, const uint64_t *other) {
  bool grew = false;
  for (uint32_t w = 0; w < nest->words; w++) {
    grew |= (other[w] & ~set[w]) != 0;
    set[w] |= other[w];
  }
  return grew;
}

/* loops */

static ir_status describe_loop(const ir_graph *g, ir_ref ref, cg_loop *loop, ir_error *error) {
  const ir_node *n = ir_get(g, ref);
  bool effect = n->dtype == IR_NONE;
  *loop = (cg_loop){.node = ref, .range = n->nsrc ? n->src[0] : 0, .binding = ir_arg_mode(n)};
  loop->carries = effect ? 0 : (uint32_t)ir_arg_int(n);
  if (!loop->range || ir_op_of(g, loop->range) != IR_OP_RANGE)
    return fail_kernel(error, "the first source of a loop is no range");
  uint32_t values = 1 + 2 * loop->carries;
  loop->effect = effect ? (n->nsrc > 1 ? n->src[1] : 0) : n->nsrc == values + 1 ? n->src[values] : 0;
  if (effect ? n->nsrc != 2 : loop->carries == 0 || n->nsrc - values > 1)
    return fail_kernel(error, "a loop's sources do not match its carried values");
  if (loop->binding == IR_THREAD && !effect) return fail_kernel(error, "a loop over threads yields a value");
  if (!cg_is_lane(loop)) return IR_OK;
  if (!ir_is_const(g, ir_src(g, loop->range, 0), &loop->extent) || loop->extent < 1 ||
      loop->extent > CG_MAX_LANES)
    return fail_kernel(error, "the extent of an unroll or vector loop is not a constant from 1 to 1024");
  if (!effect && (loop->extent & (loop->extent - 1)))
    return fail_kernel(error,
                       "the extent of an unroll or vector loop with carried values is not a power of two");
  return IR_OK;
}

static ir_status find_loops(cg_nest *nest, const ir_graph *g, const ir_ref *live, size_t count,
                            ir_error *error) {
  for (size_t i = 0; i < count; i++) nest->loop_count += ir_op_of(g, live[i]) == IR_OP_LOOP;
  nest->words = nest->loop_count / 64 + 1;
  nest->loops = ir_alloc(nest->mem, nest->loop_count * sizeof *nest->loops);
  if (!nest->loops) return short_of_memory(error);
  memset(nest->loops, 0, nest->loop_count * sizeof *nest->loops);
  uint32_t number = 0;
  for (size_t i = 0; i < count; i++) {
    if (ir_op_of(g, live[i]) != IR_OP_LOOP) continue;
    cg_loop *loop = &nest->loops[number++];
    ir_status status = describe_loop(g, live[i], loop, error);
    if (status != IR_OK) return status;
    if (nest->loop_of[loop->range]) return fail_kernel(error, "two loops bind one range");
    nest->loop_of[live[i]] = nest->loop_of[loop->range] = number;
    if (!loop->carries) continue;
    loop->carry_lanes = ir_alloc(nest->mem, (size_t)loop->carries * nest->words * sizeof(uint64_t));
    loop->carry = ir_alloc(nest->mem, loop->carries * sizeof(ir_ref));
    if (!loop->carry_lanes || !loop->carry) return short_of_memory(error);
    memset(loop->carry_lanes, 0, (size_t)loop->carries * nest->words * sizeof(uint64_t));
    memset(loop->carry, 0, loop->carries * sizeof(ir_ref));
  }
  return IR_OK;
}

/* An enclosing loop has a larger ref than the loops inside it, so one pass over refs in descending order
 * finds all depths. An effect passes its depth on to the loops that it contains (around[]); a loop that
 * yields a value lies inside the loops that it depends on. */
static ir_status find_depths(cg_nest *nest, const ir_graph *g, const ir_ref *live, size_t count,
                             ir_error *error) {
  uint32_t *around = ir_alloc(nest->mem, nest->count * sizeof *around);
  if (!around) return short_of_memory(error);
  memset(around, 0, nest->count * sizeof *around);
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, live[i]);
    uint32_t depth = around[live[i]];
    if (n->op == IR_OP_LOOP) {
      const uint64_t *deps = cg_deps(nest, live[i]);
      for (int64_t l = -1; (l = cg_set_next(nest, deps, l)) >= 0;)
        if (nest->loops[l].depth > depth) depth = nest->loops[l].depth;
      nest->loops[nest->loop_of[live[i]] - 1].depth = ++depth;
      ir_ref effect = nest->loops[nest->loop_of[live[i]] - 1].effect;
      if (effect && around[effect] < depth) around[effect] = depth;
    }
    if (n->dtype != IR_NONE) continue;
    for (uint32_t s = 0; s < n->nsrc; s++)
      if (around[n->src[s]] < depth) around[n->src[s]] = depth;
  }
  ir_free(nest->mem, around, nest->count * sizeof *around);
  return IR_OK;
}

/* dependences and lanes */

static void join_sources(cg_nest *nest, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  for (uint32_t i = 0; i < n->nsrc; i++) {
    set_join(nest, deps_of(nest, ref), cg_deps(nest, n->src[i]));
    set_join(nest, lanes_of(nest, ref), cg_lanes(nest, n->src[i]));
    nest->reads_memory_or_fails[ref] |= nest->reads_memory_or_fails[n->src[i]];
    nest->reads[ref] |= nest->reads[n->src[i]];
  }
}

/* Returns true if the lanes of a carried value grew. */
static bool set_loop_lanes(cg_nest *nest, const ir_graph *g, ir_ref ref) {
  uint32_t number = nest->loop_of[ref] - 1;
  cg_loop *loop = &nest->loops[number];
  const ir_node *n = ir_get(g, ref);
  uint64_t *mine = lanes_of(nest, ref);
  bool grew = false;
  set_drop(deps_of(nest, ref), number);
  nest->reads[ref] &= ~loop->locals;
  memset(mine, 0, nest->words * sizeof *mine);
  for (uint32_t i = loop->carries; i-- > 0;) { /* slot 0 last: its lanes are those of the LOOP node itself */
    uint64_t *lanes = loop->carry_lanes + (size_t)i * nest->words;
    memcpy(mine, cg_lanes(nest, n->src[1 + i]), nest->words * sizeof *mine);
    set_join(nest, mine, cg_lanes(nest, n->src[1 + loop->carries + i]));
    set_drop(mine, number);
    grew |= set_join(nest, lanes, mine);
    memcpy(mine, lanes, nest->words * sizeof *mine);
  }
  return grew;
}

static void set_carried_lanes(cg_nest *nest, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  uint32_t number = nest->loop_of[n->src[0]];
  if (!number || (uint64_t)ir_arg_int(n) >= nest->loops[number - 1].carries) return;
  cg_loop *loop = &nest->loops[number - 1];
  nest->loop_of[ref] = number;
  memset(lanes_of(nest, ref), 0, nest->words * sizeof(uint64_t));
  if (n->op == IR_OP_CARRY) loop->carry[ir_arg_int(n)] = ref;
  if (n->op == IR_OP_GET || !cg_is_lane(loop))
    set_join(nest, lanes_of(nest, ref), loop->carry_lanes + (size_t)ir_arg_int(n) * nest->words);
}

static bool set_dependences(cg_nest *nest, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  if (cg_is_leaf((ir_op)n->op)) return false;
  join_sources(nest, g, ref);
  uint32_t number = nest->loop_of[ref];
  if (n->op == IR_OP_LOOP) return set_loop_lanes(nest, g, ref);
  if (n->op == IR_OP_CARRY || n->op == IR_OP_GET) set_carried_lanes(nest, g, ref);
  if (n->op == IR_OP_RANGE && number)
    set_add(cg_is_lane(&nest->loops[number - 1]) ? lanes_of(nest, ref) : deps_of(nest, ref), number - 1);
  if (n->op == IR_OP_LOCAL)
    for (int64_t l = -1; (l = cg_set_next(nest, cg_deps(nest, ref), l)) >= 0;)
      nest->loops[l].locals |= (uint64_t)1 << ir_arg_int(n);
  if (n->op == IR_OP_LOAD || n->op == IR_OP_BOUND) nest->reads_memory_or_fails[ref] = true;
  if (n->op == IR_OP_LOAD && cg_local_of(g, ref) >= 0) nest->reads[ref] |= (uint64_t)1 << cg_local_of(g, ref);
  if (n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) nest->stored[n->src[0]] = true;
  else if (n->dtype == IR_NONE) /* only values and stores have lanes */
    memset(lanes_of(nest, ref), 0, nest->words * sizeof(uint64_t));
  return false;
}

static ir_status find_width(cg_nest *nest, ir_ref ref, ir_error *error) {
  nest->width[ref] = 1;
  uint32_t vectors = 0;
  for (int64_t l = -1; (l = cg_set_next(nest, cg_lanes(nest, ref), l)) >= 0;) {
    if (nest->loops[l].binding != IR_VECTOR) continue;
    nest->width[ref] = (uint32_t)nest->loops[l].extent;
    vectors++;
  }
  return vectors > 1 ? fail_kernel(error, "a value depends on two vector ranges") : IR_OK;
}

static bool moves_less(const cg_nest *nest, ir_ref a, ir_ref b) {
  for (int64_t l = -1; (l = cg_set_next(nest, cg_deps(nest, b), l)) >= 0;)
    if (!cg_set_has(cg_deps(nest, a), (uint32_t)l)) return true;
  return false;
}

static void find_anchor(cg_nest *nest, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  if (n->op != IR_OP_ADD || n->dtype != IR_INDEX || n->nsrc != 2) return;
  ir_ref base = n->src[0];
  bool sum = ir_op_of(g, base) == IR_OP_ADD || ir_op_of(g, base) == IR_OP_MUL;
  if (sum && cg_set_next(nest, cg_lanes(nest, base), -1) < 0 &&
      cg_set_next(nest, cg_deps(nest, base), -1) >= 0 && moves_less(nest, base, ref))
    nest->freeze[base] = true;
}

static ir_status check_node(const cg_nest *nest, const ir_graph *g, ir_ref ref, ir_error *error) {
  const ir_node *n = ir_get(g, ref);
  if ((n->op == IR_OP_RANGE || n->op == IR_OP_CARRY || n->op == IR_OP_GET) && !nest->loop_of[ref])
    return fail_kernel(error, "a range, carried value or result belongs to no loop");
  return IR_OK;
}

static ir_status analyse(cg_nest *nest, const ir_graph *g, ir_ref kernel, ir_error *error) {
  nest->count = g->count;
  size_t sets = (size_t)g->count * sizeof(uint64_t), count = 0, cap = 0;
  ir_ref *live = NULL;
  nest->loop_of = ir_alloc(nest->mem, g->count * sizeof *nest->loop_of);
  if (!nest->loop_of) return short_of_memory(error);
  memset(nest->loop_of, 0, g->count * sizeof *nest->loop_of);
  ir_status status = ir_reachable(g, &kernel, 1, &live, &count, &cap);
  if (status != IR_OK) short_of_memory(error);
  if (status == IR_OK) status = find_loops(nest, g, live, count, error);
  if (status == IR_OK) {
    nest->deps = ir_alloc(nest->mem, sets * nest->words);
    nest->lanes = ir_alloc(nest->mem, sets * nest->words);
    nest->width = ir_alloc(nest->mem, g->count * sizeof *nest->width);
    nest->reads_memory_or_fails = ir_alloc(nest->mem, g->count);
    nest->freeze = ir_alloc(nest->mem, g->count);
    nest->stored = ir_alloc(nest->mem, g->count);
    nest->reads = ir_alloc(nest->mem, sets);
    if (!nest->deps || !nest->lanes || !nest->width || !nest->reads_memory_or_fails || !nest->freeze ||
        !nest->stored || !nest->reads)
      status = short_of_memory(error);
  }
  if (status == IR_OK) {
    memset(nest->deps, 0, sets * nest->words);
    memset(nest->lanes, 0, sets * nest->words);
    memset(nest->reads_memory_or_fails, 0, g->count);
    memset(nest->freeze, 0, g->count);
    memset(nest->stored, 0, g->count);
    memset(nest->reads, 0, sets);
    bool grew;
    do { /* to a fixed point: the sets of lanes only grow, and there are finitely many lanes */
      grew = false;
      for (size_t i = 0; i < count; i++) grew |= set_dependences(nest, g, live[i]);
    } while (grew);
  }
  for (size_t i = 0; i < count && status == IR_OK; i++) status = check_node(nest, g, live[i], error);
  for (size_t i = 0; i < count && status == IR_OK; i++) status = find_width(nest, live[i], error);
  for (size_t i = 0; i < count && status == IR_OK; i++) find_anchor(nest, g, live[i]);
  if (status == IR_OK) status = find_depths(nest, g, live, count, error);
  ir_free(nest->mem, live, cap * sizeof *live);
  return status;
}

static void free_sets(cg_nest *nest) {
  size_t sets = (size_t)nest->count * nest->words * sizeof(uint64_t);
  for (uint32_t l = 0; l < nest->loop_count && nest->loops; l++) {
    ir_free(nest->mem, nest->loops[l].carry_lanes,
            (size_t)nest->loops[l].carries * nest->words * sizeof(uint64_t));
    ir_free(nest->mem, nest->loops[l].carry, nest->loops[l].carries * sizeof(ir_ref));
  }
  ir_free(nest->mem, nest->loops, nest->loop_count * sizeof *nest->loops);
  ir_free(nest->mem, nest->loop_of, nest->count * sizeof *nest->loop_of);
  ir_free(nest->mem, nest->deps, sets);
  ir_free(nest->mem, nest->lanes, sets);
  ir_free(nest->mem, nest->width, nest->count * sizeof *nest->width);
  ir_free(nest->mem, nest->reads_memory_or_fails, nest->count);
  ir_free(nest->mem, nest->freeze, nest->count);
  ir_free(nest->mem, nest->stored, nest->count);
  ir_free(nest->mem, nest->reads, nest->count * sizeof *nest->reads);
}

static ir_status find_in_place(cg_nest *nest, bool items, ir_error *error) {
  ir_status status = ir_in_place(&nest->graph, nest->kernel, items, &nest->in_place, error);
  const ir_node *kernel = ir_get(&nest->graph, nest->kernel);
  for (uint32_t i = 1; i < kernel->nsrc && nest->in_place; i++) {
    const ir_node *n = ir_get(&nest->graph, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 32 && nest->in_place >> slot & 1) nest->stored[kernel->src[i]] = true;
  }
  return status;
}

ir_status cg_nest_make(cg_nest *nest, const ir_graph *g, ir_ref kernel, bool items, ir_error *error) {
  *nest = (cg_nest){.mem = g->mem};
  if (!kernel || kernel >= g->count || ir_op_of(g, kernel) != IR_OP_KERNEL)
    return fail_kernel(error, "the root is no kernel");
  cg_nest old = {.mem = g->mem};
  ir_status status = analyse(&old, g, kernel, error);
  if (status == IR_OK) status = cg_nest_rewrite(nest, &old, g, kernel, error);
  free_sets(&old);
  if (status == IR_OK) status = analyse(nest, &nest->graph, nest->kernel, error);
  if (status == IR_OK) status = find_in_place(nest, items, error);
  if (status == IR_OK) status = cg_uses_find(&nest->graph, nest->kernel, nest->in_place, &nest->uses, error);
  if (status != IR_OK) cg_nest_free(nest);
  return status;
}

void cg_nest_free(cg_nest *nest) {
  free_sets(nest);
  ir_graph_free(&nest->graph);
  *nest = (cg_nest){.mem = nest->mem};
}
