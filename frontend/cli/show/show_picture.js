/* The picture of a graph: drawn from the layout, moved and scaled, walked through with the keyboard. */

const SVG = (() => {
  const template = document.createElement("template");
  template.innerHTML = "<svg></svg>";
  return template.content.firstChild.namespaceURI;
})();
function draw(name, attributes, ...children) {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== null) e.setAttribute(key, value);
  e.append(...children.flat(Infinity).filter(c => c));
  return e;
}

const KINDS = [   // of operations, by their words
  ["product", /^(matmul|einsum|dot|conv|contract|.*attention.*)/], ["reduction", /^(sum|mean|max|min|prod|any|all|arg\w+|cum\w+|sort|softmax|log_softmax|.*norm.*|var|std)$/],
  ["view", /^(reshape|expand|permute|shrink|pad|stride|flip|concat|stack|squeeze|unsqueeze|transpose|slice|window|broadcast\w*|split)$/],
  ["index", /^(gather|scatter\w*|take\w*|one_hot|write\w*)/], ["control", /^(cond|while|scan|custom|checkpoint)/],
];
const kindOf = o => o.leaf ? "leaf" : KINDS.find(([, words]) => words.test(o.word))?.[0] ?? "plain";

const MOST_SCALE = 3, LEAST_SCALE = 0.02, LEGIBLE = 0.5;

class Picture {
  constructor(view) {
    this.view = view, this.model = view.model;
    this.scene = draw("g", {});
    this.svg = draw("svg", { class: "picture", role: "group", tabindex: 0,
      "aria-label": "picture of the graph; arrow keys go from box to box, Enter chooses, space folds" }, this.scene);
    this.x = this.y = 0, this.scale = 1;
    this.boxes = new Map();   // box -> its element
    this.listen();
  }

  /* drawing */

