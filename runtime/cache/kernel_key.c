/* Canonical bytes of a kernel. Each node: op, dtype, number of sources, argument, sources. Numbers are
 * written in base 128, lowest digit first; arguments are zigzag-encoded first, except those of float
 * constants, which are 8 plain bytes. */
#include "runtime/cache/kernel_key.h"

#include <stdio.h>
#include <string.h>

#include "runtime/cache/digest.h"

typedef struct writer {
  const ir_mem *mem;
  rt_kernel_key *key;
  uint32_t *place; /* by ref: place in the list + 1; 0: not yet written */
  ir_ref *stack;
  size_t depth, stack_cap;
  uint32_t nodes, vars;
  bool failed;
  ir_dtype dtype; /* of the last stored value; part of the symbol */
  bool seen[IR_OP_COUNT];
  int symbol_words;
  char symbol[48]; /* "_mul_add" */
} writer;

static void put_byte(writer *w, uint8_t byte) {
  rt_kernel_key *k = w->key;
  if (!IR_RESERVE(w->mem, k->bytes, k->cap, k->size + 1)) w->failed = true;
  else k->bytes[k->size++] = byte;
}

static void put_number(writer *w, uint64_t number) {
  for (; number >= 128; number >>= 7) put_byte(w, (uint8_t)(number | 128));
  put_byte(w, (uint8_t)number);
}

static uint64_t zigzag(int64_t number) { return (uint64_t)number << 1 ^ (uint64_t)(number >> 63); }
static int64_t unzigzag(uint64_t number) { return (int64_t)(number >> 1 ^ (0 - (number & 1))); }

static bool raw_argument(ir_op op, ir_dtype dtype) { return op == IR_OP_CONST && ir_is_float(dtype); }

/* Append the operation to the function's symbol, for readers of profiles: the first WORDS different ones that
 * are no index arithmetic. */
static void append_symbol(writer *w, const ir_graph *g, const ir_node *n) {
  enum { WORDS = 4 };
  if (n->op == IR_OP_STORE || n->op == IR_OP_UPDATE) w->dtype = ir_dtype_of(g, n->src[0]);
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  bool computes =
      cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY;
  if (!computes || n->dtype == IR_INDEX || w->seen[n->op] || w->symbol_words == WORDS) return;
  w->seen[n->op] = true;
  w->symbol_words++;
  size_t length = strlen(w->symbol);
  snprintf(w->symbol + length, sizeof w->symbol - length, "_%s", ir_ops[n->op].text);
}

static void put_node(writer *w, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  int64_t arg = n->op == IR_OP_VAR ? (int64_t)w->vars++ : n->arg;
  put_byte(w, n->op);
  put_byte(w, n->dtype);
  put_number(w, n->nsrc);
  if (raw_argument((ir_op)n->op, (ir_dtype)n->dtype))
    for (int i = 0; i < 8; i++) put_byte(w, (uint8_t)((uint64_t)arg >> (8 * i)));
  else put_number(w, zigzag(arg));
  for (uint32_t i = 0; i < n->nsrc; i++) put_number(w, w->nodes + 1 - w->place[n->src[i]]);
  w->place[ref] = ++w->nodes;
  append_symbol(w, g, n);
}

static bool push_node(writer *w, ir_ref ref) {
  if (!IR_RESERVE(w->mem, w->stack, w->stack_cap, w->depth + 1)) return false;
  w->stack[w->depth++] = ref;
  return true;
}

/* Write all nodes, sources before users, first sources first. Returns a node that no kernel may hold, or
 * 0. */
static ir_ref put_all(writer *w, const ir_graph *g, ir_ref kernel) {
  w->failed = !push_node(w, kernel);
  while (w->depth && !w->failed) {
    ir_ref top = w->stack[w->depth - 1];
    if (w->place[top]) {
      w->depth--;
      continue;
    }
    const ir_node *n = ir_get(g, top);
    if (!(ir_ops[n->op].level & IR_LEVEL_LOOP) || n->op == IR_OP_ERROR) return top;
    size_t before = w->depth;
    for (uint32_t i = n->nsrc; i-- > 0 && !w->failed;)
      if (!w->place[n->src[i]]) w->failed = !push_node(w, n->src[i]);
    if (w->depth > before || w->failed) continue;
    put_node(w, g, top);
    w->depth--;
  }
  return 0;
}

static void name_kernel(const writer *w) {
  rt_digest digest = rt_digest_of(w->key->bytes, w->key->size);
  snprintf(w->key->symbol, RT_SYMBOL, "vf%s_%s_%016llx", w->symbol_words ? w->symbol : "_copy",
           ir_dtypes[w->dtype].name, (unsigned long long)digest.hi);
}

