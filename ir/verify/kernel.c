/* The verifier's rules for kernels. Before the loop nest is made, the root is an effect (STORE, UPDATE, or
 * SEQ of STOREs) over free ranges, with REDUCE; afterwards it is a KERNEL, in which exactly one LOOP binds
 * each range. */
#include "ir/regions.h"
#include "ir/verify/verify.h"

#include <stdlib.h>
#include <string.h>

typedef struct kernel_verifier {
  ir_verifier *v;
  const ir_graph *graph;
  const ir_ref *nodes;
  size_t count;
  bool shaped;
  ir_regions regions;
} kernel_verifier;

static bool broken_dtype(kernel_verifier *k, ir_ref ref, uint32_t source, const char *want) {
  ir_dtype found = ir_dtype_of(k->graph, ir_src(k->graph, ref, source));
  return ir_verify_fail(k->v, ref, "source %u has dtype %s, not %s", source, ir_dtypes[found].name, want);
}

static bool expect_dtype(kernel_verifier *k, ir_ref ref, uint32_t source, ir_dtype want) {
  if (ir_dtype_of(k->graph, ir_src(k->graph, ref, source)) == want) return true;
  return broken_dtype(k, ref, source, ir_dtypes[want].name);
}

static bool expect_op(kernel_verifier *k, ir_ref ref, uint32_t source, ir_op want) {
  ir_op found = ir_op_of(k->graph, ir_src(k->graph, ref, source));
  return found == want || ir_verify_fail(k->v, ref, "source %u is a %s, not a %s", source, ir_ops[found].text,
                                         ir_ops[want].text);
}

static bool is_effect(const ir_graph *g, ir_ref ref) { return ir_dtype_of(g, ref) == IR_NONE; }

static bool is_local(const ir_graph *g, ir_ref ref) { return ir_op_of(g, ref) == IR_OP_LOCAL; }

/* LOAD: a buffer, an index, whether it is valid, the value if not. STORE: a buffer, an index, the stored
 * value. */
static bool verify_access(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  ir_dtype element = ir_dtype_of(k->graph, n->src[0]);
  bool load = n->op == IR_OP_LOAD, local = is_local(k->graph, n->src[0]);
  if ((!local && !expect_op(k, ref, 0, IR_OP_PARAM)) || !expect_dtype(k, ref, 1, IR_INDEX)) return false;
  if (load && (!expect_dtype(k, ref, 2, IR_BOOL) || !expect_dtype(k, ref, 3, element))) return false;
  if (!load && !expect_dtype(k, ref, 2, element)) return false;
  int64_t ahead = ir_arg_int(n);
  int mode = ir_arg_mode(n);
  if (load && (n->arg != ir_pack_arg(ahead, mode) || ahead < (mode ? 1 : 0) || mode == IR_STREAM_MOST ||
               mode > IR_FETCHED || (local && n->arg != 0)))
    return ir_verify_fail(
        k->v, ref,
        "a load of a parameter must prefetch 0 or more elements ahead, at least 1 where it "
        "bypasses the caches or is fetched during sums; a load of a local must prefetch none");
  if (!load && (n->arg != ir_pack_arg(mode == IR_FETCHED ? ahead : 0, mode) || mode > IR_FETCHED ||
                (mode == IR_FETCHED && (ahead < 1 || local))))
    return ir_verify_fail(
        k->v, ref,
        "a store must be ordinary, non-temporal (`stream`), non-temporal for most of its elements (`stream "
        "most`), or of a parameter whose memory some elements ahead is fetched (`ahead N fetched`)");
  return n->dtype == (load ? element : IR_NONE) ||
         ir_verify_fail(k->v, ref, "a load must have the dtype of its buffer, a store none");
}

/* A buffer, an index, whether it is valid, the value; then ranges, which in a loop nest may be the
 * expressions that replaced them. */
