#include "frontend/text/statements.h"

#include <stdio.h>
#include <string.h>

#include "frontend/text/statement_bits.h"
#include "ir/lex/lex.h"
#include "passes/ops/check.h"

/* A place is 12 bits of a file's number, counted from 1, and 20 bits of a line. */
enum { FILES_MOST = (1 << (32 - FE_LINE_BITS)) - 1 };

enum { NO_ROOM = 1 << 30 }; /* no statement has a number near to it */

void fe_statements_open(fe_statements *s, ir_graph *g) {
  *s = (fe_statements){.room_from = NO_ROOM};
  ir_causes_open(&s->causes, g);
}

void fe_statements_free(fe_statements *s, ir_graph *g) {
  const ir_mem *mem = s->causes.mem;
  if (g) g->causes = NULL;
  if (!mem) return;
  ir_causes_free(&s->causes);
  for (size_t i = 0; i < s->block_count; i++)
    ir_free(mem, s->blocks[i], FE_STATEMENT_BLOCK * sizeof **s->blocks);
  ir_free(mem, s->blocks, s->block_cap * sizeof *s->blocks);
  ir_free(mem, s->sites, s->site_cap * sizeof *s->sites);
  ir_free(mem, s->slots, s->slot_count * sizeof *s->slots);
  ir_free(mem, s->given, s->given_cap * sizeof *s->given);
  ir_free(mem, s->names, s->name_cap * sizeof *s->names);
  ir_free(mem, s->files, s->file_cap * sizeof *s->files);
  *s = (fe_statements){0};
}

/* recording */

static fe_statement statement_of(const fe_statements *s, uint32_t number) {
  return number / FE_STATEMENT_BLOCK < s->block_count
             ? s->blocks[number / FE_STATEMENT_BLOCK][number % FE_STATEMENT_BLOCK]
             : 0;
}
/* The statement that waits for its place. */
static uint32_t open_of(const fe_statements *s) { return s->open & ~FE_STATEMENT_AGAIN; }
static bool is_like_another(const fe_statements *s) { return s->open & FE_STATEMENT_AGAIN; }
static fe_statement_site site_of(const fe_statements *s, uint32_t number) {
  uint32_t at = statement_of(s, number) & SITES_MOST;
  if (at) return s->sites[at];
  return (fe_statement_site){number && number == open_of(s) ? s->open_text : NULL, 0};
}
static const char *text_of(const fe_statements *s, uint32_t number) { return site_of(s, number).text; }
static uint32_t place_of(const fe_statements *s, uint32_t number) { return site_of(s, number).place; }
static uint32_t count_of(const fe_statements *s, uint32_t number) {
  return statement_of(s, number) >> SITE_BITS & ((1u << COUNT_BITS) - 1);
}
static uint32_t steps_of(const fe_statements *s, uint32_t number, uint32_t operand) {
  return statement_of(s, number) >> (SITE_BITS + COUNT_BITS + STEP_BITS * operand) & STEPS_MOST;
}

/* sites */

static inline size_t slot_of(const fe_statements *s, const char *text, uint32_t place) {
  return (size_t)(fe_site_hash(text, place) >> 32) & (s->slot_count - 1);
}

/* Room for one more site, and twice as many slots as sites. */
static bool grow_sites(fe_statements *s, const ir_mem *mem) {
  if (s->site_count > SITES_MOST || !IR_RESERVE(mem, s->sites, s->site_cap, s->site_count + 2)) return false;
  if (!s->site_count) s->sites[s->site_count++] = (fe_statement_site){0};
  if (s->slot_count > 2 * s->site_count) return true;
  size_t count = s->slot_count ? 2 * s->slot_count : 16;
  uint32_t *slots = ir_alloc(mem, count * sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, count * sizeof *slots);
  ir_free(mem, s->slots, s->slot_count * sizeof *s->slots);
  s->slots = slots;
  s->slot_count = count;
  for (uint32_t i = 1; i < s->site_count; i++) {
    size_t at = slot_of(s, s->sites[i].text, s->sites[i].place);
    while (s->slots[at]) at = (at + 1) & (count - 1);
    s->slots[at] = i;
  }
  return true;
}

