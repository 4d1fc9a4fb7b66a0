#!/usr/bin/env python3
"""Checks and times graphs on an OpenCL device: test/bench/gpu.sh runs this after building.

    python3 test/bench/gpu.py [--build build] [--device opencl] [--mib 1024] [--product 4096] [--seconds 0.5]
                              [--only IDS] [--torch cuda|cpu|none] [--json build/gpu.json] [--time SECONDS]

Every workload is run twice: at a small odd shape, where all of the results are checked, and at one of --mib
MiB of inputs at least, where results are checked at random places. The checks are NumPy's, in float64
(float32, step by step and to the last bit, for E1); without NumPy there are none, and that is said. Prints a
table; --json keeps the same for programs. Status 1 where a result is wrong or a workload failed; missed bars
are named but are no failure, nor are workloads that --time left out.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    np = None

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = 0.02  # MiB of inputs of a check
ENOUGH = 15  # seconds that must be left to begin a workload


# ---- inputs, as bench_device makes them


class Inputs:
    """Elements of inputs by flat index."""

    def __init__(self, lo, hi, dtype="f32"):
        self.lo, self.hi, self.dtype = lo, hi, dtype

    def __call__(self, k, index):
        factor = np.uint32((2654435761 + 2 * k) & 0xFFFFFFFF)
        h = ((np.asarray(index).astype(np.uint64) + np.uint64(1)).astype(np.uint32) * factor) >> np.uint32(8)
        x = np.float32(self.lo) + h.astype(np.float32) * np.float32(2.0**-24) * np.float32(self.hi - self.lo)
        return as_bf16(x) if self.dtype == "bf16" else x


def as_bf16(x):
    """Rounded to bfloat16, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    bits = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


# ---- workloads: a function of MiB of inputs gives the text of a graph, the bytes that have to move (or operations on
# floats), and a function from inputs and flat indices of the result to expected elements


class Work:
    def __init__(self, text, at, count, bytes=0, flops=0, lo=-1, hi=1, tolerance=0.0, samples=4096, dtype="f32"):
        self.text, self.at, self.count, self.bytes, self.flops = text, at, count, bytes, flops
        self.inputs = Inputs(lo, hi, dtype)
        self.lo, self.hi, self.tolerance, self.samples, self.dtype = lo, hi, tolerance, samples, dtype


def elements(mib):
    return mib * 2**20 / 4


def side(mib):
    """The side of a square: a multiple of 32 where it is large, odd where it is small."""
    n = math.sqrt(elements(mib))
    return math.ceil(n / 32) * 32 if n > 256 else int(n) | 1


def rows(mib, columns):
    n = elements(mib) / columns
    return math.ceil(n / 32) * 32 if n > 256 else int(n) | 1


def length(mib):
    n = math.ceil(elements(mib))
    return n if n > 2**16 else n | 1


def graph(name, inputs, *lines):
    return "graph @%s(%s) {\n%s}\n" % (name, inputs, "".join("  %s\n" % line for line in lines + ("return %y",)))


