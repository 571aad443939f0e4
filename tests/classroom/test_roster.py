"""The students of a class: names, codes and keys, kept in a file that only its owner reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolkit import errors
from toolkit.classroom.roster import MOST, Roster, names_of

BAD_NAMES: dict[str, tuple[list[str], str]] = {
    "none": ([], "a class has 1 to 200 students, not 0"),
    "too many": ([f"s{number}" for number in range(MOST + 1)], "a class has 1 to 200 students, not 201"),
    "empty": ([""], "name '' must have 1 to 40 printable characters"),
    "too long": (["a", "x" * 41], "must have 1 to 40 printable characters"),
    "spaces": (["a", " b"], "name ' b' must have 1 to 40 printable characters"),
    "control": (["a\x7f"], "must have 1 to 40 printable characters"),
    "twice": (["b", "a", "b", "a"], "names must differ.*'a' is there twice"),
}


@pytest.mark.parametrize("case", BAD_NAMES)
def test_names_that_no_class_can_have_are_explained(case: str) -> None:
    names, words = BAD_NAMES[case]
    with pytest.raises(errors.InputError, match=words) as raised:
        Roster.create(names)
    assert raised.value.field == ("students" if case in ("none", "too many") else "names")


def test_a_class_may_have_one_student_or_the_most_and_names_of_1_to_40_characters() -> None:
    assert [each.name for each in Roster.create(["x" * 40]).students] == ["x" * 40]
    assert len(Roster.create([str(number) for number in range(MOST)]).students) == MOST == 200


def test_a_student_is_found_by_name_and_number_and_an_unknown_one_is_named_with_the_first_forty() -> None:
    roster = Roster.create([f"s{number:02}" for number in range(42)])
    for known in ("s07", "7", 7):
        assert roster.named(known) is roster.students[7]  # type: ignore[arg-type]
    assert roster.by_code == {each.code: each for each in roster.students}
    assert {len(each.code) for each in roster.students} == {22}  # 16 random bytes
    with pytest.raises(errors.InputError, match="there is no student 'Zed'") as raised:
        roster.named("Zed")
    assert str(raised.value).endswith("s38, s39")
    assert not any(each.code in repr(each) for each in roster.students)


def test_a_saved_class_is_the_same_and_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    path, roster = tmp_path / "class", Roster.create(["Ann", "Č"])
    roster.save(path)
    assert Roster.load(path).students == roster.students
    assert Roster.load(path).words == roster.words
    path.write_text(json.dumps(roster.stored()) + "x", encoding="utf-8")
    with pytest.raises(errors.ToolkitError):
        Roster.load(path)
    damaged = tmp_path / "damaged"
    roster.save(damaged)
    damaged.write_bytes(damaged.read_bytes().replace(b"Ann", b"Bnn"))
    with pytest.raises(errors.StoredFileError):
        Roster.load(damaged)
    with pytest.raises(errors.InputError, match="can't be read"):
        Roster.load(tmp_path / "nothing")


def test_names_are_numbered_or_as_many_as_are_asked_for_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_text("Ann\n\n Bo \nCyd\n", encoding="utf-8")
    assert names_of(3) == ["student-1", "student-2", "student-3"]
    assert [names_of(count, path) for count in (0, 1, 2, 3)] == [
        ["Ann", "Bo", "Cyd"], ["Ann"], ["Ann", "Bo"], ["Ann", "Bo", "Cyd"],
    ]  # fmt: skip
    with pytest.raises(errors.InputError, match="has 3 names for 4 students"):
        names_of(4, path)
