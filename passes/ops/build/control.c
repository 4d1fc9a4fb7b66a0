/* Builders of cond, while_loop and scan. */
#include "control.h"

#include "passes/ops/check.h"

#include <string.h>

/* types: a dtype and sizes */
typedef struct type {
  ir_dtype dtype;
  ir_ref dims[IR_MAX_RANK];
  size_t rank;
} type;

static void copy_sizes(const ir_graph *g, ir_ref x, ir_ref *out) {
  for (uint32_t k = 0; k < ir_rank(g, x); k++) out[k] = ir_dim(g, x, k);
}

static type type_of(const ir_graph *g, ir_ref x) {
  type t = {.dtype = ir_dtype_of(g, x), .rank = ir_rank(g, x)};
  copy_sizes(g, x, t.dims);
  return t;
}

/* The type of a slice: without the first axis. */
static type slice_of(const ir_graph *g, ir_ref x) {
  type t = type_of(g, x);
  memmove(t.dims, t.dims + 1, --t.rank * sizeof *t.dims);
  return t;
}

static bool same_sizes(ir_graph *g, const type *a, const type *b, ir_ref *left, ir_ref *right) {
  if (a->rank != b->rank) return false;
  for (size_t k = 0; k < a->rank; k++)
    if (!op_decided(g, IR_OP_EQ, a->dims[k], b->dims[k])) {
      *left = a->dims[k], *right = b->dims[k];
      return false;
    }
  return true;
}

/* Words of the message that a value does not have the type of another: "operand 2 is f32[3], the body takes
 * f32[4]" is {"operand", "", "", "the body takes ", ""}. */
typedef struct agreement {
  const char *what, *of, *here, *other, *there;
} agreement;

static const char *words_type(ir_graph *g, const type *t, op_words *out) {
  op_words sizes;
  ir_text all, rest;
  ir_text_init(&all, g->mem), ir_text_init(&rest, g->mem);
  ir_text_str(&all, ir_dtypes[t->dtype].name);
  ir_text_str(&rest, op_words_list(g, t->dims, t->rank, &sizes));
  op_words_join(&all, 16, &rest, out);
  return out->text;
}

/* x converted to the type t, where `own` is the type of x or of its slices; 0 after failing. */
static ir_ref agree_type(ir_graph *g, const char *who, const agreement *a, size_t number, ir_ref x, type own,
                         const type *t) {
  ir_ref left = 0, right = 0;
  op_words have, want;
  bool sizes = same_sizes(g, &own, t, &left, &right), whole = own.rank == ir_rank(g, x);
  bool number_as_bool =
      t->dtype == IR_BOOL && own.dtype != IR_BOOL; /* not converted: it would become x != 0 */
  if (sizes && ir_get(g, x)->weak && !number_as_bool) return op_convert(g, who, x, t->dtype);
  if (!sizes || own.dtype != t->dtype)
    return op_refuse(g, "%s: %s %zu%s is %s%s, %s%s%s; both must have the same shape and dtype%s", who,
                     a->what, number + 1, a->of, words_type(g, &own, &have), a->here, a->other,
                     words_type(g, t, &want), a->there, left ? OP_FACT(IR_OP_EQ, left, right) : "");
  bool alike = !whole || memcmp(own.dims, t->dims, t->rank * sizeof *t->dims) == 0;
  return alike ? x : op_reshape_known(g, x, t->dims, t->rank);
}

/* functions */

bool op_is_function(ir_graph *g, const char *who, ir_ref func) {
  ir_function f = ir_function_of(g, func);
  for (uint32_t i = 0; i < f.result_count + f.param_count; i++) {
    bool param = i >= f.result_count;
    ir_ref x = param ? f.params[i - f.result_count] : f.results[i];
    if (!ir_batch(g, x)) continue;
    op_refuse(g,
              "%s: %s %u of a function is %s; parameters and results of a function have no batch axes, as it "
              "is applied to each element of a batch",
              who, param ? "parameter" : "result", (param ? i - f.result_count : i) + 1, OP_TYPE(x));
    return false;
  }
  return true;
}

