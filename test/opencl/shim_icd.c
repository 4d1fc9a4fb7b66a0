/* An OpenCL driver made from another one: it opens a real driver and puts its own functions into that
 * driver's dispatch table (cl_khr_icd), which every object of the driver points to. They count calls, fail
 * the chosen ones, report other properties than the device's, and otherwise call the driver. So kernels
 * really run, in the driver's memory. Settings: shim.h. */
#define _GNU_SOURCE              /* RTLD flags */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/opencl/shim.h"
#include "test/opencl/shim_held.h"
#include "test/opencl/shim_shadow.h"

#define EXPORTED __attribute__((visibility("default")))

static cl_icd_dispatch real; /* the driver's own table */

/* ---- settings */

enum { TEXT = 512 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char settings[TEXT];

/* The text after `name=`, or "" for the bare word; NULL where it is not set. Valid under the lock. */
static const char *setting(const char *name) {
  size_t length = strlen(name);
  for (const char *at = settings; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    if (strncmp(at, name, length)) continue;
    if (at[length] == '=') return at + length + 1;
    if (at[length] == ' ' || !at[length]) return "";
  }
  return NULL;
}

static long number(const char *name, long otherwise) {
  const char *text = setting(name);
  return text ? strtol(text, NULL, 0) : otherwise;
}

static bool is_set(const char *name) {
  pthread_mutex_lock(&lock);
  bool set = setting(name) != NULL;
  pthread_mutex_unlock(&lock);
  return set;
}

/* ---- counting and failing calls */

enum { ENQUEUE = 1, WAIT = 2, ALLOCATE = 4, MAKE = 8 };
static const struct {
  const char *name;
  int classes;
} named_classes[] = {{"enqueue", ENQUEUE},
                     {"wait", WAIT},
                     {"allocate", ALLOCATE},
                     {"make", MAKE},
                     {"all", ENQUEUE | WAIT | ALLOCATE | MAKE}};

/* The calls that can fail, as class, name, parameters, arguments: first those that return a status, */
#define STATUS_CALLS(X)                                                                                      \
  X(MAKE, BuildProgram,                                                                                      \
    (cl_program p, cl_uint n, const cl_device_id *d, const char *options, build_notify f, void *user),       \
    (p, n, d, options, f, user))                                                                             \
  X(MAKE, SetKernelArg, (cl_kernel k, cl_uint i, size_t size, const void *value), (k, i, size, value))       \
  X(WAIT, Finish, (cl_command_queue q), (q))                                                                 \
  X(WAIT, Flush, (cl_command_queue q), (q))                                                                  \
  X(WAIT, WaitForEvents, (cl_uint n, const cl_event *e), (n, e))                                             \
  X(ENQUEUE, EnqueueNDRangeKernel,                                                                           \
    (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *size,                \
     const size_t *group, cl_uint n, const cl_event *after, cl_event *e),                                    \
    (q, k, dims, offset, size, group, n, after, e))                                                          \
  X(ENQUEUE, EnqueueReadBuffer,                                                                              \
    (cl_command_queue q, cl_mem m, cl_bool block, size_t offset, size_t size, void *to, cl_uint n,           \
     const cl_event *after, cl_event *e),                                                                    \
    (q, m, block, offset, size, to, n, after, e))                                                            \
  X(ENQUEUE, EnqueueWriteBuffer,                                                                             \
    (cl_command_queue q, cl_mem m, cl_bool block, size_t offset, size_t size, const void *from, cl_uint n,   \
     const cl_event *after, cl_event *e),                                                                    \
    (q, m, block, offset, size, from, n, after, e))                                                          \
  X(ENQUEUE, EnqueueFillBuffer,                                                                              \
    (cl_command_queue q, cl_mem m, const void *what, size_t width, size_t offset, size_t size, cl_uint n,    \
     const cl_event *after, cl_event *e),                                                                    \
    (q, m, what, width, offset, size, n, after, e))                                                          \
  X(ENQUEUE, EnqueueMarkerWithWaitList, (cl_command_queue q, cl_uint n, const cl_event *after, cl_event *e), \
    (q, n, after, e))                                                                                        \
  X(ENQUEUE, EnqueueBarrierWithWaitList,                                                                     \
    (cl_command_queue q, cl_uint n, const cl_event *after, cl_event *e), (q, n, after, e))

/* then those that return an object, of the given kind, with the status through their last parameter. */
#define OBJECT_CALLS(X)                                                                                      \
  X(MAKE, SHIM_CONTEXTS, cl_context, CreateContext,                                                          \
    (const cl_context_properties *p, cl_uint n, const cl_device_id *d, context_notify f, void *user,         \
     cl_int *status),                                                                                        \
    (p, n, d, f, user, status))                                                                              \
  X(MAKE, SHIM_QUEUES, cl_command_queue, CreateCommandQueue,                                                 \
    (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int * status), (c, d, p, status))       \
  X(MAKE, SHIM_KERNELS, cl_kernel, CreateKernel, (cl_program p, const char *name, cl_int *status),           \
    (p, name, status))                                                                                       \
  X(ALLOCATE, SHIM_BUFFERS, cl_mem, CreateSubBuffer,                                                         \
    (cl_mem m, cl_mem_flags flags, cl_buffer_create_type type, const void *region, cl_int *status),          \
    (m, flags, type, region, status))                                                                        \
  X(ENQUEUE, SHIM_NOTHING, void *, EnqueueMapBuffer,                                                         \
    (cl_command_queue q, cl_mem m, cl_bool block, cl_map_flags flags, size_t offset, size_t size, cl_uint n, \
     const cl_event *after, cl_event *e, cl_int *status),                                                    \
    (q, m, block, flags, offset, size, n, after, e, status))

/* These need more than a call of the driver, and are written out below. */
#define OTHER_CALLS(X)                                                                                       \
  X(ALLOCATE, CreateBuffer)                                                                                  \
  X(MAKE, CreateProgramWithBinary)                                                                           \
  X(MAKE, CreateProgramWithSource) X(ENQUEUE, EnqueueUnmapMemObject) X(ENQUEUE, EnqueueCopyBuffer)

#define NUMBER_STATUS(class, name, ...)             CALL_##name,
#define NUMBER_OBJECT(class, kind, type, name, ...) CALL_##name,
enum { STATUS_CALLS(NUMBER_STATUS) OBJECT_CALLS(NUMBER_OBJECT) OTHER_CALLS(NUMBER_STATUS) CALLS };

#define ROW_STATUS(class, name, ...)             {#name, class, 0},
#define ROW_OBJECT(class, kind, type, name, ...) {#name, class, 0},
static struct {
  const char *name;
  int classes;
  long count;
} calls[CALLS] = {STATUS_CALLS(ROW_STATUS) OBJECT_CALLS(ROW_OBJECT) OTHER_CALLS(ROW_STATUS)};

/* The classes that a name stands for as bits, or -1 - its number if it names a call; 0: neither. */
static int meaning(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof named_classes / sizeof *named_classes; i++)
    if (strlen(named_classes[i].name) == length && !strncmp(named_classes[i].name, name, length))
      return named_classes[i].classes;
  for (int i = 0; i < CALLS; i++)
    if (strlen(calls[i].name) == length && !strncmp(calls[i].name, name, length)) return -1 - i;
  return 0;
}

