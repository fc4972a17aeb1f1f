"""The command line: it translates, and every verb is one file of this package that holds a click command called `command`.

Verbs are imported when they are asked for, so that `--help` and the node side stay light. Exit status: 0 done, also with findings;
1 findings at or above --fail-on; 2 usage or bad configuration; 3 some input could not be read or output not written; 4 a bug of ours;
130 Ctrl-C; 143 SIGTERM (simulate, sweep).
"""

import importlib
import os
import sys
from typing import Any

import click

from lnetstat import __version__
from lnetstat.cli._completing import CompletesVerbs
from lnetstat.errors import LnetstatError, bug_line
from lnetstat.words import printable


class _Verbs(CompletesVerbs):
    """Finds a verb by its file. The short help of a file is the first line of its docstring, read without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # Not pkgutil: a list of files need not cost what its imports do.
        files = {name for folder in __path__ for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_")}
        return sorted(name.removesuffix(".py") for name in files)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        verbs = self.list_commands(ctx)
        if args[0] not in verbs and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], verbs, n=1)
            ctx.fail(f"there is no verb {printable(args[0])}{f', did you mean {near[0]}?' if near else ': lnetstat --help lists them'}")
        return super().resolve_command(ctx, args)

    def short_help_of(self, verb: str) -> str:
        return _first_line(verb)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, _first_line(name)) for name in self.list_commands(ctx)])


_EXTRAS = {
    "analysis": ("numpy", "pandas", "pyarrow", "plotly", "jinja2", "numba"),
    "tui": ("textual", "rich"),
    "remote": ("ClusterShell",),
    "cluster": ("distributed", "dask"),
    "stack": ("waitress", "carbon", "graphite", "whisper", "django"),
}


def _extra_of(module: str) -> str | None:
    return next((extra for extra, modules in _EXTRAS.items() if module.split(".")[0] in modules), None)


def _first_line(verb: str) -> str:
    with open(os.path.join(__path__[0], f"{verb}.py"), encoding="utf-8") as file:
        return file.readline().strip().strip('"').rstrip(".")


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lnetstat")
def lnetstat() -> None:
    """See LNet's credits, find periodic dead time in Lustre traffic, name the tunable behind it.

    \b
    Examples:
      lnetstat dump /sys/kernel/debug/lnet/peers      what the file says, as a table
      lnetstat record -o rec -i 0.1                   record this node ten times a second
      lnetstat analyze rec                            what is wrong, since when, why
      lnetstat report rec -o report.html              the same as a page to mail
      lnetstat stack up                               Carbon and graphite-web on this machine
      lnetstat agent --carbon graphite:2003           ship this node's credits, once a second
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit with its status."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit status. Errors become one line on stderr."""
    try:
        result = lnetstat.main(args=arguments, standalone_mode=False, prog_name="lnetstat")
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LnetstatError as error:
        click.echo(f"lnetstat: {error}", err=True)
        return 3
    except ModuleNotFoundError as error:
        extra = _extra_of(error.name or "")
        line = f"the Python package {error.name} is missing: pip install 'lnetstat[{extra}]'" if extra else bug_line(error)
        click.echo(f"lnetstat: {line}", err=True)
        return 3 if extra else 4
    except (BrokenPipeError, SystemExit):
        # The reader of our output went away (`| head`), which click makes a SystemExit: not an error, but nothing more may be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"lnetstat: {name}{error.strerror or error}", err=True)
        return 3
    except Exception as error:
        click.echo(f"lnetstat: {bug_line(error)}", err=True)
        return 4
    return result if isinstance(result, int) else 0
