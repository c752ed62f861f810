"""The recipe for Kubernetes on the page about hosted Spark: nobody has run it, but its parts agree."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import run_matrix
import yaml

from panes.testing.markdown import blocks_of

ROOT = Path(__file__).parents[2]
BLOCKS = blocks_of((ROOT / "docs" / "how-to" / "hosted-spark.md").read_text(encoding="utf-8"))
(IMAGE,) = (block.text for block in BLOCKS if block.language == "text" and block.text.startswith("FROM "))
(COMMAND,) = (block.text for block in BLOCKS if block.language == "sh" and "k8s://" in block.text)
MANIFESTS: dict[str, Any] = {
    one["kind"]: one for block in BLOCKS if block.language == "yaml" for one in yaml.safe_load_all(block.text)
}
APPLICATION = MANIFESTS["SparkApplication"]
SPEC = APPLICATION["spec"]
WORDS = shlex.split(COMMAND.replace("\\\n", " "))


def conf() -> dict[str, str]:
    """The settings of the command."""
    return dict(value.split("=", 1) for flag, value in pairwise(WORDS) if flag == "--conf")


def test_the_command_and_the_manifest_say_the_same() -> None:
    job = WORDS.index(SPEC["mainApplicationFile"])
    assert WORDS[job + 1 :] == SPEC["arguments"]
    assert WORDS[WORDS.index("--name") + 1] == APPLICATION["metadata"]["name"]
    assert conf() == {
        **SPEC["sparkConf"],
        "spark.kubernetes.namespace": APPLICATION["metadata"]["namespace"],
        "spark.kubernetes.authenticate.driver.serviceAccountName": SPEC["driver"]["serviceAccount"],
        "spark.kubernetes.container.image": SPEC["image"],
        "spark.executor.memoryOverhead": SPEC["executor"]["memoryOverhead"],
    }


def test_the_driver_has_an_account_that_may_start_executors() -> None:
    account, binding = MANIFESTS["ServiceAccount"], MANIFESTS["RoleBinding"]
    assert account["metadata"]["name"] == SPEC["driver"]["serviceAccount"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account["metadata"]}]
    assert {one["metadata"]["namespace"] for one in MANIFESTS.values()} == {APPLICATION["metadata"]["namespace"]}


def test_the_job_is_in_the_image() -> None:
    (copied,) = re.findall(r"^COPY (\w+\.py) (\S+)$", IMAGE, re.MULTILINE)
    assert SPEC["mainApplicationFile"] == f"local://{copied[1]}"
    assert (ROOT / "examples" / copied[0]).exists()


def test_a_job_that_ends_is_not_begun_anew_for_ever() -> None:
    job = (ROOT / "examples" / Path(SPEC["mainApplicationFile"]).name).read_text(encoding="utf-8")
    assert "availableNow=True" in job
    assert SPEC["restartPolicy"]["type"] == "OnFailure"


def test_the_image_has_a_spark_and_a_python_that_are_tested() -> None:
    assert re.findall(r"^FROM apache/spark:([\d.]+)-", IMAGE, re.MULTILINE) == [SPEC["sparkVersion"]]
    assert SPEC["sparkVersion"] in run_matrix.SPARKS
    (folder,) = re.findall(r"uv venv --python 3\.1[1-4] (\S+)", IMAGE)
    assert set(re.findall(r"PYSPARK\w*_PYTHON=(\S+)", IMAGE)) == {f"{folder}/bin/python"}


def test_s3a_has_its_jar() -> None:
    assert all(argument.startswith("s3a://") for argument in SPEC["arguments"])
    assert re.fullmatch(r"org\.apache\.hadoop:hadoop-aws:\d+\.\d+\.\d+", conf()["spark.jars.packages"])
