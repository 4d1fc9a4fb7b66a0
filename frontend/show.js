"use strict";
/* Draws the page from the data. An expression is compiled to a list of operations, each after its operands: run in
   order they give the value, and shown in order they are its evaluation step by step. Numbers are BigInt: `//` rounds
   down, addresses have 64 bits. What has no value (a look-up outside its list, where nothing is read) is null. */

/* ------------------------------------------------------------------------------------------------- expressions */
const floorDiv = (a, b) => { if (b <= 0n) return null; const q = a / b; return a % b < 0n ? q - 1n : q; };
const INFIX = {
  "|": [1, (a, b) => a || b], "^": [2, (a, b) => a !== b], "&": [3, (a, b) => a && b],
  "==": [4, (a, b) => a === b], "!=": [4, (a, b) => a !== b],
  "<": [5, (a, b) => a < b], "<=": [5, (a, b) => a <= b], ">": [5, (a, b) => a > b], ">=": [5, (a, b) => a >= b],
  "+": [7, (a, b) => a + b], "-": [7, (a, b) => a - b],
  "*": [8, (a, b) => a * b], "//": [8, floorDiv],
  "%": [8, (a, b) => { const q = floorDiv(a, b); return q === null ? null : a - q * b; }],
};
const PREFIX = { "-": a => -a, "!": a => !a };
const CALLS = {
  min: (a, b) => a < b ? a : b, max: (a, b) => a > b ? a : b, abs: a => a < 0n ? -a : a, neg: a => -a,
  where: (c, a, b) => c ? a : b,
};
const TOKEN = /\s*(?:(\d+)|(ridx\d+)(?!\w)|([A-Za-z_]\w*)|(\/\/|[<>=!]=|[-+*%<>&|^!(),[\]]))/y;

function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const m = TOKEN.exec(text);
    if (!m) throw new Error("no expression: " + text);
    tokens.push(m[1] ? { kind: "number", text: m[1] } : m[2] ? { kind: "axis", text: m[2] }
      : m[3] ? { kind: "word", text: m[3] } : { kind: "sign", text: m[4] });
  }
  return tokens;
}

/* Operator precedence with stacks of its own, as expressions nest deeply. */
class Expression {
  constructor(text) {
    this.tokens = tokensOf(text);
    this.nodes = [];   // {op, args, apply, from: [[first token, last token], ..]}
    this.known = new Map();
    const values = [], pending = [];
    const make = (key, node, first, last) => {
      let at = this.known.get(key);
      if (at === undefined) {
        this.known.set(key, at = this.nodes.length);
        this.nodes.push(Object.assign({ args: [], from: [] }, node));
      }
      this.nodes[at].from.push([first, last]);
      values.push({ at, first, last });
    };
    const reduce = () => {
      const p = pending.pop(), args = values.splice(values.length - p.count);
      const list = args.map(a => a.at), last = Math.max(p.last ?? 0, args[args.length - 1].last);
      if (p.op === "-" && p.count === 1 && this.nodes[list[0]].op === "number") {
        const value = -this.nodes[list[0]].value;
        make("number " + value, { op: "number", value }, p.first, last);
      } else {
        make(p.key + " " + list, { op: p.op, kind: p.kind, list: p.list, apply: p.apply, args: list }, p.first ?? args[0].first, last);
      }
    };
    const until = open => { while (pending.length && pending[pending.length - 1].kind !== open) reduce(); };
    let operand = true;
    for (let i = 0; i < this.tokens.length; i++) {
      const { kind, text: t } = this.tokens[i];
      if (operand && kind === "number") make("number " + t, { op: "number", value: BigInt(t) }, i, i), operand = false;
      else if (operand && kind === "axis") make(t, { op: "axis", axis: +t.slice(4) }, i, i), operand = false;
      else if (operand && kind === "word" && this.tokens[i + 1]?.text === "(" && CALLS[t]) {
        pending.push({ kind: "(", call: t, first: i, count: 1 });
        i++;
      } else if (operand && kind === "word") {
        const truth = t === "True" || t === "False";
        make(t, truth ? { op: "truth", value: t === "True" } : { op: "variable", name: t }, i, i);
        operand = false;
      } else if (operand && t === "(") pending.push({ kind: "(", first: i, count: 1 });
      else if (operand && PREFIX[t]) pending.push({ kind: "prefix", op: t, key: "prefix" + t, apply: PREFIX[t], rank: 9, count: 1, first: i });
      else if (operand && t === "[") {           // [2,0,2][position]
        const first = i, list = [];
        for (i++; this.tokens[i].text !== "]"; i++)
          if (this.tokens[i].kind === "number") list.push(BigInt((this.tokens[i - 1].text === "-" ? "-" : "") + this.tokens[i].text));
        i++;
        pending.push({ kind: "[", first, list, count: 1 });
      } else if (!operand && INFIX[t]) {
        const [rank, apply] = INFIX[t];
        while (pending.length && pending[pending.length - 1].rank >= rank) reduce();
        pending.push({ kind: "infix", op: t, key: t, apply, rank, count: 2 });
        operand = true;
      } else if (!operand && t === ",") {
        until("(");
        pending[pending.length - 1].count++;
        operand = true;
      } else if (!operand && t === ")") {
        until("(");
        const open = pending.pop();
        if (open.call) {
          pending.push({ kind: "call", op: open.call, key: open.call, apply: CALLS[open.call], count: open.count, first: open.first, last: i });
          reduce();
        } else {                                  // the parentheses belong to what they hold
          const v = values[values.length - 1], spans = this.nodes[v.at].from;
          spans[spans.length - 1] = [open.first, i];
          v.first = open.first, v.last = i;
        }
      } else if (!operand && t === "]") {
        until("[");
        const { first, list } = pending.pop();
        pending.push({ kind: "look-up", op: "[]", key: "[" + list + "]", list, apply: at => list[Number(at)] ?? null, count: 1, first, last: i });
        reduce();
      } else throw new Error("no expression: " + text);
    }
    while (pending.length) reduce();
    if (values.length !== 1) throw new Error("no expression: " + text);
    this.root = values[0].at;
  }

