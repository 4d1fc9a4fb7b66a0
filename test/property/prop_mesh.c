/* Random graphs, their gradients, derivatives in a direction, and batches, with random specs on meshes of 2
 * to 8 devices: what each device holds of the results is its part of what one device computes, bit for bit,
 * and replicas are equal.
 *
 *   prop_mesh --seed S --count N
 *   prop_mesh --case SEED        one graph again, by the seed in its report */
#include "test/lib/cases.h"
#include "test/lib/mesh_case.h"
#include "test/lib/on_mesh.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const meshes[] = {"x=2",       "x=3",         "x=4",     "x=8",   "x=2,y=2",
                                     "x=2,y=4",   "x=2,y=2,z=2", "x=3,y=2", "x=3:1", "x=1:2:4",
                                     "x=2:1,y=2", "x=2,y=1:3",   NULL};

static long checked[MESH_CASE_USES], no_value, parts, exchanges, uneven, settled;
static bool show;

static bool one_case(uint64_t seed) {
  mesh_case t;
  bool good = mesh_case_of_graph(&t, seed, meshes);
  on_mesh c = {
      .g = t.g, .inputs = t.inputs, .vars = t.vars, .input_count = t.input_count, .var_count = t.var_count};
  good = good && on_mesh_check(&c, t.root);
  if (!good || show) {
    mesh_case_show(&t);
    fprintf(stderr, "%s\n(prop_mesh --case %" PRIu64 ")\n", c.what, seed);
  }
  checked[t.use]++, no_value += c.no_value, parts += c.parts, exchanges += c.exchanges, uneven += c.uneven;
  settled += c.settled;
  mesh_case_free(&t);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 300);
  show = given.show;
  cases_run(&given, one_case);
  printf("prop_mesh: %ld graphs, %ld gradients, %ld directions, %ld batches, %ld without a value, %ld parts "
         "of results, %ld exchanges, %ld uneven sizes, "
         "%ld sums of other bits, %ld failed, seed %" PRIu64 "\n",
         checked[MESH_CASE_PLAIN], checked[MESH_CASE_GRADIENT], checked[MESH_CASE_DIRECTION],
         checked[MESH_CASE_BATCH], no_value, parts, exchanges, uneven, settled, given.failed, given.seed);
  return given.failed != 0 || (!given.repeat && (parts < given.count || exchanges < given.count));
}
