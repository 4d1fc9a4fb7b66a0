/* .npy in memory: everything that numpy writes is read, and everything else is refused with a message. The
 * fixtures hold bytes that numpy 2.4 wrote. */
#include "frontend/files/npy.h"

#include "frontend/files/npy_header.h"
#include "test/lib/unit.h"

enum { FILE_ROOM = 70000 };

/* An allocator that counts live bytes, gives no block above `largest`, and fails once `budget` requests are
 * used. */
typedef struct counter {
  size_t live, largest;
  long budget;
} counter;

static void *count_alloc(void *user, void *ptr, size_t old_size, size_t new_size) {
  counter *c = user;
  if (new_size && (c->budget-- <= 0 || new_size > c->largest)) return NULL;
  void *moved = new_size ? realloc(ptr, new_size) : NULL;
  if (!new_size) free(ptr);
  c->live += new_size - old_size;
  return moved;
}

/* A file of the given version: header text as it is, then the data. */
static size_t build(uint8_t *out, int major, const char *header, const void *data, size_t bytes) {
  size_t length = strlen(header), at = major == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  memcpy(out + 6, (uint8_t[]){(uint8_t)major, 0, (uint8_t)length, (uint8_t)(length >> 8), 0, 0}, 6);
  memcpy(out + at, header, length);
  if (bytes) memcpy(out + at + length, data, bytes);
  return at + length + bytes;
}

static void check_read(const void *file, size_t size, ir_dtype dtype, int rank, const int64_t *shape,
                       const void *data, size_t bytes) {
  ir_error error = {0};
  fe_array array;
  counter c = {0, SIZE_MAX, 100};
  ir_mem mem = {count_alloc, &c};
  ir_status status = fe_npy_parse(file, size, "x.npy", &mem, &array, &error);
  assert_string_equal(error.text, "");
  assert_int_equal(status, IR_OK);
  assert_int_equal(array.dtype, dtype);
  assert_int_equal(array.rank, rank);
  for (int k = 0; k < rank; k++) assert_int_equal(array.shape[k], shape[k]);
  assert_int_equal(array.bytes, bytes);
  if (bytes) assert_memory_equal(array.data, data, bytes);
  fe_array_free(&mem, &array);
  assert_null(array.data);
  assert_int_equal(c.live, 0);
}

static void check_refused(const void *file, size_t size, const char *message) {
  ir_error error = {0};
  fe_array array;
  counter c = {0, 1 << 17, 100};
  ir_mem mem = {count_alloc, &c};
  ir_status status = fe_npy_parse(file, size, "x.npy", &mem, &array, &error);
  assert_string_equal(error.text, message);
  assert_int_equal(status, IR_ERR_INVALID);
  assert_null(array.data);
  assert_int_equal(c.live, 0);
}

