/* The automatic choice of shardings: what it considers, what that costs, and what it finds. */
#include "frontend/text/reader.h"
#include "ir/mesh/sharding.h"
#include "passes/autoshard/autoshard.h"
#include "passes/shard/shard.h"
#include "test/lib/memory.h"
#include "test/lib/on_mesh.h"
#include "test/lib/unit.h"

static ir_error error;

typedef struct chosen {
  ir_graph *g;
  ir_module module;
  autoshard_request request;
  autoshard_report report;
} chosen;

static void free_chosen(void *object) {
  chosen *c = object;
  ir_module_free(&c->module);
  ir_graph_free(c->g);
  free(c->g);
  free(c);
}

/* A graph, and the inputs of its first block. */
static chosen *read_graph(const char *text) {
  chosen *c = unit_keep(calloc(1, sizeof *c), free_chosen);
  c->g = calloc(1, sizeof *c->g);
  ir_error_clear(&error);
  ir_graph_init(c->g, &ir_mem_libc, &error);
  if (fe_parse_graphs(c->g, "t", text, strlen(text), &c->module) != IR_OK) fail_msg("%s", error.text);
  c->request.root = c->module.graphs[0].root;
  return c;
}

static chosen *choose(const char *text, autoshard_rates rates, double memory) {
  chosen *c = read_graph(text);
  c->request.rates = rates, c->request.memory = memory;
  if (!pass_autoshard(c->g, &c->request, &c->report)) fail_msg("%s", error.text);
  return c;
}

static ir_ref value(const chosen *c, const char *name) {
  const ir_parsed_graph *b = &c->module.graphs[0];
  for (size_t i = 0; i < b->param_count; i++)
    if (strlen(name) == b->params[i].length && !memcmp(b->params[i].name, name, b->params[i].length))
      return b->params[i].ref;
  const ir_defined *d = ir_defined_find(b, name, strlen(name));
  assert_non_null(d);
  return d->ref;
}

static void assert_spec(const chosen *c, const char *name, const char *want) {
  ir_text text;
  const ir_spec *spec = ir_spec_of(c->g, value(c, name));
  assert_non_null(spec);
  ir_text_init(&text, &ir_mem_libc);
  ir_spec_print(ir_graph_mesh(c->g), spec, &text);
  if (strcmp(ir_text_get(&text), want) != 0)
    fail_msg("%%%s: %s in place of %s", name, ir_text_get(&text), want);
  ir_text_free(&text);
}

static void assert_near(double have, double want) {
  if (!(have > want * (1 - 1e-5) && have < want * (1 + 1e-5))) fail_msg("%.9g in place of %.9g", have, want);
}

/* One operation takes a second, and so does a byte that moves; memory costs nothing. */
static const autoshard_rates units = {.flops = 1, .bytes = 1e18};
#define UNITS "latency=[1e-12] bandwidth=[1]"

/* Rows of the first operand and of the result: no sum, and nothing moves. A quarter of 2^31 operations.
 *
 * spec: K1 K8 K9 */
static void test_rows(void **state) {
  (void)state;
  chosen *c = choose("mesh @m [d=4] " UNITS "\n"
                     "graph @g(%a: f32[1024,1024], %b: f32[1024,1024]) {\n%c = matmul %a, %b\nreturn %c\n}",
                     units, 0);
  assert_spec(c, "a", "[d,-]"), assert_spec(c, "b", "[-,-]"), assert_spec(c, "c", "[d,-]");
  assert_near(c->report.computing, 2147483648.0 / 4);
  assert_true(c->report.moving < 1e-3 * c->report.computing && c->report.exact);
}

/* Three rows do not divide among four. The columns of the result do, at no cost, which solvers that look at
 * M and K alone miss. Where B lies in rows and C has to be whole, which closes N, the contracted axis is
 * divided, and the sum is an all_reduce of 3 x 1024 floats: twice three quarters of its bytes.
 *
 * spec: K1 K4 K8 K9 */
static void test_contracted(void **state) {
  (void)state;
  chosen *c = choose("mesh @m [d=4] " UNITS "\n"
                     "graph @g(%a: f32[3,4096], %b: f32[4096,1024]) {\n%c = matmul %a, %b\nreturn %c\n}",
                     units, 0);
  assert_spec(c, "c", "[-,d]"), assert_spec(c, "b", "[-,d]");
  assert_near(c->report.computing, 2.0 * 3 * 4096 * 1024 / 4);
  c = choose("mesh @m [d=4] " UNITS "\n"
             "graph @g(%a: f32[3,4096], %b: f32[4096,1024] @m[d,-]) {\n"
             "%c = matmul %a, %b : f32[3,1024] @m[-,-]\nreturn %c\n}",
             units, 0);
  assert_spec(c, "a", "[-,d]"), assert_spec(c, "b", "[d,-]"), assert_spec(c, "c", "[-,-]");
  assert_near(c->report.computing, 2.0 * 3 * 4096 * 1024 / 4);
  assert_near(c->report.moving, 2 * 3 * 1024 * 4 * 3 / 4);
}

