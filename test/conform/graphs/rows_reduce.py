"""Reductions, products of matrices, and compositions of them."""
import numpy as np

from graphs.maker import ALL, FLOATS, NUMBERS, Skip, broadcast
from graphs.reference import UNKNOWN, Ref, cast, exact, fit, rounding, settled, subnormal, whole_multiples, work
from graphs.sizes import number, product
from oracle.rules import accumulator, compute, float_of, promote

SUM_UNITS = 128  # of the sum of magnitudes: the ruling on the order of float sums


def wide(r):
    """Elements and errors to compute with."""
    return r.a.astype(np.float64), np.broadcast_to(r.err, r.a.shape)


def axes_of(g, x, low=0):
    """Reduced axes, the attributes that name them, NumPy's arguments, the remaining shape."""
    axes = tuple(k for k in range(x.rank) if g.chance(0.5))
    if g.chance(0.25) or not axes:
        axes = tuple(range(x.rank)) if g.chance(0.5) or not x.rank else (g.integer(0, x.rank - 1),)
    if any(x.shape[k].low < low for k in axes):
        raise Skip
    keep = g.chance(0.3)
    attributes = {"axes": "[" + ",".join(str(k - g.one([0, 0, x.rank])) for k in axes) + "]"}
    if len(axes) == x.rank and g.chance(0.5):
        attributes = {}
    elif len(axes) == 1 and g.chance(0.3):
        attributes = {"axis": axes[0]}
    attributes["keepdims"] = "true" if keep else None
    shape = [number(1) if k in axes else s for k, s in enumerate(x.shape) if keep or k not in axes]
    return axes, attributes, {"axis": axes, "keepdims": keep}, shape


def total(dtype, r, over, scale=1.0):
    """A sum of floats, times the scale."""
    a, e = wide(r)
    y, size = np.sum(a, **over) * scale, np.sum(np.abs(a) + e, **over)
    whole = fit(dtype, y)
    if r.e is None and np.all(scale == 1.0) and whole_multiples(r.a, dtype, size):
        return Ref(whole)
    bound = np.sum(e, **over) * scale + (SUM_UNITS + 2) * work(dtype) * size * scale + 2 * rounding(dtype, np.abs(y))
    return settled(dtype, whole, np.where(np.isfinite(y) & (2 * size < 3e38), bound, UNKNOWN))


def sums(g):
    x = g.operand(ALL)
    dtype = accumulator(x.dtype)
    _, attributes, over, shape = axes_of(g, x)

    def made(_, r):
        if dtype in FLOATS:
            return total(dtype, r, over)
        return Ref(np.sum(r.a, dtype=compute(dtype), **over), lost(r, over))
    g.emit(g.one(["sum", "sum", "reduce_sum"]), [x], attributes, made, (dtype, shape))


def lost(r, over):
    """A result with an unknown term is unknown."""
    return None if r.e is None else np.where(np.any(np.broadcast_to(r.e, r.a.shape) > 0, **over), UNKNOWN, 0.0)


def mean(g):
    x = g.operand(ALL)
    dtype = float_of(x.dtype)
    axes, attributes, over, shape = axes_of(g, x, low=1)

    def made(_, r):
        count = np.prod([r.a.shape[k] for k in axes], dtype=float)
        return total(dtype, cast(r, x.dtype, dtype), over, 1 / count)
    g.emit(g.one(["mean", "reduce_mean"]), [x], attributes, made, (dtype, shape))


def multiply_all(g):
    x = g.operand(NUMBERS)
    dtype = accumulator(x.dtype)
    axes, attributes, over, shape = axes_of(g, x)

    def made(_, r):
        if dtype not in FLOATS:
            return Ref(np.prod(r.a, dtype=compute(dtype), **over), lost(r, over))
        a, e = wide(r)
        y, size = np.prod(a, **over), np.prod(np.abs(a) + e, **over)
        reach = np.prod(np.maximum(np.abs(a), 1) + e, **over)
        few = np.prod(np.where(a == 0, 1, np.minimum(np.abs(a), 1)), **over)
        count = np.prod([r.a.shape[k] for k in axes], dtype=float) + 1
        bound = size - np.abs(y) + 2 * count * work(dtype) * size + 2 * rounding(dtype, size)
        tame = np.isfinite(y) & (reach < 1e30) & (few > 1e-30)
        return settled(dtype, fit(dtype, y), np.where(tame, bound, UNKNOWN))
    g.emit(g.one(["prod", "reduce_prod"]), [x], attributes, made, (dtype, shape))


