/* A graph to look around in: the picture, an outline of the same, what is chosen, and the stages of compilation. Each
   choice is a step of the browser's history, so that its Back leads back. */

const HITS = 40;   // rows of a search that are listed

const significant = x => x >= 1000 ? digits(Math.round(x)) : x.toPrecision(3);

/* "f32[64] ×12, f32[64,64] ×4, …" */
function byType(values) {
  const times = new Map();
  for (const { type } of values) times.set(type, (times.get(type) ?? 0) + 1);
  const types = [...times].sort((a, b) => b[1] - a[1]), shown = types.slice(0, 4).map(([t, n]) => n > 1 ? `${t} ×${n}` : t).join(", ");
  return shown + (types.length > 4 ? ", …" : "");
}

class Network {
  constructor(graph, data, prefix) {
    this.graph = graph, this.data = data, this.prefix = prefix;
    this.model = new Model(data);
    this.colour = "kind";
    this.hits = new Set();
    this.stages = new Stages(data, (stage, row) => this.chooseRow(stage, row));
    this.picture = typeof dagre === "undefined" ? null : new Picture(this);
    this.details = make("aside", { class: "details", "aria-label": "what is chosen", "aria-live": "polite" });
    this.outline = make("ul", { role: "tree", class: "outline", "aria-label": "outline of the graph", onkeydown: e => this.outlineKey(e) });
    const side = make("details", { class: "side", open: innerWidth > 980 ? "" : null }, make("summary", {}, "Outline"), this.outline);
    const frame = this.picture ? make("div", { class: "frame" }, this.picture.svg,
      make("div", { class: "under" }, this.legend = make("p", { class: "legend" }), this.zoomButtons()))
      : paragraph("no-picture", "This viewfold was built without the library that lays out pictures (node-dagre-layout); the outline has all of it.");
    this.element = make("section", { class: "network", "aria-label": "the whole graph" }, this.bar(),
      make("div", { class: "looks" }, side, frame, this.details));
    this.drawOutline();
    this.chooseNothing();
  }
  /* To be called when the element is part of the page. */
  begin() {
    if (this.picture) {
      this.picture.draw();
      this.picture.fit(false);
    }
    this.drawLegend();
  }

  /* the bar above */

  bar() {
    this.found = make("span", { class: "found", role: "status" });
    this.list = make("ul", { class: "hits", role: "listbox", "aria-label": "found", hidden: "" });
    this.input = make("input", { type: "search", placeholder: "search: name, operation, type", "aria-label": "search the graph",
      oninput: () => this.search(), onkeydown: e => this.searchKey(e) });
    const choice = (label, name, options, change) => {
      const select = make("select", { name, onchange: e => change(e.target.value) }, options.map(([value, text]) => make("option", { value }, text)));
      return make("label", {}, label, select);
    };
    const heat = [["kind", "kind"], ["bytes", "bytes"]];
    if (this.data.times) heat.push(["time", "time"]);
    const folds = [["parts", "parts"], ["kernels", "parts and kernels"], ["nothing", "nothing"]];
    return make("div", { class: "bar" }, make("div", { class: "search" }, this.input, this.found, this.list),
      choice("fold by ", "fold", this.hasOrigins() ? folds : folds.filter(f => f[0] !== "kernels"), how => this.refold(how)),
      choice("colour by ", "colour", this.hasOrigins() ? heat : heat.slice(0, 1), what => { this.colour = what, this.redraw(); }),
      make("button", { type: "button", onclick: () => this.foldAll(false) }, "fold all"),
      make("button", { type: "button", onclick: () => this.foldAll(true) }, "unfold"));
  }
  hasOrigins() { return this.model.kernels.some(k => k.nodes.length); }
  zoomButtons() {
    const button = (label, says, act) => make("button", { type: "button", "aria-label": says, title: says, onclick: act }, label);
    return make("div", { class: "zoom" }, button("+", "larger", () => this.picture.zoom(1.3)),
      button("−", "smaller", () => this.picture.zoom(1 / 1.3)), button("⤢", "all of it", () => this.picture.fit(true)));
  }

