/* .npz: a zip archive of .npy files (APPNOTE.TXT of PKWARE, version 6.3). Members are stored or deflated; the
 * archive may be of zip64. Read are the directory at its end and the heads of the members, which must agree;
 * members that are not called NAME.npy are passed over. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"
#include "frontend/files/npy_header.h"

enum {
  LOCAL = 30,        /* bytes of a member's head, */
  ENTRY = 46,        /* of an entry of the directory, */
  END = 22,          /* of the end of the directory, */
  END64 = 56,        /* of that of zip64, */
  LOCATOR = 20,      /* and of what says where that is; all without names and comments */
  NAME_MOST = 65535, /* bytes of a name or a comment, whose length has 16 bits */
  TAIL = END + NAME_MOST,
  STORED = 0,       /* method: as it is */
  DEFLATED = 8,     /* method: by zlib */
  ENCRYPTED = 1,    /* flag: with a password */
  UTF8 = 1 << 11,   /* flag: the name is UTF-8 */
  ZIP64 = 1,        /* extra field with the numbers that do not fit into 4 bytes */
  PADDING = 0xD935, /* extra field that aligns what follows it, as of Android's zipalign */
  RATIO = 1032,     /* most bytes that one byte of deflate gives (zlib's technical details) */
  DATA_ALIGN = 64   /* bytes; a .npy header is a multiple of it */
};
static const uint32_t large = UINT32_MAX; /* the number is in the extra field */

typedef struct directory {
  uint64_t offset, size, count;
} directory;

typedef struct zip_member {
  uint64_t method, flags, packed, size, head, crc;
  size_t name_length;
} zip_member;

typedef struct reader {
  fe_arrays *out;
  fe_source *source;
  ir_error *error;
  char *name, *again, *extra; /* rooms of NAME_MOST bytes each */
} reader;

static bool fail(const reader *r, const char *why) {
  fe_file_fail(r->error, IR_ERR_INVALID, r->source->name, "not a zip archive as of .npz: %s", why);
  return false;
}

static bool take(const reader *r, uint64_t offset, void *to, size_t count, const char *what) {
  return fe_source_read(r->source, offset, to, count, what, r->error) == IR_OK;
}

/* The end record is the last thing in the file, with a comment of at most 65,535 bytes behind. */
static bool find_end(const reader *r, uint8_t end[END], uint64_t *at) {
  uint64_t size = r->source->size, first = size > TAIL ? size - TAIL : 0;
  uint8_t *tail = (uint8_t *)r->name; /* the rooms together */
  if (!take(r, first, tail, (size_t)(size - first), "the end of the directory")) return false;
  for (*at = size; (*at)-- > first;) {
    const uint8_t *found = tail + (*at - first);
    if (size - *at < END || memcmp(found, "PK\5\6", 4) != 0) continue;
    memcpy(end, found, END);
    if (fe_number(end + 20, 2) == size - *at - END) return true;
  }
  return fail(r, "there is no end of a directory");
}

static bool find_directory(const reader *r, directory *d) {
  uint8_t end[END], locator[LOCATOR], wide[END64];
  uint64_t at;
  if (!find_end(r, end, &at)) return false;
  *d = (directory){
      .count = fe_number(end + 10, 2), .size = fe_number(end + 12, 4), .offset = fe_number(end + 16, 4)};
  bool parts = fe_number(end + 4, 2) || fe_number(end + 6, 2);
  bool is_wide = d->count == UINT16_MAX || d->size == large || d->offset == large;
  if (is_wide && at >= LOCATOR) {
    if (!take(r, at - LOCATOR, locator, LOCATOR, "the end of the directory")) return false;
    if (memcmp(locator, "PK\6\7", 4) == 0) {
      uint64_t where = fe_number(locator + 8, 8);
      if (!take(r, where, wide, END64, "the end of the directory of zip64")) return false;
      if (memcmp(wide, "PK\6\6", 4) != 0) return fail(r, "there is no end of a directory of zip64");
      *d = (directory){.count = fe_number(wide + 32, 8),
                       .size = fe_number(wide + 40, 8),
                       .offset = fe_number(wide + 48, 8)};
      parts = fe_number(wide + 16, 4) || fe_number(wide + 20, 4);
      at = where;
    }
  }
  if (parts) return fail(r, "it has several parts");
  if (d->offset > at || d->size > at - d->offset)
    return fail(r, "its directory reaches behind the end of the directory");
  return d->count <= d->size / ENTRY || fail(r, "its directory has fewer entries than it says");
}

