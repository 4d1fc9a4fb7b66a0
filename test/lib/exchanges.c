#include "test/lib/exchanges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/mesh/route.h"
#include "test/lib/random_graph.h"

int64_t exchanges_pick(exchange_world *w, int64_t lo, int64_t hi) {
  return random_between(&w->state, lo, hi);
}

static void make_mesh(exchange_world *w) {
  ir_error error = {0};
  ir_mesh_init(&w->mesh, &ir_mem_libc);
  for (int64_t a = 0, axes = exchanges_pick(w, 1, 3); a < axes; a++) {
    char name[2] = {(char)('x' + a), 0};
    int64_t size = exchanges_pick(w, 1, 4);
    if (w->mesh.device_count * size <= MOST_DEVICES) ir_mesh_add(&w->mesh, name, 1, size, &error);
  }
  if (!w->mesh.axis_count) ir_mesh_add(&w->mesh, "x", 1, 2, &error);
  for (uint32_t a = 0; a < w->mesh.axis_count; a++) {
    w->mesh.axes[a].latency = (double)exchanges_pick(w, 0, 3) * 1e-6;
    w->mesh.axes[a].bandwidth = exchanges_pick(w, 0, 1) ? 1e9 : 0;
  }
}

/* Each axis of the mesh, whole or as two sub-axes, divides a random dimension, or none. */
static void make_spec(exchange_world *w, uint32_t rank, ir_spec *spec) {
  ir_spec_init(spec, rank);
  for (uint32_t i = 0; i < w->mesh.axis_count && rank; i++) {
    ir_subaxis s = ir_whole_axis(&w->mesh, i);
    bool halves = s.size == 4 && exchanges_pick(w, 0, 1);
    for (int part = 0; part <= halves; part++) {
      ir_subaxis one = halves ? (ir_subaxis){.axis = s.axis, .pre = part ? 2 : 1, .size = 2} : s;
      int64_t place = exchanges_pick(w, -1, (int64_t)rank - 1);
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
static void make_boxes(exchange_world *w, exchange *e) {
  uint32_t rank = e->routes.rank;
  ir_spec from, to;
  int64_t halo[2] = {exchanges_pick(w, 0, 3) == 0, exchanges_pick(w, 0, 3) == 0};
  bool any = exchanges_pick(w, 0, 3) == 0;
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
      route->needed.lo[k] = exchanges_pick(w, 0, e->shape[k]);
      route->needed.hi[k] = exchanges_pick(w, route->needed.lo[k], e->shape[k]);
    }
  }
}

static void make_exchange(exchange_world *w, exchange *e) {
  ir_error error = {0};
  uint32_t rank = (uint32_t)exchanges_pick(w, 0, 3);
  rt_routes_make(&ir_mem_libc, w->mesh.device_count, rank, &e->routes, &error);
  e->bytes = (size_t)1 << exchanges_pick(w, 0, 3);
  for (uint32_t k = 0; k < rank; k++) e->shape[k] = exchanges_pick(w, exchanges_pick(w, 0, 9) > 0, 9);
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

static void free_exchange(const exchange_world *w, exchange *e) {
  for (uint32_t d = 0; d < w->mesh.device_count; d++) free(e->parts[d]), free(e->boxes[d]);
  rt_routes_free(&ir_mem_libc, &e->routes);
  free(e->whole);
}

static ir_status begin(exchange_world *w, rt_endpoint *endpoint, uint32_t i, ir_error *error) {
  exchange *e = &w->list[i];
  rt_transfer *t = &endpoint->transfers[i];
  *t = (rt_transfer){.routes = &e->routes,
                     .part = e->parts[endpoint->device],
                     .box = e->boxes[endpoint->device],
                     .bytes = e->bytes,
                     .exchange = i,
                     .kind = "random"};
  return endpoint->engine->start(endpoint, t, error);
}

static ir_status finish(exchange_world *w, rt_endpoint *endpoint, uint32_t i, ir_error *error) {
  const exchange *e = &w->list[i];
  rt_transfer *t = &endpoint->transfers[i];
  uint32_t d = endpoint->device;
  bool done = false;
  ir_status status = IR_OK;
  if (d % 3 == 1) status = endpoint->engine->test(endpoint, t, &done, error);
  if (!status && !done) status = endpoint->engine->wait(endpoint, t, error);
  t->routes = NULL;
  if (!status) memset(e->parts[d], 0xee, (size_t)elements_of(&e->routes.of[d].own) * e->bytes);
  return status; /* nobody reads the part any more */
}

ir_status exchanges_work(void *user, rt_endpoint *endpoint, ir_error *error) {
  exchange_world *w = user;
  uint32_t d = endpoint->device, first = 0, count = d == w->fails ? w->fails_at : w->count;
  ir_status status = IR_OK;
  endpoint->traffic = w->traffic[d];
  memset(endpoint->transfers, 0, sizeof endpoint->transfers);
  for (uint32_t i = 0; i < count && !status; i++) {
    status = begin(w, endpoint, i, error);
    if (i + 1 - first < w->together && (i + 1 < count || (d == w->fails && !w->ends))) continue;
    for (uint32_t k = first; k <= i && !status; k++)
      status = finish(w, endpoint, w->newest ? i + first - k : k, error);
    first = i + 1;
  }
  if (status || d != w->fails || w->ends) return status;
  return ir_fail(error, IR_ERR_VALUE, "it has failed");
}

static bool arrived(const exchange_world *w, const exchange *e, uint32_t d, const rt_traffic *traffic,
                    int64_t *elements) {
  const rt_route *route = &e->routes.of[d];
  int64_t missing = 0;
  EACH(e, at, number) {
    int64_t to = offset_in(&route->needed, at);
    if (to < 0) continue;
    missing += offset_in(&route->own, at) < 0;
    ++*elements;
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

bool exchanges_missed(const exchange_world *w, bool sends) {
  for (uint32_t i = w->fails_at; i < w->count; i++)
    for (uint32_t d = 0; d < w->mesh.device_count; d++) {
      const rt_route *route = &w->list[i].routes.of[d];
      for (uint32_t k = 0; k < route->receive_count && d != w->fails; k++)
        if (route->receives[k].peer == w->fails) return true;
      for (uint32_t k = 0; k < route->send_count && d != w->fails && sends; k++)
        if (route->sends[k].peer == w->fails) return true;
    }
  return false;
}

bool exchanges_arrived(const exchange_world *w, int64_t *elements) {
  for (uint32_t i = 0; i < w->count; i++)
    for (uint32_t d = 0; d < w->mesh.device_count; d++)
      if (!arrived(w, &w->list[i], d, &w->traffic[d][i], elements)) return false;
  return true;
}

bool exchanges_make(exchange_world *w, uint64_t seed) {
  ir_error error = {0};
  *w = (exchange_world){.state = seed};
  make_mesh(w);
  w->count = (uint32_t)exchanges_pick(w, 1, MOST_EXCHANGES);
  w->fails =
      exchanges_pick(w, 0, 7) ? MOST_DEVICES : (uint32_t)exchanges_pick(w, 0, w->mesh.device_count - 1);
  w->fails_at = (uint32_t)exchanges_pick(w, 0, w->count - 1);
  w->ends = exchanges_pick(w, 0, 1);
  w->together = (uint32_t)exchanges_pick(w, 1, 3);
  w->newest = exchanges_pick(w, 0, 1) && w->fails == MOST_DEVICES; /* one that ends early waits for fewer */
  bool good = true;
  for (uint32_t i = 0; i < w->count; i++) make_exchange(w, &w->list[i]);
  for (uint32_t i = 0; i < w->count && good; i++)
    good = rt_routes_find(&w->mesh, &ir_mem_libc, w->list[i].bytes, &w->list[i].routes, &error) == IR_OK;
  if (!good) printf("%s\n", error.text);
  return good;
}

void exchanges_free(exchange_world *w) {
  for (uint32_t i = 0; i < w->count; i++) free_exchange(w, &w->list[i]);
  ir_mesh_free(&w->mesh);
}
