"""Redistributions carried out: on a mesh of threads a random array, or a sum of integers whose summands are divided, is divided
in another way. The result is the array; what devices receive, as the engine counts it, is what `viewfold reshard` says.

    reshard_run.py --build build --count 20 --seed 7      --case N repeats one"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from arguments import arguments

MESHES = [{"x": 2}, {"x": 3}, {"x": 8}, {"x": 2, "y": 3}, {"x": 2, "y": 4}, {"x": 2, "y": 2, "z": 2}]


def random_spec(draw, axes, rank):
    """Axes in dimensions, in any order; those in none."""
    spec, free = [[] for _ in range(rank)], []
    for axis in draw.permutation(list(axes)):
        to = int(draw.integers(rank + 1))
        (free if to == rank else spec[to]).append(str(axis))
    return spec, free


def text_of(spec, pending=()):
    return "[" + ",".join(".".join(dim) or "-" for dim in spec) + "]" + ("+" + ".".join(pending) if pending else "")


def attempt(build, folder, seed):
    draw = np.random.default_rng(seed)
    mesh = MESHES[int(draw.integers(len(MESHES)))]
    rank = int(draw.integers(1, 4))
    shape = [int(draw.integers(1, 5)) * 24 if draw.random() < 0.5 else int(draw.integers(2, 30)) for _ in range(rank)]
    (source, free), (target, _) = random_spec(draw, mesh, rank), random_spec(draw, mesh, rank)
    pending = [axis for axis in mesh if axis in free and draw.random() < 0.5]
    summands = int(np.prod([mesh[axis] for axis in pending], dtype=int))
    whole = draw.integers(-1000, 1000, size=[summands] + shape, dtype=np.int32)
    axes, dims = ", ".join(f"{k}={n}" for k, n in mesh.items()), ",".join(map(str, shape))
    if pending:
        given = f"i32[{summands},{dims}] @m{text_of([pending] + source)}"
        first = f"  %s = sum %x axes=[0] : i32[{dims}] @m{text_of(source, pending)}\n"
    else:
        given, first = f"i32[{dims}] @m{text_of(source)}", ""
        whole = whole[0]
    graph = (f"mesh @m [{axes}]\ngraph @g(%x: {given}) {{\n{first}  %y = shard {'%s' if pending else '%x'} to={text_of(target)}\n  return %y\n}}\n")
    with open(f"{folder}/g.vf", "w") as file:
        file.write(graph)
    np.save(f"{folder}/x.npy", whole)
    line = {"mesh": axes.replace(" ", ""), "shape": shape, "dtype": "i32", "from": text_of(source, pending), "to": text_of(target)}
    plan = json.loads(subprocess.run([f"{build}/viewfold", "reshard", "--json"], input=json.dumps(line), capture_output=True,
                                     text=True).stdout)
    run = subprocess.run([f"{build}/viewfold", "run", f"{folder}/g.vf", "--mesh", line["mesh"], "--time", "--in",
                          f"x={folder}/x.npy", "--out", f"y={folder}/y.npy"], capture_output=True, text=True)
    if run.returncode:
        return f"{graph}{run.stderr}"
    counted = json.loads(run.stdout.splitlines()[-1])
    expected = whole.sum(0, dtype=np.int32) if pending else whole
    if np.load(f"{folder}/y.npy").tobytes() != expected.tobytes():
        return f"{graph}the result is another array"
    if (counted["recv"], counted["total"]) != (plan["recv"], plan["total"]):
        return f"{graph}counted {counted}\nplanned {plan}"
    return None


def main():
    options = arguments(others=True, seed=1, count=20, case=int)
    first = options.seed * 1000000
    seeds = [options.case] if options.case is not None else range(first, first + options.count)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VIEWFOLD_CACHE_DIR"] = f"{folder}/cache"
        for seed in seeds:
            why = attempt(options.build, folder, seed)
            passed, failed = passed + (why is None), failed + (why is not None)
            if why and failed <= 3:
                print(f"case {seed} (reshard_run.py --build {options.build} --case {seed}):\n{why}\n")
    print(f"reshard_run: {passed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
