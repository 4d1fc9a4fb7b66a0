/* The graph of a picture: operations as the listing has them, and the boxes that hold them. */

const MOST_BOXES = 400;   // more at once are neither laid out in time nor looked at
const RUN = 4;         // neighbouring parts of one class that become a box of their own
const INLINE = 22;     // characters of what a box says about its weights

/* An operation, or a leaf: one line of the listing, or a parameter. */
class Operation {
  constructor(model, number, [name, word, row, type, leaf, operands, called]) {
    Object.assign(this, { model, number, name, row, leaf: !!leaf, operands, called, users: [], kernels: [] });
    this.word = model.data.words[word];
    this.type = model.data.types[type];
  }
  get operation() { return this; }
  get key() { return `n${this.number}`; }
  /* `exp %0`: its line without name and type; nothing for a parameter. */
  get statement() {
    const line = this.model.rows[this.row].trim(), head = `${this.name} = `;
    return line.startsWith(head) ? line.slice(head.length, line.lastIndexOf(" : ")) : "";
  }
  get sizes() { return this.type.replace(/^\w+\[/, "").replace(/\].*$/, "").replaceAll(",", "×") || "scalar"; }
  get isParameter() { return this.leaf && !this.statement; }
  get title() { return this.isParameter ? this.name : this.word; }
}

/* A box: a part, a run of parts, a function, a kernel in a part, a crowd of boxes beside one another, or one operation (that calls
   functions, if it has children). */
class Box {
  constructor(kind, title, parent) {
    Object.assign(this, { kind, title, parent, children: [], open: false, operation: null, sub: "", hidden: false });
    parent?.children.push(this);
  }
  get foldable() { return this.children.length > 0; }
  get depth() { let d = 0; for (let b = this.parent; b; b = b.parent) d++; return d; }
  * inside() {
    if (this.operation) yield this.operation;
    for (const c of this.children) yield* c.inside();
  }
  /* The operations inside, in order; leaves last. */
  get operations() { return this.list ??= [...this.inside()]; }
  get size() { return this.operations.filter(o => !o.leaf).length; }
  get holds() { return this.size ? `${count(this.size, "operation")}, ${this.sub}` : this.sub; }
  get name() { return this.operation?.name ?? this.title; }
}

const letters = n => (n >= 26 ? letters(Math.floor(n / 26) - 1) : "") + String.fromCharCode(65 + n % 26);

/* "matmul ×6, gelu_erf, …": what a part is made of, its rarest words first named. */
const PLAIN = new Set(["reshape", "expand", "permute", "unsqueeze", "squeeze", "add", "sub", "mul", "div", "shrink", "pad",
  "stride", "flip", "cast", "concat", "stack", "stored"]);
function summary(operations) {
  const times = new Map();
  for (const o of operations) if (!o.leaf) times.set(o.word, (times.get(o.word) ?? 0) + 1);
  const words = [...times].sort((a, b) => PLAIN.has(a[0]) - PLAIN.has(b[0]) || b[1] - a[1]);
  const shown = words.slice(0, 3).map(([w, n]) => n > 1 ? `${w} ×${n}` : w).join(", ");
  return shown + (words.length > 3 ? ", …" : "");
}

class Model {
  constructor(data) {
    this.data = data;
    this.rows = data.listing.split("\n");
    this.operations = data.nodes.map((n, i) => new Operation(this, i, n));
    for (const o of this.operations) for (const u of new Set(o.operands)) this.operations[u].users.push(o);
    this.main = data.blocks.at(-1);
    this.kernels = data.kernels.map(([text, bytes, nodes], number) => ({ number, text, bytes, nodes: nodes ?? [] }));
    for (const k of this.kernels) for (const n of k.nodes) this.operations[n].kernels.push(k);
    this.readKernelRows();
    this.results = this.readResults();
    this.byRow = new Map(this.operations.filter(o => !o.isParameter).map(o => [o.row, o]));
    this.fold("parts");
  }

