/* Batch streaming: which products are streamed, on graphs after packing as text; and failing allocations. */
#include "passes/batch_stream/batch_stream.h"

#include "frontend/text/reader.h"
#include "ir/parse/parse.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

enum { MOST = 4000 };

/* A product [B,R,C], whose axis B is an axis of everything up to its Gram matrices, which are a result. */
#define HEAD                                                                                                 \
  "graph @g(%x: f32[8,16,16], %w: f32[48,16], %t: f32[8,16,48], %h: f32[8,8]) {\n"                           \
  "  %a = reshape %x shape=[8,16,1,16]\n"                                                                    \
  "  %ax = expand %a shape=[8,16,48,16]\n"                                                                   \
  "  %b = reshape %w shape=[1,1,48,16]\n"                                                                    \
  "  %bx = expand %b shape=[8,16,48,16]\n"                                                                   \
  "  %m = fma %ax, %bx, 0.0\n"                                                                               \
  "  %p = sum %m axes=[3]\n"
/* From a product [8,16,48] to [8,16,16]: the Gram matrix of its columns 0..15 with its columns 16..31 */
#define EPILOGUE(product)                                                                                    \
  "  %q = shrink " product " bounds=[[0,8],[0,16],[0,16]]\n"                                                 \
  "  %k = shrink " product " bounds=[[0,8],[0,16],[16,32]]\n"                                                \
  "  %qt = permute %q order=[0,2,1]\n"                                                                       \
  "  %kt = permute %k order=[0,2,1]\n"                                                                       \
  "  %qr = reshape %qt shape=[8,16,1,16]\n"                                                                  \
  "  %kr = reshape %kt shape=[8,1,16,16]\n"                                                                  \
  "  %qx = expand %qr shape=[8,16,16,16]\n"                                                                  \
  "  %kx = expand %kr shape=[8,16,16,16]\n"                                                                  \
  "  %n = fma %qx, %kx, 0.0\n"                                                                               \
  "  %y = sum %n axes=[3]\n"

#define STEP                                                                                                 \
  "graph @step(%s: f32[8,16,16], %r: f32[16,16]) {\n"                                                        \
  "  %a = reshape %r shape=[1,16,16]\n"                                                                      \
  "  %b = expand %a shape=[8,16,16]\n"                                                                       \
  "  %n = sub %s, %b\n"                                                                                      \
  "  return %n\n}\n"

/* to = from + the first column of a value [8,8], for all rows and columns */
#define ADDED(from, value, at, to)                                                                           \
  "  " at " = shrink " value " bounds=[[0,8],[0,1]]\n"                                                       \
  "  " at "r = reshape " at " shape=[8,1,1]\n"                                                               \
  "  " at "x = expand " at "r shape=[8,16,48]\n"                                                             \
  "  " to " = add " from ", " at "x\n"
#define ROW(value, at, to) ADDED("%p", value, at, to)

static const ir_target target = {.vector_bytes = 64, .registers = 32, .batch_stream_threshold = 1024};

typedef struct made {
  ir_graph g;
  ir_error error;
  ir_ref before, after;
} made;

static void begin(made *m, const char *text, const ir_mem *mem) {
  ir_module module = {0};
  *m = (made){0};
  ir_graph_init(&m->g, mem, &m->error);
  if (ir_parse_module(&m->g, &fe_builder, "test", text, strlen(text), &module) != IR_OK)
    fail_msg("%s", m->error.text);
  m->before = module.graphs[module.count - 1].root; /* functions come first */
  ir_module_free(&module);
}

/* Counts the scans among the nodes of the result; *sliced: the number of sliced operands of the last one. */
static int scans(const made *m, uint32_t *sliced) {
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  int found = 0;
  assert_int_equal(ir_reachable(&m->g, &m->after, 1, &nodes, &count, &cap), IR_OK);
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(&m->g, nodes[i]);
    if (n->op != IR_OP_SCAN) continue;
    *sliced = ir_scan_of(n).sliced;
    found++;
  }
  ir_free(m->g.mem, nodes, cap * sizeof *nodes);
  return found;
}

static int stream(const char *text, const ir_target *t, uint32_t *sliced) {
  made m;
  begin(&m, text, &ir_mem_libc);
  m.after = pass_batch_stream(&m.g, m.before, t);
  assert_int_not_equal(m.after, 0);
  if (ir_verify(&m.g, m.after, IR_LEVEL_TENSOR, &m.error) != IR_OK) fail_msg("%s", m.error.text);
  int found = scans(&m, sliced);
  if (!found) assert_int_equal(m.after, m.before); /* then the graph is unchanged */
  ir_graph_free(&m.g);
  return found;
}

