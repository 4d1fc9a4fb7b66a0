"""Graphs of StableHLO with specs of Shardy, as viewfold's text: each value of the one is a value of the other."""
import math
import re
import string

UNARY = {"exponential": "exp", "log": "log", "tanh": "tanh", "sqrt": "sqrt", "rsqrt": "rsqrt", "negate": "neg",
         "logistic": "sigmoid", "abs": "abs", "floor": "floor", "not": "not", "cosine": "cos", "sine": "sin"}
BINARY = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "max", "minimum": "min",
          "power": "pow", "and": "and", "or": "or"}
REDUCE = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}
DTYPES = {"f32": "f32", "f64": "f64", "bf16": "bf16", "f16": "f16", "i1": "bool", "i8": "i8", "i32": "i32", "i64": "i64",
          "ui32": "u32", "ui8": "u8"}


class Unknown(Exception):
    """An operation that is not translated."""


def type_of(text):
    *dims, dtype = text.strip().split("x")
    return [int(d) for d in dims], DTYPES[dtype]


def numbers(line, name):
    found = re.search(name + r"\s*=\s*(?:array<i64: ?|\[)([-\d, ]*)[\]>]", line)
    return [int(n) for n in found[1].replace(" ", "").split(",") if n] if found else []


def spec_of(text):
    """`[{"x"}, {"y", ?}]` as lists of axes; sub-axes as x:(1)2."""
    dims = re.findall(r"\{([^{}]*)\}", text[text.index("["):text.rindex("]") + 1])
    return [[axis.replace('"', "").replace(" ", "") for axis in re.findall(r'"\w+"(?::\(\d+\)\d+)?', dim)] for dim in dims]


def spec_text(spec, given=None):
    """given: the text of Shardy, whose dimensions may be open."""
    opened = ["?" in dim for dim in re.findall(r"\{([^{}]*)\}", given[given.index("["):])] if given else [False] * len(spec)
    return "[" + ",".join((".".join(dim) + ("?" if o else "")) if dim else "?" if o else "-"
                          for dim, o in zip(spec, opened)) + "]"


def listed(values):
    return "[" + ",".join(map(str, values)) + "]"


