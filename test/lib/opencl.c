#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "test/lib/opencl.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/opencl/shim.h"

/* Relative to the root of the tree, in which tests run; the Makefile says which. */
#define FOLDER SHIM_FOLDER

const char *opencl_begin(void) {
  static char folder[4096];
  if (!realpath(FOLDER, folder) || access(FOLDER "/shim.icd", R_OK)) return FOLDER "/shim.icd is not built";
  if (access("/etc/OpenCL/vendors/pocl.icd", R_OK)) return "there is no PoCL (package pocl-opencl-icd)";
  if (!dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL))
    return "there is no OpenCL loader (package ocl-icd-libopencl1)";
  setenv("OCL_ICD_VENDORS", folder, 1);
  setenv("VF_SHIM", "", 1);
  return NULL;
}

/* A function of the shim, once the loader has opened it. */
static void *shim_function(const char *name) {
  static char path[4096];
  static void *shim;
  if (!shim && realpath(FOLDER "/shim.so", path)) shim = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  return shim ? dlsym(shim, name) : NULL;
}

/* By the shim or, before the driver is loaded and has started threads, by the environment. */
void opencl_set(const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  shim_set_function *set = (shim_set_function *)(uintptr_t)shim_function(SHIM_SET_NAME);
  if (set) set(text);
  else setenv("VF_SHIM", text, 1);
}

long opencl_count(const char *call) {
  shim_count_function *count = (shim_count_function *)(uintptr_t)shim_function(SHIM_COUNT_NAME);
  return count ? count(call) : -1;
}

/* The driver releases what its commands used a little after they have finished: waits for that. */
long opencl_buffers(void) {
  long buffers = 0, bytes;
  shim_alive_function *alive = (shim_alive_function *)(uintptr_t)shim_function(SHIM_ALIVE_NAME);
  for (int patience = 600000; alive && patience > 0; patience--) {
    alive(&buffers, &bytes);
    if (buffers == 0) break;
    usleep(1000);
  }
  return buffers;
}
