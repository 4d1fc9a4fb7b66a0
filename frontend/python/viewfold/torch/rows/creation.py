"""Arrays of constants, and of random numbers."""

from __future__ import annotations

from typing import Any, Callable

from ..._array import Array, apply
from ..._creation import arange as of_range
from ..._creation import full as filled
from ..._sizes import text_list
from .call import Call, Unsupported, array, broadcast, cast

Row = Callable[..., Any]


def constant(value: Any) -> Row:
    """Of the shape of the result, whatever the arguments are."""
    return lambda call, *ignored, **options: filled(call.shape(), value, dtype=call.dtype)


def full(call: Call, shape: Any, value: Any, **ignored: Any) -> Array:
    return broadcast(array(value, call.dtype), call.shape())


def full_like(call: Call, x: Any, value: Any, **ignored: Any) -> Array:
    return broadcast(array(value, call.dtype), call.shape())


def new_full(call: Call, x: Any, shape: Any, value: Any, **ignored: Any) -> Array:
    return broadcast(array(value, call.dtype), call.shape())


def scalar_tensor(call: Call, value: Any, **ignored: Any) -> Array:
    return array(value, call.dtype)


def arange(call: Call, start: Any, end: Any, step: Any = 1, **ignored: Any) -> Array:
    return _range(call, start, step)


def iota(call: Call, length: Any, *, start: Any = 0, step: Any = 1, **ignored: Any) -> Array:
    return _range(call, start, step)


def _range(call: Call, start: Any, step: Any) -> Array:
    if not isinstance(start, (int, float)) or not isinstance(step, (int, float)):
        raise Unsupported("a range that begins at a size known in runs alone")
    made = cast(of_range(call.shape()[0], dtype="int64"), call.dtype)
    if step != 1:
        made = apply("mul", (made, step))
    return apply("add", (made, start)) if start else made


def eye(call: Call, rows: Any, columns: Any = None, **ignored: Any) -> Array:
    m, n = call.shape()
    return cast(apply("eq", (of_range(m).reshape((m, 1)), of_range(n))), call.dtype)


def _draw(call: Call, name: str, number: int | None, text: str) -> Array:
    return apply(name, (call.recording.seed(),), "shape=" + text_list(call.shape(number)) + " " + text)


def uniform(call: Call, *ignored: Any, **options: Any) -> Array:
    return _draw(call, "uniform", None, f"dtype={_float(call).text}")


def normal(call: Call, *ignored: Any, **options: Any) -> Array:
    return _draw(call, "normal", None, f"dtype={_float(call).text}")


def normal_between(call: Call, shape: Any, *, mean: float, std: float, **options: Any) -> Array:
    return apply("add", (apply("mul", (normal(call), float(std))), float(mean)))


def uniform_between(call: Call, shape: Any, *, low: float, high: float, **options: Any) -> Array:
    return apply("add", (apply("mul", (uniform(call), float(high) - float(low))), float(low)))


def _float(call: Call) -> Any:
    if call.dtype.name not in ("float32", "float64"):
        raise Unsupported(f"random numbers in {call.dtype.name}")
    return call.dtype


def bernoulli(call: Call, x: Array, p: float = 0.5, **ignored: Any) -> Array:
    return cast(_draw(call, "bernoulli", None, f"p={float(p)}"), call.dtype)


def bernoulli_of(call: Call, x: Array, **ignored: Any) -> Array:
    """With the probabilities that the array has."""
    return cast(apply("lt", (_draw(call, "uniform", None, f"dtype={x.dtype.text}"), x)), call.dtype)


def dropout(call: Call, x: Array, p: float, train: bool | None) -> Any:
    if train is False or p == 0:
        return x, filled(call.shape(1), True, dtype=call.recording.boolean)
    if p == 1:
        return apply("mul", (x, 0.0)), filled(call.shape(1), False, dtype=call.recording.boolean)
    mask = _draw(call, "bernoulli", 0, f"p={1.0 - float(p)}")
    return apply("mul", (apply("where", (mask, x, 0.0)), 1.0 / (1.0 - float(p)))), mask


def randint(call: Call, low: int, high: int, *ignored: Any, **options: Any) -> Array:
    u = _draw(call, "uniform", None, "dtype=f64")
    return cast(apply("add", (apply("floor", (apply("mul", (u, float(high - low))),)), float(low))), call.dtype)


def randint_high(call: Call, high: int, *ignored: Any, **options: Any) -> Array:
    return randint(call, 0, high)


def randint_like(call: Call, x: Array, *bounds: int, **options: Any) -> Array:
    return randint(call, *bounds[-2:]) if len(bounds) > 1 else randint(call, 0, bounds[0])


def randperm(call: Call, count: Any, **ignored: Any) -> Array:
    """The order of random numbers: equal ones, of 2^53, keep theirs."""
    numbers = apply("uniform", (call.recording.seed(),), "shape=" + text_list(call.shape()) + " dtype=f64")
    return cast(apply("argsort", (numbers,), "axis=0"), call.dtype)


def multinomial(call: Call, weights: Array, count: int, replacement: bool = False, **ignored: Any) -> Array:
    """Positions drawn with probabilities in proportion to the weights of each row."""
    last = weights.ndim - 1
    if not replacement:  # the first to come of clocks that run at these rates
        clock = apply("neg", (apply("log", (_uniform(call, list(weights.shape), weights),)),))
        return cast(apply("topk", (apply("div", (weights, clock)),), f"k={count} axis={last} largest=true", 2)[1], call.dtype)
    edges = apply("cumsum", (weights,), f"axis={last}")
    total = apply("sum", (weights,), f"axes=[{last}] keepdims=true")
    drawn = apply("mul", (_uniform(call, call.shape(), weights), total))
    passed = apply("le", (apply("unsqueeze", (edges,), f"axis={last}"), apply("unsqueeze", (drawn,), f"axis={last + 1}")))
    at = apply("sum", (cast(passed, call.dtype),), f"axes=[{last + 1}]")
    return apply("min", (at, weights.shape[last] - 1))


def _uniform(call: Call, shape: list[Any], like: Array) -> Array:
    made = apply("uniform", (call.recording.seed(),), "shape=" + text_list(shape) + " dtype=f32")
    return cast(made, like.dtype)
