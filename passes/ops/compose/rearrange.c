/* Axes told by letters, as in einops (Rogozhnikov 2022): splits, reorders, joins, repeats and reduces them.
 * Views, but for what is reduced: a reshape to the axes of `from`, a reduction over those that `to` does not
 * have, a permute, an expand by what `to` has beside, and a reshape to the groups of `to`. */
#include <string.h>

#include "ir/letters.h"
#include "passes/index/index.h"
#include "rearrange_parse.h"

const char *const op_rearrange_reductions[OP_REARRANGE_REDUCTIONS] = {"none", "sum",  "mean", "max",
                                                                      "min",  "prod", "any",  "all"};
/* the operations of these words; 0: none */
static const ir_op reductions[OP_REARRANGE_REDUCTIONS] = {
    0, IR_OP_SUM, IR_OP_MEAN, IR_OP_REDUCE_MAX, IR_OP_REDUCE_MIN, IR_OP_PROD, IR_OP_ANY, IR_OP_ALL};

typedef struct work {
  ir_graph *g;
  ir_ref x; /* the operand, for messages */
  rearrange_pattern from, to;
  ir_ref size[IR_MAX_RANK]; /* of the axes of `from` */
} work;

/* Axes of the array that a pattern has besides those of its ellipsis. */
static bool read_from(work *w, const char *text, size_t length) {
  ir_graph *g = w->g;
  uint32_t rank = ir_rank(g, w->x);
  if (!rearrange_parse(g, "from", text, length, 0, &w->from)) return false;
  uint32_t items = w->from.items;
  if (w->from.ellipsis ? rank < items : rank != items) {
    op_refuse(g,
              "rearrange: from '%.*s' has %u %s; x has shape %s; each axis takes a letter, a number or a "
              "group%s",
              w->from.length, w->from.text, items, items == 1 ? "axis" : "axes", OP_TYPE(w->x),
              w->from.ellipsis ? "" : ", and ... any others");
    return false;
  }
  return rearrange_parse(g, "from", text, length, rank - items, &w->from);
}

static bool refuse_sizes(work *w, uint32_t item, ir_ref size, ir_ref known, const char *must) {
  ir_graph *g = w->g;
  op_refuse(g, "rearrange: axis %u of x has size %s, and from '%.*s' gives it %s; x has shape %s; %s", item,
            OP_EXPR(size), w->from.length, w->from.text, OP_EXPR(known), OP_TYPE(w->x), must);
  return false;
}

/* The sizes of the axes of one axis of the array, of which one may be not given. False after failing. */
static bool find_sizes(work *w, uint32_t item) {
  ir_graph *g = w->g;
  ir_ref size = ir_dim(g, w->x, item), known = ir_index(g, 1);
  int open = -1;
  for (uint32_t i = 0; i < w->from.count; i++) {
    const rearrange_axis *a = &w->from.axis[i];
    if (a->item != item) continue;
    if (a->size >= 0) {
      w->size[i] = ir_index(g, a->size);
      known = pass_mul_int(g, known, a->size);
    } else if (open < 0) {
      open = (int)i;
    } else {
      char first[24], second[24];
      op_refuse(g,
                "rearrange: from '%.*s' has axes %s and %s in one group, and the size of neither; x has "
                "shape %s; all but one have a size, as in h=2",
                w->from.length, w->from.text, rearrange_axis_text(&w->from.axis[open], first),
                rearrange_axis_text(a, second), OP_TYPE(w->x));
      return false;
    }
  }
  if (open < 0)
    return op_decided(g, IR_OP_EQ, size, known) || refuse_sizes(w, item, size, known, "both must be equal");
  int64_t given;
  bool none = ir_is_const(g, known, &given) && given == 0;
  if (none || (!op_is_one(g, known) && !pass_divides(g, known, size)))
    return refuse_sizes(w, item, size, known, "the sizes that are given divide it");
  w->size[open] = op_is_one(g, known) ? size : pass_div(g, size, known);
  return true;
}

/* Do the sizes that `to` repeats agree with those of `from`? */
static bool sizes_agree(work *w) {
  ir_graph *g = w->g;
  for (uint32_t i = 0; i < w->to.count; i++) {
    const rearrange_axis *a = &w->to.axis[i];
    int at = rearrange_find(&w->from, a);
    char text[24];
    if (at < 0 && a->size < 0) {
      op_refuse(g,
                "rearrange: %s of to '%.*s' is not in from '%.*s'; x has shape %s; an axis that repeats "
                "elements has its size, as in h=2",
                rearrange_axis_text(a, text), w->to.length, w->to.text, w->from.length, w->from.text,
                OP_TYPE(w->x));
      return false;
    }
    if (at < 0 || a->size < 0 || op_decided(g, IR_OP_EQ, w->size[at], ir_index(g, a->size))) continue;
    op_refuse(g,
              "rearrange: to '%.*s' gives %s the size %lld; in x, of shape %s, it has %s; both must be equal",
              w->to.length, w->to.text, rearrange_axis_text(a, text), (long long)a->size, OP_TYPE(w->x),
              OP_EXPR(w->size[at]));
    return false;
  }
  return true;
}

