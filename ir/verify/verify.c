/* The verifier, written as the specification of what a graph may contain at each level: rules for single
 * nodes, then for whole tensor graphs. Rules for kernels are in kernel.c. */
#include "ir/verify/verify.h"
#include "ir/mesh/sharding.h"
#include "ir/print/print.h"

#include <stdio.h>
#include <string.h>

/* Relations between the dtypes of operands and result, the column VERIFY of ops.def; "one dtype" includes the
 * result. The dtype rules of builders that convert operands leave one of the others. */
typedef enum {
  FREE,
  SAME,         /* one dtype */
  NUMBER,       /* one dtype, not bool */
  FLOAT,        /* one dtype, a float */
  BITS,         /* one dtype, not a float */
  INTEGER,      /* one dtype, an integer */
  COMPARE,      /* operands of one dtype, result bool */
  BRANCHES,     /* condition bool, the others of one dtype */
  WORDS,        /* two u32, and an f32 like the result */
  CONVERT,      /* to a data dtype */
  SAME_SIZE,    /* data dtypes of equal size */
  TRUTH,        /* all bool */
  INDEX_RESULT, /* result i64 */
  INDEXED,      /* result like the first operand; the second is an integer */
  UPDATED,      /* one dtype except the second operand, which is an integer */
  SUMMED,       /* as UPDATED, not bool */
  ROUND = FLOAT,
  FLOAT_ONLY = FLOAT,
  PROMOTED = SAME
} relation;

static const uint8_t relations[IR_OP_COUNT] = {
#define OP(name, text, operands, cls, level, infix, precedence, attributes, verify) verify,
#include "ir/ops.def"
};
static const char *const relation_texts[] = {
    "any operands",
    "operands and result of one dtype",
    "operands and result of one dtype, not bool",
    "operands and result of one float dtype",
    "operands and result of one dtype that is no float",
    "operands and result of one integer dtype",
    "operands of one dtype and a bool result",
    "a bool condition, and branches of the result's dtype",
    "two operands of u32, and a third and a result of f32",
    "a result that can be stored",
    "operand and result of one width",
    "bool operands and result",
    "a result of dtype i64",
    "a result of the first operand's dtype, and an integer second operand",
    "first and third operand and result of one dtype, and an integer second operand",
    "first and third operand and result of one dtype, not bool, and an integer second operand",
};

bool ir_verify_fail(ir_verifier *v, ir_ref node, const char *format, ...) {
  char why[400];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  ir_text line;
  ir_text_init(&line, v->graph->mem);
  ir_print_line(v->graph, v->root, node, &line);
  if (line.failed) /* then the broken rule may be due to missing memory as well */
    ir_fail(v->error, IR_ERR_MEMORY, "out of memory verifying a graph");
  ir_fail(v->error, IR_ERR_INTERNAL, "broken %s: `%.400s`: %s", ir_ops[ir_op_of(v->graph, node)].text,
          ir_text_get(&line), why);
  ir_text_free(&line);
  return false;
}

static bool is_data(ir_dtype t) { return t != IR_NONE && t != IR_INDEX; }

/* the dtypes of operands [from, count) are t */
static bool have_dtype(const ir_graph *g, const ir_node *n, uint32_t from, uint32_t count, ir_dtype t) {
  for (uint32_t i = from; i < count; i++)
    if (ir_dtype_of(g, n->src[i]) != t) return false;
  return true;
}