  /* The value of every node: position is the list of ridx0, ridx1, ..; variables a Map. */
  run(position, variables) {
    const values = [];
    for (const n of this.nodes) {
      if (n.op === "number" || n.op === "truth") values.push(n.value);
      else if (n.op === "axis") values.push(position[n.axis] ?? null);
      else if (n.op === "variable") values.push(variables.get(n.name) ?? null);
      else {
        const args = n.args.map(a => values[a]);
        if (n.op === "&" && args.includes(false)) values.push(false);
        else if (n.op === "|" && args.includes(true)) values.push(true);
        else if (n.op === "where" && args[0] !== null) values.push(n.apply(...args));
        else values.push(args.includes(null) ? null : n.apply(...args));
      }
    }
    return values;
  }
  value(position, variables) { return this.run(position, variables)[this.root]; }
}

const compiled = new Map();
function expression(text) {
  if (!compiled.has(text)) compiled.set(text, new Expression(text));
  return compiled.get(text);
}

/* ------------------------------------------------------------------------------------------------- elements of HTML */
function make(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null) continue;
    if (key === "class") e.className = value;
    else if (key === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value);
  }
  e.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return e;
}
const HUES = [255, 45, 150, 330, 195, 95, 300, 15];
const hueOf = axis => HUES[axis % HUES.length];
const axisMark = (axis, text) => make("span", { class: "t-axis", style: { "--hue": hueOf(axis) } }, text);
const count = (n, one, many) => `${Number(n).toLocaleString("en")} ${n == 1 ? one : many ?? one + "s"}`;

const formulas = (data, index, valid) => make("dl", { class: "formulas" }, make("dt", {}, "index"), make("dd", {}, index),
  data.valid !== "True" && [make("dt", {}, "valid"), make("dd", {}, valid)]);

const LONG = 4000;   // tokens beyond which an expression is plain text
function showExpression(text) {
  const code = make("code", { class: "expression" + (text.length > 400 ? " long" : "") });
  let tokens = null;
  try { tokens = tokensOf(text); } catch { /* cut short */ }
  if (!tokens || tokens.length > LONG) {
    code.textContent = text;
    return code;
  }
  tokens.forEach((t, i) => {
    const before = tokens[i - 1], value = before === undefined || (before.kind === "sign" && before.text !== ")" && before.text !== "]");
    if (t.kind === "axis") code.append(axisMark(+t.text.slice(4), t.text));
    else code.append(make("span", {
      class: t.kind === "number" ? "t-number" : t.kind === "word" ? (CALLS[t.text] || /^(True|False)$/.test(t.text) ? "t-word" : "t-var")
        : /^[()[\],]$/.test(t.text) ? "t-paren" : value ? "t-sign" : "t-op",
    }, t.text));
    if (i % 4 === 3 || t.text === ")") code.append(make("wbr"));
  });
  return code;
}
function light(code, spans) {
  const tokens = [...code.children].filter(c => c.localName !== "wbr");
  tokens.forEach((t, i) => t.classList.toggle("lit", spans.some(([a, b]) => a <= i && i <= b)));
}

