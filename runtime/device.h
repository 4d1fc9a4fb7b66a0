/* Devices: what programs run on. The other files of the runtime use a device through the table below only.
 * The CPU is one device (runtime/cpu/device.c), OpenCL provides others (runtime/opencl/opencl.h).
 *
 * A buffer is identified by its address. On the CPU that is a pointer; on another device it is a number in an
 * address space of its own, to which offsets are added as to pointers, but which only the device can resolve.
 * So the addresses of slices, carried values and offsets in the arena are computed in the same way for all
 * devices. */
#ifndef VIEWFOLD_RUNTIME_DEVICE_H
#define VIEWFOLD_RUNTIME_DEVICE_H

#include "runtime/cache/disk.h"
#include "runtime/image/image.h"
#include "runtime/memory/arena.h"
#include "runtime/runtime.h"

struct rt_run_context;
struct rt_run;
struct rt_step;
struct rt_found;
typedef struct rt_device rt_device;

/* The arguments of one run. */
typedef struct rt_arguments {
  void *const *inputs, *const *outputs;
  const int64_t *vars;
  rt_recording *recording; /* of the steps; NULL: not measured */
  rt_watch *watch;         /* NULL: values are not looked at */
  bool placed; /* inputs and outputs are device addresses, not pointers; the run may outlast the call */
  struct rt_endpoint *endpoint; /* of a device of a mesh; NULL: the run is on its own */
} rt_arguments;

/* The operations of a device. */
typedef struct rt_device_table {
  void (*close)(rt_device *device);
  /* The target that code is generated for. `machine` receives what tells the machine from others, as the key
   * of settings that were measured on it; nothing where there are none. */
  ir_status (*describe)(rt_device *device, ir_target *out, ir_text *machine, ir_error *error);
  /* Refuses a graph, as it was recorded, that the device cannot compute. NULL: it accepts all. */
  ir_status (*accepts)(rt_device *device, const char *name, const ir_graph *graph, ir_ref results,
                       const ir_ref *inputs, size_t count, ir_error *error);
  /* Compiles a kernel to an image whose only entry is called `symbol`. */
  ir_status (*compile)(rt_context *context, const ir_graph *graph, ir_ref kernel, const char *symbol,
                       rt_flat *image, ir_error *error);
  /* The same in a compiler process: ask sends a request without waiting, so that many can be in progress, and
   * await waits for its answer, or until the task ends. ask returns false where this process compiles. NULL:
   * it always does. */
  bool (*ask)(rt_context *context, const rt_kernel_key *key, ir_task *task, rt_compile_request *request);
  ir_status (*await)(rt_context *context, rt_compile_request *request, rt_flat *image, ir_error *error);
  /* Make the images of all `kernels` kernels of a program, packed, ready to run. `name` is the graph's. load
   * copies the image. adopt gets the payload of a cache entry, whose image begins at `offset`. It may take
   * over the entry's memory, and then clears `found` and keeps the memory readable until the code is
   * unloaded. Where adopt fails with IR_ERR_INVALID, or on the CPU with anything but IR_ERR_MEMORY, the
   * caller removes the entry. */
  ir_status (*load)(rt_context *context, const char *name, const void *image, size_t size, uint32_t kernels,
                    rt_code *out, ir_error *error);
  ir_status (*adopt)(rt_context *context, const char *name, rt_found *found, size_t offset, uint32_t kernels,
                     rt_code *out, ir_error *error);
  void (*unload)(rt_code *code);
  /* An additional image, which the cache keeps beside those of the kernels to make the next load faster;
   * bytes NULL: there is none. NULL: the device never has one. */
  ir_status (*binary_image)(rt_context *context, const rt_code *code, rt_flat *image, ir_error *error);
  const rt_block_source *blocks; /* memory for intermediates; the source's user is the device */

  /* All operations below are NULL where programs run in this process, in its memory. */
  ir_status (*prepare)(rt_program *program, ir_error *error); /* all other fields are set */
  void (*retire)(rt_program *program); /* also called where prepare failed or was not called */
  /* The largest buffer, in bytes: a larger block consists of several buffers of this size. 0: no limit. */
  size_t (*boundary)(rt_device *device);
  /* Fails with the message that there is no room for an intermediate of so many bytes. */
  ir_status (*no_room)(rt_device *device, const char *name, size_t bytes, ir_error *error);
  ir_status (*run)(rt_program *program, const rt_arguments *arguments, ir_error *error);
  void (*drop_run)(rt_program *program, struct rt_run *run); /* frees run->device */
  /* Steps of a run. read_predicate reads a predicate, for which it waits. */
  ir_status (*launch)(const struct rt_run_context *run, const struct rt_step *step);
  ir_status (*copy)(const struct rt_run_context *run, void *to, const void *from, size_t bytes);
  /* Read and write bytes of a buffer, for which they wait. */
  ir_status (*read)(const struct rt_run_context *run, const void *from, void *to, size_t bytes);
  ir_status (*write)(const struct rt_run_context *run, void *to, const void *from, size_t bytes);
  ir_status (*read_predicate)(const struct rt_run_context *run, const void *predicate, bool *out);
  /* The arrays of the call are at device addresses; `found` is what rt_calls.find returned. */
  ir_status (*call)(const struct rt_run_context *run, const struct rt_step *step, const void *found,
                    rt_call *call, ir_error *error);
  /* As the functions rt_memory_... of runtime.h. */
  ir_status (*memory_place)(rt_device *device, rt_memory *memory, bool keep, ir_error *error);
  ir_status (*memory_read)(rt_device *device, rt_memory *memory, ir_error *error);
  void (*memory_free)(rt_device *device, rt_memory *memory);
} rt_device_table;

struct rt_device {
  const rt_device_table *table;
};

/* Does the device run programs itself, by the operations of the second half of the table? */
static inline bool rt_is_remote(const rt_device *device) { return device->table->run != NULL; }

/* Is it the CPU with kernels that the C compiler compiles? */
bool rt_device_is_c(const char *name);
/* Opens the device of that name; NULL, "cpu" or "c" is the CPU. `separate_arrays`: as in rt_options.
 * IR_ERR_INVALID: the name is ill-formed (rt_device_is_name). */
ir_status rt_device_open(const ir_mem *mem, const char *name, bool separate_arrays, rt_device **out,
                         ir_error *error);

#endif
