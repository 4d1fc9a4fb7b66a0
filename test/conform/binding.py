"""libviewfold through ctypes: record operations by their text names, print the graph, read it back, run it.

A Graph records with vf_apply, exactly as a text graph would; Graph.run prints what was recorded, parses that
text, and runs the result compiled and by the reference evaluator. Arrays are NumPy's; bf16, which NumPy
lacks, is an array of u16 inside a Typed value. Failures of the library are raised as Refused, with its
message.
"""
import ctypes
import os
import zlib

import numpy as np

DTYPES = "none bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64".split()
NUMPY = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
         "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f16": np.float16, "bf16": np.uint16,
         "f32": np.float32, "f64": np.float64}
NAMES = {np.dtype(t): name for name, t in NUMPY.items() if name != "bf16"}
MOST_RESULTS = 64


class Refused(Exception):
    """The library refused an operation; the text is its message."""


class Typed:
    """An array with viewfold's dtype: needed for bf16, whose array holds the bits as u16."""

    def __init__(self, array, dtype=None, batch_dims=0):
        self.array, self.batch_dims = np.asarray(array, order="C"), batch_dims
        self.dtype = dtype or NAMES[self.array.dtype]
        if self.array.dtype != NUMPY[self.dtype]:
            raise TypeError(f"an array of {self.array.dtype} does not hold {self.dtype}")

    @property
    def shape(self):
        return self.array.shape

    def wide(self):
        """The elements in a dtype that NumPy computes with: bf16 as f32."""
        if self.dtype != "bf16":
            return self.array
        return (self.array.astype(np.uint32) << np.uint32(16)).view(np.float32)


def typed(x):
    return x if isinstance(x, Typed) else Typed(x)


def to_dtype(array, dtype):
    """Rounds to nearest even, as casts between floats do."""
    if dtype != "bf16":
        return Typed(np.asarray(array).astype(NUMPY[dtype]))
    bits = np.asarray(array, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))
    rounded = np.where(np.isnan(array), np.uint32(0x7FC0), rounded)
    return Typed(rounded.astype(np.uint16), "bf16")


class Raw(ctypes.Structure):
    """A vf_value."""
    _fields_ = [("graph", ctypes.c_void_p), ("id", ctypes.c_uint32), ("epoch", ctypes.c_uint32)]


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 1024)]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("allocator", ctypes.c_void_p),
                ("allocator_user", ctypes.c_void_p), ("threads", ctypes.c_int),
                ("flags", ctypes.c_uint32), ("cache_dir", ctypes.c_char_p),
                ("device", ctypes.c_char_p), ("cache_bytes", ctypes.c_int64),
                ("compile_mode", ctypes.c_int), ("compile_seconds", ctypes.c_int),
                ("compile_bytes", ctypes.c_int64), ("compile_program", ctypes.c_char_p),
                ("tap", ctypes.c_void_p), ("tap_user", ctypes.c_void_p), ("target", ctypes.c_char_p)]


class BuildOptions(ctypes.Structure):
    """A vf_build_options."""
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("target", ctypes.c_char_p), ("assembler", ctypes.c_bool),
                ("threads", ctypes.c_bool), ("weights", ctypes.c_bool), ("c", ctypes.c_bool)]


class Map(ctypes.Structure):
    """A vf_map."""
    _fields_ = [("size", ctypes.c_size_t), ("arguments", ctypes.c_int), ("results", ctypes.c_int),
                ("in_axes", ctypes.POINTER(ctypes.c_int)), ("out_axes", ctypes.POINTER(ctypes.c_int)),
                ("axis_size", ctypes.c_int64), ("over", ctypes.c_char_p)]


