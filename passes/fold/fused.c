/* Folding the values of a fused row group: one effect for each, in order, for one iteration.
 *
 * The first range counts the iterations. Its mixed-radix digits are the indices of the shared loops; the
 * digit of the innermost loop, times `rows`, is the first row of the iteration. Each value has further
 * ranges, over its rows in this iteration and over its axes that no shared loop walks. So an element of an
 * earlier value that it reads was computed in the same iteration, at a row, counted from the first one, and
 * an index of each remaining axis: these are the axes of the local. */
#include "fused.h"

#include "ir/target.h"
#include "passes/index/index.h"

/* Of at least so many iterations, the last may overlap the one before so that all have as many rows: that
 * repeats less than one iteration, a quarter of the rows at most. */
enum { MIN_OVERLAPPED_ITERATIONS = 4 };

static bool is_innermost(const fold_row_group *s, uint32_t loop) { return loop + 1 == s->row_group->loops; }

/* The shared loop that walks the axis; UINT32_MAX: none. */
static uint32_t loop_of(const fold_row_group *s, const ir_fused_value *v, uint32_t axis) {
  for (uint32_t l = 0; l < s->row_group->loops; l++)
    if (v->axes[l] == axis) return l;
  return UINT32_MAX;
}

static int64_t most_elements(ir_graph *g, ir_ref size) {
  int64_t hi = ir_bounds_of(g, size).hi;
  return hi > 1 ? hi : 1;
}

static bool divides(ir_graph *g, ir_ref size, int64_t rows) {
  int64_t left_over;
  return ir_is_const(g, pass_mod_int(g, size, rows), &left_over) && left_over == 0;
}

bool pass_row_group_is_even(ir_graph *g, ir_ref size, int64_t rows) {
  int64_t all;
  return divides(g, size, rows) || (ir_is_const(g, size, &all) && all >= MIN_OVERLAPPED_ITERATIONS * rows);
}

/* Of the value: elements of a row. length: the one axis of variable size that no shared loop walks, or else
 * 0. */
static int64_t row_elements(folder *f, const fold_row_group *s, const ir_fused_value *v, ir_ref *length) {
  int64_t elements = 1;
  for (uint32_t a = 0; a < ir_rank(f->g, v->value); a++) {
    ir_ref dim = ir_dim(f->g, v->value, a);
    if (loop_of(s, v, a) != UINT32_MAX) continue;
    if (ir_is_const(f->g, dim, NULL)) elements *= most_elements(f->g, dim);
    else *length = dim;
  }
  return elements;
}

/* Rows of an iteration. Where rows are of variable size: as many iterations as there are times
 * row_group->elements in all rows, and rows for each. With x = all / elements those are 1 or at least x / 2,
 * so that an iteration has less than a row more than twice as many elements. */
static ir_ref rows_of_each(folder *f, const fold_row_group *s, ir_ref size) {
  ir_graph *g = f->g;
  ir_ref length = 0, rows = ir_index(g, s->row_group->rows);
  int64_t most = 1;
  if (!s->row_group->elements) return rows;
  for (uint32_t i = 0; i < s->row_group->count; i++) {
    ir_ref own = 0;
    int64_t elements = row_elements(f, s, &s->row_group->values[i], &own);
    if (own && elements >= most) most = elements, length = own;
  }
  if (!length) return rows;
  ir_ref all = pass_mul_int(g, pass_mul(g, size, length), most), one = ir_index(g, 1);
  ir_ref count = pass_max(g, pass_div_int(g, all, s->row_group->elements), one);
  return pass_max(g, pass_min(g, pass_ceil_div(g, size, count), rows), one);
}

