#!/usr/bin/env python3
"""Predicted against measured times of kernels.

    predicted.py [--build build] [--threads N] [--least US] [--worst N] [--turns N] [--graphs N] [--seed N] [FILE ...]

Runs `viewfold explain` on graphs and models, and on as many random ones as --graphs says (those of stored.py, every second
one with `stored` behind operations), and compares `expects` with `took` of the kernels that take at least --least
microseconds. With --turns everything is run so often, in turn, and the least `took` of a kernel counts: other programs only
add to it. Prints the distribution and the kernels that are furthest off. Exit status 1 where less than 95 % are within a
factor of 1.5, or one is off by 3.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conform")]

WITHIN, SHARE, OFF = 1.5, 0.95, 3.0


def kernels_of(command, path, threads):
    """{name: (took, expects, what it computes)}, in milliseconds"""
    done = subprocess.run([command, "explain", "--kernel", "all", "--threads", str(threads), path], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{path}: {done.stderr.strip()}", file=sys.stderr)
    found, name = {}, os.path.splitext(os.path.basename(path))[0]
    for block in done.stdout.split("\n\n"):
        number = re.search(r"^kernel (\d+) -> (.*)", block, re.M)
        times = [re.search(rf"^  {key} +([\d.e+-]+) ms", block, re.M) for key in ("took", "expects")]
        if not number or not all(times):
            continue
        fused = re.search(r"^  fuses +(.*)", block, re.M)
        found[f"{name}.{number[1]}"] = float(times[0][1]), float(times[1][1]), fused[1] if fused else number[2]
    return found


def draw(build, count, seed, folder):
    from binding import Refused
    from storing import case
    from storing.maker import draw_graph
    from storing.rows import ROWS, STARTS
    from storing.text import FORMS

    context, forms = case.Contexts(build, folder).of(1), list(FORMS.values())
    for k in range(seed, seed + count):
        try:
            graph = draw_graph(context, k, ROWS, STARTS)
        except Refused:
            continue
        path = os.path.join(folder, f"seed{k}.vf")
        with open(path, "w", encoding="utf-8") as file:
            file.write((forms[k // 2 % len(forms)](graph) if k % 2 else graph).text())
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--least", type=float, default=20)
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    command, found = os.path.join(options.build, "viewfold"), {}
    with tempfile.TemporaryDirectory(prefix="viewfold-predicted-") as folder:
        drawn = draw(options.build, options.graphs, options.seed, folder) if options.graphs else ()
        for path in [*options.files, *drawn] * options.turns:
            for name, times in kernels_of(command, path, options.threads).items():
                found[name] = min(times, found.get(name, times))
    rows = [(name, *times) for name, times in found.items() if times[0] >= options.least / 1000]
    if not rows:
        print("no kernel takes long enough")
        return 1
    off = lambda row: max(row[2] / row[1], row[1] / row[2])
    for row in sorted(rows, key=off, reverse=True)[:options.worst]:
        print(f"{row[0]:24} took {row[1]:9.4f} ms, expected {row[2]:9.4f}, {row[2] / row[1]:5.2f} times  {row[3][:80]}")
    ratios = sorted(row[2] / row[1] for row in rows)
    at = lambda share: ratios[min(int(share * len(ratios)), len(ratios) - 1)]
    print("expected / took: " + ", ".join(f"{100 * s:.0f} % {at(s):.2f}" for s in (0.05, 0.25, 0.5, 0.75, 0.95)))
    share, wrong = sum(off(row) <= WITHIN for row in rows) / len(rows), sum(off(row) > OFF for row in rows)
    print(f"{len(rows)} kernels, {100 * share:.1f} % within a factor of {WITHIN}, {wrong} off by more than {OFF:.0f}")
    return 1 if share < SHARE or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
