/* Runs on a mesh: whole arrays are divided among the devices, and put together again. */
#include <string.h>

#include "frontend/mesh/sharded.h"
#include "ir/eval/eval.h"
#include "runtime/mesh/box.h"

enum { ALIGN = 64 }; /* of parts that are copied, for vectors */
/* The owner of the part of another process's device. */
#define ELSEWHERE UINT32_MAX

static const shard_value *value_of(const fe_sharded *s, bool result, size_t number) {
  return result ? &s->parts.results[number] : &s->parts.inputs[number];
}
static uint32_t devices_of(const fe_sharded *s) { return rt_mesh_axes(s->mesh)->device_count; }

ir_status fe_sharded_variables(fe_sharded *s, uint32_t device, const int64_t *values, int64_t *out,
                               ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  size_t count = s->parts.variable_count;
  int64_t *own = ir_alloc(mem, count * sizeof *own);
  s->graph.error = error;
  bool good = own && shard_variable_values(&s->graph, &s->parts, device, s->refs + 1 + s->input_count, values,
                                           s->var_count, own);
  const fe_device_program *p = fe_sharded_program(s, device);
  for (size_t i = 0; i < p->vars && good; i++) {
    size_t k = (size_t)p->variable_of[i];
    out[i] = k < s->var_count ? values[k] : own[k - s->var_count];
  }
  ir_free(mem, own, count * sizeof *own);
  return good            ? IR_OK
         : error->status ? error->status
                         : ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh");
}

ir_status fe_sharded_shape(fe_sharded *s, bool result, size_t number, const int64_t *values, uint32_t *rank,
                           int64_t *dims, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  ir_ref global = value_of(s, result, number)->global;
  ir_var_value *vars = ir_alloc(mem, s->var_count * sizeof *vars);
  ir_status status = vars ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh");
  *rank = ir_rank(&s->graph, global);
  for (size_t i = 0; i < s->var_count && vars; i++)
    vars[i] = (ir_var_value){s->refs[1 + s->input_count + i], values[i]};
  for (uint32_t k = 0; k < *rank && !status; k++)
    status =
        ir_eval_index(&s->graph, ir_dim(&s->graph, global, k), vars, s->var_count, NULL, 0, &dims[k], error);
  ir_free(mem, vars, s->var_count * sizeof *vars);
  return status && !error->status ? ir_fail(error, status, "out of memory for a mesh") : status;
}

ir_status fe_sharded_part(fe_sharded *s, bool result, size_t number, uint32_t device, const int64_t *values,
                          ir_box *out, ir_error *error) {
  int64_t dims[IR_MAX_RANK];
  uint32_t rank;
  ir_status status = fe_sharded_shape(s, result, number, values, &rank, dims, error);
  if (!status) ir_spec_box(rt_mesh_axes(s->mesh), &value_of(s, result, number)->spec, dims, device, out);
  return status;
}

/* one array */

/* A whole array and its parts. */
typedef struct divided {
  void *whole;
  size_t bytes;         /* of an element */
  bool result, changed; /* written; read and written: a reference */
  bool taken;           /* there is no whole array: parts are all that is wanted */
  ir_box box;           /* of all of it */
  ir_box *boxes;        /* by device */
  void **parts;         /* by device: inside of `whole`, or in `copies` */
  uint32_t *owner;      /* by device of this process: the first of them that has the same box */
  uint8_t *copies;
  size_t copy_bytes;
} divided;

