#!/usr/bin/env python3
"""Graphs with symbolic sizes of large bounds against NumPy, at small sizes.

sizes/ has a row for each graph. A case is one row with bounds of up to 2^40 and divisors for its variables;
the graph is compiled once and run at several sizes (the least, round ones and their neighbours), and
evaluated by the reference evaluator. A refusal is a failure: no row needs a fact that its declarations do not
give.

  symbolic_sizes.py --build DIR [--seed N] [--count N] [--only NAME]

--count is the number of cases; each takes the next row in an order that depends on the seed. Exit status: 0,
1 after a failure, 77 when it cannot run.
"""
import inspect
import re
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import binding
from arguments import arguments
from sizes import ROWS

MOST_ELEMENTS = 1 << 16  # for the product of all variables
RUNS = 3  # of one program, at different sizes
POWERS = (20, 21, 24, 30, 31, 32, 33, 36, 40)
MOST_SORTED = 30  # for sorted axes, at most 2^32 elements: two sizes may be added
SIZES = (0, 1, 2, 3, 7, 16, 31, 64, 65, 255, 1000, 4097)
MOST_SHOWN = 10  # failures


def operands(row):
    return re.findall(r"(\w+):(\w+)\[([^]]*)\]", row.inputs)


def variables(row):
    shapes = ",".join(shape for _, _, shape in operands(row))
    return sorted(set(re.findall(r"\b[nmk]\b", f"{shapes} {row.body} {row.functions}")))


def draw_bounds(random, row):
    """(lo, hi, divisor) for each variable."""
    bounds = {}
    for name in variables(row):
        power = min(int(random.choice(POWERS)), row.power)
        if re.search(r"\b(arg)?sort\b|\btopk\b", row.body + row.functions):
            power = min(power, MOST_SORTED)
        hi = (1 << power) + int(random.choice((0, 0, 1, -1, 17)))
        lo = max(row.least, int(random.choice((0, 1, 1, 6))))
        bounds[name] = (lo, hi, row.divisor * int(random.choice((1, 1, 1, 4, 7))))
    return bounds


def declared(block, bounds):
    """The graph's text with each variable declared where it is used first."""
    for name, (lo, hi, divisor) in bounds.items():
        suffix = f":{divisor}" if divisor > 1 else ""
        block = re.sub(rf"(?<![%\w]){name}(?=[\],*/+ -])", f"{name}={lo}..{hi}{suffix}", block, count=1)
    return block


def results(row):
    last = row.body.split("\n")[-1]
    return re.findall(r"%(\w+)", last) if last.startswith("return ") else ["result"]


def differentiate(context, graph, row):
    """One more output: the gradient of the result, a scalar, by the first operand."""
    y, x = (context.c.vf_graph_find(graph, name.encode()) for name in ("result", operands(row)[0][0]))
    gradient = (binding.Raw * 1)()
    context.c.vf_vjp(1, (binding.Raw * 1)(y), None, 1, (binding.Raw * 1)(x), gradient)
    context.c.vf_output(graph, b"gradient", gradient[0])


def graph_text(row, bounds):
    params = ", ".join(f"%{name}: {dtype}[{shape}]" for name, dtype, shape in operands(row))
    lines = row.body.split("\n")
    if not lines[-1].startswith("return "):
        lines[-1:] = [f"%result = {lines[-1]}", "return %result"]
    main = f"graph @main({params}) {{\n  " + "\n  ".join(lines) + "\n}\n"
    blocks = row.functions.split("\n}\n")
    return "\n}\n".join(declared(block, bounds) for block in blocks) + declared(main, bounds)


