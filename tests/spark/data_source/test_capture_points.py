from kafkascope_analyzer.read.place import place_of
from kafkascope_spark.data_source.capture_points import capture_points


def test_files_that_differ_only_in_numbers_are_of_one_point() -> None:
    names = ["/c/a/kafka.pcap1", "/c/a/kafka.pcap10", "/c/a/other-2026.pcap", "/c/b/kafka.pcap1", "/c/a/kafka.pcap2"]
    points = capture_points([place_of(name) for name in names])
    assert [[str(capture) for capture in point] for point in points] == [
        ["/c/a/kafka.pcap1", "/c/a/kafka.pcap10", "/c/a/kafka.pcap2"],
        ["/c/a/other-2026.pcap"],
        ["/c/b/kafka.pcap1"],
    ]


def test_captures_in_a_store_are_told_apart_by_their_folder() -> None:
    names = [f"s3://bucket/day={day}/{file}.pcap.zst" for day in (1, 2) for file in ("x-0001", "x-0002")]
    assert [len(point) for point in capture_points([place_of(name) for name in names])] == [2, 2]
