"""One row for each operation of text graphs: random operands and attributes, and what NumPy says of them.

A row for an operation that is not there yet waits for it.
"""
from oracle import batches, control, elementwise, functions, indirect, ordered, reduce, views, window

ROWS = {}
for part in (elementwise, views, batches, indirect, reduce, window, ordered, functions, control):
    twice = ROWS.keys() & part.ROWS.keys()
    assert not twice, f"two rows for {sorted(twice)}"
    ROWS.update(part.ROWS)
ELEMENTWISE = elementwise.ROWS.keys() | functions.ELEMENTWISE  # one element of each operand for one
