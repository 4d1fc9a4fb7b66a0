/* Routes of the devices of one process: those that all devices would have, in memory that knows of no others.
 */
#include "runtime/mesh/box.h"
#include "runtime/mesh/route.h"
#include "test/lib/exchanges.h"
#include "test/lib/random_graph.h"
#include "test/lib/unit.h"

#include <string.h>

static void same_messages(const rt_routes *a, const rt_message *x, const rt_routes *b, const rt_message *y,
                          uint32_t count) {
  ir_box p, q;
  for (uint32_t i = 0; i < count; i++) {
    assert_true(x[i].peer == y[i].peer && x[i].count == y[i].count && x[i].bytes == y[i].bytes);
    for (uint32_t k = 0; k < x[i].count; k++) {
      rt_route_piece(a, x[i].first + k, &p);
      rt_route_piece(b, y[i].first + k, &q);
      assert_memory_equal(p.lo, q.lo, p.rank * sizeof *p.lo);
      assert_memory_equal(p.hi, q.hi, p.rank * sizeof *p.hi);
    }
  }
}

/* A random set of devices of random exchanges. */
static void test_own(void **state) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    exchange_world w;
    ir_error error = {0};
    assert_true(exchanges_make(&w, seed));
    uint32_t devices = w.mesh.device_count, place[MOST_DEVICES], count = 0;
    for (uint32_t d = 0; d < devices; d++) place[d] = exchanges_pick(&w, 0, 2) ? UINT32_MAX : count++;
    for (uint32_t i = 0; i < w.count; i++) {
      const rt_routes *all = &w.list[i].routes;
      rt_routes own;
      assert_int_equal(rt_routes_make_own(&ir_mem_libc, devices, place, count, all->rank, &own, &error),
                       IR_OK);
      assert_int_equal(rt_routes_find_own(&w.mesh, &ir_mem_libc, w.list[i].bytes, all->of, &own, &error),
                       IR_OK);
      for (uint32_t d = 0; d < devices; d++) {
        if (place[d] == UINT32_MAX) continue;
        const rt_route *x = &all->of[d], *y = rt_route_of(&own, d);
        assert_int_equal(x->receive_count, y->receive_count);
        assert_int_equal(x->send_count, y->send_count);
        same_messages(all, x->receives, &own, y->receives, x->receive_count);
        same_messages(all, x->sends, &own, y->sends, x->send_count);
      }
      rt_routes_free(&ir_mem_libc, &own);
    }
    exchanges_free(&w);
  }
}

/* What a device gathers along x, of meshes with ever more devices along y: bytes of its routes. */
static size_t bytes_of(int64_t others) {
  ir_mesh mesh;
  ir_error error = {0};
  rt_routes own;
  ir_mesh_init(&mesh, &ir_mem_libc);
  assert_true(ir_mesh_add(&mesh, "x", 1, 16, &error) && ir_mesh_add(&mesh, "y", 1, others, &error));
  uint32_t devices = mesh.device_count, *place = malloc(devices * sizeof *place);
  rt_route *all = calloc(devices, sizeof *all);
  for (uint32_t d = 0; d < devices; d++) {
    int64_t x = ir_mesh_coordinate(&mesh, d, 0), y = ir_mesh_coordinate(&mesh, d, 1);
    place[d] = d == devices / 2 ? 0 : UINT32_MAX;
    all[d].own = (ir_box){.rank = 2, .lo = {4 * x, y}, .hi = {4 * x + 4, y + 1}};
    all[d].needed = (ir_box){.rank = 2, .lo = {0, y}, .hi = {64, y + 1}};
  }
  assert_int_equal(rt_routes_make_own(&ir_mem_libc, devices, place, 1, 2, &own, &error), IR_OK);
  assert_int_equal(rt_routes_find_own(&mesh, &ir_mem_libc, 4, all, &own, &error), IR_OK);
  assert_int_equal(own.of[0].receive_count, 16);
  assert_int_equal(own.of[0].send_count, 15);
  size_t bytes = own.message_cap * sizeof *own.messages + own.piece_cap * sizeof *own.pieces + sizeof *own.of;
  rt_routes_free(&ir_mem_libc, &own);
  free(place), free(all);
  ir_mesh_free(&mesh);
  return bytes;
}

static void test_memory(void **state) {
  size_t few = bytes_of(2);
  assert_int_equal(bytes_of(16), few);
  assert_int_equal(bytes_of(256), few); /* 4,096 devices */
}

UNIT_TESTS(test_own, test_memory)
