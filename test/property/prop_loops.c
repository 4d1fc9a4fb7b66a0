/* The loop nests that chains of views are compiled to, against enumeration.
 *
 *   prop_loops --seed S --count N      the chains of prop_loops.chains, then N random ones
 *   --list 1                           prints the random chains that divide or test more than needed
 *   --accept FILE                      writes the table, comments and all, as it would be now to FILE
 *
 * Each chain is compiled to the loop nest of one kernel that stores it row-major. The test's own interpreter
 * runs it: each element must be written at least once and a few times at most, always with the value that
 * plain copying of elements gives. It counts every evaluation of `//` and `%` in the body of a loop, and
 * every test of a load's validity or of a selection by index. A row of the table records
 *
 *   affine   does the flat output index have a mixed radix in whose digits the base index is affine on the
 *            valid elements? Decided by trying every order of its prime factors and eliminating. Such a
 *            chain divides in no loop.
 *   loops    operations // and % in the bodies of loops; those that only loop bounds need are not counted
 *   inner    those of them in innermost loops (a loop over vector lanes belongs to the loop around it)
 *   tests    loads that test whether they are valid, and selections by index
 *   runs     evaluations of all of these together
 *
 * and none of the numbers may rise. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/text/chain.h"
#include "ir/regions.h"
#include "passes/passes.h"
#include "test/lib/level.h"
#include "test/lib/options.h"
#include "test/lib/view_model.h"

enum { RANK = 16, ELEMENTS = 16384, FACTORS = 16, ROWS = 256, LINE = 1024 };
enum { MOST_WRITES = 4 }; /* the last steps along two axes may overlap the previous ones */

static ir_error error;

static bool failed(const char *chain, const char *what, int64_t where) {
  printf("%s\n  %s (%" PRId64 ")\n", chain, what, where);
  return false;
}

/* the model of a chain: arrays of indices in the base, copied step by step */

typedef struct array {
  int rank, count;
  int64_t size[RANK], at[ELEMENTS]; /* -1: padding */
} array;

static bool count_elements(array *a) {
  int64_t count = 1;
  for (int i = 0; i < a->rank; i++) count *= a->size[i];
  a->count = (int)count;
  return count <= ELEMENTS;
}

/* Reads the numbers up to the closing parenthesis of `name(...)` or `f32[...]`; *text then points after
 * it. */
static int read_numbers(const char **text, int64_t *out, char close) {
  int count = 0, depth = 0;
  for (; **text && (**text != close || depth); ++*text) {
    depth += (**text == '(') - (**text == ')');
    if ((**text < '0' || **text > '9') && **text != '-') continue;
    char *end;
    int64_t value = strtoll(*text, &end, 10);
    if (count < 2 * RANK) out[count++] = value;
    *text = end - 1;
  }
  *text += **text == close;
  return count;
}

/* The index, along each axis of the operand, of the element that element `at` of the result comes from;
 * false: padding */
static bool came_from(const char *op, const array *from, const int64_t *arg, const int64_t *at,
                      int64_t *source) {
  bool inside = true;
  for (int i = 0; i < from->rank; i++) source[i] = at[i];
  if (strcmp(op, "permute") == 0)
    for (int i = 0; i < from->rank; i++) source[arg[i]] = at[i];
  for (int i = 0; i < from->rank; i++) {
    if (strcmp(op, "expand") == 0 && from->size[i] == 1) source[i] = 0;
    if (strcmp(op, "shrink") == 0) source[i] += arg[2 * i];
    if (strcmp(op, "pad") == 0) source[i] -= arg[2 * i];
    if (strcmp(op, "stride") == 0)
      source[i] = arg[i] > 0 ? at[i] * arg[i] : from->size[i] - 1 + at[i] * arg[i];
    inside = inside && source[i] >= 0 && source[i] < from->size[i];
  }
  return inside;
}

static void size_after(const char *op, array *to, const array *from, const int64_t *arg, int count) {
  to->rank = from->rank;
  for (int i = 0; i < from->rank; i++) {
    int64_t size = from->size[i];
    if (strcmp(op, "permute") == 0) size = from->size[arg[i]];
    if (strcmp(op, "expand") == 0) size = arg[i];
    if (strcmp(op, "shrink") == 0) size = arg[2 * i + 1] - arg[2 * i];
    if (strcmp(op, "pad") == 0) size += arg[2 * i] + arg[2 * i + 1];
    if (strcmp(op, "stride") == 0) size = (size + llabs(arg[i]) - 1) / llabs(arg[i]);
    to->size[i] = size;
  }
  if (strcmp(op, "reshape") != 0) return;
  to->rank = count;
  memcpy(to->size, arg, (size_t)count * sizeof *arg);
}

