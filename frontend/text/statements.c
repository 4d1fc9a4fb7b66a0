#include "frontend/text/statements.h"

#include <stdio.h>
#include <string.h>

#include "passes/ops/check.h"

/* A place is 12 bits of a file's number, counted from 1, and 20 bits of a line. */
enum { FILES_MOST = (1 << (32 - FE_LINE_BITS)) - 1 };

void fe_statements_open(fe_statements *s, ir_graph *g) {
  *s = (fe_statements){0};
  ir_causes_init(&s->causes, g->mem);
  g->causes = &s->causes;
}

void fe_statements_free(fe_statements *s, ir_graph *g) {
  const ir_mem *mem = s->causes.mem;
  if (g) g->causes = NULL;
  if (!mem) return;
  ir_causes_free(&s->causes);
  ir_free(mem, s->list, s->cap * sizeof *s->list);
  ir_free(mem, s->given, s->given_cap * sizeof *s->given);
  ir_free(mem, s->names, s->name_cap * sizeof *s->names);
  ir_free(mem, s->files, s->file_cap * sizeof *s->files);
  *s = (fe_statements){0};
}

/* recording */

static bool extend(fe_statements *s, const ir_mem *mem, uint32_t number) {
  if (number >= s->cap && !IR_RESERVE(mem, s->list, s->cap, (size_t)number + 1)) return false;
  if (s->count <= number) {
    memset(s->list + s->count, 0, (number + 1 - s->count) * sizeof *s->list);
    s->count = (size_t)number + 1;
  }
  return true;
}

uint32_t fe_statements_begin(fe_statements *s, ir_graph *g, const char *what) {
  uint32_t number = ir_cause_next(g);
  if (!extend(s, g->mem, number)) return 0;
  s->list[number].what = what;
  return number;
}

/* Are the operands the first sources of the node? Then they need not be kept. */
static bool are_sources(const ir_node *n, const ir_ref *given, uint32_t count) {
  return count <= n->nsrc && n->op != IR_OP_TUPLE && memcmp(n->src, given, count * sizeof *given) == 0;
}

void fe_statements_end(fe_statements *s, ir_graph *g, uint32_t number, ir_ref made, const ir_ref *given,
                       uint32_t given_count) {
  if (!number || !made || number >= s->count) return;
  ir_cause_results(g, made, number);
  fe_statement *at = &s->list[number];
  bool further = at->made != 0;
  at->made = made;
  if (!given_count || further) return;
  uint32_t kept = given_count < FE_FEW_GIVEN ? given_count : FE_FEW_GIVEN;
  if (given_count <= FE_FEW_GIVEN && are_sources(ir_get(g, made), given, given_count)) {
    at->given = FE_SOURCES | given_count;
  } else if (IR_RESERVE(g->mem, s->given, s->given_cap, s->given_count + 2 + kept)) {
    if (!s->given_count) s->given[s->given_count++] = 0; /* place 0 is none */
    at->given = (uint32_t)s->given_count;
    s->given[s->given_count] = given_count;
    memcpy(s->given + s->given_count + 1, given, kept * sizeof *given);
    s->given_count += 1 + kept;
  }
}

void fe_statements_name_result(fe_statements *s, ir_graph *g, uint32_t number, ir_ref result,
                               const char *name) {
  int64_t id = ir_name(g, name, strlen(name));
  if (id < 0 || s->name_count >= UINT32_MAX || !IR_RESERVE(g->mem, s->names, s->name_cap, s->name_count + 1))
    return;
  if (!number || number >= s->count || s->list[number].made != result) {
    uint32_t of = number, place = number < s->count ? s->list[number].place : 0;
    ir_cause outer = s->causes.current;
    number = fe_statements_begin(s, g, NULL);
    s->causes.current = outer;
    if (!number) return;
    s->list[number] = (fe_statement){.made = result, .given = of, .place = place};
    ir_cause_results(g, result, number);
  }
  s->names[s->name_count++] = ir_name_text(g, id);
  s->list[number].name = (uint32_t)s->name_count;
}

void fe_statements_name(fe_statements *s, ir_graph *g, ir_ref value, const char *name) {
  fe_statements_name_result(s, g, fe_statements_of(s, g, value), value, name);
}

void fe_statements_write(fe_statements *s, ir_graph *g, uint32_t number, const char *text, ir_ref made,
                         const char *file, int line) {
  if (!number || !extend(s, g->mem, number)) return;
  s->list[number] = (fe_statement){.what = text, .made = made, .given = FE_WRITTEN};
  fe_statements_place(s, g, number, file, line);
}

