#include "runtime/mesh/fault.h"

#include <stdio.h>
#include <string.h>

/* The bytes of "device 1 (x=1): ", or "device 1 (x=1) of process 0: ", in front; 0: there are none. */
static size_t head_of(const char *text) {
  static const char of[] = ") of process ";
  size_t digits = strncmp(text, "device ", 7) ? 0 : strspn(text + 7, "0123456789");
  const char *end = digits ? strchr(text, ')') : NULL;
  if (end && !strncmp(end, of, sizeof of - 1))
    end += sizeof of - 2 + strspn(end + sizeof of - 1, "0123456789");
  return end && !strncmp(end + 1, ": ", 2) ? (size_t)(end - text) + 3 : 0;
}

/* "; device 0 (x=0) waited for ...", or "" */
static const char *tail_of(const char *text) {
  const char *waited = strstr(text, " waited for device "), *at = waited ? waited : text;
  while (waited && at > text && strncmp(at, "; device ", 9) != 0) at--;
  return waited && at > text ? at : text + strlen(text);
}

void rt_fault_wrap(const ir_error *run, ir_error *error) {
  char inner[sizeof error->text];
  size_t head = head_of(run->text), tail = strlen(tail_of(run->text)), room = sizeof inner - head - tail - 1;
  if (!head) return;
  memcpy(inner, error->text, sizeof inner);
  snprintf(error->text, sizeof error->text, "%.*s%.*s%s", (int)head, run->text, (int)room, inner,
           tail_of(run->text));
}
