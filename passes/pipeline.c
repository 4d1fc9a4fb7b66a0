/* The compiler in one table: one row for each step that changes the program. Steps over the graph run once,
 * steps over a kernel once for each kernel step of the plan. */
#include "passes/pipeline/state.h"

#include "ir/regions.h"
#include "passes/alternatives/alternatives.h"
#include "passes/batch/batch.h"
#include "passes/batch_stream/batch_stream.h"
#include "passes/cost/cost.h"
#include "passes/domain/domain.h"
#include "passes/fold/fold.h"
#include "passes/fuse/recomputed.h"
#include "passes/index/index.h"
#include "passes/layout/layout.h"
#include "passes/loops/cpu/cpu.h"
#include "passes/loops/gpu/gpu.h"
#include "passes/lower/lower.h"
#include "passes/pack/pack.h"
#include "passes/schedule/in_place.h"
#include "passes/schedule/overlap.h"
#include "passes/schedule/run_once.h"
#include "passes/schedule/schedule.h"
#include "passes/strategy.h"

#include <string.h>

/* Rewrites the results and the inputs together. */
static void rewrite_with_inputs(pass_state *s, bool (*rewrite)(ir_graph *g, ir_ref *roots, size_t n)) {
  size_t count = s->options->input_count;
  if (!s->roots && !(s->roots = ir_alloc(s->g->mem, (1 + count) * sizeof *s->roots))) {
    ir_fail(s->error, IR_ERR_MEMORY, "out of memory making batch axes or sizes ordinary");
    s->root = 0;
    return;
  }
  s->roots[0] = s->root;
  if (count) memmove(s->roots + 1, s->inputs, count * sizeof *s->roots);
  s->root = rewrite(s->g, s->roots, 1 + count) ? s->roots[0] : 0;
  s->inputs = s->roots + 1;
}

static void physicalize(pass_state *s) {
  if (s->g->batches_cap) rewrite_with_inputs(s, pass_physicalize);
}

static void known_sizes(pass_state *s) {
  if (pass_has_known_sizes(s->g)) rewrite_with_inputs(s, pass_known_sizes);
}

static void fuse_scans(pass_state *s) { s->root = pass_fuse_scans(s->g, s->root); }

static void lower(pass_state *s) {
  s->root = pass_lower(s->g, s->root, s->strategy, s->options->target->sorts);
}

static void split_reductions(pass_state *s) { s->root = pass_split_reductions(s->g, s->root, s->strategy); }

static void channels_last(pass_state *s) { s->root = pass_channels_last(s->g, s->root); }

static void order_reductions(pass_state *s) { s->root = pass_order_reductions(s->g, s->root); }

static void order_results(pass_state *s) { s->root = pass_order_results(s->g, s->root); }

static void integer_sums(pass_state *s) { s->root = pass_integer_sums(s->g, s->root); }

static void table_bytes(pass_state *s) { s->root = pass_table_bytes(s->g, s->root); }

static void store_constants(pass_state *s) {
  s->root = pass_store_constants(s->g, s->root, s->options->target);
}

static void store_recomputed(pass_state *s) { s->root = pass_store_recomputed(s->g, s->root, s->strategy); }

static void copy_operands(pass_state *s) {
  s->root = pass_pack_copies(s->g, s->root, s->options->target, s->strategy);
}

static void hoist_invariants(pass_state *s) { s->root = pass_hoist_invariants(s->g, s->root); }

static void read_copies(pass_state *s) { s->root = pass_pack_reuse(s->g, s->root, s->strategy); }

static void batch_stream(pass_state *s) { s->root = pass_batch_stream(s->g, s->root, s->options->target); }

static void schedule(pass_state *s) {
  const pass_options *o = s->options;
  if (pass_schedule(s->g, s->root, o->target, s->strategy, s->inputs, o->input_count, s->not_fused, s->stored,
                    s->plan, s->error) != IR_OK)
    s->root = 0;
}

