/* Listings of kernels: nested loops, indented, with each value in the innermost loop that it depends on.
 *
 * First each node is placed into a loop (ir/regions.h), and the nodes that get a line are chosen: all that
 * are not part of an expression, and expressions that are large or belong to an outer loop of their user's.
 * Then the lines of each loop are chained in the order in which they are needed, which does not depend on the
 * order of creation: equal kernels have equal text. Last the chains are printed, with a stack of open
 * loops. */
#include "ir/lex/lex.h"
#include "ir/print/print.h"
#include "ir/regions.h"

#include <string.h>

typedef struct kernel_printer {
  ir_printer *pr;
  const ir_graph *graph;
  ir_regions regions;
  ir_ref *first, *last,
      *next;       /* per loop (0: the kernel), its lines; next also chains a loop's CARRY nodes */
  ir_ref *carries; /* per loop */
  ir_ref *open;    /* stack of loops being printed, and the line at which the loop around each resumes */
  ir_ref *resume;
  size_t open_count, open_cap, resume_cap;
} kernel_printer;

static ir_op op_of(const kernel_printer *k, ir_ref ref) { return ir_op_of(k->graph, ref); }

static bool is_leaf(const kernel_printer *k, ir_ref ref) {
  ir_op op = op_of(k, ref);
  return op == IR_OP_CONST || op == IR_OP_VAR || op == IR_OP_PARAM || op == IR_OP_RANGE || op == IR_OP_CARRY;
}

/* the loop in which a node uses its i-th source */
static ir_ref use_region(const kernel_printer *k, ir_ref ref, uint32_t i) {
  if (ir_is_loop(k->graph, ref) && i > ir_loop_carries(k->graph, ref)) return ref;
  return k->regions.region[ref];
}

/* Sets flags and sizes. An expression that belongs further out than its user is computed there, so it gets a
 * line there. */
static void choose_lines(kernel_printer *k) {
  ir_printer *pr = k->pr;
  for (size_t i = 0; i < k->regions.count; i++) {
    ir_ref ref = k->regions.order[i];
    const ir_node *n = ir_get(k->graph, ref);
    if (ir_is_expression(k->graph, ref)) pr->flags[ref] |= IR_PRINT_EXPR;
    if (n->op == IR_OP_RANGE) continue; /* the loop's head prints it, outside the loop */
    for (uint32_t s = 0; s < n->nsrc; s++) {
      ir_ref source = n->src[s];
      if (!is_leaf(k, source) && pr->flags[source] & IR_PRINT_EXPR &&
          k->regions.region[source] != use_region(k, ref, s))
        pr->flags[source] |= IR_PRINT_NAMED;
    }
  }
  for (size_t i = 0; i < k->regions.count; i++) {
    ir_ref ref = k->regions.order[i];
    if (pr->flags[ref] & IR_PRINT_EXPR) ir_measure(pr, ref);
  }
}

static bool is_line(const kernel_printer *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  if (n->op == IR_OP_RANGE) return !k->regions.loop_of[ref];
  if (is_leaf(k, ref) || n->op == IR_OP_SEQ || n->op == IR_OP_KERNEL) return false;
  return !(k->pr->flags[ref] & IR_PRINT_EXPR) || k->pr->flags[ref] & IR_PRINT_NAMED;
}

static void chain_lines(kernel_printer *k) {
  for (size_t i = 0; i < k->regions.count; i++) {
    ir_ref ref = k->regions.order[i];
    const ir_node *n = ir_get(k->graph, ref);
    if (n->op == IR_OP_CARRY && n->nsrc == 1 && k->regions.loop_of[n->src[0]]) {
      ir_ref loop = k->regions.loop_of[n->src[0]];
      k->next[ref] = k->carries[loop];
      k->carries[loop] = ref;
    }
    if (!is_line(k, ref)) continue;
    ir_ref region = k->regions.region[ref];
    if (k->last[region]) k->next[k->last[region]] = ref;
    else k->first[region] = ref;
    k->last[region] = ref;
  }
}

static void put_indent(kernel_printer *k) {
  for (size_t i = 0; i <= k->open_count && i < 64; i++) ir_text_str(k->pr->out, "  ");
}

static bool is_buffer(const kernel_printer *k, ir_ref ref) {
  return op_of(k, ref) == IR_OP_PARAM || op_of(k, ref) == IR_OP_LOCAL;
}

static bool well_formed_load(const kernel_printer *k, const ir_node *n) {
  return n->op == IR_OP_LOAD && n->nsrc == 4 && is_buffer(k, n->src[0]);
}

