/* Faults planted in random graphs are found: a run with VF_STOP_AT_NAN and VF_STOP_AT_INF fails at the
 * planted operation, and says its name, its line, the element and what it was computed from; so does a run
 * with an index out of range, which says the index, its place, the axis and its size.
 *
 *   prop_nan --seed S --count N
 *   prop_nan --case SEED, --show SEED   one case again, by the seed in its report; its graph
 *
 * A graph is a chain of operations on f32[4,6], whose values stay finite, partly in the body of a scan. One
 * of them is planted: it makes a NaN or an infinity at one element, from an input of its own, or reads the
 * value before it at an index that is out of range. Runs use one thread, then two. The same graph with a
 * harmless input must run. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/viewfold.h"
#include "ir/base.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

enum { ROWS = 4, COLUMNS = 6, ELEMENTS = ROWS * COLUMNS, TRIPS = 3, THREADS = 2 };

/* Steps from %A to %B, which need no other value than %x, %w and constants. They keep what is not finite. */
static const char *const steps[] = {
    "%B = tanh %A\n",
    "%B = mul %A, 0.5\n",
    "%B = sub 1.0, %A\n",
    "%uB = mul %A, %A\n%vB = add %uB, 1.0\n%B = div %A, %vB\n",
    "%uB = permute %A order=[1,0]\n%vB = reshape %uB shape=[4,6]\n%B = add %vB, %x\n",
    "%mB = max %A axes=[1] keepdims=true\n%B = sub %A, %mB\n",
    "%tB = tanh %A\n%B = softmax %tB axis=1\n",
    "%tB = tanh %A\n%B = matmul %tB, %w\n",
    "%tB = tanh %A\n%sB = sum %tB axes=[0] keepdims=true\n%B = add %tB, %sB\n",
    "%tB = tanh %A\n%B = cumsum %tB axis=1\n",
    "%pB = pad %A pads=[[1,0],[0,0]]\n%B = shrink %pB bounds=[[1,5],[0,6]]\n",
    "%rB = flip %A axes=[0]\n%B = stored %rB\n",
};
enum { STEPS = sizeof steps / sizeof *steps };

/* From %f, all ones but for one element, which is `bad`. */
static const struct {
  const char *operation, *value;
  double bad;
  bool nan;
} faults[] = {{"log %f", "-1.0", -1, true},      {"sqrt %f", "-4.0", -4, true},
              {"log %f", "0.0", 0, false},       {"div %x, %f", "0.0", 0, false},
              {"rsqrt %f", "0.0", 0, false},     {"exp %f", "1000.0", 1000, false},
              {"pow %f, 0.5", "-2.0", -2, true}, {"acos %f", "3.0", 3, true}};
enum { FAULTS = sizeof faults / sizeof *faults };

/* From the value before, %A, at indices of which one is out of range. */
static const struct {
  const char *operation, *index;
  int axis;
} ranges[] = {
    {"take %A, %i axis=0", "%i", 0},
    {"gather %A, %i axis=0", "%i", 0},
    {"take_along_axis %A, %j axis=1", "%j", 1},
    {"scatter_add %A, %i, %A axis=0", "%i", 0},
};
enum { RANGES = sizeof ranges / sizeof *ranges };

typedef struct graph {
  uint64_t state;
  ir_text text;
  int line;      /* of the planted operation */
  int fault, at; /* from FAULTS on: a range */
  int before;    /* number of the value before the planted one */
  bool inside;   /* it is in the body */
} graph;

static int lines_of(const ir_text *t) {
  int lines = 1;
  for (const char *c = ir_text_get(t); *c; c++) lines += *c == '\n';
  return lines;
}

/* A step with the numbers of its values in place of A and B. */
static void put_step(const char *step, int from, int to, ir_text *out) {
  for (; *step; step++) {
    if (*step == 'A' || *step == 'B') ir_textf(out, "v%d", *step == 'A' ? from : to);
    else ir_text_add(out, step, 1);
  }
}

