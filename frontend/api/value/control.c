/* Builders of control flow. Each calls the user's functions once or more to record their bodies. */
#include <string.h>

#include "frontend/api/value/updates.h"
#include "passes/ops/build/control.h"

/* One call of a builder: its operands, and up to two functions recorded for it. */
typedef struct control {
  fe_call c;
  const ir_mem *mem;
  ir_ref *x; /* operands, with room for captured values behind them */
  size_t count, room;
  ir_dtype *dtypes;     /* of the parameters */
  uint32_t carry_count; /* number of leading operands that are loop-carried state */
  uint32_t slice_count; /* number of operands behind those, of which a body gets slices */
  op_recorded recorded[2];
  ir_ref *params[2], *results[2];
  size_t result_room[2];
  fe_updates updates;
  int body;            /* the function of a loop that returns the next state */
  uint32_t references; /* the last of the state of a loop: newest versions of what its functions write */
} control;

static bool begin_control(control *k, vf_graph *graph, const char *who) {
  *k = (control){0};
  if (!fe_begin_in(&k->c, who, graph)) return false;
  k->mem = k->c.ir->mem;
  return fe_updates_begin(&k->updates, graph);
}

static bool no_memory(control *k) {
  ir_fail(&k->c.graph->error, IR_ERR_MEMORY, "%s: out of memory", k->c.who);
  return false;
}

static bool is_list(control *k, const char *what, int count, const void *list) {
  if (count < 0 || count > UINT16_MAX)
    return fe_refuse(&k->c, "there are %d %s; takes 0 to 65535", count, what);
  return count == 0 || list || fe_refuse(&k->c, "the list of %s is NULL", what);
}

/* Append operands. A weak constant stays weak. */
static bool add_operands(control *k, const char *what, int count, const vf_value *values) {
  if (!is_list(k, what, count, values) || !fe_operands(&k->c, values, (size_t)count)) return false;
  size_t need = k->count + (size_t)count;
  ir_ref *x = ir_resize(k->mem, k->x, k->room * sizeof *x, (need + 1) * sizeof *x);
  if (!x) return no_memory(k);
  k->x = x;
  k->room = need + 1;
  for (int i = 0; i < count; i++) {
    if (!ir_shape(k->c.ir, values[i].id))
      return fe_refuse(&k->c, "operand %zu is an expression of sizes, not a tensor", k->count + 1);
    k->x[k->count++] = values[i].id;
  }
  return true;
}

static void forget_functions(control *k) {
  for (int i = 0; i < 2 && k->mem; i++) {
    ir_free(k->mem, k->params[i], k->count * sizeof *k->params[i]);
    ir_free(k->mem, k->results[i], k->result_room[i] * sizeof *k->results[i]);
    k->params[i] = k->results[i] = NULL;
  }
}

static ir_ref end_control(control *k, ir_ref made) {
  forget_functions(k);
  fe_updates_free(&k->updates);
  if (k->mem) {
    ir_free(k->mem, k->x, k->room * sizeof *k->x);
    ir_free(k->mem, k->dtypes, k->count * sizeof *k->dtypes);
  }
  return made;
}

static bool choose_dtypes(control *k) {
  k->dtypes = ir_alloc(k->mem, k->count * sizeof *k->dtypes);
  if (!k->dtypes) return no_memory(k);
  for (size_t i = 0; i < k->count; i++) {
    ir_ref firm = op_default_dtype(k->c.ir, k->x[i]);
    if (!firm) return false;
    k->dtypes[i] = ir_dtype_of(k->c.ir, firm);
  }
  return true;
}

static ir_ref parameter(control *k, size_t i) {
  const ir_node *dims = ir_get(k->c.ir, ir_shape(k->c.ir, k->x[i]));
  uint32_t skip = i >= k->carry_count && i < k->carry_count + k->slice_count;
  if (skip > dims->nsrc)
    return (ir_ref)fe_refuse(&k->c, "operand %zu has no axis; a slice is taken along the first one", i + 1);
  return op_buffer(k->c.ir, k->dtypes[i], dims->src + skip, dims->nsrc - skip);
}

/* Check the results that a function has set, and store their refs. */
static bool read_results(control *k, const vf_value *results, size_t count, ir_ref *out) {
  uint32_t operands = k->c.given_count;
  for (size_t i = 0; i < count; i++) {
    if (!results[i].graph)
      return fe_refuse(&k->c, "result %zu was not given; a function sets all its results", i + 1);
    if (!fe_is_value(&k->c, "result", i + 1, results[i])) return false;
    if (!ir_shape(k->c.ir, results[i].id))
      return fe_refuse(&k->c, "result %zu is an expression of sizes, not a tensor", i + 1);
    out[i] = results[i].id;
  }
  k->c.given_count = operands; /* results are none */
  return true;
}

