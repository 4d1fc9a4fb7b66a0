"""Linear forms: {leaf: coefficient} with leaf 1 for the constant, and the cheapest expressions for them."""
import functools

from expression import binary, const, cost, negated

ONE = 1


def plain(items):
    """The sum of coefficient * leaf, positive terms first, constant last; None: it is a lone constant."""
    terms = [(leaf, c) for leaf, c in items if leaf != ONE and c]
    constant = sum(c for leaf, c in items if leaf == ONE)
    if not terms:
        return const(constant)
    total = None
    for leaf, c in sorted(terms, key=lambda t: (t[1] < 0, repr(t[0]))):
        term = binary("mul", leaf, const(abs(c)))
        if total is None:
            total = term if c > 0 else (binary("add", const(constant), negated(term)) if constant else binary("mul", leaf, const(c)))
            constant = constant if c > 0 else 0
        else:
            total = binary("add", total, term if c > 0 else negated(term))
    return binary("add", total, const(constant)) if constant else total


@functools.lru_cache(maxsize=1 << 18)
def cheapest(items):
    """The cheapest expression found for a form, given as a sorted tuple of (leaf, coefficient): terms as they are, or
    those that a factor divides taken together, factored out, and the others added."""
    best = plain(items)
    if len(items) < 2:
        return best
    for factor in {abs(c) for leaf, c in items if abs(c) > 1}:
        inside = tuple((leaf, c // factor) for leaf, c in items if c % factor == 0)
        if len(inside) < 2 or len(inside) == len(items) and factor == 1:
            continue
        outside = tuple((leaf, c) for leaf, c in items if c % factor)
        inner = cheapest(inside)
        whole = plain(tuple([(inner, factor)]) + outside)
        if cost(whole) < cost(best):
            best = whole
    return best


def of(form):
    return cheapest(tuple(sorted(((leaf, c) for leaf, c in form.items() if c), key=repr)))


def added(form, other, scale=1):
    out = dict(form)
    for leaf, c in other.items():
        out[leaf] = out.get(leaf, 0) + scale * c
    return {leaf: c for leaf, c in out.items() if c}
