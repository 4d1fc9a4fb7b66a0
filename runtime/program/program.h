/* The folder runtime/program. Programs.
 *
 *   in      a plan and the code of its kernels
 *   out     runs
 *   holds   a repeated run with the same sizes allocates nothing */

/* A program in memory: a plan, its code, and tables that are computed once so that running it takes little
 * time. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PROGRAM_H
#define VIEWFOLD_RUNTIME_PROGRAM_PROGRAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "ir/mesh/spec.h"
#include "runtime/image/image.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/layout.h"
#include "runtime/program/plan_file.h"
#include "runtime/runtime.h"
#include "runtime/system/pool.h"

/* A source: how a step finds the address of a buffer. The top bits are its ir_slot_kind, the low bits its
 * number among the slots of that kind. Moving slots are numbered after the temporaries, as if they were such:
 * a run has one table of both. */
enum { RT_SOURCE_SHIFT = 30 };
#define RT_SOURCE_NUMBER ((1u << RT_SOURCE_SHIFT) - 1)

/* A step with everything that launching it needs. */
enum { RT_GRAIN_WHOLE = 0, RT_GRAIN_OTHER = -1 }; /* the loop is not split; the step is no kernel */
typedef struct rt_step {
  cg_kernel function;      /* of a kernel */
  const uint32_t *sources; /* sources of its buffers */
  uint32_t params, number; /* buffers of a kernel, else 0; index of the step in the plan */
  int64_t count, grain;    /* grain: least iterations of a chunk, or as above */
  int64_t least_ns;        /* of a kernel that is split: what it surely takes on one thread; of a step that
                              is no kernel and has none inside: so that the run asks how it goes on */
  size_t scratch, scratch_each; /* bytes: offset of its scratch in the arena; per thread */
  union {
    const int64_t *vars; /* of a kernel */
    uint32_t inside[2];  /* steps with work in each of its functions; they follow this one */
  };
} rt_step;

/* The lines along the axis of a sort: `outer` times `inner` of `size` elements. */
typedef struct rt_lines {
  int64_t outer, size, inner;
} rt_lines;

/* A result that is also another result, a temporary, an input or a literal array: copied at the end. source:
 * where from; result: number of the result; slot: of the plan, for its size. */
typedef struct rt_copy {
  uint32_t source, result, slot;
} rt_copy;

/* The sizes that depend on the values of variables. */
typedef struct rt_frame {
  rt_step *steps; /* those with work to do */
  size_t step_count;
  int64_t *values; /* values of the plan's index expressions */
  rt_span *spans;  /* of the temporaries, then of the scratch memory of steps */
  size_t arena_bytes;
  size_t *bytes;        /* by slot */
  int64_t *kernel_vars; /* by step_vars */
  int64_t *dims;        /* by dims, where there are custom operations */
  uint32_t *step_index; /* by step of the plan: the index in steps of it, or of the next one with work */
} rt_frame;

/* The state of one run in progress. It is kept for later runs. */
typedef struct rt_run {
  struct rt_run *next;
  rt_block block, *blocks; /* one block for all temporaries; or one for each (rt_options.separate_arrays) */
  rt_frame frame;          /* used by a program with variables */
  bool filled;             /* frame holds the sizes for vars, temps the addresses for frame and block */
  int64_t *vars;
  void **temps, **buffers;  /* addresses of temporaries, then of moving slots; parameters of a kernel */
  rt_array *arrays;         /* for the arrays of a custom operation */
  void *device;             /* state of the run on the device; NULL: none yet */
  struct rt_staged *staged; /* memory of its exchanges on a remote device (staged.h); NULL: none yet */
} rt_run;

/* RT_SCRATCH_ALIGN: two cache lines, so that the scratch of two threads never shares a line, nor the pair
 * that a prefetch fetches. */
enum { RT_FEW_PARAMS = 16, RT_SCRATCH_ALIGN = 128 };