static bool is_function(ir_graph *g, const char *who, const char *what, ir_ref func, size_t operands) {
  if (!func) return false;
  ir_function f = ir_function_of(g, func);
  if (ir_func_depth(g, func) > IR_MAX_DEPTH)
    op_refuse(g, "%s: functions are nested %u deep; they nest at most %d deep", who, ir_func_depth(g, func),
              IR_MAX_DEPTH);
  else if (f.param_count != operands)
    op_refuse(g, "%s: %s takes %u operand%s, %zu given; it must take as many as are given", who, what,
              f.param_count, f.param_count == 1 ? "" : "s", operands);
  else if (f.result_count == 0) ir_fail(g->error, IR_ERR_INTERNAL, "%s: %s has no results", who, what);
  else return op_tensors(g, who, f.results, f.result_count) && op_is_function(g, who, func);
  return false;
}

/* The function with other results. */
static ir_ref with_results(ir_graph *g, ir_ref func, const ir_ref *results, uint32_t count) {
  ir_function f = ir_function_of(g, func);
  if (count == f.result_count && memcmp(results, f.results, count * sizeof *results) == 0) return func;
  return ir_func(g, results, count, f.params, f.param_count);
}

static bool is_truth(ir_graph *g, ir_ref x) { return ir_rank(g, x) == 0 && ir_dtype_of(g, x) == IR_BOOL; }

/* the node and its results */

typedef struct build {
  ir_graph *g;
  const char *who;
  ir_ref *src; /* operands, functions, attributes */
  size_t n, room;
  ir_ref *results; /* room for the results of any of its functions */
  size_t result_room;
} build;

/* predicate: the first operand, or 0 */
static bool start_build(build *b, ir_graph *g, const char *who, ir_ref predicate, const ir_ref *x, size_t n,
                        size_t result_room) {
  enum { BEHIND = 3 }; /* room after the operands for functions and attributes */
  size_t all = n + (predicate != 0);
  *b = (build){.g = g, .who = who, .n = all, .room = all + BEHIND, .result_room = result_room};
  b->src = ir_alloc(g->mem, b->room * sizeof *b->src);
  b->results = ir_alloc(g->mem, (result_room + 1) * sizeof *b->results);
  if (!b->src || !b->results) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", who);
    return false;
  }
  b->src[0] = predicate;
  if (n) memcpy(b->src + all - n, x, n * sizeof *x);
  return op_batches_align(g, who, b->src, (uint32_t)all);
}

static ir_ref free_build(build *b, ir_ref made) {
  ir_free(b->g->mem, b->src, b->room * sizeof *b->src);
  ir_free(b->g->mem, b->results, (b->result_room + 1) * sizeof *b->results);
  return made;
}

/* Converts the operands from number `from` on to the types of the function's parameters. other: "the body
 * takes " */
static bool fit_operands(build *b, const char *other, ir_ref func, size_t from, ir_scan_state s) {
  ir_graph *g = b->g;
  ir_function f = ir_function_of(g, func);
  for (uint32_t i = 0; i < f.param_count; i++) {
    ir_ref *x = &b->src[from + i];
    type t = type_of(g, f.params[i]);
    bool sliced = i >= s.carries && i < s.carries + s.sliced;
    agreement a = {sliced ? "a slice of operand" : "operand", "", "", other, ""};
    if (!(*x = agree_type(g, b->who, &a, i, *x, sliced ? slice_of(g, *x) : type_of(g, *x), &t))) return false;
  }
  return true;
}

/* func with its first `count` results converted to the types of `like`; 0 after failing. */
static ir_ref fit_results(build *b, const agreement *a, ir_ref func, const ir_ref *like, uint32_t count) {
  ir_graph *g = b->g;
  ir_function f = ir_function_of(g, func);
  memcpy(b->results, f.results, f.result_count * sizeof *b->results);
  for (uint32_t i = 0; i < f.result_count; i++) {
    ir_ref own = f.results[i];
    type t = type_of(g, i < count ? like[i] : own);
    b->results[i] =
        i < count ? agree_type(g, b->who, a, i, own, type_of(g, own), &t) : op_default_dtype(g, own);
    if (!b->results[i]) return 0;
  }
  return with_results(g, func, b->results, f.result_count);
}

