"""One name, one payer: no project is called as a region is.

Usage says who pays by name alone, and a region pays for its own work under its id, which is never
priced (metering.md). Were there a project of that name, its tasks there would be free and the
region's records its own to read. So whichever of the two comes second is refused; the projects that
ever had a task are durable for it. Must not decide anything else.
"""

from collections.abc import Container
from dataclasses import dataclass

from intertie.errors import IntertieError, Reason, error


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRecord:
    """A project that submitted a task. Since when, in UTC ms."""

    id: str
    since_ms: int = 0


def project_refusal(project: str, regions: Container[str]) -> IntertieError | None:
    """Why a project may not submit: a region has its name."""
    if project not in regions:
        return None
    return error(
        Reason.PERMISSION_DENIED,
        f"The project {project} has the name of the region {project}: "
        "usage could not tell who pays.",
        remedy="Use certificates of a project with another name.",
        metadata={"project": project, "region": project},
    )


def region_refusal(region: str, projects: Container[str]) -> IntertieError | None:
    """Why a region may not attach: a project has its name."""
    if region not in projects:
        return None
    return error(
        Reason.PERMISSION_DENIED,
        f"The region {region} has the name of the project {region}: usage could not tell who pays.",
        remedy="Join under another region id.",
        metadata={"project": region, "region": region},
    )
