#!/usr/bin/env python3
"""The node tests of the ONNX backend suite, through the library's own importer (vf_import_onnx).

Each test is a folder: model.onnx, and folders of inputs and expected outputs. The model is imported, compiled
and run, evaluated by the reference evaluator, printed, read back, and compiled and run again; all must be
within the suite's own tolerance. An input whose elements the importer asks for, such as a shape, is given as a
fixed value.

  onnx_import.py --build DIR [--data DIR]... [--only TEXT] [--count N] [--list] [--verbose] [--expect | --update]

--count: every so many tests that N are left, 0 for all. --list says which tests are refused, and why. --expect:
what is refused must be what onnx_refusals.list says; --update writes that file. Exit status: 0, 1 after a
failure, 77 when it cannot run.
"""
import argparse
import collections
import ctypes
import os
import re
import sys

try:
    import numpy as np
    import onnx
except ImportError as missing:
    print(f"skip: {missing} (packages python3-numpy, python3-onnx)")
    sys.exit(77)

from onnx import numpy_helper

import binding
import onnx_refusals

DATA = "/usr/share/libonnx-testdata/data/node"
RTOL, ATOL = 1e-3, 1e-7  # those of ONNX's own runner
# Relative tolerances of other dtypes, in DATA: one unit in the last place, since old suites truncate where the
# standard rounds; in other suites, which round after each step where the library rounds once, at the end: two.
ROUNDED = {True: {"bf16": 2.0 ** -7}, False: {"f16": 2.0 ** -9, "bf16": 2.0 ** -6}}
# Tests whose outputs do not match their models.
WRONG = {"test_adam_multiple": "computed with an epsilon that the model does not have"}
# Expected values with errors of single precision where the result is 0.
NEAR_ZERO = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}
# Element types of ONNX by number, as viewfold's dtypes; then those that viewfold has no dtype for.
DTYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64",
          12: "u32", 13: "u64", 16: "bf16"}
TYPE_NAMES = {number: name for name, number in onnx.TensorProto.DataType.items()}
NARROW = {number for number in TYPE_NAMES if number > 16}
# Expected numbers that another generator drew: their shapes and dtypes are compared.
DRAWN = re.compile("test_bernoulli|test_training_dropout(?!_zero)")
FEWEST = 905             # tests that must pass when all are run: a loader that finds nothing must not succeed
ASKED = re.compile(r"(?:is|from) the model's input '([^']*)'")


class Uncovered(Exception):
    """The test needs something that viewfold does not have, which the text names."""


