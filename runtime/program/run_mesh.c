/* One program on all devices of a mesh: routes of its exchanges, found once, and runs. */
#include "runtime/mesh_run.h"

#include <pthread.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/context.h"
#include "runtime/mesh/gather.h"
#include "runtime/mesh/route.h"
#include "runtime/mesh/threads.h"
#include "runtime/program/run.h"

struct rt_mesh {
  const ir_mem *mem;
  ir_mesh axes;
  rt_threads *threads;  /* the engine: of one process, */
  rt_ranks *ranks;      /* or of several */
  pthread_mutex_t lock; /* one run at a time */
};

struct rt_mesh_program {
  rt_mesh *mesh;
  rt_program **programs;     /* by device */
  const rt_routes **by_step; /* of the plan: NULL where it is no exchange */
  rt_routes *routes;         /* of each exchange */
  uint32_t *steps;           /* of each exchange */
  rt_traffic *traffic;       /* by device and step */
  int64_t *vars;             /* by device: the values for which the routes were found */
  size_t step_count, exchange_count, var_count;
  bool routed;
  uint64_t key;                       /* of the routes: equal where processes exchange the same */
  const rt_mesh_arguments *arguments; /* of the run in progress */
};

/* meshes */

ir_status rt_mesh_make(const ir_mem *mem, const ir_mesh *axes, bool slow, rt_post *post, rt_mesh **out,
                       ir_error *error) {
  *out = NULL;
  rt_mesh *m = ir_alloc(mem, sizeof *m);
  if (!m) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh");
  memset(m, 0, sizeof *m);
  m->mem = mem;
  ir_status status =
      ir_mesh_copy(&m->axes, axes, mem) ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh");
  if (!status && post) status = rt_ranks_make(mem, &m->axes, post, &m->ranks, error);
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

/* programs */

static uint32_t devices_of(const rt_mesh_program *m) { return m->mesh->axes.device_count; }

static ir_status no_memory(const rt_program *p, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory running it on a mesh", rt_program_name(p));
}

static void *zeros(const ir_mem *mem, size_t count, size_t size) {
  void *made = ir_alloc(mem, count * size);
  if (made) memset(made, 0, count * size);
  return made;
}

static ir_status list_exchanges(rt_mesh_program *m, const rt_program *p, ir_error *error) {
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < m->step_count && !status; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    if (s->kind != IR_STEP_EXCHANGE) continue;
    rt_routes *routes = &m->routes[m->exchange_count];
    status = rt_routes_make(m->mesh->mem, devices_of(m), p->plan.slots[p->plan.step_slots[s->slots]].rank,
                            routes, error);
    m->steps[m->exchange_count++] = i;
    m->by_step[i] = routes;
  }
  return status;
}

static ir_status make(rt_mesh_program *m, rt_program *const *programs, ir_error *error) {
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = devices_of(m);
  m->step_count = programs[0]->plan.head->steps;
  m->var_count = programs[0]->plan.head->vars;
  m->programs = zeros(mem, devices, sizeof *m->programs);
  m->by_step = zeros(mem, m->step_count, sizeof *m->by_step);
  m->routes = zeros(mem, m->step_count, sizeof *m->routes);
  m->steps = zeros(mem, m->step_count, sizeof *m->steps);
  m->traffic = zeros(mem, m->step_count * devices, sizeof *m->traffic);
  m->vars = zeros(mem, m->var_count * devices, sizeof *m->vars);
  if (!m->programs || !m->by_step || !m->routes || !m->steps || !m->traffic || !m->vars)
    return no_memory(programs[0], error);
  for (uint32_t d = 0; d < devices; d++) {
    const rt_plan_head *a = programs[0]->plan.head, *b = programs[d]->plan.head;
    if (a != b && (a->size != b->size || memcmp(a, b, (size_t)a->size) != 0))
      return ir_fail(error, IR_ERR_INVALID,
                     "graph @%s: all devices of a mesh run one program; device %u has another",
                     rt_program_name(programs[0]), d);
    rt_program_retain(m->programs[d] = programs[d]);
  }
  return list_exchanges(m, programs[0], error);
}

ir_status rt_mesh_program_make(rt_mesh *mesh, rt_program *const *programs, rt_mesh_program **out,
                               ir_error *error) {
  *out = NULL;
  rt_mesh_program *m = zeros(mesh->mem, 1, sizeof *m);
  if (!m) return no_memory(programs[0], error);
  m->mesh = mesh;
  ir_status status = make(m, programs, error);
  if (status) rt_mesh_program_free(m);
  else *out = m;
  return status;
}

