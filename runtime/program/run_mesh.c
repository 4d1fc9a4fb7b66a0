/* One program on all devices of a mesh: routes of its exchanges, found once, and runs. */
#include "runtime/program/run_mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "ir/timer.h"
#include "runtime/context.h"
#include "runtime/mesh/pieces.h"
#include "runtime/mesh/route.h"
#include "runtime/program/run.h"

/* meshes */

ir_status rt_mesh_make(const ir_mem *mem, const ir_mesh *axes, bool slow, rt_post *post,
                       rt_simulation *simulation, rt_mesh **out, ir_error *error) {
  *out = NULL;
  rt_mesh *m = ir_alloc(mem, sizeof *m);
  if (!m) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh");
  memset(m, 0, sizeof *m);
  m->mem = mem;
  ir_status status =
      ir_mesh_copy(&m->axes, axes, mem) ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh");
  m->simulation = simulation;
  if (!status && simulation) status = IR_OK;
  else if (!status && post) status = rt_ranks_make(mem, &m->axes, post, &m->ranks, error);
  else if (!status) status = rt_threads_make(mem, &m->axes, slow, &m->threads, error);
  if (status) {
    ir_mesh_free(&m->axes);
    ir_free(mem, m, sizeof *m);
    return status;
  }
  pthread_mutex_init(&m->lock, NULL);
  *out = m;
  return IR_OK;
}

void rt_mesh_free(rt_mesh *m) {
  if (!m) return;
  rt_threads_free(m->threads);
  rt_ranks_free(m->ranks);
  ir_mesh_free(&m->axes);
  pthread_mutex_destroy(&m->lock);
  ir_free(m->mem, m, sizeof *m);
}

const ir_mesh *rt_mesh_axes(const rt_mesh *m) { return &m->axes; }

bool rt_mesh_has(const rt_mesh *m, uint32_t device) { return !m->ranks || rt_ranks_have(m->ranks, device); }

ir_status rt_mesh_gather(rt_mesh *m, const rt_mesh_array *arrays, size_t count, ir_error *error) {
  if (!m->ranks || !count) return IR_OK;
  pthread_mutex_lock(&m->lock);
  ir_status status = rt_ranks_gather(m->ranks, arrays, count, error);
  pthread_mutex_unlock(&m->lock);
  return status;
}

ir_status rt_mesh_fail(rt_mesh *m, ir_error *error) {
  if (!m->ranks) return error->status;
  pthread_mutex_lock(&m->lock);
  ir_status status = rt_ranks_run(m->ranks, 0, NULL, NULL, error->status, error);
  pthread_mutex_unlock(&m->lock);
  return status;
}

rt_simulation *rt_context_simulation(const rt_context *c) { return c->simulation; }

/* programs */

static size_t var_count_of(const rt_mesh_program *m, uint32_t device) {
  return m->programs[device]->plan.head->vars;
}
static const rt_exchange_table *table_of(const rt_mesh_program *m, uint32_t device) {
  return &m->tables[m->table_of[device]];
}

static void *zeros(const ir_mem *mem, size_t count, size_t size) {
  void *made = ir_alloc(mem, count * size);
  if (made) memset(made, 0, count * size);
  return made;
}

static bool same_plan(const rt_program *a, const rt_program *b) {
  const rt_plan_head *x = a->plan.head, *y = b->plan.head;
  return x == y || (x->size == y->size && memcmp(x, y, (size_t)x->size) == 0);
}

/* The table of the device's plan, a new one for a plan that no earlier device has. */
static ir_status find_table(rt_mesh_program *m, uint32_t device, ir_error *error) {
  uint32_t k = 0, first;
  while (k < m->table_count && !same_plan(m->tables[k].program, m->programs[device])) k++;
  m->table_of[device] = k;
  if (k < m->table_count) return IR_OK;
  ir_status status = rt_exchange_table_make(m->programs[device], &m->tables[k], error);
  if (status) return status;
  m->table_count++;
  if (rt_exchange_tables_agree(&m->tables[0], &m->tables[k], &first)) return IR_OK;
  const char *here = rt_exchange_name(&m->tables[k], first), *there = rt_exchange_name(&m->tables[0], first);
  return ir_fail(
      error, IR_ERR_INVALID,
      "graph @%s: the devices of a mesh run one graph, with the same exchanges in one order; exchange "
      "%u is %s on device 0 and %s on device %u",
      rt_program_name(m->programs[0]), first + 1, there ? there : "none", here ? here : "none", device);
}

