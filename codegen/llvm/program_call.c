/* Custom operations: functions of the host, which get tables of arrays. The structs are laid out on every
 * target as they are here: pointers of 64 bits. */
#include "codegen/llvm/program.h"

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
  LLVMBuildStore(r->b, dims, at(r, row, offsetof(cg_call_array, dims)));
  LLVMBuildStore(r->b, r->sizes[shape->elements].value, at(r, row, offsetof(cg_call_array, elements)));
  LLVMBuildStore(r->b, small(r, shape->rank), at(r, row, offsetof(cg_call_array, rank)));
  LLVMBuildStore(r->b, small(r, shape->dtype), at(r, row, offsetof(cg_call_array, dtype)));
}

void cg_emit_call(cg_runner *r, const cg_step *s) {
  const cg_buffer *buffers = r->p->buffers + s->buffers;
  int64_t dims = 0;
  for (uint32_t i = 0; i < s->buffer_count; i++) {
    put_array(r, &buffers[i], at(r, r->call_arrays, (int64_t)sizeof(cg_call_array) * i),
              at(r, r->call_dims, 8 * dims));
    dims += buffers[i].shape.rank;
  }
  LLVMValueRef function = LLVMBuildLoad2(
      r->b, r->pointer, at(r, r->host, (int64_t)offsetof(cg_host, calls) + 8 * (int64_t)s->kernel), "");
  LLVMTypeRef types[] = {r->pointer, r->pointer, r->pointer, r->pointer};
  LLVMValueRef args[] = {LLVMBuildLoad2(r->b, r->pointer, r->host, ""), r->call_arrays,
                         at(r, r->call_arrays, (int64_t)sizeof(cg_call_array) * s->carries),
                         s->attributes.size ? cg_constant(r, &s->attributes) : LLVMConstNull(r->pointer)};
  LLVMValueRef status = LLVMBuildCall2(r->b, LLVMFunctionType(r->i32, types, 4, 0), function, args, 4, "");
  LLVMBasicBlockRef after = cg_new_block(r);
  if (!r->failed) r->failed = cg_new_block(r);
  LLVMBuildCondBr(r->b, LLVMBuildICmp(r->b, LLVMIntNE, status, LLVMConstNull(r->i32), ""), r->failed, after);
  LLVMPositionBuilderAtEnd(r->b, after);
}
