/* Loads and updates.
 *
 * An access with stride 1 along the vector lanes is one vector access, with stride -1 likewise and reversed;
 * with stride 0 it is a scalar access; loads with small strides read whole vectors and pick elements; any
 * other access goes element by element or, where that was measured to be faster, through the processor's
 * gather. Where an access is not valid it touches no memory of the buffer, which may have no elements at all:
 * a vector access is masked or branched around, and a scalar load reads the table of buffers instead, which
 * always exists and is large enough.
 *
 * What a kernel only reads may begin at any address, since constants lie in files wherever these have them;
 * what it writes is aligned as its elements are. */
#include "codegen/llvm/llvm.h"
#include "ir/arith.h"

enum { FILL_BYTES = 64 }; /* because AVX-512's registers, the widest of any target, hold 64 bytes */

/* Splits constant terms off: index = result + *distance. */
static LLVMValueRef without_constants(LLVMValueRef index, int64_t *distance) {
  for (*distance = 0; LLVMIsAInstruction(index) && LLVMGetInstructionOpcode(index) == LLVMAdd;) {
    LLVMValueRef last = LLVMGetOperand(index, 1);
    if (!LLVMIsAConstantInt(last) || !ir_add_ok(*distance, LLVMConstIntGetSExtValue(last), distance)) break;
    index = LLVMGetOperand(index, 0);
  }
  return index;
}

/* The address of element `base`, frozen: the one of the last that was computed in this block, if there is
 * one. */
static LLVMValueRef anchor_of(cg_emitter *e, const cg_place *a, LLVMValueRef base) {
  LLVMBasicBlockRef block = LLVMGetInsertBlock(e->b);
  for (uint32_t i = 0; i < CG_ANCHORS; i++) {
    const cg_anchor *known = &e->anchors[i];
    if (known->memory == a->memory && known->base == base && known->block == block) return known->address;
  }
  LLVMValueRef address = LLVMBuildFreeze(e->b, LLVMBuildGEP2(e->b, a->element, a->memory, &base, 1, ""), "");
  e->anchors[e->next_anchor++ % CG_ANCHORS] = (cg_anchor){a->memory, base, address, block};
  return address;
}

/* Unrolled lanes are at constant distances from one address, which is frozen: LLVM then has one induction
 * variable, and does not try all combinations of many. That takes a third off the compile time. Scalars are
 * not: frozen, each array of a product has a variable of its own, where one serves all. */
LLVMValueRef cg_address(cg_emitter *e, const cg_place *a, LLVMValueRef index) {
  int64_t distance, bytes;
  LLVMValueRef base = without_constants(index, &distance);
  if (base == index || a->width == 1 || !ir_mul_ok(distance, a->bytes, &bytes))
    return LLVMBuildGEP2(e->b, a->element, a->memory, &index, 1, "");
  LLVMValueRef anchor = anchor_of(e, a, base), far = LLVMConstInt(e->i64, (unsigned long long)bytes, 1);
  return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), anchor, &far, 1, "");
}

cg_place cg_place_of(cg_emitter *e, ir_ref param, ir_ref index, uint32_t width) {
  cg_access how = cg_access_of(e->nest, index);
  ir_dtype dtype = ir_dtype_of(e->g, param);
  cg_place a = {.dtype = dtype,
                .width = width,
                .memory = cg_aligned_memory(e, param, index),
                .element = cg_storage_type(e, dtype, 1),
                .bytes = ir_dtypes[dtype].bytes,
                .affine = how.affine,
                .invariant = !e->nest->stored[param],
                .stride = how.stride};
  a.align = a.invariant ? 1 : a.bytes;
  a.base = how.base ? cg_fetch_index(e, how.base, 1, 64) : LLVMConstInt(e->i64, 0, 0);
  if (how.affine) return a;
  if (how.base) a.memory = cg_address(e, &a, a.base); /* lets narrow lane terms reach far into a buffer */
  a.index = cg_fetch_index(e, how.lane_term, width, cg_index_bits(e, how.lane_term));
  a.positive = ir_bounds_of(e->g, how.lane_term).lo >= 0;
  if (how.factor)
    a.step = LLVMBuildMul(e->b, cg_fetch_index(e, how.factor, 1, 64),
                          LLVMConstInt(e->i64, (unsigned long long)how.times, 1), "");
  return a;
}

