/* Arrays with known elements: literal ones, which are part of the graph, and constants, which the graph
 * refers to. */

#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "ir/arith.h"
#include "passes/ops/ops.h"

/* Elements of at most so many bytes are literals: kernels and keys have them, and rules may see them. More
 * are a constant, whose elements no step of compilation reads. Printing a literal into a key takes 1 to 2 us
 * a byte: of this size, as long as compiling a small kernel. */
enum { LITERAL_BYTES = 1024 };

/* Bytes of a constant shape; SIZE_MAX for a negative size or an overflow, which the builder then reports. */
static size_t bytes_of(vf_dtype dtype, int rank, const int64_t *shape) {
  int64_t bytes = (int64_t)vf_dtype_bytes(dtype);
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0 || !ir_mul_ok(bytes, shape[i], &bytes)) return SIZE_MAX;
  return (size_t)bytes;
}

/* Keeps the constant, of which the caller gives its use away, for the node that refers to it. */
static bool keep(vf_graph *g, ir_ref ref, rt_constant *constant) {
  bool room = IR_RESERVE(g->ir.mem, g->constants, g->constant_cap, g->constant_count + 1);
  if (room) g->constants[g->constant_count++] = (fe_constant){ref, constant};
  else rt_constant_release(constant);
  return room;
}

/* The bytes of a RESOURCE node; SIZE_MAX where its shape is not constant or is too large. */
static size_t bytes_of_node(const ir_graph *g, ir_ref node) {
  int64_t shape[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, node);
  for (uint32_t i = 0; i < rank; i++)
    if (!ir_is_const(g, ir_dim(g, node, i), &shape[i])) return SIZE_MAX;
  return bytes_of((vf_dtype)ir_dtype_of(g, node), (int)rank, shape);
}

bool fe_graph_use_constants(vf_graph *g, ir_ref first) {
  for (ir_ref r = first; r < g->ir.count; r++) {
    if (ir_op_of(&g->ir, r) != IR_OP_RESOURCE) continue;
    const char *name = ir_name_text(&g->ir, ir_get(&g->ir, r)->arg);
    rt_constant *found = rt_constant_find(g->context->runtime, name);
    size_t has = found ? rt_constant_size(found) : 0, wants = bytes_of_node(&g->ir, r);
    if (found && has != wants) {
      ir_fail(&g->error, IR_ERR_INVALID,
              "resource %.60s: the constant has %zu bytes; its shape takes %zu, and must be constant", name,
              has, wants);
      rt_constant_release(found);
      return false;
    }
    if (found && !keep(g, r, found)) return false;
  }
  return true;
}

void fe_graph_release_constants(vf_graph *g) {
  for (size_t i = 0; i < g->constant_count; i++) rt_constant_release(g->constants[i].constant);
  ir_free(&g->context->mem, g->constants, g->constant_cap * sizeof *g->constants);
}

/* A node for the constant, of which the caller gives its use away. */
static ir_ref refer(vf_graph *g, vf_dtype dtype, const ir_ref *shape, int rank, rt_constant *constant,
                    const ir_origin *origin) {
  ir_ref made = op_resource_from(&g->ir, (ir_dtype)dtype, shape, (size_t)rank, rt_constant_name(constant),
                                 origin, rt_constant_size(constant));
  if (!made) rt_constant_release(constant);
  else if (!keep(g, made, constant)) {
    ir_fail(&g->error, IR_ERR_MEMORY, "out of memory for a constant");
    made = 0;
  }
  return made;
}

vf_value vf_data(vf_graph *g, vf_dtype dtype, int rank, const int64_t *shape, const void *elements) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  rt_constant *constant;
  bool good = fe_begin_in(&c, "data", g) && fe_list(&c, "the shape", rank, shape, refs);
  size_t bytes = good ? bytes_of(dtype, rank, shape) : 0;
  if (good && bytes && !elements) good = fe_refuse(&c, "the elements are NULL");
  if (!good) return fe_end(&c, 0);
  if (g->is_session)
    return fe_end(&c, fe_lazy_buffer(g->context, (ir_dtype)dtype, refs, (size_t)rank, elements, &g->error));
  if (bytes <= LITERAL_BYTES || bytes == SIZE_MAX)
    return fe_end(&c, op_data(c.ir, (ir_dtype)dtype, refs, (size_t)rank, elements, bytes));
  good = rt_constant_copy(g->context->runtime, elements, bytes, &constant, &g->error) == IR_OK;
  return fe_end(&c, good ? refer(g, dtype, refs, rank, constant, NULL) : 0);
}

static void keep_for_ever(const void *bytes, void *user) {
  (void)bytes;
  (void)user;
}

rt_constant *fe_constant_borrow(vf_context *c, const void *elements, size_t bytes, vf_release release,
                                void *user, ir_error *error) {
  rt_constant *made;
  ir_status status =
      rt_constant_add(c->runtime, elements, bytes, release ? release : keep_for_ever, user, &made, error);
  return status ? NULL : made;
}

/* The node, or 0 after failing; *taken: the elements are no longer the caller's. */
static ir_ref borrow(fe_call *c, vf_graph *g, vf_dtype dtype, const ir_ref *shape, int rank, size_t bytes,
                     const void *elements, vf_release release, void *user, bool *taken) {
  size_t element = vf_dtype_bytes(dtype);
  if (bytes && !elements) return fe_refuse(c, "the elements are NULL");
  if (!element || bytes == SIZE_MAX) /* the builder says why not */
    return op_resource(c->ir, (ir_dtype)dtype, shape, (size_t)rank, "", bytes);
  if ((uintptr_t)elements % element)
    return fe_refuse(c, "the elements are not aligned to the %zu bytes of a %s", element,
                     vf_dtype_name(dtype));
  if (g->is_session)
    return fe_lazy_buffer(g->context, (ir_dtype)dtype, shape, (size_t)rank, elements, &g->error);
  rt_constant *constant = fe_constant_borrow(g->context, elements, bytes, release, user, &g->error);
  *taken = constant != NULL;
  return constant ? refer(g, dtype, shape, rank, constant, NULL) : 0;
}

vf_value fe_graph_constant(vf_graph *g, vf_dtype dtype, int rank, const int64_t *shape, rt_constant *constant,
                           const ir_origin *origin) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX], made = 0;
  bool good = fe_begin_in(&c, "constant", g) && fe_list(&c, "the shape", rank, shape, refs);
  if (good) made = refer(g, dtype, refs, rank, constant, origin);
  else rt_constant_release(constant);
  return fe_end(&c, made);
}

vf_value vf_constant_borrow(vf_graph *g, vf_dtype dtype, int rank, const int64_t *shape, const void *elements,
                            vf_release release, void *user) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX], made = 0;
  bool taken = false;
  if (fe_begin_in(&c, "constant", g) && fe_list(&c, "the shape", rank, shape, refs))
    made = borrow(&c, g, dtype, refs, rank, bytes_of(dtype, rank, shape), elements, release, user, &taken);
  if (!taken && release) release(elements, user);
  return fe_end(&c, made);
}
