/* Sizes, buffers and steps of a program. */
#include "runtime/object/describe.h"

#include <string.h>

#include "ir/custom.h"

static uint32_t number(rt_describer *d, int64_t n) { return rt_value_number(&d->values, n); }

/* sizes */

/* Those of the plan, at the same numbers, with the caller's numbers of variables. */
static void add_plan_sizes(rt_describer *d) {
  const rt_plan *plan = &d->p->plan;
  for (uint32_t i = 0; i < plan->head->values; i++) {
    const rt_value *v = &plan->values[i];
    uint32_t a = v->op == IR_OP_VAR ? d->form->variables[v->a] : v->a;
    rt_value_add(&d->values, (ir_op)v->op, a, v->b, v->c);
  }
  for (uint32_t i = 0; i < plan->head->slots; i++) {
    const rt_plan_slot *s = &plan->slots[i];
    uint32_t each = number(d, ir_dtypes[s->dtype].bytes);
    d->bytes[i] = rt_value_add(&d->values, IR_OP_MUL, s->elements, each, 0);
    d->limited[d->program.limited_count++] = d->bytes[i];
  }
}

/* The list of the code generator. */
static bool copy_sizes(rt_describer *d) {
  d->size_room = d->values.count;
  d->sizes = ir_alloc(d->mem, d->size_room * sizeof *d->sizes);
  for (size_t i = 0; d->sizes && i < d->size_room; i++) {
    const rt_value *v = &d->values.ops[i];
    d->sizes[i] = (cg_size){v->op, v->a, v->b, v->c};
  }
  return d->sizes != NULL;
}

/* Sizes that have to be equal, as in frame.c. */

static void add_equal(rt_describer *d, uint32_t a, uint32_t b) {
  if (a != b) d->equal[d->program.equal_count++] = (cg_equal){a, b};
}

static void add_equal_slots(rt_describer *d, uint32_t a, uint32_t b) {
  const rt_plan_slot *x = &d->p->plan.slots[a], *y = &d->p->plan.slots[b];
  if (x->elements != y->elements || ir_dtypes[x->dtype].bytes != ir_dtypes[y->dtype].bytes)
    add_equal(d, d->bytes[a], d->bytes[b]);
}

static void add_equal_sizes(rt_describer *d, const rt_plan_step *s) {
  const uint32_t *slots = d->p->plan.step_slots + s->slots;
  if (s->kind == IR_STEP_COPY) add_equal_slots(d, slots[0], slots[1]);
  if (s->kind == IR_STEP_COND || s->kind == IR_STEP_WHILE) add_equal(d, d->bytes[slots[0]], number(d, 1));
  if (!rt_is_loop(s)) return;
  for (uint32_t i = rt_first_carry(s); i < rt_first_pair(s); i += RT_CARRY)
    for (uint32_t k = 1; k < RT_CARRY; k++) add_equal_slots(d, slots[i], slots[i + k]);
  for (uint32_t i = rt_first_pair(s); i < s->slot_count; i += RT_SLICED) {
    uint32_t all = rt_value_add(&d->values, IR_OP_MUL, d->bytes[slots[i + RT_SLICED_SLICE]], s->count, 0);
    d->known[d->program.known_count++] = all;
    add_equal(d, d->bytes[slots[i + RT_SLICED_WHOLE]], all);
  }
}

/* buffers */

static cg_buffer buffer_of(const rt_describer *d, uint32_t source, uint32_t slot) {
  const rt_plan_slot *s = &d->p->plan.slots[slot];
  uint32_t n = source & RT_SOURCE_NUMBER;
  cg_buffer made = {CG_MOVING,
                    n - (uint32_t)d->p->temp_count,
                    d->bytes[slot],
                    {(ir_dtype)s->dtype, s->rank, s->dims, s->elements}};
  switch ((ir_slot_kind)(source >> RT_SOURCE_SHIFT)) {
  case IR_SLOT_INPUT: made.where = CG_ARRAY, made.number = d->form->inputs[n]; return made;
  case IR_SLOT_OUTPUT: made.where = CG_ARRAY, made.number = d->form->outputs[n]; return made;
  case IR_SLOT_DATA: made.where = CG_DATA, made.number = n; return made;
  default: break;
  }
  if (n < d->p->temp_count) made.where = CG_ARENA, made.number = d->offsets[n];
  return made;
}

