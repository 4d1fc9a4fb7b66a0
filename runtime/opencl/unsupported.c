/* Refuses graphs with f64 elements on devices without f64. Two uses of f64 are not refused: f32 functions
 * that compute in f64 between their operations, which codegen/opencl/soft_float.c does with integers, and
 * values that depend on constants and sizes alone, such as the steps of a linspace. Arrays of f64 could be
 * computed with integers too, but at a fiftieth of the speed, which whoever chose the device did not ask
 * for. */
#include <string.h>

#include "ir/print/print.h"
#include "runtime/opencl/device.h"

typedef struct search {
  const ir_graph *g;
  ir_ref *all; /* sources before users, including nodes inside functions */
  size_t count, cap;
  bool *varies; /* by ref: the value depends on an input or on literal data */
  ir_ref found; /* the first such node of f64; 0: none */
} search;

static void search_nodes(search *s) {
  for (size_t i = 0; i < s->count && !s->found; i++) {
    const ir_node *n = ir_get(s->g, s->all[i]);
    bool varies = n->op == IR_OP_INPUT || n->op == IR_OP_DATA || n->op == IR_OP_RESOURCE;
    for (uint32_t k = 0; k < n->nsrc; k++) varies |= s->varies[n->src[k]];
    s->varies[s->all[i]] = varies;
    if (varies && n->dtype == IR_F64) s->found = s->all[i];
  }
}

/* A result of f64, which is refused whatever it depends on; 0: none. */
static ir_ref among_results(const ir_graph *g, ir_ref root) {
  const ir_node *n = ir_get(g, root);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (ir_dtype_of(g, n->src[i]) == IR_F64) return n->src[i];
  return 0;
}

static ir_status refuse_node(const rt_opencl *d, const char *name, const ir_graph *g, ir_ref root,
                             ir_ref found, ir_error *error) {
  const ir_node *n = ir_get(g, found);
  ir_text line;
  ir_text_init(&line, g->mem);
  if (n->op == IR_OP_INPUT) {
    ir_textf(&line, "input %%%.*s : ", (int)ir_name_length(g, n->arg), ir_name_text(g, n->arg));
    ir_print_type(g, found, &line);
  } else {
    ir_print_line(g, root, found, &line);
  }
  if (line.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory looking at a graph");
  ir_fail(error, IR_ERR_UNSUPPORTED,
          "graph @%.80s: `%.200s`: device %s has no f64 (cl_khr_fp64); compute in f32, or on another "
          "device, such as cpu",
          name, ir_text_get(&line), d->properties.name);
  ir_text_free(&line);
  return error->status;
}

ir_status rt_cl_accepts(rt_device *device, const char *name, const ir_graph *g, ir_ref root,
                        const ir_ref *inputs, size_t count, ir_error *error) {
  const rt_opencl *d = (const rt_opencl *)device;
  search s = {.g = g};
  if (d->properties.f64) return IR_OK;
  for (size_t i = 0; i < count && !s.found; i++)
    if (ir_dtype_of(g, inputs[i]) == IR_F64) s.found = inputs[i];
  if (!s.found) {
    bool known = ir_reachable_inside(g, &root, 1, &s.all, &s.count, &s.cap) == IR_OK;
    s.varies = known ? ir_alloc(g->mem, g->count * sizeof *s.varies) : NULL;
    if (s.varies) memset(s.varies, 0, g->count * sizeof *s.varies), search_nodes(&s);
    else ir_fail(error, IR_ERR_MEMORY, "out of memory looking at a graph");
    ir_free(g->mem, s.varies, s.varies ? g->count * sizeof *s.varies : 0);
    ir_free(g->mem, s.all, s.cap * sizeof *s.all);
  }
  if (error->status) return error->status;
  if (!s.found) s.found = among_results(g, root);
  return s.found ? refuse_node(d, name, g, root, s.found, error) : IR_OK;
}
