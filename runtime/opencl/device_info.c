/* Lists the OpenCL devices and their properties, and describes one as a target. */
#include "runtime/opencl/device.h"

#include <stdio.h>
#include <string.h>

#include "runtime/cpu/target.h"

enum { PLATFORMS = 16, EXTENSIONS = 16 << 10 };

/* queries; a property that the device does not know stays zero */

static void query_info(const rt_cl *cl, cl_device_id id, cl_device_info what, void *to, size_t size) {
  cl->GetDeviceInfo(id, what, size, to, NULL);
}

static bool yes(const rt_cl *cl, cl_device_id id, cl_device_info what) {
  cl_bool answer = CL_FALSE;
  query_info(cl, id, what, &answer, sizeof answer);
  return answer != CL_FALSE;
}

static uint32_t query_uint(const rt_cl *cl, cl_device_id id, cl_device_info what) {
  cl_uint answer = 0;
  query_info(cl, id, what, &answer, sizeof answer);
  return answer;
}

static uint64_t bytes(const rt_cl *cl, cl_device_id id, cl_device_info what) {
  cl_ulong answer = 0;
  query_info(cl, id, what, &answer, sizeof answer);
  return answer;
}

static uint64_t size(const rt_cl *cl, cl_device_id id, cl_device_info what) {
  size_t answer = 0;
  query_info(cl, id, what, &answer, sizeof answer);
  return answer;
}

/* Copies text with every run of blanks made one and none at the ends, truncated to the room. */
static void collapse_blanks(const char *text, char *to, size_t room) {
  size_t used = 0;
  for (const char *at = text + strspn(text, " \t\n"); *at && used + 1 < room;) {
    size_t blanks = strspn(at, " \t\n");
    at += blanks;
    if (!*at) break;
    if (blanks) to[used++] = ' ';
    if (used + 1 < room) to[used++] = *at++;
  }
  to[used] = '\0';
}

static void text(const rt_cl *cl, cl_device_id id, cl_device_info what, char *to, size_t room) {
  char answer[512] = "";
  cl->GetDeviceInfo(id, what, sizeof answer - 1, answer, NULL);
  collapse_blanks(answer, to, room);
}

/* Is the word in this list, which is separated by blanks? */
static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

static bool since_1_2(const char *version) {
  int major = 0, minor = 0;
  return sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 && (major > 1 || minor >= 2);
}

