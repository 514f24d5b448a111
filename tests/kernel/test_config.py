"""The configuration: files laid over one another, typed sections, and complaints that name file and line."""

import os
from pathlib import Path

import msgspec
import pytest

from everlog.errors import EverlogError
from everlog.kernel import Config, ConfigError


class Endpoint(msgspec.Struct, forbid_unknown_fields=True):
    base_url: str
    retries: int = 3


class Models(msgspec.Struct, forbid_unknown_fields=True):
    default: str = "none"
    endpoints: dict[str, Endpoint] = {}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration folder."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setattr("platformdirs.user_config_path", lambda *args, **kwargs: folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(folder: Path, text: str) -> Path:
    path = folder / "everlog.toml"
    path.write_text(text, encoding="utf-8")
    return path


class TestFinding:
    def test_without_any_file_there_are_defaults(self, user: Path, project: Path) -> None:
        config = Config.load(project, {})
        assert config.paths == []
        assert config.section(Models, "models") == Models()

    def test_the_project_wins_over_the_user_key_by_key(self, user: Path, project: Path) -> None:
        ours = write(user, "[models]\ndefault = 'a'\n[models.endpoints.x]\nbase_url = 'user'\nretries = 1\n")
        theirs = write(project, "[models.endpoints.x]\nbase_url = 'project'\n")
        config = Config.load(project, {})
        assert config.paths == [ours, theirs]
        assert config.section(Models, "models") == Models("a", {"x": Endpoint("project", 1)})

    def test_what_the_user_said_can_be_told_from_what_the_project_brought(self, user: Path, project: Path) -> None:
        write(user, "[models]\ndefault = 'a'\n")
        write(project, "[models]\ndefault = 'b'\n")
        config = Config.load(project, {})
        assert config.own.section(Models, "models").default == "a"
        assert config.brought.section(Models, "models").default == "b"
        assert Config.parse("[models]\ndefault = 'c'\n").own.section(Models, "models").default == "c"

    def test_an_array_is_replaced_whole(self, user: Path, project: Path) -> None:
        write(user, "words = ['a', 'b']\n")
        write(project, "words = ['c']\n")
        assert Config.load(project, {}).section(list[str], "words") == ["c"]

    def test_a_file_named_in_the_environment_is_read_alone(self, user: Path, project: Path, tmp_path: Path) -> None:
        write(user, "[models]\ndefault = 'user'\n")
        named = tmp_path / "other.toml"
        named.write_text("", encoding="utf-8")
        config = Config.load(project, {"EVERLOG_CONFIG": str(named)})
        assert config.paths == [named]
        assert config.section(Models, "models").default == "none"

    def test_a_named_file_must_exist(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"gone.toml: cannot be read: No such file or directory"):
            Config.load(tmp_path, {"EVERLOG_CONFIG": str(tmp_path / "gone.toml")})

    def test_a_key_knows_the_file_that_sets_it(self, user: Path, project: Path) -> None:
        ours = write(user, "[models]\ndefault = 'a'\n")
        theirs = write(project, "[models.endpoints.x]\nbase_url = 'b'\n")
        config = Config.load(project, {})
        assert config.origin("models", "default") == ours
        assert config.origin("models", "endpoints", "x", "base_url") == theirs
        assert config.origin("models", "endpoints", "y") is None


class TestComplaints:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a = 1\nb =\n", 2),
            ("[models\n", 1),
            ("a = 1\n\na = 2\n", 3),
            ("a = 'open", 1),
            ("a = '''\nopen\n", 2),
        ],
    )
    def test_broken_toml_names_file_and_line(self, user: Path, project: Path, text: str, line: int) -> None:
        path = write(project, text)
        with pytest.raises(ConfigError) as broken:
            Config.load(project, {})
        assert (broken.value.path, broken.value.line) == (path, line)
        assert str(broken.value).startswith(f"{path}:{line}: is not TOML: ")
        assert "\n" not in str(broken.value)
        assert isinstance(broken.value, EverlogError)

    def test_a_file_that_is_not_utf8_names_the_line(self, user: Path, project: Path) -> None:
        path = project / "everlog.toml"
        path.write_bytes(b"a = 1\nb = '\xff'\n")
        with pytest.raises(ConfigError, match=r"everlog.toml:2: is not UTF-8"):
            Config.load(project, {})

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("a = " + "[" * 5_000 + "]" * 5_000, "is nested too deeply"),
            ("a = " + "1" * 5_000, "cannot be read"),
            ("#" * 1_000_001, "too many for a configuration"),
        ],
        ids=["deep", "long number", "large"],
    )
    def test_what_no_configuration_holds_is_told(self, user: Path, project: Path, text: str, complaint: str) -> None:
        write(project, text)
        with pytest.raises(ConfigError, match=complaint):
            Config.load(project, {})

    @pytest.mark.skipif(os.name != "posix", reason="pipes and devices in the file system")
    def test_a_projects_file_that_is_none_is_not_waited_for(self, user: Path, project: Path) -> None:
        os.mkfifo(project / "everlog.toml")
        with pytest.raises(ConfigError, match="is not a file"):
            Config.load(project, {})
        (project / "everlog.toml").unlink()
        (project / "everlog.toml").symlink_to("/dev/zero")
        with pytest.raises(ConfigError, match="is not a file"):
            Config.load(project, {})

    def test_a_folder_in_the_files_place_is_told(self, user: Path, project: Path) -> None:
        (project / "everlog.toml").mkdir()
        with pytest.raises(ConfigError, match=r"everlog.toml: cannot be read: Is a directory"):
            Config.load(project, {})

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("[models]\n\ndefault = 3\n", "3: models.default: expected `str`, got `int`"),
            ("models.default = 3\n", "1: models.default: expected `str`, got `int`"),
            ("models = 3\n", "1: models: expected `object`, got `int`"),
            ("[models]\n# comment\ndefalt = 'a'\n", "3: models: object contains unknown field `defalt`"),
            (
                "[models.endpoints.x]\nretries = 1\n",
                "1: models.endpoints[...]: object missing required field `base_url`",
            ),
        ],
    )
    def test_a_wrong_value_names_file_line_and_key(self, user: Path, project: Path, text: str, complaint: str) -> None:
        path = write(project, text)
        config = Config.load(project, {})
        with pytest.raises(ConfigError) as wrong:
            config.section(Models, "models")
        assert str(wrong.value) == f"{path}:{complaint}"

    def test_an_item_of_a_table_can_be_read_by_name_for_an_exact_place(self) -> None:
        config = Config.parse('[models.endpoints.a]\nbase_url = "u"\n[models.endpoints."b.c"]\nbase_url = 1\n')
        with pytest.raises(ConfigError, match=r"configuration:4: models.endpoints.b.c.base_url: expected `str`"):
            config.section(Endpoint, "models", "endpoints", "b.c")

    def test_the_file_with_the_wrong_value_is_named(self, user: Path, project: Path) -> None:
        ours = write(user, "[models]\ndefault = 3\n")
        write(project, "[models.endpoints.x]\nbase_url = 'b'\n")
        with pytest.raises(ConfigError) as wrong:
            Config.load(project, {}).section(Models, "models")
        assert (wrong.value.path, wrong.value.line) == (ours, 2)

    def test_a_required_key_without_any_file_is_told(self) -> None:
        with pytest.raises(ConfigError, match="configuration: endpoint: object missing required field `base_url`"):
            Config().section(Endpoint, "endpoint")
