"""Operators that move elements, or compute from shapes: views, ranges, indexing."""
import itertools

import numpy as np

from nodes.node import DTYPES, Uncovered, tensor
from nodes.elementwise import choose


def reshape(n, x, shape):
    return n.do("reshape", x, shape=[int(s) for s in shape])


def reshape_node(n):
    shape = n.ints("shape", 1)
    if not n.get("allowzero", 0):
        shape = [n[0].shape[k] if s == 0 else s for k, s in enumerate(shape)]
    return reshape(n, n[0], shape)


def broadcast_shape(n):
    return np.broadcast_shapes(n[0].shape, tuple(n.ints("shape", 1)))


def wrapped(axes, rank):
    return sorted(a + rank if a < 0 else a for a in axes)


def squeeze(n):
    axes = n.ints("axes", 1)
    return n.do("squeeze", n[0], axes=axes if axes is not None else
                [k for k, s in enumerate(n[0].shape) if s == 1])


def unsqueeze(n):
    axes = n.ints("axes", 1)
    x = n[0]
    for axis in wrapped(axes, x.rank + len(axes)):
        x = n.do("unsqueeze", x, axis=axis)
    return x


def flatten(n):
    axis = n.axis(1)
    rows = int(np.prod(n[0].shape[:axis], dtype=np.int64))
    columns = int(np.prod(n[0].shape[axis:], dtype=np.int64))
    return reshape(n, n[0], [rows, columns])


def window(n, x, bounds, steps):
    """For each axis a first index, a last (excluded) and a step as in Python, clamped like the bounds of
    slices."""
    cut, back = [], []
    for size, (begin, end), step in zip(x.shape, bounds, steps):
        first, last, step = slice(begin, end, step).indices(size)
        count = len(range(first, last, step))
        if count == 0:
            cut.append([0, 0])
        elif step > 0:
            cut.append([first, first + (count - 1) * step + 1])
        else:
            cut.append([first + (count - 1) * step, first + 1])
        back.append(step)
    x = n.do("shrink", x, bounds=cut)
    return x if all(s == 1 for s in back) else n.do("stride", x, steps=back)


def slice_node(n):
    starts, ends, axes, steps = n.ints("starts", 1), n.ints("ends", 2), n.ints("axes", 3), n.ints("steps", 4)
    rank = n[0].rank
    axes = list(range(len(starts))) if axes is None else [a % rank for a in axes]
    bounds, by = [[None, None]] * rank, [1] * rank
    for k, axis in enumerate(axes):
        step = steps[k] if steps is not None else 1
        # an end before the first element of an axis with a negative step
        end = None if step < 0 and ends[k] < -n[0].shape[axis] else ends[k]
        bounds[axis], by[axis] = [starts[k], end], step
    return window(n, n[0], bounds, by)


def split(n):
    axis, sizes = n.axis(0), n.ints("split", 1)
    whole = n[0].shape[axis]
    parts = len(n.wanted)
    if sizes is None:
        return n.graph.apply_all("split", n[0], parts=parts, axis=axis) if parts > 1 else [n[0]]
    ends = list(itertools.accumulate(sizes))
    return [n.do("shrink", n[0], bounds=[[e - s, e] if k == axis else [0, size]
                                         for k, size in enumerate(n[0].shape)])
            for s, e in zip(sizes, ends)] if ends[-1] == whole else None


def pad(n):
    pads, mode = n.ints("pads", 1), n.get("mode", "constant")
    rank = n[0].rank
    value = n.get("value", 0.0) if n[2] is None else n.known(2).item()
    pairs = [[max(pads[k], 0), max(pads[k + rank], 0)] for k in range(rank)]
    cut = [[max(-pads[k], 0), s - max(-pads[k + rank], 0)] for k, s in enumerate(n[0].shape)]
    x = n.do("shrink", n[0], bounds=cut)
    return n.do("pad", x, pads=pairs, mode=mode, value=value if mode == "constant" and value != 0 else None)


def tile(n):
    x = n[0]
    for axis, times in enumerate(n.ints("repeats", 1)):
        x = n.do("concat", *[x] * times, axis=axis)
    return x