void pipeline_set_slots(pass_state *s) {
  ir_step *l = s->step;
  uint32_t *slots = s->root ? ir_resize(s->g->mem, l->slots, l->slot_count * sizeof *slots,
                                        s->slots.param_count * sizeof *slots)
                            : NULL;
  if (!slots) {
    ir_fail(s->error, IR_ERR_MEMORY, "out of memory folding a kernel");
    s->root = 0;
    return;
  }
  memcpy(slots, s->slots.params, s->slots.param_count * sizeof *slots);
  l->slots = slots;
  l->slot_count = s->slots.param_count;
}

static void fold_views(pass_state *s) {
  const ir_row_group *row_group = &s->step->row_group;
  s->root = row_group->count ? pass_fold_row_group(s->g, row_group, &s->slots)
                             : pass_fold(s->g, s->step->kernel, s->step->slots[0], &s->slots);
  if (!s->root && row_group->count && s->slots.refused)
    ir_fail(s->error, IR_ERR_INTERNAL,
            "fold: a fused row group reads a value where another iteration computes it");
  pipeline_set_slots(s);
}

static void mask_rows(pass_state *s) {
  if (!s->step->row_group.block) s->root = pass_row_group_mask(s->g, s->root);
}

static void elementary(pass_state *s) { s->root = pass_elementary(s->g, s->root); }

static void crop(pass_state *s) { s->root = pass_crop(s->g, s->root, s->strategy->crops_innermost); }

static void refine(pass_state *s) { s->root = pass_refine(s->g, s->root); }

static void peel(pass_state *s) { s->root = pass_peel(s->g, s->root); }

static void drop_params(pass_state *s) {
  s->root = pass_drop_params(s->g, s->root, &s->slots);
  pipeline_set_slots(s);
}

static void stream(pass_state *s) { s->root = loop_stream(s->g, s->root, s->options->target); }

static void prefetch_rows(pass_state *s) { s->root = loop_prefetch_rows(s->g, s->root, s->options->target); }

static void separate_stores(pass_state *s) { s->root = loop_separate_stores(s->g, s->root); }

static void stage_tiles(pass_state *s) { s->root = loop_stage_tiles(s->g, s->root, s->options->target); }

static void reduce_across_items(pass_state *s) {
  s->root = loop_reduce_across_items(s->g, s->root, s->options->target);
}

static void loops(pass_state *s) {
  pass_shaping *shaping = s->options->shaping;
  if (shaping && shaping->enter) shaping->enter(shaping->user, shaping->kernel, s->g, s->before);
  ir_ref kernel = s->step->kernel = s->root =
      pass_loops(s->g, s->root, s->options->target, s->strategy, shaping);
  if (shaping) shaping->kernel++;
  if (!kernel) return;
  s->step->count = ir_src(s->g, ir_src(s->g, ir_thread_loop(s->g, kernel), 0), 0);
  s->step->magnitude = pass_index_magnitude(s->g, kernel);
  if (!s->step->magnitude) s->root = 0;
}

static void regroup(pass_state *s);
static void compare_alternatives(pass_state *s);
static void write_in_place(pass_state *s);

/* The verifier checks graphs and kernels at the level of the operations that they hold. */
#define GRAPH          PASS_ON_GRAPH, IR_LEVEL_TENSOR
#define KERNEL         PASS_ON_KERNEL, IR_LEVEL_LOOP
#define GRAPH_OF_PLAN  PASS_ON_GRAPH | PASS_OF_PLAN, IR_LEVEL_TENSOR
#define KERNEL_OF_PLAN PASS_ON_KERNEL | PASS_OF_PLAN, IR_LEVEL_LOOP