def draw_sizes(random, bounds):
    while True:
        sizes = {}
        for name, (lo, _, divisor) in bounds.items():
            value = int(random.choice(SIZES)) if random.random() < 0.8 else lo
            sizes[name] = max(-(-lo // divisor), value // divisor) * divisor
        if np.prod([max(value, 1) for value in sizes.values()]) <= MOST_ELEMENTS:
            return sizes


def draw_array(random, dtype, shape, below):
    """Random elements whose sums of a few thousand are exact; indices below `below` where that is given."""
    if below is not None:
        return random.integers(0, below, shape).astype(binding.NUMPY[dtype])
    if dtype == "bool":
        return random.random(shape) < random.choice((0.02, 0.5, 0.98))
    return random.integers(0 if dtype.startswith("u") else -4, 5, shape).astype(binding.NUMPY[dtype])


def draw_arrays(random, row, sizes):
    """Operand %i holds indices along the axis of the first operand that the last line names."""
    arrays = []
    for name, dtype, shape in operands(row):
        dims = [sizes[size] if size in sizes else int(size) for size in shape.split(",") if size]
        below = None
        if name == "i":
            axis = re.search(r"axis=(\d)", row.body)
            below = row.below or (arrays[0].shape[int(axis[1])] if axis else arrays[0].size)
        arrays.append(np.ascontiguousarray(draw_array(random, dtype, dims, below)))
    return arrays


def wanted(row, arrays, sizes):
    function = row.function
    takes = () if isinstance(function, np.ufunc) else inspect.signature(function).parameters
    made = function(*arrays, **({"size": sizes} if "size" in takes else {}))
    return [np.asarray(r) for r in (made if isinstance(made, tuple) else (made,))]


def wrong(row, got, want):
    close = row.close or (2e-3 if got.dtype == np.float16 else 0)
    if got.shape != want.shape:
        return f"has shape {got.shape}, expected {want.shape}"
    if close:
        same = np.isclose(got.astype(np.float64), want.astype(np.float64), rtol=close, atol=close, equal_nan=True)
    else:
        same = got == want.astype(got.dtype)
    if np.all(same):
        return None
    at = tuple(np.argwhere(~same)[0])
    return f"differs in {np.sum(~same)} of {got.size} elements, first at {at}: {got[at]}, expected {want[at]}"


def run_at(context, row, graph, program, sizes, arrays):
    """None, or the error at these sizes."""
    order = [context.c.vf_variable_name(program, i).decode() for i in range(context.c.vf_variable_count(program))]
    values = binding.sizes([sizes[name] for name in order])
    wants, names = wanted(row, arrays, sizes), results(row) + ["gradient"] * row.gradient
    dtypes = [binding.DTYPES[context.c.vf_value_dtype(context.c.vf_graph_find(graph, n.encode()))] for n in names]
    for run, what in ((context.c.vf_program_run, program), (context.c.vf_evaluate, graph)):
        how = "compiled" if what is program else "evaluated"
        outputs = [np.full(want.shape, 99, binding.NUMPY[dtype]) for want, dtype in zip(wants, dtypes)]
        context.must(run, what, binding.pointers(arrays), binding.pointers(outputs), values)
        for name, got, want in zip(names, outputs, wants):
            reason = wrong(row, got, want)
            if reason:
                return f"{how} at {sizes}, %{name} {reason}"
    return None


def run_case(context, row, random):
    """None, or the error, with the graph."""
    bounds = draw_bounds(random, row)
    text, graph, program = graph_text(row, bounds), None, None
    try:
        graph = context.parse(text, "main" if row.functions else None)
        if row.gradient:
            differentiate(context, graph, row)
        program = context.must(context.c.vf_compile, graph)
        for _ in range(RUNS):
            sizes = draw_sizes(random, bounds)
            reason = run_at(context, row, graph, program, sizes, draw_arrays(random, row, sizes))
            if reason:
                return f"{reason}\n{text}"
    except binding.Refused as why:
        return f"refused: {why}\n{text}"
    finally:
        if program:
            context.c.vf_program_destroy(program)
        if graph:
            context.c.vf_graph_destroy(graph)
    return None


def main():
    options = arguments(seed=1, count=len(ROWS), only="")
    np.seterr(all="ignore")
    contexts = [binding.Context(options.build, threads) for threads in (1, 2)]
    rows = [row for row in ROWS if options.only in ("", row.name)]
    order = np.random.default_rng(options.seed).permutation(len(rows))
    failed = 0
    for case in range(options.count if rows else 0):
        row = rows[order[case % len(rows)]]
        reason = run_case(contexts[case % 2], row, np.random.default_rng([options.seed, case]))
        failed += reason is not None
        if reason and failed <= MOST_SHOWN:
            print(f"{row.name} (--seed {options.seed}, case {case}): {reason}", flush=True)
    print(f"seed {options.seed}, {options.count} cases of {len(rows)} rows")
    print(f"symbolic_sizes: {options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
