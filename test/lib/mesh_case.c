#include "test/lib/mesh_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/mesh/sharding.h"
#include "ir/print/print.h"
#include "passes/batch/batch.h"
#include "passes/ops/ops.h"
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

/* Inputs that a vmap of size 3 maps, or does not. */
typedef struct mapped {
  uint64_t *state;
  ir_ref inputs[RANDOM_INPUTS]; /* with an axis more; 0: not mapped */
} mapped;

static ir_ref mapped_input(random_graph *r, int number, ir_ref plain) {
  mapped *m = r->user;
  ir_ref shape[IR_MAX_RANK + 1] = {ir_index(&r->g, 3)};
  char name[32];
  uint32_t rank = ir_rank(&r->g, plain);
  if (random_next(m->state) % 4 == 0) return plain;
  for (uint32_t d = 0; d < rank; d++) shape[1 + d] = ir_dim(&r->g, plain, d);
  snprintf(name, sizeof name, "mapped%d", number);
  m->inputs[number] = op_input(&r->g, name, strlen(name), ir_dtype_of(&r->g, plain), shape, rank + 1);
  return op_batch(&r->g, m->inputs[number], 0, 1);
}

/* The last values; the gradient of the last one of floats, or its derivative in a direction; 0: it has none.
 */
static ir_ref roots_of_graph(random_graph *r, mesh_case_use use) {
  ir_ref roots[4];
  int n = r->value_count < 4 ? r->value_count : 4, last = r->value_count - 1;
  if (use == MESH_CASE_GRADIENT || use == MESH_CASE_DIRECTION) {
    while (last > 0 && !ir_is_float(ir_dtype_of(&r->g, r->values[last].ref))) last--;
    return mesh_case_roots(&r->g, r->values[last].ref, r->inputs, (size_t)r->input_count, use);
  }
  for (int i = 0; i < n; i++) roots[i] = r->values[r->value_count - 1 - i].ref;
  return ir_tuple(&r->g, roots, (uint32_t)n);
}

/* Specs for some values, and for inputs. */
static void divide_graph(mesh_case *c, uint64_t *state) {
  ir_graph *g = c->g;
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  for (size_t i = 0; i < c->input_count; i++) {
    ir_spec s = random_spec(state, mesh, ir_rank(g, c->inputs[i].ref), IR_BOOL);
    ir_set_spec(g, c->inputs[i].ref, &s);
  }
  ir_reachable(g, &c->root, 1, &live, &count, &cap);
  for (size_t i = 0; i < count; i++) {
    ir_op op = ir_op_of(g, live[i]);
    bool literal = op == IR_OP_CONST; /* an operand that a graph's text writes as a number */
    if (!ir_shape(g, live[i]) || op == IR_OP_INPUT || literal || random_next(state) % 4) continue;
    ir_spec s = random_spec(state, mesh, ir_rank(g, live[i]), ir_dtype_of(g, live[i]));
    ir_set_spec(g, live[i], &s);
  }
  ir_free(g->mem, live, cap * sizeof *live);
}

bool mesh_case_of_graph(mesh_case *c, uint64_t seed, const char *const *meshes) {
  random_graph *r = &c->random;
  int64_t sizes[RANDOM_VARS];
  uint64_t state = seed ^ 0x5eed;
  memset(c, 0, sizeof *c);
  mapped batch = {.state = &state};
  if (random_next(&state) % 2) c->use = (mesh_case_use)(random_next(&state) % MESH_CASE_USES);
  random_graph_make_with(r, seed, 5, c->use == MESH_CASE_BATCH ? mapped_input : NULL, &batch);
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
  ir_ref refs[1 + RANDOM_INPUTS] = {roots_of_graph(r, c->use)};
  if (!refs[0]) { /* a constant, or of integers alone */
    ir_error_clear(&r->error);
    c->use = MESH_CASE_PLAIN, refs[0] = roots_of_graph(r, c->use);
  }
  for (int i = 0; i < r->input_count; i++) refs[1 + i] = batch.inputs[i] ? batch.inputs[i] : r->inputs[i];
  if (!pass_physicalize(c->g, refs, 1 + (size_t)r->input_count)) return false;
  c->root = refs[0];
  for (int i = 0; i < r->input_count; i++) {
    size_t bytes;
    c->inputs[c->input_count++] =
        (ir_binding_input){refs[1 + i], random_graph_data(r, refs[1 + i], sizes, &bytes)};
  }
  divide_graph(c, &state);
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
