"""What the shell offers after TAB, without importing what the verbs need."""

import click
from click.shell_completion import CompletionItem


class CompletesVerbs(click.Group):
    """Offers verbs by the names of their files; click would import each of them to ask whether it is hidden."""

    def short_help_of(self, verb: str) -> str:
        """Return one line about a verb, without importing it."""
        raise NotImplementedError

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        verbs = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=self.short_help_of(name)) for name in verbs]
