#include "frontend/blame/blame_descriptor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "passes/ops/compose/descriptor.h"

enum { WORD = 64 };

/* A gather that takes what the checked position names. */
typedef struct taken {
  ir_ref data, length; /* length: of an interval, or 0 of a point */
  uint32_t axis;
} taken;

static bool find_taken(const ir_graph *g, ir_ref position, taken *out) {
  for (ir_ref i = position + 1; i < g->count; i++) {
    const ir_node *n = ir_get(g, i);
    if (n->op != IR_OP_GATHER || n == ir_get(g, position)) continue;
    ir_ref at = n->src[1];
    while (ir_op_of(g, at) == IR_OP_RESHAPE || ir_op_of(g, at) == IR_OP_EXPAND ||
           ir_op_of(g, at) == IR_OP_ADD)
      at = ir_src(g, at, 0);
    if (at != position) continue;
    uint32_t rank = ir_rank(g, n->src[1]);
    *out = (taken){n->src[0], rank ? ir_dim(g, n->src[1], rank - 1) : 0, (uint32_t)ir_arg_int(n)};
    return true;
  }
  return false;
}

/* " (%d)", operand `number` of the statement; "" where it has no name. */
static const char *name_of(const fe_blamed_statement *s, uint32_t number, char out[WORD]) {
  const char *at = strchr(s->text, ' ');
  out[0] = '\0';
  for (; at && number > 0; number--) at = strstr(at + 1, ", ") ? strstr(at + 1, ", ") + 1 : NULL;
  if (at && at[1] == '%') snprintf(out, WORD, " (%.*s)", (int)strcspn(at + 1, ", "), at + 1);
  return out;
}

static int64_t size_of(const fe_blamed *b, ir_ref size) {
  int64_t value = -1;
  ir_error unused = {0};
  if (ir_is_const(b->graph, size, &value)) return value;
  ir_eval_index(b->graph, size, b->vars, b->var_count, NULL, 0, &value, &unused);
  return value;
}

static void say_outside(const fe_blamed *b, const taken *t, int64_t number, char *out, size_t room) {
  int64_t size = size_of(b, ir_dim(b->graph, t->data, t->axis));
  if (!t->length)
    snprintf(out, room,
             "is the point %" PRId64 ", but axis %u has %" PRId64 " elements; positions are %" PRId64
             " to %" PRId64,
             number, t->axis, size, -size, size - 1);
  else
    snprintf(out, room,
             "is an interval of %" PRId64 " elements from %" PRId64 " on, which leaves axis %u, of %" PRId64
             " elements",
             size_of(b, t->length), number, t->axis, size);
}

bool fe_blame_descriptor(const fe_blamed *b, const ir_eval_fault *f, ir_error *error) {
  static const char *const kinds[OP_INDEX_KINDS] = {"a point", "an interval", "all", "a new axis"};
  taken t;
  int64_t number;
  char name[WORD], what[200] = "";
  if (!op_position_extent(b->graph, f->node) || !find_taken(b->graph, f->node, &t)) return false;
  fe_blamed_statement s;
  fe_blame_statement(b, f->node, &s);
  switch (op_index_why(f->index, &number)) {
  case OP_INDEX_OTHER_KIND:
    snprintf(what, sizeof what,
             "has the kind %" PRId64 ", but is declared as %s; kinds are fixed when recorded", number,
             kinds[t.length ? OP_INDEX_INTERVAL : OP_INDEX_POINT]);
    break;
  case OP_INDEX_NO_STRIDE: snprintf(what, sizeof what, "has the stride 0; takes a step other than 0"); break;
  case OP_INDEX_OTHER_LENGTH:
    snprintf(what, sizeof what, "is an interval of %" PRId64 " elements, but was declared to have %" PRId64,
             number, size_of(b, t.length));
    break;
  default: say_outside(b, &t, number, what, sizeof what);
  }
  ir_error_clear(error);
  ir_fail(error, IR_ERR_RANGE, "graph @%.60s: %.300s: descriptor %u%s %s%s. The results are unspecified",
          b->name, *s.text ? s.text : "create_view", f->axis, name_of(&s, f->axis + 1, name), what,
          s.place.text);
  return true;
}
