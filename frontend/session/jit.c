/* Functions of tensors, compiled when called. A table finds the program by the signature of the call; when it
 * is full, it drops the least recently used program.
 *
 * A signature is a string of bytes: the dtype, rank and sizes of each input, where a dynamic axis has the
 * number of its variable instead of a size; then the statics. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "frontend/api/api.h"
#include "frontend/session/jit_mesh.h"
#include "runtime/cache/memo.h"

enum { CAPACITY = 64, NAME = 24 };

typedef struct variable {
  const char *name;
  int64_t lo, hi, divisor;
  int64_t size;   /* in the current call; -1: not read from an input yet */
  bool dynamic;   /* in the current call the size is within its bounds */
  vf_value value; /* while tracing */
} variable;
typedef struct axis {
  int input, axis;
  uint32_t variable;
} axis;

struct vf_jit {
  uint32_t kind;
  vf_context *context;
  vf_traced function;
  void *user;
  const char *name;
  int inputs, statics, results;
  variable *variables; /* each name once */
  axis *axes;
  uint32_t variable_count, axis_count;
  char *names;
  size_t names_size;
  fe_jit_mesh mesh; /* that programs run on */
  rt_memo programs; /* signature -> vf_program */
  ir_text key;
  vf_jit_stats stats;
  /* scratch arrays of a call */
  const void **in;
  void **out;
  int64_t *sizes;
  vf_value *values; /* inputs, then results */
  bool busy;        /* a call is under way */
};

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* making */

static void drop_program(void *program) { vf_program_destroy(program); }

static void free_jit(vf_jit *j) {
  const ir_mem *mem = &j->context->mem;
  rt_memo_free(&j->programs);
  fe_jit_mesh_free(&j->mesh);
  ir_text_free(&j->key);
  ir_free(mem, j->variables, j->axis_count * sizeof *j->variables);
  ir_free(mem, j->axes, j->axis_count * sizeof *j->axes);
  ir_free(mem, j->names, j->names_size);
  ir_free(mem, j->in, (size_t)j->inputs * sizeof *j->in);
  ir_free(mem, j->out, (size_t)j->results * sizeof *j->out);
  ir_free(mem, j->sizes, j->axis_count * sizeof *j->sizes);
  ir_free(mem, j->values, (size_t)(j->inputs + j->results) * sizeof *j->values);
  ir_free(mem, j, sizeof *j);
}

static bool allocate_tables(vf_jit *j, const vf_jit_options *o) {
  const ir_mem *mem = &j->context->mem;
  j->axis_count = (uint32_t)o->dynamic_count;
  j->names_size = strlen(o->name ? o->name : "jit") + 1;
  for (int i = 0; i < o->dynamic_count; i++) j->names_size += strlen(o->dynamic[i].name) + 1;
  j->variables = ir_alloc(mem, j->axis_count * sizeof *j->variables);
  j->axes = ir_alloc(mem, j->axis_count * sizeof *j->axes);
  j->names = ir_alloc(mem, j->names_size);
  j->in = ir_alloc(mem, (size_t)j->inputs * sizeof *j->in);
  j->out = ir_alloc(mem, (size_t)j->results * sizeof *j->out);
  j->sizes = ir_alloc(mem, j->axis_count * sizeof *j->sizes);
  j->values = ir_alloc(mem, (size_t)(j->inputs + j->results) * sizeof *j->values);
  return j->variables && j->axes && j->names && j->in && j->out && j->sizes && j->values;
}

static const char *keep_name(char **at, const char *name) {
  char *kept = *at;
  memcpy(kept, name, strlen(name) + 1);
  *at += strlen(name) + 1;
  return kept;
}

