/* What the files of the sharding pass share. */
#ifndef VIEWFOLD_PASSES_SHARD_IMPL_H
#define VIEWFOLD_PASSES_SHARD_IMPL_H

#include "passes/ops/sharding/sharding.h"
#include "passes/view/index_map.h"
#include "shard.h"
#include "strategy.h"

/* A list of sub-axes, the major first. */
typedef struct shard_axes {
  uint32_t count;
  ir_subaxis axes[IR_SUBAXES];
} shard_axes;

/* The size of a part that has a variable. */
typedef struct shard_part {
  ir_ref size, var;
  shard_axes axes;
} shard_part;

/* A variable that stands for an expression of coordinates. */
typedef struct shard_named {
  ir_ref value, var;
} shard_named;

/* A part that was moved; `next`: another one of the same value, from 1. */
typedef struct shard_moved {
  ir_ref local, made;
  ir_spec to;
  uint32_t next;
} shard_moved;

/* The spec of a result of a call. */
typedef struct shard_result {
  ir_ref node;
  uint32_t slot;
  ir_spec spec;
} shard_result;

/* A cumulative operation of a reversed array, deferred as a view is: the reverse of `local`, which is divided
 * as the array is, and was combined from its other end by an operation. */
typedef struct shard_reversed {
  ir_ref node, local;
  ir_spec spec;
  ir_op by; /* MAX where nothing is rounded */
} shard_reversed;

typedef struct shard_state {
  ir_graph *g;
  const ir_mesh *mesh;
  shard_program *program;
  int64_t device;                            /* SHARD_ALL, or the one that the program is for */
  bool divides_constants, numbers, tells;    /* of shard_request */
  ir_ref of_axes[SHARD_VALUE][IR_MESH_AXES]; /* variables by shard_variable_kind; 0: not used so far */
  shard_part *parts;
  size_t part_count, part_cap;
  shard_named *named;
  size_t named_count, named_cap;
  shard_result *results; /* of calls, in the order in which they were made */
  size_t result_count, result_cap;
  shard_reversed *backwards; /* ordered.c */
  size_t backwards_count, backwards_cap;
  struct shard_planned *planned; /* steps.c */
  size_t planned_count, planned_cap;
  shard_moved *moves;
  size_t move_count, move_cap;
  uint32_t *moved; /* by node: the last of its entries in moves, from 1 */
  ir_ref *local;   /* by node: its part; 0: not made so far */
  int64_t *ends;   /* by node that sorts: as many of the first elements are read; negative: all */
  ir_ref *asked;   /* RESULTs of calls that are given */
  size_t asked_count, asked_cap;
  uint8_t *given;    /* by node: did it have a spec before the pass? */
  uint8_t *held;     /* by node: does a deferred view take it as it is? */
  uint8_t *deferred; /* by node: is it a view whose part is made where it is read (views.c)? */
  uint32_t *readers; /* by node: how often it is an operand or a result */
  size_t nodes;
} shard_state;

/* shard.c. The spec of a value, as far as the pass has come; whole where it has none. */
ir_spec shard_spec_of(const shard_state *s, ir_ref node);
/* Makes the node on parts; its sources are made. False after failing. */
bool shard_visit(shard_state *s, ir_ref node);
/* As if the pass had not come to the node, whose function is entered again. */
void shard_forget(shard_state *s, ir_ref node);
/* The part of a value under a spec, and why `operand` of a node (-1: its result) needs it. 0 after failing.
 */
ir_ref shard_take(shard_state *s, ir_ref x, const ir_spec *to, ir_ref node, int operand, shard_reason reason);

/* control.c: a condition or a loop on parts, and one of its results. 0 after failing. */
ir_ref shard_call(shard_state *s, ir_ref node);
ir_ref shard_call_result(shard_state *s, ir_ref node, ir_spec *out);

/* Notes the spec of a result, for the nodes that select it. */
bool shard_keep_result(shard_state *s, ir_ref node, uint32_t slot, const ir_spec *spec);
/* custom.c: a custom operation with a rule, on parts; its results are noted. 0 after failing. */
ir_ref shard_custom(shard_state *s, ir_ref node);

/* parts.c: positions and sizes of parts, as index expressions. 0 after failing. */
ir_ref shard_position(shard_state *s, const ir_subaxis *axes, uint32_t count);
ir_ref shard_size(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count);
ir_ref shard_start(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count);
/* Has each part its whole share of the elements, whatever the values of variables? Where no axis has weights,
 * the same number. */
