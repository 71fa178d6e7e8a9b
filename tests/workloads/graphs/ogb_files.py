"""Small data sets in the layouts in which OGB publishes them."""

import pandas as pd


def table(path, values):
    """Write a table without a header, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(values).to_csv(f"{path}.csv.gz", index=False, header=False, compression="gzip")


def saved(name, root, graphs, labels, split, split_name, **task):
    """Let ogb write its binary layout, and return its description."""
    from ogb.io import DatasetSaver  # slow to import

    saver = DatasetSaver(name, is_hetero=False, version=1, root=str(root / "saved"))
    saver.save_graph_list(graphs)
    saver.save_target_labels(labels)
    saver.save_split(split, split_name=split_name)
    (root / "mapping").mkdir()
    (root / "mapping/README.md").touch()
    saver.copy_mapping_dir(str(root / "mapping"))
    saver.save_task_info(**task)
    return saver.get_meta_dict()
