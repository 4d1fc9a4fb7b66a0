"""Views, and operations composed of them."""
import numpy as np

from graphs.maker import ALL, FLOATS, Skip
from graphs.reference import Ref
from graphs.sizes import Size, least, number, product, quotient
from oracle.views import beyond

MOVABLE = ALL


def moved(move):
    """A function of arrays as one of Refs; errors are rearranged like elements."""
    return lambda env, r: Ref(move(env, r.a), None if r.e is None else move(env, np.broadcast_to(r.e, r.a.shape)))


# views

def permute(g):
    x = g.operand(MOVABLE, least=1)
    how = g.integer(0, 3)
    if how == 0 and x.rank > 1:
        (a, first), (b, second) = g.axis(x.rank), g.axis(x.rank)
        order = list(range(x.rank))
        order[a], order[b] = order[b], order[a]
        op, attributes = g.one(["swap_axes", "transpose"]), {"axis1": first, "axis2": second}
    elif how == 1:
        (a, source), (b, destination) = g.axis(x.rank), g.axis(x.rank)
        order = [k for k in range(x.rank) if k != a]
        order.insert(b, a)
        op, attributes = "moveaxis", {"source": source, "destination": destination}
    else:
        order = list(range(x.rank))
        g.random.shuffle(order)
        op, attributes = "permute", {"order": "[" + ",".join(map(str, order)) + "]"}
    g.emit(op, [x], attributes, moved(lambda _, a: np.transpose(a, order)), (x.dtype, [x.shape[k] for k in order]))


def reshape(g):
    """Axes merged, or one split into factors."""
    x = g.operand(MOVABLE)
    shape = list(x.shape)
    for _ in range(g.integer(1, 3)):
        how = g.integer(0, 3)
        if how == 0 and len(shape) > 1:
            k = g.integer(0, len(shape) - 2)
            shape[k:k + 2] = [shape[k] * shape[k + 1]]
        elif how == 1 and shape:
            k = g.integer(0, len(shape) - 1)
            parts = _factors(g, shape[k])
            if parts:
                shape[k:k + 1] = parts
        elif how == 2:
            shape.insert(g.integer(0, len(shape)), number(1))
        elif 1 in shape:
            shape.remove(number(1))
    written = [g.size_text(s) for s in shape]
    if shape and g.chance(0.25) and all(s.low >= 1 for s in x.shape):
        written[g.integer(0, len(shape) - 1)] = "-1"
    g.room(shape)
    concrete = lambda env: tuple(s.at(env) for s in shape)
    if product(shape) != product(x.shape):
        raise Skip
    g.emit("reshape", [x], {"shape": "[" + ",".join(written) + "]"}, moved(lambda env, a: a.reshape(concrete(env))),
           (x.dtype, shape))


def _factors(g, size):
    found = [d for d in (2, 3, 4, 5, 7, 8, 16) if size.divides(d) and size.terms]
    if found and g.chance(0.7):
        d = g.one(found)
        parts = [size.over(d), number(d)]
    else:
        shared = [a for a in size.variables() if all(a in m for m in size.terms)]
        if not shared:
            return None
        a = g.one(sorted(shared, key=lambda v: v.order))
        parts = [Size({(a,): 1}), size.without(Size({(a,): 1}))]
    return parts if g.chance(0.5) else parts[::-1]


def flatten(g):
    x = g.operand(MOVABLE, least=1)
    first = g.integer(0, x.rank - 1)
    last = g.integer(first, x.rank - 1)
    shape = x.shape[:first] + (product(x.shape[first:last + 1]),) + x.shape[last + 1:]
    g.emit("flatten", [x], {"start_dim": g.one([first, first - x.rank]), "end_dim": g.one([last, last - x.rank])},
           moved(lambda env, a: a.reshape(tuple(s.at(env) for s in shape))), (x.dtype, shape))