def extreme(g):
    x = g.operand(ALL)
    _, attributes, over, shape = axes_of(g, x, low=1)
    op, f = g.one([("max", np.max), ("min", np.min), ("reduce_max", np.max), ("reduce_min", np.min)])
    g.emit(op, [x], attributes, lambda _, r: best(x.dtype, f, r, over), (x.dtype, shape))


def best(dtype, f, r, over):
    a = f(r.a, **over)
    if r.e is None:
        return Ref(a)
    if dtype not in FLOATS:
        return Ref(a, lost(r, over))
    return settled(dtype, a, np.where(np.isnan(a), UNKNOWN, np.max(np.broadcast_to(r.e, r.a.shape), **over)))


def both(g):
    x = g.operand(ALL)
    _, attributes, over, shape = axes_of(g, x, low=1)
    g.emit("minmax", [x], attributes, lambda _, r: [best(x.dtype, f, r, over) for f in (np.min, np.max)],
           (x.dtype, shape), (x.dtype, shape))


def truth(g):
    x = g.operand(("bool",))
    _, attributes, over, shape = axes_of(g, x)
    op, f = g.one([("any", np.any), ("all", np.all), ("reduce_any", np.any), ("reduce_all", np.all)])
    g.emit(op, [x], attributes, lambda _, r: Ref(f(r.a, **over), lost(r, over)), ("bool", shape))


def arg_reduction(g):
    x = g.operand(ALL, least=1)
    op, f = g.one([("argmax", np.argmax), ("argmin", np.argmin)])
    axis, written = g.axis(x.rank)
    keep = g.chance(0.3)
    flat = g.chance(0.2)
    if any(s.low < 1 for s in (x.shape if flat else [x.shape[axis]])):
        raise Skip
    shape = [number(1) if flat or k == axis else s for k, s in enumerate(x.shape) if keep or not (flat or k == axis)]

    def made(_, r):
        along = None if flat else axis
        a = np.asarray(f(r.a, along, keepdims=keep))
        if r.e is None:
            return Ref(a)
        e = np.broadcast_to(r.e, r.a.shape)
        at = np.expand_dims(f(r.a, along), axis) if not flat else f(r.a)
        rest = r.a.astype(np.float64) * (-1 if op == "argmin" else 1)
        top = np.take_along_axis(rest, at, axis) if not flat else np.ravel(rest)[at]
        top_e = np.take_along_axis(e, at, axis) if not flat else np.ravel(e)[at]
        clear = ~(top - top_e > rest + e) | ~np.isfinite(rest)
        many = np.count_nonzero(clear, axis=along, keepdims=keep) > 1  # more than the extremum itself
        return Ref(a, np.where(many, UNKNOWN, 0.0))
    g.emit(op, [x], {"axis": None if flat else written, "keepdims": "true" if keep else None}, made, ("i64", shape))


# products

def contracted(dtype, f, refs, length):
    """f, a sum of products of the operands; length: terms of one sum, roughly."""
    if dtype not in FLOATS:
        a = f(*[r.a.astype(compute(dtype)) for r in refs])
        if all(r.e is None for r in refs):
            return Ref(a)
        gone = f(*[(np.broadcast_to(r.err, r.a.shape) > 0).astype(np.float64) * 1e6 + 1e-3 for r in refs])
        return Ref(a, np.where(gone > 0.1, UNKNOWN, 0.0))
    a, e = zip(*[wide(r) for r in refs])
    y = f(*a)
    size = f(*[np.abs(v) for v in a])
    most = f(*[np.abs(v) + w for v, w in zip(a, e)])
    if all(r.e is None and whole_multiples(r.a, dtype, 0) for r in refs) and np.all(size * 256 < 2.0 ** 24):
        return Ref(fit(dtype, y))
    bound = (most - size) + 2 * (length + 2) * work(dtype) * most + 2 * rounding(dtype, most) + length * subnormal(dtype)
    return settled(dtype, fit(dtype, y), np.where(np.isfinite(y) & (most < 1e37), bound, UNKNOWN))


