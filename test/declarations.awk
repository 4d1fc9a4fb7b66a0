# The declarations of the PUBLIC elementwise operations, from the rows of ir/ops.def: one comment for each run of rows with one
# dtype rule, then for each row its C function and its meaning.
BEGIN {
  says["NUMBER"] = "Not for bool."
  says["FLOAT"] = "In f32 for bool and integers, in f64 for those of 64 bits."
  says["ROUND"] = "Not for bool; integers stay as they are."
  says["FLOAT_ONLY"] = "Floats only."
  says["BITS"] = "Bit by bit on integers, logical on bool; not for floats."
  says["INTEGER"] = "Integers only. A negative count gives 0, or is refused where it is a constant."
  says["PROMOTED"] = "Of any dtype."
  says["COMPARE"] = "Of any dtype; the result is bool."
  says["BRANCHES"] = "The first operand is bool, the others are of any dtype."
  operands["UNARY"] = "vf_value x"
  operands["BINARY"] = operands["COMPARE"] = "vf_value a, vf_value b"
  operands["TERNARY"] = "vf_value a, vf_value b, vf_value c"
}
/^(PRIMITIVE|EXPANDED|MIXED|TYPED)\(/ { row = "" ; inside = 1 }
inside { row = row $0 }
inside && /"\)$/ {
  inside = 0
  sub(/^[A-Z]+\(/, "", row)
  split(row, column, /, */)
  if (column[3] != "PUBLIC") next
  meaning = row
  sub(/"\)$/, "", meaning)
  sub(/.*"/, "", meaning)
  if (column[8] != rule) printf "\n/* %s */\n", says[rule = column[8]]
  printf "%-66s /* %s */\n", "VF_API vf_value vf_" column[2] "(" operands[column[4]] ");", meaning
}
