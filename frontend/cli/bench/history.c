/* Results of earlier runs: a file with one JSON object a line, with limits of the machine or with the times
 * of a workload. Other lines, and those of another machine or number of threads, are skipped. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/cli/bench/bench.h"
#include "frontend/files/text_file.h"

static bool is_string(const json_t *line, const char *key, const char *wanted) {
  const char *found = json_string_value(json_object_get(line, key));
  return found && strcmp(found, wanted) == 0;
}

static bool is_ours(const bench_history *h, const json_t *line) {
  return is_string(line, "machine", h->machine) &&
         json_integer_value(json_object_get(line, "threads")) == h->threads;
}

static bool read_limits(const json_t *from, fe_roofline *out) {
  static const char *const names[FE_STREAMS] = {"read_gbs", "copy_gbs", "fill_gbs"};
  out->gflops = json_number_value(json_object_get(from, "gflops"));
  bool good = out->gflops > 0;
  for (int s = 0; s < FE_STREAMS; s++)
    for (size_t f = 0; f < FE_FOOTPRINTS; f++) {
      out->gbs[s][f] = json_number_value(json_array_get(json_object_get(from, names[s]), f));
      good &= out->gbs[s][f] > 0;
    }
  return good;
}

static void keep_copy(char *to, size_t room, const json_t *line, const char *key) {
  const char *text = json_string_value(json_object_get(line, key));
  snprintf(to, room, "%s", text ? text : "");
}

static void read_line(bench_history *h, const json_t *line) {
  fe_roofline limits;
  const char *id = json_string_value(json_object_get(line, "workload"));
  if (!is_ours(h, line)) return;
  if (read_limits(json_object_get(line, "limits"), &limits)) fe_roofline_raise(&h->limits, &limits);
  for (size_t i = 0; id && i < bench_workload_count(); i++) {
    bench_entry *best = &h->best[i];
    double ms = json_number_value(json_object_get(line, "ms"));
    if (strcmp(bench_workload_at(i)->id, id) != 0 || ms <= 0 || (best->ms > 0 && best->ms <= ms)) continue;
    best->ms = ms;
    best->min_ms = json_number_value(json_object_get(line, "min_ms"));
    keep_copy(best->date, sizeof best->date, line, "date");
    keep_copy(best->commit, sizeof best->commit, line, "commit");
  }
}

static void describe_machine(char *out, size_t room) {
  char line[400];
  FILE *file = fopen("/proc/cpuinfo", "re");
  int processors = 0;
  char name[200] = "unknown processor";
  while (file && fgets(line, sizeof line, file)) {
    processors += strncmp(line, "processor", 9) == 0;
    const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
    if (value) snprintf(name, sizeof name, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
  }
  if (file) fclose(file);
  snprintf(out, room, "%s, %d processors", name, processors);
}

static ir_status read_lines(bench_history *h, ir_error *error) {
  enum { MOST = 1 << 20 }; /* a line has some 1,000 bytes */
  fe_line kind = FE_LINE_READ;
  size_t length = 0;
  ir_text line;
  ir_text_init(&line, &ir_mem_libc);
  while (kind != FE_LINE_END && kind != FE_LINE_LONG && kind != FE_LINE_ENDLESS && !line.failed) {
    kind = fe_line_read(h->file, MOST, &line, &length);
    json_t *parsed = kind == FE_LINE_READ ? json_loads(ir_text_get(&line), 0, NULL) : NULL;
    if (parsed) read_line(h, parsed);
    json_decref(parsed);
  }
  if (line.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory for the history");
  else if (ferror(h->file)) ir_fail(error, IR_ERR_IO, "%.800s: %s", h->path, strerror(errno));
  else if (kind != FE_LINE_END)
    ir_fail(error, IR_ERR_INVALID,
            "%.800s: a line has more than %d bytes; a history has the lines that --history has written",
            h->path, MOST);
  ir_text_free(&line);
  return error->status;
}

ir_status bench_history_open(bench_history *h, const char *path, int threads, ir_error *error) {
  *h = (bench_history){.path = path, .threads = threads};
  h->best = calloc(bench_workload_count(), sizeof *h->best);
  if (!h->best) return ir_fail(error, IR_ERR_MEMORY, "out of memory for the history");
  describe_machine(h->machine, sizeof h->machine);
  if (!path) return IR_OK;
  h->file = fopen(path, "a+e");
  if (!h->file) return ir_fail(error, IR_ERR_IO, "%.800s: %s", path, strerror(errno));
  rewind(h->file);
  read_lines(h, error);
  return error->status;
}

/* A new line, with the members that every line has. */
static json_t *new_line(const bench_history *h, const char *commit) {
  char date[32];
  time_t now = time(NULL);
  struct tm parts;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  return json_pack("{s:s,s:s,s:s,s:i}", "date", date, "commit", commit, "machine", h->machine, "threads",
                   h->threads);
}

static ir_status append_line(const bench_history *h, json_t *line, ir_error *error) {
  char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
  bool good = text && fprintf(h->file, "%s\n", text) > 0 && fflush(h->file) == 0;
  if (!good) ir_fail(error, IR_ERR_IO, "%.800s: %s", h->path, text ? strerror(errno) : "out of memory");
  free(text);
  json_decref(line);
  return error->status;
}

static json_t *numbers(const double *list) {
  json_t *made = json_array();
  for (int i = 0; i < FE_FOOTPRINTS; i++) json_array_append_new(made, json_real(list[i]));
  return made;
}

ir_status bench_history_put_limits(bench_history *h, const char *commit, ir_error *error) {
  if (!h->file) return IR_OK;
  json_t *line = new_line(h, commit);
  json_object_set_new(line, "limits",
                      json_pack("{s:o,s:o,s:o,s:f}", "read_gbs", numbers(h->limits.gbs[FE_STREAM_READ]),
                                "copy_gbs", numbers(h->limits.gbs[FE_STREAM_COPY]), "fill_gbs",
                                numbers(h->limits.gbs[FE_STREAM_FILL]), "gflops", h->limits.gflops));
  return append_line(h, line, error);
}

ir_status bench_history_put(bench_history *h, const bench_result *r, const char *commit, ir_error *error) {
  if (!h->file) return IR_OK;
  json_t *line = new_line(h, commit);
  json_object_set_new(line, "workload", json_string(r->workload->id));
  json_object_set_new(line, "ms", json_real(r->ms));
  json_object_set_new(line, "min_ms", json_real(r->min_ms));
  return append_line(h, line, error);
}

bool bench_history_slower(const bench_history *h, const bench_result *r) {
  const bench_entry *best = &h->best[r->workload - bench_workload_at(0)];
  return best->ms > 0 && r->ms > best->ms * BENCH_SLOWER && r->min_ms > best->min_ms * BENCH_SLOWER;
}

void bench_history_close(bench_history *h) {
  if (h->file) fclose(h->file);
  free(h->best);
  *h = (bench_history){0};
}
