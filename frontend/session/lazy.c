/* Realising tensors and references of the session, and moving the live nodes to a fresh graph. Both walk from
 * the needed values down to BUFFERs and realised nodes, and copy the nodes on the way. */
#include "frontend/session/lazy.h"
#include "ir/letters.h"

#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/mesh/sharded.h"
#include "frontend/session/fault.h"
#include "frontend/session/walk.h"
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

bool fe_lazy_reserve_notes(vf_context *c) {
  return reserve_notes(&c->mem, &c->lazy.notes, &c->lazy.note_cap, c->session->ir.count);
}

/* Room for `count` more storages and notes of all nodes, so that attaching cannot fail. */
static bool reserve_storages(vf_context *c, size_t count) {
  fe_lazy *l = &c->lazy;
  return IR_RESERVE(&c->mem, l->storages, l->storage_cap, l->storage_count + count) &&
         fe_lazy_reserve_notes(c);
}

/* The bytes that a storage counts for: never 0. */
static size_t counted_bytes(size_t bytes) { return bytes + ALIGN; }

static void attach_storage(fe_lazy *l, ir_ref buffer, const rt_memory *memory) {
  l->storages[l->storage_count++] = (fe_storage){buffer, *memory};
  l->notes[buffer] = (fe_note){.buffer = buffer, .storage = (uint32_t)l->storage_count};
  l->bytes += counted_bytes(memory->bytes);
}

static ir_ref new_buffer(vf_context *c, ir_dtype dtype, const ir_ref *shape, size_t rank, ir_error *error) {
  ir_graph *g = &c->session->ir;
  ir_error *noted = g->error;
  if (is_running(c, "tensor", error)) return 0;
  g->error = error;
  ir_ref buffer = op_buffer(g, dtype, shape, rank);
  g->error = noted;
  return buffer;
}

ir_ref fe_lazy_adopt(vf_context *c, ir_dtype dtype, const ir_ref *shape, size_t rank, const void *elements,
                     rt_release release, void *user, ir_error *error) {
  rt_memory memory;
  ir_ref buffer = new_buffer(c, dtype, shape, rank, error);
  if (!buffer || !reserve_storages(c, 1)) return buffer ? no_memory(error) : 0;
  rt_memory_adopt(c->runtime, elements, fe_lazy_bytes(&c->session->ir, buffer), release, user, &memory);
  attach_storage(&c->lazy, buffer, &memory);
  return buffer;
}

ir_ref fe_lazy_buffer(vf_context *c, ir_dtype dtype, const ir_ref *shape, size_t rank, const void *elements,
                      ir_error *error) {
  const ir_graph *g = &c->session->ir;
  rt_memory memory = {0};
  ir_ref buffer = new_buffer(c, dtype, shape, rank, error);
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

void fe_lazy_sweep(vf_context *c) {
  fe_lazy *l = &c->lazy;
  if (!atomic_load_explicit(&l->released, memory_order_relaxed)) return;
  vf_tensor *t = atomic_exchange_explicit(&l->released, NULL, memory_order_acquire);
  for (vf_tensor *next; t; t = next) {
    next = t->next_released;
    if (t->next) t->next->previous = t->previous;
    *(t->previous ? &t->previous->next : &l->tensors) = t->next;
    ir_free(&c->mem, t, sizeof *t);
  }
}

void fe_lazy_free(vf_context *c) {
  fe_lazy *l = &c->lazy;
  fe_lazy_sweep(c);
  for (size_t i = 0; i < l->storage_count; i++) rt_memory_free(c->runtime, &l->storages[i].memory);
  ir_free(&c->mem, l->storages, l->storage_cap * sizeof *l->storages);
  ir_free(&c->mem, l->notes, l->note_cap * sizeof *l->notes);
  ir_free(&c->mem, l->map, l->map_cap * sizeof *l->map);
  ir_free(&c->mem, l->roots, l->root_cap * sizeof *l->roots);
  ir_free(&c->mem, l->leaves, l->leaf_cap * sizeof *l->leaves);
  ir_free(&c->mem, l->frames, l->frame_cap * sizeof *l->frames);
  ir_free(&c->mem, l->pointers, l->pointer_cap * sizeof *l->pointers);
  ir_free(&c->mem, l->refs, l->ref_cap * sizeof *l->refs);
  ir_free(&c->mem, l->targets, l->target_cap * sizeof *l->targets);
  ir_free(&c->mem, l->written, l->written_cap * sizeof *l->written);
  *l = (fe_lazy){0};
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
    notes[s.buffer] = (fe_note){.buffer = s.buffer, .storage = (uint32_t)kept};
  }
  l->storage_count = kept;
  ir_free(&c->mem, l->notes, l->note_cap * sizeof *l->notes);
  l->notes = notes;
  l->note_cap = note_cap;
}