/* Address of one lane. */
LLVMValueRef cg_lane_address(cg_emitter *e, const cg_place *a, uint32_t lane) {
  LLVMValueRef index;
  if (a->affine && a->stride * lane == 0) index = a->base;
  else if (a->affine)
    index = LLVMBuildAdd(e->b, a->base, LLVMConstInt(e->i64, (unsigned long long)(a->stride * lane), 1), "");
  else if (a->step) index = LLVMBuildMul(e->b, a->step, LLVMConstInt(e->i64, lane, 0), "");
  else
    index = cg_resize(e, LLVMBuildExtractElement(e->b, a->index, LLVMConstInt(e->i64, lane, 0), ""), 64, 1,
                      !a->positive);
  return cg_address(e, a, index);
}

/* Where a vector access begins: its lowest address. */
LLVMValueRef cg_low_address(cg_emitter *e, const cg_place *a) {
  return cg_lane_address(e, a, a->stride < 0 ? a->width - 1 : 0);
}

static LLVMValueRef mark_invariant(cg_emitter *e, const cg_place *a, LLVMValueRef load) {
  if (a->invariant)
    LLVMSetMetadata(load, e->invariant,
                    LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0)));
  return load;
}

LLVMValueRef cg_read(cg_emitter *e, const cg_place *a, LLVMTypeRef type, LLVMValueRef from) {
  LLVMValueRef load = LLVMBuildLoad2(e->b, type, from, "");
  LLVMSetAlignment(load, a->align);
  return mark_invariant(e, a, load);
}

/* Reads what single lanes of a vector are taken from. */
static LLVMValueRef read_for_lanes(cg_emitter *e, const cg_place *a, LLVMTypeRef type, LLVMValueRef from) {
  LLVMValueRef load = cg_read(e, a, type, from);
  return cg_target_separates_lanes(e->target) ? LLVMBuildFreeze(e->b, load, "") : load;
}

LLVMValueRef cg_memory_order(cg_emitter *e, const cg_place *a, LLVMValueRef v) {
  return a->stride < 0 ? cg_shuffle(e, v, (int)a->width - 1, -1, a->width) : v;
}

/* Each reader returns elements in storage form; those that are not valid may be anything. `valid` is NULL
 * where all are. */

static LLVMValueRef read_scalar(cg_emitter *e, const cg_place *a, LLVMValueRef valid, uint32_t valid_width) {
  LLVMValueRef from = cg_address(e, a, a->base);
  if (valid) from = cg_select(e, cg_any(e, valid, valid_width), from, e->buffers);
  return cg_read(e, a, a->element, from);
}

/* Address of copies of an element, a constant, of as many bytes as the widest vector: on the stack, stored
 * where the function begins. NULL: there are as many others already. */
static LLVMValueRef address_of_copies(cg_emitter *e, ir_dtype dtype, LLVMValueRef element) {
  unsigned k = 0;
  while (k < CG_FILLS && e->fills[k].element && e->fills[k].element != element) k++;
  if (k == CG_FILLS || e->fills[k].element) return k == CG_FILLS ? NULL : e->fills[k].address;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), entry = LLVMGetEntryBasicBlock(e->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry),
               all = cg_splat(e, element, (uint32_t)(FILL_BYTES / ir_dtypes[dtype].bytes));
  if (first) LLVMPositionBuilderBefore(e->b, first);
  else LLVMPositionBuilderAtEnd(e->b, entry);
  LLVMValueRef address = LLVMBuildAlloca(e->b, LLVMTypeOf(all), "");
  LLVMBuildStore(e->b, all, address);
  LLVMPositionBuilderAtEnd(e->b, here);
  e->fills[k].element = element, e->fills[k].address = address;
  return address;
}

LLVMValueRef cg_zeros(cg_emitter *e, ir_dtype dtype, uint32_t count) {
  if (count > FILL_BYTES / (uint32_t)ir_dtypes[dtype].bytes) return NULL;
  return address_of_copies(e, dtype, LLVMConstNull(cg_storage_type(e, dtype, 1)));
}

/* An element, or contiguous lanes; where they are not valid, `copies` are read. There is no branch, so that
 * unrolled values share what they load. */
static LLVMValueRef read_or_copies(cg_emitter *e, const cg_place *a, LLVMValueRef valid,
                                   LLVMValueRef copies) {
  LLVMValueRef from = cg_select(e, valid, a->width > 1 ? cg_low_address(e, a) : cg_address(e, a, a->base),
                                copies),
               load = LLVMBuildLoad2(e->b, cg_vector(a->element, a->width), from, "");
  LLVMSetAlignment(load, a->align);
  return a->width > 1 ? cg_memory_order(e, a, load) : load;
}

