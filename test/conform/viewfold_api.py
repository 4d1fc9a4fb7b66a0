"""The C API seen through ctypes, as far as comparisons with other systems need it: functions that record, called
back by vmap and control flow, derivatives, and programs. A failure of the library is raised as Failed."""
import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_void_p

import numpy as np

from binding import attribute_text

MOST_RESULTS = 16


class Value(ctypes.Structure):
    _fields_ = [("graph", c_void_p), ("id", c_uint32), ("epoch", c_uint32)]


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("allocator", c_void_p), ("allocator_user", c_void_p), ("threads", c_int),
                ("flags", c_uint32), ("cache_dir", c_char_p), ("device", c_char_p), ("cache_bytes", c_int64)]


class Map(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("arguments", c_int), ("results", c_int), ("in_axes", POINTER(c_int)),
                ("out_axes", POINTER(c_int)), ("axis_size", c_int64)]


Function = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Value), POINTER(Value))
NOT_MAPPED = -2**31


class Failed(Exception):
    pass


def library(path):
    lib = ctypes.CDLL(path)
    lib.vf_context_create.restype = c_void_p
    lib.vf_context_create.argtypes = [POINTER(Options), POINTER(Error)]
    lib.vf_context_destroy.argtypes = [c_void_p]
    lib.vf_graph_create.restype = c_void_p
    lib.vf_graph_create.argtypes = [c_void_p, c_char_p, POINTER(Error)]
    lib.vf_graph_destroy.argtypes = [c_void_p]
    lib.vf_graph_message.restype = c_char_p
    lib.vf_graph_message.argtypes = [c_void_p]
    lib.vf_dtype_parse.argtypes = [c_char_p]
    lib.vf_ok.argtypes = [Value]
    lib.vf_ok.restype = ctypes.c_bool
    lib.vf_value_shape.argtypes = [Value, POINTER(c_int64)]
    for name, arguments in {
            "vf_input": [c_void_p, c_char_p, c_int, c_int, POINTER(c_int64)],
            "vf_output": [c_void_p, c_char_p, Value],
            "vf_number": [c_void_p, c_double],
            "vf_integer": [c_void_p, c_int64],
            "vf_data": [c_void_p, c_int, c_int, POINTER(c_int64), c_void_p, c_size_t],
    }.items():
        function = getattr(lib, name)
        function.argtypes, function.restype = arguments, Value
    values = POINTER(Value)
    lib.vf_vjp.argtypes = [c_int, values, values, c_int, values, values]
    lib.vf_vjp.restype = None
    lib.vf_jvp.argtypes = [c_int, values, c_int, values, values, values]
    lib.vf_jvp.restype = None
    lib.vf_vmap.argtypes = [c_void_p, POINTER(Map), Function, c_void_p, values, values]
    lib.vf_vmap.restype = ctypes.c_bool
    lib.vf_apply_all.argtypes = [c_void_p, c_char_p, values, c_int, c_char_p, c_int, values]
    lib.vf_cond.argtypes = [Value, c_int, values, Function, Function, c_void_p, c_int, values]
    lib.vf_while_loop.argtypes = [Function, Function, c_void_p, c_int, values, c_int64, values]
    lib.vf_scan.argtypes = [Function, c_void_p, c_int, values, c_int, values, c_int, c_int64, ctypes.c_bool, values,
                            values]
    lib.vf_checkpoint.argtypes = [Function, c_void_p, c_int, values, c_int, values]
    for name in ("vf_cond", "vf_while_loop", "vf_scan", "vf_checkpoint"):
        getattr(lib, name).restype = None
    lib.vf_compile.restype = c_void_p
    lib.vf_compile.argtypes = [c_void_p, POINTER(Error)]
    lib.vf_program_destroy.argtypes = [c_void_p]
    lib.vf_program_run.argtypes = [c_void_p, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_int64), POINTER(Error)]
    lib.vf_port_shape.argtypes = [c_void_p, c_int, c_int, POINTER(c_int64), POINTER(c_int64), POINTER(Error)]
    lib.vf_port_rank.argtypes = [c_void_p, c_int, c_int]
    return lib


def sizes(shape):
    return (c_int64 * max(1, len(shape)))(*shape)


def pack(values):
    return (Value * max(1, len(values)))(*[v or Value() for v in values])


def copied(value):
    return Value(value.graph, value.id, value.epoch)


class Context:
    def __init__(self, path):
        self.lib, error = library(path), Error()
        options = Options(size=ctypes.sizeof(Options), flags=1)
        self.handle = self.lib.vf_context_create(byref(options), byref(error))
        if not self.handle:
            raise Failed(error.message.decode())

    def dtype(self, name):
        return self.lib.vf_dtype_parse(name.encode())

    def run(self, function, arrays, dtype):
        """function(graph, values) -> values, compiled and run on arrays of one float dtype."""
        graph = Graph(self, dtype)
        try:
            inputs = [graph.input(f"x{i}", a.shape) for i, a in enumerate(arrays)]
            outputs = function(graph, inputs)
            return graph.compute(outputs, arrays)
        finally:
            self.lib.vf_graph_destroy(graph.handle)


