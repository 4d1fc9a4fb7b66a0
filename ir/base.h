/* What every folder builds on: status codes, the error record, the allocator hook, growable arrays and text,
 * dtypes.
 *
 * The library never aborts, exits or prints. Every failure is an ir_status and one message in an ir_error;
 * the first failure of an operation wins and later ones are ignored until ir_error_clear. Every allocation
 * goes through ir_mem and may fail. */
#ifndef VIEWFOLD_IR_BASE_H
#define VIEWFOLD_IR_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ir_status {
  IR_OK = 0,
  IR_ERR_INVALID,     /* bad argument, shape, axis, dtype, syntax */
  IR_ERR_MEMORY,      /* the allocator returned NULL */
  IR_ERR_IO,          /* a file could not be read or written */
  IR_ERR_UNSUPPORTED, /* well formed, but no backend can do it */
  IR_ERR_COMPILE,     /* code generation failed, or VIEWFOLD_COMPILE=0 forbade it */
  IR_ERR_DEVICE,      /* device absent or failed */
  IR_ERR_RANGE,       /* an index loaded at run time was out of range */
  IR_ERR_INTERNAL,    /* a broken invariant inside viewfold: please report */
  IR_ERR_VALUE,       /* a NaN or an infinity, in a run that stops there */
  IR_ERR_CANCELLED    /* whoever asked for it does not want it any more (progress.h) */
} ir_status;

typedef struct ir_error {
  ir_status status;
  char text[1024];
} ir_error;

#if defined(__GNUC__)
#define IR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define IR_PRINTF(fmt, first)
#endif

/* Record a failure unless one is already recorded; returns the recorded status. */
ir_status ir_fail(ir_error *error, ir_status status, const char *format, ...) IR_PRINTF(3, 4);
ir_status ir_vfail(ir_error *error, ir_status status, const char *format, va_list args);
void ir_error_clear(ir_error *error);

/* The allocator hook: new_size 0 frees, ptr NULL allocates, otherwise resizes. old_size is always the true
 * size. */
typedef void *(*ir_alloc_fn)(void *user, void *ptr, size_t old_size, size_t new_size);
typedef struct ir_mem {
  ir_alloc_fn fn;
  void *user;
} ir_mem;

extern const ir_mem ir_mem_libc;
void *ir_alloc(const ir_mem *mem, size_t size); /* NULL on failure; size 0 gives a unique pointer of size 1 */
/* Memory of new_size bytes (0 counts as 1) with the contents of ptr, which has old_size bytes and is no
 * longer valid; ptr NULL allocates. NULL on failure: ptr is then as it was. */
void *ir_resize(const ir_mem *mem, void *ptr, size_t old_size, size_t new_size);
/* Frees memory of ir_alloc or ir_resize; size is that of the last of these calls. ptr may be NULL. */
void ir_free(const ir_mem *mem, void *ptr, size_t size);

/* Grow *ptr (capacity *cap, in elements) by doubling until it has room for `need` elements of `size` bytes.
 * False when memory is short: *ptr and *cap are then unchanged. */
bool ir_reserve(const ir_mem *mem, void **ptr, size_t *cap, size_t need, size_t size);
#define IR_RESERVE(mem, ptr, cap, need) ir_reserve((mem), (void **)&(ptr), &(cap), (need), sizeof *(ptr))

/* Growing text. After a failed allocation `failed` is set and further writes do nothing. data is
 * NUL-terminated whenever it is not NULL. */
typedef struct ir_text {
  const ir_mem *mem;
  char *data;
  size_t len, cap;
  bool failed;
} ir_text;
void ir_text_init(ir_text *text, const ir_mem *mem);
void ir_text_free(ir_text *text);
void ir_text_add(ir_text *text, const char *bytes, size_t count);
void ir_text_str(ir_text *text, const char *string);
void ir_textf(ir_text *text, const char *format, ...) IR_PRINTF(2, 3);
void ir_text_int(ir_text *text, int64_t number); /* in decimal: a tenth of the time of "%lld" */
const char *ir_text_get(const ir_text *text);    /* never NULL */

/* dtypes: ir/dtype.def */
typedef enum ir_dtype {
#define DTYPE(name, text, bytes, kind, npy, ctype) IR_##name,
#include "dtype.def"
#undef DTYPE
  IR_DTYPE_COUNT
} ir_dtype;
typedef enum ir_kind {
  IR_KIND_NONE,
  IR_KIND_BOOL,
  IR_KIND_SIGNED,
  IR_KIND_UNSIGNED,
  IR_KIND_FLOAT,
  IR_KIND_INDEX
} ir_kind;
typedef struct ir_dtype_info {
  const char *name;
  uint8_t bytes; /* of one stored element */
  uint8_t kind;  /* ir_kind */
  const char *npy;
} ir_dtype_info;
extern const ir_dtype_info ir_dtypes[IR_DTYPE_COUNT];

/* Is it a float? Is it a signed or unsigned integer? Bool and index are neither. */
static inline bool ir_is_float(ir_dtype t) { return ir_dtypes[t].kind == IR_KIND_FLOAT; }
static inline bool ir_is_data_int(ir_dtype t) {
  return ir_dtypes[t].kind == IR_KIND_SIGNED || ir_dtypes[t].kind == IR_KIND_UNSIGNED;
}
ir_dtype ir_dtype_parse(const char *name, size_t length); /* IR_NONE when unknown */

/* One element of any dtype, as a value: floats widened to double, everything else as int64_t bits (u64 as its
 * bit pattern, bool as 0 or 1). */
typedef union ir_value {
  int64_t i;
  double f;
} ir_value;
/* Convert under the casting rules: float to integer truncates, saturates, NaN gives 0; integer to narrower
 * wraps; to float rounds to nearest even; anything to bool is != 0. */
ir_value ir_value_cast(ir_value value, ir_dtype from, ir_dtype to);
ir_value ir_value_load(const void *element, ir_dtype type); /* read one stored element */
void ir_value_store(void *element, ir_dtype type, ir_value value);

/* The stored bits of an element of f16 (half) or bf16, as a float and from a double. To float is exact, but
 * the NaNs of f16 lose their payload. From double rounds once; what is too large becomes infinity, and every
 * NaN the quiet one of its sign. */
float ir_half_to_float(uint16_t bits);
uint16_t ir_half_from_double(double value); /* nearest even, straight from double: no double rounding */
float ir_bfloat_to_float(uint16_t bits);
uint16_t ir_bfloat_from_double(double value);

#endif
