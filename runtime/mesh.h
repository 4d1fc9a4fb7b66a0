/* The seam between programs and what carries elements from device to device.
 *
 * All devices of a mesh run one program and come to its exchanges (ir/exchange.h) in one order. A device has
 * an endpoint, through which it takes part; the engine behind it decides how bytes travel: memory of one
 * process (runtime/mesh/threads.h), or messages. Who gets which box from whom is known to all beforehand
 * (rt_route), so engines carry bytes and decide nothing: results do not depend on them. */
#ifndef VIEWFOLD_RUNTIME_MESH_H
#define VIEWFOLD_RUNTIME_MESH_H

#include "ir/mesh/spec.h"

/* What travels in one exchange from one device to another: `count` boxes, pieces [first, first + count) of
 * the route, which have so many bytes together. */
typedef struct rt_message {
  uint32_t peer; /* the other device; the device itself: what it has already */
  uint32_t first, count;
  int64_t bytes;
} rt_message;

/* What a device does in one exchange. */
typedef struct rt_route {
  ir_box own, needed;         /* of its operand, and of its result */
  const rt_message *receives; /* the pieces together are `needed`, each position once */
  const rt_message *sends;    /* without the device itself */
  uint32_t receive_count, send_count;
} rt_route;

/* The routes of devices in one exchange: of all, or of those of one process, so that it holds no more than
 * these exchange. Pieces are stored as the bounds lo, then hi, of `rank` axes. */
typedef struct rt_routes {
  rt_route *of;          /* by place */
  const uint32_t *place; /* by device, UINT32_MAX: of another process; NULL: all devices are in their order */
  uint32_t devices, count, rank; /* of the mesh; in `of` */
  rt_message *messages;
  int64_t *pieces;
  size_t message_count, message_cap, piece_count, piece_cap;
} rt_routes;

/* The route of a device of this process. */
static inline rt_route *rt_route_of(const rt_routes *routes, uint32_t device) {
  return &routes->of[routes->place ? routes->place[device] : device];
}

/* An exchange that goes in pieces, one after the other: of the part of each device those elements that lie in
 * an interval of an axis, which has 1 / count of its positions. */
enum { RT_PIECES = 4 }; /* leaves room for other transfers in progress */
typedef struct rt_pieces {
  uint32_t count, axis; /* count 0 or 1: it goes as a whole */
  rt_routes routes[RT_PIECES];
} rt_pieces;

/* One exchange of one device in progress, or a piece of it. */
typedef struct rt_transfer {
  const rt_routes *routes;
  const void *part;       /* elements of the operand */
  void *box;              /* where the elements of the result go */
  size_t bytes;           /* of an element */
  uint32_t step;          /* of the plan of the device */
  uint32_t exchange;      /* of the program, counted from 0: equal on all devices that are in the same one */
  const char *kind;       /* as messages call it */
  uint32_t piece, pieces; /* which one of how many; 0 of 0: all of it */
  /* the engine's: which transfer of the device it is, from 1 on; messages that have arrived; when it started,
   * and when the last message arrived, by ir_now_ns */
  uint64_t number;
  uint32_t received;
  bool refused; /* the next message was offered in vain, and comes once more */
  int64_t started_ns, arrived_ns;
} rt_transfer;

typedef struct rt_endpoint rt_endpoint;

/* The functions of an engine. A device has at most RT_TRANSFERS in progress at a time, and those that it
 * starts follow one another in number: one starts when that RT_TRANSFERS before it is done. After a failure
 * the endpoint is cancelled. */
enum { RT_TRANSFERS = 16, RT_EXCHANGE_WORDS = 160 /* bytes of what messages call an exchange */ };
typedef struct rt_engine {
  /* Begins: from now on the other devices may read the part, which does not change until the transfer is
   * done. */
  ir_status (*start)(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error);
  /* Moves what can be moved without waiting. *done: the result is complete, and nobody reads the part any
   * more. */
  ir_status (*test)(rt_endpoint *endpoint, rt_transfer *transfer, bool *done, ir_error *error);
  /* Waits until it is done. */
  ir_status (*wait)(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error);
  /* The device has failed, or, why NULL, ended: others that wait for it fail instead of waiting. When this
   * returns after a failure, its parts may be freed: they are not read any more, or only by devices whose run
   * fails as well, whatever they read. */
  void (*cancel)(rt_endpoint *endpoint, const ir_error *why);
} rt_engine;

/* What a device has received in one exchange of a program, in all times that it ran; how long it was in
 * progress until its last message had arrived, and how much of that the device did other things. */
typedef struct rt_traffic {
  int64_t times, messages, bytes;
  int64_t comm_ns, hidden_ns;
} rt_traffic;

/* Has a transfer that is done been the last of its exchange? */
static inline bool rt_is_last_piece(const rt_transfer *t) { return t->piece + 1 >= t->pieces; }

enum { RT_LAUNCH_NS = 2000 }; /* because to begin a loop that several threads share took 1 to 3 us */

/* A device's part in a run: made by whoever starts it. */
struct rt_endpoint {
  const rt_engine *engine;
  const ir_mesh *mesh;
  uint32_t device;
  const uint32_t *exchange_of; /* by step of the plan: which exchange of the program it is */
  const rt_routes *routes;     /* by exchange */
  const char *const *words;    /* likewise: what messages call it; NULL: by its name in the plan */
  const rt_pieces *pieces;     /* by exchange; NULL: none goes in pieces */
  rt_traffic *traffic;         /* likewise; NULL: nobody counts */
  /* of a run: transfers in progress, the one of number n at n % RT_TRANSFERS; without routes: none */
  rt_transfer transfers[RT_TRANSFERS];
  uint64_t started;
  uint32_t begun; /* pieces of the next exchange that have started */
  /* the kernel step that runs in parts, as pieces come and go, and what share of it has run; UINT32_MAX: none
   */
  uint32_t running;
  double share;
  int64_t launch_ns; /* what it costs to begin a part of a kernel */
  /* the step whose transfer was waited for last, and until when its exchange has been counted */
  uint32_t counted_step;
  int64_t counted_ns;
};

/* From when on a transfer that is done counts as its exchange in progress: its start, or, where the piece
 * before it was still on its way then, that one's arrival. */
static inline int64_t rt_counts_from(rt_endpoint *e, const rt_transfer *t) {
  bool follows = t->piece && e->counted_step == t->step && e->counted_ns > t->started_ns;
  int64_t from = follows ? e->counted_ns : t->started_ns;
  e->counted_step = t->step;
  e->counted_ns = t->arrived_ns > from ? t->arrived_ns : from;
  return from;
}

#endif