static bool verify_update(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  ir_dtype element = ir_dtype_of(k->graph, n->src[0]);
  if ((!is_local(k->graph, n->src[0]) && !expect_op(k, ref, 0, IR_OP_PARAM)) ||
      !expect_dtype(k, ref, 1, IR_INDEX) || !expect_dtype(k, ref, 2, IR_BOOL) ||
      !expect_dtype(k, ref, 3, element))
    return false;
  for (uint32_t i = 4; i < n->nsrc; i++)
    if (!k->shaped && !expect_op(k, ref, i, IR_OP_RANGE)) return false;
  if (n->arg != 0 && (n->arg != IR_OP_ADD || element == IR_BOOL))
    return ir_verify_fail(k->v, ref,
                          "an update must store its value, or add it, and then it must not be bool");
  return n->dtype == IR_NONE || ir_verify_fail(k->v, ref, "it must have no value");
}

static bool verify_bound(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  if (!ir_is_data_int(ir_dtype_of(k->graph, n->src[0]))) return broken_dtype(k, ref, 0, "an integer");
  if (!expect_dtype(k, ref, 1, IR_INDEX) || !expect_dtype(k, ref, 2, IR_BOOL)) return false;
  return (n->dtype == IR_INDEX && ir_arg_mode(n) <= IR_GATHER_FILL) ||
         ir_verify_fail(k->v, ref, "its dtype must be index, and its mode check, clip or fill");
}

static bool combines(int64_t op) {
  return op == IR_OP_ADD || op == IR_OP_MUL || op == IR_OP_MIN || op == IR_OP_MAX || op == IR_OP_AND ||
         op == IR_OP_OR;
}

static bool verify_reduce(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  int64_t op = ir_arg_int(n);
  bool position = op == IR_OP_ARGMAX || op == IR_OP_ARGMIN;
  if (k->shaped) return ir_verify_fail(k->v, ref, "a kernel must hold loops, not reductions");
  if (!position && !combines(op))
    return ir_verify_fail(k->v, ref, "it must combine by add, mul, min, max, and, or, argmax or argmin");
  if (n->nsrc < 2u + position)
    return ir_verify_fail(k->v, ref, "it must have a value and at least one range");
  for (uint32_t i = 1 + position; i < n->nsrc; i++)
    if (!expect_op(k, ref, i, IR_OP_RANGE)) return false;
  if (!position) return expect_dtype(k, ref, 0, (ir_dtype)n->dtype);
  bool counts = n->dtype == IR_INDEX || ir_is_data_int((ir_dtype)n->dtype);
  return expect_dtype(k, ref, 1, IR_INDEX) &&
         (counts || ir_verify_fail(k->v, ref, "the dtype of argmax and argmin must be an integer dtype"));
}

static bool verify_prefix(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  if (!k->shaped) return ir_verify_fail(k->v, ref, "prefixes over lanes may appear in kernels only");
  if (!combines(ir_arg_int(n)) || ir_arg_mode(n) > 1)
    return ir_verify_fail(k->v, ref, "it must combine by add, mul, min, max, and, or");
  if (n->nsrc != 3) return ir_verify_fail(k->v, ref, "it must have a value, an identity and one range");
  if (!expect_dtype(k, ref, 0, (ir_dtype)n->dtype) || !expect_dtype(k, ref, 1, (ir_dtype)n->dtype) ||
      !expect_op(k, ref, 2, IR_OP_RANGE))
    return false;
  ir_ref loop = k->regions.loop_of[n->src[2]];
  return (loop && ir_arg_mode(ir_get(k->graph, loop)) == IR_VECTOR) ||
         ir_verify_fail(k->v, ref, "its range must be that of a vector loop");
}

static bool power_of_two(int64_t value) { return value >= 1 && (value & (value - 1)) == 0; }