/* ------------------------------------------------------------------------------------------------- what is shown of a shape */
const COLUMNS = 16, ROWS = 10, PANELS = 6, STRIP = 192, STRIP_ROWS = 6, STRIP_COLUMNS = 20, COUNTED = 4096n, OPEN = 6;
/* How many cells go into so many pixels. */
const fitting = (digits, pixels, most) => Math.max(6, Math.min(most, Math.floor(pixels / (Math.max(31, digits * 8.2 + 13) + 2))));

/* Positions of an axis: all, or the first and the last ones with {gap} between them. */
function shown(size, most) {
  if (size <= BigInt(most)) return Array.from({ length: Number(size) }, (_, i) => BigInt(i));
  const tail = Math.max(1, Math.floor(most / 4)), head = most - tail - 1;
  return [...Array.from({ length: head }, (_, i) => BigInt(i)), { gap: size - BigInt(head + tail) },
    ...Array.from({ length: tail }, (_, i) => size - BigInt(tail - i))];
}
const product = list => list.reduce((a, b) => a * b, 1n);
function unflatten(n, shape) {
  const at = [];
  for (let k = shape.length - 1; k >= 0; k--) {
    at[k] = shape[k] > 0n ? n % shape[k] : 0n;
    n = shape[k] > 0n ? n / shape[k] : 0n;
  }
  return at;
}

const positionOf = cell => cell.dataset.index === "" ? [] : cell.dataset.index.split(",").map(BigInt);

/* ------------------------------------------------------------------------------------------------- one step */
class Step {
  constructor(chain, data, number) {
    this.chain = chain, this.data = data, this.number = number;
    this.index = data.index === undefined ? null : expression(data.index);
    this.valid = data.valid === undefined ? null : expression(data.valid);
    this.variables = chain.graph.variables;
    this.shape = data.shape.map(s => expression(s).value([], this.variables));
    this.views = (data.views ?? []).map(v => {
      const all = list => list?.map(s => expression(s).value([], this.variables));
      return { shape: all(v.shape), strides: all(v.strides), offset: all([v.offset])[0], begin: all(v.begin), end: all(v.end) };
    });
    this.cells = new Map();      // position -> cell
  }

  address(position) {
    if (!this.index || this.valid.value(position, this.variables) !== true) return null;
    return this.index.value(position, this.variables);
  }

  draw() {
    const { data, chain } = this, title = data.operation ?? `${chain.data.buffer.name} in memory`;
    const type = `${data.name && data.operation ? data.name + ": " : ""}${chain.data.buffer.dtype}[${data.shape.join(",")}]`;
    this.element = make("article", { class: "step", "data-step": this.number }, make("details", { ontoggle: e => e.target.open && this.fill() },
      make("summary", {}, make("span", { class: "number" }, `${this.number}`), make("h3", {}, title), make("code", { class: "type" }, type))));
    if (this.index) {
      this.indexCode = showExpression(data.index);
      this.validCode = showExpression(data.valid);
      this.element.append(formulas(data, this.indexCode, this.validCode));
    } else this.element.append(make("p", { class: "no-views" }, "No index expression: ", data.no_index, "."));
    return this.element;
  }

  /* The pictures, once they are wanted. */
  fill() {
    if (this.filled || !this.index) return;
    this.filled = true;
    this.read();
    this.element.append(make("div", { class: "body" }, this.drawViews(), make("div", { class: "pictures" }, this.drawElements(), this.drawMemory()), this.drawRewrites()));
  }
  open() {
    this.element.querySelector("details").open = true;
    this.fill();
  }

  /* Which addresses are read, when they are few enough to go through. */
  read() {
    const total = product(this.shape);
    this.total = total, this.counted = total <= COUNTED, this.addresses = new Set(), this.padding = 0;
    if (!this.counted) return;
    for (let i = 0n; i < total; i++) {
      const at = this.address(unflatten(i, this.shape));
      if (at === null) this.padding++;
      else this.addresses.add(at);
    }
  }

  drawViews() {
    if (!this.views.length) return make("p", { class: "no-views" }, "No strides: ", this.data.no_views, ".");
    const many = this.views.length > 1, masked = this.views.some(v => v.begin);
    const tuple = (list, own) => ["(", list.map((x, i) => [i ? ", " : "", own ? axisMark(i, `${x}`) : `${x}`]), ")"];
    const rows = this.views.map((v, i) => {
      const own = i === this.views.length - 1;   // its axes are those of the result
      const mask = masked && (v.begin ? v.begin.map((b, k) => [k ? " × " : "", own ? axisMark(k, `${b}..${v.end[k]}`) : `${b}..${v.end[k]}`]) : "none");
      return make("tr", {}, many && make("td", {}, `V${i + 1}`), make("td", {}, tuple(v.shape, own)), make("td", {}, tuple(v.strides, own)),
        make("td", {}, `${v.offset}`), masked && make("td", {}, mask));
    });
    const head = [many && "view", "shape", "strides", "offset", masked && "mask, half-open"].filter(Boolean);
    return make("div", { class: "scroll views" }, make("table", { class: "views" },
      make("thead", {}, make("tr", {}, head.map(h => make("th", { scope: "col" }, h)))), make("tbody", {}, rows)));
  }