static ir_status make_routes(rt_mesh_program *m, ir_error *error) {
  const ir_mem *mem = m->mesh->mem;
  const rt_exchange_table *t = &m->tables[0];
  const rt_plan *plan = &t->program->plan;
  ir_status status = IR_OK;
  m->routes = zeros(mem, t->count, sizeof *m->routes);
  m->pieces = zeros(mem, t->count, sizeof *m->pieces);
  m->own_count = rt_mesh_devices(m);
  if (m->mesh->ranks) m->place = rt_ranks_places(m->mesh->ranks, &m->own_count);
  m->traffic = zeros(mem, (size_t)t->count * m->own_count, sizeof *m->traffic);
  m->took_ns = zeros(mem, m->own_count, sizeof *m->took_ns);
  m->vars = zeros(mem, m->var_count * rt_mesh_devices(m), sizeof *m->vars);
  m->words = zeros(mem, t->count, sizeof *m->words);
  if (!m->routes || !m->pieces || !m->took_ns || !m->traffic || !m->vars || !m->words)
    return rt_mesh_no_memory(t->program, error);
  m->exchange_count = t->count;
  for (uint32_t i = 0; i < t->count && !status; i++) {
    const char *name = rt_exchange_name(t, i);
    if (!(m->words[i] = ir_alloc(mem, RT_EXCHANGE_WORDS))) return rt_mesh_no_memory(t->program, error);
    snprintf(m->words[i], RT_EXCHANGE_WORDS, "%.*s", (int)rt_exchange_kind_length(name), name);
    const rt_plan_step *s = &plan->steps[t->steps[i]];
    status = rt_routes_make_own(mem, rt_mesh_devices(m), m->place, m->own_count,
                                plan->slots[plan->step_slots[s->slots]].rank, &m->routes[i], error);
  }
  return status;
}

static ir_status make(rt_mesh_program *m, rt_program *const *programs, ir_error *error) {
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = rt_mesh_devices(m);
  ir_status status = IR_OK;
  m->programs = zeros(mem, devices, sizeof *m->programs);
  m->tables = zeros(mem, devices, sizeof *m->tables);
  m->table_of = zeros(mem, devices, sizeof *m->table_of);
  if (!m->programs || !m->tables || !m->table_of) return rt_mesh_no_memory(programs[0], error);
  for (uint32_t d = 0; d < devices && !status; d++) {
    rt_program_retain(m->programs[d] = programs[d]);
    m->var_count = m->var_count > var_count_of(m, d) ? m->var_count : var_count_of(m, d);
    status = find_table(m, d, error);
  }
  return status ? status : make_routes(m, error);
}

ir_status rt_mesh_program_make(rt_mesh *mesh, rt_program *const *programs, rt_mesh_program **out,
                               ir_error *error) {
  *out = NULL;
  rt_mesh_program *m = zeros(mesh->mem, 1, sizeof *m);
  if (!m) return rt_mesh_no_memory(programs[0], error);
  m->mesh = mesh;
  ir_status status = make(m, programs, error);
  if (status) rt_mesh_program_free(m);
  else *out = m;
  return status;
}

void rt_mesh_program_say(rt_mesh_program *m, size_t number, const char *words) {
  for (size_t i = 0; i < m->exchange_count; i++) {
    const char *name = rt_mesh_exchange_name(m, i);
    size_t length = rt_exchange_kind_length(name);
    if ((name[length] == '#' || name[length] == '@') && strtoull(name + length + 1, NULL, 10) == number)
      snprintf(m->words[i], RT_EXCHANGE_WORDS, "%.*s for %s", (int)length, name, words);
  }
}

