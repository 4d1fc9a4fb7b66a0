/* Folding against plain copying of elements.
 *
 *   prop_fold --seed S --count N       random chains of 1 to 8 steps, all views, symbolic sizes among them
 *   --exhaustive LENGTH [--seconds T]  then every chain of up to LENGTH steps with results of rank <= 3 and
 * sizes <= 3, from every such base; length 3 in a seeded order until T seconds are over, with the share
 * covered
 *
 * Each chain is written as a chain expression and read, folded and printed by the library; the printed index
 * and validity are read back by an evaluator of the test's own and compared at every position with the
 * element map that plain loops give. So are the textbook form and, where sizes are numbers, the chain of
 * views. A failing chain is made smaller and printed as a chain expression. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/chain.h"
#include "passes/access.h"
#include "passes/index.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "passes/textbook.h"
#include "passes/view.h"
#include "test/lib/expression.h"
#include "test/lib/random_graph.h"
#include "test/lib/view_model.h"

typedef enum verdict { HOLDS, UNDECIDED, FAILS } verdict;

static char why[2048]; /* of the last failure */
static char told[512]; /* what was tried */
static uint64_t tried; /* chains */

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...) {
  va_list args;
  size_t used = strlen(told);
  va_start(args, format);
  vsnprintf(told + used, sizeof told - used, format, args);
  va_end(args);
}

static bool failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool failed(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  return false;
}

static int64_t elements_of(const model_shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++) count *= s->size[i];
  return count;
}

static void next_position(const model_shape *s, int64_t *at) {
  for (int i = s->rank; i-- > 0;) {
    if (++at[i] < s->size[i]) return;
    at[i] = 0;
  }
}

/* what is printed, at every position */
static bool expressions_hold(const char *form, const char *index, const char *valid, const model_array *want,
                             int64_t size, int64_t n) {
  static expression i, v;
  if (!expression_read(&i, index)) return failed("%s: index is no expression: %.1500s", form, index);
  if (!expression_read(&v, valid)) return failed("%s: validity is no expression: %.1500s", form, valid);
  int64_t at[MODEL_RANK] = {0}, place = -1, inside;
  for (int k = 0; k < want->count; k++, next_position(&want->shape, at)) {
    if (!expression_eval(&v, at, n, &inside))
      return failed("%s: validity %.900s cannot be evaluated at element %d", form, valid, k);
    if (inside != (want->at[k] >= 0))
      return failed("%s: element %d should be %s\n  index %.900s\n  valid %.900s", form, k,
                    want->at[k] >= 0 ? "valid" : "padding", index, valid);
    if (!inside) continue;
    if (!expression_eval(&i, at, n, &place))
      return failed("%s: index %.900s cannot be evaluated at element %d", form, index, k);
    if (place != want->at[k] || place < 0 || place >= size)
      return failed("%s: element %d is read at %" PRId64 ", should be at %" PRId64
                    "\n  index %.900s\n  valid %.900s",
                    form, k, place, want->at[k], index, valid);
  }
  return true;
}

static bool access_holds(ir_graph *g, const char *form, bool folded, ir_ref index, ir_ref valid,
                         const model_array *want, int64_t size, int64_t n) {
  if (!folded) return failed("%s: %s", form, g->error->text);
  ir_text i, v;
  ir_text_init(&i, &ir_mem_libc);
  ir_text_init(&v, &ir_mem_libc);
  ir_print_expr(g, index, &i);
  ir_print_expr(g, valid, &v);
  bool holds = expressions_hold(form, ir_text_get(&i), ir_text_get(&v), want, size, n);
  ir_text_free(&i);
  ir_text_free(&v);
  return holds;
}

/* where a chain of views reads; false: nowhere */
static bool views_at(const pass_view_chain *chain, int64_t *at, int64_t *place) {
  for (size_t c = chain->count; c-- > 0;) {
    const pass_view *v = &chain->views[c];
    *place = v->offset;
    for (uint32_t i = 0; i < v->rank; i++) {
      if (at[i] < v->begin[i] || at[i] >= v->end[i]) return false;
      *place += at[i] * v->stride[i];
    }
    if (c == 0) return true;
    int64_t rest = *place;
    for (uint32_t i = v[-1].rank; i-- > 0; rest /= v[-1].shape[i]) at[i] = rest % v[-1].shape[i];
  }
  return true;
}