bool shard_divides(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count);
/* Is each part of so many elements a single one? */
bool shard_is_single(const ir_subaxis *axes, uint32_t count, int64_t size);
/* Sizes of the part of a value, and its first index along each axis; false after failing. */
bool shard_local_shape(shard_state *s, const ir_ref *dims, const ir_spec *spec, ir_ref *out);
bool shard_local_start(shard_state *s, const ir_ref *dims, const ir_spec *spec, ir_ref *out);
/* Are the axes of a place in another spec all there, in that order, or the first of them? */
bool shard_is_prefix(const ir_spec *a, const ir_spec *b, uint32_t place);

/* A variable for the expression, between these bounds; the same for the same expression. */
ir_ref shard_name(shard_state *s, ir_ref value, const char *begin, int64_t lo, int64_t hi);

/* The pending axes of two specs: those that are joined, those that stay, and those that begin. */
typedef struct shard_pending {
  shard_axes joined, kept, begun;
  ir_op by;
} shard_pending;

/* move.c: an EXCHANGE (op_exchange) of that kind. 0 after failing. */
ir_ref shard_exchange(shard_state *s, ir_ref x, const ir_ref *shape, const ir_ref *start, const ir_ref *at,
                      size_t n, const char *kind);
/* x, the part under `from` of an array of these sizes, as the part under `to`, by at most one
 * EXCHANGE, *exchange, which is called `kind`; 0: a view. 0 after failing. */
ir_ref shard_step(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                  const char *kind, ir_ref *exchange);
/* x, whose part of an array begins at `at`, as the box of that array of these sizes that begins at `start`;
 * summands that stay pending each for itself, and those that are joined stacked in front. The arrays have
 * room for IR_MAX_RANK entries and are changed. 0 after failing. */
ir_ref shard_bring(shard_state *s, ir_ref x, const shard_pending *p, uint32_t n, ir_ref *shape, ir_ref *start,
                   ir_ref *at, const char *kind, ir_ref *exchange);
void shard_sort_pending(const ir_spec *from, const ir_spec *to, shard_pending *out);
/* The reduction of an axis by an operation of pending reductions, in the dtype that x has. 0 after failing.
 */
ir_ref shard_join(ir_graph *g, ir_op by, ir_ref x, uint32_t axis);
ir_op shard_reduction(ir_op by);               /* SUM of ADD, and so on */
ir_value shard_neutral(ir_op by, ir_dtype t);  /* what leaves the other operand as it is */
ir_ref shard_scalar(shard_state *s, ir_ref e); /* an index expression as an i64 of rank 0 */
/* The device at position 0 along the axes has x, and the others what changes nothing. */
ir_ref shard_begin_pending(shard_state *s, ir_ref x, const shard_axes *axes, ir_op by);

/* flat.c: parts as flat arrays of `count` elements, of which each device along the joined axes combines one
 * chunk. rows: the spec without the joined axes; part: sizes of the part. Functions return 0 after failing.
 */
typedef struct shard_flat {
  int64_t pieces;
  ir_ref row, piece, count, size, start; /* size, start: of the chunk */
} shard_flat;
bool shard_flat_begin(shard_state *s, const ir_spec *rows, const ir_ref *part, const shard_axes *joined,
                      shard_flat *out);
ir_ref shard_flat_pieces(shard_state *s, const shard_flat *f, ir_ref x, const char *kind,
                         ir_ref *exchange); /* x as [1, pieces, size] */
ir_ref shard_flat_gather(shard_state *s, const shard_flat *f, ir_ref chunk, const char *kind,
                         ir_ref *exchange); /* [1, size] as [1, count] */
/* An all_reduce by two EXCHANGEs, of which *exchange is the last. `from` and `to` divide alike. */
ir_ref shard_flat_reduce(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                         ir_ref *exchange);

/* steps.c: the same as shard_step in the cheapest steps: of fewest bytes, or of least time where the mesh
 * says the latency and bandwidth of its axes. Each gets a row in program->collectives, of the next note. */
ir_ref shard_move(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                  ir_ref *exchange);

/* What that takes on the mesh, in picoseconds: exchanges one after the other, of which each is so long in
 * flight and so long passes the link of a device (ir/mesh/link.h); of more than
 * SHARD_ROUNDS, the last entry has those that are left. False after failing. */
