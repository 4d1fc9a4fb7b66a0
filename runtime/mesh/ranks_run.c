/* The engine of processes as a whole: made, run, and what all of them agree on at the end of a run. */
#include <string.h>
#include <time.h>

#include "ir/timer.h"
#include "runtime/mesh/ranks_impl.h"
#include "runtime/mesh/route.h"
#include "runtime/system/pool.h"

uint32_t rt_process_of(const ir_mesh *mesh, uint32_t processes, uint32_t device) {
  if (mesh->devices) return mesh->devices[device].rank;
  return (uint32_t)((uint64_t)device * processes / mesh->device_count);
}

/* what arrives */

static rank_device *local(rt_ranks *r, uint32_t device) {
  uint32_t at = device < r->mesh->device_count ? r->own[device] : r->count;
  return at == UINT32_MAX ? NULL : &r->devices[at];
}

static void note_answer(rank_device *d, const rt_header *h) {
  pthread_mutex_lock(&d->lock);
  d->answer_of = h->from;
  d->answer_sent = h->exchange;
  d->answer_ended = h->step;
  pthread_mutex_unlock(&d->lock);
}

static void fail_strange(rt_ranks *r, const rt_packet *packet) {
  ir_error why = {0};
  ir_fail(&why, IR_ERR_INVALID,
          "process %u runs another program, on another mesh or with other sizes, in run %llu: all processes "
          "run the same programs in the same order",
          packet->sender, (unsigned long long)r->run);
  rt_ranks_fail(r, &why, false);
}

static void accept_packet(rt_receiver *receiver, rt_packet *packet) {
  rt_ranks *r = (rt_ranks *)receiver;
  rank_device *d = local(r, packet->header.to);
  ir_error why = {0};
  if (packet->header.kind == RT_PACKET_FAILED && packet->bytes == sizeof why) {
    memcpy(&why, packet->data, sizeof why);
    rt_ranks_fail(r, &why, true);
  } else if (packet->header.program != r->program) {
    fail_strange(r, packet);
  } else if (packet->header.kind == RT_PACKET_DONE) {
    atomic_fetch_or(&r->rounds, (uint64_t)1 << (packet->header.exchange & 63));
    rt_bell_ring(&r->devices[r->count].bell);
  } else if (d && packet->header.kind == RT_PACKET_ANSWER) {
    note_answer(d, &packet->header);
    rt_bell_ring(&d->bell);
  } else if (d && (packet->header.kind == RT_PACKET_TAKEN || packet->header.kind == RT_PACKET_REFUSED)) {
    rt_rank_note_taken(d, &packet->header);
  } else if (d && (packet->header.kind == RT_PACKET_DATA || packet->header.kind == RT_PACKET_OFFER)) {
    packet->arrived_ns = ir_now_ns();
    pthread_mutex_lock(&d->lock);
    rt_packet **last = &d->arrived;
    while (*last) last = &(*last)->next;
    *last = packet;
    pthread_mutex_unlock(&d->lock);
    rt_bell_ring(&d->bell);
    return;
  }
  rt_packet_free(r->packets, packet);
}

static uint64_t progress_of(rt_receiver *receiver, uint32_t device, bool *ended) {
  rank_device *d = local((rt_ranks *)receiver, device);
  *ended = d && atomic_load(&d->ended);
  return d ? atomic_load(&d->sent) : 0;
}

static void fail_transport(rt_receiver *receiver, const ir_error *why) {
  rt_ranks_fail((rt_ranks *)receiver, why, true); /* nobody can be told */
}

/* making */

static size_t size_of(uint32_t count) { return sizeof(rt_ranks) + (count + 1) * sizeof(rank_device); }

