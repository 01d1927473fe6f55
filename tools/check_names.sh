#!/bin/sh
# Checks that no file names a folder of somebody's machine, one beside the checkout or a package index: a checkout must work
# anywhere.
# `--self-test` shows that the check can fail.
set -eu

folders='(^|[^A-Za-z0-9_.}])(/tmp)?/(home|root|work|mnt|Users)/[A-Za-z0-9_.]'
beside='\.\./shared'
index='(index-url|PIP_INDEX_URL|PIP_FIND_LINKS|find-links)[ =]'

faults() { # folder
  # This file holds the patterns themselves.
  grep -rnIE "$folders|$beside|$index" "$1" --exclude-dir=.git --exclude-dir=.axle --exclude-dir=build \
    --exclude=check_names.sh
}

if [ "${1:-}" = --self-test ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  echo 'a path in /usr/lib and a word like framework/file' > "$folder/good.txt"
  if faults "$folder"; then echo "names: self-test: refused a good file"; exit 1; fi
  for bad in 'open("/home/me/file")' 'see ../shared/data'; do
    echo "$bad" > "$folder/bad.txt"
    faults "$folder" > /dev/null || { echo "names: self-test: passed a bad file"; exit 1; }
  done
  exit 0
fi

cd "$(dirname "$0")/.."
if faults .; then
  echo "names: the lines above name a folder of one machine, one beside the checkout or a package index"
  exit 1
fi
echo "names: 0 faults"
