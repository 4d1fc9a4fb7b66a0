/* Kernels built by hand: builders for the loop level, descriptions of targets that this processor can run,
 * and compilation directly to a function. Every error fails the running cmocka test. */
#ifndef VIEWFOLD_TEST_KERNELS_H
#define VIEWFOLD_TEST_KERNELS_H

#include "codegen/codegen.h"
#include "ir/ir.h"
#include "runtime/compiler/llvm_module.h"
#include "runtime/image/image.h"
#include "test/lib/level.h"

/* The description of a machine with some of this one's features; index counts from 0. False after the
 * last. */
typedef struct k_target {
  const char *name;
  ir_target target;
} k_target;
bool k_target_at(int index, k_target *out);

#define K_EACH_TARGET(t)                                                                                     \
  k_target t;                                                                                                \
  for (int number_ = 0; k_target_at(number_, &t); number_++)
/* The same for kernels of which there are many: in `make test` each of them is tried on two of the targets,
 * by turns. */
#define K_SOME_TARGETS(t)                                                                                    \
  k_target t;                                                                                                \
  for (int number_ = k_first_target(); k_target_at(number_, &t); number_ += level_step(2))
int k_first_target(void);

/* The graph of the running test, empty at first: functions before and after each test (unit.h). */
extern ir_graph k_graph;
int k_enter(void **state);
int k_leave(void **state);
void k_begin(void); /* empties it */

typedef struct k_code {
  rt_code code;
  cg_kernel run;
  void *scratch;       /* for one call at a time */
  double milliseconds; /* of compilation */
} k_code;
k_code k_compile(ir_graph *g, ir_ref kernel, const ir_target *target); /* kept until the running test ends */
char *k_text(ir_graph *g, ir_ref kernel, const ir_target *target, cg_output want); /* the caller frees it */

/* Memory between two inaccessible pages, which begins right after the first one or ends right before the
 * second. */
typedef struct k_fence {
  uint8_t *map, *memory;
  size_t size;
} k_fence;
k_fence k_fence_make(size_t bytes, bool at_end);
void k_fence_free(const k_fence *fence);

/* In k_graph, from text in which $0 stands for numbers[0] and $a for words[0], and so on. */
ir_ref k_parse(const char *text, const int64_t *numbers, const char *const *words);

ir_ref k_param(ir_graph *g, ir_dtype dtype, int slot, int64_t size);
ir_ref k_range(ir_graph *g, ir_ref extent, int axis);
ir_ref k_load(ir_graph *g, ir_ref param, ir_ref index);
ir_ref k_store(ir_graph *g, ir_ref param, ir_ref index, ir_ref value);
ir_ref k_loop(ir_graph *g, ir_ref range, int binding, ir_ref effect);
ir_ref k_fold(ir_graph *g, ir_ref range, int binding, ir_op op, ir_ref init,
              ir_ref body); /* carried = op(carried, body) */
/* `var`: the variable that is the size of arrays; 0: there is none */
ir_ref k_kernel_of(ir_graph *g, ir_ref effect, const ir_ref *params, uint32_t nparams, ir_ref var);
ir_ref k_kernel(ir_graph *g, ir_ref effect, const ir_ref *params, uint32_t nparams);
ir_ref k_sum(ir_graph *g, ir_ref a, ir_ref b);
ir_ref k_times(ir_graph *g, ir_ref a, int64_t factor);

#endif
