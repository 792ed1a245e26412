"""
Writes docs/opaque.md: the ONNX operators that the dialect keeps as ge.opaque, each with the reason.

    python docs/opaque.py            # writes it
    python docs/opaque.py --check    # says whether it is current, by the exit code
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx.defs

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ort import ORT_OPS

PAGE = Path(__file__).with_name("opaque.md")

HEAD = """\
# Operators that stay opaque

Written by `docs/opaque.py` for operator set {opset}; a test holds it current.

An operator that is no op of the dialect is imported as `ge.opaque`, with its type, domain, version and attributes. It
runs by the onnx package's reference, is exported unchanged, and is a barrier for passes that need to know more than
whether it is pure. That is a decision for each: an op of the dialect is worth its verifier and its tests where a pass,
the memory planner or a backend has reason to know it.
"""

REASONS: dict[str, str] = {
    "sequences and optionals": "their values are no tensors: a planner gives them no place, passes look through them "
    "where they are taken apart again (sequence-to-split)",
    "random": "never folded, merged, moved or dropped, so there is nothing to know",
    "strings": "computed on the host, and no pass changes them",
    "training": "losses and optimisers do not stand in models for inference",
    "decoding": "reads a file format",
    "rare": "no exporter writes it in models that were seen, and no pass could do better by knowing it",
    "read otherwise": "a node becomes something else on import: a constant, or a branch",
    "superseded": "operators of old operator sets whose successors are ops: read as these, except what none says now",
    "trees and features": "classic models on features: their content is attributes that no pass looks into, and their "
    "values maps and strings; constant folding is all that applies",
    "preview": "its meaning may still change",
}

FOREIGN = (
    "What its optimisers and quantisers write is read and written back as it was, and never made by a pass. These are "
    "ops of the dialect `ort`, each with its meaning in ops of `ge`, so that passes, planner and reference know "
    "them; `decompose` writes them as ONNX's own operators. All others, and nodes with operands that these do not "
    "cover (scores as a result, packed queries), are opaque."
)

OPERATORS: dict[str, tuple[str, ...]] = {
    "sequences and optionals": (
        "ConcatFromSequence",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
        "SplitToSequence",
    ),
    "random": (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ),
    "strings": ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
    "training": ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
    "decoding": ("ImageDecoder",),
    "rare": ("Det",),
    "read otherwise": ("Constant", "If"),
    "superseded": ("Scatter", "Upsample"),
}

DOMAINS = {
    "ai.onnx.ml": "trees and features",
    "ai.onnx.preview": "preview",
    "ai.onnx.preview.training": "training",
}


def page() -> str:
    """The text; raises KeyError for an operator without a reason, and ValueError for a reason without an operator."""
    reasons = {("", name): reason for reason, names in OPERATORS.items() for name in names}
    newest = {(s.domain, s.name): s for s in onnx.defs.get_all_schemas()}
    opaque = {key: schema for key, schema in newest.items() if key not in ONNX_OPS}
    stale = sorted(name for domain, name in reasons if (domain, name) not in opaque and (domain, name) in newest)
    if stale:
        raise ValueError(f"no longer opaque: {', '.join(stale)}")
    rows: dict[str, list[str]] = {}
    for (domain, name), schema in sorted(opaque.items()):
        reason = DOMAINS.get(domain) or reasons[domain, name]
        old = " (deprecated)" if schema.deprecated else ""
        rows.setdefault(reason, []).append(f"`{domain}::{name}`{old}" if domain else f"`{name}`{old}")
    known = sum(domain == "" for domain, _ in ONNX_OPS)
    every = sum(not domain for domain, _ in newest)
    text = HEAD.format(opset=onnx.defs.onnx_opset_version())
    text += f"\nOf the {every} operators of the default domain, {known} are ops.\n"
    text += f"\n## ONNX Runtime's own\n\n{_wrapped(FOREIGN)}\n\n"
    text += _wrapped(", ".join(sorted(f"`{domain}::{name}`" if domain else f"`{name}`" for domain, name in ORT_OPS)))
    text += "\n"
    for reason, names in rows.items():
        title = f"{reason[0].upper()}{reason[1:]}"
        text += f"\n## {title}\n\n{_wrapped(f'{REASONS[reason]}.')}\n\n{_wrapped(', '.join(names))}\n"
    return text


def _wrapped(text: str, width: int = 120) -> str:
    lines, line = list[str](), ""
    for word in f"{text[0].upper()}{text[1:]}".split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
