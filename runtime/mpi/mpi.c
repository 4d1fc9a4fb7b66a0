/* The transport of MPI: a module of its own, viewfold-mpi-openmpi.so or viewfold-mpi-mpich.so, since
 * implementations of MPI differ in how they are called, and since nobody else shall need one. It uses nothing
 * of the library but what it is given.
 *
 * One thread calls MPI at a time (MPI_THREAD_SERIALIZED). Nothing waits: what has begun is looked at again
 * with each call, so that a process that is gone keeps nobody. */
#include "runtime/mpi/mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/mpi/kept.h"

/* All transports of a process have one communicator, and each has a tag of its own, so that what one has left
 * in MPI is not taken for what another sends. A communicator of each would not do: Open MPI numbers the
 * messages of one, and takes a late message of one that was freed for that of the same number of one that was
 * made since. MPI_TAG_UB is 32767 at least. */
enum { TAGS = 32767 };
static MPI_Comm shared = MPI_COMM_NULL;

typedef struct pending {
  MPI_Request request;
  rt_packet *packet;
} pending;

typedef struct list {
  pending *items; /* in the order in which they began */
  size_t count, cap;
} list;

typedef struct mpi_transport {
  rt_transport transport; /* first: a transport is its MPI */
  MPI_Comm all;
  int tag;
  list sends, receives;
  kept_memory memory; /* of packets */
  char name[64];
} mpi_transport;

static ir_status fail(ir_error *error, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (!error->status) {
    error->status = status;
    vsnprintf(error->text, sizeof error->text, format, args);
  }
  va_end(args);
  return error->status;
}

static ir_status fail_mpi(ir_error *error, int code, const char *doing) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(error, IR_ERR_DEVICE, "MPI fails %s: %.*s", doing, length, text);
}

static bool push(mpi_transport *t, list *l, pending one) {
  const ir_mem *mem = t->transport.mem;
  if (l->count == l->cap) {
    size_t cap = l->cap ? 2 * l->cap : 16; /* few are in progress at a time */
    pending *items = mem->fn(mem->user, l->items, l->cap * sizeof *items, cap * sizeof *items);
    if (!items) return false;
    l->items = items;
    l->cap = cap;
  }
  l->items[l->count++] = one;
  return true;
}

static void drop(list *l, size_t at) {
  memmove(&l->items[at], &l->items[at + 1], (--l->count - at) * sizeof *l->items);
}

/* sizes: MPI counts in int, so that what has more bytes is a type of its own: whole blocks and a remainder */

enum { BLOCK = 1 << 30 };

static int type_of(size_t bytes, MPI_Datatype *out) {
  int lengths[2] = {(int)(bytes / BLOCK), (int)(bytes % BLOCK)};
  MPI_Aint offsets[2] = {0, (MPI_Aint)(bytes - bytes % BLOCK)};
  MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
  int code = MPI_Type_contiguous(BLOCK, MPI_BYTE, &types[0]);
  if (code) return code;
  code = MPI_Type_create_struct(2, lengths, offsets, types, out);
  MPI_Type_free(&types[0]);
  return code ? code : MPI_Type_commit(out);
}

static size_t length_of(const rt_packet *p) { return sizeof p->header + p->bytes; }

static int begin_send(mpi_transport *t, rt_packet *p, int to, MPI_Request *request) {
  MPI_Datatype type;
  if (length_of(p) <= INT_MAX)
    return MPI_Isend(&p->header, (int)length_of(p), MPI_BYTE, to, t->tag, t->all, request);
  int code = type_of(length_of(p), &type);
  if (code) return code;
  code = MPI_Isend(&p->header, 1, type, to, t->tag, t->all, request);
  MPI_Type_free(&type); /* when the send is done */
  return code;
}

static int begin_receive(rt_packet *p, MPI_Message *message, MPI_Request *request) {
  MPI_Datatype type;
  if (length_of(p) <= INT_MAX) return MPI_Imrecv(&p->header, (int)length_of(p), MPI_BYTE, message, request);
  int code = type_of(length_of(p), &type);
  if (code) return code;
  code = MPI_Imrecv(&p->header, 1, type, message, request);
  MPI_Type_free(&type);
  return code;
}

