#include "test/lib/sharded.h"

#include "ir/print/print.h"
#include "passes/ops/sharding/sharding.h"
#include "test/lib/random_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tensor {
  ir_dtype dtype;
  uint32_t rank;
  int64_t shape[IR_MAX_RANK], count;
  unsigned char *data;
} tensor;

static ir_value at(const tensor *t, int64_t i) {
  return ir_value_load(t->data + (size_t)i * ir_dtypes[t->dtype].bytes, t->dtype);
}
static void put(const tensor *t, int64_t i, ir_value v) {
  ir_value_store(t->data + (size_t)i * ir_dtypes[t->dtype].bytes, t->dtype, v);
}
static tensor make(ir_dtype dtype, uint32_t rank, const int64_t *shape) {
  tensor t = {.dtype = dtype, .rank = rank, .count = 1};
  for (uint32_t k = 0; k < rank; k++) t.count *= t.shape[k] = shape[k];
  t.data = calloc((size_t)t.count + 1, ir_dtypes[dtype].bytes);
  return t;
}
static tensor view_of(const ir_eval_result *r) {
  tensor t = {.dtype = r->dtype, .rank = r->rank, .count = r->count, .data = r->data};
  memcpy(t.shape, r->shape, sizeof t.shape);
  return t;
}

/* A node and the values of its operands and result, unsharded. */
typedef struct problem {
  sharded *s;
  ir_ref node;
  uint32_t operands;
  tensor x[32], y;
  op_sharding rule;
} problem;

static bool fail_rule(problem *p, const char *why) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  op_sharding_print(&p->rule, &text);
  ir_textf(&text, " for %s of", ir_ops[ir_op_of(p->s->g, p->node)].text);
  for (uint32_t i = 0; i < p->operands; i++) {
    ir_text_str(&text, " ");
    ir_print_type(p->s->g, ir_src(p->s->g, p->node, i), &text);
  }
  ir_text_str(&text, " giving ");
  ir_print_type(p->s->g, p->node, &text);
  snprintf(p->s->what, sizeof p->s->what, "%s: %s", ir_text_get(&text), why);
  ir_text_free(&text);
  return false;
}

static int64_t index_value(const problem *p, ir_ref expr) {
  ir_error error = {0};
  int64_t value = -1;
  ir_eval_index(p->s->g, expr, p->s->vars, p->s->var_count, NULL, 0, &value, &error);
  return value;
}

/* ---- shards */

/* A shard: the indices [begin, end) of one factor. */
typedef struct shard {
  int factor; /* -1: nothing is split */
  int64_t begin, end, first_of_all;
} shard;

static bool has_factor(const op_split *axis, int factor) {
  for (uint32_t i = 0; i < axis->count; i++)
    if (axis->factors[i] == factor) return true;
  return false;
}
static bool term_has(const op_term *term, int factor) {
  bool found = false;
  for (uint32_t k = 0; k < term->rank; k++) found |= has_factor(&term->axes[k], factor);
  return found;
}

static int64_t size_in(const problem *p, int factor, const shard *of) {
  return factor == of->factor ? of->end - of->begin : index_value(p, p->rule.factors[factor].size);
}
static int64_t local_size(const problem *p, const op_split *axis, int64_t whole, const shard *of) {
  int64_t size = 1;
  if (!has_factor(axis, of->factor)) return whole;
  for (uint32_t i = 0; i < axis->count; i++) size *= size_in(p, axis->factors[i], of);
  return size;
}
/* The index in the whole axis of an index in the shard's axis: converted digit by digit, innermost factor
 * first. */
static int64_t whole_index(const problem *p, const op_split *axis, int64_t index, const shard *of) {
  int64_t result = 0, weight = 1;
  if (!has_factor(axis, of->factor)) return index;
  for (uint32_t i = axis->count; i-- > 0;) {
    int64_t size = size_in(p, axis->factors[i], of), digit = index % size;
    index /= size;
    result += weight * (digit + (axis->factors[i] == of->factor ? of->begin : 0));
    weight *= index_value(p, p->rule.factors[axis->factors[i]].size);
  }
  return result;
}

