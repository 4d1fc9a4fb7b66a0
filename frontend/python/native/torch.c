/* Tensors of torch as arguments: what DLPack's table does not tell of them, and, by torch's stable functions
 * of C, what it tells at the price of a use taken and given back (43 ns a tensor against 12; Intel Xeon,
 * Sapphire Rapids). Where torch lacks the functions, or its objects are not as expected, the table serves. */
#include "frontend/python/native/native.h"

#include <dlfcn.h>
#include <string.h>

/* torch's handle of a tensor: the address of the member of the object that refers to it. */
typedef const void *handle;

/* The functions of torch/csrc/stable/c/shim.h and aoti_torch/c/shim.h; 0: good. */
static struct {
  int32_t (*layout)(handle, int32_t *);
  int32_t (*device)(handle, int32_t *);
  int32_t (*stored)(handle, bool *);
  int32_t (*dtype)(handle, int32_t *);
  int32_t (*dim)(handle, int64_t *);
  int32_t (*sizes)(handle, int64_t **);
  int32_t (*strides)(handle, int64_t **);
  int32_t (*data)(handle, void **);
  int32_t (*strided)(void);
  int32_t (*cpu)(void);
  bool (*records)(void);
} call;

static const struct {
  const char *name;
  void *function;
} names[] = {{"aoti_torch_get_layout", &call.layout},
             {"aoti_torch_get_device_type", &call.device},
             {"torch_has_storage", &call.stored},
             {"aoti_torch_get_dtype", &call.dtype},
             {"aoti_torch_get_dim", &call.dim},
             {"aoti_torch_get_sizes", &call.sizes},
             {"aoti_torch_get_strides", &call.strides},
             {"aoti_torch_get_data_ptr", &call.data},
             {"aoti_torch_layout_strided", &call.strided},
             {"aoti_torch_device_type_cpu", &call.cpu},
             {"aoti_torch_grad_mode_is_enabled", &call.records}};

/* Kinds as DLPack numbers them, and bits, by torch's number of a dtype; bits 0: none of ours. */
typedef struct element {
  uint8_t code, bits;
} element;
enum { SIGNED = 0, UNSIGNED = 1, FLOAT = 2, BFLOAT = 4, BOOL = 6 };
static const struct {
  const char *name;
  element element;
} dtypes[] = {{"bool", {BOOL, 8}},        {"int8", {SIGNED, 8}},      {"uint8", {UNSIGNED, 8}},
              {"int16", {SIGNED, 16}},    {"uint16", {UNSIGNED, 16}}, {"int32", {SIGNED, 32}},
              {"uint32", {UNSIGNED, 32}}, {"int64", {SIGNED, 64}},    {"uint64", {UNSIGNED, 64}},
              {"float16", {FLOAT, 16}},   {"bfloat16", {BFLOAT, 16}}, {"float32", {FLOAT, 32}},
              {"float64", {FLOAT, 64}}};

enum { ELEMENTS = 64 };
static element elements[ELEMENTS];
static int32_t strided, cpu;
static size_t member;               /* where an object has its handle, in bytes; 0: not known */
static py_describe *table_describe; /* what the table has */

static int describe(void *object, py_dlpack_tensor *out) {
  handle t = (const char *)object + member;
  int32_t layout, device, dtype;
  int64_t rank;
  bool stored;
  if (call.layout(t, &layout) || layout != strided || call.device(t, &device) || device != cpu ||
      call.stored(t, &stored) || !stored || call.dtype(t, &dtype) || (uint32_t)dtype >= ELEMENTS ||
      call.dim(t, &rank) || call.sizes(t, &out->shape) || call.strides(t, &out->strides) ||
      call.data(t, &out->data))
    return table_describe(object, out);
  out->device_type = 1;
  out->device_id = 0;
  out->ndim = (int32_t)rank;
  out->code = elements[dtype].code;
  out->bits = elements[dtype].bits;
  out->lanes = 1;
  out->byte_offset = 0;
  return 0;
}

