/* Loads, stores, updates and run-time bounds.
 *
 * In vector style an access with stride 1 along the lanes is one vector access, with stride -1 likewise and
 * reversed; with stride 0 it is a scalar access; any other goes element by element. In work-item style each
 * work-item has an index of its own. Where an access is not valid it touches no memory. */
#include "codegen/opencl/opencl.h"

/* Where the elements of an access are, at the current lanes and subvector. */
typedef struct place {
  ir_dtype dtype;
  unsigned kind; /* in memory */
  uint32_t width;
  bool affine;
  int64_t stride;
  const char *memory, *space;
  tx_value base;      /* affine: index of the first lane; else what all lanes have in common */
  tx_value lane_term; /* unless affine: what each lane adds */
} place;

/* Work-item style: the index of the work-item's element, in long arithmetic unless all of it fits in 32
 * bits. */
static tx_value lane_index(tx_emitter *e, ir_ref index, const cg_access *how) {
  enum { MAX_STRIDE = INT32_MAX / CG_MAX_LANES }; /* elements: times any lane it fits in 32 bits */
  tx_value base = how->base ? tx_at(e, how->base) : tx_literal(e, TX_I32, 0), lane_term;
  bool fits = cg_fits_32_bits(e->g, index);
  if (e->nest->width[index] == 1) return base;
  if (how->affine) {
    const uint64_t *lanes = cg_lanes(e->nest, index);
    int64_t l = cg_set_next(e->nest, lanes, -1);
    while (e->nest->loops[l].binding != IR_VECTOR) l = cg_set_next(e->nest, lanes, l);
    tx_value lane = tx_at(e, e->nest->loops[l].range);
    fits = fits && how->stride <= MAX_STRIDE && how->stride >= -MAX_STRIDE;
    if (!fits) lane = tx_index_as(e, lane, TX_I64);
    lane_term = how->stride == 1
                    ? lane
                    : tx_make(e, lane.kind, 1, TX_PRODUCT, "%s*%s", tx_parenthesised(e, lane, TX_PRODUCT),
                              tx_index_literal(e, how->stride).text);
  } else {
    lane_term = tx_at(e, how->lane_term);
    if (!fits) lane_term = tx_index_as(e, lane_term, TX_I64);
  }
  return tx_sum(e, base, lane_term);
}

static place place_of(tx_emitter *e, ir_ref param, ir_ref index, uint32_t lanes) {
  cg_access how = cg_access_of(e->nest, index);
  ir_dtype dtype = ir_dtype_of(e->g, param);
  place a = {.dtype = dtype,
             .kind = tx_storage_of(e, dtype),
             .width = tx_width(e, lanes),
             .affine = how.affine,
             .stride = how.stride,
             .memory = tx_at(e, param).text,
             .space = ir_op_of(e->g, param) == IR_OP_PARAM ? "global" : "local"};
  if (oc_are_items(e)) {
    a.affine = true;
    a.stride = 0;
    a.base = oc_is_private(e, param) ? oc_private_index(e, index) : lane_index(e, index, &how);
    return a;
  }
  a.base = how.base ? tx_at(e, how.base) : tx_literal(e, TX_I32, 0);
  if (!how.affine) a.lane_term = tx_at(e, how.lane_term);
  else if (e->subvector) a.base = tx_sum(e, a.base, tx_index_literal(e, a.stride * tx_first_lane(e, lanes)));
  return a;
}

/* The index of element `lane` of the subvector. */
static tx_value index_at(tx_emitter *e, const place *a, uint32_t lane) {
  return a->affine ? tx_sum(e, a->base, tx_index_literal(e, a->stride * lane))
                   : tx_sum(e, a->base, tx_element(e, a->lane_term, lane));
}

static tx_value element_at(tx_emitter *e, const place *a, uint32_t lane) {
  tx_value index = index_at(e, a, lane);
  return tx_make(e, a->kind, 1, TX_ATOM, "%s[%s]", a->memory, index.text);
}

/* `p1 + i`: the address of the first lane's element. */
static const char *address(tx_emitter *e, const place *a) {
  if (a->base.literal && !a->base.number) return a->memory;
  return tx_text(e, "%s + %s", a->memory, tx_parenthesised(e, a->base, TX_PRODUCT));
}

