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

/* What a device is along an axis. */
static int64_t along(const ir_mesh *mesh, int64_t device, uint32_t axis, shard_variable_kind kind) {
  ir_subaxis whole = ir_whole_axis(mesh, axis);
  int64_t c = ir_mesh_coordinate(mesh, device, axis);
  return kind == SHARD_COORDINATE      ? c
         : kind == SHARD_WEIGHT_BEFORE ? ir_weight_before(mesh, whole, c)
                                       : ir_weight_of(mesh, whole, c);
}

/* As a number, or as a variable of the axis. */
static ir_ref of_axis(shard_state *s, uint32_t axis, shard_variable_kind kind) {
  static const char *const ends[SHARD_VALUE] = {"", "_before", "_weight"};
  ir_ref *var = &s->of_axes[kind][axis];
  const ir_mesh_axis *a = &s->mesh->axes[axis];
  ir_subaxis whole = ir_whole_axis(s->mesh, axis);
  ir_shares shares = ir_shares_of(s->mesh, &whole, 1);
  int64_t lo = kind == SHARD_WEIGHT ? shares.least : 0, hi = kind == SHARD_COORDINATE ? a->size - 1
                                                             : kind == SHARD_WEIGHT   ? shares.most
                                                                                      : shares.total;
  char name[IR_MESH_NAME + 8];
  if (s->device != SHARD_ALL) return ir_index(s->g, along(s->mesh, s->device, axis, kind));
  if (*var) return *var;
  snprintf(name, sizeof name, "%s%s", a->name, ends[kind]);
  *var = new_variable(s, name, lo, hi);
  return add_variable(s, (shard_variable){.var = *var, .kind = kind, .axis = axis}) ? *var : 0;
}

