"""The memory store as its users meet it: one class, whose methods are the modules of this package."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rdforget.store.identity import valid_user
from rdforget.store.records import Candidate, Category, Decision, Hit, Policy, Row
from rdforget.store.rows import rows_of
from rdforget.store.times import Clock, aware, utc_now

if TYPE_CHECKING:  # numpy comes with these, and only an open store needs it
    from rdforget.calls.base import Caller
    from rdforget.store.counting import Stats
    from rdforget.store.decay import Expired
    from rdforget.store.erasing import Erasure
    from rdforget.store.sessions import Session
    from rdforget.store.vectors import Vectors


def random_id() -> str:
    return secrets.token_hex(8)


class MemoryStore:
    """A folder with memories of many users, in one SQLite file. An instance belongs to one thread.

        with MemoryStore(Path("memories")) as store:
            store.add("ines", "Ines lives in Lyon.", slot="ines|lives in|")
            store.add("ines", "Ines lives in Paris.", slot="ines|lives in|")
            store.search("ines", "Where does Ines live?")[0].row.text  # Paris; Lyon is history
            store.erase("ines")

    A user id matches exactly. Every method raises StoreError for an id that is none, such as "" or "*".
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock = utc_now,
        vectors: Vectors | None = None,
        policy: Policy = Policy(),  # noqa: B008  # frozen
        ids: Callable[[], str] = random_id,
        create: bool = True,
        proof_key: bytes | None = None,
    ) -> None:
        """Open the store in a folder; `create` makes one where there is none. Raises StoreError.

        `vectors` must be the provider that the store began with; None takes that one, or the built-in for a new store.
        `proof_key`, to be kept elsewhere, makes proofs of erasure name the user, as a keyed hash.
        """
        from rdforget.store.index import Index, bind, provider
        from rdforget.store.keys import renew_keys
        from rdforget.store.reading import Reader
        from rdforget.store.schema import connect
        from rdforget.store.vectors import DEFAULT, make_vectors
        from rdforget.store.writing import Writer

        self.folder = folder
        self.policy = policy
        self._clock = clock
        self._proof_key = proof_key
        self._db = connect(folder, create=create)
        try:
            self.vectors = vectors or make_vectors(provider(self._db) or DEFAULT)
            self._index = Index(bind(self._db, self.vectors))
            renew_keys(self._db, self._now())
            self._writer = Writer(self._db, self._index, self.vectors, policy, ids)
            self._reader = Reader(self._db, self._index, self.vectors, policy)
        except BaseException:
            self._db.close()
            raise

    def add(
        self,
        user: str,
        text: str,
        *,
        slot: str | None = None,
        category: Category = Category.SEMANTIC,
        valid_from: datetime | None = None,
        importance: float = 0.5,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> Decision:
        """Store one memory; see `Candidate` for what it says and `add_many` for what becomes of it."""
        candidate = Candidate(text, slot, category, valid_from, importance, source, metadata or {})
        return self.add_many(user, [candidate], force=force)[0]

    def add_many(self, user: str, candidates: Iterable[Candidate], *, force: bool = False) -> list[Decision]:
        """Store memories in their order, all or none. Raises StoreError for a malformed one.

        Refused are credentials, financial details and what the user asked not to remember; skipped is a text that is
        open already, or that says the same as an open row. A row with a slot replaces the one before it in event
        time. `force` stores texts that resemble others.
        """
        return self._writer.add(valid_user(user), list(candidates), self._now(), force=force)

    async def chat(self, user: str, session: Session, caller: Caller) -> list[Decision]:
        """Keep a chat, and store the memories that a model finds in it. Raises StoreError and CallError.

        Turns that the store refuses are blanked before the model or the file sees them; decisions about those come
        first.
        """
        from rdforget.store.sessions import Known, candidates, keep

        user = valid_user(user)
        known = Known(self._db, self._index, self.vectors, self.policy.shown)
        gathered = await candidates(known, user, session, caller)
        now = self._now()
        batch = self._writer.prepared(user, gathered.candidates, now)
        with self._index.writing(self._db, user):
            keep(self._db, user, gathered.session, now)
            return self._writer.write(user, [*gathered.withheld, *batch], now)

    def search(
        self,
        user: str,
        query: str,
        *,
        top: int | None = None,
        historical: bool = False,
        as_of: datetime | None = None,
        categories: Sequence[Category] = (),
        touch: bool = True,
    ) -> list[Hit]:
        """The best rows for a query, best first: open ones, `historical` any, `as_of` those true at that time.

        Rows that are returned count as accessed now, unless `touch` is off.
        """
        return self._reader.search(
            valid_user(user),
            query,
            self._now(),
            limit=top,
            historical=historical,
            as_of=as_of,
            categories=categories,
            touch=touch,
        )

    def history(self, user: str, *, slot: str | None = None, id: str | None = None) -> list[Row]:
        """The versions of a slot, or of the slot of a row, in event order."""
        return self._reader.history(valid_user(user), slot=slot, id=id)

    def rows(self, user: str, *, open_only: bool = True) -> Iterator[Row]:
        """The rows of a user in the order of their writing. Nothing counts as accessed."""
        return rows_of(self._db, valid_user(user), open_only=open_only)

    def expire(self, *, user: str | None = None, dry_run: bool = False) -> Expired:
        """Put episodes that nobody was shown for too long into cold storage: those of a user, or of all.

        Meant for every night. `dry_run` only names them.
        """
        from rdforget.store.decay import expire

        user = user if user is None else valid_user(user)
        return expire(self._db, self._now(), self.policy.expire_days, user=user, dry_run=dry_run)

    def erase(
        self, user: str, *, also: Sequence[Path] = (), forgetters: Sequence[Callable[[str], int]] = ()
    ) -> Erasure:
        """Erase all that the store has of a user, then search its files, and those under `also`, for it.

        `forgetters` are asked to drop what caches elsewhere hold of the user, and return how much that was.
        """
        from rdforget.store.erasing import erase

        user = valid_user(user)
        self._index.forget(user)
        return erase(
            self._db, self.folder, user, clock=self._now, key=self._proof_key, also=also, forgetters=forgetters
        )

    def erase_rows(
        self,
        user: str,
        ids: Sequence[str],
        *,
        also: Sequence[Path] = (),
        forgetters: Sequence[Callable[[str], int]] = (),
    ) -> Erasure:
        """Erase rows of a user, as `erase` does all of them. Ids that are none of theirs are passed over."""
        from rdforget.store.erasing import erase_rows

        user = valid_user(user)
        self._index.forget(user)
        return erase_rows(
            self._db, self.folder, user, ids, clock=self._now, key=self._proof_key, also=also, forgetters=forgetters
        )

    def delete_chat(self, user: str, chat: str) -> bool:
        """Delete a chat that was kept, not the memories found in it; False if there is none."""
        from rdforget.store.erasing import delete_chat

        return delete_chat(self._db, valid_user(user), chat)

    def export(self, user: str | None = None) -> Iterator[dict[str, Any]]:
        """All rows as objects for JSON, without vectors, of one moment: of a user, or of all, by user."""
        from rdforget.store.exchange import export

        return export(self.folder, user if user is None else valid_user(user))

    def import_rows(self, user: str | None, lines: Iterable[Mapping[str, Any]]) -> list[Decision]:
        """Restore exported rows, all or none; a user given, no other's are taken. Raises StoreError naming the line."""
        from rdforget.store.exchange import import_rows

        return import_rows(self._writer, user if user is None else valid_user(user), lines, self._now())

    def stats(self, user: str | None = None) -> Stats:
        """What the store holds of a user, or of all, and what it decided, in numbers."""
        from rdforget.store.counting import stats

        return stats(self._db, self.folder, user if user is None else valid_user(user))

    def verify(self) -> list[str]:
        """What is wrong with the store, a sentence each; none for a sound one. Finishes erasures that had to wait."""
        from rdforget.store.checking import problems
        from rdforget.store.erasing import finish_pending

        finish_pending(self._db, clock=self._now)
        return problems(self.folder)

    def close(self) -> None:
        """Close the file; the store cannot be used after it."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> datetime:
        return aware(self._clock())
