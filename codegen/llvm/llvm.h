/* The folder codegen/llvm. Kernels by LLVM.
 *
 *   in      a nest prepared by codegen/emit
 *   out     an LLVM module, and its object file
 *   holds   arithmetic is that of the evaluator: no contraction, no trap */

/* Private to codegen/llvm/: the state of one kernel's emission, and the functions that the files share.
 *
 * How a dtype lives in registers: bool as i1; integers as themselves; f32 and f64 as themselves; f16 and bf16
 * as f32 values already rounded to the narrow format; index as i64, except that elements of vectors, and
 * quotients and remainders, are i32 where bounds prove that enough. How it lives in memory: bool as a byte,
 * f16 and bf16 as 16 bits.
 *
 * Each of a node's unrolled values (codegen/emit/emission_order.h) is an LLVM value, a vector if the node has
 * vector lanes. Functions that make values return NULL only where they say so: after a failure (recorded in
 * `error`) they return poison, and emission is abandoned at the next step. */
#ifndef VIEWFOLD_CODEGEN_LLVM_LLVM_H
#define VIEWFOLD_CODEGEN_LLVM_LLVM_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "codegen/codegen.h"
#include "codegen/emit/emission_order.h"
#include "codegen/emit/transpose.h"
#include "codegen/program.h"

/* An address that others are at constant distances from (cg_address), and the block that computes it. */
typedef struct cg_anchor {
  LLVMValueRef memory, base, address;
  LLVMBasicBlockRef block;
} cg_anchor;
enum { CG_ANCHORS = 8 }; /* anchors that are remembered: of so many streams at a time */

/* A value of f16 as f32, and the bits that it was unpacked from by integer operations (convert.c). */
typedef struct cg_unpacked {
  LLVMValueRef value, stored;
} cg_unpacked;
enum { CG_UNPACKED = 64 }; /* because so many vectors are unrolled at most where columns are copied */

/* A loop whose stores are aligned when it runs (align.c). */
enum { CG_MOST_ALIGNED = 9 /* accesses of a loop: a store and those that it is computed of; see align.c */ };
typedef struct cg_aligned {
  ir_ref param[CG_MOST_ALIGNED], index[CG_MOST_ALIGNED]; /* accesses of the open loop */
  LLVMValueRef memory[CG_MOST_ALIGNED];                  /* where they find their elements */
  uint32_t count;
  bool masked;        /* the first and the last iteration store parts of vectors */
  LLVMValueRef ahead; /* elements in front of the first aligned address */
  LLVMValueRef end;   /* the iteration, while the first and the last are emitted; else NULL */
} cg_aligned;

/* Constants that masked loads of a kernel have in place of elements: zero, the least, in several dtypes.
 * Loads with further ones branch. */
enum { CG_FILLS = 4 }; /* zero and one extremum of two dtypes; more only cost branches */

enum { CG_FETCHED = 4 };       /* because a tile stores once, and an epilogue reads one or two residuals */
enum { CG_FETCHED_LOOPS = 4 }; /* because a tile has two loops of unrolled values, rows and columns */

typedef struct cg_emitter {
  cg_order order;
  cg_nest *nest; /* the order's */
  ir_graph *g;   /* the nest's */
  const ir_target *target;
  ir_error *error;
  bool rounds, gathers; /* the target rounds floats to integers; gathers 4- and 8-byte elements fast */
  bool halves_64;       /* see cg_target_halves_64 */
  bool holds_masks;     /* see cg_target_holds_masks */
  bool picks_bytes;     /* see cg_resize */
  bool streams;         /* some store may bypass the caches */
  bool names_loops;     /* of CG_LISTING */
  uint32_t interleaved; /* floating-point operations so far, each on several unrolled vectors */

  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMValueRef function, buffers, begin, end, scratch;
  LLVMValueRef status;      /* address of the launch's status word */
  LLVMBasicBlockRef failed; /* stores 1 there and ends the kernel; NULL until something needs it */
  /* constants, and addresses of copies of them (memory.c); NULL until they are needed */
  struct {
    LLVMValueRef element, address;
  } fills[CG_FILLS];
  LLVMTypeRef i1, i64, f32, f64, pointer;
  unsigned invariant, weights, nontemporal; /* metadata kinds */
  cg_anchor anchors[CG_ANCHORS];            /* the last ones, in turn */
  uint32_t next_anchor;
  cg_unpacked unpacked[CG_UNPACKED]; /* the last ones, in turn */
  uint32_t next_unpacked;
  cg_aligned aligned;
  struct {
    ir_ref access;      /* load or store */
    LLVMValueRef first; /* the lowest address to fetch */
  } fetched[CG_FETCHED];
  uint32_t fetched_count; /* of the loop of sums that is emitted */
} cg_emitter;