static bool views_hold(ir_graph *g, ir_ref node, const model_array *want) {
  pass_view_chain chain;
  bool holds = pass_view_chain_of(g, node, &chain);
  if (!holds) failed("views: %s", g->error->text);
  int64_t at[MODEL_RANK] = {0}, place = 0;
  for (int k = 0; k < want->count && holds; k++, next_position(&want->shape, at)) {
    int64_t copy[IR_MAX_RANK];
    memcpy(copy, at, sizeof at);
    int64_t found = views_at(&chain, copy, &place) ? place : -1;
    if (found != want->at[k])
      holds =
          failed("views: element %d is read at %" PRId64 ", should be at %" PRId64, k, found, want->at[k]);
  }
  pass_view_chain_free(&chain);
  return holds;
}

static bool shape_holds(ir_graph *g, ir_ref node, const model_shape *want, int64_t n) {
  static expression e;
  int64_t size = -1;
  if (ir_rank(g, node) != (uint32_t)want->rank)
    return failed("shape: rank %u, should be %d", ir_rank(g, node), want->rank);
  for (int i = 0; i < want->rank; i++) {
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_expr(g, ir_dim(g, node, (uint32_t)i), &text);
    bool holds = expression_read(&e, ir_text_get(&text)) && expression_eval(&e, NULL, n, &size) &&
                 size == want->size[i];
    if (!holds) failed("shape: axis %d has size %.500s, should be %d", i, ir_text_get(&text), want->size[i]);
    ir_text_free(&text);
    if (!holds) return false;
  }
  return true;
}

/* few: only what kernels are made from, and views */
static bool forms_hold(ir_graph *g, ir_ref node, const model_array *want, int64_t size, int64_t n,
                       bool numbers, bool few) {
  ir_ref index, valid;
  bool folded;
  if (!pass_has_gather(g, node)) {
    folded = pass_fold_chain(g, node, &index, &valid);
    if (!access_holds(g, "fold", folded, index, valid, want, size, n)) return false;
  }
  if (!few) {
    folded = pass_access(g, &pass_canonical, node, &index, &valid);
    if (!access_holds(g, "access", folded, index, valid, want, size, n)) return false;
    folded = pass_access(g, &pass_textbook, node, &index, &valid);
    if (!access_holds(g, "textbook", folded, index, valid, want, size, n)) return false;
  }
  return !numbers || views_hold(g, node, want);
}

static verdict try_chain(const model_chain *c) {
  static model_array want;
  char text[MODEL_TEXT];
  if (!model_run(c, &want)) return UNDECIDED;
  model_print(c, text);
  ir_error error = {0};
  ir_graph g;
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return UNDECIDED;
  int64_t n = 0;
  bool numbers = true;
  for (int i = 0; i < c->base.rank; i++)
    if (c->varies >> i & 1) n = c->base.size[i];
  for (int i = 0; i < c->count; i++) {
    const model_step *s = &c->steps[i];
    numbers &= s->kind != MODEL_GATHER && (s->kind != MODEL_PAD || s->mode == MODEL_CONSTANT);
  }
  ir_ref node = fe_chain_parse(&g, "<chain>", text, strlen(text));
  verdict result = HOLDS;
  if (!node) {
    result = c->varies ? UNDECIDED : FAILS; /* what holds for one n need not hold for every n */
    if (!c->varies) failed("recording: %s", error.text);
  } else if (!shape_holds(&g, node, &want.shape, n) ||
             !forms_hold(&g, node, &want, elements_of(&c->base), n, numbers && !c->varies, false)) {
    result = FAILS;
  }
  ir_graph_free(&g);
  return result;
}

static int report(model_chain *c, const char *again) {
  char text[MODEL_TEXT];
  for (bool smaller = true; smaller;) {
    smaller = false;
    model_chain next;
    for (int i = 0; !smaller && model_smaller(c, i, &next); i++) {
      if (memcmp(c, &next, sizeof next) == 0 || try_chain(&next) != FAILS) continue;
      *c = next;
      smaller = true;
    }
  }
  try_chain(c);
  model_print(c, text);
  printf("%s\n%s\nagain: %s\n", text, why, again);
  return 1;
}

static int random_chains(uint64_t seed, uint64_t count) {
  uint64_t undecided = 0;
  for (uint64_t k = 0; k < count; k++) {
    model_chain c;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + k;
    model_random(&state, &c);
    verdict v = try_chain(&c);
    undecided += v == UNDECIDED;
    if (v != FAILS) continue;
    char again[128];
    printf("prop_fold: case %" PRIu64 " of seed %" PRIu64 " failed\n", k, seed);
    snprintf(again, sizeof again, "prop_fold --seed %" PRIu64 " --count %" PRIu64, seed, k + 1);
    return report(&c, again);
  }
  tell("; %" PRIu64 " random, %" PRIu64 " of them symbolic and refused as undecidable", count, undecided);
  tried += count;
  return 0;
}

