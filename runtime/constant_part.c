/* A box of a constant as a constant of its own: where its bytes follow one another in a mapped file they stay
 * there, else it is a copy, as it is where the box is smaller than others that the same program is bound to.
 */
#include <string.h>

#include "runtime/context.h"
#include "runtime/mesh/box.h"
#include "runtime/system/bus_error.h"

/* Of a part whose bytes are not read: all that they follow from. */
static bool digest_of(const rt_constant *c, const ir_box *whole, const ir_box *part, size_t bytes,
                      rt_digest *out, const ir_mem *mem) {
  ir_text text;
  ir_text_init(&text, mem);
  ir_textf(&text, "part of %s %zu", c->name, bytes);
  for (uint32_t k = 0; k < part->rank; k++)
    ir_textf(&text, " %lld %lld %lld", (long long)whole->hi[k], (long long)part->lo[k],
             (long long)part->hi[k]);
  *out = rt_digest_of(text.data, text.len);
  bool good = !text.failed;
  ir_text_free(&text);
  return good;
}

static ir_status copy_part(rt_context *context, const rt_constant *c, const ir_box *whole, const ir_box *part,
                           const ir_box *room, size_t bytes, rt_constant **out, ir_error *error) {
  size_t size = rt_box_is_empty(room) ? 0 : (size_t)ir_box_elements(room) * bytes;
  sigset_t before;
  void *memory = rt_constant_memory(context, size);
  if (!memory) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a constant of %zu bytes", size);
  if (size && (rt_box_is_empty(part) || ir_box_elements(part) < ir_box_elements(room)))
    memset(memory, 0, size);
  rt_guard_enter(&before);
  rt_box_copy(part, bytes, whole, c->bytes, room, memory);
  rt_guard_leave(&before);
  ir_status status = c->file ? rt_mapped_check(c->file, error) : IR_OK;
  if (!status) status = rt_constant_add(context, memory, size, NULL, NULL, out, error);
  if (status) rt_constant_memory_free(context, memory, size);
  return status;
}

ir_status rt_constant_part(rt_context *context, rt_constant *c, const ir_box *whole, const ir_box *part,
                           const ir_box *room, size_t bytes, rt_constant **out, ir_error *error) {
  bool fills = !rt_box_is_empty(part) && ir_box_elements(part) == ir_box_elements(room);
  int64_t offset = fills ? rt_box_offset(whole, part) : -1;
  rt_digest digest;
  *out = NULL;
  if (offset < 0 || !c->file || !c->is_portable)
    return copy_part(context, c, whole, part, room, bytes, out, error);
  if (!digest_of(c, whole, part, bytes, &digest, &context->mem))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for a part of a constant");
  return rt_constant_map(context, c->file, c->offset + (size_t)offset * bytes,
                         (size_t)ir_box_elements(part) * bytes, digest, out, error);
}
