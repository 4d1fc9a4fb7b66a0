#include "frontend/onnx/wire.h"

#include <string.h>

bool wire_equal(wire_bytes a, wire_bytes b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

bool wire_is(wire_bytes bytes, const char *text) {
  return wire_equal(bytes, (wire_bytes){(const uint8_t *)text, strlen(text)});
}

/* memory */

struct wire_block {
  wire_block *next;
  size_t size, used;
  _Alignas(16) unsigned char bytes[];
};

enum { BLOCK = 1 << 16 }; /* of models of a few nodes one block holds all */

void *wire_alloc(wire_arena *a, size_t size) {
  wire_block *b = a->blocks;
  if (size > a->limit - a->used) {
    ir_fail(a->error, IR_ERR_INVALID, "reading it takes more than %zu bytes of memory, the most for its size",
            a->limit);
    return NULL;
  }
  size_t rounded = (size + 15) / 16 * 16;
  if (!b || b->size - b->used < rounded) {
    size_t room = rounded > BLOCK ? rounded : BLOCK;
    b = ir_alloc(a->mem, sizeof *b + room);
    if (!b) {
      ir_fail(a->error, IR_ERR_MEMORY, "out of memory reading a model");
      return NULL;
    }
    *b = (wire_block){.next = a->blocks, .size = room};
    a->blocks = b;
  }
  void *given = b->bytes + b->used;
  b->used += rounded;
  a->used += size;
  return memset(given, 0, rounded);
}

void wire_free(wire_arena *a) {
  for (wire_block *b = a->blocks, *next; b; b = next) {
    next = b->next;
    ir_free(a->mem, b, sizeof *b + b->size);
  }
  a->blocks = NULL;
}

/* fields */

typedef struct cursor {
  wire_arena *arena;
  const wire_message *message;
  wire_bytes whole;
  const uint8_t *at, *end;
} cursor;

static bool broken(cursor *c, const char *what) {
  ir_fail(c->arena->error, IR_ERR_INVALID, "byte %zu: %s in a message %s; the file is cut off or damaged",
          (size_t)(c->at - c->whole.at), what, c->message->name);
  return false;
}

static bool read_varint(cursor *c, uint64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (c->at == c->end) return broken(c, "a number does not end");
    uint8_t byte = *c->at++;
    if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      *out = value;
      return true;
    }
  }
  return broken(c, "a number has more than 10 bytes");
}

static bool read_bytes(cursor *c, wire_bytes *out) {
  uint64_t size;
  if (!read_varint(c, &size)) return false;
  if (size > (uint64_t)(c->end - c->at)) return broken(c, "a field is longer than what is left");
  *out = (wire_bytes){c->at, (size_t)size};
  c->at += size;
  return true;
}

static bool read_fixed(cursor *c, size_t size, void *out) {
  if ((size_t)(c->end - c->at) < size) return broken(c, "a field is longer than what is left");
  memcpy(out, c->at, size);
  c->at += size;
  return true;
}

static void *append(cursor *c, wire_list *list, size_t count, size_t size) {
  if (list->cap - list->count < count) {
    size_t cap = list->cap ? 2 * list->cap : 4;
    if (cap < list->count + count) cap = list->count + count;
    void *items = wire_alloc(c->arena, cap * size);
    if (!items) return NULL;
    if (list->count) memcpy(items, list->items, list->count * size);
    list->items = items;
    list->cap = cap;
  }
  void *given = (char *)list->items + list->count * size;
  list->count += count;
  return given;
}

static bool append_varint(cursor *c, wire_list *list) {
  uint64_t value;
  int64_t *item;
  if (!read_varint(c, &value) || !(item = append(c, list, 1, sizeof *item))) return false;
  *item = (int64_t)value;
  return true;
}

/* All varints of a packed field; their number is that of the bytes below 128. */
static bool append_packed(cursor *c, wire_list *list, wire_bytes packed) {
  cursor inner = *c;
  inner.at = packed.at;
  inner.end = packed.at + packed.size;
  size_t count = 0;
  for (size_t i = 0; i < packed.size; i++) count += packed.at[i] < 128;
  int64_t *items = count ? append(c, list, count, sizeof *items) : NULL;
  if (count && !items) return false;
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    if (!read_varint(&inner, &value)) return false;
    items[i] = (int64_t)value;
  }
  return inner.at == inner.end || broken(&inner, "a number does not end");
}

/* The numbers of the wire types: VARINT, FIXED64, BYTES (with a length before them) and FIXED32. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static bool skip(cursor *c, unsigned type) {
  uint64_t number;
  wire_bytes bytes;
  char fixed[8];
  switch (type) {
  case VARINT: return read_varint(c, &number);
  case FIXED64: return read_fixed(c, 8, fixed);
  case BYTES: return read_bytes(c, &bytes);
  case FIXED32: return read_fixed(c, 4, fixed);
  default: return broken(c, "a field is of no known wire type");
  }
}

/* A list of fixed-size numbers: one, or all of a packed field. */
static bool append_fixed(cursor *c, unsigned type, wire_list *list, size_t size) {
  wire_bytes packed;
  void *items;
  if (type != BYTES) return (items = append(c, list, 1, size)) && read_fixed(c, size, items);
  if (!read_bytes(c, &packed)) return false;
  if (packed.size % size) return broken(c, "a packed field is no whole number of elements");
  if (packed.size == 0) return true;
  if (!(items = append(c, list, packed.size / size, size))) return false;
  memcpy(items, packed.at, packed.size);
  return true;
}

static bool read_field(cursor *c, const wire_field *f, unsigned type, void *out) {
  static const uint8_t expected[] = {
      [WIRE_INT] = VARINT,  [WIRE_REAL] = FIXED32,  [WIRE_BYTES] = BYTES,    [WIRE_MANY] = BYTES,
      [WIRE_INTS] = VARINT, [WIRE_REALS] = FIXED32, [WIRE_DOUBLES] = FIXED64};
  void *to = (char *)out + f->offset;
  wire_bytes packed, *item;
  uint64_t number;
  bool list = f->kind >= WIRE_INTS;
  if (type != expected[f->kind] && !(list && type == BYTES))
    return broken(c, "a field has the wire type of another kind");
  switch (f->kind) {
  case WIRE_INT:
    if (!read_varint(c, &number)) return false;
    *(int64_t *)to = (int64_t)number;
    return true;
  case WIRE_REAL: return read_fixed(c, 4, to);
  case WIRE_BYTES: return read_bytes(c, to);
  case WIRE_MANY: return (item = append(c, to, 1, sizeof *item)) && read_bytes(c, item);
  case WIRE_INTS:
    return type == BYTES ? read_bytes(c, &packed) && append_packed(c, to, packed) : append_varint(c, to);
  case WIRE_REALS: return append_fixed(c, type, to, sizeof(float));
  case WIRE_DOUBLES: return append_fixed(c, type, to, sizeof(double));
  }
  return false;
}

bool wire_read(wire_arena *arena, const wire_message *message, wire_bytes whole, wire_bytes bytes,
               void *out) {
  cursor c = {arena, message, whole, bytes.at, bytes.at + bytes.size};
  while (c.at != c.end) {
    uint64_t key;
    if (!read_varint(&c, &key)) return false;
    const wire_field *f = message->fields, *end = f + message->field_count;
    while (f != end && f->number != key >> 3) f++;
    if (f == end ? !skip(&c, key & 7) : !read_field(&c, f, key & 7, out)) return false;
  }
  return true;
}
