/* The steps of a program as instructions: kernels are called, and conditionals and loops are branches. Loops
 * do not copy the values that an iteration computes; they change addresses, which are on the stack. */
#include "codegen/llvm/program.h"

static const cg_buffer *buffer_of(const cg_runner *r, const cg_step *s, uint32_t i) {
  return &r->p->buffers[s->buffers + i];
}

enum { MOST_BYTES = 1 << 30 }; /* LLVM 17 and 18 keep lengths in 32 bits */

static LLVMValueRef constant_bytes(LLVMContextRef context, const char *bytes, size_t size) {
  if (size <= MOST_BYTES) return LLVMConstStringInContext(context, bytes, (unsigned)size, 1);
  LLVMValueRef parts[] = {constant_bytes(context, bytes, MOST_BYTES),
                          constant_bytes(context, bytes + MOST_BYTES, size - MOST_BYTES)};
  return LLVMConstStructInContext(context, parts, 2, 1);
}

/* Equal bytes are one constant of LLVM's, and one array, whichever form of the program reads it. */
LLVMValueRef cg_constant(cg_runner *r, const cg_bytes *a) {
  LLVMValueRef bytes = constant_bytes(r->context, a->bytes, a->size);
  for (LLVMValueRef other = LLVMGetFirstGlobal(r->module); other; other = LLVMGetNextGlobal(other))
    if (LLVMGetInitializer(other) == bytes) return other;
  LLVMValueRef global = LLVMAddGlobal(r->module, LLVMTypeOf(bytes), "data");
  LLVMSetInitializer(global, bytes);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetAlignment(global, CG_ARENA_ALIGN);
  return global;
}

/* An array is made at its first use. */
static LLVMValueRef data_of(cg_runner *r, uint32_t number) {
  if (!r->data[number]) r->data[number] = cg_constant(r, &r->p->data[number]);
  return r->data[number];
}

LLVMValueRef cg_address_of(cg_runner *r, const cg_buffer *buffer) {
  switch (buffer->where) {
  case CG_ARRAY: {
    LLVMValueRef at = cg_behind(r, r->arrays, cg_number(r, 8 * (int64_t)buffer->number));
    return LLVMBuildLoad2(r->b, r->pointer, at, "");
  }
  case CG_ARENA: return cg_behind(r, r->arena, r->sizes[buffer->number].value);
  case CG_WEIGHT: return cg_behind(r, r->weights, r->sizes[buffer->number].value);
  case CG_DATA: return data_of(r, buffer->number);
  case CG_MOVING: break;
  }
  return LLVMBuildLoad2(r->b, r->pointer, r->moving[buffer->number], "");
}

static LLVMValueRef bytes_of(const cg_runner *r, const cg_buffer *buffer) {
  return r->sizes[buffer->bytes].value;
}

static LLVMValueRef compare(const cg_runner *r, LLVMIntPredicate how, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(r->b, how, a, b, "");
}

/* copying, by a function of the object: the C library may not be there */

/* Vectors first, then single bytes: while (i + wide <= n) ...; while (i < n) ... */
static LLVMValueRef copy_loop(cg_runner *r, LLVMTypeRef element, int64_t wide, LLVMValueRef start) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(r->b), head = cg_new_block(r), body = cg_new_block(r),
                    after = cg_new_block(r);
  LLVMValueRef to = LLVMGetParam(r->copy, 0), from = LLVMGetParam(r->copy, 1), n = LLVMGetParam(r->copy, 2);
  LLVMBuildBr(r->b, head);
  LLVMPositionBuilderAtEnd(r->b, head);
  LLVMValueRef i = LLVMBuildPhi(r->b, r->i64, "");
  LLVMValueRef next = LLVMBuildAdd(r->b, i, cg_number(r, wide), "");
  LLVMBuildCondBr(r->b, compare(r, LLVMIntSLE, next, n), body, after);
  LLVMPositionBuilderAtEnd(r->b, body);
  LLVMValueRef v = LLVMBuildLoad2(r->b, element, cg_behind(r, from, i), "");
  LLVMSetAlignment(v, 1);
  LLVMSetAlignment(LLVMBuildStore(r->b, v, cg_behind(r, to, i)), 1);
  LLVMBuildBr(r->b, head);
  LLVMAddIncoming(i, &start, &before, 1);
  LLVMAddIncoming(i, &next, &body, 1);
  LLVMPositionBuilderAtEnd(r->b, after);
  return i;
}

