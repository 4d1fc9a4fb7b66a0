"""The rows: an operation of StableHLO or CHLO, and what records it. The page in docs/ and the tests read this table."""

from __future__ import annotations

from math import inf
from typing import Any, Callable

from ..._array import apply
from ..._elementwise import atan2
from ..._truncated import remainder
from .. import control
from . import elementwise, indexing, products, reductions, shapes
from .elementwise import cast, operation

Row = Callable[..., Any]

ROWS: dict[str, Row] = {
    # each element
    "abs": operation("abs"),
    "add": operation("add", "or"),
    "and": operation("and"),
    "atan2": lambda call, a, b: atan2(a, b),
    "bitcast_convert": elementwise.bitcast_convert,
    "cbrt": elementwise.cbrt,
    "ceil": operation("ceil"),
    "clamp": elementwise.clamp,
    "compare": elementwise.compare,
    "convert": lambda call, x: cast(x, call.dtype),
    "cosine": operation("cos"),
    "count_leading_zeros": elementwise.leading_zeros,
    "divide": elementwise.divide,
    "exponential": operation("exp"),
    "exponential_minus_one": operation("expm1"),
    "floor": operation("floor"),
    "is_finite": lambda call, x: apply("lt", (apply("abs", (x,)), inf)),
    "log": operation("log"),
    "log_plus_one": operation("log1p"),
    "logistic": operation("sigmoid"),
    "maximum": operation("max"),
    "minimum": operation("min"),
    "multiply": operation("mul", "and"),
    "negate": operation("neg"),
    "not": operation("not"),
    "optimization_barrier": lambda call, *x: x,
    "or": operation("or"),
    "popcnt": elementwise.popcnt,
    "power": operation("pow"),
    "reduce_precision": elementwise.reduce_precision,
    "remainder": lambda call, a, b: remainder(a, b),
    "round_nearest_afz": elementwise.round_away,
    "round_nearest_even": operation("round"),
    "rsqrt": operation("rsqrt"),
    "select": operation("where"),
    "shift_left": operation("shl"),
    "shift_right_arithmetic": elementwise.shift_right_arithmetic,
    "shift_right_logical": elementwise.shift_right_logical,
    "sign": operation("sign"),
    "sine": operation("sin"),
    "sqrt": operation("sqrt"),
    "subtract": operation("sub"),
    "tan": operation("tan"),
    "tanh": operation("tanh"),
    "xor": operation("xor"),
    # shapes
    "broadcast_in_dim": shapes.broadcast_in_dim,
    "concatenate": shapes.concatenate,
    "constant": shapes.constant,
    "dynamic_slice": shapes.dynamic_slice,
    "dynamic_update_slice": shapes.dynamic_update_slice,
    "iota": shapes.iota,
    "pad": shapes.pad,
    "reshape": lambda call, x: shapes.reshape_to(x, call.shape),
    "reverse": shapes.reverse,
    "slice": shapes.slice_,
    "transpose": lambda call, x: shapes.permute(x, call.numbers("dims", "permutation")),
    # products
    "convolution": products.convolution,
    "dot_general": products.dot_general,
    # along axes
    "reduce": reductions.reduce,
    "reduce_window": reductions.reduce_window,
    "select_and_scatter": reductions.select_and_scatter,
    "sort": reductions.sort,
    # by indices
    "gather": indexing.gather,
    "scatter": indexing.scatter,
    # of CHLO, whose other operations a composite says what they are made of
    "acos": operation("acos"),
    "acosh": operation("acosh"),
    "asin": operation("asin"),
    "asinh": operation("asinh"),
    "atan": operation("atan"),
    "atanh": operation("atanh"),
    "cosh": operation("cosh"),
    "erf": operation("erf"),
    "erf_inv": operation("erfinv"),
    "sinh": operation("sinh"),
    "square": operation("square"),
    "top_k": reductions.top_k,
}

# operations that have functions of the program inside, or take what stands for an array in a loop; None: the row above
CONTROL: dict[str, Row] = {
    "call": control.call,
    "func.call": control.call,
    "stablehlo.case": control.case,
    "stablehlo.custom_call": control.custom_call,
    "stablehlo.if": control.if_,
    "stablehlo.while": control.while_,
    "stablehlo.dynamic_slice": control.dynamic_slice,
    "stablehlo.dynamic_update_slice": control.dynamic_update_slice,
}
