/* Realising tensors of the session, and moving the live nodes to a fresh graph. Both walk from the needed
 * values down to BUFFERs and realised nodes, and copy the nodes on the way. */
#include "frontend/session/lazy.h"

#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/ops.h"

enum { ALIGN = 64, SPARE_NODES = 1024, SPARE_BYTES = 1 << 20 };

static bool no_memory(ir_error *error) {
  ir_fail(error, IR_ERR_MEMORY, "out of memory realising a tensor");
  return false;
}

/* Refuse a call that a user's function makes while a program of the session runs it: the session must not
 * change then. */
static bool is_running(const vf_context *c, const char *who, ir_error *error) {
  if (!c->lazy.running) return false;
  ir_fail(error, IR_ERR_INVALID,
          "%s: called from the function of an operation while tensors are realised; such a function may use "
          "its operands only",
          who);
  return true;
}

/* notes and storages */

ir_ref fe_lazy_resolve(const fe_lazy *l, ir_ref node) {
  return node < l->note_cap && l->notes[node].buffer ? l->notes[node].buffer : node;
}

rt_memory *fe_lazy_memory(const fe_lazy *l, ir_ref node) {
  ir_ref buffer = fe_lazy_resolve(l, node);
  uint32_t number = buffer < l->note_cap ? l->notes[buffer].storage : 0;
  return number ? &l->storages[number - 1].memory : NULL;
}

size_t fe_lazy_bytes(const ir_graph *g, ir_ref node) {
  size_t bytes = ir_dtypes[ir_dtype_of(g, node)].bytes;
  ir_ref dims[2 * IR_MAX_RANK];
  uint32_t rank = ir_physical(g, node, dims);
  for (uint32_t i = 0; i < rank; i++) bytes *= (size_t)ir_get(g, dims[i])->arg;
  return bytes;
}

static bool reserve_notes(const ir_mem *mem, fe_note **notes, size_t *cap, size_t need) {
  size_t known = *cap;
  if (!ir_reserve(mem, (void **)notes, cap, need, sizeof **notes)) return false;
  memset(*notes + known, 0, (*cap - known) * sizeof **notes);
  return true;
}

/* Room for `count` more storages and notes of all nodes, so that attaching cannot fail. */
static bool reserve_storages(vf_context *c, size_t count) {
  fe_lazy *l = &c->lazy;
  return IR_RESERVE(&c->mem, l->storages, l->storage_cap, l->storage_count + count) &&
         reserve_notes(&c->mem, &l->notes, &l->note_cap, c->session->ir.count);
}

/* The bytes that a storage counts for: never 0. */
static size_t counted_bytes(size_t bytes) { return bytes + ALIGN; }

static void attach_storage(fe_lazy *l, ir_ref buffer, const rt_memory *memory) {
  l->storages[l->storage_count++] = (fe_storage){buffer, *memory};
  l->notes[buffer] = (fe_note){buffer, (uint32_t)l->storage_count};
  l->bytes += counted_bytes(memory->bytes);
}

ir_ref fe_lazy_buffer(vf_context *c, ir_dtype dtype, const ir_ref *shape, size_t rank, const void *elements,
                      ir_error *error) {
  ir_graph *g = &c->session->ir;
  ir_error *noted = g->error;
  rt_memory memory = {0};
  if (is_running(c, "tensor", error)) return 0;
  g->error = error;
  ir_ref buffer = op_buffer(g, dtype, shape, rank);
  g->error = noted;
  if (!buffer) return 0;
  size_t bytes = fe_lazy_bytes(g, buffer);
  if (!reserve_storages(c, 1) || rt_memory_make(c->runtime, bytes, &memory, error) != IR_OK)
    return no_memory(error);
  void *host = elements ? rt_memory_write(c->runtime, &memory, error) : NULL;
  if (elements && !host) {
    rt_memory_free(c->runtime, &memory);
    return no_memory(error);
  }
  if (elements) memcpy(host, elements, bytes);
  attach_storage(&c->lazy, buffer, &memory);
  return buffer;
}

