#!/usr/bin/env python3
"""Writes through views of an array of 1 GiB, f32[16384,16384], beside the same loops in C, NumPy and PyTorch in place.

    writes.py [--build build] [--rounds N] [--only NAME]

One thread. The programs take turns; times are medians of all rounds, in microseconds, each of as many calls as take about a
millisecond. Calls of the library and of the loops are timed in C, those of NumPy and PyTorch in Python, as they are made.
`ratio` is the library's time, less 0.2 us, over the better of C and NumPy; `torch` is the time over PyTorch's. `moves` is what
`viewfold explain` says a run moves, in bytes, beside what the view and the value have (the view twice where it is read). Then:
how often a run calls the allocator, by how many bytes the peak of resident memory grows during the runs, and how many pages
outside the view's rows change. Exit status 1 where a ratio is above 1.2, PyTorch is faster by more than a tenth, more is moved,
or memory is touched that is no part of the view.
"""
import argparse
import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

try:
    import torch
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "conform"))
import binding  # noqa: E402

N, PAGE, CALL_US = 16384, 4096, 0.2


class Write:
    """One write: its target in text, the same view of a NumPy or a PyTorch array, and rows of the array that it lies in."""

    def __init__(self, name, loop, shape, target, view, rows, adds=True, value="", transposed=lambda v: v):
        self.name, self.loop, self.shape, self.rows, self.adds = name, loop, shape, rows, adds
        self.view, self.transposed = view, transposed
        source = "%w" if value else "%v"
        op = " op=add" if adds else ""
        self.text = (f"graph @write(%a: ref f32[{N},{N}], %v: f32[{','.join(map(str, shape))}]) {{\n  %p = address %a\n"
                     f"{target}{value}  %a = assign %a, %t, {source}{op}\n  return\n}}\n")

    def least_bytes(self):
        """What the value and the view have; the view twice where it is read."""
        return 4 * int(np.prod(self.shape)) * (3 if self.adds else 2)

    def numpy(self, a, v):
        view = self.view(a)
        if self.adds:
            view += self.transposed(v)
        else:
            view[...] = self.transposed(v)

    def torch(self, a, v):
        if self.name == "flipped +=":  # a view cannot be flipped
            self.view(a).add_(v.flip(0, 1))
        elif self.adds:
            self.view(a).add_(v)
        else:
            self.view(a).copy_(self.transposed(v))


def block(rows, columns, name="t"):
    return f"  %{name} = shrink %p bounds=[[{rows[0]},{rows[1]}],[{columns[0]},{columns[1]}]]\n"


def at(rows, columns):
    return lambda a: a[slice(*rows), slice(*columns)]


SMALL, EVEN, SQUARE, TALL = ((100, 164), (256, 320)), ((100, 2148), (256, 2304)), ((100, 1124), (256, 1280)), ((100, 4196), (256, 1280))
WRITES = [
    Write("64x64 block", "write_block", (64, 64), block(*SMALL), at(*SMALL), SMALL[0], adds=False),
    Write("64x64 block +=", "write_block_add", (64, 64), block(*SMALL), at(*SMALL), SMALL[0]),
    Write("one row", "write_row", (N,), "  %t = point %p index=5000 axis=0\n", lambda a: a[5000], (5000, 5001), adds=False),
    Write("column slab +=", "write_slab", (N, 64), block((0, N), (128, 192)), at((0, N), (128, 192)), (0, N)),
    Write("every second +=", "write_strided", (1024, 1024), block(*EVEN, "b") + "  %t = stride %b steps=[2,2]\n",
          lambda a: a[100:2148:2, 256:2304:2], EVEN[0]),
    Write("transposed", "write_transposed", (1024, 1024), block(*SQUARE), at(*SQUARE), SQUARE[0], adds=False,
          value="  %w = permute %v order=[1,0]\n", transposed=lambda v: v.T),
    Write("flipped +=", "write_flipped", (4096, 1024), block(*TALL, "b") + "  %t = flip %b axes=[0,1]\n",
          lambda a: at(*TALL)(a) if torch and isinstance(a, torch.Tensor) else at(*TALL)(a)[::-1, ::-1], TALL[0]),
]


def compile_loops(folder):
    made = os.path.join(folder, "write_loops.so")
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", made, os.path.join(HERE, "write_loops.c")], check=True)
    loops = ctypes.CDLL(made)
    for name in ("seconds_of_loop", "seconds_of_program"):
        getattr(loops, name).restype = ctypes.c_double
    return loops


class Programs:
    """A context of the library whose allocator counts its calls."""

    def __init__(self, build, loops):
        self.calls = ctypes.c_uint64(0)
        self.context = binding.Context(build)  # declares functions
        options = binding._Options(size=ctypes.sizeof(binding._Options), threads=1, flags=1,
                                   allocator=ctypes.cast(loops.counting_allocator, ctypes.c_void_p),
                                   allocator_user=ctypes.cast(ctypes.pointer(self.calls), ctypes.c_void_p))
        self.context.raw = self.context.must(self.context.c.vf_context_create, ctypes.byref(options))

    def compile(self, text, graph=None):
        return self.context.must(self.context.c.vf_compile, self.context.parse(text, graph))


