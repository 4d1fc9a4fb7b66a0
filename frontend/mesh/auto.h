/* The automatic choice of shardings, of a request of the API or the command. */
#ifndef VIEWFOLD_FRONTEND_MESH_AUTO_H
#define VIEWFOLD_FRONTEND_MESH_AUTO_H

#include "frontend/api/compile.h"
#include "passes/autoshard/autoshard.h"
#include "runtime/context.h"

typedef struct fe_auto {
  autoshard_rates rates; /* of a device; zeros: the defaults of passes/autoshard */
  double memory;         /* bytes of a device; 0: as the mesh says */
  rt_context *context;   /* whose kept costs of messages count (machine/mesh_costs.h), and whose processes
                            choose alike; or NULL */
  bool given;            /* the rates are of the slowest device already */
} fe_auto;

/* Gives values of the request's graph that are open the specs that pass_autoshard chooses. Values of vmapped
 * functions stay open, and follow from those around them. report may be NULL. */
ir_status fe_shard_auto(const fe_request *request, const fe_auto *with, autoshard_report *report,
                        ir_error *error);

#endif