/* The lowest address of a vector access. */
static const char *low_address(tx_emitter *e, const place *a) {
  place low = *a;
  if (a->stride == -1) low.base = tx_sum(e, a->base, tx_index_literal(e, -(int64_t)(a->width - 1)));
  return address(e, &low);
}

static tx_value order_in_memory(tx_emitter *e, const place *a, tx_value v) {
  static const char *const reversed[] = {
      [2] = "s10", [4] = "s3210", [8] = "s76543210", [16] = "sfedcba9876543210"};
  if (a->stride != -1) return v;
  return tx_make(e, v.kind, v.width, TX_ATOM, "%s.%s", tx_parenthesised(e, v, TX_ATOM), reversed[v.width]);
}

static bool is_whole(const place *a) { return a->affine && (a->stride == 1 || a->stride == -1); }

static tx_value read_whole(tx_emitter *e, const place *a) {
  return order_in_memory(e, a,
                         tx_make(e, a->kind, a->width, TX_ATOM, "VF_LOAD(%s, %s, %u, %s)", a->space,
                                 tx_type(e, a->kind, 1), a->width, low_address(e, a)));
}

/* Declares a variable whose elements later statements assign. */
static tx_value blank(tx_emitter *e, unsigned kind, uint32_t width, const char *init) {
  const char *name = tx_text(e, "v%u", e->last_number++);
  tx_line(e, "%s %s%s%s", tx_type(e, kind, width), name, *init ? " = " : "", init);
  return tx_make(e, kind, width, TX_ATOM, "%s", name);
}

/* Assigns to each of `elements` what is stored at its index, where `valid` holds (NULL: everywhere). */
static void read_elements(tx_emitter *e, const place *a, tx_value elements, const tx_value *valid) {
  const char *at = a->affine ? tx_literal(e, TX_I64, a->stride).text : a->lane_term.text;
  tx_line(e, "VF_EACH_%u(VF_%s%s, %s, %s, %s, %s)", a->width, a->affine ? "LOAD_STRIDED" : "GATHER",
          valid ? "_IF" : "", elements.text, address(e, a), at, valid ? valid->text : "true");
}

static tx_value loaded(tx_emitter *e, const place *a, tx_value stored) {
  return tx_from_storage(e, a->dtype, stored);
}

/* One element: `valid ? p1[i] : other`. */
static tx_value load_scalar(tx_emitter *e, const place *a, const tx_value *valid, tx_value other) {
  tx_value v = loaded(e, a, element_at(e, a, 0));
  if (!valid) return v;
  if (valid->width == 1 && other.width == 1) return tx_select(e, *valid, v, other);
  tx_value some = blank(e, v.kind, 1, "0");
  tx_line(e, "if (%s) %s = %s", tx_any(e, *valid).text, some.text, v.text);
  return tx_select(e, *valid, some, other);
}

static tx_value load_vector(tx_emitter *e, const place *a, const tx_value *valid, tx_value other) {
  if (!valid && is_whole(a)) return loaded(e, a, read_whole(e, a));
  tx_value elements = blank(e, a->kind, a->width, valid ? "0" : "");
  if (!valid) {
    read_elements(e, a, elements, NULL);
    return loaded(e, a, elements);
  }
  bool lanes = valid->width > 1;
  tx_value mask = lanes ? tx_temporary(e, *valid) : *valid;
  if (is_whole(a)) {
    tx_line(e, lanes ? "if (VF_ALL(%s)) %s = %s" : "if (%s) %s = %s", mask.text, elements.text,
            read_whole(e, a).text);
  }
  if (lanes && is_whole(a)) tx_open(e, "else");
  else if (!lanes && !is_whole(a)) tx_open(e, "if (%s)", mask.text);
  if (lanes || !is_whole(a)) read_elements(e, a, elements, lanes ? &mask : NULL);
  if (lanes == is_whole(a)) tx_close(e);
  return tx_select(e, mask, loaded(e, a, elements), other);
}

tx_value oc_read_contiguous(tx_emitter *e, ir_ref param, ir_ref index, uint32_t lane, uint32_t count) {
  place a = place_of(e, param, index, e->nest->width[index]);
  a.base = index_at(e, &a, lane);
  a.affine = true;
  a.stride = 1;
  a.width = count;
  return read_whole(e, &a);
}

