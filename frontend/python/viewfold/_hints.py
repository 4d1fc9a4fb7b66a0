"""What stands in the place of names that other libraries have, for messages."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from typing import Any, NoReturn

from ._imports import imports_from
from ._names import NAMES, WITHOUT

# of arrays: torch's methods, and NumPy's that write
_METHODS = {
    "backward": "derivatives are of functions: vf.grad(loss)(params)",
    "grad": "derivatives are of functions: vf.grad(loss)(params)",
    "requires_grad": "derivatives are of functions, by any argument: vf.grad(f, argnums=0)",
    "requires_grad_": "derivatives are of functions, by any argument: vf.grad(f, argnums=0)",
    "detach": "vf.stop_gradient(x) is constant for derivatives",
    "cpu": "arrays are in this process's memory; x.numpy() is one of NumPy",
    "cuda": "arrays are on the device of the process, which VIEWFOLD_DEVICE names",
    "to": "x.astype(dtype) converts; arrays are on the device of the process, which VIEWFOLD_DEVICE names",
    "names": "x.axes; vf.name_axes(x, 'bchw') gives letters",
    "refine_names": "vf.name_axes(x, 'bchw')",
    "view": "x.reshape(shape), which copies nothing",
    "unsqueeze": "vf.expand_dims(x, axis), or x[:, None]",
    "permute": "x.transpose(0, 2, 1), or vf.permute_dims",
    "dim": "x.ndim",
    "numel": "x.size",
    "type": "x.astype(dtype)",
    "float": "x.astype(vf.float32)",
    "double": "x.astype(vf.float64)",
    "half": "x.astype(vf.float16)",
    "long": "x.astype(vf.int64)",
    "int": "x.astype(vf.int32)",
    "bool": "x.astype(vf.bool)",
    "expand": "vf.broadcast_to(x, shape)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "norm": "vf.linalg.vector_norm(x)",
    "fill": "vf.full_like(x, value), or r[...] = value of a vf.Ref",
    "real": "x is real: there are no complex numbers",
    "imag": "there are no complex numbers",
    "conj": "x is real: there are no complex numbers",
    "conjugate": "x is real: there are no complex numbers",
    "flat": "x.reshape(-1)",
    "sort": "vf.sort(x) is another array, sorted",
    "put": "x.at[i].set(y), or x[i] = y",
    "compress": "x[mask]",
    "choose": "vf.where",
    "strides": "arrays are dense; numpy.asarray(x).strides",
    "data": "memoryview(x)",
    "append": "vf.concat([x, y])",
    "resize": "x.reshape(shape)",
    "tofile": "vf.save(path, x)",
    "block_until_ready": "x.realise()",
    "zero": "vf.zeros_like(x)",
    "repeat": "vf.repeat(x, 2) repeats each element, vf.tile(x, (2, 1)) the array",
    "tile": "vf.tile(x, (2, 1))",
    "is_cuda": "arrays are on the device of the process, which VIEWFOLD_DEVICE names",
    "t": "x.T",
    "cast": "x.astype(dtype)",
    "shrink": "x[0:1, 0:1]",
    "set": "x.at[i].set(y), or x[i] = y",
    "values": "max, min and sort give the array itself, and vf.argmax, vf.argmin and vf.argsort the places",
    "indices": "vf.argmax, vf.argmin and vf.argsort give the places",
    "unfold": "x[:, i + vf.arange(size)] is a window, vf.stack of them all",
}

# of the package and its modules
_NAMES = {
    "np": "functions have NumPy's names, in viewfold itself: vf.sin, vf.linalg.matmul",
    "switch": "vf.cond, one inside of another, or vf.where",
    "hessian": "vf.grad of the sum of vf.grad(f)(x) * v is a row of it",
    "jacrev": "vf.vmap over cotangents: vf.vmap(lambda c: vf.vjp(f, (x,), (c,))[1][0])(vf.eye(n))",
    "jacfwd": "vf.vmap over tangents: vf.vmap(lambda t: vf.jvp(f, (x,), (t,))[1])(vf.eye(n))",
    "tree_util": "vf.tree",
    "functional": "functions are in vf.nn itself: vf.nn.softmax",
    "permutation": "vf.argsort(vf.random.uniform(seed, (n,)))",
    "shuffle": "x[vf.argsort(vf.random.uniform(seed, (n,)))]",
    "choice": "x[vf.argsort(vf.random.uniform(seed, (n,)))[:count]]",
    "randint": "vf.floor(vf.random.uniform(seed, shape, low=a, high=b)).astype('int32')",
    "PRNGKey": "a seed is an integer",
    "key": "a seed is an integer",
    "numpy": "functions have NumPy's names, in viewfold itself: vf.sin, vf.linalg.matmul",
    "lax": "vf.scan, vf.cond, vf.while_loop, vf.fori_loop, and vf.collectives",
    "fft": "there are no Fourier transforms and no complex numbers; numpy.fft.fft(numpy.asarray(x))",
    "optim": "optimisers are functions of yours: vf.tree.map(lambda p, g: p - rate * g, params, gradients)",
    "tensor": "vf.array([1.0, 2.0])",
    "Tensor": "vf.array([1.0, 2.0]); the class is vf.Array",
    "no_grad": "nothing is recorded for derivatives outside of vf.grad",
    "manual_seed": "random functions take a seed: vf.random.normal(1, (2, 3))",
    "pmap": "vf.jit(f, mesh=vf.Mesh(x=4), in_specs=(vf.P('x'),))",
    "shard_map": "vf.jit(f, mesh=vf.Mesh(x=4), in_specs=(vf.P('x'),)): values are those of whole arrays",
    "device_put": "vf.shard(x, vf.P('x')), after vf.set_mesh",
    "tree_map": "vf.tree.map",
    "Variable": "vf.Ref(x)",
    "norm": "vf.linalg.vector_norm and vf.linalg.matrix_norm",
    "psum": "vf.collectives.all_reduce(x, over='x')",
    "pmean": "vf.collectives.all_reduce(x, over='x', reduce='mean')",
    "pmax": "vf.collectives.all_reduce(x, over='x', reduce='max')",
    "pmin": "vf.collectives.all_reduce(x, over='x', reduce='min')",
    "psum_scatter": "vf.collectives.reduce_scatter(x, axis=0, over='x')",
    "allreduce": "vf.collectives.all_reduce(x, over='x')",
    "allgather": "vf.collectives.all_gather(x, axis=0, over='x')",
    "alltoall": "vf.collectives.all_to_all(x, split=0, concat=1, over='x')",
    "all_to_all_single": "vf.collectives.all_to_all(x, split=0, concat=1, over='x')",
    "broadcast": "x as it is: values are those of whole arrays, and a device that lacks a part is sent it",
    "send": "vf.collectives.ppermute(x, over='x', axis=0, pairs=[(0, 1)])",
    "recv": "vf.collectives.ppermute(x, over='x', axis=0, pairs=[(0, 1)])",
    "axis_size": "mesh.shape['x']",
    "ref": "vf.Ref(x)",
    "show": "`viewfold show` writes pages of files: vf.export(f, x).save('f.vf')",
    "onnx": "vf.load_program('model.onnx') reads a model",
    "import_onnx": "vf.load_program('model.onnx') reads a model",
    "load_onnx": "vf.load_program('model.onnx') reads a model",
    "from_onnx": "vf.load_program('model.onnx') reads a model",
    "import_model": "vf.load_program('model.onnx') reads a model",
    "load_model": "vf.load_program('model.onnx') reads a model",
    "InferenceSession": "vf.load_program('model.onnx') reads a model",
    "run": "vf.load_program('net.vf') reads a graph, and is called as a function",
    "parse": "vf.compile(text), of the text of a graph",
    "loads": "vf.compile(text), of the text of a graph",
    "adam": "optimisers are functions of yours: vf.tree.map(lambda p, g: p - rate * g, params, gradients)",
    "sgd": "optimisers are functions of yours: vf.tree.map(lambda p, g: p - rate * g, params, gradients)",
    "custom": "vf.callback(function, like, x) calls a Python function; C functions are registered by vf_register_op",
    "custom_vjp": "vf.stop_gradient(x) and vf.callback(function, like, x); C functions have gradients by vf_register_op",
    "custom_jvp": "vf.stop_gradient(x) and vf.callback(function, like, x); C functions have gradients by vf_register_op",
    "pure_callback": "vf.callback(function, like, x)",
    "io_callback": "vf.tap(x, function)",
    "remat": "vf.checkpoint(f)",
    "value_and_gradient": "vf.value_and_grad(f)",
    "einops": "vf.rearrange(x, 'b h w c -> b c h w')",
    "Function": "vf.jit(f)",
    "function": "vf.jit(f)",
    "script": "vf.jit(f)",
    "trace": "vf.linalg.trace(x); functions are recorded by vf.export(f, x)",
    "Dimension": "vf.Dim('n', 1, 64)",
    "set_num_threads": "VIEWFOLD_THREADS, which is read when viewfold is imported",
    "devices": "`viewfold devices` prints them; VIEWFOLD_DEVICE chooses one",
    "cuda": "VIEWFOLD_DEVICE names where programs run: cpu, c or opencl",
    "set_printoptions": "numpy.set_printoptions(...), and print(numpy.asarray(x))",
    "set_default_dtype": "dtypes are those of arrays: vf.zeros(shape, dtype=vf.float64)",
    "load_state_dict": "vf.load('w.safetensors') gives a dictionary of arrays",
    "state_dict": "vf.save('w.safetensors', params), of a dictionary of arrays",
    "jax": "it is a module of its own: import viewfold.jax",
    "torch": "it is a module of its own: import viewfold.torch",
    "stablehlo": "it is a module of its own: import viewfold.stablehlo",
    "PartitionSpec": "vf.P('x', None)",
    "NamedSharding": "vf.jit(f, mesh=vf.Mesh(x=2), in_specs=(vf.P('x'),)), or vf.shard(x, vf.P('x')) after vf.set_mesh",
    "ShapeDtypeStruct": "an example is an array: vf.zeros(shape, dtype='float32')",
    "float": "vf.float32, as in x.astype(vf.float32)",
    "single": "vf.float32, as in x.astype(vf.float32)",
    "double": "vf.float64, as in x.astype(vf.float64)",
    "half": "vf.float16, as in x.astype(vf.float16)",
    "int": "vf.int32, as in x.astype(vf.int32)",
    "long": "vf.int64, as in x.astype(vf.int64)",
    "short": "vf.int16, as in x.astype(vf.int16)",
}

# Names of options elsewhere (NumPy, torch, JAX), and what they are called here: the first that the function has.
_OPTIONS = {
    "dim": ("axis", "axes"), "dims": ("axes", "axis"), "axes": ("axis",), "axis": ("axes", "shape"), "dim0": ("axis",),
    "keepdim": ("keepdims",), "keep_dims": ("keepdims",), "ddof": ("correction",), "unbiased": ("correction",), "reverse": ("descending",),
    "kernel_size": ("kernel",), "window": ("kernel",), "strides": ("stride",), "pads": ("padding",), "pad": ("padding",),
    "pad_width": ("pads",), "constant_values": ("value",), "count_include_pad": ("count_pads",), "rhs_dilation": ("dilation",),
    "negative_slope": ("alpha",), "num_classes": ("classes",), "depth": ("classes",), "is_causal": ("causal",),
    "attn_mask": ("mask",), "epsilon": ("eps",), "gamma": ("weight",), "beta": ("bias",), "a_min": ("min",), "a_max": ("max",),
    "lo": ("min", "low"), "hi": ("max", "high"), "minval": ("low",), "maxval": ("high",), "loc": ("mean",), "scale": ("std",),
    "size": ("shape",), "newshape": ("shape",), "shifts": ("shift",), "num": ("count",), "p": ("ord",), "diagonal": ("k",), "n_cols": ("k",),
    "axis_name": ("over",), "split_axis": ("split",), "concat_axis": ("concat",), "perm": ("pairs",), "op": ("reduce",),
    "initial_value": ("init",), "cond_fun": ("condition",), "body_fun": ("body",), "init_val": ("init",), "f": ("body",),
    "argnum": ("argnums",), "in_dims": ("in_axes",), "out_dims": ("out_axes",), "static_argnum": ("static_argnums",),
}

# Where an option of one function alone has no counterpart.
_LACKS = {
    ("vmap", "axis_name"): "what is summed over the batch is summed behind it: vf.vmap(f)(x).sum(axis=0)",
    ("jit", "out_specs"): "vf.shard(y, vf.P('x')) of a result, inside of the function, divides it",
    ("jit", "out_shardings"): "vf.shard(y, vf.P('x')) of a result, inside of the function, divides it",
    ("jit", "in_shardings"): "in_specs=(vf.P('x'),) with mesh=vf.Mesh(x=2) divides arguments",
}


def option_of(option: str, known: Any) -> str | None:
    """What an option of other libraries is called by a function that knows these."""
    return next((k for k in _OPTIONS.get(option, ()) if k in known), None)


def of_option(function: Any, error: TypeError, given: Any) -> TypeError | None:
    """What to say where a call has failed because of an option that the function does not have; None: it failed otherwise."""
    found = re.fullmatch(r"(\S+)\(\) got an unexpected keyword argument '(\w+)'.*", str(error))
    if not found or found[2] not in given or found[1].rpartition(".")[2] != function.__name__:
        return None
    known = [p for p, q in inspect.signature(function).parameters.items() if q.kind in (q.KEYWORD_ONLY, q.POSITIONAL_OR_KEYWORD)]
    name, option = function.__name__, found[2]
    ours, lacks = option_of(option, known), _LACKS.get((name, option))
    if ours and not lacks:
        return TypeError(f"{name}: {option} is called {ours} here, as in {name}(x, {ours}=...)")
    return _no_option(name, option, known)


def refuse_options(name: str, given: Any) -> NoReturn:
    """Of a function that has none, but takes any in order to say so."""
    raise _no_option(name, next(iter(given)), ())


def takes_none(function: Any) -> Any:
    """Such a function, whose signature is as it is described: without options."""
    signature = inspect.signature(function)
    function.__signature__ = signature.replace(
        parameters=[p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD])
    return function


def _no_option(name: str, option: str, known: Any) -> TypeError:
    instead = _LACKS.get((name, option)) or WITHOUT.get(option)
    listed = f"its options are {', '.join(known)}" if known else "" if instead else "it has none"
    return TypeError(f"{name} has no option {option}; {instead or ''}{'; ' if instead and listed else ''}{listed}")


def of_count(function: Any, error: TypeError) -> TypeError | None:
    """What to say where a call has failed because of the number of its arguments; None: it failed otherwise."""
    found = re.fullmatch(r"(\S+)\(\) (takes .* positional arguments? but .*|missing \d+ required .* arguments?: .*)", str(error))
    if not found or found[1].rpartition(".")[2] != function.__name__:
        return None
    said = inspect.getdoc(function)
    taken = ", ".join(str(q.replace(annotation=q.empty)) for q in inspect.signature(function).parameters.values())
    return TypeError(f"{found[1]}() {found[2]}; it is {function.__name__}({taken})" + (f": {said.splitlines()[0]}" if said else ""))


def with_options(function: Any) -> Any:
    """The function, which says of options that it does not have what they are called here."""
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            raise of_option(function, error, options) or of_count(function, error) or error from None

    return call


# functions without options that are called wrongly as often, and not within loops
_EXPLAINED = ("save", "load", "print", "tile", "compile", "load_program", "grad", "name_axes", "fori_loop", "vjp", "jvp", "ppermute",
              "all_to_all", "reduce_scatter", "all_gather")


def say_options(names: dict[str, Any], public: Any) -> None:
    """The same of all functions of a module that have options."""
    for name in public:
        function = names.get(name)
        if inspect.isfunction(function) and not hasattr(function, "__wrapped__") and (name in _EXPLAINED or any(
                p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or p.default is not p.empty for p in inspect.signature(function).parameters.values())):
            names[name] = with_options(function)

_DECOMPOSITIONS = ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "pinv", "qr",
                   "slogdet", "solve", "svd", "svdvals")
_LAYERS = ("Module", "Linear", "Conv1d", "Conv2d", "LayerNorm", "BatchNorm2d", "Dropout", "Embedding", "Sequential", "ReLU",
           "MSELoss", "CrossEntropyLoss", "Parameter")


_BY_NAME = {name: advice for names, advice in NAMES.items() for name in names.split()}


def _in_place(name: str) -> str:
    """What does in place of torch's method NAME_, which writes into its array."""
    import viewfold

    said = f"x = vf.{name}(x, ...)" if callable(vars(viewfold).get(name)) else of_array(name) or "operations give new ones"
    return f"arrays do not change: {said}" + ("" if "vf.Ref" in said else ", or r[...] = value of a vf.Ref")