static bool is_range(const graph *x) { return x->fault >= FAULTS; }
static const char *operation_of(const graph *x) {
  return is_range(x) ? ranges[x->fault - FAULTS].operation : faults[x->fault].operation;
}

/* `count` steps from %v<from>, the planted one at `place` if that is among them; the number of the last
 * value. */
static int put_chain(graph *x, int from, int count, int place, ir_text *out) {
  int at = from;
  for (int i = 0; i <= count; i++) {
    if (i == place) {
      x->line = lines_of(out);
      x->before = at;
      ir_text_str(out, "%planted = ");
      put_step(operation_of(x), at, at + 1, out);
      ir_textf(out, "\n%%drop = mul %%planted, 0.0\n%%v%d = add %%v%d, %%drop\n", at + 1, at);
      at++;
    }
    if (i == count) break;
    put_step(steps[random_between(&x->state, 0, STEPS - 1)], at, at + 1, out);
    at++;
  }
  return at;
}

static void make(graph *x, uint64_t seed) {
  *x = (graph){.state = seed};
  ir_text_init(&x->text, &ir_mem_libc);
  int before = (int)random_between(&x->state, 1, 4), within = (int)random_between(&x->state, 0, 3);
  x->fault = (int)random_between(&x->state, 0, FAULTS + RANGES - 1);
  x->at = (int)random_between(&x->state, 0, ELEMENTS - 1);
  x->inside = within && random_between(&x->state, 0, 1);
  int place = (int)random_between(&x->state, 0, x->inside ? within : before), last = 0;
  if (within) {
    ir_text_str(
        &x->text,
        "graph @body(%v0: f32[4,6], %x: f32[4,6], %w: f32[6,6], %f: f32[4,6], %i: i32[4], %j: i32[4,6]) {\n");
    last = put_chain(x, 0, within, x->inside ? place : -1, &x->text);
    ir_textf(&x->text, "return %%v%d, %%x, %%w, %%f, %%i, %%j\n}\n", last);
  }
  ir_text_str(
      &x->text,
      "graph @g(%x: f32[4,6], %w: f32[6,6], %f: f32[4,6], %i: i32[4], %j: i32[4,6]) {\n%v0 = mul %x, 0.25\n");
  last = put_chain(x, 0, before, x->inside ? -1 : place, &x->text);
  if (within)
    ir_textf(&x->text,
             "%%y, %%x2, %%w2, %%f2, %%i2, %%j2 = scan %%v%d, %%x, %%w, %%f, %%i, %%j do=@body length=%d "
             "carries=6\n",
             last, TRIPS);
  else ir_textf(&x->text, "%%y = mul %%v%d, 1.0\n", last);
  ir_text_str(&x->text, "return %y\n}\n");
}

static vf_context *contexts[THREADS];
static long found;

static bool fails(const graph *x, int threads, const char *what, const char *said) {
  fprintf(stderr, "%d thread%s: %s: %s\n%s", threads, threads > 1 ? "s" : "", what, said,
          ir_text_get(&x->text));
  return false;
}

/* What a run has to say. */
static void put_wanted(const graph *x, ir_text *out) {
  int row = x->at / COLUMNS, column = x->at % COLUMNS;
  ir_text operation;
  ir_text_init(&operation, &ir_mem_libc);
  put_step(operation_of(x), x->before, 0, &operation);
  if (is_range(x)) {
    const char *index = ranges[x->fault - FAULTS].index;
    int axis = ranges[x->fault - FAULTS].axis;
    ir_textf(out, "graph @g: %s: %s[%d", ir_text_get(&operation), index, axis ? row : x->at % ROWS);
    if (axis) ir_textf(out, ",%d", column);
    ir_textf(out, "] is 77, but axis %d of %%v%d has %d elements (g.vf:%d)", axis, x->before,
             axis ? COLUMNS : ROWS, x->line);
  } else {
    ir_textf(out, "graph @g: %%planted = %s (g.vf:%d) makes %s: %%planted[%d,%d] is ",
             ir_text_get(&operation), x->line, faults[x->fault].nan ? "a NaN" : "an infinity", row, column);
  }
  ir_text_free(&operation);
}

