/* The fields of a context, for the files of runtime/. */
#ifndef VIEWFOLD_RUNTIME_CONTEXT_H
#define VIEWFOLD_RUNTIME_CONTEXT_H

#include <pthread.h>

#include "runtime/cache/memo.h"
#include "runtime/constants.h"
#include "runtime/device.h"
#include "runtime/memory/arena.h"
#include "runtime/runtime.h"
#include "runtime/system/pool.h"

struct rt_context {
  ir_mem mem;
  rt_options options; /* strings are copies */
  rt_device *device;
  struct rt_context *beside, *next; /* contexts for other devices (rt_context_beside), listed by `next` */
  rt_module codegen;                /* used by the CPU alone */
  bool by_cc; /* the CPU's kernels are compiled by the C compiler (runtime/compiler/cc.h) */
  rt_pool *pool;
  struct rt_post *post;             /* to the other processes of meshes; NULL: there are none */
  struct rt_simulation *simulation; /* runs the devices of meshes (runtime/mesh_run.h); NULL: threads do */
  rt_arenas arenas;
  rt_constants constants;
  pthread_mutex_t lock; /* guards the fields below */
  bool looked_up;       /* target and identity are known */
  ir_target target;
  ir_target code; /* what kernels are compiled for: the target; with rt_options.ahead, this machine, for loops
                     that are the target's */
  ir_text machine; /* the key of what was measured on this machine; empty: nothing is */
  bool measured;   /* the target has settings that were */
  ir_text identity;
  rt_disk *disk;
  ir_progress own_progress; /* for programs, where rt_options has none */
  rt_memo programs;         /* caller's key -> rt_program, one reference each */
  rt_memo kernels;          /* kernel's bytes -> rt_kernel */
  rt_lookups lookups;
  bool tuned_known;
  uint64_t tuned; /* stamp of the tuned schedules (runtime/program/tuned.c), if tuned_known */
};

/* The key of an entry on disk: the length of `what`, `what`, then all that the entry depends on besides: the
 * target and the versions of the tools, which the first call determines. */
typedef struct rt_full_key {
  const ir_mem *mem;
  uint8_t *bytes;
  size_t size;
} rt_full_key;
ir_status rt_full_key_make(rt_context *context, const void *what, size_t size, rt_full_key *out,
                           ir_error *error);
void rt_full_key_free(rt_full_key *key);

#endif
