"""The parts of test/bench/stored.py, on graphs of which the answer is known.

    stored_graphs.py --build build
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "conform"), os.path.join(HERE, "..", "bench")]

from arguments import arguments  # noqa: E402
from binding import Context  # noqa: E402
from storing.maker import OPERATIONS, draw_graph  # noqa: E402
from storing.rows import ROWS, STARTS  # noqa: E402
from storing.shrink import shrunk  # noqa: E402
from storing.text import FORMS, parsed, tolerances  # noqa: E402
from storing.vary import varied  # noqa: E402

GRAPH = """graph @t(%x: f32[4,6], %w: f32[6,6], %"a b": f32[6]) {
  %h = matmul %x, %w  # a comment
  %c = add %h, %"a b" : f32[4,6]
  %r = relu %c
  %p = reshape %r shape=[4,2,
      3]
  %q = permute %p order=[1,0,2]
  %one = const value=1.0 dtype=f32
  %e = mul %q, %one
  %l, %m = split %e parts=2 axis=0
  %i = argmax %l axis=2
  return %m, %i
}
"""
BODY = {
    "ends": ["%h_unstored = matmul %x, %w", "%h = stored %h_unstored", '%c = add %h, %"a b"', "%r_unstored = relu %c",
             "%r = stored %r_unstored", "%p = reshape %r shape=[4,2, 3]", "%q_unstored = permute %p order=[1,0,2]", "%q = stored %q_unstored",
             "%one = const value=1.0 dtype=f32", "%e_unstored = mul %q, %one", "%e = stored %e_unstored", "%l, %m = split %e parts=2 axis=0",
             "%i_unstored = argmax %l axis=2", "%i = stored %i_unstored"],
    "computed": ["%h_unstored = matmul %x, %w", "%h = stored %h_unstored", '%c_unstored = add %h, %"a b"', "%c = stored %c_unstored",
                 "%r_unstored = relu %c", "%r = stored %r_unstored", "%p = reshape %r shape=[4,2, 3]", "%q = permute %p order=[1,0,2]",
                 "%one = const value=1.0 dtype=f32", "%e_unstored = mul %q, %one", "%e = stored %e_unstored",
                 "%l, %m = split %e parts=2 axis=0", "%i_unstored = argmax %l axis=2", "%i = stored %i_unstored"],
}
LATE = ["%l_unstored, %m_unstored = split %e parts=2 axis=0", "%l = stored %l_unstored", "%m = stored %m_unstored"]


def check(name, got, wanted):
    if got != wanted:
        sys.exit(f"{name}:\n{got}\nexpected:\n{wanted}")


def rewriting(context):
    graph = parsed(GRAPH)
    check("parameters", list(graph.params), ["%x", "%w", '%"a b"'])
    check("outputs", graph.outputs, ["%m", "%i"])
    types = graph.types(context)
    check("types", [types[n] for n in ("%c", "%q", "%m", "%i")],
          [("f32", (4, 6)), ("f32", (2, 4, 3)), ("f32", (1, 4, 3)), ("i64", (1, 4))])
    for form, body in BODY.items():
        check(form, [s.text() for s in FORMS[form](graph).statements], body)
    everything = FORMS["all"](graph)
    lines = [s.text() for s in everything.statements]
    check("a split in `all`", lines[lines.index(LATE[0]):][:3], LATE)
    check("`all` without what it stores", FORMS["none"](everything).types(context)["%i"], types["%i"])
    far = tolerances(graph, types)
    check("what may differ", (far["%x"] == 0, 0 < far["%m"] < 1, far["%i"] > 1), (True, True, True))


def drawing(context):
    """The same graph for a seed, of a legal size; parameters that nothing reads are left out."""
    for seed in range(5):
        graph, again = (draw_graph(context, seed, ROWS, STARTS) for _ in range(2))
        check(f"graph {seed}, drawn again", again.text(), graph.text())
        check(f"operations of graph {seed}", 2 <= len(graph.statements) <= OPERATIONS[1] + 20, True)
        read = {n for s in graph.statements for n in s.reads()}
        check(f"parameters of graph {seed} that are read", set(graph.params) <= read, True)
        check(f"graph {seed}, written and read", parsed(graph.text()).text(), graph.text())
        other = varied(context, graph, seed)
        check(f"a variation of graph {seed}", other is None or other.text() != graph.text(), True)


def shrinking(context):
    """A graph is slow here that has both these operations, one reading the other's result."""
    def slow(graph):
        made = {n: s.op for s in graph.statements for n in s.results}
        return any(s.op == "relu" and made.get(n) == "add" for s in graph.statements for n in s.reads())

    least = shrunk(parsed(GRAPH), slow, lambda g: g.types(context))
    check("what is left", [s.text() for s in least.statements], ['%c = add %h, %"a b"', "%r = relu %c"])
    check("its parameters", least.params, {'%"a b"': "f32[6]", "%h": "f32[4,6]"})
    check("its outputs", least.outputs, ["%r"])


def main():
    context = Context(arguments().build)
    rewriting(context)
    drawing(context)
    shrinking(context)


if __name__ == "__main__":
    main()