void fe_lazy_free(vf_context *c) {
  fe_lazy *l = &c->lazy;
  for (size_t i = 0; i < l->storage_count; i++) rt_memory_free(c->runtime, &l->storages[i].memory);
  ir_free(&c->mem, l->storages, l->storage_cap * sizeof *l->storages);
  ir_free(&c->mem, l->notes, l->note_cap * sizeof *l->notes);
  ir_free(&c->mem, l->map, l->map_cap * sizeof *l->map);
  ir_free(&c->mem, l->roots, l->root_cap * sizeof *l->roots);
  ir_free(&c->mem, l->leaves, l->leaf_cap * sizeof *l->leaves);
  ir_free(&c->mem, l->frames, l->frame_cap * sizeof *l->frames);
  ir_free(&c->mem, l->pointers, l->pointer_cap * sizeof *l->pointers);
  *l = (fe_lazy){0};
}

/* the walk */

typedef struct walk {
  const ir_mem *mem;
  fe_lazy *lazy;
  const ir_graph *from;
  ir_graph *to;
  bool as_inputs; /* BUFFERs become INPUTs b0, b1, ..., listed in lazy->leaves */
  size_t leaf_count, frame_count;
} walk;

static bool walk_start(walk *w, vf_context *c, ir_graph *to, bool as_inputs) {
  fe_lazy *l = &c->lazy;
  *w = (walk){.mem = &c->mem, .lazy = l, .from = &c->session->ir, .to = to, .as_inputs = as_inputs};
  if (!IR_RESERVE(w->mem, l->map, l->map_cap, w->from->count)) return false;
  memset(l->map, 0, w->from->count * sizeof *l->map);
  return true;
}

static bool push_frame(walk *w, ir_ref ref) {
  fe_lazy *l = w->lazy;
  if (!IR_RESERVE(w->mem, l->frames, l->frame_cap, w->frame_count + 1)) return false;
  l->frames[w->frame_count++] = (fe_frame){ref, 0};
  return true;
}

/* Copy a node whose shape and sources have been copied. 0 when memory is short. */
static ir_ref copy_node(walk *w, ir_ref ref) {
  fe_lazy *l = w->lazy;
  /* In a function, realised nodes are not replaced: its parameters are BUFFERs without elements, and its body
   * is computed even where the session has realised an equal node. */
  if (ir_op_of(w->from, ref) == IR_OP_FUNC)
    return ir_graph_copy(w->to, w->from, &ref, 1, NULL) == IR_OK ? ref : 0;
  const ir_node *n = ir_get(w->from, ref);
  ir_ref few[2 + 2 * IR_MAX_RANK], *src = few, shape = ir_shape(w->from, ref), made;
  ir_op op = (ir_op)n->op;
  int64_t arg = n->arg;
  if (n->nsrc > sizeof few / sizeof *few && !(src = ir_alloc(w->mem, n->nsrc * sizeof *src))) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) src[i] = l->map[fe_lazy_resolve(l, n->src[i])];
  bool named = op == IR_OP_DATA || op == IR_OP_RESOURCE || op == IR_OP_CUSTOM;
  if (named) arg = ir_name(w->to, ir_name_text(w->from, arg), ir_name_length(w->from, arg));
  w->to->customs = w->from->customs;
  if (op == IR_OP_BUFFER && w->as_inputs) {
    char name[24];
    op = IR_OP_INPUT;
    arg = ir_name(w->to, name, (size_t)snprintf(name, sizeof name, "b%zu", w->leaf_count));
    if (!IR_RESERVE(w->mem, l->leaves, l->leaf_cap, w->leaf_count + 1)) arg = -1;
    else l->leaves[w->leaf_count++] = ref;
  }
  if ((named || op == IR_OP_INPUT) && arg < 0) made = 0;
  else if (shape) made = ir_make_tensor(w->to, op, (ir_dtype)n->dtype, l->map[shape], arg, src, n->nsrc);
  else made = ir_make(w->to, op, (ir_dtype)n->dtype, arg, src, n->nsrc);
  if (src != few) ir_free(w->mem, src, n->nsrc * sizeof *src);
  return made;
}

