#!/usr/bin/env python3
"""Single operations of every dtype, compiled for levels of x86-64 and timed in turn: what a narrower one takes apart.

    levels.py [--build build] [--levels A,B,...] [--only WORD] [--limit X] [--clock CLOCK] [--all]

Levels are names of runtime/cpu/processors.def, each with the caches of this machine, or native, the widest first. A narrower
level has vectors of half as many bytes, and lacks instructions for which others stand in: a loop that takes more than --limit
(3) times as long as on the level before is listed, which is one whose lanes are computed one by one, as often as not.
Results have the same bits on all levels but on those without fma, where a product is rounded before it is added. Exit status
1 when a loop is listed, or bits differ.
"""
import argparse
import os
import statistics
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conform")]

from binding import Context, Refused  # noqa: E402
from storing.levels import target  # noqa: E402
from storing.measure import CLOCKS, Program, Timed, draw, time_in_turn  # noqa: E402
from storing.text import Graph, Statement  # noqa: E402

ROWS, COLUMNS, ROUNDS = 64, 1024, 5
WITHOUT_FMA = ["x86-64", "x86-64-v2"]
SMALL = ["i8", "u8", "i16", "u16"]
INTEGERS = [*SMALL, "i32", "u32", "i64", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
NUMBERS = INTEGERS + FLOATS
EVERY = [*NUMBERS, "bool"]

# (dtypes, statements of %x and %y, the latter of as many columns more where it is so written)
UNARY = "neg abs sqrt exp log sin tanh erf sigmoid gelu floor round"
BINARY = "add sub mul max min"
CASES = [
    *[(FLOATS, f"%p = {name} %x") for name in UNARY.split()],
    *[(NUMBERS, f"%p = {name} %x, %y") for name in BINARY.split()],
    (FLOATS, "%p = div %x, %y"), (FLOATS, "%p = pow %x, %y"), (INTEGERS, "%z = max %y, 1\n%p = floordiv %x, %z"),
    (INTEGERS, "%p = floordiv %x, 7"), (INTEGERS, "%p = mod %x, 10"), (INTEGERS, "%z = min %y, 5\n%p = shl %x, %z"),
    (INTEGERS, "%p = shr %x, 3"), (INTEGERS, "%p = abs %x"), (INTEGERS, "%p = xor %x, %y"),
    (NUMBERS, "%p = lt %x, %y"), (NUMBERS, "%c = lt %x, %y\n%p = where %c, %x, %y"), (FLOATS, "%p = relu %x"),
    (["bool"], "%p = and %x, %y"), (["bool"], "%p = not %x"),
    *[(EVERY, f"%p = cast %x dtype={to}") for to in EVERY],
    *[(NUMBERS, f"%p = {name} %x axes=[{axis}]") for name in ("sum", "max", "min", "prod") for axis in (0, 1)],
    *[(["bool"], f"%p = {name} %x axes=[{axis}]") for name in ("any", "all") for axis in (0, 1)],
    *[(["bool"], f"%c = cast %x dtype=i64\n%p = sum %c axes=[{axis}]") for axis in (0, 1)],
    *[(SMALL, f"%c = cast %x dtype=i32\n%p = sum %c axes=[{axis}]") for axis in (0, 1)],
    *[(NUMBERS, f"%p = argmax %x axis={axis}") for axis in (0, 1)],
    *[(NUMBERS, f"%p = {name} %x axis={axis}") for name in ("cumsum", "cummax") for axis in (0, 1)],
    *[(FLOATS, f"%p = {name} %x axis=1") for name in ("softmax", "layer_norm", "rms_norm")], (FLOATS, "%p = softmax %x axis=0"),
    (EVERY, "%t = permute %x order=[1,0]\n%p = stored %t"), (EVERY, "%t = flip %x axes=[1]\n%p = stored %t"),
    *[(EVERY, f"%t = stride %x steps=[1,{k}]\n%p = stored %t") for k in (2, 3, 4, 5)],
    (EVERY, "%p = pad %x pads=[[1,1],[1,1]]"), (EVERY, "%p = concat %x, %y axis=1"),
    (EVERY, "%a = reshape %x shape=[64,1024,1]\n%b = reshape %y shape=[64,1024,1]\n%p = concat %a, %b axis=2"),
    (EVERY, "%s = shrink %x bounds=[[0,64],[1,1000]]\n%p = stored %s"), (EVERY, "%p = tril %x"),
    (EVERY, "%r = reshape %x shape=[65536]\n%i = cast %j dtype=i32\n%p = gather %r, %i axis=0 mode=clip"),
    (EVERY, "%r = reshape %x shape=[65536]\n%p = gather %r, %j axis=0 mode=clip"), (EVERY, "%p = take_along_axis %x, %j axis=1 mode=clip"),
    (NUMBERS, "%r = reshape %x shape=[256,256]\n%s = reshape %y shape=[256,256]\n%p = matmul %r, %s"),
    (NUMBERS, "%r = reshape %x shape=[256,256]\n%s = reshape %y shape=[256,256]\n%t = permute %s order=[1,0]\n%p = matmul %r, %t"),
    (NUMBERS, "%r = reshape %x shape=[256,256]\n%s = shrink %y bounds=[[0,1],[0,256]]\n%t = reshape %s shape=[256,1]\n%p = matmul %r, %t"),
    (NUMBERS, "%r = reshape %x shape=[256,256]\n%s = shrink %y bounds=[[0,1],[0,256]]\n%p = matmul %s, %r"),
    (["i8", "u8"], "%a = cast %x dtype=i32\n%b = cast %y dtype=i32\n%r = reshape %a shape=[256,256]\n%s = reshape %b shape=[256,256]\n%p = matmul %r, %s"),
    *[(["f32", "f16", "u8"], f"%r = reshape %x shape=[1,16,64,64]\n%p = {f}_pool %r kernel=[3,3] stride=[{s},{s}] padding=1")
      for f in ("max", "avg") for s in (1, 2)],
    *[(["f32"], f"%r = reshape %x shape=[1,{c},{h},{h}]\n%k = reshape %y shape=[65536]\n%l = shrink %k bounds=[[0,{n}]]\n"
       f"%w = reshape %l shape=[{o},{c // g},{k},{k}]\n%p = conv %r, %w stride={s} padding={k // 2} groups={g}")
      for c, h, o, k, s, g, n in ((16, 64, 32, 3, 1, 1, 4608), (16, 64, 16, 3, 1, 16, 144), (16, 64, 16, 3, 2, 16, 144), (64, 32, 64, 1, 1, 1, 4096),
                                  (16, 64, 16, 5, 2, 1, 6400), (64, 32, 64, 3, 1, 4, 9216))],
    (["f32", "i32", "i64"], "%p = sort %x axis=1"), (["f32", "i32", "i64"], "%p, %i = topk %x axis=1 k=5"),
    (["u32"], "%a, %b = threefry2x32 1, 2, %x, %y"), (["f32"], "%n = normal shape=[64,1024] seed=1\n%p = add %n, %x"),
]


def graphs():
    for dtypes, lines in CASES:
        words = lines.replace(",", " ").split()
        statements = [Statement([r.strip() for r in left.split(",")], right) for left, right in (x.split(" = ", 1) for x in lines.splitlines())]
        for dtype in dtypes:
            params = {n: f"{d}[{ROWS},{COLUMNS}]" for n, d in (("%x", dtype), ("%y", dtype), ("%j", "i64")) if n in words}
            yield f"{dtype}: {'; '.join(lines.splitlines())}", Graph(params, statements, [statements[-1].results[0]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--levels", default="native,x86-64-v4,x86-64-v3,x86-64-v2")
    parser.add_argument("--only", help="cases whose dtype or statements hold this")
    parser.add_argument("--limit", type=float, default=3.0)
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--all", action="store_true", help="list all cases")
    options = parser.parse_args()
    Timed.clock = CLOCKS[options.clock]
    names, slow, wrong, count = options.levels.split(","), 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="viewfold-levels-") as cache:
        contexts = [Context(options.build, cache=cache, target=None if n == "native" else target(n, options.build)) for n in names]
        for what, graph in graphs():
            if options.only and options.only not in what:
                continue
            try:
                types = graph.types(contexts[0])
                inputs = [draw(n, *types[n], k) for k, n in enumerate(graph.params)]
                programs = [Program(c, graph.text(), types, graph.outputs, inputs) for c in contexts]
            except Refused as why:
                print(f"refused: {what}: {str(why).splitlines()[0]}", flush=True)
                continue
            time_in_turn(programs, ROUNDS)
            first, *others = [bits(p) for n, p in zip(names, programs) if n not in WITHOUT_FMA]
            differ = any(o != first for o in others)
            ms = [max(min(p.ms), statistics.median(p.ms) / 2) for p in programs]
            for p in programs:
                p.close()
            factors, count = [b / a for a, b in zip(ms, ms[1:])], count + 1
            over = max(factors) > options.limit
            slow, wrong = slow + over, wrong + differ
            if over or differ or options.all:
                print(f"{' '.join(f'{x:9.4f}' for x in ms)} ms  {' '.join(f'{x:6.2f}' for x in factors)}  {what}{'  DIFFERS' * differ}", flush=True)
    print(f"{count} cases for {', '.join(names)}: {slow} take more than {options.limit} times as long as for the level before, {wrong} differ")
    return 1 if slow or wrong else 0


def bits(program):
    """Of its results; all NaNs are one."""
    return [np.where(np.isnan(a), a.dtype.type(np.nan), a).tobytes() if a.dtype.kind == "f" else a.tobytes() for a in program.arrays]


if __name__ == "__main__":
    sys.exit(main())
