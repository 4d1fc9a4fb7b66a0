"""Rows of symbolic_sizes.py: operations on arrays with symbolic sizes, and NumPy's results."""
from sizes import derived, moved, reduced

ROWS = reduced.ROWS + moved.ROWS + derived.ROWS
