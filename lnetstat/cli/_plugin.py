"""Verbs that Nagios and Icinga run: whatever goes wrong is UNKNOWN on stdout, which is all that a monitoring system shows, and status 3."""

from typing import Any

import click

from lnetstat.errors import LnetstatError, bug_line
from lnetstat.words import printable

UNKNOWN = 3


class Plugin(click.Command):
    """A command whose wrong options and failures have status 3; 2 would be read as CRITICAL. `title` begins the line that says so."""

    title = ""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **more)
        except click.UsageError as error:
            raise self._wrong(error) from None
        except LnetstatError as error:
            raise self._unknown(str(error)) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise self._wrong(error) from None
        except (click.ClickException, click.exceptions.Exit, click.exceptions.Abort, BrokenPipeError):
            raise
        except LnetstatError as error:
            raise self._unknown(str(error)) from None
        except Exception as error:
            raise self._unknown(bug_line(error)) from None

    def _unknown(self, words: str) -> click.exceptions.Exit:
        words = printable(words).replace("|", "¦")  # behind | stands perfdata
        click.echo(f"{self.title}UNKNOWN: {words}")
        return click.exceptions.Exit(UNKNOWN)

    def _wrong(self, error: click.UsageError) -> click.UsageError:
        self._unknown(error.format_message())
        return _WrongOptions(error.format_message(), error.ctx)


class LnetPlugin(Plugin):
    """A plugin whose line begins with LNET."""

    title = "LNET "


class _WrongOptions(click.UsageError):
    exit_code = UNKNOWN
