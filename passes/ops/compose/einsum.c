/* Einstein summation (NumPy's einsum). Operands are contracted from left to right, two at a time. Axes that
 * neither a later operand nor the result has are summed at once: those of one operand by SUM, those of both
 * by MATMUL. The batch axes of the MATMUL are the remaining axes that both have; its rows and columns are the
 * axes that only one has. */
#include "einsum_parse.h"
#include "ir/mesh/sharding.h"

typedef struct work {
  ir_graph *g;
  einsum e;
  ir_ref size[EINSUM_LABELS]; /* 0: no such label */
} work;

/* Finds the size of each label: the operands' size that is not 1, or else 1. False after failing. */
static bool find_sizes(work *w) {
  ir_graph *g = w->g;
  size_t owner[EINSUM_LABELS] = {0};
  for (size_t i = 0; i < w->e.count; i++)
    for (uint32_t k = 0; k < w->e.terms[i].rank; k++) {
      const einsum_term *t = &w->e.terms[i];
      ir_ref size = ir_dim(g, t->x, k), *known = &w->size[t->label[k]];
      if (*known && (op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, *known))) continue;
      if (*known && !op_is_one(g, *known)) {
        char text[4];
        op_refuse(g,
                  "einsum: label %s has size %s in operand %zu, of shape %s, and %s in operand %zu, of shape "
                  "%s; sizes "
                  "of a label must be equal or 1%s",
                  einsum_label(t->label[k], text), OP_EXPR(*known), owner[t->label[k]] + 1,
                  OP_TYPE(w->e.terms[owner[t->label[k]]].x), OP_EXPR(size), i + 1, OP_TYPE(t->x),
                  OP_FACT(IR_OP_EQ, *known, size));
        return false;
      }
      *known = size;
      owner[t->label[k]] = i;
    }
  return true;
}

static int find_label(const einsum_term *t, uint8_t label) {
  for (uint32_t k = 0; k < t->rank; k++)
    if (t->label[k] == label) return (int)k;
  return -1;
}

static void drop_label(einsum_term *t, uint32_t at) {
  for (uint32_t k = at; k + 1 < t->rank; k++) t->label[k] = t->label[k + 1];
  t->rank--;
}

/* The diagonal of the last two axes, both of size n, as one axis. In the flattened axes its elements are n +
 * 1 apart: a stride where n is constant; otherwise the first column of rows of n + 1, after n elements are
 * added at the end. */
