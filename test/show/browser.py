"""Opens pages of `viewfold show` in a headless Chromium and points at their elements.

  browser.py            every element that the pages show must have the address that the evaluator gives it
  browser.py --probe    can a browser be started here? 0: yes
  browser.py --pictures DIRECTORY    also keep pictures of the pages, light and dark

The oracle is `viewfold run --check`: the chain, run on the numbers 1, 2, 3, ..., leaves at each element its address
plus one, and 0 where it is padding; --check has it agree with the reference evaluator, which knows nothing of index
expressions. `viewfold` is taken from PATH. The last line counts what was compared."""
import ast
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile

from chromium import Chromium, Failure

# (chain, sizes of its variables): every prefix of a chain is a step of its page.
CHAINS = [
    ("i32[3,2].permute(1,0).reshape(3,2)", {}),
    ("i32[4,6].permute(1,0).reshape(2,12).permute(1,0)", {}),
    ("i32[3,4].pad((1,1),(2,0)).reshape(30).shrink((3,27)).reshape(4,6)", {}),
    ("i32[4,5].stride(2,-1).flip(0).pad((0,1),(1,1)).reshape(7,3)", {}),
    ("i32[2,3,2].permute(2,0,1).flip(1).reshape(4,3).stride(-2,1)", {}),
    ("i32[2,1,3].expand(2,4,3).reshape(8,3).pad((1,0),(0,2))", {}),
    ("i32[5].pad((2,3),mode=reflect).gather(0,[9,0,4,4])", {}),
    ("i32[4].pad((3,3),mode=wrap).reshape(2,5)", {}),
    ("i32[n=4..16:4,3].permute(1,0).reshape(n//4,12).pad((1,0),(0,2)).flip(1)", {"n": 8}),
    ("i32[n=2..9,m=1..6].permute(1,0).reshape(n*m).flip(0)", {"n": 3, "m": 4}),
    ("i32[]", {}),
    ("i32[2,0].pad((0,1),(1,1))", {}),
    ("i32[40,50].permute(1,0).pad((2,0),(0,7)).reshape(47,52)", {}),
]


def viewfold(*arguments):
    """The command's output. Leaks are not checked here: sanitizers look for them in the text tests."""
    quiet = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    return subprocess.run(["viewfold", *arguments], check=True, stdout=subprocess.PIPE, text=True, env=quiet).stdout


def prefixes(chain):
    """The chain truncated after each of its steps: i32[3,2], i32[3,2].permute(1,0), ..."""
    depth, cuts = 0, []
    for at, c in enumerate(chain):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(c, 0)
        if depth == 0 and c in ")]":
            cuts.append(chain[:at + 1])
    return cuts


def shape_of_buffer(chain, sizes):
    entries = chain[chain.index("[") + 1:chain.index("]")].split(",")
    return [sizes[e.split("=")[0]] if "=" in e else int(e) for e in entries if e]