typedef struct arrays {
  float x[ELEMENTS], w[36], f[ELEMENTS], out[ELEMENTS];
  int32_t i[ROWS], j[ELEMENTS];
} arrays;

static void fill(arrays *a, uint64_t state) {
  for (int i = 0; i < ELEMENTS; i++) {
    a->x[i] = (float)random_between(&state, -8, 8) / 8, a->f[i] = 1;
    a->j[i] = (int32_t)random_between(&state, -COLUMNS, COLUMNS - 1);
  }
  for (int i = 0; i < 36; i++) a->w[i] = (float)random_between(&state, -4, 4) / 8;
  for (int i = 0; i < ROWS; i++) a->i[i] = (int32_t)random_between(&state, -ROWS, ROWS - 1);
}

static void plant(const graph *x, arrays *a) {
  if (is_range(x)) {
    *(ranges[x->fault - FAULTS].axis ? &a->j[x->at] : &a->i[x->at % ROWS]) = 77;
    return;
  }
  a->f[x->at] = (float)faults[x->fault].bad;
  if (strncmp(faults[x->fault].operation, "div", 3) == 0) a->x[x->at] = 0.5f;
}

/* Is the fault found, on so many threads? */
static bool check_on(const graph *x, int threads) {
  arrays a;
  vf_error error;
  fill(&a, x->state);
  vf_graph *g =
      vf_graph_parse(contexts[threads - 1], ir_text_get(&x->text), x->text.len, "g.vf", "g", &error);
  vf_program *p = g ? vf_compile(g, &error) : NULL;
  bool good = p || fails(x, threads, "compiling", error.message);
  vf_graph_destroy(g);
  const void *in[] = {a.x, a.w, a.f, a.i, a.j};
  if (good && vf_program_run(p, in, (void *[]){a.out}, NULL, &error))
    good = fails(x, threads, "the harmless input fails", error.message);
  if (good) {
    char element[64];
    ir_text want;
    ir_text_init(&want, &ir_mem_libc);
    put_wanted(x, &want);
    plant(x, &a);
    vf_status status = vf_program_run(p, in, (void *[]){a.out}, NULL, &error);
    snprintf(element, sizeof element, "%%f[%d,%d] is %s", x->at / COLUMNS, x->at % COLUMNS,
             is_range(x) ? "" : faults[x->fault].value);
    if (status != (is_range(x) ? VF_ERR_RANGE : VF_ERR_VALUE))
      good = fails(x, threads, "not found", vf_status_text(status));
    else if (strncmp(error.message, ir_text_get(&want), want.len) != 0)
      good = fails(x, threads, ir_text_get(&want), error.message);
    else if (!is_range(x) && !strstr(error.message, element))
      good = fails(x, threads, element, error.message);
    ir_text_free(&want);
  }
  found += good;
  vf_program_destroy(p);
  return good;
}

static bool check(uint64_t seed) {
  graph x;
  make(&x, seed);
  bool good = true;
  for (int threads = 1; threads <= THREADS && good; threads++) good = check_on(&x, threads);
  ir_text_free(&x.text);
  return good;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 500);
  if (c.show) {
    graph x;
    make(&x, c.seed);
    fputs(ir_text_get(&x.text), stdout);
    ir_text_free(&x.text);
    return 0;
  }
  for (int i = 0; i < THREADS; i++) {
    vf_error error;
    contexts[i] = vf_context_create(&(vf_options){.size = sizeof(vf_options),
                                                  .threads = i + 1,
                                                  .flags = VF_NO_DISK | VF_STOP_AT_NAN | VF_STOP_AT_INF},
                                    &error);
    if (!contexts[i]) return fprintf(stderr, "%s\n", error.message), 1;
  }
  cases_run(&c, check);
  for (int i = 0; i < THREADS; i++) vf_context_destroy(contexts[i]);
  printf("prop_nan: %ld graphs, %ld faults found, %ld failed, seed %" PRIu64 "\n", c.done, found, c.failed,
         c.seed);
  return c.failed != 0;
}