/* Two elements of every dtype, as numpy writes them in either byte order. */
static const struct {
  ir_dtype dtype;
  const char *little, *big;
  uint8_t little_data[17], big_data[17];
} elements[] = {
    {IR_BOOL, "|b1", "|b1", "\x01\x00", "\x01\x00"},
    {IR_I8, "|i1", "|i1", "\xFE\x03", "\xFE\x03"},
    {IR_U8, "|u1", "|u1", "\xFE\x03", "\xFE\x03"},
    {IR_I16, "<i2", ">i2", "\xFE\xFF\x2C\x01", "\xFF\xFE\x01\x2C"},
    {IR_U16, "<u2", ">u2", "\xFE\xFF\x2C\x01", "\xFF\xFE\x01\x2C"},
    {IR_I32, "<i4", ">i4", "\xFE\xFF\xFF\xFF\x70\x11\x01\x00", "\xFF\xFF\xFF\xFE\x00\x01\x11\x70"},
    {IR_U32, "<u4", ">u4", "\xFE\xFF\xFF\xFF\x70\x11\x01\x00", "\xFF\xFF\xFF\xFE\x00\x01\x11\x70"},
    {IR_I64, "<i8", ">i8", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00\x00\x00\x00\x00\x01\x00",
     "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE\x00\x00\x01\x00\x00\x00\x00"},
    {IR_U64, "<u8", ">u8", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00\x00\x00\x00\x00\x01\x00",
     "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE\x00\x00\x01\x00\x00\x00\x00"},
    {IR_F16, "<f2", ">f2", "\x00\x3E\x00\xC0", "\x3E\x00\xC0\x00"},
    {IR_BF16, "<V2", ">V2", "\xC0\x3F\x00\xC0", "\x3F\xC0\xC0\x00"},
    {IR_F32, "<f4", ">f4", "\x00\x00\xC0\x3F\x00\x00\x00\xC0", "\x3F\xC0\x00\x00\xC0\x00\x00\x00"},
    {IR_F64, "<f8", ">f8", "\x00\x00\x00\x00\x00\x00\xF8\x3F\x00\x00\x00\x00\x00\x00\x00\xC0",
     "\x3F\xF8\x00\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00"},
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

static void read_every_dtype_in_both_orders(void **state) {
  static uint8_t file[FILE_ROOM];
  char header[128];
  int64_t two = 2;
  for (size_t e = 0; e < ELEMENTS; e++) {
    size_t bytes = 2 * (size_t)(elements[e].little[2] - '0');
    /* little, big, machine order spelt three ways */
    for (int variant = 0; variant < 5; variant++) {
      static const char *const orders[] = {NULL, NULL, "=", "|", ""};
      const char *descr = variant == 1 ? elements[e].big : elements[e].little;
      snprintf(header, sizeof header, "{'descr': '%s%s', 'fortran_order': False, 'shape': (2,), }\n",
               variant < 2 ? "" : orders[variant], variant < 2 ? descr : descr + 1);
      const uint8_t *data = variant == 1 ? elements[e].big_data : elements[e].little_data;
      for (int major = 1; major <= 3; major++)
        check_read(file, build(file, major, header, data, bytes), elements[e].dtype, 1, &two,
                   elements[e].little_data, bytes);
    }
  }
  assert_int_equal(ELEMENTS, IR_INDEX - IR_NONE - 1);
}

static void read_any_spelling_of_the_header(void **state) {
  static uint8_t file[FILE_ROOM];
  static const char *const headers[] = {
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }          \n",
      "{'shape':(2,3),'fortran_order':False,'descr':'<i2'}",
      "{\"fortran_order\": False, \"descr\": \"<i2\", \"shape\": (2, 3,)}\n\n",
      " \t\r\n{ 'descr'\n:\t'<i2' , 'shape' : ( 2 ,\n3 ) , 'fortran_order' : False , } ",
      "{u'descr': u'<i2', u'fortran_order': False, u'shape': (2L, 3l)}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (+2, 3)}",
  };
  static const int16_t data[] = {0, 1, 2, 3, 4, 5};
  for (size_t h = 0; h < sizeof headers / sizeof *headers; h++)
    for (int major = 1; major <= 3; major++)
      check_read(file, build(file, major, headers[h], data, sizeof data), IR_I16, 2, (int64_t[]){2, 3}, data,
                 sizeof data);
}

static void read_scalars_and_empty_arrays(void **state) {
  static uint8_t file[FILE_ROOM];
  const double one = 1;
  check_read(file, build(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &one, 8), IR_F64,
             0, NULL, &one, 8);
  check_read(file, build(file, 1, "{'descr': '<f8', 'fortran_order': True, 'shape': ()}", &one, 8), IR_F64, 0,
             NULL, &one, 8);
  check_read(file, build(file, 1, "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 0, 2)}", NULL, 0),
             IR_F64, 3, (int64_t[]){3, 0, 2}, NULL, 0);
}

static void read_bools_as_zero_or_one(void **state) {
  static uint8_t file[FILE_ROOM];
  int64_t four = 4;
  check_read(file,
             build(file, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}", "\x00\x01\x02\xFF", 4),
             IR_BOOL, 1, &four, "\x00\x01\x01\x01", 4);
}

