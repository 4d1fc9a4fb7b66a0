/* A profile as a table, as JSON, and as a trace. Numbers of JSON are written without the locale. */
#include <stdlib.h>
#include <string.h>

#include "frontend/profile/profile.h"

void fe_put_json_string(const char *s, ir_text *out) {
  ir_text_str(out, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c < ' ' || c >= 127) ir_textf(out, "\\u%04x", c);
    else ir_textf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
  }
  ir_text_str(out, "\"");
}

/* the table */

/* A step and its median time, in ns. */
typedef struct ranked {
  const fe_profile_row *row;
  int64_t ns;
} ranked;

static int dearest_first(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  return (x->row > y->row) - (x->row < y->row);
}

#define CERTAINLY_MORE 1.05 /* of the time of a run: medians of steps need not add up to that of the run */

static double per_run(const fe_profile *p, double sum) { return p->times ? sum / (double)p->times : 0; }

static void put_row(const fe_profile *p, const ranked *at, ir_text *out) {
  const fe_profile_row *r = at->row;
  double ms = (double)at->ns * 1e-6, bytes = per_run(p, r->read + r->written);
  double operations = per_run(p, r->operations), run = (double)fe_profile_typical(p, p->count);
  double share = run > 0 ? 100.0 * (double)at->ns / run : 0;
  ir_textf(out, "%10.4f %5.1f%% %6.4g ", ms, share, per_run(p, (double)r->times));
  if (bytes > 0 && ms > 0)
    ir_textf(out, "%9.4g %7.4g %9.4g %8.4g ", bytes * 1e-6, bytes / ms * 1e-6, operations * 1e-6,
             operations / ms * 1e-6);
  else ir_textf(out, "%9s %7s %9s %8s ", "-", "-", "-", "-");
  if (r->limit_ms > 0 && ms > 0) ir_textf(out, "%5.0f%%  ", 100 * per_run(p, r->limit_ms) / ms);
  else ir_textf(out, "%6s  ", "-");
  if (r->kernel >= 0) ir_textf(out, "kernel %lld -> ", (long long)r->kernel);
  ir_textf(out, "%s%s%s\n", r->name, *r->computes ? ": " : "", r->computes);
}

static void put_table(const fe_profile *p, ranked *sorted, ir_text *out) {
  size_t ran = 0;
  int64_t sum = 0, run = fe_profile_typical(p, p->count);
  ir_textf(out, "graph @%s: %lld run%s of %.4f ms\n", rt_program_name(p->program), (long long)p->times,
           p->times == 1 ? "" : "s", (double)run * 1e-6);
  ir_textf(out, "%10s %6s %6s %9s %7s %9s %8s %6s\n", "ms", "share", "times", "MB", "GB/s", "Mop", "GFLOP/s",
           "limit");
  for (size_t i = 0; i < p->count; i++)
    if (p->rows[i].times) sorted[ran++] = (ranked){&p->rows[i], fe_profile_typical(p, i)};
  if (ran) qsort(sorted, ran, sizeof *sorted, dearest_first);
  for (size_t i = 0; i < ran; i++) put_row(p, &sorted[i], out), sum += sorted[i].ns;
  if ((double)sum > CERTAINLY_MORE * (double)run)
    ir_text_str(out, "Steps with others inside of them, such as scan, have the time of those as well.\n");
}

/* JSON */

static void put_whole(const char *key, double value, ir_text *out) {
  ir_textf(out, ",\"%s\":%lld", key, (long long)(value + 0.5));
}

static void put_object(const fe_profile *p, const fe_profile_row *r, const char *between, ir_text *out) {
  ir_text_str(out, between);
  if (r->kernel >= 0) ir_textf(out, "{\"kernel\":%lld,\"name\":", (long long)r->kernel);
  else ir_text_str(out, "{\"name\":");
  fe_put_json_string(r->name, out);
  if (*r->computes) {
    ir_text_str(out, ",\"computes\":");
    fe_put_json_string(r->computes, out);
  }
  put_whole("ns", (double)fe_profile_typical(p, (size_t)(r - p->rows)), out);
  put_whole("times", per_run(p, (double)r->times), out);
  if (r->read + r->written > 0) {
    put_whole("bytes_read", per_run(p, r->read), out);
    put_whole("bytes_written", per_run(p, r->written), out);
    put_whole("operations", per_run(p, r->operations), out);
    ir_textf(out, ",\"threads\":%d", r->each.threads);
  }
  if (r->limit_ms > 0) put_whole("limit_ns", per_run(p, r->limit_ms * 1e6), out);
  ir_text_str(out, "}");
}

