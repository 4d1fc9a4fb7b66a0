/* Exchanges in the reference evaluator: one graph on several devices.
 *
 * Each device is evaluated by a thread, of which one runs at a time: a device goes on until it comes to an
 * exchange to which some device has not given its part yet, leaves its part, and lets the others run until
 * all have. */
#include "impl.h"

#include "ir/exchange.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* What a device gives to one exchange. */
typedef struct part {
  ir_ref node;
  uint32_t rank;
  int64_t at[IR_MAX_RANK], shape[IR_MAX_RANK], count;
  unsigned char *data; /* allocated from the graph's ir_mem; NULL where there are no elements */
  size_t bytes;
  bool given;
} part;

typedef struct device {
  const ir_eval_device *given;
  ir_eval_result *out;
  ir_status status;
  ir_error error;
  size_t number; /* exchanges that it has come to */
  bool started, ended;
  pthread_t thread;
} device;

enum { NOBODY = -1 };

struct ir_eval_mesh {
  const ir_graph *g;
  const ir_mem *mem;
  const ir_ref *roots;
  size_t root_count, devices;
  device *own;       /* of each device */
  part *parts;       /* of exchange k and device d: [k * devices + d] */
  size_t count, cap; /* exchanges that some device has come to, and room for parts */
  size_t given;      /* parts that are there */
  bool stopped;      /* what waits is to end, since a device has failed, or parts never come */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int current; /* the device that runs, or NOBODY: then the caller does */
};

/* The element of a part, or NULL where it lies outside. */
static const unsigned char *element_of(const part *p, const int64_t *index, size_t size) {
  int64_t offset = 0;
  for (uint32_t k = 0; k < p->rank; k++) {
    int64_t i = index[k] - p->at[k];
    if (i < 0 || i >= p->shape[k]) return NULL;
    offset = offset * p->shape[k] + i;
  }
  return p->data + (size_t)offset * size;
}

/* Copies an element from the devices that have it, whose elements must be equal. */
static ir_status fetch(ir_eval_run *run, ir_ref ref, const part *parts, size_t devices, const int64_t *index,
                       size_t size, unsigned char *out) {
  const char *kind = ir_name_text(run->g, ir_get(run->g, ref)->arg);
  char text[IR_SHAPE_TEXT];
  size_t owner = devices;
  for (size_t d = 0; d < devices; d++) {
    const unsigned char *element = element_of(&parts[d], index, size);
    if (!element) continue;
    if (owner == devices) memcpy(out, element, size), owner = d;
    else if (memcmp(out, element, size) != 0)
      return ir_fail(run->error, IR_ERR_INVALID,
                     "exchange %s: devices %zu and %zu hold different values of the element at %s", kind,
                     owner, d, ir_eval_shape_text(index, parts->rank, text));
  }
  if (owner < devices) return IR_OK;
  return ir_fail(run->error, IR_ERR_INVALID, "exchange %s: no device holds the element at %s", kind,
                 ir_eval_shape_text(index, parts->rank, text));
}

static ir_status collect(ir_eval_run *run, ir_ref ref, const part *parts, size_t devices, ir_slot *out) {
  size_t size = ir_dtypes[out->dtype].bytes;
  int64_t coord[IR_MAX_RANK] = {0}, start[IR_MAX_RANK], index[IR_MAX_RANK];
  ir_status status = ir_eval_alloc(run, ref, out, false);
  for (uint32_t k = 0; k < out->rank && !status; k++)
    status = ir_eval_attribute(run, ref, 1 + out->rank + k, &start[k]);
  for (int64_t i = 0; i < out->count && !status; i++, ir_eval_next(coord, out->shape, out->rank)) {
    for (uint32_t k = 0; k < out->rank; k++) index[k] = start[k] + coord[k];
    status = fetch(run, ref, parts, devices, index, size, out->data + (size_t)i * size);
  }
  return status;
}

/* The operand as a part; its elements stay those of the operand. */
static ir_status describe(ir_eval_run *run, ir_ref ref, part *out) {
  const ir_slot *x = ir_eval_operand(run, ref, 0);
  *out = (part){.node = ref, .rank = x->rank, .count = x->count, .data = x->data, .bytes = x->bytes};
  memcpy(out->shape, x->shape, sizeof out->shape);
  for (int64_t i = 0; x->taint && i < x->count; i++)
    if (x->taint[i]) return ir_eval_range_fails(run, &run->range_errors[x->taint[i] - 1]);
  ir_status status = IR_OK;
  for (uint32_t k = 0; k < x->rank && !status; k++)
    status = ir_eval_attribute(run, ref, 1 + 2 * x->rank + k, &out->at[k]);
  return status;
}

static ir_status give(ir_eval_run *run, const part *own, part *to) {
  unsigned char *copy = ir_alloc(run->mem, own->bytes);
  if (!copy) return ir_eval_no_memory(run, own->node);
  if (own->bytes) memcpy(copy, own->data, own->bytes);
  *to = *own;
  to->data = copy;
  to->given = true;
  return IR_OK;
}

/* turns */

static void pass_to(ir_eval_mesh *m, int next) {
  m->current = next;
  pthread_cond_broadcast(&m->changed);
}
static void wait_for(ir_eval_mesh *m, int own) {
  while (m->current != own) pthread_cond_wait(&m->changed, &m->lock);
}