/* Copy root and all nodes it depends on. Returns its copy, or 0 when memory is short. */
static ir_ref walk_from(walk *w, ir_ref root) {
  fe_lazy *l = w->lazy;
  root = fe_lazy_resolve(l, root);
  w->frame_count = 0;
  if (!l->map[root] && !push_frame(w, root)) return 0;
  while (w->frame_count) {
    fe_frame *f = &l->frames[w->frame_count - 1];
    const ir_node *n = ir_get(w->from, f->ref);
    if (f->next <= (n->op == IR_OP_FUNC ? 0 : n->nsrc)) {
      uint32_t i = f->next++;
      ir_ref below = i == 0 ? ir_shape(w->from, f->ref) : fe_lazy_resolve(l, n->src[i - 1]);
      if (below && !l->map[below] && !push_frame(w, below)) return 0;
    } else {
      ir_ref ref = f->ref;
      w->frame_count--;
      if (!(l->map[ref] = copy_node(w, ref))) return 0;
    }
  }
  return l->map[root];
}

/* moving to a fresh graph */

/* Keep the storages whose BUFFER has a copy, and free the others. The notes, of the copies, replace the old
 * ones. */
static void keep_storages(vf_context *c, fe_note *notes, size_t note_cap) {
  fe_lazy *l = &c->lazy;
  size_t kept = 0;
  l->bytes = 0;
  for (size_t i = 0; i < l->storage_count; i++) {
    fe_storage s = l->storages[i];
    if (!(s.buffer = l->map[s.buffer])) {
      rt_memory_free(c->runtime, &s.memory);
      continue;
    }
    l->storages[kept++] = s;
    l->bytes += counted_bytes(s.memory.bytes);
    notes[s.buffer] = (fe_note){s.buffer, (uint32_t)kept};
  }
  l->storage_count = kept;
  ir_free(&c->mem, l->notes, l->note_cap * sizeof *l->notes);
  l->notes = notes;
  l->note_cap = note_cap;
}

static bool move_results(vf_context *c, ir_error *error) {
  fe_lazy *l = &c->lazy;
  vf_graph *session = c->session;
  ir_graph fresh;
  walk w;
  fe_note *notes = NULL;
  size_t note_cap = 0;
  if (ir_graph_init(&fresh, &c->mem, error) != IR_OK) return false;
  bool good = walk_start(&w, c, &fresh, false);
  for (vf_tensor *t = l->tensors; t && good; t = t->next) good = walk_from(&w, t->node) != 0;
  good = good && reserve_notes(&c->mem, &notes, &note_cap, fresh.count);
  if (!good) {
    ir_graph_free(&fresh);
    return no_memory(error);
  }
  for (vf_tensor *t = l->tensors; t; t = t->next) t->node = l->map[fe_lazy_resolve(l, t->node)];
  keep_storages(c, notes, note_cap);
  fresh.next_serial = session->ir.next_serial;
  fresh.error = &session->error;
  fe_places_free(&session->places, &c->mem);
  fe_statements_free(&session->statements, &c->mem);
  ir_graph_free(&session->ir);
  session->ir = fresh;
  l->live_nodes = fresh.count;
  l->live_bytes = l->bytes;
  return true;
}

ir_status fe_lazy_collect(vf_context *c, ir_error *error) {
  if (!c->session) return IR_OK;
  if (c->session->recording)
    return ir_fail(error, IR_ERR_INVALID,
                   "session: a function is being recorded; collect before or after it");
  if (is_running(c, "session", error)) return error->status;
  c->session->epoch++;
  move_results(c, error);
  return error->status;
}

