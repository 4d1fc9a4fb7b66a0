"""Operations with indices, cumulative operations, and sorting."""
import numpy as np

from graphs.maker import ALL, FLOATS, NUMBERS, Skip
from graphs.reference import UNKNOWN, Ref, fit, rounding, settled, work
from graphs.rows_reduce import SUM_UNITS, wide
from graphs.sizes import number, product
from oracle.indirect import places
from oracle.ordered import before, directed, order
from oracle.rules import accumulator, compute

FEW = 500  # elements of arrays that Python loops over


def few(g, *shapes):
    if any(product(s).at(env) > FEW for s in shapes for env in g.graph.envs):
        raise Skip


def indices(g, shape, size, negative=True):
    """(operand, mode, where(env, array) -> indices, -1 for none): existing values, or an input."""
    mode = g.one([None, "check", "clip", "fill"])
    shape = tuple(shape)
    found = [v for v in g.values if v.dtype in ("i64", "i32", "i16", "i8") and v.shape == shape and v.exact()]
    if mode in (None, "check"):
        if size.low < 1:
            raise Skip
        found = [v for v in found if all(np.all((r.a >= -size.at(env)) & (r.a < size.at(env)))
                                         for r, env in zip(v.refs, g.graph.envs))]
    elif size.low < 1:
        raise Skip
    if found and g.chance(0.6):
        operand = g.one(found)
    else:
        room = 0 if mode in (None, "check") else 3
        dtype = g.one(["i64", "i64", "i32", "i16"])

        def elements(env, concrete):
            n = size.at(env)
            return g.np.integers(-n - room if negative else 0, n + room, concrete).clip(-32768, 32767)
        operand = g.input(dtype, shape, elements)

    def at(env, a):
        n = size.at(env)
        a = a.astype(np.int64)
        a = np.where(a < 0, a + n, a)
        outside = (a < 0) | (a >= n)
        return np.where(outside, -1, a) if mode == "fill" else np.clip(a, 0, n - 1)
    return operand, mode, at


def picked(a, at, axis, rank):
    """An axis replaced by the elements at the indices."""
    y = np.take(a, np.maximum(at, 0), axis)
    gone = (at < 0).reshape((1,) * axis + at.shape + (1,) * (rank - axis - 1))
    return np.where(gone, a.dtype.type(0), y)


def gather(g):
    x = g.operand(ALL, least=1, most=3)
    op = g.one(["gather", "take"])
    flat = op == "take" and g.chance(0.4)
    axis, written = g.axis(x.rank)
    size = product(x.shape) if flat else x.shape[axis]
    shape = g.shape(most=2)
    operand, mode, at = indices(g, shape, size)
    result = tuple(shape) if flat else x.shape[:axis] + tuple(shape) + x.shape[axis + 1:]
    g.room(result)

    def made(env, r, i):
        where = at(env, i.a)
        def pick(a):
            return picked(a.reshape(-1), where, 0, 1) if flat else picked(a, where, axis, x.rank)
        return Ref(pick(r.a), None if r.e is None else pick(np.broadcast_to(r.e, r.a.shape)))
    g.emit(op, [x, operand], {"axis": None if flat else written, "mode": mode}, made, (x.dtype, result))


def gather_batch(g):
    """The first axes of data and indices are common batch axes."""
    x = g.operand(ALL, least=2, most=3)
    batch = g.integer(1, x.rank - 1)
    axis = g.integer(batch, x.rank - 1)
    shape = x.shape[:batch] + g.shape(most=1)
    operand, mode, at = indices(g, shape, x.shape[axis])
    result = x.shape[:axis] + tuple(shape[batch:]) + x.shape[axis + 1:]
    g.room(result)
    few(g, x.shape[:axis] + tuple(shape[batch:]))

    def made(env, r, i):
        where = at(env, i.a)
        concrete = tuple(s.at(env) for s in result)
        y, e = np.zeros(concrete, r.a.dtype), None if r.e is None else np.zeros(concrete)
        for front, j, k in places(r.a.shape, axis, where, batch):
            if k >= 0:
                y[front + j] = r.a[front + (k,)]
                if e is not None:
                    e[front + j] = np.broadcast_to(r.e, r.a.shape)[front + (k,)]
        return Ref(y, e)
    g.emit("gather", [x, operand], {"axis": axis, "mode": mode, "batch": batch}, made, (x.dtype, result))