static bool obeys_relation(const ir_graph *g, const ir_node *n, uint32_t operands) {
  ir_dtype t = (ir_dtype)n->dtype, first = operands ? ir_dtype_of(g, n->src[0]) : t;
  switch ((relation)relations[n->op]) {
  case FREE: return true;
  case SAME: return have_dtype(g, n, 0, operands, t) && is_data(t);
  case NUMBER: return have_dtype(g, n, 0, operands, t) && is_data(t) && t != IR_BOOL;
  case FLOAT: return have_dtype(g, n, 0, operands, t) && ir_is_float(t);
  case BITS: return have_dtype(g, n, 0, operands, t) && is_data(t) && !ir_is_float(t);
  case INTEGER: return have_dtype(g, n, 0, operands, t) && ir_is_data_int(t);
  case COMPARE: return have_dtype(g, n, 0, operands, first) && first != IR_NONE && t == IR_BOOL;
  case BRANCHES:
    return first == IR_BOOL && have_dtype(g, n, 1, operands, t) && t != IR_NONE &&
           (n->op != IR_OP_RARE || t != IR_INDEX);
  case WORDS: return have_dtype(g, n, 0, 2, IR_U32) && have_dtype(g, n, 2, operands, t) && t == IR_F32;
  case CONVERT: return first != IR_NONE && is_data(t);
  case SAME_SIZE: return is_data(t) && is_data(first) && ir_dtypes[t].bytes == ir_dtypes[first].bytes;
  case TRUTH: return first == IR_BOOL && t == IR_BOOL;
  case INDEX_RESULT: return is_data(first) && t == IR_I64;
  case INDEXED: return first == t && is_data(t) && ir_is_data_int(ir_dtype_of(g, n->src[1]));
  case SUMMED:
  case UPDATED:
    return first == t && have_dtype(g, n, 2, operands, t) && is_data(t) &&
           ir_is_data_int(ir_dtype_of(g, n->src[1])) && (relations[n->op] == UPDATED || t != IR_BOOL);
  }
  return false;
}

static bool verify_division(ir_verifier *v, ir_ref ref) {
  const ir_node *n = ir_get(v->graph, ref);
  if (n->op != IR_OP_FLOORDIV && n->op != IR_OP_MOD) return true;
  int64_t lo = ir_bounds_of(v->graph, n->src[1]).lo;
  return lo >= 1 ||
         ir_verify_fail(v, ref, "a divisor must be proven >= 1, but this one may be as low as %lld",
                        (long long)lo);
}

bool ir_verify_elementwise(ir_verifier *v, ir_ref ref) {
  const ir_node *n = ir_get(v->graph, ref);
  int cls = ir_ops[n->op].cls;
  bool elementwise =
      cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY;
  if (elementwise && n->dtype == IR_INDEX)
    return ir_is_expression(v->graph, ref)
               ? verify_division(v, ref)
               : ir_verify_fail(
                     v, ref,
                     "an index expression must be made of + - * // %% min max abs where, on index operands");
  uint32_t operands = ir_operand_count(n);
  if (elementwise && n->nsrc > operands && ir_is_expression(v->graph, ref)) return true; /* a&b&c */
  if (elementwise && n->nsrc != operands && n->op != IR_OP_FOUND &&
      !ir_only_divides((ir_op)n->op)) /* sizes, axes */
    return ir_verify_fail(v, ref, "%s takes %u operands, not %u", ir_ops[n->op].text, operands, n->nsrc);
  if (!obeys_relation(v->graph, n, operands))
    return ir_verify_fail(v, ref, "%s must have %s", ir_ops[n->op].text, relation_texts[relations[n->op]]);
  return true;
}

/* the least and greatest number of sources of a list attribute */
static void list_length(const ir_verifier *v, ir_ref ref, const char *name, const char *kind, uint64_t *least,
                        uint64_t *most) {
  const ir_node *n = ir_get(v->graph, ref);
  uint32_t rank = ir_rank(v->graph, ref), of = ir_operand_count(n) ? ir_rank(v->graph, n->src[0]) : rank;
  if (n->op == IR_OP_VAR) *least = *most = 3;
  else if (n->op == IR_OP_INPUT || n->op == IR_OP_BUFFER) /* batch sizes follow the shape */
    *least = *most = rank + (ir_batch_rank(v->graph, ref) > 0);
  else if (strcmp(name, "axes") == 0) *least = 0, *most = of;
  else if (n->op == IR_OP_UPDATE || n->op == IR_OP_LOCAL) *least = 0, *most = IR_MAX_RANK;
  else *least = *most = strcmp(kind, "[[]]") == 0 ? 2 * (uint64_t)of : rank;
}

