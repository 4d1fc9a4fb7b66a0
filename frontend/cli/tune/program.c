/* Compiling, timing and checking programs whose kernels have other moves than the cost model's. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/tune/tune.h"

bool tune_add(tune_list *l, uint32_t nest, const char *text) {
  char *copy = strdup(text);
  bool room = copy && IR_RESERVE(&ir_mem_libc, l->items, l->cap, l->count + 1);
  if (room) l->items[l->count++] = (tune_moves){nest, copy};
  else free(copy);
  return room;
}

bool tune_has(const tune_list *l, uint32_t nest, const char *text) {
  for (size_t i = 0; i < l->count; i++)
    if (l->items[i].nest == nest && strcmp(l->items[i].text, text) == 0) return true;
  return false;
}

void tune_empty(tune_list *l) {
  for (size_t i = 0; i < l->count; i++) free(l->items[i].text);
  ir_free(&ir_mem_libc, l->items, l->cap * sizeof *l->items);
  *l = (tune_list){0};
}

/* shaping */

static bool is_key(const rt_kernel_key *a, const rt_kernel_key *b) {
  return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void enter_kernel(void *user, uint32_t kernel, const ir_graph *g, ir_ref effect) {
  tune *t = user;
  rt_kernel_key key;
  t->current_kernel = UINT32_MAX;
  if (rt_effect_key_make(&ir_mem_libc, g, effect, &key, NULL) != IR_OK) {
    t->failed = true;
    return;
  }
  for (t->current_kernel = 0; t->current_kernel < t->count; t->current_kernel++)
    if (is_key(&t->kernels[t->current_kernel].key, &key)) break;
  bool known = t->current_kernel < t->count;
  if (known || !IR_RESERVE(&ir_mem_libc, t->kernels, t->cap, t->count + 1)) {
    t->failed |= !known;
    rt_kernel_key_free(&ir_mem_libc, &key);
  } else {
    t->kernels[t->count++] = (tune_kernel){.key = key};
  }
  if (IR_RESERVE(&ir_mem_libc, t->kernel_of, t->steps_cap, (size_t)kernel + 1)) {
    t->kernel_of[kernel] = t->current_kernel;
    if (t->steps <= kernel) t->steps = (size_t)kernel + 1;
  } else {
    t->failed = true;
  }
}

static const char *given_moves(void *user, uint32_t kernel, uint32_t nest) {
  tune *t = user;
  (void)kernel;
  if (t->current_kernel >= t->count) return NULL;
  if (t->override.text && t->current_kernel == t->searched_kernel && t->override.nest == nest)
    return t->override.text;
  const tune_list *best = &t->kernels[t->current_kernel].best;
  for (size_t i = 0; i < best->count; i++)
    if (best->items[i].nest == nest) return best->items[i].text;
  return NULL;
}

static void note_neighbour(void *user, uint32_t kernel, uint32_t nest, const char *moves) {
  tune *t = user;
  (void)kernel;
  if (t->current_kernel == t->searched_kernel && !tune_has(t->neighbours, nest, moves))
    t->failed |= !tune_add(t->neighbours, nest, moves);
}

ir_status tune_compile(tune *t, rt_program **out, ir_error *error) {
  pass_shaping shaping = {.user = t,
                          .enter = enter_kernel,
                          .given = given_moves,
                          .neighbour = t->neighbours ? note_neighbour : NULL};
  fe_request request = t->request;
  request.shaping = &shaping;
  t->failed = false;
  if (fe_compile(t->context, &request, out, error) != IR_OK) return error->status;
  if (!t->ns) t->ns = calloc(rt_program_step_count(*out) + 1, sizeof *t->ns);
  if (!t->failed && t->ns) return IR_OK;
  rt_program_release(*out);
  *out = NULL;
  return ir_fail(error, IR_ERR_MEMORY, "out of memory tuning");
}

/* running */

ir_status tune_time(tune *t, const rt_program *program, int64_t *ns, ir_error *error) {
  uint32_t kernel = 0;
  *ns = 0;
  if (rt_program_run_timed(program, t->buffers.in, t->buffers.out, t->vars, t->ns, error) != IR_OK)
    return error->status;
  for (size_t i = 0; i < rt_program_step_count(program); i++)
    if (rt_program_is_kernel(program, i) && t->kernel_of[kernel++] == t->searched_kernel) *ns += t->ns[i];
  return IR_OK;
}

static ir_status keep_results(tune *t, ir_error *error) {
  t->want = calloc(t->buffers.output_count + 1, sizeof *t->want);
  for (size_t i = 0; t->want && i < t->buffers.output_count; i++) {
    const fe_array *a = &t->buffers.outputs[i];
    if (!(t->want[i] = malloc(a->bytes + 1)))
      return ir_fail(error, IR_ERR_MEMORY, "not enough memory to keep the results");
    memcpy(t->want[i], a->data, a->bytes);
  }
  return t->want ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory tuning");
}

ir_status tune_check(tune *t, const rt_program *program, bool *same, ir_error *error) {
  enum { NOTHING = 0xa5 }; /* so that results that are not written differ */
  for (size_t i = 0; i < t->buffers.output_count; i++)
    memset(t->buffers.outputs[i].data, NOTHING, t->buffers.outputs[i].bytes);
  *same = true;
  if (rt_program_run(program, t->buffers.in, t->buffers.out, t->vars, error) != IR_OK) return error->status;
  if (!t->want) return keep_results(t, error);
  for (size_t i = 0; i < t->buffers.output_count && *same; i++)
    *same = memcmp(t->want[i], t->buffers.outputs[i].data, t->buffers.outputs[i].bytes) == 0;
  return IR_OK;
}

void tune_free(tune *t) {
  for (size_t i = 0; i < t->count; i++) {
    rt_kernel_key_free(&ir_mem_libc, &t->kernels[i].key);
    tune_empty(&t->kernels[i].best);
  }
  for (size_t i = 0; t->want && i < t->buffers.output_count; i++) free(t->want[i]);
  free(t->want);
  free(t->ns);
  ir_free(&ir_mem_libc, t->kernels, t->cap * sizeof *t->kernels);
  ir_free(&ir_mem_libc, t->kernel_of, t->steps_cap * sizeof *t->kernel_of);
  cli_buffers_close(&t->buffers);
}
