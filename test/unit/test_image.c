/* The linker and loader, on objects that LLVM makes: what they run, what they refuse and with which messages,
 * and that no damaged object or image does any harm. */
#include "runtime/image/image.h"
#include "runtime/image/bundle.h"
#include "runtime/image/format.h"
#include "test/lib/llvm_object.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- making images */

static object compile(const char *ir) { return object_compile(OBJECT_HOST, ir); }

static rt_flat link_good(object o) {
  rt_flat flat;
  ir_error error = {0};
  ir_status status = rt_image_link(o.bytes, o.size, (rt_terms){0}, &ir_mem_libc, &flat, &error);
  assert_string_equal(error.text, "");
  assert_int_equal(status, IR_OK);
  free(o.bytes);
  return flat;
}

static rt_code load(const char *ir) {
  rt_flat flat = link_good(compile(ir));
  rt_code code;
  ir_error error = {0};
  assert_int_equal(rt_image_map(flat.bytes, flat.size, &code, &error), IR_OK);
  rt_flat_free(&ir_mem_libc, &flat);
  return code;
}

static void refused(const char *ir, ir_status status, const char *message) {
  object o = compile(ir);
  rt_flat flat;
  ir_error error = {0};
  assert_int_equal(rt_image_link(o.bytes, o.size, (rt_terms){0}, &ir_mem_libc, &flat, &error), status);
  assert_string_equal(error.text, message);
  assert_null(flat.bytes);
  free(o.bytes);
}

/* ---- objects with one of each kind of constant */

static void run_everything(const rt_code *code) {
  int (*look)(int64_t) = (int (*)(int64_t))rt_code_find(code, "look");
  int (*choose)(int, int) = (int (*)(int, int))rt_code_find(code, "choose");
  void (*scale)(float *) = (void (*)(float *))rt_code_find(code, "scale");
  double (*wide)(double) = (double (*)(double))rt_code_find(code, "wide");
  assert_true(look && choose && scale && wide);
  for (int i = 0; i < 4; i++) assert_int_equal(look(i), 11 * (i + 1));
  static const int expected[] = {106, 249, 42, 33, 36, 2, -1};
  for (int k = 0; k < 7; k++) assert_int_equal(choose(k, 6), expected[k]);
  float v[4] = {1, 2, 3, 4};
  scale(v);
  assert_true(v[0] == 1.75f && v[1] == 5.5f && v[2] == 11.25f && v[3] == 19.0f);
  assert_true(wide(2.0) == 6.28318);
}

static void runs_code_with_constants(void **state) {
  rt_code code = load(object_of_all_kinds);
  run_everything(&code);
  rt_code again = load(object_of_all_kinds); /* at another address */
  assert_ptr_not_equal(code.base, again.base);
  run_everything(&again);
  rt_image_unmap(&code);
  run_everything(&again);
  rt_image_unmap(&again);
}

static void lists_global_functions(void **state) {
  static const char *const names[] = {"look", "choose", "scale", "wide"};
  rt_flat flat = link_good(compile(object_of_all_kinds));
  rt_entry entry;
  for (uint32_t i = 0; i < 4; i++) {
    assert_true(rt_image_entry(flat.bytes, flat.size, i, &entry));
    assert_string_equal(entry.name, names[i]);
    assert_true(entry.size > 0 && entry.offset + entry.size <= flat.size);
  }
  assert_false(rt_image_entry(flat.bytes, flat.size, 4, &entry));
  assert_false(rt_image_find(flat.bytes, flat.size, "hidden", &entry));
  assert_false(rt_image_find(flat.bytes, flat.size, "scal", &entry));
  rt_flat_free(&ir_mem_libc, &flat);
}