/* sending and receiving */

/* What cannot be sent is lost, as where the cable is cut: who waits for that process notices that it is
 * silent, and the others are still there to be told. */
static void finish_sends(mpi_transport *t) {
  for (size_t i = 0; i < t->sends.count;) {
    int done = 0, code = MPI_Test(&t->sends.items[i].request, &done, MPI_STATUS_IGNORE);
    if (!done && !code) {
      i++;
      continue;
    }
    rt_packet_free(t->transport.mem, t->sends.items[i].packet);
    drop(&t->sends, i);
  }
}

static ir_status send_packet(rt_transport *transport, uint32_t to, rt_packet *packet, ir_error *error) {
  mpi_transport *t = (mpi_transport *)transport;
  pending one = {.packet = packet};
  if (!push(t, &t->sends, one)) {
    rt_packet_free(transport->mem, packet);
    return fail(error, IR_ERR_MEMORY, "out of memory sending to process %u", to);
  }
  if (begin_send(t, packet, (int)to, &t->sends.items[t->sends.count - 1].request)) {
    t->sends.count--;
    rt_packet_free(transport->mem, packet);
  }
  finish_sends(t);
  return IR_OK;
}

/* Begins to receive the next packet that any process has begun to send; *more: there was one. */
static ir_status begin_next(mpi_transport *t, bool *more, ir_error *error) {
  MPI_Message message;
  MPI_Status status;
  MPI_Count bytes = 0;
  int found = 0, code = MPI_Improbe(MPI_ANY_SOURCE, t->tag, t->all, &found, &message, &status);
  if (!code && found) code = MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  if (code) return fail_mpi(error, code, "looking for packets");
  *more = found;
  if (!found) return IR_OK;
  if (bytes < (MPI_Count)sizeof(rt_header))
    return fail(error, IR_ERR_DEVICE, "MPI brings a packet of %lld bytes, which is none of viewfold's",
                (long long)bytes);
  rt_packet *packet = rt_packet_make(t->transport.mem, (size_t)bytes - sizeof(rt_header));
  if (!packet || !push(t, &t->receives, (pending){.packet = packet})) {
    rt_packet_free(t->transport.mem, packet);
    return fail(error, IR_ERR_MEMORY, "out of memory for %lld bytes of process %d", (long long)bytes,
                status.MPI_SOURCE);
  }
  packet->sender = (uint32_t)status.MPI_SOURCE;
  code = begin_receive(packet, &message, &t->receives.items[t->receives.count - 1].request);
  return code ? fail_mpi(error, code, "receiving") : IR_OK;
}

/* Is an earlier packet of the same process still on its way? Packets of a process are given out in order. */
static bool is_overtaking(const list *l, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (l->items[i].packet->sender == l->items[at].packet->sender) return true;
  return false;
}

/* The first of the packets from `first` on that is there. */
static ir_status take_arrived(mpi_transport *t, size_t first, rt_packet **out, ir_error *error) {
  for (size_t i = first; i < t->receives.count; i++) {
    int done = 0;
    if (is_overtaking(&t->receives, i)) continue;
    int code = MPI_Test(&t->receives.items[i].request, &done, MPI_STATUS_IGNORE);
    if (code) return fail_mpi(error, code, "receiving");
    if (!done) continue;
    *out = t->receives.items[i].packet;
    drop(&t->receives, i);
    break;
  }
  return IR_OK;
}

static ir_status receive_packet(rt_transport *transport, rt_packet **out, ir_error *error) {
  mpi_transport *t = (mpi_transport *)transport;
  *out = NULL;
  finish_sends(t);
  ir_status status = take_arrived(t, 0, out, error);
  for (bool more = true; more && !status && !*out;) {
    status = begin_next(t, &more, error);
    if (more && !status) status = take_arrived(t, t->receives.count - 1, out, error);
  }
  return status;
}

