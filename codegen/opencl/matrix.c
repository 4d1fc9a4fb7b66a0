/* Sums of products by matrix instructions: recognises and emits, in work-item style, a loop that adds up
 * products of f16 or bf16 elements of two locals,
 *
 *   for term in 0..16*n with sum = ... { next fma(cast a[rows + term], cast b[columns + term], sum) }
 *
 * An instruction adds 16 terms to the sums of 16 rows and 8 columns, for 32 work-items that run in step,
 * numbered g*4 + t. Each of these has four of the sums: two rows, one for each of two unrolled values, by two
 * columns likewise. Its rows depend on g alone, its columns on t alone. It passes the instruction the terms
 * 2t, 2t + 1, 2t + 8 and 2t + 9 of each of its two rows, and the same terms of column g, which is unrolled
 * value g mod 2 of the work-items whose t is g div 2. Where eight rows or columns are contiguous in the
 * local, and terms are not, another instruction distributes them in the same way (VF_MATRIX_LOAD_TRANSPOSED).
 * Which rows and columns of the whole product these are makes no difference. Whether the work-items have such
 * rows and columns is read off the indices; any other loop is emitted as usual. */
#include "codegen/opencl/opencl.h"

enum {
  BLOCK = 8, /* rows, or columns, of the blocks that ldmatrix transposes */
  /* instructions one after the other in a K block, two of MATRIX_TERMS: a loop of more is none */
  MAX_CHUNKS = 4,
  MAX_UNROLL = 64,    /* values of a side, 4 rows or 32 columns: with more, the loop is emitted as usual */
  MAX_LANE_TERMS = 16 /* terms of an index [1 in the tests]: with more, the loop is emitted as usual */
};

typedef struct side {
  ir_ref load, index;
  int64_t pair_loop;   /* the unrolled loop, two values of which make a fragment */
  int64_t pair_stride; /* elements from one of these values to the next */
  int64_t pitch;       /* elements from one term to the next; 1: terms are contiguous */
} side;

typedef struct matrix {
  const cg_loop *loop;
  side side[2];          /* rows, columns */
  int64_t chunks;        /* of 16 terms */
  int64_t column_stride; /* elements from a work-item's column to the next one's */
  uint32_t vector;
} matrix;

/* what the indices say */

/* Finds the terms of an index that depend on the vector lane, at most MAX_LANE_TERMS. False where one of
 * them also depends on another loop, or there are more. */
static bool lane_terms(const tx_emitter *e, ir_ref index, uint32_t vector, ir_ref *lane_terms_found,
                       uint32_t *count) {
  ir_ref todo[MAX_LANE_TERMS] = {index};
  uint32_t left = 1;
  *count = 0;
  while (left) {
    ir_ref ref = todo[--left];
    const ir_node *n = ir_get(e->g, ref);
    const uint64_t *lanes = cg_lanes(e->nest, ref);
    if (!cg_set_has(lanes, vector)) continue;
    if (n->op == IR_OP_ADD && left + 2 <= MAX_LANE_TERMS) {
      todo[left++] = n->src[0], todo[left++] = n->src[1];
      continue;
    }
    int64_t first = cg_set_next(e->nest, lanes, -1);
    if (first != vector || cg_set_next(e->nest, lanes, first) >= 0 ||
        cg_set_next(e->nest, cg_deps(e->nest, ref), -1) >= 0 || *count == MAX_LANE_TERMS)
      return false;
    lane_terms_found[(*count)++] = ref;
  }
  return true;
}

static bool evaluated(const ir_node *n, const int64_t *value, int64_t *out) {
  int64_t a = n->nsrc > 0 ? value[n->src[0]] : 0, b = n->nsrc > 1 ? value[n->src[1]] : 0;
  if (n->nsrc > 2) return false;
  switch ((int)n->op) {
  case IR_OP_CONST: return *out = n->arg, true;
  case IR_OP_ADD: return !__builtin_add_overflow(a, b, out);
  case IR_OP_MUL: return !__builtin_mul_overflow(a, b, out);
  case IR_OP_FLOORDIV: return b > 0 ? *out = a / b - (a % b < 0), true : false;
  case IR_OP_MOD: return b > 0 ? *out = a % b + (a % b < 0 ? b : 0), true : false;
  default: return false;
  }
}

