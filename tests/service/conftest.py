"""One service for all tests of this room that need a real one."""

import pytest

from benchmarks.studies.service.plant import make_plant
from benchmarks.studies.service.running import Running


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    path = tmp_path_factory.mktemp("service") / "plant.clgdb"
    make_plant(path)
    with Running(path, patience=1.0, most_waiting=500) as running:
        running.path = path
        yield running
    assert "Traceback" not in running.said_at_the_end
    assert running.process.returncode == -15 or running.process.returncode == 0


@pytest.fixture
def client(service):
    import httpx

    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=60.0) as own:
        yield own
