/* Finding, compiling and keeping the code of kernels. */
#include "runtime/program/kernel_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/device.h"

static const char kind[] = "code";

/* A value of the table of kernels in memory: a copy of an image. */
typedef struct rt_kernel {
  const ir_mem *mem;
  rt_flat image;
} rt_kernel;

void rt_kernel_drop(void *value) {
  rt_kernel *kernel = value;
  rt_flat_free(kernel->mem, &kernel->image);
  ir_free(kernel->mem, kernel, sizeof *kernel);
}

typedef struct job {
  const rt_kernel_key *key;
  rt_full_key full;
  rt_flat *image;
  ir_error error;
  bool is_asked; /* a compiler process was asked for it */
  rt_compile_request asked;
} job;

static bool copy_image(const ir_mem *mem, const void *bytes, size_t size, rt_flat *out) {
  uint8_t *copy = ir_alloc(mem, size);
  if (!copy) return false;
  memcpy(copy, bytes, size);
  *out = (rt_flat){copy, size};
  return true;
}

/* Is this the image of the kernel? Its function has the kernel's symbol. */
static bool is_image_of(const void *bytes, size_t size, const rt_kernel_key *key) {
  rt_entry entry;
  return rt_image_entry(bytes, size, 0, &entry) && !strcmp(entry.name, key->symbol);
}

static bool from_memory(rt_context *c, job *j) {
  pthread_mutex_lock(&c->lock);
  rt_kernel *kernel = rt_memo_find(&c->kernels, j->key->bytes, j->key->size);
  bool found = kernel && copy_image(&c->mem, kernel->image.bytes, kernel->image.size, j->image);
  pthread_mutex_unlock(&c->lock);
  return found;
}

static bool from_disk(rt_context *c, rt_disk *disk, job *j) {
  rt_found found;
  if (!rt_disk_get(disk, kind, j->full.bytes, j->full.size, &found)) return false;
  bool good = is_image_of(found.payload, found.size, j->key);
  if (!good) rt_disk_remove(disk, kind, j->full.bytes, j->full.size);
  good = good && copy_image(&c->mem, found.payload, found.size, j->image);
  rt_disk_release(&found);
  return good;
}

/* Keeping an image is an optimisation: where memory is short it is not kept. */
static void keep_in_memory(rt_context *c, const job *j) {
  rt_kernel *kernel = ir_alloc(&c->mem, sizeof *kernel);
  if (!kernel) return;
  *kernel = (rt_kernel){.mem = &c->mem};
  bool kept = copy_image(&c->mem, j->image->bytes, j->image->size, &kernel->image);
  if (kept) {
    pthread_mutex_lock(&c->lock);
    kept = !rt_memo_find(&c->kernels, j->key->bytes, j->key->size) &&
           rt_memo_put(&c->kernels, j->key->bytes, j->key->size, kernel, kernel->image.size + j->key->size);
    pthread_mutex_unlock(&c->lock);
  }
  if (!kept) rt_kernel_drop(kernel);
}

static ir_status compile_graph(rt_context *c, job *j) {
  ir_graph graph;
  ir_ref kernel;
  int64_t start = ir_timer_start(c->options.timer);
  ir_status status = ir_graph_init(&graph, &c->mem, &j->error);
  if (status) return status;
  status = rt_kernel_key_read(j->key, &graph, &kernel, &j->error);
  ir_timer_lap(c->options.timer, &start, "read", -1, j->key->symbol);
  if (!status) status = c->device->table->compile(c, &graph, kernel, j->key->symbol, j->image, &j->error);
  ir_graph_free(&graph);
  return status;
}

static void compile_job(rt_context *c, job *j) {
  ir_status status =
      j->is_asked ? c->device->table->await(c, &j->asked, j->image, &j->error) : compile_graph(c, j);
  if (!status && !is_image_of(j->image->bytes, j->image->size, j->key)) {
    rt_flat_free(&c->mem, j->image);
    status = IR_ERR_INTERNAL;
  }
  if (status) ir_fail(&j->error, IR_ERR_INTERNAL, "compile: no function %s was made", j->key->symbol);
}

typedef struct batch {
  rt_context *context;
  ir_task *task;
  job **jobs;
  size_t count;
  atomic_size_t next, done;
} batch;

/* Each thread compiles one job after the other until none is left: a job takes milliseconds, and some take
 * many times as long as others. Once the task ends, only what a compiler process has been asked for is still
 * fetched. */
