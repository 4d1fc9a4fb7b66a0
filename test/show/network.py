"""The page of a network in a headless Chromium: its picture, outline, search, listings, and the ways between them. What the
graph is comes from `viewfold dump`, read here. `viewfold` is taken from PATH.

  network.py            the last line says what was compared
  network.py --probe    can a browser be started here, and have pages pictures? 0: yes
  network.py --walk FILE...    opens, searches, folds and follows kernels to their lines and back, on pages of any graphs, with times
  network.py --pictures DIRECTORY FILE...    pictures of the pages of these graphs: light, dark, narrow"""
import fractions
import itertools
import json
import math
import os
import re
import sys
import tempfile
import time

from browser import check_looks, viewfold
from chromium import Chromium, Failure

LAYER = """  %n{i} = layer_norm %x{i} axis=1
  %q{i} = matmul %n{i}, %wq{i}
  %k{i} = matmul %n{i}, %wk{i}
  %t{i} = permute %k{i} order=[1,0]
  %s{i} = matmul %q{i}, %t{i}
  %m{i} = add %s{i}, %mask
  %p{i} = softmax %m{i} axis=1
  %o{i} = matmul %p{i}, %n{i}
  %x{j} = add %x{i}, %o{i}
"""


def transformer(layers):
    weights = "".join(f", %w{w}{i}: f32[16,16]" for i in range(layers) for w in "qk")
    body = "".join(LAYER.format(i=i, j=i + 1) for i in range(layers))
    return (f"graph @net(%in: f32[8,16], %mask: f32[8,8]{weights}) {{\n  %x0 = sin %in\n{body}"
            f"  %y = cos %x{layers}\n  return %y\n}}\n")


def operations(listing):
    """{name: (operation, names of its operands, line number)} of a listing without functions."""
    known, found = set(re.findall(r"%[\w.]+", listing.splitlines()[0])), {}
    for row, line in enumerate(listing.splitlines()):
        m = re.match(r"  (%[\w.]+) = (\w+)(.*) : ", line)
        if not m:
            continue
        operands = [name for name in re.findall(r"%[\w.]+", m[3]) if name in known or name in found]
        found[m[1]] = (m[2], operands, row)
    return found


def check_same(page, wanted, what):
    if page != wanted:
        raise Failure(f"{what}: the page has {json.dumps(page)[:300]}, not {json.dumps(wanted)[:300]}")


# What is drawn: the operations and boxes, and between which boxes there are edges.
DRAWN = """(() => {
  const n = GRAPHS[0].network, drawn = [...n.picture.boxes.keys()];
  return {
    boxes: drawn.length, names: drawn.filter(b => b.kind === "operation").map(b => b.operation.name),
    titles: n.model.root.children.map(b => b.title),
    edges: [...document.querySelectorAll(".picture .edge")].map(e => [e.dataset.from, e.dataset.to]),
  };
})()"""
STATE = """(() => {
  const n = GRAPHS[0].network, rows = [...document.querySelectorAll(".stage .row.chosen")];
  const r = document.querySelector(".picture .box.chosen > .shell")?.getBoundingClientRect();
  const s = document.querySelector(".picture").getBoundingClientRect();
  return {
    title: document.querySelector(".details h3").textContent, line: document.querySelector(".details .line")?.textContent ?? null,
    rows: rows.map(r => +r.dataset.row), text: rows.map(r => r.textContent.trim()),
    seen: !!r && r.right > s.left && r.left < s.right && r.bottom > s.top && r.top < s.bottom,
    outline: [...document.querySelectorAll(".outline li.chosen")].length, focus: document.activeElement.getAttribute("aria-label"),
    tab: document.querySelector("[role=tab][aria-selected=true]").textContent, hash: location.hash,
  };
})()"""


