/* The bytes of a file of arrays, for its reader: copies of ranges, so that no byte is read twice from a file
 * that others may be writing. */
#ifndef VIEWFOLD_FRONTEND_FILES_SOURCE_H
#define VIEWFOLD_FRONTEND_FILES_SOURCE_H

#include "ir/base.h"
#include "runtime/system/mapped_file.h"

typedef struct fe_source {
  const ir_mem *mem;
  const char *name;      /* of the file, for messages */
  rt_mapped_file *file;  /* NULL: `memory` */
  const uint8_t *memory; /* the whole file, in either case: of a file, as mapped */
  uint64_t size;
  uint8_t *window; /* of a file: bytes that were read ahead */
  uint64_t window_at;
  size_t window_size;
} fe_source;

/* Copies `count` bytes from `offset` on. IR_ERR_INVALID where the file ends before; `what` is being read. */
ir_status fe_source_read(fe_source *source, uint64_t offset, void *to, size_t count, const char *what,
                         ir_error *error);
/* Frees what was read ahead, and nothing else. */
void fe_source_free(fe_source *source);

#endif