static ir_status count_devices(const ir_mesh *mesh, const rt_transport *transport, uint32_t *count,
                               ir_error *error) {
  *count = 0;
  for (uint32_t d = 0; d < mesh->device_count; d++) {
    uint32_t process = rt_process_of(mesh, transport->processes, d);
    if (process >= transport->processes)
      return ir_fail(error, IR_ERR_INVALID, "device %u of the mesh is of process %u; there are %u, from 0 on",
                     d, process, transport->processes);
    *count += process == transport->process;
  }
  if (!*count)
    return ir_fail(error, IR_ERR_INVALID,
                   "process %u has no device of the mesh, which has %u on %u processes; each process has one "
                   "at least",
                   transport->process, mesh->device_count, transport->processes);
  if (*count > RT_THREAD_DEVICES)
    return ir_fail(error, IR_ERR_UNSUPPORTED, "a mesh with %u devices of one process, which has at most %d",
                   *count, RT_THREAD_DEVICES);
  return IR_OK;
}

static void set_up_devices(rt_ranks *r) {
  for (uint32_t d = 0, at = 0; d < r->mesh->device_count; d++) {
    bool here = rank_process_of(r, d) == r->process;
    r->own[d] = here ? at : UINT32_MAX;
    if (here)
      r->devices[at++].endpoint =
          (rt_endpoint){.engine = &rt_rank_engine, .mesh = r->mesh, .device = d, .launch_ns = RT_LAUNCH_NS};
  }
  r->devices[r->count].endpoint.device = UINT32_MAX;
  for (uint32_t i = 0; i <= r->count; i++) {
    r->devices[i].all = r;
    pthread_mutex_init(&r->devices[i].lock, NULL);
    rt_bell_init(&r->devices[i].bell);
  }
}

ir_status rt_ranks_make(const ir_mem *mem, const ir_mesh *mesh, rt_post *post, rt_ranks **out,
                        ir_error *error) {
  const rt_transport *transport = rt_post_transport(post);
  uint32_t count;
  *out = NULL;
  ir_status status = count_devices(mesh, transport, &count, error);
  if (status) return status;
  rt_ranks *r = ir_alloc(mem, size_of(count));
  uint32_t *own = ir_alloc(mem, mesh->device_count * sizeof *own);
  rank_knowledge *knowledge = ir_alloc(mem, transport->processes * sizeof *knowledge);
  rt_team *team = r && own && knowledge ? rt_team_make(mem, count) : NULL;
  if (!team) {
    ir_free(mem, knowledge, transport->processes * sizeof *knowledge);
    ir_free(mem, r, size_of(count));
    ir_free(mem, own, mesh->device_count * sizeof *own);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh of %u devices", mesh->device_count);
  }
  memset(r, 0, size_of(count));
  memset(knowledge, 0, transport->processes * sizeof *knowledge);
  r->knowledge = knowledge;
  r->offered_bytes = rt_post_offered_bytes(post);
  r->receiver = (rt_receiver){accept_packet, progress_of, fail_transport};
  r->mem = mem;
  r->packets = transport->mem;
  r->mesh = mesh;
  r->post = post;
  r->team = team;
  r->own = own;
  r->process = transport->process;
  r->processes = transport->processes;
  r->count = count;
  r->spins = count <= (uint32_t)rt_pool_default_threads();
  pthread_mutex_init(&r->lock, NULL);
  set_up_devices(r);
  *out = r;
  return IR_OK;
}

void rt_ranks_free(rt_ranks *r) {
  if (!r) return;
  rt_team_free(r->team);
  for (uint32_t i = 0; i <= r->count; i++) {
    rt_bell_destroy(&r->devices[i].bell);
    pthread_mutex_destroy(&r->devices[i].lock);
    ir_free(r->mem, r->devices[i].offers, r->devices[i].offer_cap * sizeof(rank_offer));
  }
  ir_free(r->mem, r->knowledge, r->processes * sizeof *r->knowledge);
  pthread_mutex_destroy(&r->lock);
  ir_free(r->mem, r->own, r->mesh->device_count * sizeof *r->own);
  ir_free(r->mem, r, size_of(r->count));
}

bool rt_ranks_have(const rt_ranks *r, uint32_t device) { return r->own[device] != UINT32_MAX; }
const uint32_t *rt_ranks_places(const rt_ranks *r, uint32_t *count) {
  *count = r->count;
  return r->own;
}

/* the end of a run */

/* In round k each process tells the one 2^k ahead that it, and all that have told it so, have ended. After
 * the last round, of ceil(log2(processes)), all have. */
typedef struct agreement {
  uint32_t round, from; /* what is waited for, and of which process */
} agreement;

