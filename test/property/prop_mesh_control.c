/* Random conditions, loops and checkpoints (test/lib/random_control.h), with their derivatives, on meshes:
 * inputs are divided at random, functions are divided inside, and what each device holds of the results is
 * its part of what one device computes. Sums over parts may be rounded otherwise; replicas are equal.
 *
 *   prop_mesh_control --seed S --count N
 *   prop_mesh_control --case SEED        one case again, by the seed in its report */
#include "ir/mesh/sharding.h"
#include "ir/print/print.h"
#include "passes/batch/batch.h"
#include "test/lib/cases.h"
#include "test/lib/on_mesh.h"
#include "test/lib/random_control.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const meshes[] = {"x=2", "x=3", "x=4", "x=2,y=2", "x=2,y=3"};
static long by_kind[KINDS], parts, exchanges, uneven;
static bool show;
static vf_context *context;

/* Each axis of the mesh divides a dimension, or none. */
static void divide(ir_graph *g, uint64_t *state, ir_ref x) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_spec s;
  ir_spec_init(&s, ir_rank(g, x));
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint32_t to = (uint32_t)(random_next(state) % (ir_rank(g, x) + 1));
    if (to < ir_rank(g, x)) ir_spec_add(&s, to, ir_whole_axis(mesh, a));
  }
  ir_set_spec(g, x, &s);
}

static bool one_case(uint64_t seed) {
  uint64_t state;
  control_case t = control_case_make(seed, &state);
  vf_error error = {0};
  vf_graph *g = vf_graph_create(context, "case", &error);
  vf_mesh *mesh =
      vf_mesh_create(context, meshes[random_next(&state) % (sizeof meshes / sizeof *meshes)], &error);
  if (!g || !mesh || vf_graph_set_mesh(g, mesh, &error) != VF_OK) abort();
  vf_mesh_destroy(mesh);
  vf_value in[INPUTS], out[OUTPUTS];
  double data[INPUTS][ELEMENTS];
  int32_t trips = (int32_t)t.trips;
  ir_binding_input bound[INPUTS];
  for (int i = 0; i < INPUTS; i++) {
    const control_input *x = &control_inputs[i];
    int64_t shape[2] = {x->rank == 2 ? t.length : WIDTH, WIDTH};
    in[i] = vf_input(g, x->name, x->dtype, x->rank, shape);
    for (int k = 0; k < ELEMENTS; k++) data[i][k] = (double)random_between(&state, -999, 999) / 700;
    bound[i] = (ir_binding_input){in[i].id, i == TRIPS ? (const void *)&trips : data[i]};
    if (random_next(&state) % 4) divide(&g->ir, &state, in[i].id);
  }
  int n = control_record(&t, false, in, out);
  ir_ref roots[OUTPUTS];
  for (int i = 0; i < n; i++) {
    if (!vf_ok(out[i])) fprintf(stderr, "%s\n", vf_graph_message(g)), abort();
    roots[i] = out[i].id;
  }
  if (!pass_physicalize(&g->ir, roots, (size_t)n)) abort();
  ir_ref root = ir_tuple(&g->ir, roots, (uint32_t)n);
  on_mesh c = {.g = &g->ir, .inputs = bound, .input_count = INPUTS, .near = true};
  bool good = on_mesh_check(&c, root);
  if (!good || show) {
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_graph(&g->ir, "case", root, &text);
    fprintf(stderr, "%s%s\n(prop_mesh_control --case %" PRIu64 ")\n", ir_text_get(&text), c.what, seed);
    ir_text_free(&text);
  }
  by_kind[t.kind]++, parts += c.parts, exchanges += c.exchanges, uneven += c.uneven;
  vf_graph_destroy(g);
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
  printf("%ld parts of results, %ld exchanges, %ld uneven sizes, %ld failed, seed %" PRIu64 "\n", parts,
         exchanges, uneven, given.failed, given.seed);
  return given.failed != 0 || (!given.repeat && (parts < given.count || exchanges < given.count));
}
