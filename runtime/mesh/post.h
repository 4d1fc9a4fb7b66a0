/* A process's end of the transport: sends packets, and brings each one that arrives to the mesh that runs.
 * One thread of its own answers other processes that ask whether this one is alive, also while all of its
 * devices compute. */
#ifndef VIEWFOLD_RUNTIME_MESH_POST_H
#define VIEWFOLD_RUNTIME_MESH_POST_H

#include "runtime/mesh/peer_memory.h"
#include "runtime/mesh/transport.h"

typedef struct rt_post rt_post;

/* Kinds of packets. All but ASK and ANSWER belong to a run. */
typedef enum rt_kind {
  RT_PACKET_DATA,    /* elements of an exchange */
  RT_PACKET_OFFER,   /* where they lie, to be read from there */
  RT_PACKET_TAKEN,   /* to the device that has offered: they have been read */
  RT_PACKET_REFUSED, /* they cannot be read, and are to be sent; step: nor can others of that process */
  RT_PACKET_FAILED,  /* a device has failed: data is an ir_error */
  RT_PACKET_DONE,    /* the devices of a process have run to their ends; exchange: the round of agreement */
  RT_PACKET_ASK,     /* device `from` waits for device `to` in an exchange */
  RT_PACKET_ANSWER,  /* to device `to`: exchange: how many `from` has started; step: whether it has ended */
  RT_PACKET_LEAVE    /* the process runs nothing any more */
} rt_kind;

/* What the packets of a run are brought to. */
typedef struct rt_receiver {
  /* Takes the packet over. */
  void (*accept)(struct rt_receiver *receiver, rt_packet *packet);
  /* How far a device is: the number of exchanges whose messages it has sent. */
  uint64_t (*progress)(struct rt_receiver *receiver, uint32_t device, bool *ended);
  /* The transport has failed. */
  void (*fail)(struct rt_receiver *receiver, const ir_error *why);
} rt_receiver;

/* Takes the transport over: closes it also where it fails. timeout_ns: how long a process may be silent when
 * it is asked before it counts as gone. */
ir_status rt_post_open(rt_transport *transport, int64_t timeout_ns, rt_post **out, ir_error *error);
/* Tells the other processes, sends what is to be sent, and closes the transport. Accepts NULL. */
void rt_post_close(rt_post *post);
const rt_transport *rt_post_transport(const rt_post *post);
int64_t rt_post_timeout(const rt_post *post);
const rt_memory_name *rt_post_memory(const rt_post *post); /* of this process */
/* Messages of at least so many bytes are offered, and read from where they lie, on meshes that are made after
 * it is set. */
size_t rt_post_offered_bytes(const rt_post *post);
void rt_post_offer_from(rt_post *post, size_t bytes);

/* What is known of the other processes at the end of a run: after RT_POST_GOOD, where all have come to the
 * end, the post closes in agreement with them; after RT_POST_FAILED it waits an eighth of the time of
 * a silent process for them, and agrees with none: one may have failed for good; RT_POST_GONE stays: some are
 * gone. */
typedef enum rt_post_state { RT_POST_GOOD, RT_POST_FAILED, RT_POST_GONE } rt_post_state;
void rt_post_note(rt_post *post, rt_post_state state);

/* Begins a run, whose number goes to *run before anything is accepted; waits until another run of this
 * process has ended. From now on packets of it are accepted, first those that have come before. */
void rt_post_begin(rt_post *post, rt_receiver *receiver, uint64_t *run);
void rt_post_end(rt_post *post);

/* Sends to another process; takes the packet over. */
ir_status rt_post_send(rt_post *post, uint32_t to, rt_packet *packet, ir_error *error);
/* Brings what has arrived, the next packet or all; returns at once where another thread does it already. */
void rt_post_progress(rt_post *post, bool all);
/* When a process was last heard of, by ir_now_ns; *left: it has said that it runs nothing any more. */
int64_t rt_post_heard(rt_post *post, uint32_t process, bool *left);

#endif