/* A wide second layer: each axis of the mesh divides another factor.
 *
 * spec: K9 */
static void test_every_axis(void **state) {
  (void)state;
  chosen *c = choose("mesh @m [x=2,y=4] latency=[1e-12,1e-12] bandwidth=[1,1]\n"
                     "graph @g(%a: f32[2,8], %b: f32[8,4]) {\n%c = matmul %a, %b\nreturn %c\n}",
                     units, 0);
  assert_near(c->report.computing, 2.0 * 2 * 8 * 4 / 8);
  assert_spec(c, "c", "[x,y]");
}

/* An operand and a result of 16384 bytes each, whole on a mesh of one device, then in halves: the
 * input stays, and each operation reads one value and writes another.
 *
 * spec: K3 */
static void test_bytes_held(void **state) {
  (void)state;
  static const char *const text =
      "mesh @m [x=%d]\ngraph @g(%%a: f32[32,128]) {\n%%b = exp %%a\n%%c = exp %%b\n"
      "return %%c\n}";
  for (int devices = 1; devices <= 2; devices++) {
    char given[400];
    snprintf(given, sizeof given, text, devices);
    chosen *c = choose(given, (autoshard_rates){0}, 0);
    assert_true(c->report.memory == 3 * 16384 / devices);
  }
}

/* Elements of the results are those of one device, whatever is chosen. */
static void test_same_results(void **state) {
  (void)state;
  static const char *const texts[] = {
      "mesh @m [x=2,y=2] latency=[1e-9,1e-9]\ngraph @g(%a: f32[8,8], %b: f32[8,8]) {\n%s = matmul %a, %b\n"
      "%r = relu %s\n%p = matmul %r, %b\n%n = mean %p\nreturn %p, %n\n}",
      "mesh @m [x=2,y=2] latency=[1e-9,1e-9]\ngraph @g(%a: f32[8,8] @m[x,?], %b: f32[8,8] @m[?,y]) {\n"
      "%s = add %a, %b\n%r = cumsum %s axis=0\n%f = flip %r axes=[1]\n%c = concat %f, %s axis=0\n"
      "%m = reduce_max %c axes=[0]\n%k = shard %m to=[x]\nreturn %k, %c\n}",
      "mesh @m [x=2,y=3] latency=[1e-9,1e-9]\ngraph @g(%a: f32[8,8], %b: f32[8,8]) {\n"
      "%t = reshape %a shape=[4,2,8]\n%u = permute %t order=[1,0,2]\n%v = reshape %u shape=[8,8]\n"
      "%s = matmul %v, %b\n%q = shard %s to=[x,-]+y\n%w = all_gather %q axis=0\nreturn %w\n}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    float in[2][64];
    chosen *c = choose(texts[i], (autoshard_rates){1e6, 1e6}, 0);
    const ir_parsed_graph *b = &c->module.graphs[0];
    for (int k = 0; k < 64; k++) in[0][k] = (float)(k % 7 - 3), in[1][k] = (float)(k % 5 - 2);
    ir_binding_input bound[2] = {{b->params[0].ref, in[0]}, {b->params[1].ref, in[1]}};
    on_mesh check = {.g = c->g, .inputs = bound, .input_count = 2, .near = true};
    if (!on_mesh_check(&check, b->root)) fail_msg("%s\n%s", texts[i], check.what);
  }
}

static const char perceptron[] =
    "mesh @m [x=4] latency=[1e-9]\ngraph @g(%h: f32[64,8] @m[x,-], %w: f32[8,128], %v: f32[128,8]) {\n"
    "%s = matmul %h, %w\n%a = relu %s\n%p = matmul %a, %v\nreturn %p\n}";

/* Weights are whole where a device has room for them, and nothing moves; with less they are divided, columns
 * of the first along with rows of the second, and there is one sum. The limit is kept, and results are the
 * same. */
