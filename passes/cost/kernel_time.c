/* The walk over a kernel: where each operation is executed, how often, and what waits for what. */
#include "passes/cost/kernel_time.h"

#include <math.h>

#include "ir/elementary/elementary.h"
#include "passes/cost/kernel_walk.h"

enum {
  LOOP_INSTRUCTIONS = 2, /* of an iteration: counting and the branch, which are one on most processors, and
                            an address */
  /* Instructions that a processor looks ahead: it begins those whose operands are there. Schedulers hold
   * about two hundred that wait (Golden Cove 97 + 70 + 38), all in all a processor holds 450 to 512 (Zen 5,
   * Golden Cove) */
  WINDOW = 320,
  LAUNCH_NS = 300 /* of a step that computes nothing, measured on Sapphire Rapids */
};

/* A line takes 4 ns from the L2 cache, about 70 from the L3 cache of a server and 110 from memory. About
 * fourteen are on the way at a time. Measured on Sapphire Rapids: copies of rows of 256 bytes of matrices
 * with rows of 2 to 8 KiB. */
static const double jump_ns[PASS_LEVELS] = {0.6, 4, 8};

static const double DEFAULT_GHZ = 3.0; /* of servers with all cores at work: 2.6 to 3.7 */

/* The part of a cache up to which it holds all that is touched: pages are not spread evenly over its sets,
 * and lines are not replaced in the order in which they were touched last. Reading again and again from an L2
 * cache of 2 MiB (Xeon with AVX-512 FP16): 189 GB/s up to 0.63 of its size, 124 at 0.75, 75 at 1, 34 at 1.5,
 * and 31, as from the L3 cache, from 1.75 on. */
static const double HELD_SHARE = 0.75;

double kernel_lost_share(double touched, double size) {
  return fmin(fmax(touched / size - HELD_SHARE, 0), 1);
}

double kernel_lost_from_last(const pass_rates *r, double touched) {
  int i = 0;
  while (i < r->lost_count && touched > r->lost[i].bytes) i++;
  if (i == 0) return r->lost_count ? r->lost[0].share : 1;
  if (i == r->lost_count) return r->lost[i - 1].share;
  double along = (touched - r->lost[i - 1].bytes) / (r->lost[i].bytes - r->lost[i - 1].bytes);
  return r->lost[i - 1].share + along * (r->lost[i].share - r->lost[i - 1].share);
}

/* Bytes in a cycle of one core, measured on Sapphire Rapids; Zen 4 has 32, 20 and 8 to read. */
pass_rates pass_rates_of(const ir_target *target) {
  double width = target->vector_bytes >= 64 ? 48 : 32;
  return (pass_rates){
      .ghz = DEFAULT_GHZ,
      .read = {width * DEFAULT_GHZ, 8 * DEFAULT_GHZ, 5 * DEFAULT_GHZ},
      .write = {width / 2 * DEFAULT_GHZ, 8 * DEFAULT_GHZ, 5 * DEFAULT_GHZ},
      .jump_ns = {jump_ns[0], jump_ns[1], jump_ns[2]},
      .lost = {{HELD_SHARE * (double)target->l3_bytes, 0}, {(1 + HELD_SHARE) * (double)target->l3_bytes, 1}},
      .lost_count = 2,
  };
}

uint32_t kernel_width(const kernel_walk *w, uint64_t lanes) {
  for (uint32_t l = 0; l < w->lane_count; l++)
    if (lanes >> l & 1 && w->lanes[l].vector) return w->lanes[l].extent;
  return 1;
}

double kernel_unrolled(const kernel_walk *w, uint64_t lanes) {
  double product = 1;
  for (uint32_t l = 0; l < w->lane_count; l++)
    if (lanes >> l & 1 && !w->lanes[l].vector) product *= w->lanes[l].extent;
  return product;
}

/* loops */

static bool is_lane(int binding) { return binding == IR_UNROLL || binding == IR_VECTOR; }