NOT_MAPPED = -2**31
_VALUES = ctypes.POINTER(Raw)
Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _VALUES, _VALUES)  # a vf_function
_POINTER, _TEXT, _INT, _SIZES = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)
_FUNCTIONS = {  # name: (result, arguments)
    "vf_context_create": (_POINTER, [_POINTER, _POINTER]),
    "vf_context_destroy": (None, [_POINTER]),
    "vf_text_free": (None, [_POINTER, _POINTER]),
    "vf_graph_create": (_POINTER, [_POINTER, _TEXT, _POINTER]),
    "vf_graph_destroy": (None, [_POINTER]),
    "vf_graph_parse": (_POINTER, [_POINTER, _TEXT, ctypes.c_size_t, _TEXT, _TEXT, _POINTER]),
    "vf_graph_text": (_POINTER, [_POINTER, _POINTER]),
    "vf_graph_status": (_INT, [_POINTER]),
    "vf_graph_message": (_TEXT, [_POINTER]),
    "vf_graph_clear_error": (None, [_POINTER]),
    "vf_graph_find": (Raw, [_POINTER, _TEXT]),
    "vf_output": (Raw, [_POINTER, _TEXT, Raw]),
    "vf_ok": (ctypes.c_bool, [Raw]),
    "vf_value_dtype": (_INT, [Raw]),
    "vf_value_rank": (_INT, [Raw]),
    "vf_value_shape": (_INT, [Raw, _SIZES]),
    "vf_value_batch": (_INT, [Raw, _SIZES]),
    "vf_input": (Raw, [_POINTER, _TEXT, _INT, _INT, _SIZES]),
    "vf_number": (Raw, [_POINTER, ctypes.c_double]),
    "vf_integer": (Raw, [_POINTER, ctypes.c_int64]),
    "vf_data": (Raw, [_POINTER, _INT, _INT, _SIZES, _POINTER, ctypes.c_size_t]),
    "vf_apply_all": (_INT, [_POINTER, _TEXT, _VALUES, _INT, _TEXT, _INT, _VALUES]),
    "vf_vjp": (None, [_INT, _VALUES, _VALUES, _INT, _VALUES, _VALUES]),
    "vf_jvp": (None, [_INT, _VALUES, _INT, _VALUES, _VALUES, _VALUES]),
    "vf_vmap": (ctypes.c_bool, [_POINTER, ctypes.POINTER(Map), Function, _POINTER, _VALUES, _VALUES]),
    "vf_cond": (None, [Raw, _INT, _VALUES, Function, Function, _POINTER, _INT, _VALUES]),
    "vf_while_loop": (None, [Function, Function, _POINTER, _INT, _VALUES, ctypes.c_int64, _VALUES]),
    "vf_scan": (None, [Function, _POINTER, _INT, _VALUES, _INT, _VALUES, _INT, ctypes.c_int64, ctypes.c_bool,
                       _VALUES, _VALUES]),
    "vf_checkpoint": (None, [Function, _POINTER, _INT, _VALUES, _INT, _VALUES]),
    "vf_build": (_POINTER, [_POINTER, _POINTER, _POINTER]),
    "vf_object_destroy": (None, [_POINTER]),
    "vf_object_bytes": (_POINTER, [_POINTER, ctypes.POINTER(ctypes.c_size_t)]),
    "vf_object_header": (_TEXT, [_POINTER]),
    "vf_compile": (_POINTER, [_POINTER, _POINTER]),
    "vf_program_destroy": (None, [_POINTER]),
    "vf_program_run": (_INT, [_POINTER, _POINTER, _POINTER, _SIZES, _POINTER]),
    "vf_evaluate": (_INT, [_POINTER, _POINTER, _POINTER, _SIZES, _POINTER]),
    "vf_variable_count": (_INT, [_POINTER]),
    "vf_variable_name": (_TEXT, [_POINTER, _INT]),
}


class Context:
    """One context of libviewfold. cache: a folder in which it keeps compiled kernels; otherwise nothing is kept on disk.
    target: settings, as of `viewfold run --target`."""

    def __init__(self, build, threads=1, device=None, cache=None, target=None):
        self.build = build
        self.c = ctypes.CDLL(os.path.join(build, "libviewfold.so.0"))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments
        options = _Options(size=ctypes.sizeof(_Options), threads=threads, flags=0 if cache else 1,
                           device=device and device.encode(), cache_dir=cache and cache.encode(),
                           target=target and target.encode())
        self.raw = self.must(self.c.vf_context_create, ctypes.byref(options))

    def must(self, function, *arguments):
        """Calls a function whose last argument is the error; a false result (or a status) is a failure."""
        error = _Error()
        result = function(*arguments, ctypes.byref(error))
        failed = result != 0 if function.restype is _INT else not result
        if failed:
            raise Refused(error.message.decode() or f"{function.__name__} failed without a message")
        return result

    def text(self, graph):
        text = self.must(self.c.vf_graph_text, graph)
        try:
            return ctypes.string_at(text).decode()
        finally:
            self.c.vf_text_free(self.raw, text)

    def parse(self, text, which=None):
        written = text.encode()
        which = which and which.encode()
        return self.must(self.c.vf_graph_parse, self.raw, written, len(written), b"graph", which)

    def run(self, graph, inputs, values, compiled, references=0):
        """The elements of these values, outputs of the graph, for inputs in order: by a compiled program, or
        by the reference evaluator. The first inputs may be references, which it changes; it changes no other input, and
        no constant: with references, a program runs again on what they held, and has to give the same. spec: I31 I32"""
        program = self.must(self.c.vf_compile, graph) if compiled else None
        run, what = (self.c.vf_program_run, program) if compiled else (self.c.vf_evaluate, graph)
        before, kept = digests(inputs), [x.array.copy() for x in inputs[:references]]

        def once():
            """The outputs, and digests of all that the run may have changed."""
            outputs = [np.empty(v.batch + v.shape, NUMPY[v.dtype]) for v in values]
            self.must(run, what, pointers([x.array for x in inputs]), pointers(outputs), None)
            after = digests(inputs)
            if after[references:] != before[references:]:
                raise Refused("the run changed an input that is no reference")
            return outputs, after + digests([Typed(a, v.dtype) for a, v in zip(outputs, values)])

        try:
            outputs, after = once()
            for x, old in zip(inputs, kept):
                if compiled:
                    x.array[...] = old
            if references and compiled and once()[1] != after:
                raise Refused("a second run of the program gives something else")
        finally:
            if program:
                self.c.vf_program_destroy(program)
        return [Typed(a, v.dtype, len(v.batch)) for a, v in zip(outputs, values)]

    def run_text(self, text, inputs, names, compiled, which=None):
        """The same for a graph as text, and for outputs by name."""
        read = self.parse(text, which)
        try:
            values = [Value(self, self.c.vf_graph_find(read, name.encode())) for name in names]
            return self.run(read, inputs, values, compiled)
        finally:
            self.c.vf_graph_destroy(read)