/* The place of the state that the user does not see, newest versions of references. */
static size_t first_reference(const control *k) { return k->carry_count - k->references; }

/* Call the user's function: what it leaves of references is function `number`'s. */
static void call_inside(control *k, int number, vf_function f, void *user, const vf_value *values,
                        vf_value *results, const ir_ref *newest) {
  vf_graph *g = k->c.graph;
  size_t outer = g->outer_references;
  uint32_t level = g->recording_level;
  g->recording++;
  g->outer_references = k->updates.count;
  g->recording_level = g->level;
  fe_updates_enter(&k->updates, newest);
  f(user, values, results);
  fe_updates_leave(&k->updates, number);
  g->recording_level = level;
  g->outer_references = outer;
  g->recording--;
}

/* Call the user's function with these arguments; out receives its results. */
static bool call_function(control *k, int number, vf_function f, void *user, const ir_ref *params,
                          size_t result_count, ir_ref *out) {
  vf_graph *g = k->c.graph;
  size_t room = k->count + result_count, first = first_reference(k);
  vf_value *values = ir_alloc(k->mem, room * sizeof *values);
  if (!values) return no_memory(k);
  vf_value *results = values + k->count;
  for (size_t i = 0; i < k->count; i++)
    if (i < first || i >= k->carry_count)
      values[i < first ? i : i - k->references] = fe_vmap_value(g, params[i]);
  for (size_t i = 0; i < result_count; i++) results[i] = (vf_value){0};
  call_inside(k, number, f, user, values, results, k->references ? params + first : NULL);
  fe_resume(&k->c);
  bool good = !g->error.status;
  good = good && read_results(k, results, result_count, out);
  ir_free(k->mem, values, room * sizeof *values);
  return good;
}

/* The next state of a loop has the newest versions that its body leaves, before what is stacked. */
static void insert_references(const control *k, int number, ir_ref *results, size_t given) {
  size_t first = first_reference(k);
  memmove(results + k->carry_count, results + first, (given - first) * sizeof *results);
  for (uint32_t i = 0; i < k->references; i++) results[first + i] = fe_updates_after(&k->updates, number, i);
}

/* Record function `number`; a further call replaces the recording. result_count: of the user's. */
static bool record_function(control *k, int number, vf_function f, void *user, size_t result_count) {
  if (!f) return fe_refuse(&k->c, "function %d is NULL", number + 1);
  if (k->c.graph->recording >= IR_MAX_DEPTH) /* nothing else ends a function that calls itself */
    return fe_refuse(&k->c, "functions are nested %u deep; they nest at most %d deep",
                     k->c.graph->recording + 1, IR_MAX_DEPTH);
  if (result_count == 0) return fe_refuse(&k->c, "there are no results; a function has at least one");
  if (!k->params[number]) {
    k->params[number] = ir_alloc(k->mem, k->count * sizeof *k->params[number]);
    k->result_room[number] = result_count + k->updates.count;
    k->results[number] = ir_alloc(k->mem, k->result_room[number] * sizeof *k->results[number]);
  }
  ir_ref *params = k->params[number], *results = k->results[number], floor = k->c.ir->count;
  vf_graph *g = k->c.graph;
  size_t taps = g->pending.count;
  uint32_t level = g->level > g->explicit_batch ? g->level : g->explicit_batch;
  if (!params || !results) return no_memory(k);
  for (size_t i = 0; i < k->count; i++)
    if (!(params[i] = parameter(k, i))) return false;
  if (!call_function(k, number, f, user, params, result_count, results)) return false;
  if (k->references && number == k->body) {
    insert_references(k, number, results, result_count);
    result_count += k->references;
  }
  bool kept = fe_pending_keep(k->c.ir, &g->pending, taps, level, results, result_count, &results[0]);
  g->pending.count = taps; /* they are the function's */
  if (!kept) return false;
  k->recorded[number] = (op_recorded){.results = results,
                                      .params = params,
                                      .result_count = (uint32_t)result_count,
                                      .param_count = (uint32_t)k->count,
                                      .floor = floor,
                                      .level = level};
  return true;
}

