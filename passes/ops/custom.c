/* Custom operations: a use is checked, then recorded as a CUSTOM node with its results, or by the operation's
 * own builder. */
#include "custom.h"

#include <stdio.h>
#include <string.h>

#include "passes/ops/derivative/derivative.h"
#include "passes/ops/sharding/sharding.h"

const op_custom *op_custom_find(const ir_graph *g, const char *name, size_t length) {
  return g->customs ? (const op_custom *)g->customs->find(g->customs, name, length) : NULL;
}

/* Reports the failure of a user's function, with its reason if it gave one. */
static bool refuse_user_failure(ir_graph *g, const op_custom *c, const char *what, const char *why) {
  if (g->error->status == IR_OK)
    op_refuse(g, "%s: %s%.*s", c->base.name, *why ? "" : what, OP_CUSTOM_WHY, why);
  return false;
}

/* attributes */

static bool parse_bool(const ir_attr *a, ir_value *out) {
  bool yes = a->word_length == 4 && memcmp(a->word, "true", 4) == 0;
  if (!yes && (a->word_length != 5 || memcmp(a->word, "false", 5) != 0)) return false;
  out->i = yes;
  return true;
}

static bool read_value(const ir_graph *g, const ir_attr *a, ir_dtype dtype, ir_value *out) {
  int64_t number;
  if (dtype == IR_BOOL) return a->kind == IR_ATTR_WORD && parse_bool(a, out);
  if (a->kind == IR_ATTR_FLOAT && dtype == IR_F64) return out->f = a->number, true;
  if (a->kind != IR_ATTR_EXPR || !a->expr || !ir_is_const(g, a->expr, &number)) return false;
  if (dtype == IR_F64) out->f = (double)number;
  else out->i = number;
  return true;
}

/* The text of values at `at` and behind. */
static bool read_text(const ir_attr *a, uint32_t at, ir_value *out) {
  size_t room = (IR_CUSTOM_MAX - at) * sizeof *out;
  if (a->kind != IR_ATTR_WORD || a->word_length >= room || memchr(a->word, '\0', a->word_length))
    return false;
  memset(out, 0, room);
  memcpy(out, a->word, a->word_length);
  return true;
}

static const char *accepted_values(ir_dtype dtype) {
  return dtype == IR_NONE   ? "a text of fewer than 128 bytes, such as \"loss\""
         : dtype == IR_BOOL ? "true or false"
         : dtype == IR_I64  ? "an integer, such as 2"
                            : "a number, such as 0.5";
}

static const ir_attr *find_attr(const ir_attr *attrs, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (attrs[i].name_length == strlen(name) && memcmp(attrs[i].name, name, attrs[i].name_length) == 0)
      return &attrs[i];
  return NULL;
}

static bool read_attributes(ir_graph *g, const op_custom *c, const ir_attr *attrs, size_t count,
                            ir_value *out) {
  size_t found = 0;
  for (uint32_t i = 0; i < c->base.attribute_count; i++) {
    const ir_custom_attribute *want = &c->base.attributes[i];
    const ir_attr *given = find_attr(attrs, count, want->name);
    out[i] = want->value;
    if (!given && !want->optional)
      return op_refuse(g, "%s: attribute %s is missing; it is %s", c->base.name, want->name,
                       accepted_values(want->dtype)) != 0;
    bool good = !given || (want->dtype == IR_NONE ? read_text(given, i, &out[i])
                                                  : read_value(g, given, want->dtype, &out[i]));
    if (!good)
      return op_refuse(g, "%s: attribute %s takes %s", c->base.name, want->name,
                       accepted_values(want->dtype)) != 0;
    found += given != NULL;
  }
  for (size_t k = 0; k < count && found < count; k++) {
    uint32_t i = 0;
    while (i < c->base.attribute_count && find_attr(&attrs[k], 1, c->base.attributes[i].name) == NULL) i++;
    bool twice = find_attr(attrs, k, i < c->base.attribute_count ? c->base.attributes[i].name : "") != NULL;
    if (i == c->base.attribute_count || twice)
      return op_refuse(g, "%s: %s attribute %.*s", c->base.name, twice ? "given twice:" : "there is no",
                       (int)attrs[k].name_length, attrs[k].name) != 0;
  }
  return true;
}

/* results */

