"""Compositions: a function wrapped by vmap, vjp, jvp, which are again functions of arrays."""
import jax
import jax.numpy as jnp

from .program import Program


class Function:
    """The same function in both systems, and the shapes of its arguments and results."""

    def __init__(self, name, shapes, jax_function, viewfold_function):
        self.name, self.shapes, self.jax, self.viewfold = name, list(shapes), jax_function, viewfold_function
        specs = [jax.ShapeDtypeStruct(s, jnp.float64) for s in self.shapes]
        self.results = [tuple(r.shape) for r in jax.eval_shape(lambda *x: self.jax(*x), *specs)]


def some(random, count):
    """Some of `count` numbers, at least one, mostly all."""
    every = list(range(count))
    return every if random.random() < 0.6 else sorted(random.sample(every, random.randint(1, count)))


def put(values, numbers, others):
    """`values` with those at `numbers` replaced by `others`."""
    made = list(values)
    for k, y in zip(numbers, others):
        made[k] = y
    return made


def jvp_of(f, random):
    """Results and their tangents, with respect to some of the arguments."""
    n, varied = len(f.shapes), some(random, len(f.shapes))

    def in_jax(*x):
        y, t = jax.jvp(lambda *a: tuple(f.jax(*put(x[:n], varied, a))), tuple(x[k] for k in varied), tuple(x[n:]))
        return list(y) + list(t)

    def in_viewfold(g, x):
        y = f.viewfold(g, x[:n])
        return list(y) + g.jvp(y, [x[k] for k in varied], x[n:])

    return Function(f"jvp({f.name},{varied})", f.shapes + [f.shapes[k] for k in varied], in_jax, in_viewfold)


def vjp_of(f, random):
    """Cotangents of some of the arguments, and sometimes the results."""
    n, varied, kept = len(f.shapes), some(random, len(f.shapes)), random.random() < 0.3

    def in_jax(*x):
        y, pull = jax.vjp(lambda *a: tuple(f.jax(*put(x[:n], varied, a))), *[x[k] for k in varied])
        return (list(y) if kept else []) + list(pull(tuple(x[n:])))

    def in_viewfold(g, x):
        y = f.viewfold(g, x[:n])
        return (list(y) if kept else []) + g.vjp(y, x[n:], [x[k] for k in varied])

    return Function(f"vjp({f.name},{varied})", f.shapes + f.results, in_jax, in_viewfold)


def axis_in(random, rank):
    """An axis of `rank` axes, counted from either end."""
    axis = random.randrange(rank)
    return axis - rank if random.random() < 0.3 else axis


def vmap_of(f, random):
    """Some arguments are mapped, along any axis; of the others some are arguments that are not mapped, and
    some are captured values."""
    n, size = len(f.shapes), random.choice([1, 2, 3, 3, 4])
    mapped = [axis_in(random, len(s) + 1) if random.random() < 0.7 else None for s in f.shapes]
    if all(m is None for m in mapped):
        k = random.randrange(n)
        mapped[k] = axis_in(random, len(f.shapes[k]) + 1)
    outside = [k for k in range(n) if mapped[k] is None and random.random() < 0.5]
    inside = [k for k in range(n) if k not in outside]
    in_axes, out_axes = [mapped[k] for k in inside], [axis_in(random, len(s) + 1) for s in f.results]
    shapes = [grown(s, m, size) for s, m in zip(f.shapes, mapped)]

    def in_jax(*x):
        return jax.vmap(lambda *a: tuple(f.jax(*put(x, inside, a))), in_axes=tuple(in_axes),
                        out_axes=tuple(out_axes))(*[x[k] for k in inside])

    def in_viewfold(g, x):
        return g.vmap(lambda a: f.viewfold(g, put(x, inside, a)), [x[k] for k in inside], in_axes, out_axes)

    return Function(f"vmap({f.name},in={mapped},outside={outside},out={out_axes})", shapes, in_jax, in_viewfold)


def grown(shape, axis, size):
    if axis is None:
        return shape
    axis %= len(shape) + 1
    return shape[:axis] + (size,) + shape[axis:]


WRAPS = {"jvp": jvp_of, "vjp": vjp_of, "vmap": vmap_of}


def composition(random, depth, steps, only=""):
    """A program, wrapped one to `depth` times."""
    wraps = [random.choice(list(WRAPS)) for _ in range(random.randint(1, depth))]
    program = Program(random, steps, only)
    f = Function("f", program.inputs, program.jax, program.viewfold)
    for wrap in wraps:
        f = WRAPS[wrap](f, random)
    return program, f
