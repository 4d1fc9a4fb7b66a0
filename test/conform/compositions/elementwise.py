"""Elementwise steps, of floats and of integers computed from floats."""
import jax
import jax.numpy as jnp
import jax.scipy.special as special

from .row import Row, picked, positive, positive_of, squashed, squashed_of


def one(d):
    return picked(d.pick())


def two(d):
    first = d.pick()
    return picked(first, d.like(d.shape(first)))


def plain(name, function):
    return Row(one, lambda x, a: function(x[0]), lambda g, x, a: g(name, x[0]))


def of(name, function, prepare, prepare_of):
    """A function whose domain is a part of the numbers: operands are mapped into it first."""
    return Row(one, lambda x, a: function(prepare(x[0])), lambda g, x, a: g(name, prepare_of(g, x[0])))


def pair(name, function):
    return Row(two, lambda x, a: function(*x), lambda g, x, a: g(name, *x))


def tuned(name, attributes, function):
    """A row with attributes of its own: attributes(d)."""
    return Row(lambda d: picked(d.pick(), **attributes(d)), lambda x, a: function(x[0], **a),
               lambda g, x, a: g(name, x[0], **a))


def gelu(x, approximate=None):
    return jax.nn.gelu(x, approximate=approximate == "tanh")


FLOATS = {
    **{name: plain(name, function) for name, function in {
        "neg": jnp.negative, "abs": jnp.abs, "sin": jnp.sin, "cos": jnp.cos, "tanh": jnp.tanh, "erf": special.erf,
        "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu, "atan": jnp.arctan, "asinh": jnp.arcsinh,
        "silu": jax.nn.silu, "softplus": jax.nn.softplus, "sign": jnp.sign, "square": jnp.square,
        "stop_gradient": jax.lax.stop_gradient}.items()},
    **{name: of(name, function, positive, positive_of) for name, function in {
        "sqrt": jnp.sqrt, "rsqrt": jax.lax.rsqrt, "log": jnp.log, "log2": jnp.log2, "log1p": jnp.log1p,
        "reciprocal": jnp.reciprocal}.items()},
    **{name: of(name, function, squashed, squashed_of) for name, function in {
        "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "tan": jnp.tan, "asin": jnp.arcsin,
        "acos": jnp.arccos, "atanh": jnp.arctanh, "sinh": jnp.sinh, "cosh": jnp.cosh,
        "erfinv": special.erfinv}.items()},
    "acosh": Row(one, lambda x, a: jnp.arccosh(positive(x[0]) + 1.0),
                 lambda g, x, a: g("acosh", g("add", positive_of(g, x[0]), 1.0))),
    "gelu": tuned("gelu", lambda d: d.one([{}, {"approximate": "tanh"}]), gelu),
    "leaky_relu": tuned("leaky_relu", lambda d: {"alpha": 0.2}, lambda x, alpha: jax.nn.leaky_relu(x, alpha)),
    "elu": tuned("elu", lambda d: {"alpha": 0.7}, lambda x, alpha: jax.nn.elu(x, alpha)),
    "clip": tuned("clip", lambda d: {"low": -0.3, "high": 0.8}, lambda x, low, high: jnp.clip(x, low, high)),
    **{name: pair(name, function) for name, function in {
        "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "maximum": jnp.maximum,
        "minimum": jnp.minimum}.items()},
    "div": Row(two, lambda x, a: x[0] / positive(x[1]), lambda g, x, a: g("div", x[0], positive_of(g, x[1]))),
    "pow": Row(two, lambda x, a: positive(jnp.tanh(x[0])) ** squashed(x[1]),
               lambda g, x, a: g("pow", positive_of(g, g("tanh", x[0])), squashed_of(g, x[1]))),
    "cube": Row(one, lambda x, a: squashed(x[0]) ** 3.0, lambda g, x, a: g("pow", squashed_of(g, x[0]), 3.0)),
    "where": Row(two, lambda x, a: jnp.where(x[0] < x[1], x[0] * 2.0, x[1]),
                 lambda g, x, a: g("where", g("lt", *x), g("mul", x[0], 2.0), x[1])),
    "where_inside": Row(one, lambda x, a: jnp.where((x[0] > -0.5) & (x[0] <= 0.5), jnp.sin(x[0]), 0.25),
                        lambda g, x, a: g("where", g("and", g("gt", x[0], -0.5), g("le", x[0], 0.5)),
                                          g("sin", x[0]), 0.25)),
    "fma": Row(two, lambda x, a: x[0] * x[1] + x[0], lambda g, x, a: g("fma", x[0], x[1], x[0])),
}


def integer(d):
    return picked(d.pick(kind="i"))


def integers(d):
    first = d.pick(kind="i")
    return picked(first, d.pick(lambda s: s == d.shape(first), "i"))


def integer_and_float(d):
    first = d.pick(kind="i")
    return picked(first, d.like(d.shape(first)))


INTEGERS = {
    "to_integer": Row(one, lambda x, a: jnp.floor(jnp.sin(x[0]) * 3.7).astype(jnp.int64),
                      lambda g, x, a: g("cast", g("floor", g("mul", g("sin", x[0]), 3.7)), dtype="i64")),
    "to_float": Row(integer_and_float, lambda x, a: (x[0] % 5).astype(x[1].dtype) * x[1],
                    lambda g, x, a: g("mul", g("cast", g("mod", x[0], 5), dtype=g.dtype), x[1])),
    "integer_add": Row(integers, lambda x, a: x[0] + x[1] * 3, lambda g, x, a: g("add", x[0], g("mul", x[1], 3))),
    "integer_div": Row(integer, lambda x, a: x[0] // 3 - (-x[0]) % 4,
                       lambda g, x, a: g("sub", g("floordiv", x[0], 3), g("mod", g("neg", x[0]), 4))),
    "integer_bits": Row(integers, lambda x, a: (x[0] & 6) | (x[1] ^ 1),
                        lambda g, x, a: g("or", g("and", x[0], 6), g("xor", x[1], 1))),
    "where_integer": Row(integer_and_float, lambda x, a: jnp.where(x[0] % 2 == 0, x[1], -0.5 * x[1]),
                         lambda g, x, a: g("where", g("eq", g("mod", x[0], 2), 0), x[1], g("mul", x[1], -0.5))),
}
ROWS = {**FLOATS, **INTEGERS}