static void put_list(const fe_profile *p, const char *key, bool kernels, ir_text *out) {
  const char *between = "\n";
  ir_textf(out, ",\n\"%s\":[", key);
  for (size_t i = 0; i < p->count; i++) {
    if ((p->rows[i].kernel >= 0) != kernels) continue;
    put_object(p, &p->rows[i], between, out);
    between = ",\n";
  }
  ir_text_str(out, "]");
}

static void put_json(const fe_profile *p, ir_text *out) {
  ir_text_str(out, "{\"graph\":");
  fe_put_json_string(rt_program_name(p->program), out);
  ir_textf(out, ",\"runs\":%lld", (long long)p->times);
  put_whole("run_ns", (double)fe_profile_typical(p, p->count), out);
  put_list(p, "kernels", true, out);
  put_list(p, "steps", false, out);
  ir_text_str(out, "}\n");
}

/* the trace: times in microseconds from the beginning of the first run */

static void put_us(const char *key, int64_t ns, ir_text *out) {
  int64_t positive = ns < 0 ? 0 : ns;
  ir_textf(out, ",\"%s\":%lld.%03lld", key, (long long)(positive / 1000), (long long)(positive % 1000));
}

/* lane: runs and what they call are one inside the other; a device's kernels have a lane of their own. */
static void put_event(const rt_event *e, int64_t zero, int lane, const char *name, const fe_profile_row *row,
                      ir_text *out) {
  ir_text_str(out, ",\n{\"name\":");
  fe_put_json_string(name, out);
  ir_textf(out, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d",
           !row               ? "run"
           : row->kernel >= 0 ? "kernel"
                              : "step",
           lane);
  put_us("ts", e->start_ns - zero, out);
  put_us("dur", e->ns, out);
  if (row && *row->computes) {
    ir_textf(out, ",\"args\":{\"kernel\":%lld,\"computes\":", (long long)row->kernel);
    fe_put_json_string(row->computes, out);
    put_whole("bytes", row->each.read + row->each.written, out);
    put_whole("operations", row->each.operations, out);
    ir_text_str(out, "}");
  }
  ir_text_str(out, "}");
}

static void put_lane(int lane, const char *name, ir_text *out) {
  ir_textf(out, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
           lane, name);
}

static void put_trace(const fe_profile *p, ir_text *out) {
  enum { HOST = 1, DEVICE = 2 };
  bool device = p->target->group_items || rt_context_is_remote(p->context);
  int64_t zero = p->run_count ? p->runs[0].start_ns : 0, end = INT64_MAX;
  bool full = p->recording.event_count == p->recording.event_cap;
  if (full && p->recording.event_cap) end = p->recording.events[p->recording.event_cap - 1].start_ns;
  ir_text_str(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
                   "\"pid\":1,\"args\":{\"name\":\"viewfold\"}}");
  put_lane(HOST, "runs", out);
  if (device) put_lane(DEVICE, "device", out);
  for (size_t i = 0; i < p->run_count && p->runs[i].start_ns <= end; i++)
    put_event(&p->runs[i], zero, HOST, rt_program_name(p->program), NULL, out);
  for (size_t i = 0; i < p->recording.event_count; i++) {
    const rt_event *e = &p->recording.events[i];
    const fe_profile_row *row = &p->rows[e->step];
    put_event(e, zero, device && row->kernel >= 0 ? DEVICE : HOST, row->name, row, out);
  }
  ir_text_str(out, "]}\n");
}

/* forms */

static const char *const forms[] = {"text", "json", "trace"};
enum { TEXT, JSON, TRACE, FORMS };

static int find_form(const char *form) {
  int i = 0;
  while (i < FORMS && strcmp(form, forms[i]) != 0) i++;
  return i;
}

bool fe_profile_is_form(const char *form) { return find_form(form) < FORMS; }

ir_status fe_profile_put(const fe_profile *p, const char *form, ir_text *out, ir_error *error) {
  int chosen = form ? find_form(form) : TEXT;
  ranked *sorted = NULL;
  if (chosen == FORMS)
    return ir_fail(error, IR_ERR_INVALID, "profile: no form '%.40s'; the forms are text, json and trace",
                   form);
  if (chosen == JSON) put_json(p, out);
  else if (chosen == TRACE) put_trace(p, out);
  else if ((sorted = ir_alloc(p->mem, p->count * sizeof *sorted))) put_table(p, sorted, out);
  else out->failed = true;
  ir_free(p->mem, sorted, p->count * sizeof *sorted);
  return out->failed ? ir_fail(error, IR_ERR_MEMORY, "out of memory printing a profile") : IR_OK;
}
