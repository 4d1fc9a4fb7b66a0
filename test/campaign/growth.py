"""How the work of the commands grows with the size of their input, for families of inputs.

   python3 growth.py --build DIR [--size N] [--only TEXT] [--command WORDS,...] [--most RATIO] [--pairs test|all]

A family is a function of n that gives a text. Each is run with every command that it names, at n, 2n and 4n,
under callgrind, which counts instructions: the same on a busy machine as on an idle one. The cost of starting
cancels out in (I(4n) - I(2n)) / (I(2n) - I(n)), which is 2 where the work is linear, 2.2 for n log n at these
sizes and 4 where it is quadratic. Fails where it is more than --most, where a command fails or prints
nothing, and prints a line for each.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

# ---------------------------------------------------------------------------------------------------------- families


def graph(lines, params="%x: f32[8]", result=None, name="g"):
    return "graph @%s(%s) {\n  %s\n  return %s\n}\n" % (name, params, "\n  ".join(lines), result)


def chain(step, first="%x", params="%x: f32[8]"):
    """%1 = step of %x, %2 of %1, ..."""
    def make(n):
        lines, last = [], first
        for i in range(n):
            lines.append("%%v%d = %s" % (i, step.replace("@", last).replace("#", str(i))))
            last = "%%v%d" % i
        return graph(lines, params, last)
    return make


def params_summed(n):
    lines = ["%v0 = add %p0, %p1"] + ["%%v%d = add %%v%d, %%p%d" % (i, i - 1, i + 1) for i in range(1, n - 1)]
    return graph(lines, ", ".join("%%p%d: f32[8]" % i for i in range(n)), "%%v%d" % (n - 2))


def params_apart(n):
    lines = ["%%v%d = neg %%p%d" % (i, i) for i in range(n)]
    return graph(lines, ", ".join("%%p%d: f32[8]" % i for i in range(n)), ", ".join("%%v%d" % i for i in range(n)))


def params_unused(n):
    return graph(["%v = neg %p0"], ", ".join("%%p%d: f32[8]" % i for i in range(n)), "%v")


def outputs_of_one(n):
    lines = ["%%v%d = add %%x, %d.0" % (i, i) for i in range(n)]
    return graph(lines, result=", ".join("%%v%d" % i for i in range(n)))


def outputs_apart(n):
    lines = ["%%v%d = sum %%y%d axes=[0]" % (i, i) for i in range(n)]
    lines = [text for i in range(n) for text in ("%%y%d = mul %%x, %d.0" % (i, i), lines[i])]
    return graph(lines, result=", ".join("%%v%d" % i for i in range(n)))


def many_graphs(n):
    return "".join(graph(["%v = neg %x"], result="%v", name="g%d" % i) for i in range(n))


def concat_of(n):
    return graph(["%v = concat " + ", ".join(["%x"] * n) + " axis=0"], result="%v")


def concat_of_params(n):
    return graph(["%v = concat " + ", ".join("%%p%d" % i for i in range(n)) + " axis=0"],
                 ", ".join("%%p%d: f32[8]" % i for i in range(n)), "%v")


def stack_of(n):
    lines = ["%%a%d = mul %%x, %d.5" % (i, i) for i in range(n)]
    return graph(lines + ["%v = stack " + ", ".join("%%a%d" % i for i in range(n)) + " axis=0"], result="%v")


def split_in(n):
    return graph([", ".join("%%v%d" % i for i in range(n)) + " = split %%x parts=%d axis=0" % n],
                 "%%x: f32[%d]" % (8 * n), ", ".join("%%v%d" % i for i in range(n)))


def views_of_one(n):
    lines = ["%%v%d = shrink %%x bounds=[[%d,%d]]" % (i, i, i + 4) for i in range(n)]
    lines += ["%s0 = add %v0, %v1"] + ["%%s%d = add %%s%d, %%v%d" % (i, i - 1, i + 1) for i in range(1, n - 1)]
    return graph(lines, "%%x: f32[%d]" % (n + 8), "%%s%d" % (n - 2))


def variables(n):
    lines = ["%v0 = sum %p0 axes=[0]"]
    for i in range(1, n):
        lines += ["%%u%d = sum %%p%d axes=[0]" % (i, i), "%%v%d = add %%v%d, %%u%d" % (i, i - 1, i)]
    return graph(lines, ", ".join("%%p%d: f32[n%d=1..64]" % (i, i) for i in range(n)), "%%v%d" % (n - 1))


def sizes_summed(n):
    parts = ", ".join("%%p%d" % i for i in range(n))
    return graph(["%v = concat " + parts + " axis=0"],
                 ", ".join("%%p%d: f32[n%d=1..64]" % (i, i) for i in range(n)), "%v")


def data(n):
    return graph(["%%d = data shape=[%d] dtype=f32 values=[%s]" % (n, ",".join("%d.5" % i for i in range(n))),
                  "%v = add %x, %d"], "%%x: f32[%d]" % n, "%v")


def gather_literal(n):
    return graph(["%%i = data shape=[%d] dtype=i64 values=[%s]" % (n, ",".join(str(i * 7 % n) for i in range(n))),
                  "%v = gather %x, %i axis=0"], "%%x: f32[%d]" % n, "%v")


def long_name(n):
    name = "a" * n
    return graph(["%%%s = neg %%x" % name], result="%" + name)


def many_names(n):
    return graph(["%%v%d = %%x" % i for i in range(n)], result="%%v%d" % (n - 1))


def dead(n):
    return graph(["%%v%d = exp %%x" % i for i in range(1)] + ["%%w%d = mul %%x, %d.0" % (i, i) for i in range(n)],
                 result="%v0")


def tree(n):
    """A balanced sum of n products."""
    lines = ["%%a0_%d = mul %%x, %d.0" % (i, i) for i in range(n)]
    level, count = 0, n
    while count > 1:
        for i in range(count // 2):
            lines.append("%%a%d_%d = add %%a%d_%d, %%a%d_%d" % (level + 1, i, level, 2 * i, level, 2 * i + 1))
        if count % 2:
            lines.append("%%a%d_%d = %%a%d_%d" % (level + 1, count // 2, level, count - 1))
        count, level = (count + 1) // 2, level + 1
    return graph(lines, result="%%a%d_0" % level)


def ladder(n):
    """Each value uses the two before it."""
    lines = ["%v0 = neg %x", "%v1 = exp %v0"]
    lines += ["%%v%d = add %%v%d, %%v%d" % (i, i - 1, i - 2) for i in range(2, n)]
    return graph(lines, result="%%v%d" % (n - 1))


def fan_out(n):
    lines = ["%e = sum %x axes=[0]"] + ["%%v%d = add %%e, %d.0" % (i, i) for i in range(n)]
    return graph(lines, result=", ".join("%%v%d" % i for i in range(n)))


def where_chain(n):
    lines, last = [], "%x"
    for i in range(n):
        lines += ["%%c%d = lt %%x, %d.0" % (i, i), "%%v%d = where %%c%d, %%x, %s" % (i, i, last)]
        last = "%%v%d" % i
    return graph(lines, result=last)


def conds(n):
    head = "graph @a(%x: f32[8]) {\n  %v = exp %x\n  return %v\n}\ngraph @b(%x: f32[8]) {\n  %v = neg %x\n  return %v\n}\n"
    lines, last = ["%s = sum %x axes=[0]"], "%x"
    for i in range(n):
        lines += ["%%c%d = lt %%s, %d.0" % (i, i), "%%v%d = cond %%c%d, %s then=@a else=@b" % (i, i, last)]
        last = "%%v%d" % i
    return head + graph(lines, result=last)


def pads(n):
    return graph(["%v0 = pad %x pads=[[1,1]]"] + ["%%v%d = pad %%v%d pads=[[1,1]]" % (i, i - 1) for i in range(1, n)],
                 result="%%v%d" % (n - 1))


def matmuls(n):
    lines, last = [], "%x"
    for i in range(n):
        lines.append("%%v%d = matmul %s, %%w" % (i, last))
        last = "%%v%d" % i
    return graph(lines, "%x: f32[8,8], %w: f32[8,8]", last)


def layers(n):
    lines, last = [], "%x"
    for i in range(n):
        lines += ["%%m%d = matmul %s, %%w%d" % (i, last, i), "%%b%d = add %%m%d, %%c%d" % (i, i, i),
                  "%%v%d = relu %%b%d" % (i, i)]
        last = "%%v%d" % i
    params = ", ".join(["%x: f32[8,8]"] + ["%%w%d: f32[8,8], %%c%d: f32[8]" % (i, i) for i in range(n)])
    return graph(lines, params, last)


def softmaxes(n):
    return chain("softmax @ axis=1", params="%x: f32[8,8]")(n)


def expression(infix, start="n"):
    def make(n):
        text = start
        for i in range(n):
            text = "(" + text + infix + ")"
        return "graph @g(%%x: f32[n=1..1024]) {\n  %%y = iota shape=[max(1, min(64, %s))] axis=0 dtype=f32\n  return %%y\n}\n" % text
    return make


def reshape_chain(n):
    lines, last = [], "%x"
    for i in range(n):
        lines.append("%%v%d = reshape %s shape=[%s]" % (i, last, ["6,4", "3,8", "2,12"][i % 3]))
        last = "%%v%d" % i
    return graph(lines, "%x: f32[4,6]", last)


def transpose_chain(n):
    lines, last = [], "%x"
    for i in range(n):
        lines.append(("%%v%d = permute %s order=[1,0]" if i % 2 == 0 else "%%v%d = reshape %s shape=[4,6]") % (i, last))
        last = "%%v%d" % i
    return graph(lines, "%x: f32[4,6]", last)


GRAPH = ["explain --no-run", "dump --stage=graph", "dump --stage=index", "dump --stage=loops"]
SHOW = ["show"]
# Not `explain` of selfgather: for each load it walks the load's whole index, which contains the earlier
# loads.
FAMILIES = {
    "params_summed": (params_summed, GRAPH + SHOW), "params_apart": (params_apart, GRAPH + SHOW),
    "params_unused": (params_unused, GRAPH),
    "outputs_of_one": (outputs_of_one, GRAPH), "outputs_apart": (outputs_apart, GRAPH),
    "many_graphs": (many_graphs, GRAPH),
    "concat_of": (concat_of, GRAPH), "concat_of_params": (concat_of_params, GRAPH), "stack_of": (stack_of, GRAPH),
    "split_in": (split_in, GRAPH), "views_of_one": (views_of_one, GRAPH), "variables": (variables, GRAPH),
    "sizes_summed": (sizes_summed, GRAPH), "data": (data, GRAPH + SHOW), "gather_literal": (gather_literal, GRAPH),
    "long_name": (long_name, GRAPH + SHOW), "many_names": (many_names, GRAPH), "dead": (dead, GRAPH), "tree": (tree, GRAPH),
    "ladder": (ladder, GRAPH), "fan_out": (fan_out, GRAPH), "where_chain": (where_chain, GRAPH), "conds": (conds, GRAPH),
    "pads": (pads, GRAPH), "matmuls": (matmuls, GRAPH), "layers": (layers, GRAPH + SHOW),
    "softmaxes": (softmaxes, GRAPH), "reshapes": (reshape_chain, GRAPH + SHOW), "transposes": (transpose_chain, GRAPH),
    "adds": (chain("add @, 1.5"), GRAPH), "exps": (chain("exp @"), GRAPH), "flips": (chain("flip @ axes=[0]"), GRAPH),
    "sums": (chain("cumsum @ axis=0"), GRAPH), "sorts": (chain("sort @ axis=0"), GRAPH), "stores": (chain("stored @"), GRAPH),
    "selfgather": (chain("gather @, %i axis=0", params="%x: f32[8], %i: i64[8]"), GRAPH[1:]),
    "scatters": (chain("scatter_add @, %i, %x axis=0", params="%x: f32[8], %i: i64[8]"), GRAPH),
    "squares": (chain("mul @, @"), GRAPH), "constants": (chain("sub @, #.5"), GRAPH),
    "div_add": (expression("//2+1"), GRAPH), "div_only": (expression("//2"), GRAPH), "mod_add": (expression("%97+1"), GRAPH),
    "mul_add": (expression("*3+1"), GRAPH[1:2]), "add_var": (expression("+n"), GRAPH), "parens": (expression(""), GRAPH),
    "neg_expr": (expression("*-1"), GRAPH),
    "min_expr": (lambda n: expression("")(0).replace("min(64, n)", "min(" * n + "n" + "".join(", n+%d)" % i for i in range(n))), GRAPH),
    "where_expr": (lambda n: expression("")(0).replace("min(64, n)", "where(n<5," * n + "n" + "".join(",n+%d)" % i for i in range(n))), GRAPH),
    "sum_expr": (lambda n: expression("")(0).replace("min(64, n)", "min(64, " + "+".join("n//%d" % (i + 2) for i in range(n)) + ")"), GRAPH),
}


def index_chain(step):
    return lambda n: "f32[4,6]" + step * n


FAMILIES.update({name: (make, ["index"]) for name, make in {
    "index_permute": index_chain(".permute(1,0)"), "index_pad": index_chain(".pad((1,1),(0,0))"),
    "index_turn": index_chain(".permute(1,0).reshape(4,6)"), "index_flip": index_chain(".flip(0)"),
    "index_mask": index_chain(".pad((1,1),(0,0)).shrink((0,4),(0,6))"),
    "index_gather": lambda n: "f32[64].gather(0,[%s])" % ",".join(str(i * 7 % 64) for i in range(n)),
}.items()})


# From these sizes on, budgets have ended analyses of small sizes (sub-domains, operations in one kernel), and
# the work for each operand is constant.
LEAST = {"concat_of_params": 150, "stack_of": 150, "where_chain": 150, "selfgather": 150}
# Sizes of more than 32 terms are not compiled.
MOST = {"sizes_summed": 7}


def every_pair():
    return [(name, words, None, None) for name, (_, all_words) in FAMILIES.items() for words in all_words]


# A family, a command, a size at which quadratic work would show, and the function whose instructions are
# counted (None: all).
TEST = [
    ("div_add", "dump --stage=graph", 500, None),
    ("params_unused", "run --in", 200, "cli_buffers_open"),
    ("outputs_apart", "explain --no-run", 50, None),
]

# ----------------------------------------------------------------------------------------------------------- measuring

SIZES = 3  # n, 2n, 4n
LIMIT = 600  # seconds of real time, so many that only an endless run reaches them


def count(tool, words, text, n, function, folder):
    """The number of instructions of the command, or the message that it printed instead."""
    if words[0] == "index":
        command = [tool, "index", text]
    else:
        with open(os.path.join(folder, "in.vf"), "w") as out:
            out.write(text)
        command = [tool, words[0], "in.vf"] + words[1:]
        if words[-1] == "--in":  # a value for each parameter
            command += " --in ".join("p%d=[1,2,3,4,5,6,7,8]" % i for i in range(n)).split()
    counted = os.path.join(folder, "counted")
    grind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + counted]
    if function:
        grind.append("--toggle-collect=" + function)
    done = subprocess.run(grind + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, timeout=LIMIT)
    if done.returncode or not done.stdout:
        return None, done.stderr.decode(errors="replace").replace("\n", " ")[-300:]
    with open(counted) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(("summary:", "totals:"))), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--command", default="")
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--most", type=float, default=3.0)
    parser.add_argument("--pairs", choices=["test", "all"], default="all")
    given = parser.parse_args()
    tool = os.path.abspath(os.path.join(given.build, "viewfold"))
    if not shutil.which("valgrind"):
        print("growth: there is no valgrind")
        return 77
    tried = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VIEWFOLD_CACHE_DIR"] = os.path.join(folder, "cache")
        for name, words, size, function in TEST if given.pairs == "test" else every_pair():
            if given.only not in name or (given.command and words not in given.command.split(",")):
                continue
            size = size or min(max(given.size, LEAST.get(name, 0)), MOST.get(name, 10**9))
            counts = []
            for scale in range(SIZES):
                taken, said = count(tool, words.split(), FAMILIES[name][0](size << scale), size << scale, function, folder)
                if taken is None:
                    break
                counts.append(taken)
            tried += 1
            ratio = (counts[2] - counts[1]) / max(1, counts[1] - counts[0]) if len(counts) == SIZES else 0
            # hardly any growth has no ratio: a tenth of all instructions may be noise
            wrong = taken is None or (ratio > given.most and counts[2] - counts[1] > counts[0] / 10)
            bad += wrong
            print("%s %-17s %-22s n=%-6d ratio %5.2f  %.1f million %s" %
                  ("BAD" if wrong else "   ", name, words, size << (SIZES - 1), ratio, counts[-1] / 1e6 if counts else 0, said),
                  flush=True)
    print("growth: %d pairs of a family and a command, %d bad" % (tried, bad))
    return 1 if bad or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
