"""How a count grows with the number of models N and of attention classes M."""

SHAPES = (
    ("O(1)", lambda n, m: 0),
    ("O(N)", lambda n, m: n),
    ("O(M)", lambda n, m: m),
    ("O(N + M)", lambda n, m: n + m),
    ("O(NM)", lambda n, m: n * m),
)


def fit(values):
    """The shape that fits the values best, {(N, M): value}. The value is a + b * shape; each counts relative to its size.

    The simplest of equally good shapes wins. Two sizes that differ in N and in M, and one more, are the least that tell
    the shapes apart.
    """
    if len({n for n, _ in values}) < 2 or len({m for _, m in values}) < 2 or len(values) < 4:
        raise ValueError("growth: expected at least four sizes that differ in N and in M")
    best = None
    for name, shape in SHAPES:
        error = relative_error(values, shape)
        if best is None or error < best[1] * 0.9:
            best = (name, error)
    return best[0]


def relative_error(values, shape):
    """The weighted squares that a line through the values leaves over."""
    points = [(shape(n, m), y, 1 / max(abs(y), 1e-12) ** 2) for (n, m), y in values.items()]
    weight = sum(w for _, _, w in points)
    mean_x = sum(w * x for x, _, w in points) / weight
    mean_y = sum(w * y for _, y, w in points) / weight
    spread = sum(w * (x - mean_x) ** 2 for x, _, w in points)
    slope = sum(w * (x - mean_x) * (y - mean_y) for x, y, w in points) / spread if spread else 0
    return sum(w * (y - mean_y - slope * (x - mean_x)) ** 2 for x, y, w in points) + 1e-9