static bool find_loops(kernel_walk *w) {
  ir_graph *g = w->g;
  if (!IR_RESERVE(g->mem, w->loops, w->loop_cap, 1)) return false;
  w->loops[w->loop_count++] = (kernel_loop){.trips = 1, .entries = 1};
  for (size_t i = 0; i < w->regions.count; i++) {
    ir_ref ref = w->regions.order[i];
    w->nodes[ref] = (kernel_node){.chain = -1};
    if (!ir_is_loop(g, ref)) continue;
    const ir_node *n = ir_get(g, ref);
    int64_t extent = 1;
    if (is_lane(ir_arg_mode(n))) {
      ir_is_const(g, ir_src(g, n->src[0], 0), &extent);
      if (w->lane_count < KERNEL_MAX_LANES) w->lane_count++;
      w->lanes[w->lane_count - 1] = (kernel_lane){ref, (uint32_t)extent, ir_arg_mode(n) == IR_VECTOR};
      w->nodes[ref].loop = w->lane_count, w->nodes[ref].is_lane = true;
    } else {
      if (!IR_RESERVE(g->mem, w->loops, w->loop_cap, w->loop_count + 1)) return false;
      w->nodes[ref].loop = (uint32_t)w->loop_count;
      w->loops[w->loop_count++] = (kernel_loop){.node = ref};
    }
  }
  return true;
}

/* The innermost loop that runs around a loop or effect. */
static uint32_t loop_around(const kernel_walk *w, ir_ref ref) {
  ir_ref region = ir_region_of(&w->regions, ref);
  while (region && w->nodes[region].is_lane) region = ir_region_of(&w->regions, region);
  return region ? w->nodes[region].loop : 0;
}

static void set_outer_loops(kernel_walk *w) {
  for (size_t i = w->loop_count; i-- > 1;) { /* outer loops come later */
    w->loops[i].outer = loop_around(w, w->loops[i].node);
    w->loops[i].depth = w->loops[w->loops[i].outer].depth + 1;
  }
}

uint32_t kernel_deeper(const kernel_walk *w, uint32_t a, uint32_t b) {
  return w->loops[b].depth > w->loops[a].depth ? b : a;
}

/* places */

static void place_range(kernel_walk *w, ir_ref ref, kernel_node *info) {
  ir_ref loop = w->regions.loop_of[ref];
  info->varies = true;
  if (!loop) return;
  info->loop = w->nodes[loop].loop, info->is_lane = w->nodes[loop].is_lane;
  if (info->is_lane) info->lanes = (uint64_t)1 << (info->loop - 1);
  else info->home = info->loop;
  if (!info->is_lane && w->loops[info->loop].trips == 0) /* once */
    w->loops[info->loop].trips = kernel_mean_trips(w, ir_src(w->g, ref, 0));
  info->value = kernel_index_value(w, ref);
}

/* Lanes of a carried value are known when those of the loop are: the walk is made twice. */
static void place_carry(kernel_walk *w, ir_ref ref, kernel_node *info) {
  ir_ref range = ir_src(w->g, ref, 0), loop = w->regions.loop_of[range];
  info->varies = true;
  if (!loop) return;
  info->loop = w->nodes[loop].loop, info->is_lane = w->nodes[loop].is_lane;
  if (!info->is_lane) info->home = info->loop, info->lanes = w->nodes[loop].lanes;
}

static void place_loop(kernel_walk *w, ir_ref ref, kernel_node *info) {
  const ir_node *n = ir_get(w->g, ref);
  uint64_t lanes = 0;
  for (uint32_t i = 1; i < n->nsrc; i++) lanes |= w->nodes[n->src[i]].lanes;
  if (info->is_lane) lanes &= ~((uint64_t)1 << (info->loop - 1));
  info->varies = true, info->lanes = lanes;
  info->home = loop_around(w, ref);
}

/* Is it a constant, a range that is unrolled, or made of these alone? */
static bool is_known(const kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  const kernel_node *info = &w->nodes[ref];
  if (n->op == IR_OP_CONST) return true;
  if (n->op == IR_OP_RANGE) return info->is_lane && !w->lanes[info->loop - 1].vector;
  bool known = n->nsrc > 0 && (n->dtype == IR_INDEX || n->dtype == IR_BOOL) && n->op != IR_OP_LOAD &&
               n->op != IR_OP_CARRY && n->op != IR_OP_LOOP && n->op != IR_OP_GET;
  for (uint32_t i = 0; i < n->nsrc && known; i++) known = w->nodes[n->src[i]].known;
  return known;
}

