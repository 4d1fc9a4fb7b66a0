"""Values without operands: constants, indices and random numbers."""
import numpy as np

from graphs.maker import FLOATS, NUMBERS, Skip, broadcast
from graphs.reference import Ref, exact, fit, rounding, settled, work
from graphs.sizes import number
from oracle.functions import inverse_erf_of, steps, threefry
from oracle.rules import compute


def leaf(g):
    shape = g.shape(most=3)
    LEAVES[g.one(list(LEAVES))](g, shape)


def iota(g, shape):
    if not shape:
        raise Skip
    dtype = g.one(["i64", "i32", "f32", "f64"])
    if any(s.high > 1 << 23 for s in shape) and dtype == "f32" or any(s.high >= 1 << 31 for s in shape):
        dtype = "i64"
    axis = g.integer(0, len(shape) - 1)

    def made(env):
        concrete = tuple(s.at(env) for s in shape)
        along = np.arange(concrete[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
        return Ref(np.broadcast_to(along, concrete).astype(compute(dtype)))
    g.emit("iota", [], {"shape": g.shape_text(shape), "axis": axis, "dtype": dtype}, made, (dtype, shape))


def filled(op):
    def row(g, shape):
        dtype = g.dtype() if op != "full" else g.dtype(NUMBERS)
        value = {"zeros": 0, "ones": 1}.get(op, g.one([3, 2, 0.5] if dtype in FLOATS else [3, 2, 1]))
        attributes = {"shape": g.shape_text(shape), "value": value if op == "full" else None, "dtype": dtype}
        g.emit(op, [], attributes,
               lambda env: Ref(np.full(tuple(s.at(env) for s in shape), value).astype(compute(dtype))), (dtype, shape))
    return row


def eye(g, _):
    rows, columns, k = g.size(), g.size(), g.integer(-2, 2)
    dtype = g.dtype()
    g.emit("eye", [], {"shape": g.shape_text((rows, columns)), "diagonal": k, "dtype": dtype},
           lambda env: Ref(np.eye(rows.at(env), columns.at(env), k).astype(compute(dtype))), (dtype, (rows, columns)))


def arange(g, _):
    size = g.size()
    if size.low < 1:
        raise Skip
    start = g.integer(-3, 3)
    dtype = g.one([None, None, "i64"])
    g.emit("arange", [], {"start": start, "stop": g.size_text(size + start), "dtype": dtype},
           lambda env: Ref(np.arange(start, start + size.at(env))), ("i64", (size,)))


def uniform(g, shape):
    """Exact, by the definition in the operation's oracle."""
    seed = seed_of(g)
    dtype = g.one(["f32", "f64"])

    def made(env):
        concrete = tuple(s.at(env) for s in shape)
        wide = dtype == "f64"
        u = steps(seed, int(np.prod(concrete, dtype=np.int64)), wide).astype(compute(dtype))
        return Ref((u * compute(dtype)(2.0 ** (-53 if wide else -24))).reshape(concrete).astype(compute(dtype)))
    g.emit("uniform", [], {"shape": g.shape_text(shape), "seed": seed, "dtype": dtype}, made, (dtype, shape))


def seed_of(g):
    return g.one([0, 7, -1, 2 ** 40 + 3])


def counted(env, shape):
    concrete = tuple(s.at(env) for s in shape)
    return concrete, int(np.prod(concrete, dtype=np.int64))


def normal(g, shape):
    seed, dtype = seed_of(g), g.one(["f32", "f64"])
    mean, std = g.one([(None, None), (2.0, 0.5)])

    def made(env):
        concrete, count = counted(env, shape)
        bits = 53 if dtype == "f64" else 24
        v = (2 * steps(seed, count, dtype == "f64").astype(np.longdouble) + 1) * np.longdouble(2.0) ** -bits - 1
        y = (mean or 0) + (1 if std is None else std) * np.sqrt(np.longdouble(2)) * inverse_erf_of(v)
        y = y.astype(np.float64).reshape(concrete)
        e = 32 * work(dtype) * (np.abs(y) + (mean or 0)) + 2 * rounding(dtype, np.abs(y))
        return settled(dtype, fit(dtype, y), e)
    if any(counted(env, shape)[1] > 300 for env in g.graph.envs):
        raise Skip  # the inverse of erf is a loop in Python
    g.emit(g.one(["normal", "gaussian"]), [], {"shape": g.shape_text(shape), "mean": mean, "std": std, "seed": seed,
                                               "dtype": dtype}, made, (dtype, shape))


def bernoulli(g, shape):
    seed, p = seed_of(g), g.one([None, 0.25, 0.0, 1.0])

    def made(env):
        concrete, count = counted(env, shape)
        u = steps(seed, count, False).astype(np.float32) * np.float32(2.0 ** -24)
        return Ref((u < np.float32(0.5 if p is None else p)).reshape(concrete))
    g.emit("bernoulli", [], {"shape": g.shape_text(shape), "p": p, "seed": seed}, made, ("bool", shape))


def linspace(g, _):
    start, stop, num, dtype = g.integer(-9, 9) / 2, g.integer(-9, 9) / 2, g.integer(1, 9), g.one(FLOATS)

    def made(_):
        y = np.linspace(start, stop, num)
        e = 4 * rounding(dtype, np.abs(y) + abs(start) * 1e-3 * (dtype == "f64"))
        return settled(dtype, fit(dtype, y), e)
    g.emit("linspace", [], {"start": start, "stop": stop, "num": num, "dtype": dtype}, made, (dtype, (number(num),)))


def const(g, _):
    dtype = g.dtype()
    value = "true" if dtype == "bool" else g.one([0.5, -2.0]) if dtype in FLOATS else g.integer(0, 9)
    a = np.array(value == "true" if dtype == "bool" else value)
    g.emit(g.one(["const", "constant"]), [], {"value": value, "dtype": dtype}, lambda _: Ref(a.astype(compute(dtype))),
           (dtype, ()))


def threefry2x32(g):
    x = g.operand(("u32",))
    operands = [x] + [g.broadcastable(x, "u32") for _ in range(3)]
    shape = x.shape
    for y in operands[1:]:
        shape = shape and broadcast(shape, y.shape)
    if not shape:
        raise Skip

    def made(_, *refs):
        whole = np.broadcast_shapes(*[r.a.shape for r in refs])
        a = [np.broadcast_to(r.a, whole) for r in refs]
        return [exact(lambda *_, w=w: w, "u32", *refs) for w in threefry(a[:2], a[2:])]
    g.emit("threefry2x32", operands, {}, made, ("u32", shape), ("u32", shape))


LEAVES = {"iota": iota, "full": filled("full"), "zeros": filled("zeros"), "ones": filled("ones"), "eye": eye,
          "arange": arange, "uniform": uniform, "normal": normal, "bernoulli": bernoulli, "linspace": linspace,
          "const": const}


def data(g):
    dtype, shape = g.dtype(), tuple(number(g.integer(1, 3)) for _ in range(g.integer(0, 2)))
    concrete = tuple(s.const for s in shape)
    a = fit(dtype, g.elements(dtype, concrete, "quarters" if dtype in FLOATS else "small"))
    values = "[" + ",".join(_literal(v, dtype) for v in np.ravel(a).tolist()) + "]"
    g.emit("data", [], {"shape": g.shape_text(shape), "dtype": dtype, "values": values}, lambda _: Ref(a),
           (dtype, shape))


def _literal(v, dtype):
    return str(v).lower() if dtype == "bool" else repr(v)


ROWS = [(3, leaf), (1, data), (1, threefry2x32)]
