/* Kernels trace back to the statements that asked for them: what `dump --stage=kernels` lists is complete,
 * and without strangers.
 *
 *   prop_statements --seed S --count N
 *   prop_statements --case SEED         one case again, with the dump
 *
 * A case records random calls on arrays of one shape: elementwise, softmax, norms, products, joins, sorts,
 * scans, branches, batches, custom operations, derivatives. Each value has a name of its own. The test keeps,
 * for each name, the names that it is computed from. Then:
 *   - each name that an output is computed from, other than through a derivative and than views, is listed by
 *     some step;
 *   - where an output is computed from a derivative, so is each product, tanh, exp and softmax through which
 *     that goes: what it asks for takes their values, or those of their operands;
 *   - no step lists a name that no output is computed from. A value that is equal to one that an output is
 *     computed from is that one: derivatives compute some on their way;
 *   - a step that computes a value, or a part of one, lists only names that it is computed from, but for
 *     derivatives, which go the other way. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/viewfold.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

enum { ROWS = 6, COLUMNS = 8, MOST = 64, INPUTS = 2, STEPS = 12 };

typedef uint64_t set; /* of names, by number */

typedef struct named {
  vf_value value;
  set needs, may;  /* names that it is computed from, itself too; with those whose derivative it is of */
  set smooth;      /* names that it varies with when inputs vary, itself too */
  unsigned inputs; /* that it varies with */
  int number;      /* of its name; inputs are numbered from MOST on */
} named;

/* An elementwise operation of two values, or of one twice. Inside of a vmap it may be one that is outside
 * too, which the compiler finds where the axes of batches have become ordinary ones. */
typedef struct formula {
  int kind, low, high; /* numbers of operands, in order */
} formula;

typedef struct tester {
  uint64_t state;
  vf_graph *g;
  named values[MOST]; /* of shape [ROWS, COLUMNS] */
  int count, names;
  uint32_t id[MOST]; /* by name: of its value, and what that may be computed from */
  set may[MOST];
  set asks[MOST];         /* by name, of gradients: the names that have to be listed for it */
  formula formulas[MOST]; /* by name; kind 0: none is known */
  unsigned inputs[MOST];  /* by name: the inputs that it varies with */
  set curved;             /* names of products, tanh, exp and softmax */
  set views;              /* names that need not be listed: of views, */
  set equals;             /* and that may be where nothing needs them: of gradients */
} tester;

static int draw(tester *t, int lo, int hi) { return (int)random_between(&t->state, lo, hi); }

static named name(tester *t, vf_value value, const named *a, const named *b, bool view) {
  char text[16];
  int number = 0;
  while (number < t->names && t->id[number] != value.id) number++;
  if (number == t->names) { /* equal values have one name */
    snprintf(text, sizeof text, "v%d", number);
    vf_name(value, text);
    t->id[t->names] = value.id;
    t->may[t->names] = 0;
    t->inputs[t->names] = 0;
    t->formulas[t->names] = (formula){0, 0, 0};
    t->asks[t->names++] = 0;
  }
  named made = {value, (set)1 << number, (set)1 << number, (set)1 << number, 0, number};
  for (int i = 0; i < 2; i++) {
    const named *from = i ? b : a;
    if (!from) continue;
    made.needs |= from->needs, made.may |= from->may, made.smooth |= from->smooth;
    made.inputs |= from->inputs;
  }
  t->inputs[number] |= made.inputs;
  if (view) t->views |= (set)1 << number;
  t->may[number] |= made.may;
  return made;
}

/* The same, of an operation whose derivative takes its value or its operands. */
static named curved(tester *t, vf_value value, const named *a, const named *b) {
  named made = name(t, value, a, b, false);
  t->curved |= made.needs & ~((a ? a->needs : 0) | (b ? b->needs : 0));
  return made;
}

static named *any(tester *t) { return &t->values[draw(t, 0, t->count - 1)]; }

static named elementwise(tester *t, int kind, const named *x, const named *y, named made) {
  bool swapped = x->number > y->number;
  t->formulas[made.number] =
      (formula){kind, swapped ? y->number : x->number, swapped ? x->number : y->number};
  return made;
}

