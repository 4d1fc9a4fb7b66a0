"""The cheapest expressions with given values on given lanes, found by the searches of search.h."""
import ctypes
import itertools

import numpy as np

import linear
from expression import binary, const, cost, inverted, junction, values

AXES, LANES, CLAUSES, MOST = 6, 2048, 16, 4000
DEAREST = 10  # condition that is searched: of dearer ones there are too many clauses
SAMPLE = 128  # lanes on which quotients are told apart; what is found is checked on all


class _Lanes(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("axes", "count", "constants")] + [(n, ctypes.c_void_p) for n in ("at", "target", "constant")]


class _Form(ctypes.Structure):
    _fields_ = [("c", ctypes.c_int32 * (AXES + 1))]


class _Quotient(ctypes.Structure):
    _fields_ = [("of", _Form), ("by", ctypes.c_int32)]


class _Clause(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("how", "test", "by", "lo", "hi", "free")] + [("of", _Form)]


class _Condition(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("clauses", "either", "nested", "cost", "finished")] + [("clause", _Clause * CLAUSES)]


class Searches:
    def __init__(self, file):
        self.compiled = ctypes.CDLL(file)

    @staticmethod
    def _lanes(at, axes, target, constants):
        held = [np.ascontiguousarray(a, dtype=np.int32) for a in (at[axes], target, sorted(constants))]
        s = _Lanes(len(axes), at.shape[1], len(held[2]), *[a.ctypes.data for a in held])
        s.held = held
        return s

    def quotients(self, at, axes, target, constants):
        """[(divisor, coefficients, constant)], are these all?"""
        out, finished = (_Quotient * MOST)(), ctypes.c_int32(1)
        s = self._lanes(at, axes, target, constants)
        count = self.compiled.search_quotients(ctypes.byref(s), out, MOST, ctypes.byref(finished))
        return [(q.by, list(q.of.c[: len(axes) + 1])) for q in out[:count]], bool(finished.value)

    def index(self, at, axes, target, constants, printed):
        """The cheapest index that costs less than `printed`, or None, and whether the search finished."""
        if len(axes) > AXES:
            return None, printed == 0
        best, price = None, printed
        forms = _solve(at, axes, target)
        for node in map(linear.of, forms):
            if cost(node) < price:
                best, price = node, cost(node)
        if forms or price <= 5:
            return best, True
        if price > 3 * DEAREST:
            return best, False
        count = at.shape[1]
        pick = np.arange(count) if count <= SAMPLE else np.unique(np.r_[0, count - 1, np.random.default_rng(1).choice(count, SAMPLE)])
        found, finished = self.quotients(at[:, pick], axes, target[pick], constants)
        numerators = {}
        for divisor, c in found:
            for row in itertools.product(*[(k,) if k == 0 else (k, k - divisor) for k in c]):
                form = {leaf: k for leaf, k in zip([("v", i) for i in axes] + [linear.ONE], row) if k}
                if set(form) - {linear.ONE}:
                    numerators[divisor, row] = (cost(linear.of(form)), divisor, form)
        for paid, divisor, form in sorted(numerators.values(), key=lambda n: n[:2])[:300]:
            if paid + 5 >= price:
                break
            for node in _with_quotient(at, axes, target, form, divisor):
                if cost(node) < price and np.array_equal(values(node, at), target):
                    best, price = node, cost(node)
        return best, finished and price <= 10  # of ten or less, no expression has two quotients

    def condition(self, at, axes, target, constants, printed, free=()):
        """The cheapest condition that costs less than `printed`, or None, and whether the search finished. free:
        expressions that are computed anyway."""
        if target.all() or not target.any() or printed <= 1:
            return None, True
        if len(axes) > AXES or at.shape[1] > LANES or printed > DEAREST:
            return None, False
        s = self._lanes(at, axes, target, constants)
        known = np.ascontiguousarray([values(n, at) for n in free], dtype=np.int32)
        out = _Condition()
        self.compiled.search_conditions(ctypes.byref(s), known.ctypes.data_as(ctypes.c_void_p), len(free), printed - 1, ctypes.byref(out))
        if not out.clauses:
            return None, bool(out.finished)
        nodes = [_clause(c, axes, free) for c in out.clause[: out.clauses]]
        inner = nodes[:-1] if out.nested else nodes
        node = junction("or", [_negation(n) for n in inner]) if out.either else junction("and", inner)
        if out.nested:
            node = junction("and", [nodes[-1], node]) if out.either else junction("or", [_negation(nodes[-1]), node])
        assert np.array_equal(values(node, at), target)
        return node, bool(out.finished)