static void make_copy(cg_runner *r) {
  LLVMTypeRef args[] = {r->pointer, r->pointer, r->i64};
  LLVMBasicBlockRef here = LLVMGetInsertBlock(r->b);
  LLVMValueRef caller = r->function;
  r->copy_type = LLVMFunctionType(LLVMVoidTypeInContext(r->context), args, 3, 0);
  r->function = r->copy = LLVMAddFunction(r->module, "copy", r->copy_type);
  LLVMSetLinkage(r->copy, LLVMInternalLinkage);
  cg_target_attributes(r->context, r->copy, r->target);
  LLVMPositionBuilderAtEnd(r->b, cg_new_block(r));
  LLVMTypeRef vector = LLVMVectorType(r->i8, (unsigned)r->target->vector_bytes);
  LLVMValueRef done = copy_loop(r, vector, r->target->vector_bytes, cg_number(r, 0));
  copy_loop(r, r->i8, 1, done);
  LLVMBuildRetVoid(r->b);
  r->function = caller;
  LLVMPositionBuilderAtEnd(r->b, here);
}

/* Copies onto itself too, where both are one buffer. */
static void copy_bytes(cg_runner *r, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes) {
  if (!r->copy) make_copy(r);
  LLVMValueRef args[] = {to, from, bytes};
  LLVMBuildCall2(r->b, r->copy_type, r->copy, args, 3, "");
}

/* kernels */

static void store_at(cg_runner *r, LLVMValueRef value, LLVMValueRef table, uint32_t i) {
  LLVMBuildStore(r->b, value, cg_behind(r, table, cg_number(r, 8 * (int64_t)i)));
}

/* Returns from the function unless the status word is still 0. */
static void check_status(cg_runner *r) {
  LLVMBasicBlockRef after = cg_new_block(r);
  if (!r->out_of_range) r->out_of_range = cg_new_block(r);
  LLVMValueRef word = LLVMBuildLoad2(r->b, r->i64, r->status, "");
  LLVMBuildCondBr(r->b, compare(r, LLVMIntNE, word, cg_number(r, 0)), r->out_of_range, after);
  LLVMPositionBuilderAtEnd(r->b, after);
}

/* Is the loop more than one part for some sizes, and are there threads for them? */
static bool may_share(const cg_runner *r, const cg_step *s) {
  LLVMValueRef grain = r->sizes[s->grain].value, count = r->sizes[s->count].value;
  bool known = LLVMIsAConstantInt(grain) && LLVMIsAConstantInt(count);
  return r->p->shares && (!known || LLVMConstIntGetSExtValue(grain) < LLVMConstIntGetSExtValue(count));
}

static void call_kernel(cg_runner *r, const cg_step *s) {
  const cg_blob *terms = &r->terms[s->kernel];
  for (uint32_t i = 0; i < s->buffer_count; i++)
    store_at(r, cg_address_of(r, buffer_of(r, s, i)), r->buffers, i);
  if (terms->checks) store_at(r, r->status, r->buffers, s->buffer_count);
  for (uint32_t i = 0; i < s->variable_count; i++) {
    uint32_t variable = r->p->step_variables[s->variables + i];
    LLVMValueRef at = cg_behind(r, r->given_sizes, cg_number(r, 8 * (int64_t)variable));
    store_at(r, LLVMBuildLoad2(r->b, r->i64, at, ""), r->variables, i);
  }
  LLVMValueRef none = LLVMConstNull(r->pointer), count = r->sizes[s->count].value;
  LLVMValueRef variables = s->variable_count ? r->variables : none;
  LLVMValueRef scratch = terms->scratch ? cg_behind(r, r->arena, r->sizes[r->p->scratch].value) : none;
  LLVMValueRef args[] = {r->buffers, variables, cg_number(r, 0), count, scratch};
  if (may_share(r, s))
    cg_emit_shared(r, r->kernels[s->kernel], variables, count, r->sizes[s->grain].value, scratch);
  else LLVMBuildCall2(r->b, r->kernel_type, r->kernels[s->kernel], args, 5, "");
  if (terms->checks) check_status(r);
}