/* The element in storage form that a load has where it is not valid, if it is a constant; else NULL. */
static LLVMValueRef constant_other(cg_emitter *e, const cg_place *a, ir_ref other) {
  LLVMValueRef value = cg_fetch(e, other, 1);
  if (LLVMIsNull(value)) return LLVMConstNull(a->element);
  return LLVMIsConstant(value) && LLVMTypeOf(value) == a->element ? value : NULL;
}

/* A scalar that is true wherever a lane is valid: those conditions of a conjunction that are the same for all
 * lanes. NULL: there are none. */
static LLVMValueRef condition_of_all(cg_emitter *e, ir_ref valid) {
  const ir_node *n = ir_get(e->g, valid);
  LLVMValueRef all = NULL;
  if (e->nest->width[valid] == 1) return cg_value(e, valid);
  for (uint32_t k = 0; k < n->nsrc && n->op == IR_OP_AND; k++) {
    if (e->nest->width[n->src[k]] > 1) continue;
    LLVMValueRef one = cg_value(e, n->src[k]);
    all = all ? LLVMBuildAnd(e->b, all, one, "") : one;
  }
  return all;
}

/* Contiguous lanes, of which `mask` says which are read. Where no lane is, as in the rows of padding around
 * an image, the address is one that can be read: a load whose lanes are all masked takes hundreds of cycles
 * at a page that is not mapped, which may be the one before or behind a buffer. A depthwise 3 x 3 convolution
 * of 14 x 14 x 576 takes 0.032 ms in place of 0.16. all: true where some lane may be read; NULL: not known.
 */
static LLVMValueRef load_masked(cg_emitter *e, const cg_place *a, LLVMValueRef from, LLVMValueRef mask,
                                LLVMValueRef all) {
  LLVMTypeRef type = cg_vector(a->element, a->width), types[] = {type, e->pointer};
  LLVMValueRef align = LLVMConstInt(LLVMInt32TypeInContext(e->context), a->align, 0);
  LLVMValueRef args[] = {all ? cg_select(e, all, from, e->buffers) : from, align, mask, LLVMConstNull(type)};
  return mark_invariant(e, a, cg_intrinsic(e, "llvm.masked.load", types, 2, args, 4));
}

static LLVMValueRef read_masked(cg_emitter *e, const cg_place *a, LLVMValueRef mask, LLVMValueRef all) {
  return cg_memory_order(e, a, load_masked(e, a, cg_low_address(e, a), cg_memory_order(e, a, mask), all));
}

static LLVMValueRef read_vector(cg_emitter *e, const cg_place *a, LLVMValueRef valid, uint32_t valid_width,
                                LLVMValueRef all) {
  LLVMTypeRef type = cg_vector(a->element, a->width);
  if (!valid) return cg_memory_order(e, a, cg_read(e, a, type, cg_low_address(e, a)));
  if (valid_width > 1) return read_masked(e, a, valid, all);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), inside = cg_block(e), after = cg_block(e);
  LLVMBuildCondBr(e->b, valid, inside, after);
  LLVMPositionBuilderAtEnd(e->b, inside);
  LLVMValueRef loaded = cg_read(e, a, type, cg_low_address(e, a));
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, after);
  LLVMValueRef phi = cg_phi(e, type, loaded, inside);
  cg_phi_add(phi, LLVMConstNull(type), before);
  return cg_memory_order(e, a, phi);
}

static LLVMValueRef gather_lanes(cg_emitter *e, const cg_place *a, LLVMValueRef valid) {
  LLVMTypeRef type = cg_vector(a->element, a->width);
  LLVMValueRef memory = a->memory, index = a->index;
  if (a->affine) {
    memory = cg_address(e, a, a->base);
    int64_t most = INT32_MAX / (int64_t)a->width;
    bool small = a->stride <= most && a->stride >= -most;
    index = cg_lanes_const(e, small ? 32 : 64, a->width, a->stride);
  }
  LLVMValueRef from = LLVMBuildGEP2(e->b, a->element, memory, &index, 1, "");
  LLVMTypeRef types[] = {type, LLVMTypeOf(from)};
  LLVMValueRef mask = valid ? cg_splat(e, valid, a->width) : LLVMConstAllOnes(cg_vector(e->i1, a->width));
  LLVMValueRef args[] = {from, LLVMConstInt(LLVMInt32TypeInContext(e->context), a->align, 0), mask,
                         LLVMConstNull(type)};
  return mark_invariant(e, a, cg_intrinsic(e, "llvm.masked.gather", types, 2, args, 4));
}

