#!/usr/bin/env python3
"""Reductions of transposed views, and of windows, against NumPy, with the same bits for every machine.

    reduced_views.py --build DIR [--seed N] [--count N] [--case N]

A case is a reduction, or some that belong together (variances, deviations from a mean, sums of exponentials, maxima beside
sums), of an array whose axes are permuted; a permuted view that is normed and permuted back; pooling with windows that lie one
behind the other or overlap; sums and maxima over two axes that are not neighbours; or a sum of windows of each channel, as a
convolution with ones. Sizes are odd and even, of 1 to 150. It is compiled for each of the TARGETS, with one thread or two:
results have the same bits, and NumPy's value in float64 within 2e-5 of the largest. Exit status: 0, 1 after a failure, 77 when
it cannot run.
"""
import random
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import binding
from arguments import arguments

TARGETS = [None, "vector_bytes=32 registers=16 masks=0 dot4=0", "x86-64-v2", "vector_bytes=16 registers=32", "l3=2097152"]
NEAR = 2e-5
SIZES = [1, 2, 3, 5, 7, 8, 13, 16, 17, 29, 33, 54, 64, 100]


def listed(numbers):
    return f"[{','.join(map(str, numbers))}]"


def of_all(axes):
    return {"axis": tuple(axes), "keepdims": True}


# form: (statements of %v, with the axes, and what they compute of an array of float64)
FORMS = {
    "sum": (["%p = sum %v {a}"], lambda v, axes: v.sum(axes)),
    "max": (["%p = max %v {a}"], lambda v, axes: v.max(axes)),
    "min": (["%p = min %v {a}"], lambda v, axes: v.min(axes)),
    "both": (["%s = sum %v {a}", "%m = max %v {a}", "%p = add %s, %m"], lambda v, axes: v.sum(axes) + v.max(axes)),
    "prod": (["%s = mul %v, 0.01", "%t = add %s, 1.0", "%p = prod %t {a}"], lambda v, axes: (v * 0.01 + 1).prod(axes)),
    "var": (["%p = var %v {a}"], lambda v, axes: v.var(axes)),
    "deviation": (["%m = mean %v {a} keepdims=true", "%d = sub %v, %m", "%e = abs %d", "%p = max %e {a}"],
                  lambda v, axes: np.abs(v - v.mean(**of_all(axes))).max(axes)),
    "exponentials": (["%m = max %v {a} keepdims=true", "%d = sub %v, %m", "%e = exp %d", "%p = sum %e {a}"],
                     lambda v, axes: np.exp(v - v.max(**of_all(axes))).sum(axes)),
    "masked": (["%c = gt %v, 0.0", "%w = where %c, %v, 0.0", "%p = sum %w {a}"], lambda v, axes: np.where(v > 0, v, 0).sum(axes)),
    "weighted": (["%m = mean %v {a} keepdims=true", "%d = sub %v, %m", "%e = mul %d, %v", "%p = sum %e {a}"],
                 lambda v, axes: ((v - v.mean(**of_all(axes))) * v).sum(axes)),
}


def permuted(r):
    rank = r.choice([2, 3, 3, 4, 5])
    shape = [r.choice(SIZES if rank < 4 else SIZES[:9]) for _ in range(rank)]
    order, axes = r.sample(range(rank), rank), sorted(r.sample(range(rank), r.randint(1, rank)))
    dtype = r.choice(["f32", "f32", "f64", "i32"])
    statements, compute = FORMS[r.choice(list(FORMS) if dtype != "i32" else ["sum", "max", "min", "both"])]
    lines = [f"%v = permute %x order={listed(order)}"] + [s.format(a=f"axes={listed(axes)}") for s in statements]
    return dtype, shape, lines, lambda x: compute(x.transpose(order), tuple(axes))


# form: (statements of %n, with the axes, and what they compute of an array of float64)
NORMED = {
    "softmax": (["%m = max %v {a} keepdims=true", "%d = sub %v, %m", "%e = exp %d", "%s = sum %e {a} keepdims=true",
                 "%n = div %e, %s"],
                lambda v, axes: np.exp(v - v.max(**of_all(axes))) / np.exp(v - v.max(**of_all(axes))).sum(**of_all(axes))),
    "stored": (["%m = max %v {a} keepdims=true", "%d = sub %v, %m", "%e = exp %d", "%n = stored %e"],
               lambda v, axes: np.exp(v - v.max(**of_all(axes)))),
    "centred": (["%m = mean %v {a} keepdims=true", "%d = sub %v, %m", "%q = mul %d, %d", "%s = mean %q {a} keepdims=true",
                 "%t = add %s, 1.0", "%n = div %d, %t"],
                lambda v, axes: (v - v.mean(**of_all(axes))) / (v.var(**of_all(axes)) + 1)),
}


