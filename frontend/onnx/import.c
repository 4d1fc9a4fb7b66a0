/* From a model file to a graph. */
#include <stdio.h>
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/narrow.h"
#include "frontend/text/kinds.h"

/* Calls of functions and graphs in graphs nest at most so deep; each level takes about 4 KiB of stack. */
enum { DEPTH_MOST = 32 };

/* What reading a file may take: a node takes about 1 KiB, and 30 bytes of the file or more; those of a
 * function are read at each call. Bytes of memory: ARENA_LEAST, and ARENA_TIMES for each byte of the file,
 * eight times what a node needs. Nodes: NODES_LEAST, and NODES_TIMES for each byte. */
enum { ARENA_LEAST = 16 << 20, ARENA_TIMES = 256, NODES_LEAST = 10000, NODES_TIMES = 4 };

bool onnx_fail(onnx_import *m, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_vfail(m->error, status, format, args);
  va_end(args);
  return false;
}

bool onnx_enter(onnx_import *m) {
  return ++m->depth <= DEPTH_MOST ||
         onnx_fail(m, IR_ERR_UNSUPPORTED, "graphs and functions nest more than %d deep", DEPTH_MOST);
}
void onnx_leave(onnx_import *m) { m->depth--; }

/* nodes */

static int64_t opset_of(onnx_import *m, const onnx_frame *frame, wire_bytes domain) {
  if (wire_is(domain, "ai.onnx")) domain.size = 0;
  for (size_t i = 0; i < frame->opsets->count; i++) {
    const onnx_opset_proto *o = (const onnx_opset_proto *)frame->opsets->items + i;
    if (wire_equal(o->domain, domain) || (domain.size == 0 && wire_is(o->domain, "ai.onnx")))
      return o->version;
  }
  (void)m;
  return 1;
}

/* Attributes that stand for one of the function's are those of its call, or its defaults; else left out. */
static bool resolve(onnx_node *n, onnx_attribute *a) {
  const onnx_node *caller = n->frame->caller;
  wire_bytes name = a->name, wanted = a->of_function;
  for (int i = 0; caller && i < caller->attribute_count; i++)
    if (wire_equal(caller->attributes[i].name, wanted)) {
      *a = caller->attributes[i];
      a->name = name;
      return true;
    }
  const wire_list *defaults = n->frame->function ? &n->frame->function->defaults : NULL;
  for (size_t i = 0; defaults && i < defaults->count; i++) {
    onnx_attribute read = {0};
    if (!wire_read(&n->m->arena, &onnx_attribute_message, n->m->whole, ((wire_bytes *)defaults->items)[i],
                   &read))
      return false;
    if (!wire_equal(read.name, wanted)) continue;
    *a = read;
    a->name = name;
    return true;
  }
  a->name = (wire_bytes){0}; /* left out */
  return true;
}

static bool read_attributes(onnx_node *n) {
  const wire_list *list = &n->proto->attributes;
  onnx_attribute *all = wire_alloc(&n->m->arena, (list->count + 1) * sizeof *all);
  if (!all) return false;
  for (size_t i = 0; i < list->count; i++) {
    if (!wire_read(&n->m->arena, &onnx_attribute_message, n->m->whole, ((wire_bytes *)list->items)[i],
                   &all[i]))
      return false;
    if (all[i].of_function.size && !resolve(n, &all[i])) return false;
  }
  n->attributes = all;
  n->attribute_count = (int)list->count;
  return true;
}

static bool find_inputs(onnx_node *n) {
  const wire_bytes *names = n->proto->inputs.items;
  n->inputs = wire_alloc(&n->m->arena, (n->proto->inputs.count + 1) * sizeof(onnx_value *));
  n->input_count = (int)n->proto->inputs.count;
  for (int i = 0; n->inputs && i < n->input_count; i++)
    if (names[i].size && !(n->inputs[i] = onnx_find(&n->frame->scope, names[i])))
      return onnx_refuse(n,
                         "its input %d, '%.*s', is computed by no node before it, and is no input; takes "
                         "nodes behind those whose results they have",
                         i, WIRE_TEXT(names[i]));
  return n->inputs != NULL;
}