/* What the lane terms of an index add up to, for each lane; false where that is not known. */
static bool lane_offsets(tx_emitter *e, ir_ref index, uint32_t vector, int64_t *offsets) {
  ir_ref lane_terms_found[MAX_LANE_TERMS], range = e->nest->loops[vector].range, *live = NULL;
  size_t count = 0, cap = 0, bytes = ((size_t)index + 1) * sizeof(int64_t);
  uint32_t term_count;
  if (!lane_terms(e, index, vector, lane_terms_found, &term_count) || !term_count) return false;
  int64_t *value = ir_alloc(e->nest->mem, bytes);
  bool known = value && ir_reachable(e->g, lane_terms_found, term_count, &live, &count, &cap) == IR_OK;
  if (!known) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (uint32_t lane = 0; lane < oc_of(e)->group && known; lane++) {
    for (size_t i = 0; i < count && known; i++) {
      if (live[i] == range) value[range] = lane;
      else if (ir_op_of(e->g, live[i]) == IR_OP_RANGE) known = false;
      else known = evaluated(ir_get(e->g, live[i]), value, &value[live[i]]);
    }
    offsets[lane] = 0;
    for (uint32_t i = 0; i < term_count && known; i++) offsets[lane] += value[lane_terms_found[i]];
  }
  ir_free(e->nest->mem, live, cap * sizeof *live);
  ir_free(e->nest->mem, value, bytes);
  return known;
}

static bool are_rows(const tx_emitter *e, const int64_t *offsets) {
  for (uint32_t lane = 0; lane < oc_of(e)->group; lane++)
    if (offsets[lane] != offsets[lane / IR_MATRIX_COLUMN_ITEMS * IR_MATRIX_COLUMN_ITEMS]) return false;
  return true;
}

static bool are_columns(const tx_emitter *e, const int64_t *offsets) {
  for (uint32_t lane = 0; lane < oc_of(e)->group; lane++)
    if (offsets[lane] != offsets[1] * (lane % IR_MATRIX_COLUMN_ITEMS)) return false;
  return true;
}

/* Where terms are not contiguous, eight rows or columns must be, beginning at a multiple of eight: the lane
 * terms, with the two values of a pair of columns, must say so, and all other terms of the index must be
 * multiples of eight. */
static bool are_blocks(const tx_emitter *e, const matrix *m, int i, const int64_t *offsets) {
  const side *s = &m->side[i];
  const cg_loop *pair = &e->nest->loops[s->pair_loop];
  ir_ref todo[MAX_LANE_TERMS] = {s->index};
  uint32_t left = 1;
  if (i && (m->column_stride != 2 || s->pair_stride != 1 || pair->extent != 2)) return false;
  for (uint32_t lane = 0; lane < oc_of(e)->group; lane++) {
    int64_t start = offsets[lane / IR_MATRIX_ITEMS * IR_MATRIX_ITEMS];
    if (start % BLOCK != 0) return false;
    if (i == 0 && offsets[lane] - start != lane % IR_MATRIX_ITEMS / IR_MATRIX_COLUMN_ITEMS) return false;
  }
  while (left) {
    ir_ref ref = todo[--left];
    const ir_node *n = ir_get(e->g, ref);
    if (n->op == IR_OP_ADD && left + 2 <= MAX_LANE_TERMS) {
      todo[left++] = n->src[0], todo[left++] = n->src[1];
      continue;
    }
    bool is_lane_term = cg_set_has(cg_lanes(e->nest, ref), m->vector) || (i && ref == pair->range);
    if (!is_lane_term && !cg_is_multiple(e->g, ref, 0, BLOCK)) return false;
  }
  return true;
}

/* Finds the pair of a side: of its unrolled loops with an even number of values at equal distances, the one
 * with the smallest distance. False where the other side depends on any unrolled loop of this one. */