/* --------------------------------------------------------------------------------------------------
 * exhaustive search */

enum { CONFINED_RANK = 3, CONFINED_SIZE = 3, CONFINED_ELEMENTS = 27, SHAPES = 1 + 4 + 16 + 64, LONGEST = 3 };

typedef struct move {
  model_step step;
  int to;                           /* shape of the result */
  int8_t source[CONFINED_ELEMENTS]; /* element of the operand, by element of the result; -1: padding */
} move;

typedef struct moves {
  move *list;
  size_t count, cap;
  uint64_t chains[LONGEST + 1]; /* of each length that start here */
} moves;

static model_shape shapes[SHAPES];
static moves table[SHAPES];

static int shape_number(const model_shape *s) {
  static const int first[] = {0, 1, 5, 21};
  int code = 0;
  if (s->rank > CONFINED_RANK) return -1;
  for (int i = 0; i < s->rank; i++) {
    if (s->size[i] > CONFINED_SIZE) return -1;
    code = code * (CONFINED_SIZE + 1) + s->size[i];
  }
  return first[s->rank] + code;
}

static void add_move(int from, const model_step *step) {
  model_shape to;
  moves *m = &table[from];
  if (!model_shape_after(&shapes[from], step, &to) || shape_number(&to) < 0) return;
  if (m->count == m->cap) {
    m->cap = m->cap ? 2 * m->cap : 64;
    m->list = realloc(m->list, m->cap * sizeof *m->list);
    if (!m->list) exit(77);
  }
  move *made = &m->list[m->count++];
  *made = (move){.step = *step, .to = shape_number(&to)};
  for (int i = 0; i < model_elements(&to); i++) made->source[i] = model_source(&shapes[from], step, &to, i);
}

/* Every way to give `n` parameters values of lo..hi. */
static bool odometer(int *digits, int n, int lo, int hi) {
  for (int i = n; i-- > 0;) {
    if (digits[i]++ < hi) return true;
    digits[i] = lo;
  }
  return false;
}

static void each(int from, model_step s, int n, int lo, int hi) {
  for (int i = 0; i < n; i++) s.a[i] = lo;
  do add_move(from, &s);
  while (odometer(s.a, n, lo, hi));
}

/* both lists at once: 2n digits of 0..3 */
static void each_pair(int from, model_step s, int n) {
  int digits[2 * CONFINED_RANK] = {0};
  do {
    bool some = false;
    for (int i = 0; i < n; i++) s.a[i] = digits[2 * i], s.b[i] = digits[2 * i + 1], some |= s.a[i] || s.b[i];
    if (some || s.mode == MODEL_CONSTANT) add_move(from, &s);
  } while (odometer(digits, 2 * n, 0, 3));
}

static void list_moves(int from) {
  int rank = shapes[from].rank;
  each(from, (model_step){.kind = MODEL_PERMUTE}, rank, 0, rank - 1);
  for (int n = 0; n <= CONFINED_RANK; n++)
    each(from, (model_step){.kind = MODEL_RESHAPE, .n = n}, n, 0, CONFINED_SIZE);
  each(from, (model_step){.kind = MODEL_EXPAND}, rank, 0, CONFINED_SIZE);
  each_pair(from, (model_step){.kind = MODEL_SHRINK}, rank);
  for (int mode = MODEL_CONSTANT; mode <= MODEL_WRAP; mode++)
    each_pair(from, (model_step){.kind = MODEL_PAD, .mode = mode}, rank);
  for (int set = 0; set < 1 << rank; set++) {
    model_step s = {.kind = MODEL_FLIP};
    for (int i = 0; i < rank; i++)
      if (set >> i & 1) s.a[s.n++] = i;
    add_move(from, &s);
  }
  each(from, (model_step){.kind = MODEL_STRIDE}, rank, -CONFINED_SIZE, CONFINED_SIZE);
  for (int axis = 0; axis <= rank; axis++) {
    add_move(from, &(model_step){.kind = MODEL_UNSQUEEZE, .a = {axis}});
    if (axis == rank) break;
    add_move(from, &(model_step){.kind = MODEL_SQUEEZE, .a = {axis}});
    for (int at = -CONFINED_SIZE; at < CONFINED_SIZE; at++)
      add_move(from, &(model_step){.kind = MODEL_POINT, .a = {axis}, .b = {at}});
  }
}

