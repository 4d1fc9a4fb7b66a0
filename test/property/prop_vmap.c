/* vmap(f) = the stack of f, one level or two, and the same for derivatives.
 *
 *   prop_vmap --seed S --count N
 *   prop_vmap --case SEED            one case again, by the seed in its report
 *
 * Each case records one random graph twice (test/lib/random_graph.h): as it is, and with inputs that have one
 * more axis for each level, at random places, or none where an input is not mapped. The second graph is
 * evaluated with batch axes, evaluated after they were made physical, and now and then compiled; each element
 * of the batch must be, bit for bit, what the plain graph gives for the slices of the data. The results are
 * the last values and
 *
 *   - vmap of vjp: gradients and tangents recorded inside are those of each element;
 *   - vjp of vmap: gradients recorded outside are those of each element stacked, and summed over the levels
 *     along which an input is not mapped (within a tolerance, as sums round).
 *
 * Indices out of range must be reported for the batch if and only if they are for an element. The verifier
 * must accept the second graph, and its text read back as the same text. */
#include "frontend/api/compile.h"
#include "frontend/text/reader.h"
#include "ir/eval/eval.h"
#include "passes/autodiff/derive.h"
#include "passes/batch/batch.h"
#include "passes/ops/ops.h"
#include "test/lib/reads_back.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 2, ROOTS = 3, PORTS = 24, RESULTS = 24, COMPILE_EVERY = 8 };

/* An input of both graphs. In the second graph it has one more axis for each level that it is mapped
 * along. */
typedef struct port {
  ir_ref plain, full, value; /* value: in the second graph, with the mapped axes as batch axes */
  int axis[LEVELS];          /* by level, an axis of `full` before any is taken out; -1: not mapped */
  int drop[LEVELS];          /* by level: the axis when it was taken out, the outermost level's first */
  void *data;
} port;

/* A result of both graphs, and where its batch axes are. */
typedef struct result {
  ir_ref plain, full;
  int axis[LEVELS]; /* by level, an axis of `full`; -1: it has none for that level */
  bool summed;      /* with -1: full is the sum over the level's elements, else equal for all of them */
  bool gradient;    /* zeros have either sign: 0 is added to what a cotangent is scattered into, or is not, by
                       which of the cotangents of a value comes first */
} result;

typedef struct checker {
  rt_context *context;
  random_graph plain, mapped;
  int levels;
  ir_ref size[LEVELS]; /* in the second graph */
  int64_t extent[LEVELS];
  port ports[PORTS];
  int port_count;
  result results[RESULTS];
  int result_count;
  uint64_t state; /* of choices outside the random graph */
  int64_t vars[RANDOM_VARS];
  const char *problem;
  char detail[2048];
  long graphs, elements, programs, gradients, out_of_range, physical;
} checker;

static int64_t pick(checker *c, int64_t lo, int64_t hi) { return random_between(&c->state, lo, hi); }
static bool chance(checker *c, int percent) { return pick(c, 1, 100) <= percent; }

static void fail(checker *c, const char *problem, const char *detail) {
  if (c->problem) return;
  c->problem = problem;
  snprintf(c->detail, sizeof c->detail, "%s", detail);
}

/* inputs */

/* Adds an input of the second graph like its value `plain`, with one more axis for each level that it is
 * mapped along. */
static ir_ref add_port(checker *c, const char *name, ir_ref plain) {
  ir_graph *g = &c->mapped.g;
  port *p = &c->ports[c->port_count++];
  ir_ref shape[IR_MAX_RANK];
  int rank = (int)ir_rank(g, plain);
  *p = (port){.axis = {-1, -1}, .drop = {-1, -1}};
  if (rank) memcpy(shape, ir_get(g, ir_shape(g, plain))->src, (size_t)rank * sizeof *shape);
  for (int level = c->levels; level-- > 0;) { /* the innermost level's axis is inserted first */
    if (!chance(c, 75)) continue;
    int at = (int)pick(c, 0, rank);
    memmove(shape + at + 1, shape + at, (size_t)(rank - at) * sizeof *shape);
    shape[at] = c->size[level];
    rank++;
    p->drop[level] = p->axis[level] = at;
    for (int inner = level + 1; inner < c->levels; inner++)
      if (p->axis[inner] >= at) p->axis[inner]++;
  }
  p->full = p->value = op_input(g, name, strlen(name), ir_dtype_of(g, plain), shape, (size_t)rank);
  for (int level = 0; level < c->levels; level++)
    if (p->drop[level] >= 0) p->value = op_batch(g, p->value, p->drop[level], level + 1);
  return p->value;
}

