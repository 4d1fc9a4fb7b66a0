"""Rows for onnx_versions.py: operators that take elements at places that are data, one element at a time.

A place of f32 among S elements is off by S units of 2^-23 or so, and a result by that times the differences between
neighbours: NEAR.
"""
import itertools
import math

import numpy as np

from onnx_row import RNG, Row, draw, families, ints


NEAR = 2e-5


def reflect(x, low, high):
    """By the nearer border until it is inside."""
    while high > low and not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return min(max(x, low), high)


def cubic(t, a=-0.75):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1
    return a * t ** 3 - 5 * a * t ** 2 + 8 * a * t - 4 * a if t < 2 else 0


def element(image, at, padding, corners):
    for axis, i in enumerate(at):
        size = image.shape[axis]
        if padding == "border":
            at[axis] = min(max(i, 0), size - 1)
        elif padding == "reflection":
            at[axis] = int(reflect(i, 0, size - 1) if corners else reflect(i, -0.5, size - 0.5))
        elif not 0 <= i < size:
            return 0
    return image[tuple(at)]


def sampled(image, place, mode, padding, corners):
    taps = {"nearest": [0], "linear": [0, 1], "cubic": [-1, 0, 1, 2]}[mode]
    for axis, size in enumerate(image.shape):
        low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
        x = place[axis] = float(np.rint(place[axis])) if mode == "nearest" else place[axis]
        if padding == "reflection":
            place[axis] = reflect(x, low, high)
    total = 0
    for offsets in itertools.product(taps, repeat=image.ndim):
        at = [math.floor(x) + offset for x, offset in zip(place, offsets)]
        weight = 1 if mode == "nearest" else math.prod(
            cubic(x - i) if mode == "cubic" else 1 - abs(x - i) for x, i in zip(place, at))
        total += weight * element(image, at, padding, corners)
    return total


def grid_sample(x, grid, mode, padding, corners):
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for at in np.ndindex(*grid.shape[:-1]):
        place = [((g + 1) / 2 * (size - 1)) if corners else ((g + 1) * size - 1) / 2
                 for g, size in zip(grid[at][::-1].astype(float), x.shape[2:])]
        for channel in range(x.shape[1]):
            y[(at[0], channel, *at[1:])] = sampled(x[at[0], channel], list(place), mode, padding, corners)
    return y.astype(np.float32)


def grids():
    for axes, padding, corners in itertools.product((2, 3), ("zeros", "border", "reflection"), (0, 1)):
        x = draw(2, 2, *(3, 4, 2)[:axes])
        grid = (1.7 * draw(2, *(2, 3, 2)[:axes], axes)).astype(np.float32)
        for mode in ("nearest", "linear", "cubic")[:5 - axes]:
            y = [grid_sample(x, grid, mode, padding, corners)]
            yield Row("GridSample", (20, 22), [x, grid], y, near=NEAR, mode=mode, padding_mode=padding,
                      align_corners=corners)
            if axes == 2:
                old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
                yield Row("GridSample", (16,), [x, grid], y, near=NEAR, mode=old, padding_mode=padding,
                          align_corners=corners)
    yield Row("GridSample", (16, 20), [x, grid], [grid_sample(x, grid, "linear", "zeros", 0)], peer=False, near=NEAR)
    one = draw(1, 1, 1, 3)
    grid = draw(1, 2, 2, 2)
    yield Row("GridSample", (20,), [one, grid], [grid_sample(one, grid, "linear", "reflection", 1)], peer=False,
              mode="linear", padding_mode="reflection", align_corners=1)


def aligned(x, region, bins, ratio, scale, shift, join):
    """One channel of one region."""
    y = np.zeros(bins)
    start = region[[1, 0]] * scale - shift
    length = region[[3, 2]] * scale - shift - start
    length = length if shift else np.maximum(length, 1)
    for at in np.ndindex(*bins):
        found = []
        for point in np.ndindex(ratio, ratio):
            place = start + (np.array(at) + (np.array(point) + 0.5) / ratio) * length / bins
            if ((place < -1) | (place > x.shape)).any():
                found.append([0.0])
                continue
            place = np.clip(place, 0, np.array(x.shape) - 1)
            low = np.floor(place).astype(int)
            part = place - low
            high = np.minimum(low + 1, np.array(x.shape) - 1)
            found.append([x[i, j] * u * v for i, u in ((low[0], 1 - part[0]), (high[0], part[0]))
                          for j, v in ((low[1], 1 - part[1]), (high[1], part[1]))])
        y[at] = np.mean([sum(f) for f in found]) if join == "avg" else max(max(f) for f in found)
    return y


