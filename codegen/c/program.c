/* A program as a C file: kernels as static functions, and the functions that callers see, with the same
 * parameters as an object's. */
#include "codegen/c/program.h"

#include <stdio.h>
#include <string.h>

/* What the functions of a program are made of. */
static const char helpers[] =
    "/* the address of an array of the caller's struct; bytes copied, unless they are there already */\n"
    "VF_FUNCTION u8 *vf_array(const void *arrays, size_t number) {\n"
    "  void *address;\n"
    "  VF_COPY(&address, (const char *)arrays + number * sizeof address, sizeof address);\n"
    "  return address;\n"
    "}\n"
    "VF_FUNCTION void vf_copy(u8 *to, const u8 *from, i64 bytes) {\n"
    "  i64 at = 0;\n"
    "  for (; to != from && at + 64 <= bytes; at += 64) VF_COPY(to + at, from + at, 64);\n"
    "  for (; to != from && at < bytes; at++) to[at] = from[at];\n"
    "}\n";
static const char size_helpers[] =
    "/* arithmetic of sizes; true where there is no result */\n"
    "VF_FUNCTION bool vf_size_add(i64 a, i64 b, i64 *out) {\n"
    "  *out = add_i64(a, b);\n"
    "  return b < 0 ? *out > a : *out < a;\n"
    "}\n"
    "VF_FUNCTION bool vf_size_sub(i64 a, i64 b, i64 *out) {\n"
    "  *out = sub_i64(a, b);\n"
    "  return b < 0 ? *out < a : *out > a;\n"
    "}\n"
    "VF_FUNCTION bool vf_size_mul(i64 a, i64 b, i64 *out) {\n"
    "  *out = mul_i64(a, b);\n"
    "  if (a == 0 || b == 0) return false;\n"
    "  if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) return true;\n"
    "  return *out / b != a;\n"
    "}\n"
    "VF_FUNCTION bool vf_size_div(i64 a, i64 b, i64 *out) {\n"
    "  *out = b < 1 ? 0 : div_i64(a, b);\n"
    "  return b < 1;\n"
    "}\n"
    "VF_FUNCTION bool vf_size_mod(i64 a, i64 b, i64 *out) {\n"
    "  *out = b < 1 ? 0 : mod_i64(a, b);\n"
    "  return b < 1;\n"
    "}\n"
    "VF_FUNCTION bool vf_size_neg(i64 a, i64 b, i64 *out) {\n"
    "  *out = neg_i64(a);\n"
    "  return b == INT64_MIN;\n"
    "}\n"
    "VF_FUNCTION bool vf_size_abs(i64 a, i64 b, i64 *out) {\n"
    "  *out = abs_i64(a);\n"
    "  return b == INT64_MIN;\n"
    "}\n";
static const char host_helpers[] =
    "/* what the caller gives: threads and custom operations */\n"
    "typedef struct vf_call_array {\n"
    "  void *data;\n"
    "  const i64 *dims;\n"
    "  i64 elements;\n"
    "  u32 rank, dtype;\n"
    "} vf_call_array;\n"
    "typedef void (*vf_body)(void *argument, i64 worker, i64 begin, i64 end);\n"
    "typedef struct vf_host {\n"
    "  void *user;\n"
    "  void (*parallel_for)(void *user, vf_body body, void *argument, i64 count, i64 grain);\n"
    "  int (*calls[])(void *user, const vf_call_array *results, const vf_call_array *operands, const void "
    "*attributes);\n"
    "} vf_host;\n"
    "typedef void (*vf_kernel)(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch);\n"
    "typedef struct vf_part {\n"
    "  vf_kernel kernel;\n"
    "  void *const *buffers;\n"
    "  const i64 *variables;\n"
    "  u8 *scratch;\n"
    "} vf_part;\n";
