/* The automatic choice of shardings, for users of the C API. */
#include "frontend/mesh/auto.h"

#include <string.h>

#include "frontend/api/mesh/mesh.h"

/* The options that the caller knows of: those behind are zero. */
static bool read_options(const vf_shard_auto_options *given, vf_shard_auto_options *out, ir_error *error) {
  *out = (vf_shard_auto_options){.size = sizeof *out};
  if (!given) return true;
  if (given->size < sizeof given->size)
    return ir_fail(error, IR_ERR_INVALID,
                   "shard_auto: options.size is %zu; it is sizeof(vf_shard_auto_options)",
                   given->size) == IR_OK;
  memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
  if (out->flops < 0 || out->bytes < 0 || out->memory < 0)
    return ir_fail(error, IR_ERR_INVALID, "shard_auto: rates and memory are at least 0") == IR_OK;
  return true;
}

static void write_report(const autoshard_report *from, vf_shard_auto_report *to) {
  vf_shard_auto_report all = {.size = to->size,
                              .seconds = from->seconds,
                              .computing = from->computing,
                              .moving = from->moving,
                              .bound = from->bound,
                              .memory = from->memory,
                              .exact = from->exact};
  memcpy(to, &all, to->size < sizeof all ? to->size : sizeof all);
}

vf_status vf_shard_auto(vf_graph *g, const vf_shard_auto_options *given, vf_shard_auto_report *out,
                        vf_error *error) {
  ir_error failure = {0};
  vf_shard_auto_options options;
  autoshard_report report;
  fe_request request;
  if (fe_not(g, FE_GRAPH)) {
    ir_fail(&failure, IR_ERR_INVALID, "shard_auto: the graph is %s", fe_not(g, FE_GRAPH));
  } else if (out && out->size < sizeof out->size) {
    ir_fail(&failure, IR_ERR_INVALID, "shard_auto: report.size is %zu; it is sizeof(vf_shard_auto_report)",
            out->size);
  } else if (read_options(given, &options, &failure) && fe_graph_request(g, &request, &failure)) {
    unsigned failures = fe_failures(g->context);
    const ir_target *target = rt_context_target(g->context->runtime, &failure);
    fe_auto with = {.memory = options.memory, .context = g->context->runtime};
    if (target) with.rates = autoshard_rates_of(target);
    if (options.flops > 0) with.rates.flops = options.flops;
    if (options.bytes > 0) with.rates.bytes = options.bytes;
    with.given = options.flops > 0 || options.bytes > 0;
    if (!failure.status) fe_shard_auto(&request, &with, &report, &failure);
    if (!failure.status && out) write_report(&report, out);
    fe_graph_request_free(g, &request);
    fe_report_as_memory(g->context, failures, &failure);
  }
  return failure.status ? fe_report(error, &failure) : VF_OK;
}
