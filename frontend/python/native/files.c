/* Files of arrays, graphs and models. */
#include "frontend/python/native/native.h"

static PyObject *graph_of(vf_graph *graph, const vf_error *error) {
  if (!graph) return py_raise_error(error);
  py_graph *g = (py_graph *)((allocfunc)PyType_GetSlot(py.graph, Py_tp_alloc))(py.graph, 0);
  if (g) g->graph = graph, g->loops = true; /* nobody has looked */
  else vf_graph_destroy(graph);
  return (PyObject *)g;
}

/* parse(text, file): the graph; files that the text names are beside that one. */
PyObject *py_parse(PyObject *module, PyObject *args) {
  (void)module;
  vf_error error;
  Py_ssize_t length;
  const char *bytes, *file;
  if (!PyArg_ParseTuple(args, "s#s", &bytes, &length, &file) || !py_context()) return NULL;
  return graph_of(vf_graph_parse(py.context, bytes, (size_t)length, file, NULL, &error), &error);
}

/* import_onnx(path): the graph of a model. */
PyObject *py_import_onnx(PyObject *module, PyObject *path) {
  (void)module;
  vf_error error;
  const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
  if (!name || !py_context()) return NULL;
  return graph_of(vf_import_onnx(py.context, name, NULL, &error), &error);
}

static PyObject *read_one(vf_arrays *arrays, size_t number) {
  vf_error error;
  int64_t shape[PY_RANK];
  vf_dtype dtype = vf_arrays_dtype(arrays, number);
  int rank = vf_arrays_shape(arrays, number, shape);
  size_t bytes = vf_dtype_bytes(dtype);
  for (int i = 0; i < rank; i++) bytes *= (size_t)shape[i];
  if (dtype == VF_NONE)
    return PyErr_Format(PyExc_TypeError, "array %s has elements of type %s, which is no dtype of viewfold",
                        vf_arrays_name(arrays, number), vf_arrays_type(arrays, number));
  py_block *block = py_block_make(bytes);
  if (block && vf_arrays_read(arrays, number, block->data, bytes, &error)) {
    py_block_release(block);
    return py_raise_error(&error);
  }
  return block ? py_array_of_block(block, dtype, rank, shape) : NULL;
}

/* read_arrays(path): a dictionary. */
PyObject *py_read_arrays(PyObject *module, PyObject *path) {
  (void)module;
  vf_error error;
  const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
  if (!name || !py_context()) return NULL;
  vf_arrays *arrays = vf_arrays_open(py.context, name, &error);
  if (!arrays) return py_raise_error(&error);
  PyObject *all = PyDict_New();
  for (size_t i = 0; i < vf_arrays_count(arrays) && all; i++) {
    PyObject *one = read_one(arrays, i);
    if (!one || PyDict_SetItemString(all, vf_arrays_name(arrays, i), one) < 0) Py_CLEAR(all);
    Py_XDECREF(one);
  }
  vf_arrays_close(arrays);
  return all;
}

/* write_arrays(path, names, arrays): tuples. */
PyObject *py_write_arrays(PyObject *module, PyObject *args) {
  (void)module;
  const char *path;
  PyObject *names, *arrays;
  vf_error error;
  if (!PyArg_ParseTuple(args, "sO!O!", &path, &PyTuple_Type, &names, &PyTuple_Type, &arrays) || !py_context())
    return NULL;
  Py_ssize_t count = PyTuple_Size(names);
  vf_named_array *list = PyMem_Calloc((size_t)count + 1, sizeof *list);
  if (!list) return PyErr_NoMemory();
  bool good = true;
  for (Py_ssize_t i = 0; i < count && good; i++) {
    py_array *a = (py_array *)PyTuple_GetItem(arrays, i);
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    const void *data = name ? py_array_data(a) : NULL;
    good = data != NULL;
    list[i] = (vf_named_array){name, (vf_dtype)a->dtype, a->rank, a->shape, data};
  }
  vf_status status = good ? vf_arrays_write(py.context, path, (size_t)count, list, &error) : VF_OK;
  PyMem_Free(list);
  if (status) return py_raise_error(&error);
  if (!good) return NULL;
  Py_RETURN_NONE;
}
