"""Redistributions against XLA: no row of reshard_xla.list, which says what a device receives in the program that XLA makes of
it, receives more by `viewfold reshard`; and rows without sums receive what they must, no more.

    reshard_xla.py --build build             compares with the list; needs no JAX
    reshard_xla.py --build build --update    writes the list again, by JAX on 8 virtual devices (`pip install jax`)"""
import itertools
import json
import math
import os
import re
import subprocess
import sys

import numpy as np

from arguments import arguments

LIST = os.path.join(os.path.dirname(__file__), "reshard_xla.list")
BYTES = {"pred": 1, "s8": 1, "u8": 1, "f16": 2, "bf16": 2, "f32": 4, "s32": 4, "u32": 4, "f64": 8}
COLLECTIVE = re.compile(r"= (.*?) (all-gather|all-reduce|all-to-all|reduce-scatter|collective-permute)(-start)?\(")


def specs(axes, rank):
    """All divisions by whole axes, each at most once, in any order."""
    found = [[[] for _ in range(rank)]]
    for axis in axes:
        for spec in list(found):
            for d in range(rank):
                for at in range(len(spec[d]) + 1):
                    found.append([dim[:at] + [axis] + dim[at:] if i == d else dim for i, dim in enumerate(spec)])
    return found


def text_of(spec, pending=()):
    return "[" + ",".join(".".join(dim) or "-" for dim in spec) + "]" + ("+" + ".".join(pending) if pending else "")


def questions():
    """(sizes of axes, shape, from, to, pending): all pairs on 2 x 4 devices, and random ones on other meshes."""
    mesh = {"x": 2, "y": 4}
    every = specs(mesh, 2)
    for a, b in itertools.permutations(every, 2):
        yield mesh, (16, 24), a, b, ()
    for pending in (["y"], ["x"], ["x", "y"]):
        for a in every:
            if not any(axis in dim for dim in a for axis in pending):
                for b in every:
                    yield mesh, (16, 24), a, b, pending
    draw = np.random.default_rng(1)
    for mesh in ({"x": 8}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}, {"x": 2, "y": 3}, {"x": 3, "y": 2}):
        for rank in (1, 2, 3):
            every = specs(mesh, rank)
            for _ in range(20):
                a, b = (every[int(i)] for i in draw.integers(len(every), size=2))
                free = [axis for axis in mesh if not any(axis in dim for dim in a)]
                pending = [axis for axis in free if draw.random() < 0.5] if draw.random() < 0.4 else []
                if a != b or pending:
                    yield mesh, tuple(int(48 * n) for n in draw.integers(1, 3, size=rank)), a, b, pending


def group_size(line, devices):
    """How many devices take part in a group of a collective."""
    named = re.search(r"replica_groups=mesh\[([^\]]*)\].*?\{([^}]*)\}", line)
    if named:
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", named[1]))
        return math.prod(int(sizes[name]) for name in re.findall(r"'(\w+)'", named[2]))
    iota = re.search(r"replica_groups=\[\d+,(\d+)\]<=", line)
    if iota:
        return int(iota[1])
    groups = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    return len(groups[1].split(",")) if groups else devices


def received(hlo, devices):
    """Bytes that a device receives in a compiled program: by rings, as collectives are counted."""
    total = 0
    for line in hlo.splitlines():
        found = COLLECTIVE.search(line)
        if not found:
            continue
        size = sum(BYTES[dtype] * math.prod(map(int, filter(None, shape.split(","))))
                   for dtype, shape in re.findall(r"(\w+)\[([\d,]*)\]", found[1]))
        n = group_size(line, devices)
        if found[2] == "collective-permute":
            pairs = re.findall(r"\{(\d+),(\d+)\}", line[line.index("source_target_pairs"):])
            total += size if any(a != b for a, b in pairs) else 0
        else:
            total += {"all-gather": size * (n - 1) / n, "all-to-all": size * (n - 1) / n, "reduce-scatter": size * (n - 1),
                      "all-reduce": 2 * size * (n - 1) / n}[found[2]]
    return total


def update():
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    def sharding(mesh, spec):
        return NamedSharding(mesh, PartitionSpec(*[tuple(dim) or None for dim in spec]))

    rows = set()
    for sizes, shape, a, b, pending in questions():
        devices = math.prod(sizes.values())
        mesh = Mesh(np.array(jax.devices()[:devices]).reshape(tuple(sizes.values())), tuple(sizes))
        if pending:
            summands = math.prod(sizes[axis] for axis in pending)
            function, shape_in, source = (lambda v: v.sum(0)), (summands,) + shape, [pending] + a
        else:
            function, shape_in, source = (lambda v: v), shape, a
        program = jax.jit(function, in_shardings=sharding(mesh, source), out_shardings=sharding(mesh, b))
        hlo = program.lower(jax.ShapeDtypeStruct(shape_in, jnp.float32)).compile().as_text()
        rows.add((",".join(f"{k}{n}" for k, n in sizes.items()), ",".join(map(str, shape)), text_of(a, pending), text_of(b),
                  f"{received(hlo, devices):.12g}"))
    with open(LIST, "w") as out:
        print(f"# Bytes that a device receives in the program that XLA of JAX {jax.__version__} compiles for 8 virtual devices, of f32:\n"
              "# mesh, shape, from, to, bytes. Written by reshard_xla.py --update.", file=out)
        for row in sorted(rows):
            print(*row, file=out)


def main():
    options = arguments(others=True, update=False)
    if options.update:
        update()
    with open(LIST) as rows:
        rows = [row.split() for row in rows if not row.startswith("#")]
    lines = "".join(json.dumps({"id": i, "mesh": mesh, "shape": [int(n) for n in shape.split(",")], "dtype": "f32", "from": a,
                                "to": b}) + "\n" for i, (mesh, shape, a, b, _) in enumerate(rows))
    run = subprocess.run([f"{options.build}/viewfold", "reshard", "--json"], input=lines, capture_output=True, text=True)
    passed = failed = 0
    ratios = {False: [], True: []}
    for row, answer in zip(rows, map(json.loads, run.stdout.splitlines()), strict=True):
        xla, sums = float(row[4]), "+" in row[2]
        bad = "error" in answer or answer["recv"] > xla or (not sums and answer["recv"] != answer["bound"])
        passed, failed = passed + (not bad), failed + bad
        if bad:
            print(*row, json.dumps(answer))
        elif xla and answer["recv"]:
            ratios[sums].append(xla / answer["recv"])
    for sums, name in (False, "without"), (True, "with"):
        mean = math.exp(sum(map(math.log, ratios[sums])) / len(ratios[sums]))
        print(f"{len(ratios[sums])} rows that move data {name} sums: XLA receives {mean:.2f} times as much (geometric mean), "
              f"{max(ratios[sums]):.2f} times at most")
    print(f"reshard_xla: {passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
