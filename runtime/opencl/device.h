/* An OpenCL device, for the files of runtime/opencl, and the functions that these files share. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_DEVICE_H
#define VIEWFOLD_RUNTIME_OPENCL_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/opencl/loader.h"
#include "runtime/opencl/opencl.h"

/* The properties of a device, as its driver states them. */
typedef struct rt_cl_properties {
  cl_platform_id platform;
  cl_device_id id;
  char name[128], platform_name[128], version[128], driver[64];
  bool cpu;     /* kernels use vector lanes instead of work-items */
  bool unified; /* its memory is the host's */
  bool available, compiler, little_endian, since_1_2;
  bool f64, denormals, divides; /* divides: division and square root of f32 are correctly rounded */
  bool ptx;                     /* kernels may contain PTX instructions */
  uint32_t together;            /* sub-group size: work-items that run in lockstep; 0: none */
  uint32_t matrix;              /* terms that one matrix instruction adds up; 0: no such instruction */
  bool fma;                     /* fma is in hardware */
  uint32_t units, address_bits, group, vector_floats; /* group: largest work-group */
  uint64_t memory, buffer, local, cache;              /* in bytes; buffer: largest buffer */
  uint64_t parameters;                                /* limit of the bytes of a kernel's arguments */
  uint32_t alignment;                                 /* of sub-buffers, in bytes */
} rt_cl_properties;

/* A region of device memory, one buffer or several. Its address is the region's index in the table + 1,
 * shifted by RT_CL_SHIFT bits; the low bits are an offset in bytes. */
enum { RT_CL_SHIFT = 40 };
typedef struct rt_cl_region {
  cl_mem buffer;   /* NULL: the table entry is free, and `bytes` is the index + 1 of the next free one */
  cl_mem *buffers; /* or several buffers, of rt_cl_boundary bytes but for the last; `buffer` is the first */
  uint64_t bytes;
} rt_cl_region;

/* A mapped buffer that could not be unmapped. Closing the device tries again. */
typedef struct rt_cl_mapped {
  struct rt_cl_mapped *next;
  cl_mem buffer;
  void *address;
} rt_cl_mapped;

/* A staging buffer, through which elements go between the host and the device (staging.c), with its queue. */
enum { RT_CL_CHUNKS = 2 };
typedef struct rt_cl_chunk {
  cl_event event; /* of the command that uses the chunk; NULL: the chunk is free */
  uint8_t *at;    /* in the mapped staging memory */
  void *to;       /* where on the host the fetched bytes go; NULL: nowhere */
  size_t bytes;
} rt_cl_chunk;
typedef struct rt_cl_staging {
  struct rt_cl_staging *next;
  cl_command_queue queue;
  cl_mem memory; /* pinned memory of all chunks */
  uint8_t *at;   /* its address on the host */
  rt_cl_chunk chunks[RT_CL_CHUNKS];
  unsigned next_chunk; /* index of the chunk to use next */
} rt_cl_staging;

typedef struct rt_opencl {
  rt_device base;
  ir_mem mem;
  rt_cl cl;
  rt_cl_properties properties;
  pthread_mutex_t lock;          /* guards the fields below */
  cl_context context;            /* NULL until the first run */
  cl_command_queue queue, timed; /* in-order queues; timed: measures time, NULL until the first timed run */
  cl_mem empty_buffer;           /* is passed in place of buffers of no bytes */
  rt_cl_region *regions;
  size_t region_count, region_cap, free_region; /* free_region: index + 1 */
  rt_arenas pool;                               /* device buffers for copies of the host's arrays */
  rt_cl_mapped *mapped;
  rt_cl_staging *idle_staging;     /* staging buffers not in use */
  struct rt_cl_custom *customs;    /* programs of custom operations */
  atomic_uint_fast64_t sent, done; /* number of commands sent; how many of them are known to be done */
} rt_opencl;

/* Defined in device_info.c. Lists every device in the order of the platforms: *count of them, in an array
 * `list` with room for RT_CL_DEVICES. */
enum { RT_CL_DEVICES = 64 };
ir_status rt_cl_list(const rt_cl *cl, rt_cl_properties *list, size_t *count, ir_error *error);
/* What every program needs and the device lacks, as a clause for messages; NULL: nothing. */
const char *rt_cl_missing_feature(const rt_cl_properties *properties);
void rt_cl_describe(const rt_cl_properties *properties, ir_target *out);

/* Defined in unsupported.c. */
ir_status rt_cl_accepts(rt_device *device, const char *name, const ir_graph *graph, ir_ref results,
                        const ir_ref *inputs, size_t count, ir_error *error);

/* Defined in opencl.c. Creates the context and the queue if they do not exist. */
ir_status rt_cl_ready(rt_opencl *device, ir_error *error);
/* Waits until all commands that this thread sent are done. */
void rt_cl_finish(rt_opencl *device);
cl_int rt_cl_drain(rt_opencl *device); /* waits even if the device is known to be idle, twice on failure */
static inline void rt_cl_sent(rt_opencl *device) { /* to be called after sending commands */
  atomic_fetch_add_explicit(&device->sent, 1, memory_order_relaxed);
}
static inline bool rt_cl_is_idle(rt_opencl *device) { /* all commands sent are known to be done */
  return atomic_load_explicit(&device->done, memory_order_acquire) >=
         atomic_load_explicit(&device->sent, memory_order_relaxed);
}
/* Fails with the message that there is no room for so many bytes. */
ir_status rt_cl_no_room(rt_opencl *device, const char *name, size_t bytes, ir_error *error);

