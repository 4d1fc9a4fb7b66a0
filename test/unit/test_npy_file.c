/* .npy on disk: the files written equal numpy's byte for byte, files and pipes are read, and failures of the
 * file system have messages. The expected headers were written by numpy 2.4; where python3 has numpy, the
 * last test asks it directly. */
#include "frontend/files/npy.h"

#include "frontend/files/npy_header.h"
#include "test/lib/unit.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];

static int make_directory(void **state) {
  strcpy(directory, "/tmp/test_npy_file.XXXXXX");
  return mkdtemp(directory) && chmod(directory, 0755) == 0 ? 0 : 1;
}

static int remove_directory(void **state) {
  DIR *entries = opendir(directory);
  if (!entries) return 1;
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
    if (entry->d_name[0] != '.') unlinkat(dirfd(entries), entry->d_name, 0);
  closedir(entries);
  return rmdir(directory); /* fails when a temporary was left behind */
}

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

/* The dict that numpy.save writes for each dtype and shape, and the offset of the data after it. */
static const struct {
  ir_dtype dtype;
  int rank;
  int64_t shape[16];
  const char *dict;
  size_t start;
} headers[] = {
    {IR_F64, 0, {0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 128},
    {IR_I32, 2, {2, 3}, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 128},
    {IR_F32, 1, {0}, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", 128},
    {IR_U8, 1, {5}, "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", 128},
    {IR_BOOL, 3, {1, 0, 7}, "{'descr': '|b1', 'fortran_order': False, 'shape': (1, 0, 7), }", 128},
    {IR_I8, 1, {1}, "{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }", 128},
    {IR_I16, 1, {1}, "{'descr': '<i2', 'fortran_order': False, 'shape': (1,), }", 128},
    {IR_U32, 1, {1}, "{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }", 128},
    {IR_U64, 1, {1}, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", 128},
    {IR_BF16, 1, {2}, "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", 128},
    {IR_F16,
     7,
     {1, 2, 1, 1, 1, 1, 1},
     "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 1, 1, 1, 1, 1), }",
     128},
    {IR_F32,
     7,
     {1, 0, 1000000000000, 1, 1, 10, 1000},
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0, 1000000000000, 1, 1, 10, 1000), }",
     128},
    {IR_F64,
     2,
     {576460752303423487, 0},
     "{'descr': '<f8', 'fortran_order': False, 'shape': (576460752303423487, 0), }",
     128},
    {IR_U16,
     14,
     {1, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
     128},
    /* exactly 128 bytes before padding: numpy adds another 64 */
    {IR_U16,
     14,
     {1, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
     192},
    {IR_I64,
     16,
     {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
     192},
};

static void write_what_numpy_writes(void **state) {
  uint8_t data[256], expected[512], found[513];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7 + 1);
  for (size_t n = 0; n < sizeof headers / sizeof *headers; n++) {
    ir_error error = {0};
    fe_array array;
    size_t bytes = 0, start = headers[n].start;
    assert_true(fe_shape_bytes(headers[n].dtype, headers[n].rank, headers[n].shape, &bytes));
    memset(expected, ' ', sizeof expected);
    memcpy(expected, "\x93NUMPY\x01\x00", 8);
    expected[8] = (uint8_t)(start - 10);
    expected[9] = 0;
    memcpy(expected + 10, headers[n].dict, strlen(headers[n].dict));
    expected[start - 1] = '\n';
    memcpy(expected + start, data, bytes);
    const char *path = path_of("a.npy");
    assert_int_equal(fe_npy_write(path, headers[n].dtype, headers[n].rank, headers[n].shape, data, &error),
                     IR_OK);
    assert_int_equal(unit_read_file(path, found, sizeof found), start + bytes);
    assert_memory_equal(found, expected, start + bytes);
    if (headers[n].dtype == IR_BOOL && bytes) continue;
    assert_int_equal(fe_npy_read(path, &ir_mem_libc, &array, &error), IR_OK);
    assert_int_equal(array.dtype, headers[n].dtype);
    assert_int_equal(array.rank, headers[n].rank);
    assert_memory_equal(array.shape, headers[n].shape, sizeof array.shape);
    assert_int_equal(array.bytes, bytes);
    if (bytes) assert_memory_equal(array.data, data, bytes);
    fe_array_free(&ir_mem_libc, &array);
  }
}

static void fail_to_read(const char *path, ir_status wanted, const char *message) {
  ir_error error = {0};
  fe_array array;
  char expected[512];
  snprintf(expected, sizeof expected, "%s: error: %s", path, message);
  ir_status status = fe_npy_read(path, &ir_mem_libc, &array, &error);
  assert_string_equal(error.text, expected);
  assert_int_equal(status, wanted);
  assert_null(array.data);
}

static void say_why_a_file_cannot_be_read(void **state) {
  fail_to_read(path_of("none.npy"), IR_ERR_IO, "cannot open the file: No such file or directory");
  fail_to_read(directory, IR_ERR_IO, "cannot read the file: Is a directory");
  fail_to_read("", IR_ERR_IO, "cannot open the file: No such file or directory");
  fail_to_read("/dev/null", IR_ERR_INVALID, "the file is empty; expected a .npy file");
  const char *path = path_of("closed.npy");
  unit_write_file(path, "x", 1);
  fail_to_read(path, IR_ERR_INVALID, "not a .npy file: it starts with 78; expected 93 4E 55 4D 50 59");
  assert_int_equal(chmod(path, 0), 0);
  if (geteuid() == 0 && seteuid(65534) != 0) {
    print_message("the superuser reads every file, and this one may not become another user: not tested\n");
    return;
  }
  ir_error error = {0};
  fe_array array;
  ir_status status = fe_npy_read(path, &ir_mem_libc, &array, &error);
  if (getuid() == 0) assert_int_equal(seteuid(0), 0);
  assert_int_equal(status, IR_ERR_IO);
  assert_string_equal(error.text + strlen(path), ": error: cannot open the file: Permission denied");
}

static void *small_alloc(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)old_size;
  if (new_size == 0) free(ptr);
  return new_size && new_size <= *(size_t *)user ? realloc(ptr, new_size) : NULL;
}

/* A sparse file of 1 TiB is refused because of its header, with little memory. */
static void read_no_more_than_the_header_of_a_bad_huge_file(void **state) {
  const char *path = path_of("huge.npy");
  char header[FE_NPY_HEADER_ROOM];
  size_t most = 4096;
  ir_mem mem = {small_alloc, &most};
  ir_error error = {0};
  fe_array array;
  int64_t shape = INT64_C(1) << 40;
  unit_write_file(path, header, fe_npy_header_format(header, IR_U8, 1, &shape));
  if (truncate(path, shape) != 0) {
    print_message("no sparse file of 1 TiB can be made here: not tested\n");
    skip();
  }
  assert_int_equal(fe_npy_read(path, &mem, &array, &error), IR_ERR_INVALID);
  assert_string_equal(
      error.text + strlen(path),
      ": error: the data has 1099511627648 bytes; expected 1099511627776 for shape (1099511627776,) of u8");
  ir_error_clear(&error);
  if (truncate(path, shape + 128) != 0) skip();
  assert_int_equal(fe_npy_read(path, &mem, &array, &error), IR_ERR_MEMORY);
  assert_non_null(
      strstr(error.text, ": error: the header says 1099511627776 bytes of data; this machine has "));
}

/* Feed `size` bytes of a file through a pipe to the reader. */
static ir_status read_through_a_pipe(const uint8_t *bytes, size_t size, fe_array *array, ir_error *error) {
  int ends[2];
  char path[32];
  assert_int_equal(pipe(ends), 0);
  pid_t writer = fork();
  assert_true(writer >= 0);
  if (writer == 0) {
    close(ends[0]);
    while (size > 0) {
      ssize_t count = write(ends[1], bytes, size);
      if (count <= 0) _exit(1);
      bytes += count;
      size -= (size_t)count;
    }
    _exit(0);
  }
  close(ends[1]);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  ir_status status = fe_npy_read(path, &ir_mem_libc, array, error);
  close(ends[0]);
  waitpid(writer, NULL, 0);
  return status;
}

static void read_pipes(void **state) {
  enum { COUNT = 3000000 };
  int64_t shape[] = {1000, 3000};
  uint8_t *file = malloc(FE_NPY_HEADER_ROOM + COUNT);
  assert_non_null(file);
  size_t start = fe_npy_header_format((char *)file, IR_U8, 2, shape), size = start + COUNT;
  for (size_t i = 0; i < COUNT; i++) file[start + i] = (uint8_t)(i % 251);
  ir_error error = {0};
  fe_array array;
  assert_int_equal(read_through_a_pipe(file, size, &array, &error), IR_OK);
  assert_int_equal(array.bytes, COUNT);
  assert_memory_equal(array.data, file + start, COUNT);
  fe_array_free(&ir_mem_libc, &array);
  static const struct {
    long change;
    const char *message;
  } cases[] = {{-1, "the data has 2999999 bytes; expected 3000000 for shape (1000, 3000) of u8"},
               {1, "the data has at least 3000001 bytes; expected 3000000 for shape (1000, 3000) of u8"},
               {-COUNT, "the data has 0 bytes; expected 3000000 for shape (1000, 3000) of u8"},
               {-COUNT - 100, "the header is 118 bytes long, but 18 bytes follow; expected a whole header"},
               {-COUNT - 120, "the file ends after 8 bytes; expected the 10 bytes that precede a header"}};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    ir_error_clear(&error);
    assert_int_equal(read_through_a_pipe(file, (size_t)((long)size + cases[n].change), &array, &error),
                     IR_ERR_INVALID);
    assert_string_equal(strstr(error.text, ": error: ") + 9, cases[n].message);
    assert_null(array.data);
  }
  /* the header promises half of the machine's memory, 8 bytes come: memory is allocated as bytes come */
  int64_t promised = sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
  char says[160];
  start = fe_npy_header_format((char *)file, IR_U8, 1, &promised);
  ir_error_clear(&error);
  assert_int_equal(read_through_a_pipe(file, start + 8, &array, &error), IR_ERR_INVALID);
  snprintf(says, sizeof says, "the data has 8 bytes; expected %" PRId64 " for shape (%" PRId64 ",) of u8",
           promised, promised);
  assert_string_equal(strstr(error.text, ": error: ") + 9, says);
  /* 8 EiB are more than any machine has: nothing is read */
  promised = INT64_MAX;
  start = fe_npy_header_format((char *)file, IR_U8, 1, &promised);
  ir_error_clear(&error);
  assert_int_equal(read_through_a_pipe(file, start + 8, &array, &error), IR_ERR_MEMORY);
  assert_non_null(
      strstr(error.text, ": error: the header says 9223372036854775807 bytes of data; this machine has "));
  free(file);
}

static void write_nothing_that_cannot_be_written(void **state) {
  static const struct {
    ir_dtype dtype;
    int rank;
    int64_t shape[2];
    const char *message;
  } cases[] = {
      {IR_INDEX, 0, {0}, "cannot write the dtype index; expected one that can be stored"},
      {IR_NONE, 0, {0}, "cannot write the dtype none; expected one that can be stored"},
      {IR_DTYPE_COUNT, 0, {0}, "cannot write the dtype (unknown); expected one that can be stored"},
      {IR_F32, 17, {0}, "cannot write an array of rank 17; expected 0 to 16"},
      {IR_F32, -1, {0}, "cannot write an array of rank -1; expected 0 to 16"},
      {IR_F32,
       2,
       {2, -1},
       "cannot write an array of shape (2, -1) and dtype f32; expected sizes of 0 or more and at most "
       "9223372036854775807 bytes"},
  };
  char path[128], expected[512], found[8];
  snprintf(path, sizeof path, "%s", path_of("kept.npy"));
  unit_write_file(path, "before", 6);
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    ir_error error = {0};
    snprintf(expected, sizeof expected, "%s: error: %s", path, cases[n].message);
    ir_status status = fe_npy_write(path, cases[n].dtype, cases[n].rank, cases[n].shape, "", &error);
    assert_string_equal(error.text, expected);
    assert_int_equal(status, IR_ERR_INVALID);
    assert_int_equal(unit_read_file(path, found, sizeof found), 6);
    assert_memory_equal(found, "before", 6);
  }
}