def matched(dtype, f, types):
    """Operands cast to the common dtype first."""
    return lambda env, *refs: f(env, *[r if t == dtype else cast(r, t, dtype) for r, t in zip(refs, types)])


def partner(g, x, shape):
    """Another operand of that shape, rarely of another dtype."""
    dtype = x.dtype
    if g.chance(0.1):
        dtype = g.one([t for t in NUMBERS if promote(x.dtype, t)])
    return g.like(dtype, shape)


def matmul(g):
    x = g.operand(NUMBERS, least=1, most=4)
    k, n = x.shape[-1], g.size()
    batch = tuple(number(1) if g.chance(0.2) else s for s in x.shape[:-2])[g.integer(0, max(x.rank - 2, 0)):]
    right = g.chance(0.7) or x.rank < 2
    if right:
        y = partner(g, x, batch + (k, n) if batch or g.chance(0.85) else (k,))
        operands = [x, y]
    else:
        y = partner(g, x, batch + (n, x.shape[-2]))
        operands = [y, x]
    a, b = operands
    lead = broadcast(a.shape[:-2], b.shape[:-2])
    if lead is None:
        raise Skip
    shape = lead + (a.shape[-2:-1] if a.rank > 1 else ()) + (b.shape[-1:] if b.rank > 1 else ())
    inner = a.shape[-1]
    g.loops(tuple(shape) + (inner,))
    dtype = accumulator(promote(a.dtype, b.dtype))
    g.emit("matmul", operands, {}, matched(dtype, lambda env, *refs: contracted(dtype, np.matmul, refs, inner.at(env)),
                                           [a.dtype, b.dtype]), (dtype, shape))


EQUATIONS = ("ij,jk->ik ij,kj->ik bij,bjk->bik i,i-> i,j->ij ij->ji ij-> ij,j ij,ij->ij ij,ij->j "
             "ijk->kj bhqd,bhkd->bhqk ij,jk,kl->il ...ij,...jk->...ik i...->... ijk,ik->ij").split()


def einsum(g):
    equation = g.one(EQUATIONS)
    terms, arrow, result = equation.partition("->")
    terms = terms.split(",")
    first = terms[0].replace("...", "")
    x = g.operand(NUMBERS, least=len(first), most=len(first) if "..." not in terms[0] else 4)
    extra = x.shape[terms[0].find("..."):][:x.rank - len(first)] if "..." in terms[0] else ()
    known, rest = {}, list(x.shape)
    for c in terms[0].replace("...", "."):
        if c == ".":
            del rest[:len(extra)]
        elif c in known:
            raise Skip
        else:
            known[c] = rest.pop(0)
    if any(len(known) < len(set(t)) for t in terms[:1]) and "." not in terms[0]:
        raise Skip
    operands = [x]
    for term in terms[1:]:
        for c in term.replace(".", ""):
            known.setdefault(c, g.size())
        operands.append(g.like(x.dtype, _term(term, known, extra)))
    if not arrow:
        letters = "".join(terms)
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    g.loops(tuple(known.values()) + tuple(extra))
    dtype = accumulator(x.dtype)
    summed = [s for c, s in known.items() if c not in result]
    g.emit("einsum", operands, {"equation": f'"{equation}"'},
           lambda env, *refs: contracted(dtype, lambda *a: np.asarray(np.einsum(equation, *a)), refs,
                                         len(terms) * product(summed).at(env)),
           (dtype, _term(result, known, extra)))


def _term(term, known, extra):
    shape = ()
    for c in term.replace("...", "."):
        shape += tuple(extra) if c == "." else (known[c],)
    return shape


# compositions

def along(g, least=1):
    x = g.operand(FLOATS, least=least)
    axis, written = g.axis(x.rank)
    if x.shape[axis].low < 1:
        raise Skip
    return x, axis, written


def finite(bound, *arrays):
    sure = True
    for a in arrays:
        sure = sure & np.isfinite(a)
    return np.where(sure, bound, UNKNOWN)


