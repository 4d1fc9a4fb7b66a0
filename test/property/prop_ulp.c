/* How far elementary functions are from the exact values, as compiled, in units of the last place.
 *
 *   prop_ulp --seed S --count N [--all] [--only NAME] [--report FILE]
 *
 * f32: 16 N samples and special values, with --all every float, against double; the MOST worst ones are
 * checked with MPFR, which decides. f64: N samples and special values against MPFR. Functions of two operands
 * are always sampled. Half of the samples have random bits, half lie where the function changes most. Fails
 * where an error is above the bound stated in ir/elementary/elementary.h. The report is a table in
 * Markdown. */
#include "frontend/viewfold.h"
#include "test/lib/bits.h"
#include "test/lib/random_graph.h"
#include "test/lib/ulp.h"
#include "test/lib/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, MOST = 100000, ROOM = 2 * MOST };

typedef struct error_at {
  double error, x, y, got;
} error_at;

/* The worst errors so far. When there is no more room, the MOST worst stay and the least of them becomes the
 * threshold for new ones. */
typedef struct worst {
  error_at at[ROOM];
  size_t count;
  double threshold;
} worst;

static int descending(const void *a, const void *b) {
  double x = ((const error_at *)a)->error, y = ((const error_at *)b)->error;
  return (x < y) - (x > y);
}

static void note(worst *w, error_at e) {
  if (e.error <= w->threshold) return;
  if (w->count == ROOM) {
    qsort(w->at, ROOM, sizeof *w->at, descending);
    w->count = MOST;
    w->threshold = w->at[MOST - 1].error;
  }
  w->at[w->count++] = e;
}

static vf_context *context;
static uint64_t state;

static vf_program *compiled(const u_function *f, vf_dtype dtype) {
  vf_error error = {0};
  vf_graph *graph = vf_graph_create(context, "ulp", &error);
  vf_value x[2];
  for (int i = 0; i < f->operands; i++) x[i] = vf_input(graph, i ? "y" : "x", dtype, VF_LIST(BLOCK));
  vf_output(graph, "out", vf_apply(graph, f->operation, x, f->operands, f->attributes));
  vf_program *program = vf_compile(graph, &error);
  if (!program) fprintf(stderr, "prop_ulp: %s: %s\n", f->name, error.message);
  vf_graph_destroy(graph);
  return program;
}

static bool run(const vf_program *program, const void *x, const void *y, void *out) {
  vf_error error = {0};
  bool ran = vf_program_run(program, (const void *[]){x, y}, (void *[]){out}, NULL, &error) == VF_OK;
  if (!ran) fprintf(stderr, "prop_ulp: %s\n", error.message);
  return ran;
}

static double unit(void) { return (double)(random_next(&state) >> 11) * 0x1p-53; }

static double special(size_t i, bool wide) {
  static const double sizes[] = {0,    INFINITY, NAN,    1,      0.5,      2,     3,     4,     10,
                                 100,  88.72,    87.4,   104,    710,      745.2, 1e-10, 1e-40, 1e10,
                                 3e38, 128,      149,    150,    1024,     1074,  1075,  0.25,  1.5,
                                 8.5,  1e300,    0x1p18, 0x1p50, 0x1p-126, 1e-300};
  static const uint32_t bits32[] = {1, 0x7fffff, 0x800000, 0x7f7fffff, 0x3f7fffff, 0x3f800001, 0x48800001};
  static const uint64_t bits64[] = {1,
                                    0xfffffffffffff,
                                    0x10000000000000,
                                    0x7fefffffffffffff,
                                    0x3fefffffffffffff,
                                    0x3ff0000000000001,
                                    0x4310000000000001};
  enum { PLAIN = sizeof sizes / sizeof *sizes, EDGES = 7 };
  size_t at = i / 2 % (PLAIN + EDGES);
  double size = at < PLAIN ? sizes[at]
                : wide     ? double_of(bits64[at - PLAIN])
                           : (double)float_of(bits32[at - PLAIN]);
  return i % 2 ? -size : size;
}
enum { SPECIALS = 80 };

/* Operand `which` of sample i: first the special values (of two operands all pairs of them), then random
 * ones. */
static double sample(const u_function *f, size_t i, int which, bool wide) {
  if (i < SPECIALS * SPECIALS && (f->operands == 2 || i < SPECIALS))
    return special(which ? i / SPECIALS : i % SPECIALS, wide);
  if (i % 2) return wide ? double_of(random_next(&state)) : (double)float_of((uint32_t)random_next(&state));
  double lo = f->lo, hi = f->hi;
  if (which) lo = -40, hi = 40;
  if (which && i % 8 == 0) return floor(lo + (hi - lo) * unit());
  if (wide && !strncmp(f->name, "exp", 3)) lo *= 8, hi *= 8;
  double v = lo + (hi - lo) * unit();
  if (i % 4 == 0) v *= ldexp(1, -(int)(random_next(&state) % 30));
  return wide ? v : (double)(float)v;
}

