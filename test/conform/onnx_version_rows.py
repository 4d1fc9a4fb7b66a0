"""Operators of ONNX whose meaning depends on the operator set: inputs, attributes and what NumPy makes of them.

Results are computed from the text of each version (docs/Changelog.md of onnx), not from another version's.
"""
import numpy as np

import onnx_region_rows
from onnx_row import RNG, Row, draw, families, ints

# Operators whose inputs are no tensors: the node tests have them.
REFUSED = {"OptionalHasElement"}


def floats(*values):
    return np.array(values, np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def hot(x, axis):
    at = np.expand_dims(x.argmax(axis), axis)
    return (np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]) == at).astype(x.dtype)


def flattened(function, x, axis):
    """Of the matrix that x is when its axes before `axis` and those from it on are merged."""
    return function(x.reshape(int(np.prod(x.shape[:axis])), -1), 1).reshape(x.shape)


def distributions():
    x = draw(2, 3, 4)
    kinds = {"Softmax": softmax, "LogSoftmax": lambda x, axis: np.log(softmax(x, axis)), "Hardmax": hot}
    for name, function in kinds.items():
        yield Row(name, (7, 11, 12), [x], [flattened(function, x, 1)])
        yield Row(name, (7, 11), [x], [flattened(function, x, 2)], axis=2)
        yield Row(name, (13, 18), [x], [function(x, 2)])
        yield Row(name, (13,), [x], [function(x, 1)], axis=1)


def norms():
    x, scale, bias = draw(2, 3, 4), draw(3), draw(3)
    mean, var = draw(3), np.abs(draw(3)) + 1

    def normal(x, mean, var, scale=scale, bias=bias, lead=(-1, 1)):
        shape = (-1,) if not lead else lead
        m, v, s, b = (a.reshape(shape) if lead else a for a in (mean, var, scale, bias))
        return ((x - m) / np.sqrt(v + np.float32(1e-5)) * s + b).astype(np.float32)

    given = [x, scale, bias, mean, var]
    yield Row("BatchNormalization", (7, 9, 13, 14, 15), given, [normal(x, mean, var)])
    yield Row("BatchNormalization", (7,), given, [normal(x, mean, var)], spatial=1)
    many = [draw(3, 4), draw(3, 4), draw(3, 4), np.abs(draw(3, 4)) + 1]
    yield Row("BatchNormalization", (7, 8), [x, *many], [normal(x, many[2], many[3], many[0], many[1], None)],
              peer=False, spatial=0)
    own_mean, own_var = x.mean((0, 2)), x.var((0, 2))
    blended = [(0.9 * old + 0.1 * new).astype(np.float32) for old, new in ((mean, own_mean), (var, own_var))]
    trained = normal(x, own_mean, own_var)
    yield Row("BatchNormalization", (14, 15), given, [trained, *blended], training_mode=1)
    yield Row("BatchNormalization", (7, 9), given, [trained, *blended, own_mean, own_var], peer=False)
    x, scale, bias = draw(2, 4, 3), draw(2), draw(2)
    groups = x.reshape(2, 2, 2, 3)
    y = (groups - groups.mean((2, 3), keepdims=True)) / np.sqrt(groups.var((2, 3), keepdims=True) + 1e-5)
    each = (y * scale[:, None, None] + bias[:, None, None]).reshape(x.shape).astype(np.float32)
    yield Row("GroupNormalization", (18, 20), [x, scale, bias], [each], peer=False, num_groups=2)
    scale, bias = draw(4), draw(4)
    channels = (y.reshape(x.shape) * scale[:, None] + bias[:, None]).astype(np.float32)
    yield Row("GroupNormalization", (21,), [x, scale, bias], [channels], num_groups=2)