  /* elements */

  cell(position) {
    const address = this.address(position), label = position.map((p, i) => `ridx${i}=${p}`).join(", ") || "the only element";
    const inside = address !== null;
    const td = make("td", {
      class: "cell " + (inside ? "read" : "padding"), role: "gridcell", tabindex: this.cells.size ? -1 : 0, "data-index": position.join(","),
      "aria-label": `${label}: ${inside ? "address " + address : "padding"}`, style: inside ? { "--at": this.chain.shade(address) } : {},
    }, inside ? `${address}` : "·");
    td.addEventListener("mouseenter", () => this.chain.graph.choose(this, position, td));
    td.addEventListener("focus", () => this.chain.graph.choose(this, position, td));
    this.cells.set(position.join(","), td);
    if (inside) this.chain.remember(address, td);
    return td;
  }

  /* A matrix of the last two axes under the given outer position. */
  matrix(outer) {
    const rank = this.shape.length, k = outer.length;
    const rows = rank - k >= 2 ? shown(this.shape[k], k ? 6 : ROWS) : [null], columns = rank > k ? shown(this.shape[rank - 1], fitting(this.chain.digits, 620, COLUMNS)) : [null];
    const gap = g => make("th", { class: "cell gap", scope: "col" }, `… ${Number(g).toLocaleString("en")} more`);
    const head = make("tr", {}, rank - k >= 2 && make("td", {}), columns.map(c => c === null ? [] : c.gap ? gap(c.gap) : make("th", { scope: "col" }, `${c}`)));
    const line = r => r && r.gap
      ? make("tr", {}, make("th", { class: "cell gap", colspan: columns.length + 1, scope: "row", style: { "text-align": "left" } }, `… ${Number(r.gap).toLocaleString("en")} more`))
      : make("tr", {}, r !== null && make("th", { scope: "row" }, `${r}`),
        columns.map(c => c && c.gap ? make("td", { class: "cell gap" }, "…") : this.cell([...outer, ...(r === null ? [] : [r]), ...(c === null ? [] : [c])])));
    return make("table", { class: "elements", role: "grid" }, make("thead", {}, head), make("tbody", {}, rows.map(line)));
  }

  /* Which axis runs which way in each matrix. */
  directions() {
    const rank = this.shape.length, of = (k, arrow) => axisMark(k, `ridx${k} ${arrow}`);
    return rank === 0 ? [] : make("p", { class: "axes" }, rank > 1 && of(rank - 2, "↓"), of(rank - 1, "→"));
  }

  drawElements() {
    const outerShape = this.shape.slice(0, -2), panels = shown(product(outerShape), PANELS);
    const empty = this.total === 0n;
    const body = empty ? make("p", { class: "more" }, "no elements") : make("div", { class: "panels" }, panels.map(p => {
      if (p.gap) return make("p", { class: "more" }, `… ${Number(p.gap).toLocaleString("en")} more`);
      const outer = unflatten(p, outerShape);
      return make("div", { class: "panel" }, outer.length ? make("p", {}, outer.map((x, i) => [i ? " " : "", axisMark(i, `ridx${i}=${x}`)])) : [], this.matrix(outer));
    }));
    const box = make("figure", {}, make("figcaption", {}, `${count(this.total, "element")}, each with the address it reads${this.padding ? `; ${count(this.padding, "is", "are")} padding` : ""}`),
      !empty && this.directions(), make("div", { class: "scroll", style: { "--digits": this.chain.digits } }, body));
    box.addEventListener("keydown", e => this.move(e));
    return box;
  }

