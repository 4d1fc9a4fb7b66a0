# Tokens of docs/examples/minilm, with a small vocabulary. The numbers are those of Hugging Face's tokenizers 0.23.
<<< build.sh
tree=$(dirname "$(command -v viewfold)")
case $tree in
*san-address) flags=-fsanitize=address,undefined ;;
*san-*) flags=-fsanitize=${tree##*san-} ;;
*) flags= ;;
esac
exec ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror $flags -I"$TEST_ROOT/frontend" "$TEST_ROOT"/docs/examples/minilm/*.c \
  "$tree/libviewfold.so.0" -Wl,-rpath,"$tree" -lunistring -o minilm
>>>
<<< vocab.txt
[PAD]
[UNK]
[CLS]
[SEP]
the
cat
'
s
resume
un
##break
##able
cafe
東
京
😀
!
x
##x
stra
##ße
##ss
##e
ίδ
##εα
ιδ
привет
ᄀ
##ᅡ
>>>

== tokens
@needs test -e /usr/include/unistr.h
$ sh build.sh
# Words, pieces and punctuation: accents and case do not matter, spaces around Chinese characters are implied.
<<< text
The cat's Résumé
unbreakable CAFÉ!!
東京x 😀 x😀
straße STRASSE
Ιδέα ΠΡΙВΕТ Привет
가
   !
>>>
$ ./minilm --tokens vocab.txt < text
2 4 5 6 7 8 3
2 9 10 11 12 16 16 3
2 13 14 17 15 1 3
2 19 20 19 21 22 3
2 25 24 1 26 3
2 27 28 3
2 16 3
# Special tokens: those that the vocabulary has.
$ echo '[SEP]the[CLS]cat [MASK]' | ./minilm --tokens vocab.txt
2 3 4 2 5 1 1 1 3
# What is invisible is left out: joiners, soft hyphens, control characters, bytes that are no text.
$ printf 'a\342\200\215b the\302\255 cat\343\200\200x\001x\nthe\377\300 \000cat\342\202\n\n' | ./minilm --tokens vocab.txt
2 1 4 5 17 18 3
2 4 5 3
2 3
# A word of 100 letters is looked up, a longer one is not; there are 256 tokens at most.
$ printf '%0100d\n%0101d\n' 0 0 | tr 0 x | ./minilm --tokens vocab.txt | awk '{ print NF, $2, $3 }'
102 17 18
3 1 3
$ printf '%0999d\n' 0 | sed 's/0/cat /g' | ./minilm --tokens vocab.txt | awk '{ print NF, $255, $256 }'
256 5 3

== what cannot be read
@needs test -e /usr/include/unistr.h
$ sh build.sh
$ ./minilm --tokens absent
! absent: no vocabulary with [UNK], [CLS] and [SEP]
? 1
$ ./minilm --tokens build.sh
! build.sh: no vocabulary with [UNK], [CLS] and [SEP]
? 1
$ ./minilm model sentences.txt --once cat
! minilm: [..]model/model.safetensors[..]
? 1
$ ./minilm
! usage: minilm [..]
! [..]
? 2