static const char numpy_writes[] =
    "import sys, numpy as n\n"
    "shapes = [(), (0,), (7,), (2, 3), (1, 5), (4, 1, 3), (2, 0, 4), (2, 3, 4, 5), (1,) * 16, (12345,)]\n"
    "for d in '?bBhHiIqQefd':\n"
    "  for k, s in enumerate(shapes):\n"
    "    a = (n.arange(n.prod(s, dtype=int)) * 37 % 113).reshape(s).astype(d)\n"
    "    name = sys.argv[1] + '/%d_%d_' % ('?bBhHiIqQefd'.index(d), k)\n"
    "    n.save(name + 'c.npy', a)\n"
    "    n.save(name + 'f.npy', n.asfortranarray(a) if s else a)\n"
    "    n.save(name + 's.npy', a.astype(a.dtype.newbyteorder('>')))\n"
    "    n.lib.format.write_array(open(name + '2.npy', 'wb'), a, (2, 0))\n"
    "    n.lib.format.write_array(open(name + '3.npy', 'wb'), a, (3, 0))\n";

/* Files by numpy in C and Fortran order, either byte order and versions 2 and 3, rewritten: all equal
 * numpy.save's. */
static void agree_with_numpy(void **state) {
  if (system("python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
    print_message("python3 has no numpy: the direct comparison is left out, the fixtures stand for it\n");
    skip();
  }
  char *arguments[] = {"python3", "-c", (char *)numpy_writes, directory, NULL};
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    execvp(*arguments, arguments);
    _exit(127);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  static uint8_t wanted[200000], found[200000];
  for (int n = 0; n < 12 * 10 * 5; n++) {
    char original[128], path[128];
    ir_error error = {0};
    fe_array array;
    snprintf(original, sizeof original, "%s/%d_%d_c.npy", directory, n / 50, n / 5 % 10);
    snprintf(path, sizeof path, "%s/%d_%d_%c.npy", directory, n / 50, n / 5 % 10, "cfs23"[n % 5]);
    fe_npy_read(path, &ir_mem_libc, &array, &error);
    assert_string_equal(error.text, "");
    fe_npy_write(path, array.dtype, array.rank, array.shape, array.data, &error);
    assert_string_equal(error.text, "");
    fe_array_free(&ir_mem_libc, &array);
    size_t size = unit_read_file(original, wanted, sizeof wanted);
    assert_int_equal(unit_read_file(path, found, sizeof found), size);
    assert_memory_equal(found, wanted, size);
  }
}

UNIT_TESTS_BETWEEN(make_directory, remove_directory, write_what_numpy_writes, say_why_a_file_cannot_be_read,
                   read_no_more_than_the_header_of_a_bad_huge_file, read_pipes,
                   write_nothing_that_cannot_be_written, agree_with_numpy)
