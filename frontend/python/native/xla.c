/* Programs as custom calls of XLA, on the processor: the function that XLA calls, by the C interface of its
 * FFI.
 *
 * The structures are those that openxla's xla/ffi/api/c_api.h describes (version 0.3); each begins with its
 * size, so later versions, which add members at the end, are read the same way. */
#include "frontend/python/native/native.h"

#include <stdlib.h>

enum { METADATA = 1, SCALAR = 3, EXECUTE = 3, INVALID_ARGUMENT = 3, INTERNAL = 13, MAJOR = 0, MINOR = 1 };

typedef struct xla_extension {
  size_t size;
  int type;
  struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
  size_t size;
  xla_extension *extension;
  int major, minor;
} xla_version;

typedef struct xla_metadata {
  size_t size;
  xla_version version;
} xla_metadata;

typedef struct xla_metadata_extension {
  xla_extension base;
  xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_error_text {
  size_t size;
  xla_extension *extension;
  const char *message;
  int code;
} xla_error_text;

typedef struct xla_api {
  size_t size;
  xla_extension *extension;
  xla_version version;
  const void *internal;
  void *(*error)(xla_error_text *text);
} xla_api;

typedef struct xla_buffer {
  size_t size;
  xla_extension *extension;
  int dtype;
  void *data;
  int64_t rank, *dims;
} xla_buffer;

typedef struct xla_buffers {
  size_t size;
  xla_extension *extension;
  int64_t count;
  int *types;
  xla_buffer **buffers;
} xla_buffers;

typedef struct xla_scalar {
  int dtype;
  const int64_t *value;
} xla_scalar;

typedef struct xla_attributes {
  size_t size;
  xla_extension *extension;
  int64_t count;
  int *types;
  const void **names;
  xla_scalar **values;
} xla_attributes;

typedef struct xla_frame {
  size_t size;
  xla_extension *extension;
  const xla_api *api;
  void *context;
  int stage;
  xla_buffers arguments, results;
  xla_attributes attributes;
} xla_frame;

static void *failure(const xla_frame *f, int code, const char *message) {
  xla_error_text text = {sizeof text, NULL, message, code};
  return f->api->error(&text);
}

static void *run(const xla_frame *f, const py_program *p) {
  enum { FEW = 32 };
  const void *few_inputs[FEW], **inputs = few_inputs;
  void *few_outputs[FEW], **outputs = few_outputs;
  if (f->arguments.count != p->inputs || f->results.count != p->outputs)
    return failure(f, INVALID_ARGUMENT, "viewfold: the program has other numbers of inputs and outputs");
  bool many = p->inputs > FEW || p->outputs > FEW;
  if (many) {
    inputs = calloc((size_t)p->inputs + 1, sizeof *inputs);
    outputs = calloc((size_t)p->outputs + 1, sizeof *outputs);
  }
  vf_error error = {.status = VF_ERR_MEMORY, .message = "out of memory for the addresses of arrays"};
  if (inputs && outputs) {
    for (int i = 0; i < p->inputs; i++) inputs[i] = f->arguments.buffers[i]->data;
    for (int i = 0; i < p->outputs; i++) outputs[i] = f->results.buffers[i]->data;
    vf_program_run(p->program, inputs, outputs, NULL, &error);
  }
  if (many) {
    free(inputs);
    free(outputs);
  }
  return error.status ? failure(f, INTERNAL, error.message) : NULL;
}

/* The attribute is the address of a program, which whoever made the call keeps. On any thread, without
 * Python's lock. */
static void *handler(xla_frame *f) {
  if (f->extension && f->extension->type == METADATA) { /* XLA asks which version this was written for */
    xla_version *version = &((xla_metadata_extension *)f->extension)->metadata->version;
    version->major = MAJOR;
    version->minor = MINOR;
    return NULL;
  }
  if (f->stage != EXECUTE) return NULL;
  if (f->attributes.count != 1 || f->attributes.types[0] != SCALAR)
    return failure(f, INVALID_ARGUMENT, "viewfold: the call has no program");
  return run(f, (const py_program *)(uintptr_t)*f->attributes.values[0]->value);
}

PyObject *py_xla_handler(PyObject *module, PyObject *none) {
  (void)module;
  (void)none;
  union {
    void *(*function)(xla_frame *);
    void *address;
  } of = {handler};
  return PyCapsule_New(of.address, "xla._CUSTOM_CALL_TARGET", NULL);
}