enum { SHARD_ROUNDS = 8 }; /* because plans of gradients have at most three */
typedef struct shard_rounds {
  uint64_t flight[SHARD_ROUNDS], passes[SHARD_ROUNDS], time;
  uint32_t count;
} shard_rounds;
bool shard_move_rounds(shard_state *s, ir_dtype dtype, const ir_ref *dims, const ir_spec *from,
                       const ir_spec *to, shard_rounds *out);
/* pieces.c: as shard_move; a pending value that is known in pieces goes in pieces, where the last is there
 * earlier so. */
ir_ref shard_move_pieces(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                         ir_ref *exchange);

/* collective.c: the spec that a collective gives its operand, which has the spec `from`. False after
 * failing. */
bool shard_collective_spec(shard_state *s, ir_ref node, const ir_spec *from, ir_spec *out);

/* known_gather.c: is the node a gather of known indices along an axis that `spec`, of its first operand,
 * divides, and does each device need one box of that? Then the result has the same spec, and its part is
 * *made, of the part `local` of the operand; 0 after failing. */
bool shard_known_gather(shard_state *s, ir_ref node, const ir_spec *spec, ir_ref local, ir_ref *made);

/* assign.c: which axes of the mesh divide which factors of an operation. */
typedef struct shard_choice {
  ir_spec operands[32]; /* what each operand has to be */
  ir_spec result;       /* what the result is then */
} shard_choice;
enum { SHARD_OWN_VARIABLES = 64 /* of a graph, whose sizes are counted with */ };
enum { SHARD_OPERANDS = OP_SHARDING_OPERANDS }; /* an operation of more is done on whole operands */
/* estimate.c: bytes that a device receives about. */
double shard_move_bytes(ir_graph *g, ir_ref x, const ir_spec *from, const ir_spec *to);
double shard_least_bytes(ir_graph *g, ir_ref x); /* of what it is a view of, if these are fewer */
double shard_bytes(ir_graph *g, ir_ref x);       /* of the value, at the largest sizes */
/* specs[]: of the operands; wanted: of the result, or NULL. False after failing. */
bool shard_choose(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                  const ir_spec *wanted, shard_choice *out);

/* Of an operation of several results: terms[] are specs of the operands, then of the results, which are
 * pending along contracted factors. False after failing. */
bool shard_choose_terms(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                        ir_spec *terms);

void shard_plans_free(shard_state *s); /* plans that were kept for equal redistributions */
/* A row of the next note, for an exchange that was not planned. */
bool shard_note_exchange(shard_state *s, const ir_spec *from, const ir_spec *to, ir_ref exchange);

/* lattice.c: of each axis of an array, the elements first + k step, for k < size, that an index can reach;
 * whole: the axis. Functions return 0 after failing. */
typedef struct shard_lattice {
  uint32_t rank;
  int64_t first[IR_MAX_RANK], step[IR_MAX_RANK];
  ir_ref size[IR_MAX_RANK], whole[IR_MAX_RANK];
} shard_lattice;
void shard_lattice_of(ir_graph *g, const pass_point *p, const ir_ref *dims, shard_lattice *out);
/* The first k whose element is not before index `at`, or the last whose element is not behind it. */
ir_ref shard_lattice_index(ir_graph *g, const shard_lattice *l, uint32_t d, ir_ref at, bool up);
/* What the part x, which begins at at[], has of it; at[] becomes where that begins. */
ir_ref shard_lattice_part(shard_state *s, ir_ref x, const shard_lattice *l, ir_ref *at);
/* x, which begins at start[] of it, in an array of all sizes. */
ir_ref shard_lattice_whole(shard_state *s, ir_ref x, const shard_lattice *l, const ir_ref *start);

/* ordered.c: the axis of a cumulative operation, or one that searches, stays divided; where one sorts,
 * another is divided. wanted: of the result, or NULL. */
void shard_choose_ordered(shard_state *s, ir_ref node, const ir_spec *operand, const ir_spec *wanted,
                          shard_choice *choice);
bool shard_is_cumulative(ir_op op);
ir_ref shard_cumulative(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec); /* 0 after failing */
ir_ref shard_search(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec);     /* argmax, argmin */
/* Is it cumulative, of an array that is reversed along its axis, which is divided, and not made so far? Then
 * its part is made on those of the array, and the node is to be deferred. False after failing. */
bool shard_is_backwards(shard_state *s, ir_ref node);
bool shard_backwards(shard_state *s, ir_ref node);
const shard_reversed *shard_reversed_of(const shard_state *s,
                                        ir_ref node); /* NULL: it is none, or was made */
