/* Builders of leaves: inputs, variables, constants, literal arrays. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "ir/arith.h"
#include "passes/ops/check.h"
#include "passes/ops/ops.h"

/* Refuse an empty name, and one that the list has already. */
static bool new_name(fe_call *c, const char *name, const ir_named *list, size_t count, const char *what) {
  if (!name || !*name) return fe_refuse(c, "the %s has no name", what);
  return !fe_graph_named(list, count, name, strlen(name)) ||
         fe_refuse(c, "the name %.60s is taken by another %s", name, what);
}

static bool may_declare(fe_call *c, const char *name) {
  vf_graph *g = c->graph;
  if (g->is_session)
    return fe_refuse(c, "the session has no inputs and variables; make a tensor with vf_tensor_create");
  return new_name(c, name, g->inputs, g->input_count, "input");
}

/* Is an array of these sizes, which are constants, larger than an address space? Then they are no sizes, but
 * other numbers in their place. */
static bool is_addressable(fe_call *c, const char *name, vf_dtype dtype, const ir_ref *shape, int rank) {
  enum { ADDRESS_BITS = 47 }; /* of a process on x86-64 and aarch64 as they are set up by default */
  int64_t bytes = 1, size, largest = 0;
  int at = 0;
  bool fits = true;
  if ((unsigned)dtype < IR_DTYPE_COUNT) bytes = ir_dtypes[dtype].bytes;
  for (int i = 0; i < rank; i++) {
    if (!ir_is_const(c->ir, shape[i], &size)) continue;
    if (size == 0) return true;
    if (size > largest) largest = size, at = i;
    fits = fits && (size < 0 || (ir_mul_ok(bytes, size, &bytes) && bytes < (int64_t)1 << ADDRESS_BITS));
  }
  return fits ||
         fe_refuse(c,
                   "%.60s has more bytes than can be addressed, 2^%d: its size %d is %lld; sizes are an "
                   "array of int64_t, as in VF_LIST(2, 3)",
                   name, ADDRESS_BITS, at, (long long)largest);
}

/* Is no size a negative number, by which other libraries declare one that varies? */
static bool no_negative(fe_call *c, const ir_ref *shape, int rank) {
  ir_graph *g = c->ir;
  int64_t size;
  for (int i = 0; i < rank; i++)
    if (ir_is_const(g, shape[i], &size) && size < 0)
      return fe_refuse(
          c,
          "size %lld of axis %d in shape %s is negative; every size must be >= 0; one that varies "
          "is a variable: vf_variable(graph, \"n\", 1, 64, 1), of which vf_input_sized makes a shape",
          (long long)size, i, OP_LIST(shape, (size_t)rank));
  return true;
}

static vf_value declare_input(fe_call *c, const char *name, vf_dtype dtype, const ir_ref *shape, int rank) {
  vf_graph *g = c->graph;
  if (!no_negative(c, shape, rank) || !is_addressable(c, name, dtype, shape, rank)) return fe_end(c, 0);
  ir_ref made = op_input(c->ir, name, strlen(name), (ir_dtype)dtype, shape, (size_t)rank);
  if (made && !fe_graph_add(g, &g->inputs, &g->input_count, &g->input_cap, name, strlen(name), made))
    made = 0;
  return fe_end(c, made);
}

vf_value vf_input(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good =
      fe_begin_in(&c, "input", g) && may_declare(&c, name) && fe_list(&c, "the shape", rank, shape, refs);
  return good ? declare_input(&c, name, dtype, refs, rank) : fe_end(&c, 0);
}

vf_value vf_input_sized(vf_graph *g, const char *name, vf_dtype dtype, int rank, const vf_value *shape) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin_in(&c, "input", g) && may_declare(&c, name) &&
              fe_list_sized(&c, "the shape", rank, shape, refs);
  return good ? declare_input(&c, name, dtype, refs, rank) : fe_end(&c, 0);
}

