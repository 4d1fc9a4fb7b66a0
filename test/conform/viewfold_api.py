"""The C API seen through ctypes, as far as comparisons with other systems need it."""
import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_void_p

import numpy as np



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
            "vf_data": [c_void_p, c_int, c_int, POINTER(c_int64), c_void_p, c_size_t],
            "vf_apply": [c_void_p, c_char_p, POINTER(Value), c_int, c_char_p],
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
    return (Value * max(1, len(values)))(*values)


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

    def input(self, name, shape):
        return self.lib.vf_input(self.handle, name.encode(), self.context.dtype(self.dtype), len(shape), sizes(shape))

    def number(self, value):
        return self.lib.vf_number(self.handle, value)

    def data(self, array, dtype):
        array = np.ascontiguousarray(array)
        return self.lib.vf_data(self.handle, self.context.dtype(dtype), array.ndim, sizes(array.shape),
                                array.ctypes.data, array.nbytes)

    def apply(self, operation, operands, attributes=""):
        made = self.lib.vf_apply(self.handle, operation.encode(), pack(operands), len(operands), attributes.encode())
        if not self.lib.vf_ok(made):
            raise Failed(self.lib.vf_graph_message(self.handle).decode())
        return made

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

    def vmap(self, function, arguments, in_axes, out_axes):
        def inside(_, given, results):
            try:
                for i, y in enumerate(function([copied(given[i]) for i in range(len(arguments))])):
                    results[i] = y
            except Failed:
                pass  # noted in the graph

        axes = [(c_int * len(a))(*[NOT_MAPPED if k is None else k for k in a]) for a in (in_axes, out_axes)]
        mapping = Map(ctypes.sizeof(Map), len(in_axes), len(out_axes), axes[0], axes[1], -1)
        made = (Value * len(out_axes))()
        self.lib.vf_vmap(self.handle, byref(mapping), Function(inside), None, pack(arguments), made)
        return self.checked(made, len(out_axes))

    def checked(self, values, count):
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