def shapes():
    x = draw(2, 1, 3, 1)
    yield Row("Squeeze", (7, 11), [x], [x[:, 0, :, 0]], axes=[1, 3])
    yield Row("Squeeze", (13, 21), [x, ints(1, -1)], [x[:, 0, :, 0]], constants=(1,))
    yield Row("Unsqueeze", (7, 11), [draw(2)[:0]], [np.zeros((1, 0, 1), np.float32)], axes=[0, 2])
    yield Row("Unsqueeze", (13, 21), [x, ints(0, -1)], [x[None, ..., None]], constants=(1,))
    x = draw(7, 4)
    parts = [x[:3], x[3:7]]
    yield Row("Split", (7, 11), [x], parts, axis=0, split=[3, 4])
    yield Row("Split", (13, 18), [x, ints(3, 4)], parts, constants=(1,), axis=0)
    yield Row("Split", (7, 11, 13), [x], [x[:, :2], x[:, 2:]], axis=1)
    yield Row("Split", (18,), [x], [x[:4], x[4:]], axis=0, num_outputs=2)
    yield Row("Slice", (7, 9), [x], [x[1:5, :-1]], starts=[1, 0], ends=[5, -1])
    yield Row("Slice", (9,), [x], [x[:, 1:3]], axes=[1], starts=[1], ends=[3])
    yield Row("Slice", (10, 13), [x, ints(5, 0), ints(0, 4), ints(0, 1), ints(-2, 3)], [x[5:0:-2, 0:4:3]],
              constants=(1, 2, 3, 4))
    yield Row("Reshape", (7, 13), [x, ints(0, 2, -1)], [x.reshape(7, 2, 2)], constants=(1,))
    yield Row("Reshape", (14,), [x[:0], ints(2, 0)], [x[:0].reshape(2, 0)], constants=(1,), allowzero=1)
    yield Row("Shape", (7, 13), [x], [ints(7, 4)])
    yield Row("Shape", (15, 21), [x], [ints(4)], start=-1)
    yield Row("Shape", (15,), [x], [ints(7)], end=-1)
    blocks = draw(1, 8, 1, 1)
    yield Row("DepthToSpace", (7, 11), [blocks], [blocks.reshape(1, 2, 2, 2).transpose(0, 3, 1, 2)], blocksize=2)
    yield Row("DepthToSpace", (11, 13), [blocks], [blocks.reshape(1, 2, 2, 2)], blocksize=2, mode="CRD")
    yield Row("SpaceToDepth", (7, 13), [blocks.reshape(1, 2, 2, 2)],
              [blocks.reshape(1, 2, 2, 2).transpose(0, 2, 3, 1).reshape(1, 8, 1, 1)], blocksize=2)
    yield Row("SpaceToDepth", (28,), [blocks.reshape(1, 2, 2, 2)], [blocks], peer=False, blocksize=2, mode="CRD")
    padded = np.pad(x, ((1, 0), (0, 2)), constant_values=1.5)
    yield Row("Pad", (7, 10), [x], [padded], pads=[1, 0, 0, 2], value=1.5)
    yield Row("Pad", (11, 13), [x, ints(1, 0, 0, 2), np.float32(1.5)], [padded], constants=(1, 2))
    yield Row("Pad", (18,), [x, ints(0, 2), None, ints(1)], [np.pad(x, ((0, 0), (0, 2)))], constants=(1, 3))
    yield Row("Identity", (7, 13, 14), [x], [x])
    yield Row("Range", (11,), [ints(1).reshape(()), ints(6).reshape(()), ints(2).reshape(())], [ints(1, 3, 5)],
              constants=(0, 1, 2))
    yield Row("Range", (27,), [ints(1).reshape(()), ints(6).reshape(()), ints(2).reshape(())], [ints(1, 3, 5)],
              constants=(0, 1, 2), peer=False)


