"""ApiVersions: what clients of every age are told before they ask for anything."""

from __future__ import annotations

from typing import Any

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema

from mqlab.real.kafka.client import NOT_OFFERED, Lab, word

from . import program

FEATURE = "transaction.version"
KEYS = 93  # keys of 4.3.1 end here
HIGHEST = 5  # the first version of a request that kio knows is lower


@program("api-versions", "ApiVersionsResponse#filterFeatures, #createApiVersionsResponse; KIP-511")
def api_versions(lab: Lab) -> None:
    """Of the features the one that both know; of an unknown version the way back."""
    for version in range(5):
        answer = lab.raw().ask(
            18, version, client_software_name="mqlab", client_software_version="1"
        )
        features = [
            f"supported {_levels(answer, 'supported_features', 'min_version', 'max_version')}",
            "finalized "
            + _levels(answer, "finalized_features", "min_version_level", "max_version_level"),
        ]
        lab.note("client", "broker", f"ApiVersions v{version}", ", ".join(features))
    answer = lab.raw().ask_in_unknown_version()
    rows = [f"{r.api_key} v{r.min_version}…v{r.max_version}" for r in answer.api_keys]
    refusal = f"{word(answer.error_code)}: {', '.join(rows)}"
    lab.note("client", "broker", "ApiVersions v99", refusal)


@program(
    "requests-offered", "ApiKeys, ApiVersionsResponse: every request there is", profiles=("tv2",)
)
def requests_offered(lab: Lab) -> None:
    """What a client may ask at all, in which versions. Produce is announced from version 0 on
    and closes the connection below 3 (KIP-896)."""
    versions = lab.raw().ask_versions()
    for key in range(KEYS):
        low, high = versions.get(key, (0, -1))
        offered = f"v{low}…v{high}" if key in versions else NOT_OFFERED
        lab.note("client", "broker", f"request {key} {_name(key)}", offered)


def _name(key: int) -> str:
    """What kio calls this request; "" where it knows none."""
    for version in range(HIGHEST):
        try:
            return load_request_schema(key, version).__name__.removesuffix("Request")
        except (UnknownAPIKey, UnknownEntity):
            continue
    return ""


def _levels(answer: Any, field: str, low: str, high: str) -> str:
    rows = [f for f in getattr(answer, field, ()) if f.name == FEATURE]
    return f"{getattr(rows[0], low)}…{getattr(rows[0], high)}" if rows else "none"
