/* For each iteration of the threads' loop the interval is computed that the indices of its loads of a
 * parameter lie in, as blocks.c does for stores. Iterations are then grouped by a digit of their number, so
 * that what the groups load follows a line as closely as possible. */
#include "codegen/emit/blocks.h"

#include "codegen/emit/iterations.h"

/* Beyond these a kernel waits for all of its operands. */
enum { MOST_LOADS = 64 }; /* because an iteration takes 3 ns a load: with 128, a fifth of a launch */
enum { MOST_PARAM = 64 }; /* because they are bits of a word */
enum { MOST_PARAMS = 8 }; /* because half follow no line: with 4, 2 of the 4 that are kept are found */
enum { LEAST_GAIN = 4 };  /* because of 4 pieces of an exchange, a group is to need one less */
enum { BETTER = 2 };      /* because with the digit of the stores, what is made goes on as it is */

typedef struct finder {
  cg_iterations of;
  ir_ref index[MOST_LOADS];
  uint32_t param[MOST_LOADS]; /* whose element it is */
  uint32_t count;
  uint64_t loaded, refused;             /* parameters: a load of them is listed; they are used otherwise */
  uint32_t number[MOST_PARAMS], params; /* those that are looked at */
  cg_interval *all, *loads;             /* by parameter and iteration; of one */
  cg_blocks stores;
} finder;

static bool is_param(const ir_graph *g, ir_ref ref, uint32_t *number) {
  const ir_node *n = ir_get(g, ref);
  *number = n->op == IR_OP_PARAM ? (uint32_t)ir_arg_int(n) : 0;
  return n->op == IR_OP_PARAM;
}

static bool list(finder *f, ir_ref index, uint32_t param) {
  if (f->count == MOST_LOADS) return false;
  f->index[f->count] = index;
  f->param[f->count++] = param;
  return true;
}

/* A node that uses parameters: each load is listed, and each store to p0, where these may lie in one memory;
 * false: there are too many. */
static bool note_uses(finder *f, const ir_node *n) {
  bool good = true;
  uint32_t param;
  for (uint32_t i = 0; i < n->nsrc && n->op != IR_OP_KERNEL; i++) {
    if (!is_param(f->of.g, n->src[i], &param)) continue;
    bool known = i == 0 && param < MOST_PARAM;
    if (known && n->op == IR_OP_LOAD) good &= list(f, n->src[1], param), f->loaded |= (uint64_t)1 << param;
    else if (known && n->op == IR_OP_STORE) good &= param > 0 || list(f, n->src[1], 0);
    else if (param < MOST_PARAM) f->refused |= (uint64_t)1 << param;
  }
  return good;
}

/* False: memory is short, or nothing is known; the error says which. */
static bool find_indices(finder *f, ir_ref kernel, ir_error *error) {
  cg_iterations *it = &f->of;
  bool good = ir_reachable(it->g, &kernel, 1, &it->nodes, &it->node_count, &it->node_cap) == IR_OK;
  if (!good) ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
  for (size_t i = 0; i < it->node_count && good; i++) good = note_uses(f, ir_get(it->g, it->nodes[i]));
  return good && f->loaded & ~f->refused && cg_iterations_look(it, f->index, f->count, error);
}

/* What the iterations load of each parameter, and store to p0 where that may lie there. */
static bool find_loads(finder *f, uint32_t in_place) {
  for (int64_t t = 0; t < f->of.count; t++) {
    if (!cg_iterations_evaluate(&f->of, t)) return false;
    for (uint32_t k = 0; k < f->params; k++) {
      cg_interval *all = &f->all[k * f->of.count + t];
      bool some = false, both = f->number[k] < 32 && in_place >> f->number[k] & 1;
      for (uint32_t i = 0; i < f->count; i++) {
        if (f->param[i] != f->number[k] && !(both && f->param[i] == 0)) continue;
        cg_interval v = f->of.value[f->index[i]];
        *all = some ? cg_hull(*all, v) : v;
        some = true;
      }
    }
  }
  return true;
}

/* The line that the groups of the digit follow, from the group `first` on; returns the elements that are at
 * most loaded by one, INT64_MAX: none is known. */
