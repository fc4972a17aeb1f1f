"""Put the dashboards into a Grafana through its HTTP API, written after the published API of Grafana 11 (docs: Dashboard, Folder and
Data source API). Only dashboards that carry our tag are overwritten, and only in the version that was seen. No redirect is followed:
the token would go along.
"""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.grafana import TAG, dashboard_json
from lnetstat.errors import LnetstatError
from lnetstat.words import printable

TIMEOUT_S = 15.0
ANSWER_BYTES_MAX = 64 << 20
REASON_MAX = 200
NOT_COMPARED = ("id", "version")  # Grafana's own


class GrafanaError(LnetstatError):
    """Grafana cannot be reached, refuses, or is none. `status`: of HTTP; 0 where there was no answer."""

    def __init__(self, words: str, status: int = 0) -> None:
        self.status = status
        super().__init__(words)


class Installed(NamedTuple):
    """What became of one dashboard: `done` is new, updated, unchanged, or failed for this `reason`."""

    slug: str
    done: str
    url: str
    reason: str = ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        raise GrafanaError(f"{req.full_url}: redirects to {printable(newurl)}: give the address that it leads to", code)


class Grafana:
    """A Grafana at `url` (http or https, a path is kept), asked with a service account's `token`; without one where it needs none.

    Raises GrafanaError with one clear line, also from its methods.
    """

    def __init__(self, url: str, token: str = "") -> None:
        try:
            parts = urlsplit(url)
            is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isprintable() and url.isascii()
        except ValueError:
            is_usable = False
        if not is_usable or " " in url or parts.query or parts.fragment:
            raise GrafanaError(f"{printable(url)}: expected the address of a Grafana, such as https://grafana.example.org:3000")
        if parts.username is not None or parts.password is not None:
            raise GrafanaError("a name or password does not belong into the address: use a service account's token")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise GrafanaError("the token is none: expected letters, digits and signs in one line")
        self.url, self._token = url.rstrip("/"), token
        self._opener = urllib.request.build_opener(_NoRedirect)

    @property
    def is_readable_on_the_way(self) -> bool:
        """Tell whether a token would cross a network unencrypted."""
        parts = urlsplit(self.url)
        return bool(self._token) and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost")

    def check(self) -> str:
        """Return Grafana's version. Raises GrafanaError where something else answers."""
        try:
            health = self._ask("/api/health")
        except GrafanaError as error:
            if error.status in (404, 405, 501):
                raise GrafanaError(f"{self.url}: this is no Grafana ({error})", error.status) from None
            raise
        if not isinstance(health, dict) or "database" not in health:
            raise GrafanaError(f"{self.url}: this is no Grafana: /api/health says something else")
        return printable(str(health.get("version", "unknown")))

    def source(self, name: str = "") -> tuple[str, str]:
        """Return name and uid of the Graphite data source: the one called `name`, the only one, or the default one."""
        found = {str(each.get("name")): each for each in self._rows("/api/datasources") if each.get("type") == "graphite"}
        names = ", ".join(printable(each) for each in sorted(found)) or "none"
        if name:
            chosen = found.get(name)
            if chosen is None:
                raise GrafanaError(f"{self.url}: no Graphite data source called {printable(name)}; there are: {names}")
        elif not found:
            raise GrafanaError(
                f"{self.url}: has no Graphite data source: add one (Connections, Add new connection, Graphite) and try again"
            )
        else:
            chosen = next((each for each in found.values() if each.get("isDefault") or len(found) == 1), None)
            if chosen is None:
                raise GrafanaError(f"{self.url}: has several Graphite data sources: choose one with --datasource; there are: {names}")
        return str(chosen.get("name")), str(chosen.get("uid"))

    def folder(self, title: str) -> str:
        """Return the uid of the folder with this title; it is made where there is none."""
        for folder in self._rows("/api/folders?limit=1000"):
            if folder.get("title") == title:
                return str(folder.get("uid"))
        return str(self._saved("/api/folders", {"title": title}).get("uid"))

    def install(self, folder: str = "", default_folder: str = TAG, source: tuple[str, str] | None = None) -> Iterator[Installed]:
        """Save every dashboard, one after the other; what fails with one does not stop the others, unless Grafana is gone.

        New ones go into `folder`, else into `default_folder`; those that are there stay where they are unless `folder` is given.
        """
        before = {dashboard.slug: self._dashboard(dashboard.slug) for dashboard in DASHBOARDS}  # what fails here has changed nothing yet
        uid_of_new = self.folder(folder or default_folder) if folder or None in before.values() else ""
        for dashboard in DASHBOARDS:
            found = before[dashboard.slug]
            uid = _folder_uid(found) if found and not folder else uid_of_new
            try:
                yield self._save(dashboard_json(dashboard, source), found, uid)
            except GrafanaError as error:
                if error.status in (0, 401):
                    raise
                yield Installed(dashboard.slug, "failed", "", str(error))

    def _dashboard(self, uid: str) -> dict[str, Any] | None:
        try:
            found = self._ask(f"/api/dashboards/uid/{quote(uid)}")
        except GrafanaError as error:
            if error.status == 404:
                return None
            raise
        if not isinstance(found, dict) or not isinstance(found.get("dashboard"), dict) or not isinstance(found.get("meta"), dict):
            raise GrafanaError(f"{self.url}: no dashboard in the answer for {uid}")
        return found

    def _save(self, made: dict[str, Any], before: dict[str, Any] | None, folder_uid: str) -> Installed:
        slug = made["uid"]
        if before:
            old = before["dashboard"]
            if TAG not in (old.get("tags") or ()):
                reason = f"{slug}: there is a dashboard with this uid that is not ours (it has no tag {TAG}): it is left alone"
                return Installed(slug, "failed", "", reason)
            if _folder_uid(before) == folder_uid and {key: value for key, value in old.items() if key not in NOT_COMPARED} == made:
                return Installed(slug, "unchanged", urljoin(self.url, str(before["meta"].get("url", ""))))
            made = made | {"id": old.get("id"), "version": old.get("version")}
        body = {"dashboard": made, "folderUid": folder_uid, "overwrite": False, "message": "lnetstat dashboards install"}
        saved = self._saved("/api/dashboards/db", body)
        return Installed(slug, "updated" if before else "new", urljoin(self.url, str(saved.get("url", ""))))

    def _rows(self, path: str) -> list[dict[str, Any]]:
        found = self._ask(path)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise GrafanaError(f"{self.url}: no list in the answer to {path}")
        return found

    def _saved(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        found = self._ask(path, body)
        if not isinstance(found, dict):
            raise GrafanaError(f"{self.url}: no object in the answer to {path}")
        return found

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON of an answer. Raises GrafanaError."""
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {self._token}"} if self._token else {})
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.url + path, data, headers)  # noqa: S310  # http or https, see __init__
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                text = answer.read(ANSWER_BYTES_MAX)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(path, error.code, error.read(ANSWER_BYTES_MAX)) from None
        except urllib.error.URLError as error:
            raise GrafanaError(f"{self.url}: cannot be reached: {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            raise GrafanaError(f"{self.url}: cannot be reached: {error or type(error).__name__}") from error
        try:
            return json.loads(text)
        except ValueError:
            raise GrafanaError(f"{self.url}: this is no Grafana: {path.partition('?')[0]} answers something that is not JSON") from None

    def _refusal(self, path: str, status: int, text: bytes) -> GrafanaError:
        try:
            words = str(json.loads(text)["message"])
        except (ValueError, KeyError, TypeError):
            words = http.client.responses.get(status, "")
        words = printable(words.replace(self._token, "(token)") if self._token else words)[:REASON_MAX]
        advice = {
            401: "Grafana does not accept the token" if self._token else "Grafana wants a token: --token-file, or GRAFANA_TOKEN",
            403: "the token's account may not do that: it needs the role Editor, to list data sources Admin",
            412: "it was changed meanwhile, or another dashboard in the folder has this title: rename that one, or use another --folder",
        }.get(status)
        where = f"{self.url}{path.partition('?')[0]}"
        return GrafanaError(f"{where}: answer {status}: {words}{f': {advice}' if advice else ''}", status)


def _folder_uid(dashboard: dict[str, Any]) -> str:
    return str(dashboard["meta"].get("folderUid") or "")
