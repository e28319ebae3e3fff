"""Commands that judge: proofs, instances, theorems of one's own, the scorecard."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..printing import (
    Progress,
    print_findings,
    print_json,
    print_judgement,
    print_markdown,
    print_scorecard,
    print_tree,
    print_wrapped,
)
from .app import Json, Ref, app

if TYPE_CHECKING:
    from ..evidence.judge import Judgement


@app.command()
def replay(
    instance: Annotated[
        str,
        typer.Argument(help="An instance file, as `refute` and `referee` write them, or a claim: its published one."),
    ],
    theorem: Annotated[
        Path | None, typer.Option(help="The file or folder that states its claim, if it is your own. It is executed.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge an instance afresh, in rational and ball arithmetic; exit status 1 if it does not refute its claim, or if
    that has a complete proof too: one of the two is wrong. A certificate of a worst case is verified; exit status 1 if
    it proves nothing.

    Example: fedtheory replay fast.thm1@main
    """
    from contextlib import nullcontext

    from ..evidence.replay import ReplayError
    from ..evidence.replay import replay as judge_again
    from ..files import Damaged, read_json
    from ..papers import added, load
    from .certificates import is_certificate, replay_certificate

    try:
        with Progress() as progress, added(load(theorem)) if theorem else nullcontext():
            progress.doing(f"judging {instance}")
            file = _instance_file(instance)
            data = read_json(file)
            try:
                if is_certificate(data):
                    return replay_certificate(data, json)
                judgement = judge_again(data)
            except ReplayError:
                raise
            except ValueError as error:
                raise Damaged(file, str(error)) from error
            both = _proved_too(judgement)
    except ReplayError as error:
        print(f"fedtheory: replay failed: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    content = judgement.to_json() | both
    print_json(content) if json else print_judgement(content)
    if both or not judgement.refutes:
        raise typer.Exit(1)


def _proved_too(judgement: Judgement) -> dict[str, Any]:
    """The complete proof of what an instance refutes, told on standard error; as plain data, or none."""
    from ..evidence.verdict_rule import complete_proof, proved_and_refuted
    from ..proof.step_certificates import chain_data

    chain = complete_proof(judgement)
    if chain is None or chain.source is None:
        return {}
    ref = judgement.statement.ref
    said = proved_and_refuted(f"'{chain.source.name}', {len(chain.decisions)} steps", "this one")
    print(f"fedtheory: {ref}: {said}", file=sys.stderr)
    return {"proof": chain_data(chain)}


def _instance_file(named: str) -> Path:
    """The file of that name, or else the published instance of the claim of that name: the one that refutes it, or else
    the first that violates what it needs and does not state.

    Raises:
        FileNotFoundError: there is neither; a published one of the same name is pointed at.
    """
    from ..papers import claim, instance_path

    path = Path(named)
    if named and os.path.lexists(path):
        return path
    try:
        ref = claim(path.name.removesuffix(".json")).ref
    except ValueError:
        raise FileNotFoundError(f"{named}: no such file, and no claim either") from None
    published = instance_path(ref)
    if published is not None and not published.exists():
        published = next(iter(sorted((published.parents[1] / "needs").glob(f"{ref}.*.json"))), None)
    if published is None:
        raise FileNotFoundError(f"{named}: no such file, and {ref} has no published instance")
    if ref.partition("@")[0] != named.partition("@")[0]:
        raise FileNotFoundError(
            f"{named}: no such file; `fedtheory verify` and `refute --save` write some, and the published one is "
            f"replayed by the name {ref}"
        )
    return published


@app.command()
def refute(
    ref: Ref,
    save: Annotated[Path | None, typer.Option(help="Write the instance here.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    json: Json = False,
) -> None:
    """Search for an instance that refutes a claim under every reading, or else take the one that its paper constructs;
    exit status 1 if there is none, or if the claim has a complete proof too: one of the two is wrong.

    Example: fedtheory refute fast.thm1 --save mine.json
    """
    from ..evidence.constructions import construct
    from ..evidence.judge import Judgement
    from ..evidence.refute import refute as search_instance
    from ..evidence.scorecard import write_json
    from ..files import check_target

    if save:
        check_target(save, ".json")
    with Progress() as progress:
        result = search_instance(ref, seed=seed, progress=lambda done, total: progress(f"{ref}: search", done, total))
    if not isinstance(result, Judgement):
        best = {
            "claim": result.claim,
            "searched": result.searched,
            "not_searched": result.left_out,
            "unseen_terms": list(result.unseen),
            "candidates": result.candidates,
            "admissible": result.admissible,
            "largest_ratio": result.best.ratio if result.best else 0.0,
        }
        if known := construct(result.claim):
            falling = sum(reading.refutes for reading in known.readings)
            best["constructed"] = f"an instance that refutes it under {falling} of {len(known.readings)} readings"
        print_json(best) if json else print_tree(best)
        raise typer.Exit(1)
    content = result.to_json()
    if save:
        write_json(save, content)
    both = _proved_too(result)
    print_json(content | both) if json else print_judgement(content)
    if both:
        raise typer.Exit(1)


@app.command()
def prove(
    ref: Annotated[str | None, typer.Argument(help="A claim: fast.thm1 or fast.thm1@main.")] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the proof here, as JSON: of the claim, or the chain with its certificates."),
    ] = None,
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Only check the published certificates: no search, no solver.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Check the kernel's proofs, or the certificate of a worst case, in this file, with the "
            "checker that stands alone."
        ),
    ] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="List the claims whose steps are decided, with the rule that is missing.")
    ] = False,
    export: Annotated[
        str | None, typer.Option(help="Write the published proof for another program: coq. It is not run.")
    ] = None,
    into: Annotated[Path | None, typer.Option(help="With --export: the file; else it is printed.")] = None,
    worst_case: Annotated[
        Path | None, typer.Option(help="Prove the claim's numeric edition: with the numbers of this certificate.")
    ] = None,
    json: Json = False,
) -> None:
    """Decide every step of a claim's proof, in the paper's order; exit status 1 if a step is open. It says `proved`
    where the kernel composes the proof, else `steps decided`, and what axioms and assumptions
    are used. With --check: exit status 1 if a proof in the file is none, 2 if the file has none.

    Example: fedtheory prove fast.thm2@sharper
    """
    if sum(map(bool, (ref, check, missing))) != 1:
        raise typer.BadParameter("allowed is one of a claim, --check FILE and --missing")
    if worst_case and (recheck or export or into or not ref):
        raise typer.BadParameter("--worst-case FILE: allowed is a claim, with --save and --json")
    if not ref and (save or recheck or export or into):
        raise typer.BadParameter("--check FILE, --missing: allowed beside is --json")
    if (export or into) and (save or recheck or json):
        raise typer.BadParameter("--export: allowed beside is --into FILE")
    if check:
        _check(check, json)
    elif missing:
        _missing(json)
    elif export or into:
        assert ref
        _export(ref, export or "", into)
    else:
        assert ref
        _prove(ref, save, recheck, worst_case, json)


