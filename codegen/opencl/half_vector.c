/* Copies of f16 and bf16 elements by eights or pairs, in work-item style for targets with matrix
 * instructions: a K block goes from an input to a local 128 or 32 bits at a time, in the order in which it
 * lies in memory, and results go to an output likewise. */
#include "codegen/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

/* Contiguous unrolled values along a loop. */
typedef struct vector_access {
  uint32_t loop, count; /* values to a vector, from a multiple of `count` on; 0: none */
} vector_access;

static vector_access vector_access_of(const tx_emitter *e, ir_ref access, ir_op space) {
  static const uint32_t counts[] = {8, 2}; /* elements of a vector of 16 bytes, and of one word */
  const ir_node *n = ir_get(e->g, access);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  const uint64_t *lanes = cg_lanes(e->nest, access);
  if (!oc_are_items(e) || !e->target->matrix || (dtype != IR_F16 && dtype != IR_BF16) ||
      ir_op_of(e->g, n->src[0]) != space)
    return (vector_access){0};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
      const cg_loop *loop = &e->nest->loops[l];
      int64_t stride;
      if (loop->binding == IR_UNROLL && loop->extent % counts[i] == 0 &&
          cg_stride(e->nest, n->src[1], (uint32_t)l, &stride) && stride == 1 &&
          cg_is_multiple(e->g, n->src[1], loop->range, counts[i]))
        return (vector_access){(uint32_t)l, counts[i]};
    }
  return (vector_access){0};
}

static vector_access loaded_vector(const tx_emitter *e, ir_ref load) {
  return ir_is_true(e->g, ir_src(e->g, load, 2)) ? vector_access_of(e, load, IR_OP_PARAM)
                                                 : (vector_access){0};
}

uint32_t oc_count_vector_loads(const tx_emitter *e, ir_ref load) {
  vector_access r = loaded_vector(e, load);
  return r.count ? (uint32_t)cg_unroll_count(&e->order, cg_lanes(e->nest, load)) / r.count : 0;
}

uint32_t oc_declare_vectors(tx_emitter *e, ir_ref load) {
  uint32_t first = e->last_number, count = oc_count_vector_loads(e, load);
  const char *type = tx_type(e, TX_U32, loaded_vector(e, load).count / 2);
  for (uint32_t i = 0; i < count; i++) tx_line(e, "%s v%u", type, e->last_number++);
  return first;
}

static void read_all(tx_emitter *e, ir_ref load, vector_access r, uint32_t first, const char *how) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  cg_first_lane(&e->order, lanes);
  do
    if (e->order.lane[r.loop] % r.count == 0)
      tx_line(e, "v%u = %s_%u(%s)", first++, how, r.count, oc_address(e, n->src[0], n->src[1]));
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

/* A buffer may begin at an address that is not aligned for vectors. Then no vector of it is aligned, and its
 * elements are loaded one by one. */
void oc_read_vectors(tx_emitter *e, ir_ref load, uint32_t first) {
  vector_access r = loaded_vector(e, load);
  tx_open(e, "if (VF_ALIGNED_%u(%s))", r.count, tx_at(e, ir_src(e->g, load, 0)).text);
  read_all(e, load, r, first, "VF_LOAD_ALIGNED");
  tx_close(e);
  tx_open(e, "else");
  read_all(e, load, r, first, "VF_LOAD_UNALIGNED");
  tx_close(e);
}

