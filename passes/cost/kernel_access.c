/* Accesses of a kernel: how their indices change along loops and lanes, and the instructions that they take
 * as code generation writes them (codegen/llvm/memory.c, store.c, tile.c). */
#include <math.h>

#include "passes/cost/kernel_walk.h"

enum {
  MAX_TERMS = 32,      /* of an index that are still to be looked at, as many as a sum has (PASS_TERMS) */
  LOAD_CYCLES = 6,     /* from the L1 cache */
  NEAR_BYTES = 4 << 10 /* what is anywhere within so many bytes is touched whole */
};

/* indices */

/* factor * floor(node / by) */
typedef struct term {
  ir_ref ref;
  double factor, by;
  bool exact;
} term;

static void add_step(kernel_access *a, const kernel_node *range, double stride, double by, bool exact) {
  for (uint32_t i = 0; i < a->step_count; i++) {
    kernel_step *old = &a->steps[i];
    if (old->loop != range->loop || old->lane != range->is_lane || old->by != by) continue;
    old->stride += stride;
    old->exact &= exact;
    return;
  }
  if (a->step_count < KERNEL_MAX_STEPS)
    a->steps[a->step_count++] = (kernel_step){range->loop, range->is_lane, exact, stride, by};
  else a->random = true;
}

typedef struct terms {
  const kernel_walk *w;
  kernel_access *a;
  term todo[MAX_TERMS + 2];
  uint32_t count;
} terms;

static void push(terms *t, ir_ref ref, double factor, double by, bool exact) {
  if (t->w->nodes[ref].varies) t->todo[t->count++] = (term){ref, factor, by, exact};
  else t->a->low += factor * t->w->nodes[ref].value / by;
}

static void add_product(terms *t, const term *x) {
  const ir_node *n = ir_get(t->w->g, x->ref);
  double factor = 1;
  uint32_t many = 0;
  ir_ref moving = 0;
  bool constant = true;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    const kernel_node *s = &t->w->nodes[n->src[i]];
    constant &= s->varies || ir_op_of(t->w->g, n->src[i]) == IR_OP_CONST;
    if (s->varies) moving = n->src[i], many++;
    else factor *= s->value;
  }
  bool larger = fabs(factor) >= x->by; /* floor(factor * node / by) */
  if (many != 1) t->a->random = true;
  else if (larger) push(t, moving, x->factor * factor / x->by, 1, x->exact && constant);
  else if (factor > 0) push(t, moving, x->factor, x->by / factor, false);
}

/* An index from memory, or one that is none of a loop's: anywhere within its bounds. */
static void add_unknown(terms *t, const term *x) {
  const kernel_node *info = &t->w->nodes[x->ref];
  ir_bounds b = ir_bounds_of(t->w->g, x->ref);
  double values = b.lo == INT64_MIN || b.hi == INT64_MAX ? INFINITY : (double)b.hi - (double)b.lo + 1;
  double spread = fabs(x->factor) * values / x->by * t->a->element;
  t->a->random_lanes |= info->lanes;
  if (spread <= NEAR_BYTES) t->a->spread += spread;
  else t->a->random = true, t->a->random_home = kernel_deeper(t->w, t->a->random_home, info->home);
}

/* The terms of a node, or the node as an index that is anywhere. */
static void add_terms(terms *t, const term *x) {
  const ir_node *n = ir_get(t->w->g, x->ref);
  const kernel_node *info = &t->w->nodes[x->ref];
  bool room = t->count + n->nsrc + 1 <= MAX_TERMS;
  double by = n->nsrc > 1 ? t->w->nodes[n->src[1]].value : 1;
  bool divides = (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) && !t->w->nodes[n->src[1]].varies && by > 0;
  if (n->op == IR_OP_RANGE && info->loop) {
    add_step(t->a, info, x->factor, x->by, x->exact);
  } else if ((n->op == IR_OP_ADD || (n->op == IR_OP_SUB && n->nsrc == 2)) && room) {
    for (uint32_t i = 0; i < n->nsrc; i++)
      push(t, n->src[i], n->op == IR_OP_SUB && i ? -x->factor : x->factor, x->by, x->exact);
  } else if (n->op == IR_OP_MUL && room) {
    add_product(t, x);
  } else if (divides && n->op == IR_OP_FLOORDIV && room) {
    push(t, n->src[0], x->factor, x->by * by, false);
  } else if (divides && room) { /* x mod by = x - by * floor(x / by) */
    push(t, n->src[0], x->factor, x->by, false);
    push(t, n->src[0], -x->factor * by / x->by, fmax(by, x->by), false);
  } else if ((n->op == IR_OP_MIN || n->op == IR_OP_MAX || n->op == IR_OP_WHERE) && room) {
    for (uint32_t i = n->op == IR_OP_WHERE; i < n->nsrc; i++) { /* a clamped index: what varies */
      if (!t->w->nodes[n->src[i]].varies) continue;
      push(t, n->src[i], x->factor, x->by, false);
      break;
    }
  } else {
    add_unknown(t, x);
  }
}