def _prove(ref: str, save: Path | None, recheck: bool, worst_case: Path | None, json: bool) -> None:
    from ..files import check_target
    from ..papers import claim
    from ..papers.proofs import prove as decide
    from ..papers.saved_certificates import reverify
    from ..proof.step_certificates import saved_data
    from ..proof.text import describe, lines

    statement = claim(ref)
    if save:
        check_target(save, ".json")
    if worst_case:
        from ..files import read_json
        from ..proof.worst_case_editions import NumericEdition

        edition = NumericEdition(statement, read_json(worst_case))
        with Progress() as progress:
            progress.doing(f"{statement.ref}: proof with the certificate's numbers")
            chain = edition.prove()
        if not json:
            print(edition.statement())
    else:
        with Progress() as progress:
            progress.doing(f"{statement.ref}: {'certificates' if recheck else 'proof'}")
            chain = reverify(statement.ref) if recheck else decide(statement)
    if save:
        from ..evidence.scorecard import write_json

        write_json(save, saved_data(chain))
    if json:
        print_json(describe(chain))
    else:
        for line in lines(chain):
            print_wrapped(line, " " * (len(line) - len(line.lstrip()) + 4))
    if chain.outcome != "proved":
        raise typer.Exit(1)


def _export(ref: str, language: str, into: Path | None) -> None:
    from ..files import check_target, write_beside
    from ..papers import claim
    from ..papers.saved_certificates import reverify
    from ..proof.coq import EXPORTS, exported

    if language not in EXPORTS:
        raise typer.BadParameter(f"--export {language}: allowed is {', '.join(EXPORTS)}")
    if into:
        check_target(into, EXPORTS[language])
    text = exported(reverify(claim(ref).ref))
    if into:
        write_beside(into, text.encode())
    else:
        print(text)


def _check(file: Path, json: bool) -> None:
    from ..papers.claims_in_files import compare_with_known
    from ..proof.saved_proofs import Unreadable, checked_in

    try:
        found = [each.compared() if compare_with_known(file, each.claim) else each for each in checked_in(file)]
    except ValueError as error:
        print(f"fedtheory: {error}", file=sys.stderr)
        raise typer.Exit(2 if isinstance(error, Unreadable) else 1) from None
    if json:
        print_json([{name: value for name, value in each._asdict().items() if value} for each in found])
    else:
        print("\n\n".join(each.text for each in found))


def _missing(json: bool) -> None:
    from ..papers.saved_certificates import steps_decided
    from ..proof.verdict_word import table

    rows = steps_decided()
    if json:
        print_json(rows)
    else:
        print_markdown("\n".join(table(rows)))