static void copy_dynamic(vf_jit *j, const vf_jit_options *o, ir_error *error) {
  char *at = j->names;
  j->name = keep_name(&at, o->name ? o->name : "jit");
  for (int i = 0; i < o->dynamic_count; i++) {
    const vf_dynamic *d = &o->dynamic[i];
    variable made = {keep_name(&at, d->name), d->lo, d->hi, d->divisor ? d->divisor : 1, -1, false, {0}};
    uint32_t v = 0;
    while (v < j->variable_count && strcmp(j->variables[v].name, d->name) != 0) v++;
    variable *known = &j->variables[v];
    if (v == j->variable_count) *known = made, j->variable_count++;
    else if (known->lo != made.lo || known->hi != made.hi || known->divisor != made.divisor)
      ir_fail(error, IR_ERR_INVALID,
              "jit @%.60s: %.60s is declared as %lld..%lld:%lld and as %lld..%lld:%lld; axes of one name "
              "must have one range",
              j->name, d->name, (long long)known->lo, (long long)known->hi, (long long)known->divisor,
              (long long)made.lo, (long long)made.hi, (long long)made.divisor);
    j->axes[i] = (axis){d->input, d->axis, v};
  }
}

static bool good_counts(const vf_jit_options *o, ir_error *error) {
  const struct {
    const char *name;
    long long value, least;
  } counts[] = {{"inputs", o->inputs, 0},
                {"statics", o->statics, 0},
                {"results", o->results, 1},
                {"capacity", o->capacity, 0},
                {"dynamic_count", o->dynamic_count, 0}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    if (counts[i].value >= counts[i].least) continue;
    ir_fail(error, IR_ERR_INVALID, "jit: %s is %lld; takes %lld or more", counts[i].name, counts[i].value,
            counts[i].least);
    return false;
  }
  return true;
}

static bool good_options(const vf_jit_options *o, ir_error *error) {
  const char *wrong = NULL;
  if (!o) wrong = "options are NULL";
  else if (o->size != sizeof *o) wrong = "the size of options is not sizeof(vf_jit_options)";
  else if (!o->function) wrong = "there is no function";
  else if (!good_counts(o, error)) return false;
  else if (o->dynamic_count && !o->dynamic) wrong = "the list of dynamic axes is NULL";
  for (int i = 0; !wrong && i < o->dynamic_count; i++) {
    const vf_dynamic *d = &o->dynamic[i];
    if (d->input < 0 || d->input >= o->inputs) {
      ir_fail(error, IR_ERR_INVALID, "jit: dynamic[%d].input is %d; there are %d inputs, which count from 0",
              i, d->input, o->inputs);
      return false;
    }
    if (d->axis < 0 || d->axis >= IR_MAX_RANK || !d->name)
      wrong = "a dynamic axis has a name and counts from 0";
    else if (d->lo < 0 || d->lo > d->hi || d->divisor < 0) wrong = "bounds are 0 <= lo <= hi, a divisor >= 0";
  }
  if (wrong) ir_fail(error, IR_ERR_INVALID, "jit: %s", wrong);
  return !wrong;
}

vf_jit *vf_jit_create(vf_context *c, const vf_jit_options *o, vf_error *error) {
  ir_error failure = {0};
  vf_jit *j = NULL;
  const char *wrong = fe_not(c, FE_CONTEXT);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "jit: the context is %s", wrong);
  else if (good_options(o, &failure) && !(j = ir_alloc(&c->mem, sizeof *j)))
    ir_fail(&failure, IR_ERR_MEMORY, "out of memory making a jit");
  if (j) {
    *j = (vf_jit){.kind = FE_JIT,
                  .context = c,
                  .function = o->function,
                  .user = o->user,
                  .inputs = o->inputs,
                  .statics = o->statics,
                  .results = o->results};
    rt_memo_init(&j->programs, &c->mem, o->capacity ? (size_t)o->capacity : CAPACITY, drop_program);
    ir_text_init(&j->key, &c->mem);
    if (allocate_tables(j, o)) copy_dynamic(j, o, &failure);
    else ir_fail(&failure, IR_ERR_MEMORY, "out of memory making a jit");
  }
  if (j && failure.status) free_jit(j), j = NULL;
  if (j) fe_context_retain(c);
  fe_report(error, &failure);
  return j;
}

