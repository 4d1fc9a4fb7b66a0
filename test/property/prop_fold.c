/* Folding against plain copying of elements.
 *
 *   prop_fold --seed S --count N [--jobs J] [--largest 4]
 *     N random chains of 1 to 8 steps, all views, symbolic sizes among them; then, as samples of the search
 *     below, N/4 of 2 steps and as many of 3
 *   prop_fold --seed S --count N [--jobs J] [--largest 4] --exhaustive LENGTH [--seconds T] [--samples M]
 *     after the random chains every one of up to 2 of LENGTH steps whose results, from the base on, have
 *     rank <= 3 and sizes <= 4, and longer ones in a seeded order that meets each once, until T seconds are
 *     over or M of each length are done, with the share covered
 *
 * Each random chain is written as a chain expression and read, folded and printed by the library; the printed
 * index and validity are read back by the test's own evaluator and compared at every element with the element
 * map that plain loops give. So are the textbook form and, where sizes are numbers, the chain of views.
 * Simplifying a folded expression again must give the same node and make no new one. A failing chain is
 * reduced and printed as a chain expression. J processes share the work. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/timer.h"
#include "frontend/text/chain.h"
#include "frontend/views/access.h"
#include "frontend/views/textbook.h"
#include "passes/fold/fold.h"
#include "test/lib/random_graph.h"
#include "test/lib/view_check.h"
#include "test/lib/view_model.h"
#include "test/lib/view_record.h"
#include "test/lib/view_search.h"
#include "test/lib/options.h"

enum { MOST_JOBS = 64 };

typedef enum verdict { HOLDS, UNDECIDED, FAILS } verdict;

/* What was tried, by one process or by all. */
typedef struct totals {
  uint64_t random, undecided, complete, sampled[SEARCH_STEPS + 1];
} totals;

typedef struct options {
  uint64_t seed, from, count, samples;
  int complete, first, last; /* all chains up to `complete` steps; samples of first..last */
  int largest, jobs;
  double seconds;
} options;

static int64_t elements_of(const model_shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++) count *= s->size[i];
  return count;
}

/* A pair (index, valid) that was found right for every element and unchanged when simplified again. Such
 * pairs are remembered until the graph is cleared. */
enum { REMEMBERED = 1 << 14, SHORT = 64 };
typedef struct known {
  uint64_t life;
  ir_ref index, valid;
  model_shape shape;
  int at[SHORT];
} known;
static known remembered[REMEMBERED];
static uint64_t life = 1; /* incremented for each graph */

static bool access_holds(ir_graph *g, const char *form, ir_ref index, ir_ref valid, const model_array *want,
                         int64_t size, int64_t n) {
  known *k = &remembered[(index * 31 + valid) % REMEMBERED];
  size_t bytes = (size_t)want->count * sizeof *want->at;
  if (k->life == life && k->index == index && k->valid == valid &&
      memcmp(&k->shape, &want->shape, sizeof k->shape) == 0 && memcmp(k->at, want->at, bytes) == 0)
    return true;
  if (!view_check_access(g, form, index, valid, want, size, n) ||
      !view_check_canonical(g, index, valid, n == 0))
    return false;
  if (want->count > SHORT) return true;
  *k = (known){.life = life, .index = index, .valid = valid, .shape = want->shape};
  memcpy(k->at, want->at, bytes);
  return true;
}

/* few: checks only the form that kernels are made from, and the views */
static bool forms_hold(ir_graph *g, ir_ref node, const model_array *want, int64_t size, int64_t n,
                       bool numbers, bool few) {
  ir_ref index, valid;
  if (!pass_has_gather(g, node)) {
    if (!pass_fold_chain(g, node, &index, &valid)) return view_check_failed("fold: %s", g->error->text);
    if (!access_holds(g, "fold", index, valid, want, size, n)) return false;
  }
  if (!few) {
    if (!pass_access(g, &pass_canonical, node, &index, &valid))
      return view_check_failed("access: %s", g->error->text);
    if (!access_holds(g, "access", index, valid, want, size, n)) return false;
    if (!pass_access(g, &pass_textbook, node, &index, &valid))
      return view_check_failed("textbook: %s", g->error->text);
    if (!view_check_access(g, "textbook", index, valid, want, size, n)) return false;
  }
  return !numbers || view_check_views(g, node, want);
}

