"""Tables and the plot."""


def table(rows, timed):
    """Markdown: a row for each feature."""
    head = ["feature", "lines changed in existing files", "growth", "lines of the modifier", "lines of new files"]
    if timed:
        head += ["modules", "processor time to apply", "per 1,000 modules", "growth of the time"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for row in rows:
        cells = [row.what, row.existing[row.largest], row.grows, row.modifier, row.new]
        if timed:
            applied = row.applied[row.largest]
            cells += [f"{applied.modules:,}", f"{applied.seconds * 1e3:.2f} ms", f"{applied.seconds / applied.modules * 1e6:.2f} ms", row.seconds_grow]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


COLOURS = ("#c0392b", "#d68910", "#7d3c98", "#1f618d", "#196f3d")


def plot(rows, controls):
    """An SVG: lines changed in existing files over the number of pairs. The features of the worlds share one curve where
    their counts are equal."""
    width, height, left, bottom, top, right = 840, 370, 60, 58, 34, 330
    sizes = sorted(rows[0].existing, key=lambda s: (s[0] * s[1], s))
    widest = max(n * m for n, m in sizes)
    tallest = max([max(row.existing.values()) for row in rows + controls] + [1])
    x = lambda size: left + (width - left - right) * size[0] * size[1] / widest
    y = lambda lines: height - bottom - (height - bottom - top) * lines / tallest
    curves = {}
    for row in rows:
        curves.setdefault(tuple(row.existing[s] for s in sizes), []).append(row)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="18" font-size="13">Lines changed in existing files to add a feature, measured by git</text>',
           f'<path d="M{left} {top} V{height - bottom} H{width - right}" fill="none" stroke="#444"/>']
    for i in range(5):
        lines = tallest * i / 4
        out.append(f'<text x="{left - 8}" y="{y(lines) + 4:.1f}" text-anchor="end">{lines:.0f}</text>')
        out.append(f'<path d="M{left} {y(lines):.1f} H{width - right}" stroke="#ddd"/>')
    for i, size in enumerate(sizes):  # neighbours on two lines, for equal products share a place
        down = 14 + 11 * (i % 2)
        out.append(f'<text x="{x(size):.1f}" y="{height - bottom + down}" text-anchor="middle" font-size="9">{size[0]}x{size[1]}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">models x attention classes (placed at their product)</text>')
    drawn = [(f"{len(own)} features with a modifier", values, own[0].grows) for values, own in curves.items()]
    drawn += [(row.what, tuple(row.existing[s] for s in sizes), row.grows) for row in controls]
    for i, (label, values, grows) in enumerate(drawn):
        colour = COLOURS[(i + 4) % len(COLOURS)]
        for size, value in zip(sizes, values):
            out.append(f'<circle cx="{x(size):.1f}" cy="{y(value):.1f}" r="4" fill="{colour}"/>')
        row = top + 14 + 34 * i
        out.append(f'<circle cx="{width - right + 16}" cy="{row - 4}" r="4" fill="{colour}"/>')
        out.append(f'<text x="{width - right + 26}" y="{row}">{label}</text>')
        out.append(f'<text x="{width - right + 26}" y="{row + 14}" fill="#555">{grows}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"