def reductions():
    x = np.abs(draw(2, 3, 4)) + np.float32(0.1)
    kinds = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod,
             "ReduceL1": lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims),
             "ReduceL2": lambda x, axis, keepdims: np.sqrt((x * x).sum(axis, keepdims=keepdims)),
             "ReduceLogSum": lambda x, axis, keepdims: np.log(x.sum(axis, keepdims=keepdims)),
             "ReduceLogSumExp": lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims)),
             "ReduceSumSquare": lambda x, axis, keepdims: (x * x).sum(axis, keepdims=keepdims)}
    for name, function in kinds.items():
        moved = 13 if name == "ReduceSum" else 18
        yield Row(name, (7, 11, moved - 1), [x], [function(x, axis=1, keepdims=False)], axes=[1], keepdims=0)
        yield Row(name, (moved, 20), [x, ints(-1)], [function(x, axis=2, keepdims=True)], constants=(1,))
        yield Row(name, (7, moved), [x], [function(x, axis=None, keepdims=True)])
    yield Row("ReduceSum", (13,), [x, ints()], [x], constants=(1,), noop_with_empty_axes=1)
    x = np.array([[3, 1, 3], [2, 2, 1]], np.float32)
    for name, sign in (("ArgMax", 1), ("ArgMin", -1)):
        first, last = (sign * x).argmax(1), 2 - (sign * x)[:, ::-1].argmax(1)
        yield Row(name, (7, 11, 12), [x], [first[:, None]], axis=1)
        yield Row(name, (12, 13), [x], [last], axis=1, keepdims=0, select_last_index=1)


def pools():
    x = draw(1, 1, 5)
    pairs = np.stack([x[..., :-1], x[..., 1:]])
    yield Row("MaxPool", (7, 8, 10), [x], [pairs.max(0)], kernel_shape=[2])
    yield Row("MaxPool", (8, 12), [x], [pairs.max(0), np.arange(4) + pairs.argmax(0)], kernel_shape=[2])
    expected = np.stack([x[0, 0, 0:2].max(), x[0, 0, 2:4].max(), x[0, 0, 4]]).reshape(1, 1, 3)
    yield Row("MaxPool", (10, 11), [x], [expected], kernel_shape=[2], strides=[2], ceil_mode=1)
    far = np.stack([x[..., :-2], x[..., 2:]])
    yield Row("MaxPool", (10,), [x], [far.max(0)], kernel_shape=[2], dilations=[2])
    yield Row("AveragePool", (7, 10, 19), [x], [pairs.mean(0)], kernel_shape=[2])
    expected = np.stack([x[0, 0, 0:2].mean(), x[0, 0, 2:4].mean(), x[0, 0, 4]]).reshape(1, 1, 3)
    yield Row("AveragePool", (10, 11, 19), [x], [expected], kernel_shape=[2], strides=[2], ceil_mode=1)
    yield Row("AveragePool", (19,), [x], [far.mean(0)], kernel_shape=[2], dilations=[2])
    edge = np.concatenate([x[..., :1] / 2, pairs.mean(0)], 2)
    yield Row("AveragePool", (7, 11), [x], [edge], kernel_shape=[2], pads=[1, 0], count_include_pad=1)
    yield Row("LpPool", (7, 11, 18), [x], [np.sqrt((pairs * pairs).sum(0))], kernel_shape=[2])
    yield Row("LpPool", (18,), [x], [np.sqrt((far * far).sum(0))], kernel_shape=[2], dilations=[2])
    expected = np.sqrt(np.stack([(x[0, 0, i:i + 2] ** 2).sum() for i in (0, 2, 4)])).reshape(1, 1, 3)
    yield Row("LpPool", (18,), [x], [expected], kernel_shape=[2], strides=[2], ceil_mode=1)


