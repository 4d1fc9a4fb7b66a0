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
  oc_value base;      /* affine: index of the first lane; else what all lanes have in common */
  oc_value lane_term; /* unless affine: what each lane adds */
} place;

/* Work-item style: the index of the work-item's element, in long arithmetic unless all of it fits in 32
 * bits. */
static oc_value lane_index(oc_emitter *e, ir_ref index, const cg_access *how) {
  enum { MAX_STRIDE = INT32_MAX / CG_MAX_LANES }; /* elements: times any lane it fits in 32 bits */
  oc_value base = how->base ? oc_at(e, how->base) : oc_literal(e, OC_INT, 0), lane_term;
  bool fits = cg_fits_32_bits(e->g, index);
  if (e->nest->width[index] == 1) return base;
  if (how->affine) {
    const uint64_t *lanes = cg_lanes(e->nest, index);
    int64_t l = cg_set_next(e->nest, lanes, -1);
    while (e->nest->loops[l].binding != IR_VECTOR) l = cg_set_next(e->nest, lanes, l);
    oc_value lane = oc_at(e, e->nest->loops[l].range);
    fits = fits && how->stride <= MAX_STRIDE && how->stride >= -MAX_STRIDE;
    if (!fits) lane = oc_index_as(e, lane, OC_LONG);
    lane_term = how->stride == 1
                    ? lane
                    : oc_make(e, lane.kind, 1, OC_PRODUCT, "%s*%s", oc_parenthesised(e, lane, OC_PRODUCT),
                              oc_index_literal(e, how->stride).text);
  } else {
    lane_term = oc_at(e, how->lane_term);
    if (!fits) lane_term = oc_index_as(e, lane_term, OC_LONG);
  }
  return oc_sum(e, base, lane_term);
}

static place place_of(oc_emitter *e, ir_ref param, ir_ref index, uint32_t lanes) {
  cg_access how = cg_access_of(e->nest, index);
  ir_dtype dtype = ir_dtype_of(e->g, param);
  place a = {.dtype = dtype,
             .kind = oc_storage_of(e, dtype),
             .width = oc_width(e, lanes),
             .affine = how.affine,
             .stride = how.stride,
             .memory = oc_at(e, param).text,
             .space = ir_op_of(e->g, param) == IR_OP_PARAM ? "global" : "local"};
  if (e->lanes_are_items) {
    a.affine = true;
    a.stride = 0;
    a.base = oc_is_private(e, param) ? oc_private_index(e, index) : lane_index(e, index, &how);
    return a;
  }
  a.base = how.base ? oc_at(e, how.base) : oc_literal(e, OC_INT, 0);
  if (!how.affine) a.lane_term = oc_at(e, how.lane_term);
  else if (e->subvector) a.base = oc_sum(e, a.base, oc_index_literal(e, a.stride * oc_first_lane(e, lanes)));
  return a;
}

/* The index of element `lane` of the subvector. */
static oc_value index_at(oc_emitter *e, const place *a, uint32_t lane) {
  return a->affine ? oc_sum(e, a->base, oc_index_literal(e, a->stride * lane))
                   : oc_sum(e, a->base, oc_element(e, a->lane_term, lane));
}

static oc_value element_at(oc_emitter *e, const place *a, uint32_t lane) {
  oc_value index = index_at(e, a, lane);
  return oc_make(e, a->kind, 1, OC_ATOM, "%s[%s]", a->memory, index.text);
}

/* `p1 + i`: the address of the first lane's element. */
static const char *address(oc_emitter *e, const place *a) {
  if (a->base.literal && !a->base.number) return a->memory;
  return oc_text(e, "%s + %s", a->memory, oc_parenthesised(e, a->base, OC_PRODUCT));
}

/* The lowest address of a vector access. */
static const char *low_address(oc_emitter *e, const place *a) {
  place low = *a;
  if (a->stride == -1) low.base = oc_sum(e, a->base, oc_index_literal(e, -(int64_t)(a->width - 1)));
  return address(e, &low);
}

