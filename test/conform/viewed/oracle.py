"""Views of data in NumPy: what each call gives, or for which reasons it is refused.

A reason is a tuple of words, all of which the message of the library has to hold. Where a call has several things wrong with it,
the message may be about any of them.
"""
import numpy as np

WORDS = {"data": "a data view", "image": "an image view", "sequence": "a sequence view", "class": "a class view"}
NEEDED = {"data": "b", "image": "bhwc", "sequence": "bwc", "class": "b"}
ALLOWED = {"image": "bhwcd", "sequence": "bwc", "class": "bt"}
HAS = {"data": "b, and any other letters", "image": "b, h, w and c", "sequence": "b, w and c", "class": "b, bt or tb"}
GIVES = {"data": "it has its own, bf, and b of one feature", "image": "it has its own, any order of its axes, and bf",
         "sequence": "it has its own, any order of its axes, and bf", "class": "it has its own, b, bt, tb and bf"}
NOTHING = ("nothing has been put", "put an array with its axes first")


class Refusal(Exception):
    def __init__(self, reasons):
        super().__init__(str(reasons))
        self.reasons = reasons


def refuse_if(reasons):
    if reasons:
        raise Refusal(reasons)


def letters_wrong(axes):
    wrong = [(f"'{a}'", "axes are letters") for a in axes if not a.isalpha()]
    return wrong + [(f"letter '{a}' twice", "each stands once") for a in set(axes) if axes.count(a) > 1]


def permuted(x, source, target):
    return np.transpose(x, [source.index(a) for a in target])