  /* `kernel 3 -> temporary 3 f32[32,64]` begins the lines of a kernel, which end with an empty one. */
  readKernelRows() {
    this.kernelRows = this.data.kernel_listing.split("\n");
    this.kernelRows.forEach((line, row) => {
      const m = line.match(/^\s*kernel (\d+) -> /);
      if (m && this.kernels[+m[1]]) this.kernels[+m[1]].row = row;
    });
  }
  linesOf(kernel) {
    if (kernel.row === undefined) return [];
    let end = kernel.row;
    while (end < this.kernelRows.length && this.kernelRows[end].trim()) end++;
    return this.kernelRows.slice(kernel.row, end);
  }

  readResults() {
    const names = new Map();
    for (let i = this.main.first; i < this.main.end; i++) names.set(this.operations[i].name, this.operations[i]);
    const last = this.rows.findLast(r => r.startsWith("  return")) ?? "";
    return last.slice(8).split(",").map(s => s.trim()).filter(s => names.has(s)).map(s => names.get(s));
  }

  /* boxes */

  /* how: "parts" (and functions), "kernels" (in parts), "nothing" */
  fold(how) {
    this.how = how;
    this.boxOf = new Map();
    this.called = new Set(this.operations.flatMap(o => o.called));
    this.root = new Box("graph", `@${this.data.name}`, null);
    this.root.open = true;
    this.fillBlock(this.root, this.data.blocks.length - 1);
    this.placeLeaves();
    this.returned = [...new Set(this.results)].map(o => Object.assign(new Box("result", `return ${o.name}`, this.root), { source: o }));
    if (how !== "nothing" || this.root.children.length > MOST_BOXES) foldCrowds(this, this.root);
  }

  fillBlock(box, number) {
    const block = this.data.blocks[number], list = block.order.map(i => this.operations[i]);
    const parts = this.how === "nothing" ? [] : block.parts;
    const boxes = [];
    const innermost = new Array(list.length).fill(-1);
    parts.forEach(([, from, end], i) => innermost.fill(i, from, end));
    const boxOfPart = i => {
      if (i < 0) return box;
      boxes[i] ??= this.partBox(parts, i, boxOfPart(parts[i][0]));
      return boxes[i];
    };
    list.forEach((o, i) => this.operationBox(o, boxOfPart(innermost[i])));
    this.foldRuns(box);
    this.describe(box, parts, boxes);
    if (this.how === "kernels") this.groupByKernel(box);
  }
  partBox(parts, i, parent) {
    const box = new Box("part", "", parent);
    box.class = parts[i][3];
    return box;
  }
  operationBox(o, parent) {
    const box = new Box("operation", o.title, parent);
    box.operation = o;
    this.boxOf.set(o, box);
    for (const number of o.called) {
      const inner = new Box("function", this.functionName(number), box);
      this.fillBlock(inner, number);
    }
    if (o.called.length) box.sub = count(o.called.length, "function");
  }
  functionName(number) {
    const first = this.data.blocks[number].first, o = this.operations[first];
    const head = o ? this.rows.slice(0, o.row + 1).findLast(r => r.startsWith("graph @")) : "";
    return head?.match(/@[^(]*/)?.[0] ?? `function ${number}`;
  }

  /* Neighbours of one class become one box, where there are many. */
  foldRuns(box) {
    const old = box.children;
    box.children = [];
    for (let i = 0, end; i < old.length; i = end) {
      for (end = i + 1; end < old.length && old[i].class >= 0 && old[end].class === old[i].class;) end++;
      const run = end - i >= RUN && end - i < old.length ? new Box("run", "", box) : null;
      for (const b of old.slice(i, end)) {
        b.parent = run ?? box;
        b.parent.children.push(b);
        if (b.kind === "part") this.foldRuns(b);
      }
    }
  }

  /* Titles: A 3 of 40; A ×40; part 2. */
  describe(box, parts, boxes) {
    const totals = new Map(), numbers = new Map();
    for (const b of boxes) if (b?.class >= 0) totals.set(b.class, (totals.get(b.class) ?? 0) + 1);
    let pieces = 0;
    for (const b of boxes) {
      if (!b) continue;
      const number = (numbers.get(b.class) ?? 0) + 1;
      numbers.set(b.class, number);
      b.title = b.class < 0 ? `piece ${++pieces}` : `${letters(b.class)} ${number} of ${totals.get(b.class)}`;
      b.sub = summary(b.operations);
      if (b.parent.kind === "run" && !b.parent.title) {
        b.parent.title = `${letters(b.class)} ×${b.parent.children.length}`;
        b.parent.sub = summary(b.operations);
      }
    }
  }

  /* Operations of one kernel that stand side by side in a part become a box. */
  groupByKernel(box) {
    if (box.kind === "operation") return;
    const groups = new Map(), old = box.children;
    box.children = [];
    for (const b of old) {
      const k = b.kind === "operation" && !b.children.length ? b.operation.kernels[0] : undefined;
      if (!k) {
        b.parent = box, box.children.push(b);
        this.groupByKernel(b);
        continue;
      }
      let group = groups.get(k);
      if (!group) {
        groups.set(k, group = new Box("kernel", `kernel ${k.number}`, box));
        group.kernel = k;
      }
      b.parent = group, group.children.push(b);
    }
    for (const group of groups.values()) group.sub = summary(group.operations);
  }

  /* leaves */

  /* A leaf stands where all that read it stand; one that a single operation reads is part of that one's box, unless
     it is all that this reads. */
  placeLeaves() {
    for (const leaf of this.operations) {
      if (!leaf.leaf || this.boxOf.has(leaf)) continue;
      const users = leaf.users.filter(u => this.boxOf.has(u));
      if (!users.length && !leaf.isParameter) continue;
      const lone = users.length === 1 && (!leaf.isParameter || users[0].operands.some(i => !this.operations[i].leaf));
      const parent = users.length ? this.common(users.map(u => this.boxOf.get(u).parent)) : this.blockBox(leaf);
      if (!parent) continue;
      const box = new Box("leaf", leaf.title, parent);
      box.operation = leaf;
      box.hidden = lone || leaf.word === "const";
      this.boxOf.set(leaf, box);
      if (lone) this.inline(this.boxOf.get(users[0]), leaf);
    }
  }
  inline(box, leaf) {
    const said = leaf.isParameter ? leaf.name : leaf.statement.match(/name="([^"]*)"/)?.[1] ?? leaf.word;
    const short = said.length > INLINE ? "…" + said.slice(1 - INLINE) : said;
    box.sub += box.sub ? "" : short;
  }
  blockBox(o) { return o.number >= this.main.first ? this.root : null; }
  common(boxes) {
    const above = b => { const list = []; for (; b; b = b.parent) list.unshift(b); return list; };
    let path = above(boxes[0]);
    for (const b of boxes.slice(1)) {
      const other = above(b);
      let k = 0;
      while (k < path.length && path[k] === other[k]) k++;
      path = path.slice(0, k);
    }
    let box = path.at(-1);   // not within a run or an operation, whose children stand for themselves
    while (box?.kind === "operation" || box?.kind === "run") box = box.parent;
    return box;
  }

