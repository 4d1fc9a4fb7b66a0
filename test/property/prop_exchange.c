/* Exchanges between devices that are threads, for random meshes, shapes, specs and boxes: what arrives is
 * compared with the array that the parts are of; what is received, with a count element by element; and some
 * device fails now and then, after which all end. */
#include "ir/timer.h"
#include "runtime/mesh/route.h"
#include "runtime/mesh/threads.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16, MOST_EXCHANGES = 4, MOST_ELEMENTS = 4096 };

typedef struct exchange {
  rt_routes routes;
  int64_t shape[4];
  size_t bytes;
  unsigned char *whole, *parts[MOST_DEVICES], *boxes[MOST_DEVICES];
} exchange;

typedef struct world {
  uint64_t state;
  ir_mesh mesh;
  exchange list[MOST_EXCHANGES];
  uint32_t count, fails, fails_at; /* fails: the device that does, or MOST_DEVICES */
  bool ends;                       /* it ends early instead */
  rt_traffic traffic[MOST_DEVICES][MOST_EXCHANGES];
} world;

static int64_t exchanges, elements, failures;

static int64_t pick(world *w, int64_t lo, int64_t hi) { return random_between(&w->state, lo, hi); }

static void make_mesh(world *w) {
  ir_error error = {0};
  ir_mesh_init(&w->mesh, &ir_mem_libc);
  for (int64_t a = 0, axes = pick(w, 1, 3); a < axes; a++) {
    char name[2] = {(char)('x' + a), 0};
    int64_t size = pick(w, 1, 4);
    if (w->mesh.device_count * size <= MOST_DEVICES) ir_mesh_add(&w->mesh, name, 1, size, &error);
  }
  if (!w->mesh.axis_count) ir_mesh_add(&w->mesh, "x", 1, 2, &error);
  for (uint32_t a = 0; a < w->mesh.axis_count; a++) {
    w->mesh.axes[a].latency = (double)pick(w, 0, 3) * 1e-6;
    w->mesh.axes[a].bandwidth = pick(w, 0, 1) ? 1e9 : 0;
  }
}

/* Each axis of the mesh, whole or as two sub-axes, divides a random dimension, or none. */
static void make_spec(world *w, uint32_t rank, ir_spec *spec) {
  ir_spec_init(spec, rank);
  for (uint32_t i = 0; i < w->mesh.axis_count && rank; i++) {
    ir_subaxis s = ir_whole_axis(&w->mesh, i);
    bool halves = s.size == 4 && pick(w, 0, 1);
    for (int part = 0; part <= halves; part++) {
      ir_subaxis one = halves ? (ir_subaxis){s.axis, part ? 2 : 1, 2} : s;
      int64_t place = pick(w, -1, (int64_t)rank - 1);
      if (place >= 0) ir_spec_push(spec, (uint32_t)place, one);
    }
  }
}

static int64_t offset_in(const ir_box *box, const int64_t *at) {
  int64_t offset = 0;
  for (uint32_t k = 0; k < box->rank; k++) {
    if (at[k] < box->lo[k] || at[k] >= box->hi[k]) return -1;
    offset = offset * (box->hi[k] - box->lo[k]) + at[k] - box->lo[k];
  }
  return offset;
}

static bool next(int64_t *at, const int64_t *shape, uint32_t rank) {
  for (uint32_t k = rank; k-- > 0; at[k] = 0)
    if (++at[k] < shape[k]) return true;
  return false;
}

static int64_t elements_of(const ir_box *b) {
  int64_t count = 1;
  for (uint32_t k = 0; k < b->rank; k++) count *= b->hi[k] > b->lo[k] ? b->hi[k] - b->lo[k] : 0;
  return count;
}

/* Calls visit with each position of the array, and its number. */
#define EACH(e, at, number)                                                                                  \
  for (int64_t at[4] = {0}, number = 0,                                                                      \
               more_ = elements_of(&(ir_box){.rank = (e)->routes.rank,                                       \
                       .hi = {(e)->shape[0], (e)->shape[1], (e)->shape[2]}}) > 0;                            \
       more_; more_ = next(at, (e)->shape, (e)->routes.rank), number++)

