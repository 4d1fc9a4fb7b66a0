/* From values in memory to a plan: slots, and steps in node order, which is a topological order. */
#include "schedule.h"

#include "passes/fuse/row_group.h"

#include "passes/index/index.h"

#include <string.h>

void schedule_fail(scheduler *s) {
  s->failed = true;
  ir_fail(s->error, IR_ERR_MEMORY, "out of memory scheduling a graph");
}

/* Their bytes fit in an int64: a program refuses to run with sizes for which they do not. */
ir_ref pass_slot_elements(ir_graph *g, ir_ref node) {
  const ir_node *shape = ir_get(g, ir_shape(g, node));
  ir_ref count = ir_index(g, 1);
  for (uint32_t i = 0; i < shape->nsrc; i++) count = pass_mul(g, count, shape->src[i]);
  if (count) ir_bounds_tighten(g, count, 0, INT64_MAX / ir_dtypes[ir_dtype_of(g, node)].bytes);
  return count;
}

uint32_t schedule_add_slot(scheduler *s, ir_slot_kind kind, ir_ref value) {
  ir_plan *p = s->plan;
  ir_ref elements = value ? pass_slot_elements(s->g, value) : 0;
  if (!elements || !IR_RESERVE(p->mem, p->slots, p->slot_cap, p->slot_count + 1)) {
    schedule_fail(s);
    return 0;
  }
  p->slots[p->slot_count] = (ir_slot){kind, value, elements};
  return (uint32_t)p->slot_count++;
}

ir_step *schedule_add_step(scheduler *s, const schedule_scope *f, ir_step_kind kind, uint32_t slot_count) {
  ir_plan *p = s->plan;
  if (p->step_count >= IR_MAX_STEPS) {
    s->failed = true;
    ir_fail(s->error, IR_ERR_UNSUPPORTED,
            "control flow: functions written out wherever they are called make more than %d steps; call "
            "functions fewer times inside one another",
            IR_MAX_STEPS);
    return NULL;
  }
  uint32_t *slots = ir_alloc(p->mem, slot_count * sizeof *slots);
  if (!slots || !IR_RESERVE(p->mem, p->steps, p->step_cap, p->step_count + 1)) {
    ir_free(p->mem, slots, slot_count * sizeof *slots);
    schedule_fail(s);
    return NULL;
  }
  ir_step *step = &p->steps[p->step_count++];
  *step = (ir_step){.slots = slots,
                    .slot_count = slot_count,
                    .kind = kind,
                    .count = ir_index(s->g, 0),
                    .work = ir_index(s->g, 0),
                    .name = -1,
                    .attributes = -1,
                    .first_stored = f->first,
                    .stored_count = f->count};
  return step;
}

uint32_t schedule_slot_of(const scheduler *s, const schedule_scope *f, ir_ref node) {
  const ir_stored *b = s->plan->stored;
  uint32_t low = f->first, high = f->first + f->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (b[middle].node == node) return b[middle].slot;
    if (b[middle].node < node) low = middle + 1;
    else high = middle;
  }
  return UINT32_MAX;
}

/* slots */

static bool is_listed(const ir_ref *list, size_t count, ir_ref r) {
  size_t k = 0;
  while (k < count && list[k] != r) k++;
  return k < count;
}

static uint32_t data_slot(scheduler *s, ir_ref node) {
  if (!s->data_of[node]) s->data_of[node] = schedule_add_slot(s, IR_SLOT_DATA, node) + 1;
  return s->data_of[node] - 1;
}

static ir_slot_kind kind_of_leaf(const scheduler *s, ir_ref node) {
  return ir_op_of(s->g, node) == IR_OP_RESOURCE ? IR_SLOT_RESOURCE : IR_SLOT_INPUT;
}

/* Slots of the graph's own leaves and results: listed inputs first, then other leaves in node order, then
 * results. */
