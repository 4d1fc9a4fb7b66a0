"""Refusals of graphs that are legal for all sizes in the declared bounds, which are accepted nevertheless:
(pattern of the message, why the fact that it names really cannot be known, or which limit of the
specification it states)."""
import re

ADMISSIBLE = [
]


def admitted(story):
    return any(re.search(pattern, story) for pattern, _ in ADMISSIBLE)
