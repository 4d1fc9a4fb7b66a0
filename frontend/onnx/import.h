/* The folder frontend/onnx. ONNX models.
 *
 *   in      a model file, the tensors of a test data folder
 *   out     a graph with the model's inputs, outputs and weights
 *   holds   weights stay where they are in the file; what is read from a file is bounded by its size; a
 * failure names the file, the node and its inputs */

/* What the files of the importer share: values by name, nodes, and what is known of them.
 *
 * Sizes are folded: an integer, bool or float tensor of few elements that the graph's sizes and constants
 * determine is `known`, element by element, as expressions of sizes. So Reshape, Slice and the like get
 * their sizes, symbolic ones too, and only what a tensor operation needs becomes a tensor. */
#ifndef VIEWFOLD_FRONTEND_ONNX_IMPORT_H
#define VIEWFOLD_FRONTEND_ONNX_IMPORT_H

#include "frontend/api/api.h"
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/schema.h"
#include "passes/index/index.h"
#include "passes/ops/compose/compose.h"
#include "runtime/cache/range_digests.h"

/* Operator sets of the domain ai.onnx that the table of operators is written for, from ONNX_FIRST_OPSET to
 * ONNX_LAST_OPSET. */
enum { ONNX_FIRST_OPSET = 1, ONNX_LAST_OPSET = 28 };

/* Folded values have at most ONNX_FOLD_MOST elements: a shape has 16, pads have 32, and what indexes them is
 * about as long. Elements of initialisers are known up to ONNX_KNOWN_MOST, and as far as they are in the
 * file. */
enum { ONNX_FOLD_MOST = 256, ONNX_KNOWN_MOST = 1 << 20 };

typedef union onnx_element {
  ir_ref size; /* an index expression; of bool 0 or 1 */
  double real; /* of floats */
} onnx_element;

typedef struct onnx_known {
  ir_dtype dtype;
  int rank;
  const int64_t *shape;
  size_t count;
  onnx_element *elements; /* row-major */
} onnx_known;

/* What a map has by name. */
typedef struct onnx_named {
  wire_bytes name;
  uint32_t hash;
  struct onnx_named *next;
} onnx_named;

/* Tensors of which a sequence consists. */
struct onnx_value;
typedef struct onnx_sequence {
  const struct onnx_value **items;
  int count;
} onnx_sequence;

typedef struct onnx_value {
  onnx_named base;
  ir_ref ref; /* a tensor; 0: not made yet, or of no tensor */
  const onnx_known *known;
  const onnx_tensor *tensor; /* an initialiser */
  int64_t narrow; /* the number of a type that viewfold lacks (narrow.h), and the tensor stores; 0 */
  const struct onnx_value *input; /* of the model, which it is; or NULL */
  const onnx_sequence *sequence;  /* instead of a tensor; or NULL */
  bool absent;                    /* an optional value without an element */
} onnx_value;

/* Names of a graph; those that it lacks are its parent's. */
typedef struct onnx_scope {
  struct onnx_scope *parent;
  onnx_named **buckets;
  size_t bucket_count, count;
} onnx_scope;

struct onnx_node;

/* What the nodes of a graph or function are read with. */
typedef struct onnx_frame {
  onnx_scope scope;
  const wire_list *opsets;             /* onnx_opset_proto */
  const struct onnx_node *caller;      /* of a function: the node that calls it; NULL */
  const onnx_function_proto *function; /* or NULL */
} onnx_frame;

/* A file in memory, whose ranges become constants. */
typedef struct onnx_file {
  onnx_named base; /* of a file beside the model */
  rt_mapped_file *file;
  wire_bytes bytes;
  rt_range_digests digests; /* when `digesting` */
  bool digesting;
} onnx_file;

/* A size that a model takes from an axis of a fixed size, such as a table of positions: it is at most that.
 */
typedef struct onnx_limit {
  char name[128]; /* of the variable */
  int64_t most;
} onnx_limit;

