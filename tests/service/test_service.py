"""A real service, asked by a real HTTP client."""

import json
import re
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.studies.service.bad import refused_all, sent, slow_loris
from benchmarks.studies.service.plant import plant_rows
from collegium import Ledger
from collegium.cli.failures import MODEL_FILE, USAGE, Failure
from collegium.cli.jobs.serving import run_serve

NEW = [{"t": 51.0, "p": 2.5}, {"t": 33.5, "p": 4.0}, {"t": 88.0, "p": 1.25}]
TIGHT = {"rtol": 1e-12, "atol": 0.0}


def model_of(service):
    with Ledger(service.path) as ledger:
        return ledger.model_and_lsn()


def learnt(client, id, rows):
    found = client.post("/v1/learn", json={"id": id, "rows": rows})
    assert found.status_code == 202, found.text
    return found.json()


def settled(client, lsn, seconds=60.0):
    """Wait until the model has learnt from an event."""

    end = time.monotonic() + seconds
    while client.get("/v1/model").json()["model"]["lsn"] < lsn:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_predictions_are_those_of_the_ledgers_model(service, client):
    model, _ = model_of(service)
    asked = {"rows": NEW, "interval": 0.8}
    found = client.post("/v1/predict", json=asked).json()
    own = model.predict(NEW, return_std=True, interval=0.8)
    for name, values in zip(("mean", "std", "lower", "upper"), own):
        assert_allclose(found[name], values, **TIGHT)
    columns = {"columns": {name: [row[name] for row in NEW] for name in NEW[0]}}
    found = client.post("/v1/predict", json={**columns, "level": "function"}).json()
    mean, std = model.predict(NEW, return_std=True, level="function")
    assert_allclose(found["std"], std, **TIGHT)
    assert set(found) == {"lsn", "mean", "std"}
    one_more = [{**row, "unused": "word"} for row in NEW]
    assert client.post("/v1/predict", json={"rows": one_more}).json()["mean"] == found["mean"]


def test_long_requests_are_answered_in_slices_by_one_model(service, client):
    rows = [{"t": one["t"], "p": one["p"]} for one in plant_rows(1300, 4)]
    found = client.post("/v1/predict", json={"rows": rows}).json()
    assert_allclose(found["mean"], model_of(service)[0].predict(rows), **TIGHT)


def test_rows_are_learnt_once_and_the_answer_follows_the_commit(service, client):
    rows, before = plant_rows(6, 5), client.get("/v1/model").json()["ledger"]["lsn"]
    first = learnt(client, "press 4", rows)
    assert first == {"id": "press 4", "lsn": before + 1, "rows": 6}
    with Ledger(service.path) as ledger:
        assert {one.id: one.n for one in ledger.chunks()}["press 4"] == 6
    assert learnt(client, "press 4", rows) == first
    other = client.post("/v1/learn", json={"id": "press 4", "rows": rows[:5]})
    assert other.status_code == 409 and "other rows" in other.json()["error"]["message"]
    settled(client, first["lsn"])
    model, lsn = model_of(service)
    found = client.post("/v1/predict", json={"rows": NEW}).json()
    assert found["lsn"] == lsn == first["lsn"]
    assert_allclose(found["mean"], model.predict(NEW), **TIGHT)
    apart = {"id": "apart", "rows": [{"t": 1.0, "p": 2.0}], "y": [3.0], "kept": {"customer": [4]}}
    said = client.post("/v1/learn", json=apart, headers={"Idempotency-Key": "unused"})
    assert said.status_code == 202, said.text
    assert client.post("/v1/forget", json={"where": "customer = 4 and id = 'apart'"}).is_success


def test_forgotten_rows_leave_the_state_and_are_not_learnt_again(service, client):
    before = client.get("/v1/model").json()["ledger"]["state"]
    rows = plant_rows(5, 6)
    learnt(client, "returned", rows)
    done = client.post("/v1/forget", json={"ids": ["returned"], "reason": "asked"}).json()
    assert done["rows"] == 5 and done["after"] == before and done["erased"]
    assert done["answered without them"] is True
    found = client.post("/v1/predict", json={"rows": NEW}).json()
    assert found["lsn"] == done["lsn"]
    again = client.post("/v1/learn", json={"id": "returned", "rows": rows})
    assert again.status_code == 409 and "forgotten" in again.json()["error"]["message"]


