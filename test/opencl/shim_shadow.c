/* Copies and shuffles in a form that Oclgrind's check for uninitialized memory can follow. */
#include "test/opencl/shim_shadow.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- copies */

static const char *const copy_text =
    "kernel void vf_copy(global uchar *to, ulong b, global const uchar *from, ulong a, ulong size) {\n"
    "  __builtin_memcpy(to + b, from + a, size);\n"
    "}\n";

typedef struct maker {
  cl_context context;
  cl_program program;
  struct maker *next;
} maker;

/* The program for a context; it keeps the context alive. */
static cl_program program_for(const cl_icd_dispatch *real, cl_command_queue queue, cl_int *status) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static maker *made;
  cl_context context;
  cl_device_id device;
  *status = real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (!*status) *status = real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (*status) return NULL;
  pthread_mutex_lock(&lock);
  maker *m = made;
  while (m && m->context != context) m = m->next;
  if (!m && (m = calloc(1, sizeof *m))) {
    m->context = context;
    m->program = real->clCreateProgramWithSource(context, 1, (const char *[]){copy_text}, NULL, status);
    if (m->program) *status = real->clBuildProgram(m->program, 1, &device, "", NULL, NULL);
    m->next = made;
    made = m;
  }
  if (!m) *status = CL_OUT_OF_HOST_MEMORY;
  pthread_mutex_unlock(&lock);
  return m ? m->program : NULL;
}

cl_int shim_shadow_copy(const cl_icd_dispatch *real, cl_command_queue queue, cl_mem from, cl_mem to,
                        size_t from_offset, size_t to_offset, size_t size) {
  const size_t one = 1;
  const cl_ulong a = from_offset, b = to_offset, bytes = size;
  cl_int status;
  cl_program program = program_for(real, queue, &status);
  cl_kernel kernel = status ? NULL : real->clCreateKernel(program, "vf_copy", &status);
  const struct {
    size_t size;
    const void *value;
  } arguments[] = {
      {sizeof to, &to}, {sizeof b, &b}, {sizeof from, &from}, {sizeof a, &a}, {sizeof bytes, &bytes}};
  for (cl_uint i = 0; i < sizeof arguments / sizeof *arguments && !status; i++)
    status = real->clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value);
  if (!status) status = real->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
  if (kernel) real->clReleaseKernel(kernel);
  return status;
}

/* ---- shuffles */

static const char *const functions =
    "#define VF_HALF static __attribute__((overloadable))\n"
    "#define VF_SHADOW_HALVES(T) \\\n"
    "  VF_HALF T vf_hi(T##2 v) { return v.hi; } \\\n"
    "  VF_HALF T##2 vf_hi(T##4 v) { return v.hi; } \\\n"
    "  VF_HALF T##4 vf_hi(T##8 v) { return v.hi; } \\\n"
    "  VF_HALF T##8 vf_hi(T##16 v) { return (T##8)(v.s8, v.s9, v.sa, v.sb, v.sc, v.sd, v.se, v.sf); } \\\n"
    "  VF_HALF T##16 vf_back(T##16 v) { \\\n"
    "    return (T##16)(v.sf, v.se, v.sd, v.sc, v.sb, v.sa, v.s9, v.s8, v.s7, v.s6, v.s5, v.s4, v.s3, v.s2, "
    "\\\n"
    "                   v.s1, v.s0); \\\n"
    "  }\n"
    "VF_SHADOW_HALVES(char) VF_SHADOW_HALVES(uchar) VF_SHADOW_HALVES(short) VF_SHADOW_HALVES(ushort) "
    "VF_SHADOW_HALVES(int)\n"
    "VF_SHADOW_HALVES(uint) VF_SHADOW_HALVES(long) VF_SHADOW_HALVES(ulong) VF_SHADOW_HALVES(float) "
    "VF_SHADOW_HALVES(double)\n";

static const struct {
  const char *suffix, *call;
} shuffles[] = {{".hi", "vf_hi("}, {".sfedcba9876543210", "vf_back("}};

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The start of the operand of a suffix that begins at `end`: a name, a call or parentheses. */
static size_t operand_of(const char *text, size_t end) {
  size_t at = end, open = 0;
  if (at && text[at - 1] == ')') {
    do {
      at--;
      open += (text[at] == ')') - (text[at] == '(');
    } while (open && at);
  }
  while (at && in_name(text[at - 1])) at--;
  return at;
}

char *shim_shadow_text(const char *text) {
  size_t length = strlen(text), have = 0, most = 1;
  for (size_t i = 0; i < sizeof shuffles / sizeof *shuffles; i++)
    for (const char *at = text; (at = strstr(at, shuffles[i].suffix)); at++) most += strlen(shuffles[i].call);
  char *out = malloc(strlen(functions) + length + most);
  if (!out) return NULL;
  strcpy(out, functions);
  have = strlen(out);
  while (*text) {
    size_t i = 0, shuffle_count = sizeof shuffles / sizeof *shuffles, suffix = 0;
    for (; i < shuffle_count; i++) {
      suffix = strlen(shuffles[i].suffix);
      if (!strncmp(text, shuffles[i].suffix, suffix) && !in_name(text[suffix])) break;
    }
    if (i == shuffle_count) {
      out[have++] = *text++;
      continue;
    }
    size_t call = strlen(shuffles[i].call), at = operand_of(out, have);
    memmove(out + at + call, out + at, have - at);
    memcpy(out + at, shuffles[i].call, call);
    have += call;
    out[have++] = ')';
    text += suffix;
  }
  out[have] = 0;
  return out;
}
