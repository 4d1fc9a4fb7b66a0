/* Opening OpenCL's loader; its error codes. */
#include "runtime/opencl/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LOADER "libOpenCL.so.1"

static const char *const names[] = {
#define F(name) "cl" #name,
    RT_CL_FUNCTIONS(F)
#undef F
};

/* Drivers keep threads and register objects with the process, so they are never unloaded (RTLD_NODELETE). */
ir_status rt_cl_load(const char *file, rt_cl *out, ir_error *error) {
  *out = (rt_cl){0};
  out->handle = dlopen(file ? file : LOADER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!out->handle)
    return ir_fail(error, IR_ERR_DEVICE,
                   "OpenCL: there is no loader (%s); on Debian the package ocl-icd-libopencl1 has one, and "
                   "pocl-opencl-icd a device of the processor",
                   dlerror());
  char *at = (char *)out + offsetof(rt_cl, GetPlatformIDs);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++, at += sizeof(void *)) {
    void *function = dlsym(out->handle, names[i]);
    if (!function) {
      rt_cl_unload(out);
      return ir_fail(error, IR_ERR_DEVICE, "OpenCL: the loader %s has no %s; one of OpenCL 1.2 or later does",
                     file ? file : LOADER, names[i]);
    }
    memcpy(at, &function, sizeof function);
  }
  return IR_OK;
}

void rt_cl_unload(rt_cl *cl) {
  if (cl->handle) dlclose(cl->handle);
  *cl = (rt_cl){0};
}

/* The status that a failure with each code has. Codes of an invalid call mean that the driver cannot be
 * used. */
typedef struct code_row {
  cl_int code;
  const char *name;
  ir_status status;
} code_row;
#define ROW(code, status)                                                                                    \
  { code, #code, status }
#ifndef CL_PLATFORM_NOT_FOUND_KHR
#define CL_PLATFORM_NOT_FOUND_KHR -1001
#endif
static const code_row codes[] = {
    ROW(CL_DEVICE_NOT_FOUND, IR_ERR_DEVICE),
    ROW(CL_DEVICE_NOT_AVAILABLE, IR_ERR_DEVICE),
    ROW(CL_COMPILER_NOT_AVAILABLE, IR_ERR_UNSUPPORTED),
    ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE, IR_ERR_MEMORY),
    ROW(CL_OUT_OF_RESOURCES, IR_ERR_DEVICE),
    ROW(CL_OUT_OF_HOST_MEMORY, IR_ERR_MEMORY),
    ROW(CL_PROFILING_INFO_NOT_AVAILABLE, IR_ERR_DEVICE),
    ROW(CL_MAP_FAILURE, IR_ERR_DEVICE),
    ROW(CL_BUILD_PROGRAM_FAILURE, IR_ERR_COMPILE),
    ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET, IR_ERR_DEVICE),
    ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, IR_ERR_DEVICE),
    ROW(CL_INVALID_VALUE, IR_ERR_DEVICE),
    ROW(CL_INVALID_DEVICE, IR_ERR_DEVICE),
    ROW(CL_INVALID_CONTEXT, IR_ERR_DEVICE),
    ROW(CL_INVALID_COMMAND_QUEUE, IR_ERR_DEVICE),
    ROW(CL_INVALID_HOST_PTR, IR_ERR_DEVICE),
    ROW(CL_INVALID_MEM_OBJECT, IR_ERR_DEVICE),
    ROW(CL_INVALID_BINARY, IR_ERR_COMPILE),
    ROW(CL_INVALID_BUILD_OPTIONS, IR_ERR_COMPILE),
    ROW(CL_INVALID_PROGRAM, IR_ERR_DEVICE),
    ROW(CL_INVALID_PROGRAM_EXECUTABLE, IR_ERR_COMPILE),
    ROW(CL_INVALID_KERNEL_NAME, IR_ERR_COMPILE),
    ROW(CL_INVALID_KERNEL_DEFINITION, IR_ERR_COMPILE),
    ROW(CL_INVALID_ARG_INDEX, IR_ERR_DEVICE),
    ROW(CL_INVALID_ARG_VALUE, IR_ERR_DEVICE),
    ROW(CL_INVALID_ARG_SIZE, IR_ERR_DEVICE),
    ROW(CL_INVALID_KERNEL_ARGS, IR_ERR_DEVICE),
    ROW(CL_INVALID_WORK_GROUP_SIZE, IR_ERR_UNSUPPORTED),
    ROW(CL_INVALID_WORK_ITEM_SIZE, IR_ERR_UNSUPPORTED),
    ROW(CL_INVALID_GLOBAL_WORK_SIZE, IR_ERR_UNSUPPORTED),
    ROW(CL_INVALID_OPERATION, IR_ERR_DEVICE),
    ROW(CL_INVALID_BUFFER_SIZE, IR_ERR_MEMORY),
    ROW(CL_INVALID_EVENT, IR_ERR_DEVICE),
    ROW(CL_PLATFORM_NOT_FOUND_KHR, IR_ERR_DEVICE),
};

static const code_row *row_of(cl_int code) {
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i].code == code) return &codes[i];
  return NULL;
}

/* The name of an error code, "CL_OUT_OF_RESOURCES" */
static const char *error_name(cl_int code) {
  const code_row *row = row_of(code);
  return row ? row->name : "an error of the driver's own";
}

ir_status rt_cl_fail(ir_error *error, cl_int code, const char *format, ...) {
  char what[900];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const code_row *row = row_of(code);
  ir_status status = row ? row->status : IR_ERR_DEVICE;
  bool lost = code == CL_INVALID_CONTEXT || code == CL_INVALID_COMMAND_QUEUE;
  return ir_fail(error, status, "OpenCL: %s: %s (%d)%s", what, error_name(code), (int)code,
                 lost ? "; the driver has given up what it had for this context, and a new one may work"
                      : "");
}