static LLVMValueRef read_elements(cg_emitter *e, const cg_place *a, LLVMValueRef valid,
                                  uint32_t valid_width) {
  bool plain = (a->affine || a->step) && !valid; /* single loads take a fifth less time than a gather */
  if (e->gathers && a->bytes >= 4 && !plain) return gather_lanes(e, a, valid);
  LLVMValueRef all = LLVMGetPoison(cg_vector(a->element, a->width));
  for (uint32_t i = 0; i < a->width; i++) {
    LLVMValueRef from = cg_lane_address(e, a, i), lane = LLVMConstInt(e->i64, i, 0);
    if (valid)
      from = cg_select(e, valid_width > 1 ? LLVMBuildExtractElement(e->b, valid, lane, "") : valid, from,
                       e->buffers);
    all = LLVMBuildInsertElement(e->b, all, read_for_lanes(e, a, a->element, from), lane, "");
  }
  return all;
}

/* A stride from 2 to IR_MAX_PICKED_STEP: `stride` vectors, the first of which begins with the first element
 * and the last of which ends with the last element, are read whole, and the elements are picked from them. */
static bool has_small_step(const cg_place *a) {
  return a->affine && a->stride > 1 && a->stride <= IR_MAX_PICKED_STEP && a->width >= 4 &&
         (a->width & (a->width - 1)) == 0;
}

/* The lanes' conditions as a mask of the elements of a vector: element `j` is read if it is that of a lane,
 * the one that the condition of which says so. `lane` gives the lanes of the elements, or a negative number.
 */
static LLVMValueRef spread_mask(cg_emitter *e, LLVMValueRef valid, const int *lane, uint32_t width) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  LLVMValueRef order[CG_MAX_LANES];
  for (uint32_t j = 0; j < width; j++)
    order[j] = LLVMConstInt(i32, lane[j] < 0 ? width : (unsigned)lane[j], 0);
  return LLVMBuildShuffleVector(e->b, valid, LLVMConstNull(cg_vector(e->i1, width)),
                                LLVMConstVector(order, width), "");
}

/* valid: a condition of each lane, or NULL; all: as in read_masked. */
static LLVMValueRef read_strided(cg_emitter *e, const cg_place *a, LLVMValueRef valid, LLVMValueRef all) {
  LLVMTypeRef type = cg_vector(a->element, a->width), i32 = LLVMInt32TypeInContext(e->context);
  int64_t width = a->width, span = (width - 1) * a->stride + 1;
  LLVMValueRef picked = LLVMGetPoison(type), order[CG_MAX_LANES];
  for (int64_t part = 0; part < a->stride; part++) {
    int64_t first = part + 1 < a->stride ? part * width : span - width;
    LLVMValueRef at = LLVMBuildAdd(e->b, a->base, LLVMConstInt(e->i64, (unsigned long long)first, 1), "");
    LLVMValueRef from = cg_address(e, a, at);
    int lane[CG_MAX_LANES];
    for (int64_t i = 0; i < width; i++) lane[i] = -1;
    for (int64_t i = 0; i < width; i++) { /* elements before these are of earlier vectors */
      bool here = i * a->stride >= part * width && i * a->stride < (part + 1) * width;
      bool earlier = i * a->stride < part * width;
      if (here) lane[i * a->stride - first] = (int)i;
      order[i] = here      ? LLVMConstInt(i32, (unsigned)(width + i * a->stride - first), 0)
                 : earlier ? LLVMConstInt(i32, (unsigned)i, 0)
                           : LLVMGetPoison(i32);
    }
    LLVMValueRef piece = valid ? load_masked(e, a, from, spread_mask(e, valid, lane, a->width), all)
                               : read_for_lanes(e, a, type, from);
    picked = LLVMBuildShuffleVector(e->b, picked, piece, LLVMConstVector(order, a->width), "");
  }
  return picked;
}

/* Prefetches the memory of the element `elements` further on: into all caches, or, if `past`, as data that is
 * not reused. That memory need not belong to the buffer. */