static oc_value order_in_memory(oc_emitter *e, const place *a, oc_value v) {
  static const char *const reversed[] = {
      [2] = "s10", [4] = "s3210", [8] = "s76543210", [16] = "sfedcba9876543210"};
  if (a->stride != -1) return v;
  return oc_make(e, v.kind, v.width, OC_ATOM, "%s.%s", oc_parenthesised(e, v, OC_ATOM), reversed[v.width]);
}

static bool is_whole(const place *a) { return a->affine && (a->stride == 1 || a->stride == -1); }

static oc_value read_whole(oc_emitter *e, const place *a) {
  return order_in_memory(e, a,
                         oc_make(e, a->kind, a->width, OC_ATOM, "VF_LOAD(%s, %s, %u, %s)", a->space,
                                 oc_type(a->kind, 1).text, a->width, low_address(e, a)));
}

/* Declares a variable whose elements later statements assign. */
static oc_value blank(oc_emitter *e, unsigned kind, uint32_t width, const char *init) {
  const char *name = oc_text(e, "v%u", e->last_number++);
  oc_line(e, "%s %s%s%s", oc_type(kind, width).text, name, *init ? " = " : "", init);
  return oc_make(e, kind, width, OC_ATOM, "%s", name);
}

/* Assigns to each of `elements` what is stored at its index, where `valid` holds (NULL: everywhere). */
static void read_elements(oc_emitter *e, const place *a, oc_value elements, const oc_value *valid) {
  const char *at = a->affine ? oc_literal(e, OC_LONG, a->stride).text : a->lane_term.text;
  oc_line(e, "VF_EACH_%u(VF_%s%s, %s, %s, %s, %s)", a->width, a->affine ? "LOAD_STRIDED" : "GATHER",
          valid ? "_IF" : "", elements.text, address(e, a), at, valid ? valid->text : "true");
}

static oc_value loaded(oc_emitter *e, const place *a, oc_value stored) {
  return oc_from_storage(e, a->dtype, stored);
}

/* One element: `valid ? p1[i] : other`. */
static oc_value load_scalar(oc_emitter *e, const place *a, const oc_value *valid, oc_value other) {
  oc_value v = loaded(e, a, element_at(e, a, 0));
  if (!valid) return v;
  if (valid->width == 1 && other.width == 1) return oc_select(e, *valid, v, other);
  oc_value some = blank(e, v.kind, 1, "0");
  oc_line(e, "if (%s) %s = %s", oc_any(e, *valid).text, some.text, v.text);
  return oc_select(e, *valid, some, other);
}

static oc_value load_vector(oc_emitter *e, const place *a, const oc_value *valid, oc_value other) {
  if (!valid && is_whole(a)) return loaded(e, a, read_whole(e, a));
  oc_value elements = blank(e, a->kind, a->width, valid ? "0" : "");
  if (!valid) {
    read_elements(e, a, elements, NULL);
    return loaded(e, a, elements);
  }
  bool lanes = valid->width > 1;
  oc_value mask = lanes ? oc_temporary(e, *valid) : *valid;
  if (is_whole(a)) {
    oc_line(e, lanes ? "if (VF_ALL(%s)) %s = %s" : "if (%s) %s = %s", mask.text, elements.text,
            read_whole(e, a).text);
  }
  if (lanes && is_whole(a)) oc_open(e, "else");
  else if (!lanes && !is_whole(a)) oc_open(e, "if (%s)", mask.text);
  if (lanes || !is_whole(a)) read_elements(e, a, elements, lanes ? &mask : NULL);
  if (lanes == is_whole(a)) oc_close(e);
  return oc_select(e, mask, loaded(e, a, elements), other);
}

oc_value oc_read_contiguous(oc_emitter *e, ir_ref param, ir_ref index, uint32_t lane, uint32_t count) {
  place a = place_of(e, param, index, e->nest->width[index]);
  a.base = index_at(e, &a, lane);
  a.affine = true;
  a.stride = 1;
  a.width = count;
  return read_whole(e, &a);
}

/* Prefetches the memory of the element `elements` further on; if `past`, as data that is not reused. That
 * memory need not belong to the buffer. */
