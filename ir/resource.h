/* What the arg of a RESOURCE node names: `CONSTANT/SERIAL`, and behind that the file that the constant comes
 * from, if any: `/`, `f`, `r` or `b`, BASE, a zero byte, FILE, a zero byte, NAME; of `b`, an offset and a
 * zero byte come before NAME.
 */
#ifndef VIEWFOLD_IR_RESOURCE_H
#define VIEWFOLD_IR_RESOURCE_H

#include "ir.h"

/* Where the array of a constant is found: as `data file="FILE" name="NAME"` says, or `data file="FILE"
 * offset=N name="NAME"`, where the name is for the reader. */
typedef struct ir_origin {
  const char *base; /* prefix of FILE: the folder of the text that named it, `dir/` or `` */
  size_t base_length;
  const char *file;
  size_t file_length;
  const char *name; /* NULL, or length 0: the only array of the file */
  size_t name_length;
  bool raw;   /* the bytes of the array as elements of another dtype: those of blocks */
  bool bytes; /* not by its name: the elements are the bytes from `offset` on, whatever else the file holds
               */
  int64_t offset;
} ir_origin;

/* False: the RESOURCE node does not come from a file. */
bool ir_resource_origin(const ir_graph *graph, ir_ref resource, ir_origin *out);
/* The id of a name for a new node, -1 when memory is short. constant "": it is known by its origin alone.
 * origin may be NULL. */
int64_t ir_resource_name(ir_graph *graph, const char *constant, const ir_origin *origin);

#endif