/* The index of a new site; 0: there is no room. */
static uint32_t add_site(fe_statements *s, const ir_mem *mem, const char *text, uint32_t place) {
  if (!grow_sites(s, mem)) return 0;
  size_t at = slot_of(s, text, place);
  while (s->slots[at]) at = (at + 1) & (s->slot_count - 1);
  s->sites[s->site_count] = (fe_statement_site){text, place};
  return s->slots[at] = (uint32_t)s->site_count++;
}

static uint32_t find_site(fe_statements *s, const ir_mem *mem, const char *text, uint32_t place) {
  size_t at = s->slot_count ? slot_of(s, text, place) : 0;
  uint32_t found = 0;
  for (; !found && at < s->slot_count && s->slots[at]; at = (at + 1) & (s->slot_count - 1)) {
    const fe_statement_site *site = &s->sites[s->slots[at]];
    if (site->text == text && site->place == place) found = s->slots[at];
  }
  if (!found) found = add_site(s, mem, text, place);
  if (!found) s->latest = NULL; /* there may be no sites */
  return s->recent[fe_site_recent(text, place)] = found;
}

/* statements */

static bool add_blocks(fe_statements *s, const ir_mem *mem, uint32_t number) {
  while (s->block_count <= number / FE_STATEMENT_BLOCK) {
    if (!IR_RESERVE(mem, s->blocks, s->block_cap, s->block_count + 1)) return false;
    fe_statement *block = ir_alloc(mem, FE_STATEMENT_BLOCK * sizeof *block);
    if (!block) return false;
    memset(block, 0, FE_STATEMENT_BLOCK * sizeof *block);
    s->blocks[s->block_count++] = block;
  }
  return true;
}

/* Room for the statement; NULL: there is none. */
static inline fe_statement *make_room(fe_statements *s, const ir_mem *mem, uint32_t number) {
  uint32_t block = number / FE_STATEMENT_BLOCK;
  if (block >= s->block_count && !add_blocks(s, mem, number)) return NULL;
  s->room = s->blocks[block];
  s->room_from = block * FE_STATEMENT_BLOCK;
  return &s->room[number - s->room_from];
}

/* The latest statement is another than the one that is like it. */
static void note_again(fe_statements *s, ir_graph *g) {
  uint32_t number = open_of(s);
  s->open_at = make_room(s, g->mem, number);
  s->open = s->open_at ? number : 0;
  if (s->open_at) *s->open_at = statement_of(s, s->like) & ~(fe_statement)SITES_MOST;
  ir_cause_results(g, s->again_made, number);
}

/* One line that records a value several times, as in a loop, is noted once: forgets the latest statement if
 * the one before it has the same site, or else notes it. Is it forgotten? */
static bool forget(fe_statements *s, ir_graph *g, uint32_t place) {
  if (s->like_place != place) return note_again(s, g), false;
  ir_cause_unused(g, open_of(s));
  s->open = 0;
  s->forgotten_at = s->causes.statements;
  return true;
}

/* The latest statement has no place: its site is known. */
static void close_latest(fe_statements *s, ir_graph *g) {
  if (is_like_another(s) && forget(s, g, 0)) return;
  if (s->open) *s->open_at |= find_site(s, g->mem, s->open_text, 0);
  s->open = 0;
}

/* Is the cause of the result another statement with the same words, of the same operands then? */
static bool may_forget(const fe_statements *s, uint32_t number, const char *what, ir_cause cause,
                       const fe_statement *at) {
  uint32_t like = cause & ~IR_CAUSE_RESULT;
  return cause & IR_CAUSE_RESULT && !(cause & IR_CAUSE_SET) && like != number && !*at &&
         open_of(s) != number && text_of(s, like) == what && count_of(s, like) < ELSEWHERE &&
         !(statement_of(s, like) & SEVERAL);
}

/* Keeps operands that cannot be told from the node. Returns what says so. */
static fe_statement keep_given(fe_statements *s, const ir_mem *mem, uint32_t number, const ir_ref *given,
                               uint32_t count) {
  uint32_t kept = count < FE_FEW_GIVEN ? count : FE_FEW_GIVEN;
  if (!IR_RESERVE(mem, s->given, s->given_cap, s->given_count + 2 + kept)) return 0;
  s->given[s->given_count++] = number;
  s->given[s->given_count++] = count;
  memcpy(s->given + s->given_count, given, kept * sizeof *given);
  s->given_count += kept;
  return (fe_statement)ELSEWHERE << SITE_BITS;
}