static void place(kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_node *info = &w->nodes[ref];
  if (n->op == IR_OP_RANGE) place_range(w, ref, info);
  else if (n->op == IR_OP_CARRY) place_carry(w, ref, info);
  else if (n->op == IR_OP_LOOP && info->loop) place_loop(w, ref, info);
  else if (n->op != IR_OP_PARAM && n->op != IR_OP_VAR) {
    uint64_t lanes = 0;
    uint32_t home = 0;
    bool varies = n->op == IR_OP_LOAD;
    for (uint32_t i = 0; i < n->nsrc; i++) {
      const kernel_node *s = &w->nodes[n->src[i]];
      lanes |= s->lanes, home = kernel_deeper(w, home, s->home), varies |= s->varies;
    }
    info->lanes = lanes, info->home = home, info->varies = varies;
    if (n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) info->home = loop_around(w, ref);
    else if (n->dtype == IR_NONE) info->lanes = 0;
  }
  info->known = is_known(w, ref);
  if (n->op == IR_OP_VAR || n->dtype == IR_INDEX || n->dtype == IR_BOOL || n->op == IR_OP_CONST)
    info->value = kernel_index_value(w, ref);
}

/* What is in locals stays in the loop that writes it. */
static void place_all(kernel_walk *w) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < w->regions.count; i++) place(w, w->regions.order[i]);
  for (size_t i = w->loop_count; i-- > 1;) {
    kernel_loop *l = &w->loops[i]; /* outer loops have larger numbers */
    const kernel_loop *o = &w->loops[l->outer];
    l->entries = o->entries * o->trips;
  }
}

/* needs */

static void need(kernel_walk *w, ir_ref ref, kernel_need how) {
  if (w->nodes[ref].need < how) w->nodes[ref].need = (uint8_t)how;
}

/* Is it a product with a power of two that AVX-512 has an instruction for (codegen/llvm/scale.c)? */
static bool is_scaled(const kernel_walk *w, ir_ref ref, ir_scaled *out) {
  return w->target->vector_bytes >= 64 && ir_read_scaled(w->g, ref, out);
}

static void need_operands(kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_need how = (kernel_need)w->nodes[ref].need;
  ir_scaled scaled;
  if (n->op == IR_OP_LOOP) {
    bool carries = w->nodes[ref].is_lane && ir_loop_carries(w->g, ref);
    for (uint32_t i = 1; i < n->nsrc; i++) {
      bool next = carries && i > ir_loop_carries(w->g, ref) && i <= 2 * ir_loop_carries(w->g, ref);
      const ir_node *op = ir_get(w->g, n->src[i]);
      for (uint32_t k = 0; next && k < op->nsrc; k++) need(w, op->src[k], KERNEL_VALUE);
      if (!next) need(w, n->src[i], KERNEL_VALUE);
    }
    need(w, n->src[0], KERNEL_ADDRESS);
  } else if (n->op == IR_OP_RANGE) {
    need(w, n->src[0], KERNEL_ADDRESS);
  } else if (n->op == IR_OP_RARE) {
    need(w, n->src[0], how), need(w, n->src[2], how);
  } else if (n->op == IR_OP_LOAD || n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) {
    kernel_access a;
    kernel_describe_access(w, ref, &a);
    need(w, n->src[1], kernel_is_affine(w, &a) ? KERNEL_ADDRESS : KERNEL_VALUE);
    for (uint32_t i = 2; i < n->nsrc; i++)
      if (n->op != IR_OP_UPDATE || i < 4) need(w, n->src[i], KERNEL_VALUE);
  } else if (is_scaled(w, ref, &scaled)) {
    need(w, scaled.p, how), need(w, scaled.s, how);
    if (scaled.zero) need(w, scaled.zero, how);
  } else {
    for (uint32_t i = 0; i < n->nsrc; i++) need(w, n->src[i], how);
  }
}

static void find_needs(kernel_walk *w, ir_ref kernel) {
  need(w, kernel, KERNEL_VALUE);
  for (size_t i = w->regions.count; i-- > 0;)
    if (w->nodes[w->regions.order[i]].need) need_operands(w, w->regions.order[i]);
}

/* costs */

/* The longest path to the operands that are computed in the same iteration. */
static void set_path(kernel_walk *w, ir_ref ref, double latency) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_node *info = &w->nodes[ref];
  uint32_t count = n->op == IR_OP_LOOP ? 1 + ir_loop_carries(w->g, ref) : n->nsrc;
  for (uint32_t i = n->op == IR_OP_LOOP; i < count; i++) {
    const kernel_node *s = &w->nodes[n->src[i]];
    if (s->home != info->home || !s->need) continue;
    info->path = fmax(info->path, s->path);
    info->chain = fmax(info->chain, s->chain);
  }
  info->path += latency;
  if (info->chain >= 0) info->chain += latency;
  kernel_loop *l = &w->loops[info->home];
  l->path = fmax(l->path, info->path);
}

