# Completion of the command viewfold in bash. The commands and options are those that `viewfold --help` and
# `viewfold COMMAND --help` print.
_viewfold() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options words
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    words="$(viewfold --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }') --help --version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  case $before in
  --device) words='cpu c opencl' ;;
  --stage) words='graph kernels index loops llvm asm opencl c' ;;
  esac
  case $command:$COMP_CWORD in
  cache:2) words='stat prune verify' ;;
  ops:2) words="$(viewfold ops 2>/dev/null | awk '/^[|] [a-z]/ { print $2 }')" ;;
  esac
  case $word in
  -*)
    options=$(viewfold "$command" --help 2>/dev/null | grep -oE '(^|[^[:alnum:]-])--?[a-z][a-z-]*' | grep -oE -e '--?[a-z][a-z-]*' | sort -u)
    words="$options --help"
    ;;
  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _viewfold viewfold