struct rt_program {
  rt_context *context;
  bool remote;     /* its device's functions run it */
  size_t boundary; /* no temporary lies across a multiple of it in the arena; 0: no limit */
  bool plain;      /* fixed sizes, no temporaries with memory of their own, no scratch, few parameters, only
                      kernels: a run needs no rt_run */
  bool brief; /* plain, and a few kernels that are not split: a run ends before anybody would cancel it */
  size_t scratch_steps; /* number of kernels and sorts that need scratch memory */
  rt_frame frame;
  rt_copy *copies;
  size_t copy_count;
  void **data; /* literal arrays, and constants: NULL where the program is not bound to them */
  _Atomic(rt_run *) spare;

  rt_pool *pool;
  ir_progress *progress; /* the context's */
  rt_plan plan;
  rt_code code;
  rt_stats stats;
  uint32_t *sources;   /* source of each of the plan's step_slots */
  uint32_t *inputs;    /* index in the plan's slots of each input */
  uint32_t *temps;     /* likewise of each temporary */
  uint32_t *resources; /* likewise of each constant */
  uint8_t *kinds; /* by slot: its kind in the plan, but IR_SLOT_RESOURCE where a hoisted step computes it */
  uint32_t *hoisted;        /* the index in the plan's slots of each such slot */
  uint32_t *array_number;   /* by slot of a constant or of a hoisted step: its index in `constants` */
  bool *is_hoisted;         /* by step: it runs once, when the program is bound (hoist.c) */
  uint32_t *number_in_kind; /* by slot: number within its kind; of an output: the first result that it is */
  rt_span *lives;           /* by temporary: live range */
  uint32_t *homes;  /* by temporary: the source of its memory: its own, another temporary's or an output's */
  uint32_t *within; /* by temporary: the exchange in whose result it may lie; or RT_HOLDS_OPERAND: one
                              may lie in it; or UINT32_MAX */
  uint32_t *parent_step; /* by step: the step around it; UINT32_MAX: none */
  uint32_t *sends;       /* by step: the exchange whose operand this kernel makes, which may begin to go
                            before all of it is there; UINT32_MAX: none */
  uint32_t *receives;    /* by step: of a kernel, the exchange whose result it may begin to read before all of
                            it is there; of the WAIT for that one, this kernel; UINT32_MAX: none */
  const void **calls;    /* by step: what rt_calls.find returned for a custom operation */
  void *device;          /* data of the program on the device */
  size_t own_memory_count; /* temporaries that have memory of their own */
  size_t input_count, temp_count, moving_count, data_count, resource_count, hoisted_count, launch_count,
      max_params, max_arrays;
  uint32_t failed_step; /* of a bound program: 1 + a hoisted step that found an index out of range; 0: none */
  struct rt_program *base; /* of a bound program: the one whose code it runs; else NULL */
  /* of a bound program: resource_count constants, then hoisted_count arrays that hoisted steps have computed;
   * and which of the former it uses on a remote device */
  rt_constant **constants;
  bool *is_placed;
  rt_mapped_file **files; /* of a bound program, at most resource_count: those that the constants are in */
  size_t file_count;
  uint32_t of_parts; /* of a bound program: as in rt_program_bind */
  bool stores;       /* of a bound program: what hoisted steps compute goes to the cache on disk */
  bool maps_entries; /* of a bound program: an array of a hoisted step is mapped from the cache on disk */
  atomic_uint references;
  atomic_bool cached;
  pthread_mutex_t lock; /* guards runs */
  rt_run *runs;
  rt_kernel_key *keys; /* with rt_options.ahead, unless there is a base: the kernels, by number */
  size_t key_count, key_cap;
  uint8_t *raw; /* the plan's bytes as allocated */
  size_t raw_size;
  void *tables; /* one allocation for all arrays above */
  size_t table_size;
};

/* Makes a program of the plan `bytes` (copied) and its code, which now belongs to the program (on failure it
 * is unloaded). IR_ERR_INVALID when they do not fit together. */
ir_status rt_program_make(rt_context *context, const void *bytes, size_t size, rt_code *code,
                          rt_program **out, ir_error *error);
/* Makes another program of the same plan, with the code of `base`, which it keeps. */
ir_status rt_program_share(rt_program *base, rt_program **out, ir_error *error);
void rt_program_drop(void *program); /* for the table of programs: releases its reference */

/* Defined in bind.c: gives the constants and their places on the device back; accepts a program that has
 * none. */
void rt_program_unbind(rt_program *program);