def aligned(shape):
    """Zeros that begin at a cache line."""
    size, line = int(np.prod(shape)), 16
    memory = np.zeros(size + line, np.float32)
    start = -(memory.ctypes.data // 4) % line
    return memory[start:start + size].reshape(shape)


def python_seconds(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def moved_bytes(build, text):
    """What explain says the kernels of the program read and write, in bytes; None where it has no kernels."""
    with tempfile.NamedTemporaryFile("w", suffix=".vf") as file:
        file.write(text)
        file.flush()
        said = subprocess.run([os.path.join(build, "viewfold"), "explain", "--kernel", "all", "--threads", "1", file.name], capture_output=True,
                              text=True, check=True).stdout
    return sum(int(r) + int(w) for r, w in re.findall(r"moves +(\d+) bytes to read, (\d+) to write", said))


def status_bytes(field):
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", file.read()).group(1))


def page_digests(a):
    data = memoryview(a.reshape(-1).view(np.uint8))
    return np.array([zlib.crc32(data[k:k + PAGE]) for k in range(0, len(data), PAGE)], np.uint32)


def check_memory(write, run, a, calls):
    """Calls of the allocator, growth of the peak of resident memory in bytes, and changed pages outside the view's rows."""
    before, allocated = page_digests(a), calls.value
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is what there is
    resident = status_bytes("VmHWM")
    for _ in range(31):
        run(1)
    grown, allocated = status_bytes("VmHWM") - resident, calls.value - allocated
    changed = np.flatnonzero(before != page_digests(a)) * PAGE // (4 * N)
    return allocated, grown, int(np.sum((changed < write.rows[0]) | (changed >= write.rows[1])))


def same_result(write, loop, run, a, v):
    """Does a run store what the loop in C stores?"""
    rows = slice(*write.rows)
    old = a[rows].copy()
    loop(1)
    wanted, a[rows] = a[rows].copy(), old
    run(1)
    return np.array_equal(a[rows], wanted)


def measure(write, options, loops, programs, a):
    v = aligned(write.shape)
    v[...] = np.random.default_rng(1).integers(-8, 8, write.shape)
    program = programs.compile(write.text)
    inputs = binding.pointers([a, v])
    tensor, value = (torch.from_numpy(a), torch.from_numpy(v)) if torch else (None, None)
    of_loop, of_program, loop = loops.seconds_of_loop, loops.seconds_of_program, getattr(loops, write.loop)
    array, values = ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(v.ctypes.data)
    runners = [lambda n: of_program(programs.context.c.vf_program_run, ctypes.c_void_p(program), inputs, None, n),
               lambda n: of_loop(loop, array, values, n),
               lambda n: python_seconds(lambda: write.numpy(a, v), n)]
    if torch:
        runners.append(lambda n: python_seconds(lambda: write.torch(tensor, value), n))
    if runners[0](1) < 0 or not same_result(write, runners[1], runners[0], a, v):
        sys.exit(f"{write.name}: a run fails, or stores something else than the loop in C")
    memory = check_memory(write, runners[0], a, programs.calls)
    calls = [max(1, min(1000, int(1e-3 / run(3)))) for run in runners]
    times = [[] for _ in runners]
    for _ in range(options.rounds):
        for k, run in enumerate(runners):
            run(1)  # caches as this program leaves them
            times[k].append(run(calls[k]) * 1e6)
    programs.context.c.vf_program_destroy(program)
    return [statistics.median(t) for t in times], memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if torch:
        torch.set_num_threads(1)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        loops = compile_loops(folder)
    programs = Programs(options.build, loops)
    a = aligned((N, N))
    a[...] = np.arange(N, dtype=np.float32)  # every page is there
    print(f"{'':16} {'viewfold':>9} {'C':>9} {'NumPy':>9} {'PyTorch':>9} {'ratio':>6} {'torch':>6} {'moves':>9} {'least':>9} "
          f"{'allocs':>6} {'grows':>6} {'pages':>5}")
    for write in WRITES:
        if options.only not in write.name:
            continue
        times, (allocated, grown, pages) = measure(write, options, loops, programs, a)
        ratio, moved = (times[0] - CALL_US) / min(times[1:3]), moved_bytes(options.build, write.text)
        beside = times[0] / times[3] if torch else None
        bad += (ratio > 1.2 or (beside or 0) > 1.1 or moved > write.least_bytes() or allocated > 0 or grown >= 1 << 20 or pages > 0)
        shown = " ".join(f"{t:9.2f}" for t in times) + ("" if torch else f" {'-':>9}")
        print(f"{write.name:16} {shown} {ratio:6.2f} {beside or 0:6.2f} {moved:9} {write.least_bytes():9} {allocated:6} {grown:6} {pages:5}",
              flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
