/* Collectives: constraints that say what changes in how a value is divided. */
#include <stdio.h>

#include "passes/ops/check.h"
#include "passes/ops/mesh.h"

bool op_over_spec(ir_graph *g, const char *who, op_over over, ir_spec *out) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_error why = {0};
  ir_spec_init(out, 0);
  if (!mesh)
    return op_refuse(
               g, "%s: the graph has no mesh; vf_graph_set_mesh gives it one, or in a text mesh @m [x=2,y=4]",
               who) != 0;
  if (!over.text) return true;
  char listing[IR_SPEC_MEANT];
  bool bare = over.length && over.text[0] != '[' && over.length < sizeof listing - 2;
  int length = bare ? snprintf(listing, sizeof listing, "[%.*s]", (int)over.length, over.text) : 0;
  if (!ir_spec_parse(mesh, bare ? listing : over.text, bare ? (size_t)length : over.length, out, &why))
    return op_refuse(g, "%s: over: %s", who, why.text) != 0;
  bool listed = out->rank == 1 && ir_spec_count(out, 0) > 0 && !ir_spec_count(out, IR_PLACE_PENDING) &&
                !ir_spec_count(out, IR_PLACE_REPLICATED) && !out->open[0] && !out->priority[0];
  if (!listed && (out->rank || over.length != 2))
    return op_refuse(g, "%s: over is %.*s; takes axes of the mesh, the major first, such as [x] or [x.y]",
                     who, (int)over.length, over.text) != 0;
  return true;
}

/* The interned text of the spec; negative after failing. */
static int64_t text_of(ir_graph *g, const char *who, const ir_spec *spec) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_spec_print(ir_graph_mesh(g), spec, &text);
  int64_t name = text.failed ? -1 : ir_name(g, text.data, text.len);
  ir_text_free(&text);
  if (name < 0) ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", who);
  return name;
}

ir_ref op_collective(ir_graph *g, ir_op op, ir_ref x, op_over over, const int64_t *axes, size_t n) {
  const char *who = ir_ops[op].text;
  ir_ref src[3] = {0};
  ir_spec spec;
  if (!op_tensors(g, who, &x, 1) || !op_over_spec(g, who, over, &spec)) return 0;
  src[0] = op_default_dtype(g, x);
  for (size_t i = 0; i < n; i++) {
    int64_t axis = op_axis(g, who, x, axes[i], ir_rank(g, x));
    if (axis < 0 || !(src[1 + i] = ir_index(g, axis))) return 0;
  }
  int64_t name = text_of(g, who, &spec);
  return name < 0 ? 0
                  : op_make(g, op, ir_dtype_of(g, src[0]), op_dims(g, src[0]), ir_rank(g, src[0]), name, src,
                            1 + n);
}
