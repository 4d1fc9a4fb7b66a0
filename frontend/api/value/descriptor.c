/* Index descriptors, and views made with them. */
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/compose/descriptor.h"

_Static_assert((int)VF_INDEX_NEW_AXIS == (int)OP_INDEX_NEW_AXIS,
               "kinds have the numbers of the encoded form");

vf_index vf_index_encoded(int count, const int64_t *numbers) {
  vf_index made = {.count = count, .kind = OP_INDEX_READ};
  int most = (int)(sizeof made.numbers / sizeof *made.numbers);
  if (numbers && count > 0)
    memcpy(made.numbers, numbers, (size_t)(count < most ? count : most) * sizeof *numbers);
  return made;
}

#define ENCODED(...)                                                                                         \
  vf_index_encoded((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

vf_index vf_index_point(int64_t position) { return ENCODED(VF_INDEX_POINT, 1, 1, position, 1); }
vf_index vf_index_interval(int64_t start, int64_t end, int64_t stride, bool inclusive) {
  return ENCODED(VF_INDEX_INTERVAL, 2, 1, start, end, stride, inclusive);
}
vf_index vf_index_all(void) { return ENCODED(VF_INDEX_ALL, 0, 1, 1); }
vf_index vf_index_new_axis(void) { return ENCODED(VF_INDEX_NEW_AXIS, 1, 1, 0, 1); }

vf_index vf_index_point_at(vf_value position) {
  vf_index made = vf_index_point(0);
  made.kind = VF_INDEX_POINT;
  made.values[0] = position;
  return made;
}

vf_index vf_index_interval_at(vf_value start, vf_value end, int64_t stride, bool inclusive) {
  vf_index made = vf_index_interval(0, 0, stride, inclusive);
  made.kind = VF_INDEX_INTERVAL;
  made.values[0] = start, made.values[1] = end;
  return made;
}

vf_index vf_index_window(vf_value start, int64_t length, int64_t stride) {
  vf_index made = vf_index_interval_at(start, (vf_value){0}, stride, true);
  made.window = length > 0 ? length : -1; /* refused with a message */
  return made;
}

vf_index vf_index_given(vf_value descriptor, vf_index_kind kind, vf_value length) {
  return (vf_index){.kind = (int)kind, .values[0] = descriptor, .length = length};
}

static bool is_none(vf_value value) { return !value.graph && !value.id; }

/* The i64 array of a descriptor; 0 after failing. */
static ir_ref encode(fe_call *c, const vf_index *d, size_t number) {
  ir_graph *g = c->ir;
  bool varies = d->count == 0 || d->kind != OP_INDEX_READ;
  for (int i = 0; i < (is_none(d->values[1]) ? 1 : 2) && varies; i++)
    if (!fe_is_value(c, "descriptor", number, d->values[i])) return 0;
  ir_ref first = d->values[0].id, second = d->values[1].id;
  if (d->count == 0) return first;
  if (d->window) return op_index_window(g, first, d->window, d->numbers[5]);
  if (d->kind == OP_INDEX_POINT) return op_index_point(g, first);
  if (varies)
    return op_index_interval(g, first, second, ir_int(g, IR_I64, d->numbers[5]),
                             ir_int(g, IR_I64, d->numbers[6]));
  int most = (int)(sizeof d->numbers / sizeof *d->numbers), count = d->count < most ? d->count : most;
  if (d->count < 0 || d->count > most) {
    fe_refuse(c, "descriptor %zu has %d numbers; takes 4 to %d", number, d->count, most);
    return 0;
  }
  ir_ref size = ir_index(g, count);
  return op_data(g, IR_I64, &size, 1, d->numbers, (size_t)count * sizeof *d->numbers);
}

static ir_ref create_view(fe_call *c, vf_value x, int count, const vf_index *list) {
  op_descriptor all[OP_INDEX_MOST];
  if (count < 0 || count > OP_INDEX_MOST || (count && !list)) {
    fe_refuse(c, "%d descriptors given%s; takes a list of at most %d", count, list ? "" : " as NULL",
              OP_INDEX_MOST);
    return 0;
  }
  uint32_t given = c->given_count;
  for (int i = 0; i < count; i++) {
    const vf_index *d = &list[i];
    all[i] = (op_descriptor){.kind = d->count ? OP_INDEX_READ : d->kind};
    if (!(all[i].value = encode(c, d, (size_t)i))) return 0;
    if (is_none(d->length)) continue;
    if (!fe_is_value(c, "length of descriptor", (size_t)i, d->length)) return 0;
    if (!(all[i].length = fe_as_size(c->ir, d->length.id))) {
      fe_refuse(
          c, "the length of descriptor %d is a tensor; takes variables, integers and expressions of them", i);
      return 0;
    }
  }
  c->given_count = given; /* descriptors are named by their numbers */
  return op_create_view(c->ir, x.id, all, (size_t)count);
}

vf_value vf_create_view(vf_value x, int count, const vf_index *descriptors) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "create_view", &x, 1) ? create_view(&c, x, count, descriptors) : 0);
}

vf_ref vf_ref_create_view(vf_ref r, int count, const vf_index *descriptors) {
  return vf_ref_view(r, (vf_create_view)((vf_ref_target)(r), count, descriptors));
}
