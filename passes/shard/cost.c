/* What exchanges of boxes move: each device receives the elements of its new box that its old one has not. */
#include "impl.h"
#include "ir/eval/eval.h"
#include "ir/exchange.h"

#include <string.h>

enum { USUAL_SIZE = 4096 /* of a size that is not known */ };

/* The values of all variables on one device. */
typedef struct device_values {
  ir_graph *g;
  ir_var_value *vars;
  size_t count;
} device_values;

static bool value_of(const device_values *d, ir_ref e, int64_t *out) {
  return ir_eval_index(d->g, e, d->vars, d->count, NULL, 0, out, d->g->error) == IR_OK;
}

static bool boxes_of(const device_values *d, ir_ref exchange, ir_box *before, ir_box *after) {
  ir_graph *g = d->g;
  ir_ref x = ir_src(g, exchange, 0);
  bool good = true;
  before->rank = after->rank = ir_rank(g, exchange);
  for (uint32_t k = 0; k < after->rank && good; k++) {
    good = value_of(d, ir_exchange_at(g, exchange, k), &before->lo[k]) &&
           value_of(d, ir_dim(g, x, k), &before->hi[k]) &&
           value_of(d, ir_exchange_start(g, exchange, k), &after->lo[k]) &&
           value_of(d, ir_dim(g, exchange, k), &after->hi[k]);
    before->hi[k] += before->lo[k], after->hi[k] += after->lo[k];
  }
  return good;
}

/* Returns what the device receives. */
static uint64_t count_device(const device_values *d, ir_ref exchange, const ir_box *before,
                             const ir_box *after, pass_reshard_cost *cost) {
  uint64_t item = ir_dtypes[ir_dtype_of(d->g, exchange)].bytes;
  ir_box both;
  int64_t have = ir_box_elements(before), need = ir_box_elements(after);
  int64_t kept = ir_box_meet(before, after, &both) ? ir_box_elements(&both) : 0;
  uint64_t recv = (uint64_t)(need - kept) * item, held = (uint64_t)(have + need) * item;
  cost->total += recv;
  if (recv > cost->recv) cost->recv = recv;
  if (held > cost->peak) cost->peak = held;
  return recv;
}

/* The variables of the graph itself, as far as the program reads them, have a usual size. */
static size_t own_variables(ir_graph *g, const shard_program *p, ir_ref *vars, int64_t *values) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, found = 0;
  if (ir_reachable(g, &p->root, 1, &live, &count, &cap) != IR_OK) return SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    bool own = ir_op_of(g, live[i]) == IR_OP_VAR;
    for (size_t k = 0; k < p->variable_count && own; k++) own = p->variables[k].var != live[i];
    if (!own) continue;
    ir_bounds b = ir_bounds_of(g, live[i]);
    int64_t size = USUAL_SIZE / b.div * b.div;
    vars[found] = live[i];
    values[found++] = size < b.lo ? b.lo : size > b.hi ? b.hi : size;
    if (found == SHARD_OWN_VARIABLES) break;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

/* Of one message, along the slowest of the axes that take part. */
static void count_time(const ir_mesh *mesh, shard_collective *c) {
  double latency = 0, slowest = 0;
  uint32_t count;
  const ir_subaxis *on = ir_spec_axes(&c->on, 0, &count);
  for (uint32_t i = 0; i < count; i++) {
    const ir_mesh_axis *a = &mesh->axes[on[i].axis];
    double own = a->latency > 0 ? a->latency : 1e-6, byte = 1 / (a->bandwidth > 0 ? a->bandwidth : 1e10);
    if (own > latency) latency = own;
    if (byte > slowest) slowest = byte;
  }
  if (c->cost.recv) c->cost.time = (uint64_t)((latency + (double)c->cost.recv * slowest) * 1e12);
}

bool shard_count_costs(ir_graph *g, shard_program *p) {
  ir_ref own[SHARD_OWN_VARIABLES];
  int64_t sizes[SHARD_OWN_VARIABLES], devices = ir_graph_mesh(g)->device_count;
  size_t count = own_variables(g, p, own, sizes), all = count + p->variable_count;
  if (count == SIZE_MAX) return false;
  ir_var_value *vars = ir_alloc(g->mem, (all + 1) * sizeof *vars);
  int64_t *values = ir_alloc(g->mem, (all + 1) * sizeof *values);
  bool good = vars && values;
  uint64_t planned = 0;
  for (size_t i = 0; i < p->collective_count; i++)
    if (p->collectives[i].planned && p->collectives[i].exchange) planned += p->collectives[i].cost.recv;
  p->recv = planned;
  for (int64_t d = 0; d < devices && good; d++) {
    uint64_t recv = planned;
    good = shard_variable_values(g, p, d, own, sizes, count, values);
    for (size_t i = 0; i < all && good; i++)
      vars[i] = i < count ? (ir_var_value){own[i], sizes[i]}
                          : (ir_var_value){p->variables[i - count].var, values[i - count]};
    device_values of = {g, vars, all};
    for (size_t i = 0; i < p->collective_count && good; i++) {
      shard_collective *c = &p->collectives[i];
      ir_box before, after;
      if (c->planned || !c->exchange) continue;
      if ((good = boxes_of(&of, c->exchange, &before, &after)))
        recv += count_device(&of, c->exchange, &before, &after, &c->cost);
    }
    if (recv > p->recv) p->recv = recv;
  }
  for (size_t i = 0; i < p->collective_count && good; i++)
    if (!p->collectives[i].planned && p->collectives[i].exchange)
      count_time(ir_graph_mesh(g), &p->collectives[i]);
  if (!vars || !values) ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory");
  ir_free(g->mem, vars, (all + 1) * sizeof *vars);
  ir_free(g->mem, values, (all + 1) * sizeof *values);
  return good;
}
