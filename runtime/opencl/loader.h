/* The functions of OpenCL, looked up in its loader when first needed. viewfold is not linked with the loader,
 * so it runs on machines without one. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_LOADER_H
#define VIEWFOLD_RUNTIME_OPENCL_LOADER_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "ir/base.h"

/* All functions that are used, without the prefix `cl`. */
#define RT_CL_FUNCTIONS(F)                                                                                   \
  F(GetPlatformIDs)                                                                                          \
  F(GetPlatformInfo)                                                                                         \
  F(GetDeviceIDs)                                                                                            \
  F(GetDeviceInfo)                                                                                           \
  F(CreateContext)                                                                                           \
  F(ReleaseContext)                                                                                          \
  F(CreateCommandQueue)                                                                                      \
  F(ReleaseCommandQueue)                                                                                     \
  F(CreateBuffer)                                                                                            \
  F(CreateSubBuffer)                                                                                         \
  F(RetainMemObject)                                                                                         \
  F(ReleaseMemObject)                                                                                        \
  F(CreateProgramWithSource)                                                                                 \
  F(CreateProgramWithBinary)                                                                                 \
  F(BuildProgram)                                                                                            \
  F(GetProgramInfo)                                                                                          \
  F(GetProgramBuildInfo)                                                                                     \
  F(ReleaseProgram)                                                                                          \
  F(CreateKernel)                                                                                            \
  F(SetKernelArg)                                                                                            \
  F(GetKernelWorkGroupInfo)                                                                                  \
  F(ReleaseKernel)                                                                                           \
  F(EnqueueReadBuffer)                                                                                       \
  F(EnqueueWriteBuffer)                                                                                      \
  F(EnqueueCopyBuffer)                                                                                       \
  F(EnqueueFillBuffer)                                                                                       \
  F(EnqueueMapBuffer)                                                                                        \
  F(EnqueueUnmapMemObject)                                                                                   \
  F(EnqueueNDRangeKernel)                                                                                    \
  F(EnqueueMarkerWithWaitList)                                                                               \
  F(EnqueueBarrierWithWaitList)                                                                              \
  F(WaitForEvents)                                                                                           \
  F(GetEventProfilingInfo)                                                                                   \
  F(ReleaseEvent)                                                                                            \
  F(Flush)                                                                                                   \
  F(Finish)

typedef struct rt_cl {
  void *handle;
#define F(name) __typeof__(&cl##name) name;
  RT_CL_FUNCTIONS(F)
#undef F
} rt_cl;

/* Open the loader `file`, NULL: libOpenCL.so.1. IR_ERR_DEVICE: it cannot be opened or lacks functions. */
ir_status rt_cl_load(const char *file, rt_cl *out, ir_error *error);
void rt_cl_unload(rt_cl *cl);

/* Fails with the status and message for an error code of OpenCL. `format` says what was tried, as in "running
 * kernel x". */
ir_status rt_cl_fail(ir_error *error, cl_int code, const char *format, ...) IR_PRINTF(3, 4);

#endif
