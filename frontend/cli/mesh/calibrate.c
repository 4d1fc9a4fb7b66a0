/* `viewfold mesh calibrate`: what messages between the devices of a mesh cost. */
#include "frontend/mesh/calibrate.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/mesh/processes.h"
#include "frontend/cli/options.h"

static const char help_text[] =
    "Usage: viewfold mesh calibrate MESH [OPTIONS]\n"
    "\n"
    "Measures what messages between neighbouring devices take along each axis of a mesh, and prints the mesh "
    "with it, as a\n"
    "text graph declares it and --mesh takes it: seconds for a message, and bytes in a second. With both, "
    "exchanges take the\n"
    "least time; without, they move the fewest bytes. It is kept, for meshes of these sizes that declare "
    "neither "
    "(not where\n"
    "VIEWFOLD_MESH_COSTS=none). Of devices of several kinds, or of several processes, a product is timed as "
    "well, and "
    "a line behind the\n"
    "mesh says which weights suit their rates. MESH is as for `viewfold run --mesh`. Under mpirun the "
    "devices are those of "
    "all "
    "processes.\n"
    "\n"
    "  $ viewfold mesh calibrate x=2,y=2\n"
    "  mesh @m [x=2,y=2] latency=[2.1e-06,2.4e-06] bandwidth=[4300000000.0,3900000000.0]\n"
    "\n"
    "Options:\n"
    "  --device DEVICE     the device of a mesh that names none: as for `viewfold run`\n"
    "  --threads N         how many threads may be used\n"
    "\n"
    "Exit status: 0; 2 when the mesh is wrong; 3 when a device fails.\n";

/* Where devices along an axis are not equally fast: weights for it, in a line of its own. */
static void put_proposals(const ir_mesh *mesh, const double *rates, ir_text *out) {
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    size_t bytes = (size_t)mesh->axes[a].size * sizeof(int64_t);
    int64_t *weights = ir_alloc(&ir_mem_libc, bytes);
    if (!weights) out->failed = true;
    else if (ir_mesh_propose(mesh, rates, a, weights)) {
      ir_textf(out, "\n# devices along %s are not equally fast: %s=", mesh->axes[a].name, mesh->axes[a].name);
      for (int32_t i = 0; i < mesh->axes[a].size; i++)
        ir_textf(out, "%s%lld", i ? ":" : "", (long long)weights[i]);
    }
    ir_free(&ir_mem_libc, weights, bytes);
  }
}

static int calibrate(ir_mesh *mesh, const char *threads, const char *device) {
  rt_options options;
  rt_context *context = NULL;
  ir_error error = {0};
  ir_text text;
  int status = cli_context_options("mesh", threads, device, &options);
  if (status) return status;
  ir_text_init(&text, &ir_mem_libc);
  double *rates = ir_alloc(&ir_mem_libc, mesh->device_count * sizeof *rates);
  if (!rates) ir_fail(&error, IR_ERR_MEMORY, "out of memory");
  else if (rt_context_create(&ir_mem_libc, &options, &context, &error) == IR_OK &&
           cli_processes_join(context, &error) == IR_OK &&
           fe_mesh_calibrate(context, mesh, rates, &error) == IR_OK) {
    ir_mesh_print(mesh, &text);
    put_proposals(mesh, rates, &text);
    if (text.failed) ir_fail(&error, IR_ERR_MEMORY, "out of memory");
    else if (cli_process_speaks(context)) puts(ir_text_get(&text));
  }
  if (error.status) status = cli_failure("mesh", &error);
  ir_free(&ir_mem_libc, rates, mesh->device_count * sizeof *rates);
  ir_text_free(&text);
  rt_context_destroy(context);
  return status;
}

int cli_mesh(int argc, char **argv) {
  const char *words[2] = {NULL, NULL}, *threads = NULL, *device = NULL;
  const cli_option options[] = {{"--device", "a device, as for viewfold run", cli_last, &device},
                                {"--threads", "a number", cli_last, &threads}};
  const cli_syntax syntax = {.help = help_text,
                             .options = options,
                             .option_count = sizeof options / sizeof *options,
                             .words = words,
                             .most = 2,
                             .more = "one mesh is calibrated at a time; found '%s'"};
  int status = cli_read(&syntax, argc, argv);
  if (status != CLI_END) return status;
  if (!words[0] || strcmp(words[0], "calibrate") != 0)
    return cli_usage("mesh", "%s%s; it does one thing: viewfold mesh calibrate MESH",
                     words[0] ? "unknown word " : "what is to be done", words[0] ? words[0] : "");
  if (!words[1]) return cli_usage("mesh", "no mesh is given, such as x=2,y=4");
  ir_error error = {0};
  ir_mesh mesh;
  ir_mesh_init(&mesh, &ir_mem_libc);
  if (!ir_mesh_parse(&mesh, words[1], strlen(words[1]), &error))
    status = cli_usage("mesh", "%s: %s", words[1], error.text);
  else {
    strcpy(mesh.name, "m");
    status = calibrate(&mesh, threads, device);
  }
  ir_mesh_free(&mesh);
  return status;
}