static ir_ref stand_in(random_graph *r, int number, ir_ref plain) {
  char name[32];
  checker *c = r->user;
  snprintf(name, sizeof name, "full%d", number);
  if (number == 0) { /* chosen here because the variables are declared by now */
    for (int level = 0; level < c->levels; level++)
      c->size[level] =
          r->var_count && chance(c, 20) ? r->vars[0] : ir_index(&r->g, chance(c, 4) ? 0 : pick(c, 1, 3));
  }
  ir_ref value = add_port(c, name, plain);
  c->ports[c->port_count - 1].plain = c->plain.inputs[number];
  return value;
}

/* Adds a further input of both graphs, with the shape and dtype of value `of`. */
static ir_ref extra(checker *c, const char *name, int of, ir_ref *plain) {
  ir_graph *g = &c->plain.g;
  ir_ref like = c->plain.values[of].ref, mapped = c->mapped.values[of].ref;
  if (c->port_count == PORTS) return 0;
  *plain = op_input(g, name, strlen(name), ir_dtype_of(g, like), ir_get(g, ir_shape(g, like))->src,
                    ir_rank(g, like));
  ir_ref made = add_port(c, name, mapped);
  c->ports[c->port_count - 1].plain = *plain;
  return *plain && made ? made : 0;
}

/* results */

/* Adds a result: a value inside the vmap, and its stack outside. */
static void add_result(checker *c, ir_ref plain, ir_ref inside) {
  result *r = &c->results[c->result_count];
  ir_graph *g = &c->mapped.g;
  *r = (result){.plain = plain, .full = op_default_dtype(g, inside), .axis = {-1, -1}};
  for (int level = c->levels; level-- > 0 && r->full;) {
    int at = (int)pick(c, 0, ir_rank(g, r->full));
    r->full = op_unbatch(g, r->full, c->size[level], at, level + 1);
    r->axis[level] = at;
    for (int inner = level + 1; inner < c->levels; inner++)
      if (r->axis[inner] >= at) r->axis[inner]++;
  }
  if (r->full) c->result_count++;
  else fail(c, "a result cannot be stacked", c->mapped.error.text);
}

/* evaluation */

static void sizes_of(checker *c, const random_graph *r, ir_ref node, int64_t *shape) {
  ir_var_value vars[RANDOM_VARS];
  ir_error error = {0};
  for (int i = 0; i < r->var_count; i++) vars[i] = (ir_var_value){r->vars[i], c->vars[i]};
  for (uint32_t k = 0; k < ir_rank(&r->g, node); k++)
    if (ir_eval_index(&r->g, ir_dim(&r->g, node, k), vars, (size_t)r->var_count, NULL, 0, &shape[k],
                      &error) != IR_OK)
      fail(c, "a size cannot be evaluated", error.text);
}

static int64_t count_of(const int64_t *shape, uint32_t rank) {
  int64_t count = 1;
  for (uint32_t k = 0; k < rank; k++) count *= shape[k];
  return count;
}

static bool next(int64_t *at, const int64_t *shape, uint32_t rank) {
  for (uint32_t k = rank; k-- > 0;) {
    if (++at[k] < shape[k]) return true;
    at[k] = 0;
  }
  return false;
}

/* Copies to `part` the elements of `whole` whose index along each level's axis is `at`. */
static void slice(const unsigned char *whole, unsigned char *part, const int64_t *shape, uint32_t rank,
                  const int *axis, const int64_t *at, size_t bytes) {
  int64_t coordinate[IR_MAX_RANK] = {0}, number = 0;
  if (count_of(shape, rank) == 0) return;
  size_t out = 0;
  do {
    bool inside = true;
    for (int level = 0; level < LEVELS; level++)
      if (axis[level] >= 0) inside &= coordinate[axis[level]] == at[level];
    if (inside) memcpy(part + out++ * bytes, whole + (size_t)number * bytes, bytes);
    number++;
  } while (next(coordinate, shape, rank));
}

