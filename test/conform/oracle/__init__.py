"""One row for each operation of text graphs: random operands and attributes, and what NumPy says of them."""
from oracle import elementwise, reduce, views

ROWS = {}
for part in (elementwise, views, reduce):
    twice = ROWS.keys() & part.ROWS.keys()
    assert not twice, f"two rows for {sorted(twice)}"
    ROWS.update(part.ROWS)
