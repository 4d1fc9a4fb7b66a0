"""Operations of graphs that have a mesh: values are those of whole arrays, however these are divided."""
import numpy as np

from oracle.control import written
from oracle.draw import TextCase, Want

DEVICES = {"x": 2, "y": 3, "x.y": 6, "y.x": 6}


def values(x):
    """The elements, those of bf16 as numbers."""
    return x.wide() if x.dtype == "bf16" else x.array


def case(d, x, line, want, dtype=None):
    """A graph of one operation on a mesh, whose operand is divided somehow."""
    rank = len(x.shape)
    divided = ",".join([d.one(["-", "x", "x.y"])] + ["-"] * (rank - 1)) if rank else ""
    text = f"mesh @m [x=2,y=3]\ngraph @main(%x: {written(x.dtype, x.shape)} @m[{divided}]) {{\n"
    text += f"  %y = {line}\n  return %y\n}}\n"
    return TextCase(text, [x], "y", [Want(dtype or x.dtype, want)])


def shard(d):
    x = d.array(d.any_dtype(), d.shape(most=3))
    spec = ",".join([d.one(["-", "x", "y.x"])] + ["-"] * (len(x.shape) - 1)) if x.shape else ""
    return case(d, x, f"{d.one(['shard', 'reshard'])} %x to=[{spec}]", values(x))


def same(name, axes):
    """The same elements, whatever was pending or divided."""
    def row(d):
        x = d.array(d.any_dtype(), d.shape(most=3, least=1 if axes else 0))
        at = [d.integer(-len(x.shape), len(x.shape) - 1) for _ in range(axes)]
        over = d.one([""] + [f" over=[{k}]" for k in DEVICES])
        how = {0: "", 1: f" axis={at[0]}" if at else "", 2: f" split={at[0]} concat={at[-1]}" if at else ""}[axes]
        return case(d, x, f"{name} %x{over}{how}", values(x))
    return row


def blocks(d, dtype):
    """An array, an axis, and axes of the mesh along which that has blocks: [.., blocks, elements, ..]."""
    over = d.one(list(DEVICES))
    shape = d.shape(least=1, most=2, high=3)
    axis = d.integer(0, len(shape) - 1)
    whole = shape[:axis] + (DEVICES[over] * shape[axis],) + shape[axis + 1:]
    x = d.array(dtype, whole, "plain")
    return x, over, axis, values(x).reshape(shape[:axis] + (DEVICES[over],) + shape[axis:])


def all_reduce(d):
    if d.one([True, False]):
        return same("all_reduce", 0)(d)
    by = {"max": np.max, "min": np.min, "any": np.any, "all": np.all}
    name = d.one(list(by))
    x, over, axis, cut = blocks(d, "i32" if name in ("max", "min") else "bool")
    return case(d, x, f"all_reduce %x over=[{over}] axis={axis} reduce={name}", by[name](cut, axis))


def all_to_all(d):
    if d.one([True, False]):
        return same("all_to_all", 2)(d)
    x, over, axis, cut = blocks(d, d.any_dtype())
    return case(d, x, f"all_to_all %x over=[{over}] split=0 concat={axis} tiled=false", cut)


def pmean(d):
    """Quotients of multiples: exact."""
    over = d.one([""] + list(DEVICES))
    shape = d.shape(most=3)
    x = d.array("f32", shape, "plain")
    x.array[...] = d.array("i8", shape).array.astype(np.float32) * 6
    named = f" over=[{over}]" if over else ""
    return case(d, x, f"pmean %x{named}", (x.array / DEVICES.get(over, 6)).astype(np.float32))


def ppermute(d):
    x, over, axis, cut = blocks(d, d.any_dtype())
    count = DEVICES[over]
    to = [k for k in range(count) if d.one([True, True, False])]
    pairs = [(d.integer(0, count - 1), k) for k in to]
    want = np.zeros_like(cut)
    for source, k in pairs:
        want[(slice(None),) * axis + (k,)] = cut[(slice(None),) * axis + (source,)]
    named = ",".join(f"[{a},{b}]" for a, b in pairs)
    return case(d, x, f"ppermute %x over=[{over}] axis={axis} pairs=[{named}]", want.reshape(x.shape))


def axis_index(d):
    over = d.one(list(DEVICES))
    x = d.array("f32", (2,))
    return case(d, x, f"axis_index over=[{over}]", np.arange(DEVICES[over], dtype=np.int32), "i32")


def distributed_broadcast(d):
    if d.one([True, False]):
        return replicated("distributed_broadcast")(d)
    x, over, axis, cut = blocks(d, d.any_dtype())
    return case(d, x, f"distributed_broadcast %x over=[{over}] axis={axis}", np.take(cut, 0, axis))


def replicated(name):
    def row(d):
        x = d.array(d.any_dtype(), d.shape(most=3))
        return case(d, x, f"{name} %x", values(x))
    return row


ROWS = {"shard": shard, "all_reduce": all_reduce, "all_gather": same("all_gather", 1),
        "reduce_scatter": same("reduce_scatter", 1), "all_to_all": all_to_all, "pmean": pmean,
        "ppermute": ppermute, "axis_index": axis_index, "distributed_broadcast": distributed_broadcast,
        "gather_all_axes": replicated("gather_all_axes"), "transfer_to": replicated("transfer_to")}
