/* Constants from files in graphs, by the C API and by text: results, text, files that change while programs
 * use them, blocks of GGUF. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/api/api.h"
#include "frontend/api/compile.h"
#include "frontend/text/reader.h"
#include "test/lib/array_files.h"
#include "test/lib/folder.h"
#include "test/lib/memory.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { ROWS = 32, COLUMNS = 96, ELEMENTS = ROWS * COLUMNS };
static char folder[200];
static vf_error error;
static float weight[ELEMENTS], bias[ROWS];

static int set_up(void **state) {
  for (int i = 0; i < ELEMENTS; i++) weight[i] = (float)(i % 17 - 8) / 4;
  for (int i = 0; i < ROWS; i++) bias[i] = (float)i / 2;
  return !test_folder_make(folder, sizeof folder);
}

static int tear_down(void **state) {
  test_folder_remove(folder);
  return 0;
}

static const char *in_folder(const char *name) {
  static char path[2][300];
  static int which;
  which = !which;
  snprintf(path[which], sizeof *path, "%s/%s", folder, name);
  return path[which];
}

static const int64_t matrix[] = {ROWS, COLUMNS}, rows[] = {ROWS};

static void write_weights(vf_context *c, const char *name, const float *w) {
  const vf_named_array list[] = {{"encoder.weight", VF_F32, 2, matrix, w},
                                 {"encoder.bias", VF_F32, 1, rows, bias}};
  unlink(in_folder(name));
  if (vf_arrays_write(c, in_folder(name), 2, list, &error)) fail_msg("%s", error.message);
}

static vf_context *make_context(void) {
  char cache[300];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  vf_options options = {.size = sizeof options, .cache_dir = cache};
  vf_context *c = vf_context_create(&options, &error);
  assert_non_null(c);
  return c;
}

/* sum of each row of w, and b: reads every element */
static vf_graph *make_graph(vf_context *c, const char *name, vf_value *w) {
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_arrays *a = vf_arrays_open(c, in_folder(name), &error);
  if (!a) fail_msg("%s", error.message);
  *w = vf_arrays_constant(g, a, "encoder.weight");
  vf_value b = vf_arrays_constant(g, a, "encoder.bias");
  vf_arrays_close(a);
  vf_output(g, "y", vf_add(vf_sum(*w, 1, (int64_t[]){1}, false), b));
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  return g;
}

static vf_program *compile(vf_graph *g) {
  vf_program *p = vf_compile(g, &error);
  if (!p) fail_msg("%s", error.message);
  return p;
}

static void expect(const float *y, const float *w) {
  for (int i = 0; i < ROWS; i++) {
    float sum = bias[i];
    for (int k = 0; k < COLUMNS; k++) sum += w[i * COLUMNS + k];
    assert_float_equal(y[i], sum, 1e-3);
  }
}

static void run(vf_program *p, const float *w) {
  float y[ROWS];
  api_run(p, NULL, (void *[]){y}, NULL);
  expect(y, w);
}

static void run_refused(vf_program *p, const char *name) {
  float y[ROWS];
  error.message[0] = 0;
  assert_int_equal(vf_program_run(p, NULL, (void *[]){y}, NULL, &error), VF_ERR_IO);
  assert_non_null(strstr(error.message, name));
  assert_non_null(strstr(error.message, "graph @g"));
}