/* A kernel of no iterations is not called. */
static void emit_kernel(cg_runner *r, const cg_step *s) {
  LLVMValueRef count = r->sizes[s->count].value;
  if (LLVMIsAConstantInt(count)) {
    if (LLVMConstIntGetSExtValue(count) > 0) call_kernel(r, s);
    return;
  }
  LLVMBasicBlockRef call = cg_new_block(r), after = cg_new_block(r);
  LLVMBuildCondBr(r->b, compare(r, LLVMIntSGT, count, cg_number(r, 0)), call, after);
  LLVMPositionBuilderAtEnd(r->b, call);
  call_kernel(r, s);
  LLVMBuildBr(r->b, after);
  LLVMPositionBuilderAtEnd(r->b, after);
}

/* control flow; the order of slots is that of ir_step_kind */

enum { INIT, THIS, NEXT, RESULT, SPARE, CARRY }; /* the buffers of a carried value, and how many there are */
enum { WHOLE, SLICE, SLICED };                   /* the same of an array that is sliced */

static void emit_range(cg_runner *r, const cg_step *begin, const cg_step *end);

static void emit_first(cg_runner *r, const cg_step *s) { emit_range(r, s + 1, s + 1 + s->inside[0]); }
static void emit_second(cg_runner *r, const cg_step *s) {
  const cg_step *first = s + 1 + s->inside[0];
  emit_range(r, first, first + s->inside[1]);
}

static LLVMValueRef predicate(cg_runner *r, const cg_step *s) {
  LLVMValueRef byte = LLVMBuildLoad2(r->b, r->i8, cg_address_of(r, buffer_of(r, s, 0)), "");
  return compare(r, LLVMIntNE, byte, LLVMConstNull(r->i8));
}

static void emit_cond(cg_runner *r, const cg_step *s) {
  LLVMBasicBlockRef yes = cg_new_block(r), no = cg_new_block(r), after = cg_new_block(r);
  LLVMBuildCondBr(r->b, predicate(r, s), yes, no);
  LLVMPositionBuilderAtEnd(r->b, yes);
  emit_first(r, s);
  LLVMBuildBr(r->b, after);
  LLVMPositionBuilderAtEnd(r->b, no);
  emit_second(r, s);
  LLVMBuildBr(r->b, after);
  LLVMPositionBuilderAtEnd(r->b, after);
}

static LLVMValueRef moving_place(const cg_runner *r, const cg_buffer *buffer) {
  return r->moving[buffer->number];
}

static bool is_same(const cg_buffer *a, const cg_buffer *b) {
  return a->where == b->where && a->number == b->number;
}

/* Of the buffers of a carried value, the one that the next iteration writes: the spare one where `spare`. */
static void aim_next(cg_runner *r, const cg_buffer *carry, LLVMValueRef spare) {
  LLVMValueRef to =
      LLVMBuildSelect(r->b, spare, cg_address_of(r, &carry[SPARE]), cg_address_of(r, &carry[RESULT]), "");
  LLVMBuildStore(r->b, to, moving_place(r, &carry[NEXT]));
}

