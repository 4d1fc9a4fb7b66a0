#!/usr/bin/env python3
"""Views by index descriptors: the acceptance cases of the specification, read, written and differentiated.

    create_view.py --build DIR [--seed N] [--count N] [--device NAME]

Each case has the shape, the strides, the offset and the elements that it must give, which are written down here; a plain
Python loop over the rule of an interval computes positions a second time. Descriptors come as constants in their encoded
form, from their builders, from an input that holds the encoded form, and with positions that are inputs or sums in the
graph. A case is read; written (`set` and `add`), as a value and as a reference; and differentiated, for which the cotangents
are small integers, so that all is exact. It is evaluated, compiled, and compiled for OpenCL where there is a device: there in one of the ways by turns,
unless --count is at least 1000, since its compiler takes a second. Beyond the cases, as many random views as --count says.
"""
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import collections

import binding
from arguments import arguments

POINT, INTERVAL, ALL, NEW = range(4)


def P(k):
    return (POINT, k)


def I(start, end, stride=1, inclusive=False):
    return (INTERVAL, start, end, stride, inclusive)


A, N = (ALL,), (NEW,)

# shape of the base, its first element (further ones count up), descriptors; shape, strides, offset and elements of the view
Case = collections.namedtuple("Case", "row base first descriptors shape strides offset elements")
ONE, ZERO = 1, 0
CASES = [
    # spec: I40
    Case("I40", (3, 4), ONE, [P(1), P(1)], (), (), 5, [6]),
    # spec: I41
    Case("I41", (2, 2), ONE, [P(1)], (2,), (1,), 2, [3, 4]),
    # spec: I42
    Case("I42", (3, 4), ONE, [I(0, 1, 1, True), A], (2, 4), (4, 1), 0, range(1, 9)),
    Case("I42", (3, 4), ONE, [I(0, 1), A], (1, 4), (4, 1), 0, range(1, 5)),
    # spec: I43 I25
    Case("I43", (3, 4), ONE, [A], (3, 4), (4, 1), 0, range(1, 13)),
    Case("I43", (3, 4), ONE, [A, A], (3, 4), (4, 1), 0, range(1, 13)),
    Case("I43", (3, 4), ONE, [], (3, 4), (4, 1), 0, range(1, 13)),
    # spec: I44 I24
    Case("I44", (), ONE, [N], (1,), (0,), 0, [1]),
    # spec: I45 I26
    Case("I45", (2, 3), ONE, [N], (1, 2, 3), (0, 3, 1), 0, range(1, 7)),
    Case("I45", (2, 3), ONE, [A, N], (2, 1, 3), (3, 0, 1), 0, range(1, 7)),
    # spec: I46
    Case("I46", (5, 5, 5), ONE, [I(0, 1)], (1, 5, 5), (25, 5, 1), 0, range(1, 26)),
    # spec: I47 I61 I70
    Case("I47", (5, 5), ONE, [A, I(0, 1)], (5, 1), (5, 1), 0, [1, 6, 11, 16, 21]),
    # spec: I48 I73
    Case("I48", (5, 5), ONE, [I(0, 1), P(1)], (1,), (5,), 1, [2]),
    # spec: I49 I71
    Case("I49", (5, 5), ZERO, [I(1, 5, 2), I(1, 5, 2)], (2, 2), (10, 2), 6, [6, 8, 16, 18]),
    # spec: I50
    Case("I50", (5, 5), ZERO, [I(0, 5, 2), I(1, 5, 2)], (3, 2), (10, 2), 1, [1, 3, 11, 13, 21, 23]),
    # spec: I51 I6
    Case("I51", (5,), ONE, [I(0, 2, 2)], (1,), (2,), 0, [1]),
    Case("I51", (5,), ONE, [I(0, 2, 2, True)], (2,), (2,), 0, [1, 3]),
    # spec: I52
    Case("I52", (5,), ONE, [I(1, 3, 2, True)], (2,), (2,), 1, [2, 4]),
    Case("I52", (5,), ONE, [I(1, 4, 2)], (2,), (2,), 1, [2, 4]),
    Case("I52", (5,), ONE, [I(1, 4, 2, True)], (2,), (2,), 1, [2, 4]),
    # spec: I53
    Case("I53", (5,), ONE, [I(2, 4, 2, True)], (2,), (2,), 2, [3, 5]),
    # spec: I54
    Case("I54", (3, 3), ONE, [I(1, 2, 3), I(1, 2, 3)], (1, 1), (9, 3), 4, [5]),
    # spec: I55
    Case("I55", (2, 2, 2), ZERO, [I(1, 2), I(0, 2), I(0, 2)], (1, 2, 2), (4, 2, 1), 4, [4, 5, 6, 7]),
    # spec: I56 I21 I23
    Case("I56", (4, 3, 3), ZERO, [P(0), I(1, 3), I(1, 3)], (2, 2), (3, 1), 4, [4, 5, 7, 8]),
    # spec: I57 I74
    Case("I57", (3, 4), ONE, [P(-1)], (4,), (1,), 8, range(9, 13)),
    Case("I57", (5,), ONE, [I(-2, -1, 1, True)], (2,), (1,), 3, [4, 5]),
    Case("I57", (5,), ONE, [I(0, -2)], (3,), (1,), 0, [1, 2, 3]),
    # spec: I58
    Case("I58", (5,), ONE, [I(4, 0, -2, True)], (3,), (-2,), 4, [5, 3, 1]),
    Case("I58", (5,), ONE, [I(4, 0, -2)], (2,), (-2,), 4, [5, 3]),
    # spec: I59
    Case("I59", (5,), ONE, [I(2, 2)], (0,), (1,), 0, []),
    Case("I59", (5,), ONE, [I(9, 9)], (0,), (1,), 0, []),  # past the end, and empty
    # spec: I60 I20 I27
    Case("I60", (2, 3, 4), ZERO, [P(1), N, I(0, 3, 2), A], (1, 2, 4), (0, 8, 1), 12,
         [12, 13, 14, 15, 20, 21, 22, 23]),
]


