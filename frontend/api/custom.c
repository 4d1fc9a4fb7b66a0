/* Registering custom operations: a description is checked, copied and listed. Also how programs call them. */
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/ops.h"

/* the list */

static const ir_custom *find_custom(const ir_customs *base, const char *name, size_t length) {
  fe_customs *all = (fe_customs *)(uintptr_t)base;
  const ir_custom *own = fe_taps_find(&all->taps, name, length);
  if (own) return own;
  pthread_mutex_lock(&all->lock);
  fe_custom *c = all->first;
  while (c && (strlen(c->given.name) != length || memcmp(c->given.name, name, length) != 0)) c = c->next;
  pthread_mutex_unlock(&all->lock);
  return c ? &c->base.base : NULL;
}

void fe_customs_init(fe_customs *all, vf_context *context, const vf_options *options) {
  *all = (fe_customs){.base = {find_custom}, .context = context};
  fe_taps_init(&all->taps, options->tap, options->tap_user);
  pthread_mutex_init(&all->lock, NULL);
}

static void drop_custom(fe_custom *c) {
  rt_library_close(&c->library);
  pthread_mutex_destroy(&c->lock);
  ir_free(&c->context->mem, c, c->size);
}

void fe_customs_free(fe_customs *all) {
  for (fe_custom *c = all->first, *next; c; c = next) {
    next = c->next;
    if (c->given.release) c->given.release(c->given.user);
    drop_custom(c);
  }
  pthread_mutex_destroy(&all->lock);
}

/* running */

/* The function to call, compiled at the first call. */
static ir_status function_of(fe_custom *c, void (**out)(void), ir_error *error) {
  const vf_op_description *d = &c->given;
  pthread_mutex_lock(&c->lock);
  if (!c->function && d->source)
    rt_source_load(c->context->runtime, d->name, d->source, d->symbol ? d->symbol : d->name, &c->library,
                   &c->function, error);
  *out = c->function;
  pthread_mutex_unlock(&c->lock);
  if (!*out && !error->status)
    ir_fail(error, IR_ERR_UNSUPPORTED,
            "%s: the operation has OpenCL source alone, which the CPU does not run; register a function or C "
            "source",
            d->name);
  return error->status;
}

static ir_status run_custom(const ir_custom *base, const ir_custom_call *call,
                            const ir_custom_array *operands, const ir_custom_array *results,
                            ir_error *error) {
  fe_custom *c = (fe_custom *)(uintptr_t)base;
  void (*function)(void);
  if (function_of(c, &function, error) != IR_OK) return error->status;
  return rt_native_call(&c->native, function, base->name, c->given.user, call, operands, results, error);
}

/* The operation that a CALL step names; NULL: there is none. */
static const void *find_call(void *user, const char *name) {
  const fe_customs *all = user;
  return find_custom(&all->base, name, strlen(name));
}

static ir_status run_call(void *user, const void *found, const rt_call *step, ir_error *error) {
  (void)found; /* ir_custom_run looks it up by name, and checks its form */
  return fe_custom_call(&((fe_customs *)user)->base, step, error);
}

static bool text_of(void *user, const void *found, rt_call_text *out) {
  const fe_customs *all = user;
  const fe_custom *c = found;
  if (fe_taps_has(&all->taps, found)) return false;
  *out = (rt_call_text){c->given.opencl, c->given.symbol ? c->given.symbol : c->given.name, &c->native};
  return c->given.opencl != NULL;
}

rt_calls fe_customs_calls(fe_customs *all) { return (rt_calls){all, find_call, run_call, text_of}; }

/* checking */

static bool refuse_registration(ir_error *error, const char *name, const char *why) {
  ir_fail(error, IR_ERR_INVALID, "register: %.60s: %s", name, why);
  return false;
}

static bool is_name(const char *text) {
  size_t length = text ? strlen(text) : 0;
  if (length == 0 || length >= IR_CUSTOM_NAME || (*text >= '0' && *text <= '9')) return false;
  return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length &&
         ir_variable_name_ok(text, length);
}

static bool check_attributes(const vf_op_description *d, ir_error *error) {
  if (d->attribute_count < 0 || d->attribute_count > IR_CUSTOM_MAX || (d->attribute_count && !d->attributes))
    return refuse_registration(error, d->name, "attribute_count is 0 to 16, the length of the list");
  for (int i = 0; i < d->attribute_count; i++) {
    const vf_op_attribute *a = &d->attributes[i];
    if (!is_name(a->name) || (a->dtype != VF_BOOL && a->dtype != VF_I64 && a->dtype != VF_F64))
      return refuse_registration(
          error, d->name,
          "an attribute has a name of letters, digits and _, and dtype VF_BOOL, VF_I64 or "
          "VF_F64");
    for (int k = 0; k < i; k++)
      if (strcmp(d->attributes[k].name, a->name) == 0)
        return refuse_registration(error, d->name, "two attributes have one name");
    if (strcmp(a->name, "user") == 0 || strcmp(a->name, "message") == 0 || strcmp(a->name, "batch_dims") == 0)
      return refuse_registration(error, d->name, "user, message and batch_dims are no names of attributes");
  }
  return true;
}