static bool verify_loop(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  int binding = ir_arg_mode(n);
  int64_t extent;
  if (!k->shaped) return ir_verify_fail(k->v, ref, "loops may appear in kernels only");
  if (!ir_is_loop(k->graph, ref))
    return ir_verify_fail(k->v, ref,
                          "a loop must have a range and either one effect, or as many initial as next values "
                          "and at most one effect");
  uint32_t carries = ir_loop_carries(k->graph, ref);
  if (binding > IR_THREAD)
    return ir_verify_fail(k->v, ref, "its binding must be serial, unroll, vector or thread");
  bool lanes = binding == IR_UNROLL || binding == IR_VECTOR;
  if (lanes && !ir_is_const(k->graph, ir_src(k->graph, n->src[0], 0), &extent))
    return ir_verify_fail(k->v, ref, "the extent of an unroll or vector loop must be a constant");
  if (lanes && carries > 0 && !power_of_two(extent))
    return ir_verify_fail(
        k->v, ref, "the extent of an unroll or vector loop with carried values must be a power of two");
  if (carries == 0)
    return is_effect(k->graph, n->src[1]) && n->dtype == IR_NONE
               ? true
               : ir_verify_fail(k->v, ref, "its body must be an effect");
  if (binding == IR_THREAD) return ir_verify_fail(k->v, ref, "a thread loop must not carry values");
  if (!expect_dtype(k, ref, 1, (ir_dtype)n->dtype)) return false;
  ir_ref effect = ir_loop_effect(k->graph, ref);
  if (effect && (lanes || !is_effect(k->graph, effect)))
    return ir_verify_fail(k->v, ref, "only an effect may follow the next values, and only in a serial loop");
  for (uint32_t i = 1; i <= carries; i++) {
    ir_dtype dtype = ir_dtype_of(k->graph, n->src[i]);
    if (dtype == IR_NONE) return broken_dtype(k, ref, i, "that of a value");
    if (!expect_dtype(k, ref, carries + i, dtype)) return false;
  }
  return true;
}

static bool verify_carry(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  bool get = n->op == IR_OP_GET;
  if (!expect_op(k, ref, 0, get ? IR_OP_LOOP : IR_OP_RANGE)) return false;
  ir_ref loop = get ? n->src[0] : k->regions.loop_of[n->src[0]];
  if (!loop || !ir_is_loop(k->graph, loop)) return ir_verify_fail(k->v, ref, "no loop binds its range");
  int64_t slot = ir_arg_int(n);
  if (slot < 0 || slot >= ir_loop_carries(k->graph, loop))
    return ir_verify_fail(k->v, ref, "its slot must be one of the loop's %u carried values",
                          ir_loop_carries(k->graph, loop));
  return ir_dtype_of(k->graph, ir_src(k->graph, loop, 1 + (uint32_t)slot)) == n->dtype ||
         ir_verify_fail(k->v, ref, "its dtype must be that of the initial value");
}

static bool verify_kernel_node(kernel_verifier *k, ir_ref ref) {
  const ir_graph *g = k->graph;
  const ir_node *n = ir_get(g, ref);
  if (ref != k->v->root) return ir_verify_fail(k->v, ref, "a kernel must be the root");
  if (n->nsrc < 1 || n->arg < 0 || (uint64_t)n->arg >= n->nsrc)
    return ir_verify_fail(k->v, ref, "its sources must be an effect, then parameters");
  if (!is_effect(g, n->src[0])) return ir_verify_fail(k->v, ref, "its first source must be an effect");
  for (uint32_t i = 1; i < n->nsrc; i++)
    if (!expect_op(k, ref, i, i <= n->arg ? IR_OP_PARAM : IR_OP_VAR)) return false;
  for (uint32_t i = 1; i <= n->arg; i++)
    if (ir_arg_int(ir_get(g, n->src[i])) != i - 1)
      return ir_verify_fail(k->v, ref, "parameter %u must have slot %u, counted from 0", i, i - 1);
  return true;
}

static bool verify_seq(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (!is_effect(k->graph, n->src[i])) return ir_verify_fail(k->v, ref, "it must hold effects only");
  return n->dtype == IR_NONE || ir_verify_fail(k->v, ref, "it must have no value");
}

/* Its number of elements, then indices of loops. */
static bool verify_local(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  int64_t size, number = ir_arg_int(n);
  if (!ir_is_const(k->graph, n->src[0], &size) || size < 1)
    return ir_verify_fail(k->v, ref, "the size of a local must be a number, at least 1");
  for (uint32_t i = 1; i < n->nsrc; i++)
    if (!expect_dtype(k, ref, i, IR_INDEX)) return false;
  if (ir_arg_mode(n) > IR_LOCAL_AHEAD || n->arg != ir_pack_arg(number, ir_arg_mode(n)))
    return ir_verify_fail(k->v, ref, "a local must be `kept`, `kept ahead` or neither");
  return (n->dtype != IR_NONE && n->dtype != IR_INDEX && number >= 0 && number < IR_MAX_LOCALS) ||
         ir_verify_fail(k->v, ref, "a local must have a number below %d and a data dtype", IR_MAX_LOCALS);
}

