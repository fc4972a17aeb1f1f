"""The field in which the view asks for a line: keys go into it from the moment that it is asked for until Enter or Escape ends it."""

from typing import TYPE_CHECKING

from textual.app import App
from textual.events import Event, Key, Paste

if TYPE_CHECKING:
    from textual.widgets import Input


class Asking(App[None], inherit_css=False):
    """An app with such a field, which is there only while it is asked for: most who look never want it."""

    field: "Input | None" = None

    @property
    def is_in_field(self) -> bool:
        """Whether keys are text."""
        return self.field is not None and self.focused is self.field

    async def ask(self, what: str, text: str, placeholder: str) -> None:
        """Open the field, or go back into it. `what`: its id; `text`: what stands in it."""
        if self.field is None:
            from textual.widgets import Input  # imported late, as the field is made: see lean

            self.field = Input(text, id=what, placeholder=placeholder, compact=True, select_on_focus=False)
            await self.mount(self.field, before="#foot")
        self.screen.set_focus(self.field)  # not focus(), which comes after keys that are here already

    async def close_field(self) -> None:
        """Take the field away; keys are the view's again."""
        self.set_focus(None)
        if field := self.field:
            self.field = None
            await field.remove()

    async def on_event(self, event: Event) -> None:
        """Do what is typed into the field here and now: textual hands keys from queue to queue, in which Enter overtakes Backspace."""
        if not isinstance(event, Key | Paste) or event.is_forwarded or not self.is_in_field:
            await super().on_event(event)
        elif isinstance(event, Paste):
            self._type("".join(event.text.splitlines()[:1]))
        elif event.is_printable and event.character:
            self._type(event.character)
        elif bound := self.active_bindings.get(event.key):
            await self.run_action(bound.binding.action, bound.node)

    def _type(self, text: str) -> None:
        if self.field:
            self.field.replace("".join(filter(str.isprintable, text)), *self.field.selection)
