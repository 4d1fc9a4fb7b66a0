#!/usr/bin/env python3
"""Graphs whose sizes are variables against the same graphs with the sizes given, in turn in one process.

    symbolic.py --build build [--group NAME] [--least N] [--most N] [--part DEVICES] [--rounds N] [--above 1.05] [--core N] [--show]

Times are processor time of the one thread that runs, so that other processes add little.

A row of the grid is a graph with one size left open, by itself and as a variable of 1..4096; both run on the same inputs. Their
results have to be equal bit for bit, but for those of reductions along the open axis, whose order depends on the bounds
of its length, and without --part those of few results, which 1..4096 does not promise (docs/decisions.md). Prints ratios (variable / fixed) of medians or of least times, whichever is less, the times to compile, and for
each group the median and the share of ratios above 1.05 and 1.10. `ratios` above --above are listed. Exit status 1: results differ.
"""
import argparse
import ctypes
import os
import statistics
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conform")]

from binding import Context  # noqa: E402
from storing.measure import Program, draw, ratio_of, time_in_turn  # noqa: E402

LEAST_MS = 0.002  # of a run: below, the call and the clock weigh as much
FOLDER = tempfile.TemporaryDirectory(prefix="viewfold-symbolic-")
SIZES = (17, 31, 33, 50, 63, 64, 65, 77, 100, 127, 128, 197, 255, 384, 500, 777, 1000, 2048)


def operands(size, *given):
    """name: (dtype, shape with N for the open size)"""
    return {f"%{name}": (dtype, tuple(size if d == "N" else d for d in shape)) for name, dtype, shape in given}


def weights(name, *shape):
    """A constant, which is packed once, when the program is made."""
    path = os.path.join(FOLDER.name, "x".join(map(str, shape)) + ".npy")
    if not os.path.exists(path):
        np.save(path, draw(f"%w{shape[-1]}_", "f32", shape, 1))
    return f'  %{name} = data file="{path}" : f32[{",".join(map(str, shape))}]\n'


def dense(rows, terms, columns):
    return [("a", "f32", (rows, terms))], weights("b", terms, columns) + "  %y = matmul %a, %b\n", (rows, columns), "f32"


def product(dtype, rows, terms, columns, transposed=False):
    b = (columns, terms) if transposed else (terms, columns)
    body = "  %t = permute %b order=[1,0]\n  %y = matmul %a, %t\n" if transposed else "  %y = matmul %a, %b\n"
    return [("a", dtype, (rows, terms)), ("b", dtype, b)], body, (rows, columns), dtype


def narrow(rows, terms, columns):
    body = "  %c = cast %a dtype=i32\n  %d = cast %b dtype=i32\n  %y = matmul %c, %d\n"
    return [("a", "i8", (rows, terms)), ("b", "i8", (terms, columns))], body, (rows, columns), "i32"


def attention(heads, rows, keys, depth):
    body = ("  %t = permute %k order=[0,2,1]\n  %p = matmul %q, %t\n  %s = mul %p, 0.125\n  %w = softmax %s axis=-1\n"
            "  %y = matmul %w, %v\n")
    given = [("q", "f32", (heads, rows, depth)), ("k", "f32", (heads, keys, depth)), ("v", "f32", (heads, keys, depth))]
    return given, body, (heads, rows, depth), "f32"


def mlp(rows, width, hidden):
    body = (weights("u", width, hidden) + weights("w", hidden, width) + "  %h = matmul %x, %u\n  %g = gelu %h\n  %o = matmul %g, %w\n  %r = add %o, %x\n  %y = layernorm %r axes=[1]\n")
    body = body.replace("  %y = layernorm %r axes=[1]\n", "  %m = mean %r axes=[1] keepdims=true\n  %c = sub %r, %m\n"
                        "  %q = mul %c, %c\n  %e = mean %q axes=[1] keepdims=true\n  %f = rsqrt %e\n  %y = mul %c, %f\n")
    given = [("x", "f32", (rows, width))]
    return given, body, (rows, width), "f32"


