"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any, NoReturn, Sequence

from ._array import Array, apply
from ._creation import asarray, eye
from ._dtypes import result_type
from ._reductions import max as _max
from ._reductions import min as _min
from ._reductions import sum as _sum
from ._shapes import matrix_transpose, moveaxis
from ._hints import missing, refuse_options, takes_none

__all__ = ["matmul", "einsum", "tensordot", "vecdot", "outer", "cross", "matrix_transpose", "diagonal", "trace",
           "vector_norm", "matrix_norm", "matrix_power"]


def _in_common(made: Array, *operands: Any) -> Array:
    """The result in the dtype of the operands together, as NumPy has it: sums of narrow integers are wider here."""
    return made.astype(result_type(*operands))


@takes_none
def matmul(x1: Any, x2: Any, /, **options: NoReturn) -> Array:
    """The product of matrices in the last two axes; those before broadcast."""
    return apply("matmul", (x1, x2)) if not options else refuse_options("matmul", options)


def einsum(equation: str, *operands: Any) -> Array:
    """NumPy's einsum: einsum('ij,jk->ik', a, b)."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum takes the equation first, as in einsum('ij,jk->ik', a, b), and got {type(equation).__name__}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        raise TypeError("einsum takes operands one by one, as in einsum('ij,jk->ik', a, b), and got one list; einsum(equation, *operands)")
    return apply("einsum", operands, 'equation="' + equation.replace(" ", "") + '"')


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """The sum of products over pairs of axes, or over the last of x1 and first of x2."""
    x1, x2 = asarray(x1), asarray(x2)
    if isinstance(axes, int):
        left, right = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        left, right = ([a % x1.ndim for a in axes[0]], [a % x2.ndim for a in axes[1]])
    letters = "abcdefghijklmnopqrstuvwxyz"
    first = list(letters[:x1.ndim])
    second = list(letters[x1.ndim:x1.ndim + x2.ndim])
    for a, b in zip(left, right):
        second[b] = first[a]
    remainder = [c for i, c in enumerate(first) if i not in left] + [c for i, c in enumerate(second) if i not in right]
    return _in_common(einsum(f"{''.join(first)},{''.join(second)}->{''.join(remainder)}", x1, x2), x1, x2)


def vecdot(x1: Any, x2: Any, /, axis: int = -1) -> Array:
    """The sum of products along an axis."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: axis {axis} has {x1.shape[axis]} elements, and {x2.shape[axis]}; takes as many")
    return _in_common(einsum("...i,...i->...", moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)), x1, x2)


def outer(x1: Any, x2: Any, /) -> Array:
    """The products of all pairs of elements of two vectors."""
    return apply("mul", (asarray(x1).reshape(-1, 1), asarray(x2).reshape(1, -1)))


def cross(x1: Any, x2: Any, /, axis: int = -1) -> Array:
    """The cross product of vectors of three elements."""
    from ._shapes import broadcast_arrays, stack

    a, b = broadcast_arrays(asarray(x1), asarray(x2))
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != 3:
        raise ValueError(f"cross: the axis has {a.shape[-1]} elements; takes 3")
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(stack(parts, axis=-1), -1, axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Diagonal `offset` of the last two axes."""
    rows, columns = x.shape[-2:]
    same = offset == 0 and str(rows) == str(columns)  # also where they are known in runs alone
    length = rows if same else max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    from ._creation import arange

    steps = arange(length, dtype="int64")
    return x[..., steps + max(-offset, 0), steps + max(offset, 0)]


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Array, /, axis: Any = None, *, keepdims: bool = False, ord: float = 2) -> Array:
    """(sum |x|^ord)^(1/ord) over the axes; the largest and smallest for inf and -inf."""
    size = abs(x)
    if ord == float("inf"):
        return _max(size, axis=axis, keepdims=keepdims)
    if ord == float("-inf"):
        return _min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return _sum((x != 0).astype(x.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return _sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return apply("sqrt", (_sum(x * x, axis=axis, keepdims=keepdims),))
    return _sum(size ** float(ord), axis=axis, keepdims=keepdims) ** (1.0 / ord)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices: 'fro', or the largest sum of rows (inf) or columns (1)."""
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, float("inf"), float("-inf")):
        along, across = (-2, -1) if abs(ord) == 1 else (-1, -2)
        sums = _sum(abs(x), axis=along, keepdims=True)
        made = (_max if ord > 0 else _min)(sums, axis=across, keepdims=True)
        return made if keepdims else made.squeeze((-2, -1))
    raise ValueError(f"matrix_norm: there is no norm {ord!r}; takes 'fro', 1, -1, inf, -inf")


def matrix_power(x: Array, n: int, /) -> Array:
    """The product of n times the matrix."""
    if n < 0:
        raise ValueError("matrix_power: n is negative; there are no inverses")
    made: Any = eye(x.shape[-1], dtype=x.dtype)
    square = x
    while n:
        if n & 1:
            made = matmul(made, square)
        square, n = (matmul(square, square), n >> 1) if n > 1 else (square, 0)
    return made


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, f"it has {', '.join(__all__)}")
