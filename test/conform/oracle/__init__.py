"""One row for each operation of text graphs: random operands and attributes, and NumPy's result.

A row may be there before its operation is.
"""
from oracle import (batches, collectives, control, descriptors, elementwise, functions, indirect, ordered, reduce, views,
                    window)

ROWS = {}
for part in (elementwise, views, batches, indirect, descriptors, reduce, window, ordered, functions, control,
             collectives):
    twice = ROWS.keys() & part.ROWS.keys()
    assert not twice, f"two rows for {sorted(twice)}"
    ROWS.update(part.ROWS)
ELEMENTWISE = elementwise.ROWS.keys() | functions.ELEMENTWISE  # one element of each operand for each of the result