const pass_info pass_table[] = {
    /* name, pass, function, scope and level, machines, needs, establishes, runs again */
    {"physicalize", "physicalize", physicalize, GRAPH, PASS_BOTH, "recorded graph",
     "no batch axes: they are ordinary ones", NULL},
    {"sizes", "lower", known_sizes, GRAPH, PASS_BOTH, "no batch axes",
     "numbers in place of variables of one value", NULL},
    {"scans", "lower", fuse_scans, GRAPH, PASS_BOTH, "no batch axes",
     "one scan in place of several over the same operands and states", NULL},
    {"lower", "lower", lower, GRAPH, PASS_BOTH, "no batch axes",
     "primitive operations, and sorts where the target has steps for them; values that views transpose in "
     "long rows are stored",
     NULL},
    {"channels", "lower", channels_last, GRAPH, PASS_CPU, "primitive operations",
     "images with their channels last, where convolutions sum over these", NULL},
    {"reductions", "lower", order_reductions, GRAPH, PASS_BOTH, "primitive operations",
     "reductions of transposed views in the order of memory", NULL},
    {"order", "lower", order_results, GRAPH, PASS_BOTH, "primitive operations",
     "products in the order in which their results are read", NULL},
    {"integers", "lower", integer_sums, GRAPH, PASS_BOTH, "primitive operations",
     "sums of products of dequantized bytes in integers", NULL},
    {"tables", "lower", table_bytes, GRAPH, PASS_CPU, "primitive operations",
     "functions of one byte in tables, where computing them costs more", NULL},
    {"constants", "pack", store_constants, GRAPH, PASS_BOTH, "primitive operations",
     "what depends on constants alone is stored, where others read it", NULL},
    {"values", "pack", store_recomputed, GRAPH, PASS_BOTH, "primitive operations",
     "no value computed again and again where reading it costs less", NULL},
    {"split", "pack", split_reductions, GRAPH, PASS_BOTH, "primitive operations",
     "long reductions in two steps, but for sums of products with tiles", NULL},
    {"copies", "pack", copy_operands, GRAPH, PASS_BOTH, "primitive operations",
     "operands of contractions in the order in which tiles read them; narrow integers in words", NULL},
    {"invariants", "pack", hoist_invariants, GRAPH, PASS_BOTH, "primitive operations",
     "what a loop stores of operands that no iteration changes is stored before it", NULL},
    {"pack", "pack", read_copies, GRAPH, PASS_BOTH, "primitive operations",
     "no value computed from several tensors again where it is stored", NULL},
    {"parts", "parts", batch_stream, GRAPH, PASS_CPU, "primitive operations",
     "large products as scans over their batch", NULL},
    {"schedule", "schedule", schedule, GRAPH_OF_PLAN, PASS_BOTH, "primitive operations",
     "a plan: a step for each value that lies in memory, or for several in one loop over rows", NULL},
    {"regroup", "regroup", regroup, GRAPH_OF_PLAN, PASS_BOTH, "a plan",
     "a plan whose row groups of symbolic sizes folding accepts", "schedule"},
    {"in_place", "in_place", write_in_place, GRAPH_OF_PLAN, PASS_BOTH, "a plan",
     "a plan whose writes change the memory of values that nothing needs any more", "schedule"},
    {"alternatives", "alternatives", compare_alternatives, GRAPH_OF_PLAN, PASS_CPU, "a plan",
     "a plan that stores what kernels would take longer without", NULL},
    {"views", "fold", fold_views, KERNEL_OF_PLAN, PASS_BOTH, "one step of a plan",
     "one scalar expression; no views", NULL},
    {"fold", "fold", mask_rows, KERNEL, PASS_BOTH, "scalar expressions",
     "no elements of a row group behind the end of a causal mask", NULL},
    {"index", "index", pipeline_extract_accesses, KERNEL, PASS_BOTH, "scalar expressions",
     "indices and validities of loads in their cheapest form", NULL},
    {"elementary", "elementary", elementary, KERNEL, PASS_BOTH, "scalar expressions",
     "no elementary functions", NULL},
    {"canonical", "canonical", pipeline_canonical, KERNEL, PASS_BOTH, "scalar expressions",
     "indices and validities in canonical form, for which axes are chosen", NULL},
    {"crop", "crop", crop, KERNEL, PASS_BOTH, "scalar expressions", "sub-domains without box masks", NULL},
    {"refine", "refine", refine, KERNEL, PASS_BOTH, "scalar expressions",
     "axes over which indices have the fewest divisions", NULL},
    /* Not for work-items: testing a mask takes less time than finding out which sub-domain a group is in. */
    {"domains", "peel", peel, KERNEL, PASS_CPU, "any axes", "sub-domains without masks and quotients", NULL},
    {"rows", "peel", pipeline_coalesce_rows, KERNEL, PASS_BOTH, "sub-domains",
     "short rows as one contiguous loop, where loads have masks", NULL},
    {"peel", "peel", drop_params, KERNEL, PASS_BOTH, "scalar expressions",
     "only parameters that are read or written", NULL},
    {"stream", "loops", stream, KERNEL, PASS_CPU, "scalar expressions",
     "accesses that bypass the caches, where these cannot hold the data", NULL},
    {"prefetch", "loops", prefetch_rows, KERNEL, PASS_CPU, "scalar expressions",
     "prefetches of rows that a row group reads again", NULL},
    {"separate", "loops", separate_stores, KERNEL, PASS_GPU, "scalar expressions",
     "axes of its own for each store", NULL},
    {"stage", "loops", stage_tiles, KERNEL, PASS_GPU, "scalar expressions",
     "tiles of transposed operands in shared memory", NULL},
    {"share", "loops", reduce_across_items, KERNEL, PASS_GPU, "scalar expressions",
     "short reductions divided among work-items", NULL},
    {"loops", "loops", loops, KERNEL, PASS_BOTH, "scalar expressions",
     "an explicit loop order; tiles of products; reductions as loops, jammed where they share a range", NULL},
};
const size_t pass_count = sizeof pass_table / sizeof *pass_table;