static void place_graph(scheduler *s, const schedule_scope *f, const ir_ref *inputs, size_t input_count) {
  ir_plan *p = s->plan;
  for (size_t i = 0; i < input_count && !s->failed; i++) {
    uint32_t slot = schedule_add_slot(s, kind_of_leaf(s, inputs[i]), inputs[i]);
    if (inputs[i] < s->nodes && !s->slot_of[inputs[i]]) s->slot_of[inputs[i]] = slot + 1;
  }
  for (size_t i = 0; i < s->count && !s->failed; i++) {
    ir_ref r = s->live[i];
    ir_op op = ir_op_of(s->g, r);
    if (op == IR_OP_DATA) s->slot_of[r] = data_slot(s, r) + 1;
    else if ((op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_RESOURCE) &&
             !is_listed(inputs, input_count, r))
      s->slot_of[r] = schedule_add_slot(s, kind_of_leaf(s, r), r) + 1;
  }
  for (uint32_t k = 0; k < f->result_count && !s->failed; k++) {
    uint32_t same = 0;
    while (same < k && f->results[same] != f->results[k]) same++;
    p->results[k] = same < k ? p->results[same] : schedule_add_slot(s, IR_SLOT_OUTPUT, f->results[k]);
    if (!s->slot_of[f->results[k]]) s->slot_of[f->results[k]] = p->results[k] + 1; /* inputs win */
  }
}

static void place_function(scheduler *s, const schedule_scope *f) {
  for (size_t i = 0; i < s->count && !s->failed; i++) {
    ir_ref r = s->live[i];
    ir_op op = ir_op_of(s->g, r);
    uint32_t k = 0;
    if (op == IR_OP_DATA) s->slot_of[r] = data_slot(s, r) + 1;
    if (op != IR_OP_INPUT && op != IR_OP_BUFFER && op != IR_OP_RESOURCE) continue;
    while (k < f->param_count && f->params[k] != r) k++;
    if (k < f->param_count) {
      s->slot_of[r] = f->param_slots[k] + 1;
      continue;
    }
    s->failed = true;
    ir_fail(s->error, IR_ERR_INTERNAL, "schedule: a function uses a value that is not passed to it");
  }
  for (uint32_t k = 0; k < f->result_count; k++)
    if (!s->slot_of[f->results[k]]) s->slot_of[f->results[k]] = f->targets[k] + 1;
}

/* Slots of intermediates; then plan->stored gets all nodes with a slot, by node. */
static void place_intermediates(scheduler *s, schedule_scope *f) {
  ir_plan *p = s->plan;
  f->first = (uint32_t)p->stored_count;
  for (size_t i = 0; i < s->count && !s->failed; i++) {
    ir_ref r = s->live[i];
    bool stored =
        (s->flags[r] & SCHEDULE_STORED && !fuse_is_local(s->fusion, r)) || ir_op_of(s->g, r) == IR_OP_RESULT;
    if (!s->slot_of[r] && stored && ir_shape(s->g, r))
      s->slot_of[r] = schedule_add_slot(s, IR_SLOT_TEMP, r) + 1;
    if (!s->slot_of[r] || s->failed) continue;
    if (!IR_RESERVE(p->mem, p->stored, p->stored_cap, p->stored_count + 1)) {
      schedule_fail(s);
      continue;
    }
    p->stored[p->stored_count++] = (ir_stored){r, s->slot_of[r] - 1};
  }
  f->count = (uint32_t)p->stored_count - f->first;
}

/* steps */

static void add_kernel(scheduler *s, const schedule_scope *f, ir_ref value, uint32_t target) {
  ir_step *step = schedule_add_step(s, f, IR_STEP_KERNEL, 1);
  if (!step) return;
  step->kernel = value;
  step->slots[0] = target;
  step->not_fused = fuse_reason_not_fused(s->fusion, value);
}

/* The kernels that compute the value. A write updates its first operand, which is stored first. */
static void add_kernels(scheduler *s, const schedule_scope *f, ir_ref value, uint32_t target) {
  const ir_node *n = ir_get(s->g, value);
  if (n->op == IR_OP_ASSIGN) add_kernel(s, f, n->src[0], target);
  if (!s->failed) add_kernel(s, f, value, target);
}