static ir_ref digit(shard_state *s, ir_subaxis x) {
  ir_graph *g = s->g;
  int64_t size = s->mesh->axes[x.axis].size, behind = size / ((int64_t)x.pre * x.size);
  if (x.size == 1) return ir_index(g, 0);
  ir_ref c = of_axis(s, x.axis, SHARD_COORDINATE);
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

bool shard_is_single(const ir_subaxis *axes, uint32_t count, int64_t size) {
  return !ir_is_weighted(axes, count) && parts_of(axes, count) == size;
}

bool shard_divides(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  int64_t total = ir_shares_of(s->mesh, axes, count).total;
  return total == 1 || pass_divides(s->g, ir_index(s->g, total), size);
}

/* ceil(size / parts) */
static ir_ref chunk(shard_state *s, ir_ref size, int64_t parts) {
  return pass_ceil_div(s->g, size, ir_index(s->g, parts));
}

/* The weights of all parts before the device's own one, and its own. Of an axis without weights each part
 * has 1. False after failing. */
static bool weights(shard_state *s, const ir_subaxis *axes, uint32_t count, ir_ref *before, ir_ref *own) {
  ir_graph *g = s->g;
  *before = ir_index(g, 0), *own = ir_index(g, 1);
  for (uint32_t i = 0; i < count && *before && *own; i++) {
    bool heavy = axes[i].weighted;
    ir_ref first = heavy ? of_axis(s, axes[i].axis, SHARD_WEIGHT_BEFORE) : digit(s, axes[i]);
    ir_ref weight = heavy ? of_axis(s, axes[i].axis, SHARD_WEIGHT) : ir_index(g, 1);
    if (!first || !weight) return false;
    *before = pass_mul_int(g, *before, ir_shares_of(s->mesh, &axes[i], 1).total);
    *before = pass_add(g, *before, pass_mul(g, *own, first));
    *own = pass_mul(g, *own, weight);
  }
  return *before && *own;
}

/* As ir_share_end: the nearest whole number to size before / total. */
static ir_ref share_end(shard_state *s, ir_ref size, ir_ref before, int64_t total) {
  ir_graph *g = s->g;
  ir_ref all = ir_index(g, total), whole = pass_mul(g, pass_div_int(g, size, total), before);
  if (!all || !whole || pass_divides(g, all, size)) return whole;
  ir_ref left = pass_mul_int(g, pass_mul(g, pass_mod_int(g, size, total), before), 2);
  return left ? pass_add(g, whole, pass_div_int(g, pass_add_int(g, left, total), 2 * total)) : 0;
}

ir_ref shard_start(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  ir_graph *g = s->g;
  ir_shares shares = ir_shares_of(s->mesh, axes, count);
  ir_ref before, own;
  if (shares.total == 1) return ir_index(g, 0);
  if (shares.weighted)
    return weights(s, axes, count, &before, &own) ? share_end(s, size, before, shares.total) : 0;
  ir_ref begin = pass_mul(g, shard_position(s, axes, count), chunk(s, size, shares.total));
  return shard_divides(s, size, axes, count) ? begin : pass_min(g, begin, size);
}

/* The size of the device's part, and what it is at least and at most. 0 after failing. */
static ir_ref share(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count, int64_t *lo,
                    int64_t *hi) {
  ir_graph *g = s->g;
  ir_shares shares = ir_shares_of(s->mesh, axes, count);
  ir_ref before, own, begin = shard_start(s, size, axes, count);
  *lo = ir_least_of(&shares, ir_bounds_of(g, size).lo), *hi = ir_most_of(&shares, ir_bounds_of(g, size).hi);
  if (!begin) return 0;
  if (!shares.weighted) {
    ir_ref c = chunk(s, size, shares.total);
    ir_ref least = pass_sub(g, size, pass_mul_int(g, c, shares.total - 1)); /* unless it is empty */
    if (!least) return 0;
    *lo = ir_bounds_of(g, least).lo > 0 ? ir_bounds_of(g, least).lo : 0, *hi = ir_bounds_of(g, c).hi;
    return pass_min(g, c, pass_sub(g, size, begin));
  }
  if (!weights(s, axes, count, &before, &own)) return 0;
  ir_ref behind = pass_add(g, before, own), end = behind ? share_end(s, size, behind, shares.total) : 0;
  return end ? pass_sub(g, end, begin) : 0;
}

/* The variable for the size of an uneven part: the same for the same division. */
static ir_ref uneven(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  ir_graph *g = s->g;
  char name[32];
  for (size_t i = 0; i < s->part_count; i++) {
    const shard_part *p = &s->parts[i];
    bool same = p->size == size && p->axes.count == count;
    for (uint32_t k = 0; k < count && same; k++)
      same = ir_subaxes_equal(p->axes.axes[k], axes[k]) && p->axes.axes[k].weighted == axes[k].weighted;
    if (same) return p->var;
  }
  if (!IR_RESERVE(g->mem, s->parts, s->part_cap, s->part_count + 1))
    return ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory"), 0;
  int64_t lo, hi;
  ir_ref value = share(s, size, axes, count, &lo, &hi);
  if (!value || ir_is_const(g, value, NULL)) return value;
  snprintf(name, sizeof name, "part%zu", s->part_count);
  shard_part *p = &s->parts[s->part_count++];
  *p = (shard_part){.size = size, .var = new_variable(s, name, lo, hi), .axes.count = count};
  memcpy(p->axes.axes, axes, count * sizeof *axes);
  return add_variable(s, (shard_variable){p->var, SHARD_VALUE, value, 0}) ? p->var : 0;
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
  return add_variable(s, (shard_variable){var, SHARD_VALUE, value, 0}) ? var : 0;
}

ir_ref shard_size(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count) {
  ir_shares shares = ir_shares_of(s->mesh, axes, count);
  ir_ref before, own;
  if (shares.total == 1) return size;
  if (!shard_divides(s, size, axes, count)) return uneven(s, size, axes, count);
  ir_ref unit = pass_div_int(s->g, size, shares.total);
  if (!shares.weighted || !unit) return unit;
  return weights(s, axes, count, &before, &own) ? pass_mul(s->g, unit, own) : 0;
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
    if (v->kind != SHARD_VALUE) out[i] = along(mesh, device, v->axis, v->kind);
    else good = ir_eval_index(g, v->value, known, count + i, NULL, 0, &out[i], g->error) == IR_OK;
    known[count + i] = (ir_var_value){v->var, out[i]};
  }
  ir_free(g->mem, known, (count + p->variable_count) * sizeof *known);
  return good;
}
