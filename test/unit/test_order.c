/* The order of loops in which a write reads elements before it replaces them, against all pairs of points of
 * small loops: what is found holds, and shifts, steps and rows that others read have an order. */
#include "passes/fold/order.h"

#include "passes/index/index.h"
#include "test/lib/graph.h"
#include "test/lib/unit.h"

enum { RANK = 3, POINTS = 5 * 5 * 5 };

/* A load and a store of one buffer at constant + sum of factor * range. */
typedef struct access {
  int64_t constant, factors[RANK];
} access;

typedef struct loops {
  uint32_t rank;
  int64_t sizes[RANK];
  access store, load;
} loops;

static int64_t points(const loops *l) {
  int64_t count = 1;
  for (uint32_t i = 0; i < l->rank; i++) count *= l->sizes[i];
  return count;
}

static void point_of(const loops *l, int64_t number, int64_t *point) {
  for (uint32_t i = l->rank; i-- > 0; number /= l->sizes[i]) point[i] = number % l->sizes[i];
}

static int64_t element(const loops *l, const access *a, const int64_t *point) {
  int64_t sum = a->constant;
  for (uint32_t i = 0; i < l->rank; i++) sum += a->factors[i] * point[i];
  return sum;
}

/* Is x before y, whatever unordered axes do? */
static bool is_before(const loops *l, const fold_order *order, const int64_t *x, const int64_t *y) {
  for (uint32_t k = 0; k < l->rank; k++) {
    uint32_t axis = order->axes[k];
    if (x[axis] == y[axis]) continue;
    return order->ordered[axis] && (x[axis] < y[axis]) != order->backwards[axis];
  }
  return true;
}

static bool holds(const loops *l, const fold_order *order) {
  int64_t x[RANK], y[RANK];
  for (int64_t a = 0; a < points(l); a++)
    for (int64_t b = 0; b < points(l); b++) {
      point_of(l, a, x), point_of(l, b, y);
      if (element(l, &l->load, x) == element(l, &l->store, y) && !is_before(l, order, x, y)) return false;
    }
  return true;
}

static bool is_permutation(const loops *l, const fold_order *order) {
  uint32_t seen = 0;
  for (uint32_t k = 0; k < l->rank; k++) seen |= 1u << order->axes[k];
  return seen == (1u << l->rank) - 1;
}

static ir_ref index_of(ir_graph *g, const loops *l, const access *a, const ir_ref *at) {
  ir_ref sum = ir_index(g, a->constant);
  for (uint32_t i = 0; i < l->rank; i++)
    sum = pass_add(g, sum, pass_mul(g, at[i], ir_index(g, a->factors[i])));
  return sum;
}

static bool find(const loops *l, fold_order *order) {
  test_graph *t = test_graph_begin();
  ir_graph *g = &t->g;
  ir_ref at[RANK], size = ir_index(g, 1000);
  pass_index_begin(g);
  for (uint32_t i = 0; i < l->rank; i++) {
    ir_ref extent = ir_index(g, l->sizes[i]);
    at[i] =
        l->sizes[i] == 1 ? ir_index(g, 0) : ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &extent, 1);
  }
  ir_ref param = ir_make(g, IR_OP_PARAM, IR_F32, ir_pack_arg(0, 0), &size, 1);
  ir_ref load = ir_make(g, IR_OP_LOAD, IR_F32, 0, (ir_ref[]){param, index_of(g, l, &l->load, at)}, 2);
  ir_ref store =
      ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){param, index_of(g, l, &l->store, at), load}, 3);
  assert_int_not_equal(store, 0);
  return fold_find_order(g, store, &load, 1, at, l->rank, order);
}

