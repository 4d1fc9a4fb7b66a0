"""Redistributions against a search over everything: for random pairs of specs on at most 8 devices, the cost of `viewfold
reshard` is that of the cheapest sequence of exchanges between all divisions of the array into prime sub-axes, found here by
relaxing all pairs of divisions until nothing changes. The cost of an exchange is counted from the boxes of all pairs of
devices. Arrays of uneven sizes, sums, both modes, axes of different speed, limits on memory.

    reshard_search.py --build build --count 5000 --seed 7      --case N --show repeats one"""
import copy
import fractions
import heapq
import itertools
import json
import math
import subprocess
import sys

import numpy as np

from arguments import arguments

# sizes, or the weights of the devices along an axis, whose parts are counted in fractions here
WEIGHTED = [[(3, 1)], [(1, 2, 4)], [(2, 1), 2], [2, (1, 3)], [4, (1, 2)], [(1, 2), (3, 1)], [(2, 1, 1), 2]]
MESHES = [[2], [3], [4], [5], [6], [7], [8], [2, 2], [2, 3], [3, 2], [2, 4], [4, 2], [2, 2, 2]]
ITEM = {"f32": 4, "i8": 1, "f64": 8}
NEVER = 1 << 62
WORK = 1e6  # picoseconds of a latency, at most, in which a device takes no other message


def primes(n):
    found = []
    for p in (2, 3, 5, 7):
        while n % p == 0:
            found.append(p)
            n //= p
    return found


def digits_of(sizes, ascending):
    """(axis, pre, size) of each prime digit; an axis of weights is one."""
    digits = []
    for axis, size in enumerate(sizes):
        if isinstance(size, tuple):
            digits.append((axis, 1, len(size)))
            continue
        pre = 1
        for p in primes(size) if ascending else primes(size)[::-1]:
            digits.append((axis, pre, p))
            pre *= p
    return digits


def text_of(sizes, layout, pending, digits):
    whole = lambda k: isinstance(sizes[digits[k][0]], tuple)
    name = lambda k: f"{'xyz'[digits[k][0]]}" + ("" if whole(k) else f":({digits[k][1]}){digits[k][2]}")
    dims = ",".join(".".join(map(name, dim)) if dim else "-" for dim in layout)
    return f"[{dims}]" + ("+" + ".".join(name(k) for k in pending) if pending else "")


def count_of(size):
    return len(size) if isinstance(size, tuple) else size


def read(text, digits, sizes):
    """The layout of a spec as text."""
    layout = []
    for dim in text[1:text.index("]")].split(",") if text[1] != "]" else []:
        found = []
        for name in dim.split(".") if dim != "-" else []:
            axis, _, digit = name.partition(":")
            axis = "xyz".index(axis)
            pre, size = map(int, digit[1:].split(")")) if digit else (1, count_of(sizes[axis]))
            found += [k for k, (a, m, n) in enumerate(digits) if a == axis and m >= pre and m * n <= pre * size]
        layout.append(tuple(found))
    return tuple(layout)


def layouts(digits, rank):
    """All ways to put some digits, in some order, into dimensions."""
    found = [tuple(() for _ in range(rank))]
    for k in range(len(digits)):
        for layout in list(found):
            for d in range(rank):
                for at in range(len(layout[d]) + 1):
                    dim = layout[d][:at] + (k,) + layout[d][at:]
                    found.append(layout[:d] + (dim,) + layout[d + 1:])
    return found


def axis_text(name, size):
    return f"{name}={':'.join(map(str, size))}" if isinstance(size, tuple) else f"{name}{size}"


