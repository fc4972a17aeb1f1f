"""Man pages, written from the commands themselves: `python -m lnetstat.cli._man DIR` fills DIR/man1, man5 and man8.

What click knows (synopsis, description, options, examples) is taken from it; what it does not know (files, environment, exit status, see
also) is in _man_words. Verbs that cannot be imported where this runs, as in the package for nodes, get no page; lnetstat(1) names them.
"""

import inspect
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from lnetstat import __version__
from lnetstat.cli import _man_words as words
from lnetstat.cli import _sample, lnetstat
from lnetstat.errors import LnetstatError

TOML = "lnetstat.toml"
# What troff would take for its own, or print as something else than what a user must type.
_ESCAPES = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "…": "...", "–": r"\(en"}


class Page(NamedTuple):
    """One page: `name`, `section` and its troff `text`."""

    name: str
    section: int
    text: str


def pages(sample: str | None = None, day: str = "") -> Iterator[Page]:
    """Yield a page for lnetstat, for each verb that is installed and for the service; lnetstat.toml(5) from the text of the sample file.

    `day` is what the foot of each page says, YYYY-MM-DD.
    """
    commands, absent = _installed()
    root = click.Context(lnetstat, info_name="lnetstat", **lnetstat.context_settings)
    named = {"lnetstat", *(f"lnetstat-{verb}" for verb in commands), "lnetstat-agent.service", *([TOML] if sample else [])}
    yield Page("lnetstat", 1, _head("lnetstat", 1, day) + _overview(root, commands, absent) + _closing("lnetstat", named, []))
    for verb, command in commands.items():
        text = _command_page(verb, click.Context(command, info_name=verb, parent=root))
        options = [option for parameter in command.params for option in parameter.opts]
        yield Page(f"lnetstat-{verb}", 1, _head(f"lnetstat-{verb}", 1, day) + text + _closing(verb, named, options))
    service = _named("lnetstat-agent.service", words.SERVICE_TITLE) + _section("Description") + _paragraphs(words.SERVICE)
    yield Page("lnetstat-agent.service", 8, _head("lnetstat-agent.service", 8, day) + service + _closing("service", named, []))
    if sample:
        yield Page(TOML, 5, _head(TOML, 5, day) + _configuration(sample) + _closing(TOML, named, []))


def _installed() -> tuple[dict[str, click.Command], list[str]]:
    """Return the verbs that can be imported here, and the names of the others."""
    commands: dict[str, click.Command] = {}
    absent = []
    context = click.Context(lnetstat)
    for verb in lnetstat.list_commands(context):
        try:
            command = lnetstat.get_command(context, verb)
        except (ModuleNotFoundError, LnetstatError):
            absent.append(verb)
        else:
            if command is not None:
                commands[verb] = command
    return commands, absent


# ---- pages ----


def _overview(context: click.Context, commands: dict[str, click.Command], absent: Sequence[str]) -> str:
    description, examples = _help_of(lnetstat)
    text = _named("lnetstat", description[0].rstrip("."))
    text += _section("Synopsis") + r"\fBlnetstat\fR \fIVERB\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]" + "\n"
    text += _section("Description") + _paragraphs(words.OVERVIEW) + _section("Verbs")
    for verb, command in commands.items():
        text += f".TP\n\\fBlnetstat\\-{_escaped(verb)}\\fR(1)\n{_prose(_help_of(command)[0][0])}\n"
    if absent:
        text += ".PP\n" + _prose(f"Not installed here, because what they need is not: {', '.join(absent)}. {words.ABSENT}") + "\n"
    return text + _options(context) + _verbatim("Examples", examples)


def _command_page(verb: str, context: click.Context) -> str:
    description, examples = _help_of(context.command)
    text = _named(f"lnetstat-{verb}", description[0].partition(". ")[0].rstrip("."))
    text += _section("Synopsis") + _synopsis(context) + _section("Description") + _paragraphs(description)
    text += _options(context)
    if isinstance(context.command, click.Group):
        text += _section("Commands")
        for name in context.command.list_commands(context):
            inner = context.command.get_command(context, name)
            if inner is None or inner.hidden:
                continue
            inner_context = click.Context(inner, info_name=name, parent=context)
            inner_description, inner_examples = _help_of(inner)
            text += f'.SS "lnetstat {verb} {name}"\n' + _synopsis(inner_context) + ".PP\n" + _paragraphs(inner_description)
            text += _option_list(inner_context)
            examples += inner_examples
    return text + _verbatim("Examples", examples)


def _configuration(text_of_sample: str) -> str:
    """Return lnetstat.toml(5) out of the sample file."""
    text = _named(TOML, "configuration of lnetstat agent") + _section("Description")
    for is_command, lines in _sample.about(text_of_sample):
        text += f".PP\n.RS 4\n{_block(lines)}.RE\n.PP\n" if is_command else _prose(" ".join(lines)) + "\n"
    for block in _sample.blocks(text_of_sample):
        text += (_section(block.section) if block.section else "") + (f'.SS "[{block.table}]"\n' if block.table else "")
        text += "".join(f".{'TQ' if place else 'TP'}\n\\fB{_escaped(key)}\\fR\n" for place, key in enumerate(block.keys))
        text += _prose(block.note) + "\n" if block.note else ""
    return text


