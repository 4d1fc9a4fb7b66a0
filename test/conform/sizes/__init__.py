"""Rows of symbolic_sizes.py: operations on arrays whose sizes are variables, and what NumPy makes of them."""
from sizes import derived, moved, reduced

ROWS = reduced.ROWS + moved.ROWS + derived.ROWS
