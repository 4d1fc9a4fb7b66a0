/* Exchanges of boxes between devices: what is recorded, what is refused, and the reference evaluator on
 * several devices. */
#include "ir/eval/eval.h"
#include "test/lib/record.h"
#include "test/lib/unit.h"

static void test_recorded(void **state) {
  static const record_accepted cases[] = {
      {"exchange f32[2,3] shape=[4,3] start=[0,0] at=[2,0]", "f32[4,3]", "exchange(a,4,3,0,0,2,0;4)"},
      {"exchange i8[n] shape=[m] start=[n] at=[n*2] kind=\"shift\"", "i8[m]", "exchange(a,m,n,(n*2);4)"},
      {"exchange bool[] shape=[] start=[] at=[]", "bool[]", "exchange(a;4)"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_refused(void **state) {
  static const record_refused cases[] = {
      {"exchange f32[2,3] shape=[2] start=[0] at=[0]",
       "exchange: 1 sizes are given; x has shape f32[2,3]; each axis takes one"},
      {"exchange f32[2] shape=[2] start=[0,1] at=[0]",
       "exchange: shape, start and at have lengths 1, 2 and 1; each axis takes one of each"},
      {"exchange f32[2] shape=[2] start=[0] at=[0] kind=[1]",
       "exchange: attribute kind is a list of 1; it is a name in quotes, such as \"all_gather\""},
      {"exchange f32[2] shape=[-2] start=[0] at=[0]",
       "exchange: size -2 of axis 0 in shape [-2] is negative; every size must be >= 0"},
  };
  CHECK_ALL(check_refused, cases);
}

/* A graph of one operand, a, and of the variable n, which is 1 + the number of the device. */
enum { DEVICES = 4, ROOM = 32 };
typedef struct device_case {
  const char *line, *error; /* error: the end of the message; NULL: none */
  int parts[DEVICES][ROOM]; /* elements of a */
  int results[DEVICES][ROOM];
  int counts[DEVICES]; /* elements of each result */
} device_case;

static ir_ref find_var(const ir_graph *g) {
  for (ir_ref r = 1; r < g->count; r++)
    if (ir_op_of(g, r) == IR_OP_VAR && !strcmp(ir_name_text(g, ir_get(g, r)->arg), "n")) return r;
  return 0;
}

static void check_devices(const device_case *c) {
  recorder *r = record_begin();
  ir_ref y = record_line(r, c->line), n = find_var(&r->g);
  ir_eval_device devices[DEVICES];
  ir_binding_input inputs[DEVICES];
  ir_var_value vars[DEVICES];
  ir_eval_result out[DEVICES];
  ir_error error = {0};
  if (!y || !n) fail_msg("%s: %s", c->line, r->error.text);
  for (int d = 0; d < DEVICES; d++) {
    inputs[d] = (ir_binding_input){r->inputs[0], c->parts[d]};
    vars[d] = (ir_var_value){n, d + 1};
    devices[d] = (ir_eval_device){&inputs[d], &vars[d], 1, 1};
  }
  ir_status status = ir_eval_devices(&r->g, &y, 1, devices, DEVICES, out, &error);
  if (c->error) {
    size_t length = strlen(error.text), end = strlen(c->error);
    if (!status || length < end || strcmp(error.text + length - end, c->error))
      fail_msg("%s: %s", c->line, error.text);
    return;
  }
  if (status) fail_msg("%s: %s", c->line, error.text);
  for (int d = 0; d < DEVICES; d++) {
    assert_int_equal(out[d].count, c->counts[d]);
    assert_memory_equal(out[d].data, c->results[d], (size_t)c->counts[d] * sizeof(int));
  }
  ir_eval_free(&r->g, out, DEVICES);
}

static const device_case device_cases[] = {
    {"exchange i32[2] shape=[8] start=[0] at=[n*2-2]",
     NULL,
     {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
     {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}},
     {8, 8, 8, 8}},
    /* one element more on either side, where there is one */
    {"exchange i32[2] shape=[4-n%3%2] start=[max(n*2-3,0)] at=[n*2-2]",
     NULL,
     {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
     {{0, 1, 2}, {1, 2, 3, 4}, {3, 4, 5, 6}, {5, 6, 7}},
     {3, 4, 4, 3}},
    /* parts of the sizes 2, 2, 1, 0 become columns */
    {"exchange i32[min(2,max(7-n*2,0)),4] shape=[5,1] start=[0,n-1] at=[n*2-2,0]",
     NULL,
     {{0, 1, 2, 3, 10, 11, 12, 13}, {20, 21, 22, 23, 30, 31, 32, 33}, {40, 41, 42, 43}, {0}},
     {{0, 10, 20, 30, 40}, {1, 11, 21, 31, 41}, {2, 12, 22, 32, 42}, {3, 13, 23, 33, 43}},
     {5, 5, 5, 5}},
    /* two exchanges: summands to all, then what each has made of them to the next device */
    {"exchange {sum {exchange i32[1,2] shape=[4,2] start=[0,0] at=[n-1,0]} axes=[0] keepdims=true} "
     "shape=[1,2] "
     "start=[n%4,0] at=[n-1,0]",
     NULL,
     {{1, 2}, {10, 20}, {100, 200}, {1000, 2000}},
     {{1111, 2222}, {1111, 2222}, {1111, 2222}, {1111, 2222}},
     {2, 2, 2, 2}},
    {"exchange i32[2] shape=[8] start=[1] at=[n*2-2]",
     "exchange exchange: no device holds the element at [8]",
     {{0}},
     {{0}},
     {0}},
    {"exchange i32[2] shape=[2] start=[0] at=[0] kind=\"read\"",
     "exchange read: devices 0 and 2 hold different values of the element at [1]",
     {{7, 8}, {7, 8}, {7, 9}, {7, 8}},
     {{0}},
     {0}},
};

static void test_evaluated(void **state) { CHECK_ALL(check_devices, device_cases); }

static bool records(recorder *r, const char *line) { return record_line(r, line) != 0; }

static void test_any_allocation_may_fail(void **state) {
  static const char *const lines[] = {"exchange f32[2,n] shape=[4,n] start=[0,0] at=[n*2,0] kind=\"gather\""};
  record_short_of_memory(records, lines, 1, true);
}

UNIT_TESTS(test_recorded, test_refused, test_evaluated, test_any_allocation_may_fail)
