/* GGUF, versions 2 and 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): numbers are
 * little-endian, strings have a length of 8 bytes before them.
 *
 *   "GGUF", version, number of arrays, number of metadata; each: key, type, value
 *   each array: name, rank, sizes (the last axis first), type, offset in the data
 *   the data, from the next multiple of `general.alignment` on (32 without it)
 *
 * Of the metadata, only the alignment is read; the rest is passed over. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"
#include "frontend/files/npy_header.h"

enum {
  MAGIC = 4,         /* bytes of the word that a file begins with */
  ALIGNMENT = 32,    /* bytes, of the elements, where the metadata do not say otherwise */
  NAME_MOST = 65535, /* bytes of a name; others allow 64 */
  LEAST_PAIR = 13,   /* bytes of a metadatum: the length of its key, its type, one byte */
  LEAST_ARRAY = 24   /* bytes of an array's description: the length of its name, rank, type, offset */
};
static const char alignment_key[] = "general.alignment";

/* The numbers of the types TYPE_U32, TYPE_STRING and TYPE_LIST of metadata; scalar_bytes: bytes of each type,
 * 0 where they vary. */
enum { TYPE_U32 = 4, TYPE_STRING = 8, TYPE_LIST = 9 };
static const uint8_t scalar_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
enum { SCALARS = sizeof scalar_bytes };

/* The types of elements, by their number: how many make a block, and its bytes. From the table of the `gguf`
 * package; numbers that are left out were never in use, or are not any more. */
static const struct type {
  const char *name;
  uint16_t elements, bytes;
  ir_dtype dtype;
  fe_encoding encoding;
} types[] = {[0] = {"F32", 1, 4, IR_F32, FE_PLAIN},
             [1] = {"F16", 1, 2, IR_F16, FE_PLAIN},
             [2] = {"Q4_0", FE_BLOCK, FE_Q4_0_BYTES, IR_F32, FE_Q4_0},
             [3] = {"Q4_1", 32, 20, IR_NONE, FE_OTHER},
             [6] = {"Q5_0", 32, 22, IR_NONE, FE_OTHER},
             [7] = {"Q5_1", 32, 24, IR_NONE, FE_OTHER},
             [8] = {"Q8_0", FE_BLOCK, FE_Q8_0_BYTES, IR_F32, FE_Q8_0},
             [9] = {"Q8_1", 32, 40, IR_NONE, FE_OTHER},
             [10] = {"Q2_K", 256, 84, IR_NONE, FE_OTHER},
             [11] = {"Q3_K", 256, 110, IR_NONE, FE_OTHER},
             [12] = {"Q4_K", 256, 144, IR_NONE, FE_OTHER},
             [13] = {"Q5_K", 256, 176, IR_NONE, FE_OTHER},
             [14] = {"Q6_K", 256, 210, IR_NONE, FE_OTHER},
             [15] = {"Q8_K", 256, 292, IR_NONE, FE_OTHER},
             [16] = {"IQ2_XXS", 256, 66, IR_NONE, FE_OTHER},
             [17] = {"IQ2_XS", 256, 74, IR_NONE, FE_OTHER},
             [18] = {"IQ3_XXS", 256, 98, IR_NONE, FE_OTHER},
             [19] = {"IQ1_S", 256, 50, IR_NONE, FE_OTHER},
             [20] = {"IQ4_NL", 32, 18, IR_NONE, FE_OTHER},
             [21] = {"IQ3_S", 256, 110, IR_NONE, FE_OTHER},
             [22] = {"IQ2_S", 256, 82, IR_NONE, FE_OTHER},
             [23] = {"IQ4_XS", 256, 136, IR_NONE, FE_OTHER},
             [24] = {"I8", 1, 1, IR_I8, FE_PLAIN},
             [25] = {"I16", 1, 2, IR_I16, FE_PLAIN},
             [26] = {"I32", 1, 4, IR_I32, FE_PLAIN},
             [27] = {"I64", 1, 8, IR_I64, FE_PLAIN},
             [28] = {"F64", 1, 8, IR_F64, FE_PLAIN},
             [29] = {"IQ1_M", 256, 56, IR_NONE, FE_OTHER},
             [30] = {"BF16", 1, 2, IR_BF16, FE_PLAIN},
             [34] = {"TQ1_0", 256, 54, IR_NONE, FE_OTHER},
             [35] = {"TQ2_0", 256, 66, IR_NONE, FE_OTHER},
             [39] = {"MXFP4", 32, 17, IR_NONE, FE_OTHER}};