def resizing():
    x = floats(1, 2, 4, 8).reshape(1, 1, 4)
    twice = floats(1, 1.5, 2, 3, 4, 6, 8, 8).reshape(1, 1, 8)
    scales = floats(1, 1, 2)
    yield Row("Upsample", (7, 8), [x], [np.repeat(x, 2, 2)], scales=[1.0, 1.0, 2.0], mode="nearest")
    yield Row("Upsample", (9,), [x, scales], [np.repeat(x, 2, 2)], constants=(1,), mode="nearest")
    image = x.reshape(1, 1, 1, 4)
    yield Row("Upsample", (7,), [image], [twice.reshape(1, 1, 1, 8)], scales=[1.0, 1.0, 1.0, 2.0], mode="linear")
    yield Row("Upsample", (9,), [image, floats(1, 1, 1, 2)], [twice.reshape(1, 1, 1, 8)], constants=(1,), mode="linear")
    yield Row("Resize", (10,), [image, floats(1, 1, 1, 2)], [twice.reshape(1, 1, 1, 8)], constants=(1,), mode="linear")
    yield Row("Resize", (10,), [x, floats(1, 1, 0.75)], [floats(1, 4, 8).reshape(1, 1, 3)], constants=(1,), mode="nearest")
    halves = floats(1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8).reshape(1, 1, 8)
    yield Row("Resize", (11, 13, 18), [x, floats(), scales], [halves], constants=(1, 2), mode="linear")
    yield Row("Resize", (11, 13), [x, floats(), floats(), ints(1, 1, 8)], [halves], constants=(1, 2, 3), mode="linear")
    yield Row("Resize", (13, 18), [x, None, scales], [twice], constants=(2,), mode="linear",
              coordinate_transformation_mode="asymmetric")
    yield Row("Resize", (18, 19), [x, None, None, ints(8)], [halves], constants=(3,), mode="linear", axes=[2])


def quantising():
    x = floats(-3, 0, 1.5, 900).reshape(2, 2)
    scale, zero = np.float32(2), np.uint8(3)
    y = np.clip(np.rint(x / 2) + 3, 0, 255).astype(np.uint8)
    yield Row("QuantizeLinear", (10, 13, 19, 21, 23), [x, scale, zero], [y])
    yield Row("DequantizeLinear", (10, 13, 19, 21, 23), [y, scale, zero], [((y.astype(np.float32) - 3) * 2)])
    each, none = floats(2, 4), np.array([1, 2], np.uint8)
    rows = np.clip(np.rint(x / each[:, None]) + none[:, None], 0, 255).astype(np.uint8)
    yield Row("QuantizeLinear", (13, 19), [x, each, none], [rows], axis=0)
    yield Row("DequantizeLinear", (13, 19), [rows, each, none],
              [(rows.astype(np.float32) - none[:, None]) * each[:, None]], axis=0)
    half = np.float16(2)
    yield Row("DequantizeLinear", (19,), [y, half, zero], [((y.astype(np.float16) - 3) * 2).astype(np.float16)])
    yield Row("DequantizeLinear", (23,), [y, scale, zero], [((y.astype(np.float32) - 3) * 2).astype(np.float16)],
              peer=False, output_dtype=10)
    blocks, wide = floats(2, 4).reshape(2, 1), np.array([[1], [2]], np.uint8)
    yield Row("QuantizeLinear", (21, 23), [x, blocks, wide], [rows], axis=1, block_size=2)
    yield Row("DequantizeLinear", (21,), [rows, blocks, wide],
              [(rows.astype(np.float32) - none[:, None]) * each[:, None]], axis=1, block_size=2)
    yield Row("QuantizeLinear", (21,), [x, scale], [np.clip(np.rint(x / 2), -128, 127).astype(np.int8)], output_dtype=3)


