/* Which elements of a parameter iterations of a kernel load, against all accesses of random kernels; and
 * which pieces of an exchange have these. */
#include "codegen/emit/blocks.h"

#include <string.h>

#include "ir/parse/parse.h"
#include "runtime/mesh/pieces.h"
#include "runtime/mesh/route.h"
#include "test/lib/random_graph.h"
#include "test/lib/unit.h"

static cg_uses uses(const char *body, uint32_t in_place) {
  ir_error error = {0};
  ir_graph g;
  ir_module m = {.mem = &ir_mem_libc};
  cg_uses out;
  char text[2048];
  snprintf(text, sizeof text, "kernel @k(p0: f32[4096], p1: f32[4096], p2: f32[4096]) {\n%s}\n", body);
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  g.error = &error;
  if (ir_parse_module(&g, &ir_builder_raw, "k", text, strlen(text), &m)) fail_msg("%s", error.text);
  assert_int_equal(cg_uses_find(&g, m.graphs[0].root, in_place, &out, &error), IR_OK);
  ir_module_free(&m);
  ir_graph_free(&g);
  return out;
}

static void are(const char *body, int number, uint32_t param, uint32_t divisor, uint32_t period,
                uint32_t first, int step, int lo, int hi) {
  cg_reads r = uses(body, 0).loads[number];
  if (r.param != param || (param && (r.divisor != divisor || r.period != period || r.first != first ||
                                     r.step != step || r.lo != lo || r.hi != hi)))
    fail_msg("p%u: %u, %u, %u: %d [%d, %d) where p%u: %u, %u, %u: %d [%d, %d) is right:\n%s", r.param,
             r.divisor, r.period, r.first, r.step, r.lo, r.hi, param, divisor, period, first, step, lo, hi,
             body);
}

#define ROWS(index)                                                                                          \
  "for ridx0 in 0..64 thread {\nfor ridx1 in 0..64 {\n%a = load p1[" index "] : f32\n"                       \
  "store p0[ridx0*64+ridx1] = %a\n}\n}\n"

static void rows(void **state) {
  (void)state;
  are(ROWS("ridx0*64+ridx1"), 0, 1, 1, 64, 0, 64, 0, 64);
  are(ROWS("ridx0*-64+ridx1+4032"), 0, 1, 1, 64, 0, -64, 4032, 4096); /* the last row first */
  are(ROWS("min(ridx0*64+ridx1+32, 4095)"), 0, 1, 1, 64, 0, 64, 32, 96);
  are(ROWS("ridx1*64+ridx0"), 0, 0, 0, 0, 0, 0, 0, 0); /* columns: all rows */
  are(ROWS("ridx1"), 0, 0, 0, 0, 0, 0, 0, 0);          /* all of it */
}

/* Sixteen tiles of rows in each of four tiles of columns: rows of p1, columns of p2 transposed. */
static void tiles(void **state) {
  (void)state;
  const char *body =
      "for ridx0 in 0..64 thread {\nfor ridx1 in 0..64 {\n%a = load p1[ridx0%16*64+ridx1] : f32\n"
      "%b = load p2[ridx0//16*64+ridx1] : f32\n%c = add %a, %b : f32\n"
      "store p0[ridx0%16*256+ridx0//16*64+ridx1] = %c\n}\n}\n";
  are(body, 0, 1, 1, 16, 0, 64, 0, 64);
  are(body, 1, 2, 16, 64, 0, 64, 0, 64);
  are(body, 2, 0, 0, 0, 0, 0, 0, 0);
}

/* What is stored where the parameter may lie is of the block, too; a parameter that is also written is not.
 */
static void in_place(void **state) {
  (void)state;
  const char *body = "for ridx0 in 0..64 thread {\nfor ridx1 in 0..64 {\n%a = load p1[ridx0*64] : f32\n"
                     "store p0[ridx0*64+ridx1] = %a\n}\n}\n";
  assert_int_equal(uses(body, 0).loads[0].hi, 1);
  assert_int_equal(uses(body, 1 << 1).loads[0].hi, 64);
  assert_int_equal(
      uses("for ridx0 in 0..64 thread {\nfor ridx1 in 0..64 {\n%a = load p1[ridx0*64+ridx1] : f32\n"
           "store p0[ridx0*64+ridx1] = %a\nstore p1[ridx0*64+ridx1] = %a\n}\n}\n",
           0)
          .loads[0]
          .param,
      1);
}

/* random kernels */

typedef struct drawn {
  int64_t iterations, inner, divisor, period, least, most;
  int64_t by_quotient, by_digit, by_rest, by_inner, offset;
} drawn;

static int64_t index_of(const drawn *d, int64_t t, int64_t i) {
  int64_t at = t / d->divisor * d->by_quotient + t / d->divisor % d->period * d->by_digit +
               t % d->divisor * d->by_rest + i * d->by_inner + d->offset;
  return at < d->least ? d->least : at < d->most ? at : d->most;
}

