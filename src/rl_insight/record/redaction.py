"""What never leaves the process: secrets by key and by pattern, prompt and response text unless opted in.

Applied while lines are made, so a secret is in no buffer on its way to disk or network.
"""

import re
from collections.abc import Callable
from typing import Any

REDACTED = "[redacted]"

SECRET_KEY = re.compile(
    r"authorization|api[_.\- ]?key|passw(?:or)?d|passphrase|secret|cookie|credential|private[_.\- ]?key"
    r"|(?:^|[_.\-])(?:access|auth|bearer|refresh|id|hf|wandb|github|session)?[_.\-]?token$|connection[_.\-]?string",
    re.IGNORECASE,
)

SECRET_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:Bearer|Basic)\s+[A-Za-z0-9+/_.~\-]{8,}=*"
    r"|\bsk-[A-Za-z0-9_\-]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_\-]{16,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_\-]{30,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9\-]{10,}"
    r"|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?i:\b(?:password|passwd|api[_-]?key|secret|access_token)\s*[=:]\s*)[^\s,;&\"']+",
    re.DOTALL,
)

TEXT_KEYS = frozenset(
    {
        "prompt",
        "prompts",
        "response",
        "responses",
        "completion",
        "completions",
        "message",
        "messages",
        "conversation",
        "content",
        "text",
        "input_text",
        "output_text",
        "prompt_text",
        "response_text",
        "generated_text",
        "reasoning",
        "answer_text",
    }
)

PLAIN, SECRET, TEXT = 0, 1, 2

# Below this length nothing matches SECRET_VALUE, so short values skip the search.
_SHORT = 7
_REMEMBERED = 20_000
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


class Redactor:
    """Cleans keys and values of one process by its settings and, if given, its hook."""

    def __init__(
        self,
        *,
        enabled: bool = True,
        keys: list[str] | None = None,
        patterns: list[str] | None = None,
        text: bool = False,
        text_keys: list[str] | None = None,
        max_value: int = 4096,
        hook: Callable[[str, Any], Any] | None = None,
        problem: Callable[[str, str], None] = lambda kind, detail: None,
    ) -> None:
        self.enabled = enabled
        self.text_allowed = text
        self.max_value = max_value
        self._keys = re.compile("|".join([SECRET_KEY.pattern, *(keys or [])]), re.IGNORECASE)
        self._patterns = [SECRET_VALUE, *(re.compile(pattern) for pattern in patterns or [])]
        self._searches_short = bool(patterns)
        self._text_keys = TEXT_KEYS | {key.lower() for key in text_keys or []}
        self._hook = hook
        self._problem = problem
        self._classes: dict[str, int] = {}
        self._clean: set[str] = set()

    def attrs(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The same values with what must not leave taken out; the same object when nothing was."""
        changed: dict[str, Any] = {}
        hooked, classes, clean = self._hook is not None, self._classes, self._clean
        for key, value in attrs.items():
            # Small numbers and texts found clean before, under plain keys, are nearly all there is: no call for them.
            kind = value.__class__
            if not hooked and (
                (kind is int and _INT_MIN <= value <= _INT_MAX)
                or (kind is str and value in clean and classes.get(key, SECRET) == PLAIN)
            ):
                continue
            kept = self.value(key, value)
            if kept is not value:
                changed[key] = kept
        return {**attrs, **changed} if changed else attrs

    def value(self, key: str, value: Any) -> Any:
        """One value under its key, cleaned."""
        if self._hook is not None:
            value = self._ask_hook(key, value)
        kind = value.__class__
        if kind is int or kind is bool or value is None:
            return value if kind is not int or _INT_MIN <= value <= _INT_MAX else str(value)
        if kind is float:
            return value if value - value == 0.0 else str(value)
        if self.enabled:
            key_class = self._classes.get(key)
            if key_class is None:
                key_class = self._classify(key)
            if key_class == SECRET:
                return REDACTED
            if key_class == TEXT and not self.text_allowed:
                return f"[text not recorded: {len(value)} {'chars' if kind is str else 'items'}]"
        if kind is str:
            return value if value in self._clean else self.string(value)
        if kind is dict:
            return {inner: self.value(inner, item) for inner, item in value.items()}
        return [self.value(key, item) for item in value]

    def string(self, value: str) -> str:
        """A text with secrets replaced and cut to the limit."""
        kept = value
        if self.enabled and (len(value) >= _SHORT or self._searches_short):
            # Searched only as far as the cut, with room for a secret that crosses it.
            kept = value[: self.max_value + 4096]
            for pattern in self._patterns:
                kept = pattern.sub(REDACTED, kept)
            if kept == value[: self.max_value + 4096]:
                kept = value
        if len(kept) > self.max_value:
            kept = f"{kept[: self.max_value]}… [{len(value)} chars]"
        if kept == value:
            if len(value) < 200:
                if len(self._clean) >= _REMEMBERED:
                    self._clean.clear()
                self._clean.add(value)
            return value
        return kept

    def _classify(self, key: str) -> int:
        if self._keys.search(key):
            found = SECRET
        elif key.lower().rpartition(".")[2] in self._text_keys:
            found = TEXT
        else:
            found = PLAIN
        if len(self._classes) < _REMEMBERED:
            self._classes[key] = found
        return found

    def _ask_hook(self, key: str, value: Any) -> Any:
        from rl_insight.record.values import plain

        assert self._hook is not None
        try:
            return plain(self._hook(key, value))
        except Exception as error:
            self._problem("redactor_failed", f"the redaction hook raised {type(error).__name__} for {key!r}")
            return REDACTED