def shape_of(n):
    rank = n[0].rank
    first, last, _ = slice(n.get("start", 0), n.get("end", rank)).indices(rank)
    return n.data(np.array(n[0].shape[first:last], np.int64))


def constant(n):
    for name, dtype in (("value", None), ("value_float", np.float32), ("value_int", np.int64),
                        ("value_floats", np.float32), ("value_ints", np.int64)):
        if name in n.attributes:
            value = n.get(name)
            return n.data(tensor(value) if dtype is None else np.array(value, dtype))
    raise Uncovered("dtype string")


def constant_of_shape(n):
    value = tensor(n.get("value")).wide() if "value" in n.attributes else np.zeros(1, np.float32)
    return n.data(np.full(tuple(n.ints("shape", 0)), value.item(), value.dtype))


def eye_like(n):
    dtype = DTYPES[n.get("dtype")] if "dtype" in n.attributes else n[0].dtype
    return n.do("eye", shape=n[0].shape, diagonal=n.get("k", 0), dtype=dtype)


def ranged(n):
    start, stop, step = (n.known(k).item() for k in range(3))
    return n.do("arange", start=start, stop=stop, step=step, dtype=n[0].dtype)


def triangle(n):
    diagonal = 0 if n[1] is None else int(n.known(1))
    return n.do("triu" if n.get("upper", 1) else "tril", n[0], diagonal=diagonal)


def depth_to_space(n):
    b = n.get("blocksize")
    batch, channels, height, width = n[0].shape
    few = channels // (b * b)
    if n.get("mode", "DCR") == "DCR":
        shape, order = [batch, b, b, few, height, width], [0, 3, 4, 1, 5, 2]
    else:
        shape, order = [batch, few, b, b, height, width], [0, 1, 4, 2, 5, 3]
    x = n.do("permute", reshape(n, n[0], shape), order=order)
    return reshape(n, x, [batch, few, height * b, width * b])


