/* What the machine code of a kernel does in each iteration of its loops, and for each element that it writes.
 */
#include "frontend/report/dump_code.h"
#include "frontend/report/explain_kernels.h"
#include "frontend/report/listing/machine_code.h"

#include <string.h>

static void put_count(ir_text *out, const char **before, int64_t count, const char *one, const char *more) {
  if (!count) return;
  ir_textf(out, "%s%lld %s", *before, (long long)count, count == 1 ? one : more);
  *before = ", ";
}

static void put_instructions(ir_text *out, const fe_instructions *n) {
  const char *before = "";
  put_count(out, &before, n->integer, "integer operation", "integer operations");
  put_count(out, &before, n->vector, "vector operation", "vector operations");
  put_count(out, &before, n->moves, "move", "moves");
  put_count(out, &before, n->loads, "load", "loads");
  put_count(out, &before, n->constants, "of a constant", "of constants");
  put_count(out, &before, n->stores, "store", "stores");
  put_count(out, &before, n->spills, "spill", "spills");
  if (!*before) ir_text_str(out, "nothing");
}

/* The loops inside of `around`, with those inside of them. Recursive: loops nest at most CG_MAX_NESTING deep.
 */
static void put_code_loops(ir_text *out, const fe_machine_code *code, int around, int depth) {
  for (int i = 0; i < code->count; i++) {
    const fe_code_loop *loop = &code->loop[i];
    if (loop->parent != around) continue;
    ir_textf(out, "%10s%*s", "", 2 * depth, "");
    if (loop->shared) ir_text_str(out, "a block of threads: ");
    else if (loop->trips >= 0) ir_textf(out, "1 of %lld iterations: ", (long long)loop->trips);
    else ir_text_str(out, "an iteration: ");
    put_instructions(out, &loop->own);
    ir_textf(out, "; %d general and %d vector registers\n", __builtin_popcount(loop->general),
             __builtin_popcount(loop->vectors));
    put_code_loops(out, code, i, depth + 1);
  }
}

/* How often the loop runs each time, by one thread; -1: not known. */
static int64_t trips_of(const fe_explained *e, size_t number, const fe_code_loop *loop) {
  int64_t blocks = -1;
  if (!loop->shared) return loop->trips;
  return ir_is_const(e->g, e->plan->steps[number].count, &blocks) ? blocks : -1;
}

/* Integer operations of all iterations; -1 where some trip count is not known. */
static int64_t integers_of(const fe_explained *e, size_t number, const fe_machine_code *code) {
  int64_t all = code->outside.integer, times[FE_MOST_LOOPS];
  for (int i = 0; i < code->count; i++) {
    const fe_code_loop *loop = &code->loop[i];
    int64_t trips = trips_of(e, number, loop);
    if (trips < 0 || loop->parent >= i) return -1;
    times[i] = trips * (loop->parent >= 0 ? times[loop->parent] : 1);
    all += times[i] * loop->own.integer;
  }
  return all;
}

static void put_per_element(const fe_explained *e, size_t number, const fe_machine_code *code) {
  int64_t all = integers_of(e, number, code), elements;
  const ir_slot *slot = &e->plan->slots[e->plan->steps[number].slots[0]];
  if (all < 0 || !ir_is_const(e->g, slot->elements, &elements) || elements < 1) return;
  ir_textf(e->out, "          %lld integer operations by one thread: %.3g for each of %lld elements\n",
           (long long)all, (double)all / (double)elements, (long long)elements);
}

static void put_text(const fe_explained *e, size_t number, const fe_machine_code *code) {
  ir_text_str(e->out, "  code    before and behind loops: ");
  put_instructions(e->out, &code->outside);
  ir_text_str(e->out, "\n");
  put_code_loops(e->out, code, -1, 0);
  put_per_element(e, number, code);
}

static void put_members(ir_text *out, const fe_instructions *n) {
  ir_textf(
      out,
      "\"integer\":%lld,\"vector\":%lld,\"moves\":%lld,\"loads\":%lld,\"constants\":%lld,\"stores\":%lld,"
      "\"spills\":%lld",
      (long long)n->integer, (long long)n->vector, (long long)n->moves, (long long)n->loads,
      (long long)n->constants, (long long)n->stores, (long long)n->spills);
}

static void put_number_or_null(ir_text *out, const char *name, int64_t value) {
  if (value < 0) ir_textf(out, ",\"%s\":null", name);
  else ir_textf(out, ",\"%s\":%lld", name, (long long)value);
}

static void put_json(const fe_explained *e, size_t number, const fe_machine_code *code) {
  ir_text *out = e->code;
  ir_textf(out, "{\"kernel\":%zu,\"outside\":{", e->kernel);
  put_members(out, &code->outside);
  ir_text_str(out, "},\"loops\":[");
  for (int i = 0; i < code->count; i++) {
    const fe_code_loop *loop = &code->loop[i];
    ir_text_str(out, i ? ",{" : "{");
    put_members(out, &loop->own);
    put_number_or_null(out, "inside", loop->parent);
    put_number_or_null(out, "iterations", trips_of(e, number, loop));
    ir_textf(out, ",\"threads\":%s,\"general_registers\":%d,\"vector_registers\":%d}",
             loop->shared ? "true" : "false", __builtin_popcount(loop->general),
             __builtin_popcount(loop->vectors));
  }
  ir_text_str(out, "]");
  put_number_or_null(out, "integer_operations", integers_of(e, number, code));
  ir_text_str(out, "}\n");
}

void fe_explain_listing(const fe_explained *e, size_t number) {
  const ir_mem *mem = e->g->mem;
  rt_kernel_key key;
  ir_text listing;
  ir_error error = {0};
  fe_machine_code *code = ir_alloc(mem, sizeof *code);
  if (!code || rt_kernel_key_make(mem, e->g, e->plan->steps[number].kernel, &key, &error) != IR_OK) {
    e->out->failed = true;
    ir_free(mem, code, sizeof *code);
    return;
  }
  ir_text_init(&listing, mem);
  bool counted = !strncmp(e->target->triple, "x86_64-", 7) &&
                 fe_put_code(&key, mem, FE_STAGE_KERNELS, e->target, e->module, &listing, &error) == IR_OK &&
                 !listing.failed && fe_count_code(ir_text_get(&listing), code);
  if (!counted) ir_textf(e->out, "  code    not counted%s%s\n", error.status ? ": " : "", error.text);
  else if (e->code) put_json(e, number, code);
  else put_text(e, number, code);
  ir_text_free(&listing);
  rt_kernel_key_free(mem, &key);
  ir_free(mem, code, sizeof *code);
}
