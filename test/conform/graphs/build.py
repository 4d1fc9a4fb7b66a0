"""One random graph from a seed."""
from graphs import rows_axes, rows_elementwise, rows_indirect, rows_leaves, rows_reduce, rows_views, rows_window
from graphs.maker import Maker, Skip

FAMILIES = (rows_elementwise, rows_leaves, rows_views, rows_axes, rows_reduce, rows_indirect, rows_window)
ROWS = [row for family in FAMILIES for row in family.ROWS]
WEIGHTS = [weight for weight, _ in ROWS]
MOST_TRIES = 12  # rows drawn for each requested operation


def build(seed, symbolic):
    maker = Maker(seed, symbolic)
    wanted = maker.one([2, 3, 3, 4, 5, 6, 8, 10, 14, 20, 25])
    functions = [row for _, row in ROWS]
    tries = 0
    while maker.count < wanted and tries < MOST_TRIES * wanted:
        tries += 1
        inputs, values = len(maker.graph.inputs), len(maker.values)
        try:
            maker.random.choices(functions, WEIGHTS)[0](maker)
        except Skip:  # inputs made for it stay unused
            if len(maker.graph.nodes) == maker.count:
                del maker.graph.inputs[inputs:], maker.values[values:]
    graph = maker.graph
    if not graph.nodes:
        return build(seed + (1 << 40), symbolic)
    used = {id(x) for node in graph.nodes for x in node.sources()}
    made = [v for node in graph.nodes for v in node.results]
    graph.outputs = [v for v in made if id(v) not in used]
    graph.outputs += [v for v in made if id(v) in used and maker.chance(0.12)]
    if graph.inputs and maker.chance(0.02):
        graph.outputs.append(graph.inputs[0])
    maker.random.shuffle(graph.outputs)
    return graph