enum { TYPES = sizeof types / sizeof *types };

typedef struct reader {
  fe_arrays *out;
  fe_source *source;
  uint64_t at;
  ir_error *error;
  const char *what; /* is being read, for messages */
} reader;

static bool fail(const reader *r, const char *why) {
  fe_file_fail(r->error, IR_ERR_INVALID, r->source->name, "%s before byte %" PRIu64 " %s", r->what, r->at,
               why);
  return false;
}

/* A number of 1 to 8 bytes. */
static bool number(reader *r, int bytes, uint64_t *value) {
  uint8_t raw[8];
  if (fe_source_read(r->source, r->at, raw, (size_t)bytes, r->what, r->error) != IR_OK) return false;
  r->at += (uint64_t)bytes;
  *value = fe_number(raw, bytes);
  return true;
}

static bool skip(reader *r, uint64_t bytes) {
  if (bytes > r->source->size - r->at) return fail(r, "is longer than the file");
  r->at += bytes;
  return true;
}

static bool skip_string(reader *r) {
  uint64_t length;
  return number(r, 8, &length) && skip(r, length);
}

/* A string of at most `most` bytes. */
static bool read_string(reader *r, char *to, size_t most, size_t *length) {
  uint64_t bytes;
  if (!number(r, 8, &bytes)) return false;
  if (bytes > most || bytes > r->source->size - r->at) return fail(r, "has a string that is too long");
  *length = (size_t)bytes;
  if (fe_source_read(r->source, r->at, to, *length, r->what, r->error) != IR_OK) return false;
  r->at += bytes;
  return true;
}

static bool skip_list(reader *r) {
  uint64_t type, count;
  if (!number(r, 4, &type) || !number(r, 8, &count)) return false;
  if (type == TYPE_LIST || type >= SCALARS) return fail(r, "is a list of lists, or of an unknown type");
  uint64_t each = type == TYPE_STRING ? 8 : scalar_bytes[type];
  if (count > (r->source->size - r->at) / each) return fail(r, "is a list that is longer than the file");
  if (type != TYPE_STRING) return skip(r, count * each);
  for (uint64_t i = 0; i < count; i++)
    if (!skip_string(r)) return false;
  return true;
}

static bool read_alignment(reader *r, uint64_t type, uint64_t *alignment) {
  if (*alignment) return fail(r, "gives the alignment twice");
  if (type != TYPE_U32) return fail(r, "gives an alignment that is no u32");
  if (!number(r, 4, alignment)) return false;
  bool power = *alignment >= 8 && (*alignment & (*alignment - 1)) == 0;
  return power || fail(r, "gives an alignment that is no power of two of at least 8");
}

/* One metadatum; *alignment is 0 until it has been read. */
static bool read_pair(reader *r, uint64_t *alignment) {
  uint64_t length, type;
  char key[sizeof alignment_key] = "";
  if (!number(r, 8, &length)) return false;
  if (length > r->source->size - r->at) return fail(r, "has a key that is longer than the file");
  bool known = length == sizeof alignment_key - 1;
  if (known && fe_source_read(r->source, r->at, key, (size_t)length, r->what, r->error) != IR_OK)
    return false;
  if (!skip(r, length) || !number(r, 4, &type)) return false;
  if (known && memcmp(key, alignment_key, (size_t)length) == 0) return read_alignment(r, type, alignment);
  if (type >= SCALARS) return fail(r, "is of an unknown type");
  return type == TYPE_STRING ? skip_string(r)
         : type == TYPE_LIST ? skip_list(r)
                             : skip(r, scalar_bytes[type]);
}

/* The sizes, and how many bytes that many elements take. */
static bool read_shape(reader *r, fe_stored *s, const struct type *type, const uint64_t *sizes) {
  uint64_t blocks = 1;
  bool fits = true, empty = false;
  for (int i = 0; i < s->rank; i++) {
    uint64_t size = sizes[i], count = size;
    if (i == 0) count = size / type->elements;
    empty |= size == 0;
    fits = fits && size <= INT64_MAX && (count == 0 || blocks <= INT64_MAX / type->bytes / count);
    if (fits && count) blocks *= count;
    s->shape[s->rank - 1 - i] = (int64_t)size;
  }
  if ((s->rank ? sizes[0] : 1) % type->elements)
    return fail(r, "has rows that are no whole number of blocks of its type");
  s->bytes = empty ? 0 : blocks * type->bytes;
  size_t bytes; /* of the elements of blocks, which are more */
  fits = fits && (s->dtype == IR_NONE || fe_shape_bytes(s->dtype, s->rank, s->shape, &bytes));
  return fits || fail(r, "has too many elements");
}