static void test_api(void **state) {
  static const char *const names[] = {"w.safetensors", "w.npz"};
  for (int k = 0; k < 2; k++) {
    vf_context *c = make_context();
    write_weights(c, names[k], weight);
    vf_arrays *a = vf_arrays_open(c, in_folder(names[k]), &error);
    assert_int_equal(vf_arrays_count(a), 2);
    assert_string_equal(vf_arrays_format(a), k ? ".npz" : "safetensors");
    size_t n = vf_arrays_find(a, "encoder.weight");
    int64_t shape[VF_MAX_RANK];
    assert_string_equal(vf_arrays_name(a, n), "encoder.weight");
    assert_int_equal(vf_arrays_dtype(a, n), VF_F32);
    assert_string_equal(vf_arrays_type(a, n), k ? "<f4" : "F32");
    assert_int_equal(vf_arrays_shape(a, n, shape), 2);
    assert_int_equal(shape[0], ROWS);
    assert_int_equal(shape[1], COLUMNS);
    assert_int_equal(vf_arrays_find(a, "encoder"), 2);
    assert_null(vf_arrays_name(a, 2));
    assert_int_equal(vf_arrays_shape(a, 2, NULL), -1);
    vf_arrays_close(a);
    vf_value w;
    vf_graph *g = make_graph(c, names[k], &w);
    float y[ROWS];
    api_evaluate(g, NULL, (void *[]){y}, NULL);
    expect(y, weight);
    vf_program *p = compile(g);
    vf_graph_destroy(g);
    unlink(in_folder(names[k])); /* the program has it */
    run(p, weight);
    vf_program_destroy(p), vf_context_destroy(c);
  }
}

/* vf_data and files do not depend on each other, whichever comes first. */
static void test_equal_elements(void **state) {
  vf_context *c = make_context();
  write_weights(c, "e.safetensors", weight);
  vf_value w;
  vf_graph *g = make_graph(c, "e.safetensors", &w), *h = vf_graph_create(c, "h", &error);
  vf_value data = vf_data(h, VF_F32, 2, matrix, weight);
  vf_output(h, "y", vf_add(vf_sum(data, 1, (int64_t[]){1}, false), vf_data(h, VF_F32, 1, rows, bias)));
  vf_program *p = compile(g), *q = compile(h);
  run(p, weight), run(q, weight);
  assert_int_equal(truncate(in_folder("e.safetensors"), 100), 0);
  run_refused(p, "e.safetensors");
  run(q, weight);
  vf_graph *again = vf_graph_create(c, "again", &error);
  data = vf_data(again, VF_F32, 2, matrix, weight);
  vf_output(again, "y", vf_sum(data, 1, (int64_t[]){1}, false));
  vf_program *r = compile(again);
  float y[ROWS];
  assert_int_equal(vf_program_run(r, NULL, (void *[]){y}, NULL, &error), VF_OK);
  vf_program_destroy(p), vf_program_destroy(q), vf_program_destroy(r);
  vf_graph_destroy(g), vf_graph_destroy(h), vf_graph_destroy(again), vf_context_destroy(c);
}

static void write_at(const char *name, off_t at, const void *bytes, size_t size) {
  int fd = open(in_folder(name), O_WRONLY);
  struct stat s;
  assert_int_equal(fstat(fd, &s), 0);
  assert_int_equal(pwrite(fd, bytes, size, at < 0 ? s.st_size + at : at), size);
  close(fd);
}

/* Rewritten in place: noticed by the run, and by whoever opens it again, although digests were kept. */
static void test_rewritten(void **state) {
  float changed[ELEMENTS];
  memcpy(changed, weight, sizeof weight);
  vf_context *c = make_context();
  write_weights(c, "r.safetensors", weight);
  struct timespec settle = {2, 100000000};
  nanosleep(&settle, NULL); /* now digests are kept */
  vf_value w, other;
  vf_graph *g = make_graph(c, "r.safetensors", &w);
  vf_program *p = compile(g);
  run(p, weight);
  changed[ELEMENTS - 1] = 1000;
  write_at("r.safetensors", -(off_t)sizeof bias - (off_t)sizeof(float), &changed[ELEMENTS - 1],
           sizeof(float));
  run_refused(p, "r.safetensors");
  float y[ROWS];
  assert_int_equal(vf_evaluate(g, NULL, (void *[]){y}, NULL, &error), VF_ERR_IO);
  vf_graph *h = make_graph(c, "r.safetensors", &other);
  vf_program *q = compile(h);
  run(q, changed);
  assert_int_equal(vf_program_set_constant(p, w, weight, NULL, NULL, &error), VF_OK);
  run_refused(p, "r.safetensors"); /* the other constant is still in it */
  vf_program_destroy(p), vf_program_destroy(q), vf_graph_destroy(g), vf_graph_destroy(h);
  vf_context_destroy(c);
  c = make_context(); /* with the same cache */
  g = make_graph(c, "r.safetensors", &w);
  p = compile(g);
  run(p, changed);
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
}

