#include "frontend/report/kernel_texts.h"

#include <string.h>

#include "frontend/api/compile.h"
#include "frontend/report/dump_code.h"
#include "frontend/report/dump_graph.h"
#include "frontend/report/dump_kernels.h"
#include "frontend/report/dump_steps.h"
#include "frontend/report/explain_walk.h"

typedef struct maker {
  fe_kernel_texts *out;
  const ir_parsed_graph *block;
  ir_graph *home; /* that the block is of */
  const fe_statements *statements;
  const ir_target *target;
  rt_module *module;
  fe_copy copy;
  ir_plan plan;
  fe_kernels kernels;
  ir_text index, moves; /* of the current kernel */
  uint32_t *buckets;    /* index in texts, and one, by the digest of a symbol */
  size_t bucket_count;
  ir_error *error;
} maker;

/* texts */

/* Where the index of the text of a symbol stands, or is to stand. */
static uint32_t *find_text(maker *m, const char *symbol) {
  size_t sum = 5381;
  for (const char *c = symbol; *c; c++) sum = sum * 33 + (unsigned char)*c;
  for (sum %= m->bucket_count;; sum = (sum + 1) % m->bucket_count)
    if (!m->buckets[sum] || strcmp(m->out->texts[m->buckets[sum] - 1].symbol, symbol) == 0)
      return &m->buckets[sum];
}

static void put_kernel(maker *m, size_t step, ir_ref kernel, ir_text *out) {
  fe_put_place(&m->plan, step, out);
  fe_put_kernel(m->block, &m->plan, &m->copy.graph, step, kernel, out);
}

/* The code of a kernel; after the first failure there is none. */
static void put_code(maker *m, const rt_kernel_key *key, fe_kernel_text *text) {
  for (fe_stage s = FE_STAGE_LLVM; s <= FE_STAGE_ASM && !m->out->code_error.status; s++)
    fe_put_code(key, m->out->mem, s, m->target, m->module, &text->stages[s - FE_STAGE_INDEX],
                &m->out->code_error);
}

static void add_text(maker *m, size_t step, ir_ref kernel, const rt_kernel_key *key) {
  fe_kernel_texts *out = m->out;
  fe_kernel_text *text = &out->texts[out->text_count++];
  *text = (fe_kernel_text){0};
  memcpy(text->symbol, key->symbol, sizeof text->symbol);
  for (int s = 0; s < FE_KERNEL_STAGES; s++) ir_text_init(&text->stages[s], out->mem);
  ir_text_add(&text->stages[0], ir_text_get(&m->index), m->index.len);
  ir_text *loops = &text->stages[FE_STAGE_LOOPS - FE_STAGE_INDEX];
  fe_put_place(&m->plan, step, loops);
  ir_text_add(loops, ir_text_get(&m->moves), m->moves.len);
  fe_put_kernel(m->block, &m->plan, &m->copy.graph, step, kernel, loops);
  put_code(m, key, text);
  for (int s = 0; s < FE_KERNEL_STAGES; s++) out->listing.failed |= text->stages[s].failed;
}

static int64_t bytes_of(const maker *m, const ir_step *step) {
  int64_t sum = 0, elements;
  for (uint32_t i = 0; i < step->slot_count; i++) {
    const ir_slot *s = &m->plan.slots[step->slots[i]];
    if (!ir_is_const(&m->copy.graph, s->elements, &elements)) return -1;
    sum += elements * ir_dtypes[ir_dtype_of(&m->copy.graph, s->value)].bytes;
  }
  return sum;
}

static void add_kernel(maker *m, size_t step, ir_ref kernel) {
  fe_kernel_texts *out = m->out;
  rt_kernel_key key;
  if (!IR_RESERVE(out->mem, out->rows, out->row_cap, out->row_count + 1) ||
      !IR_RESERVE(out->mem, out->texts, out->text_cap, out->text_count + 1)) {
    out->listing.failed = true;
    return;
  }
  if (rt_kernel_key_make(out->mem, &m->copy.graph, kernel, &key, m->error) != IR_OK) return;
  uint32_t *known = find_text(m, key.symbol);
  if (!*known) {
    add_text(m, step, kernel, &key);
    *known = (uint32_t)out->text_count;
  }
  out->rows[out->row_count++] =
      (fe_kernel_row){.text = *known - 1, .bytes = bytes_of(m, &m->plan.steps[step])};
  rt_kernel_key_free(out->mem, &key);
}

/* what passes leave */

static void note_moves(void *user, uint32_t kernel, uint32_t nest, const char *moves) {
  maker *m = user;
  ir_textf(&m->moves, "# kernel %u nest %u:%s%s\n", kernel, nest, *moves ? " " : "", moves);
}

static bool make_buckets(maker *m) {
  m->bucket_count = 2 * m->plan.step_count + 1;
  m->buckets = ir_alloc(m->out->mem, m->bucket_count * sizeof *m->buckets);
  if (m->buckets) memset(m->buckets, 0, m->bucket_count * sizeof *m->buckets);
  return m->buckets != NULL;
}

