/* The folder frontend/python/native. The module viewfold._native: the C API for Python.
 *
 *   in      Python objects
 *   out     arrays and programs as Python objects; exceptions in place of statuses
 *   holds   the limited API of Python 3.11; a call of a known signature runs no Python code */
#ifndef VIEWFOLD_FRONTEND_PYTHON_NATIVE_H
#define VIEWFOLD_FRONTEND_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* free-threaded Python has no limited API; there the module switches the GIL on */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "frontend/viewfold.h"

enum { PY_RANK = 16, PY_VARIABLES = 16 /* sizes of a call, kept on the stack: 128 bytes */ };

/* Elements that arrays share: memory of ours, or of an object that lends it. */
typedef struct py_block {
  atomic_size_t uses;
  void *data;
  size_t bytes;
  Py_buffer *lent; /* NULL: the data follow this header */
} py_block;

typedef struct py_graph {
  PyObject_HEAD vf_graph *graph;
  PyObject *kept; /* a list of what its constants are borrowed from */
  PyObject *mesh; /* of its programs; NULL: one device */
  bool loops;     /* it may have loops, whose number of rounds no cost tells */
} py_graph;

/* An array: elements in a block, or a tensor of the session, or both; or a value of a graph. */
typedef struct py_array {
  PyObject_HEAD py_block *block;
  vf_tensor *tensor;
  py_graph *graph; /* NULL: it has elements, or will have them */
  vf_value value;  /* of the graph */
  int dtype, rank;
  int64_t shape[PY_RANK]; /* -1: known in runs alone */
  Py_ssize_t *strides;    /* of the buffer of Python that this array was made for; else NULL */
  int64_t *steps;         /* strides in elements, where DLPack has asked for them; else NULL */
  uint64_t scope;         /* of the function that made it, py_scope then */
  PyObject *weak;         /* the list of weak references to it */
  PyObject *whole;        /* a weak reference to the array of which it is a view; else NULL */
} py_array;

typedef struct py_program {
  PyObject_HEAD vf_program *program;
  int inputs, outputs, variables;
  bool long_runs; /* worth to let other threads of Python run */
  unsigned
      until_timed; /* of runs that do not, the one that is timed next; how many were, and how many of the */
  unsigned timed, slow; /* last took long */
  int *dtypes, *ranks;  /* inputs, then outputs */
  int64_t *shapes;      /* PY_RANK for each output, where there are no variables */
  size_t *bytes;        /* of each output, likewise */
} py_program;

/* module.c */
typedef struct py_state {
  vf_context *context;
  PyTypeObject *array, *graph, *program, *dispatcher, *reference, *mesh;
  PyObject *array_class;              /* what new arrays are made of: the class of Python, or `array` */
  PyObject *errors[VF_ERR_VALUE + 1]; /* exception by status */
  PyObject *dtypes[VF_INDEX + 1];     /* objects of Python by vf_dtype */
  PyObject *inside;                   /* a folder: frames of files in it are not the user's */
  PyObject *files;                    /* paths that places have, by their text: a pointer means one file */
  PyObject *report;                   /* called with (name, text, array) of a tap; or NULL */
  PyObject *progress; /* called with (what, done, total) of work, with () when it has ended; or NULL */
  bool told;          /* it has been called since work began last */
  unsigned long main; /* the thread that imported the module: signals of Python are handled there */
  uint32_t flags;     /* of the context */
  bool session_on_mesh;
  bool callbacks; /* programs may call functions of Python, in whatever thread */
} py_state;
extern py_state py;
/* The graph that operations of this thread record into; NULL: the session's. */
extern _Thread_local py_graph *py_traced_into;
/* The call of a function (traced, of a loop, of a condition, of a map) that this thread records, numbered in
 * the order of beginning; 0: none. */
extern _Thread_local uint64_t py_scope;
/* Begin a scope; the one before, which py_scope is set to again at its end. */
uint64_t py_scope_begin(void);
void py_scope_end(uint64_t before);
/* Is what was made in the scope of use? Else its function has ended: values leave it as results. */
bool py_scope_is_open(uint64_t scope);
extern atomic_int
    py_scoped_threads; /* whose py_scope is not 0: where none is, arrays are made without a look at it */
vf_context *py_context(void); /* NULL with an exception */
/* Raises what the status stands for; NULL. */
PyObject *py_raise(vf_status status, const char *message);
PyObject *py_raise_error(const vf_error *error);
/* Raises and clears a graph's error. */
PyObject *py_raise_graph(vf_graph *graph);
/* Around work in which other threads of Python may run. It can be interrupted: py_raise_error then raises
 * what the handler of a signal has raised. */
#define PY_BEGIN_WORK Py_BEGIN_ALLOW_THREADS
#define PY_END_WORK                                                                                          \
  Py_END_ALLOW_THREADS;                                                                                      \
  if (py.told) py_end_work()
void py_end_work(void);
/* One thread at a time uses the session, also one that has let others of Python run. False with an exception:
 * this thread computes arrays there. */