static bool find_pair(const tx_emitter *e, side *s, const side *other) {
  const uint64_t *lanes = cg_lanes(e->nest, s->index);
  s->pair_loop = -1;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &e->nest->loops[l];
    if (loop->binding != IR_UNROLL) continue;
    if (cg_set_has(cg_lanes(e->nest, other->index), (uint32_t)l)) return false;
    int64_t pair_stride;
    if (loop->extent % 2 != 0 || !cg_stride(e->nest, s->index, (uint32_t)l, &pair_stride)) continue;
    if (s->pair_loop < 0 || pair_stride < s->pair_stride) s->pair_loop = l, s->pair_stride = pair_stride;
  }
  return s->pair_loop >= 0 && cg_unroll_count(&e->order, lanes) <= MAX_UNROLL;
}

/* the form of the loop */

static bool find_side(tx_emitter *e, ir_ref factor, uint32_t number, side *s) {
  int64_t stride;
  if (ir_op_of(e->g, factor) != IR_OP_CAST) return false;
  const ir_node *n = ir_get(e->g, s->load = ir_src(e->g, factor, 0));
  if (n->op != IR_OP_LOAD || cg_local_of(e->g, s->load) < 0 || oc_is_private(e, n->src[0]) ||
      !ir_is_true(e->g, n->src[2]))
    return false;
  s->index = n->src[1];
  if (!cg_stride(e->nest, s->index, number, &stride)) return false;
  s->pitch = stride;
  return stride == 1 ? cg_is_multiple(e->g, s->index, e->nest->loops[number].range, 2)
                     : stride > 1 && stride % BLOCK == 0;
}

/* Each lane loop of the sums must be an unrolled loop of one of the sides, or the loop of the work-items,
 * which must be there. */
static bool find_lanes(const tx_emitter *e, matrix *m) {
  const uint64_t *lanes = cg_carry_lanes(&e->order, m->loop, 0);
  bool found = false;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &e->nest->loops[l];
    if (loop->binding == IR_VECTOR && loop->extent == (int64_t)oc_of(e)->group)
      found = true, m->vector = (uint32_t)l;
    else if (loop->binding != IR_UNROLL || (!cg_set_has(cg_lanes(e->nest, m->side[0].index), (uint32_t)l) &&
                                            !cg_set_has(cg_lanes(e->nest, m->side[1].index), (uint32_t)l)))
      return false;
  }
  return found;
}

static bool find_form(tx_emitter *e, const cg_loop *loop, matrix *m) {
  const ir_target *t = e->target;
  int64_t terms = 0;
  *m = (matrix){.loop = loop};
  if (!oc_are_items(e) || t->matrix != IR_MATRIX_TERMS || t->together != IR_MATRIX_ITEMS ||
      oc_of(e)->group % IR_MATRIX_ITEMS != 0 || loop->binding != IR_SERIAL || loop->carries != 1 ||
      loop->effect || !loop->carry[0] || !ir_is_const(e->g, ir_src(e->g, loop->range, 0), &terms) ||
      terms % IR_MATRIX_TERMS != 0)
    return false;
  m->chunks = terms / IR_MATRIX_TERMS;
  const ir_node *next = ir_get(e->g, ir_src(e->g, loop->node, 2));
  if (m->chunks < 1 || m->chunks > MAX_CHUNKS || next->op != IR_OP_FMA || next->dtype != IR_F32 ||
      next->src[2] != loop->carry[0])
    return false;
  for (int i = 0; i < 2; i++)
    if (!find_side(e, next->src[i], (uint32_t)(loop - e->nest->loops), &m->side[i])) return false;
  ir_dtype a = ir_dtype_of(e->g, m->side[0].load), b = ir_dtype_of(e->g, m->side[1].load);
  return a == b && (a == IR_F16 || a == IR_BF16);
}

