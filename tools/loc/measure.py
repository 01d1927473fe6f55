"""Measures the features in worlds of several sizes: lines, times, and whether the models compute what their twins do."""

import concurrent.futures
import dataclasses
import pathlib

import growth
import parts
import world
from world import WorldError

CI_SIZES = ((5, 3), (20, 3), (5, 10), (10, 5), (20, 10))


@dataclasses.dataclass
class Row:
    """A feature in the table."""

    name: str
    what: str
    existing: dict  # (N, M) -> lines changed in existing files
    changed: tuple  # the existing files that change in the largest world
    new: int  # lines of new files
    modifier: int  # lines of the modifier
    applied: dict = dataclasses.field(default_factory=dict)  # (N, M) -> Applied

    @property
    def largest(self):
        return max(self.existing)

    @property
    def grows(self):
        return growth.fit(self.existing)

    @property
    def seconds_grow(self):
        return growth.fit({size: applied.seconds for size, applied in self.applied.items()}) if self.applied else ""


def measure_diffs(folder, sizes, features):
    """A row for each feature, from the diffs of git in a world of each size."""
    rows = [Row(f.name, f.what, {}, (), 0, world.modifier_lines(world.feature_files(f), f.name)) for f in features]
    for size in sizes:
        repository = world.Repository(pathlib.Path(folder) / f"git_{size[0]}x{size[1]}", *size)
        for row, feature in zip(rows, features):
            diff = repository.diff(feature)
            row.existing[size] = diff.existing
            row.new = diff.new
            if size == max(sizes):
                row.changed = diff.changed
    return rows


def measure_programs(programs, rows, features, pairs_of, say):
    """Builds and runs the worlds and fills the rows. Throws WorldError where something is wrong."""
    programs.make()
    size = programs.largest
    base = {s: programs.document("base", parts.Defaults(), s) for s in programs.sizes}
    say(f"built {size[0]} models and {size[1]} attention classes, programs of {len(programs.sizes)} sizes")
    with concurrent.futures.ThreadPoolExecutor(programs.jobs) as pool:
        run_base(programs, pool, base[size], size, say)
        jobs = []
        for row, feature in zip(rows, features):
            for s in programs.sizes:
                twin = programs.document(f"twin_{feature.name}", feature.twin(), s)
                pairs = pairs_of(*s) if s == size else [(0, 0)]
                jobs.append((row, feature, s, pool.submit(programs.call, s, "apply", feature.name, base[s], twin, *world.names(pairs))))
        for row, feature, s, job in jobs:
            row.applied[s] = world.read_applied(feature, s, job.result())
    say(f"one layer file more: compiled and linked into {len(programs.sizes)} programs in {programs.seconds_of_one_more_file():.1f} s")
    compared = sum(row.applied[size].compared for row in rows)
    say(f"{len(rows)} features: {compared} models with a feature computed the numbers of their twins, bit by bit")


def run_base(programs, pool, document, size, say):
    """Takes a step of every pair, and checks that no two classes have the same op counts."""
    pairs = world.all_pairs(*size) if size[0] * size[1] <= 20000 else world.covering_pairs(*size)
    chunks = [pairs[i :: programs.jobs * 4] for i in range(programs.jobs * 4)]
    steps = [pool.submit(programs.call, size, "step", document, *world.names(chunk)) for chunk in chunks if chunk]
    models = pool.submit(programs.call, size, "count", document, *world.names([(n, 0) for n in range(size[0])]))
    attention = pool.submit(programs.call, size, "count", document, *world.names([(0, m) for m in range(size[1])]))
    losses = [float(line[2]) for job in steps for line in job.result()]
    if len(losses) != len(pairs) or not all(0 < loss < 100 for loss in losses):
        raise WorldError(f"expected {len(pairs)} losses between 0 and 100, got {len(losses)} from {min(losses)} to {max(losses)}")
    distinct = world.check_op_counts(models.result()), world.check_op_counts(attention.result())
    say(f"{len(pairs)} pairs took a training step and decoded; {distinct[0]} models and {distinct[1]} attention classes, no two with the same op counts")


def faults(rows):
    """A line for each feature that needs an existing line changed, or more than three lines of modifier."""
    for row in rows:
        lines = row.existing[row.largest]
        if any(row.existing.values()):
            n, m = row.largest
            files = ", ".join(row.changed[:3]) + (f" and {len(row.changed) - 3} more" if len(row.changed) > 3 else "")
            yield (f"{row.name}: expected no line changed in existing files, got {lines} in a world of {n} models and {m} attention classes "
                   f"({row.grows}): {files}")
        if row.modifier > 3:
            yield f"{row.name}: expected a modifier of at most 3 lines, got {row.modifier}"