size_t pipeline_find(const char *name) {
  size_t i = 0;
  while (strcmp(pass_table[i].pass, name) != 0) i++;
  return i;
}

static bool run_row(pass_state *s, const pass_info *row, int kernel) {
  const pass_options *o = s->options;
  if (row->machines & s->strategy->steps) {
    s->row = row;
    row->run(s);
    if (s->root && o->verify && s->root != s->verified) {
      s->verified = s->root;
      if (ir_verify(s->g, s->root, row->level, s->error) != IR_OK) s->root = 0;
    }
    if (!s->root && row->run == loops && o->shaping && o->shaping->refused)
      o->shaping->refused(o->shaping->user, o->shaping->kernel - 1, s->error); /* loops() has counted on */
  }
  if (s->root && o->observer) o->observer(o->user, row->name, s->g, s->root, kernel);
  return s->root != 0;
}

bool pipeline_run_pass(pass_state *s, size_t *i, int kernel) {
  int64_t start = ir_timer_start(s->options->timer);
  const char *pass = pass_table[*i].pass;
  bool done = kernel >= 0 || ir_task_tell(s->g->task, pass, 0, 0);
  if (!done) ir_cancelled(s->error);
  pass_index_begin(s->g);
  s->before = s->root;
  for (; *i < pass_count && strcmp(pass_table[*i].pass, pass) == 0; ++*i)
    done = done && run_row(s, &pass_table[*i], kernel);
  ir_timer_lap(s->options->timer, &start, pass, kernel, NULL);
  return done;
}

/* Sets or clears the entries of what is in memory for this step alone. */
static void set_own(uint32_t *slot_of, const ir_step *step, bool stored) {
  for (uint32_t i = 0; i < step->own_count; i++)
    slot_of[step->own_stored[i].node] = stored ? step->own_stored[i].slot + 1 : 0;
}

/* Changes slot_of from the values that are in memory at step `from` to those that are at step `to`. */
static void enter_step(const pass_state *s, uint32_t *slot_of, const ir_step *from, const ir_step *to) {
  const ir_stored *b = s->plan->stored;
  if (from && from->first_stored == to->first_stored && from->stored_count == to->stored_count) return;
  for (uint32_t i = 0; from && i < from->stored_count; i++) slot_of[b[from->first_stored + i].node] = 0;
  for (uint32_t i = 0; i < to->stored_count; i++)
    slot_of[b[to->first_stored + i].node] = b[to->first_stored + i].slot + 1;
}

/* Calls visit for each kernel step in order, with s->step and s->root set to it; `what` it does is told to
 * whoever waits. Stops and returns false where visit returns false, the task ends or memory is short. */
