/* Which iterations of a kernel store which elements of its first buffer. */
#include "codegen/emit/blocks.h"

#include "ir/parse/parse.h"
#include "test/lib/unit.h"

static cg_blocks blocks(const char *body) {
  ir_error error = {0};
  ir_graph g;
  ir_module m = {.mem = &ir_mem_libc};
  cg_blocks out;
  char text[1024];
  snprintf(text, sizeof text, "kernel @k(p0: f32[4096], p1: f32[4096]) {\n%s}\n", body);
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  g.error = &error;
  if (ir_parse_module(&g, &ir_builder_raw, "k", text, strlen(text), &m)) fail_msg("%s", error.text);
  assert_int_equal(cg_blocks_find(&g, m.graphs[0].root, &out, &error), IR_OK);
  ir_module_free(&m);
  ir_graph_free(&g);
  return out;
}

static void are(const char *body, uint32_t elements, uint32_t divisor, uint32_t period, uint32_t first) {
  cg_blocks b = blocks(body);
  if (b.elements != elements ||
      (elements && (b.divisor != divisor || b.period != period || b.first != first)))
    fail_msg("%u, %u, %u, %u where %u, %u, %u, %u is right:\n%s", b.elements, b.divisor, b.period, b.first,
             elements, divisor, period, first, body);
}

#define ROWS(index)                                                                                          \
  "for ridx0 in 0..64 thread {\nfor ridx1 in 0..64 {\n%a = load p1[ridx1] : f32\n"                           \
  "store p0[" index "] = %a\n}\n}\n"

static void rows(void **state) {
  (void)state;
  are(ROWS("ridx0*64+ridx1"), 64, 1, 64, 0);
  are(ROWS("ridx0*64+ridx1*-1+63"), 64, 1, 64, 0);
  are(ROWS("ridx0*63+ridx1"), 0, 0, 0, 0);       /* iterations share an element */
  are(ROWS("ridx0*64+ridx1+1"), 0, 0, 0, 0);     /* the last element is of the next block */
  are(ROWS("ridx1*64+ridx0"), 0, 0, 0, 0);       /* columns */
  are(ROWS("ridx0*-64+ridx1+4032"), 0, 0, 0, 0); /* the last block first */
  are("for ridx0 in 0..64 {\n%a = load p1[ridx0] : f32\nstore p0[ridx0] = %a\n}\n", 0, 0, 0,
      0); /* no threads */
}

/* A loop in whose order elements are stored, around that over threads. */
static void ordered(void **state) {
  (void)state;
  const char *around = "for ridx2 in 0..8 {\nfor ridx0 in 0..64 thread {\n%%a = load p1[ridx2] : f32\n"
                       "store p0[ridx0*64+%s] = %%a\n}\n}\n";
  char body[512];
  snprintf(body, sizeof body, around, "ridx2*8");
  are(body, 64, 1, 64, 0);
  snprintf(body, sizeof body, around, "ridx2*16");
  are(body, 0, 0, 0, 0);
}

/* Sixteen blocks of rows, in each of four blocks of columns. */
#define TILES(index)                                                                                         \
  "for ridx0 in 0..64 thread {\nfor ridx1 in 0..4 {\nfor ridx2 in 0..16 {\n%a = load p1[ridx1] : f32\n"      \
  "store p0[" index "] = %a\n}\n}\n}\n"

static void tiles(void **state) {
  (void)state;
  are(TILES("ridx0*256+ridx0//16*-4080+ridx1*64+ridx2"), 256, 1, 16, 0);
  are(TILES("ridx0%16*256+ridx0//16*16+ridx1*64+ridx2"), 256, 1, 16, 0);
  are(TILES("ridx0//4*256+ridx0%4*16+ridx1*64+ridx2"), 256, 4, 64, 0); /* the columns first */
  are(TILES("ridx0//4*256+ridx0%4*17+ridx1*64+ridx2"), 0, 0, 0, 0);
  are(TILES("ridx0//32*2048+ridx0//4%8*256+ridx0%4*16+ridx1*64+ridx2"), 256, 4, 64, 0);
}

static void several_stores(void **state) {
  (void)state;
  const char *both = "for ridx0 in 0..64 thread {\n%%a = load p1[ridx0] : f32\nstore p0[ridx0*64] = %%a\n"
                     "for ridx1 in 0..63 {\nstore p0[ridx0*%d+ridx1+1] = %%a\n}\n}\n";
  char body[512];
  snprintf(body, sizeof body, both, 64);
  are(body, 64, 1, 64, 0);
  snprintf(body, sizeof body, both, 128);
  are(body, 0, 0, 0, 0);
  are("for ridx0 in 0..64 thread {\n%a = load p1[ridx0] : f32\nstore p0[ridx0*64] = %a\n}\n"
      "for ridx1 in 0..64 {\n%b = load p1[ridx1] : f32\nstore p0[ridx1+1] = %b\n}\n",
      0, 0, 0, 0);
}

/* The tiles of a product of 20 rows: the last overlaps the one before, and both are of one iteration. */
static void last_overlaps(void **state) {
  (void)state;
  are("for ridx0 in 0..8 thread {\nfor ridx1 in 0..(max(((ridx0*-1)+((ridx0//4)*4)+1), 0)+1) {\n"
      "for ridx2 in 0..4 {\nfor ridx3 in 0..16 {\n%a = load p1[ridx3] : f32\n"
      "store p0[min(ridx0*4+ridx1*4+(ridx0+3)//4*-16+12, 15)*32+ridx0//4*16+ridx2*32+ridx3] = %a\n"
      "}\n}\n}\n}\n",
      128, 1, 4, 1);
}

UNIT_TESTS(last_overlaps, rows, ordered, tiles, several_stores)
