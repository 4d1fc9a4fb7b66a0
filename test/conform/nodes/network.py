"""Quantised operators, recurrent networks, optimisers and windows of signals: compositions of many
operations."""
import math

import numpy as np

from binding import NUMPY
from nodes import window
from nodes.node import Uncovered
from nodes.shapes import reshape


def along_axis(n, value, x, axis):
    """A scale or zero point for each element of an axis, reshaped so that it broadcasts."""
    return value if value.rank == 0 or value.shape == (1,) else \
        reshape(n, value, [-1 if k == axis else 1 for k in range(x.rank)])


LIMITS = {"u8": (0, 255), "i8": (-128, 127)}


def saturated(n, x, zero):
    """Rounded to nearest even, with the zero point added, saturated to its dtype."""
    low, high = LIMITS[zero.dtype]
    x = n.do("add", n.do("round", x), n.like(zero, "f32"))
    return n.do("cast", n.do("minimum", n.do("maximum", x, float(low)), float(high)), dtype=zero.dtype)


def zero_point(n, number):
    return n[number] if n[number] is not None else n.do("const", value=0, dtype="u8")


def quantize(n):
    axis, zero = n.axis(1), zero_point(n, 2)
    return saturated(n, n.do("div", n[0], along_axis(n, n[1], n[0], axis)), along_axis(n, zero, n[0], axis))


def dequantize(n):
    axis, zero = n.axis(1), zero_point(n, 2)
    moved = n.do("sub", n.like(n[0], "f32"), n.like(along_axis(n, zero, n[0], axis), "f32"))
    return n.do("mul", moved, along_axis(n, n[1], n[0], axis))


def dynamic_quantize(n):
    """Scale and zero point from the least and the greatest element, 0 included."""
    low = n.do("minimum", n.do("min", n[0]), 0.0)
    scale = n.do("div", n.do("sub", n.do("maximum", n.do("max", n[0]), 0.0), low), 255.0)
    zero = n.do("round", n.do("minimum", n.do("maximum", n.do("div", n.do("neg", low), scale), 0.0), 255.0))
    zero = n.do("cast", zero, dtype="u8")
    return [saturated(n, n.do("div", n[0], scale), zero), scale, zero]


def centred(n, x, zero):
    x = n.like(x, "i32")
    return x if zero is None else n.do("sub", x, n.like(zero, "i32"))


def matmul_integer(n):
    zero_a = n[2]
    if zero_a is not None and zero_a.rank == 1 and zero_a.shape[0] > 1:
        zero_a = n.do("unsqueeze", zero_a, axis=1)
    return n.do("matmul", centred(n, n[0], zero_a), centred(n, n[1], n[3]))


def conv_integer(n):
    n.inputs = [centred(n, n[0], n[2]), centred(n, n[1], n[3])]
    return window.conv(n)


def requantized(n, y, scales, zero):
    """Integers whose scale is the product of two scales, converted to the result's scale."""
    factor = n.do("div", n.do("mul", scales[0], scales[1]), scales[2])
    return saturated(n, n.do("mul", n.like(y, "f32"), factor), zero)


def quantized_matmul(n):
    y = n.do("matmul", centred(n, n[0], n[2]), centred(n, n[3], n[5]))
    return requantized(n, y, (n[1], n[4], n[6]), n[7])


def quantized_conv(n):
    x, scales, zero = list(n.inputs), (n[1], n[4], n[6]), n[7]
    n.inputs = [centred(n, x[0], x[2]), centred(n, x[3], x[5])]
    return requantized(n, window.conv(n), scales, zero)


# Recurrent networks, unrolled over time. Gates lie one after another in W, R and B. Results have an axis of
# directions: [time, 1, batch, size], or [batch, time, 1, size].
def recurrent(gates, step, states):
    def translate(n):
        if n[4] is not None and any(int(v) != time_steps(n) for v in n.known(4)):
            raise Uncovered("sequences of different lengths")
        if n.get("direction", "forward") != "forward" or n.get("activations") or n.get("clip"):
            raise Uncovered("recurrent networks with options")
        batch_first, size = n.get("layout", 0), n.get("hidden_size")
        x = n.do("swap_axes", n[0], axis1=0, axis2=1) if batch_first else n[0]
        w, r = (n.do("point", n[k], index=0, axis=0) for k in (1, 2))
        bias = None if n[3] is None else n.do("point", n[3], index=0, axis=0)
        batch = x.shape[1]
        state = [first_state(n, 5 + k, batch, size, batch_first) for k in range(states)]
        weights = [GateWeights(n, w, r, bias, k, gates, size) for k in range(gates)]
        every = []
        for t in range(x.shape[0]):
            state = step(n, weights, n.do("point", x, index=t, axis=0), state)
            every.append(n.do("unsqueeze", state[0], axis=1 if batch_first else 0))
        whole = n.do("concat", *every, axis=1 if batch_first else 0)
        last = [n.do("unsqueeze", s, axis=1 if batch_first else 0) for s in state]
        return [n.do("unsqueeze", whole, axis=2 if batch_first else 1)] + last
    return translate