static ir_ref diagonal(ir_graph *g, ir_ref x, ir_ref n) {
  ir_ref dims[IR_MAX_RANK], list[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  if (!x || !zero) return 0;
  uint32_t rank = ir_rank(g, x) - 1;
  int64_t size;
  for (uint32_t i = 0; i < rank; i++) dims[i] = ir_dim(g, x, i);
  dims[rank - 1] = op_numel(g, (ir_ref[]){n, n}, 2);
  x = op_reshape(g, x, dims, rank);
  if (ir_is_const(g, n, &size)) {
    for (uint32_t i = 0; i < rank; i++) list[i] = ir_index(g, i + 1 == rank ? size + 1 : 1);
    return op_stride(g, x, list, rank);
  }
  for (uint32_t i = 0; i < rank; i++) list[2 * i] = zero, list[2 * i + 1] = i + 1 == rank ? n : zero;
  x = op_pad(g, x, list, rank, 0, IR_PAD_CONSTANT);
  dims[rank - 1] = n;
  dims[rank] = pass_add_int(g, n, 1);
  return op_point(g, op_reshape(g, x, dims, rank + 1), zero, rank);
}

/* Replaces each label that occurs twice in the term by the diagonal of its axes, whose sizes must be equal.
 * False after failing. */
static bool take_diagonals(work *w, einsum_term *t) {
  ir_graph *g = w->g;
  for (uint32_t k = 0; k < t->rank; k++)
    for (uint32_t j = k + 1; j < t->rank;) {
      if (t->label[j] != t->label[k]) {
        j++;
        continue;
      }
      uint8_t label = t->label[k];
      ir_ref a = ir_dim(g, t->x, k), b = ir_dim(g, t->x, j);
      if (!op_decided(g, IR_OP_EQ, a, b)) {
        char text[4];
        op_refuse(
            g,
            "einsum: label %s has sizes %s and %s in one operand, of shape %s; those of a diagonal must "
            "be equal%s",
            einsum_label(label, text), OP_EXPR(a), OP_EXPR(b), OP_TYPE(t->x), OP_FACT(IR_OP_EQ, a, b));
        return false;
      }
      t->x = diagonal(g, op_move_axis(g, op_move_axis(g, t->x, j, -1), k, -2), a); /* k < j */
      t->x = op_move_axis(g, t->x, -1, k);
      drop_label(t, j);
      if (!t->x) return false;
    }
  return true;
}

/* Is the label in the result, or in a term from `from` on? */
static bool wanted(const work *w, uint8_t label, size_t from) {
  bool is = find_label(&w->e.out, label) >= 0;
  for (size_t i = from; i < w->e.count && !is; i++) is = find_label(&w->e.terms[i], label) >= 0;
  return is;
}

/* Sums over the labels that are not in `other` (NULL: none) and not wanted from term `from` on. */
static void sum_out(work *w, einsum_term *t, const einsum_term *other, size_t from) {
  ir_ref axes[IR_MAX_RANK];
  size_t n = 0;
  einsum_term left = {.rank = 0};
  for (uint32_t k = 0; k < t->rank; k++) {
    bool stays = wanted(w, t->label[k], from) || (other && find_label(other, t->label[k]) >= 0);
    if (stays) left.label[left.rank++] = t->label[k];
    else axes[n++] = ir_index(w->g, k);
  }
  left.x = n ? op_reduce(w->g, IR_OP_SUM, t->x, axes, n, false) : t->x;
  *t = left;
}

/* Permutes the axes to the order of the labels, which are all labels of the term. */
static ir_ref arranged(work *w, const einsum_term *t, const uint8_t *labels, size_t n) {
  ir_ref order[IR_MAX_RANK];
  for (size_t i = 0; i < n; i++) order[i] = ir_index(w->g, find_label(t, labels[i]));
  return op_permute(w->g, t->x, order, n);
}

/* The labels of two terms by their role in a matrix product. */
typedef struct groups {
  uint8_t batch[IR_MAX_RANK], summed[IR_MAX_RANK], own[2][IR_MAX_RANK];
  size_t batches, sums, owns[2];
} groups;

static groups grouped(const work *w, const einsum_term *t, size_t next) {
  groups p = {.batches = 0};
  for (uint32_t k = 0; k < t[0].rank; k++) {
    uint8_t l = t[0].label[k];
    if (find_label(&t[1], l) < 0) p.own[0][p.owns[0]++] = l;
    else if (wanted(w, l, next)) p.batch[p.batches++] = l;
    else p.summed[p.sums++] = l;
  }
  for (uint32_t k = 0; k < t[1].rank; k++)
    if (find_label(&t[0], t[1].label[k]) < 0) p.own[1][p.owns[1]++] = t[1].label[k];
  return p;
}

static ir_ref sizes_of(work *w, const uint8_t *labels, size_t n) {
  ir_ref dims[IR_MAX_RANK];
  for (size_t i = 0; i < n; i++) dims[i] = w->size[labels[i]];
  return op_numel(w->g, dims, n);
}

/* Do the rows stay axes of their own? On a mesh, since merged axes are divided along the outer one alone. */
static bool keeps_rows(const work *w, const groups *p) {
  return ir_graph_mesh(w->g) && p->batches + p->owns[0] + 1 <= IR_MAX_RANK;
}

/* [batch..., rows, summed] of the first, [batch..., summed, columns] of the second. */
static ir_ref matrix(work *w, const einsum_term *t, const groups *p, int side) {
  ir_graph *g = w->g;
  uint8_t order[IR_MAX_RANK];
  ir_ref dims[IR_MAX_RANK + 2];
  size_t n = 0, own = p->owns[side];
  for (size_t i = 0; i < p->batches; i++) order[n++] = p->batch[i];
  for (size_t i = 0; side == 0 && i < own; i++) order[n++] = p->own[side][i];
  for (size_t i = 0; i < p->sums; i++) order[n++] = p->summed[i];
  for (size_t i = 0; side == 1 && i < own; i++) order[n++] = p->own[side][i];
  ir_ref x = arranged(w, t, order, n);
  if (!x) return 0;
  for (size_t i = 0; i < n; i++) dims[i] = i < p->batches ? ir_dim(g, x, (uint32_t)i) : w->size[order[i]];
  x = op_expand(g, x, dims, n); /* a size of 1 that is summed with n */
  if (keeps_rows(w, p) && side == 0) {
    dims[p->batches + own] = sizes_of(w, p->summed, p->sums);
    return op_reshape(g, x, dims, p->batches + own + 1);
  }
  if (keeps_rows(w, p) && p->owns[0] > 1 &&
      p->batches) { /* the same for all rows but the last axis of them */
    size_t at = p->batches;
    for (size_t i = 1; i < p->owns[0]; i++) dims[at++] = ir_index(g, 1);
    dims[at++] = sizes_of(w, p->summed, p->sums);
    dims[at++] = sizes_of(w, p->own[1], own);
    return op_reshape(g, x, dims, at);
  }
  dims[p->batches + (side == 0 ? 0 : 1)] = sizes_of(w, p->own[side], own);
  dims[p->batches + (side == 0 ? 1 : 0)] = sizes_of(w, p->summed, p->sums);
  return op_reshape(g, x, dims, p->batches + 2);
}

/* The elementwise product over the axes of the result and the summed axes, followed by the sum. */
static ir_ref contract_terms(work *w, const einsum_term *t, const einsum_term *made, const groups *p) {
  ir_graph *g = w->g;
  uint8_t all[2 * IR_MAX_RANK];
  ir_ref x[2], axes[IR_MAX_RANK];
  size_t n = 0;
  for (uint32_t k = 0; k < made->rank; k++) all[n++] = made->label[k];
  for (size_t i = 0; i < p->sums; i++, n++) all[n] = p->summed[i], axes[i] = ir_index(g, (int64_t)n);
  if (n > IR_MAX_RANK)
    return op_refuse(
        g, "einsum: operands of shape %s and %s come to a product of rank %zu; a tensor has at most %d axes",
        OP_TYPE(t[0].x), OP_TYPE(t[1].x), n, IR_MAX_RANK);
  for (int side = 0; side < 2; side++) {
    uint8_t own[IR_MAX_RANK];
    ir_ref dims[IR_MAX_RANK];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
      int at = find_label(&t[side], all[i]);
      dims[i] = at < 0 ? ir_index(g, 1) : ir_dim(g, t[side].x, (uint32_t)at);
      if (at >= 0) own[count++] = all[i];
    }
    x[side] = op_reshape(g, arranged(w, &t[side], own, count), dims, n);
  }
  ir_ref y = op_mul(g, x[0], x[1]);
  return p->sums ? op_reduce(g, IR_OP_SUM, y, axes, p->sums, false) : y;
}