/* The state of a loop gets what its body is the first to write. */
static bool add_references(control *k) {
  forget_functions(k);
  while (k->references < k->updates.found) {
    size_t need = k->count + 1, at = k->carry_count;
    ir_ref *x = ir_resize(k->mem, k->x, k->room * sizeof *x, (need + 1) * sizeof *x);
    if (x) k->x = x, k->room = need + 1;
    ir_dtype *dtypes =
        x ? ir_resize(k->mem, k->dtypes, k->count * sizeof *dtypes, need * sizeof *dtypes) : NULL;
    if (!dtypes) return no_memory(k);
    k->dtypes = dtypes;
    memmove(x + at + 1, x + at, (k->count - at) * sizeof *x);
    memmove(dtypes + at + 1, dtypes + at, (k->count - at) * sizeof *dtypes);
    x[at] = fe_updates_before(&k->updates, k->references);
    dtypes[at] = ir_dtype_of(k->c.ir, x[at]);
    k->count++, k->carry_count++, k->references++;
  }
  return true;
}

/* Record the body of a loop. A state whose initial value is a weak constant has the dtype of the value that
 * an iteration returns, if that is the wider one: the body is then recorded again. */
static bool record_iterations(control *k, int number, vf_function f, void *user, size_t result_count) {
  k->body = number;
  for (size_t tries = 0; tries <= k->carry_count; tries++) {
    bool changed = false;
    if (!record_function(k, number, f, user, result_count)) return false;
    size_t results = k->recorded[number].result_count;
    for (uint32_t i = 0; i < k->carry_count && i < results; i++) {
      const ir_node *next = ir_get(k->c.ir, k->results[number][i]);
      if (!ir_get(k->c.ir, k->x[i])->weak || next->weak || next->dtype == k->dtypes[i]) continue;
      if (op_promote((ir_dtype)next->dtype, k->dtypes[i]) != next->dtype) continue;
      k->dtypes[i] = (ir_dtype)next->dtype;
      changed = true;
    }
    if (k->references < k->updates.found && !(changed = add_references(k))) return false;
    if (!changed) return true;
  }
  return true;
}

/* Close the recorded functions: funcs receives them, and x[] the values that they capture, behind the
 * operands. *operands: how many both are together. False after failing. */
static bool close_functions(control *k, size_t functions, bool hoist, ir_ref *funcs, size_t *operands) {
  op_captured captured;
  bool good = op_close(k->c.ir, k->recorded, functions, hoist, funcs, &captured);
  size_t all = k->count + captured.count;
  ir_ref *x = good ? ir_resize(k->mem, k->x, k->room * sizeof *x, (all + 1) * sizeof *x) : NULL;
  if (x) {
    k->x = x;
    k->room = all + 1;
    if (captured.count) memcpy(x + k->count, captured.x, captured.count * sizeof *x);
    *operands = all;
  } else if (good) {
    no_memory(k);
  }
  ir_free(k->mem, captured.x, captured.cap * sizeof *captured.x);
  return x != NULL;
}

/* The last results of the branches of a condition: the newest versions that they leave. */
static bool append_references(control *k) {
  for (int f = 0; f < 2; f++)
    for (uint32_t i = 0; i < k->updates.found; i++)
      k->results[f][k->recorded[f].result_count++] = fe_updates_after(&k->updates, f, i);
  return true;
}

/* The condition of a loop, which may end without the body. */
static bool record_condition(control *k, vf_function f, void *user) {
  uint32_t carries = k->carry_count, references = k->references;
  if (!record_function(k, 0, f, user, 1)) return false;
  bool writes = k->updates.found > references;
  for (uint32_t i = 0; i < references && !writes; i++)
    writes = fe_updates_after(&k->updates, 0, i) != k->params[0][carries - references + i];
  return !writes ||
         fe_refuse(&k->c, "the condition writes a reference; conditions only read: write it in the "
                          "body");
}

static void finish_control(control *k, ir_ref made, int room, vf_value *results) {
  fe_end_all(&k->c, end_control(k, made), room > 0 ? room : 0, results);
}

static vf_graph *graph_of(const vf_value *values, int count) {
  return values && count > 0 ? values[0].graph : NULL;
}

