"""The example thumbnails: what it makes of images, what it says of broken ones, and what it keeps."""

import pytest

from lib import png
from lib.paths import BUILD
from lib.programs import run_ctl

MODULE = BUILD / "plugins" / "thumbnails_v1.so"
FLOW = "thumbnails"
QUARTERS = {(0, 0): (250, 0, 0), (1, 0): (0, 250, 0), (0, 1): (0, 0, 250), (1, 1): (90, 60, 30)}


def quarters(width, height):
    """Each quarter has a colour of its own, in stripes of a bit more and a bit less of it."""
    def pixel(x, y):
        return tuple(channel + (5 if x % 2 else -5) if channel else 0
                     for channel in QUARTERS[x * 2 // width, y * 2 // height])
    return png.encode(width, height, pixel)


class Album:
    """A folder of images, the thumbnails of it, and runs over it."""

    def __init__(self, database, folder):
        self._database = database
        self.images = folder / 'an "album" & more'
        self.small = folder / "small"
        self.images.mkdir()
        self.input = {"folder": str(self.images), "output": str(self.small), "size": 8}

    def add(self, name, data):
        (self.images / name).write_bytes(data)

    def run(self, status="completed", **changes):
        run = self._database.start_flow(FLOW, {**self.input, **changes})
        return run, self._database.wait_run(run, status=status)

    def output(self, **changes):
        return self.run(**changes)[1].output["index"]

    def results(self, run):
        found = self._database.rows(
            "select output from pgflow.step_tasks where run_id = %s and step_slug = 'make_thumbnail'"
            " and status = 'completed' order by task_index", run)
        return [row.output for row in found]

    def thumbnail(self, name):
        return png.decode((self.small / name).read_bytes())

    def files(self):
        """By name, what changes when a file is written or replaced."""
        return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
                for path in self.small.glob("*.png")}


@pytest.fixture(scope="module")
def host(shared_hosts, shared_database):
    shared_hosts.start("--concurrency", "2", plugins=[MODULE])
    shared_database.until("select count(*) = 1 from pgflow.flow_aliases where alias = %s", FLOW)


@pytest.fixture
def album(host, shared_database, tmp_path):
    return Album(shared_database, tmp_path)


def opaque(colour):
    return (*colour, 255)


def test_images_become_thumbnails_with_the_means_of_their_pixels(album):
    album.add("b wide.png", quarters(32, 16))
    album.add("a high é.PNG", quarters(16, 64))
    album.add("c tiny.png", quarters(4, 2))
    album.add("d clear.png", png.encode(16, 16, lambda x, _: (200, 100, 50, 255 if x % 2 else 0), png.RGBA))
    album.add("e grey.png", png.encode(24, 12, lambda x, _: (30 * (x % 3),), png.GREY))
    album.add("not taken.jpg", b"")
    album.add(".hidden.png", b"")
    (album.images / "folder.png").mkdir()

    run, done = album.run()

    results = album.results(run)
    assert [(one["file"], one["width"], one["height"], one["thumbnail"]["width"], one["thumbnail"]["height"])
            for one in results] == [
        ("a high é.PNG", 16, 64, 2, 8), ("b wide.png", 32, 16, 8, 4), ("c tiny.png", 4, 2, 4, 2),
        ("d clear.png", 16, 16, 8, 8), ("e grey.png", 24, 12, 8, 4)]
    red, green, blue, brown = (opaque(colour) for colour in QUARTERS.values())
    assert album.thumbnail("b wide.png") == (8, 4, 2 * [4 * [red] + 4 * [green]] + 2 * [4 * [blue] + 4 * [brown]])
    assert album.thumbnail("a high é.PNG") == (2, 8, 4 * [[red, green]] + 4 * [[blue, brown]])
    assert album.thumbnail("d clear.png") == (8, 8, 8 * [8 * [(200, 100, 50, 128)]])
    assert album.thumbnail("e grey.png") == (8, 4, 4 * [8 * [(30, 30, 30, 255)]])
    assert album.thumbnail("c tiny.png")[2][0] == [
        (245, 0, 0, 255), (255, 0, 0, 255), (0, 245, 0, 255), (0, 255, 0, 255)]
    sizes = [[path.stat().st_size for path in (album.images / one["file"], album.small / one["file"])]
             for one in results]
    assert done.output["index"] == {
        "index": str(album.small / "index.html"), "images": 5, "made": 5,
        "bytes_in": sum(size[0] for size in sizes), "bytes_out": sum(size[1] for size in sizes)}
    assert [[one["bytes"], one["thumbnail"]["bytes"]] for one in results] == sizes


def test_index_is_a_page_that_no_name_breaks_out_of(album):
    name = '<b> & "c" #1%.png'
    album.add(name, quarters(16, 8))

    album.output()

    page = (album.small / "index.html").read_text()
    assert f'{album.images.parent}/an%20%22album%22%20%26%20more/%3Cb%3E%20%26%20%22c%22%20%231%25.png"' in page
    assert '<img src="%3Cb%3E%20%26%20%22c%22%20%231%25.png" alt="" width="8" height="4">' in page
    assert "<figcaption>&lt;b> &amp; &quot;c&quot; #1%.png<br>16 x 8, " in page
    assert "<title>" + str(album.images).replace("&", "&amp;").replace('"', "&quot;") in page


def test_second_run_makes_only_what_changed(album):
    for name in ("a.png", "b.png", "c.png"):
        album.add(name, quarters(16, 16))
    assert album.output()["made"] == 3
    before = album.files()

    assert album.output()["made"] == 0
    assert album.files() == before

    album.add("b.png", quarters(32, 32))
    album.add("d.png", quarters(8, 16))
    assert album.output()["made"] == 2
    after = album.files()
    assert {name: after[name] for name in ("a.png", "c.png")} == {name: before[name] for name in ("a.png", "c.png")}
    assert after["b.png"][1] != before["b.png"][1]

    assert album.output(size=4)["made"] == 4
    assert [album.thumbnail(name)[:2] for name in ("a.png", "d.png")] == [(4, 4), (2, 4)]


@pytest.mark.parametrize(
    "data, error",
    [
        (b"no image at all", "'z.png': it cannot be decoded: Not a PNG file"),
        (quarters(16, 16)[:-40], "'z.png': it cannot be decoded: "),
        (quarters(16, 16).replace(b"IDAT", b"IDAT\0", 1), "'z.png': it cannot be decoded: "),
        (b"", "'z.png': it cannot be decoded: "),
        (png.header(200_000, 201) + png.chunk(b"IDAT", b""),
         "'z.png': it has 200000 x 201 pixels, more than the 40 million that are decoded"),
    ],
    ids=["text", "cut", "damaged", "empty", "bomb"],
)
def test_broken_image_fails_its_run_at_the_first_attempt_and_the_next_run_goes_on(
    album, shared_database, data, error
):
    album.add("a.png", quarters(16, 16))
    album.output()
    before = album.files()
    album.add("z.png", data)

    run, _ = album.run(status="failed")

    task = shared_database.task(run, "make_thumbnail", 1)
    assert (task.status, task.attempts_count) == ("failed", 1)
    assert task.error_message.startswith(error)
    assert shared_database.task(run, "make_thumbnail", 0).status != "failed"
    assert album.files() == before
    assert sorted(path.name for path in album.small.iterdir()) == ["a.png", "index.html"]

    album.add("z.png", quarters(16, 16))
    assert album.output()["made"] == 1
    assert album.files()["a.png"] == before["a.png"]


def test_folder_without_images_gives_an_empty_index(album):
    output = album.output()

    assert (output["images"], output["bytes_in"]) == (0, 0)
    assert "<img" not in (album.small / "index.html").read_text()


@pytest.mark.parametrize("name", [b"no\xffname.png", b"two\nlines.png"])
def test_name_that_no_result_can_hold_fails_the_run(album, shared_database, name):
    with open(bytes(album.images) + b"/" + name, "wb"):
        pass

    run, _ = album.run(status="failed")

    task = shared_database.task(run, "find_images")
    assert task.attempts_count == 1
    assert task.error_message.startswith("rename the file '") and "?" in task.error_message


def test_folder_that_is_not_there_fails_the_run_at_the_first_attempt(album, shared_database):
    run, _ = album.run(status="failed", folder="/nowhere")

    task = shared_database.task(run, "find_images")
    assert (task.attempts_count, task.error_message) == (
        1, "cannot read the folder '/nowhere': No such file or directory")
    assert not album.small.exists()


def test_nothing_can_be_said_against_the_module():
    linted = run_ctl("lint", MODULE)

    assert linted.returncode == 0, linted.stdout + linted.stderr