/* Before the first iteration. A value whose two buffers are one is changed in it. */
static void begin_carries(cg_runner *r, const cg_buffer *carry, uint32_t count, LLVMValueRef spare) {
  for (uint32_t k = 0; k < count; k++, carry += CARRY) {
    LLVMValueRef init = cg_address_of(r, &carry[INIT]), this = init;
    if (is_same(&carry[SPARE], &carry[RESULT]) && !is_same(&carry[INIT], &carry[RESULT]))
      copy_bytes(r, this = cg_address_of(r, &carry[RESULT]), init, bytes_of(r, carry));
    LLVMBuildStore(r->b, this, moving_place(r, &carry[THIS]));
    aim_next(r, carry, spare);
  }
}

/* After an iteration: the next one reads what this one wrote. */
static void rotate_carries(cg_runner *r, const cg_buffer *carry, uint32_t count, LLVMValueRef spare) {
  for (uint32_t k = 0; k < count; k++, carry += CARRY) {
    LLVMBuildStore(r->b, cg_address_of(r, &carry[NEXT]), moving_place(r, &carry[THIS]));
    aim_next(r, carry, spare);
  }
}

/* After the last iteration: copies each final value to its result, unless it is there already. */
static void end_carries(cg_runner *r, const cg_buffer *carry, uint32_t count) {
  for (uint32_t k = 0; k < count; k++, carry += CARRY) {
    LLVMBasicBlockRef differs = cg_new_block(r), after = cg_new_block(r);
    LLVMValueRef to = cg_address_of(r, &carry[RESULT]), from = cg_address_of(r, &carry[THIS]);
    LLVMBuildCondBr(r->b, compare(r, LLVMIntNE, to, from), differs, after);
    LLVMPositionBuilderAtEnd(r->b, differs);
    copy_bytes(r, to, from, bytes_of(r, carry));
    LLVMBuildBr(r->b, after);
    LLVMPositionBuilderAtEnd(r->b, after);
  }
}

/* for (i = 0; count < 0 || i < count; i++) { first; if (!predicate) break; second } */
static void emit_while(cg_runner *r, const cg_step *s) {
  const cg_buffer *carry = buffer_of(r, s, 1);
  LLVMValueRef count = r->sizes[s->count].value, zero = cg_number(r, 0);
  begin_carries(r, carry, s->carries, LLVMConstInt(r->i1, 0, 0));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(r->b), head = cg_new_block(r), ask = cg_new_block(r),
                    body = cg_new_block(r), after = cg_new_block(r);
  LLVMBuildBr(r->b, head);
  LLVMPositionBuilderAtEnd(r->b, head);
  LLVMValueRef i = LLVMBuildPhi(r->b, r->i64, "");
  LLVMAddIncoming(i, &zero, &before, 1);
  LLVMValueRef goes_on =
      LLVMBuildOr(r->b, compare(r, LLVMIntSLT, count, zero), compare(r, LLVMIntSLT, i, count), "");
  LLVMBuildCondBr(r->b, goes_on, ask, after);
  LLVMPositionBuilderAtEnd(r->b, ask);
  emit_first(r, s);
  LLVMBuildCondBr(r->b, predicate(r, s), body, after);
  LLVMPositionBuilderAtEnd(r->b, body);
  emit_second(r, s);
  LLVMValueRef next = LLVMBuildAdd(r->b, i, cg_number(r, 1), "");
  rotate_carries(r, carry, s->carries, LLVMBuildTrunc(r->b, next, r->i1, ""));
  LLVMBasicBlockRef end = LLVMGetInsertBlock(r->b);
  LLVMAddIncoming(i, &next, &end, 1);
  LLVMBuildBr(r->b, head);
  LLVMPositionBuilderAtEnd(r->b, after);
  end_carries(r, carry, s->carries);
}

static void begin_slices(cg_runner *r, const cg_step *s) {
  for (uint32_t at = CARRY * s->carries; at < s->buffer_count; at += SLICED) {
    const cg_buffer *pair = buffer_of(r, s, at);
    LLVMValueRef address = cg_address_of(r, &pair[WHOLE]);
    if (s->reverse)
      address =
          cg_behind(r, address, LLVMBuildSub(r->b, bytes_of(r, &pair[WHOLE]), bytes_of(r, &pair[SLICE]), ""));
    LLVMBuildStore(r->b, address, moving_place(r, &pair[SLICE]));
  }
}