def take_along(g):
    x = g.operand(ALL, least=1, most=4)
    axis, written = g.axis(x.rank)
    shape = list(x.shape)
    if g.chance(0.5):
        shape[axis] = g.size()
    g.room(shape)
    operand, mode, at = indices(g, shape, x.shape[axis])

    def made(env, r, i):
        where = at(env, i.a)
        def pick(a):
            return np.where(where < 0, 0, np.take_along_axis(a, np.maximum(where, 0), axis)).astype(a.dtype)
        return Ref(pick(r.a), None if r.e is None else pick(np.broadcast_to(r.e, r.a.shape)))
    g.emit("take_along_axis", [x, operand], {"axis": written, "mode": mode}, made, (x.dtype, shape))


def scatter(g):
    add = g.chance(0.5)
    x = g.operand(NUMBERS if add else ALL, least=1, most=3)
    axis, written = g.axis(x.rank)
    shape = g.shape(most=1)
    operand, mode, at = indices(g, shape, x.shape[axis])
    updates = x.shape[:axis] + tuple(shape) + x.shape[axis + 1:]
    g.room(updates)
    few(g, x.shape[:axis] + tuple(shape), x.shape)
    u = g.like(x.dtype, updates)

    def made(env, r, i, t):
        where = at(env, i.a)
        return _stored(x.dtype, add, r, t, ((front + (k,), front + j)
                                            for front, j, k in places(r.a.shape, axis, where, 0) if k >= 0))
    g.emit("scatter_add" if add else "scatter", [x, operand, u], {"axis": written, "mode": mode}, made,
           (x.dtype, x.shape))


def _stored(dtype, add, r, t, moves):
    """Applies updates in order: added, or in place of the old elements."""
    floats = dtype in FLOATS
    y = r.a.astype(np.float64 if add and floats else r.a.dtype, copy=True)
    e = np.array(np.broadcast_to(r.err, y.shape), np.float64)
    te, size, count = np.broadcast_to(t.err, t.a.shape), np.abs(y) if add and floats else None, np.zeros(y.shape)
    for to, source in moves:
        if add:
            y[to] = y[to] + t.a[source]
            e[to] += te[source]
            count[to] += 1
            if floats:
                size[to] += np.abs(t.a[source])
        else:
            y[to], e[to] = t.a[source], te[source]
    if add and floats:
        e = e + np.where(count > 0, (count + 2) * 2 * work(dtype) * size + 2 * rounding(dtype, size), 0)
        return settled(dtype, fit(dtype, y), np.where(np.isfinite(y) | (count == 0), e, UNKNOWN))
    if not floats:
        e = np.where(e > 0, UNKNOWN, 0.0)
    return Ref(y, e) if e.any() else Ref(y)


def scatter_along(g):
    add = g.chance(0.5)
    x = g.operand(NUMBERS if add else ALL, least=1, most=3)
    axis, written = g.axis(x.rank)
    shape = list(x.shape)
    if g.chance(0.6):
        shape[axis] = g.size()
    g.room(shape)
    few(g, shape, x.shape)
    operand, mode, at = indices(g, shape, x.shape[axis])
    u = g.like(x.dtype, shape)

    def made(env, r, i, t):
        where = at(env, i.a)
        return _stored(x.dtype, add, r, t, ((p[:axis] + (where[p],) + p[axis + 1:], p)
                                            for p in np.ndindex(where.shape) if where[p] >= 0))
    name = g.one(["scatter_along_axis", "put_along_axis"]) if not add else "scatter_add_along_axis"
    g.emit(name, [x, operand, u], {"axis": written, "mode": mode}, made, (x.dtype, x.shape))


# cumulative operations

