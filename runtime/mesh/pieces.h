/* Large exchanges in pieces. */
#ifndef VIEWFOLD_RUNTIME_MESH_PIECES_H
#define VIEWFOLD_RUNTIME_MESH_PIECES_H

#include "runtime/mesh.h"

/* The pieces of an exchange with these routes, of devices that have and need the boxes `all`, in elements of
 * so many bytes (0: it goes as a whole). How many depends on these and on the mesh alone, so that they are
 * the same in all processes. Frees what *out had. */
ir_status rt_pieces_make(const ir_mem *mem, const ir_mesh *mesh, const rt_routes *whole, size_t bytes,
                         const rt_route *all, rt_pieces *out, ir_error *error);
void rt_pieces_free(const ir_mem *mem, rt_pieces *pieces);

#endif
