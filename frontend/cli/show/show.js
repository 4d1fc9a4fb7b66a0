/* The page: chains of steps, the inspector next to them, and the stages of compilation. */

/* ---------------------------------------------------------------------------------------------- one chain */
const OPEN = 6;   // steps of a lone chain that are open from the start

class Chain {
  constructor(graph, data) {
    this.graph = graph, this.data = data;
    this.shape = data.buffer.shape.map(s => expression(s).value([], graph.variables));
    this.size = product(this.shape);
    this.digits = `${this.size > 0n ? this.size - 1n : 0n}`.length;
    const { name, operation } = data.buffer;   // a computed value may never be stored in memory
    this.title = operation ? `${name} = ${operation}` : `${name} in memory`;
    this.memory = operation ? `${name} in row-major order` : `memory of ${name}`;
    this.readers = new Map();    // address -> cells that read it
    this.steps = [];
  }
  shade(address) { return this.size > 1n ? Number(address * 1000n / (this.size - 1n)) / 1000 : 0; }
  remember(address, cell) {
    if (!this.readers.has(address)) this.readers.set(address, []);
    this.readers.get(address).push(cell);
  }
  where(address) {
    const { name, bytes } = this.data.buffer;
    const position = unflatten(address, this.shape).join(", ");
    return `byte ${digits(address * BigInt(bytes))} of ${name}; index [${position}]`;
  }
  draw() {
    let number = 0;
    const parts = this.data.steps.map(s => {
      number += s.left_out ?? 0;
      if (s.left_out) return paragraph("left-out", more(s.left_out, "step"));
      const step = new Step(this, s, number++);
      this.steps.push(step);
      return step.draw();
    });
    const alone = !this.graph.many && this.steps.length <= OPEN;
    for (const s of alone ? this.steps : this.steps.slice(-1)) s.open();
    const route = this.data.steps.map(s => s.left_out ? "…" : s.operation?.split(" ")[0] ?? this.data.buffer.name);
    const title = this.graph.many && make("h3", { class: "route" }, route.join(" → "));
    return make("section", { class: "chain" }, title, parts);
  }
}

/* ---------------------------------------------------------------------------------------------- the inspector */
const textOf = v => v === null ? "–" : v === true ? "True" : v === false ? "False" : `${v}`;
const work = rows => make("table", { class: "work" }, make("tbody", {}, rows));

/* The operation of a node, its operands as `naming` writes them. */
function operation(node, naming) {
  const a = node.args.map(naming), { op, kind, list } = node;
  if (kind === "infix") return [a[0], " ", span("t-op", op), " ", a[1]];
  if (kind === "prefix") return [span("t-op", op), a[0]];
  if (kind === "look-up") return [`[${list.length > 12 ? list.slice(0, 12) + ",…" : list}]`, "[", a[0], "]"];
  return [op, "(", a.map((x, i) => [i ? ", " : "", x]), ")"];
}

/* A table of the operations of an expression, in the order of evaluation, with the values of their operands. Pointing
   at a row highlights its tokens in `code`. */
function workTable(e, position, variables, code) {
  const values = e.run(position, variables), numbers = new Map(), rows = [];
  const name = at => {
    const n = e.nodes[at];
    if (n.op === "axis") return axisMark(n.axis, `ridx${n.axis}`);
    if (n.op === "variable") return span("t-var", n.name);
    return n.apply ? span("ref", `#${numbers.get(at)}`) : textOf(n.value);
  };
  e.nodes.forEach((n, at) => {
    if (!n.apply) return;
    numbers.set(at, numbers.size + 1);
    const lit = { onmouseenter: () => light(code, n.from), onmouseleave: () => light(code, []) };
    rows.push(make("tr", lit, td(`#${numbers.get(at)}`), td(operation(n, name)),
      make("td", { class: "values" }, operation(n, a => textOf(values[a]))), td(textOf(values[at]))));
  });
  return work(rows.length ? rows : tr(td(), td(name(e.root)), td(), td(textOf(values[e.root]))));
}

/* Compute the address from shapes, strides, offsets and masks of the views, from the last view to the first. */
function throughViews(views, position) {
  let at = position, address = null, inside = true;
  const lines = [];
  for (let i = views.length - 1; i >= 0 && inside; i--) {
    const v = views[i], factor = k => v.strides[k] < 0n ? `(${v.strides[k]})` : v.strides[k];
    inside = !v.begin || at.every((x, k) => x >= v.begin[k] && x < v.end[k]);
    address = at.reduce((sum, x, k) => sum + x * v.strides[k], v.offset);
    const terms = [`${v.offset}`, ...at.map((x, k) => `${x}·${factor(k)}`)].join(" + ");
    lines.push({ view: i, at, address, inside, terms });
    if (i > 0) at = unflatten(address, views[i - 1].shape);
  }
  return { lines, address: inside ? address : null };
}

