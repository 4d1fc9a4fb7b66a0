"""A line on a terminal that says how far work is that takes more than a second."""

from __future__ import annotations

import sys
import time

from . import _native

_WIDTH = 24
_AFTER = 1.0  # seconds
_BETWEEN = 0.1


class _Line:
    def __init__(self) -> None:
        self.began = 0.0  # 0: no work has told anything yet
        self.drawn = 0.0  # 0: nothing is on the terminal

    def __call__(self, what: str | None = None, done: int = 0, total: int = 0) -> None:
        """With nothing: the work has ended."""
        now = time.monotonic()
        if what is None:
            if self.drawn:
                self._write("")
            self.began = self.drawn = 0.0
            return
        if not self.began:
            self.began = now
        if now - self.began < _AFTER or now - self.drawn < _BETWEEN or not (sys.stderr and sys.stderr.isatty()):
            return
        self.drawn = now
        full = int(_WIDTH * done / total) if total else 0
        count = f": {done} of {total}" if total else ""
        self._write(f"[{'#' * full}{'.' * (_WIDTH - full)}] {what}{count}")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()


_native.set_progress(_Line())