static long counted(int what) {
  long sum = 0;
  for (int i = 0; i < CALLS; i++)
    if (what == -1 - i || (what > 0 && calls[i].classes & what)) sum += calls[i].count;
  return sum;
}

static bool told; /* set by the process: the environment is ignored */

static void apply_settings(const char *text) {
  snprintf(settings, sizeof settings, "%s", text);
  for (int i = 0; i < CALLS; i++) calls[i].count = 0;
}

/* Reads the settings again if they changed. Call with the lock held. */
static void refresh(void) {
  const char *now = told ? settings : getenv("VF_SHIM");
  if (!now) now = "";
  if (strncmp(now, settings, TEXT - 1)) apply_settings(now);
}

/* Counts a call. Returns the status with which it must fail, or CL_SUCCESS. */
static cl_int called(int call) {
  cl_int status = CL_SUCCESS;
  pthread_mutex_lock(&lock);
  refresh();
  calls[call].count++;
  const char *fail = setting("fail"), *at = fail ? strchr(fail, ':') : NULL;
  int what = at ? meaning(fail, (size_t)(at - fail)) : 0;
  if (what == -1 - call || (what > 0 && calls[call].classes & what)) {
    char *end;
    long n = strtol(at + 1, &end, 0), count = counted(what);
    bool later = *end == '+';
    if (count == n || (later && count > n)) status = (cl_int)strtol(end + 1 + later, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- references that the caller holds */

/* The retain and release functions of each kind. */
#define REFERENCE_CALLS(X)                                                                                   \
  X(SHIM_CONTEXTS, Context, cl_context)                                                                      \
  X(SHIM_QUEUES, CommandQueue, cl_command_queue)                                                             \
  X(SHIM_BUFFERS, MemObject, cl_mem)                                                                         \
  X(SHIM_PROGRAMS, Program, cl_program)                                                                      \
  X(SHIM_KERNELS, Kernel, cl_kernel)                                                                         \
  X(SHIM_EVENTS, Event, cl_event)
#define DEFINE_REFERENCE(kind, name, type)                                                                   \
  static cl_int CL_API_CALL my_Retain##name(type of) {                                                       \
    cl_int status = real.clRetain##name(of);                                                                 \
    if (status == CL_SUCCESS) shim_hold(kind, of, 1);                                                        \
    return status;                                                                                           \
  }                                                                                                          \
  static cl_int CL_API_CALL my_Release##name(type of) {                                                      \
    cl_int status = real.clRelease##name(of);                                                                \
    if (status == CL_SUCCESS) shim_hold(kind, of, -1);                                                       \
    return status;                                                                                           \
  }
REFERENCE_CALLS(DEFINE_REFERENCE)

typedef void(CL_CALLBACK *build_notify)(cl_program, void *);
typedef void(CL_CALLBACK *context_notify)(const char *, const void *, size_t, void *);

/* A build that has to fail does not start; my_GetProgramBuildInfo returns its log. */
static cl_int before(int call) {
  cl_int status = called(call);
  if (status != CL_SUCCESS || call != CALL_BuildProgram) return status;
  pthread_mutex_lock(&lock);
  status = setting("log") ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
  pthread_mutex_unlock(&lock);
  return status;
}

#define DEFINE_STATUS(class, name, params, args)                                                             \
  static cl_int CL_API_CALL my_##name params {                                                               \
    cl_int wrong = before(CALL_##name);                                                                      \
    if (wrong == CL_SUCCESS) wrong = real.cl##name args;                                                     \
    if (wrong == CL_SUCCESS) HOLD_EVENT_##class;                                                             \
    return wrong;                                                                                            \
  }
/* The parameter `e` of a command asks for its event. */
#define HOLD_EVENT_ENQUEUE  shim_hold(SHIM_EVENTS, e, 1)
#define HOLD_EVENT_MAKE     (void)0
#define HOLD_EVENT_WAIT     (void)0
#define HOLD_EVENT_ALLOCATE (void)0
#define DEFINE_OBJECT(class, kind, type, name, params, args)                                                 \
  static type CL_API_CALL my_##name params {                                                                 \
    cl_int wrong = called(CALL_##name);                                                                      \
    type made = wrong == CL_SUCCESS ? real.cl##name args : NULL;                                             \
    shim_hold(kind, made, 1);                                                                                \
    if (made) HOLD_EVENT_##class;                                                                            \
    if (wrong != CL_SUCCESS && status) *status = wrong;                                                      \
    return made;                                                                                             \
  }
STATUS_CALLS(DEFINE_STATUS)
OBJECT_CALLS(DEFINE_OBJECT)

/* ---- memory */

static long alive, alive_bytes; /* buffers; under the lock */

static void CL_CALLBACK forget(cl_mem m, void *size) {
  (void)m;
  pthread_mutex_lock(&lock);
  alive--, alive_bytes -= (long)(intptr_t)size;
  pthread_mutex_unlock(&lock);
}

static cl_int room_for(cl_mem_flags flags, size_t size) {
  pthread_mutex_lock(&lock);
  cl_int status = CL_SUCCESS;
  if (setting("gpu") && flags & CL_MEM_USE_HOST_PTR) status = CL_INVALID_HOST_PTR;
  else if ((long)size > number("max_alloc", INT64_MAX)) status = CL_INVALID_BUFFER_SIZE;
  else if ((long)size > number("memory", INT64_MAX) - alive_bytes) status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  pthread_mutex_unlock(&lock);
  return status;
}

static cl_mem CL_API_CALL my_CreateBuffer(cl_context c, cl_mem_flags flags, size_t size, void *host,
                                          cl_int *status) {
  cl_int wrong = called(CALL_CreateBuffer);
  if (wrong == CL_SUCCESS) wrong = room_for(flags, size);
  cl_mem m = wrong == CL_SUCCESS ? real.clCreateBuffer(c, flags, size, host, &wrong) : NULL;
  if (m && real.clSetMemObjectDestructorCallback(m, forget, (void *)(intptr_t)size) == CL_SUCCESS) {
    pthread_mutex_lock(&lock);
    alive++, alive_bytes += (long)size;
    pthread_mutex_unlock(&lock);
  }
  shim_hold(SHIM_BUFFERS, m, 1);
  if (m && is_set("shadow")) real.clRetainMemObject(m);
  if (status) *status = wrong;
  return m;
}

static cl_int CL_API_CALL my_EnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t a, size_t b,
                                               size_t size, cl_uint n, const cl_event *after, cl_event *e) {
  cl_int wrong = called(CALL_EnqueueCopyBuffer);
  if (wrong != CL_SUCCESS) return wrong;
  if (!n && !e && is_set("shadow")) return shim_shadow_copy(&real, q, from, to, a, b, size);
  wrong = real.clEnqueueCopyBuffer(q, from, to, a, b, size, n, after, e);
  if (wrong == CL_SUCCESS) shim_hold(SHIM_EVENTS, e, 1);
  return wrong;
}

