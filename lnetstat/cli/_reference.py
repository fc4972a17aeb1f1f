"""The generated pages of docs/: `python -m lnetstat.cli._reference DIR` writes DIR/cli.md, DIR/config.md and DIR/schemas/*.json.

What click knows is taken from it, what it does not know from _man_words, as for the man pages.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from lnetstat.cli import _man_words as words
from lnetstat.cli import _sample, lnetstat
from lnetstat.cli._schemas import all_schemas

CLI_HEAD = """# The command line

Made by `make docs` from the commands themselves; do not edit. For everybody who types them: each verb with its options.
`lnetstat VERB --help` says the same, as do the man pages (`man lnetstat-VERB` where a package is installed).

Data goes to stdout, words about it to stderr. Colour is left out where the output is no terminal or `NO_COLOR` is set. Times are ISO 8601
with a zone (where a verb has `--tz`, also local times of that zone), epoch seconds, or `-10m` before the end; what is printed is UTC.
Durations are `50ms`, `10s`, `5min`, `2h`, `7d`; sizes `500000`, `200M`, `2GiB`; many nodes `rtr[1-8],oss1`. What `--json` prints is
described in [json.md](json.md).

Exit status, unless the verb says otherwise: 0 done, also with findings or "cannot tell"; 1 findings at or above `--fail-on`; 2 wrong usage;
3 some input could not be read or output not written, what could be done was done; 4 a bug of lnetstat; 130 Ctrl-C; 143 SIGTERM.
"""
CONFIG_HEAD = """# The agent's configuration

Made by `make docs` from [collectors/lnetstat.toml](../collectors/lnetstat.toml); do not edit. For administrators: every key of
lnetstat.toml. A key is shown with its default, or with an example where there is none. How the agent behaves: [agent.md](agent.md).
"""
# Verbs whose exit status is not the common one.
_OWN_STATUS = ("agent", "check", "doctor")


def pages() -> dict[str, str]:
    """Return the text of each page by its name below docs/."""
    schemas = {f"schemas/{verb}.json": json.dumps(schema, indent=2) + "\n" for verb, schema in all_schemas().items()}
    return {"cli.md": cli_page(), "config.md": config_page(_sample.SAMPLE.read_text(encoding="utf-8")), **schemas}


# ---- the command line ----


def cli_page() -> str:
    """Return the page of all verbs."""
    root = click.Context(lnetstat, info_name="lnetstat", **lnetstat.context_settings)
    verbs = {verb: lnetstat.get_command(root, verb) for verb in lnetstat.list_commands(root)}
    listed = "".join(f"| [{verb}](#{verb}) | {lnetstat.short_help_of(verb)} |\n" for verb in verbs)
    text = f"{CLI_HEAD}\n| verb | what it does |\n|---|---|\n{listed}"
    for verb, command in verbs.items():
        if command is not None:
            text += f"\n## {verb}\n\n" + _command(click.Context(command, info_name=verb, parent=root))
            text += _pairs("Exit status", words.exit_status(verb, ())) if verb in _OWN_STATUS else ""
            text += _pairs("Signals", words.SIGNALS.get(verb, ())) + _pairs("Environment", words.ENVIRONMENT.get(verb, ()))
    return text


def _command(context: click.Context) -> str:
    """Return a command's usage, help and options, and those of the commands in it."""
    pieces = " ".join(context.command.collect_usage_pieces(context))
    text = f"    {context.command_path} {pieces}\n\n" + "\n\n".join(_help(context.command)) + "\n"
    rows = list(_options(context))
    if rows:
        text += "\n| option | meaning |\n|---|---|\n" + "".join(f"| `{_cell(said)}` | {_cell(meaning)} |\n" for said, meaning in rows)
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            inner = context.command.get_command(context, name)
            if inner is not None and not inner.hidden:
                inside = click.Context(inner, info_name=name, parent=context)
                text += f"\n### {context.info_name} {name}\n\n" + _command(inside)
    return text


def _help(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a command's help; what click leaves as it is (behind \\b) becomes a block."""
    for paragraph in inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if not lines:
            continue
        if lines[0].strip() != "\b":
            yield _prose(" ".join(line.strip() for line in lines))
            continue
        title = lines[1].strip() if lines[1].endswith(":") else ""
        block = inspect.cleandoc("\n".join(lines[2:] if title else lines[1:])).splitlines()
        yield (f"{title}\n\n" if title else "") + "\n".join(f"    {line}".rstrip() for line in block)


def _options(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            yield record[0], _prose(record[1])


def _pairs(title: str, pairs: Sequence[tuple[str, str]]) -> str:
    if not pairs:
        return ""
    return f"\n{title}:\n\n" + "".join(f"- {_prose(name)}: {_prose(meaning)}\n" for name, meaning in pairs)


def _prose(text: str) -> str:
    """Return running text in which Markdown takes nothing for its own but what stands between backticks."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if place % 2 else re.sub(r"([\\*<\[\]~])", r"\\\1", part) for place, part in enumerate(parts))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


# ---- the configuration ----


def config_page(sample: str) -> str:
    """Return the page of all keys."""
    text = CONFIG_HEAD
    for is_command, lines in _sample.about(sample):
        text += "\n" + ("\n".join(f"    {line}" for line in lines) if is_command else _prose(" ".join(lines))) + "\n"
    for block in _sample.blocks(sample):
        text += (f"\n## {block.section.capitalize()}\n" if block.section else "") + (f"\n## \\[{block.table}\\]\n" if block.table else "")
        text += "\n" + "\n".join(f"    {key}" for key in block.keys) + "\n" if block.keys else ""
        text += f"\n{_prose(block.note)}\n" if block.note else ""
    return text


def main() -> None:
    for name, text in pages().items():
        file = Path(sys.argv[1]) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
