/* From a program to the description of which code is made. */
#include "runtime/object/object.h"

#include <string.h>

#include "ir/custom.h"
#include "runtime/context.h"
#include "runtime/object/describe.h"
#include "runtime/program/run.h"

/* Rebuilds the kernels, each in a graph of its own. */
static ir_status read_kernels(rt_describer *d, const rt_program *base, ir_error *error) {
  for (; d->graph_count < base->key_count; d->graph_count++) {
    const rt_kernel_key *key = &base->keys[d->graph_count];
    cg_source *k = &d->kernels[d->graph_count];
    ir_graph *g = &d->graphs[d->graph_count];
    ir_status status = ir_graph_init(g, d->mem, error);
    if (status) return status;
    status = rt_kernel_key_read(key, g, &k->kernel, error);
    k->graph = g;
    k->symbol = key->symbol;
    if (!status) continue;
    ir_graph_free(g);
    return status;
  }
  return IR_OK;
}

static ir_status refuse(const rt_program *p, const char *why, ir_error *error) {
  return ir_fail(error, IR_ERR_UNSUPPORTED, "build: graph @%s %s", rt_program_name(p), why);
}

static ir_status check_program(const rt_program *p, ir_error *error) {
  const rt_program *base = p->base ? p->base : p;
  if (p->failed_step) return rt_out_of_range(p, p->failed_step - 1, error);
  if (base->key_count != p->plan.head->kernels)
    return ir_fail(error, IR_ERR_INTERNAL, "build: graph @%s was not compiled ahead of time",
                   rt_program_name(p));
  if (p->resource_count && !p->base) return refuse(p, "is not bound to its constants", error);
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    ir_custom_call call;
    if (s->kind != IR_STEP_CALL || s->attribute_bytes < sizeof call) continue;
    memcpy(&call, p->plan.data + s->attributes, sizeof call);
    if (call.batch)
      return refuse(p, "runs a custom operation for each element of a batch; an object calls it once", error);
  }
  return IR_OK;
}

ir_status rt_object_build(const rt_program *p, const rt_object_request *request, rt_object *out,
                          ir_error *error) {
  rt_context *c = p->context;
  rt_describer d;
  *out = (rt_object){.arena_bytes = -1};
  ir_status status = check_program(p, error);
  if (status) return status;
  if (rt_describe(&d, p, request, error) == IR_OK &&
      read_kernels(&d, p->base ? p->base : p, error) == IR_OK) {
    cg_program_request whole = {&d.program, &c->target, request->want, rt_level_for(&c->target),
                                c->options.timer};
    out->arena_bytes = d.arena_bytes;
    out->worker_bytes = d.program.scratch_each;
    if (request->weights) {
      out->weights = (cg_blob){.mem = request->mem, .size = (size_t)d.weight_bytes};
      out->weights.bytes = (char *)rt_copy_weights(&d, request->mem);
      if (!out->weights.bytes) status = ir_fail(error, IR_ERR_MEMORY, "build: out of memory for weights");
    }
    if (!status) status = rt_module_build(&c->codegen, &whole, request->mem, &out->code, error);
  } else {
    status = error->status;
  }
  rt_describe_free(&d);
  return status;
}