void rt_mesh_program_free(rt_mesh_program *m) {
  if (!m) return;
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = rt_mesh_devices(m);
  for (size_t i = 0; i < m->exchange_count; i++) rt_routes_free(mem, &m->routes[i]);
  size_t exchanges = m->table_count ? m->tables[0].count : 0;
  for (size_t i = 0; i < m->exchange_count; i++) rt_pieces_free(mem, &m->pieces[i]);
  ir_free(mem, m->routes, exchanges * sizeof *m->routes);
  for (size_t i = 0; i < exchanges && m->words; i++) ir_free(mem, m->words[i], RT_EXCHANGE_WORDS);
  ir_free(mem, m->words, exchanges * sizeof *m->words);
  ir_free(mem, m->pieces, exchanges * sizeof *m->pieces);
  ir_free(mem, m->traffic, exchanges * m->own_count * sizeof *m->traffic);
  ir_free(mem, m->took_ns, m->own_count * sizeof *m->took_ns);
  ir_free(mem, m->gathered, exchanges * devices * sizeof *m->gathered);
  for (uint32_t k = 0; k < m->table_count; k++) rt_exchange_table_free(&m->tables[k]);
  for (uint32_t d = 0; d < devices && m->programs; d++) rt_program_release(m->programs[d]);
  ir_free(mem, m->programs, devices * sizeof *m->programs);
  ir_free(mem, m->tables, devices * sizeof *m->tables);
  ir_free(mem, m->table_of, devices * sizeof *m->table_of);
  ir_free(mem, m->vars, m->var_count * devices * sizeof *m->vars);
  ir_free(mem, m, sizeof *m);
}

rt_program *rt_mesh_program_of(const rt_mesh_program *m, uint32_t device) { return m->programs[device]; }

/* routes */

static bool same_vars(const rt_mesh_program *m, const rt_mesh_arguments *by_device) {
  for (uint32_t d = 0; d < rt_mesh_devices(m); d++) {
    size_t count = var_count_of(m, d);
    if (count && memcmp(m->vars + d * m->var_count, by_device[d].vars, count * sizeof *m->vars) != 0)
      return false;
  }
  return true;
}

/* Evaluates the plan's index expressions for a device. */
static void evaluate(const rt_mesh_program *m, uint32_t d, int64_t *values) {
  const rt_program *p = m->programs[d];
  rt_values_evaluate(p->plan.values, p->plan.head->values, m->vars + d * m->var_count, values);
}

/* The boxes of all devices in an exchange. `values` is room for the plan's index expressions. */
static ir_status find_boxes(const rt_mesh_program *m, size_t exchange, int64_t *values, rt_route *all,
                            ir_error *error) {
  char text[RT_DEVICE_TEXT];
  for (uint32_t d = 0; d < rt_mesh_devices(m); d++) {
    const rt_program *p = m->programs[d];
    uint32_t step = table_of(m, d)->steps[exchange];
    evaluate(m, d, values);
    rt_exchange_boxes(p, values, step, &all[d].needed, &all[d].own);
    if (!rt_exchange_fits(p, values, step))
      return ir_fail(
          error, IR_ERR_INTERNAL,
          "graph @%s: exchange %s: for the values of the variables on device %s, sizes differ that have to "
          "be equal, or exceed 64 bits",
          rt_program_name(p), m->words[exchange], rt_device_text(&m->mesh->axes, d, text));
    if (!m->place || m->place[d] != UINT32_MAX) {
      rt_route *own = rt_route_of(&m->routes[exchange], d);
      own->own = all[d].own;
      own->needed = all[d].needed;
    }
  }
  return IR_OK;
}

static uint64_t key_with(uint64_t key, const rt_route *all, uint32_t devices) {
  for (uint32_t d = 0; d < devices; d++) {
    const ir_box *boxes[2] = {&all[d].own, &all[d].needed};
    for (int k = 0; k < 2; k++) {
      key = XXH3_64bits_withSeed(boxes[k]->lo, boxes[k]->rank * sizeof *boxes[k]->lo, key);
      key = XXH3_64bits_withSeed(boxes[k]->hi, boxes[k]->rank * sizeof *boxes[k]->hi, key);
    }
  }
  return key;
}

/* Room for the index expressions of any of the programs. */
static size_t most_values(const rt_mesh_program *m) {
  size_t most = 0;
  for (uint32_t k = 0; k < m->table_count; k++)
    if (m->tables[k].program->plan.head->values > most) most = m->tables[k].program->plan.head->values;
  return most;
}