/* Prefetches the memory of the element `elements` further on; if `past`, as data that is not reused. That
 * memory need not belong to the buffer. */
static void fetch_ahead(tx_emitter *e, const place *a, int64_t elements, bool past) {
  int64_t bytes = elements * (int64_t)tx_bytes(a->kind);
  tx_line(e, "%s(%s, %s)", past ? "VF_PREFETCH_NONTEMPORAL" : "VF_PREFETCH", low_address(e, a),
          tx_literal(e, TX_I64, bytes).text);
}

tx_value oc_read_aligned(tx_emitter *e, ir_ref param, ir_ref index, uint32_t count) {
  place a = place_of(e, param, index, e->nest->width[index]);
  return tx_make(e, a.kind, count, TX_UNARY, "*(local %s *)(%s)", tx_type(e, a.kind, count), address(e, &a));
}

const char *oc_address(tx_emitter *e, ir_ref param, ir_ref index) {
  place a = place_of(e, param, index, e->nest->width[index]);
  return address(e, &a);
}

tx_value oc_emit_load(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t moved = e->nest->width[n->src[1]];
  if (ir_is_false(e->g, n->src[2])) return tx_at(e, n->src[3]);
  tx_value valid = tx_at(e, n->src[2]), other = tx_at(e, n->src[3]);
  place a = place_of(e, n->src[0], n->src[1], moved);
  const tx_value *where = ir_is_true(e->g, n->src[2]) ? NULL : &valid;
  if (ir_arg_int(n) && a.affine && !oc_are_items(e))
    fetch_ahead(e, &a, ir_arg_int(n), ir_arg_mode(n) == IR_STREAM);
  tx_value v = a.width == 1 || (a.affine && a.stride == 0) ? load_scalar(e, &a, where, other)
                                                           : load_vector(e, &a, where, other);
  return v;
}

/* stores */

/* Writes the store, deferred to the end of the iteration. */
static void write_late(tx_emitter *e, const char *guard, tx_value to, tx_value value) {
  value = tx_temporary(e, value);
  for (uint32_t i = 0; i < e->depth; i++) ir_text_str(&oc_of(e)->late, "  ");
  ir_textf(&oc_of(e)->late, "%s%s = %s;\n", guard, to.text, value.text);
}

static void write_one(tx_emitter *e, const char *guard, tx_value to, tx_value value) {
  tx_line(e, "%s%s = %s", guard, to.text, value.text);
}

/* Does the store bypass the caches? Only vectors that fill cache lines gain by it. */
static bool streams(const tx_emitter *e, ir_ref ref, const place *a, uint32_t lanes) {
  return ir_arg_mode(ir_get(e->g, ref)) && a->width > 1 &&
         lanes * tx_bytes(a->kind) % IR_CACHE_LINE_BYTES == 0;
}

/* "p0 != p1", the condition for streaming: the output shares no memory with an input, since cache lines that
 * were just read are written faster through the caches. Where most of an output streams (IR_STREAM_MOST),
 * every fourth block of 128 KiB of memory does not. */
static const char *has_memory_to_itself(tx_emitter *e, ir_ref ref, const char *output, const char *to) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  const char *all = "";
  if (ir_arg_mode(ir_get(e->g, ref)) == IR_STREAM_MOST)
    all = tx_text(e, "((size_t)(%s) & %d)", to, CG_CACHED_BLOCK_BITS);
  for (uint32_t i = 1; i < kernel->nsrc && e->nest->in_place; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 1 || slot > 31 || !(e->nest->in_place >> slot & 1)) continue;
    all = tx_text(e, "%s%s(size_t)%s != (size_t)p%d", all, *all ? " && " : "", output, (int)slot);
  }
  return *all ? all : "true";
}

static void store_vector(tx_emitter *e, ir_ref ref, const place *a, uint32_t lanes, tx_value value) {
  value = order_in_memory(e, a, value);
  if (!streams(e, ref, a, lanes)) {
    tx_line(e, "VF_STORE(%s, %s, %u, %s, %s)", a->space, tx_type(e, a->kind, 1), a->width, value.text,
            low_address(e, a));
    return;
  }
  value = tx_temporary(e, value);
  e->streams = true;
  tx_line(e, "VF_STORE_NONTEMPORAL(%s, %u, %s, %s, %s)", tx_type(e, a->kind, 1), a->width, value.text,
          low_address(e, a), has_memory_to_itself(e, ref, a->memory, low_address(e, a)));
}

