# SPDX-License-Identifier: MIT
"""Draws the losses that train.py --losses wrote, one curve after the other, as an SVG picture.

    python plot_losses.py pretrain.csv finetune.csv --out losses.svg

Needs nothing but Python. The loss is on a logarithmic scale.
"""

import argparse
import csv
import math
import pathlib

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 52
COLOURS = ("#1f5fa8", "#b0461e", "#4c7a34")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [(int(row["batch"]), float(row["loss"])) for row in csv.DictReader(file)]


def text(x, y, content, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{content}</text>'


def draw(curves):
    """`curves` is a list of (name, points); each begins where the one before it ends."""
    total = sum(points[-1][0] for _, points in curves)
    losses = [loss for _, points in curves for _, loss in points]
    low = math.floor(math.log10(min(losses)))
    high = math.ceil(math.log10(max(losses)))

    def x_of(batch):
        return LEFT + (WIDTH - LEFT - RIGHT) * batch / total

    def y_of(loss):
        share = (high - math.log10(loss)) / (high - low)
        return TOP + (HEIGHT - TOP - BOTTOM) * share

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12" fill="#222">',
        "<title>Training loss by batch</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    bottom = HEIGHT - BOTTOM
    for power in range(low, high + 1):
        y = y_of(10**power)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, y + 4, f"{10.0**power:g}", "end"))
    step = 10 ** math.floor(math.log10(total))
    step = step if total / step >= 4 else step // 2 if total / step >= 2 else step // 5
    for batch in range(0, total + 1, step):
        out.append(text(x_of(batch), bottom + 18, f"{batch:,}"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "batch"))
    middle = (TOP + bottom) / 2
    turned = f' transform="rotate(-90 16 {middle:.1f})"'
    out.append(text(16, middle, "loss of a trace token, in nats", extra=turned))

    begin = 0
    for (name, points), colour in zip(curves, COLOURS):
        path = " ".join(f"{x_of(begin + batch):.1f},{y_of(loss):.1f}" for batch, loss in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        end = begin + points[-1][0]
        out.append(text(x_of((begin + end) / 2), 24, name, extra=f' fill="{colour}"'))
        if begin:
            x = x_of(begin)
            out.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#999" stroke-dasharray="4 3"/>')
        begin = end
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("curves", nargs="+", help="CSV files with the columns batch and loss")
    parser.add_argument("--out", required=True, help="the picture")
    arguments = parser.parse_args()
    if len(arguments.curves) > len(COLOURS):
        parser.error(f"at most {len(COLOURS)} curves")
    curves = [(pathlib.Path(path).stem, read(path)) for path in arguments.curves]
    pathlib.Path(arguments.out).write_text(draw(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
