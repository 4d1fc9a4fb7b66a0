/* Reference results of the workloads: computed in float64 by the definition, in plain loops, without
 * viewfold. */
#ifndef VIEWFOLD_FRONTEND_CLI_BENCH_ORACLE_H
#define VIEWFOLD_FRONTEND_CLI_BENCH_ORACLE_H

#include <stddef.h>
#include <stdint.h>

/* Inputs of a workload, in order: float32 or int32, row-major, of the shapes in its graph. */
typedef struct bench_given {
  const void *data;
  const int64_t *shape;
} bench_given;

/* Compute row r: all results one after the other are split into rows of `length` elements. Rows are
 * independent of each other and may be computed in several threads. NaN where memory is short. */
typedef void (*bench_row)(const bench_given *in, size_t r, size_t length, double *out);
typedef struct bench_oracle {
  const char *id;
  size_t rows;
  bench_row row;
} bench_oracle;

/* Tables of oracle_view.c, oracle_math.c and oracle_product.c; each ends with an id that is NULL. */
extern const bench_oracle bench_view_oracles[], bench_math_oracles[], bench_product_oracles[];

/* The elements of an input that is float32. */
static inline const float *bench_floats(const bench_given *in, int number) { return in[number].data; }
/* oracle_math.c: one row, in place */
void bench_softmax(double *row, size_t length);
void bench_layer_norm(double *row, size_t length, const float *weight, const float *bias);

#endif
