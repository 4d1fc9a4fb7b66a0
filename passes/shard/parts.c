/* Where the part of a device begins and how long it is, as index expressions of its coordinates.
 *
 * A size that is divided evenly is an expression. Otherwise it is a variable of its own, since kernels take
 * variables as sizes at no cost, and the program says what its value is. */
#include "impl.h"
#include "ir/eval/eval.h"

#include <stdio.h>
#include <string.h>

/* Is there a variable of that name in the graph? */
static bool is_taken(const ir_graph *g, const char *name) {
  for (ir_ref i = 1; i < g->count; i++)
    if (ir_op_of(g, i) == IR_OP_VAR && !strcmp(ir_name_text(g, ir_get(g, i)->arg), name)) return true;
  return false;
}

/* A new variable, whose name begins like this. */
static ir_ref new_variable(shard_state *s, const char *begin, int64_t lo, int64_t hi) {
  char name[IR_MESH_NAME + 16];
  int length = snprintf(name, sizeof name, "%s", begin);
  for (int i = 0; is_taken(s->g, name); i++) length = snprintf(name, sizeof name, "%s_%d", begin, i);
  return ir_var(s->g, name, (size_t)length, lo, hi, 1);
}

static bool add_variable(shard_state *s, shard_variable v) {
  shard_program *p = s->program;
  if (!v.var) return false;
  if (!IR_RESERVE(p->mem, p->variables, p->variable_cap, p->variable_count + 1))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
  p->variables[p->variable_count++] = v;
  return true;
}

static ir_ref coordinate(shard_state *s, uint32_t axis) {
  ir_ref *var = &s->coordinates[axis];
  const ir_mesh_axis *a = &s->mesh->axes[axis];
  if (s->device != SHARD_ALL) return ir_index(s->g, ir_mesh_coordinate(s->mesh, s->device, axis));
  if (*var) return *var;
  *var = new_variable(s, a->name, 0, a->size - 1);
  return add_variable(s, (shard_variable){*var, 0, axis}) ? *var : 0;
}

static ir_ref digit(shard_state *s, ir_subaxis x) {
  ir_graph *g = s->g;
  int64_t size = s->mesh->axes[x.axis].size, behind = size / ((int64_t)x.pre * x.size);
  if (x.size == 1) return ir_index(g, 0);
  ir_ref c = coordinate(s, x.axis);
  if (c && behind > 1) c = pass_div_int(g, c, behind);
  return c && x.pre > 1 ? pass_mod_int(g, c, x.size) : c;
}

ir_ref shard_position(shard_state *s, const ir_subaxis *axes, uint32_t count) {
  ir_ref position = ir_index(s->g, 0);
  for (uint32_t i = 0; i < count && position; i++) {
    ir_ref d = digit(s, axes[i]);
    position = d ? pass_add(s->g, pass_mul_int(s->g, position, axes[i].size), d) : 0;
  }
  return position;
}

static int64_t parts_of(const ir_subaxis *axes, uint32_t count) {
  int64_t parts = 1;
  for (uint32_t i = 0; i < count; i++) parts *= axes[i].size;
  return parts;
}

bool shard_divides(shard_state *s, ir_ref size, int64_t parts) {
  return parts == 1 || pass_divides(s->g, ir_index(s->g, parts), size);
}

/* ceil(size / parts) */
static ir_ref chunk(shard_state *s, ir_ref size, int64_t parts) {
  return pass_ceil_div(s->g, size, ir_index(s->g, parts));
}

ir_ref shard_start(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  ir_graph *g = s->g;
  int64_t parts = parts_of(axes, count);
  if (parts == 1) return ir_index(g, 0);
  ir_ref begin = pass_mul(g, shard_position(s, axes, count), chunk(s, size, parts));
  return shard_divides(s, size, parts) ? begin : pass_min(g, begin, size);
}

/* The variable for the size of an uneven part: the same for the same division. */
static ir_ref uneven(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  ir_graph *g = s->g;
  char name[32];
  for (size_t i = 0; i < s->part_count; i++) {
    const shard_part *p = &s->parts[i];
    bool same = p->size == size && p->axes.count == count;
    for (uint32_t k = 0; k < count && same; k++) same = ir_subaxes_equal(p->axes.axes[k], axes[k]);
    if (same) return p->var;
  }
  if (!IR_RESERVE(g->mem, s->parts, s->part_cap, s->part_count + 1))
    return ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory"), 0;
  int64_t parts = parts_of(axes, count);
  ir_ref c = chunk(s, size, parts), begin = shard_start(s, size, axes, count);
  ir_ref value = pass_min(g, c, pass_sub(g, size, begin));
  ir_ref least = pass_sub(g, size, pass_mul_int(g, c, parts - 1)); /* of the last part, unless it is empty */
  if (!value || !least || ir_is_const(g, value, NULL)) return value;
  int64_t lo = ir_bounds_of(g, least).lo, hi = ir_bounds_of(g, c).hi;
  snprintf(name, sizeof name, "part%zu", s->part_count);
  shard_part *p = &s->parts[s->part_count++];
  *p = (shard_part){.size = size, .var = new_variable(s, name, lo > 0 ? lo : 0, hi), .axes.count = count};
  memcpy(p->axes.axes, axes, count * sizeof *axes);
  return add_variable(s, (shard_variable){p->var, value, 0}) ? p->var : 0;
}

