"""Leaves and views, by NumPy: all exact."""
import numpy as np

from binding import to_dtype
from oracle.draw import Case, Want
from oracle.elementwise import in_dtype, rounded
from oracle.rules import ALL, FLOATS, convert, promote


def moved(x, array):
    """The same elements, rearranged."""
    return Want(x.dtype, np.asarray(array))


def anything(d, **shape):
    return d.operand(d.any_dtype(), d.shape(**shape))


def scalar(d, dtype):
    return d.array(dtype, (), "plain").wide().item()


def const(d):
    dtype = d.any_dtype()
    value = scalar(d, dtype)
    return Case([], Want(dtype, convert(np.array(value), dtype)), value=value, dtype=dtype)


def data(d):
    dtype = d.any_dtype()
    array = d.array(dtype, d.shape(most=3), "plain")
    return Case([], Want(dtype, array), shape=array.shape, dtype=dtype, values=array.wide().ravel().tolist())


def numbered(d):
    """A dtype in which every index of a small axis is exact."""
    return d.one([t for t in ALL if t != "bool"])


def iota(d):
    shape, dtype = d.shape(least=1), numbered(d)
    axis = d.integer(0, len(shape) - 1)
    along = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return Case([], Want(dtype, to_dtype(np.broadcast_to(along, shape), dtype)),
                shape=shape, axis=axis, dtype=dtype)


def full(d):
    shape, dtype = d.shape(), d.any_dtype()
    value = scalar(d, dtype)
    return Case([], Want(dtype, convert(np.full(shape, value), dtype)), shape=shape, value=value, dtype=dtype)


def filled(number):
    def row(d):
        shape, dtype = d.shape(), d.one(ALL + (None,))
        want = dtype or "f32"
        return Case([], Want(want, to_dtype(np.full(shape, number), want)), shape=shape, dtype=dtype)
    return row


def arange(d):
    if d.chance(0.5):
        start, step = d.integer(-9, 9), d.one([1, 2, -1, -3])
        stop = start + step * d.integer(0, 9) + d.integer(0, 1)
        dtype = d.one(["i64", "i32", None, "f32"])
        want = dtype or "i64"
        return Case([], Want(want, to_dtype(np.arange(start, stop, step), want)),
                    start=start, stop=stop, step=step, dtype=dtype)
    start, step = d.integer(-9, 9) / 4, d.one([0.5, 0.25, -0.75])
    stop = start + step * d.integer(0, 12) + step / 2
    count = max(0, np.ceil((stop - start) / step))
    return Case([], Want("f32", to_dtype(start + step * np.arange(count), "f32")),
                start=float(start), stop=float(stop), step=step)


def linspace(d):
    start, stop, num = d.integer(-9, 9) / 2, d.integer(-9, 9) / 2, d.integer(1, 20)
    dtype = d.one(FLOATS)
    y = np.linspace(start, stop, num)
    bound = np.maximum(np.abs(y), 1e-3) * (2.0 ** -7 if dtype == "bf16" else 2.0 ** -10 if dtype == "f16"
                                           else 2.0 ** -23 if dtype == "f32" else 2.0 ** -50)
    bound = bound + (1e-14 if dtype == "f64" else 0)
    return Case([], Want(dtype, y, bound), start=float(start), stop=float(stop), num=num, dtype=dtype)


def eye(d):
    rows, columns, k = d.integer(1, 6), d.integer(1, 6), d.integer(-3, 3)
    shape = [rows] if d.chance(0.3) else [rows, columns]
    dtype = d.one(ALL + (None,))
    want = dtype or "f32"
    return Case([], Want(want, to_dtype(np.eye(rows, shape[-1], k), want)),
                shape=shape, diagonal=k, dtype=dtype)


def permute(d):
    x = anything(d)
    order = [int(k) for k in d.random.permutation(len(x.shape))]
    return Case([x], moved(x, np.transpose(x.a, order)), order=order)


def rearrange(d):
    """Each element of the result by the coordinates of its axes: letters of x in another order, the last two as one."""
    x = anything(d, least=2)
    letters = "bhwcdftuvx"[:len(x.shape)]
    order = [letters[k] for k in d.random.permutation(len(letters))]
    sizes = dict(zip(letters, x.shape))
    shape = [sizes[c] for c in order]
    result = np.empty(shape, x.a.dtype)
    for place in np.ndindex(*shape):
        at = dict(zip(order, place))
        result[place] = x.a[tuple(at[c] for c in letters)]
    result = result.reshape(shape[:-2] + [shape[-2] * shape[-1]])
    return Case([x], moved(x, result), **{"from": f'"{letters}"', "to": f'"{"".join(order[:-2])}({"".join(order[-2:])})"'})


def name_axes(d):
    x = anything(d)
    return Case([x], moved(x, x.a), to='"' + "bhwcdftuvx_y"[:len(x.shape)] + '"')