class Translator:
    def __init__(self, before, after):
        self.lines, self.specs, self.types, self.given = [], {}, {}, {}
        self.before, self.after = before, after
        self.extra = 0

    def put(self, name, text, into=None):
        self.lines.append(f"  %{name} = {text}")
        return name

    def helper(self, text):
        self.extra += 1
        return self.put(f"t{self.extra}", text)

    def broadcast(self, name, x, dims, shape):
        source = self.types[x][0]
        middle = [1] * len(shape)
        for size, d in zip(source, dims):
            middle[d] = size
        if middle != source:
            x = self.helper(f"reshape %{x} shape={listed(middle)}") if source or shape else x
        self.put(name, f"broadcast_to %{x} shape={listed(shape)}")

    def operation(self, name, op, args, line, shape, dtype):
        x = args[0] if args else None
        if op in UNARY:
            self.put(name, f"{UNARY[op]} %{x}")
        elif op in BINARY:
            self.put(name, f"{BINARY[op]} %{x}, %{args[1]}")
        elif op == "compare":
            how = re.search(r"compare *(EQ|NE|LT|LE|GT|GE)", line)[1].lower()
            self.put(name, f"{how} %{x}, %{args[1]}")
        elif op == "select":
            self.put(name, f"where %{x}, %{args[1]}, %{args[2]}")
        elif op == "convert":
            self.put(name, f"cast %{x} dtype={dtype}")
        elif op == "constant":
            value = re.search(r"dense<([^>\[]*)>", line)
            if not value:
                raise Unknown("constant of several elements")
            text = {"0xFF800000": "-inf", "0x7F800000": "inf"}.get(value[1], value[1])
            text = text if dtype == "bool" or dtype[0] in "iu" or text.endswith("inf") else repr(float(text))
            self.put(name, f"full shape={listed(shape)} value={text} dtype={dtype}")
        elif op == "broadcast_in_dim":
            self.broadcast(name, x, numbers(line, "dims"), shape)
        elif op == "reshape":
            self.put(name, f"reshape %{x} shape={listed(shape)}")
        elif op == "transpose":
            self.put(name, f"permute %{x} order={listed(numbers(line, 'dims'))}")
        elif op == "reverse":
            self.put(name, f"flip %{x} axes={listed(numbers(line, 'dims'))}")
        elif op == "iota":
            axis = re.search(r"dim = (\d+)", line)[1]
            self.put(name, f"iota shape={listed(shape)} axis={axis} dtype={dtype}")
        elif op == "slice":
            parts = [tuple(map(int, part.split(":"))) for part in re.search(r"\[([\d:, ]+)\]", line)[1].split(",")]
            bounds = listed([[p[0], p[1]] for p in parts]).replace(" ", "")
            steps = [p[2] if len(p) > 2 else 1 for p in parts]
            made = f"shrink %{x} bounds={bounds}"
            if any(s != 1 for s in steps):
                made = f"stride %{self.helper(made)} steps={listed(steps)}"
            self.put(name, made)
        elif op == "concatenate":
            axis = re.search(r"dim = (\d+)", line)[1]
            self.put(name, f"concat {', '.join('%' + a for a in args)} axis={axis}")
        elif op == "pad":
            low, high = numbers(line, "low"), numbers(line, "high")
            if any(numbers(line, "interior")) or min(low + high) < 0:
                raise Unknown("interior or negative padding")
            self.put(name, f"pad %{x} pads={listed([[a, b] for a, b in zip(low, high)]).replace(' ', '')}")
        elif op in ("dot", "dot_general"):
            self.dot(name, op, args, line)
        elif op == "reduce":
            kind = REDUCE[re.search(r"applies stablehlo\.(\w+)", line)[1]]
            self.put(name, f"{kind} %{x} axes={listed(numbers(line, 'dimensions'))}")
        elif op == "convolution":
            self.convolution(name, args, line)
        elif op == "gather":
            self.gather(name, args, line)
        elif op in ("sharding_constraint", "copy"):
            given = re.search(r"<@mesh, (\[.*?\])>", line)[1]
            self.put(name, f"shard %{x} to={spec_text(spec_of(given), given)}")
        else:
            raise Unknown(op)

    def dot(self, name, op, args, line):
        ranks = [len(self.types[a][0]) for a in args]
        batch = re.search(r"batching_dims = \[([\d, ]*)\] x \[([\d, ]*)\]", line)
        batch = [[int(n) for n in g.split(",") if n.strip()] for g in batch.groups()] if batch else [[], []]
        contracted = re.search(r"contracting_dims = \[([\d, ]*)\] x \[([\d, ]*)\]", line)
        contracted = ([[int(n) for n in g.split(",") if n.strip()] for g in contracted.groups()] if contracted
                      else [[ranks[0] - 1], [0]])
        free = iter(string.ascii_letters)
        letters = [[None] * ranks[0], [None] * ranks[1]]
        for pairs in batch, contracted:
            for a, b in zip(*pairs):
                letters[0][a] = letters[1][b] = next(free)
        result = [letters[0][a] for a in batch[0]]
        for side in 0, 1:
            for d in range(ranks[side]):
                if letters[side][d] is None:
                    letters[side][d] = next(free)
                    result.append(letters[side][d])
        equation = "".join(letters[0]) + "," + "".join(letters[1]) + "->" + "".join(result)
        self.put(name, f'einsum %{args[0]}, %{args[1]} equation="{equation}"')

    def convolution(self, name, args, line):
        order = re.search(r"dim_numbers = \[([\w, ]+)\]x\[([\w, ]+)\]->\[([\w, ]+)\]", line)
        lists = [g.replace(" ", "").split(",") for g in order.groups()]
        count = len(lists[0]) - 2
        want = [["b", "f"], ["o", "i"], ["b", "f"]]
        want = [w + [str(i) for i in range(count)] for w in want]
        operands = []
        for a, have, w in zip(args, lists, want):
            p = [have.index(c) for c in w]
            operands.append(a if p == sorted(p) else self.helper(f"permute %{a} order={listed(p)}"))
        window = line[line.index("window ="):] if "window =" in line else ""
        stride = numbers(window, "stride") or [1] * count
        pads = re.search(r"pad = (\[\[.*?\]\])", window)
        if numbers(window, "lhs_dilate") and set(numbers(window, "lhs_dilate")) != {1}:
            raise Unknown("transposed convolution")
        if "reverse" in window and "true" in window:
            raise Unknown("reversed convolution")
        dilation = numbers(window, "rhs_dilate") or [1] * count
        text = (f"conv %{operands[0]}, %{operands[1]} stride={listed(stride)} dilation={listed(dilation)}"
                f" padding={pads[1].replace(' ', '') if pads else listed([[0, 0]] * count).replace(' ', '')}")
        q = [want[2].index(c) for c in lists[2]]
        if q == sorted(q):
            self.put(name, text)
        else:
            self.put(name, f"permute %{self.helper(text)} order={listed(q)}")

    def gather(self, name, args, line):
        x, at = args
        source, index = self.types[x][0], self.types[at][0]
        collapsed = re.search(r"collapsed_slice_dims = \[([\d, ]*)\]", line)
        sizes = numbers(line, "slice_sizes")
        if not collapsed or collapsed[1].strip() != "0" or sizes != [1] + source[1:] or index[-1] != 1:
            raise Unknown("gather")
        rows = self.helper(f"reshape %{at} shape={listed(index[:-1])}")
        self.put(name, f"gather %{x}, %{rows} axis=0 mode=clip")

    def translate(self):
        """(text, {name: spec of Shardy}): all values are results."""
        mesh = dict(re.findall(r'"(\w+)"=(\d+)', self.after.split("\n")[1]))
        header = [line for line in self.after.splitlines() if "func.func @main" in line][0]
        given = [line for line in self.before.splitlines() if "func.func @main" in line][0]
        argument = re.compile(r"%(arg\d+): tensor<([^>]*)>(?: \{(.*?\]>)?[^%]*?\})?(?=, %|\) ->)")
        before = {m[1]: m[3] for m in argument.finditer(given)}
        params = []
        for m in argument.finditer(header):
            shape, dtype = type_of(m[2])
            self.types[m[1]] = shape, dtype
            if m[3] and "sdy.sharding" in m[3]:
                self.specs[m[1]] = spec_of(m[3])
            text = before[m[1]]
            said = f" @mesh{spec_text(spec_of(text), text)}" if text and "sdy.sharding" in text else ""
            params.append(f"%{m[1]}: {dtype}{listed(shape)}{said}")
        body = self.after[self.after.index("func.func @main"):].splitlines()[1:]
        for line in body:
            found = re.match(r"\s*%(\w+)(?::\d+)? = \"?(?:stablehlo|sdy|mhlo)\.(\w+)\"?(.*)$", line)
            if not found:
                if re.match(r"\s*(func\.)?return", line):
                    self.results = ["v" + n if not n.startswith("arg") else n for n in re.findall(r"%(\w+)", line)]
                    break
                if line.strip():
                    raise Unknown(line.strip()[:60])
                continue
            name, op, remainder = "v" + found[1], found[2], found[3]
            operands = remainder.split(" : ")[0] if op != "constant" else ""
            operands = re.sub(r"\{.*", "", operands) if op not in ("reduce",) else operands.split("applies")[0]
            args = [a if a.startswith("arg") else "v" + a for a in re.findall(r"%(\w+)", operands)]
            if op == "reduce":
                args = args[:1]
            shape, dtype = type_of(re.findall(r"tensor<([^>]*)>", line)[-1])
            if op == "pad":
                args = args[:1]
            self.types[name] = shape, dtype
            self.operation(name, op, args, line, shape, dtype)
            spec = re.search(r"sdy\.sharding = #sdy\.sharding_per_value<\[<@mesh, (\[.*?\])", line)
            spec = spec or re.search(r"sharding_constraint.*?<@mesh, (\[.*?\])", line)
            self.specs[name] = spec_of(spec[1]) if spec else [[] for _ in shape]
        names = [n for n in self.types if n.startswith("v")]
        text = (f"mesh @mesh [{','.join(f'{k}={n}' for k, n in mesh.items())}]\ngraph @g({', '.join(params)}) {{\n"
                + "\n".join(self.lines) + f"\n  return {', '.join('%' + n for n in names)}\n}}\n")
        for name, (shape, _) in self.types.items():
            self.specs.setdefault(name, [[] for _ in shape])
        return text, self.specs
