/* Boxes that stand beside one another in great number, folded into one: parameters that the same boxes read, results that one
   box makes, operations that read and are read by the same; and what else would be a band rather than a picture. */

const MANY = 8;        // small boxes beside one another: about as many as are legible in a frame of 600 pixels
const CROWDS = 4;      // boxes that leaves become, which stand where they are read: as many are legible
const ENDS = 2;        // boxes that results become: they stand in one row
const FEW = 2;         // leaves that are no crowd
const TALL = 48;       // boxes of one level: with as many it is four frames high

/* The groups of a list by the first of the keys that leaves at most `most` boxes, where groups of up to `few` stay as they
   are, or else by the last one; nothing where the list is short. */
function crowds(list, keys, few, most) {
  if (list.length <= MANY) return [];
  let groups;
  for (const key of keys) {
    groups = new Map();
    for (const x of list) groups.has(key(x)) ? groups.get(key(x)).push(x) : groups.set(key(x), [x]);
    if ([...groups.values()].reduce((n, g) => n + (g.length > few ? 1 : g.length), 0) <= most) break;
  }
  return [...groups.values()].filter(g => g.length > few);
}

/* By box of a scope: the keys of the boxes that it reads, and of those that read it. */
function neighbours(model, scope) {
  const of = new Map(scope.children.map(b => [b, { from: [], to: [] }]));
  for (const e of model.edges(scope)) {
    if (e.to) of.get(e.to).from.push(model.idOf(e.from));
    if (e.to && !e.from.port) of.get(e.from).to.push(model.idOf(e.to));
  }
  return of;
}

function gather(scope, kind, list, title, sub) {
  if (scope.parent && list.length === scope.children.filter(b => !b.hidden).length) return void (scope.inRows = kind);
  const crowd = new Box("crowd", title, null), inside = new Set(list);
  Object.assign(crowd, { parent: scope, sub, gathers: kind, inRows: kind });
  for (const b of list) b.parent = crowd, crowd.children.push(b);
  scope.children.splice(scope.children.indexOf(list[0]), 0, crowd);
  scope.children = scope.children.filter(b => !inside.has(b));
  scope.edgeList = null;
  return crowd;
}

const namesOf = list => list.slice(0, 3).map(b => (b.source ?? b.operation).name).join(", ") + (list.length > 3 ? ", …" : "");
function crowdTitle(list) {
  if (list.every(b => b.title === list[0].title)) return `${list[0].title} ×${list.length}`;
  const word = list.every(b => b.kind === "operation") ? "operation" : "part";
  return count(list.length, word);
}

function foldLeaves(model, scope, parameter, word) {
  const leaves = scope.children.filter(b => !b.hidden && b.kind === "leaf" && b.operation.isParameter === parameter);
  const near = neighbours(model, scope), keys = [b => near.get(b).to.join(), b => near.get(b).to[0], () => ""];
  for (const g of crowds(leaves, keys, FEW, CROWDS)) gather(scope, "leaf", g, count(g.length, word), namesOf(g));
}
function foldResults(model, scope) {
  const results = scope.children.filter(b => b.kind === "result"), near = neighbours(model, scope);
  for (const g of crowds(results, [b => near.get(b).from.join(), () => ""], FEW, ENDS))
    gather(scope, "result", g, count(g.length, "result"), namesOf(g));
}
const isPart = b => b.operation ? !b.operation.leaf : b.kind !== "result" && b.gathers !== "leaf" && b.gathers !== "result";
function foldTwins(model, scope) {
  const near = neighbours(model, scope), key = b => `${near.get(b).from} ${near.get(b).to}`;
  for (const g of crowds(scope.children.filter(isPart), [key], MANY, MANY))
    gather(scope, "operation", g, crowdTitle(g), summary(g.flatMap(b => b.operations)));
}
/* How many boxes there are at most beside one another, if each stands as high as its edges allow. */
function mostBeside(parts, sources) {
  const depth = new Map(), beside = new Map();
  for (const b of parts) {
    const d = sources(b).reduce((most, f) => Math.max(most, (depth.get(f) ?? -1) + 1), 0);
    depth.set(b, d), beside.set(d, (beside.get(d) ?? 0) + 1);
  }
  return Math.max(...beside.values());
}
/* Where a list of boxes is cut into MANY: near to equal lengths, where fewest edges cross. */
function cutsOf(parts, near) {
  const place = new Map(parts.map((b, i) => [b, i])), crossing = new Array(parts.length + 1).fill(0), step = parts.length / MANY;
  for (const b of parts) for (const to of near.get(b).to) for (let i = place.get(b) + 1; i <= place.get(to); i++) crossing[i]++;
  const cuts = [0], slack = Math.floor(step / 3);
  for (let k = 1; k < MANY; k++) {
    let best = Math.round(k * step);
    for (let i = best - slack; i <= Math.round(k * step) + slack; i++) if (crossing[i] < crossing[best]) best = i;
    cuts.push(best);
  }
  return [...cuts, parts.length];
}
/* Where more than MANY are beside one another, or more than TALL in all, neighbours in the list, in which operands come first,
   become one. */
function foldStretches(model, scope) {
  const parts = scope.children.filter(isPart), near = new Map(parts.map(b => [b, { from: [], to: [] }]));
  if (parts.length <= MANY || scope.inRows) return;
  for (const { from, to } of model.edges(scope)) if (near.has(from) && near.has(to)) near.get(from).to.push(to), near.get(to).from.push(from);
  const high = mostBeside(parts, b => near.get(b).from), low = mostBeside([...parts].reverse(), b => near.get(b).to);
  if (Math.min(high, low) <= MANY && parts.length <= TALL) return;
  const cuts = cutsOf(parts, near);
  for (let k = 0; k < MANY; k++) {
    const list = parts.slice(cuts[k], cuts[k + 1]);
    if (list.length < 2) continue;
    const inside = list.flatMap(b => b.operations), rows = inside.filter(o => !o.leaf).map(o => o.row + 1);
    const made = gather(scope, "operation", list, `from line ${Math.min(...rows)}`, summary(inside));
    made.inRows = null;
    foldStretches(model, made);
  }
}

/* In a box, and in all that it holds, innermost first. */
function foldCrowds(model, scope) {
  for (const b of scope.children) if (b.children.length) foldCrowds(model, b);
  if (scope.kind === "operation" || scope.children.length <= MANY) return;
  foldLeaves(model, scope, true, "parameter");
  foldLeaves(model, scope, false, "constant");
  foldResults(model, scope);
  foldTwins(model, scope);
  foldStretches(model, scope);
}

/* Values from outside that the same boxes read become one end of edges, {port, ports: all of them}. */
function foldPorts(model, edges) {
  const readers = new Map();
  for (const e of edges)
    if (e.from.port) readers.has(e.from.port) ? readers.get(e.from.port).push(e) : readers.set(e.from.port, [e]);
  const to = port => readers.get(port).map(e => model.idOf(e.to));
  const groups = crowds([...readers.keys()], [p => to(p).join(), p => to(p)[0], () => ""], FEW, CROWDS);
  const folded = new Set(groups.flat()), kept = edges.filter(e => !folded.has(e.from.port));
  for (const g of groups) {
    const from = { port: g[0], ports: g }, known = new Map();
    for (const e of g.flatMap(p => readers.get(p))) {
      if (!known.has(e.to)) known.set(e.to, { from, to: e.to, values: new Set() });
      for (const v of e.values) known.get(e.to).values.add(v);
    }
    kept.push(...known.values());
  }
  return kept;
}
