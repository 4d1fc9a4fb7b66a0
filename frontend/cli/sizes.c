/* The size variables of a graph, solved from the shapes of its inputs. */
#include "frontend/cli/bind.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/api/found_sizes.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"

static ir_ref dim_of(const cli_binder *b, size_t param, int axis) {
  ir_ref dims[2 * IR_MAX_RANK];
  ir_physical(&b->s->g, b->block->params[param].ref, dims);
  return dims[axis];
}

static size_t var_number(const cli_binder *b, ir_ref var) {
  size_t count = b->out->var_count, i = ir_find_ref(b->out->vars, count, var); /* ascending */
  return i < count && b->out->vars[i] == var ? i : count;
}

static const char *var_name(const cli_binder *b, size_t var) {
  return ir_name_text(&b->s->g, ir_get(&b->s->g, b->out->vars[var])->arg);
}

typedef struct declared {
  int64_t lo, hi, divisor;
} declared;
static declared declared_of(const cli_binder *b, size_t var) {
  declared d = {INT64_MIN, INT64_MAX, 1};
  const ir_node *n = ir_get(&b->s->g, b->out->vars[var]);
  ir_is_const(&b->s->g, n->src[0], &d.lo);
  ir_is_const(&b->s->g, n->src[1], &d.hi);
  ir_is_const(&b->s->g, n->src[2], &d.divisor);
  return d;
}

/* Check a value against the declaration of a variable. reason: what is wrong; empty when nothing is. */
static void check_value(const cli_binder *b, size_t var, int64_t value, char *reason, size_t size) {
  declared d = declared_of(b, var);
  const char *name = var_name(b, var);
  *reason = '\0';
  if (value < d.lo || value > d.hi)
    snprintf(reason, size, "%s = %lld, which is not within its bounds %lld..%lld", name, (long long)value,
             (long long)d.lo, (long long)d.hi);
  else if (value % d.divisor != 0)
    snprintf(reason, size, "%s = %lld, which is not a multiple of its divisor %lld", name, (long long)value,
             (long long)d.divisor);
}

bool cli_value_of(const cli_binder *b, ir_ref expr, int64_t *value) {
  ir_error ignored = {0};
  size_t count = 0, var = var_number(b, expr);
  if (ir_is_const(&b->s->g, expr, value)) return true;
  if (var < b->out->var_count) {
    *value = b->out->values[var];
    return b->known[var];
  }
  for (size_t i = 0; i < b->out->var_count; i++)
    if (b->known[i]) b->scratch[count++] = (ir_var_value){b->out->vars[i], b->out->values[i]};
  return ir_eval_index(&b->s->g, expr, b->scratch, count, NULL, 0, value, &ignored) == IR_OK;
}

/* The only variable of expr that has no value yet; var_count when there is none or more than one. */
static size_t lone_unknown(const cli_binder *b, ir_ref expr) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, found = b->out->var_count;
  bool one = ir_reachable(&b->s->g, &expr, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && one; i++) {
    size_t var = ir_op_of(&b->s->g, live[i]) == IR_OP_VAR ? var_number(b, live[i]) : b->out->var_count;
    if (var == b->out->var_count || b->known[var]) continue;
    one = found == b->out->var_count;
    found = var;
  }
  ir_free(b->s->g.mem, live, cap * sizeof *live);
  return one ? found : b->out->var_count;
}

/* The value of expr when the variable has the step-th of its values; INT64_MAX on overflow. */
static int64_t try_value(cli_binder *b, ir_ref expr, size_t var, declared d, uint64_t step) {
  int64_t value = INT64_MAX;
  b->known[var] = true;
  b->out->values[var] = (int64_t)((uint64_t)d.lo + step * (uint64_t)d.divisor);
  if (!cli_value_of(b, expr, &value)) value = INT64_MAX;
  b->known[var] = false;
  return value;
}

typedef enum answers { NO_ANSWER, ONE_ANSWER, MORE_ANSWERS } answers;

