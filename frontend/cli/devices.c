/* `viewfold devices`: what graphs can run on. */
#include <stdio.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/explain/machine.h"
#include "frontend/cli/bench/settings.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/mesh/processes.h"
#include "frontend/cli/options.h"
#include "runtime/opencl/opencl.h"

static const char help_text[] =
    "Usage: viewfold devices [--measure]\n"
    "\n"
    "Lists the devices that graphs can run on, one per line by the name that `viewfold run --device` takes, "
    "with what is\n"
    "known of each below it. The target line is what code is made for: part of every key of the cache.\n"
    "The memory lines are what the machine was once measured to do, which `viewfold explain` and `viewfold "
    "bench` compare\n"
    "with: GB/s of reading, copying and filling, and of lines at random places, GFLOP/s of f32, and cycles, "
    "of "
    "one thread and\n"
    "of all.\n"
    "Under mpirun a line for each process comes first, with its host and processor; others are of process "
    "0.\n"
    "An OpenCL device may also be called by a part of its name, as in `opencl:nvidia`; `opencl` is the "
    "first.\n"
    "\n"
    "Options:\n"
    "  --measure   measure the machine (a second or two) and keep that in the cache, with what decides which "
    "accesses\n"
    "              bypass the caches in code that is compiled from then on; no result depends on it\n"
    "\n"
    "Environment: VIEWFOLD_MACHINE in place of what is measured: settings such as `threads=2 read=40 copy=30 "
    "fill=25\n"
    "gflops=300 ghz=3.5`, by name, with `.1` behind the name for one thread.\n"
    "\n"
    "Exit status: 0, or 3 when a device cannot be asked.\n";

/* The processes that mpirun has started, and the devices of this one. */
static ir_status put_devices(rt_context *context, ir_text *out, ir_error *error) {
  ir_text own;
  ir_text_init(&own, &ir_mem_libc);
  ir_status status = cli_processes_join(context, error);
  if (!status) status = rt_devices_text(context, &own, error);
  if (!status) status = cli_processes_text(context, ir_text_get(&own), out, error);
  if (!status) ir_text_str(out, ir_text_get(&own));
  ir_text_free(&own);
  return status;
}

/* Bandwidth by footprint. */
static void put_stream(const char *name, const double *gbs, ir_text *out) {
  ir_textf(out, "%s", name);
  for (int f = 0; f < FE_FOOTPRINTS; f++) ir_textf(out, "%s%g", f ? "/" : " ", gbs[f]);
}

static void put_limits(const char *name, const fe_roofline *l, ir_text *out) {
  ir_textf(out, "  %-10s", name);
  put_stream(" read", l->gbs[FE_STREAM_READ], out);
  put_stream(", copy", l->gbs[FE_STREAM_COPY], out);
  put_stream(", fill", l->gbs[FE_STREAM_FILL], out);
  if (l->lines[0] > 0) put_stream(", lines", l->lines, out);
  ir_textf(out, " GB/s, %g GFLOP/s", l->gflops);
  if (l->ghz > 0) ir_textf(out, ", %g GHz", l->ghz);
  ir_text_str(out, "\n");
}

static ir_status put_machine(rt_context *context, bool measure, ir_text *out, ir_error *error) {
  fe_machine m;
  bool known;
  if (measure && cli_machine_measure(context, &m, error) != IR_OK) return error->status;
  if (fe_machine_find(context, &m, &known, error) != IR_OK) return error->status;
  if (!known) {
    ir_text_str(out, "  memory     not measured; see --measure\n");
    return IR_OK;
  }
  ir_text_str(out, "  memory     by how much is touched:");
  for (int f = 0; f < FE_FOOTPRINTS; f++) {
    double kib = fe_footprints[f] / 1024;
    ir_textf(out, "%s%g %s", f ? ", " : " ", kib < 1024 ? kib : kib / 1024, kib < 1024 ? "KiB" : "MiB");
  }
  ir_text_str(out, "\n");
  put_limits("1 thread", &m.one, out);
  char name[32];
  snprintf(name, sizeof name, "%d threads", m.threads);
  if (m.threads > 1) put_limits(name, &m.all, out);
  return IR_OK;
}

int cli_devices(int argc, char **argv) {
  bool measure;
  int status =
      cli_read_switch(help_text, "--measure", "no arguments expected, found '%s'", argc, argv, &measure);
  if (status != CLI_END) return status;
  ir_error error = {0};
  ir_text text;
  rt_options options;
  rt_context *context = NULL;
  status = cli_context_options("devices", NULL, "cpu", &options);
  if (status) return status;
  ir_text_init(&text, &ir_mem_libc);
  if ((!measure || bench_settings_measure(&options, &error) == IR_OK) &&
      rt_context_create(&ir_mem_libc, &options, &context, &error) == IR_OK &&
      put_devices(context, &text, &error) == IR_OK && put_machine(context, measure, &text, &error) == IR_OK &&
      rt_opencl_text(&ir_mem_libc, &text, &error) == IR_OK && cli_process_speaks(context))
    fputs(ir_text_get(&text), stdout);
  if (error.status) status = cli_failure("devices", &error);
  ir_text_free(&text);
  rt_context_destroy(context);
  return status;
}