def expand(g):
    x = g.operand(MOVABLE)
    shape = [g.size() if s == 1 and g.chance(0.7) else s for s in x.shape]
    op = "expand"
    if g.chance(0.4):
        shape = [g.size() for _ in range(g.integer(0, 2))] + shape
        op = "broadcast_to"
    g.room(shape)
    g.emit(op, [x], {"shape": g.shape_text(shape)},
           moved(lambda env, a: np.broadcast_to(a, tuple(s.at(env) for s in shape))), (x.dtype, shape))


def unsqueeze(g):
    x = g.operand(MOVABLE, most=4)
    axis, written = g.axis(x.rank, 1)
    g.emit("unsqueeze", [x], {"axis": written}, moved(lambda _, a: np.expand_dims(a, axis)),
           (x.dtype, x.shape[:axis] + (number(1),) + x.shape[axis:]))


def squeeze(g):
    x = g.operand(MOVABLE, accept=lambda v: any(s == 1 for s in v.shape))
    axis = g.one([k for k, s in enumerate(x.shape) if s == 1])
    written = g.one([axis, axis - x.rank])
    attributes = {"axis": written} if g.chance(0.6) else {"axes": f"[{written}]"}
    g.emit("squeeze", [x], attributes, moved(lambda _, a: np.squeeze(a, axis)),
           (x.dtype, x.shape[:axis] + x.shape[axis + 1:]))


def window(g, size):
    """Provable bounds 0 <= begin <= end <= size."""
    forms = [(number(0), size)]
    if size.low >= 1:
        low = min(size.low, 9)
        b = g.integer(0, low - 1)
        forms += [(number(b), size), (number(0), size - b), (number(b), number(g.integer(b, low))),
                  (number(g.integer(0, b)), size - (low - b if low > b else 0)), (size - (b + 1), size),
                  (size - (b + 1), size - g.integer(0, b))]
    half = quotient(size, g.one([2, 3, 4]))
    forms += [(number(0), half), (half, size), (number(0), least(size, g.integer(1, 6)))]
    if g.symbolic:
        forms.append((quotient(size, 4), half) if size.low >= 0 and quotient(size, 2) == half else (half, size))
    b, e = g.one(forms)
    return b, e


def shrink(g):
    x = g.operand(MOVABLE, least=1)
    bounds = [window(g, s) if g.chance(0.6) else (number(0), s) for s in x.shape]
    text = "[" + ",".join(f"[{g.size_text(b)},{g.size_text(e)}]" for b, e in bounds) + "]"
    shape = [e - b for b, e in bounds]
    if any(s.low < 0 for s in shape):  # a difference of quotients: nonnegative, but not provably so by these bounds
        raise Skip
    g.emit(g.one(["shrink", "shrink", "slice", "slice_tensor"]), [x], {"bounds": text},
           moved(lambda env, a: a[tuple(slice(b.at(env), e.at(env)) for b, e in bounds)]), (x.dtype, shape))


def stride(g):
    x = g.operand(MOVABLE, least=1)
    steps = [g.one([1, 1, 2, 3, -1, -2, -3]) for _ in x.shape]
    shape = [quotient(s, abs(t), up=True) for s, t in zip(x.shape, steps)]
    g.emit("stride", [x], {"steps": "[" + ",".join(map(str, steps)) + "]"},
           moved(lambda _, a: a[tuple(slice(None, None, t) for t in steps)]), (x.dtype, shape))


def flip(g):
    x = g.operand(MOVABLE, least=1)
    axes = [k for k in range(x.rank) if g.chance(0.6)] or [0]
    attributes = {"axes": "[" + ",".join(map(str, axes)) + "]"}
    if len(axes) == 1 and g.chance(0.5):
        attributes = {"axis": axes[0] - g.one([0, x.rank])}
    g.emit("flip", [x], attributes, moved(lambda _, a: np.flip(a, tuple(axes))), (x.dtype, x.shape))


def point(g):
    x = g.operand(MOVABLE, least=1)
    axis, written = g.axis(x.rank)
    size = x.shape[axis]
    if size.low < 1:
        raise Skip
    c = g.integer(0, min(size.low, 6) - 1)
    index = g.one([number(c), number(c), size - (c + 1), quotient(size, 2) if size.low > 1 else number(0)])
    g.emit("point", [x], {"index": g.size_text(index), "axis": written},
           moved(lambda env, a: np.take(a, index.at(env), axis)), (x.dtype, x.shape[:axis] + x.shape[axis + 1:]))


