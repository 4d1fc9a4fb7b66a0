#include "frontend/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/report/dump.h"
#include "frontend/profile/median.h"
#include "ir/timer.h"

/* Of a trace: enough to see a pattern, in a file of some 2 MB. */
enum { MOST_EVENTS = 1 << 14, MOST_RUNS = 1 << 10 };

/* names */

typedef struct describer {
  fe_profile *profile;
  const int64_t *values;
  fe_sizes sizes;
  bool failed, other; /* other: another plan than the program's */
} describer;

static size_t place_in_kind(const ir_plan *plan, uint32_t slot) {
  size_t place = 0;
  for (uint32_t i = 0; i < slot; i++) place += plan->slots[i].kind == plan->slots[slot].kind;
  return place;
}

/* What a kernel writes: "%y, %h, temporary 2", where a statement names %h. */
static void put_written(const fe_profile *p, const fe_explained *e, const ir_step *step, char *out) {
  const ir_parsed_graph *block = p->block;
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < ir_written_slots(step) && at < FE_PROFILE_NAME; i++) {
    uint32_t slot = step->slots[i];
    size_t result = 0;
    while (result < block->result_count && e->plan->results[result] != slot) result++;
    const char *between = i ? ", " : "";
    bool shown = e->plan->slots[slot].kind == IR_SLOT_OUTPUT && result < block->result_count;
    bool named = p->statements && e->plan->slots[slot].kind == IR_SLOT_TEMP;
    const char *name = shown   ? block->results[result].name
                       : named ? fe_statements_name_of(p->statements, e->g, e->plan->slots[slot].value)
                               : NULL;
    at += (size_t)(name ? snprintf(out + at, FE_PROFILE_NAME - at, "%s%%%s", between, name)
                        : snprintf(out + at, FE_PROFILE_NAME - at, "%s%s %zu", between,
                                   e->plan->slots[slot].kind == IR_SLOT_ALIAS ? "moving" : "temporary",
                                   place_in_kind(e->plan, slot)));
  }
}

/* The operations that move no elements: "exp, sum"; or all, where there are no others. */
static bool put_operations(const fe_explained *e, const ir_step *step, ir_ref value, char *out) {
  fe_refs fused = {0};
  bool good = fe_walk_fused(e->walk, step, value, false, &fused);
  size_t at = 0;
  out[0] = '\0';
  for (int views = 0; views < 2 && !at; views++)
    for (size_t i = 0; i < fused.count && at < FE_PROFILE_WORDS; i++) {
      ir_op op = ir_op_of(e->g, fused.list[i]);
      bool moves = ir_ops[op].cls == IR_CLASS_VIEW || op == IR_OP_STORED;
      if (moves == (views == 1))
        at += (size_t)snprintf(out + at, FE_PROFILE_WORDS - at, "%s%s", at ? ", " : "", ir_ops[op].text);
    }
  fe_refs_free(e->walk, &fused);
  return good;
}

/* The least time of one run of a kernel, in ms: that of its bytes or of its operations. 0: not known. */
static double limit_of(const fe_profile *p, const fe_kernel_cost *c) {
  if (!(p->limits.gflops > 0)) return 0;
  double bytes_ms = c->read + c->written > 0 ? fe_roofline_ms(&p->limits, c->read, c->written, 0) : 0;
  return fmax(bytes_ms, c->at_best / p->limits.gflops * 1e-6);
}

static void describe_kernel(void *user, const fe_explained *e, size_t number) {
  describer *d = user;
  fe_profile *p = d->profile;
  const ir_step *step = &e->plan->steps[number];
  d->other |= e->plan->step_count != p->count;
  if (number >= p->count) return;
  fe_profile_row *row = &p->rows[number];
  bool sized = d->sizes.list || fe_sizes_find(p->mem, e->g, p->program, d->values, &d->sizes);
  put_written(p, e, step, row->name);
  d->failed |= !sized || !put_operations(e, step, e->values[number], row->computes);
  if (d->failed) return;
  row->each = fe_kernel_cost_of(e, p->program, d->values, number, &d->sizes);
  row->limit_each = limit_of(p, &row->each);
}