/* Takes the numbers that do not fit from the extra field of zip64. */
static bool widen(const reader *r, zip_member *m, size_t extra) {
  uint64_t *numbers[] = {&m->size, &m->packed, &m->head};
  if (m->size != large && m->packed != large && m->head != large) return true;
  const uint8_t *at = (const uint8_t *)r->extra;
  while (extra >= 4) {
    size_t id = (size_t)fe_number(at, 2), length = (size_t)fe_number(at + 2, 2);
    at += 4, extra -= 4;
    if (length > extra) break;
    if (id != ZIP64) {
      at += length, extra -= length;
      continue;
    }
    for (int i = 0; i < 3; i++) {
      if (*numbers[i] != large) continue;
      if (length < 8) return fail(r, "a field of zip64 is too short");
      *numbers[i] = fe_number(at, 8);
      at += 8, length -= 8;
    }
    return true;
  }
  return true; /* 2^32 - 1 is a number as well */
}

/* Reads the entry at *at, which it moves behind it. */
static bool read_entry(const reader *r, uint64_t *at, uint64_t end, zip_member *m) {
  uint8_t entry[ENTRY];
  if (end - *at < ENTRY) return fail(r, "its directory ends inside an entry");
  if (!take(r, *at, entry, ENTRY, "the directory")) return false;
  if (memcmp(entry, "PK\1\2", 4) != 0) return fail(r, "its directory has something else than entries");
  *m = (zip_member){.flags = fe_number(entry + 8, 2),
                    .method = fe_number(entry + 10, 2),
                    .crc = fe_number(entry + 16, 4),
                    .packed = fe_number(entry + 20, 4),
                    .size = fe_number(entry + 24, 4),
                    .head = fe_number(entry + 42, 4),
                    .name_length = (size_t)fe_number(entry + 28, 2)};
  size_t extra = (size_t)fe_number(entry + 30, 2), comment = (size_t)fe_number(entry + 32, 2);
  *at += ENTRY;
  if (m->name_length + extra + comment > end - *at) return fail(r, "its directory ends inside an entry");
  if (!take(r, *at, r->name, m->name_length, "a name") ||
      !take(r, *at + m->name_length, r->extra, extra, "an extra field"))
    return false;
  *at += m->name_length + extra + comment;
  return widen(r, m, extra);
}

/* Where the bytes of the member begin; its head must have the name that the directory has. */
static bool find_data(const reader *r, const zip_member *m, const directory *d, uint64_t *data) {
  uint8_t head[LOCAL];
  if (m->head > d->offset || d->offset - m->head < LOCAL) return fail(r, "a member begins in the directory");
  if (!take(r, m->head, head, LOCAL, "the head of a member")) return false;
  size_t name = (size_t)fe_number(head + 26, 2), extra = (size_t)fe_number(head + 28, 2);
  if (memcmp(head, "PK\3\4", 4) != 0 || name != m->name_length)
    return fail(r, "a member has no head of its name");
  if (!take(r, m->head + LOCAL, r->again, name, "the name of a member")) return false;
  if (memcmp(r->again, r->name, name) != 0) return fail(r, "a member has another name than in the directory");
  *data = m->head + LOCAL + name + extra;
  if (*data > d->offset || m->packed > d->offset - *data)
    return fail(r, "a member reaches into the directory");
  return true;
}