/* Checks the chain at one value of n, the symbolic size. */
static bool holds_at(ir_graph *g, ir_ref node, const model_chain *c, int n, bool numbers) {
  static model_array want;
  model_chain here;
  model_resized(c, n, &here);
  if (!model_run(&here, &want)) return true; /* too large for the model */
  return view_check_shape(g, node, &want.shape, n) &&
         forms_hold(g, node, &want, elements_of(&here.base), n, numbers, false);
}

static verdict try_chain(const model_chain *c) {
  static model_array want;
  char text[MODEL_TEXT];
  if (!model_run(c, &want)) return UNDECIDED;
  model_print(c, text);
  ir_error error = {0};
  ir_graph g;
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return UNDECIDED;
  life++;
  bool numbers = true;
  for (int i = 0; i < c->count; i++) {
    const model_step *s = &c->steps[i];
    numbers &= s->kind != MODEL_GATHER && (s->kind != MODEL_PAD || s->mode == MODEL_CONSTANT);
  }
  ir_ref node = fe_chain_parse(&g, "<chain>", text, strlen(text));
  verdict result = HOLDS;
  if (!node) {
    result = c->varies ? UNDECIDED : FAILS; /* a chain recorded for one n need not be valid for every n */
    if (!c->varies) view_check_failed("recording: %s", error.text);
  } else {
    int lo = c->varies ? (c->lo + c->divisor - 1) / c->divisor * c->divisor : 0, hi = c->varies ? c->hi : 0;
    for (int n = lo; n <= hi && result == HOLDS; n += c->divisor)
      if (!holds_at(&g, node, c, n, numbers && !c->varies)) result = FAILS;
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
  printf("%s\n%s\nagain: %s\n", text, view_check_why, again);
  return 1;
}

static int random_chains(const options *o, int job, totals *t) {
  for (uint64_t k = o->from + (uint64_t)job; k < o->from + o->count; k += (uint64_t)o->jobs) {
    model_chain c;
    uint64_t state = o->seed * 0x9e3779b97f4a7c15u + k;
    model_random(&state, &c);
    verdict v = try_chain(&c);
    t->random++, t->undecided += v == UNDECIDED;
    if (v != FAILS) continue;
    char again[128];
    printf("prop_fold: case %" PRIu64 " of seed %" PRIu64 " failed\n", k, o->seed);
    snprintf(again, sizeof again, "prop_fold --seed %" PRIu64 " --from %" PRIu64 " --count 1", o->seed, k);
    return report(&c, again);
  }
  return 0;
}

/* --------------------------------------------------------------------------------------------------
 * exhaustive search */

/* A graph with more nodes is cleared. Longer chains are folded but not written in the textbook form. */
enum { GRAPH_NODES = 1 << 11, FULL_LENGTH = 1 };

typedef struct search {
  const search_table *table;
  ir_graph g;
  ir_error error;
  ir_ref bases[SEARCH_SHAPES], nodes[SEARCH_STEPS + 1]; /* nodes: after each step */
  model_array maps[SEARCH_STEPS + 1];
} search;

static bool start(search *s, int base) {
  if (s->g.count == 0 || s->g.count > GRAPH_NODES) { /* a graph only grows until it is cleared */
    ir_graph_free(&s->g);
    memset(s->bases, 0, sizeof s->bases);
    life++;
    if (ir_graph_init(&s->g, &ir_mem_libc, &s->error) != IR_OK) return false;
  }
  if (!s->bases[base]) s->bases[base] = view_record_base(&s->g, &s->table->shapes[base], 1);
  s->nodes[0] = s->bases[base];
  model_base(&s->table->shapes[base], &s->maps[0]);
  return s->nodes[0] != 0;
}

static bool apply_move(search *s, int depth, const search_move *m) {
  const model_array *from = &s->maps[depth - 1];
  model_array *to = &s->maps[depth];
  to->shape = s->table->shapes[m->to];
  to->count = model_elements(&to->shape);
  for (int i = 0; i < to->count; i++) to->at[i] = m->source[i] < 0 ? -1 : from->at[m->source[i]];
  s->nodes[depth] = view_record_step(&s->g, s->nodes[depth - 1], &m->step);
  return s->nodes[depth] || view_check_failed("recording: %s", s->error.text);
}

static bool judge(search *s, int base, const search_move *const *path, int length) {
  bool numbers = true;
  for (int i = 0; i < length; i++)
    numbers &= path[i]->step.kind != MODEL_PAD || path[i]->step.mode == MODEL_CONSTANT;
  return forms_hold(&s->g, s->nodes[length], &s->maps[length], elements_of(&s->table->shapes[base]), 0,
                    numbers, length > FULL_LENGTH);
}

static int report_path(const search *s, int base, const search_move *const *path, int length) {
  model_chain c = {.base = s->table->shapes[base], .count = length, .divisor = 1};
  for (int i = 0; i < length; i++) c.steps[i] = path[i]->step;
  char text[MODEL_TEXT];
  model_print(&c, text);
  printf("prop_fold: %s\n%s\nmade smaller:\n", text, view_check_why);
  return report(&c, "prop_fold --exhaustive");
}

/* Lengths 1 and, if asked for, 2, in order. Job j of J handles every J-th first step. */
static int complete(search *s, const options *o, int job, totals *t) {
  uint64_t turn = 0;
  for (int base = 0; base < s->table->shape_count; base++) {
    for (size_t i = 0; i < s->table->moves[base].count; i++) {
      const search_move *path[2] = {&s->table->moves[base].list[i]};
      if (turn++ % (uint64_t)o->jobs != (uint64_t)job) continue;
      if (!start(s, base) || !apply_move(s, 1, path[0]) || !judge(s, base, path, 1))
        return report_path(s, base, path, 1);
      t->complete++;
      const search_moves *next = &s->table->moves[path[0]->to];
      for (size_t k = 0; k < next->count && o->complete > 1; k++) {
        path[1] = &next->list[k];
        if (!apply_move(s, 2, path[1]) || !judge(s, base, path, 2)) return report_path(s, base, path, 2);
        t->complete++;
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

/* The chains of one length are divided into blocks of BLOCK neighbours, which share their first steps. Blocks
 * are visited in an order that meets each once: the i-th is number (at + i*step) modulo the number of
 * blocks. */
enum { BLOCK = 64 };
typedef struct order {
  uint64_t chains, blocks, at, step, taken; /* taken: blocks that this job has tried */
} order;

static void advance(order *o, uint64_t steps) {
  o->at = (uint64_t)(((unsigned __int128)o->step * steps + o->at) % o->blocks);
}

static order order_of(const search_table *table, int length, uint64_t seed, int job) {
  uint64_t state = seed + (uint64_t)length;
  order o = {.chains = search_count(table, length)};
  o.blocks = (o.chains + BLOCK - 1) / BLOCK;
  o.at = random_next(&state) % o.blocks, o.step = random_next(&state) % o.blocks | 1;
  while (common(o.step, o.blocks) != 1) o.step += 2;
  o.step %= o.blocks;
  advance(&o, (uint64_t)job);
  return o;
}

static int one_sample(search *s, int length, uint64_t number, totals *t) {
  const search_move *path[SEARCH_STEPS];
  int base = search_path(s->table, length, number, path);
  if (!start(s, base)) return report_path(s, base, path, 0);
  for (int depth = 1; depth <= length; depth++)
    if (!apply_move(s, depth, path[depth - 1])) return report_path(s, base, path, depth);
  if (!judge(s, base, path, length)) return report_path(s, base, path, length);
  t->sampled[length]++;
  return 0;
}

static double now(void) { return (double)ir_now_ns() * 1e-9; }

/* Tries the sampled lengths in turn, until the samples are done, the time is over, or all chains of a length
 * are tried. */
static int sample(search *s, const options *o, int job, totals *t) {
  const uint64_t jobs = (uint64_t)o->jobs;
  double end = now() + o->seconds;
  order orders[SEARCH_STEPS + 1];
  for (int length = o->first; length <= o->last; length++)
    orders[length] = order_of(s->table, length, o->seed, job);
  if (o->first > o->last) return 0;
  for (uint64_t k = (uint64_t)job; o->samples == 0 || k * BLOCK < o->samples; k += jobs) {
    for (int length = o->first; length <= o->last; length++) {
      order *next = &orders[length];
      if (next->taken++ * jobs + (uint64_t)job >= next->blocks) return 0;
      for (uint64_t i = next->at * BLOCK; i < (next->at + 1) * BLOCK && i < next->chains; i++)
        if (one_sample(s, length, i, t)) return 1;
      advance(next, jobs);
    }
    if (o->seconds > 0 && now() > end) break;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------------------- */

static int work(const options *o, const search_table *table, int job, totals *t) {
  static search s;
  s.table = table;
  s.g.mem = &ir_mem_libc;
  int status = random_chains(o, job, t);
  if (!status && o->complete) status = complete(&s, o, job, t);
  if (!status) status = sample(&s, o, job, t);
  ir_graph_free(&s.g);
  return status;
}

/* Runs every job but the last in a process of its own; their totals come back through pipes. */
static int work_in_jobs(const options *o, const search_table *table, totals *sum) {
  int ends[MOST_JOBS][2], failed = 0;
  for (int job = 1; job < o->jobs; job++) {
    if (pipe(ends[job]) != 0) exit(77);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) exit(77);
    if (child) continue;
    totals t = {0};
    failed = work(o, table, job, &t) || write(ends[job][1], &t, sizeof t) != sizeof t;
    fflush(NULL);
    _exit(failed);
  }
  failed = work(o, table, 0, sum);
  for (int job = 1; job < o->jobs; job++) {
    int status;
    totals t = {0};
    close(ends[job][1]);
    failed |= read(ends[job][0], &t, sizeof t) != sizeof t;
    close(ends[job][0]);
    sum->random += t.random, sum->undecided += t.undecided, sum->complete += t.complete;
    for (int i = 0; i <= SEARCH_STEPS; i++) sum->sampled[i] += t.sampled[i];
    failed |= wait(&status) < 0 || status != 0;
  }
  return failed;
}

static bool read_options(int argc, char **argv, options *o) {
  int length = 0;
  OPTIONS_READ(argc, argv, OPTION("--seed", &o->seed), OPTION("--from", &o->from),
               OPTION("--count", &o->count), OPTION("--exhaustive", &length),
               OPTION("--largest", &o->largest), OPTION("--seconds", &o->seconds),
               OPTION("--samples", &o->samples), OPTION("--jobs", &o->jobs));
  o->complete = length < 2 ? length : 2;
  o->first = length ? 3 : 2, o->last = length ? length : 3;
  if (!length && !o->samples) o->samples = o->count / 4;
  return length >= 0 && length <= SEARCH_STEPS && o->largest >= 1 && o->largest <= SEARCH_SIZE &&
         o->jobs >= 1 && o->jobs <= MOST_JOBS;
}

int main(int argc, char **argv) {
  static search_table table;
  options o = {.seed = 1, .count = 1000, .largest = SEARCH_SIZE, .jobs = 1};
  totals t = {0};
  if (!read_options(argc, argv, &o)) {
    fprintf(stderr,
            "usage: prop_fold [--seed S] [--from CASE] [--count N] [--jobs J]\n"
            "  [--exhaustive 1..%d [--largest 1..%d] [--seconds T] [--samples M]]\n",
            SEARCH_STEPS, SEARCH_SIZE);
    return 2;
  }
  search_make(&table, o.largest);
  double begin = now();
  int failed = work_in_jobs(&o, &table, &t);
  double seconds = now() - begin;
  uint64_t tried = t.random + t.complete;
  if (o.complete)
    printf("all %" PRIu64 " chains of up to %d steps with rank <= %d and sizes <= %d\n", t.complete,
           o.complete, SEARCH_RANK, o.largest);
  for (int length = o.first; length <= o.last; length++) {
    uint64_t total = search_count(&table, length);
    printf("%" PRIu64 " of the %" PRIu64 " chains of %d steps, %.6f%%\n", t.sampled[length], total, length,
           100.0 * (double)t.sampled[length] / (double)total);
    tried += t.sampled[length];
  }
  printf("%.0f chains a second\n", (double)tried / (seconds > 0 ? seconds : 1));
  search_free(&table);
  if (failed) return 1;
  printf("prop_fold: %" PRIu64 " cases, 0 failed, seed %" PRIu64 "; %" PRIu64 " random, %" PRIu64
         " of them symbolic and refused as undecidable\n",
         tried, o.seed, t.random, t.undecided);
  return 0;
}
