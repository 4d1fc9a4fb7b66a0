"""Families of inputs that grow, through every command, at n, 2n, 4n: how the time grows with the size.

   python3 growth.py --build DIR [--only TEXT] [--seconds S] [--most EXPONENT] [--list]

A family is a function of n that gives a text. Each is run with every command that it names: n doubles until a run takes
--seconds of user time, and the growth is the slope of the logarithms over the last two doublings. Prints one line for each,
and fails where one grows faster than n to the power --most, or ends without a result.
"""
import argparse
import math
import os
import resource
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


def called_graphs(n):
    text = "graph @f0(%x: f32[8]) {\n  %v = neg %x\n  return %v\n}\n"
    for i in range(1, n):
        text += "graph @f%d(%%x: f32[8]) {\n  %%v = checkpoint %%x do=@f%d\n  return %%v\n}\n" % (i, i - 1)
    return text


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
    """Each value uses the two before."""
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


def scans(n):
    head = "graph @f(%c: f32[8], %i: i64[]) {\n  %v = add %c, 1.0\n  return %v\n}\n"
    head = "graph @f(%i: i64[], %c: f32[8]) {\n  %v = add %c, 1.0\n  return %v\n}\n"
    return head, n


def nested_scan(n):
    text = "graph @f0(%c: f32[8]) {\n  %v = add %c, 1.0\n  return %v\n}\n"
    for i in range(1, n):
        text += ("graph @f%d(%%c: f32[8]) {\n  %%v = scan %%c do=@f%d length=2 carries=1\n  return %%v\n}\n" % (i, i - 1))
    return text


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


def turn_chain(n):
    lines, last = [], "%x"
    for i in range(n):
        lines.append(("%%v%d = permute %s order=[1,0]" if i % 2 == 0 else "%%v%d = reshape %s shape=[4,6]") % (i, last))
        last = "%%v%d" % i
    return graph(lines, "%x: f32[4,6]", last)


GRAPH = ["dump --stage=graph", "dump --stage=kernels", "dump --stage=index", "dump --stage=loops", "explain --no-run"]
CODE = ["dump --stage=llvm"]
SHOW = ["show"]
FAMILIES = {
    "params_summed": (params_summed, GRAPH + SHOW), "params_apart": (params_apart, GRAPH + SHOW),
    "params_unused": (params_unused, GRAPH + ["run --seed 1", "explain"]),
    "outputs_of_one": (outputs_of_one, GRAPH), "outputs_apart": (outputs_apart, GRAPH),
    "many_graphs": (many_graphs, GRAPH), "called_graphs": (called_graphs, GRAPH),
    "concat_of": (concat_of, GRAPH), "concat_of_params": (concat_of_params, GRAPH), "stack_of": (stack_of, GRAPH),
    "split_in": (split_in, GRAPH), "views_of_one": (views_of_one, GRAPH), "variables": (variables, GRAPH),
    "sizes_summed": (sizes_summed, GRAPH), "data": (data, GRAPH + SHOW), "gather_literal": (gather_literal, GRAPH),
    "long_name": (long_name, GRAPH + SHOW), "many_names": (many_names, GRAPH), "dead": (dead, GRAPH), "tree": (tree, GRAPH),
    "ladder": (ladder, GRAPH), "fan_out": (fan_out, GRAPH), "where_chain": (where_chain, GRAPH), "conds": (conds, GRAPH),
    "nested_scan": (nested_scan, GRAPH), "pads": (pads, GRAPH), "matmuls": (matmuls, GRAPH), "layers": (layers, GRAPH + SHOW),
    "softmaxes": (softmaxes, GRAPH), "reshapes": (reshape_chain, GRAPH + SHOW), "turns": (turn_chain, GRAPH),
    "adds": (chain("add @, 1.5"), GRAPH), "exps": (chain("exp @"), GRAPH), "flips": (chain("flip @ axes=[0]"), GRAPH),
    "sums": (chain("cumsum @ axis=0"), GRAPH), "sorts": (chain("sort @ axis=0"), GRAPH), "stores": (chain("stored @"), GRAPH),
    "selfgather": (chain("gather @, %i axis=0", params="%x: f32[8], %i: i64[8]"), GRAPH),
    "scatters": (chain("scatter_add @, %i, %x axis=0", params="%x: f32[8], %i: i64[8]"), GRAPH),
    "updates": (chain("mul @, @"), GRAPH), "means": (chain("sub @, #.0"), GRAPH),
    "argmaxes": (chain("add @, %m", first="%x"), []),
    "div_add": (expression("//2+1"), GRAPH), "div_only": (expression("//2"), GRAPH), "mod_add": (expression("%97+1"), GRAPH),
    "mul_add": (expression("*3+1"), GRAPH), "add_var": (expression("+n"), GRAPH), "parens": (expression(""), GRAPH),
    "neg_expr": (expression("*-1"), GRAPH),
    "min_expr": (lambda n: expression("")(0).replace("min(64, n)", "min(" * n + "n" + "".join(", n+%d)" % i for i in range(n))), GRAPH),
    "where_expr": (lambda n: expression("")(0).replace("min(64, n)", "where(n<5," * n + "n" + "".join(",n+%d)" % i for i in range(n))), GRAPH),
    "sum_expr": (lambda n: expression("")(0).replace("min(64, n)", "min(64, " + "+".join("n//%d" % (i + 2) for i in range(n)) + ")"), GRAPH),
}


