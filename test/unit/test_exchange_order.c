/* The order of steps around exchanges, and where these are waited for. */
#include "test/lib/unit.h"

#include <string.h>

#include "passes/schedule/overlap.h"

/* A plan as text: a step is a letter, then its slots, the first of which it writes; X is an exchange, W a
 * WAIT, K a kernel, C a condition of one step. Slots are digits, then : ; <: 0 is an input, 9 an output, 8 a
 * moving slot. */
static ir_step_kind kind_of(char c) {
  return c == 'X' ? IR_STEP_EXCHANGE : c == 'C' ? IR_STEP_COND : c == 'S' ? IR_STEP_SCAN : IR_STEP_KERNEL;
}

static ir_plan make(const char *text) {
  ir_plan p = {.mem = &ir_mem_libc};
  p.slots = calloc(p.slot_count = p.slot_cap = 13, sizeof *p.slots);
  for (int i = 0; i < 13; i++)
    p.slots[i].kind = i == 0   ? IR_SLOT_INPUT
                      : i == 9 ? IR_SLOT_OUTPUT
                      : i == 8 ? IR_SLOT_ALIAS
                               : IR_SLOT_TEMP;
  p.steps = calloc(p.step_cap = 64, sizeof *p.steps);
  for (const char *c = text; *c; c++) {
    if (*c == ' ') continue;
    ir_step *s = &p.steps[p.step_count++];
    s->kind = kind_of(*c);
    s->slots = calloc(s->slot_count = (uint32_t)strspn(c + 1, "0123456789:;<"), sizeof *s->slots);
    for (uint32_t i = 0; i < s->slot_count; i++) s->slots[i] = (uint32_t)(*++c - '0');
    if (s->kind == IR_STEP_COND || s->kind == IR_STEP_SCAN)
      s->function_steps[0] = (uint32_t)strtol(c + 1, (char **)&c, 36) - 10, c--; /* a: none, b: one, ... */
  }
  return p;
}

static void becomes_on(ir_link link, int64_t work, bool has_references, const char *before,
                       const char *after) {
  ir_plan p = make(before);
  ir_error error = {0};
  char text[256] = "", *at = text;
  ir_graph g;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  for (uint32_t i = 0; i < p.slot_count; i++)
    p.slots[i].elements = ir_index(&g, 1000), p.slots[i].value = ir_float(&g, IR_F32, 0);
  for (size_t i = 0; i < p.step_count; i++) p.steps[i].work = ir_index(&g, work);
  assert_int_equal(schedule_overlap(&g, &p, has_references, link, &error), IR_OK);
  ir_graph_free(&g);
  for (size_t i = 0; i < p.step_count; i++) {
    const ir_step *s = &p.steps[i];
    if (i) *at++ = ' ';
    *at++ = s->kind == IR_STEP_EXCHANGE ? 'X'
            : s->kind == IR_STEP_WAIT   ? 'W'
            : s->kind == IR_STEP_COND   ? 'C'
            : s->kind == IR_STEP_SCAN   ? 'S'
                                        : 'K';
    for (uint32_t k = 0; k < s->slot_count; k++) *at++ = (char)('0' + s->slots[k]);
    if (s->function_steps[0]) *at++ = (char)('a' + s->function_steps[0]);
  }
  assert_string_equal(text, after);
  ir_plan_free(&p);
}

static void becomes_as(bool has_references, const char *before, const char *after) {
  becomes_on((ir_link){0}, 0, has_references, before, after);
}
static void becomes(const char *before, const char *after) { becomes_as(false, before, after); }

static void test_order(void **state) {
  (void)state;
  becomes("K10 K20", "K10 K20");
  /* what does not depend on the exchange comes before it is waited for */
  becomes("K10 X21 K32 K40 K934", "K10 X21 K40 W21 K32 K934");
  /* the operand may not be written, nor an output where it is an input, which may be a reference */
  becomes("K10 X21 K10 K30", "K10 X21 K30 W21 K10");
  becomes("X10 K90 K20", "X10 K20 W10 K90");
  /* what depends on steps that were put off is put off, in all ways to depend */
  becomes("K10 X21 K32 K43 K54 K60", "K10 X21 K60 W21 K32 K43 K54");
  becomes("K10 X21 K342 K40 K60", "K10 X21 K60 W21 K342 K40");
  /* exchanges one after the other, and each waited for as late as it can be */
  becomes("X10 K21 X30 K43 K923", "X10 X30 W10 K21 W30 K43 K923");
  becomes("X10 K21 X32 K43 K50", "X10 K50 W10 K21 X32 W32 K43");
}

/* Exchanges come in the order of the steps that they need, and those that none needs come behind. */
static void test_early(void **state) {
  (void)state;
  becomes("K10 K21 K32 K41 X54 K935", "K10 K41 X54 K21 K32 W54 K935");
  becomes("K10 K21 K30 X43 K924", "K30 X43 K10 K21 W43 K924");
  becomes("K10 K21 K41 K54 X65 K954 K96", "K10 K41 K54 X65 K21 K954 W65 K96");
  becomes("K10 K21 K32 X42 K50 X65 K963 K94", "K50 X65 K10 K21 X42 K32 W65 K963 W42 K94");
  becomes("K10 K21 X31 K11 X42 K934", "K10 X31 K21 X42 W31 K11 W42 K934"); /* 1 is written again */
}

/* Where an output may lie where an input does, nothing that reads one comes behind what was behind it. */
static void test_references(void **state) {
  (void)state;
  becomes("K10 X21 K320 K94 K50", "K10 X21 K94 K50 W21 K320");
  becomes_as(true, "K10 X21 K320 K94 K50", "K10 X21 K50 W21 K320 K94");
  becomes_as(true, "K10 K20 K91 X39 K43", "K10 K20 K91 X39 W39 K43");
}

static void test_barriers(void **state) {
  (void)state;
  becomes("X10 K20 C3b K40 K51", "X10 K20 W10 C3b K40 K51");
  becomes("S1c X20 K32 K40", "S1d X20 W20 K32 K40");
  becomes("K10 X28 K30", "K10 X28 W28 K30");
}

/* What another exchange needs is waited for after three times what it takes by the link, 10 + 1 + 4 us. */
static void test_rounds(void **state) {
  (void)state;
  const ir_link link = {1e-5, 1e-6, 1e-9};
  const char rounds[] = "K10 X21 K32 X43 K50 K60 K70", late[] = "K10 X21 K50 K60 K70 W21 K32 X43 W43";
  becomes(rounds, late);
  becomes_on(link, 0, false, rounds, late);
  becomes_on(link, 1 << 23, false, rounds, "K10 X21 K50 K60 W21 K32 X43 K70 W43"); /* of 42 us each */
  becomes_on(link, 1 << 24, false, rounds, "K10 X21 K50 W21 K32 X43 K60 K70 W43");
  /* where nothing but kernels needs it, there is nothing to gain */
  becomes_on(link, 1 << 24, false, "K10 X21 K32 K50 K60", "K10 X21 K50 K60 W21 K32");
}

/* Few are in progress at a time. */
static void test_limit(void **state) {
  (void)state;
  becomes("X10 X20 X30 X40 X50 X60 X70 X:0 X;0 K<0",
          "X10 X20 X30 X40 X50 X60 X70 X:0 K<0 W10 X;0 W20 W30 W40 W50 W60 W70 W:0 W;0");
}

UNIT_TESTS(test_order, test_early, test_references, test_barriers, test_rounds, test_limit)
