#include "frontend/cli/mesh/run.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "frontend/files/npy_header.h"
#include "frontend/profile/profile.h"
#include "passes/ops/check.h"

enum { MOST_KINDS = 32 };

/* The value that the pair names: a parameter, or one that a statement defines. 0: there is none. */
static ir_ref find_value(const ir_parsed_graph *block, const cli_pair *pair) {
  const ir_named *param = cli_named(block->params, block->param_count, pair);
  const ir_named *result = cli_named(block->results, block->result_count, pair);
  const ir_defined *value = ir_defined_find(block, pair->name, pair->length);
  return value ? value->ref : param ? param->ref : result ? result->ref : 0;
}

static int declare_spec(cli_graph *s, const ir_parsed_graph *block, const cli_pair *pair) {
  const ir_mesh *mesh = ir_graph_mesh(&s->g);
  ir_error error = {0};
  ir_spec spec;
  ir_ref value = find_value(block, pair);
  if (!value) return cli_unknown_value(s->command, "--shard", pair, &s->module, block);
  if (!ir_spec_parse(mesh, pair->text, strlen(pair->text), &spec, &error))
    return cli_usage(s->command, "--shard %.*s: %s", (int)pair->length, pair->name, error.text);
  ir_graph *g = &s->g;
  if (spec.rank != ir_rank(g, value))
    return cli_usage(
        s->command,
        "--shard %.*s: the spec %s is for %u ax%s; the value is %s; each of its axes has an axis of the "
        "mesh, or -",
        (int)pair->length, pair->name, pair->text, spec.rank, spec.rank == 1 ? "is" : "es", OP_TYPE(value));
  if (ir_set_spec(&s->g, value, &spec)) return CLI_OK;
  ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  return cli_failure(s->command, &s->error);
}

int cli_mesh_declare(cli_graph *s, const ir_parsed_graph *block, const char *text, const cli_pairs *specs) {
  const ir_mesh *declared = ir_graph_mesh(&s->g);
  ir_error error = {0};
  ir_mesh mesh;
  int status = CLI_OK;
  ir_mesh_init(&mesh, s->g.mem);
  if (!ir_mesh_parse(&mesh, text, strlen(text), &error)) {
    status = cli_usage(s->command, "--mesh %s: %s; takes axes and their sizes, as in x=2,y=4", text,
                       strchr(text, '=') ? error.text : "no axis has a name");
  } else if (declared && !ir_mesh_same_axes(declared, &mesh)) {
    ir_text own;
    ir_text_init(&own, s->g.mem);
    ir_mesh_print(declared, &own);
    status = cli_usage(s->command, "--mesh %s: the text declares another one, %s", text, ir_text_get(&own));
    ir_text_free(&own);
  } else if (!declared && !ir_graph_set_mesh(&s->g, &mesh)) {
    ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
    status = cli_failure(s->command, &s->error);
  }
  ir_mesh_free(&mesh);
  for (size_t i = 0; i < specs->count && !status; i++) {
    const cli_pair *pair = &specs->items[i];
    for (size_t k = 0; k < i && !status; k++)
      if (specs->items[k].length == pair->length && !memcmp(specs->items[k].name, pair->name, pair->length))
        status = cli_usage(s->command, "--shard %.*s is given twice", (int)pair->length, pair->name);
    if (!status) status = declare_spec(s, block, pair);
  }
  return status;
}

static ir_status shape_output(cli_buffers *b, size_t i, fe_sharded *sharded, const ir_parsed_graph *block,
                              const cli_binding *values, ir_error *error) {
  fe_array *a = &b->outputs[i];
  uint32_t rank;
  a->dtype = ir_dtype_of(&sharded->graph, sharded->parts.results[i].global);
  if (fe_sharded_shape(sharded, true, i, values->values, &rank, a->shape, error) != IR_OK)
    return error->status;
  a->rank = (int)rank;
  if (fe_shape_bytes(a->dtype, a->rank, a->shape, &a->bytes)) return IR_OK;
  return ir_fail(error, IR_ERR_MEMORY, "result %%%s has too many elements", block->results[i].name);
}

ir_status cli_mesh_buffers(cli_buffers *b, fe_sharded *sharded, const ir_parsed_graph *block,
                           const cli_binding *values, ir_error *error) {
  *b = (cli_buffers){.in = calloc(block->param_count + 1, sizeof *b->in),
                     .out = calloc(block->result_count + 1, sizeof *b->out),
                     .outputs = calloc(block->result_count + 1, sizeof *b->outputs)};
  if (!b->in || !b->out || !b->outputs) return ir_fail(error, IR_ERR_MEMORY, "out of memory");
  b->output_count = block->result_count;
  for (size_t i = 0; i < block->param_count; i++) b->in[i] = values->arrays[i].data;
  for (size_t i = 0; i < b->output_count; i++)
    if (shape_output(b, i, sharded, block, values, error) != IR_OK) return error->status;
  return IR_OK;
}

ir_status cli_mesh_fill(cli_buffers *b, const ir_parsed_graph *block, const cli_binding *values,
                        const bool *takes, ir_error *error) {
  for (size_t i = 0; i < b->output_count; i++) {
    fe_array *a = &b->outputs[i];
    if (takes[i]) continue;
    b->out[i] = a->data = ir_alloc(&cli_array_mem, a->bytes);
    if (!a->data)
      return ir_fail(error, IR_ERR_MEMORY, "not enough memory for the %zu bytes of result %%%s", a->bytes,
                     block->results[i].name);
  }
  for (size_t r = 0; r < values->reference_count; r++) { /* what a run changes is a copy */
    const pass_reference *at = &values->references[r];
    const fe_array *a = &b->outputs[at->result];
    if (a->bytes && values->arrays[at->input].data) memcpy(a->data, values->arrays[at->input].data, a->bytes);
    b->in[at->input] = a->data;
  }
  return IR_OK;
}

ir_status cli_mesh_count(fe_sharded *sharded, const cli_buffers *buffers, const cli_binding *values,
                         const fe_part_taker *taker, ir_text *out, ir_error *error) {
  rt_mesh_traffic kinds[MOST_KINDS];
  size_t count;
  int64_t most, total, comm, hidden;
  rt_mesh_count_anew(sharded->devices);
  if (fe_sharded_run_taking(sharded, buffers->in, buffers->out, values->values, taker, error) != IR_OK)
    return error->status;
  if (rt_mesh_gather_counts(sharded->devices, error) != IR_OK) return error->status;
  rt_mesh_count(sharded->devices, kinds, MOST_KINDS, &count, &most, &total);
  ir_textf(out, "\"devices\":%u,\"collectives\":[", rt_mesh_axes(sharded->mesh)->device_count);
  for (size_t i = 0; i < count; i++) {
    ir_textf(out, "%s{\"op\":", i ? "," : "");
    fe_put_json_string(kinds[i].kind, out);
    ir_textf(out, ",\"times\":%lld,\"recv\":%lld,\"total\":%lld}", (long long)kinds[i].times,
             (long long)kinds[i].most, (long long)kinds[i].total);
  }
  rt_mesh_count_time(sharded->devices, &comm, &hidden);
  ir_textf(out, "],\"recv\":%lld,\"total\":%lld,\"comm_ms\":%.6f,\"hidden_ms\":%.6f", (long long)most,
           (long long)total, (double)comm * 1e-6, (double)hidden * 1e-6);
  return IR_OK;
}