static bool walk_references(fe_walk *w) {
  fe_lazy *l = w->lazy;
  bool good = true;
  for (size_t i = 0; i < l->ref_count && good; i++)
    good = !l->refs[i].newest || (fe_walk_from(w, l->refs[i].newest) && fe_walk_from(w, l->refs[i].held));
  for (size_t i = 0; i < l->target_count && good; i++) good = fe_walk_from(w, l->targets[i]) != 0;
  return good;
}

static void move_references(fe_lazy *l) {
  for (size_t i = 0; i < l->ref_count; i++) {
    fe_session_ref *r = &l->refs[i];
    if (r->newest) *r = (fe_session_ref){l->map[fe_lazy_resolve(l, r->newest)], l->map[r->held]};
  }
  for (size_t i = 0; i < l->target_count; i++) l->targets[i] = l->map[fe_lazy_resolve(l, l->targets[i])];
}

static bool move_results(vf_context *c, ir_error *error) {
  fe_lazy *l = &c->lazy;
  vf_graph *session = c->session;
  ir_graph fresh;
  fe_walk w;
  fe_note *notes = NULL;
  size_t note_cap = 0;
  if (ir_graph_init(&fresh, &c->mem, error) != IR_OK) return false;
  bool good = fe_walk_start(&w, c, &fresh, false);
  for (vf_tensor *t = l->tensors; t && good; t = t->next) good = fe_walk_from(&w, t->node) != 0;
  good = good && walk_references(&w) && reserve_notes(&c->mem, &notes, &note_cap, fresh.count);
  if (!good) {
    ir_graph_free(&fresh);
    return no_memory(error);
  }
  for (vf_tensor *t = l->tensors; t; t = t->next) t->node = l->map[fe_lazy_resolve(l, t->node)];
  move_references(l);
  keep_storages(c, notes, note_cap);
  for (size_t i = 0; i < l->target_count; i++) l->notes[l->targets[i]].target = (uint32_t)i + 1;
  fresh.next_serial = session->ir.next_serial;
  fresh.error = &session->error;
  fe_statements_free(&session->statements, &session->ir);
  ir_graph_free(&session->ir);
  session->ir = fresh;
  fe_statements_open(&session->statements, &session->ir);
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
  fe_lazy_sweep(c);
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

/* List a value in l->roots, once, unless it is realised. *root: its index there, if it is. */
static bool add_root(vf_context *c, ir_ref node, size_t *count, size_t *root) {
  fe_lazy *l = &c->lazy;
  node = fe_lazy_resolve(l, node);
  if (fe_lazy_memory(l, node)) return true;
  if (!l->map[node]) {
    if (!IR_RESERVE(&c->mem, l->roots, l->root_cap, 2 * (*count + 1))) return false;
    l->roots[(*count)++] = node;
    l->map[node] = (ir_ref)*count; /* its index + 1 */
  }
  if (root) *root = l->map[node] - 1;
  return true;
}

/* Has a tensor the elements of the BUFFER? */
static bool is_shared(const fe_lazy *l, ir_ref buffer) {
  for (const vf_tensor *t = l->tensors; t; t = t->next)
    if (fe_lazy_resolve(l, t->node) == buffer) return true;
  return false;
}

/* List the references that have been written in l->written, and their newest versions as roots. */
static bool add_written(vf_context *c, size_t *root_count) {
  fe_lazy *l = &c->lazy;
  for (size_t i = 0; i < l->ref_count; i++) {
    const fe_session_ref *r = &l->refs[i];
    fe_written w = {.ref = i};
    if (!r->newest || r->newest == r->held) continue;
    if (!IR_RESERVE(&c->mem, l->written, l->written_cap, l->written_count + 1) ||
        !add_root(c, r->newest, root_count, &w.root))
      return false;
    w.in_place = !is_shared(l, r->held);
    l->written[l->written_count++] = w;
  }
  return true;
}

/* Add the tensors that are computed from elements which are going to change. needs: room for a flag per
 * node. Sources have smaller numbers than what they are sources of. */
static bool add_dependents(vf_context *c, uint8_t *needs, size_t *root_count) {
  fe_lazy *l = &c->lazy;
  const ir_graph *g = &c->session->ir;
  memset(needs, 0, g->count);
  for (size_t i = 0; i < l->written_count; i++)
    if (l->written[i].in_place) needs[l->refs[l->written[i].ref].held] = 1;
  for (ir_ref at = 1; at < g->count; at++) {
    const ir_node *n = ir_get(g, at);
    for (uint32_t i = 0; i < n->nsrc && !needs[at]; i++) needs[at] = needs[fe_lazy_resolve(l, n->src[i])];
  }
  for (const vf_tensor *t = l->tensors; t; t = t->next)
    if (needs[fe_lazy_resolve(l, t->node)] && !add_root(c, t->node, root_count, NULL)) return false;
  return true;
}

/* List in l->roots the values that are not realised and are to be, each once: of the tensors, of references
 * that have been written, and what needs elements that these change. */
static bool list_roots(vf_context *c, vf_tensor *const *tensors, size_t count, size_t *root_count) {
  fe_lazy *l = &c->lazy;
  bool good = true;
  *root_count = l->written_count = 0;
  for (size_t i = 0; i < count && good; i++) good = add_root(c, tensors[i]->node, root_count, NULL);
  good = good && add_written(c, root_count);
  if (good && l->written_count) {
    size_t nodes = c->session->ir.count;
    uint8_t *needs = ir_alloc(&c->mem, nodes);
    good = needs && add_dependents(c, needs, root_count);
    ir_free(&c->mem, needs, nodes);
  }
  for (size_t i = 0; i < *root_count; i++) l->map[l->roots[i]] = 0;
  return good;
}

/* The reference in whose memory the root is computed; NULL: none. */
static const fe_session_ref *reference_of(const fe_lazy *l, size_t root) {
  for (size_t i = 0; i < l->written_count; i++)
    if (l->written[i].in_place && l->written[i].root == root) return &l->refs[l->written[i].ref];
  return NULL;
}

/* Check that all leaves have elements; one without is the parameter of a function. */
static bool leaves_known(const fe_lazy *l, const fe_walk *w, ir_error *error) {
  for (size_t i = 0; i < w->leaf_count; i++)
    if (!fe_lazy_memory(l, l->leaves[i])) {
      ir_fail(error, IR_ERR_INVALID, "realise: %s",
              l->lost ? "it needs elements that a reference had before a run that changed it failed; release "
                        "the tensor, and compute it from what the reference holds now"
                      : FE_ESCAPED);
      return false;
    }
  return true;
}

/* The inputs that the program changes, into out, which has room for l->written_count. */
static size_t list_references(const fe_lazy *l, const fe_walk *w, pass_reference *out) {
  size_t count = 0;
  for (size_t i = 0; i < l->written_count; i++) {
    size_t leaf = 0;
    while (leaf < w->leaf_count && l->leaves[leaf] != l->refs[l->written[i].ref].held) leaf++;
    if (l->written[i].in_place && leaf < w->leaf_count)
      out[count++] = (pass_reference){(uint32_t)leaf, (uint32_t)l->written[i].root};
  }
  return count;
}

/* What computes the roots: a program on one device, or, where `devices` is made, on the session's mesh. */
typedef struct compiled {
  rt_program *program;
  fe_sharded devices;
} compiled;

/* With the statements that exchanges are for, which messages name. */
static void make_on_mesh(vf_context *c, fe_walk *w, fe_request *r, fe_sharded *out, ir_error *error) {
  fe_statements statements;
  bool known = fe_session_statements(c, w, true, &statements);
  if (known) r->statements = &statements;
  fe_sharded_make(c->runtime, r, false, out, error);
  if (known) fe_statements_free(&statements, w->to);
}

/* Compile one program for all roots. Their copies are in l->roots behind them. */
static ir_status compile_roots(vf_context *c, fe_walk *w, size_t root_count, compiled *out, ir_error *error) {
  fe_lazy *l = &c->lazy;
  ir_ref *copies = l->roots + root_count, results = 0, *inputs;
  bool good = true;
  for (size_t i = 0; i < root_count && good; i++) good = (copies[i] = fe_walk_from(w, l->roots[i])) != 0;
  if (good && !leaves_known(l, w, error)) return error->status;
  if (good) results = ir_tuple(w->to, copies, (uint32_t)root_count);
  inputs = results ? ir_alloc(w->mem, w->leaf_count * sizeof *inputs) : NULL;
  pass_reference *references = ir_alloc(w->mem, l->written_count * sizeof *references);
  if (!inputs || !references) no_memory(error);
  for (size_t i = 0; i < w->leaf_count && inputs; i++) inputs[i] = l->map[l->leaves[i]];
  fe_request request = {.observer = fe_watch_observer(&c->watch),
                        .graph = w->to,
                        .results = results,
                        .inputs = inputs,
                        .input_count = w->leaf_count,
                        .references = references,
                        .reference_count = references ? list_references(l, w, references) : 0,
                        .name = "session"};
  if (!error->status && w->divided) make_on_mesh(c, w, &request, &out->devices, error);
  else if (!error->status) fe_compile(c->runtime, &request, &out->program, error);
  ir_free(w->mem, references, l->written_count * sizeof *references);
  ir_free(w->mem, inputs, w->leaf_count * sizeof *inputs);
  return error->status;
}

/* The index of the leaf for an input of the program: 12 for b12. */
static size_t leaf_number(const char *name) {
  size_t number = 0;
  for (const char *digit = name + 1; *digit; digit++) number = number * 10 + (size_t)(*digit - '0');
  return number;
}

/* On a mesh, all leaves. */
static size_t input_count(const fe_walk *w, const compiled *p) {
  return p->program ? rt_program_input_count(p->program) : w->leaf_count;
}

/* Get the addresses of the program's inputs, then of its outputs. */
static bool gather_pointers(vf_context *c, const fe_walk *w, const compiled *p, rt_memory *made,
                            size_t root_count, ir_error *error) {
  fe_lazy *l = &c->lazy;
  size_t inputs = input_count(w, p);
  if (!IR_RESERVE(&c->mem, l->pointers, l->pointer_cap, inputs + root_count)) return no_memory(error);
  for (size_t i = 0; i < inputs + root_count; i++) {
    size_t leaf = i < inputs && p->program ? leaf_number(rt_program_input(p->program, i).name) : i;
    const fe_session_ref *reference = i >= inputs ? reference_of(l, i - inputs) : NULL;
    rt_memory *memory = reference              ? fe_lazy_memory(l, reference->held)
                        : i >= inputs          ? &made[i - inputs]
                        : leaf < w->leaf_count ? fe_lazy_memory(l, l->leaves[leaf])
                                               : NULL;
    if (!memory) return no_memory(error);
    if (rt_memory_place(c->runtime, memory, i < inputs || reference, error) != IR_OK) return false;
    l->pointers[i] = memory->address;
  }
  return true;
}

/* Make a BUFFER for each root, in l->roots in place of its copy, and memory for it in made[], which the
 * caller frees or attaches. Reserve the storages for commit_results. */
static bool prepare_results(vf_context *c, const compiled *p, size_t root_count, rt_memory *made,
                            ir_error *error) {
  fe_lazy *l = &c->lazy;
  ir_graph *g = &c->session->ir;
  g->error = error;
  for (size_t i = 0; i < root_count && !error->status; i++) {
    ir_ref buffer = op_buffer_like(g, l->roots[i]);
    l->roots[root_count + i] = buffer;
    ir_letters letters = ir_letters_of(g, l->roots[i]);
    if (buffer && ir_has_letters(g, l->roots[i]) && !ir_letters_set(g, buffer, &letters)) buffer = 0;
    const ir_spec *spec = p->program ? NULL : &p->devices.parts.results[i].spec;
    if (buffer && spec && !ir_spec_is_whole(spec) && !ir_set_spec(g, buffer, spec)) buffer = 0;
    if (!buffer || (!reference_of(l, i) &&
                    rt_memory_make(c->runtime, fe_lazy_bytes(g, buffer), &made[i], error) != IR_OK))
      no_memory(error);
  }
  g->error = &c->session->error;
  return !error->status && (reserve_storages(c, root_count) || no_memory(error));
}

/* The memory of references holds new elements, those of their roots' BUFFERs. */
static void commit_references(fe_lazy *l, size_t root_count) {
  for (size_t i = 0; i < l->written_count; i++) {
    const fe_written *w = &l->written[i];
    fe_session_ref *r = &l->refs[w->ref];
    ir_ref buffer = l->roots[root_count + w->root];
    if (w->in_place) {
      uint32_t storage = l->notes[r->held].storage;
      l->notes[r->held] = (fe_note){0};
      l->notes[buffer] = (fe_note){.buffer = buffer, .storage = storage};
      l->storages[storage - 1].buffer = buffer;
    }
    *r = (fe_session_ref){buffer, buffer};
  }
}

/* Are they positions that a target may be made of? Then the node stays what it is: targets of references are
 * made of it as well. */
static bool are_positions(const ir_graph *g, ir_ref node) {
  while (ir_ops[ir_op_of(g, node)].cls == IR_CLASS_VIEW || ir_op_of(g, node) == IR_OP_GATHER)
    node = ir_src(g, node, 0);
  return ir_op_of(g, node) == IR_OP_IOTA && ir_dtype_of(g, node) == IR_I64;
}

static void commit_results(vf_context *c, size_t root_count, const rt_memory *made) {
  fe_lazy *l = &c->lazy;
  for (size_t i = 0; i < root_count; i++) {
    ir_ref root = l->roots[i], buffer = l->roots[root_count + i];
    if (!reference_of(l, i)) attach_storage(l, buffer, &made[i]);
    if (!are_positions(&c->session->ir, root)) {
      l->notes[root].buffer = buffer;
      continue;
    }
    for (vf_tensor *t = l->tensors; t; t = t->next)
      if (t->node == root) t->node = buffer;
  }
  commit_references(l, root_count);
}

/* A run that failed half way has changed references, whose old versions are gone: each holds what the steps
 * before left, and the writes are dropped. One that was short of memory has not begun. */
static void abandon_results(vf_context *c, size_t root_count, rt_memory *made, bool changed) {
  fe_lazy *l = &c->lazy;
  for (size_t i = 0; i < root_count; i++) rt_memory_free(c->runtime, &made[i]);
  size_t kept = 0;
  for (size_t i = 0; i < l->written_count && changed; i++) {
    fe_session_ref *r = &l->refs[l->written[i].ref];
    if (l->written[i].in_place) l->written[kept++] = l->written[i];
    else r->newest = r->held;
  }
  l->written_count = kept;
  l->lost |= kept > 0;
  commit_references(l, root_count);
}

static void run_program(vf_context *c, fe_walk *w, size_t root_count, compiled *p, ir_error *error) {
  fe_lazy *l = &c->lazy;
  rt_memory one = {0}, *made = root_count == 1 ? &one : ir_alloc(&c->mem, root_count * sizeof *made);
  bool begun = false;
  if (!made) {
    no_memory(error);
    return;
  }
  memset(made, 0, root_count * sizeof *made);
  if (prepare_results(c, p, root_count, made, error) && gather_pointers(c, w, p, made, root_count, error)) {
    void **outputs = l->pointers + input_count(w, p);
    for (size_t i = 0; i < l->written_count; i++)
      if (l->written[i].in_place) fe_lazy_memory(l, l->refs[l->written[i].ref].held)->host_current = false;
    l->running = begun = true;
    if (p->program) rt_program_run_placed(p->program, l->pointers, outputs, NULL, error);
    else fe_sharded_run(&p->devices, l->pointers, outputs, NULL, error);
    l->running = false;
    if (p->program) fe_session_blame(c, w, root_count, error);
  }
  if (!error->status) commit_results(c, root_count, made);
  else abandon_results(c, root_count, made, begun && error->status != IR_ERR_MEMORY);
  if (made != &one) ir_free(&c->mem, made, root_count * sizeof *made);
}

static void realise_tensors(vf_context *c, vf_tensor *const *tensors, size_t count, ir_error *error) {
  ir_task task;
  ir_graph scratch;
  fe_walk w;
  size_t root_count = 0;
  compiled program = {0};
  if (ir_graph_init(&scratch, &c->mem, error) != IR_OK) return;
  bool good = fe_walk_start(&w, c, &scratch, true) && list_roots(c, tensors, count, &root_count);
  if (!good) no_memory(error);
  if (root_count && good) {
    ir_task_begin(scratch.task = &task, c->progress);
    if (compile_roots(c, &w, root_count, &program, error) == IR_OK)
      run_program(c, &w, root_count, &program, error);
    rt_program_release(program.program);
    fe_sharded_free(&program.devices);
  }
  ir_graph_free(&scratch);
}

ir_status fe_lazy_realise(vf_context *c, vf_tensor *const *tensors, size_t count, ir_error *error) {
  size_t bytes = 0;
  bool pending = false;
  for (size_t i = 0; i < count; i++)
    if (!fe_lazy_memory(&c->lazy, tensors[i]->node))
      bytes += counted_bytes(fe_lazy_bytes(&c->session->ir, tensors[i]->node));
  for (size_t i = 0; i < c->lazy.ref_count && !count; i++)
    pending |= c->lazy.refs[i].newest != c->lazy.refs[i].held;
  if (!bytes && !pending) return IR_OK;
  if (c->session->recording)
    return ir_fail(error, IR_ERR_INVALID,
                   "realise: a function is being recorded, whose values have no elements; realise before or "
                   "after it");
  if (is_running(c, "realise", error)) return error->status;
  fe_lazy_sweep(c);
  c->session->epoch++;
  move_if_worthwhile(c, bytes);
  realise_tensors(c, tensors, count, error);
  return error->status;
}
