/* The steps are those of BertNormalizer, BertPreTokenizer and WordPiece of Hugging Face's tokenizers:
 *
 *   control characters dropped, blanks made spaces, spaces set around Chinese characters
 *   canonical decomposition (NFD); marks without an advance of their own (Mn) dropped; lower case
 *   words: split at spaces, and before and after every punctuation mark
 *   pieces: the longest piece in the vocabulary, again and again; [UNK] for a word that cannot be made of
 * them
 *
 * What is a letter, a mark or punctuation is libunistring's knowledge, of the Unicode version that it has. */
#include "tokenizer.h"

#include "lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

enum {
  WORD = 100,            /* characters of the longest word that is looked up; others are [UNK] */
  WORD_BYTES = 4 * WORD, /* in UTF-8 */
  MARK = 2,              /* bytes of ## */
  FREE = -1              /* no token */
};

/* ---------------------------------------------------------------------------------- the vocabulary */
struct vocabulary {
  lines lines;
  int32_t *table; /* tokens, or FREE: a hash table of open addressing, at most half full */
  size_t mask;    /* of its places, whose number is a power of two */
  size_t longest; /* bytes of the longest piece */
  int32_t unknown, first, last;
};

/* FNV-1a (Fowler, Noll, Vo) */
static size_t hash(const char *text, size_t length) {
  uint64_t h = 0xcbf29ce484222325;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
  return (size_t)(h ^ h >> 32);
}

/* Where the piece is in the table, or would be. */
static size_t place(const vocabulary *v, const char *text, size_t length) {
  size_t at = hash(text, length) & v->mask;
  for (; v->table[at] != FREE; at = (at + 1) & v->mask) {
    line l = v->lines.line[v->table[at]];
    if (l.length == length && memcmp(l.text, text, length) == 0) break;
  }
  return at;
}

/* The token, or FREE. */
static int32_t find(const vocabulary *v, const char *text, size_t length) {
  return v->table[place(v, text, length)];
}

/* Enter all lines. Of equal ones the last counts. */
static bool index_lines(vocabulary *v) {
  size_t size = 2;
  if (v->lines.count > INT32_MAX) return false;
  while (size < 2 * v->lines.count) size *= 2;
  v->table = malloc(size * sizeof *v->table);
  v->mask = size - 1;
  for (size_t i = 0; i < size && v->table; i++) v->table[i] = FREE;
  for (size_t i = 0; i < v->lines.count && v->table; i++) {
    line l = v->lines.line[i];
    v->table[place(v, l.text, l.length)] = (int32_t)i;
    if (l.length > v->longest) v->longest = l.length;
  }
  return v->table != NULL;
}

vocabulary *vocabulary_read(const char *path) {
  vocabulary *v = calloc(1, sizeof *v);
  if (v && lines_read(path, &v->lines) && index_lines(v)) {
    v->unknown = find(v, "[UNK]", 5), v->first = find(v, "[CLS]", 5), v->last = find(v, "[SEP]", 5);
    if (v->unknown != FREE && v->first != FREE && v->last != FREE) return v;
  }
  vocabulary_free(v);
  return NULL;
}

void vocabulary_free(vocabulary *v) {
  if (v) lines_free(&v->lines), free(v->table);
  free(v);
}

/* ------------------------------------------------------------------------------------------ pieces */
typedef struct tokens {
  const vocabulary *vocabulary;
  int32_t *ids;
  int count, room; /* room is left for the last one */
} tokens;

static void add(tokens *t, int32_t id) {
  if (t->count < t->room) t->ids[t->count++] = id;
}

/* The longest piece at the start of text; behind ## where it continues a word. Its bytes, or 0. */
static size_t longest_piece(const vocabulary *v, const char *text, size_t length, bool continues,
                            int32_t *id) {
  char piece[MARK + WORD_BYTES] = "##";
  size_t mark = continues ? MARK : 0;
  size_t bytes = mark + length > v->longest ? v->longest - mark : length;
  memcpy(piece + mark, text, length);
  for (; bytes > 0; bytes--) {
    bool whole = bytes == length || (text[bytes] & 0xc0) != 0x80; /* no character is cut in two */
    if (whole && (*id = find(v, piece, mark + bytes)) != FREE) return bytes;
  }
  return 0;
}