static void test_limit(void **state) {
  (void)state;
  const double weights = 2 * 8 * 128 * 4, layer = 64 * 128 * 4;
  chosen *c = choose(perceptron, (autoshard_rates){0}, 0);
  assert_spec(c, "w", "[-,-]"), assert_spec(c, "v", "[-,-]");
  assert_true(c->report.moving < 1e-9 && c->report.memory == weights + 64 * 8 + 2 * layer / 4);
  double limit = c->report.memory - 0.6 * weights, bound = c->report.seconds;
  c = choose(perceptron, (autoshard_rates){0}, limit);
  assert_spec(c, "w", "[-,x]"), assert_spec(c, "v", "[x,-]");
  assert_true(c->report.memory <= limit && c->report.seconds > bound && c->report.bound >= bound &&
              c->report.bound <= c->report.seconds);
  const ir_parsed_graph *b = &c->module.graphs[0];
  static float in[3][1024];
  ir_binding_input bound_inputs[3];
  for (int i = 0; i < 3; i++) {
    bound_inputs[i] = (ir_binding_input){b->params[i].ref, in[i]};
    for (int k = 0; k < 1024; k++) in[i][k] = (float)((k * (i + 3)) % 7 - 3);
  }
  on_mesh check = {.g = c->g, .inputs = bound_inputs, .input_count = 3};
  if (!on_mesh_check(&check, b->root)) fail_msg("%s", check.what);
  assert_true(check.exchanges >= 1);
}

/* Moments of an optimizer are divided, and so is the sum of gradients: a reduce_scatter, and the new weights
 * come together, in place of an all_reduce. */
static void test_optimizer(void **state) {
  (void)state;
  chosen *c =
      choose("mesh @m [x=4]\ngraph @g(%h: f32[512,64] @m[x,-], %d: f32[512,64] @m[x,-], %w: f32[64,64] "
             "@m[-,-], %m: f32[64,64]) {\n%s = matmul %h, %w\n%e = sub %s, %d\n%t = permute %h "
             "order=[1,0]\n%g = matmul %t, %e\n%o = mul %m, 0.9\n%n = add %o, %g\n"
             "%u = sub %w, %n : f32[64,64] @m[-,-]\nreturn %u, %n\n}",
             (autoshard_rates){.flops = 1e9, .bytes = 1e8}, 0);
  assert_spec(c, "m", "[x,-]"), assert_spec(c, "n", "[x,-]");
}

/* Two blocks of a transformer of few rows, where weights are most of what is read: columns of what reads the
 * stream are divided, rows of what is added to it, and each half of a block has one sum, of the whole mesh.
 */
static void test_blocks(void **state) {
  (void)state;
  char text[8000];
  size_t at = (size_t)snprintf(text, sizeof text, "mesh @m [x=4]\ngraph @g(%%z0: f32[16,256] @m[-,-]");
  for (int k = 1; k <= 2; k++)
    at += (size_t)snprintf(
        text + at, sizeof text - at,
        ", %%q%d: f32[256,256], %%k%d: f32[256,256], %%v%d: f32[256,256], %%o%d: f32[256,256], "
        "%%u%d: f32[256,1024], %%d%d: f32[1024,256]",
        k, k, k, k, k, k);
  at += (size_t)snprintf(text + at, sizeof text - at, ") {\n");
  for (int k = 1; k <= 2; k++) {
    at += (size_t)snprintf(text + at, sizeof text - at, "%%n%d = softmax %%z%d axis=1\n", k, k - 1);
    for (const char *c = "qkv"; *c; c++)
      at += (size_t)snprintf(text + at, sizeof text - at,
                             "%%%cm%d = matmul %%n%d, %%%c%d\n%%%cr%d = reshape %%%cm%d shape=[16,8,32]\n"
                             "%%%cp%d = permute %%%cr%d order=[1,%s]\n",
                             *c, k, k, *c, k, *c, k, *c, k, *c, k, *c, k, *c == 'k' ? "2,0" : "0,2");
    at += (size_t)snprintf(
        text + at, sizeof text - at,
        "%%s%d = matmul %%qp%d, %%kp%d\n%%t%d = softmax %%s%d axis=2\n%%a%d = matmul %%t%d, %%vp%d\n"
        "%%ap%d = permute %%a%d order=[1,0,2]\n%%ar%d = reshape %%ap%d shape=[16,256]\n"
        "%%om%d = matmul %%ar%d, %%o%d\n%%y%d = add %%z%d, %%om%d\n%%l%d = softmax %%y%d axis=1\n"
        "%%um%d = matmul %%l%d, %%u%d\n%%h%d = relu %%um%d\n%%dm%d = matmul %%h%d, %%d%d\n%%z%d = add %%y%d, "
        "%%dm%d\n",
        k, k, k, k, k, k, k, k, k, k, k, k, k, k, k, k, k - 1, k, k, k, k, k, k, k, k, k, k, k, k, k, k);
  }
  snprintf(text + at, sizeof text - at, "return %%z2\n}");
  chosen *c = choose(text, (autoshard_rates){.flops = 1e11, .bytes = 1e8}, 0);
  assert_true(c->report.exact);
  for (int k = 1; k <= 2; k++) {
    static const char *const names[] = {"q", "k", "v", "u", "o", "d"};
    for (int i = 0; i < 6; i++) {
      char name[8];
      snprintf(name, sizeof name, "%s%d", names[i], k);
      assert_spec(c, name, i < 4 ? "[-,x]" : "[x,-]");
    }
  }
  shard_program program;
  shard_request request = {.root = c->request.root, .device = SHARD_ALL};
  ir_ref inputs[13];
  for (request.input_count = 0; request.input_count < 13; request.input_count++)
    inputs[request.input_count] = c->module.graphs[0].params[request.input_count].ref;
  request.inputs = inputs;
  assert_true(pass_shard(c->g, &request, &program));
  int sums = 0;
  for (size_t i = 0; i < program.note_count; i++)
    sums += ir_spec_count(&program.notes[i].from, IR_PLACE_PENDING) > 0;
  shard_program_free(&program);
  assert_int_equal(sums, 4);
}