  /* The child of `scope` that holds the box; null if it is not inside. */
  childOf(scope, box) {
    while (box && box.parent !== scope) box = box.parent;
    return box ?? null;
  }

  /* The edges between the children of a box, and to what is outside it: [{from, to, values}], where an end may be
     {port: operation}. */
  edges(scope) {
    if (scope.edgeList) return scope.edgeList;
    const known = new Map();
    const add = (from, to, value) => {
      const key = `${this.idOf(from)} ${this.idOf(to)}`;
      if (!known.has(key)) known.set(key, { from, to, values: new Set() });
      known.get(key).values.add(value);
    };
    for (const o of scope.operations) {
      const to = this.childOf(scope, this.boxOf.get(o));
      for (const i of o.operands) {
        const value = this.operations[i], box = this.boxOf.get(value);
        if (!box || box.hidden) continue;
        const from = this.childOf(scope, box);
        if (from && from !== to) add(from, to, value);
        else if (!from && scope.parent) add({ port: value }, to, value);
      }
    }
    for (const b of scope === this.root ? this.returned : []) {
      const from = this.childOf(scope, this.boxOf.get(b.source));
      if (from) add(from, this.childOf(scope, b), b.source);
    }
    return scope.edgeList = foldPorts(this, [...known.values()]);
  }
  idOf(end) { return end.port ? `p${end.port.number}` : (end.id ??= `b${this.ids = (this.ids ?? 0) + 1}`); }

  /* Opens all that is around a box. */
  reveal(box) { for (let b = box?.parent; b; b = b.parent) b.open = true; }
}
