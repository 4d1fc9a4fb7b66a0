"""Explanations of compiled functions, as text and as a page."""

from __future__ import annotations

import html
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Callable

from . import _native


_RUNS = 5  # of which times are taken


def page_of(text: str, times: str | None, name: str) -> str | None:
    """The page that `viewfold show` makes of a graph, complete in itself; None: it cannot be made here."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"{name}.vf")
        file.write_text(text, encoding="utf-8")
        words = [sys.executable, "-m", "viewfold", "show", file.name]
        if times is not None:
            pathlib.Path(folder, "times.json").write_text(times, encoding="utf-8")
            words += ["--profile", "times.json"]
        try:
            made = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
        except OSError:
            return None
    # 3: there is no code, as without LLVM, and the page says so
    return made.stdout.decode() if made.returncode in (0, 3) and made.stdout else None


class Explanation:
    """The graph and the kernels of a function for some arguments; as text, or as a page in a notebook."""

    def __init__(self, graph: Any, program: Any, arrays: Any = None, name: str = "graph") -> None:
        self._graph, self._program, self._arrays, self._name = graph, program, arrays, name

    @property
    def graph(self) -> str:
        """The graph as recorded."""
        return self._graph.text()

    def dump(self, stage: str) -> str:
        """The graph at a stage: graph, kernels, index, loops, llvm, asm; on a mesh also shard and spmd."""
        return self._graph.dump(stage)

    @property
    def kernels(self) -> str:
        """What each kernel computes, fuses and reads."""
        return self.dump("kernels")

    @property
    def cost(self) -> Any:
        """Bytes and operations of a run."""
        return self._program.cost()

    @property
    def received(self) -> tuple[int, int]:
        """Bytes that devices of a mesh have received in all runs: the device that received most, and all together."""
        return self._program.received()

    def __str__(self) -> str:
        return f"{self.graph}\n{self.kernels}"

    __repr__ = __str__

    def _times(self, form: str) -> str | None:
        """The profile of a few runs; None where there are no arguments, or no profile (sizes that vary, meshes)."""
        if self._arrays is None:
            return None
        try:
            with _native.Recording(silent=True):
                return self._program.profile(self._graph, self._arrays, form, _RUNS)
        except (ValueError, NotImplementedError):
            return None

    def page(self) -> str:
        """A page of HTML: the graph, its kernels, loops and code, and each kernel's share of the time."""
        made = page_of(self.graph, self._times("json"), self._name)
        return made if made is not None else f"<!DOCTYPE html><title>{html.escape(self._name)}</title>{self._plain()}"

    def _plain(self) -> str:
        parts = [("time", self._times("text"))] + [(s, self.dump(s)) for s in ("graph", "kernels", "index", "loops")]
        return "".join(f"<details{' open' if s in ('time', 'kernels') else ''}><summary>{s}</summary><pre>"
                       f"{html.escape(text)}</pre></details>" for s, text in parts if text)

    def _repr_html_(self) -> str:
        shown = html.escape(self.page(), quote=True)
        return f'<iframe srcdoc="{shown}" style="width:100%;height:40em;border:1px solid #8884"></iframe>'


def explain(function: Any) -> Callable[..., Explanation]:
    """vf.explain(f)(x, y): what the compiler made of the function for these arguments."""
    from ._jit import jit
    from ._trace import _check_function

    _check_function(function, "explain")
    behind = getattr(function, "_jit", None) or jit(function)._jit

    def call(*args: Any, **kwargs: Any) -> Explanation:
        traced, arrays, _ = behind.prepare(args, kwargs)
        return Explanation(traced.graph, traced.program, tuple(arrays), behind.name)

    return call
