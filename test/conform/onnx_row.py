"""A node of an ONNX model and what it computes, for onnx_versions.py."""
import numpy as np


class Row:
    """A node of each of `opsets`. constants: inputs that are initialisers; peer: ONNX Runtime has it, too."""

    def __init__(self, operator, opsets, inputs, outputs, constants=(), peer=True, **attributes):
        self.operator, self.opsets, self.attributes = operator, opsets, attributes
        self.inputs = [None if x is None else np.asarray(x) for x in inputs]
        self.outputs = [None if y is None else np.asarray(y) for y in outputs]
        self.constants, self.peer = constants, peer


RNG = np.random.default_rng(1)


def draw(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def ints(*values):
    return np.array(values, np.int64)