/* Move to a fresh graph when about half of the nodes or bytes may be dead. Where memory is too short for
 * the copy, the session keeps its graph. */
static void move_if_worthwhile(vf_context *c, size_t more_bytes) {
  const fe_lazy *l = &c->lazy;
  ir_error ignored = {0};
  if (c->session->ir.count > 2 * l->live_nodes + SPARE_NODES ||
      l->bytes + more_bytes > 2 * l->live_bytes + SPARE_BYTES)
    move_results(c, &ignored);
}

/* realising */

/* List in l->roots the values that are not realised, each once. */
static bool list_roots(vf_context *c, vf_tensor *const *tensors, size_t count, size_t *root_count) {
  fe_lazy *l = &c->lazy;
  *root_count = 0;
  for (size_t i = 0; i < count; i++) {
    ir_ref node = fe_lazy_resolve(l, tensors[i]->node);
    if (fe_lazy_memory(l, node) || l->map[node]) continue;
    if (!IR_RESERVE(&c->mem, l->roots, l->root_cap, 2 * (*root_count + 1))) return false;
    l->roots[(*root_count)++] = node;
    l->map[node] = 1; /* seen */
  }
  for (size_t i = 0; i < *root_count; i++) l->map[l->roots[i]] = 0;
  return true;
}

/* Check that all leaves have elements; one without is the parameter of a function. */
static bool leaves_known(const fe_lazy *l, const walk *w, ir_error *error) {
  for (size_t i = 0; i < w->leaf_count; i++)
    if (!fe_lazy_memory(l, l->leaves[i])) {
      ir_fail(error, IR_ERR_INVALID, "realise: " FE_ESCAPED);
      return false;
    }
  return true;
}

/* Compile one program for all roots. Their copies are in l->roots behind them. */
static ir_status compile_roots(vf_context *c, walk *w, size_t root_count, rt_program **program,
                               ir_error *error) {
  fe_lazy *l = &c->lazy;
  ir_ref *copies = l->roots + root_count, results = 0, *inputs;
  bool good = true;
  for (size_t i = 0; i < root_count && good; i++) good = (copies[i] = walk_from(w, l->roots[i])) != 0;
  if (good && !leaves_known(l, w, error)) return error->status;
  if (good) results = ir_tuple(w->to, copies, (uint32_t)root_count);
  inputs = results ? ir_alloc(w->mem, w->leaf_count * sizeof *inputs) : NULL;
  if (!inputs) return ir_fail(error, IR_ERR_MEMORY, "out of memory realising a tensor");
  for (size_t i = 0; i < w->leaf_count; i++) inputs[i] = l->map[l->leaves[i]];
  fe_request request = {.observer = fe_watch_observer(&c->watch),
                        .graph = w->to,
                        .results = results,
                        .inputs = inputs,
                        .input_count = w->leaf_count,
                        .name = "session"};
  fe_compile(c->runtime, &request, program, error);
  ir_free(w->mem, inputs, w->leaf_count * sizeof *inputs);
  return error->status;
}

/* The index of the leaf for an input of the program: 12 for b12. */
static size_t leaf_number(const char *name) {
  size_t number = 0;
  for (const char *digit = name + 1; *digit; digit++) number = number * 10 + (size_t)(*digit - '0');
  return number;
}

/* Get the addresses of the program's inputs, then of its outputs. */
static bool gather_pointers(vf_context *c, const walk *w, const rt_program *program, rt_memory *made,
                            size_t root_count, ir_error *error) {
  fe_lazy *l = &c->lazy;
  size_t inputs = rt_program_input_count(program);
  if (!IR_RESERVE(&c->mem, l->pointers, l->pointer_cap, inputs + root_count)) return no_memory(error);
  for (size_t i = 0; i < inputs + root_count; i++) {
    size_t leaf = i < inputs ? leaf_number(rt_program_input(program, i).name) : 0;
    rt_memory *memory = i >= inputs            ? &made[i - inputs]
                        : leaf < w->leaf_count ? fe_lazy_memory(l, l->leaves[leaf])
                                               : NULL;
    if (!memory) return no_memory(error);
    if (rt_memory_place(c->runtime, memory, i < inputs, error) != IR_OK) return false;
    l->pointers[i] = memory->address;
  }
  return true;
}

