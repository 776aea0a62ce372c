#!/bin/bash
# Starts what does all it can not to be found any more: in a session of its own, without environment, parent and descriptors, deaf
# to signals. Arguments: how, and the file to which each such program adds its pid.
self=$0
how=$1
file=$2
away() { setsid env -i /bin/bash "$self" "$@" </dev/null >/dev/null 2>&1 & }

case $how in
alone)
  away stay "$file"
  ;;
twice) # its parent's parent is gone, too
  ( ( away stay "$file" ) & )
  ;;
stay)
  trap '' TERM HUP INT
  for each in /proc/$$/fd/*; do eval "exec ${each##*/}>&-"; done
  echo $$ >>"$file"
  exec /bin/sleep 600
  ;;
hop) # goes on as another process every moment; the third argument says how often
  trap '' TERM HUP INT
  [ "$3" -gt 0 ] && away hop "$file" $(($3 - 1))
  echo $$ >>"$file"
  ;;
fork) # starts others without end
  trap '' TERM HUP INT
  for ((count = 0; count < $3; count++)); do
    away stay "$file"
    /bin/sleep 0.01
  done
  ;;
esac