/* On a lost device the call fails but still unmaps in the real driver, which would keep the buffer otherwise.
 */
static cl_int CL_API_CALL my_EnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *at, cl_uint n,
                                                   const cl_event *after, cl_event *e) {
  cl_int wrong = called(CALL_EnqueueUnmapMemObject);
  if (wrong == CL_SUCCESS) {
    wrong = real.clEnqueueUnmapMemObject(q, m, at, n, after, e);
    if (wrong == CL_SUCCESS) shim_hold(SHIM_EVENTS, e, 1);
    return wrong;
  }
  pthread_mutex_lock(&lock);
  const char *fail = setting("fail");
  bool lost = fail && memchr(fail, '+', strcspn(fail, " "));
  pthread_mutex_unlock(&lock);
  if (lost) real.clEnqueueUnmapMemObject(q, m, at, n, after, NULL);
  return wrong;
}

/* ---- programs */

static cl_program CL_API_CALL my_CreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *d,
                                                         const size_t *sizes, const unsigned char **binaries,
                                                         cl_int *each, cl_int *status) {
  cl_int wrong = called(CALL_CreateProgramWithBinary);
  pthread_mutex_lock(&lock);
  if (wrong == CL_SUCCESS && setting("no_binaries")) wrong = CL_INVALID_BINARY;
  pthread_mutex_unlock(&lock);
  if (wrong == CL_SUCCESS) {
    cl_program made = real.clCreateProgramWithBinary(c, n, d, sizes, binaries, each, status);
    shim_hold(SHIM_PROGRAMS, made, 1);
    return made;
  }
  for (cl_uint i = 0; each && i < n; i++) each[i] = wrong;
  if (status) *status = wrong;
  return NULL;
}