typedef struct onnx_import {
  vf_graph *graph;
  ir_graph *g;
  ir_error *error; /* that of the graph */
  const char *path;
  const vf_import_options *options;
  onnx_file file;
  wire_bytes whole; /* the file's bytes */
  wire_arena arena;
  onnx_scope functions;     /* onnx_function */
  onnx_scope variables;     /* onnx_value: a size for each dim_param */
  onnx_scope externals;     /* onnx_file: files of weights */
  const char *weights_file; /* where the graph's text says that its constants are; or NULL */
  onnx_scope weights;       /* names in it */
  onnx_limit *limits;       /* of variables, found in a first attempt */
  size_t limit_count, limit_cap;
  size_t nodes, most_nodes;
  size_t walked; /* nodes, to find what values depend on */
  int depth;
  bool explained;    /* the error says which node failed */
  onnx_asked *asked; /* the input that the importer had to know; or NULL */
} onnx_import;

typedef struct onnx_function {
  onnx_named base;
  onnx_function_proto proto;
} onnx_function;

typedef struct onnx_operator {
  const char *name;
  bool (*record)(struct onnx_node *node);
  bool (*fold)(struct onnx_node *node, bool *done); /* of known inputs; or NULL */
  int argument;                                     /* of record and fold */
  uint8_t least, most;                              /* inputs; most 255: any number */
} onnx_operator;

typedef struct onnx_node {
  onnx_import *m;
  ir_graph *g;
  onnx_frame *frame;
  const onnx_node_proto *proto;
  size_t number;            /* in the list of nodes of its graph or function, from 0 */
  const onnx_operator *row; /* NULL for a call of a function */
  int64_t opset;
  int input_count, output_count, attribute_count;
  onnx_value **inputs, **outputs; /* NULL where left out */
  const onnx_attribute *attributes;
} onnx_node;

/* late_nodes.c: nodes that wait for inputs, among `nodes` of a graph; all else is zero at first. */
typedef struct onnx_late {
  size_t nodes;
  onnx_scope names;        /* that are waited for */
  size_t *missing, *ready; /* by node: inputs that are missing; nodes that miss none any more, ready_count */
  size_t ready_count, waiting;
} onnx_late;

/* *waits: the node lacks inputs, and is noted. False after an error. */
bool onnx_waits(onnx_import *m, onnx_late *late, const onnx_scope *scope, const onnx_node_proto *proto,
                size_t node, bool *waits);
/* The node is recorded: those that wait for its results alone are ready. */
void onnx_wake(onnx_late *late, const onnx_node_proto *proto);
/* The next node that is ready, or where there is none one that still waits: nothing computes its inputs. */
bool onnx_next_late(onnx_late *late, size_t *node);

/* scope.c */
/* The entry of that name in the scope alone; NULL. */
onnx_named *onnx_scope_find(const onnx_scope *scope, wire_bytes name);
/* False when memory is short. */
bool onnx_scope_add(wire_arena *arena, onnx_scope *scope, wire_bytes name, onnx_named *item);
onnx_value *onnx_find(const onnx_scope *scope, wire_bytes name); /* here or in a parent; NULL */
/* A new value; NULL after an error: memory, or a name that the scope has already. */
onnx_value *onnx_declare(onnx_import *m, onnx_scope *scope, wire_bytes name);
/* `to` becomes what `from` is, under its own name. */
void onnx_share(onnx_value *to, const onnx_value *from);
/* NUL-terminated, in the arena; NULL when memory is short. */
const char *onnx_string(onnx_import *m, wire_bytes text);
/* NAME_NUMBER; empty when memory is short. */
wire_bytes onnx_numbered(onnx_import *m, wire_bytes name, int number);

/* import.c */
/* Records nodes in order, or behind those whose results they have. */
bool onnx_record_nodes(onnx_import *m, onnx_frame *frame, const wire_list *nodes);
/* Initialisers, then nodes of a graph; its inputs are declared in the scope already. */
bool onnx_record_graph(onnx_import *m, onnx_frame *frame, const onnx_graph_proto *graph);
bool onnx_fail(onnx_import *m, ir_status status, const char *format, ...) IR_PRINTF(3, 4); /* always false */
/* Enter a graph in a graph, or a function: false, after an error, where they nest too deep. */
bool onnx_enter(onnx_import *m);
void onnx_leave(onnx_import *m);

/* signature.c: are the attributes of the node, and the dtypes of its inputs, those of its operator's schema
 * in the node's operator set? False after an error. */
bool onnx_check_signature(onnx_node *n);

