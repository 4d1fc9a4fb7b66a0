#!/usr/bin/env python3
"""The same bits for any number of threads, on every workload.

    same_bits.py [--viewfold CMD] [--threads 1,2,4] [ID ...]

Runs each graph of frontend/workloads on the same random inputs with each number of threads and compares the bytes of
all results. Exit status 1 when some differ.
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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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


def result(command, threads, name, folder):
    script = f"setup {name} {folder}\ndump {folder}/out.bin\nquit\n"
    done = subprocess.run(shlex.split(command) + ["bench", "--serve", "--threads", str(threads)], input=script, capture_output=True, text=True)
    if any(not line.startswith("ok") for line in done.stdout.split("\n")[:2]):
        sys.exit(f"same_bits.py: {name}: {done.stdout}{done.stderr}")
    with open(f"{folder}/out.bin", "rb") as f:
        return f.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewfold", default=f"{ROOT}/build/viewfold")
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("ids", nargs="*", metavar="ID")
    options = parser.parse_args()
    threads = [int(t) for t in options.threads.split(",")]
    names = options.ids or sorted(os.path.basename(p)[:-3] for p in glob.glob(f"{ROOT}/frontend/workloads/*.vf"))
    differ = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="viewfold-bits-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            write_inputs(name, folder)
            results = [result(options.viewfold, t, name, folder) for t in threads]
        if any(r != results[0] for r in results):
            differ.append(name)
    print(f"{len(names)} workloads with {options.threads} threads: {len(names) - len(differ)} have the same bits", *differ)
    return 1 if differ else 0


sys.exit(main())
