"""Programs that JAX and viewfold both compute: tables of steps, random programs of them, compositions of them."""
from . import contract, control, elementwise, ordered, shape, writes

GROUPS = {"elementwise": (elementwise.FLOATS, 6), "integers": (elementwise.INTEGERS, 2), "moves": (shape.MOVES, 5),
          "reductions": (shape.REDUCTIONS, 3), "ordered": (ordered.ROWS, 3), "contract": (contract.ROWS, 3),
          "control": (control.ROWS, 2), "writes": (writes.ROWS, 2)}  # name: (rows, how often)
ROWS = {name: row for rows, _ in GROUPS.values() for name, row in rows.items()}
