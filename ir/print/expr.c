/* The text of expressions, constants, attributes and types: everything within a line. */
#include "ir/custom.h"
#include "ir/letters.h"
#include "ir/mesh/sharding.h"
#include "ir/lex/lex.h"
#include "ir/print/print.h"
#include "ir/resource.h"

#include <string.h>

typedef struct ir_print_frame {
  ir_ref ref;
  uint32_t next;
} ir_print_frame;

/* limits on printed bytes, beyond which an expression, whose tree may be far larger than its graph, ends in
 * "..." */
enum { EXPR_BYTES = 1 << 20, LISTING_BYTES = 1 << 24, DIM_BYTES = 1024 };
typedef enum { STYLE_INFIX, STYLE_NOT, STYLE_NEG, STYLE_CHOICE, STYLE_CALL } style;

bool ir_is_expression(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  ir_op op = (ir_op)n->op;
  if (n->dtype != IR_INDEX && n->dtype != IR_BOOL) return false;
  if (op == IR_OP_CONST || op == IR_OP_VAR || op == IR_OP_RANGE) return true;
  bool logic = op == IR_OP_AND || op == IR_OP_OR || op == IR_OP_XOR,
       compare = ir_ops[op].cls == IR_CLASS_COMPARE;
  bool many = op == IR_OP_ADD || op == IR_OP_MUL || op == IR_OP_AND || op == IR_OP_OR;
  if (n->nsrc < 1 || (many ? n->nsrc < 2 : (int)n->nsrc != ir_ops[op].operands)) return false;
  ir_dtype of = ir_dtype_of(g, n->src[n->nsrc - 1]);
  for (uint32_t i = op == IR_OP_WHERE; i < n->nsrc; i++)
    if (ir_dtype_of(g, n->src[i]) != of) return false;
  if (of != IR_INDEX && of != IR_BOOL) return false;
  if (op == IR_OP_WHERE) return ir_dtype_of(g, n->src[0]) == IR_BOOL && n->dtype == of;
  if (compare) return n->dtype == IR_BOOL && (of == IR_INDEX || op == IR_OP_EQ || op == IR_OP_NE);
  if (logic || op == IR_OP_NOT) return n->dtype == IR_BOOL && of == IR_BOOL;
  bool arithmetic = many || op == IR_OP_NEG || op == IR_OP_ABS || op == IR_OP_SUB || op == IR_OP_FLOORDIV ||
                    op == IR_OP_MOD || op == IR_OP_MIN || op == IR_OP_MAX;
  return arithmetic && n->dtype == IR_INDEX && of == IR_INDEX;
}

static uint8_t flags_of(const ir_printer *pr, ir_ref ref) { return ref < pr->limit ? pr->flags[ref] : 0; }

static style style_of(const ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  const ir_op_info *info = &ir_ops[n->op];
  if (info->infix[0] && n->nsrc >= 2 && (info->cls == IR_CLASS_BINARY || info->cls == IR_CLASS_COMPARE))
    return STYLE_INFIX;
  if (n->op == IR_OP_NOT && n->nsrc == 1) return STYLE_NOT;
  if (n->op == IR_OP_NEG && n->nsrc == 1 && ir_op_of(pr->graph, n->src[0]) != IR_OP_CONST) return STYLE_NEG;
  if (n->op == IR_OP_WHERE && n->nsrc == 3 && pr->python) return STYLE_CHOICE;
  return STYLE_CALL;
}

static void put_var(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  int64_t lo, hi, divisor;
  ir_text_add(pr->out, ir_name_text(pr->graph, n->arg), ir_name_length(pr->graph, n->arg));
  if (!pr->listing || ref >= pr->limit || pr->flags[ref] & IR_PRINT_DECLARED) return;
  pr->flags[ref] |= IR_PRINT_DECLARED;
  if (n->nsrc != 3 || !ir_is_const(pr->graph, n->src[0], &lo) || !ir_is_const(pr->graph, n->src[1], &hi) ||
      !ir_is_const(pr->graph, n->src[2], &divisor))
    return;
  ir_textf(pr->out, "=%lld..%lld", (long long)lo, (long long)hi);
  if (divisor != 1) ir_textf(pr->out, ":%lld", (long long)divisor);
}

