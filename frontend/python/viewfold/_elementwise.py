"""Functions of elements, with the names that NumPy and the array API give them."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from ._array import Array, apply
from ._creation import asarray, astype
from ._dtypes import float64, int64, uint64
from ._dtypes import dtype as to_dtype
from ._hints import refuse_options, takes_none

def _unary(name: str, operation: str) -> Callable[[Any], Array]:
    def function(x: Any, /, **options: NoReturn) -> Array:
        return apply(operation, (x,)) if not options else refuse_options(name, options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operation `{operation}` of each element."
    return takes_none(function)


def _binary(name: str, operation: str) -> Callable[[Any, Any], Array]:
    def function(x1: Any, x2: Any, /, **options: NoReturn) -> Array:
        return apply(operation, (x1, x2)) if not options else refuse_options(name, options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operation `{operation}` of each pair of elements; shapes broadcast."
    return takes_none(function)


# a name here, and that of the operation in graphs
abs = _unary("abs", "abs")
negative = _unary("negative", "neg")
sqrt = _unary("sqrt", "sqrt")
rsqrt = _unary("rsqrt", "rsqrt")
exp = _unary("exp", "exp")
exp2 = _unary("exp2", "exp2")
log = _unary("log", "log")
log2 = _unary("log2", "log2")
sin = _unary("sin", "sin")
cos = _unary("cos", "cos")
tan = _unary("tan", "tan")
asin = _unary("asin", "asin")
acos = _unary("acos", "acos")
atan = _unary("atan", "atan")
sinh = _unary("sinh", "sinh")
cosh = _unary("cosh", "cosh")
tanh = _unary("tanh", "tanh")
asinh = _unary("asinh", "asinh")
acosh = _unary("acosh", "acosh")
atanh = _unary("atanh", "atanh")
erf = _unary("erf", "erf")
erfinv = _unary("erfinv", "erfinv")
expm1 = _unary("expm1", "expm1")
log1p = _unary("log1p", "log1p")
floor = _unary("floor", "floor")
ceil = _unary("ceil", "ceil")
trunc = _unary("trunc", "trunc")


def round(x: Any, /, decimals: int = 0) -> Array:
    """The nearest integer, the even one of two; or the nearest number of so many decimals."""
    x = asarray(x) if not isinstance(x, (bool, int, float)) else x
    if not decimals:
        return apply("round", (x,))
    if isinstance(x, Array) and x.dtype.kind in "iu" and decimals > 0:
        return x
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return apply("round", (x * scale,)) / scale
    made = apply("round", (x / scale,)) * scale
    return made.astype(x.dtype) if isinstance(x, Array) else made


bitwise_invert = _unary("bitwise_invert", "not")
reciprocal = _unary("reciprocal", "reciprocal")
square = _unary("square", "square")
sign = _unary("sign", "sign")
add = _binary("add", "add")
subtract = _binary("subtract", "sub")
multiply = _binary("multiply", "mul")
divide = _binary("divide", "div")
floor_divide = _binary("floor_divide", "floordiv")
remainder = _binary("remainder", "mod")
pow = _binary("pow", "pow")
maximum = _binary("maximum", "max")
minimum = _binary("minimum", "min")
equal = _binary("equal", "eq")
not_equal = _binary("not_equal", "ne")
less = _binary("less", "lt")
less_equal = _binary("less_equal", "le")
greater = _binary("greater", "gt")
greater_equal = _binary("greater_equal", "ge")
bitwise_and = _binary("bitwise_and", "and")
bitwise_or = _binary("bitwise_or", "or")
bitwise_xor = _binary("bitwise_xor", "xor")
bitwise_left_shift = _binary("bitwise_left_shift", "shl")
bitwise_right_shift = _binary("bitwise_right_shift", "shr")

# further names that NumPy has
absolute = abs
true_divide = divide
mod = remainder
power = pow
arcsin = asin
arccos = acos
arctan = atan
arcsinh = asinh
arccosh = acosh
arctanh = atanh
rint = round
invert = bitwise_invert
bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift


def _give_methods(functions: dict[str, Any]) -> None:
    """Methods that NumPy's functions of two arrays have, and these functions have not."""
    reductions = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
    scans = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
    places = {"add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "maximum": "max", "minimum": "min"}

    def refused(advice: str) -> Any:
        def refuse(*args: Any, **options: Any) -> NoReturn:
            raise TypeError(advice)

        return refuse

    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "logical_and", "logical_or"):
        function = functions[name]
        function.reduce = refused(f"{name} has no reduce; " + (
            f"vf.{reductions[name]}(x, axis=0)" if name in reductions else "vf.scan goes through an axis"))
        function.accumulate = refused(f"{name} has no accumulate; " + (
            f"vf.{scans[name]}(x, axis=0)" if name in scans else "vf.scan goes through an axis"))
        function.outer = refused(f"{name} has no outer; vf.{name}(x[:, None], y)")
        function.at = refused(f"{name}.at writes into its argument, and arrays do not change; " + (
            f"x = x.at[i].{places[name]}(y)" if name in places else "x = x.at[i].set(y), with the elements computed before"))


def positive(x: Array, /) -> Array:
    return asarray(x)


def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """x1 where the condition holds, else x2. Of a condition alone, the positions where it holds: nonzero."""
    if x1 is None and x2 is None:
        from ._search import nonzero

        return nonzero(condition)
    if x1 is None or x2 is None:
        raise TypeError("where takes a condition, what there is where it holds, and what there is elsewhere: vf.where(x > 0, x, 0)")
    x1, x2 = (x if isinstance(x, (bool, int, float)) else asarray(x) for x in (x1, x2))
    return apply("where", (asarray(condition), x1, x2))


