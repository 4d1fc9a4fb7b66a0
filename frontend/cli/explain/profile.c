#include "frontend/cli/explain/profile.h"

#include "frontend/cli/cli.h"
#include "frontend/cli/explain/machine.h"
#include "frontend/cli/options.h"
#include "frontend/profile/profile.h"
#include "ir/timer.h"

enum { LEAST_RUNS = 3, MOST_RUNS = 100000, PROFILED_NS = 200000000 };

int cli_profile_check(const char *form) {
  return !*form || fe_profile_is_form(form)
             ? CLI_OK
             : cli_usage("run", "--profile: no form '%s'; the forms are text, json and trace", form);
}

ir_status cli_profile(const cli_profiled *p, const char *form, FILE *to, ir_error *error) {
  fe_profile profile = {0};
  fe_machine machine;
  bool known = false;
  ir_text text;
  if (cli_machine_find(p->context, &machine, &known, error) != IR_OK) return error->status;
  fe_profile_init(&profile, p->context, p->program, p->graph, p->block,
                  known ? fe_machine_limits(&machine, rt_context_threads(p->context)) : NULL, error);
  profile.statements = p->statements;
  int64_t start = ir_now_ns();
  for (int i = 0; i < MOST_RUNS && !error->status; i++) {
    if (i >= LEAST_RUNS && ir_now_ns() - start >= PROFILED_NS) break;
    fe_profile_run(&profile, p->in, p->out, p->values, error);
  }
  ir_text_init(&text, &ir_mem_libc);
  if (!error->status && fe_profile_put(&profile, *form ? form : NULL, &text, error) == IR_OK)
    fputs(ir_text_get(&text), to);
  ir_text_free(&text);
  fe_profile_free(&profile);
  return error->status;
}
