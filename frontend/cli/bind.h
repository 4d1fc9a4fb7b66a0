/* Values for the parameters of a graph: arrays from .npy files or literals, and the sizes that follow from
 * them. */
#ifndef VIEWFOLD_FRONTEND_CLI_BIND_H
#define VIEWFOLD_FRONTEND_CLI_BIND_H

#include "frontend/cli/graph.h"
#include "frontend/files/arrays.h"
#include "frontend/files/npy.h"
#include "frontend/blame/watched_run.h"
#include "ir/eval/eval.h"

/* `NAME=TEXT` as given on the command line. */
typedef struct cli_pair {
  const char *name, *text;
  size_t length; /* of the name */
} cli_pair;
typedef struct cli_pairs {
  cli_pair *items;
  size_t count, cap;
} cli_pairs;
/* An option's `add` (options.h) of a cli_pairs: split a word and append the pair; a leading % of the name is
 * dropped. */
int cli_pairs_add(void *pairs, const char *command, const char *option, const char *word);
void cli_pairs_free(cli_pairs *pairs);
void cli_pairs_remove(cli_pairs *pairs, const cli_pair *pair);
const cli_pair *cli_pairs_find(const cli_pairs *pairs, const char *name); /* NULL when absent */
bool cli_is_called(const cli_pair *pair, const char *name);
/* The entry that the pair names; NULL: none. */
const ir_named *cli_named(const ir_named *names, size_t count, const cli_pair *pair);
/* Check that each pair names one of `names`, and no two the same. The exit status. `what` is the kind of name
 * in messages, such as "parameter". */
/* Says that the graph has no value of that name, and which it has, or where it has one. */
int cli_unknown_value(const char *command, const char *option, const cli_pair *pair, const ir_module *module,
                      const ir_parsed_graph *block);
int cli_pairs_check(const cli_pairs *pairs, const char *command, const char *option, const ir_named *names,
                    size_t count, const ir_parsed_graph *block, const char *what);

/* The allocator of arrays: aligned to cache lines. */
extern const ir_mem cli_array_mem;

typedef struct cli_binding {
  fe_array *arrays; /* one per parameter, in order of declaration */
  ir_ref *params;   /* the nodes of these parameters */
  size_t array_count;
  ir_ref *vars; /* the variables that parameters and results mention */
  int64_t *values;
  size_t var_count, var_cap, value_cap;
  pass_reference *references; /* parameters that a run changes, and the results that they become */
  size_t reference_count;
  fe_arrays *files; /* by parameter, of cli_bind_mapped: those in which arrays lie; else NULL */
} cli_binding;

/* Read every parameter's value, solve the variables (sizes: those given as --size) and check all shapes. The
 * exit status. */
int cli_bind(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
             const cli_pairs *sizes, cli_binding *out);
/* Like cli_bind, but arrays of files are mapped where these have their elements as they are in memory, so
 * that only what is looked at is read. After a run: cli_binding_check. */
int cli_bind_mapped(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
                    const cli_pairs *sizes, cli_binding *out);
/* IR_ERR_IO where a mapped file is not what it was when it was opened. */
ir_status cli_binding_check(const cli_binding *binding, ir_error *error);
/* Like cli_bind, but parameters without a given value get pseudorandom ones, the same every time (seed.c);
 * those that are used as indices lie within their axes. Where a size is not known, or these arrays have more
 * than `most` bytes together, they get no data, and why says so; else it is empty. */
enum { CLI_WHY = 160 };
int cli_bind_seeded(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
                    const cli_pairs *sizes, size_t most, cli_binding *out, char why[CLI_WHY]);
void cli_binding_free(cli_binding *binding);
/* Let the error of a run with these values, IR_ERR_RANGE, say which index was out of range. */
void cli_blame_index(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *values);
/* Run the program of the block so that it stops where an operation makes a NaN or an infinity. run lacks the
 * graph. The error is in s->error. */
void cli_run_watched(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *values,
                     fe_watched_run *run);
/* The request that compiles the block for these values; it refers to them. */
fe_request cli_request(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *values);

/* An array of a file (frontend/files/arrays.h), or a tensor of a .pb file as test data of models has them. */
void cli_read_file(const char *path, fe_array *out, ir_error *error);
/* The array where it lies in a file, which stays open. False: the elements are not there as they are in
 * memory, or not where they may be read; nothing is open then. */
bool cli_map_file(const char *path, fe_arrays *file, fe_array *out);

/* literal.c: is the value the array itself, `3.5` or `[[1,2],[3,4]]`, rather than the name of a file? */
bool cli_is_literal(const char *text);
/* Read a literal under the rules of text graphs. False after an error, which begins with `source`. */
bool cli_read_literal(const char *source, const char *text, ir_dtype dtype, fe_array *out, ir_error *error);

/* The state of a call of cli_bind or cli_bind_seeded. */
typedef struct cli_binder {
  cli_graph *s;
  const ir_parsed_graph *block;
  const cli_pairs *inputs;
  cli_binding *out;
  const cli_pairs *sizes; /* of --size */
  bool seeded;            /* arrays may be missing */
  bool *known;            /* by variable: has it a value? */
  ir_var_value *scratch;  /* scratch: has room for all variables */
} cli_binder;
/* sizes.c: give every variable its value, then check the shape of every array. The exit status. */
int cli_solve_sizes(cli_binder *b, ir_ref results, const cli_pairs *sizes);
/* The name of a variable that has no value after that (only where b->seeded); NULL: there is none. */
const char *cli_unknown_size(const cli_binder *b);
bool cli_size_of(const cli_binder *b, size_t param, int axis,
                 int64_t *size); /* of the array of a parameter */
bool cli_value_of(const cli_binder *b, ir_ref expression, int64_t *value);
/* seed.c: set the shapes, then the values of the arrays without data. False when a size is not known or the
 * bytes overflow, and when memory is short. */
bool cli_seed_shapes(cli_binder *b, size_t *bytes);
bool cli_seed_values(cli_binder *b, ir_ref results);
/* seed.c: the next pseudorandom number */
uint64_t cli_random(uint64_t *state);
/* `%x is f32[4], but x.npy holds f32[3]: ` and the reason, on standard error. Returns CLI_BAD_INPUT. */
int cli_wrong_shape(cli_binder *b, size_t param, const char *format, ...) IR_PRINTF(3, 4);

#endif