def check_picture(browser, graph):
    """Folded: a box for the layers. Unfolded: every operation once; and each value has an edge to each that reads it."""
    drawn = browser.evaluate(DRAWN)
    if drawn["boxes"] > 20 or drawn["titles"][1] != "A ×6":
        raise Failure(f"six layers are drawn as {json.dumps(drawn)[:300]}")
    browser.evaluate("document.querySelector('.picture .box.run').focus()")
    browser.press(" ")
    check_same(browser.evaluate("GRAPHS[0].network.picture.boxes.size"), drawn["boxes"] + 6, "boxes of six layers")
    browser.evaluate("[...document.querySelectorAll('.bar button')].find(b => b.textContent === 'unfold').click()")
    check_same(sorted(browser.evaluate(DRAWN)["names"]), sorted(graph), "operations")
    read = browser.evaluate("""GRAPHS[0].network.model.operations.filter(o => !o.leaf)
      .map(o => [o.name, o.word, o.operands.map(i => GRAPHS[0].network.model.operations[i].name), o.row])""")
    check_same({name: [word, operands, row] for name, word, operands, row in read},
               {name: list(what) for name, what in graph.items()}, "the graph")
    lost = browser.evaluate("""(() => {
      const n = GRAPHS[0].network, { model } = n, lost = [];
      const boxes = new Set([...document.querySelectorAll(".picture .box")].map(b => b.dataset.id));
      const edges = new Set([...document.querySelectorAll(".picture .edge")].map(e => e.dataset.from + " " + e.dataset.to));
      for (const o of model.operations) for (const i of o.operands) {
        const from = model.boxOf.get(model.operations[i]), to = model.boxOf.get(o);
        if (from.hidden) continue;
        let scope = to.parent;   // the innermost box that holds both
        while (!model.childOf(scope, from)) scope = scope.parent;
        const a = model.childOf(scope, from), b = model.childOf(scope, to);
        const direct = edges.has(`${model.idOf(a)} ${model.idOf(b)}`);
        const outside = model.edges(to.parent).find(e => e.from.port && e.to === to && e.values.has(model.operations[i]));
        const port = to.parent === scope || edges.has(`${model.idOf(outside.from)} ${model.idOf(to)}`);
        if (!direct || !port || !boxes.has(model.idOf(to))) lost.push(`${model.operations[i].name} ${o.name}`);
      }
      return lost;
    })()""")
    if lost:
        raise Failure(f"no edges for {lost[:5]}")
    browser.evaluate("[...document.querySelectorAll('.bar button')].find(b => b.textContent === 'fold all').click()")
    check_same(browser.evaluate(DRAWN)["boxes"], drawn["boxes"], "boxes, folded again")


def check_search(browser, graph, lines):
    """The search finds what the listing has; Enter goes from one to the next, and shows it."""
    wanted = [name for name, (word, _, _) in graph.items() if word == "matmul"]
    browser.evaluate("document.querySelector('.search input').focus()")
    browser.type("matmul")
    check_same(browser.evaluate("document.querySelector('.found').textContent"), f"{len(wanted)} found", "found")
    for name in wanted[:3]:
        browser.press("Enter")
        state = browser.evaluate(STATE)
        row = graph[name][2]
        check_same([state["title"], state["rows"], state["seen"]], ["matmul", [row], True], f"{name} found")
        check_same(state["text"], [lines[row].strip()], f"the line of {name}")
    browser.press("Escape")


def check_keys(browser):
    """From box to box with the arrow keys; Enter chooses; the outline is a tree of the same."""
    browser.evaluate("document.querySelector('.picture').focus()")
    focus = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        browser.press(key)
        focus.append(browser.evaluate(STATE)["focus"])
    if None in focus or focus[0] == focus[1]:
        raise Failure(f"the arrow keys go to {focus}")
    browser.press("Enter")
    if browser.evaluate(STATE)["outline"] != 1:
        raise Failure("what is chosen by Enter is not marked in the outline")
    browser.evaluate("document.querySelector('.outline li[aria-expanded=false]').focus()")
    for key, wanted in (("ArrowRight", "true"), ("ArrowDown", None), ("ArrowLeft", None), ("ArrowLeft", "false")):
        browser.press(key)
        if wanted and browser.evaluate("document.activeElement.getAttribute('aria-expanded')") != wanted:
            raise Failure(f"{key} in the outline: not {wanted}")


def check_lines(browser, graph, lines):
    """A line of the listing leads to its operation, a link to an operand, and back."""
    name, (word, operands, row) = next((n, w) for n, w in graph.items() if w[0] == "matmul" and w[1][0] in graph)
    browser.evaluate("document.querySelector('[role=tab]').click()")
    browser.click(f'.row[data-row="{row}"]')
    state = browser.evaluate(STATE)
    check_same([state["title"], state["line"], state["seen"]], [word, lines[row].strip().rsplit(" : ", 1)[0], True], f"line {row}")
    browser.evaluate(f"""[...document.querySelectorAll(".details .link")].find(l => l.textContent === {json.dumps(operands[0])}).click()""")
    check_same(browser.evaluate(STATE)["rows"], [graph[operands[0]][2]], f"the operand of {name}")
    browser.evaluate("document.querySelector('.back').click()")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    check_same(browser.evaluate(STATE)["rows"], [row], "back")


