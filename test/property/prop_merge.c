/* Does every chain that is equal to one view become one view?
 *
 *   prop_merge --seed S --count N [--steps 5] [--list K] [--at-least PERMILLE] [--scaled M]
 *
 * Of N random chains the test judges those with a prefix that is not equal to one view, so that views had to
 * be merged. Enumeration decides whether the whole chain's map is one view (strides, offset and a box mask).
 * The test counts the chains that the library recognises as one view, in either form: as a list of one view,
 * and as an index that is a sum of ranges times constants under a conjunction of bounds of single ranges. An
 * answer of one view where enumeration finds none, or another, is a failure; so is a share of recognised
 * chains below PERMILLE of a thousand.
 *
 * The first M chains that are equal to one view, merged or not, are repeated with about a million elements:
 * with another axis in front, with another behind, and with each axis of the base made longer. There too
 * enumeration decides, and the fold may make no more nodes than MORE_NODES times those of the small chain,
 * and 64. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/views/view.h"
#include "passes/fold/fold.h"
#include "test/lib/view_model.h"
#include "test/lib/view_record.h"
#include "test/lib/options.h"

enum { MANY = 1000000, MOST_LISTED = 10000, MORE_NODES = 3 };

typedef enum form { VIEWS, INDEX, FORMS } form;
static const char *const form_names[] = {"list of views", "index"};

/* The library's answer for a chain. */
typedef struct answer {
  bool single[FORMS];
  model_view view; /* of the list, when it is one */
  model_view box;  /* of the index, when it is affine */
  uint32_t nodes;
} answer;

typedef struct offender {
  model_chain chain;
  model_view view;
  bool single[FORMS];
  int elements;
} offender;

static uint64_t seed = 1, listed;
static int longest = 5;
static offender missed[MOST_LISTED];
static size_t missed_count;

/* ----------------------------------------------------------------------------------------------------
 * the library's answers */

static bool view_of(ir_graph *g, ir_ref x, model_view *out) {
  pass_view_chain chain;
  pass_view_numbers view, *v = &view;
  bool single =
      pass_view_chain_of(g, x, &chain) && chain.count == 1 && pass_view_numbers_of(g, chain.views, v);
  if (single) {
    out->offset = v->offset;
    for (uint32_t i = 0; i < v->rank; i++) {
      out->stride[i] = v->stride[i];
      out->begin[i] = (int)v->begin[i], out->end[i] = (int)v->end[i];
    }
  }
  pass_view_chain_free(&chain);
  return single;
}

static bool is_range(const ir_graph *g, ir_ref ref) { return ir_op_of(g, ref) == IR_OP_RANGE; }

static int axis_of(const ir_graph *g, ir_ref range) { return ir_arg_int(ir_get(g, range)); }

/* constant, range or range*constant */
static bool term(const ir_graph *g, ir_ref ref, model_view *out) {
  int64_t factor = 1;
  if (ir_is_const(g, ref, &factor)) {
    out->offset += factor;
    return true;
  }
  if (ir_op_of(g, ref) == IR_OP_MUL && ir_get(g, ref)->nsrc == 2 &&
      ir_is_const(g, ir_src(g, ref, 1), &factor))
    ref = ir_src(g, ref, 0);
  if (!is_range(g, ref)) return false;
  out->stride[axis_of(g, ref)] += factor;
  return true;
}

/* a bound of a range */
static bool clause(const ir_graph *g, ir_ref ref, model_view *out) {
  const ir_node *n = ir_get(g, ref);
  int64_t bound;
  if (n->nsrc != 2 || !is_range(g, n->src[0]) || !ir_is_const(g, n->src[1], &bound)) return false;
  int axis = axis_of(g, n->src[0]), b = (int)bound;
  if ((n->op == IR_OP_GE || n->op == IR_OP_EQ) && out->begin[axis] < b) out->begin[axis] = b;
  if (n->op == IR_OP_LT && out->end[axis] > b) out->end[axis] = b;
  if (n->op == IR_OP_EQ && out->end[axis] > b + 1) out->end[axis] = b + 1;
  return n->op == IR_OP_GE || n->op == IR_OP_LT || n->op == IR_OP_EQ;
}