static uint32_t first_device(const rt_ranks *r, uint32_t process) {
  uint32_t d = 0;
  while (rank_process_of(r, d) != process) d++;
  return d;
}

static ir_status advance_agreement(rank_device *d, void *user, bool *done, rank_want *want, ir_error *error) {
  const agreement *a = user;
  *want = (rank_want){first_device(d->all, a->from), d->number, "the end of the run", 0};
  *done = atomic_load(&d->all->rounds) >> a->round & 1;
  return atomic_load(&d->all->cancelled) ? ir_fail(error, IR_ERR_DEVICE, "another device has failed") : IR_OK;
}

static void agree(rt_ranks *r) {
  ir_error own = {0};
  ir_status status = IR_OK;
  for (uint32_t round = 0, ahead = 1; ahead < r->processes && !status; round++, ahead *= 2) {
    rt_packet *packet = rt_ranks_packet(r, RT_PACKET_DONE, UINT32_MAX, UINT32_MAX, 0);
    agreement a = {round, (r->process + r->processes - ahead) % r->processes};
    if (!packet) {
      status = ir_fail(&own, IR_ERR_MEMORY, "process %u is out of memory at the end of a run", r->process);
      break;
    }
    packet->header.exchange = round;
    status = rt_ranks_send(r, (r->process + ahead) % r->processes, packet, &own);
    if (!status) status = rt_rank_wait(&r->devices[r->count], advance_agreement, &a, &own);
  }
  if (status) rt_ranks_fail(r, &own, false);
}

static void report(const rt_ranks *r, ir_error *error) {
  char waiting[RT_DEVICE_TEXT], missing[RT_DEVICE_TEXT];
  if (r->waited)
    ir_fail(error, r->failure.status, "%.700s; device %s waited for device %s in exchange %llu (%s)",
            r->failure.text, rt_device_text(r->mesh, r->waiting, waiting),
            rt_device_text(r->mesh, r->missing, missing), (unsigned long long)r->waiting_number,
            r->waiting_kind);
  else ir_fail(error, r->failure.status, "%.900s", r->failure.text);
}

/* running */

static void run_device(void *user, uint32_t number) {
  rt_ranks *r = user;
  rank_device *d = &r->devices[number];
  ir_error own = {0};
  ir_status status = r->work(r->user, &d->endpoint, &own);
  rt_rank_engine.cancel(&d->endpoint, status ? &own : NULL);
}

static void clear(rt_ranks *r) {
  for (uint32_t i = 0; i <= r->count; i++) {
    rank_device *d = &r->devices[i];
    for (rt_packet *next, *list = d->arrived; list; list = next) {
      next = list->next;
      rt_packet_free(r->packets, list);
    }
    d->arrived = NULL;
    d->offer_count = 0;
    d->number = 0;
    d->answer_of = UINT32_MAX;
    atomic_store(&d->sent, 0);
    atomic_store(&d->ended, false);
  }
  atomic_store(&r->rounds, 0);
}

ir_status rt_ranks_run(rt_ranks *r, uint64_t program, rt_device_work work, void *user, ir_status before,
                       ir_error *error) {
  ir_error own = {0};
  r->work = work;
  r->user = user;
  r->program = program;
  r->waited = false;
  memset(r->waiting_kind, 0, sizeof r->waiting_kind);
  atomic_store(&r->cancelled, false);
  clear(r);
  rt_post_begin(r->post, &r->receiver, &r->run);
  if (before) rt_ranks_fail(r, error, false);
  else if (rt_team_run(r->team, run_device, r, &own)) rt_ranks_fail(r, &own, false);
  if (!atomic_load(&r->cancelled)) agree(r);
  if (atomic_load(&r->cancelled)) rt_ranks_tell(r);
  rt_post_end(r->post);
  clear(r);
  if (!atomic_load(&r->cancelled)) {
    rt_post_note(r->post, RT_POST_GOOD);
    return IR_OK;
  }
  report(r, error);
  rt_post_note(r->post, error->status == IR_ERR_DEVICE ? RT_POST_GONE : RT_POST_FAILED);
  return error->status;
}