static void local_shape(const problem *p, const op_term *term, const tensor *whole, const shard *of,
                        int64_t *shape) {
  for (uint32_t k = 0; k < whole->rank; k++) shape[k] = local_size(p, &term->axes[k], whole->shape[k], of);
}
/* The element of the whole tensor that is element i of the shard. */
static int64_t whole_element(const problem *p, const op_term *term, const tensor *whole, const int64_t *shape,
                             int64_t i, const shard *of) {
  int64_t result = 0, stride = 1;
  for (uint32_t k = whole->rank; k-- > 0;) {
    result += stride * whole_index(p, &term->axes[k], i % shape[k], of);
    i /= shape[k];
    stride *= whole->shape[k];
  }
  return result;
}

static tensor shard_operand(const problem *p, uint32_t operand, const shard *of) {
  const tensor *whole = &p->x[operand];
  bool positions = ir_op_of(p->s->g, p->node) == IR_OP_ASSIGN && operand == 1; /* as the updates */
  const op_term *term = &p->rule.terms[positions ? 2 : operand];
  int64_t shape[IR_MAX_RANK];
  local_shape(p, term, whole, of, shape);
  tensor t = make(whole->dtype, whole->rank, shape);
  for (int64_t i = 0; i < t.count; i++) put(&t, i, at(whole, whole_element(p, term, whole, shape, i, of)));
  return t;
}

/* ---- the operation on other operands */

static ir_ref shape_of(ir_graph *g, const int64_t *shape, uint32_t rank) {
  ir_ref dims[IR_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) dims[k] = ir_index(g, shape[k]);
  return ir_tuple(g, dims, rank);
}

/* Attributes of the node for a shard of the given shapes, after the operands: sizes and whole windows are
 * those of the shard, all others are unchanged. */
static uint32_t attributes(const problem *p, ir_graph *g, const tensor *x, const int64_t *shape,
                           const shard *of, ir_ref *src) {
  const ir_graph *from = p->s->g;
  const ir_node *n = ir_get(from, p->node);
  char name[16], kind[16];
  uint32_t count = p->operands;
  for (const char *column = ir_ops[n->op].attributes; ir_next_attribute(&column, name, kind, sizeof name);) {
    if (!strcmp(kind, "value")) {
      src[count] = ir_const(g, ir_dtype_of(from, n->src[count]), ir_const_value(from, n->src[count]));
      count++;
    } else if (!strcmp(kind, "expr")) {
      src[count] = ir_index(g, index_value(p, n->src[count]));
      count++;
    } else if (kind[0] == '[') {
      for (uint32_t i = 0; count < n->nsrc; i++, count++) {
        int64_t value = !strcmp(name, "shape") ? shape[i] : index_value(p, n->src[count]);
        if (!strcmp(name, "bounds") && i % 2 && has_factor(&p->rule.terms[0].axes[i / 2], of->factor))
          value = x[0].shape[i / 2];
        src[count] = ir_index(g, value);
      }
    }
  }
  return count;
}

