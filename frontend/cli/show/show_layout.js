/* Where boxes and edges lie. Each open box is laid out by itself, by dagre, and is one node of the box around it; so a
   change means laying out what is around it alone. Sizes are in units of the picture, which are pixels at first. */

const CHAR = 7.25, LINE = 16, PAD = 10, HEAD = 26, TITLE_MOST = 30;

const clipped = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
const title = box => clipped(box.title, TITLE_MOST);
const subtitle = box => clipped(box.note ?? box.sub, TITLE_MOST + 8);

function boxSize(box) {
  const lines = subtitle(box) ? 2 : 1, round = box.kind === "leaf" || box.kind === "result";
  const wide = Math.max(title(box).length * CHAR, subtitle(box).length * CHAR * 0.86);
  return { width: Math.max(44, wide + 2 * PAD + (box.foldable ? 18 : 0)), height: (round ? 8 : 12) + lines * LINE };
}

/* {width, height, boxes: [{box, x, y, width, height, inner?}], ports, edges: [{points, from, to, values}]}, with x and
   y at the top left. */
function layOut(model, scope) {
  if (scope.laid) return scope.laid;
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "TB", nodesep: 22, edgesep: 10, ranksep: 34, marginx: 14, marginy: 14 });
  const shown = scope.children.filter(c => !c.hidden), ends = new Map();
  for (const box of shown) {
    const inner = box.open && box.foldable ? layOut(model, box) : null;
    const size = inner ? { width: Math.max(inner.width, boxSize(box).width), height: inner.height + HEAD } : boxSize(box);
    ends.set(model.idOf(box), { box, inner, ...size });
    g.setNode(model.idOf(box), { ...size });
  }
  const edges = model.edges(scope).filter(e => e.to && ends.has(model.idOf(e.to)));
  for (const e of edges) {
    const id = model.idOf(e.from);
    if (e.from.port && !ends.has(id)) {
      const label = clipped(e.from.port.name, 24), size = { width: label.length * CHAR * 0.86 + 14, height: 18 };
      ends.set(id, { port: e.from.port, label, ...size });
      g.setNode(id, { ...size });
    }
    if (ends.has(id)) g.setEdge(id, model.idOf(e.to), {});
  }
  dagre.layout(g);
  const place = id => {
    const end = ends.get(id), at = g.node(id);
    return { ...end, x: at.x - end.width / 2, y: at.y - end.height / 2 };
  };
  const placed = [...ends.keys()].map(place), { width, height } = g.graph();
  const lines = edges.filter(e => g.hasEdge(model.idOf(e.from), model.idOf(e.to)))
    .map(e => ({ ...e, points: g.edge(model.idOf(e.from), model.idOf(e.to)).points }));
  return scope.laid = { width: Math.max(width, 60), height: Math.max(height, 40), placed, lines };
}

/* What is around a box must be laid out again when it is opened or closed. */
function forget(box) { for (let b = box; b; b = b.parent) b.laid = null; }

/* An arrow along points: a curve, straight at the ends and quadratic between the middles, and its head. */
function curve(points) {
  const at = p => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`;
  const mid = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const tip = points.at(-1), from = points.at(-2), length = Math.hypot(tip.x - from.x, tip.y - from.y) || 1;
  const [ux, uy] = [(tip.x - from.x) / length * 5, (tip.y - from.y) / length * 5];
  const side = s => at({ x: tip.x - ux - s * uy * 0.6, y: tip.y - uy + s * ux * 0.6 });
  const head = `M${side(1)}L${at(tip)}L${side(-1)}`;
  if (points.length < 3) return `M${at(points[0])}L${at(tip)}${head}`;
  let path = `M${at(points[0])}L${at(mid(points[0], points[1]))}`;
  for (let i = 1; i < points.length - 1; i++) path += `Q${at(points[i])} ${at(mid(points[i], points[i + 1]))}`;
  return `${path}L${at(tip)}${head}`;
}
