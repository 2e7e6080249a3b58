"""The colours of the report, light and dark: a contrast of 4.5 or more for every text, of 3 or more for every line.

Curve colours follow the hues of Okabe and Ito (2008), which readers with any colour vision tell apart, with the
lightness moved until each reaches that contrast. Severity is never told by colour
alone: a word or a letter stands beside it.
"""

TOKENS: tuple[tuple[str, str, str], ...] = (  # name, light, dark
    ("page", "#f4f5f7", "#0e1116"),
    ("card", "#ffffff", "#171b21"),
    ("sunken", "#f0f2f5", "#10141a"),
    ("ink", "#15181d", "#e9ecf0"),
    ("muted", "#56606c", "#a2acb8"),
    ("line", "#dce0e6", "#2b323c"),
    ("grid", "#e8ebef", "#232a33"),
    ("accent", "#0a58a8", "#84bcff"),
    ("critical", "#b3261e", "#ff8f80"),
    ("critical-fill", "#b3261e", "#ff8f80"),
    ("critical-on", "#ffffff", "#2a0603"),
    ("critical-soft", "#fdf0ee", "#2c1a19"),
    ("warning", "#8a5200", "#f5b84a"),
    ("warning-fill", "#ffc65c", "#f5b84a"),
    ("warning-on", "#2b1a00", "#2b1a00"),
    ("warning-soft", "#fff6e5", "#2a2213"),
    ("info", "#0a58a8", "#84bcff"),
    ("info-fill", "#0a58a8", "#84bcff"),
    ("info-on", "#ffffff", "#04203d"),
    ("info-soft", "#eef4fb", "#16222f"),
    ("healthy", "#00664f", "#4fd1ab"),
    ("healthy-fill", "#00735a", "#4fd1ab"),
    ("healthy-on", "#ffffff", "#00291f"),
    ("healthy-soft", "#e9f6f2", "#11261f"),
    ("curve-1", "#0069b4", "#5cb6f2"),
    ("curve-2", "#c2410c", "#ff9d5c"),
    ("curve-3", "#00795c", "#3dd6a5"),
    ("curve-4", "#9b4d86", "#e39acb"),
    ("curve-5", "#7a6200", "#e8d44d"),
    ("curve-6", "#4b5563", "#c3cad3"),
)
ON_CARD = ("ink", "muted", "accent", "critical", "warning", "info", "healthy")  # texts on the page's grounds
CURVES = tuple(name for name, _, _ in TOKENS if name.startswith("curve-"))


def css() -> str:
    """The tokens as custom properties: by the system's preference, and by choice where data-theme is set."""
    light = "".join(f"--{name}:{value};" for name, value, _ in TOKENS)
    dark = "".join(f"--{name}:{value};" for name, _, value in TOKENS)
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        f"@media print{{:root,:root:not([data-theme=light]),:root[data-theme=dark]{{color-scheme:light;{light}}}}}"
    )