static void advance_slices(cg_runner *r, const cg_step *s) {
  for (uint32_t at = CARRY * s->carries; at < s->buffer_count; at += SLICED) {
    const cg_buffer *slice = buffer_of(r, s, at + SLICE);
    LLVMValueRef bytes = bytes_of(r, slice);
    if (s->reverse) bytes = LLVMBuildNeg(r->b, bytes, "");
    LLVMBuildStore(r->b, cg_behind(r, cg_address_of(r, slice), bytes), moving_place(r, slice));
  }
}

/* for (left = count - 1; left >= 0; left--) first. Iterations write alternately to both buffers, so that the
 * last one writes the result. */
static void emit_scan(cg_runner *r, const cg_step *s) {
  const cg_buffer *carry = buffer_of(r, s, 0);
  LLVMValueRef one = cg_number(r, 1), last = LLVMBuildSub(r->b, r->sizes[s->count].value, one, "");
  begin_carries(r, carry, s->carries, LLVMBuildTrunc(r->b, last, r->i1, ""));
  begin_slices(r, s);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(r->b), head = cg_new_block(r), body = cg_new_block(r),
                    after = cg_new_block(r);
  LLVMBuildBr(r->b, head);
  LLVMPositionBuilderAtEnd(r->b, head);
  LLVMValueRef left = LLVMBuildPhi(r->b, r->i64, "");
  LLVMAddIncoming(left, &last, &before, 1);
  LLVMBuildCondBr(r->b, compare(r, LLVMIntSGE, left, cg_number(r, 0)), body, after);
  LLVMPositionBuilderAtEnd(r->b, body);
  emit_first(r, s);
  LLVMValueRef next = LLVMBuildSub(r->b, left, one, "");
  rotate_carries(r, carry, s->carries, LLVMBuildTrunc(r->b, next, r->i1, ""));
  advance_slices(r, s);
  LLVMBasicBlockRef end = LLVMGetInsertBlock(r->b);
  LLVMAddIncoming(left, &next, &end, 1);
  LLVMBuildBr(r->b, head);
  LLVMPositionBuilderAtEnd(r->b, after);
  end_carries(r, carry, s->carries);
}

static void emit_copy(cg_runner *r, const cg_buffer *to, const cg_buffer *from) {
  copy_bytes(r, cg_address_of(r, to), cg_address_of(r, from), bytes_of(r, to));
}

static void emit_step(cg_runner *r, const cg_step *s) {
  switch (s->kind) {
  case IR_STEP_KERNEL: emit_kernel(r, s); return;
  case IR_STEP_COPY: emit_copy(r, buffer_of(r, s, 0), buffer_of(r, s, 1)); return;
  case IR_STEP_COND: emit_cond(r, s); return;
  case IR_STEP_WHILE: emit_while(r, s); return;
  case IR_STEP_SCAN: emit_scan(r, s); return;
  case IR_STEP_CALL: cg_emit_call(r, s); return;
  case IR_STEP_SORT:
  case IR_STEP_ARGSORT:
  case IR_STEP_EXCHANGE:
  case IR_STEP_WAIT:
  case IR_STEP_KINDS: break;
  }
  ir_fail(r->error, IR_ERR_INTERNAL, "build: no code is made for a step of kind %s", ir_step_names[s->kind]);
}

static void emit_range(cg_runner *r, const cg_step *s, const cg_step *end) {
  for (; s < end; s += 1 + s->inside[0] + s->inside[1]) emit_step(r, s);
}

void cg_emit_steps(cg_runner *r) {
  const cg_program *p = r->p;
  emit_range(r, p->steps, p->steps + p->step_count);
  for (size_t i = 0; i < p->copy_count; i++) emit_copy(r, &p->copies[2 * i], &p->copies[2 * i + 1]);
}
