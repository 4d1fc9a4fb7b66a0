/* The protocol between a context and its compiler process (the program viewfold-compile), over a pair of
 * connected stream sockets.
 *
 * The child sends a greeting first. Then the parent sends any number of requests, without waiting for
 * answers. The child answers in any order; an answer carries the number of its request. The greeting proves
 * that both ends were built from the same sources, and both run on the same machine, so structures are sent
 * as they are in memory.
 *
 *   greeting   rt_wire_greeting
 *   request    rt_wire_request, key_bytes of the kernel's canonical bytes (runtime/cache/kernel_key.h)
 *   answer     rt_wire_answer, `laps` structures rt_wire_lap, `size` bytes of output or of an error message
 *
 * A kernel is sent as its canonical bytes because these are all that code generation reads of it in either
 * process: the code is the same. The child trusts everything in a request but the lengths; the parent trusts
 * nothing in an answer.
 *
 * The child's standard error is a file, which the parent reads when the child has ended: first LLVM's output,
 * then, in a line of its own, the request that ended the child and the reason:
 *
 *   viewfold-compile: request NUMBER: REASON
 *
 * REASON is RT_REASON_TIME, RT_REASON_MEMORY or RT_REASON_EXIT, or RT_REASON_SIGNAL followed by the signal's
 * number. */
#ifndef VIEWFOLD_RUNTIME_COMPILER_WIRE_H
#define VIEWFOLD_RUNTIME_COMPILER_WIRE_H

#include <sys/types.h>
#include <sys/uio.h>

#include "codegen/codegen.h"
#include "runtime/cache/kernel_key.h"

enum { RT_WIRE_SOCKET = 3 }; /* the child's end of the pair */

#define RT_WIRE_MAGIC    0x65706d6f632d6676u /* "vf-compe" */
#define RT_REASON_PREFIX "viewfold-compile: request "
#define RT_REASON_TIME   "processor time"
#define RT_REASON_MEMORY "memory"
#define RT_REASON_SIGNAL "signal "
#define RT_REASON_EXIT   "exit"

typedef struct rt_wire_greeting {
  uint64_t magic;
  uint32_t abi, ops, node_size, target_size;
  char source[64]; /* rt_source_id */
} rt_wire_greeting;
/* The greeting of this build, padding bytes zero, so that two greetings can be compared as bytes. */
void rt_wire_greet(rt_wire_greeting *out);

typedef struct rt_wire_request {
  uint64_t magic, key_bytes;
  uint32_t number;  /* of the request, from 1 */
  uint32_t seconds; /* limit of processor time; 0: none */
  int32_t want, level;
  uint32_t timed; /* 1: the answer contains laps */
  char symbol[RT_SYMBOL];
  ir_target target;
} rt_wire_request;

/* The nanoseconds that a phase of code generation took (ir/timer.h); `phase` is its index in
 * rt_wire_phases. */
typedef struct rt_wire_lap {
  uint64_t phase;
  int64_t ns;
} rt_wire_lap;
enum { RT_WIRE_LAPS = 8 };
extern const char *const rt_wire_phases[RT_WIRE_LAPS];

/* The largest answer that is accepted. Images have 32-bit offsets and signed displacements (RT_IMAGE_ALIGN),
 * so the code of an object beyond a gigabyte could not be addressed. */
#define RT_WIRE_MOST ((uint64_t)1 << 30)

typedef struct rt_wire_answer {
  uint64_t magic, size, scratch;
  uint32_t number, in_place, laps;
  int32_t status; /* ir_status */
  cg_uses uses;
} rt_wire_answer;

/* Send all of `parts` (which are consumed), or receive `size` bytes, over a socket that may be non-blocking,
 * until ir_now_ns() is `until` (INT64_MAX: no limit). False where the other end is closed, on errors, and
 * when time is up. Never raises a signal. */
bool rt_wire_send(int fd, struct iovec *parts, int count, int64_t until);
bool rt_wire_receive(int fd, void *to, size_t size, int64_t until);
/* Wait until there is something to receive, or the other end is closed. False where time is up before. */
bool rt_wire_ready(int fd, int64_t until);

#endif