/* The functions, of the library behind the module torch._C; false: not all are there. */
static bool find_functions(PyObject *torch) {
  PyObject *module = PyObject_GetAttrString(torch, "_C");
  PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : NULL;
  PyObject *path = file ? PyUnicode_EncodeFSDefault(file) : NULL;
  void *library = path ? dlopen(PyBytes_AsString(path), RTLD_NOW | RTLD_NOLOAD) : NULL;
  bool good = library != NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && good; i++) {
    void *function = dlsym(library, names[i].name);
    memcpy(names[i].function, &function, sizeof function);
    good = function != NULL;
  }
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && good; i++) {
    char name[64];
    int32_t (*number)(void);
    PyOS_snprintf(name, sizeof name, "aoti_torch_dtype_%s", dtypes[i].name);
    void *function = dlsym(library, name);
    memcpy(&number, &function, sizeof function);
    if (!function || (uint32_t)number() >= ELEMENTS) good = false;
    else elements[number()] = dtypes[i].element;
  }
  if (good) {
    strided = call.strided();
    cpu = call.cpu();
  }
  Py_XDECREF(path);
  Py_XDECREF(file);
  Py_XDECREF(module);
  return good;
}

/* Where in the object the address is that it names as its tensor's: in one place, or 0. */
static size_t find_member(PyObject *tensor) {
  PyObject *named = PyObject_GetAttrString(tensor, "_cdata");
  PyObject *size = named ? PyObject_GetAttrString((PyObject *)Py_TYPE(tensor), "__basicsize__") : NULL;
  const void *address = size ? PyLong_AsVoidPtr(named) : NULL;
  size_t bytes = size ? PyLong_AsSize_t(size) : 0, at = 0, found = 0;
  if (PyErr_Occurred()) bytes = 0;
  for (size_t k = sizeof(PyObject); address && k + sizeof address <= bytes; k += sizeof address)
    if (memcmp((const char *)tensor + k, &address, sizeof address) == 0) {
      at = k;
      found++;
    }
  Py_XDECREF(size);
  Py_XDECREF(named);
  return found == 1 ? at : 0;
}

/* Do both tell the same of the tensor? */
static bool tells_the_same(PyObject *tensor) {
  py_dlpack_tensor a, b;
  if (table_describe(tensor, &a) || describe(tensor, &b)) return false;
  size_t bytes = (size_t)a.ndim * sizeof *a.shape;
  return a.device_type == b.device_type && a.ndim == b.ndim && a.code == b.code && a.bits == b.bits &&
         (char *)a.data + a.byte_offset == b.data && memcmp(a.shape, b.shape, bytes) == 0 &&
         memcmp(a.strides, b.strides, bytes) == 0;
}

/* Is it a tensor of torch, of no class derived but that of parameters? */
static bool is_plain(PyObject *torch, PyObject *tensor) {
  PyObject *type = (PyObject *)Py_TYPE(tensor), *plain = PyObject_GetAttrString(torch, "Tensor");
  PyObject *nn = PyObject_GetAttrString(torch, "nn");
  PyObject *parameter = nn ? PyObject_GetAttrString(nn, "Parameter") : NULL;
  bool is = type == plain || type == parameter;
  Py_XDECREF(parameter);
  Py_XDECREF(nn);
  Py_XDECREF(plain);
  return is;
}

py_describe *py_torch_describe(PyObject *tensor, py_describe *of_table) {
  static bool looked;
  PyObject *torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  bool plain = torch && is_plain(torch, tensor);
  if (plain && !looked) {
    looked = true;
    table_describe = of_table;
    if (find_functions(torch)) member = find_member(tensor);
    if (member && !tells_the_same(tensor)) member = 0;
  }
  PyErr_Clear();
  return plain && member ? describe : of_table;
}

bool py_torch_records(void) {
  if (member) return call.records();
  PyObject *torch = PyImport_ImportModule("torch");
  PyObject *records = torch ? PyObject_CallMethod(torch, "is_grad_enabled", NULL) : NULL;
  bool is = records == Py_True;
  Py_XDECREF(records);
  Py_XDECREF(torch);
  return is;
}
