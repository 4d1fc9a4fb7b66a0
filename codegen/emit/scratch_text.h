/* Text of expressions, which emitters that print text keep until a kernel is done. */
#ifndef VIEWFOLD_CODEGEN_EMIT_SCRATCH_TEXT_H
#define VIEWFOLD_CODEGEN_EMIT_SCRATCH_TEXT_H

#include <stdarg.h>

#include "codegen/emit/emission_order.h"

struct cg_text_chunk;

/* Characters of an expression that stays where it is used. Longer ones get a variable, so that those made of
 * them do not double; the compiler sees the same either way. */
enum { CG_INLINE_CHARACTERS = 40 /* about half a line of what is read; no code depends on it */ };

/* Memory for text; {0} is empty. */
typedef struct cg_scratch_text {
  struct cg_text_chunk *chunks;
} cg_scratch_text;

/* The formatted text, which lives until cg_scratch_free. Without memory "0", and the order has failed. */
IR_PRINTF(3, 0)
const char *cg_scratch_format(cg_scratch_text *scratch, cg_order *order, const char *format, va_list args);
void cg_scratch_free(cg_scratch_text *scratch, const ir_mem *mem);

#endif