def check_code(browser, path, kernels):
    """The kernel of each line of the listing of kernels, and its loops: what `viewfold dump` prints."""
    loops = viewfold("dump", "--stage=loops", path).split("\n\n")
    for number in (0, kernels // 2, kernels - 1):
        browser.evaluate("document.querySelectorAll('[role=tab]')[1].click()")
        row = browser.evaluate(f"GRAPHS[0].network.model.kernels[{number}].row")
        browser.click(f'.row[data-row="{row}"]')
        check_same(browser.evaluate(STATE)["title"], f"kernel {number}", "the kernel of a line")
        browser.evaluate("document.querySelectorAll('[role=tab]')[3].click()")
        shown = browser.evaluate("document.querySelector('[role=tabpanel] pre').textContent")
        plain = [re.sub(r"@net_\d+|# kernel \d+", "", text).strip() for text in (shown, loops[number])]
        check_same(plain[0], plain[1], f"loops of kernel {number}")


def check(browser, folder):
    """The number of operations that were compared."""
    path, page = os.path.join(folder, "net.vf"), os.path.join(folder, "page.html")
    with open(path, "w") as file:
        file.write(transformer(6))
    viewfold("show", path, "-o", page)
    listing = viewfold("dump", "--stage=graph", path)
    graph, lines = operations(listing), listing.splitlines()
    check_looks(browser, page)
    browser.open(page)
    check_picture(browser, graph)
    check_search(browser, graph, lines)
    check_keys(browser)
    check_lines(browser, graph, lines)
    check_code(browser, path, viewfold("dump", "--stage=kernels", path).count("\nkernel "))
    with open(path, "w") as file:
        file.write(transformer(100))
    viewfold("show", path, "-o", page)
    walk(browser, page)
    check_crowds(browser, folder)
    browser.open(page)
    unparted = browser.evaluate("GRAPHS[0].network.refold('nothing'), GRAPHS[0].network.picture.boxes.size")
    if unparted > 60:
        raise Failure(f"1,900 operations, folded by nothing: {unparted} boxes at once")
    browser.open(page)
    boxes = browser.evaluate("document.querySelectorAll('.picture .box').length")
    if boxes > 130 or os.path.getsize(page) > 3 << 20:
        raise Failure(f"1,900 operations: {boxes} boxes at first, {os.path.getsize(page)} bytes")
    return len(graph)


def training(layers):
    """A step of training: each layer's weight and its mean are read, and the next ones are results."""
    names = [f"{kind}{i}" for i in range(layers) for kind in "wm"]
    lines = [f"  %x{i + 1} = tanh %t{i}\n".join((f"  %t{i} = matmul %x{i}, %w{i}\n", "")) for i in range(layers)]
    lines += [f"  %n{i} = add %m{i}, %x{layers}\n  %v{i} = sub %w{i}, %n{i}\n" for i in range(layers)]
    return (f"graph @step(%x0: f32[8,8], {', '.join(f'%{n}: f32[8,8]' for n in names)}) {{\n{''.join(lines)}"
            f"  return {', '.join(f'%n{i}, %v{i}' for i in range(layers))}\n}}\n")


FIRST = """(() => {
  const n = GRAPHS[0].network, r = document.querySelector(".picture").getBoundingClientRect();
  const all = [...document.querySelectorAll(".picture .box > .shell")].map(b => b.getBoundingClientRect());
  const texts = [...document.querySelectorAll(".picture .shape")].map(t => t.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return { boxes: all.length, scale: n.picture.scale, outside: all.filter(b => b.left < r.left - 1 || b.right > r.right + 1).length,
    covered: texts.filter(t => all.some(b => meet(b, t)) || texts.some(u => u !== t && meet(u, t))).length };
})()"""


def check_crowds(browser, folder):
    """Many parameters and results: few boxes at first, legible, none out of sight; a search opens the one that it is in."""
    path, page = os.path.join(folder, "step.vf"), os.path.join(folder, "step.html")
    wide = ", ".join(f"%p{i}: f32[4]" for i in range(300))
    for text in (training(60), training(5),
                 f"graph @one({wide}) {{\n  %c = concat {', '.join(f'%p{i}' for i in range(300))} axis=0\n  return %c\n}}\n",
                 f"graph @many({wide}) {{\n{''.join(f'  %r{i} = exp %p{i}' + chr(10) for i in range(300))}"
                 f"  return {', '.join(f'%r{i}' for i in range(300))}\n}}\n",
                 "graph @sized(%x: f32[N=1..65536,4], %w: f32[4,4], %v: f32[4,4]) {\n  %a = matmul %x, %w\n"
                 "  %b = matmul %x, %v\n  %c = mul %a, %b\n  %d = exp %x\n  %e = add %c, %d\n  return %e\n}\n"):
        with open(path, "w") as file:
            file.write(text)
        viewfold("show", path, "-o", page)
        browser.resize(1280, 800)
        browser.open(page)
        first = browser.evaluate(FIRST)
        if first["boxes"] > 30 or first["scale"] < 0.6 or first["outside"] or first["covered"]:
            raise Failure(f"the first picture of {text.split('(')[0]}: {first}")
        name = re.findall(r"%\w+", text)[-1]
        browser.evaluate("document.querySelector('.search input').focus()")
        browser.type(name)
        browser.press("Enter")
        if not browser.evaluate(STATE)["seen"]:
            raise Failure(f"{name} is found, not shown")
    browser.resize(1400, 1000)


MESHED = """mesh @m [x=%s,y=4]
graph @net(%%h: f32[10,4] @m[x,-], %%w: f32[4,13] @m[-,y], %%v: f32[13,3] @m[y,-]) {
  %%s = matmul %%h, %%w
  %%p = matmul %%s, %%v
  %%q = shard %%p to=[x.y,-]
  return %%q
}
"""
# By dimension the axes that divide it, the major first.
DIVIDED = {"%h": ((10, "x"), (4, "")), "%w": ((4, ""), (13, "y")), "%v": ((13, "y"), (3, "")), "%q": ((10, "xy"), (3, ""))}


def part_of(n, axes, at, weights):
    """Of n elements, by the coordinates of a device: chunks of ceil(n / p), or shares of weights, which end at the nearest
    element."""
    numbers, sizes = [at[a] for a in axes], [len(weights[a]) for a in axes]
    parts, position = math.prod(sizes), 0
    for number, size in zip(numbers, sizes):
        position = position * size + number
    if all(len(set(weights[a])) == 1 for a in axes):
        chunk = -(-n // parts)
        return f"{min(n, position * chunk)}:{min(n, position * chunk + chunk)}"
    shares = [math.prod(each) for each in itertools.product(*(weights[a] for a in axes))]
    ends = [math.floor(fractions.Fraction(n * sum(shares[:i]), sum(shares)) + fractions.Fraction(1, 2))
            for i in (position, position + 1)]
    return f"{ends[0]}:{ends[1]}"


def check_mesh(browser, folder, weights):
    """The parts of values on a mesh of 2 by 4 devices."""
    path, page = os.path.join(folder, "mesh.vf"), os.path.join(folder, "mesh.html")
    with open(path, "w") as file:
        file.write(MESHED % (":".join(map(str, weights)) if len(set(weights)) > 1 else len(weights)))
    viewfold("show", path, "-o", page)
    check_looks(browser, page)
    browser.open(page)
    drawn = browser.evaluate("""Object.fromEntries([...document.querySelectorAll(".mesh tr[data-value]")].map(
      r => [r.dataset.value, [...r.querySelectorAll(".part")].map(p => p.dataset.box)]))""")
    wanted = {name: [] for name in DIVIDED}
    for name, dims in DIVIDED.items():
        for x in range(2):
            for y in range(4):
                of = {"x": weights, "y": (1, 1, 1, 1)}
                wanted[name].append(", ".join(part_of(n, axes, {"x": x, "y": y}, of) for n, axes in dims))
    check_same(drawn, wanted, "parts")
    check_same(browser.evaluate("document.querySelectorAll('.mesh .device').length"), 8, "devices")
    browser.open(page, "dark")
    return sum(len(parts) for parts in drawn.values())


def walk(browser, page):
    """Opens a page of any graph, finds, unfolds and folds, follows a kernel to the line of an operation and back. What it
    is of, and how long until it was drawn, in ms: the least of three."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        browser.open(page)
        browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        times.append(1e3 * (time.monotonic() - began))
    model = "GRAPHS[0].network.model"
    operations, kernels = browser.evaluate(f"[{model}.operations.filter(o => !o.leaf).length, {model}.kernels.length]")
    folded = browser.evaluate("GRAPHS[0].network.picture.boxes.size")
    word = browser.evaluate(f"{model}.operations.filter(o => !o.leaf).pop().word")
    wanted = browser.evaluate(f"{model}.operations.filter(o => o.word === {json.dumps(word)}).length")
    browser.evaluate("document.querySelector('.search input').focus()")
    browser.type(word)
    found = int(browser.evaluate("document.querySelector('.found').textContent").split()[0])
    browser.press("Enter")
    if found < wanted or not browser.evaluate(STATE)["seen"]:
        raise Failure(f"{page}: {found} of {wanted} {word} found")
    browser.press("Escape")
    for button in ("unfold", "fold all"):
        browser.evaluate(f"[...document.querySelectorAll('.bar button')].find(b => b.textContent === '{button}').click()")
    check_same(browser.evaluate("GRAPHS[0].network.picture.boxes.size"), folded, "boxes, folded again")
    for number in sorted({0, kernels // 2, kernels - 1}):
        browser.evaluate("document.querySelectorAll('[role=tab]')[1].click()")
        browser.click(f'.row[data-row="{browser.evaluate(f"{model}.kernels[{number}].row")}"]')
        title = browser.evaluate(STATE)["title"]
        check_same(title.split()[0], "kernel", f"the title of kernel {number}")
        link = "[...document.querySelectorAll('.details .link')].find(l => l.textContent.startsWith('%'))"
        name = browser.evaluate(f"{link}.textContent")
        browser.evaluate(f"{link}.click()")
        browser.evaluate("document.querySelector('[role=tab]').click()")
        state = browser.evaluate(STATE)
        if not any(line.startswith(name + " ") or f" {name}" in line or name + "," in line for line in state["text"]):
            raise Failure(f"{page}: {title} leads to {name}, whose line is {state['text']}")
        browser.evaluate("document.querySelector('.back').click()")
        browser.evaluate("new Promise(done => setTimeout(done, 100))")
        check_same(browser.evaluate(STATE)["title"], title, "back")
    return operations, kernels, min(times)


def walks(browser, folder, files):
    page = os.path.join(folder, "page.html")
    for path in files:
        written = []
        for _ in range(3):
            began = time.monotonic()
            viewfold("show", path, "-o", page)
            written.append(time.monotonic() - began)
        operations, kernels, opened = walk(browser, page)
        print(f"{os.path.basename(path)}: {operations} operations, {kernels} kernels, written in {min(written):.2f} s, "
              f"{os.path.getsize(page) / (1 << 20):.2f} MiB, drawn after {opened:.0f} ms", flush=True)


def pictures(browser, folder, out, files):
    page = os.path.join(folder, "page.html")
    for path in files:
        viewfold("show", path, "-o", page)
        name = os.path.splitext(os.path.basename(path))[0]
        for look, scheme, width in (("light", "light", 1500), ("dark", "dark", 1500), ("narrow", "light", 420)):
            browser.resize(width)
            browser.open(page, scheme)
            browser.screenshot(os.path.join(out, f"{name}-{look}.png"), 1400)


def main(arguments):
    browser = Chromium()
    try:
        with tempfile.TemporaryDirectory() as folder:
            if arguments == ["--probe"]:
                return 0 if "graphlib" in viewfold("show", "f32[2]") else 77
            if arguments[:1] == ["--walk"]:
                walks(browser, folder, arguments[1:])
                return int(bool(browser.errors))
            if arguments[:1] == ["--pictures"]:
                pictures(browser, folder, arguments[1], arguments[2:])
                return 0
            try:
                compared = check(browser, folder)
                parts = check_mesh(browser, folder, (1, 1)) + check_mesh(browser, folder, (3, 1))
            except (Failure, ValueError) as failure:
                print(failure)
                return 1
    finally:
        browser.close()
    for error in dict.fromkeys(browser.errors):
        print(f"an error in the page: {error}")
    for url in browser.requests:
        if not url.startswith("file:///") and not url.startswith("blob:"):
            print(f"the page asked for {url}")
            return 1
    print(f"{compared} operations and {parts} parts compared")
    return 1 if browser.errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(77)
