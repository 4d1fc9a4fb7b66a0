/* Local search: from the best moves so far to a better neighbour (passes/loops/neighbours.c), until no
 * neighbour is better or the time is up.
 *
 * Each neighbour is run a few times. The fastest ones then run alternately with the best so far, and a
 * neighbour wins where its median is less by a margin in two such duels. Other load on the machine thus makes
 * the search slower, but seldom wrong. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/tune/tune.h"
#include "frontend/profile/median.h"
#include "ir/timer.h"

enum {
  FINALISTS = 3,
  MOST_SAMPLES = 31,
  LEAST_SAMPLES = 7,
  QUICK_SAMPLES = 3,
  DUEL_NS = 60000000,
  QUICK_NS = 2000000
};
#define MARGIN      0.97 /* a challenger wins below this factor of the best time */
#define RERUN_LIMIT 1.5  /* above this factor of the best time it is not run again */

typedef struct finalist {
  size_t neighbour;
  int64_t ns;
  rt_program *program;
} finalist;

static bool may_continue(int64_t until) { return !tune_stopped() && ir_now_ns() < until; }

/* Median times of t->searched_kernel in both programs, which run alternately. After a signal both are
 * `expected`. */
static ir_status median_alternating(tune *t, const rt_program *const two[2], int64_t expected, int64_t out[2],
                                    ir_error *error) {
  int64_t ns[2][MOST_SAMPLES], each = expected > 0 ? DUEL_NS / (2 * expected) : MOST_SAMPLES;
  int count = each > MOST_SAMPLES ? MOST_SAMPLES : each < LEAST_SAMPLES ? LEAST_SAMPLES : (int)each;
  for (int i = 0; i < count && !tune_stopped(); i++)
    for (int k = 0; k < 2; k++)
      if (tune_time(t, two[k], &ns[k][i], error) != IR_OK) return error->status;
  for (int k = 0; k < 2; k++) out[k] = tune_stopped() ? expected : fe_median(ns[k], (size_t)count);
  return IR_OK;
}

/* Does the challenger win two duels? If *won, ns has the medians of the second duel: of best, of challenger.
 * expected: about how long either takes. */
static ir_status wins(tune *t, const rt_program *best, const rt_program *challenger, int64_t expected,
                      int64_t ns[2], bool *won, ir_error *error) {
  const rt_program *two[] = {best, challenger};
  int64_t medians[2] = {0};
  *won = true;
  for (int duel = 0; duel < 2 && *won; duel++) {
    if (median_alternating(t, two, expected, medians, error) != IR_OK) return error->status;
    *won = (double)medians[1] < MARGIN * (double)medians[0];
  }
  if (*won) memcpy(ns, medians, sizeof medians);
  return IR_OK;
}

/* The least time of a few runs: of two where the second is RERUN_LIMIT times as long as `best`. */
static ir_status time_quickly(tune *t, const rt_program *program, int64_t best, int64_t *ns,
                              ir_error *error) {
  int64_t once, spent = 0;
  *ns = INT64_MAX;
  for (int i = 0; i < MOST_SAMPLES && (i < QUICK_SAMPLES || spent < QUICK_NS); i++) {
    if (tune_time(t, program, &once, error) != IR_OK) return error->status;
    if (once < *ns) *ns = once;
    if ((double)once > RERUN_LIMIT * (double)best && i) break;
    spent += once;
  }
  return IR_OK;
}

static void enter_final(finalist *list, finalist f) {
  for (int i = 0; i < FINALISTS; i++) {
    if (list[i].program && list[i].ns <= f.ns) continue;
    finalist out = list[i];
    list[i] = f;
    f = out;
  }
  rt_program_release(f.program);
}

/* Compile, check and time one neighbour, and enter it among the finalists. Moves that cannot be compiled
 * here, or give other results, are skipped without an error. */
static ir_status try_neighbour(tune *t, const tune_list *neighbours, size_t number, int64_t best,
                               finalist *finals, ir_error *error) {
  ir_error own = {0};
  finalist f = {.neighbour = number};
  bool same = false;
  t->override = neighbours->items[number];
  ir_status status = tune_compile(t, &f.program, &own);
  t->override.text = NULL;
  if (ir_gives_up(status)) return ir_fail(error, status, "%s", own.text);
  if (status) return IR_OK;
  t->kernels[t->searched_kernel].tried++;
  if (tune_check(t, f.program, &same, error) == IR_OK && same &&
      time_quickly(t, f.program, best, &f.ns, error) == IR_OK)
    enter_final(finals, f);
  else rt_program_release(f.program);
  return error->status;
}

static bool replace_best(tune_list *best, const tune_moves *moves) {
  for (size_t i = 0; i < best->count; i++) {
    char *copy = best->items[i].nest == moves->nest ? strdup(moves->text) : NULL;
    if (!copy) continue;
    free(best->items[i].text);
    best->items[i].text = copy;
    return true;
  }
  return tune_add(best, moves->nest, moves->text);
}