static bool find_matrix(tx_emitter *e, const cg_loop *loop, matrix *m) {
  if (!find_form(e, loop, m) || !find_lanes(e, m)) return false;
  size_t bytes = 2 * oc_of(e)->group * sizeof(int64_t);
  int64_t *offsets[2] = {ir_alloc(e->nest->mem, bytes)};
  if (!offsets[0]) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  if (!offsets[0]) return false;
  offsets[1] = offsets[0] + oc_of(e)->group;
  bool fits = true;
  for (int i = 0; i < 2 && fits; i++) fits = lane_offsets(e, m->side[i].index, m->vector, offsets[i]);
  if (fits && are_rows(e, offsets[1])) { /* the second factor is that of the rows */
    int64_t *column_offsets = offsets[0];
    side first = m->side[0];
    offsets[0] = offsets[1], offsets[1] = column_offsets;
    m->side[0] = m->side[1], m->side[1] = first;
  }
  fits = fits && are_rows(e, offsets[0]) && are_columns(e, offsets[1]);
  if (fits) m->column_stride = offsets[1][1];
  for (int i = 0; i < 2 && fits; i++)
    fits =
        find_pair(e, &m->side[i], &m->side[!i]) && (m->side[i].pitch == 1 || are_blocks(e, m, i, offsets[i]));
  ir_free(e->nest->mem, offsets[0] < offsets[1] ? offsets[0] : offsets[1], bytes);
  return fits;
}

/* what is written */

/* By chunk and unrolled value of a side: its address, and the names of its two registers, for low terms and
 * for high ones. */
typedef struct fragments {
  const char *at[MAX_CHUNKS][MAX_UNROLL];
  const char *name[MAX_CHUNKS][MAX_UNROLL][2];
} fragments;

static size_t unroll_index(const tx_emitter *e, const side *s) {
  return cg_unroll_index(&e->order, cg_lanes(e->nest, s->index));
}

/* The addresses of the unrolled values' elements, at the first term of each chunk. */
static void find_places(tx_emitter *e, const matrix *m, fragments f[2]) {
  const ir_ref loads[] = {m->side[0].load, m->side[1].load};
  for (int64_t chunk = 0; chunk < m->chunks && !e->order.failed; chunk++) {
    size_t scope = oc_enter_iteration(e, m->loop, tx_literal(e, TX_I32, chunk * IR_MATRIX_TERMS), loads, 2);
    for (int i = 0; i < 2 && !e->order.failed; i++) {
      const uint64_t *lanes = cg_lanes(e->nest, m->side[i].index);
      cg_first_lane(&e->order, lanes);
      do
        f[i].at[chunk][unroll_index(e, &m->side[i])] =
            oc_address(e, ir_src(e->g, loads[i], 0), m->side[i].index);
      while (cg_next_lane(&e->order, lanes) && !e->order.failed);
    }
    tx_leave_iteration(e, m->loop, scope);
  }
}

static bool is_first_of_pair(const tx_emitter *e, const side *s) {
  return e->order.lane[s->pair_loop] % 2 == 0;
}

/* Declares the offset from the address of an unrolled value to what the work-item reads of its fragment: for
 * columns, from that of the pair's first value; for contiguous rows, one offset for both values of a pair. */
static const char *fragment_offset(tx_emitter *e, const matrix *m, int i) {
  const side *s = &m->side[i];
  const char *name = tx_text(e, "v%u", e->last_number++);
  long long pitch = s->pitch, apart = s->pair_stride, step = m->column_stride;
  if (pitch > 1 && i) tx_line(e, "int %s = VF_MATRIX_OFFSET_2(%lld) - 2*(lane & 3)", name, pitch);
  else if (pitch > 1)
    tx_line(e, "int %s = VF_MATRIX_OFFSET_4(%lld, %lld) - (lane >> 2 & 7)", name, pitch, apart);
  else if (i)
    tx_line(e, "int %s = 2*(lane & 3) + %lld*((lane >> 3 & 3) - (lane & 3)) + %lld*(lane >> 2 & 1)", name,
            step, apart);
  else tx_line(e, "int %s = 2*(lane & 3)", name);
  return name;
}

/* The next unrolled value of the pair, after that at the current lanes. */
static size_t next_unroll_index(tx_emitter *e, const side *s) {
  e->order.lane[s->pair_loop]++;
  size_t other = unroll_index(e, s);
  e->order.lane[s->pair_loop]--;
  return other;
}

/* Reads the two registers of the unrolled value at the current lanes, or, of contiguous rows, those of both
 * values of a pair. */
