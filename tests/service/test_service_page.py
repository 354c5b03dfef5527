"""The page about the service, and its examples."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from collegium.service.server import PATHS
from test_pages import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


def test_the_page_names_every_route():
    named = PAGE.replace("/v1/as-of/412", "/v1/as-of/{when}").replace("plant`", "{model}`")
    named = named.replace("plant/infer", "{model}/infer")
    missing = [path for path, _, _ in PATHS if path not in named]
    assert set(missing) <= {"/v2/models/{model}/ready"}


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("service.md")
    assert (tmp_path / "plant.clgdb").exists()


def test_the_client_has_twenty_lines(service):
    path = ROOT / "examples" / "client.py"
    assert len(path.read_text().splitlines()) <= 22
    url = f"http://127.0.0.1:{service.port}"
    said = subprocess.run([sys.executable, path, url], capture_output=True, text=True, check=True)
    assert "learnt as event" in said.stdout and "90% within" in said.stdout


@pytest.mark.slow
def test_deliveries_at_least_once_are_learnt_once(capsys):
    pytest.importorskip("httpx")
    runpy.run_path(str(ROOT / "examples" / "exactly_once.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "deliveries of 40 messages" in said and "the same state: True" in said


def test_a_container_writes_nothing_but_its_data():
    compose, image = (ROOT / name for name in ("compose.yaml", "Containerfile"))
    assert "read_only: true" in compose.read_text() and "cap_drop: [ALL]" in compose.read_text()
    assert "USER 10001" in image.read_text() and "doctor --compile" in image.read_text()
