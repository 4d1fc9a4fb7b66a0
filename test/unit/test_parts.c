/* Parts of lists of operations: layers that are planted are found, and nothing is too long to look at. */
#include "frontend/report/parts.h"

#include "test/lib/level.h"
#include "test/lib/unit.h"

enum { MOST = 20000, NONE = UINT32_MAX };

/* A list that is written one operation after the other, each with up to two operands. */
typedef struct list {
  uint64_t tokens[MOST];
  uint32_t first[MOST + 1], operands[2 * MOST];
  uint32_t count;
} list;
static list made;

static void add(uint64_t token, uint32_t a, uint32_t b) {
  made.tokens[made.count] = token;
  made.operands[2 * made.count] = a;
  made.operands[2 * made.count + 1] = b;
  made.count++;
  made.first[made.count] = 2 * made.count;
}

static fe_parts find(void) {
  fe_parts parts;
  const fe_list l = {made.count, made.tokens, made.first, made.operands};
  assert_true(fe_parts_find(&ir_mem_libc, &l, &parts));
  return parts;
}

static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* The operand of an operation, counted in its part; NONE: it is outside. */
static uint32_t inside(const fe_part *p, uint32_t operand) {
  return operand >= p->from && operand < p->end ? operand - p->from : NONE;
}

static void check_alike(const fe_part *a, const fe_part *b) {
  assert_int_equal(a->end - a->from, b->end - b->from);
  for (uint32_t i = a->from, k = b->from; i < a->end; i++, k++) {
    assert_true(made.tokens[i] == made.tokens[k]);
    for (uint32_t n = 0; n < 2; n++)
      assert_int_equal(inside(a, made.operands[2 * i + n]), inside(b, made.operands[2 * k + n]));
  }
}

/* Parts nest, stand in order, none has more entries than can be shown, and those of one class are alike. */
static void check(const fe_parts *p) {
  uint32_t *entries = calloc(p->count + 1, sizeof *entries); /* of each part, and of the whole list */
  assert_non_null(entries);
  for (size_t i = 0; i < p->count; i++) entries[i] = p->list[i].end - p->list[i].from;
  entries[p->count] = made.count;
  for (size_t i = 0; i < p->count; i++) {
    const fe_part *part = &p->list[i];
    size_t around = part->parent == NONE ? p->count : part->parent, like = 0;
    assert_true(part->from < part->end && part->end <= made.count);
    assert_true(around == p->count ||
                (around < i && p->list[around].from <= part->from && part->end <= p->list[around].end));
    assert_true(i == 0 || p->list[i - 1].from <= part->from);
    entries[around] -= part->end - part->from - 1;
    while (part->kind == FE_PART_LAYER &&
           (p->list[like].kind != part->kind || p->list[like].class != part->class))
      like++;
    if (part->kind == FE_PART_LAYER) check_alike(&p->list[like], part);
  }
  for (size_t i = 0; i <= p->count; i++) assert_in_range(entries[i], made.count > 0, FE_PARTS_SHOWN);
  free(entries);
}

/* Layers of equal operations, joined by one value, between a head and a tail. */
static void plant(uint64_t *state, uint32_t layers, uint32_t length, uint32_t head) {
  uint32_t far[64], joins[64];
  uint64_t what[64];
  made.count = 0;
  for (uint32_t i = 0; i < head; i++) add(1000000 + i, i ? i - 1 : NONE, NONE);
  for (uint32_t k = 0; k < length; k++) {
    what[k] = draw(state) % 9;
    far[k] = (uint32_t)draw(state) % (k + 1); /* an earlier operation of the layer, or what enters it */
    joins[k] = draw(state) % 2 != 0;
  }
  for (uint32_t layer = 0; layer < layers; layer++) {
    uint32_t base = made.count, enters = base - 1;
    for (uint32_t k = 0; k < length; k++)
      add(what[k], k ? base + k - 1 : enters, joins[k] ? far[k] ? base + far[k] - 1 : enters : NONE);
  }
  for (uint32_t i = 0; i < head; i++) add(2000000 + i, made.count - 1, NONE);
}

static void test_layers(void **state) {
  (void)state;
  uint64_t random = 7;
  for (int round = 0; round < 200; round += level_step(10)) {
    uint32_t layers = 2 + (uint32_t)draw(&random) % 30, length = 12 + (uint32_t)draw(&random) % 48;
    uint32_t head = 1 + (uint32_t)draw(&random) % 10, found = 0, class = NONE;
    plant(&random, layers, length, head);
    fe_parts parts = find();
    check(&parts);
    for (size_t i = 0; i < parts.count; i++) {
      const fe_part *p = &parts.list[i];
      if (p->kind != FE_PART_LAYER || p->parent != NONE || (p->end - p->from) % length) continue;
      assert_true(class == NONE || p->class == class);
      class = p->class;
      assert_true(p->from % length == parts.list[0].from % length);
      found += (p->end - p->from) / length;
    }
    if (found + 1 < layers)
      fail_msg("round %d: %u of %u layers of %u operations", round, found, layers, length);
    fe_parts_free(&ir_mem_libc, &parts);
  }
}

/* Any list at all: of few words, so that it repeats everywhere, or of many. */
static void test_random(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int round = 0; round < 60; round += level_step(4)) {
    uint32_t count = (uint32_t)draw(&random) % (round % 7 ? 300 : 6000);
    uint64_t words = 1 + draw(&random) % (round % 2 ? 3 : 1000);
    made.count = 0;
    for (uint32_t i = 0; i < count; i++)
      add(draw(&random) % words, i ? (uint32_t)draw(&random) % i : NONE, i ? i - 1 : NONE);
    fe_parts parts = find();
    check(&parts);
    fe_parts_free(&ir_mem_libc, &parts);
  }
}

/* Every other layer is joined otherwise. */
static void test_joins(void **state) {
  (void)state;
  made.count = 0;
  for (uint32_t layer = 0; layer < 8; layer++) {
    uint32_t base = made.count;
    for (uint32_t k = 0; k < 10; k++)
      add(k, base + k ? base + k - 1 : NONE, k > 4 && layer % 2 ? base + 1 : k > 4 ? base + 2 : NONE);
  }
  fe_parts parts = find();
  check(&parts);
  assert_true(parts.count >= 4);
  fe_parts_free(&ir_mem_libc, &parts);
}

UNIT_TESTS(test_layers, test_random, test_joins)
