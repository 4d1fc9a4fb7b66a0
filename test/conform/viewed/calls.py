"""Views of data of the library, as viewed/oracle.py has them: the same methods, of values of one graph."""
import ctypes

import numpy as np

import binding
from binding import DTYPES, NAMES, Raw, Refused

P, T, I, L = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int64
VALUES = ctypes.POINTER(Raw)
FUNCTIONS = {
    "vf_list_view_create": (P, [I, P, P]), "vf_data_view_destroy": (None, [P]),
    "vf_data_put": (I, [P, T, Raw, P]), "vf_data_get": (Raw, [P, T, I, P]),
    "vf_data_forward": (Raw, [P, T, Raw, I, P]), "vf_data_put_all": (I, [P, T, I, VALUES, P]),
    "vf_data_get_all": (I, [P, T, I, I, VALUES, P]), "vf_data_backward_put": (I, [P, T, Raw, P]),
    "vf_data_backward_get": (Raw, [P, T, I, P]), "vf_data_backward": (Raw, [P, T, Raw, I, P]),
    "vf_data_backward_put_all": (I, [P, T, I, VALUES, P]), "vf_data_backward_get_all": (I, [P, I, VALUES, P]),
    "vf_data_index": (P, [P, Raw, P, P]), "vf_data_sub": (P, [P, L, L, P, P]),
    "vf_data_iterate": (L, [P, L, ctypes.POINTER(L), P, P]), "vf_data_replace": (I, [P, T, Raw, P]),
    "vf_data_replace_all": (I, [P, T, I, VALUES, P]), "vf_data_flush": (None, [P]),
    "vf_data_input": (Raw, [P, P]), "vf_data_set_input": (I, [P, Raw, P]),
    "vf_data_transpose": (Raw, [P, T, P]), "vf_data_type": (I, [P, I, P]), "vf_data_clone": (P, [P, P]),
    "vf_data_sample_count": (L, [P]), "vf_data_sample_size": (L, [P]), "vf_data_axes": (T, [P]),
    "vf_data_component": (P, [P, I]), "vf_data_set_classes": (I, [P, I, P, P]),
    "vf_session": (P, [P, P]), "vf_tensor_create": (P, [P, I, I, ctypes.POINTER(L), P, P]),
    "vf_tensor_keep": (P, [Raw, P]), "vf_tensor_value": (Raw, [P]), "vf_tensor_data": (P, [P, P]),
    "vf_tensor_release": (None, [P]), "vf_tensor_realise": (I, [P, I, P]),
}
FUNCTIONS |= {f"vf_{kind}_view_create": (P, [P, P]) for kind in ("data", "image", "sequence", "class")}


def prepare(context):
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(context.c, name)
        function.restype, function.argtypes = result, arguments


def text(axes):
    return None if axes is None else axes.encode()


def number(dtype):
    return 0 if dtype is None else DTYPES.index(NAMES[np.dtype(dtype)])


class Calls:
    """A graph, or the session, its arrays and its views; calls raise Refused. What is got is checked by check()."""

    def __init__(self, context, session):
        self.context, self.c, self.session = context, context.c, session
        self.graph = None if session else binding.Graph(context)
        self.raw = context.must(self.c.vf_session, context.raw) if session else self.graph.raw
        self.views, self.wanted, self.tensors = [], [], []

    def call(self, name, *arguments):
        error = binding._Error()
        result = getattr(self.c, name)(*arguments, ctypes.byref(error))
        if error.status:
            raise Refused(error.message.decode())
        return result

    def array(self, x):
        """A value that holds x."""
        x = np.ascontiguousarray(x)
        if not self.session:
            return self.graph.input(x).raw
        self.tensors.append(self.call("vf_tensor_create", self.context.raw, number(x.dtype), x.ndim,
                                      binding.sizes(x.shape), x.ctypes.data))
        return self.c.vf_tensor_value(self.tensors[-1])

    def values(self, arrays):
        return (Raw * len(arrays))(*[self.array(x) for x in arrays])

    def view(self, kind):
        self.views.append(self.call(f"vf_{kind}_view_create", self.raw))
        return self.views[-1]

    def list(self, components):
        handles = (ctypes.c_void_p * len(components))(*components)
        self.views.append(self.call("vf_list_view_create", len(components), ctypes.addressof(handles)))
        return self.views[-1]

    def made(self, view):
        self.views.append(view)
        return view

    def want(self, raw, array, call):
        """Notes that the value has to hold the array, of that dtype."""
        raw = binding.copied(raw)
        if self.session:
            raw = self.call("vf_tensor_keep", raw)
            self.tensors.append(raw)
        self.wanted.append((raw, np.ascontiguousarray(array), call))

    def check(self, compiled):
        """Why what has been noted does not hold; None where it does."""
        wanted, self.wanted = self.wanted, []
        if not wanted:
            return None
        if self.session:
            handles = (ctypes.c_void_p * len(wanted))(*[raw for raw, _, _ in wanted])
            self.call("vf_tensor_realise", ctypes.addressof(handles), len(wanted))
            got = [self.held(raw, x) for raw, x, _ in wanted]
        else:
            values = [binding.Value(self.graph, raw) for raw, _, _ in wanted]
            for value, (_, x, call) in zip(values, wanted):
                if (value.shape, value.dtype) != (x.shape, NAMES[x.dtype]):
                    return f"{call} gives {value.dtype}{value.shape}, not {x.dtype}{x.shape}"
                self.graph.output(value)
            got = [y.array for y in self.context.run(self.graph.raw, self.graph.inputs, values, compiled)]
        for y, (_, x, call) in zip(got, wanted):
            if not np.array_equal(x, y):
                return f"{call} gives\n{y}\nnot\n{x}"
        return None

    def held(self, tensor, like):
        bytes_of = self.call("vf_tensor_data", tensor)
        made = np.empty(like.shape, like.dtype)
        if made.nbytes:
            ctypes.memmove(made.ctypes.data, bytes_of, made.nbytes)
        return made

    def close(self):
        for view in reversed(self.views):
            self.c.vf_data_view_destroy(view)
        for tensor in self.tensors:
            self.c.vf_tensor_release(tensor)
        self.views = self.tensors = []
