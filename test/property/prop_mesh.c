/* Random graphs with random specs on meshes of 2 to 8 devices: what each device holds of the results is its
 * part of what one device computes, bit for bit, and replicas are equal.
 *
 *   prop_mesh --seed S --count N
 *   prop_mesh --case SEED        one graph again, by the seed in its report */
#include "test/lib/cases.h"
#include "test/lib/mesh_case.h"
#include "test/lib/on_mesh.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const meshes[] = {"x=2",     "x=3",         "x=4",     "x=8", "x=2,y=2",
                                     "x=2,y=4", "x=2,y=2,z=2", "x=3,y=2", NULL};

static long graphs, no_value, parts, exchanges, uneven, signs;
static bool show;

static bool one_case(uint64_t seed) {
  mesh_case t;
  mesh_case_of_graph(&t, seed, meshes);
  on_mesh c = {
      .g = t.g, .inputs = t.inputs, .vars = t.vars, .input_count = t.input_count, .var_count = t.var_count};
  bool good = on_mesh_check(&c, t.root);
  if (!good || show) {
    mesh_case_show(&t);
    fprintf(stderr, "%s\n(prop_mesh --case %" PRIu64 ")\n", c.what, seed);
  }
  graphs++, no_value += c.no_value, parts += c.parts, exchanges += c.exchanges, uneven += c.uneven;
  signs += c.signs;
  mesh_case_free(&t);
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
