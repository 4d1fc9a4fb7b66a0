/* What a context and its compiler process (the program viewfold-compile) say to each other, over a pair of
 * connected stream sockets.
 *
 * The child greets first. Then the parent asks, any number of times and without waiting for answers; the
 * child answers in any order, by the number of the request. Both ends are of the same sources, on the same
 * machine, which the greeting proves: structures travel as they are in memory.
 *
 *   greeting   rt_wire_greeting
 *   request    rt_wire_request, key_bytes of the kernel's canonical bytes (runtime/cache/kernel_key.h)
 *   answer     rt_wire_answer, laps of rt_wire_lap, `size` bytes: of the output, or of the message of a
 * failure
 *
 * A kernel travels as its canonical bytes because they are all that code generation reads of it, here and
 * there: the code is the same. The child trusts requests but for their lengths; the parent trusts no answer.
 *
 * The child's standard error is a file, which the parent reads where the child has ended: what LLVM wrote,
 * and then, in a line of their own, which request the child was ended by, and why:
 *
 *   viewfold-compile: request NUMBER: REASON
 *
 * with REASON one of RT_WORDS_TIME, RT_WORDS_MEMORY, RT_WORDS_EXIT, and RT_WORDS_SIGNAL followed by the
 * signal's number. */
#ifndef VIEWFOLD_RUNTIME_COMPILER_WIRE_H
#define VIEWFOLD_RUNTIME_COMPILER_WIRE_H

#include <sys/types.h>
#include <sys/uio.h>

#include "codegen/codegen.h"
#include "runtime/cache/kernel_key.h"

enum { RT_WIRE_SOCKET = 3 }; /* the child's end of the pair */

#define RT_WIRE_MAGIC   0x65706d6f632d6676u /* "vf-compe" */
#define RT_WORDS        "viewfold-compile: request "
#define RT_WORDS_TIME   "processor time"
#define RT_WORDS_MEMORY "memory"
#define RT_WORDS_SIGNAL "signal "
#define RT_WORDS_EXIT   "exit"

typedef struct rt_wire_greeting {
  uint64_t magic;
  uint32_t abi, ops, node_size, target_size;
  char source[64]; /* rt_source_id */
} rt_wire_greeting;
void rt_wire_greet(rt_wire_greeting *out);

typedef struct rt_wire_request {
  uint64_t magic, key_bytes;
  uint32_t number;  /* of the request, from 1 */
  uint32_t seconds; /* of processor time that it may take; 0: any */
  int32_t want, level;
  uint32_t timed; /* 1: answer with laps */
  char symbol[RT_SYMBOL];
  ir_target target;
} rt_wire_request;

/* The time that a part of code generation took (ir/timer.h), by its place in rt_wire_parts. */
typedef struct rt_wire_lap {
  uint64_t part;
  int64_t ns;
} rt_wire_lap;
enum { RT_WIRE_LAPS = 8 };
extern const char *const rt_wire_parts[RT_WIRE_LAPS];

/* An object of a gigabyte is longer than the image of a kernel can be addressed (RT_IMAGE_ALIGN in 32 bits,
 * signed displacements): what claims to be longer is no answer. */
#define RT_WIRE_MOST ((uint64_t)1 << 30)

typedef struct rt_wire_answer {
  uint64_t magic, size, scratch;
  uint32_t number, in_place, laps;
  int32_t status; /* ir_status */
} rt_wire_answer;

/* All of `parts` (which are consumed), or all of size bytes, from and to a socket that need not block, until
 * ir_now_ns() is `until` (INT64_MAX: whenever). False where the other end has hung up, on errors, and when
 * time is up. Never raises a signal. */
bool rt_wire_send(int fd, struct iovec *parts, int count, int64_t until);
bool rt_wire_receive(int fd, void *to, size_t size, int64_t until);

#endif