/* inputs.c: the model's inputs; those that have an initialiser are not declared. */
bool onnx_declare_inputs(onnx_import *m, onnx_frame *frame, const onnx_graph_proto *graph);

/* outputs.c. Is an output, by its declaration, what is computed? False after an error. */
bool onnx_check_output(onnx_import *m, const onnx_value_info *info, const onnx_value *value);

/* file.c */
/* Maps the file. The message of a failure begins with its name. */
ir_status onnx_file_open(onnx_import *m, const char *path, onnx_file *out, ir_error *error);
void onnx_file_close(onnx_file *file); /* constants keep it mapped; may be all zero */
/* A literal of the graph, as a part of the node that is recorded. */
ir_ref onnx_data(onnx_import *m, ir_dtype dtype, int rank, const int64_t *shape, const void *elements);
/* The elements as a value of the graph: a literal where they are few, otherwise a constant, which is mapped
 * where they are aligned in a file, the keeper. 0 after an error. */
ir_ref onnx_elements_ref(onnx_import *m, wire_bytes name, ir_dtype dtype, int rank, const int64_t *shape,
                         const void *elements, size_t bytes, onnx_file *keeper);

/* Notes that a symbolic size is taken from an axis of `most` elements: what follows may hold up to there
 * alone. A model that is refused is tried again with such bounds. */
void onnx_note_limit(onnx_import *m, ir_ref size, int64_t most);

/* tensor.c */
ir_dtype onnx_dtype(int64_t number);         /* IR_NONE where viewfold has none */
const char *onnx_dtype_name(int64_t number); /* "float8e4m3fn" */
/* Reads the description of a tensor, and numbers that are no raw bytes. */
bool onnx_tensor_read(onnx_import *m, wire_bytes bytes, onnx_tensor *out);
/* The elements as a constant of the graph, without a copy where they lie in the file; 0 after an error. */
ir_ref onnx_tensor_ref(onnx_import *m, const onnx_tensor *tensor);
/* The elements where there are at most ONNX_KNOWN_MOST, of a dtype that viewfold has; NULL otherwise, with or
 * without an error. */
const onnx_known *onnx_tensor_known(onnx_import *m, const onnx_tensor *tensor);
/* The elements in memory, as stored: *elements is in *keeper, or in the arena. Of a type that is storage
 * alone (narrow.h) they are packed. */
bool onnx_tensor_elements(onnx_import *m, const onnx_tensor *tensor, int64_t *count, const void **elements,
                          onnx_file **keeper);

/* node.c: the inputs, attributes and outputs of a node */
bool onnx_has(const onnx_node *n, int input);
ir_ref onnx_in(onnx_node *n, int input);                  /* as a tensor; 0 after an error */
ir_ref onnx_optional(onnx_node *n, int input);            /* 0 also where left out */
const onnx_known *onnx_known_in(onnx_node *n, int input); /* NULL where it is not known, or left out */
/* The same, an error where it is not known; `what` it is, such as "the shape". */
const onnx_known *onnx_need(onnx_node *n, int input, const char *what);
bool onnx_put(onnx_node *n, int output, ir_ref value); /* false where the value is 0 */
bool onnx_put_known(onnx_node *n, int output, const onnx_known *known);
bool onnx_put_all(onnx_node *n, ir_ref tuple); /* its items are the outputs */
bool onnx_wants(const onnx_node *n, int output);
const onnx_attribute *onnx_attribute_of(onnx_node *n, const char *name); /* NULL: left out */
int64_t onnx_int(onnx_node *n, const char *name, int64_t otherwise);
double onnx_real(onnx_node *n, const char *name, double otherwise);
/* Is the string attribute this text? `otherwise` where it is left out. */
bool onnx_text_is(onnx_node *n, const char *name, const char *text, const char *otherwise);
wire_bytes onnx_text(onnx_node *n, const char *name); /* at NULL: left out */
/* The attribute axis, or another one, from 0 up; -1 after an error. */
int onnx_axis(onnx_node *n, const char *name, int64_t otherwise, int rank);
bool onnx_wrap(onnx_node *n, int64_t axis, int rank, int *out); /* an axis, from 0 up */
/* A list that is an attribute in old operator sets and an input in later ones: *items NULL where it is left
 * out. Input -1: an attribute alone. False after an error. */
