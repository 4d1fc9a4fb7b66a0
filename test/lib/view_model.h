/* The reference model of views: each operation says which element of its operand each element of its result
 * is, and arrays of elements are copied one by one. It is the oracle of the tests of folding and uses nothing
 * of the library. */
#ifndef VIEWFOLD_TEST_VIEW_MODEL_H
#define VIEWFOLD_TEST_VIEW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_RANK = 6, MODEL_STEPS = 8, MODEL_ELEMENTS = 4096, MODEL_TEXT = 4096 };

typedef enum model_kind {
  MODEL_PERMUTE,   /* a: order */
  MODEL_RESHAPE,   /* a: n sizes */
  MODEL_MERGE,     /* axes a[0] and a[0]+1 become one */
  MODEL_SPLIT,     /* axis a[0] becomes two, the second of size b[0] */
  MODEL_EXPAND,    /* a: sizes */
  MODEL_SHRINK,    /* a: removed at the beginning, b: at the end */
  MODEL_PAD,       /* a: before, b: after; mode */
  MODEL_FLIP,      /* a: n axes */
  MODEL_STRIDE,    /* a: steps */
  MODEL_UNSQUEEZE, /* a[0]: axis */
  MODEL_SQUEEZE,   /* a[0]: axis */
  MODEL_POINT,     /* a[0]: axis, b[0]: index, negative from the end */
  MODEL_GATHER,    /* a[0]: axis, b: n indices, negative from the end */
  MODEL_KINDS
} model_kind;
enum { MODEL_CONSTANT, MODEL_EDGE, MODEL_REFLECT, MODEL_WRAP };

typedef struct model_step {
  int kind, mode, n;
  int a[MODEL_RANK], b[MODEL_RANK];
} model_step;

typedef struct model_shape {
  int rank, size[MODEL_RANK];
} model_shape;
typedef struct model_array {
  model_shape shape;
  int count;
  int at[MODEL_ELEMENTS]; /* index in the base; -1: padding */
} model_array;

/* A base and the steps applied to it. Axes in the bit set `varies` have the size n. */
typedef struct model_chain {
  model_shape base;
  unsigned varies;
  int lo, hi, divisor; /* of n */
  model_step steps[MODEL_STEPS];
  int count;
} model_chain;

int model_elements(const model_shape *shape); /* INT_MAX when there are more */
/* The shape of the result; false when the step does not apply. */
bool model_shape_after(const model_shape *from, const model_step *step, model_shape *to);
void model_base(const model_shape *shape, model_array *out);
/* Composes maps: given the base element that each element of the operand reads, sets to[i] to the one that
 * element i of the result reads; -1: padding. Any number of elements. */
void model_compose(const model_shape *from, const model_step *step, const model_shape *result, const int *at,
                   int *to);
bool model_apply(const model_array *from, const model_step *step, model_array *to);
bool model_run(const model_chain *chain, model_array *out);
/* The same chain with n as the size of the axes that vary. */
void model_resized(const model_chain *chain, int n, model_chain *out);
/* As a chain expression. */
void model_print(const model_chain *chain, char text[MODEL_TEXT]);

/* A random chain of 1 to MODEL_STEPS steps, all of which apply both at n and at its least value. */
void model_random(uint64_t *state, model_chain *out);
/* A random chain of 2 to `longest` of the seven movement operations, none of which is an identity, over a
 * base of rank 1 to 3 and sizes 1 to 6; no size varies, no result is empty. */
void model_random_small(uint64_t *state, int longest, model_chain *out);
/* A single view that equals the map: strides, offset and a box outside of which all is padding. False: there
 * is none. */
typedef struct model_view {
  int64_t offset, stride[MODEL_RANK];
  int begin[MODEL_RANK], end[MODEL_RANK];
} model_view;
bool model_single(const model_shape *shape, const int *at, model_view *out);

/* The chain on `factor` times as many elements: with a new axis in front (place 0) or at the end (place 1),
 * or with axis place-2 of the base, and the axes that come from it, that many times longer. False if a step
 * does not allow it. */
bool model_scale(const model_chain *chain, int place, int factor, model_chain *out);

/* A smaller chain, number `number` of them, which may be invalid; false after the last. */
bool model_smaller(const model_chain *chain, int number, model_chain *out);

#endif
