/* Internals of the view algebra: tests of fields, and functions that the files of frontend/views/ share. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_IMPL_H
#define VIEWFOLD_FRONTEND_VIEWS_IMPL_H

#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "view.h"

/* Is the expression this constant? */
static inline bool view_is(const ir_graph *g, ir_ref ref, int64_t value) {
  int64_t known;
  return ir_is_const(g, ref, &known) && known == value;
}
/* Proven relations: numbers are compared, expressions are left to the index algebra. */
static inline bool view_same(ir_graph *g, ir_ref a, ir_ref b) {
  bool numbers = ir_is_const(g, a, NULL) && ir_is_const(g, b, NULL);
  return a == b || (!numbers && pass_proves(g, IR_OP_EQ, a, b));
}
static inline bool view_below(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y;
  return ir_is_const(g, a, &x) && ir_is_const(g, b, &y) ? x < y : pass_proves(g, IR_OP_LT, a, b);
}
static inline bool view_at_most(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y;
  return ir_is_const(g, a, &x) && ir_is_const(g, b, &y) ? x <= y : pass_proves(g, IR_OP_LE, a, b);
}
static inline void view_copy(ir_ref *to, const ir_ref *from, uint32_t count) { /* from may be NULL for none */
  for (uint32_t i = 0; i < count; i++) to[i] = from[i];
}

/* view.c: bring *v into canonical form; begin and end count even where v->masked is not set. who: the
 * operation in messages. */
pass_view_status view_canonical(ir_graph *g, const char *who, pass_view *v);
void view_drop_mask(ir_graph *g, pass_view *v);
void view_mask_everything(ir_graph *g, pass_view *v);
pass_view_status view_plain(ir_graph *g, const char *who, uint32_t rank, const ir_ref *shape, pass_view *out);
/* v->offset += index * stride */
void view_move_offset(ir_graph *g, pass_view *v, ir_ref index, ir_ref stride);
/* The end of a message: the fact that was needed and could not be decided; empty where it is proven. */
#define VIEW_FACT(cmp, a, b) (pass_proves(g, (cmp), (a), (b)) ? "" : OP_FACT(cmp, a, b))
#define view_refuse(g, ...)  ((void)op_refuse(g, __VA_ARGS__), PASS_VIEW_FAILED)

/* The view *v, whose begin and end always count, in canonical form. DONE or FAILED. */
pass_view_status view_of_numbers(ir_graph *g, const pass_view_numbers *v, pass_view *out);

/* merge.c: merge two consecutive views. The mask of later leaves something. */
typedef enum view_merged {
  VIEW_ONE,      /* *out is the view; its mask is where it is valid, possibly everywhere */
  VIEW_VOID,     /* nothing is valid */
  VIEW_NOT_ONE,  /* not found to be one view, because of the axes in *split */
  VIEW_OUTSIDE,  /* later reads element *worst, which nearer does not have */
  VIEW_UNDECIDED /* of view_merge_subdomains only: too many sub-domains, or numbers too large */
} view_merged;
view_merged view_merge_core(const pass_view_numbers *nearer, const pass_view_numbers *later,
                            pass_view_numbers *out, uint32_t *split, int64_t *worst);
/* merge_subdomains.c: merge consecutive views, none of which is empty or masked everywhere. */
view_merged view_merge_subdomains(const ir_mem *mem, const pass_view_numbers *views, size_t count,
                                  pass_view_numbers *out);

#endif