/* numpy.asfortranarray(numpy.arange(24, dtype='>i2').reshape(2, 3, 4)) */
static void read_fortran_order_as_numpy_wrote_it(void **state) {
  static uint8_t file[FILE_ROOM];
  static const uint8_t order[] = {0, 12, 4, 16, 8,  20, 1, 13, 5, 17, 9,  21,
                                  2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23};
  uint8_t data[48] = {0};
  int16_t expected[24];
  for (int i = 0; i < 24; i++) {
    data[2 * i + 1] = order[i];
    expected[i] = (int16_t)i;
  }
  check_read(
      file,
      build(file, 1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3, 4), }", data, sizeof data),
      IR_I16, 3, (int64_t[]){2, 3, 4}, expected, sizeof expected);
}

/* Element (i0, i1, ...) holds its row-major number and is stored at its column-major index. */
static void read_fortran_order_of_any_shape(void **state) {
  static uint8_t file[FILE_ROOM];
  static const struct {
    int rank;
    int64_t shape[5];
  } cases[] = {{1, {7}},          {2, {1, 5}},          {2, {5, 1}},
               {2, {33, 65}},     {3, {40, 3, 35}},     {3, {1, 6, 4}},
               {4, {3, 1, 5, 2}}, {5, {2, 3, 4, 5, 6}}, {5, {34, 1, 2, 1, 33}}};
  static const struct {
    ir_dtype dtype;
    size_t size;
    const char *descr;
  } types[] = {{IR_U16, 2, "<u2"}, {IR_U32, 4, "<u4"}, {IR_U64, 8, "<u8"}};
  for (size_t t = 0; t < 3; t++)
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
      static uint8_t data[FILE_ROOM / 2], expected[FILE_ROOM / 2];
      char shape[FE_SHAPE_TEXT], header[600];
      size_t count = 1;
      for (int k = 0; k < cases[n].rank; k++) count *= (size_t)cases[n].shape[k];
      assert_true(count * types[t].size <= sizeof data);
      memset(data, 0, sizeof data);
      memset(expected, 0, sizeof expected);
      for (size_t i = 0; i < count; i++) {
        size_t rest = i, place = 0, stride = count;
        for (int k = cases[n].rank - 1; k >= 0; k--) {
          stride /= (size_t)cases[n].shape[k];
          place += rest % (size_t)cases[n].shape[k] * stride;
          rest /= (size_t)cases[n].shape[k];
        }
        memcpy(expected + i * types[t].size, (uint16_t[]){(uint16_t)i}, 2);
        memcpy(data + place * types[t].size, (uint16_t[]){(uint16_t)i}, 2);
      }
      fe_shape_text(shape, cases[n].rank, cases[n].shape);
      snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': True, 'shape': %s}", types[t].descr,
               shape);
      size_t bytes = count * types[t].size;
      check_read(file, build(file, 2, header, data, bytes), types[t].dtype, cases[n].rank, cases[n].shape,
                 expected, bytes);
    }
}

static void refuse_what_precedes_the_header(void **state) {
  static const struct {
    const char *bytes;
    size_t size;
    const char *message;
  } cases[] = {
#define BYTES(text) text, sizeof text - 1
      {BYTES(""), "x.npy: error: the file is empty; expected a .npy file"},
      {BYTES("PK\x03\x04\x14\x00\x00\x00"),
       "x.npy: error: not a .npy file: it starts with 50 4B 03 04 14 00 (a zip "
       "archive, perhaps .npz); expected 93 4E 55 4D 50 59"},
      {BYTES("\x93NUMPX\x01\x00"),
       "x.npy: error: not a .npy file: it starts with 93 4E 55 4D 50 58; expected 93 4E 55 4D 50 59"},
      {BYTES("{}"), "x.npy: error: not a .npy file: it starts with 7B 7D; expected 93 4E 55 4D 50 59"},
      {BYTES("\x93NUM"),
       "x.npy: error: the file ends after 4 bytes; expected the 10 bytes that precede a header"},
      {BYTES("\x93NUMPY\x01\x00\x10"),
       "x.npy: error: the file ends after 9 bytes; expected the 10 bytes that precede a header"},
      {BYTES("\x93NUMPY\x02\x00\x10\x00"),
       "x.npy: error: the file ends after 10 bytes; expected the 12 bytes that precede a header"},
      {BYTES("\x93NUMPY\x04\x00\x00\x00"), "x.npy: error: the .npy version is 4.0; expected 1.0, 2.0 or 3.0"},
      {BYTES("\x93NUMPY\x00\x00\x00\x00"), "x.npy: error: the .npy version is 0.0; expected 1.0, 2.0 or 3.0"},
      {BYTES("\x93NUMPY\x01\x01\x00\x00"), "x.npy: error: the .npy version is 1.1; expected 1.0, 2.0 or 3.0"},
      {BYTES("\x93NUMPY\x01\x00\x76\x00{'descr'"),
       "x.npy: error: the header is 118 bytes long, but 8 bytes follow; expected a whole header"},
      {BYTES("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{"),
       "x.npy: error: the header is 4294967295 bytes long, but 1 byte follows; expected a whole header"},
      {BYTES("\x93NUMPY\x01\x00\x00\x00"),
       "x.npy: error: the header ends at byte 10; expected a dict, which starts with '{'"},
#undef BYTES
  };
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
    check_refused(cases[n].bytes, cases[n].size, cases[n].message);
}