/* Parts as a spec divides them, at times with one position more at the ends of a dimension; needed boxes
 * likewise, or any. */
static void make_boxes(world *w, exchange *e) {
  uint32_t rank = e->routes.rank;
  ir_spec from, to;
  int64_t halo[2] = {pick(w, 0, 3) == 0, pick(w, 0, 3) == 0};
  bool any = pick(w, 0, 3) == 0;
  make_spec(w, rank, &from);
  make_spec(w, rank, &to);
  for (uint32_t d = 0; d < w->mesh.device_count; d++) {
    rt_route *route = &e->routes.of[d];
    ir_spec_box(&w->mesh, &from, e->shape, d, &route->own);
    ir_spec_box(&w->mesh, &to, e->shape, d, &route->needed);
    for (uint32_t k = 0; k < rank; k++) {
      ir_box *boxes[2] = {&route->own, &route->needed};
      for (int i = 0; i < 2; i++) {
        if (halo[i] && boxes[i]->lo[k] > 0) boxes[i]->lo[k]--;
        if (halo[i] && boxes[i]->hi[k] < e->shape[k]) boxes[i]->hi[k]++;
      }
      if (!any) continue;
      route->needed.lo[k] = pick(w, 0, e->shape[k]);
      route->needed.hi[k] = pick(w, route->needed.lo[k], e->shape[k]);
    }
  }
}

static void make_exchange(world *w, exchange *e) {
  ir_error error = {0};
  uint32_t rank = (uint32_t)pick(w, 0, 3);
  rt_routes_make(&ir_mem_libc, w->mesh.device_count, rank, &e->routes, &error);
  e->bytes = (size_t)1 << pick(w, 0, 3);
  for (uint32_t k = 0; k < rank; k++) e->shape[k] = pick(w, pick(w, 0, 9) > 0, 9);
  make_boxes(w, e);
  e->whole = malloc(MOST_ELEMENTS * e->bytes);
  for (size_t i = 0; i < MOST_ELEMENTS * e->bytes; i++) e->whole[i] = (unsigned char)random_next(&w->state);
  for (uint32_t d = 0; d < w->mesh.device_count; d++) {
    rt_route *route = &e->routes.of[d];
    e->parts[d] = malloc((size_t)elements_of(&route->own) * e->bytes + 1);
    e->boxes[d] = calloc((size_t)elements_of(&route->needed) + 1, e->bytes);
    EACH(e, at, number) {
      int64_t to = offset_in(&route->own, at);
      if (to >= 0)
        memcpy(e->parts[d] + (size_t)to * e->bytes, e->whole + (size_t)number * e->bytes, e->bytes);
    }
  }
}

static void free_exchange(const world *w, exchange *e) {
  for (uint32_t d = 0; d < w->mesh.device_count; d++) free(e->parts[d]), free(e->boxes[d]);
  rt_routes_free(&ir_mem_libc, &e->routes);
  free(e->whole);
}

/* one device */
static ir_status work(void *user, rt_endpoint *endpoint, ir_error *error) {
  world *w = user;
  uint32_t d = endpoint->device;
  endpoint->traffic = w->traffic[d];
  for (uint32_t i = 0; i < w->count; i++) {
    exchange *e = &w->list[i];
    rt_transfer t = {.routes = &e->routes,
                     .part = e->parts[d],
                     .box = e->boxes[d],
                     .bytes = e->bytes,
                     .step = i,
                     .kind = "random"};
    bool done = false;
    if (d == w->fails && i == w->fails_at)
      return w->ends ? IR_OK : ir_fail(error, IR_ERR_VALUE, "it has failed");
    ir_status status = endpoint->engine->start(endpoint, &t, error);
    if (!status && d % 3 == 1) status = endpoint->engine->test(endpoint, &t, &done, error);
    if (!status && !done) status = endpoint->engine->wait(endpoint, &t, error);
    if (status) return status;
    memset(e->parts[d], 0xee,
           (size_t)elements_of(&e->routes.of[d].own) * e->bytes); /* nobody reads it any more */
  }
  return IR_OK;
}

