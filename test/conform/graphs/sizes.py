"""Sizes of tensors: polynomials with integer coefficients over atoms, each with proven bounds.

An atom is a variable divided by its divisor, or a quotient or minimum that no polynomial equals. Two sizes
are the same for all values of the variables where their polynomials are; bounds come from writing each atom
as its least value plus a nonnegative remainder.
"""
import itertools

_ORDER = itertools.count()


def _order(atom):
    return atom.order


class Atom:
    """A factor with a text and a value in low..high. divisor: the variable in `text` is this many times the
    atom."""

    def __init__(self, text, low, high, value, divisor=1):
        self.text, self.low, self.high, self.value, self.divisor = text, low, high, value, divisor
        self.order = next(_ORDER)


class Variable(Atom):
    """`name` with inclusive bounds, a multiple of the divisor; the atom is name // divisor."""

    def __init__(self, name, low, high, divisor):
        super().__init__(name, -(-low // divisor), high // divisor, None, divisor)
        self.value = lambda env: env[self] // divisor
        self.bounds = f"{name}={low}..{high}" + (f":{divisor}" if divisor > 1 else "")

    def declared(self):
        return self.bounds

    def size(self):
        """The variable itself; a number where its bounds leave one value."""
        return Size({(self,): self.divisor}) if self.low < self.high else number(self.low * self.divisor)


class Size:
    """terms: {atoms of a monomial, sorted: coefficient that is not 0}."""

    def __init__(self, terms):
        self.terms = {m: c for m, c in terms.items() if c}
        self._bounds = None
        self.const = self.terms.get((), 0) if not any(self.terms) or not self.terms else None

    def __eq__(self, other):
        return self.terms == sized(other).terms

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def __add__(self, other):
        terms = dict(self.terms)
        for m, c in sized(other).terms.items():
            terms[m] = terms.get(m, 0) + c
        return Size(terms)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -sized(other)

    def __mul__(self, other):
        terms = {}
        for (m, c), (n, d) in itertools.product(self.terms.items(), sized(other).terms.items()):
            both = tuple(sorted(m + n, key=_order))
            terms[both] = terms.get(both, 0) + c * d
        return Size(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return sized(other) - self

    def divides(self, by):
        """Whether every coefficient is a multiple of the number."""
        return all(c % by == 0 for c in self.terms.values())

    def over(self, by):
        return Size({m: c // by for m, c in self.terms.items()})

    def without(self, other):
        """The quotient by one monomial, None where it leaves a remainder."""
        (taken, factor), = other.terms.items()
        terms = {}
        for m, c in self.terms.items():
            rest = list(m)
            for atom in taken:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if c % factor:
                return None
            terms[tuple(rest)] = c // factor
        return Size(terms)

    def bounds(self):
        """(low, high), both proven, not always reached."""
        if self._bounds is None:
            low = high = 0
            for m, c in self._shifted().items():
                most = 1
                for atom in m:
                    most *= atom.high - atom.low
                low += min(c, c * most) if not m else min(0, c * most)
                high += c if not m else max(0, c * most)
            self._bounds = (low, high)
        return self._bounds

    def _shifted(self):
        """The coefficients when each atom is written as its low bound plus a remainder."""
        terms = {}
        for m, c in self.terms.items():
            for kept in itertools.product((False, True), repeat=len(m)):
                at, coefficient = [], c
                for atom, keep in zip(m, kept):
                    if keep:
                        at.append(atom)
                    else:
                        coefficient *= atom.low
                at = tuple(sorted(at, key=_order))
                terms[at] = terms.get(at, 0) + coefficient
        return terms

    @property
    def low(self):
        return self.bounds()[0]

    @property
    def high(self):
        return self.bounds()[1]

    def at(self, env):
        """The value for values of the variables."""
        total = 0
        for m, c in self.terms.items():
            for atom in m:
                c *= atom.value(env)
            total += c
        return total

    def variables(self):
        return {atom for m in self.terms for atom in m}

    def text(self, random):
        """One of the possible spellings."""
        if self.const is not None:
            return str(self.const)
        parts = [_monomial(m, c, random) for m, c in self.terms.items()]
        random.shuffle(parts)
        text = parts[0]
        for part in parts[1:]:
            text += part if part.startswith("-") else "+" + part
        return text


def _monomial(m, coefficient, random):
    """A monomial of atoms with divisors: n // 4 * 8 is 2 n, n // 4 * 2 is n // 2 as well."""
    factors = []
    for atom in m:
        d = atom.divisor
        if d == 1:
            factors.append(atom.text)
        elif coefficient % d == 0 and random.random() < 0.9:
            factors.append(atom.text)
            coefficient //= d
        elif abs(coefficient) > 1 and d % abs(coefficient) == 0 and random.random() < 0.7:
            factors.append(f"({atom.text}//{d // abs(coefficient)})")
            coefficient //= abs(coefficient)
        else:
            factors.append(f"({atom.text}//{d})")
    if coefficient == 1 and factors:
        return "*".join(factors)
    if coefficient < 0:  # a sign stands before the first factor
        return "*".join([str(coefficient)] + factors)
    factors.insert(random.choice([0, len(factors)]), str(coefficient))
    return "*".join(factors)


def number(value):
    return Size({(): value})


def sized(x):
    return x if isinstance(x, Size) else number(x)


def product(sizes):
    total = number(1)
    for s in sizes:
        total = total * s
    return total


_QUOTIENTS = {}


def quotient(size, by, up=False):
    """size // by, rounded up if asked: a polynomial where that is one, else an atom, one for equal arguments."""
    size = sized(size)
    if up:
        size = size + (by - 1)
    if size.const is not None:
        return number(size.const // by)
    rest = {m: c % by for m, c in size.terms.items() if c % by}
    if not any(rest):  # the remainder is a number
        return Size({m: c // by for m, c in size.terms.items()})
    key = ("//", size, by)
    if key not in _QUOTIENTS:
        text = f"(({size.text(_Plain())})//{by})"
        _QUOTIENTS[key] = Atom(text, size.low // by, size.high // by, lambda env: size.at(env) // by)
    return Size({(_QUOTIENTS[key],): 1}) if _QUOTIENTS[key].low < _QUOTIENTS[key].high else \
        number(_QUOTIENTS[key].low)


def least(a, b):
    """min(a, b)"""
    a, b = sized(a), sized(b)
    if a.high <= b.low or (b - a).low >= 0:
        return a
    if b.high <= a.low or (a - b).low >= 0:
        return b
    key = ("min", a, b)
    if key not in _QUOTIENTS:
        text = f"min({a.text(_Plain())},{b.text(_Plain())})"
        _QUOTIENTS[key] = Atom(text, min(a.low, b.low), min(a.high, b.high), lambda env: min(a.at(env), b.at(env)))
    return Size({(_QUOTIENTS[key],): 1})


def forget():
    """Atoms belong to one graph."""
    _QUOTIENTS.clear()


class _Plain:
    """Choices for a text that must be the same each time."""

    def random(self):
        return 0.0

    def choice(self, items):
        return items[0]

    def shuffle(self, items):
        pass