def swap_axes(d):
    x = anything(d, least=1)
    (a, first), (b, second) = d.axis(len(x.shape)), d.axis(len(x.shape))
    return Case([x], moved(x, np.swapaxes(x.a, a, b)), axis1=first, axis2=second)


def transpose(d):
    if d.chance(0.5):
        return swap_axes(d)
    x = anything(d, least=0)
    return Case([x], moved(x, np.transpose(x.a)))


def moveaxis(d):
    x = anything(d, least=1)
    (a, source), (b, destination) = d.axis(len(x.shape)), d.axis(len(x.shape))
    return Case([x], moved(x, np.moveaxis(x.a, a, b)), source=source, destination=destination)


def regrouped(d, count):
    """Sizes whose product is count."""
    sizes = []
    while count > 1 and len(sizes) < 4 and d.chance(0.75):
        factor = d.one([k for k in range(1, count + 1) if count % k == 0])
        sizes.append(factor)
        count //= factor
    sizes.append(count)
    return sizes


def reshape(d):
    x = anything(d)
    shape = regrouped(d, x.a.size) if x.a.size else [0, 3]
    written = list(shape)
    if x.a.size and d.chance(0.4):
        written[d.integer(0, len(shape) - 1)] = -1
    return Case([x], moved(x, x.a.reshape(shape)), shape=written)


def flatten(d):
    x = anything(d, least=1)
    rank = len(x.shape)
    first = d.integer(0, rank - 1)
    last = d.integer(first, rank - 1)
    shape = x.shape[:first] + (int(np.prod(x.shape[first:last + 1])),) + x.shape[last + 1:]
    return Case([x], moved(x, x.a.reshape(shape)), start_dim=d.one([first, first - rank]),
                end_dim=d.one([last, last - rank]))


def expand(d):
    shape = d.shape()
    kept = [1 if d.chance(0.4) else s for s in shape[d.integer(0, len(shape)):]]
    x = d.operand(d.any_dtype(), tuple(kept))
    return Case([x], moved(x, np.broadcast_to(x.a, shape)), shape=shape)


def unsqueeze(d):
    x = anything(d)
    axis, written = d.axis(len(x.shape), 1)
    return Case([x], moved(x, np.expand_dims(x.a, axis)), axis=written)


def squeeze(d):
    shape = tuple(1 if d.chance(0.5) else s for s in d.shape(least=1))
    x = d.operand(d.any_dtype(), shape)
    ones = [k for k, s in enumerate(shape) if s == 1]
    if not ones or d.chance(0.3):
        return Case([x], moved(x, np.squeeze(x.a)))
    some = [k for k in ones if d.chance(0.6)] or ones[:1]
    written = [k if d.chance(0.5) else k - len(shape) for k in some]
    if len(some) == 1 and d.chance(0.5):
        return Case([x], moved(x, np.squeeze(x.a, some[0])), axis=written[0])
    return Case([x], moved(x, np.squeeze(x.a, tuple(some))), axes=written)


def window(d, shape):
    """A pair of bounds for each axis; windows are rarely empty."""
    starts = [d.integer(0, max(0, s - 1)) if d.chance(0.95) else s for s in shape]
    return [(b, d.integer(min(b + 1, s) if d.chance(0.95) else b, s)) for b, s in zip(starts, shape)]


def shrink(d):
    x = anything(d)
    bounds = window(d, x.shape)
    return Case([x], moved(x, x.a[tuple(slice(b, e) for b, e in bounds)]), bounds=bounds)


def slice_of(d):
    """By bounds, or by start and size; a start may count from the end."""
    x = anything(d)
    bounds = window(d, x.shape)
    want = moved(x, x.a[tuple(slice(b, e) for b, e in bounds)])
    if d.chance(0.4):
        return Case([x], want, bounds=bounds)
    start = [b - s if b < s and d.chance(0.4) else b for (b, _), s in zip(bounds, x.shape)]
    return Case([x], want, start=start, size=[e - b for b, e in bounds])


def stride(d):
    x = anything(d)
    steps = [d.one([1, 1, 2, 3, -1, -2]) for _ in x.shape]
    return Case([x], moved(x, x.a[tuple(slice(None, None, s) for s in steps)]), steps=steps)


def flip(d):
    x = anything(d, least=1)
    if d.chance(0.5):
        axis, written = d.axis(len(x.shape))
        return Case([x], moved(x, np.flip(x.a, axis)), axis=written)
    axes = [k for k in range(len(x.shape)) if d.chance(0.6)]
    return Case([x], moved(x, np.flip(x.a, tuple(axes))), axes=axes)