/* Mistakes to plant into kernels; b0 is the buffer that a kernel of viewfold writes. */
static const struct {
  const char *name, *statement;
} plants[] = {{"bounds", " b0[1 << 28] = 0;"},
              {"race", " b0[0] = get_global_id(0);"},
              {"unwritten", " b0[0] = b0[0];"}};

/* The program's text with the statement at the beginning of each kernel; NULL: out of memory. */
static char *planted(const char *text, const char *statement) {
  char *out = NULL;
  size_t size;
  FILE *file = open_memstream(&out, &size);
  if (!file) return NULL;
  for (const char *at; (at = strstr(text, "\nkernel ")) && (at = strchr(at, '{')); text = at + 1)
    fprintf(file, "%.*s%s", (int)(at + 1 - text), text, statement);
  fputs(text, file);
  return fclose(file) ? NULL : out;
}

/* The program's text for a compiler without doubles: `double` is an unknown name. */
static char *without_doubles(const char *text) {
  static const char *const widths[] = {"", "2", "3", "4", "8", "16"};
  char *out = NULL;
  size_t size;
  FILE *file = open_memstream(&out, &size);
  if (!file) return NULL;
  fputs("#undef cl_khr_fp64\n", file);
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    fprintf(file, "#define double%s this_device_has_no_double%s\n", widths[i], widths[i]);
  fprintf(file, "#line 1\n%s", text);
  return fclose(file) ? NULL : out;
}

