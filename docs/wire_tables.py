"""The tables of the wire on the pages of the reference, made from its declarations."""

from __future__ import annotations

from toolkit.protocol.actions import ACTIONS, INTERFACE_VERSION
from toolkit.protocol.fields import Field, Items, Object, Source
from toolkit.protocol.reads.feed import AOP_RECORDS, CHANNELS, RECORDS
from toolkit.protocol.reads.info_queries import ENDPOINTS, META_RECORDS
from toolkit.protocol.reads.rows import Record


def actions_table() -> str:
    """Return all actions as a Markdown page: signer, envelope fields, what is signed, fields and rules.

    Each says who publishes its payload. A field with a mark is not the specification's.
    """
    lines = [f"Version {INTERFACE_VERSION} of the interface.", ""]
    for action in ACTIONS.values():
        signed = action.message if action.typed is None else f"typed data {action.typed.primary_type}"
        carried = [name for name, on in (("expiryAfter", action.expiry), ("vaultAddress", action.vault)) if on]
        needed = " (vaultAddress required)" if action.vault_required else ""
        lines += [
            f"### {action.type}",
            "",
            action.summary,
            "",
            f"Signed by: {action.signer} ({signed}). Envelope: {', '.join(carried) or 'no optional fields'}{needed}. "
            f"Payload: [{action.source}].",
            "",
        ]
        rows = _field_rows(action.fields)
        if rows:
            lines += ["| Field | Required | Rule | Note |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _field_rows(fields: tuple[Field, ...], parent: str = "") -> list[str]:
    rows = []
    for entry in fields:
        name = parent + entry.name
        note = entry.note + (f" Alias: {entry.alias}." if entry.alias else "")
        note += f" [{entry.source}]" if entry.source is not Source.SPECIFICATION else ""
        required, rule = "yes" if entry.required else "no", entry.rule.accepts.replace("|", "\\|")
        rows.append(f"| {name} | {required} | {rule} | {note} |")
        if isinstance(entry.rule, Items):
            rows += _field_rows(entry.rule.item.fields, f"{name}[].")
        elif isinstance(entry.rule, Object):
            rows += _field_rows(entry.rule.fields, f"{name}.")
    return rows


def queries_table() -> str:
    """Return the queries and their records as Markdown: paths, parameters (bold: required), then the fields.

    [L] marks what the venue does not publish: answers, records and fields that are the local venue's own.
    """
    lines = ["| Method | Path | Parameters | Record |", "|---|---|---|---|"]
    records: dict[str, Record] = {}
    for query in ENDPOINTS.values():
        record = records.setdefault(query.record.name, query.record)
        params = ", ".join(f"**{name}**" if param.required else name for name, param in query.params.items())
        lines.append(f"| `{query.name}` | `{query.path}` [{query.source}] | {params or '–'} | {record.name} |")
    for record in (*records.values(), *META_RECORDS.values()):
        lines += field_table(record)
    return "\n".join(lines)


def sources_table() -> str:
    """Return the fields of each published record by their sources, as Markdown."""
    records = [query.record for query in ENDPOINTS.values()] + [*META_RECORDS.values(), *RECORDS.values()]
    lines = ["| Record | [S] | [P] | [K] | [L] |", "|---|---|---|---|---|"]
    for record in {one.name: one for one in (*records, *AOP_RECORDS.values()) if one.known}.values():
        by_source = {source: [one.wire for one in record.fields if one.source is source] for source in Source}
        cells = (" ".join(f"`{name}`" for name in by_source[source]) or "–" for source in Source)
        lines.append(f"| {record.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def channels_table() -> str:
    """Return the channels, then the fields of their items, as Markdown; [L] marks what is not published."""
    lines = [
        "| Channel | Subscription | Data | Published with | Applied | Slow reader | Holds |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in CHANNELS.values():
        asked = ", ".join(
            f"{f.name} ({f.rule}{'' if f.default is None else f', default {f.default}'})" for f in one.fields
        )
        where = f"`{one.key}`" if one.key else "in `data`"
        items = AOP_RECORDS.values() if one.type == "aopState" else [RECORDS[one.type]]
        slow = "conflated" if one.conflate else "cut off"
        names = ", ".join(item.name for item in items)
        marks = ", ".join(name for name, has in (("type", one.typed), ("sequence", one.sequenced)) if has) or "neither"
        cells = (f"`{one.type}`", asked or "nothing", f"{where}: {names}", marks, one.style, slow, one.about)
        lines.append(f"| {' | '.join(cells)} |")
    for one_record in {shown.name: shown for shown in (*RECORDS.values(), *AOP_RECORDS.values())}.values():
        lines += field_table(one_record)
    return "\n".join(lines) + "\n"


def field_table(shown: Record) -> list[str]:
    """Return a record's fields as Markdown lines. The mark says who says that a field exists, bold: required."""
    lines = ["", f"### {shown.name} [{shown.source}]", "", shown.about, ""]
    lines += ["| Field | Column | dtype | JSON | Unit | Source | |", "|---|---|---|---|---|---|---|"]
    for one in shown.fields:
        name = f"**`{one.wire}`**" if one.needed else f"`{one.wire}`"
        cells = (name, f"`{one.column}`", one.dtype, one.json, one.unit or "–", f"[{one.source}]", one.about)
        lines.append(f"| {' | '.join(cells)} |")
    return lines