void kernel_describe_access(const kernel_walk *w, ir_ref ref, kernel_access *out) {
  const ir_node *n = ir_get(w->g, ref), *buffer = ir_get(w->g, n->src[0]);
  terms t = {.w = w, .a = out};
  *out = (kernel_access){.buffer = n->src[0],
                         .index = n->src[1],
                         .home = w->nodes[ref].home,
                         .written = n->op != IR_OP_LOAD,
                         .streams = n->op == IR_OP_STORE && ir_streams(ir_arg_mode(n)),
                         .fetched = n->op == IR_OP_LOAD && ir_arg_int(n) != 0,
                         .element = ir_dtypes[buffer->dtype].bytes};
  out->size = buffer->nsrc ? w->nodes[buffer->src[0]].value * out->element : INFINITY;
  push(&t, n->src[1], 1, 1, true);
  while (t.count) {
    term x = t.todo[--t.count];
    add_terms(&t, &x);
  }
  out->high = out->low;
}

static double vector_stride(const kernel_walk *w, const kernel_access *a, bool *affine) {
  double stride = 0;
  *affine = true;
  for (uint32_t l = 0; l < w->lane_count; l++)
    if (w->lanes[l].vector && a->random_lanes >> l & 1) *affine = false;
  for (uint32_t i = 0; i < a->step_count; i++)
    if (a->steps[i].lane && w->lanes[a->steps[i].loop - 1].vector) {
      stride += a->steps[i].stride;
      *affine &= a->steps[i].exact || a->steps[i].stride == 0;
    }
  return stride;
}

bool kernel_is_affine(const kernel_walk *w, const kernel_access *a) {
  bool affine;
  vector_stride(w, a, &affine);
  return affine;
}

/* instructions */

/* The unrolled loop along which the elements are contiguous: its extent; else 0. */
static uint32_t contiguous_unrolled(const kernel_walk *w, const kernel_access *a) {
  for (uint32_t i = 0; i < a->step_count; i++)
    if (a->steps[i].lane && !w->lanes[a->steps[i].loop - 1].vector && a->steps[i].exact &&
        fabs(a->steps[i].stride) == 1)
      return w->lanes[a->steps[i].loop - 1].extent;
  return 0;
}

static uint32_t largest_power(uint32_t most) {
  uint32_t power = 1;
  while (2 * power <= most) power *= 2;
  return power;
}

/* A tile of width rows is read along unrolled values and transposed: log2 of its columns shuffles for each
 * register, and loads of rows, of which those of 16 bytes are put together by as many shuffles. */
static kernel_cost tile_cost(uint32_t width, uint32_t columns, double element, const ir_target *target) {
  double most = target->vector_bytes / element;
  columns = largest_power((uint32_t)fmin(fmin(columns, width), most));
  double rows = (double)width / columns;
  kernel_cost c = {.latency = LOAD_CYCLES + 3 * log2(columns)};
  c.unit[KERNEL_LOAD] = rows;
  c.unit[KERNEL_SHUFFLE] = log2(columns) * fmax(1, width * element / target->vector_bytes);
  if (rows > 1) c.unit[KERNEL_SHUFFLE] += rows / 2;
  return c;
}

/* Of single elements: each is loaded and inserted. Masked ones of four bytes and more are gathered, which
 * takes about as long as inserting (uops.info: VGATHERDPS of 16, 26 instructions in 11 to 16 cycles). */
static kernel_cost elements_cost(uint32_t width, bool masked) {
  kernel_cost c = {.latency = LOAD_CYCLES + 3.0 * log2(width) + 4};
  c.unit[KERNEL_LOAD] = width;
  c.unit[KERNEL_SHUFFLE] = width;
  if (masked) c.unit[KERNEL_ALU] = width;
  return c;
}

/* Loads or stores that move a register of so many bytes count as so many. */
static double ports_of(const kernel_walk *w, double bytes) { return w->rates->halves && bytes > 32 ? 2 : 1; }

