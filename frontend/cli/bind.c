/* Inputs of a run. */
#include "frontend/cli/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "frontend/api/references.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "frontend/blame/blame.h"
#include "passes/ops/check.h"

enum { LINE_BYTES = 64, HUGE_PAGE = 2 << 20 };

/* Large arrays are on huge pages: the first touch takes a fraction of the time, and accesses with large
 * strides miss the TLB less. */
static void *aligned(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user;
  void *made = NULL;
  bool large = new_size >= 2 * (size_t)HUGE_PAGE;
  if (new_size > 0 && posix_memalign(&made, large ? HUGE_PAGE : LINE_BYTES, new_size) != 0) return NULL;
  if (large) madvise(made, new_size & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
  if (made && ptr) memcpy(made, ptr, old_size < new_size ? old_size : new_size);
  free(ptr);
  return made;
}

const ir_mem cli_array_mem = {.fn = aligned};

static void put_array(const fe_array *a, ir_text *out) {
  ir_textf(out, "%s[", ir_dtypes[a->dtype].name);
  for (int i = 0; i < a->rank; i++) ir_textf(out, i ? ",%lld" : "%lld", (long long)a->shape[i]);
  ir_text_str(out, "]");
}

int cli_wrong_shape(cli_binder *b, size_t param, const char *format, ...) {
  const ir_named *p = &b->block->params[param];
  const char *source = cli_pairs_find(b->inputs, p->name)->text;
  ir_text found, wanted;
  char reason[400];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  ir_text_init(&found, &ir_mem_libc);
  ir_text_init(&wanted, &ir_mem_libc);
  put_array(&b->out->arrays[param], &found);
  ir_print_type(&b->s->g, p->ref, &wanted);
  fprintf(stderr, "viewfold %s: %%%s is %s, but %s holds %s: %s\n", b->s->command, p->name,
          ir_text_get(&wanted), cli_is_literal(source) ? "the value given" : source, ir_text_get(&found),
          reason);
  ir_text_free(&found);
  ir_text_free(&wanted);
  return CLI_BAD_INPUT;
}

static int check_type(cli_binder *b, size_t param) {
  ir_graph *g = &b->s->g;
  const fe_array *a = &b->out->arrays[param];
  ir_ref ref = b->block->params[param].ref;
  ir_dtype dtype = ir_dtype_of(g, ref);
  int rank = (int)(ir_batch_rank(g, ref) + ir_rank(g, ref)); /* of the array: batch axes come first */
  if (a->dtype != dtype)
    return cli_wrong_shape(b, param, "the dtypes differ; convert the file to %s", ir_dtypes[dtype].name);
  if (a->rank != rank)
    return cli_wrong_shape(b, param, "%d ax%s found, %d expected", a->rank, a->rank == 1 ? "is" : "es", rank);
  return CLI_OK;
}

/* The shape of a literal ends at an axis of size 0, as that of [] for shape [0,3] does; further axes have the
 * parameter's sizes. */
static void complete_empty(const ir_graph *g, ir_ref param, fe_array *a) {
  int batch = (int)ir_batch_rank(g, param), rank = batch + (int)ir_rank(g, param);
  const ir_node *dims = ir_get(g, ir_shape(g, param));
  if (a->rank == 0 || a->shape[a->rank - 1] != 0 || a->rank < batch) return;
  while (a->rank < rank && ir_is_const(g, dims->src[a->rank - batch], &a->shape[a->rank])) a->rank++;
}

static int refuse_missing(cli_binder *b, const ir_named *param) {
  op_words type;
  return cli_usage(b->s->command, "no value for parameter %%%s: %s; give it as --in %s=FILE.npy", param->name,
                   op_words_type(&b->s->g, param->ref, &type), param->name);
}

static int read_arrays(cli_binder *b) {
  for (size_t i = 0; i < b->block->param_count; i++) {
    const ir_named *param = &b->block->params[i];
    const cli_pair *pair = cli_pairs_find(b->inputs, param->name);
    fe_array *out = &b->out->arrays[i];
    if (!pair && b->seeded) continue;
    if (!pair) return refuse_missing(b, param);
    if (cli_is_literal(pair->text)) {
      char source[80];
      snprintf(source, sizeof source, "--in %.60s", param->name);
      cli_read_literal(source, pair->text, ir_dtype_of(&b->s->g, param->ref), out, &b->s->error);
      if (!b->s->error.status) complete_empty(&b->s->g, param->ref, out);
    } else if (!b->out->files || !cli_map_file(pair->text, &b->out->files[i], out)) {
      cli_read_file(pair->text, out, &b->s->error);
    }
    if (b->s->error.status) return cli_failure(b->s->command, &b->s->error);
    int status = check_type(b, i);
    if (status) return status;
  }
  return CLI_OK;
}

static bool find_vars(cli_binder *b, ir_ref results) {
  ir_graph *g = &b->s->g;
  cli_binding *out = b->out;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  out->params = malloc((out->array_count + 1) * sizeof *out->params);
  out->references = malloc((out->array_count + 1) * sizeof *out->references);
  if (!out->params || !out->references) return false;
  out->reference_count = fe_list_references(b->block->params, b->block->param_count, b->block->results,
                                            b->block->result_count, out->references);
  for (size_t i = 0; i < out->array_count; i++) out->params[i] = b->block->params[i].ref;
  out->params[out->array_count] = results;
  bool ok = ir_reachable_inside(g, out->params, out->array_count + 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    if (ir_op_of(g, live[i]) != IR_OP_VAR) continue;
    ok = IR_RESERVE(&ir_mem_libc, out->vars, out->var_cap, out->var_count + 1) &&
         IR_RESERVE(&ir_mem_libc, out->values, out->value_cap, out->var_count + 1);
    if (ok) out->vars[out->var_count++] = live[i];
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return ok;
}

static int no_memory(cli_graph *s) {
  ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  return cli_failure(s->command, &s->error);
}

/* close_binder is to be called after a failure too. */
static int open_binder(cli_binder *b, ir_ref results) {
  cli_binding *out = b->out;
  *out = (cli_binding){.array_count = b->block->param_count};
  int status = cli_pairs_check(b->inputs, b->s->command, "--in", b->block->params, b->block->param_count,
                               b->block, "parameter");
  if (status) return status;
  out->arrays = calloc(b->block->param_count + 1, sizeof *out->arrays);
  bool ok = out->arrays && find_vars(b, results) &&
            (b->known = calloc(out->var_count + 1, sizeof *b->known)) != NULL &&
            (b->scratch = calloc(out->var_count + 1, sizeof *b->scratch)) != NULL;
  return ok ? CLI_OK : no_memory(b->s);
}

static void close_binder(cli_binder *b) {
  free(b->known);
  free(b->scratch);
}

static int bind(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
                const cli_pairs *sizes, bool maps, cli_binding *out) {
  cli_binder b = {.s = s, .block = block, .inputs = inputs, .out = out};
  int status = open_binder(&b, results);
  if (!status && maps && !(out->files = calloc(out->array_count + 1, sizeof *out->files)))
    status = no_memory(s);
  if (!status) status = read_arrays(&b);
  if (!status) status = cli_solve_sizes(&b, results, sizes);
  close_binder(&b);
  return status;
}

int cli_bind(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
             const cli_pairs *sizes, cli_binding *out) {
  return bind(s, block, results, inputs, sizes, false, out);
}

int cli_bind_mapped(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
                    const cli_pairs *sizes, cli_binding *out) {
  return bind(s, block, results, inputs, sizes, true, out);
}

static int seed_results(cli_binder *b, ir_ref results, size_t most, char why[CLI_WHY]) {
  size_t bytes;
  const char *unknown = cli_unknown_size(b);
  if (unknown)
    snprintf(why, CLI_WHY, "the size %.40s is not known; give it as --size %.40s=VALUE", unknown, unknown);
  else if (!cli_seed_shapes(b, &bytes)) snprintf(why, CLI_WHY, "its arrays are too large");
  else if (bytes > most)
    snprintf(why, CLI_WHY, "its inputs have %zu MB, more than the %zu MB that are made up", bytes / 1000000,
             most / 1000000);
  else if (!cli_seed_values(b, results)) return no_memory(b->s);
  return CLI_OK;
}

int cli_bind_seeded(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
                    const cli_pairs *sizes, size_t most, cli_binding *out, char why[CLI_WHY]) {
  cli_binder b = {.s = s, .block = block, .inputs = inputs, .out = out, .seeded = true};
  *why = '\0';
  int status = open_binder(&b, results);
  if (!status) status = read_arrays(&b);
  if (!status) status = cli_solve_sizes(&b, results, sizes);
  if (!status) status = seed_results(&b, results, most, why);
  close_binder(&b);
  return status;
}

fe_request cli_request(cli_graph *s, const ir_parsed_graph *block, ir_ref results,
                       const cli_binding *values) {
  return (fe_request){.graph = &s->g,
                      .results = results,
                      .inputs = values->params,
                      .input_count = values->array_count,
                      .references = values->references,
                      .reference_count = values->reference_count,
                      .vars = values->vars,
                      .var_count = values->var_count,
                      .name = block->name,
                      .constants = cli_model_constants(s)};
}

/* What the graph was bound to; the lists are freed by the caller. */
static bool bind_graph(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *values,
                       fe_blamed *out) {
  ir_binding_input *in = malloc((values->array_count + 1) * sizeof *in);
  ir_var_value *vars = malloc((values->var_count + 1) * sizeof *vars);
  for (size_t i = 0; in && i < values->array_count; i++)
    in[i] = (ir_binding_input){values->params[i], values->arrays[i].data};
  for (size_t i = 0; vars && i < values->var_count; i++)
    vars[i] = (ir_var_value){values->vars[i], values->values[i]};
  *out = (fe_blamed){.name = block->name,
                     .graph = &s->g,
                     .statements = s->statements,
                     .roots = ir_get(&s->g, results)->src,
                     .root_count = ir_get(&s->g, results)->nsrc,
                     .inputs = in,
                     .input_count = values->array_count,
                     .vars = vars,
                     .var_count = values->var_count};
  return in && vars;
}

static void free_bound(fe_blamed *b) {
  free((void *)(uintptr_t)b->inputs);
  free((void *)(uintptr_t)b->vars);
}

void cli_blame_index(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *values) {
  fe_blamed blamed;
  if (bind_graph(s, block, results, values, &blamed)) fe_blame_index(&blamed, &s->error);
  free_bound(&blamed);
}

void cli_run_watched(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *values,
                     fe_watched_run *run) {
  fe_blamed blamed;
  fe_silent silent;
  size_t changed = values->reference_count;
  fe_changed *list = malloc((changed + 1) * sizeof *list);
  fe_silent_init(&silent, s->g.customs);
  if (bind_graph(s, block, results, values, &blamed) && list) {
    for (size_t i = 0; i < changed; i++) { /* a result's buffer, which has a copy of the array */
      const fe_array *a = &values->arrays[values->references[i].input];
      list[i] = (fe_changed){run->outputs[values->references[i].result], a->bytes};
    }
    run->blamed = &blamed;
    run->customs = &silent.base;
    run->changed = list;
    run->changed_count = changed;
    fe_run_watched(run, &s->error);
  } else {
    ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  }
  free(list);
  free_bound(&blamed);
}

static bool is_mapped(const cli_binding *b, size_t i) { return b->files && b->files[i].source.file; }

ir_status cli_binding_check(const cli_binding *b, ir_error *error) {
  for (size_t i = 0; i < b->array_count; i++)
    if (is_mapped(b, i) && rt_mapped_check(b->files[i].source.file, error) != IR_OK) return error->status;
  return IR_OK;
}

void cli_binding_free(cli_binding *b) {
  for (size_t i = 0; b->arrays && i < b->array_count; i++)
    if (is_mapped(b, i)) fe_arrays_close(&b->files[i]);
    else fe_array_free(&cli_array_mem, &b->arrays[i]);
  free(b->arrays);
  free(b->files);
  free(b->params);
  free(b->references);
  ir_free(&ir_mem_libc, b->vars, b->var_cap * sizeof *b->vars);
  ir_free(&ir_mem_libc, b->values, b->value_cap * sizeof *b->values);
  *b = (cli_binding){0};
}
