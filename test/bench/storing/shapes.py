"""Random shapes of the classes of work that people have: a graph of one operation, or of the few that belong together.

A class is a function of the source of random choices that gives the types of parameters and statements. Sizes are drawn so
that one thread computes 20 us to 10 ms.
"""
from storing.choices import Choices
from storing.text import Graph, Statement

# What one thread does in a millisecond, roughly.
ELEMENTS_MS, PRODUCTS_MS = 3.0e6, 4.0e7
LEAST_MS, MOST_MS = 0.02, 10.0


class Source(Choices):
    def __init__(self, seed):
        super().__init__(seed)
        self.ms = LEAST_MS * (MOST_MS / LEAST_MS) ** self.random.random()

    def sizes(self, count, product):
        """So many sizes whose product is near the given one: any numbers, round ones and odd ones."""
        shares = [self.random.random() + 0.15 for _ in range(count)]
        found = []
        for share in shares:
            size = max(1, round(max(2.0, product) ** (share / sum(shares))))
            if self.chance(0.5) and size > 8:
                step = self.one([8, 16, 32, 64])
                size = max(step, round(size / step) * step) if size > step else size
            found.append(size)
        return found

    def elements(self, count):
        """Sizes of an array that is read and written in the time that was drawn."""
        return self.sizes(count, self.ms * ELEMENTS_MS)


def type_of(dtype, *shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def listed(numbers):
    return f"[{','.join(map(str, numbers))}]"


def f32(*shape):
    return type_of("f32", *shape)


# products

def product(s):
    m, k, n = s.sizes(3, s.ms * PRODUCTS_MS)
    batch = s.sizes(1, 16) if s.chance(0.25) else []
    if batch:
        m, k, n = (max(1, round(x / batch[0] ** (1 / 3))) for x in (m, k, n))
    params, lines, names = {}, [], []
    for name, shape, weight in (("%a", [m, k], False), ("%b", [k, n], True)):
        turned = s.chance(0.3)
        params[name] = f32(*batch, *(shape[::-1] if turned else shape))
        if turned:
            lines.append(f"{name}t = swap_axes {name} axis1=-2 axis2=-1")
        names.append(name + "t" * turned)
    lines.append(f"%p = matmul {names[0]}, {names[1]}")
    if s.chance(0.4):
        params["%c"] = f32(n)
        lines.append("%q = add %p, %c")
    return params, lines


def matrix_vector(s):
    m, k = s.elements(2)
    if s.chance(0.5):
        return {"%a": f32(m, k), "%b": f32(k, 1)}, ["%p = matmul %a, %b"]
    return {"%a": f32(1, m), "%b": f32(m, k)}, ["%p = matmul %a, %b"]


def few_rows(s):
    rows = s.integer(2, 32)
    k, n = s.sizes(2, s.ms * PRODUCTS_MS / rows)
    return {"%a": f32(rows, k), "%b": f32(k, n)}, ["%p = matmul %a, %b"]


# (channels, size, channels of the result, kernel, stride, padding, dilation) of published networks
CONVOLUTIONS = [
    (3, 224, 64, 7, 2, 3, 1), (64, 56, 64, 3, 1, 1, 1), (64, 56, 128, 3, 2, 1, 1), (128, 28, 128, 3, 1, 1, 1), (128, 28, 256, 3, 2, 1, 1),
    (256, 14, 256, 3, 1, 1, 1), (256, 14, 512, 3, 2, 1, 1), (512, 7, 512, 3, 1, 1, 1), (3, 224, 64, 3, 1, 1, 1), (64, 112, 128, 3, 1, 1, 1),
    (3, 227, 96, 11, 4, 0, 1), (96, 27, 256, 5, 1, 2, 1), (32, 149, 64, 3, 1, 1, 1), (80, 73, 192, 3, 1, 0, 1), (48, 35, 64, 5, 1, 2, 1),
    (288, 35, 384, 3, 2, 0, 1), (3, 299, 32, 3, 2, 0, 1), (256, 28, 256, 3, 1, 2, 2), (64, 64, 64, 3, 1, 4, 4), (3, 224, 96, 4, 4, 0, 1),
    (3, 224, 768, 16, 16, 0, 1), (32, 128, 32, 3, 1, 1, 1), (128, 32, 128, 3, 1, 1, 1), (16, 32, 16, 3, 1, 1, 1), (16, 64, 32, 5, 1, 2, 1),
]
POINTWISE = [
    (64, 56, 256, 1), (256, 56, 64, 1), (256, 56, 128, 1), (256, 56, 512, 2), (128, 28, 512, 1), (512, 28, 128, 1), (512, 28, 1024, 2),
    (256, 14, 1024, 1), (1024, 14, 256, 1), (512, 7, 2048, 1), (2048, 7, 512, 1), (32, 112, 16, 1), (16, 112, 96, 1), (96, 56, 24, 1),
    (24, 56, 144, 1), (144, 28, 32, 1), (192, 28, 32, 1), (192, 14, 64, 1), (384, 14, 96, 1), (576, 14, 96, 1), (576, 7, 160, 1),
    (960, 7, 320, 1), (320, 7, 1280, 1), (64, 73, 80, 1), (192, 35, 64, 1), (480, 14, 192, 1), (832, 7, 384, 1), (58, 28, 58, 1),
    (116, 14, 116, 1), (512, 13, 1000, 1), (16, 55, 64, 1),
]
DEPTHWISE = [
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1), (192, 28, 3, 2), (384, 14, 3, 1), (576, 14, 3, 2),
    (960, 7, 3, 1), (40, 28, 5, 2), (120, 28, 5, 1), (240, 14, 5, 1), (672, 14, 5, 1), (672, 14, 5, 2), (1152, 7, 5, 1), (96, 56, 7, 1),
    (192, 28, 7, 1), (384, 14, 7, 1), (768, 7, 7, 1), (58, 56, 3, 2), (116, 28, 3, 2), (24, 112, 3, 1),
]


