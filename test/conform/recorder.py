"""Recording through the C API's functions that take callbacks: vmap, control flow and derivatives, for
comparisons with systems that also have them. Values are plain here (binding.Raw); failures are
binding.Refused."""
import ctypes

import numpy as np

from binding import (DTYPES, MOST_RESULTS, NOT_MAPPED, NUMPY, Function, Map, Raw, Refused, Typed, Value,
                     attributes_text, copied, sizes)


def pack(values):
    return (Raw * max(1, len(values)))(*[v or Raw() for v in values])


def run(context, function, arrays, dtype):
    """function(graph, values) -> values, compiled and run on arrays of one float dtype."""
    graph = Graph(context, dtype)
    try:
        inputs = [Typed(np.asarray(a, NUMPY[dtype])) for a in arrays]
        return graph.compute(function(graph, [graph.input(f"x{i}", x) for i, x in enumerate(inputs)]), inputs)
    finally:
        graph.c.vf_graph_destroy(graph.raw)


class Graph:
    def __init__(self, context, dtype):
        self.context, self.c, self.dtype = context, context.c, dtype
        self.raw = context.must(self.c.vf_graph_create, context.raw, b"compared")
        self.raised = None

    def input(self, name, array):
        return self.c.vf_input(self.raw, name.encode(), DTYPES.index(array.dtype), len(array.shape), sizes(array.shape))

    def data(self, array, dtype):
        array = np.asarray(array, NUMPY[dtype] if dtype == self.dtype else array.dtype, order="C")
        return self.c.vf_data(self.raw, DTYPES.index(dtype), array.ndim, sizes(array.shape), array.ctypes.data,
                              array.nbytes)

    def operand(self, x):
        if isinstance(x, Raw):
            return x
        if isinstance(x, np.ndarray):
            return self.data(x, {"f": self.dtype, "i": "i64", "b": "bool"}[x.dtype.kind])
        return self.c.vf_integer(self.raw, x) if isinstance(x, int) else self.c.vf_number(self.raw, x)

    def all(self, operation, *operands, **attributes):
        """All results of an operation by its text name; Python numbers are weak constants, arrays are data."""
        made, packed = pack([None] * MOST_RESULTS), pack([self.operand(x) for x in operands])
        count = self.c.vf_apply_all(self.raw, operation.encode(), packed, len(operands),
                                    attributes_text(attributes).encode(), MOST_RESULTS, made)
        return self.checked(made, max(count, 1))

    def __call__(self, operation, *operands, **attributes):
        return self.all(operation, *operands, **attributes)[0]

    def shape(self, value):
        room = (ctypes.c_int64 * 16)()
        return tuple(room[: self.c.vf_value_shape(value, room)])

    def vjp(self, outputs, cotangents, inputs):
        made = pack(inputs)
        self.c.vf_vjp(len(outputs), pack(outputs), pack(cotangents), len(inputs), pack(inputs), made)
        return self.checked(made, len(inputs))

    def jvp(self, outputs, inputs, tangents):
        made = pack(outputs)
        self.c.vf_jvp(len(outputs), pack(outputs), len(inputs), pack(inputs), pack(tangents), made)
        return self.checked(made, len(outputs))

    def called(self, function, arguments):
        """A vf_function with the given number of arguments. An exception in it is kept, and raised again by
        `checked`."""
        def inside(_, given, results):
            try:
                for i, y in enumerate(function([copied(given[i]) for i in range(arguments)])):
                    results[i] = self.operand(y)
            except Exception as why:  # any exception: ctypes would print it and go on
                self.raised = self.raised or why

        return Function(inside)

    def vmap(self, function, arguments, in_axes, out_axes):
        axes = [(ctypes.c_int * len(a))(*[NOT_MAPPED if k is None else k for k in a]) for a in (in_axes, out_axes)]
        mapping = Map(ctypes.sizeof(Map), len(in_axes), len(out_axes), axes[0], axes[1], -1)
        made = pack([None] * len(out_axes))
        self.c.vf_vmap(self.raw, ctypes.byref(mapping), self.called(function, len(arguments)), None,
                       pack(arguments), made)
        return self.checked(made, len(out_axes))

    def cond(self, predicate, operands, then, otherwise, results):
        made, n = pack([None] * results), len(operands)
        self.c.vf_cond(predicate, n, pack(operands), self.called(then, n), self.called(otherwise, n), None, results,
                         made)
        return self.checked(made, results)

    def while_loop(self, condition, body, init, bound):
        n = len(init)
        init, made = pack([self.operand(x) for x in init]), pack([None] * n)
        self.c.vf_while_loop(self.called(condition, n), self.called(body, n), None, n, init, bound, made)
        return self.checked(made, n)

    def scan(self, body, init, xs, stacks, reverse):
        """The last state, then the stacks."""
        n = len(init)
        carries, made = pack([None] * n), pack([None] * stacks)
        self.c.vf_scan(self.called(body, n + len(xs)), None, n, pack(init), len(xs), pack(xs), stacks, -1, reverse,
                         carries, made)
        return self.checked(carries, n) + self.checked(made, stacks)

    def checkpoint(self, function, operands, results):
        made = pack([None] * results)
        self.c.vf_checkpoint(self.called(function, len(operands)), None, len(operands), pack(operands), results, made)
        return self.checked(made, results)

    def checked(self, values, count):
        if self.raised:
            raise self.raised
        for i in range(count):
            if not self.c.vf_ok(values[i]):
                raise Refused(self.c.vf_graph_message(self.raw).decode())
        return [copied(values[i]) for i in range(count)]

    def compute(self, outputs, inputs):
        for i, y in enumerate(outputs):
            self.c.vf_output(self.raw, f"y{i}".encode(), y)
        values = [Value(self, y) for y in outputs]
        return [y.array for y in self.context.run(self.raw, inputs, values, compiled=True)]