/* Sets s->wanted. All nodes count, also those that nothing needs. */
static bool find_wanted(scheduler *s) {
  ir_graph *g = s->g;
  bool good = true;
  for (ir_ref r = 1; r < s->nodes && s->target->sorts && good; r++) {
    const ir_node *n = ir_get(g, r);
    for (uint32_t k = 0; k < n->nsrc && good; k++) {
      ir_ref sort = n->src[k];
      if (!schedule_is_sort(ir_op_of(g, sort))) continue;
      uint32_t axis = (uint32_t)ir_arg_int(ir_get(g, sort));
      ir_ref size = ir_dim(g, sort, axis), *wanted = &s->wanted[sort];
      if (n->op != IR_OP_SHRINK) *wanted = size;
      else if (*wanted != size)
        *wanted = pass_max(g, *wanted ? *wanted : ir_index(g, 0), n->src[2 + 2 * axis]);
      good = *wanted != 0;
    }
  }
  return good;
}

static void add_sort(scheduler *s, const schedule_scope *f, ir_ref sort, uint32_t target) {
  ir_step_kind kind = ir_op_of(s->g, sort) == IR_OP_SORT ? IR_STEP_SORT : IR_STEP_ARGSORT;
  uint32_t from = schedule_slot_of(s, f, ir_src(s->g, sort, 0)),
           axis = (uint32_t)ir_arg_int(ir_get(s->g, sort));
  ir_step *step = schedule_add_step(s, f, kind, 2);
  if (!step) {
    schedule_fail(s);
    return;
  }
  step->slots[0] = target, step->slots[1] = from;
  step->axis = axis, step->reverse = ir_arg_mode(ir_get(s->g, sort)) != 0;
  step->count = s->wanted[sort];
}

static void add_exchange(scheduler *s, const schedule_scope *f, ir_ref exchange, uint32_t target) {
  uint32_t from = schedule_slot_of(s, f, ir_src(s->g, exchange, 0));
  ir_step *step = schedule_add_step(s, f, IR_STEP_EXCHANGE, 2);
  if (!step) {
    schedule_fail(s);
    return;
  }
  step->kernel = exchange;
  step->slots[0] = target, step->slots[1] = from;
}

static uint32_t target_of(const scheduler *s, const schedule_scope *f, ir_ref r) {
  if (f->depth || !schedule_is_leaf(ir_op_of(s->g, r))) return schedule_slot_of(s, f, r);
  uint32_t k = 0;
  while (f->results[k] != r) k++;
  return f->targets[k];
}

/* Adds the kernels of deferred values (fuse_may_defer) that the value reads. They are computed from leaves
 * alone, like the copies that packing makes of weights, and take memory from then on, while leaves are in
 * memory throughout. So each is computed right before its first reader. */
static void add_deferred(scheduler *s, const schedule_scope *f, ir_ref value) {
  for (ir_ref next; !s->failed && (next = fuse_next_deferred(s->fusion, value));)
    add_kernels(s, f, next, target_of(s, f, next));
}

