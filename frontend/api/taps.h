/* Operations that show values while a program runs: `tap` and `print` hand their operand to the owner of a
 * context and return it; `after` returns its first operand once the second is computed, which keeps a tap
 * whose result nobody needs. They are custom operations that every context has. */
#ifndef VIEWFOLD_FRONTEND_API_TAPS_H
#define VIEWFOLD_FRONTEND_API_TAPS_H

#include "frontend/viewfold.h"
#include "passes/ops/custom.h"
#include "runtime/runtime.h"

enum { FE_TAP, FE_PRINT, FE_AFTER, FE_TAP_OPS };
struct fe_taps;
typedef struct fe_tap_op {
  op_custom base;
  const struct fe_taps *all;
} fe_tap_op;
typedef struct fe_taps {
  ir_customs base;
  fe_tap_op ops[FE_TAP_OPS];
  vf_tap_function function; /* NULL: values are shown to nobody */
  void *user;
} fe_taps;

/* The operations, which must not move afterwards. */
void fe_taps_init(fe_taps *taps, vf_tap_function function, void *user);
const ir_custom *fe_taps_find(const fe_taps *taps, const char *name, size_t length); /* NULL: none */
bool fe_taps_has(const fe_taps *taps, const void *custom);
/* The operations of `customs`, of which those above show nothing. */
typedef struct fe_silent {
  ir_customs base;
  fe_taps taps;
  const ir_customs *customs; /* or NULL */
} fe_silent;
void fe_silent_init(fe_silent *silent, const ir_customs *customs);

/* For a context that knows no other custom operations. */
rt_calls fe_taps_calls(fe_taps *taps);
/* Runs what a CALL step says, by the operations of `customs`. */
ir_status fe_custom_call(const ir_customs *customs, const rt_call *step, ir_error *error);

/* Taps of a graph or of a function that is being recorded, which must be computed though nobody may need
 * their results. */
typedef struct fe_pending {
  ir_ref *list;
  size_t count, cap;
} fe_pending;
/* *result, of the graph or function, after each of the taps from `first` on that no result depends on. level:
 * the batch axes that are outside of the function; of taps that have these and more of their own none is
 * kept. False after failing. */
bool fe_pending_keep(ir_graph *g, const fe_pending *pending, size_t first, uint32_t level,
                     const ir_ref *results, size_t count, ir_ref *result);

#endif
