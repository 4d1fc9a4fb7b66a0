"""Imports of what there is not, `import viewfold.numpy` and `from viewfold import relu`: what to write instead.

Python says of the first only that there is no such module, and of the second replaces what a module says of the
attribute that it lacks.
"""

from __future__ import annotations

import dis
import sys
from difflib import get_close_matches
from typing import Any

MODULES = ("nn", "linalg", "random", "collectives", "jax", "torch", "stablehlo")
_FROM = dis.opmap.get("IMPORT_FROM")


def imports_from(frame: Any) -> bool:
    """Is an import of a name what the frame does now?"""
    code, at = frame.f_code.co_code, frame.f_lasti
    return _FROM is not None and 0 <= at < len(code) and code[at] == _FROM


def _advice(parent: str, name: str) -> str:
    """What there is instead of the module `parent.name`."""
    from ._hints import missing

    near = get_close_matches(name, MODULES, 1, 0.7)
    module = sys.modules.get(parent)
    if name in vars(module or sys):
        return f"{name} is no module: from {parent} import {name}"
    if parent == "viewfold" and near:
        return f"near to it: viewfold.{near[0]}"
    said = str(missing(parent, name)).partition("; ")[2]
    if parent != "viewfold":
        return f"functions are in {parent} itself: from {parent} import NAME" + (f"; {said}" if "near to it" in said else "")
    if not said or "near to it" in said or "by name" in said:
        said = "functions are in viewfold itself"
    return f"{said}; import viewfold as vf; its modules are {', '.join('viewfold.' + m for m in MODULES)}"


class _Finder:
    """Asked last, of modules that no other finder has found."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        parent, _, last = name.rpartition(".")
        if parent.partition(".")[0] != "viewfold" or last.startswith("_"):
            return None
        caller = sys._getframe(2).f_code if hasattr(sys, "_getframe") else None
        if caller is None or caller.co_name != "_find_and_load_unlocked":  # importlib.util.find_spec asks whether there is one
            return None
        raise ModuleNotFoundError(f"there is no module {name}; {_advice(parent, last)}", name=name)


def say_imports(modules: Any) -> None:
    """Have imports from the package and from these modules of it say so."""
    for module in modules:
        module.__path__ = []  # that a module in it is looked for, by the finder alone
    sys.meta_path.append(_Finder())  # type: ignore[arg-type]