/* Passes over what is no .npy file. */
static bool add_member(const reader *r, const zip_member *m, const directory *d) {
  enum { SUFFIX = 4 /* bytes of ".npy" */ };
  char text[FE_LABEL];
  uint64_t data;
  size_t length = m->name_length;
  if (length < SUFFIX || memcmp(r->name + length - SUFFIX, ".npy", SUFFIX) != 0) return true;
  const char *label = fe_arrays_label(text, r->name, length - SUFFIX);
  if (!find_data(r, m, d, &data)) return false;
  const char *wrong = NULL;
  if (m->flags & ENCRYPTED) wrong = "is encrypted; expected it without a password";
  else if (m->method != STORED && m->method != DEFLATED)
    wrong = "is compressed by another method than deflate; expected it stored or deflated";
  else if (m->method == STORED && m->packed != m->size) wrong = "is stored, and has two sizes; expected one";
  else if (m->method == DEFLATED && (m->size == 0 || m->size / RATIO > m->packed))
    wrong = "is larger than what its bytes can give; expected at most 1032 times as many";
  if (wrong) {
    fe_file_fail(r->error, IR_ERR_INVALID, r->source->name, "%s %s", label, wrong);
    return false;
  }
  bool deflated = m->method == DEFLATED;
  if (fe_npy_add(r->out, r->name, length - SUFFIX, data, m->packed, deflated ? m->size : 0, r->error) !=
      IR_OK)
    return false;
  r->out->items[r->out->count - 1].crc = (uint32_t)m->crc;
  return true;
}

static void read_members(const reader *r) {
  directory d;
  zip_member m;
  if (!find_directory(r, &d)) return;
  uint64_t at = d.offset, end = d.offset + d.size;
  for (uint64_t i = 0; i < d.count; i++)
    if (!read_entry(r, &at, end, &m) || !add_member(r, &m, &d)) return;
  fe_arrays_check_layout(r->out, 0, d.offset, false, r->error);
}

ir_status fe_npz_read(fe_arrays *out, ir_error *error) {
  const ir_mem *mem = out->source.mem;
  char *rooms = ir_alloc(mem, 3 * (size_t)NAME_MOST);
  if (!rooms) return fe_file_fail(error, IR_ERR_MEMORY, out->source.name, "out of memory reading the file");
  reader r = {out, &out->source, error, rooms, rooms + NAME_MOST, rooms + 2 * (size_t)NAME_MOST};
  read_members(&r);
  ir_free(mem, rooms, 3 * (size_t)NAME_MOST);
  return error->status;
}

/* writing: members are stored, each of them with its data aligned, and everything in the forms of zip64 */

static size_t put(uint8_t *to, uint64_t value, int count) {
  for (int i = 0; i < count; i++) to[i] = (uint8_t)(value >> 8 * i);
  return (size_t)count;
}

typedef struct writer {
  fe_atomic_file *file;
  ir_text entries; /* the directory */
  uint64_t at;     /* bytes written */
  ir_error *error;
} writer;

static void write_bytes(writer *w, const void *bytes, size_t size) {
  if (!w->error->status && size) fe_atomic_write(w->file, bytes, size, w->error);
  w->at += size;
}

typedef struct contents {
  char header[FE_NPY_HEADER_ROOM];
  size_t header_bytes, data_bytes;
  uint32_t crc;
} contents;

static void describe(const fe_named_array *a, contents *c) {
  fe_shape_bytes(a->dtype, a->rank, a->shape, &c->data_bytes);
  c->header_bytes = fe_npy_header_format(c->header, a->dtype, a->rank, a->shape);
  uLong crc = crc32(crc32(0, Z_NULL, 0), (const uint8_t *)c->header, (unsigned)c->header_bytes);
  for (size_t at = 0; at < c->data_bytes;) {
    unsigned part = c->data_bytes - at < (1u << 30) ? (unsigned)(c->data_bytes - at) : 1u << 30;
    crc = crc32(crc, (const uint8_t *)a->data + at, part);
    at += part;
  }
  c->crc = (uint32_t)crc;
}

/* What the head of a member and its entry have in common: 26 bytes, from the version on. */
static size_t put_common(uint8_t *to, const contents *c, size_t name) {
  enum {
    VERSION = 45, /* of the format: 4.5 has zip64 */
    DATE =
        1 << 5 | 1 /* the first of January 1980, the earliest: files do not depend on when they are written */
  };
  size_t n = put(to, VERSION, 2);
  n += put(to + n, UTF8, 2);
  n += put(to + n, STORED, 2);
  n += put(to + n, 0, 2);
  n += put(to + n, DATE, 2);
  n += put(to + n, c->crc, 4);
  n += put(to + n, large, 4);
  n += put(to + n, large, 4);
  return n + put(to + n, name, 2);
}

