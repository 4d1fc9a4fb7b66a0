/* Schedules: a user's moves for the loops of a graph's kernels, as text. A line for each loop nest:
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
  pass_shaping shaping; /* for pass_options; refers to this struct, which must not move */
} fe_schedule;

/* Read a file as text. IR_ERR_INVALID where it holds a NUL byte, behind which nothing would be read. */
ir_status fe_schedule_load(const char *path, ir_text *out, ir_error *error);
/* text may be NULL; lines may end in CRLF. IR_ERR_INVALID names a malformed line, or two lines for one nest.
 * Free *out after failing, too. */
ir_status fe_schedule_read(fe_schedule *out, const ir_mem *mem, const char *text, ir_error *error);
/* The moves of a nest, whose line then counts as used; NULL: the schedule has none. */
const char *fe_schedule_moves(fe_schedule *s, uint32_t kernel, uint32_t nest);
/* To be called when no loops could be made for the kernel. If moves of the schedule were used for it, the
 * error then names their lines and becomes IR_ERR_INVALID, unless memory is short. */
void fe_schedule_refused(const fe_schedule *s, uint32_t kernel, ir_error *error);
/* After compiling: IR_ERR_INVALID names a line whose kernel or nest the graph does not have. */
ir_status fe_schedule_check(const fe_schedule *s, ir_error *error);
void fe_schedule_free(fe_schedule *s);

#endif
