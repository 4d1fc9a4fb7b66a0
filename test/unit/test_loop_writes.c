/* Derivatives of loops that change one array in part: what their reverse keeps, and what it computes. */
#include "frontend/viewfold_inspect.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { SIZE = 7, ROUNDS = 9, LONG = 1024 };

/* How a round changes its array. */
typedef struct change {
  vf_write_op op;
  bool reads_others; /* its value is made of another element as well */
} change;

static vf_value at_position(vf_value x, vf_value position) {
  return vf_create_view(x, 1, (const vf_index[]){vf_index_point_at(position)});
}

/* Arguments: the array, a position, a number. Results: the next array, the next position, what was there. */
static void change_element(void *user, const vf_value *in, vf_value *out) {
  const change *c = user;
  vf_graph *g = in[0].graph;
  int64_t size;
  vf_value_shape(in[0], &size);
  vf_value old = at_position(in[0], in[1]), u = vf_add(vf_mul(old, in[2]), in[2]);
  vf_value next = vf_mod(vf_add(in[1], vf_integer(g, 3)), vf_integer(g, size));
  if (c->reads_others) u = vf_add(u, vf_mul(at_position(in[0], next), in[2]));
  out[0] = vf_assign(in[0], at_position(vf_address(in[0]), in[1]), u, c->op);
  out[1] = next;
  out[2] = old;
}

typedef enum form { SCAN, WHILE, WRITTEN_OUT } form;

/* A loop whose rounds take their number themselves, as a round of a scan gets it. State: the array, the
 * position, what was there in all rounds so far, and the round. */
typedef struct counted {
  const change *how;
  vf_value xs;
  int64_t rounds;
} counted;

static void more_rounds(void *user, const vf_value *in, vf_value *out) {
  const counted *c = user;
  out[0] = vf_lt(in[3], vf_integer(in[0].graph, c->rounds));
}

static void next_round(void *user, const vf_value *in, vf_value *out) {
  counted *c = user;
  vf_value results[3];
  change_element((void *)(uintptr_t)c->how, (const vf_value[]){in[0], in[1], at_position(c->xs, in[3])},
                 results);
  out[0] = results[0], out[1] = results[1];
  out[2] = vf_add(in[2], results[2]);
  out[3] = vf_add(in[3], vf_integer(in[0].graph, 1));
}

/* Output: a sum of all that the loop gives; or its gradients by the array and by the numbers, of the loop or
 * of its rounds written one after the other. A while loop may take `idle` rounds more. */
static vf_graph *record(vf_context *context, change c, int64_t size, int64_t rounds, form form, bool reverse,
                        int64_t idle) {
  vf_graph *g = api_graph(context, "rounds");
  vf_value a = vf_input(g, "a", VF_F32, VF_LIST(size)), xs = vf_input(g, "xs", VF_F32, VF_LIST(rounds));
  vf_value weights = vf_input(g, "weights", VF_F32, VF_LIST(size));
  vf_value state[] = {a, vf_integer(g, 0)}, results[3], seen = vf_number(g, 0), gradients[2];
  if (form == WRITTEN_OUT) {
    for (int64_t k = 0; k < rounds; k++) {
      change_element(&c, (const vf_value[]){state[0], state[1], vf_point(xs, k, 0)}, results);
      state[0] = results[0], state[1] = results[1], seen = vf_add(seen, results[2]);
    }
  } else if (form == WHILE) {
    counted user = {&c, xs, rounds};
    vf_value from[] = {a, vf_integer(g, 0), vf_number(g, 0), vf_integer(g, 0)}, to[4];
    vf_while_loop(more_rounds, next_round, &user, 4, from, rounds + idle, to);
    state[0] = to[0], seen = to[2];
  } else {
    vf_scan(change_element, &c, 2, state, 1, &xs, 1, rounds, false, results, results + 2);
    state[0] = results[0], seen = vf_sum(results[2], VF_ALL, false);
  }
  vf_value y = vf_add(vf_sum(vf_mul(state[0], weights), VF_ALL, false), seen);
  if (!reverse) {
    vf_output(g, "y", y);
    return g;
  }
  vf_grad(y, 2, (const vf_value[]){a, xs}, gradients);
  vf_output(g, "da", gradients[0]);
  vf_output(g, "dxs", gradients[1]);
  return g;
}

static const change changes[] = {{VF_WRITE_SET, false}, {VF_WRITE_SET, true}, {VF_WRITE_ADD, false},
                                 {VF_WRITE_ADD, true},  {VF_WRITE_MUL, true}, {VF_WRITE_MAX, true}};
enum { CHANGES = sizeof changes / sizeof *changes };

/* Small integers, whose sums and products are exact in any order. */
static void test_gradients_are_those_of_the_loop_written_out(void **state) {
  (void)state;
  vf_context *context = api_context();
  const float a[SIZE] = {1, -1, 2, 0, 1, -2, 1}, xs[ROUNDS] = {1, -1, 1, 2, -1, 1, -1, 1, 1};
  const float weights[SIZE] = {1, 2, -1, 3, 1, -2, 1};
  const void *inputs[] = {a, xs, weights};
  for (int k = 0; k < CHANGES; k++) {
    float want[SIZE + ROUNDS], have[SIZE + ROUNDS];
    vf_graph *written = record(context, changes[k], SIZE, ROUNDS, WRITTEN_OUT, true, 0);
    api_evaluate(written, inputs, (void *[]){want, want + SIZE}, NULL);
    for (int way = 0; way < 4; way++) { /* a scan or a while loop, evaluated or compiled */
      vf_graph *loop = record(context, changes[k], SIZE, ROUNDS, way & 1 ? WHILE : SCAN, true, 2);
      api_check_text(context, loop);
      if (way & 2) api_run(api_compile(loop), inputs, (void *[]){have, have + SIZE}, NULL);
      else api_evaluate(loop, inputs, (void *[]){have, have + SIZE}, NULL);
      for (int i = 0; i < SIZE + ROUNDS; i++)
        if (have[i] != want[i])
          fail_msg("change %d, way %d, gradient %d is %g, not %g", k, way, i, have[i], want[i]);
    }
  }
}

static int64_t intermediate_bytes(vf_graph *g) {
  vf_cost cost = {.size = sizeof cost};
  vf_program *p = api_compile(g);
  assert_int_equal(vf_program_cost(p, NULL, &cost, NULL), VF_OK);
  return cost.temp_bytes;
}

/* Beside the loop's own memory the derivative takes an element and a position for each round, and the other
 * elements that rounds read: not an array for each round. That of a while loop
 * takes the number of the round, of 64 bits, too, and whether there was one, and repeats the loop in an array
 * of its own. */
static void test_reverse_keeps_what_is_overwritten(void **state) {
  (void)state;
  vf_context *context = api_context();
  for (int k = 0; k < CHANGES; k++) {
    for (form form = SCAN; form <= WHILE; form++) {
      int64_t alone = intermediate_bytes(record(context, changes[k], LONG, LONG, form, false, 0));
      int64_t both = intermediate_bytes(record(context, changes[k], LONG, LONG, form, true, 0));
      int64_t arrays = 2 + changes[k].reads_others + 6 * (form == WHILE);
      if (both - alone > arrays * LONG * (int64_t)sizeof(float))
        fail_msg("change %d, form %d: %lld bytes for %d rounds", k, form, (long long)(both - alone), LONG);
    }
  }
}

UNIT_TESTS(test_gradients_are_those_of_the_loop_written_out, test_reverse_keeps_what_is_overwritten)
