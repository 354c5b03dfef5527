"""Seasons and a trend by default: where a table is a series, and forecasts gain by them."""

from __future__ import annotations

from dataclasses import replace

from ..learning.seasons.search import FoundSeasons, find_seasons
from ..learning.seasons.series import is_regular
from ..learning.trend import Lines
from .fitting import still_good
from .job import Job
from .settings import Settings


def with_seasons(job: Job) -> Job:
    """Add a trend and seasons that held-out future rows ask for; nothing where a kernel or a trend
    is given, and where the rows are no series."""
    if not may_search(job):
        return job
    s = job.settings
    if still_good(job):
        found = job.earlier.sum.seasons
        return job if found is None else replace(job, settings=with_found(s, found))
    dates = bool(s.prior.dates)
    column = s.prior.dates[0] if dates else 0
    if not dates and (job.rows.X.shape[1] > 1 or not is_regular(job.rows.X[:, 0])):
        return job
    job.say.task = "looking for seasons"
    logs = {"auto": (False, True), "log": (True,)}.get(s.transforms.y or "", (False,))
    found = find_seasons(job.rows, column, s.prior.levels, dates=dates, logs=logs)
    job.say("no season and no trend" if found is None else found.words())
    return job if found is None else replace(job, settings=with_found(s, found))


def may_search(job: Job) -> bool:
    """Whether kernel and trend are ours to choose, and rows are there to judge them."""
    s = job.settings
    free = s.prior.kernel is None and s.prior.trend is None and s.anchors.Z is None
    learns = s.learning.on and s.learning.averaging != "average" and not s.answers.experts
    known = s.prior.dates or (job.rows.X.shape[1] == 1 and not s.prior.levels)
    return bool(free and learns and known and job.on_disk is None and job.rows.w.size)


def with_found(settings: Settings, found: FoundSeasons) -> Settings:
    """Take what was found as if it had been asked for."""
    prior, k = settings.prior, found.column
    name = k if prior.names is None else prior.names[k]
    lines = Lines((name,), (k,), found.degree, found.seasons)
    transforms = settings.transforms.without_auto()
    return replace(
        settings,
        prior=replace(prior, trend=lines, seasons=found),
        transforms=replace(transforms, y="log") if found.log else transforms,
    )