def reflected(a, amounts):
    """Reflected with period 2 (n - 1). numpy.pad has another period where one side is much wider than the
    axis and the other is padded as well."""
    for axis, (before, after) in enumerate(amounts):
        size = a.shape[axis]
        at = np.arange(-before, size + after) % max(2 * (size - 1), 1)
        a = np.take(a, np.minimum(at, 2 * (size - 1) - at) if size > 1 else at, axis)
    return a


def pad(g):
    mode = g.one([None, None, "edge", "reflect", "wrap"])
    x = g.operand(MOVABLE, least=1)
    def amount(size):
        if g.symbolic and g.chance(0.15):
            return g.one([quotient(size, 2), g.size()])
        return number(g.one([0, 0, 1, 2, 3]))
    pads = [(amount(s), amount(s)) if g.chance(0.7) else (number(0), number(0)) for s in x.shape]
    if mode and any(s.low < 1 for s in x.shape):
        raise Skip
    text = "[" + ",".join(f"[{g.size_text(b)},{g.size_text(e)}]" for b, e in pads) + "]"
    value = None
    if not mode and g.chance(0.5):
        value = "true" if x.dtype == "bool" else g.one([1.5, -2.0]) if x.dtype in FLOATS else g.integer(1, 9)
    fill = 0 if value is None else True if value == "true" else value
    shape = [b + s + e for (b, e), s in zip(pads, x.shape)]

    def made(env, r):
        amounts = [(b.at(env), e.at(env)) for b, e in pads]
        def grow(a, v):
            if mode == "reflect":
                return reflected(a, amounts)
            return beyond(a, amounts, mode) if mode else np.pad(a, amounts, constant_values=v)
        return Ref(grow(r.a, r.a.dtype.type(fill)), None if r.e is None else grow(np.broadcast_to(r.e, r.a.shape), 0.0))
    g.room(shape)
    g.emit("pad", [x], {"pads": text, "value": value, "mode": mode}, made, (x.dtype, shape))


def together(refs, join):
    """Combines arrays, and errors, of several Refs."""
    a = join([r.a for r in refs])
    if all(r.e is None for r in refs):
        return Ref(a)
    return Ref(a, join([np.broadcast_to(r.err, r.a.shape) for r in refs]))


def concat(g):
    x = g.operand(MOVABLE, least=1)
    axis, written = g.axis(x.rank)
    operands = [x]
    for _ in range(g.integer(0, 3)):
        found = [v for v in g.values if v.dtype == x.dtype and v.rank == x.rank and
                 all(s == t for k, (s, t) in enumerate(zip(v.shape, x.shape)) if k != axis)]
        if found and g.chance(0.7):
            operands.append(g.one(found))
        else:
            operands.append(g.input(x.dtype, x.shape[:axis] + (g.size(),) + x.shape[axis + 1:]))
    g.random.shuffle(operands)
    size = number(0)
    for v in operands:
        size = size + v.shape[axis]
    g.emit(g.one(["concat", "concatenate"]), operands, {"axis": written},
           lambda _, *refs: together(refs, lambda a: np.concatenate(a, axis)),
           (x.dtype, x.shape[:axis] + (size,) + x.shape[axis + 1:]))


def stack(g):
    x = g.operand(MOVABLE, most=4)
    axis, written = g.axis(x.rank, 1)
    operands = [x] + [g.like(x.dtype, x.shape) for _ in range(g.integer(0, 2))]
    g.emit("stack", operands, {"axis": written}, lambda _, *refs: together(refs, lambda a: np.stack(a, axis)),
           (x.dtype, x.shape[:axis] + (number(len(operands)),) + x.shape[axis:]))


