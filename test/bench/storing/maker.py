"""The source of a row's random choices, and its recorder. The library itself says what shape and dtype an operation has, and
whether it is legal."""
import math
import random

from binding import DTYPES, Graph as Recorded, Refused, Value, attributes_text, sizes
from oracle.rules import NUMBERS
from storing.choices import Choices
from storing.text import Graph, Statement, bytes_of

OPERATIONS, LEAST_MS, MOST_MS = (20, 200), 0.02, 20.0
# What one thread does in a millisecond, roughly: elements read, computed and stored by themselves, and multiply-adds.
ELEMENTS_MS, PRODUCTS_MS = 3.0e6, 2.0e7
MOST_RANK = 6


class Skip(Exception):
    """A row does not apply to what was drawn."""


class Drawn:
    """A value of the graph being drawn."""

    def __init__(self, name, value):
        self.name, self.value, self.read = name, value, False
        self.dtype, self.shape = value.dtype, value.shape
        self.count = math.prod(value.shape)

    @property
    def rank(self):
        return len(self.shape)


class Maker(Choices):
    """target_ms: what the graph may cost when everything is stored; operations: how many it has at the least."""

    def __init__(self, context, seed):
        super().__init__(seed)
        self.recorded, self.params, self.statements, self.values = Recorded(context), {}, [], []
        self.target_ms = LEAST_MS * (MOST_MS / LEAST_MS) ** self.random.random()
        self.operations = self.random.randint(*OPERATIONS)
        self.main = self.one(["f32"] * 14 + ["f64", "f64", "f16", "bf16", "i32", "u8", "i64", "i8"])
        self.ms = 0.0
        # Elements of a value in the middle: all operations together then take the time that is given.
        self.usual = max(64, int(self.target_ms / self.operations * ELEMENTS_MS))

    def done(self):
        return len(self.statements) >= OPERATIONS[1] or self.ms > 2 * self.target_ms or \
            (len(self.statements) >= self.operations and self.chance(0.5))

    def size(self, near):
        """A size of an axis: usual in models, or any."""
        near = max(1, near)
        usual = [s for s in (1, 2, 3, 4, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 77, 96, 100, 112, 128, 144, 192, 197, 256, 320, 384, 512,
                             768, 960, 1000, 1024, 1536, 2048, 3072, 4096) if near / 2 <= s <= near * 2]
        return self.one(usual) if usual and self.chance(0.8) else self.integer(max(1, near // 2), max(1, near * 3 // 2))

    def input(self, dtype, shape, fan=0):
        """A parameter; a weight that is multiplied `fan` terms at a time."""
        if math.prod(shape) > 16 * self.usual + 4096 and not fan or math.prod(shape) * bytes_of(dtype) > 64 << 20:
            raise Skip
        name = f"w{fan}_{len(self.params)}" if fan else f"x{len(self.params)}"
        raw = self.recorded.c.vf_input(self.recorded.raw, name.encode(), DTYPES.index(dtype), len(shape), sizes(shape))
        value = Drawn("%" + name, Value(self.recorded, raw))
        self.params[value.name] = f"{dtype}[{','.join(map(str, shape))}]"
        return value

    def source(self, dtype, shape):
        """A new parameter among the values that rows pick from."""
        value = self.input(dtype, shape)
        self.values.append(value)
        return value

    def pick(self, dtypes=None, rank=None, fits=lambda v: True, least=2):
        """A value: one of the last, one that nothing has read, or any."""
        def good(v):
            return (not dtypes or v.dtype in dtypes) and (rank is None or v.rank in rank) and v.count >= least and fits(v)
        found = [v for v in self.values if good(v)]
        if not found:
            raise Skip
        how = self.random.random()
        unread = [v for v in found if not v.read]
        return self.one(found[-4:] if how < 0.5 else unread if unread and how < 0.8 else found)

    def like(self, x, dtype=None):
        """Another value of that shape, or a parameter."""
        dtype = dtype or x.dtype
        same = [v for v in self.values if v.shape == x.shape and v.dtype == dtype and v is not x]
        return self.one(same[-6:]) if same and self.chance(0.85) else self.input(dtype, x.shape)

    def emit(self, op, *operands, keep=True, products=0, **attributes):
        """Records an operation; results join the values that rows pick from when `keep`."""
        given = [v.value if isinstance(v, Drawn) else v for v in operands]
        self.afford(products)
        try:
            made = self.recorded.apply_all(op, *given, **attributes)
        except Refused as why:
            raise Skip(str(why)) from why
        if any(math.prod(v.shape) > 16 * self.usual + 4096 or not math.prod(v.shape) or len(v.shape) > MOST_RANK for v in made):
            raise Skip
        values = [Drawn(f"%v{len(self.statements)}" + (f"_{k}" if k else ""), v) for k, v in enumerate(made)]
        written = ", ".join(v.name if isinstance(v, Drawn) else str(v).lower() if isinstance(v, bool) else str(v) for v in operands)
        self.statements.append(Statement([v.name for v in values], f"{op} {written} {attributes_text(attributes)}".rstrip()))
        for v in operands:
            if isinstance(v, Drawn):
                v.read = True
        self.ms += sum(v.count for v in values) / ELEMENTS_MS + products / PRODUCTS_MS
        if keep:
            self.values.extend(values)
        return values[0] if len(values) == 1 else values

    def afford(self, products):
        if products / PRODUCTS_MS > max(self.target_ms / 4, LEAST_MS):
            raise Skip

    def graph(self):
        """All values that nothing reads are results; a few of the same type are added up first."""
        read = {n for s in self.statements for n in s.reads()}
        left = [v for v in self.values if v.name not in read and v.name not in self.params]
        groups = {}
        for v in left:
            groups.setdefault((v.dtype, v.shape), []).append(v)
        for (dtype, _), group in groups.items():
            while len(group) > 1 and dtype in NUMBERS:
                group.append(self.emit("add", group.pop(), group.pop(0), keep=False))
        return Graph(self.params, self.statements, [v.name for group in groups.values() for v in group]).pruned()


def started(m, starts):
    for _ in range(20):
        try:
            return m.one(starts)(m)
        except Skip:
            continue
    return None


def draw_graph(context, seed, rows, starts):
    """rows: {function(maker): weight}; starts: functions that make the first parameters."""
    m = Maker(context, seed)
    functions, weights = list(rows), list(rows.values())
    few = [m.one(functions) for _ in range(m.integer(3, 12))]  # each graph has favourites, so that patterns recur
    started(m, starts)
    for _ in range(2000):
        if m.done():
            break
        if m.chance(0.04):
            started(m, starts)
        before = len(m.statements), len(m.values), m.ms
        try:
            (m.one(few) if m.chance(0.5) else m.random.choices(functions, weights)[0])(m)
        except Skip:
            del m.statements[before[0]:], m.values[before[1]:]
            m.ms = before[2]
    return m.graph()
