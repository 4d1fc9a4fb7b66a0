/* Constraints: how a value is divided among the devices of a mesh. */
#include "ir/mesh/sharding.h"
#include "passes/ops/check.h"
#include "passes/ops/mesh.h"

/* "b@x c@y.z": axes of x by their letters, and the axes of the mesh that divide each; others are whole.
 * Appends it as a spec; false after failing. */
static bool put_lettered(ir_graph *g, ir_ref x, const char *text, size_t length, ir_text *out) {
  const char *divides[IR_MAX_RANK] = {NULL};
  size_t lengths[IR_MAX_RANK] = {0};
  for (size_t at = 0; at < length;) {
    if (text[at] == ' ') {
      at++;
      continue;
    }
    size_t end = at;
    while (end < length && text[end] != ' ') end++;
    if (end - at < 3 || text[at + 1] != '@') {
      char meant[IR_SPEC_MEANT];
      bool known = ir_spec_meant(ir_graph_mesh(g), text, length, meant);
      return op_refuse(g,
                       "shard: '%.*s' names no axis and what divides it; takes an entry for each axis, as in "
                       "[x,-], "
                       "or letters of axes, as in \"b@x c@y.z\"%s%s",
                       (int)(end - at), text + at, known ? "; as it is written here: " : "",
                       known ? meant : "") != 0;
    }
    int64_t axis = op_letter_axis(g, "shard", x, text[at]);
    if (axis < 0) return false;
    if (divides[axis])
      return op_refuse(g, "shard: axis '%c' is named twice in %.*s", text[at], (int)length, text) != 0;
    divides[axis] = text + at + 2, lengths[axis] = end - at - 2;
    at = end;
  }
  ir_text_str(out, "[");
  for (uint32_t d = 0; d < ir_rank(g, x); d++) {
    if (d) ir_text_str(out, ",");
    if (divides[d]) ir_text_add(out, divides[d], lengths[d]);
    else ir_text_str(out, "-");
  }
  ir_text_str(out, "]");
  return true;
}

static ir_ref shard_lettered(ir_graph *g, ir_ref x, const char *text, size_t length) {
  ir_text spec;
  ir_ref made = 0;
  ir_text_init(&spec, g->mem);
  if (put_lettered(g, x, text, length, &spec)) {
    if (spec.failed) ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory");
    else made = op_shard(g, x, spec.data, spec.len);
  }
  ir_text_free(&spec);
  return made;
}

ir_ref op_shard(ir_graph *g, ir_ref x, const char *text, size_t length) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_error why = {0};
  ir_spec spec;
  if (!op_tensors(g, "shard", &x, 1)) return 0;
  if (!mesh)
    return op_refuse(
        g, "shard: the graph has no mesh; vf_graph_set_mesh gives it one, or in a text mesh @m [x=2,y=4]");
  if (length && text[0] != '[') return shard_lettered(g, x, text, length);
  if (!ir_spec_parse(mesh, text, length, &spec, &why)) return op_refuse(g, "shard: %s", why.text);
  if (spec.rank != ir_rank(g, x))
    return op_refuse(
        g, "shard: the spec has %u dimensions; x has shape %s; an entry for each axis, - where it is whole",
        (unsigned)spec.rank, OP_TYPE(x));
  ir_text canonical;
  ir_text_init(&canonical, g->mem);
  ir_spec_print(mesh, &spec, &canonical);
  int64_t name = canonical.failed ? -1 : ir_name(g, canonical.data, canonical.len);
  ir_text_free(&canonical);
  if (name < 0) return ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory"), 0;
  ir_ref shape = ir_shape(g, x);
  return op_make(g, IR_OP_SHARD, ir_dtype_of(g, x), ir_get(g, shape)->src, ir_get(g, shape)->nsrc, name, &x,
                 1);
}

ir_ref op_shard_like(ir_graph *g, ir_ref x, ir_ref like) {
  const ir_spec *given = ir_spec_of(g, like);
  if (!x || !given) return x;
  ir_spec spec = *given;
  ir_text text;
  ir_spec_clear(&spec, IR_PLACE_PENDING);
  ir_text_init(&text, g->mem);
  ir_spec_print(ir_graph_mesh(g), &spec, &text);
  ir_ref made = text.failed ? 0 : op_shard(g, x, text.data, text.len);
  if (text.failed) ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory");
  ir_text_free(&text);
  return made;
}
