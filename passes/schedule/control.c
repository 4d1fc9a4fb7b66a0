/* The steps of nodes that call functions: the slot of each parameter and of each result. */
#include "ir/custom.h"
#include "schedule.h"

#include <string.h>

/* Slots of a step (ir/plan.h). PREDICATE: of the condition; CARRY_SLOTS: of each carried value; SLICE_SLOTS:
 * of each sliced operand or stacked result. */
enum { PREDICATE = 1, CARRY_SLOTS = 5, SLICE_SLOTS = 2 };

/* A CONTROL node while its steps are made: slots of its operands and results, and of the parameters (params)
 * and results (left) of its functions. */
typedef struct control {
  scheduler *s;
  const schedule_scope *scope;
  ir_ref node;
  uint32_t operand_count, result_count;
  uint32_t *operands, *results, *params, *function_results;
  ir_ref *wanted;    /* results of a function that are needed */
  uint32_t *targets; /* and the slots for them */
  uint32_t wanted_count;
  void *memory;
  size_t size;
} control;

static uint32_t add_slot(control *c, ir_slot_kind kind, ir_ref value) {
  return schedule_add_slot(c->s, kind, value);
}

/* Finds the slots of the node's results; UINT32_MAX for results that are not read. */
static void find_results(control *c) {
  const ir_stored *b = c->s->plan->stored + c->scope->first;
  for (uint32_t k = 0; k < c->result_count; k++) c->results[k] = UINT32_MAX;
  for (uint32_t i = 0; i < c->scope->count; i++) {
    const ir_node *n = ir_get(c->s->g, b[i].node);
    if (n->op == IR_OP_RESULT && n->src[0] == c->node) c->results[ir_arg_int(n)] = b[i].slot;
  }
}

static bool control_init(control *c, uint32_t result_count) {
  ir_graph *g = c->s->g;
  const ir_node *n = ir_get(g, c->node);
  c->operand_count = ir_operand_count(n);
  c->result_count = result_count;
  size_t operands = c->operand_count, results = (size_t)c->result_count + 1; /* a predicate is one result */
  c->size = (2 * operands + 3 * results) * sizeof(uint32_t) + results * sizeof(ir_ref);
  c->memory = ir_alloc(g->mem, c->size);
  if (!c->memory) {
    schedule_fail(c->s);
    return false;
  }
  c->operands = c->memory;
  c->params = c->operands + operands;
  c->results = c->params + operands;
  c->function_results = c->results + results;
  c->targets = c->function_results + results;
  c->wanted = c->targets + results;
  find_results(c);
  for (uint32_t i = 0; i < c->operand_count; i++) {
    c->operands[i] = c->params[i] = schedule_slot_of(c->s, c->scope, n->src[i]);
    if (c->operands[i] != UINT32_MAX) continue;
    c->s->failed = true;
    ir_fail(c->s->error, IR_ERR_INTERNAL, "schedule: an operand of %s is not in memory", ir_ops[n->op].text);
    return false;
  }
  return true;
}

static void want_value(control *c, ir_ref value, uint32_t target) {
  c->wanted[c->wanted_count] = value;
  c->targets[c->wanted_count++] = target;
}

/* Appends the steps of function `number` and counts them in the calling step. params: slots of the function's
 * parameters. */
static void add_function(control *c, size_t step, uint32_t number, const uint32_t *params) {
  scheduler *s = c->s;
  if (s->failed) return;
  ir_function f = ir_function_of(s->g, ir_called(s->g, c->node, number));
  schedule_scope scope = {.results = c->wanted,
                          .targets = c->targets,
                          .result_count = c->wanted_count,
                          .params = f.params,
                          .param_slots = params,
                          .param_count = f.param_count,
                          .depth = c->scope->depth + 1};
  size_t before = s->plan->step_count;
  schedule_function(s, &scope);
  s->plan->steps[step].function_steps[number] = (uint32_t)(s->plan->step_count - before);
}

static ir_function function_of(const control *c, uint32_t number) {
  return ir_function_of(c->s->g, ir_called(c->s->g, c->node, number));
}

/* Has the function so many parameters? Fails if not; the verifier has checked this in every graph. */
static bool check_parameters(control *c, uint32_t number, uint32_t params) {
  if (function_of(c, number).param_count == params) return true;
  c->s->failed = true;
  ir_fail(c->s->error, IR_ERR_INTERNAL, "schedule: %s passes %u values to a function of %u",
          ir_ops[ir_op_of(c->s->g, c->node)].text, params, function_of(c, number).param_count);
  return false;
}

/* choices */

