/* Writing the bytes of a plan: those parts of the graph that a run needs, collected in arrays. */
#include "runtime/program/plan_file.h"

#include "ir/exchange.h"

#include <string.h>

/* A growing array of 32-bit numbers. */
typedef struct numbers {
  uint32_t *list;
  size_t count, cap;
} numbers;

typedef struct maker {
  const ir_mem *mem;
  const ir_graph *g;
  const ir_plan *plan;
  rt_plan_bytes *out;
  ir_error *error;
  ir_status status;
  uint32_t *number_of; /* by ref: index of its value + 1; of a KERNEL, the number of its code + 1 */
  rt_value_list values;
  rt_plan_slot *slots;
  rt_plan_step *steps;
  rt_plan_var *vars;
  size_t var_count, var_cap;
  ir_ref *var_refs;
  size_t var_ref_cap;
  numbers dims, step_slots, step_vars;
  ir_text names;
  uint64_t data;
} maker;

static bool short_of_memory(maker *m) {
  m->status = ir_fail(m->error, IR_ERR_MEMORY, "out of memory making a plan");
  return false;
}

static bool fail_plan(maker *m, const char *what) {
  m->status = ir_fail(m->error, IR_ERR_INTERNAL, "plan: %s", what);
  return false;
}

static bool append_number(maker *m, numbers *n, uint32_t number) {
  if (!IR_RESERVE(m->mem, n->list, n->cap, n->count + 1)) return short_of_memory(m);
  n->list[n->count++] = number;
  return true;
}

static uint32_t add_name(maker *m, const char *text, size_t length) {
  uint32_t at = (uint32_t)m->names.len;
  ir_text_add(&m->names, text, length);
  ir_text_add(&m->names, "", 1);
  return at;
}

/* variables: every VAR that a size or a kernel uses, in the order of the graph */

static bool add_var(maker *m, ir_ref ref) {
  const ir_node *n = ir_get(m->g, ref);
  int64_t facts[3];
  for (uint32_t i = 0; i < 3; i++)
    if (n->nsrc != 3 || !ir_is_const(m->g, n->src[i], &facts[i]) || (i == 2 && facts[i] < 1))
      return fail_plan(m, "a variable's bounds are no constants");
  if (!IR_RESERVE(m->mem, m->vars, m->var_cap, m->var_count + 1) ||
      !IR_RESERVE(m->mem, m->var_refs, m->var_ref_cap, m->var_count + 1))
    return short_of_memory(m);
  uint32_t name = add_name(m, ir_name_text(m->g, n->arg), ir_name_length(m->g, n->arg));
  m->vars[m->var_count] = (rt_plan_var){name, 0, facts[0], facts[1], facts[2]};
  m->var_refs[m->var_count] = ref;
  m->number_of[ref] = rt_value_add(&m->values, IR_OP_VAR, (uint32_t)m->var_count++, 0, 0) + 1;
  return true;
}

/* The first indices of the result and of the operand of an exchange. */
static uint32_t exchange_indices(const maker *m, const ir_step *s, ir_ref out[2 * IR_MAX_RANK]) {
  uint32_t rank = s->kind == IR_STEP_EXCHANGE ? ir_rank(m->g, s->kernel) : 0;
  for (uint32_t k = 0; k < rank; k++) {
    out[k] = ir_exchange_start(m->g, s->kernel, k);
    out[rank + k] = ir_exchange_at(m->g, s->kernel, k);
  }
  return 2 * rank;
}

/* Collects all index expressions of sizes, counts and work; false when memory is short. */
static bool collect_roots(maker *m, ir_ref **roots, size_t *count, size_t *cap) {
  size_t need = m->plan->slot_count + 4 * m->plan->step_count;
  for (size_t i = 0; i < m->plan->slot_count; i++) need += ir_rank(m->g, m->plan->slots[i].value);
  for (size_t i = 0; i < m->plan->step_count; i++)
    if (m->plan->steps[i].kernel) need += ir_get(m->g, m->plan->steps[i].kernel)->nsrc;
  if (!IR_RESERVE(m->mem, *roots, *cap, need + 1)) return short_of_memory(m);
  for (size_t i = 0; i < m->plan->slot_count; i++) {
    const ir_slot *s = &m->plan->slots[i];
    (*roots)[(*count)++] = s->elements;
    for (uint32_t k = 0; k < ir_rank(m->g, s->value); k++) (*roots)[(*count)++] = ir_dim(m->g, s->value, k);
  }
  for (size_t i = 0; i < m->plan->step_count; i++) {
    (*roots)[(*count)++] = m->plan->steps[i].count;
    (*roots)[(*count)++] = m->plan->steps[i].work;
    if (m->plan->steps[i].flops) (*roots)[(*count)++] = m->plan->steps[i].flops;
    if (m->plan->steps[i].magnitude) (*roots)[(*count)++] = m->plan->steps[i].magnitude;
    *count += exchange_indices(m, &m->plan->steps[i], *roots + *count);
  }
  return true;
}