vf_value vf_input_batched(vf_graph *g, const char *name, vf_dtype dtype, int batch_dims, const int64_t *batch,
                          int rank, const int64_t *shape) {
  fe_call c;
  ir_ref lead[FE_LIST_MAX], refs[FE_LIST_MAX], made = 0;
  bool good = fe_begin_in(&c, "input", g) && may_declare(&c, name) &&
              fe_list(&c, "the batch", batch_dims, batch, lead) &&
              fe_list(&c, "the shape", rank, shape, refs);
  if (good && is_addressable(&c, name, dtype, refs, rank))
    made = op_input_batched(c.ir, name, strlen(name), (ir_dtype)dtype, lead, (size_t)batch_dims, refs,
                            (size_t)rank);
  if (made && !fe_graph_add(g, &g->inputs, &g->input_count, &g->input_cap, name, strlen(name), made))
    made = 0;
  return fe_end(&c, made);
}

vf_value vf_variable(vf_graph *g, const char *name, int64_t lo, int64_t hi, int64_t divisor) {
  fe_call c;
  ir_ref made = 0;
  bool good = fe_begin_in(&c, "variable", g);
  if (good && g->is_session)
    good = fe_refuse(&c, "the session has no inputs and variables; sizes of tensors are numbers");
  good = good && new_name(&c, name, g->variables, g->variable_count, "variable");
  if (good && !ir_variable_name_ok(name, strlen(name)))
    good = fe_refuse(
        &c, "'%.60s' cannot be a name; takes letters, digits and _, and no name of a number, dtype or range",
        name);
  int64_t over =
      divisor >= 1 ? (hi % divisor + divisor) % divisor : 0; /* hi - over is the largest multiple <= hi */
  if (good && (lo > hi || divisor < 1 || (uint64_t)hi - (uint64_t)lo < (uint64_t)over))
    good = fe_refuse(&c,
                     "%.60s=%lld..%lld:%lld has no value; takes low <= high, a divisor >= 1 and a multiple "
                     "of it between them",
                     name, (long long)lo, (long long)hi, (long long)divisor);
  if (good) made = ir_var(c.ir, name, strlen(name), lo, hi, divisor);
  if (made && !fe_graph_add(g, &g->variables, &g->variable_count, &g->variable_cap, name, strlen(name), made))
    made = 0;
  return fe_end(&c, made);
}

FE_BUILDER(number, (vf_graph * g, double value), fe_begin_in(&c, "const", g), op_literal_float(c.ir, value))

FE_BUILDER(integer, (vf_graph * g, int64_t value), fe_begin_in(&c, "const", g), op_literal_int(c.ir, value))

FE_BUILDER(boolean, (vf_graph * g, bool value), fe_begin_in(&c, "const", g),
           op_const(c.ir, IR_BOOL, (ir_value){.i = value}))

static bool is_data_dtype(vf_dtype dtype) { return dtype > VF_NONE && dtype < VF_INDEX; }

vf_value vf_constant(vf_graph *g, vf_dtype dtype, const void *element) {
  fe_call c;
  bool good = fe_begin_in(&c, "const", g);
  if (good && !is_data_dtype(dtype))
    good = fe_refuse(&c, "no dtype of a tensor; use bool, an integer or a float dtype");
  if (good && !element) good = fe_refuse(&c, "the element is NULL");
  return fe_end(&c, good ? op_const(c.ir, (ir_dtype)dtype, ir_value_load(element, (ir_dtype)dtype)) : 0);
}

vf_value vf_iota(vf_graph *g, vf_dtype dtype, int rank, const int64_t *shape, int axis) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin_in(&c, "iota", g) && fe_list(&c, "the shape", rank, shape, refs);
  if (good && (unsigned)dtype > VF_INDEX)
    good =
        fe_refuse(&c, "there is no dtype %d; takes an integer or a float dtype, such as VF_I64", (int)dtype);
  return fe_end(&c, good ? op_iota(c.ir, (ir_dtype)dtype, refs, (size_t)rank, axis) : 0);
}

FE_BUILDER(full, (vf_value value, int rank, const int64_t *shape),
           fe_begin(&c, "full", &value, 1) && fe_list(&c, "the shape", rank, shape, refs),
           op_full(c.ir, value.id, refs, (size_t)rank))

FE_BUILDER(full_sized, (vf_value value, int rank, const vf_value *shape),
           fe_begin(&c, "full", &value, 1) && fe_list_sized(&c, "the shape", rank, shape, refs),
           op_full(c.ir, value.id, refs, (size_t)rank))
