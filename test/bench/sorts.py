#!/usr/bin/env python3
"""Sorting beside NumPy, and beside PyTorch where it is installed.

    sorts.py [--viewfold CMD] [--threads N] [--rounds N] [--limit RATIO]

Each row is one operation on one array: `sort`, `argsort`, `topk` of 10. The programs take turns; times are the least of all
rounds, in milliseconds. NumPy's `sort` and `argsort` are its fastest, which are not stable; where viewfold takes the first
10 in order, NumPy's `argpartition` does not order them, and neither is it asked for their values. Exit status 1 when
viewfold takes more than RATIO times as long as NumPy's sort or argsort of f32 or i32.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np

try:
    import torch
except ImportError:
    torch = None

K = 10
DTYPES = {"f32": np.float32, "i32": np.int32, "f64": np.float64, "i64": np.int64, "i16": np.int16, "f16": np.float16, "u8": np.uint8}
SHAPES = [("f32", (1000, 1000)), ("f32", (1000000,)), ("i32", (1000, 1000)), ("i32", (1000000,)), ("f32", (62500, 16)),
          ("f32", (4000, 250)), ("f32", (100, 10000)), ("f32", (4000000,)), ("f64", (1000, 1000)), ("f64", (1000000,)),
          ("i64", (1000000,)), ("i16", (1000000,)), ("f16", (1000000,)), ("u8", (1000000,))]
TEXT = {"sort": "%y = sort %x axis=-1\n  return %y", "argsort": "%y = argsort %x axis=-1\n  return %y",
        "topk": f"%y, %i = topk %x k={K} axis=-1\n  return %y, %i"}
NUMPY = {"sort": lambda x: np.sort(x, axis=-1), "argsort": lambda x: np.argsort(x, axis=-1),
         "topk": lambda x: np.argpartition(x, K, axis=-1)}
TORCH = {"sort": lambda x: x.sort(dim=-1), "argsort": lambda x: x.argsort(dim=-1), "topk": lambda x: x.topk(K, dim=-1)}


def elements(dtype, shape):
    """At random: normally distributed, or all values of an integer dtype alike."""
    draw, numpy_type = np.random.default_rng(1), np.dtype(DTYPES[dtype])
    if numpy_type.kind == "f":
        return draw.standard_normal(shape).astype(numpy_type)
    range_of = np.iinfo(numpy_type)
    return draw.integers(range_of.min, range_of.max, shape, dtype=numpy_type, endpoint=True)


def milliseconds(call, x):
    start = time.perf_counter()
    call(x)
    return (time.perf_counter() - start) * 1e3


class Server:
    """`viewfold bench --serve`."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer or answer[0] not in ("ok", "ms"):
            sys.exit(f"viewfold bench --serve: {' '.join(answer)}")
        return [float(t) for t in answer[1:]]


def measure(server, op, x, text, rounds):
    """The least times of viewfold, NumPy and PyTorch (None: it is not there)."""
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "graph.vf"), "w") as file:
            file.write(text)
        with open(os.path.join(place, "meta.json"), "w") as file:
            json.dump([{"shape": list(x.shape), "dtype": x.dtype.name}], file)
        x.tofile(os.path.join(place, "in0.bin"))
        server.ask(f"setup sort {place}")
        tensor = torch.from_numpy(x) if torch else None
        times = [[], [], []]
        for _ in range(rounds):
            times[0] += server.ask("run 3")
            times[1] += [milliseconds(NUMPY[op], x) for _ in range(3)]
            times[2] += [milliseconds(TORCH[op], tensor) for _ in range(3)] if torch else []
        server.ask("drop")
    return [min(t) if t else None for t in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewfold", default="build/viewfold")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.5)
    options = parser.parse_args()
    if torch:
        torch.set_num_threads(options.threads)
    server = Server(shlex.split(options.viewfold) + ["bench", "--serve", "--threads", str(options.threads)])
    slow = 0
    print(f"{'':32} {'viewfold':>9} {'NumPy':>9} {'PyTorch':>9} {'of NumPy':>9}")
    for dtype, shape in SHAPES:
        x = elements(dtype, shape)
        for op in TEXT:
            type_text = f"{dtype}[{','.join(map(str, shape))}]"
            times = measure(server, op, x, f"graph @sort(%x: {type_text}) {{\n  {TEXT[op]}\n}}\n", options.rounds)
            ratio = times[0] / times[1]
            slow += ratio > options.limit and op != "topk" and dtype in ("f32", "i32")
            shown = " ".join(f"{t:9.3f}" if t else f"{'-':>9}" for t in times)
            print(f"{op + ' ' + type_text:32} {shown} {ratio:9.2f}", flush=True)
    sys.exit(slow > 0)


if __name__ == "__main__":
    main()
