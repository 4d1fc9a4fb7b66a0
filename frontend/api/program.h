/* A compiled program as users hold it: program.c makes and runs it, program_questions.c tells of it. */
#ifndef VIEWFOLD_FRONTEND_API_PROGRAM_H
#define VIEWFOLD_FRONTEND_API_PROGRAM_H

#include "frontend/api/api.h"
#include "frontend/api/found_sizes.h"
#include "frontend/api/overlap.h"
#include "frontend/api/witness.h"
#include "runtime/program/values.h"

enum { FE_FEW_BUFFERS = 32 }; /* inputs or variables that are reordered without an allocation */

typedef struct fe_port {
  const char *name;
  ir_dtype dtype;
  uint32_t rank, dims; /* dims: index of its first size in vf_program.dims */
  bool used;           /* an output, or an input that an output depends on */
  uint8_t below;       /* its elements' alignment - 1: of a buffer's address these bits are 0 */
} fe_port;

struct vf_program {
  uint32_t kind;
  vf_context *context;
  rt_program *program;        /* on a mesh: of one device */
  struct fe_sharded *sharded; /* of a mesh (frontend/mesh/sharded.h), which the program owns; or NULL */
  bool watched;               /* runs stop where an operation makes a NaN or an infinity */
  bool direct;                /* the caller's inputs and variables are the runtime's */
  size_t counts[2];           /* by vf_port */
  fe_port *ports;             /* inputs, then outputs */
  rt_variable *variables;
  size_t variable_count;
  uint32_t *inputs_from, *variables_from; /* index in the caller's list, by index in the runtime's */
  size_t runtime_inputs, runtime_variables;
  ir_ref *constants;     /* the RESOURCE nodes, in the order in which the program is bound to them */
  const vf_graph *graph; /* of these nodes, and its epoch; for comparison alone: it may be gone */
  uint32_t epoch;
  size_t constant_count;
  uint32_t *dims; /* sizes of all ports, as indices of operations in `sizes` */
  size_t dim_count;
  rt_value_list sizes;
  size_t *bytes;       /* of the used ports, else 0; where there are no variables */
  fe_good_lists *good; /* of buffers of runs, where the program is direct */
  fe_witness *witness; /* NULL: no index can be out of range */
  uint32_t
      *references; /* inputs that a run changes, in the order of the runtime's results behind the outputs */
  size_t reference_count;
  fe_found found; /* variables that a run finds out */
  char *names;    /* of ports and variables */
  size_t names_size;
};

/* The handle of a program that was compiled from the request of a graph; it takes both over, sharded may be
 * NULL. NULL after failing. */
vf_program *fe_program_make(vf_graph *graph, const fe_request *request, rt_program *program,
                            struct fe_sharded *sharded, ir_error *error);

/* The port of that number; NULL: there is none. */
const fe_port *fe_find_port(const vf_program *p, vf_port which, int number);
/* Says why there is none. */
void fe_refuse_port(const vf_program *p, const char *who, vf_port which, int number, ir_error *error);
/* Are the values of the variables as declared? False after failing. */
bool fe_check_values(const vf_program *p, const int64_t *variables, ir_error *error);
/* Of a program without variables: are buffers that are all given aligned, and overlap nothing? False without
 * an error: one is not aligned, or NULL. */
bool fe_check_buffers(const vf_program *p, const void *const *inputs, void *const *outputs, ir_error *error);

#endif