static void what_is_streamed(void **state) {
  static const struct {
    const char *what, *text;
    int scans;
    uint32_t sliced;
  } rows[] = {
      {"a result that is at most half as large", HEAD EPILOGUE("%p") "  return %y\n}\n", 1, 1},
      {"a copy of it, used twice",
       HEAD EPILOGUE("%p") "  %s = stored %y\n  %z = mul %s, %s\n  return %z\n}\n", 1, 1},
      {"no memory for it anyway", HEAD EPILOGUE("%p") "  %z = neg %y\n  %e = exp %z\n  return %e\n}\n", 1, 1},
      {"something else that varies", HEAD "  %c = add %p, %t\n" EPILOGUE("%c") "  return %y\n}\n", 1, 2},
      {"the product is a result", HEAD EPILOGUE("%p") "  return %y, %p\n}\n", 0, 0},
      {"something is made of it", HEAD EPILOGUE("%p") "  %z = sum %p axes=[1]\n  return %y, %z\n}\n", 0, 0},
      {"and added to what it goes into",
       HEAD EPILOGUE("%p") "  %u = sum %p axes=[1]\n  %v = sum %u axes=[1]\n  %s = sum %y axes=[1]\n"
                           "  %r = sum %s axes=[1]\n  %z = add %r, %v\n  return %z\n}\n",
       1, 1},
      {"in the opposite order", HEAD "  %c = flip %p axes=[0]\n" EPILOGUE("%c") "  return %y\n}\n", 0, 0},
      {"the rows in that, which changes nothing",
       HEAD "  %c = flip %p axes=[1]\n" EPILOGUE("%c") "  return %y\n}\n", 1, 1},
      {"shifted",
       HEAD "  %d = pad %p pads=[[1,0],[0,0],[0,0]]\n"
            "  %c = shrink %d bounds=[[0,8],[0,16],[0,48]]\n" EPILOGUE("%c") "  return %y\n}\n",
       0, 0},
      {"other elements as well",
       HEAD "  %f = flip %p axes=[0]\n  %c = max %p, %f\n" EPILOGUE("%c") "  return %y\n}\n", 0, 0},
      {"rows changed for elements",
       HEAD "  %d = reshape %p shape=[16,8,48]\n  %c = permute %d order=[1,0,2]\n" EPILOGUE(
           "%c") "  return %y\n}\n",
       0, 0},
      {"added up", HEAD EPILOGUE("%p") "  %z = sum %y axes=[0]\n  return %z\n}\n", 0, 0},
      {"something else in the opposite order",
       HEAD "  %f = flip %t axes=[0]\n  %c = add %p, %f\n" EPILOGUE("%c") "  return %y\n}\n", 0, 0},
      {"what varies along one of two axes", HEAD ROW("%h", "%a1", "%c") EPILOGUE("%c") "  return %y\n}\n", 1,
       2},
      {"and along the other",
       HEAD "  %v = permute %h order=[1,0]\n" ROW("%h", "%a1", "%c") ADDED("%c", "%v", "%a2", "%e")
           EPILOGUE("%e") "  return %y\n}\n",
       0, 0},
      {"or along neither",
       HEAD ROW("%h", "%a1", "%c") "  %v = shrink %h bounds=[[0,1],[0,1]]\n  %w1 = reshape %v shape=[1,1,1]\n"
                                   "  %w2 = expand %w1 shape=[8,16,48]\n  %e = add %c, %w2\n" EPILOGUE(
                                       "%e") "  return %y\n}\n",
       0, 0},
      {"what is put together for each element",
       HEAD "  %s = stack %h, %h, %h, %h, %h, %h, %h, %h axis=0\n"
            "  %v = shrink %s bounds=[[0,8],[0,8],[0,1]]\n  %z = reshape %v shape=[8,8]\n" ROW(
                "%z", "%a1", "%c") EPILOGUE("%c") "  return %y\n}\n",
       0, 0},
      {"a function is called with the end",
       STEP HEAD EPILOGUE("%p") "  %z = scan %y, %x do=@step carries=1 sliced=1\n"
                                "  return %z, %y\n}\n",
       2, 1},
      {"and with what the product is made of",
       STEP HEAD EPILOGUE("%p") "  %u = scan %x, %x do=@step carries=1 sliced=1\n  %z = add %u, %y\n"
                                "  return %z\n}\n",
       2, 2},
      {"positions of elements",
       HEAD
       "  %i = iota shape=[8,16,48] axis=0 dtype=f32\n  %c = add %p, %i\n" EPILOGUE("%c") "  return %y\n}\n",
       0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t sliced = 0;
    int found = stream(rows[i].text, &target, &sliced);
    if (found != rows[i].scans || sliced != rows[i].sliced)
      fail_msg("%s: %d scans of %u slices", rows[i].what, found, sliced);
  }
}

static void the_target_says_from_where_on(void **state) {
  static const char text[] = HEAD EPILOGUE("%p") "  return %y\n}\n";
  uint32_t sliced;
  static const struct {
    int64_t bytes;
    int scans;
  } rows[] = {{0, 0}, {1024, 1}, {16 * 48 * 16 / 8, 1}, {2048, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_target t = target;
    t.batch_stream_threshold = rows[i].bytes;
    assert_int_equal(stream(text, &t, &sliced), rows[i].scans);
  }
}

static void without_memory(void **state) {
  for (long number = 1, done = 0; !done; number++) {
    test_memory memory = {0};
    ir_mem mem = {test_memory_hook, &memory};
    made m;
    begin(&m, HEAD EPILOGUE("%p") "  return %y\n}\n", &mem);
    memory.fail_at = memory.allocations + number;
    m.after = pass_batch_stream(&m.g, m.before, &target);
    if (memory.allocations < memory.fail_at) done = 1;
    else if (!m.after) assert_int_equal(m.error.status, IR_ERR_MEMORY);
    if (m.after) assert_int_equal(m.error.status, IR_OK);
    if (done) assert_int_not_equal(m.after, m.before);
    ir_graph_free(&m.g);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.wrong_sizes, 0);
    assert_in_range(number, 1, MOST);
  }
}

UNIT_TESTS(what_is_streamed, the_target_says_from_where_on, without_memory)
