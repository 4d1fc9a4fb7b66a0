/* Results as a picture (SVG): a row for each workload, with its share of the limit, and how much faster it is
 * than the best peer, by the logarithm. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "frontend/cli/bench/bench.h"

enum {
  TOP = 64,
  ROW = 20,
  BAR = 14,
  LABELS = 90,
  SHARES = 360,                           /* where 100 % is, counted from the labels */
  MIDDLE = LABELS + SHARES + 60 + 2 * 90, /* where a peer is as fast */
  DOUBLING = 45,                          /* width of a factor of two */
  WIDTH = MIDDLE + 4 * DOUBLING + 110,
};
#define MOST_DOUBLINGS 4.0

static void put_text(FILE *to, double x, double y, const char *anchor, const char *text) {
  fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  for (; *text; text++) {
    if (*text == '<') fputs("&lt;", to);
    else if (*text == '&') fputs("&amp;", to);
    else putc(*text, to);
  }
  fputs("</text>\n", to);
}

static void put_bar(FILE *to, double from, double until, double y, const char *kind) {
  fprintf(to, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", kind,
          fmin(from, until), y, fabs(until - from), BAR);
}

static void put_line(FILE *to, double x, double until) {
  fprintf(to, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, TOP - 6, x, until);
}

static void put_axes(FILE *to, double bottom, bool peers) {
  char label[32];
  for (int percent = 0; percent <= 100; percent += 25) {
    double x = LABELS + SHARES * percent / 100.0;
    put_line(to, x, bottom);
    snprintf(label, sizeof label, "%d%%", percent);
    put_text(to, x, TOP - 12, "middle", label);
  }
  put_text(to, LABELS, TOP - 32, "start", "share of the machine's limit");
  for (int k = -(int)MOST_DOUBLINGS; k <= (int)MOST_DOUBLINGS && peers; k++) {
    put_line(to, MIDDLE + k * DOUBLING, bottom);
    snprintf(label, sizeof label, k < 0 ? "1/%d" : "%d", 1 << (k < 0 ? -k : k));
    put_text(to, MIDDLE + k * DOUBLING, TOP - 12, "middle", label);
  }
  if (peers) put_text(to, MIDDLE - 4 * DOUBLING, TOP - 32, "start", "times as fast as the best peer");
}

static void put_row(FILE *to, const bench_plan *plan, const bench_result *r, double y) {
  char label[64];
  double share = r->limit_ms / r->ms, baseline = y + BAR - 3;
  put_text(to, LABELS - 8, baseline, "end", r->workload->id);
  put_bar(to, LABELS, LABELS + SHARES * fmin(share, 1.1), y, bench_passes(r) ? "share" : "wrong");
  snprintf(label, sizeof label, "%.0f%%", 100 * share);
  put_text(to, LABELS + SHARES * fmin(share, 1.1) + 4, baseline, "start", label);
  if (r->best_peer < 0) return;
  double ratio = r->peer_ms[r->best_peer] / r->ms;
  double doublings = fmin(fmax(log2(ratio), -MOST_DOUBLINGS), MOST_DOUBLINGS);
  put_bar(to, MIDDLE, MIDDLE + doublings * DOUBLING, y, ratio < 1 ? "behind" : "ahead");
  snprintf(label, sizeof label, "%.2f %.12s", ratio, plan->peers[r->best_peer].name);
  put_text(to, MIDDLE + fmax(doublings, 0) * DOUBLING + 4, baseline, "start", label);
}

ir_status bench_picture(const bench_plan *plan, const bench_history *h, const bench_result *list,
                        size_t count, const char *path, ir_error *error) {
  FILE *to = fopen(path, "we");
  char title[400];
  if (!to) return ir_fail(error, IR_ERR_IO, "%.800s: %s", path, strerror(errno));
  int height = TOP + (int)count * ROW + 16, width = plan->peer_count ? WIDTH : LABELS + SHARES + 100;
  fprintf(to,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
          "font-size=\"12\">\n<style>.share{fill:#4477aa}.ahead{fill:#228833}.behind{fill:#ee6677}"
          ".wrong{fill:#aa3377}line{stroke:#ccc}</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
          width, height, width, height);
  snprintf(title, sizeof title, "viewfold bench: %s; %d thread%s", h->machine, plan->threads,
           plan->threads == 1 ? "" : "s");
  put_text(to, LABELS, 16, "start", title);
  put_axes(to, height - 12, plan->peer_count > 0);
  for (size_t i = 0; i < count; i++) put_row(to, plan, &list[i], TOP + (double)i * ROW);
  fputs("</svg>\n", to);
  bool good = !ferror(to);
  if (fclose(to) != 0 || !good) return ir_fail(error, IR_ERR_IO, "%.800s: %s", path, strerror(errno));
  return IR_OK;
}