static bool declare_outputs(onnx_node *n) {
  const wire_bytes *names = n->proto->outputs.items;
  n->outputs = wire_alloc(&n->m->arena, (n->proto->outputs.count + 1) * sizeof(onnx_value *));
  n->output_count = (int)n->proto->outputs.count;
  for (int i = 0; n->outputs && i < n->output_count; i++)
    if (names[i].size && !(n->outputs[i] = onnx_declare(n->m, &n->frame->scope, names[i]))) return false;
  return n->outputs != NULL;
}

static const onnx_function *find_function(onnx_import *m, wire_bytes domain, wire_bytes op) {
  onnx_named *item = onnx_scope_find(&m->functions, op);
  for (; item; item = item->next) {
    const onnx_function *f = (const onnx_function *)item;
    if (wire_equal(item->name, op) && wire_equal(f->proto.domain, domain)) return f;
  }
  return NULL;
}

static bool find_operator(onnx_node *n) {
  const onnx_node_proto *p = n->proto;
  if (p->domain.size == 0 || wire_is(p->domain, "ai.onnx") || wire_is(p->domain, "ai.onnx.preview") ||
      wire_is(p->domain, "ai.onnx.preview.training"))
    n->row = onnx_operator_find(p->op);
  if (wire_is(p->domain, "com.microsoft")) { /* with the attributes of ai.onnx */
    n->row = onnx_microsoft_find(p->op);
    n->opset = opset_of(n->m, n->frame, (wire_bytes){0});
  }
  const onnx_operator *row = n->row;
  if (!row) {
    const char *why = onnx_operator_missing(p->op);
    return onnx_lacks(n,
                      "there is no operator %.*s of domain '%.*s'%s%s; takes the operators that "
                      "docs/onnx.md lists, and functions of the model",
                      WIRE_TEXT(p->op), WIRE_TEXT(p->domain), why ? ": it needs " : "", why ? why : "");
  }
  if (n->opset < ONNX_FIRST_OPSET || n->opset > ONNX_LAST_OPSET)
    return onnx_lacks(n, "operator set %lld; takes %d to %d", (long long)n->opset, ONNX_FIRST_OPSET,
                      ONNX_LAST_OPSET);
  if (n->input_count < row->least || (row->most < 255 && n->input_count > row->most))
    return onnx_refuse(n, "%d inputs; takes %d to %d", n->input_count, row->least, row->most);
  return true;
}

static bool call_function(onnx_node *n, const onnx_function *f) {
  onnx_import *m = n->m;
  onnx_frame frame = {.caller = n, .function = &f->proto, .opsets = &f->proto.opsets};
  const onnx_function_proto *p = &f->proto;
  if (!onnx_enter(m)) return false;
  for (size_t i = 0; i < p->inputs.count; i++) {
    if (!onnx_has(n, (int)i)) continue;
    onnx_value *v = onnx_declare(m, &frame.scope, ((wire_bytes *)p->inputs.items)[i]);
    if (!v) return false;
    onnx_share(v, n->inputs[i]);
  }
  if (!onnx_record_nodes(m, &frame, &p->nodes)) return false;
  for (size_t i = 0; i < p->outputs.count && (int)i < n->output_count; i++) {
    onnx_value *v = onnx_find(&frame.scope, ((wire_bytes *)p->outputs.items)[i]);
    if (!v) return onnx_refuse(n, "the function does not compute its output %zu", i);
    if (n->outputs[i]) onnx_share(n->outputs[i], v);
  }
  onnx_leave(m);
  return true;
}