vf_status vf_jit_on(vf_jit *j, const vf_mesh *mesh, const char *const *specs, unsigned flags,
                    vf_error *error) {
  ir_error failure = {0};
  fe_jit_mesh made;
  const char *wrong = fe_not(j, FE_JIT);
  if (wrong || fe_not(mesh, FE_MESH)) {
    ir_fail(&failure, IR_ERR_INVALID, "jit: %s is %s", wrong ? "it" : "the mesh",
            wrong ? wrong : fe_not(mesh, FE_MESH));
  } else if (j->stats.misses || j->busy) {
    ir_fail(&failure, IR_ERR_INVALID,
            "jit @%.60s: it has been called; give it its mesh before the first call", j->name);
  } else if (fe_jit_mesh_make(mesh, specs, j->inputs, flags, &j->context->mem, &made, &failure) == IR_OK) {
    fe_jit_mesh_free(&j->mesh);
    j->mesh = made;
  }
  return fe_report(error, &failure);
}

void vf_jit_destroy(vf_jit *j) {
  if (!fe_is(j, FE_JIT)) return;
  vf_context *c = j->context;
  free_jit(j);
  fe_context_release(c);
}

/* the signature */

static bool wrong_call(vf_jit *j, vf_tensor *const *inputs, const vf_static *statics, vf_tensor **results,
                       ir_error *error) {
  if ((!inputs && j->inputs) || (!statics && j->statics) || !results)
    return ir_fail(error, IR_ERR_INVALID, "jit @%.60s: the list of %s is NULL", j->name,
                   !results ? "results"
                   : inputs ? "statics"
                            : "inputs") != IR_OK;
  for (int i = 0; i < j->statics; i++)
    if ((unsigned)statics[i].kind > VF_STATIC_TEXT)
      return ir_fail(error, IR_ERR_INVALID,
                     "jit @%.60s: static %d has kind %d; takes VF_STATIC_INTEGER, VF_STATIC_REAL or "
                     "VF_STATIC_TEXT",
                     j->name, i, (int)statics[i].kind) != IR_OK;
  for (int i = 0; i < j->inputs; i++)
    if (inputs[i] && fe_not(inputs[i], FE_TENSOR))
      return ir_fail(error, IR_ERR_INVALID, "jit @%.60s: input %d is %s in place of a tensor", j->name, i,
                     fe_not(inputs[i], FE_TENSOR)) != IR_OK;
    else if (inputs[i] && vf_value_batch_dims(vf_tensor_value(inputs[i])) > 0)
      return ir_fail(error, IR_ERR_INVALID,
                     "jit @%.60s: input %d has batch axes; make them ordinary ones (vf_rebatch)", j->name,
                     i) != IR_OK;
    else if (!inputs[i] || inputs[i]->context != j->context)
      return ir_fail(error, IR_ERR_INVALID, "jit @%.60s: input %d is %s", j->name, i,
                     inputs[i] ? "a tensor of another context" : "NULL") != IR_OK;
  return false;
}

static const axis *dynamic_axis(const vf_jit *j, int input, int at) {
  for (uint32_t i = 0; i < j->axis_count; i++)
    if (j->axes[i].input == input && j->axes[i].axis == at) return &j->axes[i];
  return NULL;
}