class Value(ctypes.Structure):
    """A vf_import_value."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("elements", ctypes.c_void_p)]


class Size(ctypes.Structure):
    """A vf_import_size."""
    _fields_ = [("name", ctypes.c_char_p), ("low", ctypes.c_int64), ("high", ctypes.c_int64)]


class Options(ctypes.Structure):
    """A vf_import_options."""
    _fields_ = [("size", ctypes.c_size_t), ("size_count", ctypes.c_int), ("value_count", ctypes.c_int),
                ("shape_count", ctypes.c_int), ("sizes", ctypes.POINTER(Size)), ("values", ctypes.POINTER(Value)),
                ("shapes", ctypes.c_void_p), ("progress", ctypes.c_void_p), ("user", ctypes.c_void_p)]


FUNCTIONS = {
    "vf_import_onnx": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]),
    "vf_port_count": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
    "vf_port_name": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
    "vf_port_dtype": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
    "vf_port_rank": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
    "vf_port_shape": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                     ctypes.c_void_p, ctypes.c_void_p]),
    "vf_variable_count": (ctypes.c_int, [ctypes.c_void_p]),
    "vf_variable_name": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_int]),
}
INPUT, OUTPUT = 0, 1


def importing_context(build):
    context = binding.Context(build)
    for name, (result, kinds) in FUNCTIONS.items():
        function = getattr(context.c, name)
        function.restype, function.argtypes = result, kinds
    return context


def run_cases(name, cases):
    """Runs cases, pairs of a name and a function; prints what failed and the counts. The exit status."""
    failed = 0
    for case, function in cases:
        try:
            function()
        except (AssertionError, binding.Refused) as error:
            failed += 1
            print(f"{case}: {type(error).__name__} {error}")
    print(f"{name}: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


class Narrow(binding.Typed):
    """Elements of a type that viewfold stores in another dtype: floats as the bits of their bytes, integers as i8
    or u8."""

    def __init__(self, array, kind):
        super().__init__(array)
        self.kind = kind

    def wide(self):
        numbers = self.array if self.array.dtype == self.kind else self.array.view(self.kind)
        return numbers.astype(np.float32)


def narrow(proto):
    elements = numpy_helper.to_array(proto)
    if TYPE_NAMES[proto.data_type].startswith("FLOAT"):
        return Narrow(elements.view(np.uint8), elements.dtype)
    stored = np.uint8 if TYPE_NAMES[proto.data_type].startswith("U") else np.int8
    return Narrow(elements.astype(stored), np.dtype(stored))


def tensor(proto):
    """A TensorProto as a typed array."""
    if proto.data_type not in DTYPES:
        raise Uncovered("dtype " + TYPE_NAMES[proto.data_type].lower())
    if DTYPES[proto.data_type] != "bf16":
        return binding.Typed(np.asarray(numpy_helper.to_array(proto)))
    bits = np.frombuffer(proto.raw_data, np.uint16) if proto.raw_data else np.array(proto.int32_data, np.uint16)
    return binding.Typed(bits.reshape(tuple(proto.dims)), "bf16")


def read(path, proto):
    with open(path, "rb") as file:
        proto.ParseFromString(file.read())
    return proto


def array_of(proto, type_proto):
    if proto.data_type in NARROW:
        return narrow(proto)
    array = tensor(proto)
    if type_proto.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
        array = binding.Typed(array.array, "bf16")  # old suites store bf16 as u16
    return array


def load(path, port, lengths):
    """The arrays in a file by name. A sequence is one for each of its tensors, NAME_0 and so on; lengths: how many
    there are of those whose number is not said by the model."""
    kind, proto = port.type, None
    if kind.WhichOneof("value") == "optional_type":
        kind, proto = kind.optional_type.elem_type, read(path, onnx.OptionalProto())
        if not (proto.HasField("tensor_value") or proto.HasField("sequence_value")):
            lengths[port.name] = 0
            return {}
    if kind.WhichOneof("value") == "sequence_type":
        sequence = proto.sequence_value if proto else read(path, onnx.SequenceProto())
        lengths[port.name] = len(sequence.tensor_values)
        return {f"{port.name}_{k}": array_of(t, kind.sequence_type.elem_type)
                for k, t in enumerate(sequence.tensor_values)}
    return {port.name: array_of(proto.tensor_value if proto else read(path, onnx.TensorProto()), kind)}


def load_all(folder, kind, ports):
    found, lengths = {}, {}
    for number, port in enumerate(ports):
        path = os.path.join(folder, f"{kind}_{number}.pb")
        if os.path.exists(path):
            found.update(load(path, port, lengths))
    return found, lengths


def import_model(context, path, values, lengths=None):
    """The graph; inputs of `values` are fixed, and sizes of `lengths`. Raises Refused."""
    arrays = [(name.encode(), array, binding.sizes(array.shape)) for name, array in values.items()]
    listed = (Value * max(len(arrays), 1))(*[
        Value(name, binding.DTYPES.index(a.dtype), len(a.shape), shape, a.array.ctypes.data)
        for name, a, shape in arrays])
    sizes = [Size(name.encode(), length, length) for name, length in (lengths or {}).items()]
    options = Options(ctypes.sizeof(Options), len(sizes), len(arrays), 0, (Size * max(len(sizes), 1))(*sizes), listed,
                      None, None, None)
    return context.must(context.c.vf_import_onnx, context.raw, path.encode(), ctypes.byref(options))


def import_asking(context, path, inputs, lengths=None):
    """The same, fixing inputs that the importer asks for; returns the graph and the names of these inputs."""
    fixed = {}
    while True:
        try:
            return import_model(context, path, fixed, lengths), fixed
        except binding.Refused as why:
            asked = ASKED.search(str(why))
            if not asked or asked[1] in fixed or asked[1] not in inputs:
                raise
            fixed[asked[1]] = inputs[asked[1]]


def sizes_of(context, program, model, inputs):
    """Values of the program's variables, from the inputs' shapes."""
    known = {re.sub(r"\W", "_", f"{name}_{axis}"): size for name, array in inputs.items()
             for axis, size in enumerate(array.shape)}
    for port in model.graph.input:
        for axis, dim in enumerate(port.type.sequence_type.elem_type.tensor_type.shape.dim):
            known.update({f"{dim.dim_param}_{k}": inputs[f"{port.name}_{k}"].shape[axis] for k in range(len(inputs))
                          if f"{port.name}_{k}" in inputs})
        for axis, dim in enumerate(port.type.tensor_type.shape.dim):
            name = dim.dim_param or f"{port.name}_{axis}"
            if port.name in inputs and not dim.HasField("dim_value"):
                known[re.sub(r"\W", "_", name)] = inputs[port.name].shape[axis]
    count = context.c.vf_variable_count(program)
    names = [context.c.vf_variable_name(program, k).decode() for k in range(count)]
    return (ctypes.c_int64 * max(count, 1))(*[known[n if n in known else n[4:]] for n in names])


def run(context, graph, model, inputs, compiled):
    """The outputs by name."""
    c = context.c
    program = context.must(c.vf_compile, graph)
    try:
        variables = sizes_of(context, program, model, inputs)
        given = [inputs[c.vf_port_name(program, INPUT, k).decode()].array
                 for k in range(c.vf_port_count(program, INPUT))]
        outputs = {}
        for k in range(c.vf_port_count(program, OUTPUT)):
            shape = (ctypes.c_int64 * 16)()
            context.must(c.vf_port_shape, program, OUTPUT, k, variables, shape)
            dtype = binding.DTYPES[c.vf_port_dtype(program, OUTPUT, k)]
            array = np.empty(tuple(shape[:c.vf_port_rank(program, OUTPUT, k)]), binding.NUMPY[dtype])
            outputs[c.vf_port_name(program, OUTPUT, k).decode()] = binding.Typed(array, dtype)
        what = (c.vf_program_run, program) if compiled else (c.vf_evaluate, graph)
        context.must(*what, binding.pointers(given), binding.pointers([a.array for a in outputs.values()]),
                     variables)
        return outputs
    finally:
        c.vf_program_destroy(program)


def check(port):
    kind = port.type
    while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
        kind = getattr(kind, kind.WhichOneof("value")).elem_type
    number = kind.tensor_type.elem_type
    if number not in DTYPES and number not in NARROW:
        raise Uncovered("dtype " + TYPE_NAMES[number].lower())


def run_test(context, folder):
    """None when it passes, else the error. Raises Uncovered and Refused."""
    if os.path.basename(folder) in WRONG:
        raise Uncovered("wrong in the suite: " + WRONG[os.path.basename(folder)])
    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path, load_external_data=False)
    for port in list(model.graph.input) + list(model.graph.output):
        check(port)
    for data in sorted(d for d in os.listdir(folder) if d.startswith("test_data_set_")):
        inputs, lengths = load_all(os.path.join(folder, data), "input", model.graph.input)
        wanted, _ = load_all(os.path.join(folder, data), "output", model.graph.output)
        graph, _ = import_asking(context, path, inputs, lengths)
        read_back = None
        try:
            read_back = context.parse(context.text(graph))
            for how, what in (("compiled", graph), ("evaluated", graph), ("read back", read_back)):
                got = run(context, what, model, inputs, how != "evaluated")
                for name, want in wanted.items():
                    if name not in got:
                        return f"{how}: no output {name}"
                    if DRAWN.match(os.path.basename(folder)) and got[name].shape == want.shape:
                        want = got[name] if got[name].dtype == want.dtype else want
                    wrong = compare(f"{how} {name}", got[name], want,
                                    ROUNDED[os.path.dirname(folder) == DATA].get(want.dtype, RTOL),
                                    NEAR_ZERO.get(os.path.basename(folder), ATOL))
                    if wrong:
                        return wrong
        finally:
            for made in filter(None, (graph, read_back)):
                context.c.vf_graph_destroy(made)
    return None


def compare(name, got, want, rtol, atol):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{name}: {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if isinstance(want, Narrow):
        got = Narrow(got.array, want.kind)
    a, b = got.wide(), want.wide()
    if a.dtype.kind != "f":
        return None if np.array_equal(a, b) else f"{name}: {a.ravel()[:8]}, expected {b.ravel()[:8]}"
    close = np.isclose(a.astype(np.float64), b.astype(np.float64), rtol, atol, equal_nan=True)
    if close.all():
        return None
    at = tuple(np.argwhere(~close)[0])
    return f"{name}{list(map(int, at))}: {a[at]}, expected {b[at]} ({np.count_nonzero(~close)} of {a.size})"


def reason(folder, why):
    """A refusal as its operator and what is wrong, without the names of its node: what is counted."""
    node = re.search(r"node (?:of )?'.*?' \((\w+), operator set", str(why))
    if node:
        return node[1], re.sub(r"^.*?\): ", "", str(why), count=1).split("; takes")[0][:110]
    nodes = onnx.load(os.path.join(folder, "model.onnx"), load_external_data=False).graph.node
    return nodes[0].op_type, re.sub(r"^.*?model\.onnx: ", "", str(why)).split("; takes")[0][:110]


def read_options():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--data", action="append")
    options.add_argument("--only", default="")
    options.add_argument("--count", type=int, default=0)
    for flag in ("--list", "--verbose", "--expect", "--update"):
        options.add_argument(flag, action="store_true")
    return options.parse_known_args()[0]


def run_folders(context, folders, verbose):
    """Names that passed, names that failed, and (operator, reason) of those that were refused."""
    passed, failed, refused = [], [], {}
    for folder in folders:
        name = os.path.basename(folder)
        if verbose:
            print(name, flush=True)
        try:
            wrong = run_test(context, folder)
        except (Uncovered, binding.Refused) as why:
            refused[name] = reason(folder, why)
            continue
        except Exception as error:  # a mistake in this script: this test fails, the others run
            wrong = f"{type(error).__name__}: {error}"
        (failed if wrong else passed).append(name)
        if wrong:
            print(f"{name}: {wrong}")
    return passed, failed, refused


def list_refused(refused):
    groups = collections.defaultdict(list)
    for name, group in refused.items():
        groups[group].append(name)
    for (operator, why), names in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"refused, {operator}: {why}: {len(names)}: {' '.join(names)}")


def main():
    options = read_options()
    folders = [os.path.join(data, name) for data in options.data or [DATA] if os.path.isdir(data)
               for name in sorted(os.listdir(data))
               if options.only in name and os.path.exists(os.path.join(data, name, "model.onnx"))]
    if not folders:
        print(f"skip: no node tests in {options.data or DATA} (package libonnx-testdata)")
        return 77
    step = max(1, len(folders) // options.count) if options.count else 1
    context = importing_context(options.build)
    passed, failed, refused = run_folders(context, folders[::step], options.verbose)
    if options.list:
        list_refused(refused)
    if options.update:
        onnx_refusals.save(refused)
    other = onnx_refusals.differences(refused, [*passed, *refused]) if options.expect else []
    for line in other:
        print(line)
    too_few = not options.only and not options.count and len(passed) < FEWEST
    if too_few:
        print(f"fewer than {FEWEST} passed")
    print(f"onnx_import: {len(passed)} passed, {len(failed) + len(other)} failed, {len(refused)} refused")
    return 1 if failed or other or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