def indexing():
    x = floats(3, 1, 4, 1, 5).reshape(1, 5)
    yield Row("TopK", (7, 9), [x], [floats(5, 4).reshape(1, 2), ints(4, 2).reshape(1, 2)], k=2)
    yield Row("TopK", (10, 11), [x, ints(2)], [floats(5, 4).reshape(1, 2), ints(4, 2).reshape(1, 2)], constants=(1,))
    yield Row("TopK", (11, 24), [x, ints(2)], [floats(1, 1).reshape(1, 2), ints(1, 3).reshape(1, 2)], constants=(1,),
              peer=False, largest=0)
    at, values = ints(1, -1, 3), floats(0, 2)
    off = np.zeros((3, 3), np.float32)
    off[0, 1] = 2
    wrapped = off.copy()
    wrapped[1, 2] = 2
    yield Row("OneHot", (9, 10), [at, ints(3), values], [off], constants=(1,), peer=False)
    yield Row("OneHot", (11,), [at, ints(3), values], [wrapped], constants=(1,))
    data, places = draw(2, 3), ints(0, 1).reshape(2, 1)
    yield Row("GatherND", (11, 12), [data, ints(0, 2, 1, 0).reshape(2, 2)], [floats(data[0, 2], data[1, 0])])
    yield Row("GatherND", (12, 13), [data, places], [floats(data[0, 0], data[1, 1])], batch_dims=1)
    zeros, two = np.zeros((2, 3), np.float32), np.ones((2, 1), np.float32)
    yield Row("ScatterElements", (11, 13), [zeros, places, two], [floats(1, 0, 0, 0, 1, 0).reshape(2, 3)], axis=1)
    yield Row("ScatterND", (11, 13), [zeros, places, data], [data])
    twice = ints(0, 0).reshape(1, 2)
    ones = np.ones((1, 2), np.float32)
    yield Row("ScatterElements", (16,), [zeros, twice, ones], [floats(2, 0, 0, 0, 0, 0).reshape(2, 3)], axis=1, reduction="add")
    for name, function, opset in (("mul", np.multiply, 16), ("max", np.maximum, 18), ("min", np.minimum, 18)):
        whole, many, few = draw(3, 4), RNG.integers(-4, 4, (3, 6)), RNG.integers(-4, 4, (2, 3))
        for at, axis in ((many, 1), (few[:, :2], 1)):
            new, y = draw(*at.shape), whole.copy()
            function.at(y, (np.arange(len(at))[:, None], at), new)
            yield Row("ScatterElements", (opset,), [whole, at, new], [y], axis=axis, reduction=name)
        rows_of, new, y = RNG.integers(-3, 3, (5, 1)), draw(5, 4), whole.copy()
        function.at(y, rows_of[:, 0], new)
        yield Row("ScatterND", (opset,), [whole, rows_of, new], [y], reduction=name)
        points, new, y = np.stack([RNG.integers(0, 3, 7), RNG.integers(0, 4, 7)], -1), draw(7), whole.copy()
        function.at(y, tuple(points.T), new)
        yield Row("ScatterND", (opset,), [whole, points, new], [y], reduction=name)
        whole, at = draw(2, 100), RNG.integers(-100, 100, (2, 37))  # so many that extrema are sorted by index
        new, y = draw(*at.shape), whole.copy()
        function.at(y, (np.arange(2)[:, None], at), new)
        yield Row("ScatterElements", (opset,), [whole, at, new], [y], axis=1, reduction=name)
        at, new = np.concatenate([at, [[-101, 100]] * 2], 1), np.pad(new, [(0, 0), (0, 2)], constant_values=9 if name == "max" else -9)
        yield Row("ScatterElements", (opset,), [whole, at, new], [y], axis=1, reduction=name, peer=False)  # out of range: skipped
        whole, rows_of, new = draw(100, 3), RNG.integers(-9, 9, (40, 1)), draw(40, 3)
        new[7, 1], new[8, 1], y = np.nan, np.inf, whole.copy()
        function.at(y, rows_of[:, 0], new)
        yield Row("ScatterND", (opset,), [whole, rows_of, new], [y], reduction=name, peer=False)
    yield Row("ScatterND", (16,), [zeros, ints(0, 0).reshape(2, 1), data], [np.stack([data.sum(0), zeros[0]])], reduction="add")