static bool index_of(ir_graph *g, ir_ref index, ir_ref valid, const model_shape *shape, model_view *out) {
  const ir_node *sum = ir_get(g, index), *all = ir_get(g, valid);
  bool affine = true, box = true;
  *out = (model_view){0};
  for (int i = 0; i < shape->rank; i++) out->end[i] = ir_is_false(g, valid) ? 0 : shape->size[i];
  if (sum->op != IR_OP_ADD) affine = term(g, index, out);
  for (uint32_t i = 0; i < sum->nsrc && sum->op == IR_OP_ADD; i++) affine &= term(g, sum->src[i], out);
  if (all->op == IR_OP_CONST) return affine;
  if (all->op != IR_OP_AND) box = clause(g, valid, out);
  for (uint32_t i = 0; i < all->nsrc && all->op == IR_OP_AND; i++) box &= clause(g, all->src[i], out);
  return affine && box;
}

static bool ask(const model_chain *c, const model_shape *shape, answer *a, bool tell) {
  ir_graph g;
  ir_error error = {0};
  ir_ref index, valid, x = 0;
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return false;
  bool folded = (x = view_record_chain(&g, c)) && pass_fold_chain(&g, x, &index, &valid);
  a->nodes = g.count;
  if (folded) a->single[VIEWS] = view_of(&g, x, &a->view);
  folded = folded && error.status == IR_OK;
  if (folded) a->single[INDEX] = index_of(&g, index, valid, shape, &a->box);
  if (!folded) printf("  does not fold: %s\n", error.text);
  if (folded && tell) {
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_expr(&g, index, &text);
    ir_text_str(&text, "   valid ");
    ir_print_expr(&g, valid, &text);
    printf("  index %s\n", ir_text_get(&text));
    ir_text_free(&text);
  }
  ir_graph_free(&g);
  return folded;
}

/* ----------------------------------------------------------------------------------------------------
 * judging */

static bool empty(const model_shape *s, const model_view *v) {
  for (int i = 0; i < s->rank; i++)
    if (v->begin[i] >= v->end[i]) return true;
  return false;
}

/* Do two views read the same elements everywhere? Strides matter along axes with more than one valid
 * index. */
static bool same_view(const model_shape *s, const model_view *a, const model_view *b) {
  int64_t difference = a->offset - b->offset;
  if (empty(s, a) || empty(s, b)) return empty(s, a) == empty(s, b);
  for (int i = 0; i < s->rank; i++) {
    if (a->begin[i] != b->begin[i] || a->end[i] != b->end[i]) return false;
    if (a->end[i] - a->begin[i] > 1 && a->stride[i] != b->stride[i]) return false;
    difference += a->begin[i] * (a->stride[i] - b->stride[i]);
  }
  return difference == 0;
}

/* The chain's map by plain copying, of any size; NULL when memory is out. *single: every proper prefix of the
 * chain is equal to one view. */
static int *map_of(const model_chain *c, model_shape *shape, bool *single) {
  model_shape from = c->base;
  model_view view;
  int count = model_elements(&from), *at = malloc(((size_t)count + 1) * sizeof *at);
  for (int i = 0; i < count && at; i++) at[i] = i;
  *single = true;
  for (int k = 0; k < c->count && at; k++, from = *shape) {
    if (!model_shape_after(&from, &c->steps[k], shape)) exit(1);
    int *to = malloc(((size_t)model_elements(shape) + 1) * sizeof *to);
    if (to) model_compose(&from, &c->steps[k], shape, at, to);
    free(at);
    at = to;
    if (at && k + 1 < c->count) *single = *single && model_single(shape, at, &view);
  }
  return at;
}

static int fail(const model_chain *c, const char *what) {
  char text[MODEL_TEXT];
  model_print(c, text);
  printf("prop_merge: %s\n  %s\n", text, what);
  return 1;
}

/* Checks that an answer of one view is the right view. */
static int check(const model_chain *c, const model_shape *shape, const answer *a, bool single,
                 const model_view *view) {
  if (a->single[VIEWS] && !(single && same_view(shape, &a->view, view)))
    return fail(c, "the list of views is one view that does something else");
  if (a->single[INDEX] && !(single && same_view(shape, &a->box, view)))
    return fail(c, "the index is one view that does something else");
  return 0;
}

static void remember(const model_chain *c, const model_shape *shape, const model_view *view,
                     const answer *a) {
  if ((a->single[VIEWS] && a->single[INDEX]) || missed_count == MOST_LISTED || !listed) return;
  missed[missed_count++] = (offender){*c, *view, {a->single[VIEWS], a->single[INDEX]}, model_elements(shape)};
}

typedef struct counts {
  uint64_t judged, single, found[FORMS];
} counts;

/* Repeats a chain in larger sizes (`place`: which axis is added or made longer). Returns how many checks
 * failed. */
