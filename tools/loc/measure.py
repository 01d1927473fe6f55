"""Measures the features in worlds of several sizes: lines, times, and whether the models compute what their twins do."""

import concurrent.futures
import dataclasses
import pathlib

import growth
import parts
import world
from world import WorldError

CI_SIZES = ((5, 3), (20, 3), (5, 10), (10, 5), (20, 10))
SMALL = 200  # pairs of a world whose numbers are all compared
MOST_EXPERIMENTS = 2_000  # as many as a section of a config may have


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


def measure_program(program, rows, features, sizes, compare_all, say):
    """Builds and runs the worlds and fills the rows. Throws WorldError where something is wrong."""
    program.make()
    size = program.size
    say(f"built {size[0]} models and {size[1]} attention classes")
    check_op_counts(program, say)
    with concurrent.futures.ThreadPoolExecutor(program.jobs) as pool:
        applied = {s: pool.submit(program.call, "apply", *program.worlds(f"world_{s[0]}x{s[1]}", features, experiments(*s))) for s in sizes}
        for s, job in applied.items():
            for row, feature in zip(rows, features):
                row.applied[s] = world.read_applied(feature, experiments(*s), job.result())
        say(f"applied {len(features)} features to {len(experiments(*size))} experiments; each has the config of its twin")
        compare(program, pool, rows, features, compare_all, say)
    say(f"one layer file more: compiled and linked in {program.seconds_of_one_more_file():.1f} s")


def experiments(n, m):
    """All pairs; of a very large world so many that each class takes part."""
    return world.all_pairs(n, m) if n * m <= MOST_EXPERIMENTS else world.covering_pairs(n, m)


def compare(program, pool, rows, features, compare_all, say):
    """Takes a step of every experiment, and compares the numbers of experiments that have a feature with their twins'."""
    n, m = program.size
    pairs = experiments(n, m)
    chosen = pairs if compare_all or n * m <= SMALL else world.covering_pairs(n, m)
    others = sorted(set(pairs) - set(chosen))
    jobs = [pool.submit(program.call, "compare", *program.worlds(f"compared_{i}", features, part)) for i, part in enumerate(parts_of(chosen, program.jobs, m))]
    jobs += [pool.submit(program.call, "step", program.document(f"step_{i}", parts.Defaults(), part)) for i, part in enumerate(parts_of(others, program.jobs, m))]
    lines = [line for job in jobs for line in job.result()]
    losses = [float(line[2]) for line in lines if line[0] == "step"]
    if len(losses) != len(pairs) or not all(0 < loss < 100 for loss in losses):
        raise WorldError(f"expected {len(pairs)} losses between 0 and 100, got {len(losses)} from {min(losses)} to {max(losses)}")
    say(f"{len(pairs)} pairs took a training step and decoded")
    counts = [world.read_compared(feature, row.applied[program.size], lines) for row, feature in zip(rows, features)]
    if any(models != len(chosen) for models, _ in counts):
        raise WorldError(f"expected {len(chosen)} models compared for each feature, got {[models for models, _ in counts]}")
    say(f"{len(features)} features x {len(chosen)} pairs: {sum(values for _, values in counts):,} tensors are those of the twins, bit by bit")


def parts_of(pairs, jobs, num_attention):
    """The pairs in parts that programs run at the same time. Each part has all attention classes, so that each feature finds
    something to change in it."""
    parts = max(1, min(4 * jobs, len(pairs) // num_attention))
    return [pairs[len(pairs) * i // parts : len(pairs) * (i + 1) // parts] for i in range(parts) if pairs]


def check_op_counts(program, say):
    """Throws WorldError if two classes have the same op counts."""
    n, m = program.size
    models, attention = [(i, 0) for i in range(n)], [(0, i) for i in range(m)]
    document = program.document("counted", parts.Defaults(), sorted(set(models + attention)))
    distinct = [world.check_op_counts(program.call("count", document, *world.names(pairs))) for pairs in (models, attention)]
    say(f"{distinct[0]} models and {distinct[1]} attention classes, no two with the same op counts")


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