static bool read_array(reader *r, char *name) {
  uint64_t rank, type, sizes[FE_MAX_RANK], offset;
  size_t length;
  if (!read_string(r, name, NAME_MOST, &length) || !number(r, 4, &rank)) return false;
  if (rank > FE_MAX_RANK) return fail(r, "has more than 16 axes");
  for (uint64_t i = 0; i < rank; i++)
    if (!number(r, 8, &sizes[i])) return false;
  if (!number(r, 4, &type) || !number(r, 8, &offset)) return false;
  if (type >= TYPES || !types[type].name) return fail(r, "is of an unknown type of elements");
  fe_stored *s = fe_arrays_add(r->out, name, length, r->error);
  if (!s) return false;
  s->type = types[type].name;
  s->dtype = types[type].dtype;
  s->encoding = types[type].encoding;
  s->rank = (int)rank;
  s->offset = offset; /* in the data, which begins behind the last description */
  return read_shape(r, s, &types[type], sizes);
}

/* Makes offsets those in the file. */
static ir_status place_arrays(const reader *r, uint64_t alignment) {
  fe_arrays *out = r->out;
  uint64_t size = r->source->size, begin = r->at;
  char label[FE_LABEL];
  if (out->count) begin = (begin + alignment - 1) & ~(alignment - 1);
  for (size_t i = 0; i < out->count; i++) {
    fe_stored *s = &out->items[i];
    fe_arrays_label(label, fe_arrays_name(out, i), s->name_length);
    if (s->offset % alignment)
      return fe_file_fail(r->error, IR_ERR_INVALID, r->source->name,
                          "%s is at byte %" PRIu64 " of the data; expected a multiple of %" PRIu64, label,
                          s->offset, alignment);
    if (begin > size || s->offset > size - begin || s->bytes > size - begin - s->offset)
      return fe_file_fail(r->error, IR_ERR_INVALID, r->source->name,
                          "%s has %" PRIu64 " bytes from byte %" PRIu64 " of the data on, which has %" PRIu64,
                          label, s->bytes, s->offset, begin > size ? 0 : size - begin);
    s->offset += begin;
  }
  return fe_arrays_check_layout(out, begin, size, false, r->error);
}

static bool read_counts(reader *r, uint64_t *arrays, uint64_t *pairs) {
  uint64_t version;
  r->at = MAGIC;
  if (!number(r, 4, &version)) return false;
  if (version != 2 && version != 3) {
    bool swapped = version && version % (1 << 24) == 0;
    fe_file_fail(r->error, IR_ERR_UNSUPPORTED, r->source->name,
                 swapped ? "a big-endian GGUF file; expected a little-endian one"
                         : "GGUF of version %" PRIu64 "; expected 2 or 3",
                 version);
    return false;
  }
  if (!number(r, 8, arrays) || !number(r, 8, pairs)) return false;
  uint64_t left = r->source->size - r->at;
  if (*pairs > left / LEAST_PAIR || *arrays > left / LEAST_ARRAY)
    return fail(r, "counts more than fits into the file");
  return true;
}

ir_status fe_gguf_read(fe_arrays *out, ir_error *error) {
  reader r = {.out = out, .source = &out->source, .error = error, .what = "the head"};
  uint64_t arrays = 0, pairs = 0, alignment = 0;
  char what[48];
  if (!read_counts(&r, &arrays, &pairs)) return error->status;
  r.what = what;
  for (uint64_t i = 0; i < pairs; i++) {
    snprintf(what, sizeof what, "metadatum %" PRIu64, i);
    if (!read_pair(&r, &alignment)) return error->status;
  }
  size_t room = out->source.size < NAME_MOST ? (size_t)out->source.size : NAME_MOST;
  char *name = ir_alloc(out->source.mem, room);
  if (!name) return fe_file_fail(error, IR_ERR_MEMORY, out->source.name, "out of memory reading the file");
  bool good = true;
  for (uint64_t i = 0; i < arrays && good; i++) {
    snprintf(what, sizeof what, "description %" PRIu64, i);
    good = read_array(&r, name);
  }
  ir_free(out->source.mem, name, room);
  return good ? place_arrays(&r, alignment ? alignment : ALIGNMENT) : error->status;
}
