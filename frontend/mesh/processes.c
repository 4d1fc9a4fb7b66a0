#include "frontend/mesh/processes.h"

#include "runtime/mpi/mpi.h"

/* Loading a machine to its limits delays an answer by seconds. */
#define USUAL_SECONDS 10.0

ir_status fe_processes_join(rt_context *context, double seconds, ir_error *error) {
  rt_transport *transport;
  if (rt_context_post(context))
    return ir_fail(error, IR_ERR_INVALID, "the context has joined other processes already");
  ir_status status = rt_mpi_open(&ir_mem_libc, &transport, error);
  if (status) return status;
  if (!(seconds > 0)) seconds = USUAL_SECONDS;
  return rt_context_join(context, transport, (int64_t)(seconds * 1e9), error);
}