static void fill(checker *c, port *p) {
  int64_t shape[IR_MAX_RANK];
  random_graph *r = &c->mapped;
  uint32_t rank = ir_rank(&r->g, p->full);
  ir_ref dims[IR_MAX_RANK];
  sizes_of(c, r, p->full, shape);
  for (uint32_t k = 0; k < rank; k++) dims[k] = ir_index(&r->g, shape[k]);
  size_t bytes;
  ir_ref fixed = op_input(&r->g, "data", 4, ir_dtype_of(&r->g, p->full), dims, rank);
  p->data = random_graph_data(r, fixed, c->vars, &bytes);
}

static ir_status evaluate(checker *c, const random_graph *r, const ir_ref *roots, const port *ports,
                          bool full, void *const *data, ir_eval_result *out, ir_error *error) {
  ir_binding_input bound[PORTS];
  ir_var_value vars[RANDOM_VARS];
  for (int i = 0; i < c->port_count; i++)
    bound[i] = (ir_binding_input){full ? ports[i].full : ports[i].plain, data[i]};
  for (int i = 0; i < r->var_count; i++) vars[i] = (ir_var_value){r->vars[i], c->vars[i]};
  return ir_eval(&r->g, roots, (size_t)c->result_count, bound, (size_t)c->port_count, vars,
                 (size_t)r->var_count, out, error);
}

/* The plain graph's results for every element of the batch. */
typedef struct stack {
  ir_eval_result *each; /* by element and result */
  int64_t count;        /* number of elements */
  bool out_of_range;
} stack;

static void batch_indices(const checker *c, int64_t element, int64_t *at) {
  at[0] = at[1] = 0;
  for (int level = c->levels; level-- > 0; element /= c->extent[level])
    at[level] = element % c->extent[level];
}

static void eval_each(checker *c, stack *s) {
  ir_ref roots[RESULTS];
  for (int i = 0; i < c->result_count; i++) roots[i] = c->results[i].plain;
  for (int64_t e = 0; e < s->count && !c->problem; e++) {
    void *data[PORTS];
    int64_t at[LEVELS], shape[IR_MAX_RANK];
    ir_error error = {0};
    batch_indices(c, e, at);
    for (int i = 0; i < c->port_count; i++) {
      const port *p = &c->ports[i];
      uint32_t rank = ir_rank(&c->mapped.g, p->full);
      size_t bytes = ir_dtypes[ir_dtype_of(&c->mapped.g, p->full)].bytes;
      sizes_of(c, &c->mapped, p->full, shape);
      data[i] = malloc((size_t)count_of(shape, rank) * bytes + 1);
      slice(p->data, data[i], shape, rank, p->axis, at, bytes);
    }
    ir_status status = evaluate(c, &c->plain, roots, c->ports, false, data, s->each + e * RESULTS, &error);
    if (status == IR_ERR_RANGE) s->out_of_range = true;
    else if (status) fail(c, "the plain graph cannot be evaluated", error.text);
    for (int i = 0; i < c->port_count; i++) free(data[i]);
  }
}

/* A sum of gradients, within the rounding errors of the summands and of the sum. */
static bool near(double got, double want, double magnitude, ir_dtype t) {
  static const double unit[IR_DTYPE_COUNT] = {
      [IR_F16] = 0x1p-10, [IR_BF16] = 0x1p-7, [IR_F32] = 0x1p-23, [IR_F64] = 0x1p-52};
  if (!isfinite(want) || !isfinite(got)) return true; /* inf - inf in another order */
  return fabs(got - want) <= 64 * unit[t] * magnitude + (t == IR_F16 ? 0x1p-20 : 0);
}

/* The narrowest float type in the graph: a gradient may be f32 although its summands were rounded to less. */
static ir_dtype narrowest(const ir_graph *g, ir_dtype t) {
  for (ir_ref r = 1; r < g->count; r++) {
    ir_dtype other = ir_dtype_of(g, r);
    if (other == IR_BF16 || (other == IR_F16 && t != IR_BF16) || (other == IR_F32 && t == IR_F64)) t = other;
  }
  return t;
}

