/* What the files of the automatic choice share. */
#ifndef VIEWFOLD_PASSES_AUTOSHARD_IMPL_H
#define VIEWFOLD_PASSES_AUTOSHARD_IMPL_H

#include "autoshard.h"
#include "passes/ops/sharding/sharding.h"
#include "problem.h"

enum {
  AUTO_STRATEGIES = 1 << 10, /* of one operation; of more, those that divide it most are kept */
  AUTO_PLANNED = 8,      /* devices of a redistribution that is planned: a millisecond; there are thousands */
  AUTO_PLANNED_AXES = 2, /* axes of the mesh that take part in one: three have ten times as many places */
  AUTO_TERMS = OP_SHARDING_OPERANDS + 1 /* operands and the result */
};

/* Specs by number. Two with the same parts are one. */
typedef struct auto_specs {
  ir_spec *items;
  size_t count, cap;
  uint32_t *table; /* by hash: the number + 1 */
  size_t table_cap;
} auto_specs;

/* An array that is redistributed: its sizes, and how its summands are added. */
typedef struct auto_array {
  int64_t shape[IR_MAX_RANK];
  uint32_t rank, item;
  bool rounds, begins; /* begins: what is not pending may begin to be, on the first of the devices */
  double **ways; /* by place of all axes before, and after: seconds (axis_steps.c); NULL: none is known */
  size_t way_count;
} auto_array;

/* What a redistribution takes, once found. */
typedef struct auto_move {
  uint32_t array, from, to;
  bool known;
  double seconds;
} auto_move;

/* An operand of a variable, which is redistributed so many times; tied: it is as the strategy says. 0: it
 * does not matter how it is divided. */
typedef struct auto_use {
  ir_ref node;
  double weight;
  bool tied;
} auto_use;

/* A parameter of a function stands for the operand of a call, or for a slice of it. */
typedef struct auto_binding {
  ir_ref call, param, operand;
  double weight; /* how many times it is brought there */
  bool slice, tied;
} auto_binding;

/* What can be chosen: for an operation, how it is divided; for a value, how it is stored. */
typedef struct auto_variable {
  ir_ref node;
  bool stored;
  uint32_t terms;   /* of an operation: operands, then the result; of a value: 1 */
  size_t first_use; /* of an operation: terms - 1 operands */
  uint32_t *specs;  /* count * terms numbers of specs */
  double *cost;     /* seconds of computing */
  uint32_t count;
  size_t cap, cost_cap;
} auto_variable;

/* A value is there at the places first <= place < behind of the order. */
typedef struct auto_life {
  ir_ref node;
  uint32_t first, behind;
} auto_life;

typedef struct auto_model {
  ir_graph *g;
  const ir_mesh *mesh;
  const autoshard_request *request;
  autoshard_rates rates;
  auto_specs specs;
  auto_array *arrays;
  size_t array_count, array_cap;
  auto_move *moves; /* by hash */
  size_t move_count, move_cap;
  auto_variable *variables;
  size_t variable_count, variable_cap;
  auto_use *uses;
  size_t use_count, use_cap;
  auto_binding *bindings; /* by parameter */
  size_t binding_count, binding_cap;
  double *weight;    /* by node: how many times it runs */
  uint8_t *is_param; /* by node: of a function */
  uint32_t *begins;  /* by node: of a call, the place of the first node of its functions */
  choice_pair *pairs;
  size_t pair_count, pair_cap;
  choice_store lists, classes; /* tables by lists of specs; numbers of variables by all that they depend on */
  ir_ref *live;                /* in order, sources first */
  size_t live_count, live_cap, nodes;
  uint32_t *operation, *stored; /* by node: its variable + 1; 0: none */
  uint32_t *reader;             /* by node: where those that read it begin in: */
  ir_ref *read_by;              /* one that reads it twice stands there twice */
  size_t read_count;
  auto_life *lives; /* of the values, in the order of `live` */
  uint32_t *place;  /* by node: where it is in that order */
  bool truncated;   /* an operation has more strategies than are considered */
} auto_model;

bool auto_no_memory(auto_model *m); /* false */

bool auto_short(ir_graph *g); /* the same, before there is a model */

/* refine.c: the graph's mesh by its prime digits, if they are few; what has specs has them in these, and gets
 * them back in the end. False after failing; end it in any case. */
typedef struct auto_refined {
  ir_mesh before, mesh;
  ir_subaxis digits[IR_MESH_AXES]; /* of `before`, by axis of `mesh` */
  uint32_t count;
  size_t nodes;
  bool used;
} auto_refined;
bool auto_refine_begin(ir_graph *g, ir_ref root, auto_refined *r);
bool auto_refine_end(ir_graph *g, auto_refined *r);

/* specs.c: the number of a spec; UINT32_MAX after failing. */
uint32_t auto_spec(auto_model *m, const ir_spec *spec);
/* The same without what is pending. */
uint32_t auto_finished(auto_model *m, uint32_t spec);
/* All specs that `given` may become when its open dimensions get axes that it does not have; `pending`: axes
 * may also be pending sums. Calls back for each; false as soon as that is. */
typedef bool auto_visit(void *user, const ir_spec *spec);
bool auto_each_spec(auto_model *m, const ir_spec *given, bool pending, auto_visit *visit, void *user);
/* Is the axis of the mesh, or a part of it, named in the spec? */
bool auto_is_named(const ir_spec *spec, uint32_t axis);
void auto_specs_free(auto_model *m);