static drawn draw(uint64_t *state) {
  drawn d = {.divisor = random_between(state, 1, 6), .period = random_between(state, 1, 6)};
  d.iterations = random_between(state, 2, 40), d.inner = random_between(state, 1, 9);
  d.by_quotient = random_between(state, -20, 40), d.by_digit = random_between(state, -20, 20);
  d.by_rest = random_between(state, -9, 20), d.by_inner = random_between(state, -4, 12);
  d.offset = random_between(state, 0, 900), d.least = random_between(state, -500, 300);
  d.most = random_between(state, 900, 2000);
  return d;
}

static int holds(const drawn *d, cg_reads r) {
  int64_t count = r.period / r.divisor;
  for (int64_t t = 0; t < d->iterations; t++)
    for (int64_t i = 0; i < d->inner; i++) {
      int64_t b = (t % r.period / r.divisor + count - r.first) % count, at = index_of(d, t, i);
      if (at < b * r.step + r.lo || at >= b * r.step + r.hi)
        fail_msg("iteration %d loads element %d, of block %d: %d [%d, %d)", (int)t, (int)at, (int)b, r.step,
                 r.lo, r.hi);
    }
  return 1;
}

static void any(void **state) {
  (void)state;
  uint64_t seed = 7;
  int known = 0;
  for (int k = 0; k < 3000; k++) {
    drawn d = draw(&seed);
    char body[1024];
    snprintf(body, sizeof body,
             "for ridx0 in 0..%d thread {\nfor ridx1 in 0..%d {\n"
             "%%a = load p1[max(min(ridx0//%d*%d+ridx0//%d%%%d*%d+ridx0%%%d*%d+ridx1*%d+%d, %d), %d)] : f32\n"
             "store p0[ridx0*16+ridx1] = %%a\n}\n}\n",
             (int)d.iterations, (int)d.inner, (int)d.divisor, (int)d.by_quotient, (int)d.divisor,
             (int)d.period, (int)d.by_digit, (int)d.divisor, (int)d.by_rest, (int)d.by_inner, (int)d.offset,
             (int)d.most, (int)d.least);
    cg_reads r = uses(body, 0).loads[0];
    if (r.param) known += holds(&d, r);
  }
  assert_true(known > 1000);
}

/* pieces */

/* Four devices have rows, and all need all: the pieces that each block of iterations needs, by each element.
 */
static void pieces(void **state) {
  (void)state;
  enum { DEVICES = 4, COLUMNS = 6, MOST = 64 };
  uint64_t seed = 3;
  ir_error error = {0};
  ir_mesh mesh = {.axis_count = 1, .device_count = DEVICES};
  mesh.axes[0] = (ir_mesh_axis){.name = "x", .size = DEVICES, .latency = 1e-12, .bandwidth = 1e9};
  for (int k = 0; k < 300; k++) {
    rt_routes routes;
    rt_pieces made = {0};
    uint8_t needs[MOST * COLUMNS];
    int64_t rows = random_between(&seed, 16, MOST), at = 0;
    assert_int_equal(rt_routes_make(&ir_mem_libc, DEVICES, 2, &routes, &error), IR_OK);
    for (uint32_t d = 0; d < DEVICES; d++) {
      int64_t end = rows * (d + 1) / DEVICES;
      routes.of[d].own = (ir_box){.rank = 2, .lo = {at, 0}, .hi = {end, COLUMNS}};
      routes.of[d].needed = (ir_box){.rank = 2, .lo = {0, 0}, .hi = {rows, COLUMNS}};
      at = end;
    }
    assert_int_equal(rt_routes_find(&mesh, &ir_mem_libc, 4, &routes, &error), IR_OK);
    assert_int_equal(rt_pieces_make(&ir_mem_libc, &mesh, &routes, 4, routes.of, &made, &error), IR_OK);
    assert_true(made.count > 1);
    int step = (int)random_between(&seed, -9, 9), lo = (int)random_between(&seed, -20, 100);
    cg_reads r = {1,    1,  (uint32_t)random_between(&seed, 2, MOST), 0,
                  step, lo, lo + (int)random_between(&seed, 1, 30)};
    rt_pieces_needed(&made, 1, r, needs);
    for (int64_t b = 0; b < r.period; b++)
      for (int64_t e = b * r.step + r.lo; e < b * r.step + r.hi; e++) {
        uint32_t row = (uint32_t)(e / COLUMNS), of = 0, piece = 0;
        if (e < 0 || e >= rows * COLUMNS) continue;
        while (row >= routes.of[of].own.hi[0]) of++;
        for (int64_t from, to; piece < made.count; piece++) {
          rt_piece_interval(&routes.of[of].own, 0, piece, made.count, &from, &to);
          if (row >= from && row < to) break;
        }
        if (needs[b] < piece + 1) fail_msg("block %d needs piece %u, not %d", (int)b, piece + 1, needs[b]);
      }
    rt_pieces_free(&ir_mem_libc, &made);
    rt_routes_free(&ir_mem_libc, &routes);
  }
}

UNIT_TESTS(rows, tiles, in_place, any, pieces)
