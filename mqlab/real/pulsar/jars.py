"""Pulsar's own jars: which, and how Maven is asked for them. 242 MB each.

4.2.4 is the newest release of 4.x that is published whole, 4.0.7 the one before it; of that,
`mqlab inspect` was tried on a broker. Their bill of materials (the pom of `pulsar`) pins what the
broker's own poms leave open; the broker brings the Java client along, the client of transactions
and the admin client, so no other client is put beside them.
"""

from __future__ import annotations

from pathlib import Path

from ...places import CACHE
from .. import jars

GROUP = "org.apache.pulsar"
BILL = "      <type>pom</type>\n      <scope>import</scope>\n"


def pom(version: str) -> str:
    bill = jars.write_dependency(GROUP, "pulsar", version, BILL)
    return jars.join_pom(
        "real-pulsar",
        version,
        jars.write_dependency(GROUP, "pulsar-broker", version),
        managed=f"  <dependencyManagement><dependencies>\n{bill}"
        "  </dependencies></dependencyManagement>\n",
    )


JARS = jars.Jars(
    product="Pulsar",
    versions=("4.2.4", "4.0.7"),
    cache=CACHE / "pulsar",
    pins=Path(__file__).with_name("jars.sha256"),
    landmark="pulsar-broker-{version}.jar",
    pom=pom,
)