static void write_member(writer *w, const fe_named_array *a) {
  /* Bytes of extra fields: WIDE, two numbers of zip64 behind a head of 4; WIDE_ENTRY, three; PAD, a head
   * alone. */
  enum { WIDE = 4 + 16, WIDE_ENTRY = 4 + 24, PAD = 4 };
  uint8_t head[LOCAL + WIDE], entry[ENTRY], wide[WIDE_ENTRY], padding[PAD + DATA_ALIGN] = {0};
  contents c;
  describe(a, &c);
  uint64_t size = c.header_bytes + c.data_bytes, offset = w->at;
  size_t name = strlen(a->name) + 4, n, before = (size_t)(w->at + LOCAL + name + WIDE + PAD) % DATA_ALIGN;
  size_t pad = before ? DATA_ALIGN - before : 0;
  memcpy(head, "PK\3\4", 4);
  n = 4 + put_common(head + 4, &c, name);
  n += put(head + n, WIDE + PAD + pad, 2);
  write_bytes(w, head, n);
  write_bytes(w, a->name, name - 4);
  write_bytes(w, ".npy", 4);
  n = put(wide, ZIP64, 2);
  n += put(wide + n, 16, 2);
  n += put(wide + n, size, 8);
  n += put(wide + n, size, 8);
  write_bytes(w, wide, n);
  put(padding, PADDING, 2);
  put(padding + 2, pad, 2);
  write_bytes(w, padding, PAD + pad);
  write_bytes(w, c.header, c.header_bytes);
  write_bytes(w, a->data, c.data_bytes);

  memset(entry, 0, sizeof entry);
  memcpy(entry, "PK\1\2\x2D", 6);
  n = 6 + put_common(entry + 6, &c, name);
  put(entry + n, WIDE_ENTRY, 2);
  put(entry + 42, large, 4);
  ir_text_add(&w->entries, (const char *)entry, ENTRY);
  ir_text_add(&w->entries, a->name, name - 4);
  ir_text_add(&w->entries, ".npy", 4);
  put(wide + 2, 24, 2);
  put(wide + 20, offset, 8);
  ir_text_add(&w->entries, (const char *)wide, WIDE_ENTRY);
}

static void write_end(writer *w, size_t count) {
  uint8_t end[END64 + LOCATOR + END] = {0}, *at = end;
  uint64_t directory_at = w->at, bytes = w->entries.len;
  write_bytes(w, w->entries.data, (size_t)bytes);
  uint64_t end_at = w->at;
  memcpy(at, "PK\6\6", 4);
  put(at + 4, END64 - 12, 8);
  put(at + 12, 45, 2);
  put(at + 14, 45, 2);
  put(at + 24, count, 8);
  put(at + 32, count, 8);
  put(at + 40, bytes, 8);
  put(at + 48, directory_at, 8);
  at += END64;
  memcpy(at, "PK\6\7", 4);
  put(at + 8, end_at, 8);
  put(at + 16, 1, 4);
  at += LOCATOR;
  memcpy(at, "PK\5\6", 4);
  put(at + 8, UINT16_MAX, 2);
  put(at + 10, UINT16_MAX, 2);
  put(at + 12, large, 4);
  put(at + 16, large, 4);
  write_bytes(w, end, sizeof end);
}

ir_status fe_npz_put(fe_atomic_file *file, const fe_named_array *arrays, size_t count, const ir_mem *mem,
                     ir_error *error) {
  writer w = {.file = file, .error = error};
  char label[FE_LABEL];
  ir_text_init(&w.entries, mem);
  for (size_t i = 0; i < count && !error->status; i++) {
    if (strlen(arrays[i].name) > NAME_MOST - 4)
      fe_file_fail(error, IR_ERR_INVALID, file->name,
                   "the name of %s has more than 65,531 bytes; expected at most so many",
                   fe_arrays_label(label, arrays[i].name, strlen(arrays[i].name)));
    else write_member(&w, &arrays[i]);
  }
  if (w.entries.failed) fe_file_fail(error, IR_ERR_MEMORY, file->name, "out of memory writing the directory");
  if (!error->status) write_end(&w, count);
  ir_text_free(&w.entries);
  return error->status;
}
