"""Random programs: steps over a few arrays, interpreted by both systems."""
import math

import jax
import jax.numpy as jnp

from . import GROUPS, ROWS
from .row import MOST_ELEMENTS, MOST_RANK, Draw, Known, Unfit

SHAPES = [(3,), (2, 3), (3, 2), (2, 3, 2), (), (4,), (1, 3), (3, 3), (6,), (2, 2, 3), (2, 1, 2, 3), (1,)]
DTYPES = {"f": jnp.float64, "i": jnp.int64}


def listed(made):
    return list(made) if isinstance(made, (list, tuple)) else [made]


class Program:
    """Steps (row, operand numbers, attributes) over `inputs`, and the numbers of the results, floats."""

    def __init__(self, random, most_steps, only=""):
        self.inputs = [random.choice(SHAPES) for _ in range(random.randint(1, 3))]
        self.steps, draw = [], Draw(random, [Known(s, "f") for s in self.inputs])
        wanted = random.randint(4, most_steps)
        while len(self.steps) < wanted or not self.loose(draw.known):
            if only and random.random() < 0.5:
                self.add(draw, only)
            rows, _ = GROUPS[random.choices(list(GROUPS), [often for _, often in GROUPS.values()])[0]]
            self.add(draw, random.choice(list(rows)))
        loose = self.loose(draw.known)
        self.results = sorted(random.sample(loose, min(random.choice([1, 2, 2, 3]), len(loose))))

    def add(self, draw, name):
        try:
            operands, attributes = ROWS[name].draw(draw)
        except Unfit:
            return
        given = [jax.ShapeDtypeStruct(*(lambda v: (v.shape, DTYPES[v.kind]))(draw.known[k])) for k in operands]
        made = listed(jax.eval_shape(lambda *x: ROWS[name].jax(list(x), attributes), *given))
        if all(math.prod(y.shape) <= MOST_ELEMENTS and len(y.shape) <= MOST_RANK for y in made):
            self.steps.append((name, operands, attributes))
            draw.known += [Known(tuple(y.shape), y.dtype.kind) for y in made]

    def loose(self, known):
        """Floats that no step reads."""
        used = {k for _, operands, _ in self.steps for k in operands}
        return [k for k in range(len(self.inputs), len(known)) if k not in used and known[k].kind == "f"]

    def jax(self, *inputs):
        known = list(inputs)
        for name, operands, attributes in self.steps:
            known += listed(ROWS[name].jax([known[k] for k in operands], attributes))
        return [known[k] for k in self.results]

    def viewfold(self, graph, inputs):
        known = list(inputs)
        for name, operands, attributes in self.steps:
            known += listed(ROWS[name].viewfold(graph, [known[k] for k in operands], attributes))
        return [known[k] for k in self.results]