static void compare_summed(checker *c, const result *r, const ir_eval_result *whole, const stack *s,
                           int number, const char *how) {
  int64_t extents[LEVELS] = {1, 1}, kept[LEVELS] = {0};
  for (int level = 0; level < c->levels; level++)
    if (r->axis[level] >= 0) extents[level] = c->extent[level];
  size_t bytes = ir_dtypes[whole->dtype].bytes;
  ir_dtype rounded = narrowest(&c->mapped.g, whole->dtype);
  unsigned char *part = malloc(whole->bytes + 1);
  do {
    slice(whole->data, part, whole->shape, whole->rank, r->axis, kept, bytes);
    int64_t per = s->count ? s->each[number].count : 0;
    for (int64_t i = 0; i < per && !c->problem; i++) {
      double sum = 0, magnitude = 0;
      for (int64_t e = 0; e < s->count; e++) {
        int64_t at[LEVELS];
        bool counts = true;
        batch_indices(c, e, at);
        for (int level = 0; level < c->levels; level++)
          counts &= r->axis[level] < 0 || at[level] == kept[level];
        if (!counts) continue;
        double v =
            ir_value_load((char *)s->each[e * RESULTS + number].data + (size_t)i * bytes, whole->dtype).f;
        sum += v, magnitude += fabs(v);
      }
      double got = ir_value_load(part + (size_t)i * bytes, whole->dtype).f;
      c->elements++;
      if (near(got, sum, magnitude, rounded)) continue;
      char text[200];
      snprintf(text, sizeof text, "%s: gradient %d, element %" PRId64 ": %.9g, expected %.9g", how, number, i,
               got, sum);
      fail(c, "a sum of gradients is wrong", text);
    }
  } while (next(kept, extents, LEVELS));
  free(part);
}

static void compare(checker *c, const ir_eval_result *got, const stack *s, const char *how) {
  for (int k = 0; k < c->result_count && !c->problem; k++) {
    const ir_eval_result *whole = &got[k];
    const result *r = &c->results[k];
    if (r->summed) {
      compare_summed(c, r, whole, s, k, how);
      continue;
    }
    size_t bytes = ir_dtypes[whole->dtype].bytes;
    unsigned char *part = malloc(whole->bytes + 1);
    for (int64_t e = 0; e < s->count && !c->problem; e++) {
      const ir_eval_result *want = &s->each[e * RESULTS + k];
      int64_t at[LEVELS];
      batch_indices(c, e, at);
      slice(whole->data, part, whole->shape, whole->rank, r->axis, at, bytes);
      if (want->dtype != whole->dtype) fail(c, "a dtype is wrong", how);
      for (int64_t i = 0; i < want->count && !c->problem; i++) {
        c->elements++;
        if (trial_same((unsigned char *)want->data + (size_t)i * bytes, part + (size_t)i * bytes,
                       want->dtype))
          continue;
        char text[200];
        ir_value v = ir_value_load((char *)want->data + (size_t)i * bytes, want->dtype),
                 u = ir_value_load(part + (size_t)i * bytes, want->dtype);
        if (r->gradient && ir_is_float(want->dtype) && v.f == 0 && u.f == 0) continue;
        snprintf(text, sizeof text,
                 "%s: result %d, batch element %" PRId64 ", element %" PRId64 ": %.9g, expected %.9g", how, k,
                 e, i, ir_is_float(want->dtype) ? u.f : (double)u.i,
                 ir_is_float(want->dtype) ? v.f : (double)v.i);
        fail(c, "a wrong element", text);
      }
    }
    free(part);
  }
}

/* Evaluates these roots of the second graph, which hold the whole batch, and compares all elements. */
static void check_whole(checker *c, const ir_ref *roots, const port *ports, const stack *s, const char *how) {
  ir_eval_result got[RESULTS] = {0};
  void *data[PORTS];
  ir_error error = {0};
  for (int i = 0; i < c->port_count; i++) data[i] = c->ports[i].data;
  ir_status status = evaluate(c, &c->mapped, roots, ports, true, data, got, &error);
  if ((status == IR_ERR_RANGE) != s->out_of_range)
    fail(c, "positions out of range are not reported alike", how);
  else if (status && status != IR_ERR_RANGE) fail(c, how, error.text);
  if (status == IR_OK) compare(c, got, s, how), ir_eval_free(&c->mapped.g, got, (size_t)c->result_count);
}