static bool each_kernel(pass_state *s, const char *what, bool (*visit)(pass_state *, size_t k)) {
  ir_plan *p = s->plan;
  size_t nodes = s->g->count, params = p->slot_count + ALTERNATIVES_APART + ALTERNATIVES_STORED;
  uint32_t *slot_of = ir_alloc(p->mem, nodes * sizeof *slot_of);
  s->slots = (pass_slots){.slot_of = slot_of, .count = nodes, .serial = s->strategy->steps & PASS_CPU};
  s->slot_of = slot_of;
  s->slots.params = ir_alloc(p->mem, params * sizeof *s->slots.params);
  bool done = slot_of && s->slots.params;
  if (slot_of) memset(slot_of, 0, nodes * sizeof *slot_of);
  if (!done) ir_fail(s->error, IR_ERR_MEMORY, "out of memory making kernels");
  s->step = NULL;
  for (size_t k = 0; k < p->step_count && done; k++) {
    if (p->steps[k].kind != IR_STEP_KERNEL) continue;
    if (!ir_task_tell(s->g->task, what, (int64_t)k, (int64_t)p->step_count)) {
      ir_cancelled(s->error);
      done = false;
      break;
    }
    enter_step(s, slot_of, s->step, &p->steps[k]);
    s->step = &p->steps[k];
    s->root = s->step->kernel;
    set_own(slot_of, s->step, true);
    done = visit(s, k);
    set_own(slot_of, &p->steps[k], false);
  }
  ir_free(p->mem, slot_of, nodes * sizeof *slot_of);
  ir_free(p->mem, s->slots.params, params * sizeof *s->slots.params);
  return done;
}

bool pipeline_run_passes(pass_state *s, int scope, int kernel) {
  bool done = true;
  for (size_t i = 0; i < pass_count && done;)
    if (pass_table[i].scope & scope) done = pipeline_run_pass(s, &i, kernel);
    else i++;
  return done;
}

static bool run_on_kernel(pass_state *s, size_t k) {
  return ir_op_of(s->g, s->root) == IR_OP_KERNEL || pipeline_make_kernel(s, (int)k);
}

static bool run_its_row(pass_state *s, size_t k) {
  const pass_info *row = s->row;
  pass_index_begin(s->g);
  return run_row(s, row, (int)k);
}

/* fused row groups of symbolic sizes */

static bool is_symbolic(const ir_graph *g, const ir_row_group *row_group) {
  for (uint32_t i = 0; i < row_group->count; i++)
    for (uint32_t a = 0; a < ir_rank(g, row_group->values[i].value); a++)
      if (!ir_is_const(g, ir_dim(g, row_group->values[i].value, a), NULL)) return true;
  return false;
}

/* The scheduler judges from shapes whether values have the same stride order. Folding sees the index at which
 * each value is read, and cannot always prove the same where sizes are symbolic. Marks the values of a group
 * that folding refuses in s->not_fused. False where folding fails for another reason. */
static bool try_row_group(pass_state *s, size_t k) {
  (void)k;
  const ir_row_group *row_group = &s->step->row_group;
  if (!is_symbolic(s->g, row_group)) return true;
  pass_index_begin(s->g);
  if (pass_fold_row_group(s->g, row_group, &s->slots)) return true;
  for (uint32_t i = 0; i < row_group->count && s->slots.refused; i++) {
    uint8_t *not_fused = &s->not_fused[row_group->values[i].value];
    s->refused |= !*not_fused;
    *not_fused = 1;
  }
  return s->slots.refused;
}

/* Schedules again, with the values of refused groups in kernels of their own, until folding accepts all. */
static void regroup(pass_state *s) {
  const char *again = s->row->reruns;
  bool symbolic = false;
  for (size_t k = 0; k < s->plan->step_count; k++)
    symbolic |= is_symbolic(s->g, &s->plan->steps[k].row_group);
  if (!symbolic) return;
  ir_ref results = s->root;
  size_t nodes = (size_t)results + 1;
  bool done = (s->not_fused = ir_alloc(s->g->mem, nodes)) != NULL;
  if (done) memset(s->not_fused, 0, nodes);
  else ir_fail(s->error, IR_ERR_MEMORY, "out of memory checking fused row groups");
  do {
    size_t at = pipeline_find(again);
    s->refused = false;
    done = done && each_kernel(s, "grouping rows", try_row_group);
    s->root = done ? results : 0;
    if (!done || !s->refused) break;
    ir_plan_free(s->plan);
    done = pipeline_run_pass(s, &at, -1);
  } while (done);
  ir_free(s->g->mem, s->not_fused, nodes);
  s->not_fused = NULL;
}

/* kernels against alternatives */