/* A device that has memory of its own gets and gives arrays as wholes. */
static bool has_remote(const rt_mesh_program *m) {
  bool remote = false;
  for (uint32_t d = 0; d < rt_mesh_devices(m); d++) remote |= m->programs[d]->remote;
  return remote;
}

static ir_status find_routes(rt_mesh_program *m, const rt_mesh_arguments *by_device, ir_error *error) {
  const rt_program *p = m->programs[0];
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = rt_mesh_devices(m);
  size_t bytes = most_values(m) * sizeof(int64_t);
  if (m->routed && same_vars(m, by_device)) return IR_OK;
  m->routed = false;
  int64_t *values = ir_alloc(mem, bytes);
  rt_route *all = ir_alloc(mem, devices * sizeof *all);
  ir_status status = values && all ? IR_OK : rt_mesh_no_memory(p, error);
  for (uint32_t d = 0; d < devices && !status; d++) {
    size_t count = var_count_of(m, d);
    if (count && !by_device[d].vars)
      status = ir_fail(error, IR_ERR_INVALID, "graph @%s: device %u has no values of variables",
                       rt_program_name(p), d);
    if (!status && count) memcpy(m->vars + d * m->var_count, by_device[d].vars, count * sizeof *m->vars);
  }
  uint64_t key = devices;
  for (size_t i = 0; i < m->exchange_count && !status; i++) {
    ir_error own = {0};
    status = find_boxes(m, i, values, all, error);
    if (status) break;
    key = key_with(key, all, devices);
    size_t element = rt_exchange_bytes(p, m->tables[0].steps[i]);
    status = rt_routes_find_own(&m->mesh->axes, mem, element, all, &m->routes[i], &own);
    if (!status)
      status = rt_pieces_make(mem, &m->mesh->axes, &m->routes[i], has_remote(m) ? 0 : element, all,
                              &m->pieces[i], &own);
    if (status)
      ir_fail(error, status, "graph @%s: exchange %s: %s", rt_program_name(p), m->words[i], own.text);
  }
  ir_free(mem, values, bytes);
  ir_free(mem, all, devices * sizeof *all);
  m->routed = !status;
  m->key = key;
  return status;
}

/* runs */

static ir_status run_device(void *user, rt_endpoint *endpoint, ir_error *error) {
  rt_mesh_program *m = user;
  const rt_mesh_arguments *a = &m->arguments[endpoint->device];
  endpoint->exchange_of = table_of(m, endpoint->device)->exchange_of;
  endpoint->routes = m->routes;
  endpoint->words = (const char *const *)m->words;
  endpoint->pieces = m->pieces;
  endpoint->begun = 0;
  endpoint->running = UINT32_MAX;
  uint32_t place = m->place ? m->place[endpoint->device] : endpoint->device;
  endpoint->traffic = m->traffic + place * m->exchange_count;
  endpoint->started = 0;
  memset(endpoint->transfers, 0, sizeof endpoint->transfers);
  int64_t start = ir_now_ns();
  ir_status status =
      rt_program_run_on(m->programs[endpoint->device], endpoint, a->inputs, a->outputs, a->vars, error);
  m->took_ns[place] = ir_now_ns() - start;
  return status;
}

int64_t rt_mesh_took(const rt_mesh_program *m, uint32_t device) {
  uint32_t place = m->place ? m->place[device] : device;
  return place == UINT32_MAX ? 0 : m->took_ns[place];
}

ir_status rt_mesh_run(rt_mesh_program *m, const rt_mesh_arguments *by_device, ir_error *error) {
  pthread_mutex_lock(&m->mesh->lock);
  ir_status status = find_routes(m, by_device, error);
  m->arguments = by_device;
  if (m->mesh->ranks) status = rt_ranks_run(m->mesh->ranks, m->key, run_device, m, status, error);
  else if (!status && m->mesh->simulation)
    status = m->mesh->simulation->run(m->mesh->simulation, &m->mesh->axes, run_device, m, error);
  else if (!status) status = rt_threads_run(m->mesh->threads, run_device, m, error);
  pthread_mutex_unlock(&m->mesh->lock);
  return status;
}