def sizes(shape):
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


def pointers(arrays):
    return (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])


def digests(arrays):
    return [zlib.crc32(x.array.tobytes()) for x in arrays]


def copied(raw):
    """A copy, which outlives the array that it was in."""
    return Raw(raw.graph, raw.id, raw.epoch)


def attributes_text(attributes):
    """Attributes as text graphs write them; None is left out."""
    return " ".join(f"{k}={attribute_text(v)}" for k, v in attributes.items() if v is not None)


def attribute_text(value):
    """A Python value as text graphs write it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ",".join(attribute_text(v) for v in value) + "]"
    if isinstance(value, (float, np.floating)):
        text = repr(float(value))
        return text if any(c in text for c in ".en") else text + ".0"
    return str(value)


class Value:
    """A tensor of a graph: its batch sizes, its shape and its dtype."""

    def __init__(self, graph, raw):
        self.graph, self.raw = graph, raw
        rank = graph.c.vf_value_rank(raw)
        sizes = (ctypes.c_int64 * 17)()
        graph.c.vf_value_shape(raw, sizes)
        self.shape = tuple(sizes[:rank])
        self.batch = tuple(sizes[:graph.c.vf_value_batch(raw, sizes)])
        self.dtype = DTYPES[graph.c.vf_value_dtype(raw)]

    @property
    def rank(self):
        return len(self.shape)


class Graph:
    def __init__(self, context, name="conform"):
        self.context, self.c, self.inputs, self.outputs = context, context.c, [], []
        self.raw = context.must(self.c.vf_graph_create, context.raw, name.encode())

    def __del__(self):
        if getattr(self, "raw", None):
            self.c.vf_graph_destroy(self.raw)

    def refused(self):
        message = self.c.vf_graph_message(self.raw).decode()
        self.c.vf_graph_clear_error(self.raw)
        return Refused(message)

    def input(self, array):
        array = typed(array)
        name = f"x{len(self.inputs)}"
        raw = self.c.vf_input(self.raw, name.encode(), DTYPES.index(array.dtype), len(array.shape),
                              sizes(array.shape))
        if not self.c.vf_ok(raw):
            raise self.refused()
        self.inputs.append(array)
        return Value(self, raw)

    def constant(self, array):
        array = typed(array)
        elements = np.ascontiguousarray(array.array)
        raw = self.c.vf_data(self.raw, DTYPES.index(array.dtype), len(array.shape), sizes(array.shape), elements.ctypes.data,
                             elements.nbytes)
        if not self.c.vf_ok(raw):
            raise self.refused()
        return Value(self, raw)

    def _operand(self, x):
        if isinstance(x, Value):
            return x.raw
        if isinstance(x, (bool, np.bool_)):
            return self.apply("const", value=bool(x)).raw
        if isinstance(x, (int, np.integer)):
            return self.c.vf_integer(self.raw, int(x))
        return self.c.vf_number(self.raw, float(x))

    def apply_all(self, operation, *operands, **attributes):
        """All results of an operation by its text name; Python numbers are literals, None attributes are left
        out."""
        raw = (Raw * max(len(operands), 1))(*[self._operand(x) for x in operands])
        results = (Raw * MOST_RESULTS)()
        count = self.c.vf_apply_all(self.raw, operation.encode(), raw, len(operands),
                                    attributes_text(attributes).encode() or None, MOST_RESULTS, results)
        if count < 0:
            raise self.refused()
        return [Value(self, copied(results[i])) for i in range(count)]

    def apply(self, operation, *operands, **attributes):
        return self.apply_all(operation, *operands, **attributes)[0]

    def output(self, value):
        self.c.vf_output(self.raw, f"y{len(self.outputs)}".encode(), value.raw)
        self.outputs.append(value)

    def text(self):
        return self.context.text(self.raw)

    def run(self, compiled=True):
        """The outputs, computed from the graph's own text."""
        names = [f"y{k}" for k in range(len(self.outputs))]
        return self.context.run_text(self.text(), self.inputs, names, compiled)