  draw() {
    this.boxes.clear();
    const laid = layOut(this.model, this.model.root);
    this.size = laid;
    this.scene.replaceChildren(this.scope(laid));
    this.move();
  }
  scope(laid) {
    const edges = laid.lines.map(e => this.edge(e)), boxes = laid.placed.map(p => p.port ? this.port(p) : this.box(p));
    return draw("g", {}, edges, boxes, this.labels(laid));
  }
  edge(e) {
    const path = draw("path", { d: curve(e.points), class: "edge" });
    path.dataset.from = this.model.idOf(e.from), path.dataset.to = this.model.idOf(e.to);
    return path;
  }
  /* The shapes on edges: once for each value that leaves a box, at the first edge that carries it and has a place beside it
     where no box and no other shape is. */
  labels(laid) {
    const said = new Set(), taken = laid.placed.map(p => ({ ...p }));
    return laid.lines.map(e => {
      const [value] = e.values, from = e.from.port ? null : this.model.idOf(e.from);
      const text = e.values.size > 1 ? count(e.values.size, "value") : value.sizes;
      if (!from || said.has(from + text)) return null;
      const place = placeBeside(e.points, text.length * CHAR * 0.86, taken, laid.width);
      if (!place) return null;
      said.add(from + text), taken.push(place);
      return draw("text", { class: "shape", x: place.x, y: place.y + SHAPE_HEIGHT - 2 }, text);
    });
  }
  port({ x, y, width, height, port, ports, label }) {
    const g = draw("g", { class: "port", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
      draw("rect", { width, height, rx: height / 2 }),
      draw("text", { x: width / 2, y: height / 2 + 4, "text-anchor": "middle" }, label));
    g.addEventListener("click", event => { event.stopPropagation(), ports ? this.view.describePorts(ports) : this.view.choose(port); });
    return g;
  }
  box(p) {
    const { box, x, y, width, height, inner } = p, o = box.operation, lines = [];
    const kind = o ? kindOf(o) : box.kind, round = kind === "leaf" || kind === "result";
    if (!inner && box.foldable) for (const d of box.kind === "run" ? [6, 3] : [3])
      lines.push(draw("rect", { class: "stack", x: d, y: d, width, height, rx: 7 }));
    lines.push(draw("rect", { class: "shell", width, height, rx: round ? height / 2 : 7 }));
    const left = inner || box.foldable, at = left ? PAD : width / 2, anchor = left ? "start" : "middle";
    const first = inner ? 17 : subtitle(box) ? 18 : height / 2 + 4.5;
    lines.push(draw("text", { class: "title", x: at, y: first, "text-anchor": anchor }, title(box)));
    if (!inner && subtitle(box))
      lines.push(draw("text", { class: "sub", x: at, y: first + 15, "text-anchor": anchor }, subtitle(box)));
    if (box.foldable) {
      const sign = draw("g", { class: "sign" }, draw("rect", { x: width - 21, y: 4, width: 17, height: 17, rx: 4 }),
        draw("path", { d: `M${width - 16} 12.5h7` + (inner ? "" : `m-3.5 -3.5v7`) }));
      sign.addEventListener("click", event => { event.stopPropagation(), this.view.toggle(box); });
      lines.push(sign);
    }
    if (inner) lines.push(draw("g", { transform: `translate(${((width - inner.width) / 2).toFixed(1)} ${HEAD})` },
      this.scope(inner)));
    const g = draw("g", { class: `box ${kind}${inner ? " open" : ""}`, role: "button", tabindex: -1,
      "aria-label": this.spoken(box), "aria-expanded": box.foldable ? String(!!inner) : null,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, lines);
    g.dataset.id = this.model.idOf(box);
    g.box = box;
    const heat = this.view.heat(box);
    if (heat !== null) g.style.setProperty("--heat", heat.toFixed(3)), g.classList.add("hot");
    g.addEventListener("click", event => { event.stopPropagation(), this.view.chooseBox(box); });
    g.addEventListener("dblclick", event => { event.stopPropagation(), box.foldable && this.view.toggle(box); });
    this.boxes.set(box, { element: g, width, height });
    return g;
  }
  spoken(box) {
    const o = box.operation;
    const what = o ? `${o.name}, ${o.statement || "parameter"}, ${o.type}` : `${box.title}: ${box.holds}`;
    return box.note ? `${what}; ${box.note}` : what;
  }

  /* marks */

  mark(boxes, hits) {
    for (const [box, { element }] of this.boxes) {
      element.classList.toggle("chosen", boxes.includes(box));
      element.classList.toggle("hit", hits.has(box));
    }
    const ids = new Set(boxes.map(b => this.model.idOf(b)));
    for (const path of this.scene.querySelectorAll(".edge"))
      path.classList.toggle("near", ids.has(path.dataset.from) || ids.has(path.dataset.to));
  }

  /* moving */

  move() {
    this.scene.setAttribute("transform", `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(4)})`);
    this.svg.classList.toggle("far", this.scale < 0.45);
  }
  zoom(factor, cx, cy) {
    const { width, height } = this.svg.getBoundingClientRect();
    cx ??= width / 2, cy ??= height / 2;
    const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, this.scale * factor)), by = scale / this.scale;
    this.x = cx - (cx - this.x) * by, this.y = cy - (cy - this.y) * by, this.scale = scale;
    this.move();
  }
  /* All of it; or, where that would be too small to read, its top. */
  fit(whole) {
    const { width, height } = this.svg.getBoundingClientRect();
    const both = Math.min(width / this.size.width, height / this.size.height, 1.15);
    this.scale = whole ? Math.max(both, LEAST_SCALE) : Math.max(both, Math.min(0.75, Math.max(LEGIBLE, width / this.size.width)));
    this.x = (width - this.size.width * this.scale) / 2;
    this.y = Math.max(0, (height - this.size.height * this.scale) / 2);
    if (!whole && this.size.width * this.scale > width) {   // the first box in the middle
      const first = this.svg.querySelector(".box"), r = first?.getBoundingClientRect(), s = this.svg.getBoundingClientRect();
      this.move();
      if (r) this.x += s.x + width / 2 - first.getBoundingClientRect().x - first.getBoundingClientRect().width / 2;
    }
    this.move();
  }
  /* Moves the picture so that a box is in view. */
  show(box) {
    const known = this.boxes.get(box);
    if (!known) return;
    const s = this.svg.getBoundingClientRect(), margin = 40;
    if (this.scale < 0.5) this.zoom(0.8 / this.scale);
    const r = known.element.querySelector(".shell").getBoundingClientRect();
    const inside = (a, b, from, to) => a >= from + margin && b <= to - margin;
    if (!inside(r.left, r.right, s.left, s.right)) this.x += s.left + s.width / 2 - (r.left + r.width / 2);
    if (!inside(r.top, r.bottom, s.top, s.bottom))
      this.y += r.height > s.height ? s.top + margin - r.top : s.top + s.height / 2 - (r.top + r.height / 2);
    this.move();
  }

