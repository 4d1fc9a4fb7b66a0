/* Calls of control flow from operands and attributes. */
#include "args.h"
#include "passes/ops/build/control.h"

#define AT(name) OP_ATTR_##name

static bool count_of(const op_args *a, int attr, int64_t *out) {
  if (!op_args_int(a, attr, out)) return false;
  return (*out >= 0 && *out <= UINT16_MAX) || op_args_wrong(a, attr, a->at[attr]);
}

/* References that the functions of a call write (ir/attr.h). What one function writes, all of them return,
 * and after the call those versions come last. */
typedef struct written {
  const op_args *a;
  const ir_attr *calls[2]; /* NULL: none */
  uint32_t front, count;   /* operands that no function takes, parameters that are written */
  ir_ref *list;            /* room for the results of a function, or of the call */
  size_t room;
} written;

static bool writes(const written *w, uint32_t param) {
  for (int i = 0; i < 2; i++)
    if (w->calls[i] && ir_attr_writes(w->calls[i], 1, param)) return true;
  return false;
}

/* The functions are attributes `first` and `second`, or, where that is the same one, the only one. */
static bool begin(written *w, const op_args *a, uint32_t front, int first, int second) {
  *w = (written){.a = a, .calls = {a->at[first], first == second ? NULL : a->at[second]}, .front = front};
  for (uint32_t i = 0; front + i < a->n; i++) w->count += writes(w, i);
  for (int i = 0; i < 2 && w->count; i++)
    if (w->calls[i]) w->room += ir_function_of(a->g, w->calls[i]->expr).result_count + w->count;
  w->list = w->room ? ir_alloc(a->g->mem, w->room * sizeof *w->list) : NULL;
  return !w->room || w->list || (ir_fail(a->g->error, IR_ERR_MEMORY, "%s: out of memory", a->who), false);
}

/* What call `number` leaves of a reference: its last results, or what it was given. */
static ir_ref version(const written *w, int number, uint32_t param) {
  const ir_attr *call = w->calls[number];
  ir_function f = ir_function_of(w->a->g, call->expr);
  for (size_t k = 0; k < call->written_count; k++)
    if (call->written[k] == param) return f.results[f.result_count - call->written_count + k];
  return f.params[param];
}

/* The function of a call, whose results are: of the first `state` parameters the versions of those that are
 * written, and the results that it returns in place of the others; the other results; other versions. 0 where
 * func is. */
static ir_ref function_of(const written *w, int number, uint32_t state) {
  const op_args *a = w->a;
  const ir_attr *call = w->calls[number];
  ir_function f = ir_function_of(a->g, call->expr);
  if (!w->count || f.param_count + w->front != a->n || state > f.param_count) return call->expr;
  uint32_t made = 0, given = 0, returned = f.result_count - (uint32_t)call->written_count;
  for (uint32_t i = 0; i < state; i++)
    if (writes(w, i)) w->list[made++] = version(w, number, i);
    else if (given < returned) w->list[made++] = f.results[given++];
  while (given < returned) w->list[made++] = f.results[given++];
  for (uint32_t i = state; i < f.param_count; i++)
    if (writes(w, i)) w->list[made++] = version(w, number, i);
  return ir_func(a->g, w->list, made, f.params, f.param_count);
}

/* The results of a call in the order of text: what functions return, then versions. */
static ir_ref end(written *w, ir_ref made, uint32_t state) {
  const op_args *a = w->a;
  uint32_t at = 0, all = made && w->count ? ir_get(a->g, made)->nsrc : 0;
  for (uint32_t i = 0; i < all; i++)
    if (i >= state || !writes(w, i)) w->list[at++] = ir_src(a->g, made, i);
  for (uint32_t i = 0; i < state && i < all; i++)
    if (writes(w, i)) w->list[at++] = ir_src(a->g, made, i);
  if (all) made = ir_tuple(a->g, w->list, all);
  ir_free(a->g->mem, w->list, w->room * sizeof *w->list);
  return made;
}

/* Loops: what their functions write is part of the state. */
static bool in_state(const written *w, uint32_t state) {
  for (uint32_t i = state; i < w->a->n; i++)
    if (writes(w, i))
      return op_refuse(
                 w->a->g,
                 "%s: the function writes operand %u, a reference, and the state has %u; a reference that "
                 "a loop writes is part of the state: give it among the first operands, and count it in "
                 "carries",
                 w->a->who, i + 1, state) != 0;
  return true;
}

ir_ref op_form_cond(const op_args *a) {
  ir_ref then = 0, otherwise = 0;
  written w;
  if (!op_args_graph(a, AT(then), &then) || !op_args_graph(a, AT(else), &otherwise) ||
      !begin(&w, a, 1, AT(then), AT(else)))
    return 0;
  then = function_of(&w, 0, 0), otherwise = function_of(&w, 1, 0);
  return end(&w, op_cond(a->g, a->x[0], a->x + 1, a->n - 1, then, otherwise), 0);
}

ir_ref op_form_while(const op_args *a) {
  ir_ref condition = 0, body = 0;
  int64_t bound = -1;
  written w;
  if (!op_args_graph(a, AT(while), &condition) || !op_args_graph(a, AT(do), &body) ||
      !op_args_int(a, AT(bound), &bound))
    return 0;
  int64_t carries = ir_function_of(a->g, body).result_count;
  if (!count_of(a, AT(carries), &carries)) return 0;
  if (a->at[AT(while)]->written_count)
    return op_refuse(a->g, "%s: the condition writes a reference; conditions only read: write it in the body",
                     a->who);
  if (!begin(&w, a, 0, AT(do), AT(do))) return 0;
  bool good = in_state(&w, (uint32_t)carries) && (body = function_of(&w, 0, (uint32_t)carries)) != 0;
  return end(&w, good ? op_while(a->g, a->x, a->n, (size_t)carries, condition, body, bound) : 0,
             (uint32_t)carries);
}

/* Defaults: the first operand is the state, and all up to a reference that is written; all others are
 * sliced. */
ir_ref op_form_scan(const op_args *a) {
  ir_ref body = 0, length = 0;
  int64_t carries = a->n > 0, sliced;
  bool reverse = false;
  written w;
  if (!op_args_graph(a, AT(do), &body) || !op_args_expr(a, AT(length), &length) ||
      !op_args_bool(a, AT(reverse), &reverse) || !begin(&w, a, 0, AT(do), AT(do)))
    return 0;
  for (uint32_t i = 0; i < a->n; i++)
    if (writes(&w, i)) carries = (int64_t)i + 1;
  if (!count_of(a, AT(carries), &carries)) return end(&w, 0, 0);
  sliced = (int64_t)a->n > carries ? (int64_t)a->n - carries : 0;
  if (!count_of(a, AT(sliced), &sliced)) return end(&w, 0, 0);
  ir_scan_state state = {(uint32_t)carries, (uint32_t)sliced, reverse};
  bool good = in_state(&w, state.carries) && (body = function_of(&w, 0, state.carries)) != 0;
  return end(&w, good ? op_scan(a->g, a->x, a->n, state, body, length) : 0, state.carries);
}

ir_ref op_form_checkpoint(const op_args *a) {
  ir_ref body = 0;
  written w;
  if (!op_args_graph(a, AT(do), &body) || !begin(&w, a, 0, AT(do), AT(do))) return 0;
  return end(&w, op_checkpoint(a->g, a->x, a->n, function_of(&w, 0, 0)), 0);
}