def elements():
    x = draw(2, 3)
    yield Row("Clip", (7, 10), [x], [np.clip(x, -0.5, 0.5)], min=-0.5, max=0.5)
    yield Row("Clip", (7,), [x], [x])
    yield Row("Clip", (11, 12, 13), [x, None, np.float32(0.5)], [np.minimum(x, np.float32(0.5))])
    yield Row("Dropout", (7, 9), [x], [x, np.ones_like(x)], peer=False)
    yield Row("Dropout", (10,), [x], [x, np.ones(x.shape, bool)], peer=False, ratio=0.3)
    yield Row("Dropout", (12, 13, 22), [x, np.float32(0.3)], [x, np.ones(x.shape, bool)])
    yield Row("Cast", (7, 9, 13, 19, 21, 23, 24), [x], [x.astype(np.int32)], to=6)
    yield Row("CastLike", (15, 19, 23, 24), [x, ints(1)], [x.astype(np.int64)], peer=False)
    yield Row("Gemm", (7, 9, 11), [x, x, draw(1) * 0], [x @ x.T], transB=1)
    yield Row("Gemm", (11, 13), [x, x], [x @ x.T], transB=1)
    a, b = floats(2, 3), np.array([2, 3], np.int32)
    yield Row("Pow", (12, 13), [a, b], [floats(4, 27)])
    ends = floats(-2, -0.0, 0, 3, np.inf, -np.inf, np.nan)
    for exponent in (np.float32(2), np.float32(3), np.int64(3), np.float32(4)):
        yield Row("Pow", (12, 13), [ends, exponent], [ends ** np.float32(exponent)], constants=(1,))
    yield Row("PRelu", (7, 9), [x, np.full((3,), 0.5, np.float32)], [np.where(x < 0, x / 2, x)])
    yield Row("Flatten", (9, 11), [draw(2, 1, 3)[:, :, :0]], [np.zeros((2, 0), np.float32)])
    spectrum = np.fft.fft(x, axis=1)
    pairs = np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)
    yield Row("DFT", (17,), [x[..., None]], [pairs], axis=1)
    yield Row("DFT", (20,), [x[..., None], None, ints(1).reshape(())], [pairs], constants=(2,))
    for opset, attributes in ((9, {}), (11, {}), (13, {})):
        yield Row("Constant", (opset,), [], [floats(1, 2)], peer=False, value=tensor(floats(1, 2)), **attributes)
    yield Row("Constant", (12, 13), [], [floats(1, 2)], value_floats=[1.0, 2.0])


def tensor(array):
    from onnx import numpy_helper
    return numpy_helper.from_array(array, "value")


def recurrent():
    """Of one step, a hidden size of 1 and weights of 1: tanh(x + h), with layout 1 the batch first."""
    x, one = draw(1, 2, 1), np.ones((1, 1, 1), np.float32)
    h = np.tanh(x)
    yield Row("RNN", (7, 14), [x, one, one], [h[:, None], h], hidden_size=1)
    yield Row("RNN", (14,), [x.reshape(2, 1, 1), one, one], [h.reshape(2, 1, 1, 1), h.reshape(2, 1, 1)], hidden_size=1,
              peer=False, layout=1)
    sigma = 1 / (1 + np.exp(-x))
    three, four = np.ones((1, 3, 1), np.float32), np.ones((1, 4, 1), np.float32)
    gru, cell = ((1 - sigma) * h).astype(np.float32), (sigma * h).astype(np.float32)
    lstm = (sigma * np.tanh(cell)).astype(np.float32)
    yield Row("GRU", (7, 14), [x, three, three], [gru[:, None], gru], hidden_size=1)
    yield Row("GRU", (14,), [x.reshape(2, 1, 1), three, three], [gru.reshape(2, 1, 1, 1), gru.reshape(2, 1, 1)],
              hidden_size=1, peer=False, layout=1)
    yield Row("LSTM", (7, 14), [x, four, four], [lstm[:, None], lstm, cell], hidden_size=1)
    yield Row("LSTM", (14,), [x.reshape(2, 1, 1), four, four], [lstm.reshape(2, 1, 1, 1), lstm.reshape(2, 1, 1)],
              hidden_size=1, peer=False, layout=1)


