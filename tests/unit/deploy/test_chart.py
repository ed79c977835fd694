"""Contract: the chart of `deploy/helm/` renders to valid objects of Kubernetes, its alerts work, and each has its page.

Helm's own engine renders it, from the wheel in `.ci/requirements-chart.txt`; promtool is Debian's package prometheus.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from adk_site import health
from adk_site.embedded.paths import CHECKOUT
from tests.unit.deploy.test_deploy import DEPLOY, SITE, names_that_settings_read, processes, text

CHART = DEPLOY / "helm"
KUBERNETES = "1.34"
CUSTOM = {"ScaledObject", "PodMonitor", "PrometheusRule"}
"""Objects of KEDA and of the operator of Prometheus, whose schemas the package does not have."""
EVERYTHING = {"autoscaling": {"enabled": True}, "monitoring": {"enabled": True}, "mediaClaim": "files"}
Manifest = dict[str, Any]


def needed(name: str) -> Any:
    """Return a module of `.ci/requirements-chart.txt`. Without it the test is skipped, and fails under CI."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return missing(
            f"`pip install -r .ci/requirements-chart.txt` lets the tests render the chart: no {name}."
        )


def missing(sentence: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)


def rendered(**values: Any) -> list[Manifest]:
    chart = needed("helm_python").Chart.load(CHART)
    files = chart.render(values, name="site", namespace="default")
    documents = [document for file in files.values() for document in yaml.safe_load_all(file)]
    return [document for document in documents if document]


def deployments(**values: Any) -> dict[str, Manifest]:
    """Return the pods of the processes by their kind."""
    found = [manifest for manifest in rendered(**values) if manifest["kind"] == "Deployment"]
    return {pod["spec"]["containers"][0]["name"]: pod for pod in (each["spec"]["template"] for each in found)}


@pytest.mark.parametrize("values", [{}, EVERYTHING])
def test_the_chart_is_clean_and_its_objects_are_valid(values: dict[str, Any]) -> None:
    report = needed("helm_python").chart.lint(CHART, values, strict=True)
    assert [message for message in report["messages"] if message["severity"] > 1] == []
    validate = needed("kubernetes_validate").validate
    kinds = set()
    for manifest in rendered(**values):
        kinds.add(manifest["kind"])
        if manifest["kind"] not in CUSTOM:
            validate(manifest, KUBERNETES, strict=True)
    assert (kinds >= CUSTOM) is bool(values)


def test_the_chart_runs_each_process_confined_with_variables_that_the_settings_read() -> None:
    pods = deployments()
    assert {*pods, "migrate"} == {*SITE}
    read = {*names_that_settings_read(), "PROMETHEUS_MULTIPROC_DIR", "METRICS_PORT"}
    for name, pod in pods.items():
        (container,) = pod["spec"]["containers"]
        assert container["args"] == [name] and name in processes()
        assert {variable["name"] for variable in container["env"]} <= read
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_a_web_process_is_ready_by_its_health_check_and_lives_without_postgresql() -> None:
    (web,) = deployments()["web"]["spec"]["containers"]
    assert web["readinessProbe"]["httpGet"] == {"path": health.PATH, "port": "http"}
    assert "tcpSocket" in web["livenessProbe"]
    assert web["ports"] == [{"name": "http", "containerPort": 8000}]


def test_only_migrations_and_grants_have_the_owners_secret() -> None:
    owners = [
        manifest["metadata"]["name"] for manifest in rendered() if "adk-site-migrations" in str(manifest)
    ]
    assert owners == ["site-migrate"]
    (roles,) = [manifest for manifest in rendered() if manifest["kind"] == "ConfigMap"]
    assert roles["data"]["roles.sql"].strip() == text("roles.sql").strip()


def test_workers_scale_by_the_age_of_the_queue() -> None:
    scaled = [manifest for manifest in rendered(**EVERYTHING) if manifest["kind"] == "ScaledObject"]
    queries = {
        manifest["metadata"]["name"]: manifest["spec"]["triggers"][0]["metadata"]["query"]
        for manifest in scaled
    }
    assert queries == {"site-worker": "max(adk_queue_age_seconds)", "site-jobs": "max(adk_job_age_seconds)"}


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        missing("The test of the alerts needs promtool, of Debian's package prometheus.")
        return
    for command in (["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"]):
        done = subprocess.run(
            [promtool, *command], cwd=CHART / "monitoring", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_test_and_its_part_of_the_runbook() -> None:
    (group,) = yaml.safe_load((CHART / "monitoring" / "rules.yaml").read_text())["groups"]
    alerts = [rule["alert"] for rule in group["rules"]]
    runbook = (CHECKOUT / "docs" / "runbook.md").read_text()
    assert re.findall(r"^## (\w+): ", runbook, re.MULTILINE) == alerts
    cases = yaml.safe_load((CHART / "monitoring" / "rules_test.yaml").read_text())["tests"]
    for case in cases:
        assert [entry["alertname"] for entry in case["alert_rule_test"]] == alerts


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    dashboard = json.loads((CHART / "monitoring" / "dashboard.json").read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(target["expr"] for panel in panels for target in panel["targets"])