static void put_const(ir_printer *pr, const ir_node *n) {
  ir_value value = {.i = n->arg};
  if (n->dtype == IR_INDEX || n->weak) ir_print_value(pr->out, value, (ir_dtype)n->dtype);
  else if (n->dtype == IR_BOOL) ir_text_str(pr->out, n->arg ? "True" : "False");
  else {
    ir_textf(pr->out, "%s(", ir_dtypes[n->dtype].name);
    ir_print_value(pr->out, value, (ir_dtype)n->dtype);
    ir_text_str(pr->out, ")");
  }
}

void ir_put_name(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  ir_text_str(pr->out, "%");
  if (n->op == IR_OP_INPUT) {
    ir_lex_print_name(pr->out, ir_name_text(pr->graph, n->arg), ir_name_length(pr->graph, n->arg));
  } else if (pr->names[ref] & IR_PRINT_RESULT) {
    const ir_named *r = &pr->results[pr->names[ref] & ~IR_PRINT_RESULT];
    ir_lex_print_name(pr->out, r->name, r->length);
  } else if (pr->names[ref] & IR_PRINT_PARAM) {
    /* an input may be called a0, but nothing is called resource(0) without quotes */
    const char *format = n->op == IR_OP_RESOURCE ? "resource(%u)" : "a%u";
    ir_textf(pr->out, format, pr->names[ref] & ~IR_PRINT_PARAM);
  } else if (pr->names[ref] & IR_PRINT_LOCAL) {
    const ir_named *local = &pr->locals[pr->names[ref] & ~IR_PRINT_LOCAL];
    ir_lex_print_name(pr->out, local->name, local->length);
  } else {
    ir_text_int(pr->out, (int64_t)pr->names[ref] - 1);
  }
}

static bool put_leaf(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  if (n->op == IR_OP_INPUT || (ref < pr->limit && pr->names[ref])) ir_put_name(pr, ref);
  else if (n->op == IR_OP_VAR) put_var(pr, ref);
  else if (n->op == IR_OP_CONST) put_const(pr, n);
  else if (n->op == IR_OP_RANGE) ir_textf(pr->out, "ridx%lld", (long long)ir_arg_int(n));
  else if (n->op == IR_OP_PARAM) ir_textf(pr->out, "p%lld", (long long)ir_arg_int(n));
  else if (n->op == IR_OP_LOCAL) ir_textf(pr->out, "l%lld", (long long)ir_arg_int(n));
  else if (n->op == IR_OP_BUFFER) ir_textf(pr->out, "buffer(%lld)", (long long)n->arg);
  else return false;
  return true;
}

/* Prints an attribute kept in the node's arg or dtype. False if it is of another kind, or if `sparse` and the
 * default value 0 is not printed. */