class View:
    """One array with its axes."""

    def __init__(self, kind):
        self.kind, self.classes = kind, 0
        self.flush()

    def flush(self):
        self.set("", None)

    def set(self, axes, array):
        self.axes, self.array, self.got, self.gradients = axes, array, set(), []

    def leaves(self):
        return [self]

    # forwards

    def misfits(self, axes, x):
        """Why the array cannot have these axes."""
        if not axes:
            return [("there are no axes", "as 'bf'")]
        wrong = letters_wrong(axes)
        wrong += [(f"no axis '{a}'", WORDS[self.kind], HAS[self.kind]) for a in NEEDED[self.kind] if a not in axes]
        wrong += [(f"has the axis '{a}'", WORDS[self.kind], HAS[self.kind])
                  for a in axes if a not in ALLOWED.get(self.kind, axes)]
        if len(axes) != x.ndim:
            wrong.append((f"'{axes}' has {len(axes)} axes", "x has shape", "each axis has a letter"))
        return wrong

    def put(self, axes, x):
        refuse_if(self.misfits(axes, x))
        self.set(axes, x)

    def how(self, axes):
        """The axes that are meant, and how the array gets there: a pair of functions, there and back. None back: there
        is no gradient. A third: is nothing left out?"""
        if not self.axes:
            raise Refusal([NOTHING])
        to = self.axes if axes in (None, "default", "") else axes
        refuse_if(letters_wrong(to))
        x, own, n = self.array, self.axes, len(self.axes)
        no = Refusal([(WORDS[self.kind], f"'{own}'", f"'{to}'", GIVES[self.kind])
                      + next(((f"no axis '{a}'",) for a in to if a not in own), ())])
        if to == own:
            return to, (lambda v: v, lambda g: g, True)
        if self.kind == "class" and to == "bf":
            if not self.classes:
                raise Refusal([("'bf' of classes", "vf_data_set_classes")])
            return to, (self.one_hot, None, False)
        if self.kind == "class" and to == "b":
            t = own.index("t")
            return to, (lambda v: v.take(0, t), lambda g: self.as_first(g, t), x.shape[t] == 1)
        if self.kind == "class" and own == "b" and to in ("bt", "tb"):
            t = to.index("t")
            return to, (lambda v: np.expand_dims(v, t), lambda g: g.take(0, t), True)
        if sorted(own) == sorted(to) and (self.kind != "data" or to == "bf"):
            return to, (lambda v: permuted(v, own, to), lambda g: permuted(g, to, own), True)
        if to == "bf" and self.kind != "class":
            b = own.index("b")
            swapped = np.swapaxes(x, 0, b).shape
            rows = (swapped[0], int(np.prod(swapped[1:])))
            return to, (lambda v: np.swapaxes(v, 0, b).reshape(rows),
                        lambda g: np.swapaxes(g.reshape(swapped), 0, b), True)
        if self.kind == "data" and own == "bf" and to == "b":
            if x.shape[1] != 1:
                raise Refusal([("'bf' becomes 'b' where it has one feature", "the array has shape")])
            return to, (lambda v: v[:, 0], lambda g: g[:, None], True)
        raise no

    def one_hot(self, ids):
        ids = permuted(ids, self.axes, "bt") if len(self.axes) == 2 else ids[:, None]
        return (ids.astype(np.int64)[:, :, None] == np.arange(1, self.classes + 1)).any(1).astype(np.float32)

    def as_first(self, g, axis):
        made = np.zeros(self.array.shape, g.dtype)
        index = [slice(None)] * made.ndim
        index[axis] = 0
        made[tuple(index)] = g
        return made

    def get(self, axes, dtype):
        to, (there, _, _) = self.how(axes)
        x = there(self.array)
        x = x if dtype is None else x.astype(dtype)
        self.got.add((to, x.dtype))
        return x

    # backwards

    def fits(self, what, axes, x):
        to, how = self.how(axes)
        shape = how[0](self.array).shape
        return to, how, [] if x.shape == shape else [(f"{what} has shape", "both must be equal")]

    def misfit_gradient(self, axes, g):
        to, how, wrong = self.fits("g", axes, g)
        if how[1] is None:
            wrong.append(("'bf' of classes has no gradient",))
        if (to, g.dtype) not in self.got and (to != self.axes or g.dtype != self.array.dtype):
            wrong.append((f"'{to}' has not been got", "a gradient is of what a consumer got"))
        return to, wrong

    def backward_put(self, axes, g):
        to, wrong = self.misfit_gradient(axes, g)
        refuse_if(wrong)
        self.gradients.append((to, g))

    def backward_get(self, axes=None, dtype=None):
        if not self.axes:
            raise Refusal([NOTHING])
        wrong = []
        if axes not in (None, "default", self.axes):
            wrong.append((f"'{axes}' is not that of the array, '{self.axes}'", "gradients in its own"))
        if dtype is not None and dtype != self.array.dtype:
            wrong.append(("is not the dtype of the array", "gradients in its own"))
        if not self.gradients:
            wrong.append(("no gradient has been put",))
        refuse_if(wrong)
        return sum(self.how(to)[1][1](g.astype(self.array.dtype)) for to, g in self.gradients)

    # parts, and the array itself

    def part(self, take):
        if not self.axes:
            raise Refusal([NOTHING])
        return self.axes, take(self.array, self.axes.index("b"))

    def misfit_replacement(self, axes, x):
        to, how, wrong = self.fits("x", axes, x)
        if self.gradients:
            wrong.append((f"{len(self.gradients)} gradients of the array are pending", "put or flush it first"))
        if to not in {a for a, _ in self.got}:
            wrong.append((f"'{to}' has not been got",))
        if how[1] is None:
            wrong.append(("cannot be led back",))
        elif not how[2]:
            wrong.append((f"'{to}' leaves classes of '{self.axes}' out", "replace it in a view that has all of it"))
        return how, wrong

    def replaced(self, axes, x):
        how, wrong = self.misfit_replacement(axes, x)
        refuse_if(wrong)
        return how[1](x).astype(self.array.dtype)

    def replace(self, axes, x):
        self.set(self.axes, self.replaced(axes, x))

    def type(self, dtype):
        if not self.axes:
            raise Refusal([NOTHING])
        self.set(self.axes, self.array.astype(dtype))

    def input(self):
        if not self.axes:
            raise Refusal([NOTHING])
        return self.array

    def set_input(self, x):
        if not self.axes:
            raise Refusal([NOTHING])
        refuse_if(self.misfits(self.axes, x))
        self.set(self.axes, x)

    def transpose(self, axes):
        if not self.axes:
            raise Refusal([NOTHING])
        wrong = self.misfits(axes, self.array)
        wrong += [(f"'{a}', which '{self.axes}' lacks",) for a in axes or "" if a not in self.axes]
        refuse_if(wrong)
        return permuted(self.array, self.axes, axes)

    def alike(self):
        made = View(self.kind)
        made.classes = self.classes
        return made

    def may_become(self, reuse):
        """Why `reuse` cannot be a part of this view."""
        if type(reuse) is not View or reuse.kind != self.kind:
            return [("the view to reuse is", "of the class and the graph of the view")]
        if reuse is self:
            return [("the view to reuse is the view itself",)]
        if reuse.axes and reuse.axes != self.axes:
            return [(f"the view to reuse has the axes '{reuse.axes}'", "both must have the same")]
        return []


