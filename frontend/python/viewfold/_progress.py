"""How far work is that takes more than a second: a line on a terminal, a bar in a notebook."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

from . import _native

_WIDTH = 24
_AFTER = 1.0  # seconds
_BETWEEN = 0.1


class _Bar:
    """What a notebook shows: nothing where the work has ended."""

    def __init__(self, what: str = "", done: int = 0, total: int = 0) -> None:
        self.what, self.done, self.total = what, done, total

    def __repr__(self) -> str:
        return f"{self.what}: {self.done} of {self.total}" if self.total else self.what

    def _repr_html_(self) -> str:
        if not self.what:
            return ""
        share = f" value='{self.done}' max='{self.total}'" if self.total else ""
        return f"<progress{share}></progress> {html.escape(repr(self))}"


def _notebook() -> Any:
    """IPython's module for what cells show, where this is a notebook's kernel; else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return sys.modules.get("IPython.display") if hasattr(shell, "kernel") else None


class _Line:
    shown: Any = None  # the bar of a notebook

    def __init__(self) -> None:
        self.began = 0.0  # 0: no work has told anything yet
        self.drawn = 0.0  # 0: nothing is on the terminal

    def __call__(self, what: str | None = None, done: int = 0, total: int = 0) -> None:
        """With nothing: the work has ended."""
        now = time.monotonic()
        if what is None:
            if self.shown:
                self.shown.update(_Bar())
            elif self.drawn:
                self._write("")
            self.shown = None
            self.began = self.drawn = 0.0
            return
        if not self.began:
            self.began = now
        if now - self.began < _AFTER or now - self.drawn < _BETWEEN:
            return
        if notebook := _notebook():
            self.drawn = now
            self._show(notebook, _Bar(what, done, total))
            return
        if not (sys.stderr and sys.stderr.isatty()):
            return
        self.drawn = now
        full = int(_WIDTH * done / total) if total else 0
        count = f": {done} of {total}" if total else ""
        self._write(f"[{'#' * full}{'.' * (_WIDTH - full)}] {what}{count}")

    def _show(self, notebook: Any, bar: _Bar) -> None:
        if self.shown:
            self.shown.update(bar)
        else:
            self.shown = notebook.display(bar, display_id=True)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()


_native.set_progress(_Line())