def of_setting(name: str) -> str:
    """What to say where an attribute of an array is set."""
    from ._array import Array

    other = {"shape": "x.reshape(shape)", "dtype": "x.astype(dtype)", "T": "y.T"}.get(name)
    if other:
        return f"the {name} of an array stays; {other} is another array"
    if hasattr(Array, name) and name not in _METHODS:
        return f"the {name} of an array stays: it is computed"
    advice = of_array(name)
    return f"arrays have no {name} that can be set" + (
        f"; {advice}" if advice and name in _METHODS else "; what belongs to an array is kept beside it, as in a dictionary")


def of_array(name: str) -> str | None:
    """What does in place of a method or attribute that arrays do not have."""
    if name.endswith("_") and not name.startswith("_") and name not in _METHODS:
        return _in_place(name[:-1])
    if name in _METHODS or name.startswith("_"):
        return _METHODS.get(name)
    import viewfold

    for module in (viewfold, viewfold.linalg):
        if callable(getattr(module, name, None)) if name in vars(module) else False:
            return f"{module.__name__.replace('viewfold', 'vf')}.{name}(x)"
    advice = of_name(name)
    if advice:
        return advice
    modules = {"viewfold": viewfold} | {f"viewfold.{m}": getattr(viewfold, m) for m in ("nn", "linalg")}
    if name in vars(viewfold.nn):
        return f"vf.nn.{name}(x)"
    found = _elsewhere(name, modules)
    return found.replace("viewfold", "vf") + (("(x)" if ";" not in found else "") if found.startswith("it is") else "") if found else None