static bool find_types(const op_custom_site *s, ir_custom_call *call, ir_ref (*dims)[IR_MAX_RANK]) {
  ir_graph *g = s->g;
  const op_custom *c = s->custom;
  ir_dtype dtypes[IR_CUSTOM_MAX] = {0};
  uint32_t ranks[IR_CUSTOM_MAX] = {0};
  char why[OP_CUSTOM_WHY] = "";
  if (c->types) {
    if (!c->types(s, dtypes, ranks, dims, why))
      return refuse_user_failure(g, c, "its function for shapes failed without a reason", why);
  } else {
    for (uint32_t i = 0; i < c->base.results; i++) {
      dtypes[i] = ir_dtype_of(g, s->operands[0]);
      ranks[i] = ir_rank(g, s->operands[0]);
      if (ranks[i]) memcpy(dims[i], op_dims(g, s->operands[0]), ranks[i] * sizeof *dims[i]);
    }
  }
  for (uint32_t i = 0; i < c->base.results; i++) {
    if (dtypes[i] <= IR_NONE || dtypes[i] >= IR_INDEX || ranks[i] > IR_MAX_RANK)
      return op_refuse(g, "%s: its function for shapes gives result %u %s", c->base.name, i + 1,
                       ranks[i] > IR_MAX_RANK ? "too many axes" : "no dtype of a tensor") != 0;
    if (!op_sizes(g, c->base.name, dims[i], ranks[i], dims[i])) return false;
    if (!op_bytes_fit(g, dtypes[i], dims[i], ranks[i]))
      return op_refuse(g, "%s: result %u of shape %s%s is too large; its bytes must number less than 2^63",
                       c->base.name, i + 1, ir_dtypes[dtypes[i]].name, OP_LIST(dims[i], ranks[i])) != 0;
    call->dtypes[i] = (uint8_t)dtypes[i];
    call->ranks[i] = (uint8_t)ranks[i];
  }
  return true;
}

static ir_ref record_call(const op_custom_site *s) {
  ir_graph *g = s->g;
  const op_custom *c = s->custom;
  ir_ref dims[IR_CUSTOM_MAX][IR_MAX_RANK], flat[IR_CUSTOM_MAX * IR_MAX_RANK], results[IR_CUSTOM_MAX];
  ir_custom_call call;
  uint32_t count = 0;
  memset(&call, 0, sizeof call);
  snprintf(call.name, sizeof call.name, "%s", c->base.name);
  call.operands = c->base.operands, call.results = c->base.results, call.attributes = c->base.attribute_count;
  memcpy(call.values, s->values, sizeof call.values); /* those of no attribute are 0 */
  if (!find_types(s, &call, dims)) return 0;
  for (uint32_t i = 0; i < call.results; i++)
    for (uint32_t k = 0; k < call.ranks[i]; k++) flat[count++] = dims[i][k];
  ir_ref node = ir_custom_make(g, &call, s->operands, flat, count);
  if (!node) return 0;
  for (uint32_t i = 0; i < call.results; i++)
    if (!(results[i] = ir_custom_result(g, node, &call, i))) return 0;
  return call.results == 1 ? results[0] : ir_tuple(g, results, call.results);
}

static ir_ref record_composed(const op_custom_site *s) {
  ir_ref results[IR_CUSTOM_MAX] = {0};
  char why[OP_CUSTOM_WHY] = "";
  if (!s->custom->compose(s, results, why))
    return refuse_user_failure(s->g, s->custom, "composing it failed without a reason", why);
  for (uint32_t i = 0; i < s->custom->base.results; i++)
    if (!results[i]) return refuse_user_failure(s->g, s->custom, "composing it left out a result", why);
  return s->custom->base.results == 1 ? results[0] : ir_tuple(s->g, results, s->custom->base.results);
}

/* Records by a rule for batches: its operands are arrays with leading batch axes; its results become batched
 * values again. */
static ir_ref record_batched(const op_custom_site *s, ir_ref batch) {
  ir_graph *g = s->g;
  ir_ref x[IR_CUSTOM_MAX], results[IR_CUSTOM_MAX] = {0};
  uint32_t lead = ir_get(g, batch)->nsrc, count = s->custom->base.results;
  char why[OP_CUSTOM_WHY] = "";
  op_custom_site inside = *s;
  inside.operands = x;
  for (uint32_t i = 0; i < s->custom->base.operands; i++) {
    ir_ref whole = op_broadcast_batch_dims(g, s->operands[i], ir_get(g, batch)->src, lead);
    if (!(x[i] = whole ? op_rebatch(g, whole, 0) : 0)) return 0;
  }
  if (!s->custom->batched(&inside, lead, results, why))
    return refuse_user_failure(g, s->custom, "its rule for batches failed without a reason", why);
  for (uint32_t i = 0; i < count; i++) {
    if (!results[i]) return refuse_user_failure(g, s->custom, "its rule for batches left out a result", why);
    if (!(results[i] = op_default_dtype(g, results[i]))) return 0;
    bool leads = ir_rank(g, results[i]) >= lead;
    for (uint32_t k = 0; k < lead && leads; k++) leads = ir_dim(g, results[i], k) == ir_src(g, batch, k);
    if (!leads)
      return op_refuse(
          g, "%s: its rule for batches gave a result of shape %s; the first %u axes are those of the batch",
          s->custom->base.name, OP_TYPE(results[i]), lead);
    if (!(results[i] = op_rebatch(g, results[i], lead))) return 0;
  }
  return count == 1 ? results[0] : ir_tuple(g, results, count);
}

