/* Builders of vf_view. */
#include "frontend/views/handle.h"
#include "passes/batch/batch.h"

/* One call that makes a view of a view. */
typedef struct view_call {
  fe_call call;
  pass_view_chain chain;
  pass_view *last;
} view_call;

static bool begin_view(view_call *c, const char *who, vf_view v) {
  vf_value operand = fe_view_value(v);
  *c = (view_call){0};
  if (!fe_begin(&c->call, who, &operand, 1) || !fe_view_open(c->call.ir, v.id, &c->chain)) return false;
  c->last = pass_view_last(&c->chain);
  return true;
}

static vf_view end_view(view_call *c, bool good) {
  good = good && pass_view_chain_simplify(c->call.ir, &c->chain);
  ir_ref made = good ? fe_view_node(c->call.ir, &c->chain) : 0;
  if (c->chain.mem) pass_view_chain_free(&c->chain);
  return fe_view_of_value(fe_end(&c->call, made));
}

static bool pairs(view_call *c, const char *what, int count, const ir_ref *list, ir_ref *first,
                  ir_ref *second) {
  for (int i = 0; i < count / 2; i++) first[i] = list[2 * i], second[i] = list[2 * i + 1];
  return count % 2 == 0 || fe_refuse(&c->call, "%s has %d numbers; each axis takes two", what, count);
}

/* creation */

static bool create_chain(fe_call *c, pass_view_chain *chain, int rank, const ir_ref *shape,
                         const ir_ref *strides, ir_ref offset, const ir_ref *mask) {
  ir_ref begin[FE_LIST_MAX], end[FE_LIST_MAX];
  pass_view v;
  for (int i = 0; i < rank && mask; i++) begin[i] = mask[2 * i], end[i] = mask[2 * i + 1];
  return pass_view_create(c->ir, (uint32_t)rank, shape, strides, offset, mask ? begin : NULL,
                          mask ? end : NULL, &v) == PASS_VIEW_DONE &&
         pass_view_chain_add(c->ir, chain, &v);
}

static vf_view created(fe_call *c, pass_view_chain *chain, bool good) {
  ir_ref made = good ? fe_view_node(c->ir, chain) : 0;
  if (chain->mem) pass_view_chain_free(chain);
  return fe_view_of_value(fe_end(c, made));
}

static bool check_rank(fe_call *c, int rank) {
  return (rank >= 0 && rank <= IR_MAX_RANK) ||
         fe_refuse(c, "rank %d; views have at most %d axes", rank, IR_MAX_RANK);
}

vf_view vf_view_create(vf_graph *graph, int rank, const int64_t *shape, const int64_t *strides,
                       int64_t offset, const int64_t *mask) {
  fe_call c;
  pass_view_chain chain = {0};
  ir_ref list[3][FE_LIST_MAX];
  bool good = fe_begin_in(&c, "view", graph) && check_rank(&c, rank) &&
              fe_list(&c, "the shape", rank, shape, list[0]) &&
              (!strides || fe_list(&c, "the list of strides", rank, strides, list[1])) &&
              (!mask || fe_list(&c, "the mask", 2 * rank, mask, list[2]));
  if (good) chain.mem = c.ir->mem;
  good = good && create_chain(&c, &chain, rank, list[0], strides ? list[1] : NULL, ir_index(c.ir, offset),
                              mask ? list[2] : NULL);
  return created(&c, &chain, good);
}

vf_view vf_view_create_sized(vf_graph *graph, int rank, const vf_value *shape, const vf_value *strides,
                             vf_value offset, const vf_value *mask) {
  fe_call c;
  pass_view_chain chain = {0};
  ir_ref list[4][FE_LIST_MAX] = {{0}};
  bool good = fe_begin_in(&c, "view", graph) && check_rank(&c, rank) &&
              fe_list_sized(&c, "the shape", rank, shape, list[0]) &&
              (!strides || fe_list_sized(&c, "the list of strides", rank, strides, list[1])) &&
              (!mask || fe_list_sized(&c, "the mask", 2 * rank, mask, list[2])) &&
              (!offset.graph || fe_list_sized(&c, "the offset", 1, &offset, list[3]));
  if (good) chain.mem = c.ir->mem;
  good = good &&
         create_chain(&c, &chain, rank, list[0], strides ? list[1] : NULL, list[3][0], mask ? list[2] : NULL);
  return created(&c, &chain, good);
}