def of_name(name: str) -> str | None:
    """The same of a name that neither viewfold nor its modules have."""
    if name in _DECOMPOSITIONS:
        return (f"there are no decompositions of matrices; numpy.linalg.{name}(numpy.asarray(x)), and inside of compiled "
                "functions vf.callback")
    if name in _LAYERS:
        return "layers are functions of arrays, as in x @ w + b, and modules dictionaries of them; vf.nn has what they consist of"
    return _NAMES.get(name) or _BY_NAME.get(name)


# of an operation of the library that another one calls so: how it is written in graphs, or what there is instead
_WRITTEN, _INSTEAD = r"here it is (.*?)(?: \(call|$)", r"there is no such operation; (?!nearest|there are|docs/|here it is)(.*?)(?: \(call|$)"


def _elsewhere(name: str, modules: dict[str, Any]) -> str | None:
    """What the library's table of other libraries' names says; modules: by their names, as `viewfold.nn`."""
    from ._array import apply

    try:
        apply(name, ())
    except Exception as error:  # of whatever kind: it says what the name may stand for
        found, instead = re.search(_WRITTEN, str(error)), re.search(_INSTEAD, str(error))
        if instead and "%" not in instead[1] and "@" not in instead[1]:
            return instead[1]
        written = found[1] if found else ""
        operation = written.split()[2] if written.startswith("%") else written
        for place, functions in modules.items():
            if operation in vars(functions) and ";" not in written:
                return f"it is {place}.{operation}" + (f"; as a text, {written}" if " " in written else "")
        return f"as operations of viewfold.apply it is {written}" if written else None
    return None


