/* Sums that devices add up in another order than one device: within the bound of sums, and then taken as
 * they are. */
#include "passes/ops/ops.h"
#include "test/lib/on_mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Half the distance of numbers next to 1. */
static double rounding_of(ir_dtype t) {
  return t == IR_F16 ? 0x1p-11 : t == IR_BF16 ? 0x1p-8 : t == IR_F32 ? 0x1p-24 : 0x1p-53;
}
static double smallest_of(ir_dtype t) {
  return t == IR_F16 ? 0x1p-24 : t == IR_BF16 ? 0x1p-133 : t == IR_F32 ? 0x1p-149 : 0x1p-1074;
}

typedef struct context {
  on_mesh *c;
  const shard_value *sums;
  size_t count;
} context;

/* Was it pending, on some device? */
static bool is_late(const context *x, ir_ref node) {
  const ir_spec *spec = ir_spec_of(x->c->g, node);
  bool late = spec && ir_spec_count(spec, IR_PLACE_PENDING);
  for (size_t i = 0; i < x->count && !late; i++) late = x->sums[i].global == node;
  return late;
}

/* The sum of magnitudes of what is added up: the same of magnitudes of operands, or of what these add up. */
static ir_ref magnitude(const context *x, ir_ref node) {
  ir_graph *g = x->c->g;
  const ir_node *n = ir_get(g, node);
  ir_ref src[64];
  uint32_t count = n->nsrc;
  ir_op op = (ir_op)n->op;
  if (ir_ops[op].cls == IR_CLASS_LEAF || count > 64) return op_unary(g, IR_OP_ABS, node);
  memcpy(src, n->src, count * sizeof *src);
  for (uint32_t i = 0; i < ir_operand_count(ir_get(g, node)); i++)
    if (ir_shape(g, src[i]) && ir_is_float(ir_dtype_of(g, src[i])))
      src[i] = is_late(x, src[i]) || ir_ops[op].cls == IR_CLASS_VIEW ? magnitude(x, src[i])
                                                                     : op_unary(g, IR_OP_ABS, src[i]);
  if (op == IR_OP_NEG) return src[0];
  if (op == IR_OP_SUB) return op_binary(g, IR_OP_ADD, src[0], src[1]);
  return ir_remake(g, node, src, count);
}

/* The elements of the sum, of the parts; replicas hold the same bytes. NULL, with `what`, if not. */
static unsigned char *assemble(on_mesh *c, const shard_value *v, const ir_eval_result *parts, size_t stride,
                               const ir_eval_result *like) {
  const ir_mesh *mesh = ir_graph_mesh(c->g);
  size_t bytes = ir_dtypes[like->dtype].bytes;
  unsigned char *all = calloc(like->bytes + 1, 1), *known = calloc((size_t)like->count + 1, 1);
  bool good = true;
  for (int64_t d = 0; d < mesh->device_count && good; d++) {
    const ir_eval_result *part = &parts[(size_t)d * stride];
    ir_box box;
    if (ir_spec_position(mesh, &v->spec, IR_PLACE_PENDING, d) != 0) continue;
    ir_spec_box(mesh, &v->spec, like->shape, d, &box);
    good = part->count == ir_box_elements(&box);
    for (int64_t i = 0; i < part->count && good; i++) {
      size_t at = (size_t)on_mesh_element(&box, like->shape, i);
      const unsigned char *element = (unsigned char *)part->data + (size_t)i * bytes;
      good = !known[at] || memcmp(all + at * bytes, element, bytes) == 0;
      memcpy(all + at * bytes, element, bytes), known[at] = 1;
    }
    if (!good)
      on_mesh_fail(c, v, d, "its part of a sum has another shape than that of its replica, or other bits");
  }
  free(known);
  return good ? all : (free(all), NULL);
}

/* |got - want| <= 128 u S + the smallest number, where S is the sum of magnitudes, and u the rounding. */
static bool within(on_mesh *c, const shard_value *v, const unsigned char *got, const ir_eval_result *want,
                   const ir_eval_result *magnitudes) {
  size_t bytes = ir_dtypes[want->dtype].bytes;
  char why[200];
  for (int64_t i = 0; i < want->count; i++) {
    double a = ir_value_load(got + (size_t)i * bytes, want->dtype).f;
    double b = ir_value_load((char *)want->data + (size_t)i * bytes, want->dtype).f;
    double s = ir_value_load((char *)magnitudes->data + (size_t)i * bytes, want->dtype).f;
    double bound = 128 * rounding_of(want->dtype) * s + smallest_of(want->dtype);
    if (a == b || (isnan(a) && isnan(b)) || !isfinite(s) || fabs(a - b) <= bound) continue;
    snprintf(why, sizeof why, "element %lld of the sum is %.17g, and %.17g on one device, of magnitudes %g",
             (long long)i, a, b, s);
    return on_mesh_fail(c, v, 0, why);
  }
  return true;
}

bool on_mesh_settle(on_mesh *c, const shard_value *sums, size_t count, const ir_eval_result *parts,
                    size_t stride, on_mesh_sums *out) {
  context x = {c, sums, count};
  ir_error error = {0};
  bool good = true;
  out->all = calloc(count + c->input_count + 1, sizeof *out->all);
  out->inputs = out->all + count, out->count = c->input_count; /* sums before them: one may be an input */
  memcpy(out->inputs, c->inputs, c->input_count * sizeof *out->inputs);
  for (size_t i = 0; i < count && good; i++) {
    ir_ref roots[2] = {sums[i].global, magnitude(&x, sums[i].global)};
    ir_eval_result whole[2] = {0};
    bool again = i && sums[i - 1].global == sums[i].global;
    if (!roots[1] ||
        ir_eval(c->g, roots, 2, out->inputs, out->count, c->vars, c->var_count, whole, &error) != IR_OK)
      return snprintf(c->what, sizeof c->what, "a sum alone: %.500s%.500s", error.text, c->g->error->text),
             false;
    unsigned char *all = assemble(c, &sums[i], parts + i, stride, &whole[0]);
    good = all && within(c, &sums[i], all, &whole[0], &whole[1]);
    if (good && again && memcmp(all, whole[0].data, whole[0].bytes) != 0)
      good = on_mesh_fail(c, &sums[i], 0, "a sum that is made twice has other bits");
    c->settled += good && !again && memcmp(all, whole[0].data, whole[0].bytes) != 0;
    if (good && !again) *--out->inputs = (ir_binding_input){sums[i].global, all}, out->count++;
    else free(all);
    ir_eval_free(c->g, whole, 2);
  }
  return good;
}

void on_mesh_sums_free(on_mesh_sums *sums, size_t input_count) {
  for (size_t i = 0; i + input_count < sums->count; i++) free((void *)sums->inputs[i].data);
  free(sums->all);
}