static bool put_arg_attribute(ir_printer *pr, const ir_node *n, const char *before, const char *name,
                              const char *kind, bool sparse) {
  const char *word = NULL;
  int mode = ir_arg_mode(n);
  bool is_mode = true;
  if (strcmp(kind, "dtype") == 0) word = ir_dtypes[n->dtype].name, is_mode = false;
  else if (strcmp(kind, "bool") == 0) word = mode ? "true" : "false";
  else if (strcmp(kind, "pad_mode") == 0) word = mode < 4 ? ir_pad_modes[mode] : "?";
  else if (strcmp(kind, "gather_mode") == 0) word = mode < 3 ? ir_gather_modes[mode] : "?";
  else if (strcmp(kind, "write_op") == 0) word = mode < 2 ? ir_write_ops[mode] : "?";
  else if (strcmp(kind, "binding") == 0) word = mode < 4 ? ir_bindings[mode] : "?";
  if (strcmp(kind, "level") == 0) {
    ir_textf(pr->out, "%s%s=%d", before, name, mode);
    return true;
  }
  if (word) {
    if (is_mode && sparse && mode == 0) return false;
    ir_textf(pr->out, "%s%s=%s", before, name, word);
    return true;
  }
  if (strcmp(kind, "small") == 0 && ir_arg_small(n)) {
    ir_textf(pr->out, "%s%s=%d", before, name, ir_arg_small(n));
    return true;
  }
  if (strcmp(kind, "int") == 0 || strcmp(kind, "serial") == 0) {
    ir_textf(pr->out, "%s%s=%lld", before, name, (long long)(kind[0] == 'i' ? ir_arg_int(n) : n->arg));
    return true;
  }
  return false;
}

static void open_node(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  if (put_leaf(pr, ref)) return;
  if (!IR_RESERVE(pr->graph->mem, pr->frames, pr->frame_cap, pr->frame_count + 1)) {
    pr->out->failed = true;
    return;
  }
  pr->frames[pr->frame_count++] = (ir_print_frame){ref, 0};
  switch (style_of(pr, ref)) {
  case STYLE_INFIX:
    for (uint32_t i = pr->listing ? n->nsrc - 1 : 1; i < n->nsrc; i++) ir_text_str(pr->out, "(");
    break;
  case STYLE_NOT: ir_text_str(pr->out, "!"); break;
  case STYLE_NEG: ir_text_str(pr->out, "(-"); break;
  case STYLE_CHOICE: ir_text_str(pr->out, "("); break;
  case STYLE_CALL: ir_text_str(pr->out, ir_ops[n->op].text), ir_text_str(pr->out, "(");
  }
}

static void close_node(ir_printer *pr, ir_ref ref, style how) {
  const ir_node *n = ir_get(pr->graph, ref);
  char name[16], kind[16];
  if (how == STYLE_CALL)
    for (const char *at = ir_ops[n->op].attributes; ir_next_attribute(&at, name, kind, sizeof name);)
      put_arg_attribute(pr, n, n->nsrc ? ", " : "", name, kind, true);
  if (how != STYLE_NOT) ir_text_str(pr->out, ")");
}

void ir_put_expr(ir_printer *pr, ir_ref root) {
  size_t base = pr->frame_count, stop = pr->out->len + (pr->listing ? LISTING_BYTES : EXPR_BYTES);
  if (stop > pr->stop) stop = pr->stop;
  open_node(pr, root);
  while (pr->frame_count > base && !pr->out->failed) {
    if (pr->out->len > stop) {
      ir_text_str(pr->out, "...");
      break;
    }
    ir_print_frame *f = &pr->frames[pr->frame_count - 1];
    ir_ref ref = f->ref;
    const ir_node *n = ir_get(pr->graph, ref);
    style how = style_of(pr, ref);
    if (f->next == n->nsrc) {
      pr->frame_count--;
      close_node(pr, ref, how);
      continue;
    }
    uint32_t i = f->next++;
    if (i && how == STYLE_INFIX) {
      if (i > 1 && !pr->listing) ir_text_str(pr->out, ")");
      ir_text_str(pr->out, ir_ops[n->op].infix);
    } else if (i) {
      ir_text_str(pr->out, how != STYLE_CHOICE ? ", " : i == 1 ? " if " : " else ");
    }
    open_node(pr, n->src[how == STYLE_CHOICE && i < 2 ? 1 - i : i]);
  }
  pr->frame_count = base;
}

