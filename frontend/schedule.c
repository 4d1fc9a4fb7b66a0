/* Reading schedules, and handing their lines to the compiler. */
#include "frontend/schedule.h"

#include <stdio.h>
#include <string.h>

const char *fe_schedule_moves(fe_schedule *s, uint32_t kernel, uint32_t nest) {
  const char *moves = NULL;
  for (size_t i = 0; i < s->count; i++) {
    if (s->lines[i].kernel != kernel || s->lines[i].nest != nest) continue;
    s->lines[i].used = true;
    moves = s->lines[i].moves;
  }
  return moves;
}

static const char *given(void *schedule, uint32_t kernel, uint32_t nest) {
  return fe_schedule_moves(schedule, kernel, nest);
}

static ir_status read_line(fe_schedule *s, char *line, uint32_t number, ir_error *error) {
  unsigned kernel, nest;
  int length = 0;
  bool comment = *line == '#';
  while (*line == '#' || *line == ' ' || *line == '\t') line++;
  if (sscanf(line, "kernel %u nest %u:%n", &kernel, &nest, &length) < 2 || length == 0) {
    if (*line == '\0' || comment) return IR_OK;
    return ir_fail(error, IR_ERR_INVALID,
                   "schedule:%u: a line is `kernel NUMBER nest NUMBER: MOVES`, found '%.60s'", number, line);
  }
  if (!IR_RESERVE(s->mem, s->lines, s->cap, s->count + 1))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory reading a schedule");
  const char *moves = line + length + strspn(line + length, " \t");
  s->lines[s->count++] = (fe_schedule_line){kernel, nest, number, moves, false};
  return IR_OK;
}

ir_status fe_schedule_read(fe_schedule *s, const ir_mem *mem, const char *text, ir_error *error) {
  *s = (fe_schedule){.mem = mem};
  s->shaping = (pass_shaping){.user = s, .given = given};
  if (!text) return IR_OK;
  s->size = strlen(text) + 1;
  s->copy = ir_alloc(mem, s->size);
  if (!s->copy) return ir_fail(error, IR_ERR_MEMORY, "out of memory reading a schedule");
  memcpy(s->copy, text, s->size);
  uint32_t number = 1;
  for (char *line = s->copy, *next; line && !error->status; line = next, number++) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    read_line(s, line, number, error);
  }
  return error->status;
}

ir_status fe_schedule_check(const fe_schedule *s, ir_error *error) {
  for (size_t i = 0; i < s->count; i++)
    if (!s->lines[i].used)
      return ir_fail(error, IR_ERR_INVALID,
                     "schedule:%u: the graph has no kernel %u with a nest %u; `viewfold dump --stage=loops` "
                     "prints a line for each that it has",
                     s->lines[i].line, s->lines[i].kernel, s->lines[i].nest);
  return IR_OK;
}

void fe_schedule_free(fe_schedule *s) {
  ir_free(s->mem, s->copy, s->size);
  ir_free(s->mem, s->lines, s->cap * sizeof *s->lines);
}
