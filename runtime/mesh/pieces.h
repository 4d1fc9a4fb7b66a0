/* Large exchanges in pieces. */
#ifndef VIEWFOLD_RUNTIME_MESH_PIECES_H
#define VIEWFOLD_RUNTIME_MESH_PIECES_H

#include "codegen/emit/blocks.h"
#include "runtime/mesh.h"

/* The pieces of an exchange with these routes, of devices that have and need the boxes `all`, in elements of
 * so many bytes (0: it goes as a whole). How many depends on these and on the mesh alone, so that they are
 * the same in all processes. Frees what *out had. */
ir_status rt_pieces_make(const ir_mem *mem, const ir_mesh *mesh, const rt_routes *whole, size_t bytes,
                         const rt_route *all, rt_pieces *out, ir_error *error);
void rt_pieces_free(const ir_mem *mem, rt_pieces *pieces);

/* For each block of iterations that load elements of what the device needs, as `reads` says: how many pieces,
 * the first ones, have all that it loads. */
void rt_pieces_needed(const rt_pieces *pieces, uint32_t device, cg_reads reads, uint8_t *by_block);

#endif