static void note_pass(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel) {
  maker *m = user;
  bool good = fe_kernels_note(&m->kernels, pass, g, &m->plan, root, kernel);
  if (good && strcmp(pass, "alternatives") == 0) good = make_buckets(m);
  if (!good) m->out->listing.failed = true;
  if (m->out->listing.failed || m->error->status || kernel < 0 || !m->buckets) return;
  if (strcmp(pass, "index") == 0) {
    m->index.len = m->moves.len = 0;
    put_kernel(m, (size_t)kernel, root, &m->index);
  } else if (strcmp(pass, "loops") == 0) {
    add_kernel(m, (size_t)kernel, root);
  }
}

/* The statements that a kernel step is for. */
static bool add_statements(maker *m, fe_walk *walk, size_t step, fe_kernel_row *row) {
  fe_kernel_texts *out = m->out;
  ir_cause_items items = {0};
  bool good =
      fe_step_statements(&m->kernels.statements, walk, &m->plan, step, m->kernels.values[step], &items);
  row->first = out->statement_count;
  for (size_t i = 0; i < items.count && good; i++) {
    good = IR_RESERVE(out->mem, out->statements, out->statement_cap, out->statement_count + 1);
    if (good)
      out->statements[out->statement_count++] = fe_statements_whole(m->statements, items.list[i].statement);
  }
  row->end = out->statement_count;
  ir_cause_items_free(out->mem, &items);
  return good;
}

/* Rows are in the order in which kernels were made. */
static void note_statements(maker *m) {
  fe_walk walk;
  size_t steps = m->plan.step_count, row = 0, *now = ir_alloc(m->out->mem, (steps + 1) * sizeof *now);
  bool good = fe_walk_open(&walk, &m->copy.graph, &m->plan) && now;
  for (size_t i = 0; i < steps && good; i++) now[i] = steps;
  for (size_t i = 0; i < steps && good; i++)
    if (m->plan.steps[i].kind == IR_STEP_KERNEL) now[m->plan.steps[i].made_as] = i;
  for (size_t i = 0; i < steps && good && m->statements; i++)
    if (now[i] < steps && row < m->out->row_count)
      good = add_statements(m, &walk, now[i], &m->out->rows[row++]);
  fe_walk_close(&walk);
  ir_free(m->out->mem, now, (steps + 1) * sizeof *now);
  if (!good) m->out->listing.failed = true;
}

static void run(maker *m) {
  pass_options options = fe_pass_options(&m->copy.request, m->target);
  pass_shaping shaping = {.user = m, .chosen = note_moves};
  options.observer = note_pass;
  options.user = m;
  options.shaping = &shaping;
  if (!fe_kernel_statements_open(&m->kernels.statements, &m->copy.graph, m->copy.request.results))
    m->out->listing.failed = true;
  if (pass_pipeline(&m->copy.graph, m->copy.request.results, &options, &m->plan, m->error) != IR_OK) return;
  fe_dump_options print = {.stage = FE_STAGE_KERNELS, .target = m->target, .statements = m->statements};
  if (!fe_kernels_settle(&m->kernels, &m->plan)) m->out->listing.failed = true;
  if (!m->out->listing.failed)
    fe_kernels_print(&m->kernels, &m->copy.graph, m->home, m->block, &m->plan, &m->out->listing, &print);
  if (!m->out->listing.failed) note_statements(m);
}

ir_status fe_kernel_texts_make(ir_graph *g, const ir_parsed_graph *block, const fe_statements *statements,
                               const ir_target *target, rt_module *module, fe_kernel_texts *out,
                               ir_error *error) {
  maker m = {.out = out,
             .block = block,
             .home = g,
             .statements = statements,
             .target = target,
             .module = module,
             .error = error};
  fe_request request;
  ir_error *noted = g->error;
  *out = (fe_kernel_texts){.mem = g->mem};
  m.kernels.mem = g->mem;
  ir_text_init(&out->listing, g->mem);
  ir_text_init(&m.index, g->mem);
  ir_text_init(&m.moves, g->mem);
  g->error = error; /* a failure here is no error of recording */
  if (!fe_block_request(g, block, NULL, &request)) {
    out->listing.failed = true;
  } else if (fe_request_copy(&request, &m.copy, error) == IR_OK) {
    run(&m);
    ir_plan_free(&m.plan);
    fe_copy_free(&m.copy);
  }
  if (out->listing.failed || m.index.failed || m.moves.failed)
    ir_fail(error, IR_ERR_MEMORY, "out of memory describing the kernels of graph @%.60s", block->name);
  ir_free(g->mem, m.buckets, m.bucket_count * sizeof *m.buckets);
  ir_text_free(&m.index);
  ir_text_free(&m.moves);
  fe_kernels_free(&m.kernels);
  fe_block_request_free(g, block, &request);
  g->error = noted;
  return error->status;
}

void fe_kernel_texts_free(fe_kernel_texts *t) {
  for (size_t i = 0; i < t->text_count; i++)
    for (int s = 0; s < FE_KERNEL_STAGES; s++) ir_text_free(&t->texts[i].stages[s]);
  ir_free(t->mem, t->texts, t->text_cap * sizeof *t->texts);
  ir_free(t->mem, t->statements, t->statement_cap * sizeof *t->statements);
  ir_free(t->mem, t->rows, t->row_cap * sizeof *t->rows);
  ir_text_free(&t->listing);
  *t = (fe_kernel_texts){0};
}
