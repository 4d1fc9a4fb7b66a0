"""The source of a row's random choices, and its recorder: operands among existing values, or inputs made for
it."""
import random

import numpy as np

from graphs import sizes
from graphs.graph import Graph, Node, Value
from graphs.reference import Ref, fit
from graphs.sizes import Variable, number, product
from oracle.rules import ALL, FLOATS, INTEGERS, NUMBERS, compute

MOST = 6000          # elements of a tensor in a run
MOST_PRODUCTS = 60000  # of one contraction
FARTHEST = (1 << 46, 1 << 46, 1 << 120)  # elements of a symbolic tensor at the upper bounds; only a run
                                          # knows whether its sizes fit together
BOUNDS = (9, 64, 1000, 4096, 1 << 21, 1 << 30, (1 << 31) + 8, 1 << 32, 1 << 33, 1 << 40)
NAMES = "nmrs"
DTYPES = ("f32",) * 9 + ("i32", "i64", "f64", "f16", "bf16") * 2 + ALL


class Skip(Exception):
    """The row has no case here; another one is drawn."""


class Maker:
    def __init__(self, seed, symbolic):
        sizes.forget()
        self.random, self.np = random.Random(seed), np.random.Generator(np.random.PCG64(seed))
        self.symbolic, self.farthest = symbolic, self.random.choice(FARTHEST)
        variables = self._variables() if symbolic else []
        self.graph = Graph(variables, self._assignments(variables) if symbolic else [{}])
        self.values, self.made, self.count = [], 0, 0
        self.typed = self.chance(0.3)

    # chance

    def chance(self, p):
        return self.random.random() < p

    def one(self, items):
        return self.random.choice(items)

    def integer(self, low, high):
        return self.random.randint(low, high)

    # sizes

    def _variables(self):
        found = []
        for name in NAMES[:self.one([1, 1, 2, 2, 3, 4])]:
            divisor = self.one([1, 1, 1, 2, 3, 4, 8, 16, 128])
            low = divisor * self.one([1, 1, 1, 2, 3, 5]) if self.chance(0.9) else self.integer(1, 6)
            if self.chance(0.04):
                low = 0
            high = max(self.one(BOUNDS) + self.one([0, 0, -1, 3]), low)
            if self.chance(0.05):
                high = low
            if -(-low // divisor) > high // divisor:
                high = low * divisor
            found.append(Variable(name, low, high, divisor))
        return found

    def _assignments(self, variables):
        """The least sizes, the next, odd ones, and sometimes a large one."""
        envs = []
        great = self.one(variables) if self.chance(0.4) else None
        for steps in ((0, 0), (1, 1), (0, 4), (2, 6)):
            env = {}
            for v in variables:
                k = min(v.high, v.low + self.integer(*steps))
                if v is great and steps == (2, 6):
                    k = min(v.high, max(k, self.integer(20, 1500) // v.divisor))
                elif k * v.divisor > 40:
                    k = min(k, v.low + 1)
                env[v] = k * v.divisor
            if env not in envs:
                envs.append(env)
        return envs

    def size(self):
        """A size for an axis: a number, or an expression of variables."""
        if not self.symbolic or self.chance(0.35):
            return number(self.one([1, 1, 2, 3, 4, 5, 7, 8]) if not self.chance(0.04) else self.one([0, 13, 17, 33]))
        v = self.one(self.graph.variables)
        whole, part = v.size(), sizes.quotient(v.size(), v.divisor)
        how = self.integer(0, 11)
        if how < 6:
            return whole
        if how < 8:
            return part
        if how == 8:
            return whole * self.integer(2, 3)
        if how == 9:
            return whole + self.integer(1, 5)
        if how == 10:
            return part * self.one([d for d in range(1, v.divisor + 1) if v.divisor % d == 0])
        return sizes.quotient(whole, self.one([2, 3, 5]), up=True)

    def fits(self, shape):
        whole = product(shape)
        return whole.high <= self.farthest and all(whole.at(env) <= MOST for env in self.graph.envs) and \
            all(s.low >= 0 for s in shape) and len(shape) <= 6

    def shape(self, least=0, most=4):
        for _ in range(20):
            shape = tuple(self.size() for _ in range(self.one([k for k in (1, 2, 2, 3, 3, 4, 0) if least <= k <= most])))
            if self.fits(shape):
                return shape
        if least > 1:
            return (number(2),) * least
        return (number(3),) * least

    def room(self, *shapes):
        if not all(self.fits(tuple(s)) for s in shapes):
            raise Skip

    def loops(self, shape):
        """Skips the row where loops over `shape` would have too many iterations."""
        whole = product(shape)
        if whole.high > self.farthest << 4 or any(whole.at(env) > MOST_PRODUCTS for env in self.graph.envs):
            raise Skip

    def size_text(self, size):
        return sizes.sized(size).text(self.random)

    def shape_text(self, shape):
        return "[" + ",".join(self.size_text(s) for s in shape) + "]"

    # operands

    def dtype(self, dtypes=DTYPES):
        return self.one(dtypes)

    def kind(self, dtype):
        """The kind of elements of an input, the same in all runs."""
        if dtype in FLOATS:
            return self.one(["quarters", "quarters", "normal", "normal", "wide", "edges"])
        return self.one(["small", "small", "all"])

    def elements(self, dtype, shape, kind):
        """small: a few small integers; quarters: sums of them are exact; edges: infinities and NaN among them."""
        if dtype == "bool":
            return self.np.integers(0, 2, shape).astype(bool)
        if dtype in FLOATS:
            if kind == "small":
                return self.np.integers(-4, 5, shape).astype(compute(dtype))
            if kind == "quarters":
                return (self.np.integers(-16, 17, shape) / 4).astype(compute(dtype))
            a = self.np.standard_normal(shape) * (1 if kind == "normal" else 20)
            if kind == "edges":
                edges = np.array([0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-3, 300.0])
                a = np.where(self.np.random(shape) < 0.08, edges[self.np.integers(0, 8, shape)], a)
            return fit(dtype, np.asarray(a, compute(dtype)))
        limits = np.iinfo(compute(dtype))
        if kind == "small":
            return self.np.integers(max(limits.min, -9), 10, shape).astype(compute(dtype))
        return self.np.integers(limits.min, limits.max, shape, dtype=compute(dtype), endpoint=True)

    def input(self, dtype, shape, elements=None, kind=None):
        """elements(env, concrete shape): what the input holds in that run."""
        self.room(shape)
        if len(self.graph.inputs) >= 12:
            raise Skip
        kind = kind or self.kind(dtype)
        refs = []
        for env in self.graph.envs:
            concrete = tuple(s.at(env) for s in shape)
            a = elements(env, concrete) if elements else self.elements(dtype, concrete, kind)
            refs.append(Ref(np.asarray(a, compute(dtype)).reshape(concrete)))
        value = Value(f"x{len(self.graph.inputs)}", dtype, shape, refs)
        value.written = dtype + self.shape_text(shape)
        self.graph.inputs.append(value)
        self.values.append(value)
        return value

    def operand(self, dtypes=None, least=0, most=5, accept=None, fresh=0.15):
        """An existing value, rather a late one, or an input. accept(value): a further condition."""
        def good(v):
            return (dtypes is None or v.dtype in dtypes) and least <= v.rank <= most and (not accept or accept(v))
        found = [v for v in self.values[-8:] if good(v)]
        if not found or self.chance(0.2):
            found = [v for v in self.values if good(v)] or found
        if found and not self.chance(fresh):
            return self.one(found[-3:]) if self.chance(0.6) else self.one(found)
        for _ in range(8):
            shape = self.shape(least, min(most, 4))
            dtype = self.dtype([t for t in DTYPES if dtypes is None or t in dtypes])
            probe = Value("", dtype, shape, [Ref(np.empty(tuple(s.at(e) for s in shape))) for e in self.graph.envs])
            if not accept or accept(probe):
                value = self.input(dtype, shape)
                if not accept or accept(value):
                    return value
        raise Skip

    def like(self, dtype, shape, accept=None, fresh=0.2):
        """An operand of that very type."""
        shape = tuple(shape)
        found = [v for v in self.values if v.dtype == dtype and v.shape == shape and (not accept or accept(v))]
        if found and not self.chance(fresh):
            return self.one(found)
        return self.input(dtype, shape)

    def broadcastable(self, x, dtype, grow=0.2):
        """A value that broadcasts with x: an existing one, or an input with some axes left out or of size
        1."""
        found = [v for v in self.values if v.dtype == dtype and broadcast(v.shape, x.shape) is not None]
        found = [v for v in found if self.fits(broadcast(v.shape, x.shape))]
        if found and self.chance(0.75):
            return self.one(found)
        kept = list(x.shape[self.integer(0, x.rank) if self.chance(0.3) else 0:])
        kept = [number(1) if self.chance(0.2) else s for s in kept]
        kept = [self.size() if s == 1 and self.chance(grow) else s for s in kept]
        if broadcast(kept, x.shape) is None:
            raise Skip
        self.room(broadcast(kept, x.shape))
        return self.input(dtype, tuple(kept))

    def axis(self, rank, extra=0):
        axis = self.integer(0, rank - 1 + extra)
        return axis, axis if self.chance(0.6) else axis - rank - extra

    # results

    def emit(self, op, operands, attributes, function, *types):
        """Records; types: (dtype, shape) of each result. function(env, *refs) -> a Ref, or a list of them."""
        operands = list(operands)
        self.room(*[shape for _, shape in types])
        node = Node(op, operands, [(k, str(v)) for k, v in attributes.items() if v is not None],
                    function if len(types) > 1 else lambda env, *refs: [function(env, *refs)])
        sources = node.sources()
        with np.errstate(all="ignore"):
            made = [node.function(env, *[x.refs[k] for x in sources]) for k, env in enumerate(self.graph.envs)]
        self._useful(made)
        written = []
        for number_, (dtype, shape) in enumerate(types):
            refs = [refs[number_] for refs in made]
            for ref, env in zip(refs, self.graph.envs):
                assert ref.a.shape == tuple(s.at(env) for s in shape), (op, attributes, ref.a.shape, shape, env)
                assert ref.a.dtype == compute(dtype), (op, dtype, ref.a.dtype)
            value = Value(f"v{self.made}", dtype, shape, refs, node)
            value.written = dtype + self.shape_text(shape)
            written.append(value.written)
            self.made += 1
            node.results.append(value)
            self.values.append(value)
        if self.typed and self.chance(0.5):
            node.types = " : " + ", ".join(written)
        self.graph.nodes.append(node)
        self.count += 1
        return node.results[0] if len(types) == 1 else node.results

    @staticmethod
    def _useful(made):
        """Results of which hardly anything is known test nothing."""
        for refs in made:
            for ref in refs:
                if ref.e is None or not ref.a.size:
                    continue
                loose = ~(np.broadcast_to(ref.e, ref.a.shape) <= 1e-2 * (1 + np.abs(ref.a.astype(np.float64))))
                if np.count_nonzero(loose) > ref.a.size / 3:
                    raise Skip


def broadcast(a, b):
    """NumPy's rule on sizes; None where they are not certain to broadcast."""
    whole = []
    for k in range(1, max(len(a), len(b)) + 1):
        s = a[-k] if k <= len(a) else number(1)
        t = b[-k] if k <= len(b) else number(1)
        if s != t and s != 1 and t != 1:
            return None
        whole.append(t if s == 1 else s)
    return tuple(whole[::-1])


__all__ = ["ALL", "DTYPES", "FLOATS", "INTEGERS", "NUMBERS", "Maker", "Skip", "broadcast"]
