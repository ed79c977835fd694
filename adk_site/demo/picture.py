"""Pictures that the demo model draws: hills at sunset, in colours that depend on the words."""

import math
import random
from io import BytesIO

from PIL import Image, ImageDraw

WIDTH, HEIGHT = 960, 720
HILLS = 5
STEP = 8
"""Distance between two points of a hill's outline, in pixels."""


def draw_picture(words: str) -> bytes:
    """Return a PNG; the same words give the same picture."""
    chance = random.Random(words)  # noqa: S311 - no secret
    hue = chance.randrange(360)
    image = Image.linear_gradient("L").resize((WIDTH, HEIGHT))
    sky = Image.composite(
        Image.new("RGB", image.size, _colour(hue + 30, 90, 78)),
        Image.new("RGB", image.size, _colour(hue + 200, 45, 45)),
        image,
    )
    draw = ImageDraw.Draw(sky)
    x = chance.randrange(WIDTH // 5, WIDTH * 4 // 5)
    y = chance.randrange(HEIGHT // 4, HEIGHT // 2)
    radius = chance.randrange(50, 90)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), _colour(hue + 40, 95, 90))
    for hill in range(HILLS):
        base = HEIGHT * (0.5 + 0.1 * hill)
        draw.polygon(_outline(chance, base), _colour(hue + 200 + 8 * hill, 35, 42 - 8 * hill))
    png = BytesIO()
    sky.save(png, format="png")
    return png.getvalue()


def _outline(chance: random.Random, base: float) -> list[tuple[float, float]]:
    """Return the corners of a hill that reaches to the lower edge."""
    waves = [
        (chance.uniform(0.5, 2.5), chance.uniform(0, math.tau), chance.uniform(12, 40)) for _ in range(3)
    ]
    points = [(0.0, float(HEIGHT))]
    for x in range(0, WIDTH + STEP, STEP):
        y = base
        for count, phase, height in waves:
            y += height * math.sin(math.tau * count * x / WIDTH + phase)
        points.append((x, y))
    return [*points, (WIDTH + STEP, HEIGHT)]


def _colour(hue: int, saturation: int, lightness: int) -> str:
    return f"hsl({hue % 360}, {saturation}%, {lightness}%)"
