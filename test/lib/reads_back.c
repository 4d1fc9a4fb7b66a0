#include "test/lib/reads_back.h"

#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/text/reader.h"
#include "ir/parse/parse.h"
#include "ir/print/print.h"
#include "ir/verify/verify.h"

const char *reads_back(const ir_graph *g, const char *name, ir_ref root, char *wrong, size_t room) {
  ir_text first, second;
  ir_graph again;
  ir_error error = {0};
  ir_module module = {0};
  *wrong = 0;
  ir_text_init(&first, &ir_mem_libc), ir_text_init(&second, &ir_mem_libc);
  ir_print_graph(g, name, root, &first);
  ir_graph_init(&again, &ir_mem_libc, &error);
  if (ir_parse_module(&again, &fe_builder, name, ir_text_get(&first), first.len, &module) != IR_OK) {
    snprintf(wrong, room, "the printed text does not parse: %s", error.text);
  } else {
    ir_print_graph(&again, name, module.graphs[0].root, &second);
    if (strcmp(ir_text_get(&first), ir_text_get(&second)) != 0)
      snprintf(wrong, room, "the printed text changes when parsed: %s", ir_text_get(&second));
  }
  ir_module_free(&module);
  ir_graph_free(&again);
  ir_text_free(&first), ir_text_free(&second);
  return *wrong ? wrong : NULL;
}

vf_graph *reads_back_as(vf_context *context, vf_graph *g, char *wrong, size_t room) {
  vf_error error = {0};
  ir_error broken = {0};
  ir_ref refs[64];
  for (size_t i = 0; i < g->output_count; i++) refs[i] = g->outputs[i].ref;
  ir_ref root = ir_tuple(&g->ir, refs, (uint32_t)g->output_count);
  char *text = NULL, *other = NULL;
  vf_graph *read = NULL;
  if (ir_verify(&g->ir, root, IR_LEVEL_TENSOR, &broken) == IR_OK) text = vf_graph_text(g, &error);
  if (text) read = vf_graph_parse(context, text, strlen(text), "text", NULL, &error);
  if (read) other = vf_graph_text(read, &error);
  bool same = other && strcmp(text, other) == 0;
  if (!same) {
    snprintf(wrong, room, "%s",
             other           ? "reads back as another"
             : broken.status ? broken.text
                             : error.message);
    vf_graph_destroy(read);
  }
  vf_text_free(context, text), vf_text_free(context, other);
  return same ? read : NULL;
}