/* Sets the range over iterations, its digits and the rows of an iteration. */
static bool start_iterations(folder *f, fold_row_group *s) {
  ir_graph *g = f->g;
  const ir_fused_value *v = &s->row_group->values[0];
  uint32_t inner = s->row_group->loops - 1;
  ir_ref size = ir_dim(g, v->value, v->axes[inner]);
  s->each = rows_of_each(f, s, size);
  ir_ref count[IR_MAX_RANK], total = ir_index(g, 1);
  for (uint32_t l = 0; l < s->row_group->loops; l++) {
    ir_ref extent = ir_dim(g, v->value, v->axes[l]);
    count[l] = is_innermost(s, l) ? pass_ceil_div(g, extent, s->each) : extent;
    if (l && ir_bounds_of(g, count[l]).lo < 1)
      count[l] = pass_max(g, count[l], ir_index(g, 1)); /* it is >= 1 */
    total = pass_mul(g, total, count[l]);
  }
  s->iteration = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(f->next_range++, 0), &total, 1);
  ir_ref left = s->iteration;
  for (uint32_t l = s->row_group->loops; l-- > 0;) {
    s->start[l] = l ? pass_mod(g, left, count[l]) : left;
    if (l) left = pass_div(g, left, count[l]);
  }
  s->start[inner] = pass_mul(g, s->start[inner], s->each);
  bool even = ir_is_const(g, s->each, NULL) && pass_row_group_is_even(g, size, s->row_group->rows);
  if (even && !divides(g, size, s->row_group->rows))
    s->start[inner] = pass_min(g, s->start[inner], pass_sub(g, size, s->each));
  s->rows = even ? s->each : pass_min(g, pass_sub(g, size, s->start[inner]), s->each);
  return s->iteration && s->rows;
}

static bool is_keys(const ir_fused_value *v, uint32_t axis) { return ir_has_key_block(v) && v->keys == axis; }

/* Elements from a row of the value's local to the next, of rows of so many elements each. Rows that are a
 * multiple of a page apart would share one set of the L1 cache: they are a line further apart. */
static int64_t row_pitch(const folder *f, const fold_row_group *s, const ir_fused_value *v,
                         int64_t elements) {
  int64_t bytes = ir_dtypes[ir_dtype_of(f->g, v->value)].bytes;
  bool shares = s->row_group->rows > 1 && !v->transposed && elements * bytes % IR_PAGE_BYTES == 0;
  return shares ? elements + IR_CACHE_LINE_BYTES / bytes : elements;
}

int64_t fold_local_size(folder *f, const fold_row_group *s, const ir_fused_value *v) {
  int64_t size = s->row_group->rows;
  ir_ref length = 0;
  if (s->row_group->elements && row_elements(f, s, v, &length) && length)
    return 2 * s->row_group->elements + row_elements(f, s, v, &length) * most_elements(f->g, length);
  int64_t inside = 1;
  bool row = false;
  for (uint32_t a = 0; a < ir_rank(f->g, v->value); a++) {
    row |= loop_of(s, v, a) != UINT32_MAX && is_innermost(s, loop_of(s, v, a));
    if (loop_of(s, v, a) != UINT32_MAX) continue;
    int64_t elements = is_keys(v, a) ? s->row_group->block : most_elements(f->g, ir_dim(f->g, v->value, a));
    *(row ? &inside : &size) *= elements;
  }
  return size * row_pitch(f, s, v, inside);
}

ir_ref fold_local_of(folder *f, const fold_row_group *s, uint32_t number) {
  ir_graph *g = f->g;
  const ir_fused_value *v = &s->row_group->values[number];
  ir_ref src[] = {ir_index(g, fold_local_size(f, s, v)), s->iteration, s->block};
  return ir_make(g, IR_OP_LOCAL, ir_dtype_of(g, v->value), ir_pack_arg(number, 0), src,
                 ir_has_key_block(v) ? 3 : 2);
}

ir_ref fold_local_index(folder *f, const fold_row_group *s, const ir_fused_value *v, const pass_point *p) {
  ir_graph *g = f->g;
  ir_ref flat = ir_index(g, 0), stride = ir_index(g, v->transposed ? s->row_group->rows : 1);
  for (uint32_t a = p->rank; a-- > 0;) {
    uint32_t loop = loop_of(s, v, a);
    if (loop != UINT32_MAX && !is_innermost(s, loop)) continue;
    bool row = loop != UINT32_MAX, keys = is_keys(v, a), contiguous = row && v->transposed;
    ir_ref at = row || keys ? pass_sub(g, p->at[a], row ? s->start[loop] : s->first) : p->at[a];
    int64_t elements;
    if (row && !contiguous && ir_is_const(g, stride, &elements))
      stride = ir_index(g, row_pitch(f, s, v, elements));
    flat = pass_add(g, contiguous ? at : pass_mul(g, at, stride), flat);
    if (contiguous) continue;
    ir_ref dim = ir_dim(g, v->value, a);
    if (row || keys) stride = pass_mul_int(g, stride, row ? s->row_group->rows : s->row_group->block);
    else
      stride =
          s->row_group->elements ? pass_mul(g, stride, dim) : pass_mul_int(g, stride, most_elements(g, dim));
  }
  return flat;
}