def time_steps(n):
    return n[0].shape[1 if n.get("layout", 0) else 0]


def first_state(n, number, batch, size, batch_first):
    if n[number] is None:
        return n.do("zeros", shape=[batch, size])
    return n.do("point", n[number], index=0, axis=1 if batch_first else 0)


class GateWeights:
    """One gate: its rows of W and R, and its two biases."""

    def __init__(self, n, w, r, bias, number, gates, size):
        self.n = n
        def rows(matrix, first):
            bounds = [[first * size, (first + 1) * size]] + [[0, s] for s in matrix.shape[1:]]
            return n.do("shrink", matrix, bounds=bounds)
        self.w, self.r = (n.do("swap_axes", rows(m, number), axis1=0, axis2=1) for m in (w, r))
        self.bw = None if bias is None else rows(bias, number)
        self.br = None if bias is None else rows(bias, gates + number)

    def plus(self, x, bias):
        return x if bias is None else self.n.do("add", x, bias)

    def of_x(self, x):
        return self.plus(self.n.do("matmul", x, self.w), self.bw)

    def of_h(self, h):
        return self.plus(self.n.do("matmul", h, self.r), self.br)

    def both(self, x, h):
        return self.n.do("add", self.of_x(x), self.of_h(h))


def rnn_step(n, weights, x, state):
    return [n.do("tanh", weights[0].both(x, state[0]))]


def gru_step(n, weights, x, state):
    h = state[0]
    update, reset = (n.do("sigmoid", p.both(x, h)) for p in weights[:2])
    if n.get("linear_before_reset", 0):
        inner = n.do("mul", reset, weights[2].of_h(h))
    else:
        inner = weights[2].of_h(n.do("mul", reset, h))
    new = n.do("tanh", n.do("add", weights[2].of_x(x), inner))
    keep = n.do("mul", update, h)
    return [n.do("add", n.do("mul", n.do("sub", 1.0, update), new), keep)]


def lstm_step(n, weights, x, state):
    h, c = state
    gates = [p.both(x, h) for p in weights]  # input, output, forget, cell
    if n[7] is not None:
        peep = n.do("point", n[7], index=0, axis=0)
        size = h.shape[1]
        holes = [n.do("shrink", peep, bounds=[[k * size, (k + 1) * size]]) for k in range(3)]
        gates[0] = n.do("add", gates[0], n.do("mul", holes[0], c))
        gates[2] = n.do("add", gates[2], n.do("mul", holes[2], c))
    i, f = n.do("sigmoid", gates[0]), n.do("sigmoid", gates[2])
    c = n.do("add", n.do("mul", f, c), n.do("mul", i, n.do("tanh", gates[3])))
    if n[7] is not None:
        gates[1] = n.do("add", gates[1], n.do("mul", holes[1], c))
    return [n.do("mul", n.do("sigmoid", gates[1]), n.do("tanh", c)), c]


# Optimisers: inputs are rate, step, then for each tensor its state: gradient, moments and so on.
def optimiser(parts, update):
    def translate(n):
        count = (len(n.inputs) - 2) // parts
        lists = [update(n, *[n[2 + k + p * count] for p in range(parts)]) for k in range(count)]
        return [value for each in zip(*lists) for value in each]
    return translate


def weighed(n, a, factor, b):
    """a * factor + b"""
    return n.do("add", n.do("mul", a, factor), b)


def adagrad(n, x, gradient, squares):
    rate = n.do("div", n[0], 1.0 + float(n.known(1)) * n.get("decay_factor", 0.0))
    gradient = weighed(n, x, n.get("norm_coefficient", 0.0), gradient)
    squares = n.do("add", squares, n.do("mul", gradient, gradient))
    down = n.do("add", n.do("sqrt", squares), n.get("epsilon", 1e-6))
    return n.do("sub", x, n.do("div", n.do("mul", rate, gradient), down)), squares


