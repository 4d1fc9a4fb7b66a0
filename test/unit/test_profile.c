/* Profiles: what they count, name and print, for fixed and variable sizes, loops, and graphs that are not
 * those of the program. No time is compared with another but its parts with their sum. */
#include <stdlib.h>
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

static const char layer[] = "graph @layer(%x: f32[64,32], %w: f32[32,16]) {\n"
                            "  %s = matmul %x, %w\n"
                            "  %m = max %s axes=[1] keepdims=true\n"
                            "  %d = sub %s, %m\n"
                            "  %e = exp %d\n"
                            "  %y = stored %e\n"
                            "  %z = sum %y axes=[0]\n"
                            "  return %y, %z\n"
                            "}\n";

typedef struct layer_run {
  float x[64 * 32], w[32 * 16], y[64 * 16], z[16];
} layer_run;

static void run_layer(vf_profile *profile, layer_run *r) {
  vf_error error;
  if (vf_profile_run(profile, (const void *[]){r->x, r->w}, (void *[]){r->y, r->z}, NULL, &error))
    fail_msg("%s", error.message);
}

static vf_profile *profile_of(const vf_program *p, vf_graph *g) {
  vf_error error;
  vf_profile *made = vf_program_profile(p, g, &error);
  if (!made) fail_msg("%s", error.message);
  return made;
}

static char *text_of(vf_profile *p, const char *form) {
  vf_error error;
  char *text = vf_profile_text(p, form, &error);
  if (!text) fail_msg("%s", error.message);
  return text;
}

static vf_profile_step step_of(const vf_profile *p, int number) {
  vf_profile_step step = {.size = sizeof step};
  assert_true(vf_profile_get(p, number, &step));
  return step;
}

static void settle_machine(void) {
  assert_int_equal(setenv("VIEWFOLD_MACHINE", "threads=1 read=10 copy=10 fill=10 gflops=50", 1), 0);
}

/* Each kernel ran once in each run; together they take no more than the runs; the results are right. */
static void steps_are_counted(void **state) {
  settle_machine();
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, layer);
  vf_program *program = api_compile(g);
  vf_profile *p = profile_of(program, g);
  layer_run r, want;
  for (size_t i = 0; i < sizeof r.x / sizeof *r.x; i++) r.x[i] = (float)(i % 7) - 3;
  for (size_t i = 0; i < sizeof r.w / sizeof *r.w; i++) r.w[i] = (float)(i % 5) - 2;
  want = r;
  for (int i = 0; i < 3; i++) run_layer(p, &r);
  api_run(program, (const void *[]){want.x, want.w}, (void *[]){want.y, want.z}, NULL);
  assert_memory_equal(r.y, want.y, sizeof r.y);
  assert_memory_equal(r.z, want.z, sizeof r.z);
  int64_t kernels = 0, operations = 0;
  bool y = false, z = false;
  for (int i = 0; i < vf_profile_count(p); i++) {
    vf_profile_step s = step_of(p, i);
    if (s.kernel < 0) continue;
    assert_int_equal(s.kernel, kernels++);
    assert_int_equal(s.times, 3);
    assert_true(s.ns > 0 && s.bytes_read > 0 && s.bytes_written > 0 && s.limit_ns > 0 && *s.computes);
    y |= strstr(s.name, "%y") != NULL, z |= strstr(s.name, "%z") != NULL;
    operations += s.operations;
  }
  assert_true(kernels > 0 && y && z);
  assert_true(operations >= 3 * 2 * 64 * 32 * 16); /* of the product alone */
  assert_false(vf_profile_get(p, vf_profile_count(p), &(vf_profile_step){.size = sizeof(vf_profile_step)}));
  vf_profile_destroy(p);
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) count++;
  return count;
}

static void forms(void **state) {
  settle_machine();
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, layer);
  vf_profile *p = profile_of(api_compile(g), g);
  layer_run r = {0};
  vf_error error;
  for (int i = 0; i < 2; i++) run_layer(p, &r);
  int kernels = 0;
  for (int i = 0; i < vf_profile_count(p); i++) kernels += step_of(p, i).kernel >= 0;
  char *text = text_of(p, "text"), *json = text_of(p, "json"), *trace = text_of(p, "trace");
  assert_non_null(strstr(text, "graph @layer: 2 runs of "));
  assert_int_equal(count_of(text, "kernel "), kernels);
  assert_non_null(strstr(json, "{\"graph\":\"layer\",\"runs\":2,"));
  assert_int_equal(count_of(json, "\"kernel\":"), kernels);
  assert_int_equal(count_of(json, "\"limit_ns\":"), kernels);
  assert_int_equal(count_of(trace, "\"cat\":\"run\""), 2);
  assert_int_equal(count_of(trace, "\"cat\":\"kernel\""), 2 * kernels);
  assert_null(vf_profile_text(p, "picture", &error));
  assert_string_equal(error.message, "profile: no form 'picture'; the forms are text, json and trace");
  vf_text_free(c, text);
  vf_text_free(c, json);
  vf_text_free(c, trace);
  vf_profile_destroy(p);
}