static void list_everything(void) {
  for (int rank = 0; rank <= CONFINED_RANK; rank++) {
    model_shape s = {.rank = rank};
    int digits[CONFINED_RANK] = {0};
    do {
      for (int i = 0; i < rank; i++) s.size[i] = digits[i];
      shapes[shape_number(&s)] = s;
    } while (odometer(digits, rank, 0, CONFINED_SIZE));
  }
  for (int i = 0; i < SHAPES; i++) list_moves(i), table[i].chains[0] = 1;
  for (int length = 1; length <= LONGEST; length++)
    for (int i = 0; i < SHAPES; i++)
      for (size_t k = 0; k < table[i].count; k++)
        table[i].chains[length] += table[table[i].list[k].to].chains[length - 1];
}

/* The step on the library's side, without text. */
static ir_ref record(ir_graph *g, ir_ref x, const model_step *s) {
  ir_ref list[2 * CONFINED_RANK];
  int rank = (int)ir_rank(g, x), n = s->kind == MODEL_RESHAPE || s->kind == MODEL_FLIP ? s->n : rank;
  for (int i = 0; i < n; i++) list[i] = ir_index(g, s->a[i]);
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE: return op_permute(g, x, list, (size_t)n);
  case MODEL_RESHAPE: return op_reshape(g, x, list, (size_t)n);
  case MODEL_EXPAND: return op_expand(g, x, list, (size_t)n);
  case MODEL_FLIP: return op_flip(g, x, list, (size_t)n);
  case MODEL_STRIDE: return op_stride(g, x, list, (size_t)n);
  case MODEL_UNSQUEEZE: return op_unsqueeze(g, x, s->a[0]);
  case MODEL_SQUEEZE: return op_squeeze(g, x, (list[0] = ir_index(g, s->a[0]), list), 1);
  case MODEL_POINT: return op_point(g, x, ir_index(g, s->b[0]), s->a[0]);
  case MODEL_SHRINK:
  case MODEL_PAD:
    for (int i = 0; i < rank; i++) {
      list[2 * i] = ir_index(g, s->a[i]);
      bool pad = s->kind == MODEL_PAD;
      list[2 * i + 1] = pad ? ir_index(g, s->b[i]) : pass_add_int(g, ir_dim(g, x, (uint32_t)i), -s->b[i]);
    }
    return s->kind == MODEL_PAD ? op_pad(g, x, list, (size_t)rank, 0, s->mode)
                                : op_shrink(g, x, list, (size_t)rank);
  default: return 0;
  }
}

typedef struct search {
  ir_graph g;
  ir_error error;
  ir_ref bases[SHAPES], nodes[LONGEST + 1]; /* nodes: after each step */
  model_array maps[LONGEST + 1];
  uint64_t tried;
} search;

static bool start(search *s, int base) {
  if (s->g.count == 0 || s->g.count > 200000) { /* node by node a graph only grows */
    ir_graph_free(&s->g);
    memset(s->bases, 0, sizeof s->bases);
    if (ir_graph_init(&s->g, &ir_mem_libc, &s->error) != IR_OK) return false;
  }
  if (!s->bases[base]) {
    ir_ref dims[CONFINED_RANK];
    for (int i = 0; i < shapes[base].rank; i++) dims[i] = ir_index(&s->g, shapes[base].size[i]);
    s->bases[base] = op_input(&s->g, "x", 1, IR_F32, dims, (size_t)shapes[base].rank);
  }
  s->nodes[0] = s->bases[base];
  model_base(&shapes[base], &s->maps[0]);
  return s->nodes[0] != 0;
}

static bool take(search *s, int depth, const move *m) {
  const model_array *from = &s->maps[depth - 1];
  model_array *to = &s->maps[depth];
  to->shape = shapes[m->to];
  to->count = model_elements(&to->shape);
  for (int i = 0; i < to->count; i++) to->at[i] = m->source[i] < 0 ? -1 : from->at[m->source[i]];
  s->nodes[depth] = record(&s->g, s->nodes[depth - 1], &m->step);
  return s->nodes[depth] || failed("recording: %s", s->error.text);
}

