"""The filter language: one text that says which jobs are meant, for the command line, the page and the API.

    state:dead kind:send_* -queue:bulk error:Timeout* age:>1h attempt:>=3 tag:vip payload.to:"a@b.c"

Words are separated by blanks, and all must hold. A word is a field, a colon and a value; commas separate alternatives
(`state:dead,cancelled`), a minus in front turns a word around. A value with blanks or commas in it is written in quotes, in
which `\\"` is a quote and `\\\\` a backslash. What a text says is a `tenure.Filter`, which is what every verb takes: `parse`
reads it, `format` writes it, `complete` says what may come next. A mistake is a FilterError that says where, what was
expected, and what may have been meant.
"""

from __future__ import annotations

from tenure.query.completing import Candidate, Completion, complete, open_field
from tenure.query.fields import FIELDS, Field
from tenure.query.parsing import parse
from tenure.query.writing import format  # noqa: A004 - tenure.query.format, beside parse

__all__ = ["FIELDS", "Candidate", "Completion", "Field", "complete", "format", "open_field", "parse"]