static bool verify_node(kernel_verifier *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  if (!ir_verify_sources(k->v, ref)) return false;
  switch ((int)n->op) {
  case IR_OP_LOAD:
  case IR_OP_STORE: return verify_access(k, ref);
  case IR_OP_UPDATE: return verify_update(k, ref);
  case IR_OP_BOUND: return verify_bound(k, ref);
  case IR_OP_REDUCE: return verify_reduce(k, ref);
  case IR_OP_PREFIX: return verify_prefix(k, ref);
  case IR_OP_LOOP: return verify_loop(k, ref);
  case IR_OP_CARRY:
  case IR_OP_GET: return verify_carry(k, ref);
  case IR_OP_KERNEL: return verify_kernel_node(k, ref);
  case IR_OP_SEQ: return verify_seq(k, ref);
  case IR_OP_RANGE: return n->dtype == IR_INDEX || ir_verify_fail(k->v, ref, "a range must have dtype index");
  case IR_OP_PARAM:
    return (n->dtype != IR_NONE && n->dtype != IR_INDEX && ir_arg_int(n) >= 0) ||
           ir_verify_fail(k->v, ref, "a parameter must have a slot and a data dtype");
  case IR_OP_LOCAL: return verify_local(k, ref);
  case IR_OP_TUPLE: return ir_verify_fail(k->v, ref, "a kernel must not hold tuples");
  case IR_OP_CONST:
    return !n->weak || ir_verify_fail(k->v, ref, "a constant of a kernel must have a dtype and not be weak");
  default: return ir_verify_elementwise(k->v, ref);
  }
}

