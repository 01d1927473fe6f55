#!/bin/sh
# Builds an example against the installed library, as a user's project would, runs its tests and its program: a ctest
# test.
#
#   check_example.sh BUILD EXAMPLE CLASS RECIPE KERNEL   (77: no plugin, so nothing can be trained)
set -eu
build=$1
example=$2
class=$3
recipe=$4
kernel=$5
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$build/prefix
out=$build/examples/$example

rm -rf "$prefix" "$out/run"
cmake --install "$build" --prefix "$prefix" > /dev/null
cmake -S "$root/examples/$example" -B "$out" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" > /dev/null
cmake --build "$out"
program=$out/$example
ctest --test-dir "$out" --output-on-failure --no-tests=error

"$program" config list | grep -q "$class" || {
  echo "$example: expected $class in its own 'config list'"
  exit 1
}
"$program" config describe "$class" | sed -n 2p | grep -q '^  .' || {
  echo "$example: expected the comment above $class in 'config describe $class'"
  exit 1
}
if [ -z "${AXLE_PLUGIN_CPU:-}" ] && [ ! -f "$root/.axle/plugins/cpu.txt" ]; then
  echo 'skipped: no cpu plugin: run `axle plugin fetch cpu`' # as testing/needs_plugin.h says it
  exit 77
fi
cat "$root"/docs/*.md > "$out/text.txt"
"$program" train "$recipe" --data "$out/text.txt" --steps 3 --dir "$out/run"
steps=$(grep -c '"loss"' "$out/run/metrics.jsonl")
[ "$steps" -ge 3 ] || {
  echo "$example: expected 3 steps in metrics.jsonl, got $steps"
  exit 1
}
"$program" compile "$recipe" --on cpu:1 > "$out/report.txt"
grep -q "note: kernel $kernel of .*: host kernel" "$out/report.txt" || {
  echo "$example: expected the host kernel $kernel in the report of 'compile'"
  cat "$out/report.txt"
  exit 1
}
"$program" generate --from "$out/run" --prompt "To be" --max-tokens 8
