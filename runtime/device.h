/* Devices: what programs run on. The rest of the runtime knows a device by the table below alone; the CPU is
 * one (runtime/cpu/device.c), and what OpenCL offers are others (runtime/opencl/opencl.h).
 *
 * A buffer is known by its address: of the CPU a pointer, of another device a number in a space of its own
 * that is computed with as with pointers, and means something to the device alone. So slices, carried values
 * and places in the arena are worked out in one way for all. */
#ifndef VIEWFOLD_RUNTIME_DEVICE_H
#define VIEWFOLD_RUNTIME_DEVICE_H

#include "runtime/cache/disk.h"
#include "runtime/image/image.h"
#include "runtime/memory/arena.h"
#include "runtime/runtime.h"

struct rt_going;
struct rt_run;
struct rt_step;
struct rt_found;
typedef struct rt_device rt_device;

/* A run as it is asked for. */
typedef struct rt_arguments {
  void *const *inputs, *const *outputs;
  const int64_t *vars;
  int64_t *ns_by_step; /* NULL: nobody asks */
  bool placed;         /* inputs and outputs are addresses, not pointers: the run may go on after the call */
} rt_arguments;

/* What the runtime asks of a device. */
typedef struct rt_device_table {
  void (*close)(rt_device *device);
  /* What code is made for. */
  ir_status (*describe)(rt_device *device, ir_target *out, ir_error *error);
  /* Refuses a graph, as it was recorded, that the device is not to compute. NULL: it takes all. */
  ir_status (*accepts)(rt_device *device, const char *name, const ir_graph *graph, ir_ref results,
                       const ir_ref *inputs, size_t count, ir_error *error);
  /* One kernel becomes an image whose only entry is called `symbol`. */
  ir_status (*compile)(rt_context *context, const ir_graph *graph, ir_ref kernel, const char *symbol,
                       rt_flat *image, ir_error *error);
  /* The same where another process compiles: asks for it, so that many are under way at once, and waits.
   * False: this process does. NULL: it always does. */
  bool (*ask)(rt_context *context, const rt_kernel_key *key, rt_asked *asked);
  ir_status (*await)(rt_context *context, rt_asked *asked, rt_flat *image, ir_error *error);
  /* The images of all `kernels` kernels of a program, packed, are made ready to run. `name` is the graph's.
   * What load gets is copied. What adopt gets is the rest of an entry of the cache from `offset`; it may keep
   * the entry's memory with the code, readable until that is unloaded, and `found` is then empty. Where it
   * fails the entry is removed, but for want of memory. */
  ir_status (*load)(rt_context *context, const char *name, const void *image, size_t size, uint32_t kernels,
                    rt_code *out, ir_error *error);
  ir_status (*adopt)(rt_context *context, const char *name, rt_found *found, size_t offset, uint32_t kernels,
                     rt_code *out, ir_error *error);
  void (*unload)(rt_code *code);
  /* An image to be kept beside those of the kernels, from which the next load is faster; bytes NULL: there is
   * none. NULL: there never is. */
  ir_status (*extra)(rt_context *context, const rt_code *code, rt_flat *image, ir_error *error);
  const rt_block_source *blocks; /* for intermediates; the user is the device */

  /* The rest is NULL where programs are called in this process, on its memory. */
  ir_status (*prepare)(rt_program *program, ir_error *error); /* the rest of it is known */
  void (*retire)(rt_program *program); /* also where prepare failed or was not called */
  size_t (*part)(rt_device *device);   /* larger blocks may be cut at multiples of it; 0: they never are */
  ir_status (*no_room)(rt_device *device, const char *name, size_t bytes, ir_error *error); /* says so */
  ir_status (*run)(rt_program *program, const rt_arguments *arguments, ir_error *error);
  void (*drop_run)(rt_program *program, struct rt_run *run); /* frees what it keeps in run->device */
  ir_status (*launch)(const struct rt_going *going, const struct rt_step *step);
  ir_status (*copy)(const struct rt_going *going, void *to, const void *from, size_t bytes);
  ir_status (*holds)(const struct rt_going *going, const void *predicate, bool *out);
  /* The call's arrays are at addresses; `found` is what rt_calls found. */
  ir_status (*call)(const struct rt_going *going, const struct rt_step *step, const void *found,
                    rt_call *call, ir_error *error);
  ir_status (*memory_place)(rt_device *device, rt_memory *memory, bool keep, ir_error *error);
  ir_status (*memory_read)(rt_device *device, rt_memory *memory, ir_error *error);
  void (*memory_free)(rt_device *device, rt_memory *memory);
} rt_device_table;

struct rt_device {
  const rt_device_table *does;
};

/* Are programs run by the table's functions? */
static inline bool rt_is_remote(const rt_device *device) { return device->does->run != NULL; }

/* The device of that name; NULL or "cpu": the CPU. `apart`: as in rt_options. IR_ERR_INVALID: it is no name
 * (rt_device_is_name). */
ir_status rt_device_open(const ir_mem *mem, const char *name, bool apart, rt_device **out, ir_error *error);

#endif
