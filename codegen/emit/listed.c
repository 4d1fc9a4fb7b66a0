/* The order among listed nodes: prefetches first, and terms one after another (listed.h). */
#include "codegen/emit/listed.h"

#include <stdlib.h>
#include <string.h>

#include "ir/arith.h"
#include "ir/target.h"

static bool prefetches(const cg_order *o, ir_ref ref) {
  const ir_node *n = ir_get(o->g, ref);
  return n->op == IR_OP_LOAD && ir_arg_int(n) && ir_arg_mode(n) != IR_FETCHED;
}

/* An index as a sum: its terms in ascending order, and its constant one. */
enum { MAX_TERMS = 32 }; /* because folding makes sums of at most PASS_TERMS = 32 terms */
typedef struct index_sum {
  ir_ref term[MAX_TERMS];
  uint32_t count;
  int64_t constant;
} index_sum;

static int ascending(const void *a, const void *b) {
  ir_ref x = *(const ir_ref *)a, y = *(const ir_ref *)b;
  return x < y ? -1 : x > y;
}

/* False: the index has too many terms. */
static bool sum_of(const cg_order *o, ir_ref index, index_sum *out) {
  ir_ref todo[MAX_TERMS];
  uint32_t left = 1;
  *out = (index_sum){.count = 0};
  for (todo[0] = index; left;) {
    ir_ref ref = todo[--left];
    const ir_node *n = ir_get(o->g, ref);
    int64_t value;
    if (n->op == IR_OP_ADD) {
      if (left + n->nsrc > MAX_TERMS) return false;
      for (uint32_t i = 0; i < n->nsrc; i++) todo[left++] = n->src[i];
    } else if (ir_is_const(o->g, ref, &value)) {
      if (!ir_add_ok(out->constant, value, &out->constant)) return false;
    } else if (out->count < MAX_TERMS) {
      out->term[out->count++] = ref;
    } else {
      return false;
    }
  }
  qsort(out->term, out->count, sizeof *out->term, ascending);
  return true;
}

/* By how many elements the first lane of a load lies behind that of another one; false: it is not known. */
static bool apart_of(const cg_order *o, ir_ref load, ir_ref other, int64_t *apart) {
  const ir_node *n = ir_get(o->g, load), *m = ir_get(o->g, other);
  index_sum at, from;
  if (n->src[0] != m->src[0] || !sum_of(o, n->src[1], &at) || !sum_of(o, m->src[1], &from)) return false;
  return at.count == from.count && !memcmp(at.term, from.term, at.count * sizeof *at.term) &&
         ir_sub_ok(at.constant, from.constant, apart);
}

/* Is an element of one load, at one of its unrolled values, that of the other load at another of these? So
 * are those of neighbouring windows. */
static bool share_elements(const cg_order *o, ir_ref load, ir_ref other) {
  const uint64_t *lanes = cg_lanes(o->nest, load);
  int64_t step, apart;
  if (!apart_of(o, load, other, &apart)) return false;
  for (int64_t l = -1; (l = cg_set_next(o->nest, lanes, l)) >= 0;)
    if (cg_is_unroll(o, l) && cg_stride(o->nest, ir_src(o->g, load, 1), (uint32_t)l, &step) && step &&
        apart % step == 0 && llabs(apart / step) < o->nest->loops[l].extent)
      return true;
  return false;
}

/* Does one of the loads listed from `first` to number `at` share elements with this one? */
static bool shares_listed(const cg_order *o, size_t first, size_t at) {
  for (size_t i = first; i < at; i++)
    if (ir_op_of(o->g, o->list[i]) == IR_OP_LOAD && share_elements(o, o->list[at], o->list[i])) return true;
  return false;
}

/* Does one of so many loads prefetch nearly what this one does? Within half a line, it is the same line more
 * often than not. */
static bool is_prefetched(const cg_order *o, const ir_ref *kept, size_t count, ir_ref load) {
  int64_t apart, near = IR_CACHE_LINE_BYTES / 2 / ir_dtypes[ir_dtype_of(o->g, load)].bytes;
  for (size_t i = 0; i < count; i++)
    if (ir_arg_int(ir_get(o->g, kept[i])) == ir_arg_int(ir_get(o->g, load)) &&
        apart_of(o, load, kept[i], &apart) && llabs(apart) <= near)
      return true;
  return false;
}

/* Emits the prefetches of the loads that are listed from `first` to `end` and have not been emitted, and what
 * their indices need. */
static void emit_ahead(cg_order *o, size_t first, size_t end) {
  enum { MAX_KEPT = 64 }; /* because a window of 7 x 7 has 49 rows: with 32, 17 are not fetched */
  ir_ref kept[MAX_KEPT];
  size_t count = 0;
  cg_begin_visit(o);
  for (size_t i = first; i < end && count < MAX_KEPT; i++) {
    if (o->values[o->list[i]] || !prefetches(o, o->list[i]) || is_prefetched(o, kept, count, o->list[i]))
      continue;
    kept[count++] = o->list[i];
    cg_visit_operands(o, o->list[i], false);
  }
  cg_list_visited(o, true);
  cg_emit_listed(o, end);
  for (size_t i = 0; i < count && !o->failed; i++) o->emits->ahead(o->emitter, kept[i]);
}

