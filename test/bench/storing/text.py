"""Graphs as text: statements that can be cut, dropped and followed by `stored`."""
import re
import zlib

from binding import DTYPES, Value
from oracle.rules import FLOATS

NAME = re.compile(r'%(?:"(?:[^"\\]|\\.)*"|\w+)')
LEAVES = {"const", "constant", "data", "resource", "iota", "arange", "linspace", "eye", "full", "zeros", "ones", "stored"}
VIEWS = {"permute", "swap_axes", "transpose", "moveaxis", "expand", "broadcast_to", "reshape", "flatten", "unsqueeze", "squeeze",
         "shrink", "slice", "slice_tensor", "stride", "flip", "point", "pad", "concat", "concatenate", "stack", "split", "chunk",
         "unbind", "bitcast"}


class Statement:
    """results: names with `%`; right: the operation with its operands and attributes."""

    def __init__(self, results, right):
        self.results, self.right = list(results), right

    @property
    def op(self):
        return self.right.split(None, 1)[0]

    def reads(self):
        return NAME.findall(self.right)

    def text(self):
        return f"{', '.join(self.results)} = {self.right}"


class Graph:
    """params: {name: type}, in order. before: the text of the functions that the graph calls."""

    def __init__(self, params, statements, outputs, before=""):
        self.params, self.statements, self.outputs, self.before = dict(params), list(statements), list(outputs), before

    def text(self):
        head = ", ".join(f"{name}: {type_}" for name, type_ in self.params.items())
        body = "".join(f"  {s.text()}\n" for s in self.statements)
        return f"{self.before}graph @g({head}) {{\n{body}  return {', '.join(self.outputs)}\n}}\n"

    def pruned(self):
        """Without what no output depends on."""
        needed, kept = set(self.outputs), []
        for s in reversed(self.statements):
            if needed.intersection(s.results):
                kept.append(s)
                needed.update(s.reads())
        return Graph({n: t for n, t in self.params.items() if n in needed}, kept[::-1], self.outputs, self.before)

    def unread(self):
        read = {name for s in self.statements for name in s.reads()}
        return [name for s in self.statements for name in s.results if name not in read]

    def readers(self):
        """{name: the statements that read it}"""
        found = {}
        for s in self.statements:
            for name in dict.fromkeys(s.reads()):
                found.setdefault(name, []).append(s)
        return found

    def types(self, context):
        """{name: (dtype, shape)} of all values."""
        made = [name for s in self.statements for name in s.results]
        read = context.parse(Graph(self.params, self.statements, made or self.outputs, self.before).text())
        try:
            values = {n: Value(context, context.c.vf_graph_find(read, plain(n).encode())) for n in [*self.params, *made]}
            return {n: (v.dtype, v.shape) for n, v in values.items()}
        finally:
            context.c.vf_graph_destroy(read)


def plain(name):
    """The name of %name or %"a name"."""
    return re.sub(r"\\(.)", r"\1", name[2:-1]) if name[1] == '"' else name[1:]


def joined(lines):
    """Statements on one line each: a line may be broken within brackets."""
    whole = ""
    for line in lines:
        whole += (" " if whole else "") + re.sub(r'\s#[^"]*$', "", line).strip()
        if whole.startswith("#"):
            whole = ""
        if whole and whole.count("[") <= whole.count("]") and whole.count("(") <= whole.count(")"):
            yield whole
            whole = ""


def parsed(text):
    """The last graph of a text; what stands before it are its functions."""
    starts = [m.start() for m in re.finditer(r"^graph @", text, re.M)]
    before, text = text[starts[0]:starts[-1]], text[starts[-1]:]
    head, body = text.split("{\n", 1)
    inside = head[head.index("(") + 1:head.rindex(")")]
    params = {m[1]: m[2] for m in re.finditer(r'(%(?:"(?:[^"\\]|\\.)*"|\w+))\s*:\s*(\w+\[[^\]]*\])', inside)}
    statements, outputs = [], []
    for line in joined(body[:body.rindex("}")].splitlines()):
        if line.startswith("return "):
            outputs = [x.strip() for x in line[7:].split(",")]
            continue
        left, right = line.split(" = ", 1)
        statements.append(Statement(NAME.findall(left), re.sub(r" : \w+\[.*$", "", right)))
    return Graph(params, statements, outputs, before)


def stored(graph, wanted):
    """The graph with `stored` behind each statement for which wanted(statement) holds."""
    statements = []
    for s in graph.statements:
        if s.op in LEAVES or not wanted(s):
            statements.append(s)
            continue
        inner = [f'{n[:-1]} unstored"' if n[1] == '"' else n + "_unstored" for n in s.results]
        statements.append(Statement(inner, s.right))
        statements += [Statement([n], f"stored {i}") for n, i in zip(s.results, inner)]
    return Graph(graph.params, statements, graph.outputs, graph.before)


