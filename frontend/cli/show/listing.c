/* The listing of a graph, and where each node stands in it: the operations of the picture. */
#include "frontend/cli/show/show.h"

#include <string.h>

#include "frontend/report/parts.h"
#include "ir/print/print.h"

enum {
  NONE = UINT32_MAX,
  MANY_READ = 3 /* users: more than a residual has in one layer are rare, and moving is harmless */
};

/* reading the listing */

static void note_place(void *user, ir_ref node, size_t from, size_t to) {
  show_listing *l = user;
  const ir_mem *mem = l->g->mem;
  const char *text = ir_text_get(&l->text);
  for (; l->counted < from; l->counted++) l->row += text[l->counted] == '\n';
  if (from == to) { /* a graph begins */
    if (!IR_RESERVE(mem, l->blocks, l->block_cap, l->block_count + 1)) l->text.failed = true;
    else l->blocks[l->block_count++] = (show_block){node, (uint32_t)l->count};
  } else if (!IR_RESERVE(mem, l->lines, l->line_cap, l->count + 1)) {
    l->text.failed = true;
  } else {
    l->lines[l->count++] = (show_line){node, l->row, from, to};
    l->line_of[node] = (uint32_t)l->count;
  }
}

bool show_listing_make(show_listing *l, const ir_graph *g, const ir_parsed_graph *block) {
  *l = (show_listing){.g = g, .refs = g->count};
  ir_text_init(&l->text, g->mem);
  l->line_of = ir_alloc(g->mem, l->refs * sizeof *l->line_of);
  if (!l->line_of) return false;
  memset(l->line_of, 0, l->refs * sizeof *l->line_of);
  ir_print_parsed_places(g, block, note_place, l, &l->text);
  return !l->text.failed;
}

void show_listing_free(show_listing *l) {
  if (!l->g) return;
  const ir_mem *mem = l->g->mem;
  ir_free(mem, l->line_of, l->refs * sizeof *l->line_of);
  ir_free(mem, l->lines, l->line_cap * sizeof *l->lines);
  ir_free(mem, l->blocks, l->block_cap * sizeof *l->blocks);
  ir_text_free(&l->text);
  *l = (show_listing){0};
}

/* Where the name at the beginning of a line ends: %1, %"two words", %0, %1 of several results. */
static size_t name_length(const char *line, size_t length) {
  size_t at = 0;
  while (at < length && line[at] == '%') {
    if (line[++at] == '"') {
      for (at++; at < length && line[at] != '"'; at++) at += line[at] == '\\' && at + 1 < length;
      at += at < length;
    } else {
      at += strcspn(line + at, " ,:");
    }
    if (strncmp(line + at, ", %", 3) != 0) break;
    at += 2;
  }
  return at < length ? at : length;
}

show_words show_words_of(const show_listing *l, uint32_t number) {
  const show_line *line = &l->lines[number];
  const char *text = ir_text_get(&l->text) + line->from, *end = text + (line->to - line->from);
  size_t name = name_length(text, line->to - line->from);
  show_words w = {.name = text, .name_length = name, .operation = end, .type = end};
  if (text[name] == ':') { /* a parameter */
    w.type = text + name + 2;
    w.type += strncmp(w.type, "ref ", 4) == 0 ? 4 : 0;
  } else {
    w.operation = text + name + 3; /* " = " */
    for (const char *at = end - 3; at > w.operation && w.type == end; at--)
      if (strncmp(at, " : ", 3) == 0) w.type = at + 3, w.operation_length = (size_t)(at - w.operation);
  }
  w.type_length = (size_t)(end - w.type);
  return w;
}

/* parts */

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

static bool is_leaf(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  return ir_ops[n->op].cls == IR_CLASS_LEAF || (ir_operand_count(n) == 0 && !ir_has_results((ir_op)n->op));
}

