"""Expressions of `viewfold index` as hash-consed nodes: parsing, operations, values on all lanes.

A node is a tuple (op, operands...): ('c', value), ('v', axis), ('b', bool); 'add' and 'mul' of two, 'neg', 'div', 'mod';
'lt', 'ge', 'eq', 'ne'; 'and', 'or' of any number. Operands of commutative operations are sorted, so that equal
expressions are equal tuples.
"""
import ast
import re

import numpy as np

OPPOSITE = {"lt": "ge", "ge": "lt", "eq": "ne", "ne": "eq"}
DIVISION = 5  # operations that one division or remainder counts as


def const(value):
    return ("c", int(value))


def is_const(node):
    return node[0] == "c"


def negated(a):
    if is_const(a):
        return const(-a[1])
    return a[1] if a[0] == "neg" else ("neg", a)


def binary(op, a, b):
    if is_const(a) and is_const(b):
        x, y = a[1], b[1]
        return const({"add": x + y, "mul": x * y}[op] if op in ("add", "mul") else x // y if op == "div" else x % y)
    if op == "mul" and const(-1) in (a, b):
        return negated(b if a == const(-1) else a)
    if op == "mul" and const(1) in (a, b):
        return b if a == const(1) else a
    if op == "add" and const(0) in (a, b):
        return b if a == const(0) else a
    return (op,) + tuple(sorted((a, b), key=repr)) if op in ("add", "mul") else (op, a, b)


def junction(op, parts):
    unit = ("b", op == "and")
    flat = {}
    for part in parts:
        for clause in part[1:] if part[0] == op else (part,):
            if clause[0] == "b":
                if clause != unit:
                    return clause
            else:
                flat[repr(clause)] = clause
    if len(flat) < 2:
        return next(iter(flat.values())) if flat else unit
    return (op,) + tuple(flat[key] for key in sorted(flat))


def inverted(a):
    if a[0] == "b":
        return ("b", not a[1])
    if a[0] in OPPOSITE:
        return (OPPOSITE[a[0]],) + a[1:]
    return a[1] if a[0] == "not" else ("not", a)


def _convert(n):
    if isinstance(n, ast.Constant):
        return ("b", n.value) if isinstance(n.value, bool) else const(n.value)
    if isinstance(n, ast.Name):
        return ("v", int(re.fullmatch(r"ridx(\d+)", n.id).group(1)))
    if isinstance(n, ast.UnaryOp):
        return negated(_convert(n.operand)) if isinstance(n.op, ast.USub) else inverted(_convert(n.operand))
    if isinstance(n, ast.BinOp):
        a, b = _convert(n.left), _convert(n.right)
        kind = type(n.op)
        if kind is ast.Sub:
            return binary("add", a, negated(b))
        if kind in (ast.BitAnd, ast.BitOr):
            return junction("and" if kind is ast.BitAnd else "or", [a, b])
        return binary({ast.Add: "add", ast.Mult: "mul", ast.FloorDiv: "div", ast.Mod: "mod"}[kind], a, b)
    if isinstance(n, ast.Compare) and len(n.ops) == 1:
        a, b = _convert(n.left), _convert(n.comparators[0])
        kind = type(n.ops[0])
        if kind in (ast.Gt, ast.LtE):
            a, b = b, a
        return ({ast.Lt: "lt", ast.Gt: "lt", ast.GtE: "ge", ast.LtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}[kind], a, b)
    raise ValueError(ast.dump(n))


def parse(text):
    return _convert(ast.parse(re.sub(r"!(?!=)", " not ", text), mode="eval").body)


def operands(node):
    return () if node[0] in ("c", "v", "b") else node[1:]


def nodes_of(*roots):
    seen, stack = set(), list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(operands(node))
    return seen


def cost(*roots):
    """Operations of the expressions together, each distinct one once. A negation is free as part of an addition that
    has another term; negating a comparison is free."""
    nodes = nodes_of(*roots)
    total = 0
    negations = {r for r in roots if r[0] == "neg"}
    for node in nodes:
        if node[0] == "add" and node[1][0] == "neg" and node[2][0] == "neg":
            negations.add(node[1])
        elif node[0] != "add":
            negations.update(x for x in operands(node) if x[0] == "neg")
        if node[0] in ("div", "mod"):
            total += DIVISION
        elif node[0] in ("and", "or"):
            total += len(node) - 2
        elif node[0] in ("add", "mul", "lt", "ge", "eq", "ne", "not"):
            total += 1
    return total + len(negations)


def constants_of(*roots):
    return {abs(node[1]) for node in nodes_of(*roots) if is_const(node)}


def show(node):
    signs = {"add": "+", "mul": "*", "div": "//", "mod": "%", "lt": "<", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|"}
    if node[0] in ("c", "b"):
        return str(node[1])
    if node[0] == "v":
        return f"ridx{node[1]}"
    if node[0] in ("neg", "not"):
        return ("-" if node[0] == "neg" else "!") + show(node[1])
    if node[0] == "add" and node[1][0] == "neg":
        return f"({show(node[2])}-{show(node[1][1])})"
    if node[0] == "add" and node[2][0] == "neg":
        return f"({show(node[1])}-{show(node[2][1])})"
    return "(" + signs[node[0]].join(show(x) for x in node[1:]) + ")"


def values(node, lanes):
    """lanes: one row per axis. The node's value on each lane."""
    memo = {}

    def at(n):
        if n not in memo:
            memo[n] = compute(n)
        return memo[n]

    def compute(n):
        op = n[0]
        if op == "c":
            return np.full(lanes.shape[1], n[1], dtype=np.int64)
        if op == "b":
            return np.full(lanes.shape[1], n[1], dtype=bool)
        if op == "v":
            return lanes[n[1]]
        x = [at(a) for a in n[1:]]
        if op in ("and", "or"):
            return (np.logical_and if op == "and" else np.logical_or).reduce(x)
        return {
            "add": lambda: x[0] + x[1],
            "mul": lambda: x[0] * x[1],
            "div": lambda: x[0] // x[1],
            "mod": lambda: x[0] % x[1],
            "neg": lambda: -x[0],
            "lt": lambda: x[0] < x[1],
            "ge": lambda: x[0] >= x[1],
            "eq": lambda: x[0] == x[1],
            "ne": lambda: x[0] != x[1],
            "not": lambda: ~x[0],
        }[op]()

    return at(node)