def split(g):
    parts = g.integer(1, 4)
    x = g.operand(MOVABLE, least=1, accept=lambda v: any(s.divides(parts) and s.low >= 1 for s in v.shape))
    axis = g.one([k for k, s in enumerate(x.shape) if s.divides(parts) and s.low >= 1])
    shape = x.shape[:axis] + (x.shape[axis].over(parts),) + x.shape[axis + 1:]
    _several(g, g.one(["split", "chunk"]), x, axis, [shape] * parts, parts)


def _several(g, op, x, axis, shapes, parts):
    def made(env, r):
        ends = np.cumsum([s[axis].at(env) for s in shapes])[:-1]
        pieces = np.split(r.a, ends, axis)
        errors = [None] * len(pieces) if r.e is None else np.split(np.broadcast_to(r.e, r.a.shape), ends, axis)
        made_of = [Ref(a, e) for a, e in zip(pieces, errors)]
        return made_of if len(shapes) > 1 else made_of[0]
    g.emit(op, [x], {"chunks" if op == "chunk" else "parts": parts, "axis": g.one([axis, axis - x.rank])}, made,
           *[(x.dtype, s) for s in shapes])


def chunk(g):
    """Chunks of a number of elements, of which the first ones are one longer."""
    x = g.operand(MOVABLE, least=1, accept=lambda v: any(s.const for s in v.shape))
    axis = g.one([k for k, s in enumerate(x.shape) if s.const])
    n, parts = x.shape[axis].const, g.integer(1, 5)
    sizes = [n // parts + (k < n % parts) for k in range(parts)]
    _several(g, "chunk", x, axis, [x.shape[:axis] + (number(s),) + x.shape[axis + 1:] for s in sizes if s], parts)


def unbind(g):
    x = g.operand(MOVABLE, least=1, accept=lambda v: any(s.const and s.const <= 4 for s in v.shape))
    axis = g.one([k for k, s in enumerate(x.shape) if s.const and s.const <= 4])
    n = x.shape[axis].const

    def made(_, r):
        refs = [Ref(np.take(r.a, k, axis), None if r.e is None else np.take(np.broadcast_to(r.e, r.a.shape), k, axis))
                for k in range(n)]
        return refs if n > 1 else refs[0]
    g.emit("unbind", [x], {"axis": g.one([axis, axis - x.rank])}, made,
           *[(x.dtype, x.shape[:axis] + x.shape[axis + 1:])] * n)


def triangle(g):
    x = g.operand(MOVABLE, least=2)
    op, f = g.one([("tril", np.tril), ("triu", np.triu)])
    k = g.integer(-2, 2)
    g.emit(op, [x], {"diagonal": k}, moved(lambda _, a: f(a, k)), (x.dtype, x.shape))


def slice_update(g):
    x = g.operand(MOVABLE, least=1, most=3)
    begin, size = [], []
    for s in x.shape:
        b, e = window(g, s)
        begin.append(b)
        size.append(e - b)
    if any(s.low < 0 for s in size):
        raise Skip
    u = g.like(x.dtype, size) if g.chance(0.8) else g.input(x.dtype, tuple(number(1) if g.chance(0.3) else s
                                                                             for s in size))

    def made(env, r, t):
        at = tuple(slice(b.at(env), b.at(env) + s.at(env)) for b, s in zip(begin, size))
        a = r.a.copy()
        a[at] = t.a
        if r.e is None and t.e is None:
            return Ref(a)
        e = np.array(np.broadcast_to(r.err, r.a.shape))
        e[at] = t.err
        return Ref(a, e)
    left_out = tuple(u.shape) == tuple(size) and g.chance(0.5)
    g.emit("slice_update", [x, u], {"start": g.shape_text(begin), "size": None if left_out else g.shape_text(size)},
           made, (x.dtype, x.shape))


ROWS = [(4, permute), (6, reshape), (1, flatten), (3, expand), (2, unsqueeze), (2, squeeze),
        (5, shrink), (3, stride), (2, flip), (2, point), (5, pad), (4, concat), (2, stack), (2, split), (1, chunk),
        (1, unbind), (1, triangle), (2, slice_update)]
