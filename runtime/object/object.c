/* From a program to the description of which code is made. */
#include "runtime/object/object.h"

#include <string.h>

#include "ir/custom.h"
#include "runtime/compiler/cc.h"
#include "runtime/context.h"
#include "runtime/cpu/processors.h"
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

/* Describes a form, and appends its part of the file of weights. */
static ir_status describe_form(rt_describer *d, const rt_object_form *form, const rt_object_request *request,
                               rt_object *out, ir_error *error) {
  const rt_program *p = form->program;
  if (check_program(p, error) != IR_OK || rt_describe(d, form, request, error) != IR_OK ||
      read_kernels(d, p->base ? p->base : p, error) != IR_OK)
    return error->status;
  bool sized = d->arena_bytes < 0 || out->arena_bytes < 0;
  out->arena_bytes = sized ? -1 : d->arena_bytes > out->arena_bytes ? d->arena_bytes : out->arena_bytes;
  if (d->program.scratch_each > out->worker_bytes) out->worker_bytes = d->program.scratch_each;
  return IR_OK;
}

/* The file of weights: those of the forms one behind the other, each a multiple of CG_ARENA_ALIGN long. */
static ir_status join_weights(const rt_describer *describers, cg_form *forms,
                              const rt_object_request *request, rt_object *out, ir_error *error) {
  size_t size = 0;
  for (size_t i = 0; i < request->form_count; i++) {
    forms[i].weights = (int64_t)size;
    size += (size_t)describers[i].weight_bytes;
  }
  out->weights = (cg_blob){.mem = request->mem, .bytes = ir_alloc(request->mem, size + 1), .size = size};
  if (!out->weights.bytes) return ir_fail(error, IR_ERR_MEMORY, "build: out of memory for weights");
  memset(out->weights.bytes, 0, size + 1);
  for (size_t i = 0; i < request->form_count; i++)
    rt_copy_weights(&describers[i], (uint8_t *)out->weights.bytes + forms[i].weights);
  return IR_OK;
}

/* Where the code generator is not there, the C compiler makes objects from C, for one processor of this
 * architecture. */
static ir_status build_by_cc(const rt_context *c, const cg_program_request *whole, const ir_mem *mem,
                             cg_blob *out, ir_error *error) {
  const ir_target *target = whole->forms->target;
  const char *what = whole->want == CG_ASM   ? "assembler is"
                     : whole->form_count > 1 ? "objects for several targets are"
                     : rt_is_other_architecture(target->triple, c->code.triple)
                         ? "objects for another architecture are"
                         : NULL;
  cg_blob text;
  if (what)
    return ir_fail(
        error, IR_ERR_COMPILE,
        "build: %s made by the code generator %s, which is missing; install it beside the library, "
        "or ask for C (a name that ends with .c; in C: the option c of vf_build)",
        what, RT_MODULE_FILE);
  if (cg_c_program(whole, mem, &text, error) != IR_OK) return error->status;
  ir_status status = rt_cc_object(text.bytes, text.size, target, mem, out, error);
  cg_blob_free(&text);
  return status;
}

static ir_status build_forms(rt_describer *describers, const rt_object_request *request, rt_object *out,
                             ir_error *error) {
  rt_context *c = request->forms->program->context;
  cg_form forms[RT_MOST_FORMS];
  cg_program_request whole = {forms, request->form_count, request->want, rt_level_for(&c->target),
                              c->options.timer};
  ir_status status = IR_OK;
  for (size_t i = 0; i < request->form_count && !status; i++) {
    status = describe_form(&describers[i], &request->forms[i], request, out, error);
    forms[i] = (cg_form){&describers[i].program, &request->forms[i].program->context->target, 0};
  }
  if (!status && request->weights) status = join_weights(describers, forms, request, out, error);
  if (status) return status;
  if (request->want == CG_C) return cg_c_program(&whole, request->mem, &out->code, error);
  char path[4096];
  if (c->by_cc && !rt_module_find(RT_MODULE_FILE, path, sizeof path))
    return build_by_cc(c, &whole, request->mem, &out->code, error);
  return rt_module_build(&c->codegen, &whole, request->mem, &out->code, error);
}

ir_status rt_object_build(const rt_object_request *request, rt_object *out, ir_error *error) {
  const ir_mem *mem = rt_context_mem(request->forms->program->context);
  size_t bytes = request->form_count * sizeof(rt_describer);
  rt_describer *describers = ir_alloc(mem, bytes);
  *out = (rt_object){0};
  if (!describers)
    return ir_fail(error, IR_ERR_MEMORY, "build: out of memory for graph @%s",
                   rt_program_name(request->forms->program));
  for (size_t i = 0; i < request->form_count; i++) describers[i] = (rt_describer){.mem = mem};
  ir_status status = build_forms(describers, request, out, error);
  for (size_t i = 0; i < request->form_count; i++) rt_describe_free(&describers[i]);
  ir_free(mem, describers, bytes);
  return status;
}