static void fetch_ahead(cg_emitter *e, const cg_place *a, int64_t elements, bool past) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  LLVMValueRef at = LLVMConstInt(e->i64, (unsigned long long)(elements * a->bytes), 0);
  LLVMValueRef from =
      LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), cg_low_address(e, a), &at, 1, "");
  LLVMValueRef args[] = {from, LLVMConstInt(i32, 0, 0), LLVMConstInt(i32, past ? 0 : 3, 0),
                         LLVMConstInt(i32, 1, 0)};
  cg_intrinsic(e, "llvm.prefetch", &e->pointer, 1, args, 4); /* for reading; locality; data cache */
}

/* Is what the current lanes would prefetch fetched anyway? Lanes in one line fetch it once. Hardware
 * prefetchers follow where memory is read in sequence, up to the end of a page. So of a long row of unrolled
 * values the first two lines are prefetched: for sums of columns of 8192 rows, a page wide, 15.5 ms in place
 * of 16.6; with all lines 16.3. */
static bool is_fetched(const cg_emitter *e, ir_ref load, uint32_t width, int bytes) {
  enum {
    FIRST_BYTES = 2 * IR_CACHE_LINE_BYTES, /* a hardware prefetcher follows after two lines in sequence */
    ROW_BYTES = 1 << 10 /* of a row that is long: 16 lines; rows of four vectors are prefetched as a whole */
  };
  const uint64_t *lanes = cg_lanes(e->nest, load);
  for (int64_t l = -1, step; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &e->nest->loops[l];
    if (loop->binding != IR_UNROLL || !cg_clamped_stride(e->nest, ir_src(e->g, load, 1), (uint32_t)l, &step))
      continue;
    int64_t at = e->order.lane[l] * step * bytes, line = IR_CACHE_LINE_BYTES;
    if (at > 0 && at / line == (at - step * bytes) / line) return true;
    if (step == (int64_t)width && loop->extent * step * bytes >= ROW_BYTES &&
        e->order.lane[l] * step * bytes >= FIRST_BYTES)
      return true;
  }
  return false;
}

void cg_emit_ahead(cg_emitter *e, ir_ref load) {
  const ir_node *n = ir_get(e->g, load);
  if (n->op != IR_OP_LOAD || !ir_arg_int(n) || ir_arg_mode(n) == IR_FETCHED || ir_is_false(e->g, n->src[2]))
    return;
  cg_place a = cg_place_of(e, n->src[0], n->src[1], e->nest->width[n->src[1]]);
  if (a.affine && !is_fetched(e, load, a.width, (int)a.bytes))
    fetch_ahead(e, &a, ir_arg_int(n), ir_arg_mode(n) == IR_STREAM);
}

LLVMValueRef cg_emit_load(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_ref valid_ref = n->src[2];
  uint32_t width = e->nest->width[ref];
  if (ir_is_false(e->g, valid_ref)) return cg_fetch(e, n->src[3], width);
  uint32_t moved = e->nest->width[n->src[1]], valid_width = e->nest->width[valid_ref];
  cg_place a = cg_place_of(e, n->src[0], n->src[1], moved);
  LLVMValueRef valid = cg_value(e, valid_ref), stored;
  if (cg_is_true(valid)) valid = NULL;
  bool scalar = moved == 1 || (a.affine && a.stride == 0),
       row = a.affine && (a.stride == 1 || a.stride == -1);
  bool alike = valid && valid_width == 1 && (scalar || (row && moved * a.bytes <= FILL_BYTES)),
       by_mask = valid && !scalar && row && cg_target_masks_loads(e->target) &&
                 moved * a.bytes == (unsigned)e->target->vector_bytes;
  LLVMValueRef other = alike || by_mask ? constant_other(e, &a, n->src[3]) : NULL, copies = NULL;
  by_mask = by_mask && other && LLVMIsNull(other);
  if (alike && other && !by_mask) copies = address_of_copies(e, a.dtype, other);
  if (by_mask) { /* a splat that is not frozen LLVM would make a branch */
    LLVMValueRef all = condition_of_all(e, valid_ref);
    if (valid_width == 1) valid = LLVMBuildFreeze(e->b, cg_splat(e, valid, moved), "");
    stored = read_masked(e, &a, valid, all), valid = NULL;
  } else if (copies) {
    if (scalar) a.width = moved = 1;
    stored = read_or_copies(e, &a, valid, copies), valid = NULL;
  } else if (scalar) {
    a.width = moved = 1;
    stored = read_scalar(e, &a, valid, valid_width);
  } else if (row) {
    stored = read_vector(e, &a, valid, valid_width, valid ? condition_of_all(e, valid_ref) : NULL);
    if (valid && valid_width > 1 && (other = constant_other(e, &a, n->src[3])) && LLVMIsNull(other))
      valid = NULL; /* lanes that are not read are zeros already */
  } else if (!valid && has_small_step(&a)) {
    stored = read_strided(e, &a, NULL, NULL);
  } else if (valid && cg_target_masks_loads(e->target) && a.bytes >= 4 && has_small_step(&a)) {
    LLVMValueRef lanes = valid_width > 1 ? valid : LLVMBuildFreeze(e->b, cg_splat(e, valid, moved), "");
    stored = read_strided(e, &a, lanes, condition_of_all(e, valid_ref));
  } else if (cg_is_byte_table(e, ref, &a)) {
    stored = cg_read_byte_table(e, &a);
  } else {
    stored = read_elements(e, &a, valid, valid_width);
  }
  LLVMValueRef value = cg_splat(e, cg_from_storage(e, a.dtype, moved, stored), width);
  return valid ? cg_select(e, valid, value, cg_fetch(e, n->src[3], width)) : value;
}

