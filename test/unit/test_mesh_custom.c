/* Custom operations on meshes: divided by the rule that they are registered with, whole without one. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

#include <stdatomic.h>
#include <stdio.h>

enum { ROWS = 5, COLUMNS = 6 };

static atomic_int most_rows, most_columns; /* that one call has seen */

static void note(atomic_int *most, int seen) {
  int before = atomic_load(most);
  while (seen > before && !atomic_compare_exchange_weak(most, &before, seen)) {}
}

/* The products of the rows of a matrix with a vector, and the rows' first elements, twice. */
static void products(const float *a, const float *x, float *y, float *z, int rows, int columns) {
  note(&most_rows, rows), note(&most_columns, columns);
  for (int r = 0; r < rows; r++) {
    y[r] = 0, z[r] = 0;
    for (int k = 0; k < columns; k++) y[r] += a[r * columns + k] * x[k];
    for (int k = 0; k < columns; k++) z[r] += 2 * a[r * columns + k];
  }
}
static bool products_shape(const vf_op_call *call, vf_op_type *results) {
  for (int i = 0; i < 2; i++) results[i] = (vf_op_type){VF_F32, 1, {vf_op_size(call->operands[0], 0)}};
  return true;
}

static void run(const char *rule, const char *mesh, const char *spec, int rows, int columns) {
  vf_context *c = api_context();
  vf_error error = {0};
  vf_op_description d = {.size = sizeof d,
                         .name = "products",
                         .operands = 2,
                         .results = 2,
                         .shape = products_shape,
                         .function = (void (*)(void))products,
                         .signature = "void(in0, in1, out0, out1, int in0[0], int in0[1])",
                         .sharding = rule};
  if (vf_register_op(c, &d, &error) != VF_OK) fail_msg("%s", error.message);
  char text[400];
  snprintf(text, sizeof text,
           "mesh @m [%s]\ngraph @g(%%a: f32[5,6] @m%s, %%x: f32[6]) {\n  %%b = add %%a, 1.0\n"
           "  %%y, %%z = products %%b, %%x\n  %%w = mul %%y, %%z\n  return %%y, %%w\n}\n",
           mesh, spec);
  vf_graph *g = api_parse(c, text);
  vf_program *p = vf_compile_on(g, NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  float a[ROWS][COLUMNS], x[COLUMNS], y[ROWS], w[ROWS];
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < COLUMNS; k++) a[r][k] = (float)(r * 3 + k), x[k] = (float)(k - 2);
  atomic_store(&most_rows, 0), atomic_store(&most_columns, 0);
  api_run(p, (const void *[]){a, x}, (void *[]){y, w}, NULL);
  for (int r = 0; r < ROWS; r++) {
    float product = 0, sum = 0;
    for (int k = 0; k < COLUMNS; k++) product += (a[r][k] + 1) * x[k], sum += 2 * (a[r][k] + 1);
    assert_true(y[r] == product && w[r] == product * sum);
  }
  if (atomic_load(&most_rows) != rows || atomic_load(&most_columns) != columns)
    fail_msg("rule %s, %s, %s: a call has %d rows and %d columns, not %d and %d", rule ? rule : "none", mesh,
             spec, atomic_load(&most_rows), atomic_load(&most_columns), rows, columns);
  vf_program_destroy(p);
}

/* Rows in parts, columns as summands; an axis written 1, and calls without a rule, are whole. */
static void test_rule(void **state) {
  (void)state;
  run("r k, k -> r, r", "x=2", "[x,-]", 3, 6);
  run("r k, k -> r, r", "x=2", "[-,x]", 5, 3);
  run("r k, k -> r, r", "x=2,y=2", "[x,y]", 3, 3);
  run("r k, k -> r, r", "x=4", "[x,-]", 2, 6); /* 2, 2, 1 and none */
  run("r 1, 1 -> r, r", "x=2,y=2", "[x,y]", 3, 6);
  run(NULL, "x=2", "[x,-]", 5, 6);
}

UNIT_TESTS(test_rule)