def point(d):
    x = anything(d, least=1, low=1)
    axis, written = d.axis(len(x.shape))
    index = d.integer(0, x.shape[axis] - 1)
    return Case([x], moved(x, np.take(x.a, index, axis)), index=index, axis=written)


def beyond(a, pads, mode):
    """numpy.pad; its wrap is wrong before 1.25 where a pad is longer than the axis."""
    if not a.size:
        return np.zeros([s + sum(p) for p, s in zip(pads, a.shape)], a.dtype)
    if mode != "wrap":
        return np.pad(a, pads, mode)
    for axis, (before, after) in enumerate(pads):
        size = a.shape[axis]
        a = np.take(a, np.arange(-before, size + after) % size, axis)
    return a


def pad(d):
    mode = d.one(["constant", "constant", "edge", "reflect", "wrap"])
    x = anything(d, least=1, low=0 if mode == "constant" else 1)
    pads = [(d.integer(0, 4), d.integer(0, 4)) for _ in x.shape]
    if mode != "constant":
        pads = [(0, 0) if s == 0 else p for p, s in zip(pads, x.shape)]
        return Case([x], moved(x, beyond(x.a, pads, mode)), pads=pads, mode=mode)
    value = None if d.chance(0.4) else scalar(d, x.dtype)
    fill = 0 if value is None else value
    return Case([x], moved(x, np.pad(x.a, pads, constant_values=fill)), pads=pads, value=value)


def several(d, shapes):
    """Operands of a few dtypes that have a common one."""
    first = d.any_dtype()
    dtypes = [first]
    for _ in shapes[1:]:
        other = d.one(ALL)
        common = dtypes[0]
        for t in dtypes[1:] + [other]:
            common = common and promote(common, t)
        dtypes.append(other if common and d.chance(0.3) else first)
    operands = [d.operand(t, s) for t, s in zip(dtypes, shapes)]
    dtype = first
    # the common dtype is joined from all integers, and all floats, first, so that their order does not matter
    for kind in (False, True):
        for t in dtypes:
            if (t in FLOATS) == kind:
                dtype = promote(dtype, t) or dtype
    return operands, dtype


def concat(d):
    shape = d.shape(least=1, high=4)
    axis, written = d.axis(len(shape))
    shapes = [tuple(d.integer(0, 4) if k == axis else s for k, s in enumerate(shape))
              for _ in range(d.integer(1, 4))]
    operands, dtype = several(d, shapes)
    y = np.concatenate([in_dtype(x, dtype) for x in operands], axis)
    return Case(operands, Want(dtype, rounded(dtype, y)), axis=written)


def stack(d):
    shape = d.shape(high=4)
    axis, written = d.axis(len(shape), 1)
    operands, dtype = several(d, [shape] * d.integer(1, 4))
    y = np.stack([in_dtype(x, dtype) for x in operands], axis)
    return Case(operands, Want(dtype, rounded(dtype, y)), axis=written)


def triangle(function):
    def row(d):
        x = d.operand(d.any_dtype(), d.shape(least=2))
        k = d.integer(-3, 3)
        return Case([x], moved(x, function(x.a, k)), diagonal=k)
    return row


def split(d):
    shape, parts = list(d.shape(least=1, high=4)), d.integer(1, 4)
    axis, written = d.axis(len(shape))
    shape[axis] *= parts
    x = d.operand(d.any_dtype(), tuple(shape))
    return Case([x], [moved(x, p) for p in np.split(x.a, parts, axis)], parts=parts, axis=written)


def chunk(d):
    x = anything(d, least=1, low=1, high=7)
    axis, written = d.axis(len(x.shape))
    chunks = d.integer(1, 5)
    parts = [p for p in np.array_split(x.a, chunks, axis) if p.shape[axis]]
    return Case([x], [moved(x, p) for p in parts], chunks=chunks, axis=written)


def unbind(d):
    x = d.operand(d.any_dtype(), tuple(min(s, 6) for s in d.shape(least=1, low=1)))
    axis, written = d.axis(len(x.shape))
    return Case([x], [moved(x, np.take(x.a, k, axis)) for k in range(x.shape[axis])], axis=written)


ROWS = {
    "const": const, "data": data, "iota": iota, "full": full, "zeros": filled(0), "ones": filled(1),
    "arange": arange, "linspace": linspace, "eye": eye,
    "permute": permute, "rearrange": rearrange, "name_axes": name_axes, "swap_axes": swap_axes, "transpose": transpose, "moveaxis": moveaxis, "reshape": reshape, "flatten": flatten,
    "expand": expand, "unsqueeze": unsqueeze, "squeeze": squeeze, "shrink": shrink, "slice": slice_of,
    "stride": stride, "flip": flip, "point": point, "pad": pad, "concat": concat, "stack": stack,
    "tril": triangle(np.tril), "triu": triangle(np.triu), "split": split, "chunk": chunk, "unbind": unbind,
}