/* Is the point proven to be one that this iteration, and block, computes? */
static bool is_in_iteration(folder *f, const fold_row_group *s, const ir_fused_value *v,
                            const pass_point *p) {
  if (ir_has_key_block(v)) {
    ir_bounds b = ir_bounds_of(f->g, pass_sub(f->g, p->at[v->keys], s->first));
    if (b.lo < 0 || b.hi >= s->row_group->block) return false;
  }
  for (uint32_t l = 0; l < s->row_group->loops; l++) {
    ir_ref from = pass_sub(f->g, p->at[v->axes[l]], s->start[l]);
    ir_bounds b = ir_bounds_of(f->g, from);
    if (b.lo < 0 || b.hi >= (is_innermost(s, l) ? s->row_group->rows : 1)) return false;
  }
  return true;
}

ir_ref fold_local(folder *f, ir_ref node, ir_ref valid, const pass_point *p) {
  const fold_row_group *s = f->row_group;
  ir_graph *g = f->g;
  uint32_t i = 0;
  ir_dtype t = ir_dtype_of(g, node);
  ir_ref zero = ir_is_float(t) ? ir_float(g, t, 0) : ir_int(g, t, 0);
  if (node == s->zero) return zero;
  while (i < s->row_group->count && s->row_group->values[i].value != node) i++;
  if (i == s->row_group->count || !(s->done >> i & 1) || !s->row_group->values[i].local) return 0;
  const ir_fused_value *v = &s->row_group->values[i];
  pass_point at = *p;
  for (uint32_t a = 0; a < at.rank && s->whole_count; a++)
    if (!(at.at[a] = pass_substitute(g, p->at[a], s->whole, s->index, s->whole_count))) return 0;
  bool here = is_in_iteration(f, s, v, &at);
  if (!here && v->copied) return 0; /* then it is read from memory */
  if (!here) {
    f->slots->refused = f->failed = true;
    return 0;
  }
  ir_ref index = fold_local_index(f, s, v, &at);
  valid = pass_finalize_clauses(g, valid);
  index = index && valid ? pass_simplify_given(g, index, valid) : 0;
  return index ? ir_make(g, IR_OP_LOAD, t, 0, (ir_ref[]){fold_local_of(f, s, i), index, valid, zero}, 4) : 0;
}

pass_point fold_value_point(folder *f, const fold_row_group *s, const ir_fused_value *v) {
  ir_graph *g = f->g;
  pass_point p = {.rank = ir_rank(g, v->value)};
  for (uint32_t a = 0; a < p.rank; a++) {
    uint32_t loop = loop_of(s, v, a);
    if (is_keys(v, a)) p.at[a] = pass_add(g, s->first, fold_range(f, s->keys));
    else if (loop == UINT32_MAX) p.at[a] = fold_range(f, ir_dim(g, v->value, a));
    else if (is_innermost(s, loop)) p.at[a] = pass_add(g, s->start[loop], fold_range(f, s->rows));
    else p.at[a] = s->start[loop];
  }
  return p;
}

/* The value at its point in this iteration. Where the number of iterations is a variable, little is proven of
 * the index of a row, a block's first one and more: that it is within its axis, for one. So it is folded at
 * ranges of whole axes, which the indices of this iteration then replace. */
static ir_ref value_at(folder *f, fold_row_group *s, const ir_fused_value *v, const pass_point *p) {
  ir_graph *g = f->g;
  pass_point whole = *p;
  s->whole_count = 0;
  for (uint32_t l = 0; l < s->row_group->loops && !ir_is_const(g, ir_src(g, s->iteration, 0), NULL); l++) {
    uint32_t a = v->axes[l];
    ir_ref range = fold_range(f, ir_dim(g, v->value, a));
    if (!range || ir_op_of(g, range) != IR_OP_RANGE) continue;
    s->whole[s->whole_count] = whole.at[a] = range, s->index[s->whole_count++] = p->at[a];
  }
  ir_ref value = fold_at(f, v->value, &whole);
  if (value && s->whole_count) value = pass_substitute(g, value, s->whole, s->index, s->whole_count);
  s->whole_count = 0;
  return value;
}

