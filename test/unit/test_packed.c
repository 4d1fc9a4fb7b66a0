/* What is computed from constants once is an entry of the cache on disk, which all contexts map, as other
 * processes do: that it is right whatever has become of the weights, the entry and the cache meanwhile. */
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "test/lib/api.h"
#include "test/lib/folder.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

enum { ROWS = 64, INNER = 256, OUTER = 1024, ELEMENTS = INNER * OUTER };
static char folder[200];
static vf_error error;
static float given[ROWS * INNER], weights[ELEMENTS];
static const int64_t shape[] = {INNER, OUTER};

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < ROWS * INNER; i++) given[i] = (float)(i % 7 - 3);
  for (int i = 0; i < ELEMENTS; i++) weights[i] = (float)(i % 9 - 4);
  return !test_folder_make(folder, sizeof folder);
}

static int tear_down(void **state) {
  (void)state;
  test_folder_remove(folder);
  return 0;
}

/* An empty cache for the test. */
static int empty_cache(void **state) {
  (void)state;
  unit_shell("rm -rf %s/cache %s/w.safetensors", folder, folder);
  return 0;
}

static vf_context *context_of(const char *cache, int64_t bytes) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, cache);
  return api_context_with((vf_options){.size = sizeof(vf_options), .cache_dir = path, .cache_bytes = bytes});
}
static vf_context *make_context(void) { return context_of("cache", 0); }

/* |w|, with so much work that it is stored also where w is in memory. */
static vf_value absolute(vf_graph *g, vf_value w) {
  enum { STEPS = 16 };
  w = vf_abs(w);
  for (int i = 1; i <= STEPS; i++) w = vf_max(vf_min(w, vf_number(g, 100 + i)), vf_number(g, -i));
  return w;
}

/* x @ |w|: |w| depends on constants alone. */
static vf_program *product(vf_graph *g, vf_value w, int rows) {
  vf_value x = vf_input(g, "x", VF_F32, 2, (int64_t[]){rows, INNER});
  vf_output(g, "y", vf_matmul(x, absolute(g, w)));
  return api_compile(g);
}

static vf_program *of_memory(vf_context *c, const float *w) {
  vf_graph *g = api_graph(c, "g");
  return product(g, vf_constant_borrow(g, VF_F32, 2, shape, w, NULL, NULL), ROWS);
}

static void write_file(vf_context *c, const float *w) {
  char path[300];
  snprintf(path, sizeof path, "%s/w.safetensors", folder);
  unlink(path);
  const vf_named_array list[] = {{"w", VF_F32, 2, shape, w}};
  if (vf_arrays_write(c, path, 1, list, &error)) fail_msg("%s", error.message);
}

static vf_program *of_file(vf_context *c, int rows) {
  char path[300];
  snprintf(path, sizeof path, "%s/w.safetensors", folder);
  vf_arrays *a = vf_arrays_open(c, path, &error);
  vf_graph *g = api_graph(c, "g");
  vf_value w = vf_arrays_constant(g, a, "w");
  vf_arrays_close(a);
  return product(g, w, rows);
}

static vf_status run(const vf_program *p, float *y) {
  return vf_program_run(p, (const void *[]){given}, (void *[]){y}, NULL, &error);
}

static void expect(const float *y, const float *w) {
  for (int r = 0; r < ROWS; r += 21)
    for (int c = 0; c < OUTER; c++) {
      float want = 0; /* of small integers: exact */
      for (int k = 0; k < INNER; k++)
        want += given[r * INNER + k] * (w[k * OUTER + c] < 0 ? -w[k * OUTER + c] : w[k * OUTER + c]);
      assert_true(y[r * OUTER + c] == want);
    }
}

static void run_right(const vf_program *p, const float *w) {
  static float y[ROWS * OUTER];
  memset(y, 0, sizeof y);
  if (run(p, y)) fail_msg("%s", error.message);
  expect(y, w);
}

/* KiB of the file of weights that are in this process's memory; -1 where the system does not say. */
static long resident(void) {
  char line[512];
  long all = -1, found;
  bool here = false;
  FILE *maps = fopen("/proc/self/smaps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strchr(line, '/') || line[0] < 'A' || line[0] > 'Z') here = strstr(line, "/w.safetensors") != NULL;
    if (here && sscanf(line, "Rss: %ld kB", &found) == 1) all = (all < 0 ? 0 : all) + found;
  }
  if (maps) fclose(maps);
  return all;
}