/* As in a dump: the operands are arrays with `lead` batch axes, and so are the results. */
static ir_ref record_physical(const op_custom_site *s, int64_t lead) {
  ir_ref x[IR_CUSTOM_MAX], results[IR_CUSTOM_MAX];
  op_custom_site inside = *s;
  uint32_t count = s->custom->base.results;
  inside.operands = x;
  for (uint32_t i = 0; i < s->custom->base.operands; i++)
    if (!(x[i] = op_rebatch(s->g, s->operands[i], lead))) return 0;
  ir_ref made = record_call(&inside);
  for (uint32_t i = 0; i < count && made; i++) {
    results[i] = op_rebatch(s->g, count == 1 ? made : ir_src(s->g, made, i), 0);
    if (!results[i]) return 0;
  }
  return !made ? 0 : count == 1 ? results[0] : ir_tuple(s->g, results, count);
}

/* Reads and removes the attribute batch_dims, which every operation with a function has. */
static bool strip_batch_dims(ir_graph *g, const op_custom *c, const ir_attr *attrs, size_t *count,
                             int64_t *out) {
  const ir_attr *last = *count ? &attrs[*count - 1] : NULL;
  if (!last || c->compose || !find_attr(last, 1, "batch_dims")) return true;
  --*count;
  if (last->kind == IR_ATTR_EXPR && last->expr && ir_is_const(g, last->expr, out) && *out >= 0) return true;
  return op_refuse(g, "%s: attribute batch_dims takes a number of axes, such as 1", c->base.name) != 0;
}

ir_ref op_custom_apply(ir_graph *g, const op_custom *c, const ir_ref *operands, size_t n,
                       const ir_attr *attrs, size_t attr_count) {
  ir_ref x[IR_CUSTOM_MAX];
  ir_value values[IR_CUSTOM_MAX] = {{0}};
  int64_t physical = 0;
  if (n != c->base.operands)
    return op_refuse(g, "%s: %zu operand%s given; takes %u", c->base.name, n, n == 1 ? "" : "s",
                     c->base.operands);
  if (!strip_batch_dims(g, c, attrs, &attr_count, &physical) ||
      !read_attributes(g, c, attrs, attr_count, values) || !op_tensors(g, c->base.name, operands, n))
    return 0;
  for (size_t i = 0; i < n; i++)
    if (!(x[i] = op_default_dtype(g, operands[i]))) return 0;
  op_custom_site site = {g, c, x, values};
  if (c->compose) return record_composed(&site);
  ir_ref batch = 0;
  if (c->batched && (!op_batches_align(g, c->base.name, x, (uint32_t)n) ||
                     !ir_batch_of(g, IR_OP_STACK, 0, x, (uint32_t)n, &batch)))
    return 0;
  if (batch) return record_batched(&site, batch);
  return physical ? record_physical(&site, physical) : record_call(&site);
}

/* derivatives */

typedef struct direction {
  ir_custom_call call;
  op_custom_site site;
  ir_ref results[IR_CUSTOM_MAX];
} direction;

static bool begin_direction(direction *d, ir_graph *g, ir_ref node) {
  ir_custom_of(g, node, &d->call);
  const op_custom *c = op_custom_find(g, d->call.name, strlen(d->call.name));
  d->site = (op_custom_site){g, c, ir_get(g, node)->src, d->call.values};
  if (!c || c->base.operands != d->call.operands || c->base.results != d->call.results)
    return !ir_fail(g->error, IR_ERR_INTERNAL, "%s: it was recorded with another form, or none is registered",
                    d->call.name);
  for (uint32_t i = 0; i < d->call.results; i++)
    if (!(d->results[i] = ir_custom_result(g, node, &d->call, i))) return false;
  return true;
}

/* A derivative made for x must have the shape and dtype of x; its batch is left to the caller. */
static bool check_partial(const direction *d, const char *rule, uint32_t number, ir_ref x, ir_ref *part) {
  ir_graph *g = d->site.g;
  if (!*part) return true;
  if (ir_get(g, *part)->weak && !(*part = op_convert(g, d->call.name, *part, ir_dtype_of(g, x))))
    return false;
  if (ir_shape(g, *part) == ir_shape(g, x) && ir_dtype_of(g, *part) == ir_dtype_of(g, x)) return true;
  return op_refuse(g, "%s: its %s returns derivative %u of shape %s; the value that it is for has %s",
                   d->call.name, rule, number + 1, OP_TYPE(*part), OP_TYPE(x)) != 0;
}

