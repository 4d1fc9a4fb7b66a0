/* Random graphs with random specs on meshes of 2 to 8 devices: what each device holds of the results is its
 * part of what one device computes, bit for bit, and replicas are equal.
 *
 *   prop_mesh --seed S --count N
 *   prop_mesh --case SEED        one graph again, by the seed in its report */
#include "ir/mesh/sharding.h"
#include "ir/print/print.h"
#include "test/lib/cases.h"
#include "test/lib/on_mesh.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const meshes[] = {"x=2",     "x=3",     "x=4",         "x=8",
                                     "x=2,y=2", "x=2,y=4", "x=2,y=2,z=2", "x=3,y=2"};

static long graphs, no_value, parts, exchanges, uneven, signs;
static bool show;

/* Each axis of the mesh, or each digit of it, divides a dimension, or none, or is pending. */
static ir_spec random_spec(uint64_t *state, const ir_mesh *mesh, uint32_t rank, ir_dtype dtype) {
  static const ir_op by[] = {IR_OP_ADD, IR_OP_ADD, IR_OP_MAX, IR_OP_MIN, IR_OP_MUL};
  bool pending = random_next(state) % 3 == 0;
  ir_spec s;
  ir_spec_init(&s, rank);
  for (uint32_t k = 0, a = (uint32_t)(random_next(state) % mesh->axis_count); k < mesh->axis_count;
       k++, a = (a + 1) % mesh->axis_count) {
    ir_subaxis digits[20] = {ir_whole_axis(mesh, a)};
    uint32_t count = random_next(state) % 3 ? 1 : ir_subaxis_primes(digits[0], digits);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t to = (uint32_t)(random_next(state) % (rank + 2));
      if (to < rank) ir_spec_add(&s, to, digits[i]);
      else if (to == rank && pending) ir_spec_add(&s, IR_PLACE_PENDING, digits[i]);
    }
  }
  if (ir_spec_count(&s, IR_PLACE_PENDING) && dtype != IR_BOOL)
    s.joined_by = (uint8_t)by[random_next(state) % 5];
  return s;
}

static bool one_case(uint64_t seed) {
  random_graph r;
  int64_t sizes[RANDOM_VARS];
  ir_var_value vars[RANDOM_VARS];
  ir_binding_input bound[RANDOM_INPUTS];
  ir_ref roots[4];
  uint64_t state = seed ^ 0x5eed;
  random_graph_make(&r, seed, 5);
  random_graph_sizes(&r, sizes);
  ir_mesh mesh;
  const char *text = meshes[random_next(&state) % (sizeof meshes / sizeof *meshes)];
  ir_mesh_init(&mesh, &ir_mem_libc);
  ir_mesh_parse(&mesh, text, strlen(text), &r.error);
  strcpy(mesh.name, "m");
  ir_graph_set_mesh(&r.g, &mesh);
  for (int i = 0; i < r.var_count; i++) vars[i] = (ir_var_value){r.vars[i], sizes[i]};
  for (int i = 0; i < r.input_count; i++) {
    size_t bytes;
    bound[i] = (ir_binding_input){r.inputs[i], random_graph_data(&r, r.inputs[i], sizes, &bytes)};
    ir_spec s = random_spec(&state, &mesh, ir_rank(&r.g, r.inputs[i]), IR_BOOL);
    ir_set_spec(&r.g, r.inputs[i], &s);
  }
  for (int i = 0; i < r.value_count; i++) {
    if (random_next(&state) % 4 || !ir_shape(&r.g, r.values[i].ref) ||
        ir_op_of(&r.g, r.values[i].ref) == IR_OP_INPUT)
      continue;
    ir_spec s =
        random_spec(&state, &mesh, ir_rank(&r.g, r.values[i].ref), ir_dtype_of(&r.g, r.values[i].ref));
    ir_set_spec(&r.g, r.values[i].ref, &s);
  }
  int n = r.value_count < 4 ? r.value_count : 4;
  for (int i = 0; i < n; i++) roots[i] = r.values[r.value_count - 1 - i].ref;
  ir_ref root = ir_tuple(&r.g, roots, (uint32_t)n);
  on_mesh c = {.g = &r.g,
               .inputs = bound,
               .vars = vars,
               .input_count = (size_t)r.input_count,
               .var_count = (size_t)r.var_count};
  bool good = on_mesh_check(&c, root);
  if (!good || show) {
    ir_text out;
    ir_text_init(&out, &ir_mem_libc);
    ir_print_graph(&r.g, "case", root, &out);
    fprintf(stderr, "%s%s\n(prop_mesh --case %" PRIu64 ")\n", ir_text_get(&out), c.what, seed);
    ir_text_free(&out);
  }
  graphs++, no_value += c.no_value, parts += c.parts, exchanges += c.exchanges, uneven += c.uneven;
  signs += c.signs;
  for (int i = 0; i < r.input_count; i++) free((void *)bound[i].data);
  ir_mesh_free(&mesh);
  ir_graph_free(&r.g);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 300);
  show = given.show;
  cases_run(&given, one_case);
  printf("prop_mesh: %ld graphs, %ld without a value, %ld parts of results, %ld exchanges, %ld uneven sizes, "
         "%ld other signs of zero, %ld failed, seed %" PRIu64 "\n",
         graphs, no_value, parts, exchanges, uneven, signs, given.failed, given.seed);
  return given.failed != 0 || (!given.repeat && (parts < given.count || exchanges < given.count));
}
