"""How the view's parts are laid out. Its screen and the app say so whole (inherit_css=False): textual's own rules, for widgets that are
not here, take longer to parse than these."""

from textual.screen import Screen

GROUND = """
Top {
    background: $background;
    color: $foreground;
    &:ansi {
        background: ansi_default;
        color: ansi_default;
        .-ansi-scrollbar {
            scrollbar-background: ansi_default;
            scrollbar-background-hover: ansi_default;
            scrollbar-background-active: ansi_default;
            scrollbar-color: ansi_blue;
            scrollbar-color-active: ansi_bright_blue;
            scrollbar-color-hover: ansi_bright_blue;
            scrollbar-corner-color: ansi_default;
        }
    }
}
"""
PARTS = """
Lines { height: 1; }
Grid { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
Input { height: 1; border: none; padding: 0; }
Help { align: center middle; }
#help { box-sizing: content-box; width: 78; border: solid $primary; background: $surface; }
"""


class Page(Screen[None], inherit_css=False):
    """The screen on which the view stands."""

    DEFAULT_CSS = """
    Page { layout: vertical; background: $background; &:ansi { background: ansi_default; color: ansi_default; } }
    """
