"""One program in several forms: as it is, with its arrays as references, as the body of a loop whose state they are, and as
a branch of a condition.

A form is (text, graph to run, inputs, names of outputs, which of the inputs are references)."""
import re

import binding

ROUNDS = 3
AROUND, FILL = 256, 0xA5  # bytes around references
EDGES = slice(None, AROUND), slice(-AROUND, None)


def as_is(program, text):
    return text, None, program.graph.inputs, [f"y{k}" for k in range(len(program.wanted))], 0


def in_place(program, text):
    """The arrays are references, which hold their last versions afterwards."""
    arrays, first = len(program.arrays), len(program.wanted) - len(program.arrays)
    kept = [f"y{k}" for k in range(first)]
    for k in range(arrays):
        text = text.replace(f"%x{k}: ", f"%x{k}: ref ", 1)
    lines = [f"  %t{k} = %y{first + k}\n" for k in range(arrays)] + [f"  %x{k} = %t{k}\n" for k in range(arrays)]
    text = text[:text.rindex("  return")] + "".join(lines) + f"  return {', '.join('%' + k for k in kept)}\n}}\n"
    return text, None, program.graph.inputs, kept, arrays


def in_scan(program, text):
    """A scan whose state are the arrays, or some of them: each iteration writes the others anew. Sometimes with an input that
    each iteration has anew, and with all other outputs of each iteration stacked."""
    random, arrays, count = program.random, len(program.arrays), len(program.graph.inputs)
    inputs, parameters = list(program.graph.inputs), read_parameters(text)
    carried = arrays if random.random() < 0.6 else int(random.integers(arrays))
    remainder = list(range(arrays, count))
    sliced = [int(random.choice(remainder))] if remainder and random.random() < 0.5 else []
    remainder = [k for k in range(carried, count) if k not in sliced]
    order = list(range(carried)) + sliced + remainder
    newest = [f"%y{len(program.wanted) - arrays + k}" for k in range(arrays)]
    stacks = [f"%y{k}" for k in range(len(program.wanted) - arrays)] if random.random() < 0.5 else []
    results = newest + stacks
    body = function("body", text, ", ".join(parameters[k] for k in order), results)
    for k in sliced:
        shape, dtype = inputs[k].shape, inputs[k].dtype
        array = random.permuted(binding.np.stack([inputs[k].array.reshape(-1)] * ROUNDS), axis=1)
        inputs[k] = binding.Typed(array.reshape((ROUNDS,) + shape), dtype)
        parameters[k] = parameters[k].replace("[", f"[{ROUNDS},", 1).replace(",]", "]")
    names = [f"s{k}" for k in range(len(results))]
    before, operands = operands_of(program, arrays, count)
    call = (f"{', '.join('%' + n for n in names)} = scan {', '.join(operands[k] for k in order)} do=@body carries={carried} "
            f"sliced={len(sliced)} length={ROUNDS}")
    return body + looped(parameters, before + call, names), "loop", inputs, names, 0


def operands_of(program, arrays, count):
    """(statements, operands of a loop): the arrays are inputs, or computed before the loop, which then has them in memory
    that no caller gave."""
    operands, lines = [f"%x{k}" for k in range(count)], ""
    for k in range(arrays):
        if program.random.random() < 0.3:
            operands[k] = f"%z{k}"
            lines += f"%z{k} = flip %x{k} axes=[0]\n  "
    return lines, operands


def in_while(program, text):
    """A while loop whose state are the arrays and a counter."""
    arrays, parameters = len(program.arrays), read_parameters(text)
    header = ", ".join(parameters[:arrays] + ["%count: i32[]"] + parameters[arrays:])
    results = [f"%y{len(program.wanted) - arrays + k}" for k in range(arrays)] + ["%counted"]
    body = function("body", text, header, results, "  %counted = add %count, 1\n")
    more = f"graph @more({header}) {{\n  %c = lt %count, {ROUNDS}\n  return %c\n}}\n"
    names = [f"s{k}" for k in range(arrays)]
    before, operands = operands_of(program, arrays, len(parameters))
    operands = operands[:arrays] + ["0"] + operands[arrays:]
    call = f"{', '.join('%' + n for n in names + ['n'])} = while_loop {', '.join(operands)} while=@more do=@body carries={arrays + 1}"
    return body + more + looped(parameters, before + call, names), "loop", program.graph.inputs, names, 0


