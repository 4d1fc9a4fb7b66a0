#!/usr/bin/env python3
"""Random programs of functions that write the references they are given, against NumPy in place.

    reference_calls.py --build DIR [--seed N] [--count N] [--device NAME] [--case N]

A program is a graph of one or two references, and functions that it calls: by call, cond, scan and while_loop, nested up to
three deep, each with the references, or one of them, and a position. Statements write parts of a reference (numbers, other
parts of it, parts of the other one), read parts, keep an older version to read it later, and call. What is read is summed. An
interpreter of a few lines does the same with NumPy arrays that all functions share. Elements are small integers, so that
results are exact. Each program is evaluated, and compiled for one thread and two. Exit status: 0, 1 after a failure, 77 when it
cannot run.
"""
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import argparse
import gc
import re

import binding

ROWS, COLUMNS = 5, 3
OPS = {"set": lambda old, new: new, "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "xor": np.bitwise_xor}
PROGRAMS = 100  # programs of one context


class View:
    """A part of a reference: as text, a chain of views of %p or of the reference; in NumPy, a key."""

    def __init__(self, random, dynamic):
        kind = random.choice(["all", "row", "rows", "columns", "flipped", "every"] + ["at"] * 3 * dynamic)
        row, shift = int(random.integers(ROWS)), int(random.integers(1, ROWS))
        self.lines, self.key = {
            "all": ([], lambda k: np.s_[:]),
            "row": ([f"point {{}} index={row} axis=0"], lambda k: np.s_[row]),
            "at": (["create_view {}, %at"], lambda k: np.s_[int(k)]),
            "rows": ([f"shrink {{}} bounds=[[{shift - 1},{ROWS}],[0,{COLUMNS}]]"], lambda k: np.s_[shift - 1:]),
            "columns": ([f"shrink {{}} bounds=[[0,{ROWS}],[1,{COLUMNS}]]"], lambda k: np.s_[:, 1:]),
            "flipped": (["flip {} axes=[0,1]"], lambda k: np.s_[::-1, ::-1]),
            "every": (["stride {} steps=[2,1]"], lambda k: np.s_[::2]),
        }[kind]

    def text(self, write, of):
        for line in self.lines:
            of = write(line.format(of))
        return of


class Function:
    """Statements, and as many lines of text; run() does them with NumPy."""

    def __init__(self, random, name, program, depth):
        self.random, self.name, self.program, self.depth = random, name, program, depth
        self.references = ["a", "b"] if random.random() < 0.5 else [str(random.choice(["a", "b"]))]
        self.writes = False
        self.lines, self.actions, self.numbers = ["%at = index_point %k"], [], 0
        self.write("0", "sum")
        for _ in range(int(random.integers(1, 4))):
            random.choice([self.store, self.store, self.look, self.look_back] + [self.call] * 3 * (depth > 0))()
        self.returns = not self.writes or bool(random.random() < 0.7)
        program.functions.append(self)

    def write(self, line, name=None):
        self.numbers += 1
        name = name or f"v{self.numbers}"
        self.lines.append(f"%{name} = {line}")
        return "%" + name

    def one(self):
        return str(self.random.choice(self.references))

    def add(self, value):
        """Adds what was read to the sum."""
        self.sum = self.write(f"add {getattr(self, 'sum', '%sum')}, {value}")

    def store(self):
        self.writes = True
        to, view, op = self.one(), View(self.random, True), str(self.random.choice(list(OPS)))
        at = view.text(self.write, self.write(f"address %{to}"))
        if self.random.random() < 0.4:
            number = int(self.random.integers(-4, 5))
            value, read = str(number), lambda arrays, k: number
        else:
            of, rows = self.one(), View(self.random, True)
            value = self.write(f"sum {rows.text(self.write, '%' + of)} axes=[0]") if self.random.random() < 0.5 else None
            if value is None:  # the part of a reference that has the target's shape
                rows = view
                value = rows.text(self.write, "%" + of)
                read = lambda arrays, k: arrays[of][rows.key(k)].copy()
            else:
                read = lambda arrays, k: arrays[of][rows.key(k)].sum(axis=0, dtype=np.int32)
                if not self.broadcasts(rows, view):
                    value, read = "2", lambda arrays, k: 2
        self.lines.append(f"%{to} = assign %{to}, {at}, {value} op={op}")

        def action(arrays, k):
            key = view.key(k)
            arrays[to][key] = OPS[op](arrays[to][key], read(arrays, k))
            return 0

        self.actions.append(action)

    def broadcasts(self, rows, view):
        """Does a sum over the first axis of one part broadcast to the other?"""
        array = np.zeros((ROWS, COLUMNS))
        have, want = array[rows.key(0)].sum(axis=0).shape, array[view.key(0)].shape
        return not have or have[-1:] == want[-1:]

    def look(self):
        of, view = self.one(), View(self.random, True)
        part = view.text(self.write, "%" + of)
        self.add(self.write(f"sum {part}"))
        self.actions.append(lambda arrays, k: arrays[of][view.key(k)].sum())

    def look_back(self):
        """Reads what was there before the next statement."""
        of = self.one()
        old = self.write(f"%{of}")
        at = len(self.actions)
        random = self.random
        random.choice([self.store] + [self.call] * (self.depth > 0))()
        self.add(self.write(f"sum {old}"))
        between = self.actions[at:]
        del self.actions[at:]

        def action(arrays, k):
            kept = arrays[of].sum()
            return kept + sum(do(arrays, k) for do in between)

        self.actions.append(action)

    def call(self):
        f = Function(self.random, f"f{len(self.program.functions)}_{self.depth}", self.program, self.depth - 1)
        self.writes |= f.writes
        if not set(f.references) <= set(self.references):
            self.references = ["a", "b"]
        given = ", ".join("%" + r for r in f.references)
        getattr(self, "by_" + str(self.random.choice(["call", "cond", "scan", "while"])))(f, given)

    def by_call(self, f, given):
        self.statement(f, f"call {given}, %k do=@{f.name}")
        self.actions.append(f.run)

    def by_cond(self, f, given):
        limit = int(self.random.integers(ROWS))
        none = self.program.other(f)
        self.writes |= none.writes
        below = self.write(f"lt %k, {limit}")
        then, otherwise = (f, none) if self.random.random() < 0.5 else (none, f)
        self.statement(f, f"cond {below}, {given}, %k then=@{then.name} else=@{otherwise.name}")
        self.actions.append(lambda arrays, k: (then if k < limit else otherwise).run(arrays, k))

    def by_scan(self, f, given):
        rounds, back = int(self.random.integers(1, ROWS)), bool(self.random.random() < 0.3)
        ks = self.write(f"iota shape=[{rounds}] axis=0 dtype=i32")
        result = self.statement(f, f"scan {given}, {ks} do=@{f.name} reverse={str(back).lower()}", add=False)
        if result:
            self.add(self.write(f"sum {result}"))
        order = range(rounds - 1, -1, -1) if back else range(rounds)
        self.actions.append(lambda arrays, k: sum(f.run(arrays, i) for i in order))

    def by_while(self, f, given):
        rounds = int(self.random.integers(ROWS))
        name, header = f"w{len(self.program.texts)}", f"(%k: i32[], %s: i32[], {f.header()})"
        self.program.texts.append(f"graph @more_{name}{header} {{\n  %c = lt %k, {rounds}\n  return %c\n}}\n")
        inner = f"{'%r = ' if f.returns else ''}call {given}, %k do=@{f.name}\n"
        self.program.texts.append(f"graph @{name}{header} {{\n  {inner}  %n = add %k, 1\n"
                                  f"  %t = add %s, {'%r' if f.returns else 0}\n  return %n, %t\n}}\n")
        self.numbers += 1
        self.lines.append(f"%j{self.numbers}, %s{self.numbers} = while_loop 0, 0, {given} while=@more_{name} do=@{name} "
                          f"carries={2 + len(f.references)}")
        self.add(f"%s{self.numbers}")
        self.actions.append(lambda arrays, k: sum(f.run(arrays, i) for i in range(rounds)))

    def statement(self, f, call, add=True):
        if not f.returns:
            self.lines.append(call)
            return None
        result = self.write(call)
        if add:
            self.add(result)
        return result

    def header(self):
        return ", ".join(f"%{r}: ref i32[{ROWS},{COLUMNS}]" for r in self.references)

    def text(self):
        body = "".join(f"  {line}\n" for line in self.lines)
        result = f" {getattr(self, 'sum', '%sum')}" if self.returns else ""
        return f"graph @{self.name}({self.header()}, %k: i32[]) {{\n{body}  return{result}\n}}\n"

    def run(self, arrays, k):
        total = sum(do(arrays, k) for do in self.actions)
        return total if self.returns else 0


class Program:
    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.functions, self.texts, self.random = [], [], random
        self.main = Function(random, "main", self, 3)
        self.main.returns = True
        self.arrays = {r: random.integers(-3, 4, (ROWS, COLUMNS)).astype(np.int32) for r in "ab"}
        self.k = np.int32(random.integers(ROWS))

    def other(self, f):
        """The other branch of a condition: it reads alone, or writes, too."""
        made = Function.__new__(Function)
        made.random, made.name, made.program, made.depth = self.random, f"o{len(self.functions)}", self, 0
        made.references, made.returns, made.writes = list(f.references), f.returns, False
        made.lines, made.actions, made.numbers = ["%at = index_point %k", "%sum = 1"], [lambda arrays, k: 1], 0
        self.random.choice([made.look] * f.returns + [made.store, made.look_back])()
        self.functions.append(made)
        return made

    def text(self):
        """Functions stand above those that call them; wrappers of loops behind what they call."""
        pending, texts, known = self.texts + [f.text() for f in self.functions], [], set()
        while pending:
            for t in pending:
                name, *called = re.findall(r"@(\w+)", t)
                if set(called) <= known:
                    texts.append(t), known.add(name), pending.remove(t)
                    break
            else:
                raise AssertionError("functions call each other")
        return "".join(texts)


def attempt(contexts, seed):
    """Why the program fails; None where it does not."""
    program = Program(seed)
    text, names = program.text(), program.main.references
    arrays = {r: a.copy() for r, a in program.arrays.items()}
    with np.errstate(over="ignore"):
        wanted = np.int32(program.main.run(arrays, int(program.k)))
    try:
        for compiled, context in [(False, contexts[0])] + [(True, c) for c in contexts]:
            read = context.parse(text, "main")
            changed = [binding.Typed(program.arrays[r].copy()) for r in names]
            name = getattr(program.main, "sum", "%sum")[1:]
            value = binding.Value(context, context.c.vf_graph_find(read, name.encode()))
            got = context.run(read, changed + [binding.Typed(np.array(program.k))], [value], compiled, len(names))
            context.c.vf_graph_destroy(read)
            for r, x in zip(names, changed):
                if not (x.array == arrays[r]).all():
                    return f"{text}\n%{r}, compiled {compiled}: {x.array.tolist()}\nwanted: {arrays[r].tolist()}"
            if got[0].array != wanted:
                return f"{text}\nsum, compiled {compiled}: {got[0].array}\nwanted: {wanted}"
    except binding.Refused as failure:
        return f"{text}\n{failure}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--device")
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    seeds = [options.case] if options.case is not None else range(options.seed * 10**6, options.seed * 10**6 + options.count)
    tried, failed, contexts = 0, 0, []
    for seed in seeds:
        if tried % PROGRAMS == 0:
            gc.collect()
            for context in contexts:
                context.c.vf_context_destroy(context.raw)
            contexts = [binding.Context(options.build, threads, options.device)
                        for threads in ([1] if options.device else [1, 2])]
        tried += 1
        why = attempt(contexts, seed)
        if why is None:
            continue
        failed += 1
        if failed <= 3:
            print(f"case {seed} (reference_calls.py --build {options.build} --case {seed}):\n{why}\n")
    print(f"reference_calls: {tried - failed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