  /* Arrow keys walk over the cells as they lie on the screen. */
  move(e) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!step || !e.target.matches("td[data-index]")) return;
    e.preventDefault();
    const here = e.target.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const td of this.cells.values()) {
      const r = td.getBoundingClientRect(), dx = r.x - here.x, dy = r.y - here.y, along = step[0] * dx + step[1] * dy;
      if (along < 4) continue;
      const distance = along + 4 * Math.abs(step[0] ? dy : dx);
      if (distance < least) least = distance, best = td;
    }
    if (!best) return;
    e.target.tabIndex = -1;
    best.tabIndex = 0;
    best.focus();
  }

  /* memory */

  drawMemory() {
    const size = this.chain.size, last = this.chain.shape.at(-1) ?? 1n, most = BigInt(fitting(this.chain.digits, 670, STRIP_COLUMNS));
    this.width = size <= most ? size || 1n : last > 1n && last <= most ? most / last * last : most;
    this.whole = size <= BigInt(STRIP);
    this.strip = make("div", { class: "memory" + (size > this.width ? " rows" : ""), style: { "--columns": Number(this.width), "--digits": this.chain.digits } });
    this.note = make("p", { class: "more" });
    this.mark = this.whole ? null : make("i", {});
    const read = this.counted ? `; ${this.addresses.size === Number(size) ? "all are" : this.addresses.size + (this.addresses.size === 1 ? " is" : " are")} read` : "";
    const figure = make("figure", {}, make("figcaption", {}, `memory of ${this.chain.data.buffer.name}: ${count(size, "cell")}${read}`),
      this.mark && make("div", { class: "extent", "aria-hidden": "true" }, this.mark), make("div", { class: "scroll" }, this.strip), this.note);
    this.window(0n);
    return figure;
  }

  /* Fill the strip with the cells around an address. */
  window(address) {
    const size = this.chain.size, w = this.width, most = BigInt(STRIP_ROWS) * w;
    if (this.from !== undefined && (this.whole || (address >= this.from && address < this.to))) return;
    let from = 0n, to = size;
    if (!this.whole) {
      from = address / w * w - BigInt(STRIP_ROWS >> 1) * w;
      const highest = (size + w - 1n) / w * w - most;
      from = from < 0n ? 0n : from > highest ? highest : from;
      to = from + most < size ? from + most : size;
    }
    this.from = from, this.to = to;
    this.strip.replaceChildren();
    for (let a = from; a < to; a++) {
      if (size > w && (a - from) % w === 0n) this.strip.append(make("span", { class: "start" }, `${a}`));
      const read = !this.counted || this.addresses.has(a);
      const cell = make("span", { class: "cell " + (read ? "read" : "unread"), "data-address": a, style: read ? { "--at": this.chain.shade(a) } : {} }, `${a}`);
      cell.addEventListener("mouseenter", () => this.chain.graph.chooseAddress(this.chain, a));
      this.strip.append(cell);
    }
    if (!this.whole) {
      this.note.textContent = [from > 0n && `… ${count(from, "cell")} before`, to < size && `… ${Number(size - to).toLocaleString("en")} more`].filter(Boolean).join("; ");
      const percent = x => `${Number(x * 10000n / size) / 100}%`;
      this.mark.style.left = `min(${percent(from)}, 100% - 4px)`;
      this.mark.style.width = percent(to - from);
    }
  }

  /* rewrites */

  drawRewrites() {
    const rows = new Map(), rules = new Set();
    for (const r of this.data.rewrites) {
      const key = JSON.stringify([r.rule, r.before, r.after]);
      rows.set(key, { ...r, times: (rows.get(key)?.times ?? 0) + 1 });
      rules.add(r.rule);
    }
    const total = this.data.rewrites.length + this.data.more, raw = this.data.raw;
    if (!total) return make("p", { class: "no-rewrites" }, "No rule had to fire.");
    const row = r => {
      const rule = DATA.rules[r.rule];
      return make("tr", {}, make("td", {}, make("code", {}, r.rule), r.times > 1 && make("span", { class: "times" }, ` ×${r.times}`),
        rule && make("small", {}, rule.reason)),
        make("td", { title: rule ? `${rule.left} => ${rule.right}${rule.condition ? "  if " + rule.condition : ""}` : null },
          showExpression(r.before), make("span", { class: "arrow" }, " → "), showExpression(r.after)));
    };
    const fill = details => {
      if (details.childElementCount > 1) return;
      details.append(make("table", { class: "rewrites" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "rule"), make("th", { scope: "col" }, "rewrote"))),
        make("tbody", {}, raw?.index !== undefined && make("tr", {}, make("td", {}, make("code", {}, "as recorded"), make("small", {}, "before any folding")),
          make("td", {}, showExpression(raw.index), raw.valid !== "True" && make("div", {}, "valid ", showExpression(raw.valid)))), [...rows.values()].map(row))));
      if (this.data.more) details.append(make("p", { class: "more" }, `… ${count(this.data.more, "more rewrite")}`));
    };
    return make("details", { ontoggle: e => fill(e.target) }, make("summary", {}, `${count(total, "rewrite")} by ${count(rules.size, "rule")}: ${[...rules].slice(0, 6).join(", ")}${rules.size > 6 ? ", …" : ""}`));
  }
}

