/* Images in memory: look-up and mapping. */
#define _GNU_SOURCE /* memfd_create */
#include "runtime/image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/image/format.h"
#include "runtime/system/files.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

static bool read_head(const void *bytes, size_t size, rt_image_head *head) {
  if (size < sizeof *head) return false;
  memcpy(head, bytes, sizeof *head);
  return head->magic == RT_IMAGE_MAGIC && head->size == size && head->code <= size &&
         head->code >= sizeof *head && head->entries <= (head->code - sizeof *head) / sizeof(rt_image_row);
}

static bool read_row(const uint8_t *bytes, const rt_image_head *head, uint32_t index, rt_entry *out) {
  rt_image_row row;
  memcpy(&row, bytes + sizeof *head + index * sizeof row, sizeof row);
  if (row.offset < head->code || row.offset > head->size || row.size > head->size - row.offset) return false;
  if (row.name >= head->code || !memchr(bytes + row.name, 0, head->code - row.name)) return false;
  *out = (rt_entry){(const char *)bytes + row.name,
                    row.offset,
                    row.size,
                    {row.scratch, row.in_place, row.uses, row.checks != 0}};
  return true;
}

bool rt_image_entry(const void *bytes, size_t size, uint32_t index, rt_entry *out) {
  rt_image_head head;
  return read_head(bytes, size, &head) && index < head.entries && read_row(bytes, &head, index, out);
}

bool rt_image_find(const void *bytes, size_t size, const char *name, rt_entry *out) {
  rt_image_head head;
  if (!read_head(bytes, size, &head)) return false;
  for (uint32_t i = 0; i < head.entries; i++)
    if (read_row(bytes, &head, i, out) && !strcmp(out->name, name)) return true;
  return false;
}

void rt_flat_free(const ir_mem *mem, rt_flat *flat) {
  ir_free(mem, flat->bytes, flat->size);
  *flat = (rt_flat){NULL, 0};
}

static void *map_private(const void *bytes, size_t size) {
  void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return map;
  memcpy(map, bytes, size);
  if (!mprotect(map, size, PROT_READ | PROT_EXEC)) return map;
  int why = errno;
  munmap(map, size);
  errno = why;
  return MAP_FAILED;
}

/* For systems where anonymous memory may not become executable: map a memory file that is written through its
 * descriptor and then sealed, so that nobody can write to it through another one. */
static void *map_memory_file(const void *bytes, size_t size) {
  void *map = MAP_FAILED;
#if defined(__linux__)
  static const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  int fd = memfd_create("viewfold", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("viewfold", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return MAP_FAILED;
  if (rt_write_all(fd, bytes, size) && fcntl(fd, F_ADD_SEALS, seals) == 0)
    map = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  int why = errno;
  close(fd);
  errno = why;
#else
  (void)bytes, (void)size;
#endif
  return map;
}

static void flush_instructions(const void *base, size_t size) {
#if defined(__GNUC__)
  __builtin___clear_cache((char *)base, (char *)base + size);
#else
  (void)base, (void)size;
#endif
}

ir_status rt_image_map(const void *bytes, size_t size, rt_code *out, ir_error *error) {
  rt_image_head head;
  *out = (rt_code){0};
  if (!read_head(bytes, size, &head))
    return ir_fail(error, IR_ERR_INVALID, "code: %zu bytes that are no viewfold code image", size);
  void *map = map_private(bytes, size);
  bool in_file = map == MAP_FAILED;
  if (in_file) map = map_memory_file(bytes, size);
  if (map == MAP_FAILED)
    return ir_fail(error, errno == ENOMEM ? IR_ERR_MEMORY : IR_ERR_DEVICE,
                   "code: %zu bytes cannot be mapped executable: %s", size, strerror(errno));
  flush_instructions(map, size);
  *out = (rt_code){map, size, map, size, NULL, in_file};
  return IR_OK;
}

ir_status rt_image_adopt(void *map, size_t map_size, size_t offset, size_t size, rt_code *out,
                         ir_error *error) {
  rt_image_head head;
  const uint8_t *base = (const uint8_t *)map + offset;
  *out = (rt_code){0};
  if (offset > map_size || size > map_size - offset || offset % RT_IMAGE_ALIGN ||
      !read_head(base, size, &head))
    return ir_fail(error, IR_ERR_INVALID, "code: no viewfold code image at byte %zu of %zu", offset,
                   map_size);
  if (!mprotect(map, map_size, PROT_READ | PROT_EXEC)) {
    flush_instructions(base, size);
    *out = (rt_code){base, size, map, map_size, NULL, false};
    return IR_OK;
  }
  return rt_image_map(base, size, out, error);
}

void rt_image_unmap(rt_code *code) {
  if (code->map) munmap(code->map, code->map_size);
  *code = (rt_code){0};
}

void *rt_code_find(const rt_code *code, const char *name) {
  rt_entry entry;
  if (!code->base || !rt_image_find(code->base, code->size, name, &entry)) return NULL;
  return (void *)(uintptr_t)(code->base + entry.offset);
}

/* /tmp can be written by everybody: the file is used only if it is a regular file of this user without
 * another link. */
static int open_perf_map(const char *path) {
  struct stat s;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && s.st_nlink == 1)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool rt_image_perf_map(const rt_code *code, bool enabled) {
  if (!enabled) return true;
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  int fd = open_perf_map(path);
  if (fd < 0) return false;
  bool good = true;
  rt_entry entry;
  for (uint32_t i = 0; rt_image_entry(code->base, code->size, i, &entry); i++) {
    char line[512];
    int length = snprintf(line, sizeof line, "%llx %x %.400s\n",
                          (unsigned long long)(uintptr_t)(code->base + entry.offset), entry.size, entry.name);
    good &= rt_write_all(fd, line, (size_t)length);
  }
  return close(fd) == 0 && good;
}
