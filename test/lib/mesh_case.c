#include "test/lib/mesh_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/mesh/sharding.h"
#include "ir/print/print.h"
#include "passes/batch/batch.h"
#include "test/lib/random_control.h"

const char *mesh_case_pick(uint64_t *state, const char *const *meshes) {
  size_t count = 0;
  while (meshes[count]) count++;
  return meshes[random_next(state) % count];
}

void mesh_case_divide(ir_graph *g, uint64_t *state, ir_ref x) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_spec s;
  ir_spec_init(&s, ir_rank(g, x));
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint32_t to = (uint32_t)(random_next(state) % (ir_rank(g, x) + 1));
    if (to < ir_rank(g, x)) ir_spec_add(&s, to, ir_whole_axis(mesh, a));
  }
  ir_set_spec(g, x, &s);
}

/* every operation */

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

static void set_random_spec(random_graph *r, uint64_t *state, ir_ref x, ir_dtype dtype) {
  ir_spec s = random_spec(state, ir_graph_mesh(&r->g), ir_rank(&r->g, x), dtype);
  ir_set_spec(&r->g, x, &s);
}

bool mesh_case_of_graph(mesh_case *c, uint64_t seed, const char *const *meshes) {
  random_graph *r = &c->random;
  int64_t sizes[RANDOM_VARS];
  ir_ref roots[4];
  uint64_t state = seed ^ 0x5eed;
  memset(c, 0, sizeof *c);
  random_graph_make(r, seed, 5);
  c->g = &r->g;
  random_graph_sizes(r, sizes);
  ir_mesh mesh;
  const char *text = mesh_case_pick(&state, meshes);
  ir_mesh_init(&mesh, &ir_mem_libc);
  ir_mesh_parse(&mesh, text, strlen(text), &r->error);
  strcpy(mesh.name, "m");
  ir_graph_set_mesh(&r->g, &mesh);
  ir_mesh_free(&mesh);
  c->var_count = (size_t)r->var_count;
  for (int i = 0; i < r->var_count; i++) c->vars[i] = (ir_var_value){r->vars[i], sizes[i]};
  for (int i = 0; i < r->input_count; i++) {
    size_t bytes;
    c->inputs[c->input_count++] =
        (ir_binding_input){r->inputs[i], random_graph_data(r, r->inputs[i], sizes, &bytes)};
    set_random_spec(r, &state, r->inputs[i], IR_BOOL);
  }
  for (int i = 0; i < r->value_count; i++) {
    ir_ref x = r->values[i].ref;
    if (random_next(&state) % 4 || !ir_shape(&r->g, x) || ir_op_of(&r->g, x) == IR_OP_INPUT) continue;
    set_random_spec(r, &state, x, ir_dtype_of(&r->g, x));
  }
  int n = r->value_count < 4 ? r->value_count : 4;
  for (int i = 0; i < n; i++) roots[i] = r->values[r->value_count - 1 - i].ref;
  c->root = ir_tuple(&r->g, roots, (uint32_t)n);
  return true;
}

/* control flow */

static void *control_data(uint64_t *state, const control_case *t, int input) {
  int32_t *trips = calloc(1, sizeof *trips);
  double *data = calloc(ELEMENTS, sizeof *data);
  *trips = (int32_t)t->trips;
  for (int k = 0; k < ELEMENTS; k++) data[k] = (double)random_between(state, -999, 999) / 700;
  if (input == TRIPS) return free(data), trips;
  return free(trips), data;
}

bool mesh_case_of_control(mesh_case *c, vf_context *context, uint64_t seed, const char *const *meshes) {
  uint64_t state;
  control_case t = control_case_make(seed, &state);
  vf_error error = {0};
  memset(c, 0, sizeof *c);
  c->near = true;
  c->kind = (size_t)t.kind;
  vf_graph *g = c->recorded = vf_graph_create(context, "case", &error);
  vf_mesh *mesh = vf_mesh_create(context, mesh_case_pick(&state, meshes), &error);
  if (!g || !mesh || vf_graph_set_mesh(g, mesh, &error) != VF_OK) abort();
  vf_mesh_destroy(mesh);
  c->g = &g->ir;
  vf_value in[INPUTS], out[OUTPUTS];
  for (int i = 0; i < INPUTS; i++) {
    const control_input *x = &control_inputs[i];
    int64_t shape[2] = {x->rank == 2 ? t.length : WIDTH, WIDTH};
    in[i] = vf_input(g, x->name, x->dtype, x->rank, shape);
    c->inputs[c->input_count++] = (ir_binding_input){in[i].id, control_data(&state, &t, i)};
    if (random_next(&state) % 4) mesh_case_divide(&g->ir, &state, in[i].id);
  }
  int n = control_record(&t, false, in, out);
  ir_ref roots[OUTPUTS];
  for (int i = 0; i < n; i++) {
    if (!vf_ok(out[i])) return ir_fail(&c->error, IR_ERR_INVALID, "%s", vf_graph_message(g)), false;
    roots[i] = out[i].id;
  }
  if (!pass_physicalize(&g->ir, roots, (size_t)n)) return false;
  c->root = ir_tuple(&g->ir, roots, (uint32_t)n);
  return true;
}

/* all */

void mesh_case_free(mesh_case *c) {
  for (size_t i = 0; i < c->input_count; i++) free((void *)c->inputs[i].data);
  vf_graph_destroy(c->recorded);
  if (c->random.g.mem) ir_graph_free(&c->random.g);
  if (c->single.mem) ir_graph_free(&c->single);
}

void mesh_case_show(const mesh_case *c) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  if (c->root) ir_print_graph(c->g, "case", c->root, &text);
  fprintf(stderr, "%s%s", ir_text_get(&text), c->error.text);
  ir_text_free(&text);
}
