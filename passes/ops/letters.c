/* Axes by letters: what operands must agree on, and attributes that name axes. */
#include "check.h"
#include "ir/letters.h"
#include "ir/mesh/sharding.h"

#include <string.h>

/* What was given where broadcasting has made the operand: axes in front, and larger ones. */
static ir_ref as_given(const ir_graph *g, ir_ref x) {
  while (ir_op_of(g, x) == IR_OP_EXPAND ||
         (ir_op_of(g, x) == IR_OP_RESHAPE && ir_rank(g, ir_src(g, x, 0)) < ir_rank(g, x)))
    x = ir_src(g, x, 0);
  return x;
}

ir_ref op_letters_agree(ir_graph *g, const char *who, ir_ref made) {
  if (!made || made >= g->letters_cap || !g->letters[made].met[0]) return made;
  const ir_node *n = ir_get(g, made);
  const char *met = g->letters[made].met;
  uint32_t last = ir_operand_count(n) - 1;
  return op_refuse(g,
                   "%s: axis '%c' meets axis '%c'; operands have shapes %s%s and %s; axes that meet have one "
                   "letter: reorder by rearrange, or name them anew",
                   who, met[0], met[1], OP_TYPE(as_given(g, n->src[0])), last > 1 ? ", ..." : "",
                   OP_TYPE(as_given(g, n->src[last])));
}

int64_t op_letter_axis(ir_graph *g, const char *who, ir_ref x, char letter) {
  int axis = ir_letter_axis(g, x, letter);
  const ir_mesh *mesh = ir_graph_mesh(g);
  if (axis < 0 && mesh && ir_mesh_find(mesh, &letter, 1) >= 0)
    op_refuse(g, "%s: there is no axis '%c'; x has shape %s; %c is an axis of the mesh, as in over=[%c]", who,
              letter, OP_TYPE(x), letter, letter);
  else if (axis < 0)
    op_refuse(
        g,
        "%s: there is no axis '%c'; x has shape %s; axes have letters where a type or name_axes gives them",
        who, letter, OP_TYPE(x));
  return axis;
}

ir_ref op_name_axes(ir_graph *g, ir_ref x, const char *letters, size_t length) {
  const char *who = "name_axes";
  if (g->error->status || !op_tensors(g, who, &x, 1)) return 0;
  uint32_t rank = ir_rank(g, x);
  if (length != rank)
    return op_refuse(g, "%s: '%.*s' has %zu letters; x has shape %s; each axis has one, or _ for none", who,
                     (int)length, letters, length, OP_TYPE(x));
  ir_letters l = ir_letters_of(g, x);
  l.met[0] = l.met[1] = 0;
  for (uint32_t i = 0; i < rank; i++) {
    char c = letters[i];
    if (c != '_' && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return op_refuse(g, "%s: '%.*s' has '%c'; axes are letters, or _ for none", who, (int)length, letters,
                       c);
    if (c != '_' && (memchr(letters, c, i) || memchr(l.batch, c, sizeof l.batch)))
      return op_refuse(g, "%s: '%.*s' has letter '%c' twice%s; each stands once", who, (int)length, letters,
                       c, memchr(letters, c, i) ? "" : ", once in the batch");
    l.axis[i] = c == '_' ? 0 : c;
  }
  return ir_with_letters(g, x, &l);
}