static bool add_values(maker *m) {
  ir_ref *roots = NULL, *all = NULL;
  size_t count = 0, cap = 0, all_count = 0, all_cap = 0;
  bool good = collect_roots(m, &roots, &count, &cap);
  size_t sizes = count;
  for (size_t i = 0; good && i < m->plan->step_count; i++) { /* the variables of kernels */
    if (m->plan->steps[i].kind != IR_STEP_KERNEL) continue;
    const ir_node *kernel = ir_get(m->g, m->plan->steps[i].kernel);
    for (uint32_t k = 0; k < kernel->nsrc; k++)
      if (ir_op_of(m->g, kernel->src[k]) == IR_OP_VAR) roots[count++] = kernel->src[k];
  }
  for (size_t i = 0; good && i < count; i++)
    if (roots[i] == 0 || roots[i] >= m->g->count) good = fail_plan(m, "a size is missing");
  if (good && ir_reachable(m->g, roots, count, &all, &all_count, &all_cap)) good = short_of_memory(m);
  for (size_t i = 0; good && i < all_count; i++)
    if (ir_op_of(m->g, all[i]) == IR_OP_VAR) good = add_var(m, all[i]);
  if (good) {
    m->status = rt_values_append(&m->values, m->g, roots, sizes, m->number_of, m->error);
    good = m->status == IR_OK;
  }
  ir_free(m->mem, roots, cap * sizeof *roots);
  ir_free(m->g->mem, all, all_cap * sizeof *all);
  return good;
}

static bool add_slots(maker *m) {
  const ir_plan *p = m->plan;
  m->slots = ir_alloc(m->mem, p->slot_count * sizeof *m->slots);
  if (!m->slots) return short_of_memory(m);
  memset(m->slots, 0, p->slot_count * sizeof *m->slots);
  for (size_t i = 0; i < p->slot_count; i++) {
    const ir_slot *s = &p->slots[i];
    const ir_node *n = ir_get(m->g, s->value);
    if (ir_rank(m->g, s->value) > IR_MAX_RANK) return fail_plan(m, "a value has too many axes");
    m->slots[i] = (rt_plan_slot){.kind = (uint8_t)s->kind,
                                 .dtype = n->dtype,
                                 .rank = (uint16_t)ir_rank(m->g, s->value),
                                 .dims = (uint32_t)m->dims.count,
                                 .elements = m->number_of[s->elements] - 1};
    for (uint32_t k = 0; k < m->slots[i].rank; k++)
      if (!append_number(m, &m->dims, m->number_of[ir_dim(m->g, s->value, k)] - 1)) return false;
    bool named = s->kind == IR_SLOT_INPUT && n->op == IR_OP_INPUT;
    m->slots[i].name =
        named ? add_name(m, ir_name_text(m->g, n->arg), ir_name_length(m->g, n->arg)) : add_name(m, "", 0);
    if (s->kind != IR_SLOT_DATA) continue;
    if (n->op != IR_OP_DATA) return fail_plan(m, "a literal array is missing");
    m->slots[i].data = m->data;
    m->data += (ir_name_length(m->g, n->arg) + RT_PLAN_ALIGN - 1) / RT_PLAN_ALIGN * RT_PLAN_ALIGN;
  }
  return true;
}

