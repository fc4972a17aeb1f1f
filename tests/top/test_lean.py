"""The view without what it never uses: the rest of the program finds all of that as ever, and another textual is imported whole."""

import subprocess
import sys

IMPORT = "import sys; from lnetstat.top import lean; Top = lean.view(); loaded = set(sys.modules)\n"
REAL = "import ssl, textual.command; assert ssl.SSLContext and textual.command.CommandPalette.is_open\n"


def said_by(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout.split()


def test_what_is_never_shown_is_not_imported_and_later_imports_get_the_real_modules():
    code = IMPORT + REAL + "print(Top.__name__, *loaded & {'ssl', 'textual.command', 'textual.widgets._input', 'textual.widgets._tree'})"
    assert said_by(code) == ["Top"]


def test_a_textual_that_needs_more_of_the_palette_is_imported_whole():
    strict = "from lnetstat.top import lean; lean._Unused.__getattr__ = lambda self, name: exec('raise AttributeError(name)')\n"
    code = strict + IMPORT + REAL + "print(Top.__name__, 'textual.command' in loaded, issubclass(Top, sys.modules['textual.app'].App))"
    assert said_by(code) == ["Top", "True", "True"]
