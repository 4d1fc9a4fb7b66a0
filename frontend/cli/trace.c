#include "frontend/cli/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"

static void print_rewrite(const fe_rewrite *r) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  fe_watch_print(r, &text);
  fprintf(stderr, "%" PRIu64 " %s: %s\n", r->number, r->rule, ir_text_get(&text));
  ir_text_free(&text);
}

int cli_debug(const char *command, fe_debug *out) {
  ir_error error = {0};
  if (fe_debug_read(getenv("VIEWFOLD_DEBUG"), out, &error) == IR_OK) return CLI_OK;
  return cli_usage(command, "%s", error.text);
}

int cli_trace_init(fe_watch *w, const char *command, bool trace) {
  fe_debug debug;
  int status = cli_debug(command, &debug);
  if (status) return status;
  fe_watch_init(w, &debug);
  if (trace) w->tell = print_rewrite;
  return CLI_OK;
}
