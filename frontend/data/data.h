/* The folder frontend/data. Views of data by named axes (viewfold_data.h).
 *
 *   in      arrays with a letter for each axis, and gradients
 *   out     the same in other axes and dtypes, as values of the graph
 *   holds   a call that fails changes nothing, in the view and in the graph */

/* Declarations that the files of the folder share. */
#ifndef VIEWFOLD_FRONTEND_DATA_DATA_H
#define VIEWFOLD_FRONTEND_DATA_DATA_H

#include "frontend/api/api.h"

/* of a view, with an end: as many axes as a tensor has */
enum { FE_AXES_MAX = IR_MAX_RANK + 1, FE_PART_MAX = FE_AXES_MAX + 8 /* with a dtype: "bf:bf16" */ };

typedef enum fe_data_class { FE_DATA, FE_IMAGE, FE_SEQUENCE, FE_CLASS, FE_LIST } fe_data_class;

/* What takes the array's axes to others. FIRST: the first element of an axis that goes, t or a single f.
 * GROW: t is an axis of size 1. */
typedef enum fe_conversion_kind {
  FE_SAME,
  FE_PERMUTE,
  FE_FLATTEN,
  FE_FIRST,
  FE_GROW,
  FE_ONE_HOT
} fe_conversion_kind;
typedef struct fe_conversion {
  fe_conversion_kind kind;
  char from[FE_AXES_MAX], to[FE_AXES_MAX];
} fe_conversion;

/* A value that outlives what the session realises. */
typedef struct fe_held {
  vf_value value;
  vf_tensor *tensor; /* of a value of the session */
} fe_held;

/* What a consumer has got: `made` of `array`, while both are values. */
typedef struct fe_fetched {
  char axes[FE_AXES_MAX];
  vf_dtype dtype;
  vf_value array, made;
} fe_fetched;
typedef struct fe_gradient {
  char axes[FE_AXES_MAX];
  fe_held held;
} fe_gradient;

struct vf_data_view {
  vf_context *context;
  vf_graph *graph; /* NULL: a list */
  fe_data_class class;
  char axes[FE_AXES_MAX]; /* "" before an array is put */
  fe_held input;
  vf_ref ref;
  bool is_ref;
  fe_fetched *fetched;
  size_t fetched_count, fetched_cap;
  fe_gradient *gradients;
  size_t gradient_count, gradient_cap;
  int class_count;
  char **labels; /* of the classes; NULL: none */
  vf_data_view **components;
  size_t component_count, component_cap;
  bool owns_components; /* and destroys them */
};

/* One call: who made it, of which view, and where its failure goes. */
typedef struct fe_data_call {
  const char *who;
  vf_data_view *view;
  ir_error error;
} fe_data_call;

/* view.c */
extern const char *const fe_data_class_names[];
bool fe_data_refuse(fe_data_call *c, const char *format, ...) IR_PRINTF(2, 3); /* always false */
/* Copies the failure to the caller's record, and gives its status. */
vf_status fe_data_report(const fe_data_call *c, vf_error *error);
/* Is x a value of the view's graph that is a tensor? False after failing; what: "x". */
bool fe_data_is_value(fe_data_call *c, const char *what, vf_value x);
bool fe_data_hold(fe_data_call *c, vf_value x, fe_held *out);
vf_value fe_data_value(const fe_held *held);
void fe_data_release(fe_held *held);
/* The array of the view, as a value; 0 after failing. */
vf_value fe_data_array(fe_data_call *c);
vf_data_view *fe_data_make(vf_context *context, vf_graph *graph, fe_data_class class, vf_error *error);
/* Gives the view another array, which is held, with these axes. */
void fe_data_set(vf_data_view *v, const char *axes, fe_held input);
void fe_data_forget(vf_data_view *v); /* gradients and what was got */

/* Is the view no single one? True after failing; instead: what to call. */
bool fe_data_is_list(fe_data_call *c, const char *instead);
/* Is it a dtype of elements, or VF_NONE? False after failing. */
bool fe_data_is_dtype(fe_data_call *c, vf_dtype dtype);
/* Is x to be put and another dtype asked for? True after failing and reporting so. */
bool fe_data_puts_alone(fe_data_call *c, const char *what, vf_value x, vf_dtype dtype, vf_error *error);
/* What a consumer gets; noted, so that it may give gradients. 0 after failing. */
vf_value fe_data_get(fe_data_call *c, const char *axes, vf_dtype dtype);
/* Is x of the shape that a consumer sees in these axes? *how: what leads there. False after failing. */
bool fe_data_fits(fe_data_call *c, const char *what, const char *axes, vf_value x, fe_conversion *how);
/* Have these axes been got, in that dtype (VF_NONE: in any)? */
bool fe_data_was_got(const vf_data_view *v, const char *axes, vf_dtype dtype);

/* axes.c */
/* Are they axes that a view of the class can be put with, as many as x has? False after failing. */
bool fe_axes_fit(fe_data_call *c, const char *axes, vf_value x);
/* What takes the view's array to the axes. False after failing. */
bool fe_axes_convert(fe_data_call *c, const char *axes, fe_conversion *out);

/* convert.c: x, which has the axes of the array, converted; and g, which has those that it is converted to,
 * led back, as the array is. 0 after failing. */
vf_value fe_data_convert(fe_data_call *c, const fe_conversion *how, vf_value x);
vf_value fe_data_lead_back(fe_data_call *c, const fe_conversion *how, vf_value array, vf_value g);
vf_value fe_data_cast(fe_data_call *c, vf_value x, vf_dtype dtype); /* VF_NONE: x */
vf_value fe_data_sum(fe_data_call *c, vf_value a, vf_value b);
/* The elements of an axis at these indices, or from start on, before stop. */
vf_value fe_data_take(fe_data_call *c, vf_value x, vf_value indices, int64_t axis);
vf_value fe_data_window(fe_data_call *c, vf_value x, int64_t axis, int64_t start, int64_t stop);

enum {
  FE_LEAVES_MAX =
      64 /* components of a list, those of inner ones included: arrays of so many are on the stack */
};

/* list.c: room for so many components; false when memory is short. The leaves of a view, in order: itself, or
 * those of its components */
bool fe_data_reserve_components(vf_data_view *v, size_t count);
size_t fe_data_leaf_count(const vf_data_view *v);
vf_data_view *fe_data_leaf(vf_data_view *v, size_t number);
/* How many there are, for which `count` values are given; 0 after failing. */
size_t fe_data_leaves_for(fe_data_call *c, int count, const vf_value *x);
/* Lets the failure name the component, where there are several. */
void fe_data_name_component(fe_data_call *c, size_t number, size_t count);
/* The axes that are meant for leaf `number` of `count`: all of them, or a part between commas. False after
 * failing. NULL stays NULL. */
bool fe_data_axes_of(fe_data_call *c, const char *axes, size_t number, size_t count, char out[FE_PART_MAX],
                     const char **chosen);

#endif
