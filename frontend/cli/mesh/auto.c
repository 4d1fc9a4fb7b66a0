#include "frontend/cli/mesh/auto.h"

#include "frontend/cli/cli.h"
#include "frontend/mesh/auto.h"
#include "frontend/report/dump_graph.h"

static void put_report(const ir_parsed_graph *block, const autoshard_report *r, ir_text *out) {
  ir_textf(out, "graph @%.*s: predicted %.4g ms, computing %.4g, moving %.4g; ", (int)block->name_length,
           block->name, r->seconds * 1e3, r->computing * 1e3, r->moving * 1e3);
  if (r->exact) ir_text_str(out, "the least");
  else ir_textf(out, "at least %.4g", r->bound * 1e3);
  ir_textf(out, "; a device holds %.0f bytes\n", r->memory);
}

int cli_mesh_auto(cli_graph *s, rt_context *context, const ir_parsed_graph *block, ir_text *out) {
  fe_request request;
  autoshard_report report;
  fe_auto with = {.context = context};
  ir_error *noted = s->g.error;
  s->g.error = &s->error;
  if (fe_block_request(&s->g, block, NULL, &request)) fe_shard_auto(&request, &with, &report, &s->error);
  else ir_fail(&s->error, IR_ERR_MEMORY, "out of memory choosing shardings of graph @%.60s", block->name);
  fe_block_request_free(&s->g, block, &request);
  s->g.error = noted;
  if (s->error.status) return cli_failure(s->command, &s->error);
  if (out) put_report(block, &report, out);
  return CLI_OK;
}
