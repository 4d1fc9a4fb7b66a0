#include "runtime/compiler/cc.h"

#include <stdio.h>
#include <string.h>

#include "runtime/system/tool.h"

/* CC may be several words, which the shell splits. */
#define RUN_CC "sh", "-c", "exec ${CC:-cc} \"$@\"", "cc"

/* Results have the bits of the evaluator; the object refers to nothing outside itself. */
static const char *const options[] = {
    "-std=c11",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-builtin-memcpy",
    "-fno-builtin-memset",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-jump-tables",
    "-w",
};
enum { OPTIONS = sizeof options / sizeof *options, FEATURES = 48, OPTION_ROOM = 32 };
/* A compiler that fails is asked again: of 20,000 random graphs GCC 12 ends with an internal error for one,
 * with -O2 (compute_live_loop_exits). Bits are the same. */
static const char *const levels[] = {"-O2", "-O1", "-O0"};
enum { LEVELS = sizeof levels / sizeof *levels };

/* The extensions of x86-64 that the text gains by, called alike by LLVM and compilers. */
static bool is_option(const char *feature, size_t length) {
  static const char *const known[] = {
      "sse3", "ssse3", "sse4.1", "sse4.2",  "avx",      "avx2",     "fma",      "f16c",     "bmi",
      "bmi2", "lzcnt", "popcnt", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i]) == length && !memcmp(known[i], feature, length)) return true;
  return false;
}

typedef struct command {
  char features[FEATURES][OPTION_ROOM];
  const char *words[OPTIONS + FEATURES + 16];
} command;

static void make_command(const ir_target *target, const char *level, command *out) {
  static const char *const run[] = {RUN_CC}, *const files[] = {"-c", "-o", RT_TOOL_OUTPUT, RT_TOOL_INPUT};
  size_t count = 0, features = 0;
  for (size_t i = 0; i < sizeof run / sizeof *run; i++) out->words[count++] = run[i];
  for (size_t i = 0; i < OPTIONS; i++) out->words[count++] = options[i];
  out->words[count++] = level;
  for (const char *at = target->features; *at && features < FEATURES;) {
    size_t length = strcspn(at, ",");
    if (*at == '+' && is_option(at + 1, length - 1)) {
      snprintf(out->features[features], OPTION_ROOM, "-m%.*s", (int)(length - 1), at + 1);
      out->words[count++] = out->features[features++];
    }
    at += length + (at[length] == ',');
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) out->words[count++] = files[i];
  out->words[count] = NULL;
}

ir_status rt_cc_object(const char *text, size_t size, const ir_target *target, const ir_mem *mem,
                       cg_blob *out, ir_error *error) {
  command made;
  uint8_t *bytes = NULL;
  *out = (cg_blob){.mem = mem};
  rt_tool tool = {.who = "compile",
                  .words = made.words,
                  .input_name = "kernel.c",
                  .input = text,
                  .input_size = size,
                  .output_name = "kernel.o",
                  .missing = "cannot run sh, which runs the C compiler",
                  .failed = "the C compiler (cc, or what CC says) cannot compile a kernel"};
  const ir_error before = *error;
  ir_status status = IR_ERR_COMPILE;
  for (size_t i = 0; i < LEVELS && status == IR_ERR_COMPILE; i++) {
    *error = before;
    make_command(target, levels[i], &made);
    status = rt_tool_run(&tool, mem, &bytes, &out->size, error);
  }
  out->bytes = (char *)bytes;
  return status;
}

ir_status rt_cc_compile(const cg_request *request, const ir_mem *mem, cg_blob *out, ir_error *error) {
  cg_blob text, object;
  int64_t start = ir_timer_start(request->timer);
  *out = (cg_blob){0};
  if (cg_c(request, 1, mem, &text, error) != IR_OK) return error->status;
  ir_timer_lap(request->timer, &start, "emit", -1, request->symbol);
  ir_status status = rt_cc_object(text.bytes, text.size, request->target, mem, &object, error);
  if (status == IR_OK) {
    *out = object;
    out->scratch = text.scratch, out->in_place = text.in_place, out->checks = text.checks;
    out->uses = text.uses;
  }
  cg_blob_free(&text);
  ir_timer_lap(request->timer, &start, "select", -1, request->symbol);
  return status;
}

ir_status rt_cc_identity(ir_text *out, ir_error *error) {
  static const char *const ask[] = {RUN_CC, "--version", NULL};
  char said[600];
  ir_status status =
      rt_tool_says("device c", ask,
                   "there is no C compiler: `cc`, or what the environment calls CC, cannot be run; "
                   "install one (Debian: apt install gcc)",
                   said, sizeof said, error);
  if (status) return status;
  ir_textf(out, "cc=%s %s", said, *levels);
  for (size_t i = 0; i < OPTIONS; i++) ir_textf(out, " %s", options[i]);
  return IR_OK;
}
