/* The stages of compilation: listings with lines to choose, and the code of one kernel. */

const TINTED = 1 << 16;   // longer code, in characters, is not coloured
const WORDS = "graph|kernel|index|range|for|in|load|store|reduce|over|return|if|else|with|next|thread|vector|unroll"
  + "|serial|reads|fuses|define|ret|br|phi";
const CODE = new RegExp(`(ridx\\d+)|((?:^|\\s)#.*$|;.*$)|\\b(?:${WORDS})\\b`, "gm");

function tinted(source) {
  if (source.length > TINTED) return [source];
  const parts = [];
  let at = 0;
  for (const m of source.matchAll(CODE)) {
    const mark = m[1] ? axisMark(+m[1].slice(4), m[1]) : span(m[2] ? "k-note" : "k-word", m[0]);
    parts.push(source.slice(at, m.index), mark);
    at = m.index + m[0].length;
  }
  return [...parts, source.slice(at)];
}

/* A packed value: as it is, or compressed JSON in base64. */
async function unpacked(value) {
  if (typeof value !== "string") return value;
  const bytes = Uint8Array.from(atob(value), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const CHUNK = 200;   // lines of a listing that the browser lays out together, when they are in view
let groups = 0;

class Stages {
  /* choose(stage, row) is called for a line of the stages graph and kernels. */
  constructor(data, choose) {
    this.data = data, this.choose = choose, this.kernel = 0, this.at = 0;
    this.texts = Array.isArray(data.texts) ? data.texts : null;
    const id = this.id = `stages${groups++}`;
    this.panel = make("div", { class: "stage", role: "tabpanel", id });
    this.tabs = DATA.stages.map(([name], i) => make("button", {
      type: "button", role: "tab", id: `${id}-${name}`, "aria-controls": id,
      onclick: () => this.select(i), onkeydown: e => this.key(i, e.key),
    }, name));
    this.element = make("section", { class: "stages", "aria-label": "stages of compilation" },
      make("div", { class: "tabs", role: "tablist" }, this.tabs), this.panel);
    if (!this.texts) unpacked(data.texts).then(t => { this.texts = t, this.at > 1 && this.select(this.at); },
      () => { this.texts = [], this.at > 1 && this.select(this.at); });
    this.select(0);
  }
  key(i, key) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key], next = (i + step + this.tabs.length) % this.tabs.length;
    if (!step) return;
    this.select(next);
    this.tabs[next].focus();
  }
  name(i) { return DATA.stages[i][0]; }

  select(i) {
    const [name, says] = DATA.stages[i];
    this.at = i;
    this.tabs.forEach((t, k) => {
      t.setAttribute("aria-selected", k === i);
      t.tabIndex = k === i ? 0 : -1;
    });
    this.panel.setAttribute("aria-labelledby", this.tabs[i].id);
    const failed = this.data.error && i > 0 ? this.data.error : i > 3 ? this.data.code_error : null;
    this.panel.replaceChildren(paragraph("says", `${says[0].toUpperCase()}${says.slice(1)}.`),
      i > 1 && this.data.kernels.length > 1 ? this.chooser() : "", failed ? paragraph("failed", failed) : "",
      i < 2 ? this.listing(i === 0 ? this.data.listing : this.data.kernel_listing, name) : this.code(i));
    this.mark();
  }
  code(i) {
    const [text] = this.data.kernels[this.kernel] ?? [], entry = this.texts?.[text];
    const source = entry ? entry[i - 1] : this.texts ? "" : "…";
    return make("pre", { tabindex: 0 }, make("code", {}, tinted(source)));
  }
  chooser() {
    const options = this.data.kernels.map((k, number) => make("option", { value: number, selected: number === this.kernel ? "" : null }, `kernel ${number}`));
    const select = make("select", { onchange: () => { this.kernel = +select.value, this.select(this.at); } }, options);
    const like = this.data.kernels.filter(k => k[0] === this.data.kernels[this.kernel]?.[0]).length;
    return make("p", { class: "of-kernel" }, make("label", {}, "of ", select),
      like > 1 && ` One function with ${count(like - 1, "other kernel")}.`);
  }
  listing(text, stage) {
    const lines = text.split("\n"), chunks = [], plain = text.length > 4 * TINTED;
    if (lines.at(-1) === "") lines.pop();
    for (let from = 0; from < lines.length; from += CHUNK) {
      const rows = lines.slice(from, from + CHUNK).map((line, i) => {
        const row = make("span", { class: "row" }, plain ? line : tinted(line), "\n");
        row.dataset.row = from + i;
        return row;
      });
      chunks.push(make("code", { class: "chunk", style: { "--lines": rows.length } }, rows));
    }
    const pick = e => {
      const row = e.target.closest(".row");
      if (row && !getSelection().toString()) this.choose(stage, +row.dataset.row);
    };
    return make("pre", { tabindex: 0, class: "lines", onclick: pick }, chunks);
  }

  /* What is chosen: {graph: rows, kernels: rows, kernel}. */
  show(chosen) {
    this.chosen = chosen;
    if (chosen.kernel !== undefined && chosen.kernel !== this.kernel) {
      this.kernel = chosen.kernel;
      if (this.at > 1) this.select(this.at);
    }
    this.mark();
  }
  mark() {
    const rows = new Set(this.chosen?.[this.name(this.at)] ?? []);
    for (const r of this.panel.querySelectorAll(".row.chosen")) r.classList.remove("chosen");
    let first = null;
    for (const row of rows) {
      const line = this.panel.querySelector(`.row[data-row="${row}"]`);
      line?.classList.add("chosen");
      first ??= line;
    }
    const pre = first?.closest("pre");
    if (pre) pre.scrollTop += first.getBoundingClientRect().top - pre.getBoundingClientRect().top - pre.clientHeight / 3;
  }
}