bool ir_verify_sources(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  const ir_op_info *info = &ir_ops[n->op];
  if (info->operands >= 0 && n->nsrc < (uint32_t)info->operands)
    return ir_verify_fail(v, ref, "%s takes %d operands, not %u", info->text, info->operands, n->nsrc);
  uint64_t least = ir_operand_count(n), most = least;
  uint32_t at = ir_operand_count(n);
  char name[16], kind[16];
  for (const char *column = info->attributes; ir_next_attribute(&column, name, kind, sizeof name);) {
    uint64_t low = 0, high = 0;
    if (kind[0] == '[') list_length(v, ref, name, kind, &low, &high);
    else if (strcmp(kind, "value") == 0 || strcmp(kind, "expr") == 0 || strcmp(kind, "graph") == 0)
      low = high = 1;
    for (uint64_t i = 0; i < high && at < n->nsrc; i++, at++) {
      const ir_node *source = ir_get(g, n->src[at]);
      if (strcmp(kind, "value") == 0 &&
          (source->op != IR_OP_CONST || source->dtype != n->dtype || source->weak))
        return ir_verify_fail(v, ref, "%s must be a constant of the node's dtype", name);
      if (strcmp(kind, "graph") == 0 && source->op != IR_OP_FUNC)
        return ir_verify_fail(v, ref, "%s must be a function", name);
      if (strcmp(kind, "graph") == 0) continue;
      bool batch = n->src[at] == ir_batch(g, ref) && ir_ops[n->op].cls == IR_CLASS_LEAF;
      if (strcmp(kind, "value") != 0 && source->dtype != IR_INDEX && !batch)
        return ir_verify_fail(v, ref, "%s must hold index expressions", name);
      if (strcmp(name, "axes") == 0 || strcmp(name, "order") == 0) {
        int64_t axis;
        if (!ir_is_const(g, n->src[at], &axis) || axis < 0 || axis >= ir_rank(g, n->src[0]))
          return ir_verify_fail(v, ref, "%s must hold axes of the operand", name);
      }
    }
    least += low;
    most += high;
  }
  bool variadic = info->operands < 0 || (ir_is_expression(g, ref) && n->op != IR_OP_VAR);
  if (!variadic && (n->nsrc < least || n->nsrc > most))
    return ir_verify_fail(v, ref, "%s must have %llu sources with its attributes, not %u", info->text,
                          (unsigned long long)least, n->nsrc);
  return true;
}

/* tensor graphs */

static bool verify_var(ir_verifier *v, ir_ref ref) {
  const ir_node *n = ir_get(v->graph, ref);
  int64_t fact[3];
  for (uint32_t i = 0; i < 3; i++)
    if (!ir_is_const(v->graph, n->src[i], &fact[i]))
      return ir_verify_fail(v, ref, "bounds of a variable must be numbers");
  if (!ir_variable_name_ok(ir_name_text(v->graph, n->arg), ir_name_length(v->graph, n->arg)))
    return ir_verify_fail(v, ref, "a variable's name must be an identifier, and no word of the text form");
  return (fact[0] <= fact[1] && fact[2] >= 1) ||
         ir_verify_fail(v, ref, "bounds must be low <= high and the divisor >= 1");
}

static bool verify_axis(ir_verifier *v, ir_ref ref) {
  const ir_node *n = ir_get(v->graph, ref);
  char name[16], kind[16];
  uint32_t rank = ir_rank(v->graph, ref), of = ir_operand_count(n) ? ir_rank(v->graph, n->src[0]) : rank;
  if (n->op == IR_OP_RESULT) return true; /* a slot, no axis */
  for (const char *column = ir_ops[n->op].attributes; ir_next_attribute(&column, name, kind, sizeof name);)
    if (strcmp(kind, "int") == 0 && strcmp(name, "axis") == 0 &&
        (ir_arg_int(n) < 0 || ir_arg_int(n) >= (rank > of ? rank : of)))
      return ir_verify_fail(v, ref, "%s must be an axis from 0 to %d", name,
                            (int)(rank > of ? rank : of) - 1);
  return true;
}

/* The batch is the one that follows from the operands. */
static bool verify_batch(ir_verifier *v, ir_ref ref) {
  ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  ir_ref batch = 0;
  uint32_t rank = ir_rank(g, ref) + ir_batch_rank(g, ref);
  if (g->batches_cap == 0) return true;
  if (rank > IR_MAX_RANK)
    return ir_verify_fail(v, ref, "the physical rank must be at most %d, not %u", IR_MAX_RANK, rank);
  if (!ir_batch_of(g, (ir_op)n->op, n->arg, n->src, n->nsrc, &batch))
    return ir_verify_fail(v, ref, "the operand has too few axes, or memory is short");
  if (batch != ir_batch(g, ref)) return ir_verify_fail(v, ref, "the batch must be that of the operands");
  for (uint32_t i = 0; i < ir_operand_count(n); i++)
    for (uint32_t k = 0; k < ir_batch_rank(g, n->src[i]) && ir_ops[n->op].cls != IR_CLASS_VIEW; k++) {
      int64_t own, all;
      ir_ref x = n->src[i];
      uint32_t at = ir_batch_rank(g, ref) - ir_batch_rank(g, x) + k;
      if (ir_is_const(g, ir_src(g, ir_batch(g, x), k), &own) && own != 1 &&
          ir_is_const(g, ir_src(g, batch, at), &all) && own != all)
        return ir_verify_fail(v, ref, "batches must align at the end, their sizes equal or 1");
    }
  return true;
}

