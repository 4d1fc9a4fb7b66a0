/* The folder ir. The intermediate representation (IR), on which every other folder builds.
 *
 *   in      operations, sources and arguments, from whoever builds a graph
 *   out     the nodes of one graph and facts about them: types, shapes, bounds, uses
 *   holds   equal nodes are one ref; sources have smaller refs than their users; nothing here knows a device
 *           or a file */

/* The intermediate representation: one immutable, hash-consed node type at every level.
 *
 * A node is (op, dtype, sources, arg). Equal nodes are the same ir_ref, so equality is identity and common
 * subexpressions are shared. Sources always have smaller refs than the node that uses them, so a loop from 1
 * to ir_graph.count - 1 visits every node after its sources: no analysis recurses. Node 0 is the error value:
 * every builder accepts it and returns it. It has an operation of its own, no dtype, shape or sources, and
 * may be read like any other node: its src[i] is node 0 for i < IR_ERROR_SOURCES, though its nsrc is 0. Nodes
 * never move: a pointer from ir_get stays valid until the graph is freed.
 *
 * A tensor node has a shape: a TUPLE of index expressions in a side table (the shape follows from the node,
 * so it is not part of the node's identity). It may also have batch sizes, whose axes precede those of the
 * shape in memory: the node computes the same operation for every element of the batch. Shapes and attributes
 * never count batch axes; only batch.c and the passes that make batches physical know of them. Attributes of
 * an operation that are sizes or indices are index nodes among its sources, so a symbolic variable may stand
 * wherever an integer can. */
#ifndef VIEWFOLD_IR_IR_H
#define VIEWFOLD_IR_IR_H

#include "progress.h"

typedef uint32_t ir_ref;

typedef enum ir_op {
#define OP(name, text, operands, cls, level, infix, precedence, attributes, verify) IR_OP_##name,
#include "ops.def"
  IR_OP_COUNT
} ir_op;

typedef enum ir_class {
  IR_CLASS_LEAF,
  IR_CLASS_UNARY,
  IR_CLASS_BINARY,
  IR_CLASS_COMPARE,
  IR_CLASS_TERNARY,
  IR_CLASS_VIEW,
  IR_CLASS_REDUCE,
  IR_CLASS_CONTRACT,
  IR_CLASS_INDIRECT,
  IR_CLASS_ORDERED,
  IR_CLASS_EXCHANGE,
  IR_CLASS_CONTROL,
  IR_CLASS_CUSTOM,
  IR_CLASS_LOOP,
  IR_CLASS_META
} ir_class;
enum { IR_LEVEL_TENSOR = 1, IR_LEVEL_LOOP = 2, IR_LEVEL_BOTH = 3 };

typedef struct ir_op_info {
  const char *text;
  int8_t operands; /* -1: any number; -1-k: any number, then k sources that are not operands */
  uint8_t cls;     /* ir_class */
  uint8_t level;
  uint8_t precedence;
  const char *infix;
  const char *attributes;
} ir_op_info;
extern const ir_op_info ir_ops[IR_OP_COUNT];

typedef struct ir_node {
  uint8_t op;    /* ir_op */
  uint8_t dtype; /* ir_dtype */
  uint8_t weak;  /* an untyped constant, which takes the other operand's dtype */
  uint8_t holds; /* the bits of ir_holds_bit of the node and of all nodes that it is made of; those in a
                    function do not count */
  uint32_t nsrc;
  const ir_ref *src;
  int64_t arg;
  uint32_t hash;
  uint32_t order; /* sort key of ir_compare: height, operation and arg, as far as 32 bits hold them */
} ir_node;

/* The sources that an operation has at fixed places (places that do not depend on its nsrc) are never more
 * than IR_ERROR_SOURCES: a few operands, then three lists as long as the rank. */
enum { IR_CHUNK_BITS = 10, IR_MAX_RANK = 16, IR_MAX_LOCALS = 64, IR_ERROR_SOURCES = 3 * IR_MAX_RANK + 16 };

/* Facts about an index expression: lo <= value <= hi, and value = rem (mod div). Unknown ends are INT64_MIN /
 * INT64_MAX; div >= 1, 0 <= rem < div; a constant has div 0 and lo == hi. */
typedef struct ir_bounds {
  int64_t lo, hi, div, rem;
} ir_bounds;

struct ir_graph;
/* Called before each rewrite is applied: `rule` rewrites the expression op(src) to `result`, which is equal
 * to it wherever the validity condition `given` holds (0: always). Returning false refuses the rewrite. */