/* Finds or assigns the number of a kernel: equal kernels have the same number. */
static bool add_kernel(maker *m, ir_ref ref, uint32_t *out_number) {
  rt_plan_bytes *out = m->out;
  rt_kernel_key key;
  uint32_t number = 0;
  if (m->number_of[ref]) return *out_number = m->number_of[ref] - 1, true;
  m->status = rt_kernel_key_make(m->mem, m->g, ref, &key, m->error);
  if (m->status) return false;
  while (number < out->kernel_count &&
         (out->kernels[number].size != key.size || memcmp(out->kernels[number].bytes, key.bytes, key.size)))
    number++;
  *out_number = number;
  m->number_of[ref] = number + 1;
  if (number < out->kernel_count) {
    rt_kernel_key_free(m->mem, &key);
    return true;
  }
  if (!IR_RESERVE(m->mem, out->kernels, out->kernel_cap, out->kernel_count + 1)) {
    rt_kernel_key_free(m->mem, &key);
    return short_of_memory(m);
  }
  out->kernels[out->kernel_count++] = key;
  return true;
}

static bool add_step_slots(maker *m, const ir_step *from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (from->slots[i] >= m->plan->slot_count) return fail_plan(m, "a step names a slot that is not there");
    if (!append_number(m, &m->step_slots, from->slots[i])) return false;
  }
  return true;
}

static bool add_kernel_step(maker *m, size_t number) {
  const ir_step *from = &m->plan->steps[number];
  rt_plan_step *to = &m->steps[number];
  if (!add_kernel(m, from->kernel, &to->kernel)) return false;
  const ir_node *kernel = ir_get(m->g, from->kernel);
  int64_t params = ir_arg_int(kernel); /* trailing slots that the kernel does not use are not passed */
  if (params < 0 || params > from->slot_count)
    return fail_plan(m, "a kernel has more parameters than its step has slots");
  to->slot_count = (uint32_t)params;
  to->written = ir_written_slots(from) < to->slot_count ? ir_written_slots(from) : to->slot_count;
  for (uint32_t i = 0; i < kernel->nsrc; i++) {
    if (ir_op_of(m->g, kernel->src[i]) != IR_OP_VAR) continue;
    uint32_t var = 0;
    while (m->var_refs[var] != kernel->src[i]) var++;
    if (!append_number(m, &m->step_vars, var)) return false;
    to->var_count++;
  }
  return add_step_slots(m, from, to->slot_count);
}

/* The attributes of a call are stored after the literal arrays. */
static bool add_call_step(maker *m, size_t number) {
  const ir_step *from = &m->plan->steps[number];
  rt_plan_step *to = &m->steps[number];
  if (from->name < 0) return fail_plan(m, "a custom operation has no name");
  to->kernel = add_name(m, ir_name_text(m->g, from->name), ir_name_length(m->g, from->name));
  if (from->attributes >= 0) {
    to->attributes = m->data;
    to->attribute_bytes = ir_name_length(m->g, from->attributes);
    m->data += (to->attribute_bytes + RT_PLAN_ALIGN - 1) / RT_PLAN_ALIGN * RT_PLAN_ALIGN;
  }
  return add_step_slots(m, from, to->slot_count);
}

static bool add_exchange_step(maker *m, size_t number) {
  const ir_step *from = &m->plan->steps[number];
  rt_plan_step *to = &m->steps[number];
  ir_ref indices[2 * IR_MAX_RANK];
  uint32_t count = exchange_indices(m, from, indices);
  int64_t kind = ir_get(m->g, from->kernel)->arg;
  to->kernel = add_name(m, ir_name_text(m->g, kind), ir_name_length(m->g, kind));
  to->attributes = m->dims.count;
  for (uint32_t i = 0; i < count; i++)
    if (!append_number(m, &m->dims, m->number_of[indices[i]] - 1)) return false;
  return add_step_slots(m, from, to->slot_count);
}

/* Each moving slot records the loop that sets it, and its index in step_slots. */
static void add_moving(maker *m, size_t number) {
  const rt_plan_step *s = &m->steps[number];
  for (uint32_t i = 0; i < s->slot_count; i++) {
    uint32_t at = s->slots + i;
    if (rt_is_moved(s, i)) m->slots[m->step_slots.list[at]].data = (uint64_t)at << 32 | number;
  }
}

/* The index of the step's count. Where the step has a magnitude whose value overflows, the count has no value
 * either (RT_NO_VALUE), so the run fails. */
static uint32_t count_of(maker *m, const ir_step *from) {
  uint32_t count = m->number_of[from->count] - 1;
  if (!from->magnitude || ir_is_const(m->g, from->magnitude, NULL)) return count;
  uint32_t fits = rt_value_add(&m->values, IR_OP_GE, m->number_of[from->magnitude] - 1,
                               rt_value_number(&m->values, 0), 0);
  return rt_value_add(&m->values, IR_OP_WHERE, fits, count, count);
}

