#include "frontend/machine/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kind[] = "machine";

/* the text */

/* a row for each stream, for multiply-adds, for cycles, and for lines at random places; the last two may be
 * missing */
enum { STREAMS = FE_STREAMS, RATE = FE_STREAMS, CLOCK, LINES, ROWS };
static const unsigned optional = 1u << CLOCK | 1u << LINES;
static const char *const names[ROWS] = {
    [FE_STREAM_READ] = "read", [FE_STREAM_COPY] = "copy", [FE_STREAM_FILL] = "fill",
    [RATE] = "gflops",         [CLOCK] = "ghz",           [LINES] = "lines"};

static double *values_of(fe_roofline *l, int row) {
  return row == RATE ? &l->gflops : row == CLOCK ? &l->ghz : row == LINES ? l->lines : l->gbs[row];
}
static int count_of(int row) { return row < STREAMS || row == LINES ? FE_FOOTPRINTS : 1; }

double fe_two_digits(double value) {
  if (!(value > 0) || isinf(value)) return 0;
  double power = floor(log10(value)) - 1, unit = pow(10, fabs(power)); /* exact below 1e22: so is 2e-05 */
  return power < 0 ? round(value * unit) / unit : round(value / unit) * unit;
}

static void put_limits(const fe_roofline *limits, const char *suffix, ir_text *out) {
  fe_roofline l = *limits;
  for (int row = 0; row < ROWS; row++) {
    if (optional >> row & 1 && !(*values_of(&l, row) > 0)) continue;
    ir_textf(out, " %s%s=", names[row], suffix);
    for (int i = 0; i < count_of(row); i++)
      ir_textf(out, "%s%g", i ? "," : "", fe_two_digits(values_of(&l, row)[i]));
  }
}

static void put_machine(const fe_machine *m, ir_text *out) {
  ir_textf(out, "threads=%d", m->threads);
  put_limits(&m->one, ".1", out);
  put_limits(&m->all, "", out);
}

/* Read `count` numbers separated by commas, or one number that stands for all. */
static bool read_numbers(const char *text, size_t length, double *out, int count) {
  const char *end = text + length;
  for (int i = 0; i < count; i++) {
    char *after;
    if (text == end || !((*text >= '0' && *text <= '9') || *text == '.')) return false;
    out[i] = strtod(text, &after);
    if (after > end || !(out[i] > 0)) return false;
    if (after == end && i == 0) {
      for (int k = 1; k < count; k++) out[k] = out[0];
      return true;
    }
    text = after + (after < end);
    if ((after < end) != (i + 1 < count) || (after < end && *after != ',')) return false;
  }
  return true;
}

/* The row of `name` or `name.1` (*one); ROWS: threads; -1: no such name. */
static int row_of(const char *name, size_t length, bool *one) {
  *one = length > 2 && memcmp(name + length - 2, ".1", 2) == 0;
  if (*one) length -= 2;
  for (int row = 0; row < ROWS; row++)
    if (strlen(names[row]) == length && memcmp(names[row], name, length) == 0) return row;
  return length == 7 && !*one && memcmp(name, "threads", 7) == 0 ? ROWS : -1;
}

static bool set_one(fe_machine *m, const char *at, size_t length, unsigned *named) {
  const char *equals = memchr(at, '=', length);
  bool one;
  int row = equals ? row_of(at, (size_t)(equals - at), &one) : -1;
  double numbers[FE_FOOTPRINTS];
  if (row < 0) return false;
  size_t left = length - (size_t)(equals + 1 - at);
  if (!read_numbers(equals + 1, left, numbers, row == ROWS ? 1 : count_of(row))) return false;
  *named |= 1u << row;
  if (row == ROWS) {
    m->threads = (int)fmin(numbers[0], 1 << 20);
    return m->threads > 0;
  }
  size_t bytes = (size_t)count_of(row) * sizeof *numbers;
  if (!one) memcpy(values_of(&m->all, row), numbers, bytes);
  memcpy(values_of(&m->one, row), numbers, bytes);
  return true;
}

/* Settings as text replace the values that they name. A name without `.1` sets the values of one thread
 * and of all; names with `.1` are applied after that. IR_ERR_INVALID quotes a malformed setting. *all: every
 * name but `ghz` and `lines` was set, with or without `.1`. */