def activations():
    """An RNN of one step: the activation of x."""
    x, one, none = 2 * draw(1, 4, 1), np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
    kinds = {"Relu": (lambda x: np.maximum(x, 0), [], []), "Affine": (lambda x: 0.5 * x + 0.25, [0.5], [0.25]),
             "LeakyRelu": (lambda x: np.where(x < 0, 0.25 * x, x), [0.25], []),
             "ThresholdedRelu": (lambda x: np.where(x >= 0.5, x, 0), [0.5], []),
             "ScaledTanh": (lambda x: 2 * np.tanh(0.5 * x), [2.0], [0.5]),
             "HardSigmoid": (lambda x: np.clip(0.25 * x + 0.5, 0, 1), [0.25], [0.5]),
             "Elu": (lambda x: np.where(x < 0, 2 * np.expm1(x), x), [2.0], []),
             "Softsign": (lambda x: x / (1 + np.abs(x)), [], []), "Softplus": (lambda x: np.log1p(np.exp(x)), [], [])}
    for name, (function, alpha, beta) in kinds.items():
        y = function(x).astype(np.float32)
        given = {k: v for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v}
        yield Row("RNN", (7, 14), [x, one, none], [y[:, None], y], hidden_size=1, activations=[name], **given)
    sigma, h = 1 / (1 + np.exp(-x)), np.where(x < 0, 0.25 * x, x)
    y = ((1 - sigma) * h).astype(np.float32)
    yield Row("GRU", (14,), [x, np.ones((1, 3, 1), np.float32), np.zeros((1, 3, 1), np.float32)], [y[:, None], y],
              hidden_size=1, activations=["Sigmoid", "LeakyRelu"], activation_alpha=[0.25])


def loops():
    """Sums so far: s' = s + x, from the end where a direction is 1."""
    from onnx import helper
    ports = [helper.make_tensor_value_info(name, 1, [2]) for name in ("s", "x", "t", "y")]
    body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["y"])],
                             "sums", ports[:2], ports[2:])
    first, x = draw(3, 2), draw(3, 4, 2)
    for back, ahead in ((0, x), (1, x[:, ::-1])):
        sums = first[:, None] + np.cumsum(ahead, 1)
        yield Row("Scan", (8,), [None, first, x], [sums[:, -1], sums], body=body, num_scan_inputs=1, directions=[back])
        yield Row("Scan", (9, 11, 16), [first[0], x[0]], [sums[0, -1], sums[0]], body=body, num_scan_inputs=1,
                  scan_input_directions=[back])
    yield Row("Scan", (9, 16), [first[0], x[0].T.copy()], [first[0] + x[0].sum(0), (first[0] + np.cumsum(x[0], 0)).T],
              body=body, num_scan_inputs=1, scan_input_axes=[-1], scan_output_axes=[1])


def attending():
    q, k, v = draw(1, 1, 2, 4), draw(1, 1, 3, 4), draw(1, 1, 3, 4)
    scores = q @ k.transpose(0, 1, 3, 2) / 2

    def masked(allowed):
        return (softmax(np.where(allowed, scores, -np.inf), -1) @ v).astype(np.float32)

    row, column = np.indices((2, 3))
    yield Row("Attention", (23, 24, 25), [q, k, v], [masked(row >= 0)], peer=False)
    yield Row("Attention", (23,), [q, k, v], [masked(column <= row)], peer=False, is_causal=1)
    yield Row("Attention", (24,), [q, k, v, None, None, None, ints(2)], [masked(column < 2)], peer=False)
    yield Row("Attention", (25,), [q, k, v], [masked(column >= row - 1)], peer=False, left_window_size=1)


def rows():
    yield from families(distributions, norms, shapes, reductions, pools, resizing, quantising, indexing, elements,
                        recurrent, activations, loops, attending)
    yield from onnx_region_rows.rows()