vf_view vf_view_of(vf_value x) {
  fe_call c;
  pass_view_chain chain = {0};
  bool good = fe_begin(&c, "view", &x, 1);
  if (good && !ir_shape(c.ir, x.id)) good = fe_refuse(&c, "a size has no views; takes a tensor");
  good = good && pass_physicalize(c.ir, &x.id, 1);
  return created(&c, &chain, good && pass_view_chain_of(c.ir, x.id, &chain));
}

/* movement */

/* The builders that take a list of integers alone. */
#define MOVED_BY(name, what)                                                                                 \
  vf_view vf_view_##name(vf_view v, int count, const int64_t *list) {                                        \
    view_call c;                                                                                             \
    ir_ref refs[FE_LIST_MAX];                                                                                \
    bool good = begin_view(&c, #name, v) && fe_list(&c.call, what, count, list, refs) &&                     \
                pass_view_##name(c.call.ir, c.last, list, (uint32_t)count, c.last) == PASS_VIEW_DONE;        \
    return end_view(&c, good);                                                                               \
  }
MOVED_BY(permute, "the order")
MOVED_BY(stride, "the list of steps")

typedef enum movement { EXPAND, RESHAPE, SHRINK, PAD } movement;

static bool move_view(view_call *c, movement which, const ir_ref *list, int count) {
  ir_graph *g = c->call.ir;
  ir_ref first[FE_LIST_MAX], second[FE_LIST_MAX];
  uint32_t n = (uint32_t)count;
  switch (which) {
  case EXPAND: return pass_view_expand(g, c->last, list, n, c->last) == PASS_VIEW_DONE;
  case RESHAPE: return pass_view_chain_reshape(g, &c->chain, n, list);
  case SHRINK:
    return pairs(c, "the list of bounds", count, list, first, second) &&
           pass_view_shrink(g, c->last, first, second, n / 2, c->last) == PASS_VIEW_DONE;
  case PAD:
    return pairs(c, "the list of pads", count, list, first, second) &&
           pass_view_pad(g, c->last, first, second, n / 2, c->last) == PASS_VIEW_DONE;
  }
  return false;
}

static const struct {
  const char *who, *what;
} movements[] = {[EXPAND] = {"expand", "the shape"},
                 [RESHAPE] = {"reshape", "the shape"},
                 [SHRINK] = {"shrink", "the list of bounds"},
                 [PAD] = {"pad", "the list of pads"}};

/* The builders that take a list of integers or sizes, which `read` reads. */
#define MOVEMENT(name, which, type, read)                                                                    \
  vf_view vf_view_##name(vf_view v, int count, const type *list) {                                           \
    view_call c;                                                                                             \
    ir_ref refs[FE_LIST_MAX];                                                                                \
    bool good =                                                                                              \
        begin_view(&c, movements[which].who, v) && read(&c.call, movements[which].what, count, list, refs);  \
    return end_view(&c, good && move_view(&c, which, refs, count));                                          \
  }
MOVEMENT(expand, EXPAND, int64_t, fe_list)
MOVEMENT(reshape, RESHAPE, int64_t, fe_list)
MOVEMENT(shrink, SHRINK, int64_t, fe_list)
MOVEMENT(pad, PAD, int64_t, fe_list)
MOVEMENT(expand_sized, EXPAND, vf_value, fe_list_sized)
MOVEMENT(reshape_sized, RESHAPE, vf_value, fe_list_sized)
MOVEMENT(shrink_sized, SHRINK, vf_value, fe_list_sized)
MOVEMENT(pad_sized, PAD, vf_value, fe_list_sized)

