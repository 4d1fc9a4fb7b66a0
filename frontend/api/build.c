/* Graphs compiled ahead of time, for users of the C API. */
#include "frontend/build/build.h"

#include <string.h>

#include "frontend/api/api.h"

struct vf_object {
  vf_context *context;
  fe_built built;
};

static bool read_options(const vf_build_options *given, vf_build_options *out, ir_error *error) {
  *out = (vf_build_options){.size = sizeof *out};
  if (!given) return true;
  if (given->size < offsetof(vf_build_options, name)) {
    ir_fail(error, IR_ERR_INVALID,
            "build: the size of the options is %zu; it must be sizeof(vf_build_options), which is %zu here",
            given->size, sizeof *out);
    return false;
  }
  memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
  if (!out->name || fe_is_identifier(out->name)) return true;
  ir_fail(error, IR_ERR_INVALID, "build: the name %.60s is no C identifier, of letters, digits and _",
          out->name);
  return false;
}

static cg_output want_of(const vf_build_options *options) {
  return options->c ? CG_C : options->assembler ? CG_ASM : CG_OBJECT;
}

/* The contexts of the object's targets get constants from that of the graph. */
static void build(vf_graph *g, const vf_build_options *options, fe_built *out, ir_error *error) {
  fe_request request;
  fe_targets targets;
  if (!fe_graph_request(g, &request, error)) return;
  request.constants = g->context->runtime;
  fe_ports ports = {&request, g->inputs, g->outputs, g->output_count};
  fe_build_options how = {options->name, want_of(options), options->threads, options->weights,
                          &g->context->mem};
  if (fe_targets_open(g->context->runtime, options->target, &targets, error) == IR_OK)
    fe_build(&targets, &ports, &how, out, error);
  fe_targets_close(&targets);
  fe_graph_request_free(g, &request);
}

vf_object *vf_build(vf_graph *g, const vf_build_options *options, vf_error *error) {
  ir_error failure = {0};
  vf_build_options o;
  vf_object *object = NULL;
  if (fe_not(g, FE_GRAPH)) {
    ir_fail(&failure, IR_ERR_INVALID, "build: the graph is %s", fe_not(g, FE_GRAPH));
  } else if (read_options(options, &o, &failure)) {
    unsigned failures = fe_failures(g->context);
    object = ir_alloc(&g->context->mem, sizeof *object);
    if (object) {
      *object = (vf_object){.context = g->context};
      fe_context_retain(g->context);
      build(g, &o, &object->built, &failure);
    } else {
      ir_fail(&failure, IR_ERR_MEMORY, "out of memory building @%.60s", g->name);
    }
    fe_report_as_memory(g->context, failures, &failure);
  }
  if (failure.status && object) {
    vf_object_destroy(object);
    object = NULL;
  }
  fe_report(error, &failure);
  return object;
}

void vf_object_destroy(vf_object *object) {
  if (!object) return;
  vf_context *c = object->context;
  fe_built_free(&object->built);
  ir_free(&c->mem, object, sizeof *object);
  fe_context_release(c);
}

const void *vf_object_bytes(const vf_object *object, size_t *size) {
  if (size) *size = object ? object->built.object.size : 0;
  return object ? object->built.object.bytes : NULL;
}

const char *vf_object_header(const vf_object *object) {
  return object ? ir_text_get(&object->built.header) : NULL;
}

const void *vf_object_weights(const vf_object *object, size_t *size) {
  if (size) *size = object ? object->built.weights.size : 0;
  return object ? object->built.weights.bytes : NULL;
}
