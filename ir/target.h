/* Description of the machine that code is generated for. Every field may influence generated code, so all of
 * them are part of every cache key, through ir_target_text. */
#ifndef VIEWFOLD_IR_TARGET_H
#define VIEWFOLD_IR_TARGET_H

#include "base.h"

/* What is alike on all targets, or where a target's fields leave it open. */
enum {
  IR_CACHE_LINE_BYTES = 64, /* of every x86-64 processor */
  IR_PAGE_BYTES = 4 << 10, /* of the usual pages, at whose ends hardware prefetchers stop whatever the size */
  /* work-items that a device schedules together at least, whatever `together` says of exchanges between them:
   * a warp of NVIDIA's, half a wavefront of AMD's; narrower groups leave execution units idle */
  IR_LOCKSTEP_ITEMS = 32,
  /* groups that occupy a device: four for each of 128 compute units, which is about what large devices have
   * (132 on an H100, 128 on an RTX 4090). No number of the device at hand, since it has a part in how terms
   * are divided among work-items, and the order of additions must not depend on how many units there are */
  IR_BUSY_GROUPS = 512,
  /* bytes of a group's exchange between its work-items, out of local_bytes: two areas, used alternately, of a
   * value of 8 bytes for each work-item, and a flag (codegen/opencl/group.c) */
  IR_EXCHANGE_AREAS = 2,
  IR_EXCHANGE_BYTES = 8,
  /* the matrix instruction, where `matrix` is not 0: mma.sync.aligned.m16n8k16 of PTX adds up 16 terms of 16
   * rows and 8 columns, by 32 work-items in eight rows of four */
  IR_MATRIX_TERMS = 16,
  IR_MATRIX_ITEMS = 32,
  IR_MATRIX_COLUMN_ITEMS = 4,
  /* vectors whose elements are stored alternately, as the channels of pixels: so many are interleaved by
   * shuffles; elements of more are stored one by one */
  IR_MAX_INTERLEAVED = 4,
  /* elements between neighbours up to which whole vectors are read and elements picked from them; those
   * further apart are loaded one by one (codegen/llvm/memory.c) */
  IR_MAX_PICKED_STEP = 4,
  /* registers beside the sums of a tile and the vectors of columns of several terms, for elements of the rows
   * that several terms share: with fewer LLVM 14 spills sums of tiles of 11 rows by 2 vectors and 3 terms,
   * which take half as long again */
  IR_SHARED_REGISTERS = 8
};

typedef struct ir_target {
  char triple[64];     /* "x86_64-unknown-linux-gnu" */
  char features[1024]; /* LLVM feature string from our own CPUID reading: "+avx2,+fma,..." */
  int vector_bytes;    /* widest vector register in use: 16, 32 or 64 */
  int registers;       /* vector registers: 16 or 32 */
  bool has_fma, has_f16c;
  bool has_masks;               /* vectors of elements of 4 or 8 bytes have a masked load instruction */
  bool has_dot2;                /* DOT2 on 32 bits takes one or two instructions */
  bool has_fma2;                /* FMA2 takes one instruction */
  bool has_dot4;                /* DOT4 on 32 bits and adding it to a sum take one */
  bool soft_f64, soft_division; /* computed with integers: f64; quotients and square roots of f32 */
  int64_t l1_bytes, l2_bytes;   /* data caches per core, rounded down to a power of two */
  int64_t l3_bytes; /* what arrays of one program can have of the last cache, a power of two: measured, or
                       else what the processor says, up to a limit (runtime/cpu/target.c) */
  bool reads_past;  /* measured: non-temporal prefetches speed up reading what exceeds the last cache */
  bool reads_ahead; /* measured: ordinary prefetches do, where two rows of it are summed at a time */
  bool gathers; /* measured: vectors of elements of 4 or 8 bytes at any places are read faster by one gather
                   instruction than element by element; where masked ones exist */
  int group_items; /* 0: iterations of a vector loop are vector lanes. Otherwise they are work-items: the
                      maximum work-group size, a power of two; a group shares the kernel's locals and has
                      barriers */
  int together;    /* sub-group size: neighbouring work-items that run in lockstep and exchange values in
                      registers; 0: none */
  int matrix;  /* product terms of f16 or bf16 that one matrix instruction of a sub-group adds up; 0: no such
                  instruction */
  bool hoists; /* kernels that depend on constants alone run once, when a program is bound to them */
  bool sorts;  /* sorts are steps of a plan that the runtime does itself (runtime/sort), no kernels */
  int64_t batch_stream_threshold; /* products of at least this many bytes are computed one batch element at a
                                     time, where they can be; 0: none */
  int64_t local_bytes; /* limit for all locals of a kernel, a power of two; 0: what stays in the caches */
  bool quick; /* code is made as quickly as possible, not for speed; its results have the same bits */
  int64_t argument_bytes; /* limit for all arguments of a kernel, a power of two; 0: none */
} ir_target;

#endif
