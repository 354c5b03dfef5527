"""Ledger: rows that are added, forgotten, replaced and audited, and the model of them."""

from __future__ import annotations

import builtins
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..messages.probe import probe
from ..modelfile.arrays import sha256_of
from ..rows.ids import Id
from . import adding, audit, certificate, explaining, forgetting, merging
from .adding import check_relearning, check_size
from .certificate import Certificate
from .core import LedgerFile
from .cutting import CutRows
from .forgetting import check_id
from .models import all_of
from .state import RunningTotal, State
from .storage.chunks import ChunkEntry, ChunkTable, make_kept
from .storage.database import Database
from .storage.events import Event, moment
from .table import GivenRows, TableRoles, check_text
from .template import Template
from .tuning import TUNING

Array = np.ndarray
#: Chunks that may come before the sum is stored again: opening a ledger adds up their messages.
TAIL = 64


class Ledger(LedgerFile):
    """Rows in one file, with the model of them: rows can be added, forgotten and replaced.

    Every change is on the disk when its call returns, is done completely or not at all, and is
    recorded. The model depends on the rows alone, not on the order in which they came: forgetting
    rows gives bitwise the model that never had them, on the same basis (kernel, noise, anchors,
    scaling). The basis itself is learnt by `relearn`, and remembers rows until the next `relearn`.

    Parameters
    ----------
    path : str or path
        The file, by custom with the ending ".clgdb"; made where it does not exist. Beside it are
        files "-wal", "-shm" and "-lock", and with more than 10⁶ rows a folder ".rows", from which
        models take their nearest rows. A local disk.
    model : CommitteeRegressor or CommitteeClassifier, default=None
        For a new ledger. A fitted model gives its basis, without rows (see `Ledger.of` for the
        rows too). One that is not fitted: models are fitted to all rows whenever they are asked
        for, until `relearn` is called; so are models of up to 2,000 rows, which have no anchors.
    target : str, default=None
        For a new ledger: the column of tables that is y.
    keep : list of str, default=None
        For a new ledger: columns of tables that are kept for `where` and `by`, and are no inputs.
        None: with a model fitted to named columns, all others of the first table.
    site : str, default=""
        A name that new chunks carry, and that begins the ids of chunks that are given none.
    who : str, default=""
        A name that events carry.
    types : list of classes, default=()
        Kernels and likelihoods of your own, as in `load`.

    Notes
    -----
    One process writes at a time: the first that changes something, until it is closed. Others read
    what was committed last. A ledger can be used by several threads, which take turns.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, Ledger
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(120, 1))
    >>> y = np.sin(X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/plant.clgdb", CommitteeRegressor(random_state=0))
    ...     _ = ledger.add(X[:60], y[:60], id="May", source="lab")
    ...     _ = ledger.add(X[60:], y[60:], id="June", source="field")
    ...     before = ledger.state
    ...     done = ledger.forget("June", reason="withdrawn")
    ...     _ = ledger.add(X[60:], y[60:], id="June", source="field")
    ...     same = ledger.state == before
    ...     ledger.close()
    >>> done.rows, same
    (60, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Any = None,
        *,
        target: str | None = None,
        keep: Sequence[str] | None = None,
        site: str = "",
        who: str = "",
        types: Sequence[type] = (),
    ) -> None:
        asked = TableRoles(None, target, None if keep is None else tuple(keep))
        super().__init__(path, model, asked, site, who, types)

    # -- verbs that change ----------------------------------------------------------------------

    def add(
        self,
        X: Any,
        y: Any = None,
        *,
        id: int | str | None = None,
        source: str = "",
        kept: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        at: Any = None,
        reason: str = "",
    ) -> int:
        """Add rows as one chunk, and learn from them.

        Parameters
        ----------
        X : array-like of shape (n, d), a frame, or a list of dicts
            A frame may have the target and the columns to keep beside the inputs.
        y : array-like of shape (n,) or (n, p), default=None
            None: the target column of X.
        id : int or str, default=None
            A name for the chunk. The same rows under the same id are added once: a second call
            changes nothing. Other rows under the same id are refused. None: a number.
        source : str, default=""
            Where the rows come from, for `explain`, `by` and `where`.
        kept : dict of columns or frame, default=None
            Columns to keep that are not in X.
        sample_weight, exposure : array-like of shape (n,), default=None
            As in `fit`.
        at : date, datetime or str, default=None
            When the rows were known, for `as_of`; not before the last event. None: now.
        reason : str, default=""
            A note for the event.

        Returns
        -------
        lsn : int
            The number of the event.
        """
        one = {
            "X": X, "y": y, "id": id, "source": source, "kept": kept,
            "sample_weight": sample_weight, "exposure": exposure,
        }  # fmt: skip
        return self.add_all([one], at=at, reason=reason)[0]

    def add_all(
        self, batches: Sequence[Mapping[str, Any]], *, at: Any = None, reason: str = "",
        refused: dict[int, ValueError] | None = None,
    ) -> list[int]:  # fmt: skip
        """Add several chunks as one event: all of them or none, and the disk is waited for once.

        Parameters
        ----------
        batches : list of dicts
            Each has the arguments of `add` of one chunk: X, y, id, source, kept, sample_weight,
            exposure.
        at, reason : as in `add`
        refused : dict, default=None
            Where it is given, chunks that are refused (by their place in `batches`) are put into
            it with their errors, and the others are added; their number is then -1.

        Returns
        -------
        lsns : list of int
            The number of the event of each chunk: the same for all that are new.
        """
        with self._turn:
            self._own()
            now = self._now
            new = adding.NewChunks(self._roles, self._template, now, first=not now.lsn)
            lsns = []
            for place, one in enumerate(batches):
                try:
                    lsns.append(new.take(one, self._free_id))
                except ValueError as error:
                    if refused is None:
                        raise
                    refused[place] = error
                    lsns.append(-1)
            if new.chunks:
                self._add(new, self._time(at), reason)
            return lsns

    def _add(self, new: adding.NewChunks, at: Any, reason: str) -> int:
        old = self._now
        total = old.total
        if new.template.exact:
            total = new.template.heard(total, [one.named for one in new.chunks if one.named])
        few = old.n + sum(one.rows.n for one in new.chunks) <= TUNING.rows_in_memory
        if not few:
            self._cut = CutRows()
        with self._step() as con:
            told = self._with_roles(con, new.roles, new.template)
            table, entries = self._table(con), []
            for one in new.chunks:
                entry = ChunkEntry(
                    0, old.lsn + 1, one.id, at, self.site, one.source, one.rows.n, one.sha256
                )
                entries.append(table.insert(entry, one.rows, one.columns))
                if few:
                    self._cut.note(new.template, entries[-1], one.named)
            told["chunks"] = [entry.listed() for entry in entries]
            self._record(con, old.plus(total, *entries), "add", reason, told, at)
            self._since += len(entries)
            if self._since >= TAIL:
                self._write_snapshot(con, self._now)
        return self._now.lsn

    def _with_roles(self, con: Any, roles: TableRoles, template: Template) -> dict[str, Any]:
        """Note which columns are inputs and which are kept, once the first rows have come."""
        told = {}
        if roles != self._roles:
            told["roles"] = roles.text()
            self._db.note(roles=roles.text())
            self._roles, self._template = roles, template
        if roles.keep and not self._kept:
            make_kept(con, roles.keep)
            self._kept = True
        return told

    def _free_id(self, taken: Mapping[Id, Any]) -> Id:
        count = len(taken)
        while (id := f"{self.site}/{count}" if self.site else count) in taken:
            count += 1
        return id

    def forget(
        self,
        ids: Any = None,
        *,
        where: str | None = None,
        rows: Mapping[int | str, Sequence[int]] | None = None,
        reason: str = "",
    ) -> Certificate:
        """Forget rows: bitwise the model that never had them, on the same basis.

        Their bytes are erased from all files of the ledger. A chunk that loses some of its rows is
        replaced by the others. Earlier versions of chunks (`replace`) lose these rows too.

        Parameters
        ----------
        ids : int, str or list of these, default=None
            Chunks to forget.
        where : str, default=None
            A condition of SQL on the kept columns and id, site, source, at and lsn of chunks:
            ``"customer = 7"``. It is not recorded, since it may name what is to be forgotten.
        rows : dict of id to positions, default=None
            Some rows of chunks, counted from 0 in the order in which they came.
        reason : str, default=""
            A note for the event, which stays.

        Returns
        -------
        certificate : Certificate
            Print it, or see `certify`.
        """
        if sum(one is not None for one in (ids, where, rows)) != 1:
            raise ValueError("give one of ids, where and rows")
        with self._turn:
            self._own()
            with self._step() as con:
                table = self._table(con)
                gone = forgetting.meant(table, self._now, ids, where, rows)
                lost = forgetting.less_rows(table, self._template, self._now, gone)
                told = {
                    "rows": lost.rows, "chunks": lost.chunks, "first": lost.first,
                    "exactness": self._exactness,
                }  # fmt: skip
                self._record(con, lost.state, "forget", reason, told)
                self._cut.keep_only(self._now.entries.values())
                self._write_snapshot(con, self._now)
                self._leave_no_trace()
            erased, events = self._erase(), self.events()
            return certificate.certificate_of(
                self._db.name, events[-1], self._remembers(events[-1], events), erased=erased,
                rebuilt=False,
            )  # fmt: skip

    @property
    def _exactness(self) -> str:
        if not self._template.fitted:
            return certificate.FITTED
        return certificate.EXACT if self._template.exact else certificate.SWEPT

    def replace(
        self,
        id: int | str,
        X: Any,
        y: Any = None,
        *,
        kept: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        at: Any = None,
        reason: str = "",
    ) -> int:
        """Replace the rows of a chunk by others, as if these had come in their place.

        The earlier rows stay in the file for `as_of`, and count no more; `forget` erases them too.

        Parameters
        ----------
        id : int or str
            A chunk of the ledger.
        X, y, kept, sample_weight, exposure, at, reason : as in `add`

        Returns
        -------
        lsn : int
            The number of the event.
        """
        with self._turn:
            self._own()
            (id,) = forgetting.known_ids(id, self._now)
            roles, rows, columns = self._roles.read(
                X, y, sample_weight, exposure, kept, first=False
            )
            state, when = self._now, self._time(at)
            old, sha = state.entries[id], rows.digest(columns)
            if old.sha256 == sha:
                return old.lsn
            check_size(self._template, state.n - old.n + rows.n)
            self._template.checked(id, rows)
            with self._step() as con:
                table = self._table(con)
                total = self._template.minus(state.total, [(id, table.checked(old))])
                total = self._template.plus(total, [(id, rows)])
                entry = ChunkEntry(0, state.lsn + 1, id, when, old.site, old.source, rows.n, sha)
                table.retire(old, entry.lsn)
                entry = table.insert(entry, rows, columns)
                told = {"chunks": [entry.listed()], "old": old.sha256}
                self._record(
                    con, state.changed(total, [id], [entry]), "replace", reason, told, when
                )
                self._write_snapshot(con, self._now)
            return self._now.lsn

    def merge(self, other: Ledger, *, reason: str = "") -> int:
        """Add all chunks of another ledger on the same basis, which stays as it is.

        The sums of both are added, exactly. A chunk that both have with the same rows counts once;
        with other rows it is refused.

        Parameters
        ----------
        other : Ledger
            On the same basis: begun from one model, and not relearnt since.
        reason : str, default=""
            A note for the event.

        Returns
        -------
        lsn : int
            The number of the event.
        """
        if not isinstance(other, Ledger) or other is self:
            raise ValueError("other: give another Ledger")
        one, two = sorted((self, other), key=builtins.id)  # threads may merge both ways
        with one._turn, two._turn:
            self._own()
            other._catch_up()
            roles = self._roles, other._roles
            merging.check_alike(self._template, other._template, roles)
            new = merging.new_chunks(self._now, other._now)
            check_size(self._template, self._now.n + sum(chunk.n for chunk in new))
            with self._step() as con, other._looking() as source:
                return self._merge(con, other, other._table(source), new, reason)

    def _merge(
        self, con: Any, other: Ledger, theirs: ChunkTable, new: list[ChunkEntry], reason: str
    ) -> int:
        old, state, when = self._now, other._now, self._time(None)
        told: dict[str, Any] = {"head": state.head, "state": state.hash}
        if new:
            roles = replace(other._roles, target=self._roles.target)
            template = replace(self._template, names=roles.names)
            told.update(self._with_roles(con, roles, template))
        alike = len(new) == len(state.entries) and other._db.meta()["probe"] == probe()
        both = alike and old.total is not None and state.total is not None
        table, found = self._table(con), []
        total = RunningTotal(self._template, old.total)
        for one in new:
            rows = theirs.checked(one)
            entry = replace(one, lsn=old.lsn + 1, at=when, site=one.site or other.site)
            found.append(table.insert(entry, rows, theirs.columns(one)))
            if not both:
                total.hear(one.id, rows)
        heard = old.total + state.total if both else total.result()  # type: ignore[operator]
        told["chunks"] = [one.listed() for one in found]
        self._record(con, old.changed(heard, (), found), "merge", reason, told, when)
        self._write_snapshot(con, self._now)
        return self._now.lsn

    def relearn(self, *, reason: str = "") -> int:
        """Learn a new basis from the rows that are left, and nothing else.

        Kernel, noise, anchors, scaling, transforms and the scale of errors are those that a ledger
        of these rows alone would have, with the same seed; the earlier basis is erased.

        Parameters
        ----------
        reason : str, default=""
            A note for the event.

        Returns
        -------
        lsn : int
            The number of the event.
        """
        with self._turn:
            self._own()
            old = self._now
            check_relearning(old.n)
            with self._looking() as con:
                table = self._table(con)
                parts = [(one.id, table.checked(one)) for one in old.ordered()]
            template = Template.of(self._template.fit(parts), self._roles.names)
            total = RunningTotal(template, None).all(parts).result()
            state = replace(State.of(template.id, total, old.entries.values()), lsn=old.lsn)
            with self._step() as con:
                data = template.to_bytes()
                self._write_basis(con, data)
                self._template = template
                told = {"basis": sha256_of(data), "id": template.id, "rows": old.n}
                self._record(con, state, "relearn", reason, told)
                self._write_snapshot(con, self._now)
                self._leave_no_trace()
            self._erase()
            return self._now.lsn

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        path: str | os.PathLike[str],
        ids: Any = None,
        source: str = "",
        kept: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        target: str | None = None,
        keep: Sequence[str] | None = None,
        site: str = "",
        who: str = "",
        types: Sequence[type] = (),
    ) -> Ledger:
        """Make a new ledger of a fitted model and the rows that it was fitted to.

        Parameters
        ----------
        model : fitted CommitteeRegressor or CommitteeClassifier
        X, y, kept, sample_weight, exposure, source : as in `add`, all rows that `fit` had
        path : str or path
            The file, which must not exist.
        ids : array-like of n ids, default=None
            The chunk of each row. None: chunks of neighbours, numbered.
        target, keep, site, who, types : as in the constructor

        Returns
        -------
        ledger : Ledger
            On the basis of the model; its means are refined no further by conjugate gradients, and
            those of up to 2,000 rows are fitted again.
        """
        if Database(path).exists:
            raise ValueError(f"{os.fspath(path)} exists: open it by Ledger(path), or give another")
        roles = TableRoles(Template.of(model).names, target, None if keep is None else tuple(keep))
        roles, rows, columns = roles.read(X, y, sample_weight, exposure, kept, first=True)
        own = replace(Template.of(model), names=roles.names)
        if own.fitted:
            _check_weight(model, own, rows)
        chunks = own.groups(rows) if ids is None else _labelled(ids, rows.n)
        groups = chunks if isinstance(chunks, dict) else dict(enumerate(chunks))
        source = check_text(source, "source")

        def fill(ledger: Ledger) -> None:
            for id, at in groups.items():
                some = rows.take(at)
                beside = {name: [v[i] for i in at] for name, v in columns.items()}
                new = adding.NewChunks(roles, own, ledger._now, first=False)
                new.put(id, some, beside, source)
                ledger._add(new, ledger._time(None), "")
            told = {"rows": rows.n, "id": own.id}  # the basis was learnt from these
            ledger._record(ledger._db.con, ledger._now, "fitted", "", told)

        asked, ledger = (
            TableRoles(None, target, None if keep is None else tuple(keep)),
            cls.__new__(cls),
        )
        LedgerFile.__init__(ledger, path, model, asked, site, who, types, fill)
        return ledger

    # -- verbs that read ------------------------------------------------------------------------

    def model(self) -> Any:
        """Make the fitted model of all rows: it predicts with error bars, as any other.

        Returns
        -------
        model : CommitteeRegressor or CommitteeClassifier
            A copy that does not change with the ledger. It is made once for each state. That of
            more than 10⁶ rows finds them on disk, and cannot learn from others.
        """
        return self.model_and_lsn()[0]

    def model_and_lsn(self) -> tuple[Any, int]:
        """Make the model of `model()`, and tell the number of the last event that is in it.

        Other threads may change the ledger while the model is made.

        Returns
        -------
        model, lsn : CommitteeRegressor or CommitteeClassifier, and int
        """
        with self._looking() as con:
            state, cached, template = self._now, self._cached, self._template
            if cached is not None and cached[0] == state.head:
                return explaining.copied(cached[1]), state.lsn
            models, made = self._models(con), None
            named, parts = [], []
            if not models.in_memory(state.n):
                made = models.of(all_of(state.ordered()), state.total)
            elif template.fitted:
                named = self._cut.of(template, self._table(con), state.ordered())
            else:
                parts = self._table(con).parts(state.ordered())
        if made is None and template.fitted:
            made = template.put_together(named, state.total)
        elif made is None:
            made = template.fit(parts)
        with self._turn:
            self._cached = state.head, made
        return explaining.copied(made), state.lsn

    def as_of(self, when: Any) -> Any:
        """Make the model of the chunks that counted at a time, on the present basis.

        Rows that were forgotten since are not in it; those that were replaced since are.

        Parameters
        ----------
        when : int, date, datetime or str
            The number of an event, or a time (UTC where it has no zone; of a date its end).

        Returns
        -------
        model : CommitteeRegressor or CommitteeClassifier
        """
        with self._looking() as con:
            lsn, table = self._lsn_at(con, when), self._table(con)
            own = table.entries("lsn <= ? AND (gone IS NULL OR gone > ?)", (lsn, lsn))
            return explaining.model_of(self._models(con), own)

    def _lsn_at(self, con: Any, when: Any) -> int:
        if isinstance(when, (int, np.integer)) and not isinstance(when, bool):
            if not 0 <= when <= self._now.lsn:
                raise ValueError(f"when={when}: events are numbered from 0 to {self._now.lsn}")
            return int(when)
        at = moment(when, "when")
        found = con.execute("SELECT max(lsn) FROM event WHERE at <= ?", (at,)).fetchone()[0]
        if found is None:
            raise ValueError(f"when={when!r} is before this ledger began")
        return found

    def by(self, column: str, values: Sequence[Any] | None = None) -> dict[Any, Any]:
        """Make one model for each value of a column: of its rows alone, on the shared basis.

        Parameters
        ----------
        column : str
            A kept column, "source", "site" or "id".
        values : list, default=None
            Some of its values; None: all, up to 1,000.

        Returns
        -------
        models : dict of value to fitted model
        """
        with self._looking() as con:
            return explaining.models_by(self._models(con), column, values)

    def explain(self, X: Any, *, by: str = "source") -> explaining.LedgerExplanation:
        """Tell which sources move a prediction: each is left out in turn, with its rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or a frame
            Queries.
        by : str, default="source"
            What is left out: a value of "source", "site" or "id", or of a kept column.

        Returns
        -------
        explanation : LedgerExplanation
            `values`, and for each value and query the mean with all rows, without these rows, and
            both standard deviations; of classes probabilities. Print it.
        """
        with self._looking() as con:
            return explaining.without_each(self._models(con), self.model(), X, by)

    def certify(self, lsn: int | None = None) -> Certificate:
        """Certify a forgetting: what was forgotten, how exactly, and what remembers it.

        The state is computed again from the rows that are left and compared, which takes as long
        as learning from them.

        Parameters
        ----------
        lsn : int, default=None
            The number of the event; None: the last forgetting.

        Returns
        -------
        certificate : Certificate
        """
        with self._looking() as con:
            events = self.events()
            found = [one for one in events if one.kind == "forget" and lsn in (None, one.lsn)]
            if not found:
                raise ValueError(f"lsn={lsn}: nothing was forgotten by such an event")
            audit.check_sum(self._template, self._now, self._table(con))
            erased = self._db.meta()["erase"] != "due"
            return certificate.certificate_of(
                self._db.name, found[-1], self._remembers(found[-1], events), erased=erased,
                rebuilt=True,
            )  # fmt: skip

    def _remembers(self, event: Event, events: Sequence[Event]) -> tuple[str, ...]:
        """Name what was learnt with rows that an event forgot."""
        learnt = [one for one in events if one.kind in ("begin", "fitted", "relearn")][-1]
        first = event.details["first"]
        if not self._template.fitted or first is None or learnt.lsn > event.lsn:
            return ()
        if learnt.kind == "begin":  # the basis was learnt elsewhere
            return tuple(f"perhaps {one}" for one in self._template.remembering())
        return self._template.remembering() if first < learnt.lsn else ()

    def verify(self, head: str | None = None) -> dict[str, Any]:
        """Compare everything with its hashes, and the sum with all messages added up again.

        Parameters
        ----------
        head : str, default=None
            The `head` that this ledger had at some earlier time, noted elsewhere: an event has to
            have it. Without it, a file whose events were all rewritten looks whole.

        Returns
        -------
        found : dict
            Numbers of chunks, rows and events, and hashes. Raises LedgerError where something is
            not as it was written; a damaged store beside the ledger is removed, and built again
            by the next model.
        """
        with self._turn:
            self._state = None
            with self._looking() as con:
                found = audit.verified(self._db.name, self._models(con), head)
                if found["store"] not in ("whole", "none"):
                    self._cached = None
                return found

    def export(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Make the records for an audit: chunks and events with their hashes, and coverage.

        Rows are not among them. Coverage is that of rows held out: up to 500, a fifth of those of
        some chunks, are predicted by the model of all others.

        Parameters
        ----------
        path : str or path, default=None
            A JSON file to write.

        Returns
        -------
        records : dict
        """
        with self._looking() as con:
            found = audit.records(self._db.name, self._models(con), self.events())
        if path is not None:
            audit.write_json(path, found)
        return found


def _labelled(ids: Any, n: int) -> dict[Id, Array]:
    """Positions of the rows of each id."""
    own = np.asarray(ids)
    if own.shape != (n,):
        raise ValueError(f"ids has shape {own.shape}: give one per row, ({n},)")
    each: dict[Id, list[int]] = {}
    for i, one in enumerate(own.tolist()):
        each.setdefault(check_id(one), []).append(i)
    return {id: np.array(at) for id, at in each.items()}


def _check_weight(model: Any, template: Template, rows: GivenRows) -> None:
    """Refuse rows that are not those of a fitted model, by their total weight."""
    weight = template.named("rows", rows).weight
    known = model.model_.total_weight
    if not np.isclose(weight, known, rtol=1e-9):
        raise ValueError(
            f"the rows have a total weight of {weight:g}, and the model was fitted to {known:g}: "
            "give all rows that fit had, and no others"
        )