static size_t bytes_in(const divided *a, const ir_box *box) {
  return rt_box_is_empty(box) ? 0 : (size_t)ir_box_elements(box) * a->bytes;
}
static size_t aligned(size_t bytes) { return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static bool same_box(const ir_box *a, const ir_box *b) {
  return memcmp(a->lo, b->lo, a->rank * sizeof *a->lo) == 0 &&
         memcmp(a->hi, b->hi, a->rank * sizeof *a->hi) == 0;
}

/* Replicas share a part that is only read. What is written each has for itself, the first in place if it may.
 */
static void find_owners(const fe_sharded *s, divided *a) {
  for (uint32_t d = 0; d < devices_of(s); d++) {
    uint32_t k = 0;
    while (k < d && (a->owner[k] == ELSEWHERE || !same_box(&a->boxes[k], &a->boxes[d]))) k++;
    a->owner[d] = rt_mesh_has(s->mesh, d) ? k : ELSEWHERE;
  }
}

static bool is_in_place(const divided *a, uint32_t d) {
  return !a->taken && a->owner[d] == d && rt_box_offset(&a->box, &a->boxes[d]) >= 0;
}
static bool is_written(const divided *a) { return a->result || a->changed; }
static bool is_shared(const divided *a, uint32_t d) {
  return !is_written(a) && a->owner[d] != d && a->owner[d] != ELSEWHERE;
}
static bool is_copied(const divided *a, uint32_t d) {
  return a->owner[d] != ELSEWHERE && !is_in_place(a, d) && !is_shared(a, d);
}

static ir_status place_parts(divided *a, uint32_t devices, const ir_mem *mem, ir_error *error) {
  for (uint32_t d = 0; d < devices; d++)
    if (is_copied(a, d)) a->copy_bytes += aligned(bytes_in(a, &a->boxes[d]));
  if (a->copy_bytes) a->copy_bytes += ALIGN;
  a->copies = a->copy_bytes ? ir_alloc(mem, a->copy_bytes) : NULL;
  if (a->copy_bytes && !a->copies)
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for parts of an array");
  uint8_t *next = (uint8_t *)(((uintptr_t)a->copies + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
  for (uint32_t d = 0; d < devices; d++) {
    const ir_box *box = &a->boxes[d];
    if (is_shared(a, d)) {
      a->parts[d] = a->parts[a->owner[d]];
    } else if (is_in_place(a, d)) {
      a->parts[d] = (uint8_t *)a->whole + (size_t)rt_box_offset(&a->box, box) * a->bytes;
    } else if (a->owner[d] == ELSEWHERE) {
      a->parts[d] = NULL;
    } else {
      a->parts[d] = next;
      next += aligned(bytes_in(a, box));
      if (!a->result) rt_box_copy(box, a->bytes, &a->box, a->whole, box, a->parts[d]);
    }
  }
  return IR_OK;
}

/* The reference that an input is, or that a result is the next version of; NULL: it is none. */
static const pass_reference *reference_of(const fe_sharded *s, bool result, size_t number) {
  for (size_t i = 0; i < s->reference_count; i++)
    if ((result ? s->references[i].result : s->references[i].input) == number) return &s->references[i];
  return NULL;
}

static ir_status divide(fe_sharded *s, bool result, size_t number, void *whole, const int64_t *values,
                        divided *a, ir_error *error) {
  const shard_value *v = value_of(s, result, number);
  const ir_mem *mem = s->graph.mem;
  uint32_t devices = devices_of(s);
  a->whole = whole;
  a->result = result;
  a->changed = !result && reference_of(s, false, number);
  a->bytes = ir_dtypes[ir_dtype_of(&s->graph, v->global)].bytes;
  if (ir_spec_count(&v->spec, IR_PLACE_PENDING)) {
    const ir_node *n = ir_get(&s->graph, v->global);
    bool named = n->op == IR_OP_INPUT;
    return ir_fail(
        error, IR_ERR_UNSUPPORTED,
        "%s %zu%s%.60s is a pending reduction, of which each device has a summand, and no whole array; run "
        "on parts (vf_program_run_parts), or give it a spec without `+`",
        result ? "result" : "input", number, named ? ", %" : "",
        named ? ir_name_text(&s->graph, n->arg) : "");
  }
  a->boxes = ir_alloc(mem, devices * sizeof *a->boxes);
  a->parts = ir_alloc(mem, devices * sizeof *a->parts);
  a->owner = ir_alloc(mem, devices * sizeof *a->owner);
  if (!a->boxes || !a->parts || !a->owner)
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for parts of an array");
  memset(&a->box, 0, sizeof a->box);
  ir_status status = fe_sharded_shape(s, result, number, values, &a->box.rank, a->box.hi, error);
  if (status) return status;
  for (uint32_t d = 0; d < devices; d++)
    ir_spec_box(rt_mesh_axes(s->mesh), &v->spec, a->box.hi, d, &a->boxes[d]);
  find_owners(s, a);
  return place_parts(a, devices, mem, error);
}

/* Of several processes each gets what devices of the others have written. */
static ir_status gather(fe_sharded *s, const divided *arrays, size_t count, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  size_t gathered = 0;
  rt_mesh_array *list = ir_alloc(mem, count * sizeof *list);
  if (!list) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for parts of an array");
    return rt_mesh_fail(s->mesh, error);
  }
  for (size_t i = 0; i < count; i++)
    if (is_written(&arrays[i]) && !arrays[i].taken)
      list[gathered++] =
          (rt_mesh_array){arrays[i].bytes, arrays[i].box, arrays[i].boxes, arrays[i].parts, arrays[i].whole};
  ir_status status = rt_mesh_gather(s->mesh, list, gathered, error);
  ir_free(mem, list, count * sizeof *list);
  return status;
}

/* Parts that are copies of one another are those of the first device of the mesh that has them. */
static ir_status hand_over(const fe_sharded *s, const divided *a, size_t result, const fe_part_taker *taker,
                           ir_error *error) {
  ir_status status = IR_OK;
  for (uint32_t d = 0; d < devices_of(s) && taker->take && !status; d++) {
    uint32_t first = 0;
    while (!same_box(&a->boxes[first], &a->boxes[d])) first++;
    if (first == d && rt_mesh_has(s->mesh, d) && !rt_box_is_empty(&a->boxes[d]))
      status = taker->take(taker->user, result, &a->boxes[d], a->parts[d], error);
  }
  return status;
}

static void put_together(const divided *a, uint32_t devices) {
  for (uint32_t d = 0; d < devices; d++)
    if (a->owner[d] == d && !is_in_place(a, d))
      rt_box_copy(&a->boxes[d], a->bytes, &a->boxes[d], a->parts[d], &a->box, a->whole);
}

static void free_divided(divided *a, uint32_t devices, const ir_mem *mem) {
  ir_free(mem, a->boxes, devices * sizeof *a->boxes);
  ir_free(mem, a->parts, devices * sizeof *a->parts);
  ir_free(mem, a->owner, devices * sizeof *a->owner);
  ir_free(mem, a->copies, a->copy_bytes);
}

/* Does a program read it? */
static bool is_read(const fe_sharded *s, size_t input) {
  for (uint32_t k = 0; k < s->program_count; k++)
    for (size_t i = 0; i < s->programs[k].inputs; i++)
      if ((size_t)s->programs[k].input_of[i] == input) return true;
  return false;
}

/* runs */

static ir_status run_parts(fe_sharded *s, void *const *inputs, void *const *outputs, const int64_t *values,
                           ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  uint32_t devices = devices_of(s);
  size_t results = s->parts.result_count;
  rt_mesh_arguments *arguments = ir_alloc(mem, devices * sizeof *arguments);
  void **in = ir_alloc(mem, devices * s->most_inputs * sizeof *in);
  int64_t *vars = ir_alloc(mem, devices * s->most_vars * sizeof *vars);
  ir_status status =
      arguments && in && vars ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory for a run on a mesh");
  for (uint32_t d = 0; d < devices && !status; d++) {
    const fe_device_program *p = fe_sharded_program(s, d);
    void **own = in + d * s->most_inputs;
    for (size_t i = 0; i < p->inputs; i++) own[i] = inputs[d * s->input_count + (size_t)p->input_of[i]];
    arguments[d] = (rt_mesh_arguments){own, outputs + d * results, vars + d * s->most_vars};
    status = fe_sharded_variables(s, d, values, vars + d * s->most_vars, error);
  }
  status = status ? rt_mesh_fail(s->mesh, error) : rt_mesh_run(s->devices, arguments, error);
  ir_free(mem, arguments, devices * sizeof *arguments);
  ir_free(mem, in, devices * s->most_inputs * sizeof *in);
  ir_free(mem, vars, devices * s->most_vars * sizeof *vars);
  return status;
}

static ir_status run_whole(fe_sharded *s, void *const *inputs, void *const *outputs, const int64_t *values,
                           const fe_part_taker *taker, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  uint32_t devices = devices_of(s);
  size_t results = s->parts.result_count, count = s->input_count + results;
  divided *arrays = ir_alloc(mem, count * sizeof *arrays);
  void **parts = ir_alloc(mem, count * devices * sizeof *parts), **out = parts + s->input_count * devices;
  ir_status status =
      arrays && parts ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory for a run on a mesh");
  if (arrays) memset(arrays, 0, count * sizeof *arrays);
  for (size_t i = 0; i < count && !status; i++) {
    bool result = i >= s->input_count;
    size_t number = result ? i - s->input_count : i;
    const pass_reference *r = reference_of(s, result, number);
    if (result && r) { /* lies where the input does */
      for (uint32_t d = 0; d < devices; d++) out[d * results + number] = parts[d * s->input_count + r->input];
      continue;
    }
    if (!result && !r && !is_read(s, number)) continue;
    arrays[i].taken = result && taker && taker->takes[number];
    status = divide(s, result, number, result ? outputs[number] : inputs[number], values, &arrays[i], error);
    for (uint32_t d = 0; d < devices && !status; d++)
      if (result) out[d * results + number] = arrays[i].parts[d];
      else parts[d * s->input_count + number] = arrays[i].parts[d];
  }
  status = status ? rt_mesh_fail(s->mesh, error) : run_parts(s, parts, out, values, error);
  if (!status) status = gather(s, arrays, count, error);
  for (size_t i = 0; i < count && !status; i++)
    if (arrays[i].taken) status = hand_over(s, &arrays[i], i - s->input_count, taker, error);
    else if (is_written(&arrays[i])) put_together(&arrays[i], devices);
  for (size_t i = 0; i < count && arrays; i++) free_divided(&arrays[i], devices, mem);
  ir_free(mem, parts, count * devices * sizeof *parts);
  ir_free(mem, arrays, count * sizeof *arrays);
  return status;
}

ir_status fe_sharded_run_parts(fe_sharded *s, void *const *inputs, void *const *outputs,
                               const int64_t *values, ir_error *error) {
  pthread_mutex_lock(&s->lock);
  ir_status status = run_parts(s, inputs, outputs, values, error);
  pthread_mutex_unlock(&s->lock);
  return status;
}

ir_status fe_sharded_run(fe_sharded *s, void *const *inputs, void *const *outputs, const int64_t *values,
                         ir_error *error) {
  return fe_sharded_run_taking(s, inputs, outputs, values, NULL, error);
}

ir_status fe_sharded_run_taking(fe_sharded *s, void *const *inputs, void *const *outputs,
                                const int64_t *values, const fe_part_taker *taker, ir_error *error) {
  pthread_mutex_lock(&s->lock);
  ir_status status = run_whole(s, inputs, outputs, values, taker, error);
  pthread_mutex_unlock(&s->lock);
  return status;
}

ir_status fe_sharded_cost(fe_sharded *s, const int64_t *values, rt_cost *out, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  int64_t *vars = ir_alloc(mem, s->most_vars * sizeof *vars);
  pthread_mutex_lock(&s->lock);
  ir_status status = vars ? fe_sharded_variables(s, 0, values, vars, error)
                          : ir_fail(error, IR_ERR_MEMORY, "out of memory for the cost of a program");
  pthread_mutex_unlock(&s->lock);
  if (!status) status = rt_program_cost(s->program, vars, out, error);
  ir_free(mem, vars, s->most_vars * sizeof *vars);
  return status;
}
