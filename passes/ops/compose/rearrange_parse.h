/* Patterns of rearrange: "b(hw)c". */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_REARRANGE_PARSE_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_REARRANGE_PARSE_H

#include "impl.h"

/* How an axis is told from the others of its pattern: by its letter; by its number, which is its size, and
 * how many axes with that number come before it; by its place among those of an ellipsis. */
typedef enum rearrange_kind { REARRANGE_LETTER, REARRANGE_NUMBER, REARRANGE_SPARE } rearrange_kind;
typedef struct rearrange_axis {
  rearrange_kind kind;
  int32_t which; /* the letter; axes with the same number before it; the place */
  int64_t size;  /* as given; -1: it is not */
  uint32_t item; /* the axis of the array that it is, or is a part of */
} rearrange_axis;

typedef struct rearrange_pattern {
  const char *name, *text; /* `from` or `to`, for messages */
  int length;
  rearrange_axis axis[IR_MAX_RANK];
  uint32_t count, items; /* axes; axes of the array */
  bool ellipsis;
} rearrange_pattern;

/* Reads a pattern: letters, each once, with a size as in h=2 or without one; numbers; groups in parentheses,
 * which are one axis of the array; and once ... for `spare` axes. False after failing. */
bool rearrange_parse(ir_graph *g, const char *name, const char *text, size_t length, uint32_t spare,
                     rearrange_pattern *p);
/* The place of such an axis in the pattern, or -1. */
int rearrange_find(const rearrange_pattern *p, const rearrange_axis *axis);
/* 'h' or 2, for messages. */
const char *rearrange_axis_text(const rearrange_axis *axis, char text[24]);

#endif
