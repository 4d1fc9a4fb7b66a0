/* Runs of writes that fail: each says why in full, and changes nothing that it should not. What recording
 * refuses is in test/unit/test_writes.c and test/text/errors/writes.t. */
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { ELEMENTS = 12 };

/* What a run gets: memory, which no failing run changes, and where in it each array lies; -1: NULL. */
typedef struct misuse {
  const char *text;
  const char *evaluated, *compiled; /* messages; NULL: the same */
  int inputs[2], outputs[1];
  int64_t position; /* of the input after these, if `positioned` */
  bool positioned;
  vf_status status;
} misuse;

#define TWO                                                                                                  \
  "graph @two(%a: ref f32[4], %b: ref f32[4]) {\n%t = %a\n%a = add %a, %b\n%b = mul %t, 2\nreturn\n}\n"
#define ONE                                                                                                  \
  "graph @one(%a: ref f32[4], %u: f32[4]) {\n%p = address %a\n%a = assign %a, %p, %u op=add\n%y = neg %a\n"  \
  "return %y\n}\n"
#define ROW                                                                                                  \
  "graph @row(%a: ref f32[3,4], %k: i64[]) {\n%p = address %a\n%d = index_point %k\n"                        \
  "%r = create_view %p, %d\n%a = assign %a, %r, 7\nreturn\n}\n"
#define GATHERED                                                                                             \
  "graph @gathered(%a: ref f32[12], %k: i64[]) {\n%p = address %a\n%g = gather %p, %k\n"                     \
  "%a = assign %a, %g, 7\nreturn\n}\n"

#define OVERLAPS(program, input)                                                                             \
  "evaluate: input " input " overlaps the reference a in memory, which is changed; give each memory of its " \
  "own",                                                                                                     \
      "program @" program ": input " input " overlaps the reference a in memory, which the run changes; "    \
      "give each memory of its own"
#define OUTPUT_OVERLAPS                                                                                      \
  "evaluate: output y overlaps the reference a in memory, which is changed; give each memory of its own",    \
      "program @one: output y overlaps input a in memory; give each output memory that nothing else uses; "  \
      "what a run changes in place is a reference, vf_ref_input"
#define MISSING(program, input)                                                                              \
  "input %" input " of type f32[4] has no data; bind every input that a result depends on",                  \
      "program @" program ": the buffer of input " input " is NULL"
#define POINT(k)                                                                                             \
  "graph @row: create_view %p, %d: descriptor 0 (%d) is the point " k ", but axis 0 has 3 elements; "        \
  "positions are -3 to 2 (test:4). The results are unspecified",                                             \
      NULL
#define INDEX(k)                                                                                             \
  "graph @gathered: gather %p, %k: %k is " k ", but axis 0 of %p has 12 elements (test:3); indices are "     \
  "-12 to 11, or any with mode=\"clip\" or mode=\"fill\". The results are unspecified",                      \
      NULL

static const misuse misuses[] = {
    {TWO, OVERLAPS("two", "b"), {0, 0}, {0}, 0, false, VF_ERR_INVALID},
    {TWO, OVERLAPS("two", "b"), {0, 3}, {0}, 0, false, VF_ERR_INVALID},
    {TWO, MISSING("two", "b"), {0, -1}, {0}, 0, false, VF_ERR_INVALID},
    {TWO, MISSING("two", "a"), {-1, 0}, {0}, 0, false, VF_ERR_INVALID},
    {ONE, OVERLAPS("one", "u"), {0, 0}, {8}, 0, false, VF_ERR_INVALID},
    {ONE, OVERLAPS("one", "u"), {4, 1}, {8}, 0, false, VF_ERR_INVALID},
    {ONE, OUTPUT_OVERLAPS, {0, 4}, {0}, 0, false, VF_ERR_INVALID},
    {ONE, OUTPUT_OVERLAPS, {0, 4}, {3}, 0, false, VF_ERR_INVALID},
    {ONE, MISSING("one", "u"), {0, -1}, {8}, 0, false, VF_ERR_INVALID},
    {ONE,
     "evaluate: the buffer of output y is NULL",
     "program @one: the buffer of output y is NULL",
     {0, 4},
     {-1},
     0,
     false,
     VF_ERR_INVALID},
    {ROW, POINT("3"), {0}, {0}, 3, true, VF_ERR_RANGE},
    {ROW, POINT("-4"), {0}, {0}, -4, true, VF_ERR_RANGE},
    {ROW, POINT("9223372036854775807"), {0}, {0}, INT64_MAX, true, VF_ERR_RANGE},
    {GATHERED, INDEX("12"), {0}, {0}, 12, true, VF_ERR_RANGE},
    {GATHERED, INDEX("-13"), {0}, {0}, -13, true, VF_ERR_RANGE},
};

static void *at(float *memory, int place) { return place < 0 ? NULL : memory + place; }

static void test_misused(void **state) {
  (void)state;
  vf_context *context = api_context();
  for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
    const misuse *m = &misuses[i];
    vf_graph *g = api_parse(context, m->text);
    vf_program *p = api_compile(g);
    for (int compiled = 0; compiled < 2; compiled++) {
      float memory[ELEMENTS], before[ELEMENTS];
      for (int k = 0; k < ELEMENTS; k++) before[k] = memory[k] = (float)(k + 1);
      const void *inputs[] = {at(memory, m->inputs[0]),
                              m->positioned ? (const void *)&m->position : at(memory, m->inputs[1])};
      void *outputs[] = {at(memory, m->outputs[0])};
      vf_error error = {0};
      vf_status status = compiled ? vf_program_run(p, inputs, outputs, NULL, &error)
                                  : vf_evaluate(g, inputs, outputs, NULL, &error);
      assert_int_equal(status, m->status);
      assert_string_equal(error.message, compiled && m->compiled ? m->compiled : m->evaluated);
      assert_memory_equal(memory, before, sizeof memory);
    }
  }
}

UNIT_TESTS(test_misused)
