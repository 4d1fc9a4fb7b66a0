#!/usr/bin/env python3
"""What a model as an object file costs: bytes, its first call, a process, a later call beside libviewfold's.

    test/bench/ahead.py [--build build] [--graph test/bench/ahead/mlp.vf] [--pairs 500] [--target TARGET] [--directory DIRECTORY]

The graph is named mlp and has the arrays of ahead/arrays.h. Prints

    undefined names of the object, and its machine code beside the kernels in bytes
    the bytes of a program without a C library, linked with -nostdlib -static, as it is and stripped
    the first call in a static process, and the median of later ones, in microseconds: the fastest of 5 processes by their
    difference
    the medians of processes that call the model once and of empty ones, in turn, both static, and their ratio
    the medians of a call of the object and of vf_program_run, in turn in one process, one thread, and whether the bits are the
    same; without --target alone
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def output(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def build_programs(a, directory):
    path = lambda name: os.path.join(directory, name)
    output(os.path.join(a.build, "viewfold"), "build", a.graph, "-o", path("mlp.o"), "--header", path("mlp.h"),
           *(["--target", a.target] if a.target else []))
    cc = [os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-I", directory, "-I", ROOT]
    source = lambda name: os.path.join(HERE, "ahead", name)
    output(*cc, "-nostdlib", "-ffreestanding", "-static", source("bare.c"), path("mlp.o"), "-o", path("bare"))
    output(*cc, "-static", "-DMODEL", source("once.c"), path("mlp.o"), "-o", path("once"))
    output(*cc, "-static", source("once.c"), "-o", path("empty"))
    output(*cc, "-static", source("first.c"), path("mlp.o"), "-o", path("first"))
    output(*cc, source("against.c"), path("mlp.o"), "-L", a.build, "-lviewfold", "-Wl,-rpath," + os.path.abspath(a.build), "-o",
           path("against"))
    output("strip", "-o", path("stripped"), path("bare"))


def beside_kernels(path):
    """Bytes of functions that are no kernels: those with the model's name."""
    sizes = [line.split() for line in output("nm", "-S", "--defined-only", path).splitlines()]
    return sum(int(s[1], 16) for s in sizes if len(s) == 4 and s[2] in "tT" and re.match("mlp", s[3]))


def seconds(path):
    start = time.perf_counter()
    if os.waitpid(os.posix_spawn(path, [path], {}), 0)[1]:
        raise SystemExit(f"{path} failed")
    return time.perf_counter() - start


def measure(a, directory):
    path = lambda name: os.path.join(directory, name)
    print(f"undefined names: {len(output('nm', '-u', path('mlp.o')).split())}; code beside kernels: {beside_kernels(path('mlp.o'))} bytes")
    subprocess.run([path("bare")], check=True)
    print(f"without a C library: {os.path.getsize(path('bare'))} bytes, stripped {os.path.getsize(path('stripped'))}")
    first, later = min((tuple(map(float, output(path("first")).split())) for _ in range(5)), key=lambda t: t[0] - t[1])
    print(f"first call {first / 1e3:.2f} us, later ones {later / 1e3:.2f}, {(first - later) / 1e3:.2f} more")
    pairs = [(seconds(path("once")), seconds(path("empty"))) for _ in range(a.pairs)]
    once, empty = (statistics.median(p[k] for p in pairs) * 1e6 for k in range(2))
    print(f"process {once:.0f} us, empty {empty:.0f}, ratio {once / empty:.3f}, least {min(p[0] for p in pairs) / min(p[1] for p in pairs):.3f}")
    if a.target:
        return  # vf_program_run is for this processor
    one, library, bits = output(path("against"), a.graph, env={**os.environ, "VIEWFOLD_THREADS": "1"}).split()
    print(f"call {float(one) / 1e3:.2f} us, vf_program_run {float(library) / 1e3:.2f}, bits {bits}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--graph", default=os.path.join(HERE, "ahead", "mlp.vf"))
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--target")
    parser.add_argument("--directory", help="where the programs are left")
    a = parser.parse_args()
    if a.directory:
        os.makedirs(a.directory, exist_ok=True)
        build_programs(a, a.directory)
        return measure(a, a.directory)
    with tempfile.TemporaryDirectory() as directory:
        build_programs(a, directory)
        measure(a, directory)


if __name__ == "__main__":
    main()
