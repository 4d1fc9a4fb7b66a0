/* The folder frontend/build. Programs built ahead of time.
 *
 *   in      a graph, a target, a name
 *   out     an object file, and the C header that declares it
 *   holds   the header is C99, C17 and C++17 */

/* The object and the header of a graph. */
#ifndef VIEWFOLD_FRONTEND_BUILD_BUILD_H
#define VIEWFOLD_FRONTEND_BUILD_BUILD_H

#include "frontend/api/compile.h"
#include "ir/parse/parse.h"
#include "runtime/object/object.h"

/* A graph, and the names of what it has in the order of its request. Outputs are those that are no
 * references; the inputs that are say so themselves. */
typedef struct fe_ports {
  const fe_request *request;
  const ir_named *inputs, *outputs;
  size_t output_count;
} fe_ports;

typedef struct fe_build_options {
  const char *name;  /* a C identifier, with which all public names begin; NULL: made from the graph's name */
  cg_output want;    /* CG_OBJECT or CG_ASM */
  bool threads;      /* NAME_run takes a NAME_host, by whose threads loops are shared */
  bool weights;      /* constants are in a file beside the object, whose address NAME_run takes */
  const ir_mem *mem; /* of what is built; outlives it */
} fe_build_options;

typedef struct fe_built {
  cg_blob object, weights; /* weights: of a file beside it, if that was asked for */
  ir_text header;
  ir_text name; /* that public names begin with */
  bool sized;   /* it has variables, and so NAME_shapes and NAME_arena_bytes */
} fe_built;

/* What an object is for: a context for each target, with rt_options.ahead. Those with more features come
 * first. */
typedef struct fe_targets {
  rt_context *contexts[RT_MOST_FORMS];
  size_t count;
  const char *text; /* as given; NULL: this machine */
} fe_targets;

/* Defined in targets.c. `text` is one target, as rt_target_override takes it, or several with commas between;
 * NULL is this machine. `text` outlives the targets; fe_targets_close in any case. */
ir_status fe_targets_open(const rt_context *like, const char *text, fe_targets *out, ir_error *error);
void fe_targets_close(fe_targets *targets);

/* fe_built_free in any case. */
ir_status fe_build(const fe_targets *targets, const fe_ports *ports, const fe_build_options *options,
                   fe_built *out, ir_error *error);
void fe_built_free(fe_built *built);

/* Defined in archive.c: an archive (ar) with the object in it. In shared.c: a shared object, linked by the C
 * compiler, in memory of out->mem; IR_ERR_COMPILE: it cannot. */
ir_status fe_archive(const fe_built *built, ir_text *out, ir_error *error);
ir_status fe_link_shared(const fe_built *built, cg_blob *out, ir_error *error);

/* Defined in header.c. A member of the struct of arrays, as the header names it. */
typedef struct fe_member {
  ir_text name;
  const ir_named *port;
  bool is_output, is_reference, is_used;
} fe_member;

typedef struct fe_header {
  const char *name, *graph; /* the prefix of public names; the graph's own name */
  const ir_graph *g;
  const ir_target *target;
  const char *several;      /* the targets as given, where the object chooses among them; else NULL */
  const fe_member *members; /* inputs, then outputs */
  size_t member_count;
  const ir_text *variables; /* their names, in the order of the request */
  const cg_variable *bounds;
  size_t variable_count; /* 0 where nothing depends on them */
  int64_t arena_bytes;   /* -1: they depend on variables */
  int64_t worker_bytes;  /* and for each worker but the first */
  bool threads;
  int64_t weight_bytes;      /* -1: they are in the object */
  const rt_program *program; /* has the custom operations */
} fe_header;
/* Appends the text of the header. */
void fe_header_put(const fe_header *header, ir_text *out);
/* A name as a C identifier that is no word of C or C++, nor what follows `prefix` in names of the header. */
void fe_identifier(const char *name, ir_text *out);
bool fe_is_identifier(const char *name);

#endif