static named draw_unary(tester *t, int kind, const named *x) {
  switch (kind) {
  case 0: return curved(t, vf_tanh(x->value), x, NULL);
  case 1: return name(t, vf_abs(x->value), x, NULL, false);
  case 2: return curved(t, vf_exp(x->value), x, NULL);
  case 3: return curved(t, vf_softmax(x->value, -1), x, NULL);
  default: return name(t, vf_neg(x->value), x, NULL, false);
  }
}

static named unary(tester *t, const named *x) {
  int kind = draw(t, 0, 4);
  return elementwise(t, 1 + kind, x, x, draw_unary(t, kind, x));
}

static named draw_binary(tester *t, int kind, const named *x, const named *y) {
  switch (kind) {
  case 0: return name(t, vf_add(x->value, y->value), x, y, false);
  case 1: return curved(t, vf_mul(x->value, y->value), x, y);
  default: return name(t, vf_max(x->value, y->value), x, y, false);
  }
}

static named binary(tester *t, const named *x, const named *y) {
  int kind = draw(t, 0, 2);
  return elementwise(t, 6 + kind, x, y, draw_binary(t, kind, x, y)); /* commutative ones */
}

/* With the names of the same formulas. */
static set with_equals(const tester *t, set names) {
  set found = names;
  for (int i = 0; i < t->names; i++)
    for (int k = 0; k < t->names && names >> i & 1; k++)
      if (t->formulas[i].kind && memcmp(&t->formulas[i], &t->formulas[k], sizeof *t->formulas) == 0)
        found |= (set)1 << k;
  return found;
}

static named product(tester *t, const named *x, const named *y) {
  named turned = name(t, vf_permute(y->value, VF_LIST(1, 0)), y, NULL, true),
        square = curved(t, vf_matmul(x->value, turned.value), x, &turned);
  return curved(t, vf_matmul(square.value, y->value), &square, y);
}

static named centred(tester *t, const named *x) {
  named mean = name(t, vf_mean(x->value, VF_LIST(1), true), x, NULL, false);
  return name(t, vf_sub(x->value, mean.value), x, &mean, false);
}

static named moved(tester *t, const named *x) {
  named flat = name(t, vf_reshape(x->value, VF_LIST(COLUMNS, ROWS)), x, NULL, true);
  return name(t, vf_permute(flat.value, VF_LIST(1, 0)), &flat, NULL, true);
}

static named joined(tester *t, const named *x, const named *y) {
  vf_value list[] = {x->value, y->value};
  named both = name(t, vf_concat(list, 2, 0), x, y, true),
        sums = name(t, vf_cumsum(both.value, 0), &both, NULL, false);
  return name(t, vf_shrink(sums.value, VF_LIST(2, ROWS + 2, 0, COLUMNS)), &sums, NULL, true);
}

/* functions: what they compute is kept for the results of the call */

typedef struct inside {
  tester *t;
  const named *x, *y; /* what the parameters stand for */
  named made;
} inside;

static void record_inside(inside *f, const vf_value *in) {
  named x = *f->x, y = *f->y;
  x.value = in[0], y.value = in[1];
  named first = binary(f->t, &x, &y);
  f->made = unary(f->t, &first);
}
static void row(void *user, const vf_value *in, vf_value *out) { /* state, slice -> state, row */
  inside *f = user;
  record_inside(f, in);
  out[0] = out[1] = f->made.value;
}
static void one(void *user, const vf_value *in, vf_value *out) {
  record_inside(user, in);
  out[0] = ((inside *)user)->made.value;
}
static void same(void *user, const vf_value *in, vf_value *out) { (void)user, out[0] = in[0]; }

static named scanned(tester *t, const named *x, const named *y) {
  named first = name(t, vf_sum(y->value, VF_LIST(0), false), y, NULL, false);
  inside f = {.t = t, .x = &first, .y = x};
  vf_value state, rows;
  vf_scan(row, &f, 1, &first.value, 1, &x->value, 1, -1, false, &state, &rows);
  return name(t, rows, &f.made, NULL, false);
}

