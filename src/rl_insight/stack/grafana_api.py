"""Puts the dashboards into a running Grafana through its HTTP API: a folder, then each dashboard in it."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from typing import Any
from urllib.parse import quote, urlsplit

from rl_insight.stack import files

TIMEOUT = 30.0


class GrafanaRefused(RuntimeError):
    """Grafana did not take it: what it said, and what to do, after a semicolon."""


class Grafana:
    """One Grafana; a token of a service account, or user and password."""

    def __init__(self, url: str, *, token: str = "", user: str = "", password: str = "") -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise GrafanaRefused(f"{url!r} is no address of a Grafana; write it as http://host:3000")
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
        self._parts = urlsplit(self.url)
        if token:
            self._authorization = f"Bearer {token}"
        elif user:
            self._authorization = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        else:
            self._authorization = ""

    def put_all(self, folder: str = files.FOLDER_TITLE, uid: str = files.FOLDER_UID) -> list[str]:
        """Make the folder if it is not there, put every dashboard into it, and say where each is."""
        self._make_folder(folder, uid)
        return [self._put(json.loads(body), uid) for body in files.dashboards().values()]

    def _make_folder(self, title: str, uid: str) -> None:
        status, said = self._call("GET", f"/api/folders/{quote(uid)}")
        if status == 404:
            status, said = self._call("POST", "/api/folders", {"uid": uid, "title": title})
            # Somebody else may have made it in the meantime.
            if status in (409, 412):
                return
        self._expect(status, said, f"make the folder {title!r}")

    def _put(self, dashboard: dict[str, Any], folder: str) -> str:
        # An id of another Grafana would point at some other dashboard of this one.
        body = {
            "dashboard": {**dashboard, "id": None},
            "folderUid": folder,
            "overwrite": True,
            "message": f"rl-insight dashboards import, version {dashboard['version']}",
        }
        status, said = self._call("POST", "/api/dashboards/db", body)
        self._expect(status, said, f"take the dashboard {dashboard['title']!r}")
        path = said.get("url") if isinstance(said, dict) else None
        root = f"{self._parts.scheme}://{self._parts.netloc}"
        return f"{root}{path}" if path else f"{self.url}/d/{dashboard['uid']}"

    def _expect(self, status: int, said: Any, what: str) -> None:
        if status == 200:
            return
        words = said.get("message", "") if isinstance(said, dict) else str(said)[:200]
        if status == 401:
            raise GrafanaRefused(
                f"{self.url} does not know who is asking (401 {words}); give --token of a service account with the "
                "role Editor, or --user with GRAFANA_PASSWORD"
            )
        if status == 403:
            raise GrafanaRefused(
                f"{self.url} does not allow it to {what} (403 {words}); the token or user needs the role Editor"
            )
        if status == 400 and "provisioned" in words.lower():
            raise GrafanaRefused(
                f"{self.url} has these dashboards from files ({words}); it has them already: nothing needs importing"
            )
        raise GrafanaRefused(f"{self.url} would not {what}: {status} {words}; is that a Grafana 11 or later?")

    def _call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        host, port = self._parts.hostname or "", self._parts.port
        connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(host, port, timeout=TIMEOUT)
            if self._parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        )
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        try:
            connection.request(
                method, f"{self._parts.path}{path}", None if body is None else json.dumps(body).encode(), headers
            )
            answer = connection.getresponse()
            raw = answer.read(2**20)
        except ssl.SSLError as error:
            raise GrafanaRefused(f"{self.url} has no certificate that is trusted here: {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            raise GrafanaRefused(
                f"no answer from {self.url}: {error}; is Grafana started, is the address right?"
            ) from None
        finally:
            connection.close()
        try:
            return answer.status, json.loads(raw)
        except ValueError:
            return answer.status, raw.decode(errors="replace")