static void add_cond(control *c) {
  scheduler *s = c->s;
  uint32_t used = 0;
  if (!check_parameters(c, 0, c->operand_count - 1) || !check_parameters(c, 1, c->operand_count - 1)) return;
  for (uint32_t k = 0; k < c->result_count; k++) used += c->results[k] != UINT32_MAX;
  size_t at = s->plan->step_count;
  ir_step *step = schedule_add_step(s, c->scope, IR_STEP_COND, PREDICATE + used);
  if (!step) return;
  step->slots[0] = c->operands[0];
  used = PREDICATE;
  for (uint32_t k = 0; k < c->result_count; k++)
    if (c->results[k] != UINT32_MAX) step->slots[used++] = c->results[k];
  for (uint32_t number = 0; number < 2; number++) {
    c->wanted_count = 0;
    for (uint32_t k = 0; k < c->result_count; k++)
      if (c->results[k] != UINT32_MAX) want_value(c, function_of(c, number).results[k], c->results[k]);
    add_function(c, at, number, c->params + 1);
  }
}

/* loops */

/* Does every iteration leave the carried value as it is? Then it is treated as an operand that is not
 * carried. */
static bool is_unchanged(ir_function body, uint32_t k) { return body.results[k] == body.params[k]; }

/* Writes the five slots of each carried value (ir/plan.h) to `out`. Returns how many slots that makes. */
static uint32_t place_carries(control *c, ir_function body, uint32_t carries, uint32_t *out) {
  scheduler *s = c->s;
  uint32_t made = 0;
  for (uint32_t k = 0; k < carries && !s->failed; k++) {
    if (is_unchanged(body, k)) continue;
    ir_ref prototype = body.params[k];
    uint32_t *carry_slots = out + made;
    made += CARRY_SLOTS;
    carry_slots[0] = c->operands[k];
    carry_slots[1] = c->params[k] = add_slot(c, IR_SLOT_ALIAS, prototype);
    carry_slots[2] = c->function_results[k] = add_slot(c, IR_SLOT_ALIAS, prototype);
    carry_slots[3] = c->results[k] != UINT32_MAX ? c->results[k] : add_slot(c, IR_SLOT_TEMP, prototype);
    carry_slots[4] = add_slot(c, IR_SLOT_TEMP, prototype);
  }
  return made;
}

/* Copies each carried value that no iteration changes from its operand to its result. */
static void copy_constants(control *c, ir_function body, uint32_t carries) {
  scheduler *s = c->s;
  for (uint32_t k = 0; k < carries && !s->failed; k++) {
    uint32_t slot = c->results[k];
    if (!is_unchanged(body, k) || slot == UINT32_MAX) continue;
    ir_step *step = schedule_add_step(s, c->scope, IR_STEP_COPY, 2);
    if (!step) return;
    step->slots[0] = slot;
    step->slots[1] = c->operands[k];
    step->count = s->plan->slots[slot].elements;
  }
}

static void want_carries(control *c, ir_function body, uint32_t carries) {
  for (uint32_t k = 0; k < carries; k++)
    if (!is_unchanged(body, k)) want_value(c, body.results[k], c->function_results[k]);
}

/* Adds a loop step with these slots; `count`: ir_step.count. */
static ir_step *add_loop(control *c, ir_step_kind kind, const uint32_t *slots, uint32_t slot_count,
                         uint32_t carry_slots, ir_ref count) {
  ir_step *step = c->s->failed ? NULL : schedule_add_step(c->s, c->scope, kind, slot_count);
  if (!step) return NULL;
  memcpy(step->slots, slots, slot_count * sizeof *slots);
  step->carries = carry_slots / CARRY_SLOTS;
  step->count = count;
  return step;
}

static void add_while(control *c, uint32_t *slots) {
  scheduler *s = c->s;
  const ir_node *n = ir_get(s->g, c->node);
  uint32_t carries = c->result_count;
  ir_function body = function_of(c, 1);
  if (!check_parameters(c, 0, c->operand_count) || !check_parameters(c, 1, c->operand_count)) return;
  uint32_t made = place_carries(c, body, carries, slots + PREDICATE);
  copy_constants(c, body, carries);
  if (s->failed) return;
  slots[0] = add_slot(c, IR_SLOT_TEMP, function_of(c, 0).results[0]);
  size_t at = s->plan->step_count;
  if (!add_loop(c, IR_STEP_WHILE, slots, PREDICATE + made, made, n->src[c->operand_count + 2])) return;
  c->wanted_count = 0;
  want_value(c, function_of(c, 0).results[0], slots[0]);
  add_function(c, at, 0, c->params);
  c->wanted_count = 0;
  want_carries(c, body, carries);
  add_function(c, at, 1, c->params);
}