void ir_measure(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  uint64_t size = 1;
  bool leaf = n->op == IR_OP_CONST || n->op == IR_OP_VAR || n->op == IR_OP_RANGE || n->nsrc == 0;
  if (!leaf)
    for (uint32_t i = 0; i < n->nsrc; i++) {
      bool inside = flags_of(pr, n->src[i]) & IR_PRINT_EXPR && !(flags_of(pr, n->src[i]) & IR_PRINT_NAMED);
      size += inside ? pr->sizes[n->src[i]] : 1;
    }
  pr->sizes[ref] = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  if (size > IR_PRINT_INLINE) pr->flags[ref] |= IR_PRINT_NAMED;
}

void ir_put_operand(ir_printer *pr, ir_ref ref, bool deduced) {
  const ir_node *n = ir_get(pr->graph, ref);
  bool named = n->op == IR_OP_INPUT || (ref < pr->limit && pr->names[ref]);
  bool literal = n->op == IR_OP_CONST && n->dtype != IR_INDEX && n->dtype != IR_NONE;
  if (literal && (n->weak || n->dtype == IR_BOOL || (deduced && !pr->kernel))) {
    ir_print_value(pr->out, (ir_value){.i = n->arg}, (ir_dtype)n->dtype);
  } else if (named || literal) {
    ir_put_expr(pr, ref);
  } else {
    style how = style_of(pr, ref);
    bool wrapped = n->nsrc > 0 && n->op != IR_OP_VAR && n->op != IR_OP_RANGE && n->op != IR_OP_PARAM &&
                   n->op != IR_OP_LOCAL && (how == STYLE_INFIX || how == STYLE_NEG);
    ir_text_str(pr->out, wrapped ? "" : "(");
    ir_put_expr(pr, ref);
    ir_text_str(pr->out, wrapped ? "" : ")");
  }
}

bool ir_dtype_deduced(const ir_graph *g, const ir_node *n, uint32_t operand) {
  int cls = ir_ops[n->op].cls;
  if (cls != IR_CLASS_BINARY && cls != IR_CLASS_COMPARE && cls != IR_CLASS_TERNARY) return false;
  uint32_t first = n->op == IR_OP_WHERE;
  for (uint32_t i = first; operand >= first && i < n->nsrc; i++)
    if (i != operand && ir_op_of(g, n->src[i]) != IR_OP_CONST &&
        ir_dtype_of(g, n->src[i]) == ir_dtype_of(g, n->src[operand]))
      return true;
  return false;
}

/* Batch sizes, which are the last source of a leaf, are printed first. Returns the end of the other
 * sources. */
static uint32_t put_batch(ir_printer *pr, const ir_node *n) {
  const ir_node *last = n->nsrc ? ir_get(pr->graph, n->src[n->nsrc - 1]) : NULL;
  if (!last || last->op != IR_OP_TUPLE) return n->nsrc;
  for (uint32_t i = 0; i < last->nsrc; i++) {
    if (i) ir_text_str(pr->out, ",");
    ir_put_expr(pr, last->src[i]);
  }
  ir_text_str(pr->out, "|");
  return n->nsrc - 1;
}

static void put_list(ir_printer *pr, const ir_node *n, uint32_t from, uint32_t end, bool pairs) {
  ir_text_str(pr->out, "[");
  if (end == n->nsrc) end = put_batch(pr, n);
  for (uint32_t i = from; i < end; i++) {
    bool opens = pairs && (i - from) % 2 == 0;
    ir_text_str(pr->out, i > from ? (opens ? ",[" : ",") : opens ? "[" : "");
    ir_put_expr(pr, n->src[i]);
    if (pairs && ((i - from) % 2 == 1 || i + 1 == end)) ir_text_str(pr->out, "]");
  }
  ir_text_str(pr->out, "]");
}

static void put_bytes(ir_printer *pr, const ir_node *n) {
  const char *bytes = ir_name_text(pr->graph, n->arg);
  size_t length = ir_name_length(pr->graph, n->arg), step = ir_dtypes[n->dtype].bytes;
  ir_text_str(pr->out, "[");
  for (size_t i = 0; step && i + step <= length; i += step) {
    if (i) ir_text_str(pr->out, ",");
    ir_print_value(pr->out, ir_value_load(bytes + i, (ir_dtype)n->dtype), (ir_dtype)n->dtype);
  }
  ir_text_str(pr->out, "]");
}

