"""Random numbers from a seed: the same in every program, on every machine."""

from __future__ import annotations

from typing import Any

from ._array import Array, apply
from ._creation import asarray
from ._dtypes import dtype as to_dtype
from ._hints import missing
from ._sizes import text_list

__all__ = ["uniform", "normal", "bernoulli", "split"]


def _draw(name: str, seed: Any, shape: Any, remainder: str) -> Array:
    if isinstance(seed, (tuple, list)) or getattr(seed, "ndim", 0):
        given = tuple(seed.shape) if hasattr(seed, "shape") else tuple(seed)
        raise TypeError(f"{name}: the seed, an integer, is the first argument, and the shape the second, as in {name}(1, (2, 3)); got "
                        f"{'an array of shape ' if hasattr(seed, 'shape') else ''}{given} as the seed")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return apply(name, (asarray(seed),), "shape=" + text_list(sizes) + " " + remainder)


def uniform(seed: Any, shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = "float32") -> Array:
    """low <= x < high. Each draw takes another seed, an integer."""
    return _draw("uniform", seed, shape, f"dtype={to_dtype(dtype).text} low={float(low)} high={float(high)}")


def normal(seed: Any, shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = "float32") -> Array:
    """Normally distributed numbers."""
    return _draw("normal", seed, shape, f"dtype={to_dtype(dtype).text} mean={float(mean)} std={float(std)}")


def bernoulli(seed: Any, p: float = 0.5, shape: Any = ()) -> Array:
    """True with probability p."""
    return _draw("bernoulli", seed, shape, f"p={float(p)}")


def split(seed: Any, count: int = 2) -> Array:
    """Seeds for `count` parts of a program, from one."""
    seed = asarray(seed)
    words = [(seed % (1 << 32) if seed.dtype.itemsize == 8 else seed).astype("uint32"),
             (seed >> 32 if seed.dtype.itemsize == 8 else seed * 0).astype("uint32")]
    from ._creation import arange, zeros

    counters = arange(count, dtype="uint32")
    low, high = apply("threefry2x32", (words[0], words[1], counters, zeros((count,), dtype="uint32")), None, 2)
    return low.astype("uint64") | (high.astype("uint64") << 32)


def __getattr__(name: str) -> Any:
    own = f"it has {', '.join(__all__)}, which keep no state: each takes a seed first, as in normal(1, (2, 3))"
    raise missing(__name__, name, own)