static char *joined(cl_uint n, const char **texts, const size_t *sizes) {
  char *out = NULL;
  size_t size;
  FILE *file = open_memstream(&out, &size);
  for (cl_uint i = 0; file && i < n; i++)
    fwrite(texts[i], 1, sizes && sizes[i] ? sizes[i] : strlen(texts[i]), file);
  return !file || fclose(file) ? NULL : out;
}

static cl_program CL_API_CALL my_CreateProgramWithSource(cl_context c, cl_uint n, const char **texts,
                                                         const size_t *sizes, cl_int *status) {
  cl_int wrong = called(CALL_CreateProgramWithSource);
  const char *statement = NULL;
  pthread_mutex_lock(&lock);
  const char *plant = setting("plant");
  for (size_t i = 0; plant && i < sizeof plants / sizeof *plants; i++)
    if (!strncmp(plant, plants[i].name, strlen(plants[i].name))) statement = plants[i].statement;
  bool shadow = setting("shadow") != NULL, no_fp64 = setting("no_fp64") != NULL;
  pthread_mutex_unlock(&lock);
  if (wrong != CL_SUCCESS) {
    if (status) *status = wrong;
    return NULL;
  }
  cl_program made = NULL;
  if (!statement && !shadow && !no_fp64) {
    made = real.clCreateProgramWithSource(c, n, texts, sizes, status);
    shim_hold(SHIM_PROGRAMS, made, 1);
    return made;
  }
  char *text = joined(n, texts, sizes), *changed = NULL;
  if (text && shadow) changed = shim_shadow_text(text), free(text), text = changed;
  if (text && statement) changed = planted(text, statement), free(text), text = changed;
  if (text && no_fp64) changed = without_doubles(text), free(text);
  if (changed) made = real.clCreateProgramWithSource(c, 1, (const char *[]){changed}, NULL, status);
  shim_hold(SHIM_PROGRAMS, made, 1);
  if (!changed && status) *status = CL_OUT_OF_HOST_MEMORY;
  free(changed);
  return made;
}

/* Answers a query as OpenCL does: copies the value where there is room, and returns its size where that is
 * asked for. */
static cl_int answer(const void *value, size_t size, size_t room, void *to, size_t *needed) {
  if (needed) *needed = size;
  if (to && room < size) return CL_INVALID_VALUE;
  if (to) memcpy(to, value, size);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL my_GetProgramBuildInfo(cl_program p, cl_device_id d, cl_program_build_info what,
                                                 size_t room, void *to, size_t *needed) {
  char log[TEXT] = "";
  pthread_mutex_lock(&lock);
  const char *text = setting("log");
  bool told = text != NULL;
  if (told) snprintf(log, sizeof log, "%.*s", (int)strcspn(text, " "), text);
  pthread_mutex_unlock(&lock);
  for (char *at = log; *at; at++)
    if (*at == '_') *at = ' ';
  cl_build_status failed = CL_BUILD_ERROR;
  if (told && what == CL_PROGRAM_BUILD_LOG) return answer(log, strlen(log) + 1, room, to, needed);
  if (told && what == CL_PROGRAM_BUILD_STATUS) return answer(&failed, sizeof failed, room, to, needed);
  return real.clGetProgramBuildInfo(p, d, what, room, to, needed);
}

/* ---- properties */

static cl_int CL_API_CALL my_GetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint room,
                                          cl_device_id *devices, cl_uint *count) {
  pthread_mutex_lock(&lock);
  refresh();
  bool none = number("devices", 1) == 0, gpu = setting("gpu") != NULL;
  pthread_mutex_unlock(&lock);
  if (gpu && type != CL_DEVICE_TYPE_ALL && type != CL_DEVICE_TYPE_DEFAULT) {
    if (type & CL_DEVICE_TYPE_GPU) type = CL_DEVICE_TYPE_ALL;
    else none = true;
  }
  if (!none) return real.clGetDeviceIDs(p, type, room, devices, count);
  if (count) *count = 0;
  return CL_DEVICE_NOT_FOUND;
}