/* What a store, whose path is known, waits for: chains of operations that follow each other in the code of an
 * iteration overlap as far as a processor looks ahead. A vector of what remains of a row, which computes as
 * much as one of the loop before, ends long after the next one has begun only if both are in sight. */
static void end_chain(kernel_walk *w, ir_ref store) {
  kernel_loop *l = &w->loops[w->nodes[store].home];
  double all = kernel_instructions(&l->own), instructions = all - l->ended;
  l->waits += w->nodes[store].path * fmin(instructions / WINDOW, 1);
  l->ended = all;
}

/* A reduction over lanes: halves are combined until one is left. */
static void add_lane_loop(kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_node *info = &w->nodes[ref];
  uint32_t carries = ir_loop_carries(w->g, ref);
  const kernel_lane *lane = &w->lanes[info->loop - 1];
  double latency = 0;
  for (uint32_t i = 0; i < carries; i++) {
    ir_ref next = n->src[1 + carries + i];
    uint32_t width = kernel_width(w, info->lanes);
    double results = kernel_unrolled(w, info->lanes), steps = lane->vector ? log2(lane->extent) : 0;
    kernel_cost one = kernel_cost_of(w->g, next, lane->vector ? lane->extent : width, w->target);
    kernel_add(&w->loops[info->home].own, &one, results * (lane->vector ? steps + 1 : lane->extent));
    if (lane->vector) w->loops[info->home].own.unit[KERNEL_SHUFFLE] += results * (steps + 1);
    double levels = log2(lane->extent) + 1;
    latency = fmax(latency, levels * (one.latency + (lane->vector ? 3 : 0)));
    const ir_node *op = ir_get(w->g, next);
    for (uint32_t k = 0; k < op->nsrc; k++)
      if (w->nodes[op->src[k]].home == info->home && ir_op_of(w->g, op->src[k]) != IR_OP_CARRY)
        info->path = fmax(info->path, w->nodes[op->src[k]].path);
  }
  set_path(w, ref, latency);
}

/* A loop that runs, whose body is complete. */
static void add_running_loop(kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_loop *l = &w->loops[w->nodes[ref].loop];
  double chain = 0, instructions = l->inner_count;
  uint32_t carries = ir_loop_carries(w->g, ref);
  for (uint32_t i = 0; i < carries; i++) {
    const kernel_node *next = &w->nodes[n->src[1 + carries + i]];
    if (next->home == w->nodes[ref].loop) chain = fmax(chain, next->chain);
  }
  l->own.unit[KERNEL_OTHER] += LOOP_INSTRUCTIONS;
  instructions += kernel_instructions(&l->own);
  double busy = kernel_cycles(&l->own, w->target) + l->inner;
  double iteration = fmax(busy, fmax(l->path / fmax(WINDOW / instructions, 1), l->waits));
  double waiting = l->trips * chain, all = l->trips * instructions;
  double cycles = fmax(l->trips * iteration, waiting * fmin(all / WINDOW, 1));
  kernel_loop *outer = &w->loops[w->nodes[ref].home];
  outer->inner += cycles;
  outer->inner_count += all;
  set_path(w, ref, waiting + l->path);
}

static bool add_access(kernel_walk *w, ir_ref ref) {
  if (!IR_RESERVE(w->g->mem, w->accesses, w->access_cap, w->access_count + 1)) return false;
  kernel_access *a = &w->accesses[w->access_count++];
  kernel_describe_access(w, ref, a);
  kernel_node *buffer = &w->nodes[a->buffer];
  a->next = buffer->loop; /* of a buffer: its last access */
  buffer->loop = (uint32_t)w->access_count;
  kernel_join_access(w, a);
  kernel_cost c = kernel_access_cost(w, ref, a);
  kernel_add(&w->loops[w->nodes[ref].home].own, &c, 1);
  set_path(w, ref, c.latency);
  if (a->written) end_chain(w, ref);
  return true;
}

