/* Each operation and composition on meshes: operands divided along every assignment of mesh axes to their
 * axes, sizes that divide, do not divide, and are smaller than the mesh; as it is, its gradient, its
 * derivative in a direction, and in a batch. What each device holds is its part of what one device computes.
 *
 *   prop_mesh_rows --seed S --count N     cases, drawn at random
 *   prop_mesh_rows --case SEED            one again, by the seed in its report */
#include "test/lib/cases.h"
#include "test/lib/mesh_case.h"
#include "test/lib/on_mesh.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const meshes[] = {"x=2",         "x=3",   "x=4",     "x=8",       "x=2,y=2", "x=2,y=4",
                                     "x=2,y=2,z=2", "x=3:1", "x=1:2:4", "x=2,y=2:1", NULL};
static long checked[MESH_CASE_USES], *by_row, refused, parts, exchanges, uneven, no_value;
static bool show;

/* spec: E3 E11 */
static bool one_case(uint64_t seed) {
  mesh_case t;
  bool good = mesh_case_of_row(&t, seed, meshes);
  on_mesh c = {.g = t.g, .inputs = t.inputs, .input_count = t.input_count};
  if (good && !t.root) refused++;
  if (good && t.root) {
    good = on_mesh_check(&c, t.root);
    checked[t.use]++, by_row[t.kind]++;
  }
  if (!good || show) {
    mesh_case_show(&t);
    fprintf(stderr, "%s %s\n%s (prop_mesh_rows --case %" PRIu64 ")\n", mesh_case_row(t.kind),
            mesh_case_uses[t.use], c.what, seed);
  }
  parts += c.parts, exchanges += c.exchanges, uneven += c.uneven, no_value += c.no_value;
  mesh_case_free(&t);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 2000);
  show = given.show;
  if (!(by_row = calloc(mesh_case_rows(), sizeof *by_row))) return 2;
  cases_run(&given, one_case);
  long rarely = 0;
  for (size_t i = 0; i < mesh_case_rows() && given.count >= 50 * (long)mesh_case_rows() && !given.failed; i++)
    if (!by_row[i]) rarely++, fprintf(stderr, "not once: %s\n", mesh_case_row(i));
  free(by_row);
  printf("prop_mesh_rows: %ld as they are, %ld gradients, %ld directions, %ld batches, %ld without "
         "derivative, %ld without a "
         "value, %ld parts, %ld exchanges, %ld uneven sizes, %ld failed, seed %" PRIu64 "\n",
         checked[MESH_CASE_PLAIN], checked[MESH_CASE_GRADIENT], checked[MESH_CASE_DIRECTION],
         checked[MESH_CASE_BATCH], refused, no_value, parts, exchanges, uneven, given.failed, given.seed);
  return given.failed != 0 || rarely;
}
