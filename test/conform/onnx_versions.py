#!/usr/bin/env python3
"""Versions of ONNX operators, through the importer: what changed between operator sets 7 and the newest.

Each row of onnx_version_rows.py is a model of one node, of one operator set, and what NumPy makes of its inputs.
Where onnxruntime is installed its results must agree, too.

  onnx_versions.py --build DIR [--only TEXT] [--schemas]

--schemas (with a package onnx that knows the history of its operators) prints the versions from 8 on whose
inputs, outputs, attributes or defaults differ from the version before and which no row has, and fails if there
are any. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
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
    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

import binding
import onnx_import
import onnx_version_rows
from arguments import arguments

RTOL = 1e-5
TYPES = {np.dtype(t): number for t, number in ((np.float32, 1), (np.uint8, 2), (np.int8, 3), (np.int32, 6),
                                               (np.int64, 7), (np.bool_, 9), (np.float16, 10), (np.float64, 11))}


def model_of(row, opset):
    """The model; inputs that a row holds to be constants are initialisers."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(row.inputs)]
    wanted = [f"y{i}" for i, _ in enumerate(row.outputs)]
    node = onnx.helper.make_node(row.operator, names, [w if y is not None else "" for w, y in zip(wanted, row.outputs)],
                                 **row.attributes)
    ports = [onnx.helper.make_tensor_value_info(name, TYPES[x.dtype], x.shape)
             for i, (name, x) in enumerate(zip(names, row.inputs)) if x is not None and i not in row.constants]
    results = [onnx.helper.make_tensor_value_info(w, TYPES[y.dtype], y.shape)
               for w, y in zip(wanted, row.outputs) if y is not None]
    fixed = [onnx.numpy_helper.from_array(row.inputs[i], names[i]) for i in row.constants]
    graph = onnx.helper.make_graph([node], "version", ports, results, fixed)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def compare(name, got, want, near):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{name}: {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if np.allclose(got.astype(np.float64), want.astype(np.float64), RTOL, near, equal_nan=True):
        return None
    return f"{name}: {got.ravel()[:8]}, expected {want.ravel()[:8]}"


def peer_results(path, wanted, fed):
    """The results of ONNX Runtime by name; none where it is not installed, or lacks the version."""
    if not onnxruntime:
        return []
    try:
        return list(zip(wanted, onnxruntime.InferenceSession(path).run(None, fed)))
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return []


def run_row(context, row, opset, path):
    """None when all agree, else the error."""
    model = model_of(row, opset)
    onnx.save(model, path)
    fed = {f"x{i}": x for i, x in enumerate(row.inputs) if x is not None and i not in row.constants}
    graph = onnx_import.import_model(context, path, {})
    try:
        given = {name: binding.Typed(x) for name, x in fed.items()}
        got = onnx_import.run(context, graph, model, given, True)
    finally:
        context.c.vf_graph_destroy(graph)
    wanted = {f"y{i}": np.asarray(y) for i, y in enumerate(row.outputs) if y is not None}
    for name, want in wanted.items():
        wrong = compare(name, got[name].array, want, row.near)
        if wrong:
            return wrong
    for name, result in peer_results(path, wanted, fed) if row.peer else ():
        wrong = compare(f"{name} of ONNX Runtime", result, wanted[name], row.near)
        if wrong:
            return wrong
    return None


def signature(schema):
    attributes = {name: (str(a.type), a.required, a.default_value.SerializeToString())
                  for name, a in schema.attributes.items()}
    return (attributes, [str(i.option) for i in schema.inputs], [str(o.option) for o in schema.outputs],
            [o.type_str for o in schema.outputs])


def missing_versions():
    """Operators and versions from 8 on whose schema changed, that no row has and that the importer has."""
    history = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            history.setdefault(schema.name, []).append(schema)
    tried = {}
    for row in onnx_version_rows.rows():
        tried.setdefault(row.operator, set()).update(row.opsets)
    for name, schemas in sorted(history.items()):
        schemas.sort(key=lambda s: s.since_version)
        ends = [s.since_version for s in schemas[1:]] + [1000]
        for before, schema, end in zip(schemas, schemas[1:], ends[1:]):
            changed = signature(before) != signature(schema) and schema.since_version > 7
            for version, stop in ((before, schema.since_version), (schema, end)) if changed else ():
                if name not in onnx_version_rows.REFUSED and not any(
                        version.since_version <= opset < stop for opset in tried.get(name, ())):
                    yield f"{name} of operator set {version.since_version}"


def main():
    options = arguments(others=True, only="", schemas=False)
    if options.schemas:
        missing = sorted(set(missing_versions()))
        print("\n".join(missing))
        print(f"onnx_versions: {len(missing)} versions with another schema that no row has")
        return 1 if missing else 0
    context = onnx_import.importing_context(options.build)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in onnx_version_rows.rows():
            for opset in row.opsets if options.only in row.operator else ():
                try:
                    wrong = run_row(context, row, opset, os.path.join(folder, "model.onnx"))
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}"
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f"{row.operator} of operator set {opset} {row.attributes}: {wrong}")
    print(f"onnx_versions: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