def clip(x: Array, /, min: Any = None, max: Any = None, **other: Any) -> Array:
    """x within the bounds, in its dtype."""
    if other:
        raise TypeError(f"clip has no {', '.join(other)}; its bounds are min and max: vf.clip(x, min=0, max=1)")
    low = None if min is None else (min if isinstance(min, (int, float)) else asarray(min).astype(x.dtype))
    high = None if max is None else (max if isinstance(max, (int, float)) else asarray(max).astype(x.dtype))
    if low is not None:
        x = apply("max", (x, low))
    return x if high is None else apply("min", (x, high))


def log10(x: Any, /) -> Array:
    return apply("mul", (apply("log", (x,)), 0.4342944819032518))


def logaddexp(x1: Any, x2: Any, /) -> Array:
    high = apply("max", (x1, x2))
    gap = apply("neg", (apply("abs", (apply("sub", (x1, x2)),)),))
    return where(apply("eq", (x1, x2)), high + 0.6931471805599453, high + apply("log1p", (apply("exp", (gap,)),)))


def atan2(x1: Any, x2: Any, /) -> Array:
    """The angle of the point (x2, x1), between -pi and pi."""
    x1, x2 = asarray(x1), asarray(x2)
    left = (x2 < 0) | ((x2 == 0) & signbit(x2))
    both = isinf(x1) & isinf(x2)
    angle = apply("atan", (x1 / x2,))
    pi = asarray(3.141592653589793, dtype=angle.dtype)
    angle = where(both, copysign(where(x2 > 0, pi / 4, -pi / 4), apply("mul", (x1, sign_of(x2)))), angle)
    angle = where(left, angle + copysign(pi, x1), angle)
    zero = (x1 == 0) & (x2 == 0)
    return where(zero, copysign(where(signbit(x2), pi, 0.0), x1), angle)


def sign_of(x: Any, /) -> Array:
    """1 or -1, by the sign bit."""
    return where(signbit(x), -1.0, 1.0).astype(asarray(x).dtype)


def hypot(x1: Any, x2: Any, /) -> Array:
    a, b = apply("abs", (x1,)), apply("abs", (x2,))
    high, low = apply("max", (a, b)), apply("min", (a, b))
    ratio = where(high == 0, 0.0, low / where(high == 0, 1.0, high))
    made = high * apply("sqrt", (1.0 + ratio * ratio,))
    return where(isinf(a) | isinf(b), float("inf"), made)


def isnan(x: Any, /) -> Array:
    return apply("ne", (x, x))


def isinf(x: Any, /) -> Array:
    x = asarray(x)
    if x.dtype.kind != "f":
        return (x != x).astype("bool")
    return apply("abs", (x,)) == float("inf")


def isfinite(x: Any, /) -> Array:
    x = asarray(x)
    if x.dtype.kind != "f":
        return x == x
    return apply("abs", (x,)) < float("inf")


def signbit(x: Any, /) -> Array:
    x = asarray(x)
    if x.dtype.kind != "f":
        return x < 0
    bits = {2: "i16", 4: "i32", 8: "i64"}[x.dtype.itemsize]
    return apply("bitcast", (x,), f"dtype={bits}") < 0


def copysign(x1: Any, x2: Any, /) -> Array:
    size = apply("abs", (x1,))
    return where(signbit(x2), -size, size)


def nextafter(x1: Array, x2: Array, /) -> Array:
    """The next number after x1 in the direction of x2."""
    bits = {2: "i16", 4: "i32", 8: "i64"}[x1.dtype.itemsize]
    whole = apply("bitcast", (x1,), f"dtype={bits}")
    away = (x2 > x1) == (x1 > 0)
    step = where(away, 1, -1).astype(whole.dtype)
    moved = apply("bitcast", (whole + step,), f"dtype={x1.dtype.text}")
    least = apply("bitcast", (apply("add", (whole * 0, 1)),), f"dtype={x1.dtype.text}")
    moved = where(x1 == 0, where(x2 > 0, least, -least), moved)
    return where(isnan(x1) | isnan(x2), float("nan"), where(x1 == x2, x2, moved))


def _truth(x: Any) -> Array:
    x = asarray(x)
    return x if x.dtype.kind == "b" else x != 0


def logical_and(x1: Any, x2: Any, /) -> Array:
    return apply("and", (_truth(x1), _truth(x2)))


def logical_or(x1: Any, x2: Any, /) -> Array:
    return apply("or", (_truth(x1), _truth(x2)))


def logical_xor(x1: Any, x2: Any, /) -> Array:
    return apply("xor", (_truth(x1), _truth(x2)))


def logical_not(x: Any, /) -> Array:
    return apply("not", (_truth(x),))


def real(x: Array, /) -> Array:
    return asarray(x)


conj = real


def imag(x: Array, /) -> Array:
    """Zeros: there are no complex numbers."""
    x = asarray(x)
    return apply("expand", (asarray(0).astype(x.dtype),), "shape=[" + ",".join(map(str, x.shape)) + "]")


def bitcast(x: Array, dtype: Any, /) -> Array:
    """The same bits as another dtype of the same size."""
    return apply("bitcast", (x,), f"dtype={to_dtype(dtype).text}")


def stop_gradient(x: Array, /) -> Array:
    """x, a constant for derivatives."""
    return apply("stop_gradient", (x,))


_give_methods(globals())