static ir_status set_machine(fe_machine *m, const char *settings, bool *all, ir_error *error) {
  unsigned named = 0;
  for (int pass = 0; pass < 2; pass++) /* names with .1 after the others, which set one thread too */
    for (const char *at = settings; *(at += strspn(at, " \t\n")); at += strcspn(at, " \t\n")) {
      size_t length = strcspn(at, " \t\n"), name = strcspn(at, "= \t\n");
      bool one = name > 2 && name <= length && memcmp(at + name - 2, ".1", 2) == 0;
      if (one == (pass == 1) && !set_one(m, at, length, &named))
        return ir_fail(
            error, IR_ERR_INVALID,
            "machine: '%.*s' is not a setting; use name=number with a name among threads, read, copy, "
            "fill, gflops, ghz, lines, and read.1 to lines.1 for one thread; read, copy, fill and lines may "
            "have %d numbers with commas between them",
            (int)(length < 80 ? length : 80), at, FE_FOOTPRINTS);
    }
  *all = (named | optional) == (1u << (ROWS + 1)) - 1;
  return IR_OK;
}

/* kept on disk */

/* What the numbers depend on: the processor, its features, the number of threads. */
static bool put_key(rt_context *c, ir_text *key) {
  return rt_devices_text(c, key, NULL) == IR_OK && !key->failed;
}

static bool read_kept(rt_context *c, fe_machine *out) {
  rt_disk *disk = rt_context_disk(c, NULL);
  rt_found found;
  ir_text key, text;
  bool good = false;
  ir_text_init(&key, &ir_mem_libc);
  ir_text_init(&text, &ir_mem_libc);
  if (disk && put_key(c, &key) && rt_disk_get(disk, kind, key.data, key.len, &found)) {
    ir_text_add(&text, (const char *)found.payload, found.size);
    rt_disk_release(&found);
    ir_error ignored = {0};
    good = !text.failed && set_machine(out, ir_text_get(&text), &good, &ignored) == IR_OK && good &&
           out->one.ghz > 0 && out->one.lines[0] > 0;
  }
  ir_text_free(&key);
  ir_text_free(&text);
  return good;
}

static void keep_machine(rt_context *c, const fe_machine *m) {
  rt_disk *disk = rt_context_disk(c, NULL);
  ir_text key, text;
  ir_text_init(&key, &ir_mem_libc);
  ir_text_init(&text, &ir_mem_libc);
  put_machine(m, &text);
  if (disk && put_key(c, &key) && !text.failed)
    rt_disk_put(disk, kind, key.data, key.len, text.data, text.len);
  ir_text_free(&key);
  ir_text_free(&text);
}

ir_status fe_machine_keep(rt_context *c, fe_machine *m, ir_error *error) {
  ir_text text;
  bool all;
  fe_roofline_raise(&m->all, &m->one); /* all threads do what one does: less was measured beside other work */
  ir_text_init(&text, &ir_mem_libc);   /* rounded, as a later process will read them */
  put_machine(m, &text);
  if (!text.failed && set_machine(m, ir_text_get(&text), &all, error) == IR_OK) keep_machine(c, m);
  ir_text_free(&text);
  return error->status;
}

ir_status fe_machine_set(fe_machine *m, bool *all, ir_error *error) {
  const char *settings = getenv("VIEWFOLD_MACHINE");
  *all = false;
  return settings ? set_machine(m, settings, all, error) : IR_OK;
}

ir_status fe_machine_find(rt_context *c, fe_machine *out, bool *known, ir_error *error) {
  bool all = false;
  *out = (fe_machine){.threads = rt_context_threads(c)};
  *known = false;
  if (fe_machine_set(out, &all, error) != IR_OK) return error->status;
  const ir_target *target = rt_context_target(c, error);
  if (!target) return error->status;
  bool here = target->group_items == 0; /* only the processor can be measured */
  *known = all || (here && read_kept(c, out));
  return all ? IR_OK : fe_machine_set(out, &all, error);
}

const fe_roofline *fe_machine_limits(const fe_machine *m, int threads) {
  return threads > 1 ? &m->all : &m->one;
}