/* Shortened while runs are in progress, on several threads. */
typedef struct runner {
  vf_program *program;
  vf_status status;
  char message[sizeof error.message];
} runner;
static atomic_int running;

static void *run_until_refused(void *user) {
  runner *r = user;
  sigset_t all; /* as threads of servers do */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  vf_error own;
  float y[ROWS];
  for (;;) {
    r->status = vf_program_run(r->program, NULL, (void *[]){y}, NULL, &own);
    if (r->status) break;
    expect(y, weight);
    atomic_fetch_add(&running, 1);
  }
  memcpy(r->message, own.message, sizeof own.message);
  return NULL;
}

static void test_shortened(void **state) {
  enum { THREADS = 3, ROUNDS = 10 };
  for (int round = 0; round < ROUNDS; round++) {
    vf_context *c = make_context();
    write_weights(c, "s.safetensors", weight);
    vf_value w;
    vf_graph *g = make_graph(c, "s.safetensors", &w);
    vf_program *p = compile(g);
    pthread_t threads[THREADS];
    runner runners[THREADS];
    atomic_store(&running, 0);
    for (int i = 0; i < THREADS; i++) {
      runners[i] = (runner){.program = p};
      assert_int_equal(pthread_create(&threads[i], NULL, run_until_refused, &runners[i]), 0);
    }
    while (atomic_load(&running) < 20 * THREADS) sched_yield();
    assert_int_equal(truncate(in_folder("s.safetensors"), round % 2 ? 0 : 5000), 0);
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(runners[i].status, VF_ERR_IO);
      assert_non_null(strstr(runners[i].message, "s.safetensors"));
      assert_non_null(
          strstr(runners[i].message, ". Constants of graph @g are in it; the results are unspecified"));
    }
    vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
  }
}

/* A file that changes before a program computes something from it once, for itself and others. */
enum { BATCH = 512 /* rows, of a product that is worth packing its operands for */ };
static vf_graph *make_product(vf_context *c) {
  vf_arrays *a = vf_arrays_open(c, in_folder("p.safetensors"), &error);
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_value x = vf_input(g, "x", VF_F32, 2, (int64_t[]){BATCH, COLUMNS}),
           w = vf_arrays_constant(g, a, "encoder.weight");
  vf_arrays_close(a);
  vf_output(g, "y", vf_matmul(x, vf_permute(w, 2, (int64_t[]){1, 0})));
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  return g;
}

static void test_changed_before(void **state) {
  static float x[BATCH * COLUMNS], y[BATCH * ROWS];
  for (int i = 0; i < 16; i++) x[i * COLUMNS + i] = 1; /* picks columns */
  vf_context *c = make_context();
  write_weights(c, "p.safetensors", weight);
  vf_graph *g = make_product(c);
  assert_int_equal(truncate(in_folder("p.safetensors"), 300), 0);
  vf_program *p = vf_compile(g, &error);
  vf_status status = p ? vf_program_run(p, (const void *[]){x}, (void *[]){y}, NULL, &error) : error.status;
  assert_int_equal(status, VF_ERR_IO);
  assert_non_null(strstr(error.message, "p.safetensors"));
  write_weights(c, "p.safetensors", weight);
  vf_graph *h = make_product(c);
  vf_program *q = compile(h);
  assert_int_equal(vf_program_run(q, (const void *[]){x}, (void *[]){y}, NULL, &error), VF_OK);
  for (int i = 0; i < 16; i++)
    for (int r = 0; r < ROWS; r++) assert_true(y[i * ROWS + r] == weight[r * COLUMNS + i]);
  vf_program_destroy(p), vf_program_destroy(q), vf_graph_destroy(g), vf_graph_destroy(h),
      vf_context_destroy(c);
}

/* text */

