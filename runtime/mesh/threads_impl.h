/* Private to the engine of threads (threads.c, threads_run.c): its devices. */
#ifndef VIEWFOLD_RUNTIME_MESH_THREADS_IMPL_H
#define VIEWFOLD_RUNTIME_MESH_THREADS_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "ir/mesh/link.h"
#include "runtime/mesh/bell.h"
#include "runtime/mesh/team.h"
#include "runtime/mesh/threads.h"

enum { CACHE_LINE = 64 };

/* A part that a device lets others read. */
typedef struct published_part {
  const void *part;
  void *copy; /* of a small part, which is then read from there: its device waits for no reader */
  size_t copy_room;
  bool copied;
  int64_t published_ns;
  _Alignas(CACHE_LINE) atomic_uint_fast64_t stamp; /* which transfer it is of */
  atomic_uint readers;                             /* devices that have not got what they need of the part */
} published_part;

typedef struct thread_device {
  rt_endpoint endpoint; /* first: an endpoint is its device */
  rt_threads *all;
  uint64_t number;                    /* transfers that it has started */
  ir_line line;                       /* by which it has received; slow */
  published_part parts[RT_TRANSFERS]; /* that of transfer n is at n % RT_TRANSFERS */
  atomic_uint pins;                   /* devices that are reading some */
  atomic_bool ended;                  /* it has run to its end */
  atomic_int processor;               /* on which it was when it last looked for something; -1: not known */
  _Alignas(CACHE_LINE) rt_bell bell;  /* others write to it */
} thread_device;

struct rt_threads {
  const ir_mem *mem;
  void *raw; /* the memory that it is in, from its first multiple of CACHE_LINE on */
  const ir_mesh *mesh;
  bool slow;
  size_t copied_bytes; /* parts of at most so many bytes are copied */
  bool spins;          /* each device has a processor */
  rt_team *team;
  rt_device_work work;
  void *user;
  atomic_bool cancelled;
  pthread_mutex_t lock; /* guards what follows */
  ir_error failure;     /* of the device `failed`, the first that failed */
  uint32_t failed;
  bool waited; /* device `waiting` waited, in exchange `number` of that kind, for the device `missing` */
  uint32_t waiting, missing;
  uint64_t waiting_number;
  char waiting_kind[RT_EXCHANGE_WORDS];
  thread_device devices[];
};

#endif
