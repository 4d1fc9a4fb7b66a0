/* Devices of a mesh that are not equally fast. */
#include "mesh.h"

enum { APART = 3 }; /* because devices of one kind beside other work differ by a third, not by half */
enum { SMALL = 4 }; /* the slowest gets at most so much: 4:3 is what is told apart */
enum { NEAR = 10 }; /* a tenth of a rate is no reason for larger numbers */

/* The slowest device with that coordinate; 0: not known. */
static double rate_at(const ir_mesh *mesh, const double *rates, uint32_t axis, int64_t coordinate) {
  double least = 0;
  for (uint32_t d = 0; d < mesh->device_count; d++)
    if (ir_mesh_coordinate(mesh, d, axis) == coordinate && (least <= 0 || rates[d] < least)) least = rates[d];
  return least;
}

bool ir_mesh_propose(const ir_mesh *mesh, const double *rates, uint32_t axis, int64_t *weights) {
  int32_t size = mesh->axes[axis].size;
  double least = 0, most = 0, worst = 1;
  for (int32_t i = 0; i < size; i++) {
    double rate = rate_at(mesh, rates, axis, i);
    if (rate <= 0) return false;
    if (i == 0 || rate < least) least = rate;
    if (rate > most) most = rate;
  }
  if (most * 2 < least * APART) return false;
  for (int small = 1; small <= SMALL && worst * NEAR > 1; small++) { /* as few as are near */
    worst = 0;
    for (int32_t i = 0; i < size; i++) {
      double exact = small * rate_at(mesh, rates, axis, i) / least;
      weights[i] = (int64_t)(exact + 0.5);
      double off = (double)weights[i] / exact - 1;
      if (off < 0) off = -off;
      if (off > worst) worst = off;
    }
  }
  return true;
}

/* What a device has of a whole that is divided along all axes, as a share of an equal one. */
static double share_of(const ir_mesh *mesh, uint32_t device) {
  double share = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    const ir_mesh_axis *axis = &mesh->axes[a];
    int64_t at = ir_mesh_coordinate(mesh, device, a);
    if (axis->before)
      share *= (double)(axis->before[at + 1] - axis->before[at]) * axis->size / axis->before[axis->size];
  }
  return share;
}

double ir_mesh_pace(const ir_mesh *mesh, const double *rates) {
  double fastest = 0, most = 0, longest = 0;
  for (uint32_t d = 0; d < mesh->device_count; d++) {
    double share = share_of(mesh, d);
    if (rates[d] <= 0) return 0;
    if (rates[d] > fastest) fastest = rates[d];
    if (share > most) most = share;
    if (share / rates[d] > longest) longest = share / rates[d];
  }
  return longest > 0 ? most / longest / fastest : 0;
}