def convolution(channels, height, width):
    body = weights("w", channels, channels, 3, 3) + "  %y = conv %x, %w padding=[1,1]\n"
    given = [("x", "f32", (1, channels, height, width))]
    return given, body, (1, channels, height, width), "f32"


def elementwise(rows, columns):
    body = "  %c = reshape %b shape=[1,{}]\n  %s = add %a, %c\n  %y = gelu %s\n".format(columns)
    return [("a", "f32", (rows, columns)), ("b", "f32", (columns,))], body, (rows, columns), "f32"


def softmax(rows, columns):
    return [("a", "f32", (rows, columns))], "  %y = softmax %a axis=-1\n", (rows, columns), "f32"


def sums(rows, columns):
    return [("a", "f32", (rows, columns))], "  %y = sum %a axes=[0]\n", (columns,), "f32"


def grid():
    """(group, name, function of the open size, the size, whether bits must be equal)"""
    for n in SIZES:
        for rows, terms in ((1, 768), (6, 64), (12, 768), (64, 64), (128, 256), (197, 768), (512, 64), (32, 4096)):
            if rows * terms * n <= 3e8:
                yield "columns", f"{rows}x{terms}xN N={n}", lambda s, r=rows, t=terms: product("f32", r, t, s), n, True
        for rows, terms in ((12, 64), (128, 64), (197, 256)):
            yield "columns [N,K]", f"{rows}x{terms}xN N={n}", lambda s, r=rows, t=terms: product("f32", r, t, s, True), n, True
        for terms, columns in ((64, 64), (256, 1024), (768, 768), (768, 50)):
            yield "rows", f"Nx{terms}x{columns} N={n}", lambda s, t=terms, c=columns: dense(s, t, c), n, True
        for rows, columns in ((64, 64), (128, 512)):
            yield "terms", f"{rows}xNx{columns} N={n}", lambda s, r=rows, c=columns: product("f32", r, s, c), n, True
        for dtype in ("bf16", "f16"):
            yield dtype, f"128x256xN N={n}", lambda s, t=dtype: product(t, 128, 256, s), n, True
        yield "i8", f"128x256xN N={n}", lambda s: narrow(128, 256, s), n, True
        yield "elementwise", f"64xN N={n}", lambda s: elementwise(64, s), n, True
        yield "softmax", f"64xN N={n}", lambda s: softmax(64, s), n, False
        yield "column sums", f"200xN N={n}", lambda s: sums(200, s), n, True
        if n <= 1000:
            yield "attention", f"12xNx64 N={n}", lambda s: attention(12, s, s, 64), n, False
            yield "mlp", f"Nx768x3072 N={n}", lambda s: mlp(s, 768, 3072), n, True
        if n <= 255:
            yield "convolution", f"16x14xN N={n}", lambda s: convolution(16, 14, s), n, True
    for n in (1, 2, 3, 5, 7, 9, 11, 13):
        for terms, columns in ((64, 64), (768, 768)):
            yield "few rows", f"Nx{terms}x{columns} N={n}", lambda s, t=terms, c=columns: dense(s, t, c), n, True
        for rows, terms in ((12, 768), (128, 64)):
            yield "few columns", f"{rows}x{terms}xN N={n}", lambda s, r=rows, t=terms: product("f32", r, t, s), n, True


def text(made, least=1, most=4096):
    given, body, _, _ = made
    seen, parts = set(), []
    for name, dtype, shape in given:
        dims = [d if d != "n" or "n" in seen or seen.add("n") else f"n={least}..{most}" for d in map(str, shape)]
        parts.append(f"%{name}: {dtype}[{','.join(dims)}]")
    return f"graph @g({', '.join(parts)}) {{\n{body}  return %y\n}}\n"