static void add_word(tokens *t, const uint32_t *characters, size_t count) {
  char word[WORD_BYTES];
  int32_t pieces[WORD];
  size_t length = sizeof word;
  int found = 0;
  if (count > WORD || !u32_to_u8(characters, count, (uint8_t *)word, &length)) length = 0;
  for (size_t at = 0; at < length; found++) {
    size_t bytes = longest_piece(t->vocabulary, word + at, length - at, at > 0, &pieces[found]);
    if (bytes == 0) {
      found = 0;
      break;
    }
    at += bytes;
  }
  if (found == 0) add(t, t->vocabulary->unknown);
  for (int i = 0; i < found; i++) add(t, pieces[i]);
}

/* ------------------------------------------------------------------------------------------- words */
/* The blocks that BERT calls Chinese: CJK ideographs, their extensions A to E, compatibility ideographs. In
 * BERT's own program the sixth begins at 0x2b820; sentence-transformers uses the tokenizers, which differ. */
static bool is_chinese(uint32_t c) {
  static const uint32_t blocks[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                       {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                       {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    if (c >= blocks[i][0] && c <= blocks[i][1]) return true;
  return false;
}

static bool is_blank(uint32_t c) { return uc_is_property_white_space(c); }

/* Categories Cc, Cf and Co, but what parts lines and words; and what stands for something unreadable. */
static bool is_dropped(uint32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0xfffd ||
         uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf | UC_CATEGORY_MASK_Co);
}

static bool is_punctuation(uint32_t c) {
  if (c < 0x80)
    return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7f);
  return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_P);
}

/* Words of what is normalised. */
static void add_words(tokens *t, const uint32_t *text, size_t length) {
  size_t begin = 0;
  for (size_t i = 0; i <= length && t->count < t->room; i++) {
    bool ends = i == length || is_blank(text[i]), mark = !ends && is_punctuation(text[i]);
    if (!ends && !mark) continue;
    if (i > begin) add_word(t, text + begin, i - begin);
    if (mark) add_word(t, text + i, 1);
    begin = i + 1;
  }
}

/* A text without special tokens. False without memory. */
static bool add_text(tokens *t, const char *text, size_t length) {
  /* Each byte is one character at most, which gets a space on each side. */
  uint32_t *clean = malloc((3 * length + 1) * sizeof *clean), *apart = NULL;
  size_t count = 0, left = 0;
  if (!clean) return false;
  for (size_t at = 0; at < length;) {
    ucs4_t c;
    at += (size_t)u8_mbtouc(&c, (const uint8_t *)text + at, length - at);
    if (is_dropped(c)) continue;
    bool chinese = is_chinese(c);
    if (chinese) clean[count++] = ' ';
    clean[count++] = is_blank(c) ? ' ' : c;
    if (chinese) clean[count++] = ' ';
  }
  apart = u32_normalize(UNINORM_NFD, clean, count, NULL, &count);
  free(clean);
  if (!apart) return false;
  for (size_t i = 0; i < count; i++)
    if (!uc_is_general_category_withtable(apart[i], UC_CATEGORY_MASK_Mn))
      apart[left++] = uc_tolower(apart[i]);
  add_words(t, apart, left);
  free(apart);
  return true;
}

/* The special token that text begins with: its bytes, or 0. */
static size_t special(const vocabulary *v, const char *text, size_t length, int32_t *id) {
  static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t bytes = strlen(names[i]);
    if (bytes <= length && memcmp(text, names[i], bytes) == 0 && (*id = find(v, names[i], bytes)) != FREE)
      return bytes;
  }
  return 0;
}

int tokenize(const vocabulary *v, const char *text, size_t length, int room, int32_t *ids) {
  tokens t = {v, ids, 0, room - 1};
  bool good = true;
  size_t begin = 0;
  add(&t, v->first);
  for (size_t i = 0; i <= length && good;) {
    int32_t id = 0;
    size_t bytes = i < length && text[i] == '[' ? special(v, text + i, length - i, &id) : 0;
    if (bytes || i == length) {
      good = add_text(&t, text + begin, i - begin);
      if (bytes) add(&t, id);
      begin = i + bytes;
    }
    i += bytes ? bytes : 1;
  }
  ids[t.count++] = v->last;
  return good ? t.count : 0;
}
