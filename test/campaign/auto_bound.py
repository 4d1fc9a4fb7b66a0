"""The automatic choice of shardings of transformer blocks against bounds that were found otherwise.

  auto_bound.py AUTO_PROBLEM TRAINING_STEP

Small problems are integer programs: each strategy is a variable of 0 or 1, one of each choice is taken, and of each
pair of choices one combination, whose rows and columns add up to the strategies. HiGHS solves that. Of large ones the
dual of the same program is raised by passing messages, in NumPy, over the whole problem as it was stated; whatever the
messages are, no choice costs less than the sums that they leave. The cost that viewfold finds is at most 2 % above the
bound, in at most ten seconds of a processor, and keeps the limit of memory. Status 0, or 1 where it is not.
"""
import os
import subprocess
import sys
import tempfile

import numpy
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

SECONDS, ABOVE, NEVER, SWEEPS, MOST_COLUMNS = 10, 0.02, 1e9, 30, 400_000
# blocks, training, mesh, batch, spec of the activations, limits of memory as parts of what is held without one
CASES = [(24, 0, "[x=4]", 8, "", ()), (24, 0, "[x=8]", 1, " @m[-,-,-]", ()), (24, 0, "[x=4]", 2, " @m[x,-,-]", ()),
         (1, 0, "[x=2,y=2]", 1, " @m[-,-,-]", ()), (24, 1, "[x=4]", 8, "", ()), (24, 1, "[x=2,y=4]", 64, "", ()),
         (24, 1, "[x=4,y=4,z=4]", 64, "", ()), (24, 0, "[x=16,y=16,z=16]", 64, "", ()),
         (24, 1, "[x=16,y=16,z=16]", 64, "", (0.85, 0.5))]


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


def write(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".vf")
    file.write(text)
    file.flush()
    return file


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def training(program, text):
    with write(text) as file:
        return run(program, file.name)


def read_problem(program, file):
    """What was found, costs by variable, and pairs (a, b, table); what cannot be is NEVER."""
    lines = run(program, file.name).splitlines()
    costs, tables, pairs = [], [], []
    for line in lines[1:]:
        kind, _, rest = line.partition(" ")
        if kind == "cost":
            costs.append(numpy.array(rest.split()[1:], float))
        elif kind == "table":
            table = numpy.array(rest.split(), float)
            tables.append(numpy.where(table < 0, NEVER, table))
        else:
            a, b, table = map(int, rest.split())
            pairs.append((a, b, tables[table].reshape(len(costs[a]), len(costs[b]))))
    return [float(x) for x in lines[0].split()[1:]], costs, pairs


def messages(costs, pairs):
    """The most that the sums of least numbers come to."""
    near = [[] for _ in costs]
    for e, (a, b, table) in enumerate(pairs):
        near[a].append((e, 0, b)), near[b].append((e, 1, a))
    sent = [[numpy.zeros(len(costs[a])), numpy.zeros(len(costs[b]))] for a, b, _ in pairs]
    bound = 0
    for sweep in range(2 * SWEEPS):
        back, total = sweep % 2, 0
        for v in range(len(costs))[::-1 if back else 1]:
            has = costs[v] + sum(sent[e][side] for e, side, _ in near[v])
            later = sum(other > v for _, _, other in near[v])
            total += has.min()
            has = has - has.min()
            for e, side, other in near[v]:
                if (other < v) != back:
                    continue
                share = has / max(later, len(near[v]) - later) - sent[e][side]
                table = pairs[e][2]
                least = (table + share[:, None]).min(0) if side == 0 else (table + share).min(1)
                total += least.min()
                sent[e][1 - side] = least - least.min()
        if back:
            bound = max(bound, total)
    return bound


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
        objective += list(numpy.where(table < NEVER, table, 0).ravel())
        upper += list(numpy.where(table < NEVER, 1, 0).ravel())
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
    problem, step = sys.argv[1:3]
    for blocks, trains, mesh, batch, spec, limits in CASES:
        text = transformer(blocks, mesh, batch, spec)
        with write(training(step, text) if trains else text) as file:
            (cost, bound, exact, seconds, peak), costs, pairs = read_problem(problem, file)
            columns = sum(len(c) for c in costs) + sum(t.size for _, _, t in pairs)
            if columns <= MOST_COLUMNS:
                other, message = bound_of(costs, pairs)
                message = f"HiGHS: {message.split('.')[0]}"
            else:
                other, message = messages(costs, pairs), "messages"
            good = other * (1 - 1e-5) <= cost <= other * (1 + ABOVE) and seconds < SECONDS and bound <= cost
            name = f"{blocks} blocks{', trained,' if trains else ''} on {mesh}, batch {batch}{spec}"
            print(f"{'ok' if good else 'FAIL'} {name}: {cost * 1e3:.6g} ms in {seconds:.2f} s{', exact' if exact else ''}; "
                  f"at least {other * 1e3:.6g}, {100 * (cost / other - 1):.2f} % less ({message})", flush=True)
            failed |= not good
            for part in limits:
                cost, bound, exact, seconds, held = map(float, run(problem, file.name, str(part * peak)).split()[1:])
                good = held <= part * peak and seconds < SECONDS and other * (1 - 1e-5) <= bound and cost <= bound * (1 + ABOVE)
                print(f"{'ok' if good else 'FAIL'} {name}, {part * peak:.0f} bytes: {cost * 1e3:.6g} ms in {seconds:.2f} s, "
                      f"{held:.0f} bytes; at least {bound * 1e3:.6g}", flush=True)
                failed |= not good
    return failed


if __name__ == "__main__":
    sys.exit(main())