class Sized(Program):
    """A program with the values of its size variables."""

    def __init__(self, context, written, shape, dtype, inputs, sizes=None):
        began = time.perf_counter()
        super().__init__(context, written, {"%y": (dtype, shape)}, ["%y"], inputs)
        self.compiled = time.perf_counter() - began
        self.sizes = (ctypes.c_int64 * len(sizes))(*sizes) if sizes else None

    def run(self):
        run = self.context.c.vf_program_run
        before = time.thread_time_ns()
        status = run(self.program, *self.given, self.sizes, self.error)
        took = time.thread_time_ns() - before
        if status:
            self.context.must(run, self.program, *self.given, self.sizes)
        return took * 1e-6


def measure(context, make, size, exact, rounds, devices=None):
    fixed, variable = make(size), make("n")
    inputs = [draw("%" + name, dtype, shape, k) for k, (name, dtype, shape) in enumerate(fixed[0])]
    pair = [Sized(context, text(fixed), fixed[2], fixed[3], inputs, [size]),  # a value is passed to both: that takes time, too
            Sized(context, text(variable, *([max(1, size - devices + 1), size] if devices else [])), fixed[2], fixed[3], inputs, [size])]
    try:
        for p in pair:
            p.run()
        same = all(np.array_equal(a, b) if exact else np.allclose(a, b, rtol=1e-4, atol=1e-5)
                   for a, b in zip(pair[0].results(), pair[1].results()))
        if rounds:
            time_in_turn(pair, rounds)
        ratio = ratio_of(pair[1], pair[0]) if rounds else 0
        if ratio > 1.05:
            time_in_turn(pair, 2 * rounds)
            ratio = ratio_of(pair[1], pair[0])
        return ratio, min(pair[0].ms or [0]), same, [p.compiled for p in pair]
    finally:
        for p in pair:
            p.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--group", action="append", help="only groups of this name")
    parser.add_argument("--least", type=int, default=0, help="only open sizes from this on")
    parser.add_argument("--most", type=int, default=1 << 30, help="only open sizes up to this")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each program; 0: compare results only")
    parser.add_argument("--above", type=float, default=1.05)
    parser.add_argument("--core", type=int, help="the processor to run on")
    parser.add_argument("--target", help="settings, as of `viewfold run --target`")
    parser.add_argument("--device", help="as of `viewfold run`")
    parser.add_argument("--part", type=int, metavar="DEVICES", help="the variable is within N-DEVICES+1..N, as are parts of ceil(size / DEVICES) elements, of "
                        "which the last ones have fewer: it is as large as the other parts")
    parser.add_argument("--show", action="store_true", help="print the graphs; measure nothing")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    context, found, wrong = Context(options.build, target=options.target, device=options.device), {}, 0
    for group, name, make, size, exact in grid():
        if not options.least <= size <= options.most or (options.group and group not in options.group):
            continue
        if options.show:
            print(text(make("n")))
            continue
        exact &= bool(options.part) or group not in ("column sums", "few columns")
        ratio, ms, same, compiled = measure(context, make, size, exact, options.rounds, options.part)
        wrong += not same
        found.setdefault(group, []).append((ratio, ms, compiled))
        if not same or ratio > options.above:
            print(f"{ratio:5.2f}  {ms:8.3f} ms  {group}: {name}{'' if same else '  RESULTS DIFFER'}", flush=True)
    for group, rows in found.items():
        ratios = sorted(r for r, ms, _ in rows if ms >= LEAST_MS or not options.rounds)
        if not ratios:
            continue
        mean = statistics.geometric_mean(ratios) if options.rounds else 0
        share = [100 * sum(r > limit for r in ratios) / len(ratios) for limit in (1.05, 1.10)]
        compiled = [1e3 * statistics.median(c[0] for _, _, c in rows), 1e3 * max(c[1] for _, _, c in rows)]
        print(f"{group:14} {len(ratios):4} pairs: median {statistics.median(ratios):.3f}, mean {mean:.3f}, most {ratios[-1]:.2f}, "
              f"{share[0]:.0f} % above 1.05, {share[1]:.0f} % above 1.10; compiled in {compiled[0]:.1f} and {compiled[1]:.1f} ms")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