/* The exchange that a WAIT is for is the last one before it with its slots. */
static bool add_wait_step(maker *m, size_t number) {
  const ir_step *from = &m->plan->steps[number], *exchange = NULL;
  size_t at = number;
  while (at-- > 0 && !exchange) {
    const ir_step *s = &m->plan->steps[at];
    if (s->kind == IR_STEP_EXCHANGE && s->kernel == from->kernel && s->slots[0] == from->slots[0])
      exchange = s;
  }
  if (!exchange) return fail_plan(m, "a step waits for no exchange");
  m->steps[number].attributes = at + 1;
  return add_step_slots(m, from, from->slot_count);
}

static bool add_step(maker *m, size_t number) {
  const ir_step *from = &m->plan->steps[number];
  m->steps[number] =
      (rt_plan_step){.kind = (uint8_t)from->kind,
                     .reverse = from->reverse,
                     .axis = (uint16_t)from->axis,
                     .count = count_of(m, from),
                     .work = m->number_of[from->work] - 1,
                     .flops = from->flops ? m->number_of[from->flops] - 1 : rt_value_number(&m->values, 0),
                     .slots = (uint32_t)m->step_slots.count,
                     .slot_count = from->slot_count,
                     .vars = (uint32_t)m->step_vars.count,
                     .inside = {from->function_steps[0], from->function_steps[1]},
                     .carries = from->carries};
  if (from->kind == IR_STEP_KERNEL) return add_kernel_step(m, number);
  if (from->kind == IR_STEP_CALL) return add_call_step(m, number);
  if (from->kind == IR_STEP_EXCHANGE) return add_exchange_step(m, number);
  if (from->kind == IR_STEP_WAIT) return add_wait_step(m, number);
  if (!add_step_slots(m, from, from->slot_count)) return false;
  add_moving(m, number);
  return true;
}

static bool add_steps(maker *m) {
  size_t count = m->plan->step_count;
  m->steps = ir_alloc(m->mem, count * sizeof *m->steps);
  if (!m->steps) return short_of_memory(m);
  for (size_t i = 0; i < count; i++)
    if (!add_step(m, i)) return false;
  return true;
}

static void copy_array(uint8_t *to, const void *from, size_t bytes) {
  if (bytes) memcpy(to, from, bytes);
}

static bool write_out(maker *m) {
  const ir_plan *p = m->plan;
  if (m->values.failed || m->names.failed) return short_of_memory(m);
  if (m->names.len > UINT32_MAX || p->slot_count > UINT32_MAX) return fail_plan(m, "it is too large");
  rt_plan_head head = {.magic = RT_PLAN_MAGIC,
                       .version = RT_PLAN_VERSION,
                       .kernels = (uint32_t)m->out->kernel_count,
                       .data = m->data,
                       .vars = (uint32_t)m->var_count,
                       .values = (uint32_t)m->values.count,
                       .slots = (uint32_t)p->slot_count,
                       .results = (uint32_t)p->result_count,
                       .steps = (uint32_t)p->step_count,
                       .dims = (uint32_t)m->dims.count,
                       .step_slots = (uint32_t)m->step_slots.count,
                       .step_vars = (uint32_t)m->step_vars.count,
                       .names = (uint32_t)m->names.len};
  uint64_t at[RT_PLAN_ARRAYS + 1];
  if (!rt_plan_offsets(&head, at)) return fail_plan(m, "its literal arrays are too large");
  head.size = at[RT_PLAN_ARRAYS] + head.data; /* both multiples of RT_PLAN_ALIGN */
  uint8_t *bytes = m->out->bytes = ir_alloc(m->mem, (size_t)head.size);
  if (!bytes) return short_of_memory(m);
  m->out->size = (size_t)head.size;
  memset(bytes, 0, m->out->size);
  copy_array(bytes, &head, sizeof head);
  copy_array(bytes + at[1], m->vars, m->var_count * sizeof *m->vars);
  copy_array(bytes + at[2], m->values.ops, m->values.count * sizeof *m->values.ops);
  copy_array(bytes + at[3], m->slots, p->slot_count * sizeof *m->slots);
  copy_array(bytes + at[4], p->results, p->result_count * sizeof *p->results);
  copy_array(bytes + at[5], m->steps, p->step_count * sizeof *m->steps);
  copy_array(bytes + at[6], m->dims.list, m->dims.count * sizeof *m->dims.list);
  copy_array(bytes + at[7], m->step_slots.list, m->step_slots.count * sizeof *m->step_slots.list);
  copy_array(bytes + at[8], m->step_vars.list, m->step_vars.count * sizeof *m->step_vars.list);
  copy_array(bytes + at[9], m->names.data, m->names.len);
  for (size_t i = 0; i < p->step_count; i++)
    if (p->steps[i].kind == IR_STEP_CALL && p->steps[i].attributes >= 0)
      copy_array(bytes + at[RT_PLAN_ARRAYS] + m->steps[i].attributes,
                 ir_name_text(m->g, p->steps[i].attributes), (size_t)m->steps[i].attribute_bytes);
  for (size_t i = 0; i < p->slot_count; i++) {
    if (p->slots[i].kind != IR_SLOT_DATA) continue;
    int64_t array = ir_get(m->g, p->slots[i].value)->arg;
    copy_array(bytes + at[RT_PLAN_ARRAYS] + m->slots[i].data, ir_name_text(m->g, array),
               ir_name_length(m->g, array));
  }
  return true;
}

