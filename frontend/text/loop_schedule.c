/* Reading schedules, and passing their moves to the compiler. */
#include "frontend/text/loop_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/files/text_file.h"

const char *fe_schedule_moves(fe_schedule *s, uint32_t kernel, uint32_t nest) {
  const char *moves = NULL;
  for (size_t i = 0; i < s->count; i++) {
    if (s->lines[i].kernel != kernel || s->lines[i].nest != nest) continue;
    s->lines[i].used = true;
    moves = s->lines[i].moves;
  }
  return moves;
}

static const char *given_moves(void *schedule, uint32_t kernel, uint32_t nest) {
  return fe_schedule_moves(schedule, kernel, nest);
}

static void note_refused(void *schedule, uint32_t kernel, ir_error *error) {
  fe_schedule_refused(schedule, kernel, error);
}

static void skip_blanks(char **at) { *at += strspn(*at, " \t"); }

static bool read_word(char **at, const char *word) {
  skip_blanks(at);
  size_t length = strlen(word);
  if (strncmp(*at, word, length) != 0) return false;
  *at += length;
  return true;
}

static bool read_number(char **at, uint32_t *out) {
  skip_blanks(at);
  if (**at < '0' || **at > '9') return false;
  errno = 0;
  unsigned long long number = strtoull(*at, at, 10);
  *out = (uint32_t)number;
  return errno == 0 && number <= UINT32_MAX;
}

static ir_status add_line(fe_schedule *s, fe_schedule_line line, ir_error *error) {
  for (size_t i = 0; i < s->count; i++)
    if (s->lines[i].kernel == line.kernel && s->lines[i].nest == line.nest)
      return ir_fail(error, IR_ERR_INVALID,
                     "schedule:%u: kernel %u nest %u has its moves in line %u; one line for each nest",
                     line.line, line.kernel, line.nest, s->lines[i].line);
  if (!IR_RESERVE(s->mem, s->lines, s->cap, s->count + 1))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory reading a schedule");
  s->lines[s->count++] = line;
  return IR_OK;
}

static ir_status read_line(fe_schedule *s, char *line, uint32_t number, ir_error *error) {
  fe_schedule_line out = {.line = number};
  bool comment = *line == '#';
  while (*line == '#' || *line == ' ' || *line == '\t') line++;
  char *at = line;
  bool good = read_word(&at, "kernel") && read_number(&at, &out.kernel) && read_word(&at, "nest") &&
              read_number(&at, &out.nest) && read_word(&at, ":");
  if (!good && (*line == '\0' || comment)) return IR_OK;
  if (!good)
    return ir_fail(error, IR_ERR_INVALID,
                   "schedule:%u: a line is `kernel NUMBER nest NUMBER: MOVES`, found '%.60s'", number, line);
  skip_blanks(&at);
  out.moves = at;
  return add_line(s, out, error);
}

ir_status fe_schedule_read(fe_schedule *s, const ir_mem *mem, const char *text, ir_error *error) {
  *s = (fe_schedule){.mem = mem};
  s->shaping = (pass_shaping){.user = s, .given = given_moves, .refused = note_refused};
  if (!text) return IR_OK;
  s->size = strlen(text) + 1;
  s->copy = ir_alloc(mem, s->size);
  if (!s->copy) return ir_fail(error, IR_ERR_MEMORY, "out of memory reading a schedule");
  memcpy(s->copy, text, s->size);
  uint32_t number = 1;
  for (char *line = s->copy, *next; line && !error->status; line = next, number++) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    size_t length = strlen(line);
    if (length && line[length - 1] == '\r') line[length - 1] = '\0';
    read_line(s, line, number, error);
  }
  return error->status;
}

ir_status fe_schedule_load(const char *path, ir_text *out, ir_error *error) {
  if (fe_text_read(path, FE_SCHEDULE_MOST, out, error) != IR_OK) return error->status;
  const char *nul = out->len ? memchr(out->data, '\0', out->len) : NULL;
  uint32_t line = 1;
  for (const char *c = out->data; nul && c < nul; c++) line += *c == '\n';
  if (nul)
    ir_fail(error, IR_ERR_INVALID, "schedule:%u: a schedule is text, found a NUL byte in '%.400s'", line,
            fe_text_name(path));
  return error->status;
}

/* The line of the last nest of the kernel whose moves were used: loops are shaped nest by nest. NULL: no line
 * was. */
static const fe_schedule_line *last_given(const fe_schedule *s, uint32_t kernel) {
  const fe_schedule_line *last = NULL;
  for (size_t i = 0; i < s->count; i++)
    if (s->lines[i].kernel == kernel && s->lines[i].used && (!last || s->lines[i].nest > last->nest))
      last = &s->lines[i];
  return last;
}

static void put_other_lines(const fe_schedule *s, const fe_schedule_line *last, ir_text *out) {
  const char *between = " with line ";
  for (size_t i = 0; i < s->count; i++) {
    if (s->lines[i].kernel != last->kernel || !s->lines[i].used || &s->lines[i] == last) continue;
    ir_textf(out, "%s%u", between, s->lines[i].line);
    between = ", ";
  }
}

void fe_schedule_refused(const fe_schedule *s, uint32_t kernel, ir_error *error) {
  const fe_schedule_line *last = last_given(s, kernel);
  ir_error given = *error;
  ir_text text;
  if (!last || ir_gives_up(given.status)) return;
  ir_text_init(&text, s->mem);
  ir_textf(&text, "schedule:%u: ", last->line);
  if (given.status != IR_ERR_INVALID) { /* the message does not name kernel and nest */
    ir_textf(&text, "kernel %u nest %u: `%.300s`", kernel, last->nest, last->moves);
    put_other_lines(s, last, &text);
    ir_text_str(&text, ": no such loops can be made: ");
  }
  ir_error_clear(error);
  if (text.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory reading a schedule");
  else ir_fail(error, IR_ERR_INVALID, "%s%s", ir_text_get(&text), given.text);
  ir_text_free(&text);
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
