"""Compile one graph, run it for every assignment, compare."""
import ctypes

import numpy as np

from binding import DTYPES, NUMPY, Refused, Typed, pointers, sizes
from oracle.rules import FLOATS

GUARD = 64  # bytes on both sides of each output, which must not be written


class Verdict(Exception):
    """An error: its kind ("refused", "wrong", "failed") and its full description."""

    def __init__(self, kind, story):
        super().__init__(story)
        self.kind, self.story = kind, story


def declare(context):
    """Declares the C functions that binding.py does not use."""
    c, text = context.c, ctypes.c_char_p
    for name, result, arguments in (
            ("vf_variable_count", ctypes.c_int, [ctypes.c_void_p]),
            ("vf_variable_name", text, [ctypes.c_void_p, ctypes.c_int]),
            ("vf_port_dtype", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
            ("vf_port_rank", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
            ("vf_port_count", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
            ("vf_port_name", text, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
            ("vf_port_shape", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
                                             ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64),
                                             ctypes.c_void_p])):
        function = getattr(c, name)
        function.restype, function.argtypes = result, arguments


class Buffer:
    """An output with guards around it."""

    def __init__(self, dtype, shape):
        count = int(np.prod(shape, dtype=np.int64))
        bytes_ = count * np.dtype(NUMPY[dtype]).itemsize
        self.whole = np.full(bytes_ + 2 * GUARD, 0xA5, np.uint8)
        self.array = self.whole[GUARD:GUARD + bytes_].view(NUMPY[dtype]).reshape(shape)
        self.dtype = dtype

    def overrun(self):
        return bool(np.any(self.whole[:GUARD] != 0xA5) or np.any(self.whole[len(self.whole) - GUARD:] != 0xA5))


def difference(value, ref, typed):
    """None, or the place where a result differs from the reference."""
    got, want = typed.wide(), ref.a
    with np.errstate(all="ignore"):
        if value.dtype in FLOATS:
            good = (got == want) | (np.isnan(got) & np.isnan(want))
            if ref.e is not None:
                good |= np.abs(got.astype(np.float64) - want.astype(np.float64)) <= ref.e
                good |= ~np.isfinite(ref.e)
        else:
            good = got == want
            if ref.e is not None:
                good |= ref.e > 0
    if np.all(good):
        return None
    at = tuple(int(k) for k in np.argwhere(~good)[0])
    near = "" if ref.e is None else f" within {np.broadcast_to(ref.e, want.shape)[at]:.3g}"
    return f"at {list(at)} {got[at]!r}, expected {want[at]!r}{near} ({np.count_nonzero(~good)} of {got.size})"


def claimed(graph):
    """The fraction of the outputs' elements that the reference claims."""
    sure = total = 0
    for value in graph.outputs:
        for ref in value.refs:
            total += ref.a.size
            sure += ref.a.size if ref.e is None else int(np.count_nonzero(np.isfinite(np.broadcast_to(ref.e,
                                                                                                   ref.a.shape))))
    return sure, total


def ask(graph, context, evaluated=False):
    """None, or a Verdict. evaluated: by the reference evaluator, without compiling."""
    text = graph.text()
    try:
        read = context.parse(text)
    except Refused as why:
        return Verdict("refused", f"parse: {why}")
    program = None
    try:
        program = context.must(context.c.vf_compile, read)
        _ports(graph, context, program)
        for number, env in enumerate(graph.envs):
            _run(graph, context, read if evaluated else program, number, env, program, evaluated)
    except Refused as why:
        return Verdict("refused", f"compile: {why}")
    except Verdict as verdict:
        return verdict
    finally:
        if program:
            context.c.vf_program_destroy(program)
        context.c.vf_graph_destroy(read)
    return None


def _ports(graph, context, program):
    c = context.c
    for port, values in ((0, graph.inputs), (1, graph.outputs)):
        if c.vf_port_count(program, port) != len(values):
            raise Verdict("wrong", f"{c.vf_port_count(program, port)} ports, expected {len(values)}")
        for k, value in enumerate(values):
            dtype, rank = DTYPES[c.vf_port_dtype(program, port, k)], c.vf_port_rank(program, port, k)
            if (dtype, rank) != (value.dtype, value.rank):
                raise Verdict("wrong", f"%{value.name} is {dtype} of rank {rank}, expected {value.dtype} of rank "
                                       f"{value.rank}")


def _variables(graph, context, program, env):
    named = {v.text: env[v] for v in graph.variables}
    names = [context.c.vf_variable_name(program, k).decode() for k in range(context.c.vf_variable_count(program))]
    return sizes([named[name] for name in names])


def _run(graph, context, what, number, env, program, evaluated):
    c, where = context.c, ", ".join(f"{v.text}={env[v]}" for v in graph.variables)
    variables = _variables(graph, context, program, env)
    shape = (ctypes.c_int64 * 17)()
    for k, value in enumerate(graph.outputs):
        c.vf_port_shape(program, 1, k, variables, shape, None)
        got, want = tuple(shape[:value.rank]), graph.sizes(value, env)
        if got != want or value.refs[number].a.shape != want:
            raise Verdict("wrong", f"{where}: %{value.name} has shape {list(got)}, expected {list(want)}")
    inputs = [graph.stored(v, number) for v in graph.inputs]
    buffers = [Buffer(v.dtype, graph.sizes(v, env)) for v in graph.outputs]
    try:
        context.must(c.vf_evaluate if evaluated else c.vf_program_run, what, pointers(inputs),
                     pointers([b.array for b in buffers]), variables)
    except Refused as why:
        raise Verdict("failed", f"{where}: run: {why}") from why
    for value, buffer in zip(graph.outputs, buffers):
        if buffer.overrun():
            raise Verdict("wrong", f"{where}: memory beside %{value.name} was written")
        differs = difference(value, value.refs[number], Typed(buffer.array, value.dtype))
        if differs:
            raise Verdict("wrong", f"{where}: %{value.name} {differs}")
