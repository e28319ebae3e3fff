"""``fedtheory verify``: everything published is checked, or made anew; what was found is written, and told shortly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..evidence import assess, kept_searches, scorecard, work_done
from ..evidence.result_cache import Cache
from ..evidence.verdict import Verdict
from ..evidence.verdict_rule import PROVED_AND_REFUTED
from ..files import read_json
from . import published_checks

Progress = Callable[[str, int, int], None]
"""Called with what is done, work done, work in all."""

DRAWN = Path("figures")
"""Folder of figures, unless another one is asked for: of a checkout of the sources, wherever the command runs."""

MOST_TOLD = 8
"""Differences that are told; all are in the report's folder."""


@dataclass
class Done:
    """Findings of a verification.

    Attributes:
        card: the scorecard.
        differences: what is published and does not follow, or differs: a line each.
        contradicted: the claims that are proved and refuted, with a sentence on each.
        report: the folder that it is written to.
        said: lines on what was done.
    """

    card: dict[str, Any]
    differences: list[str]
    contradicted: Mapping[str, str]
    report: Path
    said: list[str] = field(default_factory=list)

    def summary(self) -> list[str]:
        """Say in a few lines what was found, and what to look at next."""
        words = Counter(row["verdict"] for row in self.card["rows"])
        verdicts = ", ".join(f"{number} {word}" for word, number in words.most_common())
        found = f"{len(self.differences)} differences" if self.differences else "nothing differs from what is published"
        refuted = next((f"{r['id']}@{r['edition']}" for r in self.card["rows"] if r["verdict"] == "refuted"), "")
        return [
            f"{len(self.card['rows'])} claims: {verdicts}",
            *self.said,
            f"result: {found}",
            f"the table: {self.report / 'scorecard.json'}; --table prints it",
            *([f"next: fedtheory replay {refuted}, fedtheory show {refuted}, fedtheory report"] if refuted else []),
        ]

    def told(self) -> list[str]:
        """Return the first differences as lines, and where the others are."""
        lines = [f"differs: {line}" for line in self.differences[:MOST_TOLD]]
        more = len(self.differences) - MOST_TOLD
        return lines + [f"{more} more differences: {self.report / 'differences.json'}"] * (more > 0)

    def write(self) -> None:
        """Write scorecard and differences to the report's folder."""
        scorecard.write_json(self.report / "scorecard.json", self.card)
        differences = self.report / "differences.json"
        if self.differences:
            scorecard.write_json(differences, {"differences": self.differences})
        else:
            differences.unlink(missing_ok=True)


def check(report: Path, figures: Path, fresh: bool, progress: Progress) -> Done:
    """Check everything that is published; see ``published_checks``.

    Args:
        report: results of a run that is stopped are kept below it, as long as it has not ended.
        fresh: nothing of an earlier run is used.
    """
    kept = report / "cache" / "checks"
    for file in kept.glob("*.json") if fresh else ():
        file.unlink()
    where = published_checks.places(None if figures == DRAWN else figures)
    found = published_checks.check_published(where, progress=lambda _, *at: progress("checks", *at), kept=kept)
    of = found.counts
    parts = (
        (
            of.get("proofs", 0),
            f"proofs, also open ones ({of.get('kernel', 0)} composed: by the kernel and the checker that stands alone)",
        ),
        (of.get("instances", 0), "instances in exact arithmetic"),
        (of.get("candidates", 0), "candidates that searches kept"),
        (of.get("certificates", 0), "certificates of worst cases"),
        (of.get("figures", 0), "figures by their numbers"),
    )
    said = [
        "checked anew: units and consistency of all, " + ", ".join(f"{n} {what}" for n, what in parts if n),
        f"taken as published: {', '.join(found.left_out)} (of which `verify --search` makes the first two anew)",
    ]
    if found.resumed:
        said.append(f"{found.resumed} checks were done by a run before, which was stopped; --fresh does all again")
    done = Done(found.card, [each.text for each in found.differences], found.contradicted, report, said)
    done.write()
    _write_proofs(report, found.contradicted)
    scorecard.write_json(report / "work.json", work_done.record(report / "work.json", found.work))
    return done


def depth(full: bool) -> assess.Depth:
    """Return how much is searched."""
    return assess.FULL if full else assess.QUICK


def expected(depth: assess.Depth) -> float:
    """Return the CPU seconds that it takes to make everything anew, as measured at publication; of searches that go
    deeper in proportion to how many candidates they look at.
    """
    deeper = depth.looks / assess.QUICK.looks
    seconds = work_done.recorded(work_done.FILE).items()
    others = (*published_checks.KINDS, "errata")
    anew = {name: each for name, each in seconds if name.partition(" ")[0] not in others}
    return sum(each * (deeper if name.startswith("search ") else 1) for name, each in anew.items())


def search_anew(
    report: Path, figures: Path, full: bool, fresh: bool, accept: bool, device: str, progress: Progress
) -> Done:
    """Gather all evidence anew, draw the figures of claims, and compare the verdicts with the published ones.

    Args:
        accept: what was found is published, unless a claim is proved and refuted.
    """
    from ..papers import index
    from ..papers.saved_certificates import publish
    from . import drawing

    cache = None if fresh else Cache(report / "cache")
    spent: dict[str, float] = {}
    drawings = drawing.figures_of_claims(figures)
    verdicts = assess.assess_all(
        depth=depth(full),
        progress=lambda _, *at: progress("evidence and figures", *at),
        cache=cache,
        beside=drawings,
        device=device,
        spent=spent,
    )
    card, searches = scorecard.to_json(verdicts), _searches(verdicts)
    contradicted = {v.claim: v.why for v in verdicts if v.verdict == PROVED_AND_REFUTED}
    for verdict in verdicts:
        if verdict.instance:
            scorecard.write_json(report / "instances" / f"{verdict.claim}.json", verdict.instance)
    scorecard.write_json(report / "searches.json", searches)
    scorecard.write_json(work := report / "work.json", work_done.record(work, spent))
    _write_proofs(report, contradicted)
    published = assess.PUBLISHED / published_checks.CARD
    if accept and not contradicted:
        scorecard.write_json(published, card)
        scorecard.write_json(kept_searches.FILE, searches)
        scorecard.write_json(work_done.FILE, work_done.record(work_done.FILE, work_done.recorded(work)))
        publish()
        index.refresh()
    said = [f"made anew: all evidence, {len(searches['searches'])} searches, {len(drawings)} figures in {figures}"]
    done = Done(card, scorecard.differences(card, read_json(published)), contradicted, report, said)
    done.write()
    return done


def _searches(verdicts: list[Verdict]) -> dict[str, Any]:
    return kept_searches.to_json({v.claim: v.search for v in verdicts if v.search})


def _write_proofs(report: Path, contradicted: Mapping[str, str]) -> None:
    """Write the proofs of claims that an instance refutes too."""
    from ..papers import claim
    from ..papers.proofs import prove
    from ..proof.step_certificates import chain_data

    for ref in contradicted:
        scorecard.write_json(report / "proofs" / f"{ref}.json", chain_data(prove(claim(ref))))
