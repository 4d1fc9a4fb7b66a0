/* Random meshes, parts and exchanges between their devices, for whatever engine carries them: what arrives is
 * compared with the array that the parts are of; what is received, with a count element by element. Some
 * device fails or ends early now and then. */
#ifndef VIEWFOLD_TEST_LIB_EXCHANGES_H
#define VIEWFOLD_TEST_LIB_EXCHANGES_H

#include "runtime/mesh.h"

enum { MOST_DEVICES = 16, MOST_EXCHANGES = 4, MOST_ELEMENTS = 4096 };

typedef struct exchange {
  rt_routes routes;
  int64_t shape[4];
  size_t bytes;
  unsigned char *whole, *parts[MOST_DEVICES], *boxes[MOST_DEVICES];
} exchange;

typedef struct exchange_world {
  uint64_t state;
  ir_mesh mesh;
  exchange list[MOST_EXCHANGES];
  uint32_t count, fails, fails_at; /* fails: the device that does, or MOST_DEVICES */
  bool ends;                       /* it ends early instead */
  uint32_t together;               /* exchanges that a device has in progress at a time, at most */
  bool newest;                     /* of these, devices wait for the newest first */
  rt_traffic traffic[MOST_DEVICES][MOST_EXCHANGES];
} exchange_world;

/* Draws a mesh and exchanges of its devices. False, after printing why, where there are no routes. */
bool exchanges_make(exchange_world *world, uint64_t seed);
void exchanges_free(exchange_world *world);
int64_t exchanges_pick(exchange_world *world, int64_t lo, int64_t hi); /* a random number, both included */
/* What each device does: all of the exchanges, unless it is the one that fails. `world` is user. */
ir_status exchanges_work(void *world, rt_endpoint *endpoint, ir_error *error);
/* Is it a failure that others must notice? sends: those count, too, that have something for the device that
 * ended early. */
bool exchanges_missed(const exchange_world *world, bool sends);
/* Prints what is wrong; counts elements that were compared. */
bool exchanges_arrived(const exchange_world *world, int64_t *elements);

#endif
