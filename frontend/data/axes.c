/* Axes by letters, and which conversions each class of views has. */
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "ir/letters.h"
#include "passes/ops/check.h"

/* The axes of a class: those it must have, those it may have, and in words. */
static const struct {
  const char *needed, *allowed, *words;
} classes[] = {
    [FE_DATA] = {"b", NULL, "b, and any other letters, each once"},
    [FE_IMAGE] = {"bhwc", "bhwcd", "b, h, w and c, and d where it has depth"},
    [FE_SEQUENCE] = {"bwc", "bwc", "b, w and c"},
    [FE_CLASS] = {"b", "bt", "b, bt or tb"},
};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Is it a list of letters, each once? */
static bool are_letters(fe_data_call *c, const char *axes) {
  for (size_t i = 0; axes[i]; i++) {
    if (!is_letter(axes[i]))
      return fe_data_refuse(c, "view '%.40s' has '%c'; axes are letters", axes, axes[i]);
    if (strchr(axes, axes[i]) != axes + i)
      return fe_data_refuse(c, "view '%.40s' has letter '%c' twice; each stands once", axes, axes[i]);
    if (i == IR_MAX_RANK)
      return fe_data_refuse(c, "view '%.40s' has more axes than a tensor, %d", axes, IR_MAX_RANK);
  }
  return true;
}

static bool belong_to_class(fe_data_call *c, const char *axes) {
  fe_data_class class = c->view->class;
  for (const char *need = classes[class].needed; *need; need++)
    if (!strchr(axes, *need))
      return fe_data_refuse(c, "view '%s' has no axis '%c'; %s view has the axes %s", axes, *need,
                            fe_data_class_names[class], classes[class].words);
  for (const char *a = axes; *a && classes[class].allowed; a++)
    if (!strchr(classes[class].allowed, *a))
      return fe_data_refuse(c, "view '%s' has the axis '%c'; %s view has the axes %s", axes, *a,
                            fe_data_class_names[class], classes[class].words);
  return true;
}

bool fe_axes_fit(fe_data_call *c, const char *axes, vf_value x) {
  if (!axes || !*axes)
    return fe_data_refuse(c, "there are no axes; say what those of the array are, as 'bf'");
  if (!are_letters(c, axes) || !belong_to_class(c, axes)) return false;
  ir_graph *g = &x.graph->ir;
  for (size_t i = 0; axes[i] && i < ir_rank(g, x.id); i++) {
    char own = ir_letters_of(g, x.id).axis[i];
    if (own && own != axes[i])
      return fe_data_refuse(
          c, "view '%s' calls axis %zu '%c'; x has shape %s, where it is '%c'; both must be the same", axes,
          i, axes[i], OP_TYPE(x.id), own);
  }
  if (ir_rank(g, x.id) == strlen(axes)) return true;
  return fe_data_refuse(c, "view '%s' has %zu axes; x has shape %s; each axis has a letter", axes,
                        strlen(axes), OP_TYPE(x.id));
}

static bool is_permutation(const char *a, const char *b) {
  bool same = strlen(a) == strlen(b);
  for (const char *at = a; *at && same; at++) same = strchr(b, *at) != NULL;
  return same;
}

/* The kind of the conversion; -1: the class has none. */
static int kind_for(const vf_data_view *v, const char *to) {
  const char *from = v->axes;
  bool by_class = v->class == FE_CLASS;
  if (strcmp(from, to) == 0) return FE_SAME;
  if (by_class && strcmp(to, "b") == 0) return FE_FIRST;
  if (by_class && strcmp(to, "bf") == 0) return FE_ONE_HOT;
  if (by_class && (strcmp(to, "bt") == 0 || strcmp(to, "tb") == 0))
    return strcmp(from, "b") == 0 ? FE_GROW : FE_PERMUTE;
  if (strcmp(to, "bf") == 0) return is_permutation(from, "bf") ? FE_PERMUTE : FE_FLATTEN;
  if (v->class == FE_DATA) return strcmp(to, "b") == 0 && strcmp(from, "bf") == 0 ? FE_FIRST : -1;
  return is_permutation(from, to) ? FE_PERMUTE : -1;
}

/* What the conversion needs of the array. */
static bool can_convert(fe_data_call *c, const fe_conversion *how) {
  vf_data_view *v = c->view;
  if (how->kind == FE_ONE_HOT && v->class_count <= 0)
    return fe_data_refuse(c, "view 'bf' of classes needs their number; say it with vf_data_set_classes");
  if (how->kind != FE_FIRST || v->class == FE_CLASS) return true;
  vf_value x = fe_data_array(c);
  if (!x.id) return false;
  ir_graph *g = &x.graph->ir;
  return op_decided(g, IR_OP_EQ, ir_dim(g, x.id, 1), ir_index(g, 1)) ||
         fe_data_refuse(c, "view 'bf' becomes 'b' where it has one feature; the array has shape %s",
                        OP_TYPE(x.id));
}

/* The letter of `to` that the array lacks, or 0. */
static char missing_letter(const char *from, const char *to) {
  while (*to && strchr(from, *to)) to++;
  return *to;
}

bool fe_axes_convert(fe_data_call *c, const char *axes, fe_conversion *out) {
  static const char *const targets[] = {[FE_DATA] = "bf, and b of one feature",
                                        [FE_IMAGE] = "any order of its axes, and bf",
                                        [FE_SEQUENCE] = "any order of its axes, and bf",
                                        [FE_CLASS] = "b, bt, tb and bf"};
  vf_data_view *v = c->view;
  if (!v->axes[0]) return fe_data_refuse(c, "nothing has been put; put an array with its axes first");
  const char *to = !axes || strcmp(axes, "default") == 0 ? v->axes : axes;
  if (!are_letters(c, to)) return false;
  int kind = kind_for(v, to);
  char lacks = missing_letter(v->axes, to), part[48] = "";
  if (kind < 0) {
    if (lacks) snprintf(part, sizeof part, "; the array has no axis '%c'", lacks);
    return fe_data_refuse(c, "%s view of '%s' has no view '%.40s'%s; it has its own, %s",
                          fe_data_class_names[v->class], v->axes, to, part, targets[v->class]);
  }
  out->kind = (fe_conversion_kind)kind;
  memcpy(out->from, v->axes, sizeof out->from);
  memcpy(out->to, to, strlen(to) + 1);
  return can_convert(c, out);
}