static bool lower_alone(void *user, ir_step *step, size_t number, pass_shaping *shaping) {
  pass_state *s = user;
  const pass_options *own = s->options;
  ir_step *at = s->step;
  pass_options quiet = *own;
  quiet.observer = NULL, quiet.shaping = shaping;
  s->options = &quiet, s->step = step, s->root = step->kernel;
  bool done = pipeline_make_kernel(s, (int)number);
  s->options = own, s->step = at, s->root = at->kernel;
  /* an alternative that cannot be compiled is none; the kernel itself fails again when it is made */
  if (!done && !ir_gives_up(s->error->status)) ir_error_clear(s->error);
  return done;
}

static bool compare_kernel(pass_state *s, size_t k) {
  s->alternatives.slot_of = s->slot_of;
  return pass_alternatives_compare(&s->alternatives, k);
}

static void compare_alternatives(pass_state *s) {
  ir_ref results = s->root;
  pass_alternatives *a = &s->alternatives;
  const pass_shaping *shaping = s->options->shaping;
  if (shaping && shaping->compared == PASS_COMPARED_NEVER) return;
  *a = (pass_alternatives){.g = s->g,
                           .plan = s->plan,
                           .target = s->options->target,
                           .lower = lower_alone,
                           .user = s,
                           .keeps = s->keeps_loops,
                           .always = shaping && shaping->compared == PASS_COMPARED_ALWAYS,
                           .nodes = s->g->count};
  bool done = pass_alternatives_begin(a) && each_kernel(s, "comparing kernels", compare_kernel) &&
              pass_alternatives_insert(a);
  pass_alternatives_free(a);
  s->root = done ? results : 0;
}

/* writes */

static bool visit_write(pass_state *s, size_t k) {
  return schedule_in_place_visit(s->writes, k, &s->slots, s->slot_of);
}

/* Schedules once more with the values in memory that writes cannot store while they read what they replace.
 */
static bool store_overlapping(pass_state *s) {
  const pass_info *own = s->row;
  size_t at = pipeline_find(own->reruns);
  bool done = true;
  ir_plan_free(s->plan);
  while (done && &pass_table[at] != own) done = pipeline_run_pass(s, &at, -1);
  s->row = own;
  return done;
}

static void write_in_place(pass_state *s) {
  enum {
    MOST_ROUNDS = 8 /* each moves readers of several versions [2 in the tests]; further ones are copied */
  };
  const pass_options *o = s->options;
  ir_ref results = s->root;
  if (!schedule_has_writes(s->g, s->plan) && !o->reference_count) return;
  size_t nodes = (size_t)results + 1;
  bool done = (s->stored = ir_alloc(s->g->mem, nodes)) != NULL, again = true;
  if (done) memset(s->stored, 0, nodes);
  else ir_fail(s->error, IR_ERR_MEMORY, "out of memory scheduling writes");
  bool loops = s->strategy->steps & PASS_CPU;
  uint8_t *stored = s->stored;
  for (int rounds = 0; done && again; rounds++) {
    s->writes = schedule_in_place_begin(s->g, s->plan, s->g->count, o->references, o->reference_count, loops);
    pass_index_begin(s->g);
    done = s->writes && each_kernel(s, "placing writes", visit_write);
    bool moved = done && schedule_in_place_reorder(s->writes, rounds < MOST_ROUNDS),
         overlaps = done && !moved && stored && schedule_in_place_overlaps(s->writes, stored);
    again = moved || overlaps;
    done = done && (again || schedule_in_place_end(s->writes));
    schedule_in_place_free(s->writes);
    s->root = results;
    if (overlaps) done = store_overlapping(s), stored = NULL;
  }
  ir_free(s->g->mem, s->stored, nodes);
  s->stored = NULL;
  s->root = done ? results : 0;
}

static void set_strategy(pass_state *s) {
  s->strategy = pass_strategy_of(s->options->target);
  s->once = *s->strategy;
  s->once.transposes_vectors = false;
}

static void pass_state_free(pass_state *s) {
  const ir_mem *mem = s->g->mem;
  ir_free(mem, s->roots, (1 + s->options->input_count) * sizeof *s->roots);
  pass_known_accesses_free(mem, &s->accesses);
  pass_constant_values_free(&s->values, s->g);
  made_kernels_free(&s->made);
}

