/* The engine of threads as a whole: its devices made, run together, and what is said when one fails. */
#include <string.h>
#include <time.h>

#include "runtime/mesh/route.h"
#include "runtime/mesh/threads_impl.h"
#include "runtime/system/pool.h"

/* Copying so many bytes takes no longer than two threads take to wake each other. */
enum { COPIED_BYTES = 256 << 10 };

static void free_devices(rt_threads *t, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < RT_TRANSFERS; k++)
      ir_free(t->mem, t->devices[i].parts[k].copy, t->devices[i].parts[k].copy_room);
    rt_bell_destroy(&t->devices[i].bell);
  }
}

static size_t size_of(uint32_t devices) { return sizeof(rt_threads) + devices * sizeof(thread_device); }
static size_t room_of(uint32_t devices) { return size_of(devices) + CACHE_LINE; }

ir_status rt_threads_make(const ir_mem *mem, const ir_mesh *mesh, bool slow, rt_threads **out,
                          ir_error *error) {
  *out = NULL;
  if (mesh->device_count > RT_THREAD_DEVICES)
    return ir_fail(error, IR_ERR_UNSUPPORTED, "a mesh of %u devices: one process has at most %d as threads",
                   mesh->device_count, RT_THREAD_DEVICES);
  void *raw = ir_alloc(mem, room_of(mesh->device_count));
  rt_team *team = raw ? rt_team_make(mem, mesh->device_count) : NULL;
  if (!team) {
    ir_free(mem, raw, room_of(mesh->device_count));
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh of %u devices", mesh->device_count);
  }
  rt_threads *t = (rt_threads *)(((uintptr_t)raw + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
  memset(t, 0, size_of(mesh->device_count));
  t->mem = mem;
  t->raw = raw;
  t->mesh = mesh;
  t->slow = slow;
  t->copied_bytes = COPIED_BYTES;
  t->team = team;
  t->spins = mesh->device_count <= (uint32_t)rt_pool_default_threads();
  pthread_mutex_init(&t->lock, NULL);
  for (uint32_t i = 0; i < mesh->device_count; i++) {
    thread_device *d = &t->devices[i];
    d->endpoint =
        (rt_endpoint){.engine = &rt_thread_engine, .mesh = mesh, .device = i, .launch_ns = RT_LAUNCH_NS};
    d->all = t;
    atomic_init(&d->processor, -1);
    rt_bell_init(&d->bell);
  }
  *out = t;
  return IR_OK;
}

void rt_threads_free(rt_threads *t) {
  if (!t) return;
  rt_team_free(t->team);
  free_devices(t, t->mesh->device_count);
  pthread_mutex_destroy(&t->lock);
  ir_free(t->mem, t->raw, room_of(t->mesh->device_count));
}

static void run_device(void *user, uint32_t number) {
  rt_threads *t = user;
  thread_device *d = &t->devices[number];
  ir_error own = {0};
  ir_status status = t->work(t->user, &d->endpoint, &own);
  rt_thread_engine.cancel(&d->endpoint, status ? &own : NULL);
}

static void report(rt_threads *t, ir_error *error) {
  char failed[RT_DEVICE_TEXT], waiting[RT_DEVICE_TEXT], missing[RT_DEVICE_TEXT];
  rt_device_text(t->mesh, t->failed, failed);
  if (t->waited)
    ir_fail(
        error, t->failure.status, "device %s: %.600s; device %s waited for device %s in exchange %llu (%s)",
        failed, t->failure.text, rt_device_text(t->mesh, t->waiting, waiting),
        rt_device_text(t->mesh, t->missing, missing), (unsigned long long)t->waiting_number, t->waiting_kind);
  else ir_fail(error, t->failure.status, "device %s: %.800s", failed, t->failure.text);
}

ir_status rt_threads_run(rt_threads *t, rt_device_work work, void *user, ir_error *error) {
  t->work = work;
  t->user = user;
  t->waited = false;
  memset(t->waiting_kind, 0, sizeof t->waiting_kind);
  atomic_store(&t->cancelled, false);
  for (uint32_t i = 0; i < t->mesh->device_count; i++) {
    thread_device *d = &t->devices[i];
    d->number = 0;
    for (uint32_t k = 0; k < RT_TRANSFERS; k++) {
      atomic_store(&d->parts[k].stamp, 0);
      atomic_store(&d->parts[k].readers, 0);
    }
    d->line = (ir_line){0};
    atomic_store(&d->ended, false);
  }
  ir_status status = rt_team_run(t->team, run_device, t, error);
  if (status || !atomic_load(&t->cancelled)) return status;
  report(t, error);
  return error->status;
}
