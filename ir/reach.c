/* Walks over the nodes that others are made of. */
#include "node_table.h"

#include <string.h>

/* A bitmap over refs, in time proportional to what is marked. It is divided into lines of eight words (one
 * cache line); a bit in `lines` says that the line has been cleared, which happens at its first mark. A small
 * one is cleared at once. */
enum {
  LINE_WORDS = 8,
  LINE_BITS = 9, /* 2^9 refs */
  FEW_WORDS = 64 /* of a small bitmap: 4096 refs, about as many as a graph with one large kernel has */
};

typedef struct marks {
  uint64_t *lines; /* NULL: all are cleared */
  uint64_t *words; /* NULL: nothing is marked */
} marks;

static bool is_marked(const marks *m, ir_ref ref) {
  size_t line = ref >> LINE_BITS;
  return m->words && (!m->lines || m->lines[line >> 6] >> (line & 63) & 1) &&
         m->words[ref >> 6] >> (ref & 63) & 1;
}

/* False if it was marked before. */
static inline bool set_mark(const marks *m, ir_ref ref) {
  size_t line = ref >> LINE_BITS;
  uint64_t *word = &m->words[ref >> 6], bit = (uint64_t)1 << (ref & 63);
  if (m->lines && !(m->lines[line >> 6] >> (line & 63) & 1)) {
    m->lines[line >> 6] |= (uint64_t)1 << (line & 63);
    memset(m->words + line * LINE_WORDS, 0, LINE_WORDS * sizeof *word);
  } else if (*word & bit) {
    return false;
  }
  *word |= bit;
  return true;
}

/* Words for refs up to `top`: of `lines`, and of these and the bitmap. */
static size_t mark_lines(ir_ref top) { return ((size_t)top >> LINE_BITS >> 6) + 1; }
static size_t mark_words(ir_ref top) {
  return mark_lines(top) + (((size_t)top >> LINE_BITS) + 1) * LINE_WORDS;
}

static bool is_small(ir_ref top) { return top >> 6 < FEW_WORDS; }

/* few: of FEW_WORDS words, which a small bitmap takes. */
static bool marks_open(const ir_graph *g, ir_ref top, uint64_t *few, marks *out) {
  if (is_small(top)) {
    out->words = few;
    memset(few, 0, (((size_t)top >> 6) + 1) * sizeof *few);
    return true;
  }
  out->lines = ir_alloc(g->mem, mark_words(top) * sizeof *out->lines);
  if (!out->lines) return false;
  out->words = out->lines + mark_lines(top);
  memset(out->lines, 0, mark_lines(top) * sizeof *out->lines);
  return true;
}

static void marks_close(const ir_graph *g, ir_ref top, marks *m) {
  ir_free(g->mem, m->lines, mark_words(top) * sizeof *m->lines);
}

typedef struct reach {
  const ir_graph *g;
  bool inside;  /* enter functions */
  ir_ref floor; /* sources of older nodes are not followed */
  marks seen, stops;
} reach;

static ir_ref *list_word(uint64_t left, size_t word, ir_ref *out) {
  for (; left; left &= left - 1) *out++ = (ir_ref)(word * 64 + ir_lowest_bit(left));
  return out;
}

/* The marked refs, ascending. */
static void list_marked(const marks *m, ir_ref top, ir_ref *out) {
  if (!m->lines)
    for (size_t w = 0; w <= top >> 6; w++) out = list_word(m->words[w], w, out);
  for (size_t p = 0; m->lines && p < mark_lines(top); p++)
    for (uint64_t lines = m->lines[p]; lines; lines &= lines - 1) {
      size_t first = (p * 64 + ir_lowest_bit(lines)) * LINE_WORDS;
      for (size_t w = first; w < first + LINE_WORDS; w++) out = list_word(m->words[w], w, out);
    }
}

static bool list_reachable(const reach *r, ir_ref top, const ir_ref *roots, size_t n, ir_ref **out,
                           size_t *count, size_t *cap) {
  enum { FIRST = 64 /* room at first: about the nodes of a kernel */ };
  size_t listed = 0, first = top < FIRST ? top : FIRST;
  if (!ir_reserve(r->g->mem, (void **)out, cap, n > first ? n : first, sizeof **out)) return false;
  ir_ref *list = *out;
  for (size_t i = 0; i < n; i++)
    if (roots[i] && set_mark(&r->seen, roots[i])) list[listed++] = roots[i];
  for (size_t i = 0; i < listed; i++) {
    ir_ref ref = list[i];
    const ir_node *node = ir_get(r->g, ref);
    if ((node->op == IR_OP_FUNC && !r->inside) || ref < r->floor || is_marked(&r->stops, ref)) continue;
    if (*cap - listed < node->nsrc) {
      if (!ir_reserve(r->g->mem, (void **)out, cap, listed + node->nsrc, sizeof **out)) return false;
      list = *out;
    }
    for (uint32_t k = 0; k < node->nsrc; k++)
      if (set_mark(&r->seen, node->src[k])) list[listed++] = node->src[k];
  }
  *count = listed;
  list_marked(&r->seen, top, list);
  return true;
}