ir_status pass_pipeline(ir_graph *g, ir_ref results, const pass_options *options, ir_plan *plan,
                        ir_error *error) {
  pass_state s = {.g = g, .options = options, .plan = plan, .error = error, .root = results};
  s.inputs = options->inputs;
  set_strategy(&s);
  s.keeps_loops = !options->observer && !options->shaping;
  s.made.mem = g->mem;
  *plan = (ir_plan){.mem = g->mem};
  if (options->shaping) options->shaping->kernel = 0;
  bool done = results != 0 && pipeline_run_passes(&s, PASS_ON_GRAPH, -1) &&
              each_kernel(&s, "making loops", run_on_kernel);
  if (done && options->target->hoists) done = schedule_mark_run_once(g, plan);
  if (done) done = schedule_overlap(g, plan, options->reference_count > 0, options->link, error) == IR_OK;
  pass_state_free(&s);
  /* a pass that could not make a node may have left what it found: no such plan is handed on */
  if (done && ir_task_ends(g->task)) done = false, ir_cancelled(error);
  if (done) return IR_OK;
  ir_plan_free(plan);
  return ir_fail(error, IR_ERR_INTERNAL, "compilation failed without a message");
}

/* alone */

/* The parameters of a kernel without a plan are slots of the same numbers. */
static bool number_slots(pass_state *s) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t params = 0;
  bool done = ir_reachable(s->g, &s->root, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && done; i++)
    if (ir_op_of(s->g, live[i]) == IR_OP_PARAM && ir_arg_int(ir_get(s->g, live[i])) >= params)
      params = (uint32_t)ir_arg_int(ir_get(s->g, live[i])) + 1;
  ir_free(s->g->mem, live, cap * sizeof *live);
  s->slots.params = done ? ir_alloc(s->g->mem, params * sizeof *s->slots.params) : NULL;
  s->slots.count = s->slots.param_count = params;
  for (uint32_t i = 0; i < params && s->slots.params; i++) s->slots.params[i] = i;
  return s->slots.params != NULL;
}

/* The rows that make the plan, as far as `row`, which no text holds: it is made again from the graph. The
 * caller's observer sees the row alone. */
static bool run_from_plan(pass_state *s, const pass_info *row) {
  const pass_options *own = s->options;
  pass_options quiet = *own;
  bool done = true;
  quiet.observer = NULL;
  for (size_t i = 0; i < pass_count && &pass_table[i] <= row && done; i++) {
    const pass_info *at = &pass_table[i];
    if (!(at->scope & PASS_OF_PLAN)) continue;
    s->row = at;
    s->options = at == row ? own : &quiet;
    done = at->scope & PASS_ON_GRAPH ? run_row(s, at, -1) : each_kernel(s, "making kernels", run_its_row);
  }
  s->options = own;
  return done;
}

static bool run_on_text(pass_state *s, const pass_info *row) {
  bool ready = !(row->scope & PASS_ON_KERNEL) || number_slots(s);
  size_t params = s->slots.count;
  if (!ready) ir_fail(s->error, IR_ERR_MEMORY, "out of memory running a pass");
  bool done = ready && run_row(s, row, -1);
  ir_free(s->g->mem, s->slots.params, s->slots.params ? params * sizeof *s->slots.params : 0);
  return done;
}

ir_status pass_alone(ir_graph *g, const pass_info *row, const pass_options *options, ir_ref root,
                     ir_plan *plan, ir_error *error) {
  ir_step step = {.kind = IR_STEP_KERNEL};
  pass_state s = {.g = g, .options = options, .plan = plan, .error = error, .root = root, .before = root};
  s.inputs = options->inputs;
  set_strategy(&s);
  s.step = &step;
  *plan = (ir_plan){.mem = g->mem};
  pass_index_begin(g);
  bool done = row->scope & PASS_OF_PLAN ? run_from_plan(&s, row) : run_on_text(&s, row);
  ir_free(g->mem, step.slots, step.slot_count * sizeof *step.slots);
  pass_state_free(&s);
  return done ? IR_OK : ir_fail(error, IR_ERR_INTERNAL, "compilation failed without a message");
}
