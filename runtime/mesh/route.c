#include "runtime/mesh/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/mesh/box.h"

const char *rt_device_text(const ir_mesh *mesh, uint32_t device, char *out) {
  int used = snprintf(out, RT_DEVICE_TEXT, "%u (", device);
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    used += snprintf(out + used, (size_t)(RT_DEVICE_TEXT - used), "%s%s=%" PRId64, a ? ", " : "",
                     mesh->axes[a].name, ir_mesh_coordinate(mesh, device, a));
  snprintf(out + used, (size_t)(RT_DEVICE_TEXT - used), ")");
  return out;
}

ir_status rt_routes_make_own(const ir_mem *mem, uint32_t devices, const uint32_t *place, uint32_t count,
                             uint32_t rank, rt_routes *out, ir_error *error) {
  *out = (rt_routes){.devices = devices,
                     .place = place,
                     .count = count,
                     .rank = rank,
                     .of = ir_alloc(mem, count * sizeof *out->of)};
  if (!out->of) return ir_fail(error, IR_ERR_MEMORY, "out of memory for the routes of an exchange");
  memset(out->of, 0, count * sizeof *out->of);
  return IR_OK;
}

ir_status rt_routes_make(const ir_mem *mem, uint32_t devices, uint32_t rank, rt_routes *out,
                         ir_error *error) {
  return rt_routes_make_own(mem, devices, NULL, devices, rank, out, error);
}

void rt_routes_free(const ir_mem *mem, rt_routes *r) {
  ir_free(mem, r->of, r->count * sizeof *r->of);
  ir_free(mem, r->messages, r->message_cap * sizeof *r->messages);
  ir_free(mem, r->pieces, r->piece_cap * sizeof *r->pieces);
  *r = (rt_routes){0};
}

void rt_route_piece(const rt_routes *r, uint32_t number, ir_box *out) {
  const int64_t *bounds = r->pieces + (size_t)number * 2 * r->rank;
  out->rank = r->rank;
  for (uint32_t k = 0; k < r->rank; k++) out->lo[k] = bounds[k], out->hi[k] = bounds[r->rank + k];
}

/* The state of finding the routes. */
typedef struct finder {
  const ir_mesh *mesh;
  const ir_mem *mem;
  rt_routes *routes;
  const rt_route *all; /* by device: its boxes */
  size_t bytes;
  uint32_t *receivers; /* by message */
  size_t receiver_cap;
  uint32_t *order, *distance; /* by device: the others, the nearest first; coordinates that differ */
  ir_box *left;               /* what the device needs and has not been found yet */
  size_t left_count, left_cap;
} finder;

enum { TAKEN = IR_MAX_RANK + 1 }; /* the rank of a box that has been found */

static bool is_own(const rt_routes *r, uint32_t device) {
  return !r->place || r->place[device] != UINT32_MAX;
}

static bool add_piece(finder *f, const ir_box *box) {
  rt_routes *r = f->routes;
  size_t end = (r->piece_count + 1) * 2 * r->rank;
  if (!IR_RESERVE(f->mem, r->pieces, r->piece_cap, end)) return false;
  int64_t *bounds = r->pieces + r->piece_count++ * 2 * r->rank;
  for (uint32_t k = 0; k < r->rank; k++) bounds[k] = box->lo[k], bounds[r->rank + k] = box->hi[k];
  rt_message *m = &r->messages[r->message_count - 1];
  m->bytes += ir_box_elements(box) * (int64_t)f->bytes;
  m->count++;
  return true;
}

static bool begin_message(finder *f, uint32_t device, uint32_t peer) {
  rt_routes *r = f->routes;
  if (!IR_RESERVE(f->mem, r->messages, r->message_cap, r->message_count + 1)) return false;
  if (!IR_RESERVE(f->mem, f->receivers, f->receiver_cap, r->message_count + 1)) return false;
  f->receivers[r->message_count] = device;
  r->messages[r->message_count++] = (rt_message){.peer = peer, .first = (uint32_t)r->piece_count};
  return true;
}

/* Takes from the peer what it has of what is left, as messages where one of them is of this process. False
 * when memory is short. */
static bool take_from(finder *f, uint32_t device, uint32_t peer) {
  const ir_box *own = &f->all[peer].own;
  ir_box remainder[2 * IR_MAX_RANK], meet;
  bool begun = false, kept_here = is_own(f->routes, device) || is_own(f->routes, peer);
  if (rt_box_is_empty(own)) return true;
  size_t count = f->left_count;
  for (size_t i = 0; i < count; i++) {
    if (!ir_box_meet(&f->left[i], own, &meet)) continue;
    if (kept_here && !begun && !begin_message(f, device, peer)) return false;
    begun = true;
    if (kept_here && !add_piece(f, &meet)) return false;
    uint32_t n = rt_box_subtract(&f->left[i], own, remainder);
    if (!IR_RESERVE(f->mem, f->left, f->left_cap, f->left_count + n)) return false;
    memcpy(f->left + f->left_count, remainder, n * sizeof *remainder);
    f->left_count += n;
    f->left[i].rank = TAKEN;
  }
  size_t kept = 0;
  for (size_t i = 0; i < f->left_count; i++)
    if (f->left[i].rank != TAKEN) f->left[kept++] = f->left[i];
  f->left_count = kept;
  return true;
}

