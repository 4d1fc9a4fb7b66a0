#!/usr/bin/env python3
"""Types of ONNX that viewfold stores in another dtype: floats of 8 and 4 bits, integers of 4 and 2.

Every code is cast from constants packed in each way that a model may have them (raw, in int32_data, in a file
beside the model), and compared with numbers that the specification names and, where it is installed, with
ml_dtypes. Floats are cast to each type, and must become the nearest of these numbers, of two that are as near
the one with the even code.

  onnx_narrow.py --build DIR [--count N] [--seed N]

Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import functools
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
    import ml_dtypes
except ImportError:
    ml_dtypes = None

import binding
import onnx_import
from arguments import arguments

INF, NAN = float("inf"), float("nan")
# Number, bits, the name in ml_dtypes, and the values of some codes, from the tables of docs/docsgen/source/technical
# of onnx.
TYPES = {
    "float8e4m3fn": (17, 8, "float8_e4m3fn", {0: 0, 1: 2 ** -9, 8: 2 ** -6, 0x38: 1, 0x7E: 448, 0x7F: NAN, 0xFE: -448,
                                              0xFF: NAN}),
    "float8e4m3fnuz": (18, 8, "float8_e4m3fnuz", {0: 0, 1: 2 ** -10, 8: 2 ** -7, 0x40: 1, 0x7F: 240, 0x80: NAN, 0xFF: -240}),
    "float8e5m2": (19, 8, "float8_e5m2", {0: 0, 1: 2 ** -16, 4: 2 ** -14, 0x3C: 1, 0x7B: 57344, 0x7C: INF, 0x7D: NAN,
                                          0x7F: NAN, 0xFC: -INF}),
    "float8e5m2fnuz": (20, 8, "float8_e5m2fnuz", {0: 0, 1: 2 ** -17, 4: 2 ** -15, 0x40: 1, 0x7F: 57344, 0x80: NAN}),
    "uint4": (21, 4, None, {code: code for code in range(16)}),
    "int4": (22, 4, None, {code: code - 16 * (code > 7) for code in range(16)}),
    "float4e2m1": (23, 4, "float4_e2m1fn", dict(enumerate([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4,
                                                           -6]))),
    "float8e8m0": (24, 8, "float8_e8m0fnu", {0: 2 ** -127, 1: 2 ** -126, 127: 1, 254: 2 ** 127, 255: NAN}),
    "uint2": (25, 2, None, {code: code for code in range(4)}),
    "int2": (26, 2, None, {0: 0, 1: 1, 2: -2, 3: -1}),
}


def port(name, number, shape):
    return onnx.helper.make_tensor_value_info(name, number, shape)


def save(path, nodes, inputs, outputs, constants=()):
    graph = onnx.helper.make_graph(nodes, "narrow", inputs, outputs, constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25)], ir_version=10), path)


def compute(context, path, inputs):
    """The outputs of the model, compiled; those of the reference evaluator are the same."""
    model = onnx.load(path, load_external_data=False)
    graph = onnx_import.import_model(context, path, {})
    try:
        given = {name: binding.typed(x) for name, x in inputs.items()}
        results = [onnx_import.run(context, graph, model, given, compiled) for compiled in (True, False)]
        for name, array in results[0].items():
            assert np.array_equal(array.array, results[1][name].array, equal_nan=array.array.dtype.kind == "f"), name
        return results[0]
    finally:
        context.c.vf_graph_destroy(graph)


def packed(codes, bits):
    """Bytes of which the low bits are the first element's."""
    each = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % each, np.int64)]).reshape(-1, each)
    return (codes << (bits * np.arange(each))).sum(1).astype(np.uint8).tobytes()


def constant(kind, codes, how, folder):
    number, bits = TYPES[kind][:2]
    proto = onnx.TensorProto(name="c", data_type=number, dims=[len(codes)])
    content = packed(codes, bits)
    if how == "raw":
        proto.raw_data = content
    elif how == "typed":
        proto.int32_data.extend(content)
    else:
        with open(os.path.join(folder, "weights"), "wb") as file:
            file.write(b"12345" + content)
        proto.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights"), ("offset", "5"), ("length", str(len(content)))):
            proto.external_data.add(key=key, value=value)
    return proto


def codes_of(kind):
    """All codes, and one less, so that bytes are not filled."""
    count = 1 << TYPES[kind][1]
    return np.concatenate([np.arange(count), np.arange(count - 1)])