static int scaled(const model_chain *c, const answer *small, counts *n) {
  model_shape shape = c->base;
  int most = model_elements(&shape), failed = 0;
  for (int i = 0; i < c->count; i++)
    if (model_shape_after(&shape, &c->steps[i], &shape) && model_elements(&shape) > most)
      most = model_elements(&shape);
  for (int place = 0; place < 2 + c->base.rank; place++) {
    model_chain large;
    model_view view;
    answer a = {0};
    bool simple;
    if (!model_scale(c, place, MANY / most, &large)) continue;
    int *at = map_of(&large, &shape, &simple);
    if (!at || !ask(&large, &shape, &a, false)) return fail(&large, "cannot be folded");
    bool single = model_single(&shape, at, &view);
    failed += check(&large, &shape, &a, single, &view);
    n->judged++, n->single += single;
    for (form f = 0; f < FORMS; f++) n->found[f] += single && a.single[f];
    if (single) remember(&large, &shape, &view, &a);
    if (a.nodes > MORE_NODES * small->nodes + 64)
      failed += fail(&large, "makes more nodes than the small chain");
    free(at);
  }
  return failed;
}

static int by_size(const void *a, const void *b) {
  const offender *x = a, *y = b;
  if (x->chain.count != y->chain.count) return x->chain.count - y->chain.count;
  return x->elements - y->elements;
}

static void list_missed(void) {
  qsort(missed, missed_count, sizeof *missed, by_size);
  for (size_t i = 0; i < missed_count && i < listed; i++) {
    const offender *o = &missed[i];
    char text[MODEL_TEXT];
    model_shape shape = o->chain.base;
    answer a;
    for (int k = 0; k < o->chain.count; k++) model_shape_after(&shape, &o->chain.steps[k], &shape);
    model_print(&o->chain, text);
    printf("%s\n  missed by%s%s; one view of strides", text, o->single[VIEWS] ? "" : " views",
           o->single[INDEX] ? "" : " index");
    for (int k = 0; k < shape.rank; k++) printf(" %" PRId64, o->view.stride[k]);
    printf(", offset %" PRId64 ", mask", o->view.offset);
    for (int k = 0; k < shape.rank; k++) printf(" %d..%d", o->view.begin[k], o->view.end[k]);
    printf("\n");
    ask(&o->chain, &shape, &a, true);
  }
}

static bool tell(const char *what, const counts *n, uint64_t least) {
  bool enough = true;
  printf("%s: %" PRIu64 " chains, %" PRIu64 " of them one view by enumeration\n", what, n->judged, n->single);
  for (form f = 0; f < FORMS; f++) {
    printf("  recognised in the %s: %" PRIu64 ", %.3f%%\n", form_names[f], n->found[f],
           n->single ? 100.0 * (double)n->found[f] / (double)n->single : 100.0);
    enough &= n->found[f] * 1000 >= n->single * least;
  }
  return enough;
}

int main(int argc, char **argv) {
  uint64_t count = 20000, least = 1000, scale = 30;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count), OPTION("--steps", &longest),
               OPTION("--list", &listed), OPTION("--at-least", &least), OPTION("--scaled", &scale));
  if (longest < 2 || longest > MODEL_STEPS) return 2;
  counts simple = {0}, merged = {0}, large = {0};
  int failed = 0;
  for (uint64_t k = 0; k < count && failed < 10; k++) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + k;
    model_chain c;
    model_shape shape;
    model_view view;
    answer a = {0};
    bool every;
    model_random_small(&state, longest, &c);
    shape = c.base;
    int *at = map_of(&c, &shape, &every);
    if (!at || !ask(&c, &shape, &a, false)) return fail(&c, "cannot be folded");
    bool single = model_single(&shape, at, &view);
    counts *n = every ? &simple : &merged;
    free(at);
    failed += check(&c, &shape, &a, single, &view);
    n->judged++, n->single += single;
    for (form f = 0; f < FORMS; f++) n->found[f] += single && a.single[f];
    if (!single) continue;
    remember(&c, &shape, &view, &a);
    if (every || large.judged >= scale) continue;
    failed += scaled(&c, &a, &large);
  }
  list_missed();
  bool enough = tell("one view after each step but the last", &simple, least);
  enough &= tell("no single view after some step", &merged, least);
  enough &= tell("the latter, scaled", &large, least);
  printf("prop_merge: %" PRIu64 " cases, %d failed, at least %.1f%% wanted, seed %" PRIu64 "\n", count,
         failed, (double)least / 10, seed);
  return failed || !enough;
}
