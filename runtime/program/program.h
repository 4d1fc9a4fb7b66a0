/* The folder runtime/program. Programs.
 *
 *   in      a plan and the code of its kernels
 *   out     runs
 *   holds   a run with sizes that were seen before allocates nothing */

/* A program in memory: a plan, its code, and what is worked out from them once so that running needs no
 * thought. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PROGRAM_H
#define VIEWFOLD_RUNTIME_PROGRAM_PROGRAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/image/image.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/layout.h"
#include "runtime/program/plan_file.h"
#include "runtime/runtime.h"
#include "runtime/system/pool.h"

/* Where a buffer comes from: its ir_slot_kind in the top bits, its number among those of its kind below. What
 * moves is counted among the temporaries, behind them: a run has a table of both. */
enum { RT_SOURCE_SHIFT = 30 };
#define RT_SOURCE_NUMBER ((1u << RT_SOURCE_SHIFT) - 1)

/* A step, ready to go. */
enum { RT_GRAIN_WHOLE = 0, RT_GRAIN_OTHER = -1 }; /* not worth threads; no kernel */
typedef struct rt_step {
  cg_kernel function;      /* of a kernel */
  const uint32_t *sources; /* of its buffers */
  uint32_t params, number; /* params: buffers of a kernel, else 0; number: of the plan's step */
  int64_t count, grain;    /* grain: least elements of a piece for threads, or as above */
  size_t scratch,
      scratch_each; /* of a kernel: where its scratch memory is in the arena, bytes of each thread */
  union {
    const int64_t *vars; /* of a kernel */
    uint32_t inside[2];  /* steps of its functions that have something to do; they follow */
  };
} rt_step;

/* A result that is also another, or an input: copied at the end. */
typedef struct rt_copy {
  uint32_t source, result, slot;
} rt_copy;

/* What depends on the values of variables. */
typedef struct rt_frame {
  rt_step *steps; /* those with something to do */
  size_t step_count;
  int64_t *values; /* of the plan's values */
  rt_span *spans;  /* of the temporaries, then of the scratch memory of steps */
  size_t arena_bytes;
  size_t *bytes;        /* by slot */
  int64_t *kernel_vars; /* by step_vars */
  int64_t *dims;        /* by dims, where there are custom operations */
  uint32_t *place;      /* by the plan's step: among steps, of it or the next that is there */
} rt_frame;

/* What one run in progress needs besides: kept for the next. */
typedef struct rt_run {
  struct rt_run *next;
  rt_block block, *blocks; /* of all temporaries; of each, where arrays lie apart */
  rt_frame frame;          /* of a program with variables */
  bool filled;             /* frame is for vars; temps for frame and block */
  int64_t *vars;
  void **temps, **buffers; /* temps: of temporaries, then of what moves */
  rt_array *arrays;        /* room for those of a custom operation */
  void *device;            /* what the device keeps for it; NULL: nothing yet */
} rt_run;

enum { RT_FEW_PARAMS = 16, RT_SCRATCH_ALIGN = 128 /* of each thread: no two share what a prefetch takes */ };

struct rt_program {
  rt_context *context;
  bool remote; /* run by its device's functions, not by calling its own */
  size_t part; /* the arena is cut at its multiples; 0: nowhere */
  bool plain; /* fixed sizes, no memory for temporaries nor scratch memory, few parameters, only kernels: runs
                 on the stack alone */
  size_t scratch_steps; /* whose kernels need scratch memory */
  rt_frame frame;
  rt_copy *copies;
  size_t copy_count;
  void **data; /* literal arrays */
  _Atomic(rt_run *) spare;

  rt_pool *pool;
  rt_plan plan;
  rt_code code;
  rt_stats stats;
  uint32_t *sources; /* by step_slots */
  uint32_t *inputs;  /* slots */
  uint32_t *temps;   /* slots */
  uint32_t *place;   /* by slot: number among those of its kind; of outputs: the first result it is */
  rt_span *lives;    /* by temporary: first and last step */
  uint32_t *homes;   /* by temporary: the source where it lies, its own, another temporary's or an output's */
  uint32_t *around;  /* by step: the step it stands in; UINT32_MAX: none */
  const void **calls; /* by step: what was found for a custom operation */
  void *device;       /* what the device keeps for it */
  size_t homed;       /* temporaries that have memory of their own */
  size_t input_count, temp_count, moving_count, data_count, launch_count, max_params, max_arrays;
  atomic_uint references;
  atomic_bool cached;
  pthread_mutex_t lock; /* of runs */
  rt_run *runs;
  uint8_t *raw; /* the plan's bytes as allocated */
  size_t raw_size;
  void *tables; /* one allocation for all arrays above */
  size_t table_size;
};

/* A program of the plan `bytes` (copied) and its code (taken over, also on failure). IR_ERR_INVALID when they
 * do not hold together. */
ir_status rt_program_make(rt_context *context, const void *bytes, size_t size, rt_code *code,
                          rt_program **out, ir_error *error);
void rt_program_drop(void *program); /* the table of programs lets go of it */

/* frame.c: a frame and its arrays, as one allocation of rt_frame_size bytes */
size_t rt_frame_size(const rt_program *program);
void rt_frame_carve(const rt_program *program, rt_frame *frame, void *memory);
ir_status rt_frame_fill(const rt_program *program, rt_frame *frame, const int64_t *vars, ir_error *error);
ir_status rt_check_vars(const rt_program *program, const int64_t *vars, ir_error *error);

/* program.c: bytes of scratch memory that each thread needs for this kernel step, a multiple of
 * RT_SCRATCH_ALIGN */
size_t rt_scratch_of(const rt_program *program, uint32_t step);

/* placement.c: lives and homes of temporaries. Fails only for want of memory. */
ir_status rt_place(rt_program *program, ir_error *error);

/* run.c */
void rt_program_trim(rt_program *program); /* gives the memory of idle runs back */

/* Cut `count` items of `size` bytes from memory at *at, or only count how many bytes that takes when *at is
 * NULL-based: the same code measures and cuts. */
static inline void *rt_carve(uintptr_t *at, size_t count, size_t size) {
  uintptr_t start = *at;
  *at += (count * size + 15) & ~(uintptr_t)15;
  return (void *)start;
}

#endif
