/* Graphs with control flow, compiled and run. Every error fails the running cmocka test. */
#ifndef VIEWFOLD_TEST_FLOW_H
#define VIEWFOLD_TEST_FLOW_H

#include "test/lib/plans.h"

typedef struct flow {
  ir_graph g;
  ir_error error;
  ir_ref inputs[8];
  size_t input_count;
  ir_plan plan; /* of the last program */
} flow;
flow *flow_begin(void); /* released when the running test ends */
void flow_init(flow *f);
void flow_end(flow *f); /* of flow_init */

ir_ref flow_shape(flow *f, int rank, ...); /* of int64_t sizes */
ir_ref flow_input(flow *f, const char *name, ir_dtype dtype, ir_ref shape);
ir_ref flow_param(flow *f, ir_dtype dtype, ir_ref shape); /* a parameter of a function */
ir_ref flow_number(flow *f, double value);                /* f32 */
ir_ref flow_expand(flow *f, ir_ref scalar, ir_ref shape);

#define FLOW_LIST(...) (ir_ref[]){__VA_ARGS__}, sizeof((ir_ref[]){__VA_ARGS__}) / sizeof(ir_ref)
ir_ref flow_cond(flow *f, ir_ref then, ir_ref other, const ir_ref *operands, size_t count);
ir_ref flow_while(flow *f, ir_ref condition, ir_ref body, int64_t bound, uint32_t carries,
                  const ir_ref *operands, size_t count);
ir_ref flow_scan(flow *f, ir_ref body, ir_ref length, ir_scan_state state, const ir_ref *operands,
                 size_t count);
ir_ref flow_result(flow *f, ir_ref control, uint32_t number);

/* Runs all passes, with the verifier between them. key NULL: not cached. */
rt_program *flow_compile(flow *f, rt_context *c, const char *key, const ir_ref *results, size_t count);
ir_status flow_try(flow *f, rt_context *c, const char *key, const ir_ref *results, size_t count,
                   rt_program **out, ir_error *error);

#endif