void rt_cl_remove(rt_opencl *device, void *address); /* device_memory.c: releases its buffers */
/* The buffer at an address, and the offset in it; `empty_buffer` at address NULL. */
cl_mem rt_cl_find(rt_opencl *device, const void *address, size_t *offset);
static inline bool rt_cl_same_region(const void *a, const void *b) { /* are both in one region? */
  return (uintptr_t)a >> RT_CL_SHIFT == (uintptr_t)b >> RT_CL_SHIFT;
}
size_t rt_cl_boundary(rt_device *device); /* largest buffer, rounded down; 0: a buffer may have any size */
extern const rt_block_source rt_cl_blocks,
    rt_cl_split_blocks; /* split: several buffers where one is refused */
ir_status rt_cl_memory_place(rt_device *device, rt_memory *memory, bool keep, ir_error *error);
ir_status rt_cl_memory_read(rt_device *device, rt_memory *memory, ir_error *error);
void rt_cl_memory_free(rt_device *device, rt_memory *memory);
/* Undoes EnqueueMapBuffer. A mapped buffer cannot be freed, so a failed unmap is repeated: at once, and by
 * rt_cl_unmap_all when the device is closed. */
cl_int rt_cl_unmap(rt_opencl *device, cl_command_queue queue, cl_mem buffer, void *mapped);
void rt_cl_unmap_all(rt_opencl *device);
/* A buffer on memory of the host, which must outlive it. */
ir_status rt_cl_wrap(rt_opencl *device, void *host, size_t bytes, bool writes, void **address,
                     ir_error *error);

/* Defined in staging.c. Every acquired staging buffer must be released, which waits for its commands. Bytes
 * that it was to fetch and that rt_cl_staging_finish has not delivered are then lost. */
rt_cl_staging *rt_cl_staging_acquire(rt_opencl *device, cl_int *code); /* NULL on failure */
void rt_cl_staging_release(rt_opencl *device, rt_cl_staging *staging); /* NULL is allowed */
void rt_cl_staging_free(rt_opencl *device);
/* Makes the staging queue wait for all commands sent to the device's queue so far, which may use the same
 * memory. */
cl_int rt_cl_staging_follow(rt_opencl *device, rt_cl_staging *staging);
/* Sends bytes to a device address, by commands in `queue`. `from` may change afterwards. */
cl_int rt_cl_staging_write(rt_opencl *device, rt_cl_staging *staging, cl_command_queue queue, void *to,
                           const void *from, size_t bytes);
/* Makes later commands of `queue` wait for the last command that the staging buffer sent. */
cl_int rt_cl_staging_order(rt_opencl *device, rt_cl_staging *staging, cl_command_queue queue);
/* Fetches bytes from a device address, after the event if there is one. They have arrived at `to` when
 * rt_cl_staging_finish returns. */
cl_int rt_cl_staging_read(rt_opencl *device, rt_cl_staging *staging, cl_command_queue queue,
                          const cl_event *after, void *to, const void *from, size_t bytes);
cl_int rt_cl_staging_finish(rt_opencl *device, rt_cl_staging *staging);

/* Defined in code.c. The kernels of a program: rt_code.made points to an rt_cl_code. */
typedef struct rt_cl_kernel {
  const char *name; /* points into the image */
  size_t items;     /* work-items of a work-group */
  bool checks;
} rt_cl_kernel;
typedef struct rt_cl_code {
  rt_opencl *device;
  cl_program program;
  uint8_t *image;
  size_t size;
  uint32_t count;
  rt_cl_kernel kernels[];
} rt_cl_code;
ir_status rt_cl_compile(rt_context *context, const ir_graph *graph, ir_ref kernel, const char *symbol,
                        rt_flat *image, ir_error *error);
ir_status rt_cl_load_code(rt_context *context, const char *name, const void *image, size_t size,
                          uint32_t kernels, rt_code *out, ir_error *error);
ir_status rt_cl_adopt(rt_context *context, const char *name, rt_found *found, size_t offset, uint32_t kernels,
                      rt_code *out, ir_error *error);
ir_status rt_cl_binary_image(rt_context *context, const rt_code *code, rt_flat *image, ir_error *error);
void rt_cl_unload_code(rt_code *code);

/* Defined in run.c. */
ir_status rt_cl_prepare(rt_program *program, ir_error *error);
void rt_cl_retire(rt_program *program);
ir_status rt_cl_run(rt_program *program, const rt_arguments *arguments, ir_error *error);
void rt_cl_drop_run(rt_program *program, struct rt_run *run);
ir_status rt_cl_launch(const struct rt_run_context *run, const struct rt_step *step);
ir_status rt_cl_copy(const struct rt_run_context *run, void *to, const void *from, size_t bytes);
ir_status rt_cl_read(const struct rt_run_context *run, const void *from, void *to, size_t bytes);
ir_status rt_cl_write(const struct rt_run_context *run, void *to, const void *from, size_t bytes);
ir_status rt_cl_read_predicate(const struct rt_run_context *run, const void *predicate, bool *out);

/* Compiles a text, or finds its binary in the cache on disk under the kind "opencl". `who` begins the
 * messages. */
ir_status rt_cl_build_text(rt_context *context, const char *who, const ir_text *text, cl_program *out,
                           ir_error *error);

/* Defined in custom_kernel.c: runs a custom operation that comes with OpenCL C. word: the status word that a
 * failure sets. */
ir_status rt_cl_call_text(const struct rt_run_context *run, const rt_call_text *text, cl_mem word,
                          const rt_call *call, ir_error *error);
void rt_cl_customs_free(rt_opencl *device);

/* Defined in custom_call.c. */
bool rt_cl_reports(const rt_program *program, uint32_t step); /* is it a custom operation that may fail? */
ir_status rt_cl_call(const struct rt_run_context *run, const struct rt_step *step, const void *found,
                     rt_call *call, ir_error *error);

#endif