/* The line of an operand; NONE where it has none, as literals have. */
static uint32_t line_of(const show_listing *l, const uint32_t *here, ir_ref ref) {
  if (ir_op_of(l->g, ref) == IR_OP_RESULT) ref = ir_src(l->g, ref, 0);
  return here[ref] ? here[ref] - 1 : NONE;
}

/* The lines of one block. */
typedef struct block_lines {
  uint32_t first, end;
  uint32_t *here; /* by ref: the line, and one, in this block */
} block_lines;

/* The lines of a block that are no leaves, as a list in which operands come first. */
typedef struct operations {
  uint32_t *order; /* lines */
  uint32_t *place; /* by line of the block: its index in order; NONE: a leaf */
  uint64_t *tokens;
  uint32_t *first, *operands;
  size_t count, lines, edges;
} operations;

static bool operations_make(operations *o, const show_listing *l, const block_lines *b) {
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
static void list_in_order(operations *o, const show_listing *l, const block_lines *b) {
  uint32_t *uses = o->place; /* of each line; then its place */
  memset(uses, 0, (o->lines + 1) * sizeof *uses);
  for (uint32_t i = b->first; i < b->end; i++) {
    const ir_node *n = ir_get(l->g, l->lines[i].node);
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      uint32_t from = line_of(l, b->here, n->src[k]);
      if (from != NONE && from >= b->first) uses[from - b->first]++;
    }
  }
  for (uint32_t i = b->first; i < b->end; i++) {
    const ir_node *n = ir_get(l->g, l->lines[i].node);
    size_t at = o->count, behind = 0;
    if (is_leaf(l->g, l->lines[i].node)) continue;
    while (uses[i - b->first] >= MANY_READ && behind == 0 && at > 0) {
      for (uint32_t k = 0; k < ir_operand_count(n); k++)
        behind |= line_of(l, b->here, n->src[k]) == o->order[at - 1];
      at -= behind == 0;
    }
    memmove(o->order + at + 1, o->order + at, (o->count - at) * sizeof *o->order);
    o->order[at] = i;
    o->count++;
  }
}

static void join(operations *o, const show_listing *l, const block_lines *b) {
  size_t used = 0;
  memset(o->place, 0xff, (o->lines + 1) * sizeof *o->place);
  for (uint32_t i = 0; i < o->count; i++) {
    ir_ref ref = l->lines[o->order[i]].node;
    const ir_node *n = ir_get(l->g, ref);
    o->place[o->order[i] - b->first] = i;
    o->tokens[i] = token_of(l->g, ref);
    o->first[i] = (uint32_t)used;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      uint32_t from = line_of(l, b->here, n->src[k]);
      o->operands[used++] = from == NONE || from < b->first ? NONE : o->place[from - b->first];
    }
    o->first[i + 1] = (uint32_t)used;
  }
}

/* "order" and "parts" of a block. */
static void put_parts(show *s, const show_listing *l, const block_lines *b, json_t *out) {
  json_t *order = json_array(), *made = json_array();
  operations o;
  fe_parts parts = {0};
  bool good = operations_make(&o, l, b);
  if (good) {
    list_in_order(&o, l, b);
    join(&o, l, b);
    fe_list list = {o.count, o.tokens, o.first, o.operands};
    good = fe_parts_find(l->g->mem, &list, &parts);
    for (size_t i = 0; i < o.count; i++) show_add(s, order, json_integer(o.order[i]));
  }
  s->failed |= !good;
  for (size_t i = 0; i < parts.count && good; i++) {
    const fe_part *p = &parts.list[i];
    json_int_t parent = p->parent == NONE ? -1 : (json_int_t)p->parent;
    show_add(s, made,
             json_pack("[IIII]", parent, (json_int_t)p->from, (json_int_t)p->end,
                       p->kind == FE_PART_LAYER ? (json_int_t)p->class : (json_int_t)-1));
  }
  show_set(s, out, "order", order);
  show_set(s, out, "parts", made);
  fe_parts_free(l->g->mem, &parts);
  operations_free(&o, l->g->mem);
}