static void same_object_same_bytes(void **state) {
  rt_flat a = link_good(compile(object_of_all_kinds)), b = link_good(compile(object_of_all_kinds));
  assert_int_equal(a.size, b.size);
  assert_memory_equal(a.bytes, b.bytes, a.size);
  rt_flat_free(&ir_mem_libc, &a);
  rt_flat_free(&ir_mem_libc, &b);
}

static void refuses_with_a_reason(void **state) {
  refused("declare void @memset(ptr, i32, i64)\n"
          "define void @f(ptr %p) {\n call void @memset(ptr %p, i32 0, i64 9)\n ret void\n}\n",
          IR_ERR_COMPILE,
          "linking: the code refers to 'memset', which it does not define; an image may call nothing outside "
          "itself");
  refused("@w = global i32 5\ndefine ptr @f() {\n ret ptr @w\n}\n", IR_ERR_COMPILE,
          "linking: section '.data' is writable data; an image holds code and constants only");
  refused("@w = internal global [9 x i32] zeroinitializer\ndefine ptr @f() {\n ret ptr @w\n}\n",
          IR_ERR_COMPILE,
          "linking: section '.bss' is writable memory; an image holds code and constants only");
  refused(
      "@w = internal thread_local global i32 5\ndefine i32 @f() {\n %v = load i32, ptr @w\n ret i32 %v\n}\n",
      IR_ERR_COMPILE, "linking: symbol 'w' needs a full loader (thread-local)");
  refused("module asm \".section .tdata, \\22awT\\22, @progbits; .long 5\"\n", IR_ERR_COMPILE,
          "linking: section '.tdata' is thread-local; an image holds code and constants only");
  refused("@c = constant [300 x i8] zeroinitializer, align 256\n", IR_ERR_COMPILE,
          "linking: section '.rodata' asks for alignment 256; at most 64 is given");
  refused("@c = common global i32 0\n", IR_ERR_COMPILE, "linking: symbol 'c' needs a full loader (common)");
}

/* ---- objects that LLVM did not make */

static ir_status link_quietly(const uint8_t *bytes, size_t size) {
  rt_flat flat;
  ir_error error = {0};
  ir_status status = rt_image_link(bytes, size, (rt_terms){0}, &ir_mem_libc, &flat, &error);
  assert_int_equal(status == IR_OK, flat.bytes != NULL);
  assert_int_equal(status == IR_OK, error.text[0] == 0);
  rt_entry entry;
  if (flat.bytes)
    for (uint32_t i = 0; rt_image_entry(flat.bytes, flat.size, i, &entry); i++)
      assert_true(entry.offset <= flat.size && entry.size <= flat.size - entry.offset &&
                  strlen(entry.name) < flat.size);
  rt_flat_free(&ir_mem_libc, &flat);
  return status;
}

static void other_machines_are_refused(void **state) {
  object o = compile(object_of_all_kinds);
  Elf64_Ehdr head;
  memcpy(&head, o.bytes, sizeof head);
  head.e_machine = EM_S390;
  memcpy(o.bytes, &head, sizeof head);
  rt_flat flat;
  ir_error error = {0};
  assert_int_equal(rt_image_link(o.bytes, o.size, (rt_terms){0}, &ir_mem_libc, &flat, &error),
                   IR_ERR_UNSUPPORTED);
  assert_string_equal(
      error.text,
      "linking: objects for ELF machine 22 cannot be linked; those for x86-64, AArch64 and RISC-V can");
  ir_error_clear(&error);
  assert_int_equal(rt_image_link("no object", 9, (rt_terms){0}, &ir_mem_libc, &flat, &error), IR_ERR_COMPILE);
  assert_string_equal(error.text,
                      "linking: the object file (9 bytes) is damaged: shorter than an ELF header");
  free(o.bytes);
}