/* Types alone: the builder checks that the positions are a chain of views that names each element once. */
static bool verify_assign(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  if (ir_arg_mode(n) > IR_WRITE_ADD) return ir_verify_fail(v, ref, "op must be set or add");
  if (ir_dtype_of(g, n->src[1]) != IR_I64) return ir_verify_fail(v, ref, "positions must be i64");
  if (ir_rank(g, n->src[1]) != ir_rank(g, n->src[2]))
    return ir_verify_fail(v, ref, "the updates must have the shape of the positions");
  if (ir_rank(g, ref) != ir_rank(g, n->src[0]))
    return ir_verify_fail(v, ref, "the result must have the shape of the first operand");
  return (ir_arg_mode(n) != IR_WRITE_ADD || n->dtype != IR_BOOL) ||
         ir_verify_fail(v, ref, "truth values do not add up");
}

/* Ranks of indices and updates. Sizes are not compared: equal sizes may be written differently. */
static bool verify_indirect(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  if (ir_ops[n->op].cls != IR_CLASS_INDIRECT) return true;
  if (n->op == IR_OP_ASSIGN) return verify_assign(v, ref);
  uint32_t rank = ir_rank(g, n->src[0]), index_rank = ir_rank(g, n->src[1]),
           batch = (uint32_t)ir_arg_small(n);
  if (ir_arg_int(n) >= rank)
    return ir_verify_fail(v, ref, "axis must be one of the %u of the first operand", rank);
  if (ir_arg_mode(n) > IR_GATHER_FILL) return ir_verify_fail(v, ref, "mode must be check, clip or fill");
  if (batch > index_rank || batch > ir_arg_int(n))
    return ir_verify_fail(v, ref, "the first %u axes of the indices must be axes before axis %d", batch,
                          (int)ir_arg_int(n));
  uint32_t gathered_rank = rank - 1 + index_rank - batch,
           have = ir_rank(g, n->op == IR_OP_GATHER ? ref : n->src[2]);
  if (have != gathered_rank)
    return ir_verify_fail(v, ref, "what is at the indices must have rank %u, not %u", gathered_rank, have);
  return n->op == IR_OP_GATHER || ir_rank(g, ref) == rank ||
         ir_verify_fail(v, ref, "the result must have the shape of the first operand");
}

static bool verify_exchange(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  if (n->op != IR_OP_EXCHANGE) return true;
  if (n->arg < 0 || (size_t)n->arg >= g->name_count) return ir_verify_fail(v, ref, "it must have a kind");
  return ir_rank(g, n->src[0]) == ir_rank(g, ref) ||
         ir_verify_fail(v, ref, "the result must have the rank of the operand, %u", ir_rank(g, n->src[0]));
}

/* Operands of an elementwise node have its shape, or are constants of rank 0. Only sizes that are numbers are
 * compared, because equal expressions may be written differently. */