void rt_mesh_program_free(rt_mesh_program *m) {
  if (!m) return;
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = devices_of(m);
  for (uint32_t d = 0; d < devices && m->programs; d++) rt_program_release(m->programs[d]);
  for (size_t i = 0; i < m->exchange_count; i++) rt_routes_free(mem, &m->routes[i]);
  ir_free(mem, m->programs, devices * sizeof *m->programs);
  ir_free(mem, m->by_step, m->step_count * sizeof *m->by_step);
  ir_free(mem, m->routes, m->step_count * sizeof *m->routes);
  ir_free(mem, m->steps, m->step_count * sizeof *m->steps);
  ir_free(mem, m->traffic, m->step_count * devices * sizeof *m->traffic);
  ir_free(mem, m->vars, m->var_count * devices * sizeof *m->vars);
  ir_free(mem, m, sizeof *m);
}

rt_program *rt_mesh_program_of(const rt_mesh_program *m, uint32_t device) { return m->programs[device]; }

/* routes */

static bool same_vars(const rt_mesh_program *m, const rt_mesh_arguments *by_device) {
  for (uint32_t d = 0; d < devices_of(m) && m->var_count; d++)
    if (memcmp(m->vars + d * m->var_count, by_device[d].vars, m->var_count * sizeof *m->vars) != 0)
      return false;
  return true;
}

/* Sets the boxes of a device in all exchanges. `values` is room for the plan's index expressions. */
static ir_status set_boxes(rt_mesh_program *m, uint32_t d, const int64_t *vars, int64_t *values,
                           ir_error *error) {
  const rt_program *p = m->programs[d];
  char text[RT_DEVICE_TEXT];
  rt_values_evaluate(p->plan.values, p->plan.head->values, vars, values);
  for (size_t i = 0; i < m->exchange_count; i++) {
    rt_route *route = &m->routes[i].of[d];
    rt_exchange_boxes(p, values, m->steps[i], &route->needed, &route->own);
    if (!rt_exchange_fits(p, values, m->steps[i]))
      return ir_fail(
          error, IR_ERR_INTERNAL,
          "graph @%s: exchange %s: for the values of the variables on device %s, sizes differ that have to "
          "be equal, or exceed 64 bits",
          rt_program_name(p), rt_program_step_name(p, m->steps[i]), rt_device_text(&m->mesh->axes, d, text));
  }
  return IR_OK;
}

static uint64_t key_of(const rt_mesh_program *m) {
  uint64_t key = devices_of(m);
  for (size_t i = 0; i < m->exchange_count; i++)
    for (uint32_t d = 0; d < devices_of(m); d++) {
      const ir_box *boxes[2] = {&m->routes[i].of[d].own, &m->routes[i].of[d].needed};
      for (int k = 0; k < 2; k++) {
        key = XXH3_64bits_withSeed(boxes[k]->lo, boxes[k]->rank * sizeof *boxes[k]->lo, key);
        key = XXH3_64bits_withSeed(boxes[k]->hi, boxes[k]->rank * sizeof *boxes[k]->hi, key);
      }
    }
  return key;
}

static ir_status find_routes(rt_mesh_program *m, const rt_mesh_arguments *by_device, ir_error *error) {
  const rt_program *p = m->programs[0];
  const ir_mem *mem = m->mesh->mem;
  size_t bytes = p->plan.head->values * sizeof(int64_t);
  if (m->routed && same_vars(m, by_device)) return IR_OK;
  m->routed = false;
  int64_t *values = ir_alloc(mem, bytes);
  ir_status status = values ? IR_OK : no_memory(p, error);
  for (uint32_t d = 0; d < devices_of(m) && !status; d++) {
    if (m->var_count && !by_device[d].vars)
      status = ir_fail(error, IR_ERR_INVALID, "graph @%s: device %u has no values of variables",
                       rt_program_name(p), d);
    if (!status) status = set_boxes(m, d, by_device[d].vars, values, error);
    if (!status && m->var_count)
      memcpy(m->vars + d * m->var_count, by_device[d].vars, m->var_count * sizeof *m->vars);
  }
  for (size_t i = 0; i < m->exchange_count && !status; i++) {
    ir_error own = {0};
    status = rt_routes_find(&m->mesh->axes, mem, rt_exchange_bytes(p, m->steps[i]), &m->routes[i], &own);
    if (status)
      ir_fail(error, status, "graph @%s: exchange %s: %s", rt_program_name(p),
              rt_program_step_name(p, m->steps[i]), own.text);
  }
  ir_free(mem, values, bytes);
  m->routed = !status;
  m->key = key_of(m);
  return status;
}

/* runs */