static bool in_range(maker *m) {
  for (size_t i = 0; i < m->plan->slot_count; i++)
    if (!m->plan->slots[i].value || m->plan->slots[i].value >= m->g->count)
      return fail_plan(m, "a slot holds no value");
  for (size_t i = 0; i < m->plan->step_count; i++) {
    ir_ref kernel = m->plan->steps[i].kernel;
    if (m->plan->steps[i].kind == IR_STEP_EXCHANGE &&
        (!kernel || kernel >= m->g->count || ir_op_of(m->g, kernel) != IR_OP_EXCHANGE))
      return fail_plan(m, "an exchange holds no node");
    if (m->plan->steps[i].kind != IR_STEP_KERNEL) continue;
    if (!kernel || kernel >= m->g->count || ir_op_of(m->g, kernel) != IR_OP_KERNEL)
      return fail_plan(m, "a kernel step holds no kernel");
  }
  return true;
}

ir_status rt_plan_make(const ir_mem *mem, const char *name, const ir_graph *g, const ir_plan *plan,
                       rt_plan_bytes *out, ir_error *error) {
  *out = (rt_plan_bytes){0};
  size_t refs = g->count * sizeof(uint32_t);
  maker m = {.mem = mem, .g = g, .plan = plan, .out = out, .error = error, .number_of = ir_alloc(mem, refs)};
  m.values.mem = mem;
  ir_text_init(&m.names, mem);
  if (m.number_of) {
    memset(m.number_of, 0, refs);
    add_name(&m, name, strlen(name));
    bool done = in_range(&m) && add_values(&m) && add_slots(&m) && add_steps(&m) && write_out(&m);
    rt_plan check;
    if (done && !rt_plan_read(out->bytes, out->size, &check))
      fail_plan(&m, "what was written cannot be read back");
  } else {
    short_of_memory(&m);
  }
  ir_free(mem, m.number_of, refs);
  ir_free(mem, m.values.ops, m.values.cap * sizeof *m.values.ops);
  ir_free(mem, m.vars, m.var_cap * sizeof *m.vars);
  ir_free(mem, m.var_refs, m.var_ref_cap * sizeof *m.var_refs);
  ir_free(mem, m.slots, plan->slot_count * sizeof *m.slots);
  ir_free(mem, m.steps, plan->step_count * sizeof *m.steps);
  ir_free(mem, m.dims.list, m.dims.cap * sizeof *m.dims.list);
  ir_free(mem, m.step_slots.list, m.step_slots.cap * sizeof *m.step_slots.list);
  ir_free(mem, m.step_vars.list, m.step_vars.cap * sizeof *m.step_vars.list);
  ir_text_free(&m.names);
  if (m.status) rt_plan_bytes_free(mem, out);
  return m.status;
}

void rt_plan_bytes_free(const ir_mem *mem, rt_plan_bytes *b) {
  ir_free(mem, b->bytes, b->size);
  for (size_t i = 0; i < b->kernel_count; i++) rt_kernel_key_free(mem, &b->kernels[i]);
  ir_free(mem, b->kernels, b->kernel_cap * sizeof *b->kernels);
  *b = (rt_plan_bytes){0};
}