void fe_statements_end_any(fe_statements *s, ir_graph *g, uint32_t number, const char *what, ir_ref made,
                           const ir_ref *given, uint32_t given_count) {
  fe_statement *at = number && made ? make_room(s, g->mem, number) : NULL;
  if (!at) return;
  const ir_node *n = ir_get(g, made);
  fe_statement several = n->op == IR_OP_TUPLE ? SEVERAL : 0;
  ir_cause *cause = ir_cause_at(g, made);
  if (may_forget(s, number, what, *cause, at)) {
    close_latest(s, g);
    s->open = number | FE_STATEMENT_AGAIN;
    s->like = *cause & ~IR_CAUSE_RESULT;
    s->like_place = place_of(s, s->like);
    s->again_made = made;
    s->open_at = at;
    s->open_text = what;
    return;
  }
  if (!several && *cause == number) *cause |= IR_CAUSE_RESULT;
  else ir_cause_results(g, made, number);
  if (*at || open_of(s) == number) { /* a further result */
    if (is_like_another(s) && open_of(s) == number) note_again(s, g);
    *at |= SEVERAL;
    return;
  }
  close_latest(s, g);
  s->open = number;
  s->open_at = at;
  s->open_text = what;
  *at = several | fe_statements_steps(g, n, given, given_count);
  if (given_count && !(*at & ~SEVERAL)) *at |= keep_given(s, g->mem, number, given, given_count);
}

/* Is the result, which has that cause, one of a statement with the same words? It is noted until the place is
 * known. */
static inline bool is_again(fe_statements *s, uint32_t number, const char *what, ir_ref made,
                            ir_cause cause) {
  uint32_t like = cause & ~IR_CAUSE_RESULT;
  if (!(cause & IR_CAUSE_RESULT) || cause & IR_CAUSE_SET || like == number || s->open) return false;
  fe_statement known = statement_of(s, like);
  if (!(known & SITES_MOST)) return false;
  const fe_statement_site *site = &s->sites[known & SITES_MOST];
  enum { FLAGS = ((1u << COUNT_BITS) - 1) | 1u << (31 - SITE_BITS) }; /* the count, and SEVERAL */
  if (site->text != what || (known >> SITE_BITS & FLAGS) >= ELSEWHERE) return false;
  s->open = number | FE_STATEMENT_AGAIN;
  s->open_text = what;
  s->like = like;
  s->like_place = site->place;
  s->again_made = made;
  return true;
}

/* Apart, so that fe_statements_end_made saves no registers for it. */
__attribute__((noinline)) static uint32_t end_apart(fe_statements *s, ir_graph *g, uint32_t number,
                                                    const char *what, ir_ref made, const ir_ref *given,
                                                    uint32_t given_count) {
  if (ir_op_of(g, made) == IR_OP_CONST && ir_cause_of(g, made)) return 0;
  fe_statements_end_any(s, g, number, what, made, given, given_count);
  return number;
}

uint32_t fe_statements_end_made(fe_statements *s, ir_graph *g, uint32_t number, const char *what, ir_ref made,
                                const ir_ref *given, uint32_t given_count) {
  return is_again(s, number, what, made, *ir_cause_at(g, made))
             ? number
             : end_apart(s, g, number, what, made, given, given_count);
}

