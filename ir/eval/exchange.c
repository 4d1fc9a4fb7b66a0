/* Exchanges in the reference evaluator: one graph on several devices.
 *
 * A device is evaluated until it comes to an exchange to which some device has not given its part yet. It
 * leaves its part and is evaluated again from the beginning when all have: then it finds the parts of all. So
 * devices take turns, and exchanges inside of functions need nothing of their own. */
#include "impl.h"

#include "ir/exchange.h"

#include <inttypes.h>
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

struct ir_eval_mesh {
  const ir_mem *mem;
  size_t devices, current; /* current: the device that is evaluated */
  part *parts;             /* of exchange k and device d: [k * devices + d] */
  size_t count, cap;       /* exchanges that some device has come to, and room for parts */
  size_t given;            /* parts that are there */
  size_t number;           /* exchanges that the current device has come to in this evaluation */
  bool waits;              /* the evaluation has ended because parts are missing */
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

/* The parts of all devices for the next exchange. Fails, with waits, where one is missing. */
static ir_status parts_of(ir_eval_run *run, ir_eval_mesh *m, const part *own, const part **out) {
  if (m->number == m->count) {
    if (!IR_RESERVE(m->mem, m->parts, m->cap, (m->count + 1) * m->devices))
      return ir_eval_no_memory(run, own->node);
    memset(m->parts + m->count++ * m->devices, 0, m->devices * sizeof *m->parts);
  }
  part *parts = m->parts + m->number++ * m->devices;
  ir_status status = IR_OK;
  if (!parts[m->current].given && !(status = give(run, own, &parts[m->current]))) m->given++;
  *out = parts;
  for (size_t d = 0; d < m->devices && !status; d++) {
    if (!parts[d].given) {
      m->waits = true;
      return ir_fail(run->error, IR_ERR_INTERNAL, "exchange: a part is missing");
    }
    if (parts[d].node != own->node)
      return ir_fail(
          run->error, IR_ERR_INVALID,
          "exchange: devices %zu and %zu come to different exchanges; what decides about them must "
          "be the same on all devices",
          d, m->current);
  }
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

/* Evaluates the graph on the current device as far as parts are there. */
static ir_status evaluate(const ir_graph *g, const ir_ref *roots, size_t n, ir_eval_mesh *m,
                          const ir_eval_device *device, ir_eval_result *out, ir_error *error) {
  m->number = 0;
  m->waits = false;
  return ir_eval_on(g, roots, n, device, m, out, error);
}

ir_status ir_eval_devices(const ir_graph *g, const ir_ref *roots, size_t n, const ir_eval_device *devices,
                          size_t count, ir_eval_result *out, ir_error *error) {
  ir_eval_mesh m = {.mem = g->mem, .devices = count};
  ir_status status = IR_OK;
  size_t done = 0;
  for (size_t i = 0; i < count * n; i++) out[i] = (ir_eval_result){0};
  while (done < count && !status) {
    size_t given = m.given;
    done = 0;
    for (m.current = 0; m.current < count && !status; m.current++) {
      ir_error own = {0};
      ir_eval_result *results = out + m.current * n;
      ir_eval_free(g, results, n);
      status = evaluate(g, roots, n, &m, &devices[m.current], results, &own);
      done += !status;
      if (status && m.waits) status = IR_OK;
      if (status) ir_fail(error, status, "device %zu: %s", m.current, own.text);
    }
    if (!status && done && done < count && given == m.given)
      status = ir_fail(error, IR_ERR_INVALID,
                       "exchange: %zu of %zu devices have ended, others wait for their parts; what decides "
                       "about exchanges must be the same on all devices",
                       done, count);
  }
  if (status) ir_eval_free(g, out, count * n);
  for (size_t i = 0; i < m.count * count; i++) ir_free(g->mem, m.parts[i].data, m.parts[i].bytes);
  ir_free(g->mem, m.parts, m.cap * sizeof *m.parts);
  return status;
}
