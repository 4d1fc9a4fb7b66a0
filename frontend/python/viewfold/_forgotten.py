"""Is an array written to that nothing refers to but the statement itself, as in `x[0][0] = y`? What is written is then lost."""

from __future__ import annotations

import dis
import sys
from typing import Any

_counts: list[int] = []


class _Probe:
    """Has its references counted where an array has: first of its __setitem__."""

    def __setitem__(self, key: Any, value: Any) -> None:
        _counts.append(sys.getrefcount(self))


def _count_references() -> int:
    """The references of an array without a name within __setitem__; 0: one with a name has as few, so that nothing is told."""
    if not hasattr(sys, "getrefcount") or sys.implementation.name != "cpython":
        return 0
    named = _Probe()
    _Probe()[0] = 0
    named[0] = 0
    return _counts[0] if _counts[0] < _counts[1] else 0


_FORGOTTEN = _count_references()
# that of statements: other callers of __setitem__, compiled ones above all, hold what they refer to in other ways
_WRITES = {dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap}


def is_forgotten(references: int) -> bool:
    """Asked in __setitem__, with the references that sys.getrefcount gives there."""
    if references != _FORGOTTEN:
        return False
    caller = sys._getframe(2)
    return caller.f_lasti >= 0 and caller.f_code.co_code[caller.f_lasti] in _WRITES