static named mapped(tester *t, const named *x, const named *y) {
  inside f = {.t = t, .x = x, .y = y};
  vf_map map = {.size = sizeof map, .arguments = 2, .results = 1, .axis_size = -1};
  vf_value in[] = {x->value, y->value}, out;
  vf_vmap(t->g, &map, one, &f, in, &out);
  return name(t, out, &f.made, NULL, true); /* an alias of what the function returns */
}

static named chosen(tester *t, const named *x, const named *y) {
  named total = name(t, vf_sum(y->value, VF_ALL, false), y, NULL, false),
        test = name(t, vf_lt(total.value, vf_number(t->g, 0)), &total, NULL, false);
  inside f = {.t = t, .x = x, .y = y};
  vf_value in[] = {x->value, y->value}, out;
  vf_cond(test.value, 2, in, one, same, &f, 1, &out);
  named made = name(t, out, &f.made, &test, false);
  made.smooth = f.made.smooth | (made.smooth & ~test.smooth), made.inputs = f.made.inputs;
  return made;
}

static named derived(tester *t, const named *x) {
  int number = draw(t, 0, INPUTS - 1);
  named *input = &t->values[number];
  named total = name(t, vf_sum(x->value, VF_ALL, false), x, NULL, false);
  vf_value out;
  vf_grad(total.value, 1, &input->value, &out);
  named made = name(t, out, NULL, NULL, true); /* may be a constant */
  made.may |= total.may;
  set asks = 0;
  for (int i = 0; i < t->names; i++)
    if (total.smooth & t->curved & (set)1 << i && t->inputs[i] >> number & 1) asks |= (set)1 << i;
  t->equals |= made.needs;
  for (int i = 0; i < t->names; i++)
    if (t->id[i] == out.id) t->may[i] |= made.may, t->asks[i] |= asks;
  return made;
}

static named custom(tester *t, const named *x) {
  return name(t, vf_apply(t->g, "bump", &x->value, 1, ""), x, NULL, false);
}

static void bump(const float *in, float *out, int64_t count) {
  for (int64_t i = 0; i < count; i++) out[i] = in[i] + 1;
}
static bool bump_vjp(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                     vf_value *gradients) {
  (void)call, (void)results;
  gradients[0] = cotangents[0];
  return true;
}

static named step(tester *t) {
  const named *x = any(t), *y = any(t);
  switch (draw(t, 0, 11)) {
  case 0: return product(t, x, y);
  case 1: return centred(t, x);
  case 2: return moved(t, x);
  case 3: return joined(t, x, y);
  case 4: return scanned(t, x, y);
  case 5: return mapped(t, x, y);
  case 6: return chosen(t, x, y);
  case 7: return derived(t, x);
  case 8: return custom(t, x);
  case 9: return name(t, vf_sort(x->value, draw(t, 0, 1), false), x, NULL, false);
  case 10: return binary(t, x, y);
  default: return unary(t, x);
  }
}

/* reading the dump */

/* The names "%v12" in a line up to `end`. */
static set names_in(const char *line, const char *end) {
  set found = 0;
  for (const char *c = line; (c = strstr(c, "%v")) && c < end; c++) found |= (set)1 << (atoi(c + 2) & 63);
  return found;
}

/* The names that a statement of a list is of: those before " = ". */
static set listed_in(const char *line, const char *end) {
  const char *equals = strstr(line, " = ");
  return equals && equals < end ? names_in(line, equals) : 0;
}

/* Does the step that begins here compute something for a derivative? */
static bool has_derivative(const char *line) {
  const char *found = strstr(line, "the derivative of "), *end = strstr(line, "\n\n");
  return found && (!end || found < end);
}