/* data */

static json_int_t index_of(show *s, json_t *numbers, json_t *list, const char *text, size_t length) {
  char key[400];
  if (length >= sizeof key) length = sizeof key - 1;
  memcpy(key, text, length);
  key[length] = '\0';
  json_t *known = json_object_get(numbers, key);
  if (known) return json_integer_value(known);
  json_int_t fresh = (json_int_t)json_array_size(list);
  show_add(s, list, show_text(text, length));
  if (json_object_set_new_nocheck(numbers, key, json_integer(fresh)) != 0) s->failed = true;
  return fresh;
}

static uint32_t block_of(const show_listing *l, ir_ref func) {
  for (size_t i = 0; i < l->block_count; i++)
    if (l->blocks[i].func == func) return (uint32_t)i;
  return NONE;
}

typedef struct tables {
  json_t *words, *word_numbers, *types, *type_numbers;
} tables;

/* [name, operation, row, type, leaf, [operands], [functions]] */
static json_t *one_node(show *s, const show_listing *l, const block_lines *b, uint32_t number, tables *t) {
  ir_ref ref = l->lines[number].node;
  const ir_node *n = ir_get(l->g, ref);
  show_words w = show_words_of(l, number);
  json_t *made = json_array(), *operands = json_array(), *called = json_array();
  const char *word = w.operation_length ? w.operation : ir_ops[n->op].text;
  size_t length = w.operation_length ? strcspn(word, " :\n") : strlen(word);
  if (length > w.operation_length && w.operation_length) length = w.operation_length;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    uint32_t line = line_of(l, b->here, n->src[k]);
    if (line != NONE) show_add(s, operands, json_integer(line));
  }
  for (uint32_t k = 0; ir_ops[n->op].cls == IR_CLASS_CONTROL && k < ir_called_count(n); k++)
    show_add(s, called, json_integer(block_of(l, ir_called(l->g, ref, k))));
  show_add(s, made, show_text(w.name, w.name_length));
  show_add(s, made, json_integer(index_of(s, t->word_numbers, t->words, word, length)));
  show_add(s, made, json_integer(l->lines[number].row));
  show_add(s, made, json_integer(index_of(s, t->type_numbers, t->types, w.type, w.type_length)));
  show_add(s, made, json_integer(is_leaf(l->g, ref)));
  show_add(s, made, operands);
  show_add(s, made, called);
  return made;
}

void show_put_listing(show *s, const show_listing *l, json_t *out) {
  tables t = {json_array(), json_object(), json_array(), json_object()};
  json_t *nodes = json_array(), *blocks = json_array();
  block_lines b = {.here = ir_alloc(l->g->mem, l->refs * sizeof *b.here)};
  if (!b.here) s->failed = true;
  for (size_t i = 0; i < l->block_count && !s->failed; i++) {
    b.first = l->blocks[i].first;
    b.end = i + 1 < l->block_count ? l->blocks[i + 1].first : (uint32_t)l->count;
    memset(b.here, 0, l->refs * sizeof *b.here);
    for (uint32_t k = b.first; k < b.end; k++) b.here[l->lines[k].node] = k + 1;
    for (uint32_t k = b.first; k < b.end; k++) show_add(s, nodes, one_node(s, l, &b, k, &t));
    json_t *block = json_pack("{s:I,s:I}", "first", (json_int_t)b.first, "end", (json_int_t)b.end);
    put_parts(s, l, &b, block);
    show_add(s, blocks, block);
  }
  ir_free(l->g->mem, b.here, l->refs * sizeof *b.here);
  show_set(s, out, "listing", show_text(ir_text_get(&l->text), l->text.len));
  show_set(s, out, "words", t.words);
  show_set(s, out, "types", t.types);
  show_set(s, out, "nodes", nodes);
  show_set(s, out, "blocks", blocks);
  json_decref(t.word_numbers);
  json_decref(t.type_numbers);
}