def squares_fit(dtype, far, count):
    """Do sums of squares stay within the range of the dtype that is computed in?"""
    return far * far * count < (1e300 if dtype == "f64" else 1e37)


def softmax(g):
    op = g.one(["softmax", "softmax", "log_softmax"])
    x, axis, written = along(g)

    def made(_, r):
        a, e = wide(r)
        most = np.max(e, axis, keepdims=True)
        less = a - np.max(a, axis, keepdims=True)
        exps = np.exp(less)
        whole = np.sum(exps, axis, keepdims=True)
        far = np.max(np.abs(less), axis, keepdims=True)
        if op == "softmax":
            y = exps / whole
            bound = y * (np.expm1(2 * most) + work(x.dtype) * (np.abs(less) + far + SUM_UNITS + 16))
        else:
            y = less - np.log(whole)
            bound = 2 * most + work(x.dtype) * (np.abs(less) + np.abs(y) + SUM_UNITS + 16)
        return settled(x.dtype, fit(x.dtype, y), finite(bound + 2 * rounding(x.dtype, np.abs(y)), y, far))
    g.emit(op, [x], {"axis": None if axis == x.rank - 1 and g.chance(0.4) else written}, made, (x.dtype, x.shape))


def logsumexp(g):
    x = g.operand(FLOATS)
    axes, attributes, over, shape = axes_of(g, x, low=1)

    def made(_, r):
        a, e = wide(r)
        y = np.log(np.sum(np.exp(a - np.max(a, axis=axes, keepdims=True)), **over)) + np.max(a, **over)
        bound = np.max(e, **over) + work(x.dtype) * (3 * np.max(np.abs(a), **over) + np.abs(y) + SUM_UNITS + 16)
        return settled(x.dtype, fit(x.dtype, y), finite(bound + 2 * rounding(x.dtype, np.abs(y)), y))
    g.emit("logsumexp", [x], attributes, made, (x.dtype, shape))


def variance(g):
    x = g.operand(FLOATS)
    root = g.chance(0.5)
    axes, attributes, over, shape = axes_of(g, x, low=1)
    correction = g.one([None, 0, 1])
    if correction and product([x.shape[k] for k in axes]).low < 2:
        raise Skip
    attributes["correction"] = correction

    def made(_, r):
        a, e = wide(r)
        count = np.prod([a.shape[k] for k in axes], dtype=float)
        below = count - (correction or 0)
        y = np.sum((a - np.mean(a, axis=axes, keepdims=True)) ** 2, **over) / below
        far = np.max(np.abs(a), initial=0, **over)
        u = work(x.dtype)
        off = np.max(e, initial=0, **over) * np.sqrt(count / below) + \
            2 * SUM_UNITS * u * far * np.sqrt(count / below)
        bound = (np.sqrt(y) + off) ** 2 - y + (SUM_UNITS + 16) * u * y
        if root:
            y, bound = np.sqrt(y), off + (SUM_UNITS + 16) * u * np.sqrt(y)
        tame = np.where(squares_fit(x.dtype, far, count), y, np.inf)
        return settled(x.dtype, fit(x.dtype, y), finite(bound + 2 * rounding(x.dtype, np.abs(y)), tame))
    g.emit("std" if root else "var", [x], attributes, made, (x.dtype, shape))


