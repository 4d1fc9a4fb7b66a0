/* Plans built by hand, and contexts to build them in. The contexts keep their cache in a directory of the
 * test and compile each kernel once per test run: later compilations return the same object at no cost. Every
 * error fails the running cmocka test, at whose end contexts, plans and programs are released, if they are
 * not before (unit_release). */
#ifndef VIEWFOLD_TEST_PLANS_H
#define VIEWFOLD_TEST_PLANS_H

#include "runtime/context.h"
#include "runtime/program/program.h"
#include "test/lib/kernels.h"

int p_set_up(void **state); /* group set-up and tear-down */
int p_tear_down(void **state);
const char *p_place(void);
void p_empty_cache(void);
void p_cache_file(const char *kind, char path[256]); /* the only one of this kind in the cache */
rt_context *p_context_with(rt_options options);
int p_compilations(void); /* so far */
ir_status p_compile(void *user, const ir_graph *graph, ir_ref kernel, const char *symbol,
                    const ir_target *target, cg_blob *object, ir_error *error);

typedef struct p_maker {
  ir_graph g;
  ir_plan p;
  ir_error error;
} p_maker;
p_maker *p_begin(void);
uint32_t p_slot(p_maker *m, ir_slot_kind kind, const char *name, ir_dtype dtype, ir_ref size);
void p_launch(p_maker *m, ir_ref kernel, ir_ref count, ir_ref work, const uint32_t *slots, uint32_t n);
void p_results(p_maker *m, const uint32_t *slots, size_t n);
ir_ref p_param(p_maker *m, int number, ir_dtype dtype, ir_ref size);
/* a launch of out[i] = a[i] * factor + (b >= 0 ? b[i] : 0), over a size that may be a variable */
void p_scale_add(p_maker *m, uint32_t out, uint32_t a, int b, double factor, ir_ref size);
/* the plan of out = (x * 2) * 3 + y, with the product as an intermediate */
void p_two_kernels(p_maker *m, ir_ref size);
ir_ref p_variable(p_maker *m); /* n=4..64:4 */

rt_program *p_keep(rt_program *program); /* until the test ends */
rt_program *p_build(rt_context *c, p_maker *m, const char *key);
rt_program *p_find(rt_context *c, const char *key);
void p_run(const rt_program *p, void *const *in, void *const *out, const int64_t *vars);

enum { P_MOST = 1000 };
/* runs a program of p_two_kernels on n <= P_MOST elements and checks the result */
void p_check_two_kernels(const rt_program *p, int64_t n, const int64_t *vars, float shift);
/* the same, `iterations` times over different sizes, without cmocka, for use in threads */
bool p_run_some(const rt_program *p, int number, int iterations);

/* Arguments and result of a test's thread. */
typedef struct p_worker {
  rt_context *context;
  const rt_program *program;
  int number;
  bool good;
} p_worker;
/* Lets four threads call `work` with a p_worker of their own, which each must leave good. */
void p_work_in_threads(void *(*work)(void *), rt_context *context, const rt_program *program);

#endif
