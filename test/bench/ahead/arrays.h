/* The arrays of mlp.vf, zero but for the first elements, and one call of the model. */
#include "mlp.h"

static float x[8 * 64], w[64 * 128], b[128], v[128 * 10], c[10], y[8 * 10];
static unsigned char arena[mlp_ARENA_BYTES + 1];

static int call(void) {
  mlp_arrays arrays = {x, w, b, v, c, y};
  x[0] = v[0] = c[0] = 1;
  w[0] = 2, b[0] = 3;
  return mlp_run(&arrays, arena) != 0 || y[0] != 6;
}