/* Writes two slots of each sliced operand to `out`: the whole, and the slice of an iteration. */
static uint32_t place_slices(control *c, ir_function body, ir_scan_state how, uint32_t *out) {
  for (uint32_t k = 0; k < how.sliced; k++) {
    uint32_t operand = how.carries + k;
    out[SLICE_SLOTS * k] = c->operands[operand];
    out[SLICE_SLOTS * k + 1] = c->params[operand] = add_slot(c, IR_SLOT_ALIAS, body.params[operand]);
  }
  return SLICE_SLOTS * how.sliced;
}

/* The same for each stacked result that is read. */
static uint32_t place_stacks(control *c, ir_function body, ir_scan_state how, uint32_t *out) {
  uint32_t made = 0;
  for (uint32_t k = how.carries; k < c->result_count; k++) {
    if (c->results[k] == UINT32_MAX) continue;
    out[made++] = c->results[k];
    out[made++] = c->function_results[k] = add_slot(c, IR_SLOT_ALIAS, body.results[k]);
  }
  return made;
}

static void add_scan(control *c, uint32_t *slots) {
  scheduler *s = c->s;
  const ir_node *n = ir_get(s->g, c->node);
  ir_scan_state how = ir_scan_of(n);
  ir_ref length = n->src[c->operand_count + 1];
  ir_function body = function_of(c, 0);
  if (!check_parameters(c, 0, c->operand_count)) return;
  uint32_t carried = place_carries(c, body, how.carries, slots), made = carried;
  made += place_slices(c, body, how, slots + made);
  made += place_stacks(c, body, how, slots + made);
  copy_constants(c, body, how.carries);
  size_t at = s->plan->step_count;
  ir_step *step = add_loop(c, IR_STEP_SCAN, slots, made, carried, length);
  if (!step) return;
  step->reverse = how.reverse;
  c->wanted_count = 0;
  want_carries(c, body, how.carries);
  for (uint32_t k = how.carries; k < c->result_count; k++)
    if (c->results[k] != UINT32_MAX) want_value(c, body.results[k], c->function_results[k]);
  add_function(c, at, 0, c->params);
}

void schedule_control(scheduler *s, const schedule_scope *f, ir_ref node) {
  control c = {.s = s, .scope = f, .node = node};
  if (control_init(&c, ir_result_count(s->g, node))) {
    size_t size = ((size_t)CARRY_SLOTS * (c.operand_count + c.result_count) + PREDICATE) * sizeof(uint32_t);
    uint32_t *slots = ir_alloc(s->g->mem, size);
    ir_op op = ir_op_of(s->g, node);
    if (!slots) schedule_fail(s);
    else if (op == IR_OP_COND) add_cond(&c);
    else if (op == IR_OP_WHILE) add_while(&c, slots);
    else add_scan(&c, slots);
    ir_free(s->g->mem, slots, size);
  }
  ir_free(s->g->mem, c.memory, c.size);
}

void schedule_call(scheduler *s, const schedule_scope *f, ir_ref node, int64_t name, int64_t attributes,
                   const ir_ref *prototypes, uint32_t count) {
  control c = {.s = s, .scope = f, .node = node};
  if (control_init(&c, count)) {
    for (uint32_t k = 0; k < count && !s->failed; k++)
      if (c.results[k] == UINT32_MAX) c.results[k] = add_slot(&c, IR_SLOT_TEMP, prototypes[k]);
    ir_step *step = s->failed ? NULL : schedule_add_step(s, f, IR_STEP_CALL, count + c.operand_count);
    if (step) {
      memcpy(step->slots, c.results, count * sizeof *step->slots);
      memcpy(step->slots + count, c.operands, c.operand_count * sizeof *step->slots);
      step->carries = count;
      step->name = name;
      step->attributes = attributes;
    }
  }
  ir_free(s->g->mem, c.memory, c.size);
}

void schedule_custom(scheduler *s, const schedule_scope *f, ir_ref node) {
  ir_custom_call call;
  ir_ref prototypes[IR_CUSTOM_MAX];
  ir_custom_of(s->g, node, &call);
  for (uint32_t i = 0; i < call.results; i++)
    if (!(prototypes[i] = ir_custom_result(s->g, node, &call, i))) {
      schedule_fail(s);
      return;
    }
  int64_t name = ir_name(s->g, call.name, strlen(call.name));
  if (name < 0) schedule_fail(s);
  else schedule_call(s, f, node, name, ir_get(s->g, node)->arg, prototypes, call.results);
}