bool fold_effect(folder *f, fold_row_group *s, ir_ref buffer, ir_ref index, ir_ref value) {
  if (!buffer || !index || !value) return false;
  ir_ref made = ir_make(f->g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){buffer, index, value}, 3);
  s->effects[s->effect_count++] = made;
  return made != 0;
}

bool fold_stored(folder *f, fold_row_group *s, uint32_t i) {
  const ir_fused_value *v = &s->row_group->values[i];
  fold_discard_answers(f); /* answers so far compute the value, later ones load it */
  if (v->local) s->done |= (uint64_t)1 << i;
  if (v->slot == UINT32_MAX) return true;
  pass_point p = fold_value_point(f, s, v);
  ir_ref index = pass_flatten(f->g, &pass_canonical, ir_shape(f->g, v->value), &p);
  return fold_effect(f, s, fold_param(f, v->value, v->slot), index, value_at(f, s, v, &p));
}

bool fold_value(folder *f, fold_row_group *s, uint32_t i) {
  const ir_fused_value *v = &s->row_group->values[i];
  f->output = v->copied ? 0 : v->value;
  fold_discard_answers(f);
  if (v->local) {
    pass_point p = fold_value_point(f, s, v);
    ir_ref value = value_at(f, s, v, &p);
    if (!fold_effect(f, s, fold_local_of(f, s, i), fold_local_index(f, s, v, &p), value)) return false;
  }
  return fold_stored(f, s, i);
}

ir_ref pass_fold_row_group(ir_graph *g, const ir_row_group *row_group, pass_slots *slots) {
  uint32_t room = row_group->block ? fold_blocks_most(row_group) : 2 * row_group->count;
  fold_row_group s = {.row_group = row_group, .effects = ir_alloc(g->mem, room * sizeof *s.effects)};
  folder f = {.g = g, .slots = slots, .row_group = &s};
  ir_ref root = 0;
  slots->param_count = 0;
  slots->refused = false;
  bool good = s.effects && start_iterations(&f, &s);
  if (!s.effects) ir_fail(g->error, IR_ERR_MEMORY, "out of memory folding a fused row group");
  for (uint32_t i = 0; i < row_group->count && good; i++) /* written parameters come first */
    if (row_group->values[i].slot != UINT32_MAX)
      fold_param(&f, row_group->values[i].value, row_group->values[i].slot);
  if (row_group->block) good = good && fold_blocks(&f, &s);
  else
    for (uint32_t i = 0; i < row_group->count && good; i++) good = fold_value(&f, &s, i);
  if (good) root = ir_make(g, IR_OP_SEQ, IR_NONE, 0, s.effects, s.effect_count);
  ir_free(g->mem, s.effects, room * sizeof *s.effects);
  folder_free(&f);
  return root ? pass_drop_params(g, root, slots) : 0;
}

uint32_t pass_row_group_ranges(ir_graph *g, ir_ref effect, ir_ref ranges[PASS_ROW_GROUP_RANGES]) {
  uint32_t count = 0;
  for (uint32_t i = 0; ir_op_of(g, effect) == IR_OP_SEQ && i < ir_get(g, effect)->nsrc; i++) {
    const ir_node *store = ir_get(g, ir_src(g, effect, i));
    if (store->op != IR_OP_STORE || ir_op_of(g, store->src[0]) != IR_OP_LOCAL) continue;
    const ir_node *local = ir_get(g, store->src[0]);
    for (uint32_t k = 1; k < local->nsrc && k <= PASS_ROW_GROUP_RANGES; k++)
      if (k > count && ir_op_of(g, local->src[k]) == IR_OP_RANGE) ranges[count++] = local->src[k];
  }
  return count;
}

ir_ref pass_row_group_range(ir_graph *g, ir_ref effect) {
  ir_ref ranges[PASS_ROW_GROUP_RANGES];
  return pass_row_group_ranges(g, effect, ranges) ? ranges[0] : 0;
}