static bool check_dump(const tester *t, const char *dump, set needs, set may, char *why, size_t room) {
  set listed = 0, own = ~(set)0;
  bool in_list = false;
  for (const char *line = dump, *end; *line; line = *end ? end + 1 : end) {
    end = line + strcspn(line, "\n");
    const char *word = line + strspn(line, " ");
    if (strncmp(word, "kernel ", 7) == 0) {
      set of = names_in(word, end);
      own = of && !has_derivative(line) ? 0 : ~(set)0;
      for (int i = 0; i < t->names; i++) own |= of >> i & 1 ? t->may[i] : 0;
    } else if (strncmp(word, "for     ", 8) == 0) {
      in_list = true;
    } else if (in_list && word - line < 10) { /* entries are indented by 10, or more */
      in_list = false;
      own = ~(set)0;
    }
    if (!in_list) continue;
    set here = listed_in(word, end) & ~t->equals;
    listed |= here;
    if (!(here & ~with_equals(t, may)) && !(here & ~with_equals(t, own))) continue;
    snprintf(why, room, "a stranger: %.*s", (int)(end - line), line);
    return false;
  }
  set missing = needs & ~t->views & ~t->equals & ~listed;
  for (int i = 0; i < t->names; i++)
    if (needs >> i & 1) missing |= t->asks[i] & ~listed;
  if (missing) snprintf(why, room, "no step is for %%v%d", __builtin_ctzll(missing));
  return !missing;
}

/* Names of values that the outputs are computed from as nodes, also where no name led there. */
static set equal_names(const tester *t) {
  ir_ref *live = NULL, roots[2];
  size_t count = 0, cap = 0;
  set found = 0;
  for (size_t i = 0; i < t->g->output_count; i++) roots[i] = t->g->outputs[i].ref;
  if (ir_reachable(&t->g->ir, roots, t->g->output_count, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++)
      for (int k = 0; k < t->names; k++)
        if (t->id[k] == live[i]) found |= t->may[k];
  ir_free(t->g->ir.mem, live, cap * sizeof *live);
  return found;
}

static vf_context *context;
static bool show;

static bool run_case(uint64_t seed) {
  tester t = {.state = seed, .g = vf_graph_create(context, "case", NULL)};
  char why[300] = "", text[16];
  for (int i = 0; i < INPUTS; i++) {
    snprintf(text, sizeof text, "x%d", i);
    t.values[t.count++] =
        (named){vf_input(t.g, text, VF_F32, VF_LIST(ROWS, COLUMNS)), 0, 0, 0, 1u << i, MOST + i};
  }
  int steps = draw(&t, 2, STEPS);
  set needs = 0, may = 0;
  for (int i = 0; i < steps && t.names < MOST - 8; i++) {
    named made = step(&t);
    t.values[t.count++] = made;
  }
  for (int i = 0; i < 2; i++) {
    named *out = i ? any(&t) : &t.values[t.count - 1];
    snprintf(text, sizeof text, "o%d", i);
    vf_output(t.g, text, out->value);
    needs |= out->needs, may |= out->may;
  }
  may |= equal_names(&t);
  vf_error error = {0};
  char *dump = vf_graph_dump(t.g, "kernels", &error);
  bool good = dump && check_dump(&t, dump, needs, may, why, sizeof why);
  if (!good || show)
    printf("prop_statements: --case %" PRIu64 ": %s%s\n%s", seed, good ? "good" : why,
           dump ? "" : error.message, show && dump ? dump : "");
  vf_text_free(context, dump);
  vf_graph_destroy(t.g);
  return good;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 100);
  show = c.repeat;
  context = vf_context_create(NULL, NULL);
  const vf_op_description op = {.size = sizeof op,
                                .name = "bump",
                                .operands = 1,
                                .results = 1,
                                .function = (void (*)(void))bump,
                                .signature = "void(in0, out0, i64 in0.count)",
                                .vjp = bump_vjp};
  vf_error error = {0};
  if (!context || vf_register_op(context, &op, &error) != VF_OK) return 1;
  cases_run(&c, run_case);
  vf_context_destroy(context);
  printf("prop_statements: %ld graphs, %ld failed, seed %" PRIu64 "\n", c.done, c.failed, c.seed);
  return c.failed != 0;
}