/* The list of extensions without the given one. */
static cl_int without(const char *word, cl_device_id d, size_t room, void *to, size_t *needed) {
  char list[8192];
  size_t size;
  cl_int status = real.clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, sizeof list, list, &size);
  if (status != CL_SUCCESS) return status;
  char *at = strstr(list, word);
  if (at) memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
  return answer(list, strlen(list) + 1, room, to, needed);
}

/* Properties whose numbers settings replace. */
static const struct {
  cl_device_info what;
  const char *setting;
  size_t size;
} limits[] = {{CL_DEVICE_MAX_WORK_GROUP_SIZE, "group", sizeof(size_t)},
              {CL_DEVICE_LOCAL_MEM_SIZE, "local", sizeof(cl_ulong)},
              {CL_DEVICE_MAX_MEM_ALLOC_SIZE, "max_alloc", sizeof(cl_ulong)},
              {CL_DEVICE_GLOBAL_MEM_SIZE, "memory", sizeof(cl_ulong)}};

static cl_int CL_API_CALL my_GetDeviceInfo(cl_device_id d, cl_device_info what, size_t room, void *to,
                                           size_t *needed) {
  pthread_mutex_lock(&lock);
  refresh();
  long limit = -1;
  size_t size = 0;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (limits[i].what == what) limit = number(limits[i].setting, -1), size = limits[i].size;
  bool gpu = setting("gpu") != NULL, no_fp64 = setting("no_fp64") != NULL,
       no_rounding = setting("no_rounding") != NULL;
  pthread_mutex_unlock(&lock);
  cl_device_type type = CL_DEVICE_TYPE_GPU;
  cl_bool unified = CL_FALSE;
  cl_device_local_mem_type local = CL_LOCAL;
  cl_device_fp_config config = 0;
  if (limit >= 0) return answer(&limit, size, room, to, needed); /* all eight bytes wide */
  if (gpu && what == CL_DEVICE_TYPE) return answer(&type, sizeof type, room, to, needed);
  if (gpu && what == CL_DEVICE_LOCAL_MEM_TYPE) return answer(&local, sizeof local, room, to, needed);
  if (gpu && what == CL_DEVICE_HOST_UNIFIED_MEMORY) return answer(&unified, sizeof unified, room, to, needed);
  if (no_fp64 && what == CL_DEVICE_DOUBLE_FP_CONFIG) return answer(&config, sizeof config, room, to, needed);
  if (no_fp64 && what == CL_DEVICE_EXTENSIONS) return without("cl_khr_fp64", d, room, to, needed);
  if (no_rounding && what == CL_DEVICE_SINGLE_FP_CONFIG &&
      real.clGetDeviceInfo(d, what, sizeof config, &config, NULL) == CL_SUCCESS) {
    config &= ~(cl_device_fp_config)CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    return answer(&config, sizeof config, room, to, needed);
  }
  return real.clGetDeviceInfo(d, what, room, to, needed);
}

static cl_int CL_API_CALL my_GetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                                    cl_kernel_work_group_info what, size_t room, void *to,
                                                    size_t *needed) {
  pthread_mutex_lock(&lock);
  size_t limit = (size_t)number("group", 0);
  pthread_mutex_unlock(&lock);
  if (limit && what == CL_KERNEL_WORK_GROUP_SIZE) return answer(&limit, sizeof limit, room, to, needed);
  return real.clGetKernelWorkGroupInfo(k, d, what, room, to, needed);
}