static bool arrived(const world *w, const exchange *e, uint32_t d, const rt_traffic *traffic) {
  const rt_route *route = &e->routes.of[d];
  int64_t missing = 0;
  EACH(e, at, number) {
    int64_t to = offset_in(&route->needed, at);
    if (to < 0) continue;
    missing += offset_in(&route->own, at) < 0;
    elements++;
    if (memcmp(e->boxes[d] + (size_t)to * e->bytes, e->whole + (size_t)number * e->bytes, e->bytes) != 0) {
      printf("device %u: the element at [%lld,%lld,%lld] differs\n", d, (long long)at[0], (long long)at[1],
             (long long)at[2]);
      return false;
    }
  }
  if (traffic->bytes == missing * (int64_t)e->bytes && traffic->times == 1) return true;
  printf("device %u: %lld bytes received, not %lld\n", d, (long long)traffic->bytes,
         (long long)(missing * (int64_t)e->bytes));
  return w->fails < MOST_DEVICES;
}

/* Has a device needs of the one that fails, from the exchange on at which it does? */
static bool is_missed(const world *w) {
  for (uint32_t i = w->fails_at; i < w->count; i++)
    for (uint32_t d = 0; d < w->mesh.device_count; d++) {
      const rt_route *route = &w->list[i].routes.of[d];
      for (uint32_t k = 0; k < route->receive_count && d != w->fails; k++)
        if (route->receives[k].peer == w->fails) return true;
      for (uint32_t k = 0; k < route->send_count && d != w->fails; k++)
        if (route->sends[k].peer == w->fails) return true;
    }
  return false;
}

static bool as_expected(const world *w, ir_status status, const ir_error *error) {
  bool fails = w->fails < w->mesh.device_count;
  bool good = !fails         ? !status
              : !w->ends     ? status == IR_ERR_VALUE && strstr(error->text, "it has failed")
              : is_missed(w) ? status == IR_ERR_INVALID && strstr(error->text, "has ended before")
                             : !status;
  if (!good) printf("status %d: %s\n", status, error->text);
  failures += fails;
  for (uint32_t i = 0; i < w->count && good && !fails; i++)
    for (uint32_t d = 0; d < w->mesh.device_count && good; d++)
      good = arrived(w, &w->list[i], d, &w->traffic[d][i]);
  return good;
}

static bool check(uint64_t seed) {
  static world fresh;
  world *w = malloc(sizeof *w);
  rt_threads *threads = NULL;
  ir_error error = {0};
  *w = fresh;
  w->state = seed;
  make_mesh(w);
  w->count = (uint32_t)pick(w, 1, MOST_EXCHANGES);
  w->fails = pick(w, 0, 7) ? MOST_DEVICES : (uint32_t)pick(w, 0, w->mesh.device_count - 1);
  w->fails_at = (uint32_t)pick(w, 0, w->count - 1);
  w->ends = pick(w, 0, 1);
  bool good = true;
  for (uint32_t i = 0; i < w->count; i++) make_exchange(w, &w->list[i]);
  for (uint32_t i = 0; i < w->count && good; i++)
    good = rt_routes_find(&w->mesh, &ir_mem_libc, w->list[i].bytes, &w->list[i].routes, &error) == IR_OK;
  if (good) good = rt_threads_make(&ir_mem_libc, &w->mesh, pick(w, 0, 3) == 0, &threads, &error) == IR_OK;
  if (!good) printf("%s\n", error.text);
  if (good) good = as_expected(w, rt_threads_run(threads, work, w, &error), &error);
  rt_threads_free(threads);
  exchanges += w->count;
  for (uint32_t i = 0; i < w->count; i++) free_exchange(w, &w->list[i]);
  ir_mesh_free(&w->mesh);
  free(w);
  return good;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 1000);
  cases_run(&c, check);
  printf("%ld meshes, %lld exchanges, %lld elements, %lld devices that failed or ended early\n", c.done,
         (long long)exchanges, (long long)elements, (long long)failures);
  return c.failed != 0;
}