/* llvm.c: modules. cg_open_module returns NULL after failing; the machine is made where there is none. */
LLVMModuleRef cg_open_module(const cg_request *request, cg_machine *machine, ir_error *error);
/* Emits the request's kernel, of which this is the nest, as a function of the module; `terms` receives what a
 * caller has to know. */
ir_status cg_emit_function(LLVMModuleRef module, const cg_request *request, cg_nest *nest, cg_blob *terms,
                           ir_error *error);
/* The module as the request wants it, in memory of out->mem. */
ir_status cg_finish_module(LLVMModuleRef module, const cg_request *request, const cg_machine *machine,
                           cg_blob *out, ir_error *error);
void cg_close_module(LLVMModuleRef module);

/* program.c: cg_entry's build. */
ir_status cg_build_program(const cg_program_request *request, const ir_mem *mem, cg_machine *machine,
                           cg_blob *out, ir_error *error);

/* target.c: the only place that knows processors by name */
ir_status cg_target_machine(const ir_target *target, int level, LLVMTargetMachineRef *out, ir_error *error);
void cg_target_attributes(LLVMContextRef context, LLVMValueRef function, const ir_target *target);
bool cg_target_is_x86(const ir_target *target); /* x86-64 */
/* The function's stack is aligned to vectors. */
void cg_target_align_stack(LLVMContextRef context, LLVMValueRef function, const ir_target *target);
bool cg_target_rounds(const ir_target *target); /* floor, ceil, trunc and round in one instruction */
/* f32 to bf16 in one instruction, with our bits, of integers if `whole` */
bool cg_target_rounds_bf16(const ir_target *target, bool whole);
bool cg_target_holds_masks(const ir_target *target);    /* registers of a bit for each lane of a vector */
bool cg_target_looks_up_bytes(const ir_target *target); /* 64 bytes of 128 at once: see byte_table.c */
bool cg_target_masks_loads(const ir_target *target); /* masked loads and gathers of 4- and 8-byte elements */
/* Are vectors of 64-bit integers and of floats converted by halves? No instruction converts them, and four
 * elements by halves take fewer instructions than one by one; two do not. */
bool cg_target_halves_64(const ir_target *target);
/* Are vectors of 64-bit integers rounded to f64 on the way to f32? LLVM 19 does so for AArch64, whose vectors
 * have no instruction for it. */
bool cg_target_rounds_64_twice(const ir_target *target);
/* May an element that is loaded for one lane of a vector crash LLVM? Selection for AArch64 before LLVM 20
 * makes one instruction of the lane and of a load that has changed its address register already. */
bool cg_target_separates_lanes(const ir_target *target);
bool cg_target_picks_bytes(
    const ir_target *target); /* four lanes are not truncated to bytes: see cg_resize */
const char *cg_target_dot4(const ir_target *target,
                           uint32_t width); /* the same of DOT4, added to its first operand */
const char *cg_target_fma2(const ir_target *target, uint32_t width); /* the same of FMA2 */
const char *cg_target_dot2(const ir_target *target,
                           uint32_t width); /* intrinsic for a vector of `width` 32-bit DOT2; or NULL */
