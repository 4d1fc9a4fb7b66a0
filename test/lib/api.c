/* The C API in unit tests. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

static void destroy_context(void *context) { vf_context_destroy(context); }
static void destroy_graph(void *graph) { vf_graph_destroy(graph); }
static void destroy_program(void *program) { vf_program_destroy(program); }

/* The object, kept for the running test; the test fails if there is none. */
static void *created(void *object, void (*destroy)(void *), const vf_error *error) {
  if (!object) fail_msg("%s", error->message);
  return unit_keep(object, destroy);
}

vf_context *api_context(void) { return api_context_with((vf_options){0}); }

vf_context *api_context_with(vf_options options) {
  vf_error error;
  options.size = sizeof options;
  return created(vf_context_create(&options, &error), destroy_context, &error);
}

test_memory api_memory;

static void destroy_counted(void *context) {
  vf_context_destroy(context);
  assert_int_equal(atomic_load(&api_memory.live), 0);
  assert_int_equal(atomic_load(&api_memory.wrong_sizes), 0);
}

vf_context *api_counted_context(void) {
  static const vf_error error = {VF_ERR_MEMORY, "there is no context"};
  memset(&api_memory, 0, sizeof api_memory);
  return created(test_memory_context(&api_memory), destroy_counted, &error);
}

vf_graph *api_graph(vf_context *context, const char *name) {
  vf_error error;
  return created(vf_graph_create(context, name, &error), destroy_graph, &error);
}

vf_graph *api_parse(vf_context *context, const char *text) {
  vf_error error;
  return created(vf_graph_parse(context, text, strlen(text), "test", NULL, &error), destroy_graph, &error);
}

vf_program *api_compile(vf_graph *graph) {
  vf_error error;
  vf_program *program = created(vf_compile(graph, &error), destroy_program, &error);
  assert_int_equal(error.status, VF_OK);
  assert_string_equal(error.message, "");
  return program;
}

void api_check_text(vf_context *context, vf_graph *graph) {
  char *once = vf_graph_text(graph, NULL);
  assert_non_null(once);
  char *twice = vf_graph_text(api_parse(context, once), NULL);
  assert_string_equal(once, twice);
  vf_text_free(context, once), vf_text_free(context, twice);
}

void api_run(const vf_program *program, const void *const *inputs, void *const *outputs,
             const int64_t *variables) {
  vf_error error;
  if (vf_program_run(program, inputs, outputs, variables, &error)) fail_msg("%s", error.message);
}

void api_evaluate(vf_graph *graph, const void *const *inputs, void *const *outputs,
                  const int64_t *variables) {
  vf_error error;
  if (vf_evaluate(graph, inputs, outputs, variables, &error)) fail_msg("%s", error.message);
}

void api_check_reason(const char *message, const char *reason) {
  size_t length = strlen(reason);
  bool call = strncmp(message, reason, length) == 0 && strncmp(message + length, " (call ", 7) == 0;
  if (!call || strstr(message + length + 1, " (call ")) assert_string_equal(message, reason);
}