def v1(mib):
    n = side(mib)
    return Work(graph("V1", "%%x: f32[%d,%d]" % (n, n + 1 if n < 256 else n), "%y = permute %x order=[1,0]"),
                lambda x, p: x(0, p % n * (n + 1 if n < 256 else n) + p // n),
                n * (n + 1 if n < 256 else n), bytes=8 * n * (n + 1 if n < 256 else n))


def v2(mib):
    b = max(1, round(elements(mib) / (56 * 56 * 64)))
    h = 56 if mib > 1 else 9
    def at(x, p):
        n, c, s = p // (64 * h * h), p // (h * h) % 64, p % (h * h)
        return x(0, (n * h * h + s) * 64 + c)
    return Work(graph("V2", "%%x: f32[%d,%d,%d,64]" % (b, h, h), "%y = permute %x order=[0,3,1,2]"), at,
                b * h * h * 64, bytes=8 * b * h * h * 64)


def v4(mib):
    n = side(mib)
    def at(x, p):
        i, j = p // n, p % n
        inside = (i >= 1) & (j >= 1)
        return np.where(inside, x(0, np.where(inside, (n - i) * n + (n - j), 0)), np.float32(0)) + x(0, p)
    return Work(graph("V4", "%%x: f32[%d,%d]" % (n, n), "%p = pad %x pads=[[1,1],[1,1]]", "%f = flip %p axes=[0,1]",
                      "%%s = shrink %%f bounds=[[0,%d],[0,%d]]" % (n, n), "%y = add %s, %x"), at, n * n, bytes=8 * n * n)


def v9(mib):
    n = side(mib)
    return Work(graph("V9", "%%x: f32[%d,%d]" % (2 * n, n), "%y = stride %x steps=[2,-1]"),
                lambda x, p: x(0, p // n * 2 * n + (n - 1 - p % n)), n * n, bytes=8 * n * n)


def e1(mib):
    n = length(mib / 2)
    def at(x, p):
        f, a, b = np.float32, x(0, p), x(1, p)
        return np.sqrt(np.abs(np.maximum(a * b + a, f(0)) * f(0.5) - b)) + f(1)
    return Work(graph("E1", "%%x: f32[%d], %%z: f32[%d]" % (n, n), "%a = mul %x, %z", "%b = add %a, %x",
                      "%c = max %b, 0.0", "%d = mul %c, 0.5", "%e = sub %d, %z", "%f = abs %e", "%g = sqrt %f",
                      "%y = add %g, 1.0"), at, n, bytes=12 * n)


def e2(name, lo, hi, function):
    def make(mib):
        n = length(mib)
        return Work(graph("E2" + name, "%%x: f32[%d]" % n, "%%y = %s %%x" % name),
                    lambda x, p: function(x(0, p).astype(np.float64)), n, bytes=8 * n, lo=lo, hi=hi, tolerance=2e-6)
    return make


def erf(x):
    return np.vectorize(math.erf)(x)


def r1(mib):
    n = length(mib)
    def at(x, p):
        step = 1 << 24
        return np.array([sum(float(x(0, np.arange(b, min(b + step, n), dtype=np.uint64)).sum(dtype=np.float64))
                             for b in range(0, n, step))])
    return Work(graph("R1", "%%x: f32[%d]" % n, "%s = sum %x axes=[0]", "%y = reshape %s shape=[1]"), at, 1,
                bytes=4 * n, lo=0, tolerance=1e-5)


def r2(mib):
    n = side(mib)
    m = n + 2 if n < 256 else n
    def at(x, p):
        return x(0, p[:, None] * m + np.arange(m)[None, :]).sum(axis=1, dtype=np.float64)
    return Work(graph("R2", "%%x: f32[%d,%d]" % (n, m), "%y = sum %x axes=[1]"), at, n, bytes=4 * n * m, lo=0,
                tolerance=1e-5, samples=256)


def r3(mib):
    n = side(mib)
    m = n + 2 if n < 256 else n
    def at(x, p):
        return x(0, np.arange(n)[None, :] * m + p[:, None]).sum(axis=1, dtype=np.float64)
    return Work(graph("R3", "%%x: f32[%d,%d]" % (n, m), "%y = sum %x axes=[0]"), at, m, bytes=4 * n * m, lo=0,
                tolerance=1e-5, samples=256)


def row_of(x, p, width):
    return x(0, p[:, None] // width * width + np.arange(width)[None, :]).astype(np.float64)


def r4(mib):
    m = 1024 if mib > 1 else 39
    n = rows(mib, m)
    def at(x, p):
        e = np.exp(row_of(x, p, m))
        return e[np.arange(len(p)), p % m] / e.sum(axis=1)
    return Work(graph("R4", "%%x: f32[%d,%d]" % (n, m), "%y = softmax %x axis=-1"), at, n * m, bytes=8 * n * m, lo=-4, hi=4,
                tolerance=1e-5, samples=512)


def r5(mib):
    m = 768 if mib > 1 else 39
    n = rows(mib, m)
    def at(x, p):
        r = row_of(x, p, m)
        c = r[np.arange(len(p)), p % m] - r.mean(axis=1)
        return c / np.sqrt(r.var(axis=1) + 1e-5) * x(1, p % m) + x(2, p % m)
    return Work(graph("R5", "%%x: f32[%d,%d], %%w: f32[%d], %%b: f32[%d]" % (n, m, m, m),
                      "%n = layer_norm %x axis=-1 eps=1e-5", "%s = mul %n, %w", "%y = add %s, %b"), at, n * m,
                bytes=8 * n * m, tolerance=2e-5, samples=512)


def product(dtype, tolerance):
    def make(n):
        def at(x, p):
            k = np.arange(n)[None, :]
            a = x(0, p[:, None] // n * n + k).astype(np.float64)
            return (a * x(1, k * n + p[:, None] % n)).sum(axis=1)
        return Work(graph("M_" + dtype, "%%a: %s[%d,%d], %%b: %s[%d,%d]" % (dtype, n, n, dtype, n, n),
                          "%y = matmul %a, %b"), at, n * n, flops=2.0 * n**3, bytes=12 * n * n, tolerance=tolerance,
                    samples=256, dtype=dtype)
    return make


def launches(count):
    """`count` products, one after the other, none of which can be fused with another."""
    def make(_):
        lines = ["%p0 = mul %x, 0.0625"]
        lines += ["%%p%d = matmul %%p%d, %%x" % (i + 1, i) for i in range(count)]
        lines += ["%%y = add %%p%d, 1.0" % count]
        def at(x, p):
            a = x(0, np.arange(256)).reshape(16, 16).astype(np.float64)
            y = a * 0.0625
            for _ in range(count):
                y = y @ a
            return (y + 1).reshape(-1)[p]
        return Work(graph("launches", "%x: f32[16,16]", *lines), at, 256, lo=-0.125, hi=0.125, tolerance=1e-4)
    return make


# ID, how it is made, what its bar compares: bandwidth with that of a copy, time with PyTorch's, or
# microseconds
WORK = [
    ("V1", v1, "copy", 0.85), ("V2", v2, "copy", 0.85), ("V4", v4, "copy", 0.85), ("V9", v9, "copy", 0.85),
    ("E1", e1, "copy", 0.85), ("E2exp", e2("exp", -5, 5, lambda x: np.exp(x)), "copy", 0.85),
    ("E2log", e2("log", 0.01, 10, lambda x: np.log(x)), "copy", 0.85),
    ("E2tanh", e2("tanh", -3, 3, lambda x: np.tanh(x)), "copy", 0.85), ("E2erf", e2("erf", -3, 3, erf), "copy", 0.85),
    ("E2sin", e2("sin", -10, 10, lambda x: np.sin(x)), "copy", 0.85),
    ("R1", r1, "copy", 0.85), ("R2", r2, "copy", 0.85), ("R3", r3, "copy", 0.85),
    ("R4", r4, "copy", 0.85), ("R5", r5, "copy", 0.85),
    ("M_f32", product("f32", 1e-5), "torch", 0.6), ("M_bf16", product("bf16", 1e-2), "torch", 0.4),
    ("launch1", launches(0), "us", 5), ("launch64", launches(64), "us", 5),
]
ALSO_TORCH = {"R4": 1.0, "R5": 1.0}  # must also be at least as fast as PyTorch eager


# ---- running


def within(options):
    """Seconds that the next program may take."""
    return max(1, min(options.limit, options.end - time.time()))


def bench(options, work, seconds, everything=False):
    """A line of bench_device's, with the errors of its results added."""
    with tempfile.TemporaryDirectory() as place:
        graph_file, samples = os.path.join(place, "graph.vf"), os.path.join(place, "samples")
        with open(graph_file, "w") as f:
            f.write(work.text)
        count = work.count if everything else work.samples
        command = [os.path.join(options.build, "bench", "bench_device"), "--device", options.device, "--seconds",
                   str(seconds), "--samples", str(count), "--range", "%r:%r" % (work.lo, work.hi), graph_file, samples]
        limit = within(options)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"error": "not done after %d s" % limit}
        try:
            line = json.loads(done.stdout.strip().splitlines()[-1])
        except (IndexError, ValueError):
            return {"error": (done.stderr or done.stdout or "no answer, status %d" % done.returncode).strip()}
        if "error" not in line and np is not None:
            line.update(compare(work, samples, count))
        return line


def compare(work, samples, count):
    raw = np.fromfile(samples, np.uint16 if work.dtype == "bf16" else np.float32)
    got = (raw.astype(np.uint32) << np.uint32(16)).view(np.float32) if work.dtype == "bf16" else raw
    if work.count <= count:
        at = np.arange(work.count, dtype=np.int64)
    else:
        at = np.array([s * 2654435761 % work.count for s in range(count)], np.int64)
    with np.errstate(over="ignore"):
        want = np.concatenate([np.atleast_1d(work.at(work.inputs, at[b:b + 1024])) for b in range(0, len(at), 1024)])
    if got.shape != want.shape:
        return {"wrong": "%d elements, expected %d" % (got.size, want.size)}
    if work.tolerance == 0:
        different = np.flatnonzero(got.view(np.uint32) != want.astype(np.float32).view(np.uint32))
        return {"wrong": "%d of %d elements differ" % (different.size, got.size)} if different.size else {"error_max": 0.0}
    worst = float(np.max(np.abs(got - want)) / np.max(np.abs(want))) if got.size else 0.0
    return {"error_max": worst} if worst <= work.tolerance else {"wrong": "error %.2e of the largest" % worst}


def torch_times(options, shapes):
    if options.torch == "none":
        return {}, "not asked for"
    command = [sys.executable, os.path.join(HERE, "gpu_torch.py"), "--device", options.torch, "--seconds",
               str(options.seconds)] + ["--%s=%s" % item for item in shapes.items()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=within(options))
        if done.returncode == 0:
            return json.loads(done.stdout.strip().splitlines()[-1]), None
        return {}, (done.stderr.strip().splitlines() or ["status %d" % done.returncode])[-1]
    except (subprocess.TimeoutExpired, IndexError, ValueError) as problem:
        return {}, str(problem)


def size_of(options, name):
    return options.product if name.startswith("M_") else options.mib


def measure(options, name, make, copy, peers):
    """A row: what was checked, measured and compared."""
    small = bench(options, make(33 if name.startswith("M_") else SMALL), 0.001, everything=True)
    work = make(size_of(options, name))
    row = dict(id=name, **bench(options, work, options.seconds))
    row.pop("graph", None)
    for what in ("error", "wrong"):
        if what in small:
            row[what] = "at a small shape: " + small[what]
    if "ms" not in row:
        return row
    seconds = row["ms"] * 1e-3
    row["gbs"], row["gflops"] = work.bytes / seconds * 1e-9, work.flops / seconds * 1e-9
    row["us_per_kernel"] = row["ms"] * 1e3 / max(1, row["kernels"])
    if copy:
        row["of_copy"] = row["gbs"] / copy
    if name in peers:
        row["torch_ms"], row["of_torch"] = peers[name], peers[name] / row["ms"]
    return row


def bars(row, kind, bar):
    """The bars that a row misses, in words."""
    if "ms" not in row:
        return []
    missed = []
    if kind == "copy" and row.get("of_copy", bar) < bar:
        missed.append("%.2f of the copy's bandwidth, bar %.2f" % (row["of_copy"], bar))
    if kind == "torch" and row.get("of_torch", bar) < bar:
        missed.append("%.2f of PyTorch's speed, bar %.2f" % (row["of_torch"], bar))
    if kind == "us" and row["us_per_kernel"] > bar:
        missed.append("%.1f us a kernel, bar %g" % (row["us_per_kernel"], bar))
    also = ALSO_TORCH.get(row["id"])
    if also and row.get("of_torch", also) < also:
        missed.append("%.2f of PyTorch's speed, bar %.2f" % (row["of_torch"], also))
    return missed


def cell(row, key, form):
    return form % row[key] if row.get(key) else "-"


def show(row):
    said = row.get("error") or (row.get("wrong") and "WRONG: " + row["wrong"]) or "; ".join(row["missed"])
    print("%-9s %9s %9s %8s %8s %7s %9s %8s %9s  %s" % (
        row["id"], cell(row, "ms", "%.4f"), cell(row, "gbs", "%.1f"), cell(row, "gflops", "%.0f"),
        cell(row, "of_copy", "%.2f"), cell(row, "kernels", "%d"), cell(row, "us_per_kernel", "%.2f"),
        cell(row, "torch_ms", "%.3f"), cell(row, "of_torch", "%.2f"), said), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--mib", type=float, default=1024)
    parser.add_argument("--product", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--limit", type=int, default=60, help="seconds that one workload may take")
    parser.add_argument("--only", default="")
    parser.add_argument("--torch", default="cuda", choices=["cuda", "cpu", "none"])
    parser.add_argument("--json", default="")
    parser.add_argument("--time", type=int, default=3600, help="seconds for everything")
    options = parser.parse_args()
    begin = time.time()
    options.end = begin + options.time
    chosen = [w for w in WORK if not options.only or w[0] in options.only.split(",")]
    command = [os.path.join(options.build, "bench", "bench_device"), "--device", options.device, "--seconds",
               str(options.seconds), "--copy", str(int(options.mib * 2**20))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=within(options))
    if done.returncode:
        sys.exit("gpu.py: no copy on the device: " + (done.stderr.strip() or "status %d" % done.returncode))
    copy = json.loads(done.stdout)
    print("device: %s; a copy of %g MiB there: %.1f GB/s (read and written)" % (copy["device"], options.mib,
                                                                                copy["copy_gbs"]))
    softmax, norm = r4(options.mib), r5(options.mib)
    peers, why = torch_times(options, {"product": options.product, "softmax-rows": softmax.count // 1024,
                                       "norm-rows": norm.count // 768})
    print("PyTorch: " + (peers.pop("what", "") if peers else "none (%s)" % why))
    if np is None:
        print("NumPy is not installed: NO RESULT IS CHECKED")
    print("%-9s %9s %9s %8s %8s %7s %9s %8s %9s" % ("", "ms", "GB/s", "GFLOP/s", "of copy", "kernels", "us/kernel",
                                                    "torch", "of torch"))
    result = []
    late = []
    for name, make, kind, bar in chosen:
        if time.time() > options.end - ENOUGH:
            late.append(name)
            continue
        row = measure(options, name, make, copy["copy_gbs"], peers)
        row["missed"] = bars(row, kind, bar)
        result.append(row)
        show(row)
    failed = [r["id"] for r in result if "error" in r or "wrong" in r]
    missed = [r["id"] for r in result if r["missed"]]
    listed = ["%d %s%s" % (len(some), what, ": " + " ".join(some) if some else "")
              for what, some in (("failed", failed), ("below a bar", missed), ("not run for want of time", late))]
    print("%d workloads, %s; %.0f s" % (len(result), ", ".join(listed), time.time() - begin))
    if options.json:
        with open(options.json, "w") as f:
            json.dump({"copy": copy, "checked": np is not None, "torch": why or "yes", "rows": result, "late": late}, f, indent=1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
