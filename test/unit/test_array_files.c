#define _GNU_SOURCE /* memmem */
/* Files of arrays: what is read from well-formed ones, that all others are refused with a message, and that
 * what is written is read back. */

#include "frontend/files/arrays.h"
#include "test/lib/array_files.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

static file_bytes file;
static fe_arrays arrays;
static ir_error error;

static void parse(void) {
  ir_error_clear(&error);
  if (fe_arrays_parse(file.bytes, file.size, "x", &ir_mem_libc, &arrays, &error)) fail_msg("%s", error.text);
}

/* The whole message, behind the name of the file. */
static void check_says(const char *why) {
  if (strncmp(error.text, "x: error: ", 10) != 0) fail_msg("%s", error.text);
  assert_string_equal(error.text + 10, why);
}

static void refuse(const char *why) {
  ir_error_clear(&error);
  assert_int_not_equal(fe_arrays_parse(file.bytes, file.size, "x", &ir_mem_libc, &arrays, &error), IR_OK);
  fe_arrays_close(&arrays);
  check_says(why);
}

static size_t find(const char *name) {
  size_t index = fe_arrays_find(&arrays, name, strlen(name));
  assert_int_not_equal(index, SIZE_MAX);
  return index;
}

static const fe_stored *expect(const char *name, ir_dtype dtype, int rank, const int64_t *shape) {
  const fe_stored *s = &arrays.items[find(name)];
  assert_int_equal(s->dtype, dtype);
  assert_int_equal(s->rank, rank);
  for (int i = 0; i < rank; i++) assert_int_equal(s->shape[i], shape[i]);
  return s;
}

/* A member of an archive whose header says another dtype when it is read than when the file was opened. */
static void test_changed(void **state) {
  (void)state;
  static const char key[] = "'descr': '";
  for (int k = 0; k < FILE_SAMPLES; k++) {
    file_sample(&file, k);
    parse();
    for (size_t i = 0; i < arrays.count && arrays.format == FE_NPZ; i++) {
      const fe_stored *s = &arrays.items[i];
      char *at =
          s->encoding == FE_MEMBER ? memmem(file.bytes + s->offset, s->bytes, key, sizeof key - 1) : NULL;
      fe_array read;
      if (!at || at[sizeof key] != 'f') continue;
      at[sizeof key] = 'i';
      assert_int_equal(fe_arrays_load(&arrays, i, &ir_mem_libc, &read, &error), IR_ERR_IO);
      assert_non_null(strstr(error.text, " changed while it was read"));
      fe_arrays_close(&arrays);
      return;
    }
    fe_arrays_close(&arrays);
  }
  fail_msg("no sample is an archive with a stored array of f32");
}

static void test_safetensors(void **state) {
  file_sample(&file, 0);
  parse();
  assert_int_equal(arrays.format, FE_SAFETENSORS);
  assert_int_equal(arrays.count, 5);
  const fe_stored *w = expect("w", IR_F32, 2, (int64_t[]){2, 3});
  assert_int_equal(w->offset, file.size - 64);
  expect("caf\xc3\xa9", IR_I64, 0, NULL);
  expect("e", IR_BF16, 2, (int64_t[]){0, 7});
  assert_int_equal(expect("h", IR_NONE, 1, (int64_t[]){28})->encoding, FE_OTHER);
  fe_array b;
  assert_int_equal(fe_arrays_load(&arrays, find("b"), &ir_mem_libc, &b, &error), IR_OK);
  assert_memory_equal(b.data, "\1\1\1\1", 4); /* the bytes are 32 to 35 */
  fe_array_free(&ir_mem_libc, &b);
  assert_int_equal(fe_arrays_load(&arrays, find("h"), &ir_mem_libc, &b, &error), IR_ERR_UNSUPPORTED);
  check_says("array `h` is of type F8_E4M3, which viewfold does not read; of GGUF it reads F64, F32, F16, "
             "BF16, I8 to I64, "
             "Q8_0 and Q4_0, of safetensors all but types of fewer than 16 bits for a float");
  assert_int_equal(fe_arrays_find(&arrays, "W", 1), SIZE_MAX);
  fe_arrays_close(&arrays);
}