class Graph:
    def __init__(self, context, dtype):
        self.context, self.lib, self.dtype = context, context.lib, dtype
        self.handle = self.lib.vf_graph_create(context.handle, b"compared", None)
        self.numpy_dtype = {"f32": np.float32, "f64": np.float64}[dtype]
        self.raised = None

    def input(self, name, shape):
        return self.lib.vf_input(self.handle, name.encode(), self.context.dtype(self.dtype), len(shape), sizes(shape))

    def data(self, array, dtype):
        array = np.asarray(array, self.numpy_dtype if dtype == self.dtype else array.dtype, order="C")
        return self.lib.vf_data(self.handle, self.context.dtype(dtype), array.ndim, sizes(array.shape),
                                array.ctypes.data, array.nbytes)

    def operand(self, x):
        if isinstance(x, Value):
            return x
        if isinstance(x, np.ndarray):
            return self.data(x, {"f": self.dtype, "i": "i64", "b": "bool"}[x.dtype.kind])
        return self.lib.vf_integer(self.handle, x) if isinstance(x, int) else self.lib.vf_number(self.handle, x)

    def all(self, operation, *operands, **attributes):
        """All results of an operation by its text name; Python numbers are weak constants, arrays are data."""
        made, text = pack([None] * MOST_RESULTS), " ".join(f"{k}={attribute_text(v)}" for k, v in attributes.items())
        packed = pack([self.operand(x) for x in operands])
        count = self.lib.vf_apply_all(self.handle, operation.encode(), packed, len(operands), text.encode(),
                                      MOST_RESULTS, made)
        return self.checked(made, max(count, 1))

    def __call__(self, operation, *operands, **attributes):
        return self.all(operation, *operands, **attributes)[0]

    def shape(self, value):
        room = (c_int64 * 16)()
        return tuple(room[: self.lib.vf_value_shape(value, room)])

    def vjp(self, outputs, cotangents, inputs):
        made = pack(inputs)
        self.lib.vf_vjp(len(outputs), pack(outputs), pack(cotangents), len(inputs), pack(inputs), made)
        return self.checked(made, len(inputs))

    def jvp(self, outputs, inputs, tangents):
        made = pack(outputs)
        self.lib.vf_jvp(len(outputs), pack(outputs), len(inputs), pack(inputs), pack(tangents), made)
        return self.checked(made, len(outputs))

    def called(self, function, arguments):
        """A vf_function of so many arguments. What it raises is kept, and raised again once the library returns."""
        def inside(_, given, results):
            try:
                for i, y in enumerate(function([copied(given[i]) for i in range(arguments)])):
                    results[i] = self.operand(y)
            except Exception as why:  # of any kind: ctypes would print it and go on
                self.raised = self.raised or why

        return Function(inside)

    def vmap(self, function, arguments, in_axes, out_axes):
        axes = [(c_int * len(a))(*[NOT_MAPPED if k is None else k for k in a]) for a in (in_axes, out_axes)]
        mapping = Map(ctypes.sizeof(Map), len(in_axes), len(out_axes), axes[0], axes[1], -1)
        made = pack([None] * len(out_axes))
        self.lib.vf_vmap(self.handle, byref(mapping), self.called(function, len(arguments)), None, pack(arguments), made)
        return self.checked(made, len(out_axes))

    def cond(self, predicate, operands, then, otherwise, results):
        made, n = pack([None] * results), len(operands)
        self.lib.vf_cond(predicate, n, pack(operands), self.called(then, n), self.called(otherwise, n), None, results,
                         made)
        return self.checked(made, results)

    def while_loop(self, condition, body, init, bound):
        n = len(init)
        init, made = pack([self.operand(x) for x in init]), pack([None] * n)
        self.lib.vf_while_loop(self.called(condition, n), self.called(body, n), None, n, init, bound, made)
        return self.checked(made, n)

    def scan(self, body, init, xs, stacks, reverse):
        """The last state, then the stacks."""
        n = len(init)
        carries, made = pack([None] * n), pack([None] * stacks)
        self.lib.vf_scan(self.called(body, n + len(xs)), None, n, pack(init), len(xs), pack(xs), stacks, -1, reverse,
                         carries, made)
        return self.checked(carries, n) + self.checked(made, stacks)

    def checkpoint(self, function, operands, results):
        made = pack([None] * results)
        self.lib.vf_checkpoint(self.called(function, len(operands)), None, len(operands), pack(operands), results, made)
        return self.checked(made, results)

    def checked(self, values, count):
        if self.raised:
            raise self.raised
        for i in range(count):
            if not self.lib.vf_ok(values[i]):
                raise Failed(self.lib.vf_graph_message(self.handle).decode())
        return [copied(values[i]) for i in range(count)]

    def compute(self, outputs, arrays):
        error = Error()
        for i, y in enumerate(outputs):
            self.lib.vf_output(self.handle, f"y{i}".encode(), y)
        program = self.lib.vf_compile(self.handle, byref(error))
        if not program:
            raise Failed(error.message.decode())
        try:
            results = []
            for i in range(len(outputs)):
                shape = (c_int64 * 16)()
                self.lib.vf_port_shape(program, 1, i, None, shape, byref(error))
                results.append(np.empty(tuple(shape[: self.lib.vf_port_rank(program, 1, i)]), self.numpy_dtype))
            arrays = [np.ascontiguousarray(a, self.numpy_dtype) for a in arrays]
            inside = (c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
            outside = (c_void_p * len(results))(*[r.ctypes.data for r in results])
            if self.lib.vf_program_run(program, inside, outside, None, byref(error)):
                raise Failed(error.message.decode())
            return results
        finally:
            self.lib.vf_program_destroy(program)
