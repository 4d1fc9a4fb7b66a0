"""One graph against itself with its values stored."""
from binding import Context, Refused
from storing.eager import Lacking
from storing.measure import Program, Timed, difference, draw, ratio_of, time_in_turn
from storing.text import FORMS, tolerances

LIMIT = 1.1  # the graph as it is may take so many times what it takes with its values stored
EAGER_LIMIT = 1.5  # and so many times what PyTorch takes for its operations
LEAST_MS = 0.02  # what takes less is not judged: launches and the clock weigh as much
FEW_ROUNDS, ROUNDS, MORE_ROUNDS = 3, 5, 15  # to shrink; to measure; again, what is too slow
MOST_MS = 4000.0  # of all turns of one program: a run of a second is measured a few times only


class Contexts:
    """A context for each number of threads, made when it is needed."""

    def __init__(self, build, cache=None):
        self.build, self.cache, self.made = build, cache, {}

    def of(self, threads):
        if threads not in self.made:
            self.made[threads] = Context(self.build, threads=threads, cache=self.cache)
        return self.made[threads]


def programs_of(context, graph, types, forms):
    """{name: program}: the graph as it is, first, and its forms; of those of one text the first."""
    inputs = [draw(n, *types[n], seed) for seed, n in enumerate(graph.params)]
    texts, programs = {"as it is": graph.text()}, {}
    for name, form in forms.items():
        text = form(graph).text()
        if text not in texts.values():
            texts[name] = text
    try:
        for name, text in texts.items():
            programs[name] = Program(context, text, types, graph.outputs, inputs)
    except Refused:
        close(programs)
        raise
    return programs


def close(programs):
    for p in programs.values():
        p.close()


class Peer(Timed):
    """A program of another library."""

    def __init__(self, function):
        self.function, self.ms = function, []

    def run(self):
        clock = Timed.clock
        before = clock()
        self.function()
        return (clock() - before) * 1e-6


def compare(context, graph, forms=FORMS, rounds=ROUNDS, more=MORE_ROUNDS, eager=None):
    """{"ratio", "ms", "form": the fastest form, its "form_ms", "differs": None or how results differ}. Without rounds nothing
    is timed, and only "differs" is there. eager: PyTorch, whose operations take "eager_ms" where it has all of them."""
    types = graph.types(context)
    programs = programs_of(context, graph, types, forms)
    try:
        own, *others = programs.values()
        first = max(p.run() for p in programs.values())
        differs = disagreement(graph, types, own, others)
        if not rounds:
            return {"differs": differs}
        time_in_turn(list(programs.values()), max(1, min(rounds, int(MOST_MS / first))))
        best = min(others or [own], key=lambda p: min(p.ms))
        ratio = ratio_of(own, best)
        if ratio > LIMIT and more:
            time_in_turn([own, best], max(1, min(more, int(MOST_MS / first))))
            ratio = ratio_of(own, best)
        name = next(n for n, p in programs.items() if p is best)
        ratios = {n: ratio_of(own, p) for n, p in programs.items() if p is not own}
        found = {"ratio": ratio, "ms": min(own.ms), "form": name, "form_ms": min(best.ms), "ratios": ratios, "differs": differs}
        if eager:
            found.update(beside(own, eager, graph, types, rounds))
        return found
    finally:
        close(programs)


def beside(own, eager, graph, types, rounds):
    """Against PyTorch, in turn."""
    try:
        peer = Peer(eager.program(graph, types, own.inputs))
    except Lacking as why:
        return {"eager_lacks": str(why).splitlines()[0][:60]}
    own.ms = []
    time_in_turn([own, peer], max(1, min(rounds, int(MOST_MS / peer.run()))))
    return {"eager_ms": min(peer.ms), "eager_ratio": ratio_of(own, peer)}


def disagreement(graph, types, own, others):
    allowed = tolerances(graph, types)
    for p in others:
        for name, got, want in zip(graph.outputs, own.results(), p.results()):
            how = difference(got, want, allowed[name])
            if how:
                return f"{name}: {how}"
    return None


def fails(found):
    slow = found["ratio"] > LIMIT or found.get("eager_ratio", 0) > EAGER_LIMIT
    return slow and found["ms"] > LEAST_MS or bool(found["differs"])


def is_slow(context, graph, above, least_ms):
    """Whether a graph takes `above` times what it takes stored, and at least so many milliseconds more. What cannot be
    compiled is not."""
    try:
        found = compare(context, graph, rounds=FEW_ROUNDS, more=0)
    except Refused:
        return False
    return found["ratio"] > above and found["ms"] - found["form_ms"] > least_ms
