/* Values for the parameters of a graph: arrays from .npy files or literals, and the sizes that follow from
 * them. */
#ifndef VIEWFOLD_FRONTEND_CLI_BIND_H
#define VIEWFOLD_FRONTEND_CLI_BIND_H

#include "frontend/cli/graph.h"
#include "frontend/files/npy.h"
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
/* Split and append; a leading % of the name is dropped. The exit status. */
int cli_pairs_add(cli_pairs *pairs, const char *command, const char *option, const char *word);
void cli_pairs_free(cli_pairs *pairs);
const cli_pair *cli_pairs_find(const cli_pairs *pairs, const char *name); /* NULL when absent */
bool cli_is_called(const cli_pair *pair, const char *name);
/* Every pair names one of these, each once? The exit status. `what`: "parameter". */
int cli_pairs_check(const cli_pairs *pairs, const char *command, const char *option, const ir_named *names,
                    size_t count, const ir_parsed_graph *block, const char *what);

/* Where arrays live: like malloc, aligned to cache lines. */
extern const ir_mem cli_array_mem;

typedef struct cli_binding {
  fe_array *arrays; /* one per parameter, in order of declaration */
  size_t array_count;
  ir_ref *vars; /* the variables that parameters and results mention */
  int64_t *values;
  size_t var_count, var_cap, value_cap;
} cli_binding;

/* Read every parameter's value, solve the variables (sizes: those given as --size) and check all shapes. The
 * exit status. */
int cli_bind(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
             const cli_pairs *sizes, cli_binding *out);
/* The same, where parameters that are not given have values of their own, the same ones every time
 * (seed.c): what reads positions finds those of its axis. Where a size is not known, or these arrays have
 * more than `most` bytes together, they have no data; *why says so then, else it is empty. */
enum { CLI_WHY = 160 };
int cli_bind_seeded(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_pairs *inputs,
                    const cli_pairs *sizes, size_t most, cli_binding *out, char why[CLI_WHY]);
void cli_binding_free(cli_binding *binding);

/* literal.c: is the value the array itself, `3.5` or `[[1,2],[3,4]]`, rather than the name of a file? */
bool cli_is_literal(const char *text);
/* Under the rules of literals in text graphs. False after an error, which begins with `source`. */
bool cli_read_literal(const char *source, const char *text, ir_dtype dtype, fe_array *out, ir_error *error);

/* The work of cli_bind. */
typedef struct cli_binder {
  cli_graph *s;
  const ir_parsed_graph *block;
  const cli_pairs *inputs;
  cli_binding *out;
  bool seeded;           /* arrays may be missing */
  bool *known;           /* by variable: has it a value? */
  ir_var_value *scratch; /* room for all variables */
} cli_binder;
/* sizes.c: give every variable its value, then check the shape of every array. The exit status. */
int cli_solve_sizes(cli_binder *b, const cli_pairs *sizes);
/* Are all known after that? NULL: they are; else the name of one that is not (only where b->seeded). */
const char *cli_unknown_size(const cli_binder *b);
bool cli_size_of(const cli_binder *b, size_t param, int axis, int64_t *size); /* of an array */
bool cli_value_of(const cli_binder *b, ir_ref expression, int64_t *value);
/* seed.c: shapes, then values of the arrays without data. False when memory is short. */
bool cli_seed_shapes(cli_binder *b, size_t *bytes);
bool cli_seed_values(cli_binder *b, ir_ref results);
/* `%x is f32[4], but x.npy holds f32[3]: ` and the reason, on standard error. Returns CLI_BAD_INPUT. */
int cli_misfit(cli_binder *b, size_t param, const char *format, ...) IR_PRINTF(3, 4);

#endif