static void add_buffers(rt_describer *d) {
  const rt_program *p = d->p;
  for (uint32_t i = 0; i < p->plan.head->step_slots; i++)
    d->buffers[i] = buffer_of(d, p->sources[i], p->plan.step_slots[i]);
  for (size_t i = 0; i < p->copy_count; i++) {
    const rt_copy *copy = &p->copies[i];
    d->copies[2 * i] = (cg_buffer){CG_ARRAY, d->form->outputs[copy->result], d->bytes[copy->slot], {0}};
    d->copies[2 * i + 1] = buffer_of(d, copy->source, copy->slot);
  }
}

/* Literal arrays, constants, and what was computed from constants; NULL where only that read them. */
static void add_data(rt_describer *d) {
  const rt_program *p = d->p;
  for (uint32_t i = 0; i < p->plan.head->slots; i++) {
    const rt_plan_slot *s = &p->plan.slots[i];
    if (p->kinds[i] != IR_SLOT_DATA && p->kinds[i] != IR_SLOT_RESOURCE) continue;
    const rt_value v = p->plan.values[s->elements];
    size_t elements = (size_t)((uint64_t)v.c << 32 | v.b);
    d->data[p->number_in_kind[i]] =
        (cg_bytes){p->data[p->number_in_kind[i]], elements * ir_dtypes[s->dtype].bytes};
  }
}

/* steps */

/* The iterations of a kernel's loop that are worth a thread's time (rt_split), for threads of which nothing
 * is known. */
static uint32_t grain_of(rt_describer *d, const rt_plan_step *s) {
  rt_value_list *v = &d->values;
  if (s->kind != IR_STEP_KERNEL || !d->request->shares) return s->count;
  uint32_t one = number(d, 1);
  uint32_t chunks = rt_value_add(v, IR_OP_FLOORDIV, s->work, number(d, RT_CHUNK_WORK), 0);
  uint32_t some = rt_value_add(v, IR_OP_MAX, chunks, one, 0);
  uint32_t each = rt_value_add(v, IR_OP_MAX, rt_value_add(v, IR_OP_FLOORDIV, s->count, some, 0), one, 0);
  uint32_t pays = rt_value_add(v, IR_OP_GE, s->work, number(d, RT_SPLIT_WORK), 0);
  return rt_value_add(v, IR_OP_WHERE, pays, each, s->count);
}

static uint32_t call_number(const rt_program *p, const rt_plan_step *s) {
  uint32_t number = 0;
  while (strcmp(rt_object_call(p, number), p->plan.names + s->kernel)) number++;
  return number;
}

/* The values of a call's attributes. */
static cg_bytes attributes_of(const rt_program *p, const rt_plan_step *s) {
  const ir_custom_call *call = (const void *)(p->plan.data + s->attributes);
  if (s->kind != IR_STEP_CALL || s->attribute_bytes < sizeof *call) return (cg_bytes){0};
  return (cg_bytes){call->values, call->attributes * sizeof *call->values};
}

static void add_steps(rt_describer *d) {
  const rt_program *p = d->p;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    if (p->is_hoisted[i]) continue; /* it stands in no function, and has none */
    d->known[d->program.known_count++] = s->count;
    add_equal_sizes(d, s);
    d->steps[d->program.step_count++] =
        (cg_step){.kind = (ir_step_kind)s->kind,
                  .reverse = s->reverse,
                  .kernel = s->kind == IR_STEP_CALL ? call_number(p, s) : s->kernel,
                  .count = s->count,
                  .grain = grain_of(d, s),
                  .buffers = s->slots,
                  .buffer_count = s->slot_count,
                  .variables = s->vars,
                  .variable_count = s->var_count,
                  .inside = {s->inside[0], s->inside[1]},
                  .carries = s->carries,
                  .attributes = attributes_of(p, s)};
  }
}

static void add_shown(rt_describer *d) {
  const rt_plan *plan = &d->p->plan;
  for (size_t k = 0; k < d->request->shown; k++) {
    const rt_plan_slot *s = &plan->slots[plan->results[k]];
    for (uint32_t i = 0; i < s->rank; i++) d->dims[d->program.dim_count++] = plan->dims[s->dims + i];
  }
}

/* memory */

