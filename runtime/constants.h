/* Constants: arrays with an owner, known by the digest of their bytes. A graph refers to one by a RESOURCE
 * node that holds its name; the elements are in no key, no text and no plan. A program that reads constants
 * is bound to them (rt_program_bind), so programs of equal graphs share their code whatever the elements are.
 */
#ifndef VIEWFOLD_RUNTIME_CONSTANTS_H
#define VIEWFOLD_RUNTIME_CONSTANTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/cache/digest.h"
#include "runtime/cache/disk.h"
#include "runtime/runtime.h"

struct rt_constant {
  rt_digest digest;
  char name[RT_CONSTANT_NAME];
  const void *bytes;
  size_t size;
  rt_release release; /* NULL: the bytes belong to the table */
  void *user;
  rt_mapped_file *file; /* the bytes are in it, from `offset` on; NULL: they are in memory */
  size_t offset;
  rt_disk_mapping mapping; /* the bytes are in it: an entry of the cache on disk; all zero: they are not */
  bool is_portable;        /* its digest says in other processes too what the bytes are */
  rt_memory placed;        /* on the context's device, if that is remote and programs read it there */
  unsigned placements;     /* of them; guarded by the table's `placing` */
  rt_constants *table;
  atomic_uint uses;
  rt_constant *next; /* in its bucket */
};

/* The constants of a context. `lock` guards the buckets, `placing` the copies on the device. */
struct rt_constants {
  const ir_mem *mem;
  pthread_mutex_t lock, placing;
  rt_constant **buckets; /* a power of two of them; NULL: none yet */
  size_t bucket_count, count;
  unsigned long long serial; /* of the next constant whose digest another one has */
};

/* An array that is known by how it was made, and not by its bytes: `recipe` says how. `bytes` are of
 * rt_constant_memory, or those of `mapping`. is_portable: the recipe says in other processes too what they
 * are. */
typedef struct rt_made {
  rt_digest recipe;
  void *bytes;
  size_t size;
  rt_disk_mapping mapping;
  bool is_portable;
} rt_made;
/* Gives the caller a use of the array that has the recipe, and frees these bytes, or keeps these. */
ir_status rt_constant_made(rt_context *context, const rt_made *made, rt_constant **out, ir_error *error);
/* The array made by that recipe; NULL: there is none. */
rt_constant *rt_constant_made_before(rt_context *context, rt_digest recipe);
/* Where the elements are on the context's device: they are copied there for the first program that reads them
 * and stay for all others, until each has given up its use. */
ir_status rt_constant_place(rt_context *context, rt_constant *constant, void **address, ir_error *error);
void rt_constant_displace(rt_context *context, rt_constant *constant);
/* Has a part of the entry that it is mapped from been replaced by zeros? It is found no more. */
bool rt_constant_is_damaged(const rt_constant *constant);
/* Are the bytes still those that the digest was made of, as far as reading them tells? Borrowed ones are
 * read; of a file, rt_mapped_check says it. */
bool rt_constant_is_intact(const rt_constant *constant);

/* An empty table; nothing is allocated yet. */
void rt_constants_init(rt_constants *table, const ir_mem *mem);
void rt_constants_free(rt_constants *table); /* every constant must have been released */

#endif