/* Contracts two terms to one, t[0]; the terms from `next` on are still to come. */
static void contract(work *w, einsum_term *t, size_t next) {
  ir_graph *g = w->g;
  groups p = grouped(w, t, next);
  if (ir_graph_mesh(g) && p.owns[1] > p.owns[0]) { /* more axes stay their own as rows */
    einsum_term first = t[0];
    t[0] = t[1], t[1] = first;
    p = grouped(w, t, next);
  }
  einsum_term made = {.rank = 0};
  if (p.batches + p.owns[0] + p.owns[1] > IR_MAX_RANK) {
    t->x = op_refuse(
        g, "einsum: operands of shape %s and %s come to a result of rank %zu; a tensor has at most %d axes",
        OP_TYPE(t[0].x), OP_TYPE(t[1].x), p.batches + p.owns[0] + p.owns[1], IR_MAX_RANK);
    return;
  }
  for (size_t i = 0; i < p.batches; i++) made.label[made.rank++] = p.batch[i];
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < p.owns[side]; i++) made.label[made.rank++] = p.own[side][i];
  if (p.sums == 0 || (p.owns[0] == 0 && p.owns[1] == 0)) {
    made.x = contract_terms(w, t, &made, &p);
  } else {
    ir_ref dims[IR_MAX_RANK], y = op_matmul(g, matrix(w, &t[0], &p, 0), matrix(w, &t[1], &p, 1));
    for (uint32_t k = 0; k < made.rank && y; k++)
      dims[k] = k < p.batches ? ir_dim(g, y, k) : w->size[made.label[k]];
    made.x = op_reshape(g, y, dims, made.rank);
  }
  *t = made;
}

ir_ref op_einsum(ir_graph *g, const char *equation, size_t length, const ir_ref *x, size_t n) {
  const char *who = "einsum";
  work w = {.g = g};
  ir_ref own[EINSUM_TERMS];
  if (g->error->status) return 0;
  if (n < 1 || n > EINSUM_TERMS)
    return op_refuse(g, "einsum: %zu operands given; takes 1 to %d", n, EINSUM_TERMS);
  for (size_t i = 0; i < n; i++) own[i] = x[i];
  if (!op_compose_begin(g, who, own, n) || !einsum_parse(g, equation, length, own, n, &w.e) ||
      !find_sizes(&w))
    return 0;
  ir_dtype common = op_common(g, who, own, n);
  if (common == IR_NONE) return 0;
  ir_dtype dtype = op_accumulator(common), within = ir_is_float(dtype) ? op_float_wide(dtype) : dtype;
  for (size_t i = 0; i < n; i++) {
    einsum_term *t = &w.e.terms[i];
    t->x = op_convert(g, who, t->x, within);
    if (!t->x || !take_diagonals(&w, t)) return op_compose_end(g, who, 0);
  }
  einsum_term t[2] = {w.e.terms[0]};
  for (size_t i = 1; i < n && t[0].x; i++) {
    t[1] = w.e.terms[i];
    sum_out(&w, &t[0], &t[1], i + 1);
    sum_out(&w, &t[1], &t[0], i + 1);
    if (!t[0].x || !t[1].x) return op_compose_end(g, who, 0);
    contract(&w, t, i + 1);
  }
  if (!t[0].x) return op_compose_end(g, who, 0);
  sum_out(&w, &t[0], NULL, n);
  if (t[0].x) t[0].x = arranged(&w, &t[0], w.e.out.label, w.e.out.rank);
  return op_compose_end(g, who, op_cast(g, t[0].x, dtype));
}
