/* Custom operations that come with OpenCL C. A generated kernel calls the operation's function. It receives a
 * buffer and the index of the first element for each array, because an array may begin anywhere in a
 * buffer. */
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/native/native.h"
#include "runtime/opencl/run.h"

#define KERNEL "vf_call"

/* A built program: one for each operation and each list of its arrays' dtypes. The list of programs only
 * grows. */
typedef struct rt_cl_custom {
  struct rt_cl_custom *next;
  const rt_native *native;
  uint8_t dtypes[RT_NATIVE_PARAMS];
  cl_program program;
} rt_cl_custom;

typedef struct call {
  const rt_run_context *run;
  const rt_call_text *text;
  const rt_native *native;
  ir_custom_call attributes;
  ir_custom_array operands[IR_CUSTOM_MAX], results[IR_CUSTOM_MAX]; /* arrays of one element of the batch */
  int64_t batch;
  const rt_call *whole;
  cl_mem word;
  ir_error *error;
} call;

static rt_opencl *device_of(const call *c) { return (rt_opencl *)c->run->program->context->device; }
static const ir_custom_array *array_of(const call *c, const rt_native_param *p) {
  return p->result ? &c->results[p->number] : &c->operands[p->number];
}
static bool by_value(const rt_native_param *p) {
  return p->kind == RT_NATIVE_SIZE || p->kind == RT_NATIVE_COUNT || p->kind == RT_NATIVE_RANK ||
         p->kind == RT_NATIVE_ATTRIBUTE;
}
/* Is the parameter passed to the kernel? `user` and `message` exist on the host only. */
static bool is_passed(const rt_native_param *p) {
  return p->kind != RT_NATIVE_USER && p->kind != RT_NATIVE_MESSAGE_AT;
}

/* the text */

/* The OpenCL types of stored elements: f16 as half, bf16 as its bits. */
static const char *const types[IR_DTYPE_COUNT] = {
    [IR_BOOL] = "uchar",  [IR_I8] = "char",   [IR_U8] = "uchar",  [IR_I16] = "short", [IR_U16] = "ushort",
    [IR_I32] = "int",     [IR_U32] = "uint",  [IR_I64] = "long",  [IR_U64] = "ulong", [IR_F16] = "half",
    [IR_BF16] = "ushort", [IR_F32] = "float", [IR_F64] = "double"};

static void put_parameter(const call *c, uint32_t i, ir_text *out) {
  const rt_native_param *p = &c->native->params[i];
  if (p->kind == RT_NATIVE_DATA)
    ir_textf(out, "global %s%s *b%u, long o%u, ", p->result ? "" : "const ", types[array_of(c, p)->dtype], i,
             i);
  else if (p->kind == RT_NATIVE_SHAPE) ir_textf(out, "long16 s%u, ", i);
  else ir_textf(out, "%s v%u, ", types[p->dtype], i);
}

static void put_argument(const rt_native_param *p, uint32_t i, const char *comma, ir_text *out) {
  if (p->kind == RT_NATIVE_DATA) ir_textf(out, "%sb%u + o%u", comma, i, i);
  else if (p->kind == RT_NATIVE_SHAPE) ir_textf(out, "%sshape%u", comma, i);
  else ir_textf(out, "%sv%u", comma, i);
}

