/* Which values live in memory. Each of them is computed by one kernel, a write by two; all others are fused
 * into the kernels that use them. This is decided for the graph and, by the same rules, for each function
 * that it calls.
 *
 *   results, and what the caller supplies: in memory
 *
 *   operands and results of control flow: in memory
 *
 *   views: never, they are index arithmetic in their users; but a chain of very many reshapes, pads and
 *     joins is interrupted by a stored value, the smallest on the way, so that its index does not cost more
 *     than the copy it saves
 *
 *   elementwise: fused; stored when costly and used by several kernels or at repeated indices, or when the
 *     fused expression grows past a limit; so are operands of a kernel that would read more arrays than
 *     the target can pass to it
 *
 *   reductions: fused with elementwise users that need each element once; stored when used twice, inside
 *     another reduction, under a mask, or at repeated indices, as the end of their epilogue
 *     (passes/patterns/epilogue.h)
 *
 *   writes: always; one launch fills the buffer with the first operand, the next one updates it. It has
 *     few threads, so that costly values in its other operands are stored before
 *
 *   sorts that are left as nodes, and their operands: always
 *
 *   positions that the run checks: those of writes, and those that are computed
 *
 *   STORED nodes: always. Most of these come from passes/fuse/recomputed.c, which compares costs before
 *     packing
 *
 * One pass from users to operands collects how each value is used; one from operands to users bounds the size
 * of fused expressions. passes/schedule/steps.c makes steps of the result. */
#include "stored.h"

#include "passes/cost/cost.h"
#include "passes/ops/ops.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

/* Costs are those of passes/cost/element.c. Half and twice MAX_RECOMPUTED_COST and MAX_FUSED_COST change no
 * workload's loops. */
enum {
  MAX_RECOMPUTED_COST = 24, /* of a value that several kernels compute: two elementary functions */
  MAX_FUSED_COST = 192, /* of one kernel, 16 elementary functions: compile time grows faster than the code */
  /* reshapes, pads and joins of one kernel, each of which may divide: an index expression, and the time to
   * compile it, must not outgrow the copy that it saves */
  MAX_REMAPS = 10,
  MAX_WALK = 768, /* nodes that are listed for one kernel, four for each unit of MAX_FUSED_COST; of more,
                     costs count each node once for each use, which stores more */
  MAX_USES = 255  /* the most that a byte counts; choices ask for one use or several */
};
/* Flags of a value, by bit, all but STORED about its users: they read elements REPEATED, MASKED or
 * IN_REDUCTION; several kernels compute it (SHARED). */
enum { REPEATED = 1, MASKED = 2, IN_REDUCTION = 4, SHARED = 8, STORED = SCHEDULE_STORED };

static bool is_tensor(const scheduler *s, ir_ref r) { return ir_shape(s->g, r) != 0; }

/* A position that the run checks, of one element. */
static bool is_position(const scheduler *s, ir_ref r) {
  return ir_op_of(s->g, r) == IR_OP_GATHER && op_position_extent(s->g, r) && pass_elements(s->g, r) == 1;
}

/* Does the view read some element of its operand at several indices? */
static bool repeats(const scheduler *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  return n->op == IR_OP_EXPAND || (n->op == IR_OP_PAD && ir_arg_mode(n) != IR_PAD_CONSTANT) ||
         (n->op == IR_OP_GATHER && !is_position(s, r));
}

static bool masks(const ir_node *n) {
  return n->op == IR_OP_PAD || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK;
}

/* Does the reshape only add or remove axes of one element? */
static bool renames_axes(const ir_graph *g, const ir_node *n) {
  uint32_t from = 0, to = 1, rank = ir_rank(g, n->src[0]);
  for (;; from++, to++) {
    int64_t size;
    while (from < rank && ir_is_const(g, ir_dim(g, n->src[0], from), &size) && size == 1) from++;
    while (to < n->nsrc && ir_is_const(g, n->src[to], &size) && size == 1) to++;
    if (from == rank || to == n->nsrc) return from == rank && to == n->nsrc;
    if (ir_dim(g, n->src[0], from) != n->src[to]) return false;
  }
}

/* Can the view leave more than sums and products in an index? */
static bool remaps(const scheduler *s, const ir_node *n) {
  return (n->op == IR_OP_RESHAPE && !renames_axes(s->g, n)) || masks(n);
}