def walk(size, start, end, stride, inclusive):
    """The positions of an interval, by its rule."""
    start, end = start + size * (start < 0), end + size * (end < 0)
    found = []
    while start < end + inclusive if stride > 0 else start > end - inclusive:
        found.append(start)
        start += stride
    return found


def positions(base, descriptors):
    """The position in the flat base of each element of the view."""
    at, axis = np.arange(int(np.prod(base))).reshape(base), 0
    for d in descriptors:
        if d[0] == NEW:
            at = np.expand_dims(at, axis)
        elif d[0] == POINT:
            at = np.take(at, d[1] + at.shape[axis] * (d[1] < 0), axis)
            continue
        elif d[0] == INTERVAL:
            at = np.take(at, np.array(walk(at.shape[axis], *d[1:]), np.int64), axis)
        axis += 1
    return at


def encoded(d, short):
    return {POINT: lambda: [POINT, 1, 1, d[1], 1],
            INTERVAL: lambda: [INTERVAL, 2, 1, d[1], d[2], d[3], int(d[4])],
            ALL: lambda: [ALL, 0, 1, 1],
            NEW: lambda: [NEW, 1, 10, 1] if short else [NEW, 1, 1, 0, 1]}[d[0]]()


class Written:
    """Descriptors as text, in one of the ways that there are; parameters with their arrays."""

    def __init__(self, descriptors, lengths, way):
        self.lines, self.parameters, self.inputs, self.attributes, self.varies = [], [], [], "", False
        self.lengths = lengths
        names = [getattr(self, way)(k, d) for k, d in enumerate(descriptors)]
        self.operands = "".join(f", {name}" for name in names)
        if way in ("given", "ends", "strides"):
            kinds = ",".join(str(d[0]) for d in descriptors)
            self.attributes = f" kinds=[{kinds}] lengths=[{','.join(str(n) for n in lengths)}]" if names else ""

    def line(self, k, text):
        self.lines.append(f"  %d{k} = {text}")
        return f"%d{k}"

    def parameter(self, name, array):
        array = np.array(array, np.int64)
        self.parameters.append(f"%{name}: i64[{','.join(str(n) for n in array.shape)}]")
        self.inputs.append(binding.Typed(array))
        self.varies = True
        return f"%{name}"

    def constant(self, k, d):
        numbers = encoded(d, k % 2 == 0)
        return self.line(k, f"data values=[{','.join(str(n) for n in numbers)}] dtype=i64")

    def built(self, k, d):
        return self.line(k, {POINT: "index_point {1}", INTERVAL: "index_interval {1}, {2}, {3}, {4}", ALL: "index_all",
                             NEW: "index_new_axis"}[d[0]].format(*(str(n).lower() for n in d)))

    def given(self, k, d):
        return self.parameter(f"d{k}", encoded(d, k % 2 == 0))

    def ends(self, k, d):
        """Both ends are inputs; so are the stride and the flag of every second one."""
        if d[0] not in (POINT, INTERVAL):
            return self.built(k, d)
        start = self.parameter(f"s{k}", d[1])
        if d[0] == POINT:
            return self.line(k, f"index_point {start}")
        end, flag = self.parameter(f"e{k}", d[2]), str(d[4]).lower()
        if k % 2:
            flag = self.parameter(f"f{k}", int(d[4]))
        return self.line(k, f"index_interval {start}, {end}, {d[3]}, {flag}")

    def strides(self, k, d):
        if d[0] != INTERVAL:
            return self.built(k, d)
        stride = self.parameter(f"t{k}", d[3])
        return self.line(k, f"index_interval {d[1]}, {d[2]}, {stride}, {str(d[4]).lower()}")

    def moved(self, k, d):
        """Ends a known distance apart; or a window, of every second one."""
        if d[0] not in (POINT, INTERVAL):
            return self.built(k, d)
        start = self.parameter(f"s{k}", d[1] - 1)
        self.lines.append(f"  %m{k} = add {start}, 1")
        if d[0] == POINT:
            return self.line(k, f"index_point %m{k}")
        if k % 2 and self.lengths[k]:
            return self.line(k, f"index_window %m{k} length={self.lengths[k]} stride={d[3]}")
        self.lines.append(f"  %e{k} = add %m{k}, {d[2] - d[1]}")
        return self.line(k, f"index_interval %m{k}, %e{k}, {d[3]}, {str(d[4]).lower()}")

    def apply(self, result, x):
        return f"  %{result} = create_view {x}{self.operands}{self.attributes}\n"