/* The intrinsic that multiplies `width` floats of `bytes` bytes by powers of two; or NULL. */
const char *cg_target_scale(const ir_target *target, unsigned bytes, uint32_t width);
const char *cg_target_store_fence(const ir_target *target); /* orders nontemporal stores; or NULL */
/* Are vectors of elements of so many bytes stored under a mask in one instruction? */
bool cg_target_masks_stores(const ir_target *target, unsigned bytes);

/* loop.c: as cg_emits says */
void cg_emit_running(void *emitter, uint32_t loop);

/* fetched.c. Before a loop is entered: does it compute sums during which something is fetched? If so, at the
 * beginning of its body cg_emit_fetched prefetches some of that; e->fetched_count = 0 behind the loop. */
bool cg_open_fetched(cg_emitter *e, const cg_loop *loop);
void cg_emit_fetched(cg_emitter *e, const cg_loop *loop, LLVMValueRef counter);
void cg_emit_lanes(void *emitter, uint32_t loop);
LLVMValueRef cg_emit_prefix(cg_emitter *e, ir_ref ref);

/* emit.c */
/* The kernel's body, in e->function. Failures are in e->order. */
void cg_emit_kernel(cg_emitter *e);
/* The callback `unrolled` of cg_emits: the LLVMValueRef of each unrolled value of a node. */
void cg_emit_unrolled(void *emitter, ir_ref ref, void *unrolled);
bool cg_is_by_lane(void *emitter, ir_ref ref, size_t unrolled, ir_ref store);
void cg_end_lane(void *emitter);
void cg_after_lanes(void *emitter, ir_ref ref);
void cg_emit_lane(void *emitter, ir_ref ref);
uint32_t cg_registers(void *emitter);
void cg_emit_prefetches(void *emitter, ir_ref load);              /* as cg_emits says of `ahead` */
LLVMValueRef cg_value(cg_emitter *e, ir_ref ref);                 /* at the current lanes, in its own width */
LLVMValueRef cg_fetch(cg_emitter *e, ir_ref ref, uint32_t width); /* splatted to width; an index as 64 bits */
/* As cg_fetch, for an index, in so many bits. */
LLVMValueRef cg_fetch_index(cg_emitter *e, ir_ref ref, uint32_t width, unsigned bits);

/* value.c: nodes */
LLVMValueRef cg_emit_value(cg_emitter *e, ir_ref ref); /* of one node at the current lanes */
unsigned cg_index_bits(cg_emitter *e, ir_ref ref);     /* of an element of the index: 32 or 64 */

/* arith.c: elementwise operations */
LLVMValueRef cg_unary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a);
LLVMValueRef cg_combine(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a,
                        LLVMValueRef b);