static const char text[] = "graph @g() {\n"
                           "  %0 = data file=\"t.safetensors\" name=\"encoder.weight\" : f32[32,96]\n"
                           "  %1 = sum %0 axes=[1] : f32[32]\n"
                           "  %2 = data file=\"t.safetensors\" name=\"encoder.bias\" : f32[32]\n"
                           "  %y = add %1, %2 : f32[32]\n"
                           "  return %y\n"
                           "}\n";

static vf_graph *parse(vf_context *c, const char *source) {
  return vf_graph_parse(c, source, strlen(source), in_folder("g.vf"), NULL, &error);
}

/* A file that becomes one of another shape between the reading of a graph and its compilation. */
static void test_reshaped(void **state) {
  (void)state;
  static const char source[] = "graph @g() {\n  %w = data file=\"w.npy\"\n  return %w\n}\n";
  vf_context *c = make_context();
  ir_error failure = {0};
  ir_graph g;
  ir_module module;
  rt_constant *constant = NULL;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &failure), IR_OK);
  for (int64_t n = 2; n <= 3; n++) {
    vf_tensor *t = vf_tensor_create(c, VF_F32, 1, &n, weight, &error);
    assert_int_equal(vf_npy_write(t, in_folder("w.npy"), &error), VF_OK);
    vf_tensor_release(t);
    if (n == 2) fe_parse_graphs(&g, in_folder("g.vf"), source, strlen(source), &module);
    assert_string_equal(failure.text, "");
  }
  ir_ref w = ir_src(&g, module.graphs[0].root, 0);
  fe_find_constants(c->runtime, "g", &g, &w, 1, &constant, &failure);
  assert_non_null(strstr(failure.text, " is of another dtype or shape than when the graph was made"));
  assert_null(constant);
  ir_module_free(&module);
  ir_graph_free(&g);
  vf_context_destroy(c);
}

static void test_text(void **state) {
  vf_context *c = make_context();
  write_weights(c, "t.safetensors", weight);
  vf_graph *g = parse(c, text);
  if (!g) fail_msg("%s", error.message);
  char *printed = vf_graph_text(g, &error);
  assert_string_equal(printed, text);
  vf_text_free(c, printed);
  vf_program *p = compile(g);
  run(p, weight);
  vf_cache_stats stats = {.size = sizeof stats};
  float other[ELEMENTS]; /* other elements, in another file: the same program */
  for (int i = 0; i < ELEMENTS; i++) other[i] = weight[i] + 1;
  write_weights(c, "other.safetensors", other);
  vf_value w;
  vf_graph *h = make_graph(c, "other.safetensors", &w);
  vf_program *q = compile(h);
  run(q, other);
  assert_true(vf_cache_statistics(c, &stats));
  assert_int_equal(stats.programs, 1);
  vf_program_destroy(p), vf_program_destroy(q), vf_graph_destroy(g), vf_graph_destroy(h);
  vf_context_destroy(c);
}

/* Constants of a text are found by name, and replaced. */
static void test_by_name(void **state) {
  (void)state;
  static float other[ELEMENTS];
  vf_context *c = make_context();
  write_weights(c, "n.safetensors", weight);
  for (int i = 0; i < ELEMENTS; i++) other[i] = weight[i] - 2;
  unlink(in_folder("n.bin"));
  unit_write_file(in_folder("n.bin"), bias, sizeof bias);
  vf_graph *g = parse(c, "graph @g() {\n  %w = data file=\"n.safetensors\" name=\"encoder.weight\"\n"
                         "  %b = data file=\"n.bin\" offset=0 name=\"my bias\" shape=[32] dtype=f32\n"
                         "  %r = sum %w axes=[1]\n  %y = add %r, %b\n  return %y\n}\n");
  if (!g) fail_msg("%s", error.message);
  char *written = vf_graph_text(g, &error);
  vf_graph_destroy(g);
  g = parse(c, written);
  if (!g) fail_msg("%s", error.message);
  vf_text_free(c, written);
  assert_int_equal(vf_constant_count(g), 2);
  assert_string_equal(vf_constant_name(g, 0), "encoder.weight");
  assert_string_equal(vf_constant_name(g, 1), "my bias");
  assert_null(vf_constant_name(g, 2));
  assert_int_equal(vf_constant_find(g, "my bias"), 1);
  assert_int_equal(vf_constant_find(g, "encoder"), 2);
  assert_int_equal(vf_value_rank(vf_constant_at(g, 0)), 2);
  vf_program *p = compile(g);
  run(p, weight);
  vf_value w = vf_constant_at(g, vf_constant_find(g, "encoder.weight")),
           none = vf_constant_at(g, vf_constant_find(g, "encoder"));
  if (vf_program_set_constant(p, w, other, NULL, NULL, &error)) fail_msg("%s", error.message);
  run(p, other);
  assert_int_equal(vf_program_set_constant(p, none, other, NULL, NULL, &error), VF_ERR_INVALID);
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
}

