/* Loading a shared object from a memory file, and checking what the dynamic linker loaded.
 *
 * dlopen compares the name that it is given with the names of the loaded libraries, then the file's device
 * and inode with theirs. On either match it returns that library, whatever the file contains. So the path
 * must be unique. A descriptor's number is not: it is reused as soon as the descriptor is closed, possibly by
 * the program (a daemon closes all descriptors that it does not know). The inode number is unique: the
 * mappings of a loaded library keep its memory file alive, so no other memory file has its inode. The path of
 * the descriptor is therefore spelled so that it encodes the inode number. Source: dl-load.c of glibc 2.36,
 * _dl_map_object and _dl_map_object_from_fd. */
#define _GNU_SOURCE /* memfd_create, dlinfo, dl_iterate_phdr */
#include "runtime/native/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cache/identity.h"
#include "runtime/system/files.h"

void rt_library_id_option(rt_digest id, char option[RT_LIBRARY_ID_ROOM]) {
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(id, hex);
  snprintf(option, RT_LIBRARY_ID_ROOM, "-Wl,--build-id=0x%s", hex);
}

/* names */

enum { INODE_BITS = 64, NAME_ROOM = 32 + 2 * INODE_BITS };

/* A path of `fd` that differs for different inodes: "/proc/self/fd/", then for each bit of the inode "./" or
 * "/", then the number of the descriptor. The kernel ignores both "./" and "/" here. */
static void spell_path(int fd, uint64_t inode, char name[NAME_ROOM]) {
  size_t length = (size_t)snprintf(name, NAME_ROOM, "/proc/self/fd/");
  for (int bit = 0; bit < INODE_BITS; bit++)
    length += (size_t)snprintf(name + length, NAME_ROOM - length, inode >> bit & 1 ? "./" : "/");
  snprintf(name + length, NAME_ROOM - length, "%d", fd);
}

static void *open_bytes(const char *who, const void *object, size_t size, ir_error *error) {
  char name[NAME_ROOM];
  struct stat status;
  void *handle = NULL;
  int fd = memfd_create("viewfold-custom", MFD_CLOEXEC);
  if (fd < 0 || !rt_write_all(fd, object, size) || fstat(fd, &status)) {
    ir_fail(error, IR_ERR_IO, "%s: cannot keep its code in memory: %s", who, strerror(errno));
  } else {
    spell_path(fd, status.st_ino, name);
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) ir_fail(error, IR_ERR_IO, "%s: cannot load its code: %.300s", who, dlerror());
  }
  if (fd >= 0) close(fd);
  return handle;
}

/* checking */

typedef struct search {
  const struct link_map *map;
  char id[RT_DIGEST_HEX];
  uintptr_t function;
  bool right, holds; /* its build-id is `id`; its code contains `function` */
} search;

static bool has_id(const struct dl_phdr_info *library, const ElfW(Phdr) * segment, const char *id) {
  char hex[RT_DIGEST_HEX];
  const uint8_t *notes = (const uint8_t *)(uintptr_t)(library->dlpi_addr + segment->p_vaddr);
  return rt_build_id_notes(notes, segment->p_filesz, hex, sizeof hex) && strcmp(hex, id) == 0;
}

static int match_library(struct dl_phdr_info *library, size_t size, void *user) {
  search *s = user;
  (void)size;
  if (library->dlpi_addr != s->map->l_addr || strcmp(library->dlpi_name, s->map->l_name) != 0) return 0;
  for (ElfW(Half) i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &library->dlpi_phdr[i];
    if (p->p_type == PT_NOTE) s->right |= has_id(library, p, s->id);
    if (p->p_type == PT_LOAD && p->p_flags & PF_X)
      s->holds |= s->function - (library->dlpi_addr + p->p_vaddr) < p->p_memsz;
  }
  return 1;
}

ir_status rt_library_load(const char *who, const void *object, size_t size, rt_digest id, const char *symbol,
                          void **handle, void (**function)(void), ir_error *error) {
  struct link_map *map = NULL;
  search s = {0};
  void *found = NULL;
  *function = NULL;
  *handle = open_bytes(who, object, size, error);
  if (!*handle) return error->status;
  rt_digest_hex(id, s.id);
  if (dlinfo(*handle, RTLD_DI_LINKMAP, &map) == 0) {
    found = dlsym(*handle, symbol); /* it may be a dependency's: `holds` excludes that */
    s.map = map, s.function = (uintptr_t)found;
    dl_iterate_phdr(match_library, &s);
  }
  if (s.right && s.holds) {
    memcpy(function, &found, sizeof found); /* ISO C has no cast between these pointers */
    return IR_OK;
  }
  rt_library_close(handle);
  if (!s.right)
    return ir_fail(
        error, IR_ERR_IO,
        "%s: the dynamic linker gave other code than its own (build-id %s); were descriptors of this "
        "process closed meanwhile?",
        who, s.id);
  return ir_fail(error, IR_ERR_COMPILE, "%s: its source has no function %.60s that is not static", who,
                 symbol);
}

void rt_library_close(void **handle) {
  if (*handle) dlclose(*handle);
  *handle = NULL;
}
