#define CL_TARGET_OPENCL_VERSION 120
#include "ir/timer.h"
#include "test/lib/device_copy.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, REPETITIONS = 10 };

#define CALLS(X)                                                                                             \
  X(clGetPlatformIDs)                                                                                        \
  X(clGetDeviceIDs)                                                                                          \
  X(clGetDeviceInfo)                                                                                         \
  X(clCreateContext)                                                                                         \
  X(clCreateCommandQueue)                                                                                    \
  X(clCreateBuffer)                                                                                          \
  X(clEnqueueCopyBuffer)                                                                                     \
  X(clEnqueueFillBuffer) X(clFinish) X(clReleaseMemObject) X(clReleaseCommandQueue) X(clReleaseContext)
#define MEMBER(name) __typeof__(&name) name;
#define FIND(name)   cl.name = (__typeof__(&name))(uintptr_t)dlsym(library, #name), all = all && cl.name;
static struct { CALLS(MEMBER) } cl;

static bool open_loader(void) {
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  bool all = library != NULL;
  if (library) {
    CALLS(FIND)
  }
  return all;
}

static double now(void) { return (double)ir_now_ns() * 1e-9; }

/* The device that `name` selects among all devices of all platforms; NULL: none. */
static cl_device_id choose(const char *name) {
  cl_platform_id platforms[MOST];
  cl_uint platform_count = 0;
  const char *which = name && strchr(name, ':') ? strchr(name, ':') + 1 : "0";
  char *end;
  long number = strtol(which, &end, 10);
  bool by_number = !*end;
  if (cl.clGetPlatformIDs(MOST, platforms, &platform_count) != CL_SUCCESS) return NULL;
  for (cl_uint p = 0; p < platform_count && p < MOST; p++) {
    cl_device_id devices[MOST];
    cl_uint count = 0;
    if (cl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST, devices, &count) != CL_SUCCESS) continue;
    for (cl_uint d = 0; d < count && d < MOST; d++) {
      char text[256] = "";
      cl.clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof text, text, NULL);
      if (by_number ? number-- == 0 : strstr(text, which) != NULL) return devices[d];
    }
  }
  return NULL;
}

/* Seconds for that many copies; negative on failure. */
static double copy_seconds(cl_command_queue queue, cl_mem from, cl_mem to, size_t bytes, long count) {
  double begin = now();
  for (long i = 0; i < count; i++)
    if (cl.clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, NULL, NULL) != CL_SUCCESS) return -1;
  return cl.clFinish(queue) == CL_SUCCESS ? now() - begin : -1;
}

static double best_copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t bytes, double seconds) {
  double once = copy_seconds(queue, from, to, bytes, 1), best = -1;
  if (once >= 0) once = copy_seconds(queue, from, to, bytes, 1);
  if (once < 0) return -1;
  long count = (long)(seconds / REPETITIONS / once) + 1;
  for (int r = 0; r < REPETITIONS; r++) {
    double each = copy_seconds(queue, from, to, bytes, count) / (double)count;
    if (each < 0) return -1;
    if (best < 0 || each < best) best = each;
  }
  return best;
}

bool device_copy(const char *name, size_t bytes, double seconds) {
  if (!open_loader()) return fprintf(stderr, "there is no OpenCL loader, libOpenCL.so.1\n"), false;
  cl_device_id device = choose(name);
  if (!device) return fprintf(stderr, "there is no OpenCL device %s\n", name ? name : ""), false;
  char text[256] = "";
  const unsigned char zero = 0;
  double best = -1;
  cl.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL);
  cl_context context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = context ? cl.clCreateCommandQueue(context, device, 0, NULL) : NULL;
  cl_mem from = queue ? cl.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL) : NULL;
  cl_mem to = from ? cl.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL) : NULL;
  if (to && cl.clEnqueueFillBuffer(queue, from, &zero, 1, 0, bytes, 0, NULL, NULL) == CL_SUCCESS)
    best = best_copy(queue, from, to, bytes, seconds);
  if (to) cl.clReleaseMemObject(to);
  if (from) cl.clReleaseMemObject(from);
  if (queue) cl.clReleaseCommandQueue(queue);
  if (context) cl.clReleaseContext(context);
  if (best < 0) return fprintf(stderr, "%s: copying %zu bytes failed\n", text, bytes), false;
  printf("{\"device\": \"%s\", \"copy_bytes\": %zu, \"copy_gbs\": %.3f}\n", text, bytes,
         2e-9 * (double)bytes / best);
  return true;
}
