/* Views of data and letters of axes where memory is short: each call says so, and nothing is lost. */
#include <stdlib.h>
#include <string.h>

#include "test/lib/short_memory.h"
#include "test/lib/unit.h"

static vf_error error;

static bool good(vf_value x) { return vf_ok(x); }

/* Everything that a list of two views does, in a graph or in the session. */
static bool use(vf_data_view *v, vf_data_view *image, vf_data_view *rows, vf_value x, vf_value y,
                vf_value at) {
  vf_value all[] = {x, y}, got[2], g[2];
  if (vf_data_put_all(v, "bhwc,bf", 2, all, &error) != VF_OK) return false;
  if (vf_data_get_all(v, "chwb:f64,bf", VF_NONE, 2, got, &error) != VF_OK) return false;
  if (vf_data_backward_put_all(v, "chwb,bf", 2, got, &error) != VF_OK) return false;
  if (vf_data_backward_get_all(v, 2, g, &error) != VF_OK) return false;
  vf_data_view *part = vf_data_index(v, at, NULL, &error);
  bool done = part && vf_data_sub(v, 1, 2, part, &error);
  done = done && good(vf_data_get(vf_data_component(part, 0), "bf", VF_NONE, &error));
  done = done &&
         vf_data_replace(vf_data_component(part, 0), "bf",
                         vf_data_get(vf_data_component(part, 0), "bf", VF_NONE, &error), &error) == VF_OK;
  vf_data_view *copy = done ? vf_data_clone(v, &error) : NULL;
  done = copy && vf_data_type(copy, VF_F64, &error) == VF_OK &&
         good(vf_data_transpose(vf_data_component(copy, 1), "fb", &error)) &&
         good(vf_data_input(image, &error)) && good(vf_data_get(rows, "b", VF_NONE, &error));
  vf_data_view_destroy(copy), vf_data_view_destroy(part);
  return done;
}

static bool with_views(vf_graph *g, vf_value x, vf_value y, vf_value at) {
  static const char *const labels[] = {"a", "b"};
  vf_data_view *image = vf_image_view_create(g, &error),
               *rows = image ? vf_data_view_create(g, &error) : NULL;
  vf_data_view *classes = rows ? vf_class_view_create(g, &error) : NULL;
  vf_data_view *list = classes ? vf_list_view_create(2, (vf_data_view *[]){image, rows}, &error) : NULL;
  bool done =
      list && vf_data_set_classes(classes, 2, labels, &error) == VF_OK && use(list, image, rows, x, y, at);
  vf_data_view_destroy(list), vf_data_view_destroy(classes);
  vf_data_view_destroy(rows), vf_data_view_destroy(image);
  return done;
}

/* The graph's error is the reason where a builder failed. */
static bool reason_of(const vf_graph *g) {
  if (vf_graph_status(g) == VF_OK) return true;
  error.status = vf_graph_status(g);
  return false;
}

static bool in_graph(vf_context *c) {
  vf_graph *g = vf_graph_create(c, "g", &error);
  if (!g) return false;
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3, 2, 2, 1)), y = vf_input(g, "y", VF_F32, VF_LIST(3, 1));
  vf_value at = vf_input(g, "at", VF_I32, VF_LIST(2));
  bool done = reason_of(g) && with_views(g, x, y, at);
  vf_graph_destroy(g);
  return done;
}

static bool in_session(vf_context *c) {
  vf_graph *g = vf_session(c, &error);
  if (!g) return false;
  vf_value x = vf_zeros(g, VF_F32, VF_LIST(3, 2, 2, 1)), y = vf_zeros(g, VF_F32, VF_LIST(3, 1));
  vf_value at = vf_zeros(g, VF_I32, VF_LIST(2));
  return reason_of(g) && with_views(g, x, y, at);
}

static bool with_letters(vf_context *c) {
  static const char text[] = "graph @f(%x: f32[b=4,c=3], %w: f32[c=3,f=2]) {\n"
                             "  %y = matmul %x, %w\n"
                             "  %z = sum %y axes=\"b\" : f32[f=2]\n"
                             "  %r = reshape %z shape=[1,2] : f32[g=1,f=2]\n"
                             "  return %r\n}\n";
  vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "text", NULL, &error);
  if (!g) return false;
  vf_value x = vf_name_axes(vf_graph_find(g, "x"), "xy");
  vf_value y = vf_rearrange(vf_sum(x, VF_BY(x, "y"), false), "x", "x n=2");
  bool done = reason_of(g) && vf_ok(y);
  char *printed = done ? vf_graph_text(g, &error) : NULL;
  vf_text_free(c, printed);
  vf_graph_destroy(g);
  return printed != NULL;
}

static bool with_sampler(vf_context *c) {
  const int64_t *indices;
  vf_sampler *s = vf_sampler_create(c, 10, 4, &error);
  bool done = s && vf_sampler_next(s, &indices, &error) == 4;
  vf_sampler_destroy(s);
  return done;
}

static void test_views_of_a_graph(void **state) {
  (void)state;
  short_memory_everywhere(in_graph, &error);
}
static void test_views_of_the_session(void **state) {
  (void)state;
  short_memory_everywhere(in_session, &error);
}
static void test_letters(void **state) {
  (void)state;
  short_memory_everywhere(with_letters, &error);
}
static void test_sampler(void **state) {
  (void)state;
  short_memory_everywhere(with_sampler, &error);
}

UNIT_TESTS(test_views_of_a_graph, test_views_of_the_session, test_letters, test_sampler)