/* Notes the node as a statement, "%y = Conv 'conv1'", or "%y = Conv of 'y', node[3]" where it has no name. */
static void note_statement(const onnx_node *n, uint32_t number) {
  fe_statements *s = &n->m->graph->statements;
  char text[420];
  if (n->proto->name.size)
    snprintf(text, sizeof text, "%.*s '%.*s'", WIRE_TEXT(n->proto->op), WIRE_TEXT(n->proto->name));
  else if (n->output_count)
    snprintf(text, sizeof text, "%.*s of '%.*s', node[%zu]", WIRE_TEXT(n->proto->op),
             WIRE_TEXT(((const wire_bytes *)n->proto->outputs.items)[0]), n->number);
  else snprintf(text, sizeof text, "%.*s, node[%zu]", WIRE_TEXT(n->proto->op), n->number);
  int64_t id = ir_name(n->g, text, strlen(text));
  if (id < 0 || !number) return;
  fe_statements_write(s, n->g, number, ir_name_text(n->g, id), n->output_count > 1, NULL, 0);
  for (int i = 0; i < n->output_count; i++) {
    if (!n->outputs[i] || !n->outputs[i]->ref) continue;
    const wire_bytes *name = (const wire_bytes *)n->proto->outputs.items + i;
    snprintf(text, sizeof text, "%.*s", WIRE_TEXT(*name));
    ir_cause_results(n->g, n->outputs[i]->ref, number);
    fe_statements_name_result(s, n->g, number, n->outputs[i]->ref, text);
  }
}

static bool record(onnx_node *n) {
  n->opset = opset_of(n->m, n->frame, n->proto->domain);
  if (!read_attributes(n) || !find_inputs(n)) return false;
  const onnx_function *function = find_function(n->m, n->proto->domain, n->proto->op);
  if (!function && (!find_operator(n) || !onnx_check_signature(n))) return false;
  if (!declare_outputs(n)) return false;
  if (function) return call_function(n, function);
  bool done = false;
  if (!onnx_narrow_ready(n)) return false;
  if (n->row->fold && (!n->row->fold(n, &done) || done)) return done;
  uint32_t number = ir_cause_next(n->g);
  if (!n->row->record(n)) return false;
  note_statement(n, number);
  onnx_narrow_moved(n);
  return true;
}

/* `f32[2,3]` of a value that is a tensor by now, or an initialiser; "" of others. */
static void put_type(onnx_import *m, const onnx_value *v, ir_text *out) {
  if (v && v->ref) ir_print_type(m->g, v->ref, out);
  if (!v || v->ref || !v->tensor) return;
  ir_dtype dtype = onnx_dtype(v->tensor->dtype);
  ir_textf(out, "%s[", dtype != IR_NONE ? ir_dtypes[dtype].name : onnx_dtype_name(v->tensor->dtype));
  for (size_t i = 0; i < v->tensor->dims.count; i++)
    ir_textf(out, i ? ",%lld" : "%lld", (long long)((const int64_t *)v->tensor->dims.items)[i]);
  ir_text_str(out, "]");
}

/* The message of an error, with the node and its inputs before it. */
static void explain(onnx_node *n) {
  onnx_import *m = n->m;
  char text[sizeof m->error->text];
  bool named = n->proto->name.size || !n->proto->outputs.count;
  wire_bytes name = named ? n->proto->name : ((const wire_bytes *)n->proto->outputs.items)[0];
  int used = snprintf(text, sizeof text, "node %s'%.*s' (%.*s, operator set %lld", named ? "" : "of ",
                      WIRE_TEXT(name), WIRE_TEXT(n->proto->op), (long long)n->opset);
  const wire_bytes *names = n->proto->inputs.items;
  for (int i = 0; n->inputs && i < n->input_count && used < 500; i++) {
    ir_text type;
    ir_text_init(&type, m->g->mem);
    put_type(m, n->inputs[i], &type);
    used += snprintf(text + used, sizeof text - (size_t)used, type.len ? "%s'%.*s' %.60s" : "%s'%.*s'",
                     i ? ", " : "; inputs ", (int)(names[i].size < 64 ? names[i].size : 64),
                     (const char *)names[i].at, ir_text_get(&type));
    ir_text_free(&type);
  }
  snprintf(text + used, sizeof text - (size_t)used, "): %s", m->error->text);
  memcpy(m->error->text, text, sizeof text);
  m->explained = true;
}

/* Records a node, and what waits for its results and nothing else then; `late` NULL: it has to have its
 * inputs.
 */