typedef struct ir_observer {
  void *user;
  bool (*rewrite)(void *user, struct ir_graph *graph, const char *rule, ir_ref given, ir_op op,
                  const ir_ref *src, uint32_t nsrc, ir_ref result);
  bool validities; /* build a node for `given` where the condition is no node yet; if false, `given` may be 0
                      there as well */
} ir_observer;

/* Which nodes a walk has met (reach.c): by ref, the number of the last walk that met it. */
typedef struct ir_walk {
  uint32_t *met, number;
  struct ir_visit *stack;
  size_t cap, stack_cap;
} ir_walk;

/* A condition, and what pass_finalize_clauses made of it; of 0: nothing yet. */
typedef struct ir_finalized {
  ir_ref condition, result;
} ir_finalized;

/* Folding the corpus asks for a constant index 199 times a chain, of which 173 are found in 32 places. */
enum { IR_RECENT = 32 };
typedef struct ir_graph {
  const ir_mem *mem;
  ir_error *error; /* where builders report; owned by the caller */
  ir_node **chunks;
  size_t chunk_count, chunk_cap;
  uint32_t count;              /* refs 1..count-1 exist */
  struct ir_table_line *table; /* finds nodes (node_table.h); NULL before the first one */
  void *table_memory;          /* what was allocated for it */
  uint32_t table_mask;         /* the number of its lines, a power of two, minus 1 */
  uint32_t table_room;         /* as many nodes may exist */
  struct ir_block *blocks;     /* storage of sources and names, freed with the graph */
  struct ir_name **names;
  size_t name_count, name_cap;
  uint32_t *name_buckets;
  size_t name_bucket_count;
  ir_ref *shapes; /* side table: TUPLE of the tensor node, or 0 */
  size_t shapes_cap;
  ir_ref *batches;            /* likewise: TUPLE of the batch sizes, or 0 */
  size_t batches_cap;         /* 0: the graph has no batch and no operation that concerns one */
  struct ir_letters *letters; /* likewise: letters of axes (letters.h) */
  size_t letters_cap;         /* 0: no axis has one */
  ir_bounds *bounds;          /* side table, memoised by ir_bounds_of */
  uint8_t *bounds_known;      /* 1: derived by ir_bounds_of; 2: tightened */
  size_t bounds_cap;
  int64_t next_serial;              /* for nodes with identity */
  uint64_t budget_spent, budget;    /* steps of index reasoning in this pass, and their limit */
  const ir_observer *observer;      /* NULL: nobody watches rewrites */
  const struct ir_customs *customs; /* custom operations (custom.h); NULL: there are none */
  struct ir_sharding *sharding;     /* mesh and specs of values (mesh/sharding.h); NULL: there is no mesh */
  struct ir_causes *causes;         /* which statements nodes are for (cause.h); NULL: nobody asks */
  ir_task *task;                    /* once it ends, no node can be made; NULL: nobody can end it */
  bool relaxed; /* convolutions recorded from now on may have larger errors (passes/ops/compose/winograd.c),
                   and products of bf16 subnormal numbers as 0 (passes/pack/bf16_pairs.c) */
  ir_walk walk; /* what a walk over nodes works on */
  ir_ref indices[IR_RECENT]; /* constants of dtype index made last, by the low bits of their values; or 0 */
  ir_finalized finalized[IR_RECENT]; /* simplified last, by the low bits of their refs */
  ir_ref finalized_end;              /* refs from here on are in none of them */
} ir_graph;

/* graph.c: storage */
ir_status ir_graph_init(ir_graph *graph, const ir_mem *mem, ir_error *error);
void ir_graph_free(ir_graph *graph);
/* Removes the nodes with refs >= count. The caller guarantees that no such ref is in use. */
void ir_graph_rewind(ir_graph *graph, uint32_t count);
/* The node with these fields, made if new. Returns 0 if any source is 0 or memory is short. No validation. */
ir_ref ir_make(ir_graph *graph, ir_op op, ir_dtype dtype, int64_t arg, const ir_ref *src, uint32_t nsrc);
/* The same, for a tensor node of the given shape (a TUPLE); its batch follows from its operands. */
ir_ref ir_make_tensor(ir_graph *graph, ir_op op, ir_dtype dtype, ir_ref shape, int64_t arg, const ir_ref *src,
                      uint32_t nsrc);
/* The same operation on other sources, with the node's dtype, arg and shape; the node itself if the sources
 * are the same. */