def named(number, count, call):
    """What the call gives; a refusal names the component."""
    try:
        return call()
    except Refusal as refusal:
        if count == 1:
            raise
        raise Refusal([(f"component {number}",) + reason for reason in refusal.reasons]) from None


class ListView:
    """Several; calls are for each, and for all or none."""
    kind, axes = "list", ""

    def __init__(self, components):
        self.components = components

    def leaves(self):
        return [leaf for c in self.components for leaf in c.leaves()]

    def alike(self):
        return ListView([c.alike() for c in self.components])

    def may_become(self, reuse):
        if type(reuse) is not ListView or len(reuse.components) != len(self.components):
            return [("the view to reuse is", "of the class and the graph of the view")]
        if reuse is self:
            return [("the view to reuse is the view itself",)]
        return [reason for a, b in zip(self.components, reuse.components) for reason in a.may_become(b)]


def each(view, call):
    """The results of call(leaf, number); the reasons of all leaves together where any refuses."""
    leaves, results, reasons = view.leaves(), [], []
    for k, leaf in enumerate(leaves):
        try:
            results.append(named(k, len(leaves), lambda: call(leaf, k)))
        except Refusal as refusal:
            reasons += refusal.reasons
    refuse_if(reasons)
    return results


def put_all(view, axes, arrays):
    each(view, lambda leaf, k: refuse_if(leaf.misfits(axes[k], arrays[k])))
    counts = [x.shape[a.index("b")] for a, x in zip(axes, arrays)]
    refuse_if([(f"component {k} has {n} examples", f"component 0 has {counts[0]}", "all must have as many")
               for k, n in enumerate(counts) if n != counts[0]])
    for leaf, a, x in zip(view.leaves(), axes, arrays):
        leaf.put(a, x)


def get_all(view, axes, dtypes):
    each(view, lambda leaf, k: leaf.how(axes[k]))
    return [leaf.get(a, d) for leaf, a, d in zip(view.leaves(), axes, dtypes)]


def backward_put_all(view, axes, gradients):
    each(view, lambda leaf, k: refuse_if(leaf.misfit_gradient(axes[k], gradients[k])[1]))
    for leaf, a, g in zip(view.leaves(), axes, gradients):
        leaf.backward_put(a, g)


def replace_all(view, axes, arrays):
    made = each(view, lambda leaf, k: leaf.replaced(axes[k], arrays[k]))
    for leaf, x in zip(view.leaves(), made):
        leaf.set(leaf.axes, x)


def type_all(view, dtype):
    each(view, lambda leaf, k: leaf.input())
    for leaf in view.leaves():
        leaf.type(dtype)


def part(view, take, reuse):
    """A view of parts; `reuse` where it is one."""
    if reuse is not None:
        refuse_if(view.may_become(reuse))
    made = each(view, lambda leaf, k: leaf.part(take))
    to = reuse if reuse is not None else view.alike()
    for leaf, (axes, x) in zip(to.leaves(), made):
        leaf.set(axes, x)
    return to


def clone(view):
    to = view.alike()
    for leaf, own in zip(to.leaves(), view.leaves()):
        leaf.set(own.axes, own.array)
    return to
