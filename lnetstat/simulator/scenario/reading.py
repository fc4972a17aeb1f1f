"""Where a scenario's keys stand: presets, TOML files, the bases they build on, and --set on top."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from lnetstat.errors import SimulatorError
from lnetstat.simulator.scenario.settings import Given, Settings, complaint, flat, from_option, is_no_blocks, merge, near, without_blocks
from lnetstat.words import printable

PRESETS = Path(__file__).parent / "presets"
BASES_MAX = 8
FILE_BYTES_MAX = 1_000_000


def presets() -> tuple[str, ...]:
    """Return the names of the presets that come with lnetstat."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.toml")))


def preset_text(name: str) -> str:
    """Return the TOML text of a preset as it stands in its file; SimulatorError where there is none of that name."""
    if name not in presets():
        raise SimulatorError(f"{printable(name)}: no such preset{near(name, presets())}; there are: {', '.join(presets())}")
    return (PRESETS / f"{name}.toml").read_text(encoding="utf-8")


def read_settings(name_or_path: str, options: Mapping[str, str]) -> tuple[str, Settings]:
    """Return a scenario's name and its checked keys: bases below, the file over them, `options` (--set) on top."""
    path: Path | None = _path_of(name_or_path)
    chain: list[Path] = []
    layers: list[dict[str, Given]] = []
    while path is not None:
        if path in chain or len(chain) > BASES_MAX:
            reason = "a file cannot be its own base" if path in chain else f"expected at most {BASES_MAX} bases below one another"
            raise complaint(_label(chain[-1]), "base", layers[-1]["base"].value, reason)
        chain.append(path)
        layers.append(flat(_toml(path), _label(path)))
        path = _base_path(path, layers[-1])
    given: dict[str, Given] = {}
    for layer in reversed(layers):
        given = merge(given, layer)
    for name, text in options.items():
        if name == "base":
            raise complaint("--set", name, text, "the base is chosen in a file")
        option = from_option(name, text)
        given = without_blocks(given, (f"{name}.",)) if is_no_blocks(name, option) else given | {name: option}
    return chain[0].stem, Settings(given, _label(chain[0]))


def _path_of(name_or_path: str) -> Path:
    if name_or_path in presets():
        return PRESETS / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.name != name_or_path or path.is_file():
        return path
    words = f"no such preset or file{near(name_or_path, presets())}; presets: {', '.join(presets())}"
    raise SimulatorError(f"{printable(name_or_path) or '(empty)'}: {words}")


def _base_path(path: Path, layer: Mapping[str, Given]) -> Path | None:
    """Return the file that a file builds on: a preset, or a file beside it."""
    if "base" not in layer:
        return None
    base = layer["base"].value
    if not isinstance(base, str) or not base or "\0" in base:
        raise complaint(_label(path), "base", base, "expected the name of a preset or of a file beside this one")
    if base in presets():
        return PRESETS / f"{base}.toml"
    beside = path.parent / base
    if not beside.is_file():
        raise complaint(_label(path), "base", base, f"no such preset, and no such file beside this one{near(base, presets())}")
    return beside


def _label(path: Path) -> str:
    return f"preset {path.stem}" if path.parent == PRESETS else printable(str(path))


def _toml(path: Path) -> dict[str, object]:
    """Read one TOML file; SimulatorError where it cannot be read or is none."""
    label = _label(path)
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        reason = error.strerror if isinstance(error, OSError) else "no valid file name"
        raise SimulatorError(f"{label}: cannot be read: {reason}; presets: {', '.join(presets())}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise SimulatorError(f"{label}: more than {FILE_BYTES_MAX} bytes: not a scenario")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SimulatorError(f"{label}: not UTF-8 text (byte {error.start}): expected a TOML file") from None
    except ValueError as error:
        raise SimulatorError(f"{label}: not TOML: {printable(str(error))}") from None
    except RecursionError:
        raise SimulatorError(f"{label}: not TOML that can be read: nested too deep") from None