/* the last argument of the call: bytes of scratch memory for each worker */
static const char share_helper[] =
    "static void vf_run_part(void *argument, i64 worker, i64 begin, i64 end) {\n"
    "  const vf_part *part = argument;\n"
    "  part->kernel(part->buffers, part->variables, begin, end, part->scratch ? part->scratch + worker * "
    "%lld : "
    "NULL);\n"
    "}\n"
    "VF_FUNCTION void vf_share(const vf_host *host, vf_kernel kernel, void *const *buffers, const i64 "
    "*variables,\n"
    "                          u8 *scratch, i64 count, i64 grain) {\n"
    "  vf_part part = {kernel, buffers, variables, scratch};\n"
    "  if (!host || !host->parallel_for || grain >= count) kernel(buffers, variables, 0, count, scratch);\n"
    "  else host->parallel_for(host->user, vf_run_part, &part, count, grain);\n"
    "}\n";

/* lines */

IR_PRINTF(2, 0) static void put_formatted(cc_runner *r, const char *format, va_list args, const char *end) {
  char line[512];
  va_list measure;
  va_copy(measure, args);
  int length = vsnprintf(line, sizeof line, format, measure);
  va_end(measure);
  for (uint32_t i = 0; i < r->depth; i++) ir_text_str(r->out, "  ");
  if (length >= 0 && (size_t)length < sizeof line) {
    ir_text_str(r->out, line);
  } else {
    size_t size = (size_t)length + 1;
    char *text = length < 0 ? NULL : ir_alloc(r->file->mem, size);
    if (text)
      vsnprintf(text, size, format, args), ir_text_str(r->out, text), ir_free(r->file->mem, text, size);
    else r->out->failed = true;
  }
  ir_text_str(r->out, end);
}

void cc_say(cc_runner *r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_formatted(r, format, args, ";\n");
  va_end(args);
}

void cc_begin(cc_runner *r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_formatted(r, format, args, "\n");
  va_end(args);
  r->depth++;
}

void cc_end(cc_runner *r, const char *text) {
  r->depth--;
  for (uint32_t i = 0; i < r->depth; i++) ir_text_str(r->out, "  ");
  ir_text_str(r->out, text);
  ir_text_str(r->out, "\n");
}

/* functions */

static void put_run(cc_runner *r) {
  const cg_program *p = r->p;
  ir_text_str(r->out, "\n");
  char list[160];
  snprintf(list, sizeof list, "const void *arrays, %svoid *given%s%s",
           p->variable_count ? "const i64 *sizes, " : "", p->weights ? ", const void *weights" : "",
           p->shares ? ", const vf_host *host" : "");
  ir_textf(r->out, "int %s_run(%s);\n", p->name, list);
  cc_begin(r, "int %s_run(%s) {", p->name, list);
  cc_say(r, "(void)arrays%s%s", p->weights ? ", (void)weights" : "", p->shares ? ", (void)host" : "");
  cc_put_sizes(r, "1");
  cc_say(r, "u8 *arena = (u8 *)(((uintptr_t)given + %d) & ~(uintptr_t)%d)", CG_ARENA_ALIGN - 1,
         CG_ARENA_ALIGN - 1);
  cc_say(r, "(void)arena");
  for (size_t i = 0; i < p->moving_count; i++) cc_say(r, "u8 *moving%zu", i);
  for (size_t i = 0; i < p->kernel_count; i++)
    if (r->terms[i].checks) {
      cc_say(r, "i64 status = 0");
      break;
    }
  cc_put_steps(r);
  cc_say(r, "return 0");
  cc_end(r, "}");
}

static void put_sized(cc_runner *r) {
  const cg_program *p = r->p;
  ir_textf(r->out, "\nint %s_shapes(const i64 *sizes, i64 *dims);\n", p->name);
  cc_begin(r, "int %s_shapes(const i64 *sizes, i64 *dims) {", p->name);
  cc_put_sizes(r, "1");
  cc_say(r, "(void)dims");
  for (size_t i = 0; i < p->dim_count; i++) cc_say(r, "dims[%zu] = %s", i, cc_size_of(r, p->dims[i]).text);
  cc_say(r, "return 0");
  cc_end(r, "}");
  ir_textf(r->out, "\ni64 %s_arena_bytes(const i64 *sizes);\n", p->name);
  cc_begin(r, "i64 %s_arena_bytes(const i64 *sizes) {", p->name);
  cc_put_sizes(r, "-1");
  cc_say(r, "return %s", cc_size_of(r, p->arena).text);
  cc_end(r, "}");
}

