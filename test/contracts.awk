# Names the functions without a contract:   awk -f test/contracts.awk HEADER.h...
#
# A function is declared, or defined `static inline`, at the first column of a header. Its contract is a comment on the
# lines of the declaration, or on an indented line below, or above it in the same run of lines: one comment may stand
# over several declarations between which no line is blank. A title, which is the name of a file alone or a ruled line, is
# no contract. Prints `FILE:LINE: FUNCTION` for each function without one; with -v all=1 each function that it sees.

function flush() {
  if (name && !covered) print file ":" line ": " name
  name = ""
}

FNR == 1 { flush(); covered = inside = depth = 0; head = 0; file = FILENAME }

# The brace of extern "C" opens no body.
/^extern "C" \{/ { next }

# A title.
/^\/\* ([A-Za-z0-9_\/]+\.[ch](, )?)+ \*\/$/ || /^\/\* -+ .* \*\/$/ { flush(); covered = 0; next }

# Takes the comments out of the line.
{
  said = inside
  text = $0
  code = ""
  while (text != "") {
    if (inside) {
      if ((at = index(text, "*/")) == 0) break
      text = substr(text, at + 2)
      inside = 0
    } else if ((at = index(text, "/*")) > 0) {
      code = code substr(text, 1, at - 1)
      text = substr(text, at + 2)
      inside = said = 1
    } else {
      code = code text
      text = ""
    }
  }
  empty = code !~ /[^ \t]/
}

# A blank line ends the run of lines that a comment covers, but for one in a body.
empty && !said && !depth { flush(); covered = 0 }

# A comment that begins at the first column is about what follows it.
empty && said && !depth {
  if (/^[ \t]/ && !above) name = ""
  else { flush(); covered = above = 1 }
}
!empty { above = 0 }

!depth && code ~ /^[A-Za-z_][A-Za-z0-9_ ]*[ *]+[A-Za-z_][A-Za-z0-9_]*\(/ && code !~ /^(typedef|return|else|__attribute|extern "C")/ {
  flush()
  name = code
  sub(/\(.*/, "", name)
  sub(/.*[ *]/, "", name)
  line = FNR
  head = 1
  if (all) print file ":" line ": " name
}

# The head of a function ends with its declaration, or where its body begins.
head && said { name = "" }
head && code ~ /[;{]/ { head = 0 }

{
  depth += gsub(/[{(]/, "", code) - gsub(/[})]/, "", code)
  if (depth < 0) depth = 0
}

END { flush() }