/* The function of a symbol lies behind its section; a section has more bytes than an image may have. */
static void large_objects_are_refused(void **state) {
  object o = compile("define i32 @f() {\n  ret i32 3\n}\n");
  Elf64_Ehdr head;
  memcpy(&head, o.bytes, sizeof head);
  Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(o.bytes + head.e_shoff);
  rt_flat flat;
  ir_error error = {0};
  for (int i = 0; i < head.e_shnum; i++) {
    Elf64_Sym *symbols = (Elf64_Sym *)(void *)(o.bytes + sections[i].sh_offset);
    for (size_t k = 0; sections[i].sh_type == SHT_SYMTAB && k < sections[i].sh_size / sizeof *symbols; k++)
      if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC) symbols[k].st_size = 1 << 20;
  }
  assert_int_equal(rt_image_link(o.bytes, o.size, (rt_terms){0}, &ir_mem_libc, &flat, &error),
                   IR_ERR_COMPILE);
  assert_string_equal(error.text, "linking: function 'f' lies outside its section");
  free(o.bytes);
}

/* A section of code in a sparse file. */
static void large_sections_are_refused(void **state) {
  object o = compile("define i32 @f() {\n  ret i32 3\n}\n");
  size_t size = (size_t)3 << 29;
  uint8_t *sparse =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (sparse == MAP_FAILED) skip();
  memcpy(sparse, o.bytes, o.size);
  Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)sparse;
  Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(sparse + head->e_shoff);
  for (int i = 0; i < head->e_shnum; i++)
    if (sections[i].sh_flags & SHF_EXECINSTR) sections[i].sh_size = ((size_t)1 << 30) + 1;
  rt_flat flat;
  ir_error error = {0};
  assert_int_equal(rt_image_link(sparse, size, (rt_terms){0}, &ir_mem_libc, &flat, &error), IR_ERR_COMPILE);
  assert_string_equal(error.text, "linking: more than 1073741824 bytes of code and constants");
  munmap(sparse, size);
  free(o.bytes);
}

