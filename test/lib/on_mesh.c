#include "test/lib/on_mesh.h"

#include "ir/print/print.h"
#include "ir/verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 16, MOST_VARS = 64, MOST_DEVICES = 16, MOST_SUMS = 64 };

static int64_t size_of(const on_mesh *c, ir_ref dim) {
  ir_error error = {0};
  int64_t value = -1;
  ir_eval_index(c->g, dim, c->vars, c->var_count, NULL, 0, &value, &error);
  return value;
}
static void shape_of(const on_mesh *c, ir_ref x, int64_t *shape) {
  for (uint32_t d = 0; d < ir_rank(c->g, x); d++) shape[d] = size_of(c, ir_dim(c->g, x, d));
}

/* The element of the whole array that is element i of the box, row-major. */
int64_t on_mesh_element(const ir_box *box, const int64_t *shape, int64_t i) {
  int64_t at = 0, stride = 1;
  for (uint32_t d = box->rank; d-- > 0;) {
    int64_t size = box->hi[d] - box->lo[d];
    at += stride * (box->lo[d] + i % size);
    i /= size;
    stride *= shape[d];
  }
  return at;
}

/* The part of an input that a device is given; of a pending one, the first device has the value. */
static void *part_of(const on_mesh *c, const shard_value *v, const void *whole, int64_t device) {
  const ir_mesh *mesh = ir_graph_mesh(c->g);
  size_t bytes = ir_dtypes[ir_dtype_of(c->g, v->global)].bytes;
  int64_t shape[IR_MAX_RANK];
  ir_box box;
  shape_of(c, v->global, shape);
  ir_spec_box(mesh, &v->spec, shape, device, &box);
  unsigned char *part = calloc((size_t)ir_box_elements(&box) + 1, bytes);
  for (int64_t i = 0; i < ir_box_elements(&box); i++)
    if (ir_spec_position(mesh, &v->spec, IR_PLACE_PENDING, device) == 0)
      memcpy(part + (size_t)i * bytes, (const char *)whole + (size_t)on_mesh_element(&box, shape, i) * bytes,
             bytes);
  return part;
}

bool on_mesh_fail(on_mesh *c, const shard_value *v, int64_t device, const char *why) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_line(c->g, ir_tuple(c->g, &v->global, 1), v->global, &text);
  ir_text_str(&text, " as "), ir_spec_print(ir_graph_mesh(c->g), &v->spec, &text);
  snprintf(c->what, sizeof c->what, "%s on device %lld: %s", ir_text_get(&text), (long long)device, why);
  ir_text_free(&text);
  return false;
}

static bool same(const on_mesh *c, ir_dtype t, ir_value a, ir_value b, double largest) {
  if (!ir_is_float(t)) return a.i == b.i;
  if (memcmp(&a, &b, sizeof a) == 0 || (isnan(a.f) && isnan(b.f))) return true;
  return c->near && (a.f == b.f || fabs(a.f - b.f) <= 1e-3 * largest + 1e-5 || isinf(largest));
}

static bool compare(on_mesh *c, const shard_value *v, const ir_eval_result *whole, const ir_eval_result *part,
                    int64_t device) {
  ir_box box;
  size_t bytes = ir_dtypes[whole->dtype].bytes;
  double largest = 0;
  char why[200];
  ir_spec_box(ir_graph_mesh(c->g), &v->spec, whole->shape, device, &box);
  for (uint32_t d = 0; d < box.rank; d++)
    if (part->rank != box.rank || part->shape[d] != box.hi[d] - box.lo[d])
      return on_mesh_fail(c, v, device, "its part has another shape");
  for (int64_t i = 0; i < whole->count && ir_is_float(whole->dtype); i++) {
    double x = fabs(ir_value_load((char *)whole->data + (size_t)i * bytes, whole->dtype).f);
    if (x > largest) largest = x;
  }
  for (int64_t i = 0; i < part->count; i++) {
    ir_value got = ir_value_load((char *)part->data + (size_t)i * bytes, part->dtype);
    int64_t at = on_mesh_element(&box, whole->shape, i);
    ir_value want = ir_value_load((char *)whole->data + (size_t)at * bytes, whole->dtype);
    if (same(c, whole->dtype, got, want, largest)) continue;
    bool f = ir_is_float(whole->dtype);
    snprintf(why, sizeof why, "element %lld of its part is %.17g, and %.17g in the whole", (long long)i,
             f ? got.f : (double)got.i, f ? want.f : (double)want.i);
    return on_mesh_fail(c, v, device, why);
  }
  c->parts++;
  return true;
}

/* The results of all devices against the whole ones, but for those that stay pending. */
static bool compare_all(on_mesh *c, const shard_program *p, const ir_eval_result *whole,
                        const ir_eval_result *parts, size_t stride) {
  int64_t count = ir_graph_mesh(c->g)->device_count;
  c->what[0] = '\0';
  for (size_t i = 0; i < p->result_count; i++)
    for (int64_t d = 0; d < count && !ir_spec_count(&p->results[i].spec, IR_PLACE_PENDING); d++)
      if (!compare(c, &p->results[i], &whole[i], &parts[(size_t)d * stride + i], d)) return false;
  return true;
}

/* The same, where results may differ since sums do. */
static bool compare_settled(on_mesh *c, const shard_program *p, ir_ref root, const shard_value *sums,
                            size_t sum_count, const ir_eval_result *parts, size_t stride) {
  ir_error error = {0};
  on_mesh_sums known = {0};
  ir_eval_result *whole = calloc(p->result_count, sizeof *whole);
  bool good = on_mesh_settle(c, sums, sum_count, parts + p->result_count, stride, &known);
  if (good && ir_eval(c->g, ir_get(c->g, root)->src, p->result_count, known.inputs, known.count, c->vars,
                      c->var_count, whole, &error) != IR_OK)
    good = (snprintf(c->what, sizeof c->what, "with sums of devices: %s", error.text), false);
  good = good && compare_all(c, p, whole, parts, stride);
  ir_eval_free(c->g, whole, p->result_count);
  free(whole);
  on_mesh_sums_free(&known, c->input_count);
  return good;
}