static bool run(problem *p, const tensor *x, const int64_t *shape, int mode, const shard *of,
                ir_eval_result *out) {
  ir_graph g;
  ir_error error = {0};
  ir_ref src[32 + 4 * IR_MAX_RANK];
  ir_binding_input bound[32];
  const ir_node *n = ir_get(p->s->g, p->node);
  char name[8];
  ir_graph_init(&g, &ir_mem_libc, &error);
  for (uint32_t i = 0; i < p->operands; i++) {
    int length = snprintf(name, sizeof name, "x%u", (unsigned)i);
    src[i] = ir_leaf(&g, IR_OP_INPUT, x[i].dtype, 0, shape_of(&g, x[i].shape, x[i].rank),
                     ir_name(&g, name, (size_t)length));
    bound[i] = (ir_binding_input){src[i], x[i].data};
  }
  uint32_t count = attributes(p, &g, x, shape, of, src);
  int64_t arg = mode < 0 ? n->arg : ir_pack_args(ir_arg_int(n), mode, ir_arg_small(n));
  ir_ref y =
      ir_make_tensor(&g, (ir_op)n->op, (ir_dtype)n->dtype, shape_of(&g, shape, p->y.rank), arg, src, count);
  bool good = y && ir_eval(&g, &y, 1, bound, p->operands, NULL, 0, out, &error) == IR_OK;
  if (good) { /* the result outlives this graph: both use the C library's allocator */
    ir_graph_free(&g);
    return true;
  }
  char why[300];
  snprintf(why, sizeof why, "a part has no value: %.250s", error.text);
  ir_graph_free(&g);
  return fail_rule(p, why);
}

/* ---- combining shards */

static bool same(ir_value a, ir_value b, ir_dtype t) {
  if (!ir_is_float(t)) return a.i == b.i;
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a.f) && isnan(b.f));
}

static double roundoff(ir_dtype t) {
  return t == IR_F64 ? 0x1p-52 : t == IR_F32 ? 0x1p-23 : t == IR_F16 ? 0x1p-10 : 0x1p-7;
}

/* The contracted results of one element, combined so far. */
typedef struct combined {
  ir_value value;
  double sum, magnitude; /* of floats */
  bool rough;            /* the shards may be rounded in ways that the whole is not */
  int count;
} combined;

static void combine(combined *j, ir_op by, ir_dtype t, ir_value v, double weight) {
  if (ir_is_float(t) && (by == IR_OP_ADD || by == IR_OP_MUL)) {
    bool sum = by == IR_OP_ADD;
    j->sum = j->count == 0 ? weight * v.f : sum ? j->sum + weight * v.f : j->sum * v.f;
    j->magnitude = sum ? j->magnitude + fabs(weight * v.f) : fabs(j->sum);
    j->rough |= !isfinite(v.f) || (!sum && v.f != 0 && (fabs(v.f) < 0x1p-6 || fabs(v.f) > 0x1p6));
  } else {
    j->value = j->count == 0 ? v : ir_scalar_apply(by, t, t, (ir_value[]){j->value, v});
  }
  j->count++;
}

static bool agrees(const combined *j, ir_op by, ir_dtype t, ir_value whole) {
  if (!ir_is_float(t)) return j->value.i == whole.i;
  if (by != IR_OP_ADD && by != IR_OP_MUL) return j->value.f == whole.f || same(j->value, whole, t);
  if (j->rough) return true;
  double tiny = t == IR_F16 ? 0x1p-20 : 0x1p-120;
  return fabs(j->sum - whole.f) <= 4 * roundoff(t) * j->magnitude + tiny;
}

/* ---- a factor */

/* Makes indices of the whole axis relative to this shard, which holds [begin, end); indices that belong to
 * other shards become out of range. */
static void localize_indices(const shard *of, tensor *at_, int64_t whole, int mode) {
  for (int64_t i = 0; i < at_->count; i++) {
    ir_value v = at(at_, i);
    bool is_signed = ir_dtypes[at_->dtype].kind == IR_KIND_SIGNED;
    if (is_signed && v.i < 0) v.i += whole;
    if (!is_signed && v.i < 0) v.i = INT64_MAX; /* a u64 */
    if (mode == IR_GATHER_CLIP) v.i = v.i < 0 ? 0 : v.i >= whole ? whole - 1 : v.i;
    bool own = v.i >= of->begin && v.i < of->end;
    v.i = own ? v.i - of->begin : of->end - of->begin;
    put(at_, i, v);
  }
}