static bool record_one(onnx_import *m, onnx_frame *frame, const wire_list *nodes, size_t i, onnx_late *late) {
  onnx_node_proto proto = {0};
  onnx_node n = {.m = m, .g = m->g, .frame = frame, .proto = &proto, .number = i};
  bool waits = false;
  if (!wire_read(&m->arena, &onnx_node_message, m->whole, ((wire_bytes *)nodes->items)[i], &proto))
    return false;
  if (++m->nodes > m->most_nodes)
    return onnx_fail(m, IR_ERR_UNSUPPORTED,
                     "functions become more than %zu nodes, the most for a file of its size", m->most_nodes);
  if (late && !onnx_waits(m, late, &frame->scope, &proto, i, &waits)) return false;
  bool good = waits || record(&n);
  if (good && !m->error->status) {
    if (late && !waits) onnx_wake(late, &proto);
    return true;
  }
  if (!m->error->status) onnx_fail(m, IR_ERR_INTERNAL, "recording failed without a reason");
  if (!m->explained) explain(&n);
  return false;
}

bool onnx_record_nodes(onnx_import *m, onnx_frame *frame, const wire_list *nodes) {
  bool outermost = !frame->scope.parent && !frame->function;
  onnx_late late = {.nodes = nodes->count};
  size_t node;
  for (size_t i = 0; i < nodes->count; i++) {
    if (outermost && m->options && m->options->progress)
      m->options->progress(m->options->user, i, nodes->count);
    if (outermost && !ir_task_tell(m->g->task, "importing", (int64_t)i, (int64_t)nodes->count))
      return ir_cancelled(m->error), false;
    if (!record_one(m, frame, nodes, i, &late)) return false;
    while (late.ready_count && onnx_next_late(&late, &node))
      if (!record_one(m, frame, nodes, node, &late)) return false;
  }
  return !onnx_next_late(&late, &node) || record_one(m, frame, nodes, node, NULL);
}

bool onnx_record_graph(onnx_import *m, onnx_frame *frame, const onnx_graph_proto *graph) {
  if (graph->sparse.count)
    return onnx_fail(m, IR_ERR_UNSUPPORTED, "the model has sparse initialisers; takes dense ones");
  for (size_t i = 0; i < graph->initializers.count; i++) {
    onnx_tensor *t = wire_alloc(&m->arena, sizeof *t);
    if (!t || !onnx_tensor_read(m, ((wire_bytes *)graph->initializers.items)[i], t)) return false;
    onnx_value *v = onnx_declare(m, &frame->scope, t->name);
    if (!v) return false;
    v->tensor = t;
    v->narrow = onnx_narrow_of(t->dtype) ? t->dtype : 0;
  }
  if (!frame->scope.parent && !onnx_declare_inputs(m, frame, graph)) return false;
  return onnx_record_nodes(m, frame, &graph->nodes);
}

/* the model */

static bool read_opsets(onnx_import *m, wire_list *opsets) {
  onnx_opset_proto *all = wire_alloc(&m->arena, (opsets->count + 1) * sizeof *all);
  for (size_t i = 0; all && i < opsets->count; i++)
    if (!wire_read(&m->arena, &onnx_opset_message, m->whole, ((wire_bytes *)opsets->items)[i], &all[i]))
      return false;
  opsets->items = all;
  return all != NULL;
}

static bool read_functions(onnx_import *m, const wire_list *functions) {
  for (size_t i = 0; i < functions->count; i++) {
    onnx_function *f = wire_alloc(&m->arena, sizeof *f);
    if (!f || !wire_read(&m->arena, &onnx_function_message, m->whole, ((wire_bytes *)functions->items)[i],
                         &f->proto))
      return false;
    if (!read_opsets(m, &f->proto.opsets) ||
        !onnx_scope_add(&m->arena, &m->functions, f->proto.name, &f->base))
      return false;
  }
  return true;
}

