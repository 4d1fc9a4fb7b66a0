/* The table that leads: where the time of a run goes, and what would help. */
#include <stdlib.h>

#include "frontend/cli/explain/explain.h"

#define LITTLE 0.02 /* of all time: below what runs differ by, so that nothing done here is seen */

static int dearest(const void *a, const void *b) {
  const explain_row *x = a, *y = b;
  if (x->took_ms != y->took_ms) return x->took_ms > y->took_ms ? -1 : 1;
  return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static void put_ms(double ms, ir_text *out) {
  if (ms > 0) ir_textf(out, " %9.4g", ms);
  else ir_text_str(out, "         -");
}

void explain_run_table(const explain_run *r, ir_text *out) {
  double all = 0;
  for (size_t i = 0; i < r->row_count; i++) all += r->rows[i].took_ms;
  if (!r->row_count) return;
  if (r->row_count > 1) qsort(r->rows, r->row_count, sizeof *r->rows, dearest);
  ir_text_str(
      out,
      "kernel   took ms  share  expected     limit  bound by      what would help most; what it is for\n");
  for (size_t i = 0; i < r->row_count; i++) {
    const explain_row *row = &r->rows[i];
    double times = row->iterations > 0 ? row->iterations : 1;
    ir_textf(out, "%6zu", row->kernel);
    put_ms(row->took_ms, out);
    ir_textf(out, " %4.0f %%", all > 0 ? 100 * row->took_ms / all : 0);
    put_ms(row->predicted_ms * times, out);
    put_ms(row->limit_ms * times, out);
    bool little = row->took_ms > 0 && row->took_ms < LITTLE * all;
    ir_textf(out, "  %-12s  %s\n", row->bound, little ? "little: so small is its share" : row->advice);
    ir_textf(out, "%58s%s\n", "", row->brief);
  }
}