ir_ref ir_remake(ir_graph *graph, ir_ref node, const ir_ref *src, uint32_t nsrc);
/* The same operation on what the map has for each of the node's sources. 0 when memory is short. */
ir_ref ir_remake_mapped(ir_graph *graph, ir_ref node, const ir_ref *map);
ir_ref ir_make_weak(ir_graph *graph, ir_dtype dtype,
                    ir_value value); /* rank-0 constant without a firm dtype */
/* Copy everything reachable from roots[0..n) into dst; roots are replaced by their copies. map, when not
 * NULL, receives an array of src->count refs (0: not reached) allocated from dst->mem. dst gets src's custom
 * operations and precision. */
ir_status ir_graph_copy(ir_graph *dst, const ir_graph *src, ir_ref *roots, size_t n, ir_ref **map);
int64_t ir_name(ir_graph *graph, const char *bytes, size_t length); /* intern; -1 when memory is short */
const char *ir_name_text(const ir_graph *graph, int64_t name);      /* NUL-terminated */
size_t ir_name_length(const ir_graph *graph, int64_t name);

/* A node, its operation, its dtype, and its source i < nsrc. The ref must exist or be 0, the error value,
 * which is a node too: operation ERROR, dtype none, and the first IR_ERROR_SOURCES sources can be read as 0.
 * The pointer is valid until the node is removed or the graph freed. */
static inline const ir_node *ir_get(const ir_graph *graph, ir_ref ref) {
  return &graph->chunks[ref >> IR_CHUNK_BITS][ref & ((1u << IR_CHUNK_BITS) - 1)];
}
static inline ir_op ir_op_of(const ir_graph *graph, ir_ref ref) { return (ir_op)ir_get(graph, ref)->op; }
static inline ir_dtype ir_dtype_of(const ir_graph *graph, ir_ref ref) {
  return (ir_dtype)ir_get(graph, ref)->dtype;
}
static inline ir_ref ir_src(const ir_graph *graph, ir_ref ref, uint32_t i) {
  return ir_get(graph, ref)->src[i];
}

/* A bit for each of some groups of operations that passes look for in kernels, and one for all others. */
enum {
  IR_HOLDS_RANGE = 1,
  IR_HOLDS_LOAD = 2,
  IR_HOLDS_REDUCE = 4,
  IR_HOLDS_DIVISION = 8, /* FLOORDIV, MOD */
  IR_HOLDS_COMPARE = 16,
  IR_HOLDS_LIMIT = 32, /* MIN, BOUND, LOCAL */
  IR_HOLDS_VAR = 64,
  IR_HOLDS_OTHER = 128
};
static inline uint8_t ir_holds_bit(ir_op op) {
  switch ((int)op) {
  case IR_OP_RANGE: return IR_HOLDS_RANGE;
  case IR_OP_LOAD: return IR_HOLDS_LOAD;
  case IR_OP_REDUCE: return IR_HOLDS_REDUCE;
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return IR_HOLDS_DIVISION;
  case IR_OP_MIN:
  case IR_OP_BOUND:
  case IR_OP_LOCAL: return IR_HOLDS_LIMIT;
  case IR_OP_VAR: return IR_HOLDS_VAR;
  default: return ir_ops[op].cls == IR_CLASS_COMPARE ? IR_HOLDS_COMPARE : IR_HOLDS_OTHER;
  }
}

/* order.c: an order of nodes that does not depend on the order in which they were made. Sources come before
 * their users. */
uint32_t ir_order_of(const ir_graph *graph, ir_op op, int64_t arg, const ir_ref *src, uint32_t nsrc);
int ir_compare_equal_keys(const ir_graph *graph, ir_ref a, ir_ref b);     /* a and b have the same `order` */
static inline int ir_compare(const ir_graph *graph, ir_ref a, ir_ref b) { /* < 0: a comes before b */
  uint32_t x = ir_get(graph, a)->order, y = ir_get(graph, b)->order;
  return x != y ? (x < y ? -1 : 1) : ir_compare_equal_keys(graph, a, b);
}

/* node.c: small builders and queries */
ir_ref ir_const(ir_graph *graph, ir_dtype dtype, ir_value value); /* rank-0; value rounded to dtype first */
ir_ref ir_index(ir_graph *graph, int64_t value);                  /* index constant */
ir_ref ir_bool(ir_graph *graph, bool value);
ir_ref ir_float(ir_graph *graph, ir_dtype dtype, double value);
ir_ref ir_int(ir_graph *graph, ir_dtype dtype, int64_t value);
/* Does the operation update its first operand at computed indices? It becomes two kernels, of which the first
 * fills the buffer. */