static bool verify_shapes(ir_verifier *v, ir_ref ref) {
  const ir_graph *g = v->graph;
  const ir_node *n = ir_get(g, ref);
  ir_ref shape = ir_shape(g, ref);
  uint32_t rank = ir_rank(g, ref);
  int cls = ir_ops[n->op].cls;
  if (!shape) return ir_verify_fail(v, ref, "a tensor must have a shape");
  if (rank > IR_MAX_RANK)
    return ir_verify_fail(v, ref, "the rank must be at most %d, not %u", IR_MAX_RANK, rank);
  for (uint32_t i = 0; i < rank; i++)
    if (ir_dtype_of(g, ir_src(g, shape, i)) != IR_INDEX)
      return ir_verify_fail(v, ref, "sizes must be index expressions");
  if (!verify_batch(v, ref)) return false;
  for (uint32_t i = 0; i < ir_operand_count(n); i++) {
    ir_ref source = n->src[i], of = ir_shape(g, source);
    if (!of && !(n->op == IR_OP_CAST && ir_dtype_of(g, source) == IR_INDEX))
      return ir_verify_fail(v, ref, "operand %u must be a tensor", i + 1);
    bool elementwise =
        cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY;
    if (!elementwise || !of || of == shape || (ir_op_of(g, source) == IR_OP_CONST && ir_rank(g, source) == 0))
      continue;
    bool fits = ir_rank(g, source) == rank;
    for (uint32_t k = 0; fits && k < rank; k++) {
      int64_t a, b;
      fits = !ir_is_const(g, ir_dim(g, source, k), &a) || !ir_is_const(g, ir_dim(g, ref, k), &b) || a == b;
    }
    if (!fits)
      return ir_verify_fail(
          v, ref, "operand %u must have the shape of the result, or be a constant of rank 0", i + 1);
  }
  return true;
}

/* Marks the nodes that are used as tensors: results, and operands of tensors. All others are index
 * arithmetic. */
static void mark_tensors(const ir_graph *g, ir_ref root, const ir_ref *nodes, size_t count, uint8_t *tensor) {
  bool list = ir_op_of(g, root) == IR_OP_TUPLE || ir_op_of(g, root) == IR_OP_FUNC;
  tensor[root] = !list;
  for (uint32_t s = 0; list && s < ir_get(g, root)->nsrc; s++)
    tensor[ir_src(g, root, s)] = ir_dtype_of(g, ir_src(g, root, s)) != IR_INDEX;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, nodes[i]);
    for (uint32_t s = 0; tensor[nodes[i]] && s < ir_operand_count(n); s++)
      if (ir_dtype_of(g, n->src[s]) != IR_INDEX) tensor[n->src[s]] = 1;
    if (ir_batch(g, nodes[i]) && ir_ops[n->op].cls == IR_CLASS_LEAF) tensor[ir_batch(g, nodes[i])] = 1;
  }
}

/* Is it a TUPLE of sizes, as after the operands of a CUSTOM? */
static bool is_sizes(const ir_graph *g, const ir_node *tuple) {
  uint32_t i = 0;
  while (i < tuple->nsrc && ir_dtype_of(g, tuple->src[i]) == IR_INDEX) i++;
  return i == tuple->nsrc;
}

static bool verify_tensor(ir_verifier *v, ir_ref ref, bool tensor) {
  const ir_node *n = ir_get(v->graph, ref);
  if (n->op == IR_OP_FUNC) return true; /* verify_functions verifies it */
  if (n->op == IR_OP_TUPLE)
    return ref == v->root || tensor || is_sizes(v->graph, n) ||
           ir_verify_fail(v, ref, "a tuple must be the list of results");
  if (n->op == IR_OP_CUSTOM) return ir_verify_custom(v, ref);
  if (!ir_verify_sources(v, ref)) return false;
  if (n->op == IR_OP_VAR) return verify_var(v, ref);
  if (!tensor) {
    bool constant = n->op == IR_OP_CONST; /* a padding value or a number */
    if (constant) return true;
    return ir_is_expression(v->graph, ref)
               ? verify_division(v, ref)
               : ir_verify_fail(v, ref, "an attribute must be an index expression");
  }
  if (ir_ops[n->op].cls == IR_CLASS_CONTROL) return ir_verify_control(v, ref);
  if (n->dtype == IR_NONE || n->dtype == IR_INDEX)
    return ir_verify_fail(v, ref, "a tensor must have a data dtype");
  if (n->op == IR_OP_RESULT && !verify_batch(v, ref)) return false;
  if (n->op == IR_OP_RESULT)
    return ir_op_of(v->graph, n->src[0]) == IR_OP_CUSTOM ? ir_verify_custom(v, ref)
                                                         : ir_verify_control(v, ref);
  if (!verify_shapes(v, ref) || !verify_axis(v, ref) || !verify_indirect(v, ref) || !verify_exchange(v, ref))
    return false;
  return ir_verify_elementwise(v, ref);
}

