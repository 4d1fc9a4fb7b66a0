#!/usr/bin/env python3
"""Random graphs on a mesh whose devices are threads, and on processes that MPI has started: the same bytes.

usage: mpi_same.py VIEWFOLD [--count N] [--launcher openmpi|mpich]... [--seed N]

Values are f32 matrices, divided at random; operations are products, elementwise ones, sums, transposes, windows,
cumulative sums, gathers and loops. Whole results are written once by threads, and by 2
and 4 processes.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy

MESHES = ("x=4", "x=2,y=2", "x=2,y=3", "x=8", "x=2,y=2,z=2")


class Graph:
    """Statements about matrices of shape [rows, columns], by name."""

    def __init__(self, rng, mesh):
        self.rng, self.mesh = rng, mesh
        self.axes = [a.split("=")[0] for a in mesh.split(",")]
        self.shapes, self.lines, self.functions, self.inputs = {}, [], [], []

    def spec(self):
        places = [[], []]
        for axis in self.axes:
            to = self.rng.randrange(3)
            if to < 2:
                places[to].append(axis)
        return "[" + ",".join(".".join(p) or "-" for p in places) + "]"

    def add(self, text, shape):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        self.shapes[name] = shape
        return name

    def input(self):
        shape = (self.rng.randint(1, 13), self.rng.randint(1, 13))
        name = f"%a{len(self.inputs)}"
        self.inputs.append((name, shape, self.spec()))
        self.shapes[name] = shape

    def statement(self):
        rng = self.rng
        x = rng.choice(list(self.shapes))
        rows, columns = self.shapes[x]
        kind = rng.choice(("product", "sum", "transpose", "relu", "exp", "flip", "window", "cumsum", "shard", "take",
                           "softmax", "scan", "shift"))
        if kind == "product":
            t = self.add(f"permute {x} order=[1,0]", (columns, rows))
            self.add(f"matmul {x}, {t}", (rows, rows))
        elif kind == "sum":
            s = self.add(f"sum {x} axes=[0] keepdims=true", (1, columns))
            self.add(f"add {x}, {s}", (rows, columns))
        elif kind == "transpose":
            self.add(f"permute {x} order=[1,0]", (columns, rows))
        elif kind in ("relu", "exp"):
            y = self.add(f"mul {x}, 0.01", (rows, columns))
            self.add(f"{kind} {y}", (rows, columns))
        elif kind == "flip":
            self.add(f"flip {x} axes=[{rng.randrange(2)}]", (rows, columns))
        elif kind == "window" and rows > 1:
            self.add(f"shrink {x} bounds=[[1,{rows}],[0,{columns}]]", (rows - 1, columns))
        elif kind == "shift":
            p = self.add(f"pad {x} pads=[[1,0],[0,0]]", (rows + 1, columns))
            self.add(f"shrink {p} bounds=[[0,{rows}],[0,{columns}]]", (rows, columns))
        elif kind == "cumsum":
            self.add(f"cumsum {x} axis={rng.randrange(2)}", (rows, columns))
        elif kind == "shard":
            self.add(f"shard {x} to={self.spec()}", (rows, columns))
        elif kind == "take":
            index = [rng.randrange(rows) for _ in range(rng.randint(1, 6))]
            i = f"%i{len(self.lines)}"
            self.lines.append(f"  {i} = data dtype=i32 shape=[{len(index)}] values=[{','.join(map(str, index))}]")
            self.add(f"take {x}, {i} axis=0", (len(index), columns))
        elif kind == "softmax":
            self.add(f"softmax {x} axis={rng.randrange(2)}", (rows, columns))
        elif kind == "scan":
            f = f"@f{len(self.functions)}"
            self.functions.append(
                f"graph {f}(%c: f32[{columns}], %r: f32[{columns}]) {{\n  %m = max %r axes=[0] keepdims=true\n"
                f"  %h = mul %c, 0.5\n  %s = add %h, %m\n  %y = add %s, %r\n  return %s, %y\n}}\n")
            z = self.add(f"shrink {x} bounds=[[0,1],[0,{columns}]]", (1, columns))
            q = f"%q{len(self.lines)}"
            self.lines.append(f"  {q} = reshape {z} shape=[{columns}]")
            self.lines.append(f"  %s{len(self.lines)}, %w{len(self.lines)} = scan {q}, {x} do={f} carries=1 sliced=1")
            self.shapes[f"%w{len(self.lines) - 1}"] = (rows, columns)

    def text(self):
        names = list(self.shapes)[-3:]
        parameters = ", ".join(f"{n}: f32[{s[0]},{s[1]}] @m{p}" for n, s, p in self.inputs)
        return (f"mesh @m [{self.mesh}]\n" + "".join(self.functions) + f"graph @g({parameters}) {{\n"
                + "\n".join(self.lines) + f"\n  return {', '.join(names)}\n}}\n"), names


def launched(name, processes):
    if name == "openmpi":
        return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n",
                str(processes)]
    return ["mpirun.mpich", "-n", str(processes)]


def outputs(command, names, folder, tag):
    files = [os.path.join(folder, f"{tag}{i}.npy") for i in range(len(names))]
    for n, f in zip(names, files):
        command = command + ["--out", f"{n[1:]}={f}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    return [open(f, "rb").read() for f in files], ""


def case(viewfold, seed, launchers, folder):
    rng = random.Random(seed)
    graph = Graph(rng, rng.choice(MESHES))
    for _ in range(rng.randint(1, 3)):
        graph.input()
    for _ in range(rng.randint(2, 8)):
        graph.statement()
    text, names = graph.text()
    with open(os.path.join(folder, "g.vf"), "w") as f:
        f.write(text)
    command = [viewfold, "run", "g.vf", "--graph", "g", "--mesh", graph.mesh]
    draw = numpy.random.default_rng(seed)
    for n, shape, _ in graph.inputs:
        numpy.save(os.path.join(folder, n[1:] + ".npy"), draw.standard_normal(shape).astype("f"))
        command += ["--in", f"{n[1:]}={n[1:]}.npy"]
    expected, why = outputs(command, names, folder, "one")
    if expected is None:
        return f"threads: {why}", text
    for name in launchers:
        for processes in (2, 4):
            got, why = outputs(launched(name, processes) + command, names, folder, name)
            if got != expected:
                return f"{name}, {processes} processes: {why or 'other elements'}", text
    return None, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("viewfold")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--launcher", action="append", choices=("openmpi", "mpich"))
    args = parser.parse_args()
    viewfold = os.path.abspath(args.viewfold)
    launchers = [n for n in args.launcher or ("openmpi", "mpich") if shutil.which("mpirun." + n) and
                 os.path.exists(os.path.join(os.path.dirname(viewfold), f"viewfold-mpi-{n}.so"))]
    if not launchers:
        print("skip: no MPI that the library has a module for")
        return 77
    failed = 0
    folder = tempfile.mkdtemp(prefix="viewfold-mpi-")
    for seed in range(args.seed * 100000, args.seed * 100000 + args.count):
        wrong, text = case(viewfold, seed, launchers, folder)
        if wrong:
            failed += 1
            print(f"FAIL seed {seed}: {wrong}\n{text}", flush=True)
    shutil.rmtree(folder)
    print(f"{args.count} graphs on 2 and 4 processes of {' and '.join(launchers)}: {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
