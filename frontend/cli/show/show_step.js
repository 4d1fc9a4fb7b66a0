/* One step of a chain: its expression, strides, elements, memory and rewrites. */

const DATA = JSON.parse(document.getElementById("data").textContent);

/* ---------------------------------------------------------------------------------------------- elements of HTML */
function make(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (key === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value);
  }
  e.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return e;
}
const td = (...children) => make("td", {}, ...children);
const tr = (...children) => make("tr", {}, ...children);
const column = text => make("th", { scope: "col" }, text);
const paragraph = (name, ...children) => make("p", { class: name }, ...children);
const span = (name, ...children) => make("span", { class: name }, ...children);

const HUES = [255, 45, 150, 330, 195, 95, 300, 15];
const axisMark = (axis, text) => make("span", { class: "t-axis", style: { "--hue": HUES[axis % HUES.length] } }, text);
const digits = n => Number(n).toLocaleString("en");
const count = (n, one, many) => `${digits(n)} ${n == 1 ? one : many ?? one + "s"}`;
const more = (n, of) => `… ${digits(n)} more${of ? ` ${of}${n == 1 ? "" : "s"}` : ""}`;

/* ---------------------------------------------------------------------------------------------- expressions */
const LONG = 4000;   // a longer expression, in tokens, is plain text

function tokenClass(token, before) {
  if (token.kind === "number") return "t-number";
  const known = Object.hasOwn(CALLS, token.text) || token.text === "True" || token.text === "False";
  if (token.kind === "word") return known ? "t-word" : "t-var";
  if (/^[()[\],]$/.test(token.text)) return "t-paren";
  const infix = before && (before.kind !== "sign" || before.text === ")" || before.text === "]");
  return infix ? "t-op" : "t-sign";
}

function showExpression(text) {
  const code = make("code", { class: "expression" + (text.length > 400 ? " long" : "") });
  let tokens = null;
  try { tokens = tokensOf(text); } catch { /* a truncated expression */ }
  if (!tokens || tokens.length > LONG) {
    code.textContent = text;
    return code;
  }
  tokens.forEach((t, i) => {
    code.append(t.kind === "axis" ? axisMark(+t.text.slice(4), t.text) : span(tokenClass(t, tokens[i - 1]), t.text));
    if (i % 4 === 3 || t.text === ")") code.append(make("wbr", {}));
  });
  return code;
}

/* Highlight the tokens of an operation. */
function light(code, spans) {
  const tokens = [...code.children].filter(c => c.localName !== "wbr");
  tokens.forEach((t, i) => t.classList.toggle("lit", spans.some(([a, b]) => a <= i && i <= b)));
}

const formulas = (valid, indexCode, validCode) => make("dl", { class: "formulas" },
  make("dt", {}, "index"), make("dd", {}, indexCode),
  valid !== "True" && [make("dt", {}, "valid"), make("dd", {}, validCode)]);

/* ---------------------------------------------------------------------------------------------- parts of shapes */
const COLUMNS = 16, ROWS = 10, INNER_ROWS = 6, PANELS = 6, STRIP = 192, STRIP_ROWS = 6, STRIP_COLUMNS = 20;
const BUDGET = 1 << 20;   // most operations that are executed to find the addresses that are read

/* How many cells of that many digits fit into that many pixels: from 6 to `most`. */
function fitting(digitCount, pixels, most) {
  const cell = Math.max(31, digitCount * 8.2 + 13) + 2;
  return Math.max(6, Math.min(most, Math.floor(pixels / cell)));
}