def _near(name: str, modules: dict[str, Any]) -> list[str]:
    """Where there are functions of such a name, here or in a module: conv for conv2d."""
    from difflib import get_close_matches

    places = {key: f"{place}.{key}" for place, module in modules.items()
              for key in getattr(module, "__all__", vars(module)) if not key.startswith("_")}
    begins = [key for key in places if len(key) > 3 and name.startswith(key)]
    return [places[key] for key in begins or get_close_matches(name, places, 3, 0.75)]


def plain_error(text: str) -> AttributeError:
    """An error to which Python adds no suggestion of its own: names spelt alike are often other operations."""
    return AttributeError(text, name=None, obj=None)


def missing(place: str, name: str, behind: str = "") -> Exception:
    """The error of a name that the module lacks; behind: what it has instead, said where nothing else is known. Called by the module's
    __getattr__, whose caller may be an import: Python keeps what that raises only where it is an ImportError."""
    error = _missing(place, name, behind)
    return ImportError(str(error), name=place) if imports_from(sys._getframe(2)) else error


def _missing(place: str, name: str, behind: str) -> AttributeError:
    import viewfold

    modules = {"viewfold": viewfold} | {f"viewfold.{m}": getattr(viewfold, m) for m in ("nn", "linalg", "random", "collectives")}
    if name.startswith("_"):
        return AttributeError(f"module {place!r} has no attribute {name!r}")
    elsewhere = [where for where, module in modules.items() if where != place and name in (
        getattr(module, "__all__", None) or [k for k, v in vars(module).items() if not inspect.ismodule(v)])]
    if elsewhere and place != "viewfold.random":
        return plain_error(f"{place} has no {name}; it is {elsewhere[0]}.{name}")
    layer = "layers are functions of arrays" if place == "viewfold.nn" and name[0].isupper() else None
    advice = of_name(name) or (of_name("Linear") if layer else None) or _elsewhere(name, modules)
    if advice:
        return plain_error(f"{place} has no {name}; {advice}")
    near = _near(name, modules)
    return plain_error(f"module {place!r} has no attribute {name!r}; " +
                       (f"near to it: {', '.join(near)}" if near else behind or "functions have NumPy's names, here and in nn, linalg, random and collectives, and operations by name: viewfold.apply"))
