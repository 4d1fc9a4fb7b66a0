/* Values that must be known and are computed from constants, by operators that are not folded: they are
 * evaluated. */
#include "frontend/onnx/import.h"

#include "ir/eval/eval.h"

/* What is evaluated has at most so many elements, with all that it depends on. Each attempt walks over the
 * graph: in all, over at most so many nodes. An input is asked for where it has at most so many elements. */
enum { ELEMENTS_MOST = 1 << 16, NODES_MOST = 1 << 24, ASKED_MOST = 1 << 12 };

/* The number of elements, where it is a number of at most `most`; -1 otherwise. */
static int64_t elements_of(const onnx_import *m, ir_ref x, int64_t most) {
  int64_t count = 1, size;
  for (uint32_t i = 0; i < ir_rank(m->g, x); i++) {
    if (!ir_is_const(m->g, ir_dim(m->g, x, i), &size) || size < 0 || (size && count > most / size)) return -1;
    count *= size;
  }
  return count;
}

typedef struct dependence {
  bool evaluable, askable; /* of constants alone; of inputs of few elements as well */
  ir_ref input;            /* the first */
} dependence;

static dependence dependence_of(onnx_import *m, ir_ref x) {
  dependence d = {0};
  ir_ref *all = NULL;
  size_t count = 0, cap = 0;
  int64_t total = 0;
  if (m->walked > NODES_MOST) return d;
  m->walked += m->g->count;
  if (ir_reachable(m->g, &x, 1, &all, &count, &cap) == IR_OK) d.evaluable = d.askable = true;
  for (size_t i = 0; i < count && d.askable; i++) {
    const ir_node *node = ir_get(m->g, all[i]);
    int kind = op_registry[node->op].kind;
    if (node->op == IR_OP_VAR || kind == OP_KIND_CONTROL || kind == OP_KIND_CUSTOM) d.askable = false;
    if (node->op == IR_OP_INPUT && !d.input) d.input = all[i];
    if (!ir_shape(m->g, all[i])) continue;
    int64_t elements = elements_of(m, all[i], node->op == IR_OP_INPUT ? ASKED_MOST : ELEMENTS_MOST);
    total += elements;
    if (elements < 0 || total > ELEMENTS_MOST) d.askable = false;
  }
  d.evaluable = d.askable && !d.input;
  ir_free(m->g->mem, all, cap * sizeof *all);
  return d;
}

static const onnx_known *known_of(onnx_import *m, const ir_eval_result *r) {
  onnx_known *k = onnx_known_make(m, r->dtype, (int)r->rank, r->shape);
  size_t size = ir_dtypes[r->dtype].bytes;
  for (size_t i = 0; k && i < k->count; i++) {
    ir_value value = ir_value_load((const char *)r->data + i * size, r->dtype);
    if (ir_is_float(r->dtype)) k->elements[i].real = value.f;
    else if (!(k->elements[i].size = ir_index(m->g, value.i))) return NULL;
  }
  return k;
}

const onnx_known *onnx_value_evaluated(onnx_import *m, onnx_value *v, ir_ref *input) {
  ir_eval_result result;
  ir_error ignored = {0};
  *input = 0;
  const onnx_known *known = onnx_value_known(m, v);
  if (known || !v->ref || v->narrow || m->error->status) return known;
  if (ir_get(m->g, v->ref)->op == IR_OP_INPUT) { /* of any size: it is what is needed */
    *input = v->ref;
    return NULL;
  }
  dependence d = dependence_of(m, v->ref);
  if (d.askable) *input = d.input;
  if (!d.evaluable || ir_eval(m->g, &v->ref, 1, NULL, 0, NULL, 0, &result, &ignored) != IR_OK) return NULL;
  v->known = known_of(m, &result);
  ir_eval_free(m->g, &result, 1);
  return v->known;
}
