"""`lnetstat dashboards install` against a stand-in for Grafana: a real one cannot be installed here.

The stand-in was written after Grafana's published HTTP API (version 11: Dashboard, Folder, Data source and Health API): the same paths,
fields and statuses, a service account's token, and the two reasons of 412.
"""

import http.server
import json
import threading

import pytest
from click.testing import CliRunner

from lnetstat.cli import lnetstat, run
from lnetstat.dashboards import DASHBOARDS

TOKEN = "glsa_verysecret_1234"
SLUGS = [dashboard.slug for dashboard in DASHBOARDS]
GRAPHITE = {"id": 1, "uid": "gr1", "name": "Graphite", "type": "graphite", "isDefault": False}
OTHER = {"id": 2, "uid": "gr2", "name": "Graphite of the lab", "type": "graphite", "isDefault": False}
PROMETHEUS = {"id": 3, "uid": "pr1", "name": "Prometheus", "type": "prometheus", "isDefault": True}


class Grafana(http.server.ThreadingHTTPServer):
    """Keeps dashboards by uid and folders by uid; `refused`: path -> (status, message) to answer instead."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.sources = [PROMETHEUS, GRAPHITE]
        self.folders = {}
        self.dashboards = {}
        self.refused = {}
        self.asked = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body):
        path = self.path.partition("?")[0]
        self.server.asked.append((self.command, path))
        status, found = self.reply(path, body)
        text = json.dumps(found).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", found)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def reply(self, path, body):
        server = self.server
        if path in server.refused:
            status, message = server.refused[path]
            return status, message if status in (200, 302) else {"message": message}
        if path == "/api/health":
            return 200, {"commit": "abc", "database": "ok", "version": "11.6.0"}
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return 401, {"message": f"Invalid API key {self.headers['Authorization']}"}
        if path == "/api/datasources":
            return 200, server.sources
        if path == "/api/folders" and body is None:
            return 200, [{"uid": uid, "title": title} for uid, title in server.folders.items()]
        if path == "/api/folders":
            uid = f"folder{len(server.folders) + 1}"
            server.folders[uid] = body["title"]
            return 200, {"uid": uid, "title": body["title"]}
        if path.startswith("/api/dashboards/uid/"):
            kept = server.dashboards.get(path.rpartition("/")[2])
            return (200, kept) if kept else (404, {"message": "Dashboard not found"})
        assert path == "/api/dashboards/db"
        return self.save(body)

    def save(self, body):
        new, kept = body["dashboard"], self.server.dashboards.get(body["dashboard"]["uid"])
        if kept and not body["overwrite"] and new.get("version") != kept["dashboard"]["version"]:
            return 412, {"message": "The dashboard has been changed by someone else", "status": "version-mismatch"}
        for uid, other in self.server.dashboards.items():
            same = (other["dashboard"]["title"], other["meta"]["folderUid"]) == (new["title"], body["folderUid"])
            if same and uid != new["uid"] and not body["overwrite"]:
                return 412, {"message": "A dashboard with the same name in the folder already exists", "status": "name-exists"}
        version = kept["dashboard"]["version"] + 1 if kept else 1
        url = f"/d/{new['uid']}/x"
        dashboard = new | {"id": 7, "version": version}
        self.server.dashboards[new["uid"]] = {"dashboard": dashboard, "meta": {"folderUid": body["folderUid"], "url": url}}
        return 200, {"id": 7, "uid": new["uid"], "url": url, "status": "success", "version": version}

    def log_message(self, *_):
        pass


@pytest.fixture
def grafana():
    server = Grafana()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("GRAFANA_TOKEN", TOKEN)


def install(grafana, capsys, *words):
    """Return exit status, stdout and stderr."""
    status = run(["dashboards", "install", "--grafana", grafana.url, *words])
    out, err = capsys.readouterr()
    assert TOKEN not in out + err
    return status, out, err


def test_new_ones_go_into_a_folder_of_their_own(grafana, capsys):
    status, out, err = install(grafana, capsys)
    assert (status, err) == (0, "lnetstat: Grafana 11.6.0, data source Graphite\n")
    assert [line.split() for line in out.splitlines()] == [[slug, "new", f"{grafana.url}/d/{slug}/x"] for slug in SLUGS]
    assert grafana.folders == {"folder1": "lnetstat"}
    assert list(grafana.dashboards) == SLUGS
    for kept in grafana.dashboards.values():
        assert kept["meta"]["folderUid"] == "folder1"
        assert kept["dashboard"]["templating"]["list"][0]["current"] == {"text": "Graphite", "value": "gr1"}


def test_again_changes_nothing_and_an_old_one_is_updated_where_it_is(grafana, capsys):
    install(grafana, capsys)
    grafana.dashboards[SLUGS[0]]["dashboard"]["title"] = "as it was"
    grafana.dashboards[SLUGS[0]]["meta"]["folderUid"] = "moved"
    status, out, _ = install(grafana, capsys)
    assert status == 0
    assert [line.split()[1] for line in out.splitlines()] == ["updated"] + ["unchanged"] * (len(SLUGS) - 1)
    assert grafana.dashboards[SLUGS[0]]["dashboard"]["title"] == DASHBOARDS[0].title
    assert grafana.dashboards[SLUGS[0]]["meta"]["folderUid"] == "moved"
    assert {kept["dashboard"]["version"] for kept in grafana.dashboards.values()} == {1, 2}


def test_a_folder_that_is_named_is_used_for_all(grafana, capsys):
    grafana.folders["f9"] = "Storage"
    install(grafana, capsys)
    status, out, _ = install(grafana, capsys, "--folder", "Storage")
    assert status == 0
    assert [line.split()[1] for line in out.splitlines()] == ["updated"] * len(SLUGS)
    assert {kept["meta"]["folderUid"] for kept in grafana.dashboards.values()} == {"f9"}
    assert list(grafana.folders.values()) == ["Storage", "lnetstat"]


def test_what_is_not_ours_is_left_alone_and_the_others_are_saved(grafana, capsys):
    foreign = {"dashboard": {"uid": SLUGS[1], "title": "Mine", "tags": [], "version": 3}, "meta": {"folderUid": "", "url": "/d/m"}}
    grafana.dashboards[SLUGS[1]] = foreign
    grafana.folders["f1"] = "lnetstat"
    same_title = {"dashboard": {"uid": "u", "title": DASHBOARDS[2].title, "tags": [], "version": 1}, "meta": {"folderUid": "f1", "url": ""}}
    grafana.dashboards["u"] = same_title
    status, out, err = install(grafana, capsys)
    assert status == 3
    assert [line.split()[1] for line in out.splitlines()] == ["new", "failed", "failed"] + ["new"] * (len(SLUGS) - 3)
    assert f"{SLUGS[1]}: there is a dashboard with this uid that is not ours" in err
    assert "answer 412: A dashboard with the same name" in err
    assert "rename that one" in err
    assert grafana.dashboards[SLUGS[1]] is foreign
    assert grafana.dashboards["u"] is same_title


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        ({"/api/health": (404, "Not found")}, "this is no Grafana"),
        ({"/api/health": (200, {"status": "ok"})}, "this is no Grafana"),
        ({"/api/health": (200, [1])}, "this is no Grafana"),
        ({"/api/health": (302, "http://elsewhere/")}, "redirects to http://elsewhere/"),
        ({"/api/datasources": (200, {"message": "odd"})}, "no list in the answer"),
        ({"/api/datasources": (500, "broken\x1b[2J")}, "answer 500: broken\\x1b[2J"),
        ({"/api/folders": (403, "no")}, "needs the role Editor"),
        ({"/api/dashboards/db": (401, "expired")}, "does not accept the token"),
        ({f"/api/dashboards/uid/{SLUGS[3]}": (403, "no")}, "needs the role Editor"),
    ],
)
def test_what_is_no_grafana_or_refuses_is_said_in_one_line(grafana, capsys, refused, words):
    grafana.refused = refused
    status, out, err = install(grafana, capsys)
    assert (status, out) == (3, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert grafana.dashboards == {}


def test_a_token_that_is_not_accepted_is_not_shown_even_where_grafana_shows_it(grafana, capsys, monkeypatch):
    monkeypatch.setenv("GRAFANA_TOKEN", TOKEN + "5")
    status, _, err = install(grafana, capsys)
    assert status == 3
    assert "does not accept the token" in err
    assert "(token)" in err


def test_without_a_token_it_is_asked_for(grafana, capsys, monkeypatch):
    monkeypatch.delenv("GRAFANA_TOKEN")
    status, _, err = install(grafana, capsys)
    assert status == 3
    assert "wants a token: --token-file, or GRAFANA_TOKEN" in err


def test_the_token_may_come_from_a_file(grafana, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAFANA_TOKEN", "wrong")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert install(grafana, capsys, "--token-file", str(tmp_path / "token"))[0] == 0
    (tmp_path / "token").write_text("\n")
    status, _, err = install(grafana, capsys, "--token-file", str(tmp_path / "token"))
    assert status == 2
    assert "is empty" in err
    (tmp_path / "token").write_bytes(b"two words\xff")
    status, _, err = install(grafana, capsys, "--token-file", str(tmp_path / "token"))
    assert status == 3
    assert "the token is none" in err
    assert "two" not in err


def test_the_data_source_is_chosen_by_name_or_because_there_is_no_doubt(grafana, capsys):
    grafana.sources = [PROMETHEUS]
    status, _, err = install(grafana, capsys)
    assert status == 3
    assert "has no Graphite data source: add one" in err
    grafana.sources = [GRAPHITE, OTHER, PROMETHEUS]
    status, _, err = install(grafana, capsys)
    assert status == 3
    assert "choose one with --datasource; there are: Graphite, Graphite of the lab" in err
    status, _, err = install(grafana, capsys, "--datasource", "Prometheus")
    assert status == 3
    assert "no Graphite data source called Prometheus; there are: Graphite, Graphite of the lab" in err
    assert grafana.dashboards == {}
    assert install(grafana, capsys, "--datasource", "Graphite of the lab")[0] == 0
    grafana.sources = [GRAPHITE, OTHER | {"isDefault": True}]
    status, _, err = install(grafana, capsys)
    assert "data source Graphite of the lab" in err


def test_an_account_that_may_not_list_data_sources_is_told_and_served(grafana, capsys):
    grafana.refused = {"/api/datasources": (403, "denied")}
    status, out, err = install(grafana, capsys)
    assert status == 0
    assert out.count(" new ") == len(SLUGS)
    assert "may not list data sources" in err
    assert install(grafana, capsys, "--datasource", "Graphite")[0] == 3


def test_a_grafana_that_is_gone(grafana, capsys):
    grafana.url = "http://127.0.0.1:9"
    status, _, err = install(grafana, capsys)
    assert status == 3
    assert "http://127.0.0.1:9: cannot be reached: " in err


@pytest.mark.parametrize(
    "url", ["grafana:3000", "ftp://g/", "file:///etc/passwd", "http://", "http://g:99999/", "http://g/?a=b", "http://g x/"]
)
def test_an_address_that_is_none_is_refused(url, capsys):
    assert run(["dashboards", "install", "--grafana", url]) == 3
    assert "expected the address of a Grafana" in capsys.readouterr().err


def test_a_password_in_the_address_is_refused_and_not_shown(capsys):
    assert run(["dashboards", "install", "--grafana", "http://admin:hunter2@g:3000"]) == 3
    err = capsys.readouterr().err
    assert "use a service account's token" in err
    assert "hunter2" not in err


def test_an_unencrypted_way_is_told(capsys, monkeypatch):
    from lnetstat.dashboards.install import Grafana as Ours

    assert Ours("http://grafana.example.org", "t").is_readable_on_the_way
    assert not Ours("https://grafana.example.org", "t").is_readable_on_the_way
    assert not Ours("http://127.0.0.1:3000", "t").is_readable_on_the_way
    assert not Ours("http://grafana.example.org").is_readable_on_the_way


def test_a_path_below_the_address_is_kept():
    from lnetstat.dashboards.install import Grafana as Ours

    assert Ours("https://example.org/grafana/").url == "https://example.org/grafana"


@pytest.mark.parametrize("verb", [[], ["list"], ["build"], ["install"]])
def test_help_has_examples(verb):
    done = CliRunner().invoke(lnetstat, ["dashboards", *verb, "--help"])
    assert done.exit_code == 0
    assert "Examples:\n    lnetstat dashboards" in done.output
