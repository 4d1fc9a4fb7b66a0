# Pages of section 3 of the manual, from the public headers: one for each function.
#
#   awk -v out=DIRECTORY -v version=0.1.0 -v date="November 1, 2026" -f docs/install/man3.awk HEADER.h...
#
# A function is a declaration `VF_API ...;` at the first column. What is said of it is the comment on its lines and the
# comment above, which is for all declarations up to the next blank line or comment. A comment that a blank line follows, or a
# type of which users know the name alone, is for the functions behind it, up to the next one or to a ruled title. Where nothing
# else is said, it is what is said of a type above. Writes DIRECTORY/FUNCTION.3.

# A comment without its marks, with the newlines and the indentation that it has.
function bare(text) {
  sub(/^[ \t]*\/\*+ ?/, "", text)
  sub(/ *\*+\/[ \t]*$/, "", text)
  gsub(/\n[ \t]*\* ?/, "\n", text)
  return text
}

function escaped(line) {
  gsub(/\\/, "\\e", line)
  return line ~ /^[.']/ ? "\\&" line : line
}

# Paragraphs, lists and indented examples of a comment in mdoc.
function put(file, text,    n, i, line, literal) {
  n = split(text, line, "\n")
  for (i = 1; i <= n; i++) {
    if (line[i] ~ /^  +[^ ]/) {
      if (!literal) print ".Bd -literal" > file
      literal = 1
    } else if (literal && line[i] !~ /^ *$/) {
      print ".Ed\n.Pp" > file
      literal = 0
    }
    if (line[i] ~ /^- /) print ".Pp" > file
    if (!literal) sub(/^ +/, "", line[i])
    if (line[i] ~ /^ *$/) { if (!literal && i < n) print ".Pp" > file; else if (literal) print "" > file }
    else print escaped(line[i]) > file
  }
  if (literal) print ".Ed" > file
}

# What a function does in a few words: the beginning of what is said of it, unless that speaks of a parameter or a failure;
# else the words of its name.
function brief(text, name) {
  gsub(/\n+/, " ", text)
  gsub(/  +/, " ", text)
  if (match(text, /[.;:]( |$)/)) text = substr(text, 1, RSTART - 1)
  if (length(text) > 90) {
    text = substr(text, 1, 90)
    sub(/[ ,(][^ ]*$/, "", text)
  }
  gsub(/\\/, "\\e", text)
  if (text ~ /^[^ ]*$/ || text ~ /^(NULL|[Ff]alse|-1|0) /) {
    text = substr(name, 4)
    gsub(/_/, " ", text)
  }
  return text
}

# Prints the parameters, between which are the commas outside of parentheses.
function put_parameters(file, text,    i, c, depth, one) {
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    depth += (c == "(") - (c == ")")
    if (c == "," && depth == 0) { put_parameter(file, one); one = "" } else one = one c
  }
  put_parameter(file, one)
}
function put_parameter(file, text) {
  gsub(/^ +| +$/, "", text)
  print ".Fa \"" text "\"" > file
}

# All functions of a run of declarations, once what is said of them is known.
function flush(    i, j, file, parts) {
  for (i = 1; i <= count; i++) {
    file = out "/" name[i] ".3"
    print ".\\\" Made from " header[i] " by docs/install/man3.awk.\n.Dd " date "\n.Dt " toupper(name[i]) " 3\n.Os viewfold " version > file
    print ".Sh NAME\n.Nm " name[i] "\n.Nd " brief(own[i] != "" ? own[i] : shared, name[i]) > file
    print ".Sh LIBRARY\nviewfold (libviewfold, \\-lviewfold)" > file
    print ".Sh SYNOPSIS\n.In " (header[i] ~ /viewfold_pool/ ? header[i] : "viewfold.h") "\n.Ft \"" type[i] "\"\n.Fo " name[i] > file
    put_parameters(file, parameters[i])
    print ".Fc\n.Sh DESCRIPTION" > file
    if (own[i] != "") put(file, own[i])
    if (own[i] != "" && shared != "") print ".Pp" > file
    if (shared != "") put(file, shared)
    if (intro != "") {
      if (own[i] shared != "") print ".Sh NOTES" > file
      put(file, intro)
    }
    print ".Pp\nStatuses, errors and the life of what is returned are described at the head of\n.In viewfold.h ." > file
    print ".Sh SEE ALSO" > file
    for (j = 1; j <= count; j++) if (j != i) print ".Xr " name[j] " 3 ," > file
    print ".Xr viewfold 1\n.Pp\n" (title == "" ? "The functions" : "Functions for " title) " in\n.Pa " header[i] > file
    close(file)
  }
  count = 0
  shared = ""
}

FNR == 1 { flush(); comment = title = intro = ""; inside = declaring = 0; base = FILENAME; sub(/.*\//, "", base) }

# A comment at the first column.
inside || (!declaring && /^\/\*/) {
  if (!inside) { flush(); comment = of_type = "" }
  comment = comment (inside ? "\n" : "") $0
  inside = $0 !~ /\*\//
  if (!inside && comment ~ /^\/\* (clang-format|from the|end of these) /) comment = ""
  if (!inside && comment ~ /^\/\* -+ /) {
    title = bare(comment)
    gsub(/-+ */, "", title)
    comment = intro = ""
  }
  next
}

declaring || /^VF_API / {
  if (!declaring) { if (count == 0) shared = bare(comment != "" ? comment : of_type); declaration = said = "" }
  comment = ""
  text = $0
  if (!remarking && (at = index(text, "/*")) > 0) {
    declaration = declaration substr(text, 1, at - 1) " "
    remark = substr(text, at)
    remarking = 1
  } else if (remarking) remark = remark "\n" text
  else declaration = declaration text " "
  if (remarking && text ~ /\*\//) { said = said bare(remark); remarking = 0 }
  declaring = remarking || declaration !~ /;/
  if (declaring) next
  gsub(/[ \t]+/, " ", declaration)
  sub(/^VF_API /, "", declaration)
  if (!match(declaration, /vf_[a-z0-9_]+\(/)) next
  gsub(/\n +/, "\n", said)
  count++
  header[count] = base
  own[count] = said
  type[count] = substr(declaration, 1, RSTART - 1)
  sub(/ +$/, "", type[count])
  name[count] = substr(declaration, RSTART, RLENGTH - 1)
  parameters[count] = substr(declaration, RSTART + RLENGTH)
  sub(/\) *;.*$/, "", parameters[count])
  next
}

/^[ \t]*$/ { flush(); if (comment != "") intro = bare(comment); comment = of_type = ""; next }
/^typedef struct vf_[a-z_]+ vf_[a-z_]+;/ && comment != "" { intro = bare(comment) }
{ flush(); if (comment != "") of_type = comment; comment = "" }
END { flush() }
