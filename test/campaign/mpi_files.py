#!/usr/bin/env python3
"""Files of arrays on processes of a mesh that MPI has started: each process reads and writes its own parts.

usage: mpi_files.py VIEWFOLD [--mib N] [--launcher openmpi|mpich]...

An array of N MiB, in .npy and in safetensors, is read by 4 processes, each of which has a quarter of it; two results of its
size are written, one divided as the array is, one along both axes. The files are those of threads. The system counts what each
process has written, and how much memory it has had at most: at a sum, where nothing but the array is large, no more than a quarter of
it and what a process has anyway.
"""
import argparse
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

PROCESSES = 4
ROOM = 1 << 16  # bytes that a process writes and that are no elements: a header, a line of text, entries of the cache
COLUMNS = 1024
GRAPH = """mesh @m [x=2,y=2]
graph @copies(%x: f32[{rows},1024] @m[x.y,-]) {{
  %a = mul %x, 2.0
  %c = shard %a to=[y,x]
  return %a, %c
}}
graph @sums(%x: f32[{rows},1024] @m[x.y,-]) {{
  %s = sum %x axes=[1]
  return %s
}}
"""


def one(command):
    """As a process of MPI: runs the command, and writes what it has used."""
    number = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
    done = subprocess.run(command, close_fds=False)  # one of them leads to the launcher
    with open("/proc/self/io") as file:  # with that of children that have ended
        written = next(int(line.split()[1]) for line in file if line.startswith("wchar"))
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    with open(f"used.{number}", "w") as file:
        json.dump({"written": written, "most": most}, file)
    return done.returncode


def launched(name, command):
    launcher = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
                "mpich": ["mpirun.mpich"]}[name]
    return launcher + ["-n", str(PROCESSES), sys.executable, "-B", os.path.abspath(__file__), "--one"] + command


def used(folder):
    return [json.load(open(os.path.join(folder, f"used.{i}"))) for i in range(PROCESSES)]


def same_file(a, b):
    return subprocess.run(["cmp", a, b]).returncode == 0


def make_inputs(folder, rows):
    import numpy  # here, as processes of MPI do without, which start a hundred times
    array = numpy.random.default_rng(1).standard_normal((rows, COLUMNS), dtype="f4")
    numpy.save(os.path.join(folder, "x.npy"), array)
    header = json.dumps({"x": {"dtype": "F32", "shape": [rows, COLUMNS], "data_offsets": [0, array.nbytes]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(os.path.join(folder, "x.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        array.tofile(file)
    with open(os.path.join(folder, "g.vf"), "w") as file:
        file.write(GRAPH.format(rows=rows))
    return array


def trial(name, viewfold, folder, source, array, little):
    wrong = []
    run = [viewfold, "run", "g.vf", "--mesh", "x=2,y=2", "--in", f"x={source}", "--graph"]

    def start(graph, *out):
        done = subprocess.run(launched(name, run + [graph] + list(out)), cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            wrong.append(f"@{graph}: {done.stderr.strip()}")
        return done.returncode == 0
    if start("copies", "--out", "a=a.npy", "--out", "c=c.npy"):
        for i, u in enumerate(used(folder)):
            if not 0 <= u["written"] - little["written"] + ROOM - 2 * array.nbytes // PROCESSES <= 2 * ROOM:
                wrong.append(f"process {i} has written {u['written']} bytes; its parts have {2 * array.nbytes // PROCESSES}")
        for f in "ac":
            if not same_file(os.path.join(folder, f + ".npy"), os.path.join(folder, f + ".threads.npy")):
                wrong.append(f"{f}.npy is another file than by threads")
            os.remove(os.path.join(folder, f + ".npy"))
    if start("sums", "--out", "s=s.npy"):
        for i, u in enumerate(used(folder)):
            if u["most"] > little["most"] + array.nbytes // PROCESSES + (8 << 20):
                wrong.append(f"process {i} has had {u['most'] >> 20} MiB; {little['most'] >> 20} without an array")
        print(f"{name} {source}: " + ", ".join(f"{u['most'] / 2**20:.0f}" for u in used(folder)) + " MiB of "
              f"{array.nbytes >> 20} in memory at most", flush=True)
    left = [f for f in os.listdir(folder) if f.endswith(".tmp")]
    return wrong + ([f"left: {left}"] if left else [])


def little_of(name, viewfold, folder):
    """What a process uses, and the MPI in it, that runs a graph of a few elements."""
    with open(os.path.join(folder, "little.vf"), "w") as file:
        file.write("mesh @m [x=2,y=2]\ngraph @g(%x: f32[4] @m[x.y]) {\n  %s = sum %x axes=[0]\n  return %s\n}\n")
    for _ in range(2):  # the first one compiles
        subprocess.run(launched(name, [viewfold, "run", "little.vf", "--mesh", "x=2,y=2", "--in", "x=[1,1,1,1]"]), cwd=folder,
                       capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return max(used(folder), key=lambda u: u["most"])


def main():
    if sys.argv[1:2] == ["--one"]:
        return one(sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("viewfold")
    parser.add_argument("--mib", type=int, default=16)
    parser.add_argument("--launcher", action="append", choices=("openmpi", "mpich"))
    args = parser.parse_args()
    viewfold, failed, tried = os.path.abspath(args.viewfold), 0, 0
    folder = tempfile.mkdtemp(prefix="viewfold-mpi-")
    try:
        array = make_inputs(folder, args.mib * (1 << 20) // 4 // COLUMNS)
        for graph, out in (("copies", "ac"), ("sums", "s")):  # also compiles them
            command = [viewfold, "run", "g.vf", "--mesh", "x=2,y=2", "--in", "x=x.npy", "--graph", graph]
            subprocess.run(command + [w for o in out for w in ("--out", f"{o}={o}.threads.npy")], cwd=folder, check=True)
        for name in args.launcher or ("openmpi", "mpich"):
            module = os.path.join(os.path.dirname(viewfold), f"viewfold-mpi-{name}.so")
            if not shutil.which("mpirun." + name) or not os.path.exists(module):
                print(f"skip: no mpirun.{name}, or no {os.path.basename(module)}")
                continue
            little = little_of(name, viewfold, folder)
            for source in ("x.npy", "x.safetensors:x"):
                tried += 1
                wrong = trial(name, viewfold, folder, source, array, little)
                failed += bool(wrong)
                for w in wrong:
                    print(f"FAIL {name} {source}: {w}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"files of {args.mib} MiB in parts of 4 processes: {tried} tried, {failed} failed")
    return failed != 0 or not tried


if __name__ == "__main__":
    sys.exit(main())
