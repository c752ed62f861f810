"""Spark's own Delta: its package for each Spark, and the settings that a session has to start with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from panes.spark.installed import numbers

BUILT_FOR = re.compile(r"delta-spark_(?P<spark>\d+\.\d+)_\d")
GROUP, ARTIFACT = "io.delta", "delta-spark"
VERSIONS: dict[tuple[int, ...], str] = {(4, 2): "4.4.0"}  # of Delta, for each Spark; there is none for 4.3
SCALA = "2.13"
EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
EXTENSIONS, SPARK_CATALOG = "spark.sql.extensions", "spark.sql.catalog.spark_catalog"
SETTINGS = {EXTENSIONS: EXTENSION, SPARK_CATALOG: CATALOG}


def known_package(spark: str) -> str | None:
    """The Maven coordinates of Delta for a version of Spark, where there is one.

    >>> known_package("4.2.0"), known_package("4.3.0")
    ('io.delta:delta-spark_4.2_2.13:4.4.0', None)
    """
    version, found = VERSIONS.get(numbers(spark)), ".".join(map(str, numbers(spark)))
    return f"{GROUP}:{ARTIFACT}_{found}_{SCALA}:{version}" if version is not None else None


def is_delta(package: str) -> bool:
    """Whether a package is Spark's own Delta.

    >>> is_delta("io.delta:delta-spark_4.2_2.13:4.4.0"), is_delta("io.delta:delta-storage:4.4.0")
    (True, False)
    """
    return package.startswith(f"{GROUP}:{ARTIFACT}_")


def built_for(name: str) -> tuple[int, ...] | None:
    """The Spark that a jar or package of Delta was built for, if its name tells.

    >>> built_for("io.delta_delta-spark_4.2_2.13-4.4.0.jar"), built_for("io.delta:delta-spark_2.13:4.0.0")
    ((4, 2), None)
    """
    named = BUILT_FOR.search(name)
    return numbers(named["spark"]) if named is not None else None


def with_delta(
    settings: Mapping[str, str], packages: Sequence[str], defaults: Mapping[str, str], spark: str
) -> dict[str, str]:
    """Settings for a session that gets these packages: set up for Delta if the one for its Spark is among them.

    >>> with_delta({}, ["io.delta:delta-spark_4.2_2.13:4.4.0"], {"spark.sql.extensions": "a.B"}, "4.2.0")[EXTENSIONS]
    'a.B,io.delta.sql.DeltaSparkSessionExtension'
    """
    if not any(is_delta(one) and built_for(one) == numbers(spark) for one in packages):
        return dict(settings)
    effective = {**defaults, **settings}
    extensions = [one.strip() for one in effective.get(EXTENSIONS, "").split(",") if one.strip()]
    catalog = effective.get(SPARK_CATALOG, CATALOG)  # another one of the user's stays: it may hand on to Delta's
    return {**settings, EXTENSIONS: ",".join(dict.fromkeys([*extensions, EXTENSION])), SPARK_CATALOG: catalog}
