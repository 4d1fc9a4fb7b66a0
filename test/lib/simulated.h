/* A mesh in virtual time: all devices of a program, as many as there may be, are coroutines of one thread,
 * and run the real steps on real elements. Messages take the latency and bandwidth of the mesh's axes, steps
 * what a model says, and nothing waits for a clock.
 *
 * A device runs while all others stand still, until it waits for a message. Messages arrive when they are
 * due, or, with a seed, in any order that keeps those of two devices apart. A run fails where devices wait
 * for one another in a circle, or where a message is left that nobody takes. */
#ifndef VIEWFOLD_TEST_LIB_SIMULATED_H
#define VIEWFOLD_TEST_LIB_SIMULATED_H

#include "runtime/mesh_run.h"

typedef struct simulated {
  rt_simulation simulation; /* first */
  /* A device does so many operations, and reads and writes so many bytes, in a second. 0: steps take no time.
   */
  double operations, bytes;
  bool any_order; /* messages arrive, and devices run, in an order that `seed` draws */
  uint64_t seed;
  /* results of the last run */
  int64_t devices, messages, message_bytes;
  int64_t end_ns;                          /* when the last device ended */
  int64_t compute_ns, comm_ns, exposed_ns; /* of the device that ended last: steps, messages, waiting */
  int64_t
      link_ns; /* the most that the link of any device was busy, and a latency for each exchange in a row */
  size_t most_packets; /* bytes of messages that one device has had at a time, at most */
  char what[512];      /* why it failed: a circle, a message that is left */
} simulated;

void simulated_init(simulated *s);

#endif
