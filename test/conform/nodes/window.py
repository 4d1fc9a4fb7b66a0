"""Convolutions, pooling and resizing."""
import itertools
import math

import numpy as np

from binding import NUMPY
from nodes.elementwise import full_like
from nodes.node import Uncovered


def spatial(n, name, default):
    values = n.get(name)
    return [default] * (n[0].rank - 2) if values is None else [int(v) for v in values]


def same_padding(n, kernel, stride, dilation):
    """Pairs of pads, from the attribute pads or by the rule auto_pad."""
    axes, auto = len(kernel), n.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID"):
        pads = spatial(n, "pads", 0) if n.get("pads") is not None else [0] * (2 * axes)
        return [[pads[k], pads[k + axes]] for k in range(axes)]
    pairs = []
    for k in range(axes):
        size, span = n[0].shape[k + 2], (kernel[k] - 1) * dilation[k] + 1
        total = max((math.ceil(size / stride[k]) - 1) * stride[k] + span - size, 0)
        less, more = total // 2, total - total // 2
        pairs.append([less, more] if auto == "SAME_UPPER" else [more, less])
    return pairs


def conv(n):
    kernel, stride, dilation = list(n[1].shape[2:]), spatial(n, "strides", 1), spatial(n, "dilations", 1)
    return n.do("conv", *[v for v in n.inputs if v is not None], stride=stride, dilation=dilation,
                padding=same_padding(n, kernel, stride, dilation), groups=n.get("group", 1))