/* Cotangents or tangents, zeros where none is given; 0 for a value that is no float. */
static bool fill_in(const direction *d, const ir_ref *given, const ir_ref *like, uint32_t count,
                    ir_ref *out) {
  ir_graph *g = d->site.g;
  for (uint32_t i = 0; i < count; i++) {
    bool real = ir_is_float(ir_dtype_of(g, like[i]));
    out[i] = given[i];
    if (!out[i] && real && !(out[i] = op_zeros_like(g, like[i]))) return false;
  }
  return true;
}

bool op_custom_pull(ir_graph *g, ir_ref node, const ir_ref *cotangents, ir_ref *parts) {
  direction d;
  ir_ref given[IR_CUSTOM_MAX];
  char why[OP_CUSTOM_WHY] = "";
  if (!begin_direction(&d, g, node)) return false;
  const op_custom *c = d.site.custom;
  if (!c->pull)
    return op_refuse(
               g,
               "%s: the custom operation has no vjp; register one, compose it of other operations, or keep "
               "derivatives away with stop_gradient",
               c->base.name) != 0;
  if (!fill_in(&d, cotangents, d.results, d.call.results, given)) return false;
  if (!c->pull(&d.site, d.results, given, parts, why))
    return refuse_user_failure(g, c, "its vjp failed without a reason", why);
  for (uint32_t i = 0; i < d.call.operands; i++) {
    if (!ir_is_float(ir_dtype_of(g, d.site.operands[i]))) parts[i] = 0;
    if (!check_partial(&d, "vjp", i, d.site.operands[i], &parts[i])) return false;
  }
  return true;
}

bool op_custom_push(ir_graph *g, ir_ref node, const ir_ref *tangents, ir_ref *parts) {
  direction d;
  ir_ref given[IR_CUSTOM_MAX];
  char why[OP_CUSTOM_WHY] = "";
  if (!begin_direction(&d, g, node)) return false;
  const op_custom *c = d.site.custom;
  if (!c->push)
    return op_refuse(g,
                     "%s: the custom operation has no jvp; register one, or compose it of other operations",
                     c->base.name) != 0;
  if (!fill_in(&d, tangents, d.site.operands, d.call.operands, given)) return false;
  if (!c->push(&d.site, d.results, given, parts, why))
    return refuse_user_failure(g, c, "its jvp failed without a reason", why);
  for (uint32_t i = 0; i < d.call.results; i++)
    if (!check_partial(&d, "jvp", i, d.results[i], &parts[i])) return false;
  return true;
}

bool op_custom_sharding(ir_graph *g, ir_ref node, op_sharding *out) {
  direction d;
  ir_ref shapes[2 * IR_CUSTOM_MAX];
  *out = (op_sharding){0};
  if (!begin_direction(&d, g, node)) return false;
  for (uint32_t i = 0; i < d.call.operands; i++) shapes[i] = ir_shape(g, d.site.operands[i]);
  for (uint32_t i = 0; i < d.call.results; i++) shapes[d.call.operands + i] = ir_shape(g, d.results[i]);
  if (!d.site.custom->sharding)
    return op_refuse(g, "%s: the custom operation has no sharding rule", d.call.name) != 0;
  op_sharding_ask ask = {.who = d.call.name,
                         .rule = d.site.custom->sharding,
                         .shapes = shapes,
                         .operands = d.call.operands,
                         .results = d.call.results};
  return op_sharding_make(g, &ask, out);
}

bool op_custom_divides(const ir_graph *g, ir_ref node) {
  ir_custom_call call;
  if (ir_op_of(g, node) != IR_OP_CUSTOM) return false;
  ir_custom_of(g, node, &call);
  const op_custom *custom = op_custom_find(g, call.name, strlen(call.name));
  return custom && custom->sharding && !call.batch && call.operands <= OP_SHARDING_OPERANDS;
}

bool op_custom_partial(ir_graph *g, ir_ref node, op_partial_rule *out) {
  direction d;
  if (!begin_direction(&d, g, node)) return false;
  *out = (op_partial_rule)d.site.custom->partial;
  return true;
}

ir_ref op_custom_flops(ir_graph *g, ir_ref node) {
  direction d;
  ir_ref all = ir_index(g, 0);
  if (!begin_direction(&d, g, node)) return 0;
  for (uint32_t i = 0; i < d.call.results; i++)
    all = pass_add(g, all, op_numel(g, op_dims(g, d.results[i]), ir_rank(g, d.results[i])));
  return pass_mul(g, all, ir_index(g, d.site.custom->flops));
}