/* ------------------------------------------------------------------------------------------------- one chain */
class Chain {
  constructor(graph, data) {
    this.graph = graph, this.data = data;
    this.shape = data.buffer.shape.map(s => expression(s).value([], graph.variables));
    this.size = product(this.shape);
    this.digits = `${this.size > 0n ? this.size - 1n : 0n}`.length;
    this.readers = new Map();    // address -> cells that read it
    this.steps = [];
  }
  shade(address) { return this.size > 1n ? Number(address * 1000n / (this.size - 1n)) / 1000 : 0; }
  remember(address, cell) {
    if (!this.readers.has(address)) this.readers.set(address, []);
    this.readers.get(address).push(cell);
  }
  draw() {
    let number = 0;
    const parts = this.data.steps.map(s => {
      number += s.left_out ?? 0;
      if (s.left_out) return make("p", { class: "left-out" }, `… ${count(s.left_out, "more step")}`);
      const step = new Step(this, s, number++);
      this.steps.push(step);
      return step.draw();
    });
    this.steps.forEach((s, i) => (i === this.steps.length - 1 || (!this.graph.many && this.steps.length <= OPEN)) && s.open());
    const operations = this.data.steps.map(s => s.left_out ? "…" : (s.operation ?? this.data.buffer.name).split(" ")[0]);
    return make("section", { class: "chain" }, this.graph.many && make("h3", { class: "route" }, operations.join(" → ")), parts);
  }
}

/* ------------------------------------------------------------------------------------------------- the inspector */
const text = v => v === null ? "–" : v === true ? "True" : v === false ? "False" : `${v}`;

/* The operation of a node: its operands by name, or as values. */
function operation(e, at, naming) {
  const n = e.nodes[at], a = n.args.map(naming);
  const sign = s => make("span", { class: "t-op" }, s);
  if (n.kind === "infix") return [a[0], " ", sign(n.op), " ", a[1]];
  if (n.kind === "prefix") return [sign(n.op), a[0]];
  if (n.kind === "look-up") return [`[${n.list.length > 12 ? n.list.slice(0, 12) + ",…" : n.list}]`, "[", a[0], "]"];
  return [n.op, "(", a.map((x, i) => [i ? ", " : "", x]), ")"];
}

/* Every operation of an expression with its operands put in, in the order of evaluation. */
function workTable(e, position, variables, code) {
  const values = e.run(position, variables), numbers = new Map(), rows = [];
  const leaf = at => {
    const n = e.nodes[at];
    if (n.op === "axis") return axisMark(n.axis, `ridx${n.axis}`);
    if (n.op === "variable") return make("span", { class: "t-var" }, n.name);
    return n.apply ? make("span", { class: "ref" }, `#${numbers.get(at)}`) : text(n.value);
  };
  e.nodes.forEach((n, at) => {
    if (!n.apply) return;
    numbers.set(at, numbers.size + 1);
    const row = make("tr", {}, make("td", {}, `#${numbers.get(at)}`), make("td", {}, operation(e, at, leaf)),
      make("td", { class: "values" }, operation(e, at, a => text(values[a]))), make("td", {}, text(values[at])));
    row.addEventListener("mouseenter", () => light(code, n.from));
    row.addEventListener("mouseleave", () => light(code, []));
    rows.push(row);
  });
  if (!rows.length) rows.push(make("tr", {}, make("td", {}, ""), make("td", {}, leaf(e.root)), make("td", {}, ""), make("td", {}, text(values[e.root]))));
  return make("table", { class: "work" }, make("tbody", {}, rows));
}

/* The same address by shape, strides, offset and mask: from the last view to the first. */
function throughViews(views, position) {
  let at = position, address = null, inside = true;
  const lines = [];
  for (let i = views.length - 1; i >= 0; i--) {
    const v = views[i];
    inside &&= !v.begin || at.every((x, k) => x >= v.begin[k] && x < v.end[k]);
    address = at.reduce((sum, x, k) => sum + x * v.strides[k], v.offset);
    lines.push({ view: i, at, address, inside, terms: [`${v.offset}`, ...at.map((x, k) => `${x}·${v.strides[k] < 0n ? `(${v.strides[k]})` : v.strides[k]}`)].join(" + ") });
    if (!inside) break;
    if (i > 0) at = unflatten(address, views[i - 1].shape);
  }
  return { lines, address: inside ? address : null };
}

function viewsTable(step, position, expected) {
  if (!step.views.length) return [];
  const { lines, address } = throughViews(step.views, position), many = step.views.length > 1;
  const rows = lines.map(l => make("tr", {}, make("td", {}, many ? `V${l.view + 1}` : ""), make("td", {}, `(${l.at.join(", ")})`),
    make("td", { class: "values" }, l.inside ? l.terms : "outside its mask"), make("td", {}, l.inside ? `${l.address}` : "padding")));
  return [make("h3", {}, "By strides"), make("table", { class: "work" }, make("tbody", {}, rows)),
    make("p", { class: "verdict " + (address === expected ? "agrees" : "differs") }, address === expected ? "✓ the same as the expression" : "✗ not what the expression says")];
}

