/* Errors, memory, growable storage and text. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ir_status ir_vfail(ir_error *error, ir_status status, const char *format, va_list args) {
  if (!error) return status;
  if (error->status != IR_OK) return error->status;
  error->status = status;
  vsnprintf(error->text, sizeof error->text, format, args);
  return status;
}

ir_status ir_fail(ir_error *error, ir_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  status = ir_vfail(error, status, format, args);
  va_end(args);
  return status;
}

void ir_error_clear(ir_error *error) {
  error->status = IR_OK;
  error->text[0] = '\0';
}

static void *libc_alloc(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, new_size);
}

const ir_mem ir_mem_libc = {libc_alloc, NULL};

void *ir_alloc(const ir_mem *mem, size_t size) { return mem->fn(mem->user, NULL, 0, size ? size : 1); }

void *ir_resize(const ir_mem *mem, void *ptr, size_t old_size, size_t new_size) {
  return mem->fn(mem->user, ptr, old_size, new_size ? new_size : 1);
}

void ir_free(const ir_mem *mem, void *ptr, size_t size) {
  if (ptr) mem->fn(mem->user, ptr, size ? size : 1, 0);
}

/* With IR_HARD arrays have no spare capacity, so that a test's allocator can fail wherever one grows. */
#ifdef IR_HARD
enum { FIRST_ROOM = 0 };
#else
enum { FIRST_ROOM = 8 };
#endif

bool ir_reserve(const ir_mem *mem, void **ptr, size_t *cap, size_t need, size_t size) {
  if (need <= *cap) return true;
  size_t grown = FIRST_ROOM == 0 ? need : *cap ? *cap : FIRST_ROOM;
  while (grown < need) {
    if (grown > SIZE_MAX / 2 / size) return false;
    grown *= 2;
  }
  void *moved = ir_resize(mem, *ptr, *cap * size, grown * size);
  if (!moved) return false;
  *ptr = moved;
  *cap = grown;
  return true;
}

void ir_text_init(ir_text *text, const ir_mem *mem) { *text = (ir_text){.mem = mem}; }

void ir_text_free(ir_text *text) {
  ir_free(text->mem, text->data, text->cap);
  ir_text_init(text, text->mem);
}

static bool text_room(ir_text *text, size_t count) {
  if (!text->failed && count < SIZE_MAX - text->len &&
      IR_RESERVE(text->mem, text->data, text->cap, text->len + count + 1))
    return true;
  text->failed = true;
  return false;
}

void ir_text_add(ir_text *text, const char *bytes, size_t count) {
  if (!text_room(text, count)) return;
  memcpy(text->data + text->len, bytes, count);
  text->len += count;
  text->data[text->len] = '\0';
}

void ir_text_str(ir_text *text, const char *string) { ir_text_add(text, string, strlen(string)); }

void ir_textf(ir_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  size_t room = text->failed ? 0 : text->cap - text->len; /* it fits in most times */
  int length = vsnprintf(room ? text->data + text->len : NULL, room, format, args);
  bool good = length >= 0 && text_room(text, (size_t)length);
  if (good && (size_t)length >= room) vsnprintf(text->data + text->len, (size_t)length + 1, format, again);
  if (good) text->len += (size_t)length;
  else text->failed = true;
  if (text->cap) text->data[text->len] = '\0';
  va_end(again);
  va_end(args);
}

void ir_text_int(ir_text *text, int64_t number) {
  char digits[20]; /* of -2^63, which has a sign and 19 */
  size_t at = sizeof digits;
  uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
  do digits[--at] = (char)('0' + left % 10);
  while (left /= 10);
  if (number < 0) digits[--at] = '-';
  ir_text_add(text, digits + at, sizeof digits - at);
}

const char *ir_text_get(const ir_text *text) { return text->data ? text->data : ""; }
