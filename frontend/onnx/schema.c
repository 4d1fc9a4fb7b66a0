#include "frontend/onnx/schema.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MESSAGE(variable, text, ...)                                                                         \
  static const wire_field variable##_fields[] = {__VA_ARGS__};                                               \
  const wire_message onnx_##variable##_message = {text, variable##_fields, COUNT(variable##_fields)};

#define IN(type, member) offsetof(type, member)

/* clang-format off */
MESSAGE(model, "ModelProto",
        {1, WIRE_INT, IN(onnx_model_proto, ir_version)},
        {7, WIRE_BYTES, IN(onnx_model_proto, graph)},
        {8, WIRE_MANY, IN(onnx_model_proto, opsets)},
        {25, WIRE_MANY, IN(onnx_model_proto, functions)})
MESSAGE(opset, "OperatorSetIdProto",
        {1, WIRE_BYTES, IN(onnx_opset_proto, domain)},
        {2, WIRE_INT, IN(onnx_opset_proto, version)})
MESSAGE(graph, "GraphProto",
        {1, WIRE_MANY, IN(onnx_graph_proto, nodes)},
        {2, WIRE_BYTES, IN(onnx_graph_proto, name)},
        {5, WIRE_MANY, IN(onnx_graph_proto, initializers)},
        {11, WIRE_MANY, IN(onnx_graph_proto, inputs)},
        {12, WIRE_MANY, IN(onnx_graph_proto, outputs)},
        {15, WIRE_MANY, IN(onnx_graph_proto, sparse)})
MESSAGE(node, "NodeProto",
        {1, WIRE_MANY, IN(onnx_node_proto, inputs)},
        {2, WIRE_MANY, IN(onnx_node_proto, outputs)},
        {3, WIRE_BYTES, IN(onnx_node_proto, name)},
        {4, WIRE_BYTES, IN(onnx_node_proto, op)},
        {5, WIRE_MANY, IN(onnx_node_proto, attributes)},
        {7, WIRE_BYTES, IN(onnx_node_proto, domain)},
        {8, WIRE_BYTES, IN(onnx_node_proto, overload)})
MESSAGE(attribute, "AttributeProto",
        {1, WIRE_BYTES, IN(onnx_attribute, name)},
        {2, WIRE_REAL, IN(onnx_attribute, f)},
        {3, WIRE_INT, IN(onnx_attribute, i)},
        {4, WIRE_BYTES, IN(onnx_attribute, s)},
        {5, WIRE_BYTES, IN(onnx_attribute, tensor)},
        {6, WIRE_BYTES, IN(onnx_attribute, graph)},
        {7, WIRE_REALS, IN(onnx_attribute, floats)},
        {8, WIRE_INTS, IN(onnx_attribute, ints)},
        {9, WIRE_MANY, IN(onnx_attribute, strings)},
        {20, WIRE_INT, IN(onnx_attribute, type)},
        {21, WIRE_BYTES, IN(onnx_attribute, of_function)})
MESSAGE(function, "FunctionProto",
        {1, WIRE_BYTES, IN(onnx_function_proto, name)},
        {4, WIRE_MANY, IN(onnx_function_proto, inputs)},
        {5, WIRE_MANY, IN(onnx_function_proto, outputs)},
        {6, WIRE_MANY, IN(onnx_function_proto, attributes)},
        {7, WIRE_MANY, IN(onnx_function_proto, nodes)},
        {9, WIRE_MANY, IN(onnx_function_proto, opsets)},
        {10, WIRE_BYTES, IN(onnx_function_proto, domain)},
        {11, WIRE_MANY, IN(onnx_function_proto, defaults)},
        {13, WIRE_BYTES, IN(onnx_function_proto, overload)})
MESSAGE(tensor, "TensorProto",
        {1, WIRE_INTS, IN(onnx_tensor, dims)},
        {2, WIRE_INT, IN(onnx_tensor, dtype)},
        {4, WIRE_REALS, IN(onnx_tensor, reals)},
        {5, WIRE_INTS, IN(onnx_tensor, ints32)},
        {6, WIRE_MANY, IN(onnx_tensor, strings)},
        {7, WIRE_INTS, IN(onnx_tensor, ints64)},
        {8, WIRE_BYTES, IN(onnx_tensor, name)},
        {9, WIRE_BYTES, IN(onnx_tensor, raw)},
        {10, WIRE_DOUBLES, IN(onnx_tensor, doubles)},
        {11, WIRE_INTS, IN(onnx_tensor, unsigned64)},
        {13, WIRE_MANY, IN(onnx_tensor, external)},
        {14, WIRE_INT, IN(onnx_tensor, location)})
MESSAGE(entry, "StringStringEntryProto",
        {1, WIRE_BYTES, IN(onnx_entry, key)},
        {2, WIRE_BYTES, IN(onnx_entry, value)})
MESSAGE(value_info, "ValueInfoProto",
        {1, WIRE_BYTES, IN(onnx_value_info, name)},
        {2, WIRE_BYTES, IN(onnx_value_info, type)})
MESSAGE(type, "TypeProto",
        {1, WIRE_BYTES, IN(onnx_type, tensor)},
        {4, WIRE_BYTES, IN(onnx_type, sequence)},
        {5, WIRE_BYTES, IN(onnx_type, map)},
        {8, WIRE_BYTES, IN(onnx_type, sparse)},
        {9, WIRE_BYTES, IN(onnx_type, optional)})
MESSAGE(element_type, "TypeProto.Sequence",
        {1, WIRE_BYTES, IN(onnx_element_type, type)})
MESSAGE(tensor_type, "TypeProto.Tensor",
        {1, WIRE_INT, IN(onnx_tensor_type, dtype)},
        {2, WIRE_BYTES, IN(onnx_tensor_type, shape)})
MESSAGE(shape, "TensorShapeProto",
        {1, WIRE_MANY, IN(onnx_shape, dims)})
MESSAGE(dim, "TensorShapeProto.Dimension",
        {1, WIRE_INT, IN(onnx_dim, value)},
        {2, WIRE_BYTES, IN(onnx_dim, param)})
/* clang-format on */