bool onnx_list(onnx_node *n, const char *name, int input, const ir_ref **items, int *count);
/* The same where all are numbers. */
bool onnx_numbers(onnx_node *n, const char *name, int input, const int64_t **items, int *count);
bool onnx_scalar(onnx_node *n, int input, const char *what, int64_t *out); /* an input of one known integer */
bool onnx_refuse(onnx_node *n, const char *format, ...) IR_PRINTF(2, 3);   /* always false */
/* The same for what ONNX has and viewfold lacks. */
bool onnx_lacks(onnx_node *n, const char *format, ...) IR_PRINTF(2, 3);

/* value.c: tensors */
int onnx_rank(const onnx_node *n, ir_ref x);
int onnx_dims(const onnx_node *n, ir_ref x, ir_ref dims[IR_MAX_RANK]); /* returns the rank */
/* All sizes; false after an error where one depends on a variable. */
bool onnx_fixed_dims(onnx_node *n, ir_ref x, int64_t dims[IR_MAX_RANK]);
ir_ref onnx_number(onnx_node *n, ir_dtype dtype, double value);
ir_ref onnx_like(onnx_node *n, ir_ref x, ir_dtype dtype); /* cast where it has another dtype */
ir_ref onnx_binary(onnx_node *n, ir_op op, ir_ref a, ir_ref b);
ir_ref onnx_with(onnx_node *n, ir_op op, ir_ref a, double b); /* b in the dtype of a */
ir_ref onnx_full(onnx_node *n, ir_ref like, double value);    /* of its shape and dtype */
ir_ref onnx_zeros(onnx_node *n, ir_dtype dtype, const ir_ref *shape, int rank);
ir_ref onnx_reshape(onnx_node *n, ir_ref x, const ir_ref *shape, int rank);
ir_ref onnx_cut(onnx_node *n, ir_ref x, int axis, ir_ref begin, ir_ref end); /* of one axis */
ir_ref onnx_pads(onnx_node *n, ir_ref x, int axis, ir_ref before, ir_ref after);
ir_ref onnx_reduce(onnx_node *n, ir_op op, ir_ref x, const int *axes, int count, bool keepdims);
ir_ref onnx_product(const onnx_node *n, const ir_ref *dims, int first, int end); /* of sizes */
/* Values along an axis, reshaped to [1, ..., size, ..., 1] of that rank; of rank 0 or one element as is. */
ir_ref onnx_along(onnx_node *n, ir_ref x, int axis, int rank);
ir_ref onnx_size_tensor(onnx_node *n, ir_ref size, ir_dtype dtype); /* a size as a tensor of rank 0 */
ir_ref onnx_value_ref(onnx_import *m, onnx_value *value);           /* as a tensor; 0 after an error */
const onnx_known *onnx_value_known(onnx_import *m, onnx_value *value);
/* evaluated.c. The same, also of what operators compute from constants, where that is little. NULL: it is not
 * known; *input is then an input of few elements that it depends on, or 0. */
const onnx_known *onnx_value_evaluated(onnx_import *m, onnx_value *value, ir_ref *input);
ir_ref onnx_known_ref(onnx_import *m, const onnx_known *known);

/* known.c: arithmetic on known values */
onnx_known *onnx_known_make(onnx_import *m, ir_dtype dtype, int rank, const int64_t *shape); /* NULL: error */
bool onnx_known_int(const onnx_import *m, const onnx_known *k, size_t i, int64_t *out);      /* of a number */

/* operators/: tables, one for each family; a row without a name ends each. */
extern const onnx_operator onnx_elementwise[], onnx_shaping[], onnx_slicing[], onnx_indexing[],
    onnx_reducing[], onnx_normalizing[], onnx_windows[], onnx_resizing[], onnx_quantizing[], onnx_recurrent[],
    onnx_control[], onnx_signals[], onnx_losses[], onnx_attending[], onnx_training[], onnx_sampling[],
    onnx_regions[], onnx_sequences[], onnx_random[], onnx_states[], onnx_dependent[], onnx_microsoft[],
    onnx_transformers[];
const onnx_operator *onnx_operator_find(wire_bytes name);  /* operators.c; NULL */
const onnx_operator *onnx_microsoft_find(wire_bytes name); /* of com.microsoft */
const char *onnx_operator_missing(wire_bytes name);        /* why there is none; NULL where unknown */

#endif
