#!/usr/bin/env python3
"""Every operation of text graphs against NumPy, on random operands.

oracle/ has a row for each operation: operands of random shapes and dtypes, edge cases among their elements,
random attributes, and NumPy's result, with the dtype and the error bound that the specification rules. The
operation is recorded by any of its names, printed, read back, and run compiled and by the reference
evaluator. An operation of ir/ops.def or passes/ops/names.def without a row is a failure.

  numpy_oracle.py --build DIR [--seed N] [--count N] [--only NAME]

Elementwise operations are also tried with each dtype, on operands of random bits. --count is the number of
the other cases for each operation. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import collections
import os
import re
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import binding
from arguments import arguments
from oracle import ELEMENTWISE, ROWS
from oracle.draw import Draw, Outside, TextCase
from oracle.rules import ALL

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MOST_SHOWN = 3  # failures of one operation
FULL = 4        # in `make test`, of so many cases one is compiled as everything is by default, the others by QUICK:
QUICK = "quick=1"  # a target's setting, which makes the same loops of the same operations in a third of the time
FOR_EACH_WHOLE = 50  # other cases for each pass over the dtypes with operands of random bits


def names():
    """Operations by their first name: all names of each, which share a form and an op, and its attributes."""
    found, seen = {}, {}
    forms = {"UNARY": "unary", "BINARY": "binary", "COMPARE": "binary", "TERNARY": "ternary"}
    with open(os.path.join(ROOT, "ir", "ops.def"), encoding="utf-8") as file:
        rows = re.findall(r'^(?:PRIMITIVE|EXPANDED|MIXED|TYPED)\((\w+), \w+, \w+, (\w+), "(\w+)"', file.read(), re.M)
    rows = [(name, forms[operands], op, "") for op, operands, name in rows if name not in ("max", "min")]
    with open(os.path.join(ROOT, "passes", "ops", "names.def"), encoding="utf-8") as file:
        rows += re.findall(r'^NAME\("(\w+)", (\w+), (\w+),([^;]*?)\)$', file.read(), re.M)
    for name, form, op, rest in rows:
        first = seen.setdefault((form, op), name)
        found.setdefault(first, ([], set(re.findall(r"A\((\w+)\)", rest))))[0].append(name)
    return found


def seed_of(seed, name, number):
    return np.random.default_rng([seed, number] + list(name.encode()))


def recorded(context, row, operation, random, whole):
    """One case as text: (text, inputs, names of results, wants)."""
    aliases, attributes = operation
    graph = binding.Graph(context)
    draw = Draw(random, graph, attributes, whole)
    name = draw.one(aliases)
    case = row(draw)
    if isinstance(case, TextCase):
        return case.text, case.inputs, list(case.names), case.wants
    results = graph.apply_all(name, *case.operands, **case.attributes)
    for value in results:
        graph.output(value)
    return graph.text(), graph.inputs, [f"y{k}" for k in range(len(results))], case.wants


def run_case(context, row, operation, random, whole=None):
    """None, or the error, with the graph. whole: the dtype whose operands have random bits."""
    try:
        text, inputs, names, wants = recorded(context, row, operation, random, whole)
    except Outside:
        return None
    except binding.Refused as why:
        return f"refused: {why}"
    if len(names) != len(wants):
        return f"{len(names)} results, expected {len(wants)}"
    which = "main" if "graph @main(" in text else None
    for compiled in (True, False):
        how = "compiled" if compiled else "evaluated"
        try:
            outputs = context.run_text(text, inputs, names, compiled, which)
        except binding.Refused as why:
            return f"{how}: {why}\n{text}"
        for number, (got, want) in enumerate(zip(outputs, wants)):
            wrong = want.wrong(got)
            if wrong and inputs and whole:
                at = int(re.search(r"at \[(\d+)\]", wrong).group(1))
                return f"{how} result {number} {wrong}, of {[x.wide()[at] for x in inputs]}\n{text}"
            if wrong:
                values = "".join(f"\n  input {k} = {x.wide().tolist()}" for k, x in enumerate(inputs)
                                 if x.array.size <= 24)
                return f"{how} result {number} {wrong}\n{text}{values}"
    return None


def cases(name, count):
    """The cases of an operation: (seed, dtype whose operands have random bits, or None). A cast goes to any
    dtype, so it is tried more often."""
    for number in range(count):
        yield number, None
    repetitions = -(-count // FOR_EACH_WHOLE) if name in ELEMENTWISE else 0
    for number in range(repetitions * (len(ALL) if name == "cast" else 1)):
        for at, dtype in enumerate(ALL):
            yield count + number * len(ALL) + at, dtype


def main():
    options = arguments(seed=1, count=40, only="")
    np.seterr(all="ignore")
    context = binding.Context(options.build)
    sampled = os.environ.get("TEST_LEVEL") == "test" and not os.environ.get("VIEWFOLD_DEVICE")
    quick = binding.Context(options.build, target=QUICK) if sampled else context
    every, failures, passed = names(), collections.Counter(), 0
    for name in sorted(every.keys() - ROWS.keys()):
        print(f"{name}: no row in test/conform/oracle/: add one")
        failures[name] += 1
    ahead = sorted(ROWS.keys() - every.keys())
    if ahead:
        print(f"rows without an operation of that first name: {' '.join(ahead)}")
    for name in sorted(every.keys() & ROWS.keys()):
        if options.only not in ("", name):
            continue
        for number, whole in cases(name, options.count):
            random = seed_of(options.seed, name, number)
            wrong = run_case(quick if number % FULL else context, ROWS[name], every[name], random, whole)
            if wrong:
                failures[name] += 1
                if failures[name] <= MOST_SHOWN:
                    print(f"{name} (--seed {options.seed}, case {number}): {wrong}")
        passed += failures[name] == 0
    print(f"{sum(failures.values())} failures in {dict(failures)}" if failures else
          f"seed {options.seed}, {options.count} cases of each operation")
    print(f"numpy_oracle: {passed} passed, {len([n for n in failures if failures[n]])} failed")
    return 1 if any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