def running(g):
    """Cumulative sums and products from one end."""
    sums = g.chance(0.6)
    x = g.operand(ALL, least=1)
    axis, written = g.axis(x.rank)
    dtype = accumulator(x.dtype)
    reverse, exclusive = g.chance(0.3), g.chance(0.3)
    f, first = (np.cumsum, 0) if sums else (np.cumprod, 1)

    def every(a, kind=None):
        y = directed(lambda v, k: f(v, k, dtype=kind), a, axis, reverse)
        return before(y, axis, reverse, first) if exclusive else y

    def made(_, r):
        if dtype not in FLOATS:
            a = every(r.a, compute(dtype))
            if r.e is None:
                return Ref(a)
            hit = directed(lambda v, k: np.cumsum(v, k), np.broadcast_to(r.e, r.a.shape) > 0, axis, reverse)
            return Ref(a, np.where(hit > 0, UNKNOWN, 0.0))
        a, e = wide(r)
        y, size = every(a), every(np.abs(a) + e)
        count = a.shape[axis] + 2
        units = SUM_UNITS + 2 if sums else 2 * count
        bound = (every(e) if sums else size - np.abs(y)) + units * work(dtype) * size + 2 * rounding(dtype, size)
        tame = np.isfinite(y) & (size < 1e37)
        if not sums:
            tame = tame & (every(np.maximum(np.abs(a), 1) + e) < 1e30) & \
                (every(np.where(a == 0, 1, np.minimum(np.abs(a), 1))) > 1e-30)
        return settled(dtype, fit(dtype, y), np.where(tame, bound, UNKNOWN))
    g.emit("cumsum" if sums else "cumprod", [x],
           {"axis": written, "reverse": "true" if reverse else None, "exclusive": "true" if exclusive else None}, made,
           (dtype, x.shape))


def record(g):
    x = g.operand(ALL, least=1)
    axis, written = g.axis(x.rank)
    reverse = g.chance(0.3)
    op, f = g.one([("cummax", np.maximum), ("cummin", np.minimum)])

    def made(_, r):
        a = directed(lambda v, k: f.accumulate(v, k), r.a, axis, reverse)
        if r.e is None:
            return Ref(a)
        e = directed(lambda v, k: np.maximum.accumulate(v, k), np.broadcast_to(r.e, r.a.shape), axis, reverse)
        if x.dtype not in FLOATS:
            return Ref(a, e)
        return settled(x.dtype, a, np.where(np.isnan(a.astype(np.float64)), UNKNOWN, e))
    g.emit(op, [x], {"axis": written, "reverse": "true" if reverse else None}, made, (x.dtype, x.shape))


# sorting

def sorting(g):
    op = g.one(["sort", "sort", "argsort", "topk"])
    x = g.operand(ALL, least=1)
    axis, written = g.axis(x.rank)
    size = x.shape[axis]
    if size.high > 1 << 32:
        raise Skip  # the limit of elements of a sorted axis
    descending = g.chance(0.4)
    attributes = {"axis": None if axis == x.rank - 1 and g.chance(0.4) else written}
    shape, taken = x.shape, None
    if op == "topk":
        if size.low < 1:
            raise Skip
        taken = number(g.integer(1, min(size.low, 5)))  # an attribute must be a number
        attributes.update(k=g.size_text(taken), largest="false" if not descending else None)
        shape = x.shape[:axis] + (taken,) + x.shape[axis + 1:]
    elif descending:
        attributes["descending"] = "true"

    def made(env, r):
        at = order(r.a, axis, descending)
        line = np.take_along_axis(r.a, at, axis)
        sorted_, indices = Ref(line), Ref(at)
        if r.e is not None:
            most = np.max(np.broadcast_to(r.e, r.a.shape), axis, keepdims=True, initial=0)
            e = np.broadcast_to(most, line.shape)
            gaps = np.min(np.abs(np.diff(line.astype(np.float64), axis=axis)), axis, keepdims=True, initial=np.inf)
            unsure = (most > 0) & ~(gaps > 2 * most)
            nan = np.any(np.isnan(line.astype(np.float64)), axis, keepdims=True) & (most > 0)
            sorted_ = Ref(line, np.where(nan, UNKNOWN, e) if x.dtype in FLOATS else np.where(e > 0, UNKNOWN, 0.0))
            indices = Ref(at, np.broadcast_to(np.where(unsure | nan, UNKNOWN, 0.0), line.shape))
        results = {"sort": [sorted_], "argsort": [indices], "topk": [sorted_, indices]}[op]
        if taken is not None:
            keep = tuple([slice(None)] * axis + [slice(0, taken.at(env))])
            results = [Ref(v.a[keep], None if v.e is None else np.broadcast_to(v.e, v.a.shape)[keep]) for v in results]
        return results if len(results) > 1 else results[0]
    types = {"sort": [(x.dtype, shape)], "argsort": [("i64", shape)], "topk": [(x.dtype, shape), ("i64", shape)]}[op]
    g.emit(op, [x], attributes, made, *types)


ROWS = [(3, gather), (1, gather_batch), (2, take_along), (2, scatter), (2, scatter_along), (3, running), (1, record),
        (3, sorting)]
