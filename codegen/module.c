/* Finding and opening the code generator's module at the first compilation. */
#define _GNU_SOURCE /* dladdr */
#include "codegen/codegen.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MODULE_FILE "viewfold-llvm.so"

static const char *const places[] = {"", "viewfold/", "../lib/viewfold/"};

ir_status cg_module_init(cg_module *module, ir_error *error) {
  *module = (cg_module){0};
  if (pthread_mutex_init(&module->lock, NULL))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory making the code generator's lock");
  return IR_OK;
}

void cg_module_free(cg_module *module) {
  if (module->handle) dlclose(module->handle);
  pthread_mutex_destroy(&module->lock);
  *module = (cg_module){0};
}

bool cg_module_find(char *path, size_t size) {
  static const char anchor; /* an address inside this library */
  Dl_info self;
  if (!dladdr(&anchor, &self) || !self.dli_fname) self.dli_fname = "";
  const char *slash = strrchr(self.dli_fname, '/');
  int length = slash ? (int)(slash - self.dli_fname) : 1;
  const char *directory = slash ? self.dli_fname : ".";
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int used = snprintf(path, size, "%.*s/%s%s", length, directory, places[i], MODULE_FILE);
    if (used > 0 && (size_t)used < size && !access(path, R_OK)) return true;
  }
  snprintf(path, size, "%.*s/%s", length, directory, MODULE_FILE);
  return false;
}

static bool same_sources(const cg_entry *entry) {
  return entry->abi == CG_ENTRY_ABI && entry->ops == IR_OP_COUNT && entry->node_size == sizeof(ir_node) &&
         entry->target_size == sizeof(ir_target);
}

static ir_status open_module(cg_module *module, ir_error *error) {
  char path[4096];
  if (!cg_module_find(path, sizeof path))
    return ir_fail(error, IR_ERR_COMPILE,
                   "compile: the code generator %s is missing; looked at %s, in viewfold/ beside it and in "
                   "../lib/viewfold/. Install it beside the library, or run what the cache already holds",
                   MODULE_FILE, path);
  /* LLVM registers things with the process that do not survive unloading, so it stays once it is there */
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return ir_fail(error, IR_ERR_COMPILE, "compile: the code generator cannot be loaded: %s", dlerror());
  const cg_entry *entry = dlsym(handle, CG_ENTRY_NAME);
  if (!entry || !same_sources(entry)) {
    dlclose(handle);
    return ir_fail(error, IR_ERR_COMPILE, "compile: %s belongs to another build of viewfold; install both together",
                   path);
  }
  module->handle = handle;
  module->entry = entry;
  return IR_OK;
}

ir_status cg_compile_request(cg_module *module, const cg_request *request, cg_blob *out, ir_error *error) {
  *out = (cg_blob){0};
  pthread_mutex_lock(&module->lock);
  ir_status status = module->entry ? IR_OK : open_module(module, error);
  const cg_entry *entry = module->entry;
  pthread_mutex_unlock(&module->lock);
  return status == IR_OK ? entry->compile(request, out, error) : status;
}

ir_status cg_compile(cg_module *module, const ir_graph *graph, ir_ref kernel, const char *symbol,
                     const ir_target *target, cg_output want, cg_blob *out, ir_error *error) {
  cg_request request = {graph, kernel, symbol, target, want, 2};
  return cg_compile_request(module, &request, out, error);
}

void cg_blob_free(cg_blob *blob) {
  if (blob->bytes) ir_free(blob->mem, blob->bytes, blob->size + 1);
  *blob = (cg_blob){0};
}