void oc_extract_vectors(tx_emitter *e, ir_ref load, uint32_t first, void **unrolled) {
  vector_access r = loaded_vector(e, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  cg_first_lane(&e->order, lanes);
  do {
    if (e->order.lane[r.loop] % r.count != 0) continue;
    for (uint32_t k = 0; k < r.count && !e->order.failed; k++, e->order.lane[r.loop]++) {
      tx_value *value = unrolled[cg_unroll_index(&e->order, lanes)] = tx_values(e, 1);
      if (!value) return;
      tx_value stored = tx_make(e, TX_U16, 1, TX_ATOM, "as_ushort%u(v%u).s%u", r.count, first, k);
      *value = tx_from_storage(e, ir_dtype_of(e->g, load), stored);
    }
    e->order.lane[r.loop] -= r.count;
    first++;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

bool oc_emit_vector_loads(tx_emitter *e, ir_ref load, void **unrolled) {
  if (!oc_count_vector_loads(e, load)) return false;
  uint32_t first = oc_declare_vectors(e, load);
  oc_read_vectors(e, load, first);
  oc_extract_vectors(e, load, first, unrolled);
  return true;
}

/* The value of any node in storage form. Where it is a load's vf_from_bf16_ushort(x), that is x. */
static const char *storage_text(tx_emitter *e, ir_ref ref, ir_dtype dtype) {
  tx_value v = tx_at(e, ref);
  const char *from = dtype == IR_F16 ? "vf_from_f16_ushort(" : "vf_from_bf16_ushort(";
  size_t length = strlen(v.text), before = strlen(from);
  if (ir_op_of(e->g, ref) == IR_OP_LOAD && ir_dtype_of(e->g, ref) == dtype && !strncmp(v.text, from, before))
    return tx_text(e, "%.*s", (int)(length - before - 1), v.text + before);
  return tx_to_storage(e, dtype, v).text;
}

/* The number of the variable of `count` elements whose element k is `text`; -1 if `text` is no such
 * element. */
static int64_t variable_of(const char *text, uint32_t count, uint32_t k) {
  unsigned of, number, element;
  int end = 0;
  int read = sscanf(text, "as_ushort%u(v%u).s%u%n", &of, &number, &element, &end);
  return read == 3 && of == count && element == k && !text[end] ? (int64_t)number : -1;
}

/* The vector that is stored from the current lanes on: a variable that read_all assigned, where the elements
 * are all of it in order; otherwise the elements one by one. */
static const char *stored_vector(tx_emitter *e, ir_ref value, vector_access r, ir_dtype dtype) {
  const char *all = "";
  int64_t whole = -1;
  for (uint32_t k = 0; k < r.count && !e->order.failed; k++, e->order.lane[r.loop]++) {
    const char *one = storage_text(e, value, dtype);
    int64_t variable = variable_of(one, r.count, k);
    whole = k && variable != whole ? -1 : variable;
    all = tx_text(e, "%s%s%s", all, k ? ", " : "", one);
  }
  e->order.lane[r.loop] -= r.count;
  if (whole >= 0) return tx_text(e, "v%lld", (long long)whole);
  return tx_text(e, "as_%s((ushort%u)(%s))", tx_type(e, TX_U32, r.count / 2), r.count, all);
}

/* Each work-item stores its own vectors. A local begins at a multiple of 16 bytes; an output may not, which
 * VF_STORE_GLOBAL tests when the kernel runs. */
bool oc_store_vectors(tx_emitter *e, ir_ref store) {
  const ir_node *n = ir_get(e->g, store);
  const uint64_t *lanes = cg_lanes(e->nest, store);
  ir_op space = ir_op_of(e->g, n->src[0]);
  vector_access r = vector_access_of(e, store, space);
  if (!r.count || oc_is_private(e, n->src[0]) || oc_is_ahead(e, store) ||
      e->nest->width[store] != oc_of(e)->group || e->nest->width[n->src[1]] != oc_of(e)->group)
    return false;
  const char *how = space == IR_OP_LOCAL ? "VF_STORE_LOCAL" : "VF_STORE_GLOBAL";
  cg_first_lane(&e->order, lanes);
  do {
    if (e->order.lane[r.loop] % r.count != 0) continue;
    const char *to = oc_address(e, n->src[0], n->src[1]);
    tx_line(e, "%s_%u(%s, %s)", how, r.count, to,
            stored_vector(e, n->src[2], r, ir_dtype_of(e->g, n->src[0])));
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}