static ir_status put_kernels(cc_runner *r, const cg_program_request *request) {
  for (size_t i = 0; i < r->p->kernel_count; i++) {
    const cg_source *k = &r->p->kernels[i];
    cg_request one = {.graph = k->graph,
                      .kernel = k->kernel,
                      .symbol = k->symbol,
                      .target = request->forms->target,
                      .timer = request->timer};
    if (i) ir_text_str(r->out, "\n");
    ir_status status = cc_emit_kernel(r->file, &one, true, &r->terms[i], r->error);
    if (status) return status;
  }
  return IR_OK;
}

static void put_program(cc_runner *r, const cg_program_request *request) {
  const cg_program *p = r->p;
  if (put_kernels(r, request)) return;
  ir_text_str(r->out, "\n");
  ir_text_str(r->out, helpers);
  if (p->variable_count) ir_text_str(r->out, size_helpers);
  if (p->shares) ir_text_str(r->out, host_helpers);
  if (p->shares) ir_textf(r->out, share_helper, (long long)p->scratch_each);
  ir_text_str(r->out, "\n");
  ir_text run; /* the function, behind the data that it names */
  ir_text *body = r->out;
  ir_text_init(&run, r->file->mem);
  r->out = &run;
  put_run(r);
  r->out = body;
  cc_put_data(r);
  ir_text_add(body, run.data, run.len);
  body->failed |= run.failed;
  ir_text_free(&run);
  if (p->variable_count) put_sized(r);
}

ir_status cg_c_program(const cg_program_request *request, const ir_mem *mem, cg_blob *out, ir_error *error) {
  ir_error own = {0};
  cc_file file;
  const cg_program *p = request->forms->program;
  *out = (cg_blob){.mem = mem};
  if (request->form_count > 1)
    return ir_fail(error, IR_ERR_UNSUPPORTED,
                   "build: a C file is compiled for one processor; give one target, or build an object");
  cc_file_init(&file, mem);
  size_t term_bytes = (p->kernel_count + 1) * sizeof(cg_blob),
         size_bytes = (p->size_count + 1) * sizeof(cc_size), data_bytes = (p->data_count + 1) * sizeof(bool);
  cc_runner r = {.p = p, .file = &file, .out = &file.body, .error = &own};
  r.terms = ir_alloc(mem, term_bytes);
  r.sizes = ir_alloc(mem, size_bytes);
  r.reads_data = ir_alloc(mem, data_bytes);
  if (r.reads_data) memset(r.reads_data, 0, data_bytes);
  if (r.terms && r.sizes && r.reads_data) put_program(&r, request);
  else ir_fail(&own, IR_ERR_MEMORY, "build: out of memory for the code of @%s", p->name);
  ir_text head;
  ir_text_init(&head, mem);
  ir_textf(&head,
           "/* The program %s, made by viewfold: %s_run is called as its header says. Compile it with "
           "optimisation, for\n"
           "   the processor that runs it, and without contraction: cc -O2 -march=native -ffp-contract=off "
           "-c. */\n",
           p->name, p->name);
  if (own.status == IR_OK) cc_file_text(&file, ir_text_get(&head), &out->bytes, &out->size, &own);
  ir_text_free(&head);
  if (r.terms) ir_free(mem, r.terms, term_bytes);
  if (r.sizes) ir_free(mem, r.sizes, size_bytes);
  if (r.reads_data) ir_free(mem, r.reads_data, data_bytes);
  cc_file_free(&file);
  return own.status == IR_OK ? IR_OK : ir_fail(error, own.status, "%s", own.text);
}
