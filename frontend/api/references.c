#include "frontend/api/references.h"

#include <string.h>

#include "passes/ops/ops.h"

static bool have_one_name(const ir_named *a, const ir_named *b) {
  return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

ir_ref fe_firm_result(ir_graph *g, const ir_named *params, size_t param_count, const ir_named *result) {
  ir_ref firm = op_default_dtype(g, result->ref);
  for (size_t i = 0; i < param_count && firm && result->reference; i++)
    if (params[i].reference && have_one_name(&params[i], result))
      return op_next_version(g, params[i].ref, firm);
  return firm;
}

size_t fe_list_references(const ir_named *params, size_t param_count, const ir_named *results,
                          size_t result_count, pass_reference *out) {
  size_t count = 0;
  for (size_t i = 0; i < param_count; i++)
    for (size_t k = 0; k < result_count && params[i].reference; k++)
      if (results[k].reference && have_one_name(&params[i], &results[k]))
        out[count++] = (pass_reference){(uint32_t)i, (uint32_t)k};
  return count;
}