static void check_physical(checker *c, const stack *s) {
  ir_ref roots[RESULTS + PORTS];
  port ports[PORTS];
  for (int i = 0; i < c->result_count; i++) roots[i] = c->results[i].full;
  for (int i = 0; i < c->port_count; i++) roots[c->result_count + i] = c->ports[i].full;
  ir_error_clear(&c->mapped.error);
  if (!pass_physicalize(&c->mapped.g, roots, (size_t)(c->result_count + c->port_count))) {
    fail(c, "a batch cannot be made physical", c->mapped.error.text);
    return;
  }
  c->physical++;
  memcpy(ports, c->ports, sizeof ports);
  for (int i = 0; i < c->port_count; i++) ports[i].full = roots[c->result_count + i];
  check_whole(c, roots, ports, s, "physical");
}

/* Compiles the last values. Gradients are left out, as their sums may be rounded differently. */
static void check_compiled(checker *c, int count, const stack *s) {
  random_graph *r = &c->mapped;
  ir_ref roots[RESULTS], inputs[PORTS];
  void *outputs[RESULTS] = {0}, *data[PORTS];
  ir_eval_result got[RESULTS] = {0};
  ir_error error = {0};
  rt_program *program = NULL;
  for (int i = 0; i < count; i++) roots[i] = c->results[i].full;
  for (int i = 0; i < c->port_count; i++) inputs[i] = c->ports[i].full, data[i] = c->ports[i].data;
  fe_request request = {.graph = &r->g,
                        .results = ir_tuple(&r->g, roots, (uint32_t)count),
                        .inputs = inputs,
                        .input_count = (size_t)c->port_count,
                        .vars = r->vars,
                        .var_count = (size_t)r->var_count,
                        .name = "mapped"};
  ir_error_clear(&r->error);
  if (fe_compile(c->context, &request, &program, &error) != IR_OK) {
    fail(c, "compilation failed", error.text);
    return;
  }
  int64_t ordered[RANDOM_VARS] = {0};
  for (size_t i = 0; i < rt_program_variable_count(program); i++)
    ordered[i] = c->vars[rt_program_variable(program, i).name[0] == 'n' ? 0 : 1];
  for (int i = 0; i < count; i++) {
    got[i].dtype = ir_dtype_of(&r->g, roots[i]);
    got[i].rank = ir_rank(&r->g, roots[i]);
    sizes_of(c, r, roots[i], got[i].shape);
    got[i].count = count_of(got[i].shape, got[i].rank);
    got[i].bytes = (size_t)got[i].count * ir_dtypes[got[i].dtype].bytes;
    got[i].data = outputs[i] = calloc(1, got[i].bytes + 1);
  }
  ir_status status = rt_program_run(program, data, outputs, ordered, &error);
  if (status && !(status == IR_ERR_RANGE && s->out_of_range)) fail(c, "the program failed", error.text);
  int all = c->result_count;
  c->result_count = count;
  if (!status) compare(c, got, s, "compiled");
  c->result_count = all;
  for (int i = 0; i < count; i++) free(outputs[i]);
  rt_program_release(program);
  c->programs++;
}

/* The text parses back to the same text. Not required of derivatives: they are recorded with facts about
 * sizes that the parser cannot prove. */
static void check_text(checker *c) {
  char wrong[1000];
  ir_ref roots[RESULTS];
  for (int i = 0; i < c->result_count; i++) roots[i] = c->results[i].full;
  ir_ref all = ir_tuple(&c->mapped.g, roots, (uint32_t)c->result_count);
  if (reads_back(&c->mapped.g, "mapped", all, wrong, sizeof wrong)) fail(c, "reading back", wrong);
}

static void check_verified(checker *c) {
  ir_ref roots[RESULTS];
  ir_error error = {0};
  for (int i = 0; i < c->result_count; i++) roots[i] = c->results[i].full;
  ir_ref all = ir_tuple(&c->mapped.g, roots, (uint32_t)c->result_count);
  if (ir_verify(&c->mapped.g, all, IR_LEVEL_TENSOR, &error) != IR_OK)
    fail(c, "the verifier complains", error.text);
}