/* Have all devices given their parts to an exchange? Fails where they have come to different ones. */
static ir_status all_given(ir_eval_run *run, const ir_eval_mesh *m, const part *parts, bool *out) {
  *out = true;
  for (size_t d = 0; d < m->devices; d++) {
    *out = *out && parts[d].given;
    if (parts[d].given && parts[d].node != parts[m->current].node)
      return ir_fail(run->error, IR_ERR_INVALID,
                     "exchange: devices %zu and %d come to different exchanges; what decides about them must "
                     "be the same on all devices",
                     d, m->current);
  }
  return IR_OK;
}

/* The parts of all devices for the next exchange of the device that runs. */
static ir_status parts_of(ir_eval_run *run, ir_eval_mesh *m, const part *own, const part **out) {
  int self = m->current;
  size_t at = m->own[self].number++;
  if (at == m->count) {
    if (!IR_RESERVE(m->mem, m->parts, m->cap, (m->count + 1) * m->devices))
      return ir_eval_no_memory(run, own->node);
    memset(m->parts + m->count++ * m->devices, 0, m->devices * sizeof *m->parts);
  }
  ir_status status = give(run, own, &m->parts[at * m->devices + (size_t)self]);
  m->given += !status;
  bool all = false;
  while (!status && !(status = all_given(run, m, m->parts + at * m->devices, &all)) && !all) {
    pass_to(m, NOBODY);
    wait_for(m, self);
    if (m->stopped) status = ir_fail(run->error, IR_ERR_INTERNAL, "exchange: a part is missing");
  }
  *out = m->parts + at * m->devices;
  return status;
}

ir_status ir_eval_exchange(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  part own;
  const part *parts = &own;
  ir_status status = describe(run, ref, &own);
  if (!status && run->mesh) status = parts_of(run, run->mesh, &own, &parts);
  return status ? status : collect(run, ref, parts, run->mesh ? run->mesh->devices : 1, out);
}

/* all devices */

static void *evaluate(void *user) {
  ir_eval_mesh *m = user;
  pthread_mutex_lock(&m->lock); /* held by whoever runs */
  device *own = &m->own[m->current];
  own->status = ir_eval_on(m->g, m->roots, m->root_count, own->given, m, own->out, &own->error);
  own->ended = true;
  pass_to(m, NOBODY);
  pthread_mutex_unlock(&m->lock);
  return NULL;
}

/* Lets the device run until it waits or ends. */
static ir_status go_on(ir_eval_mesh *m, size_t number, ir_error *error) {
  device *d = &m->own[number];
  m->current = (int)number;
  if (d->started) pthread_cond_broadcast(&m->changed);
  else if (pthread_create(&d->thread, NULL, evaluate, m) != 0) {
    m->current = NOBODY;
    return ir_fail(error, IR_ERR_MEMORY, "exchange: no thread can be started for device %zu", number);
  }
  d->started = true;
  wait_for(m, NOBODY);
  return d->ended && d->status ? ir_fail(error, d->status, "device %zu: %s", number, d->error.text) : IR_OK;
}

/* Devices take turns until all have ended, or one has failed. */
static ir_status take_turns(ir_eval_mesh *m, ir_error *error) {
  ir_status status = IR_OK;
  size_t done = 0, before;
  do {
    size_t given = m->given;
    before = done, done = 0;
    for (size_t d = 0; d < m->devices && !status; d++) {
      if (!m->own[d].ended) status = go_on(m, d, error);
      done += m->own[d].ended;
    }
    if (!status && done < m->devices && done == before && given == m->given)
      status = ir_fail(error, IR_ERR_INVALID,
                       "exchange: %zu of %zu devices have ended, others wait for their parts; what decides "
                       "about exchanges must be the same on all devices",
                       done, m->devices);
  } while (!status && done < m->devices);
  m->stopped = true;
  for (size_t d = 0; d < m->devices; d++)
    if (m->own[d].started && !m->own[d].ended) go_on(m, d, &(ir_error){0});
  return status;
}

ir_status ir_eval_devices(const ir_graph *g, const ir_ref *roots, size_t n, const ir_eval_device *devices,
                          size_t count, ir_eval_result *out, ir_error *error) {
  ir_eval_mesh m = {.g = g,
                    .mem = g->mem,
                    .roots = roots,
                    .root_count = n,
                    .devices = count,
                    .lock = PTHREAD_MUTEX_INITIALIZER,
                    .changed = PTHREAD_COND_INITIALIZER,
                    .current = NOBODY};
  for (size_t i = 0; i < count * n; i++) out[i] = (ir_eval_result){0};
  if (!(m.own = ir_alloc(g->mem, count * sizeof *m.own)))
    return ir_fail(error, IR_ERR_MEMORY, "evaluate: no memory for %zu devices", count);
  for (size_t d = 0; d < count; d++) m.own[d] = (device){.given = &devices[d], .out = out + d * n};
  pthread_mutex_lock(&m.lock);
  ir_status status = take_turns(&m, error);
  pthread_mutex_unlock(&m.lock);
  for (size_t d = 0; d < count; d++)
    if (m.own[d].started) pthread_join(m.own[d].thread, NULL);
  if (status) ir_eval_free(g, out, count * n);
  for (size_t i = 0; i < m.count * count; i++) ir_free(g->mem, m.parts[i].data, m.parts[i].bytes);
  ir_free(g->mem, m.parts, m.cap * sizeof *m.parts);
  ir_free(g->mem, m.own, count * sizeof *m.own);
  return status;
}
