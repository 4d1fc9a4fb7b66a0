/* Schedules: how the loops of a graph's kernels are shaped, as text from outside. A line for each nest:
 *
 *   kernel 0 nest 0: split a0 6; split a1 64; split a1 16; unroll a0.1 a1.1; vector a1.2
 *
 * Empty lines and `#` before `kernel` are allowed, as dumps print it; other lines that begin with `#` are
 * comments. passes/loops/moves.c says what the moves are. */
#ifndef VIEWFOLD_FRONTEND_TEXT_LOOP_SCHEDULE_H
#define VIEWFOLD_FRONTEND_TEXT_LOOP_SCHEDULE_H

#include "passes/passes.h"

typedef struct fe_schedule_line {
  uint32_t kernel, nest, line; /* line: of the text, from 1 */
  const char *moves;
  bool used;
} fe_schedule_line;

typedef struct fe_schedule {
  const ir_mem *mem;
  char *copy; /* of the text */
  size_t size;
  fe_schedule_line *lines;
  size_t count, cap;
  pass_shaping shaping; /* for pass_options; refers to this struct, which stays where it is */
} fe_schedule;

/* The text of a file; IR_ERR_INVALID where it holds a NUL byte, behind which nothing would be read. */
ir_status fe_schedule_load(const char *path, ir_text *out, ir_error *error);
/* text may be NULL; lines may end in CRLF. IR_ERR_INVALID names the line that is none, or the two for one
 * nest. Free after failing, too. */
ir_status fe_schedule_read(fe_schedule *out, const ir_mem *mem, const char *text, ir_error *error);
/* The moves of a nest, whose line is used from now on; NULL: the schedule has none. */
const char *fe_schedule_moves(fe_schedule *s, uint32_t kernel, uint32_t nest);
/* No loops could be made of the kernel: the error names the lines with moves for it, if there are any, and is
 * IR_ERR_INVALID then. */
void fe_schedule_refused(const fe_schedule *s, uint32_t kernel, ir_error *error);
/* After compiling: IR_ERR_INVALID names a line whose kernel or nest the graph does not have. */
ir_status fe_schedule_check(const fe_schedule *s, ir_error *error);
void fe_schedule_free(fe_schedule *s);

#endif
