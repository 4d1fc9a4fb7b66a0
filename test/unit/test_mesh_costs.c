/* What collectives cost: the worked numbers of the specification. */
#include "ir/mesh/sharding.h"
#include "passes/reshard/reshard.h"
#include "test/lib/unit.h"

/* Of an array with one dimension, or with two. */
typedef struct row {
  const char *mesh, *from, *to;
  int64_t shape[2];
  uint32_t item;
  uint64_t recv; /* bytes */
} row;

static ir_error error;

static pass_reshard_plan plan_of(const row *r, pass_reshard_mode mode) {
  ir_mesh mesh;
  ir_spec from, to;
  ir_lexer lexer;
  pass_reshard_plan plan;
  ir_error_clear(&error);
  ir_mesh_init(&mesh, &ir_mem_libc);
  ir_lex_start(&lexer, &error, "mesh", r->mesh, strlen(r->mesh));
  if (!ir_mesh_read(&lexer, &mesh) || !ir_spec_parse(&mesh, r->from, strlen(r->from), &from, &error) ||
      !ir_spec_parse(&mesh, r->to, strlen(r->to), &to, &error))
    fail_msg("%s", error.text);
  pass_reshard_ask ask = {
      .mesh = &mesh, .shape = r->shape, .item = r->item, .from = &from, .to = &to, .mode = mode};
  if (pass_reshard(&ir_mem_libc, &ask, &plan, &error) != IR_OK) fail_msg("%s", error.text);
  ir_mesh_free(&mesh);
  return plan;
}

/* 1000 bytes and n devices: all_reduce 2 (n - 1) / n of them, all_gather, reduce_scatter and all_to_all
 * (n - 1) / n, of what a device has before, or after; a slice nothing. The size of an element counts.
 * Along tp it is less than the 1500 of four devices: dp, along which devices hold the same, takes a part.
 *
 * spec: K4 K5 K6 K7 */
static void test_bytes(void **state) {
  (void)state;
  static const row rows[] = {
      {"[x=4]", "[-]+x", "[-]", {1000}, 1, 1500},        {"[dp=2,tp=4]", "[-]+dp", "[-]", {1000}, 1, 1000},
      {"[dp=2,tp=4]", "[-]+tp", "[-]", {1000}, 1, 1250}, {"[dp=2,tp=4]", "[-]+dp.tp", "[-]", {1000}, 1, 1750},
      {"[x=1]", "[-]+x", "[-]", {1000}, 1, 0},           {"[x=4]", "[-]", "[-]", {1000}, 1, 0},
      {"[x=4]", "[x]", "[-]", {1000}, 1, 750},           {"[x=4]", "[-]+x", "[x]", {1000}, 1, 750},
      {"[x=4]", "[x,-]", "[-,x]", {40, 100}, 1, 750},    {"[x=4]", "[-]", "[x]", {1000}, 1, 0},
      {"[x=4]", "[x]", "[-]", {1000}, 2, 1500},          {"[x=4]", "[x]", "[-]", {1000}, 8, 6000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pass_reshard_plan plan = plan_of(&rows[i], PASS_RESHARD_BYTES);
    if (plan.cost.recv != rows[i].recv)
      fail_msg("%s %s to %s: %llu bytes", rows[i].mesh, rows[i].from, rows[i].to,
               (unsigned long long)plan.cost.recv);
  }
}

/* Of a billion bytes in a second an axis takes so many; three messages are in flight at once, and each is
 * work.
 *
 * spec: K4 K7 */
static void test_times(void **state) {
  (void)state;
  static const row rows[] = {
      {"[x=4] latency=[1e-12] bandwidth=[1e9]", "[-]+x", "[-]", {1000000}, 1, 1500},
      {"[x=4] latency=[1e-12] bandwidth=[2e9]", "[-]+x", "[-]", {1000000}, 1, 750},
      {"[x=4] latency=[1e-5] bandwidth=[1e9]", "[x]", "[-]", {1000000}, 1, 762},
      {"[x=4,y=4] latency=[1e-12,1e-12] bandwidth=[1e9,1e8]", "[x]", "[-]", {1000000}, 1, 750},
      {"[x=4,y=4] latency=[1e-12,1e-12] bandwidth=[1e9,1e8]", "[y]", "[-]", {1000000}, 1, 7500},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pass_reshard_plan plan = plan_of(&rows[i], PASS_RESHARD_TIME);
    if ((plan.cost.time + 500000) / 1000000 != rows[i].recv) /* microseconds here */
      fail_msg("%s %s to %s: %llu ps", rows[i].mesh, rows[i].from, rows[i].to,
               (unsigned long long)plan.cost.time);
  }
}

UNIT_TESTS(test_bytes, test_times)
