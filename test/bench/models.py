#!/usr/bin/env python3
"""Whole models, exported to ONNX, in viewfold and its peers.

    models.py [--build build] [--threads N] [--rounds N] [--folder DIR] [--python PYTHON] [--libraries A,B] [--drawn N --seed N] [NAME ...]

Names are those of zoo/models.py, without any the ten of MODELS; --drawn takes so many others by a seed. Each library runs in
a process of its own (zoo/worker.py), by an interpreter that has it; processes take turns, a round each, of a fifth of a
second or three runs, the first of which does not count. Prints the medians of the rounds' medians in milliseconds, what the
fastest peer takes of viewfold's time, the largest difference of viewfold's first result from ONNX Runtime's (relative to
the largest element), and peak memory. `stored` is viewfold with `stored` behind norms, activations and head splits: a hint
that should be worth nothing. Exit status 1 when a result differs by more than 1e-4.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ["viewfold", "stored", "onnxruntime", "eager", "inductor"]
OURS = LIBRARIES[:2]
ROUND_MS, LEAST_RUNS, MOST_RUNS = 200, 3, 1000
TOLERANCE = 1e-4


class Worker:
    def __init__(self, options, library, name):
        python = sys.executable if library in OURS else options.python
        command = [python, os.path.join(HERE, "zoo", "worker.py"), library, name, options.folder, str(options.threads)]
        self.peer, self.medians = library, []
        threads = {"OMP_NUM_THREADS": str(options.threads), "TOKENIZERS_PARALLELISM": "false"}
        self.process = subprocess.Popen(command + ([os.path.abspath(options.build)] if library in OURS else []), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **threads})
        word, _, rest = self.process.stdout.readline().partition(" ")
        self.lacks = rest.strip() or "it ended" if word != "ready" else None
        if not self.lacks:
            once = statistics.median(self.ask("run 3"))
            self.runs = max(LEAST_RUNS, min(MOST_RUNS, int(ROUND_MS / once)))

    def ask(self, request):
        """The numbers of the answer."""
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return [float(n) for n in self.process.stdout.readline().split()[1:]]

    def take_turn(self):
        self.medians.append(statistics.median(self.ask(f"run {self.runs}")[1:]))

    def ms(self):
        return statistics.median(self.medians)

    def result(self, folder):
        path = os.path.join(folder, self.peer + ".npy")
        self.ask(f"result {path}")
        return np.load(path).astype(np.float64)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def difference(got, want):
    if got.size != want.size:
        return math.inf
    return float(np.max(np.abs(got.reshape(want.shape) - want)) / max(np.max(np.abs(want)), 1e-30))


def measure(options, name):
    """{library: worker}, and how far viewfold's result is from ONNX Runtime's"""
    made = {library: Worker(options, library, name) for library in options.libraries.split(",")}
    running = {library: w for library, w in made.items() if not w.lacks}
    for k in range(options.rounds):
        for worker in list(running.values())[:: 1 if k % 2 else -1]:
            worker.take_turn()
    off = math.nan
    if {"viewfold", "onnxruntime"} <= set(running):
        with tempfile.TemporaryDirectory() as folder:
            off = difference(running["viewfold"].result(folder), running["onnxruntime"].result(folder))
    for worker in running.values():
        worker.mib = worker.ask("memory")[0]
    for worker in made.values():
        worker.close()
    return made, off


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", default="build/bench/models", help="where exported models are kept")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has PyTorch and ONNX Runtime")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--drawn", type=int, default=0, help="so many models besides those named, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    options.folder, listing = os.path.abspath(options.folder), f"from zoo.models import MODELS, drawn; print(*drawn({options.seed}, {options.drawn}))"
    names = options.names
    if not names or options.drawn:
        if not names and not options.drawn:
            listing = "from zoo.models import MODELS; print(*MODELS)"
        names = names + subprocess.run([options.python, "-c", listing], cwd=HERE, check=True, capture_output=True, text=True).stdout.split()
    libraries, faster, wrong = options.libraries.split(","), [], 0
    print(f"{'ms':22}" + "".join(f"{library:>13}" for library in libraries) + "    best/ours  stored/ours    differs   MiB each", flush=True)
    for name in names:
        exported = subprocess.run([options.python, os.path.join(HERE, "zoo", "export.py"), options.folder, name],
                                  capture_output=True, text=True)
        if exported.returncode:
            print(f"{name:22} not exported: {exported.stderr.strip().splitlines()[-1][:120]}", flush=True)
            continue
        made, off = measure(options, name)
        times = {library: w.ms() for library, w in made.items() if not w.lacks}
        peers = [ms for library, ms in times.items() if library not in OURS]
        best = min(peers) / times["viewfold"] if peers and "viewfold" in times else math.nan
        hint = times["stored"] / times["viewfold"] if set(OURS) <= set(times) else math.nan
        if not math.isnan(best):
            faster.append(best)
        wrong += off > TOLERANCE
        print(f"{name:22}" + "".join(f"{times[n]:13.3f}" if n in times else f"{'lacks':>13}" for n in libraries) +
              f"{best:13.2f}{hint:13.2f}{off:11.1e}   " + " ".join(f"{w.mib:.0f}" if not w.lacks else "-" for w in made.values()), flush=True)
        for library, worker in made.items():
            if worker.lacks:
                print(f"  {library}: {worker.lacks}", flush=True)
    if faster:
        print(f"{len(faster)} models: geometric mean {math.exp(sum(map(math.log, faster)) / len(faster)):.2f}, least {min(faster):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