static void refuse_text(vf_context *c, const char *attributes, const char *why) {
  char source[400];
  snprintf(source, sizeof source, "graph @g() {\n  %%w = data %s\n  return %%w\n}\n", attributes);
  vf_graph *g = parse(c, source);
  if (g || !strstr(error.message, why) || !strstr(error.message, "g.vf:2:3: error: "))
    fail_msg("%s: expected \"%s\" in: %s", attributes, why, g ? "(accepted)" : error.message);
}

static void test_text_refused(void **state) {
  vf_context *c = make_context();
  write_weights(c, "t.safetensors", weight);
  refuse_text(c, "file=\"none.npz\"", "No such file");
  refuse_text(c, "file=\"t.safetensors\"", "holds 2 arrays; name one of them: encoder.");
  refuse_text(c, "file=\"t.safetensors\" name=\"x\"", "there is no array `x`; the file holds 2: ");
  refuse_text(c, "file=\"t.safetensors\" name=\"encoder.bias\" dtype=f16", "f16[32] is declared");
  refuse_text(c, "file=\"t.safetensors\" name=\"encoder.bias\" shape=[31]", "f32[31] is declared");
  refuse_text(c, "file=\"t.safetensors\" name=\"encoder.bias\" shape=[n]", "list of at most 16 numbers");
  refuse_text(c, "file=\"t.safetensors\" name=\"encoder.bias\" axis=1", "name, offset, shape and dtype");
  refuse_text(c, "file=\"t.safetensors\" offset=8", "has shape and dtype");
  refuse_text(c, "file=\"t.safetensors\" offset=-4 shape=[2] dtype=f32", "does not lie in it");
  refuse_text(c, "file=\"t.safetensors\" offset=8 shape=[1000000] dtype=f32", "does not lie in it");
  refuse_text(c, "file=\"t.safetensors\" offset=8 name=\"encoder.bias\"", "has shape and dtype");
  refuse_text(c, "file=1", "are strings");
  refuse_text(c, "file=\"t\\x00t\"", "zero byte");
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_arrays_constant(g, NULL, "x");
  assert_non_null(strstr(vf_graph_message(g), "is NULL"));
  vf_graph_destroy(g);
  assert_null(vf_arrays_open(c, folder, &error));
  assert_non_null(strstr(error.message, "not a regular file"));
  vf_context_destroy(c);
}

/* arrays that are not where programs could read them */

static void write_bytes(const char *name, const file_bytes *f) {
  unlink(in_folder(name));
  unit_write_file(in_folder(name), f->bytes, f->size);
}