static ir_status reach_all(reach r, const ir_ref *roots, size_t n, const ir_ref *stops, size_t stop_count,
                           ir_ref **out, size_t *count, size_t *cap) {
  uint64_t few[2][FEW_WORDS];
  ir_ref top = 0;
  for (size_t i = 0; i < n; i++) top = roots[i] > top ? roots[i] : top;
  *count = 0;
  bool done =
      marks_open(r.g, top, few[0], &r.seen) && (!stop_count || marks_open(r.g, top, few[1], &r.stops));
  for (size_t i = 0; i < stop_count && done; i++)
    if (stops[i] <= top) set_mark(&r.stops, stops[i]);
  done = done && list_reachable(&r, top, roots, n, out, count, cap);
  marks_close(r.g, top, &r.seen);
  marks_close(r.g, top, &r.stops);
  return done ? IR_OK : ir_fail(r.g->error, IR_ERR_MEMORY, "out of memory traversing a graph");
}

ir_status ir_reachable(const ir_graph *g, const ir_ref *roots, size_t n, ir_ref **out, size_t *count,
                       size_t *cap) {
  return reach_all((reach){.g = g}, roots, n, NULL, 0, out, count, cap);
}

ir_status ir_reachable_inside(const ir_graph *g, const ir_ref *roots, size_t n, ir_ref **out, size_t *count,
                              size_t *cap) {
  return reach_all((reach){.g = g, .inside = true}, roots, n, NULL, 0, out, count, cap);
}

ir_status ir_reachable_above(const ir_graph *g, const ir_ref *roots, size_t n, ir_ref floor,
                             const ir_ref *stops, size_t stop_count, ir_ref **out, size_t *count,
                             size_t *cap) {
  return reach_all((reach){.g = g, .floor = floor}, roots, n, stops, stop_count, out, count, cap);
}

size_t ir_find_ref(const ir_ref *ascending, size_t count, ir_ref ref) {
  size_t lo = 0, hi = count;
  while (lo < hi) {
    size_t middle = lo + (hi - lo) / 2;
    if (ascending[middle] < ref) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/* finding some of them */

struct ir_visit {
  ir_ref ref;
  uint32_t next; /* source to visit */
};

static bool begin_walk(ir_graph *g) {
  ir_walk *w = &g->walk;
  size_t known = w->cap;
  if (!IR_RESERVE(g->mem, w->met, w->cap, g->count)) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory traversing a graph");
    return false;
  }
  if (w->number == UINT32_MAX) known = w->number = 0;
  memset(w->met + known, 0, (w->cap - known) * sizeof *w->met);
  w->number++;
  return true;
}

void ir_walk_free(ir_graph *g) {
  ir_free(g->mem, g->walk.met, g->walk.cap * sizeof *g->walk.met);
  ir_free(g->mem, g->walk.stack, g->walk.stack_cap * sizeof *g->walk.stack);
}

/* Puts the node, unless the walk has met it, on top of the stack of `depth` nodes. */
static bool push(ir_graph *g, ir_ref ref, size_t *depth) {
  ir_walk *w = &g->walk;
  if (w->met[ref] == w->number) return true;
  if (*depth == w->stack_cap && !IR_RESERVE(g->mem, w->stack, w->stack_cap, *depth + 1)) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory traversing a graph");
    return false;
  }
  w->met[ref] = w->number;
  w->stack[(*depth)++] = (struct ir_visit){ref, 0};
  return true;
}

uint32_t ir_find_below(ir_graph *g, ir_ref root, uint8_t holds, ir_op op, ir_ref *out, uint32_t room) {
  uint32_t found = 0;
  size_t depth = 0;
  if (!room || !(ir_get(g, root)->holds & holds) || !begin_walk(g) || !push(g, root, &depth)) return 0;
  while (depth) {
    struct ir_visit *top = &g->walk.stack[depth - 1];
    const ir_node *n = ir_get(g, top->ref);
    if (n->op != IR_OP_FUNC && top->next < n->nsrc) {
      ir_ref below = n->src[top->next++];
      if (ir_get(g, below)->holds & holds && !push(g, below, &depth)) return 0;
      continue;
    }
    if (op == IR_OP_COUNT ? (ir_holds_bit((ir_op)n->op) & holds) != 0 : n->op == op) out[found++] = top->ref;
    if (found == room) break;
    depth--;
  }
  return found;
}

bool ir_is_below(ir_graph *g, ir_ref root, ir_ref node) {
  uint8_t holds = ir_holds_bit(ir_op_of(g, node));
  size_t depth = 0;
  if (root <= node) return root == node; /* sources are older */
  if (!(ir_get(g, root)->holds & holds) || !begin_walk(g) || !push(g, root, &depth)) return false;
  while (depth) {
    const ir_node *n = ir_get(g, g->walk.stack[--depth].ref);
    for (uint32_t i = 0; i < n->nsrc && n->op != IR_OP_FUNC; i++) {
      ir_ref below = n->src[i];
      if (below == node) return true;
      if (below > node && ir_get(g, below)->holds & holds && !push(g, below, &depth)) return false;
    }
  }
  return false;
}