static void add_operation(kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_node *info = &w->nodes[ref];
  ir_scaled scaled;
  uint32_t width = kernel_width(w, info->lanes);
  bool index = n->dtype == IR_INDEX;
  bool folded = index && info->need == KERNEL_ADDRESS && n->op != IR_OP_FLOORDIV && n->op != IR_OP_MOD;
  folded |= info->known || (n->op == IR_OP_WHERE && w->nodes[n->src[0]].known); /* when code is made */
  kernel_cost c = {0};
  if (is_scaled(w, ref, &scaled))
    c = (kernel_cost){.unit = {[KERNEL_ALU] = 3 * kernel_registers(width, 4, w->target)}, .latency = 8};
  else if (!folded) c = kernel_cost_of(w->g, ref, width, w->target);
  kernel_fit_units(w, n, (double)width * kernel_register_bytes((ir_dtype)n->dtype), &c);
  kernel_add(&w->loops[info->home].own, &c, kernel_unrolled(w, info->lanes));
  set_path(w, ref, c.latency);
}

static bool add_node(kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  kernel_node *info = &w->nodes[ref];
  if (!info->need) return true;
  if (n->op == IR_OP_LOOP && info->loop) {
    if (info->is_lane) add_lane_loop(w, ref);
    else add_running_loop(w, ref);
    return true;
  }
  if (n->op == IR_OP_LOAD || n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) return add_access(w, ref);
  if (n->op == IR_OP_CARRY && !info->is_lane) info->chain = 0;
  if (n->nsrc && n->dtype != IR_NONE && ir_ops[n->op].cls != IR_CLASS_LEAF && n->op != IR_OP_CARRY &&
      n->op != IR_OP_RANGE && n->op != IR_OP_GET && n->op != IR_OP_TUPLE)
    add_operation(w, ref);
  else if (n->op == IR_OP_GET) set_path(w, ref, 0);
  return true;
}

static bool add_all(kernel_walk *w) {
  for (size_t i = 0; i < w->regions.count; i++)
    if (!add_node(w, w->regions.order[i])) return false;
  return true;
}

/* Prefetches bring lines from far while a core computes. Lines from the L2 cache arrive through ports that
 * loads use, and loads wait for them: of their time this part adds to computing. Products of 512 to 2048
 * rows on Sapphire Rapids, whose panels are in the L2 cache, take 0.54 to 0.7 of it longer. */
static const double NEAR_SHARE = 0.6;

double pass_time_together(const pass_kernel_time *t, double threads) {
  double computing = t->computing_ns / threads, moving = t->memory_ns,
         alone = computing + (NEAR_SHARE * t->near_ns + t->exposed_ns) / threads;
  return fmax(alone, moving) + t->bare_share * fmin(computing, moving) + t->jumps_ns / threads;
}

static bool compute(kernel_walk *w, ir_ref kernel, pass_kernel_time *time) {
  const pass_rates own = pass_rates_of(w->target), *rates = w->request->rates ? w->request->rates : &own;
  *time = (pass_kernel_time){.bare_share = rates->bare_share};
  w->rates = rates;
  if (!find_loops(w)) return false;
  set_outer_loops(w);
  place_all(w);
  find_needs(w, kernel);
  if (!add_all(w)) return false;
  kernel_memory_time(w, time);
  double cycles = kernel_cycles(&w->loops[0].own, w->target) + w->loops[0].inner;
  time->computing_ns =
      fmax(cycles, w->loops[0].path * fmin(w->loops[0].inner_count / WINDOW, 1)) / rates->ghz;
  time->ns = LAUNCH_NS + pass_time_together(time, 1);
  return true;
}

bool pass_kernel_time_on(ir_graph *g, ir_ref kernel, const ir_target *target,
                         const pass_time_request *request, pass_kernel_time *time) {
  kernel_walk w = {.g = g, .target = target, .request = request};
  if (target->vector_bytes <= 0 || ir_op_of(g, kernel) != IR_OP_KERNEL) return false;
  if (ir_regions_find(g, kernel, &w.regions) != IR_OK) return false;
  size_t size = w.regions.limit * sizeof *w.nodes;
  w.nodes = ir_alloc(g->mem, size);
  bool done = w.nodes && compute(&w, kernel, time);
  if (!done) ir_fail(g->error, IR_ERR_MEMORY, "out of memory predicting a kernel's time");
  ir_free(g->mem, w.nodes, w.nodes ? size : 0);
  ir_free(g->mem, w.loops, w.loop_cap * sizeof *w.loops);
  ir_free(g->mem, w.accesses, w.access_cap * sizeof *w.accesses);
  ir_regions_free(&w.regions);
  return done;
}

bool pass_kernel_time_of(ir_graph *g, ir_ref kernel, const ir_target *target, pass_kernel_time *time) {
  pass_time_request none = {0};
  return pass_kernel_time_on(g, kernel, target, &none, time);
}
