/* The listing of a graph, and where each node stands in it: the operations of the picture. */
#include "frontend/cli/show/show.h"

#include <string.h>

#include "ir/print/print.h"

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

bool show_is_leaf(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  return ir_ops[n->op].cls == IR_CLASS_LEAF || (ir_operand_count(n) == 0 && !ir_has_results((ir_op)n->op));
}

uint32_t show_line_in(const show_block_lines *b, const ir_graph *g, ir_ref ref) {
  if (ir_op_of(g, ref) == IR_OP_RESULT) ref = ir_src(g, ref, 0);
  return b->here[ref] ? b->here[ref] - 1 : SHOW_NO_LINE;
}

uint32_t show_statement_of(const show_listing *l, ir_ref ref) {
  ir_cause_items items = {0};
  uint32_t first = 0;
  if (l->g->causes && ir_cause_list(l->g->causes, ir_cause_of(l->g, ref), &items) && items.count)
    first = items.list[0].statement;
  ir_cause_items_free(l->g->mem, &items);
  return first;
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
  return SHOW_NO_LINE;
}

typedef struct tables {
  json_t *words, *word_numbers, *types, *type_numbers;
} tables;

/* [name, operation, row, type, leaf, [operands], [functions]] */
static json_t *one_node(show *s, const show_listing *l, const show_block_lines *b, uint32_t number,
                        tables *t) {
  ir_ref ref = l->lines[number].node;
  const ir_node *n = ir_get(l->g, ref);
  show_words w = show_words_of(l, number);
  json_t *made = json_array(), *operands = json_array(), *called = json_array();
  const char *word = w.operation_length ? w.operation : ir_ops[n->op].text;
  size_t length = w.operation_length ? strcspn(word, " :\n") : strlen(word);
  if (length > w.operation_length && w.operation_length) length = w.operation_length;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    uint32_t line = show_line_in(b, l->g, n->src[k]);
    if (line != SHOW_NO_LINE) show_add(s, operands, json_integer(line));
  }
  for (uint32_t k = 0; ir_ops[n->op].cls == IR_CLASS_CONTROL && k < ir_called_count(n); k++)
    show_add(s, called, json_integer(block_of(l, ir_called(l->g, ref, k))));
  show_add(s, made, show_text(w.name, w.name_length));
  show_add(s, made, json_integer(index_of(s, t->word_numbers, t->words, word, length)));
  show_add(s, made, json_integer(l->lines[number].row));
  show_add(s, made, json_integer(index_of(s, t->type_numbers, t->types, w.type, w.type_length)));
  show_add(s, made, json_integer(show_is_leaf(l->g, ref)));
  show_add(s, made, operands);
  show_add(s, made, called);
  return made;
}

void show_put_listing(show *s, const show_listing *l, json_t *out) {
  tables t = {json_array(), json_object(), json_array(), json_object()};
  json_t *nodes = json_array(), *blocks = json_array();
  show_block_lines b = {.here = ir_alloc(l->g->mem, l->refs * sizeof *b.here)};
  if (!b.here) s->failed = true;
  for (size_t i = 0; i < l->block_count && !s->failed; i++) {
    b.first = l->blocks[i].first;
    b.end = i + 1 < l->block_count ? l->blocks[i + 1].first : (uint32_t)l->count;
    memset(b.here, 0, l->refs * sizeof *b.here);
    for (uint32_t k = b.first; k < b.end; k++) b.here[l->lines[k].node] = k + 1;
    for (uint32_t k = b.first; k < b.end; k++) show_add(s, nodes, one_node(s, l, &b, k, &t));
    json_t *block = json_pack("{s:I,s:I}", "first", (json_int_t)b.first, "end", (json_int_t)b.end);
    show_put_parts(s, l, &b, block);
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
