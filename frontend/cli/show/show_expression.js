"use strict";
/* Expressions, compiled to a list of operations in which each follows its operands. Executed in order, the list gives
   the value of the expression; displayed in order, it shows the evaluation step by step. Numbers are BigInt, since
   addresses have 64 bits; `//` rounds down. An operation without a value (a look-up outside its list, where nothing
   is read) gives null. */

function floorDiv(a, b) {
  if (b <= 0n) return null;
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}
/* precedence and function of each operator */
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

/* An operator-precedence parser with explicit stacks, since expressions nest deeply. */
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
        this.nodes.push({ args: [], from: [], ...node });
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
        const node = { op: p.op, kind: p.kind, list: p.list, apply: p.apply, args: list };
        make(p.key + " " + list, node, p.first ?? args[0].first, last);
      }
    };
    const until = open => { while (pending.length && pending[pending.length - 1].kind !== open) reduce(); };
    let operand = true;
    for (let i = 0; i < this.tokens.length; i++) {
      const { kind, text: t } = this.tokens[i];
      if (operand && kind === "number") {
        make("number " + t, { op: "number", value: BigInt(t) }, i, i);
        operand = false;
      } else if (operand && kind === "axis") {
        make(t, { op: "axis", axis: +t.slice(4) }, i, i);
        operand = false;
      } else if (operand && kind === "word" && this.tokens[i + 1]?.text === "(" && CALLS[t]) {
        pending.push({ kind: "(", call: t, first: i, count: 1 });
        i++;
      } else if (operand && kind === "word") {
        const truth = t === "True" || t === "False";
        make(t, truth ? { op: "truth", value: t === "True" } : { op: "variable", name: t }, i, i);
        operand = false;
      } else if (operand && t === "(") {
        pending.push({ kind: "(", first: i, count: 1 });
      } else if (operand && PREFIX[t]) {
        pending.push({ kind: "prefix", op: t, key: "prefix" + t, apply: PREFIX[t], rank: 9, count: 1, first: i });
      } else if (operand && t === "[") {           // [2,0,2][index]
        const first = i, list = [];
        for (i++; this.tokens[i].text !== "]"; i++) {
          const sign = this.tokens[i - 1].text === "-" ? "-" : "";
          if (this.tokens[i].kind === "number") list.push(BigInt(sign + this.tokens[i].text));
        }
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
          const { call, count, first } = open;
          pending.push({ kind: "call", op: call, key: call, apply: CALLS[call], count, first, last: i });
          reduce();
        } else {                                  // parentheses are tokens of the operation inside
          const v = values[values.length - 1], spans = this.nodes[v.at].from;
          spans[spans.length - 1] = [open.first, i];
          v.first = open.first, v.last = i;
        }
      } else if (!operand && t === "]") {
        until("[");
        const { first, list } = pending.pop();
        const apply = at => list[Number(at)] ?? null;
        pending.push({ kind: "look-up", op: "[]", key: "[" + list + "]", list, apply, count: 1, first, last: i });
        reduce();
      } else throw new Error("no expression: " + text);
    }
    while (pending.length) reduce();
    if (values.length !== 1) throw new Error("no expression: " + text);
    this.root = values[0].at;
  }

  /* The values of all nodes. position: the list of ridx0, ridx1, ..; variables: a Map. */
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