static ir_status run_device(void *user, rt_endpoint *endpoint, ir_error *error) {
  rt_mesh_program *m = user;
  const rt_mesh_arguments *a = &m->arguments[endpoint->device];
  endpoint->routes = m->by_step;
  endpoint->traffic = m->traffic + endpoint->device * m->step_count;
  endpoint->started = 0;
  memset(endpoint->transfers, 0, sizeof endpoint->transfers);
  return rt_program_run_on(m->programs[endpoint->device], endpoint, a->inputs, a->outputs, a->vars, error);
}

ir_status rt_mesh_run(rt_mesh_program *m, const rt_mesh_arguments *by_device, ir_error *error) {
  pthread_mutex_lock(&m->mesh->lock);
  ir_status status = find_routes(m, by_device, error);
  m->arguments = by_device;
  if (m->mesh->ranks) status = rt_ranks_run(m->mesh->ranks, m->key, run_device, m, status, error);
  else if (!status) status = rt_threads_run(m->mesh->threads, run_device, m, error);
  pthread_mutex_unlock(&m->mesh->lock);
  return status;
}

/* counts */

static rt_mesh_traffic *entry_of(rt_mesh_traffic *list, size_t *count, size_t room, const char *kind) {
  for (size_t i = 0; i < *count; i++)
    if (strcmp(list[i].kind, kind) == 0) return &list[i];
  if (*count == room) return NULL;
  list[*count] = (rt_mesh_traffic){.kind = kind};
  return &list[(*count)++];
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

ir_status rt_mesh_gather_counts(rt_mesh_program *m, ir_error *error) {
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = devices_of(m);
  if (!m->mesh->ranks) return IR_OK;
  int64_t numbers = (int64_t)(m->step_count * sizeof(rt_traffic) / sizeof(int64_t));
  size_t bytes = devices * m->step_count * sizeof *m->traffic;
  ir_box *boxes = ir_alloc(mem, devices * sizeof *boxes);
  void **parts = ir_alloc(mem, devices * sizeof *parts);
  rt_traffic *all = ir_alloc(mem, bytes);
  ir_status status = boxes && parts && all ? IR_OK : no_memory(m->programs[0], error);
  for (uint32_t d = 0; d < devices && !status; d++) {
    boxes[d] = (ir_box){.rank = 2, .lo = {d}, .hi = {d + 1, numbers}};
    parts[d] = m->traffic + d * m->step_count;
  }
  rt_mesh_array a = {sizeof(int64_t), {.rank = 2, .hi = {devices, numbers}}, boxes, parts, all};
  if (!status) status = rt_mesh_gather(m->mesh, &a, 1, error);
  if (!status) memcpy(m->traffic, all, bytes);
  ir_free(mem, boxes, devices * sizeof *boxes);
  ir_free(mem, parts, devices * sizeof *parts);
  ir_free(mem, all, bytes);
  return status;
}

void rt_mesh_count(const rt_mesh_program *m, rt_mesh_traffic *out, size_t room, size_t *count, int64_t *most,
                   int64_t *total) {
  *count = 0;
  *most = *total = 0;
  for (uint32_t d = 0; d < devices_of(m); d++) {
    const rt_traffic *traffic = m->traffic + d * m->step_count;
    int64_t sum = 0;
    for (size_t i = 0; i < m->exchange_count; i++) {
      const char *kind = rt_program_step_name(m->programs[0], m->steps[i]);
      rt_mesh_traffic *entry = entry_of(out, count, room, kind);
      const rt_traffic *t = &traffic[m->steps[i]];
      sum += t->bytes;
      if (!entry) continue;
      entry->messages += t->messages;
      entry->total += t->bytes;
      if (d == 0) entry->times += t->times;
    }
    for (size_t k = 0; k < *count; k++) {
      int64_t own = 0;
      for (size_t i = 0; i < m->exchange_count; i++)
        if (strcmp(rt_program_step_name(m->programs[0], m->steps[i]), out[k].kind) == 0)
          own += traffic[m->steps[i]].bytes;
      out[k].most = larger(out[k].most, own);
    }
    *most = larger(*most, sum);
    *total += sum;
  }
}

void rt_mesh_count_time(const rt_mesh_program *m, int64_t *comm_ns, int64_t *hidden_ns) {
  *comm_ns = *hidden_ns = 0;
  for (uint32_t d = 0; d < devices_of(m); d++) {
    int64_t comm = 0, hidden = 0;
    for (size_t i = 0; i < m->exchange_count; i++) {
      comm += m->traffic[d * m->step_count + m->steps[i]].comm_ns;
      hidden += m->traffic[d * m->step_count + m->steps[i]].hidden_ns;
    }
    if (comm > *comm_ns) *comm_ns = comm, *hidden_ns = hidden;
  }
}

void rt_mesh_count_anew(rt_mesh_program *m) {
  memset(m->traffic, 0, m->step_count * devices_of(m) * sizeof *m->traffic);
}