def _closing(verb: str, named: set[str], options: Sequence[str]) -> str:
    """Return the sections that click knows nothing about."""
    text = ""
    if verb in words.SIGNALS:
        text += _pairs("Signals", words.SIGNALS[verb])
    if verb not in (TOML, "service"):
        text += _pairs("Exit status", words.exit_status(verb, options))
    text += _pairs("Files", words.FILES.get(verb, ()))
    text += _pairs("Environment", words.ENVIRONMENT.get(verb, ()))
    others = [page for page in words.SEE_ALSO.get(verb, ("lnetstat",)) if page in named]
    sections = {TOML: 5, "lnetstat-agent.service": 8}
    return text + _section("See also") + ",\n".join(f"\\fB{_escaped(page)}\\fR({sections.get(page, 1)})" for page in others) + "\n"


# ---- what click knows ----


def _help_of(command: click.Command) -> tuple[list[str], list[str]]:
    """Return the paragraphs of a command's help (those that stand as they are begin with \\b), and the lines of its examples."""
    description, examples = [], []
    for paragraph in inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b" and any(re.match(r"\s*(sudo )?lnetstat ", line) for line in lines):
            examples += inspect.cleandoc("\n".join(line for line in lines[1:] if line.strip() != "Examples:")).splitlines()
        elif lines:
            description.append(paragraph)
    return description or [command.get_short_help_str(200)], examples


def _synopsis(context: click.Context) -> str:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f"\\fB{_escaped(context.command_path)}\\fR {_escaped(pieces)}\n"


def _options(context: click.Context) -> str:
    return _section("Options") + _option_list(context)


def _option_list(context: click.Context) -> str:
    text = ""
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            said, meaning = record
            marked = re.sub(r"(?<![\w-])-{1,2}[A-Za-z][\w-]*", lambda found: f"\0{found[0]}\1", said)
            text += f".TP\n{_escaped(marked)}\n{_prose(meaning)}\n".replace("\0", r"\fB").replace("\1", r"\fR")
    return text


# ---- troff ----


def _head(name: str, section: int, day: str) -> str:
    return f'.TH "{_escaped(name.upper())}" {section} "{day}" "lnetstat {__version__}" "lnetstat"\n.nh\n.ad l\n'


def _section(title: str) -> str:
    return f'.SH "{_escaped(title.upper())}"\n'


def _named(name: str, meaning: str) -> str:
    plain = " ".join(meaning.split())
    return _section("Name") + f"{_escaped(name)} \\- {_escaped(plain)}\n"


def _paragraphs(paragraphs: Sequence[str]) -> str:
    return ".PP\n".join(
        _block(paragraph.splitlines()[1:]) if paragraph.startswith("\b") else _prose(paragraph) + "\n" for paragraph in paragraphs
    )


def _verbatim(title: str, lines: Sequence[str]) -> str:
    return _section(title) + _block(lines) if lines else ""


def _block(lines: Sequence[str]) -> str:
    return ".nf\n" + "".join(f"{_escaped(line)}\n" for line in lines) + ".fi\n"


def _pairs(title: str, pairs: Sequence[tuple[str, str]]) -> str:
    return (_section(title) if pairs else "") + "".join(f".TP\n\\fB{_escaped(name)}\\fR\n{_prose(meaning)}\n" for name, meaning in pairs)


def _prose(text: str) -> str:
    """Return running text; what stands between backticks is bold."""
    parts = " ".join(text.split()).split("`")
    return "".join(f"\\fB{_escaped(part)}\\fR" if place % 2 else _escaped(part, begins=not place) for place, part in enumerate(parts))


def _escaped(text: str, begins: bool = True) -> str:
    """Return text that troff prints as it is; at the beginning of a line it is no request."""
    printed = "".join(_ESCAPES.get(letter) or (letter if letter.isascii() else f"\\[u{ord(letter):04X}]") for letter in text)
    return "\\&" + printed if begins and printed.startswith(".") else printed


# ---- the command ----


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--sample", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="The sample configuration (default: the clone's)."
)
@click.option("--date", "day", default="", metavar="YYYY-MM-DD", help="Day in the foot of the pages (default: today).")
def write(folder: Path, sample: Path | None, day: str) -> None:
    """Write the man pages below DIR: man1/lnetstat.1, ..."""
    sample = sample or (_sample.SAMPLE if _sample.SAMPLE.exists() else None)
    text = sample.read_text(encoding="utf-8") if sample else None
    for page in pages(text, day or time.strftime("%Y-%m-%d", time.gmtime())):
        into = folder / f"man{page.section}"
        into.mkdir(parents=True, exist_ok=True)
        (into / f"{page.name}.{page.section}").write_text(page.text, encoding="ascii")


if __name__ == "__main__":
    write()