static const agreement first_branch = {"result", "", " in the first branch", "", " in the second"},
                       second_branch = {"result", "", " in the second branch", "", " in the first"},
                       next_state = {"value", " of the state", " after an iteration", "", " before"};

ir_ref op_result(ir_graph *g, ir_ref control, uint32_t number) {
  bool stacked;
  const ir_node *n = ir_get(g, control);
  ir_ref dims[IR_MAX_RANK + 1] = {n->src[n->nsrc - 1]}, like = ir_result_like(g, control, number, &stacked);
  copy_sizes(g, like, dims + stacked);
  return op_make(g, IR_OP_RESULT, ir_dtype_of(g, like), dims, ir_rank(g, like) + stacked,
                 ir_pack_arg(number, 0), &control, 1);
}

/* May the result be stacked? The stack has one more axis than the result. */
static bool can_stack(build *b, ir_ref control, uint32_t number) {
  ir_graph *g = b->g;
  bool stacked;
  ir_ref like = ir_result_like(g, control, number, &stacked);
  if (!stacked || ir_rank(g, like) < IR_MAX_RANK) return true;
  return op_refuse(g, "%s: result %u is %s; stacked, it has one more axis, and a tensor has at most %d axes",
                   b->who, number + 1, OP_TYPE(like), IR_MAX_RANK) != 0;
}

static ir_ref results_of(build *b, ir_ref control) {
  uint32_t count = control ? ir_result_count(b->g, control) : 0;
  for (uint32_t i = 0; i < count; i++)
    if (!can_stack(b, control, i) || !(b->results[i] = op_result(b->g, control, i))) return 0;
  return control ? ir_tuple(b->g, b->results, count) : 0;
}

/* The function's results with the operands substituted for its parameters. */
static ir_ref inlined(build *b, ir_ref func, const ir_ref *x) {
  ir_function f = ir_function_of(b->g, func);
  memcpy(b->results, f.results, f.result_count * sizeof *b->results);
  if (ir_replace(b->g, f.params, x, f.param_count, b->results, f.result_count) != IR_OK) return 0;
  return ir_tuple(b->g, b->results, f.result_count);
}

/* cond */

/* Of two weak constants, the one that has the dtype of both. */
static ir_ref wider(ir_graph *g, ir_ref a, ir_ref b) {
  if (!(a = op_default_dtype(g, a)) || !(b = op_default_dtype(g, b))) return 0;
  return op_promote(ir_dtype_of(g, a), ir_dtype_of(g, b)) == ir_dtype_of(g, a) ? a : b;
}

/* Gives each result one type in both branches: a weak constant takes the dtype of the other branch. */
static bool fit_branches(build *b, ir_ref *then, ir_ref *otherwise) {
  ir_graph *g = b->g;
  ir_function f = ir_function_of(g, *then), h = ir_function_of(g, *otherwise);
  ir_ref *like = ir_alloc(g->mem, f.result_count * sizeof *like);
  if (!like) {
    ir_fail(g->error, IR_ERR_MEMORY, "cond: out of memory");
    return false;
  }
  for (uint32_t i = 0; i < f.result_count; i++) {
    bool weak = ir_get(g, f.results[i])->weak;
    like[i] = weak && ir_get(g, h.results[i])->weak ? wider(g, f.results[i], h.results[i])
              : weak                                ? h.results[i]
                                                    : f.results[i];
  }
  bool alone = true;
  for (uint32_t i = 0; i < f.result_count; i++) alone &= like[i] != 0;
  if (alone) *then = fit_results(b, &first_branch, *then, like, f.result_count);
  if (alone && *then) *otherwise = fit_results(b, &second_branch, *otherwise, like, f.result_count);
  ir_free(g->mem, like, f.result_count * sizeof *like);
  return alone && *then && *otherwise;
}

