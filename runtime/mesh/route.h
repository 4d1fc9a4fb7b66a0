/* Who gets which box from whom. */
#ifndef VIEWFOLD_RUNTIME_MESH_ROUTE_H
#define VIEWFOLD_RUNTIME_MESH_ROUTE_H

#include "runtime/mesh.h"

/* Fills the routes of an exchange, of elements of `bytes` bytes, from the boxes of->own and of->needed of
 * each device, which have been set; earlier messages are dropped. A device takes from its own part what lies
 * there. What remains comes from whoever has it, in the order of how many coordinates along the axes of the
 * mesh differ, then of how far the device is ahead in the order of the mesh: replicas share the work. Fails
 * where no device has a position that one needs: IR_ERR_INVALID, the message names device and position. */
ir_status rt_routes_find(const ir_mesh *mesh, const ir_mem *mem, size_t bytes, rt_routes *routes,
                         ir_error *error);
/* The same of the devices of one process; `all` has the boxes of each device, and is not kept. */
ir_status rt_routes_find_own(const ir_mesh *mesh, const ir_mem *mem, size_t bytes, const rt_route *all,
                             rt_routes *routes, ir_error *error);
/* Room for the boxes of so many devices, of arrays of that rank. IR_ERR_MEMORY. */
ir_status rt_routes_make(const ir_mem *mem, uint32_t devices, uint32_t rank, rt_routes *out, ir_error *error);
/* The same for `count` of them, whose places are kept where they are. */
ir_status rt_routes_make_own(const ir_mem *mem, uint32_t devices, const uint32_t *place, uint32_t count,
                             uint32_t rank, rt_routes *out, ir_error *error);
void rt_routes_free(const ir_mem *mem, rt_routes *routes); /* accepts one that is all zero */
/* The box of a piece. */
void rt_route_piece(const rt_routes *routes, uint32_t number, ir_box *out);
/* `3 (x=0, y=3)`, in a buffer of RT_DEVICE_TEXT bytes. */
enum { RT_DEVICE_TEXT = 24 + IR_MESH_AXES * (IR_MESH_NAME + 16) };
const char *rt_device_text(const ir_mesh *mesh, uint32_t device, char *out);

/* The piece of an exchange with these routes, of devices that have the boxes all[].own, by device, in
 * elements of so many bytes: as `whole` has it, messages that are empty left out. *out, whose old contents do
 * not count, is to be freed. */
ir_status rt_routes_cut(const ir_mem *mem, const rt_routes *whole, const rt_route *all, uint32_t axis,
                        uint32_t piece, uint32_t count, size_t bytes, rt_routes *out, ir_error *error);
/* The positions of the axis that a piece of the part has. */
void rt_piece_interval(const ir_box *own, uint32_t axis, uint32_t piece, uint32_t count, int64_t *lo,
                       int64_t *hi);

#endif