static inline bool ir_is_scatter(ir_op op) {
  return op == IR_OP_SCATTER || op == IR_OP_SCATTER_ADD || op == IR_OP_ASSIGN;
}
static inline bool ir_is_const(const ir_graph *graph, ir_ref ref,
                               int64_t *value) { /* integer, bool or index */
  const ir_node *n = ir_get(graph, ref);
  if (n->op != IR_OP_CONST || ir_is_float((ir_dtype)n->dtype)) return false;
  if (value) *value = n->arg;
  return true;
}
static inline bool ir_is_true(const ir_graph *graph, ir_ref ref) {
  const ir_node *n = ir_get(graph, ref);
  return n->op == IR_OP_CONST && n->dtype == IR_BOOL && n->arg == 1;
}
static inline bool ir_is_false(const ir_graph *graph, ir_ref ref) {
  const ir_node *n = ir_get(graph, ref);
  return n->op == IR_OP_CONST && n->dtype == IR_BOOL && n->arg == 0;
}
ir_value ir_const_value(const ir_graph *graph, ir_ref ref); /* of a CONST */
/* lo <= value <= hi, value divisible by divisor (>= 1) */
ir_ref ir_var(ir_graph *graph, const char *name, size_t length, int64_t lo, int64_t hi, int64_t divisor);
ir_ref ir_tuple(ir_graph *graph, const ir_ref *items, uint32_t count);
ir_ref ir_unary(ir_graph *graph, ir_op op, ir_ref a);            /* dtype of a, shape of a */
ir_ref ir_binary(ir_graph *graph, ir_op op, ir_ref a, ir_ref b); /* dtype of a, or bool for comparisons */
ir_ref ir_where(ir_graph *graph, ir_ref condition, ir_ref a, ir_ref b);
ir_ref ir_rare(ir_graph *graph, ir_ref condition, ir_ref a, ir_ref b);
ir_ref ir_cast(ir_graph *graph, ir_ref a, ir_dtype dtype);
ir_ref ir_bitcast(ir_graph *graph, ir_ref a, ir_dtype dtype);
int64_t ir_arg_int(const ir_node *node); /* bits 0..31 of arg, signed */
int ir_arg_mode(const ir_node *node);    /* bits 32..39 of arg */
int ir_arg_small(const ir_node *node);   /* bits 40..47 of arg */
int64_t ir_pack_arg(int64_t value, int mode);
int64_t ir_pack_args(int64_t value, int mode, int small);

/* Shapes of tensor nodes. Rank-0 tensors have an empty TUPLE; nodes that are no tensors have shape 0. */
static inline ir_ref ir_shape(const ir_graph *graph, ir_ref ref) { return ref ? graph->shapes[ref] : 0; }
static inline uint32_t ir_rank(const ir_graph *graph, ir_ref ref) {
  ir_ref shape = ir_shape(graph, ref);
  return shape ? ir_get(graph, shape)->nsrc : 0;
}
static inline ir_ref ir_dim(const ir_graph *graph, ir_ref ref, uint32_t axis) {
  return ir_src(graph, graph->shapes[ref], axis);
}
uint32_t ir_operand_count(const ir_node *node);   /* leading sources that are operands, not attributes */
uint32_t ir_operands_of(ir_op op, uint32_t nsrc); /* the same for a node that has not been made */
/* The end of the list attribute that begins at source `from`: where there are several lists, they are of one
 * length; one alone takes all sources that are left. */
uint32_t ir_list_end(const ir_node *node, uint32_t from);
bool ir_reduces_axis(const ir_graph *graph, const ir_node *reduce, uint32_t axis); /* of class REDUCE */

/* batch.c. A value of batch (b0, ..., bk-1) and shape (d0, ...) is an array [b0, ..., bk-1, d0, ...], printed
 * f32[b0,..,bk-1|d0,..]. The batch of a node is the longest batch among its operands. Shorter batches align
 * with its last axes, because the innermost of nested batches comes first; aligned sizes are equal, or one of
 * them is 1. INPUTs and BUFFERs may have their batch sizes as a TUPLE after the sizes of their shape. The arg
 * of REBATCH is the number of leading axes that are batch axes. */
