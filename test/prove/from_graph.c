#include "test/prove/from_graph.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct visit {
  ir_ref ref;
  int term;
} visit;

typedef struct walk {
  ir_graph *g;
  obligation *o;
  visit *done; /* open addressing by ref; ref 0 is free */
  size_t size, used;
  ir_ref *stack;
  size_t depth, cap;
  bool demands; /* from now on divisors must be shown to be at least 1 */
} walk;

static visit *find(walk *w, ir_ref ref) {
  size_t at = ref * 2654435761u & (w->size - 1);
  while (w->done[at].ref && w->done[at].ref != ref) at = (at + 1) & (w->size - 1);
  return &w->done[at];
}

static void finalize_node(walk *w, ir_ref ref, int term) {
  if (2 * ++w->used > w->size) {
    visit *old = w->done;
    size_t n = w->size;
    w->done = calloc(w->size = 2 * n, sizeof *w->done);
    if (!w->done) exit(2);
    for (size_t i = 0; i < n; i++)
      if (old[i].ref) *find(w, old[i].ref) = old[i];
    free(old);
  }
  *find(w, ref) = (visit){ref, term};
}

static void push(walk *w, ir_ref ref) {
  if (w->depth == w->cap)
    w->stack = realloc(w->stack, (w->cap = w->cap ? 2 * w->cap : 64) * sizeof *w->stack);
  if (!w->stack) exit(2);
  w->stack[w->depth++] = ref;
}

static term_op op_of(ir_op op, ir_dtype of, ir_dtype type) {
  static const uint8_t ops[IR_OP_COUNT] = {
      [IR_OP_ADD] = TERM_ADD, [IR_OP_SUB] = TERM_SUB, [IR_OP_MUL] = TERM_MUL,    [IR_OP_FLOORDIV] = TERM_DIV,
      [IR_OP_MOD] = TERM_MOD, [IR_OP_MIN] = TERM_MIN, [IR_OP_MAX] = TERM_MAX,    [IR_OP_LT] = TERM_LT,
      [IR_OP_LE] = TERM_LE,   [IR_OP_GT] = TERM_GT,   [IR_OP_GE] = TERM_GE,      [IR_OP_EQ] = TERM_EQ,
      [IR_OP_NE] = TERM_NE,   [IR_OP_NEG] = TERM_SUB, [IR_OP_AND] = TERM_AND,    [IR_OP_OR] = TERM_OR,
      [IR_OP_NOT] = TERM_NOT, [IR_OP_XOR] = TERM_NE,  [IR_OP_WHERE] = TERM_WHERE};
  term_op t = (term_op)ops[op];
  if (t == TERM_WHERE) return t;
  if (ir_ops[op].cls == IR_CLASS_COMPARE)
    return of == IR_INDEX || (of == IR_BOOL && (op == IR_OP_EQ || op == IR_OP_NE)) ? t : TERM_NUMBER;
  bool truth = t == TERM_AND || t == TERM_OR || t == TERM_NOT || op == IR_OP_XOR;
  return type == (truth ? IR_BOOL : IR_INDEX) ? t : TERM_NUMBER;
}

/* The operation of a node, TERM_NUMBER where it is a leaf. */
static term_op operation(const ir_graph *g, const ir_node *n) {
  return op_of((ir_op)n->op, n->nsrc ? ir_dtype_of(g, n->src[0]) : IR_NONE, (ir_dtype)n->dtype);
}

static int apply(walk *w, ir_op op, term_op t, const ir_ref *src, uint32_t nsrc) {
  obligation *o = w->o;
  int arg[3] = {-1, -1, -1};
  for (uint32_t i = 0; i < nsrc && i < 3; i++) arg[i] = find(w, src[i])->term;
  if (op == IR_OP_NEG) return obligation_term(o, t, obligation_number(o, 0), arg[0], -1);
  if (t == TERM_NOT || t == TERM_WHERE) return obligation_term(o, t, arg[0], arg[1], arg[2]);
  if (t == TERM_DIV || t == TERM_MOD) {
    const term *d = &o->terms[arg[1]];
    bool known =
        d->op == TERM_NUMBER ? d->value >= 1 : d->op == TERM_VARIABLE && o->variables[d->value].lo >= 1;
    int some = known ? 0 : obligation_term(o, TERM_GE, arg[1], obligation_number(o, 1), -1);
    if (!known && w->demands) obligation_demand(o, some);
    if (!known && !w->demands) obligation_fact(o, some, CONJUNCT_NONE);
  }
  int sum = arg[0];
  for (uint32_t i = 1; i < nsrc; i++) sum = obligation_term(o, t, sum, find(w, src[i])->term, -1);
  return sum;
}

