#!/usr/bin/env python3
"""Operators of the domain com.microsoft, compiled and by the reference evaluator, against NumPy, which computes
what ONNX Runtime's documentation of contrib operators says, in double precision; and against ONNX Runtime, where
Python has it. Bytes may be one off where the exact result is within 1e-3 of the middle between two, as scales
are multiplied in another order there.

  onnx_microsoft.py --build DIR [--count N] [--seed N]

Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import math
import os
import sys
import tempfile

try:
    import numpy as np
    import onnx
except ImportError as missing:
    print(f"skip: {missing} (packages python3-numpy, python3-onnx)")
    sys.exit(77)
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

import binding
import onnx_import
from arguments import arguments

KINDS = {np.dtype(name): getattr(onnx.TensorProto, name.upper()) for name in ("uint8", "int8", "int32", "int64", "bool")}
KINDS[np.dtype("float32")] = onnx.TensorProto.FLOAT


class Case:
    """A node with its inputs, in order: arrays, or None where one is left out."""

    def __init__(self, rng, op, **attributes):
        self.rng, self.op, self.attributes, self.inputs = rng, op, attributes, []
        self.dtype = rng.choice([np.uint8, np.int8])

    def add(self, array):
        self.inputs.append(None if array is None else np.asarray(array))
        return self.inputs[-1]

    def scale(self, size=None):
        return self.add(np.float32(self.rng.uniform(0.002, 0.05, size)))

    def zero(self, dtype=None, size=None):
        dtype = np.dtype(dtype or self.dtype)
        low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
        return self.add(np.asarray(self.rng.integers(low, high, size)).astype(dtype))

    def quantized(self, *shape, dtype=None):
        """Bytes, their scale and their zero point, and what they stand for."""
        x = self.zero(dtype, shape)
        scale, zero = self.scale(), self.zero(dtype)
        return np.float64(scale) * (x.astype(np.float64) - np.float64(zero))


def rounded(y, scale, zero):
    """The exact result before it is rounded to a byte, within the limits of the dtype."""
    limits = np.iinfo(zero.dtype)
    return np.clip(y / np.float64(scale) + np.float64(zero), limits.min, limits.max)


def elementwise(rng, op, function, operands, **attributes):
    case = Case(rng, op, **attributes)
    shapes = [(3, 5, 7), (5, 7) if rng.integers(2) else (3, 1, 7)]
    x = [case.quantized(*shapes[i]) for i in range(operands)]
    return case, rounded(function(*x), case.scale(), case.zero())


def average(x, size=2):
    places = [i - size + 1 for i in x.shape[2:]]
    return sum(x[:, :, i:i + places[0], k:k + places[1]] for i in range(size) for k in range(size)) / size ** 2


def pooling(rng, whole):
    attributes = {} if whole else {"kernel_shape": [2, 2]}
    case = Case(rng, "QLinearGlobalAveragePool" if whole else "QLinearAveragePool", **attributes)
    x = case.quantized(1, 6, 5, 9)
    y = x.mean((2, 3), keepdims=True) if whole else average(x)
    return case, rounded(y, case.scale(), case.zero())


def softmax(rng):
    case = Case(rng, "QLinearSoftmax", axis=-1, opset=13)
    x = case.quantized(4, 17)
    y = np.exp(x - x.max(-1, keepdims=True))
    scale = case.add(np.float32(1 / 256))
    return case, rounded(y / y.sum(-1, keepdims=True), scale, case.zero())


def join(rng):
    case = Case(rng, "QLinearConcat", axis=1)
    scale, zero = case.scale(), case.zero()
    return case, rounded(np.concatenate([case.quantized(2, size, 3) for size in (1, 4, 2)], 1), scale, zero)


def where(rng):
    case = Case(rng, "QLinearWhere")
    chosen = case.add(rng.integers(0, 2, (4, 6)).astype(bool))
    a, b = case.quantized(4, 6), case.quantized(4, 6)
    return case, rounded(np.where(chosen, a, b), case.scale(), case.zero())


def gemm(rng):
    transposed, floats, columns = rng.integers(2), rng.integers(2), 24
    case = Case(rng, "QGemm", alpha=0.5, transB=int(transposed))
    a = case.quantized(9, 33)
    b = case.zero(case.dtype, (columns, 33) if transposed else (33, columns))
    scale, zero = case.scale(columns), case.zero(case.dtype, columns)
    bias = case.add(rng.integers(-3000, 3000, columns).astype(np.int32))
    b = (b.T if transposed else b).astype(np.float64)
    y = 0.5 * (a @ (np.float64(scale) * (b - zero)) + bias * np.float64(scale) * np.float64(case.inputs[1]))
    return case, y if floats else rounded(y, case.scale(), case.zero())


def to_float(rng):
    case = Case(rng, "MatMulIntegerToFloat")
    a, b = case.zero(np.uint8, (7, 40)), case.zero(np.int8, (40, 20))
    scales = case.scale(), case.scale(20)
    zeros = case.zero(np.uint8), case.zero(np.int8, 20)
    bias = case.add(rng.standard_normal(20).astype(np.float32))
    return case, ((a - np.float64(zeros[0])) * scales[0]) @ ((b - zeros[1].astype(float)) * scales[1]) + bias


def dynamic(rng):
    case = Case(rng, "DynamicQuantizeMatMul")
    a, b = case.add(rng.standard_normal((6, 40)).astype(np.float32)), case.zero(np.int8, (40, 20))
    scale, zero = case.scale(), case.zero(np.int8)
    low, high = np.minimum(a.min(), 0), np.maximum(a.max(), 0)
    own = np.float32((high - low) / np.float32(255))
    middle = np.float32(np.rint(-low / own))
    codes = np.clip(np.rint(a / own) + middle, 0, 255)
    return case, ((codes - middle) * np.float64(own)) @ ((b - np.float64(zero)) * scale)


def fused(rng):
    kind = rng.choice(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip"])
    params = {"LeakyRelu": [0.25], "Clip": [-0.5, 0.75]}.get(kind, [])
    case = Case(rng, "FusedConv", activation=kind, **({"activation_params": params} if params else {}))
    x, w, bias, more = (case.add(rng.standard_normal(shape).astype(np.float32))
                        for shape in ((1, 4, 6, 6), (3, 4, 1, 1), (3,), (1, 3, 6, 6)))
    y = np.einsum("nchw,oc->nohw", x.astype(float), w[:, :, 0, 0]) + bias[:, None, None] + more
    functions = {"Relu": lambda y: np.maximum(y, 0), "Sigmoid": lambda y: 1 / (1 + np.exp(-y)), "Tanh": np.tanh,
                 "LeakyRelu": lambda y: np.where(y < 0, 0.25 * y, y), "Clip": lambda y: np.clip(y, -0.5, 0.75)}
    return case, functions[kind](y)


def normal(case, *shape, scale=1):
    return case.add((case.rng.standard_normal(shape) * scale).astype(np.float32)).astype(np.float64)


def layer_norm(x, gamma, beta, eps):
    off = x - x.mean(-1, keepdims=True)
    return off / np.sqrt((off ** 2).mean(-1, keepdims=True) + eps) * gamma + beta


def skip_norm(rng):
    case = Case(rng, "SkipLayerNormalization", epsilon=1e-5)
    x = normal(case, 2, 5, 24) + normal(case, 2, 5, 24)
    gamma, beta = normal(case, 24), normal(case, 24) if rng.integers(2) else case.add(None)
    x = x + normal(case, 24) if rng.integers(2) else x
    return case, layer_norm(x, gamma, 0 if beta is None else beta, 1e-5)


def skip_rms(rng):
    case = Case(rng, "SkipSimplifiedLayerNormalization", epsilon=1e-5)
    x, gamma = normal(case, 2, 5, 24) + normal(case, 2, 5, 24), normal(case, 24)
    return case, x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * gamma


def gelu(rng, op):
    case = Case(rng, op, **({"alpha": 1.5} if op == "QuickGelu" else {}))
    x = normal(case, 3, 33)
    if op in ("BiasGelu", "FastGelu"):
        x = x + normal(case, 33)
    if op == "QuickGelu":
        return case, x / (1 + np.exp(-1.5 * x))
    if op == "FastGelu":
        return case, x / 2 * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))
    return case, x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def fused_matmul(rng):
    a, b = (int(x) for x in rng.integers(2, size=2))
    case = Case(rng, "FusedMatMul", transA=a, transB=b, alpha=0.5)
    x, y = normal(case, 2, *((6, 9) if a else (9, 6))), normal(case, 2, *((7, 6) if b else (6, 7)))
    return case, 0.5 * (np.swapaxes(x, 1, 2) if a else x) @ (np.swapaxes(y, 1, 2) if b else y)


def embed_norm(rng):
    case = Case(rng, "EmbedLayerNormalization", epsilon=1e-5)
    ids, segments = (case.add(rng.integers(0, most, (2, 6)).astype(np.int32)) for most in (11, 2))
    words, places, kinds = normal(case, 11, 16), normal(case, 9, 16), normal(case, 2, 16)
    x = words[ids] + places[:6] + kinds[segments]
    return case, layer_norm(x, normal(case, 16), normal(case, 16), 1e-5)


def attention(rng):
    causal, masked, heads, width = int(rng.integers(2)), rng.integers(2), 2, 8
    case = Case(rng, "Attention", num_heads=heads, unidirectional=causal)
    # scores of about 1: the rounding of scores of 50, which larger inputs have, is 1e-5 of a weight
    x, w = normal(case, 2, 6, 12, scale=0.3), normal(case, 12, 3 * heads * width)
    bias = normal(case, 3 * heads * width, scale=0.3)
    q, k, v = ((x @ w + bias).reshape(2, 6, 3, heads, width).transpose(2, 0, 3, 1, 4))
    scores = q @ np.swapaxes(k, 2, 3) / math.sqrt(width)
    if masked:
        mask = case.add((np.arange(6) < [[6], [4]]).astype(np.int32))
        scores = scores + np.where(mask, 0, -10000.0)[:, None, None]
    if causal:
        scores = np.where(np.tri(6, dtype=bool), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    y = scores / scores.sum(-1, keepdims=True) @ v
    return case, y.transpose(0, 2, 1, 3).reshape(2, 6, heads * width)


CASES = {
    "SkipLayerNormalization": skip_norm,
    "SkipSimplifiedLayerNormalization": skip_rms,
    **{op: lambda rng, op=op: gelu(rng, op) for op in ("BiasGelu", "FastGelu", "Gelu", "QuickGelu")},
    "FusedMatMul": fused_matmul,
    "EmbedLayerNormalization": embed_norm,
    "Attention": attention,
    "QLinearAdd": lambda rng: elementwise(rng, "QLinearAdd", np.add, 2),
    "QLinearMul": lambda rng: elementwise(rng, "QLinearMul", np.multiply, 2),
    "QLinearSigmoid": lambda rng: elementwise(rng, "QLinearSigmoid", lambda x: 1 / (1 + np.exp(-x)), 1),
    "QLinearLeakyRelu": lambda rng: elementwise(rng, "QLinearLeakyRelu", lambda x: np.where(x < 0, x / 8, x), 1,
                                                alpha=0.125),
    "QLinearAveragePool": lambda rng: pooling(rng, False),
    "QLinearGlobalAveragePool": lambda rng: pooling(rng, True),
    "QLinearSoftmax": softmax,
    "QLinearConcat": join,
    "QLinearWhere": where,
    "QGemm": gemm,
    "MatMulIntegerToFloat": to_float,
    "DynamicQuantizeMatMul": dynamic,
    "FusedConv": fused,
}
NOT_SIGNED = {"QLinearSoftmax"}  # what ONNX Runtime lacks


def save(path, case, shape, dtype):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(case.inputs)]
    ports = [onnx.helper.make_tensor_value_info(name, KINDS[x.dtype], x.shape)
             for name, x in zip(names, case.inputs) if name]
    results = ["y", "mask"] if case.op == "EmbedLayerNormalization" else ["y"]  # ONNX Runtime requires both
    node = onnx.helper.make_node(case.op, names, results, domain="com.microsoft", **case.attributes)
    out = onnx.helper.make_tensor_value_info("y", KINDS[np.dtype(dtype)], shape)
    graph = onnx.helper.make_graph([node], "one", ports, [out])
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    return {name: x for name, x in zip(names, case.inputs) if name}


def is_close(got, want):
    if got.dtype.kind == "f":
        return np.allclose(got, want, rtol=1e-5, atol=1e-5)
    near = np.abs(np.abs(want - np.floor(want)) - 0.5) < 1e-3
    off = np.abs(got.astype(int) - np.rint(want))
    return bool(np.all(off <= near))


def check(context, name, seed, folder):
    rng = np.random.default_rng(seed)
    case, want = CASES[name](rng)
    path = os.path.join(folder, "model.onnx")
    quantizes = name.startswith("QLinear") or (name == "QGemm" and len(case.inputs) > 7)
    inputs = save(path, case, want.shape, case.dtype if quantizes else np.float32)
    graph = onnx_import.import_model(context, path, {})
    try:
        given = {key: binding.typed(x) for key, x in inputs.items()}
        model = onnx.load(path)
        for compiled in (True, False):
            got = onnx_import.run(context, graph, model, given, compiled)["y"].array
            assert got.shape == want.shape and is_close(got, want), (compiled, got, want)
    finally:
        context.c.vf_graph_destroy(graph)
    if onnxruntime and not (name in NOT_SIGNED and case.dtype == np.int8):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        peer = session.run(None, inputs)[0]
        off = np.abs(peer.astype(float) - got.astype(float)).max()
        assert off <= (1 if quantizes else 1e-3), (peer, got)


def main():
    options = arguments(others=True, count=3, seed=1)
    context = onnx_import.importing_context(options.build)
    with tempfile.TemporaryDirectory() as folder:
        cases = [(f"{name} {k}", lambda name=name, k=k: check(context, name, [options.seed, k], folder))
                 for name in CASES for k in range(options.count)]
        return onnx_import.run_cases("onnx_microsoft", cases)


if __name__ == "__main__":
    sys.exit(main())
