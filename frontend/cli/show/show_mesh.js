/* The mesh of a graph: its devices, and which part of each input, constant and result a device has. */

const GOLDEN = 137.5;       // degrees between neighbouring colours, so that no two of a row are alike
const DEVICES_DRAWN = 64;   // columns of the table; meshes have up to 2^20 devices

class Mesh {
  constructor(graph, data) {
    this.graph = graph, this.data = data;
    this.strides = data.axes.map((_, i) => data.axes.slice(i + 1).reduce((n, [, size]) => n * size, 1));
    this.devices = Array.from({ length: Math.min(data.count, DEVICES_DRAWN) }, (_, d) => d);
  }
  coordinate(device, axis) { return Math.floor(device / this.strides[axis]) % this.data.axes[axis][1]; }
  coordinates(device) { return this.data.axes.map(([name], i) => `${name}=${this.coordinate(device, i)}`).join(" "); }
  device(number) {
    const { devices, hosts } = this.data;
    return [devices[number], hosts.length > 1 && hosts[number]].filter(Boolean).join(" on ");
  }

  /* The part of a dimension of n elements: chunks of ceil(n / parts), of which the last may be shorter, or empty. Where
   * an axis has weights, it ends where its share of n does, to the nearest element. */
  range(divided, n, device) {
    let at = 0n, parts = 1n;
    if (divided.some(([axis]) => this.data.axes[axis][2])) return this.share(divided, n, device);
    for (const [axis, m, k] of divided) {
      const digit = Math.floor(this.coordinate(device, axis) / (this.data.axes[axis][1] / (m * k))) % k;
      at = at * BigInt(k) + BigInt(digit), parts *= BigInt(k);
    }
    const chunk = (n + parts - 1n) / parts, least = (a, b) => a < b ? a : b;
    return [least(at * chunk, n), least(at * chunk + chunk, n)];
  }
  share(divided, n, device) {
    let before = 0n, own = 1n, total = 1n;
    for (const [axis, m, k] of divided) {
      const [, size, weights] = this.data.axes[axis], c = this.coordinate(device, axis);
      const digit = Math.floor(c / (size / (m * k))) % k, sum = list => list.reduce((a, w) => a + BigInt(w), 0n);
      const [first, weight, all] = weights ? [sum(weights.slice(0, c)), BigInt(weights[c]), sum(weights)]
        : [BigInt(digit), 1n, BigInt(k)];
      before = before * all + own * first, own *= weight, total *= all;
    }
    return [before, before + own].map(end => (2n * n * end + total) / (2n * total));
  }
  box(value, device) {
    const sizes = value.shape.map(s => expression(s).value([], this.graph.variables));
    return sizes.map((n, d) => [...this.range(value.divided[d], n, device), n]);
  }

  /* A bar for each dimension, filled where the part lies. */
  drawPart(value, device, shades) {
    const box = this.box(value, device), text = box.map(([lo, hi]) => `${lo}:${hi}`).join(", ");
    if (!shades.has(text)) shades.set(text, shades.size);
    const percent = (a, n) => n > 0n ? Number(a * 10000n / n) / 100 : 0;
    const bars = box.map(([lo, hi, n]) => make("i", { class: hi > lo ? "bar" : "bar none", style: {
      "--from": `${percent(lo, n)}%`, "--size": `${percent(hi - lo, n)}%` } }));
    return make("td", { class: "part", "data-box": text, style: { "--hue": (HUES[0] + GOLDEN * shades.get(text)) % 360 } },
      bars, make("small", {}, box.length ? text : "a scalar"));
  }
  drawRow(value) {
    const shades = new Map();   // equal parts have one colour
    return make("tr", { "data-value": value.name },
      make("th", { scope: "row" }, make("code", {}, value.name), make("small", {}, value.kind),
        make("code", { class: "spec" }, value.spec), value.pending && make("small", {}, "summands")),
      this.devices.map(d => this.drawPart(value, d, shades)));
  }
  /* The grid: the last axis from left to right, the others from top to bottom. */
  drawGrid() {
    const across = this.data.axes.at(-1)?.[1] ?? 1, rows = [];
    for (let d = 0; d < this.devices.length; d += across)
      rows.push(tr(this.devices.slice(d, d + across).map(i => make("td", { class: "device" }, make("b", {}, `${i}`),
        make("small", {}, this.coordinates(i)), this.device(i) && make("small", {}, this.device(i))))));
    return make("table", { class: "grid", "aria-label": "devices of the mesh" }, make("tbody", {}, rows));
  }
  draw() {
    const { axes, count: all, values, error, hosts } = this.data, left = all - this.devices.length;
    const sizes = [...this.graph.variables].map(([name, size]) => `${name}=${size}`).join(", ");
    const head = tr(column("value"), this.devices.map(d => make("th", { scope: "col" }, `${d}`,
      make("small", {}, this.coordinates(d)))));
    return make("section", { class: "mesh" },
      make("h3", {}, `Mesh ${axes.map(([name, size, weights]) => `${name}=${weights?.join(":") ?? size}`).join(" × ")}: ${count(all, "device")}`
        + (hosts.length === 1 ? ` on host ${hosts[0]}` : "")),
      make("div", { class: "scroll" }, this.drawGrid()),
      left > 0 && paragraph("more", more(left, "device")),
      error ? paragraph("no-picture", error) : [
        paragraph("lede", "Who holds which part: a bar for each dimension, filled where the part lies. In a row, devices "
          + "of one colour hold the same part.", sizes && ` Here for ${sizes}.`),
        make("div", { class: "scroll" }, make("table", { class: "parts" }, make("thead", {}, head),
          make("tbody", {}, values.map(v => this.drawRow(v)))))]);
  }
}