def ways(descriptors):
    found = ["constant", "built"]
    if descriptors:
        found += ["given", "ends"]
    if any(d[0] == INTERVAL for d in descriptors):
        found += ["strides"]
    # both ends count from the same end of the axis
    if all(d[0] != INTERVAL or (d[1] < 0) == (d[2] < 0) for d in descriptors):
        found += ["moved"]
    return found if any(d[0] in (POINT, INTERVAL) for d in descriptors) else found[:3]


def type_of(dtype, shape):
    return f"{dtype}[{','.join(str(n) for n in shape)}]"


class Trial:
    """A view of a base in one way, and all that is wanted of it."""

    def __init__(self, base, at, descriptors, lengths, way, rng):
        self.at, self.written = at, Written(descriptors, lengths, way)
        integers = lambda shape: rng.integers(-8, 9, shape).astype(np.float32)
        self.base, self.u, self.gy, self.gw = base, integers(at.shape), integers(at.shape), integers(base.shape)
        self.size = type_of("f32", base.shape)

    def body(self, *lines):
        return "".join(line + "\n" for line in self.written.lines) + "".join(lines)

    def parameters(self, *more):
        return ", ".join(list(more) + self.written.parameters)

    def values(self):
        """read, positions, set, add, and the derivatives of read and set"""
        view = type_of("f32", self.at.shape)
        head = self.parameters(f"%x: {self.size}", f"%u: {view}", f"%gy: {view}", f"%gw: {self.size}")
        text = (f"graph @value({head}) {{\n" + self.body(
            self.written.apply("y", "%x"), "  %p = address %x\n", self.written.apply("t", "%p"),
            "  %w = assign %x, %t, %u\n  %v = assign %x, %t, %u op=add\n  %yi = mul %y, 1.0\n") +
            "  return %yi, %t, %w, %v\n}\n")
        inputs = [binding.Typed(a) for a in (self.base, self.u, self.gy, self.gw)] + self.written.inputs
        flat, g = self.base.reshape(-1), self.gw.reshape(-1)
        put, added, dx, hole = flat.copy(), flat.copy(), np.zeros_like(flat), g.copy()
        put[self.at], dx[self.at], hole[self.at] = self.u, self.gy, 0
        added[self.at] += self.u
        whole = lambda a: a.reshape(self.base.shape)
        wanted = {"yi": flat[self.at], "t": self.at, "w": whole(put), "v": whole(added), "dx": whole(dx),
                  "hole": whole(hole), "du": g[self.at], "dxv": self.gw, "duv": g[self.at]}
        return text, inputs, wanted

    def reference(self):
        view = type_of("f32", self.at.shape)
        head = self.parameters(f"%a: ref {self.size}", f"%u: {view}")
        text = (f"graph @reference({head}) {{\n" + self.body(
            "  %p = address %a\n", self.written.apply("t", "%p"), self.written.apply("o", "%a"),
            "  %before = mul %o, 1.0\n  %a = assign %a, %t, %u op=add\n", self.written.apply("n", "%a"),
            "  %after = mul %n, 1.0\n  %a = assign %a, %t, %o op=max\n") + "  return %before, %after\n}\n")
        flat = self.base.reshape(-1).copy()
        old = flat[self.at].copy()
        flat[self.at] += self.u
        new = flat[self.at].copy()
        flat[self.at] = np.maximum(new, old)
        inputs = [binding.Typed(self.base.copy()), binding.Typed(self.u)] + self.written.inputs
        return text, inputs, {"before": old, "after": new}, flat.reshape(self.base.shape)


