/* The folder passes/autoshard. The automatic choice of shardings.
 *
 *   in      a graph with a mesh, specs of some of its values, and the rates of a device
 *   out     specs of the other values, of least predicted time, within the memory of a device
 *   holds   dimensions that are closed stay as given; what is exact is as good as any other assignment of
 *           the strategies that are considered
 *
 * Strategies. Each operation divides its factors (passes/ops/sharding): an axis of the mesh goes to one of
 * them, those that are contracted included, to none, or operands stay pending along it where that is allowed.
 * A strategy tells what each operand has to be and what the result is then. Values that are read several
 * times, inputs, results and values with a spec are *stored*: as the operation leaves them, or as one of
 * their readers wants them, so that what several readers need is brought there once.
 *
 * Costs. Computing: operations of the largest part over the rate of a device, or bytes that it reads and
 * writes over that of its memory, whichever takes longer; views cost nothing. Moving: the time of the
 * redistribution between what is there and what is needed (passes/reshard), with latency and bandwidth of
 * each axis of the mesh. Both add up: what a run hides behind computing is not counted. */
#ifndef VIEWFOLD_PASSES_AUTOSHARD_AUTOSHARD_H
#define VIEWFOLD_PASSES_AUTOSHARD_AUTOSHARD_H

#include "ir/mesh/sharding.h"
#include "ir/target.h"
#include "passes/passes.h"

typedef struct autoshard_rates {
  double flops, bytes; /* of a device in a second: operations, and bytes of memory; 0: the defaults below */
} autoshard_rates;
/* A device that nothing is known of: about a core of a server processor with vectors of 512 bits. */
extern const autoshard_rates autoshard_default_rates;
autoshard_rates autoshard_rates_of(const ir_target *target); /* of a core of a processor */

typedef struct autoshard_request {
  ir_ref root;          /* a TUPLE of tensors without batch axes */
  const ir_ref *inputs; /* its INPUT and BUFFER nodes */
  size_t input_count;
  const pass_reference *references; /* inputs that a run changes: their results are divided as they are */
  size_t reference_count;
  autoshard_rates rates;
  double memory;  /* bytes that a device may hold; 0: as the mesh says, which may not know */
  size_t entries; /* most numbers in a table of the exact search; 0: AUTOSHARD_ENTRIES */
} autoshard_request;
enum { AUTOSHARD_ENTRIES = 1 << 22 /* of 8 bytes: tables of 32 MB */ };

typedef struct autoshard_report {
  double seconds;           /* predicted for one run: computing + moving */
  double computing, moving; /* seconds */
  double bound;             /* no assignment of the strategies takes less; seconds where it is exact */
  double memory;            /* bytes that a device holds at most */
  bool exact;               /* `seconds` is the least */
  size_t choices;           /* operations and values that had more than one strategy */
} autoshard_report;

/* Gives the values their specs (ir_set_spec). report may be NULL. False after failing (g->error): the graph
 * has no mesh or no operations, no memory, or nothing fits that of a device. */
bool pass_autoshard(ir_graph *g, const autoshard_request *request, autoshard_report *report);

/* How an operation is divided, and how else it might be: the least time of all other ways, while what it
 * reads and its result stay as they are. In seconds, with what moves for it. */
typedef struct autoshard_other {
  ir_ref node;
  uint32_t terms;        /* its operands, and the result */
  ir_spec *specs;        /* of these; then those of the next best way, if that is known */
  const ir_spec *result; /* what is needed of the result; NULL: what it has */
  double inside;         /* what its own exchanges take, as it is */
  double now, next;
  bool known; /* there is another way */
} autoshard_other;
/* All values have specs. False after failing. */
bool pass_autoshard_others(ir_graph *g, const autoshard_request *request, autoshard_other *others,
                           size_t count);

#endif
