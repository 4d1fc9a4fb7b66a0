/* Letters of axes. */
#include "frontend/api/api.h"
#include "ir/letters.h"
#include "passes/ops/check.h"

#include <string.h>

/* Gives an input that nothing can have used, being the newest node, the letters that `named` has. */
static ir_ref name_input(ir_graph *g, ir_ref x, uint32_t count, ir_ref named) {
  if (!named || x != count - 1 || ir_op_of(g, x) != IR_OP_INPUT || ir_has_letters(g, x)) return named;
  ir_letters letters = ir_letters_of(g, named);
  return ir_letters_set(g, x, &letters) ? x : 0;
}

vf_value vf_name_axes(vf_value x, const char *letters) {
  fe_call c;
  if (!fe_begin(&c, "name_axes", &x, 1)) return fe_end(&c, 0);
  uint32_t count = c.ir->count;
  ir_ref named = op_name_axes(c.ir, x.id, letters ? letters : "", letters ? strlen(letters) : 0);
  return fe_end(&c, name_input(c.ir, x.id, count, named));
}

int vf_value_letters(vf_value x, char *letters) {
  int rank = vf_value_rank(x);
  for (int i = 0; i < rank && letters; i++) {
    char letter = ir_letters_of(&x.graph->ir, x.id).axis[i];
    letters[i] = letter ? letter : '_';
  }
  if (letters) letters[rank < 0 ? 0 : rank] = 0;
  return rank;
}

/* The axis; 0 after failing, which the graph notes. */
static int64_t axis_of(const char *who, vf_value x, char letter) {
  fe_call c;
  int64_t axis = fe_begin(&c, who, &x, 1) ? op_letter_axis(c.ir, who, x.id, letter) : -1;
  if (axis < 0) fe_end(&c, 0);
  return axis < 0 ? 0 : axis;
}

int vf_axis(vf_value x, char letter) { return (int)axis_of("axis", x, letter); }

const int64_t *vf_axes_by(vf_value x, const char *letters, int64_t *axes) {
  fe_call c;
  if (!letters && fe_begin(&c, "axes_by", &x, 1)) fe_refuse(&c, "the letters are NULL");
  if (!letters) fe_end(&c, 0);
  for (int i = 0; letters && letters[i] && i < VF_MOST_AXES; i++) axes[i] = axis_of("axes_by", x, letters[i]);
  return axes;
}

int vf_letter_count(const char *letters) {
  size_t count = letters ? strlen(letters) : 0;
  return count < VF_MOST_AXES ? (int)count : VF_MOST_AXES;
}
