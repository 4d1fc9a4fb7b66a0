/* Weights for devices that are not equally fast. */
#include "ir/mesh/mesh.h"

#include <string.h>

#include "test/lib/unit.h"

static ir_mesh mesh_of(const char *text) {
  ir_mesh mesh;
  ir_error error = {0};
  ir_mesh_init(&mesh, &ir_mem_libc);
  if (!ir_mesh_parse(&mesh, text, strlen(text), &error)) fail_msg("%s", error.text);
  return mesh;
}

/* "3:1", or "" where none are proposed. */
static void proposes(const char *text, uint32_t axis, const double *rates, const char *expected) {
  ir_mesh mesh = mesh_of(text);
  int64_t weights[8];
  char said[64] = "";
  bool some = ir_mesh_propose(&mesh, rates, axis, weights);
  for (int i = 0, at = 0; i < mesh.axes[axis].size && some; i++)
    at += snprintf(said + at, sizeof said - (size_t)at, "%s%d", i ? ":" : "", (int)weights[i]);
  assert_string_equal(said, expected);
  ir_mesh_free(&mesh);
}

static void test_propose(void **state) {
  (void)state;
  proposes("x=2", 0, (double[]){3e9, 1e9}, "3:1");
  proposes("x=2", 0, (double[]){1e9, 2.9e9}, "1:3");
  proposes("x=2", 0, (double[]){1.5e9, 1e9}, "3:2");
  proposes("x=2", 0, (double[]){1.4e9, 1e9}, ""); /* about equally fast */
  proposes("x=2", 0, (double[]){0, 0}, "");       /* not known */
  proposes("x=3", 0, (double[]){1e9, 4e9, 2e9}, "1:4:2");
  proposes("x=2", 0, (double[]){7e9, 4e9}, "5:3");
  proposes("x=2,y=2", 0, (double[]){4e9, 2e9, 1e9, 1e9}, "2:1"); /* the slowest of each row */
  proposes("x=2,y=2", 1, (double[]){4e9, 2e9, 1e9, 1e9}, "");    /* and of each column */
}

static double pace(const char *text, const double *rates) {
  ir_mesh mesh = mesh_of(text);
  double found = ir_mesh_pace(&mesh, rates);
  ir_mesh_free(&mesh);
  return found;
}

static void test_pace(void **state) {
  (void)state;
  assert_float_equal(pace("x=2", (double[]){3e9, 1e9}), 1.0 / 3, 1e-9);
  assert_float_equal(pace("x=3:1", (double[]){3e9, 1e9}), 1, 1e-9);
  assert_float_equal(pace("x=2:1", (double[]){3e9, 1e9}), 2.0 / 3,
                     1e-9); /* the slow one has a half too much */
  assert_float_equal(pace("x=2", (double[]){2e9, 2e9}), 1, 1e-9);
  assert_float_equal(pace("x=2", (double[]){2e9, 0}), 0, 0);
}

UNIT_TESTS(test_propose, test_pace)
