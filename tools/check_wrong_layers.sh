#!/bin/sh
# Builds the programs of examples/wrong_layers against the installed library. Each has one mistake, and lines that say
# which text names it:
#
#   // compile: TEXT    the program must not build, and the build must print TEXT
#   // start: TEXT      the program must build; it must not start, and must print TEXT
#   // run: FLAGS       the program must build and start; `train` with these flags must end with the exit code 2
#   // prints: TEXT     ... and must print TEXT; a source may have several runs, each with its texts below it
#
#   check_wrong_layers.sh BUILD    a ctest test
set -eu
build=$1
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$build/wrong_layers_prefix
out=$build/examples/wrong_layers

rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" > /dev/null
cmake -S "$root/examples/wrong_layers" -B "$out" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" > /dev/null

# A model for the interpreter.
small="--set model.decoder.model_dim=8 --set model.decoder.layers.num_layers=1 --set input.seq_len=8
  --set input.batch_size=2 --set evalers={}"
faults=0
fault() {
  echo "$name: $1"
  faults=$((faults + 1))
}
# The text is in the output.
find_text() {
  grep -qF -- "$1" "$out/$name.log" || fault "expected '$1', got: $(grep -m 3 -i 'error\|axle' "$out/$name.log")"
}
# Each text that the source expects in this phase is in the output.
find_texts() {
  sed -n "s|^// $1: ||p" "$source" > "$out/texts.txt"
  while IFS= read -r text; do find_text "$text"; done < "$out/texts.txt"
}
# Trains with the flags of each group of lines "run:" of the source, and looks for the texts of the lines "prints:" below it.
try_runs() {
  grep -E '^// (run|prints): ' "$source" > "$out/runs.txt"
  flags=""
  while IFS= read -r line; do
    case $line in
      "// run: "*) flags="$flags ${line#// run: }" ;;
      *)
        if [ -n "$flags" ]; then
          status=0
          # shellcheck disable=SC2086 # a list of flags
          "$out/$name" train quickstart --data synthetic --backend interpreter --steps 1 --dir "$out/$name.run" $small $flags \
            > "$out/$name.log" 2>&1 < /dev/null || status=$?
          [ "$status" = 2 ] || fault "$flags: expected the exit code 2, got $status"
          flags=""
        fi
        find_text "${line#// prints: }"
        ;;
    esac
  done < "$out/runs.txt"
}
for source in "$root"/examples/wrong_layers/*.cpp; do
  name=$(basename "$source" .cpp)
  if grep -q '^// compile: ' "$source"; then
    if cmake --build "$out" --target "$name" > "$out/$name.log" 2>&1; then fault "expected an error of the build, got none"; fi
    find_texts compile
  elif ! cmake --build "$out" --target "$name" > "$out/$name.log" 2>&1; then
    fault "expected a program, got an error of the build"
    cat "$out/$name.log"
  elif grep -q '^// run: ' "$source"; then
    try_runs
  else
    if "$out/$name" config list > "$out/$name.log" 2>&1; then fault "expected an error at the start, got none"; fi
    find_texts start
  fi
done
echo "wrong layers: $faults faults"
[ "$faults" -eq 0 ]