/* ------------------------------------------------------------------------------------------------- one graph */
class Graph {
  constructor(data, many) {
    this.data = data, this.titled = many;
    this.variables = new Map();
    for (const v of data.variables) this.variables.set(v.name, firstValue(v));
    this.element = make("section", { class: "graph" });
    this.draw();
  }

  draw() {
    const chains = this.data.chains.filter(c => !c.left_out), left = this.data.chains.find(c => c.left_out);
    this.many = chains.length > 1;
    this.stages ??= drawStages(this.data);
    this.inspector = make("aside", { class: "inspector", "aria-label": "the element pointed at" });
    this.chains = chains.map(c => new Chain(this, c));
    const drawn = this.chains.map(c => c.draw());
    this.element.replaceChildren(...[
      this.titled && make("h2", {}, "graph ", make("code", {}, "@" + this.data.name)), this.drawVariables(),
      this.titled && this.stages, drawn.length && make("div", { class: "chains" }, make("div", { class: "column" }, drawn, left && make("p", { class: "left-out" }, `… ${count(left.left_out, "more chain")}`)), this.inspector),
      !drawn.length && make("p", { class: "lede" }, "No chains of views."), !this.titled && this.stages].filter(Boolean));
    const last = this.chains[0]?.steps.at(-1), cells = [...last?.cells.values() ?? []], read = cells.filter(c => c.classList.contains("read"));
    const first = read[1] ?? read[0] ?? cells[0];
    if (first) this.choose(last, positionOf(first), first);
    else this.inspector.append(make("p", { class: "sub" }, "Nothing to point at."));
  }

  drawVariables() {
    if (!this.data.variables.length) return null;
    const input = v => {
      const i = make("input", { type: "number", value: this.variables.get(v.name), min: v.lo, max: v.hi, step: v.divisor, name: v.name });
      i.addEventListener("change", () => {
        if (!i.reportValidity() || !i.value) return;
        this.variables.set(v.name, BigInt(i.value));
        this.draw();
        this.element.querySelector(`input[name="${CSS.escape(v.name)}"]`).focus();
      });
      const multiple = v.divisor && v.divisor !== "1" ? `, a multiple of ${v.divisor}` : "";
      return make("label", {}, make("span", { class: "t-var" }, v.name), i, make("small", {}, `${v.lo}..${v.hi}${multiple}`));
    };
    return make("fieldset", { class: "variables", "aria-label": "sizes" }, this.data.variables.map(input));
  }

  mark(chain, address, chosen) {
    this.element.querySelectorAll(".same, .chosen").forEach(c => c.classList.remove("same", "chosen"));
    if (address !== null) {
      for (const step of chain.steps) {
        if (step.strip) step.window(address);
        step.strip?.querySelector(`[data-address="${address}"]`)?.classList.add(chosen && chosen.step === step ? "chosen" : "same");
      }
      chain.readers.get(address)?.forEach(c => c.classList.add("same"));
    }
    chosen?.cell.classList.add("chosen");
  }

  choose(step, position, cell) {
    const address = step.address(position), { chain, variables } = step;
    this.element.querySelector(".step.active")?.classList.remove("active");
    step.element.classList.add("active");
    this.mark(chain, address, { step, cell });
    const { buffer } = chain.data;
    const where = position.length ? position.map((p, i) => [i ? ", " : "", axisMark(i, `ridx${i}`), ` = ${p}`]) : "the only element";
    const masked = step.data.valid !== "True";
    const sub = address === null ? "This element reads no memory."
      : `byte ${(address * BigInt(buffer.bytes)).toLocaleString("en")} of ${buffer.name}; position [${unflatten(address, chain.shape).join(", ")}]`;
    this.inspector.replaceChildren(
      make("h2", {}, "Element"), make("p", { class: "where" }, where),
      make("div", { class: "big" }, make("span", { class: "swatch cell " + (address === null ? "padding" : "read"), style: address === null ? {} : { "--at": chain.shade(address) } }),
        make("output", { class: "address", "data-step": step.number, "data-index": position.join(",") }, address === null ? "padding" : `${address}`)),
      make("p", { class: "sub" }, sub),
      ...(masked ? [make("h3", {}, "Valid"), workTable(step.valid, position, variables, step.validCode)] : []),
      ...(address === null ? [] : [make("h3", {}, "Index, step by step"), workTable(step.index, position, variables, step.indexCode)]),
      ...viewsTable(step, position, address));
  }