def restored(r):
    """A view is normed and permuted again, mostly back; its elements may be read before."""
    rank = r.choice([2, 3, 3, 4])
    shape = [r.choice(SIZES[:12] if rank < 4 else SIZES[:9]) for _ in range(rank)]
    order, axes = r.sample(range(rank), rank), sorted(r.sample(range(rank), r.randint(1, rank)))
    back = [order.index(i) for i in range(rank)] if r.random() < 0.7 else r.sample(range(rank), rank)
    statements, compute = NORMED[r.choice(list(NORMED))]
    lines = ["%u = mul %x, 2.0", f"%v = permute %u order={listed(order)}"]
    lines += [s.format(a=f"axes={listed(axes)}") for s in statements] + [f"%b = permute %n order={listed(back)}"]
    reads, keeps = r.random() < 0.2, r.choice([None, 0, rank - 1])
    lines.append("%r = sum %n axes=[0]" if reads else "%r = mul %b, 1.0" if keeps is None else f"%r = sum %b axes=[{keeps}]")
    lines.append("%p = add %r, 1.0")

    def of(x):
        n = compute(2 * x.transpose(order), tuple(axes))
        return 1 + (n.sum(0) if reads else n.transpose(back) if keeps is None else n.transpose(back).sum(keeps))
    return r.choice(["f32", "f32", "f64"]), shape, lines, of


def windows(x, size, stride, pad, fill):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, size, (2, 3))[:, :, ::stride[0], ::stride[1]]


def pooled(r):
    shape = [r.choice([1, 3, 40]), r.choice([1, 5]), r.randint(9, 150), r.randint(9, 150)]
    size = (r.randint(1, 9), r.randint(1, 9))
    stride = size if r.random() < 0.6 else (r.randint(1, 4), r.randint(1, 4))
    pad = r.randint(0, min(size) // 2) if r.random() < 0.5 else 0
    if r.random() < 0.5:
        words = f"kernel={listed(size)} stride={listed(stride)} padding={pad}"
        return "f32", shape, [f"%p = max_pool %x {words}"], lambda x: windows(x, size, stride, pad, -np.inf).max((4, 5))
    words = f"kernel={listed(size)} stride={listed(stride)} padding=0"
    return "f32", shape, [f"%p = avg_pool %x {words}"], lambda x: windows(x, size, stride, 0, 0).mean((4, 5))


def apart(r):
    shape = [r.choice([1, 20]), r.randint(1, 20), r.randint(1, 40), r.randint(1, 12), r.randint(1, 70)]
    op = r.choice(["sum", "max"])
    return r.choice(["f32", "f64"]), shape, [f"%p = {op} %x axes=[2,4]"], lambda x: getattr(x, op)((2, 4))


def convolved(r):
    channels, size, stride = r.choice([1, 4, 16]), r.choice([1, 3, 5]), r.choice([2, 2, 3, 4])
    pad, shape = r.randint(0, size // 2), [r.choice([1, 2]), channels, r.randint(5, 70), r.randint(5, 130)]
    lines = [f"%w = full shape=[{channels},1,{size},{size}] value=1.0 dtype=f32",
             f"%p = conv %x, %w stride={stride} padding={pad} groups={channels}"]
    return "f32", shape, lines, lambda x: windows(x, (size, size), (stride, stride), pad, 0).sum((4, 5))


def attempt(contexts, seed):
    """None, or what is wrong."""
    r = random.Random(seed)
    dtype, shape, lines, compute = r.choice([permuted, permuted, restored, pooled, apart, convolved])(r)
    text = f"graph @g(%x: {dtype}{listed(shape)}) {{\n  " + "\n  ".join(lines) + "\n  return %p\n}\n"
    made = np.random.default_rng(seed).random(shape) * 2 - 1
    x = (made * 64).astype(np.int32) if dtype == "i32" else made.astype(binding.NUMPY[dtype])
    try:
        results = [c.run_text(text, [binding.Typed(x, dtype)], ["p"], True)[0].array for c in contexts]
    except binding.Refused as why:
        return f"{why}\n{text}"
    different = [t for t, a in zip(TARGETS, results) if a.tobytes() != results[0].tobytes()]
    if different:
        return f"other bits for {different}\n{text}"
    want = compute(x.astype(np.int64 if dtype == "i32" else np.float64))
    error = np.max(np.abs(results[0].astype(np.float64) - want), initial=0)
    if results[0].shape != want.shape or not error <= NEAR * max(np.max(np.abs(want), initial=0), 1e-3):
        return f"shape {results[0].shape}, expected {want.shape}; error {error}\n{text}"
    return None


def main():
    options = arguments(seed=1, count=100, case=int)
    contexts = [binding.Context(options.build, threads=1 + k % 2, target=target) for k, target in enumerate(TARGETS)]
    first = options.seed * 1000000
    seeds = [options.case] if options.case is not None else range(first, first + options.count)
    passed = failed = 0
    for seed in seeds:
        why = attempt(contexts, seed)
        passed, failed = passed + (why is None), failed + (why is not None)
        if why and failed <= 3:
            print(f"case {seed} (reduced_views.py --build {options.build} --case {seed}):\n{why}\n")
    print(f"reduced_views: {passed} passed, {failed} failed (seed {options.seed})")
    return 1 if failed else 0


sys.exit(main())
