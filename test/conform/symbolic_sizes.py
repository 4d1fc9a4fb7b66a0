#!/usr/bin/env python3
"""Graphs whose sizes are variables of large bounds against NumPy, run at small sizes.

sizes/ has a row for each graph. Every case draws bounds up to 2^40, divisors, and sizes among the least ones and
round ones; the graph is compiled once for its bounds and run at several sizes, and evaluated by the reference
evaluator. A refusal is a failure.

  symbolic_sizes.py --build DIR [--seed N] [--count N] [--only NAME] [--threads N] [--show]

--count is the number of cases of each row; 0: of a tenth of the rows, one. VIEWFOLD_DEVICE says where it is run. Exit
status: 0, 1 after a failure, 77 when it cannot run.
"""
import argparse
import ctypes
import inspect
import re
import sys
import zlib

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import binding
from sizes import ROWS

MOST_ELEMENTS = 1 << 16  # of an operand
RUNS = 4  # sizes at which one program runs
POWERS = (20, 21, 24, 30, 31, 32, 33, 36, 40)
SIZES = (0, 1, 2, 3, 7, 16, 31, 64, 65, 255, 1000, 4097)


def draw_bounds(random, row):
    """lo, hi, divisor of each variable."""
    bounds = {}
    for name in variables(row):
        power = int(random.choice(POWERS))
        if row.name.startswith(("sort", "argsort", "topk", "concat_sort")):
            power = min(power, 30)  # an axis of at most 2^32 elements, two of them put together
        divisor = row.divisor * int(random.choice((1, 1, 1, 4, 7)))
        lo = max(row.least, int(random.choice((0, 1, 1, 6))))
        hi = (1 << power) + int(random.choice((0, 0, 1, -1, 17)))
        bounds[name] = (lo, hi, divisor)
    return bounds


def variables(row):
    found = re.findall(r"\b[nmk]\b", ",".join(re.findall(r"\[([^]]*)\]", row.inputs)) + " " + row.body)
    return sorted(set(found))


def declared(text, bounds):
    """The text with each variable declared where it first stands."""
    for name, (lo, hi, divisor) in bounds.items():
        suffix = f":{divisor}" if divisor > 1 else ""
        text = re.sub(rf"(?<![%\w]){name}(?=[\],*/+ -])", f"{name}={lo}..{hi}{suffix}", text, count=1)
    return text


def operands(row):
    return re.findall(r"(\w+):(\w+)\[([^]]*)\]", row.inputs)


def graph_text(row, bounds):
    params = ", ".join(f"%{name}: {dtype}[{shape}]" for name, dtype, shape in operands(row))
    lines = row.body.split("\n")
    if not lines[-1].startswith("return "):
        lines[-1:] = [f"%r0 = {lines[-1]}", "return %r0"]
    return declared(f"graph @g({params}) {{\n  " + "\n  ".join(lines) + "\n}\n", bounds)