/* An output, or one for each tensor of a sequence: NAME_0, NAME_1, ... */
static bool declare_result(onnx_import *m, wire_bytes text, onnx_value *v) {
  for (int i = 0; v->sequence && i < v->sequence->count; i++) {
    onnx_value *item = wire_alloc(&m->arena, sizeof *item);
    if (!item) return false;
    onnx_share(item, v->sequence->items[i]);
    if (!declare_result(m, onnx_numbered(m, text, i), item)) return false;
  }
  if (v->sequence) return true;
  const char *name = onnx_string(m, text);
  ir_ref ref = name ? onnx_value_ref(m, v) : 0;
  return ref && vf_output(m->graph, name, (vf_value){m->graph, ref, m->graph->epoch}).id;
}

static bool declare_results(onnx_import *m, onnx_frame *frame, const onnx_graph_proto *graph) {
  if (!graph->outputs.count)
    return onnx_fail(m, IR_ERR_INVALID, "the graph has no outputs; takes at least one");
  for (size_t i = 0; i < graph->outputs.count; i++) {
    onnx_value_info info = {0};
    if (!wire_read(&m->arena, &onnx_value_info_message, m->whole, ((wire_bytes *)graph->outputs.items)[i],
                   &info))
      return false;
    onnx_value *v = onnx_find(&frame->scope, info.name);
    if (!v)
      return onnx_fail(m, IR_ERR_INVALID, "the output '%.*s' is computed by no node, and is no input",
                       WIRE_TEXT(info.name));
    if (!declare_result(m, info.name, v) || !onnx_check_output(m, &info, v)) return false;
  }
  return true;
}

enum { TEXT_BYTES = 16 }; /* because messages have bytes below 32 among their first 16 */

/* What the reader of messages found wrong in a file that may be of another kind altogether. */
static bool fail_no_model(onnx_import *m) {
  char found[200];
  if (m->error->status != IR_ERR_INVALID) return false;
  bool text = m->whole.size > 0;
  for (size_t i = 0; i < m->whole.size && i < TEXT_BYTES; i++) {
    uint8_t c = m->whole.at[i];
    text &= (c >= 32 && c < 127) || c == '\n' || c == '\t' || c == '\r';
  }
  snprintf(found, sizeof found, "%.199s", m->error->text);
  ir_error_clear(m->error);
  if (text)
    return onnx_fail(
        m, IR_ERR_INVALID,
        "no ONNX model, but text; a text of graphs has a name that does not end in .onnx, such as "
        "net.vf");
  const char *kind = fe_kind_name((const char *)m->whole.at, m->whole.size);
  if (kind) return onnx_fail(m, IR_ERR_INVALID, "no ONNX model, but %s", kind);
  return onnx_fail(m, IR_ERR_INVALID, "no ONNX model, or a damaged one: %s", found);
}

/* The graph's own name in place of that with which it was made. */
static bool name_graph(onnx_import *m, wire_bytes name) {
  int64_t id = ir_name(m->g, (const char *)name.at, name.size);
  if (id < 0) return false;
  m->graph->name = ir_name_text(m->g, id);
  m->graph->name_length = name.size;
  return true;
}

static bool read_model(onnx_import *m) {
  onnx_model_proto model = {0};
  onnx_graph_proto graph = {0};
  onnx_frame frame = {.opsets = &model.opsets};
  if (!m->whole.size) return onnx_fail(m, IR_ERR_INVALID, "the file is empty");
  if (!wire_read(&m->arena, &onnx_model_message, m->whole, m->whole, &model)) return fail_no_model(m);
  if (!model.graph.at) return onnx_fail(m, IR_ERR_INVALID, "it has no graph; is it an ONNX model?");
  if (!model.opsets.count)
    return onnx_fail(m, IR_ERR_INVALID,
                     "it names no operator set; opset_import has one, such as 17 of the domain ''");
  return read_opsets(m, &model.opsets) && read_functions(m, &model.functions) &&
         wire_read(&m->arena, &onnx_graph_message, m->whole, model.graph, &graph) &&
         (!graph.name.size || name_graph(m, graph.name)) && onnx_record_graph(m, &frame, &graph) &&
         declare_results(m, &frame, &graph);
}

static void release_externals(onnx_import *m) {
  for (size_t i = 0; i < m->externals.bucket_count; i++)
    for (onnx_named *item = m->externals.buckets[i]; item; item = item->next)
      onnx_file_close((onnx_file *)item);
}