/* All unrolled values along `loop`, whose elements alternate. */
static void store_alternating(tx_emitter *e, ir_ref ref, uint32_t loop) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = tx_width(e, lanes),
           count = (uint32_t)e->nest->loops[loop].extent;
  tx_value v[IR_MAX_INTERLEAVED];
  place a = place_of(e, n->src[0], n->src[1], lanes);
  a.stride = 1;
  for (uint32_t k = 0; k < count; k++) {
    e->order.lane[loop] = k;
    v[k] = tx_temporary(e, tx_splat(e, tx_to_storage(e, a.dtype, tx_at(e, n->src[2])), width));
  }
  e->order.lane[loop] = 0;
  oc_interleave(e, v, count);
  for (uint32_t k = 0; k < count && !e->order.failed; k++) {
    place lane_term = a;
    lane_term.base = tx_sum(e, a.base, tx_index_literal(e, (int64_t)k * width));
    store_vector(e, ref, &lane_term, lanes, v[k]);
  }
}

static void store_subvector(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = tx_width(e, lanes);
  bool moves = e->nest->width[n->src[1]] > 1;
  place a = place_of(e, n->src[0], n->src[1], lanes);
  tx_value value = tx_splat(e, tx_to_storage(e, a.dtype, tx_at(e, n->src[2])), width);
  if (oc_are_items(e)) {
    const char *guard = oc_is_private(e, n->src[0]) ? "" : oc_guard(e, lanes);
    if (!moves && lanes > 1) guard = tx_text(e, "if (lane == %u) ", lanes - 1); /* the last lane wins */
    bool late = oc_of(e)->late_depth == e->depth && oc_is_ahead(e, ref);
    (late ? write_late : write_one)(e, guard, element_at(e, &a, 0), value);
  } else if (width == 1) {
    write_one(e, "", element_at(e, &a, 0), value);
  } else if (!moves || (a.affine && a.stride == 0)) {
    a.stride = 0;
    if (e->subvector + 1 == tx_subvectors(e, lanes))
      write_one(e, "", element_at(e, &a, 0), tx_element(e, tx_temporary(e, value), width - 1));
  } else if (is_whole(&a)) {
    store_vector(e, ref, &a, lanes, value);
  } else {
    value = tx_temporary(e, value);
    tx_line(e, "VF_EACH_%u(VF_%s, %s, %s, %s, true)", width, a.affine ? "STORE_STRIDED" : "SCATTER",
            value.text, address(e, &a), a.affine ? tx_literal(e, TX_I64, a.stride).text : a.lane_term.text);
  }
}

void oc_emit_store(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref], subvectors = tx_subvectors(e, width);
  if (oc_store_vectors(e, ref)) {
    oc_after_effect(e, ref);
    return;
  }
  int64_t alternating = oc_are_items(e) ? -1 : cg_alternating_loop(e->nest, ref, IR_MAX_INTERLEAVED);
  if (alternating >= 0 && (e->nest->loops[alternating].extent == 3 || (width & (width - 1))))
    alternating = -1;
  cg_first_lane(&e->order, lanes);
  do {
    for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++)
      if (alternating < 0) store_subvector(e, ref);
      else if (e->order.lane[alternating] == 0) store_alternating(e, ref, (uint32_t)alternating);
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  oc_after_effect(e, ref);
}

/* updates */

static void update_elements(tx_emitter *e, const place *a, ir_op op, const char *guard, tx_value to,
                            tx_value value) {
  if (op == IR_OP_ADD) value = tx_combine(e, op, a->dtype, tx_from_storage(e, a->dtype, to), value);
  write_one(e, guard, to, tx_to_storage(e, a->dtype, value));
}

static const char *condition(tx_emitter *e, ir_ref valid, uint32_t lane) {
  if (ir_is_true(e->g, valid)) return "";
  tx_value v = tx_at(e, valid);
  return tx_text(e, "if (%s) ", tx_element(e, v, lane).text);
}