def near(s, size):
    """A size of a network, or one near it."""
    return size if s.chance(0.7) else max(1, size + s.integer(-size // 8, size // 8))


def images(s):
    return s.one([1, 1, 1, 1, 2, 4])


def conv_of(n, c, h, o, k, stride, pad, dilation=1, groups=1):
    params = {"%x": f32(n, c, h, h), f"%w{c // groups * k * k}_": f32(o, c // groups, k, k)}
    words = f"stride={stride} padding={pad} dilation={dilation} groups={groups}"
    return params, [f"%p = conv %x, %w{c // groups * k * k}_ {words}"]


def convolution(s):
    c, h, o, k, stride, pad, dilation = s.one(CONVOLUTIONS)
    return conv_of(images(s), c if c == 3 else near(s, c), near(s, h), near(s, o), k, stride, pad, dilation)


def pointwise(s):
    c, h, o, stride = s.one(POINTWISE)
    return conv_of(images(s), near(s, c), near(s, h), near(s, o), 1, stride, 0)


def depthwise(s):
    c, h, k, stride = s.one(DEPTHWISE)
    c = near(s, c)
    return conv_of(images(s), c, near(s, h), c, k, stride, k // 2, 1, c)


def grouped(s):
    c, h, o, groups = s.one([(128, 56, 128, 32), (256, 28, 256, 32), (512, 14, 512, 32), (64, 56, 64, 2), (240, 14, 240, 10), (48, 56, 48, 3)])
    stride = s.one([1, 1, 2])
    return conv_of(images(s), c, near(s, h), o, 3, stride, 1, 1, groups)


def pooling(s):
    kernel, stride, pad = s.one([(2, 2, 0), (3, 2, 1), (3, 2, 0), (3, 1, 1), (5, 1, 2), (2, 1, 0), (7, 7, 0), (3, 3, 0)])
    n, c, h = images(s), s.integer(1, 256), s.one([7, 14, 28, 35, 55, 56, 112, 147])
    h = max(h, kernel)
    name = s.one(["max_pool", "max_pool", "avg_pool"])
    pad = pad if name == "max_pool" else 0
    return {"%x": f32(n, c, h, h)}, [f"%p = {name} %x kernel=[{kernel},{kernel}] stride=[{stride},{stride}] padding={pad}"]


def attention(s):
    heads, width = s.one([4, 8, 12, 16]), s.one([32, 64, 64, 80, 128])
    queries = s.one([1, 17, 64, 77, 128, 197, 256, 333])
    keys = queries if s.chance(0.5) else s.one([33, 77, 128, 256, 500])
    lead = [s.one([1, 1, 2, 4]), heads]
    return ({"%q": f32(*lead, queries, width), "%k": f32(*lead, keys, width), "%v": f32(*lead, keys, width)},
            ["%p = attention %q, %k, %v" + (" causal=true" if queries == keys and s.chance(0.4) else "")])


# what reads and writes

def laid_out(s, rank, dtype="f32"):
    """Parameters, statements and the name of an array whose axes may lie in another order."""
    shape = s.elements(rank)
    if rank > 1 and s.chance(0.4):
        order = list(range(rank))
        s.random.shuffle(order)
        return {"%x": type_of(dtype, *shape)}, [f"%v = permute %x order={listed(order)}"], "%v", [shape[i] for i in order]
    return {"%x": type_of(dtype, *shape)}, [], "%x", shape


def reduction(s):
    rank = s.integer(1, 4)
    params, lines, x, shape = laid_out(s, rank)
    axes = sorted(s.random.sample(range(rank), s.integer(1, rank)))
    if s.chance(0.2):
        return params, [*lines, f"%p = {s.one(['argmax', 'argmin'])} {x} axis={axes[0]}"]
    return params, [*lines, f"%p = {s.one(['sum', 'sum', 'mean', 'max', 'min', 'var'])} {x} axes={listed(axes)}"]


def normalization(s):
    rank = s.integer(2, 4)
    params, lines, x, shape = laid_out(s, rank)
    name = s.one(["softmax", "log_softmax", "layer_norm", "rms_norm"])
    axis = s.one([rank - 1, rank - 1, s.integer(0, rank - 1)]) if name.endswith("softmax") else rank - 1
    return params, [*lines, f"%p = {name} {x} axis={axis}"]


def view(s):
    """Views that move something: one that PyTorch answers with its operand would be compared with a copy."""
    rank = s.integer(2, 4)
    shape = s.elements(rank)
    params, axis = {"%x": f32(*shape)}, s.integer(0, rank - 1)
    kind = s.one(["permute", "permute", "flip", "pad", "shrink", "stride", "concat", "expand", "roll"])
    order = list(range(rank))
    while order == sorted(order):
        s.random.shuffle(order)
    bounds = [[s.integer(0, n // 4), n - s.integer(0, n // 4)] for n in shape]
    bounds[axis] = [min(1, shape[axis] - 1), shape[axis]]
    steps = [s.one([1, 1, 2, 3]) if k != axis else 2 for k in range(rank)]
    pads = [[s.integer(0, 3), s.integer(k == axis, 3)] for k in range(rank)]
    lines = {
        "permute": [f"%p = permute %x order={listed(order)}"],
        "flip": [f"%p = flip %x axes=[{axis}]"],
        "pad": [f"%p = pad %x pads={listed(map(listed, pads))}"],
        "shrink": ["%p = shrink %x bounds=[" + ",".join(f"[{low},{max(high, low + 1)}]" for low, high in bounds) + "]"],
        "stride": [f"%p = stride %x steps={listed(steps)}"],
        "concat": [f"%p = concat %x, %x axis={axis}"],
        "expand": [f"%u = reshape %x shape={listed(shape[:axis] + [1] + shape[axis:])}", f"%p = expand %u shape={listed(shape[:axis] + [s.integer(2, 5)] + shape[axis:])}"],
        "roll": [f"%a = shrink %x bounds=[{','.join(f'[{max(1, n // 3) if k == axis and n > 1 else 0},{n}]' for k, n in enumerate(shape))}]",
                 f"%b = shrink %x bounds=[{','.join(f'[0,{max(1, n // 3) if k == axis and n > 1 else n}]' for k, n in enumerate(shape))}]",
                 f"%p = concat %a, %b axis={axis}"],
    }[kind]
    return params, [*lines, s.one(["%z = add %p, 1.0", "%z = stored %p"])]


def chain(s):
    dtype = s.one(["f32"] * 5 + ["f64", "f16", "bf16", "i32", "i64", "u8", "i16"])
    shape = s.elements(s.integer(1, 3))
    params, lines, last = {"%x": type_of(dtype, *shape), "%y": type_of(dtype, *(shape if s.chance(0.6) else shape[-1:]))}, [], "%x"
    floats = dtype in ("f32", "f64", "f16", "bf16")
    if s.chance(0.25) and floats:
        return params, [f"%p = {s.one(['exp', 'tanh', 'sigmoid', 'gelu', 'gelu_tanh', 'erf', 'sin', 'silu', 'softplus', 'sqrt', 'relu'])} %x"]
    for k in range(s.integer(1, 5)):
        name = f"%v{k}"
        if floats and s.chance(0.3):
            lines.append(f"{name} = {s.one(['relu', 'tanh', 'sigmoid', 'abs', 'neg', 'exp2'])} {last}")
        else:
            lines.append(f"{name} = {s.one(['add', 'sub', 'mul', 'max', 'min'])} {last}, %y")
        last = name
    return params, lines


def cast(s):
    of = s.one(["f32", "f32", "i32", "f16", "bf16"])
    to = s.one([t for t in ("f32", "f16", "bf16", "f64", "i32", "i64") if t != of])
    return {"%x": type_of(of, *s.elements(2))}, [f"%p = cast %x dtype={to}"]


def sorting(s):
    rows, n = s.sizes(2, s.ms * ELEMENTS_MS / 20)
    dtype = s.one(["f32", "f32", "i32", "i64"])
    kind = s.one(["sort", "argsort", "topk", "cumsum", "cumsum"])
    params, axis = {"%x": type_of(dtype, rows, n)}, s.one([1, 1, 0])
    size = (rows, n)[axis]
    if kind == "topk":
        return params, [f"%p, %i = topk %x axis={axis} k={s.integer(1, min(size, 16))}"]
    return params, [f"%p = {kind} %x axis={axis}"]


def indexed(s):
    rows, width = s.sizes(2, s.ms * ELEMENTS_MS)
    width, rows = min(width, 1024), max(rows, 8)
    count = s.sizes(1, s.ms * ELEMENTS_MS / width)[0]
    kind = s.one(["gather", "gather", "scatter_add"])
    rows = max(rows, 64)  # drawn indices are below 64
    params = {"%x": f32(rows, width), "%i": type_of("i64", count)}
    if kind == "gather":
        return params, ["%p = gather %x, %i axis=0"]
    return {**params, "%u": f32(count, width)}, ["%p = scatter_add %x, %i, %u"]


CLASSES = {
    "product": product, "matrix times vector": matrix_vector, "few rows": few_rows, "convolution": convolution, "1x1 convolution": pointwise,
    "depthwise": depthwise, "grouped": grouped, "pooling": pooling, "attention": attention, "reduction": reduction, "normalization": normalization,
    "view": view, "chain": chain, "cast": cast, "sorting": sorting, "indexed": indexed,
}


def drawn(number, seed):
    """(class, graph) of a number: classes take turns."""
    name = list(CLASSES)[number % len(CLASSES)]
    params, lines = CLASSES[name](Source(seed * 1_000_003 + number))
    statements = [Statement([r.strip() for r in left.split(",")], right) for left, right in (line.split(" = ", 1) for line in lines)]
    return name, Graph(params, statements, [statements[-1].results[0]])