/* The kernel of a fused row group: its slots are those of the values that it stores. */
static void add_row_group(scheduler *s, const schedule_scope *f, const fuse_group *group) {
  ir_row_group row_group = {.values = ir_alloc(s->g->mem, group->count * sizeof *row_group.values),
                            .rows = group->rows,
                            .elements = group->elements,
                            .block = group->block};
  if (!row_group.values) {
    schedule_fail(s);
    return;
  }
  row_group.count = group->count;
  uint32_t stored = 0;
  for (uint32_t m = 0; m < group->count; m++) add_deferred(s, f, group->members[m].value);
  for (uint32_t m = 0; m < group->count; m++) {
    const fuse_member *member = &group->members[m];
    ir_fused_value *v = &row_group.values[m];
    *v = (ir_fused_value){.value = member->value,
                          .local = member->local,
                          .transposed = member->transposed,
                          .copied = member->copied,
                          .slot = UINT32_MAX,
                          .keys = (uint8_t)member->keys,
                          .role = member->role};
    if (member->stored) v->slot = schedule_slot_of(s, f, member->value), stored++;
    row_group.loops = 0;
    for (int8_t l = 0; l < group->loops; l++)
      if (group->shared[l]) v->axes[row_group.loops++] = (uint8_t)member->axis[l];
  }
  ir_step *step = schedule_add_step(s, f, IR_STEP_KERNEL, stored);
  if (!step) {
    ir_free(s->g->mem, row_group.values, row_group.count * sizeof *row_group.values);
    return;
  }
  step->row_group = row_group;
  step->kernel = row_group.values[row_group.count - 1].value;
  for (uint32_t m = 0, k = 0; m < row_group.count; m++)
    if (row_group.values[m].slot != UINT32_MAX) step->slots[k++] = row_group.values[m].slot;
}

/* Adds the fused row groups that run right before this node, and its own one if the node is its last member.
 * Is the node computed by a group? */
static bool add_row_groups(scheduler *s, const schedule_scope *f, ir_ref node) {
  const fuse_group *own = fuse_group_of(s->fusion, node), *group = NULL;
  while (!s->failed && (group = fuse_group_before(s->fusion, node, group))) add_row_group(s, f, group);
  if (own && fuse_ends_at(s->fusion, own, node) && !s->failed) add_row_group(s, f, own);
  return own != NULL;
}

/* Moves the nodes that need steps to the front of s->live, in order, and returns how many they are: leaves
 * that are results of the graph, stored values, and calls. */
static size_t choose_work(scheduler *s, const schedule_scope *f) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++) {
    ir_ref r = s->live[i];
    ir_op op = ir_op_of(s->g, r);
    bool leaf = schedule_is_leaf(op), call = schedule_is_call(op),
         copied = leaf && op != IR_OP_RESULT && !f->depth && is_listed(f->results, f->result_count, r),
         stored = !leaf && ir_shape(s->g, r) && s->flags[r] & SCHEDULE_STORED;
    if (call || copied || stored) s->live[count++] = r;
  }
  return count;
}

/* Copies results of a function that have another slot: parameters, data, values that are results twice. */
static void copy_results(scheduler *s, const schedule_scope *f) {
  for (uint32_t k = 0; f->depth && k < f->result_count && !s->failed; k++) {
    uint32_t from = schedule_slot_of(s, f, f->results[k]);
    if (from == f->targets[k]) continue;
    ir_step *step = schedule_add_step(s, f, IR_STEP_COPY, 2);
    if (!step) return;
    step->slots[0] = f->targets[k];
    step->slots[1] = from;
    step->count = s->plan->slots[from].elements;
  }
}

static void do_work(scheduler *s, const schedule_scope *f, const ir_ref *work, size_t count) {
  for (size_t i = 0; i < count && !s->failed; i++) {
    ir_op op = ir_op_of(s->g, work[i]);
    if (add_row_groups(s, f, work[i])) continue;
    if (fuse_may_defer(s->fusion, work[i])) continue;
    add_deferred(s, f, work[i]);
    if (op == IR_OP_CUSTOM) schedule_custom(s, f, work[i]);
    else if (schedule_is_call(op)) schedule_control(s, f, work[i]);
    else if (schedule_is_sort(op)) add_sort(s, f, work[i], target_of(s, f, work[i]));
    else if (op == IR_OP_EXCHANGE) add_exchange(s, f, work[i], target_of(s, f, work[i]));
    else add_kernels(s, f, work[i], target_of(s, f, work[i]));
  }
  copy_results(s, f);
}

