/* The folder codegen/c. Kernels and programs as C11.
 *
 *   in      a nest prepared by codegen/emit, or a program
 *   out     the text of one C file
 *   holds   arithmetic is that of the evaluator, with vector extensions of the compiler and without */

/* Private to codegen/c/: the state of one file, that of one kernel's emission, and the functions that the
 * files share. Values and statements are those of codegen/text, whose vectors are whole (TX_WHOLE). */
#ifndef VIEWFOLD_CODEGEN_C_C_H
#define VIEWFOLD_CODEGEN_C_C_H

#include "codegen/program.h"
#include "codegen/text/text.h"

/* One C file: the lines that define the functions its kernels use, each once. */
typedef struct cc_file {
  const ir_mem *mem;
  ir_text helpers;
  uint64_t *known; /* digests of the lines, a table with open addressing; 0: free */
  size_t known_count, known_cap;
  ir_text body; /* kernels, and the functions of a program */
} cc_file;
void cc_file_init(cc_file *file, const ir_mem *mem);
void cc_file_free(cc_file *file);
/* The whole file, in memory of file->mem. `head` is what it begins with, before the prelude. */
ir_status cc_file_text(cc_file *file, const char *head, char **bytes, size_t *size, ir_error *error);

/* The state of a kernel's emission that other languages do not have. */
typedef struct cc_own {
  cc_file *file;
  bool checks;  /* the function may store to its status word */
  bool scratch; /* it uses its scratch memory */
} cc_own;
static inline cc_own *cc_of(const tx_emitter *e) { return e->own; }

/* language.c. What a function is called that is defined by the line MACRO(...) is in the prelude. */
extern const tx_language cc_language;
uint32_t cc_padded(uint32_t lanes); /* the next power of two */
void cc_use_type(tx_emitter *e, unsigned kind, uint32_t width);

/* helper.c */
void cc_define(tx_emitter *e, const char *format, ...) IR_PRINTF(2, 3); /* adds a line, unless it is there */

/* emit.c */
/* Emits a kernel as a function of the file; `terms` receives what a caller has to know. */
ir_status cc_emit_kernel(cc_file *file, const cg_request *request, bool is_static, cg_blob *terms,
                         ir_error *error);

/* memory.c: where elements are, loads, run-time bounds */
typedef struct cc_place {
  ir_dtype dtype;
  unsigned kind; /* in memory */
  uint32_t width;
  bool affine;
  int64_t stride;
  const char *memory;
  tx_value base;      /* affine: index of the first lane; else what all lanes have in common */
  tx_value lane_term; /* unless affine: what each lane adds */
} cc_place;
cc_place cc_place_of(tx_emitter *e, ir_ref param, ir_ref index, uint32_t lanes);
static inline bool cc_is_whole(const cc_place *a) { return a->affine && (a->stride == 1 || a->stride == -1); }
tx_value cc_element_at(tx_emitter *e, const cc_place *a, uint32_t lane); /* as stored: `p1[i]` */
const char *cc_address(tx_emitter *e, const cc_place *a);     /* of the first lane's element: `p1 + i` */
const char *cc_low_address(tx_emitter *e, const cc_place *a); /* the lowest one of a vector access */
/* From the order of lanes to that of addresses, or back. */
tx_value cc_memory_order(tx_emitter *e, const cc_place *a, tx_value v);
/* The `count` elements in memory from that of lane `lane` on, as stored. */
tx_value cc_read_contiguous(tx_emitter *e, const cc_place *a, uint32_t lane, uint32_t count);
tx_value cc_emit_load(tx_emitter *e, ir_ref ref);
tx_value cc_emit_bound(tx_emitter *e, ir_ref ref);

/* store.c: as cg_emits says */
void cc_emit_store(void *emitter, ir_ref ref);
void cc_emit_update(void *emitter, ir_ref ref);

/* tile.c: all unrolled values of a load at once, where these are contiguous and the vector lanes are not
 * (cg_tile_of); false where there is no such tile */
bool cc_emit_tile(tx_emitter *e, ir_ref load, void **unrolled);
/* Interleaves `count` vectors: out holds element 0 of each, then element 1 of each, ... */
void cc_interleave(tx_emitter *e, const tx_value *from, uint32_t count, tx_value *out);

/* loop.c: as cg_emits says; the unrolled values of a RARE */
void cc_emit_running(void *emitter, uint32_t loop);
void cc_emit_lanes(void *emitter, uint32_t loop);
void cc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled);

/* prune.c: appends a function's body to the file, without declarations of variables that nothing reads */
void cc_prune(tx_emitter *e, ir_text *text);

/* prelude.c: what every file begins with */
void cc_put_prelude(ir_text *out);

#endif
