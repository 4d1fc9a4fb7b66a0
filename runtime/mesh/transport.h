/* What carries packets between the processes of a mesh: MPI (runtime/mpi/mpi.c), or queues of one process in
 * tests.
 *
 * A transport moves bytes and knows nothing of what they are. The engine above it (ranks.h) needs no more
 * than this: packets from one process to another arrive in the order in which they were sent. */
#ifndef VIEWFOLD_RUNTIME_MESH_TRANSPORT_H
#define VIEWFOLD_RUNTIME_MESH_TRANSPORT_H

#include "ir/base.h"

/* What a packet is about; the kinds are those of post.c and ranks.c. */
typedef struct rt_header {
  uint64_t run;      /* of the process: all processes of a mesh count their runs alike */
  uint64_t program;  /* what is run, as a hash */
  uint64_t exchange; /* counted from 1 in each run */
  uint32_t kind;
  uint32_t from, to; /* devices */
  uint32_t step;     /* of the plan */
  uint64_t zero;     /* the size is a multiple of the alignment of data */
} rt_header;

/* The header and what follows it travel: sizeof(rt_header) + bytes. */
typedef struct rt_packet {
  struct rt_packet *next;
  size_t bytes;       /* behind the header */
  uint32_t sender;    /* the process, where the packet has arrived, */
  int64_t arrived_ns; /* and when, by ir_now_ns: set by who takes it */
  rt_header header;
  _Alignas(16) unsigned char data[];
} rt_packet;
_Static_assert(offsetof(rt_packet, data) == offsetof(rt_packet, header) + sizeof(rt_header),
               "data follows the header without a gap");

/* A packet with room for so many bytes behind its header, which is all zero; NULL: memory is short. */
static inline rt_packet *rt_packet_make(const ir_mem *mem, size_t bytes) {
  rt_packet *p = (rt_packet *)mem->fn(mem->user, NULL, 0, sizeof *p + bytes);
  if (p) *p = (rt_packet){.bytes = bytes};
  return p;
}
static inline void rt_packet_free(const ir_mem *mem, rt_packet *p) {
  if (p) mem->fn(mem->user, p, sizeof *p + p->bytes, 0);
}

/* One call at a time. Failures are those of the transport itself: nothing is sent or received any more. */
typedef struct rt_transport rt_transport;
struct rt_transport {
  const ir_mem *mem;
  const char *name; /* for messages and reports */
  uint32_t process, processes;
  /* Begins to send; the transport frees the packet when it has gone, or has failed. Does not wait. */
  ir_status (*send)(rt_transport *transport, uint32_t to, rt_packet *packet, ir_error *error);
  /* *out: a packet that has arrived, which the caller frees; NULL: there is none. Does not wait. */
  ir_status (*receive)(rt_transport *transport, rt_packet **out, ir_error *error);
  /* Has all gone that was to be sent? */
  bool (*is_idle)(rt_transport *transport);
  /* broken: other processes may be gone, so that nothing is agreed with them. */
  void (*close)(rt_transport *transport, bool broken);
};

#endif