static void fetch_ahead(oc_emitter *e, const place *a, int64_t elements, bool past) {
  int64_t bytes = elements * (int64_t)oc_bytes(a->kind);
  oc_line(e, "%s(%s, %s)", past ? "VF_PREFETCH_NONTEMPORAL" : "VF_PREFETCH", low_address(e, a),
          oc_literal(e, OC_LONG, bytes).text);
}

oc_value oc_read_aligned(oc_emitter *e, ir_ref param, ir_ref index, uint32_t count) {
  place a = place_of(e, param, index, e->nest->width[index]);
  return oc_make(e, a.kind, count, OC_UNARY, "*(local %s *)(%s)", oc_type(a.kind, count).text,
                 address(e, &a));
}

const char *oc_address(oc_emitter *e, ir_ref param, ir_ref index) {
  place a = place_of(e, param, index, e->nest->width[index]);
  return address(e, &a);
}

oc_value oc_emit_load(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t moved = e->nest->width[n->src[1]];
  if (ir_is_false(e->g, n->src[2])) return oc_at(e, n->src[3]);
  oc_value valid = oc_at(e, n->src[2]), other = oc_at(e, n->src[3]);
  place a = place_of(e, n->src[0], n->src[1], moved);
  const oc_value *where = ir_is_true(e->g, n->src[2]) ? NULL : &valid;
  if (ir_arg_int(n) && a.affine && !e->lanes_are_items)
    fetch_ahead(e, &a, ir_arg_int(n), ir_arg_mode(n) == IR_STREAM);
  oc_value v = a.width == 1 || (a.affine && a.stride == 0) ? load_scalar(e, &a, where, other)
                                                           : load_vector(e, &a, where, other);
  return v;
}

/* stores */

/* Writes the store, deferred to the end of the iteration. */
static void write_late(oc_emitter *e, const char *guard, oc_value to, oc_value value) {
  value = oc_temporary(e, value);
  for (uint32_t i = 0; i < e->depth; i++) ir_text_str(&e->late, "  ");
  ir_textf(&e->late, "%s%s = %s;\n", guard, to.text, value.text);
}

static void write_one(oc_emitter *e, const char *guard, oc_value to, oc_value value) {
  oc_line(e, "%s%s = %s", guard, to.text, value.text);
}

/* Does the store bypass the caches? Only vectors that fill cache lines gain by it. */
static bool streams(const oc_emitter *e, ir_ref ref, const place *a, uint32_t lanes) {
  return ir_arg_mode(ir_get(e->g, ref)) && a->width > 1 &&
         lanes * oc_bytes(a->kind) % IR_CACHE_LINE_BYTES == 0;
}

/* "p0 != p1", the condition for streaming: the output shares no memory with an input, since cache lines that
 * were just read are written faster through the caches. Where most of an output streams (IR_STREAM_MOST),
 * every fourth block of 128 KiB of memory does not. */
static const char *has_memory_to_itself(oc_emitter *e, ir_ref ref, const char *output, const char *to) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  const char *all = "";
  if (ir_arg_mode(ir_get(e->g, ref)) == IR_STREAM_MOST)
    all = oc_text(e, "((size_t)(%s) & %d)", to, CG_CACHED_BLOCK_BITS);
  for (uint32_t i = 1; i < kernel->nsrc && e->nest->in_place; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 1 || slot > 31 || !(e->nest->in_place >> slot & 1)) continue;
    all = oc_text(e, "%s%s(size_t)%s != (size_t)p%d", all, *all ? " && " : "", output, (int)slot);
  }
  return *all ? all : "true";
}

static void store_vector(oc_emitter *e, ir_ref ref, const place *a, uint32_t lanes, oc_value value) {
  value = order_in_memory(e, a, value);
  if (!streams(e, ref, a, lanes)) {
    oc_line(e, "VF_STORE(%s, %s, %u, %s, %s)", a->space, oc_type(a->kind, 1).text, a->width, value.text,
            low_address(e, a));
    return;
  }
  value = oc_temporary(e, value);
  e->streams = true;
  oc_line(e, "VF_STORE_NONTEMPORAL(%s, %u, %s, %s, %s)", oc_type(a->kind, 1).text, a->width, value.text,
          low_address(e, a), has_memory_to_itself(e, ref, a->memory, low_address(e, a)));
}

