"""Control flow: functions that are graphs of the same text, compared with NumPy's loops."""
import numpy as np

from oracle.draw import TextCase, Want
from binding import Typed

BODIES = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
DTYPES = ["i32", "i8", "u16", "i64", "f32", "f64"]


def written(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def body(d):
    """Two operations in a row: of c and x, then of that and w. As text, and as a function of arrays."""
    first, second = d.one(list(BODIES)), d.one(list(BODIES))

    def run(c, x, w):
        s = BODIES[first](c, x).astype(c.dtype)
        return s, BODIES[second](s, w).astype(c.dtype)
    return f"  %s = {first} %c, %x\n  %y = {second} %s, %w\n", run


def function(name, parameters, text, results):
    return f"graph @{name}({parameters}) {{\n{text}  return {results}\n}}\n"


def operands(d, *lead):
    """Arrays of one dtype and shape, some with a leading axis, and their type."""
    dtype, shape = d.one(DTYPES), d.shape(most=2, high=4)
    arrays = [d.array(dtype, more + shape, "plain") for more in lead]
    return arrays, written(dtype, shape), dtype, shape


def cond(d):
    (c, x, w), kind, dtype, _ = operands(d, (), (), ())
    then, other = body(d), body(d)
    truth = d.array("bool", ())
    parameters = f"%c: {kind}, %x: {kind}, %w: {kind}"
    text = function("f", parameters, then[0], "%s, %y") + function("g", parameters, other[0], "%y, %s")
    text += function("main", f"%p: bool[], {parameters}", "  %a, %b = cond %p, %c, %x, %w then=@f else=@g\n",
                     "%a, %b")
    arrays = [v.array for v in (c, x, w)]
    results = then[1](*arrays) if truth.array else other[1](*arrays)[::-1]
    return TextCase(text, [truth, c, x, w], "ab", [Want(dtype, r, zeros=False) for r in results])


def loop(d):
    """Iterations up to a number given at run time, or to a bound."""
    (c, x, w), kind, dtype, _ = operands(d, (), (), ())
    text, run = body(d)
    iterations, bound = d.integer(0, 6), d.one([None, 3, 9])
    parameters = f"%i: i32[], %c: {kind}, %n: i32[], %x: {kind}, %w: {kind}"
    whole = function("more", parameters, "  %p = lt %i, %n\n", "%p")
    whole += function("body", parameters, text + "  %j = add %i, 1\n", "%j, %y")
    limit = "" if bound is None else f" bound={bound}"
    whole += function("main", parameters,
                      f"  %a, %b = while_loop %i, %c, %n, %x, %w while=@more do=@body{limit}\n", "%a, %b")
    state, count = c.array, min(iterations, iterations if bound is None else bound)
    for _ in range(count):
        state = run(state, x.array, w.array)[1]
    inputs = [d.scalar("i32", 0), c, d.scalar("i32", iterations), x, w]
    return TextCase(whole, inputs, "ab", [Want("i32", np.int32(count)), Want(dtype, state, zeros=False)])


def scan(d):
    """A state and slices of an axis, from either end, with an operand that is the same in all iterations."""
    length = d.one([0, 1, 2, 3, 5, 17])
    (c, x, w), kind, dtype, shape = operands(d, (), (length,), ())
    text, run = body(d)
    reverse = d.one(["", " reverse=true", " reverse=false"])
    whole = function("body", f"%c: {kind}, %x: {kind}, %w: {kind}", text, "%s, %y")
    sliced = written(dtype, (length,) + shape)
    whole += function("main", f"%c: {kind}, %x: {sliced}, %w: {kind}",
                      f"  %a, %b = scan %c, %x, %w do=@body carries=1 sliced=1{reverse}\n", "%a, %b")
    state, stack = c.array, np.zeros((length,) + shape, c.array.dtype)
    for k in range(length)[::-1] if "true" in reverse else range(length):
        state, stack[k] = run(state, x.array[k], w.array)
    return TextCase(whole, [c, x, w], "ab", [Want(dtype, v, zeros=False) for v in (state, stack)])


def found(d):
    """The value of a size that nothing else tells, which has as many ones."""
    k = d.integer(0, 9)
    text = "graph @main(%k: i64[]) {\n  %m = found %k size=n=0..9\n  %o = full shape=[n] value=1\n"
    text += "  %s = sum %o\n  %y = add %s, %m\n  return %y\n}\n"
    return TextCase(text, [Typed(np.array(k, np.int64))], "y", [Want("i64", np.int64(2 * k))])


def checkpoint(d):
    (c, x, w), kind, dtype, _ = operands(d, (), (), ())
    text, run = body(d)
    parameters, name = f"%c: {kind}, %x: {kind}, %w: {kind}", d.one(["checkpoint", "call"])
    whole = function("f", parameters, text, "%s, %y")
    whole += function("main", parameters, f"  %a, %b = {name} %c, %x, %w do=@f\n", "%a, %b")
    results = run(c.array, x.array, w.array)
    return TextCase(whole, [c, x, w], "ab", [Want(dtype, v, zeros=False) for v in results])


ROWS = {"cond": cond, "while_loop": loop, "scan": scan, "checkpoint": checkpoint, "found": found}
