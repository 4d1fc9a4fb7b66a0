"""Conversions between all pairs of axes of each class, of arrays of three ranks, forwards and backwards, beside NumPy's
einsum and reshape."""
import itertools

import numpy as np

from binding import Refused

from .calls import Calls, number, text

ORDERS = {"image": [["".join(p) for p in itertools.permutations("bhwc")], ["bdhwc", "bcdhw", "cdhwb", "hbwdc"]],
          "sequence": [["".join(p) for p in itertools.permutations("bwc")]],
          "class": [["b"], ["bt", "tb"]],
          "data": [["b"], ["bf", "fb"], ["bhw", "hwb", "hbw"], ["bxyz", "zyxb"]]}
SIZES = dict(b=3, h=2, w=4, c=2, d=3, t=2, f=5, x=2, y=3, z=2)


def rows(x, axes):
    """An example in each row, its features in the order of the other axes, of which the first stands where b was."""
    order = axes.translate({ord("b"): axes[0], ord(axes[0]): "b"})
    return np.einsum(f"{axes}->{order}", x).reshape(x.shape[axes.index("b")], -1), order


def cases():
    """(class, axes of the array, axes that are asked for)"""
    for kind, groups in ORDERS.items():
        for group in groups:
            for own in group:
                others = group if kind != "data" else [own]
                if kind == "class":
                    others = ["b", "bt", "tb"]
                for to in dict.fromkeys(others + ([] if kind == "class" else ["bf"])):
                    yield kind, own, to


def wanted(kind, own, to, x, g):
    """x in these axes, and g led back; einsum and reshape alone."""
    if own == to:
        return x, g
    if kind == "class" and to == "b":
        first = x.reshape(-1) if own == "b" else np.einsum(f"{own}->bt", x)[:, 0]
        back = np.zeros((SIZES["b"], SIZES["t"]), g.dtype)
        back[:, 0] = g
        return first, np.einsum(f"bt->{own}", back)
    if kind == "class" and own == "b":
        return (x[:, None], g[:, 0]) if to == "bt" else (x[None], g[0])
    if sorted(own) == sorted(to):
        return np.einsum(f"{own}->{to}", x), np.einsum(f"{to}->{own}", g)
    flat, order = rows(x, own)
    spread = g.reshape([SIZES[a] for a in order])
    return flat, np.einsum(f"{order}->{own}", spread)


def failures(context):
    """A name, and what is wrong or None, for each case."""
    draw = np.random.default_rng(1)
    for kind, own, to in cases():
        x = draw.integers(1, 50, [SIZES[a] for a in own]).astype("f4")
        library = Calls(context, False)
        try:
            view = library.view(kind)
            library.call("vf_data_put", view, text(own), library.array(x))
            got = library.call("vf_data_get", view, text(to), number("f8"))
            g = draw.integers(1, 50, shape_of(kind, own, to, x)).astype("f8")
            there, back = wanted(kind, own, to, x, g)
            library.want(got, there.astype("f8"), "get")
            library.call("vf_data_backward_put", view, text(to), library.array(g))
            library.want(library.call("vf_data_backward_get", view, None, 0), back.astype("f4"), "backward_get")
            why = library.check(False)
        except Refused as refused:
            why = str(refused)
        finally:
            library.close()
        yield f"{kind} {own} as {to}", why


def shape_of(kind, own, to, x):
    if to == "bf" and own != "bf" and sorted(own) != ["b", "f"]:
        return (SIZES["b"], x.size // SIZES["b"])
    if kind == "class" and own == "b":
        return {"b": (3,), "bt": (3, 1), "tb": (1, 3)}[to]
    return tuple(SIZES[a] for a in to)