def addresses(chain, sizes, folder):
    """{index: address, or None where it is padding}, by the evaluator."""
    shape, count = shape_of_buffer(chain, sizes), 1
    for size in shape:
        count *= size
    header = str({"descr": "<i4", "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    names = [os.path.join(folder, name) for name in ("in.npy", "out.npy")]
    with open(names[0], "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack(f"<{count}i", *range(1, count + 1)))
    viewfold("run", chain, "--in", "x=" + names[0], "--out", "y=" + names[1], "--check")
    with open(names[1], "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    described = ast.literal_eval(data[10:10 + length].decode())
    values = [v[0] for v in struct.iter_unpack("<i", data[10 + length:])]
    positions = itertools.product(*map(range, described["shape"]))
    return {p: value - 1 if value else None for p, value in zip(positions, values, strict=True)}


READING = """(() => {
  const out = document.querySelector(".inspector output"), agrees = document.querySelector(".verdict");
  const step = document.querySelector(".step.active"), tables = [...document.querySelectorAll(".inspector .work")];
  const headings = [...document.querySelectorAll(".inspector h3")].map(h => h.textContent);
  const index = tables[headings.indexOf("Index, step by step")];
  return {
    address: out.textContent, step: out.dataset.step, position: out.dataset.index, active: step?.dataset.step,
    last: index ? index.rows[index.rows.length - 1].lastChild.textContent : null, verdict: agrees && agrees.className,
    memory: step.querySelector(".memory .chosen")?.textContent ?? null,
    cell: step.querySelector("td.chosen")?.dataset.index,
  };
})()"""


def compare(browser, step, position, expected):
    """Compares what the page shows for the element under the pointer with the expected address."""
    read = browser.evaluate(READING)
    name, text = ",".join(map(str, position)), "padding" if expected is None else str(expected)
    wanted = {"address": text, "step": str(step), "active": str(step), "position": name, "cell": name,
              "last": None if expected is None else text, "memory": None if expected is None else text}
    if any(read[key] != wanted[key] for key in wanted) or (read["verdict"] or "agrees").endswith("differs"):
        raise Failure(f"step {step}, element ({name}): the page shows {json.dumps(read)}, not {json.dumps(wanted)}")


# For text on a background, the least contrast that the accessibility guidelines require is 4.5.
LEGIBLE = """(() => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
  const context = canvas.getContext("2d", {willReadFrequently: true});
  const layers = e => e ? [...layers(e.parentElement), getComputedStyle(e).backgroundColor] : [];
  const light = colours => {
    context.fillStyle = "white";
    context.fillRect(0, 0, 1, 1);
    for (const c of colours) context.fillStyle = c, context.fillRect(0, 0, 1, 1);
    const linear = x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(x => linear(x / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const poor = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
    const drawn = e.localName === "text", box = drawn && e.closest("g").querySelector(":scope > .shell");
    const back = box ? [...layers(e), getComputedStyle(box).fill] : layers(e);
    const behind = light(back), own = light([...back, drawn ? getComputedStyle(e).fill : getComputedStyle(e).color]);
    const contrast = Math.max(own, behind) / Math.min(own, behind);
    if (contrast < 4.5) poor.add(`${e.localName}.${e.className}: contrast ${contrast.toFixed(2)}`);
  }
  return [...poor];
})()"""


def check_looks(browser, page):
    """Legible in both colour schemes, and no wider than the window."""
    backgrounds = set()
    for scheme, width in (("light", 1400), ("dark", 1400), ("light", 420)):
        browser.resize(width)
        browser.open(page, scheme)
        poor = browser.evaluate(LEGIBLE)
        if poor:
            raise Failure(f"{scheme}: {'; '.join(poor)}")
        if browser.evaluate("document.documentElement.scrollWidth > innerWidth"):
            raise Failure(f"the page is wider than {width} pixels")
        backgrounds.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    browser.resize(1400)
    if len(backgrounds) != 2:
        raise Failure("light and dark look the same")


def set_sizes(browser, sizes):
    for name, value in sizes.items():
        browser.evaluate(f"""(() => {{
          const i = document.querySelector('input[name="{name}"]');
          i.value = {value};
          i.dispatchEvent(new Event("change"));
        }})()""")


def check_keys(browser, step, known):
    """The arrow keys select the neighbouring element."""
    rows = sorted(p for p in known if len(p) == 2)
    if (0, 0) not in known or (1, 1) not in known:
        return 0
    browser.evaluate(f"""document.querySelector('[data-step="{step}"] td[data-index="0,0"]').focus()""")
    for key, position in (("ArrowRight", (0, 1)), ("ArrowDown", (1, 1)), ("ArrowLeft", (1, 0)), ("ArrowUp", (0, 0))):
        browser.press(key)
        compare(browser, step, position, known[position])
    return 4


def check_chain(browser, chain, sizes, folder):
    page, compared = os.path.join(folder, "page.html"), 0
    viewfold("show", chain, "-o", page)
    check_looks(browser, page)
    browser.open(page)
    set_sizes(browser, sizes)
    steps_of_chain = prefixes(chain)
    for step, prefix in enumerate(steps_of_chain):
        known = addresses(prefix, sizes, folder)
        steps = f'[data-step="{step}"]'
        browser.evaluate(f"document.querySelector('{steps} details').open = true")
        shown = browser.evaluate(f"[...document.querySelectorAll('{steps} td[data-index]')].map(c => c.dataset.index)")
        more = browser.evaluate(f"document.querySelector('{steps} .pictures').innerText.includes(' more')")
        if len(shown) < len(known) and not more:
            raise Failure(f"step {step}: {len(shown)} of {len(known)} elements are shown, and nothing says so")
        final = step + 1 == len(steps_of_chain)
        for name in shown if final else shown[::1 + len(shown) // 16]:
            position = tuple(map(int, name.split(","))) if name else ()
            browser.hover(f'{steps} td[data-index="{name}"]')
            compare(browser, step, position, known[position])
            compared += 1
        compared += check_keys(browser, step, known)
    for tab in browser.evaluate("[...document.querySelectorAll('[role=tab]')].map(t => t.textContent)"):
        text = browser.evaluate(f"""(() => {{
          const tabs = [...document.querySelectorAll("[role=tab]")];
          tabs.find(t => t.textContent === "{tab}").click();
          return document.querySelector("[role=tabpanel] pre").textContent;
        }})()""")
        if text != viewfold("dump", "--stage=" + tab, chain):
            raise Failure(f"the tab {tab} does not show what `viewfold dump` prints")
    return compared


# Every element of every step of the chain that is shown: how many there are, and at which steps the strides give
# another address than the expression.
ALL_STEPS = """(() => {
  for (const d of document.querySelectorAll(".step > details")) if (!d.open) d.querySelector("summary").click();
  return document.querySelectorAll(".step").length;
})()"""
ALL_ELEMENTS = """(() => {
  let count = 0;
  const differ = [];
  for (const cell of document.querySelectorAll("td[data-index]")) {
    cell.focus({preventScroll: true});
    const verdict = document.querySelector(".verdict");
    count += verdict !== null;
    if (verdict?.classList.contains("differs")) differ.push(cell.closest(".step").innerText.slice(0, 80));
  }
  return {count, differ};
})()"""
CHOOSE_CHAIN = """(() => {
  const select = document.querySelector("select[name=chain]");
  select.value = %d;
  select.dispatchEvent(new Event("change"));
  return [document.querySelectorAll(".step").length, document.querySelectorAll(".body").length];
})()"""


def check_graph_chains(browser, folder):
    """The chains of a whole graph, which are drawn when they are asked for, one at a time."""
    page, graph = os.path.join(folder, "page.html"), os.path.join(os.path.dirname(__file__), "../../docs/demo/photo.vf")
    viewfold("show", graph, "-o", page)
    check_looks(browser, page)
    browser.open(page)
    if browser.evaluate("document.querySelectorAll('.step').length"):
        raise Failure("chains of a graph are drawn before they are asked for")
    browser.evaluate("document.querySelector('.fold-chains summary').click()")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    elements = 0
    for chain in range(browser.evaluate("document.querySelectorAll('select[name=chain] option').length")):
        steps, drawn = browser.evaluate(CHOOSE_CHAIN % chain)
        if steps > 1 and drawn == steps:
            raise Failure(f"chain {chain}: all steps are drawn from the start")
        browser.evaluate(ALL_STEPS)
        browser.evaluate("new Promise(done => setTimeout(done, 100))")
        seen = browser.evaluate(ALL_ELEMENTS)
        bodies = browser.evaluate("document.querySelectorAll('.body').length")
        if bodies != steps or seen["differ"] or not seen["count"]:
            raise Failure(f"chain {chain}: {bodies} of {steps} steps are drawn, {json.dumps(seen)}")
        elements += seen["count"]
    if elements < 500:
        raise Failure(f"only {elements} elements of chains of a graph")


def pictures(browser, folder, out):
    for number, (chain, sizes) in enumerate(CHAINS):
        page = os.path.join(folder, "page.html")
        viewfold("show", chain, "-o", page)
        for scheme in ("light", "dark"):
            browser.open(page, scheme)
            set_sizes(browser, sizes)
            browser.screenshot(os.path.join(out, f"{number:02}-{scheme}.png"))


def main(arguments):
    browser, compared = Chromium(), 0
    tried = CHAINS[::2] if os.environ.get("TEST_LEVEL") == "test" else CHAINS
    least = 40 * len(tried)
    try:
        if arguments == ["--probe"]:
            return 0
        with tempfile.TemporaryDirectory() as folder:
            chain = "photo.vf"
            try:
                check_graph_chains(browser, folder)
                for chain, sizes in tried:
                    compared += check_chain(browser, chain, sizes, folder)
            except (Failure, ValueError) as failure:
                print(f"{chain}: {failure}")
                return 1
            if arguments[:1] == ["--pictures"]:
                pictures(browser, folder, arguments[1])
    finally:
        browser.close()
    fetched = [url for url in browser.requests if not url.startswith("file:///") or not url.endswith("/page.html")]
    for url in fetched:
        print(f"the page asked for {url}")
    for error in dict.fromkeys(browser.errors):
        print(f"an error in the page: {error}")
    print(f"{len(tried)} chains, {compared} elements compared" if compared >= least else f"only {compared} elements")
    return 1 if fetched or browser.errors or compared < least else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(77)
