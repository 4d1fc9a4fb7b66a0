/* Sending and receiving whole messages over a socket. */
#define _GNU_SOURCE /* MSG_NOSIGNAL */
#include "runtime/compiler/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/cache/identity.h"

/* "read" is reading the kernel from its bytes; codegen/llvm/llvm.c notes the other phases. */
const char *const rt_wire_phases[RT_WIRE_LAPS] = {"read",   "nest",     "open",   "emit",
                                                  "verify", "simplify", "select", "close"};

void rt_wire_greet(rt_wire_greeting *out) {
  memset(out, 0, sizeof *out);
  out->magic = RT_WIRE_MAGIC;
  out->abi = CG_ENTRY_ABI;
  out->ops = IR_OP_COUNT;
  out->node_size = sizeof(ir_node);
  out->target_size = sizeof(ir_target);
  snprintf(out->source, sizeof out->source, "%s", rt_source_id());
}

/* Wait for events until `until`. poll takes milliseconds as an int, so a longer wait is several calls. */
static bool wait_for(int fd, short events, int64_t until) {
  for (;;) {
    int64_t left = until == INT64_MAX ? -1 : (until - ir_now_ns() + 999999) / 1000000;
    if (until != INT64_MAX && left < 0) left = 0;
    struct pollfd one = {fd, events, 0};
    int found = poll(&one, 1, left > 1000000 ? 1000000 : (int)left);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
    if (found == 0 && left <= 1000000) return false;
  }
}

static bool is_transient(void) { return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK; }

bool rt_wire_send(int fd, struct iovec *parts, int count, int64_t until) {
  while (count > 0) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    ssize_t done = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (done < 0 && !is_transient()) return false;
    if (done < 0 && errno != EINTR && !wait_for(fd, POLLOUT, until)) return false;
    size_t left = done > 0 ? (size_t)done : 0;
    for (; count > 0 && left >= parts->iov_len; parts++, count--) left -= parts->iov_len;
    if (count > 0) {
      parts->iov_base = (char *)parts->iov_base + left;
      parts->iov_len -= left;
    }
  }
  return true;
}

bool rt_wire_ready(int fd, int64_t until) { return wait_for(fd, POLLIN, until); }

bool rt_wire_receive(int fd, void *to, size_t size, int64_t until) {
  for (char *at = to; size > 0;) {
    ssize_t done = recv(fd, at, size, 0);
    if (done == 0 || (done < 0 && !is_transient())) return false;
    if (done < 0 && errno != EINTR && !wait_for(fd, POLLIN, until)) return false;
    if (done > 0) at += done, size -= (size_t)done;
  }
  return true;
}
