/* Profiles for users of the C API. */
#include "frontend/profile/profile.h"

#include "frontend/api/api.h"
#include "frontend/machine/machine.h"

struct vf_profile {
  vf_context *context;
  const vf_program *program;
  ir_named *results; /* of the graph; NULL: there is none */
  size_t result_count;
  ir_parsed_graph block;
  fe_profile profile;
};

static void free_profile(vf_profile *p) {
  vf_context *c = p->context;
  fe_profile_free(&p->profile);
  ir_free(&c->mem, p->results, p->result_count * sizeof *p->results);
  ir_free(&c->mem, p, sizeof *p);
  fe_context_release(c);
}

static bool open_profile(vf_profile *p, vf_graph *g, ir_error *error) {
  rt_context *runtime = p->context->runtime;
  fe_machine machine;
  bool known = false;
  if (g && !(p->results = fe_graph_results(g, &p->result_count))) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for a profile");
    return false;
  }
  if (g)
    p->block = (ir_parsed_graph){.kind = IR_BLOCK_GRAPH,
                                 .name = g->name,
                                 .name_length = g->name_length,
                                 .params = g->inputs,
                                 .param_count = g->input_count,
                                 .results = p->results,
                                 .result_count = p->result_count};
  bool good = fe_machine_find(runtime, &machine, &known, error) == IR_OK &&
              fe_profile_init(
                  &p->profile, runtime, fe_program_runtime(p->program), g ? &g->ir : NULL, &p->block,
                  known ? fe_machine_limits(&machine, rt_context_threads(runtime)) : NULL, error) == IR_OK;
  p->profile.statements = g ? &g->statements : NULL;
  return good;
}

vf_profile *vf_program_profile(const vf_program *program, vf_graph *g, vf_error *error) {
  ir_error failure = {0};
  vf_profile *p = NULL;
  const char *wrong = fe_not(program, FE_PROGRAM);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "profile: the program is %s", wrong);
  else if (g && !fe_program_is_of(program, g))
    ir_fail(&failure, IR_ERR_INVALID, "profile: the program was not compiled from graph @%.60s", g->name);
  else {
    vf_context *c = fe_program_context(program);
    p = ir_alloc(&c->mem, sizeof *p);
    if (!p) ir_fail(&failure, IR_ERR_MEMORY, "out of memory for a profile");
    else {
      *p = (vf_profile){.context = c, .program = program};
      fe_context_retain(c);
    }
  }
  if (p && !open_profile(p, g, &failure)) {
    free_profile(p);
    p = NULL;
  }
  fe_report(error, &failure);
  return p;
}

void vf_profile_destroy(vf_profile *p) {
  if (p) free_profile(p);
}

vf_status vf_profile_run(vf_profile *p, const void *const *inputs, void *const *outputs,
                         const int64_t *variables, vf_error *error) {
  ir_error failure = {0};
  if (p) fe_program_run_profiled(p->program, &p->profile, inputs, outputs, variables, &failure);
  else
    ir_fail(&failure, IR_ERR_INVALID,
            "profile: it is NULL, as vf_program_profile gives where it fails: its error says why");
  return fe_report(error, &failure);
}

char *vf_profile_text(const vf_profile *p, const char *form, vf_error *error) {
  ir_error failure = {0};
  char *made = NULL;
  if (!p || !form) {
    ir_fail(&failure, IR_ERR_INVALID, "profile: the %s is NULL", p ? "form" : "profile");
  } else {
    ir_text text;
    ir_text_init(&text, &p->context->mem);
    if (fe_profile_put(&p->profile, form, &text, &failure) == IR_OK)
      made = fe_text_out(p->context, &text, &failure);
    else ir_text_free(&text);
  }
  fe_report(error, &failure);
  return made;
}

int vf_profile_count(const vf_profile *p) { return p ? (int)p->profile.count : 0; }

bool vf_profile_get(const vf_profile *p, int number, vf_profile_step *out) {
  if (!out || number < 0 || number >= vf_profile_count(p)) return false;
  const fe_profile_row *r = &p->profile.rows[number];
  vf_profile_step step = {.size = sizeof step,
                          .kernel = r->kernel,
                          .name = r->name,
                          .computes = r->computes,
                          .times = r->times,
                          .ns = r->ns,
                          .bytes_read = (int64_t)r->read,
                          .bytes_written = (int64_t)r->written,
                          .operations = (int64_t)r->operations,
                          .limit_ns = (int64_t)(r->limit_ms * 1e6)};
  return fe_copy_sized(out, out->size, &step, sizeof step);
}