/* Effects form a tree: each has one user, which is a KERNEL, a SEQ or a LOOP. */
static bool verify_effects(kernel_verifier *k, uint8_t *used) {
  for (size_t i = 0; i < k->count; i++) {
    ir_ref ref = k->nodes[i];
    const ir_node *n = ir_get(k->graph, ref);
    for (uint32_t s = 0; s < n->nsrc; s++) {
      if (!is_effect(k->graph, n->src[s])) continue;
      bool loop = n->op == IR_OP_LOOP && n->src[s] == ir_loop_effect(k->graph, ref) && s + 1 == n->nsrc;
      bool place = (n->op == IR_OP_KERNEL && s == 0) || n->op == IR_OP_SEQ || loop;
      if (!place) return ir_verify_fail(k->v, ref, "source %u is an effect, not a value", s);
      if (used[n->src[s]]++) return ir_verify_fail(k->v, n->src[s], "an effect must have exactly one user");
    }
  }
  return true;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Axis numbers identify ranges, slots identify parameters: no two nodes share one. */
static bool verify_numbers(kernel_verifier *k, ir_op op) {
  size_t found = 0;
  uint64_t *numbers = ir_alloc(k->graph->mem, k->count * sizeof *numbers); /* number << 32 | node */
  if (!numbers) return ir_fail(k->v->error, IR_ERR_MEMORY, "out of memory verifying a kernel") == IR_OK;
  for (size_t i = 0; i < k->count; i++) {
    const ir_node *n = ir_get(k->graph, k->nodes[i]);
    if (n->op == op) numbers[found++] = (uint64_t)(uint32_t)ir_arg_int(n) << 32 | k->nodes[i];
  }
  qsort(numbers, found, sizeof *numbers, ascending);
  bool ok = true;
  for (size_t i = 1; ok && i < found; i++)
    if (numbers[i] >> 32 == numbers[i - 1] >> 32)
      ok = ir_verify_fail(k->v, (ir_ref)numbers[i], "another %s has the same number", ir_ops[op].text);
  ir_free(k->graph->mem, numbers, k->count * sizeof *numbers);
  return ok;
}

/* A kernel lists exactly the parameters and variables that it uses. */
static bool verify_lists(kernel_verifier *k) {
  const ir_node *root = ir_get(k->graph, k->v->root);
  uint64_t params = 0, vars = 0;
  for (size_t i = 0; i < k->count; i++) {
    params += ir_op_of(k->graph, k->nodes[i]) == IR_OP_PARAM;
    vars += ir_op_of(k->graph, k->nodes[i]) == IR_OP_VAR;
  }
  if (!k->shaped || (params == (uint64_t)root->arg && params + vars == root->nsrc - 1)) return true;
  return ir_verify_fail(k->v, k->v->root, "it must list each parameter (%llu) and each variable (%llu) once",
                        (unsigned long long)params, (unsigned long long)vars);
}

static bool verify_binding(kernel_verifier *k) {
  const ir_graph *g = k->graph;
  for (size_t i = 0; i < k->count; i++) {
    ir_ref ref = k->nodes[i];
    const ir_node *n = ir_get(g, ref);
    if (n->op == IR_OP_RANGE && k->shaped && !k->regions.loop_of[ref])
      return ir_verify_fail(k->v, ref, "no loop binds it");
    if (n->op == IR_OP_RANGE && k->regions.shared[ref])
      return ir_verify_fail(k->v, k->regions.shared[ref], "another loop binds the same range");
    if (n->op == IR_OP_LOOP && ir_arg_mode(n) == IR_THREAD &&
        (!k->shaped || ir_thread_loop(g, k->v->root) != ref))
      return ir_verify_fail(k->v, ref,
                            "only the outermost loop of a kernel, but for serial ones that run nothing else, "
                            "may be a thread loop");
  }
  if (!k->regions.escape) return true;
  ir_text value;
  ir_text_init(&value, g->mem);
  ir_print_expr(g, k->regions.escape, &value);
  ir_verify_fail(k->v, k->regions.escape_user, "it uses `%.200s` outside the loop in which that is computed",
                 ir_text_get(&value));
  ir_text_free(&value);
  return false;
}

/* The regions list loops innermost first, so the reverse order meets each loop after the loop around it. */
static bool verify_vectors(kernel_verifier *k, uint8_t *inside) {
  for (size_t i = k->regions.count; i-- > 0;) {
    ir_ref ref = k->regions.order[i];
    if (!ir_is_loop(k->graph, ref)) continue;
    ir_ref outer = k->regions.region[ref];
    if (outer && ir_get(k->graph, ref)->dtype == IR_NONE && ir_get(k->graph, outer)->dtype != IR_NONE)
      outer = 0; /* an iteration's effect runs once for all vector lanes around the loop */
    bool vector = ir_arg_mode(ir_get(k->graph, ref)) == IR_VECTOR;
    if (vector && outer && inside[outer])
      return ir_verify_fail(k->v, ref, "a vector loop must not be nested in another");
    inside[ref] = vector || (outer && inside[outer]);
  }
  return true;
}

/* Does `body` depend on a value carried by the loop over `range`? Only nodes with refs between the two
 * can. */
static bool depends_on_carry(const kernel_verifier *k, ir_ref range, ir_ref body, uint8_t *seen) {
  if (body <= range) return false;
  memset(seen + range, 0, (size_t)body - range + 1);
  seen[body] = 1;
  for (ir_ref r = body; r > range; r--) {
    if (!seen[r]) continue;
    const ir_node *n = ir_get(k->graph, r);
    if (n->op == IR_OP_CARRY && n->nsrc && n->src[0] == range) return true;
    for (uint32_t i = 0; i < n->nsrc; i++)
      if (n->src[i] > range) seen[n->src[i]] = 1;
  }
  return false;
}

/* An unroll or vector loop with a value combines its lanes with one operation: next_i = OP(CARRY_i, body). */
static bool verify_lanes(kernel_verifier *k, uint8_t *seen) {
  const ir_graph *g = k->graph;
  for (size_t i = 0; i < k->count; i++) {
    ir_ref ref = k->nodes[i];
    const ir_node *n = ir_get(g, ref);
    if (n->op != IR_OP_LOOP || (ir_arg_mode(n) != IR_VECTOR && ir_arg_mode(n) != IR_UNROLL)) continue;
    uint32_t carries = ir_loop_carries(g, ref);
    for (uint32_t c = 0; c < carries; c++) {
      const ir_node *next = ir_get(g, n->src[1 + carries + c]);
      const ir_node *carry = next->nsrc == 2 && combines(next->op) ? ir_get(g, next->src[0]) : NULL;
      ir_ref body = carry ? next->src[1] : 0;
      if (carry && !(carry->op == IR_OP_CARRY && carry->src[0] == n->src[0])) {
        carry = ir_get(g, next->src[1]);
        body = next->src[0];
      }
      if (!carry || carry->op != IR_OP_CARRY || carry->src[0] != n->src[0] || ir_arg_int(carry) != c ||
          depends_on_carry(k, n->src[0], body, seen))
        return ir_verify_fail(
            k->v, ref,
            "next value %u of an unroll or vector loop must combine the carried value with one "
            "that does not depend on it, by add, mul, min, max, and, or",
            c);
    }
  }
  return true;
}

/* A local is stored to before it is loaded, and not after, unless it is kept from iteration to iteration. */
static bool verify_locals(kernel_verifier *k, uint8_t *state) {
  enum { STORED = 1, LOADED = 2 };
  for (size_t i = 0; i < k->regions.count; i++) {
    ir_ref ref = k->regions.order[i];
    const ir_node *n = ir_get(k->graph, ref);
    bool stores = n->op == IR_OP_STORE || n->op == IR_OP_UPDATE;
    if ((n->op != IR_OP_LOAD && !stores) || !is_local(k->graph, n->src[0])) continue;
    uint8_t *local = &state[n->src[0]];
    if (n->op == IR_OP_LOAD && !(*local & STORED))
      return ir_verify_fail(k->v, ref, "it loads from a local before any store to that local");
    if (stores && *local & LOADED && !ir_arg_mode(ir_get(k->graph, n->src[0])))
      return ir_verify_fail(k->v, ref,
                            "it stores to a local after a load from that local, which is not kept");
    *local |= n->op == IR_OP_LOAD ? LOADED : STORED;
  }
  return true;
}

static uint8_t *cleared(const kernel_verifier *k, uint8_t *table) {
  for (size_t i = 0; i < k->count; i++) table[k->nodes[i]] = 0;
  return table;
}

/* table: scratch space indexed by ref */
static bool verify_whole(kernel_verifier *k, uint8_t *table) {
  if (!verify_numbers(k, IR_OP_RANGE) || !verify_numbers(k, IR_OP_PARAM) || !verify_numbers(k, IR_OP_LOCAL) ||
      !verify_lists(k))
    return false;
  return verify_effects(k, cleared(k, table)) && verify_locals(k, cleared(k, table)) && verify_binding(k) &&
         verify_vectors(k, cleared(k, table)) && verify_lanes(k, table) &&
         (!k->shaped || ir_verify_kept(k->v, &k->regions));
}

bool ir_verify_kernel(ir_verifier *v, const ir_ref *nodes, size_t count) {
  const ir_graph *g = v->graph;
  size_t limit = (size_t)v->root + 1;
  kernel_verifier k = {
      .v = v, .graph = g, .nodes = nodes, .count = count, .shaped = ir_op_of(g, v->root) == IR_OP_KERNEL};
  if (!is_effect(g, v->root)) return ir_verify_fail(v, v->root, "a kernel must end in an effect");
  uint8_t *table = ir_alloc(g->mem, limit);
  bool ok = table && ir_regions_find(g, v->root, &k.regions) == IR_OK;
  if (!ok) ir_fail(v->error, IR_ERR_MEMORY, "out of memory verifying a kernel");
  for (size_t i = 0; ok && i < count; i++) ok = verify_node(&k, nodes[i]);
  ok = ok && verify_whole(&k, table);
  ir_free(g->mem, table, limit);
  ir_regions_free(&k.regions);
  return ok;
}