bool py_session_enter(void);
void py_session_leave(void);
/* Before memory of others is adopted in the session, which the caller has entered: from time to time it gives
 * back what no array needs, as it would when it computes. No values may be held. */
void py_session_adopts(void);
/* The elements of a tensor, in the session that the caller has entered; NULL with an exception. */
const void *py_session_compute(vf_tensor *tensor);
/* A capsule's or object's attribute by name; for tables of methods. */
#define PY_METHOD(name, function, flags, text)                                                               \
  { name, (PyCFunction)(void (*)(void))(function), flags, text }

/* array.c */
py_block *py_block_make(size_t bytes);  /* NULL with an exception */
void py_block_release(py_block *block); /* gives up a use, from any thread; accepts NULL */
/* For vf_tensor_adopt. */
void py_block_given_back(const void *elements, void *block);
py_array *py_array_new(int dtype, int rank, const int64_t *shape);
/* Another array of the same elements, which stay where they are as long as it exists, whatever the first one
 * comes to stand for (`a[i] = b`). */
py_array *py_array_share(const py_array *array);
/* The first array was made of the second, as a view of it is: it knows as long as both exist. */
void py_array_is_view(PyObject *view, py_array *of);
/* A new array that takes the block over, also when it fails. */
PyObject *py_array_of_block(py_block *block, int dtype, int rank, const int64_t *shape);
PyObject *py_array_of_tensor(vf_tensor *tensor);              /* takes it over */
PyObject *py_array_of_value(vf_value value, py_graph *graph); /* graph NULL: of the session, in it */
/* The elements, computed if need be; NULL with an exception. */
const void *py_array_data(py_array *array);
size_t py_array_bytes(const py_array *array);
static inline bool py_is_array(PyObject *object) {
  return (PyObject *)Py_TYPE(object) == py.array_class || PyObject_TypeCheck(object, py.array);
}
extern PyType_Spec py_array_spec;

/* exchange.c */
/* Methods of arrays: the buffer, read-only; __dlpack__. And a function of the module, of a capsule. */
int py_array_get_buffer(PyObject *self, Py_buffer *out, int flags);
PyObject *py_array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *py_from_dlpack(PyObject *module, PyObject *capsule);
/* The array of an object with a buffer. copy: of its own; else it may share the object's memory. NULL without
 * an exception: the object has no buffer. */
PyObject *py_array_of_buffer(PyObject *object, bool copy);
PyObject *py_from_buffer(PyObject *module, PyObject *args);
PyObject *py_from_bytes(PyObject *module, PyObject *args);
/* A tensor of DLPack, as its specification lays it out. */
typedef struct py_dlpack_tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} py_dlpack_tensor;
/* The dtype, and the bytes of an element, a power of two. VF_NONE: there is none. */
int py_dtype_of_dlpack(const py_dlpack_tensor *tensor, size_t *item);
/* What a table has: describes an object; not 0, with an exception. */
typedef int py_describe(void *object, py_dlpack_tensor *out);
/* torch.c: what describes tensors of this one's type best, where a table has what is given. */
py_describe *py_torch_describe(PyObject *tensor, py_describe *of_table);
/* Does torch record operations for derivatives now? */
bool py_torch_records(void);
/* exchange_table.c: a function of the module. A capsule of DLPack's table for arrays. */
PyObject *py_exchange_table(PyObject *module, PyObject *none);
int py_dtype_of_format(const char *format, Py_ssize_t item); /* VF_NONE: there is none */

/* Room for so many values, which PyMem_Free frees. NULL: MemoryError. */
static inline vf_value *py_new_values(Py_ssize_t count) {
  vf_value *values = PyMem_Calloc((size_t)count + 1, sizeof *values);
  if (!values) PyErr_NoMemory();
  return values;
}

/* operand.c: what operations take */
typedef struct py_operand {
  enum { PY_ARRAY, PY_INTEGER, PY_REAL, PY_BOOLEAN } kind;
  py_array *array; /* owned */
  int64_t integer;
  double real;
} py_operand;
bool py_operand_read(PyObject *object, py_operand *out);
void py_operand_clear(py_operand *operand);
/* The value of the operand in a graph; NULL: the session, which the caller has entered. False with an
 * exception. */
