# The macros of frontend/viewfold_places.h for functions that return a value, from the declarations of the public headers.
/^VF_API vf_value vf_[a-z0-9_]*\(/ {
  name = $3
  sub(/\(.*/, "", name)
  if (name ~ /^vf_(at|name|graph_find|tensor_value|op_size|constant_at)$/) next
  printf "#define %s(...) vf_at(%s(__VA_ARGS__), __FILE__, __LINE__)\n", name, name
}
