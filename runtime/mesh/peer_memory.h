/* Memory of other processes of this machine, read without their help (process_vm_readv(2)): one copy, where a
 * message takes three or four. */
#ifndef VIEWFOLD_RUNTIME_MESH_PEER_MEMORY_H
#define VIEWFOLD_RUNTIME_MESH_PEER_MEMORY_H

#include "ir/mesh/spec.h"

/* Which memory: of which process, on which system; and a secret of that process, where it lies and what it
 * is, so that no other process is taken for it. */
typedef struct rt_memory_name {
  char system[64]; /* empty: not known, nobody reads it */
  int64_t process;
  uint64_t secret_at, secret[2];
} rt_memory_name;

/* That of this process, which stays where it is made. */
void rt_memory_name_own(rt_memory_name *out);
/* Can this process, whose own is *self, read it? Not on other systems, in containers that hide processes from
 * each other, nor where the system forbids it. */
bool rt_memory_is_readable(const rt_memory_name *self, const rt_memory_name *of);
/* Copies the elements of `box`, as rt_box_copy does; the source is an address there. False: it cannot be
 * read, and some of the target may have been written. */
bool rt_memory_read_box(const rt_memory_name *of, const ir_box *box, size_t bytes, const ir_box *from,
                        uint64_t source, const ir_box *to, void *target);

#endif