/* The sums that the program computes, in an order in which each comes after those that it depends on. */
static size_t live_sums(const on_mesh *c, const shard_program *p, ir_ref root, shard_value *out) {
  ir_ref *live[2] = {NULL, NULL};
  size_t count[2] = {0}, cap[2] = {0}, n = 0;
  ir_reachable(c->g, &p->root, 1, &live[0], &count[0], &cap[0]);
  ir_reachable(c->g, &root, 1, &live[1], &count[1], &cap[1]);
  for (size_t k = 0; k < count[1]; k++)
    for (size_t i = 0; i < p->sum_count && n < MOST_SUMS; i++) {
      size_t at = ir_find_ref(live[0], count[0], p->sums[i].local);
      if (p->sums[i].global == live[1][k] && at < count[0] && live[0][at] == p->sums[i].local)
        out[n++] = p->sums[i];
    }
  for (int i = 0; i < 2; i++) ir_free(c->g->mem, live[i], cap[i] * sizeof *live[i]);
  return n;
}

static bool run_devices(on_mesh *c, const shard_program *p, ir_ref root, const ir_eval_result *whole) {
  ir_error error = {0};
  int64_t count = ir_graph_mesh(c->g)->device_count, values[MOST_VARS];
  size_t vars = c->var_count + p->variable_count;
  ir_ref own[MOST_VARS];
  int64_t sizes[MOST_VARS];
  ir_eval_device devices[MOST_DEVICES];
  ir_binding_input bound[MOST_DEVICES][MOST_INPUTS];
  ir_var_value known[MOST_DEVICES][MOST_VARS];
  shard_value sums[MOST_SUMS];
  size_t sum_count = live_sums(c, p, root, sums), n = p->result_count + sum_count;
  ir_ref *roots = calloc(n + 1, sizeof *roots);
  for (size_t i = 0; i < p->result_count; i++) roots[i] = ir_src(c->g, p->root, (uint32_t)i);
  for (size_t i = 0; i < sum_count; i++) roots[p->result_count + i] = sums[i].local;
  for (size_t i = 0; i < c->var_count; i++) own[i] = c->vars[i].ref, sizes[i] = c->vars[i].value;
  bool good = true;
  for (int64_t d = 0; d < count; d++) {
    good = good && shard_variable_values(c->g, p, d, own, sizes, c->var_count, values);
    for (size_t i = 0; i < vars; i++)
      known[d][i] = i < c->var_count
                        ? c->vars[i]
                        : (ir_var_value){p->variables[i - c->var_count].var, values[i - c->var_count]};
    for (size_t i = 0; i < p->input_count; i++)
      bound[d][i] = (ir_binding_input){p->inputs[i].local, part_of(c, &p->inputs[i], c->inputs[i].data, d)};
    devices[d] = (ir_eval_device){bound[d], known[d], p->input_count, vars};
  }
  ir_eval_result *out = calloc((size_t)count * n, sizeof *out);
  if (!good) snprintf(c->what, sizeof c->what, "%s", c->g->error->text);
  if (good && ir_eval_devices(c->g, roots, n, devices, (size_t)count, out, &error) != IR_OK) {
    snprintf(c->what, sizeof c->what, "on devices: %s", error.text);
    good = false;
  }
  good = good && (compare_all(c, p, whole, out, n) ||
                  (sum_count && compare_settled(c, p, root, sums, sum_count, out, n)));
  ir_eval_free(c->g, out, (size_t)count * n);
  free(out), free(roots);
  for (int64_t d = 0; d < count; d++)
    for (size_t i = 0; i < p->input_count; i++) free((void *)bound[d][i].data);
  c->devices += count;
  return good;
}

bool on_mesh_check(on_mesh *c, ir_ref root) {
  ir_graph *g = c->g;
  ir_error error = {0};
  shard_program p = {0};
  size_t n = ir_get(g, root)->nsrc;
  ir_ref inputs[MOST_INPUTS];
  ir_eval_result *whole = calloc(n, sizeof *whole);
  c->what[0] = '\0';
  for (size_t i = 0; i < c->input_count; i++) inputs[i] = c->inputs[i].ref;
  shard_request request = {
      .root = root, .inputs = inputs, .input_count = c->input_count, .device = SHARD_ALL};
  c->no_value = ir_eval(g, ir_get(g, root)->src, n, c->inputs, c->input_count, c->vars, c->var_count, whole,
                        &error) != IR_OK;
  bool good = c->no_value || pass_shard(g, &request, &p);
  if (!good) snprintf(c->what, sizeof c->what, "%s", g->error->text);
  if (good && !c->no_value && ir_verify(g, p.root, IR_LEVEL_TENSOR, &error) != IR_OK) {
    snprintf(c->what, sizeof c->what, "verifier: %s", error.text);
    good = false;
  }
  for (size_t i = 0; i < p.note_count; i++) c->exchanges += p.notes[i].exchange != 0;
  for (size_t i = 0; i < p.collective_count; i++) c->collectives += p.collectives[i].exchange != 0;
  for (size_t i = 0; i < p.variable_count; i++) c->uneven += p.variables[i].value != 0;
  good = good && (c->no_value || run_devices(c, &p, root, whole));
  if (!c->no_value) ir_eval_free(g, whole, n);
  free(whole);
  shard_program_free(&p);
  return good;
}