static void test_converted(void **state) {
  static file_bytes f;
  float values[] = {1.5f, -2, 3};
  uint8_t data[15];
  memcpy(data, values, sizeof values);
  memcpy(data + 12, "\0\7\1", 3);
  file_safetensors(&f,
                   "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
                   "\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[12,15]}}",
                   data, sizeof data);
  assert_int_not_equal(f.size % 4, 3); /* the header is of a length that aligns nothing */
  write_bytes("odd.safetensors", &f);
  write_bytes("bools.safetensors", &f);
  char path_of_bools[300];
  snprintf(path_of_bools, sizeof path_of_bools, "%s", in_folder("bools.safetensors"));
  vf_context *c = make_context();
  vf_arrays *a = vf_arrays_open(c, in_folder("odd.safetensors"), &error);
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_value w = vf_arrays_constant(g, a, "w"), b = vf_arrays_constant(g, a, "b");
  vf_arrays_close(a);
  vf_output(g, "y", vf_where(b, w, vf_number(g, 0)));
  vf_program *p = compile(g);
  float y[3];
  assert_int_equal(vf_program_run(p, NULL, (void *[]){y}, NULL, &error), VF_OK);
  assert_true(y[0] == 0 && y[1] == -2 && y[2] == 3);
  assert_int_equal(truncate(in_folder("odd.safetensors"), 0), 0);
  assert_int_equal(vf_program_run(p, NULL, (void *[]){y}, NULL, &error), VF_ERR_IO); /* w is mapped */
  vf_graph *copies = vf_graph_create(c, "g", &error);
  a = vf_arrays_open(c, path_of_bools, &error);
  vf_output(copies, "y", vf_cast(vf_arrays_constant(copies, a, "b"), VF_F32));
  vf_arrays_close(a);
  vf_program *q = compile(copies);
  assert_int_equal(truncate(path_of_bools, 0), 0);
  assert_int_equal(vf_program_run(q, NULL, (void *[]){y}, NULL, &error), VF_OK);
  assert_true(y[0] == 0 && y[1] == 1 && y[2] == 1);
  vf_program_destroy(q), vf_graph_destroy(copies);
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
}

/* Blocks of GGUF, and a product with them. */
enum { BLOCKS = 6, ROW = 96 };
static void fill_blocks(file_bytes *f, bool q4, float *want) {
  static const uint16_t halves[] = {0x3C00, 0xB800, 0x2E66, 0x0001, 0x7BFF, 0x4248};
  static const float scales[] = {1, -0.5f, 0.0999755859375f, 0x1p-24f, 65504, 3.140625f};
  file_gguf(f, 3, 1, 0);
  file_gguf_array(f, "w", 2, (uint64_t[]){ROW, BLOCKS * 32 / ROW}, q4 ? 2 : 8, 0);
  file_align(f, 32);
  for (int b = 0; b < BLOCKS; b++) {
    file_number(f, halves[b], 2);
    for (int i = 0; i < (q4 ? 16 : 32); i++) {
      unsigned byte = (unsigned)(37 * i + 11 * b) & 255;
      file_number(f, byte, 1);
      if (!q4) want[32 * b + i] = (float)(int8_t)byte * scales[b];
      else {
        want[32 * b + i] = (float)((int)(byte & 15) - 8) * scales[b];
        want[32 * b + 16 + i] = (float)((int)(byte >> 4) - 8) * scales[b];
      }
    }
  }
}

static void test_blocks(void **state) {
  static file_bytes f;
  for (int q4 = 0; q4 < 2; q4++) {
    float want[BLOCKS * 32], got[BLOCKS * 32], x[ROW], y[BLOCKS * 32 / ROW];
    fill_blocks(&f, q4, want);
    write_bytes("w.gguf", &f);
    vf_context *c = make_context();
    vf_arrays *a = vf_arrays_open(c, in_folder("w.gguf"), &error);
    if (!a) fail_msg("%s", error.message);
    assert_int_equal(vf_arrays_dtype(a, 0), VF_F32);
    assert_string_equal(vf_arrays_type(a, 0), q4 ? "Q4_0" : "Q8_0");
    vf_graph *g = vf_graph_create(c, "g", &error);
    vf_value w = vf_arrays_constant(g, a, NULL), in = vf_input(g, "x", VF_F32, 2, (int64_t[]){1, ROW});
    vf_arrays_close(a);
    vf_output(g, "w", w);
    vf_output(g, "y", vf_matmul(in, vf_permute(w, 2, (int64_t[]){1, 0})));
    vf_program *p = compile(g);
    for (int i = 0; i < ROW; i++) x[i] = i == 5 || i == 40 ? 1 : 0;
    if (vf_program_run(p, (const void *[]){x}, (void *[]){got, y}, NULL, &error))
      fail_msg("%s", error.message);
    assert_memory_equal(got, want, sizeof want);
    for (int r = 0; r < BLOCKS * 32 / ROW; r++) assert_true(y[r] == want[r * ROW + 5] + want[r * ROW + 40]);
    char *printed = vf_graph_text(g, &error);
    vf_graph *again = parse(c, printed);
    if (!again) fail_msg("%s", error.message);
    vf_program *q = compile(again);
    memset(got, 0, sizeof got);
    assert_int_equal(vf_program_run(q, (const void *[]){x}, (void *[]){got, y}, NULL, &error), VF_OK);
    assert_memory_equal(got, want, sizeof want);
    vf_text_free(c, printed);
    vf_program_destroy(p), vf_program_destroy(q), vf_graph_destroy(g), vf_graph_destroy(again);
    vf_context_destroy(c);
  }
}