/* Attributes as their column in ops.def lists them; those kept in sources are read in order from `at` on. */
static void put_attributes(ir_printer *pr, const ir_node *n) {
  uint32_t at = ir_operand_count(n);
  char name[16], kind[16];
  for (const char *column = ir_ops[n->op].attributes; ir_next_attribute(&column, name, kind, sizeof name);) {
    if (strcmp(kind, "[]") == 0 || strcmp(kind, "[[]]") == 0) {
      ir_textf(pr->out, " %s=", name);
      uint32_t end = ir_list_end(n, at);
      put_list(pr, n, at, end, kind[1] == '[');
      at = end;
    } else if (strcmp(name, "bound") == 0 && at < n->nsrc && ir_get(pr->graph, n->src[at])->arg < 0) {
      at++; /* -1: no bound is declared */
    } else if (strcmp(kind, "expr") == 0 && at < n->nsrc) {
      ir_textf(pr->out, " %s=", name);
      ir_put_expr(pr, n->src[at++]);
    } else if (strcmp(kind, "graph") == 0 && at < n->nsrc) {
      ir_textf(pr->out, " %s=", name);
      ir_put_function_name(pr, n->src[at++]);
    } else if (strcmp(kind, "scan") == 0) {
      ir_scan_state state = ir_scan_of(n);
      ir_textf(pr->out, " carries=%u sliced=%u%s", state.carries, state.sliced,
               state.reverse ? " reverse=true" : "");
    } else if (strcmp(kind, "value") == 0 && at < n->nsrc) {
      const ir_node *v = ir_get(pr->graph, n->src[at++]);
      if (v->op == IR_OP_CONST && v->arg == 0) continue;
      ir_textf(pr->out, " %s=", name);
      ir_print_value(pr->out, (ir_value){.i = v->arg}, (ir_dtype)v->dtype);
    } else if (strcmp(kind, "bits") == 0) {
      ir_textf(pr->out, " %s=", name);
      ir_print_value(pr->out, (ir_value){.i = n->arg}, (ir_dtype)n->dtype);
    } else if (strcmp(kind, "bytes") == 0) {
      ir_textf(pr->out, " %s=", name);
      put_bytes(pr, n);
    } else if (strcmp(kind, "spec") == 0) {
      ir_textf(pr->out, " %s=%s", name, ir_name_text(pr->graph, n->arg));
    } else if (strcmp(kind, "string") == 0) {
      ir_textf(pr->out, " %s=", name);
      ir_lex_print_string(pr->out, ir_name_text(pr->graph, n->arg), ir_name_length(pr->graph, n->arg));
    } else {
      put_arg_attribute(pr, n, " ", name, kind, true);
    }
  }
}

static void put_custom_attributes(ir_printer *pr, const ir_custom_call *call) {
  const ir_customs *all = pr->graph->customs;
  const ir_custom *c = all ? all->find(all, call->name, strlen(call->name)) : NULL;
  for (uint32_t i = 0; i < call->attributes; i++) {
    if (!c || i >= c->attribute_count) { /* not registered: the names of its attributes are unknown */
      ir_textf(pr->out, " attribute%u=%#llx", i, (unsigned long long)call->values[i].i);
      continue;
    }
    ir_textf(pr->out, " %s=", c->attributes[i].name);
    if (c->attributes[i].dtype == IR_NONE) {
      const char *text = ir_custom_text(call, i);
      ir_lex_print_string(pr->out, text, strlen(text));
      continue;
    }
    ir_print_value(pr->out, call->values[i], c->attributes[i].dtype);
  }
  if (call->batch) ir_textf(pr->out, " batch_dims=%u", call->batch);
}