/* derivatives */

static bool varies(const random_graph *r, ir_ref x) {
  return ir_is_float(ir_dtype_of(&r->g, x)) && ir_op_of(&r->g, x) != IR_OP_CONST;
}

/* Records gradients (reverse) or tangents of either graph by the same call; false where the derivative is
 * refused. */
static bool derive(checker *c, bool reverse, random_graph *r, const pass_derivative *of, const ir_ref *given,
                   ir_ref *made) {
  ir_error_clear(&r->error);
  bool good = reverse ? pass_vjp(&r->g, of, given, made) : pass_jvp(&r->g, of, given, made);
  if (!good && r->error.status != IR_ERR_INVALID) fail(c, "a derivative fails", r->error.text);
  return good;
}

static void add_derivatives(checker *c) {
  ir_ref in[2][RANDOM_INPUTS], out[2], given[2][RANDOM_INPUTS], made[2][RANDOM_INPUTS];
  int number[RANDOM_INPUTS], count = 0, last = c->plain.value_count - 1;
  while (last >= 0 && !varies(&c->plain, c->plain.values[last].ref)) last--;
  for (int i = 0; i < c->plain.input_count && last >= 0; i++) {
    if (!varies(&c->plain, c->plain.inputs[i])) continue;
    in[0][count] = c->plain.inputs[i], in[1][count] = c->ports[i].value, number[count++] = i;
  }
  if (!count) return;
  out[0] = c->plain.values[last].ref, out[1] = c->mapped.values[last].ref;
  uint32_t inside = (1u << c->levels) - 1;
  pass_derivative of[2];
  for (int k = 0; k < 2; k++)
    of[k] = (pass_derivative){.who = "prop",
                              .outputs = &out[k],
                              .output_count = 1,
                              .inputs = in[k],
                              .input_count = (size_t)count,
                              .levels = k ? inside : 0};
  /* vmap of vjp */
  if (!(given[1][0] = extra(c, "cotangent", last, &given[0][0]))) return;
  bool plain = derive(c, true, &c->plain, &of[0], given[0], made[0]);
  if (plain != derive(c, true, &c->mapped, &of[1], given[1], made[1])) {
    fail(c, "only one of plain and mapped has gradients", plain ? c->mapped.error.text : c->plain.error.text);
    return;
  }
  ir_error_clear(&c->plain.error), ir_error_clear(&c->mapped.error);
  if (!plain) return;
  c->gradients++;
  for (int i = 0; i < count; i++) {
    add_result(c, made[0][i], made[1][i]);
    c->results[c->result_count - 1].gradient = true;
  }
  /* vjp of vmap: gradients of the stacked output by the whole inputs; the cotangent is mapped wherever the
   * output is */
  ir_ref whole[RANDOM_INPUTS], stacked = out[1], cotangent = given[1][0];
  for (int level = c->levels; level-- > 0;) {
    int at = (int)pick(c, 0, ir_rank(&c->mapped.g, stacked));
    stacked = op_unbatch(&c->mapped.g, stacked, c->size[level], at, level + 1);
    cotangent = op_unbatch(&c->mapped.g, cotangent, c->size[level], at, level + 1);
  }
  for (int i = 0; i < count; i++) whole[i] = c->ports[number[i]].full;
  pass_derivative outer = {
      .who = "prop", .outputs = &stacked, .output_count = 1, .inputs = whole, .input_count = (size_t)count};
  if (!derive(c, true, &c->mapped, &outer, &cotangent, made[1])) {
    fail(c, "the stack has no gradients", c->mapped.error.text);
    return;
  }
  for (int i = 0; i < count; i++) {
    const port *p = &c->ports[number[i]];
    result *r = &c->results[c->result_count++];
    *r =
        (result){.plain = made[0][i], .full = made[1][i], .axis = {p->axis[0], p->axis[1]}, .gradient = true};
    for (int level = 0; level < c->levels; level++) r->summed |= p->axis[level] < 0;
  }
  /* vmap of jvp: each tangent is mapped or not, independently of its input */
  for (int i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "tangent%d", i);
    int value = 0;
    while (c->plain.values[value].ref != in[0][i]) value++;
    if (!(given[1][i] = extra(c, name, value, &given[0][i]))) return;
  }
  if (derive(c, false, &c->plain, &of[0], given[0], made[0]) &&
      derive(c, false, &c->mapped, &of[1], given[1], made[1]))
    add_result(c, made[0][0], made[1][0]);
  else fail(c, "tangents are refused where gradients are not", c->mapped.error.text);
}

