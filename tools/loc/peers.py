"""The same features in published code of others, scored by the same scorer from their own commits.

peers.json holds the commits and their scores: system, feature, repository, commits, source, score. Nothing of their code
is kept.
"""

import dataclasses
import json
import pathlib

import history

FILE = pathlib.Path(__file__).parent / "peers.json"


def stored():
    return json.loads(FILE.read_text(encoding="utf-8"))


def scored(repos):
    """The stored rows with scores from copies of the repositories, which are written back."""
    rows = stored()
    for row in rows:
        folder = pathlib.Path(repos) / row["repository"].replace("/", "+")
        repo = folder / "repo" if (folder / "repo").is_dir() else folder
        total = history.Score()
        for commit in row["commits"]:
            total += history.score_commit(repo, commit)
        row["score"] = dataclasses.asdict(total)
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    return rows


def table(rows):
    """Markdown: a row for each feature of each system."""
    lines = ["| system | feature | " + " | ".join(history.COLUMNS) + " | source |", "|---|---|" + "---:|" * len(history.COLUMNS) + "---|"]
    for row in rows:
        links = ", ".join(f"[{commit[:8]}](https://github.com/{row['repository']}/commit/{commit})" for commit in row["commits"])
        numbers = " | ".join(str(row["score"][field.name]) for field in dataclasses.fields(history.Score))
        lines.append(f"| {row['system']} | {row['feature']} | {numbers} | {links}: {row['source']} |")
    return "\n".join(lines)
