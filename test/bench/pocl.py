#!/usr/bin/env python3
"""The OpenCL backend on the CPU compared with the LLVM backend: the same workloads, in turn, with arrays in
each device's memory.

    python3 test/bench/pocl.py [--build build] [--device opencl] [--threads N] [--repetitions 3] [--seconds 0.3] [--json FILE] [IDS]

Prints for each of the workloads of views, elementwise operations and reductions (frontend/workloads/)
milliseconds of both, the best of the repetitions, and how many times as fast OpenCL is as LLVM; then the
geometric mean. The bar is 0.7 for the mean and 0.5 for each; status 1 where it is missed, or something fails.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

RANGES = {"V6": "0:50257", "E2log": "0.01:10", "R1": "0:1", "R2": "0:1", "R3": "0:1"}


def known(folder):
    names = [name[:-3] for name in os.listdir(folder) if name.endswith(".vf") and name[0] in "VER"]
    return sorted(names, key=lambda n: ("VER".index(n[0]), int("".join(c for c in n if c.isdigit())), n))


def run(options, name, device, environment):
    command = [os.path.join(options.build, "bench", "bench_device"), "--device", device, "--seconds", str(options.seconds),
               "--samples", "16", "--range", RANGES.get(name, "-1:1"), os.path.join(options.graphs, name + ".vf"), "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": (done.stderr or "status %d" % done.returncode).strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--graphs", default="frontend/workloads")
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--json", default="")
    parser.add_argument("ids", nargs="*")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, VIEWFOLD_CACHE_DIR=cache)
        if options.threads:
            environment["VIEWFOLD_THREADS"] = environment["POCL_MAX_PTHREAD_COUNT"] = str(options.threads)
        print("%-8s %10s %10s %8s" % ("", "LLVM ms", "OpenCL ms", "ratio"))
        for name in options.ids or known(options.graphs):
            row = {"id": name}
            for _ in range(options.repetitions):
                for device in ("cpu", options.device):
                    line = run(options, name, device, environment)
                    if "ms" in line:
                        row[device] = min(line["ms"], row.get(device, math.inf))
                    else:
                        row["error"] = device + ": " + line["error"]
            if "error" not in row:
                row["ratio"] = row["cpu"] / row[options.device]
                print("%-8s %10.4f %10.4f %8.2f%s" % (name, row["cpu"], row[options.device], row["ratio"],
                                                     "  below 0.5" if row["ratio"] < 0.5 else ""), flush=True)
            else:
                print("%-8s %s" % (name, row["error"]), flush=True)
            rows.append(row)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0
    print("geometric mean of %d: %.3f (bar 0.7); %d below 0.5" % (len(ratios), mean, sum(r < 0.5 for r in ratios)))
    if options.json:
        with open(options.json, "w") as f:
            json.dump({"mean": mean, "rows": rows}, f, indent=1)
    sys.exit(0 if mean >= 0.7 and len(ratios) == len(rows) and min(ratios) >= 0.5 else 1)


if __name__ == "__main__":
    main()
