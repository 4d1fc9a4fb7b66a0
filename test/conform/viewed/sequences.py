"""Random sequences of calls on views of data: each call of the library, and of the oracle, which has to agree."""
import ctypes

import numpy as np

from binding import Raw, Refused

from . import oracle
from .calls import Calls, number, text

DTYPES = [np.dtype(t) for t in ("f4", "f8", "i4", "f2", "i8", "i2")]
INTEGERS = [np.dtype(t) for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]
KINDS = ["data", "image", "sequence", "class"]
USUAL = {"data": ["b", "bf", "fb", "bhw", "wbq", "Zdb"], "image": ["bhwc", "bchw", "chwb", "bdhwc", "cwbh", "hdbwc"],
         "sequence": ["bwc", "bcw", "wcb", "cbw"], "class": ["b", "bt", "tb"]}
ASKED = {"data": ["bf", "bf", "b"], "image": ["bhwc", "bchw", "chwb", "bf"], "sequence": ["bwc", "bcw", "bf"],
         "class": ["b", "bt", "tb", "bf"]}
NONE = Raw(None, 0, 0)


class Wrong(Exception):
    """The library and the oracle differ."""


class Sequence:
    """Views in pairs: the handle of the library, and the oracle's. `steps` is what was called."""

    def __init__(self, context, seed):
        self.draw = np.random.default_rng(seed)
        self.calls = Calls(context, self.chance(0.15))
        self.pool, self.steps = [], []
        for _ in range(self.upto(3)):
            self.add_view(KINDS[self.draw.integers(4)])
        for _ in range(self.draw.integers(0, 2) + self.chance(0.3)):
            self.add_list()

    # draws

    def chance(self, p):
        return bool(self.draw.random() < p)

    def pick(self, items):
        return items[self.draw.integers(len(items))]

    def upto(self, n):
        return int(self.draw.integers(1, n + 1))

    def elements(self, shape, kind, dtype=None):
        """Small integers; of classes, ids that there are."""
        low, high = (1, 5) if kind == "class" else (-40, 40)
        dtype = self.pick(DTYPES) if dtype is None else dtype
        return self.draw.integers(low, high, shape).astype(dtype)

    def array(self, axes, kind):
        return self.elements([self.upto(4) if a == "b" else self.upto(3) for a in axes], kind)

    def axes_to_put(self, kind):
        if self.chance(0.12):
            return self.pick(["", "bf", "bhwc", "bb", "bt", "f", "b1", "bwct", "hwc", "bwhcc"])
        return self.pick(USUAL[kind])

    def axes_to_get(self, view):
        if self.chance(0.1):
            return self.pick(["bq", "bhw", "b.", "bff", "wc", "tb", "bt", "chwb", "bf"])
        if self.chance(0.2):
            return self.pick([None, "default"])
        if self.chance(0.25) and view.axes:
            return "".join(self.draw.permutation(list(view.axes)))
        return self.pick(ASKED[view.kind])

    def dtype(self):
        return None if self.chance(0.5) else self.pick(DTYPES)

    def seen(self, view, axes):
        """An array like the one that a consumer sees in these axes, or not quite."""
        try:
            shape = view.how(axes)[1][0](view.array).shape if view.axes else (2, 2)
        except oracle.Refusal:
            shape = (2,) * max(len(axes or ""), 1)
        if self.chance(0.08):
            shape = shape + (1,) if self.chance(0.5) or not shape else (shape[0] + 1,) + shape[1:]
        dtypes = [d for _, d in view.got]
        return self.elements(shape, view.kind, self.pick(dtypes) if dtypes and self.chance(0.8) else None)

    def axes_seen(self, view):
        got = [a for a, _ in sorted(view.got, key=str)]
        return self.pick(got) if got and self.chance(0.85) else self.axes_to_get(view)

    # views

    def add_view(self, kind):
        self.pool.append((self.calls.view(kind), oracle.View(kind)))

    def add_list(self):
        if len(self.pool) >= 2:
            chosen = [self.pool[k] for k in self.draw.permutation(len(self.pool))[:self.upto(3)]]
            self.pool.append((self.calls.list([h for h, _ in chosen]), oracle.ListView([m for _, m in chosen])))

    # calls

    def compare(self, call, ours, theirs):
        """Carries out both; whether they went through, and what the oracle gave."""
        self.steps.append(call)
        wanted, reasons = None, None
        try:
            wanted = theirs()
        except oracle.Refusal as refusal:
            reasons = refusal.reasons
        try:
            got = ours()
        except Refused as refused:
            message = str(refused)
            if reasons is None:
                raise Wrong(f"{call} is refused: {message}") from None
            if not message.startswith("data_") or not any(all(w in message for w in r) for r in reasons):
                raise Wrong(f"{call} is refused by\n  {message}\nwhich should have all words of one of\n  {reasons}") from None
            return False, None, None
        if reasons is not None:
            raise Wrong(f"{call} goes through; it should be refused: {reasons}")
        return True, got, wanted

    def compare_value(self, call, ours, theirs):
        good, got, wanted = self.compare(call, ours, theirs)
        if good:
            self.calls.want(got, wanted, call)

    def step(self):
        handle, view = self.pool[self.draw.integers(len(self.pool))]
        names = ["put", "get", "get", "get", "backward_put", "backward_put", "backward_get", "index", "sub", "replace",
                 "flush", "clone", "type"]
        if view.kind != "list":
            names += ["forward", "backward", "input", "set_input", "transpose", "sizes"]
            names += ["set_classes"] if view.kind == "class" or self.chance(0.1) else []
        elif self.chance(0.1):
            names = ["single"]
        name = self.pick(names)
        if name in ("flush", "clone", "type") and self.chance(0.6):
            name = "get"
        leaves = view.leaves()
        if name in ("backward_put", "backward", "replace") and not all(leaf.got for leaf in leaves) and self.chance(0.8):
            name = "get" if all(leaf.axes for leaf in leaves) else "put"
        if name not in ("flush", "put") and all(leaf.gradients for leaf in leaves) and self.chance(0.5):
            name = "backward_get"
        if view.kind == "list" and name in ("put", "get", "backward_put", "backward_get", "replace"):
            name += "_all"
        if not all(leaf.axes for leaf in leaves) and self.chance(0.6):
            name = "put_all" if view.kind == "list" else "put"
        getattr(self, name)(handle, view)

    def put(self, h, v):
        axes = self.axes_to_put(v.kind)
        x = self.array(axes if self.chance(0.95) else axes + "f", v.kind)
        raw = self.calls.array(x)
        self.compare(f"put({v.kind}, {axes!r}, {x.shape})", lambda: self.calls.call("vf_data_put", h, text(axes), raw),
                     lambda: v.put(axes, x))

    def get(self, h, v):
        axes, dtype = self.axes_to_get(v), self.dtype()
        self.compare_value(f"get({v.kind} {v.axes!r}, {axes!r}, {dtype})", lambda: self.calls.call("vf_data_get", h, text(axes), number(dtype)),
                           lambda: v.get(axes, dtype))

    def forward(self, h, v):
        axes, dtype = self.axes_to_get(v), self.dtype()
        call = lambda raw, d: self.calls.call("vf_data_forward", h, text(axes), raw, number(d))
        if self.chance(0.5):
            return self.compare_value(f"forward({v.kind}, {axes!r}, {dtype})", lambda: call(NONE, dtype), lambda: v.get(axes, dtype))
        axes = self.axes_to_put(v.kind)
        x = self.array(axes, v.kind)
        raw = self.calls.array(x)

        def theirs():
            oracle.refuse_if([("x is put", "a call puts or gets, not both")] if dtype is not None and dtype != x.dtype else [])
            v.put(axes, x)
            return x
        return self.compare_value(f"forward({v.kind}, {axes!r}, {x.shape}, {dtype})", lambda: call(raw, dtype), theirs)

    def backward_put(self, h, v):
        axes = self.axes_seen(v)
        g = self.seen(v, axes)
        raw = self.calls.array(g)
        self.compare(f"backward_put({v.kind} {v.axes!r}, {axes!r}, {g.dtype}{g.shape})",
                     lambda: self.calls.call("vf_data_backward_put", h, text(axes), raw), lambda: v.backward_put(axes, g))

    def backward_get(self, h, v):
        axes = self.pick([None, "default", v.axes, self.axes_to_get(v)])
        dtype = self.dtype() if self.chance(0.3) else None
        axes = None if axes == "" else axes
        self.compare_value(f"backward_get({v.kind} {v.axes!r}, {axes!r}, {dtype})",
                           lambda: self.calls.call("vf_data_backward_get", h, text(axes), number(dtype)),
                           lambda: v.backward_get(axes, dtype))

    def backward(self, h, v):
        axes = self.axes_seen(v)
        g = self.seen(v, axes)
        raw = self.calls.array(g)

        def theirs():
            v.backward_put(axes, g)
            return g
        self.compare_value(f"backward({v.kind} {v.axes!r}, {axes!r}, {g.dtype}{g.shape})",
                           lambda: self.calls.call("vf_data_backward", h, text(axes), raw, 0), theirs)

    def part(self, call, h, v, ours, take, wrong=()):
        reuse_h, reuse_v = self.pick(self.pool) if self.chance(0.5) else (None, None)
        mutual = reuse_v is not None and any(a is b for a in reuse_v.leaves() for b in v.leaves())
        if mutual and reuse_v is not v:
            reuse_h, reuse_v = None, None

        def theirs():
            reasons = list(wrong)
            try:
                oracle.each(v, lambda leaf, k: leaf.input())
            except oracle.Refusal as refusal:
                reasons += refusal.reasons
            oracle.refuse_if(reasons + (v.may_become(reuse_v) if reuse_v is not None else []))
            return oracle.part(v, take, reuse_v)
        good, got, made = self.compare(f"{call} into {'a new view' if reuse_v is None else reuse_v.kind + ' ' + reuse_v.axes}",
                                       lambda: ours(reuse_h), theirs)
        if good and reuse_v is None:
            self.pool.append((self.calls.made(got), made))
        elif good and got != reuse_h:
            raise Wrong(f"{call} does not return the view to reuse")

    def least(self, v):
        counts = [leaf.array.shape[leaf.axes.index("b")] for leaf in v.leaves() if leaf.axes]
        return min(counts, default=0)

    def index(self, h, v):
        n, dtype = self.least(v), self.pick(INTEGERS)
        low = -n if dtype.kind == "i" else 0
        at = self.draw.integers(low, max(n, 1), self.upto(4) if n else 0).astype(dtype)
        wrong = []
        if self.chance(0.06):
            at = self.pick([at.astype("f4"), at[None], at.astype(bool)])
            wrong = [("indices are", "they are integers along one axis")]
        raw = self.calls.array(at)
        self.part(f"index({v.kind} {v.axes!r}, {at})", h, v, lambda reuse: self.calls.call("vf_data_index", h, raw, reuse),
                  lambda x, b: np.take(x, at.astype(np.int64), b), wrong)

    def sub(self, h, v):
        n = self.least(v)
        start = int(self.draw.integers(0, n + 1))
        stop = int(self.draw.integers(start, n + 1))
        wrong = []
        if self.chance(0.08):
            start, stop = self.pick([(-1, 0), (1, 0), (0, 9)])
            wrong = [(f"examples {start} to {stop} do not lie in", "a range is half-open, and counts from 0")]
        self.part(f"sub({v.kind} {v.axes!r}, {start}, {stop})", h, v,
                  lambda reuse: self.calls.call("vf_data_sub", h, start, stop, reuse),
                  lambda x, b: x.take(range(start, stop), b), wrong)

    def replace(self, h, v):
        axes = self.axes_seen(v)
        x = self.seen(v, axes)
        raw = self.calls.array(x)
        self.compare(f"replace({v.kind} {v.axes!r}, {axes!r}, {x.dtype}{x.shape})",
                     lambda: self.calls.call("vf_data_replace", h, text(axes), raw), lambda: v.replace(axes, x))

    def flush(self, h, v):
        self.compare(f"flush({v.kind})", lambda: self.calls.c.vf_data_flush(h), lambda: [leaf.flush() for leaf in v.leaves()])

    def clone(self, h, v):
        _, got, made = self.compare(f"clone({v.kind})", lambda: self.calls.call("vf_data_clone", h), lambda: oracle.clone(v))
        self.pool.append((self.calls.made(got), made))

    def type(self, h, v):
        dtype = self.pick(DTYPES)
        self.compare(f"type({v.kind} {v.axes!r}, {dtype})", lambda: self.calls.call("vf_data_type", h, number(dtype)),
                     lambda: oracle.type_all(v, dtype))

    def input(self, h, v):
        self.compare_value(f"input({v.kind})", lambda: self.calls.call("vf_data_input", h), v.input)

    def set_input(self, h, v):
        x = self.array(v.axes if self.chance(0.9) else "bf", v.kind)
        raw = self.calls.array(x)
        self.compare(f"set_input({v.kind} {v.axes!r}, {x.shape})", lambda: self.calls.call("vf_data_set_input", h, raw),
                     lambda: v.set_input(x))

    def transpose(self, h, v):
        axes = "".join(self.draw.permutation(list(v.axes))) if self.chance(0.8) else self.axes_to_put(v.kind)
        self.compare_value(f"transpose({v.kind} {v.axes!r}, {axes!r})", lambda: self.calls.call("vf_data_transpose", h, text(axes)),
                           lambda: v.transpose(axes))

    def set_classes(self, h, v):
        count = int(self.draw.integers(4, 7))

        def theirs():
            oracle.refuse_if([] if v.kind == "class" else [(oracle.WORDS[v.kind], "has no classes; a class view has")])
            v.classes = count
        self.compare(f"set_classes({v.kind}, {count})", lambda: self.calls.call("vf_data_set_classes", h, count, None), theirs)

    def sizes(self, h, v):
        n = v.array.shape[v.axes.index("b")] if v.axes else -1
        size = int(np.prod([s for a, s in zip(v.axes, v.array.shape) if a != "b"])) if v.axes else -1
        got = (self.calls.c.vf_data_sample_count(h), self.calls.c.vf_data_sample_size(h), self.calls.c.vf_data_axes(h).decode())
        if got != (n, size, v.axes):
            raise Wrong(f"{v.kind} {v.axes!r}: {got} examples, elements of each, axes; not {(n, size, v.axes)}")

    # lists

    def joined(self, parts):
        """One text for all components where it can be, or one for each."""
        if len(set(parts)) == 1 and self.chance(0.7):
            return parts[0]
        return ",".join("default" if p is None else p for p in parts)

    def put_all(self, h, v):
        leaves = v.leaves()
        axes = [self.axes_to_put(leaf.kind) for leaf in leaves]
        axes = [a or "b" for a in axes]
        n = self.upto(4)
        shapes = [[(n if self.chance(0.97) else n + 1) if a == "b" else self.upto(2) for a in x] for x in axes]
        arrays = [self.elements(s, leaf.kind) for s, leaf in zip(shapes, leaves)]
        raws, joined = self.calls.values(arrays), self.joined(axes)
        self.compare(f"put({joined!r}, {[x.shape for x in arrays]})",
                     lambda: self.calls.call("vf_data_put_all", h, text(joined), len(arrays), raws),
                     lambda: oracle.put_all(v, axes, arrays))

    def get_all(self, h, v):
        leaves = v.leaves()
        axes, dtype = [self.axes_to_get(leaf) for leaf in leaves], self.dtype()
        if self.chance(0.4):
            axes = ["bf"] * len(leaves)
        joined, dtypes = self.joined(axes), [dtype] * len(leaves)
        if dtype is None and "," in (joined or "") and self.chance(0.5):
            dtypes = [self.dtype() for _ in leaves]
            names = {d: n for d, n in zip(DTYPES, ["f32", "f64", "i32", "f16", "i64", "i16"])}
            joined = ",".join(part + (f":{names[d]}" if d is not None else "") for part, d in zip(joined.split(","), dtypes))
        room = (Raw * len(leaves))()
        good, _, wanted = self.compare(f"get([{', '.join(leaf.axes for leaf in leaves)}], {joined!r}, {dtype})",
                                       lambda: self.calls.call("vf_data_get_all", h, text(joined), number(dtype), len(leaves), room),
                                       lambda: oracle.get_all(v, axes, dtypes))
        for k, x in enumerate(wanted if good else []):
            self.calls.want(room[k], x, f"component {k} of {self.steps[-1]}")

    def with_arrays(self, name, h, v, theirs):
        leaves = v.leaves()
        axes = [self.axes_seen(leaf) for leaf in leaves]
        arrays = [self.seen(leaf, a) for leaf, a in zip(leaves, axes)]
        raws, joined = self.calls.values(arrays), self.joined(axes)
        self.compare(f"{name}([{', '.join(leaf.axes for leaf in leaves)}], {joined!r}, {[x.shape for x in arrays]})",
                     lambda: self.calls.call(f"vf_data_{name}_all", h, text(joined), len(arrays), raws),
                     lambda: theirs(v, axes, arrays))

    def backward_put_all(self, h, v):
        self.with_arrays("backward_put", h, v, oracle.backward_put_all)

    def replace_all(self, h, v):
        self.with_arrays("replace", h, v, oracle.replace_all)

    def backward_get_all(self, h, v):
        room = (Raw * len(v.leaves()))()
        good, _, wanted = self.compare("backward_get of a list", lambda: self.calls.call("vf_data_backward_get_all", h, len(room), room),
                                       lambda: oracle.each(v, lambda leaf, k: leaf.backward_get()))
        for k, g in enumerate(wanted if good else []):
            self.calls.want(room[k], g, f"component {k} of {self.steps[-1]}")

    def single(self, h, v):
        """What a list does not do."""
        x = self.calls.array(np.zeros((2, 2), "f4"))
        name, arguments = self.pick([("vf_data_put", (b"bf", x)), ("vf_data_get", (b"bf", 0)), ("vf_data_replace", (b"bf", x)),
                                     ("vf_data_input", ()), ("vf_data_backward_get", (None, 0))])

        def theirs():
            raise oracle.Refusal([("a list view has several arrays; use",)])
        self.compare(f"{name} of a list", lambda: self.calls.call(name, h, *arguments), theirs)


def attempt(context, seed, compiled):
    """What goes wrong; None where nothing does."""
    sequence = Sequence(context, seed)
    why = None
    try:
        for _ in range(int(sequence.draw.integers(8, 30))):
            sequence.step()
            if sequence.calls.session and sequence.chance(0.05):
                why = why or sequence.calls.check(compiled)
        why = why or sequence.calls.check(compiled)
    except Wrong as wrong:
        why = str(wrong)
    finally:
        sequence.calls.close()
    return why and "\n".join(sequence.steps + [why])