vf_view vf_view_reduce(vf_view v, int count, const int64_t *axes) {
  view_call c;
  ir_ref list[FE_LIST_MAX];
  uint32_t set = 0;
  bool good = begin_view(&c, "reduce", v) && fe_list(&c.call, "the list of axes", count, axes, list);
  for (int i = 0; i < count && good; i++) {
    int64_t rank = c.last->rank, axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank)
      good = fe_refuse(&c.call, "there is no axis %lld; the view has %lld axes", (long long)axes[i],
                       (long long)rank);
    else set |= 1u << axis;
  }
  if (good) {
    good = pass_view_reduce(c.call.ir, c.last, set, &c.chain.views[0]) == PASS_VIEW_DONE;
    c.chain.count = 1;
  }
  return end_view(&c, good);
}

/* chains */

vf_view vf_view_chain(vf_view nearer, vf_view later) {
  view_call c;
  pass_view_chain more = {0};
  vf_value both[] = {fe_view_value(nearer), fe_view_value(later)};
  bool good = begin_view(&c, "chain", nearer) && fe_operands(&c.call, both, 2) &&
              fe_view_open(c.call.ir, later.id, &more);
  for (size_t i = 0; i < more.count && good; i++)
    good = pass_view_chain_add(c.call.ir, &c.chain, &more.views[i]);
  if (more.mem) pass_view_chain_free(&more);
  return end_view(&c, good);
}

vf_view vf_view_minify(vf_view v) {
  view_call c;
  bool good = begin_view(&c, "minify", v) && pass_view_minify(c.call.ir, c.last, c.last) == PASS_VIEW_DONE;
  return end_view(&c, good);
}

vf_view vf_view_invert(vf_view v, int rank, const int64_t *shape) {
  view_call c;
  ir_ref list[FE_LIST_MAX];
  pass_view_chain back = {0};
  if (!begin_view(&c, "invert", v) || !check_rank(&c.call, rank) ||
      !fe_list(&c.call, "the shape", rank, shape, list))
    return end_view(&c, false);
  pass_view_status status = pass_view_invert(c.call.ir, &c.chain, (uint32_t)rank, list, &back);
  if (status == PASS_VIEW_NONE) {
    pass_view_chain_free(&c.chain);
    return (vf_view){0};
  }
  pass_view_chain_free(&c.chain);
  c.chain = back;
  return end_view(&c, status == PASS_VIEW_DONE);
}

static bool bindable(view_call *c, int count, const vf_value *variables, const int64_t *values, ir_ref *to) {
  for (int i = 0; i < count; i++) {
    if (ir_op_of(c->call.ir, variables[i].id) != IR_OP_VAR)
      return fe_refuse(&c->call, "operand %d is no variable; only variables are bound", i + 1);
    ir_bounds b = ir_bounds_of(c->call.ir, variables[i].id);
    if (values[i] < b.lo || values[i] > b.hi || (b.div > 0 && (values[i] - b.rem) % b.div))
      return fe_refuse(&c->call, "%lld is no value of variable %d; takes %lld..%lld in steps of %lld",
                       (long long)values[i], i + 1, (long long)b.lo, (long long)b.hi, (long long)b.div);
    for (int k = 0; k < i; k++)
      if (variables[k].id == variables[i].id && values[k] != values[i])
        return fe_refuse(&c->call,
                         "variables %d and %d are the same, bound to %lld and %lld; one has one value", k + 1,
                         i + 1, (long long)values[k], (long long)values[i]);
    to[i] = ir_index(c->call.ir, values[i]);
  }
  return true;
}

vf_view vf_view_bind(vf_view v, int count, const vf_value *variables, const int64_t *values) {
  view_call c;
  ir_ref from[FE_LIST_MAX], to[FE_LIST_MAX];
  bool good = begin_view(&c, "bind", v) &&
              fe_list_sized(&c.call, "the list of variables", count, variables, from) &&
              bindable(&c, count, variables, values, to) &&
              pass_view_bind(c.call.ir, &c.chain, from, to, (size_t)count);
  return end_view(&c, good);
}
