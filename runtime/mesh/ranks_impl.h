/* Private to the engine of processes (ranks.c, ranks_wait.c, ranks_run.c, gather.c): its devices. */
#ifndef VIEWFOLD_RUNTIME_MESH_RANKS_IMPL_H
#define VIEWFOLD_RUNTIME_MESH_RANKS_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/mesh/bell.h"
#include "runtime/mesh/ranks.h"
#include "runtime/mesh/team.h"

/* A part that is offered to another device, which has not said that it has read what it needs. */
typedef struct rank_offer {
  uint64_t number;             /* of the exchange */
  const rt_transfer *transfer; /* for the device alone: in progress as long as the offer is listed */
  const rt_message *message;
  bool refused; /* it cannot read it */
} rank_offer;

/* What is known of another process. */
enum { RANK_MEMORY_UNKNOWN, RANK_MEMORY_READABLE, RANK_MEMORY_CLOSED };
typedef struct rank_knowledge {
  atomic_uchar memory; /* can this one read its memory? RANK_MEMORY_... */
  atomic_bool refuses; /* it cannot read the memory of this one */
} rank_knowledge;

/* A device of this process, or the process itself when it waits for others at the end of a run. */
typedef struct rank_device {
  rt_endpoint endpoint; /* first: an endpoint is its device */
  rt_ranks *all;
  uint64_t number;           /* exchanges that it has started */
  atomic_uint_fast64_t sent; /* of these, those whose packets have been sent */
  atomic_bool ended;         /* it has run to its end */
  rt_bell bell;
  pthread_mutex_t lock; /* guards what follows */
  rt_packet *arrived;   /* elements for it, or offers of some */
  rank_offer *offers;
  size_t offer_count, offer_cap;
  /* the last answer to a question: of whom, how many exchanges it has started, whether it has ended */
  uint32_t answer_of;
  uint64_t answer_sent;
  bool answer_ended;
} rank_device;

/* Who waits for what, for messages. */
typedef struct rank_want {
  uint32_t missing; /* the device */
  uint64_t number;  /* of its exchange */
  const char *kind; /* of exchange */
  int64_t bytes;    /* that are missing */
} rank_want;

struct rt_ranks {
  rt_receiver receiver;        /* first: a receiver is its engine */
  const ir_mem *mem, *packets; /* packets are the transport's, too */
  const ir_mesh *mesh;
  rt_post *post;
  rt_team *team;
  uint32_t process, processes;
  uint32_t count; /* devices of this process, `first` to first + count */
  uint32_t *own;  /* by device of the mesh: its place in `devices`; UINT32_MAX: of another process */
  rank_knowledge *knowledge; /* by process */
  size_t offered_bytes;      /* messages of at least so many are offered, and read by who needs them */
  bool spins;                /* each device has a processor, as far as this process knows */
  rt_device_work work;
  void *user;
  uint64_t run, program;
  atomic_uint_fast64_t rounds; /* of agreement that have come, as bits */
  atomic_bool cancelled;
  pthread_mutex_t lock; /* guards what follows */
  ir_error failure;
  bool told; /* the failure is of another process, or of this one and the others know */
  bool waited;
  uint32_t waiting, missing;
  uint64_t waiting_number;
  char waiting_kind[RT_EXCHANGE_WORDS];
  rank_device devices[]; /* behind those of the mesh: the process */
};

/* The device that an endpoint is of. */
static inline rank_device *rank_device_of(rt_endpoint *endpoint) { return (rank_device *)endpoint; }
static inline uint32_t rank_process_of(const rt_ranks *r, uint32_t device) {
  return rt_process_of(r->mesh, r->processes, device);
}

/* Wakes all devices of this process. */
void rt_ranks_ring(rt_ranks *ranks);
/* Notes a failure, the first one of the run, and wakes all. told: the other processes know it. */
void rt_ranks_fail(rt_ranks *ranks, const ir_error *why, bool told);
/* Tells the other processes of a failure that has been noted, unless they know it. Not from an rt_receiver.
 */
void rt_ranks_tell(rt_ranks *ranks);
/* Sends to a process, or brings the packet to its device where that is of this one. */
ir_status rt_ranks_send(rt_ranks *ranks, uint32_t process, rt_packet *packet, ir_error *error);
/* A packet of this run from device `from` to `to`. NULL: memory is short. */
rt_packet *rt_ranks_packet(const rt_ranks *ranks, rt_kind kind, uint32_t from, uint32_t to, size_t bytes);

/* Is the message, from the part of the box `own`, to be offered in place of being sent? */
bool rt_rank_offers(const rank_device *device, const rt_transfer *transfer, const rt_message *message,
                    const ir_box *own);
ir_status rt_rank_offer(rank_device *device, const rt_transfer *transfer, const rt_message *message,
                        const ir_box *own, ir_error *error);
/* Another device has taken or refused what this one has offered. */
void rt_rank_note_taken(rank_device *device, const rt_header *header);
/* Takes an offer off the list that was refused; false: there is none. */
bool rt_rank_next_refused(rank_device *device, rank_offer *out);
/* What is offered in the exchange and has not been taken; NULL: nothing. */
const rt_message *rt_rank_offered(rank_device *device, uint64_t number);
/* The bytes of the message that a packet offers; -1: it is none. */
int64_t rt_rank_offered_bytes(const rt_packet *packet);
/* Reads what is offered, and answers. *taken false: it cannot be read; the message comes once more. */
ir_status rt_rank_take(rank_device *device, rt_transfer *transfer, const rt_message *message,
                       const rt_packet *packet, bool *taken, ir_error *error);

/* What is looked for again and again until it is there: *done. */
typedef ir_status (*rank_advance)(rank_device *device, void *user, bool *done, rank_want *want,
                                  ir_error *error);
/* Waits until `advance` has done its work, or fails; fails where the process that has what is missing is
 * gone, or the device that has it has come to another exchange. */
ir_status rt_rank_wait(rank_device *device, rank_advance advance, void *user, ir_error *error);

#endif