/* Of one unrolled value. */
static kernel_cost load_cost(const kernel_walk *w, const ir_node *n, const kernel_access *a, uint32_t width) {
  bool affine, masked = !ir_is_true(w->g, n->src[2]);
  double stride = vector_stride(w, a, &affine), element = a->element;
  uint32_t moved = kernel_width(w, w->nodes[n->src[1]].lanes), columns = contiguous_unrolled(w, a);
  double registers = kernel_registers(moved, (int)element, w->target), ports = ports_of(w, moved * element);
  if (moved == 1 || (affine && stride == 0)) /* for each element the same */
    return (kernel_cost){.unit = {[KERNEL_LOAD] = 1, [KERNEL_OTHER] = masked ? 2 : 0},
                         .latency = LOAD_CYCLES};
  if (affine && fabs(stride) == 1) {
    kernel_cost c = {.unit = {[KERNEL_LOAD] = ports * registers, [KERNEL_ALU] = masked ? registers : 0},
                     .latency = LOAD_CYCLES + 1};
    if (stride < 0) c.unit[KERNEL_SHUFFLE] += registers, c.latency += 3;
    return c;
  }
  bool picked = affine && stride > 1 && stride <= IR_MAX_PICKED_STEP && width >= 4,
       by_mask = masked && w->target->has_masks && element >= 4;
  if (picked && (!masked || by_mask)) { /* a mask goes to the places of its lanes as they do */
    double shuffles = (stride - 1) * registers, masks = by_mask ? stride * registers : 0;
    return (kernel_cost){.unit = {[KERNEL_LOAD] = ports * stride * registers,
                                  [KERNEL_SHUFFLE] = shuffles + masks,
                                  [KERNEL_ALU] = masks},
                         .latency = LOAD_CYCLES + 3 * stride};
  }
  if (!masked && columns > 1 && affine) return tile_cost(moved, columns, element, w->target);
  return elements_cost(moved, masked || !affine);
}

static kernel_cost store_cost(const kernel_walk *w, const kernel_access *a, uint32_t width) {
  bool affine;
  double stride = vector_stride(w, a, &affine),
         registers = kernel_registers(width, (int)a->element, w->target),
         stores = ports_of(w, width * a->element) * registers;
  uint32_t alternating = contiguous_unrolled(w, a);
  if (width == 1 || (affine && (stride == 0 || fabs(stride) == 1)))
    return (kernel_cost){.unit = {[KERNEL_STORE] = stores, [KERNEL_SHUFFLE] = stride < 0 ? registers : 0}};
  if (affine && alternating > 1 && alternating == stride && alternating <= IR_MAX_INTERLEAVED)
    return (kernel_cost){.unit = {[KERNEL_STORE] = stores, [KERNEL_SHUFFLE] = (stride - 1) * registers}};
  /* Lanes whose lines lie in one set of an L1 cache push one another out before the next element of a line is
   * stored: 256 channels of 16 x 16, in windows of 9 x 9, with lanes along lines of positions take 0.24 ms,
   * of which 0.06 are these stores (Zen 4). */
  enum { SET_BYTES = 4096 }; /* because lines so far apart are in one set of 32 to 64 KiB of 8 to 16 ways */
  enum { WAYS = 8 };       /* because up to eight lanes stay in their set, and 16 take three times as long */
  enum { PUSHED_OUT = 4 }; /* stores that such a one takes as long as, because of the 0.06 ms above */
  bool one_set = affine && width > WAYS && fmod(fabs(stride) * a->element, SET_BYTES) == 0;
  return (kernel_cost){
      .unit = {[KERNEL_STORE] = width * (one_set ? PUSHED_OUT : 1), [KERNEL_SHUFFLE] = width}};
}

/* Elements one after another, each under a branch where it may be invalid. */
static kernel_cost update_cost(const kernel_walk *w, const ir_node *n, const kernel_access *a,
                               uint32_t width) {
  /* until a load sees what a store before it wrote: four to five from Skylake on (A. Fog's tables) */
  enum { FORWARD_CYCLES = 5 };
  bool affine, adds = n->arg == IR_OP_ADD;
  double stride = vector_stride(w, a, &affine);
  bool masked = !adds && w->target->has_masks; /* a store under a mask */
  bool whole =
      width == 1 || (affine && stride == 1 && (masked || kernel_width(w, w->nodes[n->src[2]].lanes) == 1));
  double count = whole ? kernel_registers(width, (int)a->element, w->target) : width;
  kernel_cost c = {.unit = {[KERNEL_STORE] = count,
                            [KERNEL_LOAD] = adds ? count : 0,
                            [KERNEL_ALU] = adds ? count : 0,
                            [KERNEL_OTHER] = 2 * count}};
  if (!whole) c.unit[KERNEL_SHUFFLE] = 2.0 * width;
  if (adds) c.latency = FORWARD_CYCLES + 4; /* and an addition's */
  return c;
}

kernel_cost kernel_access_cost(const kernel_walk *w, ir_ref ref, const kernel_access *a) {
  const ir_node *n = ir_get(w->g, ref);
  ir_dtype dtype = ir_dtype_of(w->g, n->src[0]);
  uint32_t width = kernel_width(w, w->nodes[ref].lanes);
  double unrolled = kernel_unrolled(w, w->nodes[ref].lanes);
  kernel_cost c = n->op == IR_OP_LOAD    ? load_cost(w, n, a, width)
                  : n->op == IR_OP_STORE ? store_cost(w, a, width)
                                         : update_cost(w, n, a, width),
              form = kernel_storage_cost(dtype, width, w->target), all = {0};
  all.latency = c.latency + form.latency;
  kernel_add(&all, &c, unrolled);
  kernel_add(&all, &form, unrolled);
  return all;
}
