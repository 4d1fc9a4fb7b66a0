#include "frontend/cli/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/files/npy_header.h"

/* Match the program's inputs with the parameters by name. Both are in the same order, so each search starts
 * where the one before ended. */
static void find_inputs(cli_buffers *b, const rt_program *program, const ir_parsed_graph *block,
                        const cli_binding *values) {
  size_t count = block->param_count, k = 0;
  for (size_t i = 0; i < rt_program_input_count(program); i++) {
    rt_port port = rt_program_input(program, i);
    for (size_t tried = 0; tried < count; tried++, k = k + 1 == count ? 0 : k + 1)
      if (strcmp(port.name, block->params[k].name) == 0) {
        b->in[i] = values->arrays[k].data;
        break;
      }
  }
}

static ir_status make_output(cli_buffers *b, size_t i, const rt_program *program,
                             const ir_parsed_graph *block, const cli_binding *values, ir_error *error) {
  fe_array *a = &b->outputs[i];
  rt_port port = rt_program_output(program, i);
  a->dtype = port.dtype;
  a->rank = (int)port.rank;
  if (rt_program_output_shape(program, i, values->values, a->shape, error) != IR_OK) return error->status;
  bool counted = fe_shape_bytes(a->dtype, a->rank, a->shape, &a->bytes);
  b->out[i] = a->data = counted ? ir_alloc(&cli_array_mem, a->bytes) : NULL;
  if (a->data) return IR_OK;
  return ir_fail(error, IR_ERR_MEMORY, "not enough memory for the %zu bytes of result %%%s", a->bytes,
                 block->results[i].name);
}

ir_status cli_buffers_open(cli_buffers *b, const rt_program *program, const ir_parsed_graph *block,
                           const cli_binding *values, ir_error *error) {
  *b = (cli_buffers){.in = calloc(rt_program_input_count(program) + 1, sizeof *b->in),
                     .out = calloc(block->result_count + 1, sizeof *b->out),
                     .outputs = calloc(block->result_count + 1, sizeof *b->outputs)};
  if (!b->in || !b->out || !b->outputs) return ir_fail(error, IR_ERR_MEMORY, "out of memory");
  b->output_count = block->result_count;
  find_inputs(b, program, block, values);
  for (size_t i = 0; i < b->output_count; i++)
    if (make_output(b, i, program, block, values, error) != IR_OK) return error->status;
  for (size_t r = 0; r < values->reference_count; r++) {
    const pass_reference *at = &values->references[r];
    const fe_array *a = &b->outputs[at->result];
    for (size_t i = 0; i < rt_program_input_count(program); i++)
      if (strcmp(rt_program_input(program, i).name, block->params[at->input].name) == 0) b->in[i] = a->data;
    if (a->bytes && values->arrays[at->input].data) memcpy(a->data, values->arrays[at->input].data, a->bytes);
  }
  return IR_OK;
}

void cli_buffers_close(cli_buffers *b) {
  for (size_t i = 0; i < b->output_count; i++) fe_array_free(&cli_array_mem, &b->outputs[i]);
  free(b->in);
  free(b->out);
  free(b->outputs);
  *b = (cli_buffers){0};
}