  search() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(w => w);
    const says = o => `${o.name} ${o.word} ${o.type} ${o.statement}`.toLowerCase();
    const found = words.length ? this.model.operations.filter(o => this.model.boxOf.has(o) && words.every(w => says(o).includes(w))) : [];
    this.matches = found;
    this.hits = new Set();
    for (const o of found) for (let b = this.model.boxOf.get(o); b; b = b.parent) this.hits.add(b);
    this.hits.delete(this.model.root);
    this.found.textContent = words.length ? `${digits(found.length)} found` : "";
    this.list.hidden = !found.length;
    this.list.replaceChildren(...found.slice(0, HITS).map(o => make("li", { role: "option", tabindex: -1, onclick: () => this.take(o) },
      make("b", {}, o.title), ` ${o.name} `, make("code", {}, o.type))));
    if (found.length > HITS) this.list.append(make("li", { class: "more" }, more(found.length - HITS)));
    this.mark();
  }
  searchKey(e) {
    if (e.key === "Escape") this.input.value = "", this.search();
    if (e.key === "ArrowDown") this.list.firstChild?.focus();
    if (e.key === "Enter" && this.matches?.length) {
      const at = this.matches.indexOf(this.chosen);
      this.take(this.matches[(at + 1) % this.matches.length]);
    }
  }
  take(o) {
    this.list.hidden = true;
    this.choose(o);
  }

  /* boxes */

  refold(how) {
    this.model.fold(how);
    this.search();
    this.redraw(true);
    this.drawOutline();
    this.mark();
  }
  toggle(box) {
    box.open = !box.open;
    const only = box.children.filter(c => !c.hidden);
    if (box.open && box.kind === "part" && only.length === 1) only[0].open = true;
    forget(box);
    this.redraw();
    this.picture?.show(box);
    this.picture?.boxes.get(box)?.element.focus({ preventScroll: true });
  }
  foldAll(open) {
    let shown = this.model.root.children.length;
    for (const row = [...this.model.root.children]; row.length;) {
      const box = row.shift();
      box.open = open && box.foldable && box.gathers !== "leaf" && box.gathers !== "result" && shown + box.children.length <= MOST_BOXES;
      if (box.open) shown += box.children.length;
      box.laid = null;
      row.push(...box.children);
    }
    this.model.root.laid = null;
    this.redraw(true);
  }
  redraw(fit) {
    this.note();
    this.picture?.draw();
    if (fit) this.picture?.fit(false);
    this.drawLegend();
    this.mark();
  }

  /* colours */

  /* Of a kernel: bytes that it moves, or nanoseconds. */
  amount(kernel) {
    return this.colour === "time" ? this.data.times?.[kernel.number] ?? 0 : Math.max(0, kernel.bytes);
  }
  /* A kernel's amount belongs to the last of its operations. */
  amountOf(box) {
    const inside = new Set(box.operations), counted = new Set();
    let sum = 0;
    for (const o of inside) for (const k of o.kernels) {
      if (counted.has(k) || !inside.has(this.model.operations[k.nodes.at(-1)])) continue;
      counted.add(k), sum += this.amount(k);
    }
    return sum;
  }
  /* What boxes say of their amounts. */
  note() {
    const all = [this.model.root];
    this.total = this.colour === "kind" ? 0 : this.model.kernels.reduce((sum, k) => sum + this.amount(k), 0);
    for (let b; (b = all.pop()); all.push(...b.children)) {
      const amount = this.total ? this.amountOf(b) : 0;
      b.share = this.total ? amount / this.total : null;
      const said = `${significant(amount / 1e6)} ${this.colour === "time" ? "ms" : "MB"}`;
      b.note = b.share ? `${said}, ${Math.round(b.share * 100)} %` : undefined;
      b.laid = null;
    }
  }
  heat(box) { return box.share ? Math.sqrt(box.share) : null; }
  drawLegend() {
    if (!this.legend) return;
    const kinds = ["product", "reduction", "view", "index", "plain", "control", "leaf"].map(k => [make("i", { class: `key ${k}` }), k === "plain" ? "elementwise" : k, " "]);
    this.legend.replaceChildren(...(this.colour === "kind" ? kinds : [make("i", { class: "key heat" }), `share of all ${this.colour === "time" ? "time" : "bytes moved"}`]).flat());
  }

  /* choosing */

  chosenBox() { return this.box ?? null; }
  chooseBox(box) {
    if (box.kind === "result") this.choose(box.source);
    else if (box.operation) this.choose(box.operation);
    else if (box.kernel) this.chooseKernel(box.kernel);
    else this.enter({ box });
  }
  choose(o) { this.enter({ operation: o }); }
  chooseKernel(kernel) { this.enter({ kernel }); }
  chooseRow(stage, row) {
    if (stage === "graph") {
      const o = this.model.byRow.get(row);
      if (o) this.choose(o);
      return;
    }
    const kernel = this.model.kernels.findLast(k => k.row <= row);
    if (kernel && row < kernel.row + this.model.linesOf(kernel).length) this.chooseKernel(kernel);
  }
  /* A choice as a step of the history. */
  enter(what) {
    const key = what.operation?.key ?? (what.kernel ? `k${what.kernel.number}` : `b${this.model.idOf(what.box)}`);
    history.pushState({ network: this.prefix, key, how: this.model.how }, "", `#${this.prefix}${key}`);
    this.place(what);
  }
  /* From the history: a key as enter made it. */
  restore(key) {
    const number = +key.slice(1);
    if (key[0] === "n" && this.model.operations[number]) this.place({ operation: this.model.operations[number] });
    else if (key[0] === "k" && this.model.kernels[number]) this.place({ kernel: this.model.kernels[number] });
    else if (key[0] === "b") {
      const all = [this.model.root];
      for (let b; (b = all.pop()); all.push(...b.children)) if (`b${b.id}` === key) return this.place({ box: b });
    } else this.chooseNothing();
  }
  place({ operation, kernel, box }) {
    const list = kernel ? kernel.nodes.map(n => this.model.operations[n]) : operation ? [operation] : [];
    this.chosen = operation ?? null;
    const boxes = box ? [box] : list.map(o => this.model.boxOf.get(o)).filter(b => b).map(b => b.hidden ? this.model.boxOf.get(b.operation.users[0]) : b);
    if (boxes.length && (!kernel || boxes.length)) {
      const closed = boxes.slice(0, 1).some(b => { for (let p = b.parent; p; p = p.parent) if (!p.open) return true; });
      this.model.reveal(boxes[0]);
      if (closed) forget(boxes[0]), this.picture?.draw(), this.drawOutline();
    }
    this.box = boxes[0];
    this.marked = boxes;
    this.mark();
    this.picture?.show(boxes[0]);
    if (kernel) this.describeKernel(kernel);
    else if (operation) this.describeOperation(operation);
    else this.describeBox(box);
    const own = kernel ?? operation?.kernels[0];
    this.stages.show({ graph: list.map(o => o.row), kernels: own?.row === undefined ? [] : [own.row], kernel: own?.number });
  }
  mark() {
    this.picture?.mark(this.marked ?? [], this.hits);
    for (const li of this.outline.querySelectorAll("li.chosen, li.hit")) li.classList.remove("chosen", "hit");
    for (const li of this.outline.querySelectorAll("li")) {
      if (this.marked?.includes(li.box)) li.classList.add("chosen");
      if (this.hits.has(li.box)) li.classList.add("hit");
    }
  }

  /* what is chosen */

  link(text, act, says) { return make("button", { type: "button", class: "link", onclick: act, title: says }, text); }
  linkTo(o) { return this.link(o.name, () => this.choose(o), o.statement || "parameter"); }
  linkToKernel(k) { return this.link(`kernel ${k.number}`, () => this.chooseKernel(k)); }
  row(label, ...content) { return [make("dt", {}, label), make("dd", {}, content)]; }
  links(list, link, most = 12) {
    return [list.slice(0, most).map((x, i) => [i ? " " : "", link.call(this, x)]), list.length > most && ` ${more(list.length - most)}`];
  }
  fill(title, ...content) {
    const back = make("button", { type: "button", class: "back", onclick: () => history.back() }, "← back");
    this.details.replaceChildren(make("div", { class: "head" }, make("h3", {}, title), history.state?.network ? back : ""), ...content.flat(Infinity).filter(c => c));
  }
  chooseNothing() {
    this.chosen = this.box = null, this.marked = [];
    const { model } = this, parts = model.root.children.filter(c => !c.hidden);
    this.fill(`graph @${this.data.name}`, make("dl", {}, this.row("operations", digits(model.root.size)), this.row("kernels", digits(model.kernels.length)),
      this.row("different", `${digits(new Set(model.kernels.map(k => k.text)).size)} functions`), this.row("boxes", digits(parts.length))),
      paragraph("sub", "Boxes with a + hold others: choose the sign, or press space on a box. Parts of one letter are alike but for sizes. "
        + "A click chooses: its line, its kernel and code are marked below; Back leads back."));
    this.mark();
    this.stages.show({});
  }
  describeOperation(o) {
    const box = this.model.boxOf.get(o), chain = this.graph.chainOf(o.number), around = [];
    for (let b = box?.parent; b?.parent; b = b.parent) around.unshift(b);
    this.fill(o.isParameter ? o.name : o.word, o.statement && make("pre", { class: "line" }, make("code", {}, tinted(`${o.name} = ${o.statement}`))),
      make("dl", {}, this.row("type", make("code", {}, o.type)), this.row("line", this.link(`${o.row + 1}`, () => this.lookAt("graph"), "in the listing")),
        o.operands.length > 0 && this.row("reads", this.links([...new Set(o.operands)].map(i => this.model.operations[i]), this.linkTo)),
        o.users.length > 0 && this.row("read by", this.links(o.users, this.linkTo)),
        o.kernels.length > 0 && this.row("computed in", this.links(o.kernels, this.linkToKernel), this.amountText(o.kernels)),
        around.length > 0 && this.row("part of", around.map((b, i) => [i ? " › " : "", this.link(b.title, () => this.chooseBox(b))])),
        chain && this.row("views", this.link("its chain of views", () => this.graph.openChain(o.number)))));
  }
  amountText(kernels) {
    const bytes = kernels.reduce((sum, k) => sum + Math.max(0, k.bytes), 0);
    return bytes > 0 ? `, ${digits(bytes)} bytes read and written` : "";
  }
  describeKernel(k) {
    const list = k.nodes.map(n => this.model.operations[n]), ns = this.data.times?.[k.number];
    const stage = i => this.link(this.stages.name(i), () => this.lookAt(this.stages.name(i)));
    this.fill(`kernel ${k.number}`, make("pre", { class: "line" }, make("code", {}, tinted(this.model.linesOf(k).join("\n")))),
      make("dl", {}, k.bytes >= 0 && this.row("bytes", `${digits(k.bytes)} read and written`), ns !== undefined && this.row("time", `${digits(ns)} ns`),
        list.length > 0 && this.row("computes", this.links(list, this.linkTo, 60)),
        this.row("look at", [1, 2, 3, 4, 5].map(i => [stage(i), " "]))));
  }
  describeBox(box) {
    const alike = [], all = [this.model.root], { gathers } = box, leaves = gathers === "leaf";
    for (let b; (b = all.pop()); all.push(...b.children)) if (box.class >= 0 && b.class === box.class && b !== box) alike.unshift(b);
    const holds = gathers === "result" ? box.children.map(b => b.source) : box.operations.filter(o => leaves || !o.leaf);
    this.fill(box.title || "part", paragraph("sub", box.size ? `${count(box.size, "operation")}: ${box.sub}` : byType(holds)),
      make("dl", {}, box.note && this.row(this.colour, box.note), alike.length > 0 && this.row("like it", this.links(alike, b => this.link(b.title, () => this.chooseBox(b)), 20)),
        this.row("holds", this.links(holds, this.linkTo, 40))),
      box.foldable && make("button", { type: "button", onclick: () => this.toggle(box) }, box.open ? "fold" : "unfold"));
  }
  describePorts(values) {
    this.fill(count(values.length, "value"), paragraph("sub", byType(values)), make("dl", {}, this.row("from outside", this.links(values, this.linkTo, 40))));
  }
  lookAt(name) {
    this.stages.select(DATA.stages.findIndex(s => s[0] === name));
    this.stages.element.scrollIntoView({ block: "nearest" });
    this.stages.panel.querySelector("pre")?.focus({ preventScroll: true });
  }

  /* the outline */

  drawOutline() { this.outline.replaceChildren(...this.items(this.model.root, 1)); this.outline.querySelector("li")?.setAttribute("tabindex", 0); }
  items(box, level) { return box.children.filter(c => !c.hidden).map(c => this.item(c, level)); }
  item(box, level) {
    const o = box.operation, li = make("li", { role: "treeitem", tabindex: -1, "aria-level": level, "aria-expanded": box.foldable ? "false" : null,
      "aria-label": o ? `${o.title} ${o.name}, ${o.type}` : `${box.title}, ${box.holds}` });
    const name = make("span", { class: "item", onclick: e => { e.stopPropagation(), this.chooseBox(box); } }, box.title, " ", make("small", {}, o && !o.isParameter ? o.name : o ? o.type : box.sub));
    const sign = box.foldable && make("span", { class: "fold", "aria-hidden": "true", onclick: e => { e.stopPropagation(), this.unroll(li, level); } }, "▸");
    li.append(make("div", {}, sign || make("span", { class: "fold" }), name));
    li.box = box;
    if (box.open && box.foldable) this.unroll(li, level);
    return li;
  }
  unroll(li, level) {
    const inner = li.querySelector(":scope > ul");
    li.setAttribute("aria-expanded", String(!inner));
    li.querySelector(".fold").textContent = inner ? "▸" : "▾";
    if (inner) inner.remove();
    else li.append(make("ul", { role: "group" }, this.items(li.box, level + 1)));
  }
  outlineKey(e) {
    const li = e.target.closest("li");
    if (!li) return;
    const all = [...this.outline.querySelectorAll("li")], at = all.indexOf(li), level = +li.getAttribute("aria-level");
    const open = li.getAttribute("aria-expanded");
    let to = null;
    if (e.key === "ArrowDown") to = all[at + 1];
    else if (e.key === "ArrowUp") to = all[at - 1];
    else if (e.key === "ArrowRight" && open === "false") this.unroll(li, level);
    else if (e.key === "ArrowRight" && open === "true") to = all[at + 1];
    else if (e.key === "ArrowLeft" && open === "true") this.unroll(li, level);
    else if (e.key === "ArrowLeft") to = li.parentElement.closest("li");
    else if (e.key === "Enter" || e.key === " ") this.chooseBox(li.box);
    else return;
    e.preventDefault(), e.stopPropagation();
    if (to) li.tabIndex = -1, to.tabIndex = 0, to.focus();
  }
}