#define DTYPES "|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <V2 <f4 <f8"

/* Version 1.0 header texts, and the message after "x.npy: error: ". The text starts at byte 10. */
static const struct {
  const char *header;
  size_t data;
  const char *message;
} bad_headers[] = {
    /* the dict */
    {"[1, 2]", 0, "the header has [ at byte 10; expected a dict, which starts with '{'"},
    {"   \n", 0, "the header ends at byte 14; expected a dict, which starts with '{'"},
    {"{}", 0, "the header has no key 'descr'; expected the keys 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': '<f4', 'shape': ()}", 4,
     "the header has no key 'fortran_order'; expected the keys 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, }", 4,
     "the header has no key 'shape'; expected the keys 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()", 4,
     "the header ends at byte 62; expected ',' or '}' after a value"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), ", 4,
     "the header ends at byte 64; expected a key in quotes or '}'"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", 4,
     "the header has 'fortran_order' at byte 26; expected ',' or '}' after a value"},
    {"{'descr': '<f4',, 'fortran_order': False, 'shape': ()}", 4,
     "the header has , at byte 26; expected a key in quotes or '}'"},
    {"{'descr', '<f4'}", 0, "the header has , at byte 18; expected ':' after a key"},
    {"{descr: '<f4'}", 0, "the header has descr at byte 11; expected a key in quotes or '}'"},
    {"{'descr: }", 0,
     "the string at byte 11 of the header has the end of the header before its end; expected a closing '"},
    {"{'de\\x73cr': '<f4'}", 0,
     "the string at byte 11 of the header has a backslash before its end; expected a closing '"},
    {"{\"descr\n\": '<f4'}", 0,
     "the string at byte 11 of the header has a new line before its end; expected a closing \""},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
     "the header has the key 'descr' twice; expected it once"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'strides': ()}", 4,
     "the header has the key 'strides'; expected the keys 'descr', 'fortran_order' and 'shape' only"},
    {"{'a key that is much too long to be shown': 1}", 4,
     "the header has the key 'a key that is much too l...'; expected the keys 'descr', 'fortran_order' and "
     "'shape' only"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} + {}", 4,
     "the header has + at byte 64; expected nothing after the dict"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}\x1b[31m", 4,
     "the header has \\x1B at byte 63; expected nothing after the dict"},
    {"{'d\xE9"
     "scr': '<f4'}",
     0, "the header has the byte 0xE9 at byte 13; expected ASCII text"},
    /* descr */
    {"{'descr': '|O', 'fortran_order': False, 'shape': ()}", 8,
     "'descr' is '|O' (Python objects); expected one of " DTYPES ", or > for <"},
    {"{'descr': '<U3', 'fortran_order': False, 'shape': ()}", 12,
     "'descr' is '<U3' (strings); expected one of " DTYPES ", or > for <"},
    {"{'descr': '|S5', 'fortran_order': False, 'shape': ()}", 5,
     "'descr' is '|S5' (strings); expected one of " DTYPES ", or > for <"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': ()}", 8,
     "'descr' is '<c8' (complex numbers); expected one of " DTYPES ", or > for <"},
    {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': ()}", 8,
     "'descr' is '<M8[ns]' (dates or times); expected one of " DTYPES ", or > for <"},
    {"{'descr': '|V4', 'fortran_order': False, 'shape': ()}", 4,
     "'descr' is '|V4' (opaque bytes; two of them are read as bf16); expected one of " DTYPES ", or > for <"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': ()}", 16,
     "'descr' is '<f16'; expected one of " DTYPES ", or > for <"},
    {"{'descr': '!f4', 'fortran_order': False, 'shape': ()}", 4,
     "'descr' is '!f4'; expected one of " DTYPES ", or > for <"},
    {"{'descr': '', 'fortran_order': False, 'shape': ()}", 4,
     "'descr' is ''; expected one of " DTYPES ", or > for <"},
    {"{'descr': '<', 'fortran_order': False, 'shape': ()}", 4,
     "'descr' is '<'; expected one of " DTYPES ", or > for <"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 4,
     "'descr' is a structured dtype; expected one of " DTYPES},
    {"{'descr': None, 'fortran_order': False, 'shape': ()}", 4,
     "the header has None at byte 20; expected a string, the dtype, as the value of 'descr'"},
    /* fortran_order */
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 4,
     "the header has 0 at byte 44; expected True or False as the value of 'fortran_order'"},
    {"{'descr': '<f4', 'fortran_order': Falsehood, 'shape': ()}", 4,
     "the header has Falsehood at byte 44; expected True or False as the value of 'fortran_order'"},
    {"{'fortran_order': ", 0,
     "the header ends at byte 28; expected True or False as the value of 'fortran_order'"},
    /* shape */
    {"{'descr': '<f4', 'fortran_order': False, 'shape': [1, 2]}", 8,
     "the header has [ at byte 60; expected a tuple such as (3, 4) as the value of 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", 12,
     "the header has 3 at byte 60; expected a tuple such as (3, 4) as the value of 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", 12,
     "'shape' is the integer (3); expected a tuple, (3,) for one axis"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", 4,
     "the header has , at byte 61; expected an integer or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 4,
     "the header has 2 at byte 63; expected ',' or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}", 4,
     "the header has 1.5 at byte 61; expected an integer or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (010,)}", 4,
     "the header has 010 at byte 61; expected an integer or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0x10,)}", 4,
     "the header has 0x10 at byte 61; expected an integer or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}", 4,
     "the header has True at byte 61; expected an integer or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, ", 4,
     "the header ends at byte 64; expected an integer or ')' in 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", 4,
     "'shape' has the size -3 in axis 1; expected 0 or more"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", 4,
     "'shape' has the size 9223372036854775808 in axis 0; expected at most 9223372036854775807"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999999,)}", 4,
     "'shape' has the size 999999999999999999999999... in axis 0; expected at most 9223372036854775807"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", 4,
     "'shape' has more than 16 axes; expected at most 16"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
     "an array of shape (4294967296, 4294967296) and dtype f32 is too large; expected at most "
     "9223372036854775807 bytes"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,)}", 4,
     "an array of shape (9223372036854775807,) and dtype f64 is too large; expected at most "
     "9223372036854775807 bytes"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (0, 9223372036854775807, 2)}", 0,
     "an array of shape (0, 9223372036854775807, 2) and dtype u8 is too large; expected at most "
     "9223372036854775807 "
     "bytes"},
    /* data */
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", 47,
     "the data has 47 bytes; expected 48 for shape (3, 4) of f32"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}", 49,
     "the data has 49 bytes; expected 48 for shape (3, 4) of f32"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 0,
     "the data has 0 bytes; expected 4 for shape () of f32"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 1,
     "the data has 1 byte; expected 0 for shape (0,) of f32"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846975,)}", 8,
     "the data has 8 bytes; expected 9223372036854775800 for shape (1152921504606846975,) of f64"},
};