def draw_sizes(random, row, bounds):
    """Values of the variables for which no operand, nor all the variables together, are too large."""
    while True:
        sizes = {}
        for name, (lo, hi, divisor) in bounds.items():
            value = int(random.choice(SIZES)) if random.random() < 0.8 else lo
            sizes[name] = max(-(-lo // divisor), value // divisor) * divisor
        if np.prod([max(v, 1) for v in sizes.values()]) <= MOST_ELEMENTS:
            return sizes


def draw_array(random, row, dtype, shape, first):
    numpy_type = binding.NUMPY[dtype]
    if "i:" in row.inputs and dtype in ("i64", "i32") and first is not None:
        below = row.below or first
        return random.integers(0, below, shape).astype(numpy_type)
    if dtype == "bool":
        return random.random(shape) < random.choice((0.02, 0.5, 0.98))
    low = 0 if dtype.startswith("u") else -4
    return random.integers(low, 5, shape).astype(numpy_type)


def draw_arrays(random, row, sizes):
    arrays, first = [], None
    for name, dtype, shape in operands(row):
        dims = [sizes[s] if s in sizes else int(s) for s in shape.split(",")]
        elements = int(np.prod(arrays[0].shape)) if row.name == "take" and arrays else first
        arrays.append(draw_array(random, row, dtype, dims, elements if name == "i" else None))
        if first is None:
            axis = int((re.findall(r"axis=(\d)", row.body) or ["0"])[0])
            first = dims[axis] if axis < len(dims) else None
    return arrays


def wanted(row, arrays, sizes):
    asks = "size" in inspect.signature(row.function).parameters if callable(row.function) and not isinstance(
        row.function, np.ufunc) else False
    results = row.function(*arrays, size=sizes) if asks else row.function(*arrays)
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def wrong(row, got, want):
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if row.close or got.dtype == np.float16:
        close = row.close or 2e-3
        if np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=close, atol=close, equal_nan=True):
            return None
    elif np.array_equal(got, want.astype(got.dtype)):
        return None
    apart = np.argwhere(~np.isclose(got.astype(np.float64), want.astype(np.float64), equal_nan=True))
    at = tuple(apart[0]) if len(apart) else ()
    return f"{len(apart)} of {got.size} elements differ, first at {at}: {got[at]}, expected {want[at]}"


class Context(binding.Context):
    def __init__(self, build, threads):
        super().__init__(build)
        self.c.vf_context_destroy(self.raw)
        options = binding._Options(size=ctypes.sizeof(binding._Options), threads=threads, flags=1)
        self.raw = self.must(self.c.vf_context_create, ctypes.byref(options))
        self.c.vf_variable_count.argtypes = [ctypes.c_void_p]
        self.c.vf_variable_name.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.c.vf_variable_name.restype = ctypes.c_char_p


def run_case(context, row, random, show):
    bounds = draw_bounds(random, row)
    text = graph_text(row, bounds)
    if show:
        print(text)
    try:
        graph = context.parse(text)
    except binding.Refused as why:
        return f"refused: {why}\n{text}"
    try:
        program = context.must(context.c.vf_compile, graph)
        order = [context.c.vf_variable_name(program, i).decode() for i in range(context.c.vf_variable_count(program))]
        for _ in range(RUNS):
            sizes = draw_sizes(random, row, bounds)
            arrays = draw_arrays(random, row, sizes)
            wants = wanted(row, arrays, sizes)
            values = binding.sizes([sizes[name] for name in order])
            for run, what in ((context.c.vf_program_run, program), (context.c.vf_evaluate, graph)):
                names = ["r0"] if "return" not in row.body else re.findall(r"%(\w+)", row.body.split("return")[1])
                dtypes = [binding.DTYPES[context.c.vf_value_dtype(context.c.vf_graph_find(graph, n.encode()))]
                          for n in names]
                outputs = [np.full(w.shape, 99, binding.NUMPY[d]) for w, d in zip(wants, dtypes)]
                context.must(run, what, binding.pointers([np.ascontiguousarray(a) for a in arrays]),
                             binding.pointers(outputs), values)
                for got, want in zip(outputs, wants):
                    reason = wrong(row, got, want)
                    if reason:
                        how = "compiled" if what is program else "evaluated"
                        return f"{how} at {sizes}: {reason}\n{text}"
        context.c.vf_program_destroy(program)
    except binding.Refused as why:
        return f"refused: {why}\n{text}"
    finally:
        context.c.vf_graph_destroy(graph)
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=1)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--only", default="")
    options.add_argument("--show", action="store_true")
    options = options.parse_args()
    np.seterr(all="ignore")
    context = Context(options.build, options.threads)
    passed = failed = 0
    for number, row in enumerate(ROWS):
        if options.only and not re.fullmatch(options.only, row.name):
            continue
        if options.count == 0 and (number + options.seed) % 10:
            continue
        reasons = []
        for case in range(max(options.count, 1)):
            random = np.random.default_rng([options.seed, case, zlib.crc32(row.name.encode())])
            reason = run_case(context, row, random, options.show)
            if reason:
                reasons.append(f"{row.name} (--seed {options.seed}, case {case}): {reason}")
        passed += not reasons
        failed += bool(reasons)
        for reason in reasons[:2]:
            print(reason, flush=True)
    print(f"seed {options.seed}, {options.count} cases of each row")
    print(f"symbolic_sizes: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