static bool has_batched_operand(const build *b) {
  for (size_t i = 0; i < b->n; i++)
    if (ir_batch(b->g, b->src[i])) return true;
  return false;
}

/* If the branch is known, the call is replaced by its results. Not with operands in a batch: a function's own
 * batches differ from those around the call, so it stays a function. */
static ir_ref build_cond(build *b, ir_ref then, ir_ref otherwise) {
  ir_graph *g = b->g;
  ir_scan_state none = {0};
  ir_ref predicate = b->src[0];
  if (!fit_branches(b, &then, &otherwise) || !fit_operands(b, "the first branch takes ", then, 1, none) ||
      !fit_operands(b, "the second branch takes ", otherwise, 1, none))
    return 0;
  if ((op_is_const(g, predicate) || then == otherwise) && !has_batched_operand(b))
    return inlined(b, ir_is_false(g, predicate) ? otherwise : then, b->src + 1);
  b->src[b->n] = then, b->src[b->n + 1] = otherwise;
  return results_of(b, ir_make(g, IR_OP_COND, IR_NONE, 0, b->src, (uint32_t)b->n + 2));
}

ir_ref op_cond(ir_graph *g, ir_ref predicate, const ir_ref *x, size_t n, ir_ref then, ir_ref otherwise) {
  build b;
  if (!op_tensors(g, "cond", &predicate, 1) || !op_tensors(g, "cond", x, n)) return 0;
  if (!is_truth(g, predicate))
    return op_refuse(g, "cond: the predicate is %s; it must be a bool of rank 0: compare, or reduce it",
                     OP_TYPE(predicate));
  if (!is_function(g, "cond", "the first branch", then, n) ||
      !is_function(g, "cond", "the second branch", otherwise, n))
    return 0;
  ir_function f = ir_function_of(g, then), h = ir_function_of(g, otherwise);
  if (f.result_count != h.result_count)
    return op_refuse(g,
                     "cond: the first branch has %u result%s, the second %u; both must have the same number",
                     f.result_count, f.result_count == 1 ? "" : "s", h.result_count);
  bool good = start_build(&b, g, "cond", predicate, x, n, f.result_count);
  return free_build(&b, good ? build_cond(&b, then, otherwise) : 0);
}

/* while_loop */

static ir_ref build_while(build *b, size_t carries, ir_ref condition, ir_ref body, int64_t bound) {
  ir_graph *g = b->g;
  ir_scan_state none = {0};
  if (!fit_operands(b, "the body takes ", body, 0, none) ||
      !fit_operands(b, "the condition takes ", condition, 0, none))
    return 0;
  body = fit_results(b, &next_state, body, b->src, (uint32_t)carries);
  if (!body) return 0;
  if (bound == 0 || ir_is_false(g, ir_function_of(g, condition).results[0]))
    return ir_tuple(g, b->src, (uint32_t)carries);
  b->src[b->n] = condition, b->src[b->n + 1] = body, b->src[b->n + 2] = ir_index(g, bound);
  return results_of(
      b, ir_make(g, IR_OP_WHILE, IR_NONE, ir_pack_arg((int64_t)carries, 0), b->src, (uint32_t)b->n + 3));
}

ir_ref op_while(ir_graph *g, const ir_ref *x, size_t n, size_t carries, ir_ref condition, ir_ref body,
                int64_t bound) {
  const char *who = "while_loop";
  build b;
  if (!op_tensors(g, who, x, n) || !is_function(g, who, "the condition", condition, n) ||
      !is_function(g, who, "the body", body, n))
    return 0;
  ir_function f = ir_function_of(g, condition), h = ir_function_of(g, body);
  if (f.result_count != 1 || !is_truth(g, f.results[0]))
    return op_refuse(
        g, "while_loop: the condition has %u result%s, the first one %s; it must have one, a bool of rank 0",
        f.result_count, f.result_count == 1 ? "" : "s", OP_TYPE(f.results[0]));
  if (carries != h.result_count || carries > n)
    return op_refuse(g,
                     "while_loop: the body has %u result%s for a state of %zu; it must return the next state",
                     h.result_count, h.result_count == 1 ? "" : "s", carries < n ? carries : n);
  if (bound < -1)
    return op_refuse(g, "while_loop: the bound is %lld; it must be a number of iterations, or -1 for none",
                     (long long)bound);
  bool good = start_build(&b, g, who, 0, x, n, carries);
  return free_build(&b, good ? build_while(&b, carries, condition, body, bound) : 0);
}