void vf_cond(vf_value predicate, int operand_count, const vf_value *operands, vf_function then,
             vf_function otherwise, void *user, int result_count, vf_value *results) {
  control k;
  ir_ref funcs[2], made = 0;
  size_t n;
  bool good = begin_control(&k, predicate.graph, "cond") && fe_operands(&k.c, &predicate, 1) &&
              add_operands(&k, "operands", operand_count, operands) &&
              is_list(&k, "results", result_count, results) && choose_dtypes(&k) &&
              record_function(&k, 0, then, user, (size_t)result_count) &&
              record_function(&k, 1, otherwise, user, (size_t)result_count) && append_references(&k) &&
              close_functions(&k, 2, false, funcs, &n);
  if (good) made = op_cond(k.c.ir, predicate.id, k.x, n, funcs[0], funcs[1]);
  if (!fe_updates_end(&k.updates, &k.c, made, (uint32_t)result_count)) made = 0;
  finish_control(&k, made, result_count, results);
}

void vf_while_loop(vf_function condition, vf_function body, void *user, int count, const vf_value *init,
                   int64_t max_trips, vf_value *results) {
  control k;
  ir_ref funcs[2], made = 0;
  size_t n;
  bool good = begin_control(&k, graph_of(init, count), "while_loop") &&
              add_operands(&k, "values of the state", count, init) && is_list(&k, "results", count, results);
  if (good) k.carry_count = (uint32_t)count;
  good = good && choose_dtypes(&k) && record_iterations(&k, 1, body, user, (size_t)count) &&
         record_condition(&k, condition, user) && close_functions(&k, 2, true, funcs, &n);
  if (good) made = op_while(k.c.ir, k.x, n, k.carry_count, funcs[0], funcs[1], max_trips);
  if (!fe_updates_end(&k.updates, &k.c, made, (uint32_t)count)) made = 0;
  finish_control(&k, made, count, results);
}

void vf_scan(vf_function body, void *user, int carry_count, const vf_value *init, int xs_count,
             const vf_value *xs, int ys_count, int64_t length, bool reverse, vf_value *carries,
             vf_value *ys) {
  control k;
  ir_ref func, made = 0, iterations = 0;
  size_t n;
  vf_graph *graph = graph_of(init, carry_count);
  bool good = begin_control(&k, graph ? graph : graph_of(xs, xs_count), "scan") &&
              add_operands(&k, "values of the state", carry_count, init) &&
              add_operands(&k, "operands to slice", xs_count, xs) &&
              is_list(&k, "values of the state", carry_count, carries) && is_list(&k, "stacks", ys_count, ys);
  if (good && length < -1)
    good = fe_refuse(
        &k.c, "the length is %lld; it must be a number of iterations, or -1 for that of the sliced operands",
        (long long)length);
  if (good) k.carry_count = (uint32_t)carry_count, k.slice_count = (uint32_t)xs_count;
  if (good && length >= 0) good = (iterations = ir_index(k.c.ir, length)) != 0;
  good = good && choose_dtypes(&k) &&
         record_iterations(&k, 0, body, user, (size_t)carry_count + (size_t)ys_count) &&
         close_functions(&k, 1, true, &func, &n);
  ir_scan_state state = {k.carry_count, k.slice_count, reverse};
  if (good) made = op_scan(k.c.ir, k.x, n, state, func, iterations);
  if (!fe_updates_end(&k.updates, &k.c, made, (uint32_t)carry_count)) made = 0;
  vf_value all = fe_end(&k.c, end_control(&k, made));
  for (int i = 0; i < carry_count + ys_count; i++) {
    vf_value *out = i < carry_count ? carries + i : ys + i - carry_count;
    if (!(i < carry_count ? carries : ys)) continue;
    *out = all;
    uint32_t hidden = i < carry_count ? 0 : k.references;
    if (all.id) out->id = ir_src(k.c.ir, all.id, (uint32_t)i + hidden);
  }
}

void vf_checkpoint(vf_function f, void *user, int operand_count, const vf_value *operands, int result_count,
                   vf_value *results) {
  control k;
  ir_ref func, made = 0;
  size_t n;
  bool good = begin_control(&k, graph_of(operands, operand_count), "checkpoint") &&
              add_operands(&k, "operands", operand_count, operands) &&
              is_list(&k, "results", result_count, results) && choose_dtypes(&k) &&
              record_iterations(&k, 0, f, user, (size_t)result_count) &&
              close_functions(&k, 1, false, &func, &n);
  if (good) made = op_checkpoint(k.c.ir, k.x, n, k.references, func);
  if (!fe_updates_end(&k.updates, &k.c, made, 0)) made = 0;
  const ir_node *all = made ? ir_get(k.c.ir, made) : NULL;
  if (all) made = ir_tuple(k.c.ir, all->src + k.references, all->nsrc - k.references);
  finish_control(&k, made, result_count, results);
}