/* All unrolled values along `loop`, whose elements alternate. */
static void store_alternating(oc_emitter *e, ir_ref ref, uint32_t loop) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = oc_width(e, lanes),
           count = (uint32_t)e->nest->loops[loop].extent;
  oc_value v[IR_MAX_INTERLEAVED];
  place a = place_of(e, n->src[0], n->src[1], lanes);
  a.stride = 1;
  for (uint32_t k = 0; k < count; k++) {
    e->order.lane[loop] = k;
    v[k] = oc_temporary(e, oc_splat(e, oc_to_storage(e, a.dtype, oc_at(e, n->src[2])), width));
  }
  e->order.lane[loop] = 0;
  oc_interleave(e, v, count);
  for (uint32_t k = 0; k < count && !e->order.failed; k++) {
    place lane_term = a;
    lane_term.base = oc_sum(e, a.base, oc_index_literal(e, (int64_t)k * width));
    store_vector(e, ref, &lane_term, lanes, v[k]);
  }
}

static void store_subvector(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = oc_width(e, lanes);
  bool moves = e->nest->width[n->src[1]] > 1;
  place a = place_of(e, n->src[0], n->src[1], lanes);
  oc_value value = oc_splat(e, oc_to_storage(e, a.dtype, oc_at(e, n->src[2])), width);
  if (e->lanes_are_items) {
    const char *guard = oc_is_private(e, n->src[0]) ? "" : oc_guard(e, lanes);
    if (!moves && lanes > 1) guard = oc_text(e, "if (lane == %u) ", lanes - 1); /* the last lane wins */
    bool late = e->late_depth == e->depth && oc_is_ahead(e, ref);
    (late ? write_late : write_one)(e, guard, element_at(e, &a, 0), value);
  } else if (width == 1) {
    write_one(e, "", element_at(e, &a, 0), value);
  } else if (!moves || (a.affine && a.stride == 0)) {
    a.stride = 0;
    if (e->subvector + 1 == oc_subvectors(e, lanes))
      write_one(e, "", element_at(e, &a, 0), oc_element(e, oc_temporary(e, value), width - 1));
  } else if (is_whole(&a)) {
    store_vector(e, ref, &a, lanes, value);
  } else {
    value = oc_temporary(e, value);
    oc_line(e, "VF_EACH_%u(VF_%s, %s, %s, %s, true)", width, a.affine ? "STORE_STRIDED" : "SCATTER",
            value.text, address(e, &a), a.affine ? oc_literal(e, OC_LONG, a.stride).text : a.lane_term.text);
  }
}

void oc_emit_store(void *emitter, ir_ref ref) {
  oc_emitter *e = emitter;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref], subvectors = oc_subvectors(e, width);
  if (oc_store_vectors(e, ref)) {
    oc_after_effect(e, ref);
    return;
  }
  int64_t alternating = e->lanes_are_items ? -1 : cg_alternating_loop(e->nest, ref, IR_MAX_INTERLEAVED);
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

static void update_elements(oc_emitter *e, const place *a, ir_op op, const char *guard, oc_value to,
                            oc_value value) {
  if (op == IR_OP_ADD) value = oc_combine(e, op, a->dtype, oc_from_storage(e, a->dtype, to), value);
  write_one(e, guard, to, oc_to_storage(e, a->dtype, value));
}

static const char *condition(oc_emitter *e, ir_ref valid, uint32_t lane) {
  if (ir_is_true(e->g, valid)) return "";
  oc_value v = oc_at(e, valid);
  return oc_text(e, "if (%s) ", oc_element(e, v, lane).text);
}

