"""The smallest graph that fails in the same way. Each attempt runs in a process of its own, so that a crash
or a hang may be the failure."""
import os
import re
import resource
import signal
import sys

from graphs.graph import constant
from graphs.workers import limit_memory

SECONDS = 60  # of processor time for one attempt
PASSED, OTHERWISE = "", "another failure"


def kind_of(story):
    """A failure's text without names and numbers, which differ from graph to graph."""
    if "at [" in story:
        return "wrong elements"
    story = re.sub(r"^[nmrs]=\d+(, [nmrs]=\d+)*: ", "", story).partition("; needs")[0]
    return " ".join(w for w in re.split(r"[^a-z-]+", story) if len(w) > 2)[:120]


def attempt(ask, graph):
    """The failure of the graph, from a process of its own."""
    sys.stdout.flush()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        limit_memory()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            verdict = ask(graph)
            story = PASSED if verdict is None else verdict.story
        except BaseException as why:  # an error of this tool itself
            story = f"tool: {why!r}"
        os.write(send, story.encode()[:60000])
        os._exit(0)
    os.close(send)
    told = b""
    while part := os.read(receive, 65536):
        told += part
    os.close(receive)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hang" if number in (signal.SIGXCPU, signal.SIGKILL) else f"crash: {signal.Signals(number).name}"
    return told.decode() or (PASSED if os.WEXITSTATUS(status) == 0 else f"exit status {os.WEXITSTATUS(status)}")


def shrunk(build, ask, most=400):
    """(graph, what is wrong with it). build() makes the failing graph; edits that keep the failure are kept."""
    story = attempt(ask, build())
    wanted = kind_of(story)
    if story == PASSED:
        return build(), story
    kept, tried, progress = [], 0, True
    while progress and tried < most:
        progress = False
        for edit in list(_edits(_edited(build, kept))):
            tried += 1
            graph = _edited(build, kept + [edit])
            if graph is None or tried > most:
                continue
            told = attempt(ask, graph)
            if told != PASSED and kind_of(told) == wanted:
                kept.append(edit)
                story, progress = told, True
                break
    return _edited(build, kept), story


def _edited(build, edits):
    graph = build()
    try:
        for edit, *at in edits:
            if not edit(graph, *at):
                return None
        graph.evaluate()
    except Exception:  # an assumption of a row no longer holds
        return None
    return graph if graph.outputs else None


def _edits(graph):
    """All edits, the largest first."""
    if len(graph.outputs) > 1:
        for value in graph.outputs:
            yield _one_output, value.name
    if len(graph.envs) > 1:
        for k in range(len(graph.envs)):
            yield _one_run, k
    for node in reversed(graph.nodes):
        yield _cut, node.results[0].name
        for k in range(len(node.sources())):
            yield _past, node.results[0].name, k
    for node in graph.nodes:
        if node.types:
            yield _untyped, node.results[0].name


def _find(graph, name):
    return next((n for n in graph.nodes if n.results[0].name == name), None)


def _one_output(graph, name):
    graph.outputs = [v for v in graph.outputs if v.name == name]
    graph.prune()
    return bool(graph.outputs)


def _one_run(graph, number):
    graph.envs = [graph.envs[number]]
    for value in graph.inputs:
        value.refs = [value.refs[number]]
    return True


def _cut(graph, name):
    """The results become inputs."""
    node = _find(graph, name)
    if not node or all(n is node for n in graph.nodes):
        return False
    graph.nodes.remove(node)
    graph.evaluate()
    graph.inputs += [constant(v) for v in node.results]
    graph.outputs = [v for v in graph.outputs if v not in node.results]
    graph.prune()
    return bool(graph.outputs)


def _past(graph, name, number):
    """The first result is replaced by an operand of its type."""
    node = _find(graph, name)
    if not node or len(node.results) > 1:
        return False
    (old,), new = node.results, node.sources()[number]
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return False
    for other in graph.nodes:
        other.operands = [new if x is old else x for x in other.operands]
    graph.outputs = [new if v is old else v for v in graph.outputs]
    if len(set(map(id, graph.outputs))) < len(graph.outputs) or all(v in graph.inputs for v in graph.outputs):
        return False
    graph.nodes.remove(node)
    graph.prune()
    return True


def _untyped(graph, name):
    node = _find(graph, name)
    node.types = ""
    return True