ir_ref ir_batch(const ir_graph *graph, ir_ref ref); /* TUPLE of at least one size, or 0 for none */
uint32_t ir_batch_rank(const ir_graph *graph, ir_ref ref);
/* Writes the batch sizes, then the shape, to dims; returns their number. */
uint32_t ir_physical(const ir_graph *graph, ir_ref ref, ir_ref *dims);
/* The batch of a tensor node that is about to be made. False when memory is short, or REBATCH asks for more
 * axes than there are. */
bool ir_batch_of(ir_graph *graph, ir_op op, int64_t arg, const ir_ref *src, uint32_t nsrc, ir_ref *batch);
/* An INPUT (arg: its name) or BUFFER (arg: its serial number); batch may be 0. */
ir_ref ir_leaf(ir_graph *graph, ir_op op, ir_dtype dtype, ir_ref batch, ir_ref shape, int64_t arg);

enum { IR_PAD_CONSTANT, IR_PAD_EDGE, IR_PAD_REFLECT, IR_PAD_WRAP };
/* How a local is stored to. ONCE: stored before anything reads it, constant from then on. KEPT: it keeps its
 * contents from one iteration of an inner loop to the next, and each iteration may store to it. AHEAD: as
 * KEPT, and what an iteration stores is read in later iterations only. */
enum { IR_LOCAL_ONCE, IR_LOCAL_KEPT, IR_LOCAL_AHEAD };
enum { IR_GATHER_CHECK, IR_GATHER_CLIP, IR_GATHER_FILL }; /* an out-of-range index: error, nearest, zero */
enum { IR_WRITE_SET, IR_WRITE_ADD }; /* what ASSIGN does with an element: replaces it, adds to it */
/* Accesses that bypass the caches: none; all; stores to three quarters of the memory. FETCHED: none, and the
 * lines of memory are prefetched, some in each iteration of the loop that computes the stored value. */
enum { IR_NO_STREAM, IR_STREAM, IR_STREAM_MOST, IR_FETCHED };
static inline bool ir_streams(int mode) { return mode == IR_STREAM || mode == IR_STREAM_MOST; }
enum { IR_SERIAL, IR_UNROLL, IR_VECTOR, IR_THREAD }; /* bindings: what runs the iterations of a loop */
extern const char *const ir_pad_modes[4], *const ir_gather_modes[3], *const ir_write_ops[2],
                                                                         *const ir_bindings[4];

/* bounds.c */
ir_bounds ir_bounds_derive(ir_graph *graph, ir_ref ref); /* and keeps them */
/* Of an index or bool expression. Never fails. */
static inline ir_bounds ir_bounds_of(ir_graph *graph, ir_ref ref) {
  if (ref < graph->bounds_cap && graph->bounds_known[ref]) return graph->bounds[ref];
  return ir_bounds_derive(graph, ref);
}
/* Records a fact that the caller has proved: lo <= value <= hi for all values of the node's variables. Call
 * it before anything uses the node: facts already derived from the node do not change. */
void ir_bounds_tighten(ir_graph *graph, ir_ref ref, int64_t lo, int64_t hi);

/* ir/print */
void ir_print_expr(const ir_graph *graph, ir_ref ref,
                   ir_text *out); /* fully parenthesised index or scalar expression */
void ir_print_python(const ir_graph *graph, ir_ref ref,
                     ir_text *out); /* the same, with selections in Python's form, `(a if c else b)` */
/* `graph @name(%x: f32[2,3], ...) { ... }` for a tensor TUPLE of results, or the listing of a kernel */
void ir_print_graph(const ir_graph *graph, const char *name, ir_ref root, ir_text *out);
void ir_print_type(const ir_graph *graph, ir_ref ref, ir_text *out); /* "f32[480,640]", "f32[8|480,640]" */

/* ir/verify/verify.c: checks every node reachable from root against its level's rules */
ir_status ir_verify(ir_graph *graph, ir_ref root, int level, ir_error *error);

/* reach.c */
/* The refs reachable from roots, in ascending order, which is a topological order. *out is allocated from
 * graph->mem with capacity *cap. ir_reachable lists a FUNC but not what is inside it; ir_reachable_inside
 * enters functions. */
ir_status ir_reachable(const ir_graph *graph, const ir_ref *roots, size_t n, ir_ref **out, size_t *count,
                       size_t *cap);
ir_status ir_reachable_inside(const ir_graph *graph, const ir_ref *roots, size_t n, ir_ref **out,
                              size_t *count, size_t *cap);