def index_chain(step):
    return lambda n: "f32[4,6]" + step * n


INDEX = {
    "index_permute": index_chain(".permute(1,0)"), "index_pad": lambda n: "f32[4,6]" + ".pad((1,1),(0,0))" * n,
    "index_turn": index_chain(".permute(1,0).reshape(4,6)"), "index_flip": index_chain(".flip(0)"),
    "index_padshrink": index_chain(".pad((1,1),(0,0)).shrink((0,5),(0,6)).reshape(6,5).permute(1,0)"
                                   ".shrink((0,4),(0,6))"),
    "index_stride": index_chain(".pad((4,4),(0,0)).stride(2,1).pad((0,0),(0,0)).shrink((0,4),(0,6))"),
    "index_gather": lambda n: "f32[64].gather(0,[%s])" % ",".join(str(i * 7 % 64) for i in range(n)),
}

# ----------------------------------------------------------------------------------------------------------- measuring


def run(command, limit, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=limit, cwd=folder)
        status, said = done.returncode, done.stderr.decode(errors="replace")[:300]
    except subprocess.TimeoutExpired:
        status, said = 124, ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, status, said


def measure(tool, words, make, seconds, limit, largest, folder):
    n, times = 125, []
    while True:
        path = os.path.join(folder, "in.vf")
        text = make(n)
        if words[0] == "index":
            command = [tool, "index", text]
            if len(text) > 120000:
                return n, times, 0, ""
        else:
            with open(path, "w") as out:
                out.write(text)
            command = [tool] + words + [path]
        taken, status, said = run(command, limit, folder)
        times.append((n, taken))
        if status != 0 or taken > seconds or n >= largest:
            return n, times, status, said
        n *= 2


def slope(times):
    if len(times) < 3:
        return 0.0
    (n0, t0), (n1, t1) = times[-3], times[-1]
    return math.log(max(t1, 1e-3) / max(t0, 1e-3)) / math.log(n1 / n0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--command", default="")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--largest", type=int, default=128000)
    parser.add_argument("--most", type=float, default=1.5)
    given = parser.parse_args()
    tool = os.path.abspath(os.path.join(given.build, "viewfold"))
    tried = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(name, words, make) for name, (make, all_words) in FAMILIES.items() for words in all_words]
        jobs += [(name, "index", make) for name, make in INDEX.items()]
        for name, words, make in jobs:
            if given.only not in name or given.command not in words:
                continue
            n, times, status, said = measure(tool, words.split(), make, given.seconds, given.limit, given.largest, folder)
            power = slope(times)
            tried += 1
            wrong = (power > given.most and times[-1][1] > 0.3) or status not in (0,)
            bad += wrong
            if wrong or "-v" in sys.argv:
                print("%s %-18s %-22s n=%-7d %6.2f s  power %.2f  status %d %s" %
                      ("BAD" if wrong else "   ", name, words, n, times[-1][1], power, status, said.strip()), flush=True)
    print("growth: %d pairs of a family and a command, %d bad" % (tried, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
