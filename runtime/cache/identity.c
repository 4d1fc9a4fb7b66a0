/* Identities of the tools. The build defines VIEWFOLD_SOURCE_ID, a digest of the sources, VIEWFOLD_LLVM_FILE,
 * the path of libLLVM, and VIEWFOLD_LLVM_ID, its build-id. Source: elf(5), notes. */
#include "runtime/cache/identity.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if !defined(VIEWFOLD_SOURCE_ID)
#define VIEWFOLD_SOURCE_ID "unknown"
#endif
#if !defined(VIEWFOLD_LLVM_FILE)
#define VIEWFOLD_LLVM_FILE "libLLVM.so"
#endif

#if !defined(VIEWFOLD_LLVM_ID)
#define VIEWFOLD_LLVM_ID ""
#endif

enum { PAGE = 4096, NOTES = 4096, HEX = 2 * 64 + 1 };

static bool read_at(int fd, uint64_t offset, void *to, size_t size) {
  return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

bool rt_build_id_notes(const uint8_t *notes, size_t size, char *hex, size_t room) {
  for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr note;
    memcpy(&note, notes + at, sizeof note);
    at += sizeof note;
    uint64_t name = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3,
             bytes = ((uint64_t)note.n_descsz + 3) & ~(uint64_t)3;
    if (name + bytes > size - at) return false;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) &&
        note.n_descsz > 0 && note.n_descsz * 2 < room) {
      for (uint32_t i = 0; i < note.n_descsz; i++) snprintf(hex + 2 * i, 3, "%02x", notes[at + name + i]);
      return true;
    }
    at += name + bytes;
  }
  return false;
}

static bool id_of(int fd, char *hex, size_t room) {
  union {
    uint8_t bytes[PAGE];
    Elf64_Ehdr head;
  } page;
  uint8_t notes[NOTES];
  if (!read_at(fd, 0, &page, sizeof page)) return false;
  const Elf64_Ehdr *e = &page.head;
  if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
      e->e_phentsize != sizeof(Elf64_Phdr))
    return false;
  for (uint32_t i = 0; i < e->e_phnum; i++) {
    Elf64_Phdr segment;
    uint64_t at = e->e_phoff + i * sizeof segment;
    if (at <= PAGE - sizeof segment) memcpy(&segment, page.bytes + at, sizeof segment);
    else if (!read_at(fd, at, &segment, sizeof segment)) return false;
    if (segment.p_type != PT_NOTE || segment.p_filesz > NOTES) continue;
    if (segment.p_offset <= PAGE && segment.p_filesz <= PAGE - segment.p_offset)
      memcpy(notes, page.bytes + segment.p_offset, segment.p_filesz);
    else if (!read_at(fd, segment.p_offset, notes, segment.p_filesz)) continue;
    if (rt_build_id_notes(notes, segment.p_filesz, hex, room)) return true;
  }
  return false;
}

bool rt_build_id(const char *path, char *hex, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool found = id_of(fd, hex, size);
  close(fd);
  return found;
}

/* The build-id of libLLVM: of the file that the build saw, else of one with the same name in the usual
 * library directories. Where there is none, that of the build: nothing is compiled then, and what is found is
 * of another machine with that file. A build without LLVM names no file. */
static bool llvm_id(char *hex, size_t size) {
  static const char *const places[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
#endif
    "/usr/local/lib",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
    "/lib",
  };
  static const char file[] = VIEWFOLD_LLVM_FILE;
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  if (!*name) return false;
  if (slash && rt_build_id(file, hex, size)) return true;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char path[256];
    int length = snprintf(path, sizeof path, "%s/%s", places[i], name);
    if (length < (int)sizeof path && rt_build_id(path, hex, size)) return true;
  }
  return *VIEWFOLD_LLVM_ID && (size_t)snprintf(hex, size, "%s", VIEWFOLD_LLVM_ID) < size;
}

const char *rt_source_id(void) { return VIEWFOLD_SOURCE_ID; }

void rt_identity_text(ir_text *text) {
  char hex[HEX];
  ir_textf(text, "source=%s llvm=%s", rt_source_id(), llvm_id(hex, sizeof hex) ? hex : "none");
}