static bool check_description(const vf_context *c, const vf_op_description *d, ir_error *error) {
  if (!is_name(d->name))
    return refuse_registration(
        error, d->name ? d->name : "NULL",
        "a name is 1 to 47 letters, digits and _, begins with no digit and is no dtype");
  if (op_known(d->name, strlen(d->name)))
    return refuse_registration(error, d->name, "this name belongs to an operation of viewfold");
  if (find_custom(&c->customs.base, d->name, strlen(d->name)))
    return refuse_registration(error, d->name, "this name is registered already");
  if (d->operands < 0 || d->operands > IR_CUSTOM_MAX || d->results < 1 || d->results > IR_CUSTOM_MAX)
    return refuse_registration(error, d->name, "an operation has 0 to 16 operands and 1 to 16 results");
  if (!check_attributes(d, error)) return false;
  bool native = d->function || d->source || d->opencl;
  if ((d->function != NULL) + (d->source != NULL) > 1 || native == (d->compose != NULL))
    return refuse_registration(
        error, d->name,
        "exactly one of function, source (or opencl alone) and compose says what it computes");
  if (native && !d->signature)
    return refuse_registration(error, d->name,
                               "a function needs a signature, such as int(in0, out0, i64 in0.count)");
  if (d->compose && d->batch)
    return refuse_registration(
        error, d->name, "an operation composed of others takes no rule for batches: the others have theirs");
  if (d->operands == 0 && !d->shape && !d->compose)
    return refuse_registration(error, d->name,
                               "without operands, a function for shapes says what the results are");
  if ((unsigned)d->partial > VF_PARTIAL_FIRST || d->flops < 0)
    return refuse_registration(error, d->name, "partial is a vf_op_partial, flops at least 0");
  if (d->sharding && !strstr(d->sharding, "->"))
    return refuse_registration(error, d->name, "a sharding rule is `a b -> a b`");
  return true;
}

/* copying */

/* Copy a text to *at, which advances past the copy, and add its size to *room. With *at NULL the size is
 * added and nothing is copied. Returns the copy; NULL for NULL. */
static const char *copy_text(char **at, size_t *room, const char *text) {
  if (!text) return NULL;
  size_t size = strlen(text) + 1;
  char *to = *at;
  *room += size;
  if (!to) return text;
  memcpy(to, text, size);
  *at += size;
  return to;
}

static size_t copy_strings(fe_custom *c, vf_op_description *d, char *at) {
  size_t room = 0;
  d->name = copy_text(&at, &room, d->name);
  d->signature = copy_text(&at, &room, d->signature);
  d->source = copy_text(&at, &room, d->source);
  d->symbol = copy_text(&at, &room, d->symbol);
  d->opencl = copy_text(&at, &room, d->opencl);
  d->sharding = copy_text(&at, &room, d->sharding);
  for (int i = 0; i < d->attribute_count; i++) {
    const vf_op_attribute *a = &d->attributes[i];
    const char *name = copy_text(&at, &room, a->name);
    if (c)
      c->attributes[i] = (ir_custom_attribute){
          name, (ir_dtype)a->dtype, a->optional,
          a->dtype == VF_F64 ? (ir_value){.f = a->value.f}
                             : (ir_value){.i = a->dtype == VF_BOOL ? a->value.i != 0 : a->value.i}};
  }
  return room;
}

static fe_custom *make_custom(vf_context *context, const vf_op_description *given, ir_error *error) {
  static const uint8_t partial[] = {OP_PARTIAL_NEVER, OP_PARTIAL_ALWAYS, OP_PARTIAL_ALL, OP_PARTIAL_ONE,
                                    OP_PARTIAL_FIRST};
  vf_op_description d = *given;
  size_t size = sizeof(fe_custom) + copy_strings(NULL, &d, NULL);
  fe_custom *c = ir_alloc(&context->mem, size);
  if (!c) {
    ir_fail(error, IR_ERR_MEMORY, "register: %.60s: out of memory", given->name);
    return NULL;
  }
  memset(c, 0, sizeof *c);
  c->context = context;
  c->size = size;
  c->given = *given;
  c->function = given->function;
  copy_strings(c, &c->given, c->strings);
  c->given.attributes = NULL; /* they are in c->attributes */
  c->base = (op_custom){.base = {.name = c->given.name,
                                 .operands = (uint32_t)d.operands,
                                 .results = (uint32_t)d.results,
                                 .attribute_count = (uint32_t)d.attribute_count,
                                 .attributes = c->attributes,
                                 .run = d.compose ? NULL : run_custom},
                        .sharding = c->given.sharding,
                        .partial = partial[d.partial],
                        .flops = d.flops};
  fe_custom_rules(c);
  pthread_mutex_init(&c->lock, NULL);
  if (!d.signature || rt_native_read(&c->base.base, c->given.signature, &c->native, error) == IR_OK) return c;
  drop_custom(c);
  return NULL;
}

vf_status vf_register_op(vf_context *context, const vf_op_description *description, vf_error *error) {
  ir_error failure = {0};
  vf_op_description d = {0};
  fe_custom *made = NULL;
  const char *wrong = fe_not(context, FE_CONTEXT);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "register: the context is %s", wrong);
  else if (!description) ir_fail(&failure, IR_ERR_INVALID, "register: the description is NULL");
  else if (description->size < offsetof(vf_op_description, attribute_count) ||
           description->size > sizeof d) /* a later version may have further fields */
    ir_fail(&failure, IR_ERR_INVALID,
            "register: the size of the description is %zu; set it to sizeof(vf_op_description)",
            description->size);
  if (!failure.status) memcpy(&d, description, description->size);
  if (!failure.status && check_description(context, &d, &failure)) made = make_custom(context, &d, &failure);
  if (made) {
    fe_customs *all = &context->customs;
    pthread_mutex_lock(&all->lock);
    fe_custom *same = all->first; /* another thread may have registered the name since the check */
    while (same && strcmp(same->given.name, made->given.name) != 0) same = same->next;
    if (!same) made->next = all->first, all->first = made;
    pthread_mutex_unlock(&all->lock);
    if (same)
      refuse_registration(&failure, made->given.name, "this name is registered already"), drop_custom(made);
  }
  return fe_report(error, &failure);
}
