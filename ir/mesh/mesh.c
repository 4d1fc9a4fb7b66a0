/* Meshes: their axes, devices and coordinates. */
#include "mesh.h"

#include <string.h>

void ir_mesh_init(ir_mesh *mesh, const ir_mem *mem) { *mesh = (ir_mesh){.device_count = 1, .mem = mem}; }

void ir_mesh_free(ir_mesh *mesh) {
  if (mesh->devices) ir_free(mesh->mem, mesh->devices, mesh->device_count * sizeof *mesh->devices);
  for (uint32_t i = 0; i < mesh->axis_count; i++) ir_axis_free_weights(&mesh->axes[i], mesh->mem);
  ir_mesh_init(mesh, mesh->mem);
}

int ir_mesh_find(const ir_mesh *mesh, const char *name, size_t length) {
  for (uint32_t i = 0; i < mesh->axis_count; i++)
    if (strlen(mesh->axes[i].name) == length && !memcmp(mesh->axes[i].name, name, length)) return (int)i;
  return -1;
}

bool ir_mesh_add(ir_mesh *mesh, const char *name, size_t length, int64_t size, ir_error *error) {
  int shown = (int)(length < IR_MESH_NAME ? length : IR_MESH_NAME);
  const char *wrong = NULL;
  if (length == 0 || length >= IR_MESH_NAME) wrong = "a name has 1 to 31 bytes";
  else if (ir_mesh_find(mesh, name, length) >= 0) wrong = "the mesh has an axis of that name";
  else if (size < 1) wrong = "sizes are at least 1";
  else if (mesh->axis_count == IR_MESH_AXES) wrong = "a mesh has at most 8 axes";
  else if (size > IR_MESH_DEVICES / mesh->device_count) wrong = "a mesh has at most 1048576 devices";
  else if (!ir_mesh_has_room(mesh, size)) wrong = ir_mesh_too_heavy;
  else if (mesh->devices) wrong = "the devices were given for the axes before it";
  if (wrong) {
    ir_fail(error, IR_ERR_INVALID, "axis %.*s of size %lld of a mesh: %s", shown, name, (long long)size,
            wrong);
    return false;
  }
  ir_mesh_axis *axis = &mesh->axes[mesh->axis_count++];
  *axis = (ir_mesh_axis){.size = (int32_t)size};
  memcpy(axis->name, name, length);
  mesh->device_count *= (uint32_t)size;
  return true;
}

bool ir_mesh_place(ir_mesh *mesh, const ir_mesh_device *devices, size_t count, ir_error *error) {
  if (count != mesh->device_count) {
    ir_fail(error, IR_ERR_INVALID, "a mesh requires %u devices, the product of its axes, but got %zu",
            (unsigned)mesh->device_count, count);
    return false;
  }
  ir_mesh_device *copy = ir_alloc(mesh->mem, count * sizeof *copy);
  if (!copy) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for the devices of a mesh");
    return false;
  }
  memcpy(copy, devices, count * sizeof *copy);
  if (mesh->devices) ir_free(mesh->mem, mesh->devices, mesh->device_count * sizeof *mesh->devices);
  mesh->devices = copy;
  return true;
}

bool ir_mesh_copy(ir_mesh *to, const ir_mesh *from, const ir_mem *mem) {
  ir_error none = {0};
  *to = *from;
  to->mem = mem, to->devices = NULL;
  bool good = true;
  for (uint32_t i = 0; i < to->axis_count; i++) {
    to->axes[i].before = NULL;
    good = good && ir_axis_copy_weights(&to->axes[i], &from->axes[i], mem);
  }
  return good && (!from->devices || ir_mesh_place(to, from->devices, from->device_count, &none));
}

int64_t ir_mesh_coordinate(const ir_mesh *mesh, int64_t device, uint32_t axis) {
  for (uint32_t i = mesh->axis_count - 1; i > axis; i--) device /= mesh->axes[i].size;
  return device % mesh->axes[axis].size;
}

static const ir_mesh_device *device_of(const ir_mesh *mesh, uint32_t device) {
  static const ir_mesh_device here = {.name = "cpu"};
  return mesh->devices ? &mesh->devices[device] : &here;
}

bool ir_mesh_same_axes(const ir_mesh *a, const ir_mesh *b) {
  bool equal = a->axis_count == b->axis_count;
  for (uint32_t i = 0; i < a->axis_count && equal; i++)
    equal = !strcmp(a->axes[i].name, b->axes[i].name) && ir_same_weights(&a->axes[i], &b->axes[i]);
  return equal;
}

bool ir_mesh_equal(const ir_mesh *a, const ir_mesh *b) {
  bool equal = ir_mesh_same_axes(a, b);
  if (!a->devices && !b->devices) return equal;
  for (uint32_t i = 0; i < a->device_count && equal; i++) {
    const ir_mesh_device *x = device_of(a, i), *y = device_of(b, i);
    equal = x->rank == y->rank && !strcmp(x->name, y->name);
  }
  return equal;
}
