#!/usr/bin/env python3
"""The same bits for any number of threads and every description of a machine, on every workload.

    same_bits.py [--viewfold CMD] [--threads 1,2,4] [--targets] [ID ...]
    same_bits.py --graphs N [--shapes] [--seed N] [--build build] [--threads 1,2,4] [--targets]

Runs each graph of frontend/workloads, or so many of the graphs that stored.py draws, on the same random inputs with each
number of threads, and with --targets compiled for each description of TARGETS as well, with the numbers of threads in
turn. --shapes draws the graphs of shapes.py instead, one operation on large arrays: tiles, streams and blocks. Compares the bytes of all results. Exit status 1 when some differ.
"""
import argparse
import glob
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conform")]

from binding import Context, Refused  # noqa: E402
from storing import shapes  # noqa: E402
from storing.maker import draw_graph  # noqa: E402
from storing.measure import Program, draw  # noqa: E402
from storing.rows import ROWS, STARTS  # noqa: E402

SSE = "vector_bytes=16 registers=16 masks=0 dot4=0"
AVX2 = "vector_bytes=32 registers=16 masks=0 dot4=0"
# None without fma: a product is rounded before it is added there, on each machine that has no such instruction.
TARGETS = [
    "l3=2097152", "l3=536870912", "l3=2097152 read_past=1", "l3=536870912 read_past=1 read_ahead=1 gather=1", "dot4=0 f16c=0",
    "l1=16384 l2=131072 l3=1048576", "l1=131072 l2=16777216 l3=67108864", "vector_bytes=32 registers=32 l3=67108864",
    f"{AVX2} l2=262144 l3=8388608", f"{AVX2} l2=1048576 l3=2097152 read_past=1", f"{SSE} l2=262144 l3=4194304",
    f"{SSE} f16c=0 dot2=0 l3=536870912", "vector_bytes=16 registers=32 l2=1048576 l3=33554432",  # as AArch64's
]


def parameters(path):
    header = re.search(r"graph @\w+\((.*?)\)\s*\{", open(path).read(), re.S).group(1)
    return [(d, [int(s) for s in sizes.split(",")]) for d, sizes in re.findall(r"%\w+: (\w+)\[([\d,]+)\]", header)]


def write_inputs(name, folder):
    random, listed = np.random.default_rng(len(name)), []
    for i, (dtype, shape) in enumerate(parameters(f"{ROOT}/frontend/workloads/{name}.vf")):
        array = random.integers(0, 10, shape, np.int32) if dtype == "i32" else random.random(math.prod(shape), np.float32)
        array.tofile(f"{folder}/in{i}.bin")
        listed.append({"shape": shape, "dtype": str(array.dtype)})
    with open(folder + "/meta.json", "w") as f:
        json.dump(listed, f)


def result(command, threads, target, name, folder):
    script = f"setup {name} {folder}\ndump {folder}/out.bin\nquit\n"
    done = subprocess.run(shlex.split(command) + ["bench", "--serve", "--threads", str(threads)] + target, input=script, capture_output=True, text=True)
    if any(not line.startswith("ok") for line in done.stdout.split("\n")[:2]):
        sys.exit(f"same_bits.py: {name}: {done.stdout}{done.stderr}")
    with open(f"{folder}/out.bin", "rb") as f:
        return f.read()


def results_of(context, graph, types, inputs):
    program = Program(context, graph.text(), types, graph.outputs, inputs)
    try:
        program.run()
        # which bits a NaN has is not said (docs/ir.md)
        return [np.where(np.isnan(a), a.dtype.type(np.nan), a).tobytes() if a.dtype.kind == "f" else a.tobytes() for a in program.arrays]
    finally:
        program.close()


def drawn(options, runs):
    """Status 1 where a graph has other bits in a run of [(threads, arguments)] than in the first one."""
    contexts = [Context(options.build, threads=threads, target=target[1] if target else None) for threads, target in runs]
    differ = refused = 0
    for seed in range(options.seed, options.seed + options.graphs):
        try:
            graph = shapes.drawn(seed, 0)[1] if options.shapes else draw_graph(contexts[0], seed, ROWS, STARTS)
            types = graph.types(contexts[0])
            inputs = [draw(n, *types[n], k) for k, n in enumerate(graph.params)]
            first, *others = [results_of(c, graph, types, inputs) for c in contexts]
        except Refused as why:
            refused += 1
            print(f"seed {seed}: refused: {why}", flush=True)
            continue
        wrong = [run for run, made in zip(runs[1:], others) if made != first]
        differ += bool(wrong)
        if wrong:
            print(f"seed {seed}: other bits {wrong}", flush=True)
        if (seed - options.seed + 1) % 10 == 0:
            print(f"{seed - options.seed + 1} graphs so far, {differ} differ", flush=True)
    print(f"{options.graphs - refused} graphs with {options.threads} threads and for {len(runs)} runs each, {refused} refused: {differ} differ")
    return 1 if differ else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewfold", default=f"{ROOT}/build/viewfold")
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("ids", nargs="*", metavar="ID")
    options = parser.parse_args()
    threads = [int(t) for t in options.threads.split(",")]
    names = options.ids or sorted(os.path.basename(p)[:-3] for p in glob.glob(f"{ROOT}/frontend/workloads/*.vf"))
    runs = [(t, []) for t in threads]
    if options.targets:
        runs += [(threads[i % len(threads)], ["--target", text]) for i, text in enumerate(TARGETS)]
    if options.graphs:
        return drawn(options, runs)
    differ = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="viewfold-bits-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            write_inputs(name, folder)
            first = result(options.viewfold, *runs[0], name, folder)
            others = [run for run in runs[1:] if result(options.viewfold, *run, name, folder) != first]
        if others:
            differ.append(f"{name} {others}")
    made = f" and for {len(TARGETS)} descriptions" if options.targets else ""
    print(f"{len(names)} workloads with {options.threads} threads{made}: {len(names) - len(differ)} have the same bits", *differ)
    return 1 if differ else 0


sys.exit(main())