static bool apply_step(const char *op, array *a, const int64_t *arg, int count) {
  static array from;
  bool flip = strcmp(op, "flip") == 0;
  from = *a;
  size_after(op, a, &from, arg, count);
  if (!count_elements(a)) return false;
  for (int k = 0; k < a->count && strcmp(op, "reshape") != 0; k++) {
    int64_t at[RANK], source[RANK], place = 0;
    for (int i = a->rank, rest = k; i-- > 0; rest = (int)(rest / a->size[i])) at[i] = rest % a->size[i];
    for (int i = 0; i < count && flip; i++) at[arg[i]] = a->size[arg[i]] - 1 - at[arg[i]];
    bool inside = came_from(op, &from, arg, at, source);
    for (int i = 0; i < from.rank && inside; i++) place = place * from.size[i] + source[i];
    a->at[k] = inside ? from.at[place] : -1;
  }
  return true;
}

static bool enumerate(const char *chain, array *out) {
  const char *at = strchr(chain, '[') + 1;
  out->rank = read_numbers(&at, out->size, ']');
  if (!count_elements(out)) return false;
  for (int i = 0; i < out->count; i++) out->at[i] = i;
  while (*at == '.') {
    char op[16] = {0};
    int64_t arg[2 * RANK];
    for (int i = 0; *++at && *at != '(' && i < 15; i++) op[i] = *at;
    at++;
    int count = read_numbers(&at, arg, ')');
    if (!apply_step(op, out, arg, count)) return false;
  }
  return true;
}

/* a mixed radix in which the index is affine */

static const int64_t PRIME = 2147483647; /* elimination modulo this; indices are far smaller */

static int64_t power(int64_t base, int64_t exponent) {
  int64_t r = 1;
  for (base %= PRIME; exponent; exponent >>= 1, base = base * base % PRIME)
    if (exponent & 1) r = r * base % PRIME;
  return r;
}

/* Is index = constant + sum of coefficient * digit solvable for all valid elements? */
static bool is_affine(const array *map, const int *radix, int digits) {
  int64_t row[FACTORS + 2], echelon[FACTORS + 2][FACTORS + 2] = {{0}};
  int unknowns = digits + 1;
  for (int k = 0; k < map->count; k++) {
    if (map->at[k] < 0) continue;
    row[0] = 1;
    for (int d = 0, rest = k; d < digits; rest /= radix[d++]) row[d + 1] = rest % radix[d];
    row[unknowns] = map->at[k];
    for (int c = 0; c <= unknowns; c++) {
      if (row[c] == 0) continue;
      if (c == unknowns) return false;
      if (echelon[c][c] == 0) {
        int64_t inverse = power(row[c], PRIME - 2);
        for (int j = c; j <= unknowns; j++) echelon[c][j] = row[j] * inverse % PRIME;
        break;
      }
      int64_t factor = PRIME - row[c];
      for (int j = c; j <= unknowns; j++) row[j] = (row[j] + factor * echelon[c][j]) % PRIME;
    }
  }
  return true;
}

/* Orders of the prime factors, each once: the next one in lexicographic order. */
static bool next_order(int *radix, int n) {
  int i = n - 1, j = n - 1;
  while (i > 0 && radix[i - 1] >= radix[i]) i--;
  if (i <= 0) return false;
  while (radix[j] <= radix[i - 1]) j--;
  int swap = radix[i - 1];
  radix[i - 1] = radix[j], radix[j] = swap;
  for (j = n - 1; i < j; i++, j--) swap = radix[i], radix[i] = radix[j], radix[j] = swap;
  return true;
}

static bool has_affine_radix(const array *map) {
  int radix[FACTORS], digits = 0, rest = map->count;
  for (int p = 2; rest > 1; p++)
    for (; rest % p == 0; rest /= p) radix[digits++] = p;
  do
    if (is_affine(map, radix, digits)) return true;
  while (next_order(radix, digits));
  return false;
}

/* the interpreter of loops */