def in_cond(program, text):
    """A condition with the program in one branch, and in the other one the arrays the other way round; now and then this is
    a branch of another condition."""
    random, arrays, parameters = program.random, len(program.arrays), read_parameters(text)
    results = [f"%y{len(program.wanted) - arrays + k}" for k in range(arrays)]
    texts, branch = function("body", text, ", ".join(parameters), results), "body"
    before, operands = operands_of(program, arrays, len(parameters))
    inputs, names = list(program.graph.inputs), [f"s{k}" for k in range(arrays)]
    flips, flipped = "".join(f"  %f{k} = flip %x{k} axes=[0]\n" for k in range(arrays)), ", ".join(f"%f{k}" for k in range(arrays))
    depth = 1 + int(random.random() < 0.3)
    for k in range(depth):
        other = f"other{k}"
        texts += f"graph @{other}({', '.join(parameters)}) {{\n{flips}  return {flipped}\n}}\n"
        then, otherwise = (branch, other) if random.random() < 0.5 else (other, branch)
        outermost = k + 1 == depth
        given = operands if outermost else [p.split(":")[0] for p in parameters]
        call = f"{', '.join('%' + n for n in names)} = cond %p{k}, {', '.join(given)} then=@{then} else=@{otherwise}"
        parameters.append(f"%p{k}: bool[]")
        operands.append(f"%p{k}")
        inputs.append(binding.Typed(binding.np.array(random.random() < 0.5)))
        branch = "loop" if outermost else f"chosen{k}"
        texts += looped(parameters, (before if outermost else "") + call, names, branch)
    return texts, "loop", inputs, names, 0


def read_parameters(text):
    return re.findall(r"%x\d+: \w+\[[\d,]*\]", text[:text.index(" {")])


def function(name, text, header, results, last=""):
    lines = text[text.index(" {") + 3:text.rindex("  return")]
    return f"graph @{name}({header}) {{\n{lines}{last}  return {', '.join(results)}\n}}\n"


def looped(parameters, call, names, name="loop"):
    return f"graph @{name}({', '.join(parameters)}) {{\n  {call}\n  return {', '.join('%' + n for n in names)}\n}}\n"


def within(array):
    """A copy with bytes around it that nothing may change."""
    memory = binding.np.full(array.nbytes + 2 * AROUND, FILL, binding.np.uint8)
    copy = memory[AROUND:AROUND + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def astray(program, form):
    """The form with one index out of range, and where: a run fails if it needs the index, and changes no position that no
    write names."""
    random, inputs = program.random, list(form[2])
    number, size = program.one(program.indices)
    wrong = inputs[number].array.copy()
    wrong.reshape(-1)[int(random.integers(wrong.size))] = int(random.choice([size, -size - 1, 1 << 20, -(1 << 40)]))
    inputs[number] = binding.Typed(wrong, inputs[number].dtype)
    return form[0], form[1], inputs, form[3], form[4]


def stray(context, form, arrays):
    """Why a run of the form with an index out of range is wrong; None where it is not."""
    text, which, inputs, names, references = form
    read = context.parse(text, which)
    try:
        values = [binding.Value(context, context.c.vf_graph_find(read, name.encode())) for name in names]
        changed = [binding.Typed(within(x.array), x.dtype) for x in inputs[:references]]
        try:
            context.run(read, changed + inputs[references:], values, True, references)
        except binding.Refused as failure:
            if "The results are unspecified" not in str(failure):
                return str(failure)
            for k, (x, old, array) in enumerate(zip(changed, inputs, arrays)):
                if not (x.array == old.array).reshape(-1)[~array.named].all():
                    return f"{failure}\nreference {k}, at positions that no write names: {x.array.tolist()}"
        if not all((x.array.base[edge] == FILL).all() for x in changed for edge in EDGES):
            return "the run stored beside a reference"
        return None
    finally:
        context.c.vf_graph_destroy(read)


def run(context, form, compiled):
    """The outputs, and the references after them."""
    text, which, inputs, names, references = form
    read = context.parse(text, which)
    try:
        values = [binding.Value(context, context.c.vf_graph_find(read, name.encode())) for name in names]
        changed = [binding.Typed(within(x.array), x.dtype) for x in inputs[:references]]
        results = context.run(read, changed + inputs[references:], values, compiled, references)
        if not all((x.array.base[edge] == FILL).all() for x in changed for edge in EDGES):
            raise binding.Refused("the run stored beside a reference")
        return [r.array for r in results + changed]
    finally:
        context.c.vf_graph_destroy(read)