/* cases */

static void check(checker *c, bool compiled, int values) {
  stack s = {.count = 1};
  random_graph_sizes(&c->mapped, c->vars);
  ir_ref roots[RESULTS];
  for (int level = 0; level < c->levels; level++) {
    int64_t size = 0;
    if (!ir_is_const(&c->mapped.g, c->size[level], &size)) size = c->vars[0];
    s.count *= c->extent[level] = size;
  }
  s.each = calloc((size_t)s.count * RESULTS + 1, sizeof *s.each);
  for (int i = 0; i < c->port_count; i++) fill(c, &c->ports[i]);
  for (int i = 0; i < c->result_count; i++) roots[i] = c->results[i].full;
  eval_each(c, &s);
  if (!c->problem) check_whole(c, roots, c->ports, &s, "evaluated");
  if (!c->problem) check_physical(c, &s);
  if (!c->problem && compiled) check_compiled(c, values, &s);
  c->out_of_range += s.out_of_range;
  for (int64_t e = 0; e < s.count; e++)
    ir_eval_free(&c->plain.g, s.each + e * RESULTS, (size_t)c->result_count);
  for (int i = 0; i < c->port_count; i++) free(c->ports[i].data), c->ports[i].data = NULL;
  free(s.each);
}

static void report(checker *c, uint64_t seed) {
  ir_ref roots[RESULTS];
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  for (int i = 0; i < c->result_count; i++) roots[i] = c->results[i].full;
  ir_print_graph(&c->mapped.g, "failing", ir_tuple(&c->mapped.g, roots, (uint32_t)c->result_count), &text);
  fprintf(stderr, "%s: %s\n%s(case seed %" PRIu64 ")\n", c->problem, c->detail, ir_text_get(&text), seed);
  ir_text_free(&text);
}

static bool one_case(checker *c, uint64_t seed, bool compiled) {
  c->problem = NULL;
  c->port_count = c->result_count = 0;
  c->state = seed ^ 0x5bd1e995u;
  c->levels = (int)pick(c, 1, LEVELS);
  random_graph_make(&c->plain, seed, 4);
  random_graph_make_with(&c->mapped, seed, 4, stand_in, c);
  c->graphs++;
  if (c->plain.value_count != c->mapped.value_count) fail(c, "the graphs differ", c->mapped.error.text);
  int wanted = (int)pick(c, 1, ROOTS), values = 0;
  for (int i = c->plain.value_count - 1; i >= 0 && values < wanted && !c->problem; i--, values++)
    add_result(c, op_default_dtype(&c->plain.g, c->plain.values[i].ref), c->mapped.values[i].ref);
  if (!c->problem) check_text(c);
  if (!c->plain.wild && !c->problem) add_derivatives(c);
  if (!c->problem) check_verified(c);
  if (!c->problem) check(c, compiled, values);
  bool passed = !c->problem;
  if (!passed) report(c, seed);
  ir_graph_free(&c->plain.g), ir_graph_free(&c->mapped.g);
  return passed;
}

static const case_machine host = {0, NULL};
static checker the;
static cases given;
static bool check_case(uint64_t seed) {
  return one_case(&the, seed, given.repeat || given.done % COMPILE_EVERY == 0);
}

int main(int argc, char **argv) {
  given = cases_read(argc, argv, 200);
  if (!cases_open(&host, 1, &the.context)) return 1;
  cases_run(&given, check_case);
  cases_close(&the.context, 1);
  printf("prop_vmap: %ld graphs, %ld elements, %ld with derivatives, %ld physical, "
         "%ld out of range, %ld programs, %ld failed, seed %" PRIu64 "\n",
         the.graphs, the.elements, the.gradients, the.physical, the.out_of_range, the.programs, given.failed,
         given.seed);
  return given.failed != 0;
}
