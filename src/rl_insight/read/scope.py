"""Which sessions are looked at: conditions that keep a question from reading the whole run."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.compose import part


class Scope(msgspec.Struct, frozen=True):
    """Sessions that began between two moments (epoch ms), are of a task, or have this id; or those of some steps."""

    since: float | None = None
    until: float | None = None
    steps: tuple[int, int] | None = None
    task: str | None = None
    session: str | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The values that the conditions speak of."""
        return {
            "since": None if self.since is None else int(self.since * 1e6),
            "until": None if self.until is None else int(self.until * 1e6),
            "from_step": self.steps and self.steps[0],
            "to_step": self.steps and self.steps[1],
            "task": self.task,
            "session": self.session,
        }

    @property
    def fills(self) -> dict[str, str]:
        """What `session_head.sql` leaves open."""
        if self.steps is not None:
            return {"before": part("trained_in_steps") + ",", "in scope": part("sessions_of_steps")}
        spans, facts = [], []
        if self.task is not None:
            spans.append("AND task = $task")
            facts.append(part("finished_of_task"))
        if self.session is not None:
            spans.append("AND session = $session")
            facts.append("AND value = $session")
        for name, sign in (("since", ">="), ("until", "<")):
            if getattr(self, name) is not None:
                spans.append(f"AND ts {sign} ${name}")
                facts.append(f"AND ts {sign} ${name}")
        return {
            "before": "",
            "in scope": part("sessions_of_run"),
            "spans": " ".join(spans),
            "facts": " ".join(facts),
        }