def regions():
    x = draw(2, 2, 5, 6)
    rois = np.array([[0.5, 1, 4, 4.5], [-3, -1, 2, 9], [2, 2, 2.25, 2.5], [20, 20, 30, 30]], np.float32)
    image = ints(0, 1, 1, 0)
    given = {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.75}
    for join, shift in itertools.product(("avg", "max"), (0, 0.5)):
        y = np.stack([np.stack([aligned(x[b, c], roi, (2, 3), 2, 0.75, shift, join) for c in range(2)])
                      for roi, b in zip(rois.astype(float), image)]).astype(np.float32)
        if shift:
            yield Row("RoiAlign", (16, 22), [x, rois, image], [y], peer=join == "avg", near=NEAR, mode=join, **given)
            continue
        yield Row("RoiAlign", (10,), [x, rois, image], [y], peer=join == "avg", near=NEAR, mode=join, **given)
        yield Row("RoiAlign", (16,), [x, rois, image], [y], peer=join == "avg", near=NEAR, mode=join,
                  coordinate_transformation_mode="output_half_pixel", **given)
    boxes = np.array([[0, 1, 1, 4, 3], [1, 0, 0, 5, 4], [0, 4, 3, 2, 2], [1, 9, 9, 9, 9]], np.float32)
    y = np.zeros((4, 2, 2, 2), np.float32)
    for at in np.ndindex(*y.shape):
        batch, *box = boxes[at[0]].astype(int)
        cut = []
        for axis in (0, 1):
            start, end = box[1 - axis], box[3 - axis]
            each = max(end - start + 1, 1) / 2
            edges = [start + math.floor(at[2 + axis] * each), start + math.ceil((at[2 + axis] + 1) * each)]
            cut.append(slice(*np.clip(edges, 0, x.shape[2 + axis])))
        y[at] = x[batch, at[1], cut[0], cut[1]].max(initial=-np.inf)
    yield Row("MaxRoiPool", (7, 22), [x, boxes], [np.where(np.isinf(y), 0, y)], pooled_shape=[2, 2])


def windows():
    x, weight, bias = draw(2, 4, 5, 6), draw(6, 2, 2, 3), draw(6)
    offset, mask = draw(2, 2 * 2 * 6, 3, 2), draw(2, 2 * 6, 3, 2)
    y = np.zeros((2, 6, 3, 2)) + bias[:, None, None]
    for n, o, c, i, j, r, s in np.ndindex(2, 6, 2, 3, 2, 2, 3):
        channel = o // 3 * 2 + c
        k, group = r * 3 + s, channel // 2
        place = [i * 2 - 1 + r + offset[n, group * 12 + 2 * k, i, j], j * 2 + 2 * s + offset[n, group * 12 + 2 * k + 1, i, j]]
        value = sampled(x[n, channel], place, "linear", "zeros", True)
        y[n, o, i, j] += value * mask[n, group * 6 + k, i, j] * weight[o, c, r, s]
    yield Row("DeformConv", (19, 22), [x, weight, offset, bias, mask], [y.astype(np.float32)], peer=False, near=NEAR, group=2,
              offset_group=2, strides=[2, 2], pads=[1, 0, 1, 0], dilations=[1, 2])
    columns = draw(2, 3 * 4, 2 * 3)
    image = np.zeros((2, 3, 6, 5))
    for n, c, r, s, i, j in np.ndindex(2, 3, 2, 2, 2, 3):
        at = (2 * i + 2 * r, j + s)
        image[(n, c, *at)] += columns[n, c * 4 + r * 2 + s, i * 3 + j]
    yield Row("Col2Im", (18,), [columns, ints(4, 4), ints(2, 2)], [image[:, :, 1:5, :4].astype(np.float32)],
              constants=(1, 2), peer=False, strides=[2, 1], dilations=[2, 1], pads=[1, 0, 1, 0])
    theta = RNG.standard_normal((2, 2, 3))
    for corners in (0, 1):
        rows, columns = (np.linspace(-1, 1, k) if corners else (2 * np.arange(k) + 1) / k - 1 for k in (3, 4))
        points = np.stack([*np.meshgrid(columns, rows), np.ones((3, 4))], -1)
        yield Row("AffineGrid", (20,), [theta, ints(2, 1, 3, 4)], [np.einsum("nij,hwj->nhwi", theta, points)],
                  constants=(1,), peer=False, align_corners=corners)


def rows():
    yield from families(grids, regions, windows)