static void refuse_bad_headers(void **state) {
  static uint8_t file[FILE_ROOM];
  static const uint8_t data[64];
  char message[512];
  for (size_t n = 0; n < sizeof bad_headers / sizeof *bad_headers; n++) {
    snprintf(message, sizeof message, "x.npy: error: %s", bad_headers[n].message);
    check_refused(file, build(file, 1, bad_headers[n].header, data, bad_headers[n].data), message);
  }
}

static void refuse_bytes_that_are_not_text(void **state) {
  static uint8_t file[FILE_ROOM];
  size_t size = build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()} ", "data", 4);
  file[63] = 0;
  check_refused(file, size, "x.npy: error: the header has the byte 0x00 at byte 63; expected ASCII text");
  size = build(file, 3, "{'descr': '<f4', 'fortran_order': False, 'shape': ()} ", "data", 4);
  file[65] = 0;
  check_refused(file, size,
                "x.npy: error: the header has the byte 0x00 at byte 65; expected text without zero bytes");
  size = build(file, 3, "{'d\xC3\xA9scr': '<f4', 'fortran_order': False, 'shape': ()}", "data", 4);
  check_refused(
      file, size,
      "x.npy: error: the header has the key 'd\\xC3\\xA9scr'; expected the keys 'descr', 'fortran_order' and "
      "'shape' only");
}

