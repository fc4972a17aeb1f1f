"""`make fuzz` in its short form: damaged texts give rows or one clear error, by name, by words, and through the agent's reducer."""

import importlib.util
from pathlib import Path


def test_damaged_texts_never_end_in_a_traceback(capsys):
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).parents[2] / "bench" / "fuzz.py")
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    assert fuzz.main(2500, 20261120) == 0
    assert "2,500 mutated texts" in capsys.readouterr().out
