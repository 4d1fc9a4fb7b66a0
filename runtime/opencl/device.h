/* An OpenCL device as the files behind opencl.h see it. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_DEVICE_H
#define VIEWFOLD_RUNTIME_OPENCL_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/opencl/loader.h"
#include "runtime/opencl/opencl.h"

/* What a device says of itself. */
typedef struct rt_cl_facts {
  cl_platform_id platform;
  cl_device_id id;
  char name[128], platform_name[128], version[128], driver[64];
  bool cpu;     /* its lanes are elements of vectors, not work-items */
  bool unified; /* its memory is the host's */
  bool available, compiler, little_endian, since_1_2;
  bool f64, denormals, divides;                       /* correctly rounded division and square root of f32 */
  bool ptx;                                           /* kernels may hold instructions of PTX */
  uint32_t together;                                  /* work-items that run in step */
  uint32_t matrix;                                    /* terms of one matrix instruction; 0: there is none */
  bool fma;                                           /* in hardware */
  uint32_t units, address_bits, group, vector_floats; /* group: most work-items of one */
  uint64_t memory, buffer, local, cache;              /* bytes; buffer: most in one piece */
  uint64_t parameters;                                /* bytes of a kernel's arguments */
  uint32_t alignment;                                 /* of a buffer within a buffer */
} rt_cl_facts;

/* Memory of the device's, one buffer or several. Its address is its place in the table + 1, above RT_CL_SHIFT
 * bits of offset. */
enum { RT_CL_SHIFT = 40 };
typedef struct rt_cl_region {
  cl_mem buffer; /* NULL: the place is free, and `bytes` the next free one + 1 */
  cl_mem *parts; /* or all these, of rt_cl_part bytes but for the last; the first is `buffer` */
  uint64_t bytes;
} rt_cl_region;

/* A buffer that could not be unmapped, which is tried again when the device is closed. */
typedef struct rt_cl_mapped {
  struct rt_cl_mapped *next;
  cl_mem buffer;
  void *there;
} rt_cl_mapped;

/* Takes elements between the host and the device (staging.c). */
enum { RT_CL_PIECES = 2 };
typedef struct rt_cl_piece {
  cl_event event; /* of its command; NULL: it is free */
  uint8_t *at;    /* in the ferry's memory */
  void *to;       /* where the host wants what was fetched; NULL: nowhere */
  size_t bytes;
} rt_cl_piece;
typedef struct rt_cl_ferry {
  struct rt_cl_ferry *next;
  cl_command_queue queue;
  cl_mem memory; /* for all pieces */
  uint8_t *at;   /* as the host sees it */
  rt_cl_piece pieces[RT_CL_PIECES];
  unsigned turn; /* the next one */
} rt_cl_ferry;

typedef struct rt_opencl {
  rt_device base;
  ir_mem mem;
  rt_cl cl;
  rt_cl_facts facts;
  pthread_mutex_t lock;          /* of all below */
  cl_context context;            /* NULL: nothing was run yet */
  cl_command_queue queue, timed; /* in order; timed: for runs that are timed, NULL until the first */
  cl_mem nothing;                /* stands for buffers of no bytes */
  rt_cl_region *regions;
  size_t region_count, region_cap, free_region; /* free_region: + 1 */
  rt_arenas pool;                               /* buffers of the device's own, for arrays of the host's */
  rt_cl_mapped *mapped;
  rt_cl_ferry *ferries;            /* that nobody uses */
  struct rt_cl_custom *customs;    /* programs of custom operations */
  atomic_uint_fast64_t sent, done; /* commands so far; of them, known to be done */
} rt_opencl;

/* device_info.c: every device, in the platforms' order. *count of them in an array to be freed with ir_free:
 * room for RT_CL_DEVICES. */
enum { RT_CL_DEVICES = 64 };
ir_status rt_cl_list(const rt_cl *cl, rt_cl_facts *list, size_t *count, ir_error *error);
/* What every program needs and the device lacks, in words; NULL: nothing. */
const char *rt_cl_lacks(const rt_cl_facts *facts);
void rt_cl_describe(const rt_cl_facts *facts, ir_target *out);

/* unsupported.c */
ir_status rt_cl_accepts(rt_device *device, const char *name, const ir_graph *graph, ir_ref results,
                        const ir_ref *inputs, size_t count, ir_error *error);

/* opencl.c: context and queue are there. */
ir_status rt_cl_ready(rt_opencl *device, ir_error *error);
/* All commands that this thread sent are done. */
ir_status rt_cl_finish(rt_opencl *device, ir_error *error);
cl_int rt_cl_drain(rt_opencl *device); /* likewise, whatever is known; tried again where it fails */
static inline void rt_cl_sent(rt_opencl *device) { /* after sending some */
  atomic_fetch_add_explicit(&device->sent, 1, memory_order_relaxed);
}
static inline bool rt_cl_is_idle(rt_opencl *device) { /* known to have done all that was sent */
  return atomic_load_explicit(&device->done, memory_order_acquire) >=
         atomic_load_explicit(&device->sent, memory_order_relaxed);
}
/* There is no room for so many bytes. */
ir_status rt_cl_no_room(rt_opencl *device, const char *name, size_t bytes, ir_error *error);

