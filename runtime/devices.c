/* Device names, and the text that describes the CPU. */
#define _GNU_SOURCE /* _SC_NPROCESSORS_ONLN */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cpu/device.h"
#include "runtime/opencl/opencl.h"
#include "runtime/runtime.h"

/* The processor's name from /proc/cpuinfo; "" where there is none. */
static void model_name(char *name, size_t size) {
  char line[512];
  name[0] = 0;
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (!file) return;
  while (!name[0] && fgets(line, sizeof line, file)) {
    char *value = strchr(line, ':');
    if (!value || strncmp(line, "model name", 10)) continue;
    value += 1 + strspn(value + 1, " \t");
    value[strcspn(value, "\n")] = 0;
    snprintf(name, size, "%s", value);
  }
  fclose(file);
}

static void add_bytes(ir_text *out, const char *name, int64_t bytes) {
  bool mega = bytes >= 1 << 20;
  ir_textf(out, "%s %lld %s", name, (long long)(mega ? bytes >> 20 : bytes >> 10), mega ? "MiB" : "KiB");
}

/* Features as a list folded to lines that fit a terminal. */
static void add_features(ir_text *out, const char *features) {
  enum { INDENT = 12, WIDTH = 96 };
  size_t column = INDENT;
  ir_text_str(out, "  features  ");
  if (!*features) ir_text_str(out, " none beyond the architecture's");
  for (const char *at = features; *at;) {
    size_t length = strcspn(at, ",");
    if (column + length > WIDTH) {
      ir_text_str(out, "\n            ");
      column = INDENT;
    }
    ir_textf(out, " %.*s", (int)length - (*at == '+'), at + (*at == '+'));
    column += length;
    at += length + (at[length] == ',');
  }
  ir_text_str(out, "\n");
}

ir_status rt_devices_text(rt_context *context, ir_text *out, ir_error *error) {
  const ir_target *t = rt_context_target(context, error);
  if (!t) return error ? error->status : IR_ERR_UNSUPPORTED;
  char name[128];
  model_name(name, sizeof name);
  ir_textf(out, "cpu%s%s\n", name[0] ? ": " : "", name);
  ir_textf(out, "  target     %s\n", t->triple);
  add_features(out, t->features);
  ir_textf(out, "  vectors    %d registers of %d bytes\n", t->registers, t->vector_bytes);
  add_bytes(out, "  caches     L1", t->l1_bytes);
  add_bytes(out, ", L2", t->l2_bytes);
  add_bytes(out, ", L3", t->l3_bytes);
  ir_textf(out, "\n  processors %ld, of which %d run%s threads\n", sysconf(_SC_NPROCESSORS_ONLN),
           rt_context_threads(context), rt_context_threads(context) == 1 ? "s" : "");
  return out->failed ? ir_fail(error, IR_ERR_MEMORY, "out of memory describing the devices") : IR_OK;
}

bool rt_device_is_c(const char *name) { return strcmp(name, "c") == 0; }

bool rt_device_is_name(const char *name) {
  return strcmp(name, "cpu") == 0 || rt_device_is_c(name) || strcmp(name, "opencl") == 0 ||
         (strncmp(name, "opencl:", 7) == 0 && name[7]);
}

ir_status rt_device_open(const ir_mem *mem, const char *name, bool separate_arrays, rt_device **out,
                         ir_error *error) {
  *out = NULL;
  if (name && !rt_device_is_name(name))
    return ir_fail(error, IR_ERR_INVALID,
                   "device '%.80s' is none; there are cpu, c, opencl, opencl:NUMBER and opencl:PART OF NAME",
                   name);
  if (name && strcmp(name, "cpu") != 0 && !rt_device_is_c(name))
    return rt_opencl_open(mem, name, separate_arrays, out, error);
  return rt_cpu_open(mem, out, error);
}