static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Lists the devices that differ in one coordinate, those ahead in the order of the mesh first; returns how
 * many. Most exchanges are along an axis, and need no others. */
static uint32_t find_neighbours(finder *f, uint32_t device) {
  uint32_t devices = f->routes->devices, count = 0, stride = devices;
  for (uint32_t a = 0; a < f->mesh->axis_count; a++) {
    uint32_t size = (uint32_t)f->mesh->axes[a].size, own = (uint32_t)ir_mesh_coordinate(f->mesh, device, a);
    stride /= size;
    for (uint32_t c = 0; c < size; c++)
      if (c != own) f->order[count++] = (c * stride + devices - own * stride) % devices;
  }
  qsort(f->order, count, sizeof *f->order, ascending);
  for (uint32_t i = 0; i < count; i++) f->order[i] = (device + f->order[i]) % devices;
  return count;
}

/* Lists all other devices, the nearest first: by counting, which keeps the order of the mesh. */
static void find_order(finder *f, uint32_t device) {
  uint32_t devices = f->routes->devices, at[IR_MESH_AXES + 2] = {0};
  for (uint32_t i = 1; i < devices; i++) {
    uint32_t peer = (device + i) % devices, differ = 0;
    for (uint32_t a = 0; a < f->mesh->axis_count; a++)
      differ += ir_mesh_coordinate(f->mesh, peer, a) != ir_mesh_coordinate(f->mesh, device, a);
    f->distance[i] = differ;
    at[differ + 1]++;
  }
  for (uint32_t i = 1; i < IR_MESH_AXES + 2; i++) at[i] += at[i - 1];
  for (uint32_t i = 1; i < devices; i++) f->order[at[f->distance[i]]++] = (device + i) % devices;
}

static ir_status short_of_memory(ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "out of memory for the routes of an exchange");
}

static ir_status find_receives(finder *f, uint32_t device, ir_error *error) {
  const rt_route *route = &f->all[device];
  char text[RT_DEVICE_TEXT], at[24 * IR_MAX_RANK] = "";
  if (!IR_RESERVE(f->mem, f->left, f->left_cap, 1)) return short_of_memory(error);
  f->left_count = !rt_box_is_empty(&route->needed);
  f->left[0] = route->needed;
  bool good = take_from(f, device, device);
  uint32_t near = f->left_count ? find_neighbours(f, device) : 0;
  for (uint32_t i = 0; i < near && f->left_count && good; i++) good = take_from(f, device, f->order[i]);
  if (f->left_count) find_order(f, device);
  for (uint32_t i = near; i + 1 < f->routes->devices && f->left_count && good; i++)
    good = take_from(f, device, f->order[i]);
  if (!good) return short_of_memory(error);
  if (!f->left_count) return IR_OK;
  for (uint32_t k = 0, used = 0; k < f->routes->rank; k++)
    used += (uint32_t)snprintf(at + used, sizeof at - used, "%s%" PRId64, k ? "," : "", f->left[0].lo[k]);
  return ir_fail(error, IR_ERR_INVALID, "device %s needs the element at [%s], which no device has",
                 rt_device_text(f->mesh, device, text), at);
}

/* Does a device of another process need something that one of this process has? */
static bool may_receive(const finder *f, uint32_t device) {
  ir_box meet;
  for (uint32_t d = 0; d < f->routes->devices; d++)
    if (is_own(f->routes, d) && ir_box_meet(&f->all[device].needed, &f->all[d].own, &meet)) return true;
  return false;
}

/* The same messages, as those who send them see them. */
static bool find_sends(finder *f) {
  rt_routes *r = f->routes;
  size_t found = r->message_count, next = found;
  if (!IR_RESERVE(f->mem, r->messages, r->message_cap, 2 * found)) return false;
  for (uint32_t d = 0; d < r->count; d++) r->of[d].send_count = r->of[d].receive_count = 0;
  for (size_t m = 0; m < found; m++) {
    uint32_t from = r->messages[m].peer, to = f->receivers[m];
    if (is_own(r, from)) rt_route_of(r, from)->send_count++;
    if (is_own(r, to) && !rt_route_of(r, to)->receive_count++) rt_route_of(r, to)->receives = r->messages + m;
  }
  for (uint32_t d = 0; d < r->count; d++) {
    r->of[d].sends = r->messages + next;
    next += r->of[d].send_count;
    r->of[d].send_count = 0;
  }
  for (size_t m = 0; m < found; m++) {
    uint32_t from = r->messages[m].peer, to = f->receivers[m];
    if (from == to || !is_own(r, from)) continue;
    rt_route *sender = rt_route_of(r, from);
    rt_message *sent = &r->messages[(size_t)(sender->sends - r->messages) + sender->send_count++];
    *sent = r->messages[m];
    sent->peer = to;
  }
  r->message_count = next;
  return true;
}