static int leaf(walk *w, ir_ref ref, const ir_node *n) {
  obligation *o = w->o;
  if (n->op == IR_OP_CONST && n->dtype == IR_INDEX) return obligation_number(o, n->arg);
  if (n->op == IR_OP_CONST && n->dtype == IR_BOOL) return obligation_truth(o, n->arg != 0);
  bool counts = n->dtype == IR_INDEX;
  ir_bounds b = counts ? ir_bounds_of(w->g, ref) : (ir_bounds){INT64_MIN, INT64_MAX, 1, 0};
  variable v = {.truth = n->dtype == IR_BOOL, .lo = b.lo, .hi = b.hi};
  snprintf(v.name, sizeof v.name, "v%d", o->variable_count);
  int x = obligation_variable(o, &v);
  if (b.div > 1) {
    int rest = obligation_term(o, TERM_MOD, x, obligation_number(o, b.div), -1);
    obligation_fact(o, obligation_term(o, TERM_EQ, rest, obligation_number(o, b.rem), -1), CONJUNCT_NONE);
  }
  return x;
}

/* The size that bounds a leaf from above; 0: a number bounds it, or nothing. */
static ir_ref extent(const ir_graph *g, const ir_node *n) {
  ir_ref size = n->op == IR_OP_RANGE                           ? n->src[0]
                : n->op == IR_OP_BOUND && n->dtype == IR_INDEX ? n->src[1]
                                                               : 0;
  return size && ir_op_of(g, size) != IR_OP_CONST ? size : 0;
}

static int visit_node(walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  term_op t = operation(w->g, n);
  if (t != TERM_NUMBER) return apply(w, (ir_op)n->op, t, n->src, n->nsrc);
  int x = leaf(w, ref, n);
  ir_ref size = extent(w->g, n);
  if (size) obligation_fact(w->o, obligation_term(w->o, TERM_LT, x, find(w, size)->term, -1), CONJUNCT_NONE);
  return x;
}

/* The term of an expression: operands first, without recursion. */
static int term_of(walk *w, ir_ref root) {
  push(w, root);
  while (w->depth) {
    ir_ref ref = w->stack[w->depth - 1];
    const ir_node *n = ir_get(w->g, ref);
    size_t before = w->depth;
    ir_ref size = extent(w->g, n);
    if (find(w, ref)->ref) {
      w->depth--;
      continue;
    }
    for (uint32_t i = n->nsrc; i-- > 0 && operation(w->g, n) != TERM_NUMBER;)
      if (!find(w, n->src[i])->ref) push(w, n->src[i]);
    if (size && !find(w, size)->ref) push(w, size);
    if (w->depth > before) continue;
    finalize_node(w, ref, visit_node(w, ref));
    w->depth--;
  }
  return find(w, root)->term;
}

static void begin(walk *w, ir_graph *g, const char *name, obligation *o) {
  *w = (walk){.g = g, .o = o, .size = 64};
  obligation_init(o, name);
  w->done = calloc(w->size, sizeof *w->done);
  if (!w->done) exit(2);
}

static void end(walk *w, ir_ref given, ir_ref after) {
  if (given) obligation_fact(w->o, term_of(w, given), CONJUNCT_NONE);
  w->demands = true;
  w->o->right = term_of(w, after);
  free(w->done);
  free(w->stack);
}

void obligation_of_rewrite(ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                           uint32_t nsrc, ir_ref result, obligation *o) {
  walk w;
  begin(&w, g, rule, o);
  for (uint32_t i = 0; i < nsrc; i++) term_of(&w, src[i]);
  term_op t = op_of(op, ir_dtype_of(g, src[0]), ir_dtype_of(g, result));
  o->left = apply(&w, op, t, src, nsrc);
  end(&w, given, result);
}

void obligation_of_equality(ir_graph *g, const char *name, ir_ref given, ir_ref before, ir_ref after,
                            obligation *o) {
  walk w;
  begin(&w, g, name, o);
  o->left = term_of(&w, before);
  end(&w, given, after);
}
