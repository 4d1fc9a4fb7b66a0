#include "frontend/cli/explain/machine.h"

#include "frontend/cli/bench/limits.h"

ir_status cli_machine_measure(rt_context *c, fe_machine *out, ir_error *error) {
  *out = (fe_machine){.threads = rt_context_threads(c)};
  const int threads[] = {1, out->threads};
  fe_roofline limits[2];
  if (!bench_limits_measure(threads, out->threads > 1 ? 2 : 1, limits))
    return ir_fail(error, IR_ERR_MEMORY, "not enough memory to measure the machine");
  out->one = limits[0], out->all = limits[out->threads > 1];
  return fe_machine_keep(c, out, error);
}

ir_status cli_machine_find(rt_context *c, fe_machine *out, bool *known, ir_error *error) {
  bool all;
  if (fe_machine_find(c, out, known, error) != IR_OK) return error->status;
  if (*known || rt_context_target(c, error)->group_items) return IR_OK; /* which cannot be measured */
  if (cli_machine_measure(c, out, error) != IR_OK) return error->status;
  *known = true;
  return fe_machine_set(out, &all, error);
}
