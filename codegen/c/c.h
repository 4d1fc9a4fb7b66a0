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

/* memory.c: forms of the language */
tx_value cc_read_whole(tx_emitter *e, const tx_place *a);
tx_value cc_load_scalar(tx_emitter *e, const tx_place *a, tx_value valid, tx_value other);
tx_value cc_load_vector(tx_emitter *e, const tx_place *a, const tx_value *valid, tx_value other);
void cc_write_whole(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored);
void cc_write_masked(tx_emitter *e, const tx_place *a, tx_value valid, tx_value stored);
void cc_write_elements(tx_emitter *e, const tx_place *a, tx_value stored);

/* loop.c: as cg_emits says; the unrolled values of a RARE */
void cc_emit_running(void *emitter, uint32_t loop);
void cc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled);

/* prune.c: appends a function's body to the file, without declarations of variables that nothing reads */
void cc_prune(tx_emitter *e, ir_text *text);

/* prelude.c: what every file begins with */
void cc_put_prelude(ir_text *out);

#endif