def test_a_rollback_is_an_event_and_says_first_what_it_would_do(service, client):
    known = client.get("/v1/model").json()["ledger"]
    lsns = [learnt(client, f"late {k}", plant_rows(3, 10 + k))["lsn"] for k in range(2)]
    asked = {"to": known["lsn"], "reason": "sensor 3"}
    found = client.post("/v1/rollback", json=asked).json()
    assert found == {"to": known["lsn"], "chunks": 2, "rows": 6, "stays": [], "done": False}
    assert client.get("/v1/model").json()["ledger"]["lsn"] == lsns[-1]
    found = client.post("/v1/rollback", json={**asked, "confirm": True}).json()
    assert found["done"] and found["certificate"]["after"] == known["state"]
    assert found["certificate"]["reason"] == f"rollback to event {known['lsn']}: sensor 3"
    assert client.get("/v1/model").json()["ledger"]["lsn"] == lsns[-1] + 1


def test_models_of_the_past_and_explanations(service, client):
    with Ledger(service.path) as ledger:
        then, why = ledger.as_of(4), ledger.explain(NEW, by="customer")
    found = client.post("/v1/as-of/4", json={"rows": NEW, "interval": 0.8}).json()
    mean, lower, upper = then.predict(NEW, interval=0.8)
    assert_allclose([found["mean"], found["lower"]], [mean, lower], **TIGHT)
    assert client.get("/v1/as-of/4").json()["rows"] == 80
    assert client.get("/v1/as-of/2001-01-01").status_code == 422
    own = client.post("/v1/predict", json={"rows": NEW, "explain": "customer"}).json()
    assert own["explanation"]["values"] == list(why.values)
    assert_allclose(own["explanation"]["changes"], why.changes, rtol=1e-9, atol=1e-9)
    found = client.post("/v1/predict", json={"rows": NEW, "explain": "columns"}).json()
    own = found["explanation"]
    assert own["columns"] == ["t", "p"]
    assert_allclose(np.sum(own["values"], axis=1) + own["base"], found["mean"], **TIGHT)


@pytest.mark.slow
def test_a_report_is_on_rows_that_were_predicted_before_they_were_learnt(client):
    found, k = client.get("/v1/report"), 0
    assert found.status_code in (409, 200)
    while found.status_code == 409 and k < 60:
        learnt(client, f"for the report {k}", plant_rows(10, 900 + k))
        time.sleep(0.5)
        found, k = client.get("/v1/report"), k + 1
    assert found.status_code == 200 and found.headers["content-type"].startswith("text/html")
    assert "Are the error bars honest?" in found.text and "<script" not in found.text


def test_open_inference_protocol(service, client):
    assert client.get("/v2/health/live").is_success and client.get("/v2/health/ready").is_success
    about = client.get("/v2/models/plant").json()
    assert [one["name"] for one in about["inputs"]] == ["t", "p"]
    inputs = [
        {"name": name, "shape": [3, 1], "datatype": "FP64", "data": [row[name] for row in NEW]}
        for name in ("p", "t")
    ]
    asked = {"id": "7", "inputs": inputs, "parameters": {"interval": 0.9}}
    asked["outputs"] = [{"name": "upper"}, {"name": "mean"}]
    found = client.post("/v2/models/plant/infer", json=asked).json()
    own = client.post("/v1/predict", json={"rows": NEW, "interval": 0.9}).json()
    assert found["id"] == "7" and found["model_version"] == str(own["lsn"])
    shapes = [(one["name"], one["shape"]) for one in found["outputs"]]
    assert shapes == [("upper", [3]), ("mean", [3])]
    assert found["outputs"][0]["data"] == own["upper"]


def test_metrics_are_lines_that_prometheus_reads(service, client):
    learnt(client, "scored", plant_rows(4, 30))
    client.post("/v1/predict", json={"rows": NEW})
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    number = re.compile(r'^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9.e+-]+$')
    lines = [one for one in found.text.splitlines() if not one.startswith("#")]
    assert lines and not [one for one in lines if not number.match(one)]
    names = {re.split(r"[{ ]", one)[0] for one in lines}
    told = {re.split(r" ", one)[2] for one in found.text.splitlines() if one.startswith("# TYPE")}
    stem = {re.sub(r"_(bucket|sum|count)$", "", one) for one in names if "seconds_" in one}
    assert {one for one in names if "seconds_" not in one} | stem <= told
    assert service.metric("collegium_model_lsn") <= service.metric("collegium_ledger_lsn")
    assert service.metric("collegium_queue_rows") == 0