class Case:
    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        meshes = MESHES + WEIGHTED
        self.sizes = meshes[int(draw.integers(len(meshes)))]
        self.rank = int(draw.choice([0, 1, 1, 2, 2, 2, 3]))
        even = draw.random() < 0.4
        self.shape = [int(draw.integers(1, 4)) * 24 if even else int(draw.integers(1, 26)) for _ in range(self.rank)]
        self.dtype = str(draw.choice(list(ITEM)))
        self.mode = "time" if draw.random() < 0.5 else "bytes"
        axes = len(self.sizes)
        same = draw.random() < 0.5
        self.latency = [float(draw.choice([1e-8, 1e-7, 1e-6, 1e-5, 1e-4])) for _ in range(axes)]
        self.bandwidth = [float(draw.choice([1e8, 1e9, 1e10])) for _ in range(axes)]
        if same:
            self.latency, self.bandwidth = [self.latency[0]] * axes, [self.bandwidth[0]] * axes
        self.ascending = bool(draw.integers(2))
        digits = digits_of(self.sizes, self.ascending)
        places = layouts(digits, self.rank)
        start, end = (places[int(draw.integers(len(places)))] for _ in range(2))
        free = [k for k in range(len(digits)) if not any(k in dim for dim in start)]
        sums = draw.random() < 0.5
        self.start, self.pending = start, tuple(k for k in free if sums and draw.random() < 0.7)
        kept = [k for k in self.pending if not any(k in dim for dim in end)]
        self.end, self.kept = end, tuple(k for k in kept if draw.random() < 0.15)
        self.limit = None
        if draw.random() < 0.3:
            whole = int(np.prod(self.shape, dtype=int)) * ITEM[self.dtype]
            self.limit = max(1, int(whole * draw.random() * 2.2))

    def turned(self):
        """The same with the primes of axes in the other order; None where it has no such form."""
        other = copy.copy(self)
        other.ascending = not self.ascending
        mine, theirs = digits_of(self.sizes, self.ascending), digits_of(self.sizes, other.ascending)
        if mine == theirs:
            return None

        def list_of(digits):
            joined, found = [], []
            for axis, pre, size in (mine[k] for k in digits):
                if joined and joined[-1][0] == axis and joined[-1][1] * joined[-1][2] == pre:
                    joined[-1] = (axis, joined[-1][1], joined[-1][2] * size)
                else:
                    joined.append((axis, pre, size))
            for axis, pre, size in joined:
                within = [k for k, (a, m, n) in enumerate(theirs) if a == axis and m >= pre and m * n <= pre * size]
                if math.prod(theirs[k][2] for k in within) != size:
                    raise ValueError
                found += within
            return tuple(found)

        try:
            other.start, other.end = (tuple(map(list_of, layout)) for layout in (self.start, self.end))
            other.pending, other.kept = (tuple(sorted(list_of(digits))) for digits in (self.pending, self.kept))
        except ValueError:
            return None
        return other

    def line(self, number):
        digits = digits_of(self.sizes, self.ascending)
        line = {"id": number, "mesh": ",".join(map(axis_text, "xyz", self.sizes)), "shape": self.shape,
                "dtype": self.dtype, "from": text_of(self.sizes, self.start, self.pending, digits),
                "to": text_of(self.sizes, self.end, self.kept, digits), "mode": self.mode, "latency": self.latency,
                "bandwidth": self.bandwidth}
        if self.limit:
            line["limit"] = self.limit
        return line


