#include "frontend/files/npy.h"

#include "frontend/files/file_error.h"
#include "frontend/files/npy_header.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are kept little-endian, as the machine has them"
#endif

enum { MAGIC = 6, HEADER_MOST = 65536, FIRST_CHUNK = 1 << 20, READ_MOST = 1 << 30 };
static const char magic[MAGIC + 1] = "\x93NUMPY";

/* Where the bytes come from: memory, or a descriptor whose size is known (a regular file) or not (a pipe). */
typedef struct source {
  const char *name;
  const uint8_t *memory; /* NULL: fd */
  int fd;
  bool sized;
  uint64_t left; /* when sized */
  size_t offset; /* bytes read so far */
  const ir_mem *mem;
  ir_error *error;
} source;

/* Read `want` bytes; *got is less only at the end. */
static ir_status read_bytes(source *s, void *to, size_t want, size_t *got) {
  *got = 0;
  if (s->sized && want > s->left) want = (size_t)s->left;
  if (s->memory) {
    if (want > 0) memcpy(to, s->memory + s->offset, want);
    *got = want;
  }
  while (*got < want) {
    size_t chunk = want - *got;
    ssize_t count = read(s->fd, (char *)to + *got, chunk < READ_MOST ? chunk : READ_MOST);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return fe_file_fail(s->error, IR_ERR_IO, s->name, "cannot read the file: %s", strerror(errno));
    if (count == 0) break;
    *got += (size_t)count;
  }
  s->offset += *got;
  if (s->sized) s->left -= *got;
  return IR_OK;
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static ir_status no_memory(source *s, size_t bytes) {
  return fe_file_fail(s->error, IR_ERR_MEMORY, s->name, "not enough memory for %zu bytes", bytes);
}

static ir_status check_magic(source *s, const uint8_t *bytes, size_t got) {
  if (got == 0)
    return fe_file_fail(s->error, IR_ERR_INVALID, s->name, "the file is empty; expected a .npy file");
  if (memcmp(bytes, magic, got < MAGIC ? got : MAGIC) == 0) return IR_OK;
  char found[3 * MAGIC + 1] = "";
  for (size_t i = 0; i < got && i < MAGIC; i++) {
    static const char digits[] = "0123456789ABCDEF";
    char pair[] = {' ', digits[bytes[i] >> 4], digits[bytes[i] & 15], 0};
    memcpy(found + 3 * i, pair, sizeof pair);
  }
  bool text = got >= 4;
  for (size_t i = 0; i < got; i++)
    text &= (bytes[i] >= 32 && bytes[i] < 127) || (bytes[i] && strchr("\t\r\n", bytes[i]));
  bool zip = got >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
  return fe_file_fail(s->error, IR_ERR_INVALID, s->name,
                      "not a .npy file: it starts with%s%s; expected 93 4E 55 4D 50 59%s", found,
                      zip    ? " (a zip archive, perhaps .npz)"
                      : text ? " (text: numpy.loadtxt reads its numbers, and numpy.save writes .npy)"
                             : "",
                      zip || text || got < 4 || memcmp(bytes + 1, magic + 1, 3) == 0
                          ? ""
                          : "; numbers alone are read by numpy.fromfile, and numpy.save writes .npy");
}

/* Magic, version and length of the header. */
static ir_status read_preamble(source *s, int *major, size_t *length) {
  uint8_t bytes[12];
  size_t got = 0, more = 0;
  ir_status status = read_bytes(s, bytes, 8, &got);
  if (status == IR_OK) status = check_magic(s, bytes, got);
  if (status != IR_OK) return status;
  *major = got == 8 ? bytes[6] : 1;
  if (got == 8 && (*major < 1 || *major > 3 || bytes[7] != 0))
    return fe_file_fail(s->error, IR_ERR_INVALID, s->name,
                        "the .npy version is %d.%d; expected 1.0, 2.0 or 3.0", *major, bytes[7]);
  size_t field = *major == 1 ? 2 : 4;
  if (got == 8) status = read_bytes(s, bytes + 8, field, &more);
  if (status != IR_OK) return status;
  if (got + more < 8 + field)
    return fe_file_fail(s->error, IR_ERR_INVALID, s->name,
                        "the file ends after %zu byte%s; expected the %zu bytes that precede a header",
                        got + more, plural(got + more), 8 + field);
  *length = 0;
  for (size_t i = field; i-- > 0;) *length = *length << 8 | bytes[8 + i];
  return IR_OK;
}

static ir_status short_header(source *s, size_t length, uint64_t found) {
  return fe_file_fail(s->error, IR_ERR_INVALID, s->name,
                      "the header is %zu bytes long, but %llu byte%s follow%s; expected a whole header",
                      length, (unsigned long long)found, plural(found), found == 1 ? "s" : "");
}

static ir_status read_header(source *s, fe_npy_header *header) {
  int major = 0;
  size_t length = 0, got = 0, offset = 0;
  ir_status status = read_preamble(s, &major, &length);
  if (status != IR_OK) return status;
  offset = s->offset;
  if (s->sized && length > s->left) return short_header(s, length, s->left);
  if (length > HEADER_MOST)
    return fe_file_fail(s->error, IR_ERR_INVALID, s->name,
                        "the header is %zu bytes long; expected at most %d", length, HEADER_MOST);
  char *text = ir_alloc(s->mem, length);
  if (!text) return no_memory(s, length);
  status = read_bytes(s, text, length, &got);
  if (status == IR_OK && got < length) status = short_header(s, length, got);
  if (status == IR_OK) status = fe_npy_header_parse(text, length, offset, major, s->name, header, s->error);
  ir_free(s->mem, text, length);
  return status;
}

static ir_status wrong_size(source *s, const fe_npy_header *h, const char *prefix, uint64_t found) {
  char shape[FE_SHAPE_TEXT];
  fe_shape_text(shape, h->rank, h->shape);
  return fe_file_fail(s->error, IR_ERR_INVALID, s->name,
                      "the data has %s%llu byte%s; expected %zu for shape %s of %s", prefix,
                      (unsigned long long)found, plural(found), h->bytes, shape, ir_dtypes[h->dtype].name);
}

/* Read all the data of a source into one block of h->bytes. For a pipe, the block grows as the bytes arrive.
 * More bytes than the machine has memory are refused: the system may promise that memory and then end the
 * process. */
static ir_status read_data(source *s, const fe_npy_header *h, uint8_t **out) {
  if (s->sized && s->left != h->bytes) return wrong_size(s, h, "", s->left);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t most = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : PTRDIFF_MAX;
  if (!s->memory && h->bytes > most)
    return fe_file_fail(s->error, IR_ERR_MEMORY, s->name,
                        "the header says %zu bytes of data; this machine has %llu bytes of memory", h->bytes,
                        (unsigned long long)most);
  size_t have = 0, total = h->bytes, cap = s->sized || total < FIRST_CHUNK ? total : FIRST_CHUNK;
  uint8_t *data = ir_alloc(s->mem, cap);
  if (!data) return no_memory(s, cap);
  ir_status status = IR_OK;
  while (status == IR_OK && have < total) {
    if (have == cap) {
      size_t larger = cap < total / 2 ? cap * 2 : total;
      uint8_t *moved = ir_resize(s->mem, data, cap, larger);
      if (!moved) {
        status = no_memory(s, larger);
        break;
      }
      data = moved;
      cap = larger;
    }
    size_t got = 0, want = cap - have;
    status = read_bytes(s, data + have, want, &got);
    have += got;
    if (status == IR_OK && got < want) status = wrong_size(s, h, "", have);
  }
  if (status == IR_OK && !s->sized) {
    uint8_t extra[256];
    size_t got = 0;
    status = read_bytes(s, extra, sizeof extra, &got);
    if (status == IR_OK && got > 0) status = wrong_size(s, h, "at least ", h->bytes + got);
  }
  if (status == IR_OK) *out = data;
  else ir_free(s->mem, data, cap);
  return status;
}

static void swap_bytes(uint8_t *data, size_t bytes, size_t size) {
  for (uint8_t *element = data; element < data + bytes; element += size)
    for (size_t low = 0, high = size - 1; low < high; low++, high--) {
      uint8_t byte = element[low];
      element[low] = element[high];
      element[high] = byte;
    }
}

/* Copy the plane of the first and last axes from first-fastest to last-fastest order, tile by tile. */
static inline void transpose_plane(uint8_t *to, const uint8_t *from, size_t rows, size_t columns,
                                   size_t to_stride, size_t from_stride, size_t size) {
  enum { TILE = 32 };
  for (size_t row = 0; row < rows; row += TILE)
    for (size_t column = 0; column < columns; column += TILE)
      for (size_t i = row; i < rows && i < row + TILE; i++)
        for (size_t j = column; j < columns && j < column + TILE; j++)
          memcpy(to + i * to_stride + j * size, from + i * size + j * from_stride, size);
}

/* Row-major copy of `from`, whose first axis is the fastest; rank >= 2, no axis empty. */
static void transpose_array(uint8_t *to, const uint8_t *from, const fe_npy_header *h) {
  int last = h->rank - 1;
  size_t size = ir_dtypes[h->dtype].bytes, rows = (size_t)h->shape[0], columns = (size_t)h->shape[last];
  size_t to_stride = h->bytes / rows, from_stride = h->bytes / columns;
  size_t planes = to_stride / size / columns;
  int64_t index[FE_MAX_RANK] = {0};
  for (size_t plane = 0; plane < planes; plane++) {
    size_t source_offset = 0, step = rows * size;
    for (int k = 1; k < last; k++) {
      source_offset += (size_t)index[k] * step;
      step *= (size_t)h->shape[k];
    }
    uint8_t *target = to + plane * columns * size;
    const uint8_t *origin = from + source_offset;
    switch (size) {
    case 1: transpose_plane(target, origin, rows, columns, to_stride, from_stride, 1); break;
    case 2: transpose_plane(target, origin, rows, columns, to_stride, from_stride, 2); break;
    case 4: transpose_plane(target, origin, rows, columns, to_stride, from_stride, 4); break;
    default: transpose_plane(target, origin, rows, columns, to_stride, from_stride, 8); break;
    }
    for (int k = last - 1; k > 0 && ++index[k] == h->shape[k]; k--) index[k] = 0;
  }
}

/* Bring the data to little-endian, row-major, bools of 0 and 1. */
static ir_status normalise(source *s, const fe_npy_header *h, uint8_t **data) {
  if (h->swap) swap_bytes(*data, h->bytes, ir_dtypes[h->dtype].bytes);
  if (h->dtype == IR_BOOL)
    for (size_t i = 0; i < h->bytes; i++) (*data)[i] = (*data)[i] != 0;
  if (!h->fortran || h->rank < 2 || h->bytes == 0) return IR_OK;
  uint8_t *transposed = ir_alloc(s->mem, h->bytes);
  if (!transposed) return no_memory(s, h->bytes);
  transpose_array(transposed, *data, h);
  ir_free(s->mem, *data, h->bytes);
  *data = transposed;
  return IR_OK;
}

static ir_status read_source(source *s, fe_array *out) {
  fe_npy_header header;
  uint8_t *data = NULL;
  ir_status status = read_header(s, &header);
  if (status == IR_OK) status = read_data(s, &header, &data);
  if (status == IR_OK) status = normalise(s, &header, &data);
  if (status == IR_OK) {
    out->dtype = header.dtype;
    out->rank = header.rank;
    memcpy(out->shape, header.shape, sizeof out->shape);
    out->bytes = header.bytes;
    out->data = data;
  } else if (data) {
    ir_free(s->mem, data, header.bytes);
  }
  return status;
}

static source in_memory(const void *bytes, size_t size, const char *name, const ir_mem *mem,
                        ir_error *error) {
  return (source){.name = name,
                  .memory = size ? bytes : magic,
                  .fd = -1,
                  .sized = true,
                  .left = size,
                  .mem = mem,
                  .error = error};
}

ir_status fe_npy_parse(const void *bytes, size_t size, const char *name, const ir_mem *mem, fe_array *out,
                       ir_error *error) {
  memset(out, 0, sizeof *out);
  source s = in_memory(bytes, size, name, mem, error);
  return read_source(&s, out);
}

ir_status fe_npy_describe(const void *bytes, size_t size, const char *name, const ir_mem *mem,
                          fe_npy_header *out, size_t *start, ir_error *error) {
  source s = in_memory(bytes, size, name, mem, error);
  ir_status status = read_header(&s, out);
  *start = s.offset;
  return status;
}

ir_status fe_npy_read(const char *path, const ir_mem *mem, fe_array *out, ir_error *error) {
  memset(out, 0, sizeof *out);
  source s = {.name = path, .mem = mem, .error = error};
  struct stat status;
  s.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (s.fd < 0 || fstat(s.fd, &status) != 0) {
    int code = errno;
    if (s.fd >= 0) close(s.fd);
    return fe_file_fail(error, IR_ERR_IO, path, "cannot open the file: %s", strerror(code));
  }
  s.sized = S_ISREG(status.st_mode);
  s.left = s.sized ? (uint64_t)status.st_size : 0;
  ir_status result = read_source(&s, out);
  close(s.fd);
  return result;
}

void fe_array_free(const ir_mem *mem, fe_array *array) {
  if (array->data) ir_free(mem, array->data, array->bytes);
  memset(array, 0, sizeof *array);
}

static ir_status check_array(const char *name, ir_dtype dtype, int rank, const int64_t *shape, size_t *bytes,
                             ir_error *error) {
  bool known = (unsigned)dtype < IR_DTYPE_COUNT;
  if (!known || !ir_dtypes[dtype].npy[0])
    return fe_file_fail(error, IR_ERR_INVALID, name,
                        "cannot write the dtype %s; expected one that can be stored",
                        known ? ir_dtypes[dtype].name : "(unknown)");
  if (rank < 0 || rank > FE_MAX_RANK)
    return fe_file_fail(error, IR_ERR_INVALID, name, "cannot write an array of rank %d; expected 0 to %d",
                        rank, FE_MAX_RANK);
  if (fe_shape_bytes(dtype, rank, shape, bytes)) return IR_OK;
  char text[FE_SHAPE_TEXT];
  fe_shape_text(text, rank, shape);
  return fe_file_fail(
      error, IR_ERR_INVALID, name,
      "cannot write an array of shape %s and dtype %s; expected sizes of 0 or more and at most %td bytes",
      text, ir_dtypes[dtype].name, PTRDIFF_MAX);
}

ir_status fe_npy_put(fe_atomic_file *file, ir_dtype dtype, int rank, const int64_t *shape, const void *data,
                     ir_error *error) {
  char header[FE_NPY_HEADER_ROOM];
  size_t bytes = 0;
  ir_status status = check_array(file->name, dtype, rank, shape, &bytes, error);
  if (status != IR_OK) {
    fe_atomic_abandon(file);
    return status;
  }
  status = fe_atomic_write(file, header, fe_npy_header_format(header, dtype, rank, shape), error);
  return status == IR_OK ? fe_atomic_write(file, data, bytes, error) : status;
}

ir_status fe_npy_write(const char *path, ir_dtype dtype, int rank, const int64_t *shape, const void *data,
                       ir_error *error) {
  fe_atomic_file file;
  ir_status status = fe_atomic_open(&file, path, error);
  if (status == IR_OK) status = fe_npy_put(&file, dtype, rank, shape, data, error);
  return status == IR_OK ? fe_atomic_commit(&file, error) : status;
}
