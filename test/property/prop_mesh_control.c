/* Random conditions, loops and checkpoints (test/lib/random_control.h), with their derivatives, on meshes:
 * inputs are divided at random, functions are divided inside, in every third case
 * as the automatic choice says, and what each device holds of the results is
 * its part of what one device computes. Sums over parts may be rounded otherwise; replicas are equal.
 *
 *   prop_mesh_control --seed S --count N
 *   prop_mesh_control --case SEED        one case again, by the seed in its report */
#include "passes/autoshard/autoshard.h"
#include "test/lib/cases.h"
#include "test/lib/mesh_case.h"
#include "test/lib/on_mesh.h"
#include "test/lib/random_control.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const meshes[] = {"x=2", "x=3", "x=4", "x=2,y=2", "x=2,y=3", "x=1:3", "x=2:1,y=2", NULL};
static long by_kind[KINDS], parts, exchanges, uneven, chosen, refused;
static bool show;
static vf_context *context;

static bool one_case(uint64_t seed) {
  mesh_case t;
  bool good = mesh_case_of_control(&t, context, seed, meshes);
  if (!good && control_is_refused(t.recorded)) return refused++, mesh_case_free(&t), true;
  on_mesh c = {.g = t.g, .inputs = t.inputs, .input_count = t.input_count, .near = t.near};
  if (good && seed % 3 == 0) {
    autoshard_request request = {.root = t.root};
    good = pass_autoshard(t.g, &request, NULL);
    if (good) chosen++;
    else snprintf(c.what, sizeof c.what, "%s", t.g->error->text);
  }
  good = good && on_mesh_check(&c, t.root);
  if (!good || show) {
    mesh_case_show(&t);
    fprintf(stderr, "%s\n(prop_mesh_control --case %" PRIu64 ")\n", c.what, seed);
  }
  by_kind[t.kind]++, parts += c.parts, exchanges += c.exchanges, uneven += c.uneven;
  mesh_case_free(&t);
  return good;
}

int main(int argc, char **argv) {
  vf_error error = {0};
  cases given = cases_read(argc, argv, 100);
  show = given.show;
  if (!(context = vf_context_create(NULL, &error))) return 2;
  cases_run(&given, one_case);
  vf_context_destroy(context);
  printf("prop_mesh_control: ");
  for (int k = 0; k < KINDS; k++) printf("%ld %s, ", by_kind[k], control_kinds[k]);
  printf("%ld parts of results, %ld exchanges, %ld uneven sizes, %ld chosen, %ld refused, %ld failed, seed "
         "%" PRIu64 "\n",
         parts, exchanges, uneven, chosen, refused, given.failed, given.seed);
  return given.failed != 0 || (!given.repeat && (parts < given.count || exchanges < given.count ||
                                                 refused > 2 + given.count / 100));
}