static void put_text(const call *c, ir_text *out) {
  const rt_native *n = c->native;
  if (device_of(c)->properties.f64) ir_text_str(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  ir_textf(out, "#pragma OPENCL FP_CONTRACT OFF\n#line 1 \"%s\"\n%s\n#line 1 \"" KERNEL "\"\n",
           c->attributes.name, c->text->source);
  ir_text_str(out, "kernel void " KERNEL "(");
  for (uint32_t i = 0; i < n->count; i++)
    if (is_passed(&n->params[i])) put_parameter(c, i, out);
  ir_text_str(out, "global int *status) {\n");
  for (uint32_t i = 0; i < n->count; i++)
    if (n->params[i].kind == RT_NATIVE_SHAPE)
      ir_textf(out, "  long shape%u[16];\n  vstore16(s%u, 0, shape%u);\n", i, i, i);
  ir_textf(out, "  %s%s(", n->reports ? "if (" : "", c->text->symbol);
  const char *comma = "";
  for (uint32_t i = 0; i < n->count; i++) {
    if (!is_passed(&n->params[i])) continue;
    put_argument(&n->params[i], i, comma, out);
    comma = ", ";
  }
  ir_text_str(out, n->reports ? ")) *status = 1;\n}\n" : ");\n}\n");
}

/* programs */

static cl_program find_custom(rt_opencl *d, const rt_native *native, const uint8_t *dtypes) {
  for (const rt_cl_custom *at = d->customs; at; at = at->next)
    if (at->native == native && !memcmp(at->dtypes, dtypes, sizeof at->dtypes)) return at->program;
  return NULL;
}

static ir_status build_custom(const call *c, const uint8_t *dtypes, cl_program *out) {
  rt_opencl *d = device_of(c);
  char who[96];
  ir_text text;
  rt_cl_custom *made = ir_alloc(&d->mem, sizeof *made);
  if (!made) return ir_fail(c->error, IR_ERR_MEMORY, "out of memory for a program");
  ir_text_init(&text, &d->mem);
  put_text(c, &text);
  snprintf(who, sizeof who, "operation %s", c->attributes.name);
  ir_status status = rt_cl_build_text(c->run->program->context, who, &text, out, c->error);
  ir_text_free(&text);
  if (status) {
    ir_free(&d->mem, made, sizeof *made);
    return status;
  }
  *made = (rt_cl_custom){.native = c->native, .program = *out};
  memcpy(made->dtypes, dtypes, sizeof made->dtypes);
  pthread_mutex_lock(&d->lock); /* if two threads add the same program, the one found first is used */
  made->next = d->customs;
  d->customs = made;
  pthread_mutex_unlock(&d->lock);
  return IR_OK;
}

static ir_status find_program(const call *c, cl_program *out) {
  rt_opencl *d = device_of(c);
  uint8_t dtypes[RT_NATIVE_PARAMS] = {0};
  for (uint32_t i = 0; i < c->native->count; i++)
    if (c->native->params[i].kind == RT_NATIVE_DATA)
      dtypes[i] = (uint8_t)array_of(c, &c->native->params[i])->dtype;
  pthread_mutex_lock(&d->lock);
  *out = find_custom(d, c->native, dtypes);
  pthread_mutex_unlock(&d->lock);
  return *out ? IR_OK : build_custom(c, dtypes, out);
}

void rt_cl_customs_free(rt_opencl *d) {
  for (rt_cl_custom *at = d->customs, *next; at; at = next) {
    next = at->next;
    d->cl.ReleaseProgram(at->program);
    ir_free(&d->mem, at, sizeof *at);
  }
  d->customs = NULL;
}

/* calling */

static int64_t elements(const ir_custom_array *a) {
  int64_t count = 1;
  for (uint32_t k = 0; k < a->rank; k++) count *= a->shape[k];
  return count;
}

typedef struct argument_writer {
  cl_kernel kernel;
  cl_uint number;
  cl_int code;
} argument_writer;

static void pass_argument(const call *c, argument_writer *to, const void *value, size_t size) {
  if (!to->code) to->code = device_of(c)->cl.SetKernelArg(to->kernel, to->number++, size, value);
}

static ir_status pass_one(const call *c, argument_writer *to, uint32_t i, int64_t element) {
  const rt_native_param *p = &c->native->params[i];
  const ir_custom_array *a = array_of(c, p);
  uint8_t bytes[8];
  if (by_value(p)) {
    ir_status status =
        rt_native_number(p, c->attributes.name, &c->attributes, c->operands, c->results, bytes, c->error);
    if (!status) pass_argument(c, to, bytes, ir_dtypes[p->dtype].bytes);
    return status;
  }
  if (p->kind == RT_NATIVE_SHAPE) {
    cl_long shape[16] = {0};
    for (uint32_t k = 0; k < a->rank; k++) shape[k] = a->shape[k];
    pass_argument(c, to, shape, sizeof shape);
    return IR_OK;
  }
  size_t offset;
  cl_mem buffer = rt_cl_find(device_of(c), a->data, &offset);
  cl_long first = (cl_long)(offset / ir_dtypes[a->dtype].bytes) + element * elements(a);
  pass_argument(c, to, &buffer, sizeof buffer);
  pass_argument(c, to, &first, sizeof first);
  return IR_OK;
}

static ir_status call_element(const call *c, cl_kernel kernel, int64_t element) {
  const rt_cl_state *s = c->run->run->device;
  argument_writer to = {kernel, 0, CL_SUCCESS};
  size_t items = (size_t)elements(&c->results[0]);
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < c->native->count && !status; i++)
    if (is_passed(&c->native->params[i])) status = pass_one(c, &to, i, element);
  pass_argument(c, &to, &c->word, sizeof c->word);
  if (status || !items) return status;
  cl_int code = to.code;
  if (!code)
    code = device_of(c)->cl.EnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
  rt_cl_sent(device_of(c));
  return code ? rt_cl_fail(c->error, code, "device %s: operation %s", device_of(c)->properties.name,
                           c->attributes.name)
              : IR_OK;
}

/* The array of one element of the batch: without the batch axes. */
static ir_custom_array one_of(const call *c, const rt_array *a) {
  ir_custom_array out = {.dtype = a->dtype, .rank = a->rank - c->attributes.batch, .data = a->data};
  for (uint32_t k = 0; k < out.rank; k++) out.shape[k] = a->dims[c->attributes.batch + k];
  return out;
}

ir_status rt_cl_call_text(const rt_run_context *r, const rt_call_text *text, cl_mem word,
                          const rt_call *whole, ir_error *error) {
  call c = {.run = r, .text = text, .native = text->native, .batch = 1, .word = word, .error = error};
  cl_program program;
  cl_int code = CL_SUCCESS;
  if (!ir_custom_is_call(whole->attributes, whole->attribute_bytes, whole->operand_count))
    return ir_fail(error, IR_ERR_INTERNAL, "the plan describes a custom call wrongly");
  memcpy(&c.attributes, whole->attributes, sizeof c.attributes);
  if (c.attributes.results != whole->result_count)
    return ir_fail(error, IR_ERR_INTERNAL, "the plan lacks a result of a custom call");
  for (uint32_t k = 0; k < c.attributes.batch; k++) c.batch *= whole->results[0].dims[k];
  for (uint32_t i = 0; i < c.attributes.operands; i++) c.operands[i] = one_of(&c, &whole->operands[i]);
  for (uint32_t i = 0; i < c.attributes.results; i++) c.results[i] = one_of(&c, &whole->results[i]);
  ir_status status = find_program(&c, &program);
  if (status) return status;
  cl_kernel kernel = device_of(&c)->cl.CreateKernel(program, KERNEL, &code);
  if (!kernel)
    return rt_cl_fail(error, code, "device %s: operation %s", device_of(&c)->properties.name,
                      c.attributes.name);
  for (int64_t i = 0; i < c.batch && !status; i++) status = call_element(&c, kernel, i);
  device_of(&c)->cl.ReleaseKernel(kernel);
  return status;
}
