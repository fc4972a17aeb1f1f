import pytest

from lnetstat.report.markdown import text

markdown_it = pytest.importorskip("markdown_it", reason="a Markdown parser proves that names stay text: pip install markdown-it-py")


def tokens(markdown: str) -> list:
    found = []
    for block in markdown_it.MarkdownIt("commonmark").enable("table").parse(markdown):
        found += [block, *(block.children or [])]
    return found


def test_it_says_what_the_page_says(analysis_of):
    analysis = analysis_of()
    mail = text(analysis, title="Router 7")
    assert mail.startswith("# Router 7\n")
    places = [mail.index(words) for words in (analysis.verdict, *(each.message for each in analysis.findings))]
    assert places == sorted(places)
    for words in ("2026-08-14T12:00:05.000Z", "How much: 63 waited, 8 configured", "Look at: raise peer_credits", "| sustained |"):
        assert words in mail


def test_lines_outside_of_tables_fit_a_mail(analysis_of):
    assert max(len(line) for line in text(analysis_of(), title="x").splitlines() if not line.startswith("|")) <= 78


def test_the_columns_of_a_table_stand_in_line(analysis_of):
    table = [line for line in text(analysis_of(), title="x").splitlines() if line.startswith("|")]
    bars = [[place for place, char in enumerate(line) if char == "|"] for line in table[:3]]
    assert bars[0] == bars[1] == bars[2]


@pytest.mark.parametrize(
    "nasty",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](http://evil)",
        "`a` *b* **c**",
        "a|b|c",
        "x\n# y",
        "# y",
        "- y",
        "1. y",
        "> y",
        "~~~",
        "&lt;b&gt;",
        "\\<b>",
        "[x]: http://evil",
        "\x1b[2J\udcff",
        "---",
        "<https://evil.example>",
    ],
)
def test_hostile_names_stay_text(analysis_of, nasty):
    def shape(markdown: str) -> list[str]:
        return [token.type for token in tokens(markdown) if token.type not in ("softbreak", "text", "text_special")]

    mail = text(analysis_of(host=nasty, nid=nasty, title=nasty), title=nasty)
    assert shape(mail) == shape(text(analysis_of(host="rtr", nid="nid", title="title"), title="title"))
    assert "\x1b" not in mail
    mail.encode("utf-8")


def test_an_empty_recording_is_said_in_words(nothing):
    mail = text(nothing, title="x")
    for words in ("No findings", "No credits in this recording", "No throughput signal", "No samples in this recording"):
        assert words in mail