/* Defined in bind.c: did what the program reads from files change meanwhile, constants or entries of the
 * cache on disk? */
ir_status rt_program_check_files(const rt_program *program, ir_error *error);

/* Defined in hoist.c. Finds the steps of a bound program that depend on constants alone, and runs them once
 * they have addresses; p->constants has room for what they compute. */
void rt_find_hoisted(rt_program *program);
ir_status rt_run_hoisted(rt_program *program, ir_error *error);

/* Defined in frame.c: a frame and its arrays, in one allocation of rt_frame_size bytes. */
size_t rt_frame_size(const rt_program *program);
/* Work (bytes and scalar operations) from which a loop is shared, and that is worth a part: the reasons are
 * in frame.c. */
enum { RT_SPLIT_WORK = 128 << 10, RT_CHUNK_WORK = 64 << 10 };
/* Sets how a step's thread loop of `count` iterations is split: count, grain, least_ns. flops: 0 where
 * elements are only moved. */
void rt_split(rt_step *step, int64_t count, int64_t work, int64_t flops, int threads);
void rt_frame_lay_out(const rt_program *program, rt_frame *frame, void *memory);
ir_status rt_frame_fill(const rt_program *program, rt_frame *frame, const int64_t *vars, ir_error *error);

/* Defined in run_sort.c: the lines of a sort; sizes that do not fit are INT64_MAX. And the scratch memory of
 * each thread that runs it, a multiple of RT_SCRATCH_ALIGN, for lines that fit the step. */
rt_lines rt_lines_of(const rt_program *program, const rt_frame *frame, const rt_plan_step *step);
size_t rt_sort_scratch(const rt_program *program, const rt_frame *frame, const rt_step *step);

/* Defined in run_exchange.c: the boxes of an EXCHANGE, step `step` of the plan, for these values of the
 * plan's index expressions: of its result, and of its operand; whether sizes and numbers of elements agree;
 * and the bytes of an element. */
void rt_exchange_boxes(const rt_program *program, const int64_t *values, uint32_t step, ir_box *needed,
                       ir_box *own);
bool rt_exchange_fits(const rt_program *program, const int64_t *values, uint32_t step);
size_t rt_exchange_bytes(const rt_program *program, uint32_t step);

/* Defined in program.c: rt_cost.steps for the sizes of a frame. */
int64_t rt_frame_steps(const rt_program *program, const rt_frame *frame);

/* Defined in program.c: bytes of scratch memory that each thread needs for this kernel step, a multiple of
 * RT_SCRATCH_ALIGN. */
size_t rt_scratch_of(const rt_program *program, uint32_t step);

/* Defined in placement.c: computes lives, homes and around. Fails only where memory is short. */
ir_status rt_place(rt_program *program, ir_error *error);

/* Defined in exchange_place.c: finds which temporaries may lie within others; inherits: by temporary, the one
 * whose memory it inherits, or itself. And where, for these values of the plan's index expressions: at which
 * offset of another temporary. False: it has memory of its own. */
#define RT_HOLDS_OPERAND (UINT32_MAX - 1)
void rt_place_operands(rt_program *program, const uint32_t *inherits);
bool rt_operand_place(const rt_program *program, const int64_t *values, uint32_t temp, uint32_t *result,
                      size_t *offset);

/* Defined in exchange_pieces.c: finds `sends` and `receives`, before places are known and behind parent_step.
 */
void rt_find_senders(rt_program *program);
void rt_find_receivers(rt_program *program);
/* What the iterations of a kernel step store and load. */
cg_uses rt_uses_of(const rt_program *program, uint32_t step);
/* Of the buffer in the slot, which the step reads; param 0: not known. */
cg_reads rt_reads_of(const rt_program *program, uint32_t step, uint32_t slot);

/* Defined in run.c. */
void rt_program_trim(rt_program *program); /* frees the idle runs and their memory */

/* Lays out `count` items of `size` bytes at *at, and advances *at. Called with *at = 0 it only measures: the
 * same code measures and lays out. */
static inline void *rt_lay_out(uintptr_t *at, size_t count, size_t size) {
  uintptr_t start = *at;
  *at += (count * size + 15) & ~(uintptr_t)15;
  return (void *)start;
}

#endif