static void test_safetensors_refused(void **state) {
  static const struct {
    const char *header, *why;
    size_t data;
  } cases[] = {
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
       "the arrays end at byte 65, the file at byte 66", 5},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
       "array `a` is at bytes 0 to 4 of the data, which has 3", 3},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
       "array `b` begins at byte 116, inside the one before, which ends at byte 117", 7},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}",
       "array `b` begins at byte 118; the bytes from 117 on belong to no array", 9},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[1,5]}}",
       "array `a` begins at byte 62; the bytes from 61 on belong to no array", 5},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}",
       "array `a` begins at byte 63; the bytes from 61 on belong to no array", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]}}",
       "array `a` is at bytes 4 to 0 of the data, which has 4", 4},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,4]}}",
       "array `a` has 4 bytes of data; its dtype F32 and its shape take 16", 4},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}",
       "array `a` has a shape of too many elements, or of part of a byte", 1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
       "array `a` has a shape of too many elements, or of part of a byte", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775808],\"data_offsets\":[0,0]}}",
       "the header is wrong at byte 36, found '9'; expected an integer from 0 to 2^63 - 1", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}}",
       "the header is wrong at byte 36, found '-'; expected an integer from 0 to 2^63 - 1", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}",
       "the header is wrong at byte 37, found '.'; expected ',' or ']'", 1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]}}",
       "the header is wrong at byte 36, found '0'; expected an integer from 0 to 2^63 - 1", 1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}",
       "the header is wrong at byte 68, found '1'; expected a list of at most 16 sizes", 1},
      {"{\"a\":{\"dtype\":\"U7\",\"shape\":[4],\"data_offsets\":[0,4]}}",
       "the header is wrong at byte 26, found ','; expected a dtype before this: BOOL, U8 to U64, I8 to I64, "
       "F16, BF16, F32, F64 or a smaller one",
       4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}",
       "the header is wrong at byte 39, found '}'; expected \"dtype\", \"shape\" and \"data_offsets\" before "
       "this",
       4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"shape\":[4],\"data_offsets\":[0,4]}}",
       "the header is wrong at byte 39, found '\"'; expected one of \"dtype\", \"shape\" and "
       "\"data_offsets\", each once",
       4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"x\":1}}",
       "the header is wrong at byte 60, found '\"'; expected one of \"dtype\", \"shape\" and "
       "\"data_offsets\", each once",
       4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}",
       "the header is wrong at byte 59, found '4'; expected a list of two offsets", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
       "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       "array `a` is there twice; names must differ", 0},
      {"{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       "the name of array `a` has a zero byte; expected UTF-8 without zero bytes", 0},
      {"{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       "the name of array `?` is not UTF-8; expected UTF-8 without zero bytes", 0},
      {"{\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       "the header is wrong at byte 16, found '\"'; expected the second half of a surrogate pair", 0},
      {"{\"\\x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       "the header is wrong at byte 11, found 'x'; expected an escape of JSON", 0},
      {"{\"a\n\":{}}", "the header is wrong at byte 11, found 0x0A; expected the end of a string", 0},
      {"{\"__metadata__\":{\"a\":1}}", "the header is wrong at byte 29, found '1'; expected a string", 0},
      {"{\"a\":[]}", "the header is wrong at byte 13, found '['; expected an object that describes an array",
       0},
      {"{\"a\"", "the header is wrong at byte 12 at its end; expected ':'", 0},
      {"{} {", "the header is wrong at byte 11, found '{'; expected nothing but spaces after the header", 0},
      {"{,}", "the header is wrong at byte 9, found ','; expected the name of an array", 0},
      {"{", "the header is wrong at byte 9 at its end; expected the name of an array", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static const uint8_t data[16];
    file_safetensors(&file, cases[i].header, data, cases[i].data);
    refuse(cases[i].why);
  }
  file_safetensors(&file, "{}  ", NULL, 0);
  file.bytes[0] = 5; /* one more than there are */
  refuse("the header is 5 bytes long; expected at most 100000000, and no more than the 4 bytes that follow");
  memset(file.bytes, 0xff, 8);
  refuse("the header is 18446744073709551615 bytes long; expected at most 100000000, and no more than the 4 "
         "bytes that follow");
  file.size = 8;
  refuse("no file of arrays by its first bytes; expected safetensors, .npz, .npy or GGUF");
}

static void test_npz(void **state) {
  file_sample(&file, 1);
  parse();
  assert_int_equal(arrays.format, FE_NPZ);
  assert_int_equal(arrays.count, 4); /* one is no .npy file */
  assert_int_equal(expect("plain", IR_F32, 2, (int64_t[]){4, 5})->encoding, FE_PLAIN);
  expect("other/transposed", IR_F64, 2, (int64_t[]){2, 3});
  fe_array a;
  assert_int_equal(fe_arrays_load(&arrays, find("packed"), &ir_mem_libc, &a, &error), IR_OK);
  assert_int_equal(a.shape[0], 200);
  assert_int_equal(((int16_t *)a.data)[199], 0x3131);
  fe_array_free(&ir_mem_libc, &a);
  assert_int_equal(fe_arrays_load(&arrays, find("flags"), &ir_mem_libc, &a, &error), IR_OK);
  assert_memory_equal(a.data, "\0\0\0", 3);
  fe_array_free(&ir_mem_libc, &a);
  fe_arrays_close(&arrays);
}

/* Changes bytes of the well-formed archive, from an occurrence of a signature on. */
static void change(const char *sign, int occurrence, size_t offset, uint64_t value, int count) {
  file_sample(&file, 1);
  size_t at = 0;
  for (;; at++)
    if (memcmp(file.bytes + at, sign, 4) == 0 && occurrence-- == 0) break;
  for (int i = 0; i < count; i++) file.bytes[at + offset + (size_t)i] = (uint8_t)(value >> 8 * i);
}

static void test_npz_refused(void **state) {
  change("PK\1\2", 0, 8, 1, 2), refuse("array `plain` is encrypted; expected it without a password");
  change("PK\1\2", 0, 10, 12, 2),
      refuse("array `plain` is compressed by another method than deflate; expected it stored or deflated");
  change("PK\1\2", 0, 20, 7, 4), refuse("array `plain` is stored, and has two sizes; expected one");
  change("PK\1\2", 1, 24, UINT32_MAX - 1, 4),
      refuse("array `packed` is larger than what its bytes can give; expected at most 1032 times as many");
  change("PK\1\2", 1, 24, 10, 4),
      refuse("array `packed`: the header is 60 bytes long, but 0 bytes follow; expected a whole header");
  change("PK\3\4", 0, 30, 'P', 1),
      refuse("not a zip archive as of .npz: a member has another name than in the directory");
  change("PK\1\2", 1, 42, 0, 4), refuse("not a zip archive as of .npz: a member has no head of its name");
  change("PK\1\2", 0, 42, 1, 4), refuse("not a zip archive as of .npz: a member has no head of its name");
  change("PK\1\2", 0, 42, UINT32_MAX - 1, 4),
      refuse("not a zip archive as of .npz: a member begins in the directory");
  change("PK\1\2", 0, 28, 60000, 2),
      refuse("not a zip archive as of .npz: its directory ends inside an entry");
  change("PK\1\2", 0, 0, 0, 4),
      refuse("not a zip archive as of .npz: its directory has something else than entries");
  change("PK\3\4", 0, 26, 8, 2), refuse("not a zip archive as of .npz: a member has no head of its name");
  change("PK\3\4", 0, 28, 65535, 2),
      refuse("not a zip archive as of .npz: a member reaches into the directory");
  change("PK\5\6", 0, 4, 1, 2), refuse("not a zip archive as of .npz: it has several parts");
  change("PK\5\6", 0, 10, 65534, 2),
      refuse("not a zip archive as of .npz: its directory has fewer entries than it says");
  change("PK\5\6", 0, 12, 1 << 20, 4),
      refuse("not a zip archive as of .npz: its directory reaches behind the end of the directory");
  change("PK\5\6", 0, 20, 9, 2), refuse("not a zip archive as of .npz: there is no end of a directory");
  change("PK\5\6", 0, 10, UINT16_MAX, 2),
      refuse("not a zip archive as of .npz: its directory has fewer entries than it says"); /* zip64, without
                                                                                               its records */
  change("PK\3\4", 1, 30 + strlen("packed.npy"), 7, 1),
      refuse("array `packed` is damaged: invalid block type");
  change("PK\3\4", 0, 30 + strlen("plain.npy"), 0, 1),
      refuse("array `plain`: not a .npy file: it starts with 00 4E 55 4D 50 59; expected 93 4E 55 4D 50 59");
  /* a wrong checksum is found when the array is read */
  change("PK\1\2", 1, 16, 1, 4), parse();
  fe_array a;
  assert_int_equal(fe_arrays_load(&arrays, find("packed"), &ir_mem_libc, &a, &error), IR_ERR_INVALID);
  check_says("array `packed` is damaged: its CRC-32 is wrong");
  fe_arrays_close(&arrays);
  /* two members in one place */
  uint8_t npy[200];
  size_t size = file_npy(npy, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", "abc", 3);
  file_member two[] = {{"a.npy", npy, size, false}, {"a.npy", npy, size, false}};
  file_zip(&file, two, 2), refuse("array `a` is there twice; names must differ");
  two[1] = (file_member){"b.npy", npy, size - 1, false};
  file_zip(&file, two, 2), refuse("array `b` has 2 bytes of data; its header says 3");
}

static void test_gguf(void **state) {
  file_sample(&file, 3);
  parse();
  assert_int_equal(arrays.format, FE_GGUF);
  const fe_stored *x = expect("x", IR_F32, 2, (int64_t[]){2, 64}),
                  *y = expect("y", IR_F32, 2, (int64_t[]){2, 64});
  assert_int_equal(x->encoding, FE_Q8_0);
  assert_int_equal(x->bytes, 4 * 34);
  assert_int_equal(y->encoding, FE_Q4_0);
  assert_int_equal(y->offset + y->bytes, file.size);
  fe_arrays_close(&arrays);
  file_sample(&file, 2);
  parse();
  assert_int_equal(expect("x", IR_F32, 2, (int64_t[]){2, 64})->encoding, FE_PLAIN);
  assert_int_equal(expect("y", IR_F16, 1, (int64_t[]){64})->offset % 16, 0);
  fe_arrays_close(&arrays);
}

static void one_gguf(int rank, const uint64_t *sizes, uint32_t type, uint64_t offset, size_t data) {
  file_gguf(&file, 3, 1, 0);
  file_gguf_array(&file, "x", rank, sizes, type, offset);
  file_align(&file, 32);
  for (size_t i = 0; i < data; i++) file_number(&file, 0, 1);
}

static void test_gguf_refused(void **state) {
  file_gguf(&file, 1, 0, 0), refuse("GGUF of version 1; expected 2 or 3");
  file_gguf(&file, 3 << 24, 0, 0), refuse("a big-endian GGUF file; expected a little-endian one");
  file_gguf(&file, 3, 1, 0), refuse("the head before byte 24 counts more than fits into the file");
  file_gguf(&file, 3, 0, UINT64_MAX), refuse("the head before byte 24 counts more than fits into the file");
  one_gguf(1, (uint64_t[]){4}, 0, 0, 15),
      refuse("array `x` has 16 bytes from byte 0 of the data on, which has 15");
  one_gguf(1, (uint64_t[]){4}, 0, 4, 32),
      refuse("array `x` is at byte 4 of the data; expected a multiple of 32");
  one_gguf(1, (uint64_t[]){4}, 0, UINT64_MAX - 31, 32),
      refuse("array `x` has 16 bytes from byte 18446744073709551584 of the data on, which has 32");
  one_gguf(2, (uint64_t[]){1ull << 40, 1ull << 40}, 0, 0, 32),
      refuse("description 0 before byte 65 has too many elements");
  one_gguf(1, (uint64_t[]){UINT64_MAX}, 0, 0, 32),
      refuse("description 0 before byte 57 has too many elements");
  one_gguf(1, (uint64_t[]){33}, 8, 0, 64),
      refuse("description 0 before byte 57 has rows that are no whole number of blocks of its type");
  one_gguf(0, NULL, 8, 0, 64),
      refuse("description 0 before byte 49 has rows that are no whole number of blocks of its type");
  one_gguf(1, (uint64_t[]){32}, 4, 0, 64),
      refuse("description 0 before byte 57 is of an unknown type of elements");
  one_gguf(17, (uint64_t[17]){1}, 0, 0, 64), refuse("description 0 before byte 37 has more than 16 axes");
  file_gguf(&file, 3, 2, 0);
  for (int i = 0; i < 2; i++) file_gguf_array(&file, i ? "b" : "a", 1, (uint64_t[]){32}, 0, i ? 64 : 0);
  file_align(&file, 32);
  for (int i = 0; i < 64; i++) file_number(&file, 0, 4);
  refuse("array `b` begins at byte 160, inside the one before, which ends at byte 224");
  static const struct {
    uint32_t type, length;
    uint64_t value;
    const char *why;
  } alignments[] = {
      {4, 4, 0, "metadatum 0 before byte 57 gives an alignment that is no power of two of at least 8"},
      {4, 4, 24, "metadatum 0 before byte 57 gives an alignment that is no power of two of at least 8"},
      {4, 4, 4, "metadatum 0 before byte 57 gives an alignment that is no power of two of at least 8"},
      {10, 8, 32, "metadatum 0 before byte 53 gives an alignment that is no u32"}};
  for (size_t i = 0; i < 4; i++) {
    file_gguf(&file, 3, 0, 1);
    file_string(&file, "general.alignment"), file_number(&file, alignments[i].type, 4);
    file_number(&file, alignments[i].value, (int)alignments[i].length);
    refuse(alignments[i].why);
  }
  file_gguf(&file, 3, 0, 2);
  for (int i = 0; i < 2; i++)
    file_string(&file, "general.alignment"), file_number(&file, 4, 4), file_number(&file, 64, 4);
  refuse("metadatum 1 before byte 86 gives the alignment twice");
  file_gguf(&file, 3, 0, 1);
  file_string(&file, "k"), file_number(&file, 9, 4), file_number(&file, 9, 4), file_number(&file, 1, 8);
  refuse("metadatum 0 before byte 49 is a list of lists, or of an unknown type");
  file_gguf(&file, 3, 0, 1);
  file_string(&file, "k"), file_number(&file, 9, 4), file_number(&file, 12, 4),
      file_number(&file, 1ull << 61, 8);
  refuse("metadatum 0 before byte 49 is a list that is longer than the file");
  file_gguf(&file, 3, 0, 1);
  file_string(&file, "k"), file_number(&file, 13, 4), file_number(&file, 0, 8);
  refuse("metadatum 0 before byte 37 is of an unknown type");
  file_gguf(&file, 3, 0, 1);
  file_number(&file, UINT64_MAX, 8), file_number(&file, 0, 8);
  refuse("metadatum 0 before byte 32 has a key that is longer than the file");
}

static void test_cut_in_a_number(void **state) {
  file_gguf(&file, 3, 0, 0);
  file.size = 20;
  refuse("the file ends at byte 20; the head needs 8 bytes from byte 16 on");
}

/* Every beginning of a well-formed file is refused. */
static void test_cut(void **state) {
  for (int i = 0; i < FILE_SAMPLES; i++) {
    file_sample(&file, i);
    for (size_t whole = file.size; file.size-- > 0;) {
      uint8_t *exact = malloc(file.size ? file.size : 1);
      memcpy(exact, file.bytes, file.size);
      ir_error_clear(&error);
      if (!fe_arrays_parse(exact, file.size, "x", &ir_mem_libc, &arrays, &error))
        fail_msg("sample %d: %zu of %zu bytes are accepted", i, file.size, whole);
      fe_arrays_close(&arrays);
      free(exact);
    }
  }
}

/* The message behind the name of the file, which is not made. */
static void check_refuses_to_write(const char *path, const fe_named_array *list, size_t count,
                                   const char *why) {
  char expected[1000];
  ir_error_clear(&error);
  assert_int_equal(fe_arrays_write(path, list, count, &ir_mem_libc, &error), IR_ERR_INVALID);
  snprintf(expected, sizeof expected, "%s: error: %s", path, why);
  assert_string_equal(error.text, expected);
}

static void check_unwritten(const char *path, const fe_named_array *good) {
  const fe_named_array same[] = {*good, *good};
  fe_named_array nameless = *good, latin = *good, negative = *good, lost = *good;
  nameless.name = "", latin.name = "caf\xe9", negative.rank = -1, lost.data = NULL;
  check_refuses_to_write(path, same, 2, "array `odd` is there twice; names must differ");
  check_refuses_to_write(path, &nameless, 1, "the name of the array is empty; expected one in UTF-8");
  check_refuses_to_write(path, &latin, 1, "the name of array `caf?` is not UTF-8; expected one in UTF-8");
  check_refuses_to_write(path, &negative, 1,
                         "array `odd` has no dtype, a shape that is no shape, or no elements; expected all "
                         "three, with at most 16 axes and sizes of at least 0");
  check_refuses_to_write(path, &lost, 1,
                         "array `odd` has no dtype, a shape that is no shape, or no elements; expected all "
                         "three, with at most 16 axes and sizes of at least 0");
}

static void test_written(void **state) {
  static const int64_t odd[] = {3}, matrix[] = {2, 3}, none[] = {0, 5};
  const fe_named_array list[] = {{"odd", IR_U8, 1, odd, "abc"},
                                 {"f", IR_F32, 2, matrix, (float[]){1, 2, 3, 4, 5, 6}},
                                 {"say \"\\\n\x01", IR_I16, 0, NULL, &(int16_t){-7}},
                                 {"caf\xc3\xa9", IR_F64, 2, none, NULL},
                                 {"d", IR_F64, 1, odd, (double[]){1, 2, 3}}};
  enum { COUNT = sizeof list / sizeof *list };
  static const char *const ends[] = {"safetensors", "npz"};
  char folder[200], path[300];
  assert_true(test_folder_make(folder, sizeof folder));
  for (int k = 0; k < 2; k++) {
    snprintf(path, sizeof path, "%s/a.%s", folder, ends[k]);
    ir_error_clear(&error);
    if (fe_arrays_write(path, list, COUNT, &ir_mem_libc, &error)) fail_msg("%s", error.text);
    if (fe_arrays_open(path, &ir_mem_libc, &arrays, &error)) fail_msg("%s", error.text);
    assert_int_equal(arrays.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
      size_t index = find(list[i].name);
      fe_array a;
      expect(list[i].name, list[i].dtype, list[i].rank, list[i].shape);
      assert_true(fe_arrays_in_place(&arrays, index));
      assert_true(arrays.items[index].offset % ir_dtypes[list[i].dtype].bytes == 0);
      assert_int_equal(fe_arrays_load(&arrays, index, &ir_mem_libc, &a, &error), IR_OK);
      if (a.bytes) assert_memory_equal(a.data, list[i].data, a.bytes);
      fe_array_free(&ir_mem_libc, &a);
    }
    fe_arrays_close(&arrays);
    check_unwritten(path, &list[0]);
    ir_error_clear(&error);
    assert_int_equal(fe_arrays_open(path, &ir_mem_libc, &arrays, &error), IR_OK); /* still there */
    fe_arrays_close(&arrays);
  }
  snprintf(path, sizeof path, "%s/a.txt", folder);
  check_refuses_to_write(path, list, 1,
                         "arrays are written to files called NAME.safetensors or NAME.npz, one to NAME.npy");
  snprintf(path, sizeof path, "%s/a.npz", folder);
  char *name = unit_keep(malloc(65533), free);
  memset(name, 'n', 65532), name[65532] = 0;
  fe_named_array named = list[0];
  named.name = name;
  check_refuses_to_write(path, &named, 1,
                         "the name of array "
                         "`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                         "nnnnnnnnnnnnnnnnnn...` has more than 65,531 bytes; expected at most so many");
  test_folder_remove(folder);
}

/* Names whose sum is more than a reader takes; each is a text from another place on. */
static void test_long_header(void **state) {
  (void)state;
  enum { LENGTH = 65531, COUNT = 1600 };
  static char names[LENGTH + 1], folder[200], path[300];
  static fe_named_array list[COUNT];
  static const float one = 1;
  for (uint32_t i = 0; i < LENGTH; i++) names[i] = (char)('a' + (i * 2654435761u >> 16) % 26);
  for (int i = 0; i < COUNT; i++)
    list[i] = (fe_named_array){.name = names + i, .dtype = IR_F32, .data = &one};
  assert_true(test_folder_make(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/long.safetensors", folder);
  ir_error_clear(&error);
  assert_int_equal(fe_arrays_write(path, list, COUNT, &ir_mem_libc, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, "error: the header would have "));
  assert_non_null(strstr(error.text, " bytes; at most 100000000 may be read"));
  test_folder_remove(folder);
}

UNIT_TESTS(test_safetensors, test_safetensors_refused, test_npz, test_npz_refused, test_gguf,
           test_gguf_refused, test_cut_in_a_number, test_cut, test_written, test_changed, test_long_header)