static ir_status describe(fe_profile *p, const int64_t *values, ir_error *error) {
  describer d = {.profile = p, .values = values};
  ir_text ignored;
  ir_text_init(&ignored, p->mem);
  fe_dump_options options = {.stage = FE_STAGE_KERNELS,
                             .target = p->target,
                             .context = p->context,
                             .why = true,
                             .statements = p->statements,
                             .explain_callback = describe_kernel,
                             .explain_user = &d};
  fe_dump(p->graph, p->block, &options, &ignored, error);
  if (d.other)
    ir_fail(error, IR_ERR_INVALID, "profile: graph @%.60s has changed since the program was compiled",
            p->block->name);
  if (d.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory describing a profile");
  fe_sizes_free(p->mem, &d.sizes);
  ir_text_free(&ignored);
  return error->status;
}

/* lifetime */

static bool allocate(fe_profile *p) {
  size_t n = p->count;
  p->rows = ir_alloc(p->mem, n * sizeof *p->rows);
  p->seen = ir_alloc(p->mem, n * sizeof *p->seen);
  p->recording.ns_by_step = ir_alloc(p->mem, n * sizeof(int64_t));
  p->recording.times_by_step = ir_alloc(p->mem, n * sizeof(int64_t));
  p->recording.events = ir_alloc(p->mem, MOST_EVENTS * sizeof *p->recording.events);
  p->recording.event_cap = MOST_EVENTS;
  p->latest = ir_alloc(p->mem, (n + 1) * FE_PROFILE_RUNS * sizeof *p->latest);
  p->before = ir_alloc(p->mem, n * sizeof *p->before);
  p->values = ir_alloc(p->mem, rt_program_variable_count(p->program) * sizeof *p->values);
  bool good = p->rows && p->seen && p->recording.ns_by_step && p->recording.times_by_step &&
              p->recording.events && p->latest && p->before && p->values;
  if (!good) return false;
  memset(p->before, 0, n * sizeof *p->before);
  memset(p->rows, 0, n * sizeof *p->rows);
  memset(p->seen, 0, n * sizeof *p->seen);
  memset(p->recording.ns_by_step, 0, n * sizeof(int64_t));
  memset(p->recording.times_by_step, 0, n * sizeof(int64_t));
  return true;
}

ir_status fe_profile_init(fe_profile *p, rt_context *context, const rt_program *program, ir_graph *graph,
                          const ir_parsed_graph *block, const fe_roofline *limits, ir_error *error) {
  *p = (fe_profile){.mem = rt_context_mem(context),
                    .program = program,
                    .graph = graph,
                    .block = block,
                    .context = context,
                    .limits = {.gflops = 0},
                    .count = rt_program_step_count(program),
                    .target = rt_context_target(context, error)};
  if (limits) p->limits = *limits;
  if (!p->target || !allocate(p)) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a profile");
  int64_t kernels = 0;
  for (size_t i = 0; i < p->count; i++) {
    p->rows[i].kernel = rt_program_is_kernel(program, i) ? kernels++ : -1;
    snprintf(p->rows[i].name, FE_PROFILE_NAME, "%s", rt_program_step_name(program, i));
  }
  return IR_OK;
}

void fe_profile_free(fe_profile *p) {
  if (!p->mem) return;
  size_t n = p->count;
  ir_free(p->mem, p->rows, n * sizeof *p->rows);
  ir_free(p->mem, p->seen, n * sizeof *p->seen);
  ir_free(p->mem, p->recording.ns_by_step, n * sizeof(int64_t));
  ir_free(p->mem, p->recording.times_by_step, n * sizeof(int64_t));
  ir_free(p->mem, p->latest, (n + 1) * FE_PROFILE_RUNS * sizeof *p->latest);
  ir_free(p->mem, p->before, n * sizeof *p->before);
  ir_free(p->mem, p->recording.events, MOST_EVENTS * sizeof *p->recording.events);
  ir_free(p->mem, p->values, rt_program_variable_count(p->program) * sizeof *p->values);
  ir_free(p->mem, p->runs, p->run_cap * sizeof *p->runs);
  *p = (fe_profile){0};
}

/* runs */

ir_status fe_profile_before(fe_profile *p, const int64_t *values, ir_error *error) {
  size_t bytes = rt_program_variable_count(p->program) * sizeof *values;
  bool same = p->described && (!bytes || memcmp(p->values, values, bytes) == 0);
  if (same) return IR_OK;
  if (p->graph && describe(p, values, error) != IR_OK) return error->status;
  if (bytes) memcpy(p->values, values, bytes);
  p->described = true;
  return IR_OK;
}

int64_t fe_profile_typical(const fe_profile *p, size_t number) {
  int64_t sorted[FE_PROFILE_RUNS];
  size_t count = (size_t)(p->times < FE_PROFILE_RUNS ? p->times : FE_PROFILE_RUNS);
  if (!count) return 0;
  memcpy(sorted, p->latest + number * FE_PROFILE_RUNS, count * sizeof *sorted);
  return fe_median(sorted, count);
}

void fe_profile_after(fe_profile *p, int64_t start_ns) {
  int64_t ns = ir_now_ns() - start_ns;
  size_t at = (size_t)(p->times % FE_PROFILE_RUNS);
  for (size_t i = 0; i < p->count; i++) {
    fe_profile_row *row = &p->rows[i];
    double times = (double)(p->recording.times_by_step[i] - p->seen[i]);
    p->seen[i] = row->times = p->recording.times_by_step[i];
    row->ns = p->recording.ns_by_step[i];
    p->latest[i * FE_PROFILE_RUNS + at] = row->ns - p->before[i];
    p->before[i] = row->ns;
    row->read += times * row->each.read;
    row->written += times * row->each.written;
    row->operations += times * row->each.operations;
    row->limit_ms += times * row->limit_each;
  }
  p->latest[p->count * FE_PROFILE_RUNS + at] = ns;
  p->times++;
  p->recording.clock_ns = 0; /* the device's clock may drift */
  if (p->run_count < MOST_RUNS && IR_RESERVE(p->mem, p->runs, p->run_cap, p->run_count + 1))
    p->runs[p->run_count++] = (rt_event){start_ns, ns, UINT32_MAX};
}

ir_status fe_profile_run(fe_profile *p, void *const *inputs, void *const *outputs, const int64_t *values,
                         ir_error *error) {
  if (fe_profile_before(p, values, error) != IR_OK) return error->status;
  int64_t start = ir_now_ns();
  rt_program_run_recorded(p->program, inputs, outputs, values, &p->recording, error);
  if (!error->status) fe_profile_after(p, start);
  return error->status;
}