static void draw_progress(tune *t, uint32_t kernel) {
  const tune_kernel *k = &t->kernels[kernel];
  double share = (double)(ir_now_ns() - t->begin_ns) / (double)(t->end_ns - t->begin_ns);
  cli_progress_draw(&t->progress, share, "kernel %u of %zu: %u tried, %.0f %% of the time at first",
                    kernel + 1, t->count, k->tried,
                    100. * (double)k->best_ns / (double)(k->model_ns ? k->model_ns : 1));
}

/* Collect the neighbours of the best moves. */
static ir_status find_neighbours(tune *t, tune_list *neighbours, ir_error *error) {
  rt_program *program;
  t->neighbours = neighbours;
  ir_status status = tune_compile(t, &program, error);
  t->neighbours = NULL;
  if (!status) rt_program_release(program);
  return status;
}

/* One step of the search: the neighbour that wins, if there is one, replaces *best. *better: there was
 * one. */
static ir_status one_step(tune *t, rt_program **best, tune_list *seen, int64_t until, bool *better,
                          ir_error *error) {
  tune_kernel *k = &t->kernels[t->searched_kernel];
  tune_list neighbours = {0};
  finalist finals[FINALISTS] = {0};
  int64_t base = k->best_ns;
  *better = false;
  ir_status status = find_neighbours(t, &neighbours, error);
  if (!status) status = time_quickly(t, *best, base, &base, error);
  for (size_t i = 0; i < neighbours.count && !status && may_continue(until); i++) {
    if (tune_has(seen, neighbours.items[i].nest, neighbours.items[i].text)) continue;
    if (!tune_add(seen, neighbours.items[i].nest, neighbours.items[i].text)) break;
    status = try_neighbour(t, &neighbours, i, base, finals, error);
    draw_progress(t, t->searched_kernel);
  }
  for (int i = 0; i < FINALISTS && !status && !*better; i++) {
    int64_t ns[2];
    if (!finals[i].program) break;
    status = wins(t, *best, finals[i].program, k->best_ns, ns, better, error);
    if (status || !*better) continue;
    if (!replace_best(&k->best, &neighbours.items[finals[i].neighbour]))
      status = ir_fail(error, IR_ERR_MEMORY, "out of memory tuning");
    k->best_ns = ns[1];
    rt_program *old = *best;
    *best = finals[i].program;
    finals[i].program = old;
  }
  for (int i = 0; i < FINALISTS; i++) rt_program_release(finals[i].program);
  tune_empty(&neighbours);
  return status;
}

/* Set *best to the program from which the search starts. k->best may hold moves that an earlier search found:
 * they stay only if they win against the cost model again. */
static ir_status begin_search(tune *t, const rt_program *model, rt_program **best, ir_error *error) {
  tune_kernel *k = &t->kernels[t->searched_kernel];
  bool same = true, won = false;
  int64_t ns[2];
  k->best_ns = k->model_ns;
  if (k->best.count == 0) {
    rt_program_retain(*best = (rt_program *)(uintptr_t)model);
    return IR_OK;
  }
  if (tune_compile(t, best, error) != IR_OK || tune_check(t, *best, &same, error) != IR_OK)
    return error->status;
  if (same && wins(t, model, *best, k->model_ns, ns, &won, error) != IR_OK) return error->status;
  if (won) k->best_ns = ns[1];
  if (won || (same && tune_stopped())) return IR_OK;
  tune_empty(&k->best);
  rt_program_release(*best);
  rt_program_retain(*best = (rt_program *)(uintptr_t)model);
  return IR_OK;
}

ir_status tune_search(tune *t, uint32_t kernel, int64_t until, ir_error *error) {
  tune_kernel *k = &t->kernels[kernel];
  rt_program *model = NULL, *best = NULL;
  tune_list seen = {0}, found = k->best;
  bool better = true;
  t->searched_kernel = kernel;
  k->best = (tune_list){0};
  ir_status status = tune_compile(t, &model, error);
  k->best = found;
  if (!status) status = begin_search(t, model, &best, error);
  k->searched = !tune_stopped();
  while (!status && better && may_continue(until)) status = one_step(t, &best, &seen, until, &better, error);
  if (!status && k->best.count && !tune_stopped()) { /* gains may be noise */
    int64_t ns[2] = {k->model_ns, k->model_ns};
    status = wins(t, model, best, k->best_ns, ns, &better, error);
    if (!status && !better) tune_empty(&k->best);
    k->model_ns = ns[0], k->best_ns = ns[1];
  }
  rt_program_release(model);
  rt_program_release(best);
  tune_empty(&seen);
  return status;
}