/* Positions in the whole array of an assign become positions in the shard, and others nowhere. */
static void localize_positions(const problem *p, const shard *of, tensor *positions, const int64_t *shape) {
  const tensor *whole = &p->x[0];
  for (int64_t i = 0; i < positions->count; i++) {
    int64_t above = at(positions, i).i, local = 0, stride = 1;
    bool own = above >= 0;
    for (uint32_t k = whole->rank; k-- > 0 && own;) {
      int64_t index = above % whole->shape[k];
      above /= whole->shape[k];
      if (has_factor(&p->rule.terms[0].axes[k], of->factor)) {
        own = index >= of->begin && index < of->end;
        index -= of->begin;
      }
      local += stride * index, stride *= shape[k];
    }
    put(positions, i, (ir_value){.i = own ? local : -1});
  }
}

static bool is_indirect(ir_op op) { return ir_ops[op].cls == IR_CLASS_INDIRECT; }

static bool run_shard(problem *p, const shard *of, bool contracted, ir_eval_result *out) {
  const ir_node *n = ir_get(p->s->g, p->node);
  tensor x[32];
  int64_t shape[IR_MAX_RANK];
  int mode = -1;
  for (uint32_t i = 0; i < p->operands; i++) x[i] = shard_operand(p, i, of);
  if (n->op == IR_OP_ASSIGN) localize_positions(p, of, &x[1], x[0].shape);
  else if (is_indirect((ir_op)n->op) && has_factor(&p->rule.terms[0].axes[ir_arg_int(n)], of->factor)) {
    localize_indices(of, &x[1], p->x[0].shape[ir_arg_int(n)], ir_arg_mode(n));
    mode = IR_GATHER_FILL;
  }
  /* the first operand is added once, by the first shard */
  if (n->op == IR_OP_SCATTER_ADD && contracted && of->begin > 0)
    memset(x[0].data, 0, (size_t)x[0].count * ir_dtypes[x[0].dtype].bytes);
  local_shape(p, &p->rule.terms[p->operands], &p->y, of, shape);
  bool good = run(p, x, shape, mode, of, out);
  for (uint32_t i = 0; i < p->operands; i++) free(x[i].data);
  if (!good || n->op != IR_OP_IOTA || !has_factor(&p->rule.terms[0].axes[ir_arg_int(n)], of->factor))
    return good;
  tensor t = view_of(out); /* IOTA: indices count in the whole axis */
  for (int64_t i = 0; i < t.count; i++) {
    ir_value v = at(&t, i);
    if (ir_is_float(t.dtype)) v.f += (double)of->begin;
    else v.i += of->begin;
    put(&t, i, v);
  }
  return true;
}

static void note_shape(sharded *s, const int64_t *shape, uint32_t rank) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_textf(&text, "%s%s[", s->shapes, *s->shapes ? " " : "");
  for (uint32_t k = 0; k < rank; k++) ir_textf(&text, "%s%lld", k ? "," : "", (long long)shape[k]);
  ir_text_str(&text, "]");
  snprintf(s->shapes, sizeof s->shapes, "%s", ir_text_get(&text));
  ir_text_free(&text);
}