/* The first entry of `names` of that number or a larger one. */
static size_t find_name(const fe_statements *s, uint32_t number) {
  size_t lo = 0, hi = s->name_count;
  while (lo < hi) {
    size_t middle = lo + (hi - lo) / 2;
    if (s->names[middle].number < number) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

static const fe_statement_name *name_of(const fe_statements *s, uint32_t number) {
  size_t at = find_name(s, number);
  return at < s->name_count && s->names[at].number == number ? &s->names[at] : NULL;
}

void fe_statements_name_result(fe_statements *s, ir_graph *g, uint32_t number, ir_ref result,
                               const char *name) {
  int64_t id = ir_name(g, name, strlen(name));
  if (id < 0 || !IR_RESERVE(g->mem, s->names, s->name_cap, s->name_count + 1)) return;
  fe_statement_name fresh = {.number = number, .text = ir_name_text(g, id)};
  if (!number || statement_of(s, number) & SEVERAL) { /* 0: an argument of a function */
    fresh = (fe_statement_name){++s->causes.statements, number, fresh.text};
    ir_cause_results(g, result, fresh.number);
  }
  size_t at = find_name(s, fresh.number);
  bool known = at < s->name_count && s->names[at].number == fresh.number;
  if (!known) memmove(s->names + at + 1, s->names + at, (s->name_count++ - at) * sizeof *s->names);
  s->names[at] = fresh;
}

void fe_statements_name(fe_statements *s, ir_graph *g, ir_ref value, const char *name) {
  if (is_like_another(s)) close_latest(s, g);
  uint32_t number = fe_statements_of(g, value);
  const fe_statement_name *known = name_of(s, number);
  bool forgotten = value == s->again_made && s->forgotten_at == s->causes.statements;
  if (forgotten && known &&
      strcmp(known->text, name) != 0) { /* the value keeps the name that it had as well */
    int64_t id = ir_name(g, name, strlen(name));
    if (id < 0 || !IR_RESERVE(g->mem, s->names, s->name_cap, s->name_count + 1)) return;
    number = known->of ? known->of : number;
    s->names[s->name_count++] = (fe_statement_name){++s->causes.statements, number, ir_name_text(g, id)};
    ir_cause_results(g, value, s->causes.statements);
    return;
  }
  fe_statements_name_result(s, g, number, value, name);
}

/* places */

/* The number of a file; 0: no memory, or too many files. The compiler gives one file one pointer, as a rule;
 * another pointer is another entry, whose text is the same name. The latest files are looked at first. */
static uint32_t file_number(fe_statements *s, ir_graph *g, const char *file) {
  for (size_t i = s->file_count; i-- > 0;)
    if (s->files[i].given == file) return (uint32_t)i + 1;
  if (s->file_count >= FILES_MOST || !IR_RESERVE(g->mem, s->files, s->file_cap, (size_t)s->file_count + 1))
    return 0;
  int64_t name = ir_name(g, file, strlen(file));
  if (name < 0) return 0;
  s->files[s->file_count] = (fe_statement_file){file, ir_name_text(g, name)};
  return (uint32_t)++s->file_count;
}

/* A place; 0: it cannot be kept. */
static uint32_t make_place(fe_statements *s, ir_graph *g, const char *file, int line) {
  if (file != s->latest) {
    uint32_t in = file_number(s, g, file);
    if (!in) return 0;
    s->latest = file;
    s->latest_number = in << FE_LINE_BITS;
  }
  return s->latest_number | (uint32_t)(line < 0 || line > FE_LINE_MOST ? FE_LINE_MOST : line);
}

void fe_statements_place_any(fe_statements *s, ir_graph *g, uint32_t number, const char *file, int line) {
  if (number > s->causes.statements || (number != open_of(s) && place_of(s, number))) return;
  uint32_t place = make_place(s, g, file, line);
  if (is_like_another(s) && number == open_of(s) && forget(s, g, place)) return;
  fe_statement *at = place ? make_room(s, g->mem, number) : NULL;
  if (!at) return;
  uint32_t site = find_site(s, g->mem, number == s->open ? s->open_text : text_of(s, number), place);
  if (!site) return;
  *at = (*at & ~(fe_statement)SITES_MOST) | site;
  if (number == s->open) s->open = 0;
}

void fe_statements_write(fe_statements *s, ir_graph *g, uint32_t number, const char *text, bool several,
                         const char *file, int line) {
  fe_statement *at = number ? make_room(s, g->mem, number) : NULL;
  if (!at) return;
  *at = find_site(s, g->mem, text, file ? make_place(s, g, file, line) : 0) | (uint32_t)WRITTEN << SITE_BITS |
        (several ? SEVERAL : 0);
}

/* looking up */

uint32_t fe_statements_of(const ir_graph *g, ir_ref node) {
  ir_cause cause = ir_cause_of(g, node);
  if (!(cause & IR_CAUSE_SET)) return cause & ~IR_CAUSE_RESULT;
  ir_cause_items items = {0};
  uint32_t found = 0;
  int best = 0;
  if (!ir_cause_list(g->causes, cause, &items)) items.count = 0;
  for (size_t i = 0; i < items.count; i++) {
    const ir_cause_item *at = &items.list[i];
    int good = at->by ? 1 : at->result ? 3 : 2;
    if (good >= best) found = at->statement, best = good;
  }
  ir_cause_items_free(g->causes->mem, &items);
  return found;
}

uint32_t fe_statements_first_of(const ir_graph *g, ir_ref node) {
  uint32_t number = fe_statements_of(g, node);
  for (ir_ref reader = node + 1; !number && reader < g->count; reader++) {
    const ir_node *n = ir_get(g, reader);
    bool reads = false;
    for (uint32_t k = 0; k < n->nsrc && ir_shape(g, reader); k++) reads |= n->src[k] == node;
    if (reads) number = fe_statements_of(g, node = reader);
  }
  return number;
}

const char *fe_statements_name_of(const fe_statements *s, const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_cause_items items = {0};
  const char *name = NULL;
  if (g->causes && ir_cause_list(g->causes, ir_cause_of(g, node), &items))
    for (size_t i = 0; i < items.count; i++) {
      const ir_cause_item *at = &items.list[i];
      const fe_statement_name *known = at->result && !at->by ? name_of(s, at->statement) : NULL;
      if (known) name = known->text;
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

uint32_t fe_statements_whole(const fe_statements *s, uint32_t number) {
  const fe_statement_name *name = name_of(s, number);
  return name && name->of ? name->of : number;
}

const char *fe_statements_name_of_result(const fe_statements *s, uint32_t number) {
  const fe_statement_name *name = name_of(s, number);
  return name ? name->text : NULL;
}

uint32_t fe_statements_line(const fe_statements *s, uint32_t number) {
  return place_of(s, fe_statements_whole(s, number)) & FE_LINE_MOST;
}

/* words */

const char *fe_words_place(const fe_statements *s, uint32_t number, fe_words *out) {
  uint32_t place = place_of(s, fe_statements_whole(s, number));
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
    bool known = *fe_words_place(s, fe_statements_of(g, ref), &place);
    snprintf(out->text, sizeof out->text, "%.60s%s%.130s", OP_TYPE(ref), known ? " of " : "", place.text);
  }
  return out->text;
}

/* The result of a statement, or the last of them before node `end`; 0: there is none. */
static ir_ref result_of(const ir_graph *g, uint32_t number, ir_ref end) {
  for (ir_ref node = end; node-- > 1;) {
    ir_cause cause = ir_cause_of(g, node);
    if (cause == (number | IR_CAUSE_RESULT)) return node;
    if (cause & IR_CAUSE_SET && fe_statements_result(g, node, number)) return node;
  }
  return 0;
}

/* Operand number i of a statement; 0: it cannot be told, since the result is another node now. */
static ir_ref operand_of(const fe_statements *s, const ir_graph *g, uint32_t number, ir_ref made, uint32_t i,
                         const ir_ref *elsewhere) {
  if (elsewhere) return elsewhere[2 + i];
  uint32_t source = i + (count_of(s, number) == SHIFTED);
  if (source >= ir_get(g, made)->nsrc) return 0;
  ir_ref at = ir_src(g, made, source);
  for (uint32_t step = steps_of(s, number, i); step > 0; step--) {
    if (!ir_get(g, at)->nsrc) return 0;
    at = ir_src(g, at, 0);
  }
  return at;
}

/* The entry of `given` of a statement. */
static const ir_ref *find_given(const fe_statements *s, uint32_t number) {
  const ir_ref *at = s->given, *end = s->given + s->given_count;
  while (at < end && at[0] != number) at += 2 + (at[1] < FE_FEW_GIVEN ? at[1] : FE_FEW_GIVEN);
  return at < end ? at : NULL;
}

/* The latest result of a statement from which its operands can be told: in functions, nodes are made again of
 * others. 0: there is no result. */
static ir_ref telling_result(const fe_statements *s, const ir_graph *g, uint32_t number, uint32_t count,
                             const ir_ref *elsewhere) {
  ir_ref last = result_of(g, number, (ir_ref)g->count), made = last;
  for (uint32_t i = 0; made && i < count && i < FE_FEW_GIVEN; i++)
    if (!operand_of(s, g, number, made, i, elsewhere)) {
      made = result_of(g, number, made);
      i = (uint32_t)-1;
    }
  return made ? made : last;
}

void fe_put_operation(const fe_statements *s, ir_graph *g, uint32_t number, ir_text *out) {
  number = fe_statements_whole(s, number);
  const char *text = text_of(s, number);
  ir_text_str(out, text ? text : "a value");
  uint32_t count = text ? count_of(s, number) : 0;
  const ir_ref *elsewhere = count == ELSEWHERE ? find_given(s, number) : NULL;
  if (!text || count == WRITTEN) return;
  if (count == ELSEWHERE) count = elsewhere ? elsewhere[1] : 0;
  if (count == SHIFTED) count = 2;
  fe_words word;
  ir_ref made = telling_result(s, g, number, count, elsewhere);
  if (!made) return;
  for (uint32_t i = 0; i < count && i < FE_FEW_GIVEN; i++) {
    ir_ref operand = operand_of(s, g, number, made, i, elsewhere);
    if (!operand) return;
    const ir_node *n = ir_get(g, operand);
    ir_text_str(out, i ? ", " : " ");
    if (n->op == IR_OP_CONST && !elsewhere) /* as a rule given as a number, which had no dtype */
      ir_print_value(out, ir_const_value(g, operand), (ir_dtype)n->dtype);
    else ir_text_str(out, fe_words_value(s, g, operand, &word));
  }
  if (count > FE_FEW_GIVEN) ir_text_str(out, ", ...");
  if (fe_statements_checks(g, made)) ir_textf(out, " axis=%lld", (long long)ir_arg_int(ir_get(g, made)));
}

/* "%a, %b = " of the names of its results. */
static void put_names(const fe_statements *s, uint32_t number, ir_text *out) {
  const fe_statement_name *name = name_of(s, number);
  const char *between = "%";
  if (name) {
    ir_textf(out, "%%%s = ", name->text);
  } else if (statement_of(s, number) & SEVERAL) {
    for (size_t i = 0; i < s->name_count; i++) {
      if (s->names[i].of != number) continue;
      ir_textf(out, "%s%s", between, s->names[i].text);
      between = ", %";
    }
    if (*between == ',') ir_text_str(out, " = ");
  }
}

void fe_put_statement(const fe_statements *s, ir_graph *g, uint32_t number, ir_text *out) {
  fe_words place;
  number = fe_statements_whole(s, number);
  put_names(s, number, out);
  fe_put_operation(s, g, number, out);
  bool written = count_of(s, number) == WRITTEN;
  if (written && place_of(s, number)) ir_textf(out, " (line %u)", place_of(s, number) & FE_LINE_MOST);
  else if (*fe_words_place(s, number, &place)) ir_textf(out, " (%s)", place.text);
}

/* copies */

void fe_statements_copy(fe_statements *to, ir_graph *copy, const fe_statements *from, ir_graph *g,
                        const ir_ref *map, bool all) {
  for (ir_ref node = 1; node < g->count; node++) {
    bool kept = map[node] && (all || fe_statements_checks(g, node));
    uint32_t number = kept ? fe_statements_first_of(g, node) : 0;
    if (!number || text_of(to, number)) continue;
    ir_text text;
    ir_text_init(&text, copy->mem);
    fe_put_operation(from, g, number, &text);
    int64_t what = text.failed ? -1 : ir_name(copy, ir_text_get(&text), text.len);
    uint32_t place = place_of(from, fe_statements_whole(from, number));
    /* files of the copy are its own names */
    const char *file = place ? from->files[(place >> FE_LINE_BITS) - 1].text : NULL;
    if (what >= 0)
      fe_statements_write(to, copy, number, ir_name_text(copy, what), false, file,
                          (int)(place & FE_LINE_MOST));
    ir_text_free(&text);
  }
  for (ir_ref node = 1; all && node < g->count; node++) {
    const char *name = map[node] ? fe_statements_name_of(from, g, node) : NULL;
    uint32_t number = name ? fe_statements_of(g, node) : 0;
    if (number && text_of(to, number) && fe_statements_result(g, node, number))
      fe_statements_name_result(to, copy, number, map[node], name);
  }
}
