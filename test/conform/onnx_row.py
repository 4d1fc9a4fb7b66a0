"""A node of an ONNX model and what it computes, for onnx_versions.py."""
import numpy as np


class Row:
    """A node of each of `opsets`. constants: inputs that are initialisers; peer: ONNX Runtime has it, too; near: how far
    off an element may be beside 1e-5 of it."""

    def __init__(self, operator, opsets, inputs, outputs, constants=(), peer=True, near=1e-6, **attributes):
        self.operator, self.opsets, self.attributes = operator, opsets, attributes
        self.inputs = [None if x is None else np.asarray(x) for x in inputs]
        self.outputs = [None if y is None else np.asarray(y) for y in outputs]
        self.constants, self.peer, self.near = constants, peer, near


RNG = np.random.default_rng(1)


def draw(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def ints(*values):
    return np.array(values, np.int64)


def families(*functions):
    """Their rows; each draws the same numbers whatever the others draw."""
    for function in functions:
        RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state
        yield from function()
