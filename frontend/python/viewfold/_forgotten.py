"""Is what a statement makes lost? `x[0][0] = y` writes to an array that nothing else refers to, `x.at[0].set(y)` gives one that nothing keeps."""

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


_CALLS = {dis.opmap[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "CALL_FUNCTION", "CALL_METHOD") if name in dis.opmap}
_CACHE, _DROP = dis.opmap.get("CACHE", 0), dis.opmap["POP_TOP"]


def _drops(frame: Any) -> bool:
    """Is a call what the frame does now, and does it drop what the call gives?"""
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and code[at] == _CACHE:  # calls of Python by Python stand at the last cache of the instruction
        at -= 2
    if at < 0 or code[at] not in _CALLS:
        return False
    at += 2
    while at < len(code) and code[at] == _CACHE:
        at += 2
    return at < len(code) and code[at] == _DROP


def _can_see_drops() -> bool:
    """Does the interpreter's code look as it is taken to?"""
    seen: list[bool] = []

    def look() -> None:
        seen.append(_drops(sys._getframe(1)))

    look()
    kept = look()
    return seen == [True, False] and kept is None


_SEES_DROPS = sys.implementation.name == "cpython" and _can_see_drops()


def is_dropped() -> bool:
    """Asked in a function: does the statement that calls it drop its result?"""
    return _SEES_DROPS and _drops(sys._getframe(2))
