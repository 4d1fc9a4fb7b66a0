/* Measures and checks one workload; viewfold and its peers are measured in turns. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/cli/bench/bench.h"

enum { MOST_TIMES = 4000, MOST_REPEATS = 500, SETTLE_US = 30000 };
#define TURN_MS 40.0

typedef struct samples {
  double *list; /* MOST_TIMES, or NULL: not measured */
  size_t count;
  int repeats; /* timed runs in a turn */
} samples;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(samples *s) {
  if (s->count) qsort(s->list, s->count, sizeof *s->list, ascending);
  return s->count ? s->list[s->count / 2] : 0;
}

static void add_sample(samples *s, double ms) {
  if (s->count < MOST_TIMES) s->list[s->count++] = ms;
}

static int repeats_for(double ms) { return (int)fmin(fmax(TURN_MS / ms, 1), MOST_REPEATS); }

static bool begin_samples(samples *s, double ms) {
  *s = (samples){.list = malloc(MOST_TIMES * sizeof(double)), .repeats = repeats_for(ms)};
  return s->list != NULL;
}

/* One turn of viewfold: a warm-up run that is not timed, then the timed ones. */
static ir_status measure_ours(const bench_case *c, samples *s, ir_error *error) {
  for (int i = -1; i < s->repeats; i++) {
    int64_t before = bench_now();
    if (bench_case_run(c, error) != IR_OK) return error->status;
    if (i >= 0) add_sample(s, (double)(bench_now() - before) * 1e-6);
  }
  return IR_OK;
}

/* peers */

static bool write_file(const char *path, const void *data, size_t bytes) {
  FILE *to = fopen(path, "wbe");
  bool good = to && fwrite(data, 1, bytes, to) == bytes;
  return (!to || fclose(to) == 0) && good;
}

static const char *numpy_name(ir_dtype dtype) { return dtype == IR_F32 ? "float32" : "int32"; }

/* Make a folder in $TMPDIR; without one, in memory where /dev/shm is writable, else in /tmp. */
static bool make_folder(char *out, size_t size) {
  const char *chosen = getenv("TMPDIR");
  if (!chosen || !*chosen) chosen = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  return snprintf(out, size, "%s/viewfold-bench-XXXXXX", chosen) < (int)size && mkdtemp(out);
}

static bool write_inputs(const char *folder, const bench_inputs *in) {
  char path[PATH_MAX];
  ir_text meta;
  bool good = true;
  ir_text_init(&meta, &ir_mem_libc);
  for (size_t i = 0; i < in->count && good; i++) {
    const fe_array *a = &in->list[i].a;
    snprintf(path, sizeof path, "%s/in%zu.bin", folder, i);
    good = write_file(path, a->data, a->bytes);
    ir_textf(&meta, "%s{\"dtype\":\"%s\",\"shape\":[", i ? "," : "[", numpy_name(a->dtype));
    for (int k = 0; k < a->rank; k++) ir_textf(&meta, k ? ",%lld" : "%lld", (long long)a->shape[k]);
    ir_text_str(&meta, "]}");
  }
  ir_text_str(&meta, "]\n");
  snprintf(path, sizeof path, "%s/meta.json", folder);
  good = good && !meta.failed && write_file(path, ir_text_get(&meta), meta.len);
  ir_text_free(&meta);
  return good;
}

static void remove_folder(const char *folder, size_t inputs) {
  static const char *const others[] = {"meta.json", "out.bin"};
  char path[PATH_MAX];
  for (size_t i = 0; i < inputs; i++) {
    snprintf(path, sizeof path, "%s/in%zu.bin", folder, i);
    unlink(path);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, others[i]);
    unlink(path);
  }
  rmdir(folder);
}

static bool dumped_right(const char *folder, const bench_workload *w, const bench_case *c, int threads) {
  char path[PATH_MAX];
  size_t count = 0;
  for (size_t i = 0; i < c->out.count; i++) count += c->out.list[i].a.bytes / sizeof(float);
  float *results = malloc(count * sizeof *results);
  snprintf(path, sizeof path, "%s/out.bin", folder);
  FILE *from = fopen(path, "rbe");
  bool good = from && results && fread(results, sizeof *results, count, from) == count &&
              bench_error(w, &c->in, results, count, threads) <= w->tolerance;
  if (from) fclose(from);
  free(results);
  return good;
}

static bool starts_with(const char *answer, const char *word) {
  return answer && strncmp(answer, word, strlen(word)) == 0;
}

/* Report the first workload that a peer leaves out; later ones usually have the same reason. */
static void tell_skip(bench_peer *peer, const bench_workload *w, const char *answer) {
  if (!peer->skipped)
    fprintf(stderr, "viewfold bench: %s leaves out %s%s%s\n", peer->name, w->id,
            starts_with(answer, "skip ") ? ": " : "", starts_with(answer, "skip ") ? answer + 5 : "");
  peer->skipped = true;
}

static void set_up_peer(const char *folder, bench_peer *peer, const bench_workload *w, const bench_case *c,
                        int threads, samples *s) {
  const char *answer = bench_peer_ask(peer, "setup %s %s\n", w->id, folder);
  if (!starts_with(answer, "ok")) {
    tell_skip(peer, w, answer);
    return;
  }
  if (!starts_with(bench_peer_ask(peer, "dump %s/out.bin\n", folder), "ok")) return;
  if (!dumped_right(folder, w, c, threads)) {
    fprintf(stderr, "viewfold bench: %s: the results of %s are wrong, and not measured\n", w->id, peer->name);
    return;
  }
  answer = bench_peer_ask(peer, "run 2\n");
  const char *last = answer ? strrchr(answer, ' ') : NULL;
  if (starts_with(answer, "ms ") && strtod(last, NULL) > 0) begin_samples(s, strtod(last, NULL));
}