static void put_subscript(kernel_printer *k, const ir_node *n) {
  ir_put_expr(k->pr, n->src[0]);
  ir_text_str(k->pr->out, "[");
  ir_put_expr(k->pr, n->src[1]);
  ir_text_str(k->pr->out, "]");
}

static void put_load(kernel_printer *k, const ir_node *n) {
  const ir_node *other = ir_get(k->graph, n->src[3]);
  bool zero = other->op == IR_OP_CONST && other->dtype == n->dtype && other->arg == 0 && !other->weak;
  ir_text_str(k->pr->out, "load ");
  put_subscript(k, n);
  if (!ir_is_true(k->graph, n->src[2])) {
    ir_text_str(k->pr->out, " if ");
    ir_put_expr(k->pr, n->src[2]);
  }
  if (!zero) {
    ir_text_str(k->pr->out, " else ");
    ir_put_operand(k->pr, n->src[3], false);
  }
  if (ir_arg_int(n)) ir_textf(k->pr->out, " ahead %lld", (long long)ir_arg_int(n));
  if (ir_arg_mode(n)) ir_text_str(k->pr->out, ir_arg_mode(n) == IR_FETCHED ? " fetched" : " stream");
}

static bool well_formed_update(const kernel_printer *k, const ir_node *n) {
  return n->op == IR_OP_UPDATE && n->nsrc >= 4 && (n->arg == 0 || n->arg == IR_OP_ADD) &&
         is_buffer(k, n->src[0]);
}

static void put_update(kernel_printer *k, const ir_node *n) {
  ir_text_str(k->pr->out, "update ");
  put_subscript(k, n);
  ir_textf(k->pr->out, " %s ", n->arg ? ir_ops[n->arg].text : "=");
  ir_put_operand(k->pr, n->src[3], false);
  if (!ir_is_true(k->graph, n->src[2])) {
    ir_text_str(k->pr->out, " if ");
    ir_put_expr(k->pr, n->src[2]);
  }
  for (uint32_t i = 4; i < n->nsrc; i++) {
    ir_text_str(k->pr->out, i == 4 ? " over " : ", ");
    ir_put_expr(k->pr, n->src[i]);
  }
}

/* A REDUCE may have an index beside its value; a PREFIX has the identity. */
static uint32_t combined_operands(const ir_node *n) {
  int64_t op = ir_arg_int(n);
  return 1 + (n->op == IR_OP_PREFIX || op == IR_OP_ARGMAX || op == IR_OP_ARGMIN);
}

static bool well_formed_reduce(const kernel_printer *k, const ir_node *n) {
  int64_t op = ir_arg_int(n);
  if ((n->op != IR_OP_REDUCE && n->op != IR_OP_PREFIX) || op <= 0 || op >= IR_OP_COUNT) return false;
  uint32_t operands = combined_operands(n);
  for (uint32_t i = operands; i < n->nsrc; i++)
    if (op_of(k, n->src[i]) != IR_OP_RANGE) return false;
  return n->nsrc > operands;
}

static void put_reduce(kernel_printer *k, const ir_node *n) {
  int64_t op = ir_arg_int(n);
  uint32_t operands = combined_operands(n);
  bool suffix = n->op == IR_OP_PREFIX && ir_arg_mode(n);
  ir_textf(k->pr->out, "%s %s", suffix ? "suffix" : ir_ops[n->op].text, ir_ops[op].text);
  for (uint32_t i = 0; i < n->nsrc; i++) {
    ir_text_str(k->pr->out, i == operands ? " over " : i ? ", " : " ");
    if (i < operands) ir_put_operand(k->pr, n->src[i], false);
    else ir_put_expr(k->pr, n->src[i]);
  }
}

static void put_range(kernel_printer *k, ir_ref range) {
  const ir_node *n = ir_get(k->graph, range);
  ir_put_expr(k->pr, range);
  ir_text_str(k->pr->out, " in 0..");
  if (n->nsrc) ir_put_expr(k->pr, n->src[0]);
}

/* `: f32[1024]` of a parameter or a local */
static void put_size(kernel_printer *k, const ir_node *n) {
  ir_textf(k->pr->out, ": %s[", ir_dtypes[n->dtype].name);
  if (n->nsrc) ir_put_expr(k->pr, n->src[0]);
  ir_text_str(k->pr->out, "]");
}

static void put_local(kernel_printer *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  ir_text_str(k->pr->out, "local ");
  ir_put_expr(k->pr, ref);
  put_size(k, n);
  for (uint32_t i = 1; i < n->nsrc; i++) {
    ir_text_str(k->pr->out, i == 1 ? " over " : ", ");
    ir_put_expr(k->pr, n->src[i]);
  }
  if (ir_arg_mode(n)) ir_text_str(k->pr->out, ir_arg_mode(n) == IR_LOCAL_AHEAD ? " kept ahead" : " kept");
}

