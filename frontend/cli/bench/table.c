/* Results as text: a table, or a line of JSON each. */
#include <math.h>

#include "frontend/cli/bench/bench.h"

static double gbs(const bench_result *r) {
  return (r->workload->bytes_read + r->workload->bytes_written) / r->ms * 1e-6;
}
static double gflops(const bench_result *r) { return r->workload->flops / r->ms * 1e-6; }

/* Four significant digits, in a column of width `width`; a dash for 0. */
static void put_number(double value, int width) {
  int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 4;
  if (value > 0) printf(" %*.*f", width, digits, value);
  else printf(" %*s", width, "-");
}

void bench_table_head(const bench_plan *plan) {
  printf("%-10s %-36s %8s %8s %8s %8s %6s %8s", "workload", "what", "ms", "min", "GB/s", "GFLOP/s", "limit",
         "error");
  for (int p = 0; p < plan->peer_count; p++) printf(" %8.12s", plan->peers[p].name);
  if (plan->peer_count) printf(" %8s", "faster");
  putchar('\n');
}

void bench_table_row(const bench_plan *plan, const bench_result *r) {
  printf("%-10s %-36s", r->workload->id, r->workload->what);
  put_number(r->ms, 8);
  put_number(r->min_ms, 8);
  put_number(gbs(r), 8);
  put_number(gflops(r), 8);
  printf(" %5.0f%% %8.1e", 100 * r->limit_ms / r->ms, r->error);
  for (int p = 0; p < plan->peer_count; p++) put_number(r->peer_ms[p], 8);
  if (r->best_peer >= 0) printf(" %7.2fx", r->peer_ms[r->best_peer] / r->ms);
  if (!bench_passes(r)) printf("  WRONG: at most %.1e allowed", r->workload->tolerance);
  putchar('\n');
  fflush(stdout);
}

void bench_json_row(const bench_plan *plan, const bench_result *r) {
  printf("{\"workload\":\"%s\",\"ms\":%.6f,\"min_ms\":%.6f,\"gbs\":%.3f,\"gflops\":%.3f,\"error\":",
         r->workload->id, r->ms, r->min_ms, gbs(r), gflops(r));
  printf(isfinite(r->error) ? "%.3e" : "null", r->error);
  printf(",\"limit_ms\":%.6f,\"first_ms\":%.3f,\"threads\":%d", r->limit_ms, r->first_ms, plan->threads);
  for (int p = 0, any = 0; p < plan->peer_count; p++)
    if (r->peer_ms[p] > 0)
      printf("%s\"%s\":%.6f", any++ ? "," : ",\"peers\":{", plan->peers[p].name, r->peer_ms[p]);
  puts(r->best_peer >= 0 ? "}}" : "}");
  fflush(stdout);
}

/* exp of the mean of the logarithms of `value` where it is above 0; 0 where it never is. */
static double geometric_mean(const bench_result *list, size_t count, double (*value)(const bench_result *r)) {
  double sum = 0;
  int found = 0;
  for (size_t i = 0; i < count; i++) {
    double v = value(&list[i]);
    if (v > 0) sum += log(v), found++;
  }
  return found ? exp(sum / found) : 0;
}
static double share(const bench_result *r) { return r->ms > 0 ? r->limit_ms / r->ms : 0; }
static double faster(const bench_result *r) {
  return r->best_peer < 0 ? 0 : r->peer_ms[r->best_peer] / r->ms;
}

void bench_table_foot(const bench_plan *plan, const bench_history *h, const bench_result *list,
                      size_t count) {
  const fe_roofline *l = &plan->limits;
  printf("\n%s; %d thread%s: reads %.1f, copies %.1f, fills %.1f GB/s of memory; %.0f GFLOP/s\n", h->machine,
         plan->threads, plan->threads == 1 ? "" : "s", l->gbs[FE_STREAM_READ][FE_FOOTPRINTS - 1],
         l->gbs[FE_STREAM_COPY][FE_FOOTPRINTS - 1], l->gbs[FE_STREAM_FILL][FE_FOOTPRINTS - 1], l->gflops);
  printf("geometric mean: %.0f%% of the limit", 100 * geometric_mean(list, count, share));
  double mean = geometric_mean(list, count, faster);
  if (mean > 0) printf(", %.2f times as fast as the best peer", mean);
  putchar('\n');
}

void bench_report_slower(const bench_history *h, const bench_result *list, size_t count, FILE *to) {
  for (size_t i = 0; i < count; i++) {
    const bench_entry *best = &h->best[list[i].workload - bench_workload_at(0)];
    if (bench_history_slower(h, &list[i]))
      fprintf(to, "slower: %s takes %.3f ms; it took %.3f ms on %s%s%s\n", list[i].workload->id, list[i].ms,
              best->ms, best->date, *best->commit ? ", commit " : "", best->commit);
  }
}