/* x without the axes of `from` that `to` does not have, `left` those that remain. 0 after failing. */
static ir_ref reduced(work *w, ir_ref x, ir_op reduce, uint32_t *left, uint32_t *count) {
  ir_graph *g = w->g;
  ir_ref axes[IR_MAX_RANK], ones[IR_MAX_RANK];
  size_t n = 0, dropped = 0;
  for (uint32_t i = 0; i < w->from.count; i++) {
    const rearrange_axis *a = &w->from.axis[i];
    char text[24];
    bool one = a->kind == REARRANGE_NUMBER && a->size == 1;
    if (rearrange_find(&w->to, a) >= 0) left[(*count)++] = i;
    else if (one) ones[dropped++] = ir_index(g, i);
    else if (reduce) axes[n++] = ir_index(g, i);
    else
      return op_refuse(g,
                       "rearrange: %s of from '%.*s' is not in to '%.*s'; x has shape %s; an axis that goes "
                       "is reduced, by reduce=sum or another",
                       rearrange_axis_text(a, text), w->from.length, w->from.text, w->to.length, w->to.text,
                       OP_TYPE(w->x));
  }
  if (n) x = op_reduce(g, reduce, x, axes, n, true);
  for (size_t i = 0; i < n; i++) ones[dropped++] = axes[i];
  return dropped ? op_squeeze(g, x, ones, dropped) : x;
}

/* The axes that remain, in the order of `to`, with those that it has beside, and its groups. */
static ir_ref arranged(work *w, ir_ref x, const uint32_t *left, uint32_t count) {
  ir_graph *g = w->g;
  ir_ref order[IR_MAX_RANK], ones[IR_MAX_RANK], sizes[IR_MAX_RANK], items[IR_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->to.items; i++) items[i] = ir_index(g, 1);
  for (uint32_t i = 0; i < w->to.count; i++) {
    const rearrange_axis *a = &w->to.axis[i];
    int at = rearrange_find(&w->from, a);
    sizes[i] = at < 0 ? ir_index(g, a->size) : w->size[at];
    ones[i] = at < 0 ? ir_index(g, 1) : sizes[i];
    items[a->item] = pass_mul(g, items[a->item], sizes[i]);
    for (uint32_t k = 0; at >= 0 && k < count; k++)
      if (left[k] == (uint32_t)at) order[n++] = ir_index(g, k);
  }
  x = op_expand(g, op_reshape(g, op_permute(g, x, order, n), ones, w->to.count), sizes, w->to.count);
  return op_reshape(g, x, items, w->to.items);
}

/* The letter of an axis of the array that is one axis of the pattern; 0: none. */
static char letter_of(const rearrange_pattern *p, uint32_t item) {
  char letter = 0;
  for (uint32_t i = 0, parts = 0; i < p->count; i++) {
    if (p->axis[i].item != item) continue;
    letter = parts++ || p->axis[i].kind != REARRANGE_LETTER ? 0 : (char)p->axis[i].which;
  }
  return letter;
}

/* Do letters that x has agree with those of `from`? */
static bool letters_agree(work *w) {
  ir_graph *g = w->g;
  for (uint32_t i = 0; i < w->from.items; i++) {
    char own = ir_letters_of(g, w->x).axis[i], given = letter_of(&w->from, i);
    if (!own || !given || own == given) continue;
    op_refuse(
        g,
        "rearrange: from '%.*s' calls axis %u '%c'; x has shape %s, where it is '%c'; both must be the same",
        w->from.length, w->from.text, i, given, OP_TYPE(w->x), own);
    return false;
  }
  return true;
}

/* y, with the letters of `to` where x has any. */
static ir_ref lettered(work *w, ir_ref y) {
  ir_letters l = y ? ir_letters_of(w->g, y) : (ir_letters){.met = {0}};
  if (!y || !ir_has_letters(w->g, w->x)) return y;
  for (uint32_t i = 0; i < w->to.items; i++) {
    char letter = letter_of(&w->to, i);
    if (letter) l.axis[i] = letter;
  }
  return ir_with_letters(w->g, y, &l);
}

ir_ref op_rearrange(ir_graph *g, ir_ref x, const char *from, size_t from_length, const char *to,
                    size_t to_length, int reduce) {
  work w = {.g = g};
  uint32_t left[IR_MAX_RANK], count = 0, spare = 0;
  if (!op_compose_begin(g, "rearrange", &x, 1)) return 0;
  w.x = x;
  if (!read_from(&w, from, from_length) || !letters_agree(&w)) return 0;
  for (uint32_t i = 0; i < w.from.count; i++) spare += w.from.axis[i].kind == REARRANGE_SPARE;
  for (uint32_t i = 0; i < w.from.items; i++)
    if (!find_sizes(&w, i)) return 0;
  if (!rearrange_parse(g, "to", to, to_length, spare, &w.to) || !sizes_agree(&w)) return 0;
  ir_ref y = op_reshape(g, x, w.size, w.from.count);
  y = y ? reduced(&w, y, reductions[reduce], left, &count) : 0;
  return op_compose_end(g, "rearrange", lettered(&w, y ? arranged(&w, y, left, count) : 0));
}