typedef struct machine {
  const char *chain;
  ir_graph *g;
  ir_regions regions;
  int64_t *value, *iterations; /* by node: the value of an expression; how often its loop's body ran */
  uint8_t *counted;            /* by node: a division or a test outside loop bounds */
  uint8_t *outer;              /* by node: a loop that contains loops other than over vector lanes */
  const array *want;
  int64_t written[ELEMENTS];
} machine;

typedef struct measures {
  bool affine;
  int64_t loops, inner, tests, runs;
} measures;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static int64_t compute(const machine *m, const ir_node *n) {
  int64_t a = n->nsrc > 0 ? m->value[n->src[0]] : 0, b = n->nsrc > 1 ? m->value[n->src[1]] : 0;
  switch ((int)n->op) {
  case IR_OP_CONST: return n->arg;
  case IR_OP_ADD:
  case IR_OP_MUL:
  case IR_OP_AND:
  case IR_OP_OR:
    for (uint32_t i = 1; i < n->nsrc; i++) {
      b = m->value[n->src[i]];
      a = n->op == IR_OP_ADD ? a + b : n->op == IR_OP_MUL ? a * b : n->op == IR_OP_AND ? a && b : a || b;
    }
    return a;
  case IR_OP_FLOORDIV: return floor_div(a, b);
  case IR_OP_MOD: return a - b * floor_div(a, b);
  case IR_OP_MIN: return a < b ? a : b;
  case IR_OP_MAX: return a > b ? a : b;
  case IR_OP_LT: return a < b;
  case IR_OP_LE: return a <= b;
  case IR_OP_GT: return a > b;
  case IR_OP_GE: return a >= b;
  case IR_OP_EQ: return a == b;
  case IR_OP_NE: return a != b;
  case IR_OP_NOT: return !a;
  case IR_OP_WHERE: return a ? b : m->value[n->src[2]];
  default: return n->op == IR_OP_RANGE ? 0 : INT64_MIN;
  }
}

static bool is_expression(const machine *m, ir_ref ref) {
  ir_dtype t = ir_dtype_of(m->g, ref);
  return (t == IR_INDEX || t == IR_BOOL) && ir_op_of(m->g, ref) != IR_OP_RANGE;
}

/* Evaluates everything that root depends on; ranges have their values already. */
static int64_t evaluate(machine *m, ir_ref root) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable(m->g, &root, 1, &live, &count, &cap) != IR_OK) exit(77);
  for (size_t i = 0; i < count; i++)
    if (is_expression(m, live[i])) m->value[live[i]] = compute(m, ir_get(m->g, live[i]));
  ir_free(m->g->mem, live, cap * sizeof *live);
  return m->value[root];
}

/* The element that the value loads, as an index in the base; -1 for the fill, -2 for anything else. */
static int64_t loaded(machine *m, ir_ref value) {
  const ir_node *n = ir_get(m->g, value);
  if (n->op == IR_OP_LOAD) return evaluate(m, n->src[2]) ? evaluate(m, n->src[1]) : -1;
  if (n->op == IR_OP_WHERE) return loaded(m, n->src[evaluate(m, n->src[0]) ? 1 : 2]);
  return n->op == IR_OP_CONST ? -1 : -2;
}

static bool run_store(machine *m, const ir_node *n) {
  int64_t to = evaluate(m, n->src[1]), from = loaded(m, n->src[2]);
  if (to < 0 || to >= m->want->count) return failed(m->chain, "a store outside the output", to);
  if (m->written[to]++ == MOST_WRITES) return failed(m->chain, "an element is written too often", to);
  return from == m->want->at[to] || failed(m->chain, "a wrong element", to);
}

static bool run(machine *m, ir_ref effect) {
  const ir_node *n = ir_get(m->g, effect);
  bool good = true;
  if (n->op == IR_OP_STORE) return run_store(m, n);
  if (n->op == IR_OP_SEQ) {
    for (uint32_t i = 0; i < n->nsrc && good; i++) good = run(m, n->src[i]);
    return good;
  }
  int64_t extent = evaluate(m, ir_src(m->g, n->src[0], 0));
  for (int64_t i = 0; i < extent && good; i++) {
    m->value[n->src[0]] = i;
    m->iterations[effect]++;
    good = run(m, n->src[1]);
  }
  return good;
}