def decoded(context, kind, how, folder):
    path, codes = os.path.join(folder, "model.onnx"), codes_of(kind)
    nodes = [onnx.helper.make_node("Reshape", ["c", "all"], ["r"]), onnx.helper.make_node("Cast", ["r"], ["y"], to=1)]
    shape = onnx.helper.make_tensor("all", 7, [2], [1, -1])
    save(path, nodes, [], [port("y", 1, [1, len(codes)])], [constant(kind, codes, how, folder), shape])
    return compute(context, path, {})["y"].array[0]


def check_codes(context, kind, folder):
    _, bits, peer, anchors = TYPES[kind]
    values = decoded(context, kind, "raw", folder)
    table = values[:1 << bits]
    for how in ("typed", "external"):
        assert np.array_equal(decoded(context, kind, how, folder), values, equal_nan=True), how
    assert np.array_equal(values[1 << bits:], table[:-1], equal_nan=True)
    for code, value in anchors.items():
        assert np.array_equal(table[code], np.float32(value), equal_nan=True), (code, table[code], value)
    if ml_dtypes and peer:
        known = np.arange(1 << bits, dtype=np.uint8).view(getattr(ml_dtypes, peer)).astype(np.float32)
        assert np.array_equal(table, known, equal_nan=True)
    return table


def inputs_for(table, rng, count, dtype):
    """Numbers, middles between neighbours and what is next to them, and random ones."""
    numbers = np.unique(table[np.isfinite(table)]).astype(np.float64)
    middles = (numbers[1:] + numbers[:-1]) / 2
    spread = rng.standard_normal(count) * np.exp2(rng.uniform(np.log2(np.abs(numbers).max()) - 22,
                                                              np.log2(np.abs(numbers).max()), count))
    x = np.concatenate([numbers, middles, spread]).astype(dtype)
    x = np.concatenate([x, np.nextafter(x, dtype(INF)), np.nextafter(x, dtype(-INF))])
    return x[(x >= numbers[0]) & (x <= numbers[-1])]


def check_rounding(context, kind, table, rng, count, dtype, folder):
    number = TYPES[kind][0]
    path, x = os.path.join(folder, "model.onnx"), inputs_for(table, rng, count, dtype)
    nodes = [onnx.helper.make_node("Cast", ["x"], ["n"], to=number), onnx.helper.make_node("Cast", ["n"], ["y"], to=1)]
    shape = [len(x)]
    save(path, nodes, [port("x", {np.float32: 1, np.float64: 11}[dtype], shape)],
         [port("y", 1, shape), port("n", number, shape)])
    found = compute(context, path, {"x": x})
    code = found["n"].array.astype(np.int64)
    order = np.argsort(table, kind="stable")
    order = order[np.isfinite(table[order])]
    numbers = table[order].astype(np.float64)
    wide = x.astype(np.float64)
    above = np.clip(np.searchsorted(numbers, wide, side="left"), 1, len(numbers) - 1)
    low, high = numbers[above - 1], numbers[above]
    down, up = wide - low, high - wide
    odd_low = order[above - 1] % 2 == 1
    want = np.where((down < up) | ((down == up) & ~odd_low), low, high)
    wrong = (found["y"].array != want) | (table[code] != found["y"].array)
    assert not wrong.any(), (x[wrong][:4], found["y"].array[wrong][:4], want[wrong][:4])


def check_kind(context, kind, options, folder):
    table = check_codes(context, kind, folder)
    for dtype in (np.float32, np.float64) if kind.startswith("float") and kind != "float8e8m0" else ():
        rng = np.random.default_rng(options.seed)
        check_rounding(context, kind, table, rng, options.count or 20000, dtype, folder)


def check_refused(context, folder):
    """Elements of two types are not put side by side."""
    path = os.path.join(folder, "model.onnx")
    save(path, [onnx.helper.make_node("Concat", ["x", "z"], ["y"], axis=0)],
         [port("x", TYPES["int4"][0], [2]), port("z", TYPES["uint4"][0], [2])], [port("y", TYPES["int4"][0], [4])])
    try:
        compute(context, path, {})
    except binding.Refused as refusal:
        assert "input 0 is of int4, and input 1 of uint4" in str(refusal), refusal
        return
    raise AssertionError("Concat of int4 and uint4 is imported")


def main():
    options = arguments(others=True, count=300, seed=1)
    context = onnx_import.importing_context(options.build)
    with tempfile.TemporaryDirectory() as folder:
        cases = [(kind, functools.partial(check_kind, context, kind, options, folder)) for kind in TYPES]
        cases.append(("two types", functools.partial(check_refused, context, folder)))
        return onnx_import.run_cases("onnx_narrow", cases)


if __name__ == "__main__":
    sys.exit(main())