/* Read the sizes of the variables from the inputs of this call; find those within their bounds. */
static bool read_sizes(vf_jit *j, vf_tensor *const *inputs, ir_error *error) {
  for (uint32_t v = 0; v < j->variable_count; v++) j->variables[v].size = -1;
  for (uint32_t i = 0; i < j->axis_count; i++) {
    int64_t shape[IR_MAX_RANK];
    const axis *a = &j->axes[i];
    variable *v = &j->variables[a->variable];
    int rank = vf_tensor_shape(inputs[a->input], shape);
    if (a->axis >= rank)
      return ir_fail(error, IR_ERR_INVALID,
                     "jit @%.60s: input %d has rank %d; its axis %d was declared to be dynamic, so it takes "
                     "rank %d "
                     "or more",
                     j->name, a->input, rank, a->axis, a->axis + 1) == IR_OK;
    if (v->size >= 0 && v->size != shape[a->axis])
      return ir_fail(error, IR_ERR_INVALID,
                     "jit @%.60s: %.60s is %lld, and %lld along axis %d of input %d; axes of one name must "
                     "have one size",
                     j->name, v->name, (long long)v->size, (long long)shape[a->axis], a->axis,
                     a->input) == IR_OK;
    v->size = shape[a->axis];
    v->dynamic = v->size >= v->lo && v->size <= v->hi && v->size % v->divisor == 0;
  }
  return true;
}

static void put_key(vf_jit *j, const void *bytes, size_t size) { ir_text_add(&j->key, bytes, size); }

static void put_input(vf_jit *j, int input, const vf_tensor *t) {
  int64_t shape[IR_MAX_RANK];
  uint8_t head[2] = {(uint8_t)vf_tensor_dtype(t), (uint8_t)vf_tensor_shape(t, shape)};
  put_key(j, head, sizeof head);
  for (int k = 0; k < head[1]; k++) {
    const axis *a = dynamic_axis(j, input, k);
    bool dynamic = a && j->variables[a->variable].dynamic;
    int64_t what = dynamic ? -1 - (int64_t)a->variable : shape[k];
    put_key(j, &what, sizeof what);
  }
}

static void put_static(vf_jit *j, const vf_static *s) {
  uint8_t kind = (uint8_t)s->kind;
  put_key(j, &kind, 1);
  if (s->kind == VF_STATIC_INTEGER) put_key(j, &s->integer, sizeof s->integer);
  else if (s->kind == VF_STATIC_REAL) put_key(j, &s->real, sizeof s->real);
  else put_key(j, s->text ? s->text : "", s->text ? strlen(s->text) + 1 : 1);
}

static bool make_key(vf_jit *j, vf_tensor *const *inputs, const vf_static *statics, ir_error *error) {
  j->key.len = 0;
  for (int i = 0; i < j->inputs; i++) put_input(j, i, inputs[i]);
  for (int i = 0; i < j->statics; i++) put_static(j, &statics[i]);
  if (!j->key.failed) return true;
  j->key.failed = false;
  return ir_fail(error, IR_ERR_MEMORY, "jit @%.60s: out of memory for a signature", j->name) == IR_OK;
}

/* tracing */

static vf_value trace_input(vf_jit *j, vf_graph *g, int input, const vf_tensor *t) {
  int64_t shape[IR_MAX_RANK];
  vf_value sizes[IR_MAX_RANK];
  char name[NAME];
  int rank = vf_tensor_shape(t, shape);
  for (int k = 0; k < rank; k++) {
    const axis *a = dynamic_axis(j, input, k);
    bool dynamic = a && j->variables[a->variable].dynamic;
    sizes[k] = dynamic ? j->variables[a->variable].value : vf_integer(g, shape[k]);
  }
  snprintf(name, sizeof name, "x%d", input);
  return vf_input_sized(g, name, vf_tensor_dtype(t), rank, sizes);
}

/* A call supplies its input tensors and nothing else: refuse a function that declares further inputs, outputs
 * or variables. */