/* Measures f32 against double: `count` samples, or every float. */
static bool measure32(const u_function *f, size_t count, bool all, worst *w) {
  static float x[BLOCK], y[BLOCK], got[BLOCK];
  static double exact[BLOCK];
  vf_program *program = compiled(f, VF_F32);
  bool good = program != NULL;
  all &= f->operands == 1;
  uint64_t total = all ? UINT64_C(1) << 32 : count;
  for (uint64_t first = 0; first < total && good; first += BLOCK) {
    for (uint64_t i = 0; i < BLOCK; i++) {
      x[i] = all ? float_of((uint32_t)(first + i)) : (float)sample(f, first + i, 0, false);
      if (f->operands == 2) y[i] = (float)sample(f, first + i, 1, false);
    }
    good = run(program, x, y, got);
    f->in_double(x, y, got, exact, BLOCK);
    for (uint64_t i = 0; i < BLOCK && good; i++) {
      if ((double)got[i] == exact[i] && got[i] != 0) continue;
      /* an ulp is at least 2^-24 of the value */
      if (fabs((double)got[i] - exact[i]) <= w->threshold * 0x1p-24 * fabs(exact[i]) && exact[i] != 0)
        continue;
      double e = u_error((double)got[i], exact[i], false);
      if (e > w->threshold) note(w, (error_at){e, (double)x[i], (double)y[i], (double)got[i]});
    }
  }
  vf_program_destroy(program);
  return good;
}

static void recompute_exactly(const u_function *f, worst *w, size_t most) {
  qsort(w->at, w->count, sizeof *w->at, descending);
  if (w->count > most) w->count = most;
  for (size_t i = 0; i < w->count && u_have_exact(); i++)
    w->at[i].error = u_exact_error(f, w->at[i].x, w->at[i].y, w->at[i].got, false);
  qsort(w->at, w->count, sizeof *w->at, descending);
}

static bool measure64(const u_function *f, size_t count, worst *w) {
  static double x[BLOCK], y[BLOCK], got[BLOCK];
  vf_program *program = compiled(f, VF_F64);
  bool good = program != NULL;
  for (size_t first = 0; first < count && good; first += BLOCK) {
    for (size_t i = 0; i < BLOCK; i++) {
      x[i] = sample(f, first + i, 0, true);
      if (f->operands == 2) y[i] = sample(f, first + i, 1, true);
    }
    good = run(program, x, y, got);
    for (size_t i = 0; i < BLOCK && first + i < count && good; i++) {
      bool far = fabs(x[i]) > f->reach64;
      double e = far ? isnan(got[i]) ? 0 : INFINITY : u_exact_error(f, x[i], y[i], got[i], true);
      note(w, (error_at){e, x[i], y[i], got[i]});
    }
  }
  qsort(w->at, w->count, sizeof *w->at, descending);
  vf_program_destroy(program);
  return good;
}

/* Checks one function in one format and adds its line to the report. */
static bool check(const u_function *f, bool wide, size_t count, bool all, FILE *report) {
  static worst w;
  w.count = 0, w.threshold = 0;
  double bound = wide ? f->bound64 : f->bound32;
  bool ran = wide ? measure64(f, count, &w) : measure32(f, 16 * count, all, &w);
  if (!ran) return false;
  if (!wide) recompute_exactly(f, &w, all || count > MOST ? MOST : count);
  error_at top = w.count ? w.at[0] : (error_at){0};
  bool whole = all && !wide && f->operands == 1, within = top.error <= bound;
  if (report)
    fprintf(report, "| %s | %s | %s | %.4f | `%a`%s%s | %g |\n", f->name, wide ? "f64" : "f32",
            whole ? "every" : "samples", top.error, top.x, "", "", bound),
        fflush(report);
  if (!within)
    fprintf(stderr, "prop_ulp: %s of %s is off by %g ulp (stated: %g) at %a, %a, where it gives %a\n",
            f->name, wide ? "f64" : "f32", top.error, bound, top.x, f->operands == 2 ? top.y : 0, top.got);
  return within;
}

int main(int argc, char **argv) {
  uint64_t seed = 1;
  size_t count = 2000;
  bool all = false;
  const char *only = NULL, *path = NULL;
  OPTIONS_READ(argc, argv, OPTION("--all", &all), OPTION("--seed", &seed), OPTION("--count", &count),
               OPTION("--only", &only), OPTION("--report", &path));
  state = seed;
  FILE *report = path ? fopen(path, "w") : NULL;
  if (path && !report) return perror(path), 1;
  vf_error error = {0};
  context = vf_context_create(&(vf_options){.size = sizeof(vf_options), .threads = 1}, &error);
  if (!context) return fprintf(stderr, "prop_ulp: %s\n", error.message), 1;
  if (!u_have_exact()) fprintf(stderr, "prop_ulp: built without MPFR: f64 is not compared\n");
  if (report)
    fprintf(report, "| function | format | arguments | largest error (ulp) | at | stated |\n"
                    "| --- | --- | --- | --- | --- | --- |\n");
  int done = 0, failed = 0;
  for (int wide = 0; wide < (u_have_exact() ? 2 : 1); wide++)
    for (int i = 0; i < u_function_count; i++) {
      if (only && strcmp(only, u_functions[i].name)) continue;
      done++;
      failed += !check(&u_functions[i], wide, count, all, report);
    }
  if (report) fclose(report);
  vf_context_destroy(context);
  printf("prop_ulp: %d functions, %s of f32, %zu of f64 each, %d failed, seed %" PRIu64 "\n", done,
         all ? "every argument" : "samples", count, failed, seed);
  return failed != 0;
}