/* The entries of the kind; the path of one of them. */
static int entries(char path[600]) {
  char shard[300];
  int count = 0;
  for (int i = 0; i < 256; i++) {
    snprintf(shard, sizeof shard, "%s/cache/%02x", folder, (unsigned)i);
    DIR *dir = opendir(shard);
    for (struct dirent *file; dir && (file = readdir(dir));) {
      const char *dot = strrchr(file->d_name, '.');
      if (!dot || strcmp(dot, ".packed")) continue;
      snprintf(path, 600, "%s/%s", shard, file->d_name);
      count++;
    }
    if (dir) closedir(dir);
  }
  return count;
}

/* Does this process map entries of the kind, and how many? */
static int mapped(void) {
  char line[1024];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) skip();
  while (fgets(line, sizeof line, maps)) count += strstr(line, ".packed") != NULL;
  fclose(maps);
  return count;
}

static void mapped_by_all(void **state) {
  (void)state;
  char path[600];
  struct stat before, after;
  vf_context *c = make_context(), *d = make_context();
  write_file(c, weights);
  vf_program *p = of_file(c, ROWS);
  assert_int_equal(entries(path), 1);
  assert_int_equal(mapped(), 1); /* also where it was made: there is no other copy */
  assert_int_equal(stat(path, &before), 0);
  run_right(p, weights);
  run_right(of_file(c, ROWS), weights);
  of_file(c, ROWS + 1); /* another program that reads the same */
  assert_int_equal(mapped(), 1);
  run_right(of_file(d, ROWS), weights);
  assert_int_equal(mapped(), 2);
  assert_int_equal(entries(path), 1);
  assert_int_equal(stat(path, &after), 0);
  assert_int_equal(after.st_ino, before.st_ino);
  run_right(of_memory(make_context(), weights), weights); /* equal elements */
  assert_int_equal(entries(path), 1);
}

/* Of a file whose weights were copied once, the process holds what it reads again. */
static void file_is_left(void **state) {
  (void)state;
  vf_context *c = make_context();
  write_file(c, weights);
  run_right(of_file(c, ROWS), weights);
  long held = resident();
  if (held < 0) skip(); /* the system does not say, or the file is read and not mapped */
  assert_true(held < ELEMENTS * (long)sizeof *weights / 1024 / 4);
}

static void other_weights(void **state) {
  (void)state;
  static float other[ELEMENTS], third[ELEMENTS];
  char path[600];
  for (int i = 0; i < ELEMENTS; i++) other[i] = weights[i] + 1, third[i] = weights[i] + 2;
  vf_context *c = make_context(), *d = make_context();
  write_file(c, weights);
  run_right(of_file(c, ROWS), weights);
  write_file(c, other); /* the same name, size and, it may be, time */
  run_right(of_file(d, ROWS), other);
  vf_graph *g = api_graph(d, "g");
  vf_value w = vf_constant_borrow(g, VF_F32, 2, shape, other, NULL, NULL);
  vf_program *p = product(g, w, ROWS);
  run_right(p, other);
  if (vf_program_set_constant(p, w, weights, NULL, NULL, &error)) fail_msg("%s", error.message);
  run_right(p, weights);
  /* elements that may be others again in the next run */
  if (vf_program_set_constant(p, w, third, NULL, NULL, &error)) fail_msg("%s", error.message);
  run_right(p, third);
  assert_int_equal(entries(path), 2);
}

/* An owner who writes to what he has lent, before the program is compiled: nothing is stored under the digest
 * of what was there before. */
static void changed_meanwhile(void **state) {
  (void)state;
  static float own[ELEMENTS];
  char path[600];
  vf_context *c = make_context(), *d = make_context();
  vf_graph *g = api_graph(c, "g");
  vf_value w = vf_constant_borrow(g, VF_F32, 2, shape, own, NULL, NULL); /* zeros */
  memcpy(own, weights, sizeof own);
  product(g, w, ROWS);
  assert_int_equal(entries(path), 0);
  memset(own, 0, sizeof own);
  run_right(of_memory(d, own), own);
  assert_int_equal(entries(path), 1);
}

