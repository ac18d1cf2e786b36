"""The directories of a tree; of a thousand in each other see test_target_groups.py."""

from pathlib import Path

from perfdiag.common.directories import walk


def test_each_directory_comes_before_those_in_it_and_no_link_is_followed(tmp_path: Path) -> None:
    for path in ("b/d", "b/c", "a"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "file").write_text("")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    found = [(directory.removeprefix(str(tmp_path)), names) for directory, names in walk(str(tmp_path))]
    assert found == [("", ["a", "b"]), ("/a", []), ("/b", ["c", "d"]), ("/b/c", []), ("/b/d", [])]


def test_who_takes_a_name_out_is_not_led_into_it(tmp_path: Path) -> None:
    (tmp_path / "a/hidden").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    found = []
    for directory, names in walk(str(tmp_path)):
        found.append(directory)
        if "a" in names:
            names.remove("a")
    assert found == [str(tmp_path), f"{tmp_path}/b"]


def test_what_cannot_be_read_has_no_names(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    found = []
    for directory, names in walk(str(tmp_path)):
        found.append((directory.removeprefix(str(tmp_path)), names))
        if directory == str(tmp_path):
            (tmp_path / "a").rename(tmp_path / "gone")
    assert found == [("", ["a"]), ("/a", [])]