static void compile_some(void *argument, int worker, int64_t begin, int64_t end) {
  batch *b = argument;
  (void)worker, (void)begin, (void)end;
  for (size_t i; (i = atomic_fetch_add_explicit(&b->next, 1, memory_order_relaxed)) < b->count;) {
    job *j = b->jobs[i];
    size_t done = atomic_load_explicit(&b->done, memory_order_relaxed);
    if (ir_task_tell(b->task, "compiling kernels", (int64_t)done, (int64_t)b->count) || j->is_asked)
      compile_job(b->context, j);
    else ir_cancelled(&j->error);
    atomic_fetch_add_explicit(&b->done, 1, memory_order_relaxed);
  }
}

/* Sort the kernels that probably take longest to the front. */
static int larger_first(const void *a, const void *b) {
  size_t x = (*(job *const *)a)->key->size, y = (*(job *const *)b)->key->size;
  return (x < y) - (x > y);
}

static ir_status compile_all(rt_context *c, const char *name, ir_task *task, job **jobs, size_t count,
                             rt_stats *stats, ir_error *error) {
  if (count == 0) return IR_OK;
  if (c->options.no_compile)
    return ir_fail(
        error, IR_ERR_COMPILE,
        "VIEWFOLD_COMPILE=0: graph @%s needs %zu kernel%s that the cache does not hold, the first is %s; run "
        "once without VIEWFOLD_COMPILE=0 to compile and keep them",
        name, count, count == 1 ? "" : "s", jobs[0]->key->symbol);
  int64_t start = ir_now_ns();
  batch b = {.context = c, .task = task, .jobs = jobs, .count = count};
  atomic_init(&b.next, 0);
  atomic_init(&b.done, 0);
  qsort(jobs, count, sizeof *jobs, larger_first);
  for (size_t i = 0; i < count && c->device->table->ask; i++)
    jobs[i]->is_asked = c->device->table->ask(c, jobs[i]->key, task, &jobs[i]->asked);
  rt_pool_run(c->pool, compile_some, &b, (int64_t)count, 1, RT_POOL_LONG);
  stats->compile_ns += ir_now_ns() - start;
  stats->compiled += (uint32_t)count;
  for (size_t i = 0; i < count; i++)
    if (jobs[i]->error.status)
      return ir_fail(error, jobs[i]->error.status, "graph @%s: %s", name, jobs[i]->error.text);
  return IR_OK;
}

static ir_status get_images(rt_context *c, const char *name, ir_task *task, job *jobs, job **missing,
                            size_t count, rt_stats *stats, ir_error *error) {
  rt_disk *disk = rt_context_disk(c, NULL);
  size_t missing_count = 0;
  if (!rt_context_target(c, error)) return error ? error->status : IR_ERR_UNSUPPORTED;
  for (size_t i = 0; i < count; i++) {
    job *j = &jobs[i];
    if (from_memory(c, j)) {
      stats->from_memory++;
      continue;
    }
    ir_status status = disk ? rt_full_key_make(c, j->key->bytes, j->key->size, &j->full, error) : IR_OK;
    if (status) return status;
    if (disk && from_disk(c, disk, j)) {
      stats->from_disk++;
      keep_in_memory(c, j);
      continue;
    }
    missing[missing_count++] = j;
  }
  ir_status status = compile_all(c, name, task, missing, missing_count, stats, error);
  for (size_t i = 0; i < missing_count; i++) { /* also where another kernel failed */
    job *j = missing[i];
    if (!j->image->bytes) continue;
    int64_t start = ir_timer_start(c->options.timer);
    keep_in_memory(c, j);
    if (disk) rt_disk_put(disk, kind, j->full.bytes, j->full.size, j->image->bytes, j->image->size);
    ir_timer_lap(c->options.timer, &start, "store", -1, j->key->symbol);
  }
  return status;
}

ir_status rt_kernels_get(rt_context *c, const char *name, ir_task *task, const rt_kernel_key *keys,
                         size_t count, rt_flat *images, rt_stats *stats, ir_error *error) {
  stats->kernels += (uint32_t)count;
  job *jobs = ir_alloc(&c->mem, count * sizeof *jobs), **missing = ir_alloc(&c->mem, count * sizeof(job *));
  memset(images, 0, count * sizeof *images);
  ir_status status = IR_ERR_MEMORY;
  if (jobs && missing) {
    for (size_t i = 0; i < count; i++) jobs[i] = (job){.key = &keys[i], .image = &images[i]};
    status = get_images(c, name, task, jobs, missing, count, stats, error);
    for (size_t i = 0; i < count; i++) rt_full_key_free(&jobs[i].full);
  } else {
    ir_fail(error, status, "graph @%s: out of memory compiling", name);
  }
  ir_free(&c->mem, jobs, count * sizeof *jobs);
  ir_free(&c->mem, missing, count * sizeof(job *));
  if (status)
    for (size_t i = 0; i < count; i++) rt_flat_free(&c->mem, &images[i]);
  return status;
}
