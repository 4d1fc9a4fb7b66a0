/* The parts of a block of a graph: the list of its operations, and what is found in it. */
#include "frontend/cli/show/show.h"

#include <string.h>

#include "frontend/report/repeats.h"

enum {
  NONE = UINT32_MAX,
  MANY_READ = 3 /* users: more than a residual has in one layer are rare, and moving is harmless */
};

/* What an operation is, but for its operands and sizes. */
static uint64_t token_of(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  uint64_t sum = 0xcbf29ce484222325u;
  const uint64_t what[] = {n->op, n->dtype, ir_operand_count(n), (uint64_t)n->arg,
                           ir_shape(g, ref) ? ir_rank(g, ref) : 0};
  for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
    sum = (sum ^ what[i]) * 0x100000001b3u;
    sum ^= sum >> 31;
  }
  return sum >> 1; /* tokens of classes are above */
}

/* The lines of a block that are no leaves, as a list in which operands come first. */
typedef struct operations {
  uint32_t *order; /* lines */
  uint32_t *place; /* by line of the block: its index in order; NONE: a leaf */
  uint64_t *tokens;
  uint32_t *first, *operands;
  size_t count, lines, edges;
} operations;

static bool operations_make(operations *o, const show_listing *l, const show_block_lines *b) {
  const ir_mem *mem = l->g->mem;
  *o = (operations){.lines = b->end - b->first};
  for (uint32_t i = b->first; i < b->end; i++) o->edges += ir_operand_count(ir_get(l->g, l->lines[i].node));
  o->order = ir_alloc(mem, (o->lines + 1) * sizeof *o->order);
  o->place = ir_alloc(mem, (o->lines + 1) * sizeof *o->place);
  o->tokens = ir_alloc(mem, (o->lines + 1) * sizeof *o->tokens);
  o->first = ir_alloc(mem, (o->lines + 2) * sizeof *o->first);
  o->operands = ir_alloc(mem, (o->edges + 1) * sizeof *o->operands);
  return o->order && o->place && o->tokens && o->first && o->operands;
}

static void operations_free(operations *o, const ir_mem *mem) {
  ir_free(mem, o->order, (o->lines + 1) * sizeof *o->order);
  ir_free(mem, o->place, (o->lines + 1) * sizeof *o->place);
  ir_free(mem, o->tokens, (o->lines + 1) * sizeof *o->tokens);
  ir_free(mem, o->first, (o->lines + 2) * sizeof *o->first);
  ir_free(mem, o->operands, (o->edges + 1) * sizeof *o->operands);
}

/* Lists the lines. A value that many read, as the mask that all layers do, was made where it was first
 * needed: it stands behind the last of its operands, or first if these are leaves, so that the first layer is
 * like the others. */
static void list_in_order(operations *o, const show_listing *l, const show_block_lines *b) {
  uint32_t *uses = o->place; /* of each line; then its place */
  memset(uses, 0, (o->lines + 1) * sizeof *uses);
  for (uint32_t i = b->first; i < b->end; i++) {
    const ir_node *n = ir_get(l->g, l->lines[i].node);
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      uint32_t from = show_line_in(b, l->g, n->src[k]);
      if (from != NONE && from >= b->first) uses[from - b->first]++;
    }
  }
  for (uint32_t i = b->first; i < b->end; i++) {
    const ir_node *n = ir_get(l->g, l->lines[i].node);
    size_t at = o->count, behind = 0;
    if (show_is_leaf(l->g, l->lines[i].node)) continue;
    while (uses[i - b->first] >= MANY_READ && behind == 0 && at > 0) {
      for (uint32_t k = 0; k < ir_operand_count(n); k++)
        behind |= show_line_in(b, l->g, n->src[k]) == o->order[at - 1];
      at -= behind == 0;
    }
    memmove(o->order + at + 1, o->order + at, (o->count - at) * sizeof *o->order);
    o->order[at] = i;
    o->count++;
  }
}

static void join(operations *o, const show_listing *l, const show_block_lines *b) {
  size_t used = 0;
  memset(o->place, 0xff, (o->lines + 1) * sizeof *o->place);
  for (uint32_t i = 0; i < o->count; i++) {
    ir_ref ref = l->lines[o->order[i]].node;
    const ir_node *n = ir_get(l->g, ref);
    o->place[o->order[i] - b->first] = i;
    o->tokens[i] = token_of(l->g, ref);
    o->first[i] = (uint32_t)used;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      uint32_t from = show_line_in(b, l->g, n->src[k]);
      o->operands[used++] = from == NONE || from < b->first ? NONE : o->place[from - b->first];
    }
    o->first[i + 1] = (uint32_t)used;
  }
}

/* statements */

