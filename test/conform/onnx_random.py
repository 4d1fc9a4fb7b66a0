#!/usr/bin/env python3
"""Operators of ONNX that draw random numbers: their distributions, and that a seed says which numbers they are.

  onnx_random.py --build DIR [--count N]

N: thousands of numbers for each distribution. A statistic lies within six standard deviations, of the numbers that
seeds draw, which are always the same. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import functools
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

import binding
import onnx_import
from arguments import arguments

FLOAT, INT64, DOUBLE = 1, 7, 11


def run(context, folder, nodes, inputs, outputs, constants=()):
    """The outputs of these nodes; constants: inputs that are initialisers."""
    path = os.path.join(folder, "model.onnx")
    types = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(np.bool_): 9, np.dtype(np.float64): DOUBLE}
    ports = [onnx.helper.make_tensor_value_info(name, types[x.dtype], x.shape) for name, x in inputs.items()
             if name not in constants]
    results = [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    fixed = [onnx.numpy_helper.from_array(inputs[name], name) for name in constants]
    graph = onnx.helper.make_graph([onnx.helper.make_node(*n[:3], **n[3]) for n in nodes], "random", ports, results, fixed)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)], ir_version=8)
    onnx.save(model, path)
    imported = onnx_import.import_model(context, path, {})
    try:
        given = {name: binding.Typed(x) for name, x in inputs.items() if name not in constants}
        return {name: x.array for name, x in onnx_import.run(context, imported, model, given, True).items()}
    finally:
        context.c.vf_graph_destroy(imported)


def near(value, expected, deviation):
    assert abs(value - expected) <= 6 * deviation, (value, expected, deviation)


def uniform(context, folder, count):
    nodes = [("RandomUniform", [], [name], {"shape": [count], "low": -1.0, "high": 3.0, **seed})
             for name, seed in (("a", {"seed": 1.0}), ("b", {"seed": 1.0}), ("c", {"seed": 2.0}), ("d", {}), ("e", {}))]
    found = run(context, folder, nodes, {}, dict.fromkeys("abcde", FLOAT))
    assert np.array_equal(found["a"], found["b"])
    names = "acde"
    for name in names:
        x = found[name]
        assert x.dtype == np.float32 and x.shape == (count,) and x.min() >= -1 and x.max() < 3
        near(x.mean(), 1, 4 / math.sqrt(12 * count))
        near((x < 0).mean(), 0.25, math.sqrt(0.1875 / count))
    for i, name in enumerate(names):
        for other in names[i + 1:]:
            near(np.corrcoef(found[name], found[other])[0, 1], 0, 1 / math.sqrt(count))


def normal(context, folder, count):
    nodes = [("RandomNormalLike", ["x"], ["y"], {"mean": 2.0, "scale": 3.0, "seed": 5.0}),
             ("RandomNormal", [], ["z"], {"shape": [count], "dtype": DOUBLE})]
    found = run(context, folder, nodes, {"x": np.zeros((2, count // 2), np.float32)}, {"y": FLOAT, "z": DOUBLE})
    for x, mean, scale in ((found["y"].ravel(), 2, 3), (found["z"], 0, 1)):
        near(x.mean(), mean, scale / math.sqrt(count))
        near(x.var(), scale ** 2, scale ** 2 * math.sqrt(2 / count))
        near((np.abs(x - mean) < scale).mean(), math.erf(math.sqrt(0.5)), 0.5 / math.sqrt(count))
    assert found["y"].shape == (2, count // 2)


def bernoulli(context, folder, count):
    p = np.tile(np.array([0, 0.2, 0.9, 1], np.float32), (count, 1))
    found = run(context, folder, [("Bernoulli", ["p"], ["y"], {"dtype": INT64})], {"p": p}, {"y": INT64})["y"]
    assert set(np.unique(found)) == {0, 1} and found[:, 0].max() == 0 and found[:, 3].min() == 1
    near(found[:, 1].mean(), 0.2, 0.4 / math.sqrt(count))
    near(found[:, 2].mean(), 0.9, 0.3 / math.sqrt(count))


def multinomial(context, folder, count):
    chance = np.array([[0.5, 0.25, 0.125, 0.125], [0, 0, 1, 0]])
    x = np.log(np.maximum(chance, 1e-30)).astype(np.float32) + np.float32(3)
    found = run(context, folder, [("Multinomial", ["x"], ["y"], {"sample_size": count, "dtype": INT64})], {"x": x},
                {"y": INT64})["y"]
    assert found.shape == (2, count) and (found[1] == 2).all()
    for k, p in enumerate(chance[0]):
        near((found[0] == k).mean(), p, math.sqrt(p * (1 - p) / count))


def dropout(context, folder, count):
    inputs = {"x": np.arange(1, count + 1, dtype=np.float32), "ratio": np.array(0.2, np.float32), "trains": np.array(True)}
    found = run(context, folder, [("Dropout", ["x", "ratio", "trains"], ["y", "mask"], {"seed": 3})], inputs,
                {"y": FLOAT, "mask": 9}, constants=("trains",))
    kept = found["mask"]
    near(kept.mean(), 0.8, 0.4 / math.sqrt(count))
    assert np.allclose(found["y"], np.where(kept, inputs["x"] / np.float32(0.8), 0), 1e-6)


def main():
    options = arguments(others=True, count=10)
    context = onnx_import.importing_context(options.build)
    count = 1000 * (options.count or 1000)
    with tempfile.TemporaryDirectory() as folder:
        cases = [(case.__name__, functools.partial(case, context, folder, count))
                 for case in (uniform, normal, bernoulli, multinomial, dropout)]
        return onnx_import.run_cases("onnx_random", cases)


if __name__ == "__main__":
    sys.exit(main())
