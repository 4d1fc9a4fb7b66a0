/* The wire format of Protocol Buffers: messages as they lie in a file, without a copy.
 *
 * A message is read by a table of its fields into a struct. Fields that hold bytes (strings, messages, raw
 * elements) are pointers into the file, so weights stay where they are and nested messages are read when they
 * are asked for: nothing here recurses. Fields that the table lacks are skipped. Of a field that is no list
 * the last occurrence counts, as the format has it. */
#ifndef VIEWFOLD_FRONTEND_ONNX_WIRE_H
#define VIEWFOLD_FRONTEND_ONNX_WIRE_H

#include "ir/base.h"

typedef struct wire_bytes {
  const uint8_t *at;
  size_t size;
} wire_bytes;

/* Is it this string? */
bool wire_is(wire_bytes bytes, const char *text);
bool wire_equal(wire_bytes a, wire_bytes b);
/* For `%.*s`: at most 200 bytes of it. */
#define WIRE_TEXT(bytes) (int)((bytes).size < 200 ? (bytes).size : 200), (const char *)(bytes).at

/* Memory that is freed as a whole. No more than `limit` bytes are given out: what a file asks for is bounded
 * by its size. */
typedef struct wire_block wire_block;
typedef struct wire_arena {
  const ir_mem *mem;
  ir_error *error;
  wire_block *blocks;
  size_t used, limit;
} wire_arena;
/* Aligned to 16 bytes, all zero. NULL, with the error set, where memory is short or the limit is reached. */
void *wire_alloc(wire_arena *arena, size_t size);
void wire_free(wire_arena *arena);

typedef struct wire_list {
  void *items;
  size_t count, cap;
} wire_list;

typedef enum wire_kind {
  WIRE_INT,     /* int64_t: a varint */
  WIRE_REAL,    /* float: 4 bytes */
  WIRE_BYTES,   /* wire_bytes */
  WIRE_MANY,    /* wire_list of wire_bytes */
  WIRE_INTS,    /* wire_list of int64_t; packed or one by one */
  WIRE_REALS,   /* wire_list of float, likewise */
  WIRE_DOUBLES, /* wire_list of double, likewise */
} wire_kind;

typedef struct wire_field {
  uint32_t number;
  wire_kind kind;
  size_t offset; /* in the struct */
} wire_field;

typedef struct wire_message {
  const char *name; /* for messages */
  const wire_field *fields;
  size_t field_count;
} wire_message;

/* Reads the message into the struct `out`, which is all zero. Lists are of the arena. False after an error,
 * which says where in the file (`whole`) the message is broken. */
bool wire_read(wire_arena *arena, const wire_message *message, wire_bytes whole, wire_bytes bytes, void *out);

#endif
