"""Small data sets in the layout in which OGB publishes most."""

import pandas as pd


def table(path, values):
    """Write a table without a header, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(values).to_csv(f"{path}.csv.gz", index=False, header=False, compression="gzip")