/* Is there any order? */
static bool exists(const loops *l) {
  static const uint32_t sequences[][RANK] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int s = 0; s < 6; s++)
    for (unsigned ways = 0; ways < 1u << RANK; ways++) {
      fold_order order = {.any = true};
      uint32_t used = 0;
      for (uint32_t k = 0; k < RANK; k++)
        if (sequences[s][k] < l->rank) order.axes[used++] = sequences[s][k];
      for (uint32_t i = 0; i < RANK; i++) order.ordered[i] = true, order.backwards[i] = ways >> i & 1;
      if (holds(l, &order)) return true;
    }
  return false;
}

static uint64_t next_random(uint64_t *state, uint64_t limit) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (*state >> 33) % limit;
}

/* A view of an array of 5 by 5 by 5 elements, or of every second one of 10: axes permuted and flipped. */
static void draw_view(const loops *l, uint64_t *random, access *a) {
  int64_t stride = 1 + (int64_t)next_random(random, 2);
  uint32_t taken = 0;
  for (uint32_t i = 0; i < l->rank; i++, stride *= 5) {
    uint32_t axis = (uint32_t)next_random(random, l->rank);
    while (taken >> axis & 1) axis = (axis + 1) % l->rank;
    taken |= 1u << axis;
    a->factors[axis] = next_random(random, 4) ? stride : -stride;
  }
  a->constant = (int64_t)next_random(random, 31);
}

static void what_is_found_holds(void **state) {
  enum { CASES = 6000 };
  uint64_t random = 1;
  int found = 0;
  (void)state;
  for (int k = 0; k < CASES; k++) {
    loops l = {.rank = 1 + (uint32_t)next_random(&random, RANK)};
    fold_order order;
    for (uint32_t i = 0; i < l.rank; i++) l.sizes[i] = 1 + (int64_t)next_random(&random, 5);
    draw_view(&l, &random, &l.store), draw_view(&l, &random, &l.load);
    for (uint32_t i = 0; i < l.rank; i++)
      if (next_random(&random, 2))
        l.load.factors[i] = l.store.factors[i] * (int64_t)(next_random(&random, 4) > 0);
    bool known = find(&l, &order);
    found += known;
    if (known) assert_true(is_permutation(&l, &order) && holds(&l, &order));
  }
  assert_true(found > CASES / 2);
}

/* Windows of a row-major array, of any size, moved by any distance in each axis; of one row for all; of
 * steps. */
static void shifts_have_an_order(void **state) {
  (void)state;
  enum { WIDTH = 6 };
  for (int64_t down = -2; down <= 2; down++)
    for (int64_t right = -2; right <= 2; right++)
      for (int64_t rows = 1; rows <= 4; rows++)
        for (int64_t columns = 1; columns <= 4; columns++) {
          loops l = {2, {rows, columns, 1}, {2 * WIDTH + 2, {WIDTH, 1, 0}}, {0, {WIDTH, 1, 0}}};
          fold_order order;
          l.load.constant = l.store.constant + down * WIDTH + right;
          assert_true(find(&l, &order) && holds(&l, &order));
          l.load = (access){l.load.constant, {0, 1, 0}}; /* one row */
          assert_true(find(&l, &order) == exists(&l));
          if (find(&l, &order)) assert_true(holds(&l, &order));
        }
}

static void what_has_none_has_none(void **state) {
  static const loops none[] = {
      {1, {5, 1, 1}, {0, {1, 0, 0}}, {4, {-1, 0, 0}}}, /* a[...] = a[::-1] */
      {2, {4, 4, 1}, {0, {4, 1, 0}}, {0, {1, 4, 0}}},  /* a[...] = a.T */
      {2, {4, 4, 1}, {0, {4, 1, 0}}, {5, {0, 1, 0}}},  /* a[...] = a[1] of the row, a column on */
  };
  fold_order order;
  (void)state;
  for (size_t i = 0; i < 2; i++) assert_false(find(&none[i], &order));
  assert_true(find(&none[2], &order) == exists(&none[2]));
}

UNIT_TESTS(what_is_found_holds, shifts_have_an_order, what_has_none_has_none)