/* One update of `a->width` elements, which go up from `to`. */
static void update_elements(cg_emitter *e, const cg_place *a, ir_op op, LLVMValueRef value, LLVMValueRef to) {
  if (op == IR_OP_ADD) {
    LLVMValueRef old = cg_read(e, a, cg_vector(a->element, a->width), to);
    value = cg_combine(e, op, a->dtype, a->width, cg_from_storage(e, a->dtype, a->width, old), value);
  }
  cg_write(e, a, cg_to_storage(e, a->dtype, a->width, value), to);
}

/* Stores contiguous lanes where they are valid. */
static void store_masked(cg_emitter *e, const cg_place *a, LLVMValueRef value, LLVMValueRef valid) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  LLVMValueRef stored = cg_to_storage(e, a->dtype, a->width, value), to = cg_low_address(e, a);
  LLVMTypeRef types[] = {LLVMTypeOf(stored), e->pointer};
  LLVMValueRef args[] = {stored, to, LLVMConstInt(i32, a->bytes, 0), valid};
  cg_intrinsic(e, "llvm.masked.store", types, 2, args, 4);
}

/* Contiguous lanes with one common condition are one access, and so are lanes that are stored under a mask,
 * where the processor has such stores. Other lanes are updated one after another, since two of them may
 * address the same element. */
void cg_emit_update(void *emitter, ir_ref ref) {
  cg_emitter *e = emitter;
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref], valid_width = e->nest->width[n->src[2]];
  cg_place a = cg_place_of(e, n->src[0], n->src[1], width);
  if (e->nest->width[n->src[1]] == 1) a.stride = 0;
  LLVMValueRef valid = cg_unchecked_condition(e, n->src[1], n->src[2]), value = cg_fetch(e, n->src[3], width);
  bool whole = width == 1 || (a.affine && (a.stride == 1 || a.stride == -1) && valid_width == 1);
  if (n->arg == 0 && !whole && a.affine && a.stride == 1 && valid_width == width &&
      cg_target_masks_stores(e->target, a.bytes)) {
    store_masked(e, &a, value, valid);
    return;
  }
  cg_place lane = a;
  if (!whole) lane.width = 1;
  for (uint32_t i = 0; i < width / lane.width; i++) {
    LLVMValueRef at = LLVMConstInt(e->i64, i, 0), one = !whole ? LLVMBuildExtractElement(e->b, value, at, "")
                                                        : width > 1 ? cg_memory_order(e, &a, value)
                                                                    : value;
    LLVMBasicBlockRef inside = cg_is_true(valid) ? NULL : cg_block(e), after = inside ? cg_block(e) : NULL;
    if (inside) {
      LLVMBuildCondBr(e->b, valid_width > 1 ? LLVMBuildExtractElement(e->b, valid, at, "") : valid, inside,
                      after);
      LLVMPositionBuilderAtEnd(e->b, inside);
    }
    update_elements(e, &lane, (ir_op)n->arg, one,
                    whole && width > 1 ? cg_low_address(e, &a) : cg_lane_address(e, &a, i));
    if (!inside) continue;
    LLVMBuildBr(e->b, after);
    LLVMPositionBuilderAtEnd(e->b, after);
  }
}
