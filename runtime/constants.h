/* Constants: arrays with an owner, known by the digest of their bytes. A graph refers to one by a RESOURCE
 * node that holds its name; the elements are in no key, no text and no plan. A program that reads constants
 * is bound to them (rt_program_bind), so programs of equal graphs share their code whatever the elements are.
 */
#ifndef VIEWFOLD_RUNTIME_CONSTANTS_H
#define VIEWFOLD_RUNTIME_CONSTANTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/cache/digest.h"
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
  rt_constants *table;
  atomic_uint uses;
  rt_constant *next; /* in its bucket */
};

/* The constants of a context. The lock guards the buckets. */
struct rt_constants {
  const ir_mem *mem;
  pthread_mutex_t lock;
  rt_constant **buckets; /* a power of two of them; NULL: none yet */
  size_t bucket_count, count;
};

/* The same for an array that is known by how it was made, and not by its bytes: `digest` is that of a recipe.
 * Gives the caller a use of the one that has it, and frees these bytes, or keeps these. */
ir_status rt_constant_made(rt_context *context, rt_digest recipe, void *bytes, size_t size, rt_constant **out,
                           ir_error *error);
/* The array made by that recipe; NULL: there is none. */
rt_constant *rt_constant_made_before(rt_context *context, rt_digest recipe);

/* An empty table; nothing is allocated yet. */
void rt_constants_init(rt_constants *table, const ir_mem *mem);
void rt_constants_free(rt_constants *table); /* every constant must have been released */

#endif