static void refuse_declarations(vf_jit *j, vf_graph *g, size_t variables) {
  bool inputs = g->input_count > (size_t)j->inputs, outputs = g->output_count > 0;
  if (vf_graph_status(g) != VF_OK || !(inputs || outputs || g->variable_count > variables)) return;
  ir_fail(&g->error, IR_ERR_INVALID,
          "jit @%.60s: the function declares %s %.60s; a call has the inputs and results of the options, and "
          "the variables of dynamic axes",
          j->name,
          inputs    ? "input"
          : outputs ? "output"
                    : "variable",
          inputs    ? g->inputs[j->inputs].name
          : outputs ? g->outputs[0].name
                    : g->variables[variables].name);
}

static void name_results(vf_jit *j, vf_graph *g, const vf_value *results) {
  char name[NAME];
  for (int i = 0; i < j->results; i++) {
    snprintf(name, sizeof name, "y%d", i);
    if (vf_graph_status(g) == VF_OK && !vf_ok(results[i]))
      ir_fail(&g->error, IR_ERR_INVALID, "jit @%.60s: the function did not give its result %d", j->name, i);
    if (vf_graph_status(g) == VF_OK && vf_value_batch_dims(results[i]) > 0)
      ir_fail(&g->error, IR_ERR_INVALID,
              "jit @%.60s: result %d has batch axes; make them ordinary ones (vf_rebatch)", j->name, i);
    vf_output(g, name, results[i]);
  }
}

static vf_program *trace_program(vf_jit *j, vf_tensor *const *inputs, const vf_static *statics,
                                 vf_error *error) {
  int64_t start = now();
  vf_graph *g = vf_graph_create(j->context, j->name, error);
  if (!g) return NULL;
  for (uint32_t i = 0; i < j->variable_count; i++) {
    variable *v = &j->variables[i];
    if (v->dynamic) v->value = vf_variable(g, v->name, v->lo, v->hi, v->divisor);
  }
  memset(j->values, 0, (size_t)(j->inputs + j->results) * sizeof *j->values);
  fe_jit_mesh_begin(&j->mesh, g);
  for (int i = 0; i < j->inputs; i++) {
    j->values[i] = trace_input(j, g, i, inputs[i]);
    fe_jit_mesh_divide(&j->mesh, j->name, g, i, j->values[i]);
  }
  size_t variables = g->variable_count;
  j->function(j->user, g, j->values, statics, j->values + j->inputs);
  refuse_declarations(j, g, variables);
  name_results(j, g, j->values + j->inputs);
  int64_t traced = now();
  vf_program *p = j->mesh.mem ? vf_compile_on(g, NULL, j->mesh.flags, error) : vf_compile(g, error);
  vf_graph_destroy(g);
  j->stats.trace_ns += traced - start;
  j->stats.compile_ns += now() - traced;
  return p;
}

/* Find the program of the signature, or trace and compile it. *own: it is not in the table, and the caller
 * destroys it. */
static vf_program *find_program(vf_jit *j, vf_tensor *const *inputs, const vf_static *statics,
                                vf_error *error, bool *own) {
  vf_program *p = rt_memo_find(&j->programs, j->key.data, j->key.len);
  *own = false;
  if (p) {
    j->stats.hits++;
    return p;
  }
  bool outside = false;
  for (uint32_t v = 0; v < j->variable_count; v++) outside |= !j->variables[v].dynamic;
  j->stats.misses++;
  j->stats.fallbacks += outside;
  if (outside)
    ir_say(
        &j->context->log, IR_LOG_WARNING,
        "jit: %s: a size of a dynamic axis is outside its bounds: compiled for the sizes of this call alone",
        j->name);
  if (!(p = trace_program(j, inputs, statics, error))) return NULL;
  size_t before = j->programs.count;
  *own = !rt_memo_put(&j->programs, j->key.data, j->key.len, p, 1);
  if (*own) return p;
  int64_t evicted = (int64_t)(before + 1 - j->programs.count);
  j->stats.evictions += evicted;
  if (evicted)
    ir_say(&j->context->log, IR_LOG_INFO,
           "jit: %s: more signatures than its capacity: the program that was not used for longest is dropped",
           j->name);
  return p;
}

