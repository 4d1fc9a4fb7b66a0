/* Texts of graphs that are refused by what they say, not by how it is written: each with the whole message,
 * and the context reads a right text afterwards. What is written wrongly is in test/text/errors/. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

#define G(parameters, line) "graph @g(" parameters ") {\n" line "\nreturn %x\n}\n"
#define X                   "%x: f32[4]"

static bool no_shape(const vf_op_call *call, vf_op_type *results) {
  (void)call;
  results[0] = (vf_op_type){.dtype = VF_INDEX, .rank = 0};
  return true;
}
static void nothing(void) {}

static const struct {
  const char *text, *message;
} texts[] = {
    {G(X, "%y = add %x, 0x11111111111111111"),
     "test:2:14: error: integer too large, found more than 16 digits, expected 64 bits"},
    {G("n=1..8, n+1, " X, ""),
     "test:1:18: error: bad parameters, found an expression, expected a variable as in n=1..8"},
    {G(X, "%y = data values=[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]"),
     "test:2:1: error: data: values nest deeper than 16 lists; a tensor has at most 16 axes"},
    {"mesh @abcdefghijabcdefghijabcdefghijab [x=2]\n" G(X, ""),
     "test:1:6: error: wrong name of a mesh, found 'abcdefghijabcdefghijabcdefghijab', expected a word of at "
     "most 31 bytes"},
    {G(X ", %i: i64[]", "%p = address %x\n%d = index_point %i\n%y = create_view %p, %d kinds=[0,0]"),
     "test:4:1: error: create_view: kinds lists 2 numbers for 1 descriptors; each takes one"},
    {G(X ", %i: i64[]", "%p = address %x\n%d = index_point %i\n%y = create_view %p, %d, %d, %d, %d, %d, %d, "
                        "%d, %d, %d, %d, %d, %d, %d, "
                        "%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d"),
     "test:4:1: error: create_view: 34 descriptors given; takes at most 32"},
    {G(X, "%y = exchange %x shape=[4] start=[0] at=[%x]"),
     "test:2:1: error: exchange: entry 0 of at is f32[4]; an index expression is made of sizes and numbers"},
    {G(X, "%w = data file=\"a\\x00b\""),
     "test:2:1: error: data: the name of the file, `a`, goes on behind a zero byte"},
    {G(X, "%w = data file=\"w.bin\" offset=16"),
     "test:2:1: error: data: an array at an offset has shape and dtype"},
    {G(X, "%y = shapeless %x"),
     "test:2:1: error: shapeless: its function for shapes gives result 1 no dtype of a tensor"},
    {G(X, "%y = shapeless %x batch_dims=%x"),
     "test:2:1: error: shapeless: attribute batch_dims takes a number of axes, such as 1"},
    {G(X, "%y = shapeless %x batch_dims=-1"),
     "test:2:1: error: shapeless: attribute batch_dims takes a number of axes, such as 1"},
    {G(X, "%y = arange stop=%x"),
     "test:2:1: error: arange: stop has shape f32[4]; takes an integer or an expression of size variables"},
};

static void test_texts(void **state) {
  (void)state;
  vf_context *context = api_context_with((vf_options){.threads = 1, .flags = VF_NO_DISK});
  const vf_op_description shapeless = {.size = sizeof shapeless,
                                       .name = "shapeless",
                                       .operands = 1,
                                       .results = 1,
                                       .shape = no_shape,
                                       .function = nothing,
                                       .signature = "void(in0, out0)"};
  vf_error error;
  if (vf_register_op(context, &shapeless, &error)) fail_msg("%s", error.message);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_null(vf_graph_parse(context, texts[i].text, strlen(texts[i].text), "test", NULL, &error));
    assert_string_equal(error.message, texts[i].message);
    assert_int_equal(error.status, VF_ERR_INVALID);
    api_parse(context, G(X, ""));
  }
}

UNIT_TESTS(test_texts)