/* The steps of a loop's body run once for each iteration, and take part of its time. */
static void loops(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, "graph @step(%s: f32[8], %x: f32[8]) {\n"
                             "  %t = sin %s\n"
                             "  %n = add %t, %x\n"
                             "  return %n, %n\n"
                             "}\n"
                             "graph @walk(%s0: f32[8], %xs: f32[5,8]) {\n"
                             "  %s, %ys = scan %s0, %xs do=@step carries=1\n"
                             "  return %s, %ys\n"
                             "}\n");
  vf_profile *p = profile_of(api_compile(g), NULL);
  float s[8] = {0}, x[40] = {0}, last[8], all[40];
  vf_error error;
  for (int i = 0; i < 2; i++)
    if (vf_profile_run(p, (const void *[]){s, x}, (void *[]){last, all}, NULL, &error))
      fail_msg("%s", error.message);
  int64_t loop_ns = 0, inside_ns = 0;
  for (int i = 0; i < vf_profile_count(p); i++) {
    vf_profile_step step = step_of(p, i);
    if (strcmp(step.name, "scan") == 0) loop_ns = step.ns, assert_int_equal(step.times, 2);
    if (step.kernel >= 0 && step.times == 10) inside_ns += step.ns;
    assert_int_equal(step.bytes_read, 0); /* without the graph they are not known */
  }
  assert_true(inside_ns > 0 && loop_ns >= inside_ns);
  vf_profile_destroy(p);
}

/* Bytes follow the sizes of each run. */
static void variable_sizes(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, "graph @twice(%x: f32[n=1..1000]) {\n"
                             "  %y = add %x, %x\n"
                             "  return %y\n"
                             "}\n");
  vf_profile *p = profile_of(api_compile(g), g);
  static float x[1000], y[1000];
  static const int64_t sizes[] = {10, 1000, 1000, 7};
  vf_error error;
  for (int i = 0; i < 4; i++)
    if (vf_profile_run(p, (const void *[]){x}, (void *[]){y}, &sizes[i], &error))
      fail_msg("%s", error.message);
  vf_profile_step s = step_of(p, 0);
  assert_int_equal(s.times, 4);
  assert_int_equal(s.bytes_written, 4 * (10 + 1000 + 1000 + 7));
  assert_int_equal(s.bytes_read, s.bytes_written);
  assert_int_equal(vf_profile_run(p, (const void *[]){x}, (void *[]){y}, &(int64_t){1001}, &error),
                   VF_ERR_INVALID);
  assert_int_equal(step_of(p, 0).times, 4);
  vf_profile_destroy(p);
}

static void misuse(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, layer), *other = api_parse(c, layer);
  vf_program *program = api_compile(g);
  vf_error error;
  assert_null(vf_program_profile(NULL, g, &error));
  assert_string_equal(error.message, "profile: the program is NULL, as vf_compile gives where it fails: its "
                                     "error, or vf_graph_message of the graph, says why");
  assert_null(vf_program_profile(program, other, &error));
  assert_string_equal(error.message, "profile: the program was not compiled from graph @layer");
  vf_profile *p = profile_of(program, g);
  assert_int_equal(vf_profile_run(p, NULL, NULL, NULL, &error), VF_ERR_INVALID);
  assert_int_equal(vf_profile_run(NULL, NULL, NULL, NULL, &error), VF_ERR_INVALID);
  assert_null(vf_profile_text(p, NULL, &error));
  assert_int_equal(vf_profile_count(NULL), 0);
  vf_profile_destroy(p);
  vf_profile_destroy(NULL);
}

/* Nothing is left when memory is short at some allocation. */
static void memory(void **state) {
  vf_context *c = api_counted_context();
  vf_graph *g = api_parse(c, layer);
  vf_program *program = api_compile(g);
  layer_run r = {0};
  bool done = false;
  for (long n = 1; !done; n += 1 + n / 4) {
    vf_error error;
    api_memory.fail_at = api_memory.allocations + n;
    vf_profile *p = vf_program_profile(program, g, &error);
    vf_status status =
        p ? vf_profile_run(p, (const void *[]){r.x, r.w}, (void *[]){r.y, r.z}, NULL, &error) : error.status;
    char *text = p && !status ? vf_profile_text(p, "json", &error) : NULL;
    done = text && api_memory.allocations < api_memory.fail_at;
    if (!text && error.status != VF_ERR_MEMORY) fail_msg("allocation %ld: %s", n, error.message);
    api_memory.fail_at = 0;
    vf_text_free(c, text);
    vf_profile_destroy(p);
  }
}

UNIT_TESTS(steps_are_counted, forms, loops, variable_sizes, misuse, memory)