function viewsTable(step, position, expected) {
  if (!step.views.length) return [];
  const { lines, address } = throughViews(step.views, position), agrees = address === expected;
  const rows = lines.map(l => tr(td(step.views.length > 1 ? `V${l.view + 1}` : ""), td(`(${l.at.join(", ")})`),
    make("td", { class: "values" }, l.inside ? l.terms : "outside its mask"),
    td(l.inside ? `${l.address}` : "padding")));
  return [make("h3", {}, "By strides"), work(rows), agrees
    ? paragraph("verdict agrees", "✓ the same as the expression")
    : paragraph("verdict differs", "✗ not what the expression says")];
}

/* `big`: the address with its colour. */
function bigAddress(chain, address, data) {
  const colour = address === null ? {} : { "--at": chain.shade(address) };
  return make("div", { class: "big" },
    make("span", { class: address === null ? "swatch cell padding" : "swatch cell read", style: colour }),
    make("output", { class: "address", ...data }, address === null ? "padding" : `${address}`));
}

/* ---------------------------------------------------------------------------------------------- one graph */

/* The initial value of a variable: small, but large enough for a picture. */
function firstValue(v) {
  const divisor = BigInt(v.divisor ?? 1), lo = BigInt(v.lo ?? 1), hi = v.hi === null ? lo + 64n : BigInt(v.hi);
  const value = ((lo > 4n ? lo : 4n) + divisor - 1n) / divisor * divisor;
  return value <= hi ? value : hi / divisor * divisor;
}

class Graph {
  constructor(data, titled, number) {
    this.data = data, this.titled = titled;
    this.variables = new Map(data.variables.map(v => [v.name, firstValue(v)]));
    this.element = make("section", { class: "graph" });
    this.listed = data.chains.filter(c => !c.left_out);
    this.left = data.chains.find(c => c.left_out);
    this.at = 0;         // the chain that is drawn, of a graph; all are, of a chain
    if (titled) this.network = new Network(this, data, `g${number}`);
    this.stages = this.network?.stages ?? new Stages(data, () => {});
    this.views = make("div", { class: "views-of-chains" });
    if (titled) this.lay();
    else this.draw();
  }

  /* Of a file: the graph first, chains when they are asked for. */
  lay() {
    const title = make("h2", {}, "graph ", make("code", {}, "@" + this.data.name));
    const number = this.listed.length;
    this.fold = make("details", { class: "fold-chains", ontoggle: () => this.fold.open && !this.chains && this.draw() },
      make("summary", {}, number ? `Views: ${count(number, "chain")} that differ` : "No chains of views."), this.views);
    this.element.replaceChildren(title, ...this.data.mesh ? [new Mesh(this, this.data.mesh).draw()] : [],
      this.network.element, this.stages.element, ...number ? [this.fold] : [this.fold.firstChild]);
  }

  draw() {
    const drawn = this.titled ? this.listed.slice(this.at, this.at + 1) : this.listed;
    this.many = this.titled || drawn.length > 1;
    this.inspector = make("aside", { class: "inspector", "aria-label": "the element pointed at" });
    this.chains = drawn.map(c => new Chain(this, c));
    const sections = this.chains.map(c => c.draw());
    const pictures = sections.length ? make("div", { class: "chains" }, make("div", {}, sections), this.inspector)
      : paragraph("lede", "No chains of views.");
    if (this.titled) {
      this.views.replaceChildren(this.drawChoice(), this.drawVariables() ?? "", paragraph("lede", SAYS), pictures);
    } else {
      const parts = [this.drawVariables(), pictures, this.stages.element];
      this.element.replaceChildren(...parts.filter(Boolean));
    }
    this.chooseFirst();
  }

  /* chains of a graph */

  chainOf(number) { return this.listed.find(c => c.nodes.includes(number)); }
  openChain(number) {
    this.at = this.listed.indexOf(this.chainOf(number));
    this.fold.open = true;
    this.draw();
    this.fold.scrollIntoView({ block: "start" });
  }
  drawChoice() {
    const route = c => c.steps.map(s => s.left_out ? "…" : s.operation?.split(" ")[0] ?? c.buffer.name).join(" → ");
    const options = this.listed.map((c, i) => make("option", { value: i, selected: i === this.at ? "" : null },
      `${c.steps.at(-1).name ?? c.buffer.name}: ${route(c)}${c.nodes.length > 1 ? ` (${c.nodes.length} alike)` : ""}`));
    const select = make("select", { name: "chain", onchange: () => { this.at = +select.value, this.draw(); } }, options);
    return make("p", { class: "of-chain" }, make("label", {}, "chain ", select), this.left && ` ${more(this.left.left_out, "chain")} differ from these.`);
  }

  chooseFirst() {
    const step = this.chains[0]?.steps.at(-1), cells = [...step?.cells.values() ?? []];
    const read = cells.filter(c => c.classList.contains("read")), cell = read[1] ?? read[0] ?? cells[0];
    if (cell) this.choose(step, positionOf(cell), cell);
    else this.inspector.append(paragraph("sub", "Nothing to point at."));
  }