static void put_carries(kernel_printer *k, ir_ref loop) {
  const ir_node *n = ir_get(k->graph, loop);
  uint32_t count = ir_loop_carries(k->graph, loop);
  ir_ref *slots = ir_alloc(k->graph->mem, count * sizeof *slots);
  if (!slots) {
    k->pr->out->failed = true;
    return;
  }
  memset(slots, 0, count * sizeof *slots);
  for (ir_ref c = k->carries[loop]; c; c = k->next[c]) {
    int64_t slot = ir_arg_int(ir_get(k->graph, c));
    if (slot >= 0 && slot < count) slots[slot] = c;
  }
  for (uint32_t i = 0; i < count; i++) {
    ir_text_str(k->pr->out, i ? ", " : " with ");
    if (slots[i]) ir_put_number(k->pr, slots[i]);
    else ir_textf(k->pr->out, "%%%u", k->pr->next_number++);
    ir_text_str(k->pr->out, " = ");
    ir_put_operand(k->pr, n->src[1 + i], false);
  }
  ir_free(k->graph->mem, slots, count * sizeof *slots);
}

static bool enter_loop(kernel_printer *k, ir_ref loop, ir_ref resume) {
  if (!IR_RESERVE(k->graph->mem, k->open, k->open_cap, k->open_count + 1) ||
      !IR_RESERVE(k->graph->mem, k->resume, k->resume_cap, k->open_count + 1)) {
    k->pr->out->failed = true;
    return false;
  }
  k->open[k->open_count] = loop;
  k->resume[k->open_count++] = resume;
  return true;
}

/* The head of a loop. Its result is numbered here, so that numbers increase down the page. */
static void put_head(kernel_printer *k, ir_ref loop) {
  const ir_node *n = ir_get(k->graph, loop);
  int binding = ir_arg_mode(n);
  if (ir_loop_carries(k->graph, loop)) {
    ir_put_number(k->pr, loop);
    ir_text_str(k->pr->out, " = ");
  }
  ir_text_str(k->pr->out, "for ");
  put_range(k, n->src[0]);
  if (binding != IR_SERIAL) ir_textf(k->pr->out, " %s", binding < 4 ? ir_bindings[binding] : "?");
  if (ir_loop_carries(k->graph, loop)) put_carries(k, loop);
  ir_text_str(k->pr->out, " {");
}

static void put_end(kernel_printer *k, ir_ref loop) {
  const ir_node *n = ir_get(k->graph, loop);
  uint32_t carries = ir_loop_carries(k->graph, loop);
  if (carries) {
    put_indent(k);
    ir_text_str(k->pr->out, "next");
    for (uint32_t i = 0; i < carries; i++) {
      ir_text_str(k->pr->out, i ? ", " : " ");
      ir_put_operand(k->pr, n->src[1 + carries + i], false);
    }
    ir_text_str(k->pr->out, "\n");
  }
  k->open_count--;
  put_indent(k);
  ir_text_str(k->pr->out, "}\n");
}

static void put_value(kernel_printer *k, ir_ref ref) {
  ir_printer *pr = k->pr;
  const ir_node *n = ir_get(k->graph, ref);
  ir_put_number(pr, ref);
  ir_text_str(pr->out, " = ");
  uint32_t named = pr->names[ref];
  if (well_formed_load(k, n)) {
    put_load(k, n);
  } else if (well_formed_reduce(k, n)) {
    put_reduce(k, n);
  } else if (pr->flags[ref] & IR_PRINT_EXPR) {
    pr->names[ref] = 0;
    ir_put_operand(pr, ref, false);
    pr->names[ref] = named;
  } else {
    ir_put_statement(pr, ref);
  }
  ir_textf(pr->out, " : %s", ir_dtypes[n->dtype].name);
}

