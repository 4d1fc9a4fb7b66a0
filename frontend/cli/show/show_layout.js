/* Where boxes and edges lie. Each open box is laid out by itself, by dagre, and is one node of the box around it; so a
   change means laying out what is around it alone. Sizes are in units of the picture, which are pixels at first. */

const CHAR = 7.25, LINE = 16, PAD = 10, HEAD = 26, TITLE_MOST = 30;
const WIDE = 760, FLAT = 1.5;     // units: what a frame shows legibly; width over height that is a band rather than a picture
const STAGGERED = 500;           // boxes: a second layout of more is slow

const clipped = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
const title = box => clipped(box.title, TITLE_MOST);
const subtitle = box => clipped(box.note ?? box.sub, TITLE_MOST + 8);

function boxSize(box) {
  const lines = subtitle(box) ? 2 : 1, round = box.kind === "leaf" || box.kind === "result";
  const wide = Math.max(title(box).length * CHAR, subtitle(box).length * CHAR * 0.86);
  return { width: Math.max(44, wide + 2 * PAD + (box.foldable ? 18 : 0)), height: (round ? 8 : 12) + lines * LINE };
}

/* {width, height, placed: [{box or port, x, y, width, height, inner?}], lines: [{points, from, to, values}]}, with x and y
   at the top left. */
function layOut(model, scope) {
  if (scope.laid) return scope.laid;
  const ends = new Map();
  for (const box of scope.children.filter(c => !c.hidden)) {
    const inner = box.open && box.foldable ? layOut(model, box) : null;
    const size = inner ? { width: Math.max(inner.width, boxSize(box).width), height: inner.height + HEAD } : boxSize(box);
    ends.set(model.idOf(box), { box, inner, ...size });
  }
  return scope.laid = scope.inRows ? inRows([...ends.values()]) : inRanks(model, ends, model.edges(scope));
}

/* By dagre, along the edges. */
function inRanks(model, ends, all) {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "TB", nodesep: 22, edgesep: 10, ranksep: 34, marginx: 14, marginy: 14 });
  for (const [id, { width, height }] of ends) g.setNode(id, { width, height });
  const edges = all.filter(e => e.to && ends.has(model.idOf(e.to)));
  for (const e of edges) {
    const id = model.idOf(e.from);
    if (e.from.port && !ends.has(id)) {
      const label = e.from.ports ? count(e.from.ports.length, "value") : clipped(e.from.port.name, 24);
      const size = { width: label.length * CHAR * 0.86 + 14, height: 18 };
      ends.set(id, { ...e.from, label, ...size });
      g.setNode(id, { ...size });
    }
    if (ends.has(id)) g.setEdge(id, model.idOf(e.to), {});
  }
  dagre.layout(g);
  if (stagger(g)) dagre.layout(g);
  const placed = [...ends].map(([id, end]) => ({ ...end, x: g.node(id).x - end.width / 2, y: g.node(id).y - end.height / 2 }));
  const lines = edges.filter(e => g.hasEdge(model.idOf(e.from), model.idOf(e.to)))
    .map(e => ({ ...e, points: g.edge(model.idOf(e.from), model.idOf(e.to)).points }));
  const { width, height } = g.graph();
  return { width: Math.max(width, 60), height: Math.max(height, 40), placed, lines };
}

/* Far wider than high: what stands beside one another in the widest ranks is divided over several, by longer edges
   to what is above and below. Says whether anything was. */
function stagger(g) {
  const { width, height } = g.graph(), ranks = new Map();
  if (width < WIDE || width < FLAT * height || g.nodeCount() > STAGGERED) return false;
  for (const id of g.nodes()) {
    const y = Math.round(g.node(id).y);
    ranks.has(y) ? ranks.get(y).push(id) : ranks.set(y, [id]);
  }
  let moved = false;
  for (const rank of ranks.values()) {
    const long = rank.reduce((sum, id) => sum + g.node(id).width + 22, 0), rows = Math.ceil(Math.sqrt(long * FLAT / WIDE));
    if (long < WIDE) continue;
    rank.sort((a, b) => g.node(a).x - g.node(b).x).forEach((id, i) => {
      for (const e of g.inEdges(id)) g.setEdge(e, { minlen: 1 + i % rows }), moved = true;
      const below = g.inEdges(id).length ? rows - 1 - i % rows : i % rows;
      for (const e of g.outEdges(id)) g.setEdge(e, { minlen: 1 + below }), moved = true;
    });
  }
  return moved;
}

/* Boxes without edges among them: in rows, about twice as wide as high in all. */
function inRows(boxes) {
  const gap = 10, area = boxes.reduce((sum, b) => sum + (b.width + gap) * (b.height + gap), 0);
  const most = Math.max(...boxes.map(b => b.width), Math.sqrt(2 * area));
  let x = 14, y = 4, high = 0, width = 0;
  const placed = boxes.map(b => {
    if (x > 14 && x + b.width > most + 14) x = 14, y += high + gap, high = 0;
    const at = { ...b, x, y };
    x += b.width + gap, high = Math.max(high, b.height), width = Math.max(width, x - gap + 14);
    return at;
  });
  return { width, height: y + high + 14, placed, lines: [] };
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

const SHAPE_HEIGHT = 12;   // of the text at an edge

/* A place for a text beside an edge, {x, y, width, height} within `most` units that meets none of those taken; null: there is
   none. It is tried at the edge's begin first, and on the side to which the edge goes. */
function placeBeside(points, width, taken, most) {
  const height = SHAPE_HEIGHT, at = [{ ...points[0], y: points[0].y + 2, to: points[1] ?? points[0] }];
  for (let i = 0; i + 1 < points.length; i++) {
    const [a, b] = [points[i], points[i + 1]];
    at.push({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - height / 2, to: b });
  }
  const free = p => p.x >= 0 && p.x + width <= most && !taken.some(b => p.x < b.x + b.width + 2 && b.x < p.x + width + 2 && p.y < b.y + b.height && b.y < p.y + height);
  for (const { x, y, to } of at) {
    const sides = [x + 4, x - 4 - width];
    for (const left of to.x < x ? sides.reverse() : sides) {
      const place = { x: left, y, width, height };
      if (free(place)) return place;
    }
  }
  return null;
}