static size_t lay_out(rt_describer *d, void *memory) {
  const rt_program *p = d->p;
  const rt_plan_head *h = p->plan.head;
  uintptr_t at = (uintptr_t)memory;
  d->bytes = rt_lay_out(&at, h->slots, sizeof *d->bytes);
  d->offsets = rt_lay_out(&at, p->temp_count, sizeof *d->offsets);
  d->placed = rt_lay_out(&at, 2 * p->temp_count, sizeof *d->placed);
  d->kernels = rt_lay_out(&at, h->kernels, sizeof *d->kernels);
  d->graphs = rt_lay_out(&at, h->kernels, sizeof *d->graphs);
  d->data = rt_lay_out(&at, p->data_count, sizeof *d->data);
  d->weight_at = rt_lay_out(&at, p->data_count, sizeof *d->weight_at);
  d->buffers = rt_lay_out(&at, h->step_slots, sizeof *d->buffers);
  d->copies = rt_lay_out(&at, 2 * p->copy_count, sizeof *d->copies);
  d->steps = rt_lay_out(&at, h->steps, sizeof *d->steps);
  d->limited = rt_lay_out(&at, h->slots, sizeof *d->limited);
  d->known = rt_lay_out(&at, (size_t)h->steps + h->step_slots, sizeof *d->known);
  d->equal = rt_lay_out(&at, (size_t)h->steps + h->step_slots, sizeof *d->equal);
  d->step_variables = rt_lay_out(&at, h->step_vars, sizeof *d->step_variables);
  d->dims = rt_lay_out(&at, h->dims + (size_t)h->results * IR_MAX_RANK, sizeof *d->dims);
  return (size_t)(at - (uintptr_t)memory);
}

static void fill_program(rt_describer *d) {
  const rt_program *p = d->p;
  cg_program *to = &d->program;
  to->name = d->request->name;
  to->sizes = d->sizes;
  to->size_count = d->size_room;
  to->variables = d->request->bounds;
  to->variable_count = p->plan.head->vars ? d->request->variable_count : 0;
  to->step_variables = d->step_variables;
  to->kernels = d->kernels;
  to->kernel_count = p->plan.head->kernels;
  to->data = d->data;
  to->data_count = p->data_count;
  to->buffers = d->buffers;
  to->moving_count = p->moving_count;
  to->steps = d->steps;
  to->copies = d->copies;
  to->copy_count = p->copy_count;
  to->limited = d->limited;
  to->known = d->known;
  to->equal = d->equal;
  to->dims = d->dims;
  to->shares = d->request->shares || rt_object_call(p, 0);
  to->weights = d->weights;
  to->axes = p->plan.dims;
}

ir_status rt_describe(rt_describer *d, const rt_object_form *form, const rt_object_request *request,
                      ir_error *error) {
  const rt_program *p = form->program;
  *d = (rt_describer){.mem = rt_context_mem(p->context), .p = p, .form = form, .request = request};
  d->values.mem = d->mem;
  d->memory_size = lay_out(d, NULL) + 1;
  d->memory = ir_alloc(d->mem, d->memory_size);
  if (!d->memory)
    return ir_fail(error, IR_ERR_MEMORY, "build: out of memory for graph @%s", rt_program_name(p));
  memset(d->memory, 0, d->memory_size);
  lay_out(d, d->memory);
  for (uint32_t i = 0; i < p->plan.head->step_vars; i++)
    d->step_variables[i] = d->form->variables[p->plan.step_vars[i]];
  add_plan_sizes(d);
  if (!rt_describe_arena(d))
    return ir_fail(error, IR_ERR_INVALID,
                   "build: graph @%s: its intermediates take more bytes than memory can hold",
                   rt_program_name(p));
  add_buffers(d);
  add_data(d);
  rt_describe_weights(d);
  add_steps(d);
  add_shown(d);
  if (d->values.failed || !copy_sizes(d))
    return ir_fail(error, IR_ERR_MEMORY, "build: out of memory for graph @%s", rt_program_name(p));
  fill_program(d);
  return IR_OK;
}

void rt_describe_free(rt_describer *d) {
  for (size_t i = 0; i < d->graph_count; i++) ir_graph_free(&d->graphs[i]);
  ir_free(d->mem, d->values.ops, d->values.cap * sizeof *d->values.ops);
  ir_free(d->mem, d->sizes, d->size_room * sizeof *d->sizes);
  ir_free(d->mem, d->memory, d->memory_size);
}