/* Emits prefetches before all loads, if among those listed from `first` on there are some that prefetch, and
 * others, or some that share elements, or `always`: a compiler moves no load across a prefetch, so each load
 * before one would hold a register from there to its use. Where all loads prefetch, each is next to its use:
 * a search for the largest of 4096 elements takes a sixth less time so. A generator that does not emit
 * prefetches alone emits their loads first. Returns whether loads are emitted without theirs from now on. */
static bool emit_prefetches(cg_order *o, size_t first, bool always) {
  size_t end = o->list_count;
  bool others = always, any = false;
  for (size_t i = first; i < end; i++) {
    if (ir_op_of(o->g, o->list[i]) != IR_OP_LOAD) continue;
    any |= prefetches(o, o->list[i]);
    others |= !prefetches(o, o->list[i]) || shares_listed(o, first, i);
  }
  if (!others || !any) return false;
  if (o->emits->ahead) {
    emit_ahead(o, first, end);
    return true;
  }
  cg_begin_visit(o);
  for (size_t i = first; i < end; i++)
    if (prefetches(o, o->list[i])) cg_visit(o, o->list[i]);
  cg_list_visited(o, true);
  cg_emit_listed(o, end);
  return false;
}

/* Is it read from memory, and converted at most? */
static bool is_read(const cg_order *o, ir_ref ref) {
  const ir_node *n = ir_get(o->g, ref);
  return n->op == IR_OP_LOAD || (n->op == IR_OP_CAST && ir_op_of(o->g, n->src[0]) == IR_OP_LOAD);
}

/* Is it a term of a sum, in several unrolled values, that is added to another term? A polynomial is none. */
static bool continues_sum(const cg_order *o, ir_ref ref) {
  const ir_node *n = ir_get(o->g, ref);
  size_t unrolled = cg_unroll_count(o, cg_lanes(o->nest, ref));
  return (n->op == IR_OP_FMA || n->op == IR_OP_FMA2) && is_read(o, n->src[0]) && is_read(o, n->src[1]) &&
         ir_op_of(o->g, n->src[2]) == n->op && !o->values[n->src[2]] && unrolled > 1 &&
         !(o->emits->is_by_lane && o->emits->is_by_lane(o->emitter, ref, unrolled, 0));
}

/* Vectors that the loads among those listed from `first` on read, and the sums of a term. */
static size_t vectors_listed(const cg_order *o, size_t first) {
  size_t read = 0, sums = 0;
  for (size_t i = first; i < o->list_count; i++) {
    ir_ref ref = o->list[i];
    size_t count = cg_unroll_count(o, cg_lanes(o->nest, ref));
    if (ir_op_of(o->g, ref) == IR_OP_LOAD && o->nest->width[ref] > 1) read += count;
    if ((ir_op_of(o->g, ref) == IR_OP_FMA || ir_op_of(o->g, ref) == IR_OP_FMA2) && count > sums) sums = count;
  }
  return read + sums;
}

/* Where the terms of a sum are written out, emits one after the other, among those listed from `first` on,
 * each with what it reads: loads at the beginning of all terms would wait in the queues of the processor.
 * 3 x 3 x 512 terms in tiles of 7 rows by 2 vectors take 0.92 of the time (Zen 4). What several terms read,
 * the compiler loads once: a window of 3 for 7 rows has 9 elements of a row of an image, not 21. That takes
 * registers; so where the vectors that all terms read do not fit into these beside the sums, each term has
 * its own prefetches (`apart`: they have not been emitted), across which nothing is shared. These come before
 * all loads of the term, of which the sums leave no registers: 3 x 3 with 64 channels of four images of 57 x
 * 57, in tiles of 12 rows by 2 vectors, takes 0.84 of the time. */
static void emit_terms(cg_order *o, size_t first, bool apart) {
  size_t end = o->list_count;
  for (size_t i = first; i < end && !o->failed; i++) {
    if (!continues_sum(o, o->list[i])) continue;
    for (ir_ref term = ir_src(o->g, o->list[i], 2), next = o->list[i]; term; term = next, next = 0) {
      cg_begin_visit(o);
      cg_visit(o, term);
      cg_list_visited(o, true);
      o->prefetched = apart ? emit_prefetches(o, end, true) : o->prefetched;
      cg_emit_listed(o, end);
    }
  }
}

void cg_emit_in_order(cg_order *o, size_t first, bool reads) {
  bool outside = o->prefetched, terms = reads && o->emits->registers,
       shares = terms && vectors_listed(o, first) + IR_SHARED_REGISTERS <= o->emits->registers(o->emitter);
  o->prefetched = false;
  if (terms && !shares) emit_terms(o, first, true);
  o->prefetched = emit_prefetches(o, first, false);
  if (shares && o->prefetched) emit_terms(o, first, false);
  cg_emit_listed(o, first);
  o->prefetched = outside;
}
