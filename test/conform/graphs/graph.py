"""A random graph: inputs, nodes in order, outputs; its text, and NumPy's results for each assignment of the
variables."""
import re

import numpy as np

from binding import to_dtype
from graphs.reference import Ref
from oracle.rules import compute


class Value:
    """A tensor: dtype, sizes, and one Ref for each assignment. node is None for an input."""

    def __init__(self, name, dtype, shape, refs, node=None):
        self.name, self.dtype, self.shape, self.refs, self.node = name, dtype, tuple(shape), refs, node

    @property
    def rank(self):
        return len(self.shape)

    def exact(self):
        return all(r.e is None for r in self.refs)


class Node:
    """One operation. operands: values, or the texts of literals; function(env, refs of the values) -> Refs."""

    def __init__(self, op, operands, attributes, function):
        self.op, self.operands, self.attributes, self.function = op, operands, attributes, function
        self.results, self.types = [], ""

    def sources(self):
        return [x for x in self.operands if isinstance(x, Value)]

    def text(self):
        operands = ", ".join(x if isinstance(x, str) else "%" + x.name for x in self.operands)
        attributes = "".join(f" {k}={v}" for k, v in self.attributes)
        return f"{', '.join('%' + v.name for v in self.results)} = {self.op} {operands}{attributes}{self.types}"


class Graph:
    """envs: one {Variable: number} for each run; a single empty one without variables."""

    def __init__(self, variables, envs):
        self.variables, self.envs = variables, envs
        self.inputs, self.nodes, self.outputs = [], [], []

    def text(self):
        written = {v.name: self._type(v) for v in self.inputs}
        head = ", ".join(f"%{v.name}: {written[v.name]}" for v in self.inputs)
        lines = [f"graph @g({head}) {{"] + ["  " + node.text() for node in self.nodes]
        lines += ["  return " + ", ".join("%" + v.name for v in self.outputs), "}", ""]
        text = "\n".join(lines)
        for variable in self.variables:  # declared where it is used first
            first = re.search(rf"(?<![\w%]){variable.text}(?!\w)", text)
            if first:
                alone = text[first.start() - 1] in "[,|" and text[first.end()] in ",]|"
                declared = variable.declared() if alone else f"({variable.declared()})"
                text = text[:first.start()] + declared + text[first.end():]
        return text

    @staticmethod
    def _type(value):
        return value.written

    def evaluate(self):
        """Recomputes the Refs of all nodes from those of the inputs."""
        with np.errstate(all="ignore"):
            for node in self.nodes:
                made = [node.function(env, *[x.refs[k] for x in node.sources()]) for k, env in enumerate(self.envs)]
                for number, value in enumerate(node.results):
                    value.refs = [refs[number] for refs in made]

    def prune(self):
        """Keeps only what the outputs depend on. Inputs may stay unused: parameters that are never read."""
        needed = {id(v) for v in self.outputs}
        for node in reversed(self.nodes):
            if any(id(v) in needed for v in node.results):
                needed.update(id(x) for x in node.sources())
        self.nodes = [n for n in self.nodes if any(id(v) in needed for v in n.results)]
        self.inputs = [v for v in self.inputs if id(v) in needed]

    def sizes(self, value, env):
        return tuple(s.at(env) for s in value.shape)

    def stored(self, value, number):
        """The elements in memory of an input, or of a value that becomes one."""
        return np.ascontiguousarray(to_dtype(value.refs[number].a, value.dtype).array)


def constant(value):
    """Turns a node's result into an input that holds NumPy's elements."""
    value.node = None
    with np.errstate(all="ignore"):
        value.refs = [Ref(r.a.astype(compute(value.dtype))) for r in value.refs]
    return value
