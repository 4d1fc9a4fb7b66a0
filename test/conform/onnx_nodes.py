#!/usr/bin/env python3
"""The node tests of the ONNX backend suite, on viewfold.

Each test is a small model, inputs and the expected outputs. nodes/ translates its operators; the graph is
printed, read back, and run compiled and by the reference evaluator; both must be within the suite's own
tolerance. A test whose operators are all in nodes.TABLE must pass, or its translation names what viewfold
lacks (Uncovered).

  onnx_nodes.py --build DIR [--data DIR] [--only TEXT] [--list] [--verbose]

--list says which tests are not covered, and why. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import collections
import os
import sys

try:
    import numpy as np
    import onnx
except ImportError as missing:
    print(f"skip: {missing} (packages python3-numpy, python3-onnx)")
    sys.exit(77)

import binding
import nodes
from arguments import arguments
from nodes.node import DTYPES, Node, Uncovered, tensor

DATA = "/usr/share/libonnx-testdata/data/node"
RTOL, ATOL = 1e-3, 1e-7  # those of ONNX's own runner
BF16_RTOL = 2.0 ** -7     # one unit in the last place: old suites truncate where the standard rounds
# Tests whose outputs do not match their models.
WRONG = {"test_adam_multiple": "computed with an epsilon that the model does not have"}
FEWEST = 800             # tests that must pass when all are run: a loader that finds nothing must not succeed


def load_tensors(folder, kind, ports):
    """The tensors in input_0.pb, ... or output_0.pb, ..., in the model's dtypes: old suites store bf16 as
    u16."""
    names = [f for f in os.listdir(folder) if f.startswith(kind + "_") and f.endswith(".pb")]
    found = []
    for number in range(len(names)):
        with open(os.path.join(folder, f"{kind}_{number}.pb"), "rb") as file:
            proto = onnx.TensorProto()
            proto.ParseFromString(file.read())
        array = tensor(proto)
        if ports[number].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            array = binding.Typed(array.array, "bf16")
        found.append(array)
    return found


def check_type(port):
    kind = port.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Uncovered("sequences and optional values")
    if port.type.tensor_type.elem_type not in DTYPES:
        name = onnx.TensorProto.DataType.Name(port.type.tensor_type.elem_type).lower()
        raise Uncovered("dtype " + name)


def covered(model):
    """Raises Uncovered with the first thing that viewfold lacks."""
    for port in list(model.graph.input) + list(model.graph.output):
        check_type(port)
    for node in model.graph.node:
        if node.op_type not in nodes.TABLE:
            raise Uncovered(nodes.MISSING.get(node.op_type, "operator " + node.op_type))


def translate(context, model, inputs):
    graph = binding.Graph(context)
    opsets = {o.domain: o.version for o in model.opset_import}
    values = {i.name: graph.input(a) for i, a in zip(model.graph.input, inputs)}
    for proto in model.graph.initializer:
        if proto.name not in values:
            values[proto.name] = graph.input(tensor(proto))
    for proto in model.graph.node:
        operands = [values[name] if name else None for name in proto.input]
        node = Node(graph, proto, operands, opsets.get(proto.domain, 1))
        results = nodes.TABLE[proto.op_type](node)
        results = results if isinstance(results, list) else [results]
        for name, value in zip(proto.output, results):
            values[name] = value
    for port in model.graph.output:
        graph.output(values[port.name])
    return graph


def compare(name, got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{name}: {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    a, b = got.wide(), want.wide()
    if a.dtype.kind != "f":
        return None if np.array_equal(a, b) else f"{name}: {a.ravel()[:8]}, expected {b.ravel()[:8]}"
    close = np.isclose(a.astype(np.float64), b.astype(np.float64), BF16_RTOL if got.dtype == "bf16" else RTOL,
                       ATOL, equal_nan=True)
    if close.all():
        return None
    at = tuple(np.argwhere(~close)[0])
    return f"{name}{list(map(int, at))}: {a[at]}, expected {b[at]} ({np.count_nonzero(~close)} of {a.size})"


def run_test(context, folder):
    """None when it passes, else the error. Raises Uncovered."""
    if os.path.basename(folder) in WRONG:
        raise Uncovered("wrong in the suite: " + WRONG[os.path.basename(folder)])
    model = onnx.load(os.path.join(folder, "model.onnx"))
    covered(model)
    for data in sorted(d for d in os.listdir(folder) if d.startswith("test_data_set_")):
        inputs = load_tensors(os.path.join(folder, data), "input", model.graph.input)
        wanted = load_tensors(os.path.join(folder, data), "output", model.graph.output)
        graph = translate(context, model, inputs)
        for compiled in (True, False):
            how, results = "compiled" if compiled else "evaluated", graph.run(compiled)
            if len(results) != len(wanted):
                return f"{len(results)} outputs, expected {len(wanted)}"
            for number, (got, want) in enumerate(zip(results, wanted)):
                wrong = compare(f"{how} output {number}", got, want)
                if wrong:
                    return wrong + "\n" + graph.text()
    return None


def main():
    options = arguments(others=True, data=DATA, only="", list=False, verbose=False)
    if not os.path.isdir(options.data):
        print(f"skip: no node tests in {options.data} (package libonnx-testdata)")
        return 77
    context = binding.Context(options.build)
    passed, failed, reasons = [], [], collections.defaultdict(list)
    for name in sorted(n for n in os.listdir(options.data) if options.only in n):
        if options.verbose:
            print(name, flush=True)
        try:
            wrong = run_test(context, os.path.join(options.data, name))
        except Uncovered as why:
            reasons[str(why)].append(name)
            continue
        except binding.Refused as why:
            wrong = f"refused: {why}"
        except Exception as error:  # a mistake in the translation: this test fails, the others run
            wrong = f"{type(error).__name__}: {error}"
        (failed if wrong else passed).append(name)
        if wrong:
            print(f"{name}: {wrong}")
    if options.list:
        for why, names in sorted(reasons.items()):
            print(f"not covered, {why}: {len(names)}: {' '.join(names)}")
    left_out = sum(map(len, reasons.values()))
    print(f"onnx_nodes: {len(passed)} passed, {len(failed)} failed, {left_out} not covered")
    too_few = not options.only and len(passed) < FEWEST
    if too_few:
        print(f"fewer than {FEWEST} passed")
    return 1 if failed or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