/* Any allocation may fail: each call then says so, and leaves nothing behind. */
static bool use_files(vf_context *c, const char *source) {
  static const char *const names[] = {"f.safetensors", "f.npz", "w.gguf"};
  bool good = true;
  for (int i = 0; i < 3; i++) {
    vf_arrays *a = vf_arrays_open(c, in_folder(names[i]), &error);
    if (!a) {
      assert_int_equal(error.status, VF_ERR_MEMORY);
      good = false;
      continue;
    }
    vf_graph *g = vf_graph_create(c, "g", &error);
    if (g) {
      vf_output(g, "y", vf_arrays_constant(g, a, i < 2 ? "encoder.bias" : NULL));
      float y[BLOCKS * 32];
      if (vf_graph_status(g) == VF_OK) good &= vf_evaluate(g, NULL, (void *[]){y}, NULL, &error) == VF_OK;
      else good = false;
      if (vf_graph_status(g)) assert_int_equal(vf_graph_status(g), VF_ERR_MEMORY);
    }
    good &= g != NULL;
    vf_graph_destroy(g);
    vf_arrays_close(a);
  }
  vf_graph *parsed = parse(c, source);
  if (!parsed) assert_int_equal(error.status, VF_ERR_MEMORY);
  good &= parsed != NULL;
  vf_graph_destroy(parsed);
  const vf_named_array one = {"a", VF_F32, 1, rows, bias};
  good &= vf_arrays_write(c, in_folder("m.npz"), 1, &one, &error) == VF_OK;
  good &= vf_arrays_write(c, in_folder("m.safetensors"), 1, &one, &error) == VF_OK;
  return good;
}

static void test_short_memory(void **state) {
  static file_bytes f;
  static const char source[] =
      "graph @g() {\n  %w = data file=\"f.safetensors\" name=\"encoder.bias\"\n  return %w\n}\n";
  float want[BLOCKS * 32];
  uint8_t npy[400];
  vf_context *c = make_context();
  write_weights(c, "f.safetensors", weight);
  vf_context_destroy(c);
  fill_blocks(&f, false, want);
  write_bytes("w.gguf", &f);
  size_t size =
      file_npy(npy, "{'descr': '>f4', 'fortran_order': False, 'shape': (32,), }\n", bias, sizeof bias);
  file_zip(&f, &(file_member){"encoder.bias.npy", npy, size, true}, 1);
  write_bytes("f.npz", &f);
  bool good = false;
  for (long n = 1; !good; n++) {
    test_memory m = {.fail_at = n};
    vf_options options = {
        .size = sizeof options, .allocator = test_memory_hook, .allocator_user = &m, .flags = VF_NO_DISK};
    c = vf_context_create(&options, &error);
    if (c) good = use_files(c, source);
    vf_context_destroy(c);
    assert_int_equal(m.live, 0);
    assert_int_equal(m.wrong_sizes, 0);
    if (!good && m.allocations < n) fail_msg("it fails without a reason after %ld allocations", n);
  }
}

UNIT_TESTS_BETWEEN(set_up, tear_down, test_api, test_equal_elements, test_rewritten, test_shortened,
                   test_changed_before, test_reshaped, test_text, test_by_name, test_text_refused,
                   test_converted, test_blocks, test_short_memory)
