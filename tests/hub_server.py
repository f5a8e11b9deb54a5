"""A small Hugging Face Hub on localhost, so that downloads can be tested without the network."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves the folders in ``repositories`` by their ids; ``gated`` ones refuse, others are not found."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Path] = {}
        self.gated: set[str] = set()
        self.requests: list[str] = []
        self.go_on = threading.Event()
        """Files named in ``held`` stop in their middle until it is set."""
        self.held: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running_hub() -> Iterator[Hub]:
    """A hub that answers inside the block."""
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the end of every answer waits for the client's word that it has the beginning

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = self.path.partition("?")[0].strip("/")
        self.server.requests.append(path)
        parts = re.sub(r"^(api/models|api/datasets|datasets)/", "", path).split("/")
        repo_id, rest = "/".join(parts[:2]), parts[2:]
        folder = self.server.repositories.get(repo_id)
        if path == "api/models":
            self._list(parse_qs(urlsplit(self.path).query))
        elif repo_id in self.server.gated:
            self._send(403, {"error": "gated"}, {"X-Error-Code": "GatedRepo"})
        elif folder is None:
            self._send(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})
        elif not path.startswith("api/"):
            self._file(folder / "/".join(rest[2:]))
        elif rest[:1] == ["tree"]:
            self._send(200, [self._entry(file) | {"type": "file", "path": file.name} for file in _files(folder)])
        else:
            siblings = [self._entry(file) | {"rfilename": file.name} for file in _files(folder)]
            self._send(200, {"id": repo_id, "modelId": repo_id, "sha": COMMIT, "siblings": siblings})

    def _list(self, query: dict[str, list[str]]) -> None:
        """Answer a search as the Hub does: by words in the id, with what was asked for besides."""
        is_gguf = {"gguf": True, "transformers,safetensors": False}[",".join(query["filter"])]
        found = []
        for name, folder in self.server.repositories.items():
            files = [{"rfilename": file.name} for file in _files(folder)]
            packed = any(file["rfilename"].endswith(".gguf") for file in files)
            if packed == is_gguf and query["search"][0].lower() in name.lower():
                weights = {"parameters": {"BF16": 1_500}, "total": 1_500}
                about = {"downloads": 12_345, "gated": False, "safetensors": weights, "siblings": files}
                found.append({"id": name} | {key: about[key] for key in query["expand"]})
        self._send(200, found)

    def _entry(self, file: Path) -> dict[str, Any]:
        return {"size": file.stat().st_size, "oid": _etag(file), "blobId": _etag(file)}

    def _file(self, file: Path) -> None:
        if file.is_file():
            self._send(200, file.read_bytes(), {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": COMMIT})
        else:
            self._send(404, {"error": "not found"}, {"X-Error-Code": "EntryNotFound"})

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "GET":
            return
        name, half = self.path.rpartition("/")[2], len(body) // 2
        self.wfile.write(body[:half])
        if name in self.server.held:
            self.wfile.flush()
            self.server.go_on.wait(20)
        self.wfile.write(body[half:])


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()
