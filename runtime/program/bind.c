/* Binding a program to constants: another program of the same plan and code, whose slots of constants have
 * addresses. */
#include <string.h>

#include "runtime/constants.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/program/program.h"
#include "runtime/system/bus_error.h"

/* Bytes of the constant that the slot takes. The plan's check has it that the number of elements is a
 * constant. */
static size_t slot_bytes(const rt_program *p, uint32_t slot) {
  const rt_plan_slot *s = &p->plan.slots[slot];
  const rt_value v = p->plan.values[s->elements];
  return (size_t)((uint64_t)v.c << 32 | v.b) * ir_dtypes[s->dtype].bytes;
}

size_t rt_program_constant_bytes(const rt_program *p, size_t number) {
  return slot_bytes(p, p->resources[number]);
}

static ir_status check_constants(const rt_program *p, rt_constant *const *constants, size_t count,
                                 ir_error *error) {
  if (count != p->resource_count)
    return ir_fail(error, IR_ERR_INVALID, "graph @%s: it reads %zu constants; %zu are given",
                   rt_program_name(p), p->resource_count, count);
  for (size_t i = 0; i < count; i++) {
    size_t need = slot_bytes(p, p->resources[i]);
    if (constants[i]->size != need)
      return ir_fail(error, IR_ERR_INVALID, "graph @%s: constant %zu takes %zu bytes; %zu are given",
                     rt_program_name(p), i, need, constants[i]->size);
  }
  return IR_OK;
}

/* On a remote device programs share a copy; here they read the elements where they are. */
static ir_status place_constant(rt_program *p, size_t i, ir_error *error) {
  rt_constant *c = p->constants[i];
  void **address = &p->data[p->number_in_kind[p->resources[i]]];
  *address = (void *)(uintptr_t)c->bytes;
  if (!p->remote || !c->size) return IR_OK;
  ir_status status = rt_constant_place(p->context, c, address, error);
  p->is_placed[i] = status == IR_OK;
  return status;
}

/* Lists the files that the constants are mapped from, each once. A program with any runs by run_any, which
 * checks them: also where elements have been copied to a device, since a file that had changed by then is
 * still another one afterwards. */
static void list_files(rt_program *p) {
  for (size_t i = 0; i < p->resource_count; i++) {
    rt_mapped_file *file = rt_constant_file(p->constants[i]);
    size_t k = 0;
    while (k < p->file_count && p->files[k] != file) k++;
    if (file && k == p->file_count) p->files[p->file_count++] = file;
  }
  if (p->file_count) p->plain = p->brief = false;
}

static ir_status check_entries(const rt_program *p, ir_error *error) {
  for (size_t i = 0; i < p->hoisted_count; i++) {
    const rt_constant *array = p->constants[p->resource_count + i];
    if (array && rt_constant_is_damaged(array))
      return ir_fail(
          error, IR_ERR_IO,
          "graph @%s: an entry of the cache on disk, which has what is computed from its constants "
          "once, has become shorter, or could not be read; the results are unspecified, compile "
          "the graph again",
          rt_program_name(p));
  }
  return IR_OK;
}

ir_status rt_program_check_files(const rt_program *p, ir_error *error) {
  ir_error found = {0};
  for (size_t i = 0; i < p->file_count; i++)
    if (rt_mapped_check(p->files[i], &found) != IR_OK)
      return ir_fail(error, found.status, "%s. Constants of graph @%s are in it; the results are unspecified",
                     found.text, rt_program_name(p));
  return p->maps_entries && rt_guards_damaged() ? check_entries(p, error) : IR_OK;
}

static size_t array_count(const rt_program *p) { return p->resource_count + p->hoisted_count; }

/* Gives up the constants in memory that hoisted steps alone read. */
static void drop_unread(rt_program *p) {
  const rt_plan *plan = &p->plan;
  for (size_t i = 0; i < p->resource_count; i++) {
    uint32_t slot = p->resources[i];
    bool read = p->remote || rt_constant_file(p->constants[i]);
    for (uint32_t k = 0; k < plan->head->results; k++) read |= plan->results[k] == slot;
    for (uint32_t k = 0; k < p->copy_count; k++)
      read |= p->copies[k].source == ((uint32_t)IR_SLOT_DATA << RT_SOURCE_SHIFT | p->number_in_kind[slot]);
    for (uint32_t s = 0; s < plan->head->steps && !read; s++)
      for (uint32_t k = 0; k < plan->steps[s].slot_count && !p->is_hoisted[s]; k++)
        read |= plan->step_slots[plan->steps[s].slots + k] == slot;
    if (read) continue;
    rt_constant_release(p->constants[i]);
    p->constants[i] = NULL;
    p->data[p->number_in_kind[slot]] = NULL;
  }
}