/* Weights and two moments of their gradients, where rows are divided: with less memory than all of them take
 * when they are whole, the moments are divided, which nothing else reads. */
static void test_state(void **state) {
  (void)state;
  static const char text[] =
      "mesh @m [x=4]\ngraph @g(%%h: f32[64,256] @m[x,-], %%d: f32[64,256] @m[x,-], %%w: f32[256,256] "
      "@m[-,-], "
      "%%m: f32[256,256] %1$s, %%s: f32[256,256] %1$s) {\n%%y = matmul %%h, %%w\n%%e = sub %%y, %%d\n"
      "%%t = permute %%h order=[1,0]\n%%g = matmul %%t, %%e\n%%m9 = mul %%m, 0.9\n%%m1 = add %%m9, %%g %2$s\n"
      "%%q = mul %%g, %%g\n%%s9 = mul %%s, 0.99\n%%s1 = add %%s9, %%q %2$s\n%%r = sqrt %%s1\n%%v = div %%m1, "
      "%%r\n"
      "%%n = sub %%w, %%v : f32[256,256] @m[-,-]\nreturn %%n, %%m1, %%s1\n}";
  char given[2000];
  snprintf(given, sizeof given, text, "@m[-,-]", ": f32[256,256] @m[-,-]");
  double whole = choose(given, (autoshard_rates){0}, 0)->report.memory;
  snprintf(given, sizeof given, text, "@m[?,?]", "");
  chosen *c = choose(given, (autoshard_rates){0}, 0.6 * whole);
  assert_true(c->report.memory <= 0.6 * whole && c->report.bound <= c->report.seconds);
  assert_false(ir_spec_is_whole(ir_spec_of(c->g, value(c, "m"))));
  assert_false(ir_spec_is_whole(ir_spec_of(c->g, value(c, "s"))));
}

/* Layers that are alike change together at every price; where half of them is enough, half of them do. */
static void test_some_layers(void **state) {
  (void)state;
  char text[4000];
  size_t at = (size_t)snprintf(text, sizeof text, "mesh @m [x=4]\ngraph @g(%%y0: f32[64,256] @m[x,-]");
  for (int k = 1; k <= 8; k++)
    at += (size_t)snprintf(text + at, sizeof text - at, ", %%w%d: f32[256,256]", k);
  at += (size_t)snprintf(text + at, sizeof text - at, ") {\n");
  for (int k = 1; k <= 8; k++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%%y%d = matmul %%y%d, %%w%d : f32[64,256] @m[x,-]\n",
                           k, k - 1, k);
  snprintf(text + at, sizeof text - at, "return %%y8\n}");
  chosen *whole = choose(text, (autoshard_rates){.flops = 1e13, .bytes = 1e15}, 0);
  double weight = 256 * 256 * 4, limit = whole->report.memory - 2.5 * weight;
  chosen *c = choose(text, (autoshard_rates){.flops = 1e13, .bytes = 1e15}, limit);
  int divided = 0;
  for (int k = 1; k <= 8; k++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", k);
    assert_true(ir_spec_is_whole(ir_spec_of(whole->g, value(whole, name))));
    divided += !ir_spec_is_whole(ir_spec_of(c->g, value(c, name)));
  }
  assert_true(c->report.memory <= limit && c->report.bound <= c->report.seconds);
  assert_int_equal(divided, 4); /* three would save 2.25 weights */
}

