/* Rows of an iteration of a fused row group whose values are in the locals of a work-group: enough of them to
 * give all work-items something to do, while their locals fit. What is read again comes from caches. */
#include "gpu.h"

/* Half and twice MAX_ELEMENTS_ALONE change no workload's loops. */
enum {
  MAX_ELEMENTS_ALONE = 1 << 14 /* elements that a work-group may compute while others are idle: 64 for each of
                                  its 256 work-items, about the time of another launch */
};

bool loop_choose_group_rows(const ir_target *target, const pass_rows *of, int64_t *rows, int64_t *bytes) {
  int64_t r = of->neighbours ? PASS_NEIGHBOUR_ROWS : 1;
  while (r > of->extent) r /= 2;
  while (pass_times(r, of->longest) < target->group_items && 2 * r <= of->extent &&
         of->iterations / r > IR_BUSY_GROUPS && pass_times(2 * r, of->locals) <= of->room)
    r *= 2;
  *rows = r;
  *bytes = 0;
  int64_t iterations = of->iterations / r;
  bool few =
      iterations < 2 || (iterations < IR_BUSY_GROUPS && pass_times(r, of->longest) > MAX_ELEMENTS_ALONE);
  return !few && iterations < PASS_FAR_TOO_MANY && pass_times(r, of->locals) <= of->room;
}
