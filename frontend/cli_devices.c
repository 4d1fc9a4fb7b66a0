/* `viewfold devices`: what graphs can run on. */
#include <stdio.h>

#include "frontend/cli.h"
#include "frontend/cli_graph.h"
#include "frontend/cli_options.h"

static const char help_text[] =
    "Usage: viewfold devices\n"
    "\n"
    "Lists the devices that graphs can run on, one per line by the name that `viewfold run --device` takes, "
    "with what is\n"
    "known of each below it. The target line is what code is made for: part of every key of the cache.\n"
    "\n"
    "Exit status: 0, or 3 when a device cannot be asked.\n";

int cli_devices(int argc, char **argv) {
  cli_args args = {.argc = argc, .at = 1, .argv = argv};
  int next = cli_next(&args);
  if (next == CLI_WRONG) return CLI_BAD_INPUT;
  if (next == CLI_HELP) {
    fputs(help_text, stdout);
    return CLI_OK;
  }
  if (next != CLI_END) return cli_usage("devices", "no arguments expected, found '%s'", args.value);
  ir_error error = {0};
  ir_text text;
  rt_options options;
  rt_context *context = NULL;
  int status = cli_context_options("devices", NULL, &options);
  if (status) return status;
  ir_text_init(&text, &ir_mem_libc);
  if (rt_context_create(&ir_mem_libc, &options, &context, &error) == IR_OK &&
      rt_devices_text(context, &text, &error) == IR_OK)
    fputs(ir_text_get(&text), stdout);
  if (error.status) status = cli_failure("devices", &error);
  ir_text_free(&text);
  rt_context_destroy(context);
  return status;
}
