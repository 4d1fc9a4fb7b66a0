/* Compiling with the moves that tuning has found. The record of a tuned kernel is a text of lines:
 *
 *   kernel vf_add_f32_0123456789abcdef of @blur
 *   took 1234 ns, takes 987 ns
 *   nest 0: split a0 64; split a0 16; unroll a0.1; vector a0.2
 *
 * A nest without a line keeps the moves of the cost model. */
#ifndef VIEWFOLD_FRONTEND_API_TUNED_H
#define VIEWFOLD_FRONTEND_API_TUNED_H

#include "passes/passes.h"
#include "runtime/cache/kernel_key.h"
#include "runtime/runtime.h"

typedef struct fe_tuned {
  rt_context *context;  /* NULL: nothing is tuned */
  pass_shaping shaping; /* for pass_options; refers to this struct, which must not move */
  ir_text text;         /* record of the current kernel, lines ended by NUL; empty: none */
} fe_tuned;

/* context NULL, or one without tuned kernels: all moves are the cost model's. */
void fe_tuned_init(fe_tuned *tuned, rt_context *context, const ir_mem *mem);
void fe_tuned_free(fe_tuned *tuned);
/* Read the record of the kernel of this effect, as `shaping` does: for callers with a pass_shaping of their
 * own. */
void fe_tuned_enter(fe_tuned *tuned, const ir_graph *g, ir_ref effect);
void fe_tuned_read(fe_tuned *tuned,
                   const rt_kernel_key *key); /* the record under this key, if there is one */
/* The next loop nest of the current record that has moves; *at begins with 0. False: there is none. */
bool fe_tuned_next(const fe_tuned *tuned, size_t *at, uint32_t *nest, const char **moves);
const char *fe_tuned_moves(const fe_tuned *tuned, uint32_t nest);

#endif