/* Peers read the files during setup; they are removed before anything is measured. */
static ir_status set_up_peers(bench_plan *plan, const bench_workload *w, const bench_case *c, samples *theirs,
                              ir_error *error) {
  char folder[PATH_MAX - 64]; /* leaves room for the names of files */
  if (!plan->peer_count) return IR_OK;
  if (!make_folder(folder, sizeof folder))
    return ir_fail(error, IR_ERR_IO, "%.800s: %s", folder, strerror(errno));
  if (!write_inputs(folder, &c->in))
    ir_fail(error, IR_ERR_IO, "%.800s: inputs of %s could not be written: %s", folder, w->id,
            strerror(errno));
  for (int p = 0; p < plan->peer_count && !error->status; p++)
    set_up_peer(folder, &plan->peers[p], w, c, plan->threads, &theirs[p]);
  remove_folder(folder, c->in.count);
  return error->status;
}

static void measure_peer(bench_peer *peer, samples *s) {
  const char *answer = s->list ? bench_peer_ask(peer, "run %d\n", s->repeats + 1) : NULL;
  if (!starts_with(answer, "ms ")) return;
  char *at;
  strtod(answer + 2, &at); /* the warm-up run */
  for (char *next; at; at = next) {
    double ms = strtod(at, &next);
    if (next == at) return;
    add_sample(s, ms);
  }
}

/* the workload */

static ir_status run_rounds(bench_plan *plan, const bench_case *c, samples *ours, samples *theirs,
                            ir_error *error) {
  for (int r = 0; r < plan->rounds && !error->status; r++) {
    measure_ours(c, ours, error);
    for (int p = 0; p < plan->peer_count; p++) {
      if (plan->threads > 1) usleep(SETTLE_US); /* until idle threads stop spinning */
      measure_peer(&plan->peers[p], &theirs[p]);
    }
    if (plan->threads > 1 && plan->peer_count) usleep(SETTLE_US);
  }
  return error->status;
}

static ir_status measure_case(bench_plan *plan, const bench_workload *w, const bench_case *c,
                              bench_result *out, ir_error *error) {
  samples ours, theirs[BENCH_PEERS] = {{0}};
  int64_t before = bench_now();
  if (bench_case_run(c, error) != IR_OK) return error->status;
  if (!begin_samples(&ours, (double)(bench_now() - before) * 1e-6))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for the times of %s", w->id);
  if (set_up_peers(plan, w, c, theirs, error) == IR_OK) run_rounds(plan, c, &ours, theirs, error);
  out->ms = median(&ours);
  out->min_ms = ours.count ? ours.list[0] : 0;
  out->best_peer = -1;
  for (int p = 0; p < plan->peer_count; p++) {
    double ms = out->peer_ms[p] = median(&theirs[p]);
    if (ms > 0 && (out->best_peer < 0 || ms < out->peer_ms[out->best_peer])) out->best_peer = p;
    bench_peer_ask(&plan->peers[p], "drop\n");
    free(theirs[p].list);
  }
  free(ours.list);
  return error->status;
}

/* Run once more and return the results, one after the other; NULL without memory, or after failing. Elements
 * that the run does not write are NaN. */
static float *results_of(const bench_case *c, size_t *count, ir_error *error) {
  size_t bytes = 0, at = 0;
  for (size_t i = 0; i < c->out.count; i++) {
    memset(c->out.list[i].a.data, 0xff, c->out.list[i].a.bytes);
    bytes += c->out.list[i].a.bytes;
  }
  char *all = bench_case_run(c, error) == IR_OK ? malloc(bytes + 1) : NULL;
  for (size_t i = 0; all && i < c->out.count; i++) {
    memcpy(all + at, c->out.list[i].a.data, c->out.list[i].a.bytes);
    at += c->out.list[i].a.bytes;
  }
  *count = bytes / sizeof(float);
  return (float *)(void *)all;
}

ir_status bench_measure(bench_plan *plan, const bench_workload *w, bench_result *out, ir_error *error) {
  bench_case c;
  bench_inputs inputs;
  *out = (bench_result){.workload = w, .best_peer = -1};
  if (bench_case_compile(&c, plan->context, w->id, w->text, strlen(w->text), error) == IR_OK &&
      bench_seed_inputs(w, c.program, &inputs, error) == IR_OK &&
      bench_case_bind(&c, &inputs, true, error) == IR_OK && measure_case(plan, w, &c, out, error) == IR_OK) {
    size_t count;
    float *results = results_of(&c, &count, error);
    out->first_ms = (double)c.first_ns * 1e-6;
    out->limit_ms = fe_roofline_ms(&plan->limits, w->bytes_read, w->bytes_written, w->flops);
    out->error = results ? bench_error(w, &c.in, results, count, plan->threads) : INFINITY;
    free(results);
  }
  bench_case_close(&c);
  return error->status;
}

bool bench_passes(const bench_result *r) { return r->error <= r->workload->tolerance; }