  chooseAddress(chain, address) {
    this.mark(chain, address, null);
    const readers = chain.steps.map(s => [s, (chain.readers.get(address) ?? []).filter(c => s.element.contains(c))]).filter(([, c]) => c.length);
    this.inspector.replaceChildren(make("h2", {}, "Memory cell"), make("div", { class: "big" },
      make("span", { class: "swatch cell read", style: { "--at": chain.shade(address) } }), make("output", { class: "address" }, `${address}`)),
    make("p", { class: "sub" }, `byte ${(address * BigInt(chain.data.buffer.bytes)).toLocaleString("en")} of ${chain.data.buffer.name}; position [${unflatten(address, chain.shape).join(", ")}]`),
    make("h3", {}, "Read by"), make("table", { class: "work" }, make("tbody", {}, readers.length ? readers.map(([s, cells]) =>
      make("tr", {}, make("td", {}, `${s.number}`), make("td", {}, (s.data.operation ?? "in memory").split(" ")[0]),
        make("td", { style: { "font-weight": 400 } }, cells.slice(0, 8).map(c => `(${positionOf(c).join(", ")})`).join(" "), cells.length > 8 ? ` … ${cells.length - 8} more` : "")))
      : make("tr", {}, make("td", {}, ""), make("td", {}, "no element that is shown")))));
  }
}

/* Some value that a variable may have: small, but not so small that nothing can be seen. */
function firstValue(v) {
  const divisor = BigInt(v.divisor ?? 1), lo = v.lo === null ? 1n : BigInt(v.lo), hi = v.hi === null ? lo + 64n : BigInt(v.hi);
  let value = lo > 4n ? lo : 4n;
  value = (value + divisor - 1n) / divisor * divisor;
  return value <= hi ? value : hi / divisor * divisor;
}

/* ------------------------------------------------------------------------------------------------- stages */
const TINTED = 1 << 16;   // characters beyond which code is plain
const CODE = /(ridx\d+)|((?:^|\s)#.*$|;.*$)|\b(graph|kernel|index|range|for|in|load|store|reduce|over|return|if|else|with|next|thread|vector|unroll|serial|reads|fuses|define|ret|br|phi)\b/gm;
function tinted(source) {
  if (source.length > TINTED) return [source];
  const parts = [];
  let at = 0;
  for (const m of source.matchAll(CODE)) {
    parts.push(source.slice(at, m.index), m[1] ? axisMark(+m[1].slice(4), m[1]) : make("span", { class: m[2] ? "k-note" : "k-word" }, m[0]));
    at = m.index + m[0].length;
  }
  return [...parts, source.slice(at)];
}

let stageCount = 0;
function drawStages(data) {
  const id = `stages${stageCount++}`;
  const tab = (s, i) => make("button", { type: "button", role: "tab", id: `${id}-${s.name}`, "aria-controls": `${id}-panel`, "aria-selected": i === 0, tabindex: i ? -1 : 0 }, s.name);
  const tabs = data.stages.map(tab), panel = make("div", { class: "stage", role: "tabpanel", id: `${id}-panel` });
  const select = i => {
    const s = data.stages[i];
    tabs.forEach((t, k) => { t.setAttribute("aria-selected", k === i); t.tabIndex = k === i ? 0 : -1; });
    panel.setAttribute("aria-labelledby", tabs[i].id);
    panel.replaceChildren(make("p", {}, s.says[0].toUpperCase() + s.says.slice(1) + "."), s.error ? make("p", { class: "failed" }, s.error) : "",
      make("pre", { tabindex: 0 }, make("code", {}, tinted(s.text))), s.left_out ? make("p", { class: "more" }, `… ${count(s.left_out, "more line")}: viewfold dump --stage=${s.name}`) : "");
  };
  tabs.forEach((t, i) => {
    t.addEventListener("click", () => select(i));
    t.addEventListener("keydown", e => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!step) return;
      const next = (i + step + tabs.length) % tabs.length;
      select(next);
      tabs[next].focus();
    });
  });
  if (tabs.length) select(0);
  return make("section", { class: "stages", "aria-label": "stages of compilation" }, make("div", { class: "tabs", role: "tablist" }, tabs), panel);
}

/* ------------------------------------------------------------------------------------------------- the page */
const DATA = JSON.parse(document.getElementById("data").textContent);
const many = DATA.graphs.length > 1 || !/\[/.test(DATA.source);
document.body.append(make("div", { class: "page" },
  make("header", {}, make("p", { class: "brand" }, make("b", {}, "viewfold"), " show"), make("h1", {}, DATA.source),
    make("p", { class: "lede" }, "Where each element lies in memory. A colour is an address, so elements that share a colour share a cell; hatched elements are padding. Point at an element, or use the arrow keys.")),
  make("main", {}, DATA.graphs.map(g => new Graph(g, many).element))));