/* `data file="w.safetensors" name="encoder.weight"`: a constant that comes from a file. */
static void put_origin(ir_printer *pr, const ir_node *n, const ir_origin *origin) {
  ir_text_str(pr->out, "data file=");
  ir_lex_print_string(pr->out, origin->file, origin->file_length);
  if (origin->bytes) ir_textf(pr->out, " offset=%lld", (long long)origin->offset);
  if (origin->name_length) {
    ir_text_str(pr->out, " name=");
    ir_lex_print_string(pr->out, origin->name, origin->name_length);
  }
  if (!origin->raw && !origin->bytes) return;
  ir_text_str(pr->out, " shape=");
  put_list(pr, n, 0, n->nsrc, false);
  ir_textf(pr->out, " dtype=%s", ir_dtypes[n->dtype].name);
}

/* The value with other letters (letters.h). */
static void put_letters(ir_printer *pr, ir_ref ref) {
  ir_letters l = ir_letters_of(pr->graph, ref);
  ir_text_str(pr->out, "name_axes ");
  ir_put_operand(pr, ir_src(pr->graph, ref, 0), false);
  ir_text_str(pr->out, " to=\"");
  for (uint32_t i = 0; i < ir_rank(pr->graph, ref); i++) ir_textf(pr->out, "%c", l.axis[i] ? l.axis[i] : '_');
  ir_text_str(pr->out, "\"");
}

void ir_put_statement(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  ir_origin origin;
  if (n->op == IR_OP_RESOURCE && ir_resource_origin(pr->graph, ref, &origin)) {
    put_origin(pr, n, &origin);
    return;
  }
  if (n->op == IR_OP_RESHAPE && n->arg && pr->graph->letters_cap) {
    put_letters(pr, ref);
    return;
  }
  ir_custom_call call;
  bool custom = n->op == IR_OP_CUSTOM;
  ir_text_str(pr->out, custom ? ir_custom_of(pr->graph, ref, &call)->name : ir_ops[n->op].text);
  for (uint32_t i = 0; i < ir_operand_count(n); i++) {
    ir_text_str(pr->out, i ? ", " : " ");
    ir_put_operand(pr, n->src[i], ir_dtype_deduced(pr->graph, n, i));
  }
  if (custom) put_custom_attributes(pr, &call);
  else put_attributes(pr, n);
}

/* letters: of the axes, 0 for none; NULL: no axis has one */
static void put_sizes(ir_printer *pr, const ir_ref *dims, uint32_t rank, const char *letters) {
  size_t stop = pr->stop;
  for (uint32_t i = 0; i < rank; i++) {
    if (i) ir_text_str(pr->out, ",");
    if (letters && letters[i]) ir_textf(pr->out, "%c=", letters[i]);
    size_t from = pr->out->len;
    if (pr->listing) pr->stop = from + DIM_BYTES;
    ir_put_expr(pr, dims[i]);
    if (pr->listing && pr->out->len > pr->stop) { /* too long to repeat on every line */
      pr->out->len = from;
      ir_text_str(pr->out, "?");
    }
  }
  pr->stop = stop;
}

void ir_put_dims(ir_printer *pr, ir_ref batch, const ir_ref *dims, uint32_t rank) {
  ir_text_str(pr->out, "[");
  if (batch) {
    put_sizes(pr, ir_get(pr->graph, batch)->src, ir_get(pr->graph, batch)->nsrc, NULL);
    ir_text_str(pr->out, "|");
  }
  put_sizes(pr, dims, rank, NULL);
  ir_text_str(pr->out, "]");
}

