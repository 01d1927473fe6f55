#!/bin/sh
# Fetches the published header of PJRT's C API, which the tests of label `abi` compare our declarations with, into
# .axle/pjrt_header: once, by pip from whatever index is configured, its checksum pinned. Nothing of it is built into Axle.
set -eu
cd "$(dirname "$0")/.."
version=0.1.1
sha256=e85e8fd382801726f9b8d1348deeebe5fb3aab35e95147c09d693cc701190dec
folder=.axle/pjrt_header
[ -f "$folder/xla/pjrt/c/pjrt_c_api.h" ] && exit 0

python=/usr/bin/python3
[ -x "$python" ] || python=python3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary pypjrt --dest "$scratch" "pypjrt==$version" ||
  { echo "tools/fetch_pjrt_header.sh: expected the source package pypjrt $version, got pip's error above" >&2; exit 1; }
package=$scratch/pypjrt-$version.tar.gz
echo "$sha256  $package" | sha256sum --check --quiet -
tar -xzf "$package" -C "$scratch"
mkdir -p .axle
rm -rf "$folder"
mkdir "$folder"
cp -r "$scratch/pypjrt-$version/vendor/xla" "$folder/xla"
echo "PJRT header: $folder"