ir_status rt_kernel_key_make(const ir_mem *mem, const ir_graph *g, ir_ref kernel, rt_kernel_key *out,
                             ir_error *error) {
  *out = (rt_kernel_key){0};
  if (kernel == 0 || ir_op_of(g, kernel) != IR_OP_KERNEL)
    return ir_fail(error, IR_ERR_INTERNAL, "plan: a launch holds a '%s' where a kernel should be",
                   kernel ? ir_ops[ir_op_of(g, kernel)].text : "missing node");
  return rt_effect_key_make(mem, g, kernel, out, error);
}

ir_status rt_effect_key_make(const ir_mem *mem, const ir_graph *g, ir_ref kernel, rt_kernel_key *out,
                             ir_error *error) {
  *out = (rt_kernel_key){0};
  size_t count = (size_t)kernel + 1;
  writer w = {.mem = mem, .key = out, .place = ir_alloc(mem, count * sizeof *w.place)};
  ir_ref wrong = 0;
  w.failed = !w.place;
  if (w.place) {
    memset(w.place, 0, count * sizeof *w.place);
    wrong = put_all(&w, g, kernel);
  }
  if (!w.failed && !wrong) name_kernel(&w);
  if (w.place) ir_free(mem, w.place, count * sizeof *w.place);
  ir_free(mem, w.stack, w.stack_cap * sizeof *w.stack);
  if (!w.failed && !wrong) return IR_OK;
  rt_kernel_key_free(mem, out);
  if (wrong)
    return ir_fail(error, IR_ERR_INTERNAL, "plan: a kernel holds a '%s', which belongs to the tensor level",
                   ir_ops[ir_op_of(g, wrong)].text);
  return ir_fail(error, IR_ERR_MEMORY, "out of memory naming a kernel");
}

void rt_kernel_key_free(const ir_mem *mem, rt_kernel_key *key) {
  ir_free(mem, key->bytes, key->cap);
  *key = (rt_kernel_key){0};
}

/* reading */

typedef struct reader {
  const uint8_t *at, *end;
  bool bad;
} reader;

static uint8_t get_byte(reader *r) {
  if (r->at == r->end) return r->bad = true, 0;
  return *r->at++;
}

static uint64_t get_number(reader *r) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = get_byte(r);
    number |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) return number;
  }
  return r->bad = true, 0;
}

static int64_t get_argument(reader *r, ir_op op, ir_dtype dtype) {
  if (!raw_argument(op, dtype)) return unzigzag(get_number(r));
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits |= (uint64_t)get_byte(r) << (8 * i);
  return (int64_t)bits;
}

static ir_ref make_node(ir_graph *g, ir_op op, ir_dtype dtype, int64_t arg, const ir_ref *src,
                        uint32_t nsrc) {
  if (op == IR_OP_VAR) {
    char name[24];
    int length = snprintf(name, sizeof name, "v%lld", (long long)arg);
    arg = ir_name(g, name, (size_t)length);
    return arg < 0 ? 0 : ir_make(g, op, dtype, arg, src, nsrc);
  }
  if (op == IR_OP_CONST && dtype != IR_INDEX)
    return ir_make_tensor(g, op, dtype, ir_tuple(g, NULL, 0), arg, src, nsrc);
  return ir_make(g, op, dtype, arg, src, nsrc);
}

ir_status rt_kernel_key_read(const rt_kernel_key *key, ir_graph *g, ir_ref *kernel, ir_error *error) {
  reader r = {key->bytes, key->bytes + key->size, false};
  const ir_mem *mem = g->mem;
  ir_ref *made = NULL, *src = NULL;
  size_t count = 0, cap = 0, src_cap = 0;
  bool memory = false;
  while (r.at < r.end && !r.bad && !memory) {
    uint8_t op = get_byte(&r), dtype = get_byte(&r);
    uint64_t nsrc = get_number(&r);
    if (op >= IR_OP_COUNT || dtype >= IR_DTYPE_COUNT || nsrc > key->size) r.bad = true;
    int64_t arg = r.bad ? 0 : get_argument(&r, (ir_op)op, (ir_dtype)dtype);
    memory = !IR_RESERVE(mem, src, src_cap, (r.bad ? 0 : nsrc) + 1) || !IR_RESERVE(mem, made, cap, count + 1);
    for (uint64_t i = 0; i < nsrc && !r.bad && !memory; i++) {
      uint64_t back = get_number(&r);
      if (back == 0 || back > count) r.bad = true;
      else src[i] = made[count - back];
    }
    if (r.bad || memory) break;
    made[count] = make_node(g, (ir_op)op, (ir_dtype)dtype, arg, src, (uint32_t)nsrc);
    memory = made[count++] == 0;
  }
  *kernel = count && !r.bad && !memory ? made[count - 1] : 0;
  ir_free(mem, made, cap * sizeof *made);
  ir_free(mem, src, src_cap * sizeof *src);
  if (memory) return ir_fail(error, IR_ERR_MEMORY, "out of memory reading a kernel");
  if (!*kernel) return ir_fail(error, IR_ERR_INTERNAL, "plan: a kernel's canonical bytes cannot be read");
  return IR_OK;
}
