"""What counts as the same result.

Both systems get the same inputs, exact in f32. What JAX computes in f64 is the truth. A result is compared in
the greatest norm, relative to its largest element (or to 1): in f64 within 1e-10, in f32 within 1e-5.

A composition may be too ill-conditioned for that in any system. A failure is therefore judged a second time,
by how far JAX itself is from the truth: computed in the dtype in question, and on inputs changed at random by
a unit in the last place of that dtype. A result may be as far off as JAX is, times SLACK, besides the
tolerance. In f64, where the truth has errors of its own, only changed inputs are used. The runs that needed
this are counted and printed; a defect in f32 alone of an ill-conditioned composition is the one thing that
may go unnoticed.
"""
import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = {"f64": 1e-10, "f32": 1e-5}
UNIT = {"f64": 2.0**-52, "f32": 2.0**-23}
SLACK = 8
MOVES = 6


def compiled(function, inputs, real):
    return jax.jit(lambda *x: function(*x)).lower(*[jax.ShapeDtypeStruct(x.shape, real) for x in inputs]).compile()


class Truth:
    """JAX's results of a function of inputs."""

    def __init__(self, function, inputs):
        self.function, self.inputs = function, inputs
        self.program = compiled(function, inputs, jnp.float64)
        self.results = self.run(inputs)
        self.spreads = {}

    def run(self, inputs):
        return [np.asarray(y) for y in self.program(*[np.asarray(x, np.float64) for x in inputs])]

    def others(self, dtype):
        """JAX's results in the dtype, and on slightly changed inputs."""
        random = np.random.default_rng(1)
        for _ in range(MOVES):
            yield self.run([x * (1 + UNIT[dtype] * random.choice([-1, 1], x.shape)) for x in self.inputs])
        if dtype == "f32":
            program = compiled(self.function, self.inputs, jnp.float32)
            yield [np.asarray(y, np.float64) for y in program(*[np.asarray(x, np.float32) for x in self.inputs])]

    def spread(self, dtype):
        """How far JAX is from the truth: for each result; infinite where only one of the two is finite."""
        if dtype not in self.spreads:
            self.spreads[dtype] = [max(distance(z[i], y) for z in [*self.others(dtype)] or [y])
                                   for i, y in enumerate(self.results)]
        return self.spreads[dtype]


def distance(mine, theirs):
    """The largest difference over the largest element of theirs. Infinities and NaNs must be in the same
    places."""
    finite = np.isfinite(theirs)
    same = np.where(finite, np.isfinite(mine), (mine == theirs) | np.isnan(mine) & np.isnan(theirs))
    if not np.all(same):
        return np.inf
    scale = max(1.0, np.max(np.abs(theirs), where=finite, initial=0.0))
    return np.max(np.abs(np.subtract(mine, theirs, where=finite, out=np.zeros(theirs.shape))), initial=0.0) / scale


def judged(mine, truth, dtype):
    """(what is wrong, whether the conditioning had to be considered)."""
    wrong, excused = [], False
    for i, (m, t) in enumerate(zip(mine, truth.results)):
        if m.shape != t.shape:
            wrong.append(f"result {i}: shape {m.shape} against {t.shape}")
            continue
        off = distance(m.astype(np.float64), t)
        if off <= TOLERANCE[dtype]:
            continue
        spread = truth.spread(dtype)[i]
        if off <= TOLERANCE[dtype] + SLACK * spread or spread == np.inf:
            excused = True
        else:
            wrong.append(f"result {i}: {off:.2e} off, JAX {spread:.2e}")
    return wrong, excused
