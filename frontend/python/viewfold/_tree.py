"""Arguments and results as trees: lists, tuples and dictionaries with arrays at the leaves."""

from __future__ import annotations

from typing import Any, Callable


class Form:
    """What a tree is without its leaves: equal for trees that match."""

    __slots__ = ("kind", "keys", "children")

    def __init__(self, kind: Any, keys: tuple[Any, ...] = (), children: tuple["Form", ...] = ()) -> None:
        self.kind, self.keys, self.children = kind, keys, children

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self.kind, self.keys, self.children) == (
            other.kind, other.keys, other.children)

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.children))


LEAF = Form("leaf")
NONE = Form("none")


def flatten(tree: Any) -> tuple[list[Any], Form]:
    """The leaves from left to right, and the form."""
    leaves: list[Any] = []

    def walk(t: Any) -> Form:
        if t is None:
            return NONE
        if isinstance(t, dict):
            keys = tuple(sorted(t, key=str))
            return Form(dict, keys, tuple(walk(t[k]) for k in keys))
        if isinstance(t, (list, tuple)):
            kind = type(t)
            return Form(kind, (), tuple(walk(c) for c in t))
        leaves.append(t)
        return LEAF

    return leaves, walk(tree)


def paths(form: Form, written: str = "_{}") -> list[str]:
    """What to call each leaf behind the name of the tree: "_w_0" for tree["w"][0], "" for a tree that is a leaf. written:
    how a key is, which `{!r}` stands for as Python writes it."""
    if form.kind == "leaf":
        return [""]
    keys = form.keys or range(len(form.children))
    return [written.format(key) + path for key, child in zip(keys, form.children) for path in paths(child, written)]


def unflatten(form: Form, leaves: Any) -> Any:
    remainder = iter(leaves)

    def build(f: Form) -> Any:
        if f.kind == "leaf":
            return next(remainder)
        if f.kind == "none":
            return None
        children = [build(c) for c in f.children]
        if f.kind is dict:
            return dict(zip(f.keys, children))
        if hasattr(f.kind, "_fields"):
            return f.kind(*children)
        return f.kind(children)

    return build(form)


def _keys_of(form: Form) -> set[str]:
    """The keys of all dictionaries of a form."""
    keys = {str(key) for key in form.keys}
    return keys.union(*(_keys_of(child) for child in form.children))


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The function of the leaves, and of those of other trees of the same form."""
    leaves, form = flatten(tree)
    rows = [leaves]
    for other in others:
        row, other_form = flatten(other)
        if other_form != form:
            first, second = (sorted(_keys_of(f)) for f in (form, other_form))
            raise ValueError("trees of different forms; all take the same lists and keys"
                             + (f", and these have the keys {first} and {second}" if first != second else ""))
        rows.append(row)
    return unflatten(form, [function(*group) for group in zip(*rows)])


def __getattr__(name: str) -> Any:
    from ._hints import missing

    raise missing("viewfold.tree", name, "it has flatten, unflatten and map: flatten(tree)[0] are the leaves, flatten(tree)[1] the form")