/* As ir_reachable, in an order that does not depend on when nodes were made: sources first, otherwise in the
 * order of the operands that refer to them (ir/order.c). Decisions that depend on which node comes first are
 * the same in every graph that holds the same program, such as one that was read from a text. */
ir_status ir_reachable_in_order(const ir_graph *graph, const ir_ref *roots, size_t n, ir_ref **out,
                                size_t *count, size_t *cap);
/* The same, the last operand first. */
ir_status ir_reachable_last_first(const ir_graph *graph, const ir_ref *roots, size_t n, ir_ref **out,
                                  size_t *count, size_t *cap);
/* The index of a ref in a list of ir_reachable: of the first entry >= ref, `count` if there is none. */
size_t ir_find_ref(const ir_ref *ascending, size_t count, ir_ref ref);
/* Like ir_reachable, but the sources of nodes older than `floor`, and of nodes in stops[], are not followed:
 * these nodes are listed alone. */
ir_status ir_reachable_above(const ir_graph *graph, const ir_ref *roots, size_t n, ir_ref floor,
                             const ir_ref *stops, size_t stop_count, ir_ref **out, size_t *count,
                             size_t *cap);

/* The nodes that root is made of, itself included, whose operation is `op` or, for IR_OP_COUNT, one with a
 * bit of `holds`, which has the bit of op: at most `room` of them, in the order of ir_reachable_in_order.
 * Only what holds such operations is visited. None when memory is short. */
uint32_t ir_find_below(ir_graph *graph, ir_ref root, uint8_t holds, ir_op op, ir_ref *out, uint32_t room);
/* Is the node one of those that root is made of, or root? */
bool ir_is_below(ir_graph *graph, ir_ref root, ir_ref node);
void ir_walk_free(ir_graph *graph);

/* function.c: functions and the nodes that call them. A function consists of values that depend on its
 * parameters and on constants (CONST, DATA, IOTA, VAR); whatever else it needs is passed to it. Several
 * functions may have the same parameters: each call is a scope of its own. A function is written for single
 * elements, without a batch; a call is made for each element of the batch that its operands have together. */
typedef struct ir_function {
  const ir_ref *results, *params;
  uint32_t result_count, param_count;
} ir_function;
ir_ref ir_func(ir_graph *graph, const ir_ref *results, uint32_t result_count, const ir_ref *params,
               uint32_t param_count);
ir_function ir_function_of(const ir_graph *graph, ir_ref func);
/* Nesting depth of a function: 1 if it calls no other. Whoever records a call keeps the depth within
 * IR_MAX_DEPTH, so that a traversal may recurse into functions. */
enum { IR_MAX_DEPTH = 64 };
uint32_t ir_func_depth(const ir_graph *graph, ir_ref func);
/* The FUNC number `number` of a CONTROL node: COND has then, else; WHILE has while, do; SCAN has do. */
ir_ref ir_called(const ir_graph *graph, ir_ref control, uint32_t number);
uint32_t ir_called_count(const ir_node *control);
/* Does the node have results, each selected by a RESULT node, instead of a value? True for the classes
 * CONTROL and CUSTOM. */
static inline bool ir_has_results(ir_op op) {
  return ir_ops[op].cls == IR_CLASS_CONTROL || ir_ops[op].cls == IR_CLASS_CUSTOM;
}
uint32_t ir_result_count(const ir_graph *graph, ir_ref node);
ir_ref ir_result(ir_graph *graph, ir_ref control, uint32_t number, ir_dtype dtype, ir_ref shape);
/* The node whose type result `number` has: a result of a function, or an operand. *stacked: the result has
 * one more axis in front, of the scan's length. */
ir_ref ir_result_like(const ir_graph *graph, ir_ref control, uint32_t number, bool *stacked);
/* How a SCAN uses its operands: first `carries` of state, then `sliced` ones, then others. Both counts are <
 * 65536. */
typedef struct ir_scan_state {
  uint32_t carries, sliced;
  bool reverse;
} ir_scan_state;
int64_t ir_pack_scan(ir_scan_state state);
ir_scan_state ir_scan_of(const ir_node *scan);

/* replace.c: rebuilds roots[0..n) with to[i] in place of each node from[i]; both have the same dtype and
 * shape. Nodes older than all of from[] stay as they are, and so does the inside of functions. */
ir_status ir_replace(ir_graph *graph, const ir_ref *from, const ir_ref *to, size_t count, ir_ref *roots,
                     size_t n);

#endif