static void put_line(kernel_printer *k, ir_ref ref) {
  ir_printer *pr = k->pr;
  const ir_node *n = ir_get(k->graph, ref);
  put_indent(k);
  if (ref == pr->focus) pr->focus_from = pr->out->len;
  if (n->op == IR_OP_RANGE) {
    ir_text_str(pr->out, "range ");
    put_range(k, ref);
  } else if (n->op == IR_OP_LOOP && ir_is_loop(k->graph, ref) && k->regions.loop_of[n->src[0]] == ref) {
    put_head(k, ref);
  } else if (n->op == IR_OP_LOCAL) {
    put_local(k, ref);
  } else if (n->op == IR_OP_STORE && n->nsrc == 3 && is_buffer(k, n->src[0])) {
    ir_text_str(pr->out, "store ");
    put_subscript(k, n);
    ir_text_str(pr->out, " = ");
    ir_put_operand(pr, n->src[2], false);
    static const char *const stream[] = {"", " stream", " stream most"};
    if (ir_arg_mode(n) <= IR_STREAM_MOST) ir_text_str(pr->out, stream[ir_arg_mode(n)]);
    if (ir_arg_mode(n) == IR_FETCHED) ir_textf(pr->out, " ahead %lld fetched", (long long)ir_arg_int(n));
  } else if (well_formed_update(k, n)) {
    put_update(k, n);
  } else if (n->dtype == IR_NONE) {
    ir_put_statement(pr, ref); /* a malformed effect */
  } else {
    put_value(k, ref);
  }
  if (ref == pr->focus) pr->focus_to = pr->out->len;
  ir_text_str(pr->out, "\n");
}

static void put_body(kernel_printer *k) {
  ir_ref line = k->first[0];
  while (!k->pr->out->failed) {
    if (line) {
      ir_ref after = k->next[line];
      put_line(k, line);
      const ir_node *n = ir_get(k->graph, line);
      bool loop = n->op == IR_OP_LOOP && ir_is_loop(k->graph, line) && k->regions.loop_of[n->src[0]] == line;
      if (loop && !enter_loop(k, line, after)) return;
      line = loop ? k->first[line] : after;
    } else {
      if (k->open_count == 0) return;
      put_end(k, k->open[k->open_count - 1]);
      line = k->resume[k->open_count];
    }
  }
}

static void put_param(kernel_printer *k, ir_ref ref) {
  const ir_node *n = ir_get(k->graph, ref);
  ir_printer *pr = k->pr;
  if (ref == pr->focus) pr->focus_from = pr->out->len;
  ir_put_expr(pr, ref);
  if (n->op == IR_OP_PARAM) put_size(k, n);
  if (ref == pr->focus) pr->focus_to = pr->out->len;
}

/* Variables come first: sizes refer to them. */
static void put_header(kernel_printer *k, const ir_ref *items, size_t count) {
  const char *before = "(";
  for (int params = 0; params < 2; params++)
    for (size_t i = 0; i < count; i++) {
      ir_op op = op_of(k, items[i]);
      if (op != (params ? IR_OP_PARAM : IR_OP_VAR)) continue;
      ir_text_str(k->pr->out, before);
      put_param(k, items[i]);
      before = ", ";
    }
  ir_text_str(k->pr->out, *before == '(' ? "() {\n" : ") {\n");
}

static ir_ref *table(const ir_graph *g, size_t limit) {
  ir_ref *made = ir_alloc(g->mem, limit * sizeof *made);
  if (made) memset(made, 0, limit * sizeof *made);
  return made;
}

void ir_put_kernel(ir_printer *pr, const char *name, size_t name_length, ir_ref root) {
  const ir_graph *g = pr->graph;
  const ir_node *n = ir_get(g, root);
  bool kernel = n->op == IR_OP_KERNEL && n->nsrc > 0;
  size_t limit = (size_t)root + 1;
  kernel_printer k = {.pr = pr, .graph = g};
  pr->kernel = true;
  bool ok = ir_regions_find(g, root, &k.regions) == IR_OK && (k.first = table(g, limit)) &&
            (k.last = table(g, limit)) && (k.next = table(g, limit)) && (k.carries = table(g, limit));
  if (ok) {
    choose_lines(&k);
    chain_lines(&k);
    ir_text_str(pr->out, kernel ? "kernel @" : "index @");
    ir_lex_print_name(pr->out, name, name_length);
    if (kernel) put_header(&k, n->src + 1, n->nsrc - 1);
    else put_header(&k, k.regions.order, k.regions.count);
    put_body(&k);
    ir_text_str(pr->out, "}\n");
  }
  pr->out->failed = pr->out->failed || !ok;
  ir_free(g->mem, k.first, limit * sizeof *k.first);
  ir_free(g->mem, k.last, limit * sizeof *k.last);
  ir_free(g->mem, k.next, limit * sizeof *k.next);
  ir_free(g->mem, k.carries, limit * sizeof *k.carries);
  ir_free(g->mem, k.open, k.open_cap * sizeof *k.open);
  ir_free(g->mem, k.resume, k.resume_cap * sizeof *k.resume);
  ir_regions_free(&k.regions);
}