/* Marks in `counted` what loads, stores and selections depend on, but not the bounds of loops. */
static void mark(machine *m) {
  for (size_t i = m->regions.count; i-- > 0;) {
    ir_ref ref = m->regions.order[i];
    const ir_node *n = ir_get(m->g, ref);
    bool access = n->op == IR_OP_LOAD || n->op == IR_OP_STORE;
    if (!access && !m->counted[ref]) continue;
    for (uint32_t k = 0; k < n->nsrc && n->op != IR_OP_RANGE; k++) m->counted[n->src[k]] = 1;
  }
}

static bool is_lanes(const machine *m, ir_ref loop) {
  int binding = ir_arg_mode(ir_get(m->g, loop));
  return binding == IR_VECTOR || binding == IR_UNROLL;
}

static ir_ref serial_region(const machine *m, ir_ref ref) {
  ir_ref loop = ir_region_of(&m->regions, ref);
  while (loop && is_lanes(m, loop)) loop = ir_region_of(&m->regions, loop);
  return loop;
}

static void measure(machine *m, measures *out) {
  for (size_t i = 0; i < m->regions.count; i++) {
    ir_ref ref = m->regions.order[i];
    if (ir_is_loop(m->g, ref) && !is_lanes(m, ref)) m->outer[serial_region(m, ref)] = 1;
  }
  for (size_t i = 0; i < m->regions.count; i++) {
    ir_ref ref = m->regions.order[i], loop = ir_region_of(&m->regions, ref);
    const ir_node *n = ir_get(m->g, ref);
    bool divides = (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) && m->counted[ref] && loop;
    bool tests = (n->op == IR_OP_LOAD && !ir_is_true(m->g, n->src[2])) || n->op == IR_OP_WHERE;
    out->loops += divides;
    out->inner += divides && !m->outer[serial_region(m, ref)];
    out->tests += tests;
    if (divides || tests) out->runs += loop ? m->iterations[loop] : 1;
  }
}

static bool measure_kernel(const char *chain, ir_graph *g, ir_ref kernel, const array *want, measures *out) {
  static machine m;
  memset(&m, 0, sizeof m);
  m.chain = chain, m.g = g, m.want = want;
  if (ir_regions_find(g, kernel, &m.regions) != IR_OK) return failed(chain, "regions", 0);
  m.value = calloc(g->count, sizeof *m.value), m.iterations = calloc(g->count, sizeof *m.iterations);
  m.counted = calloc(g->count, 1), m.outer = calloc(g->count, 1);
  bool good = m.value && m.iterations && m.counted && m.outer && run(&m, ir_src(g, kernel, 0));
  for (int i = 0; i < want->count && good; i++)
    good = m.written[i] || failed(chain, "an element is not written", i);
  if (good) mark(&m), measure(&m, out);
  free(m.value), free(m.iterations), free(m.counted), free(m.outer);
  ir_regions_free(&m.regions);
  return good;
}

static bool try_chain(const char *chain, measures *out) {
  static array want;
  static const ir_target target = {
      .triple = "x86_64-unknown-linux-gnu", .vector_bytes = 32, .registers = 16, .has_fma = true};
  ir_graph g;
  ir_plan plan;
  *out = (measures){0};
  if (!enumerate(chain, &want)) return failed(chain, "more elements than the test has room for", ELEMENTS);
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return failed(chain, error.text, 0);
  ir_ref node = fe_chain_parse(&g, "<chain>", chain, strlen(chain)),
         results = node ? ir_tuple(&g, &node, 1) : 0;
  pass_options options = {.target = &target, .verify = true};
  bool good = results && pass_pipeline(&g, results, &options, &plan, &error) == IR_OK;
  if (!good) failed(chain, error.text, 0);
  if (good) {
    good = plan.step_count == 1 ? measure_kernel(chain, &g, plan.steps[0].kernel, &want, out)
                                : failed(chain, "kernels", (int64_t)plan.step_count);
    ir_plan_free(&plan);
  }
  ir_graph_free(&g);
  if (good) out->affine = has_affine_radix(&want);
  return good;
}

/* the table */

typedef struct totals {
  int chains, affine, divide, rose, fell;
  measures sum;
} totals;

static bool rises(const char *chain, const char *what, int64_t was, int64_t is, totals *t) {
  t->fell += is < was;
  t->rose += is > was;
  if (is > was) printf("%s\n  %s: %" PRId64 ", the table says %" PRId64 "\n", chain, what, is, was);
  return is > was;
}