/* Two leaves with one name would be ambiguous in the text. */
static bool verify_names(ir_verifier *v, const ir_ref *nodes, size_t count) {
  const ir_graph *g = v->graph;
  size_t names = g->name_count, named = 0;
  for (size_t i = 0; i < count; i++)
    named += ir_op_of(g, nodes[i]) == IR_OP_INPUT || ir_op_of(g, nodes[i]) == IR_OP_VAR;
  if (named == 0) return true;
  ir_ref *owner = ir_alloc(g->mem, 2 * (names + 1) * sizeof *owner);
  if (!owner) return ir_fail(v->error, IR_ERR_MEMORY, "out of memory verifying a graph") == IR_OK;
  memset(owner, 0, 2 * (names + 1) * sizeof *owner);
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++) {
    const ir_node *n = ir_get(g, nodes[i]);
    if (n->op != IR_OP_INPUT && n->op != IR_OP_VAR) continue;
    if (n->arg < 0 || (size_t)n->arg >= names) {
      ok = ir_verify_fail(v, nodes[i], "it must have a name");
      break;
    }
    ir_ref *first = &owner[2 * n->arg + (n->op == IR_OP_VAR)];
    if (*first) ok = ir_verify_fail(v, nodes[i], "another one has the same name");
    *first = nodes[i];
  }
  ir_free(g->mem, owner, 2 * (names + 1) * sizeof *owner);
  return ok;
}

static bool verify_nodes(ir_verifier *v, int level, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(v->graph, nodes[i]);
    if (n->op == IR_OP_ERROR || !(ir_ops[n->op].level & level))
      return ir_verify_fail(v, nodes[i], "%s may not appear %s", ir_ops[n->op].text,
                            level == IR_LEVEL_TENSOR ? "in a tensor graph" : "in a kernel");
  }
  if (!verify_names(v, nodes, count)) return false;
  if (level == IR_LEVEL_LOOP) return ir_verify_kernel(v, nodes, count);
  size_t limit = (size_t)v->root + 1;
  uint8_t *tensor = ir_alloc(v->graph->mem, limit);
  if (!tensor) return ir_fail(v->error, IR_ERR_MEMORY, "out of memory verifying a graph") == IR_OK;
  memset(tensor, 0, limit);
  mark_tensors(v->graph, v->root, nodes, count, tensor);
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++) ok = verify_tensor(v, nodes[i], tensor[nodes[i]]);
  ir_free(v->graph->mem, tensor, limit);
  return ok;
}

/* Verifies one graph or function, given by its root. */
static ir_status verify_root(ir_verifier *v, int level) {
  const ir_graph *g = v->graph;
  bool is_function = ir_op_of(g, v->root) == IR_OP_FUNC;
  uint32_t roots = is_function ? ir_get(g, v->root)->nsrc : 1;
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  ir_status status =
      ir_reachable(g, is_function ? ir_get(g, v->root)->src : &v->root, roots, &nodes, &count, &cap);
  if (status != IR_OK) ir_fail(v->error, status, "out of memory verifying a graph");
  else if (!verify_nodes(v, level, nodes, count) ||
           (is_function && !ir_verify_function(v, v->root, nodes, count)))
    status = v->error->status;
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return status;
}

static ir_status verify_functions(ir_verifier *v) {
  const ir_graph *g = v->graph;
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  ir_status status = ir_reachable_inside(g, &v->root, 1, &nodes, &count, &cap);
  if (status != IR_OK) ir_fail(v->error, status, "out of memory verifying a graph");
  for (size_t i = 0; i < count && status == IR_OK; i++) {
    if (ir_op_of(g, nodes[i]) != IR_OP_FUNC) continue;
    v->root = nodes[i];
    status = verify_root(v, IR_LEVEL_TENSOR);
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return status;
}

ir_status ir_verify(ir_graph *g, ir_ref root, int level, ir_error *error) {
  ir_verifier v = {g, root, error};
  if (root == 0 || root >= g->count) return ir_fail(error, IR_ERR_INTERNAL, "broken graph: there is no root");
  if (level == IR_LEVEL_TENSOR && ir_dtype_of(g, root) == IR_NONE && ir_op_of(g, root) != IR_OP_TUPLE) {
    ir_verify_fail(&v, root, "a tensor graph must end in its results");
    return error->status;
  }
  ir_status status = verify_root(&v, level);
  return status == IR_OK && level == IR_LEVEL_TENSOR ? verify_functions(&v) : status;
}
