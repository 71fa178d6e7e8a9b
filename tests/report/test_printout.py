from rich.table import Table

from gnnbench.report.printout import Printout

LINE = "a line that is too long for a narrow terminal"


def printed(width):
    found = Printout(width, colour=False)
    found.show("[bold]heading[/bold]")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("left", "right")
    found.show(table)
    found.show()
    found.say(LINE)
    return found.text.splitlines()


def test_tables_and_lines_stay_in_order():
    heading, row, empty, line = printed(None)
    assert (heading, row.split(), empty, line) == ("heading", ["left", "right"], "", LINE)


def test_lines_are_broken_in_a_terminal_only():
    assert printed(30)[3:] == ["a line that is too long for a", "  narrow terminal"]