/* Two rows and two columns of work on four devices in a row: half of them divide the one, half the other. One
 * digit alone would leave two devices without work. */
static void test_digits(void **state) {
  (void)state;
  static const char text[] = "mesh @m [x=4]\ngraph @g(%h: f32[2,3], %w: f32[3,2]) {\n"
                             "%y = matmul %h, %w\nreturn %y\n}";
  chosen *c = choose(text, (autoshard_rates){.flops = 1, .bytes = 1e15}, 0);
  assert_spec(c, "y", "[x:(1)2,x:(2)2]"), assert_spec(c, "h", "[x:(1)2,-]"),
      assert_spec(c, "w", "[-,x:(2)2]");
  assert_true(c->report.exact);
  assert_int_equal(ir_graph_mesh(c->g)->axis_count, 1);
}

/* With tables of a few numbers nothing can be eliminated: messages give a bound, and what is found lies
 * between the least and 2 % above it. */
static void test_messages(void **state) {
  (void)state;
  char text[4000];
  size_t at = (size_t)snprintf(text, sizeof text, "mesh @m [x=2,y=2]\ngraph @g(%%z0: f32[64,64] @m[-,-]");
  for (int k = 1; k <= 6; k++)
    at += (size_t)snprintf(text + at, sizeof text - at, ", %%u%d: f32[64,64], %%d%d: f32[64,64]", k, k);
  at += (size_t)snprintf(text + at, sizeof text - at, ") {\n");
  for (int k = 1; k <= 6; k++)
    at += (size_t)snprintf(text + at, sizeof text - at,
                           "%%i%d = matmul %%z%d, %%u%d\n%%r%d = relu %%i%d\n%%o%d = matmul %%r%d, %%d%d\n"
                           "%%y%d = add %%z%d, %%o%d\n%%z%d = add %%y%d, %%z%d\n",
                           k, k - 1, k, k, k, k, k, k, k, k - 1, k, k, k, k / 2);
  snprintf(text + at, sizeof text - at, "return %%z6\n}");
  chosen *best = choose(text, (autoshard_rates){.flops = 1e9, .bytes = 1e9}, 0);
  assert_true(best->report.exact);
  chosen *c = read_graph(text);
  c->request.rates = (autoshard_rates){.flops = 1e9, .bytes = 1e9}, c->request.entries = 4;
  assert_true(pass_autoshard(c->g, &c->request, &c->report));
  assert_true(c->report.bound <= best->report.seconds * (1 + 1e-9));
  assert_true(c->report.seconds >= best->report.seconds * (1 - 1e-9));
  assert_true(c->report.seconds <= 1.02 * c->report.bound);
}

/* Each allocation may fail: that is an error, and nothing leaks. */
static void test_short_memory(void **state) {
  (void)state;
  bool done = false;
  for (long left = 0; !done; left += 1 + left / 16) {
    test_budget budget = {.left = left};
    ir_mem mem = {test_budget_hook, &budget};
    ir_graph g;
    ir_module module;
    ir_error_clear(&error);
    bool good = ir_graph_init(&g, &mem, &error) == IR_OK;
    if (good) {
      good = fe_parse_graphs(&g, "t", perceptron, strlen(perceptron), &module) == IR_OK;
      autoshard_request request = {.memory = 23040};
      if (good) request.root = module.graphs[0].root;
      done = good && pass_autoshard(&g, &request, NULL);
      if (!done) assert_int_equal(error.status, IR_ERR_MEMORY);
      ir_module_free(&module);
      ir_graph_free(&g);
    }
    assert_int_equal(budget.live, 0);
  }
}

static void test_refused(void **state) {
  (void)state;
  chosen *tight = read_graph(perceptron);
  tight->request.memory = 100;
  assert_false(pass_autoshard(tight->g, &tight->request, NULL));
  assert_non_null(
      strstr(error.text, "automatic choice: nothing keeps within the 100 bytes of a device; of "));
  assert_non_null(strstr(error.text, "; a memory of "));
  chosen *c = read_graph("graph @g(%a: f32[4]) {\n%b = relu %a\nreturn %b\n}");
  assert_false(pass_autoshard(c->g, &c->request, NULL));
  assert_string_equal(error.text, "automatic choice: the graph has no mesh");
}

UNIT_TESTS(test_rows, test_contracted, test_every_axis, test_bytes_held, test_same_results, test_limit,
           test_optimizer, test_blocks, test_state, test_some_layers, test_digits, test_messages,
           test_short_memory, test_refused)