ir_status rt_routes_find_own(const ir_mesh *mesh, const ir_mem *mem, size_t bytes, const rt_route *all,
                             rt_routes *routes, ir_error *error) {
  uint32_t devices = routes->devices;
  finder f = {.mesh = mesh,
              .mem = mem,
              .routes = routes,
              .all = all,
              .bytes = bytes,
              .order = ir_alloc(mem, devices * sizeof *f.order),
              .distance = ir_alloc(mem, devices * sizeof *f.distance)};
  ir_status status = f.order && f.distance ? IR_OK : short_of_memory(error);
  routes->message_count = routes->piece_count = 0;
  for (uint32_t d = 0; d < devices && !status; d++)
    if (is_own(routes, d) || may_receive(&f, d)) status = find_receives(&f, d, error);
  if (!status && !find_sends(&f)) status = short_of_memory(error);
  ir_free(mem, f.order, devices * sizeof *f.order);
  ir_free(mem, f.distance, devices * sizeof *f.distance);
  ir_free(mem, f.left, f.left_cap * sizeof *f.left);
  ir_free(mem, f.receivers, f.receiver_cap * sizeof *f.receivers);
  return status;
}

/* pieces */

void rt_piece_interval(const ir_box *own, uint32_t axis, uint32_t piece, uint32_t count, int64_t *lo,
                       int64_t *hi) {
  int64_t size = own->hi[axis] - own->lo[axis], each = size / count, more = size % count;
  *lo = own->lo[axis] + each * piece + (piece < more ? piece : more);
  *hi = *lo + each + (piece < more);
}

typedef struct cutter {
  const ir_mem *mem;
  const rt_routes *whole;
  const rt_route *all;
  rt_routes *out;
  uint32_t axis, piece, count;
  size_t bytes;
} cutter;

/* Adds what the piece has of a message from the device `from`; there is room for it. */
static bool cut_message(cutter *c, const rt_message *m, uint32_t from) {
  rt_routes *r = c->out;
  rt_message *made = &r->messages[r->message_count];
  int64_t lo, hi;
  rt_piece_interval(&c->all[from].own, c->axis, c->piece, c->count, &lo, &hi);
  *made = (rt_message){.peer = m->peer, .first = (uint32_t)r->piece_count};
  for (uint32_t i = 0; i < m->count; i++) {
    ir_box box;
    rt_route_piece(c->whole, m->first + i, &box);
    if (box.lo[c->axis] < lo) box.lo[c->axis] = lo;
    if (box.hi[c->axis] > hi) box.hi[c->axis] = hi;
    if (rt_box_is_empty(&box)) continue;
    if (!IR_RESERVE(c->mem, r->pieces, r->piece_cap, (r->piece_count + 1) * 2 * r->rank)) return false;
    int64_t *bounds = r->pieces + r->piece_count++ * 2 * r->rank;
    for (uint32_t k = 0; k < r->rank; k++) bounds[k] = box.lo[k], bounds[r->rank + k] = box.hi[k];
    made->bytes += ir_box_elements(&box) * (int64_t)c->bytes;
    made->count++;
  }
  r->message_count += made->count > 0;
  return true;
}

static bool cut_all(cutter *c) {
  rt_routes *r = c->out;
  bool good = IR_RESERVE(c->mem, r->messages, r->message_cap, c->whole->message_count + 1);
  for (uint32_t d = 0; d < r->devices && good; d++) {
    if (!is_own(r, d)) continue;
    const rt_route *from = rt_route_of(c->whole, d);
    rt_route *to = rt_route_of(r, d);
    *to = (rt_route){.own = from->own, .needed = from->needed, .receives = r->messages + r->message_count};
    size_t first = r->message_count;
    for (uint32_t i = 0; i < from->receive_count && good; i++)
      good = cut_message(c, &from->receives[i], from->receives[i].peer);
    to->receive_count = (uint32_t)(r->message_count - first);
    to->sends = r->messages + r->message_count;
    first = r->message_count;
    for (uint32_t i = 0; i < from->send_count && good; i++) good = cut_message(c, &from->sends[i], d);
    to->send_count = (uint32_t)(r->message_count - first);
  }
  return good;
}

ir_status rt_routes_cut(const ir_mem *mem, const rt_routes *whole, const rt_route *all, uint32_t axis,
                        uint32_t piece, uint32_t count, size_t bytes, rt_routes *out, ir_error *error) {
  cutter c = {mem, whole, all, out, axis, piece, count, bytes};
  ir_status status =
      rt_routes_make_own(mem, whole->devices, whole->place, whole->count, whole->rank, out, error);
  if (!status && !cut_all(&c)) status = short_of_memory(error);
  if (status) rt_routes_free(mem, out);
  return status;
}

ir_status rt_routes_find(const ir_mesh *mesh, const ir_mem *mem, size_t bytes, rt_routes *routes,
                         ir_error *error) {
  return rt_routes_find_own(mesh, mem, bytes, routes->of, routes, error);
}