/* Notes how many of the first elements the reader needs of what it reads, where that is sorted; and these
 * elements, whole along the axis, with zeros behind them. */
void shard_note_ends(shard_state *s, ir_ref reader);
ir_ref shard_sort_first(shard_state *s, ir_ref node, ir_ref x, const ir_spec *spec);
/* indirect.c: a gather or scatter of parts, also along the axis that it indexes. 0 after failing. */
ir_ref shard_indirect(shard_state *s, ir_ref node, const shard_choice *choice, ir_ref *operands);

/* write.c: an ASSIGN to the part of its array, of the updates in it. 0 after failing. */
ir_ref shard_write(shard_state *s, ir_ref node, const shard_choice *choice, ir_ref part, ir_ref updates);

/* take.c. Functions return 0 or false after failing. */
bool shard_note_sum(shard_state *s, ir_ref x, ir_ref local, ir_op by, const ir_spec *spec);
bool shard_note_move(shard_state *s, ir_ref node, int operand, shard_reason reason, const ir_spec *from,
                     const ir_spec *to, ir_ref exchange);
/* The part of a value that the pass has come to; of a deferred view, it is made now. */
ir_ref shard_part_of(shard_state *s, ir_ref x);
/* The part of x, a node of the graph or its local counterpart, under another spec, with a note. */
ir_ref shard_bring_to(shard_state *s, ir_ref x, ir_ref local, const ir_spec *from, const ir_spec *to,
                      ir_ref node, int operand, shard_reason reason);
/* The spec `to`, with what is pending in `have`, along whose axes nothing is divided yet. */
ir_spec shard_still_pending(const ir_spec *have, const ir_spec *to);
/* The part of a deferred view of the spec `have`, made under another spec at once. */
ir_ref shard_make_under(shard_state *s, ir_ref x, const ir_spec *have, const ir_spec *to, ir_ref node,
                        int operand, shard_reason reason);

/* views.c: views that read elements of other parts. Does the pass make the part of this view only where it
 * is read? specs[]: of its operands, and what the rule would make of them. *out: the spec of the view. */
bool shard_defers_view(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                       const shard_choice *choice);
bool shard_same_pending(const ir_spec *a, const ir_spec *b);
bool shard_is_joined(ir_op op); /* CONCAT, STACK */
bool shard_is_deferred(const shard_state *s, ir_ref node);
bool shard_view_spec(shard_state *s, ir_ref node, ir_spec *out); /* false after failing */
/* The view that a deferred node is, of its first source: the node itself, but for one of shard_reversed_of.
 */
ir_ref shard_view_of(const shard_state *s, ir_ref node);
/* Where the views below x, which has been made, begin at an array of fewer bytes: marks them as deferred, and
 * returns the number of views; `kept` takes their parts, for shard_unsink. 0: there is none. */
enum { SHARD_SUNK = 8 /* views below a value that are looked at; those further down stay made */ };
uint32_t shard_sink(shard_state *s, ir_ref x, ir_ref kept[SHARD_SUNK]);
void shard_unsink(shard_state *s, ir_ref x, const ir_ref *kept, uint32_t count);
/* The point of operand i that a point of a joined array reads, if it reads that operand: where what is added
 * to the guards is 0. */
void shard_joined_point(ir_graph *g, ir_ref node, uint32_t i, pass_point *p, pass_point *guards);
/* read.c: the part of a deferred view under that spec: each array that it is a view of is exchanged for the
 * box that the part reads. *from: the spec of one of them; *exchange: the last, 0: none. 0 after failing. */
ir_ref shard_view_part(shard_state *s, ir_ref node, const ir_spec *to, ir_spec *from, ir_ref *exchange,
                       ir_op *summed);

/* local.c: the operation on the parts of its operands, which are those of `choice`. 0 after failing. */
ir_ref shard_local(shard_state *s, ir_ref node, const op_sharding *rule, const shard_choice *choice,
                   const ir_ref *operands);
ir_dtype shard_wide(ir_dtype t); /* in which sums of it are added up: f32 for f16 and bf16 */
/* A MEAN: the sum of the elements of a part, in the dtype that adds them up, and the mean of the whole sum.
 */
ir_ref shard_mean_sum(shard_state *s, ir_ref node, ir_ref x);
ir_ref shard_mean_of_sum(shard_state *s, ir_ref node, ir_ref sum);

#endif