@app.command()
def errata(
    paper: Annotated[str, typer.Option(help="A paper: fast, fedau, flics, safari, khaled2020 or li2020.")],
    into: Annotated[Path | None, typer.Option(help="Replace the generated tables of this Markdown file.")] = None,
    report: Annotated[Path, typer.Option(help="Findings are kept under this folder.")] = Path("report"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do not use findings kept from earlier runs, and keep how long each took.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what the checks have against a paper's printed statements: each finding with the check that found it.
    Findings are kept, and used again as long as code and papers are the same.

    Example: fedtheory errata --paper safari
    """
    from ..evidence import work_done
    from ..evidence.findings import errata as find
    from ..evidence.result_cache import Cache
    from ..evidence.scorecard import write_json
    from ..files import check_target
    from ..report.generated_docs import around, generated, put

    if into:
        check_target(into), around(into)
    with Progress() as progress:
        progress.doing("reading the claims")
        spent: dict[str, float] = {}
        rows = find(paper, None if fresh else Cache(report / "cache"), lambda *at: progress("errata", *at), spent)
    if fresh:
        write_json(report / "work.json", work_done.record(report / "work.json", spent))
    if into:
        put(into, generated(paper, rows))
    print_json([row.data() for row in rows]) if json else print_findings(rows)


@app.command()
def referee(
    theorem: Annotated[Path, typer.Argument(help="A file that defines PAPER or CLAIM, or a folder. It is executed.")],
    save: Annotated[Path | None, typer.Option(help="Write the report here: .html, .md or .json.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    candidates: Annotated[
        int, typer.Option(help="How many settings the search draws of each theorem; time is in proportion.", min=1)
    ] = 1500,
    json: Json = False,
) -> None:
    """Examine your own theorems: proofs, units, contradictions, counterexamples, tight constants; see docs/referee.md.
    The file is executed: only use files that you trust. Exit status 0 if every theorem is proved or survived, 1 if one
    is refuted, contradictory or needs what it does not assume, 2 if one is not judged: open, untested, or a file that
    cannot be used.

    Example: fedtheory referee docs/referee/my_theorem.py --save report.html
    """
    with Progress() as progress:
        progress.doing(f"reading {theorem}")
        from ..evidence.referee import SUFFIXES, status
        from ..evidence.referee import referee as examine_file
        from ..evidence.referee import save as write
        from ..files import check_target

        if save:
            check_target(save, ".html", *SUFFIXES)
        reports = examine_file(theorem, seed=seed, candidates=candidates, progress=progress)
    if save and save.suffix == ".html":
        from ..report.site.refereed_page import save as write_pages

        write_pages(reports, save)
    elif save:
        write(reports, save)
    print_json([r.data() for r in reports]) if json else print("\n".join(r.markdown() for r in reports))
    if code := status(reports):
        raise typer.Exit(code)


@app.command()
def verify(
    table: Annotated[bool, typer.Option("--table", help="Print every claim's row.")] = False,
    search: Annotated[
        bool, typer.Option("--search", help="Make everything anew, searches too, and draw the figures: minutes.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="With --search: hours of it.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on with an earlier run that was stopped.")] = False,
    accept: Annotated[bool, typer.Option("--accept", help="With --search: publish what was found.")] = False,
    device: Annotated[
        str,
        typer.Option(help="With --search: where claims are measured, cpu, cuda, cuda:1, auto; the evidence says it."),
    ] = "cpu",
    report: Annotated[Path, typer.Option(help="Folder of what is written: scorecard.json, differences.json.")] = Path(
        "report"
    ),
    figures: Annotated[Path, typer.Option(help="Folder of the figures of theorems, and of their numbers.")] = Path(
        "figures"
    ),
    json: Json = False,
) -> None:
    """Check anew all that is published, and search nothing: proofs, instances, certificates, units, what searches found
    largest, and whether scorecard, findings and figures' numbers follow. With --search, make all of it anew. What was
    stopped goes on. Exit status 1 if something does not follow or differs, or a claim is proved and refuted, whose
    proof is then written to the report's folder too. A refuted theorem is no error.

    Example: fedtheory verify
    """
    if (full or accept or device != "cpu") and not search:
        raise typer.BadParameter("--full, --accept, --device: allowed is with --search")
    from datetime import timedelta

    from ..files import check_target

    check_target(report / "scorecard.json"), check_target(figures / "any")
    if search:
        from ..federations.devices import find_device

        find_device(device)
    print("fedtheory: verify: loading the claims", file=sys.stderr, flush=True)
    from ..report import verification

    if search:
        took = timedelta(seconds=round(verification.expected(verification.depth(full)) / (os.cpu_count() or 1)))
        said = f"all anew takes about {took} on {os.cpu_count()} cores; what is stopped goes on"
        print(f"fedtheory: verify: {said}", file=sys.stderr, flush=True)
    with Progress() as progress:
        if search:
            done = verification.search_anew(report, figures, full, fresh, accept, device, progress)
        else:
            done = verification.check(report, figures, fresh, progress)
    for ref, why in done.contradicted.items():
        print(f"fedtheory: {ref}: {why}", file=sys.stderr)
    if json:
        print_json(done.card | {"differences": done.differences})
    elif table:
        print_scorecard(done.card)
    if not json:
        for line in done.summary():
            print_wrapped(line, "  ")
    for line in done.told():
        print(f"fedtheory: {line}", file=sys.stderr)
    if done.differences or done.contradicted:
        raise typer.Exit(1)