/* Numbers of bytes that an image, or several together, cannot have. What lies at the places is not read. */
static void large_images_are_refused(void **state) {
  ir_error error = {0};
  rt_flat made, small, many[5];
  rt_code code;
  assert_int_equal(rt_image_map("no image", 8, &code, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, "code: 8 bytes that are no viewfold code image");
  ir_error_clear(&error);
  char none[64] = "";
  assert_int_equal(rt_image_adopt(none, sizeof none, 8, 16, &code, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, "code: no viewfold code image at byte 8 of 64");
  ir_error_clear(&error);
  assert_int_equal(rt_image_wrap(&ir_mem_libc, "f", none, (size_t)3 << 30, (rt_terms){0}, &made, &error),
                   IR_ERR_UNSUPPORTED);
  assert_string_equal(error.text, "code: f has 3221225472 bytes, which is more than 2 GiB");
  ir_error_clear(&error);
  assert_int_equal(rt_image_wrap(&ir_mem_libc, "f", none, sizeof none, (rt_terms){0}, &small, &error), IR_OK);
  size_t size = (size_t)1 << 30;
  uint8_t *sparse =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (sparse == MAP_FAILED) skip();
  memcpy(sparse, small.bytes, small.size);
  ((rt_image_head *)(void *)sparse)->size = size;
  for (int i = 0; i < 5; i++) many[i] = (rt_flat){sparse, size};
  assert_int_equal(rt_image_pack(&ir_mem_libc, many, 5, &made, &error), IR_ERR_UNSUPPORTED);
  assert_string_equal(error.text, "code: 5368710016 bytes; at most 4 GiB go into one program");
  munmap(sparse, size);
  rt_flat_free(&ir_mem_libc, &small);
}

static void truncated_objects_are_refused(void **state) {
  object o = compile(object_of_all_kinds);
  Elf64_Ehdr head; /* the section table comes last, so every shorter file lacks part of it */
  memcpy(&head, o.bytes, sizeof head);
  assert_int_equal(head.e_shoff + head.e_shnum * sizeof(Elf64_Shdr), o.size);
  for (size_t size = 0; size < o.size; size++) {
    uint8_t *part = malloc(size + !size);
    memcpy(part, o.bytes, size);
    assert_int_not_equal(link_quietly(part, size), IR_OK);
    free(part);
  }
  free(o.bytes);
}

static uint64_t random_next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Bytes changed at random, then harmful values (huge, negative, off by one) in the fields of the tables. */
static void damaged_objects_do_no_harm(void **state) {
  static const uint64_t nasty[] = {0,          1,          0x7fffffff,      0x80000000,
                                   0xffffffff, UINT64_MAX, UINT64_MAX - 63, 1ull << 63};
  object o = compile(object_of_all_kinds);
  Elf64_Ehdr head;
  memcpy(&head, o.bytes, sizeof head);
  uint8_t *copy = malloc(o.size);
  uint64_t seed = 20240229;
  int good = 0;
  for (int iteration = 0; iteration < 30000; iteration++) {
    memcpy(copy, o.bytes, o.size);
    int changes = 1 + (int)(random_next(&seed) % 4);
    for (int i = 0; i < changes; i++) {
      uint64_t r = random_next(&seed);
      size_t at = (r >> 8) % o.size;
      if (r % 2) at = head.e_shoff + (r >> 8) % (o.size - head.e_shoff);
      if (r % 3 == 0 && at + 8 <= o.size) memcpy(copy + at / 8 * 8, &nasty[(r >> 4) % 8], 8);
      else copy[at] ^= (uint8_t)(1 + (r >> 40) % 255);
    }
    good += link_quietly(copy, o.size) == IR_OK;
  }
  assert_true(good > 0 && good < 30000);
  free(copy);
  free(o.bytes);
}

static void damaged_images_do_no_harm(void **state) {
  rt_flat flat = link_good(compile(object_of_all_kinds));
  rt_entry entry;
  for (size_t size = 0; size < flat.size; size++) {
    uint8_t *part = malloc(size + !size);
    memcpy(part, flat.bytes, size);
    assert_false(rt_image_find(part, size, "look", &entry));
    free(part);
  }
  uint8_t *copy = malloc(flat.size);
  for (size_t at = 0; at < 256; at++)
    for (int bit = 0; bit < 8; bit++) {
      memcpy(copy, flat.bytes, flat.size);
      copy[at] ^= (uint8_t)(1 << bit);
      for (uint32_t i = 0; rt_image_entry(copy, flat.size, i, &entry); i++)
        assert_true(entry.offset <= flat.size && entry.size <= flat.size - entry.offset);
    }
  rt_code code;
  ir_error error = {0};
  memset(copy, 0, 8);
  assert_int_equal(rt_image_map(copy, flat.size, &code, &error), IR_ERR_INVALID);
  assert_null(code.map);
  free(copy);
  rt_flat_free(&ir_mem_libc, &flat);
}

static void short_of_memory(void **state) {
  object o = compile(object_of_all_kinds);
  ir_status status = IR_ERR_MEMORY;
  for (int budget = 0; status; budget++) {
    test_budget a = {budget, 0};
    ir_mem mem = {test_budget_hook, &a};
    rt_flat flat;
    ir_error error = {0};
    status = rt_image_link(o.bytes, o.size, (rt_terms){0}, &mem, &flat, &error);
    assert_true(status == IR_OK || status == IR_ERR_MEMORY);
    assert_int_equal(a.live, flat.size);
    rt_flat_free(&mem, &flat);
    assert_int_equal(a.live, 0);
  }
  free(o.bytes);
}

/* ---- mappings */

/* Permissions of the mapping that holds an address, "" when there is none. */
static void permissions(const void *address, char text[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  text[0] = 0;
  if (!maps) skip();
  while (fgets(line, sizeof line, maps)) {
    unsigned long low, high;
    char found[5];
    if (sscanf(line, "%lx-%lx %4s", &low, &high, found) == 3 && (uintptr_t)address >= low &&
        (uintptr_t)address < high)
      memcpy(text, found, 5);
  }
  fclose(maps);
}

static void code_is_never_writable(void **state) {
  char text[5];
  rt_code code = load(object_of_all_kinds);
  permissions(code.base, text);
  assert_string_equal(text, "r-xp");
  rt_image_unmap(&code);
  assert_null(code.map);
  rt_image_unmap(&code);
}

static void adopts_private_memory(void **state) {
  rt_flat flat = link_good(compile(object_of_all_kinds));
  enum { HEAD = 192 };
  size_t size = HEAD + flat.size;
  for (int wrong = 0; wrong < 4; wrong++) {
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    memcpy((char *)map + HEAD, flat.bytes, flat.size);
    rt_code code;
    ir_error error = {0};
    size_t offset = wrong == 1 ? 128 : wrong == 2 ? size + 64 : HEAD;
    ir_status status = rt_image_adopt(map, size, offset, flat.size + (wrong == 3), &code, &error);
    if (wrong) {
      assert_int_equal(status, IR_ERR_INVALID);
      assert_null(code.map);
      assert_int_equal(munmap(map, size), 0); /* still mapped by the test */
      continue;
    }
    char text[5];
    assert_ptr_equal(code.map, map);
    assert_int_equal(status, IR_OK);
    permissions(code.base, text);
    assert_string_equal(text, "r-xp");
    run_everything(&code);
    rt_image_unmap(&code);
  }
  rt_flat_free(&ir_mem_libc, &flat);
}

static void perf_map_names_functions(void **state) {
  char path[64], line[200];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  unlink(path);
  rt_code code = load(object_of_all_kinds);
  assert_true(rt_image_perf_map(&code, false));
  assert_int_not_equal(access(path, F_OK), 0);
  assert_true(rt_image_perf_map(&code, true));
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  unlink(path);
  assert_non_null(fgets(line, sizeof line, file));
  unsigned long address, size;
  char name[100];
  assert_int_equal(sscanf(line, "%lx %lx %99s", &address, &size, name), 3);
  assert_string_equal(name, "look");
  assert_true((void *)address == rt_code_find(&code, "look") && size > 0);
  fclose(file);
  rt_image_unmap(&code);
}

/* /tmp is everybody's: a file there under the name is written to only where it is a regular file of the
 * user's own. */
static void perf_map_is_written_to_our_file_only(void **state) {
  char path[64], other[80];
  struct stat s;
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  snprintf(other, sizeof other, "%s.other", path);
  unlink(path);
  rt_code code = load(object_of_all_kinds);
  int fd = open(other, O_WRONLY | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0 && close(fd) == 0 && link(other, path) == 0);
  bool written = rt_image_perf_map(&code, true);
  int seen = stat(other, &s);
  unlink(path);
  unlink(other);
  assert_int_equal(seen, 0);
  assert_false(written);
  assert_int_equal(s.st_size, 0);
  assert_int_equal(mkfifo(path, 0600), 0); /* which nobody reads */
  fd = open(path, O_RDONLY | O_NONBLOCK);
  written = rt_image_perf_map(&code, true);
  char byte;
  ssize_t got = read(fd, &byte, 1);
  close(fd);
  unlink(path);
  assert_false(written);
  assert_true(got <= 0);
  rt_image_unmap(&code);
}

UNIT_TESTS_BETWEEN(object_start, object_stop, runs_code_with_constants, lists_global_functions,
                   same_object_same_bytes, refuses_with_a_reason, other_machines_are_refused,
                   large_objects_are_refused, large_sections_are_refused, large_images_are_refused,
                   truncated_objects_are_refused, damaged_objects_do_no_harm, damaged_images_do_no_harm,
                   short_of_memory, code_is_never_writable, adopts_private_memory, perf_map_names_functions,
                   perf_map_is_written_to_our_file_only)
