"""Print the script that completes lnetstat's verbs and options in bash, zsh or fish."""

import click
from click.shell_completion import get_completion_class

PROGRAM, VARIABLE = "lnetstat", "_LNETSTAT_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes lnetstat's verbs and options in bash, zsh or fish.

    The script asks lnetstat itself at each TAB, so it stays right when lnetstat is upgraded. bash needs 4.4 or later.

    \b
    Examples:
      source <(lnetstat completion bash)                                       this shell
      lnetstat completion bash > /etc/bash_completion.d/lnetstat
      lnetstat completion zsh > /usr/share/zsh/site-functions/_lnetstat
      lnetstat completion fish > /etc/fish/completions/lnetstat.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(ctx.find_root().command, {}, PROGRAM, VARIABLE)
    # not source(): it would run bash to ask for its version, and where the script is made is not where it is used
    click.echo(completer.source_template % completer.source_vars())