/* Find the value of the variable for which expr, taken to be monotone in it, has this size. */
static answers solve_size(cli_binder *b, ir_ref expr, size_t var, int64_t size) {
  declared d = declared_of(b, var);
  int64_t past = d.lo % d.divisor;
  if (past) d.lo += past > 0 ? d.divisor - past : -past;
  if (d.lo > d.hi) return NO_ANSWER;
  uint64_t last = ((uint64_t)d.hi - (uint64_t)d.lo) / (uint64_t)d.divisor, from = 0, to = last;
  bool falls = try_value(b, expr, var, d, last) < try_value(b, expr, var, d, 0);
  while (from < to) { /* bisect for the first step at which expr reaches the size */
    uint64_t middle = from + (to - from) / 2;
    int64_t value = try_value(b, expr, var, d, middle);
    if (falls ? value > size : value < size) from = middle + 1;
    else to = middle;
  }
  if (try_value(b, expr, var, d, from) != size) return NO_ANSWER;
  if (from < last && try_value(b, expr, var, d, from + 1) == size) return MORE_ANSWERS;
  try_value(b, expr, var, d, from); /* sets the variable */
  b->known[var] = true;
  return ONE_ANSWER;
}

/* "axis 0, (n*2)," */
static void name_axis(const cli_binder *b, size_t p, int axis, char *out, size_t size) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_expr(&b->s->g, dim_of(b, p, axis), &text);
  snprintf(out, size, "axis %d, %.100s,", axis, ir_text_get(&text));
  ir_text_free(&text);
}

/* Find a variable from the size of one axis: the axis is the variable (direct), or an expression of it. */
static int read_axis_size(cli_binder *b, size_t p, int axis, bool direct, bool *progress) {
  ir_ref dim = dim_of(b, p, axis);
  int64_t size = b->out->arrays[p].shape[axis];
  size_t var = lone_unknown(b, dim);
  char reason[200];
  if (var == b->out->var_count || (dim == b->out->vars[var]) != direct) return CLI_OK;
  if (!direct) {
    answers found = solve_size(b, dim, var, size);
    if (found == NO_ANSWER) {
      name_axis(b, p, axis, reason, sizeof reason);
      return cli_wrong_shape(b, p, "no %.60s makes %s equal to %lld", var_name(b, var), reason,
                             (long long)size);
    }
    *progress |= found == ONE_ANSWER;
    return CLI_OK;
  }
  check_value(b, var, size, reason, sizeof reason);
  if (*reason) return cli_wrong_shape(b, p, "axis %d makes %s", axis, reason);
  b->out->values[var] = size;
  *progress = b->known[var] = true;
  return CLI_OK;
}

/* Read the axes until no further variable is found: first the axes that are variables, then the others. */
static int solve_all(cli_binder *b) {
  bool direct = true;
  for (bool progress = true; progress || direct;) {
    if (!progress) direct = false;
    progress = false;
    for (size_t p = 0; p < b->block->param_count; p++)
      for (int axis = 0; axis < b->out->arrays[p].rank; axis++) {
        int status = read_axis_size(b, p, axis, direct, &progress);
        if (status) return status;
      }
  }
  return CLI_OK;
}

/* Is it a variable that --size has given? */
static bool is_given(const cli_binder *b, ir_ref dim) {
  for (size_t v = 0; v < b->out->var_count; v++)
    for (size_t i = 0; dim == b->out->vars[v] && i < b->sizes->count; i++)
      if (cli_is_called(&b->sizes->items[i], var_name(b, v))) return true;
  return false;
}

static int check_axis(cli_binder *b, size_t p, int axis) {
  ir_ref dim = dim_of(b, p, axis);
  int64_t value = 0, size = b->out->arrays[p].shape[axis];
  bool done = cli_value_of(b, dim, &value);
  if (done && value == size) return CLI_OK;
  if (ir_is_const(&b->s->g, dim, &value))
    return cli_wrong_shape(b, p, "axis %d has to be %lld", axis, (long long)value);
  char name[200];
  name_axis(b, p, axis, name, sizeof name);
  if (!done) return cli_wrong_shape(b, p, "%s needs more than 64 bits for the sizes given", name);
  return cli_wrong_shape(b, p, "%s has to be %lld by %s", name, (long long)value,
                         is_given(b, dim) ? "--size; leave that out" : "the other sizes");
}

