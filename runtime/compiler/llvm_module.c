/* Finding and opening the code generator's module at the first compilation, and keeping LLVM target machines
 * between compilations. */
#define _GNU_SOURCE /* dladdr */
#include "runtime/compiler/llvm_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "ir/plan.h"

static const char *const places[] = {"", "viewfold/", "../lib/viewfold/"};

ir_status rt_module_init(rt_module *module, const rt_compiling *how, ir_error *error) {
  *module = (rt_module){0};
  if (pthread_mutex_init(&module->lock, NULL))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory making the code generator's lock");
  if (!how || !how->process) return IR_OK;
  ir_status status = rt_compiler_init(&module->own, how, error);
  if (status) pthread_mutex_destroy(&module->lock);
  else module->compiler = &module->own;
  return status;
}

void rt_module_free(rt_module *module) {
  if (module->compiler) rt_compiler_free(module->compiler);
  for (int i = 0; i < RT_IDLE_MACHINES; i++)
    if (module->idle[i].machine) module->entry->dispose(&module->idle[i]);
  if (module->handle) dlclose(module->handle);
  pthread_mutex_destroy(&module->lock);
  *module = (rt_module){0};
}

/* Path of the file that contains this code: the shared library, or the program that it is linked into. A
 * program's path is read from /proc/self/exe, because argv[0] may be no path. */
static const char *own_file(char *program, size_t size) {
  static const char anchor; /* an address inside */
  Dl_info self, main;
  if (!dladdr(&anchor, &self) || !self.dli_fname) return "";
  bool in_program = dladdr((void *)getauxval(AT_PHDR), &main) && main.dli_fbase == self.dli_fbase;
  ssize_t length = in_program ? readlink("/proc/self/exe", program, size - 1) : -1;
  if (length <= 0) return self.dli_fname;
  program[length] = '\0';
  return program;
}

bool rt_module_find(const char *name, char *path, size_t size) {
  char program[4096];
  const char *file = own_file(program, sizeof program), *slash = strrchr(file, '/');
  int length = slash ? (int)(slash - file) : 1;
  const char *directory = slash ? file : ".";
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int used = snprintf(path, size, "%.*s/%s%s", length, directory, places[i], name);
    if (used > 0 && (size_t)used < size && !access(path, R_OK)) return true;
  }
  snprintf(path, size, "%.*s/%s", length, directory, name);
  return false;
}

ir_status rt_module_missing(const char *path, ir_error *error) {
  return ir_fail(error, IR_ERR_COMPILE,
                 "compile: the code generator %s is missing; looked at %s, in viewfold/ beside it and in "
                 "../lib/viewfold/. Install it beside the library, or a C compiler (`cc`, or what CC says), "
                 "which then compiles "
                 "kernels, or run what the cache already holds",
                 RT_MODULE_FILE, path);
}

static bool same_sources(const cg_entry *entry) {
  return entry->abi == CG_ENTRY_ABI && entry->ops == IR_OP_COUNT && entry->node_size == sizeof(ir_node) &&
         entry->target_size == sizeof(ir_target);
}

static ir_status open_module(rt_module *module, ir_error *error) {
  char path[4096];
  if (!rt_module_find(RT_MODULE_FILE, path, sizeof path)) return rt_module_missing(path, error);
  /* LLVM registers objects with the process that do not survive unloading, so it is never unloaded */
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle)
    return ir_fail(
        error, IR_ERR_COMPILE,
        "compile: the code generator cannot be loaded: %s; install the one that belongs to this library",
        dlerror());
  const cg_entry *entry = dlsym(handle, CG_ENTRY_NAME);
  if (!entry || !same_sources(entry)) {
    dlclose(handle);
    return ir_fail(error, IR_ERR_COMPILE,
                   "compile: %s belongs to another build of viewfold; install both together", path);
  }
  module->handle = handle;
  module->entry = entry;
  return IR_OK;
}

static bool machine_matches(const cg_machine *machine, const cg_request *request) {
  return machine->machine && machine->level == request->level &&
         !strcmp(machine->target.triple, request->target->triple) &&
         !strcmp(machine->target.features, request->target->features);
}

static void acquire_machine(rt_module *module, const cg_request *request, cg_machine *out) {
  *out = (cg_machine){NULL, request->level, *request->target};
  for (int i = 0; i < RT_IDLE_MACHINES && !out->machine; i++) {
    if (!machine_matches(&module->idle[i], request)) continue;
    out->machine = module->idle[i].machine;
    module->idle[i].machine = NULL;
  }
}

/* Keep the machine in a free place, or in the last place after disposing of the machine there. */
static void release_machine(rt_module *module, cg_machine *machine) {
  int place = 0;
  while (place < RT_IDLE_MACHINES - 1 && module->idle[place].machine) place++;
  if (module->idle[place].machine) module->entry->dispose(&module->idle[place]);
  module->idle[place] = *machine;
}

ir_status rt_module_load(rt_module *module, ir_error *error) {
  pthread_mutex_lock(&module->lock);
  ir_status status = module->entry ? IR_OK : open_module(module, error);
  pthread_mutex_unlock(&module->lock);
  return status;
}

ir_status rt_module_request(rt_module *module, const cg_request *request, cg_blob *out, ir_error *error) {
  *out = (cg_blob){0};
  if (module->compiler) return rt_compiler_request(module->compiler, request, out, error);
  cg_machine machine;
  cg_request levelled = *request;
  if (ir_arg_mode(ir_get(request->graph, request->kernel)) == IR_KERNEL_ONCE) levelled.level = RT_QUICK_LEVEL;
  request = &levelled;
  pthread_mutex_lock(&module->lock);
  ir_status status = IR_OK;
  if (!module->entry) {
    int64_t start = ir_timer_start(request->timer);
    status = open_module(module, error);
    ir_timer_lap(request->timer, &start, "load", -1, NULL);
  }
  const cg_entry *entry = module->entry;
  acquire_machine(module, request, &machine);
  pthread_mutex_unlock(&module->lock);
  if (status != IR_OK) return status;
  status = entry->compile(request, &machine, out, error);
  pthread_mutex_lock(&module->lock);
  if (machine.machine) release_machine(module, &machine);
  pthread_mutex_unlock(&module->lock);
  return status;
}

ir_status rt_module_build(rt_module *module, const cg_program_request *request, const ir_mem *mem,
                          cg_blob *out, ir_error *error) {
  cg_machine machine = {NULL, request->level, *request->forms->target};
  *out = (cg_blob){0};
  ir_status status = rt_module_load(module, error);
  if (status) return status;
  status = module->entry->build(request, mem, &machine, out, error);
  if (machine.machine) module->entry->dispose(&machine);
  return status;
}

ir_status rt_module_compile(rt_module *module, const ir_graph *graph, ir_ref kernel, const char *symbol,
                            const ir_target *target, cg_output want, cg_blob *out, ir_error *error) {
  cg_request request = {graph, kernel, symbol, target, want, rt_level_for(target), NULL};
  return rt_module_request(module, &request, out, error);
}