static int64_t line_of(const finder *f, int64_t divisor, int64_t period, int64_t first, cg_reads *out) {
  int64_t values = period / divisor, lo = INT64_MAX, hi = INT64_MIN;
  int64_t before = values > 2 ? values - 2 : 1; /* the last group may be cut short */
  cg_interval a = cg_hull_of_digit(&f->of, f->loads, divisor, period, first),
              z = cg_hull_of_digit(&f->of, f->loads, divisor, period, (first + before) % values);
  int64_t step = (z.hi - a.hi) / before;
  for (int64_t b = 0; b < values; b++) {
    cg_interval own = cg_hull_of_digit(&f->of, f->loads, divisor, period, (first + b) % values);
    if (own.lo - b * step < lo) lo = own.lo - b * step;
    if (own.hi + 1 - b * step > hi) hi = own.hi + 1 - b * step;
  }
  if (lo < INT32_MIN || hi > INT32_MAX || step != (int32_t)step) return INT64_MAX;
  out->divisor = (uint32_t)divisor, out->period = (uint32_t)period, out->first = (uint32_t)first;
  out->step = (int32_t)step, out->lo = (int32_t)lo, out->hi = (int32_t)hi;
  return hi - lo;
}

/* The group that loads the lowest elements. */
static int64_t lowest(const finder *f, int64_t divisor, int64_t period) {
  int64_t found = 0, lo = INT64_MAX;
  for (int64_t v = 0; v < period / divisor; v++) {
    cg_interval own = cg_hull_of_digit(&f->of, f->loads, divisor, period, v);
    if (own.lo < lo) lo = own.lo, found = v;
  }
  return found;
}

static void try_digit(const finder *f, int64_t divisor, int64_t period, int64_t first, int64_t factor,
                      int64_t *least, cg_reads *out) {
  cg_reads line = *out;
  if (period % divisor || period / divisor < 2 || period > f->of.count || period / divisor > CG_MOST_READING)
    return;
  int64_t elements = line_of(f, divisor, period, first, &line);
  if (elements > *least / factor || (elements == *least && out->period)) return;
  *least = elements;
  *out = line;
}

/* The digit of the stores, or one whose groups load fewer elements by far. */
static bool choose(const finder *f, uint32_t param, cg_reads *out) {
  const cg_iterations *it = &f->of;
  cg_interval all = cg_hull_of_digit(it, f->loads, it->count, it->count, 0);
  int64_t most = all.hi - all.lo + 1, least = most - most / LEAST_GAIN, before = least;
  *out = (cg_reads){.param = param};
  if (f->stores.elements) try_digit(f, f->stores.divisor, f->stores.period, f->stores.first, 1, &least, out);
  int64_t factor = out->period ? BETTER : 1;
  for (uint32_t d = 0; d < it->divisor_count; d++)
    for (uint32_t p = 0; p < it->divisor_count; p++) {
      int64_t divisor = it->divisors[d], period = it->divisors[p], was = least;
      if (period % divisor || period > it->count || period / divisor < 2) continue;
      try_digit(f, divisor, period, 0, factor, &least, out);
      int64_t first = lowest(f, divisor, period);
      if (first) try_digit(f, divisor, period, first, factor, &least, out);
      if (least < was) factor = 1;
    }
  return out->period && least <= before;
}

static void find_all(finder *f, uint32_t in_place, cg_uses *out) {
  uint32_t count = 0;
  if (!find_loads(f, in_place)) return;
  for (uint32_t k = 0; k < f->params && count < CG_READS; k++) {
    f->loads = f->all + k * f->of.count;
    count += choose(f, f->number[k], &out->loads[count]);
  }
  for (; count < CG_READS; count++) out->loads[count] = (cg_reads){0};
}

/* The parameters that are looked at. */
static void list_params(finder *f) {
  for (uint32_t p = 1; p < MOST_PARAM && f->params < MOST_PARAMS; p++)
    if (f->loaded >> p & 1 && !(f->refused >> p & 1)) f->number[f->params++] = p;
}

ir_status cg_uses_find(ir_graph *g, ir_ref kernel, uint32_t in_place, cg_uses *out, ir_error *error) {
  finder f = {0};
  ir_error own = {0};
  *out = (cg_uses){0};
  ir_status status = cg_blocks_find(g, kernel, &out->stores, error);
  if (status || !cg_iterations_begin(&f.of, g, kernel)) return status;
  f.stores = out->stores;
  if (find_indices(&f, kernel, &own)) {
    list_params(&f);
    size_t all = (size_t)f.of.count * f.params * sizeof *f.all;
    f.all = f.params ? ir_alloc(g->mem, all) : NULL;
    if (f.params && !f.all) ir_fail(&own, IR_ERR_MEMORY, "out of memory analysing a kernel");
    else if (f.params) find_all(&f, in_place, out);
    ir_free(g->mem, f.all, all);
  }
  cg_iterations_free(&f.of);
  return own.status ? ir_fail(error, own.status, "%s", own.text) : IR_OK;
}
