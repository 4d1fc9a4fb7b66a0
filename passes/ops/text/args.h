/* The folder passes/ops/text. Operations by name.
 *
 *   in      a name, operands, and attributes as text gives them
 *   out     the result of the builder
 *   holds   names, aliases and attributes come from names.def and attributes.def */

/* A call of an operation as text gives it: operands, and attributes indexed by their number. */
#ifndef VIEWFOLD_PASSES_OPS_TEXT_ARGS_H
#define VIEWFOLD_PASSES_OPS_TEXT_ARGS_H

#include "passes/ops/check.h"

enum {
#define ATTRIBUTE(name, takes) OP_ATTR_##name,
#include "passes/ops/attributes.def"
#undef ATTRIBUTE
  OP_ATTR_COUNT
};
/* A set of attributes. */
enum { OP_ATTR_WORDS = 2 };
typedef struct op_attr_set {
  uint64_t word[OP_ATTR_WORDS];
} op_attr_set;
_Static_assert(OP_ATTR_COUNT <= 64 * OP_ATTR_WORDS, "sets of attributes have a bit for each");
static inline bool op_attr_in(const op_attr_set *set, int k) { return set->word[k / 64] >> k % 64 & 1; }
enum { OP_LIST_MAX = 2 * IR_MAX_RANK }; /* entries, or pairs, of a list; more are refused */

typedef struct op_args {
  ir_graph *g;
  const char *who; /* as written: messages keep an alias */
  ir_op op;
  const ir_ref *x;
  size_t n;
  const ir_attr *at[OP_ATTR_COUNT]; /* NULL where absent */
} op_args;

typedef struct op_list {
  ir_ref items[2 * OP_LIST_MAX]; /* pairs take two entries each */
  size_t n;                      /* entries, or pairs */
} op_list;

/* NAME_forms.c: one function per value of the column `form` of names.def */
typedef ir_ref (*op_form)(const op_args *a);
#define NAME(text, form, ...) ir_ref op_form_##form(const op_args *a);
#include "passes/ops/names.def"
#undef NAME

/* apply.c. Another name of the same operation that takes as many operands, and this attribute; NULL: none. */
const char *op_other_with(const op_args *a, int attr);

/* args.c. An absent attribute leaves *out unchanged. False after failing, silently where an expression is
 * 0. */
const char *op_attr_name(int attr);
const char *op_attr_takes(int attr);                           /* what values it accepts, in words */
void op_attr_put_names(const op_attr_set *set, ir_text *text); /* with commas between, or "none" */
/* Appends what an attribute of another system is here, an attribute of those accepted, or another operation.
 * False: the name is not known. */
bool op_put_foreign_attribute(const char *operation, const char *name, size_t length,
                              const op_attr_set *accepted, ir_text *out);
bool op_args_collect(op_args *a, const ir_attr *attrs, size_t count, const op_attr_set *accepted,
                     const op_attr_set *required);
bool op_args_int(const op_args *a, int attr, int64_t *out);
bool op_args_expr(const op_args *a, int attr, ir_ref *out);
bool op_args_number(const op_args *a, int attr, double *out);
bool op_args_bool(const op_args *a, int attr, bool *out);
bool op_args_dtype(const op_args *a, int attr, ir_dtype *out);
bool op_args_choice(const op_args *a, int attr, const char *const *words, int count, int *out);
bool op_args_list(const op_args *a, int attr, op_list *out); /* a single expression is a list of one */
bool op_args_pairs(const op_args *a, int attr, op_list *out);
bool op_args_graph(const op_args *a, int attr, ir_ref *func);
/* `axes`, or `axis` with one axis or a list; *given: was either present? */
bool op_args_axes(const op_args *a, op_list *axes, bool *given);
/* The value of a number, true or false, with dtype I64, U64, F64 or BOOL. */
bool op_args_literal(const op_args *a, int attr, const ir_attr *item, ir_value *value, ir_dtype *kind);
bool op_args_wrong(const op_args *a, int attr,
                   const ir_attr *item); /* fails: the value is not what the attribute takes */

/* Define the form NAME: attributes, which become variables of their names, are read in this order; `made` is
 * the node. */
#define OP_FORM(name, attributes, made)                                                                      \
  ir_ref op_form_##name(const op_args *a) { attributes return made; }
#define OP_READ(kind, attr)                                                                                  \
  if (!op_args_##kind(a, OP_ATTR_##attr, &attr)) return 0;
/* An attribute, and its value where it is absent. */
#define OP_INT(attr, otherwise)                                                                              \
  int64_t attr = otherwise;                                                                                  \
  OP_READ(int, attr)
#define OP_NUMBER(attr, otherwise)                                                                           \
  double attr = otherwise;                                                                                   \
  OP_READ(number, attr)
#define OP_BOOL(attr, otherwise)                                                                             \
  bool attr = otherwise;                                                                                     \
  OP_READ(bool, attr)
#define OP_DTYPE(attr, otherwise)                                                                            \
  ir_dtype attr = otherwise;                                                                                 \
  OP_READ(dtype, attr)
#define OP_EXPRESSION(attr)                                                                                  \
  ir_ref attr = 0;                                                                                           \
  OP_READ(expr, attr)
#define OP_ENTRIES(attr)                                                                                     \
  op_list attr;                                                                                              \
  OP_READ(list, attr)
#define OP_PAIRS(attr)                                                                                       \
  op_list attr;                                                                                              \
  OP_READ(pairs, attr)

#endif