def differentiate(context, raw):
    """Adds the derivatives to the graph, under the names of Trial.values."""
    c = context.c
    found = {name: c.vf_graph_find(raw, name.encode()) for name in ("x", "u", "gy", "gw", "yi", "w", "v")}
    pack = lambda *names: (binding.Raw * len(names))(*[found[n] for n in names])
    for output, cotangent, inputs, names in (("yi", "gy", ["x"], ["dx"]), ("w", "gw", ["x", "u"], ["hole", "du"]),
                                             ("v", "gw", ["x", "u"], ["dxv", "duv"])):
        made = pack(*inputs)
        c.vf_vjp(1, pack(output), pack(cotangent), len(inputs), pack(*inputs), made)
        for name, value in zip(names, made):
            c.vf_output(raw, name.encode(), binding.copied(value))


def run(context, text, inputs, wanted, compiled, derivatives):
    raw = context.parse(text)
    try:
        if derivatives:
            differentiate(context, raw)
        message = context.c.vf_graph_message(raw).decode()
        if message:
            raise binding.Refused(message)
        values = [binding.Value(context, context.c.vf_graph_find(raw, name.encode())) for name in wanted]
        if derivatives:  # the table has found `dx` and the others by now
            text = context.text(raw)
        return [r.array for r in context.run(raw, inputs, values, compiled, 0 if derivatives else 1)], text
    finally:
        context.c.vf_graph_destroy(raw)


def same(want, have):
    return want.shape == have.shape and np.array_equal(want, have)


