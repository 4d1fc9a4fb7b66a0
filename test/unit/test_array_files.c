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

static void refuse(const char *why) {
  ir_error_clear(&error);
  assert_int_not_equal(fe_arrays_parse(file.bytes, file.size, "x", &ir_mem_libc, &arrays, &error), IR_OK);
  fe_arrays_close(&arrays);
  if (strncmp(error.text, "x: error: ", 10) != 0 || !strstr(error.text, why))
    fail_msg("expected \"%s\" in: %s", why, error.text);
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
  assert_non_null(strstr(error.text, "F8_E4M3"));
  assert_int_equal(fe_arrays_find(&arrays, "W", 1), SIZE_MAX);
  fe_arrays_close(&arrays);
}

static void test_safetensors_refused(void **state) {
  static const struct {
    const char *header, *why;
    size_t data;
  } cases[] = {
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", "end at byte", 5},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", "which has 3", 3},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
       "`b` begins at byte", 7},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}",
       "belong to no array", 9},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[1,5]}}", "belong to no array", 5},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}", "belong to no array", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]}}", "at bytes 4 to 0", 4},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,4]}}", "take 16", 4},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", "part of a byte", 1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
       "too many elements", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775808],\"data_offsets\":[0,0]}}", "an integer", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}}", "an integer", 0},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", "',' or ']'", 1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]}}", "an integer", 1},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}",
       "at most 16", 1},
      {"{\"a\":{\"dtype\":\"U7\",\"shape\":[4],\"data_offsets\":[0,4]}}", "a dtype", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", "before this", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"shape\":[4],\"data_offsets\":[0,4]}}", "each once", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"x\":1}}", "each once", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}", "two offsets", 4},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
       "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       "twice", 0},
      {"{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", "zero byte", 0},
      {"{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", "UTF-8", 0},
      {"{\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", "surrogate", 0},
      {"{\"\\x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", "an escape", 0},
      {"{\"a\n\":{}}", "the end of a string", 0},
      {"{\"__metadata__\":{\"a\":1}}", "a string", 0},
      {"{\"a\":[]}", "an object", 0},
      {"{\"a\"", "':'", 0},
      {"{} {", "nothing but spaces", 0},
      {"{,}", "the name of an array", 0},
      {"{", "the name of an array", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static const uint8_t data[16];
    file_safetensors(&file, cases[i].header, data, cases[i].data);
    refuse(cases[i].why);
  }
  file_safetensors(&file, "{}  ", NULL, 0);
  file.bytes[0] = 5; /* one more than there are */
  refuse("is 5 bytes long");
  memset(file.bytes, 0xff, 8);
  refuse("expected at most");
  file.size = 8;
  refuse("no file of arrays");
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
  change("PK\1\2", 0, 8, 1, 2), refuse("encrypted");
  change("PK\1\2", 0, 10, 12, 2), refuse("another method");
  change("PK\1\2", 0, 20, 7, 4), refuse("two sizes");
  change("PK\1\2", 1, 24, UINT32_MAX - 1, 4), refuse("larger than what its bytes can give");
  change("PK\1\2", 1, 24, 10, 4), refuse("`packed`");
  change("PK\3\4", 0, 30, 'P', 1), refuse("another name");
  change("PK\1\2", 1, 42, 0, 4), refuse("no head of its name");
  change("PK\1\2", 0, 42, 1, 4), refuse("no head of its name");
  change("PK\1\2", 0, 42, UINT32_MAX - 1, 4), refuse("begins in the directory");
  change("PK\1\2", 0, 28, 60000, 2), refuse("ends inside an entry");
  change("PK\1\2", 0, 0, 0, 4), refuse("something else than entries");
  change("PK\3\4", 0, 26, 8, 2), refuse("no head of its name");
  change("PK\3\4", 0, 28, 65535, 2), refuse("reaches into the directory");
  change("PK\5\6", 0, 4, 1, 2), refuse("several parts");
  change("PK\5\6", 0, 10, 65534, 2), refuse("fewer entries");
  change("PK\5\6", 0, 12, 1 << 20, 4), refuse("reaches behind the end");
  change("PK\5\6", 0, 20, 9, 2), refuse("no end of a directory");
  change("PK\5\6", 0, 10, UINT16_MAX, 2), refuse("fewer entries"); /* zip64, without its records */
  change("PK\3\4", 1, 30 + strlen("packed.npy"), 7, 1), refuse("`packed` is damaged");
  change("PK\3\4", 0, 30 + strlen("plain.npy"), 0, 1), refuse("`plain`: not a .npy file");
  /* a wrong checksum is found when the array is read */
  change("PK\1\2", 1, 16, 1, 4), parse();
  fe_array a;
  assert_int_equal(fe_arrays_load(&arrays, find("packed"), &ir_mem_libc, &a, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, "CRC-32"));
  fe_arrays_close(&arrays);
  /* two members in one place */
  uint8_t npy[200];
  size_t size = file_npy(npy, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", "abc", 3);
  file_member two[] = {{"a.npy", npy, size, false}, {"a.npy", npy, size, false}};
  file_zip(&file, two, 2), refuse("`a` is there twice");
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
  file_gguf(&file, 1, 0, 0), refuse("version 1; expected 2 or 3");
  file_gguf(&file, 3 << 24, 0, 0), refuse("big-endian");
  file_gguf(&file, 3, 1, 0), refuse("more than fits");
  file_gguf(&file, 3, 0, UINT64_MAX), refuse("more than fits");
  one_gguf(1, (uint64_t[]){4}, 0, 0, 15), refuse("has 16 bytes");
  one_gguf(1, (uint64_t[]){4}, 0, 4, 32), refuse("expected a multiple of 32");
  one_gguf(1, (uint64_t[]){4}, 0, UINT64_MAX - 31, 32), refuse("has 16 bytes");
  one_gguf(2, (uint64_t[]){1ull << 40, 1ull << 40}, 0, 0, 32), refuse("too many elements");
  one_gguf(1, (uint64_t[]){UINT64_MAX}, 0, 0, 32), refuse("too many elements");
  one_gguf(1, (uint64_t[]){33}, 8, 0, 64), refuse("no whole number of blocks");
  one_gguf(0, NULL, 8, 0, 64), refuse("no whole number of blocks");
  one_gguf(1, (uint64_t[]){32}, 4, 0, 64), refuse("unknown type of elements");
  one_gguf(17, (uint64_t[17]){1}, 0, 0, 64), refuse("more than 16 axes");
  file_gguf(&file, 3, 2, 0);
  for (int i = 0; i < 2; i++) file_gguf_array(&file, i ? "b" : "a", 1, (uint64_t[]){32}, 0, i ? 64 : 0);
  file_align(&file, 32);
  for (int i = 0; i < 64; i++) file_number(&file, 0, 4);
  refuse("`b` begins at byte");
  static const struct {
    uint32_t type, length;
    uint64_t value;
    const char *why;
  } alignments[] = {{4, 4, 0, "power of two"},
                    {4, 4, 24, "power of two"},
                    {4, 4, 4, "power of two"},
                    {10, 8, 32, "no u32"}};
  for (size_t i = 0; i < 4; i++) {
    file_gguf(&file, 3, 0, 1);
    file_string(&file, "general.alignment"), file_number(&file, alignments[i].type, 4);
    file_number(&file, alignments[i].value, (int)alignments[i].length);
    refuse(alignments[i].why);
  }
  file_gguf(&file, 3, 0, 2);
  for (int i = 0; i < 2; i++)
    file_string(&file, "general.alignment"), file_number(&file, 4, 4), file_number(&file, 64, 4);
  refuse("twice");
  file_gguf(&file, 3, 0, 1);
  file_string(&file, "k"), file_number(&file, 9, 4), file_number(&file, 9, 4), file_number(&file, 1, 8);
  refuse("list of lists");
  file_gguf(&file, 3, 0, 1);
  file_string(&file, "k"), file_number(&file, 9, 4), file_number(&file, 12, 4),
      file_number(&file, 1ull << 61, 8);
  refuse("longer than the file");
  file_gguf(&file, 3, 0, 1);
  file_string(&file, "k"), file_number(&file, 13, 4), file_number(&file, 0, 8);
  refuse("unknown type");
  file_gguf(&file, 3, 0, 1);
  file_number(&file, UINT64_MAX, 8), file_number(&file, 0, 8);
  refuse("longer than the file");
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
    fe_named_array same[] = {list[0], list[0]}, nameless = list[0];
    nameless.name = "";
    assert_int_equal(fe_arrays_write(path, same, 2, &ir_mem_libc, &error), IR_ERR_INVALID);
    assert_non_null(strstr(error.text, "twice"));
    ir_error_clear(&error);
    assert_int_equal(fe_arrays_write(path, &nameless, 1, &ir_mem_libc, &error), IR_ERR_INVALID);
    ir_error_clear(&error);
    assert_int_equal(fe_arrays_open(path, &ir_mem_libc, &arrays, &error), IR_OK); /* still there */
    fe_arrays_close(&arrays);
  }
  assert_int_equal(fe_arrays_write("/tmp/a.txt", list, 1, &ir_mem_libc, &error), IR_ERR_INVALID);
  test_folder_remove(folder);
}

UNIT_TESTS(test_safetensors, test_safetensors_refused, test_npz, test_npz_refused, test_gguf,
           test_gguf_refused, test_cut, test_written)