def _solve(at, axes, target):
    """Linear forms that equal the target on all lanes, one for each set of axes that is enough there."""
    whole = np.vstack([np.ones((1, at.shape[1]), dtype=np.int64), at[axes]])
    rank = np.linalg.matrix_rank(whole)
    found = []
    for subset in itertools.combinations(range(len(axes)), rank - 1):
        matrix = whole[[0] + [i + 1 for i in subset]]
        c, _, full, _ = np.linalg.lstsq(matrix.T.astype(float), target.astype(float), rcond=None)
        c = np.rint(c).astype(np.int64)
        if full == rank and np.array_equal(c @ matrix, target):
            form = {("v", axes[i]): int(k) for i, k in zip(subset, c[1:]) if k}
            found.append({**form, linear.ONE: int(c[0])} if c[0] else form)
    return found


def _with_quotient(at, axes, target, numerator, divisor):
    """Expressions for the target that use numerator // divisor or numerator % divisor."""
    x = linear.of(numerator)
    on = values(x, at)
    whole = np.vstack([np.ones((1, at.shape[1])), at[axes]])
    for name, leaf in (("div", on // divisor), ("mod", on % divisor)):
        solved = np.linalg.lstsq(np.vstack([whole, leaf]).T, target.astype(float), rcond=None)[0]
        alpha = int(np.rint(solved[-1]))
        if alpha == 0 or abs(solved[-1] - alpha) > 1e-6:
            continue
        node = binary(name, x, const(divisor))
        for form in _solve(at, axes, target - alpha * leaf):
            yield linear.of({**form, node: alpha})
            for beta in {form.get(v, 0) // c for v, c in numerator.items() if v != linear.ONE and form.get(v, 0) % c == 0} - {0}:
                if x[0] not in ("v", "c"):
                    yield linear.of({**linear.added(form, numerator, -beta), node: alpha, x: beta})


def _clause(c, axes, free):
    if c.how == 1:
        node = free[c.free]
    else:
        form = {leaf: k for leaf, k in zip([("v", i) for i in axes] + [linear.ONE], list(c.of.c)[: len(axes)]) if k}
        if c.of.c[len(axes)]:
            form[linear.ONE] = c.of.c[len(axes)]
        node = linear.of(form)
        if c.how > 1:
            node = binary("div" if c.how == 2 else "mod", node, const(c.by))
    low, high = _compare("ge", node, c.lo), _compare("lt", node, c.hi)
    return [low, high, junction("and", [low, high]), _compare("eq", node, c.lo), _compare("ne", node, c.lo)][c.test]


def _compare(op, node, value):
    """node op value; a difference is compared as its two terms where that needs no constant."""
    if node[0] == "add" and node[2][0] == "neg" and value == 0:
        return (op, node[1], node[2][1])
    if node[0] == "add" and node[2][0] == "neg" and value == 1 and op in ("lt", "ge"):
        return ({"lt": "ge", "ge": "lt"}[op], node[2][1], node[1])
    return (op, node, const(value))


def _negation(node):
    if node[0] in ("and", "or"):
        return junction("or" if node[0] == "and" else "and", [_negation(x) for x in node[1:]])
    return inverted(node)