def try_trial(trial, runs):
    """Why it fails; None where it does not."""
    text, inputs, wanted = trial.values()
    for how, context, compiled in runs:
        try:
            got, shown = run(context, text, inputs, wanted, compiled, True)
            for (name, want), have in zip(wanted.items(), got):
                if not same(want, have):
                    return f"{shown}\n{name} {how}: {have.tolist()}\nwanted: {want.tolist()}"
            reference, given, results, newest = trial.reference()
            got, shown = run(context, reference, given, results, compiled, False)
            for (name, want), have in zip(results.items(), got):
                if not same(want, have):
                    return f"{shown}\n{name} {how}: {have.tolist()}\nwanted: {want.tolist()}"
            if not same(newest, given[0].array):
                return f"{shown}\nthe reference {how}: {given[0].array.tolist()}\nwanted: {newest.tolist()}"
        except binding.Refused as failure:
            return f"{text}\n{how}: {failure}"
    return None


def check_case(case):
    """The table against the rule."""
    at = positions(case.base, case.descriptors)
    grid = np.full(case.shape, case.offset)
    for axis, stride in enumerate(case.strides):
        grid = grid + stride * np.arange(case.shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(case.shape))])
    assert at.shape == case.shape and np.array_equal(at, grid), case
    assert list(at.reshape(-1) + case.first) == list(case.elements), case
    return at


def random_view(rng):
    """A base, and descriptors that fit it."""
    base = tuple(int(n) for n in rng.integers(1, 7, rng.integers(0, 4)))
    found = []
    for size in base[:int(rng.integers(0, len(base) + 1))]:
        if rng.random() < 0.2:
            found.append(N)
        kind = int(rng.integers(3))
        if kind == POINT:
            found.append(P(int(rng.integers(-size, size))))
        elif kind == ALL:
            found.append(A)
        else:
            start, stride = int(rng.integers(-size, size)), int(rng.choice([1, 1, 2, 3, -1, -2, -4]))
            while True:
                end, flag = int(rng.integers(-size - 1, size + 2)), bool(rng.integers(2))
                taken = walk(size, start, end, stride, flag)
                if all(0 <= k < size for k in taken):
                    break
            found.append(I(start, end, stride, flag))
    return base, found


def main():
    options = arguments(seed=1, count=10, device="opencl")
    evaluator = compiler = binding.Context(options.build)
    runs = [("evaluated", evaluator, False), ("compiled", compiler, True)]
    try:
        runs.append((options.device, binding.Context(options.build, device=options.device), True))
    except binding.Refused as failure:
        print(f"not on {options.device}: {failure}")
    rng = np.random.default_rng([options.seed, 11])
    trials = [(case.row, case.base, case.first, case.descriptors, check_case(case)) for case in CASES]
    for number in range(options.count):
        base, descriptors = random_view(rng)
        trials.append((f"random {number}", base, 1, descriptors, positions(base, descriptors)))
    passed = failed = 0
    for number, (row, shape, first, descriptors, at) in enumerate(trials):
        base = (first + np.arange(int(np.prod(shape)))).astype(np.float32).reshape(shape)
        lengths = [0] * len(descriptors)
        axis = 0
        for k, d in enumerate(descriptors):
            if d[0] == INTERVAL:
                lengths[k] = len(walk(shape[axis], *d[1:]))
            axis += d[0] != NEW
        found = ways(descriptors)
        for turn, way in enumerate(found):
            everywhere = options.count >= 1000 or turn == number % len(found)
            why = try_trial(Trial(base, at, descriptors, lengths, way, rng), runs if everywhere else runs[:2])
            passed, failed = passed + (why is None), failed + (why is not None)
            if why is not None and failed <= 3:
                print(f"{row}, {way}:\n{why}\n")
    print(f"create_view: {passed} passed, {failed} failed (seed {options.seed}, {', '.join(how for how, _, _ in runs)})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