static int check_sizes(cli_binder *b) {
  int status = CLI_OK;
  for (size_t i = 0; i < b->out->var_count && !status && !b->seeded; i++)
    if (!b->known[i])
      status = cli_usage(b->s->command, "the inputs do not tell the size %s; give it as --size %s=VALUE",
                         var_name(b, i), var_name(b, i));
  for (size_t p = 0; p < b->block->param_count && !status; p++)
    for (int axis = 0; axis < b->out->arrays[p].rank && !status; axis++) status = check_axis(b, p, axis);
  return status;
}

static int unknown_variable(const cli_binder *b, const cli_pair *pair) {
  char names[200] = "no variables";
  size_t used = 0;
  for (size_t i = 0; i < b->out->var_count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", i ? ", " : "", var_name(b, i));
  return cli_usage(b->s->command, "--size: @%s has no variable %.*s; it has %s", b->block->name,
                   (int)pair->length, pair->name, names);
}

/* --size */
static int read_sizes(cli_binder *b, const cli_pairs *sizes) {
  for (size_t i = 0; i < sizes->count; i++) {
    const cli_pair *pair = &sizes->items[i];
    size_t var = 0;
    char *end, reason[200];
    while (var < b->out->var_count && !cli_is_called(pair, var_name(b, var))) var++;
    if (var == b->out->var_count) return unknown_variable(b, pair);
    if (b->known[var]) return cli_usage(b->s->command, "--size %s is given twice", var_name(b, var));
    b->out->values[var] = strtoll(pair->text, &end, 10);
    if (*end) return cli_usage(b->s->command, "--size takes NAME=INTEGER, found '%s'", pair->name);
    check_value(b, var, b->out->values[var], reason, sizeof reason);
    if (*reason) return cli_usage(b->s->command, "--size: %s", reason);
    b->known[var] = true;
  }
  return CLI_OK;
}

/* Sizes that the graph finds out from the elements of its inputs. */
static int find_sizes(cli_binder *b, ir_ref results) {
  cli_binding *out = b->out;
  ir_graph *g = &b->s->g;
  ir_error *error = &b->s->error;
  size_t params = b->block->param_count;
  fe_found found;
  ir_binding_input *inputs = ir_alloc(g->mem, params * sizeof *inputs);
  bool good =
      fe_found_list(g, results, out->params, params, out->vars, out->var_count, &found, error) && inputs;
  for (size_t i = 0; i < params && inputs; i++)
    inputs[i] = (ir_binding_input){out->params[i], out->arrays[i].data};
  for (size_t i = 0; i < out->var_count; i++) b->scratch[i] = (ir_var_value){out->vars[i], out->values[i]};
  if (good && found.count) good = fe_found_evaluate(g, &found, inputs, params, b->scratch, error);
  for (size_t i = 0; i < out->var_count && good && found.count; i++) {
    if (!found.is_found[i]) continue;
    out->values[i] = b->scratch[i].value;
    b->known[i] = true;
  }
  fe_found_free(&found);
  ir_free(g->mem, inputs, params * sizeof *inputs);
  return good ? CLI_OK : cli_failure(b->s->command, error);
}

int cli_solve_sizes(cli_binder *b, ir_ref results, const cli_pairs *sizes) {
  b->sizes = sizes;
  int status = read_sizes(b, sizes);
  if (!status) status = solve_all(b);
  if (!status && !b->seeded) status = find_sizes(b, results);
  return status ? status : check_sizes(b);
}

const char *cli_unknown_size(const cli_binder *b) {
  for (size_t i = 0; i < b->out->var_count; i++)
    if (!b->known[i]) return var_name(b, i);
  return NULL;
}

bool cli_size_of(const cli_binder *b, size_t param, int axis, int64_t *size) {
  return cli_value_of(b, dim_of(b, param, axis), size);
}
