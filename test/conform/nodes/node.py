"""A node of an ONNX model, as the translations use it."""
import numpy as np
import onnx
from onnx import numpy_helper

import binding

# Element types of ONNX by number, as viewfold's dtypes; types without a dtype are missing.
DTYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64",
          12: "u32", 13: "u64", 16: "bf16"}


class Uncovered(Exception):
    """The test needs something that viewfold does not have, which the text names."""


def tensor(proto):
    """A TensorProto as a typed array."""
    if proto.data_type not in DTYPES:
        raise Uncovered("dtype " + onnx.TensorProto.DataType.Name(proto.data_type).lower())
    if DTYPES[proto.data_type] != "bf16":
        return binding.Typed(np.asarray(numpy_helper.to_array(proto)))
    if proto.HasField("raw_data"):
        bits = np.frombuffer(proto.raw_data, np.uint16)
    else:
        bits = np.array(proto.int32_data, np.uint16)
    return binding.Typed(bits.reshape(tuple(proto.dims)), "bf16")


class Node:
    """inputs: values or None; attributes: Python values; results: how many the model uses; opset of its
    domain."""

    def __init__(self, graph, proto, inputs, opset):
        self.graph, self.op, self.inputs, self.opset = graph, proto.op_type, inputs, opset
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.wanted = [bool(name) for name in proto.output]

    def __getitem__(self, number):
        return self.inputs[number] if number < len(self.inputs) else None

    def get(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def wants(self, number):
        return number < len(self.wanted) and self.wanted[number]

    def known(self, number):
        """The elements of an input that is an attribute in viewfold; None where it is left out."""
        return None if self[number] is None else self[number].known()

    def ints(self, name, number):
        """A list that is an attribute in old operator sets and an input in new ones; None where it is left
        out."""
        if name in self.attributes:
            return [int(v) for v in self.attributes[name]]
        values = self.known(number) if number is not None else None
        return None if values is None else [int(v) for v in np.ravel(values)]

    def axis(self, default, rank=None):
        """The attribute axis, from 0 up."""
        axis, rank = self.get("axis", default), self[0].rank if rank is None else rank
        return axis + rank if axis < 0 else axis

    def do(self, operation, *operands, **attributes):
        return self.graph.apply(operation, *operands, **attributes)

    def data(self, array):
        """A literal array; an input, if it has more elements than a literal should have."""
        array = binding.typed(array)
        if array.dtype == "bf16" or array.array.size > 4096:
            return self.graph.input(array)
        values = array.array.ravel().tolist()
        return self.do("data", shape=array.shape, dtype=array.dtype, values=values)

    def like(self, value, dtype):
        """The value cast to another dtype, or itself where it has that one."""
        return value if value.dtype == dtype else self.do("cast", value, dtype=dtype)