/* The indices of an axis that are shown: all, or the first and the last ones with {gap} between them. */
function shown(size, most) {
  const run = (from, length) => Array.from({ length }, (_, i) => from + BigInt(i));
  if (size <= BigInt(most)) return run(0n, Number(size));
  const tail = Math.max(1, Math.floor(most / 4)), head = most - tail - 1;
  return [...run(0n, head), { gap: size - BigInt(head + tail) }, ...run(size - BigInt(tail), tail)];
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
const places = (position, sign) => position.map((p, i) => `ridx${i}${sign}${p}`).join(", ") || "the only element";

/* ---------------------------------------------------------------------------------------------- the step */
class Step {
  constructor(chain, data, number) {
    this.chain = chain, this.data = data, this.number = number;
    this.index = data.index === undefined ? null : expression(data.index);
    this.valid = data.valid === undefined ? null : expression(data.valid);
    this.variables = chain.graph.variables;
    const value = text => expression(text).value([], this.variables), all = list => list?.map(value);
    this.shape = all(data.shape);
    this.views = (data.views ?? []).map(v => (
      { shape: all(v.shape), strides: all(v.strides), offset: value(v.offset), begin: all(v.begin), end: all(v.end) }));
    this.cells = new Map();      // position -> cell
  }

  address(position) {
    if (!this.index || this.valid.value(position, this.variables) !== true) return null;
    return this.index.value(position, this.variables);
  }

  draw() {
    const { data } = this, { buffer } = this.chain.data, named = data.name && data.operation ? data.name + ": " : "";
    const summary = make("summary", {}, span("number", `${this.number}`),
      make("h3", {}, data.operation ?? this.chain.title),
      make("code", { class: "type" }, `${named}${buffer.dtype}[${data.shape.join(",")}]`));
    this.details = make("details", { ontoggle: () => this.details.open && this.fill() }, summary);
    this.element = make("article", { class: "step", "data-step": this.number }, this.details);
    if (this.index) {
      this.indexCode = showExpression(data.index);
      this.validCode = showExpression(data.valid);
      this.element.append(formulas(data.valid, this.indexCode, this.validCode));
    } else {
      this.element.append(paragraph("no-views", `No index expression: ${data.no_index}.`));
    }
    return this.element;
  }

  /* Draw the pictures, when the step is opened for the first time. */
  fill() {
    if (this.filled || !this.index) return;
    this.filled = true;
    this.read();
    const pictures = make("div", { class: "pictures" }, this.drawElements(), this.drawMemory());
    this.element.append(make("div", { class: "body" }, this.drawViews(), pictures, this.drawRewrites()));
  }
  open() {
    this.details.open = true;
    this.fill();
  }

  /* Find the addresses that are read, if the elements are few enough to enumerate. */
  read() {
    this.total = product(this.shape), this.addresses = new Set(), this.padding = 0;
    this.counted = this.total * BigInt(this.index.nodes.length + this.valid.nodes.length) <= BigInt(BUDGET);
    for (let i = 0n; this.counted && i < this.total; i++) {
      const at = this.address(unflatten(i, this.shape));
      if (at === null) this.padding++;
      else this.addresses.add(at);
    }
  }

  drawViews() {
    if (!this.views.length) return paragraph("no-views", `No strides: ${this.data.no_views}.`);
    const many = this.views.length > 1, masked = this.views.some(v => v.begin);
    const rows = this.data.views.map((v, i) => {
      const own = i === this.views.length - 1;   // its axes are those of the result
      const entry = (k, x) => own ? axisMark(k, `${x}`) : `${x}`;
      const tuple = list => ["(", list.map((x, k) => [k ? ", " : "", entry(k, x)]), ")"];
      const mask = v.begin ? v.begin.map((b, k) => [k ? " × " : "", entry(k, `${b}..${v.end[k]}`)]) : "none";
      return tr(many && td(`V${i + 1}`), td(tuple(v.shape)), td(tuple(v.strides)), td(v.offset),
        masked && td(mask));
    });
    const head = [many && "view", "shape", "strides", "offset", masked && "mask, half-open"].filter(Boolean);
    return make("div", { class: "scroll views" }, make("table", { class: "views" },
      make("thead", {}, tr(head.map(column))), make("tbody", {}, rows)));
  }

  /* elements */

  cell(position) {
    const address = this.address(position), inside = address !== null, name = position.join(",");
    const choose = () => this.chain.graph.choose(this, position, cell);
    const cell = make("td", {
      class: inside ? "cell read" : "cell padding", role: "gridcell", tabindex: this.cells.size ? -1 : 0,
      "data-index": name, "aria-label": `${places(position, "=")}: ${inside ? "address " + address : "padding"}`,
      style: inside ? { "--at": this.chain.shade(address) } : {}, onmouseenter: choose, onfocus: choose,
    }, inside ? `${address}` : "·");
    this.cells.set(name, cell);
    if (inside) this.chain.remember(address, cell);
    return cell;
  }

  /* A matrix of the last two axes at the given indices of the outer axes; null stands for a missing axis. */
  matrix(outer) {
    const rank = this.shape.length, k = outer.length, most = fitting(this.chain.digits, 620, COLUMNS);
    const rows = rank - k >= 2 ? shown(this.shape[k], k ? INNER_ROWS : ROWS) : [null];
    const columns = rank > k ? shown(this.shape[rank - 1], most) : [null];
    const title = c => c?.gap ? make("th", { class: "cell gap", scope: "col" }, more(c.gap))
      : c !== null && column(`${c}`);
    const at = (r, c) => c?.gap ? make("td", { class: "cell gap" }, "…")
      : this.cell([...outer, r, c].filter(x => x !== null));
    const line = r => r?.gap
      ? tr(make("th", { class: "cell gap row", colspan: columns.length + 1, scope: "row" }, more(r.gap)))
      : tr(r !== null && make("th", { scope: "row" }, `${r}`), columns.map(c => at(r, c)));
    return make("table", { class: "elements", role: "grid" },
      make("thead", {}, tr(rows[0] !== null && td(), columns.map(title))), make("tbody", {}, rows.map(line)));
  }

  /* The directions of the two axes of each matrix. */
  directions() {
    const rank = this.shape.length, way = (k, arrow) => axisMark(k, `ridx${k} ${arrow}`);
    return rank > 0 && paragraph("axes", rank > 1 && way(rank - 2, "↓"), way(rank - 1, "→"));
  }

  panel(position) {
    if (position.gap) return paragraph("more", more(position.gap));
    const outer = unflatten(position, this.shape.slice(0, -2));
    const title = outer.map((x, i) => [i ? " " : "", axisMark(i, `ridx${i}=${x}`)]);
    return make("div", { class: "panel" }, outer.length > 0 && make("p", {}, title), this.matrix(outer));
  }

  drawElements() {
    const caption = `${count(this.total, "element")}, each with the address it reads`;
    const padding = this.padding ? `; ${count(this.padding, "is", "are")} padding` : "";
    const panels = shown(product(this.shape.slice(0, -2)), PANELS);
    const body = this.total === 0n ? paragraph("more", "no elements")
      : [this.directions(), make("div", { class: "scroll", style: { "--digits": this.chain.digits } },
        make("div", { class: "panels" }, panels.map(p => this.panel(p))))];
    return make("figure", { onkeydown: e => this.move(e) }, make("figcaption", {}, caption, padding), body);
  }

  /* An arrow key moves the focus to the nearest cell on the screen in its direction. */
  move(e) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!way || !e.target.matches("td[data-index]")) return;
    e.preventDefault();
    const here = e.target.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const cell of this.cells.values()) {
      const r = cell.getBoundingClientRect(), dx = r.x - here.x, dy = r.y - here.y, along = way[0] * dx + way[1] * dy;
      if (along < 4) continue;
      const distance = along + 4 * Math.abs(way[0] ? dy : dx);
      if (distance < least) least = distance, best = cell;
    }
    if (!best) return;
    e.target.tabIndex = -1;
    best.tabIndex = 0;
    best.focus();
  }

  /* memory */

  drawMemory() {
    const { size, shape, digits } = this.chain, last = shape.at(-1) ?? 1n;
    const most = BigInt(fitting(digits, 670, STRIP_COLUMNS));
    this.width = size <= most ? size || 1n : last > 1n && last <= most ? most / last * last : most;
    this.whole = size <= BigInt(STRIP);
    this.strip = make("div", { class: size > this.width ? "memory rows" : "memory",
      style: { "--columns": Number(this.width), "--digits": digits } });
    this.note = paragraph("more");
    this.mark = this.whole ? null : make("i", {});
    const many = this.addresses.size, read = many === Number(size) ? "all are" : count(many, "is", "are");
    this.window(0n);
    return make("figure", {},
      make("figcaption", {}, `${this.chain.memory}: ${count(size, "cell")}`,
        this.counted && `; ${read} read`),
      this.mark && make("div", { class: "extent", "aria-hidden": "true" }, this.mark),
      make("div", { class: "scroll" }, this.strip), this.note);
  }

  memoryCell(address) {
    const read = !this.counted || this.addresses.has(address);
    return make("span", { class: read ? "cell read" : "cell unread", "data-address": address,
      style: read ? { "--at": this.chain.shade(address) } : {},
      onmouseenter: () => this.chain.graph.chooseAddress(this.chain, address) }, `${address}`);
  }

  /* Fill the strip with the cells around an address. */
  window(address) {
    const size = this.chain.size, w = this.width, most = BigInt(STRIP_ROWS) * w;
    if (this.from !== undefined && (this.whole || (address >= this.from && address < this.to))) return;
    let from = 0n, to = size;
    if (!this.whole) {
      const highest = (size + w - 1n) / w * w - most;
      from = address / w * w - BigInt(STRIP_ROWS >> 1) * w;
      from = from < 0n ? 0n : from > highest ? highest : from;
      to = from + most < size ? from + most : size;
    }
    this.from = from, this.to = to;
    this.strip.replaceChildren();
    for (let a = from; a < to; a++) {
      if (size > w && (a - from) % w === 0n) this.strip.append(span("start", `${a}`));
      this.strip.append(this.memoryCell(a));
    }
    if (this.whole) return;
    const percent = x => `${Number(x * 10000n / size) / 100}%`;
    const before = from > 0n && `… ${digits(from)} before`, after = to < size && more(size - to);
    this.note.textContent = [before, after].filter(Boolean).join("; ");
    this.mark.style.left = `min(${percent(from)}, 100% - 4px)`;
    this.mark.style.width = percent(to - from);
  }

  /* rewrites */

  drawRewrites() {
    const { rewrites } = this.data, left = this.data.more, rules = [...new Set(rewrites.map(r => r.rule))];
    if (!rewrites.length) return paragraph("no-rewrites", "No rule had to fire.");
    const names = rules.slice(0, 6).join(", ") + (rules.length > 6 ? ", …" : "");
    const details = make("details", {
      ontoggle: () => {
        if (details.childElementCount > 1) return;
        details.append(this.rewriteTable());
        if (left) details.append(paragraph("more", more(left, "rewrite")));
      },
    }, make("summary", {}, `${count(rewrites.length + left, "rewrite")} by ${count(rules.length, "rule")}: ${names}`));
    return details;
  }

  rewriteTable() {
    const rows = new Map(), { raw } = this.data;
    for (const r of this.data.rewrites) {
      const key = JSON.stringify([r.rule, r.before, r.after]);
      rows.set(key, { ...r, times: (rows.get(key)?.times ?? 0) + 1 });
    }
    const first = raw.index !== undefined && tr(
      td(make("code", {}, "as recorded"), make("small", {}, "before any folding")),
      td(showExpression(raw.index), raw.valid !== "True" && make("div", {}, "valid ", showExpression(raw.valid))));
    const line = r => {
      const rule = DATA.rules[r.rule], condition = rule?.condition ? `  if ${rule.condition}` : "";
      return make("tr", { title: rule && `${rule.left} => ${rule.right}${condition}` },
        td(make("code", {}, r.rule), r.times > 1 && span("times", ` ×${r.times}`),
          rule && make("small", {}, rule.reason)),
        td(showExpression(r.before), span("arrow", " → "), showExpression(r.after)));
    };
    return make("table", { class: "rewrites" }, make("thead", {}, tr(column("rule"), column("rewrote"))),
      make("tbody", {}, first, [...rows.values()].map(line)));
  }
}