static void read_registers(tx_emitter *e, const matrix *m, int i, fragments *f, const char *offset) {
  const side *s = &m->side[i];
  bool transposed = s->pitch > 1, both = transposed && !i;
  if (both && !is_first_of_pair(e, s)) return;
  size_t unrolled[] = {unroll_index(e, s), both ? next_unroll_index(e, s) : 0};
  for (int64_t chunk = 0; chunk < m->chunks; chunk++) {
    const char *at = tx_text(e, "%s + %s", f->at[chunk][unrolled[0]], offset), *names = "";
    for (int high = 0; high < 2; high++)
      for (int k = 0; k < 1 + both; k++) {
        const char *name = f->name[chunk][unrolled[k]][high] = tx_text(e, "v%u", e->last_number++);
        names = tx_text(e, "%s%s%s", names, *names ? ", " : "", name);
      }
    tx_line(e, "uint %s", names);
    if (both)
      tx_line(e, "VF_MATRIX_LOAD_TRANSPOSED_4(%s, %s, %lld, %lld)", names, at, (long long)s->pitch,
              (long long)s->pair_stride);
    else if (transposed)
      tx_line(e, "VF_MATRIX_LOAD_TRANSPOSED_2(%s, %s, %lld)", names, at, (long long)s->pitch);
    else tx_line(e, "VF_MATRIX_LOAD(%s, %s)", names, at);
  }
}

static const char *sum_at(const tx_emitter *e, const matrix *m, tx_value **sums, int64_t row,
                          int64_t column) {
  const uint64_t *lanes = cg_carry_lanes(&e->order, m->loop, 0);
  e->order.lane[m->side[0].pair_loop] += row, e->order.lane[m->side[1].pair_loop] += column;
  const char *text = sums[cg_unroll_index(&e->order, lanes)]->text;
  e->order.lane[m->side[0].pair_loop] -= row, e->order.lane[m->side[1].pair_loop] -= column;
  return text;
}

/* The instructions for the fragments at the current lanes. */
static void add_products(tx_emitter *e, const matrix *m, const fragments f[2], tx_value **sums) {
  bool half = ir_dtype_of(e->g, m->side[0].load) == IR_F16;
  size_t column = unroll_index(e, &m->side[1]), row = unroll_index(e, &m->side[0]),
         other = next_unroll_index(e, &m->side[0]);
  for (int64_t c = 0; c < m->chunks && !e->order.failed; c++)
    tx_line(e, "VF_MATRIX(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", half ? "f16" : "bf16",
            sum_at(e, m, sums, 0, 0), sum_at(e, m, sums, 0, 1), sum_at(e, m, sums, 1, 0),
            sum_at(e, m, sums, 1, 1), f[0].name[c][row][0], f[0].name[c][other][0], f[0].name[c][row][1],
            f[0].name[c][other][1], f[1].name[c][column][0], f[1].name[c][column][1]);
}

static void emit_matrix(tx_emitter *e, const matrix *m, tx_value **sums) {
  size_t bytes = 2 * sizeof(fragments);
  fragments *f = ir_alloc(e->nest->mem, bytes);
  if (!f) {
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
    return;
  }
  oc_of(e)->has_matrix = true;
  find_places(e, m, f);
  const uint64_t *rows = cg_lanes(e->nest, m->side[0].index), *columns = cg_lanes(e->nest, m->side[1].index);
  const char *row = fragment_offset(e, m, 0), *column = fragment_offset(e, m, 1);
  cg_first_lane(&e->order, rows);
  do read_registers(e, m, 0, &f[0], row);
  while (cg_next_lane(&e->order, rows) && !e->order.failed);
  cg_first_lane(&e->order, columns);
  do {
    if (!is_first_of_pair(e, &m->side[1])) continue;
    read_registers(e, m, 1, &f[1], column);
    cg_first_lane(&e->order, rows);
    do
      if (is_first_of_pair(e, &m->side[0])) add_products(e, m, f, sums);
    while (cg_next_lane(&e->order, rows) && !e->order.failed);
  } while (cg_next_lane(&e->order, columns) && !e->order.failed);
  ir_free(e->nest->mem, f, bytes);
}

bool oc_emit_matrix(tx_emitter *e, const cg_loop *loop, void **sums) {
  matrix m;
  if (!find_matrix(e, loop, &m)) return false;
  emit_matrix(e, &m, (tx_value **)sums);
  return true;
}
