"""Make graphite-web's database, its static files and our dashboards. Run by the stack's Python, as often as one likes."""

import json
import os
from pathlib import Path

import django
from django.apps import apps
from django.core.management import call_command


def main() -> None:
    folder = Path(os.environ["LNETSTAT_STACK"])
    django.setup()
    if not (folder / "static" / "js").is_dir():
        call_command("collectstatic", interactive=False, verbosity=0)
    call_command("migrate", run_syncdb=True, interactive=False, verbosity=0)
    dashboards = apps.get_model("dashboard", "Dashboard").objects
    for file in sorted((folder / "dashboards").glob("*.json")):
        state = file.read_text()
        dashboards.update_or_create(name=json.loads(state)["name"], defaults={"state": state})


if __name__ == "__main__":
    main()
