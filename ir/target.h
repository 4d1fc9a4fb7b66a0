/* A plain description of the machine that code is made for. Every field may influence generated code, so all
 * of it is part of every cache key, through ir_target_text. */
#ifndef VIEWFOLD_IR_TARGET_H
#define VIEWFOLD_IR_TARGET_H

#include "base.h"

typedef struct ir_target {
  char triple[64];     /* "x86_64-unknown-linux-gnu" */
  char features[1024]; /* LLVM feature string from our own CPUID reading: "+avx2,+fma,..." */
  int vector_bytes;    /* widest vector register in use: 16, 32 or 64 */
  int registers;       /* vector registers: 16 or 32 */
  bool has_fma, has_f16c;
  bool has_masks; /* a vector of elements of 4 or 8 bytes loads under a mask in one instruction */
  bool has_dot2;  /* DOT2 of 32 bits takes one or two instructions */
  bool soft_f64, soft_division;         /* computed with integers: f64; quotients and square roots of f32 */
  int64_t l1_bytes, l2_bytes, l3_bytes; /* data caches of one core; rounded down to a power of two */
  int group_items; /* 0: lanes of a vector loop are elements of registers. Else they are a group of at most so
                many work-items, a power of two, which share the kernel's locals and wait for each other */
  int together;    /* so many neighbouring work-items run in step, and hand each other values in registers; 0:
                      none */
  int matrix; /* so many terms of products of f16 or bf16 one instruction of those that run together adds up;
                 0: none does */
  int64_t batch_stream_threshold; /* products of so many bytes are computed in parts, where they can be; 0:
                                     none is */
  int64_t local_bytes; /* of a kernel's locals together, a power of two; 0: as many as stay in the caches */
  int64_t argument_bytes; /* of a kernel's arguments together, a power of two; 0: any number */
} ir_target;

#endif