def conv_transpose(n):
    kernel, stride, dilation = list(n[1].shape[2:]), spatial(n, "strides", 1), spatial(n, "dilations", 1)
    extra, axes = spatial(n, "output_padding", 0), len(kernel)
    auto, wanted = n.get("auto_pad", "NOTSET"), n.get("output_shape")
    full = [(n[0].shape[k + 2] - 1) * stride[k] + (kernel[k] - 1) * dilation[k] + 1 + extra[k]
            for k in range(axes)]
    if wanted is None and auto in ("NOTSET", "VALID"):
        pads = n.get("pads") or [0] * (2 * axes)
        pairs = [[pads[k], pads[k + axes]] for k in range(axes)]
    else:
        wanted = wanted or [n[0].shape[k + 2] * stride[k] for k in range(axes)]
        total = [full[k] - wanted[k] for k in range(axes)]
        pairs = [[t - t // 2, t // 2] if auto != "SAME_UPPER" else [t // 2, t - t // 2] for t in total]
        more = [max(-t, 0) for t in total]  # an output larger than the region that is written: zeros at the end
        pairs = [[max(a, 0), max(b, 0)] if t >= 0 else [0, 0] for (a, b), t in zip(pairs, total)]
        extra = [e + m for e, m in zip(extra, more)]
    return n.do("conv_transpose", *[v for v in n.inputs if v is not None], stride=stride, dilation=dilation,
                padding=pairs, output_padding=extra, groups=n.get("group", 1))


def pooled_windows(n):
    kernel, stride = spatial(n, "kernel_shape", 1), spatial(n, "strides", 1)
    dilation = spatial(n, "dilations", 1)
    pairs = same_padding(n, kernel, stride, dilation)
    if n.get("ceil_mode", 0):  # the part of the last window beyond the axis is padding, too
        for k, pair in enumerate(pairs):
            span = (kernel[k] - 1) * dilation[k] + 1
            size = n[0].shape[k + 2] + sum(pair)
            pair[1] += math.ceil((size - span) / stride[k]) * stride[k] + span - size
    return kernel, stride, dilation, pairs


def max_pool(n):
    kernel, stride, dilation, pairs = pooled_windows(n)
    lowest = -np.inf if n[0].dtype.startswith("f") else np.iinfo(NUMPY[n[0].dtype]).min
    x = n.do("pad", n[0], pads=[[0, 0], [0, 0]] + pairs, value=lowest)
    y = n.do("max_pool", x, kernel=kernel, stride=stride, dilation=dilation)
    return [y, maximum_indices(n, x, kernel, stride, dilation, pairs)] if n.wants(1) else y


def maximum_indices(n, x, kernel, stride, dilation, pairs):
    """The row-major index in n[0] (or with its last two axes exchanged) of the maximum of each window of
    x."""
    places = [range((s - (k - 1) * t - 1) // by + 1)
              for s, k, t, by in zip(x.shape[2:], kernel, dilation, stride)]
    taken, origin = [], []  # for each window: indices in the spatial axes of x, and in those of n[0]
    sizes = n[0].shape[2:]
    order = "F" if n.get("storage_order", 0) else "C"
    for place in itertools.product(*places):
        at = [[p * by + q * t for p, by, q, t in zip(place, stride, inside, dilation)]
              for inside in itertools.product(*map(range, kernel))]
        taken.append([np.ravel_multi_index(a, x.shape[2:]) for a in at])
        origin.append([np.ravel_multi_index([i - p[0] for i, p in zip(a, pairs)], sizes, "clip", order)
                       for a in at])
    flat = n.do("reshape", x, shape=list(x.shape[:2]) + [-1])
    best = n.do("argmax", n.do("gather", flat, n.data(np.array(taken, np.int64)), axis=2), axis=3)
    first = np.arange(len(taken), dtype=np.int64) * len(taken[0])
    inner = n.do("gather", n.data(np.ravel(origin).astype(np.int64)), n.do("add", best, n.data(first)))
    outer = np.arange(np.prod(x.shape[:2]), dtype=np.int64).reshape(*x.shape[:2], 1) * int(np.prod(sizes))
    shape = list(x.shape[:2]) + [len(p) for p in places]
    return n.do("reshape", n.do("add", inner, n.data(outer)), shape=shape)


def max_unpool(n):
    """Elements written back to where they were maxima; all others are 0."""
    kernel, stride = spatial(n, "kernel_shape", 1), spatial(n, "strides", 1)
    pads = n.get("pads") or [0] * (2 * len(kernel))
    sizes = [(s - 1) * by + k - pads[a] - pads[a + len(kernel)]
             for a, (s, by, k) in enumerate(zip(n[0].shape[2:], stride, kernel))]
    shape = list(n[0].shape[:2]) + sizes
    zeros = n.do("full", shape=[int(np.prod(shape))], value=0, dtype=n[0].dtype)
    elements, places = (n.do("reshape", n[k], shape=[-1]) for k in (0, 1))
    flat = n.do("scatter", zeros, places, elements, axis=0)
    y = n.do("reshape", flat, shape=shape)
    wanted = shape if n[2] is None else [int(s) for s in n.known(2)]
    return n.do("pad", y, pads=[[0, w - s] for w, s in zip(wanted, shape)])


def average_pool(n):
    kernel, stride, _, pairs = pooled_windows(n)
    count = bool(n.get("count_include_pad", 0))
    if all(2 * max(p) <= k for p, k in zip(pairs, kernel)):
        return n.do("avg_pool", n[0], kernel=kernel, stride=stride, padding=pairs, count_pads=count)
    def padded(x):
        return n.do("avg_pool", n.do("pad", x, pads=[[0, 0], [0, 0]] + pairs), kernel=kernel, stride=stride)
    mean = padded(n[0])
    return mean if count else n.do("div", mean, padded(full_like(n, n[0], 1)))


def over_all(name):
    def translate(n):
        return n.do(name, n[0], axes=list(range(2, n[0].rank)), keepdims=True)
    return translate


# Resizing; new is old * scale, before it is rounded down to a size: the place in the source of each result,
# then the indices that it is computed from and their weights.
COORDINATES = {
    "half_pixel": lambda i, scale, old, new: (i + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda i, scale, old, new: (i + 0.5) / scale - 0.5 if new > 1 else 0.0 * i,
    "align_corners": lambda i, scale, old, new: i * (old - 1) / (new - 1) if new > 1 else 0.0 * i,
    "asymmetric": lambda i, scale, old, new: i / scale,
    "tf_half_pixel_for_nn": lambda i, scale, old, new: (i + 0.5) / scale,
}
NEAREST = {
    "round_prefer_floor": lambda p: np.ceil(p - 0.5), "round_prefer_ceil": lambda p: np.floor(p + 0.5),
    "floor": np.floor, "ceil": np.ceil,
}


def cubic_weight(distance, a):
    d = np.abs(distance)
    near = (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1
    far = a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def interpolation(n, place, size):
    """A matrix [results, size]: the weights of an axis' elements in each result."""
    mode = n.get("mode", "nearest")
    if mode == "nearest":
        offsets = [0]
        base = NEAREST[n.get("nearest_mode", "round_prefer_floor")](place)
    else:
        offsets = [0, 1] if mode == "linear" else [-1, 0, 1, 2]
        base = np.floor(place)
    matrix = np.zeros((len(place), size))
    for offset in offsets:
        at = base + offset
        if mode == "nearest":
            weight = np.ones(len(place))
        elif mode == "linear":
            weight = 1 - np.abs(place - at)
        else:
            weight = cubic_weight(place - at, n.get("cubic_coeff_a", -0.75))
        if n.get("exclude_outside", 0):
            weight = np.where((at < 0) | (at >= size), 0.0, weight)
        np.add.at(matrix, (np.arange(len(place)), np.clip(at, 0, size - 1).astype(int)), weight)
    return matrix / matrix.sum(axis=1, keepdims=True) if n.get("exclude_outside", 0) else matrix


def resize(n):
    """Axis by axis, a product with the matrix of weights; a gather where each result is one element."""
    x, how = n[0], n.get("coordinate_transformation_mode", "half_pixel")
    if n.op == "Upsample":
        scales, sizes, how = n.known(1), None, "asymmetric"
        n.attributes["nearest_mode"] = "floor"
    else:
        scales, sizes = n.known(2), n.known(3)
    if how not in COORDINATES:
        raise Uncovered(f"resizing as {how} has it")
    for axis, old in enumerate(n[0].shape):
        new = int(sizes[axis]) if sizes is not None else int(math.floor(old * scales[axis]))
        scale = new / old if sizes is not None else float(scales[axis])
        if new == old and scale == 1:
            continue
        place = COORDINATES[how](np.arange(new, dtype=np.float64), scale, old, old * scale)
        weights = interpolation(n, place, old)
        if np.all((weights == 0) | (weights == 1)):
            x = n.do("gather", x, n.data(weights.argmax(axis=1).astype(np.int64)), axis=axis)
        else:
            moved = n.do("moveaxis", x, source=axis, destination=-1)
            moved = n.do("matmul", moved, n.data(weights.T.astype(np.float32)))
            x = n.do("moveaxis", moved, source=-1, destination=axis)
    return x


TABLE = {
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool, "MaxUnpool": max_unpool,
    "AveragePool": average_pool,
    "GlobalMaxPool": over_all("max"), "GlobalAveragePool": over_all("mean"),
    "Resize": resize, "Upsample": resize,
}