void ir_put_type(ir_printer *pr, ir_ref ref) {
  const ir_graph *g = pr->graph;
  ir_ref shape = ir_shape(g, ref), batch = ir_batch(g, ref);
  ir_text_str(pr->out, ir_dtypes[ir_dtype_of(g, ref)].name);
  if (!shape || pr->kernel) return;
  ir_letters l = ir_letters_of(g, ref);
  ir_text_str(pr->out, "[");
  if (batch) {
    put_sizes(pr, ir_get(g, batch)->src, ir_get(g, batch)->nsrc, l.batch);
    ir_text_str(pr->out, "|");
  }
  put_sizes(pr, ir_get(g, shape)->src, ir_get(g, shape)->nsrc, l.axis);
  ir_text_str(pr->out, "]");
  const ir_spec *spec = pr->listing ? ir_spec_of(g, ref) : NULL;
  if (!spec) return;
  ir_textf(pr->out, " @%s", ir_graph_mesh(g)->name);
  ir_spec_print(ir_graph_mesh(g), spec, pr->out);
}

bool ir_printer_init(ir_printer *pr, const ir_graph *g, ir_text *out) {
  size_t limit = g->count;
  *pr = (ir_printer){.graph = g, .out = out, .listing = true, .limit = limit, .stop = SIZE_MAX};
  ir_text_init(&pr->function_name, g->mem);
  pr->names = ir_alloc(g->mem, limit * sizeof *pr->names);
  pr->flags = ir_alloc(g->mem, limit);
  pr->sizes = ir_alloc(g->mem, limit * sizeof *pr->sizes);
  if (pr->names && pr->flags && pr->sizes) {
    memset(pr->names, 0, limit * sizeof *pr->names);
    memset(pr->sizes, 0, limit * sizeof *pr->sizes);
    memset(pr->flags, 0, limit);
    return true;
  }
  out->failed = true;
  return false;
}

void ir_printer_free(ir_printer *pr) {
  const ir_mem *mem = pr->graph->mem;
  ir_free(mem, pr->names, pr->limit * sizeof *pr->names);
  ir_free(mem, pr->flags, pr->limit);
  ir_free(mem, pr->sizes, pr->limit * sizeof *pr->sizes);
  ir_free(mem, pr->reserved, pr->reserved_cap * sizeof *pr->reserved);
  ir_free(mem, pr->frames, pr->frame_cap * sizeof *pr->frames);
  ir_free(mem, pr->functions, pr->function_cap * sizeof *pr->functions);
  ir_free(mem, pr->links, pr->limit * sizeof *pr->links);
  ir_free(mem, pr->inside, pr->limit);
  ir_text_free(&pr->function_name);
}

uint32_t ir_next_number(ir_printer *pr) {
  while (pr->reserved_at < pr->reserved_count && pr->reserved[pr->reserved_at] <= pr->next_number)
    pr->next_number += pr->reserved[pr->reserved_at++] == pr->next_number;
  return pr->next_number++;
}

void ir_put_number(ir_printer *pr, ir_ref ref) {
  if (!(pr->names[ref] & (IR_PRINT_RESULT | IR_PRINT_LOCAL))) pr->names[ref] = ir_next_number(pr) + 1;
  ir_put_name(pr, ref);
}

static ir_printer plain_printer(const ir_graph *g, ir_text *out) {
  return (ir_printer){.graph = g, .out = out, .stop = SIZE_MAX, .function_name = {.mem = g->mem}};
}

void ir_print_expr(const ir_graph *g, ir_ref ref, ir_text *out) {
  ir_printer pr = plain_printer(g, out);
  ir_put_expr(&pr, ref);
  ir_printer_free(&pr);
}

void ir_print_python(const ir_graph *g, ir_ref ref, ir_text *out) {
  ir_printer pr = plain_printer(g, out);
  pr.python = true;
  ir_put_expr(&pr, ref);
  ir_printer_free(&pr);
}

void ir_print_type(const ir_graph *g, ir_ref ref, ir_text *out) {
  ir_printer pr = plain_printer(g, out);
  ir_put_type(&pr, ref);
  ir_printer_free(&pr);
}
