/* WordPiece tokens of a text, as BERT's uncased models take them (Devlin et al. 2019; Wu et al. 2016). */
#ifndef MINILM_TOKENIZER_H
#define MINILM_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

/* The words and pieces of words that a model knows. A token is the number of its line in vocab.txt, from 0;
 * pieces that continue a word begin with ##. */
typedef struct vocabulary vocabulary;

/* NULL when the file cannot be read, or none of its lines is [UNK], [CLS] or [SEP]. */
vocabulary *vocabulary_read(const char *path);
void vocabulary_free(vocabulary *vocabulary);

/* Tokens of a text in UTF-8, [CLS] first and [SEP] last, into ids, which has room for `room` >= 2: what does
 * not fit is left out before [SEP]. Returns how many; 0 without memory. Bytes that are no UTF-8 are dropped.
 */
int tokenize(const vocabulary *vocabulary, const char *text, size_t length, int room, int32_t *ids);

#endif