class Space:
    """All states, the boxes that devices hold in them, and the cost of getting from each to each."""

    def __init__(self, case):
        self.case, self.digits = case, digits_of(case.sizes, case.ascending)
        count = len(self.digits)
        self.states = [(layout, pending) for layout in layouts(self.digits, case.rank)
                       for n in range(len(case.pending) + 1) for pending in itertools.combinations(case.pending, n)
                       if not any(k in dim for dim in layout for k in pending) and set(case.kept) <= set(pending)]
        devices = list(itertools.product(*[range(p) for _, _, p in self.digits]))
        self.coordinates = np.array(devices, int).reshape(len(devices), count)
        self.boxes = np.array([[[self.interval(d, layout[d], c) for d in range(case.rank)] for c in devices]
                               for layout, _ in self.states], int).reshape(len(self.states), len(devices), case.rank, 2)

    def interval(self, dim, digits, coordinates):
        size, weights = self.case.shape[dim], [self.case.sizes[self.digits[k][0]] for k in digits]
        if any(isinstance(w, tuple) for w in weights):  # the share before the device, and its own
            before, own = fractions.Fraction(0), fractions.Fraction(1)
            for k, w in zip(digits, weights):
                c, all_of = int(coordinates[k]), w if isinstance(w, tuple) else (1,) * self.digits[k][2]
                before += own * fractions.Fraction(sum(all_of[:c]), sum(all_of))
                own *= fractions.Fraction(all_of[c], sum(all_of))
            return tuple(math.floor(size * end + fractions.Fraction(1, 2)) for end in (before, before + own))
        parts, position = 1, 0
        for k in digits:
            parts, position = parts * self.digits[k][2], position * self.digits[k][2] + coordinates[k]
        chunk = -(-size // parts)
        return min(position * chunk, size), min(position * chunk + chunk, size)

    def held(self, layout):
        """Most bytes of a device in a layout."""
        boxes = [[self.interval(d, layout[d], c) for d in range(self.case.rank)] for c in self.coordinates]
        return int(self.volumes(np.array(boxes, int).reshape(len(boxes), self.case.rank, 2)).max()) * ITEM[self.case.dtype]

    def volumes(self, boxes):
        return np.clip(boxes[..., 1] - boxes[..., 0], 0, None).prod(-1)

    def costs(self, a):
        """From state a to all: arrays of recv, total, time (ps), peak; where it cannot be, recv is NEVER. And what each
        device receives."""
        case, item = self.case, ITEM[self.case.dtype]
        (layout, pending), box = self.states[a], self.boxes
        differ = self.coordinates[:, None, :] != self.coordinates[None, :, :]  # d, e, digit
        lo = np.maximum(box[:, :, None, :, 0], box[a][None, None, :, :, 0])
        hi = np.minimum(box[:, :, None, :, 1], box[a][None, None, :, :, 1])
        meet = np.clip(hi - lo, 0, None).prod(-1) * item  # state, d, e
        divides = [k for dim in layout for k in dim]
        axis = np.array([d[0] for d in self.digits], int)
        latency = np.zeros(differ.shape[:2])
        per_byte = np.zeros(differ.shape[:2])
        for k, i in enumerate(axis):
            latency = np.maximum(latency, differ[:, :, k] * case.latency[i] * 1e12)
            per_byte = np.maximum(per_byte, differ[:, :, k] * 1e12 / case.bandwidth[i])
        after, before = self.volumes(box) * item, self.volumes(box[a]) * item
        recv, each = np.full(len(self.states), NEVER), np.zeros(box.shape[:2], int)
        total, time, peak = recv.copy(), recv.copy(), recv.copy()
        for n in range(len(pending) + 1):
            for left in itertools.combinations(pending, n):
                goes = [b for b, s in enumerate(self.states) if s[1] == left]
                if not goes:
                    continue
                summed = [k for k in pending if k not in left]
                summands = int(np.prod([self.digits[k][2] for k in summed], dtype=int))
                # the sender of a part is the device that differs in no other digit than those that say which part
                others = [k for k in range(len(self.digits)) if k not in divides and k not in summed]
                sends = ~differ[:, :, others].any(-1) & differ.any(-1)
                moved = meet[goes] * sends
                received = moved.sum(-1)
                work = np.minimum(latency, WORK)
                flight, clock = latency - work, np.zeros(received.shape)
                for f in np.unique(flight):  # those that come first pass the link first
                    passes = ((work + moved * per_byte) * ((moved > 0) & (flight == f))).sum(-1)
                    clock = np.where(passes > 0, np.maximum(clock, f) + passes, clock)
                recv[goes], total[goes], each[goes] = received.max(-1), received.sum(-1), received
                time[goes] = np.floor(clock.max(-1))
                stack = summands * after[goes] if summed else 0 * after[goes]
                peak[goes] = (np.maximum(before, after[goes]) + stack if summed else before + after[goes]).max(-1)
                if summed:
                    b = [b for b in goes if self.states[b][0] == layout][0]
                    self.flat(b, summed, summands, before // item, (recv, total, time, peak))
        return recv, total, time, peak, each

    def flat(self, b, summed, summands, sizes, arrays):
        """The all_reduce of chunks of flat parts, where it is better than summands of whole parts."""
        case, item = self.case, ITEM[self.case.dtype]
        recv = total = messages = peak = rounds = 0
        for n in map(int, sizes):
            chunk = -(-n // summands)
            lengths = [max(0, min(chunk, n - i * chunk)) for i in range(summands)]
            total += sum((summands - 1) * m + n - m for m in lengths) / summands
            recv = max(recv, max((summands - 1) * m + n - m for m in lengths))
            messages = max(messages, summands - 1 + sum(m > 0 for m in lengths) - 1 if n else 0)
            rounds = max(rounds, (n > 0) + (sum(m > 0 for m in lengths) > 1))
            peak = max(peak, n + summands * chunk)
        axes = {self.digits[k][0] for k in summed}
        latency = {i: case.latency[i] * 1e12 for i in axes}
        time = max(rounds * (latency[i] - min(latency[i], WORK)) + messages * min(latency[i], WORK)
                   + recv * item * 1e12 / case.bandwidth[i] for i in axes)
        new = (recv * item, round(total) * item, int(time), peak * item)
        old = tuple(int(x[b]) for x in arrays)
        order = (lambda c: (c[2], c[1])) if case.mode == "time" else (lambda c: (c[0], c[1]))
        fits = lambda c: not case.limit or c[3] <= case.limit
        if fits(new) and (not fits(old) or order(new) < order(old)):
            for array, value in zip(arrays, new):
                array[b] = value

    def cheapest(self):
        """(mode's cost, total bytes) of the cheapest way; None: none keeps the limit."""
        case = self.case
        start = self.states.index((case.start, case.pending))
        end = self.states.index((case.end, case.kept))
        if case.limit and self.held(case.start) > case.limit:
            return None
        scale = 1 << 24  # cost and total as one number
        best = np.full(len(self.states), NEVER)
        best[start], done = 0, np.zeros(len(self.states), bool)
        while True:
            a = int(np.argmin(np.where(done, NEVER, best)))
            if done[a] or best[a] == NEVER:
                return None
            if a == end:
                return divmod(int(best[a]), scale)
            done[a] = True
            recv, total, time, peak, _ = self.costs(a)
            weight = (time if case.mode == "time" else recv) * scale + total
            weight[recv == NEVER] = NEVER
            if case.limit:
                weight[peak > case.limit] = NEVER
            better = (weight < NEVER) & (best[a] + weight < best)
            best[better] = best[a] + weight[better]


    def is_beaten(self, most):
        """Is there a way by which no device receives as much? Ways are sets of bytes of each device; of those to a state,
        the ones that are worse for all devices are left out. (all_reduce by flat chunks is not tried.)"""
        case, item = self.case, ITEM[self.case.dtype]
        start, end = self.states.index((case.start, case.pending)), self.states.index((case.end, case.kept))
        needs = self.volumes(self.boxes[end]) * item
        lo = np.maximum(self.boxes[..., 0], self.boxes[end][None, ..., 0])
        hi = np.minimum(self.boxes[..., 1], self.boxes[end][None, ..., 1])
        remainder = needs - np.clip(hi - lo, 0, None).prod(-1) * item
        for b, (_, pending) in enumerate(self.states):
            if pending != case.kept:
                remainder[b] = needs
        known, kept, count = {}, {start: [0 * needs]}, itertools.count()
        heap = [(int(remainder[start].max()), next(count), start, 0 * needs)]
        while heap and next(count) < 20000:
            least, _, a, received = heapq.heappop(heap)
            if least >= most or a == end:
                return least < most
            if a not in known:
                known[a] = self.costs(a)
            recv, _, _, peak, each = known[a]
            for b in np.flatnonzero((recv != NEVER) & ((each + received + remainder).max(-1) < most)):
                way = received + each[b]
                if (case.limit and peak[b] > case.limit) or any((other <= way).all() for other in kept.get(b, [])):
                    continue
                kept.setdefault(b, []).append(way)
                heapq.heappush(heap, (int((way + remainder[b]).max()), next(count), b, way))
        return False


def judge(case, answer):
    parts = Space(case)
    turned = case.turned()
    ways = [way for way in (parts.cheapest(), Space(turned).cheapest() if turned else None) if way]
    way = min(ways, default=None)
    if way is None or "error" in answer:
        return None if way is None and "no way keeps" in answer.get("error", "") else f"found {way}"
    cost = round(answer["time"] * 1e12) if case.mode == "time" else answer["recv"]
    slack = 8 if case.mode == "time" else 0  # picoseconds, rounded for each step
    if cost > way[0] + slack or (case.mode == "time" and cost < way[0] - slack):
        return f"cost {cost}, expected {way[0]} (total {way[1]})"
    if case.mode == "bytes" and case.pending == case.kept and answer["total"] != way[1]:
        return f"total {answer['total']}, expected {way[1]}"
    if case.mode == "bytes" and case.pending != case.kept and parts.is_beaten(answer["recv"]):
        return f"received {answer['recv']}, but there is a way of less"
    reached = case.mode == "bytes" and case.pending == case.kept and not case.limit
    if answer["recv"] < answer["bound"] or (reached and answer["recv"] != answer["bound"]):
        return f"received {answer['recv']}, bound {answer['bound']}"
    parts = [parts.held(case.start)] + [parts.held(read(step["to"], parts.digits, case.sizes)) for step in answer["steps"]]
    most = max((parts[i] + parts[i + 1] + step["recv"] for i, step in enumerate(answer["steps"])), default=parts[0])
    if answer["peak"] > most:
        return f"peak {answer['peak']}, expected at most {most}, the parts before and after a step, and what comes"
    if case.limit and answer["peak"] > case.limit:
        return f"peak {answer['peak']}, limit {case.limit}"
    return None


def main():
    options = arguments(others=True, seed=1, count=100, case=int, show=False)
    first = options.seed * 1000000
    seeds = [options.case] if options.case is not None else range(first, first + options.count)
    cases = [Case(seed) for seed in seeds]
    lines = "".join(json.dumps(case.line(n)) + "\n" for n, case in enumerate(cases))
    run = subprocess.run([f"{options.build}/viewfold", "reshard", "--json"], input=lines, capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    passed = failed = 0
    for seed, case, answer in zip(seeds, cases, answers, strict=True):
        why = judge(case, answer)
        passed, failed = passed + (why is None), failed + (why is not None)
        if options.show or (why and failed <= 3):
            print(f"case {seed} (reshard_search.py --build {options.build} --case {seed}): {why}\n{json.dumps(case.line(0))}\n"
                  f"{json.dumps(answer)}\n")
    print(f"reshard_search: {passed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
