# Names the numeric constants without a reason:   awk -f test/constants.awk FILE.c...
#
# A constant is an enumerator of an enum without a name, a macro without parameters, or an object that is `static
# const`, or `const` outside of functions, whose value has a number in it; values that follow from other names alone,
# and tables of strings, are none. Its reason is a comment of two words or more: at the end of its line, directly above
# its line, or above the declaration, or above several
# declarations of one line each. A comment that stands for several constants has to name each of them. Prints
# `FILE:LINE: NAME` for each constant without a reason; with -v all=1 each constant that it sees.

function has_number(value) {
  gsub(/U?INT(8|16|32|64|PTR)?_(MAX|MIN)|PTRDIFF_MAX|SIZE_MAX/, "1", value)
  gsub(/\[[^]]*\] =|\.[a-z_]+ =/, "", value)
  gsub(/\{0\}/, "", value)
  gsub(/[A-Za-z_][A-Za-z0-9_]*/, "", value)
  return value ~ /[0-9]/
}

# The comment directly above line i.
function above(i,    text, j) {
  text = ""
  for (j = i - 1; j > 0 && alone[j]; j--) text = comment[j] " " text
  return text
}

# More than one word: a unit, or a reason.
function words(text,    part) {
  gsub(/[^A-Za-z0-9_]+/, " ", text)
  return split(text, part, " ") > 1
}

function names(text, name) { return (" " text " ") ~ ("[^A-Za-z0-9_]" name "[^A-Za-z0-9_]") }

# Does the text say why, for a constant that is one of `count` to which it belongs?
function explains(text, name, count) { return words(text) && (count == 1 || names(text, name)) }

function add(name, line, begin) { found++; name_of[found] = name; line_of[found] = line; begin_of[found] = begin; on[line]++; in_block[begin]++ }

function flush(    i, text, k, rest, begin, start, value, name, j, count, t) {
  # constants
  for (i = 1; i <= lines; i++) {
    text = code[i]
    if (match(text, /^ *# *define +[A-Za-z_][A-Za-z0-9_]* +/)) {
      value = substr(text, RLENGTH + 1)
      name = substr(text, 1, RLENGTH)
      sub(/^ *# *define +/, "", name)
      sub(/ +$/, "", name)
      rest = value
      gsub(/u?int[0-9]*_t|size_t|double/, "", rest)
      if (value !~ /["{;\\?]/ && rest !~ /[a-z]{3}/ && has_number(value)) add(name, i, i)
    } else if (text ~ /(^|[^a-z_])enum *\{/ && text !~ /typedef/) {
      begin = i
      start = text
      sub(/^.*enum *\{/, "", start)
      for (k = i; start !~ /\}/ && k < lines;) start = start "\n" code[++k]
      sub(/\}.*/, "", start)
      declarators(start, i, begin)
      i = k
    } else if (text ~ /static const |^const / && text !~ /\*/ && text ~ /=/) {
      begin = i
      start = text
      sub(/^.*static const +|^const +/, "", start)
      for (k = i; start !~ /;/ && k < lines;) start = start "\n" code[++k]
      sub(/;.*/, "", start)
      if (start !~ /"/) {
        sub(/^((unsigned|signed|long|short|struct) +)*[A-Za-z0-9_]+ +/, "", start)
        declarators(start, i, begin)
      }
      i = k
    }
  }
  # their comments
  for (i = 1; i <= found; i++) {
    if (all) print file ":" line_of[i] ": " name_of[i]
    count = on[line_of[i]]
    if (explains(comment[line_of[i]] (alone[line_of[i]] ? "" : tail[line_of[i]]), name_of[i], count)) continue
    if (explains(above(line_of[i]), name_of[i], count)) continue
    if (explains(above(begin_of[i]), name_of[i], in_block[begin_of[i]])) continue
    # a comment above several declarations, one a line
    for (j = begin_of[i]; j > 1 && code[j - 1] ~ /^ *(enum \{.*\};|#define|static const .*;)/;) j--
    if (names(above(j), name_of[i])) continue
    if (!all) print file ":" line_of[i] ": " name_of[i]
  }
  found = lines = 0
  delete code; delete comment; delete alone; delete tail; delete on; delete in_block
}

# The objects of one declaration, or the enumerators of one enum: NAME = VALUE, NAME[N] = {VALUES}, ... The first
# character of text stands on line `line`.
function declarators(text, line, begin,    i, c, depth, item, at) {
  item = ""; at = line; depth = 0
  for (i = 1; i <= length(text) + 1; i++) {
    c = i > length(text) ? "," : substr(text, i, 1)
    if (c ~ /[({[]/) depth++
    if (c ~ /[])}]/) depth--
    if (c == "," && depth <= 0) {
      if (match(item, /^[ \n]*[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])* *=/)) {
        value = substr(item, RLENGTH + 1)
        name = item
        gsub(/^[ \n]+/, "", name)
        sub(/[[ =].*/, "", name)
        if (has_number(value)) add(name, at, begin)
      }
      item = ""
    } else {
      if (c == "\n") line++
      if (item !~ /[^ \n]/) at = line
      item = item c
    }
  }
}

FNR == 1 { if (file) flush(); file = FILENAME; inside = 0 }

# Takes comments and strings out of each line.
{
  lines = FNR
  text = $0
  code[FNR] = comment[FNR] = tail[FNR] = ""
  began = inside
  while (text != "") {
    if (inside) {
      if ((at = index(text, "*/")) > 0) { comment[FNR] = comment[FNR] substr(text, 1, at - 1); text = substr(text, at + 2); inside = 0 }
      else { comment[FNR] = comment[FNR] text; text = "" }
    } else if (match(text, /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'|\/\*/)) {
      token = substr(text, RSTART, RLENGTH)
      code[FNR] = code[FNR] substr(text, 1, RSTART - 1)
      text = substr(text, RSTART + RLENGTH)
      if (token == "/*") inside = 1
      else code[FNR] = code[FNR] (substr(token, 1, 1) == "'" ? "1" : "\"\"")
    } else { code[FNR] = code[FNR] text; text = "" }
  }
  # a comment that begins behind code belongs to that line, on the lines below as well
  if (began && owner) tail[owner] = tail[owner] " " comment[FNR]
  else alone[FNR] = code[FNR] !~ /[^ ]/ && comment[FNR] != ""
  if (!inside) owner = 0
  else if (!began && code[FNR] ~ /[^ ]/) owner = FNR
}

END { if (file) flush() }
