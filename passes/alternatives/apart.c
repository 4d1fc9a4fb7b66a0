/* A fused row group against a kernel for each of its values. The loops of a group are those that all its
 * values share: over rows, of which one value needs only a few at a time, and another has few lanes for them.
 */
#include "alternatives.h"

/* The values that the group computes. Returns how many, at most `room`; 0: there are more. */
static uint32_t list_values(const ir_row_group *row_group, const ir_fused_value **values, uint32_t room) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < row_group->count; i++) {
    if (row_group->values[i].copied) continue;
    if (count == room) return 0;
    values[count++] = &row_group->values[i];
  }
  return count;
}

/* Makes a kernel of each value, those that only a local held in slots that the plan does not have yet.
 * Returns the time of all, of one that would take too long with what it reads stored; below 0: they cannot be
 * compared, add up a sum in another order, or gain nothing. */
static double make_apart(pass_alternatives *a, size_t number, const alternatives_piece *group,
                         const ir_fused_value **values, uint32_t count, alternatives_piece *made) {
  uint32_t fresh = (uint32_t)a->plan->slot_count;
  const ir_step *from = &group->step;
  double ns = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool local = values[i]->slot == UINT32_MAX;
    ir_stored value = {values[i]->value, local ? fresh++ : values[i]->slot};
    alternatives_piece *p = &made[i];
    if (!alternatives_step_of(a, from, value, local, &p->step) || !alternatives_shape(a, number, p) ||
        !alternatives_order_keeps(&group->order, &p->order) || !alternatives_time(a, p))
      return -1;
    a->reserved = fresh - (uint32_t)a->plan->slot_count;
    ns += alternatives_gain(a, group, ns + p->ns) ? p->ns : alternatives_least_of(a, number, p);
    a->reserved = 0;
    if (!alternatives_gain(a, group, ns)) return -1;
    from = &p->step;
  }
  return ns;
}

bool alternatives_apart(pass_alternatives *a, size_t number, alternatives_piece *pieces, uint32_t *count) {
  alternatives_piece made[ALTERNATIVES_APART], *group = &pieces[0];
  const ir_fused_value *values[ALTERNATIVES_APART];
  uint32_t members = list_values(&group->step.row_group, values, ALTERNATIVES_APART);
  if (members < 2 || !alternatives_list(a, group) || !alternatives_is_far(a, group)) return true;
  for (uint32_t i = 0; i < members; i++) made[i] = (alternatives_piece){.ns = -1};
  double ns = make_apart(a, number, group, values, members, made);
  bool good = !a->g->error->status;
  if (good && ns >= 0 && alternatives_gain(a, group, ns)) {
    double fused_ns = group->ns;
    for (uint32_t i = 0; i < members && good; i++) {
      if (values[i]->slot == UINT32_MAX) good = alternatives_add_slot(a, values[i]->value);
      if (i + 1 < members)
        made[i].step.alternative = (ir_alternative){values[i]->value, fused_ns, ns, true, false};
    }
    alternatives_free_piece(a, group);
    for (uint32_t i = 0; i < members; i++) {
      pieces[members - 1 - i] = made[i];
      made[i] = (alternatives_piece){.ns = -1};
    }
    *count = members;
  }
  for (uint32_t i = 0; i < members; i++) alternatives_free_piece(a, &made[i]);
  return good;
}
