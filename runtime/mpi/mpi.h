/* The folder runtime/mpi. Meshes of processes that MPI has started.
 *
 *   in      a process that a launcher of MPI has started, such as mpirun
 *   out     a transport to the others (runtime/mesh/transport.h)
 *   holds   without MPI all else works; the library is not linked to any */
#ifndef VIEWFOLD_RUNTIME_MPI_MPI_H
#define VIEWFOLD_RUNTIME_MPI_MPI_H

#include "runtime/mesh/transport.h"

/* What a module exports as viewfold_mpi_entry. */
enum { RT_MPI_ABI = 1 };
typedef struct rt_mpi_entry {
  uint32_t abi;
  size_t packet_size, transport_size; /* of the build */
  /* Initialises MPI unless somebody has. IR_ERR_UNSUPPORTED: it was initialised for one thread. */
  ir_status (*open)(const ir_mem *mem, rt_transport **out, ir_error *error);
} rt_mpi_entry;

/* Has a launcher of MPI started this process as one of several? */
bool rt_mpi_is_launched(void);
/* The transport of the MPI that has started this process, or is in it already, or whose module VIEWFOLD_MPI
 * names (`openmpi`, `mpich`, or a path); else of the first that can be opened. IR_ERR_UNSUPPORTED: there is
 * none; the message says where it was looked for. */
ir_status rt_mpi_open(const ir_mem *mem, rt_transport **out, ir_error *error);

#endif
