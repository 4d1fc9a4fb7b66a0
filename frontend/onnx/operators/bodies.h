/* Graphs that an attribute of a node holds. */
#ifndef VIEWFOLD_FRONTEND_ONNX_OPERATORS_BODIES_H
#define VIEWFOLD_FRONTEND_ONNX_OPERATORS_BODIES_H

#include "frontend/onnx/import.h"
#include "frontend/onnx/narrow.h"

typedef struct onnx_body {
  onnx_node *n;
  onnx_graph_proto graph;
  const wire_bytes *inputs, *outputs; /* their names */
  int input_count, output_count;
  bool tensors; /* all outputs are */
} onnx_body;

/* control.c. Reads the graph that the attribute is; false after an error. */
bool onnx_body_read(onnx_node *n, const char *attribute, onnx_body *out);
/* Records the graph with these inputs. outputs: the values of its scope. */
bool onnx_body_record(onnx_body *b, const onnx_value *inputs, onnx_value **outputs);

#endif
