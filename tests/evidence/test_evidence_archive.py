"""Plans, evidence archives, model cards and MLflow: each is read back by an independent program."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from regard.audits.decisions import decision, method_trust
from regard.audits.preregistration import deviations, plan_digest, read_plan
from regard.cli.root import root
from regard.errors import InputError
from regard.present.evidence import evidence_files
from regard.present.evidence.decision import decision_page
from regard.present.mlflow_export import run_metrics
from regard.present.report.as_card import run_card
from regard.present.report.report import report
from regard.present.run_reader import Material
from regard.store.evidence_archive import NAMESPACE, verify_archive, write_archive
from regard.store.run import Run

SETTINGS = (
    *("--budget", "none", "--limit", "14", "--keep", "0", "--explainers", "attention,leave_one_out,random"),
    *("--metrics", "comprehensiveness", "--experiments", "map_shape,pointing"),
)


def regard(*words: str | Path) -> Result:
    return CliRunner().invoke(root, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan, the run that followed it, and an SSH key."""
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "policy.toml").write_text('[[gate]]\nmetric = "accuracy"\nmin = 0.1\n', "utf-8")
    use = ["--intended-use", "sort films", "--policy", folder / "policy.toml"]
    assert regard("plan", "planted:decides", *SETTINGS, *use, "--out", folder / "plan.json").exit_code == 0
    result = regard("audit", "--plan", folder / "plan.json", "--out", folder / "run")
    assert (folder / "run" / "manifest.json").is_file(), result.output
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return Run(folder / "run")


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages stand in for their PDF: a browser prints them in the tests of `regard report`."""
    monkeypatch.setattr(evidence_files, "print_html", lambda text: text.encode())
    monkeypatch.setattr(evidence_files, "pdf_document", lambda run: report(run).encode())


@pytest.fixture
def key(tmp_path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("NOT RUN: no ssh-keygen")
    file = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    kind, secret = file.with_suffix(".pub").read_text("utf-8").split()[:2]
    (tmp_path / "signers").write_text(f"auditor {kind} {secret}\n", "utf-8")
    return file


def test_a_run_by_its_plan_followed_it(folder: Path, run: Run) -> None:
    plan = read_plan(folder / "plan.json")
    assert deviations(plan, run.manifest, run.identity) == []
    assert plan["sha256"][:12] in report(run)
    assert plan["intended_use"] == "sort films"


@pytest.mark.parametrize(
    ("part", "change", "named"),
    [
        ("identity", {"seed": 7}, "seed"),
        ("identity", {"data": "0" * 64}, "data"),
        ("thresholds", {"good": 0.5}, "threshold.good"),
        ("created", "2999-01-01T00:00:00+00:00", "date"),
    ],
)
def test_every_deviation_is_named(folder: Path, run: Run, part: str, change: Any, named: str) -> None:
    plan = read_plan(folder / "plan.json")
    plan[part] = {**plan[part], **change} if isinstance(change, dict) else change
    plan["sha256"] = plan_digest(plan)
    assert [row.part for row in deviations(plan, run.manifest, run.identity)] == [named]


def test_a_changed_plan_is_refused(folder: Path, tmp_path: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text("utf-8"))
    plan["identity"]["seed"] = 1
    (tmp_path / "plan.json").write_text(json.dumps(plan), "utf-8")
    with pytest.raises(InputError, match="hashed with"):
        read_plan(tmp_path / "plan.json")
    result = regard("audit", "bilstm", "--plan", folder / "plan.json")
    assert (result.exit_code, "no model, data or settings" in result.output) == (2, True)
    assert regard("plan", "planted:decides", "--out", folder / "plan.json").exit_code == 2  # never overwritten


@pytest.mark.usefixtures("printed")
def test_the_archive_is_verified_by_sha256sum_and_ssh_keygen(folder: Path, key: Path, tmp_path: Path) -> None:
    archive = tmp_path / "evidence.zip"
    words = ["--format", "evidence", "--sign", key, "--baseline", folder / "run", "--out", archive]
    assert regard("report", folder / "run", *words).exit_code == 0
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(archive) as members:
        members.extractall(unpacked)
    names = {"report.pdf", "dossier.pdf", "report.json", "manifest.json", "plan.json", "README.txt"}
    names |= {"policy.toml", "gate.json"}  # those of the plan
    assert {file.name for file in unpacked.iterdir()} == names | {"SHA256SUMS", "SHA256SUMS.sig"}
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=unpacked, check=True)
    line = ["ssh-keygen", "-Y", "verify", "-f", tmp_path / "signers", "-I", "auditor", "-n", NAMESPACE]
    with (unpacked / "SHA256SUMS").open("rb") as sums:
        subprocess.run([*line, "-s", unpacked / "SHA256SUMS.sig"], stdin=sums, check=True, capture_output=True)
    result = regard("verify", archive, "--signers", tmp_path / "signers", "--json")
    answer = json.loads(result.output)
    assert (result.exit_code, answer["intact"], answer["signer"]) == (0, True, "auditor")
    assert answer["plan"] == {"followed": True, "deviations": []}
    page = (unpacked / "dossier.pdf").read_text("utf-8")
    assert "sort films" in page
    assert json.loads((unpacked / "gate.json").read_text("utf-8"))["line"] in page
    assert "not the policy of the plan" not in page
    assert page.count('class="sheet"') == 1 + 10  # the changes, and ten decisions; the sign-off has its own class


@pytest.mark.usefixtures("printed")
def test_another_policy_than_that_of_the_plan_is_a_deviation(folder: Path, tmp_path: Path) -> None:
    """A policy that is easier to pass than the planned one must not read as the plan that was followed."""
    other = tmp_path / "other.toml"
    other.write_text('[[gate]]\nmetric = "accuracy"\nmin = 0.01\n', "utf-8")
    words = ["--format", "evidence", "--policy", other, "--out", tmp_path / "e.zip"]
    assert regard("report", folder / "run", *words).exit_code == 0
    plan = json.loads(regard("verify", tmp_path / "e.zip", "--json").output)["plan"]
    assert (plan["followed"], [row[0] for row in plan["deviations"]]) == (False, ["policy"])
    with zipfile.ZipFile(tmp_path / "e.zip") as members:
        assert "not the policy of the plan" in members.read("dossier.pdf").decode()


def test_a_decision_page_names_the_method_whose_trust_it_states(run: Run) -> None:
    material = Material(run)
    row = material.examples[0]
    facts = decision(material, row)
    assert facts is not None
    trust = method_trust(material, material.conclusions.differences, facts.method, row)
    assert trust is not None
    assert (trust.difference.method, trust.operator) == (facts.method, dict(trust.difference.setting)["operator"])
    assert trust.operator != material.own_operators.get(facts.method)
    page = str(decision_page(material, row))
    assert f"{facts.method} over the whole audit" in page
    assert "Attention as an explanation of this model" in page


@pytest.mark.wording
def test_a_screened_input_does_not_claim_that_every_part_was_removed(run: Run) -> None:
    material = Material(Run(run.path))
    row = next(e for e in material.examples if (facts := decision(material, e)) is not None and not facts.flips)
    whole = decision(material, row)
    assert whole is not None
    assert whole.removed == whole.removable > 2
    for spec in material.manifest["settings"]["explainers"]:
        if spec["name"] == "leave_one_out":
            spec["params"]["most"] = 2
    screened = decision(material, row)
    assert screened is not None
    assert (screened.removed, screened.removable) == (2, whole.removable)
    assert "The others were not tried" in str(decision_page(material, row))


@pytest.mark.parametrize("damage", ["content", "missing", "extra", "other key"])
def test_damage_is_found(key: Path, tmp_path: Path, damage: str) -> None:
    archive = tmp_path / "e.zip"
    write_archive(archive, {"a.txt": b"one", "b.txt": b"two"}, key=key)
    with zipfile.ZipFile(archive) as members:
        files = {name: members.read(name) for name in members.namelist()}
    if damage == "content":
        files["a.txt"] = b"One"
    elif damage == "missing":
        del files["b.txt"]
    elif damage == "extra":
        files["c.txt"] = b"three"
    else:
        other = tmp_path / "other"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
        write_archive(tmp_path / "o.zip", {"a.txt": b"one", "b.txt": b"two"}, key=other)
        with zipfile.ZipFile(tmp_path / "o.zip") as members:
            files["SHA256SUMS.sig"] = members.read("SHA256SUMS.sig")
    with zipfile.ZipFile(archive, "w") as members:
        for name, content in files.items():
            members.writestr(name, content)
    checked = verify_archive(archive, signers=tmp_path / "signers")
    assert not checked.intact
    assert regard("verify", archive, "--signers", tmp_path / "signers").exit_code == 1
    expected = {"content": ("a.txt",), "missing": ("b.txt",), "extra": ("c.txt",), "other key": ()}[damage]
    assert checked.changed + checked.missing + checked.unlisted == expected
    assert (checked.signed == "invalid") is (damage == "other key")


def test_equal_contents_give_equal_archives_and_hostile_ones_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_archive(tmp_path / name, {"a": b"1", "b": b"2"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert verify_archive(tmp_path / "one").signed == "no"
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as members:
        members.writestr("../out.txt", b"")
    (tmp_path / "no.zip").write_bytes(b"PK nothing")
    for name in ("evil.zip", "no.zip"):
        assert regard("verify", tmp_path / name).exit_code == 2


@pytest.mark.usefixtures("printed")
def test_redaction_reaches_every_file(folder: Path, run: Run, tmp_path: Path) -> None:
    archive = tmp_path / "e.zip"
    assert regard("report", folder / "run", "--format", "evidence", "--redact", "--out", archive).exit_code == 0
    words = {w for e in run.examples() for w in str(e["inputs"]["text"]).split() if len(w) > 5}
    assert words
    with zipfile.ZipFile(archive) as members:
        for name in ("dossier.pdf", "report.json", "manifest.json"):
            text = members.read(name).decode()
            texts = [str(e["inputs"]["text"]) for e in run.examples() if str(e["inputs"]["text"]) in text]
            assert not texts, f"{name} holds a text"
            assert not [w for w in ("superb", "terrible") if f">{w}<" in text], name


def test_a_decision_flips_where_the_model_does(run: Run) -> None:
    """A removal that the page calls decisive is one after which the model predicts the other class."""
    from regard.desk.case import DeskCase
    from regard.desk.desk import Desk
    from regard.models.open.load import load
    from regard.records import Example

    material, model = Material(run), load("planted:decides")
    checked = 0
    for row in material.examples[:6]:
        facts = decision(material, row)
        assert facts is not None
        assert facts.flips is not None
        names = list(row["units"]["names"])
        case = DeskCase(Desk(model), [Example(row["id"], row["inputs"])])
        for unit, _ in facts.removals[:1]:
            drops = [[name == unit and names.index(unit) == i for i, name in enumerate(names)]]
            import numpy as np

            operator = material.own_operators["leave_one_out"]
            value = float(case.removed([np.array(drops, np.bool_)], operator).value[0])
            assert (value < 0) is (unit in facts.flips)
            checked += 1
    assert checked


def test_the_card_is_valid_for_the_hub(run: Run) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    text = run_card(run)
    card = huggingface_hub.ModelCard(text)
    results = card.data.eval_results
    assert card.data.model_name == "planted:decides"
    assert results[0].task_type == "text-classification"
    metadata = yaml.safe_load(text.split("---")[1])
    again = huggingface_hub.ModelCardData(**{**card.data.to_dict(), "eval_results": results}).to_dict()
    assert again["model-index"] == card.data.to_dict()["model-index"]
    values = {m["type"]: m["value"] for m in metadata["model-index"][0]["results"][0]["metrics"]}
    for d in Material(run).conclusions.differences:
        if d.metric == "comprehensiveness":
            name = f"comprehensiveness_{d.method}_{dict(d.setting)['operator']}"
            assert values[name] == pytest.approx(d.estimate, abs=1e-4)
    assert card.text.strip().startswith("## ")


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    package = pytest.importorskip("mlflow")
    package.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield package
    while package.active_run() is not None:
        package.end_run()
    package.set_tracking_uri(None)


def test_mlflow_reads_back_the_run(run: Run, mlflow: Any) -> None:
    name = run.to_mlflow()
    client = mlflow.MlflowClient()
    stored = client.get_run(name)
    assert stored.data.tags["regard.fingerprint"] == run.manifest["model"]["fingerprint"]
    assert stored.data.tags["regard.verdict"] == run.manifest["judgements"][0]["reading"]
    assert stored.data.params["regard.seed"] == "0"
    assert stored.data.metrics == pytest.approx(run_metrics(Material(run)))
    assert {file.path for file in client.list_artifacts(name, "regard")} == {"regard/report.html", "regard/report.json"}
    with mlflow.start_run() as active:
        assert run.to_mlflow() == active.info.run_id