/* scan */

static ir_ref length_of(build *b, ir_scan_state s, ir_ref length) {
  ir_graph *g = b->g;
  for (uint32_t i = s.carries; i < s.carries + s.sliced; i++) {
    if (ir_rank(g, b->src[i]) == 0)
      return op_refuse(g, "scan: operand %u is %s; an operand to slice must have at least one axis", i + 1,
                       OP_TYPE(b->src[i]));
    ir_ref own = ir_dim(g, b->src[i], 0);
    if (!length) length = own;
    if (!op_decided(g, IR_OP_EQ, own, length))
      return op_refuse(g,
                       "scan: operand %u is %s, the length is %s; the first axis of an operand to slice must "
                       "have that size%s",
                       i + 1, OP_TYPE(b->src[i]), OP_EXPR(length), OP_FACT(IR_OP_EQ, own, length));
  }
  if (!length) return op_refuse(g, "scan: no operand is sliced and no length is given; give one of both");
  return op_sizes(g, "scan", &length, 1, &length) ? length : 0;
}

/* A scan of length 0: the state, and empty stacks. */
static ir_ref empty_scan(build *b, ir_scan_state s, ir_ref body, ir_ref length) {
  ir_graph *g = b->g;
  ir_function f = ir_function_of(g, body);
  for (uint32_t i = 0; i < f.result_count; i++) {
    if (i < s.carries) {
      b->results[i] = b->src[i];
      continue;
    }
    ir_ref dims[IR_MAX_RANK + 1] = {length};
    uint32_t rank = ir_rank(g, f.results[i]);
    copy_sizes(g, f.results[i], dims + 1);
    ir_ref zero = ir_const(g, ir_dtype_of(g, f.results[i]), (ir_value){.i = 0});
    if (!(b->results[i] = op_full(g, zero, dims, rank + 1))) return 0;
  }
  return ir_tuple(g, b->results, f.result_count);
}

static ir_ref build_scan(build *b, ir_scan_state s, ir_ref body, ir_ref length) {
  ir_graph *g = b->g;
  int64_t count;
  if (!(length = length_of(b, s, length)) || !fit_operands(b, "the body takes ", body, 0, s)) return 0;
  body = fit_results(b, &next_state, body, b->src, s.carries);
  if (!body) return 0;
  if (ir_is_const(g, length, &count) && count == 0) return empty_scan(b, s, body, length);
  b->src[b->n] = body, b->src[b->n + 1] = length;
  return results_of(b, ir_make(g, IR_OP_SCAN, IR_NONE, ir_pack_scan(s), b->src, (uint32_t)b->n + 2));
}

ir_ref op_scan(ir_graph *g, const ir_ref *x, size_t n, ir_scan_state s, ir_ref body, ir_ref length) {
  build b;
  if (!op_tensors(g, "scan", x, n)) return 0;
  if ((uint64_t)s.carries + s.sliced > n || s.carries > UINT16_MAX || s.sliced > UINT16_MAX)
    return op_refuse(g,
                     "scan: a state of %u and %u sliced, of %zu operands; their sum must be at most the "
                     "number of operands, and each less than 65536",
                     s.carries, s.sliced, n);
  if (!is_function(g, "scan", "the body", body, n)) return 0;
  uint32_t results = ir_function_of(g, body).result_count;
  if (results < s.carries)
    return op_refuse(g,
                     "scan: the body has %u results for a state of %u; it must return the next state first",
                     results, s.carries);
  bool good = start_build(&b, g, "scan", 0, x, n, results);
  return free_build(&b, good ? build_scan(&b, s, body, length) : 0);
}