  listen() {
    const pointers = new Map();
    let moved = 0;
    const middle = () => { const p = [...pointers.values()]; return { x: (p[0].x + p.at(-1).x) / 2, y: (p[0].y + p.at(-1).y) / 2,
      apart: Math.hypot(p[0].x - p.at(-1).x, p[0].y - p.at(-1).y) }; };
    this.svg.addEventListener("pointerdown", e => { pointers.set(e.pointerId, { x: e.clientX, y: e.clientY }), moved = 0; });
    this.svg.addEventListener("pointermove", e => {
      if (!pointers.has(e.pointerId)) return;
      const before = middle();
      pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
      const after = middle(), r = this.svg.getBoundingClientRect();
      moved += Math.abs(after.x - before.x) + Math.abs(after.y - before.y);
      if (moved > 4) this.svg.setPointerCapture(e.pointerId);
      this.x += after.x - before.x, this.y += after.y - before.y;
      if (pointers.size > 1 && before.apart > 0) this.zoom(after.apart / before.apart, after.x - r.x, after.y - r.y);
      else this.move();
    });
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, e => pointers.delete(e.pointerId));
    this.svg.addEventListener("click", e => { if (moved > 4) e.stopPropagation(); }, true);
    this.svg.addEventListener("wheel", e => {
      const r = this.svg.getBoundingClientRect();
      if (!e.ctrlKey && !e.metaKey && !this.svg.contains(document.activeElement)) return;   // the page scrolls
      e.preventDefault();
      this.zoom(Math.exp(-e.deltaY * 0.0016), e.clientX - r.x, e.clientY - r.y);
    }, { passive: false });
    this.svg.addEventListener("keydown", e => this.key(e));
  }

  /* the keyboard */

  key(e) {
    const box = e.target.closest?.(".box")?.box, step = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] }[e.key];
    if (step && e.shiftKey) this.x -= 80 * step[0], this.y -= 80 * step[1], this.move();
    else if (step) this.focus(box ? this.neighbour(box, step) : this.view.chosenBox() ?? [...this.boxes.keys()][0]);
    else if (e.key === "Enter" && box) this.view.chooseBox(box);
    else if (e.key === " " && box?.foldable) this.view.toggle(box);
    else if (e.key === "+" || e.key === "=") this.zoom(1.25);
    else if (e.key === "-") this.zoom(0.8);
    else if (e.key === "0") this.fit(true);
    else return;
    e.preventDefault();
  }
  focus(box) {
    const known = this.boxes.get(box);
    if (!known) return;
    known.element.focus({ preventScroll: true });
    this.show(box);
  }
  /* The box nearest in a direction, where what lies aside counts twice. */
  neighbour(box, [dx, dy]) {
    const centre = b => { const r = this.boxes.get(b).element.querySelector(".shell").getBoundingClientRect(); return [r.x + r.width / 2, r.y + (r.height > 200 ? 20 : r.height / 2)]; };
    const [x, y] = centre(box);
    let best = null, least = Infinity;
    for (const other of this.boxes.keys()) {
      if (other === box) continue;
      const [ox, oy] = centre(other), along = (ox - x) * dx + (oy - y) * dy, aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (along > 2 && along + 2 * aside < least) best = other, least = along + 2 * aside;
    }
    return best ?? box;
  }
}