/* sizes.c: a size, or one that a variable may have; arrays by number, UINT32_MAX after failing. */
int64_t auto_size(const auto_model *m, ir_ref dim);
uint32_t auto_array_number(auto_model *m, const auto_array *array);
uint32_t auto_array_of(auto_model *m, ir_ref node, bool begins);
/* Bytes of the largest part of a value; of a view of a smaller array, of that. */
/* Elements of the largest part of a dimension of that size. */
int64_t auto_most_of(const auto_model *m, const ir_spec *spec, uint32_t d, int64_t size);
double auto_part_bytes(const auto_model *m, ir_ref node, const ir_spec *spec);

/* equivalent.c: a redistribution of another array that costs the same, from specs[0] to specs[1]. False:
 * there is none. */
bool auto_equivalent(const auto_model *m, const auto_array *a, const ir_spec *from, const ir_spec *to,
                     auto_array *array, ir_spec *specs);

/* axis_steps.c: the time about, for more than AUTO_PLANNED devices, or AUTO_PLANNED_AXES, that take part. 0:
 * for fewer, or where there are too many places. Negative after failing. */
double auto_latency(const ir_mesh_axis *axis); /* as the mesh says, or assumed */
double auto_bandwidth(const ir_mesh_axis *axis);
int auto_axis_steps(auto_model *m, uint32_t array, const ir_spec *from, const ir_spec *to, double *seconds);
void auto_axis_steps_free(auto_model *m);

/* moves.c: seconds of a redistribution; CHOICE_NEVER: there is none. Negative after failing. */
double auto_move_time(auto_model *m, uint32_t array, uint32_t from, uint32_t to);
/* The costs from each spec of one list to each of another, as often as the use says: one table for equal
 * lists. NULL after failing. */
const double *auto_move_table(auto_model *m, uint32_t array, const auto_use *use, const uint32_t *rows,
                              uint32_t row_count, const uint32_t *columns, uint32_t column_count);
void auto_moves_free(auto_model *m);

/* strategies.c: the ways to divide an operation, with their costs. False after failing. */
bool auto_strategies(auto_model *m, auto_variable *v);
bool auto_all_whole(auto_model *m, auto_variable *v); /* the only one */
/* cost: of one round. */
bool auto_add_strategy(auto_model *m, auto_variable *v, const uint32_t *specs, double cost);
/* work.c: seconds of computing. shares: by factor of the rule. */
double auto_work(auto_model *m, ir_ref node, const op_sharding *rule, const ir_shares *shares,
                 const ir_spec *terms);

/* memory.c: when values are there. False after failing. */
bool auto_lives(auto_model *m);
bool auto_holds(const auto_model *m, size_t number); /* is lives[number] an array of its own? */
double auto_held(const auto_model *m, size_t number, uint32_t strategy); /* bytes of lives[number] */
/* Bytes of the copy that the pair makes where its variables have strategies i and k, and where that is there.
 */
double auto_copied(const auto_model *m, const choice_pair *pair, uint32_t i, uint32_t k, size_t *place);
/* The most bytes that are there at a time, and where; `room` is for 2 (live_count + 2) numbers. */
double auto_peak(const auto_model *m, const uint32_t *chosen, double *room, size_t *worst);

/* mix.c: from one assignment to another one that keeps within the limit, as far as is needed for that; into
 * `out`, if that costs less than *cost. saved: by variable, bytes that `to` holds less, where it counts.
 * False: no memory. */
bool auto_mix(const auto_model *m, const choice_problem *p, const uint32_t *from, const uint32_t *to,
              const double *saved, double limit, double *room, uint32_t *out, double *cost);

/* budget.c: choice_solve, and what fits `limit` bytes, 0: any number. False after failing, and where nothing
 * does. */
bool auto_choose(auto_model *m, const choice_problem *p, size_t entries, double limit, uint32_t *chosen,
                 choice_result *out);

/* calls.c. The nodes in order, how many times they run, and what parameters stand for; then, after other
 * operations, the parameters; the results of calls, in order. False after failing. */
bool auto_order(auto_model *m);
bool auto_params(auto_model *m);
bool auto_call_result(auto_model *m, ir_ref result);
bool auto_predicate(auto_model *m, ir_ref call);
bool auto_wanted_inside(auto_model *m, ir_ref call, ir_ref operand, auto_visit *visit, void *user);

/* model.c: a new variable, and then each of its operands. NULL, false after failing. */
auto_variable *auto_variable_of(auto_model *m, ir_ref node, bool stored, uint32_t terms);
bool auto_use_of(auto_model *m, ir_ref node, double weight, bool tied);
/* The array that x is, as the variable reads it: what is asked for may begin to be pending. UINT32_MAX after
 * failing. */
uint32_t auto_term_array(auto_model *m, const auto_variable *v, ir_ref x);
bool auto_store(auto_model *m, ir_ref node); /* the value is stored for whatever reads it */
/* Variables and pairs of the graph. False after failing. */
bool auto_model_make(auto_model *m, ir_graph *g, const autoshard_request *request);
void auto_model_free(auto_model *m);
/* autoshard.c: the model as a problem, which refers to it. False after failing; free it in any case. */
bool auto_problem_make(auto_model *m, choice_problem *p);
void auto_problem_free(const auto_model *m, choice_problem *p);
/* The variable that says how the value is there for its readers, from 0, and the spec of its strategy. */
uint32_t auto_source(const auto_model *m, ir_ref node); /* UINT32_MAX: none */
uint32_t auto_result_spec(const auto_model *m, uint32_t variable, uint32_t strategy);

#endif