def unstored(graph):
    """The graph without the `stored` that are in it already."""
    statements = [Statement(s.results, s.right.split(None, 1)[1]) if s.op == "stored" else s for s in graph.statements]
    return Graph(graph.params, statements, graph.outputs, graph.before)


def is_elementwise(s):
    if s.op in ("max", "min"):
        return "," in s.right.partition("=")[0]
    return s.op not in VIEWS | LEAVES | SUMS | ELSEWHERE


def ends(graph):
    """What is stored behind each chain of elementwise operations and each reduction or product, but not within a chain, nor
    between factors and their sum; and behind what permutes axes that a reshape has split, as attention's heads."""
    readers, results = graph.readers(), set(graph.outputs)
    made = {n: s for s in graph.statements for n in s.results}

    def only_reader(s):
        """Behind views."""
        while True:
            found = [t for n in s.results for t in readers.get(n, [])]
            if len(found) != 1 or results.intersection(s.results):
                return None
            if found[0].op not in VIEWS:
                return found[0]
            s = found[0]

    def wanted(s):
        if s.op == "permute":
            below = made.get(s.reads()[0])
            return below is not None and below.op == "reshape"
        reader = only_reader(s)
        direct = reader is not None and set(s.results) & set(reader.reads())
        inside = reader is not None and is_elementwise(s) and (direct and is_elementwise(reader) or s.op in ("mul", "fma") and reader.op == "sum")
        return s.op not in VIEWS and not inside

    return stored(graph, wanted)


# Where `stored` stands: behind every operation; every one that is no view; the ends of elementwise chains; half of all
# operations, by their names; nowhere.
FORMS = {"ends": ends,
         "all": lambda g: stored(g, lambda s: True),
         "computed": lambda g: stored(g, lambda s: s.op not in VIEWS),
         "half": lambda g: stored(g, lambda s: zlib.crc32(s.results[0].encode()) % 2),
         "none": unstored}

# How far results may differ where sums are added in another order, as a share of the greatest element. Sums and
# products of matrices differ by units of their dtype, which norms and quotients behind them make larger.
TOLERANCE = {"f64": 1e-9, "f32": 1e-3, "f16": 0.05, "bf16": 0.2}
SUMS = {"sum", "reduce_sum", "mean", "reduce_mean", "prod", "reduce_prod", "matmul", "einsum", "conv", "conv_transpose", "avg_pool", "softmax",
        "log_softmax", "logsumexp", "var", "std", "layer_norm", "rms_norm", "cumsum", "cumprod", "scatter_add", "scatter_add_along_axis",
        "attention"}
JUMPS = {"argmax", "argmin", "argsort", "topk", "floor", "ceil", "round", "trunc", "eq", "ne", "lt", "le", "gt", "ge", "floordiv", "mod",
         "sign", "not"}
# Neither views, nor sums, nor elementwise.
ELSEWHERE = {"any", "all", "argmax", "argmin", "sort", "argsort", "topk", "gather", "take", "take_along_axis", "scatter", "scatter_along_axis",
             "put_along_axis", "slice_update", "cummax", "cummin", "max_pool", "minmax", "tril", "triu", "result", "cond", "while_loop", "scan",
             "checkpoint", "call"}
UNKNOWN = float("inf")


def tolerances(graph, types):
    """{name: the share of the greatest element by which the value may differ between two ways to compute it}. Where a
    function that jumps is applied to sums, results are unknown."""
    found = {name: 0.0 for name in graph.params}
    for s in graph.statements:
        reads = s.reads()
        worst = max((found[n] for n in reads), default=0.0)
        from_floats = any(types[n][0] in FLOATS for n in reads)
        if worst and (s.op in JUMPS and from_floats or any(types[n][0] not in FLOATS and found[n] for n in reads)):
            worst = UNKNOWN
        for n in s.results:
            dtype = types[n][0]
            own = TOLERANCE[dtype] if dtype in FLOATS and s.op in SUMS else 0.0
            if worst and from_floats and dtype not in FLOATS:  # a cast
                own = UNKNOWN
            found[n] = max(worst, own, TOLERANCE[dtype] if worst and dtype in FLOATS else 0.0)
    return found


def bytes_of(dtype):
    return {"bool": 1, "bf16": 2}.get(dtype) or int(dtype[1:]) // 8


assert set(TOLERANCE) == set(FLOATS) and all(d in DTYPES for d in FLOATS)