/* The entry becomes shorter: a status, and the next program is right. Removed or replaced: no matter. */
static void entry_changes(void **state) {
  (void)state;
  static float y[ROWS * OUTER];
  char path[600];
  vf_context *c = make_context();
  vf_program *p = of_memory(c, weights);
  assert_int_equal(entries(path), 1);
  assert_int_equal(truncate(path, 4096), 0);
  assert_int_equal(run(p, y), VF_ERR_IO);
  assert_non_null(strstr(
      error.message,
      "graph @g: an entry of the cache on disk, which has what is computed from its constants once, has "
      "become shorter, or could not be read; the results are unspecified, compile the graph again"));
  assert_int_equal(run(p, y), VF_ERR_IO);
  vf_program *q = of_memory(c, weights);
  run_right(q, weights);
  assert_int_equal(entries(path), 1);
  unit_shell("rm -r %s/cache", folder);
  run_right(q, weights);
  run_right(of_memory(make_context(), weights), weights);
  assert_int_equal(entries(path), 1);
  unit_shell("printf x > %s.x; mv %s.x %s", path, path, path);
  run_right(q, weights);
  run_right(of_memory(make_context(), weights), weights);
  unit_shell("for f in %s/cache/*/*; do printf x | dd of=$f bs=1 seek=5000 conv=notrunc 2>/dev/null; done",
             folder);
  run_right(of_memory(make_context(), weights), weights);
}

static void keep_text(void *user, vf_log_level level, const char *text) {
  if (level == VF_LOG_INFO) snprintf(user, 300, "%s", text);
}

static void nowhere_to_store(void **state) {
  (void)state;
  char path[600];
  unit_shell("printf x > %s/file; mkdir %s/open; chmod 777 %s/open", folder, folder, folder);
  run_right(of_memory(context_of("file/cache", 0), weights), weights); /* no directory can be made */
  run_right(of_memory(context_of("open", 0), weights), weights);       /* one that is not trusted */
  assert_int_equal(mapped(), 0);
  /* a limit that is less than twice what the program would store */
  int64_t bytes = sizeof weights;
  char said[300] = "";
  vf_context *small = context_of("cache", 2 * bytes - 1);
  vf_set_log(small, VF_LOG_INFO, keep_text, said);
  run_right(of_memory(small, weights), weights);
  assert_non_null(strstr(
      said,
      " bytes that are computed from its constants are not stored: they are more than half of the limit"));
  assert_int_equal(entries(path), 0);
  run_right(of_memory(context_of("cache", 4 * bytes), weights), weights);
  assert_int_equal(entries(path), 1);
}

/* What takes as long to compute as to look up is not stored. */
static void small_results(void **state) {
  (void)state;
  char path[600];
  vf_context *c = make_context();
  vf_graph *g = api_graph(c, "g");
  vf_value w = vf_constant_borrow(g, VF_F32, 1, (int64_t[]){1000}, weights, NULL, NULL);
  vf_output(g, "y", vf_add(vf_input(g, "x", VF_F32, 1, (int64_t[]){1000}), vf_stored(vf_abs(w))));
  api_compile(g);
  assert_int_equal(entries(path), 0);
}

/* Of constants in memory, which each process has to digest, copies are not stored. */
static void copies_of_memory(void **state) {
  (void)state;
  char path[600];
  vf_context *c = make_context();
  vf_graph *g = api_graph(c, "g");
  vf_value w = vf_constant_borrow(g, VF_F32, 2, shape, weights, NULL, NULL),
           x = vf_input(g, "x", VF_F32, 2, (int64_t[]){ROWS, INNER});
  vf_output(g, "y", vf_matmul(x, vf_abs(w)));
  run_right(api_compile(g), weights);
  assert_int_equal(mapped(), 0);
  assert_int_equal(entries(path), 0);
}

/* A kernel of constants alone that finds an index out of range fails in every program that needs it. */
static void failures_are_not_kept(void **state) {
  (void)state;
  static int32_t where[ELEMENTS];
  static float y[ELEMENTS];
  char path[600];
  vf_context *c = make_context();
  where[17] = INNER * OUTER;
  for (int i = 0; i < 3; i++) {
    vf_graph *g = api_graph(c, "g");
    const int64_t all[] = {ELEMENTS};
    vf_value w = vf_constant_borrow(g, VF_F32, 1, all, weights, NULL, NULL),
             at = vf_constant_borrow(g, VF_I32, 1, all, where, NULL, NULL);
    vf_value picked = vf_stored(vf_gather(w, at, 0, VF_GATHER_CHECK));
    vf_output(g, "y", vf_add(vf_input(g, "x", VF_F32, 1, all), picked));
    vf_program *p = api_compile(g);
    assert_int_equal(vf_program_run(p, (const void *[]){weights}, (void *[]){y}, NULL, &error), VF_ERR_RANGE);
  }
  assert_int_equal(entries(path), 0);
}