/* ---- the driver */

#define PUT_STATUS(class, name, ...)             table->cl##name = my_##name;
#define PUT_OBJECT(class, kind, type, name, ...) table->cl##name = my_##name;
#define PUT_REFERENCE(kind, name, type)                                                                      \
  table->clRetain##name = my_Retain##name, table->clRelease##name = my_Release##name;

/* Replaces functions in the driver's own table. */
static bool hook(cl_icd_dispatch *table) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)table & ~(page - 1),
            end = (uintptr_t)(table + 1);
  if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE)) return false;
  real = *table;
  STATUS_CALLS(PUT_STATUS)
  OBJECT_CALLS(PUT_OBJECT)
  OTHER_CALLS(PUT_STATUS)
  REFERENCE_CALLS(PUT_REFERENCE)
  table->clGetProgramBuildInfo = my_GetProgramBuildInfo;
  table->clGetDeviceIDs = my_GetDeviceIDs;
  table->clGetDeviceInfo = my_GetDeviceInfo;
  table->clGetKernelWorkGroupInfo = my_GetKernelWorkGroupInfo;
  return true;
}

/* The library that a vendor file names, "" for none. */
static void named_driver(const char *vendor_file, char *name, int room) {
  FILE *file = fopen(vendor_file, "re");
  if (!file || !fgets(name, room, file)) *name = 0;
  name[strcspn(name, "\n")] = 0;
  if (file) fclose(file);
}

/* The driver's entry point for the loader, found by name; the library stays open. */
static void *driver_platforms(void) {
  static void *library;
  char pocl[TEXT];
  pthread_mutex_lock(&lock);
  named_driver("/etc/OpenCL/vendors/pocl.icd", pocl, sizeof pocl);
  const char *file = getenv("VF_SHIM_DRIVER");
  if (!library) library = dlopen(file && *file ? file : pocl, RTLD_NOW | RTLD_LOCAL);
  void *address = library ? dlsym(library, "clGetExtensionFunctionAddress") : NULL;
  pthread_mutex_unlock(&lock);
  cl_api_clGetExtensionFunctionAddress by_name = (cl_api_clGetExtensionFunctionAddress)(uintptr_t)address;
  return by_name ? by_name("clIcdGetPlatformIDsKHR") : NULL;
}

typedef cl_int(CL_API_CALL *get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
typedef struct dispatched {
  cl_icd_dispatch *table;
} dispatched;

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
  enum { MOST = 8 };
  static bool hooked;
  cl_platform_id found[MOST];
  cl_uint n = 0;
  get_platforms get = (get_platforms)(uintptr_t)driver_platforms();
  if (count) *count = 0;
  if (!get || get(MOST, found, &n) != CL_SUCCESS || !n) return CL_PLATFORM_NOT_FOUND_KHR;
  if (!hooked && !hook(((dispatched *)found[0])->table)) return CL_PLATFORM_NOT_FOUND_KHR;
  hooked = true;
  return get(room, platforms, count);
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t room, void *to,
                                              size_t *needed) {
  return real.clGetPlatformInfo(p, what, room, to, needed);
}

EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
  if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void *)(uintptr_t)clIcdGetPlatformIDsKHR;
  return real.clGetExtensionFunctionAddress ? real.clGetExtensionFunctionAddress(name) : NULL;
}

/* ---- functions for tests */

EXPORTED void vf_shim_set(const char *text) {
  pthread_mutex_lock(&lock);
  apply_settings(text);
  told = true;
  pthread_mutex_unlock(&lock);
}

EXPORTED long vf_shim_count(const char *call) {
  pthread_mutex_lock(&lock);
  refresh();
  int what = meaning(call, strlen(call));
  long count = what ? counted(what) : -1;
  pthread_mutex_unlock(&lock);
  return count;
}

EXPORTED void vf_shim_alive(long *buffers, long *bytes) {
  pthread_mutex_lock(&lock);
  *buffers = alive, *bytes = alive_bytes;
  pthread_mutex_unlock(&lock);
}
