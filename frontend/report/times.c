#include "frontend/report/times.h"

#include <string.h>

static bool same_symbol(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static fe_time *find_time(fe_times *t, const char *phase, int step, const char *symbol) {
  for (size_t i = 0; i < t->count; i++)
    if (!strcmp(t->list[i].phase, phase) && t->list[i].step == step && same_symbol(t->list[i].symbol, symbol))
      return &t->list[i];
  return NULL;
}

static fe_time *add_time(fe_times *t, const char *phase, int step, const char *symbol) {
  char *copy = symbol ? ir_alloc(t->mem, strlen(symbol) + 1) : NULL;
  if ((symbol && !copy) || !IR_RESERVE(t->mem, t->list, t->cap, t->count + 1)) {
    ir_free(t->mem, copy, copy ? strlen(symbol) + 1 : 0);
    return NULL;
  }
  if (copy) memcpy(copy, symbol, strlen(symbol) + 1);
  t->list[t->count] = (fe_time){phase, step, copy, 0};
  return &t->list[t->count++];
}

static void note_time(void *user, const char *phase, int step, const char *symbol, int64_t ns) {
  fe_times *t = user;
  pthread_mutex_lock(&t->lock);
  fe_time *row = find_time(t, phase, symbol ? -1 : step, symbol);
  if (!row) row = add_time(t, phase, symbol ? -1 : step, symbol);
  if (row) row->ns += ns;
  pthread_mutex_unlock(&t->lock);
}

bool fe_times_init(fe_times *t, const ir_mem *mem) {
  *t = (fe_times){.timer = {t, note_time}, .mem = mem};
  return pthread_mutex_init(&t->lock, NULL) == 0;
}

void fe_times_free(fe_times *t) {
  for (size_t i = 0; i < t->count; i++)
    if (t->list[i].symbol) ir_free(t->mem, t->list[i].symbol, strlen(t->list[i].symbol) + 1);
  ir_free(t->mem, t->list, t->cap * sizeof *t->list);
  pthread_mutex_destroy(&t->lock);
}

/* A table for each kind of row; its columns are the phases noted for such rows, in the order of the first
 * row. */
typedef enum kind { OF_GRAPH, OF_STEPS, OF_KERNELS, KINDS } kind;
static const char *const titles[KINDS] = {"graph", "step", "kernel"};

static kind kind_of(const fe_time *row) {
  return row->symbol ? OF_KERNELS : row->step >= 0 ? OF_STEPS : OF_GRAPH;
}

static bool same_row(const fe_time *a, const fe_time *b) {
  return a->step == b->step && same_symbol(a->symbol, b->symbol);
}

static bool is_first(const fe_times *t, size_t at, kind k, bool of_part) {
  if (kind_of(&t->list[at]) != k) return false;
  for (size_t i = 0; i < at; i++) {
    const fe_time *other = &t->list[i];
    if (kind_of(other) != k) continue;
    if (of_part ? !strcmp(other->phase, t->list[at].phase) : same_row(other, &t->list[at])) return false;
  }
  return true;
}

static void put_name(const fe_time *row, kind k, ir_text *out) {
  if (k == OF_KERNELS) ir_textf(out, "%-40s", row->symbol);
  else if (k == OF_STEPS) ir_textf(out, "%-40d", row->step);
  else ir_textf(out, "%-40s", "");
}

/* One row of a table; `row` NULL: the sums. */
static void put_row(const fe_times *t, const fe_time *row, kind k, ir_text *out) {
  int64_t all = 0;
  if (row) put_name(row, k, out);
  else ir_textf(out, "%-40s", "sum");
  for (size_t p = 0; p < t->count; p++) {
    if (!is_first(t, p, k, true)) continue;
    int64_t sum = 0;
    for (size_t i = 0; i < t->count; i++) {
      const fe_time *e = &t->list[i];
      if (kind_of(e) == k && !strcmp(e->phase, t->list[p].phase) && (!row || same_row(e, row))) sum += e->ns;
    }
    all += sum;
    ir_textf(out, "%13.1f", (double)sum * 1e-3);
  }
  ir_textf(out, "%13.1f\n", (double)all * 1e-3);
}

void fe_times_print(const fe_times *t, ir_text *out) {
  for (int k = 0; k < KINDS; k++) {
    size_t rows = 0;
    for (size_t i = 0; i < t->count; i++) rows += is_first(t, i, (kind)k, false);
    if (!rows) continue;
    ir_textf(out, "%-40s", titles[k]);
    for (size_t i = 0; i < t->count; i++)
      if (is_first(t, i, (kind)k, true)) ir_textf(out, "%13s", t->list[i].phase);
    ir_textf(out, "%13s\n", "us");
    for (size_t i = 0; i < t->count; i++)
      if (is_first(t, i, (kind)k, false)) put_row(t, &t->list[i], (kind)k, out);
    if (rows > 1) put_row(t, NULL, (kind)k, out);
  }
}