static uint16_t saturated(unsigned count) { return (uint16_t)(count > UINT16_MAX ? UINT16_MAX : count); }

/* Flags that r's use of its operands adds to them, given r's own flags. */
static uint8_t flags_below(const scheduler *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  uint8_t below = s->flags[r] & STORED ? 0 : s->flags[r] & (REPEATED | MASKED | IN_REDUCTION);
  if (repeats(s, r)) below |= REPEATED;
  if (masks(n)) below |= MASKED;
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE) below |= IN_REDUCTION;
  return below;
}

static void store_operands(scheduler *s, const ir_node *n) {
  for (uint32_t k = 0; k < ir_operand_count(n); k++)
    if (!schedule_is_leaf(ir_op_of(s->g, n->src[k]))) s->flags[n->src[k]] |= STORED;
}

/* Positions that a target of a write is gathered at: what fails does so before anything is stored. */
static void store_positions(scheduler *s, ir_ref at) {
  for (; ir_op_of(s->g, at) == IR_OP_GATHER || ir_ops[ir_op_of(s->g, at)].cls == IR_CLASS_VIEW;
       at = ir_src(s->g, at, 0)) {
    op_window_indices window;
    if (ir_op_of(s->g, at) != IR_OP_GATHER || !op_window_of(s->g, at, &window)) continue;
    ir_ref position = window.base;
    while (ir_op_of(s->g, position) != IR_OP_GATHER) position = ir_src(s->g, position, 0);
    s->flags[position] |= STORED;
  }
}

static void collect_uses(scheduler *s) {
  for (size_t i = s->count; i-- > 0;) {
    ir_ref r = s->live[i];
    const ir_node *n = ir_get(s->g, r);
    if (schedule_is_call((ir_op)n->op) || schedule_is_step((ir_op)n->op)) store_operands(s, n);
    if (!is_tensor(s, r) || n->op == IR_OP_RESULT) continue;
    bool reduction = ir_ops[n->op].cls == IR_CLASS_REDUCE;
    if (n->op == IR_OP_STORED || schedule_is_step((ir_op)n->op)) s->flags[r] |= STORED;
    bool recomputed = s->uses[r] > 1 || s->flags[r] & (REPEATED | MASKED | IN_REDUCTION | SHARED);
    if (recomputed && (reduction || s->epilogues[r] & PASS_EPILOGUE)) s->flags[r] |= STORED;
    if (n->op == IR_OP_ASSIGN) {
      s->flags[r] |= STORED;
      store_positions(s, n->src[1]);
    }
    if (is_position(s, r) && !schedule_is_leaf(ir_op_of(s->g, n->src[1]))) s->flags[r] |= STORED;
    pass_sharing_use(&s->sharing, r, s->flags[r] & STORED, pass_is_elementwise(n));
    uint8_t below = flags_below(s, r);
    bool passes_on = !(s->flags[r] & STORED) && (s->flags[r] & SHARED || s->uses[r] > 1);
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      ir_ref operand = n->src[k];
      s->flags[operand] |= below | (passes_on ? SHARED : 0) | (n->op == IR_OP_ASSIGN && k > 0 ? REPEATED : 0);
      if (s->uses[operand] < MAX_USES) s->uses[operand]++;
    }
  }
}

/* Lists the nodes fused into r, r first, each once. sharing.within: how often nodes in the list use them. 0:
 * more than MAX_WALK. */
static size_t fused_into(scheduler *s, ir_ref r, ir_ref visited[MAX_WALK]) {
  size_t count = 0;
  visited[count++] = r;
  s->sharing.walk++;
  for (size_t next = 0; next < count; next++) {
    const ir_node *n = ir_get(s->g, visited[next]);
    for (uint32_t k = 0; k < ir_operand_count(n) && !schedule_is_leaf((ir_op)n->op); k++) {
      ir_ref operand = n->src[k];
      if (s->flags[operand] & STORED) continue;
      if (s->sharing.seen[operand] != s->sharing.walk) {
        if (count == MAX_WALK) return 0;
        s->sharing.seen[operand] = s->sharing.walk;
        s->sharing.within[operand] = 0;
        visited[count++] = operand;
      }
      if (s->sharing.within[operand] < MAX_USES) s->sharing.within[operand]++;
    }
  }
  return count;
}

/* Replaces *cost and *views, which count a node once for each of its uses, by sums that count each node fused
 * into r once; leaves them where these are too many. */