static bool is_idle(rt_transport *transport) {
  mpi_transport *t = (mpi_transport *)transport;
  finish_sends(t);
  return t->sends.count == 0;
}

static void free_list(mpi_transport *t, list *l) {
  const ir_mem *mem = t->transport.mem;
  if (l->items) mem->fn(mem->user, l->items, l->cap * sizeof *l->items, 0);
}

/* MPI is initialised once in a process and finalised once, so that it stays from the first transport to the
 * end of the process. Where other processes may be gone nothing is finalised: MPI would wait for them. */
static bool finalises;
static void finalise(void) {
  int done = 0;
  MPI_Finalized(&done);
  if (finalises && !done) MPI_Finalize();
}

static void close_transport(rt_transport *transport, bool broken) {
  mpi_transport *t = (mpi_transport *)transport;
  const ir_mem *mem = t->memory.under;
  if (broken) finalises = false;
  free_list(t, &t->sends);
  free_list(t, &t->receives);
  kept_end(&t->memory);
  mem->fn(mem->user, t, sizeof *t, 0);
}

/* opening */

/* At most 64 bytes of what the implementation calls itself, without what follows the first line or comma. */
static void name_library(char *out, size_t size) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(text, &length)) length = 0;
  text[length < (int)sizeof text ? length : (int)sizeof text - 1] = '\0';
  text[strcspn(text, ",\n")] = '\0';
  snprintf(out, size, "%.63s", text);
  for (char *c = out; *c; c++)
    if (*c == '\t') *c = ' ';
}

static ir_status set_up(ir_error *error) {
  int is_there = 0, level = MPI_THREAD_SINGLE, code;
  MPI_Finalized(&is_there);
  if (is_there)
    return fail(error, IR_ERR_UNSUPPORTED, "MPI was finalised; no mesh of processes is made after");
  MPI_Initialized(&is_there);
  code = is_there ? MPI_Query_thread(&level) : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
  if (code) return fail_mpi(error, code, "to start");
  if (!is_there) finalises = atexit(finalise) == 0;
  if (level >= MPI_THREAD_SERIALIZED) return IR_OK;
  return fail(error, IR_ERR_UNSUPPORTED,
              "MPI was initialised for one thread; a mesh of processes needs MPI_THREAD_SERIALIZED, which "
              "MPI_Init_thread asks for");
}

static ir_status open_mpi(const ir_mem *mem, rt_transport **out, ir_error *error) {
  static int opened;
  int process = 0, processes = 0;
  *out = NULL;
  ir_status status = set_up(error);
  if (status) return status;
  mpi_transport *t = mem->fn(mem->user, NULL, 0, sizeof *t);
  if (!t) return fail(error, IR_ERR_MEMORY, "out of memory for MPI");
  memset(t, 0, sizeof *t);
  kept_begin(&t->memory, mem);
  int code = shared == MPI_COMM_NULL ? MPI_Comm_dup(MPI_COMM_WORLD, &shared) : MPI_SUCCESS;
  t->all = shared;
  if (!code) code = MPI_Comm_set_errhandler(t->all, MPI_ERRORS_RETURN);
  if (!code) code = MPI_Comm_rank(t->all, &process);
  if (!code) code = MPI_Comm_size(t->all, &processes);
  if (code) {
    kept_end(&t->memory);
    mem->fn(mem->user, t, sizeof *t, 0);
    return fail_mpi(error, code, "to start");
  }
  name_library(t->name, sizeof t->name);
  t->tag = opened++ % TAGS;
  t->transport = (rt_transport){.mem = &t->memory.mem,
                                .name = t->name,
                                .process = (uint32_t)process,
                                .processes = (uint32_t)processes,
                                .send = send_packet,
                                .receive = receive_packet,
                                .is_idle = is_idle,
                                .close = close_transport};
  *out = &t->transport;
  return IR_OK;
}

__attribute__((visibility("default")))
const rt_mpi_entry viewfold_mpi_entry = {RT_MPI_ABI, sizeof(rt_packet), sizeof(rt_transport), open_mpi};