static bool judge(search *s, int base, const move *const *path, int length) {
  bool numbers = true;
  for (int i = 0; i < length; i++)
    numbers &= path[i]->step.kind != MODEL_PAD || path[i]->step.mode == MODEL_CONSTANT;
  s->tried++;
  return forms_hold(&s->g, s->nodes[length], &s->maps[length], elements_of(&shapes[base]), 0, numbers,
                    length == LONGEST);
}

static int report_path(int base, const move *const *path, int length) {
  model_chain c = {.base = shapes[base], .count = length, .divisor = 1};
  for (int i = 0; i < length; i++) c.steps[i] = path[i]->step;
  char first[sizeof why], text[MODEL_TEXT];
  memcpy(first, why, sizeof first);
  model_print(&c, text);
  printf("prop_fold: %s\n%s\nmade smaller:\n", text, first);
  return report(&c, "prop_fold --exhaustive");
}

/* Lengths 1 and, if asked for, 2, in order. */
static int exhaust(search *s, int length) {
  for (int base = 0; base < SHAPES; base++) {
    for (size_t i = 0; i < table[base].count; i++) {
      const move *path[2] = {&table[base].list[i]};
      if (!start(s, base) || !take(s, 1, path[0]) || !judge(s, base, path, 1))
        return report_path(base, path, 1);
      const moves *next = &table[path[0]->to];
      for (size_t k = 0; k < next->count && length > 1; k++) {
        path[1] = &next->list[k];
        if (!take(s, 2, path[1]) || !judge(s, base, path, 2)) return report_path(base, path, 2);
      }
    }
  }
  return 0;
}

static uint64_t common(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

/* Length 3: chain number (first + k*step) mod total, which meets every chain once. */
static int sample(search *s, uint64_t seed, double seconds, uint64_t *total) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < SHAPES; i++) *total += table[i].chains[LONGEST];
  uint64_t state = seed, at = random_next(&state) % *total, step = random_next(&state) % *total | 1;
  while (common(step, *total) != 1) step += 2;
  step %= *total;
  for (uint64_t k = 0; k < *total; k++, at = (at + step) % *total) {
    uint64_t rest = at;
    int base = 0;
    while (rest >= table[base].chains[LONGEST]) rest -= table[base++].chains[LONGEST];
    const move *path[LONGEST];
    if (!start(s, base)) return report_path(base, path, 0);
    for (int depth = 0, from = base; depth < LONGEST; depth++, from = path[depth - 1]->to) {
      const move *m = table[from].list;
      for (; rest >= table[m->to].chains[LONGEST - 1 - depth]; m++)
        rest -= table[m->to].chains[LONGEST - 1 - depth];
      path[depth] = m;
      if (!take(s, depth + 1, m)) return report_path(base, path, depth + 1);
    }
    if (!judge(s, base, path, LONGEST)) return report_path(base, path, LONGEST);
    if (seconds <= 0 || k % 256) continue;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) > seconds) break;
  }
  return 0;
}

static int exhaustive(int length, uint64_t seed, double seconds) {
  static search s;
  uint64_t total = 0;
  s.g.mem = &ir_mem_libc;
  list_everything();
  int status = exhaust(&s, length);
  tell("; all %" PRIu64 " of up to %d steps with rank and sizes <= 3", s.tried,
       length < LONGEST ? length : LONGEST - 1);
  uint64_t before = s.tried;
  if (!status && length == LONGEST) {
    status = sample(&s, seed, seconds, &total);
    tell("; %.4f%% of the %" PRIu64 " of 3 steps", 100.0 * (double)(s.tried - before) / (double)total, total);
  }
  tried += s.tried;
  ir_graph_free(&s.g);
  for (int i = 0; i < SHAPES; i++) free(table[i].list);
  return status;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000;
  int length = 0;
  double seconds = 0;
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value && strcmp(argv[i], "--seed") == 0) seed = strtoull(value, NULL, 10);
    else if (value && strcmp(argv[i], "--count") == 0) count = strtoull(value, NULL, 10);
    else if (value && strcmp(argv[i], "--exhaustive") == 0) length = atoi(value);
    else if (value && strcmp(argv[i], "--seconds") == 0) seconds = strtod(value, NULL);
    else length = -1;
  }
  if (length < 0 || length > LONGEST) {
    fprintf(stderr, "usage: prop_fold [--seed S] [--count N] [--exhaustive 1|2|3 [--seconds T]]\n");
    return 2;
  }
  if (random_chains(seed, count) || (length && exhaustive(length, seed, seconds))) return 1;
  printf("prop_fold: %" PRIu64 " cases, 0 failed, seed %" PRIu64 "%s\n", tried, seed, told);
  return 0;
}
