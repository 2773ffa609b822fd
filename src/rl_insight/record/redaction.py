"""What never leaves the process: secrets by key and by pattern, prompt and response text unless opted in.

Applied while lines are made, so a secret is in no buffer on its way to disk or network.
"""

import re
from collections.abc import Callable
from typing import Any

from rl_insight.config import ConfigError
from rl_insight.record.values import plain, text

REDACTED = "[redacted]"

# Under these keys nothing is recorded, whatever it is.
SECRET_KEY = re.compile(
    r"authorization|api[_.\- ]?key|passw(?:or)?d|passphrase|secret|cookie|credential|connection[_.\-]?string"
    r"|(?:private|access|signing|encryption|ssh)[_.\- ]?key|(?:^|[_.\-])pwd$",
    re.IGNORECASE,
)

# Under these no text is recorded. A number is: it is a count or a time, as is the text of a model's special token.
TOKEN_KEY = re.compile(
    r"^(?!.*(?:eos|bos|pad|unk|sep|cls|mask|stop|start|end|next|first|last|new|image|special)[_.\- ]?token$).*token$",
    re.IGNORECASE | re.DOTALL,
)

# Secrets by what they look like, each with the lower-case words of which one must be in a text for a search to be worth
# it: looking for words is some twenty times cheaper than searching.
SECRET_VALUES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (tuple(words.split()), re.compile(pattern, re.DOTALL))
    for words, pattern in (
        ("-----begin", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
        ("authorization cookie", r"(?i:(?:authorization|cookie)[\"']?\s*[=:]\s*)[^\r\n]+"),
        ("bearer", r"\b(?i:bearer)\s+[A-Za-z0-9+/_.~\-]{8,}=*"),
        # Base64 changes case; English after the word "basic" does not.
        ("basic", r"\b(?i:basic)\s+(?=[A-Za-z0-9+/]*[a-z0-9][A-Z])[A-Za-z0-9+/]{8,}=*"),
        ("sk- sk_ rk- rk_ pk- pk_", r"\b(?:sk|rk|pk)[-_][A-Za-z0-9_\-]{16,}"),
        ("ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
        ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
        ("glpat-", r"\bglpat-[A-Za-z0-9_\-]{16,}"),
        ("hf_ gsk_ npm_ r8_", r"\b(?:hf|gsk|npm|r8)_[A-Za-z0-9]{20,}"),
        ("nvapi- xai- pypi-", r"\b(?:nvapi|xai|pypi)-[A-Za-z0-9_\-]{20,}"),
        ("akia asia", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("aiza", r"\bAIza[0-9A-Za-z_\-]{30,}"),
        ("ya29.", r"\bya29\.[0-9A-Za-z_\-]{20,}"),
        ("xox", r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}"),
        ("eyj", r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"),
        ("://", r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
        # "password: x", "API_KEY='x'", {"secret": "x"}: the value may be quoted, the name may be part of a longer one.
        (
            "passw passphrase secret key token",
            r"(?i:(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key)[\"']?\s*[=:]\s*"
            r"|token[\"']?\s*[=:]\s*(?=[\"']?[^\s,;&\"']{8}))"
            r"(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s,;&\"']+)",
        ),
    )
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

PLAIN, SECRET, TOKEN, TEXT, UNFIT = range(5)

# Shorter than every secret whose pattern knows one digit from another.
_LONGEST_ID = 22
_DIGITS = str.maketrans("123456789", "000000000")
_HEXADECIMAL = re.compile(r"[0-9a-f\-]*\Z").match
# A text as short as this is a secret only if it names one, or is part of an address.
_SHORT = 15
# How far beyond the cut a text is searched, for a secret that crosses it.
_BEYOND = 4096
_REMEMBERED = 20_000
_MAX_KEY = 256
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
        self._keys = [SECRET_KEY, *_compiled("redact.keys", keys, re.IGNORECASE)]
        self._patterns = _compiled("redact.patterns", patterns)
        self._text_keys = TEXT_KEYS | {key.lower() for key in text_keys or []}
        self._hook = hook
        self._problem = problem
        self._classes: dict[str, int] = {}
        self._clean: set[str] = set()
        self._clean_shapes: set[str] = set()

    def attrs(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The same values with what must not leave taken out; the same object when nothing was."""
        changed = False
        kept: dict[str, Any] = {}
        hooked, classes, clean = self._hook is not None, self._classes, self._clean
        for key, value in attrs.items():
            # Small numbers and texts found clean before, under plain keys, are nearly all there is: no call for them.
            if classes.get(key) == PLAIN and not hooked:
                kind = value.__class__
                if (kind is int and _INT_MIN <= value <= _INT_MAX) or (kind is str and value in clean):
                    kept[key] = value
                    continue
            said = self.value(key, value)
            name = key if classes.get(key) == PLAIN else self.string(key[:_MAX_KEY])
            kept[name] = said
            if said is not value or name is not key:
                changed = True
        return kept if changed or attrs.__class__ is not dict else attrs

    def value(self, key: str, value: Any) -> Any:
        """One value under its key, cleaned."""
        if self._hook is not None:
            value = self._ask_hook(key, value)
        kind = value.__class__
        if kind is bool or value is None:
            return value
        key_class = self._classes.get(key)
        if key_class is None:
            key_class = self._classify(key)
        if self.enabled and key_class == SECRET:
            return REDACTED
        if kind is int:
            return value if _INT_MIN <= value <= _INT_MAX else _big(value)
        if kind is float:
            return value if value - value == 0.0 else str(value)
        if self.enabled:
            if key_class == TOKEN:
                return REDACTED
            if key_class == TEXT and not self.text_allowed:
                return f"[text not recorded: {len(value)} {'chars' if kind is str else 'items'}]"
        if kind is str:
            return value if value in self._clean else self.string(value)
        if kind is dict:
            return self.attrs(value)
        return [self.value(key, item) for item in value]

    def text(self, key: str, value: str) -> str:
        """A text that is a line's own field (a message, a reason, an id), cleaned; the hook sees it under `key`."""
        if self._hook is not None:
            value = text(self._ask_hook(key, value))
        return value if value in self._clean else self.string(value)

    def string(self, value: str) -> str:
        """A text with secrets replaced and cut to the limit."""
        kept = value
        if self.enabled:
            searched = value[: self.max_value + _BEYOND]
            kept = self._without_secrets(searched)
            if kept == searched:
                kept = value
            elif len(searched) < len(value):
                # What crosses the end of the search could be half a secret; it is far beyond the cut, unless much
                # before it was replaced.
                kept = kept[: max(0, len(kept) - _BEYOND)] + "…" * _BEYOND
        if len(kept) > self.max_value:
            kept = f"{kept[: self.max_value].rstrip('…')}… [{len(value)} chars]"
        if kept == value:
            if len(value) < 200:
                if len(self._clean) >= _REMEMBERED:
                    self._clean.clear()
                self._clean.add(value)
            return value
        return kept

    def _without_secrets(self, value: str) -> str:
        if _HEXADECIMAL(value) and not self._patterns:
            return value
        # Ids that differ only in their numbers are searched once: to the patterns one digit is like another.
        shape = value.translate(_DIGITS) if len(value) <= _LONGEST_ID and not self._patterns else ""
        if shape in self._clean_shapes:
            return value
        kept = self._search(value)
        if shape and kept == value:
            if len(self._clean_shapes) >= _REMEMBERED:
                self._clean_shapes.clear()
            self._clean_shapes.add(shape)
        return kept

    def _search(self, value: str) -> str:
        if len(value) >= _SHORT or "=" in value or ":" in value:
            lower = value.lower()
            for words, pattern in SECRET_VALUES:
                for word in words:
                    if word in lower:
                        value = pattern.sub(REDACTED, value)
                        break
        for pattern in self._patterns:
            value = pattern.sub(REDACTED, value)
        return value

    def _classify(self, key: str) -> int:
        if any(pattern.search(key) for pattern in self._keys):
            found = SECRET
        elif TOKEN_KEY.search(key):
            found = TOKEN
        elif key.lower().rpartition(".")[2] in self._text_keys:
            found = TEXT
        elif len(key) > _MAX_KEY or self.string(key) != key:
            found = UNFIT  # to be a key as it is
        else:
            found = PLAIN
        if len(self._classes) >= _REMEMBERED:
            self._classes.clear()
        if len(key) <= 4 * _MAX_KEY:
            self._classes[key] = found
        return found

    def _ask_hook(self, key: str, value: Any) -> Any:
        assert self._hook is not None
        try:
            return plain(self._hook(key, value))
        except Exception as error:
            self._problem("redactor_failed", f"the redaction hook raised {type(error).__name__} for {key!r}")
            return REDACTED


def _compiled(setting: str, patterns: list[str] | None, flags: int = 0) -> list[re.Pattern[str]]:
    pattern = ""
    try:
        return [re.compile(pattern := given, flags) for given in patterns or []]
    except re.error as error:
        raise ConfigError(f"setting {setting}: {pattern!r} is not a regular expression: {error}") from None


def _big(value: int) -> str:
    # Python itself refuses to print whole numbers of thousands of digits.
    return str(value) if value.bit_length() < 4096 else f"<int of {value.bit_length()} bits>"