static void query_device(const rt_cl *cl, cl_platform_id platform, cl_device_id id, char *extensions,
                         rt_cl_properties *out) {
  char platform_name[512] = "";
  cl_device_type type = 0;
  cl_device_fp_config f32 = 0, f64 = 0;
  *out = (rt_cl_properties){.platform = platform, .id = id};
  cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL);
  collapse_blanks(platform_name, out->platform_name, sizeof out->platform_name);
  text(cl, id, CL_DEVICE_NAME, out->name, sizeof out->name);
  text(cl, id, CL_DEVICE_VERSION, out->version, sizeof out->version);
  text(cl, id, CL_DRIVER_VERSION, out->driver, sizeof out->driver);
  query_info(cl, id, CL_DEVICE_TYPE, &type, sizeof type);
  query_info(cl, id, CL_DEVICE_SINGLE_FP_CONFIG, &f32, sizeof f32);
  query_info(cl, id, CL_DEVICE_DOUBLE_FP_CONFIG, &f64, sizeof f64);
  memset(extensions, 0, EXTENSIONS);
  cl->GetDeviceInfo(id, CL_DEVICE_EXTENSIONS, EXTENSIONS - 1, extensions, NULL);
  out->cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  out->unified = yes(cl, id, CL_DEVICE_HOST_UNIFIED_MEMORY);
  out->available = yes(cl, id, CL_DEVICE_AVAILABLE);
  out->compiler = yes(cl, id, CL_DEVICE_COMPILER_AVAILABLE);
  out->little_endian = yes(cl, id, CL_DEVICE_ENDIAN_LITTLE);
  out->since_1_2 = since_1_2(out->version);
  out->f64 = f64 != 0 || has_word(extensions, "cl_khr_fp64");
  out->denormals = (f32 & CL_FP_DENORM) != 0;
  out->divides = (f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  out->fma = (f32 & CL_FP_FMA) != 0;
  if (has_word(extensions, "cl_nv_device_attribute_query")) {
    enum { WARP_SIZE = 0x4003, CAPABILITY_MAJOR = 0x4000 };                     /* of cl_ext.h */
    enum { SINCE = 7, MATRIX_SINCE = 8, MATRIX_ITEMS = 32, MATRIX_TERMS = 16 }; /* SINCE: PTX 6 */
    uint32_t capability = query_uint(cl, id, CAPABILITY_MAJOR);
    if (capability >= SINCE) out->together = query_uint(cl, id, WARP_SIZE);
    out->ptx = out->together > 0;
    if (capability >= MATRIX_SINCE && out->together == MATRIX_ITEMS) out->matrix = MATRIX_TERMS;
  }
  out->units = query_uint(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS);
  out->address_bits = query_uint(cl, id, CL_DEVICE_ADDRESS_BITS);
  out->vector_floats = query_uint(cl, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  out->alignment = query_uint(cl, id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  out->group = (uint32_t)size(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  out->parameters = size(cl, id, CL_DEVICE_MAX_PARAMETER_SIZE);
  out->memory = bytes(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE);
  out->buffer = bytes(cl, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out->local = bytes(cl, id, CL_DEVICE_LOCAL_MEM_SIZE);
  out->cache = bytes(cl, id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  if (out->units == 0) out->units = 1;
  if (out->alignment == 0) out->alignment = 128;
}

ir_status rt_cl_list(const rt_cl *cl, rt_cl_properties *list, size_t *count, ir_error *error) {
  cl_platform_id platforms[PLATFORMS];
  cl_uint platform_count = 0;
  char extensions[EXTENSIONS];
  *count = 0;
  cl_int code = cl->GetPlatformIDs(PLATFORMS, platforms, &platform_count);
  if (platform_count > PLATFORMS) platform_count = PLATFORMS;
  if (code != CL_SUCCESS || platform_count == 0)
    return ir_fail(error, IR_ERR_DEVICE,
                   "OpenCL: the loader knows no platform; drivers say where they are in files of "
                   "/etc/OpenCL/vendors. On Debian the package pocl-opencl-icd has one for the processor");
  for (cl_uint i = 0; i < platform_count; i++) {
    cl_device_id ids[RT_CL_DEVICES];
    cl_uint found = 0;
    if (cl->GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, RT_CL_DEVICES, ids, &found) != CL_SUCCESS)
      continue;
    for (cl_uint k = 0; k < found && k < RT_CL_DEVICES && *count < RT_CL_DEVICES; k++)
      query_device(cl, platforms[i], ids[k], extensions, &list[(*count)++]);
  }
  if (*count) return IR_OK;
  return ir_fail(error, IR_ERR_DEVICE, "OpenCL: there %s %u platform%s, but no device",
                 platform_count == 1 ? "is" : "are", platform_count, platform_count == 1 ? "" : "s");
}

const char *rt_cl_missing_feature(const rt_cl_properties *f) {
  if (!f->available) return "it is not available";
  if (!f->compiler) return "its driver has no compiler";
  if (!f->since_1_2) return "its driver is older than OpenCL 1.2";
  if (!f->little_endian) return "its bytes are in the other order";
  if (f->address_bits && f->address_bits != 64) return "its addresses do not have 64 bits";
  return NULL;
}

/* the target */

static int64_t power_of_two_below(uint64_t value) {
  int64_t power = 1;
  while ((uint64_t)power <= value / 2) power *= 2;
  return power;
}

/* Appends a feature, which makes a list "+a,-b,name=...". Characters that separate features become
 * underscores. */
static void add_feature(ir_target *t, const char *format, const char *what) {
  size_t used = strlen(t->features);
  if (used >= sizeof t->features - 1) return;
  snprintf(t->features + used, sizeof t->features - used, format, used ? "," : "", what);
  for (char *at = t->features + used + (used > 0); *at; at++)
    if (*at == ' ' || *at == ',' || *at == '\t' || *at == '\n') *at = '_';
}

static int vector_bytes(const rt_cl_properties *f) {
  return f->vector_floats >= 16 ? 64 : f->vector_floats >= 8 ? 32 : 16;
}

/* Describes the device as a target. A CPU device is taken to be the processor that this program runs on, or a
 * similar one. */
void rt_cl_describe(const rt_cl_properties *f, ir_target *out) {
  enum { LANES = 256, CACHE = 64 << 10, REGISTERS = 32 };
  if (f->cpu) {
    rt_target_host(out);
  } else {
    int64_t cache = power_of_two_below(f->cache > CACHE ? f->cache : CACHE);
    *out = (ir_target){.registers = REGISTERS, .l1_bytes = CACHE / 2, .l2_bytes = cache, .l3_bytes = cache};
  }
  snprintf(out->triple, sizeof out->triple, "opencl-c-1.2");
  out->features[0] = '\0';
  if (f->f64) add_feature(out, "%s+%s", "cl_khr_fp64");
  if (f->divides) add_feature(out, "%s+%s", "divide");
  if (f->denormals) add_feature(out, "%s+%s", "denormals");
  add_feature(out, "%sname=%s", f->name);
  add_feature(out, "%splatform=%s", f->platform_name);
  add_feature(out, "%sdriver=%s", f->driver);
  add_feature(out, "%sversion=%s", f->version);
  out->vector_bytes = vector_bytes(f);
  if (f->ptx) add_feature(out, "%s+%s", "ptx");
  out->has_fma = f->fma;
  out->soft_f64 = !f->f64;
  out->soft_division = !f->divides;
  out->sorts = false;   /* steps that are no kernels run on memory of the host */
  out->has_f16c = true; /* every device has vload_half and vstore_half */
  out->group_items = f->cpu ? 0 : (int)power_of_two_below(f->group < LANES ? f->group : LANES);
  out->together = f->cpu ? 0 : (int)f->together;
  out->matrix = f->cpu ? 0 : (int)f->matrix;
  out->local_bytes = f->local ? power_of_two_below(f->local) : 0;
  out->argument_bytes = f->parameters ? power_of_two_below(f->parameters) : 0;
}