/* Make a BUFFER for each root, in l->roots in place of its copy, and memory for it in made[], which the
 * caller frees or attaches. Reserve the storages for commit_results. */
static bool prepare_results(vf_context *c, size_t root_count, rt_memory *made, ir_error *error) {
  fe_lazy *l = &c->lazy;
  ir_graph *g = &c->session->ir;
  g->error = error;
  for (size_t i = 0; i < root_count && !error->status; i++) {
    ir_ref buffer = op_buffer_like(g, l->roots[i]);
    l->roots[root_count + i] = buffer;
    if (!buffer || rt_memory_make(c->runtime, fe_lazy_bytes(g, buffer), &made[i], error) != IR_OK)
      no_memory(error);
  }
  g->error = &c->session->error;
  return !error->status && (reserve_storages(c, root_count) || no_memory(error));
}

static void commit_results(vf_context *c, size_t root_count, const rt_memory *made) {
  fe_lazy *l = &c->lazy;
  for (size_t i = 0; i < root_count; i++) {
    attach_storage(l, l->roots[root_count + i], &made[i]);
    l->notes[l->roots[i]].buffer = l->roots[root_count + i];
  }
}

static void run_program(vf_context *c, walk *w, size_t root_count, const rt_program *program,
                        ir_error *error) {
  fe_lazy *l = &c->lazy;
  rt_memory one = {0}, *made = root_count == 1 ? &one : ir_alloc(&c->mem, root_count * sizeof *made);
  if (!made) {
    no_memory(error);
    return;
  }
  memset(made, 0, root_count * sizeof *made);
  if (prepare_results(c, root_count, made, error) &&
      gather_pointers(c, w, program, made, root_count, error)) {
    l->running = true;
    rt_program_run_placed(program, l->pointers, l->pointers + rt_program_input_count(program), NULL, error);
    l->running = false;
  }
  if (!error->status) commit_results(c, root_count, made);
  else
    for (size_t i = 0; i < root_count; i++) rt_memory_free(c->runtime, &made[i]);
  if (made != &one) ir_free(&c->mem, made, root_count * sizeof *made);
}

static void realise_tensors(vf_context *c, vf_tensor *const *tensors, size_t count, ir_error *error) {
  ir_graph scratch;
  walk w;
  size_t root_count;
  rt_program *program = NULL;
  if (!walk_start(&w, c, &scratch, true) || !list_roots(c, tensors, count, &root_count)) {
    no_memory(error);
    return;
  }
  if (root_count == 0 || ir_graph_init(&scratch, &c->mem, error) != IR_OK) return;
  if (compile_roots(c, &w, root_count, &program, error) == IR_OK)
    run_program(c, &w, root_count, program, error);
  rt_program_release(program);
  ir_graph_free(&scratch);
}

ir_status fe_lazy_realise(vf_context *c, vf_tensor *const *tensors, size_t count, ir_error *error) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++)
    if (!fe_lazy_memory(&c->lazy, tensors[i]->node))
      bytes += counted_bytes(fe_lazy_bytes(&c->session->ir, tensors[i]->node));
  if (!bytes) return IR_OK;
  if (c->session->recording)
    return ir_fail(error, IR_ERR_INVALID,
                   "realise: a function is being recorded, whose values have no elements; realise before or "
                   "after it");
  if (is_running(c, "realise", error)) return error->status;
  c->session->epoch++;
  move_if_worthwhile(c, bytes);
  realise_tensors(c, tensors, count, error);
  return error->status;
}