def space_to_depth(n):
    b = n.get("blocksize")
    batch, channels, height, width = n[0].shape
    x = reshape(n, n[0], [batch, channels, height // b, b, width // b, b])
    x = n.do("permute", x, order=[0, 3, 5, 1, 2, 4])
    return reshape(n, x, [batch, channels * b * b, height // b, width // b])


def nonnegative(n, indices, size):
    """Indices that count from the end when negative, converted to indices from the beginning, as i64."""
    indices = n.like(indices, "i64")
    return choose(n, n.do("lt", indices, 0), n.do("add", indices, size), indices)


def one_hot(n):
    depth = int(np.ravel(n.known(1))[0])
    rank = n[0].rank + 1
    axis = n.axis(-1, rank)
    shape = list(n[0].shape)
    shape.insert(axis, depth)
    indices = n.do("unsqueeze", nonnegative(n, n[0], depth), axis=axis)
    hot = n.do("eq", n.do("iota", shape=shape, axis=axis, dtype="i64"), n.do("expand", indices, shape=shape))
    values = [n.do("point", n[2], index=k, axis=0) for k in (0, 1)]
    return choose(n, hot, values[1], values[0])


def flat_gather(n, x, places):
    """Elements of x by their row-major index."""
    return n.do("gather", reshape(n, x, [-1]), places, axis=0)


def element_places(n):
    """Row-major indices in the data of the elements that indices along an axis refer to."""
    axis = n.axis(0)
    strides = [int(np.prod(n[0].shape[k + 1:], dtype=np.int64)) for k in range(n[0].rank)]
    places = n.do("mul", nonnegative(n, n[1], n[0].shape[axis]), strides[axis])
    for k, stride in enumerate(strides):
        if k != axis:
            places = n.do("add", places,
                          n.do("mul", n.do("iota", shape=n[1].shape, axis=k, dtype="i64"), stride))
    return places


def gather_elements(n):
    return flat_gather(n, n[0], element_places(n))


def flat_places(n):
    """Indices along the last axis of `indices` address the axes of the data after the batch axes: returns
    those axes merged into one, and the merged index of each."""
    batch, data, indices = n.get("batch_dims", 0), n[0], n[1]
    depth = indices.shape[-1]
    lead, picked = data.shape[:batch + depth], indices.shape[:-1]
    places = n.do("full", shape=picked, value=0, dtype="i64")
    for k in range(batch + depth):
        stride = int(np.prod(lead[k + 1:], dtype=np.int64))
        if k < batch:
            at = n.do("iota", shape=picked, axis=k, dtype="i64")
        else:
            at = nonnegative(n, n.do("point", indices, index=k - batch, axis=-1), lead[k])
        places = n.do("add", places, n.do("mul", at, stride))
    rest = list(data.shape[batch + depth:])
    return reshape(n, data, [int(np.prod(lead, dtype=np.int64))] + rest), places


def gather_nd(n):
    return n.do("gather", *flat_places(n), axis=0)


SCATTERS = {"none": "scatter", "add": "scatter_add"}


def scattering(n):
    """The operation for the attribute reduction."""
    reduction = n.get("reduction", "none")
    if reduction not in SCATTERS:
        raise Uncovered("scatter with " + reduction)
    return SCATTERS[reduction]


def scatter_elements(n):
    """Along an axis where the other sizes are those of the data, else by indices into all of it."""
    axis, operation = n.axis(0), scattering(n)
    if all(k == axis or s == n[1].shape[k] for k, s in enumerate(n[0].shape)):
        return n.do(operation + "_along_axis", n[0], n[1], n[2], axis=axis)
    flat = n.do(operation, reshape(n, n[0], [-1]), element_places(n), n[2], axis=0)
    return reshape(n, flat, n[0].shape)


def scatter_nd(n):
    data, places = flat_places(n)
    return reshape(n, n.do(scattering(n), data, places, n[2], axis=0), n[0].shape)


def top(n):
    largest = bool(n.get("largest", 1))
    return n.graph.apply_all("topk", n[0], k=int(np.ravel(n.known(1))[0]), axis=n.axis(-1), largest=largest)


def compress(n):
    """The mask is data in ONNX; it is taken from the test's input."""
    keep = n.data(np.flatnonzero(n.known(1)).astype(np.int64))
    if "axis" not in n.attributes:
        return flat_gather(n, n[0], keep)
    return n.do("gather", n[0], keep, axis=n.axis(0))


def reverse_sequence(n):
    """The first elements of each row reversed; an input says how many."""
    along, across = n.get("time_axis", 0), n.get("batch_axis", 1)
    at = n.do("iota", shape=n[0].shape, axis=along, dtype="i64")
    shape = [1] * n[0].rank
    shape[across] = n[0].shape[across]
    lengths = n.do("expand", reshape(n, n[1], shape), shape=n[0].shape)
    back = n.do("sub", n.do("sub", lengths, 1), at)
    taken = choose(n, n.do("lt", at, lengths), back, at)
    n.inputs, n.attributes = [n[0], taken], {"axis": along}
    return gather_elements(n)


def running_sum(n):
    return n.do("cumsum", n[0], axis=int(np.ravel(n.known(1))[0]), exclusive=bool(n.get("exclusive", 0)),
                reverse=bool(n.get("reverse", 0)))


TABLE = {
    "Reshape": reshape_node, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Transpose": lambda n: n.do("permute", n[0], order=n.get("perm", list(range(n[0].rank))[::-1])),
    "Expand": lambda n: n.do("expand", n[0], shape=broadcast_shape(n)),
    "Concat": lambda n: n.do("concat", *n.inputs, axis=n.axis(0)),
    "Slice": slice_node, "Split": split, "Pad": pad, "Tile": tile, "Trilu": triangle,
    "Shape": shape_of, "Size": lambda n: n.data(np.array(np.prod(n[0].shape, dtype=np.int64))),
    "Constant": constant, "ConstantOfShape": constant_of_shape, "EyeLike": eye_like, "Range": ranged,
    "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth, "OneHot": one_hot,
    "Gather": lambda n: n.do("gather", n[0], n[1], axis=n.axis(0)),
    "GatherElements": gather_elements, "GatherND": gather_nd, "Compress": compress,
    "Scatter": scatter_elements, "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "TopK": top,
    "ReverseSequence": reverse_sequence, "CumSum": running_sum,
}