/* running */

static bool make_results(vf_jit *j, const vf_program *p, vf_tensor **results, ir_error *error) {
  vf_error failure = {0};
  for (int i = 0; i < j->results; i++) {
    int64_t shape[IR_MAX_RANK];
    int rank = vf_port_rank(p, VF_OUTPUT, i);
    if (vf_port_shape(p, VF_OUTPUT, i, j->sizes, shape, &failure) == VF_OK)
      results[i] = fe_tensor_make(j->context, vf_port_dtype(p, VF_OUTPUT, i), rank, shape, NULL, error);
    if (failure.status) ir_fail(error, (ir_status)failure.status, "%s", failure.message);
    if (!results[i]) return false;
  }
  return true;
}

/* Get the addresses of all tensors. All of them must have been made: fe_tensor_memory is valid until another
 * tensor is made. */
static bool place_memories(vf_jit *j, vf_tensor *const *inputs, vf_tensor *const *results, ir_error *error) {
  for (int i = 0; i < j->inputs + j->results; i++) {
    bool given = i < j->inputs;
    rt_memory *memory = fe_tensor_memory(given ? inputs[i] : results[i - j->inputs]);
    if (rt_memory_place(j->context->runtime, memory, given, error) != IR_OK) return false;
    if (given) j->in[i] = memory->address;
    else j->out[i - j->inputs] = memory->address;
  }
  return true;
}

static void run_program(vf_jit *j, const vf_program *p, vf_tensor *const *inputs, vf_tensor **results,
                        ir_error *error) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < j->variable_count; v++)
    if (j->variables[v].dynamic) j->sizes[count++] = j->variables[v].size;
  if (!make_results(j, p, results, error) || !place_memories(j, inputs, results, error)) return;
  int64_t start = now();
  fe_program_run_placed(p, j->in, j->out, j->sizes, error);
  j->stats.run_ns += now() - start;
}

static void call_jit(vf_jit *j, vf_tensor *const *inputs, const vf_static *statics, vf_tensor **results,
                     ir_error *error) {
  vf_error failure = {0};
  bool own;
  if (j->inputs && vf_tensor_realise(inputs, j->inputs, &failure) != VF_OK)
    ir_fail(error, (ir_status)failure.status, "%s", failure.message);
  if (error->status || !read_sizes(j, inputs, error) || !make_key(j, inputs, statics, error)) return;
  vf_program *p = find_program(j, inputs, statics, &failure, &own);
  if (p) run_program(j, p, inputs, results, error);
  else ir_fail(error, (ir_status)failure.status, "%s", failure.message);
  if (p && own) vf_program_destroy(p);
}

vf_status vf_jit_call(vf_jit *j, vf_tensor *const *inputs, const vf_static *statics, vf_tensor **results,
                      vf_error *error) {
  ir_error failure = {0};
  const char *wrong = fe_not(j, FE_JIT);
  if (wrong) j = NULL;
  for (int i = 0; j && results && i < j->results; i++) results[i] = NULL;
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "jit: it is %s", wrong);
  else if (j->busy)
    ir_fail(&failure, IR_ERR_INVALID, "jit @%.60s: called while it traces its function; call the function",
            j->name);
  else if (!wrong_call(j, inputs, statics, results, &failure)) {
    j->busy = true;
    call_jit(j, inputs, statics, results, &failure);
    j->busy = false;
  }
  for (int i = 0; failure.status && j && results && i < j->results; i++) {
    vf_tensor_release(results[i]);
    results[i] = NULL;
  }
  return fe_report(error, &failure);
}

bool vf_jit_statistics(const vf_jit *j, vf_jit_stats *out) {
  if (!j || !out) return false;
  vf_jit_stats stats = j->stats;
  stats.size = sizeof stats;
  stats.entries = (int64_t)j->programs.count;
  return fe_copy_sized(out, out->size, &stats, sizeof stats);
}