static void count_once(scheduler *s, ir_ref r, unsigned *cost, unsigned *views) {
  ir_ref visited[MAX_WALK];
  size_t count = fused_into(s, r, visited);
  if (count) *cost = *views = 0;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(s->g, visited[i]);
    *cost += (unsigned)pass_element_cost(n), *views += remaps(s, n);
  }
}

/* r is stored because its kernel would grow too large. Nodes fused into r that are used elsewhere as well
 * would now be computed in both kernels: costly ones are stored, too. */
static void store_shared(scheduler *s, ir_ref r) {
  ir_ref visited[MAX_WALK];
  size_t count = fused_into(s, r, visited);
  for (size_t i = 1; i < count; i++)
    if (pass_is_elementwise(ir_get(s->g, visited[i])) &&
        s->uses[visited[i]] > s->sharing.within[visited[i]] && s->cost[visited[i]] > MAX_RECOMPUTED_COST)
      s->flags[visited[i]] |= STORED;
}

/* arguments */

/* Arguments as codegen/codegen.h passes them: two words for each array, one for each size, and three more. */
uint32_t schedule_most_slots(const scheduler *s) {
  enum {
    WORD_BYTES = 8, /* of each argument */
    OTHER_WORDS = 3 /* those three more */
  };
  int64_t words = s->target->argument_bytes / WORD_BYTES - OTHER_WORDS - s->size_count;
  return !s->target->argument_bytes ? UINT32_MAX : words < 2 ? 1 : (uint32_t)(words / 2);
}

/* The number of arrays that a kernel of the value reads; UINT16_MAX: more than MAX_WALK nodes are fused into
 * it. */
static uint16_t reads_of(scheduler *s, ir_ref r) {
  ir_ref visited[MAX_WALK];
  size_t count = 1;
  uint16_t reads = 0;
  visited[0] = r;
  s->sharing.walk++;
  for (size_t next = 0; next < count; next++) {
    const ir_node *n = ir_get(s->g, visited[next]);
    bool in_memory = schedule_is_leaf((ir_op)n->op) || (next && s->flags[visited[next]] & STORED);
    reads += in_memory;
    for (uint32_t k = 0; k < ir_operand_count(n) && !in_memory; k++) {
      ir_ref operand = n->src[k];
      if (!is_tensor(s, operand) || s->sharing.seen[operand] == s->sharing.walk) continue;
      if (count == MAX_WALK) return UINT16_MAX;
      s->sharing.seen[operand] = s->sharing.walk;
      visited[count++] = operand;
    }
  }
  return reads;
}

/* The operand that reads most arrays, of those that a kernel of the node computes itself, or what lies below
 * views on top of it if that reads as many. 0: none reads more than one. */
static ir_ref reading_most(const scheduler *s, const ir_node *n) {
  ir_ref most = 0;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    ir_ref operand = n->src[k];
    if (is_tensor(s, operand) && !(s->flags[operand] & STORED) && s->reads[operand] > 1 &&
        (!most || s->reads[operand] > s->reads[most]))
      most = operand;
  }
  while (most && ir_ops[ir_op_of(s->g, most)].cls == IR_CLASS_VIEW &&
         !(s->flags[ir_src(s->g, most, 0)] & STORED) && s->reads[ir_src(s->g, most, 0)] == s->reads[most])
    most = ir_src(s->g, most, 0);
  return most;
}

/* Stores operands until the arrays that a kernel of the value reads, and the one that it writes, can be
 * passed to it. */
static void bound_reads(scheduler *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  uint32_t most = schedule_most_slots(s), reads = 0;
  ir_ref costly = 0;
  if (schedule_is_leaf((ir_op)n->op)) reads = 1;
  for (uint32_t k = 0; k < ir_operand_count(n) && !schedule_is_leaf((ir_op)n->op); k++)
    if (is_tensor(s, n->src[k])) reads += s->flags[n->src[k]] & STORED ? 1 : s->reads[n->src[k]];
  while (reads >= most && (reads = reads_of(s, r)) >= most && (costly = reading_most(s, n)) != 0)
    s->flags[costly] |= STORED;
  s->reads[r] = saturated(reads);
}

/* kernels that would grow too large */

static double bytes_of(const scheduler *s, ir_ref r) {
  return pass_elements(s->g, r) * ir_dtypes[ir_dtype_of(s->g, r)].bytes;
}