/* Each allocation fails once, while the array is computed and stored, and while it is mapped: an error, or
 * the right results. */
static void short_memory(void **state) {
  (void)state;
  static float y[ROWS * OUTER];
  char cache[300], path[600];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  run_right(of_memory(make_context(), weights), weights);
  for (int stored = 0; stored < 2; stored++)
    for (long n = 1, reached = 1; reached; n++) {
      test_memory m = {.fail_at = n};
      vf_options options = {
          .size = sizeof options, .cache_dir = cache, .allocator = test_memory_hook, .allocator_user = &m};
      if (!stored) unit_shell("rm -f %s/*/*.packed", cache);
      vf_context *c = vf_context_create(&options, &error);
      vf_graph *g = c ? vf_graph_create(c, "g", &error) : NULL;
      vf_program *p = NULL;
      if (g) {
        vf_value x = vf_input(g, "x", VF_F32, 2, (int64_t[]){ROWS, INNER}),
                 w = vf_constant_borrow(g, VF_F32, 2, shape, weights, NULL, NULL);
        vf_output(g, "y", vf_matmul(x, absolute(g, w)));
        p = vf_compile(g, &error);
      }
      memset(y, 0, sizeof y);
      if (p && run(p, y) == VF_OK) expect(y, weights);
      else assert_int_equal(error.status, VF_ERR_MEMORY);
      vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
      assert_int_equal(m.live, 0);
      assert_int_equal(m.wrong_sizes, 0);
      reached = m.allocations >= n;
    }
  assert_int_equal(entries(path), 1);
}

static void *compile_and_run(void *unused) {
  (void)unused;
  char cache[300];
  vf_error own;
  snprintf(cache, sizeof cache, "%s/cache", folder);
  vf_options options = {.size = sizeof options, .cache_dir = cache, .threads = 1};
  static float y[4][ROWS * OUTER];
  static _Atomic int number;
  float *to = y[number++ % 4];
  vf_context *c = vf_context_create(&options, &own);
  vf_graph *g = vf_graph_create(c, "g", &own);
  vf_value x = vf_input(g, "x", VF_F32, 2, (int64_t[]){ROWS, INNER}),
           w = vf_constant_borrow(g, VF_F32, 2, shape, weights, NULL, NULL);
  vf_output(g, "y", vf_matmul(x, absolute(g, w)));
  vf_program *p = vf_compile(g, &own);
  vf_status status = p ? vf_program_run(p, (const void *[]){given}, (void *[]){to}, NULL, &own) : VF_ERR_IO;
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
  return status ? NULL : to;
}

static void threads_store_at_once(void **state) {
  (void)state;
  pthread_t threads[4];
  char path[600];
  for (int round = 0; round < 5; round++) {
    if (round) unit_shell("rm -f %s/cache/*/*.packed", folder);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, compile_and_run, NULL), 0);
    for (int i = 0; i < 4; i++) {
      void *y;
      pthread_join(threads[i], &y);
      assert_non_null(y);
      expect(y, weights);
    }
    assert_int_equal(entries(path), 1);
  }
}

/* entry_changes is the first: cmocka handles SIGBUS in each test, and takes the guard away that an earlier
 * test has installed, whose contexts are destroyed after its handler is gone. */
int main(void) {
  return unit_run(
      (const CMUnitTestFunction[]){entry_changes, mapped_by_all, file_is_left, other_weights,
                                   changed_meanwhile, nowhere_to_store, small_results, copies_of_memory,
                                   failures_are_not_kept, short_memory, threads_store_at_once},
      "entry_changes, mapped_by_all, file_is_left, other_weights, changed_meanwhile, nowhere_to_store, "
      "small_results, copies_of_memory, failures_are_not_kept, short_memory, threads_store_at_once",
      (unit_fixtures){set_up, tear_down, empty_cache, NULL});
}