/* The number of a file; 0: no memory, or too many files. The compiler gives one file one pointer, as a rule;
 * another pointer is another entry, whose text is the same name. The latest files are looked at first. */
static uint32_t file_number(fe_statements *s, ir_graph *g, const char *file) {
  for (size_t i = s->file_count; i-- > 0;)
    if (s->files[i].given == file) return (uint32_t)i + 1;
  if (s->file_count >= FILES_MOST || !IR_RESERVE(g->mem, s->files, s->file_cap, s->file_count + 1)) return 0;
  int64_t name = ir_name(g, file, strlen(file));
  if (name < 0) return 0;
  s->files[s->file_count] = (fe_statement_file){file, ir_name_text(g, name)};
  return (uint32_t)++s->file_count;
}

void fe_statements_place_slowly(fe_statements *s, ir_graph *g, uint32_t number, const char *file, int line) {
  uint32_t in = file_number(s, g, file);
  if (!in) return;
  s->latest = file;
  s->latest_number = in << FE_LINE_BITS;
  fe_statements_place(s, g, number, file, line < 0 || line > FE_LINE_MOST ? FE_LINE_MOST : line);
}

/* looking up */

uint32_t fe_statements_of(const fe_statements *s, const ir_graph *g, ir_ref node) {
  ir_cause cause = ir_cause_of(g, node);
  if (!(cause & IR_CAUSE_SET)) return cause & ~IR_CAUSE_RESULT;
  ir_cause_items items = {0};
  uint32_t found = 0;
  int best = 0;
  if (!ir_cause_list(g->causes, cause, &items)) items.count = 0;
  for (size_t i = 0; i < items.count; i++) {
    const ir_cause_item *at = &items.list[i];
    int good = at->by ? 1 : at->result ? 3 : 2;
    if (good >= best && at->statement < s->count) found = at->statement, best = good;
  }
  ir_cause_items_free(g->causes->mem, &items);
  return found;
}

const char *fe_statements_name_of(const fe_statements *s, const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_cause_items items = {0};
  const char *name = NULL;
  if (g->causes && ir_cause_list(g->causes, ir_cause_of(g, node), &items))
    for (size_t i = 0; i < items.count; i++) {
      const ir_cause_item *at = &items.list[i];
      uint32_t id = at->result && !at->by && at->statement < s->count ? s->list[at->statement].name : 0;
      if (id) name = s->names[id - 1];
    }
  if (g->causes) ir_cause_items_free(g->causes->mem, &items);
  if (!name && (n->op == IR_OP_INPUT || n->op == IR_OP_VAR)) name = ir_name_text(g, n->arg);
  return name;
}

bool fe_statements_checks(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return (n->op == IR_OP_GATHER || ir_is_scatter((ir_op)n->op)) && ir_arg_mode(n) != IR_GATHER_FILL;
}

bool fe_statements_check_any(const ir_graph *g) {
  ir_ref node = 1;
  while (node < g->count && !fe_statements_checks(g, node)) node++;
  return node < g->count;
}

bool fe_statements_result(const ir_graph *g, ir_ref node, uint32_t number) {
  ir_cause_items items = {0};
  bool result = false;
  if (!g->causes) return false;
  if (ir_cause_list(g->causes, ir_cause_of(g, node), &items))
    for (size_t i = 0; i < items.count; i++)
      result |= items.list[i].statement == number && items.list[i].result;
  ir_cause_items_free(g->causes->mem, &items);
  return result;
}

/* words */

const char *fe_words_place(const fe_statements *s, uint32_t number, fe_words *out) {
  uint32_t place = number && number < s->count ? s->list[number].place : 0;
  out->text[0] = '\0';
  if (place)
    snprintf(out->text, sizeof out->text, "%.100s:%u", s->files[(place >> FE_LINE_BITS) - 1].text,
             place & FE_LINE_MOST);
  return out->text;
}

const char *fe_words_value(const fe_statements *s, ir_graph *g, ir_ref ref, fe_words *out) {
  const char *name = fe_statements_name_of(s, g, ref);
  fe_words place;
  if (name) {
    snprintf(out->text, sizeof out->text, "%%%.60s", name);
  } else if (ir_op_of(g, ref) == IR_OP_CONST || !ir_shape(g, ref)) {
    snprintf(out->text, sizeof out->text, "%.60s", OP_EXPR(ref));
  } else {
    bool known = *fe_words_place(s, fe_statements_of(s, g, ref), &place);
    snprintf(out->text, sizeof out->text, "%.60s%s%.130s", OP_TYPE(ref), known ? " of " : "", place.text);
  }
  return out->text;
}

