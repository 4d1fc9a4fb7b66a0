/* The classes of a class view, and their labels. */
#include <string.h>

#include "data.h"

static void free_labels(const ir_mem *mem, char **labels, int count) {
  for (int i = 0; labels && i < count; i++)
    if (labels[i]) ir_free(mem, labels[i], strlen(labels[i]) + 1);
  ir_free(mem, labels, labels ? (size_t)count * sizeof *labels : 0);
}

/* Copies of the labels; NULL when memory is short. */
static char **copied(const ir_mem *mem, int count, const char *const *labels) {
  char **made = ir_alloc(mem, (size_t)count * sizeof *made);
  if (!made) return NULL;
  memset(made, 0, (size_t)count * sizeof *made);
  for (int i = 0; i < count; i++) {
    const char *from = labels[i] ? labels[i] : "";
    if (!(made[i] = ir_alloc(mem, strlen(from) + 1))) {
      free_labels(mem, made, count);
      return NULL;
    }
    memcpy(made[i], from, strlen(from) + 1);
  }
  return made;
}

vf_status vf_data_set_classes(vf_data_view *v, int count, const char *const *labels, vf_error *error) {
  fe_data_call c = {.who = "data_set_classes", .view = v};
  char **made = NULL;
  if (!v) fe_data_refuse(&c, "the view is NULL");
  else if (count && v->class != FE_CLASS)
    fe_data_refuse(&c, "%s view has no classes; a class view has", fe_data_class_names[v->class]);
  else if (count < 0) fe_data_refuse(&c, "there are %d classes; their number is 0 or more", count);
  else if (count && labels && !(made = copied(&v->context->mem, count, labels)))
    ir_fail(&c.error, IR_ERR_MEMORY, "data_set_classes: out of memory");
  if (!c.error.status) {
    free_labels(&v->context->mem, v->labels, v->class_count);
    v->labels = made;
    v->class_count = count;
  }
  return fe_data_report(&c, error);
}

int vf_data_classes(const vf_data_view *v) { return v ? v->class_count : 0; }

const char *vf_data_label(const vf_data_view *v, int64_t id) {
  return v && v->labels && id >= 1 && id <= v->class_count ? v->labels[id - 1] : NULL;
}
