/* Tensors: handles on values of the session. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "passes/ops/ops.h"

static vf_graph *session_of(vf_context *c, ir_error *error) {
  const char *wrong = fe_not(c, FE_CONTEXT);
  if (wrong) {
    ir_fail(error, IR_ERR_INVALID, "session: the context is %s", wrong);
  } else if (!c->session && (c->session = fe_graph_make(c, "session", 7, error))) {
    c->session->is_session = true;
    c->lazy.live_nodes = 0;
  }
  return wrong ? NULL : c->session;
}

vf_graph *vf_session(vf_context *c, vf_error *error) {
  ir_error failure = {0};
  vf_graph *g = session_of(c, &failure);
  fe_report(error, &failure);
  return g;
}

static vf_tensor *make_handle(vf_context *c, ir_ref node, ir_error *error) {
  fe_lazy_sweep(c);
  vf_tensor *t = ir_alloc(&c->mem, sizeof *t);
  if (!t) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory keeping a tensor");
    return NULL;
  }
  *t = (vf_tensor){.kind = FE_TENSOR, .context = c, .next = c->lazy.tensors, .uses = 1, .node = node};
  if (t->next) t->next->previous = t;
  c->lazy.tensors = t;
  fe_context_retain(c);
  return t;
}

static bool shape_refs(ir_graph *g, int rank, const int64_t *shape, ir_ref *out, ir_error *error) {
  if (rank < 0 || rank > IR_MAX_RANK || (rank && !shape)) {
    ir_fail(error, IR_ERR_INVALID, "tensor: the shape %s",
            shape || rank < 0 ? "has a bad rank; it lies in 0..16" : "is NULL");
    return false;
  }
  for (int i = 0; i < rank; i++)
    if (!(out[i] = ir_index(g, shape[i]))) return false;
  return true;
}

vf_tensor *fe_tensor_make(vf_context *c, vf_dtype dtype, int rank, const int64_t *shape, const void *elements,
                          ir_error *error) {
  vf_tensor *t = NULL;
  ir_ref refs[IR_MAX_RANK];
  vf_graph *g = session_of(c, error);
  if (!g) return NULL;
  unsigned failures = fe_failures(c);
  g->ir.error = error;
  if (shape_refs(&g->ir, rank, shape, refs, error)) {
    ir_ref buffer = fe_lazy_buffer(c, (ir_dtype)dtype, refs, (size_t)rank, elements, error);
    if (buffer) t = make_handle(c, buffer, error);
  }
  g->ir.error = &g->error;
  fe_report_as_memory(c, failures, error);
  return t;
}

static vf_tensor *adopt(vf_context *c, vf_dtype dtype, int rank, const int64_t *shape, const void *elements,
                        vf_release release, void *user, ir_error *error) {
  ir_ref refs[IR_MAX_RANK];
  size_t bytes = vf_dtype_bytes(dtype), align = bytes;
  vf_graph *g = session_of(c, error);
  if (!g) return NULL;
  g->ir.error = error;
  ir_ref buffer = 0;
  if (shape_refs(&g->ir, rank, shape, refs, error)) {
    for (int i = 0; i < rank; i++) bytes = shape[i] ? bytes : 0;
    if (!elements && bytes) ir_fail(error, IR_ERR_INVALID, "adopt: the elements are NULL");
    else if (align && (uintptr_t)elements % align)
      ir_fail(
          error, IR_ERR_INVALID,
          "adopt: the elements lie at an address that is no multiple of %zu, the size of one %s; copy them "
          "with vf_tensor_create",
          align, vf_dtype_name(dtype));
    else buffer = fe_lazy_adopt(c, (ir_dtype)dtype, refs, (size_t)rank, elements, release, user, error);
  }
  g->ir.error = &g->error;
  return buffer ? make_handle(c, buffer, error) : NULL;
}

vf_tensor *vf_tensor_adopt(vf_context *c, vf_dtype dtype, int rank, const int64_t *shape,
                           const void *elements, vf_release release, void *user, vf_error *error) {
  ir_error failure = {0};
  unsigned failures = c ? fe_failures(c) : 0;
  size_t storages = c ? c->lazy.storage_count : 0;
  vf_tensor *t = adopt(c, dtype, rank, shape, elements, release, user, &failure);
  if (c) fe_report_as_memory(c, failures, &failure);
  if (!t && release && (!c || c->lazy.storage_count == storages)) release(elements, user);
  fe_report(error, &failure);
  return t;
}

bool fe_tensor_clear(vf_tensor *t, ir_error *error) {
  void *zeros = rt_memory_write(t->context->runtime, fe_tensor_memory(t), error);
  if (zeros) memset(zeros, 0, vf_tensor_bytes(t));
  return zeros != NULL;
}

rt_memory *fe_tensor_memory(const vf_tensor *t) { return fe_lazy_memory(&t->context->lazy, t->node); }

vf_tensor *vf_tensor_create(vf_context *c, vf_dtype dtype, int rank, const int64_t *shape,
                            const void *elements, vf_error *error) {
  ir_error failure = {0};
  vf_tensor *t = fe_tensor_make(c, dtype, rank, shape, elements, &failure);
  if (t && !elements) fe_tensor_clear(t, &failure);
  if (t && failure.status) {
    vf_tensor_release(t);
    t = NULL;
  }
  fe_report(error, &failure);
  return t;
}

vf_tensor *vf_tensor_keep(vf_value value, vf_error *error) {
  ir_error failure = {0};
  vf_tensor *t = NULL;
  fe_call call;
  bool session = value.graph && value.graph->is_session;
  if (!session) {
    ir_fail(&failure, IR_ERR_INVALID, "keep: the value %s; values of the session can be kept",
            value.graph ? "belongs to a graph of its own, whose results are its outputs" : "is no value");
  } else {
    ir_ref node = 0;
    bool good = fe_begin(&call, "keep", &value, 1);
    if (good && !ir_shape(call.ir, value.id))
      good = fe_refuse(
          &call, "the value is a size, as vf_op_size gives it, not a tensor; it stands in shapes alone");
    if (good && value.graph->recording)
      good = fe_refuse(
          &call, "a function is being recorded, and only its results can be used outside it; keep those");
    if (good) node = op_default_dtype(call.ir, value.id);
    uint32_t ended = value.graph->ended;
    if (node == value.id) call.statement = 0; /* it makes nothing: the statement is the one of the value */
    node = fe_end(&call, node).id;
    if (!call.statement) value.graph->ended = ended;
    if (node) t = make_handle(value.graph->context, node, &failure);
    else failure = value.graph->error;
    vf_graph_clear_error(value.graph);
  }
  fe_report(error, &failure);
  return t;
}