/* The operand that is fused into the node, and of which most is: of views, or else of operations. 0: none. */
static ir_ref largest_operand(const scheduler *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  ir_ref largest = 0;
  for (uint32_t k = 0; k < ir_operand_count(n) && !schedule_is_leaf((ir_op)n->op); k++) {
    ir_ref o = n->src[k];
    if (!is_tensor(s, o) || s->flags[o] & STORED || !(s->remaps[o] || s->cost[o])) continue;
    if (!largest || s->remaps[o] > s->remaps[largest] ||
        (s->remaps[o] == s->remaps[largest] && s->cost[o] > s->cost[largest]))
      largest = o;
  }
  return largest;
}

/* The kernel of r has grown too large. Stores r, or a value below it that takes at most half the memory and
 * leaves a kernel small enough: windows, and products of broadcast values, are many times as large as what
 * they are made of. The costs of r and of what lies between are then those without it. */
static void store_smallest(scheduler *s, ir_ref r) {
  /* nodes from r downwards [19 in the tests]: those past it are not looked at */
  enum { PATH = 64 };
  ir_ref path[PATH] = {r};
  uint32_t count = 1, best = 0;
  double least = bytes_of(s, r) / 2;
  for (ir_ref at; count < PATH && (at = largest_operand(s, path[count - 1])) != 0;) {
    if (s->remaps[r] - s->remaps[at] > MAX_REMAPS || s->cost[r] - s->cost[at] > MAX_FUSED_COST) break;
    path[count++] = at;
    if (bytes_of(s, at) > least) continue;
    least = bytes_of(s, at), best = count - 1;
  }
  s->flags[path[best]] |= STORED;
  for (uint32_t i = 0; i < best; i++) {
    s->remaps[path[i]] -= s->remaps[path[best]];
    s->cost[path[i]] -= s->cost[path[best]];
  }
}

static void bound_fusion(scheduler *s) {
  for (size_t i = 0; i < s->count; i++) {
    ir_ref r = s->live[i];
    const ir_node *n = ir_get(s->g, r);
    if (!is_tensor(s, r)) continue;
    bound_reads(s, r);
    unsigned cost = (unsigned)pass_element_cost(n), views = remaps(s, n);
    for (uint32_t k = 0; k < ir_operand_count(n); k++)
      if (!(s->flags[n->src[k]] & STORED)) cost += s->cost[n->src[k]], views += s->remaps[n->src[k]];
    bool recomputed = s->flags[r] & REPEATED || s->sharing.recomputed[r];
    if (cost > MAX_FUSED_COST || (recomputed && cost > MAX_RECOMPUTED_COST) || views > MAX_REMAPS)
      count_once(s, r, &cost, &views);
    bool elementwise = pass_is_elementwise(n), leaf = schedule_is_leaf((ir_op)n->op);
    bool wide = masks(n) && ir_operand_count(n) >= PASS_MAX_JOINED; /* lowering splits these */
    s->cost[r] = saturated(cost);
    s->remaps[r] = saturated(views);
    if ((elementwise && ((recomputed && cost > MAX_RECOMPUTED_COST) ||
                         (s->flags[r] & REPEATED && cost >= SCHEDULE_MIN_STORED_COST))) ||
        (wide && !leaf))
      s->flags[r] |= STORED;
    else if ((elementwise && cost > MAX_FUSED_COST) || (views > MAX_REMAPS && !leaf)) store_smallest(s, r);
    if (elementwise && cost > MAX_FUSED_COST) store_shared(s, r);
  }
}

void schedule_uses(scheduler *s) {
  for (size_t i = 0; i < s->count; i++) {
    s->flags[s->live[i]] = s->uses[s->live[i]] = 0;
    s->cost[s->live[i]] = s->remaps[s->live[i]] = 0;
  }
  pass_sharing_begin(&s->sharing, s->live, s->count);
  pass_epilogues(s->g, s->live, s->count, s->results, s->result_count, s->epilogues);
  for (uint32_t i = 0; i < s->result_count; i++) s->flags[s->results[i]] |= STORED;
  for (size_t i = 0; i < s->count && s->stored; i++)
    if (s->stored[s->live[i]]) s->flags[s->live[i]] |= STORED;
  collect_uses(s);
  bound_fusion(s);
}