static bool check_factor(problem *p, int factor) {
  sharded *s = p->s;
  ir_op op = ir_op_of(s->g, p->node), by = op_sharding_joined_by(op);
  const op_term *result = &p->rule.terms[p->operands];
  bool contracted = !term_has(result, factor), good = true, boolean = p->y.dtype == IR_BOOL;
  int64_t size = index_value(p, p->rule.factors[factor].size), each = (size + s->shards - 1) / s->shards;
  combined *all = calloc((size_t)p->y.count + 1, sizeof *all);
  bool first = s->shapes[0] == '\0';
  if (boolean && by == IR_OP_ADD) by = IR_OP_OR;
  for (int64_t begin = 0; begin < size && good; begin += each) {
    shard of = {.factor = factor, .begin = begin, .end = begin + each < size ? begin + each : size};
    ir_eval_result out = {0};
    int64_t shape[IR_MAX_RANK];
    if (!(good = run_shard(p, &of, contracted, &out))) break;
    tensor t = view_of(&out);
    local_shape(p, result, &p->y, &of, shape);
    if (first) note_shape(s, shape, p->y.rank);
    double weight = op == IR_OP_MEAN ? (double)(of.end - of.begin) / (double)size : 1;
    for (int64_t i = 0; i < t.count; i++) {
      combined *j = &all[whole_element(p, result, &p->y, shape, i, &of)];
      if (contracted) combine(j, by, t.dtype, at(&t, i), weight);
      else j->value = at(&t, i), j->count++;
    }
    free(out.data);
  }
  for (int64_t i = 0; i < p->y.count && good; i++) {
    char why[200];
    ir_value whole = at(&p->y, i);
    if (contracted ? agrees(&all[i], by, p->y.dtype, whole)
                   : all[i].count == 1 && same(all[i].value, whole, p->y.dtype))
      continue;
    snprintf(why, sizeof why, "split along %s, element %lld is made %d times and differs",
             p->rule.factors[factor].name, (long long)i, all[i].count);
    good = fail_rule(p, why);
  }
  s->factors++, s->contracted += contracted;
  free(all);
  return good;
}

/* ---- partial sums */

/* Splits x into two summands: a random one, and the difference, which is exact. */
static void split_sum(const tensor *x, tensor summands[2], uint64_t *state) {
  for (int k = 0; k < 2; k++) summands[k] = make(x->dtype, x->rank, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    ir_value v = at(x, i), one = v, other = v;
    if (ir_is_float(x->dtype)) {
      one.f = (double)random_between(state, -8, 8) / 2;
      other.f = v.f - one.f;
    } else {
      one.i = random_between(state, -4, 4);
      other = ir_scalar_apply(IR_OP_SUB, x->dtype, x->dtype, (ir_value[]){v, one});
    }
    put(&summands[0], i, one), put(&summands[1], i, other);
  }
}

/* Is f of the sum equal to the sum of f? Elements with infinities, or with unknown rounding, are skipped. */
static int sums_agree(const problem *p, const ir_eval_result out[2]) {
  tensor a = view_of(&out[0]), b = view_of(&out[1]);
  for (int64_t i = 0; i < p->y.count; i++) {
    combined j = {0};
    ir_value whole = at(&p->y, i);
    if (p->y.dtype == IR_BOOL) {
      if ((at(&a, i).i | at(&b, i).i) != whole.i) return 0;
      continue;
    }
    combine(&j, IR_OP_ADD, p->y.dtype, at(&a, i), 1);
    combine(&j, IR_OP_ADD, p->y.dtype, at(&b, i), 1);
    if (j.rough || (ir_is_float(p->y.dtype) && !isfinite(whole.f))) continue;
    if (ir_is_float(p->y.dtype) && ir_dtypes[p->y.dtype].bytes < 4) j.magnitude *= 4;
    if (!agrees(&j, IR_OP_ADD, p->y.dtype, whole)) return 0;
  }
  return 1;
}

static bool exact_summands(const tensor *x) {
  for (int64_t i = 0; i < x->count && ir_is_float(x->dtype); i++)
    if (!(fabs(at(x, i).f) <= 64 && at(x, i).f * 4 == floor(at(x, i).f * 4))) return false;
  return x->dtype != IR_BOOL && x->count > 0;
}