ir_ref shard_name(shard_state *s, ir_ref value, const char *begin, int64_t lo, int64_t hi) {
  ir_graph *g = s->g;
  char name[32];
  if (!value || ir_is_const(g, value, NULL)) return value;
  for (size_t i = 0; i < s->named_count; i++)
    if (s->named[i].value == value) return s->named[i].var;
  if (!IR_RESERVE(g->mem, s->named, s->named_cap, s->named_count + 1))
    return ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory"), 0;
  snprintf(name, sizeof name, "%s%zu", begin, s->named_count);
  ir_ref var = new_variable(s, name, lo, hi);
  s->named[s->named_count++] = (shard_named){value, var};
  return add_variable(s, (shard_variable){var, value, 0}) ? var : 0;
}

ir_ref shard_size(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  int64_t parts = parts_of(axes, count);
  if (parts == 1) return size;
  return shard_divides(s, size, parts) ? pass_div_int(s->g, size, parts) : uneven(s, size, axes, count);
}

bool shard_local_shape(shard_state *s, const ir_ref *dims, const ir_spec *spec, ir_ref *out) {
  for (uint32_t d = 0; d < spec->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
    if (!(out[d] = shard_size(s, dims[d], axes, count))) return false;
  }
  return true;
}

bool shard_local_start(shard_state *s, const ir_ref *dims, const ir_spec *spec, ir_ref *out) {
  for (uint32_t d = 0; d < spec->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
    if (!(out[d] = shard_start(s, dims[d], axes, count))) return false;
  }
  return true;
}

/* The spec with places from `axis` on moved by one. */
static void shift_axes(const ir_spec *spec, uint32_t axis, bool insert, ir_spec *out) {
  uint32_t rank = insert ? spec->rank + 1u : spec->rank - 1u;
  ir_spec_init(out, rank);
  for (uint32_t place = 0; place < IR_PLACES; place++) {
    uint32_t count, to = place < axis || place >= spec->rank ? place : insert ? place + 1 : place - 1;
    const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
    if (!insert && place == axis) continue;
    for (uint32_t i = 0; i < count; i++) ir_spec_push(out, to, axes[i]);
  }
  out->joined_by = spec->joined_by;
}

void shard_drop_axis(const ir_spec *spec, uint32_t axis, ir_spec *out) { shift_axes(spec, axis, false, out); }
void shard_insert_axis(const ir_spec *spec, uint32_t axis, ir_spec *out) {
  shift_axes(spec, axis, true, out);
}

bool shard_is_prefix(const ir_spec *a, const ir_spec *b, uint32_t place) {
  uint32_t n, m;
  const ir_subaxis *x = ir_spec_axes(a, place, &n), *y = ir_spec_axes(b, place, &m);
  bool prefix = n <= m;
  for (uint32_t i = 0; i < n && prefix; i++) prefix = ir_subaxes_equal(x[i], y[i]);
  return prefix;
}

bool shard_variable_values(ir_graph *g, const shard_program *p, int64_t device, const ir_ref *vars,
                           const int64_t *values, size_t count, int64_t *out) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_var_value *known = ir_alloc(g->mem, (count + p->variable_count) * sizeof *known);
  bool good = known != NULL;
  if (!known) ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory");
  for (size_t i = 0; i < count && good; i++) known[i] = (ir_var_value){vars[i], values[i]};
  for (size_t i = 0; i < p->variable_count && good; i++) { /* values follow from variables before them */
    const shard_variable *v = &p->variables[i];
    if (!v->value) out[i] = ir_mesh_coordinate(mesh, device, v->axis);
    else good = ir_eval_index(g, v->value, known, count + i, NULL, 0, &out[i], g->error) == IR_OK;
    known[count + i] = (ir_var_value){v->var, out[i]};
  }
  ir_free(g->mem, known, (count + p->variable_count) * sizeof *known);
  return good;
}
