/* The messages of ONNX models, as far as they are read. Field numbers are those of onnx.proto, IR version 12
 * (https://github.com/onnx/onnx). */
#ifndef VIEWFOLD_FRONTEND_ONNX_SCHEMA_H
#define VIEWFOLD_FRONTEND_ONNX_SCHEMA_H

#include "frontend/onnx/wire.h"

typedef struct onnx_model_proto {
  int64_t ir_version;
  wire_bytes graph;
  wire_list opsets;    /* onnx_opset_proto */
  wire_list functions; /* onnx_function_proto */
} onnx_model_proto;

typedef struct onnx_opset_proto {
  wire_bytes domain;
  int64_t version;
} onnx_opset_proto;

typedef struct onnx_graph_proto {
  wire_bytes name;
  wire_list nodes, initializers, sparse, inputs, outputs;
} onnx_graph_proto;

typedef struct onnx_node_proto {
  wire_bytes name, op, domain, overload;
  wire_list inputs, outputs; /* names */
  wire_list attributes;
} onnx_node_proto;

/* Values of AttributeProto.type; old files leave it out. */
enum { ONNX_FLOAT = 1, ONNX_INT, ONNX_STRING, ONNX_TENSOR, ONNX_GRAPH, ONNX_FLOATS, ONNX_INTS, ONNX_STRINGS };
typedef struct onnx_attribute {
  wire_bytes name, of_function; /* of_function: the attribute of the function that it stands for */
  int64_t type, i;
  float f;
  wire_bytes s, tensor, graph;
  wire_list floats, ints, strings;
} onnx_attribute;

typedef struct onnx_function_proto {
  wire_bytes name, domain, overload;
  wire_list inputs, outputs, attributes, defaults, nodes, opsets;
} onnx_function_proto;

typedef struct onnx_tensor {
  wire_bytes name, raw;
  int64_t dtype, location; /* location 1: external */
  wire_list dims, reals, ints32, ints64, doubles, unsigned64, strings, external;
} onnx_tensor;

typedef struct onnx_entry {
  wire_bytes key, value;
} onnx_entry;

typedef struct onnx_value_info {
  wire_bytes name, type;
} onnx_value_info;
typedef struct onnx_type {
  wire_bytes tensor, sequence, map, optional, sparse;
} onnx_type;
typedef struct onnx_element_type { /* of a sequence or an optional value */
  wire_bytes type;
} onnx_element_type;
typedef struct onnx_tensor_type {
  int64_t dtype;
  wire_bytes shape;
} onnx_tensor_type;
typedef struct onnx_shape {
  wire_list dims;
} onnx_shape;
typedef struct onnx_dim {
  int64_t value; /* the caller sets -1 before: no value */
  wire_bytes param;
} onnx_dim;

extern const wire_message onnx_model_message, onnx_opset_message, onnx_graph_message, onnx_node_message,
    onnx_attribute_message, onnx_function_message, onnx_tensor_message, onnx_entry_message,
    onnx_value_info_message, onnx_type_message, onnx_element_type_message, onnx_tensor_type_message,
    onnx_shape_message, onnx_dim_message;

#endif