  drawVariables() {
    if (!this.data.variables.length) return null;
    const change = (v, input) => {
      if (!input.reportValidity() || !input.value) return;
      this.variables.set(v.name, BigInt(input.value));
      this.draw();
      this.element.querySelector(`input[name="${CSS.escape(v.name)}"]`).focus();
    };
    const field = v => {
      const multiple = v.divisor !== "1" ? `, a multiple of ${v.divisor}` : "";
      return make("label", {}, span("t-var", v.name), make("input", {
        type: "number", name: v.name, value: this.variables.get(v.name), min: v.lo, max: v.hi, step: v.divisor,
        onchange: e => change(v, e.target),
      }), make("small", {}, `${v.lo}..${v.hi}${multiple}`));
    };
    return make("fieldset", { class: "variables", "aria-label": "sizes" }, this.data.variables.map(field));
  }

  /* Highlight an address in every step of the chain; chosen: {step, cell} when an element was pointed at. */
  mark(chain, address, chosen) {
    for (const c of this.element.querySelectorAll(".same, .chosen")) c.classList.remove("same", "chosen");
    for (const step of address === null ? [] : chain.steps.filter(s => s.strip)) {
      step.window(address);
      const cell = step.strip.querySelector(`[data-address="${address}"]`);
      cell?.classList.add(chosen?.step === step ? "chosen" : "same");
    }
    chain.readers.get(address)?.forEach(c => c.classList.add("same"));
    chosen?.cell.classList.add("chosen");
  }

  choose(step, position, cell) {
    const { chain, variables, data } = step, address = step.address(position);
    this.element.querySelector(".step.active")?.classList.remove("active");
    step.element.classList.add("active");
    this.mark(chain, address, { step, cell });
    const work = (e, code) => workTable(e, position, variables, code);
    const where = position.map((p, i) => [i ? ", " : "", axisMark(i, `ridx${i}`), ` = ${p}`]);
    this.inspector.replaceChildren(make("h2", {}, "Element"),
      paragraph("where", where.length ? where : "the only element"),
      bigAddress(chain, address, { "data-step": step.number, "data-index": position.join(",") }),
      paragraph("sub", address === null ? "This element reads no memory." : chain.where(address)),
      ...data.valid === "True" ? [] : [make("h3", {}, "Valid"), work(step.valid, step.validCode)],
      ...address === null ? [] : [make("h3", {}, "Index, step by step"), work(step.index, step.indexCode)],
      ...viewsTable(step, position, address));
  }

  chooseAddress(chain, address) {
    this.mark(chain, address, null);
    const cells = chain.readers.get(address) ?? [], most = 8;
    const row = s => {
      const own = cells.filter(c => s.element.contains(c)), name = s.data.operation?.split(" ")[0] ?? "in memory";
      const list = own.slice(0, most).map(c => `(${positionOf(c).join(", ")})`).join(" ");
      const left = own.length > most && ` ${more(own.length - most)}`;
      return own.length > 0 && tr(td(`${s.number}`), td(name), make("td", { class: "readers" }, list, left));
    };
    const rows = chain.steps.map(row).filter(Boolean);
    this.inspector.replaceChildren(make("h2", {}, "Memory cell"), bigAddress(chain, address, {}),
      paragraph("sub", chain.where(address)), make("h3", {}, "Read by"),
      work(rows.length ? rows : tr(td(), td("no element that is shown"))));
  }
}

/* ---------------------------------------------------------------------------------------------- all of it */
const SAYS = "Where each element lies in memory. A colour is an address, so elements that share a colour "
  + "share a cell; hatched elements are padding. Point at an element, or use the arrow keys.";
const ONE_CHAIN = /^(bool|b?f16|f32|f64|[iu](8|16|32|64))\[/.test(DATA.source);   // otherwise it is a file
const GRAPHS = DATA.graphs.map((g, i) => new Graph(g, !ONE_CHAIN, i));
document.body.append(make("div", { class: ONE_CHAIN ? "page" : "page wide" },
  make("header", {}, paragraph("brand", make("b", {}, "viewfold"), " show"), make("h1", {}, DATA.source),
    ONE_CHAIN && paragraph("lede", SAYS)),
  make("main", {}, GRAPHS.map(g => g.element))));
for (const g of GRAPHS) g.network?.begin();

/* Back and forth in the history; a link to a part of the page. */
function restore() {
  const [, number, key] = location.hash.match(/^#g(\d+)(\w+)$/) ?? [];
  for (const g of GRAPHS) if (g.network) {
    if (number !== undefined && GRAPHS[+number] === g) g.network.restore(key);
    else g.network.chooseNothing();
  }
}
addEventListener("popstate", restore);
if (location.hash) restore();