static ir_status bind(rt_program *p, rt_constant *const *constants, size_t count, ir_error *error) {
  const ir_mem *mem = rt_context_mem(p->context);
  p->constants = ir_alloc(mem, array_count(p) * sizeof *p->constants);
  p->is_placed = ir_alloc(mem, count * sizeof *p->is_placed);
  p->files = ir_alloc(mem, count * sizeof *p->files);
  if (p->constants) memset(p->constants, 0, array_count(p) * sizeof *p->constants);
  if (p->is_placed) memset(p->is_placed, 0, count * sizeof *p->is_placed);
  if (!p->constants || !p->is_placed || !p->files)
    return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory binding its constants",
                   rt_program_name(p));
  for (size_t i = 0; i < count; i++) rt_constant_retain(p->constants[i] = constants[i]);
  ir_status status = IR_OK;
  for (size_t i = 0; i < count && !status; i++) status = place_constant(p, i, error);
  list_files(p);
  if (!status) status = rt_run_hoisted(p, error);
  if (!status && p->of_parts) drop_unread(p);
  p->plain &= !p->failed_step && !p->maps_entries; /* the one only fails, the other checks them */
  p->brief &= p->plain;
  return status;
}

void rt_program_unbind(rt_program *p) {
  const ir_mem *mem = rt_context_mem(p->context);
  for (size_t i = 0; i < p->resource_count && p->constants && p->is_placed; i++)
    if (p->is_placed[i]) rt_constant_displace(p->context, p->constants[i]);
  for (size_t i = 0; i < array_count(p) && p->constants; i++) rt_constant_release(p->constants[i]);
  ir_free(mem, p->constants, array_count(p) * sizeof *p->constants);
  ir_free(mem, p->is_placed, p->resource_count * sizeof *p->is_placed);
  ir_free(mem, p->files, p->resource_count * sizeof *p->files);
  p->constants = NULL;
  p->is_placed = NULL;
  p->files = NULL;
}

/* Reads constants where they are copied to a device, and where something is computed from them. */
static ir_status bind_guarded(rt_program *p, rt_constant *const *constants, size_t count, ir_error *error) {
  sigset_t before;
  rt_guard_enter(&before);
  ir_status status = bind(p, constants, count, error);
  rt_guard_leave(&before);
  return status;
}

static ir_status bind_program(rt_program *base, rt_constant *const *constants, size_t count, bool stores,
                              uint32_t of_parts, rt_program **out, ir_error *error) {
  *out = NULL;
  ir_status status = check_constants(base, constants, count, error);
  if (!status) status = rt_program_share(base, out, error);
  if (!status) (*out)->stores = stores, (*out)->of_parts = of_parts;
  if (!status) status = bind_guarded(*out, constants, count, error);
  if (status) {
    rt_program_release(*out);
    *out = NULL;
  }
  return status;
}

ir_status rt_program_bind(rt_program *base, rt_constant *const *constants, size_t count, uint32_t of_parts,
                          rt_program **out, ir_error *error) {
  return bind_program(base, constants, count, true, of_parts, out, error);
}

/* Nothing is stored of constants that are replaced: the next ones may come with the next run. */
ir_status rt_program_rebind(const rt_program *p, size_t number, rt_constant *constant, rt_program **out,
                            ir_error *error) {
  const ir_mem *mem = rt_context_mem(p->context);
  size_t count = p->resource_count;
  rt_constant **constants = ir_alloc(mem, count * sizeof *constants);
  *out = NULL;
  if (!constants) return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory", rt_program_name(p));
  memcpy(constants, p->constants, count * sizeof *constants);
  constants[number] = constant;
  ir_status status = bind_program(p->base, constants, count, false, 0, out, error);
  ir_free(mem, constants, count * sizeof *constants);
  return status;
}