static bool try_row(char *line, FILE *accept, totals *t) {
  measures was = {0}, is;
  int affine, length = 0;
  line[strcspn(line, "\n")] = '\0';
  if (sscanf(line, "%d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %n", &affine, &was.loops, &was.inner,
             &was.tests, &was.runs, &length) != 5)
    return failed(line, "is no row of the table", 0);
  const char *chain = line + length;
  if (!try_chain(chain, &is)) return false;
  t->chains++, t->affine += is.affine, t->divide += is.affine && is.loops;
  t->sum.loops += is.loops, t->sum.inner += is.inner, t->sum.tests += is.tests, t->sum.runs += is.runs;
  if (accept)
    return fprintf(accept, "%8d %5" PRId64 " %5" PRId64 " %5" PRId64 " %8" PRId64 "  %s\n", is.affine,
                   is.loops, is.inner, is.tests, is.runs, chain) > 0;
  if (is.affine != affine)
    return failed(chain, "the table is wrong about a mixed radix; there is one", is.affine);
  bool more = rises(chain, "divisions in loops", was.loops, is.loops, t);
  more |= rises(chain, "divisions in innermost loops", was.inner, is.inner, t);
  more |= rises(chain, "tests", was.tests, is.tests, t);
  return !(more | rises(chain, "divisions and tests in all", was.runs, is.runs, t));
}

/* Writes beside the file that is accepted, and replaces it at the end: it may be the table itself. */
static bool try_table(const char *path, const char *accept_path, totals *t) {
  char line[LINE], beside[LINE];
  snprintf(beside, sizeof beside, "%s.new", accept_path ? accept_path : "");
  FILE *table = fopen(path, "r"), *accept = accept_path ? fopen(beside, "w") : NULL;
  if (!table || (accept_path && !accept)) {
    printf("prop_loops: cannot open %s\n", table ? accept_path : path);
    exit(77);
  }
  bool good = true;
  int rows = 0, step = accept ? 1 : level_step(1);
  while (fgets(line, sizeof line, table))
    if (line[0] != '#') good &= rows++ % step || try_row(line, accept, t);
    else if (accept) fputs(line, accept);
  fclose(table);
  if (!accept) return good;
  good = fclose(accept) == 0 && good;
  return good ? rename(beside, accept_path) == 0 : (remove(beside), false);
}

static bool try_random(uint64_t seed, uint64_t count, bool list, totals *t) {
  for (uint64_t k = 0; k < count; k++) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + k;
    model_chain c;
    char text[MODEL_TEXT];
    measures m;
    model_random_small(&state, 6, &c);
    model_print(&c, text);
    if (!try_chain(text, &m))
      return printf("again: prop_loops --seed %" PRIu64 " --count %" PRIu64 "\n", seed, k + 1), false;
    t->chains++, t->affine += m.affine, t->divide += m.affine && m.loops;
    t->sum.loops += m.loops, t->sum.inner += m.inner, t->sum.tests += m.tests;
    if (list && ((m.affine && m.loops) || m.inner || m.tests))
      printf("%s\n  %s; %" PRId64 " divisions in loops, %" PRId64 " in innermost ones, %" PRId64 " tests\n",
             text, m.affine ? "affine" : "not affine", m.loops, m.inner, m.tests);
  }
  return true;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000;
  int list = 0;
  const char *accept = NULL, *table = "test/property/prop_loops.chains";
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count), OPTION("--table", &table),
               OPTION("--list", &list), OPTION("--accept", &accept));
  totals t = {0}, random = {0};
  if (!try_table(table, accept, &t)) return 1;
  printf("%d chains, %d with an affine mixed radix, %d of which divide in a loop; in all %" PRId64
         " divisions in loops, %" PRId64 " in innermost ones, %" PRId64 " tests, %" PRId64 " evaluations\n",
         t.chains, t.affine, t.divide, t.sum.loops, t.sum.inner, t.sum.tests, t.sum.runs);
  if (t.fell && !accept) printf("%d numbers fell: --accept %s, and read the difference\n", t.fell, table);
  if (!try_random(seed, count, list, &random)) return 1;
  printf("prop_loops: %d random chains, %d with an affine mixed radix, %d of which divide in a loop; %" PRId64
         " divisions in innermost loops, %" PRId64 " tests, 0 wrong, seed %" PRIu64 "\n",
         random.chains, random.affine, random.divide, random.sum.inner, random.sum.tests, seed);
  return 0;
}
