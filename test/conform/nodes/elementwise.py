"""Operators that work element by element. A row is the text name of the operation, or a function that
composes it."""
import functools

import numpy as np

from nodes.node import DTYPES, Uncovered


def same(name):
    return lambda n: n.do(name, *n.inputs)


def in_dtype(name):
    """The operation in the dtype of its first operand."""
    return lambda n: n.like(n.do(name, *n.inputs), n[0].dtype)


def folded(name):
    """A binary operation over any number of operands."""
    return lambda n: functools.reduce(lambda a, b: n.do(name, a, b), n.inputs)


def choose(n, condition, yes, no):
    return n.do("where", condition, yes, no)


def is_float(value):
    return value.dtype in ("f16", "bf16", "f32", "f64")


def full_like(n, value, number):
    return n.do("full", shape=value.shape, value=number, dtype=value.dtype)


def divide(n):
    """Integers truncate towards zero."""
    if is_float(n[0]):
        return n.do("div", n[0], n[1])
    if n[0].dtype.startswith("u"):
        return n.do("floordiv", n[0], n[1])
    quotient = n.do("floordiv", n.do("abs", n[0]), n.do("abs", n[1]))
    differ = n.do("xor", n.do("lt", n[0], 0), n.do("lt", n[1], 0))
    return choose(n, differ, n.do("neg", quotient), quotient)


def modulo(n):
    """With fmod the sign is the dividend's, otherwise the divisor's."""
    if not n.get("fmod", 0) or n[0].dtype.startswith("u"):
        return n.do("mod", n[0], n[1])
    rest = n.do("mod", n.do("abs", n[0]), n.do("abs", n[1]))
    return choose(n, n.do("lt", n[0], 0), n.do("neg", rest), rest)


def power(n):
    return n.like(n.do("pow", n[0], n[1]), n[0].dtype)


def clip(n):
    """Bounds are inputs, or attributes in old operator sets; either may be left out."""
    low = n[1] if n[1] is not None else n.get("min")
    high = n[2] if n[2] is not None else n.get("max")
    x = n[0] if low is None else n.do("maximum", n[0], low)
    return x if high is None else n.do("minimum", x, high)


def exp_minus_one(n, x, scale):
    return n.do("mul", n.do("sub", n.do("exp", x), 1.0), scale)


def celu(n):
    alpha = n.get("alpha", 1.0)
    low = exp_minus_one(n, n.do("div", n[0], alpha), alpha)
    return n.do("add", n.do("relu", n[0]), n.do("minimum", low, 0.0))


def selu(n):
    alpha, gamma = n.get("alpha", 1.67326319217681884765625), n.get("gamma", 1.05070102214813232421875)
    return n.do("mul", choose(n, n.do("gt", n[0], 0.0), n[0], exp_minus_one(n, n[0], alpha)), gamma)


def leaky(n, slope):
    return choose(n, n.do("lt", n[0], 0), n.do("mul", n[0], slope), n[0])


def hard_sigmoid(n, x, alpha, beta):
    return n.do("minimum", n.do("maximum", n.do("add", n.do("mul", x, alpha), beta), 0.0), 1.0)


def shrink(n):
    bound, bias = n.get("lambd", 0.5), n.get("bias", 0.0)
    inner = choose(n, n.do("gt", n[0], bound), n.do("sub", n[0], bias), full_like(n, n[0], 0))
    return choose(n, n.do("lt", n[0], -bound), n.do("add", n[0], bias), inner)


def mean_of(n):
    return n.do("div", folded("add")(n), float(len(n.inputs)))


def is_inf(n):
    positive = n.do("eq", n[0], np.inf) if n.get("detect_positive", 1) else None
    negative = n.do("eq", n[0], -np.inf) if n.get("detect_negative", 1) else None
    if positive is None or negative is None:
        return positive or negative
    return n.do("or", positive, negative)


def shifted(n):
    return n.do("shl" if n.get("direction") == "LEFT" else "shr", n[0], n[1])


def cast(n):
    number = n.get("to")
    if number not in DTYPES:
        raise Uncovered("dtype string" if number == 8 else f"dtype number {number}")
    return n.do("cast", n[0], dtype=DTYPES[number])


def dropped(n):
    """In inference: the identity. In training a ratio of 0 is the identity, too."""
    ratio = 0.5 if n[1] is None else float(n.known(1))
    if n[2] is not None and bool(n.known(2)) and ratio != 0:
        raise Uncovered("random numbers of its own")
    mask = n.do("full", shape=n[0].shape, value=True, dtype="bool") if n.wants(1) else None
    return [n[0], mask]


TABLE = {
    "Abs": same("abs"), "Neg": same("neg"), "Sqrt": same("sqrt"), "Exp": same("exp"), "Log": same("log"),
    "Sin": same("sin"), "Cos": same("cos"), "Tanh": same("tanh"), "Erf": same("erf"),
    "Tan": same("tan"), "Asin": same("asin"), "Acos": same("acos"), "Atan": same("atan"),
    "Sinh": same("sinh"), "Cosh": same("cosh"), "Asinh": same("asinh"), "Acosh": same("acosh"),
    "Atanh": same("atanh"), "Sigmoid": same("sigmoid"), "Relu": same("relu"), "Floor": same("floor"),
    "Ceil": same("ceil"), "Round": same("round"), "Not": same("not"), "And": same("and"), "Or": same("or"),
    "Xor": same("xor"),
    "BitShift": shifted,
    "Add": same("add"), "Sub": same("sub"), "Mul": same("mul"), "Div": divide, "Mod": modulo, "Pow": power,
    "Equal": same("eq"), "Less": same("lt"), "LessOrEqual": same("le"), "Greater": same("gt"),
    "GreaterOrEqual": same("ge"), "Where": same("where"),
    "Max": folded("maximum"), "Min": folded("minimum"), "Sum": folded("add"), "Mean": mean_of,
    "Identity": lambda n: n[0], "Dropout": dropped, "Sign": same("sign"), "Clip": clip,
    "Cast": cast, "CastLike": lambda n: n.like(n[0], n[1].dtype),
    "Reciprocal": same("reciprocal"), "Softplus": same("softplus"),
    "Softsign": lambda n: n.do("div", n[0], n.do("add", n.do("abs", n[0]), 1.0)),
    "Elu": lambda n: n.do("elu", n[0], alpha=n.get("alpha", 1.0)),
    "Celu": celu, "Selu": selu, "Shrink": shrink,
    "LeakyRelu": lambda n: n.do("leaky_relu", n[0], alpha=n.get("alpha", 0.01)),
    "PRelu": lambda n: leaky(n, n[1]),
    "ThresholdedRelu":
        lambda n: choose(n, n.do("gt", n[0], n.get("alpha", 1.0)), n[0], full_like(n, n[0], 0)),
    "HardSigmoid": lambda n: hard_sigmoid(n, n[0], n.get("alpha", 0.2), n.get("beta", 0.5)),
    "HardSwish": lambda n: n.do("mul", n[0], hard_sigmoid(n, n[0], 1 / 6, 0.5)),
    "IsNaN": lambda n: n.do("ne", n[0], n[0]), "IsInf": is_inf,
}