/* What the parts are made of: operations, and several that follow one another and that one statement of the
 * user asked for. */
typedef struct items {
  uint32_t *from;      /* count + 1 entries: places in the list of operations */
  uint32_t *statement; /* 0: not known */
  uint32_t *item_of;   /* by place */
  uint64_t *tokens;
  uint32_t *first, *operands;
  size_t count;
} items;

static bool items_make(items *m, const operations *o, const ir_mem *mem) {
  *m = (items){.from = ir_alloc(mem, (o->lines + 2) * sizeof *m->from)};
  m->statement = ir_alloc(mem, (o->lines + 1) * sizeof *m->statement);
  m->item_of = ir_alloc(mem, (o->lines + 1) * sizeof *m->item_of);
  m->tokens = ir_alloc(mem, (o->lines + 1) * sizeof *m->tokens);
  m->first = ir_alloc(mem, (o->lines + 2) * sizeof *m->first);
  m->operands = ir_alloc(mem, (o->edges + 1) * sizeof *m->operands);
  return m->from && m->statement && m->item_of && m->tokens && m->first && m->operands;
}

static void items_free(items *m, const operations *o, const ir_mem *mem) {
  ir_free(mem, m->from, (o->lines + 2) * sizeof *m->from);
  ir_free(mem, m->statement, (o->lines + 1) * sizeof *m->statement);
  ir_free(mem, m->item_of, (o->lines + 1) * sizeof *m->item_of);
  ir_free(mem, m->tokens, (o->lines + 1) * sizeof *m->tokens);
  ir_free(mem, m->first, (o->lines + 2) * sizeof *m->first);
  ir_free(mem, m->operands, (o->edges + 1) * sizeof *m->operands);
}

/* An item is what its operations are, and how these are joined; it reads what they read outside of it. */
static void gather_items(items *m, const operations *o, const show_listing *l) {
  const fe_list list = {o->count, o->tokens, o->first, o->operands};
  size_t used = 0;
  for (uint32_t i = 0; i < o->count; i++) {
    uint32_t asked = show_statement_of(l, l->lines[o->order[i]].node);
    bool more = m->count && asked && m->statement[m->count - 1] == asked;
    if (!more) m->from[m->count] = i, m->statement[m->count++] = asked;
    m->item_of[i] = (uint32_t)m->count - 1;
  }
  m->from[m->count] = (uint32_t)o->count;
  m->first[0] = 0;
  for (uint32_t i = 0; i < m->count; i++) {
    uint32_t from = m->from[i], end = m->from[i + 1];
    m->tokens[i] = end - from == 1 ? o->tokens[from] : fe_range_digest(&list, from, end) >> 1;
    for (uint32_t k = o->first[from]; k < o->first[end]; k++)
      if (o->operands[k] == NONE || o->operands[k] < from)
        m->operands[used++] = o->operands[k] == NONE ? NONE : m->item_of[o->operands[k]];
    m->first[i + 1] = (uint32_t)used;
  }
}

/* data */

static void put_part(show *s, const items *m, const fe_part *p, json_t *out) {
  json_int_t parent = p->parent == NONE ? -1 : (json_int_t)p->parent;
  show_add(s, out,
           json_pack("[IIII]", parent, (json_int_t)m->from[p->from], (json_int_t)m->from[p->end],
                     p->kind == FE_PART_LAYER ? (json_int_t)p->class : (json_int_t)-1));
}

void show_put_parts(show *s, const show_listing *l, const show_block_lines *b, json_t *out) {
  const ir_mem *mem = l->g->mem;
  json_t *order = json_array(), *made = json_array(), *several = json_array();
  operations o;
  items m = {0};
  fe_parts parts = {0};
  bool good = operations_make(&o, l, b) && items_make(&m, &o, mem);
  if (good) {
    list_in_order(&o, l, b);
    join(&o, l, b);
    gather_items(&m, &o, l);
    fe_list list = {m.count, m.tokens, m.first, m.operands};
    good = fe_parts_find(mem, &list, &parts);
  }
  for (size_t i = 0; i < o.count && good; i++) show_add(s, order, json_integer(o.order[i]));
  for (size_t i = 0; i < parts.count && good; i++) put_part(s, &m, &parts.list[i], made);
  for (size_t i = 0; i < m.count && good; i++)
    if (m.from[i + 1] - m.from[i] > 1)
      show_add(
          s, several,
          json_pack("[III]", (json_int_t)m.from[i], (json_int_t)m.from[i + 1], (json_int_t)m.statement[i]));
  s->failed |= !good;
  show_set(s, out, "order", order);
  show_set(s, out, "parts", made);
  show_set(s, out, "several", several);
  fe_parts_free(mem, &parts);
  items_free(&m, &o, mem);
  operations_free(&o, mem);
}