/* One attempt, in m->graph; its error is the graph's. */
static void attempt(onnx_import *m) {
  m->g = &m->graph->ir;
  m->error = &m->graph->error;
  fe_graph_begin_task(m->graph);
  if (!m->file.bytes.at) onnx_file_open(m, m->path, &m->file, m->error);
  m->whole = m->file.bytes;
  m->most_nodes = NODES_LEAST + NODES_TIMES * m->whole.size;
  m->arena =
      (wire_arena){.mem = m->g->mem, .error = m->error, .limit = ARENA_LEAST + ARENA_TIMES * m->whole.size};
  if (!m->error->status && !read_model(m) && !m->error->status)
    ir_fail(m->error, IR_ERR_MEMORY, "out of memory");
  release_externals(m);
  wire_free(&m->arena);
  m->g->task = NULL;
  ir_say_cancelled(m->error, "cancelled while it was imported; import it again to go on");
}

/* A graph from an attempt with the limits and the file of `from`. */
static vf_graph *try_again(onnx_import *m) {
  onnx_import again = {
      .path = m->path, .options = m->options, .weights_file = m->weights_file, .asked = m->asked};
  vf_graph *graph = vf_graph_create(m->graph->context, "model", NULL);
  if (!graph) return NULL;
  again.graph = graph;
  again.file = m->file;
  again.limits = m->limits, again.limit_count = m->limit_count, again.limit_cap = m->limit_cap;
  attempt(&again);
  m->file = again.file;
  m->limits = again.limits, m->limit_count = again.limit_count, m->limit_cap = again.limit_cap;
  if (graph->error.status) {
    vf_graph_destroy(graph);
    graph = NULL;
  }
  return graph;
}

/* The graph of m, whose file is that of its path unless it has bytes; NULL with *error set. */
static vf_graph *import(onnx_import *m, vf_context *c, ir_error *error) {
  vf_error failure = {0};
  unsigned failures = fe_failures(c);
  m->graph = vf_graph_create(c, "model", &failure);
  if (!m->graph) {
    ir_fail(error, (ir_status)failure.status, "%s", failure.message);
    return NULL;
  }
  attempt(m);
  if (m->error->status) {
    vf_graph *better = m->limit_count && !ir_gives_up(m->error->status) ? try_again(m) : NULL;
    bool named = strncmp(m->error->text, m->path, strlen(m->path)) == 0; /* a message of opening a file */
    if (!better && named) *error = *m->error;
    else if (!better) fe_file_fail(error, m->error->status, m->path, "%s", m->error->text);
    if (!better) fe_report_as_memory(c, failures, error);
    vf_graph_destroy(m->graph);
    m->graph = better;
  }
  ir_free(&c->mem, m->limits, m->limit_cap * sizeof *m->limits);
  onnx_file_close(&m->file);
  return m->graph;
}

vf_graph *onnx_import_asking(vf_context *c, const char *path, const vf_import_options *options,
                             const char *weights_file, onnx_asked *asked, ir_error *error) {
  onnx_import m = {.path = path, .options = options, .weights_file = weights_file, .asked = asked};
  return import(&m, c, error);
}

vf_graph *onnx_import_memory(vf_context *c, const char *name, const void *bytes, size_t size,
                             const vf_import_options *options, ir_error *error) {
  onnx_import m = {.path = name, .options = options, .file.bytes = {bytes, size}};
  return import(&m, c, error);
}

vf_graph *vf_import_onnx(vf_context *c, const char *path, const vf_import_options *options, vf_error *error) {
  ir_error failure = {0};
  vf_graph *graph = NULL;
  const char *wrong = fe_not(c, FE_CONTEXT);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "import: the context is %s", wrong);
  else if (!path) ir_fail(&failure, IR_ERR_INVALID, "import: the path is NULL");
  else if (options && options->size < sizeof *options)
    ir_fail(&failure, IR_ERR_INVALID, "import: the options have size %zu; takes %zu", options->size,
            sizeof *options);
  else graph = onnx_import_asking(c, path, options, NULL, NULL, &failure);
  fe_report(error, &failure);
  return graph;
}
