"""The automatic choice of shardings of transformer blocks against an integer program.

  auto_bound.py AUTO_PROBLEM

Each strategy is a variable of 0 or 1, one of each choice is taken, and of each pair of choices one combination,
whose rows and columns add up to the strategies. HiGHS solves that; the cost that viewfold finds is at most 2 % above
its bound, in at most ten seconds. Status 0, or 1 where it is not.
"""
import os
import subprocess
import sys
import tempfile

import numpy
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

SECONDS, ABOVE = 10, 0.02
# blocks, mesh, batch, spec of the activations; two axes of unpruned choices are as much as HiGHS solves in minutes
CASES = [(24, "[x=4]", 8, ""), (24, "[x=8]", 1, " @m[-,-,-]"), (24, "[x=4]", 2, " @m[x,-,-]"), (1, "[x=2,y=2]", 1, " @m[-,-,-]")]


def norm(name, x, gain):
    return [f"%{name}s = mul {x}, {x}", f"%{name}m = mean %{name}s axes=[2] keepdims=true",
            f"%{name}e = add %{name}m, 1e-5", f"%{name}r = sqrt %{name}e", f"%{name}d = div {x}, %{name}r",
            f"%{name} = mul %{name}d, {gain}"]


def transformer(blocks, mesh, batch, spec, rows=512, width=1024, heads=16, inner=4096):
    inputs, lines, x, head = [f"%x: f32[{batch},{rows},{width}]{spec}"], [], "%x", width // heads
    for k in range(blocks):
        inputs += [f"%w{n}{k}: f32[{width},{width}]" for n in "qkvo"]
        inputs += [f"%u{k}: f32[{width},{inner}]", f"%d{k}: f32[{inner},{width}]", f"%g{k}: f32[{width}]", f"%h{k}: f32[{width}]"]
        lines += norm(f"a{k}", x, f"%g{k}")
        for n, order in (("q", "0,2,1,3"), ("k", "0,2,3,1"), ("v", "0,2,1,3")):
            lines += [f"%{n}m{k} = matmul %a{k}, %w{n}{k}",
                      f"%{n}r{k} = reshape %{n}m{k} shape=[{batch},{rows},{heads},{head}]",
                      f"%{n}p{k} = permute %{n}r{k} order=[{order}]"]
        lines += [f"%s{k} = matmul %qp{k}, %kp{k}", f"%t{k} = softmax %s{k} axis=3", f"%o{k} = matmul %t{k}, %vp{k}",
                  f"%op{k} = permute %o{k} order=[0,2,1,3]", f"%or{k} = reshape %op{k} shape=[{batch},{rows},{width}]",
                  f"%om{k} = matmul %or{k}, %wo{k}", f"%y{k} = add {x}, %om{k}"]
        lines += norm(f"b{k}", f"%y{k}", f"%h{k}")
        lines += [f"%i{k} = matmul %b{k}, %u{k}", f"%j{k} = relu %i{k}", f"%l{k} = matmul %j{k}, %d{k}",
                  f"%z{k} = add %y{k}, %l{k}"]
        x = f"%z{k}"
    body = "\n  ".join(lines + [f"return {x}"])
    return f"mesh @m {mesh}\ngraph @t({', '.join(inputs)}) {{\n  {body}\n}}\n"


def read_problem(program, text):
    with tempfile.NamedTemporaryFile("w", suffix=".vf") as file:
        file.write(text)
        file.flush()
        lines = subprocess.run([program, file.name], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [float(x) for x in lines[0].split()[1:]]
    costs = [numpy.array(line.split()[2:], float) for line in lines[1:] if line.startswith("cost")]
    pairs = []
    for line in lines[1:]:
        if line.startswith("pair"):
            words = line.split()
            a, b = int(words[1]), int(words[2])
            pairs.append((a, b, numpy.array(words[3:], float).reshape(len(costs[a]), len(costs[b]))))
    return found, costs, pairs


def bound_of(costs, pairs):
    """The bound of HiGHS, in seconds, and its status."""
    first = numpy.concatenate([[0], numpy.cumsum([len(c) for c in costs])]).astype(int)
    objective, upper, rows, columns, values, ends = list(numpy.concatenate(costs)), [1] * int(first[-1]), [], [], [], []

    def equal(coefficients, to):
        for column, value in coefficients:
            rows.append(len(ends))
            columns.append(column)
            values.append(value)
        ends.append(to)

    for v, cost in enumerate(costs):
        equal([(first[v] + i, 1) for i in range(len(cost))], 1)
    for a, b, table in pairs:
        start = len(objective)
        objective += list(numpy.where(table < 0, 0, table).ravel())
        upper += list(numpy.where(table < 0, 0, 1).ravel())
        height, width = table.shape
        for i in range(height):
            equal([(start + i * width + k, 1) for k in range(width)] + [(first[a] + i, -1)], 0)
        for k in range(width):
            equal([(start + i * width + k, 1) for i in range(height)] + [(first[b] + k, -1)], 0)
    kinds = numpy.zeros(len(objective))
    kinds[:first[-1]] = 1
    scale = max(objective)
    matrix = csr_array((values, (rows, columns)), shape=(len(ends), len(objective)))
    result = milp(numpy.array(objective) / scale, integrality=kinds, bounds=Bounds(0, numpy.array(upper)),
                  constraints=LinearConstraint(matrix, ends, ends), options={"time_limit": 900, "mip_rel_gap": 1e-6})
    return result.mip_dual_bound * scale, result.message


def main():
    failed = 0
    for blocks, mesh, batch, spec in CASES:
        (cost, bound, exact, seconds), costs, pairs = read_problem(sys.argv[1], transformer(blocks, mesh, batch, spec))
        other, message = bound_of(costs, pairs)
        good = other * (1 - 1e-5) <= cost <= other * (1 + ABOVE) and seconds < SECONDS and bound <= cost
        print(f"{'ok' if good else 'FAIL'} {blocks} blocks on {mesh}, batch {batch}{spec}: {cost * 1e3:.6g} ms in {seconds:.2f} s"
              f"{', exact' if exact else ''}; HiGHS at least {other * 1e3:.6g} ({message.split('.')[0]})", flush=True)
        failed |= not good
    return failed


if __name__ == "__main__":
    sys.exit(main())