LLVMValueRef cg_compare(cg_emitter *e, ir_op op, ir_dtype dtype, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_fma2(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef cg_fma(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b,
                    LLVMValueRef c);
/* fma.c: of f32 or f64, whatever the target has */
LLVMValueRef cg_unrounded_fma(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef cg_is_negative(cg_emitter *e, LLVMValueRef a); /* of integers */
LLVMValueRef cg_quotient(cg_emitter *e, bool is_signed, uint32_t width, LLVMValueRef a,
                         LLVMValueRef b); /* truncated a/b; needs b != 0, and not the least integer by -1 */
LLVMValueRef cg_unknown_op(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width); /* fails */

/* scale.c: a product with a power of two, by one instruction; NULL if it is none or the target has no such
 * instruction */
LLVMValueRef cg_emit_scaled(cg_emitter *e, ir_ref ref);
/* visits the operands that cg_emit_scaled uses; false where that returns NULL */
bool cg_visit_scaled(void *emitter, ir_ref ref, void (*visit)(void *user, ir_ref operand), void *user);

/* convert.c: casts, narrow floats, storage forms */
LLVMValueRef cg_cast(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, LLVMValueRef a);
LLVMValueRef cg_bitcast(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, LLVMValueRef a);
LLVMValueRef cg_round_narrow(cg_emitter *e, ir_dtype dtype, uint32_t width,
                             LLVMValueRef a); /* to f16 or bf16, still as f32; other dtypes unchanged */
LLVMTypeRef cg_storage_type(cg_emitter *e, ir_dtype dtype, uint32_t width);
LLVMValueRef cg_to_storage(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a);
LLVMValueRef cg_from_storage(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef stored);

/* memory.c: loads, updates */
/* Where the elements of an access are, at the current lanes. */
typedef struct cg_place {
  ir_dtype dtype;
  uint32_t width; /* elements accessed */
  LLVMValueRef memory;
  LLVMTypeRef element;
  unsigned bytes, align; /* of an element; what its address is a multiple of */
  bool affine, invariant;
  int64_t stride;
  LLVMValueRef base;  /* affine: i64 */
  LLVMValueRef index; /* otherwise: a vector of i32 or i64 */
  bool positive;      /* none of index is negative: 64 bits of a lane take no instruction of their own */
  LLVMValueRef step;  /* i64, where these are its multiples by the number of the lane; else NULL */
} cg_place;
cg_place cg_place_of(cg_emitter *e, ir_ref param, ir_ref index, uint32_t width);
LLVMValueRef cg_address(cg_emitter *e, const cg_place *place, LLVMValueRef index);
LLVMValueRef cg_lane_address(cg_emitter *e, const cg_place *place, uint32_t lane);
LLVMValueRef cg_low_address(cg_emitter *e, const cg_place *place); /* the lowest address of a vector access */
/* From the order of lanes to that of addresses, or back: reverses v if the stride is negative. */
LLVMValueRef cg_memory_order(cg_emitter *e, const cg_place *place, LLVMValueRef v);
LLVMValueRef cg_read(cg_emitter *e, const cg_place *place, LLVMTypeRef type, LLVMValueRef from);
/* The address of so many elements of zero bytes; NULL: they are more than the widest vector has, or there are
 * CG_FILLS other constants. */
LLVMValueRef cg_zeros(cg_emitter *e, ir_dtype dtype, uint32_t count);
/* byte_table.c: does the load read elements of a table that registers hold? Then cg_read_byte_table reads
 * them, whether they are valid or not. */
bool cg_is_byte_table(const cg_emitter *e, ir_ref load, const cg_place *a);
LLVMValueRef cg_read_byte_table(cg_emitter *e, const cg_place *a);
LLVMValueRef cg_emit_load(cg_emitter *e, ir_ref ref);
void cg_emit_ahead(cg_emitter *e, ir_ref load);
void cg_emit_update(void *emitter, ir_ref ref);

/* bound.c */
/* A position along an axis; one that is out of range, where that is checked, ends the kernel. */
LLVMValueRef cg_emit_bound(cg_emitter *e, ir_ref ref);
/* The condition of an access, without what the checks of its index have made sure of. */
LLVMValueRef cg_unchecked_condition(cg_emitter *e, ir_ref index, ir_ref valid);
void cg_finish_failed(cg_emitter *e); /* at the kernel's end: what ends it early */

/* store.c */
/* Stores elements as they are in memory, one or a contiguous vector, at the address `to` of the first. */
void cg_write(cg_emitter *e, const cg_place *place, LLVMValueRef stored, LLVMValueRef to);
void cg_emit_store(void *emitter, ir_ref ref); /* all its unrolled values */
void cg_emit_store_lane(void *emitter, ir_ref ref);
/* Is each unrolled value stored for itself, to memory that no input shares? */
bool cg_stores_by_lane(const cg_emitter *e, ir_ref store);
void cg_finish_stores(cg_emitter *e); /* at the kernel's end */

/* align.c: loops of contiguous stores */
/* Behind the guard of a loop that runs: aligns its stores, if it is worth it; sets the end of the iterations
 * that are left. */
void cg_open_aligned(cg_emitter *e, uint32_t loop, LLVMValueRef *end);
/* The memory of an access of the open loop; of another access the parameter's. */
LLVMValueRef cg_aligned_memory(cg_emitter *e, ir_ref param, ir_ref index);
/* Stores of the first or the last iteration what the others do not. */
void cg_write_end(cg_emitter *e, const cg_place *place, LLVMValueRef stored, LLVMValueRef to);

/* tile.c: all unrolled values of a load at once, where these are contiguous and the vector lanes are not
 * (cg_tile_of); false where there is no such tile */
bool cg_emit_tile(cg_emitter *e, ir_ref load, LLVMValueRef *unrolled);

/* transpose.c: shuffles */
cg_shuffles cg_llvm_shuffles(cg_emitter *e);
/* Interleaves `count` vectors: out holds element 0 of each, then element 1 of each, ..., in as many
 * vectors. */
void cg_interleave(cg_emitter *e, const LLVMValueRef *from, uint32_t count, uint32_t width,
                   LLVMValueRef *out);

/* build.c: LLVM's types, constants and instructions, for any number of vector elements */
LLVMValueRef cg_fail(cg_emitter *e, ir_status status, LLVMTypeRef type, const char *format, ...)
    IR_PRINTF(4, 5);
LLVMTypeRef cg_vector(LLVMTypeRef element, uint32_t width); /* the element itself when width is 1 */
LLVMTypeRef cg_int(cg_emitter *e, unsigned bits, uint32_t width);
LLVMTypeRef cg_type(cg_emitter *e, ir_dtype dtype, uint32_t width); /* in registers; index as 64 bits */
LLVMValueRef cg_splat(cg_emitter *e, LLVMValueRef scalar, uint32_t width);
LLVMValueRef cg_int_const(cg_emitter *e, unsigned bits, uint32_t width, int64_t value);
LLVMValueRef cg_real_const(LLVMTypeRef type, uint32_t width, double value);
LLVMValueRef cg_lanes_const(cg_emitter *e, unsigned bits, uint32_t width,
                            int64_t stride); /* 0, stride, 2 stride ... */
LLVMValueRef cg_intrinsic(cg_emitter *e, const char *name, LLVMTypeRef *types, unsigned ntypes,
                          LLVMValueRef *args, unsigned nargs);
LLVMValueRef cg_call(cg_emitter *e, const char *name, unsigned nargs, LLVMValueRef a, LLVMValueRef b,
                     LLVMValueRef c);
LLVMValueRef cg_select(cg_emitter *e, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_shuffle(cg_emitter *e, LLVMValueRef a, int first, int step, uint32_t width);
LLVMValueRef cg_shuffle_down(cg_emitter *e, LLVMValueRef a, uint32_t count, uint32_t width);
LLVMValueRef cg_run_ends(cg_emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t size, uint32_t width,
                         bool backwards);
LLVMValueRef cg_any(cg_emitter *e, LLVMValueRef mask, uint32_t width); /* i1: some element is true */
LLVMValueRef cg_resize(cg_emitter *e, LLVMValueRef a, unsigned bits, uint32_t width, bool is_signed);
unsigned cg_bits_of(LLVMValueRef a);       /* of one element of an integer or float value */
bool cg_is_true(LLVMValueRef condition);   /* a constant, all true */
LLVMBasicBlockRef cg_block(cg_emitter *e); /* a new block at the function's end */
LLVMValueRef cg_phi(cg_emitter *e, LLVMTypeRef type, LLVMValueRef a, LLVMBasicBlockRef from_a);
void cg_phi_add(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from);
void cg_branch_unlikely(cg_emitter *e, LLVMValueRef condition, LLVMBasicBlockRef rare,
                        LLVMBasicBlockRef usual);

/* Bits of an element as it is stored, but 1 for bool; 0 for index, which is never stored. */
static inline unsigned cg_dtype_bits(ir_dtype dtype) {
  return dtype == IR_BOOL ? 1 : 8u * ir_dtypes[dtype].bytes;
}
/* Is it a float of 16 bits, which is stored as an integer and computed as f32? */
static inline bool cg_is_narrow(ir_dtype dtype) { return dtype == IR_F16 || dtype == IR_BF16; }
/* Is it a signed integer or index? False for bool and floats. */
static inline bool cg_is_signed(ir_dtype dtype) {
  return ir_dtypes[dtype].kind == IR_KIND_SIGNED || ir_dtypes[dtype].kind == IR_KIND_INDEX;
}

#endif