def normalised(g):
    """layer_norm and rms_norm, with weight and bias."""
    centre = g.chance(0.5)
    x, axis, written = along(g)
    inner = x.shape[axis:]
    if any(s.low < 1 for s in inner):
        raise Skip
    eps = g.one([0.5, 0.125])
    more = [g.like(x.dtype, inner) for _ in range(g.integer(0, 2 if centre else 1))]
    axes = tuple(range(axis, x.rank))

    def made(_, r, *others):
        a, e = wide(r)
        u, most = work(x.dtype), np.max(e, axis=axes, keepdims=True)
        mid = np.mean(a, axes, keepdims=True) if centre else 0.0
        var = np.mean((a - mid) ** 2, axes, keepdims=True)
        below = np.sqrt(var + eps)
        far = np.max(np.abs(a), axis=axes, keepdims=True)
        off = 2 * most + 2 * (SUM_UNITS + 8) * u * far
        z = (a - mid) / below
        spread = ((np.sqrt(var) + off) ** 2 - var + (SUM_UNITS + 16) * u * var) / (2 * below ** 2) + 6 * u
        bound = np.abs(z) * spread * 1.5 + off * 1.5 / below
        y, size = z, np.abs(z)
        if others:
            w, we = wide(others[0])
            y, size, bound = z * w, np.abs(z * w), np.abs(w) * bound + we * (np.abs(z) + bound)
        if len(others) > 1:
            b, be = wide(others[1])
            y, size, bound = y + b, size + np.abs(b), bound + be
        bound = np.where(spread < 0.1, bound, UNKNOWN) + 8 * u * size + 2 * rounding(x.dtype, size)
        tame = np.where(squares_fit(x.dtype, far, a.size), y, np.inf)
        return settled(x.dtype, fit(x.dtype, y), finite(bound, tame))
    g.emit("layer_norm" if centre else "rms_norm", [x] + more, {"axis": written, "eps": eps}, made, (x.dtype, x.shape))


def attention(g):
    """Of queries, keys and values of one dtype, with a mask now and then."""
    q = g.operand(("f32", "f32", "f64", "f16", "bf16"), least=2, most=4)
    n, width = q.shape[-2:]
    m, out = g.size(), g.size()
    if m.low < 1 or width.low < 1:
        raise Skip
    batch = q.shape[:-2]
    k, v = g.like(q.dtype, batch + (m, width)), g.like(q.dtype, batch + (m, out))
    causal, scale = g.chance(0.3), g.one([0.5, 0.25])
    mask = [g.like("bool", (n, m))] if g.chance(0.3) else []
    if mask and not mask[0].exact():
        raise Skip
    g.loops(batch + (n, m, width))
    g.loops(batch + (n, m, out))

    def made(_, *refs):
        (a, ae), (b, be), (c, ce) = (wide(r) for r in refs[:3])
        u = work(q.dtype)
        transposed, transposed_e = np.swapaxes(b, -1, -2), np.swapaxes(be, -1, -2)
        scores = np.matmul(a, transposed) * scale
        most = np.matmul(np.abs(a) + ae, np.abs(transposed) + transposed_e) * scale
        off = most - np.matmul(np.abs(a), np.abs(transposed)) * scale + 2 * (a.shape[-1] + 4) * u * most
        if mask:
            scores = np.where(refs[3].a, scores, -np.inf)
        if causal:
            scores = np.where(np.arange(b.shape[-2]) <= np.arange(a.shape[-2])[:, None], scores, -np.inf)
        top = np.max(scores, -1, keepdims=True)
        top = np.where(np.isinf(top), 0, top)
        exps = np.exp(scores - top)
        p = exps / np.where(np.sum(exps, -1, keepdims=True) == 0, 1, np.sum(exps, -1, keepdims=True))
        less = np.max(np.where(exps > 0, np.abs(scores - top), 0), -1, keepdims=True)
        relative = np.expm1(2 * np.max(off, -1, keepdims=True)) + u * (2 * less + SUM_UNITS + 2 * b.shape[-2] + 16)
        y = np.matmul(p, c)
        size = np.matmul(p, np.abs(c) + ce)
        small = 8 * rounding(q.dtype, 0) * np.sum(np.abs(c), -2, keepdims=True)  # the error of subnormal weights
        bound = relative * 2 * size + np.matmul(p, ce) + small + 2 * rounding(q.dtype, size)
        sure = np.all(np.isfinite(c)) & np.all(np.isfinite(a)) & np.all(np.isfinite(b))
        return settled(q.dtype, fit(q.dtype, y), finite(bound if sure else bound + UNKNOWN, y))
    g.emit("attention", [q, k, v] + mask, {"scale": scale, "causal": "true" if causal else None}, made,
           (q.dtype, batch + (n, out)))


ROWS = [(5, sums), (2, mean), (1, multiply_all), (3, extreme), (1, both), (1, truth), (2, arg_reduction), (4, matmul),
        (3, einsum), (3, softmax), (1, logsumexp), (2, variance), (2, normalised), (1, attention)]
