/* Custom operations: functions of the host, which get tables of arrays. */
#include "codegen/llvm/program.h"

/* The layout of cg_call_array, and of the part of cg_host before the functions. */
enum { DIMS = 8, ELEMENTS = 16, RANK = 24, DTYPE = 28, ARRAY = 32, FUNCTIONS = 16 }; /* bytes */

static LLVMValueRef at(const cg_runner *r, LLVMValueRef table, int64_t bytes) {
  return cg_behind(r, table, cg_number(r, bytes));
}

static LLVMValueRef small(const cg_runner *r, uint32_t number) { return LLVMConstInt(r->i32, number, 0); }

/* Writes the sizes of a buffer to dims, and its row to the table of arrays. */
static void put_array(cg_runner *r, const cg_buffer *buffer, LLVMValueRef row, LLVMValueRef dims) {
  const cg_shape *shape = &buffer->shape;
  for (uint32_t i = 0; i < shape->rank; i++)
    LLVMBuildStore(r->b, r->sizes[r->p->axes[shape->axes + i]].value, at(r, dims, 8 * (int64_t)i));
  LLVMBuildStore(r->b, cg_address_of(r, buffer), row);
  LLVMBuildStore(r->b, dims, at(r, row, DIMS));
  LLVMBuildStore(r->b, r->sizes[shape->elements].value, at(r, row, ELEMENTS));
  LLVMBuildStore(r->b, small(r, shape->rank), at(r, row, RANK));
  LLVMBuildStore(r->b, small(r, shape->dtype), at(r, row, DTYPE));
}

void cg_emit_call(cg_runner *r, const cg_step *s) {
  const cg_buffer *buffers = r->p->buffers + s->buffers;
  int64_t dims = 0;
  for (uint32_t i = 0; i < s->buffer_count; i++) {
    put_array(r, &buffers[i], at(r, r->call_arrays, ARRAY * (int64_t)i), at(r, r->call_dims, 8 * dims));
    dims += buffers[i].shape.rank;
  }
  LLVMValueRef function =
      LLVMBuildLoad2(r->b, r->pointer, at(r, r->host, FUNCTIONS + 8 * (int64_t)s->kernel), "");
  LLVMTypeRef types[] = {r->pointer, r->pointer, r->pointer, r->pointer};
  LLVMValueRef args[] = {LLVMBuildLoad2(r->b, r->pointer, r->host, ""), r->call_arrays,
                         at(r, r->call_arrays, ARRAY * (int64_t)s->carries),
                         s->attributes.size ? cg_constant(r, &s->attributes) : LLVMConstNull(r->pointer)};
  LLVMValueRef status = LLVMBuildCall2(r->b, LLVMFunctionType(r->i32, types, 4, 0), function, args, 4, "");
  LLVMBasicBlockRef after = cg_new_block(r);
  if (!r->failed) r->failed = cg_new_block(r);
  LLVMBuildCondBr(r->b, LLVMBuildICmp(r->b, LLVMIntNE, status, LLVMConstNull(r->i32), ""), r->failed, after);
  LLVMPositionBuilderAtEnd(r->b, after);
}