vf_value vf_tensor_value(const vf_tensor *t) {
  if (!fe_is(t, FE_TENSOR)) return (vf_value){0};
  return (vf_value){t->context->session, fe_lazy_resolve(&t->context->lazy, t->node),
                    t->context->session->epoch};
}

void vf_tensor_retain(vf_tensor *t) {
  if (fe_is(t, FE_TENSOR)) atomic_fetch_add_explicit(&t->uses, 1, memory_order_relaxed);
}

/* The list of tensors is for the thread that uses the session: the last release only notes the tensor, for
 * fe_lazy_sweep. */
void vf_tensor_release(vf_tensor *t) {
  if (!fe_is(t, FE_TENSOR) || atomic_fetch_sub_explicit(&t->uses, 1, memory_order_acq_rel) != 1) return;
  vf_context *c = t->context;
  fe_handle_ends(t);
  t->next_released = atomic_load_explicit(&c->lazy.released, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&c->lazy.released, &t->next_released, t, memory_order_release,
                                                memory_order_relaxed))
    ;
  fe_context_release(c);
}

/* realising */

static ir_status realise_tensors(vf_context *c, vf_tensor *const *tensors, size_t count, ir_error *error) {
  unsigned failures = fe_failures(c);
  fe_lazy_realise(c, tensors, count, error);
  if (error->status) fe_report_as_memory(c, failures, error);
  return error->status;
}

vf_status vf_tensor_realise(vf_tensor *const *tensors, int count, vf_error *error) {
  ir_error failure = {0};
  bool good = count <= 0 || tensors;
  for (int i = 0; i < count && good; i++)
    good = fe_is(tensors[i], FE_TENSOR) && tensors[i]->context == tensors[0]->context;
  if (!good)
    ir_fail(&failure, IR_ERR_INVALID,
            "realise: a tensor is NULL, destroyed, or of another context than the first");
  else if (count > 0) realise_tensors(tensors[0]->context, tensors, (size_t)count, &failure);
  return fe_report(error, &failure);
}

const void *vf_tensor_data(vf_tensor *t, vf_error *error) {
  ir_error failure;
  failure.status = IR_OK;
  const void *data = NULL;
  const char *wrong = fe_not(t, FE_TENSOR);
  rt_memory *memory = wrong ? NULL : fe_tensor_memory(t);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "data: the tensor is %s", wrong);
  else if (!memory && realise_tensors(t->context, &t, 1, &failure) == IR_OK) memory = fe_tensor_memory(t);
  if (memory) data = rt_memory_read(t->context->runtime, memory, &failure);
  fe_report(error, &failure);
  return data;
}

vf_status vf_session_collect(vf_context *c, vf_error *error) {
  ir_error failure = {0};
  const char *wrong = fe_not(c, FE_CONTEXT);
  if (!wrong) fe_lazy_collect(c, &failure);
  else ir_fail(&failure, IR_ERR_INVALID, "session: the context is %s", wrong);
  return fe_report(error, &failure);
}

/* questions */

bool vf_tensor_is_realised(const vf_tensor *t) { return fe_is(t, FE_TENSOR) && fe_tensor_memory(t); }
vf_dtype vf_tensor_dtype(const vf_tensor *t) { return vf_value_dtype(vf_tensor_value(t)); }
int vf_tensor_rank(const vf_tensor *t) { return vf_value_rank(vf_tensor_value(t)); }
int vf_tensor_shape(const vf_tensor *t, int64_t *shape) { return vf_value_shape(vf_tensor_value(t), shape); }
size_t vf_tensor_bytes(const vf_tensor *t) {
  return fe_is(t, FE_TENSOR) ? fe_lazy_bytes(&t->context->session->ir, t->node) : 0;
}
