/* Which MPI, and its module. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "runtime/mpi/mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compiler/llvm_module.h"

/* Each implementation with a symbol that it alone has, and what its launchers tell processes of their number.
 */
static const struct implementation {
  const char *name, *symbol, *processes;
} implementations[] = {
    {"openmpi", "ompi_mpi_comm_world", "OMPI_COMM_WORLD_SIZE"},
    {"mpich", "MPIR_Process", "PMI_SIZE"},
};
enum { COUNT = sizeof implementations / sizeof *implementations };

static bool is_launched_by(const struct implementation *i) {
  const char *processes = getenv(i->processes);
  return processes && atoi(processes) > 1;
}

bool rt_mpi_is_launched(void) {
  for (int i = 0; i < COUNT; i++)
    if (is_launched_by(&implementations[i])) return true;
  return false;
}

/* What is opened, NULL: the first that can be. */
static const char *wanted(void) {
  const char *asked = getenv("VIEWFOLD_MPI");
  if (asked && *asked) return asked;
  for (int i = 0; i < COUNT; i++)
    if (dlsym(RTLD_DEFAULT, implementations[i].symbol)) return implementations[i].name;
  for (int i = 0; i < COUNT; i++)
    if (is_launched_by(&implementations[i])) return implementations[i].name;
  return NULL;
}

/* Components of an MPI look for its symbols among those of the process, and do not survive unloading. */
static const rt_mpi_entry *open_module(const char *name, char *path, size_t size, ir_error *error) {
  char file[64];
  snprintf(file, sizeof file, "viewfold-mpi-%.40s.so", name);
  if (strchr(name, '/')) snprintf(path, size, "%s", name);
  else rt_module_find(file, path, size);
  void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (!handle) {
    ir_fail(error, IR_ERR_UNSUPPORTED, "MPI: %.300s cannot be opened: %.500s", path, dlerror());
    return NULL;
  }
  const rt_mpi_entry *entry = dlsym(handle, "viewfold_mpi_entry");
  if (entry && entry->abi == RT_MPI_ABI && entry->packet_size == sizeof(rt_packet) &&
      entry->transport_size == sizeof(rt_transport))
    return entry;
  ir_fail(error, IR_ERR_UNSUPPORTED,
          "MPI: %.300s belongs to another build of viewfold; install both together", path);
  return NULL;
}

ir_status rt_mpi_open(const ir_mem *mem, rt_transport **out, ir_error *error) {
  char path[4096];
  const char *name = wanted();
  const rt_mpi_entry *entry = NULL;
  ir_error first = {0}, last = {0};
  *out = NULL;
  if (name) entry = open_module(name, path, sizeof path, &first);
  for (int i = 0; i < COUNT && !name && !entry; i++) {
    ir_error_clear(&last);
    entry = open_module(implementations[i].name, path, sizeof path, first.status ? &last : &first);
  }
  if (!entry) return ir_fail(error, first.status, "%s", first.text);
  return entry->open(mem, out, error);
}