/* device_memory.c: addresses */
void *rt_cl_add(rt_opencl *device, rt_cl_region region); /* NULL: memory is short */
void rt_cl_remove(rt_opencl *device, void *address);     /* its buffers are released */
/* The buffer at an address, and where in it; that which stands for none at an address that is none. */
cl_mem rt_cl_find(rt_opencl *device, const void *address, size_t *offset);
static inline bool rt_cl_meet(const void *a, const void *b) { /* are they of one buffer? */
  return (uintptr_t)a >> RT_CL_SHIFT == (uintptr_t)b >> RT_CL_SHIFT;
}
size_t rt_cl_part(rt_device *device); /* 0: one buffer may take all memory */
extern const rt_block_source rt_cl_blocks,
    rt_cl_cut_blocks; /* cut: of several buffers where one is refused */
ir_status rt_cl_memory_place(rt_device *device, rt_memory *memory, bool keep, ir_error *error);
ir_status rt_cl_memory_read(rt_device *device, rt_memory *memory, ir_error *error);
void rt_cl_memory_free(rt_device *device, rt_memory *memory);
/* Ends EnqueueMapBuffer. A buffer lives as long as it is mapped, so it is tried again: at once, and at last
 * by rt_cl_unmap_all. */
cl_int rt_cl_unmap(rt_opencl *device, cl_command_queue queue, cl_mem buffer, void *mapped);
void rt_cl_unmap_all(rt_opencl *device);
/* A buffer on these bytes of the host's, which outlive it. */
ir_status rt_cl_wrap(rt_opencl *device, void *host, size_t bytes, bool writes, void **address,
                     ir_error *error);

/* staging.c. A ferry that was taken is given back in any case; it then does nothing any more, and what
 * it was to fetch and rt_cl_ferry_settle has not seen to is lost. */
rt_cl_ferry *rt_cl_ferry_take(rt_opencl *device, cl_int *code); /* NULL after failing */
void rt_cl_ferry_give(rt_opencl *device, rt_cl_ferry *ferry);   /* NULL: nothing */
void rt_cl_ferries_free(rt_opencl *device);
/* Its queue begins when all is done that was sent to the device's so far, which may use the same memory. */
cl_int rt_cl_ferry_follow(rt_opencl *device, rt_cl_ferry *ferry);
/* To a device's address, by commands of that queue. `from` may change afterwards. */
cl_int rt_cl_ferry_send(rt_opencl *device, rt_cl_ferry *ferry, cl_command_queue queue, void *to,
                        const void *from, size_t bytes);
/* What is sent to this queue from now on waits for what the ferry sent last. */
cl_int rt_cl_ferry_arrived(rt_opencl *device, rt_cl_ferry *ferry, cl_command_queue queue);
/* From a device's address, after the event if there is one; there when all is settled. */
cl_int rt_cl_ferry_fetch(rt_opencl *device, rt_cl_ferry *ferry, cl_command_queue queue, const cl_event *after,
                         void *to, const void *from, size_t bytes);
cl_int rt_cl_ferry_settle(rt_opencl *device, rt_cl_ferry *ferry);

/* code.c: a program's kernels, what rt_code.made is. */
typedef struct rt_cl_kernel {
  const char *name; /* in the image */
  size_t items;     /* of a group */
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
ir_status rt_cl_extra(rt_context *context, const rt_code *code, rt_flat *image, ir_error *error);
void rt_cl_unload_code(rt_code *code);

/* run.c */
ir_status rt_cl_prepare(rt_program *program, ir_error *error);
void rt_cl_retire(rt_program *program);
ir_status rt_cl_run(rt_program *program, const rt_arguments *arguments, ir_error *error);
void rt_cl_drop_run(rt_program *program, struct rt_run *run);
ir_status rt_cl_launch(const struct rt_going *going, const struct rt_step *step);
ir_status rt_cl_copy(const struct rt_going *going, void *to, const void *from, size_t bytes);
ir_status rt_cl_holds(const struct rt_going *going, const void *predicate, bool *out);

/* Text compiled, or found in the cache on disk by itself: kind "opencl". `who` asks for it, in messages. */
ir_status rt_cl_build_text(rt_context *context, const char *who, const ir_text *text, cl_program *out,
                           ir_error *error);

/* custom_kernel.c: a custom operation that comes with OpenCL C. word: where a failure is noted. */
ir_status rt_cl_call_text(const struct rt_going *going, const rt_call_text *text, cl_mem word,
                          const rt_call *call, ir_error *error);
void rt_cl_customs_free(rt_opencl *device);

/* custom_call.c */
bool rt_cl_reports(const rt_program *program, uint32_t step); /* a custom operation that may fail */
ir_status rt_cl_call(const struct rt_going *going, const struct rt_step *step, const void *found,
                     rt_call *call, ir_error *error);

#endif
