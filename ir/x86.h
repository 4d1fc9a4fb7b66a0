/* How an x86-64 processor is asked for its features: leaves of CPUID, and the registers that XGETBV says are
 * saved. Whoever asks, this process of its own processor or a compiled object of the one it runs on, goes by
 * these tables. */
#ifndef VIEWFOLD_IR_X86_H
#define VIEWFOLD_IR_X86_H

#include <stddef.h>
#include <stdint.h>

typedef enum ir_x86_leaf_name {
#define LEAF(name, leaf, sub, counter, least) IR_X86_LEAF_##name,
#include "ir/x86_features.def"
#undef LEAF
  IR_X86_LEAVES
} ir_x86_leaf_name;

typedef enum ir_x86_register {
  IR_X86_EAX,
  IR_X86_EBX,
  IR_X86_ECX,
  IR_X86_EDX,
  IR_X86_REGISTERS
} ir_x86_register;

/* Bits of XCR0, by the Intel SDM volume 1, section 13.1; and where CPUID says that XGETBV may be asked for
 * them. */
enum {
  IR_X86_PLAIN = 0,        /* needs no registers but the general ones and XMM */
  IR_X86_NEEDS_YMM = 0x6,  /* bits 1 and 2: XMM and YMM are saved */
  IR_X86_NEEDS_ZMM = 0xe6, /* and bits 5 to 7, the three parts of the AVX-512 state */
  IR_X86_OSXSAVE_BIT = 27  /* of ECX of leaf 1: the system uses XSAVE */
};

/* Where the counter is the leaf itself it is always there. */
typedef struct ir_x86_leaf {
  uint32_t leaf, sub;
  ir_x86_leaf_name counter;
  uint32_t least;
} ir_x86_leaf;

typedef struct ir_x86_feature {
  const char *name;
  ir_x86_leaf_name leaf;
  ir_x86_register reg;
  uint8_t bit;
  uint32_t state;
} ir_x86_feature;

extern const ir_x86_leaf ir_x86_leaves[IR_X86_LEAVES];
extern const ir_x86_feature ir_x86_features[];
extern const size_t ir_x86_feature_count;

/* The feature of that name; NULL: there is none. */
const ir_x86_feature *ir_x86_find(const char *name, size_t length);

#endif