def test_the_page_and_its_description_need_nothing_from_elsewhere(service, client):
    page, described = client.get("/docs"), client.get("/openapi.json").json()
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script" not in page.text and not re.search(r"(src|href)=.?https?:", page.text)
    from collegium.service.server import PATHS

    known = {(path, verb.lower()) for path, _, verbs in PATHS for verb in verbs.split()}
    known -= {("/docs", "get"), ("/openapi.json", "get")}
    assert {(path, verb) for path, own in described["paths"].items() for verb in own} == known
    for path, own in described["paths"].items():
        assert path in page.text
        for one in own.values():
            for part in (one.get("requestBody") or {}).get("content", {}).values():
                assert set(part["example"]) <= set(part["schema"]["properties"])


def test_300_bad_requests_are_refused_with_a_reason_and_change_nothing(service, client):
    before = client.get("/v1/model").json()["ledger"]
    assert refused_all(service, 300, seed=0) == []
    after = client.get("/v1/model").json()["ledger"]
    assert (after["lsn"], after["state"]) == (before["lsn"], before["state"])
    assert client.post("/v1/predict", json={"rows": NEW}).is_success
    assert "Traceback" not in service.words()


def test_refusals_name_row_and_column(client):
    wrong = [*NEW, {"t": "hot", "p": 1.0}]
    error = client.post("/v1/predict", json={"rows": wrong}).json()["error"]
    assert (error["status"], error["row"], error["column"]) == (422, 3, "t")
    rows = [NEW[0], {"t": 1.0, "P": 2.0}]
    error = client.post("/v1/predict", json={"rows": rows}).json()["error"]
    assert (error["row"], error["column"]) == (1, "p") and "'P'" in error["message"]
    rows = [{**one, "yield": 1.0, "customer": 1} for one in NEW]
    rows[2]["yield"] = None
    error = client.post("/v1/learn", json={"id": "x", "rows": rows}).json()["error"]
    assert (error["row"], error["column"]) == (2, "yield")


@pytest.mark.parametrize("head", [True, False])
def test_slow_clients_are_hung_up_on(service, head):
    assert slow_loris(service.port, head, most=20.0) < 19.0
    assert service.ask("GET", "/live")[0] == 200


def test_a_second_service_on_the_ledger_is_refused(service):
    class Mute:
        def line(self, *_):
            pass

    with pytest.raises(Failure, match="is being written by another process") as refused:
        run_serve(Mute(), str(service.path), "127.0.0.1", 0, None)
    assert refused.value.code == MODEL_FILE
    with pytest.raises(Failure, match="no such ledger"):
        run_serve(Mute(), "nowhere.clgdb", "127.0.0.1", 0, None)
    with pytest.raises(Exception, match="can be reached from other machines"):
        run_serve(Mute(), str(service.path), "0.0.0.0", 0, None)
    assert USAGE == 2


def test_a_full_queue_says_when_to_come_again(service, client):
    before = client.get("/v1/model").json()["ledger"]["lsn"]
    found = client.post("/v1/learn", json={"id": "many", "rows": plant_rows(501, 50)})
    assert found.status_code == 429 and int(found.headers["retry-after"]) > 0
    assert client.get("/v1/model").json()["ledger"]["lsn"] == before


def test_a_full_disk_is_told_and_nothing_is_learnt(service, client):
    resource = pytest.importorskip("resource")
    before = client.get("/v1/model").json()["ledger"]
    learner, rows = service.learner(), plant_rows(40, 40)
    size = service.path.stat().st_size
    old = resource.prlimit(learner, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        found = client.post("/v1/learn", json={"id": "no room", "rows": rows})
    finally:
        resource.prlimit(learner, resource.RLIMIT_FSIZE, old)
    assert found.status_code == 507 and "make room" in found.json()["error"]["message"]
    after = client.get("/v1/model").json()["ledger"]
    assert (after["lsn"], after["state"]) == (before["lsn"], before["state"])
    assert learnt(client, "no room", rows)["lsn"] == before["lsn"] + 1
    assert service.path.stat().st_size >= size


def test_everything_that_was_acknowledged_is_the_replay(service, client, tmp_path):
    """The state is that of a ledger that got the rows that count in the first place."""
    with Ledger(service.path) as own:
        assert own.verify()["state"] == own.state
        assert json.loads(client.get("/v1/model").text)["ledger"]["state"] == own.state
    assert sent(service.port, generated_good())[0] == 200
    assert np.isfinite(client.post("/v1/predict", json={"rows": NEW}).json()["mean"]).all()


def generated_good():
    from benchmarks.studies.service.bad import Bad

    return Bad("good", "/v1/predict", json.dumps({"rows": NEW}).encode())