static void plan_function(scheduler *s, schedule_scope *f, const ir_ref *inputs, size_t input_count) {
  fuse_plan fusion = {0};
  const fuse_plan *outer = s->fusion;
  if (f->depth > IR_MAX_DEPTH) {
    s->failed = true;
    ir_fail(s->error, IR_ERR_UNSUPPORTED,
            "control flow: functions are nested more than %d deep, those that an operation such as sort is "
            "made of "
            "included; move it out of the innermost function",
            IR_MAX_DEPTH);
    return;
  }
  s->results = f->results;
  s->result_count = f->result_count;
  s->live = NULL;
  s->count = s->cap = 0;
  if (ir_reachable(s->g, f->results, f->result_count, &s->live, &s->count, &s->cap) == IR_OK) {
    schedule_uses(s);
    if (!fuse_find(&fusion, s)) schedule_fail(s);
    s->fusion = &fusion;
    if (f->depth) place_function(s, f);
    else place_graph(s, f, inputs, input_count);
    if (!s->failed) place_intermediates(s, f);
    for (size_t i = 0; i < s->count; i++) s->slot_of[s->live[i]] = 0;
  } else {
    schedule_fail(s);
  }
  ir_ref *work = s->live; /* scheduling a called function replaces s->live */
  size_t cap = s->cap, count = s->failed ? 0 : choose_work(s, f);
  if (!s->failed) do_work(s, f, work, count);
  ir_free(s->g->mem, work, cap * sizeof *work);
  fuse_free(&fusion);
  s->fusion = outer;
}

void schedule_function(scheduler *s, schedule_scope *f) { plan_function(s, f, NULL, 0); }

/* the pass */

ir_status pass_schedule(ir_graph *g, ir_ref results, const ir_target *target, const pass_strategy *strategy,
                        const ir_ref *inputs, size_t input_count, const uint8_t *not_fused,
                        const uint8_t *stored, ir_plan *plan, ir_error *error) {
  scheduler s = {.g = g,
                 .target = target,
                 .strategy = strategy,
                 .not_fused = not_fused,
                 .stored = stored,
                 .plan = plan,
                 .error = error,
                 .nodes = (size_t)results + 1};
  const ir_node *n = ir_get(g, results);
  enum { TABLES = 9 }; /* arrays by node: those whose sizes follow */
  void *table[TABLES] = {NULL};
  static const size_t sizes[TABLES] = {sizeof *s.flags,     sizeof *s.cost,    sizeof *s.remaps,
                                       sizeof *s.uses,      sizeof *s.slot_of, sizeof *s.data_of,
                                       sizeof *s.epilogues, sizeof *s.reads,   sizeof *s.wanted};
  bool good = true;
  for (ir_ref r = 1; r < s.nodes; r++) s.size_count += ir_op_of(g, r) == IR_OP_VAR;
  for (int i = 0; i < TABLES && good; i++) {
    table[i] = ir_alloc(g->mem, s.nodes * sizes[i]);
    good = table[i] != NULL;
    if (good) memset(table[i], 0, s.nodes * sizes[i]);
  }
  good = pass_sharing_init(&s.sharing, g, s.nodes) && good;
  *plan = (ir_plan){.mem = g->mem};
  plan->results = ir_alloc(g->mem, n->nsrc * sizeof *plan->results);
  if (plan->results) plan->result_count = n->nsrc;
  if (good && plan->results) {
    s.flags = table[0], s.cost = table[1], s.remaps = table[2];
    s.uses = table[3], s.slot_of = table[4], s.data_of = table[5];
    s.epilogues = table[6], s.reads = table[7], s.wanted = table[8];
    schedule_scope f = {.results = n->src, .targets = plan->results, .result_count = n->nsrc};
    if (find_wanted(&s)) plan_function(&s, &f, inputs, input_count);
    else schedule_fail(&s);
  } else {
    schedule_fail(&s);
  }
  for (int i = 0; i < TABLES; i++) ir_free(g->mem, table[i], table[i] ? s.nodes * sizes[i] : 0);
  pass_sharing_free(&s.sharing);
  if (!s.failed) return IR_OK;
  ir_plan_free(plan);
  return error->status ? error->status : IR_ERR_MEMORY;
}