static void refuse_a_header_past_64_kib(void **state) {
  static uint8_t file[FILE_ROOM];
  memset(file, ' ', sizeof file);
  memcpy(file, "\x93NUMPY\x02\x00\x01\x00\x01\x00", 12);
  check_refused(file, sizeof file, "x.npy: error: the header is 65537 bytes long; expected at most 65536");
}

/* Each prefix of a good file is refused, without a read past its end (the copy has no spare byte). */
static void refuse_every_prefix(void **state) {
  static uint8_t file[FILE_ROOM];
  static const float data[] = {1, 2, 3};
  size_t size =
      build(file, 2, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 1), }\n", data, sizeof data);
  for (size_t cut = 0; cut <= size; cut++) {
    ir_error error = {0};
    fe_array array;
    uint8_t *copy = malloc(cut ? cut : 1);
    assert_non_null(copy);
    memcpy(copy, file, cut);
    assert_int_equal(fe_npy_parse(copy, cut, "x.npy", &ir_mem_libc, &array, &error) == IR_OK, cut == size);
    fe_array_free(&ir_mem_libc, &array);
    free(copy);
  }
}

static void survive_every_failed_allocation(void **state) {
  static uint8_t file[FILE_ROOM];
  static const int16_t data[] = {0, 3, 1, 4, 2, 5};
  size_t size = build(file, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}", data, sizeof data);
  static const char *const messages[] = {"x.npy: error: not enough memory for 56 bytes",
                                         "x.npy: error: not enough memory for 12 bytes",
                                         "x.npy: error: not enough memory for 12 bytes", ""};
  for (long budget = 0; budget < 4; budget++) {
    ir_error error = {0};
    fe_array array;
    counter c = {0, SIZE_MAX, budget};
    ir_mem mem = {count_alloc, &c};
    assert_int_equal(fe_npy_parse(file, size, "x.npy", &mem, &array, &error),
                     budget < 3 ? IR_ERR_MEMORY : IR_OK);
    assert_string_equal(error.text, messages[budget]);
    fe_array_free(&mem, &array);
    assert_int_equal(c.live, 0);
  }
}

static void keep_the_first_error_and_shorten_long_names(void **state) {
  ir_error error = {0};
  fe_array array;
  char name[1001], expected[400];
  memset(name, 'n', 1000);
  name[1000] = 0;
  assert_int_equal(fe_npy_parse("", 0, name, &ir_mem_libc, &array, &error), IR_ERR_INVALID);
  snprintf(expected, sizeof expected, "...%s: error: the file is empty; expected a .npy file", name + 760);
  assert_string_equal(error.text, expected);
  assert_int_equal(fe_npy_parse("x", 1, "other.npy", &ir_mem_libc, &array, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, expected);
}

UNIT_TESTS(read_every_dtype_in_both_orders, read_any_spelling_of_the_header, read_scalars_and_empty_arrays,
           read_bools_as_zero_or_one, read_fortran_order_as_numpy_wrote_it, read_fortran_order_of_any_shape,
           refuse_what_precedes_the_header, refuse_bad_headers, refuse_bytes_that_are_not_text,
           refuse_a_header_past_64_kib, refuse_every_prefix, survive_every_failed_allocation,
           keep_the_first_error_and_shorten_long_names)
