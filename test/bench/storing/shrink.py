"""The smallest part of a graph that is still slower than with its values stored."""
from storing.text import NAME, Graph, Statement


def cut(graph, types, names):
    """The graph with these values as parameters."""
    names = set(names)
    params = dict(graph.params)
    for n in names:
        dtype, shape = types[n]
        params[n] = f"{dtype}[{','.join(map(str, shape))}]"
    statements = []
    for s in graph.statements:
        gone = names.intersection(s.results)
        if gone and len(gone) == len(s.results):
            continue
        statements.append(Statement([r + "_" if r in gone else r for r in s.results], s.right) if gone else s)
    return Graph(params, statements, [n for n in graph.outputs if n not in names] or graph.outputs[:1], graph.before).pruned()


def ended(graph, count):
    """The first statements alone; what they leave unread are the results, and what was a result stays one."""
    part = Graph(graph.params, graph.statements[:count], [], graph.before)
    made = {n for s in part.statements for n in s.results}
    part.outputs = list(dict.fromkeys(part.unread() + [n for n in graph.outputs if n in made]))
    return part.pruned()


def begun(graph, types, count):
    """Without the first statements, whose results are parameters."""
    early = {n for s in graph.statements[:count] for n in s.results}
    later = {n for s in graph.statements[count:] for n in s.reads()}
    kept = Graph(graph.params, graph.statements, [n for n in graph.outputs if n not in early] or graph.outputs[:1], graph.before)
    return cut(kept, types, early & later)


def bypassed(graph, types, s):
    """The graph with a parameter or operand of the same type in place of one statement's result."""
    for name in dict.fromkeys(s.reads()):
        if len(s.results) == 1 and types[name] == types[s.results[0]]:
            swap = lambda n, old=s.results[0], new=name: new if n == old else n
            statements = [Statement(t.results, NAME.sub(lambda found: swap(found[0]), t.right)) for t in graph.statements if t is not s]
            yield Graph(graph.params, statements, list(dict.fromkeys(swap(n) for n in graph.outputs)), graph.before).pruned()


def bisect(keeps, low, high, make):
    """The graph of make(k) for a k in low..high that keeps, near one end of the kept ones: `low` is known to be too far."""
    best = None
    while abs(high - low) > 1:
        middle = (low + high) // 2
        made = make(middle)
        if keeps(made):
            best, high = made, middle
        else:
            low = middle
    return best


def shrunk(graph, keeps, types_of, most=150):
    """keeps(graph) says whether it is still slow. At most so many are tried."""
    tried = 0

    def good(candidate):
        nonlocal tried
        tried += 1
        outputs = [n for n in candidate.outputs if n not in candidate.params]
        candidate.outputs = outputs
        return bool(outputs and candidate.statements) and tried <= most and keeps(candidate)

    while True:
        size = len(graph.statements)
        types = types_of(graph)
        graph = bisect(good, 0, size, lambda k, g=graph: ended(g, k)) or graph
        graph = bisect(good, len(graph.statements), 0, lambda k, g=graph, t=types: begun(g, t, k)) or graph
        step = max(1, len(graph.statements) // 4)
        while step:
            k = 0
            while k < len(graph.statements) and tried < most:
                part = graph.statements[k:k + step]
                made = [n for s in part for n in s.results]
                candidates = [cut(graph, types, made)]
                candidates += [Graph(graph.params, graph.statements, [o], graph.before).pruned() for o in graph.outputs
                               if len(graph.outputs) > 1 and o in made]
                if step == 1:
                    candidates += list(bypassed(graph, types, part[0]))
                better = next((c for c in candidates if len(c.statements) < len(graph.statements) and good(c)), None)
                if better:
                    graph = better
                else:
                    k += step
            step //= 2
        for o in list(graph.outputs):
            fewer = Graph(graph.params, graph.statements, [n for n in graph.outputs if n != o], graph.before).pruned()
            if fewer.outputs and good(fewer):
                graph = fewer
        if len(graph.statements) >= size or tried >= most:
            return graph