def adam(n, x, gradient, first, second):
    alpha, beta, t = n.get("alpha", 0.9), n.get("beta", 0.999), float(n.known(1))
    gradient = weighed(n, x, n.get("norm_coefficient", 0.0), gradient)
    first = weighed(n, first, alpha, n.do("mul", gradient, 1 - alpha))
    second = weighed(n, second, beta, n.do("mul", n.do("mul", gradient, gradient), 1 - beta))
    rate = n.do("mul", n[0], math.sqrt(1 - beta ** t) / (1 - alpha ** t) if t > 0 else 1.0)
    down = n.do("add", n.do("sqrt", second), n.get("epsilon", 1e-6))
    new = n.do("sub", x, n.do("div", n.do("mul", rate, first), down))
    return n.do("mul", new, 1.0 - n.get("norm_coefficient_post", 0.0)), first, second


def momentum(n, x, gradient, velocity):
    alpha, beta = n.get("alpha"), n.get("beta") if float(n.known(1)) > 0 else 1.0
    gradient = weighed(n, x, n.get("norm_coefficient", 0.0), gradient)
    velocity = weighed(n, velocity, alpha, n.do("mul", gradient, beta))
    step = velocity if n.get("mode") == "standard" else weighed(n, velocity, alpha, gradient)
    return n.do("sub", x, n.do("mul", n[0], step)), velocity


def cosine_window(*weights):
    """weights[0] - weights[1] cos(2 pi k / N) + weights[2] cos(4 pi k / N) ..."""
    def translate(n):
        size = int(n.known(0))
        k = n.do("arange", stop=size, dtype="f32")
        period = size if n.get("periodic", 1) else size - 1
        y = n.do("full", shape=[size], value=weights[0], dtype="f32")
        for order, weight in enumerate(weights[1:], 1):
            wave = n.do("cos", n.do("mul", k, 2 * math.pi * order / period))
            y = n.do("sub" if order % 2 else "add", y, n.do("mul", wave, weight))
        return y
    return translate


# Transforms: complex numbers are pairs along the last axis, which is 1 where they are real.
def transform(n, x, axis, length, inverse, one_sided):
    """The discrete Fourier transform of an axis, truncated or padded to a length, by its matrix."""
    size, real = x.shape[axis], x.shape[-1] == 1
    pads = [[0, max(0, length - size) if k == axis else 0] for k in range(x.rank)]
    x = n.do("pad", n.do("shrink", x, bounds=[[0, min(s, length) if k == axis else s]
                                              for k, s in enumerate(x.shape)]), pads=pads)
    count = length // 2 + 1 if one_sided else length
    angle = 2 * np.pi * np.outer(np.arange(length), np.arange(count)) / length * (1 if inverse else -1)
    parts = [n.do("moveaxis", n.do("point", x, index=k, axis=-1), source=axis, destination=-1)
             for k in range(1 if real else 2)]
    scale = 1 / length if inverse else 1
    by = [n.data((f(angle) * scale).astype(NUMPY[x.dtype])) for f in (np.cos, np.sin)]
    products = [[n.do("matmul", part, matrix) for matrix in by] for part in parts]
    (a, b), (c, d) = products[0], (None, None) if real else products[1]
    results = [a if real else n.do("sub", a, d), b if real else n.do("add", b, c)]
    return n.do("stack", *[n.do("moveaxis", r, source=-1, destination=axis) for r in results], axis=-1)


def fourier(n):
    axis = n.axis(1)
    length = n[0].shape[axis] if n[1] is None else int(n.known(1))
    return transform(n, n[0], axis, length, bool(n.get("inverse", 0)), bool(n.get("onesided", 0)))


def short_fourier(n):
    """Transforms of frames that begin a step apart, times a window."""
    step, window_of = int(n.known(1)), n[2]
    length = int(n.known(3)) if n[3] is not None else window_of.shape[0]
    batch, samples = n[0].shape[:2]
    frames = [n.do("shrink", n[0], bounds=[[0, batch], [at, at + length], [0, n[0].shape[2]]])
              for at in range(0, samples - length + 1, step)]
    x = n.do("stack", *frames, axis=1)
    if window_of is not None:
        x = n.do("mul", x, reshape(n, window_of, [length, 1]))
    return transform(n, x, 2, length, False, bool(n.get("onesided", 1)))


TABLE = {
    "DFT": fourier, "STFT": short_fourier,
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": matmul_integer, "ConvInteger": conv_integer, "QLinearMatMul": quantized_matmul,
    "QLinearConv": quantized_conv,
    "RNN": recurrent(1, rnn_step, 1), "GRU": recurrent(3, gru_step, 1), "LSTM": recurrent(4, lstm_step, 2),
    "Adagrad": optimiser(3, adagrad), "Adam": optimiser(4, adam), "Momentum": optimiser(3, momentum),
    "HannWindow": cosine_window(0.5, 0.5), "HammingWindow": cosine_window(25 / 46, 21 / 46),
    "BlackmanWindow": cosine_window(0.42, 0.5, 0.08),
}