/* Vector style: updates the lanes one after another, since two of them may address the same element. */
static void update_subvector(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = tx_width(e, lanes);
  place a = place_of(e, n->src[0], n->src[1], lanes);
  tx_value value = tx_at(e, n->src[3]);
  if (e->nest->width[n->src[1]] == 1) a.stride = 0;
  if (oc_are_items(e)) {
    const char *guard = tx_text(e, "%s%s", oc_guard(e, lanes), condition(e, n->src[2], 0));
    update_elements(e, &a, (ir_op)n->arg, guard, element_at(e, &a, 0), value);
    return;
  }
  value = tx_temporary(e, value);
  for (uint32_t i = 0; i < width; i++)
    update_elements(e, &a, (ir_op)n->arg, condition(e, n->src[2], i), element_at(e, &a, i),
                    tx_lane(e, a.dtype, value, i));
}

void oc_emit_update(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  uint32_t subvectors = tx_subvectors(e, e->nest->width[ref]);
  for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++)
    update_subvector(e, ref);
  e->subvector = 0;
  oc_after_effect(e, ref);
}

/* run-time bounds */

static tx_value emit_binary(tx_emitter *e, ir_op op, tx_value a, tx_value b) {
  return tx_combine(e, op, a.kind == TX_I32 ? IR_I32 : IR_I64, a, b);
}

/* value >= extent or value < 0, as one unsigned comparison. */
static tx_value out_of_range(tx_emitter *e, tx_value value, tx_value extent) {
  unsigned kind = tx_unsigned(value.kind);
  return tx_compare(e, IR_OP_GE, IR_U64, tx_reinterpret(e, value, kind),
                    extent.literal ? tx_convert(e, extent, kind) : tx_reinterpret(e, extent, kind));
}

/* The index, counted from the end where negative; tested by one unsigned comparison; clamped. */
tx_value oc_emit_bound(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  bool is_signed = ir_dtypes[dtype].kind == IR_KIND_SIGNED || dtype == IR_INDEX;
  unsigned wanted = tx_index_kind(e, ref);
  tx_value value = tx_at(e, n->src[0]), extent = tx_at(e, n->src[1]);
  unsigned kind = tx_bytes(value.kind) > 4 || extent.kind == TX_I64 ? TX_I64 : wanted;
  value = tx_temporary(e, tx_convert(e, value, kind));
  extent = tx_index_as(e, extent, kind);
  tx_value zero = tx_literal(e, kind, 0), last = emit_binary(e, IR_OP_SUB, extent, tx_literal(e, kind, 1));
  int64_t size;
  if (ir_is_const(e->g, n->src[1], &size) && size > 0) last = tx_literal(e, kind, size - 1);
  if (ir_bounds_of(e->g, n->src[1]).lo < 1) last = emit_binary(e, IR_OP_MAX, last, zero);
  if (is_signed) {
    tx_value below = tx_compare(e, IR_OP_LT, IR_I64, value, zero);
    value = tx_temporary(e, tx_select(e, below, emit_binary(e, IR_OP_ADD, value, extent), value));
  }
  bool clips = ir_arg_mode(n) == IR_GATHER_CLIP && ir_bounds_of(e->g, n->src[1]).lo < 1; /* may be empty */
  if ((clips || ir_arg_mode(n) == IR_GATHER_CHECK) && !ir_is_false(e->g, n->src[2])) {
    tx_value bad = out_of_range(e, clips ? tx_splat(e, zero, value.width) : value, extent);
    if (!ir_is_true(e->g, n->src[2])) bad = tx_both(e, bad, tx_at(e, n->src[2]), TX_AND);
    tx_line(e, "if (%s) *status = 1", tx_any(e, bad).text);
  }
  tx_value held = is_signed ? emit_binary(e, IR_OP_MAX, emit_binary(e, IR_OP_MIN, value, last), zero)
                            : tx_combine(e, IR_OP_MIN, IR_U64, tx_reinterpret(e, value, tx_unsigned(kind)),
                                         tx_convert(e, last, tx_unsigned(kind)));
  if (!is_signed) held = tx_reinterpret(e, held, kind);
  return tx_index_as(e, held, wanted);
}
