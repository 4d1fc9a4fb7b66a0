#include "frontend/cli_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli.h"
#include "frontend/cli_options.h"

static void tell(const fe_rewrite *r) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  fe_watch_print(r, &text);
  fprintf(stderr, "%" PRIu64 " %s: %s\n", r->number, r->rule, ir_text_get(&text));
  ir_text_free(&text);
}

int cli_trace_init(fe_watch *w, const char *command, bool trace) {
  const char *debug = getenv("VIEWFOLD_DEBUG");
  if (!fe_watch_init(w, debug))
    return cli_usage(command, "VIEWFOLD_DEBUG takes a number of rewrites, as in bisect=17, found '%s'",
                     debug);
  if (trace) w->tell = tell;
  return CLI_OK;
}