void fe_put_operation(const fe_statements *s, ir_graph *g, uint32_t number, ir_text *out) {
  const fe_statement *at = &s->list[number];
  if (!at->what && at->given) at = &s->list[at->given];
  ir_text_str(out, at->what ? at->what : "a value");
  if (!at->what || at->given == FE_WRITTEN || !at->made) return;
  const ir_ref *given = at->given & FE_SOURCES ? ir_get(g, at->made)->src : s->given + at->given + 1;
  uint32_t count = at->given & FE_SOURCES ? at->given & ~FE_SOURCES : at->given ? given[-1] : 0;
  fe_words word;
  for (uint32_t i = 0; i < count && i < FE_FEW_GIVEN; i++)
    ir_textf(out, "%s%s", i ? ", " : " ", fe_words_value(s, g, given[i], &word));
  if (count > FE_FEW_GIVEN) ir_text_str(out, ", ...");
  if (fe_statements_checks(g, at->made))
    ir_textf(out, " axis=%lld", (long long)ir_arg_int(ir_get(g, at->made)));
}

/* "%a, %b = " of the names of its results. */
static void put_names(const fe_statements *s, const ir_graph *g, uint32_t number, ir_text *out) {
  const fe_statement *at = &s->list[number];
  const char *between = "%";
  if (at->name) {
    ir_textf(out, "%%%s = ", s->names[at->name - 1]);
  } else if (!at->made || ir_op_of(g, at->made) == IR_OP_TUPLE) {
    for (size_t i = (size_t)number + 1; i < s->count; i++) {
      if (s->list[i].what || s->list[i].given != number || !s->list[i].name) continue;
      ir_textf(out, "%s%s", between, s->names[s->list[i].name - 1]);
      between = ", %";
    }
    if (*between == ',') ir_text_str(out, " = ");
  }
}

void fe_put_statement(const fe_statements *s, ir_graph *g, uint32_t number, ir_text *out) {
  fe_words place;
  put_names(s, g, number, out);
  fe_put_operation(s, g, number, out);
  const fe_statement *at = &s->list[number];
  if (at->place && at->given == FE_WRITTEN) ir_textf(out, " (line %u)", at->place & FE_LINE_MOST);
  else if (*fe_words_place(s, number, &place)) ir_textf(out, " (%s)", place.text);
}

/* copies */

void fe_statements_copy(fe_statements *to, ir_graph *copy, const fe_statements *from, ir_graph *g,
                        const ir_ref *map, bool all) {
  if (!from->count || !IR_RESERVE(copy->mem, to->list, to->cap, from->count)) return;
  memset(to->list, 0, from->count * sizeof *to->list);
  to->count = from->count;
  for (ir_ref node = 1; node < g->count; node++) {
    uint32_t number =
        map[node] && (all || fe_statements_checks(g, node)) ? fe_statements_of(from, g, node) : 0;
    if (!number || to->list[number].what) continue;
    ir_text text;
    ir_text_init(&text, copy->mem);
    fe_put_operation(from, g, number, &text);
    int64_t what = text.failed ? -1 : ir_name(copy, ir_text_get(&text), text.len);
    const fe_statement *was = &from->list[number];
    if (!was->place) was = &from->list[fe_statements_whole(from, number)];
    if (what >= 0) to->list[number] = (fe_statement){.what = ir_name_text(copy, what), .given = FE_WRITTEN};
    if (what >= 0 && was->place) /* files of the copy are its own names */
      fe_statements_place(to, copy, number, from->files[(was->place >> FE_LINE_BITS) - 1].text,
                          was->place & FE_LINE_MOST);
    ir_text_free(&text);
  }
  for (ir_ref node = 1; all && node < g->count; node++) {
    const char *name = map[node] ? fe_statements_name_of(from, g, node) : NULL;
    uint32_t number = name ? fe_statements_of(from, g, node) : 0;
    if (!number || !fe_statements_result(g, node, number)) continue;
    to->list[number].made = map[node];
    fe_statements_name_result(to, copy, number, map[node], name);
  }
}
