# SPDX-License-Identifier: Apache-2.0
"""Draws how many times faster than its best peer each case is, sorted, on a logarithmic axis: one SVG that needs nothing else."""

import html
import math

ROW, LEFT, WIDTH, TOP, BOTTOM = 15, 330, 520, 64, 30
TICKS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 14px; font-weight: 600 }
  .grid { stroke: #d0d7de }  .one { stroke: #57606a; stroke-width: 1.5 }
  .win { fill: #1a7f37 }  .loss { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }  .grid { stroke: #30363d }  .one { stroke: #8b949e }  .win { fill: #3fb950 }  .loss { fill: #f85149 }
  }
"""


def svg(title, rows):
    """rows: (case, best peer, peer time over ours). Text of the SVG."""
    rows = sorted(rows, key=lambda row: -row[2])
    ratios = [ratio for _, _, ratio in rows] + [1]
    low, high = (math.log2(limit) for limit in (min(ratios) / 1.2, max(ratios) * 1.2))

    def x(ratio):
        return LEFT + WIDTH * (math.log2(ratio) - low) / (high - low)

    height = TOP + ROW * len(rows) + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {height}" role="img" aria-label="{html.escape(title)}">',
           f"<style>{STYLE}</style>", f'<text class="title" x="8" y="20">{html.escape(title)}</text>',
           '<text x="8" y="38">Time of the best peer over ours, cold buffers, launches included; right of 1 ours is faster.</text>']
    for tick in TICKS:
        if low <= math.log2(tick) <= high:
            kind = "one" if tick == 1 else "grid"
            out.append(f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{height - BOTTOM}"/>'
                       f'<text x="{x(tick):.1f}" y="{TOP - 10}" text-anchor="middle">{tick:g}</text>')
    for i, (case, peer, ratio) in enumerate(rows):
        y = TOP + ROW * i
        left, right = sorted((x(1), x(ratio)))
        out.append(f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{html.escape(case)}</text>'
                   f'<rect class="{"win" if ratio >= 1 else "loss"}" x="{left:.1f}" y="{y + 3}" width="{max(right - left, 1):.1f}" height="{ROW - 5}"/>'
                   f'<text x="{right + 5:.1f}" y="{y + 11}">{ratio:.2f}</text><title>{html.escape(peer)}</title>')
    return "\n".join(out + ["</svg>"]) + "\n"