/* Vector style: updates the lanes one after another, since two of them may address the same element. */
static void update_subvector(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = oc_width(e, lanes);
  place a = place_of(e, n->src[0], n->src[1], lanes);
  oc_value value = oc_at(e, n->src[3]);
  if (e->nest->width[n->src[1]] == 1) a.stride = 0;
  if (e->lanes_are_items) {
    const char *guard = oc_text(e, "%s%s", oc_guard(e, lanes), condition(e, n->src[2], 0));
    update_elements(e, &a, (ir_op)n->arg, guard, element_at(e, &a, 0), value);
    return;
  }
  value = oc_temporary(e, value);
  for (uint32_t i = 0; i < width; i++)
    update_elements(e, &a, (ir_op)n->arg, condition(e, n->src[2], i), element_at(e, &a, i),
                    oc_lane(e, a.dtype, value, i));
}

void oc_emit_update(void *emitter, ir_ref ref) {
  oc_emitter *e = emitter;
  uint32_t subvectors = oc_subvectors(e, e->nest->width[ref]);
  for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++)
    update_subvector(e, ref);
  e->subvector = 0;
  oc_after_effect(e, ref);
}

/* run-time bounds */

static oc_value emit_binary(oc_emitter *e, ir_op op, oc_value a, oc_value b) {
  return oc_combine(e, op, a.kind == OC_INT ? IR_I32 : IR_I64, a, b);
}

/* value >= extent or value < 0, as one unsigned comparison. */
static oc_value out_of_range(oc_emitter *e, oc_value value, oc_value extent) {
  unsigned kind = oc_unsigned(value.kind);
  return oc_compare(e, IR_OP_GE, IR_U64, oc_reinterpret(e, value, kind),
                    extent.literal ? oc_convert(e, extent, kind) : oc_reinterpret(e, extent, kind));
}

/* The index, counted from the end where negative; tested by one unsigned comparison; clamped. */
oc_value oc_emit_bound(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  bool is_signed = ir_dtypes[dtype].kind == IR_KIND_SIGNED || dtype == IR_INDEX;
  unsigned wanted = oc_index_kind(e, ref);
  oc_value value = oc_at(e, n->src[0]), extent = oc_at(e, n->src[1]);
  unsigned kind = oc_bytes(value.kind) > 4 || extent.kind == OC_LONG ? OC_LONG : wanted;
  value = oc_temporary(e, oc_convert(e, value, kind));
  extent = oc_index_as(e, extent, kind);
  oc_value zero = oc_literal(e, kind, 0), last = emit_binary(e, IR_OP_SUB, extent, oc_literal(e, kind, 1));
  int64_t size;
  if (ir_is_const(e->g, n->src[1], &size) && size > 0) last = oc_literal(e, kind, size - 1);
  if (ir_bounds_of(e->g, n->src[1]).lo < 1) last = emit_binary(e, IR_OP_MAX, last, zero);
  if (is_signed) {
    oc_value below = oc_compare(e, IR_OP_LT, IR_I64, value, zero);
    value = oc_temporary(e, oc_select(e, below, emit_binary(e, IR_OP_ADD, value, extent), value));
  }
  bool clips = ir_arg_mode(n) == IR_GATHER_CLIP && ir_bounds_of(e->g, n->src[1]).lo < 1; /* may be empty */
  if ((clips || ir_arg_mode(n) == IR_GATHER_CHECK) && !ir_is_false(e->g, n->src[2])) {
    oc_value bad = out_of_range(e, clips ? oc_splat(e, zero, value.width) : value, extent);
    if (!ir_is_true(e->g, n->src[2])) bad = oc_both(e, bad, oc_at(e, n->src[2]), "&");
    oc_line(e, "if (%s) *status = 1", oc_any(e, bad).text);
  }
  oc_value held = is_signed ? emit_binary(e, IR_OP_MAX, emit_binary(e, IR_OP_MIN, value, last), zero)
                            : oc_combine(e, IR_OP_MIN, IR_U64, oc_reinterpret(e, value, oc_unsigned(kind)),
                                         oc_convert(e, last, oc_unsigned(kind)));
  if (!is_signed) held = oc_reinterpret(e, held, kind);
  return oc_index_as(e, held, wanted);
}