static bool check_sums(problem *p, uint32_t mask, uint64_t *state) {
  sharded *s = p->s;
  const ir_node *n = ir_get(s->g, p->node);
  bool partial[32] = {0}, good = true, integer = false;
  shard none = {.factor = -1};
  for (uint32_t i = 0; i < p->operands; i++) {
    partial[i] = mask >> i & 1;
    if (partial[i] && !exact_summands(&p->x[i])) return true;
    integer |= partial[i] && !ir_is_float(p->x[i].dtype);
  }
  if (is_indirect((ir_op)n->op) && (mask & 2)) return true; /* indices: a summand may be out of range */
  if (integer && n->op == IR_OP_DIV) return true;
  tensor x[2][32];
  ir_eval_result out[2] = {0};
  for (uint32_t i = 0; i < p->operands; i++) {
    tensor both[2] = {p->x[i], p->x[i]};
    if (partial[i]) split_sum(&p->x[i], both, state);
    x[0][i] = both[0], x[1][i] = both[1];
  }
  for (int k = 0; k < 2 && good; k++) good = run(p, x[k], p->y.shape, -1, &none, &out[k]);
  bool defers = op_defers(s->g, p->node, partial);
  int agree = good ? sums_agree(p, out) : 0;
  if (good && defers && !agree) good = fail_rule(p, "the operation on a sum is not the sum of the operation");
  if (good && !defers) s->tried[n->op][mask]++, s->refuted[n->op][mask] += !agree;
  s->sums += defers;
  for (uint32_t i = 0; i < p->operands; i++)
    for (int k = 0; k < 2 && partial[i]; k++) free(x[k][i].data);
  free(out[0].data), free(out[1].data);
  return good;
}

/* ---- nodes */

static bool is_checked(const ir_graph *g, ir_ref ref) {
  ir_op op = ir_op_of(g, ref);
  bool data = op == IR_OP_CONST || op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_DATA;
  return !data && op_registry[op].sharding && strcmp(op_registry[op].sharding, "own") != 0;
}

static bool check_node(sharded *s, ir_ref node, const ir_ref *tensors, const ir_eval_result *values,
                       size_t count) {
  const ir_node *n = ir_get(s->g, node);
  problem p = {.s = s, .node = node, .operands = ir_operand_count(n)};
  if (!is_checked(s->g, node) || p.operands > 32) return true;
  for (size_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < p.operands; k++)
      if (tensors[i] == n->src[k]) p.x[k] = view_of(&values[i]);
    if (tensors[i] == node) p.y = view_of(&values[i]);
  }
  if (!op_sharding_of(s->g, node, &p.rule)) {
    snprintf(s->what, sizeof s->what, "no rule: %.900s", s->g->error->text);
    return false;
  }
  bool good = true;
  s->shapes[0] = '\0';
  for (uint32_t f = 0; f < p.rule.factor_count && good; f++)
    if (index_value(&p, p.rule.factors[f].size) > 1) good = check_factor(&p, (int)f);
  uint64_t state = node * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)p.y.count;
  if (p.operands <= SHARDED_OPERANDS)
    for (uint32_t mask = 1; mask < 1u << p.operands && good; mask++) good = check_sums(&p, mask, &state);
  s->nodes++;
  op_sharding_free(&p.rule);
  return good;
}

bool sharded_check(sharded *s, const ir_ref *roots, size_t n) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, tensors = 0;
  ir_error error = {0};
  if (ir_reachable(s->g, roots, n, &live, &count, &cap) != IR_OK) return false;
  for (size_t i = 0; i < count; i++)
    if (ir_shape(s->g, live[i]) && ir_dtype_of(s->g, live[i]) != IR_INDEX) live[tensors++] = live[i];
  ir_eval_result *values = calloc(tensors + 1, sizeof *values);
  ir_status status =
      ir_eval(s->g, live, tensors, s->inputs, s->input_count, s->vars, s->var_count, values, &error);
  s->out_of_range = status == IR_ERR_RANGE;
  bool good = status == IR_OK || s->out_of_range;
  if (!good) snprintf(s->what, sizeof s->what, "%.1000s", error.text);
  for (size_t i = 0; i < tensors && good && !status; i++)
    good = check_node(s, live[i], live, values, tensors);
  if (!status) ir_eval_free(s->g, values, tensors);
  free(values);
  ir_free(s->g->mem, live, cap * sizeof *live);
  return good;
}