bool py_operand_value(const py_operand *operand, py_graph *graph, vf_value *out);
/* The same of a list of objects, all arrays, in the graph that is traced. */
bool py_values(PyObject *list, vf_value **out, Py_ssize_t *count);
/* Notes where the user's code calls, for the value or, of an error value, for the graph's message. */
void py_place(vf_graph *graph, vf_value value);
PyObject *py_tap(PyObject *module, PyObject *args);
PyObject *py_apply(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* A tuple of arrays. */
PyObject *py_arrays_of_values(const vf_value *values, Py_ssize_t count, py_graph *graph);

/* size.c: a size of the graph's variables; an error value, where the text is none */
vf_value py_size_read(vf_graph *graph, const char *text);

/* graph.c */
extern PyType_Spec py_graph_spec;
/* Functions of the module, as its table (module.c) says. */
PyObject *py_graph_make(PyObject *module, PyObject *name);
PyObject *py_tracing(PyObject *module, PyObject *none);
PyObject *py_scope_now(PyObject *module, PyObject *none);

/* recording.c */
extern PyType_Spec py_recording_spec;
/* The exception of a function that a run has called, if the message of the run's error is of it: the
 * caller's. */
PyObject *py_callback_raised(const char *message);
PyObject *py_is_silent(PyObject *module, PyObject *none); /* a function of the module */

/* program.c */
extern PyType_Spec py_program_spec;
PyObject *py_program_of(vf_program *program); /* takes it over */
/* A run: what vf_program_run takes. lets_go: other threads of Python run meanwhile, and the caller holds the
 * program, and the arrays that the inputs are of; else they wait. */
typedef struct py_run {
  py_program *program;
  const void *const *inputs;
  const int64_t *variables;
  bool lets_go;
} py_run;
/* Runs the program; the buffers are those of vf_program_run. False with an exception. */
bool py_program_run(const py_run *run, void *const *outputs);
/* The results of a run, in memory that is made for them: an array, or a tuple of them. */
PyObject *py_program_results(const py_run *run, bool single);

/* A function of the module. */
PyObject *py_run_into(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* argument.c: an argument of a call */
typedef struct py_argument {
  const void *data;
  int dtype, rank;
  const int64_t *shape;
  const Py_ssize_t *strides; /* in bytes; NULL: dense */
  Py_ssize_t bytes[PY_RANK]; /* room for strides */
  Py_buffer buffer;
  bool held; /* the buffer is */
  bool odd;  /* its elements are not aligned */
} py_argument;
/* PY_LOOK: whoever asks records derivatives by itself. */
typedef enum py_access { PY_LOOK, PY_READ, PY_WRITE } py_access;
/* False: the object has no elements here, of a dtype of ours, aligned, or torch records what is done with it;
 * of another exception it is set. */
bool py_argument_read(PyObject *object, py_argument *argument, py_access access);
/* Is what its buffer has all that there is to the object? Else of NumPy's kinds, with an exception. */
bool py_buffer_is_plain(PyObject *object);
/* A function of the module: the object, if it is. */
PyObject *py_check_plain(PyObject *module, PyObject *object);
/* The same, where its elements are aligned, too. */
PyObject *py_check_aligned(PyObject *module, PyObject *object);
/* Where its elements begin, as runs take them: the lowest address, of one with negative strides. */
const void *py_argument_lowest(const py_argument *argument);
static inline void py_arguments_release(py_argument *arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (arguments[i].held) PyBuffer_Release(&arguments[i].buffer);
}

/* dispatch.c */
/* The first `count` items of a sequence; false with an exception. */
bool py_read_integers(PyObject *list, int64_t *out, int count);
extern PyType_Spec py_dispatcher_spec;

/* control.c. A function of Python that records: takes arrays, returns a list or tuple of `results` arrays. */
typedef struct py_recorded {
  PyObject *function;
  Py_ssize_t arguments, results;
} py_recorded;
/* A vf_function. An exception stays set, and results stay error values. */
void py_call_recorded(void *recorded, const vf_value *arguments, vf_value *results);

/* transform.c, control.c: functions of the module */
PyObject *py_vjp(PyObject *module, PyObject *args);
PyObject *py_jvp(PyObject *module, PyObject *args);
PyObject *py_vmap(PyObject *module, PyObject *args);
PyObject *py_scan(PyObject *module, PyObject *args);
PyObject *py_cond(PyObject *module, PyObject *args);
PyObject *py_while_loop(PyObject *module, PyObject *args);
PyObject *py_checkpoint(PyObject *module, PyObject *args);

/* callback.c: a function of the module */
PyObject *py_callback(PyObject *module, PyObject *args);

/* files.c: functions of the module */
PyObject *py_parse(PyObject *module, PyObject *args);
PyObject *py_import_onnx(PyObject *module, PyObject *path);
PyObject *py_xla_handler(PyObject *module, PyObject *none); /* the function that XLA calls, as a capsule */
PyObject *py_read_arrays(PyObject *module, PyObject *path);
PyObject *py_write_arrays(PyObject *module, PyObject *args);

/* mesh.c */
extern PyType_Spec py_mesh_spec;
const vf_mesh *py_mesh_of(PyObject *object); /* NULL with an exception */
/* A method of arrays: the part that a device of the session's mesh has. */
PyObject *py_array_part(PyObject *self, PyObject *device);
/* Functions of the module. */
PyObject *py_mesh_make(PyObject *module, PyObject *text);
PyObject *py_set_mesh(PyObject *module, PyObject *mesh);
PyObject *py_on_mesh(PyObject *module, PyObject *none);
PyObject *py_leave(PyObject *module, PyObject *none);
PyObject *py_processes(PyObject *module, PyObject *args);

/* reference.c */
extern PyType_Spec py_reference_spec;
/* A function of the module. */
PyObject *py_reference_make(PyObject *module, PyObject *args);

#endif
